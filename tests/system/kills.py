#!/usr/bin/env python3
"""kills.py PROGRAM SOURCE [--each N] [--state FILE]: the program is ended at random moments.

Each subject below is a command that measures: a study of each kind, `profile --scaling`, `kernels run`, `evaluate`, `tune`. It is begun, and ended at
a random moment by SIGKILL or SIGTERM, in turn; every other time only after something was committed. Then it is begun again in
the same folder. What has to hold each time:

    the store is whole (`store check`), and what was committed once stays committed
    after SIGTERM nothing is left in TMPDIR; what SIGKILL leaves there is counted, and gone once the command ran again
    begun again, the command runs to its end: what was committed is the same measurement, and there is one of each case

Prints TAP, one test a subject, with what was left behind. Where a runtime is not there, its subjects are skipped. With --state
each moment that was tried is kept in FILE and not tried again."""
import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

STAGES = """title: To be killed
subject: {model: graphsage, features: 4, hidden: 3, stages: [1, 3, 5]}
sizes: [{nodes: 1000, edges: [2000, 3000]}]
devices:
  CPU: {device: "simulated:meteor-lake/CPU"}
  GPU: {device: "simulated:meteor-lake/GPU"}
protocol: {warmup: 1, runs: 5}
links: {measure: true, protocol: {warmup: 1, runs: 3}}
"""
PROFILE = """title: points
kind: profile
models: [matmul]
dims: [{name: m, sizes: [4, 8, 16, 32]}]
devices: {A: {device: "simulated:ideal/GPU"}, B: {device: "simulated:ideal/CPU"}}
protocol: {warmup: 1, runs: 5}
"""
CONVOLUTIONS = """title: convolutions
kind: conv-algorithms
models: [small-cnn]
algorithms: [winograd, runtime]
sizes: [8, 16]
devices: {CPU: {device: "onnxruntime:CPU@0"}}
protocol: {warmup: 1, runs: 3}
"""
KERNELS = """title: kernels
kind: kernels-under-load
models: [small-cnn]
shapes: 6
loaded: 2
visits: 1
stress: [gemm]
levels: [50]
cores: [same]
threads: [1]
devices: {CPU: {device: "onnxruntime:CPU@0"}}
protocol: {warmup: 1, runs: 3}
"""
PLANNED = """title: To be planned
subject: {model: graphsage, features: 4, hidden: 3}
sizes: [{nodes: 1000, edges: [2000, 3000]}, {nodes: 2000, edges: [2000, 3000]}]
devices:
  CPU: {device: "simulated:meteor-lake/CPU"}
  GPU: {device: "simulated:meteor-lake/GPU"}
protocol: {warmup: 1, runs: 3}
links: {measure: true, protocol: {warmup: 1, runs: 3}}
"""
GRAPHS = """models: [small-cnn]
sizes: [8, 12]
batches: [1, 2]
providers: [CPU]
"""
STUDY = "study run s.yaml -q -o out"
# name, the study's text, the command, what it needs, what comes before: a command with that chooses its cases by what it measured,
# so that a disturbed one has others
SUBJECTS = (
    ("study of stages", STAGES, STUDY, None),
    ("study of profiles", PROFILE, STUDY, None),
    ("study of convolutions", CONVOLUTIONS, STUDY, "onnxruntime:CPU"),
    ("study of kernels under load", KERNELS, STUDY, "onnxruntime:CPU"),
    ("profile --scaling", "", "profile graph_transformer --scaling layers --num-nodes 20 --runs 5 -d simulated:ideal/GPU --no-peak "
     "--resume -q -o out", None),
    ("kernels run", "", "kernels run m.onnx n.onnx k.onnx l.onnx -d simulated:ideal/GPU --runs 500 --resume -q -o out --csv a.csv", None),
    ("evaluate of records", "", "evaluate {source}/fuzz/corpus/kernels/graph.json {source}/fuzz/corpus/kernels/transformer.json --with "
     "{source}/fuzz/corpus/latency/model.json -d simulated:ideal/GPU --resume -q -o out --csv a.csv", None),
    ("zoo export --config", GRAPHS, "zoo export --config s.yaml --resume -q -o out", "onnxruntime:CPU"),
    ("run --pilot", PLANNED, "run ./small -q --size 1000,2000 --batches 20 --repetitions 1 --pilot 1s --resume -o out", None,
     "study run s.yaml -q -o small"),
)


