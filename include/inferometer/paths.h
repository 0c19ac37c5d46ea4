#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

/**
 * Where the parts of an installation are. Each is looked for in this order: the environment variable named beside it; the
 * layout of an installation, relative to the running program (PREFIX/bin, PREFIX/libexec/inferometer); the source and
 * build tree this was built from.
 */

/** ifm_path_data: @relative: "devices/meteor-lake.yaml" ($IFM_DATA_DIR). Returns: (transfer full) NULL with
 * IFM_ERROR_UNAVAILABLE. */
char *ifm_path_data(const char *relative, GError **error);
/** ifm_path_worker: the worker program ($IFM_WORKER). Returns: (transfer full) NULL with IFM_ERROR_UNAVAILABLE. */
char *ifm_path_worker(GError **error);
/**
 * ifm_path_runtime: a runtime's shared library.
 * @runtime: "onnxruntime" ($IFM_ONNXRUNTIME_LIBRARY) or "openvino" ($IFM_OPENVINO_LIBRARY)
 * Returns: (transfer full) an absolute path; where none is found, the bare name (the system's loader may know it).
 */
char *ifm_path_runtime(const char *runtime);
/** ifm_path_runtime_variable: the environment variable that names another. NULL: that engine has no library. */
const char *ifm_path_runtime_variable(const char *runtime);

G_END_DECLS
