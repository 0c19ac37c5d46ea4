"""Pipelines written in Python around OpenVINO's own API: what ran when, recorded and analysed by
the library.

    profiler = PipelineProfiler()
    stage = StageExecutor(openvino.Core(), model, "CPU", "Encode", profiler)
    for batch, data in enumerate(stream):
        stage.run(data, batch)
    profiler.export_chrome_trace("pipeline.json")     # then: inferometer trace pipeline.json
"""
import json
import numbers
import os
import time
import warnings

from ._measure import answer


class PipelineProfiler:
    """Events of any thread, on one clock."""

    def __init__(self, name="pipeline"):
        self.name, self.events = name, []

    def log_event(self, name, device, batch_id, start, end, stage=None, hw_duration_ms=None):
        """Work from start to end, in ns (int) or in seconds (float). "Partition", "Merge" and
        "Copy" are the host's, part of a stage: without it, of the one that the batch is in."""
        kind = name.lower() if name.lower() in ("partition", "merge", "copy") else "infer"
        start, end = (int(t) if isinstance(t, numbers.Integral) else round(t * 1e9)
                      for t in (start, end))
        if hw_duration_ms is not None and round(hw_duration_ms * 1e6) > end - start:
            warnings.warn(f"{name}: the device counted {hw_duration_ms:.4g} ms, more than the "
                          f"{(end - start) / 1e6:.4g} ms from start to end", stacklevel=2)
        self.events.append({
            "kind": kind, "name": name, "device": device, "stage": stage,
            "batch": -1 if batch_id is None else int(batch_id), "start_ns": start, "end_ns": end,
            "device_ns": -1 if hw_duration_ms is None else round(hw_duration_ms * 1e6)})

    def log_execution(self, stage, device, batch_id, wall_start_ns, wall_end_ns,
                      hw_duration_ms=None):
        """One inference, with the time that the device counted itself."""
        self.log_event(stage, device, batch_id, int(wall_start_ns), int(wall_end_ns), stage,
                       hw_duration_ms)

    def _rows(self):
        """The events by start, each with its stage: a merge is of the inference before it in its
        batch, a partition or copy of the one after it."""
        rows = sorted((dict(event) for event in self.events), key=lambda event: event["start_ns"])
        for turn, kinds in ((rows, ["merge"]), (rows[::-1], ["partition", "copy"])):
            last = {}
            for event in turn:
                if event["kind"] == "infer":
                    last[event["batch"]] = event["stage"] = event["stage"] or event["name"]
                elif event["kind"] in kinds and event["stage"] is None:
                    event["stage"] = last.get(event["batch"], event["name"])
        return rows

    def _record(self, path=None):
        log = json.dumps({"name": self.name, "events": self._rows()}).encode()
        return answer("ifm_trace_log", log, path and os.fsencode(path))

    def export_chrome_trace(self, path):
        """For ui.perfetto.dev and `inferometer trace`; gzip where the name ends in .gz."""
        self._record(path)

    def to_frame(self):
        """A pandas.DataFrame, a row an event, by start."""
        import pandas
        rows = [(e["name"], e["stage"], e["device"], e["batch"], e["start_ns"], e["end_ns"],
                 (e["end_ns"] - e["start_ns"]) / 1e6,
                 e["device_ns"] / 1e6 if e["device_ns"] >= 0 else float("nan"))
                for e in self._rows()]
        return pandas.DataFrame(rows, columns=["Name", "Stage", "Device", "Batch", "Start_ns",
                                               "End_ns", "Wall_ms", "HW_ms"])

    def analyze_metrics(self):
        """Prints each stream's use and the batches' times. Returns: all that the library found, as
        `inferometer trace --json` writes it."""
        found = self._record()
        for track in found["tracks"]:
            bubbles, said = track["bubbles"], [f"busy {100 * track['wall_utilisation']:.1f} %"]
            if track["hw_utilisation"] is not None:
                said.append(f"hardware {100 * track['hw_utilisation']:.1f} %")
            if bubbles["count"]:
                said.append(f"{bubbles['count']} bubbles of {bubbles['mean_ns'] / 1e6:.3f} ms")
            if track["penalty_mean_ns"] is not None:
                said.append(f"concurrency penalty {track['penalty_mean_ns'] / 1e6:.3f} ms")
            print(f"{track['thread']}: {', '.join(said)}")
        batches = found["batches"]
        if batches["count"]:
            latency, cycle = (batches[key]["p50_ns"] / 1e6 for key in ("latency", "cycle"))
            many = "1 batch" if batches["count"] == 1 else f"{batches['count']} batches"
            print(f"{many}: latency {latency:.3f} ms, cycle {cycle:.3f} ms "
                  "(medians)")
        for warning in found["warnings"]:
            print(f"warning: {warning}")
        return found


