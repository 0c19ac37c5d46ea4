"""What the command says while it runs."""
import json
import sys
import warnings


def _words(change):
    """A change as one line: "[2/6] openvino:CPU  running"."""
    if change["kind"] != "progress":
        return change["text"]
    number = change["done"] + (change["outcome"] is None)
    of = f"/{change['of']}" if change["of"] else ""
    return f"[{number}{of}] {change['what']}  {change['outcome'] or change['phase']}"


class Watch:
    """Shows the lines of a running command as they come. how: as of run_verb(); words: that ask the
    command for its progress as JSON; lines: notes and errors."""

    def __init__(self, how, tells):
        if how is not None and not isinstance(how, bool) and not callable(how):
            raise TypeError(f"progress: takes True, False or a function, not {how!r}")
        self.lines, self._bar, self._how, self._tqdm = [], None, how, None
        if how is None:
            try:
                with warnings.catch_warnings():  # a notebook without widgets has no bar
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm
                self._tqdm = tqdm
            except ImportError:
                self._how = sys.stderr.isatty()
        self.words = ["--progress=json"] if tells else []

    def take(self, line):
        """One line of standard error."""
        try:
            change = json.loads(line) if self.words else None
        except ValueError:  # of a command line that was refused
            change = None
        if change is None:
            change = {"kind": "note", "text": line}
        if change["kind"] != "progress":
            self.lines.append(change["text"])
        if callable(self._how):
            self._how(change)
        elif self._how is True:
            print(_words(change), file=sys.stderr)
        elif self._tqdm is not None and change["kind"] == "progress":
            self._show(change)

    def _show(self, change):
        if self._bar is None:
            notebook = any("notebook" in kind.__module__ for kind in self._tqdm.__mro__)
            self._bar = self._tqdm(total=change["of"], leave=False,
                                   disable=False if notebook else None,
                                   bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt}{postfix}")
        self._bar.total, self._bar.n = change["of"], change["done"]
        self._bar.set_description_str(change["what"], refresh=False)
        left = f", {change['left_s']:.0f} s left" if change["left_s"] is not None else ""
        self._bar.set_postfix_str((change["outcome"] or change["phase"] or "") + left)

    def close(self):
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
