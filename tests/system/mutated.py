#!/usr/bin/env python3
"""mutated.py PROGRAM SOURCE [--seconds S] [--only WORD] [--keep DIR]: damaged files through every verb that reads one.

Each job below is a verb (or several, one after another) and the files that it starts from, those of fuzz/corpus and of the
tests. Round after round each job gets the next damaged copy of the next of its files, until the time is over. What is
damaged and how follows from the job, the file and the round alone, so that a finding is found again. The program and its
worker should be built with the address and undefined-behaviour sanitizers.

A command has to end by itself, within its time, with status 0, 1, 3 or 4 (never 2: a file is no misuse), without a report
of a sanitizer, without a worker that a signal ended, and to say at most one line "inferometer: ...", exactly one where it
ends with 3 or 4. Some files of a job have to be read. Prints TAP, one test a job. A damaged file that did worse is kept in DIR."""
import argparse
import concurrent.futures
import glob
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

COMMAND_S = 60
WHOLE_TURNS = 5 # every fifth file is whole: a job that reads none of its files finds nothing
SIMULATED = "-d simulated:ideal/GPU"
BAD = re.compile(r"Sanitizer|runtime error:|ended by SIG|-CRITICAL \*\*|-ERROR \*\*|assertion")
WORDS = [b"-1", b"0", b"1e308", b"-1e308", b"1e-320", b"NaN", b"inf", b"9223372036854775807", b"-9223372036854775808",
         b"4294967296", b"0.1", b"null", b"true", b'""', b"[]", b"{}", b"[" * 300, b"\xff\xfe", b"\0", b"\n", b"\r\n", b",", b'"',
         b"%s%n", b"../x", b"=1+1", b"<b>", b"a" * 5000]


class Job:
    def __init__(self, name, lines, *seeds, beside=()):
        self.name, self.lines, self.seeds, self.beside = name, lines, seeds, beside

    def files(self, source, made):
        found = []
        for pattern in self.seeds:
            found += sorted(glob.glob(os.path.join(made if pattern.startswith("made/") else source,
                                                   pattern.removeprefix("made/"))))
        return [path for path in found if os.path.isfile(path) and os.path.getsize(path) <= 200_000]


MODELS = ("fuzz/corpus/onnx/*.onnx", "fuzz/corpus/external/*.onnx", "fuzz/corpus/gradient/*.onnx", "tests/data/*.onnx", "tests/data/opened/*.onnx")
RUN = f"-q --runs 2 --warmup 0 --no-peak -o out {SIMULATED}"
JOBS = [
    Job("profile of a model's nodes", ["profile {f} -q -p flops --json a.json --csv a.csv --html a.html --figures figures"], *MODELS),
    Job("profile of a model", [f"profile {{f}} {RUN} --json a.json --html a.html", "store export out/store.db --json b.json",
                               "report out --html b.html"], *MODELS),
    Job("profile of a training step", [f"profile {{f}} --mode train {RUN}"], "fuzz/corpus/gradient/*.onnx", "tests/data/*.onnx"),
    Job("profile of an input", [f"profile {{made}}/m.onnx --input x={{f}} {RUN}"], "made/a.npy", "made/a.npz", "fuzz/corpus/numpy/*"),
    Job("profile of a dataset", ["profile graph_transformer --dataset {f} -q -p flops", f"profile gps --dataset {{f}} {RUN}"],
        "fuzz/corpus/graph/*"),
    Job("energy of a recording", [f"profile {{made}}/m.onnx --energy recorded:{{f}} {RUN}"], "made/energy.csv"),
    Job("compare of models", [f"compare {{f}} {{made}}/m.onnx -q -o out --time-budget 50ms {SIMULATED}"], "made/m.onnx"),
    Job("trace", ["trace {f} -q --json a.json --csv a.csv --html a.html", "trace diff {f} {seed} -q --json b.json"],
        "fuzz/corpus/trace/*", "tests/trace/data/*", "made/plan-trace.json", "made/plan-trace.json.gz"),
    Job("study import", ["study import {f} --name m -o out -q", "study export out -q --html a.html", "report out --html b.html",
                         "store export out/store.db --csv b.csv", "plan out -q --size 3000,5000 --html c.html"],
        "data/meteor-lake/*.csv", "tests/study/data/*.csv"),
    Job("study of a file", ["study status {f} -o out"], "studies/*.yaml", "tests/system/*.yaml"),
    Job("devices of a file", [f"profile {{made}}/m.onnx {RUN}"], "devices/ideal.yaml"),
    Job("plan", ["plan {made}/laptop -q --size 5000,10000 --compare {f} --json a.json"], "made/plan.json", "fuzz/corpus/plan/*"),
    Job("kernels", ["kernels list {f} --json a.json", "kernels dag {f} -o b.json", "predict {f} --with {made}/latency.json -q",
                    f"evaluate {{f}} --with {{made}}/latency.json -q -o out {SIMULATED}"],
        "fuzz/corpus/kernels/*.json"),
    Job("predict", ["predict {source}/fuzz/corpus/kernels/graph.json --with {f} -q --html a.html --json b.json"],
        "fuzz/corpus/latency/*.json"),
    Job("train", ["train {f} -o a.json --html b.html -q"], "made/samples.csv", "fuzz/corpus/latency/*.csv"),
    Job("tune", ["tune --cache {f} --json a.json"], "made/tuning.json"),
    Job("store", ["store check {f}", "store show {f}", "store export {f} --json a.json --csv a.csv", "report {f} --html a.html",
                  "store merge new.db {f}"], "made/out/store.db"),
]


