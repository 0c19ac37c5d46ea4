#!/usr/bin/env python3
"""Time of a study by the stopping rule against fixed counts, and the widths each reaches.

The same study is measured into fresh folders by the rule (the median's 95 % interval within 1 %, inside the study's time
budget) and as published (--warmup 10 --runs 50): whole runs, turn about, in the order ABBA. Printed: the wall time of each, the
ratio (rule / fixed), the share of cases whose interval is within the target and the half-widths' quantiles, for each device, and
how the two protocols' medians of a case agree.

    bench/study-rule.py --program build/inferometer [--sizes 3 | --full] [--rounds 2] [--device ALIAS=DEVICE ...]

--sizes N takes N sizes of the study, from its smallest to its largest; --full takes all of them. "none" for a half-width: too
few runs that count as independent to bound the median at all. Other load on the machine makes every width larger: each round says
how much there was (runnable threads on average, before it).
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import peers

TARGET = 0.01
PROTOCOLS = {"rule": ["--ci", "1%"], "fixed": ["--warmup", "10", "--runs", "50"]}
SIZE_LINE = re.compile(r"\s*- \{nodes: (\d+), edges: \[([\d, ]+)\]\}\s*$")
QUANTILES = (0.1, 0.5, 0.9, 1.0)


def quantile(values, p):
    """Linear between the order statistics; NaN of nothing."""
    values = sorted(values)
    if not values:
        return float("nan")
    place = p * (len(values) - 1)
    low = int(place)
    if place == low or values[low] == values[low + 1]:
        return values[low]
    return values[low] + (place - low) * (values[low + 1] - values[low])


def fewer_sizes(text, count):
    """The text of a study with `count` of its sizes, spread over the list from the first to the last."""
    lines = text.splitlines()
    begin = lines.index("sizes:") + 1
    end = begin
    sizes = []
    while end < len(lines) and (match := SIZE_LINE.match(lines[end])):
        sizes += [(match.group(1), edges.strip()) for edges in match.group(2).split(",")]
        end += 1
    if not sizes:
        raise SystemExit("the study's sizes are not listed as - {nodes: N, edges: [E, ...]}: take --full")
    count = min(count, len(sizes))
    chosen = [sizes[round(i * (len(sizes) - 1) / max(count - 1, 1))] for i in range(count)]
    kept = {}
    for nodes, edges in chosen:
        kept.setdefault(nodes, []).append(edges)
    rows = [f"  - {{nodes: {nodes}, edges: [{', '.join(edges)}]}}" for nodes, edges in kept.items()]
    return "\n".join(lines[:begin] + rows + lines[end:]) + "\n"


def run_study(program, study, devices, protocol, folder):
    """Returns the wall time in seconds, and the rows of raw_measurements.json that have a latency, by key."""
    command = [program, "study", "run", str(study), "-o", str(folder), *PROTOCOLS[protocol]]
    for device in devices:
        command += ["--device", device]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    wall = time.monotonic() - start
    raw = folder / "raw_measurements.json"
    if done.returncode not in (0, 1) or not raw.exists():
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    rows = {key: row for key, row in json.loads(raw.read_text()).items() if not key.startswith("_") and "median" in row}
    if done.returncode == 1:
        print(f"{protocol}: {done.stderr.strip().splitlines()[-1]}", flush=True)
    return wall, rows


def half_width(row):
    """Of the median's interval, as a ratio of the median; infinite where too few runs gave no interval."""
    lower, upper = row["interval_lower_ms"], row["interval_upper_ms"]
    return float("inf") if lower is None or upper is None else (upper - lower) / 2 / row["median"]


def device_of(key):
    return key.split(",")[2]


def percent(ratio):
    return "none" if ratio == float("inf") else f"{100 * ratio:.2f} %"


def tell_widths(protocol, name, rows):
    widths = [half_width(row) for row in rows]
    within = sum(width <= TARGET for width in widths)
    runs = [row["n"] for row in rows]
    sampled = sum(sum(row["samples_ms"]) for row in rows) / 1000
    shown = "  ".join(f"{'most' if p == 1 else f'p{100 * p:.0f}'} {percent(quantile(widths, p))}" for p in QUANTILES)
    print(f"{protocol:6s} {name:8s} {len(rows):4d} cases   within {percent(TARGET)}: {within:4d} = {100 * within / len(rows):5.1f} %   "
          f"half-widths: {shown}   runs: median {quantile(runs, 0.5):.0f}, most {max(runs)}   timed runs {sampled:.1f} s")


