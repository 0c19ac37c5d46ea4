"""What a verb found."""
import io
import json

from ._options import near


class Summary:
    """verdict, detail, subject; trust: "good", "care" or "bad"; trust_words and checks: why; next;
    provenance. raw has the keys that the command writes (docs/formats.md, "A summary")."""

    def __init__(self, raw):
        self.raw = raw

    @property
    def trust(self):
        """The worst of the checks: "good", "care" or "bad"."""
        return self.raw["trust"]["level"]

    @property
    def trust_words(self):
        """Whether to trust it, and why."""
        trust = self.raw["trust"]
        why = [check["text"] for check in self.checks if check["level"] == trust["level"] != "good"]
        return ": ".join([trust["words"], *filter(None, [trust.get("why") or "; ".join(why)])])

    @property
    def checks(self):
        """What was checked: level ("good", "care", "bad", "unchecked") and text of each."""
        return self.raw["trust"]["checks"]

    def __getattr__(self, name):
        if name != "raw" and name in self.raw:
            return self.raw[name]
        raise AttributeError(f"a summary has no '{name}'")

    def __dir__(self):
        return [*super().__dir__(), *self.raw]

    def __str__(self):
        return self.raw["verdict"]

    def __repr__(self):
        return f"<Summary: {self.raw['verdict']} ({self.trust})>"


class Result:
    """summary; json: everything, as --json writes it; document: sections, tables and figures, as
    --document does; frame() and frames, figure() and figures, html(); text: what a terminal shows;
    notes; status and ok."""

    def __init__(self, verb, status, text, notes, files, clean, stale=()):
        self.verb, self.status, self.text, self.notes = verb.name, status, text, notes

        def read(path):
            return clean(path.read_text(encoding="utf-8"))

        self._files = {o: read(p) for o, p in files.items() if p.is_file()}
        first, *more = self._files.get("csv", "").split("\n", 2)
        if more and "," in more[0] and "," not in first:  # of all tables, each after its name
            del self._files["csv"]
        self.json = json.loads(self._files.get("json", "null"))
        self.document = json.loads(self._files.get("document", "null"))
        self.tables = dict(self._named("table"))
        svgs = sorted(files["figures"].glob("*.svg")) if "figures" in files else []
        drawn = {path.stem: read(path) for path in svgs if path not in stale}
        ordered = [name for name, _ in self._named("figure") if name in drawn]
        self._figures = {name: drawn[name] for name in [*ordered, *drawn]}

    def _named(self, kind):
        """Blocks of the document by unique names: "blocks", "blocks-2"."""
        seen = {}
        for section in (self.document or {}).get("sections", []):
            for block in section["blocks"]:
                if block["kind"] == kind and block.get("key"):
                    key = block["key"]
                    seen[key] = seen.get(key, 0) + 1
                    yield (f"{key}-{seen[key]}" if seen[key] > 1 else key), block

    @property
    def ok(self):
        """Whether nothing failed."""
        return self.status == 0

    @property
    def summary(self):
        """The verdict and what it rests on; None where there is none."""
        for found in (self.document, self.json):
            if isinstance(found, dict) and found.get("summary"):
                return Summary(found["summary"])
        return None

    @property
    def frames(self):
        """The names that frame() takes: tables of the page, and "csv" where the verb writes one."""
        return [*(["csv"] if "csv" in self._files else []), *self.tables]

    @property
    def figures(self):
        """The names that figure() takes."""
        return list(self._figures)

    def frame(self, name=None):
        """A pandas.DataFrame: the table of that name, or the first of frames. Numbers are in full,
        times in ns where a column does not say otherwise."""
        import pandas
        if not self.frames:
            raise KeyError(f"{self.verb} has no tables: .json has all of it")
        name = self._name("table", name, self.frames)
        if name == "csv":
            text = self._files["csv"]
            return pandas.read_csv(io.StringIO(text)) if text.strip() else pandas.DataFrame()
        columns = [column["key"] for column in self.tables[name]["columns"]]
        return pandas.DataFrame.from_records(self.tables[name]["rows"], columns=columns)

    def figure(self, name=None):
        """The figure of that name, or the first of figures: SVG, which a notebook draws."""
        return Figure(self._figures[self._name("figure", name, self.figures)])

    @staticmethod
    def _name(what, name, names):
        """The name, if there is one like it; the first where none is given."""
        if name is None and names:
            return names[0]
        if name not in names:
            there = f"; there are {', '.join(names)}" if names else "; there are none"
            raise KeyError(f"no {what} {name!r}{near(str(name), names) or there}")
        return name

    def html(self):
        """The page, one file for any browser; None where the verb has none."""
        return self._files.get("html")

    def __str__(self):
        return self.text

    def __repr__(self):
        state = "ok" if self.ok else "failed"
        shown = f"{state}; print() shows it" if self.text else state
        return f"<inferometer {self.verb}: {self.summary or shown}>"

    def _repr_html_(self):
        from ._notebook import to_html
        return to_html(self)


class Figure(str):
    """An SVG, which a notebook draws."""

    def __repr__(self):
        return f"<Figure: SVG of {len(self)} characters>"

    def _repr_html_(self):
        from ._notebook import image
        return image(self)
