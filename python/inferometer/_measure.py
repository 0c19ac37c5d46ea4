"""A Python callable, measured by the library's own stopping rule, in this process."""
import ctypes
import functools
import inspect
import json
import math
import numbers
import pathlib
import re
import signal
import statistics
import threading

from . import _errors
from ._command import command
from ._notebook import number
from ._result import Summary

_RUN = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_FAILED, _CANCELLED = 4, 9  # of IfmErrorCode
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
_BARE = ("n", "n_effective", "n_outliers", "drift_ratio", "drift_p", "drifting")  # are no times


class _GError(ctypes.Structure):
    _fields_ = [("domain", ctypes.c_uint32), ("code", ctypes.c_int), ("message", ctypes.c_char_p)]


@functools.cache
def _library():
    """The library that came with the command: beside it in a build, else in lib beside its bin."""
    here = pathlib.Path(command()).resolve().parent
    folders = [here, here.parent / "lib", *sorted(here.parent.glob("lib/*-linux-gnu"))]
    path = next((p for p in (f / "libinferometer.so.0" for f in folders) if p.exists()), None)
    if path is None:
        raise _errors.Unavailable(f"no libinferometer.so.0 beside the command {command()}")
    # PyDLL: no other thread of Python has its turn between two runs, in what is timed
    lib = ctypes.PyDLL(str(path))
    if not hasattr(lib, "ifm_model_input_names"):
        raise _errors.Unavailable(f"{path}: another version, which is not for this package")
    text, pointer = ctypes.c_char_p, ctypes.c_void_p
    for name, result, arguments in (
            ("ifm_measure_callback", pointer, [text, _RUN, pointer, text, pointer]),
            ("ifm_trace_log", pointer, [text, text, pointer]),
            ("ifm_model_input_names", pointer, [text, pointer]),
            ("ifm_error_set", ctypes.c_int, [pointer, ctypes.c_int, text]),
            ("ifm_error_exit_status", ctypes.c_int, [pointer]),
            ("g_error_free", None, [pointer]), ("g_free", None, [pointer])):
        getattr(lib, name).restype, getattr(lib, name).argtypes = result, arguments
    return lib


def answer(name, *arguments):
    """What a function of the library answers in JSON; its error as an exception."""
    lib, error = _library(), ctypes.POINTER(_GError)()
    text = getattr(lib, name)(*arguments, ctypes.byref(error))
    if not text:
        status, message = lib.ifm_error_exit_status(error), error.contents.message.decode()
        lib.g_error_free(error)
        raise _errors.of(status, message, [message])
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        lib.g_free(text)


class Measured:
    """What measure() found: summary (verdict, trust), median_ns and interval_ns (None of too few
    runs), mean_ns, std_ns, min_ns, max_ns, n, drift_ratio and the library's other figures,
    stop_reason, warnings, samples_ns, warmup_ns, json (all of it)."""
    figures, tables = (), {}  # as of a Result

    def __init__(self, record, overhead_ns=0):
        found = record["measurement"]
        self.json, self.stop_reason = record, found["stop_reason"]
        self.samples_ns, self.warmup_ns = found["samples_ns"], found["warmup_ns"]
        self.warnings = found["environment"].get("warnings", [])
        figures = {k: float("nan") if v is None else v for k, v in found["summary"].items()}
        interval = figures.pop("median_interval")
        self.interval_ns = interval["lower"] and (interval["lower"], interval["upper"])
        self.__dict__.update({k if k in _BARE else f"{k}_ns": v for k, v in figures.items()})
        if overhead_ns > 0.01 * figures["median"]:
            trust = record["summary"]["trust"]
            trust["checks"].append({"level": "care", "text": "calling it from Python takes about "
                                    f"{overhead_ns:.0f} ns of that: let it repeat its work"})
            if trust["level"] == "good":
                trust.update(level="care", words="usable, with care")
        self.summary = Summary(record["summary"])

    def frame(self):
        """A pandas.DataFrame, a row a run, those of warm-up first."""
        import pandas
        series = {"warmup": self.warmup_ns, "run": self.samples_ns}
        rows = [(kind, i, time) for kind in series for i, time in enumerate(series[kind])]
        return pandas.DataFrame(rows, columns=["kind", "index", "time_ns"])

    @property
    def text(self):
        """One line."""
        ends = [number(end, "ns") for end in self.interval_ns or ()]
        interval = f" ({' to '.join(ends)})" if ends else ""
        return (f"median {number(self.median_ns, 'ns')}{interval}, {self.n} runs, ended by "
                f"{self.stop_reason}")

    def __repr__(self):
        return f"<Measured: {self.text}>"

    def _repr_html_(self):
        from ._notebook import to_html
        return to_html(self)


