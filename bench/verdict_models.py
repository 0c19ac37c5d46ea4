"""The models of bench/verdicts.py: the zoo's in several precisions, and faults that are planted into them."""
import logging
import subprocess

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
logging.disable(logging.WARNING)  # the quantisers tell every node

# name -> the zoo's model and its sizes; small, so that a run takes milliseconds
PLAIN = {
    "resnet18": ["resnet18", "size=64"],
    "mobilenet": ["mobilenet_v2", "size=64"],
    "squeezenet": ["squeezenet", "size=64"],
    "googlenet": ["googlenet", "size=64"],
    "densenet": ["densenet121", "size=64"],
    "resnet50": ["resnet50", "size=32"],
    "bert": ["bert", "hidden=128", "layers=3", "heads=2", "length=32", "vocabulary=500"],
    "bert-wide": ["bert", "hidden=256", "layers=2", "heads=4", "length=16", "vocabulary=1000"],
    "vit": ["vit", "size=64"],
    "graphsage": ["graphsage", "nodes=200", "edges=800"],
    "graph-transformer": ["graph_transformer", "num_nodes=60", "num_edges=240", "mpnn=gcn", "attention=sparse", "num_layers=2"],
    "matmul": ["matmul", "m=16", "k=256", "n=64"],
}


def export(program, name, folder):
    path = folder / f"{name}.onnx"
    if not path.exists():
        subprocess.run([program, "zoo", "export", *PLAIN[name], "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


# ----- inputs for calibration

def feeds(model, seed):
    random, found = numpy.random.default_rng(seed), {}
    weights = {weight.name for weight in model.graph.initializer}
    for value in model.graph.input:
        if value.name in weights:
            continue
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        whole = numpy.issubdtype(kind, numpy.integer)
        found[value.name] = (random.integers(0, 2, shape) if whole else random.uniform(0, 1, shape)).astype(kind)
    return found


# ----- precisions

def quantised(source, path, static, **options):
    from onnxruntime import quantization
    from onnxruntime.quantization import QuantFormat, QuantType

    class Reader(quantization.CalibrationDataReader):
        def __init__(self, model):
            self.batches = iter([feeds(model, seed) for seed in (1, 2, 3)])

        def get_next(self):
            return next(self.batches, None)

    flat = path.with_suffix(".flat")  # batch norms folded, as the quantiser advises
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    settings.optimized_model_filepath = str(flat)
    onnxruntime.InferenceSession(str(source), settings, providers=["CPUExecutionProvider"])
    types = {name: getattr(QuantType, kind) for name, kind in options.pop("types").items()}
    if static:
        quantization.quantize_static(flat, path, Reader(onnx.load(source)), quant_format=QuantFormat.QDQ, **types, **options)
    else:
        quantization.quantize_dynamic(flat, path, **types, **options)
    flat.unlink()


def half(source, path):
    from onnxruntime.transformers.float16 import convert_float_to_float16
    onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=False), path)


def four_bits(source, path):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    made = MatMulNBitsQuantizer(onnx.load(source), block_size=32, is_symmetric=True)
    made.process()
    onnx.save(made.model.model, path)


PRECISIONS = {
    "f32": None,
    "f16": half,
    "qdq-channel": lambda source, path: quantised(source, path, True, types={"activation_type": "QUInt8", "weight_type": "QInt8"},
                                                  per_channel=True),
    "qdq-tensor": lambda source, path: quantised(source, path, True, types={"activation_type": "QInt8", "weight_type": "QInt8"}),
    "qdq-7bit": lambda source, path: quantised(source, path, True, types={"activation_type": "QUInt8", "weight_type": "QInt8"},
                                               per_channel=True, reduce_range=True),
    "dynamic": lambda source, path: quantised(source, path, False, types={"weight_type": "QInt8"}),
    "int4": four_bits,
}


def kind_of(precision):
    return {"f32": "float", "f16": "f16"}.get(precision, "quantised")


# ----- faults

WEIGHT = {"Conv": 1, "MatMul": 1, "Gemm": 1, "ConvInteger": 1, "MatMulInteger": 1, "QLinearConv": 3, "MatMulNBits": 1}


