"""Where the command is."""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import warnings

from ._errors import Unavailable


def _bundled():
    path = pathlib.Path(__file__).parent / "_root" / "bin" / "inferometer"
    return str(path) if path.exists() else None


def table_of(path):
    """What a command tells of itself: its version, its verbs and their options."""
    try:
        asked = [path, "help", "--json"]
        said = subprocess.run(asked, capture_output=True, timeout=60, check=False)
        return json.loads(said.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        raise Unavailable(f"{path}: tells no options (help --json): another program, or an older "
                          "version") from None


def _is_own_script(path):
    """Whether it is the console script of this Python, which runs what is chosen here."""
    with open(path, "rb") as file:
        head = os.fsdecode(file.read(4096))
    folder = os.path.dirname(head.partition("\n")[0].removeprefix("#!").strip())
    return (head.startswith("#!") and "from inferometer." in head
            and folder == os.path.dirname(sys.executable))


def _on_path():
    """All commands on PATH, each once, but for the console script of this Python."""
    found = {}
    for folder in os.get_exec_path():
        path = shutil.which("inferometer", path=folder)
        if path is not None and not _is_own_script(path):
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _other(ours, paths):
    """That one of the others is of another version; None where none is."""
    others = [path for path in paths if not os.path.samefile(path, ours)]
    version = table_of(ours)["version"] if others else None
    for path in others:
        try:
            other = table_of(path)["version"]
        except Unavailable:
            continue  # a script that starts one, or something else by that name
        if other != version:
            return f"{ours} ({version}) and {path} ({other}) are two versions of the command"
    return None


def choose():
    """The path of the command (INFEROMETER names it, or it came with this package, or it is on
    PATH), and all those on PATH."""
    named = os.environ.get("INFEROMETER") or None
    if named and shutil.which(named) and _is_own_script(shutil.which(named)):
        named = None
    found = _on_path() if named is None else []
    chosen = named or _bundled() or (found[0] if found else None)
    if chosen is None:
        raise Unavailable("the command inferometer is neither in this package nor on PATH; "
                          "the variable INFEROMETER may name it")
    if shutil.which(chosen) is None:
        raise Unavailable(f"INFEROMETER={chosen}: no such program")
    return chosen, found


@functools.cache
def command():
    """The path of the command, after a look at the others on PATH."""
    chosen, found = choose()
    other = _other(chosen, found)
    if other is not None and _bundled() is None:
        raise Unavailable(f"{other}; the variable INFEROMETER names the one to use")
    if other is not None:
        warnings.warn(f"{other}; this package runs its own", stacklevel=2)
    return chosen


def ops_library():
    """The path of libinferometer_ops.so, which has the operators of tuned models:
    onnxruntime.SessionOptions().register_custom_ops_library(inferometer.ops_library())"""
    own = pathlib.Path(shutil.which(command())).resolve().parent
    for folder in (own.parent / "lib", own):  # installed, and as it is built
        path = folder / "libinferometer_ops.so"
        if path.exists():
            return str(path)
    raise Unavailable(f"libinferometer_ops.so is neither in {own.parent / 'lib'} nor in {own}")


def environment():
    """The variables for the command: the libraries of runtimes whose packages lie elsewhere than
    beside this one (the system's, a user's), where the command does not look."""
    from importlib.util import find_spec
    ours, variables = pathlib.Path(__file__).parent.parent, dict(os.environ)
    for name, libraries in (("openvino", "libs/libopenvino_c.so.*"),
                            ("onnxruntime", "capi/libonnxruntime.so.*")):
        variable = f"IFM_{name.upper()}_LIBRARY"
        if _bundled() is None or variables.get(variable) or (ours / name).is_dir():
            continue
        spec = find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for library in sorted(pathlib.Path(folder).glob(libraries)):
                variables[variable] = str(library)
    return variables
