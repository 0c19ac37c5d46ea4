#pragma once
#include <campaign/campaign.h>
#include <gradient/gradient.h>
#include <inferometer/engine.h>
#include <measure/kinds.h>
#include <measure/rounds.h>
#include <profile/profile.h>

G_BEGIN_DECLS

/* --- profile-watch.c: progress ---------------------------------------------------------------------------------------- */

/* @watch: (nullable) a function that is NULL in it is not called. */
void profile_note(const IfmProfileWatch *watch, const char *format, ...) G_GNUC_PRINTF(2, 3);
void profile_watch_cases(const IfmProfileWatch *watch, gsize n_cases);
void profile_watch_begin(const IfmProfileWatch *watch, const char *name, gsize runs, double ci_ratio);
/* profile_watch_again: Something more about the case that ended last. */
void profile_watch_again(const IfmProfileWatch *watch, const char *what);
void profile_watch_update(const IfmProfileWatch *watch, const char *phase, gsize n, double median_ns, double ci_ratio);
/* profile_watch_progress: IfmCampaignOptions.progress, with the watch as its user. */
void profile_watch_progress(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *watch);
void profile_watch_end(const IfmProfileWatch *watch, const char *outcome);
/* profile_is_interrupted: @interrupted: (nullable) */
gboolean profile_is_interrupted(const gint *interrupted);

/* --- profile-plan.c: what is to be measured on what ------------------------------------------------------------------ */

/* Target: one device of a profile, and what became of it. */
typedef struct
{
    char *alias; /* or NULL */
    IfmDeviceSpec *spec;
    GStrv vendor; /* "KEY=VALUE" meant for its engine */
    IfmCase *sealed;
    IfmMeasurement *measurement;
    GError *error; /* where there is no measurement */
    gboolean tried, resumed;
    IfmMeasurement *peak;
    char *no_peak; /* why there is none; NULL where it was not asked for */
    gboolean peak_stored;
    char *peak_doubt;       /* why it may be too low; NULL: nothing speaks for that */
    IfmMeasurement *rounds; /* of a point of a row, or a pass of a mode: what rounds with the others came to */
    char *why_not_rounds;   /* why there is none, where they were tried */
} Target;
void profile_target_free(Target *target);
/* profile_targets_copy: (transfer full) the same devices, not tried yet. */
GPtrArray *profile_targets_copy(const GPtrArray *targets);
/* profile_target_result: what became of a target; borrows. */
IfmResult profile_target_result(const Target *target);

/* GraphModel: a graph transformer of the zoo, built for a graph. @words: what was asked for, which built again is the same;
 * @stem: names its files; @title: what people call it; @digest: of the graph. @encoding: NULL where there is none, or
 * it is not needed. What it costs is measured by itself: @encoding_case, @encoding_cost, or why not */
typedef struct
{
    const char *name; /* "gps" */
    char *words, *stem, *title, *digest;
    guint32 seed;
    double degree; /* of a graph that is made */
    IfmTransformer transformer;
    IfmGraph *graph;
    char *encoding_name; /* "lap:16", NULL: none */
    IfmEncoding *encoding;
    gint64 encoding_ns;       /* what computing it took, the first time */
    json_t *encoding_seen[2]; /* the machine, before and after that */
    IfmCase *encoding_case;
    IfmMeasurement *encoding_cost;
    GError *encoding_error;
    IfmProfileGraph report;
} GraphModel;
/* Several plans may be of one: the passes of a mode. */
GraphModel *profile_graph_new(void);
GraphModel *profile_graph_ref(GraphModel *self);
void profile_graph_unref(GraphModel *self);
/* profile_graph_report: what the page reports of it; lives as long as it. */
const IfmProfileGraph *profile_graph_report(GraphModel *self);

typedef struct ProfileMode ProfileMode;

/* ProfileRounds: what came of the rounds of a plan's devices. @measurement: one of their records; NULL: none, and
 * @why_not, where they were tried */
typedef struct
{
    IfmMeasurement *measurement;
    char *why_not;
} ProfileRounds;
void profile_rounds_free(ProfileRounds *rounds);