class StageExecutor:
    """A model on a device, one inference at a time. model: what Core.compile_model() takes. After
    wait() start_ns, end_ns and hw_duration_ms are those of the inference."""

    def __init__(self, core, model, device, stage_name, profiler=None):
        self.device, self.stage_name, self.profiler = device, stage_name, profiler
        compiled = core.compile_model(model, device, {"PERF_COUNT": True})
        self.request = compiled.create_infer_request()
        self.request.set_callback(self._ended, None)
        self.start_ns = self.end_ns = self.hw_duration_ms = None

    def _ended(self, _):
        self.end_ns = time.perf_counter_ns()

    def start_async(self, data):
        """data: an array, or a list or dict of them."""
        self.end_ns, self.start_ns = None, time.perf_counter_ns()
        self.request.start_async(data)

    def wait(self):
        """The output, or a list of several."""
        self.request.wait()
        self.end_ns = self.end_ns or time.perf_counter_ns()
        nodes = self.request.profiling_info
        seconds = sum(node.real_time.total_seconds() for node in nodes)
        self.hw_duration_ms = 1e3 * seconds if nodes else None
        outputs = [tensor.data.copy() for tensor in self.request.output_tensors]
        return outputs[0] if len(outputs) == 1 else outputs

    def log(self, batch_id, profiler=None, stage=None):
        """Logs the inference that wait() ended."""
        profiler = profiler or self.profiler
        if profiler is not None:
            profiler.log_execution(stage or self.stage_name, self.device, batch_id, self.start_ns,
                                   self.end_ns, self.hw_duration_ms)

    def run(self, data, batch_id=None):
        """Starts, waits and logs."""
        self.start_async(data)
        output = self.wait()
        self.log(batch_id)
        return output


def _split(data, n):
    """At most n parts of its rows, none of them empty."""
    import numpy
    if isinstance(data, dict):
        return [dict(zip(data, values)) for values in _split(list(data.values()), n)]
    if isinstance(data, (list, tuple)):
        return [list(values) for values in zip(*(_split(value, n) for value in data))]
    data = numpy.asarray(data)
    if data.ndim == 0 or len(data) == 0:
        raise ValueError(f"DataParallelStage: an input of shape {data.shape} has no rows to share")
    return numpy.array_split(data, min(n, len(data)))


def _join(outputs):
    import numpy
    if isinstance(outputs[0], list):
        return [numpy.concatenate(parts) for parts in zip(*outputs)]
    return numpy.concatenate(outputs)


class DataParallelStage:
    """A stage whose executors share the rows of each batch, all at once. times: of the last batch,
    in seconds: partition_time, device_time (each), sync_merge_time, stage_total_time = partition +
    max(device) + merge."""

    def __init__(self, name, executors):
        if not executors:
            raise ValueError(f"DataParallelStage {name}: at least one executor")
        self.name, self.executors, self.times = name, list(executors), {}

    def run(self, data, batch_id=None, profiler=None):
        """The merged output. profiler: in place of the executors' own."""
        start = time.perf_counter_ns()
        parts = _split(data, len(self.executors))
        split = time.perf_counter_ns()
        working = self.executors[:len(parts)]
        for executor, part in zip(working, parts):
            executor.start_async(part)
        outputs = [executor.wait() for executor in working]
        output, done = _join(outputs), max(executor.end_ns for executor in working)
        end = time.perf_counter_ns()
        for executor in working:
            executor.log(batch_id, profiler, self.name)
        profiler = profiler or working[0].profiler
        if profiler is not None:
            profiler.log_event("Partition", "CPU", batch_id, start, split, self.name)
            profiler.log_event("Merge", "CPU", batch_id, done, end, self.name)
        device = [(executor.end_ns - executor.start_ns) / 1e9 for executor in working]
        partition, merge = (split - start) / 1e9, (end - done) / 1e9
        self.times = {"partition_time": partition, "device_time": device, "sync_merge_time": merge,
                      "stage_total_time": partition + max(device) + merge}
        return output
