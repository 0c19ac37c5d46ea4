/* The profile of a model: passes, memory, operations, scaling; and the estimate without a measurement. */
#pragma once
#include <jansson.h>

#include <inferometer/document.h>
#include <inferometer/measure.h>

IFM_BEGIN_DECLS

/* --- sizes of a transformer ---------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_MESSAGE_NONE,
    IFM_MESSAGE_GIN,
    IFM_MESSAGE_GCN,
    IFM_MESSAGE_SAGE,
} IfmMessagePassing;

typedef enum
{
    IFM_ENCODING_NONE,
    IFM_ENCODING_LAPLACIAN,   /* the first eigenvectors of the normalised Laplacian */
    IFM_ENCODING_RANDOM_WALK, /* return probabilities of 1 to dim steps */
} IfmPositionalEncoding;

/** IfmTransformerSizes: the sizes of a graph transformer. @sparse_ratio: see ifm_estimate_attention(). @pe_dim: ignored
 * without an encoding. */
typedef struct
{
    gint64 num_nodes, num_edges, feature_dim, hidden_dim, num_layers, num_heads, ffn_dim, pe_dim, num_outputs;
    double sparse_ratio;
    IfmMessagePassing mpnn;
    IfmPositionalEncoding pe;
} IfmTransformerSizes;

/* --- what is asked for --------------------------------------------------------------------------------------------- */

/** IfmGraphOptions: the numbers of a graph transformer and of its graph. What is not said is IFM_OPTION_UNSET or NULL: the
 * table's default then holds. The same may stand behind the model's name: "gps,hidden_dim=32". */
typedef struct
{
    gint64 num_nodes, num_edges; /* num_edges: of an estimate */
    const char *avg_degree;      /* a number */
    const char *dataset;
    gint64 num_graphs;
    gint64 feature_dim, hidden_dim, num_layers, num_heads, ffn_dim, pe_dim, num_outputs;
    int mpnn;       /* IfmMessagePassing */
    const char *pe; /* "lap:16" */
    int attention;  /* IfmAttention */
    double sparse_ratio;
    int norm, head; /* IfmNorm, IfmHead */
    double dropout;
    int scatter; /* 0: auto; else IfmScatter + 1 */
} IfmGraphOptions;
extern const IfmOption ifm_graph_options[]; /* IfmGraphOptions: behind "nodes" */

/** IfmProfileWatch: Callbacks for progress; each may be NULL. Called on the caller's thread. */
typedef struct
{
    /* @message: what is worth knowing and no error: "no --device given: …" */
    void (*note)(const char *message, void *user);
    void (*progress)(const IfmProgress *now, void *user);
    /* whether a model that was read may be used: FALSE with an error ends it all. Asked before anything is made of it */
    gboolean (*accept)(const IfmModel *model, void *user, GError **error);
    void *user;
} IfmProfileWatch;

/** IfmProfileOptions: ifm_profile_options_init() sets what holds where nothing is said. */
typedef struct
{
    const char *model;          /* a file, or a name of the zoo: "resnet18,batch=8", "zoo:gps,hidden_dim=32" */
    const char *const *devices; /* "[ALIAS=]ENGINE:UNIT…"; NULL or empty: onnxruntime:CPU */
    const char *parts;          /* "runtime,layers", of ifm_profile_part_words(); NULL: all */
    int mode;                   /* IfmPassKind */
    int loss;                   /* IfmLoss, or IFM_OPTION_UNSET */
    int optimiser;              /* IfmOptimiser, or IFM_OPTION_UNSET: sgd */
    const char *learning_rate;  /* a number; NULL: 0.001 */
    IfmModelOptions open;       /* how the model is opened; of its dims one may have a list: "N=100,500,1000" */
    const char *scaling;        /* "nodes,layers", of ifm_scaling_presets() */
    const char *dtype;
    gint64 threads;
    IfmProtocolOptions protocol;
    gint64 seed;
    const char *energy; /* IfmModelCase.energy; NULL: not measured */
    gboolean no_nodes, no_peak, new_peak, no_verify, native_async;
    gboolean observe;          /* run the model for shapes that no rule gives, also where no device is measured on */
    const char *const *conv;   /* "[LAYER=]ALGORITHM": how convolutions are computed; NULL: by the runtime's own kernels */
    const char *conv_fallback; /* of layers that the algorithm cannot do; NULL: such a model is refused */
    gint64 conv_workspace;     /* bytes a layer, at most; 0: 1 GiB */
    const char *const *vendor; /* "[ENGINE:]KEY=VALUE" */
    gboolean resume;
    gint64 tolerance_runs; /* disturbed runs of the reference: what the outputs may be off by; 0: by precision */
    gint64 n_layers;       /* how many of the slowest nodes to show of each device */
    gboolean group;        /* those that do the same in one row */
    const char *output;    /* folder of the store and of what is made */
    IfmGraphOptions graph;
    const IfmProfileWatch *watch; /* or NULL */
} IfmProfileOptions;
extern const IfmOption ifm_profile_options[]; /* IfmProfileOptions */
void ifm_profile_options_init(IfmProfileOptions *options);

