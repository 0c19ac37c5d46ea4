#!/usr/bin/env python3
"""What bad input gets from Python: one clear exception, and nothing left behind."""
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time

import inferometer
import tap

CPU = "simulated:ideal/CPU"


def profile(*arguments, **options):
    return inferometer.profile(*(arguments or ["own.onnx"]), devices=options.pop("devices", CPU), **options)


class Input(tap.Case):
    """Words and values."""

    def test_unknown_keywords(self):
        self.says(TypeError, "profile() has no option 'time_buget': did you mean 'time_budget'?", profile, time_buget="1s")
        self.says(TypeError, "did you mean 'devices'?", inferometer.profile, "own.onnx", device_s=CPU)
        self.says(TypeError, "profile() has no option 'zzzzzz'", profile, zzzzzz=1)
        self.says(TypeError, "give one", profile, device=CPU)
        with self.assertRaisesRegex(AttributeError, "no 'profil': did you mean 'profile'"):
            inferometer.profil  # pylint: disable=pointless-statement
        with self.assertRaises(AttributeError):
            inferometer._nothing  # pylint: disable=pointless-statement,protected-access

    def test_values_of_a_wrong_type(self):
        for options, words in (({"runs": 1.5}, "runs: takes N (count), not 1.5"), ({"runs": True}, "not True"),
                               ({"runs": [1, 2]}, "not [1, 2]"), ({"resume": 1}, "resume: takes True or False, not 1"),
                               ({"resume": "yes"}, "not 'yes'"), ({"profile": {1}}, "profile: takes PARTS"),
                               ({"output": 5j}, "output: takes DIR"), ({"memory_limit": 1.5}, "not 1.5"),
                               ({"time_budget": object}, "time_budget: takes TIME"), ({"dtype": None, "ci": [1]}, "not [1]")):
            self.says(TypeError, words, profile, **options)
        with self.assertRaisesRegex(TypeError, "progress: takes True, False or a function"):
            profile(progress="yes")
        self.says(ValueError, "mode='trian': did you mean 'train'?", profile, mode="trian")
        self.says(ValueError, "mode='x': one of forward, backward, train", profile, mode="x")
        self.says(TypeError, "profile() takes runs or ci, not both", profile, runs=3, ci="1%")
        self.says(TypeError, "takes dim or estimate, not both", inferometer.profile, dim="N=1", estimate="linear")
        self.says(TypeError, "pe: takes KIND[:N] (text), not ['lap']", profile, pe=["lap"])
        self.says(TypeError, "profile() takes MODEL | --estimate WHAT, not 2 arguments", profile, "own.onnx", "own.onnx")
        self.says(TypeError, "not 1 arguments", inferometer.compare, "own.onnx")
        self.says(TypeError, "compare() takes one device, not 2", inferometer.compare, "own.onnx", "own.onnx", devices=[CPU, CPU])
        self.says(TypeError, "devices: takes a name, a list or {alias: device}, not 5", inferometer.profile, "own.onnx", devices=5)
        self.says(TypeError, "devices: names none", inferometer.profile, "own.onnx", devices=[])
        self.says(TypeError, "devices() takes no devices", inferometer.devices, devices=CPU)

    def test_by_exit_status(self):
        for kind, status, words, options in (
                (inferometer.UsageError, 2, '--runs: "x" is not a whole number', {"runs": "x"}),
                (inferometer.UsageError, 2, "--ci", {"ci": 7}),
                (inferometer.InputError, 3, 'unknown engine "nope"', {"devices": "nope:CPU"}),
                (inferometer.Unavailable, 4, "openvino:NPU: not available", {"devices": "openvino:NPU"})):
            error = self.says(kind, words, profile, **options)
            self.assertEqual(error.status, status)
            self.assertNotIn("see inferometer help", str(error))
        self.says(inferometer.Unavailable, "nothere.onnx: No such file", profile, "nothere.onnx")
        error = self.says(inferometer.InputError, "small.yaml: model", profile, "small.yaml")
        self.assertIsInstance(error, ValueError)
        self.assertIsInstance(error, inferometer.Error)
        self.assertTrue(error.notes)

    def test_objects_that_are_no_models(self):
        self.says(TypeError, "a dict is no model", profile, {"a": 1})
        self.says(TypeError, "plan() takes", inferometer.plan, {"a": 1})


