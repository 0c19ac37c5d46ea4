"""Every kind of page, made by commands on simulated devices: Page.make() writes NAME.html, and NAME.json beside it, the document."""
import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess

KIB = 1024
# A page is at most so large; more only where it shows what is many.
BOUND, STUDY_BOUND, TRACE_BOUND = 300 * KIB, 1024 * KIB, 2048 * KIB

EIGHT = ["ideal/CPU", "ideal/GPU", "ideal/NOISY", "ideal/CPU@1", "ideal/CPU#2", "ideal/NOISY@1", "ideal/NOISY@0", "ideal/GPU#2"]
SHORT = "--runs 5 --warmup 1 --no-verify"
# A right-to-left name, one that overrides the direction, a tag, a formula, a name of 5 KB.
HOSTILE = ["\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "a\u202egnp.exe", "<b>bold</b><script>window.hostile=1</script>",
           "=cmd|' /C calc'!A0", "w" * 5120]


def devices(n):
    return " ".join(f"-d {chr(ord('A') + i)}=simulated:{EIGHT[i]}" for i in range(n))


def study(n):
    units = {f"{'CGN'[i % 3]}PU{i // 3 or ''}": "meteor-lake/" + ("CPU", "GPU", "NPU")[i % 3] for i in range(n)}
    text = "title: Stages of GraphSAGE\nsubject: {model: graphsage, features: 500, hidden: 500, ranges: [1-7]}\n"
    text += "graph: {kind: uniform, seed: 1}\nsizes:\n  - {nodes: 5000, edges: [10000, 25000]}\n  - {nodes: 10000, edges: [20000]}\ndevices:\n"
    text += "".join(f"  {name}: {{device: \"simulated:{unit}\"}}\n" for name, unit in units.items())
    return text + f"protocol: {{warmup: 1, runs: 3}}\nlinks: {{measure: false}}\ncontention: {{measure: {'true' if n == 2 else 'false'}}}\n"


NETWORKS = """title: Two networks, two batches
kind: profile
models: ["squeezenet,size=64", "mobilenet_v2,size=64"]
batch: [1, 2]
devices:
  A: {device: "simulated:ideal/CPU"}
  B: {device: "simulated:ideal/GPU"}
protocol: {warmup: 1, runs: 5}
"""
CONVOLUTIONS = """title: Algorithms of one network
kind: conv-algorithms
models: [squeezenet]
algorithms: [winograd, direct, runtime]
sizes: [64, 80]
protocol: {warmup: 1, runs: 3}
devices: {CPU: {device: "simulated:ideal/CPU"}}
"""
KERNELS = """title: Kernels of one network
kind: kernels-under-load
models: ["squeezenet,size=32"]
held_out: ["squeezenet,size=48"]
shapes: 20
loaded: 3
visits: 2
stress: [gemm]
levels: [50]
cores: [same]
threads: [1]
devices:
  CPU: {device: "onnxruntime:CPU@0"}
protocol: {warmup: 1, min_runs: 3, max_runs: 5, ci: 5 %, time_budget: 1 ms}
"""


@dataclasses.dataclass
class Page:
    """@lines: run one after another; {html} and {json} in the last are the page's files. @files: what they need. @after: the pages
    that are made before. @may_fail: exit status 1 is as it should be. @needs: of the machine."""
    name: str
    lines: list
    bound: int = BOUND
    files: dict = dataclasses.field(default_factory=dict)
    after: str = ""
    may_fail: bool = False

    def make(self, program, folder):
        for name, content in self.files.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        for line in self.lines:
            words = [word.replace("{html}", self.name + ".html").replace("{json}", self.name + ".json") for word in line.split(" ")]
            done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=120)
            if done.returncode not in ((0, 1) if self.may_fail else (0,)):
                raise RuntimeError(f"inferometer {line}: status {done.returncode}: {done.stderr.strip()[-600:]}")


WRITE = " -q --html {html} --document {json}"


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of a protocol buffer: an integer, a text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name):
    shape = b"".join(field(1, field(1, 64)) for _ in range(2))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def hostile_model():
    """A chain of Relu whose nodes and tensors have hostile names."""
    names = [f"{name} {i}" for i, name in enumerate(HOSTILE)]
    nodes = b"".join(field(1, field(1, "in" if i == 0 else names[i - 1]) + field(2, name) + field(3, name) + field(4, "Relu"))
                     for i, name in enumerate(names))
    graph = nodes + field(2, HOSTILE[2]) + field(11, tensor("in")) + field(12, tensor(names[-1]))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