def damage(data, others, chance):
    """data with one to four damages; others: what a piece may come from."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(data) + 1)
        length = min(chance.choice((1, 2, 8, 64, 1024)), len(data) - at)
        what = chance.randrange(8)
        numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", bytes(data[:50_000])))
        if what == 0 and data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        elif what == 1 and data:
            data[at % len(data)] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif what == 2:
            del data[at:at + length]
        elif what == 3:
            data[at:at] = data[at:at + length] * chance.choice((1, 2, 20))
        elif what == 4 and chance.random() < 0.3:
            del data[at:]
        elif what == 5:
            data[at:at + chance.choice((0, length))] = chance.choice(WORDS)
        elif what == 6 and numbers:
            found = chance.choice(numbers)
            data[found.start():found.end()] = chance.choice(WORDS)
        else:
            other = chance.choice(others)
            begin = chance.randrange(len(other) + 1)
            data[at:at + length] = other[begin:begin + length]
    return bytes(data)


def environment(source, folder):
    env = dict(os.environ, IFM_DATA_DIR=source, TMPDIR=folder, IFM_KERNEL_CACHE=os.path.join(folder, "kept"), LC_ALL="C.UTF-8",
               ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=2048:hard_rss_limit_mb=3000",
               UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
    env.pop("G_TEST_SRCDIR", None)
    return env


def fault_of(result):
    """What is wrong with how a command ended; "" for nothing."""
    text = result.stderr.decode(errors="replace")
    bad = BAD.search(text) or BAD.search(result.stdout.decode(errors="replace"))
    lines = [line for line in text.splitlines() if line.startswith("inferometer: ")]
    if bad:
        return text[max(0, text.find(bad.group(0)) - 200):][:1500] or bad.group(0)
    if result.returncode not in (0, 1, 3, 4):
        return f"status {result.returncode}: {text[-300:]}"
    if len(lines) > 1 or (result.returncode > 1 and len(lines) != 1):
        return f"status {result.returncode}, {len(lines)} lines: {text[:300]}"
    return ""


class Bench:
    def __init__(self, options, made):
        self.options, self.made, self.read = options, made, {} # read: how often a job's first command ended with 0

    def run(self, line, folder, **places):
        words = [word.format(made=self.made, source=self.options.source, **places) for word in line.split()]
        env = environment(self.options.source, folder)
        if "devices" in places:
            env["IFM_DEVICES_DIR"] = places["devices"]
        return subprocess.run([self.options.program] + words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=COMMAND_S, check=False)

    def prepare(self):
        """The files that are made with the program itself."""
        def write(name, text):
            with open(os.path.join(self.made, name), "w", encoding="utf-8") as out:
                out.write(text)
        write("energy.csv", "time_s,domain,energy_uj,power_w\n" + "".join(f"{i / 10},package,{i * 1500000},15\n" for i in range(40)))
        write("samples.csv", "Kernel_ID,OpType,Input_Shape,Latency_ms,Visit,Threads,Configuration,FLOP,Input_Bytes,Weight_Bytes,"
                             "Output_Bytes,Batch,Channels,Height,Width\n" + "".join(
            f"k{i},{'Gemm' if i % 2 else 'Add'},1x{i + 16},{0.02 + i / 1000},{visit},1,k{i},{1000 * i * i + 9},{400 * i + 4},{100 * i},"
            f"{200 * i + 4},1,{i + 1},8,8\n" for i in range(24) for visit in range(2)))
        write("tuning.json", json.dumps({"convolution_tuning": 1, "rows": [
            {"processor": "p, avx2", "library": "l", "shape": "1x3x8x8 to 4, 3x3", "n_threads": 1, "algorithm": "winograd",
             "time_ns": 1.5, "runtime_ns": 2.5}]}))
        for line in ("zoo export matmul m=4 k=4 n=4 -o m.onnx", f"profile m.onnx {RUN} -p runtime,layers",
                     "study import {source}/data/meteor-lake/protocol-15-sizes.csv --name laptop -o laptop -q",
                     "plan laptop -o laptop -q --size 5000,10000 --json plan.json --trace plan-trace.json",
                     "plan laptop -o laptop -q --size 5000,10000 --trace plan-trace.json.gz"):
            result = self.run(line, self.made)
            if result.returncode != 0:
                print(f"# {line}: status {result.returncode}: {result.stderr.decode(errors='replace')[:300]}")
        array = (b"\x93NUMPY\1\0\x76\0" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }".ljust(117) + b"\n" +
                 b"\0\0\x80?" * 16)
        with open(os.path.join(self.made, "a.npy"), "wb") as out:
            out.write(array)
        with zipfile.ZipFile(os.path.join(self.made, "a.npz"), "w") as out:
            out.writestr("a.npy", array)
        shutil.copy(os.path.join(self.options.source, "fuzz/corpus/latency/model.json"), os.path.join(self.made, "latency.json"))

    def one(self, job, seed, contents, turn):
        """Runs a job on one damaged file. Returns: what was wrong; ""."""
        name = f"{job.name}: {os.path.basename(seed)} {turn}"
        chance = random.Random(hashlib.sha256(name.encode()).digest())
        folder = tempfile.mkdtemp(prefix="ifm-mutated-")
        place = os.path.join(folder, os.path.basename(seed))
        data = damage(contents[seed], list(contents.values()), chance) if turn % WHOLE_TURNS else contents[seed]
        try:
            with open(os.path.join(folder, "weights.bin"), "wb") as out: # that models of the corpus have beside them
                out.write(bytes(8192))
            with open(place, "wb") as out:
                out.write(data)
            places = {"devices": folder} if job.name.startswith("devices") else {}
            for line in job.lines:
                try:
                    result = self.run(line, folder, f=place, seed=seed, **places)
                    fault = fault_of(result)
                except subprocess.TimeoutExpired:
                    result, fault = None, f"not done in {COMMAND_S} s"
                if fault:
                    kept = os.path.join(self.options.keep, hashlib.sha256(data).hexdigest()[:12] + "-" + os.path.basename(seed))
                    os.makedirs(self.options.keep, exist_ok=True)
                    shutil.copy(place, kept)
                    return f"{name}: {line.format(f=kept, seed=seed, made=self.made, source=self.options.source)}: {fault}"
                if result.returncode != 0:
                    break
                self.read[job.name] = self.read.get(job.name, 0) + (line == job.lines[0])
            return ""
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("source", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--first", type=int, default=0, help="the round to begin with")
    parser.add_argument("--only", default="", help="jobs with this in their name alone")
    parser.add_argument("--keep", type=os.path.abspath, default="mutated-found")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ifm-mutated-made-") as made:
        bench = Bench(options, made)
        bench.prepare()
        jobs = [job for job in JOBS if options.only in job.name]
        contents = {job.name: {path: open(path, "rb").read() for path in job.files(options.source, made)} for job in jobs}
        counts, faults = {job.name: 0 for job in jobs}, {job.name: [] for job in jobs}
        end = time.monotonic() + options.seconds
        work = ((job, turn) for turn in itertools.count(options.first) for job in jobs)
        lock = threading.Lock()

        def worker():
            while time.monotonic() < end:
                with lock:
                    job, turn = next(work)
                files = list(contents[job.name])
                fault = bench.one(job, files[turn % len(files)], contents[job.name], turn)
                with lock:
                    counts[job.name] += 1
                    faults[job.name] += [fault] if fault else []

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(worker) for _ in range(2)]:
                done.result()
        print(f"1..{len(jobs)}")
        for number, job in enumerate(jobs, 1):
            bad = faults[job.name]
            good = not bad and bench.read.get(job.name, 0) > 0
            print(f"{'ok' if good else 'not ok'} {number} - {job.name}: {counts[job.name]} files, {bench.read.get(job.name, 0)} of them read")
            for text in bad[:3]:
                print("\n".join("# " + line for line in text.splitlines()))
    return 0 if not any(faults.values()) and all(bench.read.get(job.name) for job in jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
