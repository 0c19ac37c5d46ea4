#!/usr/bin/env python3
"""ops.py LIBRARY SCRATCH [TUNED...]: TAP: models with nodes inferometer:Region in this Python's onnxruntime, against the same
models of plain nodes; TUNED: files that `inferometer tune` made of the plain one. IFM_CONV_ISA limits the library's kernels.
ops.py --plain FILE: writes the plain model."""
import pathlib
import sys
import threading
import traceback

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

LIBRARY, SCRATCH, FILES = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
LEVELS = [ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
          ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, ort.GraphOptimizationLevel.ORT_ENABLE_ALL]
RANDOM = np.random.default_rng(1)
N_TESTS = 0


def check(name, test):
    """One TAP test: `test` raises nothing."""
    global N_TESTS
    N_TESTS += 1
    try:
        test()
        print(f"ok {N_TESTS} - {name}", flush=True)
    except Exception:  # pylint: disable=broad-except
        print(f"not ok {N_TESTS} - {name}")
        print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), flush=True)


# ----- two models

WEIGHTS = {"first": (20, 3, 3, 3), "second": (20, 20, 3, 3), "depthwise": (20, 1, 3, 3), "point": (32, 20, 1, 1),
           "bias": (20,), "factor": (52,), "term": (52,)}
VALUES = {name: RANDOM.normal(size=shape).astype(np.float32) * 0.2 for name, shape in WEIGHTS.items()}
CONV = "kernel {k} {k} stride {s} {s} dilation 1 1 pads {p} {p} {p} {p} group {g} act {act} algorithm {how} name /{name}"


def conv(value, weights, bias, plus, name, **words):
    """A line of a program."""
    said = {"k": 3, "s": 1, "p": 1, "g": 1, "act": "relu 0 0", "how": "any 0", "name": name, **words}
    return f"conv {value} {weights} {bias} {plus} {CONV.format(**said)}"


FIRST = ["region 1", "input nchw",
         conv("v0", "w0", "w4", "-", "first"),
         "max_pool v1 kernel 3 3 stride 2 2 dilation 1 1 pads 1 1 1 1 ceil 0",
         conv("v2", "w1", "-", "v2", "second", how="winograd 4"),
         conv("v3", "w2", "w4", "-", "depthwise", g=20, act="silu 0 0"),
         "output blocked v3", "output blocked v4"]
SECOND = ["region 1", "input blocked 20", "input blocked 20",
          conv("v1", "w0", "-", "-", "point", k=1, p=0, act="none 0 0", how="fft 0"),
          "concat v0 v2", "scale v3 w1 w2 act clip 0 6", "global_average_pool v4", "act v5 sigmoid 0 0",
          "mul v4 v6 act none 0 0",
          "average_pool v7 kernel 2 2 stride 2 2 pads 0 0 0 0 ceil 0 include_pad 0", "resize v8 2 2", "output nchw v9"]


def region(lines, inputs, constants, outputs, **attributes):
    """A node. Attributes that are None are left out."""
    attributes = {"program": "\n".join(lines) + "\n", "n_values": len(inputs), "threads": 1, **attributes}
    return helper.make_node("Region", [*inputs, *constants], outputs, name=f"region {outputs[0]}", domain="inferometer",
                            **{name: value for name, value in attributes.items() if value is not None})


def model(nodes, constants, shape=("n", 3, "h", "w"), inputs=("image",), opset=13, outputs=("result",), version=1):
    """Bytes of a model of rank 4. version: of the domain"""
    graph = helper.make_graph(
        nodes, "test", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ("a", "b", "c", "d")) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("inferometer", version)])
    made.ir_version = 7
    return made.SerializeToString()


