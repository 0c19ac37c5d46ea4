#!/usr/bin/env python3
"""same-json.py A B: whether two JSON documents are alike but for what was measured: the same members in the same order, lists
of the same length, the same texts but for identities, times and paths (member names in VARYING), numbers where the other has
numbers. Prints the first difference."""
import json
import sys

VARYING = {"others_ratio", "steal_ratio", "warnings", "uid", "started_unix_ms", "measured_at", "date", "time", "folder", "path", "model_path", "store", "case_key",
           "timestamp", "other"}


def difference(a, b, place):
    number = (int, float)
    if isinstance(a, dict) and isinstance(b, dict):
        if list(a) != list(b):
            return f"{place}: members {list(a)} and {list(b)}"
        return next(filter(None, (difference(a[k], b[k], f"{place}.{k}") for k in a if k not in VARYING)), None)
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return f"{place}: {len(a)} and {len(b)} items"
        return next(filter(None, (difference(x, y, f"{place}[{i}]") for i, (x, y) in enumerate(zip(a, b)))), None)
    if isinstance(a, number) and isinstance(b, number) and not isinstance(a, bool) and not isinstance(b, bool):
        return None
    return None if a == b else f"{place}: {a!r} and {b!r}"


def main():
    documents = []
    for path in sys.argv[1:3]:
        with open(path, encoding="utf-8") as file:
            documents.append(json.load(file))
        documents[-1].pop("summary", None)  # which the command adds, of the page that it shows
    found = difference(*documents, "document")
    if found:
        sys.exit(found)


if __name__ == "__main__":
    main()
