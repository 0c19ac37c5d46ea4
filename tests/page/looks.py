#!/usr/bin/env python3
"""looks.py PROGRAM ROOT [--keep FOLDER] [PAGE…]: every kind of page (pages.py) in one headless Chromium, looked at by checks.js: TAP.

Each is resized to 400, 1280 and 1600 px, light and dark, all its details open; used with the keyboard, printed from a dark screen, read
with scripts off. What is wrong stands below its test as a comment. --keep: the pages stay there."""
import argparse
import json
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "tools")]
import browser as chromium
import pages

WIDTHS, NARROWEST = (400, 1280, 1600), 320
HEIGHT = 900
SHOWN = 12  # faults of a page that are printed


class Looker:
    """A browser with the checks."""

    def __init__(self, browser):
        self.browser, self.checks = browser, (HERE / "checks.js").read_text()

    def ask(self, call):
        return self.browser.evaluate("looks." + call)

    def open(self, page, document):
        self.browser.resize(1280, HEIGHT)
        self.browser.show("light")
        self.browser.load(page)
        self.browser.evaluate(self.checks + f"\nglobalThis.doc = {json.dumps(document)}; 0")

    def heard(self):
        """Complaints and requests since the page was opened."""
        faults, first = [], True
        for event in self.browser.events:
            method, about = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = about["exceptionDetails"]
                faults.append("an exception: " + details.get("exception", {}).get("description", details["text"]))
            elif method == "Runtime.consoleAPICalled":
                faults.append("a console message: " + " ".join(str(one.get("value")) for one in about["args"]))
            elif method == "Log.entryAdded":
                faults.append("the browser complains: " + about["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                if not first and not about["request"]["url"].startswith(("data:", "blob:")):
                    faults.append("a request: " + about["request"]["url"])
                first = False
        return faults

    def at(self, width, call, theme="light", media=""):
        """What a check says with all details open, in a window of that width."""
        self.ask("unfold(true)")
        self.browser.resize(width, HEIGHT)
        self.browser.show(theme, media)
        return self.ask(call)

    def parts(self, page, document, bound):
        """{part: function that returns what is wrong}, in the order in which a page is looked at once it is open."""
        source = pathlib.Path(page).read_text()
        size = len(source.encode())
        markup = re.sub(r"<(script|style)>.*?</\1>", "", source, flags=re.S)
        attributes = re.findall(r"<[a-z][^<>\"]*?(?:\"[^\"]*\"[^<>\"]*?)*?\s(style=|on[a-z]+=|src=)", markup)
        parts = {
            "size": lambda: [f"{size / 1024:.0f} KiB; the bound is {bound / 1024:.0f} KiB"] if size > bound else [],
            "source": lambda: [f"it has an attribute {found}" for found in attributes],
            "markup": lambda: self.ask("markup()"),
            "summary": lambda: self.ask("summary(doc)"),
            "marks": lambda: self.ask("marks(doc)"),
            "cells": lambda: self.ask("cells(doc)"),
            "closed": lambda: self.ask("geometry()"),
            f"{NARROWEST} px": lambda: self.at(NARROWEST, "wide()"),
        }
        for width in WIDTHS:
            parts[f"{width} px"] = lambda width=width: self.at(width, "geometry()")
            for theme in ("light", "dark"):
                parts[f"{width} px, {theme}"] = lambda width=width, theme=theme: self.at(width, "contrast()", theme)
        return parts | {
            "print from dark": lambda: self.at(1280, "printed()", "dark", "print"),
            "used": lambda: self.at(1280, "used()", "dark") + self.keys(),
            "heard": self.heard,
            "without script": lambda: self.still(page, document),
        }

    def keys(self):
        """Real keys: Tab reaches a figure, whose tips the arrows show; Enter on a head sorts."""
        browser, faults = self.browser, []
        browser.evaluate("document.querySelector('.fig[data-key]')?.focus()")
        browser.press("ArrowDown")
        if not browser.evaluate("!document.querySelector('.fig [data-t]') || document.getElementById('tip').classList.contains('on') || "
                                "!looks.all('[data-t]', document.querySelector('.fig[data-key]')).length"):
            faults.append("the arrow key shows no tip")
        browser.press("Escape")
        if browser.evaluate("document.getElementById('tip').classList.contains('on')"):
            faults.append("the Escape key does not hide the tip")
        browser.press("Tab")
        if browser.evaluate("document.activeElement === document.body"):
            faults.append("Tab leads nowhere")
        if browser.evaluate("const head = document.querySelector('thead button'); head?.focus(); !!head"):
            browser.press("Enter")
            if browser.evaluate("!document.querySelector('thead th[aria-sort]')"):
                faults.append("Enter on a column's head does not sort")
        return faults

    def still(self, page, document):
        """With scripts off all texts, tables and figures are there, and nothing to press that would do nothing."""
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.open(page, document)
            faults = self.ask("geometry()") + self.ask("summary(doc)") + self.ask("marks(doc)") + self.ask("cells(doc)")
            self.ask("unfold(true)")
            if not self.browser.evaluate("looks.all('.tw table, pre, .fig[data-key]').every(looks.is_seen)"):
                faults.append("a table or figure is not there")
            if self.browser.evaluate("!!document.querySelector('.control')"):
                faults.append("the script ran")
            if self.browser.evaluate("looks.all('button.theme, button.copy').some(looks.is_seen)"):
                faults.append("a button stands there that does nothing")
            return faults
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("root")
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--keep")
    options = parser.parse_args()
    if chromium.find() is None:
        print(f"1..0 # SKIP no {chromium.PROGRAM} on this machine (package {chromium.PROGRAM})")
        return
    program, failed, number = os.path.abspath(options.program), False, 0
    check = pages.schema_check(program)
    with tempfile.TemporaryDirectory() as scratch, chromium.Browser() as browser:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        looker = Looker(browser)
        for page, error in pages.make_all(program, os.path.abspath(options.root), folder, options.pages or None):
            number += 1
            faults = [error] if error else []
            if not error:
                html, document = folder / (page.name + ".html"), json.loads((folder / (page.name + ".json")).read_text())
                looker.open(html, document)
                faults = [f"{part}: {fault}" for part, look in looker.parts(html, document, page.bound).items() for fault in look()]
                faults += check(document)
            print(f"{'not ok' if faults else 'ok'} {number} - {page.name}", flush=True)
            for fault in faults[:SHOWN]:
                print("# " + fault.replace("\n", " "))
            if len(faults) > SHOWN:
                print(f"# and {len(faults) - SHOWN} more")
            failed |= bool(faults)
    print(f"1..{number}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
