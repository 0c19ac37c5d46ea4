#!/usr/bin/env python3
"""commands.py PROGRAM: Every command that a document names, in a block, indented or in back quotes, has a verb of the program and
options that `inferometer help VERB` lists. The commands of README.md and of the tutorials are run besides (test-page.sh)."""
import functools
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
COMMAND = re.compile(r"^ *(?:\$ |[A-Z_]+=\S+ )*(?:build/)?inferometer ([a-z][^\n]*)$|`(?:build/)?inferometer ([a-z][^`]*)`", re.MULTILINE)


@functools.lru_cache(maxsize=None)
def help_of(*words):
    return subprocess.run([PROGRAM, "help", *words], capture_output=True, text=True, check=False).stdout


def verbs():
    return set(re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +[a-z]", help_of(), re.MULTILINE))


def words_of(command):
    command = re.split(r" #| \||;|&&| > | >>|<\(", command)[0].replace("…", "")
    try:
        return shlex.split(command)
    except ValueError:  # a quotation that the next line ends
        return command.split()


def fault_of(command, known):
    words = words_of(command)
    verb = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
    if verb not in known:
        group = words[0] in {one.split(" ")[0] for one in known}
        return None if group and (len(words) == 1 or words[1].isupper()) else f"no verb {verb!r}"
    rows = help_of(*verb.split(" "))
    options = set(re.findall(r"^  (?:-., |    )(--[a-z-]+)", rows, re.MULTILINE)) | set(re.findall(r"^  (-.), --", rows, re.MULTILINE))
    for word in words[1:]:
        name = word.split("=")[0]
        if re.fullmatch(r"--[a-z][a-z-]*|-[a-z]", name) and name not in options:
            return f"`{verb}` has no {name}"
    return None


def commands(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"```text.*?```", "", file.read(), flags=re.DOTALL).replace("\\\n", " ")
    return [" ".join((one or other).split()) for one, other in COMMAND.findall(text)]


def next_fault():
    """What goes wrong with the command that a profile of two devices, which differ in nothing, says to run next."""
    with tempfile.TemporaryDirectory() as folder:
        run = functools.partial(subprocess.run, cwd=folder, capture_output=True, text=True, check=False)
        devices = ["-d", "A=simulated:ideal/NOISY", "-d", "B=simulated:ideal/NOISY@1"]
        run([PROGRAM, "profile", "squeezenet,size=64", *devices, "--no-peak", "--runs", "5", "--json", "profile.json", "-q"])
        with open(os.path.join(folder, "profile.json"), encoding="utf-8") as file:
            found = [one["command"] for one in json.load(file)["summary"]["next"] if one.get("command")]
        if not found or "compare" not in found[0]:
            return f"no command to compare the two: {found}"
        done = run([PROGRAM, *shlex.split(found[0])[1:], "--time-budget", "1s", "-q"])
        return None if done.returncode == 0 else f"{found[0]}: status {done.returncode}: {done.stderr}"


def main():
    known = verbs()
    pages = [os.path.join(ROOT, name) for name in ("README.md", "README.zh-CN.md")] + sorted(glob.glob(os.path.join(ROOT, "docs/*.md")))
    print(f"1..{len(pages) + 2}")
    wrong = ["profile m.onnx --no-such", "no-such-verb", "store show -z"]
    passes = all(fault_of(command, known) for command in wrong) and not fault_of("trace run.json.gz --html trace.html", known)
    print(f"{'ok' if passes else 'not ok'} 1 - an unknown verb and an unknown option are found")
    fault = next_fault()
    print(f"{'not ok' if fault else 'ok'} 2 - the command that a profile says to run next runs" + (f"\n# {fault}" if fault else ""))
    for number, page in enumerate(pages, 3):
        faults = [f"{command}: {fault}" for command in commands(page) if (fault := fault_of(command, known))]
        print(f"{'not ok' if faults else 'ok'} {number} - {os.path.relpath(page, ROOT)} names {len(commands(page))} commands")
        print("".join(f"# {fault}\n" for fault in faults), end="")


PROGRAM = os.path.abspath(sys.argv[1])
main()
