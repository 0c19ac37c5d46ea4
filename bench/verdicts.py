#!/usr/bin/env python3
"""How often honest outputs are called different, and which planted faults are found, on both engines.

Models of the zoo (small), in f32, f16, QDQ by tensor and by channel, with dynamic quantisation and with weights of four bits, made by
ONNX Runtime's own quantisers; inputs of several seeds. Each is run by ONNX Runtime and OpenVINO and judged as `inferometer profile`
does (src/measure/spread.h): honest runs, and runs of copies with a fault. Half of the models (HELD_OUT is the other) and the first
seeds were there to choose the limits on; the figures of both halves are printed.

An honest run that is called different and becomes equal with a setting of PRECISE was less precise on purpose (saturation of 16-bit
pairs, activations quantised beside weights of four bits, quantisers moved through the graph): the verdict is right, and it is counted
apart. So is "undetermined". A fault that changes no digit of the outputs is none.

A fault "beneath the noise" changes the outputs by less than twice the power of the model's own roundings: no tolerance tells it from
them. In deep quantised models of random weights that is so for one weight of many, and for two channels of a wide layer.

Resumable: what a results file holds is not run again. Exit status 1 where over 3 % of the honest runs of the held-out half are
called different, or a fault of a class that must be found, and is above the noise, is called equal.

    bench/verdicts.py [--build build] [--folder .deps/bench] [--results FILE] [--seeds 3] [--model NAME...]
"""
import argparse
import collections
import ctypes
import json
import math
import os
import pathlib
import subprocess
import sys

import peers

WHEELS = ["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.31.1", "onnx-ir==1.1.0"]
DEVICES = {"onnxruntime": "onnxruntime:CPU@0", "openvino": "openvino:CPU@0"}
# With these the runtimes compute exactly what they otherwise make less precise on purpose.
PRECISE = {"onnxruntime": ["session.x64quantprecision=1", "session.qdq_matmulnbits_accuracy_level=1"],
           "openvino": ["DYNAMIC_QUANTIZATION_GROUP_SIZE=0", "LP_TRANSFORMS_MODE=NO"]}
HELD_OUT = {"googlenet", "bert-wide", "vit", "densenet", "graph-transformer", "squeezenet"}
QUICK_MODELS = {"matmul": ["f32", "dynamic"], "bert": ["qdq-channel"]}
LEAST_RUNS, MOST_DIFFERENT = 200, 0.03


# ----- one model in one precision, in a process of its own

class Judge:
    def __init__(self, build):
        self.function = ctypes.CDLL(str(pathlib.Path(build).resolve() / "bench" / "libinferometer-bench.so")).bench_judge
        self.function.restype = ctypes.c_void_p
        self.function.argtypes = [ctypes.c_char_p] * 5 + [ctypes.c_uint32, ctypes.c_char_p]

    def __call__(self, model, other, device, dtype, option, seed, reference):
        text = self.function(*(None if word is None else str(word).encode() for word in (model, other, device, dtype, option)), seed, str(reference).encode())
        return json.loads(ctypes.string_at(text))


def judge_model(arguments, name, precision, seeds):
    """Prints a line of JSON for each run."""
    import verdict_models as models
    folder = arguments.folder / "verdicts"
    folder.mkdir(parents=True, exist_ok=True)
    program = os.environ.get("INFEROMETER", str(pathlib.Path(arguments.build) / "inferometer"))
    source = models.export(program, name, folder)
    path = source if models.PRECISIONS[precision] is None else folder / f"{name}-{precision}.onnx"
    if not path.exists():
        models.PRECISIONS[precision](source, path)
    judge = Judge(arguments.build)
    for seed in seeds:
        reference = folder / f"{name}-{precision}-{seed}-{os.getpid()}.reference"
        faults = {"": path}
        for fault in models.FAULTS if seed == seeds[0] else ():
            if fault in ("bf16", "f16") and precision != "f32":
                continue
            faulty = folder / f"{name}-{precision}-faulty-{fault}-{os.getpid()}.onnx"
            if models.plant(path, fault, faulty):
                faults[fault] = faulty
        for fault, other in faults.items():
            for engine in arguments.engines:
                device = DEVICES[engine]
                dtype = "f16" if precision == "f16" and engine == "onnxruntime" else "f32"  # OpenVINO widens it
                options = [None, *PRECISE[engine]] if not fault and models.kind_of(precision) == "quantised" else [None]
                for option in options:
                    told = judge(path, other, device, dtype, option, seed, reference)
                    print(json.dumps({"model": name, "precision": precision, "seed": seed, "fault": fault, "engine": engine,
                                      "option": option, "told": told}), flush=True)
        reference.unlink(missing_ok=True)
        for fault, other in faults.items():
            if fault:
                other.unlink()


# ----- all of them

def run_child(arguments, name, precision, seeds):
    """A runtime that ends the process costs its own runs: ONNX Runtime's are made again without it."""
    rows = []
    for engines in (list(DEVICES), ["onnxruntime"]):
        child = subprocess.run([sys.executable, __file__, "--build", arguments.build, "--folder", arguments.folder, "--engines", *engines,
                                "--child", name, precision, ",".join(map(str, seeds))], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "ORT_DISABLE_TELEMETRY": "1"})
        lines = [json.loads(line) for line in child.stdout.splitlines()]
        if child.returncode == 0:
            return rows + lines
        print(f"{name} {precision}: a process ended with status {child.returncode} after {len(lines)} runs", file=sys.stderr)
        rows = [{"model": name, "precision": precision, "seed": seed, "fault": "", "engine": "openvino", "option": None,
                 "told": {"error": f"ended the process with status {child.returncode}"}} for seed in seeds]
    return rows


