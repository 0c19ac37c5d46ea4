"""What benches against a peer in Python share: the peer's environment, our library, the interval of a median."""
import ctypes
import importlib.util
import math
import os
import pathlib
import statistics
import subprocess
import sys

BUILD = os.environ.get("IFM_BENCH_BUILD", "build")  # set by tools/run-benches
# A run of seconds (tools/run-benches --quick): it shows that a bench starts and finds its figures. Results are judged, times are not.
QUICK = "IFM_BENCH_QUICK" in os.environ
# The environment of benches against PyTorch: its wheel brings several GB along, so that they share one.
LARGE = {"torch", "torchvision"}
TORCH = "torch", ["onnx-tool==1.0.1", "onnx==1.23.2", "numpy==2.4.6", "torch==2.15.0", "torchvision==0.29.2"]


def usual(rounds, quick=1):
    """How many rounds, runs or seconds: a quick run makes do with less."""
    return quick if QUICK else rounds


def has(module):
    """Whether a peer is in the environment. Large ones are left out of quick runs."""
    return importlib.util.find_spec(module) is not None


def in_environment(folder, name, wheels):
    """Goes on in a private Python environment that has the wheels; made once, in folder/name. A quick run makes do without the wheels
    of LARGE, where that environment has not been made before."""
    home = folder.resolve() / name
    if QUICK and not (home / ".ready").exists() and any(wheel.split("==")[0] in LARGE for wheel in wheels):
        name, wheels = name + "-small", [wheel for wheel in wheels if wheel.split("==")[0] not in LARGE]
    home = folder.resolve() / name
    stamp = home / ".ready"
    if not stamp.exists() or stamp.read_text().split() != wheels:
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", *wheels], check=True)
        stamp.write_text("\n".join(wheels))
    if pathlib.Path(sys.prefix) != home:
        os.execv(home / "bin" / "python", [home / "bin" / "python", *sys.argv])


def median_interval(values):
    """Distribution-free interval of the median, at least 95 % of 6 values or more: symmetric order statistics by the binomial."""
    values = sorted(values)
    n, below = len(values), 0.0
    for k in range(n // 2):
        below += math.comb(n, k) / 2**n
        if below > 0.025:
            return (values[k - 1], values[n - k]) if k > 0 else (values[0], values[-1])
    return values[0], values[-1]


def judge(ratios, aim):
    """The words for a ratio (peer / ours) that ought to be the aim or more (None: no aim), and whether that is missed for certain."""
    lower, upper = median_interval(ratios)
    words = f"median of {len(ratios)} ratios {sorted(ratios)[len(ratios) // 2]:.1f}, 95 % interval {lower:.1f} to {upper:.1f}"
    if aim is None:
        return words, False
    verdict = "reached" if lower >= aim else "missed" if upper < aim else "not told apart"
    return f"{words} (aim: {aim}): {verdict}", upper < aim and not QUICK


def judge_within(ratios, least, most):
    """The words for a ratio that ought to lie within bounds, and whether its interval lies wholly outside. Reached: wholly within."""
    lower, upper = median_interval(ratios)
    is_missed = upper < least or lower > most
    verdict = "missed" if is_missed else "reached" if least <= lower and upper <= most else "inconclusive"
    return (f"median of {len(ratios)} ratios {statistics.median(ratios):.4f}, 95 % interval {lower:.4f} to {upper:.4f} "
            f"(aim: {least} to {most}): {verdict}"), is_missed and not QUICK


class Node(ctypes.Structure):
    """IfmNode of src/onnx/onnx.h."""
    _fields_ = [("name", ctypes.c_char_p), ("op_type", ctypes.c_char_p), ("domain", ctypes.c_char_p),
                ("inputs", ctypes.POINTER(ctypes.c_char_p)), ("n_inputs", ctypes.c_size_t),
                ("outputs", ctypes.POINTER(ctypes.c_char_p)), ("n_outputs", ctypes.c_size_t), ("proto", ctypes.c_void_p)]


class NodeCost(ctypes.Structure):
    """IfmNodeCost of src/onnx/onnx.h."""
    _fields_ = [("covered", ctypes.c_int), ("family", ctypes.c_int), ("macs", ctypes.c_int64), ("flop", ctypes.c_int64),
                ("bytes_read", ctypes.c_int64), ("bytes_written", ctypes.c_int64)]


class Tensor(ctypes.Structure):
    """IfmTensor of src/base/tensor.h."""
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_int), ("shape", ctypes.c_int64 * 16), ("strides", ctypes.c_int64 * 16),
                ("memory", ctypes.c_int), ("data", ctypes.c_void_p), ("size_bytes", ctypes.c_size_t), ("release", ctypes.c_void_p),
                ("owner", ctypes.c_void_p)]


class Error(ctypes.Structure):
    """GError."""
    _fields_ = [("domain", ctypes.c_uint32), ("code", ctypes.c_int), ("message", ctypes.c_char_p)]


FUNCTIONS = {
    "ifm_model_open": (ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_void_p]),
    "ifm_model_unref": (None, [ctypes.c_void_p]),
    "ifm_model_n_nodes": (ctypes.c_size_t, [ctypes.c_void_p]),
    "ifm_model_node": (ctypes.POINTER(Node), [ctypes.c_void_p, ctypes.c_size_t]),
    "ifm_model_n_parameters": (ctypes.c_int64, [ctypes.c_void_p]),
    "ifm_model_initializer": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(Tensor)]),
    "ifm_model_analyse": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]),
    "ifm_analysis_free": (None, [ctypes.c_void_p]),
    "ifm_analysis_total": (None, [ctypes.c_void_p, ctypes.POINTER(NodeCost), ctypes.POINTER(ctypes.c_size_t)]),
    "ifm_analysis_node_cost": (ctypes.POINTER(NodeCost), [ctypes.c_void_p, ctypes.c_size_t]),
}


class Functions:
    """The functions of our library by name, those that it does not export, too (bench/access.c)."""

    def __init__(self, build):
        self._library = ctypes.CDLL(str(pathlib.Path(build).resolve() / "bench" / "libinferometer-bench.so"))
        self._library.bench_function.restype = ctypes.c_void_p

    def __getattr__(self, name):
        address = self._library.bench_function(name.encode())
        if address is None:
            raise AttributeError(f"bench/access.c has no row for {name}")
        function = self._library._FuncPtr(address)
        setattr(self, name, function)
        return function


class Library:
    """Our shared library, in this very process: no process of ours starts within what is timed."""

    def __init__(self, build):
        self.c = Functions(build)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments

    def _made(self, function, *arguments):
        error = ctypes.POINTER(Error)()
        made = function(*arguments, ctypes.byref(error))
        if not made:
            raise SystemExit(error.contents.message.decode())
        return made

    def open(self, path):
        return self._made(self.c.ifm_model_open, str(path).encode())

    def analyse(self, model):
        return self._made(self.c.ifm_model_analyse, model, None, 0)

    def total(self, analysis):
        """The sum of all nodes' costs, and how many nodes that were."""
        total, n = NodeCost(), ctypes.c_size_t()
        self.c.ifm_analysis_total(analysis, ctypes.byref(total), ctypes.byref(n))
        return total, n.value

    def nodes(self, model):
        return [self.c.ifm_model_node(model, i).contents for i in range(self.c.ifm_model_n_nodes(model))]
