"""Models that are objects of Python, as files: onnx.ModelProto, torch.nn.Module with inputs."""
import contextlib
import inspect
import os
import re
import traceback
import warnings

from ._errors import InputError
from ._measure import answer

SIDES = ("a-", "b-")  # of a comparison, whose models have inputs of their own


def _name(thing):
    return type(thing).__name__


def _file(folder, name):
    """A path for a model of that name."""
    stem = re.sub(r"[^\w.-]+", "_", name or "") or "model"
    number = len(list(folder.glob(f"{stem}*.onnx")))
    return folder / f"{stem}{f'-{number + 1}' if number else ''}.onnx"


def _save(folder, kind, number, tensor):
    """An array as a file of NumPy. Returns: its path"""
    import numpy
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu()
        if str(tensor.dtype) == "torch.bfloat16":
            raise TypeError(f"{kind} {number}: NumPy has no bfloat16: give float32 or float16")
        tensor = tensor.resolve_conj().resolve_neg().numpy()
    path = folder / f"{kind}-{number}-{len(list(folder.glob('*.npy')))}.npy"
    array = numpy.asarray(tensor, order="C")
    if array.dtype == object:
        raise TypeError(f"inputs: {kind} {number} is no array of numbers")
    numpy.save(path, array)
    return path


def tensors_in(value, opened=lambda value: ()):
    """The tensors in a tuple, list or dict, in order; opened(): the parts of something else."""
    if hasattr(value, "detach"):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    parts = parts if isinstance(value, (dict, list, tuple)) else opened(value)
    return [tensor for part in parts for tensor in tensors_in(part, opened)]


