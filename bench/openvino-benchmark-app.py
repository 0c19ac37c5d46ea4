#!/usr/bin/env python3
"""Our median latency against that of OpenVINO's own benchmark_app, interleaved.

Both measure one model on one processor with one thread, f32, one stream, the synchronous API, in processes of their own, turn
about. The exit status is 1 where the ratio's interval is wholly outside 0.98 to 1.02. Printed: each round's two medians, and the ratio (ours / benchmark_app's) with its interval over the rounds.

    bench/openvino-benchmark-app.py --program build/inferometer --folder .deps/bench [--rounds 30] [--seconds 2] [--core 0]

benchmark_app comes from the openvino wheel, installed with its Python parts into a private environment in --folder.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import peers

WHEEL = "openvino==2026.4.1"
LEAST_RATIO, MOST_RATIO = 0.98, 1.02
LEAST_MS = 1.0


def environment(folder):
    """A private Python environment that has benchmark_app; made once."""
    tool = folder / "venv" / "bin" / "benchmark_app"
    if not tool.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([folder / "venv" / "bin" / "pip", "install", "--quiet", WHEEL, "numpy"], check=True)
    return tool


def benchmark_app_median_ms(tool, model, core, seconds, scratch):
    command = ["taskset", "-c", str(core), tool, "-m", model, "-d", "CPU", "-hint", "none", "-api", "sync", "-nstreams", "1",
               "-nthreads", "1", "-infer_precision", "f32", "-pin", "NO", "-t", str(seconds), "-report_type", "no_counters",
               "-report_folder", scratch, "-json_stats"]
    # HOME is private: nothing is written to the user's, and no telemetry identity is there.
    done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "HOME": str(scratch)})
    match = re.search(r"Median:\s*([0-9.]+) ms", done.stdout)
    if match is None:
        raise SystemExit(f"benchmark_app printed no median:\n{done.stdout[-2000:]}")
    return float(match.group(1))


def our_median_ms(program, model, core, seconds, scratch):
    out = scratch / "ours.json"
    command = [program, "profile", model, "--device", f"openvino:CPU@{core}", "--threads", "1", "--no-nodes", "--no-verify",
               "--ci", "0.01%", "--time-budget", f"{seconds}s", "--quiet", "--json", out, "-o", scratch / "out"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    document = json.loads(out.read_text())
    return document["cases"][0]["measurement"]["summary"]["median"] / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=os.environ.get("INFEROMETER", "build/inferometer"))
    parser.add_argument("--folder", default=".deps/bench", type=pathlib.Path)
    parser.add_argument("--rounds", default=peers.usual(30), type=int)
    parser.add_argument("--seconds", default=peers.usual(2), type=int)
    parser.add_argument("--core", default=0, type=int)
    parser.add_argument("--model", help="an ONNX file; else the zoo's matmul 512 x 512 x 512")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = options.folder.resolve()
    tool = environment(folder)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        model = options.model
        if model is None:
            model = scratch / "matmul.onnx"
            subprocess.run([options.program, "zoo", "export", "matmul", "m=512", "k=512", "n=512", "-o", model], check=True,
                           capture_output=True)
        ours, theirs = [], []
        for number in range(options.rounds):
            pair = [("ours", our_median_ms, options.program), ("theirs", benchmark_app_median_ms, tool)]
            for who, measure, what in pair if number % 2 == 0 else reversed(pair):
                (ours if who == "ours" else theirs).append(measure(what, model, options.core, options.seconds, scratch))
            if theirs[-1] < LEAST_MS:
                raise SystemExit(f"{model}: an inference takes {theirs[-1]:.4f} ms: the aim is of models of {LEAST_MS} ms and more")
            print(f"round {number + 1:2d}: inferometer {ours[-1]:.4f} ms   benchmark_app {theirs[-1]:.4f} ms   "
                  f"ratio {ours[-1] / theirs[-1]:.4f}", flush=True)
    words, is_missed = peers.judge_within([a / b for a, b in zip(ours, theirs)], LEAST_RATIO, MOST_RATIO)
    print(words)
    return 1 if is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