def tuned():
    """Two regions that hand over blocks, within plain nodes that the runtime may optimise."""
    return model([helper.make_node("Identity", ["image"], ["seen"]),
                  region(FIRST, ["seen"], ["first", "second", "depthwise", "point", "bias"], ["left", "right"]),
                  region(SECOND, ["left", "right"], ["point", "factor", "term"], ["gated"], threads=2),
                  helper.make_node("Relu", ["gated"], ["positive"]), helper.make_node("Neg", ["positive"], ["result"])], VALUES)


def plain():
    """The same of ONNX's own operators."""
    node = helper.make_node
    pads = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    constants = {**VALUES, "scales": np.array([1, 1, 2, 2], np.float32), "low": np.array(0, np.float32),
                 "high": np.array(6, np.float32), "wide_factor": VALUES["factor"].reshape(1, 52, 1, 1),
                 "wide_term": VALUES["term"].reshape(1, 52, 1, 1)}
    return model([node("Conv", ["image", "first", "bias"], ["c1"], **pads), node("Relu", ["c1"], ["r1"]),
                  node("MaxPool", ["r1"], ["p1"], strides=[2, 2], **pads), node("Conv", ["p1", "second"], ["c2"], **pads),
                  node("Add", ["c2", "p1"], ["a2"]), node("Relu", ["a2"], ["left"]),
                  node("Conv", ["left", "depthwise", "bias"], ["c3"], group=20, **pads),
                  node("Sigmoid", ["c3"], ["s3"]), node("Mul", ["c3", "s3"], ["right"]),
                  node("Conv", ["right", "point"], ["c4"]), node("Concat", ["left", "c4"], ["whole"], axis=1),
                  node("Mul", ["whole", "wide_factor"], ["scaled"]), node("Add", ["scaled", "wide_term"], ["moved"]),
                  node("Clip", ["moved", "low", "high"], ["clipped"]), node("GlobalAveragePool", ["clipped"], ["mean"]),
                  node("Sigmoid", ["mean"], ["gate"]), node("Mul", ["clipped", "gate"], ["gated"]),
                  node("AveragePool", ["gated"], ["small"], kernel_shape=[2, 2], strides=[2, 2]),
                  node("Resize", ["small", "", "scales"], ["large"], mode="nearest",
                       coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
                  node("Relu", ["large"], ["positive"]), node("Neg", ["positive"], ["result"])], constants)


def session(made, threads=1, level=LEVELS[-1], mode=ort.ExecutionMode.ORT_SEQUENTIAL, library=True):
    """A session of it."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.graph_optimization_level, options.execution_mode = threads, level, mode
    options.log_severity_level = 4
    if library:
        options.register_custom_ops_library(LIBRARY)
    return ort.InferenceSession(made, options, providers=["CPUExecutionProvider"])


def image(*shape):
    """Random values."""
    return RANDOM.normal(size=shape).astype(np.float32)


def compare(one, other, *shapes):
    """That both give the same for such inputs."""
    for shape in shapes:
        given = {"image": image(*shape)}
        found, expected = one.run(None, given)[0], other.run(None, given)[0]
        assert found.shape == expected.shape, (found.shape, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4 * max(1, np.abs(expected).max(initial=0)))


PLAIN, TUNED = plain(), tuned()
if LIBRARY == "--plain":
    SCRATCH.write_bytes(PLAIN)
    sys.exit()
REFERENCE = session(PLAIN, library=False)


def test_levels():
    """At each optimisation level, on one thread and on two, and with the runtime's parallel execution."""
    for level in LEVELS:
        for threads in 1, 2:
            compare(session(TUNED, threads, level), REFERENCE, (1, 3, 32, 48))
    compare(session(TUNED, 2, mode=ort.ExecutionMode.ORT_PARALLEL), REFERENCE, (2, 3, 16, 16))


# each name that a program may have, which some of the forms have to be replaced by another on some processors
ALGORITHMS = ["any 0", "direct 0", "gemm 0", "implicit_gemm 0", "implicit_precomp_gemm 0", "fft 0", "fft_tiling 0",
              *(f"{name} {outputs}" for name in ("winograd", "winograd_nonfused") for outputs in (0, 2, 4, 6))]
FORMS = [{"k": 3, "p": 1}, {"k": 1, "p": 0}, {"k": 5, "p": 2}, {"k": 3, "p": 1, "s": 2}, {"k": 3, "p": 1, "g": 4}, {"k": 3, "p": 1, "g": 20},
         {"k": 7, "p": 3, "s": 2}]


def every_algorithm(form, threads):
    """A region with one convolution for each algorithm, and the same of plain nodes."""
    words = {"s": 1, "g": 1, **form}
    weights = {f"w{i}": image(20, 20 // words["g"], words["k"], words["k"]) * 0.2 for i in range(len(ALGORITHMS))}
    lines = [conv("v0", name, "-", "-", f"layer{i}", **words, act="relu 0 0", how=how)
             for i, (name, how) in enumerate(zip(weights, ALGORITHMS))]
    values = [f"v{i + 1}" for i in range(len(lines))]
    lines = ["region 1", "input nchw", *lines, "concat " + " ".join(values), f"output nchw v{len(values) + 1}"]
    made = model([helper.make_node("Identity", ["image"], ["seen"]), region(lines, ["seen"], list(weights), ["result"], threads=threads)],
                 weights, ("n", 20, "h", "w"))
    attributes = {"kernel_shape": [words["k"]] * 2, "strides": [words["s"]] * 2, "pads": [words["p"]] * 4, "group": words["g"]}
    nodes = [helper.make_node("Conv", ["image", name], ["c" + name], **attributes) for name in weights]
    nodes += [helper.make_node("Relu", ["c" + name], ["r" + name]) for name in weights]
    nodes.append(helper.make_node("Concat", ["r" + name for name in weights], ["result"], axis=1))
    return made, model(nodes, weights, ("n", 20, "h", "w"))


def test_algorithms():
    """A file that names each algorithm is right with the kernels at hand: what they lack is replaced."""
    for form in FORMS:
        for threads in 1, 2:
            made, expected = every_algorithm(form, threads)
            compare(session(made, threads), session(expected, library=False), (1, 20, 14, 14), (2, 20, 33, 21), (1, 20, 7, 9))


def test_file(path):
    """What `inferometer tune` wrote, also of sizes that it was not tuned for."""
    assert any(node.op_type == "Region" for node in onnx.load(path).graph.node), "no region"
    for level in LEVELS:
        compare(session(path, 2, level), REFERENCE, (1, 3, 32, 48), (2, 3, 20, 36))


def test_sizes():
    """One session, many sizes, some again, none at all."""
    compare(session(TUNED, 2), REFERENCE, *((n, 3, h, h + 4) for n in (1, 3, 0) for h in (8, 20, 36, 8)))


def test_concurrent():
    """Runs of four threads at once in one session."""
    tested, wrong = session(TUNED, 2), []

    def call(side):
        try:
            for _ in range(10):
                compare(tested, REFERENCE, (1, 3, side, 16))
        except Exception as error:  # pylint: disable=broad-except
            wrong.append(error)

    threads = [threading.Thread(target=call, args=(16 + 4 * (i % 2),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_saved():
    """What the runtime saves after its optimisation is a model like it."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(LIBRARY)
    options.optimized_model_filepath = str(SCRATCH / "saved.onnx")
    ort.InferenceSession(TUNED, options, providers=["CPUExecutionProvider"])
    compare(session(str(SCRATCH / "saved.onnx")), REFERENCE, (1, 3, 16, 16))


def test_registered_twice():
    """The same library for two options, and its domain twice for one: an error or none, but no crash."""
    options = ort.SessionOptions()
    options.register_custom_ops_library(LIBRARY)
    try:
        options.register_custom_ops_library(LIBRARY)
        ort.InferenceSession(TUNED, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # pylint: disable=broad-except
        assert "Domain already set" in str(error), error


def test_without_library():
    """The runtime's own message names the domain."""
    fails(lambda: session(TUNED, library=False), "inferometer")


# ----- bad models

def fails(call, *words):
    """That it raises an error that says all of this."""
    try:
        call()
    except Exception as error:  # pylint: disable=broad-except
        missing = [word for word in words if word not in str(error)]
        assert not missing, f"{missing} is not in: {error}"
        return
    raise AssertionError(f"no error, such as {words}")


SMALL = ["region 1", "input nchw", conv("v0", "w0", "w1", "-", "first"), "output nchw v1"]


def bad(lines=None, constants=("first", "bias"), values=None, inputs=("image",), nodes=(), outputs=("result",), **attributes):
    """A session of a model that has one region."""
    made = region(SMALL if lines is None else lines, list(inputs), list(constants), list(outputs), **attributes)
    return session(model([*nodes, made], VALUES if values is None else values, inputs=inputs[:1], outputs=outputs))


def test_later_version():
    """A file as a later version would write it: the library names its own version and the file's."""
    lines = ["region 2", *SMALL[1:]]
    made = model([region(lines, ["image"], ["first", "bias"], ["result"])], VALUES, version=2)
    fails(lambda: session(made), "version 1 of regions", 'is expected, not "2"')


def test_bad_programs():
    """Each line names what is wrong with the program."""
    name = 'inferometer:Region "region result": '
    for old, new, said in (("any 0", "quick 0", 'line 3: an algorithm is expected, not "quick"'),
                           ("region 1", "region 2", "version 1 of regions (a newer file needs a newer library)"),
                           ("w1", "w2", "line 3: a constant of the node"), ("w0", "w1", "the weights are not of rank 4"),
                           ("kernel 3 3", "kernel 5 3", "not of this kernel"), ("relu", "softmax", "an activation"),
                           ("output nchw v1", "output nchw v7", "line 4: a value made before"),
                           ("output nchw v1", "", "line 4: a step is expected"), ("group 1", "group 0", "a number from 1")):
        fails(lambda l=[line.replace(old, new) for line in SMALL]: bad(l), name + "line " if "line" not in said else name, said)
    fails(lambda: bad([""]), name, "region is expected")
    fails(lambda: bad(program="region 1\0\n"), name, "NUL")
    fails(lambda: bad(program=b"\xff\xfe region"), name, "region is expected, not")
    for none in 7, 1.5, None:
        fails(lambda p=none: bad(program=p), name, 'it has no attribute "program" of text')


def test_bad_nodes():
    """Inputs, constants and attributes that do not fit."""
    name = 'inferometer:Region "region result": '
    for none in "one", None:
        fails(lambda n=none: bad(n_values=n), name, 'it has no attribute "n_values" of a whole number')
    for count in -1, 0, 4, 2 ** 62:
        fails(lambda n=count: bad(n_values=n), name, f"n_values is {count} of 3 inputs")
    fails(lambda: bad(n_values=2), name, "line 3: a constant of the node")
    fails(lambda: bad(inputs=("image", "image")), name, "its program has 1 inputs, n_values says 2")
    fails(lambda: bad(outputs=("result", "other")), name, "its program has 1 outputs, the node 2")
    fails(lambda: bad(constants=("image", "bias")), name, "input 1 is no constant")
    fails(lambda: bad(constants=("made", "bias"), nodes=[helper.make_node("Relu", ["image"], ["made"])]),
          name, "input 1 is no constant")
    fails(lambda: bad(constants=("", "bias")), "Region")
    fails(lambda: bad(values={**VALUES, "bias": np.zeros(20, np.float64)}), "bias")
    fails(lambda: bad(values={**VALUES, "bias": np.zeros((20, 1, 1, 1, 1), np.float32)}), name, "rank 5 instead of 1 to 4")
    fails(lambda: bad(values={**VALUES, "bias": np.zeros((), np.float32)}), name, "rank 0 instead of 1 to 4")
    fails(lambda: bad(values={**VALUES, "bias": np.zeros(0, np.float32)}), name, "the bias is not one number")
    fails(lambda: bad(values={**VALUES, "first": np.zeros((20, 0, 3, 3), np.float32)}), name, "a size of 0")
    for count in -5, 0, 2 ** 62:
        bad(threads=count)
    bad(threads=None)


def test_bad_inputs():
    """What only a run can tell; the session goes on."""
    tested = bad()
    fails(lambda: tested.run(None, {"image": image(1, 4, 8, 8)}), "Got: 4 Expected: 3")
    dynamic = session(model([helper.make_node("Identity", ["image"], ["seen"]),
                             region(SMALL, ["seen"], ["first", "bias"], ["result"])], VALUES, ("n", "c", "h", "w")))
    fails(lambda: dynamic.run(None, {"image": image(1, 4, 8, 8)}), "region result", "4 channels where the weights have 3")
    fails(lambda: dynamic.run(None, {"image": image(1, 3, 0, 8)}), "line 2: a size of 0")
    low = session(model([helper.make_node("Squeeze", ["image"], ["seen"]),
                         region(SMALL, ["seen"], ["first", "bias"], ["result"])], VALUES))
    fails(lambda: low.run(None, {"image": image(1, 3, 8, 8)}), "input 0 has rank 3 instead of 4")
    assert dynamic.run(None, {"image": image(2, 3, 8, 8)})[0].shape == (2, 20, 8, 8)
    unnamed = session(model([region(["region 1", "input nchw", conv("v0", "w0", "w1", "-", "first"), "output nchw v1",
                                     "output nchw v0"], ["image"], ["first", "bias"], ["result", ""])], VALUES))
    fails(lambda: unnamed.run(None, {"image": image(1, 3, 8, 8)}), "output 1 has no name")
    blocked = session(model([region(["region 1", "input blocked 3", "output nchw v0"], ["image"], [], ["result"])], {}))
    fails(lambda: blocked.run(None, {"image": image(1, 3, 8, 8)}), "an input of 3 channels in blocks of")


# ----- memory

def resident():
    """MB of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def grows(once, first, then):
    """MB that `then` calls add after the `first`."""
    for _ in range(first):
        once()
    before = resident()
    for _ in range(then):
        once()
    return resident() - before


def test_memory():
    """1,000 runs, of sizes that change among them, and 20 sessions: nothing is left of them."""
    tested, given = session(TUNED, 2), [{"image": image(1, 3, side, 32)} for side in (16, 20, 24, 28, 32, 36)]
    turn = iter(range(10 ** 6))
    added = grows(lambda: tested.run(None, given[next(turn) % 2]), 200, 1000)
    assert added < 2, f"runs: {added:.1f} MB"
    added = grows(lambda: tested.run(None, given[next(turn) % 6]), 100, 200)
    assert added < 4, f"sizes: {added:.1f} MB"
    added = grows(lambda: session(TUNED).run(None, {"image": image(1, 3, 128, 128)}), 10, 20)
    assert added < 8, f"sessions: {added:.1f} MB"


print(f"# onnxruntime {ort.__version__}")
for title, function in [("each optimisation level, 1 and 2 threads", test_levels), ("each algorithm", test_algorithms),
                        ("sizes that change", test_sizes),
                        ("four threads in one session", test_concurrent), ("saved by the runtime", test_saved),
                        ("registered twice", test_registered_twice), ("without the library", test_without_library),
                        ("a later version", test_later_version),
                        ("programs that are none", test_bad_programs), ("nodes that do not fit", test_bad_nodes),
                        ("inputs that do not fit", test_bad_inputs), ("memory", test_memory)]:
    check(title, function)
for tuned_file in FILES:
    check(f"the file {pathlib.Path(tuned_file).name}", lambda path=tuned_file: test_file(path))
print(f"1..{N_TESTS}")
