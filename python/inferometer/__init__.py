"""Inferometer: how long a model takes on this hardware, why, and whether a prediction was right.

Each verb of the command is a function here: profile, compare, study, plan, run, trace, predict,
evaluate, train, kernels, tune, devices, and the others with "_" or "." for the blank (study.export,
store_show). Options are keyword arguments.

    import inferometer
    result = inferometer.profile("model.onnx", devices=["openvino:CPU", "onnxruntime:CPU"])
    result.summary.verdict
    result.frame()

measure() times a Python callable. ops_library() is the path of what loads tuned models elsewhere.
graph_profiling and pipeline have names of other frameworks.
"""
from ._errors import Crashed, Error, Failed, InputError, Unavailable, UsageError

# what a name alone means where several verbs begin with it
_SHORT = {"study": "study_run", "kernels": "kernels_list", "zoo": "zoo_list", "store": "store_show"}
_VERBS = ("profile", "compare", "study", "plan", "run", "trace", "predict", "evaluate", "train",
          "kernels", "tune", "devices", "report", "store", "stress", "zoo")

__all__ = ["Crashed", "Error", "Failed", "InputError", "Unavailable", "UsageError", "measure",
           "ops_library", *_VERBS]


def __getattr__(name):
    if name == "__version__":
        from ._options import table
        return table()["version"]
    if name == "measure":
        from ._measure import measure
        return measure
    if name == "ops_library":
        from ._command import ops_library
        return ops_library
    if not name.startswith("_"):
        from ._options import near, verbs
        from ._run import complete
        verb = _SHORT.get(name, name)
        if verb in verbs():
            found = globals()[name] = complete(verb)
            for other in verbs():  # study.export
                if other.startswith(f"{name}_"):
                    setattr(found, other[len(name) + 1:], complete(other))
            return found
        raise AttributeError(f"module 'inferometer' has no '{name}'{near(name, verbs())}")
    raise AttributeError(f"module 'inferometer' has no '{name}'")


def __dir__():
    return [*globals(), "measure", "ops_library", *_VERBS]
