"""Names of a published profiling framework for graph transformers: scripts written for it run with
this import in place of theirs.

A torch module is timed as it is, by the library's own loop; profile_runtimes() has beside it how
both runtimes run it. Times are ms, memory is MB of 2^20 bytes, a multiply-add is 2 FLOP.
"""
import contextlib
import copy
import functools
import inspect
import math
import pathlib
import random
import sys
import types
import warnings
from dataclasses import dataclass, field

from ._measure import measure
from ._models import mapped, tensors_in

__all__ = ["FLOPsEstimate", "FLOPsEstimator", "Graph", "MemoryProfiler", "MemoryStats",
           "ProfilingContext", "RuntimeProfiler", "RuntimeStats", "ScalingExperiment",
           "ScalingResult", "benchmark_function", "estimate_attention_flops",
           "estimate_attention_memory", "estimate_ffn_flops", "estimate_linear_flops",
           "estimate_model_flops", "estimate_mpnn_flops", "estimate_pe_flops",
           "estimate_pe_storage", "generate_scaling_graphs", "get_memory_breakdown",
           "get_peak_memory", "profile_backward", "profile_forward", "profile_memory_usage",
           "profile_pe_computation", "profile_runtimes", "profile_training_step",
           "reset_memory_stats", "run_layer_scaling", "run_node_scaling", "run_pe_scaling",
           "set_seed"]
MB = 2 ** 20

# --- estimates: as `inferometer profile --estimate` counts ---------------------------------------


@dataclass
class FLOPsEstimate:
    """total: the sum of breakdown, by part."""
    total: int
    breakdown: dict = field(default_factory=dict)


def _check(**sizes):
    for name, value in sizes.items():
        most, words = (1, "0 to 1") if name == "sparse_ratio" else (math.inf, "0 or more")
        if not 0 <= value <= most:
            raise ValueError(f"{name}={value}: {words}")


def _choose(name, value, rows):
    if value not in rows:
        raise ValueError(f"{name}={value!r}: one of {', '.join(rows)}")
    return rows[value]


def _linear(rows, before, after, bias=True):
    return rows * after * (2 * before + bias)


def _pairs(num_nodes, sparse_ratio):
    return num_nodes ** 2 if sparse_ratio == 1 else math.floor(sparse_ratio * num_nodes ** 2 + 0.5)


def estimate_linear_flops(in_features, out_features, batch_size=1, seq_len=1):
    """The product alone."""
    rows = batch_size * seq_len
    _check(in_features=in_features, out_features=out_features, rows=rows)
    return _linear(rows, in_features, out_features, bias=False)


def estimate_attention_flops(num_nodes, hidden_dim, num_heads, sparse_ratio=1.0):
    """Four projections; of each score the two products, its scaling and its softmax (5)."""
    _check(num_nodes=num_nodes, hidden_dim=hidden_dim, sparse_ratio=sparse_ratio)
    if num_heads < 1 or hidden_dim % num_heads:
        raise ValueError(f"hidden_dim={hidden_dim}: a multiple of num_heads={num_heads}")
    return (4 * _linear(num_nodes, hidden_dim, hidden_dim)
            + _pairs(num_nodes, sparse_ratio) * (4 * hidden_dim + 6 * num_heads))


def estimate_mpnn_flops(num_nodes, num_edges, in_features, out_features, mpnn_type="gin"):
    """gin: two layers of (1 + eps) x + sum; gcn: one of the weighted sum; sage: mean and x."""
    _check(num_nodes=num_nodes, num_edges=num_edges, in_features=in_features,
           out_features=out_features)
    n, e, first = num_nodes, num_edges, _linear(num_nodes, in_features, out_features)
    second = _linear(n, out_features, out_features) + n * out_features
    return _choose("mpnn_type", mpnn_type, {
        "none": 0, "gin": (e + 2 * n) * in_features + first + second,
        "gcn": 2 * (e + n) * in_features + first, "sage": (e + n) * in_features + 2 * first})


def estimate_ffn_flops(hidden_dim, ffn_dim, num_nodes):
    """Two layers, GELU (4) between them."""
    _check(hidden_dim=hidden_dim, ffn_dim=ffn_dim, num_nodes=num_nodes)
    return (_linear(num_nodes, hidden_dim, ffn_dim) + 4 * num_nodes * ffn_dim
            + _linear(num_nodes, ffn_dim, hidden_dim))