# a tuned model is written or not: it depends on what was measured
TUNE = ("tune", "", "tune n.onnx --threads 1 --time-budget 1s -q -o out/tuned.onnx --output out", "onnxruntime:CPU",
        "zoo export small-cnn size=32 -o n.onnx --force")


class Subject:
    def __init__(self, options, row, folder):
        self.options, (self.name, text, self.line, self.needs, *before), self.folder = options, row, folder
        self.line = self.line.replace("{source}", options.source)
        self.chooses = bool(before)
        self.temporary = os.path.join(folder, "tmp")
        os.makedirs(self.temporary, exist_ok=True)
        with open(os.path.join(folder, "s.yaml"), "w", encoding="utf-8") as out:
            out.write(text)
        for number, name in enumerate("mnkl", 8):
            self.run(f"zoo export matmul m={number} k=8 n=8 -o {name}.onnx --force")
        for line in before:
            self.run(line)

    def start(self, line):
        environment = dict(os.environ, IFM_DATA_DIR=self.options.source, TMPDIR=self.temporary, LC_ALL="C.UTF-8",
                           IFM_KERNEL_CACHE=os.path.join(self.folder, "kept"))
        return subprocess.Popen([self.options.program] + line.split(), cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, line):
        process = self.start(line)
        said = process.communicate(timeout=300)[0].decode(errors="replace")
        return process.returncode, said

    def path(self, name):
        return os.path.join(self.folder, name)

    def measurements(self):
        """The case of each measurement in the store that came to its end; nothing without a store. One that SIGTERM broke off is
        kept too, and made again."""
        if not os.path.exists(self.path("out/store.db")):
            return {}
        try:
            store = sqlite3.connect(f"file:{self.path('out/store.db')}?mode=ro", uri=True, timeout=5)
            try:
                return dict(store.execute("SELECT uid, case_key FROM measurement WHERE stop_reason <> 'interrupted'"))
            finally:
                store.close()
        except sqlite3.Error:
            return {}

    def committed(self):
        return len(self.measurements())

    def left(self):
        return sorted(os.listdir(self.temporary))

    def anew(self):
        for name in ("out", "a.csv"):
            path = self.path(name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.unlink(path)

    def whole(self):
        """One run without a disturbance. Returns: how long it took, and its measurements."""
        self.anew()
        began = time.monotonic()
        status, said = self.run(self.line)
        if status != 0:
            raise RuntimeError(f"{self.line}: status {status}: {said[-400:]}")
        if self.committed() < 2:
            raise RuntimeError(f"{self.line}: {self.committed()} measurements: there is no moment between two")
        return time.monotonic() - began, self.committed()

    def moment(self, number, took_s, n_cases):
        """Returns: what was wrong, "" for nothing; and what was left in TMPDIR by SIGKILL."""
        chance = random.Random(f"{self.name} {number}")
        how = (signal.SIGKILL, signal.SIGTERM)[number % 2]
        self.anew()
        process = self.start(self.line)
        if number // 2 % 2 == 1 and n_cases > 0: # after something was committed
            goal = chance.randrange(1, max(2, n_cases))
            while process.poll() is None and self.committed() < goal:
                time.sleep(0.002)
            time.sleep(chance.random() * 0.02)
        else:
            time.sleep(chance.random() * took_s)
        before = self.committed()
        process.send_signal(how)
        said = process.communicate(timeout=60)[0].decode(errors="replace")
        kept, left = self.measurements(), self.left()
        what = f"moment {number}, {how.name}, {before} of {n_cases} committed"
        if len(kept) < before:
            return f"{what}: {len(kept)} are left", 0
        if how == signal.SIGTERM and left:
            return f"{what}: TMPDIR holds {left}", 0
        if how == signal.SIGTERM and process.returncode < 0 and before > 0:
            return f"{what}: ended by signal {-process.returncode}", 0
        if os.path.exists(self.path("out/store.db")):
            status, report = self.run("store check out/store.db -q")
            if status != 0 and kept:
                return f"{what}: the store is not whole: {report[-300:]} (said before: {said[-200:]})", 0
        status, report = self.run(self.line)
        if status != 0:
            return f"{what}: begun again it ends with {status}: {report[-300:]}", 0
        whole = self.measurements()
        twice = len(whole) - len(set(whole.values()))
        if twice > 0 or not kept.items() <= whole.items():
            lost = len(kept.items() - whole.items())
            return f"{what}: begun again it has {lost} lost, {twice} measured twice", 0
        if len(whole) != n_cases and not self.chooses:
            return f"{what}: begun again it has {len(whole)} measurements", 0
        still = self.left()
        return (f"{what}: TMPDIR still holds {still}", 0) if still else ("", len(left))


class TunedSubject(Subject):
    """One file is made: it is there whole, or not at all, or the one before."""

    def whole(self):
        self.anew()
        began = time.monotonic()
        status, said = self.run(self.line)
        if status not in (0, 1):
            raise RuntimeError(f"{self.line}: status {status}: {said[-400:]}")
        return time.monotonic() - began, 1

    def anew(self):
        super().anew()
        os.makedirs(self.path("out"))

    def half(self):
        """What is there and is no tuned model; "" for nothing."""
        for name in os.listdir(self.path("out")):
            if name.startswith("tuned") and (name != "tuned.onnx" or self.run(f"tune --show out/{name} -q")[0] != 0):
                return name
        return ""

    def moment(self, number, took_s, n_cases):
        chance = random.Random(f"{self.name} {number}")
        how = (signal.SIGKILL, signal.SIGTERM)[number % 2]
        what = f"moment {number}, {how.name}"
        self.anew()
        process = self.start(self.line)
        time.sleep(chance.random() * took_s)
        process.send_signal(how)
        process.communicate(timeout=60)
        left = self.left()
        if self.half():
            return f"{what}: {self.half()} is half written", 0
        if how == signal.SIGTERM and left:
            return f"{what}: TMPDIR holds {left}", 0
        status, report = self.run(self.line)
        if status not in (0, 1) or self.half():
            return f"{what}: begun again it ends with {status} {self.half()}: {report[-300:]}", 0
        still = self.left()
        return (f"{what}: TMPDIR still holds {still}", 0) if still else ("", len(left))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("source", type=os.path.abspath)
    parser.add_argument("--each", type=int, default=20, help="moments of each subject")
    parser.add_argument("--state", help="JSON: what was tried before")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    state = {}
    if options.state and os.path.exists(options.state):
        with open(options.state, encoding="utf-8") as kept:
            state = json.load(kept)
    rows = [row for row in SUBJECTS + (TUNE,) if options.only in row[0]]
    listing = subprocess.run([options.program, "devices"], capture_output=True, text=True, check=False).stdout
    failed = False
    print(f"1..{len(rows)}", flush=True)
    for number, row in enumerate(rows, 1):
        if row[3] and not any(line.startswith(row[3]) and "available" in line for line in listing.splitlines()):
            print(f"ok {number} - {row[0]} # SKIP no {row[3]}", flush=True)
            continue
        done = state.setdefault(row[0], {"moments": 0, "left": 0, "faults": []})
        with tempfile.TemporaryDirectory(prefix="ifm-kills-") as folder:
            subject = (TunedSubject if row is TUNE else Subject)(options, row, folder)
            took_s, n_cases = subject.whole() if done["moments"] < options.each else (0, 0)
            while done["moments"] < options.each:
                fault, left = subject.moment(done["moments"], took_s, n_cases)
                if fault: # the next moment is one of its own
                    shutil.rmtree(subject.temporary)
                    os.makedirs(subject.temporary)
                done["moments"] += 1
                done["left"] += left
                done["faults"] += [fault] if fault else []
                if options.state:
                    with open(options.state + ".new", "w", encoding="utf-8") as out:
                        json.dump(state, out)
                    os.replace(options.state + ".new", options.state)
        failed |= bool(done["faults"])
        print(f"{'not ok' if done['faults'] else 'ok'} {number} - {row[0]}: {done['moments']} moments, {done['left']} folders left by "
              "SIGKILL, gone with the next run", flush=True)
        for fault in done["faults"][:5]:
            print("# " + fault.replace("\n", " | "), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
