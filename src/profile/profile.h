/* Shared with other rooms: the points, modes and reports of a profile. */
#pragma once
#include <zoo/zoo.h>

G_BEGIN_DECLS

/* --- results ------------------------------------------------------------------------------------------------------- */

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

/* --- graph transformers -------------------------------------------------------------------------------------------- */

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

/* --- a profile ----------------------------------------------------------------------------------------------------- */

/** IfmProfileDevice: what became of one device. All borrowed. The result stands first: what reads an IfmResult reads this.
 */
typedef struct
{
    IfmResult result;
    IfmMeasurement *peak; /* of an ifm_kind_peak; NULL where there is none: */
    char *no_peak;        /* why; NULL if it was not asked for */
    gboolean peak_stored; /* the limit was measured earlier */
    char *peak_doubt;     /* why it may be too low; NULL: nothing speaks for that */
    /* of a point of a row, and of each pass of a mode: its record of ifm_runner_rounds() with the others; NULL: */
    IfmMeasurement *rounds;
    char *why_not_rounds; /* why; NULL if they were not tried */
    json_t *nodes;        /* of several devices: the times of its nodes in each of their rounds, docs/formats.md; or NULL */
} IfmProfileDevice;

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
    gboolean interrupted;       /* before all was measured */
};

/* --- estimating ---------------------------------------------------------------------------------------------------- */

/** IfmEstimateLine: one row of the answer. @name: static */
typedef struct
{
    const char *name;
    IfmEstimate estimate;
} IfmEstimateLine;

/** IfmEstimateStorage: bytes that something takes. @name: static */
typedef struct
{
    const char *name;
    gint64 bytes;
} IfmEstimateStorage;

/* --- the plan of one model ------------------------------------------------------------------------------------------- */

/* A model at one value of each axis. A profile, the lists of one (`--dim N=100,500`, `--scaling`) and the studies of kind
 * `profile` make their models here, so that all measure the same cases. */

typedef struct IfmProfilePlan IfmProfilePlan;

/** ifm_profile_plan_new: @options: copied; its texts are borrowed until the plan is made. Returns: (transfer full) */
IfmProfilePlan *ifm_profile_plan_new(const IfmProfileOptions *options);
void ifm_profile_plan_free(IfmProfilePlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmProfilePlan, ifm_profile_plan_free)

/** ifm_profile_plan_set: One value of an axis: of a parameter where the model is of the zoo and has one of that name, else
 * of a free dimension of the inputs. */
void ifm_profile_plan_set(IfmProfilePlan *plan, const char *name, gint64 size);

/** ifm_profile_plan_make: Reads or builds the model and the pass asked for, as ifm_profile_new() does; files go under
 * OUTPUT. To be called once. @written: (nullable) paths of models that were written before and are read instead of being
 * built again; those that are written now are added    Returns: FALSE with why there is no such model */
gboolean ifm_profile_plan_make(IfmProfilePlan *plan, GHashTable *written, GError **error);

/** ifm_profile_plan_case: of the pass asked for, on the first of the devices, by the usual protocol. Borrows from @plan. */
IfmModelCase ifm_profile_plan_case(const IfmProfilePlan *plan);

/** ifm_profile_plan_flop: of one inference of that pass; -1 where an operator's is not known. */
gint64 ifm_profile_plan_flop(const IfmProfilePlan *plan);

G_END_DECLS
