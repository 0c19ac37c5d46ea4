#!/usr/bin/env python3
"""A tuned model in Python against the command's own run of the same file, interleaved.

`inferometer tune` makes the file of each network. Then a Python process (PyPI's onnxruntime with libinferometer_ops.so registered, as
docs/tuning.md has it) and `inferometer profile` infer with it in turn, each pinned to the same cores, with the same number of threads;
each gives the median of its inferences. Printed: the ratio (Python's / the command's) with its interval over the rounds. The exit status
is 1 where the interval of a network is wholly outside 0.97 to 1.03.

    bench/tuned-python.py [--program build/inferometer] [--folder .deps/bench] [--rounds 20] [--seconds 2] [--threads 1] [NETWORK ...]

The environment is made once in --folder, from the wheels of setup/wheels.txt in .deps/wheelhouse.
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

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETWORKS = ["googlenet", "resnet50", "mobilenet_v2"]
LEAST_RATIO, MOST_RATIO = 0.97, 1.03
WARMUP = 5


def infer(model, library, threads, seconds):
    """In the environment: prints the median of the inferences of so many seconds, in ms."""
    import numpy  # pylint: disable=import-outside-toplevel
    import onnxruntime  # pylint: disable=import-outside-toplevel
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(1)
    fed = {port.name: random.uniform(0, 1, port.shape).astype(numpy.float32) for port in session.get_inputs()}
    times, end = [], None
    while end is None or time.monotonic() < end:
        start = time.perf_counter_ns()
        session.run(None, fed)
        times.append((time.perf_counter_ns() - start) / 1e6)
        if end is None and len(times) == WARMUP:
            times, end = [], time.monotonic() + seconds
    print(sorted(times)[len(times) // 2])


def environment(folder):
    """A Python of PyPI's onnxruntime as it is pinned; made once."""
    home = folder / "tuned-python"
    python, stamp = home / "bin" / "python", home / ".ready"
    wheels = re.findall(r"^(onnxruntime==\S+)", (ROOT / "setup" / "wheels.txt").read_text(), re.MULTILINE)
    if not stamp.exists() or stamp.read_text().split() != wheels:
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", ROOT / ".deps" / "wheelhouse", *wheels,
                        "numpy"], check=True)
        stamp.write_text("\n".join(wheels))
    return python


def python_ms(python, model, options):
    """The median of a fresh process in Python."""
    command = ["taskset", "-c", options.cores, python, __file__, "--infer", model, "--library", options.library, "--threads",
               str(options.threads), "--seconds", str(options.seconds)]
    environ = {**os.environ, "ORT_DISABLE_TELEMETRY": "1"}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout)


def command_ms(program, model, options):
    """The median of a fresh `inferometer profile`."""
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "profile.json"
        subprocess.run([program, "profile", model, "--device", f"onnxruntime:CPU@{options.cores}", "--threads", str(options.threads),
                        "--no-nodes", "--no-verify", "--no-peak", "--ci", "0.01%", "--time-budget", f"{options.seconds}s", "--quiet",
                        "--json", out, "-o", pathlib.Path(scratch) / "out"], check=True, capture_output=True, text=True)
        return json.loads(out.read_text())["cases"][0]["measurement"]["summary"]["median"] / 1e6


def tune(options, network, scratch):
    """The network's file, which is written whether it is faster or not."""
    plain, tuned = scratch / f"{network}.onnx", scratch / f"{network}-tuned.onnx"
    subprocess.run([options.program, "zoo", "export", network, "-o", plain], check=True, capture_output=True)
    subprocess.run([options.program, "tune", plain, "-o", tuned, "--device", f"onnxruntime:CPU@{options.cores}", "--threads",
                    str(options.threads), "--time-budget", "2s", "--quiet", "--output", scratch / "out"], check=True, capture_output=True,
                   env={**os.environ, "IFM_TUNE_ANYWAY": "1"})
    return tuned


def compare(options, network, python):
    """Returns: whether the aim is missed."""
    with tempfile.TemporaryDirectory() as name:
        tuned = tune(options, network, pathlib.Path(name))
        ratios = []
        for number in range(options.rounds):
            sides = [("python", python_ms, python), ("command", command_ms, options.program)]
            took = {who: measure(what, tuned, options) for who, measure, what in (sides if number % 2 == 0 else reversed(sides))}
            ratios.append(took["python"] / took["command"])
            print(f"{network}, round {number + 1:2d}: Python {took['python']:.3f} ms   command {took['command']:.3f} ms   "
                  f"ratio {ratios[-1]:.4f}", flush=True)
    words, is_missed = peers.judge_within(ratios, LEAST_RATIO, MOST_RATIO)
    print(f"{network}, {options.threads} thread{'' if options.threads == 1 else 's'}: {words}", flush=True)
    return is_missed


def main():
    """Parses the options and compares each network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", metavar="NETWORK", nargs="*", default=NETWORKS[:1] if peers.QUICK else NETWORKS)
    parser.add_argument("--program", default=os.environ.get("INFEROMETER", "build/inferometer"))
    parser.add_argument("--folder", default=".deps/bench", type=pathlib.Path)
    parser.add_argument("--library", default=pathlib.Path(peers.BUILD).resolve() / "libinferometer_ops.so")
    parser.add_argument("--rounds", default=peers.usual(20, 2), type=int)
    parser.add_argument("--seconds", default=peers.usual(2), type=int)
    parser.add_argument("--threads", default=1, type=int)
    parser.add_argument("--infer", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.infer is not None:
        infer(options.infer, str(options.library), options.threads, options.seconds)
        return 0
    last = (os.cpu_count() or 1) - 1
    options.cores = f"{last}" if options.threads == 1 else f"{last + 1 - options.threads}-{last}"
    options.folder.mkdir(parents=True, exist_ok=True)
    python = environment(options.folder.resolve())
    missed = [network for network in options.networks if compare(options, network, python)]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