def tell_stops(rows):
    stops = {}
    for row in rows:
        stops[row["stop_reason"]] = stops.get(row["stop_reason"], 0) + 1
    print("rule   stopped by: " + ", ".join(f"{reason} {n}" for reason, n in sorted(stops.items(), key=lambda item: -item[1])))


def tell_agreement(pairs):
    """pairs: (rule's row, fixed row) of one case in one round."""
    ratios = [rule["median"] / fixed["median"] for rule, fixed in pairs]
    bounded = [(rule, fixed) for rule, fixed in pairs if half_width(rule) < float("inf") and half_width(fixed) < float("inf")]
    apart = sum(rule["interval_lower_ms"] > fixed["interval_upper_ms"] or fixed["interval_lower_ms"] > rule["interval_upper_ms"]
                for rule, fixed in bounded)
    print(f"medians, rule / fixed: p10 {quantile(ratios, 0.1):.4f}  median {quantile(ratios, 0.5):.4f}  "
          f"p90 {quantile(ratios, 0.9):.4f}; intervals apart in {apart} of {len(bounded)} cases")


def default_devices():
    cores = sorted(os.sched_getaffinity(0))
    return [f"CPU=openvino:CPU@{cores[0]}", f"ORT=onnxruntime:CPU@{cores[1] if len(cores) > 1 else cores[0]}"]


def measure_rounds(options, study, scratch):
    """Returns for each protocol its wall times and its rows, a round each."""
    walls, rounds = {name: [] for name in PROTOCOLS}, {name: [] for name in PROTOCOLS}
    for number in range(options.rounds):
        order = list(PROTOCOLS)
        for protocol in order if number % 2 == 0 else reversed(order):
            load = os.getloadavg()[0]
            wall, rows = run_study(options.program, study, options.device, protocol, scratch / f"{protocol}-{number}")
            if not rows:
                raise SystemExit(f"{protocol}: no case has a latency")
            walls[protocol].append(wall)
            rounds[protocol].append(rows)
            print(f"round {number + 1}: {protocol:6s} {len(rows)} cases in {wall:.1f} s; load before {load:.1f} on {os.cpu_count()} processors",
                  flush=True)
    return walls, rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.environ.get("INFEROMETER", "build/inferometer"))
    parser.add_argument("--study", default="studies/gnn-stages.yaml", type=pathlib.Path, help="a study's file")
    parser.add_argument("--sizes", default=peers.usual(3), type=int, help="how many of the study's sizes")
    parser.add_argument("--full", action="store_true", help="all of them")
    parser.add_argument("--rounds", default=peers.usual(2), type=int)
    parser.add_argument("--device", action="append", help="ALIAS=DEVICE; else both runtimes, on a core each")
    options = parser.parse_args()
    if options.sizes < 1 or options.rounds < 1:
        parser.error("--sizes and --rounds: 1 or more")
    options.device = options.device or default_devices()
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        study = options.study.resolve()
        if not options.full:
            study = scratch / options.study.name
            study.write_text(fewer_sizes(options.study.read_text(), options.sizes))
        print(f"{options.study.stem}, {'all' if options.full else options.sizes} sizes, {' '.join(options.device)}", flush=True)
        walls, rounds = measure_rounds(options, study, scratch)
    for protocol in PROTOCOLS:
        rows = [(device_of(key), row) for one in rounds[protocol] for key, row in one.items()]
        for device in sorted({device for device, _ in rows}):
            tell_widths(protocol, device, [row for at, row in rows if at == device])
        tell_widths(protocol, "all", [row for _, row in rows])
    tell_stops([row for one in rounds["rule"] for row in one.values()])
    tell_agreement([(rule[key], fixed[key]) for rule, fixed in zip(rounds["rule"], rounds["fixed"]) for key in rule if key in fixed])
    ratios = [a / b for a, b in zip(walls["rule"], walls["fixed"])]
    print(f"wall time of the study: rule {sum(walls['rule']) / options.rounds:.1f} s, fixed {sum(walls['fixed']) / options.rounds:.1f} s; "
          f"ratio by rounds: {' '.join(f'{ratio:.3f}' for ratio in ratios)}, of the sums: {sum(walls['rule']) / sum(walls['fixed']):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