/* --- a profile ----------------------------------------------------------------------------------------------------- */

typedef struct IfmProfileReport IfmProfileReport;

/** IfmPassKind: the models of a training, each measured by itself. */
typedef enum
{
    IFM_PASS_FORWARD,
    IFM_PASS_TRAINING, /* forward and backward in one model */
    IFM_PASS_STEP,     /* … and the update */
    IFM_N_PASSES,
} IfmPassKind;

/** IfmScalingRow: a row of models along one axis, profiled on the same devices. All borrowed. */
typedef struct
{
    const char *axis;                /* what is varied: "nodes", "N" */
    const char *help;                /* that in words, or NULL */
    const char *const *values;       /* [n] */
    const char *const *refusals;     /* [n] why there is no such model; NULL where there is one */
    const IfmProfileReport *reports; /* [n] of a model that there is not, nothing is read; all have a mode, or none has */
    gsize n;
} IfmScalingRow;

/* --- profiling ----------------------------------------------------------------------------------------------------- */

/** IfmProfile: a profile, planned at first, then measured. */
typedef struct IfmProfile IfmProfile;

/**
 * ifm_profile_new: Checks the options, reads or builds the models (of each point and pass), kept under OUTPUT/models, and
 * what they are fed, under OUTPUT/inputs. Nothing is measured yet.
 * @options: copied; its texts are borrowed for as long as the profile lives
 * Returns: (transfer full) NULL with IFM_ERROR_USAGE where the options are wrong or do not go together, else with the
 * model's trouble. One of several points without a model is no error: it says so among the rows.
 */
IfmProfile *ifm_profile_new(const IfmProfileOptions *options, GError **error);
void ifm_profile_free(IfmProfile *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmProfile, ifm_profile_free)

/**
 * ifm_profile_measure: Measures what was asked for, case after case, each in a worker process of its own, each committed
 * to OUTPUT/store.db before the next begins. To be called once; what was found until then is there whatever it returns.
 * @interrupted: (nullable) once it is not 0, nothing more is begun
 * Returns: FALSE with an error where nothing could be begun: the model turned out to be wrong, there is no store. What
 * fails later is reported by ifm_profile_failures().
 */
gboolean ifm_profile_measure(IfmProfile *self, const gint *interrupted, GError **error);

/** ifm_profile_report: The model as it is. (transfer none) NULL where there are points alone. */
const IfmProfileReport *ifm_profile_report(IfmProfile *self);

/** ifm_profile_rows: Rows of models along what was varied. @n: (out) how many; 0: none. (transfer none) */
const IfmScalingRow *ifm_profile_rows(IfmProfile *self, gsize *n);

/** ifm_profile_is_empty: Whether nothing was measured although something was asked for: only the failures are left to
 * report. */
gboolean ifm_profile_is_empty(const IfmProfile *self);

/**
 * ifm_profile_failures: What failed, a line each.
 * @code: (out) 0: all was measured. Else an IfmErrorCode: that of all that failed where all did and in the same way,
 * IFM_ERROR_INVALID or IFM_ERROR_UNAVAILABLE; IFM_ERROR_CANCELLED where it was interrupted; else IFM_ERROR_FAILED.
 * Returns: (transfer full) NULL-terminated
 */
GStrv ifm_profile_failures(const IfmProfile *self, int *code);

/* --- pages of profiles --------------------------------------------------------------------------------------------- */

/* How a profile (profile.h) is printed: page, JSON, CSV. */

/** ifm_profile_document: The model, its time on each device, its work, its memory, the machine's limit; for each device the
 * kernels by share of time, what would gain most, families, time breakdown; reasons and warnings. @report: borrowed until
 * the document is freed    Returns: (transfer full) */
IfmDocument *ifm_profile_document(const IfmProfileReport *report);