/* ProfilePlan: what is to be measured on what, checked before anything is started or written. */
typedef struct
{
    guint parts;          /* IfmProfileParts */
    gboolean training;    /* a model of the zoo is wanted in its training form, where it has one */
    GPtrArray *targets;   /* Target*; empty where the model alone is looked at */
    GArray *bindings;     /* IfmDimBinding */
    GArray *given;        /* IfmGivenInput; NULL: there are none */
    GPtrArray *dim_names; /* what the names of both point to */
    IfmModel *model;
    char *model_path, *source; /* where it lies, and what people call that */
    IfmAnalysis *analysis;
    char *samples_path; /* of several samples that a file has for a model that takes one; NULL: there are none */
    gint64 n_samples;
    char *inputs_path; /* a tensor file (tensor-file.h) with those inputs that are not seeded; NULL: all are */
    ProfileMode *mode; /* NULL: the forward pass alone */
    char *observed_on, *why_not_observed; /* of shapes that no rule gives */
    GraphModel *graph;                    /* what the model was built of; NULL: no graph transformer */
    GArray *sizes;                        /* IfmDimBinding: recorded under them; NULL: the bindings */
    GStrv convolutions;                   /* IfmModelCase.convolutions; NULL */
    IfmModelCase base;                    /* all that the targets share */
    char *label;                          /* of one of several plans: "nodes 1000"; NULL */
    ProfileRounds *rounds;                /* of its devices */
    GError *refused;                      /* of one of several: why there is no such model; NULL */
    GHashTable *written;                  /* (nullable) paths of models of the zoo that were written before; borrowed */
} ProfilePlan;
void profile_plan_clear(ProfilePlan *plan);
void profile_plan_free(ProfilePlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ProfilePlan, profile_plan_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProfilePlan, profile_plan_free)
/* profile_plan_save: Writes the model to where it is to lie, and goes on with what lies there, by the same sizes: its
 * weights are then no longer held. */
gboolean profile_plan_save(ProfilePlan *plan, GError **error);
/* profile_plan_analyse: Whether the plan's model goes with its bindings; its shapes and work by them. */
gboolean profile_plan_analyse(ProfilePlan *plan, GError **error);
/* profile_analyse: (transfer full) its analysis with what else is known. @observed: (nullable) */
IfmAnalysis *profile_analyse(const ProfilePlan *plan, const IfmObservedShapes *observed, GError **error);
/* profile_plan_case: the case of one target; borrows from both. */
IfmModelCase profile_plan_case(const ProfilePlan *plan, const Target *target);
/* profile_plan_results: (transfer full) IfmResult of the targets that were tried; borrow from the plan. */
GArray *profile_plan_results(const ProfilePlan *plan);

/* ProfileMode: models derived from the one that was given, each profiled as any other. It hangs on the plan of the pass
 * that was asked for. */
struct ProfileMode
{
    IfmPassKind asked;
    IfmTrainingOptions options;
    ProfilePlan *given;                 /* of the model that was given */
    ProfilePlan *forward;               /* where that is not what runs forward: see cut_forward() */
    ProfilePlan *derived[IFM_N_PASSES]; /* IFM_PASS_TRAINING, IFM_PASS_STEP; NULL: none, or the one asked for */
    char *names[IFM_N_PASSES];          /* what cases are called */
    const ProfilePlan *training;        /* that of the training pass, wherever it is */
    gboolean layers;                    /* are wanted, and reported of the pass asked for */
    gint64 gradient_bytes, state_bytes;
    gint64 kind_bytes; /* of one kind of state of all parameters: in half precision twice the gradients' */
};
void profile_mode_free(ProfileMode *mode);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProfileMode, profile_mode_free)
/* profile_mode_plan: of another pass than the one asked for, with the same targets in the same order; NULL: the mode has
 * no such one, or there is no mode. */
ProfilePlan *profile_mode_plan(const ProfilePlan *plan, IfmPassKind kind);
/* profile_mode_n_others: how many those are. */
guint profile_mode_n_others(const ProfilePlan *plan);

/* profile_out_file: OUT/@folder/@name, the folder made. (transfer full) NULL with an error. */
char *profile_out_file(const char *out, const char *folder, const char *name, GError **error);

/* --- profile-fits.c: what is too large ------------------------------------------------------------------------------- */

/* profile_runs_on_host: whether all devices compute in the host's memory, so that what does not fit there runs nowhere. */
gboolean profile_runs_on_host(const ProfilePlan *plan);
/* profile_check_host: Whether this process can still get @bytes. IFM_ERROR_INVALID: "NAME: WHAT 12 GiB (MORE), there are 8
 * GiB available" */
