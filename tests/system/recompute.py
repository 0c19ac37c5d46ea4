#!/usr/bin/env python3
"""recompute.py FOLDER: computes a study's tables again from its raw measurements, with numpy and by nobody else's code.

Reads raw_measurements.json, lookup_table.json, bandwidth_table.json and the checkpoints; names each figure that differs,
and exits 1 where there is one.
"""
import json
import math
import os
import sys

import numpy

MB = 2.0**20


class Check:
    def __init__(self):
        self.n = 0
        self.wrong = []

    def that(self, what, right, found, expected):
        self.n += 1
        if not right:
            self.wrong.append("%s: found %s, expected %s" % (what, found, expected))

    def number(self, what, found, expected, relative=1e-9, absolute=1e-12):
        """null, where a number is not finite."""
        if expected is None or not math.isfinite(expected):
            self.that(what, found is None, found, None)
            return
        right = isinstance(found, (int, float)) and not isinstance(found, bool)
        right = right and abs(found - expected) <= max(absolute, relative * abs(expected))
        self.that(what, right, found, repr(expected))

    def equal(self, what, found, expected):
        self.that(what, found == expected, found, expected)


def rows_of(table):
    """{(alias, stage): {(nodes, edges): row}}, as published readers take a table: four words parted by commas."""
    rows = {}
    for key, row in table.items():
        words = key.split(",")
        if len(words) == 4:
            rows.setdefault((words[2], int(words[3])), {})[int(words[0]), int(words[1])] = row
    return rows


def table_bytes(stage, nodes, edges, features, hidden):
    index = 2 * edges * 8
    return {
        1: nodes * features * 4 + index,
        2: edges * features * 4 + index,
        3: edges * hidden * 4 + index,
        4: nodes * hidden * 4 + index,
        5: nodes * hidden * 4 + nodes * 4,
        6: nodes * hidden * 4,
        7: nodes * hidden * 4,
    }[stage]


def student_quantile(p, freedom):
    """Where Student's distribution function is p > 0.5: the density integrated by Simpson's rule, inverted by bisection."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)

    def above_half(t):
        # t = sqrt(freedom) tan(angle): a finite range, and a smooth integrand
        angle = numpy.linspace(0, math.atan(t / math.sqrt(freedom)), 4001)
        values = scale * math.sqrt(freedom) * numpy.cos(angle) ** (freedom - 1)
        step = angle[1] - angle[0]
        return step / 3 * (values[0] + values[-1] + 4 * values[1:-1:2].sum() + 2 * values[2:-1:2].sum())

    low, high = 0.0, 1.0
    while above_half(high) < p - 0.5:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if above_half(middle) < p - 0.5 else (low, middle)
    return (low + high) / 2


def fit_line(x, y, level, relative=False):
    """Least squares, of the relative errors where asked, with intervals, from the normal equations' own pieces."""
    x, y = numpy.array(x, dtype=float), numpy.array(y, dtype=float)
    n = len(x)
    unit = x.max()
    design = numpy.column_stack([numpy.ones(n), x / unit])
    if relative:
        design, y = design / y[:, None], numpy.ones(n)
    (intercept, slope), _, rank, _ = numpy.linalg.lstsq(design, y, rcond=None)
    assert rank == 2
    residuals = y - design @ [intercept, slope]
    squares = float(residuals @ residuals)
    total = float(((y - y.mean()) ** 2).sum())
    spread = math.sqrt(squares / (n - 2))
    errors = spread * numpy.sqrt(numpy.diag(numpy.linalg.inv(design.T @ design)))
    t = student_quantile((1 + level) / 2, n - 2)
    return {
        "slope": slope / unit,
        "slope_half": t * errors[1] / unit,
        "intercept": intercept,
        "intercept_half": t * errors[0],
        "r_squared": 1 - squares / total if total > 0 else 0,
        "residual_std": spread,
    }


# --- interpolation ----------------------------------------------------------------------------------------------------


