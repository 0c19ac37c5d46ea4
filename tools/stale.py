"""Whether an output that a page shows is stale: figures and names differ from run to run, structure and words may not.

A line of the page is compared with the lines that the program prints now; figures, units and names (what holds a digit or a sign) are
left out. A line that is printed now is good. Of another one, which may be said of other data, each cell of a table's head must be one
that the program has, and each two words that follow each other must do so in what is printed now or in a text of the sources, where
a "%s" may stand for any piece. And a line that begins with a label ("trust     …", "verdict: …") may not be missing on the page."""
import difflib
import functools
import glob
import os
import re

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
DRAWN = re.compile("[\u2500-\u25ff\u2800-\u28ff]+")  # rules, strips, bars, marks
UNIT = r"(?:[pnuµmkMG]?s|[KMGT]i?B(?:/s)?|[kMGT]?(?:FLOP|MAC)(?:/s|/B)?|m?[JW]|[kMG]?Hz|%|/s)"
FIGURE = re.compile(rf"(?<![A-Za-z])[<>≤≥±×+\u2212-]*\d[\d.,:]*(?:[ \u00a0]?{UNIT}(?![A-Za-z]))?")
# of models, devices, kernels, files, settings; of processors
NAME = re.compile(r"\S*[A-Za-z_]\S*\d\S*|\S*[_/:@#=](?=\S)\S*|\b(?:AuthenticAMD|GenuineIntel|AMD|Intel|EPYC|Ryzen|Xeon|Core)\b")
BREAK = re.compile(r"·|[.,;:)!?](?=[\s\u00a0]|$)|(?<=[\s\u00a0])\(")  # words across it need not follow each other in one text
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
PLACE = re.compile(r"%[-+ #0*.\d]*(?:l|ll|z|j)?[a-zA-Z]|\x00")
# What depends on the load of the machine and on the data: its line may come and go.
SOMETIMES = {"warning", "next", "note", "disturbed", "speed"}


def cells(line):
    return [cell for cell in re.split(r"\s{2,}", DRAWN.sub("   ", line).strip()) if cell]


def words(text):
    """The words of a sentence in order, without the s of a plural; None stands for a figure or a name."""
    found = []
    for token in re.split(r"[\s\u00a0]+", FIGURE.sub(" 0 ", BREAK.sub(" 0 ", NAME.sub(" 0 ", text)))):
        word = token.strip(".,;:()'\"`*[]?·").lower()
        if word:
            found.append(re.sub(r"(?<=..)s$", "", word) if re.fullmatch(r"[a-z][a-z'’-]*", word) else None)
    return found


def skeleton(line):
    return tuple(tuple(words(cell)) for cell in cells(line) if any(words(cell)))


class Texts:
    """Pairs of words that follow each other, and words at which a piece may begin and end."""

    def __init__(self):
        self.patterns = []
        self.whole, self.words, self.pairs, self.begins, self.ends = set(), set(), set(), set(), set()

    def add(self, text):
        self.whole.add(text.strip())
        if re.search("[a-z]", PLACE.sub("", text)) and PLACE.search(text):
            self.patterns.append(re.compile(".+".join(re.escape(piece) for piece in PLACE.split(text.strip()))))
        for piece in PLACE.split(text):
            found = words(piece)
            self.words.update(found)
            self.begins.update(found[:1])
            self.ends.update(found[-1:])
            for one, next_one in zip(found, found[1:]):
                self.pairs.add((one, next_one))
                if next_one is None:
                    self.ends.add(one)
                if one is None:
                    self.begins.add(next_one)

    def has(self, text):
        return text in self.whole or any(pattern.fullmatch(text) for pattern in self.patterns)

    def joined(self, one, next_one):
        return (one, next_one) in self.pairs or (one in self.ends and next_one in self.begins)


@functools.lru_cache(maxsize=None)
def sources():
    """All literals of the sources; those that the compiler joins are one."""
    texts = Texts()
    for path in glob.glob(os.path.join(ROOT, "src/**/*.[ch]"), recursive=True):
        with open(path, encoding="utf-8") as file:
            code = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        code = re.sub(r'"\s*G_GU?INT64_(?:MODIFIER|FORMAT)\s*"', "%u", code)
        code = re.sub(r'(?<!\\)"\s*\n\s*"', "", code)
        for literal in LITERAL.findall(code):
            texts.add(re.sub(r"\\(.)", lambda found: {"n": "\x00", "t": " "}.get(found.group(1), found.group(1)), literal))
    for path in glob.glob(os.path.join(ROOT, "studies/*.yaml")) + glob.glob(os.path.join(ROOT, "devices/*.yaml")):
        with open(path, encoding="utf-8") as file:
            for line in file:
                texts.add(line)
    return texts


def is_rule(line):
    return line.count("─") > 9 and not re.search(r"[^─\s]", line)


def table_lines(lines):
    """Numbers of the lines of tables, heads included, and those of heads."""
    rows, heads = set(), set()
    for number, line in enumerate(lines):
        if is_rule(line) and number > 0:
            heads.add(number - 1)
            end = next((at for at in range(number, len(lines)) if not lines[at].strip()), len(lines))
            rows.update(range(number - 1, end))
    return rows, heads


def label(line):
    found = re.match(r"([a-z][a-z ]*?)(?:  +|: )\S", line)
    return found.group(1) if found else None


def unknown(line, now, is_head, heads):
    """The first words of a line that nothing says, or None."""
    for cell in cells(line):
        if is_head:
            if any(words(cell)) and cell not in heads and not sources().has(cell):
                return cell
            continue
        found = words(cell)
        for at, word in enumerate(found):
            if word is None:
                continue
            if word not in now.words | sources().words:
                return word
            if at > 0 and found[at - 1] is not None and not any(texts.joined(found[at - 1], word) for texts in (now, sources())):
                return f"{found[at - 1]} {word}"
    return None


def faults(shown, printed, window, code):
    """shown: what the page has; printed: all that is printed now; window: what of it the page would have; code: what printed it."""
    shown, window = shown.rstrip("\n").split("\n"), window.rstrip("\n").split("\n")
    now = Texts()
    for line in printed.split("\n") + code.split("\n"):
        for cell in cells(line):
            now.add(cell)
    now.add(re.sub(r"\s+", " ", printed))
    all_printed = printed.split("\n")
    printed_heads = {cell for number in table_lines(all_printed)[1] for cell in cells(all_printed[number])}
    known_lines = {skeleton(line) for line in all_printed}
    found, (_, heads) = [], table_lines(shown)
    for number, line in enumerate(shown):
        if skeleton(line) in known_lines and number not in heads or is_rule(line) or line == "…":
            continue
        stale = unknown(line, now, number in heads, printed_heads)
        if stale is not None:
            found.append(f"stale: the program says no more {stale!r}, as in {line!r}")
    return found + missing(shown, window)


def missing(shown, window):
    """Labels of what is printed before the last line that both have, and not shown."""
    labels, (rows, _) = {label(line) for line in shown}, table_lines(window)
    said = [(number, line) for number, line in enumerate(window) if skeleton(line)]  # a line without words is like any other
    matcher = difflib.SequenceMatcher(None, [skeleton(line) for line in shown if skeleton(line)],
                                      [skeleton(line) for _, line in said], autojunk=False)
    last = max((said[match.b + match.size - 1][0] for match in matcher.get_matching_blocks() if match.size), default=0)
    found = []
    for number, line in enumerate(window[:last]):
        if number not in rows and label(line) is not None and label(line) not in labels | SOMETIMES:
            found.append(f"stale: the page lacks {label(line)!r}, as in {line!r}")
            labels.add(label(line))
    return found
