#!/usr/bin/env python3
"""Holds `inferometer trace` against other readings of PyTorch's traces: busy time, launches and causes of idle time of each
stream and thread, computed here from the JSON alone, and (--hta) by Holistic Trace Analysis.

    bench/trace-others.py FOLDER [--hta]

FOLDER has traces of PyTorch's profiler, such as tests/data of the repository facebookresearch/HolisticTraceAnalysis, at any
depth. Without a folder, those of tests/trace/data are read. --hta needs the package HolisticTraceAnalysis. Ends with status 1
where a figure differs, and with 3 where there is no trace.
"""
import argparse
import collections
import decimal
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("INFEROMETER", str(ROOT / "build" / "inferometer"))
KERNELS = {"kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events", "Kernel", "Memcpy", "Memset"}
LAUNCHES = {"cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "mtia_runtime", "Runtime"}
ANNOTATIONS = {"user_annotation", "gpu_user_annotation", "python_function", "Trace", "overhead", "cuda_sync",
               "cuda_profiler_range", "cpu_instant_event", "Session"}
KERNEL_WAIT_NS = 30000
FLOWS = {"ac2g", "async_cpu_to_gpu", "async_gpu"}


def load(path):
    with (gzip.open if path.name.endswith(".gz") else open)(path) as file:
        document = json.load(file, parse_float=decimal.Decimal)
    events = document.get("traceEvents", []) if isinstance(document, dict) else document
    return [event for event in events if isinstance(event, dict)]


def ns(us):
    return int((decimal.Decimal(us) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def union(spans):
    total, end = 0, None
    for start, stop in sorted(spans):
        if end is None or start > end:
            total, end = total + stop - start, stop
        elif stop > end:
            total, end = total + stop - end, stop
    return total


def launch_starts(events):
    """Of each correlation and each flow: when the call began."""
    starts = {}
    for event in events:
        correlation = event.get("args", {}).get("correlation")
        if event.get("ph") == "X" and event.get("cat") in LAUNCHES and correlation is not None:
            starts.setdefault(("correlation", int(correlation)), ns(event["ts"]))
        if event.get("ph") == "s" and event.get("cat") in FLOWS:
            starts.setdefault(("flow", int(event["id"])), ns(event["ts"]))
    return starts


def waits(kernels, starts):
    """Host wait, kernel wait and unknown time between the kernels of one stream."""
    found, until = collections.Counter(), None
    for event in sorted(kernels, key=lambda event: (ns(event["ts"]), ns(event["dur"]))):
        start = ns(event["ts"])
        launch = starts.get(("correlation", int(event.get("args", {}).get("correlation", -1))))
        if until is not None and start > until:
            cause = "host-wait" if launch is not None and launch > until \
                else "kernel-wait" if start - until < KERNEL_WAIT_NS else "unknown"
            found[cause] += start - until
        until = start + ns(event["dur"]) if until is None else max(until, start + ns(event["dur"]))
    return found


def figures(events):
    """{(title): figures} of the streams, and of the threads beside them."""
    threads, begun = collections.defaultdict(list), collections.defaultdict(list)
    for event in events:
        place = str(event.get("pid")), str(event.get("tid"))
        if event.get("ph") == "X" and event.get("dur", -1) >= 0:
            threads[place].append(event)
        elif event.get("ph") == "B":
            begun[place].append(event)
        elif event.get("ph") == "E" and begun[place]:
            begin = begun[place].pop()
            threads[place].append({**begin, "dur": decimal.Decimal(event["ts"]) - decimal.Decimal(begin["ts"])})
    starts, streams, hosts = launch_starts(events), collections.Counter(), collections.Counter()
    for own in threads.values():
        kernels = [event for event in own if event.get("cat") in KERNELS]
        work = [event for event in own if event.get("cat") not in ANNOTATIONS
                and not str(event.get("name")).startswith(("ProfilerStep#", "PyTorch Profiler"))]
        spans = lambda these: [(ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])) for event in these]
        if kernels:
            found = waits(kernels, starts)
            streams[len(kernels), union(spans(kernels)), found["host-wait"], found["kernel-wait"], found["unknown"]] += 1
        elif work:
            launches = [event for event in work if event.get("cat") in LAUNCHES]
            hosts[union(spans(work)), len(launches), union(spans(launches))] += 1
    return streams, hosts


def of_program(path):
    made = subprocess.run([PROGRAM, "trace", str(path), "--json", "-"], capture_output=True, text=True)
    if made.returncode != 0:
        return None, made.stderr.strip()
    trace = json.loads(made.stdout)["traces"][0]
    streams, hosts = collections.Counter(), collections.Counter()
    for track in trace["tracks"]:
        cause = track["idle"]["by_cause_ns"]
        if track["device"] is not None:
            streams[track["count"], track["busy_ns"], cause["host-wait"], cause["kernel-wait"], cause["unknown"]] += 1
        else:
            hosts[track["busy_ns"], track["launches"], track["launch_ns"]] += 1
    return (streams, hosts), trace


def of_hta(path):
    """{cause: us} of all streams together, by the package itself, of all kernels; None where it has no figure."""
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.analyzers.breakdown_analysis import BreakdownAnalysis
    from hta.common.trace import Trace
    with tempfile.TemporaryDirectory() as folder:
        try:
            trace = Trace(trace_files={0: str(path)}, trace_dir=folder)
            trace.parse_traces(use_multiprocessing=False)
            table = BreakdownAnalysis.get_idle_time_breakdown(trace, KERNEL_WAIT_NS // 1000, visualize=False)[0]
        except Exception as error:  # it refuses what has no kernels
            return None, type(error).__name__
    return {name: float(of["idle_time"].sum()) for name, of in table.groupby("idle_category")}, ""


def as_hta_counts(events):
    """The same rule in its arithmetic: times in doubles of us, a gap from the end of the kernel before, so that one that
    overlaps it is a gap below 0, and the stream by args.stream."""
    starts = {int(event["args"]["correlation"]): float(event["ts"]) for event in events
              if event.get("ph") == "X" and event.get("cat") in LAUNCHES and "correlation" in event.get("args", {})}
    streams, found = collections.defaultdict(list), collections.Counter()
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in KERNELS and int(event.get("args", {}).get("stream", -1)) != -1:
            streams[int(event["args"]["stream"])].append(event)
    for kernels in streams.values():
        until = None
        for event in sorted(kernels, key=lambda event: float(event["ts"])):
            start, launch = float(event["ts"]), starts.get(int(event["args"].get("correlation", -1)))
            if until is not None:
                cause = "host_wait" if launch is not None and launch > until \
                    else "kernel_wait" if start - until < KERNEL_WAIT_NS / 1000 else "other"
                found[cause] += start - until
            until = start + float(event["dur"])
    return found


def compare_with_hta(path, events, streams):
    theirs, why = of_hta(path)
    if theirs is None:
        return None, f"no figure of HTA ({why})"
    ours = {cause: sum(key[at] * n for key, n in streams.items()) / 1e3
            for at, cause in ((2, "host_wait"), (3, "kernel_wait"), (4, "other"))}
    theirs = {cause: theirs.get(cause, 0.0) for cause in ours}
    near = lambda these: all(abs(these[cause] - theirs[cause]) <= 0.5 + 1e-6 * abs(theirs[cause]) for cause in ours)
    text = ", ".join(f"{cause} {ours[cause]:.2f} us ({ours[cause] - theirs[cause]:+.2f})" for cause in ours)
    if not near(ours) and near(as_hta_counts(events)):
        return True, f"HTA: {text}: by its arithmetic, doubles and gaps below 0 included, the same"
    return near(ours), "HTA: " + text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=str(ROOT / "tests" / "trace" / "data"))
    parser.add_argument("--hta", action="store_true", help="also compare with the package HolisticTraceAnalysis")
    options = parser.parse_args()
    n = collections.Counter()
    for path in sorted(pathlib.Path(options.folder).rglob("*.json*")):
        try:
            events = load(path)
            expected = figures(events)
        except (ValueError, OSError, KeyError, decimal.InvalidOperation) as error:
            print(f"{path.name}: not read here: {error}")
            continue
        if not expected[0] and not expected[1]:
            continue
        n["traces"] += 1
        found, more = of_program(path)
        same = found == expected
        n["equal"] += same
        n["streams"] += sum(expected[0].values())
        n["kernels"] += sum(key[0] * count for key, count in expected[0].items())
        print(f"{path.name}: {sum(expected[0].values())} streams, {sum(expected[1].values())} threads: "
              f"{'equal' if same else 'DIFFERENT'}")
        if not same and found is None:
            print(f"  {more}")
        for part in (0, 1) if not same and found is not None else ():
            print(f"  expected {dict(expected[part] - found[part])}\n  found    {dict(found[part] - expected[part])}")
        if options.hta and expected[0]:
            as_theirs, text = compare_with_hta(path, events, expected[0])
            n["hta"] += as_theirs is not None
            n["as hta"] += as_theirs is True
            print(f"  {'' if as_theirs or as_theirs is None else 'DIFFERENT: '}{text}")
    print(f"{n['equal']} of {n['traces']} traces equal: {n['streams']} streams, {n['kernels']} kernels")
    if options.hta:
        print(f"{n['as hta']} of {n['hta']} traces as HTA has them")
    if n["traces"] == 0:
        return 3
    return 0 if n["equal"] == n["traces"] else 1


if __name__ == "__main__":
    sys.exit(main())
