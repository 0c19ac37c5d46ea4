"""Our engines from Python, for benches against a peer in Python: models, their tensors, inferences."""
import ctypes
import time

import peers

POINTER = ctypes.c_void_p
F32, I64 = 1, 7
BYTES = {F32: 4, I64: 8}


class Port(ctypes.Structure):
    """IfmPort of src/onnx/onnx.h."""
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int), ("dims", ctypes.c_int64 * 16),
                ("dim_names", POINTER * 16)]


class Compile(ctypes.Structure):
    """IfmCompileOptions of src/engine/engine.h."""
    _fields_ = [("dtype", ctypes.c_int), ("threads", ctypes.c_int), ("optimise", ctypes.c_int), ("profiling", ctypes.c_int),
                ("native_async", ctypes.c_int), ("bindings", POINTER), ("n_bindings", ctypes.c_size_t), ("sizes", POINTER),
                ("n_sizes", ctypes.c_size_t), ("cache_dir", ctypes.c_char_p), ("save_optimised", ctypes.c_char_p),
                ("custom_op_libraries", POINTER), ("vendor", POINTER)]


class Gradient(ctypes.Structure):
    """IfmGradientOptions of src/gradient/gradient.h."""
    _fields_ = [("loss", ctypes.c_int), ("output", ctypes.c_char_p), ("parameters", POINTER), ("input_gradients", ctypes.c_int)]


class Training(ctypes.Structure):
    """IfmTrainingOptions of src/gradient/gradient.h."""
    _fields_ = [("gradient", Gradient), ("optimiser", ctypes.c_int), ("learning_rate", ctypes.c_double), ("momentum", ctypes.c_double),
                ("beta1", ctypes.c_double), ("beta2", ctypes.c_double), ("epsilon", ctypes.c_double)]


class State(ctypes.Structure):
    """IfmTrainingState of src/gradient/gradient.h."""
    _fields_ = [("input", ctypes.c_char_p), ("output", ctypes.c_char_p), ("first", peers.Tensor)]


class PointerArray(ctypes.Structure):
    """GPtrArray."""
    _fields_ = [("pdata", ctypes.POINTER(POINTER)), ("len", ctypes.c_uint)]


FUNCTIONS = {
    "ifm_zoo_build": (POINTER, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_uint32, POINTER]),
    "ifm_model_n_inputs": (ctypes.c_size_t, [POINTER]),
    "ifm_model_input": (ctypes.POINTER(Port), [POINTER, ctypes.c_size_t]),
    "ifm_model_n_outputs": (ctypes.c_size_t, [POINTER]),
    "ifm_model_output": (ctypes.POINTER(Port), [POINTER, ctypes.c_size_t]),
    "ifm_model_n_initializers": (ctypes.c_size_t, [POINTER]),
    "ifm_model_initializer_name": (ctypes.c_char_p, [POINTER, ctypes.c_size_t]),
    "ifm_gradient_backward": (POINTER, [POINTER, ctypes.POINTER(Gradient), POINTER]),
    "ifm_gradient_training_step": (POINTER, [POINTER, ctypes.POINTER(Training), POINTER]),
    "ifm_gradient_state": (ctypes.POINTER(PointerArray), [POINTER, ctypes.POINTER(Training), POINTER]),
    "ifm_tensor_wrap": (ctypes.c_int, [ctypes.POINTER(peers.Tensor), ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int64), POINTER, POINTER]),
    "ifm_clock_new_real": (POINTER, []),
    "ifm_device_spec_parse": (POINTER, [ctypes.c_char_p, POINTER]),
    "ifm_engine_open": (POINTER, [ctypes.c_char_p, POINTER, POINTER]),
    "ifm_engine_compile": (POINTER, [POINTER, POINTER, POINTER, ctypes.POINTER(Compile), POINTER]),
    "ifm_compiled_request": (POINTER, [POINTER, ctypes.c_int, POINTER]),
    "ifm_request_set_input": (ctypes.c_int, [POINTER, ctypes.c_size_t, ctypes.POINTER(peers.Tensor), POINTER]),
    "ifm_request_set_output": (ctypes.c_int, [POINTER, ctypes.c_size_t, ctypes.POINTER(peers.Tensor), POINTER]),
    "ifm_request_start": (ctypes.c_int, [POINTER, POINTER, POINTER, POINTER]),
    "ifm_request_wait": (ctypes.c_int, [POINTER, ctypes.c_int64, POINTER]),
}
NEVER = 2**63 - 1


