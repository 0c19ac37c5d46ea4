#!/usr/bin/env python3
"""The operators' own test models of the onnx package, every one, through the command.

Each of the package's models (1,884 of them in onnx 1.23: onnx.backend.test.case.node) is profiled on ONNX Runtime, `inferometer profile
--runs 1`, with the inputs that the package stores for it, and its outputs are computed once more by the library that the command
opens, from the file that the command gave it, and held against the outputs that the package stores.

    profiled    measured, and our verdict on the outputs; against the package's: same (within its own rtol and atol), other (the
                runtime, too, gives something else: random numbers, what the standard leaves open), or not compared (no numbers)
    runtime     refused by ONNX Runtime, by its words, counted by them
    ours        refused by us. A sequence, a map or an optional as input is known to be; each of the rest is a fault, and so is a model
                that ends by a signal, or a verdict of "wrong" on outputs that are the package's: exit status 1

The package writes a newer version of the file format (IR) than the runtime reads, and nothing in these models needs it: they are
written in the newest one that it reads.

What was done is kept in FOLDER/onnx-operators.jsonl and not done again; --anew forgets it. --seconds ends a slice early, exit status 0.

    bench/onnx-operators.py [--build build] [--folder .deps/bench] [--only test_conv] [--seconds 600] [--anew]
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
import warnings

import peers

WHEELS = ["onnx==1.23.2", "numpy==2.4.6", "onnxruntime==1.31.1"]
DEVICE = "onnxruntime:CPU@0"
QUICK_CASES = 8  # of a quick run, spread over all
# What ONNX Runtime takes and we do not feed or read, by our own words.
KNOWN = ["it is a sequence, a map or optional"]
# The C interface of the runtime has no name for integers of 2 bits: as inputs they are refused in its name.
IR_VERSION = 13


def write_case(case, folder):
    """The package's model and its first set of data, as `onnx.backend.test.cmd_tools generate-data` writes them."""
    import numpy
    import onnx
    folder.mkdir(parents=True, exist_ok=True)
    case.model.ir_version = min(case.model.ir_version, IR_VERSION)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    makers = {"sequence_type": onnx.numpy_helper.from_list, "optional_type": onnx.numpy_helper.from_optional, "map_type": onnx.numpy_helper.from_dict}
    for kind, ports, values in (("input", case.model.graph.input, case.data_sets[0][0]), ("output", case.model.graph.output, case.data_sets[0][1])):
        for number, (port, value) in enumerate(zip(ports, values)):
            make = makers.get(port.type.WhichOneof("value"), lambda v, name: onnx.numpy_helper.from_array(numpy.asarray(v), name))
            proto = value if isinstance(value, onnx.TensorProto) else make(value, port.name)
            (folder / f"{kind}_{number}.pb").write_bytes(proto.SerializeToString())
    return [port.name for port, _ in zip(case.model.graph.input, case.data_sets[0][0])]


def profile(inferometer, folder, names, out):
    """Returns the exit status, the complaint, and the case of the JSON or None."""
    line = [inferometer, "profile", folder / "model.onnx", "-d", DEVICE, "--runs", "1", "--warmup", "0", "-p", "runtime", "--no-nodes", "--no-peak", "-q",
            "-o", out, "--json", "-"]
    for number, name in enumerate(names):
        line += ["--input", f"{name}={folder}/input_{number}.pb"]
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True)
    try:
        found = json.loads(done.stdout)["cases"][0]
    except (ValueError, KeyError, IndexError):
        found = None
    return done.returncode, done.stderr.strip(), found


def is_same(got, stored, case):
    import numpy
    if isinstance(got, list) or isinstance(stored, list):
        return isinstance(got, list) and isinstance(stored, list) and len(got) == len(stored) and all(is_same(a, b, case) for a, b in zip(got, stored))
    if got is None or stored is None:
        return got is stored
    got, stored = numpy.asarray(got), numpy.asarray(stored)
    if got.dtype.kind not in "biufc" or stored.dtype.kind not in "biufc":
        return got.tolist() == stored.astype(object).tolist()
    return got.shape == stored.shape and numpy.allclose(got.astype(float), stored.astype(float), rtol=case.rtol, atol=case.atol, equal_nan=True)


