"""conv-networks.py FOLDER [NAME…]: writes the networks that the zoo lacks as FOLDER/NAME.onnx.

They are torchvision's, and one in the manner of YOLO, which torchvision does not have; weights are random, of one seed. Batch, height
and width are free. A file that is there is kept. It needs PyTorch, torchvision and onnx (Debian: python3-torch, python3-torchvision,
python3-onnx).
"""
import os
import pathlib
import sys
import warnings

NAMES = {"efficientnet_b0": "efficientnet_b0", "regnet_y_400mf": "regnet_y_400mf", "convnext_tiny": "convnext_tiny",
         "resnext50": "resnext50_32x4d", "yolo_like": None}
OPSET = 13


def yolo_like():
    """Cross-stage blocks with SiLU, pooled contexts, a pyramid up and down, three heads: the shapes of a small YOLO of 640."""
    import torch  # pylint: disable=import-outside-toplevel
    from torch import nn  # pylint: disable=import-outside-toplevel

    def conv(into, out, kernel=1, stride=1):
        return nn.Sequential(nn.Conv2d(into, out, kernel, stride, (kernel - 1) // 2, bias=False), nn.BatchNorm2d(out), nn.SiLU())

    class Block(nn.Module):
        """Half of the channels pass through residual pairs of 1x1 and 3x3."""

        def __init__(self, into, out, depth, adds=True):
            super().__init__()
            half = out // 2
            self.left, self.right, self.end = conv(into, half), conv(into, half), conv(out, out)
            self.pairs = nn.ModuleList(nn.Sequential(conv(half, half), conv(half, half, 3)) for _ in range(depth))
            self.adds = adds

        def forward(self, x):
            """x: [N, into, h, w] -> [N, out, h, w]"""
            left = self.left(x)
            for pair in self.pairs:
                left = left + pair(left) if self.adds else pair(left)
            return self.end(torch.cat((left, self.right(x)), 1))

    class Pooled(nn.Module):
        """Three poolings in a row, side by side."""

        def __init__(self, channels):
            super().__init__()
            self.start, self.end = conv(channels, channels // 2), conv(channels * 2, channels)
            self.pool = nn.MaxPool2d(5, 1, 2)

        def forward(self, x):
            """[N, channels, h, w], as x"""
            parts = [self.start(x)]
            for _ in range(3):
                parts.append(self.pool(parts[-1]))
            return self.end(torch.cat(parts, 1))

    class Yolo(nn.Module):
        """The widths of the small variants: 32 to 512."""

        def __init__(self, outputs=85 * 3):
            super().__init__()
            self.to8 = nn.Sequential(conv(3, 32, 6, 2), conv(32, 64, 3, 2), Block(64, 64, 1), conv(64, 128, 3, 2), Block(128, 128, 2))
            self.to16 = nn.Sequential(conv(128, 256, 3, 2), Block(256, 256, 3))
            self.to32 = nn.Sequential(conv(256, 512, 3, 2), Block(512, 512, 1), Pooled(512))
            self.narrow32, self.narrow16 = conv(512, 256), conv(256, 128)
            self.up = nn.Upsample(scale_factor=2, mode="nearest")
            self.join16, self.join8 = Block(512, 256, 1, False), Block(256, 128, 1, False)
            self.down16, self.down32 = conv(128, 128, 3, 2), conv(256, 256, 3, 2)
            self.back16, self.back32 = Block(256, 256, 1, False), Block(512, 512, 1, False)
            self.heads = nn.ModuleList(nn.Conv2d(channels, outputs, 1) for channels in (128, 256, 512))

        def forward(self, x):
            """[N, 3, h, w], multiples of 32 -> a map of each of three strides"""
            at8 = self.to8(x)
            at16 = self.to16(at8)
            top = self.narrow32(self.to32(at16))
            middle = self.narrow16(self.join16(torch.cat((self.up(top), at16), 1)))
            low = self.join8(torch.cat((self.up(middle), at8), 1))
            middle = self.back16(torch.cat((self.down16(low), middle), 1))
            high = self.back32(torch.cat((self.down32(middle), top), 1))
            return [head(x) for head, x in zip(self.heads, (low, middle, high))]

    Yolo.__name__ = "YoloLike"
    return Yolo()


def spread(model):
    """Statistics of normalisations as after training, so that numbers stay of one size through the network."""
    import torch  # pylint: disable=import-outside-toplevel
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.8, 1.2)


def export(name, path):
    """Writes beside the file and then renames: a file that is there is whole."""
    import torch  # pylint: disable=import-outside-toplevel
    import torchvision  # pylint: disable=import-outside-toplevel
    torch.manual_seed(1)
    model = yolo_like() if NAMES[name] is None else getattr(torchvision.models, NAMES[name])(weights=None)
    model.eval()
    spread(model)
    size = 256 if name == "yolo_like" else 224
    free = {"image": {0: "batch", 2: "height", 3: "width"}}
    part = path.with_name(f"{path.name}.{os.getpid()}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, torch.randn(1, 3, size, size), str(part), input_names=["image"], dynamic_axes=free, opset_version=OPSET)
    os.replace(part, path)


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(NAMES):
        sys.exit(f"{__doc__}\nNames: {', '.join(NAMES)}")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NAMES:
        path = folder / f"{name}.onnx"
        if not path.exists():
            export(name, path)
        print(path)


if __name__ == "__main__":
    main()