def mapped(value, function, word="detach"):
    """The same structure with function(part) for each part that has such a method: each tensor."""
    if hasattr(value, word):
        return function(value)
    if isinstance(value, dict):
        return {key: mapped(part, function, word) for key, part in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    parts = [mapped(part, function, word) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def _parameters(module):
    try:
        return list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        return []


def _ordered(module, inputs):
    """Inputs in the order of forward(), and a name for each tensor among them, as it calls them."""
    known = [p.name for p in _parameters(module)
             if isinstance(inputs, dict) or p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if isinstance(inputs, dict):
        inputs = {name: inputs[name] for name in sorted(
            inputs, key=lambda name: known.index(name) if name in known else len(known))}
        known = list(inputs)
    names = []
    for number, one in enumerate(inputs.values() if isinstance(inputs, dict) else inputs):
        name = known[number] if number < len(known) else f"input{number}"
        n = len(tensors_in(one))
        names += [name] if n == 1 else [f"{name}_{i}" for i in range(n)]
    return inputs, names


def _reason(error):
    """The exporter's own, without its advice to developers."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return lines[0] if lines else _name(error)


def _called(module, inputs):
    return module(**inputs) if isinstance(inputs, dict) else module(*inputs)


def _of_tensors(module, inputs):
    """A module that takes the tensors among the inputs alone: exporters make inputs of numbers."""
    import torch

    class OfTensors(torch.nn.Module):
        """The rest of the inputs is part of it."""

        def __init__(self):
            super().__init__()
            self.module, self.training = module, module.training

        def forward(self, *tensors):
            """As the module's, of its inputs."""
            given = iter(tensors)
            return _called(self.module, mapped(inputs, lambda _: next(given)))

    return OfTensors()


@contextlib.contextmanager
def _differentiable(module):
    """Without gradients some layers take a fast path that no exporter knows."""
    import torch
    frozen = [p for p in module.parameters() if p.is_floating_point() and not p.requires_grad]
    try:
        for parameter in frozen:
            parameter.requires_grad_(True)
        with torch.enable_grad():
            yield
    finally:
        for parameter in frozen:
            parameter.requires_grad_(False)


def _export(module, inputs, path, training, names):
    """Writes the module's ONNX file; by torch.export where that can, else by tracing."""
    import torch
    arguments = tuple(tensors_in(inputs))
    plain = not isinstance(inputs, dict) and all(hasattr(one, "detach") for one in inputs) and all(
        p.default is None or p.default is p.empty for p in _parameters(module)[len(inputs):])
    if not plain:
        module = _of_tensors(module, inputs)
    options = {"input_names": names[0], "output_names": names[1]}
    if training:
        options |= {"training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
    ways = [{}]
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        ways = [{"dynamo": True, "external_data": False}] if not training else []
        ways += [{"dynamo": False}]
    for way in ways:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with _differentiable(module):
                    torch.onnx.export(module, arguments, str(path), **options, **way)
            return
        except Exception as error:  # pylint: disable=broad-except  # whatever the exporter raises
            traceback.clear_frames(error.__traceback__)  # a graph in them spoils the next exports
            if way is ways[-1]:
                raise InputError(f"{_name(module)} cannot be exported: {_reason(error)}") from error


@contextlib.contextmanager
def _kept(module, training):
    """Running a module in training changes its running statistics: they, and its mode, are kept."""
    modes = [(part, part.training) for part in module.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in module.buffers()]
    dropouts = [part for part, on in modes if on and "Dropout" in type(part).__name__]
    if not training:
        module.eval()
    elif dropouts:  # ONNX's draws its mask inside: there is no gradient of that
        warnings.warn(f"{_name(module)}: its dropouts are left out of the training pass",
                      stacklevel=8)
        for part in dropouts:
            part.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode
        for buffer, before in buffers:
            buffer.copy_(before)


def _module(module, inputs, mode, folder):
    """Returns: the path of a module's file, files of its inputs and of its own outputs, by name"""
    import torch
    if inputs is None:
        raise TypeError(f"{_name(module)}: a torch module needs inputs=(…), its example inputs")
    inputs = (inputs,) if hasattr(inputs, "detach") else inputs
    if not isinstance(inputs, (tuple, list, dict)):
        raise TypeError(f"inputs: a tensor, or a tuple or dict of them, not {_name(inputs)}")
    training = mode in ("backward", "train") and module.training
    (inputs, names), path = _ordered(module, inputs), _file(folder, _name(module))
    fed = tensors_in(inputs)
    files = [_save(folder, "input", i, tensor) for i, tensor in enumerate(fed)]

    def own():  # a module may work in place
        return mapped(inputs, lambda tensor: tensor.detach().clone())

    with torch.no_grad(), _kept(module, training):
        try:
            outputs = [tensor.clone() for tensor in tensors_in(_called(module, own()))]
        except Exception as error:  # pylint: disable=broad-except  # of the module's own code
            raise InputError(f"{_name(module)} does not take these inputs: "
                             f"{_reason(error)}") from error
        stem = "output"
        while any(name.startswith(stem) for name in names):
            stem = f"module_{stem}"
        called = [f"{stem}{i or ''}" for i in range(len(outputs))]
        _export(module, own(), path, training, (names, called))
        expected = [_save(folder, "output", i, tensor) for i, tensor in enumerate(outputs)]
    there = answer("ifm_model_input_names", os.fsencode(path))  # an exporter leaves some out
    unused = [name for name in names if name not in there]
    if unused:
        warnings.warn(f"{_name(module)}: its outputs do not depend on {', '.join(unused)}",
                      stacklevel=6)
    feeds = {name: file for name, file in zip(names, files) if name in there}
    return path, feeds, {} if training else dict(zip(called, expected))


def _model(argument, inputs, mode, folder):
    """The path of a model's file, and files of its inputs and expected outputs."""
    if isinstance(argument, tuple) and len(argument) == 2:
        argument, inputs = argument
    if isinstance(argument, type):
        raise TypeError(f"{argument.__name__} is a class: give an instance of it")
    if hasattr(argument, "state_dict") and hasattr(argument, "forward"):
        return _module(argument, inputs, mode, folder)
    if hasattr(argument, "SerializeToString") and hasattr(argument, "graph"):
        path = _file(folder, argument.graph.name)
        try:
            path.write_bytes(argument.SerializeToString())
        except Exception as error:  # pylint: disable=broad-except  # protobuf's: above 2 GiB
            raise InputError(f"ModelProto '{argument.graph.name}': {_reason(error)}") from error
        argument = path
    if not isinstance(argument, (str, os.PathLike)):
        raise TypeError(f"a {_name(argument)} is no model: a path, a name of the zoo, an "
                        "onnx.ModelProto or a torch.nn.Module")
    if inputs is not None and not isinstance(inputs, dict):
        raise TypeError(f"inputs: {{name: array}} of a file's model, not {_name(inputs)}")
    return argument, {name: _save(folder, "input", i, array)
                      for i, (name, array) in enumerate((inputs or {}).items())}, {}


def as_words(verb, arguments, inputs, options, folder):
    """Arguments as words of the command line, and the options that go with them."""
    if not verb.has("input"):
        words = (str, os.PathLike, int, float)
        wrong = _name(next((a for a in arguments if not isinstance(a, words)), inputs))
        raise TypeError(f"{verb.function}() takes {verb.arguments or 'no arguments'}, no {wrong}")
    modules = [a for a in arguments if hasattr(a, "state_dict") or isinstance(a, tuple)]
    if modules and len(arguments) > 1 and not verb.has("a_input"):
        raise TypeError(f"{verb.function}() takes one torch module at a time, with its inputs")
    paths, words = [], []
    for side, argument in enumerate(arguments):
        path, fed, expected = _model(argument, inputs, options.get("mode"), folder)
        prefix = SIDES[side] if verb.has("a_input") else ""
        paths.append(path)
        words += [f"--{prefix}input={name}={file}" for name, file in fed.items()]
        if verb.has("expect"):
            words += [f"--expect={name}={file}" for name, file in expected.items()]
    return paths, list(dict.fromkeys(words))
