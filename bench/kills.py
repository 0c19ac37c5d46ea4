#!/usr/bin/env python3
"""The program ended 300 times at random moments of each command that measures: a study of each kind, profile --scaling, kernels run.
tests/system/kills.py says what has to hold each time; 20 moments of each are among the tests. What was tried is kept in
BUILD/kills.json and not tried again: a run that was broken off goes on. Without that file it begins anew.

    bench/kills.py
"""
import os
import pathlib
import sys

import peers

SOURCE = pathlib.Path(__file__).resolve().parent.parent


def main():
    build = pathlib.Path(os.environ.get("IFM_BENCH_BUILD", SOURCE / "build")).resolve()
    script = SOURCE / "tests" / "system" / "kills.py"
    words = [sys.executable, str(script), str(build / "inferometer"), str(SOURCE), "--each", str(peers.usual(300, 1))]
    if peers.usual(300, 1) == 300:
        words += ["--state", str(build / "kills.json")]
    os.execv(sys.executable, words)


if __name__ == "__main__":
    main()