class Failures(tap.Case):
    """What fails while it runs."""

    def test_a_crash_is_a_row(self):
        result = profile(devices=["simulated:faulty/CRASHES", CPU], warmup=1, runs=20, progress=False)
        self.assertFalse(result.ok)
        self.assertEqual(result.status, 1)
        frame = result.frame()
        self.assertEqual(frame.outcome.tolist()[1], "ok")
        self.assertNotEqual(frame.outcome.tolist()[0], "ok")
        self.assertIn("SIGABRT", frame.reason[0])
        self.assertTrue(result.notes)
        self.assertIn(frame.reason[0].split(":")[0], result._repr_html_())  # pylint: disable=protected-access

    def test_where_all_fail(self):
        result = profile(devices="simulated:faulty/REFUSES", progress=False)
        self.assertFalse(result.ok)
        self.assertIsNone(result.summary)
        self.assertIn("operator Gemm is not known here", result.frame().reason[0])
        self.assertIn("operator Gemm", result._repr_html_())  # pylint: disable=protected-access

    def test_an_interruption_keeps_what_was_measured(self):
        """The second device hangs: the first one's figures are in the store, and the next call goes on from there."""
        call = ("import inferometer; inferometer.profile('own.onnx', output='kept', no_peak=True, progress=False, devices="
                f"['{CPU}', 'simulated:faulty/HANGS'], timeout='100s', warmup=1, runs=20)")

        def measured():
            if not os.path.exists("kept/store.db"):
                return 0
            with sqlite3.connect("kept/store.db") as store:
                try:
                    return store.execute("select count(*) from measurement").fetchone()[0]
                except sqlite3.Error:
                    return 0

        _, out, err = self.interrupted(call, measured)
        self.assertEqual(out, "")
        last = err.strip().splitlines()[-1]
        self.assertTrue(last.startswith("KeyboardInterrupt"), err)
        self.assertIn("resume=True measures what is missing", last)
        self.assertEqual(measured(), 1)
        result = profile(output="kept", no_peak=True, warmup=1, runs=20, resume=True, progress=False)
        self.assertTrue(result.frame().resumed.all())

    def test_python_is_killed(self):
        """The command ends with it, from whichever thread it was called; the folder goes with the next call."""
        for thread in (False, True):
            call = "inferometer.profile('own.onnx', no_peak=True, progress=False, devices='simulated:faulty/HANGS', timeout='100s')"
            script = f"import inferometer, threading, time\ndef call():\n    {call}\n" + (
                "threading.Thread(target=call).start()" if thread else "call()")
            with subprocess.Popen([sys.executable, "-c", script]) as child:
                self.until(lambda: len(self._processes()) >= 3)  # it, the command and a worker
                child.kill()
            self.until(lambda: not self._processes())
            folder, = os.listdir(self.temporary)
            os.utime(f"{self.temporary}/{folder}", (0, 0))
            profile(progress=False, no_peak=True)
            self.assertEqual(os.listdir(self.temporary), [])

    def test_a_thread_that_ends(self):
        """The command is of the process: one that a thread started goes on."""
        found = []
        thread = threading.Thread(target=lambda: found.append(profile(progress=False, no_peak=True)))
        thread.start()
        thread.join()
        self.assertTrue(found[0].ok)

    def until(self, holds):
        end = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), end, self._processes())
            time.sleep(0.02)

    def test_progress(self):
        changes = []
        result = profile(progress=changes.append, no_peak=True)
        self.assertEqual([c["done"] for c in changes if c.get("outcome") == "ok"], [1])
        self.assertEqual({c["kind"] for c in changes}, {"progress"})
        self.assertNotIn("--progress", result.summary.provenance["command"])
        ran = self.script("import inferometer; inferometer.profile('own.onnx', progress=True, no_peak=True, "
                          f"devices='{CPU}')")
        self.assertIn("[1/1]", ran.stderr)
        result = profile(devices=[CPU, "simulated:faulty/REFUSES"], progress=False, no_peak=True)
        self.assertFalse([note for note in result.notes if note.startswith("[")], result.notes)
        quiet = self.script("import inferometer; inferometer.profile('own.onnx', progress=False, no_peak=True, "
                            f"devices='{CPU}')")
        self.assertEqual(quiet.stderr, "")

        def fails(line):
            raise ZeroDivisionError(line)

        with self.assertRaises(ZeroDivisionError):
            profile(progress=fails)

    def test_the_bar(self):
        """tqdm's, as a notebook has it: forced here, since this is no terminal."""
        ran = self.script("from inferometer import _progress; import tqdm.auto\n"
                          "class Bar(tqdm.auto.tqdm):\n"
                          "    def __init__(self, *a, **k): super().__init__(*a, **{**k, 'disable': False})\n"
                          "tqdm.auto.tqdm = Bar\n"
                          f"import inferometer; inferometer.profile('own.onnx', no_peak=True, devices=['{CPU}', 'B={CPU}@1'])")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("2/2", ran.stderr)
        self.assertIn(CPU, ran.stderr)