def along(points, place, at):
    """points: [(value,...)] on one axis after the other, in logarithms. Returns (value, whether outside)."""
    if at == len(place):
        return points[0][-1], False
    coordinates = sorted({point[at] for point in points})

    def below(coordinate):
        return along([point for point in points if point[at] == coordinate], place, at + 1)

    if place[at] in coordinates:
        return below(place[at])
    if len(coordinates) == 1:
        return below(coordinates[0])[0], True
    right = sum(1 for coordinate in coordinates if coordinate < place[at])
    outside = right in (0, len(coordinates))
    right = min(max(right, 1), len(coordinates) - 1)
    a, b = coordinates[right - 1], coordinates[right]
    (value_a, outside_a), (value_b, outside_b) = below(a), below(b)
    part = (place[at] - a) / (b - a)
    return value_a + part * (value_b - value_a), outside or outside_a or outside_b


def axes_of(nodes, edges):
    return math.log(nodes), math.log(edges / nodes)


def look_up(latencies, nodes, edges):
    """latencies: {(nodes, edges): latency}. Linear between logarithms of nodes, then of edges per node, and of latency."""
    points = [axes_of(*size) + (math.log(latency),) for size, latency in latencies.items()]
    value, outside = along(points, axes_of(nodes, edges), 0)
    return math.exp(value), outside


def leave_one_out(latencies):
    inner, outer = [], []
    for size, latency in latencies.items():
        others = {other: value for other, value in latencies.items() if other != size}
        predicted, outside = look_up(others, *size)
        (outer if outside else inner).append(abs(predicted / latency - 1))

    def quantile(errors, p):
        return float(numpy.quantile(errors, p)) if errors else None

    return {
        "n_interpolated": len(inner),
        "median_ratio": quantile(inner, 0.5),
        "p90_ratio": quantile(inner, 0.9),
        "max_ratio": quantile(inner, 1),
        "n_extrapolated": len(outer),
        "extrapolated_median_ratio": quantile(outer, 0.5),
        "extrapolated_max_ratio": quantile(outer, 1),
    }


# --- the files --------------------------------------------------------------------------------------------------------


def check_statistics(check, key, row):
    samples = numpy.array(row["samples_ms"], dtype=float)
    check.equal(key + ": n", row["n"], len(samples))
    if len(samples) == 0:
        return
    check.number(key + ": mean", row["mean"], float(samples.mean()))
    check.number(key + ": std", row["std"], float(samples.std(ddof=1)) if len(samples) > 1 else None, 1e-7)
    check.number(key + ": min", row["min"], float(samples.min()))
    check.number(key + ": max", row["max"], float(samples.max()))
    check.number(key + ": median", row["median"], float(numpy.median(samples)))
    lower, upper = row["interval_lower_ms"], row["interval_upper_ms"]
    if lower is not None:
        check.that(key + ": interval", lower <= row["median"] <= upper, (lower, upper), "around the median")


def check_lookup_row(check, key, row, raw, size, line):
    """line: (ms/byte, or None where no bandwidth can be told)"""
    total = raw["median"]
    check.number(key + ": total_time_ms", row["total_time_ms"], total)
    check.number(key + ": std_ms", row["std_ms"], raw["std"])
    check.number(key + ": mean_time_ms", row["mean_time_ms"], raw["mean"])
    transfer = None if line is None else size * line
    if transfer is None or transfer > total * (1 + 1e-9):
        check.equal(key + ": transfer_time_ms", row["transfer_time_ms"], None)
        check.equal(key + ": compute_time_ms", row["compute_time_ms"], None)
        check.that(key + ": split_why", isinstance(row["split_why"], str), row["split_why"], "a reason")
        return 0
    if transfer > total * (1 - 1e-9):  # on the edge: either will do
        return 1 if row["split_why"] is None else 0
    check.number(key + ": transfer_time_ms", row["transfer_time_ms"], transfer, 1e-7)
    check.number(key + ": compute_time_ms", row["compute_time_ms"], total - transfer, 1e-7, 1e-7 * total)
    if row["transfer_time_ms"] is not None and row["compute_time_ms"] is not None:
        check.number(key + ": the sum of its parts", row["transfer_time_ms"] + row["compute_time_ms"], total, 1e-14)
    check.equal(key + ": split_why", row["split_why"], None)
    return 1


