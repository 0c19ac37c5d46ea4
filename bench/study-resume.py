#!/usr/bin/env python3
"""What a finished study of 490 cases costs when its command is given again: nothing is measured.

usage: bench/study-resume.py [NEW [OLD]]

NEW, OLD: inferometer of two builds; without NEW it is build/inferometer. The study is of simulated devices, measured once by NEW. Each build then gets a copy
of the folder and resumes it in turn, five times. Prints the medians, and NEW over OLD.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 1 if "IFM_BENCH_QUICK" in os.environ else 5
N_CASES = 490
STUDY = """title: resumed
subject: {model: graphsage, features: 8, hidden: 8}
sizes:
%s
devices:
  CPU: {device: simulated:ideal/CPU}
  GPU: {device: simulated:ideal/GPU}
protocol: {warmup: 1, runs: 3}
links: {measure: false}
""" % "\n".join("  - {nodes: %d, edges: [50]}" % (20 + i) for i in range(N_CASES // 14))


def run(command, study, folder):
    begin = time.perf_counter()
    done = subprocess.run(
        [command, "study", "run", study, "-o", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        sys.exit("study-resume: %s failed: %s" % (command, done.stdout[-500:]))
    return time.perf_counter() - begin, done.stdout


def main():
    given = sys.argv[1:3] or [os.environ.get("INFEROMETER", "build/inferometer")]
    commands = [os.path.abspath(command) for command in given]
    with tempfile.TemporaryDirectory() as top:
        study = os.path.join(top, "resumed.yaml")
        with open(study, "w") as file:
            file.write(STUDY)
        seconds, _ = run(commands[0], study, os.path.join(top, "0"))
        print("%d cases measured in %.1f s" % (N_CASES, seconds))
        folders = [os.path.join(top, str(i)) for i in range(len(commands))]
        for folder in folders[1:]:
            shutil.copytree(folders[0], folder)
        times = [[] for _ in commands]
        for _ in range(ROUNDS):
            for command, folder, own in zip(commands, folders, times):
                seconds, text = run(command, study, folder)
                if "all %d cases were measured before" % N_CASES not in text:
                    sys.exit("study-resume: %s measured again: %s" % (command, text[:500]))
                own.append(seconds)
        for command, own in zip(commands, times):
            print("%s: %.3f s (%.3f to %.3f)" % (command, statistics.median(own), min(own), max(own)))
        if len(times) == 2:
            print("new / old: %.3f" % (statistics.median(times[0]) / statistics.median(times[1])))


main()
