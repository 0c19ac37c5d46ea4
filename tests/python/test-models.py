#!/usr/bin/env python3
"""Models that are objects of Python: onnx.ModelProto and torch.nn.Module, on simulated devices and, once, on both runtimes."""
import os
import unittest
import warnings

import inferometer
import tap

numpy = tap.need("numpy")
torch = tap.need("torch")
IDEAL = "simulated:ideal/CPU"  # whose outputs ONNX Runtime computes


def profile(model, **options):
    options = {"devices": IDEAL, "no_peak": True, "no_nodes": True, "runs": 20, "warmup": 1, "progress": False, **options}
    return inferometer.profile(model, **options)


class Net(torch.nn.Module):
    """Two layers, with what training changes: running statistics and dropout."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(16, 32), torch.nn.BatchNorm1d(32)
        self.drop, self.last = torch.nn.Dropout(0.5), torch.nn.Linear(32, 4)

    def forward(self, x, scale=None):
        y = self.last(self.drop(self.norm(torch.relu(self.first(x)))))
        return y if scale is None else {"y": y * scale, "best": y.argmax(1)}


class Torch(tap.Case):
    """A module as a model."""

    def test_both_runtimes(self):
        wanted = ["openvino:CPU@0", "onnxruntime:CPU@0"]
        there = {d["spec"]: d["available"] for e in inferometer.devices().json["engines"] for d in e["devices"]}
        if not all(there.get(device.split("@")[0]) for device in wanted):
            self.skipTest("not both runtimes are here")
        result = profile(Net(), inputs=torch.randn(8, 16), devices=wanted, runs=30)
        self.assertTrue(result.ok, result.notes)
        self.assertEqual(result.frame().verification.tolist(), ["passed", "passed"])
        self.assertEqual(result.frame().subject.tolist(), ["Net", "Net"])
        for case in result.json["cases"]:
            self.assertEqual(case["measurement"]["verification"]["expected"], {"output": None})
        checks = [check["text"] for check in result.summary.checks]
        self.assertTrue(any("those that are expected" in text for text in checks), checks)

    def test_the_module_is_as_it_was(self):
        net = Net()
        before = {name: value.clone() for name, value in net.state_dict().items()}
        net.drop.eval()
        profile(net, inputs=(torch.randn(8, 16),))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            profile(net, inputs=torch.randn(8, 16), mode="train", loss="mse")
        self.assertTrue(net.training and not net.drop.training and net.norm.training)
        for name, value in net.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)

    def test_inputs_by_name_and_several_outputs(self):
        result = profile(Net(), inputs={"x": torch.randn(8, 16), "scale": torch.full((1,), 2.0)})
        self.assertEqual(result.json["cases"][0]["measurement"]["verification"]["expected"], {"output": None, "output1": None})
        self.assertIn("x f32 [8, 16]", result.text)
        self.assertNotIn(self.temporary, result.text)

    def test_inputs_are_those_given(self):
        """Zeros give the bias: another input is another case."""
        net = torch.nn.Linear(4, 2)
        first, second = (profile(net, inputs=x).frame().case_key[0] for x in (torch.zeros(1, 4), torch.ones(1, 4)))
        self.assertNotEqual(first, second)

    def test_outputs_that_are_not_torch_s(self):
        """A module that gives something else each time it is asked: what is measured is not what it gave."""
        class Moody(torch.nn.Module):
            calls = 0

            def forward(self, x):
                self.calls += 1
                return x * float(self.calls)

        result = profile(Moody(), inputs=torch.ones(2, 3))
        self.assertFalse(result.ok)
        self.assertIn("the model does not give what is expected: output output", result.frame().reason[0])

    def test_what_is_no_tensor_is_part_of_it(self):
        class Scaled(torch.nn.Module):
            def forward(self, x, factor=2.0, terms=(1, 2), *, by=None):  # pylint: disable=keyword-arg-before-vararg
                return x * factor + terms[0] + (0 if by is None else by["y"])

        x = torch.randn(2, 3)
        for inputs in (x, (x, 3), (x, 3.5, [4, 5]), {"factor": 0.5, "x": x}, {"by": {"y": torch.ones(3)}, "x": x}):
            result = profile(Scaled(), inputs=inputs)
            self.assertTrue(result.ok, result.notes)

    def test_inputs_that_do_not_matter(self):
        class First(torch.nn.Module):
            def forward(self, x, edge_index):
                return x + 1

        for inputs in ((torch.randn(3, 2), torch.zeros(2, 4, dtype=torch.int64)),
                       {"edge_index": torch.zeros(2, 4, dtype=torch.int64), "x": torch.randn(3, 2)}):
            with self.assertWarnsRegex(UserWarning, "First: its outputs do not depend on edge_index$") as warned:
                self.assertTrue(profile(First(), inputs=inputs).ok)
            self.assertEqual(warned.filename, __file__)

    def test_tensors_of_any_layout(self):
        """Transposed ones; of a module that transposes; and one that writes into its input."""
        class Turned(torch.nn.Module):
            def forward(self, x, output):
                x.add_(1)
                return x.t(), (x * output).t()

        x, y = torch.randn(3, 5).t(), torch.randn(3, 5).t()
        before = x.clone()
        self.assertTrue(profile(Turned(), inputs={"output": y, "x": x}).ok)  # in another order, one called output
        self.assertTrue(torch.equal(x, before))

    def test_the_fast_path_of_transformers(self):
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.assertTrue(profile(layer, inputs=torch.randn(2, 4, 8)).ok)
        self.assertTrue(profile(layer.requires_grad_(False), inputs=torch.randn(2, 4, 8)).ok)
        self.assertFalse(any(parameter.requires_grad for parameter in layer.parameters()))

    def test_training(self):
        with self.assertWarnsRegex(UserWarning, "Net: its dropouts are left out of the training pass"):
            result = profile(Net(), inputs=torch.randn(8, 16), mode="train", loss="mse")
        self.assertTrue(result.ok, result.notes)
        self.assertIn("training_step", result.frame()["pass"].tolist())
        result = profile(Net().eval(), inputs=torch.randn(8, 16), mode="backward", loss="cross-entropy")
        self.assertIn("backward", result.frame()["pass"].tolist())
        self.says(ValueError, "loss='msee': did you mean 'mse'?", inferometer.profile, Net(), inputs=torch.randn(8, 16),
                  mode="train", loss="msee")

    def test_comparing_two(self):
        x = torch.randn(8, 16)
        result = inferometer.compare((Net(), x), (Net(), x), devices=IDEAL, time_budget="1s", progress=False)
        self.assertEqual(len(result.frame("sides")), 2)

    def test_refused(self):
        class Spectrum(torch.nn.Module):
            def forward(self, x):
                return torch.linalg.svd(x)[1]

        class Raises(torch.nn.Module):
            def forward(self, x):
                raise ZeroDivisionError("no such luck")

        x = torch.randn(4, 4)
        error = self.says(inferometer.InputError, "Spectrum cannot be exported: ", inferometer.profile, Spectrum(), inputs=x)
        self.assertIn("linalg_svd", str(error))  # the exporter's own words
        self.assertIsNotNone(error.__cause__)
        self.assertTrue(profile(Net().eval(), inputs=torch.randn(4, 16)).ok)  # it spoils no export to come
        self.says(inferometer.InputError, "Raises does not take these inputs: no such luck", inferometer.profile, Raises(), inputs=x)
        self.says(inferometer.InputError, "Net does not take these inputs: ", inferometer.profile, Net(), inputs=x)
        self.says(TypeError, "Net: a torch module needs inputs=", inferometer.profile, Net())
        self.says(TypeError, "inputs: a tensor, or a tuple or dict of them, not int", inferometer.profile, Net(), inputs=3)
        self.says(TypeError, "has no bfloat16", inferometer.profile, torch.nn.Linear(4, 4).bfloat16(), inputs=x.bfloat16())
        self.says(TypeError, "Net is a class: give an instance of it", inferometer.profile, Net, inputs=x)
        self.says(TypeError, "predict() takes one torch module at a time", inferometer.predict, Net(), Net(), inputs=x)
        self.says(TypeError, "study_run() takes STUDY, no Net", inferometer.study, Net())


class Onnx(tap.Case):
    """A ModelProto, and arrays for a file's model."""

    def test_a_proto(self):
        try:
            import onnx
        except ImportError as why:
            self.skipTest(str(why))
        model = onnx.load("own.onnx")
        image = numpy.zeros((1, 3, 32, 32), "f4")
        ours, theirs = profile(model, inputs={"image": image}), profile("own.onnx", inputs={"image": image})
        self.assertEqual(ours.json["flops"], theirs.json["flops"])
        self.assertEqual(ours.frame().subject[0], "small-cnn")
        self.says(inferometer.InputError, "model.onnx: is empty", inferometer.profile, onnx.ModelProto())
        self.says(TypeError, "plan() takes", inferometer.plan, model)

    def test_arrays(self):
        self.says(inferometer.InputError, "own has no input 'imag' (it has image)", inferometer.profile, "own.onnx",
                  devices=IDEAL, inputs={"imag": numpy.zeros(3, "f4")})
        self.says(inferometer.InputError, "f64 [1,3,32,32], but input 'image' takes f32", inferometer.profile, "own.onnx",
                  devices=IDEAL, inputs={"image": numpy.zeros((1, 3, 32, 32))})
        self.says(TypeError, "is no array of numbers", inferometer.profile, "own.onnx", inputs={"image": object()})
        self.says(TypeError, "inputs: {name: array}", inferometer.profile, "own.onnx", inputs=[1])

    def test_expected(self):
        """From a file, of another program's outputs."""
        numpy.save("y.npy", numpy.ones((1, 10), "f4") / 10)
        result = profile("own.onnx", expect={"probabilities": os.path.abspath("y.npy")})
        self.assertIn("does not give what is expected", result.frame().reason[0])
        self.says(inferometer.InputError, "--expect: own has no output 'y' (it has probabilities)", inferometer.profile,
                  "own.onnx", devices=IDEAL, expect="y=y.npy")
        numpy.save("z.npy", numpy.ones((1, 11), "f4"))
        self.says(inferometer.InputError, "but output 'probabilities' gives f32 [1, 10]", inferometer.profile, "own.onnx",
                  devices=IDEAL, expect={"probabilities": "z.npy"})


class NoTorch(unittest.TestCase):
    """Without a module, neither torch nor pandas is loaded."""

    def test_imports(self):
        ran = tap.Case.script("import sys, inferometer; inferometer.profile; print([m for m in ('torch', 'pandas', 'numpy', "
                              "'tqdm', 'onnx') if m in sys.modules])")
        self.assertEqual((ran.stdout, ran.stderr), ("[]\n", ""))


if __name__ == "__main__":
    tap.main()
