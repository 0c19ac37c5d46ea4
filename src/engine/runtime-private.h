#pragma once

#include "engine-private.h"

G_BEGIN_DECLS

/* What the drivers of real runtimes share: runtime.c. */

/**
 * ifm_runtime_open: Opens a runtime's library by dlopen(), RTLD_LOCAL. It is never closed.
 * @file: (out) (transfer full) the file that the loader took
 * Returns: its handle; NULL with IFM_ERROR_UNAVAILABLE (where the library was looked for, and the loader's message).
 */
void *ifm_runtime_open(const char *runtime, char **file, GError **error);
/** ifm_runtime_symbol: Returns: NULL with IFM_ERROR_UNAVAILABLE: another library, or an older one. */
void *ifm_runtime_symbol(void *library, const char *runtime, const char *file, const char *symbol, GError **error);

/** ifm_runtime_is_at_least: Compares the first two numbers of versions: "2025.4.1-203" is at least "2025.1". FALSE where
 * @version (nullable) has no two numbers. */
gboolean ifm_runtime_is_at_least(const char *version, const char *oldest);
/** ifm_runtime_untested: Returns: (transfer full) that a runtime's version is outside the range of those that were tested
 * (setup/tested.txt); NULL: it is within, or the runtime has no such range. */
char *ifm_runtime_untested(const char *runtime, const char *version);

/** ifm_runtime_bound: Returns: the value that a compile's bindings give a dimension; -1: it stays free. */
gint64 ifm_runtime_bound(const IfmCompileOptions *options, const char *dim_name);
/** ifm_runtime_n_threads: Threads for all streams together: as asked, else the cores of the spec, else of this
 * process. */
int ifm_runtime_n_threads(const IfmCompiled *compiled);

/**
 * ifm_runtime_words: A runtime's message as one printable line of at most 200 characters: its lines joined by " | ",
 * without places in its sources and signatures of its functions. For people; code that tests a message uses the
 * original.
 * @skip: prefixes of lines to leave out, NULL-terminated
 */
char *ifm_runtime_words(const char *message, const char *const *skip);
/** ifm_runtime_code: Returns: the code of a runtime's message: IFM_ERROR_MEMORY if it is about memory that ran out,
 * IFM_ERROR_LOST if about a lost device, else @other. */
IfmErrorCode ifm_runtime_code(const char *message, IfmErrorCode other);

/**
 * ifm_ort_profile_read: Reads a profile that ONNX Runtime wrote (onnxruntime-profile.c). It is declared here so that
 * tests can call it without the runtime's header.
 * @who: begins the error's message    @profiles: gets one IfmEngineProfile* per run    @effective_config: (optional) gets
 * the nodes
 * @n_events: (out) lines that were events    Returns: FALSE with IFM_ERROR_FAILED if it is not a profile.
 */
gboolean ifm_ort_profile_read(const char *path, const char *who, GPtrArray *profiles, IfmEffectiveConfig *effective_config,
                              gint64 *n_events, GError **error);

G_END_DECLS
