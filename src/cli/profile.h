#pragma once
#include <inferometer/measure.h>
#include <inferometer/profile.h>
#include <inferometer/scaling-page.h>
#include <inferometer/transformer.h>
#include <inferometer/zoo.h>

#include "cli.h"

G_BEGIN_DECLS

/* Target: one device of a profile, and what became of it. */
typedef struct
{
    char *alias; /* or NULL */
    IfmDeviceSpec *spec;
    GStrv vendor; /* "KEY=VALUE" meant for its engine */
    IfmCase *sealed;
    IfmMeasurement *measurement;
    GError *error; /* where there is no measurement */
    gboolean tried, resumed, stored;
    IfmMeasurement *limit;
    char *no_limit; /* why there is none; NULL where nobody asked */
    gboolean limit_stored;
    char *limit_doubt;     /* why it may be too low; NULL: nothing speaks for that */
    IfmMeasurement *turns; /* of a mode: the training pass's, in turns with the forward pass */
    char *no_turns;        /* why there is none; NULL where nobody asked */
} Target;

typedef struct ProfileMode ProfileMode;

/* GraphModel: a graph transformer of the zoo, built for a graph. @words: what was asked for, which built again is the same;
 * @stem: names its files; @title: what people call it; @digest: of the graph. @encoding: NULL where there is none, or
 * nobody needs it. What it costs is measured by itself: @encoding_case, @encoding_cost, or why not */
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
    IfmProfileGraph story;
} GraphModel;
/* Several plans may be of one: the passes of a mode. */
GraphModel *profile_graph_ref(GraphModel *self);
void profile_graph_unref(GraphModel *self);

/* ProfilePlan: what is to be measured on what, checked before anything is started or written. */
typedef struct
{
    const char *side;     /* "a", "b": of a comparison, with options of its own; NULL: there is none */
    guint parts;          /* IfmProfileParts */
    gboolean training;    /* a model of the zoo is wanted in its training form, where it has one */
    GPtrArray *targets;   /* Target*; empty where the model alone is looked at */
    GArray *bindings;     /* IfmDimBinding */
    GPtrArray *dim_names; /* what the bindings' names point to */
    IfmModel *model;
    char *model_path, *source; /* where it lies, and what people call that */
    IfmAnalysis *analysis;
    char *inputs_path; /* a tensor file (tensor-file.h) with those inputs that are not seeded; NULL: all are */
    ProfileMode *mode; /* NULL: the forward pass alone */
    char *observed_on, *why_not_observed; /* of shapes that no rule tells */
    GraphModel *graph;                    /* what the model was built of; NULL: no graph transformer */
    GArray *sizes;                        /* IfmDimBinding: recorded under them; NULL: the bindings */
    IfmModelCase base;                    /* all that the targets share */
    char *label;                          /* of one of several plans: "nodes 1000"; NULL */
    GError *refused;                      /* of one of several: why there is no such model; NULL */
} ProfilePlan;

/* profile_plan_init: @out: folder for a zoo's model. Returns: an exit status; what is wrong was told. */
int profile_plan_init(ProfilePlan *plan, const Arguments *arguments, const char *out);
void profile_plan_clear(ProfilePlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ProfilePlan, profile_plan_clear)
/* profile_plan_init_side: One side of a comparison, "a" or "b": option --device is for both, --a-device for A alone, and so
 * on. @text: its MODEL. It has one target. Returns: as above. */
int profile_plan_init_side(ProfilePlan *plan, const Arguments *arguments, const char *side, const char *text,
                           const char *out);
/* profile_plan_init_point: One of several plans: as profile_plan_init(), but that where there is no such model the plan is
 * there all the same and says in `refused` why. */
int profile_plan_init_point(ProfilePlan *plan, const Arguments *arguments, const char *out);
/* profile_zoo_entry: The model of the zoo that a MODEL means; NULL: a file, or nothing. */
const IfmZooEntry *profile_zoo_entry(const char *text);
/* profile_plan_save: Writes the model to where it is to lie, and goes on with what lies there, by the same sizes: its
 * weights are then no longer held. */
gboolean profile_plan_save(ProfilePlan *plan, GError **error);
/* profile_plan_case: the case of one target; borrows from both. */
IfmModelCase profile_plan_case(const ProfilePlan *plan, const Target *target);

/* profile_targets_copy: (transfer full) the same devices, not tried yet. */
GPtrArray *profile_targets_copy(const GPtrArray *targets);

/* --- profile-fits.c: what is too large ------------------------------------------------------------------------------- */

/* profile_runs_on_host: whether all devices compute in the host's memory, so that what does not fit there runs nowhere. */
gboolean profile_runs_on_host(const ProfilePlan *plan);
/* profile_check_host: Whether this process can still get @bytes. IFM_ERROR_INVALID: "NAME: WHAT 12 GiB (MORE), there are 8
 * GiB available" */
gboolean profile_check_host(const char *name, const char *what, double bytes, const char *more, GError **error);
/* profile_check_fits: Whether the least that a plan's model needs by its shapes does, where no device could run it
 * otherwise. */