/** ifm_profile_to_json: The published keys (of the first device that was measured) and the document of cases,
 * each case with its layers, memory and limit: docs/formats.md. (transfer full) */
json_t *ifm_profile_to_json(const IfmProfileReport *report);

/** ifm_profile_to_csv: A row a device, or with a mode a row a device and pass; where layers alone are asked for, a row a
 * layer of each device; without devices, where the model's work or memory is asked for, a row a node. (transfer full) */
char *ifm_profile_to_csv(const IfmProfileReport *report);

/* --- estimating ---------------------------------------------------------------------------------------------------- */

/* What a layer, or a whole graph transformer, costs before there is a model of it: closed forms (estimate.h) of the numbers
 * that a graph transformer is built by. */

/** IfmProfileEstimate: what is counted. */
typedef enum
{
    IFM_PROFILE_ESTIMATE_TRANSFORMER,
    IFM_PROFILE_ESTIMATE_ATTENTION,
    IFM_PROFILE_ESTIMATE_LINEAR,
    IFM_PROFILE_ESTIMATE_MPNN,
    IFM_PROFILE_ESTIMATE_FFN,
    IFM_PROFILE_ESTIMATE_ENCODING,
    IFM_PROFILE_N_ESTIMATES,
} IfmProfileEstimate;

/** ifm_profile_estimate_words: "transformer", "attention", "linear", "mpnn", "ffn", "encoding", NULL-terminated, in the
 * order of the enumeration. */
extern const char *const ifm_profile_estimate_words[];

/** IfmEstimateAnswer: @lines: IfmEstimateLine; of a transformer its parts, then all of it    @storage: IfmEstimateStorage
 */
typedef struct
{
    IfmProfileEstimate kind;
    IfmTransformerSizes sizes; /* of one graph */
    gint64 batch;
    GArray *lines, *storage;
} IfmEstimateAnswer;

/**
 * ifm_profile_estimate: @said: numbers that mean nothing to @kind are IFM_ERROR_USAGE
 * @batch: how many graphs of these sizes at once, 1 or more: work and what is stored are so many times one graph's, and the
 * weights are read once
 * @answer: (out) to be cleared, whatever comes back
 * Returns: FALSE with IFM_ERROR_USAGE, or with the errors of estimate.h
 */
gboolean ifm_profile_estimate(IfmProfileEstimate kind, const IfmGraphOptions *said, gint64 batch, IfmEstimateAnswer *answer,
                              GError **error);
void ifm_estimate_answer_clear(IfmEstimateAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmEstimateAnswer, ifm_estimate_answer_clear)

/* --- pages of estimates -------------------------------------------------------------------------------------------- */

/* How an estimate (profile-estimate.h) is printed: a table of parts and one of memory. */

/** ifm_estimate_answer_document: (transfer full) borrows @answer. */
IfmDocument *ifm_estimate_answer_document(const IfmEstimateAnswer *answer);

/** ifm_estimate_answer_to_json: its keys: docs/formats.md. (transfer full) */
json_t *ifm_estimate_answer_to_json(const IfmEstimateAnswer *answer);

/** ifm_estimate_answer_to_csv: A row a part. (transfer full) */
char *ifm_estimate_answer_to_csv(const IfmEstimateAnswer *answer);

/* --- pages of scaling ---------------------------------------------------------------------------------------------- */

/* The forms of a scaling (scaling.h): page, JSON, CSV. Its points are ordinary profiles of one model each. */

/** ifm_scaling_document: For each row and device: the points, with a mode what each pass took, of graph transformers their
 * memory, the exponents, what departs from its FLOP, time and memory over the axis; then what failed and why, and warnings.
 * @rows: borrowed until the document is freed    Returns: (transfer full) */
IfmDocument *ifm_scaling_document(const IfmScalingRow *rows, gsize n_rows);

/** ifm_scaling_add_json: Puts "scaling" into a profile's document, and the points' cases behind its "cases"; its keys:
 * docs/formats.md. @profile: of ifm_profile_to_json(), or NULL: there is no profile but the points. (transfer full): the
 * document (@profile itself, where given). */
json_t *ifm_scaling_add_json(json_t *profile, const IfmScalingRow *rows, gsize n_rows);

/** ifm_scaling_to_csv: A row a point and device, with a mode one a pass, point and device. (transfer full) */
char *ifm_scaling_to_csv(const IfmScalingRow *rows, gsize n_rows);

IFM_END_DECLS