def estimate_pe_flops(num_nodes, pe_dim, pe_type="lap", num_edges=None):
    """lap: eigenvectors by Lanczos' method; rwse: returns of 1 to pe_dim steps. num_edges: as many
    as of average degree 5."""
    _check(num_nodes=num_nodes, pe_dim=pe_dim)
    n, e = num_nodes, 2 * _edges(num_nodes, 5) if num_edges is None else num_edges
    k = min(n, pe_dim + 1)
    m = min(n, 2 * k + 1)
    return _choose("pe_type", pe_type, {"none": 0, "lap": 2 * m * (e + n * (m + k + 3)),
                                        "rwse": (2 * pe_dim * n + 1) * e})


def estimate_model_flops(num_nodes, num_edges, hidden_dim, num_layers, num_heads, ffn_dim,
                         mpnn_type="gin"):
    """All layers: attention beside message passing, a feed-forward part, sums, normalised (5)."""
    _check(num_layers=num_layers)
    joins = int(mpnn_type != "none")
    layer = {"attention": estimate_attention_flops(num_nodes, hidden_dim, num_heads),
             "mpnn": estimate_mpnn_flops(num_nodes, num_edges, hidden_dim, hidden_dim, mpnn_type),
             "ffn": estimate_ffn_flops(hidden_dim, ffn_dim, num_nodes),
             "norm": (6 * (2 + joins) + joins) * num_nodes * hidden_dim}
    breakdown = {part: num_layers * flop for part, flop in layer.items()}
    return FLOPsEstimate(sum(breakdown.values()), breakdown)


def estimate_attention_memory(num_nodes, num_heads, hidden_dim, batch_size=1):
    """Of a layer, f32: q, k, v and the output; the scores before and after the softmax."""
    _check(num_nodes=num_nodes, num_heads=num_heads, hidden_dim=hidden_dim, batch_size=batch_size)
    return 4 * batch_size * num_nodes * (4 * hidden_dim + 2 * num_heads * num_nodes) / MB


def estimate_pe_storage(num_nodes, node_pe_dim, relative_pe_buckets=0, sparse_ratio=0.1):
    """f32: of the nodes, of all pairs, and of a share of the pairs with two i64 indices each."""
    _check(num_nodes=num_nodes, node_pe_dim=node_pe_dim, relative_pe_buckets=relative_pe_buckets,
           sparse_ratio=sparse_ratio)
    pairs = _pairs(num_nodes, sparse_ratio)
    return {"node_pe": 4 * num_nodes * node_pe_dim / MB,
            "relative_pe_dense": 4 * num_nodes ** 2 * relative_pe_buckets / MB,
            "relative_pe_sparse": (4 * relative_pe_buckets + 16) * pairs / MB}


class FLOPsEstimator:
    """Of a torch module: hidden_dim, num_layers and num_heads are its own, or are given."""

    def __init__(self, model, **sizes):
        names = ("hidden_dim", "num_layers", "num_heads", "ffn_dim", "mpnn_type")
        own = {name: getattr(model, name) for name in names if hasattr(model, name)}
        self.model, self.sizes = model, own | sizes

    def count_parameters(self):
        """How many numbers are learnt."""
        return sum(p.numel() for p in self.model.parameters() if p.requires_grad)

    def estimate(self, num_nodes, num_edges):
        """Of one graph. Without these sizes: its linear layers (other), each once on every node."""
        if {"hidden_dim", "num_layers", "num_heads"} <= set(self.sizes):
            ffn = {"ffn_dim": 2 * self.sizes["hidden_dim"]}
            return estimate_model_flops(num_nodes, num_edges, **ffn | self.sizes)
        layers = [m for m in self.model.modules() if isinstance(m, _torch().nn.Linear)]
        flop = sum(_linear(num_nodes, m.in_features, m.out_features, m.bias is not None)
                   for m in layers)
        return FLOPsEstimate(flop, {"other": flop})


# --- time ----------------------------------------------------------------------------------------


def _torch():
    try:
        import torch
    except ImportError:
        raise ImportError("PyTorch is not installed: its modules are what is measured") from None
    return torch


@dataclass
class RuntimeStats:
    """ms. measured: all that is known of it: the median's interval, trust, every run."""
    mean: float
    std: float
    min: float
    max: float
    num_runs: int
    measured: object = field(default=None, repr=False, compare=False)

    def __str__(self):
        return f"{self.mean:.3f} ± {self.std:.3f} ms"


