#pragma once
#include <inferometer/engine.h>

G_BEGIN_DECLS

/* How devices, cores and effective configurations are checked and written. */

/** ifm_affinity_to_string: Returns: (transfer full) the cores that the calling thread may run on, "0-2,5". */
char *ifm_affinity_to_string(void);

/** ifm_alias_check: Returns: FALSE with IFM_ERROR_INVALID if a text is not a short name of a device: a letter, then
 * letters, digits, - and _. */
gboolean ifm_alias_check(const char *alias, GError **error);

/** ifm_capability_name: @bit: one of the above. Returns: "cores", …; NULL for any other value. */
const char *ifm_capability_name(guint32 bit);

/** ifm_cores_to_string: Returns: (transfer full) "0-2,5" of ascending core numbers. @cores: [n_cores] */
char *ifm_cores_to_string(const int *cores, gsize n_cores);

/** ifm_engine_name_check: Returns: FALSE with IFM_ERROR_INVALID for an unknown name, with the known ones and the
 * nearest. */
gboolean ifm_engine_name_check(const char *name, GError **error);

/**
 * ifm_compiled_parts: Which of the model's nodes each node of a compile with options.profiling was made of, if the
 * runtime reports it of its graph (OpenVINO's CPU does). The names of tensors may be among them, and those of nodes of
 * which only a constant is left.
 * Returns: (transfer full) name, as in profiles (char*) -> GPtrArray of names (char*); NULL if the runtime does not
 * report it.
 */
GHashTable *ifm_compiled_parts(IfmCompiled *compiled);

/** ifm_effective_config_check: Where the model's own precision was asked for, a higher one will do.
 * Returns: FALSE with IFM_ERROR_FAILED if the effective configuration is not the requested one (dtype, more threads,
 * streams, cores). */
gboolean ifm_effective_config_check(const IfmEffectiveConfig *effective_config, const IfmDeviceSpec *spec,
                                    const IfmCompileOptions *options, GError **error);

/** ifm_effective_config_warnings: What is not a failure but has to be known: an unreported precision, threads that did not
 * work. Returns: (transfer full) NULL-terminated lines. */
char **ifm_effective_config_warnings(const IfmEffectiveConfig *effective_config, const IfmDeviceSpec *spec,
                                     const IfmCompileOptions *options);

/** ifm_engine_copy_host: Copies within host memory as device @spec would copy a tensor that it is given; the copy is
 * done on return. A real engine takes the real time, a simulated one the time in the description of its link.
 * IFM_ERROR_UNSUPPORTED without such a description. */
gboolean ifm_engine_copy_host(IfmEngine *engine, const IfmDeviceSpec *spec, const IfmTensor *from, const IfmTensor *to,
                              GError **error);

/**
 * ifm_engine_probe_device: Checks that the device answers, by the cheapest call that shows it.
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE or IFM_ERROR_LOST.
 */
gboolean ifm_engine_probe_device(IfmEngine *engine, const IfmDeviceSpec *spec, GError **error);

/** ifm_request_set_sizes: Sets named sizes ("nodes", "edges") of the next inferences, as `sizes` of the compile sets
 * those of all. For a simulated device's table if no input's shape shows them. Other engines ignore them. */
gboolean ifm_request_set_sizes(IfmRequest *request, const IfmDimBinding *sizes, gsize n, GError **error);

G_END_DECLS
