#!/usr/bin/env python3
"""How much of what `inferometer profile` takes goes into measuring: ResNet-50, batch 1, until the median is known to within 1 %.

    timed     warm-up and measured runs, the time that the figure comes from
    twin      runs of the profiled twin, which the layers' times come from
    limit     the machine's limit, which is measured once and then looked up: the first round has it, the others do not
    other     starting processes, compiling twice, the reference's outputs, verifying, writing

Each round is a command of its own in one store. Printed are each round's seconds, how the measuring ended, and timed / total. There
is no aim: on a noisy machine 1 % takes its time, and the time budget ends it.

    bench/profile-cost.py [--rounds 3] [--device onnxruntime:CPU] [OPTION of profile...]
$INFEROMETER is the command; build/inferometer where it is not set. Fails where a profile fails."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import peers


def profile(command, folder, device, options):
    """Runs one. Returns its seconds and the measurement."""
    result = os.path.join(folder, "result.json")
    start = time.monotonic()
    told = subprocess.run([*command, "profile", peers.usual("resnet50,batch=1", "squeezenet"), "--device", device, "--ci", "1%", "--output", folder, "--json", result,
                           *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    seconds = time.monotonic() - start
    if told.returncode != 0:
        sys.exit(f"profile failed: {told.stderr.strip().splitlines()[-1:]}")
    with open(result, encoding="utf-8") as file:
        return seconds, json.load(file)["cases"][0]["measurement"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=peers.usual(3))
    parser.add_argument("--device", default="onnxruntime:CPU")
    arguments, options = parser.parse_known_args()
    command = [os.environ.get("INFEROMETER", "build/inferometer")]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            seconds, measurement = profile(command, folder, arguments.device, options)
            timed = sum(measurement["warmup_ns"] + measurement["samples_ns"]) / 1e9
            twin = sum(measurement["profiled_ns"]) / 1e9
            summary = measurement["summary"]
            interval = summary["median_interval"]
            half = (interval["upper"] - interval["lower"]) / 2 / summary["median"] if interval and interval["upper"] else float("nan")
            print(f"round {number + 1}{' (with limit)' if number == 0 else ''}: total {seconds:.1f} s, timed {timed:.1f} s, twin {twin:.1f} s, other "
                  f"{seconds - timed - twin:.1f} s: measuring / total {timed / seconds:.2f}; median known to {half:.2%}, ended by {measurement['stop_reason']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