gboolean profile_check_host(const char *name, const char *what, double bytes, const char *more, GError **error);
/* profile_check_fits: Whether the least that a plan's model needs by its shapes does, where no device could run it
 * otherwise. */
gboolean profile_check_fits(const ProfilePlan *plan, const char *name, GError **error);
/* --- profile-mode.c: other passes than the forward pass -------------------------------------------------------------- */

/* profile_mode_init: What the mode asks for besides the forward pass: the models of the other passes, saved under
 * OUT/models, what a step is fed under OUT/inputs. @plan: of the model that was given; afterwards that of the pass that was
 * asked for, with the others behind profile_mode_plan(). Returns: FALSE with IFM_ERROR_USAGE, or where there is no such
 * model. */
gboolean profile_mode_init(ProfilePlan *plan, const IfmProfileOptions *options, GError **error);
/* profile_mode_check_fits: profile_check_fits() of the pass that is asked for, of a plan that has as yet no more than
 * model, analysis, targets and sizes. TRUE where there is no such pass. */
gboolean profile_mode_check_fits(const ProfilePlan *plan, const IfmProfileOptions *options, const char *name,
                                 GError **error);
/* profile_mode_report: Fills all of @reported but its passes. */
void profile_mode_report(const ProfilePlan *plan, IfmProfileMode *reported);

/* --- profile-sizes.c: the numbers of graph transformers -------------------------------------------------------------- */

/* ProfileSizeUse: what a number means something to. */
typedef enum
{
    PROFILE_OF_ESTIMATE = 1 << 0,
    PROFILE_OF_GRAPH = 1 << 1, /* a graph transformer of the zoo */
} ProfileSizeUse;
/* profile_size_row: the row of the options of sizes in turn, in the order in which they name a model; NULL behind the last.
 * @uses: (out) (optional) ProfileSizeUse */
const IfmOption *profile_size_row(gsize index, guint *uses);
/* profile_size_find: the row of that name, NULL: there is none. */
const IfmOption *profile_size_find(const char *name);
/* profile_size_is_said: whether it is. profile_size_unsay: as though it were not. */
gboolean profile_size_is_said(const IfmGraphOptions *said, const IfmOption *row);
void profile_size_unsay(IfmGraphOptions *said, const IfmOption *row);
/* profile_size_text: as a user would write it, where it was given. (transfer full) */
char *profile_size_text(const IfmGraphOptions *said, const IfmOption *row);
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
gboolean profile_graph_init(ProfilePlan *plan, const IfmProfileOptions *options, GError **error);

/* --- profile-model.c: files and the rest of the zoo ------------------------------------------------------------------ */

/* profile_model_init: The plan's model, source and analysis, by its bindings. */
gboolean profile_model_init(ProfilePlan *plan, const IfmProfileOptions *options, GError **error);

/* --- profile-ask.c: from options to a plan --------------------------------------------------------------------------- */

/* profile_parse_parts: @text: "runtime,layers", NULL: all. */
gboolean profile_parse_parts(const char *text, guint *parts, GError **error);
/* profile_plan_init: With its mode's passes. @point: it is one of several: where there is no such model the plan is there
 * all the same and says in `refused` why. */
gboolean profile_plan_init(ProfilePlan *plan, const IfmProfileOptions *options, gboolean point, GError **error);
/* profile_plan_init_side: One side of a comparison: one target, no passes. @name: "A"    @device_option: what its device
 * was said with, "a-device" */
gboolean profile_plan_init_side(ProfilePlan *plan, const IfmProfileOptions *options, const char *name,
                                const char *device_option, GError **error);

/* --- profile-sweep.c: several models -------------------------------------------------------------------------------- */

/* IfmProfilePoint: options that were varied, and what is planned by them. @owned: their texts and lists */
struct IfmProfilePoint
{
    IfmProfileOptions options;
    GPtrArray *owned;
    ProfilePlan *plan; /* NULL until it is made */
};
/* profile_point_own: @text: (transfer full) */
const char *profile_point_own(IfmProfilePoint *self, char *text);
/* profile_point_drop_dim: @dim: the entry itself, of its dims. */
void profile_point_drop_dim(IfmProfilePoint *self, const char *dim);

