#!/usr/bin/env python3
"""Every verb as a function, and what a result holds: equal to what the command itself writes."""
import datetime
import inspect
import io
import json
import os
import re
import pathlib
import subprocess
import sys
import unittest

import inferometer
import tap
from inferometer import _options
from inferometer._notebook import number

pandas = tap.need("pandas")
numpy = tap.need("numpy")

IDEAL = ["simulated:ideal/CPU", "B=simulated:ideal/GPU"]


def shell(*words):
    """What the command itself prints."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    return subprocess.run([os.environ["INFEROMETER"], *words], env=environment, capture_output=True, text=True, check=False)


def profile(**options):
    return inferometer.profile("own.onnx", devices=options.pop("devices", IDEAL), progress=False, **options)


def write_samples():
    """Kernels whose latency is a simple function of their size."""
    rows = ["Kernel_ID,OpType,Input_Shape,Latency_ms,Visit,Threads,Configuration,FLOP,Input_Bytes,Weight_Bytes,"
            "Output_Bytes,Batch,Channels,Height,Width"]
    for i in range(80):
        size = 16 + 7 * i
        for visit in range(2):
            rows.append(f"k{i},{('Gemm', 'Add', 'Softmax')[i % 3]},1x{size},{size * size / 5e4 + 1 + visit / 1000},"
                        f"{visit},1,k{i},{1000 * size * size},{400 * size},{100 * size},{200 * size},1,{size},8,8")
    with open("samples.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(rows) + "\n")


class Verbs(tap.Case):
    """All of them, on simulated devices."""

    def test_all_are_there(self):
        listed = json.loads(shell("help", "--json").stdout)["verbs"]
        for verb in listed:
            if verb["name"] in ("help", "completion"):
                continue
            function = getattr(inferometer, verb["name"].replace(" ", "_"))
            self.assertIn(verb["summary"], inspect.getdoc(function))
            names = inspect.signature(function).parameters
            for option in verb["options"]:
                if option["name"] != "help":
                    self.assertTrue({option["name"].replace("-", "_"), option["name"] + "_"} & set(names), option["name"])
        self.assertEqual(inferometer.study.export.__doc__, inferometer.study_export.__doc__)
        self.assertIn("profile", dir(inferometer))
        self.assertTrue(os.path.isfile(inferometer.ops_library()), inferometer.ops_library())
        self.assertEqual(inferometer.__version__, json.loads(shell("help", "--json").stdout)["version"])

    def test_profile(self):
        result = profile()
        self.assertTrue(result.ok)
        self.assertEqual(result.status, 0)
        self.assertEqual(result.frame().device.tolist(), ["simulated:ideal/CPU", "simulated:ideal/GPU"])
        self.assertEqual(result.frame().alias.tolist()[1], "B")
        self.assertIn("is the fastest", result.summary.verdict)
        self.assertIn("roofline-1", result.figures)

    def test_devices_by_alias(self):
        result = profile(devices={"first": "simulated:ideal/CPU", "second": "simulated:ideal/GPU"})
        self.assertEqual(result.frame().alias.tolist(), ["first", "second"])

    def test_sizes_and_scaling(self):
        result = inferometer.profile("matmul", devices="simulated:ideal/CPU", dim={"m": [8, 16, 32]}, progress=False)
        self.assertEqual(len(result.frame("points" if "points" in result.frames else None)), 3)

    def test_estimate(self):
        result = inferometer.profile(estimate="transformer", num_nodes=100, progress=False)
        self.assertIn("transformer", result.summary.verdict)
        self.assertIsNone(result.html())

    def test_in_a_notebook(self):
        """Every verb shows a table, or the text where it has none."""
        inferometer.study("small.yaml", progress=False)
        for result in (profile(), inferometer.study("small.yaml", progress=False), inferometer.plan("small", progress=False),
                       inferometer.study_status("small.yaml"), inferometer.study_list(), inferometer.store("out/profile/store.db"),
                       inferometer.kernels("own.onnx", progress=False), inferometer.report("out/profile/store.db"),
                       inferometer.study_lookup("small", nodes=100, edges=200)):
            self.assertEqual(result._repr_html_().count("<table>"), 1, result.verb)  # pylint: disable=protected-access
        for result in (inferometer.devices(), inferometer.zoo(), inferometer.store_export("out/profile/store.db")):
            self.assertEqual(result._repr_html_().count("<table>"), 1, result.verb)  # pylint: disable=protected-access
        self.assertEqual(inferometer.tune(cache="none")._repr_html_().count("<pre"), 1)  # pylint: disable=protected-access

    def test_compare(self):
        result = inferometer.compare("own.onnx", "own.onnx", devices="simulated:ideal/NOISY", progress=False)
        self.assertIn("the same", str(result.summary))
        self.assertEqual(len(result.frame("sides")), 2)

    def test_study_plan_run_trace(self):
        study = inferometer.study("small.yaml", progress=False)
        exported = inferometer.study.export("small.yaml", progress=False)
        stages = pandas.read_csv("out/small/stages.csv")
        pandas.testing.assert_frame_equal(study.frame("csv"), stages)
        pandas.testing.assert_frame_equal(exported.frame("csv"), stages)
        self.assertEqual(str(study.summary), str(exported.summary))
        self.assertIn("fastest", study.figures)
        looked = inferometer.study_lookup("small", nodes=100, edges=200, progress=False)
        self.assertEqual(len(looked.frame("stages")), 14)
        self.assertEqual(len(inferometer.plan("small", size=["100,200", (500, 1000)], progress=False).json["plans"]), 2)
        plan = inferometer.plan("small", size=(100, 200), json="plan.json", progress=False)
        self.assertRegex(plan.summary.verdict, "times the throughput|whether it gains is not known")
        ran = inferometer.run("plan.json", trace="trace.json", batches=20, repetitions=2, progress=False)
        self.assertEqual(len(ran.frame()), 20)
        trace = inferometer.trace("trace.json", progress=False)
        self.assertIn("timeline", trace.figures)
        self.assertIn("devices", trace.frames)
        self.assertTrue(inferometer.trace.diff("trace.json", "trace.json", progress=False).ok)

    @staticmethod
    def bare():
        result = inferometer.study_list()
        result.tables, result._files = {}, {}  # pylint: disable=protected-access
        return result

    def test_lists(self):
        devices = inferometer.devices().json
        self.assertIn("simulated", [engine["engine"] for engine in devices["engines"]])
        frame = inferometer.devices().frame()
        self.assertIn("simulated:ideal/CPU", frame.spec.tolist())
        self.assertIn("simulated", frame.engine.tolist())
        self.assertIn("alexnet", inferometer.zoo().frame("models").name.tolist())
        with self.assertRaisesRegex(KeyError, "study list has no tables: .json has all of it"):
            self.bare().frame()
        self.assertIn("resnet18", inferometer.zoo().text)
        self.assertEqual(inferometer.tune(cache="cache", progress=False).frame("tuned").shape[0], 0)

    def test_learning(self):
        write_samples()
        learnt = inferometer.train("samples.csv", output="latency.json", progress=False)
        self.assertTrue(learnt.summary.verdict)
        self.assertTrue(os.path.exists("latency.json"))
        predicted = inferometer.predict("own.onnx", with_="latency.json", progress=False)
        self.assertTrue(predicted.json)


class Contents(tap.Case):
    """What a result holds is what the command prints and writes."""

    def test_frames_equal_the_csv_exports(self):
        result = profile(csv="kept.csv", output="here")
        again = profile(resume=True, output="here")
        kept = pandas.read_csv("kept.csv").drop(columns=["resumed"])
        pandas.testing.assert_frame_equal(again.frame("csv").drop(columns=["resumed"]), kept)
        self.assertEqual(result.frames, again.frames)  # whoever named the file
        pandas.testing.assert_frame_equal(result.frame("csv"), pandas.read_csv("kept.csv"))
        same = [column for column in kept.columns if column in result.frame("devices").columns]
        self.assertGreater(len(same), 20)
        as_csv = pandas.read_csv(io.StringIO(result.frame("devices")[same].to_csv(index=False)))
        pandas.testing.assert_frame_equal(as_csv, kept[same], check_dtype=False)

    def every_csv(self):
        """A result of each verb that writes CSV, with that file; and a table of the page that has the same rows, or None."""
        csv = {"csv": "out.csv", "progress": False}
        yield profile(csv="out.csv"), "devices"
        yield inferometer.compare("own.onnx", "own.onnx", devices="simulated:ideal/NOISY", time_budget="2s", **csv), None
        yield inferometer.study("small.yaml", **csv), None
        yield inferometer.study_export("small.yaml", **csv), None
        yield inferometer.study_lookup("small", nodes=100, edges=200, **csv), "stages"
        inferometer.plan("small", size=(100, 200), json="plan.json", progress=False)
        yield inferometer.run("plan.json", trace="trace.json", batches=20, repetitions=2, **csv), None
        yield inferometer.trace("trace.json", **csv), None
        yield inferometer.store_export(**csv), "measurements"
        yield inferometer.kernels_run("own.onnx", devices="simulated:ideal/GPU", runs=2, **csv), "kernels"
        with open("algorithms.yaml", "w", encoding="utf-8") as file:
            file.write("title: two\nkind: conv-algorithms\nmodels: [small-cnn]\nalgorithms: [runtime]\nsizes: [16, 32]\n"
                       "devices: {A: {device: simulated:ideal/GPU}}\nprotocol: {warmup: 0, runs: 2}\n")
        inferometer.study("algorithms.yaml", progress=False)
        yield inferometer.study_predict("algorithms", model="small-cnn", size=24, **csv), "predictions"

    def test_frames_equal_the_csv_of_every_verb(self):
        seen = set()
        for result, table in self.every_csv():
            seen.add(result.verb)
            written = pandas.read_csv("out.csv")
            self.assertGreater(len(written), 0, result.verb)
            self.assertEqual(result.frames[0], "csv", result.verb)
            pandas.testing.assert_frame_equal(result.frame("csv"), written)
            pandas.testing.assert_frame_equal(result.frame(), written)
            if table is None:
                continue
            frame = result.frame(table)
            same = [key for key in written if key in frame and key != "started"]  # a date, in its two forms
            self.assertGreater(len(same), 5, result.verb)
            frame = pandas.read_csv(io.StringIO(frame[same].to_csv(index=False)))
            pandas.testing.assert_frame_equal(frame, written[same], check_dtype=False)
        wanted = {verb.name for verb in _options.verbs().values() if verb.has("csv")}
        self.assertEqual(seen, wanted - {"evaluate"})  # which writes several tables, and needs a runtime

    def test_a_csv_of_several_tables(self):
        """Each is a frame by its name: all of them together are none."""
        write_samples()
        inferometer.train("samples.csv", output="latency.json", progress=False)
        try:
            result = inferometer.evaluate("own.onnx", with_="latency.json", devices="onnxruntime:CPU", csv="out.csv", progress=False)
        except inferometer.Unavailable as why:
            self.skipTest(str(why))
        with open("out.csv", encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("csv", result.frames)
        for name in ("models", "kernels"):
            self.assertIn(name, result.frames)
            rows = text.replace("\r\n", "\n").split(f"\n{name}\n")[1].split("\n\n")[0]
            frame = pandas.read_csv(io.StringIO(result.frame(name).to_csv(index=False)))
            pandas.testing.assert_frame_equal(frame[list(pandas.read_csv(io.StringIO(rows)))], pandas.read_csv(io.StringIO(rows)),
                                              check_dtype=False)

    def test_summary_equals_terminal_and_page(self):
        result = profile()
        lines = " ".join(result.text.split())
        self.assertIn(" ".join(result.summary.verdict.split()), lines)
        self.assertIn(" ".join(result.summary.trust_words.split(":")[0].split()), lines)
        for check in result.summary.checks:
            if check["level"] != "good":
                self.assertIn(" ".join(check["text"].split()), lines)
        page = " ".join(re.sub(r"<[^>]*>", "", result.html()).split())
        self.assertIn(" ".join(result.summary.verdict.split()), page)
        self.assertEqual(result.json["summary"], result.document["summary"])
        self.assertEqual(result.summary.raw, result.json["summary"])

    def test_text_is_the_command_s(self):
        """Of a store, no run differs."""
        profile(output="there", devices=IDEAL[:1])
        ours = profile(output="there", devices=IDEAL[:1], resume=True)
        theirs = shell("profile", "own.onnx", "-o", "there", "--resume", "-q", "-d", IDEAL[0])
        self.assertEqual(ours.text, theirs.stdout)

    def test_files_of_the_caller(self):
        """The result reads them; not those of an earlier call."""
        os.mkdir("kept")
        with open("kept/zzz.svg", "w", encoding="utf-8") as file:
            file.write("<svg/>")
        result = profile(json="kept.json", html="kept.html", document="kept.document", figures=pathlib.Path("kept"))
        with open("kept.json", encoding="utf-8") as file:
            self.assertEqual(result.json["cases"], json.load(file)["cases"])
        self.assertIn("<html", result.html())
        self.assertIn("runs", result.figures)
        self.assertNotIn("zzz", result.figures)
        self.assertIn("devices", result.frames)
        with self.assertRaises(inferometer.Error):
            profile(json="kept.json", html="kept.html", devices="nope:CPU")
        self.assertIsNone(profile(json="-").json)

    def test_commands_that_can_be_run(self):
        """In a shell, as it stands, where no object of Python is in it; else the call, and no command of a next step."""
        result = profile(runs=3, output="a folder", option=["NOISE=none"])
        command = result.summary.provenance["command"]
        self.assertTrue(command.startswith("inferometer profile "), command)
        self.assertTrue(command.endswith(" own.onnx"), command)
        done = subprocess.run(command.replace("inferometer", os.environ["INFEROMETER"], 1) + " -q --resume", shell=True,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists("a folder/store.db"))
        result = inferometer.profile("own.onnx", inputs={"image": numpy.zeros((1, 3, 32, 32), "float32")}, devices=IDEAL,
                                     progress=False, runs=3)
        self.assertEqual(result.summary.provenance["command"],
                         f"inferometer.profile('own.onnx', inputs=…, runs=3, devices={IDEAL})")
        self.assertEqual([step["command"] for step in result.summary.next if step["command"]], [])
        self.assertIn("inferometer.profile(", result.html())
        os.mkdir("many")
        for i in range(1500):  # more than one variable of the environment holds
            os.link("a folder/store.db", f"many/{i}-{'x' * 100}.db")
        many = inferometer.store_show(*sorted(map(str, pathlib.Path("many").iterdir())))
        self.assertTrue(many.ok, many.notes)

    def test_no_word_of_temporary_files(self):
        result = profile()
        shown = json.dumps(result.json) + json.dumps(result.document) + result.html() + result.text
        self.assertNotIn(self.temporary, shown)
        self.assertNotIn("--document", shown)
        self.assertIn("own.onnx", result.summary.provenance["command"])

    def test_figures(self):
        result = profile()
        self.assertTrue(result.figure("runs").startswith("<"))
        self.assertIn("<svg", result.figure())
        self.assertIn("data:image/svg", result.figure()._repr_html_())
        self.assertEqual(set(result.figures), {f["key"] for s in result.document["sections"] for f in s["blocks"]
                                               if f["kind"] == "figure"})

    def test_names_that_are_not_there(self):
        result = profile(devices=IDEAL[:1])
        with self.assertRaisesRegex(KeyError, "did you mean 'devices'"):
            result.frame("device")
        with self.assertRaisesRegex(KeyError, "there are times"):
            result.figure("zzz")
        with self.assertRaises(AttributeError):
            result.summary.verdikt  # pylint: disable=pointless-statement

    def test_what_a_plain_terminal_shows(self):
        """Of a list, how to see it; help() in lines that fit, without a blank where a verb has no arguments."""
        self.assertEqual(repr(inferometer.devices()), "<inferometer devices: ok; print() shows it>")
        self.assertTrue(str(inferometer.devices()).startswith("onnxruntime"))
        for verb in (inferometer.tune, inferometer.profile, inferometer.study_list):
            lines = inspect.getdoc(verb).splitlines()
            self.assertRegex(lines[0], r"^inferometer [a-z A-Z|\[\]-]*[a-zA-Z\]]: ")
            self.assertLessEqual(max(map(len, lines)), 88, verb)

    def test_names_are_unique(self):
        inferometer.study("small.yaml", progress=False)
        result = inferometer.plan("small", progress=False)
        self.assertEqual(len(result.frames), len(set(result.frames)))
        self.assertIn("blocks-2", result.frames)
        self.assertEqual(len(result.frame("blocks-2").columns), len(result.frame("blocks").columns))

    def test_in_a_notebook(self):
        result = profile()
        shown = result._repr_html_()
        for needed in (result.summary.verdict.replace("'", "&#x27;"), "<table>", "data:image/svg", "B=simulated:ideal/GPU",
                       "median", "µs", "more columns in frame()"):
            self.assertIn(needed, shown)
        self.assertEqual(shown.count("<table>"), 1)
        self.assertEqual(shown.count("<img"), 1)
        self.assertNotIn("<style", shown)
        self.assertIn(result.summary.verdict, repr(result))

    def test_values_of_python(self):
        """Numbers of NumPy, paths, times, sizes, lists, dicts, flags."""
        result = inferometer.profile(pathlib.Path("own.onnx"), devices=IDEAL[0], runs=numpy.int64(7), seed=3, resume=False,
                                     timeout=datetime.timedelta(seconds=30), case_timeout=0.5, memory_limit=10**10,
                                     profile=["runtime", "memory"], no_peak=True, progress=False,
                                     input={"image": 0.25}, option=["NOISE=none"])
        self.assertEqual(result.frame().n.tolist(), [7])
        self.assertEqual(result.summary.provenance["facts"]["seed"], "3")


class Stubs(unittest.TestCase):
    """What an editor reads."""

    def test_they_are_fresh(self):
        made = subprocess.run([sys.executable, f"{tap.ROOT}/tools/make-stubs", os.environ["INFEROMETER"], "--check"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((made.returncode, made.stderr), (0, ""))


class Numbers(unittest.TestCase):
    """Of a notebook's table."""

    def test_numbers(self):
        for value, unit, text in ((77408.5, "ns", "77.4 µs"), (0, "ns", "0 ns"), (119434.0, "ns", "119 µs"),
                                  (1.5e9, "ns", "1.5 s"), (0.0147, "ratio", "1.47 %"), (2**21, "bytes", "2 MiB"),
                                  (12917.6, "", "12,918"), (0.00123456, "", "0.00123"), (5, "", "5"), (-2500, "ns", "-2.5 µs")):
            self.assertEqual(number(value, unit), text)


if __name__ == "__main__":
    tap.main()
