"""tuned.py TUNED.onnx: runs a tuned model once in Python's onnxruntime."""
import sys
import inferometer
import numpy
import onnxruntime

options = onnxruntime.SessionOptions()
options.register_custom_ops_library(inferometer.ops_library())
session = onnxruntime.InferenceSession(sys.argv[1], options)
port = session.get_inputs()[0]
image = numpy.ones([size if isinstance(size, int) else 1 for size in port.shape], numpy.float32)
print([output.shape for output in session.run(None, {port.name: image})])
