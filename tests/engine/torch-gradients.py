"""torch-gradients.py FOLDER...: exits 0 where PyTorch's autograd gives the gradients in each FOLDER, 1 where it does not, 77 without torch.

FOLDER/settings has the words "model=MODEL" and what torch_models.py wants to know of it. FOLDER/index has a line for each tensor: its
name, its type (f32 or i64) and its shape; FOLDER/NUMBER has its bytes, NUMBER being the line's. "target" is what the loss is against,
"loss", "grad.NAME" and "next.NAME" are checked, all others are inputs and weights."""
import os
import sys

try:
    import torch
except ImportError:
    sys.exit(77)
import torch_models

MOST = 1e-4   # of a tensor's norm …
SMALL = 1e-3  # … or of so much of the largest gradient's, where it is smaller: what cancels has fewer digits


def read(folder):
    tensors = {}
    with open(os.path.join(folder, "index"), encoding="utf-8") as index:
        for number, line in enumerate(index):
            name, kind, *shape = line.split()
            with open(os.path.join(folder, str(number)), "rb") as file:
                data = bytearray(file.read())
            dtype = torch.float32 if kind == "f32" else torch.int64
            tensors[name] = torch.frombuffer(data, dtype=dtype).reshape([int(size) for size in shape])
    return tensors


def distance(tensor, right, least):
    return ((tensor.double() - right).norm() / max(right.norm().item(), least)).item()


def check(folder):
    """Returns whether all is as it should be."""
    with open(os.path.join(folder, "settings"), encoding="utf-8") as file:
        settings = dict(word.split("=", 1) for word in file.read().split())
    tensors = read(folder)
    results = [name for name in tensors if name == "loss" or name.startswith(("grad.", "next."))]
    given = {name: value for name, value in tensors.items() if name not in results}
    parameters = torch_models.parameters(settings["model"], given)
    for name in parameters:
        given[name].requires_grad_()
    output, replaced = torch_models.MODELS[settings["model"]](given, settings)
    loss = torch_models.loss_of(settings["model"], output, given["target"])
    loss.backward()
    right = {"loss": loss, **{"grad." + name: given[name].grad for name in parameters},
             **{"next." + name: value for name, value in replaced.items()}}
    right = {name: value.detach().double() for name, value in right.items()}
    least = SMALL * max(value.norm().item() for name, value in right.items() if name.startswith("grad."))
    off = {name: distance(tensors[name], right[name], least) for name in results if name in right}
    worst = max(off, key=off.get)
    print(f"torch {torch.__version__}: {' '.join(f'{key}={value}' for key, value in settings.items())}: {len(parameters)} gradients, "
          f"{len(replaced)} statistics, the worst '{worst}': {off[worst]:.3g} of its size")
    if set(right) != set(results):
        print("not in both:", *sorted(set(right) ^ set(results)))
    return set(right) == set(results) and all(value <= MOST for value in off.values())


torch.set_num_threads(1)
sys.exit(0 if all([check(folder) for folder in sys.argv[1:]]) else 1)