def check_fit(check, name, fit, bandwidth, sizes, medians):
    """Returns ms/byte where a bandwidth can be told."""
    if len(set(sizes)) < 2 or len(sizes) < 3:
        check.equal(name, bandwidth, None)
        check.equal(name + ": identifiable", fit["identifiable"], False)
        check.that(name + ": why", isinstance(fit["why"], str), fit["why"], "a reason")
        return None
    level = fit["level"]
    check.equal(name + ": level", level, 0.95)
    line = fit_line(sizes, medians, 0.95)
    scale = max(abs(line["slope"]), line["slope_half"]) * MB
    height = max(medians)
    check.equal(name + ": n", fit["n"], len(sizes))
    check.number(name + ": slope", fit["slope_ms_per_mb"], line["slope"] * MB, 1e-7, 1e-9 * scale)
    check.number(name + ": slope from", fit["slope_lower_ms_per_mb"], (line["slope"] - line["slope_half"]) * MB, 1e-7,
                 1e-7 * scale)
    check.number(name + ": slope to", fit["slope_upper_ms_per_mb"], (line["slope"] + line["slope_half"]) * MB, 1e-7,
                 1e-7 * scale)
    check.number(name + ": intercept", fit["intercept_ms"], line["intercept"], 1e-7, 1e-9 * height)
    check.number(name + ": intercept from", fit["intercept_lower_ms"], line["intercept"] - line["intercept_half"], 1e-7,
                 1e-7 * height)
    check.number(name + ": intercept to", fit["intercept_upper_ms"], line["intercept"] + line["intercept_half"], 1e-7,
                 1e-7 * height)
    check.number(name + ": R²", fit["r_squared"], line["r_squared"], 1e-7, 1e-9)
    check.number(name + ": residual std", fit["residual_std_ms"], line["residual_std"], 1e-7, 1e-9 * height)
    identifiable = line["slope"] > 0 and line["slope"] - line["slope_half"] > 0
    check.equal(name + ": identifiable", fit["identifiable"], identifiable)
    check.number(name, bandwidth, 1000 / line["slope"] / MB if identifiable else None, 1e-7)
    for end, slope in (("lower", line["slope"] + line["slope_half"]), ("upper", line["slope"] - line["slope_half"])):
        check.number("%s: %s end" % (name, end), fit["mb_per_s_" + end], 1000 / slope / MB if identifiable else None, 1e-5)
    check.that(name + ": why", (fit["why"] is None) == identifiable, fit["why"], "a reason where there is no bandwidth")
    return line["slope"] if identifiable else None


def check_link(check, link):
    name = "link %s > %s" % (link["from"], link["to"])
    points = [(point["bytes"], point["median_ms"]) for point in link["points"] if point["median_ms"] is not None]
    check.equal(name + ": n", link["n"], len(points))
    if link["slope_ms_per_mb"] is None:
        check.that(name + ": why", isinstance(link["why"], str), link["why"], "a reason")
        check.equal(name, link["mb_per_s"], None)
        return
    line = fit_line([x for x, _ in points], [y for _, y in points], 0.95, relative=True)
    height = max(y for _, y in points)
    identifiable = line["slope"] - line["slope_half"] > 0
    check.number(name + ": slope", link["slope_ms_per_mb"], line["slope"] * MB, 1e-7)
    check.number(name + ": fixed cost", link["fixed_ms"], line["intercept"], 1e-7, 1e-9 * height)
    check.number(name, link["mb_per_s"], 1000 / line["slope"] / MB if identifiable else None, 1e-7)


