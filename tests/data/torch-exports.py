"""Exports of usual PyTorch modules, by both exporters, static and with free dimensions: python3 torch-exports.py FOLDER

Writes FOLDER/MODULE-EXPORTER-SHAPES.onnx (EXPORTER: dynamo or script; SHAPES: static or dynamic), weights within the file, and
perceptron-constants.onnx. An export that PyTorch itself refuses is named on standard error and left out. The smaller ones are kept in this
folder; they are of PyTorch 2.15 and ONNX Script 0.7.2.
"""
import contextlib
import io
import pathlib
import sys
import warnings

import onnx
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.cell = kind(8, 6, batch_first=True)

    def forward(self, x):
        return self.cell(x)[0]


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.linear = nn.Embedding(16, 8), nn.Linear(8, 4)

    def forward(self, tokens):
        return self.linear(self.embedding(tokens).mean(1))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, x, memory):
        return self.layer(x, memory)


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, groups=2),
                         nn.GroupNorm(2, 4), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))


def widening():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(4, 4, 2, stride=2), nn.InstanceNorm2d(4, affine=True), nn.LeakyReLU(),
                         nn.Upsample(scale_factor=2, mode="bilinear"), nn.PixelShuffle(2))


SEQUENCE, IMAGE = (2, 5, 8), (2, 3, 12, 12)
BATCH, TIME = {0: "batch"}, {0: "batch", 1: "time"}
MODULES = {  # the module, shapes of its inputs (None: 2 x 5 tokens), names of their free dimensions
    "perceptron": (lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4), nn.Softmax(-1)), [(2, 8)], [BATCH]),
    "convolutions": (convolutions, [IMAGE], [BATCH]),
    "widening": (widening, [IMAGE], [BATCH]),
    "conv1d": (lambda: nn.Sequential(nn.Conv1d(8, 4, 3, dilation=2, padding="same"), nn.BatchNorm1d(4), nn.PReLU()), [(2, 8, 10)], [BATCH]),
    "words": (Words, [None], [TIME]),
    "attention": (Attention, [SEQUENCE], [TIME]),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), [SEQUENCE], [TIME]),
    "encoder-time-first": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), [SEQUENCE], [{0: "time", 1: "batch"}]),
    "decoder": (Decoder, [SEQUENCE, (2, 3, 8)], [TIME, {0: "batch", 1: "past"}]),
    "lstm": (lambda: Recurrent(nn.LSTM), [SEQUENCE], [TIME]),
    "gru": (lambda: Recurrent(nn.GRU), [SEQUENCE], [TIME]),
    "rnn": (lambda: Recurrent(nn.RNN), [SEQUENCE], [TIME]),
}


def export(name, exporter, is_dynamic, path):
    make, shapes, dims = MODULES[name]
    torch.manual_seed(1)
    module = make()
    module.train(False)
    for parameter in module.parameters():  # zeros and ones, as many are at first, would be left out
        nn.init.uniform_(parameter, -0.5, 0.5)
    folded = sum(p.numel() for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm) for p in m.parameters())
    n_parameters = sum(p.numel() for p in module.parameters()) - folded  # both exporters fold these into convolutions
    torch.backends.mha.set_fastpath_enabled(False)
    inputs = tuple(torch.randint(0, 16, (2, 5)) if shape is None else torch.randn(shape) for shape in shapes)
    names = [f"input{i}" for i in range(len(inputs))]
    options = {"input_names": names, "output_names": ["output"]}
    if exporter == "script":
        options.update(dynamo=False, dynamic_axes=dict(zip(names, dims)) if is_dynamic else None)
    else:
        made = {}
        free = tuple({axis: made.setdefault(word, torch.export.Dim(word)) for axis, word in dim.items()} for dim in dims)
        options.update(dynamo=True, external_data=False, dynamic_shapes=free if is_dynamic else None)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, str(path), **options)
    model = onnx.load(path)
    del model.metadata_props[:]
    model.metadata_props.add(key="parameters", value=str(n_parameters))
    for node in model.graph.node:  # where in PyTorch's source each node is from: many times the model itself
        del node.metadata_props[:]
        node.doc_string = ""
    for value in list(model.graph.input) + list(model.graph.output) + list(model.graph.value_info) + list(model.graph.initializer):
        del value.metadata_props[:]
    onnx.save(model, path)


def as_constants(model):
    """Weights in Constant nodes, as Paddle2ONNX and frozen modules have them."""
    weights = [onnx.helper.make_node("Constant", [], [weight.name], name=f"constant.{weight.name}", value=weight)
               for weight in model.graph.initializer]
    nodes = weights + list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def main():
    folder, wanted = pathlib.Path(sys.argv[1]), set(sys.argv[2:])
    for name in MODULES:
        for exporter in ("dynamo", "script"):
            for shapes in ("static", "dynamic"):
                file = f"{name}-{exporter}-{shapes}.onnx"
                if wanted and file not in wanted:
                    continue
                try:
                    export(name, exporter, shapes == "dynamic", folder / file)
                except Exception as error:  # whatever PyTorch raises for what it cannot export
                    (folder / file).unlink(missing_ok=True)
                    print(f"{file}: {str(error).strip().splitlines()[0][:200]}", file=sys.stderr)
    if not wanted:
        onnx.save(as_constants(onnx.load(folder / "perceptron-script-static.onnx")), folder / "perceptron-constants.onnx")


if __name__ == "__main__":
    main()
