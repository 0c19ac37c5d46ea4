#!/usr/bin/env bash
# test-plan-costs.sh PROGRAM: That a plan's cost follows from what plan --json says it is made of: plan-costs.py computes it again,
# and would notice what does not.
. "$(dirname "$0")/tap.sh"
program=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$scratch" || exit 1
export IFM_DEVICES_DIR=$root/tests/engine/devices

cat >shared.yaml <<'YAML'
title: Units that slow each other
subject: {model: graphsage, features: 20, hidden: 12}
graph: {kind: uniform, seed: 3}
sizes:
  - {nodes: 1000, edges: [1000, 2000, 5000]}
  - {nodes: 5000, edges: [5000, 10000]}
  - {nodes: 10000, edges: [10000]}
devices:
  A: {device: "simulated:shared/A", form: dynamic}
  B: {device: "simulated:shared/B", form: dynamic}
  C: {device: "simulated:shared/C", form: dynamic}
contention: {measure: true}
links: {measure: false}
protocol: {warmup: 1, runs: 5}
YAML

# recomputed STUDY OPTION...: the plans of all its sizes
recomputed()
{
    "$program" plan "$@" --json plans.json >/dev/null && python3 -B "$here/plan-costs.py" plans.json
}

noisy()
{
    unset IFM_DEVICES_DIR
    local devices=()
    for unit in CPU GPU NPU; do devices+=(-d "$unit=simulated:meteor-lake/$unit"); done
    "$program" study run gnn-stages "${devices[@]}" --warmup 2 --runs 12 -o noisy -q
    [[ $? -le 1 ]]
}

# A figure that is changed is named.
noticed()
{
    python3 -c "
import json
plans = json.load(open('plans.json'))
plans['plans'][0]['cost']['cycle_ns'] *= 1.001
json.dump(plans, open('plans.json', 'w'))"
    ! python3 -B "$here/plan-costs.py" plans.json >out || return 1
    grep -q '^cycle_ns: found' out
}

check 'a study of units that slow each other' "$program" study run ./shared.yaml -o shared -q
check 'plans by throughput under load' recomputed shared
check 'plans by latency under load' recomputed shared --objective latency
check 'a study whose latencies scatter' noisy
check 'plans by throughput' recomputed noisy
for statistic in median mean p95; do
    check "plans by the $statistic of the latency" recomputed noisy --objective latency --by "$statistic"
done
check 'a changed figure is noticed' noticed
finish
