#!/usr/bin/env python3
"""planted.py PROGRAM ROOT: every kind of fault that looks.py is to find, planted in a page that has none, is found there: TAP."""
import copy
import json
import os
import pathlib
import re
import sys
import tempfile

import looks
import pages
from looks import chromium


def style(rules):
    return "const sheet = new CSSStyleSheet(); sheet.replaceSync(`%s`); document.adoptedStyleSheets = [sheet];" % rules


TEXTS = "const texts = looks.all('svg.fig text').filter(looks.is_seen);"
MARK = "const mark = document.querySelector('svg.fig [data-s]');"

# What is planted, the part that must find it, a pattern of what it says.
SCRIPTS = [
    ("one text over another in a figure", TEXTS + "texts[1].setAttribute('x', texts[0].getAttribute('x')); texts[1].setAttribute('y', texts[0].getAttribute('y'));"
     "texts[1].setAttribute('class', texts[0].getAttribute('class'))", "1280 px", "overlap|stands twice"),
    ("a paragraph over the verdict", style(".more, .two { margin-top: -40px }"), "1280 px", "overlap"),
    ("a text that leaves its drawing", TEXTS + "texts[0].setAttribute('x', '-20')", "1280 px", "is cut off"),
    ("a text that its box cuts", style(".subject { width: 40px; overflow: hidden; white-space: nowrap }"), "400 px", "is cut off"),
    ("an ellipsis", style("td, th { max-width: 3em; overflow: hidden; text-overflow: ellipsis }"), "1280 px", "is cut off"),
    ("a box wider than a narrow window", style(".prov { width: 390px }"), "320 px", "wider than the window"),
    ("a box wider than a wide window", style(".prov { width: 2000px }"), "1280 px", "wider than the window"),
    ("a low figure", "looks.all('svg.fig').forEach((svg) => { svg.setAttribute('height', '40'); })", "1600 px", "px"),
    ("a figure of no width", style(".v { display: none !important }"), "400 px", "0 drawings"),
    ("two widths at once", style(".v { display: block !important }"), "1280 px", "3 drawings|2 drawings|is scaled"),
    ("pale words", style(".more { color: #b0b0b0 }"), "1280 px, light", "contrast"),
    ("dark words in the dark", style(".more { color: #444 }"), "400 px, dark", "contrast"),
    ("pale words in a figure", style("svg.fig text { fill: #aaa }"), "1280 px, light", "contrast"),
    ("a fill below a text", TEXTS + "const box = texts[0].getBBox(), rect = document.createElementNS('http://www.w3.org/2000/svg', 'rect');"
     "for (const name of ['x', 'y', 'width', 'height']) rect.setAttribute(name, box[name]); rect.setAttribute('class', 'c6');"
     "texts[0].before(rect)", "1280 px, light", "contrast"),
    ("a mark beside its value", MARK + "for (const name of ['x', 'cx']) if (mark.hasAttribute(name)) mark.setAttribute(name, Number(mark.getAttribute(name)) + 3);"
     "if (mark.hasAttribute('transform')) mark.setAttribute('transform', 'translate(1 1)')", "marks", "the document has it at"),
    ("a mark in the colour of another device", "const mark = document.querySelector('.fig[data-key] [data-s=\"1\"].c2'); mark.setAttribute('class', mark.getAttribute('class').replace('c2', 'c1'))", "marks", "not colour 2"),
    ("a row in the colour of another device", "looks.all('td svg .c2').forEach((mark) => mark.setAttribute('class', 'c1'))", "marks", "a row of B is drawn"),
    ("a tile in the colour of another device", "document.querySelector('.tile svg .c2').setAttribute('class', 'c3')", "marks", "the tile"),
    ("a mark that is missing", MARK + "mark.remove()", "marks", "marks of"),
    ("a tip of another value", "document.querySelector('[data-key] [data-t]').closest('figure').dataset.tips ="
     "JSON.stringify(JSON.parse(document.querySelector('[data-key] [data-t]').closest('figure').dataset.tips).map(() => 'another, 7 s'))", "marks", "does not say"),
    ("a wrong title", "document.querySelector('.fig h3').textContent = 'x'", "marks", "title"),
    ("a figure that is missing", "document.querySelector('.fig[data-key]').remove()", "marks", "has the figures"),
    ("a wrong number in a table", "const cell = document.querySelector('table[data-name=devices] td[data-v]'); cell.dataset.v = Number(cell.dataset.v) * 1.01", "cells", "the document has"),
    ("a row that is missing", "document.querySelector('table[data-name=devices] tbody tr').remove()", "cells", "rows of"),
    ("wrong data of a figure", "looks.all('.fig td[data-v]').forEach((cell) => { cell.dataset.v = '1e99'; })", "cells", "lacks"),
    ("another verdict", "document.querySelector('h1').textContent = 'All is well'", "summary", "verdict"),
    ("trust left out", "document.querySelector('.trust').remove()", "summary", "lacks"),
    ("a verdict that must be scrolled to", style("h1 { margin-top: 1200px }"), "summary", "first screen"),
    ("a style attribute", "document.querySelector('p').setAttribute('style', 'color: red')", "markup", "style attribute"),
    ("a handler", "document.querySelector('p').setAttribute('onclick', '')", "markup", "onclick"),
    ("a name that became an element", "document.querySelector('p').innerHTML = '<b>x</b>'", "markup", "element b"),
    ("a name that ran", "globalThis.hostile = 1", "markup", "ran as script"),
    ("a name that turns the text around", "document.querySelector('p').textContent += '\\u202e'", "markup", "overrides"),
    ("a console message", "console.log('x')", "heard", "console"),
    ("an exception", "setTimeout(() => { throw new Error('x'); }, 0); new Promise((done) => setTimeout(done, 50))", "heard", "exception"),
    ("a request", "new Image().src = 'http://127.0.0.1:9/x.png'; new Promise((done) => setTimeout(done, 50))", "heard", "request|complains"),
    ("tips of nothing", "looks.all('[data-t]').forEach((mark) => { mark.dataset.t = 99999; })", "used", "is not said"),
    ("a tip that is not read out", "document.getElementById('tip').removeAttribute('aria-live')", "used", "polite live region"),
    ("Escape that does nothing", "addEventListener('keydown', (event) => { if (event.key === 'Escape') event.stopImmediatePropagation(); }, true)", "used", "Escape"),
    ("keys that do nothing", "addEventListener('keydown', (event) => event.stopImmediatePropagation(), true)", "used", "arrow key"),
    ("heads that do not sort", "addEventListener('click', (event) => event.stopImmediatePropagation(), true)", "used", "aria-sort"),
    ("a wrong order", "addEventListener('click', (event) => { const head = event.target.closest('thead th'); if (!head) return; event.stopImmediatePropagation();"
     "head.setAttribute('aria-sort', head.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending'); }, true)", "used", "column \\d+ is not"),
    ("no CSV", "looks.all('button.csv').forEach((button) => button.remove())", "used", "no button saves it"),
    ("a command that is not copied", "looks.all('button.copy').forEach((button) => button.addEventListener('click', (event) => event.stopPropagation()))", "used", "not copied"),
    ("a filter that hides all", "looks.all('input').forEach((field) => field.addEventListener('input', () => field.closest('.table').querySelectorAll('tbody tr').forEach((row) => { row.hidden = true; })))", "used", "filter"),
    ("a theme that does not switch", "document.querySelector('.theme').className = 'theme2'; document.body.insertAdjacentHTML('beforeend', '<button class=theme></button>');"
     "document.querySelector('.theme').addEventListener('click', (event) => event.stopPropagation())", "used", "theme"),
    ("dark paper", style("@media print { body { background: #222 } }"), "print from dark", "paper is dark"),
    ("buttons on paper", style("@media print { .theme, .bar { display: block !important } }"), "print from dark", "paper shows"),
]
# The same in the page's file.
SOURCES = [
    ("a page that is too large", lambda text: text.replace("</body>", "<!--" + "x" * 400_000 + "--></body>"), "size", "KiB"),
    ("a style attribute in the file", lambda text: text.replace("<main ", '<main style="" ', 1), "source", "style="),
    ("a script from elsewhere", lambda text: text.replace("</body>", '<script src="http://127.0.0.1:9/x.js"></script></body>'), "heard", "complains|request"),
    ("a script of a name", lambda text: text.replace("</main>", "<script>window.hostile = 1</script></main>"), "heard", "complains"),
    ("a table that only a script shows", lambda text: text.replace('<div class="tw"', '<div hidden class="tw"', 1), "without script", "is not there"),
    ("a page without its style", lambda text: text.replace("<style>", "<style> "), "without script", "."),
]


