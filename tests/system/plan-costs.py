#!/usr/bin/env python3
"""plan-costs.py PLAN.json: computes the cost of a plan again from what plan --json says it is made of, by nobody else's code.

From the measured points of each range to the knots of each device's curve, from the curves to the times of the blocks, from these to
latency and cycle: docs/planning.md and docs/predicting.md, written down a second time. Names each figure that differs and exits 1.
"""
import json
import math
import sys

KNOTS = [1 / 64, 1 / 32, 1 / 16, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
COLUMN = {"median": 2, "mean": 3, "p95": 4}
wrong, counted = [], 0


def check(what, found, expected):
    global counted
    counted += 1
    if found is None or abs(found - expected) > 1e-6 * abs(expected) + 1e-3:
        wrong.append(f"{what}: found {found}, expected {expected!r}")


def between(xs, x, clamped):
    """Two indices and the position between them in logarithms, and whether x lies outside; the same index twice at a point."""
    if x in xs:
        return xs.index(x), xs.index(x), 0, False
    outside = x < xs[0] or x > xs[-1]
    if outside and (clamped or len(xs) == 1):
        end = 0 if x < xs[0] else len(xs) - 1
        return end, end, 0, True
    above = 1 if x < xs[0] else len(xs) - 1 if x > xs[-1] else next(i for i, at in enumerate(xs) if at > x)
    t = (math.log(x) - math.log(xs[above - 1])) / (math.log(xs[above]) - math.log(xs[above - 1]))
    return above - 1, above, t, outside


def blend(low, high, t):
    return low if t == 0 else math.exp(math.log(low) + t * (math.log(high) - math.log(low)))


def grid_at(rows, nodes, edges, clamped=False):
    """Of {nodes: {edges per node: value}}: along the edges per node on two numbers of nodes, then between these."""
    def along(at):
        degrees = sorted(rows[at])
        low, high, t, outside = between(degrees, edges / nodes, clamped)
        return blend(rows[at][degrees[low]], rows[at][degrees[high]], t), outside
    all_nodes = sorted(rows)
    low, high, t, outside = between(all_nodes, nodes, clamped)
    (first, out_first), (second, out_second) = along(all_nodes[low]), along(all_nodes[high])
    return blend(first, second, t), outside or out_first or out_second


def grid_of(points, value):
    rows = {}
    for point in points:
        rows.setdefault(point[0], {})[point[1] / point[0]] = value(point)
    return rows


def trend_at(plane, points, nodes, edges):
    def at(n, e):
        return plane[0] + plane[1] * n + plane[2] * e
    total = weights = 0
    for n, e, median, *_ in points:
        distance = math.log(n / nodes) ** 2 + math.log(e / n * nodes / edges) ** 2
        if distance < 1e-24:
            return median
        total += math.log(median / at(n, e)) / distance
        weights += 1 / distance
    return at(nodes, edges) * math.exp(total / weights)


def alone_at(entry, statistic, nodes, edges):
    points = entry["points"]
    median, outside = grid_at(grid_of(points, lambda p: p[2]), nodes, edges)
    if outside and entry["trend"] is not None:
        median = trend_at(entry["trend"], points, nodes, edges)
    over, _ = grid_at(grid_of(points, lambda p: p[COLUMN[statistic]] / p[2]), nodes, edges, clamped=True)
    return median * over


def slow_down(latencies, statistic, busy, nodes, edges):
    def ratio(entry):
        rows = grid_of(entry["points"], lambda p: p[COLUMN[statistic]] / alone_at(latencies[0], statistic, p[0], p[1]))
        return grid_at(rows, nodes, edges, clamped=True)[0]
    under = {frozenset(entry["busy"]): entry for entry in latencies[1:]}
    if frozenset(busy) in under:
        return ratio(under[frozenset(busy)])
    return math.prod(ratio(under[frozenset([one])]) for one in busy if frozenset([one]) in under)


def time_at(part, statistic, busy, nodes, edges):
    return part["correction"] * sum(
        alone_at(each["latencies"][0], statistic, nodes, edges) * slow_down(each["latencies"], statistic, busy, nodes, edges)
        for each in part["ranges"])


def curve_at(curve, share):
    shares, ns = curve["shares"], curve["ns"]
    if share <= shares[0]:
        return ns[0]
    above = next(i for i, at in enumerate(shares) if at >= share)
    t = (share - shares[above - 1]) / (shares[above] - shares[above - 1])
    return ns[above - 1] + t * (ns[above] - ns[above - 1])


def check_curve(what, part, key, statistic, busy, nodes, edges):
    curve = part[key]
    if curve["shares"] != KNOTS:
        return  # a static device: a staircase over its sizes
    least = 0
    for share, found in zip(KNOTS, curve["ns"]):
        least = max(least, time_at(part, statistic, busy, share * nodes, share * edges))
        check(f"{what}, {key}, share {share:.4g}", found, least)


def span_of(parts, times):
    """Devices in the host's memory begin at once, the others one after the other as their tensors arrive; then all copies back."""
    ends, handed = [], 0
    for part, ns in zip(parts, times):
        if part["copies"]:
            handed += part["copy_in_ns"]
        ends.append((handed if part["copies"] else 0) + ns)
    return max(ends) + sum(part["copy_out_ns"] for part in parts)


def recompute(plan):
    (nodes, edges), costs = plan["sizes"][0], plan["costs"]
    latency = cycle = 0
    bottleneck, split = 0, False
    for block in costs["blocks"]:
        parts, times = block["devices"], {"alone": [], "steady": []}
        partition = merge = 0
        if len(parts) > 1:
            partition = costs["host"]["partition_fixed_ns"]
            partition += 0 if split else costs["host"]["partition_ns_per_edge"] * edges
            merge, split = costs["host"]["merge_ns"], True
        for part in parts:
            what = f"block {block['block']}, {part['alias']}"
            for key, statistic in (("alone", costs["statistic"]), ("steady", "mean")):
                check_curve(what, part, key, statistic, part["busy_" + key], nodes, edges)
                whole = part[key]["whole_ns"]
                if part[key]["shares"] == KNOTS:
                    check(f"{what}, {key}, whole", whole, time_at(part, statistic, part["busy_" + key], nodes, edges))
                times[key].append(whole if len(parts) == 1 else curve_at(part[key], part["share"]))
        latency += partition + span_of(parts, times["alone"]) + merge
        own = sum(part["copy_in_ns"] + part["copy_out_ns"] for part in parts) + partition + merge
        pace = max([own] + [ns / part["n_streams"] for part, ns in zip(parts, times["steady"])])
        if pace > cycle:
            cycle, bottleneck = pace, block["block"]
    check("latency_ns", plan["cost"]["latency_ns"], latency)
    check("cycle_ns", plan["cost"]["cycle_ns"], cycle)
    check("bottleneck_block", plan["cost"]["bottleneck_block"], bottleneck)


document = json.load(open(sys.argv[1]))
for each in document.get("plans", [document]):
    recompute(each)
for line in wrong[:20]:
    print(line)
print(f"{counted} figures, {len(wrong)} differ")
sys.exit(1 if wrong else 0)
