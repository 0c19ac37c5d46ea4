#!/usr/bin/env python3
"""How inferometer.measure() times a callable, beside timeit and torch.utils.benchmark: the same callable, one after the other in turn.

Of each of three callables (Python alone, NumPy, a torch module) the medians of RUNS runs by each of the three and by measure() once
more, in ROUNDS rounds, in another order each. Printed are the median of the ratios of a round, peer / ours, with its 95 % interval; and
A/A: in how many rounds the two medians of measure() are no further apart than their own intervals allow.
Aims: ratios of 0.98 to 1.02; at least 19 in 20 of the intervals.

    bench/measure-callable.py [--rounds 101] [--runs 20]
With the Python that has torch, else in the benches' own environment. Fails where a ratio is outside for certain, or too few intervals
cover for chance."""
import argparse
import functools
import math
import pathlib
import random
import statistics
import sys
import time
import timeit

import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
AIM = 0.02
LEVEL = 0.95


def python_alone():
    return sum(i * i for i in range(20000))


def callables():
    """Names and functions; those whose library is missing are left out, and named."""
    found = {"Python": python_alone}
    if peers.has("numpy"):
        import numpy
        values = numpy.random.default_rng(1).standard_normal(20000)
        found["NumPy"] = lambda: numpy.sort(values)  # on one thread
    if peers.has("torch"):
        import torch
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 128))
        batch = torch.randn(32, 128)
        found["torch"] = lambda: model(batch)
    for name in {"NumPy", "torch"} - set(found):
        print(f"{name}: not installed, left out")
    return found


def settle(function):
    """What the program did before does not show in the first runs."""
    until = time.perf_counter() + 0.01
    while time.perf_counter() < until:
        function()


def by_measure(function, runs):
    from inferometer import measure
    found = measure(function, runs=runs, warmup=20)
    return found.median_ns, found.interval_ns


def by_timeit(function, runs):
    settle(function)
    return 1e9 * statistics.median(timeit.repeat(function, repeat=runs, number=1)), None


def by_torch(function, runs):
    from torch.utils import benchmark
    timer = benchmark.Timer("function()", globals={"function": function})
    settle(function)
    return 1e9 * statistics.median(timer.timeit(1).raw_times[0] for _ in range(runs)), None


def covers(first, second):
    """Whether two medians are as near as their intervals say."""
    low, high = sorted((first, second), key=lambda found: found[0])
    return high[0] - low[0] <= math.hypot(low[1][1] - low[0], high[0] - high[1][0])


def at_depth(depth, call):
    """call() with the stacks of C and Python elsewhere: by where they lie the speed of Python alone differs by up to a tenth."""
    return next(map(lambda _: at_depth(depth - 1, call), "x")) if depth > 0 else call()


def chance(n, hits):
    """Of as few hits of n where each is one with LEVEL."""
    return sum(math.comb(n, k) * LEVEL**k * (1 - LEVEL)**(n - k) for k in range(hits + 1))


def compare(name, function, rounds, runs):
    """Prints a callable's lines. Returns: whether it is as it should be."""
    ways = {"measure": by_measure, "again": by_measure, "timeit": by_timeit}
    if peers.has("torch"):
        ways["torch.utils.benchmark"] = by_torch
    found, chosen = {way: [] for way in ways}, random.Random(1)
    for _ in range(rounds):
        for way in chosen.sample(list(ways), len(ways)):
            found[way].append(at_depth(chosen.randrange(40), functools.partial(ways[way], function, runs)))
    good = True
    print(f"{name}: {statistics.median(median for median, _ in found['measure']) / 1e6:.4f} ms by measure()")
    for way in [way for way in ways if way not in ("measure", "again")]:
        ratios = [peer[0] / ours[0] for peer, ours in zip(found[way], found["measure"])]
        lower, upper = peers.median_interval(ratios)
        words = "outside" if upper < 1 - AIM or lower > 1 + AIM else "within" if lower >= 1 - AIM and upper <= 1 + AIM else "not told apart"
        good = good and words != "outside"
        print(f"  {way} / measure: {statistics.median(ratios):.4f}, 95 % interval {lower:.4f} to {upper:.4f}: {words} 1 ± {AIM}")
    pairs = [pair for pair in zip(found["measure"], found["again"]) if pair[0][1] and pair[1][1]]
    hits = sum(covers(*pair) for pair in pairs)
    print(f"  A/A: {hits} of {len(pairs)} pairs are as near as their intervals say (chance of so few {chance(len(pairs), hits):.2f})")
    return good and chance(len(pairs), hits) > 0.001


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=peers.usual(101, 3))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / ".deps" / "bench", help="of the benches' own environments")
    arguments = parser.parse_args()
    if not peers.has("torch") and not peers.QUICK:
        peers.in_environment(arguments.folder, *peers.TORCH)
    good = [compare(name, function, arguments.rounds, arguments.runs) for name, function in callables().items()]
    return 0 if all(good) or peers.QUICK else 1


if __name__ == "__main__":
    sys.exit(main())