def benchmark_function(fn, *args, num_runs=100, warmup_runs=10, **kwargs):
    """RuntimeStats of fn(*args, **kwargs)."""
    found = measure(functools.partial(fn, *args, **kwargs), runs=num_runs, warmup=warmup_runs,
                    name=getattr(fn, "__name__", type(fn).__name__))
    times = found.mean_ns, found.std_ns, found.min_ns, found.max_ns
    return RuntimeStats(*(time / 1e6 for time in times), found.n, found)


def _binds(function, *args, **kwargs):
    try:
        return inspect.signature(function).bind(*args, **kwargs) is not None
    except (TypeError, ValueError):
        return False


def _pass(model, batch):
    """model(batch) without arguments. A tuple or a dict is spread where forward() takes it so."""
    forward = getattr(model, "forward", model)
    if isinstance(batch, dict) and _binds(forward, **batch):
        return functools.partial(model, **batch)
    spread = isinstance(batch, (tuple, list)) and _binds(forward, *batch)
    return functools.partial(model, *batch) if spread else functools.partial(model, batch)


def _moved(value, device):
    return mapped(value, lambda part: part.to(device), "to")


def _timed(call, model, num_runs, warmup_runs):
    device = next((p.device for p in getattr(model, "parameters", list)()), None)

    def run_on_gpu():
        call()
        _torch().cuda.synchronize(device)

    run = run_on_gpu if device is not None and device.type == "cuda" else call
    return benchmark_function(run, num_runs=num_runs, warmup_runs=warmup_runs)


def _tensors(value):
    """All tensors in a structure, those in the fields of graphs included."""
    return tensors_in(value, lambda graph: (graph.to_dict() if hasattr(graph, "to_dict")
                                            else getattr(graph, "__dict__", {})).values())


def _loss(loss_fn, output, batch):
    """loss_fn(output), or loss_fn(output, y of the batch) where it takes two; else the sum."""
    if loss_fn is None:
        sums = [t.sum() for t in _tensors(output) if t.requires_grad]
        if not sums:
            raise ValueError("no output depends on a parameter that asks for a gradient")
        return sum(sums)
    if _binds(getattr(loss_fn, "forward", loss_fn), output):
        return loss_fn(output)
    target = batch.get("y") if isinstance(batch, dict) else getattr(batch, "y", None)
    if target is None:
        raise TypeError("loss_fn takes a target, and the batch has no y: give one of the output")
    return loss_fn(output, target)


def profile_forward(model, batch, num_runs=100, warmup_runs=10):
    """RuntimeStats of model(batch), without gradients."""
    with _torch().no_grad():
        return _timed(_pass(model, batch), model, num_runs, warmup_runs)


