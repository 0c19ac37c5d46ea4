#!/usr/bin/env python3
"""Our analysis of a trace of a million events against the same figures by pandas and by numpy, interleaved.

All have the events in memory before the clock starts: ours as recorded (build/bench/trace-analysis makes the trace up, always the
same), the peers as a DataFrame with typed columns (times int64, texts categories) read from the CSV of the same trace. Timed is from
there to all figures, in processor time (all are one thread; so other load on the machine does not blur it); they take turns in the same
run. Computed are: for each device busy time as a union, bubbles with their histogram, device time, utilisation, penalty, each idle
instant's cause, idle while others work; for each block its totals and their parts, the batch x block table, the bottleneck; percentiles
of latency and cycle; the critical path. Then the figures are compared, ours with each peer's: whole nanoseconds have to be equal, ratios
and means to 1e-9.

Two peers. "pandas" is what the aim is of: data frames alone, as one writes it who knows pandas well (sort_values, shift, cummax,
cumsum, merge_asof, pivot_table, np.select). "numpy" is the same with the instants in hand-made arrays instead of frames, as one writes it who has
gone on to make that fast.

Printed: each round's times, and each ratio (peer / ours) with its interval over the rounds. The exit status is 1 where a figure differs
or the interval of the ratio to pandas is wholly below the aim.

    bench/trace-analysis.py [--program build/bench/trace-analysis] [--folder .deps/bench] [--rounds 9]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import peers

PEERS = {"pandas": 20, "numpy": None}  # and the aim of each
WHEELS = ["pandas==3.1.1", "numpy==2.4.6"]
NEVER = 2**62


# ----- the same figures: instants as data frames

def plain_union(spans):
    """Spans joined where they touch or overlap, ascending."""
    ordered = spans[["start_ns", "end_ns"]].sort_values("start_ns")
    apart = ordered.start_ns > ordered.end_ns.cummax().shift()
    return ordered.groupby(apart.cumsum()).agg({"start_ns": "min", "end_ns": "max"})


def plain_causes(np, pd, name, runs, infers, hosts, entered, window):
    """Sums of a device's idle time by cause, and of what another device worked in. Instants are parted at everything's edges."""
    block = runs.block.iloc[0]
    host = hosts[block]
    what = {"copy": "transfer", "partition": "host", "merge": "host", "wait-output": "queue-full", "wait-input": "upstream", "block": "handed"}
    of_last = host[(host.kind == "block") & (host.batch == runs.batch.iloc[-1])].end_ns.max()
    spans = pd.concat([host.assign(what=host.kind.map(what))] + [other.assign(what=key) for key, other in infers.items()])
    edges = pd.concat([pd.DataFrame({"at": spans.start_ns, "what": spans.what, "step": 1}),
                       pd.DataFrame({"at": spans.end_ns, "what": spans.what, "step": -1}),
                       pd.DataFrame({"at": [*window, entered, of_last], "what": "none", "step": 0})]).sort_values("at", ignore_index=True)
    edges["what"] = edges.what.astype("category")
    on = pd.DataFrame({key: edges.step.where(edges.what == key, 0).cumsum() > 0 for key in [*what.values(), *infers]})
    edges["length"] = edges["at"].shift(-1) - edges["at"]
    mine = runs[["start_ns", "batch"]].assign(done=runs.batch.cummax()).drop(columns="batch")
    edges = pd.merge_asof(edges, mine, left_on="at", right_on="start_ns").drop(columns="start_ns")
    partner = pd.Series(False, index=edges.index)
    for key, other in infers.items():
        if key != name and other.block.iloc[0] == block:
            now = pd.merge_asof(edges, other[["start_ns", "end_ns", "batch"]], left_on="at", right_on="start_ns")
            partner |= (now["at"] < now.end_ns) & (now.batch <= now.done)
    no_work = (edges["at"] < entered) | (edges["at"] >= of_last)
    holds = [no_work, on.transfer, on.host, on["queue-full"], on.upstream, partner, on.handed]
    cause = pd.Series(np.select(holds, range(7), default=7), index=edges.index)
    idle = ~on[name]
    sums = edges.length[idle].groupby(cause[idle].map(dict(enumerate(
        ["no-work", "transfer", "host", "queue-full", "upstream", "partner", "host", "unknown"])))).sum()
    others = on[[key for key in infers if key != name]].any(axis=1)
    causes = ["transfer", "host", "queue-full", "upstream", "partner", "no-work", "unknown"]
    return {text: int(sums.get(text, 0)) for text in causes}, int(edges.length[idle & others].sum())


def plain_device(np, pd, name, infers, hosts, entered, window):
    runs = infers[name]
    span = window[1] - window[0]
    busy_spans = plain_union(runs)
    gaps = (busy_spans.start_ns - busy_spans.end_ns.shift()).dropna()
    busy = int((busy_spans.end_ns - busy_spans.start_ns).sum())
    known = runs.dropna(subset="device_ns")
    known_ns, known_wall = known.device_ns.sum(), known.duration_ns.sum()
    causes, others_busy = plain_causes(np, pd, name, runs, infers, hosts, entered, window)
    bins = pd.cut(gaps, [0] + [1000 * 4**i for i in range(11)] + [NEVER], right=False).value_counts(sort=False)
    return {"count": len(runs), "busy_ns": busy, "wall_utilisation": busy / span, "device_time_count": len(known),
            "device_ns": int(known_ns) if len(known) == len(runs) else None,
            "hw_utilisation": None if known.empty else known_ns / known_wall * runs.duration_ns.sum() / span,
            "penalty_mean_ns": None if known.empty else (known_wall - known_ns) / len(known),
            "penalty_ratio": None if known.empty else (known_wall - known_ns) / known_wall,
            "idle.total_ns": span - busy, "idle.by_cause_ns": causes, "idle.others_busy_ns": others_busy,
            "idle.alone_ns": span - busy - others_busy, "bubbles.count": len(gaps), "bubbles.mean_ns": gaps.mean(),
            "bubbles.max_ns": int(gaps.max()), "bubbles.sum_ns": int(gaps.sum()), "bubbles.histogram": bins.tolist()}


# ----- the same figures: instants as arrays

def union(np, start, end):
    """Spans joined where they touch or overlap, ascending."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    first = np.r_[True, start[1:] > end[:-1]]
    last = np.r_[first[1:], True]
    return start[first], end[last]


