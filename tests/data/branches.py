"""A model whose conditions are all known before it runs: python3 branches.py FILE

z = tanh(x w + v)^2: an If on a constant with a weight v in its branch, within it one on the shape of x, and one more on a
Constant node.
"""
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
onnx.save(model, sys.argv[1])
