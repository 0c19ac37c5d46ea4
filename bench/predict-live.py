#!/usr/bin/env python3
"""How well a prediction follows a load that starts, changes and stops. One model stands on one core; a stressor (`inferometer stress`)
takes that core, or others, by the steps of STEPS. Two scrapes after each change the model's latency is predicted from /proc
(`--load live`) and from two Prometheus servers that scrape a node exporter every 5 and every 60 seconds, and then measured. A point is
one prediction. Bound: at least 33 of 40 measured latencies lie in the 90 % interval of what was predicted.

    bench/predict-live.py [--with latency.json] [--model MODEL] [--steps N] [--intervals 5,60]

Without --with it learns from out/kernels-quick/kernels.csv, which `inferometer study run kernels-quick` writes; a quick run measures a
few kernels itself. All servers listen on loopback, and end with this program.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import peers

BOUND = 33 / 40
# What the stressor does from then on: kind, share of the time, and whether on the model's core; None: it is stopped.
STEPS = [None, ("gemm", 0.3, True), ("gemm", 0.6, True), ("gemm", 0.9, True), None, ("copy", 0.6, True), ("copy", 0.3, True),
         ("gemm", 0.6, False), ("gemm", 0.9, False), ("copy", 0.9, False), None, ("copy", 0.9, True), ("gemm", 0.45, True), None]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def running(words):
    """A program that ends with the block."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def serve(ends, folder, interval_s, node_port):
    """A server that scrapes the exporter. Returns its address."""
    port = free_port()
    config = pathlib.Path(folder, f"{port}.yml")
    config.write_text(f"global: {{scrape_interval: {interval_s}s, scrape_timeout: {min(interval_s, 4)}s}}\nscrape_configs:\n"
                      f"  - {{job_name: node, static_configs: [{{targets: ['127.0.0.1:{node_port}']}}]}}\n")
    ends.enter_context(running(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/{port}",
                                f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]))
    return f"http://127.0.0.1:{port}"