def profile_backward(model, batch, loss_fn=None, num_runs=100, warmup_runs=10):
    """RuntimeStats of the gradients alone: of one forward pass, again and again."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError("profile_backward: no parameter of the model asks for a gradient")
    with _torch().enable_grad():
        loss = _loss(loss_fn, _pass(model, batch)(), batch)
    gradients = functools.partial(_torch().autograd.grad, loss, parameters, retain_graph=True,
                                  allow_unused=True)
    return _timed(gradients, model, num_runs, warmup_runs)


def profile_training_step(model, batch, optimizer, loss_fn=None, num_runs=100, warmup_runs=10):
    """RuntimeStats of zero_grad, forward, loss, backward and step; then all is as it was."""
    kept = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    gradients = [(p, p.grad) for p in model.parameters()]
    forward = _pass(model, batch)

    def step():
        optimizer.zero_grad()
        _loss(loss_fn, forward(), batch).backward()
        optimizer.step()

    for parameter, _ in gradients:
        parameter.grad = None
    try:
        return _timed(step, model, num_runs, warmup_runs)
    finally:
        model.load_state_dict(kept[0])
        optimizer.load_state_dict(kept[1])
        for parameter, gradient in gradients:
            parameter.grad = gradient


def profile_pe_computation(pe_transform, data, num_runs=10):
    """RuntimeStats of an encoding, each time of a shallow copy of the data."""
    return benchmark_function(lambda: pe_transform(copy.copy(data)), num_runs=num_runs,
                              warmup_runs=1)


def profile_runtimes(model, batch, num_runs=100, warmup_runs=10,
                     devices=("onnxruntime:CPU", "openvino:CPU")):
    """RuntimeStats of the same module by torch and, exported, by each runtime: {"torch": …,
    "openvino:CPU": …}, all in the state for inference. One that refuses it or computes something
    else is left out, with a warning.
    """
    import inferometer
    with ProfilingContext(model, disable_dropout=False, seed=None):
        found = {"torch": profile_forward(model, batch, num_runs, warmup_runs)}
    try:
        result = inferometer.profile(model, inputs=batch, devices=list(devices), runs=num_runs,
                                     warmup=warmup_runs, no_peak=True, progress=False)
    except (inferometer.Error, TypeError) as error:
        warnings.warn(f"torch alone was measured: {error}", stacklevel=2)
        return found
    for case in result.json["cases"]:
        if case["outcome"] != "ok":
            warnings.warn(f"{case['device']}: {case['reason']}", stacklevel=2)
            continue
        summary = case["measurement"]["summary"]
        times = (summary[key] / 1e6 for key in ("mean", "std", "min", "max"))
        found[case["device"]] = RuntimeStats(*times, summary["n"], case)
    return found


class RuntimeProfiler:
    """Of one model on one device."""

    def __init__(self, model, device="cpu", num_runs=100, warmup_runs=10):
        self.model, self.device = model.to(device), device
        self.counts = {"num_runs": num_runs, "warmup_runs": warmup_runs}

    def profile_all(self, batch, optimizer=None, loss_fn=None, runtimes=False):
        """{"forward", "backward", with an optimizer "training_step"}; with runtimes also those of
        profile_runtimes()."""
        model, batch, counts = self.model, _moved(batch, self.device), self.counts
        found = {"forward": profile_forward(model, batch, **counts),
                 "backward": profile_backward(model, batch, loss_fn, **counts)}
        if optimizer is not None:
            found["training_step"] = profile_training_step(model, batch, optimizer, loss_fn,
                                                           **counts)
        return found | (profile_runtimes(model, batch, **counts) if runtimes else {})


def set_seed(seed=42):
    """Of random, and of NumPy and torch where they are imported."""
    random.seed(seed)
    if sys.modules.get("numpy"):
        sys.modules["numpy"].random.seed(seed)
    if sys.modules.get("torch"):
        sys.modules["torch"].manual_seed(seed)


class ProfilingContext:
    """A model without dropout, in evaluation mode; afterwards each of its parts is as before."""

    def __init__(self, model, disable_dropout=True, eval_mode=True, seed=42):
        self.model, self.seed, self.kept = model, seed, []
        self.disable_dropout, self.eval_mode = disable_dropout, eval_mode

    def __enter__(self):
        for part in self.model.modules():
            key = "p" if "dropout" in type(part).__name__.lower() else "dropout"
            rates = {key: part.__dict__[key]} if isinstance(part.__dict__.get(key), float) else {}
            self.kept.append((part, {"training": part.training, **rates}))
            if self.disable_dropout:
                part.__dict__.update(dict.fromkeys(rates, 0.0))
        if self.eval_mode:
            self.model.eval()
        if self.seed is not None:
            set_seed(self.seed)
        return self.model

    def __exit__(self, *_):
        while self.kept:
            part, values = self.kept.pop()
            part.__dict__.update(values)


# --- memory: on a GPU by torch's allocator, on a CPU by what torch's profiler saw allocated ------


@dataclass
class MemoryStats:
    """MB. peak: at once; allocated: afterwards; reserved: by the allocator, on a CPU resident."""
    peak_mb: float
    allocated_mb: float
    reserved_mb: float
    device: str


def _bytes(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def _status(key):
    text = pathlib.Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(text.split(f"{key}:")[1].split()[0]) * 1024


def _is_gpu(device):
    return _torch().device(device).type == "cuda"


def _usage(call, device, before):
    cuda, profiler = _torch().cuda, _torch().profiler
    call()  # what the first run keeps for good is no part of it
    if _is_gpu(device):
        cuda.reset_peak_memory_stats(device)
        kept = [call()]
        cuda.synchronize(device)
        sizes = [size(device) for size in (cuda.max_memory_allocated, cuda.memory_allocated,
                                           cuda.memory_reserved)]
    else:
        with profiler.profile(activities=[profiler.ProfilerActivity.CPU],
                              profile_memory=True) as seen:
            kept = [call()]
        now = peak = 0
        for event in seen.profiler.kineto_results.events():  # by time
            if event.name() == "[memory]":
                now += event.nbytes()
                peak = max(peak, now)
        sizes = before + peak, before + now, _status("VmRSS")
    del kept
    return MemoryStats(*(size / MB for size in sizes), str(device))


def profile_memory_usage(fn, *args, device="cpu", **kwargs):
    """MemoryStats of fn(*args, **kwargs); on a CPU of what it allocates itself."""
    return _usage(functools.partial(fn, *args, **kwargs), device, 0)


def reset_memory_stats():
    """The peak counts from here on; of a CPU where the system lets a process do that."""
    if _torch().cuda.is_available():
        _torch().cuda.reset_peak_memory_stats()
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def get_peak_memory(device="cpu"):
    """MB: of torch's allocator on a GPU; of a CPU what of this process was resident."""
    gpu = _is_gpu(device)
    return (_torch().cuda.max_memory_allocated(device) if gpu else _status("VmHWM")) / MB