def _number(key, value, units):
    """A number, or a text with one of the units: 0.5, "500 ms", "1%"."""
    value = value.total_seconds() if hasattr(value, "total_seconds") else value
    found = isinstance(value, str) and re.fullmatch(r"\s*([\d.]+)\s*([a-zµ%]+)\s*", value)
    try:
        number = float(found[1]) * units[found[2]] if found else float(value)
        if isinstance(value, bool) or not math.isfinite(number):
            raise ValueError
        return number
    except (TypeError, ValueError, KeyError):
        text = f", or a text with {', '.join(units)}" if units else ""
        raise _errors.UsageError(f"{key}={value!r}: a number{text}") from None


def _count(key, value):
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise _errors.UsageError(f"{key}={value!r}: a whole number")
    if value == 0 and key in ("runs", "max_runs"):
        raise _errors.UsageError(f"{key}=0: at least 1")
    return int(value)


def _protocol(ci, time_budget, counts):
    if counts["runs"] is not None and (ci, time_budget) != (None, None):
        raise _errors.UsageError("runs with ci or time_budget: a count, or an interval to reach")
    protocol = {k: _count(k, v) for k, v in counts.items() if v is not None}
    if protocol.get("min_runs", 0) > protocol.get("max_runs", math.inf):
        raise _errors.UsageError(f"min_runs={counts['min_runs']} with max_runs="
                                 f"{counts['max_runs']}: the most is less than the least")
    if ci is not None:
        protocol["ci_ratio"] = _number("ci", ci, {"%": 0.01})
    if time_budget is not None:
        protocol["time_budget_ns"] = int(1e9 * _number("time_budget", time_budget, _SECONDS))
    return protocol


def _run(name, call, protocol):
    """The library's record (None where it ended without), and what the callable raised."""
    lib, raised, inside, interrupts = _library(), [], False, []

    def run(_, error):
        nonlocal inside
        try:
            inside = True
            if interrupts:
                before(*interrupts.pop())
            call()
            inside = False
            return 1
        except BaseException as exception:  # pylint: disable=broad-except  # none may cross C
            inside = False
            raised.append(exception)
            code = _CANCELLED if isinstance(exception, KeyboardInterrupt) else _FAILED
            lib.ifm_error_set(error, code, b"the callable raised")
            return 0

    def interrupt(number, frame):
        """Outside of run() what it raises would be lost: it waits."""
        if inside:
            before(number, frame)
        else:
            interrupts.append((number, frame))

    before = signal.getsignal(signal.SIGINT)
    mine = callable(before) and threading.current_thread() is threading.main_thread()
    if mine:
        signal.signal(signal.SIGINT, interrupt)
    record = None
    try:
        record = answer("ifm_measure_callback", name.encode(), _RUN(run), None,
                        json.dumps(protocol).encode())
    except _errors.Failed:
        if not raised:
            raise
    finally:
        if mine:
            signal.signal(signal.SIGINT, before)
    if interrupts:
        try:
            before(*interrupts.pop())
        except KeyboardInterrupt as exception:
            raised.append(exception)
    return record, raised


@functools.cache
def _overhead_ns():
    """What calling a function that does nothing takes."""
    record, raised = _run("nothing", functools.partial(int), {"runs": 300, "warmup": 30})
    if raised:  # Ctrl-C
        raised[0].measured = None
        raise raised[0]
    return statistics.median(record["measurement"]["samples_ns"])


def measure(function, *args, name=None, ci=None, runs=None, warmup=None, min_runs=None,
            max_runs=None, time_budget=None, **kwargs):
    """Runs function(*args, **kwargs) until half the median's 95 % interval is at most ci of it
    (0.01), or for time_budget (20 s; or "500 ms"); or exactly runs times, after warmup (10).

    What the callable raises comes out of here. Of Ctrl-C the attribute "measured" has what was
    measured before it, or None. Arguments of these names: by functools.partial().
    """
    if not callable(function):
        raise TypeError(f"measure(): a {type(function).__name__} cannot be called: give a "
                        "function, then its arguments")
    if any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None)))):
        raise _errors.UsageError("measure(): a call of an async function runs nothing of it: give a "
                                 "function that runs it, as asyncio.run() does")
    if not isinstance(name, (str, type(None))):
        raise _errors.UsageError(f"name={name!r}: a text")
    protocol = _protocol(ci, time_budget, {"runs": runs, "warmup": warmup, "min_runs": min_runs,
                                           "max_runs": max_runs})
    title = name or getattr(function, "__name__", None) or type(function).__name__
    overhead_ns = _overhead_ns()
    record, raised = _run(title, functools.partial(function, *args, **kwargs), protocol)
    measured = record and Measured(record, overhead_ns)
    if raised:
        if isinstance(raised[0], KeyboardInterrupt):
            raised[0].measured = measured
        raise raised[0]
    return measured