def idle_causes(np, runs, others, host, entered, window):
    """Sums of a device's idle time by cause, and of what another device worked in. Instants are parted at everything's edges."""
    causes = ["transfer", "host", "queue-full", "upstream", "partner", "handed", "unknown"]
    kinds = [host[host.kind.isin(names)] for names in
             (["copy"], ["partition", "merge"], ["wait-output"], ["wait-input"], ["block"])]
    partners = [other for other, same_block in others if same_block]
    spans = [(k.start_ns.to_numpy(), k.end_ns.to_numpy()) for k in kinds]
    spans += [(runs.start_ns.to_numpy(), runs.end_ns.to_numpy())]
    spans += [(other.start_ns.to_numpy(), other.end_ns.to_numpy()) for other, _ in others]
    of_last = host[(host.kind == "block") & (host.batch == runs.batch.iloc[-1])].end_ns.max()
    edges = np.concatenate([np.concatenate(pair) for pair in spans] + [np.array([*window, entered, of_last])])
    owner = np.concatenate([np.full(2 * len(a), i, dtype=np.int8) for i, (a, _) in enumerate(spans)] + [np.full(4, -1, dtype=np.int8)])
    sign = np.concatenate([np.r_[np.ones(len(a), dtype=np.int8), -np.ones(len(a), dtype=np.int8)] for a, _ in spans] + [np.zeros(4, dtype=np.int8)])
    order = np.argsort(edges, kind="stable")
    edges, owner, sign = edges[order], owner[order], sign[order]
    length = np.diff(edges)
    at = edges[:-1]
    on = [np.cumsum(np.where(owner == i, sign, 0), dtype=np.int32)[:-1] > 0 for i in range(len(spans))]
    starts, batches = runs.start_ns.to_numpy(), runs.batch.to_numpy()
    done = np.r_[-1, np.maximum.accumulate(batches)][np.searchsorted(starts, at, side="right")]
    partner = np.zeros(len(at), dtype=bool)
    for other in partners:
        place = np.searchsorted(other.start_ns.to_numpy(), at, side="right")
        batch = np.r_[NEVER, other.batch.to_numpy()][place]
        partner |= (at < np.r_[-1, other.end_ns.to_numpy()][place]) & (batch <= done)
    idle = ~on[5]
    no_work = idle & ((at < entered) | (at >= of_last))
    sums = {"no-work": int(length[no_work].sum())}
    conditions = [on[0], on[1], on[2], on[3], partner, on[4]]
    which = np.select(conditions, range(6), default=6)
    which = np.where(idle & ~no_work, which, 7)
    totals = [int(length[which == i].sum()) for i in range(7)]
    for cause, total in zip(causes, totals):
        sums["host" if cause == "handed" else cause] = sums.get("host" if cause == "handed" else cause, 0) + total
    other_busy = np.logical_or.reduce(on[6:])
    return sums, int(length[idle & other_busy].sum())


