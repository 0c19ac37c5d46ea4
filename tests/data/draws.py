"""tests/data/draws.py FOLDER: outputs that follow from random numbers beside some that do not, and outputs that are no tensors.

draws.onnx   each output is named for what makes it; training, a graph input, is the mode of one Dropout
listed.onnx  a sequence and a tensor
"""
import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

node = helper.make_node


def port(name, dims=(4, 8), dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def graph(name, nodes, output):
    return helper.make_graph(nodes, name, [], [port(output)])


def branches(name, condition, output):
    return node("If", [condition], [output],
                then_branch=graph(name + "_then", [node("RandomNormalLike", ["x"], [name + "_r"]), node("Add", ["x", name + "_r"], [name + "_s"])], name + "_s"),
                else_branch=graph(name + "_else", [node("Neg", ["x"], [name + "_n"])], name + "_n"))


def save(name, nodes, inputs, outputs, weights=(), functions=()):
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    model = helper.make_model(helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(numpy.array(v), k) for k, v in weights]),
                              opset_imports=sets, ir_version=8, functions=functions)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(sys.argv[1], name + ".onnx"))


noisy = helper.make_function("own", "Noisy", ["a"], ["b"], [node("RandomUniformLike", ["a"], ["u"]), node("Add", ["a", "u"], ["b"])],
                             [helper.make_opsetid("", 17)])
nodes = [
    node("Mul", ["x", "x"], ["plain"]),
    node("Dropout", ["x", "half", "yes"], ["dropped", "mask"]),
    node("Relu", ["dropped"], ["behind"]),
    node("Shape", ["dropped"], ["shape"]),
    node("Dropout", ["x", "half", "no"], ["infers"]),
    node("Dropout", ["x", "zero", "yes"], ["keeps"]),
    node("Dropout", ["x", "half", "training"], ["asked"]),
    node("Greater", ["total", "zero"], ["open"]),
    branches("open", "open", "either"),
    branches("known", "no", "taken"),
    node("Noisy", ["x"], ["called"], domain="own"),
]
nodes.insert(0, node("ReduceSum", ["x"], ["total"], keepdims=0))
names = ["plain", "dropped", "behind", "infers", "keeps", "asked", "either", "taken", "called"]
outputs = [port(name) for name in names] + [port("shape", (2,), TensorProto.INT64), port("mask", dtype=TensorProto.BOOL)]
weights = [("half", numpy.float32(.5)), ("zero", numpy.float32(0)), ("yes", True), ("no", False)]
save("draws", nodes, [port("x"), port("training", (), TensorProto.BOOL)], outputs, weights, [noisy])

listed = helper.make_tensor_sequence_value_info("parts", TensorProto.FLOAT, None)
save("listed", [node("SplitToSequence", ["x"], ["parts"], axis=0), node("Neg", ["x"], ["y"])], [port("x")], [listed, port("y")])
