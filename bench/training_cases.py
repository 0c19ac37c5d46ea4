"""What bench/training.py times: of each case the models, and inputs, weights and target as arrays."""
import collections
import ctypes
import pathlib
import tempfile

import engines
import numpy
import peers

Case = collections.namedtuple("Case", "evaluation training loss inputs target output_shape model settings weights")
MSE, CROSS_ENTROPY = 0, 1
SEED = 1


class Sizes(ctypes.Structure):
    """IfmTransformerSizes of inferometer/profile.h."""
    _fields_ = [(name, ctypes.c_int64) for name in ("num_nodes", "num_edges", "feature_dim", "hidden_dim", "num_layers", "num_heads", "ffn_dim",
                                                     "pe_dim", "num_outputs")] + [
        ("sparse_ratio", ctypes.c_double), ("mpnn", ctypes.c_int), ("pe", ctypes.c_int)]


class Transformer(ctypes.Structure):
    """IfmTransformer of src/zoo/zoo.h."""
    _fields_ = [("sizes", Sizes), ("num_graphs", ctypes.c_int64), ("most_nodes", ctypes.c_int64), ("attention", ctypes.c_int),
                ("norm", ctypes.c_int), ("head", ctypes.c_int), ("training", ctypes.c_int), ("dropout", ctypes.c_double), ("scatter", ctypes.c_int)]


FUNCTIONS = {
    "ifm_transformer_build": (ctypes.c_void_p, [ctypes.POINTER(Transformer), ctypes.c_uint32, ctypes.c_void_p]),
    "ifm_transformer_for_graph": (None, [ctypes.POINTER(Transformer), ctypes.c_void_p]),
    "ifm_transformer_inputs": (ctypes.c_int, [ctypes.POINTER(Transformer), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p,
                                              ctypes.c_void_p]),
    "ifm_graph_synthetic": (ctypes.c_void_p, [ctypes.c_int64, ctypes.c_double, ctypes.c_int64, ctypes.c_uint32, ctypes.c_void_p]),
    "ifm_graph_read": (ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]),
    "ifm_encoding_laplacian": (ctypes.c_void_p,
                               [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]),
    "ifm_tensor_file_open": (ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_void_p]),
    "ifm_tensor_file_n": (ctypes.c_size_t, [ctypes.c_void_p]),
    "ifm_tensor_file_name": (ctypes.c_char_p, [ctypes.c_void_p, ctypes.c_size_t]),
    "ifm_tensor_file_tensor": (ctypes.POINTER(peers.Tensor), [ctypes.c_void_p, ctypes.c_size_t]),
}


def resnet18(library):
    model, random = library.zoo("resnet18", ["batch=4"], SEED), numpy.random.default_rng(SEED)
    training = library.zoo("resnet18", ["batch=4", "form=training"], SEED)
    image, output = library.inputs(model)[0], library.outputs(model)[0]
    inputs = {image.name.decode(): random.standard_normal(image.dims[:image.rank], dtype=numpy.float32)}
    shape = tuple(output.dims[:output.rank])
    return Case(model, training, CROSS_ENTROPY, inputs, random.integers(0, shape[1], shape[0]), shape, "resnet18", {}, library.weights(model))


def read_inputs(library, transformer, graph, encoding):
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "inputs").encode()
        library.made("ifm_transformer_inputs", ctypes.byref(transformer), graph, encoding, SEED, path)
        file = library.made("ifm_tensor_file_open", path)
        return {library.c.ifm_tensor_file_name(file, i).decode(): engines.as_array(library.c.ifm_tensor_file_tensor(file, i).contents)
                for i in range(library.c.ifm_tensor_file_n(file))}


def transformer(library, graph, layers, attention, mpnn):
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library.c, name)
        function.restype, function.argtypes = result, arguments
    graph = graph(library)
    one = Transformer(Sizes(feature_dim=16, hidden_dim=64, num_layers=layers, num_heads=4, ffn_dim=128, pe_dim=16, num_outputs=1, sparse_ratio=1,
                            mpnn=("none", "gin").index(mpnn), pe=1), attention=("dense", "sparse").index(attention), dropout=0.1)
    library.c.ifm_transformer_for_graph(ctypes.byref(one), graph)
    encoding = library.made("ifm_encoding_laplacian", graph, 16, None, None)
    evaluation = library.made("ifm_transformer_build", ctypes.byref(one), SEED)
    one.training = 1
    training = library.made("ifm_transformer_build", ctypes.byref(one), SEED)
    shape = (one.num_graphs, 1)
    settings = {"layers": str(layers), "heads": "4", "mpnn": mpnn, "attention": attention, "norm": "layer", "head": "graph"}
    target = numpy.random.default_rng(SEED).standard_normal(shape, dtype=numpy.float32)
    return Case(evaluation, training, MSE, read_inputs(library, one, graph, encoding), target, shape, "transformer", settings,
                library.weights(training))


def synthetic(library):
    return library.made("ifm_graph_synthetic", 500, 5.0, 16, SEED)


def peptides(library):
    return library.made("ifm_graph_read", b"data/peptides", 0)


def make(library, name, layers):
    if name == "resnet18":
        return resnet18(library)
    graph, layers = (peptides, layers) if name == "peptides" else (synthetic, 4)
    return transformer(library, graph, layers, *(("sparse", "gin") if name == "sparse" else ("dense", "none")))
