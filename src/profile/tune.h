/* Shared with other rooms: models whose convolutions run by the algorithms that were measured to be the fastest. */
#pragma once
#include <engine/engine.h>
#include <inferometer/compare.h>

G_BEGIN_DECLS

/** IfmTunePrediction: which algorithm of those of regions a convolution is predicted to be the fastest with. @layer: its
 * node's name, or that of its output    ifm_tune_predictions_new: (transfer full) of none yet */
typedef struct
{
    char *layer, *algorithm;
    double time_ns;
} IfmTunePrediction;
GPtrArray *ifm_tune_predictions_new(void);

/**
 * IfmTunePredictor: what is asked instead of measuring.
 * @what: what it predicts from, as a user calls it
 * @predict: @graph: as the runtime's rules leave the model    @level: which algorithms may be named
 * Returns: (transfer full) IfmTunePrediction*; convolutions that it knows nothing of have none. NULL with an error
 */
typedef struct
{
    const char *what;
    GPtrArray *(*predict)(gpointer user, IfmModel *graph, const IfmDimBinding *bindings, gsize n_bindings, int n_threads,
                          IfmTuneLevel level, GError **error);
    gpointer user;
} IfmTunePredictor;

/** IfmTuneOptions: ifm_tune_options_init() sets what holds where nothing is said. */
typedef struct
{
    const char *model; /* a file, or a name of the zoo */
    const char *path;  /* of the tuned model */
    const char *device;
    IfmModelOptions open;
    gint64 threads;
    const char *const *vendor; /* "[ENGINE:]KEY=VALUE" */
    double margin;
    gint64 time_budget_ns, seed;
    IfmProtocolOptions protocol;       /* of it hang_ns and memory_bytes alone */
    const char *output;                /* folder of the store and of the zoo's models */
    const IfmProfileWatch *watch;      /* or NULL */
    const IfmTunePredictor *predictor; /* or NULL: the algorithms are measured */
} IfmTuneOptions;
extern const IfmOption ifm_tune_options[]; /* IfmTuneOptions */
void ifm_tune_options_init(IfmTuneOptions *options);

/** IfmTuneLayer: a convolution of the model under its own name. @algorithm: "any": the rule's; "runtime": no program has
 * it, or its region is slower than the runtime's own: @why says the reason    @time_ns, @rule_ns: of it, and of the rule's
 * algorithm; 0: not measured    @predicted_ns: 0: it was not predicted */
typedef struct
{
    char *layer, *algorithm, *implementation, *why;
    double time_ns, rule_ns, predicted_ns;
} IfmTuneLayer;

/**
 * IfmTuned: what came of it.
 * @layers: IfmTuneLayer*    @n_taken: of them that are in regions    @n_regions, @n_nodes: regions, and nodes in them
 * @comparison: A: the runtime's own, B: the tuned model; of no use where there is none: ifm_tuned_is_compared()
 * @predicted: what the algorithms were predicted from; NULL: they were measured
 * @path: of the file that was written; NULL: none was, and @why says the reason
 */
typedef struct
{
    GPtrArray *layers;
    guint n_taken, n_regions;
    gsize n_nodes;
    char *model, *processor, *isa, *runtime, *predicted, *path, *why;
    int n_threads;
    const char *threads_from; /* static: what their number was taken from */
    IfmComparison comparison;
} IfmTuned;
void ifm_tuned_clear(IfmTuned *tuned);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmTuned, ifm_tuned_clear)

/** ifm_tuned_is_compared: FALSE: no region was left that could be compared. */
gboolean ifm_tuned_is_compared(const IfmTuned *tuned);

/**
 * @comparison: A: the runtime's own, B: the tuned model; of no use where there is none: ifm_tuned_is_compared()
 * @predicted: what the algorithms were predicted from; NULL: they were measured
 * @interrupted: (nullable) once it is not 0, it ends with IFM_ERROR_CANCELLED
 * Returns: FALSE with IFM_ERROR_USAGE, IFM_ERROR_INVALID (no convolution, tuned already, the output is the input, over
 * 2 GiB), IFM_ERROR_UNSUPPORTED (the device has no such operator), IFM_ERROR_UNAVAILABLE (it cannot be written)
 */
gboolean ifm_tune_model(const IfmTuneOptions *options, const gint *interrupted, IfmTuned *tuned, GError **error);

/** ifm_tune_layers: The first half of ifm_tune_model(): writes the model as its layers were measured, neither compared nor
 * checked, and without metadata: for who compares it with something else. @tuned: (out) without a comparison */
gboolean ifm_tune_layers(const IfmTuneOptions *options, const gint *interrupted, IfmTuned *tuned, GError **error);

IfmDocument *ifm_tuned_document(const IfmTuned *tuned); /* (transfer full) borrows @tuned */
json_t *ifm_tuned_json(const IfmTuned *tuned);          /* (transfer full) docs/formats.md, "A tuned model" */

/** A key of metadata_props: JSON of what the model was tuned for; docs/formats.md. IFM_TUNED_LIBRARY: one sentence: what
 * loads it, and where that comes from. */
#define IFM_TUNED_METADATA "inferometer.tuned"
#define IFM_TUNED_LIBRARY "inferometer.library"

/** ifm_tuned_show_document: What a tuned model was tuned for, and what would be replaced on this processor.
 * @json: (out) (optional) (transfer full) the same    Returns: (transfer full) NULL with IFM_ERROR_INVALID where it is
 * none, or one of another version. */
IfmDocument *ifm_tuned_show_document(const char *path, json_t **json, GError **error);

G_END_DECLS
