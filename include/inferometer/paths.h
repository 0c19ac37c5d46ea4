/* room: base */
#pragma once
#include <inferometer/error.h>

IFM_BEGIN_DECLS

/**
 * Paths of the parts of an installation. Each function looks in this order: the environment variable that it names; for
 * what runs from its build folder, wherever that was moved, that folder and its sources; the layout of an installation,
 * relative to the running program (PREFIX/bin, PREFIX/libexec/inferometer) or to this library. What is installed never
 * looks at its build folder. Programs and libraries that anyone may write, or whose folder anyone may write, are not taken.
 */

/** ifm_path_data: A data file ($IFM_DATA_DIR). @relative: "devices/meteor-lake.yaml"
 * Returns: (transfer full) NULL with IFM_ERROR_UNAVAILABLE. */
char *ifm_path_data(const char *relative, GError **error);
/** ifm_path_worker: The worker program ($IFM_WORKER). Returns: (transfer full) NULL with IFM_ERROR_UNAVAILABLE, also where
 * $IFM_WORKER names no program. */
char *ifm_path_worker(GError **error);
/**
 * ifm_path_runtime: The shared library of a runtime.
 * @runtime: "onnxruntime" ($IFM_ONNXRUNTIME_LIBRARY), "openvino" ($IFM_OPENVINO_LIBRARY) or "cuda" ($IFM_CUDNN_LIBRARY:
 * cuDNN; the CUDA runtime and NVRTC are looked for in its folder)
 * Returns: (transfer full) an absolute path; the bare file name where no file is found (the system's loader may find it).
 */
char *ifm_path_runtime(const char *runtime);
/** ifm_path_runtime_variable: The environment variable that chooses the library. NULL for an engine without a library. */
const char *ifm_path_runtime_variable(const char *runtime);

IFM_END_DECLS
