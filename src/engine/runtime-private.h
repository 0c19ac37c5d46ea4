#pragma once
#include "engine-private.h"

G_BEGIN_DECLS

/* What the drivers of real runtimes share: runtime.c. */

/**
 * ifm_runtime_open: dlopen()s a runtime's library, RTLD_LOCAL, for good.
 * @file: (out) (transfer full) the file the loader took
 * Returns: its handle; NULL with IFM_ERROR_UNAVAILABLE (where it looked, what the loader said).
 */
void *ifm_runtime_open(const char *runtime, char **file, GError **error);
/** ifm_runtime_symbol: Returns: NULL with IFM_ERROR_UNAVAILABLE: no such runtime, or an older one. */
void *ifm_runtime_symbol(void *library, const char *runtime, const char *file, const char *symbol, GError **error);

/** ifm_runtime_bound: the value a compile's bindings give a dimension, -1 where they leave it free. */
gint64 ifm_runtime_bound(const IfmCompileOptions *options, const char *dim_name);
/** ifm_runtime_n_threads: threads for all streams together: as asked, else the cores of the spec, else of this process. */
int ifm_runtime_n_threads(const IfmCompiled *compiled);

/**
 * ifm_runtime_words: What a runtime said, as one printable line of at most 200 characters: its lines joined by " | ",
 * without places in its sources and signatures of its functions. For people: what acts on the words reads the
 * original.
 * @skip: prefixes of lines that tell nothing, NULL-terminated
 */
char *ifm_runtime_words(const char *message, const char *const *skip);
/** ifm_runtime_is_memory: whether a runtime's words speak of memory that ran out. */
gboolean ifm_runtime_is_memory(const char *words);
/** ifm_runtime_is_lost: whether they speak of a device that is gone. */
gboolean ifm_runtime_is_lost(const char *words);

/**
 * ifm_ort_profile_read: Reads a profile that ONNX Runtime wrote (onnxruntime-profile.c); here, so that tests reach it
 * without the runtime's header.
 * @who: begins the error's message    @profiles: gets an IfmEngineProfile* a run    @attest: (optional) gets the nodes, too
 * @n_events: (out) lines that were events    Returns: FALSE with IFM_ERROR_FAILED where it is no profile.
 */
gboolean ifm_ort_profile_read(const char *path, const char *who, GPtrArray *profiles, IfmAttest *attest, gint64 *n_events,
                              GError **error);

/** ifm_dtype_lower: the dtype of lower precision; only floating-point types count, UNDEFINED is none. */
IfmDtype ifm_dtype_lower(IfmDtype a, IfmDtype b);

G_END_DECLS