def hostile_trace():
    events = [{"ph": "X", "name": HOSTILE[i % len(HOSTILE)], "pid": 1, "tid": i % 3, "ts": 10 * (i // 3), "dur": 4 + i % 7}
              for i in range(400)]
    names = [{"ph": "M", "name": "thread_name", "pid": 1, "tid": i, "args": {"name": HOSTILE[i]}} for i in range(3)]
    return json.dumps({"traceEvents": names + events})


def large_trace(n=100_000):
    events = [{"ph": "X", "name": f"kernel {i % 50}", "pid": 1, "tid": i % 4, "ts": 10 * (i // 4), "dur": 4 + i % 5} for i in range(n)]
    return json.dumps({"traceEvents": events})


def all_pages(root):
    """In an order in which the slow ones begin first. @root: of the repository"""
    return [
        Page("study-3", ["study run ./study-3.yaml -o study-3" + WRITE], STUDY_BOUND, {"study-3.yaml": study(3)}, may_fail=True),
        Page("kernels", ["study run ./kernels.yaml -o kernels" + WRITE], STUDY_BOUND, {"kernels.yaml": KERNELS}),
        Page("training", [f"profile squeezenet,size=64 --mode train {devices(1)} {SHORT} -o training" + WRITE]),
        Page("scaling", [f"profile gps --profile scaling {devices(1)} {SHORT} --no-peak --num-nodes 200 -o scaling" + WRITE]),
        *[Page(f"profile-{n}", [f"profile squeezenet,size=64 {devices(n)} {SHORT} -o profile-{n}" + WRITE]) for n in (1, 2, 3, 8)],
        *[Page(f"study-{n}", [f"study run ./study-{n}.yaml -o study-{n}" + WRITE], STUDY_BOUND, {f"study-{n}.yaml": study(n)}, may_fail=n > 2) for n in (1, 2, 8)],
        Page("compare", ["compare squeezenet,size=64 squeezenet,size=32 -d simulated:ideal/NOISY --time-budget 1s -o compare" + WRITE]),
        Page("transformer", [f"profile graph_transformer {devices(2)} {SHORT} -o transformer" + WRITE]),
        Page("sizes", [f"profile squeezenet --dim size=64,96,128 {devices(2)} {SHORT} --no-peak -o sizes" + WRITE]),
        Page("study-profile", ["study run ./networks.yaml -o networks" + WRITE], STUDY_BOUND, {"networks.yaml": NETWORKS}),
        Page("study-large", [f"study import {root}/data/meteor-lake/large-55-sizes.csv --hidden 500 --name large -o large -q",
                             "study export ./large" + WRITE], STUDY_BOUND),
        Page("convolutions", ["study run ./conv.yaml -o conv" + WRITE], STUDY_BOUND, {"conv.yaml": CONVOLUTIONS}),
        Page("convolutions-predicted", ["study predict ./conv --model squeezenet --size 70" + WRITE], after="convolutions"),
        Page("kernels-list", ["kernels list squeezenet,size=32" + WRITE]),
        Page("kernels-run", ["kernels run chain.onnx again.onnx --runs 10 -o kernels-run" + WRITE],
             files={"chain.onnx": hostile_model(), "again.onnx": hostile_model()}),
        Page("plan", ["plan ./study-3 --size 5000,10000" + WRITE], after="study-3"),
        Page("plan-sizes", ["plan ./large " + " ".join(f"--size {n},{k * n}" for n in (1000, 5000, 10000, 20000, 30000) for k in (2, 3, 5)) + WRITE],
             after="study-large"),
        Page("run-60", ["run ./study-3 --size 5000,10000 --batches 60 --repetitions 3 --pilot 0 -o run-60" + WRITE], after="study-3"),
        Page("run", ["run ./study-3 --size 5000,10000 --batches 40 --repetitions 3 --pilot 0 -o run --trace run-trace.json.gz" + WRITE], after="study-3"),
        Page("trace", ["trace run-trace.json.gz" + WRITE], TRACE_BOUND, after="run"),
        Page("trace-large", ["trace large.json" + WRITE], TRACE_BOUND, {"large.json": large_trace()}),
        Page("predict", ["predict squeezenet,size=64 --with kernels/latency.json" + WRITE], after="kernels"),
        Page("evaluate", ["evaluate squeezenet,size=48 --with kernels/latency.json -o evaluate" + WRITE], after="kernels"),
        Page("train", ["train kernels/kernels.csv -o latency.json" + WRITE], after="kernels"),
        Page("stores", ["report study-3 study-2" + WRITE], STUDY_BOUND, after="study-2 study-3"),
        Page("hostile-profile", [f"profile hostile.onnx {devices(2)} {SHORT} -o hostile" + WRITE], files={"hostile.onnx": hostile_model()}),
        Page("hostile-trace", ["trace hostile.json" + WRITE], TRACE_BOUND, {"hostile.json": hostile_trace()}),
    ]


def schema_check(program):
    """A function of a document that returns where it is not what `help --schema document` says. Raises ImportError without jsonschema."""
    import jsonschema
    schema = json.loads(subprocess.run([program, "help", "--schema", "document"], capture_output=True, text=True, check=True).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    def check(document):
        errors = [jsonschema.exceptions.best_match([error]) for error in validator.iter_errors(document)]
        return [f"schema: {error.json_path}: {error.message[:200]}" for error in errors]
    return check


def verb_of(line, verbs):
    """The verb of a line: of names of one and two words the longer."""
    words = line.split(" ")
    return next(name for name in (" ".join(words[:2]), words[0]) if name in verbs)


def make_all(program, root, folder, wanted=None):
    """Yields (page, None or what went wrong) as they are made, two at a time. @wanted: names; None: all"""
    pages = {page.name: page for page in all_pages(root)}
    if wanted is not None:
        needed = set(wanted)
        while more := {one for name in needed for one in pages[name].after.split()} - needed:
            needed |= more
        pages = {name: page for name, page in pages.items() if name in needed}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waiting, running = dict(pages), {}
        made = set()
        while waiting or running:
            for name in [name for name, page in waiting.items() if set(page.after.split()) <= made]:
                if len(running) < 2:
                    page = waiting.pop(name)
                    running[pool.submit(page.make, program, pathlib.Path(folder))] = page
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for one in done:
                page = running.pop(one)
                made.add(page.name)
                error = one.exception()
                if wanted is None or page.name in wanted:
                    yield page, str(error) if error else None
