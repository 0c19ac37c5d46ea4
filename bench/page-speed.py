#!/usr/bin/env python3
"""How large pages are and how long they take: page-speed.py [--beside PROGRAM] [--page NAME]… [RUNS] of the program that INFEROMETER names.

Of each kind of page (tests/page/pages.py, on simulated devices) the size, and in Chromium the time from the beginning of the navigation to
the second frame, and until all figures are drawn, which is the same unless the page draws them itself: the median of RUNS loads (5), each
in turn with a load of the page of PROGRAM, an earlier build, where it is named.
Bounds: 300 KiB a page, 1 MiB a study's, 2 MiB a trace's; 1 s to the second frame."""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "page")]
import browser as chromium
import pages
import peers

BOUND_MS = 1000
QUICK_PAGES = ["profile-1", "study-large", "trace-large"]
# Before anything of the page runs: what the clock says in its second frame.
CLOCK = "requestAnimationFrame(() => requestAnimationFrame(() => { globalThis.second_frame = performance.now(); }))"
ANSWER = """new Promise((done) => {
  const ask = () => globalThis.second_frame ? done(globalThis.second_frame) : setTimeout(ask, 5);
  ask();
}).then(async (frame) => {
  if (!globalThis.inferometer?.draw_all) return [frame, frame];
  await inferometer.draw_all(); // a page of an earlier build
  return [frame, performance.now()];
})"""


def times_ms(browser, page):
    browser.load(page)
    return browser.evaluate(ANSWER)


def make(program, folder, names):
    """{name: (path, bound)} of the pages that the program makes; an earlier one may lack some."""
    folder.mkdir()
    made = {}
    for page, error in pages.make_all(program, str(ROOT), folder, names):
        path = folder / (page.name + ".html")
        if error is None and path.exists():
            made[page.name] = path, page.bound
        else:
            print(f"{page.name}: not made by {program}: {(error or '')[:120]}")
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="?", type=int, default=peers.usual(5))
    parser.add_argument("--beside", metavar="PROGRAM", help="the inferometer of another build")
    parser.add_argument("--page", action="append", help="this kind alone; may be given several times")
    options = parser.parse_args()
    names = options.page or QUICK_PAGES if options.page or peers.QUICK else [page.name for page in pages.all_pages(str(ROOT)) if not page.name.startswith("hostile")]
    programs = {"this": os.path.abspath(os.environ.get("INFEROMETER", ROOT / "build" / "inferometer"))}
    if options.beside:
        programs["beside"] = os.path.abspath(options.beside)
    os.environ.setdefault("IFM_DATA_DIR", str(ROOT))
    kept = True
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        made = {who: make(program, pathlib.Path(scratch) / who, names) for who, program in programs.items()}
        times = {(who, name): [] for who in made for name in made[who]}
        if chromium.find() is None:
            print(f"no {chromium.PROGRAM}: sizes alone")
        else:
            with chromium.Browser() as browser:
                browser.resize(1280)
                browser.call("Page.addScriptToEvaluateOnNewDocument", source=CLOCK)
                times_ms(browser, next(iter(made["this"].values()))[0])  # the first load of a browser takes longer
                for _ in range(options.runs):
                    for name in names:
                        for who in made:
                            if name in made[who]:
                                times[who, name].append(times_ms(browser, made[who][name][0]))
        print(f"{'page':<24}" + "".join(f"{who + ', KiB':>14}{'2nd frame, ms':>15}{'drawn, ms':>11}" for who in made) + "   bounds")
        for name in names:
            line = f"{name:<24}"
            for who in made:
                found = times.get((who, name))
                line += f"{made[who][name][0].stat().st_size / 1024:14.0f}" if found is not None else f"{'–':>14}"
                for i, width in enumerate((15, 11)):
                    line += f"{statistics.median(one[i] for one in found):{width}.0f}" if found else f"{'–':>{width}}"
            if name in made["this"]:
                path, bound = made["this"][name]
                good = path.stat().st_size <= bound and statistics.median(one[0] for one in times["this", name] or [[0]]) <= BOUND_MS
                line += f"   {bound // 1024} KiB, {BOUND_MS} ms: {'kept' if good else 'MISSED'}"
                kept &= good
            print(line)
    sys.exit(0 if kept or peers.QUICK else 1)


main()