def planted(looker, page, document, plant, part, bound):
    looker.open(page, document)
    looker.browser.evaluate("(() => { " + plant + " })()" if "new Promise" not in plant else plant)
    return looker.parts(page, document, bound)[part]()


def main():
    program, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if chromium.find() is None:
        print(f"1..0 # SKIP no {chromium.PROGRAM} on this machine (package {chromium.PROGRAM})")
        return
    failed, number = False, 0

    def check(name, good, said):
        nonlocal failed, number
        number += 1
        print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)
        for fault in said[:4] if not good else []:
            print("# " + fault)
        failed |= not good

    with tempfile.TemporaryDirectory() as scratch, chromium.Browser() as browser:
        folder, looker = pathlib.Path(scratch), looks.Looker(browser)
        (page, error), = pages.make_all(program, root, folder, ["profile-2"])
        assert error is None, error
        html, document = folder / "profile-2.html", json.loads((folder / "profile-2.json").read_text())
        for name, plant, part, pattern in SCRIPTS:
            before = planted(looker, html, document, "", part, page.bound)
            said = planted(looker, html, document, plant, part, page.bound)
            check(name, any(re.search(pattern, fault) and fault not in before for fault in said), said)
        for name, change, part, pattern in SOURCES:
            other = folder / "planted.html"
            other.write_text(change(html.read_text()))
            said = planted(looker, other, document, "", part, page.bound)
            check(name, any(re.search(pattern, fault) for fault in said), said)
        other = copy.deepcopy(document)
        for section in other["sections"]:
            for block in section["blocks"]:
                for point in (point for series in block.get("series", []) for point in series["points"]):
                    point["y"] = point.get("y", 1) * 1.02
        said = planted(looker, html, other, "", "marks", page.bound)
        check("a document of other figures", any("the document has it at" in fault for fault in said), said)
    print(f"1..{number}")
    sys.exit(1 if failed else 0)


main()
