#!/usr/bin/env python3
"""What Python costs: `import inferometer` over a Python that imports nothing, and a call of it over the command by itself.

Both sides of a pair run one after the other, in a drawn order, ROUNDS times; printed are the median of the differences of a round and
its 95 % interval. The call asks for all that its result holds (JSON, CSV, document, page, figures), the command for nothing.
Aims: 50 ms and 0.1 s.

    bench/python-call.py [--rounds 21]"""
import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

import peers

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ["PYTHONPATH"] = str(ROOT / "python")
WORDS = ["profile", "zoo:matmul,m=64", "--device=simulated:ideal/CPU", "--runs=5", "--no-peak", "--quiet"]


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def python(code):
    subprocess.run([sys.executable, "-c", code], check=True)


def difference(name, with_it, without, rounds, aim_s):
    """Prints what with_it() takes more than without(). Returns whether it is certainly no more than the aim."""
    sides = [with_it, without]
    for side in sides:  # files are in the caches, the table of options is read
        side()
    found = []
    for _ in range(rounds):
        taken = {side: seconds(side) for side in random.sample(sides, 2)}
        found.append(taken[with_it] - taken[without])
    lower, upper = peers.median_interval(found)
    print(f"{name:12} +{1e3 * statistics.median(found):.1f} ms, {1e3 * lower:.1f} to {1e3 * upper:.1f} ms; aim {1e3 * aim_s:.0f} ms")
    return not lower > aim_s


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=peers.usual(21, 3))
    rounds = parser.parse_args().rounds
    import inferometer
    command = [os.environ.get("INFEROMETER", str(ROOT / "build" / "inferometer")), *WORDS]

    def call():
        inferometer.profile("zoo:matmul,m=64", devices="simulated:ideal/CPU", runs=5, no_peak=True, progress=False)

    good = [difference("import", lambda: python("import inferometer"), lambda: python("pass"), rounds, 0.05),
            difference("a call", call, lambda: subprocess.run(command, check=True, capture_output=True), rounds, 0.1)]
    return 0 if all(good) or peers.QUICK else 1


if __name__ == "__main__":
    sys.exit(main())