/* SweepRow: what is varied, and a point for each of its values. */
typedef struct
{
    const char *axis, *help; /* "nodes", what that is; borrowed */
    char *name;              /* what the axis points to, where it is the caller's */
    GStrv values;
    GPtrArray *points; /* IfmProfilePoint*, a value each */
} SweepRow;
static inline ProfilePlan *profile_row_plan(const SweepRow *row, guint at)
{
    return ((const IfmProfilePoint *)row->points->pdata[at])->plan;
}

/* Sweep: rows of models along what is varied; none: one model is profiled as it is. */
typedef struct
{
    GPtrArray *rows;        /* SweepRow* */
    IfmProfilePoint *model; /* what the model as it is, too, is profiled by; NULL: it is not */
    GHashTable *written;    /* paths of models that points wrote */
} Sweep;
/* profile_sweep_init: What a list of sizes, or a scaling, asks for. */
gboolean profile_sweep_init(Sweep *sweep, const IfmProfileOptions *options, GError **error);
void profile_sweep_clear(Sweep *sweep);
/* profile_sweep_add_plans: Its points, those that there is a model of, behind what is in @plans. */
void profile_sweep_add_plans(const Sweep *sweep, GPtrArray *plans);

/* --- profile-observe.c ------------------------------------------------------------------------------------------------ */

/* profile_observe: Where shapes are missing, one run on a runtime that reports them; what is then known goes into the plan.
 * @asked: also where no device is measured on: without, nothing is then run, and the plan says so
 * Returns: FALSE with an error where the run shows that the model is wrong. */
gboolean profile_observe(ProfilePlan *plan, IfmRunner *runner, gboolean asked, GError **error);
/* profile_blamed_operator: The operator without costs that a runtime's words name; NULL for none. */
const char *profile_blamed_operator(const ProfilePlan *plan, const char *reason);

/* --- profile-encoding.c ----------------------------------------------------------------------------------------------- */

/* profile_encode: The model's positional encoding, into it, for what it is fed. Takes it more than a second it shows how
 * far it is. @case_time_ns: what it may take; 0: no limit */
gboolean profile_encode(GraphModel *model, gint64 case_time_ns, const IfmProfileWatch *watch, GError **error);
/* profile_check_encodable: whether its graphs are large enough for it. */
gboolean profile_check_encodable(const GraphModel *model, GError **error);
/* profile_measures_encoding: whether what it costs is to be reported, and there is one. */
gboolean profile_measures_encoding(const ProfilePlan *plan);

/* --- profile-rounds.c --------------------------------------------------------------------------------------------------
 */

/* profile_rounds_protocol: of @n sides whose cases are measured by @given. */
IfmRoundsProtocol profile_rounds_protocol(const IfmProtocol *given, gsize n);
/* profile_wants_pass_rounds: whether the passes of a mode take turns, so that they add up. */
gboolean profile_wants_pass_rounds(const ProfilePlan *plan);
/* profile_wants_rounds: whether its devices are compared: of several points of a row they are not. */
gboolean profile_wants_rounds(const ProfilePlan *plan);
/* --- profile-measure.c: profiles on their way through their devices -------------------------------------------------- */

typedef struct Step Step;
/* ProfileSides: what takes turns in rounds of processes, with what its cases borrow. @n_wanted: more than @n where they are
 * too many. @point: of profile_step_points: whose points they are */
typedef struct
{
    gsize n, n_wanted;
    Target *targets[IFM_CAMPAIGN_MAX_RECORDS];
    guint point[IFM_CAMPAIGN_MAX_RECORDS];
    IfmModelCase cases[IFM_CAMPAIGN_MAX_RECORDS];
    IfmCompareSide sides[IFM_CAMPAIGN_MAX_RECORDS];
    const char *names[IFM_CAMPAIGN_MAX_RECORDS];
    IfmRoundsProtocol protocol;
} ProfileSides;
/* StepKind: one sort of what a profile measures. @kind: of the step's case; NULL: @own says how it is measured. wanted:
 * (optional) asked when its turn has come. begin: (optional) it is measured now. end: what it came to goes where the
 * profile recognises it by. */
typedef struct
{
    const IfmCaseKind *kind;
    const IfmItemKind *own;
    void (*sides)(const Step *step, ProfileSides *sides); /* of profile_rounds_kind */
    gboolean (*wanted)(const Step *step);
    void (*begin)(const Step *step);
    void (*end)(const Step *step, IfmCampaignEnd *end);
} StepKind;
/* profile-encoding.c: what an encoding costs. profile-peak.c: the peak of the device. profile-rounds.c: all devices of a
 * plan in rounds. profile-points.c: the points of a row on one device in rounds, with all passes of each. */