def device(np, pd, frame, name, infers, hosts, entered, window):
    runs = infers[name]
    block = int(runs.block.iloc[0])
    wall = runs.duration_ns.to_numpy()
    span = window[1] - window[0]
    start, end = union(np, runs.start_ns.to_numpy(), runs.end_ns.to_numpy())
    gaps = start[1:] - end[:-1]
    busy = int((end - start).sum())
    known = runs.device_ns.notna()
    known_ns, known_wall = runs.device_ns[known].sum(), runs.duration_ns[known].sum()
    others = [(other, int(other.block.iloc[0]) == block) for key, other in infers.items() if key != name]
    causes, others_busy = idle_causes(np, runs, others, hosts[block], entered, window)
    bins = np.histogram(gaps, [0] + [1000 * 4**i for i in range(11)] + [NEVER])[0]
    n_known = int(known.sum())
    return {"count": len(runs), "busy_ns": busy, "wall_utilisation": busy / span, "device_time_count": n_known,
            "device_ns": int(known_ns) if n_known == len(runs) else None,
            "hw_utilisation": None if n_known == 0 else known_ns / known_wall * wall.sum() / span,
            "penalty_mean_ns": None if n_known == 0 else (known_wall - known_ns) / n_known,
            "penalty_ratio": None if n_known == 0 else (known_wall - known_ns) / known_wall,
            "idle.total_ns": span - busy, "idle.by_cause_ns": causes, "idle.others_busy_ns": others_busy,
            "idle.alone_ns": span - busy - others_busy, "bubbles.count": len(gaps), "bubbles.mean_ns": gaps.mean(),
            "bubbles.max_ns": int(gaps.max()), "bubbles.sum_ns": int(gaps.sum()), "bubbles.histogram": bins.tolist()}


def percentiles(np, values):
    p50, p90, p95, p99 = np.quantile(values, [0.5, 0.9, 0.95, 0.99])
    return {"p50_ns": p50, "p90_ns": p90, "p95_ns": p95, "p99_ns": p99, "max_ns": values.max(), "mean_ns": values.mean()}


