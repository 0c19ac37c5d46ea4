#pragma once
#include <campaign/campaign.h>
#include <gradient/gradient.h>
#include <inferometer/engine.h>
#include <measure/kinds.h>
#include <predict/predict.h>
#include <profile/profile.h>

G_BEGIN_DECLS

/* The request of a profile: IfmProfileOptions, copied into an IfmProfilePlan for each model, which has a Target for each
 * device; profile-measure.c makes a ProfileStep of each of their cases, for one campaign. The result: what a step came to
 * is put into its Target, and the plan's IfmProfileReport lists them. */

/* --- profile-plan.c: what is to be measured on what ------------------------------------------------------------------ */

/* Target: one device of a plan. @device: what became of it, as it is reported; it owns all that it points to but the
 * device's name. Without measurement and code it was not tried. */
typedef struct
{
    IfmProfileDevice device;
    IfmDeviceSpec *spec;
    GStrv vendor; /* "KEY=VALUE" meant for its engine */
} Target;
/* profile_target_new: not tried yet. @alias: (nullable)    @spec: (transfer full)    @vendor: (transfer full) (nullable) */
Target *profile_target_new(const char *alias, IfmDeviceSpec *spec, GStrv vendor);
void profile_target_free(Target *target);
/* profile_is_measured: whether there is a latency. */
gboolean profile_is_measured(const Target *target);

/* GraphModel: a graph transformer of the zoo, built for a graph. @report: owns what it points to but the transformer; its
 * encoding is NULL where it is not needed, too, and what that costs is measured by itself */
typedef struct
{
    const char *name; /* "gps" */
    guint32 seed;
    double degree; /* of a graph that is made */
    IfmTransformer transformer;
    gint64 encoding_ns;       /* what computing it took, the first time */
    json_t *encoding_seen[2]; /* the machine, before and after that */
    int encoding_code;        /* an IfmErrorCode, where measuring its cost failed */
    IfmProfileGraph report;
} GraphModel;

typedef struct ProfileMode ProfileMode;

/* IfmProfilePlan: what is to be measured on what, checked before anything is started or written, and what that came to. */
struct IfmProfilePlan
{
    IfmProfileOptions options; /* those of the profile, with what is varied put in */
    GPtrArray *owned;          /* texts that they borrow */
    guint parts;               /* IfmProfileParts; 0: as the options say */
    GPtrArray *targets;        /* Target*; empty where the model alone is looked at */
    IfmModelSource source;
    IfmModel *plain; /* the source's with the nodes that its regions stand for: what the analysis is of */
    IfmAnalysis *analysis;
    ProfileMode *mode;                    /* NULL: the forward pass alone */
    char *observed_on, *why_not_observed; /* of shapes that no rule gives */
    GraphModel *graph;                    /* (g_rc_box) what the model, its other passes too, was built of; NULL: none */
    GArray *sizes;                        /* IfmDimBinding: recorded under them; NULL: the bindings */
    GStrv convolutions;                   /* IfmModelCase.convolutions; NULL */
    IfmModelCase base;                    /* all that the targets share */
    char *label;                          /* of one of several plans: "nodes 1000"; NULL */
    IfmMeasurement *rounds;               /* one of the records of the rounds of its devices; NULL: none, and */
    char *why_not_rounds;                 /* why, where they were tried */
    GError *refused;                      /* of one of several: why there is no such model; NULL */
    GHashTable *written;                  /* (nullable) paths of models of the zoo that were written before; borrowed */
    GArray *devices;                      /* IfmProfileDevice of the targets that were tried, once it is reported */
    IfmProfileReport report;
};
/* profile_plan_own: Returns: the text, which lives as long as the plan. */
const char *profile_plan_own(IfmProfilePlan *plan, char *text);
/* profile_plan_change_dims: Puts one entry in and leaves another out. @without: (nullable) the entry itself, of its dims
 * @with: (nullable) (transfer full) */
void profile_plan_change_dims(IfmProfilePlan *plan, const char *without, char *with);
/* profile_plan_open: The plan's model, a file or of the zoo by its name alone, and its analysis, by its bindings. */
gboolean profile_plan_open(IfmProfilePlan *plan, GError **error);
/* profile_plan_save: Writes the model to where it is to lie, and goes on with what lies there, by the same sizes: its
 * weights are then no longer held. */
