"""Models of the zoo as PyTorch writes them, eagerly and with its own operators: what tests hold gradients against, and what
bench/training.py times. @w: weights and inputs by the zoo's names; @settings: words and numbers as text."""
import torch
from torch.nn import functional


def loss_of(model, output, target):
    return (functional.cross_entropy if model == "resnet18" else functional.mse_loss)(output, target)


INPUTS = {"resnet18": {"image"}, "transformer": {"x", "pe", "coefficients", "degrees", "bias", "weights"}}


def parameters(model, w):
    """What is differentiated by: the weights, but running statistics and masks."""
    return [name for name, value in w.items() if value.dtype == torch.float32 and value.dim() > 0 and name not in INPUTS[model] and
            name != "target" and not name.startswith("mask.") and not name.endswith((".running_mean", ".running_var"))]


def resnet18(w, settings):
    """Names are torchvision's. settings: training (1: normalised by the batch). Returns the scores, and the running statistics that were
    replaced, where "statistics" is 1, too."""
    training, replaced = settings.get("training") == "1", {}

    def norm(x, name):
        running = w[name + ".running_mean"], w[name + ".running_var"]
        if training and settings.get("statistics") == "1":
            batch = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)
            for what, old, new in zip(("running_mean", "running_var"), running, batch):
                replaced[f"{name}.{what}"] = 0.9 * old + 0.1 * new.detach()
            running = None, None
        return functional.batch_norm(x, *running, w[name + ".weight"], w[name + ".bias"], training=training, eps=1e-5)

    x = functional.relu(norm(functional.conv2d(w["image"], w["conv1.weight"], stride=2, padding=3), "bn1"))
    x = functional.max_pool2d(x, 3, stride=2, padding=1)
    for layer in range(1, 5):
        for block in range(2):
            name, stride, straight = f"layer{layer}.{block}.", 2 if layer > 1 and block == 0 else 1, x
            y = functional.relu(norm(functional.conv2d(x, w[name + "conv1.weight"], stride=stride, padding=1), name + "bn1"))
            y = norm(functional.conv2d(y, w[name + "conv2.weight"], padding=1), name + "bn2")
            if stride != 1:
                straight = norm(functional.conv2d(x, w[name + "downsample.0.weight"], stride=stride), name + "downsample.1")
            x = functional.relu(y + straight)
    return functional.linear(x.mean(dim=(2, 3)), w["fc.weight"], w["fc.bias"]), replaced


def linear(w, name, x):
    return torch.addmm(w[name + ".bias"], x, w[name + ".weight"])


