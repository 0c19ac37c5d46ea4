"""The verbs and their options, as the command itself lists them (`inferometer help --json`)."""
import datetime
import difflib
import functools
import inspect
import json
import keyword
import os
import pathlib
import textwrap

from ._command import command, table_of

# keyword arguments of this package, and the option that a verb must have for each
OWN = {"devices": "device", "inputs": "input", "progress": None}


def near(word, words):
    """": did you mean 'WORD'?", or nothing."""
    found = difflib.get_close_matches(word, words, 1)
    return f": did you mean '{found[0]}'?" if found else ""


def plain(value):
    """A number of NumPy or torch as one of Python; other values as they are."""
    return value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value


class Option:
    """One option of a verb: the keys of its row, and its keyword."""

    def __init__(self, row):
        self.name, self.kind = row["name"], row["kind"]
        self.argument, self.help = row["argument"], row["help"]
        self.choices, self.repeatable = row["choices"] or [], row["repeatable"]
        self.default, self.is_list = row["default"], row["comma"]
        self.excludes = set(row["excludes"])
        word = self.name.replace("-", "_")
        self.keyword = word + "_" if keyword.iskeyword(word) else word

    def _wrong(self, value):
        return TypeError(f"{self.keyword}: takes {self.argument} ({self.kind}), not {value!r}")

    def _number(self, value):
        if self.kind in ("count", "bytes") and not isinstance(value, int):
            raise self._wrong(value)
        if self.kind == "duration":
            return f"{value:.9f}".rstrip("0").rstrip(".") + "s"
        return f"{value}B" if self.kind == "bytes" else repr(value)

    def _text(self, value):
        """One value as the command line has it."""
        value = plain(value)
        if isinstance(value, datetime.timedelta) and self.kind == "duration":
            value = value.total_seconds()
        if isinstance(value, (list, tuple)) and self.kind == "text":
            return ",".join(map(self._text, value))
        if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
            raise self._wrong(value)
        text = self._number(value) if isinstance(value, (int, float)) else os.fspath(value)
        if self.choices and self.kind == "choice" and text not in self.choices:
            raise ValueError(f"{self.keyword}='{text}'"
                             + (near(text, self.choices) or f": one of {', '.join(self.choices)}"))
        return text

    def words(self, value):
        """The words of the command line for a value; none for None and False."""
        if value is None or value is False:
            return []
        if self.kind == "flag":
            if value is not True:
                raise TypeError(f"{self.keyword}: takes True or False, not {value!r}")
            return [f"--{self.name}"]
        several = isinstance(value, (list, tuple))
        if isinstance(value, dict) and self.kind == "text":
            value, several = [f"{key}={self._text(of)}" for key, of in value.items()], True
        numbers = several and all(isinstance(plain(one), (int, float)) for one in value)
        if several and self.is_list and (numbers or not self.repeatable):  # "5000,10000"
            several = False
        elif several and not self.repeatable:
            raise self._wrong(value)
        return [f"--{self.name}={self._text(one)}" for one in (value if several else [value])]


class Verb:
    """One verb: "profile", "study run"."""

    def __init__(self, row):
        self.name, self.summary, self.arguments = row["name"], row["summary"], row["arguments"]
        self.details, self.min, self.max = row["details"], row["min"], row["max"]
        self.options = {o.keyword: o for o in map(Option, row["options"]) if o.name != "help"}
        self.function = self.name.replace(" ", "_")

    def has(self, name):
        """Whether it has that option."""
        return name in self.options

    def own(self):
        """The keyword arguments that it has besides its options."""
        return [name for name, needed in OWN.items() if needed is None or self.has(needed)]

    def option(self, key):
        """The option of a keyword; TypeError with the nearest one."""
        if key not in self.options:
            hint = near(key, [*self.options, *self.own()])
            raise TypeError(f"{self.function}() has no option '{key}'{hint}")
        return self.options[key]

    def excluded(self, name, options):
        """The first of some options that excludes the one of that name; or None."""
        excludes = self.options[name].excludes
        return next((key for key in options if self.options[key].name in excludes), None)

    def words(self, options):
        """The words of the command line for all options; TypeError where two exclude each other."""
        words = {key: self.option(key).words(value) for key, value in options.items()}
        given = [key for key in options if words[key]]
        for key in given:
            other = self.excluded(key, given)
            if other is not None:
                raise TypeError(f"{self.function}() takes {key} or {other}, not both")
        return [word for key in given for word in words[key]]

    def check(self, n):
        """Whether it takes so many arguments."""
        if n < self.min or (self.max is not None and n > self.max):
            wanted = self.arguments or "no arguments"
            raise TypeError(f"{self.function}() takes {wanted}, not {n} arguments")

    def signature(self):
        """For help() and for completion in notebooks."""
        kind = inspect.Parameter
        names = dict.fromkeys([*self.own(), *self.options])
        return inspect.Signature([kind("arguments", kind.VAR_POSITIONAL)] +
                                 [kind(n, kind.KEYWORD_ONLY, default=None) for n in names])

    def doc(self):
        """Text of help()."""
        def filled(text, indent):
            return textwrap.fill(text, 88, initial_indent=indent, subsequent_indent=2 * indent,
                                 break_long_words=False, break_on_hyphens=False)

        rows = [filled(f"{o.keyword}: {o.help}" + (f" (default {o.default})" if o.default else ""),
                       "    ") for o in self.options.values() if o.keyword not in OWN]
        head = f"{' '.join(f'inferometer {self.name} {self.arguments}'.split())}: {self.summary}."
        details = [filled(line, "") for line in (self.details or "").splitlines()]
        parts = [[head], details, ["Options, as keyword arguments:", *rows]]
        return "\n\n".join("\n".join(part) for part in parts if part)


@functools.cache
def table():
    """What the command tells of itself. A copy that came with it saves the process."""
    shipped = pathlib.Path(__file__).parent / "_root" / "verbs.json"
    if shipped.exists() and not os.environ.get("INFEROMETER"):
        return json.loads(shipped.read_text(encoding="utf-8"))
    return table_of(command())


@functools.cache
def verbs():
    """All verbs by the names of their functions."""
    of_people = ("help", "completion")
    return {v.function: v for v in map(Verb, table()["verbs"]) if v.name not in of_people}
