"""torch-resnet18.py FOLDER: exits 0 where PyTorch's autograd gives the gradients in FOLDER, 1 where it does not, 77 without torch.

FOLDER/index has a line for each tensor: its name, its type (f32 or i64) and its shape; FOLDER/NUMBER has its bytes, NUMBER
being the line's. "image" and "target" are the batch, "loss" and "grad.NAME" what is to be checked, all others weights."""
import math
import os
import sys

try:
    import torch
    from torch.nn import functional
except ImportError:
    sys.exit(77)


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


def forward(w, x):
    """ResNet-18 with fixed statistics; w: weights by torchvision's names."""
    def norm(x, name):
        return functional.batch_norm(x, w[name + ".running_mean"], w[name + ".running_var"], w[name + ".weight"],
                                     w[name + ".bias"], training=False, eps=1e-5)

    x = functional.relu(norm(functional.conv2d(x, w["conv1.weight"], stride=2, padding=3), "bn1"))
    x = functional.max_pool2d(x, 3, stride=2, padding=1)
    for layer in range(1, 5):
        for block in range(2):
            name, stride, straight = f"layer{layer}.{block}.", 2 if layer > 1 and block == 0 else 1, x
            y = functional.relu(norm(functional.conv2d(x, w[name + "conv1.weight"], stride=stride, padding=1), name + "bn1"))
            y = norm(functional.conv2d(y, w[name + "conv2.weight"], padding=1), name + "bn2")
            if stride != 1:
                straight = norm(functional.conv2d(x, w[name + "downsample.0.weight"], stride=stride), name + "downsample.1")
            x = functional.relu(y + straight)
    return functional.linear(x.mean(dim=(2, 3)), w["fc.weight"], w["fc.bias"])


def main():
    tensors = read(sys.argv[1])
    weights = {name: value for name, value in tensors.items()
               if name not in ("image", "target", "loss") and not name.startswith("grad.")}
    torch.set_num_threads(1)
    wanted = [name[len("grad."):] for name in tensors if name.startswith("grad.")]
    for name in wanted:
        weights[name].requires_grad_()
    loss = functional.cross_entropy(forward(weights, tensors["image"]), tensors["target"])
    loss.backward()
    worst, where = abs(loss.item() - tensors["loss"].item()) / abs(loss.item()), "loss"
    for name in wanted:
        right = weights[name].grad.double()
        distance = ((tensors["grad." + name].double() - right).norm() / right.norm()).item()
        if not distance <= worst:
            worst, where = distance, "grad." + name
    print(f"torch {torch.__version__}: {len(wanted)} gradients, the worst of '{where}': {worst:.3g} of its size")
    sys.exit(0 if len(wanted) == 62 and math.isfinite(worst) and worst <= 1e-4 else 1)


main()