def constants(model):
    found = {weight.name: weight for weight in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            found[node.output[0]] = node.attribute[0].t
    return found


def middle_weight(model):
    """The node in the middle of those with a weight matrix, and that weight, seen through what unpacks it."""
    known = constants(model)
    behind = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type in ("DequantizeLinear", "Cast", "Identity")}
    found = []
    for node in model.graph.node:
        name = node.input[WEIGHT[node.op_type]] if node.op_type in WEIGHT else None
        while name in behind:
            name = behind[name]
        if name in known and len(known[name].dims) >= 2:
            found.append((node, known[name]))
    return found[len(found) // 2] if found else (None, None)


def put(tensor, values):
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def one_weight(model):
    node, tensor = middle_weight(model)
    if tensor is None:
        return False
    values = numpy_helper.to_array(tensor).copy()
    flat = values.reshape(-1)
    place = int(numpy.argmax(numpy.abs(flat.astype(float))))
    if node.op_type == "MatMulNBits":
        flat[place] ^= 1  # a step of one weight of four bits
    elif values.dtype.kind in "iu":
        flat[place] += 1 if flat[place] < numpy.iinfo(values.dtype).max else -1
    else:
        flat[place] *= 1.01
    put(tensor, values)
    return True


def channels(model):
    node, tensor = middle_weight(model)
    if tensor is None:
        return False
    values = numpy_helper.to_array(tensor).copy()
    axis = 0 if values.ndim > 2 or node.op_type == "MatMulNBits" else values.ndim - 1
    rows = numpy.moveaxis(values, axis, 0)
    if len(rows) < 2 or (rows[0] == rows[1]).all():
        return False
    rows[[0, 1]] = rows[[1, 0]].copy()
    put(tensor, values)
    return True


def middle_of(model, wanted):
    outputs = {output.name for output in model.graph.output}
    found = [node for node in model.graph.node if wanted(node) and node.output[0] not in outputs]
    return found[len(found) // 2] if found else None


def relu(model):
    node = middle_of(model, lambda node: node.op_type in ("Relu", "Clip", "Gelu", "Erf", "Sigmoid", "Tanh", "LeakyRelu"))
    if node is None:
        return False
    if node.op_type == "Erf":  # of x (1 + erf(x / sqrt(2))) / 2: without it x is left
        model.graph.initializer.append(numpy_helper.from_array(numpy.zeros((), numpy.float32), "planted"))
        node.CopyFrom(helper.make_node("Pow", [node.input[0], "planted"], [node.output[0]]))
    else:
        node.CopyFrom(helper.make_node("Identity", [node.input[0]], [node.output[0]]))
    return True


def attribute(node, name):
    return next((one for one in node.attribute if one.name == name), None)


def pad(model):
    def is_padded(node):
        pads = attribute(node, "pads")
        return node.op_type in ("Conv", "ConvInteger", "QLinearConv", "MaxPool") and pads is not None and list(pads.ints) == [1, 1, 1, 1]
    node = middle_of(model, is_padded)
    if node is None:
        return False
    attribute(node, "pads").ints[:] = [0, 1, 2, 1]
    return True


def axis(model):
    softmax = next((node for node in model.graph.node if node.op_type == "Softmax"), None)
    if softmax is not None and (attribute(softmax, "axis") is None or attribute(softmax, "axis").i == -1):
        del softmax.attribute[:]
        softmax.attribute.append(helper.make_attribute("axis", -2))
        return True
    concat = next((node for node in reversed(model.graph.node) if node.op_type == "Concat" and len(node.input) > 1), None)
    if concat is None:
        return False
    concat.input[0], concat.input[1] = concat.input[1], concat.input[0]
    return True


def narrow(kind):
    """What goes into the products loses digits on the way."""
    def change(model):
        nodes, made = [], {}
        for node in model.graph.node:
            for i in (0, 1) if node.op_type in ("Conv", "MatMul", "Gemm") else ():
                name = node.input[i]
                if name not in made:
                    made[name] = f"wide{len(made)}"
                    nodes.append(helper.make_node("Cast", [name], [f"narrow{len(made)}"], to=kind))
                    nodes.append(helper.make_node("Cast", [f"narrow{len(made)}"], [made[name]], to=TensorProto.FLOAT))
                node.input[i] = made[name]
            nodes.append(node)
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        return bool(made)
    return change


def behind_output(op_type, value):
    """One more node behind the first output of floats; @value: of an element of it, or for the whole"""
    def change(model):
        for output in model.graph.output:
            kind = output.type.tensor_type.elem_type
            if kind not in (TensorProto.FLOAT, TensorProto.FLOAT16):
                continue
            maker = next(node for node in model.graph.node if output.name in node.output)
            inside = output.name + "/before"
            maker.output[list(maker.output).index(output.name)] = inside
            for node in model.graph.node:
                for i, name in enumerate(node.input):
                    if name == output.name:
                        node.input[i] = inside
            shape = [dim.dim_value for dim in output.type.tensor_type.shape.dim]
            number = numpy.array(value, helper.tensor_dtype_to_np_dtype(kind))
            if numpy.isnan(number):
                if not shape or min(shape) < 1:
                    return False
                number = numpy.zeros(shape, number.dtype)
                number.reshape(-1)[number.size // 3] = value
            model.graph.initializer.append(numpy_helper.from_array(number, "planted"))
            model.graph.node.append(helper.make_node(op_type, [inside, "planted"], [output.name]))
            return True
        return False
    return change


FAULTS = {"weight": one_weight, "channels": channels, "relu": relu, "pad": pad, "axis": axis, "x1.001": behind_output("Mul", 1.001),
          "nan": behind_output("Add", numpy.nan), "bf16": narrow(TensorProto.BFLOAT16), "f16": narrow(TensorProto.FLOAT16)}
# All of them must be found; the others are reported. Fewer digits are a fault in a model of floats alone.
MUST = {"channels", "relu", "pad", "axis", "nan"}


def plant(source, fault, path):
    """Returns: whether the model has a place for it."""
    model = onnx.load(source)
    if not FAULTS[fault](model):
        return False
    onnx.save(model, path)
    return True
