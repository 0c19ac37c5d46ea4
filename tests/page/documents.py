#!/usr/bin/env python3
"""documents.py PROGRAM ROOT: what --document writes is as `help --schema document` says, of each verb that has no page: TAP.

looks.py sees to those that have one. Here, too: each verb with --document has a line here or there; the schema is the one in docs/;
what it must refuse it refuses."""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pages

TO = " --document "
# run in this order in one folder
LINES = [
    "study import {root}/data/meteor-lake/large-55-sizes.csv --hidden 500 --name large -o large -q",
    "profile matmul -d simulated:ideal/CPU --runs 5 --warmup 0 -o one -q" + TO,
    "profile matmul --profile flops -q" + TO,
    "profile --estimate transformer" + TO,
    "study list" + TO,
    "study status ./large" + TO,
    "study lookup ./large --nodes 2500 --edges 4000" + TO,
    "store show one/store.db" + TO,
    "plan ./large --size 5000,10000 --trace plan.json" + TO,
    "trace diff plan.json plan.json" + TO,
    "kernels show matmul MatMul" + TO,
    "kernels extract matmul -o kernels -q" + TO,
    "tune --cache none.json" + TO,
    "devices" + TO,
    "zoo list" + TO,
    "store export large/store.db" + TO,
    "report one large" + TO,
]


def tables(document):
    return [block for section in document["sections"] for block in section["blocks"] if block["kind"] == "table"]


def spoilt(document):
    """(what, a document that is none)"""
    for what, spoil in (("a key more", lambda it: it.update(more=1)), ("no title", lambda it: it.pop("title")),
                        ("a section without a level", lambda it: it["sections"][0].pop("level")),
                        ("a verdict that is none", lambda it: it["summary"].update(verdict=5)),
                        ("trust of another word", lambda it: it["summary"]["trust"].update(level="fine")),
                        ("a block of no kind", lambda it: it["sections"][0]["blocks"].append({"kind": "list"})),
                        ("a cell with parts", lambda it: tables(it)[0]["rows"].append({"a": {"b": 1}}))):
        other = copy.deepcopy(document)
        spoil(other)
        yield what, other


def main():
    program, root = map(os.path.abspath, sys.argv[1:])
    try:
        check = pages.schema_check(program)
    except ImportError as why:
        print(f"1..0 # SKIP {why} (package python3-jsonschema)")
        return
    said = json.loads(subprocess.run([program, "help", "--json"], capture_output=True, text=True, check=True).stdout)["verbs"]
    verbs = {verb["name"]: {option["name"] for option in verb["options"]} for verb in said}
    results, document = [], None
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(LINES):
            file = pathlib.Path(folder) / f"{number}.json"
            words = line.format(root=root).removesuffix(TO).split(" ")
            if line.endswith(TO):
                words += ["--document", str(file)]
            done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
            faults = [f"status {done.returncode}: {done.stderr.strip()[-300:]}"] if done.returncode != 0 else []
            if not faults and line.endswith(TO):
                document = json.loads(file.read_text())
                faults = check(document)
            results.append((line.removesuffix(TO), faults))
    named = {pages.verb_of(line, verbs) for page in pages.all_pages(root) for line in page.lines[-1:]}
    named |= {pages.verb_of(line, verbs) for line in LINES}
    results.append(("every verb", [f"{name} has no line" for name, options in verbs.items() if "document" in options and name not in named]))
    schema = subprocess.run([program, "help", "--schema", "document"], capture_output=True, text=True, check=True).stdout
    shipped = pathlib.Path(root, "docs/document.schema.json").read_text()
    results.append(("the schema in docs/", [] if shipped == schema else ["is another: inferometer help --schema document > docs/document.schema.json"]))
    results += [(f"refused: {what}", [] if check(other) else ["was accepted"]) for what, other in spoilt(document)]
    for number, (what, faults) in enumerate(results, 1):
        print(f"{'not ok' if faults else 'ok'} {number} - {what}")
        for fault in faults[:12]:
            print("# " + fault.replace("\n", " "))
    print(f"1..{len(results)}")
    sys.exit(any(faults for _, faults in results))


if __name__ == "__main__":
    main()