class Transformer:
    """The graph transformer, one pass. settings: layers, heads, mpnn, attention, norm, training (1: masks, batch norm by the batch), and
    attention_form for dense attention of several graphs: loop (each by itself), fused or plain (padded)."""

    def __init__(self, w, settings):
        self.w, self.settings = w, settings
        self.heads, self.training = int(settings["heads"]), settings["training"] == "1"
        self.form = settings.get("attention_form", "loop")
        self.replaced = {}
        if "edge_index" in w:
            self.sources, self.ends = w["edge_index"]

    def dropped(self, name, x):
        mask = self.w.get("mask." + name) if self.training else None
        return x if mask is None else x * mask

    def norm(self, name, x):
        w = self.w
        scale, bias = w[name + ".weight"], w[name + ".bias"]
        if self.settings["norm"] == "layer":
            return functional.layer_norm(x, scale.shape, scale, bias, eps=1e-5)
        running = w[name + ".running_mean"], w[name + ".running_var"]
        if not self.training:
            return functional.batch_norm(x, *running, scale, bias, training=False, eps=1e-5)
        batch = x.mean(0), x.var(0, unbiased=False)
        for what, old, new in zip(("running_mean", "running_var"), running, batch):
            self.replaced[f"{name}.{what}"] = 0.9 * old + 0.1 * new.detach()
        return functional.batch_norm(x, None, None, scale, bias, training=True, eps=1e-5)

    def sum_at_ends(self, rows):
        return rows.new_zeros(self.w["x"].shape[0], rows.shape[1]).index_add_(0, self.ends, rows)

    def message_passing(self, name, x):
        w, kind = self.w, self.settings["mpnn"]
        if kind == "gin":
            both = x * w[name + ".one_plus_eps"] + self.sum_at_ends(x[self.sources])
            return linear(w, name + ".linear2", functional.relu(linear(w, name + ".linear1", both)))
        if kind == "gcn":
            edges = len(self.sources)
            weighted = x[self.sources] * w["coefficients"][:edges]
            return linear(w, name + ".linear", self.sum_at_ends(weighted) + x * w["coefficients"][edges:])
        mean = self.sum_at_ends(x[self.sources]) / w["degrees"]
        return linear(w, name + ".neighbours", mean) + x @ w[name + ".self.weight"]

    def along_edges(self, q, k, v):
        """Softmax over the edges that end in a node; its shift is no part of the gradient, as it does not change the result."""
        parted = (len(self.ends), self.heads, -1)
        scores = (q[self.ends] * k[self.sources]).view(parted).sum(-1) * (q.shape[1] // self.heads) ** -0.5
        index = self.ends[:, None].expand_as(scores)
        with torch.no_grad():
            most = scores.new_full((len(q), self.heads), float("-inf")).scatter_reduce(0, index, scores, "amax")
        powers = torch.exp(scores - most[self.ends])
        shares = powers / self.sum_at_ends(powers)[self.ends]
        return self.sum_at_ends((v[self.sources].view(parted) * shares[:, :, None]).reshape(len(self.ends), -1))

    def densely(self, q, k, v, mask=None):
        """[graphs, rows, width] each."""
        q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (q, k, v))
        if self.form == "fused":
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scores = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
            mixed = torch.softmax(scores if mask is None else scores + mask, -1) @ v
        return mixed.transpose(1, 2).flatten(2)

    def padded(self, x):
        """[graphs, rows, width], zeros where no node is: as PyTorch Geometric's to_dense_batch has it."""
        graphs, rows = self.w["bias"].shape[0], self.w["bias"].shape[-1]
        return x.new_zeros(graphs * rows, x.shape[1]).index_put((self.w["places"],), x).unflatten(0, (graphs, rows))

    def attend(self, q, k, v):
        w = self.w
        if self.settings["attention"] == "sparse":
            return self.along_edges(q, k, v)
        if "places" not in w:
            return self.densely(q[None], k[None], v[None])[0]
        if self.form == "loop":
            counts = torch.bincount(w["node_graph"]).tolist()
            return torch.cat([self.densely(*(x[None] for x in one))[0] for one in zip(*(x.split(counts) for x in (q, k, v)))])
        return self.densely(*(self.padded(x) for x in (q, k, v)), w["bias"]).flatten(0, 1)[w["places"]]

    def layer(self, number, x):
        def name(part):
            return f"layers.{number}.{part}"

        w = self.w
        values = self.attend(*(linear(w, name("attention." + one), x) for one in "qkv"))
        a = self.norm(name("norm.attention"), x + self.dropped(name("attention"), linear(w, name("attention.output"), values)))
        if self.settings["mpnn"] != "none":
            a = a + self.norm(name("norm.mpnn"), x + self.dropped(name("mpnn"), self.message_passing(name("mpnn"), x)))
        hidden = self.dropped(name("ffn.hidden"), functional.gelu(linear(w, name("ffn.linear1"), a)))
        return self.norm(name("norm.ffn"), a + self.dropped(name("ffn"), linear(w, name("ffn.linear2"), hidden)))

    def output(self):
        w = self.w
        x = linear(w, "input.linear", torch.cat([w["x"], w["pe"]], 1) if "pe" in w else w["x"])
        for number in range(int(self.settings["layers"])):
            x = self.layer(number, x)
        if self.settings["head"] == "graph" and "node_graph" in w:
            x = x.new_zeros(len(w["weights"]), x.shape[1]).index_add_(0, w["node_graph"], x) * w["weights"]
        elif self.settings["head"] == "graph":
            x = x.mean(0, keepdim=True)
        return linear(w, "head.linear", x)


def transformer(w, settings):
    """Returns the prediction, and the running statistics that were replaced."""
    one = Transformer(w, settings)
    return one.output(), one.replaced


MODELS = {"resnet18": resnet18, "transformer": transformer}
