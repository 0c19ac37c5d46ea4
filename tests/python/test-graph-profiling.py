#!/usr/bin/env python3
"""graph_profiling: a published framework's names: their figures, what they leave behind, what they refuse; scripts of it."""
import functools
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tap

import inferometer
from inferometer import graph_profiling as gp

try:
    import torch
except ImportError:
    torch = None
SCRIPTS = pathlib.Path(__file__).parent / "scripts"
needs_torch = unittest.skipIf(torch is None, "torch is not installed")


def flop_of(estimate, **sizes):
    """As the command counts it."""
    part, = inferometer.profile(estimate=estimate, **sizes).json["parts"]
    return part["flop"]


class Estimates(unittest.TestCase):
    """Equal to what the command counts; by hand where it has no such estimate."""

    def test_as_the_command(self):
        sizes = {"num_nodes": 500, "num_edges": 2600, "hidden_dim": 64}
        self.assertEqual(gp.estimate_attention_flops(500, 64, 4),
                         flop_of("attention", num_nodes=500, hidden_dim=64, num_heads=4))
        self.assertEqual(gp.estimate_attention_flops(500, 64, 4, 0.1), flop_of(
            "attention", num_nodes=500, hidden_dim=64, num_heads=4, sparse_ratio="10%"))
        self.assertEqual(gp.estimate_ffn_flops(64, 96, 500), flop_of("ffn", num_nodes=500, hidden_dim=64, ffn_dim=96))
        for kind in ("gin", "gcn", "sage"):
            self.assertEqual(gp.estimate_mpnn_flops(500, 2600, 64, 64, kind), flop_of("mpnn", mpnn=kind, **sizes), kind)
        for kind in ("lap", "rwse"):
            for nodes, dim in ((500, 16), (5, 2), (8, 12)):
                self.assertEqual(gp.estimate_pe_flops(nodes, dim, kind, num_edges=20), flop_of(
                    "encoding", num_nodes=nodes, num_edges=20, pe=f"{kind}:{dim}"), (kind, nodes))
            self.assertEqual(gp.estimate_pe_flops(500, 16, kind), flop_of("encoding", num_nodes=500, pe=kind))
        for mpnn in ("none", "gin"):
            parts = inferometer.profile(estimate="transformer", num_layers=3, num_heads=8, ffn_dim=100, mpnn=mpnn, **sizes)
            counted = {row["part"]: row["flop"] for row in parts.json["parts"]}
            found = gp.estimate_model_flops(500, 2600, 64, 3, 8, 100, mpnn)
            names = {"attention": "attention", "mpnn": "message passing", "ffn": "feed-forward", "norm": "norms"}
            for part, flop in found.breakdown.items():
                self.assertEqual(flop, counted.get(names[part], 0), part)
            self.assertEqual(found.total, sum(found.breakdown.values()))

    def test_by_hand(self):
        self.assertEqual(gp.estimate_linear_flops(3, 5, batch_size=2, seq_len=7), 2 * 3 * 5 * 14)
        self.assertEqual(gp.estimate_mpnn_flops(10, 40, 3, 5, "sage"), 50 * 3 + 2 * 10 * 3 * 5 * 2 + 50 + 50)
        self.assertEqual(gp.estimate_attention_memory(8, 2, 16) * 2 ** 20, 4 * (4 * 8 * 16 + 2 * 2 * 64))
        storage = gp.estimate_pe_storage(1024, 32, 16, 0.5)
        self.assertEqual(storage["node_pe"], 0.125)
        self.assertEqual(storage["relative_pe_dense"], 64)
        self.assertEqual(storage["relative_pe_sparse"], (64 + 16) / 2)

    def test_refused(self):
        for words, call in (("num_nodes=-1", lambda: gp.estimate_ffn_flops(1, 1, -1)),
                            ("a multiple of num_heads=3", lambda: gp.estimate_attention_flops(4, 4, 3)),
                            ("sparse_ratio=2: 0 to 1", lambda: gp.estimate_attention_flops(4, 4, 2, 2)),
                            ("mpnn_type='gat': one of none, gin", lambda: gp.estimate_mpnn_flops(1, 1, 1, 1, "gat")),
                            ("pe_type='x': one of none, lap", lambda: gp.estimate_pe_flops(1, 1, "x"))):
            with self.assertRaisesRegex(ValueError, words):
                call()

    def test_without_torch(self):
        done = tap.Case.script("import sys; sys.modules['torch'] = None\nfrom inferometer import graph_profiling as g\n"
                               "print(g.estimate_linear_flops(2, 3)); g.set_seed(1); g.generate_scaling_graphs([3])")
        self.assertEqual(done.stdout, "12\n")
        self.assertIn("ImportError: PyTorch is not installed", done.stderr)


