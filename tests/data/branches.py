"""Models with branches: python3 branches.py FOLDER

branches.onnx        all conditions are known before it runs: z = tanh(x w + v)^2: an If on a constant with a weight v in its branch,
                     within it one on the shape of x, and one more on a Constant node
weights-known.onnx   all weights lie in the branches of an If on a constant: of 8 x 4 and 4 x 8 in the one that runs, of 8 x 8
                     in the other
weights-open.onnx    the same on an input
"""
import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def port(name, dims):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


def graph(name, nodes, output, weights=()):
    return helper.make_graph(nodes, name, [], [port(output, None)], initializer=list(weights))


v = numpy_helper.from_array(numpy.array([0.5, -1, 0.25], numpy.float32), "v")
inner = helper.make_node("If", ["is_wide"], ["c"], name="inner",
                         then_branch=graph("wide", [helper.make_node("Tanh", ["b"], ["t"])], "t"),
                         else_branch=graph("narrow", [helper.make_node("Neg", ["b"], ["t"])], "t"))
outer = helper.make_node("If", ["yes"], ["y"], name="outer",
                         then_branch=graph("added", [helper.make_node("Add", ["a", "v"], ["b"]), inner], "c", [v]),
                         else_branch=graph("kept", [helper.make_node("Identity", ["a"], ["b"])], "b"))
last = helper.make_node("If", ["no"], ["z"],
                        then_branch=graph("turned", [helper.make_node("Neg", ["y"], ["b"])], "b"),
                        else_branch=graph("squared", [helper.make_node("Mul", ["y", "y"], ["b"])], "b"))
nodes = [
    helper.make_node("Mul", ["x", "w"], ["a"]),
    helper.make_node("Shape", ["x"], ["shape"]),
    helper.make_node("Gather", ["shape", "one"], ["width"]),
    helper.make_node("Equal", ["width", "three"], ["is_wide"]),
    helper.make_node("Constant", [], ["no"], value=numpy_helper.from_array(numpy.array(False))),
    outer,
    last,
]
weights = [numpy_helper.from_array(numpy.array(value), name) for name, value in
           (("yes", True), ("one", numpy.int64(1)), ("three", numpy.int64(3)))]
model = helper.make_model(helper.make_graph(nodes, "branches", [port("x", ["N", 3]), port("w", [3])], [port("z", ["N", 3])], initializer=weights),
                          opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, os.path.join(sys.argv[1], "branches.onnx"))

random = numpy.random.default_rng(3)
shapes = {"w1": (8, 4), "w2": (4, 8), "w3": (8, 8)}
drawn = {name: numpy_helper.from_array(random.uniform(-1, 1, shape).astype(numpy.float32), name) for name, shape in shapes.items()}
choice = helper.make_node("If", ["yes"], ["y"], name="choice",
                          then_branch=graph("narrow", [helper.make_node("MatMul", ["x", "w1"], ["h"]), helper.make_node("MatMul", ["h", "w2"], ["t"])],
                                            "t", [drawn["w1"], drawn["w2"]]),
                          else_branch=graph("wide", [helper.make_node("MatMul", ["x", "w3"], ["e"])], "e", [drawn["w3"]]))
for name, is_known in (("weights-known", True), ("weights-open", False)):
    condition = numpy_helper.from_array(numpy.array(True), "yes")
    inputs = [port("x", [4, 8])] + ([] if is_known else [helper.make_tensor_value_info("yes", TensorProto.BOOL, [])])
    model = helper.make_model(helper.make_graph([choice], name, inputs, [port("y", [4, 8])], [condition] if is_known else []),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, os.path.join(sys.argv[1], name + ".onnx"))