gboolean profile_plan_save(IfmProfilePlan *plan, GError **error);
/* profile_plan_analyse: Whether the plan's model goes with its bindings; its shapes and work by them. */
gboolean profile_plan_analyse(IfmProfilePlan *plan, GError **error);
/* profile_analyse: (transfer full) its analysis with what else is known. @observed: (nullable) */
IfmAnalysis *profile_analyse(const IfmProfilePlan *plan, const IfmObservedShapes *observed, GError **error);
/* profile_plan_case: the case of one target; borrows from both. */
IfmModelCase profile_plan_case(const IfmProfilePlan *plan, const Target *target);
/* profile_plan_devices: (transfer full) IfmProfileDevice of the targets that were tried; borrow from the plan. */
GArray *profile_plan_devices(const IfmProfilePlan *plan);
/* profile_plan_report: What it came to, with the other passes of its mode; (transfer none). */
const IfmProfileReport *profile_plan_report(IfmProfilePlan *plan);

/* profile_out_file: OUT/@folder/@name, the folder made. (transfer full) NULL with an error. */
char *profile_out_file(const char *out, const char *folder, const char *name, GError **error);

/* profile_runs_on_host: whether all devices compute in the host's memory, so that what does not fit there runs nowhere. */
gboolean profile_runs_on_host(const IfmProfilePlan *plan);
/* profile_check_host: Whether this process can still get @bytes. IFM_ERROR_INVALID: "NAME: WHAT 12 GiB (MORE), there are 8
 * GiB available" */
gboolean profile_check_host(const char *name, const char *what, double bytes, const char *more, GError **error);
/* profile_check_fits: Whether the least that a plan's model needs by its shapes does, where no device could run it
 * otherwise. */
gboolean profile_check_fits(const IfmProfilePlan *plan, const char *name, GError **error);

/* --- profile-mode.c: other passes than the forward pass -------------------------------------------------------------- */

/* ProfileMode: models derived from the one that was given, each profiled as any other. It hangs on the plan of the pass
 * that was asked for. */
struct ProfileMode
{
    IfmTrainingOptions options;
    IfmProfilePlan *given;                 /* of the model that was given */
    IfmProfilePlan *derived[IFM_N_PASSES]; /* NULL: none, or the one asked for; forward: of ifm_gradient_forward() */
    const IfmProfilePlan *training;        /* that of the training pass, wherever it is */
    gboolean layers;                       /* are wanted, and reported of the pass asked for */
    gint64 kind_bytes; /* of one kind of state of all parameters: in half precision twice the gradients' */
    IfmProfileMode report;
};
void profile_mode_free(ProfileMode *mode);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProfileMode, profile_mode_free)
/* profile_mode_plan: of another pass than the one asked for, with the same targets in the same order; NULL: the mode has
 * no such one, or there is no mode. */
IfmProfilePlan *profile_mode_plan(const IfmProfilePlan *plan, int kind);
/* profile_mode_n_others: how many those are. */
guint profile_mode_n_others(const IfmProfilePlan *plan);

/* profile_mode_init: What the mode asks for besides the forward pass: the models of the other passes, saved under
 * OUT/models, what a step is fed under OUT/inputs. @plan: of the model that was given; afterwards that of the pass that was
 * asked for, with the others behind profile_mode_plan(). Returns: FALSE with IFM_ERROR_USAGE, or where there is no such
 * model. */
gboolean profile_mode_init(IfmProfilePlan *plan, GError **error);
/* profile_mode_check_fits: profile_check_fits() of the pass that is asked for, of a plan that has as yet no more than
 * options, model, analysis, targets and sizes. TRUE where there is no such pass. */
gboolean profile_mode_check_fits(const IfmProfilePlan *plan, const char *name, GError **error);
/* profile_mode_report: Fills all of the mode's report but its passes. */
void profile_mode_report(ProfileMode *mode);

/* --- profile-sizes.c: the numbers of graph transformers -------------------------------------------------------------- */

/* ProfileSizeUse: what a number means something to. */
typedef enum
{
    PROFILE_OF_ESTIMATE = 1 << 0,
    PROFILE_OF_GRAPH = 1 << 1, /* a graph transformer of the zoo */
} ProfileSizeUse;
/* profile_graph_row: the row of each option of sizes of a graph transformer in turn, in the order in which they name a
 * model; NULL behind the last. */
