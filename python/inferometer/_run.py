"""Runs a verb in a process of its own and takes what it wrote. A crash of a runtime is a row of the
result; this process never loads one."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from . import _errors
from ._command import choose, command, environment
from ._options import plain, verbs
from ._progress import Watch
from ._result import Result

# what a verb writes for the result, by option
OUTPUTS = ("json", "csv", "document", "html", "figures")
WORDS = (str, os.PathLike, int, float)
PREFIX = "inferometer-python-"  # of temporary folders
NEW_S = 10  # so young a folder may have no lock yet
STOP_S = 20  # so long a command may take to end, once it is asked to
MAX_SHOWN = 60000  # characters: more, Linux passes in no variable
POINTER = re.compile(r" \(see inferometer help [a-z ]+\)$")


def _devices(verb, devices):
    """What --device is given."""
    if not verb.has("device"):
        raise TypeError(f"{verb.function}() takes no devices")
    if isinstance(devices, dict):
        devices = [f"{alias}={device}" for alias, device in devices.items()]
    devices = [devices] if isinstance(devices, str) else devices
    if not isinstance(devices, (list, tuple)):
        raise TypeError(f"devices: takes a name, a list or {{alias: device}}, not {devices!r}")
    if not devices:
        raise TypeError("devices: names none; without it, all that are there")
    if len(devices) > 1 and not verb.options["device"].repeatable:
        raise TypeError(f"{verb.function}() takes one device, not {len(devices)}")
    return devices if verb.options["device"].repeatable else "".join(devices) or None


def _stop(child):
    """As Ctrl-C does: the command keeps what it has and ends; what does not end is ended."""
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGINT)
    try:
        child.wait(STOP_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        child.wait()


@contextlib.contextmanager
def _folder():
    """A temporary folder, locked while it is in use. Those of processes that were killed go."""
    for old in pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # of another user, or in use
            if old.stat().st_mtime < time.time() - NEW_S:
                with _locked(old):
                    shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as name, _locked(name):
        yield name


@contextlib.contextmanager
def _locked(folder):
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _call(verb, arguments, inputs, options):
    """The call as Python has it, objects by what they are: "profile(Sequential(…), inputs=…)"."""
    def text(value):
        if isinstance(value, tuple):
            return f"({', '.join(map(text, value))})"
        plain_one = isinstance(value, (*WORDS, list, dict))
        return repr(value) if plain_one else f"{type(value).__name__}(…)"

    said = [*map(text, arguments), *([] if inputs is None else ["inputs=…"]),
            *(f"{'devices' if key == 'device' else key}={text(value)}"
              for key, value in options.items() if value is not None)]
    return f"inferometer.{verb.function}({', '.join(said)})"


def _run(words, shown, watch):
    """The command, its lines of standard error as they come. shown: in place of its words. Returns:
    status and standard output"""
    shown = json.dumps(shown)
    variables = dict(environment(), NO_COLOR="1", COLUMNS="100", IFM_PARENT=str(os.getpid()),
                     IFM_COMMAND=shown if len(shown) < MAX_SHOWN else '"inferometer …"')
    try:
        child = subprocess.Popen([command(), *words], env=variables, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                                 errors="replace", start_new_session=True)
    except OSError as reason:
        raise _errors.Unavailable(f"{command()}: {reason.strerror}") from None
    with child:
        text = []
        reader = threading.Thread(target=lambda: text.append(child.stdout.read()), daemon=True)
        reader.start()
        try:
            for line in child.stderr:
                watch.take(line.rstrip("\n"))
            status = child.wait()
        except BaseException as why:  # the notebook's stop button, or an error of a progress bar
            _stop(child)
            if isinstance(why, KeyboardInterrupt):  # what the command says of how it goes on
                for line in child.stderr:
                    watch.take(line.rstrip("\n"))
                last = watch.lines[-1] if watch.lines else "interrupted"
                raise KeyboardInterrupt(_plain(last)) from None
            raise
        finally:
            watch.close()
        reader.join()
    return status, "".join(text)


def _plain(line):
    """A line of the command without the words that are for who types commands."""
    return POINTER.sub("", line.removeprefix("inferometer: ").replace("--resume", "resume=True"))


def _stamp(path):
    """That a file is not the one of before."""
    with contextlib.suppress(OSError):
        found = os.stat(path)
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns
    return None


class _Given:
    """Files that the caller asked for: the result reads what was written now."""

    def __init__(self, verb, options):
        self.files = {o: pathlib.Path(options[o]) for o in OUTPUTS if verb.has(o)
                      and isinstance(options.get(o), (str, os.PathLike)) and str(options[o]) != "-"}
        self.before = {path: _stamp(path) for path in self._all()}

    def _all(self):
        folder = self.files.get("figures")
        return [*self.files.values(), *(folder.glob("*.svg") if folder else [])]

    def written(self):
        """The paths of those; of figures each."""
        return {path for path in self._all() if _stamp(path) != self.before.get(path)}


def run_verb(name, /, *arguments, devices=None, progress=None, inputs=None, **options):
    """Runs a verb by the name of its function ("profile", "study_run").

    devices: one, a list, or {alias: device}. progress: None: a bar of tqdm where it is installed;
    True: lines; False: nothing; or a function that is called with each change, a dict. inputs: the
    example inputs of a torch module; of another model {name: array}.
    """
    verb = verbs()[name]
    if devices is not None:
        if "device" in options:
            raise TypeError(f"{name}(): devices and device are the same: give one")
        options["device"] = _devices(verb, devices)
    words, theirs = verb.words(options), _Given(verb, options)
    verb.check(len(arguments) + ("estimate" in options and verb.min > 0))
    with _folder() as folder:
        files = pathlib.Path(folder)
        arguments = [plain(argument) for argument in arguments]
        shown = [*words, *(["--"] if any(str(a)[:1] == "-" for a in arguments) else []),
                 *map(str, arguments)]
        if inputs is not None or not all(isinstance(a, WORDS) for a in arguments):
            from ._models import as_words
            shown = _call(verb, arguments, inputs, options)
            arguments, more = as_words(verb, arguments, inputs, options, files)
            words += more
        given = [key for key, value in options.items() if value is not None and value is not False]
        wanted = [o for o in OUTPUTS if verb.has(o) and o not in given
                  and verb.excluded(o, given) is None]
        outputs = {o: files / f"result.{o}" for o in wanted}
        watch = Watch(progress, verb.has("progress") and not options.get("quiet"))
        words = [*verb.name.split(), *words, *watch.words,
                 *(f"--{o}={path}" for o, path in outputs.items()), "--", *map(str, arguments)]
        status, text = _run(words, shown, watch)

        def clean(said):  # files that are gone when this ends
            return said.replace(folder + os.sep, "")

        notes = [_plain(clean(line)) for line in watch.lines if line]
        if status not in (0, 1) or (status == 1 and not any(p.exists() for p in outputs.values())
                                              and not theirs.written()):
            last = notes[-1] if notes else f"inferometer {verb.name} ended with status {status}"
            raise _errors.of(status, last, notes)
        written = theirs.written()
        outputs |= {o: path for o, path in theirs.files.items()
                    if o == "figures" or path in written}
        return Result(verb, status, clean(text), notes, outputs, clean,
                      theirs.before.keys() - written)


def complete(name):
    """The function of a verb, with its options as its signature and its help."""
    verb = verbs()[name]

    def function(*arguments, **options):
        return run_verb(name, *arguments, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = verb.doc()
    function.__signature__ = verb.signature()
    return function


def main():
    """The console script: the command itself, in place of this process."""
    try:
        os.execve(choose()[0], ["inferometer", *sys.argv[1:]], environment())
    except (OSError, _errors.Unavailable) as reason:
        sys.exit(f"inferometer: {reason}")