gboolean profile_check_fits(const ProfilePlan *plan, const char *name, GError **error);

/* --- profile-mode.c: --mode ------------------------------------------------------------------------------------------- */

/* profile_mode_trains: whether a training step is asked for: models of the zoo are then built in their training form. */
gboolean profile_mode_trains(const Arguments *arguments);
/* profile_mode_init: What --mode asks for beside the forward pass: the models of the other passes, saved under OUT/models,
 * what a step is fed under OUT/inputs. @plan: of the model that was given; afterwards that of the pass that was asked for,
 * with the others behind profile_mode_plan(). @refused: (out) (optional) why there is none, which then was told nobody.
 * Returns: an exit status; what is wrong was told. */
int profile_mode_init(ProfilePlan *plan, const Arguments *arguments, const char *out, GError **refused);
/* profile_mode_check_fits: profile_check_fits() of the pass that --mode asks for, of a plan that has as yet no more than
 * model, analysis, targets and sizes. TRUE where there is no such pass. */
gboolean profile_mode_check_fits(const ProfilePlan *plan, const Arguments *arguments, const char *name, GError **error);
void profile_mode_free(ProfileMode *mode);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ProfileMode, profile_mode_free)
/* profile_mode_plan: of another pass than the one asked for, with the same targets in the same order; NULL: the mode has
 * no such one, or there is no mode. */
ProfilePlan *profile_mode_plan(const ProfilePlan *plan, IfmPassKind kind);
/* profile_mode_n_others: how many those are. */
guint profile_mode_n_others(const ProfilePlan *plan);
/* profile_mode_tell: Fills all of @told but its passes. */
void profile_mode_tell(const ProfilePlan *plan, IfmProfileMode *told);

/* profile_out_file: OUT/@folder/@name, the folder made. (transfer full) NULL with an error. */
char *profile_out_file(const char *out, const char *folder, const char *name, GError **error);

/* profile_is_graph: whether MODEL names a graph transformer, which is built by options and for a graph. */
gboolean profile_is_graph(const char *text);
/* profile_graph_init: The plan's model, inputs, graph, encoding, sizes, source and analysis. Same command line, same bytes
 * of all. Returns: an exit status; with @error where there is no such model, which then was told nobody. */
int profile_graph_init(ProfilePlan *plan, const Arguments *arguments, const char *out, GError **error);
/* profile_graph_story: what the page tells of it; lives as long as it. */
const IfmProfileGraph *profile_graph_story(GraphModel *self);

/* profile_encode: The model's positional encoding, into it, for what it is fed. Takes it more than a second it shows how
 * far it is; --case-timeout bounds it. Returns: FALSE with an error. */
gboolean profile_encode(GraphModel *model, const Arguments *arguments, GError **error);
/* profile_check_encodable: whether its graphs are large enough for it. */
gboolean profile_check_encodable(const GraphModel *model, GError **error);
/* EncodingPlace: where its cost is kept, and who waits for it. */
typedef struct
{
    IfmStore *store;
    Progress *progress;
    const gint *interrupted;
    gboolean resume;
    GHashTable *measured; /* (inout) keys of what was measured just now */
    gint64 case_time_ns;  /* what it may take in all; 0: no limit */
} EncodingPlace;
/* profile_measures_encoding: whether what it costs is to be told, and there is one. */
gboolean profile_measures_encoding(const ProfilePlan *plan);
/* profile_measure_encoding: What computing it costs, where that is to be told. Returns: FALSE with @store_error where the
 * store takes no more. */
gboolean profile_measure_encoding(const ProfilePlan *plan, const EncodingPlace *place, GError **store_error);
/* profile_encoding_status: Of what that came to: an exit status; what went wrong is told. */
int profile_encoding_status(const ProfilePlan *plan);

/* --- profile-sweep.c: several models -------------------------------------------------------------------------------- */

/* SweepRow: what is varied, and a plan for each of its values. */
typedef struct
{
    const char *axis, *help; /* "nodes", what that is; borrowed */
    char *name;              /* what the axis points to, where it is the command line's */
    GStrv values;
    GPtrArray *arguments; /* Arguments*, a value each: what the plans borrow from */
    GPtrArray *plans;     /* ProfilePlan*, a value each */
} SweepRow;

/* Sweep: rows of models along what is varied; none: one model is profiled as it is. */
typedef struct
{
    GPtrArray *rows;  /* SweepRow* */
    Arguments *model; /* what the model as it is, too, is profiled by; NULL: it is not */
} Sweep;
/* profile_sweep_init: What --dim with a list of sizes, or --profile scaling, asks for. Returns: an exit status. */
int profile_sweep_init(Sweep *sweep, const Arguments *arguments, const char *out);
void profile_sweep_clear(Sweep *sweep);
/* SweepTold: its rows as they are told; borrows from the sweep. */
typedef struct
{
    GArray *rows; /* IfmScalingRow */
    GPtrArray *blocks;
} SweepTold;
void profile_sweep_told_clear(SweepTold *told);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SweepTold, profile_sweep_told_clear)
/* profile_sweep_tell: @tell: (scope call) what is told of one plan. */
void profile_sweep_tell(const Sweep *sweep, void (*tell)(const ProfilePlan *plan, IfmProfileStory *story, void *user),
                        void *user, SweepTold *told);