const IfmOption *profile_graph_row(gsize index);
/* profile_size_find: the row of that name, NULL: there is none. */
const IfmOption *profile_size_find(const char *name);
/* profile_size_unsay: as though it were not given. */
void profile_size_unsay(IfmGraphOptions *said, const IfmOption *row);
/* profile_check_sizes: That no number is said that means nothing to @use (0: to none that has sizes). @kind: of
 * PROFILE_OF_ESTIMATE */
gboolean profile_check_sizes(const IfmGraphOptions *said, guint use, IfmProfileEstimate kind, GError **error);

/* ProfileSizes: what is said, on the command line or behind the model's name, and that with the defaults. */
typedef struct
{
    IfmGraphOptions said, full;
} ProfileSizes;
void profile_sizes_init(ProfileSizes *sizes, const IfmGraphOptions *said);
/* profile_read_sizes: all but edges and the ratio of sparse attention, which is 1. */
gboolean profile_read_sizes(const ProfileSizes *from, IfmTransformerSizes *sizes, GError **error);
/* profile_check_encoding: That numbers of an encoding were given where there is one. */
gboolean profile_check_encoding(const ProfileSizes *from, const IfmTransformerSizes *sizes, GError **error);

/* --- profile-graph.c: graph transformers ----------------------------------------------------------------------------- */

/* profile_is_graph: whether MODEL names a graph transformer, which is built by options and for a graph. */
gboolean profile_is_graph(const char *text);
/* profile_graph_init: The plan's model, inputs, graph, encoding, sizes, source and analysis. Same options, same bytes of
 * all. Returns: FALSE with IFM_ERROR_USAGE, or where there is no such model. */
gboolean profile_graph_init(IfmProfilePlan *plan, GError **error);

/* --- profile-parse.c: from options to a plan ---------------------------------------------------------------------------
 */

/* profile_parts_of: @text: "runtime,layers", of an option that was checked; NULL: all. */
guint profile_parts_of(const char *text);
/* profile_plan_init: By its options, with its mode's passes. @point: it is one of several: where there is no such model the
 * plan is there all the same and says in `refused` why. */
gboolean profile_plan_init(IfmProfilePlan *plan, gboolean point, GError **error);
/* profile_plan_init_side: One side of a comparison: one target, no passes; its case is `base`. @name: "A"; NULL: it is
 * alone    @device_option: what its device was said with, "a-device" */
gboolean profile_plan_init_side(IfmProfilePlan *plan, const char *name, const char *device_option, GError **error);

/* --- profile.c: a profile ---------------------------------------------------------------------------------------------
 */

/* SweepRow: what is varied, and a plan for each of its values. */
typedef struct
{
    const char *axis, *help; /* "nodes", what that is; borrowed */
    char *name;              /* what the axis points to, where it is the caller's */
    const char *list;        /* of --dim; NULL: */
    const IfmScalingPreset *preset;
    GStrv values;
    GPtrArray *points;         /* IfmProfilePlan*, a value each */
    IfmProfileReport *reports; /* [points->len], once they are reported */
    const char **refusals;
} SweepRow;

struct IfmProfile
{
    IfmProfileOptions options;
    IfmProfilePlan *model; /* the model as it is; NULL: there are points alone */
    GPtrArray *rows;       /* SweepRow*; none: one model is profiled as it is */
    GHashTable *written;   /* paths of models that points wrote */
    GPtrArray *plans;      /* IfmProfilePlan*, in the order of measuring, all that there is a model of; borrowed */
    const gint *interrupted;
    IfmLimits limits;
    IfmStore *store;       /* while it measures */
    IfmCampaign *campaign; /* the same */
    GPtrArray *steps;      /* ProfileStep* */
    GError *store_error;   /* the store took no more: nothing further is measured */
    GArray *reported;      /* IfmScalingRow, of the rows */
};

/* Progress. @watch: (nullable) a function that is NULL in it is not called. */
void profile_note(const IfmProfileWatch *watch, const char *format, ...) G_GNUC_PRINTF(2, 3);
void profile_report(const IfmProfileWatch *watch, const IfmProgress *now);
/* profile_report_step: how far the campaign's case is. */
void profile_report_step(const IfmProfileWatch *watch, const char *phase, const IfmCampaignProgress *progress);
/* profile_on_progress: IfmCampaignOptions.progress, with the watch as its user. */
void profile_on_progress(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *watch);
/* profile_is_interrupted: @interrupted: (nullable) */
gboolean profile_is_interrupted(const gint *interrupted);

