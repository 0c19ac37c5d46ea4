/* room: profile */
#pragma once
#include <inferometer/compare.h>
#include <inferometer/profile.h>

IFM_BEGIN_DECLS

/** IfmCompareOptions: two models, or one with different devices, settings or runtimes. [2]: of A alone, of B alone; NULL or
 * IFM_OPTION_UNSET: as both. ifm_compare_options_init() sets what holds where nothing is said. */
typedef struct
{
    const char *models[2]; /* as IfmProfileOptions has them, but no graph transformers */
    const char *device, *device_of[2];
    IfmModelOptions open;                                /* how both are opened */
    const char *const *dims_of[2], *const *inputs_of[2]; /* besides those of both */
    const char *dtype, *dtype_of[2];
    gint64 threads, threads_of[2];
    const char *const *vendor, *const *vendor_of[2]; /* "[ENGINE:]KEY=VALUE" */
    const char *runtime_of[2];
    double margin;
    gint64 time_budget_ns, max_pairs, rounds;
    gint64 seed;
    gboolean no_verify;
    gint64 samples, layer_loss; /* of the accuracy: how many are generated; dB that a layer may lose */
    gboolean no_accuracy;
    IfmProtocolOptions protocol;  /* of it hang_ns and memory_bytes alone */
    const char *output;           /* folder of the store and of the zoo's models */
    const IfmProfileWatch *watch; /* or NULL */
} IfmCompareOptions;
extern const IfmOption ifm_compare_options[]; /* IfmCompareOptions */
void ifm_compare_options_init(IfmCompareOptions *options);

/**
 * ifm_compare_models: Which of two is faster, by ifm_runner_compare(); what was measured of both is committed to
 * OUTPUT/store.db.
 * @interrupted: (nullable) once it is not 0, what is whole by then is all there is
 * @comparison: (out) to be cleared where it is TRUE
 * Returns: FALSE with IFM_ERROR_USAGE where the options are wrong, with the model's trouble, or with the errors of
 * ifm_runner_compare()
 */
gboolean ifm_compare_models(const IfmCompareOptions *options, const gint *interrupted, IfmComparison *comparison,
                            GError **error);

IFM_END_DECLS