def get_memory_breakdown(model, batch, device="cpu"):
    """MB: parameters, buffers, gradients, input, forward_activations (kept for backward)."""
    torch, saved = _torch(), {}
    model, batch = model.to(device), _moved(batch, device)
    own = {t.data_ptr() for t in [*model.parameters(), *model.buffers(), *_tensors(batch)]}

    def keep(tensor):
        storage = getattr(tensor, "untyped_storage", tensor.storage)()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = _pass(model, batch)()
    found = {"parameters": _bytes(model.parameters()), "buffers": _bytes(model.buffers()),
             "gradients": _bytes(p for p in model.parameters() if p.requires_grad),
             "input": _bytes(_tensors(batch)), "forward_activations": sum(saved.values())}
    del output
    return {part: size / MB for part, size in found.items()}


class MemoryProfiler:
    """Of one model on one device."""

    def __init__(self, model, device="cpu"):
        self.model, self.device = model.to(device), device

    def profile_forward(self, batch):
        """MemoryStats of model(batch) without gradients, the model and the batch included."""
        batch = _moved(batch, self.device)
        held = _bytes([*self.model.parameters(), *self.model.buffers(), *_tensors(batch)])
        with _torch().no_grad():
            return _usage(_pass(self.model, batch), self.device, held)


# --- scaling -------------------------------------------------------------------------------------


class Graph(types.SimpleNamespace):
    """Without torch-geometric: x [nodes, features], edge_index [2, edges], pe if there is one."""
    num_nodes = property(lambda self: self.x.shape[0])
    num_edges = property(lambda self: self.edge_index.shape[1])

    def to(self, device):
        """The same graph there."""
        return Graph(**_moved(vars(self), device))


