#!/usr/bin/env python3
"""How long pages take: page-speed.py [RUNS] of the program that INFEROMETER names.

A trace of 100,000 events, and a GNN study of 55 sizes on three devices (the published table): the time of the command that
writes the page, the page's size, and in Chromium the time from the beginning of the navigation until the first figures
are drawn. The bound of each time is 2 s, that of the size 6 MB; the smallest of RUNS counts (5 where it is not given).
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import peers

BOUND_S, BOUND_BYTES = 2.0, 6 << 20
EVENTS = 100_000
# When the first figures are drawn, the page says how long that took.
PROBE = """<script>(async () => {
  window.inferometer.figures[0].scrollIntoView({ behavior: "instant" });
  const is_seen = (figure) => !figure.hidden && figure.getBoundingClientRect().top < window.innerHeight;
  const seen = window.inferometer.figures.filter(is_seen);
  while (!seen.length || !seen.every((figure) => figure.ifm.drawn)) await new Promise((done) => setTimeout(done, 5));
  for (const figure of seen) await figure.ifm.drawn;
  console.log("usable after " + performance.now().toFixed(0));
})();</script>"""


def write_trace(path):
    events = [
        {"ph": "X", "name": "kernel %d" % (i % 50), "pid": 1, "tid": i % 4, "ts": 10 * (i // 4), "dur": 4 + i % 5}
        for i in range(EVENTS)
    ]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)


def fastest(command, runs):
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return min(times)


def end(process):
    """The browser and the processes that it started, which go on writing its folder otherwise."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def usable(page, folder, browser, runs):
    """Seconds; None without a browser."""
    if browser is None:
        return None
    with open(page, encoding="utf-8") as file:
        text = file.read()
    probed = os.path.join(folder, "probed.html")
    with open(probed, "w", encoding="utf-8") as file:
        file.write(text.replace("</body>", PROBE + "</body>"))
    times = []
    for _ in range(runs):
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        options += ["--user-data-dir=" + os.path.join(folder, "browser"), "--window-size=1600,1000"]
        options += ["--remote-debugging-port=0", "--enable-logging=stderr"]  # the first: it stays until it is ended
        with subprocess.Popen([browser, *options, "file://" + probed], stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            alarm = threading.Timer(30, end, [process])
            alarm.start()
            for line in process.stderr:
                found = re.search(r"usable after (\d+)", line)
                if found:
                    times.append(int(found.group(1)) / 1000)
                    break
            alarm.cancel()
            end(process)
    return min(times) if times else None


def report(name, value, bound, unit):
    if value is None:
        print("%-44s %10s" % (name, "no browser, or no answer of it"))
        return True
    kept = value <= bound
    print("%-44s %8.3g %s of %.3g: %s" % (name, value, unit, bound, "kept" if kept else "MISSED"))
    return kept


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    program = os.path.abspath(os.environ.get("INFEROMETER", os.path.join(root, "build", "inferometer")))
    runs = int(sys.argv[1]) if len(sys.argv) == 2 else peers.usual(5)
    table = os.path.join(root, "data", "meteor-lake", "large-55-sizes.csv")
    browser = shutil.which("chromium")
    kept = True
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        trace, study = os.path.join(folder, "trace.json"), os.path.join(folder, "study")
        write_trace(trace)
        subprocess.run([program, "study", "import", table, "--hidden", "500", "--name", "large", "-o", study], check=True,
                       stdout=subprocess.DEVNULL)
        cases = [("a trace of %d events" % EVENTS, ["trace", trace]), ("a study of 55 sizes x 3", ["study", "export", study])]
        for name, arguments in cases:
            page = os.path.join(folder, "page.html")
            kept &= report(name + ": made", fastest([program, *arguments, "--html", page], runs), BOUND_S, "s")
            kept &= report(name + ": size", os.path.getsize(page) / (1 << 20), BOUND_BYTES / (1 << 20), "MB")
            kept &= report(name + ": usable in Chromium", usable(page, folder, browser, runs), BOUND_S, "s")
    sys.exit(0 if kept or peers.QUICK else 1)


main()
