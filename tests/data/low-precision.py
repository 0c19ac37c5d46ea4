#!/usr/bin/env python3
"""tests/data/low-precision.py [FOLDER]: writes the models of tests/data/low-precision with the onnx package: operators of low
precision that the model builder cannot make (in bodies, with packed integers), and those that ONNX Runtime alone has.
Integer weights have 7 bits, so that no processor's kernels saturate and the runtime's own answers are right."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

FUSED = "com.microsoft"
rng = np.random.default_rng(7)


def node(kind, inputs, outputs, domain="", **attributes):
    return h.make_node(kind, inputs.split(","), outputs.split(","), domain=domain, **attributes)


def port(name, dtype, shape=None):
    return h.make_tensor_value_info(name, dtype, shape)


def save(name, nodes, inputs, outputs, weights, opset=17):
    tensors = [nh.from_array(v, k) if isinstance(v, np.ndarray) else v for k, v in weights.items()]
    graph = h.make_graph(nodes, name, inputs, outputs, tensors)
    sets = [h.make_opsetid("", opset), h.make_opsetid(FUSED, 1)]
    onnx.save(h.make_model(graph, opset_imports=sets, ir_version=10), os.path.join(folder, name + ".onnx"))


def f32(low, high, *shape):
    return rng.uniform(low, high, shape).astype(np.float32)


def number(value, dtype=np.float32):
    return np.array(value, dtype)


def i8(*shape):
    return rng.integers(-63, 64, shape).astype(np.int8)


def packed(name, dtype, values):
    return h.make_tensor(name, dtype, values.shape, values.ravel().tolist())


def half_in_bodies():
    """f16: a Loop, an If, constants of all kinds, an output that other nodes read, and an input that is an output."""
    half = np.float16
    step = h.make_graph([node("Mul", "v,scale", "scaled"), h.make_node("Constant", [], ["k"], value=nh.from_array(number(.25, half))),
                         node("Add", "scaled,k", "v_next"), node("Identity", "go", "go_on"), node("Identity", "v_next", "each")],
                        "step", [port("i", T.INT64, ()), port("go", T.BOOL, ()), port("v", T.FLOAT16)],
                        [port("go_on", T.BOOL, ()), port("v_next", T.FLOAT16), port("each", T.FLOAT16)],
                        [nh.from_array(number(1.5, half), "scale")])
    then = h.make_graph([node("Add", "y,x", "sum")], "then", [], [port("sum", T.FLOAT16)])
    other = h.make_graph([node("Sub", "y,x", "difference")], "other", [], [port("difference", T.FLOAT16)])
    filled = h.make_node("ConstantOfShape", ["one_six"], ["filled"], value=nh.from_array(np.array([2.5], half)))
    save("half-in-bodies",
         [node("MatMul", "x,w", "y"), h.make_node("Loop", ["turns", "", "y"], ["last", "all"], body=step),
          h.make_node("If", ["which"], ["chosen"], then_branch=then, else_branch=other),
          node("Cast", "y", "single", to=T.FLOAT), filled, node("Add", "y,filled", "more")],
         [port("x", T.FLOAT16, ("N", 6)), port("which", T.BOOL, ())],
         [port("y", T.FLOAT16, ("N", 6)), port("last", T.FLOAT16, ("N", 6)), port("all", T.FLOAT16, (3, "N", 6)),
          port("chosen", T.FLOAT16, ("N", 6)), port("single", T.FLOAT, ("N", 6)), port("more", T.FLOAT16, ("N", 6)),
          port("x", T.FLOAT16, ("N", 6))],
         {"w": rng.normal(size=(6, 6)).astype(half), "turns": np.array(3), "one_six": np.array([1, 6])})


def integers_in_bodies():
    """A quantised product in a Loop, and a QLinearConv whose weights are in the branch of an If."""
    step = h.make_graph([node("QuantizeLinear", "v,sq,zq", "q"), node("MatMulInteger", "q,wi,zq", "sums"),
                         node("Cast", "sums", "real", to=T.FLOAT), node("Mul", "real,scale", "v_next"),
                         node("Identity", "go", "go_on")],
                        "step", [port("i", T.INT64, ()), port("go", T.BOOL, ()), port("v", T.FLOAT)],
                        [port("go_on", T.BOOL, ()), port("v_next", T.FLOAT)])
    conv = h.make_graph([node("QLinearConv", "q,sq,zq,wc,sw,zw,sy,zy", "convolved")], "conv", [], [port("convolved", T.UINT8)],
                        [nh.from_array(i8(4, 3, 3, 3), "wc"), nh.from_array(f32(.01, .02, 4), "sw"),
                         nh.from_array(np.zeros(4, np.int8), "zw")])
    same = h.make_graph([node("Identity", "q", "same")], "same", [], [port("same", T.UINT8)])
    save("integers-in-bodies",
         [h.make_node("Loop", ["turns", "", "x"], ["y"], body=step), node("QuantizeLinear", "image,sq,zq", "q"),
          h.make_node("If", ["which"], ["z"], then_branch=conv, else_branch=same)],
         [port("x", T.FLOAT, ("N", 6)), port("image", T.FLOAT, ("N", 3, 8, 8)), port("which", T.BOOL, ())],
         [port("y", T.FLOAT, ("N", 6)), port("z", T.UINT8)],
         {"turns": np.array(3), "sq": number(.02), "zq": number(120, np.uint8), "wi": i8(6, 6), "scale": number(.0005),
          "sy": number(.1), "zy": number(100, np.uint8)}, opset=13)


def four_bits():
    """int4 and uint4: an odd number of weights along an axis, a Constant that is moved, activations."""
    w, odd = rng.integers(-8, 8, (6, 10)), rng.integers(0, 16, (5, 3))
    save("four-bits",
         [h.make_node("Constant", [], ["w"], value=packed("w", T.INT4, w)), node("Transpose", "w", "turned"),
          node("DequantizeLinear", "turned,s,z", "real"), node("QuantizeLinear", "x,s,z", "q"),
          node("DequantizeLinear", "q,s,z", "again"), node("MatMul", "again,real", "y"),
          node("DequantizeLinear", "odd,s_odd,z_odd", "columns", axis=1), node("MatMul", "x_odd,columns", "y_odd"),
          node("DequantizeLinear", "w_blocks,s_blocks,z_blocks", "blocks", axis=0, block_size=4),
          node("MatMul", "x,blocks", "y_blocks")],
         [port("x", T.FLOAT, ("N", 10)), port("x_odd", T.FLOAT, ("N", 5))],
         [port("y", T.FLOAT, ("N", 6)), port("y_odd", T.FLOAT, ("N", 3)), port("y_blocks", T.FLOAT, ("N", 7))],
         {"s": number(.15), "z": packed("z", T.INT4, np.array(-3)), "odd": packed("odd", T.UINT4, odd),
          "s_odd": f32(.1, .2, 3), "z_odd": packed("z_odd", T.UINT4, rng.integers(0, 16, 3)),
          "w_blocks": packed("w_blocks", T.INT4, rng.integers(-8, 8, (10, 7))), "s_blocks": f32(.1, .2, 3, 7),
          "z_blocks": packed("z_blocks", T.INT4, rng.integers(-8, 8, (3, 7)))}, opset=21)


def dynamic_lstm():
    hidden, size = 8, 10
    weights = {"w": i8(2, size, 4 * hidden), "r": i8(2, hidden, 4 * hidden), "b": f32(-.2, .2, 2, 8 * hidden),
               "sw": f32(.008, .012, 2, 4 * hidden), "zw": np.zeros((2, 4 * hidden), np.int8),
               "sr": f32(.008, .012, 2, 4 * hidden), "zr": np.zeros((2, 4 * hidden), np.int8)}
    save("dynamic-lstm", [node("DynamicQuantizeLSTM", "x,w,r,b,,,,,sw,zw,sr,zr", "y,h,c", FUSED, hidden_size=hidden,
                               direction="bidirectional")],
         [port("x", T.FLOAT, ("T", 1, size))],
         [port("y", T.FLOAT, ("T", 2, 1, hidden)), port("h", T.FLOAT, (2, 1, hidden)), port("c", T.FLOAT, (2, 1, hidden))],
         weights)


def fused():
    """One of each quantised operator that ONNX Runtime's quantiser makes."""
    nodes = [node("QuantizeLinear", "x,sa,za", "a"), node("QuantizeLinear", "x2,sb,zb", "b"),
             node("QLinearAdd", "a,sa,za,b,sb,zb,sy,zy", "add", FUSED), node("QLinearMul", "a,sa,za,b,sb,zb,sy,zy", "mul", FUSED),
             node("QLinearSigmoid", "a,sa,za,sp,zp", "sigmoid", FUSED),
             node("QLinearLeakyRelu", "a,sa,za,sy,zy", "leaky", FUSED, alpha=.1),
             node("QLinearGlobalAveragePool", "a,sa,za,sy,zy", "mean", FUSED),
             node("QLinearAveragePool", "a,sa,za,sy,zy", "pooled", FUSED, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             node("QLinearSoftmax", "a,sa,za,sp,zp", "softmax", FUSED, axis=-1),
             node("QLinearConcat", "sy,zy,a,sa,za,b,sb,zb", "joined", FUSED, axis=1),
             node("QuantizeLinear", "rows,sa,za", "r"), node("QGemm", "r,sa,za,w,sw,zw,bias,sg,zy", "gemm", FUSED, alpha=1.5),
             node("QGemm", "r,sa,za,w,sw,zw", "gemm_real", FUSED),
             node("MatMulIntegerToFloat", "r,w,sa,sw,za,zw,real_bias", "product", FUSED),
             node("DynamicQuantizeMatMul", "rows,w,sw,zw,real_bias", "dynamic", FUSED),
             node("QuantizeLinear", "tokens,sa,za", "t"),
             h.make_node("QAttention", ["t", "wa", "ba", "sa", "swa", "", "za"], ["attention"], domain=FUSED, num_heads=2),
             node("MatMulNBits", "rows,w4,s4,z4", "blocks", FUSED, K=20, N=12, bits=4, block_size=16),
             h.make_node("MatMulNBits", ["rows", "w4", "s4", "", "order"], ["ordered"], domain=FUSED, K=20, N=12, bits=4,
                         block_size=16),
             node("MatMulNBits", "rows,w8,s4,z8", "bytes", FUSED, K=20, N=12, bits=8, block_size=16)]
    for n in nodes:
        if n.op_type == "QLinearSoftmax":
            n.attribute.append(h.make_attribute("opset", 13))
    byte = number(0, np.uint8)
    weights = {"sa": number(.0101), "za": number(121, np.uint8), "sb": number(.01237), "zb": number(99, np.uint8), "sy": number(.02173),
               "zy": number(117, np.uint8), "sp": number(1 / 256), "zp": byte, "w": i8(20, 12), "sw": f32(.01, .02, 12),
               "zw": np.zeros(12, np.int8), "bias": rng.integers(-999, 999, 12).astype(np.int32), "sg": number(.1),
               "real_bias": f32(-1, 1, 12), "wa": i8(8, 24), "ba": f32(-.1, .1, 24), "swa": number(.01),
               "w4": rng.integers(0, 256, (12, 2, 8)).astype(np.uint8), "s4": f32(.05, .1, 24),
               "z4": rng.integers(0, 256, 12).astype(np.uint8), "order": rng.permutation(np.repeat([0, 1], 10)).astype(np.int32),
               "w8": rng.integers(0, 256, (12, 2, 16)).astype(np.uint8), "z8": rng.integers(0, 256, 24).astype(np.uint8)}
    types = {"gemm_real": T.FLOAT, "product": T.FLOAT, "dynamic": T.FLOAT, "attention": T.FLOAT, "blocks": T.FLOAT,
             "ordered": T.FLOAT, "bytes": T.FLOAT}
    shapes = {"mean": (1, 3, 1, 1), "joined": (1, 6, 8, 8), "attention": (1, 5, 8)}
    skip = {"a", "b", "r", "t"}
    outputs = [port(n.output[0], types.get(n.output[0], T.UINT8),
                    shapes.get(n.output[0], (4, 12) if n.op_type in ("QGemm", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "MatMulNBits")
                               else (1, 3, 8, 8))) for n in nodes if n.output[0] not in skip]
    save("fused", nodes, [port("x", T.FLOAT, (1, 3, 8, 8)), port("x2", T.FLOAT, (1, 3, 8, 8)), port("rows", T.FLOAT, (4, 20)),
                          port("tokens", T.FLOAT, (1, 5, 8))], outputs, weights)


def functions():
    """A function of the model's own whose operators are of low precision."""
    body = [node("DynamicQuantizeLinear", "v", "q,s,z"), node("MatMulInteger", "q,w,z", "sums"),
            node("Cast", "sums", "real", to=T.FLOAT), node("Mul", "real,s", "product")]
    function = h.make_function("own", "Product", ["v", "w"], ["product"], body, [h.make_opsetid("", 17)])
    graph = h.make_graph([node("Product", "x,w1", "hidden", "own"), node("Product", "hidden,w2", "y", "own")], "functions",
                         [port("x", T.FLOAT, ("N", 6))], [port("y", T.FLOAT, ("N", 5))],
                         [nh.from_array(i8(6, 4), "w1"), nh.from_array(i8(4, 5), "w2")])
    model = h.make_model(graph, functions=[function], opset_imports=[h.make_opsetid("", 17), h.make_opsetid("own", 1)],
                         ir_version=10)
    onnx.save(model, os.path.join(folder, "functions.onnx"))


folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "low-precision")
os.makedirs(folder, exist_ok=True)
for make in (half_in_bodies, integers_in_bodies, four_bits, dynamic_lstm, fused, functions):
    make()