extern const StepKind profile_step_encoding, profile_step_peak, profile_step_rounds, profile_step_points;
/* profile_rounds_kind: rounds of the step's sides. */
extern const IfmItemKind profile_rounds_kind;
void profile_sides_init(ProfileSides *sides, const Step *step);
void profile_sides_add(ProfileSides *sides, const ProfilePlan *plan, Target *target, const char *name);
void profile_rounds_begin(const Step *step);

/* Measuring: what all steps share. */
typedef struct
{
    const GPtrArray *plans; /* ProfilePlan* */
    IfmStore *store;
    IfmCampaign *campaign; /* while it measures */
    const IfmProfileWatch *watch;
    const gint *interrupted;
    IfmLimits limits;
    gboolean resume, no_peak, new_peak;
    const Sweep *sweep;
    GError *store_error; /* the store took no more: nothing further is measured */
} Measuring;

/* Step: one item of a profile's campaign. @asked: the plan that was asked for, of whose target it is; @plan: whose model is
 * run: that one, or another pass */
struct Step
{
    const StepKind *kind;
    const Measuring *of;
    const ProfilePlan *asked, *plan;
    guint at;
    Target *target; /* of @plan; NULL of an encoding */
    char *title;
    IfmModelCase model_case;       /* of @target */
    IfmEncodingCase encoding_case; /* where there is no target */
    IfmPeakCase peak_case;         /* of profile_step_peak */
    char *case_time_said, *time_budget_said;
    gint64 report_us;    /* when it reports again how far a run of an encoding is */
    const SweepRow *row; /* of profile_step_points: whose points; @again: those that were disturbed, a second time */
    gboolean again;
};

/* profile_encoding_case_init: The encoding's case into a step of profile_step_encoding. The step must stay where it is. */
void profile_encoding_case_init(Step *step);

/* profile_peak_case: of a target's device. */
IfmPeakCase profile_peak_case(const ProfilePlan *plan, const Target *target);

/* profile_outcome_of: the word of the table, where something went wrong; else "ok". */
const char *profile_outcome_of(const Target *target);
/* profile_measure: Each plan in workers of its own: the memory that one took would be there for the next. */
void profile_measure(Measuring *measuring);

/* --- profile-report.c: what came of it -----------------------------------------------------------------------------------
 */

/* Reported: a plan's results as they are reported, with those of its mode's other passes; the report borrows from all of
 * it.
 */
typedef struct Reported Reported;
Reported *profile_reported_new(const ProfilePlan *plan, gsize n_layers, gboolean group);
void profile_reported_free(Reported *reported);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Reported, profile_reported_free)
const IfmProfileReport *profile_reported_report(const Reported *reported);

/* SweepReport: the rows of a sweep as they are reported; borrows from the sweep. */
typedef struct
{
    GArray *rows;             /* IfmScalingRow */
    GPtrArray *blocks;        /* what they point to */
    GPtrArray *reported_list; /* Reported*: what their reports borrow from */
} SweepReport;
void profile_sweep_reported_clear(SweepReport *reported);
void profile_sweep_report(const Sweep *sweep, gsize n_layers, SweepReport *reported);

/* --- profile-failures.c -------------------------------------------------------------------------------------------------
 */

/* ProfileCounts: what is to be measured. */
typedef struct
{
    guint targets, left;      /* of the passes asked for; without a measurement */
    guint cases;              /* of all passes, and encodings */
    guint encodings, encoded; /* those with a measurement */
} ProfileCounts;
ProfileCounts profile_count(const GPtrArray *plans);
/* profile_all_failed: whether nothing was measured though something was to be. */
gboolean profile_all_failed(const GPtrArray *plans);
/* profile_failures: see ifm_profile_failures(). @store_error: (nullable) */
GStrv profile_failures(const GPtrArray *plans, const Sweep *sweep, const GError *store_error, gboolean interrupted,
                       int *code);

/* ifm_profile_part_words: "runtime", "memory", "flops", "layers", "scaling", "pe", NULL-terminated, in the order of the
 * bits. */
const char *const *ifm_profile_part_words(void);

G_END_DECLS