def against_package(case, folder, names):
    """"same", "other" or "not compared": the runtime's outputs and the package's, within the tolerance that the package gives."""
    import onnx
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    tensors = [onnx.TensorProto.FromString((folder / f"input_{number}.pb").read_bytes()) for number in range(len(names))]
    narrow = {getattr(onnx.TensorProto, name) for name in ("BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0",
                                                           "FLOAT4E2M1", "INT4", "UINT4", "INT2", "UINT2")}  # NumPy has none of them
    ports = list(case.model.graph.output)
    if any(t.data_type in narrow for t in tensors) or any(p.type.tensor_type.elem_type in narrow for p in ports):
        return "not compared"
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    given = {name: onnx.numpy_helper.to_array(tensor) for name, tensor in zip(names, tensors)}
    return "same" if all(is_same(got, stored, case) for got, stored in zip(session.run(None, given), case.data_sets[0][1])) else "other"


def who_refused(status, words):
    """"runtime" or "ours": the device's words stand behind its name."""
    if status < 0 or status > 4 or "was asked for" in words:
        return "ours"
    return "runtime" if f"{DEVICE}: " in words and not any(known in words for known in KNOWN) else "ours"


def run_case(case, arguments):
    folder = arguments.folder / "onnx-operators" / case.name
    names = write_case(case, folder)
    status, words, found = profile(arguments.inferometer, folder, names, arguments.folder / "onnx-operators-out")
    row = {"name": case.name, "status": status, "words": words[-500:]}
    if status != 0:
        return row | {"is": who_refused(status, words)}
    verification = (found or {}).get("measurement", {}).get("verification") or {}
    return row | {"is": "profiled", "verdict": verification.get("status"), "package": against_package(case, folder, names)}


def kind_of(words):
    """The words without what differs from model to model."""
    words = re.sub(r"\S*/\S*", "FILE", words.split("\n")[-1].removeprefix("inferometer: ").removeprefix(f"{DEVICE}: model: "))
    return re.sub(r"'[^']*'|\d+|--input \S+", "_", words)[:120]


def report(rows):
    profiled = [row for row in rows if row["is"] == "profiled"]
    print(f"{len(rows)} models: {len(profiled)} profiled, {sum(row['is'] == 'runtime' for row in rows)} refused by ONNX Runtime, "
          f"{sum(row['is'] == 'ours' for row in rows)} by us")
    for pair, n in sorted(collections.Counter((row["verdict"], row["package"]) for row in profiled).items(), key=lambda item: -item[1]):
        print(f"    {n:5} verdict {pair[0]}, against the package's outputs: {pair[1]}")
    for who in ("runtime", "ours"):
        words = collections.Counter(kind_of(row["words"]) for row in rows if row["is"] == who)
        print(f"refused by {who}:" if words else f"refused by {who}: none")
        for text, n in words.most_common():
            print(f"    {n:5} {text}")
    wrong = [row["name"] for row in profiled if row["verdict"] == "failed" and row["package"] == "same"]
    faults = [row["name"] for row in rows if row["is"] == "ours" and not any(known in row["words"] for known in KNOWN)]
    for name in wrong:
        print(f"FAULT: {name}: called wrong, but its outputs are the package's")
    for name in faults:
        print(f"FAULT: {name}: refused by us")
    return 1 if wrong or faults else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(peers.BUILD))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(".deps/bench"))
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--anew", action="store_true")
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    peers.in_environment(arguments.folder, "onnx-operators-python", WHEELS)
    arguments.inferometer = arguments.build.resolve() / "inferometer"
    warnings.filterwarnings("ignore")
    from onnx.backend.test.case.node import collect_testcases
    cases = [case for case in collect_testcases() if arguments.only in case.name]
    kept = arguments.folder / ("onnx-operators-quick.jsonl" if peers.QUICK else "onnx-operators.jsonl")
    if peers.QUICK:
        cases = cases[::max(len(cases) // QUICK_CASES, 1)]
    shutil.rmtree(arguments.folder / "onnx-operators-out", ignore_errors=True) # a store of another build is refused
    if arguments.anew or peers.QUICK:
        kept.unlink(missing_ok=True)
    rows = {row["name"]: row for row in map(json.loads, kept.read_text().splitlines())} if kept.exists() else {}
    end = time.monotonic() + arguments.seconds
    with kept.open("a") as file:
        for case in cases:
            if case.name in rows:
                continue
            if time.monotonic() > end:
                break
            rows[case.name] = run_case(case, arguments)
            file.write(json.dumps(rows[case.name]) + "\n")
            file.flush()
    return report([rows[case.name] for case in cases if case.name in rows])


if __name__ == "__main__":
    sys.exit(main())