def run_all(arguments, cases, results):
    done = {(row["model"], row["precision"], row["seed"]) for row in results}
    for name, precision in cases:
        seeds = [seed for seed in range(1, arguments.seeds + 1) if (name, precision, seed) not in done]
        if not seeds:
            continue
        rows = run_child(arguments, name, precision, seeds)
        results += rows
        if arguments.results:
            with open(arguments.results, "a") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)


def outcome(row):
    return "failed" if "error" in row["told"] else row["told"].get("agreement", "unchecked")


def is_same(row, other):
    return other is not None and row["told"].get("outputs") == other["told"].get("outputs")


def is_beneath(row):
    """Whether all that the fault and the engine make different is less than twice the power of the model's own roundings."""
    def number(value):
        return float(value) if value is not None else math.nan
    return all(number(output["accuracy"]["sqnr_db"]) > number(output["reference_db"]) - 3 for output in row["told"].get("outputs", []))


def summary(results, half, wanted):
    """Prints a half's figures. Returns: honest runs, those called different, faults that must be found and were not."""
    import verdict_models as models
    rows = [row for row in results if wanted(row["model"])]
    key = lambda row: (row["model"], row["precision"], row["seed"], row["engine"], row["option"])
    honest = {key(row): row for row in rows if not row["fault"]}
    words, saturated, wrong = collections.Counter(), 0, []
    for at, row in honest.items():
        if row["option"]:
            continue
        word, precise = outcome(row), [honest.get((*at[:4], option)) for option in PRECISE[row["engine"]]]
        if word == "different" and any(one is not None and outcome(one) not in ("different", "failed") for one in precise):
            saturated += 1
            continue
        words[word] += 1
        if word == "different":
            wrong.append(" ".join(map(str, at[:4])))
    n = sum(words[word] for word in ("equal", "equal up to quantisation", "different"))
    print(f"{half}: {n} honest runs, {words['different']} called different{' (' + ', '.join(wrong) + ')' if wrong else ''}; "
          f"{words['undetermined']} undetermined, {saturated} less precise, {words['failed']} not run")
    found, planted, beneath, missed = collections.Counter(), collections.Counter(), collections.Counter(), []
    for row in rows:
        without = honest.get((row["model"], row["precision"], row["seed"], row["engine"], None))
        if not row["fault"] or outcome(row) == "failed" or is_same(row, without):
            continue
        if without is None or outcome(without) in ("different", "undetermined", "failed"):
            continue
        kind = models.kind_of(row["precision"])
        planted[kind, row["fault"]] += 1
        found[kind, row["fault"]] += outcome(row) == "different"
        if outcome(row) != "different":
            beneath[kind, row["fault"]] += is_beneath(row)
            if not is_beneath(row) and (row["fault"] in models.MUST or row["fault"] in ("bf16", "f16")):
                missed.append(f"{row['model']} {row['precision']} {row['engine']} {row['fault']}")
    for kind in ("float", "f16", "quantised"):
        shown = [f"{fault} {found[kind, fault]}/{planted[kind, fault]}" +
                 (f" ({beneath[kind, fault]} beneath the noise)" if beneath[kind, fault] else "") for fault in models.FAULTS if planted[kind, fault]]
        if shown:
            print(f"    {kind}: found {', '.join(shown)}")
    return n, words["different"], missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=peers.BUILD)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(".deps/bench"))
    parser.add_argument("--results", help="a file of JSON lines that is added to, and what it holds is not run again")
    parser.add_argument("--seeds", type=int, default=peers.usual(3))
    parser.add_argument("--model", action="append", help="only this one")
    parser.add_argument("--engines", nargs="+", default=list(DEVICES), help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    peers.in_environment(arguments.folder, "verdict-models", WHEELS)
    if arguments.child:
        name, precision, seeds = arguments.child
        return judge_model(arguments, name, precision, [int(seed) for seed in seeds.split(",")])
    import verdict_models as models
    cases = [(name, precision) for name in models.PLAIN for precision in models.PRECISIONS if not arguments.model or name in arguments.model]
    if peers.QUICK:
        cases = [(name, precision) for name, precisions in QUICK_MODELS.items() for precision in precisions]
    results = []
    if arguments.results and os.path.exists(arguments.results):
        with open(arguments.results) as file:
            results = [json.loads(line) for line in file]
    run_all(arguments, cases, results)
    summary(results, "models to choose limits on", lambda name: name not in HELD_OUT)
    n, n_different, missed = summary(results, "models held out", lambda name: name in HELD_OUT)
    _, _, missed_first = summary(results, "all", lambda name: True)
    for line in missed_first:
        print("missed:", line)
    bad = n_different > MOST_DIFFERENT * n or bool(missed_first)
    return 0 if peers.QUICK or not bad else 1


if __name__ == "__main__":
    sys.exit(main())
