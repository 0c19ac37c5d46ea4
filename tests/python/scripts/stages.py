"""As users of the framework record a pipeline of their own around OpenVINO."""
import sys

import numpy
import openvino

from inferometer.pipeline import DataParallelStage, PipelineProfiler, StageExecutor


def scaled(factor):
    data = openvino.opset13.parameter([-1, 32], numpy.float32, "data")
    return openvino.Model([openvino.opset13.multiply(data, numpy.float32(factor))], [data], "scaled")


core, profiler = openvino.Core(), PipelineProfiler()
encode = StageExecutor(core, scaled(2), "CPU", "Encode", profiler)
share = DataParallelStage("Embed", [StageExecutor(core, scaled(3), "CPU", "Embed", profiler) for _ in range(2)])
for batch in range(8):
    data = numpy.full((6, 32), batch, numpy.float32)
    output = share.run(encode.run(data, batch), batch, profiler)
    assert output.shape == (6, 32) and (output == 6 * batch).all()
    assert abs(share.times["partition_time"] + max(share.times["device_time"]) + share.times["sync_merge_time"]
               - share.times["stage_total_time"]) < 1e-12
profiler.export_chrome_trace(sys.argv[1])
print(profiler.to_frame().groupby(["Stage", "Name"]).size().to_dict())
profiler.analyze_metrics()