class Constant(torch.nn.Linear if torch else object):
    """Has parameters, and uses none."""

    def __init__(self):
        super().__init__(2, 2)

    def forward(self, x):
        return x + 1


@needs_torch
class Times(unittest.TestCase):
    """Times, and that a model is afterwards what it was."""

    def setUp(self):
        torch.manual_seed(1)
        self.model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.3), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 2))
        self.batch = torch.randn(12, 8)

    def check(self, stats, runs):
        self.assertTrue(0 < stats.min <= stats.mean <= stats.max)
        self.assertEqual((stats.num_runs, stats.measured.n), (runs, runs))
        self.assertRegex(str(stats), r"^\d+\.\d{3} ± \d+\.\d{3} ms$")

    def test_passes(self):
        self.check(gp.profile_forward(self.model, self.batch, num_runs=20, warmup_runs=2), 20)
        self.check(gp.profile_backward(self.model, self.batch, num_runs=20, warmup_runs=2), 20)
        self.assertTrue(all(p.grad is None for p in self.model.parameters()))
        with torch.no_grad():
            self.check(gp.profile_backward(self.model, self.batch, num_runs=3), 3)
        with self.assertRaisesRegex(ValueError, "no output depends on a parameter"):
            gp.profile_backward(Constant(), self.batch)
        for parameter in self.model.parameters():
            parameter.requires_grad_(False)
        with self.assertRaisesRegex(ValueError, "asks for a gradient"):
            gp.profile_backward(self.model, self.batch)

    def test_training_step_leaves_no_trace(self):
        optimizer = torch.optim.Adam(self.model.parameters())
        self.model[0].weight.grad = torch.ones(16, 8)
        before = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.check(gp.profile_training_step(self.model, self.batch, optimizer, lambda out: (out ** 2).mean(),
                                            num_runs=10, warmup_runs=1), 10)
        for name, value in self.model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        self.assertEqual(optimizer.state_dict()["state"], {})
        self.assertTrue(torch.equal(self.model[0].weight.grad, torch.ones(16, 8)))
        self.assertIsNone(self.model[0].bias.grad)

    def test_losses(self):
        batch = gp.Graph(x=self.batch, y=torch.zeros(12, 2))

        class Whole(torch.nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, data):
                return self.inner(data.x)

        model = Whole(self.model)
        self.check(gp.profile_backward(model, batch, torch.nn.MSELoss(), num_runs=3), 3)
        with self.assertRaisesRegex(TypeError, "the batch has no y"):
            gp.profile_backward(self.model, self.batch, torch.nn.MSELoss())

    def test_batches(self):
        two = torch.nn.Bilinear(8, 8, 2)
        self.check(gp.profile_forward(two, (self.batch, self.batch), num_runs=3), 3)
        self.check(gp.profile_forward(two, {"input1": self.batch, "input2": self.batch}, num_runs=3), 3)
        with self.assertRaises(TypeError):  # torch's own
            gp.profile_forward(two, self.batch, num_runs=3)
        with self.assertRaisesRegex(RuntimeError, "mat1 and mat2"):
            gp.profile_forward(self.model, torch.randn(3, 5))

    def test_all(self):
        found = gp.RuntimeProfiler(self.model, "cpu", num_runs=5).profile_all(self.batch, optimizer=torch.optim.SGD(self.model.parameters(), 0.1))
        self.assertEqual(list(found), ["forward", "backward", "training_step"])
        self.assertEqual(list(gp.RuntimeProfiler(self.model, num_runs=5).profile_all(self.batch)), ["forward", "backward"])
        self.check(gp.benchmark_function(sum, [1, 2], num_runs=4, warmup_runs=1), 4)
        self.check(gp.profile_pe_computation(lambda data: data.x.sum(), gp.Graph(x=self.batch)), 10)

    @unittest.skipUnless(importlib.util.find_spec("onnx"), "torch's exporter needs onnx")
    def test_without_the_runtimes(self):
        """What torch took stays where the module or its batch cannot be given to them."""
        class Spectrum(torch.nn.Linear):
            def forward(self, x):  # pylint: disable=arguments-renamed
                return torch.linalg.svd(super().forward(x))[1]

        with self.assertWarnsRegex(UserWarning, "torch alone was measured: Spectrum cannot be exported"):
            found = gp.profile_runtimes(Spectrum(8, 8), self.batch, num_runs=5)
        self.assertEqual(list(found), ["torch"])
        graph, = gp.generate_scaling_graphs([20])
        model = Tower()
        with self.assertWarnsRegex(UserWarning, "torch alone was measured: inputs: a tensor"):
            found = gp.RuntimeProfiler(model, num_runs=5).profile_all(graph, runtimes=True)
        self.assertEqual(list(found), ["forward", "backward", "torch"])
        self.assertTrue(all(part.training for part in model.modules()))

    def test_runtimes(self):
        found = gp.profile_runtimes(self.model.eval(), self.batch, num_runs=5)
        self.assertEqual(list(found), ["torch", "onnxruntime:CPU", "openvino:CPU"])
        self.assertTrue(all(0 < stats.min <= stats.mean <= stats.max and stats.num_runs == 5 for stats in found.values()))

    def test_context(self):
        attention = torch.nn.MultiheadAttention(8, 2, dropout=0.2)
        model = torch.nn.ModuleList([self.model, attention])
        self.model[3].eval()
        with gp.ProfilingContext(model) as inside:
            self.assertIs(inside, model)
            self.assertFalse(model.training or self.model[1].training)
            self.assertEqual((self.model[1].p, attention.dropout), (0, 0))
            first = torch.rand(1)
        self.assertTrue(model.training and self.model[1].training and not self.model[3].training)
        self.assertEqual((self.model[1].p, attention.dropout), (0.3, 0.2))
        with self.assertRaises(KeyError), gp.ProfilingContext(model, disable_dropout=False, eval_mode=False):
            self.assertTrue(model.training)
            self.assertEqual(self.model[1].p, 0.3)
            self.assertEqual(torch.rand(1), first)
            raise KeyError
        self.assertTrue(model.training)