def await_scrapes(address, within_s):
    """Until the server has seen its target at least twice."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError, LookupError):
            with urllib.request.urlopen(f"{address}/api/v1/query?query=count_over_time(up[10m])", timeout=5) as answer:
                if int(json.load(answer)["data"]["result"][0]["value"][1]) >= 2:
                    return
        time.sleep(1)
    raise SystemExit(f"{address} has not scraped twice in {within_s} s")


def said(words):
    """The JSON of a command of ours that ends well."""
    done = subprocess.run([str(word) for word in words] + ["-q", "--json", "-"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def learn(program, folder):
    """From what studies measured here, or, in a quick run, from a few kernels."""
    rows = pathlib.Path("out/kernels-quick/kernels.csv")
    if peers.QUICK:
        rows = pathlib.Path("out/kernels-few/kernels.csv")  # as predict-quality leaves it
    if peers.QUICK and not rows.exists():
        rows = pathlib.Path(folder, "few", "kernels.csv")
        subprocess.run([program, "study", "run", "bench/data/kernels-few.yaml", "-q", "-o", rows.parent], stdout=subprocess.DEVNULL,
                       check=True)
    if not rows.exists():
        return None
    path = pathlib.Path(folder, "latency.json")
    subprocess.run([program, "train", rows, "-q", "--allow-disturbed", "-o", path], stdout=subprocess.DEVNULL, check=True)
    return path


def others(core):
    return ",".join(str(other) for other in sorted(os.sched_getaffinity(0)) if other != core)


def stress(program, step, core):
    kind, share, same = step
    return running([program, "stress", "-q", "--kind", kind, "--intensity", str(share), "--for", "20min", "--cores",
                    str(core) if same else others(core)])


class Points:
    """Tallies what of each source lay in its interval."""

    def __init__(self):
        self.of = {}

    def add(self, source, low, predicted, high, measured):
        inside = low <= measured <= high
        self.of.setdefault(source, []).append((inside, abs(predicted / measured - 1)))
        print(f"    {source:<16}{predicted / 1e6:8.3f} ms  [{low / 1e6:.3f}, {high / 1e6:.3f}]{'' if inside else '  outside'}")

    def close(self):
        every = [point for points in self.of.values() for point in points]
        for source, points in [*self.of.items(), ("all", every)]:
            n_inside = sum(inside for inside, _ in points)
            print(f"{source:<16}{n_inside} of {len(points)} inside, mean error {100 * sum(error for _, error in points) / len(points):.1f} %")
        return sum(inside for inside, _ in every), len(every)


def look(options, program, latency, sources, points):
    """Each source predicts, then the model is measured."""
    device = f"onnxruntime:CPU@{options.core}"
    predictions = []
    for name, load in sources.items():
        found = said([program, "predict", options.model, "--with", latency, "-d", device, "--load", load])
        predictions.append((name, found["models"][0]))
    measured = said([program, "profile", options.model, "-d", device, "--threads", "1", "--runs", "60", "--no-peak", "--no-verify"])
    median = measured["cases"][0]["measurement"]["summary"]["median"]
    print(f"    measured        {median / 1e6:8.3f} ms")
    for name, model in predictions:
        points.add(name, model["low_ns"], model["latency_ns"], model["high_ns"], median)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--with", dest="latency")
    parser.add_argument("--model", default="googlenet")
    parser.add_argument("--steps", type=int, default=peers.usual(len(STEPS), 2))
    parser.add_argument("--intervals", default=peers.usual("5,60", "1"))
    parser.add_argument("--core", type=int, default=min(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if options.steps < 1:
        parser.error("--steps: at least 1")
    for ending in (signal.SIGTERM, signal.SIGHUP):  # so that what was started ends, too
        signal.signal(ending, lambda number, frame: sys.exit(128 + number))
    lacking = [name for name in ("prometheus", "prometheus-node-exporter") if shutil.which(name) is None]
    if lacking or len(os.sched_getaffinity(0)) < 2:
        print(f"skipped: {'no ' + lacking[0] + ' here' if lacking else 'one core'}")
        return 77
    program = pathlib.Path(peers.BUILD, "inferometer").resolve()
    os.environ["IFM_IDLE_WAIT"] = "0"  # the load is meant
    points = Points()
    with contextlib.ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="ifm-live-"))
        latency = options.latency or learn(program, folder)
        if latency is None:
            print("skipped: nothing to learn from: run `inferometer study run kernels-quick` first, or say --with FILE")
            return 77
        node = free_port()
        ends.enter_context(running(["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{node}", "--collector.disable-defaults",
                                    "--collector.cpu", "--collector.stat", "--collector.pressure"]))
        intervals = [int(word) for word in options.intervals.split(",")]
        servers = {interval: serve(ends, folder, interval, node) for interval in intervals}
        for interval, address in servers.items():
            await_scrapes(address, 3 * interval + 30)
        # servers first: one that scrapes often would see the other predictions
        sources = {f"prometheus {interval} s": f"prometheus:{address}" for interval, address in servers.items()} | {"/proc": "live"}
        for step in STEPS[:options.steps]:
            print("stopped" if step is None else f"{step[0]} {step[1]:.0%} on {'the same core' if step[2] else 'others'}", flush=True)
            with stress(program, step, options.core) if step else contextlib.nullcontext() as stressor:
                time.sleep(2 * max(intervals) + 1)
                look(options, program, latency, sources, points)
                if stressor is not None and stressor.poll() is not None:
                    raise SystemExit(f"the stressor ended early, with status {stressor.returncode}")
    n_inside, n = points.close()
    good = n_inside >= math.ceil(BOUND * n - 1e-9)
    print(f"bound: {BOUND:.1%} inside: {'kept' if good else 'BROKEN'}")
    return 0 if good or peers.QUICK else 1


if __name__ == "__main__":
    sys.exit(main())