/* profile_sweep_add_plans: Its points, those that there is a model of, behind what is in @plans. */
void profile_sweep_add_plans(const Sweep *sweep, GPtrArray *plans);
/* profile_sweep_status: CLI_EXIT_FAILED where a point has no model. */
int profile_sweep_status(const Sweep *sweep);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sweep, profile_sweep_clear)

/* profile_observe: Where shapes are missing, one run on a runtime that tells them; what is then known goes into the plan.
 * Returns: an exit status: the run may show that the model is wrong. */
int profile_observe(ProfilePlan *plan, IfmRunner *runner);
/* profile_blamed_operator: The operator without costs that a runtime's words name; NULL for none. */
const char *profile_blamed_operator(const ProfilePlan *plan, const char *reason);

/* ProfileSizeUse: what an option of sizes means something to. */
typedef enum
{
    PROFILE_OF_ESTIMATE = 1 << 0,
    PROFILE_OF_GRAPH = 1 << 1, /* a graph transformer of the zoo */
} ProfileSizeUse;
/* profile_size_uses: of an option, ProfileSizeUse; 0: it is no size. */
guint profile_size_uses(const char *option);
/* profile_size_name: the options of sizes in turn; NULL behind the last. */
const char *profile_size_name(gsize index);
/* profile_size_idle: What is wrong where a size was given that means nothing to @use (0: to none that has sizes).
 * (transfer full) NULL: none was. */
char *profile_size_idle(const Arguments *arguments, guint use);

/* ProfileGiven: where sizes are given: on the command line, or beside the model's name (NULL: there is none). */
typedef struct
{
    const Arguments *arguments, *settings;
} ProfileGiven;
const Arguments *profile_given_in(const ProfileGiven *given, const char *option);
gboolean profile_is_given(const ProfileGiven *given, const char *option);
/* profile_given_word: the place of its value among @words, which are its choices; 0 where it was not given. */
int profile_given_word(const ProfileGiven *given, const char *option, const char *const *words);
/* profile_read_sizes: all but edges and the ratio of sparse attention, which is 1. Returns: an exit status. */
int profile_read_sizes(const ProfileGiven *given, IfmTransformerSizes *sizes);
/* profile_check_encoding: That numbers of an encoding were given where there is one. Returns: an exit status. */
int profile_check_encoding(const ProfileGiven *given, const IfmTransformerSizes *sizes);

/* ProfileEstimate: what --estimate counts; profile_estimates: its words, NULL-terminated, in that order. */
typedef enum
{
    PROFILE_ESTIMATE_TRANSFORMER,
    PROFILE_ESTIMATE_ATTENTION,
    PROFILE_ESTIMATE_LINEAR,
    PROFILE_ESTIMATE_MPNN,
    PROFILE_ESTIMATE_FFN,
    PROFILE_ESTIMATE_ENCODING,
    PROFILE_N_ESTIMATES,
} ProfileEstimate;
extern const char *const profile_estimates[];
/* profile_estimate_of: the one that --estimate, which was given, names. */
ProfileEstimate profile_estimate_of(const Arguments *arguments);
/* profile_estimate_idle: An option that was given and means nothing to an estimate; NULL: none was. */
const char *profile_estimate_idle(const Arguments *arguments);
/* profile_estimate: What --estimate asks for; no model is looked at. Returns: an exit status. */
int profile_estimate(const Arguments *arguments);

/* TurnsPlace: with what passes are measured in turns, and where that is kept. */
typedef struct
{
    IfmRunner *runner;
    IfmStore *store;
    Progress *progress;
    gboolean resume;
} TurnsPlace;
/* profile_wants_turns: whether the mode tells how long backward takes. */
gboolean profile_wants_turns(const ProfilePlan *plan);
/* profile_measure_turns: Fills `turns` of the plan's target @at, or why there is none; nothing where one of the two passes
 * was not measured by itself. Returns: FALSE with @store_error where the store takes no more. */
gboolean profile_measure_turns(const ProfilePlan *plan, guint at, const TurnsPlace *place, GError **store_error);

/* LimitPlace: with what limits are measured, and where they are kept. */
typedef struct
{
    IfmRunner *runner;
    IfmStore *store;
    Progress *progress;
    gboolean new_limit; /* measure again what was measured before */
} LimitPlace;
/* profile_find_limit: Fills the target's limit, or why there is none. Returns: FALSE with @store_error where the store
 * takes no more. */
gboolean profile_find_limit(const ProfilePlan *plan, Target *target, const LimitPlace *place, GError **store_error);

G_END_DECLS
