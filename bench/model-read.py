#!/usr/bin/env python3
"""Our reading of a model of 550 MB against onnx.load of the onnx package: time and memory.

The model is VGG-16 (138,357,544 parameters, f32), written by the onnx package twice: with the weights inside the file, and with them in
a file beside it (external data). Each reading has a process of its own, turn about; the files are in the page cache.

    open     until the reader hands the model over: ours checks everything and leaves large weights mapped, onnx.load copies them all.
    weights  open, and then every word of every weight read once and added up (by numpy, the same for both): what lies in a mapping
             has to come in some time. The two sums have to be equal.

Time is processor time, of user and system. Memory is what the process's resident set grew by from before the reading to its
highest (VmHWM, set back before), in units of the model's bytes on disk. It is all resident pages: those of its own (anonymous) and
those of the file that it mapped, which the page cache holds anyway and the system may take back at any time; the two are told apart,
as they stand at the end. The aim: no more than the bytes on disk once, with all weights read, mapped pages counted; one part in a
hundred more is allowed for the pages of our own code and for what describes the model.

Printed are medians over the rounds, and each ratio (onnx / ours) with its interval. The exit status is 1 where a sum differs or the
aim of memory is missed.

    bench/model-read.py [--build build] [--folder .deps/bench] [--rounds 9]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import peers

WHEELS = ["onnx==1.23.2", "numpy==2.4.6"]
CHANNELS = [64, 64, None, 128, 128, None, 256, 256, 256, None, 512, 512, 512, None, 512, 512, 512, None]  # None: a pool
PARAMETERS = 138_357_544
MOST_PEAK = 1.01

# ----- the model


def write_vgg(folder):
    """Returns the two files, by name: {"inside": …, "outside": …}."""
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
    random, nodes, weights = np.random.default_rng(1), [], []

    def op(kind, *inputs, **attributes):
        nodes.append(helper.make_node(kind, list(inputs), [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def weight(*shape):
        weights.append(numpy_helper.from_array(random.standard_normal(shape, dtype=np.float32), f"w{len(weights)}"))
        return weights[-1].name

    x, width = "x", 3
    for channels in CHANNELS:
        if channels is None:
            x = op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
            continue
        x = op("Relu", op("Conv", x, weight(channels, width, 3, 3), weight(channels), kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
        width = channels
    x, width = op("Flatten", x), 512 * 7 * 7
    for out in (4096, 4096, 1000):
        x, width = op("Gemm", x, weight(out, width), weight(out), transB=1), out
        x = op("Relu", x) if out != 1000 else x
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in (("x", [1, 3, 224, 224]), (x, [1, 1000]))]
    graph = helper.make_graph(nodes, "vgg16", ports[:1], ports[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    files = {"inside": folder / "inside" / "vgg16.onnx", "outside": folder / "outside" / "vgg16.onnx"}
    for name, path in files.items():
        path.parent.mkdir()
        onnx.save(model, path, save_as_external_data=name == "outside", location="vgg16.data")
    return files


# ----- one reading, in a process of its own


def memory():
    """Of this process, bytes: resident, its highest, of its own, of files."""
    fields = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
    return [int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM", "RssAnon", "RssFile")]


def read_ours(build, path):
    import ctypes
    import numpy as np
    library = peers.Library(build)

    def weights(model):
        tensor, seen = peers.Tensor(), set()
        for node in library.nodes(model):
            for i in range(node.n_inputs):
                name = node.inputs[i]
                if name not in seen and library.c.ifm_model_initializer(model, name, ctypes.byref(tensor)):
                    seen.add(name)
                    yield np.frombuffer((ctypes.c_char * tensor.size_bytes).from_address(tensor.data), dtype=np.uint32)

    return lambda: library.open(path), weights


def read_onnx(build, path):
    import numpy as np
    import onnx
    from onnx import numpy_helper
    return lambda: onnx.load(path), lambda model: (numpy_helper.to_array(t).view(np.uint32).ravel() for t in model.graph.initializer)


READERS = {"ours": read_ours, "onnx": read_onnx}


def read_once(who, what, build, path):
    """Prints one reading's figures, as JSON."""
    import numpy as np
    load, weights = READERS[who](build, path)
    np.arange(4, dtype=np.uint32).sum(dtype=np.uint64)
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = memory()
    start = time.process_time_ns()
    model = load()
    sums = [(int(array.sum(dtype=np.uint64)), array.size) for array in weights(model)] if what == "weights" else []
    took = time.process_time_ns() - start
    after = memory()
    print(json.dumps({"ms": took / 1e6, "peak": after[1] - before[0], "own": after[2] - before[2], "mapped": after[3] - before[3],
                      "sum": sum(s for s, _ in sums), "elements": sum(n for _, n in sums)}))


# ----- all of them


def median(values):
    return sorted(values)[len(values) // 2]


def show(where, what, disk, found):
    """Prints one case. Returns what is not as aimed, as lines."""
    ours, theirs, bad = found["ours"], found["onnx"], []
    for who, name in (("ours", "inferometer"), ("onnx", "onnx.load")):
        peak, own, mapped = (median([one[key] for one in found[who]]) for key in ("peak", "own", "mapped"))
        print(f"weights {where:<8}{what:<8} {name:<12}{median([one['ms'] for one in found[who]]):>9.1f} ms   peak {peak / 1e6:>7.1f} MB = "
              f"{peak / disk:>5.3f} of the file(s)   at the end: own {own / 1e6:>7.1f} MB, mapped {mapped / 1e6:>6.1f} MB")
    for key, name in (("ms", "time"), ("peak", "peak memory")):
        ratios = [b[key] / a[key] for a, b in zip(ours, theirs)]
        lower, upper = peers.median_interval(ratios)
        print(f"{'':<17}ratio of {name} (onnx / inferometer): {median(ratios):.1f}, 95 % interval {lower:.1f} to {upper:.1f}")
    if not peers.QUICK and median([one["peak"] for one in ours]) > MOST_PEAK * disk:
        bad.append(f"weights {where}, {what}: our peak is above {MOST_PEAK} times the bytes on disk")
    if {(one["sum"], one["elements"]) for one in ours} != {(one["sum"], one["elements"]) for one in theirs}:
        bad.append(f"weights {where}, {what}: the sums differ")
    if what == "weights" and ours[0]["elements"] != PARAMETERS:
        bad.append(f"weights {where}: {ours[0]['elements']} elements, not {PARAMETERS}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=peers.BUILD, type=pathlib.Path)
    parser.add_argument("--folder", default=".deps/bench", type=pathlib.Path)
    parser.add_argument("--rounds", default=peers.usual(9), type=int)
    parser.add_argument("--once", nargs=3, metavar=("WHO", "WHAT", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    peers.in_environment(options.folder, "model-read", WHEELS)
    if options.once:
        who, what, path = options.once
        return read_once(who, what, options.build, path)
    bad = []
    with tempfile.TemporaryDirectory() as name:
        for where, path in write_vgg(pathlib.Path(name)).items():
            disk = sum(file.stat().st_size for file in path.parent.iterdir())
            print(f"weights {where}: {disk} bytes on disk")
            for what in ("open", "weights"):
                found = {"ours": [], "onnx": []}
                for number in range(options.rounds):
                    for who in ("ours", "onnx") if number % 2 == 0 else ("onnx", "ours"):
                        command = [sys.executable, __file__, "--build", options.build, "--folder", options.folder, "--once", who, what, path]
                        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                        found[who].append(json.loads(done.stdout))
                bad += show(where, what, disk, found)
    for line in bad:
        print(f"NOT AS AIMED: {line}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
