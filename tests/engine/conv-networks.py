#!/usr/bin/env python3
"""conv-networks.py FOLDER: writes small networks with every kind of convolution that exporters write, FOLDER/NAME.onnx each.

torch-* are PyTorch's own exports; tf-* and keras-* are in the manner of TensorFlow's and Keras' converters, graph-* of others,
made by the onnx package. Weights are within the files. Channels are 16 where blocks of channels are to fit. Exits with 77 where
this Python has no torch or no onnx.
"""
import pathlib
import sys
import warnings

try:
    import numpy as np
    import onnx
    import torch
    from onnx import TensorProto as T
    from onnx import helper as h
    from onnx import numpy_helper as nh
    from torch import nn
    from torch.nn import functional as f
except ImportError as error:
    print(error)
    sys.exit(77)

rng = np.random.default_rng(5)

# --- PyTorch ------------------------------------------------------------------------------------------------------------


def normal(channels):
    """A BatchNorm2d whose figures are not those of a fresh one."""
    layer = nn.BatchNorm2d(channels)
    for tensor in layer.weight.data, layer.running_var:
        tensor.uniform_(0.5, 1.5)
    for tensor in layer.bias.data, layer.running_mean:
        tensor.uniform_(-0.3, 0.3)
    return layer


def conv(inputs, outputs, kernel=1, stride=1, **options):
    return nn.Conv2d(inputs, outputs, kernel, stride, **{"padding": kernel // 2, **options})


def conv_bn(inputs, outputs, kernel=1, stride=1, act=nn.ReLU, **options):
    layers = [conv(inputs, outputs, kernel, stride, bias=False, **options), normal(outputs)]
    return nn.Sequential(*layers, *([act()] if act else []))


class Residual(nn.Module):
    """x + f(x), or skip(x) + f(x), and what follows."""

    def __init__(self, inner, skip=None, after=None):
        super().__init__()
        self.inner, self.skip, self.after = inner, skip, after

    def forward(self, x):
        y = self.inner(x) + (self.skip(x) if self.skip else x)
        return self.after(y) if self.after else y


class Branches(nn.Module):
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class Dense(nn.Module):
    """DenseNet's layer: BatchNormalization of what was joined, which no convolution before it can take up."""

    def __init__(self, channels, growth):
        super().__init__()
        self.norm1, self.conv1 = normal(channels), conv(channels, 16, bias=False)
        self.norm2, self.conv2 = normal(16), conv(16, growth, 3, bias=False)

    def forward(self, x):
        y = self.conv1(f.relu(self.norm1(x)))
        return torch.cat([x, self.conv2(f.relu(self.norm2(y)))], 1)


class SqueezeExcite(nn.Module):
    def __init__(self, channels, act, gate):
        super().__init__()
        self.down, self.up, self.act, self.gate = conv(channels, 4), conv(4, channels), act, gate

    def forward(self, x):
        return x * self.gate(self.up(self.act(self.down(f.adaptive_avg_pool2d(x, 1)))))


class Shuffle(nn.Module):
    def forward(self, x):
        batch, channels, rows, columns = x.shape
        return x.view(batch, 4, channels // 4, rows, columns).transpose(1, 2).reshape(x.shape)


class ConvNeXt(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.depthwise, self.norm = conv(channels, channels, 7, groups=channels), nn.LayerNorm(channels)
        self.up, self.down = nn.Linear(channels, 2 * channels), nn.Linear(2 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.down(f.gelu(self.up(y)))).permute(0, 3, 1, 2)


class YoloHead(nn.Module):
    """A split block, pooled pyramid, upsampling and joining, and a head that decodes boxes."""

    def __init__(self):
        super().__init__()
        act = nn.SiLU
        self.stem, self.down = conv_bn(3, 16, 3, 2, act), conv_bn(16, 16, 1, 2, act)
        self.split, self.bottleneck, self.join = conv_bn(16, 32, act=act), conv_bn(16, 16, 3, act=act), conv_bn(48, 16, act=act)
        self.pyramid, self.lateral = conv_bn(48, 16, act=act), conv_bn(32, 16, act=act)
        self.boxes, self.classes = conv(16, 16), conv(16, 5)

    def forward(self, x):
        p1 = self.stem(x)
        a, b = self.split(self.down(p1)).chunk(2, 1)
        y = self.join(torch.cat([a, b, b + self.bottleneck(b)], 1))
        pooled = f.max_pool2d(y, 5, 1, 2)
        y = self.pyramid(torch.cat([y, pooled, f.max_pool2d(pooled, 5, 1, 2)], 1))
        y = self.lateral(torch.cat([f.interpolate(y, scale_factor=2.0, mode="nearest"), p1], 1))
        boxes = self.boxes(y).flatten(2).view(1, 4, 4, -1).transpose(1, 2).softmax(1).sum(1)
        return torch.cat([boxes, self.classes(y).flatten(2).sigmoid()], 1)


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.deep = conv_bn(3, 16, 3), conv_bn(16, 16, act=nn.LeakyReLU)
        self.up, self.last = nn.ConvTranspose2d(16, 16, 2, 2), conv(32, 2)

    def forward(self, x):
        y = self.down(x)
        return self.last(torch.cat([self.up(self.deep(f.max_pool2d(y, 2))), y], 1))


class Twice(nn.Module):
    """One module that runs twice, and an output that other layers read."""

    def __init__(self):
        super().__init__()
        self.stem, self.shared = conv(3, 16), conv(16, 16, 3, bias=False)

    def forward(self, x):
        y = self.shared(f.relu(self.stem(x)))
        return y, self.shared(f.relu(y)) + y


class OneByOneNorm(nn.Module):
    """BatchNormalization behind a convolution that something else reads, too."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1, self.conv2 = conv(3, 16, 3), normal(16), conv(16, 16)

    def forward(self, x):
        y = self.conv1(x)
        return self.conv2(f.relu(self.bn1(y))) + y


def zero_bias():
    net = nn.Sequential(conv(3, 16, 3), nn.ReLU(), conv(16, 16), nn.ReLU(), conv(16, 16, 3, groups=16), nn.Sigmoid())
    for layer in net:
        if isinstance(layer, nn.Conv2d):
            nn.init.zeros_(layer.bias)
    return net


def activations():
    kinds = [nn.LeakyReLU(0.2), nn.Sigmoid(), nn.Tanh(), nn.Hardsigmoid(), nn.Hardtanh(-0.4, 0.6), nn.ELU(), nn.PReLU(16),
             nn.Softplus(), nn.ReLU6()]
    layers = [conv(3, 16, 3)]
    for kind in kinds:
        layers += [kind, conv(16, 16)]
    return nn.Sequential(*layers)


def preactivation(channels):
    return Residual(nn.Sequential(normal(channels), nn.ReLU(), conv(channels, channels, bias=False), normal(channels), nn.ReLU(),
                                  conv(channels, channels, 3, bias=False)))


def torch_networks():
    """NAME: module, shape of its input, options of the export."""
    keep = {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
    image = (1, 3, 20, 20)
    return {
        "vgg": (nn.Sequential(conv(3, 16, 3), nn.ReLU(), conv(16, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                              nn.Linear(1600, 1)), image, {}),
        "basic-block": (nn.Sequential(conv_bn(3, 16, 3), Residual(conv_bn(16, 16, 3, act=None), None, nn.ReLU())), image, {}),
        "bottleneck": (nn.Sequential(conv_bn(3, 16), Residual(
            nn.Sequential(conv_bn(16, 16), conv_bn(16, 16, 3, 2), conv_bn(16, 32, act=None)),
            conv_bn(16, 32, 1, 2, act=None), nn.ReLU()), nn.AdaptiveAvgPool2d(1)), image, {}),
        "preactivation": (nn.Sequential(conv(3, 16, bias=False), preactivation(16), normal(16), nn.ReLU()), image, {}),
        "residual-without-bias": (nn.Sequential(conv(3, 16, bias=False), Residual(conv(16, 16, 3, bias=False)), Residual(
            conv(16, 16, bias=False), conv(16, 16, bias=False), nn.ReLU())), image, {}),
        "zero-bias": (zero_bias(), image, {}),
        "densenet": (nn.Sequential(conv(3, 16, bias=False), Dense(16, 16), Dense(32, 8), normal(40), nn.ReLU()), image, {}),
        "norms-kept": (nn.Sequential(conv_bn(3, 16, 3), conv_bn(16, 16), conv_bn(16, 16, 3, groups=16)), image, keep),
        "norm-beside": (OneByOneNorm(), image, {}),
        "mobilenet": (nn.Sequential(conv_bn(3, 16, 3, 2, nn.ReLU6), Residual(nn.Sequential(
            conv_bn(16, 32, act=nn.ReLU6), conv_bn(32, 32, 3, act=nn.ReLU6, groups=32), conv_bn(32, 16, act=None))),
            conv_bn(16, 16, 3, 2, nn.ReLU6, groups=16), conv_bn(16, 24, act=None)), image, {}),
        "efficientnet": (nn.Sequential(conv_bn(3, 16, 3, 2, nn.SiLU), conv_bn(16, 16, 5, act=nn.SiLU, groups=16),
                                       SqueezeExcite(16, nn.SiLU(), nn.Sigmoid()), conv_bn(16, 16, act=None)), image, {}),
        "mobilenet-v3": (nn.Sequential(conv_bn(3, 16, 3, 2, nn.Hardswish), SqueezeExcite(16, nn.ReLU(), nn.Hardsigmoid()),
                                       conv_bn(16, 16, 5, act=nn.Hardswish, groups=16), conv(16, 16)), image, {"opset_version": 14}),
        "convnext": (nn.Sequential(conv(3, 16, 4, 4, padding=0), ConvNeXt(16)), image, {"opset_version": 17}),
        "resnext": (nn.Sequential(conv_bn(3, 32), conv_bn(32, 32, 3, groups=2), conv_bn(32, 32, 3, groups=8)), image, {}),
        "grouped-odd": (nn.Sequential(conv(3, 12, 3), nn.ReLU(), conv(12, 12, 3, groups=4), nn.ReLU(), conv(12, 6, 3, groups=3)),
                        image, {}),
        "shuffle": (nn.Sequential(conv(3, 16, 3), nn.ReLU(), Shuffle(), conv(16, 16, groups=4)), image, {}),
        "dilated": (nn.Sequential(conv(3, 16), Branches(conv_bn(16, 16, 3, padding=2, dilation=2), conv_bn(16, 16), conv_bn(
            16, 16, 3, groups=16, padding=4, dilation=4)), conv(48, 8)), image, {}),
        "asymmetric": (nn.Sequential(nn.ZeroPad2d((0, 1, 2, 0)), conv(3, 16, 3, 2, padding=0), nn.ReLU(),
                                     nn.Conv2d(16, 16, (1, 5), padding=(0, 2)), nn.ReLU(), nn.Conv2d(16, 16, (3, 1), (2, 1), (1, 0)),
                                     nn.ZeroPad2d((1, 0, 0, 3)), nn.Conv2d(16, 16, (2, 2))), image, {}),
        "inception": (nn.Sequential(conv(3, 16), Branches(
            conv_bn(16, 16), nn.Sequential(conv_bn(16, 16), conv_bn(16, 16, 3)), nn.Sequential(conv_bn(16, 4), conv_bn(4, 16, 5)),
            nn.Sequential(nn.AvgPool2d(3, 1, 1), conv_bn(16, 16)), nn.MaxPool2d(3, 1, 1)), conv(80, 8)), image, {}),
        "yolo": (YoloHead(), image, {}),
        "unet": (Unet(), image, {}),
        "alexnet": (nn.Sequential(nn.Conv2d(3, 16, 11, 4, 2), nn.ReLU(), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2), conv(16, 8)),
                    (1, 3, 47, 47), {}),
        "kernel-over-input": (nn.Sequential(conv(3, 16, 3, 4), nn.ReLU(), nn.Conv2d(16, 16, 7, 1, 3, groups=16), nn.Conv2d(
            16, 16, 5, 1, 2, groups=16), nn.Conv2d(16, 16, 3, 2, 1, groups=2)), (1, 3, 9, 9), {}),
        "one-pixel": (nn.Sequential(nn.AdaptiveAvgPool2d(1), conv(3, 16), nn.ReLU(), conv(16, 16, 3, groups=2)), image, {}),
        "batch": (nn.Sequential(conv_bn(3, 16, 3), Residual(conv_bn(16, 16, 3, act=None)), conv(16, 10)), (3, 3, 11, 13), {}),
        "odd-channels": (nn.Sequential(conv(5, 10, 3), nn.ReLU(), conv(10, 20), nn.ReLU(), conv(20, 7, 3), nn.ReLU(), conv(7, 17)),
                         (1, 5, 15, 17), {}),
        "activations": (activations(), (1, 3, 10, 10), {}),
        "superresolution": (nn.Sequential(conv(1, 16, 5), nn.Tanh(), conv(16, 4, 3), nn.PixelShuffle(2)), (1, 1, 14, 14), {}),
        "style": (nn.Sequential(nn.ReflectionPad2d(2), conv(3, 16, 5, padding=0), nn.InstanceNorm2d(16, affine=True), nn.ReLU(),
                                nn.GroupNorm(4, 16), conv(16, 16), nn.Upsample(scale_factor=2), conv(16, 3)), image, {}),
        "twice": (Twice(), image, {}),
        "dynamic": (nn.Sequential(conv_bn(3, 16, 3), Residual(conv_bn(16, 16, 3, act=None)), conv_bn(16, 16, 3, 2, groups=16)), image,
                    {"input_names": ["x"], "output_names": ["y"],
                     "dynamic_axes": {"x": {0: "batch", 2: "height", 3: "width"}, "y": {0: "batch"}}}),
        "one-dimension": (nn.Sequential(nn.Conv1d(8, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 3, 2, groups=16), nn.Conv1d(
            16, 8, 1)), (2, 8, 33), {}),
        "three-dimensions": (nn.Sequential(nn.Conv3d(2, 16, 3, padding=1), nn.ReLU(), nn.Conv3d(16, 8, 1, stride=2)),
                             (1, 2, 6, 7, 8), {}),
        "transposed": (nn.Sequential(nn.ConvTranspose2d(4, 16, 3, 2, 1, 1), nn.ReLU(), conv(16, 16), nn.ConvTranspose2d(
            16, 4, 4, 2, 1)), (1, 4, 6, 7), {}),
    }


def export(folder, name, module, shape, options):
    module.eval()
    options = {"opset_version": 13, **options}
    if options.get("training") is None:
        with torch.no_grad():
            module(torch.zeros(shape))
    torch.onnx.export(module, torch.randn(shape), folder / f"torch-{name}.onnx", **options)


def half(folder):
    """A network in f16, as converters of PyTorch's exports write it: ports and weights."""
    model = onnx.load(folder / "torch-basic-block.onnx")
    for port in list(model.graph.input) + list(model.graph.output):
        port.type.tensor_type.elem_type = T.FLOAT16
    for i, weight in enumerate(model.graph.initializer):
        model.graph.initializer[i].CopyFrom(nh.from_array(nh.to_array(weight).astype(np.float16), weight.name))
    onnx.save(model, folder / "torch-half.onnx")


# --- by hand --------------------------------------------------------------------------------------------------------------


class Graph:
    """A graph under construction. A node's name is that of its output, unless it has none."""

    def __init__(self, **inputs):
        self.nodes, self.weights, self.n = [], [], 0
        self.inputs = [h.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in inputs.items()]

    def weight(self, values, dtype=np.float32):
        self.weights.append(nh.from_array(np.array(values, dtype), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def drawn(self, *shape):
        limit = 1 / np.sqrt(np.prod(shape[1:]) or 1)
        return self.weight(rng.uniform(-limit, limit, shape))

    def add(self, kind, *inputs, name=None, **attributes):
        self.n += 1
        output = f"t{self.n}"
        name = f"net/{kind}_{self.n}" if name is None else name
        self.nodes.append(h.make_node(kind, inputs, [output], name=name, **attributes))
        return output

    def conv(self, x, inputs, outputs, kernel=(1, 1), bias=True, group=1, name=None, **attributes):
        tensors = [x, self.drawn(outputs, inputs // group, *kernel)] + ([self.drawn(outputs)] if bias else [])
        return self.add("Conv", *tensors, name=name, group=group, kernel_shape=kernel, **attributes)

    def save(self, path, *outputs, opset=13):
        ports = [h.make_tensor_value_info(output, T.FLOAT, None) for output in outputs]
        graph = h.make_graph(self.nodes, path.stem, self.inputs, ports, self.weights)
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def tf_same(path):
    """NHWC at the ports, each convolution between two Transposes, pads by auto_pad."""
    g, y, channels = Graph(x=(1, 17, 20, 3)), "x", 3
    for k, (kernel, stride) in enumerate((((3, 3), 2), ((1, 1), 1), ((2, 5), 1))):
        y = g.conv(g.add("Transpose", y, perm=[0, 3, 1, 2]), channels, 16, kernel, auto_pad="SAME_UPPER", strides=[stride] * 2)
        y = g.add("Transpose", y, perm=[0, 2, 3, 1])
        y = g.add("Relu", y) if k < 2 else y
        channels = 16
    g.save(path, g.add("ReduceMean", y, axes=[1, 2], keepdims=0))


def tf_pad(path):
    """Pads as nodes before convolutions without any; the second pads with another value than zero."""
    g = Graph(x=(1, 16, 19, 3))
    y = g.add("Transpose", "x", perm=[0, 3, 1, 2])
    y = g.add("Pad", y, g.weight([0, 0, 0, 0, 0, 0, 1, 1], np.int64), mode="constant")
    y = g.add("Relu", g.conv(y, 3, 16, (3, 3), strides=[2, 2], auto_pad="VALID"))
    y = g.add("Pad", y, g.weight([0, 0, 1, 1, 0, 0, 2, 1], np.int64), g.weight(0.5), mode="constant")
    y = g.conv(y, 16, 16, (3, 3), bias=False, group=16)
    g.save(path, g.add("Transpose", y, perm=[0, 2, 3, 1]))


def keras_mobilenet(path):
    """Depthwise and pointwise without biases; BatchNormalization as Mul and Add, in NHWC; ReLU6 as Min and Max."""
    g, y, channels = Graph(x=(1, 20, 20, 3)), "x", 3
    for depthwise, kernel, stride in ((0, 3, 2), (1, 3, 1), (0, 1, 1), (1, 3, 2), (0, 1, 1)):
        y = g.add("Transpose", y, perm=[0, 3, 1, 2])
        y = g.conv(y, channels, 16, (kernel, kernel), bias=False, group=channels if depthwise else 1, auto_pad="SAME_UPPER",
                   strides=[stride, stride])
        y = g.add("Transpose", y, perm=[0, 2, 3, 1])
        y = g.add("Add", g.add("Mul", y, g.drawn(16)), g.drawn(16))
        y = g.add("Min", g.add("Max", y, g.weight(0)), g.weight(6))
        channels = 16
    g.save(path, y)


def keras_same_lower(path):
    g = Graph(x=(1, 3, 15, 18))
    y = g.add("Clip", g.conv("x", 3, 16, (4, 4), auto_pad="SAME_LOWER", strides=[3, 3]), g.weight(-0.2), g.weight(0.3))
    z = g.conv(y, 16, 16, (2, 3), auto_pad="SAME_LOWER", bias=False)
    y = g.add("Add", g.conv(y, 16, 16, auto_pad="SAME_LOWER"), z)
    g.save(path, g.add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_LOWER"))


def keras_bias_beside(path):
    """Biases and scales as nodes of their own, [1, C, 1, 1], and a mean that keeps its dimensions."""
    g = Graph(x=(2, 3, 12, 12))
    y = g.add("Add", g.conv("x", 3, 16, (3, 3), bias=False, pads=[1, 1, 1, 1]), g.drawn(1, 16, 1, 1))
    y = g.add("Relu", g.add("Mul", g.drawn(1, 16, 1, 1), y))
    y = g.add("Sub", g.conv(y, 16, 16), g.drawn(16, 1, 1))
    y = g.add("GlobalAveragePool", g.add("Div", y, g.weight(1.5)))
    g.save(path, g.conv(y, 16, 5))


def quantised(path, per_channel):
    """Int8 by QuantizeLinear and DequantizeLinear around convolutions."""
    g = Graph(x=(1, 3, 14, 14))

    def through(x, scale):
        pair = g.weight(scale), g.weight(0, np.uint8 if not per_channel else np.int8)
        return g.add("DequantizeLinear", g.add("QuantizeLinear", x, *pair), *pair)

    def conv_of(x, inputs, outputs, kernel, **attributes):
        values = rng.integers(-63, 64, (outputs, inputs, kernel, kernel))
        scale = rng.uniform(.002, .004, outputs) if per_channel else 0.003
        zero = np.zeros(outputs) if per_channel else 0
        options = {"axis": 0} if per_channel else {}
        weight = g.add("DequantizeLinear", g.weight(values, np.int8), g.weight(scale), g.weight(zero, np.int8), **options)
        return g.add("Conv", x, weight, g.drawn(outputs), kernel_shape=[kernel] * 2, **attributes)

    y = g.add("Relu", conv_of(through("x", 0.02), 3, 16, 3, pads=[1, 1, 1, 1]))
    z = g.add("Relu", conv_of(through(y, 0.02), 16, 16, 3, pads=[1, 1, 1, 1], strides=[2, 2]))
    g.save(path, through(conv_of(through(z, 0.02), 16, 16, 1), 0.02))


def weights_beside(path):
    """Weights that are no constants, one weight that two nodes read, and a branch: what stays with the runtime."""
    g = Graph(x=(1, 16, 9, 9), w=(16, 16, 1, 1))
    shared, bias = g.drawn(16, 16, 1, 1), g.drawn(16)
    a = g.add("Conv", "x", shared, bias)
    b = g.add("Relu", g.add("Conv", a, shared))
    c = g.add("Conv", b, "w")
    branch = [h.make_graph([h.make_node("Conv", [c, shared, bias], ["then_y"], name="inner")], "then", [],
                           [h.make_tensor_value_info("then_y", T.FLOAT, None)]),
              h.make_graph([h.make_node("Relu", [c], ["else_y"])], "else", [], [h.make_tensor_value_info("else_y", T.FLOAT, None)])]
    total = g.add("ReduceMean", b, keepdims=0)
    positive = g.add("Greater", total, g.weight(0))
    g.save(path, a, g.add("If", positive, then_branch=branch[0], else_branch=branch[1]))


def without_names(path):
    """Nodes without names: a residual block with BatchNormalization on both sides of the sum."""
    g, name = Graph(x=(1, 3, 12, 12)), ""

    def norm(x):
        return g.add("BatchNormalization", x, g.weight(rng.uniform(.5, 1.5, 16)), g.drawn(16), g.drawn(16),
                     g.weight(rng.uniform(.5, 1.5, 16)), name=name)

    stem = g.add("Relu", norm(g.conv("x", 3, 16, (3, 3), bias=False, name=name)), name=name)
    left = norm(g.conv(stem, 16, 16, bias=False, name=name))
    right = g.conv(g.add("Relu", g.conv(stem, 16, 16, name=name), name=name), 16, 16, name=name)
    y = g.add("Relu", norm(g.add("Add", left, right, name=name)), name=name)
    g.save(path, g.conv(y, 16, 16, name=name))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(5)
    for name, (module, shape, options) in torch_networks().items():
        export(folder, name, module, shape, options)
    half(folder)
    tf_same(folder / "tf-same.onnx")
    tf_pad(folder / "tf-pad.onnx")
    keras_mobilenet(folder / "keras-mobilenet.onnx")
    keras_same_lower(folder / "keras-same-lower.onnx")
    keras_bias_beside(folder / "keras-bias-beside.onnx")
    quantised(folder / "tf-quantised.onnx", per_channel=False)
    quantised(folder / "torch-quantised.onnx", per_channel=True)
    weights_beside(folder / "graph-weights-beside.onnx")
    without_names(folder / "graph-without-names.onnx")


warnings.simplefilter("ignore")
main()