@needs_torch
class Memory(unittest.TestCase):
    """On the CPU, by sizes that are known."""

    def test_forward(self):
        model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
        batch = torch.randn(1024, 256)
        found = gp.MemoryProfiler(model, "cpu").profile_forward(batch)
        held = (2 * 256 * 512 + 768 + 1024 * 256) * 4 / 2 ** 20
        self.assertAlmostEqual(found.allocated_mb, held + 1, delta=0.05)  # and the output
        self.assertAlmostEqual(found.peak_mb, held + 4, delta=1.1)  # two of [1024, 512], or one and the output
        self.assertGreater(found.reserved_mb, found.peak_mb)
        self.assertEqual(found.device, "cpu")

    def test_breakdown(self):
        model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256))
        model[0].weight.requires_grad_(False)
        found = gp.get_memory_breakdown(model, torch.randn(1024, 256))
        self.assertAlmostEqual(found["parameters"] - found["gradients"], 0.5)
        self.assertEqual((found["input"], found["buffers"]), (1, 0))
        self.assertAlmostEqual(found["forward_activations"], 4)  # before and after GELU

    def test_usage(self):
        found = gp.profile_memory_usage(torch.zeros, 1024, 1024)
        self.assertEqual((found.peak_mb, found.allocated_mb), (4, 4))
        gp.reset_memory_stats()
        before = gp.get_peak_memory("cpu")
        torch.ones(64, 1024, 1024)
        self.assertGreaterEqual(gp.get_peak_memory("cpu"), before + 100)


class Tower(torch.nn.Module if torch else object):
    """Takes x and edges, and adds its encoding."""

    def __init__(self, num_layers=2, pe_dim=0):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(num_layers))
        self.pe_dim = pe_dim

    def forward(self, graph):
        assert self.pe_dim == 0 or graph.pe.shape[1] == self.pe_dim
        x = graph.x
        for layer in self.layers:
            x = layer(x).index_add(0, graph.edge_index[1], x[graph.edge_index[0]])
        return x


