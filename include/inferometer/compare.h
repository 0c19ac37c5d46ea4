/* Two models or devices compared with a verdict that its measurements support. */
#pragma once
#include <jansson.h>

#include <inferometer/profile.h>

IFM_BEGIN_DECLS

/* --- verdicts ------------------------------------------------------------------------------------------------------ */

/* Which of two things is faster: the rule, and the measuring that feeds it. docs/comparing.md says why it is as it is. */

typedef enum
{
    IFM_VERDICT_FASTER,    /* B than A: the whole interval of the ratio is below 1, and not all of it within the margin */
    IFM_VERDICT_SLOWER,    /* the same above 1 */
    IFM_VERDICT_SAME,      /* the whole interval lies from 1 / (1 + margin) to 1 + margin, on whatever side of 1 */
    IFM_VERDICT_UNCERTAIN, /* none of these: @why says what stands in the way */
} IfmVerdict;
const char *ifm_verdict_name(IfmVerdict verdict);

/**
 * IfmComparison: @ratio: time of B / time of A: the median of the means of two pairs of processes, in the logarithm.
 * @interval: of it; where the pairs are too few for the protocol's @level, their least and greatest, with the level that
 * these have. @a_ns, @b_ns: medians of rounds.
 * @difference_ns: time of B - time of A at the machine's mean speed: A's mean time over pairs x (ratio - 1), or,
 * where B is faster, B's x (1 - 1 / ratio)
 * @between, @within: standard deviations of the log ratio: of pairs' values, and of rounds about their pair's; NaN where
 * there are too few. @rounds: IfmCompareRound. @history: IfmCompareStep, each look; the last is what this states.
 */
typedef struct
{
    IfmVerdict verdict;
    double ratio, a_ns, b_ns;
    IfmInterval interval;
    double difference_ns;
    IfmInterval difference_interval; /* that of the ratio, in ns: the machine's speed is taken as it was */
    double margin, level, between, within;
    gsize n_pairs, n_looks;
    double error; /* what the last look spent of 1 - level */
    double
        n_effective; /* how many independent pairs those count as: the interval is wider by the root of n_pairs over it */
    double correlation; /* of neighbouring pairs, as estimated; NaN where they do not differ at all */
    gint64 elapsed_ns;
    GArray *rounds, *history;
    char *why;               /* one line; NULL unless uncertain */
    json_t *accuracy;        /* docs/formats.md, "accuracy"; NULL: it was not asked for */
    GPtrArray *notes;        /* char*: what else a reader should know */
    gboolean outputs_differ; /* the sides', beyond what their precisions allow: the first note says how */
    gboolean is_b_wrong;     /* where it failed: by B's outputs, which are not those of the reference */
    IfmCase *cases[2];
    IfmMeasurement
        *measurements[2]; /* of ifm_runner_compare(): both sides' samples, to be stored; NULL of the rule alone */
} IfmComparison;
void ifm_comparison_clear(IfmComparison *comparison);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmComparison, ifm_comparison_clear)

/* --- comparing ----------------------------------------------------------------------------------------------------- */

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
 * @comparison: (out) to be cleared where it is TRUE; where it is FALSE, is_b_wrong is set
 * Returns: FALSE with IFM_ERROR_USAGE where the options are wrong, with the model's trouble, or with the errors of
 * ifm_runner_compare()
 */
gboolean ifm_compare_models(const IfmCompareOptions *options, const gint *interrupted, IfmComparison *comparison,
                            GError **error);

/* --- what came of a comparison ------------------------------------------------------------------------------------- */

/* What a comparison shows: one of ifm_runner_compare(), so with cases and measurements. */

/** ifm_comparison_document: The verdict, why it is none, both sides, what else to know. (transfer full) borrows @comparison
 */
IfmDocument *ifm_comparison_document(const IfmComparison *comparison);

/** ifm_comparison_to_csv: a row a round. (transfer full) */
char *ifm_comparison_to_csv(const IfmComparison *comparison);

/** ifm_comparison_records_json: (transfer full) docs/formats.md, "A comparison": the verdict, and both sides' records. */
json_t *ifm_comparison_records_json(const IfmComparison *comparison);

IFM_END_DECLS