class Surroundings(tap.Case):
    """Where the command is, and what it may write."""

    def _said(self, text, variables):
        ran = self.script(f"import inferometer\ntry:\n    print({text})\nexcept inferometer.Error as e:\n"
                          "    print(type(e).__name__, e.status, e)", variables)
        self.assertEqual(ran.stderr, "")
        return ran.stdout

    def _fake(self, folder, text):
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/inferometer", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(f"{folder}/inferometer", stat.S_IRWXU)
        return os.path.abspath(folder)

    def test_a_command_that_is_not_there(self):
        self.assertEqual(self._said("inferometer.devices()", {"INFEROMETER": "", "PATH": "/nowhere"}),
                         "Unavailable 4 the command inferometer is neither in this package nor on PATH; the variable "
                         "INFEROMETER may name it\n")
        self.assertEqual(self._said("inferometer.devices()", {"INFEROMETER": "/no/such"}),
                         "Unavailable 4 INFEROMETER=/no/such: no such program\n")

    def test_another_program(self):
        other = self._fake("other", "echo hello\n")
        self.assertIn("tells no options (help --json)",
                      self._said("inferometer.devices()", {"INFEROMETER": f"{other}/inferometer"}))

    def test_two_versions(self):
        table = self.script("import os, subprocess; print(subprocess.run([os.environ['INFEROMETER'], 'help', '--json'], "
                            "capture_output=True, text=True).stdout)").stdout
        with open("table.json", "w", encoding="utf-8") as file:
            json.dump({**json.loads(table), "version": "9.9"}, file)
        ours = os.path.abspath("ours")
        os.makedirs(ours, exist_ok=True)
        os.symlink(os.environ["INFEROMETER"], f"{ours}/inferometer")
        another = self._fake("another", f"cat {os.path.abspath('table.json')}\n")
        path = {"INFEROMETER": "", "PATH": f"{ours}:{another}:{os.environ['PATH']}"}
        said = self._said("inferometer.devices()", path)
        self.assertIn("are two versions of the command; the variable INFEROMETER names the one to use", said)
        self.assertIn("9.9", said)
        shutil.copytree(ours, "twin", symlinks=True)
        path["PATH"] = f"{ours}:{os.path.abspath('twin')}:/usr/bin:/bin"  # the same program twice is one
        self.assertEqual(self._said("inferometer.devices().ok", path), "True\n")

    def test_a_home_that_cannot_be_written(self):
        variables = {"HOME": "/proc/nothing", "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""}
        self.assertEqual(self._said(f"inferometer.profile('own.onnx', devices='{CPU}', progress=False).ok", variables), "True\n")

    def test_a_folder_that_cannot_be_written(self):
        error = self.says(inferometer.Unavailable, "/proc/nothing", profile, output="/proc/nothing")
        self.assertEqual(error.status, 4)
        with self.assertRaises(OSError):  # no folder for temporary files
            os.environ["TMPDIR"] = tap.tempfile.tempdir = "/proc/nothing"
            try:
                profile(progress=False)
            finally:
                os.environ["TMPDIR"] = tap.tempfile.tempdir = self.temporary


if __name__ == "__main__":
    tap.main()