def check_study(folder, check):
    def load(name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)

    raw, lookup, bandwidth = load("raw_measurements.json"), load("lookup_table.json"), load("bandwidth_table.json")
    study = raw["_metadata"]["study"]
    raw_rows, lookup_rows = rows_of(raw), rows_of(lookup)
    fits, errors = bandwidth["_metadata"]["fits"], lookup["_metadata"]["leave_one_out"]
    n_latencies = 0
    for (alias, stage), rows in sorted(raw_rows.items()):
        name = "%s_stage%d" % (alias, stage)
        good = {size: row for size, row in rows.items() if not row.get("failed")}
        found = lookup_rows.get((alias, stage), {})
        check.equal(name + ": sizes in the lookup table", sorted(found), sorted(good))
        sizes, medians = [], []
        for (nodes, edges), row in good.items():
            key = "%d,%d,%s,%d" % (nodes, edges, alias, stage)
            size = table_bytes(stage, nodes, edges, study["features"], study["hidden"])
            check.equal(key + ": data_bytes", row["data_bytes"], size)
            check_statistics(check, key, row)
            sizes.append(size)
            medians.append(row["median"])
        for (nodes, edges), row in rows.items():
            if row.get("failed"):
                key = "%d,%d,%s,%d" % (nodes, edges, alias, stage)
                check.equal(key + ": keys of a failure", sorted(row), ["error_code", "failed", "outcome", "reason"])
                listed = lookup["_metadata"]["failed"].get(key, {})
                check.equal(key + ": reason in the lookup table", listed.get("reason"), row["reason"])
        n_latencies += len(good)
        line = check_fit(check, name, fits[name], bandwidth.get(name), sizes, medians)
        n_split = 0
        for (nodes, edges), row in good.items():
            key = "%d,%d,%s,%d" % (nodes, edges, alias, stage)
            size = table_bytes(stage, nodes, edges, study["features"], study["hidden"])
            if (nodes, edges) in found:
                n_split += check_lookup_row(check, key, found[nodes, edges], row, size, line)
        check.equal(name + ": n_rows", fits[name]["n_rows"], len(good))
        check.equal(name + ": n_split", fits[name]["n_split"], n_split)
        check.equal(name + ": not_split", sum(fits[name]["not_split"].values()), len(good) - n_split)
        check.equal(name + ": leave_one_out", name in errors, len(good) >= 3)
        if name in errors:
            expected = leave_one_out({size: row["median"] for size, row in good.items()})
            for figure, value in expected.items():
                check.number("%s: leave_one_out %s" % (name, figure), errors[name][figure], value, 1e-6, 1e-9)
    known = {key for key, fit in fits.items() if fit["identifiable"]}
    check.equal("bandwidths", {key for key in bandwidth if key != "_metadata"}, known)
    for link in bandwidth["_metadata"]["links"]:
        check_link(check, link)
    phases = {}
    for phase, name in ((1, "checkpoint_cpugpu.json"), (2, "checkpoint_npu.json")):
        part = {key: row for key, row in load(name).items() if key != "_metadata"}
        phases.update(part)
        for key in part:
            device = raw["_metadata"]["devices"][key.split(",")[2]]
            check.equal("%s: phase of %s" % (name, key), device["phase"], phase)
    check.equal("the checkpoints together", phases, {key: row for key, row in raw.items() if key != "_metadata"})
    return n_latencies


def check_answers(folder, path, nodes, edges, check):
    """What `study lookup --json` said of a size: from the medians of the raw measurements."""
    with open(os.path.join(folder, "raw_measurements.json"), encoding="utf-8") as file:
        rows = rows_of(json.load(file))
    with open(path, encoding="utf-8") as file:
        answers = {(answer["alias"], answer["stage"]): answer for answer in json.load(file)}
    check.equal("lookup: stages and devices", sorted(answers), sorted(rows))
    for key, answer in answers.items():
        name = "lookup %d,%d,%s,%d" % ((nodes, edges) + key)
        medians = {size: row["median"] for size, row in rows.get(key, {}).items() if not row.get("failed")}
        if not medians:
            check.equal(name, answer["latency_ns"], None)
            continue
        value, outside = look_up(medians, nodes, edges)
        check.number(name, answer["latency_ns"], value * 1e6, 1e-9)
        origin = "measured" if (nodes, edges) in medians else "extrapolated" if outside else "interpolated"
        check.equal(name + ": origin", answer["origin"], origin)


def main():
    if len(sys.argv) not in (2, 5):
        sys.exit("usage: recompute.py FOLDER [ANSWERS NODES EDGES]")
    check = Check()
    n_latencies = check_study(sys.argv[1], check)
    if len(sys.argv) == 5:
        check_answers(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), check)
    for line in check.wrong:
        print("recompute: " + line)
    print("recompute: %d latencies, %d figures compared, %d wrong" % (n_latencies, check.n, len(check.wrong)))
    if check.wrong or n_latencies == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