def critical_path(frame, batches):
    """Backwards: what ended last before a moment held the batch until then; of an inference, what its own device waited for."""
    ordered = batches.sort_values(["duration_ns", "batch"], kind="stable")
    median = ordered.iloc[(len(ordered) - 1) // 2]
    mine = frame[frame.batch == median.batch]
    blocks = mine[mine.kind == "block"].sort_values("start_ns", ascending=False)
    holds = mine[mine.kind.isin(["queue", "partition", "copy", "infer", "merge", "wait-output"])]
    holds = holds.sort_values(["end_ns", "duration_ns"], ascending=False)
    steps, until, run, at_run, parted = [], median.end_ns, None, False, None

    def step(kind, start):
        nonlocal until
        if start < until:
            steps.append((kind, start, until - start))
            until = start

    def turns(block, start):
        """Before an inference: what its own device had."""
        if at_run and block.block == run.block:
            others = frame[(frame.kind == "infer") & (frame.device == run.device) & (frame.batch != median.batch)]
            others = others[(others.start_ns < until) & (others.end_ns > start)].sort_values("start_ns", ascending=False)
            for other in others.itertuples():
                step("block", min(other.end_ns, until))
                step("turn", max(other.start_ns, start))
        step("block", start)

    def gap(start):
        nonlocal at_run
        if parted is not None and max(parted.start_ns, start) < until:
            step("partition", max(parted.start_ns, start))
            at_run = False
        for block in blocks.itertuples():
            if block.end_ns > start and block.start_ns < until:
                step("other", min(block.end_ns, until))
                turns(block, max(block.start_ns, start))
        step("other", start)

    for hold in holds.itertuples():
        if hold.end_ns > until and hold.kind == "partition" and hold.start_ns < until:
            parted = hold
        partner = hold.kind == "infer" and run is not None and hold.block == run.block and hold.device != run.device
        if hold.end_ns > until or hold.end_ns <= median.start_ns or partner:
            continue
        gap(hold.end_ns)
        step(hold.kind, max(hold.start_ns, median.start_ns))
        at_run = hold.kind == "infer"
        run = hold if at_run else run
    gap(median.start_ns)
    return {"batch": int(median.batch), "steps": [(kind, int(at), int(ns)) for kind, at, ns in reversed(steps)]}


def stays(np, by_kind):
    """Of each batch in each block: total, parts, and beside them the wait for the device's turn. What ended last counts."""
    keys = ["batch", "block"]
    last = by_kind["infer"].sort_values(["end_ns", "duration_ns"], kind="stable").groupby(keys)[["start_ns", "end_ns"]].last()
    last.columns = ["started", "ended"]
    parted = by_kind["partition"].groupby(keys).end_ns.max().rename("parted")
    stay = by_kind["block"].groupby(keys)[["start_ns", "end_ns"]].last().join(last).join(parted)
    known, parted = stay.parted.notna(), stay.parted.fillna(stay.start_ns)
    ended = np.maximum(stay.ended, parted)
    started = np.minimum(np.maximum(stay.started, parted), ended).where(known, parted)
    parts = {"partition": parted - stay.start_ns, "turn": started - parted, "device": ended - started, "merge": stay.end_ns - ended}
    return stay.end_ns - stay.start_ns - parts["turn"], parts


def figures(np, pd, frame, plain):
    frame = frame.assign(end_ns=frame.start_ns + frame.duration_ns)
    window = int(frame.start_ns.min()), int(frame.end_ns.max())
    by_kind = {kind: group for kind, group in frame.groupby("kind", observed=True)}
    batches, infer = by_kind["batch"], by_kind["infer"]
    infers = {name: group.sort_values("start_ns", kind="stable") for name, group in infer.groupby("device", observed=True)}
    host_kinds = pd.concat([by_kind[kind] for kind in ("partition", "merge", "copy", "wait-input", "wait-output", "block")])
    hosts = {int(block): group for block, group in host_kinds.groupby("block")}
    entered = int(batches.start_ns.min())
    tracks = {name: plain_device(np, pd, name, infers, hosts, entered, window) if plain
              else device(np, pd, frame, name, infers, hosts, entered, window) for name in infers}
    total_of, parts = stays(np, by_kind)
    totals = total_of.unstack("block")
    longest = totals.idxmax(axis=1).value_counts()
    stages = {}
    for block in totals.columns:
        column = totals[block].dropna()
        stages[int(block)] = {"count": len(column), "mean_ns": int(column.sum()) / len(column), "median_ns": column.median(),
                              "max_ns": int(column.max()), "bottleneck_count": int(longest.get(block, 0))}
        for kind, times in parts.items():
            stages[int(block)][f"{kind}_mean_ns"] = int(times.xs(block, level="block").sum()) / len(column)
    span = window[1] - window[0]
    return {"window": span, "tracks": tracks, "stages": stages, "bottleneck": int(longest.idxmax()),
            "latency": percentiles(np, batches.duration_ns.to_numpy()), "cycle": percentiles(np, totals.max(axis=1).to_numpy()),
            "throughput": len(batches) * 1e9 / span, "makespan": int(batches.end_ns.max() - batches.start_ns.min()),
            "path": critical_path(frame, batches), "table": totals}


# ----- comparing

def same(ours, theirs):
    if ours is None or theirs is None:
        return ours is None and theirs is None
    if isinstance(ours, int) and isinstance(theirs, int):
        return ours == theirs
    return abs(ours - theirs) <= 1e-9 * max(abs(ours), abs(theirs), 1e-300)


def member(document, path):
    for part in path.split("."):
        document = document[part]
    return document


def differences(ours, theirs, who):
    """Names of the figures that differ, and how many there are."""
    bad, n = [], 0

    def check(name, a, b):
        nonlocal n
        n += 1
        if not same(a, b):
            bad.append(f"{name}: ours {a}, {who} {b}")

    check("window", ours["window"]["duration_ns"], theirs["window"])
    for track in ours["tracks"]:
        for key, value in theirs["tracks"][track["device"]].items():
            mine = member(track, key)
            if key == "bubbles.histogram":
                for at, (a, b) in enumerate(zip([bin["count"] for bin in mine], value, strict=True)):
                    check(f"{track['device']} bubbles {at}", a, b)
            elif isinstance(value, dict):
                for cause in mine:
                    check(f"{track['device']} idle {cause}", mine[cause], value.get(cause, 0))
            else:
                check(f"{track['device']} {key}", mine, value)
    for stage in ours["stages"]:
        for key, value in theirs["stages"][stage["block"]].items():
            check(f"block {stage['block']} {key}", stage[key], value)
    for what in ("latency", "cycle"):
        for key, value in theirs[what].items():
            check(f"{what} {key}", ours["batches"][what][key], value)
    check("throughput", ours["batches"]["throughput_per_s"], theirs["throughput"])
    check("makespan", ours["batches"]["makespan_ns"], theirs["makespan"])
    check("bottleneck", ours["bottleneck_block"], theirs["bottleneck"])
    check("critical batch", ours["critical_path"]["batch"], theirs["path"]["batch"])
    steps = [(step["kind"], step["start_ns"], step["duration_ns"]) for step in ours["critical_path"]["steps"]]
    check("critical path", 0, 0 if steps == theirs["path"]["steps"] else 1)
    rows = [tuple(row["stage_total_ns"]) for row in ours["batches"]["rows"]]
    table = [tuple(int(value) for value in row) for row in theirs["table"].to_numpy()]
    check("table of batches x blocks", 0, sum(a != b for a, b in zip(rows, table, strict=True)))
    return bad, n


class Ours:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("trace-analysis ended before it answered")
        return int(answer) / 1e6

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=f"{peers.BUILD}/bench/trace-analysis")
    parser.add_argument("--folder", default=".deps/bench", type=pathlib.Path)
    parser.add_argument("--rounds", default=peers.usual(9), type=int)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    peers.in_environment(options.folder, "pandas", WHEELS)
    import numpy as np
    import pandas as pd
    ours = Ours(options.program)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        ours.ask(f"csv {scratch / 'events.csv'}")
        ours.ask(f"json {scratch / 'figures.json'}")
        frame = pd.read_csv(scratch / "events.csv", dtype={key: "category" for key in ("process", "thread", "device", "kind", "name", "trace_name")})
        mine = json.loads((scratch / "figures.json").read_text())
    ratios, theirs, order = {peer: [] for peer in PEERS}, {}, ["ours", *PEERS]
    for number in range(options.rounds):
        times = {}
        for who in order[number % 3:] + order[:number % 3]:
            if who == "ours":
                times[who] = ours.ask("run")
                continue
            before = time.process_time_ns()
            theirs[who] = figures(np, pd, frame, who == "pandas")
            times[who] = (time.process_time_ns() - before) / 1e6
        print(f"round {number + 1:2d}: {len(frame)} events   inferometer {times['ours']:.1f} ms", end="")
        for peer in PEERS:
            ratios[peer].append(times[peer] / times["ours"])
            print(f"   {peer} {times[peer]:.1f} ms, ratio {ratios[peer][-1]:.1f}", end="")
        print(flush=True)
    ours.end()
    missed = False
    for peer, aim in PEERS.items():
        bad, n = differences(mine, theirs[peer], peer)
        print(f"{n} figures compared with {peer}'s, {len(bad)} differ")
        for line in bad:
            print(f"  {line}")
        lower, upper = peers.median_interval(ratios[peer])
        verdict = "" if aim is None else f" (aim: {aim}): {'missed' if upper < aim else 'reached' if lower >= aim else 'not told apart'}"
        print(f"median of {len(ratios[peer])} ratios ({peer} / inferometer) {statistics.median(ratios[peer]):.1f}, "
              f"95 % interval {lower:.1f} to {upper:.1f}{verdict}")
        missed = missed or bad or (aim is not None and upper < aim and not peers.QUICK)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