class Library(peers.Library):
    """@ours.made(NAME, ...): calls a function whose last argument is an error, and ends the bench with it where there is one."""

    def __init__(self, build):
        super().__init__(build)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, arguments
        self.clock = self.c.ifm_clock_new_real()

    def made(self, name, *arguments):
        return self._made(getattr(self.c, name), *arguments)

    def zoo(self, name, settings, seed=1):
        words = (ctypes.c_char_p * (len(settings) + 1))(*[word.encode() for word in settings], None)
        return self.made("ifm_zoo_build", name.encode(), words, seed)

    def inputs(self, model):
        return [self.c.ifm_model_input(model, i).contents for i in range(self.c.ifm_model_n_inputs(model))]

    def outputs(self, model):
        return [self.c.ifm_model_output(model, i).contents for i in range(self.c.ifm_model_n_outputs(model))]

    def weights(self, model):
        """Name and a copy of each initializer, as numpy has it."""
        found = {}
        for i in range(self.c.ifm_model_n_initializers(model)):
            name, tensor = self.c.ifm_model_initializer_name(model, i), peers.Tensor()
            if self.c.ifm_model_initializer(model, name, ctypes.byref(tensor)) and tensor.dtype in BYTES:
                found[name.decode()] = as_array(tensor)
        return found

    def states(self, model, options):
        """Name as an input, name as an output, first value of each."""
        array = self.made("ifm_gradient_state", model, ctypes.byref(options)).contents
        states = [State.from_address(array.pdata[i]) for i in range(array.len)]
        return [(state.input.decode(), state.output.decode(), as_array(state.first)) for state in states]

    def wrap(self, array):
        """A tensor that is the array's memory."""
        import numpy
        tensor, shape = peers.Tensor(), (ctypes.c_int64 * 16)(*array.shape)
        dtype = {numpy.dtype("float32"): F32, numpy.dtype("int64"): I64}[array.dtype]
        self.made("ifm_tensor_wrap", ctypes.byref(tensor), dtype, array.ndim, shape, array.ctypes.data)
        return tensor


def as_array(tensor):
    import numpy
    dtype = {F32: numpy.float32, I64: numpy.int64}[tensor.dtype]
    bytes_ = ctypes.string_at(tensor.data, tensor.size_bytes)
    return numpy.frombuffer(bytes_, dtype).reshape(tensor.shape[:tensor.rank]).copy()


class Compiled:
    def __init__(self, library, model, device, threads):
        self.library, self.model = library, model
        spec = library.made("ifm_device_spec_parse", device.encode())
        engine = library.made("ifm_engine_open", device.split(":")[0].encode(), library.clock)
        options = Compile(dtype=F32, threads=threads, optimise=1)
        self.compiled = library.made("ifm_engine_compile", engine, model, spec, ctypes.byref(options))

    def request(self, inputs, outputs):
        """@inputs, @outputs: arrays by the ports' names; an output that is not given is the engine's. Returns what infers once and
        says how many ns that took."""
        c, kept = self.library.c, [inputs, outputs]
        request = self.library.made("ifm_compiled_request", self.compiled, 0)
        for put, ports, arrays in ((self._set_input, self.library.inputs(self.model), inputs), (self._set_output, self.library.outputs(self.model), outputs)):
            for number, port in enumerate(ports):
                if port.name.decode() in arrays:
                    kept.append(put(request, number, arrays[port.name.decode()]))
        error = ctypes.POINTER(peers.Error)()

        def run():
            begin = time.perf_counter_ns()
            good = c.ifm_request_start(request, None, None, ctypes.byref(error)) and c.ifm_request_wait(request, NEVER, ctypes.byref(error))
            end = time.perf_counter_ns()
            if not good:
                raise SystemExit(error.contents.message.decode())
            return end - begin

        run.kept = kept
        return run

    def _set_input(self, request, port, array):
        tensor = self.library.wrap(array)
        self.library.made("ifm_request_set_input", request, port, ctypes.byref(tensor))
        return tensor

    def _set_output(self, request, port, array):
        tensor = self.library.wrap(array)
        self.library.made("ifm_request_set_output", request, port, ctypes.byref(tensor))
        return tensor
