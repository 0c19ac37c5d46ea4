#!/usr/bin/env python3
"""pipeline: events of pipelines in Python, recorded by the library: a trace, a frame, figures that are known by hand."""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import tap

import inferometer
from inferometer.pipeline import DataParallelStage, PipelineProfiler

try:
    import numpy
except ImportError:
    numpy = None
SCRIPT = pathlib.Path(__file__).parent / "scripts" / "stages.py"


def known(profiler, batches=2):
    """Batches of 45 ns, every 50: Prepare on CPU 10 (8 by its counter), partition 2, two on GPU at once 30 and 20, merge 3."""
    for batch in range(batches):
        at = 1000 + 50 * batch
        profiler.log_event("Merge", "CPU", batch, at + 42, at + 45)
        profiler.log_execution("Prepare", "CPU", batch, at, at + 10, 8e-6)
        profiler.log_event("Partition", "CPU", batch, at + 10, at + 12)
        profiler.log_event("Embed", "GPU", batch, at + 12, at + 42)
        profiler.log_event("Embed", "GPU", batch, at + 12, at + 32)
    return profiler


def said(function):
    """What it prints, and what it returns."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        found = function()
    return out.getvalue(), found


class Pipeline(unittest.TestCase):
    """Without a runtime."""

    def test_figures(self):
        text, found = said(known(PipelineProfiler("mine")).analyze_metrics)
        tracks = {track["thread"]: track for track in found["tracks"]}
        self.assertEqual(list(tracks), ["CPU stream 0", "GPU stream 0", "GPU stream 1"])
        self.assertEqual((tracks["CPU stream 0"]["busy_ns"], tracks["CPU stream 0"]["device_ns"]), (20, 16))
        self.assertEqual(tracks["CPU stream 0"]["penalty_mean_ns"], 2)
        self.assertEqual(tracks["CPU stream 0"]["bubbles"]["sum_ns"], 40)
        self.assertEqual(found["batches"]["latency"]["p50_ns"], 45)
        self.assertEqual(found["batches"]["cycle"]["p50_ns"], 35)
        self.assertEqual([(s["partition_mean_ns"], s["merge_mean_ns"]) for s in found["stages"]], [(0, 0), (2, 3)])
        self.assertEqual(text.splitlines()[0], "CPU stream 0: busy 21.1 %, hardware 16.8 %, 1 bubbles of 0.000 ms, "
                                               "concurrency penalty 0.000 ms")
        self.assertIn("2 batches: latency 0.000 ms, cycle 0.000 ms (medians)", text)
        self.assertIn("1 batch: latency 0.000 ms", said(known(PipelineProfiler(), batches=1).analyze_metrics)[0])

    def test_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("t.json", "t.json.gz"):
                path = pathlib.Path(folder) / name
                profiler = known(PipelineProfiler("mine"), 5)
                profiler.export_chrome_trace(path)
                again = inferometer.trace(path, progress=False).json["traces"][0]
                found = said(profiler.analyze_metrics)[1]
                self.assertEqual({key: again[key] for key in found}, found)
            names = {event["args"]["name"] for event in json.loads((pathlib.Path(folder) / "t.json").read_text())["traceEvents"]
                     if event["name"] == "thread_name"}
            self.assertLess({"CPU stream 0", "GPU stream 0", "GPU stream 1", "Embed, host"}, names)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_frame(self):
        frame = known(PipelineProfiler()).to_frame()
        self.assertEqual(frame.groupby("Device").size().to_dict(), {"CPU": 6, "GPU": 4})
        self.assertEqual(list(frame.Name[:3]), ["Prepare", "Partition", "Embed"])
        self.assertEqual(set(frame.Stage[frame.Name.isin(["Partition", "Merge"])]), {"Embed"})
        self.assertEqual((frame.HW_ms[0], frame.Wall_ms[0]), (8e-6, 1e-5))

    def test_seconds(self):
        profiler = PipelineProfiler()
        profiler.log_event("Embed", "CPU", None, 1.5, 2.25)
        self.assertEqual(profiler.events[0]["end_ns"] - profiler.events[0]["start_ns"], 750000000)
        self.assertEqual(said(profiler.analyze_metrics)[1]["batches"]["count"], 0)

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_numbers_of_numpy(self):
        profiler = PipelineProfiler()
        profiler.log_event("Embed", "CPU", 0, numpy.int64(5), numpy.int32(12))
        self.assertEqual((profiler.events[0]["start_ns"], profiler.events[0]["end_ns"]), (5, 12))
        self.assertEqual(profiler.to_frame().Wall_ms.tolist() if importlib.util.find_spec("pandas") else [7e-6], [7e-6])
        with self.assertWarnsRegex(UserWarning, "Embed: the device counted 2 ms, more than the 1 ms from start to end"):
            profiler.log_execution("Embed", "CPU", 1, 0, 1000000, 2.0)

    def test_refused(self):
        with self.assertRaises(inferometer.InputError):
            PipelineProfiler().analyze_metrics()
        profiler = PipelineProfiler()
        profiler.log_event("Embed", "CPU", 0, 9, 8)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(inferometer.InputError, r"log.events\[0\]: it ends before it starts"):
                profiler.export_chrome_trace(f"{folder}/t.json")
            with self.assertRaises(inferometer.InputError):
                PipelineProfiler().export_chrome_trace(f"{folder}/t.json")
            self.assertEqual(os.listdir(folder), [])
            with self.assertRaisesRegex(inferometer.Unavailable, "nowhere"):
                known(PipelineProfiler()).export_chrome_trace(f"{folder}/nowhere/t.json")
        with self.assertRaisesRegex(ValueError, "Embed: at least one executor"):
            DataParallelStage("Embed", [])


class Slices:
    """In place of an executor: gives back its rows."""
    profiler, start_ns, end_ns = None, 1, 2

    def start_async(self, data):
        self.data = data

    def wait(self):
        return self.data if not isinstance(self.data, dict) else list(self.data.values())

    def log(self, *_):
        pass


@unittest.skipIf(numpy is None, "NumPy is not installed")
class Shares(unittest.TestCase):
    """How a batch is shared out."""

    def test_rows(self):
        stage, data = DataParallelStage("Embed", [Slices() for _ in range(3)]), numpy.arange(14).reshape(7, 2)
        self.assertTrue((stage.run(data) == data).all())
        self.assertEqual(len(stage.times["device_time"]), 3)
        self.assertTrue((stage.run(data[:1]) == data[:1]).all())  # one row, one executor
        self.assertEqual(len(stage.times["device_time"]), 1)
        first, second = stage.run({"a": data, "b": data[:, :1]})
        self.assertTrue((first == data).all() and (second == data[:, :1]).all())
        self.assertEqual([len(part) for part in stage.run([data, data])], [7, 7])
        for empty in (numpy.float32(1), numpy.zeros((0, 2))):
            with self.assertRaisesRegex(ValueError, "no rows to share"):
                stage.run(empty)


def api_of_openvino(folder):
    """What PYTHONPATH has to name for OpenVINO's Python API: nothing, or a folder into which its wheel goes, where the wheels of
    setup/install are for this Python; None where there is none."""
    if importlib.util.find_spec("openvino"):
        return []
    wheels = sorted(pathlib.Path(tap.ROOT, ".deps/wheelhouse").glob(f"openvino-*-cp{sys.version_info[0]}{sys.version_info[1]}-*.whl"))
    for wheel in wheels[-1:]:
        with zipfile.ZipFile(wheel) as file:
            file.extractall(folder, [name for name in file.namelist() if "/include/" not in name])
    return [folder] if wheels else None


class OpenVINO(unittest.TestCase):
    """A pipeline of its own."""

    def test_script(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = api_of_openvino(f"{folder}/api")
            if paths is None or numpy is None:
                self.skipTest("the Python API of OpenVINO is not installed")
            paths += [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
            done = subprocess.run([sys.executable, SCRIPT, f"{folder}/t.json"], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
            self.assertEqual(done.returncode, 0, done.stderr)
            result = inferometer.trace(f"{folder}/t.json", progress=False)
        self.assertEqual(done.stdout.splitlines()[0], str({("Embed", "Embed"): 16, ("Embed", "Merge"): 8, ("Embed", "Partition"): 8,
                                                           ("Encode", "Encode"): 8}))
        self.assertIn("8 batches: latency", done.stdout)
        trace = result.json["traces"][0]
        self.assertEqual((trace["batches"]["left"], len(trace["stages"])), (8, 2))
        self.assertTrue(all(track["device_time_count"] == track["count"] for track in trace["tracks"]))
        self.assertIsNotNone(result.summary)


if __name__ == "__main__":
    tap.main()
