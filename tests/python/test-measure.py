#!/usr/bin/env python3
"""measure(): a callable by the library's stopping rule; what it raises, what it is interrupted by, and what is refused."""
import functools
import importlib.util
import math
import os
import shutil
import signal
import threading
import time
import unittest

import tap

import inferometer
from inferometer import measure


def busy():
    return sum(range(2000))


class Measure(unittest.TestCase):
    """What is measured."""

    def test_fixed(self):
        calls = []
        found = measure(calls.append, 1, runs=7, warmup=3)
        self.assertEqual((len(calls), found.n, len(found.samples_ns), len(found.warmup_ns)), (10, 7, 7, 3))
        self.assertEqual((found.stop_reason, found.json["case"]["subject_name"]), ("fixed", "append"))
        self.assertEqual(found.median_ns, sorted(found.samples_ns)[3])
        self.assertLessEqual(found.min_ns, found.mean_ns)
        self.assertTrue(math.isnan(found.p99_ns))  # of seven runs
        with self.assertRaises(AttributeError):
            found.nothing  # pylint: disable=pointless-statement

    def test_rule(self):
        found = measure(busy, ci="30%", time_budget="2 s", max_runs=2000)
        self.assertIn(found.stop_reason, ("interval", "max-runs", "time-budget"))  # the machine's load decides
        self.assertGreaterEqual(found.n, 20)
        self.assertEqual(found.json["case"]["options"]["protocol"]["ci_ratio"], 0.3)
        short = measure(time.sleep, 0.001, ci=0, time_budget=0.2)
        self.assertEqual(short.stop_reason, "time-budget")
        self.assertEqual(len(measure(busy, runs=5).warmup_ns), 10)
        few = measure(busy, runs=2)
        self.assertIsNone(few.interval_ns)
        self.assertRegex(repr(few), r"^<Measured: median [\d.,]+ (ns|µs|ms), 2 runs, ended by fixed>$")
        many = measure(busy, runs=100)
        lower, upper = many.interval_ns or (0, math.inf)  # a loaded machine may leave none
        self.assertTrue(lower <= many.median_ns <= upper)

    def test_what_it_says(self):
        found = measure(busy, runs=30, name="the work")
        self.assertRegex(str(found.summary), "^the work takes .*s")
        self.assertIn(found.summary.trust, ("good", "care", "bad"))
        self.assertIn("runs, ended by fixed", repr(found))
        self.assertIn("the work takes", found._repr_html_())  # pylint: disable=protected-access

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_frame(self):
        frame = measure(busy, runs=4, warmup=1).frame()
        self.assertEqual(list(frame.kind), ["warmup", "run", "run", "run", "run"])

    def test_what_the_call_takes(self):
        checks = measure(len, (), runs=200).summary.checks
        self.assertTrue(any("calling it from Python takes about" in check["text"] for check in checks))
        checks = measure(time.sleep, 0.005, runs=20).summary.checks
        self.assertFalse(any("calling it" in check["text"] for check in checks))

    def test_within_another(self):
        found = measure(functools.partial(measure, busy, runs=2, warmup=0), runs=3, warmup=0)
        self.assertEqual(found.n, 3)

    def test_other_thread(self):
        found = []
        thread = threading.Thread(target=lambda: found.append(measure(busy, runs=5)))
        thread.start()
        thread.join()
        self.assertEqual(found[0].n, 5)