@needs_torch
class Scaling(unittest.TestCase):
    """Graphs by seed, and series over sizes."""

    def test_graphs(self):
        first, second = gp.generate_scaling_graphs([100, 200], avg_degree=5, feature_dim=3)
        again = gp.generate_scaling_graphs([200], avg_degree=5, feature_dim=3)[0]
        other = gp.generate_scaling_graphs([200], avg_degree=5, feature_dim=3, seed=7)[0]
        self.assertTrue(torch.equal(second.edge_index, again.edge_index) and torch.equal(second.x, again.x))
        self.assertFalse(torch.equal(second.edge_index, other.edge_index))
        self.assertEqual((first.num_nodes, first.num_edges, tuple(second.x.shape)), (100, 500, (200, 3)))
        edges = {tuple(edge) for edge in second.edge_index.t().tolist()}
        self.assertEqual(len(edges), 1000)
        self.assertTrue(all((b, a) in edges and a != b and 0 <= a < 200 for a, b in edges))
        whole = gp.generate_scaling_graphs([4, 1], avg_degree=50)
        self.assertEqual((whole[0].num_edges, whole[1].num_edges), (12, 0))
        with self.assertRaisesRegex(ValueError, "num_nodes_list: 0"):
            gp.generate_scaling_graphs([0])

    def test_encodings(self):
        graph = gp._encoded(gp.generate_scaling_graphs([30])[0], "lap", 4)  # pylint: disable=protected-access
        self.assertTrue(torch.allclose(graph.pe.t() @ graph.pe, torch.eye(4), atol=1e-5))
        graph = gp._encoded(gp.generate_scaling_graphs([3], avg_degree=9)[0], "rwse", 3)  # a triangle
        self.assertTrue(torch.allclose(graph.pe[0], torch.tensor([0, 0.5, 0.25])))
        self.assertEqual(tuple(gp._encoded(gp.generate_scaling_graphs([3])[0], "lap", 5).pe.shape), (3, 5))
        with self.assertRaisesRegex(ValueError, "one of none, lap, rwse"):
            gp.run_pe_scaling(Tower, [{"name": "sine", "dim": 3}], num_nodes=10)

    def test_series(self):
        experiment = gp.ScalingExperiment(Tower)
        nodes = experiment.run_node_scaling([10, 20], num_runs=4)
        layers = experiment.run_layer_scaling(num_layers_list=[1, 3], num_nodes=10, num_runs=4)
        self.assertEqual((nodes.parameter_values, layers.parameter_values), ([10, 20], [1, 3]))
        self.assertTrue(all(stats.num_runs == 4 for stats in nodes.runtime_stats + layers.runtime_stats))
        self.assertRegex(str(layers), "num_layers 1: .* ms\nnum_layers 3: .* ms")
        found = gp.run_pe_scaling(Tower, [{"name": "lap", "dim": 2}, {"name": "lap", "dim": 4}, {"name": "none", "dim": 0}],
                                  num_nodes=20, num_runs=4)
        self.assertEqual(list(found), ["lap 2", "lap 4", "none"])
        with self.assertRaisesRegex(AttributeError, "nothing_there"):  # the model's own mistake
            gp.run_node_scaling(functools.partial(Wrong), [10])


class Wrong(Tower):
    """Has a mistake."""

    def forward(self, graph):
        return graph.x + self.nothing_there


class Scripts(unittest.TestCase):
    """Scripts as they are written for the framework, with the import changed."""

    def run_script(self, name):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, SCRIPTS / name], cwd=folder, env=os.environ, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_estimates(self):
        self.assertIn("GFLOP", self.run_script("estimates.py"))

    @needs_torch
    def test_training(self):
        self.assertRegex(self.run_script("training.py"), "forward: .* ± .* ms\nbackward: .*\ntraining_step: ")

    @needs_torch
    def test_growth(self):
        self.assertRegex(self.run_script("growth.py"), "64 .*\n128 ")


if __name__ == "__main__":
    tap.main()