def _edges(nodes, avg_degree):
    return min(round(nodes * avg_degree / 2), nodes * (nodes - 1) // 2)


def _pair(number, nodes):
    """The number-th of all pairs of nodes, (0, 1), (0, 2), …"""
    first = nodes - 2 - (math.isqrt(4 * nodes * (nodes - 1) - 8 * number - 7) - 1) // 2
    return first, number - first * (2 * nodes - first - 1) // 2 + first + 1


def generate_scaling_graphs(num_nodes_list, avg_degree=5, feature_dim=16, seed=42):
    """Random graphs, each edge in both directions: the same for the same size and seed."""
    torch, graphs = _torch(), []
    try:
        from torch_geometric.data import Data
    except ImportError:
        Data = Graph  # pylint: disable=invalid-name
    for nodes in num_nodes_list:
        if nodes < 1:
            raise ValueError(f"num_nodes_list: {nodes}: 1 or more")
        chosen = random.Random(f"{seed} {nodes}").sample(range(nodes * (nodes - 1) // 2),
                                                         _edges(nodes, avg_degree))
        pairs = torch.tensor([_pair(number, nodes) for number in sorted(chosen)], dtype=torch.int64)
        both = torch.cat([pairs.reshape(-1, 2), pairs.reshape(-1, 2).flip(1)])
        x = torch.randn(nodes, feature_dim, generator=torch.Generator().manual_seed(seed))
        graphs.append(Data(x=x, edge_index=both.t().contiguous()))
    return graphs


def _encoded(graph, name, dim):
    """pe: lap: eigenvectors of the normalised Laplacian; rwse: being back after 1 to dim steps."""
    torch, n = _torch(), graph.num_nodes
    adjacency = torch.zeros(n, n, dtype=torch.float64)
    adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
    scale = adjacency.sum(1).clamp(min=1).rsqrt()
    walk = power = scale[:, None] ** 2 * adjacency
    graph.pe = torch.zeros(n, dim)
    if _choose("pe_configs: name", name, {"none": 0, "lap": 1, "rwse": 2}) == 1:
        laplacian = torch.eye(n, dtype=torch.float64) - scale[:, None] * adjacency * scale
        graph.pe[:, :n - 1] = torch.linalg.eigh(laplacian)[1][:, 1:dim + 1].float()
    for step in range(dim if name == "rwse" else 0):
        graph.pe[:, step] = power.diagonal().float()
        power = power @ walk
    return graph


def _inputs(model, graph):
    """What of a graph a model takes: all of it, x and edge_index, or x: the first that runs."""
    failures = []
    for batch in (graph, (graph.x, graph.edge_index), graph.x):
        try:
            with _torch().no_grad():
                _pass(model, batch)()
            return batch
        except (TypeError, AttributeError) as error:
            failures.append(error)
    raise failures[0]


def _made(factory, **sizes):
    """factory() with those of the sizes that it takes."""
    parameters = inspect.signature(factory).parameters.values()
    every = any(p.kind == p.VAR_KEYWORD for p in parameters)
    names = {p.name for p in parameters}
    return factory(**{name: size for name, size in sizes.items() if every or name in names})


def _forward(model, graph, device, num_runs, warmup_runs):
    model, graph = model.to(device), _moved(graph, device)
    return profile_forward(model, _inputs(model, graph), num_runs, warmup_runs)


@dataclass
class ScalingResult:
    """runtime_stats: RuntimeStats of each of parameter_values."""
    parameter_name: str
    parameter_values: list
    runtime_stats: list

    def __str__(self):
        rows = zip(self.parameter_values, self.runtime_stats)
        return "\n".join(f"{self.parameter_name} {value}: {stats}" for value, stats in rows)


def run_node_scaling(model_factory, num_nodes_list=(100, 500, 1000), avg_degree=5, device="cpu",
                     num_runs=50, warmup_runs=5):
    """ScalingResult of one model over graphs."""
    model, graphs = _made(model_factory), generate_scaling_graphs(num_nodes_list, avg_degree)
    stats = [_forward(model, graph, device, num_runs, warmup_runs) for graph in graphs]
    return ScalingResult("num_nodes", list(num_nodes_list), stats)


def run_layer_scaling(model_factory, num_layers_list=(2, 4, 8), num_nodes=500, device="cpu",
                      num_runs=50, warmup_runs=5):
    """ScalingResult of model_factory(num_layers=…) on one graph."""
    graph, = generate_scaling_graphs([num_nodes])
    stats = [_forward(_made(model_factory, num_layers=n), graph, device, num_runs, warmup_runs)
             for n in num_layers_list]
    return ScalingResult("num_layers", list(num_layers_list), stats)


def run_pe_scaling(model_factory, pe_configs=({"name": "none"}, {"name": "lap", "dim": 16}),
                   num_nodes=500, device="cpu", num_runs=50, warmup_runs=5):
    """{name: RuntimeStats} of model_factory(pe_type=…, pe_dim=…) on one graph with pe; a name that
    is there twice has its dim, too."""
    found, names = {}, [config["name"] for config in pe_configs]
    for config in pe_configs:
        name, dim = config["name"], config.get("dim", 0)
        graph = _encoded(generate_scaling_graphs([num_nodes])[0], name, dim)
        model = _made(model_factory, pe_type=name, pe_dim=dim)
        found[name if names.count(name) == 1 else f"{name} {dim}"] = _forward(
            model, graph, device, num_runs, warmup_runs)
    return found


class ScalingExperiment:
    """run_node_scaling(), run_layer_scaling() of one factory, and a table of what was run."""

    def __init__(self, model_factory, device="cpu"):
        self.model_factory, self.device, self.results = model_factory, device, {}

    def _run(self, function, *args, **options):
        result = function(self.model_factory, *args, device=self.device, **options)
        self.results[function.__name__] = result
        return result

    run_node_scaling = functools.partialmethod(_run, run_node_scaling)
    run_layer_scaling = functools.partialmethod(_run, run_layer_scaling)

    def print_summary(self):
        """All results so far."""
        print("\n".join(map(str, self.results.values())) or "nothing was run")
