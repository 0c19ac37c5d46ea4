#pragma once
#include <inferometer/gradient.h>
#include <inferometer/model-options.h>
#include <inferometer/protocol.h>
#include <inferometer/result.h>
#include <inferometer/transformer.h>

IFM_BEGIN_DECLS

/* What a model costs on one device or several: time, memory, work, by layer and by pass, and how it grows. profile-page.h
 * prints it; docs/profiling.md says what the figures mean. */

/* --- what is asked for ------------------------------------------------------------------------------------------------ */

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
    /* from here on so many cases are begun */
    void (*cases)(gsize n_cases, void *user);
    /* @runs: the fixed count, 0 where @ci_ratio is aimed at    @again: it belongs to the case before, and counts with it */
    void (*begin)(const char *name, gsize runs, double ci_ratio, gboolean again, void *user);
    /* how far it is, as IfmRunnerOptions.progress has it */
    void (*update)(const char *phase, gsize n, double median_ns, double ci_ratio, void *user);
    /* @outcome: "ok", "failed", "interrupted", "not stored", … */
    void (*end)(const char *outcome, void *user);
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

/* --- results ---------------------------------------------------------------------------------------------------------- */

/** IfmProfileParts: what a report contains. */
typedef enum
{
    IFM_PROFILE_RUNTIME = 1 << 0, /* how long an inference takes */
    IFM_PROFILE_MEMORY = 1 << 1,
    IFM_PROFILE_FLOPS = 1 << 2,  /* the model's own work */
    IFM_PROFILE_LAYERS = 1 << 3, /* where the time goes, and how far from the machine's limit */
    IFM_PROFILE_ALL = (1 << 4) - 1,
    IFM_PROFILE_SCALING = 1 << 4, /* how it grows: a row of models, not one */
    IFM_PROFILE_PE = 1 << 5,      /* what positional encodings cost: time and storage, apart from the model */
} IfmProfileParts;

/* --- graph transformers --------------------------------------------------------------------------------------------- */

/**
 * IfmProfileGraph: what a graph transformer was built of. All borrowed. @title: "gps on peptides"
 * @encoding_name: "lap:16"; NULL: it has none. @encoding: NULL if it was not needed. @encoding_case, @encoding_cost:
 * computing it, measured by itself; NULL if it was not measured. @no_encoding_cost: why a try failed
 */
typedef struct
{
    const char *title;
    const IfmTransformer *transformer;
    const IfmGraph *graph;
    const char *encoding_name;
    const IfmEncoding *encoding;
    const IfmCase *encoding_case;
    const IfmMeasurement *encoding_cost;
    const char *no_encoding_cost;
} IfmProfileGraph;

/* --- a profile ------------------------------------------------------------------------------------------------------ */

/** IfmProfileDevice: what became of one device. All borrowed. The result stands first: what reads an IfmResult reads this.
 */
typedef struct
{
    IfmResult result;
    const IfmMeasurement *peak; /* of an ifm_kind_peak; NULL where there is none: */
    const char *no_peak;        /* why; NULL if it was not asked for */
    gboolean peak_stored;       /* the limit was measured earlier */
    const char *peak_doubt;     /* why it may be too low; NULL: nothing speaks for that */
    /* of a point of a row, and of each pass of a mode: its record of ifm_runner_rounds() with the others; NULL: */
    const IfmMeasurement *rounds;
    const char *why_not_rounds; /* why; NULL if they were not tried */
} IfmProfileDevice;

typedef struct IfmProfileReport IfmProfileReport;

/** IfmPassKind: the models of a training, each measured by itself. */
typedef enum
{
    IFM_PASS_FORWARD,
    IFM_PASS_TRAINING, /* forward and backward in one model */
    IFM_PASS_STEP,     /* … and the update */
    IFM_N_PASSES,
} IfmPassKind;
/**
 * IfmProfileMode: the passes besides the forward pass. Backward = training pass - forward: where both were measured
 * in turns, from their paired rounds; else from what each came to by itself, with that of
 * ifm_difference_interval(). All borrowed.
 * @asked: the pass whose layers, memory and peak the report shows    @passes: NULL where the mode has no such one
 * @model, @analysis: the model that was given, of which the passes were made
 * @held_bytes: of inputs and activations, what is alive when the backward pass begins
 */
typedef struct
{
    IfmPassKind asked;
    const IfmProfileReport *passes[IFM_N_PASSES];
    IfmModel *model;
    const IfmAnalysis *analysis;
    const char *loss, *optimiser; /* no optimiser: no step */
    double learning_rate;
    const char *forward_words; /* what forward is, where the trained model does something else; or NULL */
    gint64 parameter_bytes, held_bytes, gradient_bytes, state_bytes;
} IfmProfileMode;

/** IfmProfileReport: all of it. All borrowed; what is not known is NULL. */
struct IfmProfileReport
{
    guint parts;        /* IfmProfileParts */
    const char *source; /* "zoo: resnet50", or the file */
    gint64 unix_ms;     /* when it was made */
    IfmModel *model;
    const IfmAnalysis *analysis;
    const IfmProfileGraph *graph; /* of a graph transformer; NULL: it is none */
    const IfmDimBinding *bindings;
    gsize n_bindings;
    const char *observed_on;      /* the device whose run gave shapes that no rule gives; NULL: none … */
    const char *why_not_observed; /* a sentence: which shapes stay unknown, and why; NULL: none … */
    const IfmProfileDevice *devices;
    gsize n_devices;
    gsize n_layers;             /* most to show of each device */
    gboolean group;             /* kernels that do the same in one row */
    const IfmProfileMode *mode; /* NULL: the forward pass alone */
    /* of several devices: one of the records that ifm_runner_rounds() made of them, with the rounds in its result; NULL: */
    const IfmMeasurement *rounds;
    const char *why_not_rounds; /* why; NULL if they were not tried */
};

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

/* --- profiling -------------------------------------------------------------------------------------------------------- */

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

IFM_END_DECLS
