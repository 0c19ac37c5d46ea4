"""How a result looks in a notebook: verdict, trust, the first table and one figure."""
import base64
import html
import math

MARKS = {"good": ("✓", "#1a7f37"), "care": ("!", "#9a6700"), "bad": ("✕", "#c62828")}
ROUGH = {"rough": "~", "unknown": "?"}
SCALES = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "bytes": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    "bytes/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s")),
    "ratio": ((0.01, "%"),),
}
MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 12, 8, 40


def number(value, unit=""):
    """Three digits and a unit: "77.4 µs", "35 %", "12900"."""
    scales = SCALES.get(unit, ((1, ""),))
    scale, word = next((s for s in scales if abs(value) >= s[0]), scales[-1])
    value /= scale
    if value and math.isfinite(value):
        value = round(value, max(0, 2 - math.floor(math.log10(abs(value)))))
    text = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.4g}"
    return f"{text} {word}".rstrip()


def image(svg):
    """A figure's style sheet must not reach the notebook: an image keeps it inside."""
    data = base64.b64encode(svg[svg.find("<svg"):].encode()).decode()
    return f'<img style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def _summary(summary):
    def line(level, text):
        mark, colour = MARKS.get(level, ("·", "inherit"))
        return f"<div><b style='color:{colour}'>{mark}</b> {html.escape(text)}</div>"

    trust, _, why = summary.trust_words.partition(": ")
    why = html.escape(f": {why}" if why else "")
    parts = [f"<div style='opacity:.7'>{html.escape(summary.subject or '')}</div>",
             f"<div style='font-size:125%;font-weight:bold'>{html.escape(summary.verdict)}</div>",
             f"<div>{html.escape(summary.detail or '')}</div>",
             f"<div style='margin-top:.4em'><b>{html.escape(trust)}</b>{why}</div>",
             *(line(check["level"], check["text"]) for check in summary.checks
               if check["text"] not in summary.trust_words)]
    for step in summary.next[:1]:
        gain = f" ({step['gain']})" if step.get("gain") else ""
        command = f" <code>{html.escape(step['command'])}</code>" if step.get("command") else ""
        text = html.escape(step["text"] + gain)
        parts.append(f"<div style='margin-top:.4em'>→ {text}{command}</div>")
    return "".join(parts)


def _cell(row, column, mark):
    value = row.get(column["key"])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        text = "" if value is None else {True: "yes", False: "no"}.get(value, str(value))
        text = text if len(text) <= MAX_TEXT else text[:MAX_TEXT - 1] + "…"
        return f"<td style='text-align:left'>{html.escape(text)}</td>"
    text = ROUGH.get(mark, "") + number(value, column["unit"])
    return f"<td style='text-align:right;white-space:nowrap'>{html.escape(text)}</td>"


def _row(row, columns, marks):
    """A row; where something failed, why."""
    if row.get("alias") and columns[0]["key"] == "device":
        row = {**row, "device": f"{row['alias']}={row['device']}"}
    if row.get("reason"):
        why = html.escape(row["reason"])
        why = f"<td colspan={len(columns)} style='text-align:left'>{why}</td>"
        return f"<tr>{_cell(row, columns[0], None)}{why}</tr>"
    return f"<tr>{''.join(_cell(row, c, marks.get(c['key'])) for c in columns)}</tr>"


def table(block):
    """What each row is of, and the columns that have a title; frame() has the others."""
    rows, first = block["rows"], block["columns"][0]
    columns = [first, *(c for c in block["columns"][1:]
                        if c["title"] and any(row.get(c["key"]) is not None for row in rows))]
    more = [f"{n} more {what}" for n, what in ((len(rows) - MAX_ROWS, "rows"),
                                               (len(columns) - MAX_COLUMNS, "columns")) if n > 0]
    columns, marks = columns[:MAX_COLUMNS], {}
    for mark in block.get("marks", []):
        marks.setdefault(mark["row"], {})[mark["column"]] = mark["mark"]
    head = "".join(f"<th>{html.escape(c['title'] or c['key'])}</th>" for c in columns)
    body = "".join(_row(row, columns, marks.get(at, {})) for at, row in enumerate(rows[:MAX_ROWS]))
    tail = f"<div style='opacity:.7'>{', '.join(more)} in frame()</div>" if more else ""
    return f"<div style='overflow-x:auto'><table><tr>{head}</tr>{body}</table>{tail}</div>"


def to_html(result):
    """HTML of a result."""
    tables = [block for block in result.tables.values() if block["rows"]]
    if result.summary is None and not tables:
        text = result.text or "\n".join(result.notes)
        return f"<pre style='white-space:pre-wrap'>{html.escape(text)}</pre>"
    parts = [_summary(result.summary)] if result.summary else []
    parts += [table(tables[0])] if tables else []
    parts += [image(result.figure())] if result.figures else []
    return "\n".join(parts)