class Ends(unittest.TestCase):
    """How it ends otherwise."""

    def test_raises(self):
        trouble = KeyError("mine")

        def at(number, calls):
            calls.append(1)
            if len(calls) == number:
                raise trouble

        for number in (1, 12, 15):  # in warm-up, at its end, measured
            with self.assertRaises(KeyError) as raised:
                measure(at, number, [], runs=20, warmup=11)
            self.assertIs(raised.exception, trouble)
        with self.assertRaises(SystemExit):
            measure(exit, 3)
        with self.assertRaisesRegex(TypeError, "unexpected keyword"):
            measure(busy, unknown=1)

    def test_interrupted(self):
        def at(number, calls):
            calls.append(1)
            if len(calls) == number:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(1)

        with self.assertRaises(KeyboardInterrupt) as raised:
            measure(at, 15, [], runs=20, warmup=4)
        self.assertEqual((raised.exception.measured.n, raised.exception.measured.stop_reason), (10, "interrupted"))
        with self.assertRaises(KeyboardInterrupt) as raised:
            measure(at, 2, [], runs=20, warmup=4)
        self.assertIsNone(raised.exception.measured)

    def test_interrupted_anywhere(self):
        """Of a callable that is over at once, most of the time is not its own."""
        script = ("import random, signal, inferometer\n"
                  "signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))\n"
                  "inferometer.measure(len, (), runs=1)\nkept = 0\n"
                  "for i in range(2000):\n"
                  "    if kept and i >= 40:\n        break\n"  # a loaded machine may have no run in that time
                  "    try:\n"
                  "        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.01, 0.02))\n"
                  "        inferometer.measure(len, (), ci=0, time_budget=0, max_runs=5000000)\n"
                  "    except KeyboardInterrupt as interrupt:\n"
                  "        kept += getattr(interrupt, 'measured', None) is not None\n"
                  "print(kept > 0)\n")
        done = tap.Case.script(script)
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))

    def test_interrupted_before_it(self):
        """While it finds what a call takes: nothing of the function ran."""
        script = ("import signal, inferometer\nfrom inferometer import _measure\n"
                  "class Once(_measure.functools.partial):\n"
                  "    def __call__(self):\n        signal.raise_signal(signal.SIGINT)\n"
                  "real, _measure.functools.partial = _measure.functools.partial, Once\n"
                  "try:\n    inferometer.measure(print, 'ran', runs=1)\n"
                  "except KeyboardInterrupt as interrupt:\n    print(interrupt.measured)\n"
                  "_measure.functools.partial = real\n"
                  "print(inferometer.measure(len, (), runs=2).n, _measure._overhead_ns() > 0)\n")
        done = tap.Case.script(script)
        self.assertEqual((done.stdout, done.stderr), ("None\n2 True\n", ""))

    def test_own_handler(self):
        """Of a program that takes interrupts itself, nothing is raised."""
        taken = []
        before = signal.signal(signal.SIGINT, lambda *_: taken.append(1))
        try:
            self.assertEqual(measure(lambda: signal.raise_signal(signal.SIGINT), runs=5, warmup=0).n, 5)
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(len(taken), 5)

    def test_refused(self):
        for kind, words, options in (
                (inferometer.UsageError, "runs=0", {"runs": 0}), (inferometer.InputError, "protocol.runs: found -3", {"runs": -3}),
                (inferometer.UsageError, "ci='x'", {"ci": "x"}), (inferometer.UsageError, "runs with ci", {"runs": 3, "ci": 0.1}),
                (inferometer.UsageError, "time_budget='5 parsecs'", {"time_budget": "5 parsecs"}),
                (inferometer.InputError, "protocol.ci_ratio", {"ci": -1}), (inferometer.UsageError, "warmup='x'", {"warmup": "x"}),
                (inferometer.UsageError, "^runs=1.5: a whole number", {"runs": 1.5}), (inferometer.UsageError, "runs=True", {"runs": True}),
                (inferometer.UsageError, "time_budget=nan: a number", {"time_budget": math.nan}),
                (inferometer.UsageError, "time_budget=inf: a number", {"time_budget": math.inf}),
                (inferometer.UsageError, "ci=nan: a number", {"ci": math.nan}), (inferometer.UsageError, "name=3: a text", {"name": 3}),
                (inferometer.UsageError, "max_runs=0: at least 1", {"max_runs": 0}),
                (inferometer.UsageError, "min_runs=5 with max_runs=3: the most is less", {"min_runs": 5, "max_runs": 3}),
                (inferometer.InputError, "6000000 runs", {"runs": 6000000})):
            with self.assertRaisesRegex(kind, words):
                measure(busy, **options)
        async def later():
            pass

        for call in (later, functools.partial(later)):
            with self.assertRaisesRegex(inferometer.UsageError, "a call of an async function runs nothing"):
                measure(call)
        with self.assertRaisesRegex(TypeError, "a int cannot be called"):
            measure(3)

    def test_no_library(self):
        """The command alone, elsewhere."""
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.environ["INFEROMETER"], folder)
            done = tap.Case.script("from inferometer import measure; measure(len, ())",
                                   {"INFEROMETER": f"{folder}/inferometer"})
        self.assertRegex(done.stderr.splitlines()[-1], "Unavailable: no libinferometer.so.0 beside the command")


if __name__ == "__main__":
    tap.main()
