"""What the tests of python/inferometer share: TAP of unittest's cases, and a folder of their own."""
import contextlib
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SMALL_STUDY = """title: A small study
subject: {model: graphsage, features: 4, hidden: 3}
sizes:
  - {nodes: 100, edges: [200]}
  - {nodes: 500, edges: [1000]}
devices:
  CPU: {device: "simulated:meteor-lake/CPU"}
  GPU: {device: "simulated:meteor-lake/GPU"}
protocol: {warmup: 2, runs: 10}
links: {measure: false}
"""


def need(name):
    """A module that the whole file needs."""
    try:
        return importlib.import_module(name)
    except ImportError as why:
        print(f"1..0 # SKIP {why} ({sys.executable})")
        sys.exit(0)


class Result(unittest.TestResult):
    """Prints one line a test, as it ends."""

    number = 0

    def _line(self, test, good, more=""):
        self.number += 1
        print(f"{'ok' if good else 'not ok'} {self.number} - {test.id().split('.', 1)[1]}{more}", flush=True)

    def addSuccess(self, test):
        self._line(test, True)

    def addSkip(self, test, reason):
        self._line(test, True, f" # SKIP {reason}")

    def _bad(self, test, error):
        self._line(test, False)
        print("\n".join(f"# {line}" for line in self._exc_info_to_string(error, test).splitlines()), flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._bad(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._bad(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            super().addSubTest(test, subtest, err)
            self._bad(subtest, err)


class Case(unittest.TestCase):
    """A test in a folder of its own, with a small model and a small study in it. Temporary files go to self.temporary:
    none may be left there."""

    @classmethod
    def setUpClass(cls):
        cls.back = os.getcwd()
        cls.top = tempfile.TemporaryDirectory(prefix="ifm-python-")
        cls.folder, cls.temporary = os.path.join(cls.top.name, "work"), os.path.join(cls.top.name, "tmp")
        os.mkdir(cls.folder)
        os.mkdir(cls.temporary)
        os.chdir(cls.folder)
        os.environ["TMPDIR"] = tempfile.tempdir = cls.temporary
        with open("small.yaml", "w", encoding="utf-8") as file:
            file.write(SMALL_STUDY)
        subprocess.run([os.environ["INFEROMETER"], "zoo", "export", "small-cnn", "-q", "-o", "own.onnx"], check=True)

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.back)
        tempfile.tempdir = None
        cls.top.cleanup()

    def tearDown(self):
        self.assertEqual(os.listdir(self.temporary), [], "temporary files were left")
        self.assertEqual(self._processes(), [], "processes were left")

    def _processes(self):
        """Others that work in this test's folder."""
        found = []
        for entry in os.scandir("/proc"):
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and int(entry.name) != os.getpid() and os.readlink(f"{entry.path}/cwd") == self.folder:
                    found.append(entry.name)
        return found

    def says(self, kind, words, function, *arguments, **options):
        """The exception of a call is of that kind, one line, with those words. Returns: it"""
        with self.assertRaises(kind) as raised:
            function(*arguments, progress=False, **options)
        self.assertIn(words, str(raised.exception))
        self.assertEqual(len(str(raised.exception).splitlines()), 1, raised.exception)
        return raised.exception

    @staticmethod
    def script(text, variables=None):
        """Another Python with the same package. Returns: its CompletedProcess"""
        return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False,
                              env={**os.environ, **(variables or {})})

    def interrupted(self, text, until):
        """A script that is interrupted once until() holds. Returns: status, standard output and error"""
        with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            end = time.monotonic() + 60
            while not until() and child.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=120)
        return child.returncode, out, err


def main():
    """Runs the tests of the calling file."""
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = Result()
    print(f"TAP version 13\n1..{tests.countTestCases()}", flush=True)
    tests.run(result)
    sys.exit(not result.wasSuccessful())