/* --- profile-sweep.c: several models -------------------------------------------------------------------------------- */

/* profile_sweep_init: The rows that a list of sizes, or a scaling, asks for, their plans, and the model as it is where that
 * is profiled, too (not planned yet). */
gboolean profile_sweep_init(IfmProfile *self, GError **error);
void profile_row_free(SweepRow *row);

/* --- profile-observe.c ------------------------------------------------------------------------------------------------ */

/* profile_observe: Where shapes are missing, one run on a runtime that reports them; what is then known goes into the plan.
 * @asked: also where no device is measured on: without, nothing is then run, and the plan says so
 * Returns: FALSE with an error where the run shows that the model is wrong. */
gboolean profile_observe(IfmProfilePlan *plan, IfmRunner *runner, gboolean asked, GError **error);
/* profile_blamed_operator: The operator without costs that a runtime's words name; NULL for none. */
const char *profile_blamed_operator(const IfmProfilePlan *plan, const char *reason);

/* --- profile-measure.c: the cases of a profile, as the steps of one campaign ------------------------------------------ */

typedef struct ProfileStep ProfileStep;
typedef struct Sides Sides;
/* StepKind: one sort of what a profile measures. @kind: of the step's case; NULL: @own says how it is measured, as
 * something more about the case before. wanted: (optional) asked when its turn has come. end: Puts what it came to where
 * the profile recognises it by, and returns the outcome in a word. */
typedef struct
{
    const IfmCaseKind *kind;
    const IfmItemKind *own;
    gboolean (*wanted)(ProfileStep *step);
    const char *(*end)(ProfileStep *step, IfmCampaignEnd *end);
} StepKind;
/* profile-encoding.c: what an encoding costs. profile-rounds.c: all devices of a plan in rounds; the points of a row on one
 * device in rounds, with all passes of each. */
extern const StepKind profile_step_encoding, profile_step_rounds, profile_step_points;

/* ProfileStep: one item of a profile's campaign. @plan: that was asked for; @at: of its targets; @target: that one, or of
 * another pass; NULL of an encoding and of all devices */
struct ProfileStep
{
    const StepKind *kind;
    IfmProfile *of;
    IfmProfilePlan *plan;
    guint at;
    Target *target;
    char *title;
    union
    {
        IfmModelCase model;
        IfmEncodingCase encoding;
        IfmPeakCase peak;
    } spec;
    char *case_time_said, *time_budget_said;
    gint64 report_us;    /* when it reports again how far a run of an encoding is */
    const SweepRow *row; /* of profile_step_points: whose points; @again: those that were disturbed, a second time */
    gboolean again;
    Sides *sides; /* what takes turns in rounds, as it was when the step was last wanted */
};

/* profile_measure: All plans' cases. Each plan in workers of its own: the memory that one took would be there for the next.
 */
void profile_measure(IfmProfile *self);

/* --- profile-encoding.c ----------------------------------------------------------------------------------------------- */

/* profile_encode: The model's positional encoding, into it, for what it is fed. Takes it more than a second it shows how
 * far it is. @case_time_ns: what it may take; 0: no limit */
gboolean profile_encode(GraphModel *model, gint64 case_time_ns, const IfmProfileWatch *watch, GError **error);
/* profile_check_encodable: whether its graphs are large enough for it. */
gboolean profile_check_encodable(const GraphModel *model, GError **error);
/* profile_measures_encoding: whether what it costs is to be reported, and there is one. */
gboolean profile_measures_encoding(const IfmProfilePlan *plan);
/* profile_encoding_case_init: The encoding's case into a step of profile_step_encoding. The step must stay where it is. */
void profile_encoding_case_init(ProfileStep *step);

/* --- profile-failures.c -------------------------------------------------------------------------------------------------
 */

/* ProfileCounts: what is to be measured, and what came of it. */
typedef struct
{
    guint targets, left, tried, failed; /* of the passes asked for; left: without a measurement */
    guint cases;                        /* of all passes, and encodings */
    guint encodings, encoded;           /* those with a measurement */
    int code;                           /* what all that failed have in common, an IfmErrorCode */
} ProfileCounts;
ProfileCounts profile_count(const GPtrArray *plans);

/* ifm_profile_part_words: "runtime", "memory", "flops", "layers", "scaling", "pe", NULL-terminated, in the order of the
 * bits. */
const char *const *ifm_profile_part_words(void);

G_END_DECLS
