#!/usr/bin/env bash
# test-plan-intervals.sh PROGRAM: That makespans of simulated devices lie in the intervals that were predicted: a part of what
# bench/plan-intervals.py does, on a virtual clock.
. "$(dirname "$0")/tap.sh"
program=$(realpath "$1")
bench=$(realpath "$(dirname "$0")/../../bench/plan-intervals.py")
cd "$scratch" || exit 1
check 'two kinds of noise at six sizes' python3 -B "$bench" --program "$program" --trials 12 --sizes 6
finish
