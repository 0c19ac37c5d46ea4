#pragma once
#include <inferometer/plan.h>
#include <measure/kinds.h>
#include <plan/plan.h>
#include <study/study.h>

/* What the files of this room share, each of them standing on those before it: run-job.c (the data), run-graphs.c (which
 * batches), run-plans.c (which plans, on which devices), run-predict.c, run-pilot.c, run-set.c, run-measure.c. */

/* RunJob: one stream of batches: graphs in turn, each by its plan; what was predicted of it and what became of it. */
typedef struct
{
    IfmRunSet *set;
    char *title;
    gboolean searched;    /* its plan, by the study */
    GArray *graphs;       /* IfmPlanGraph */
    GArray *sizes;        /* IfmPlanSize, of the graphs; of one in parts, its largest part */
    GPtrArray *batches;   /* GArray* of IfmPlanSize: what each graph comes to as batches */
    GPtrArray *sources;   /* GArray* of gint64: of the same, all nodes, ghosts too */
    GPtrArray *plans;     /* IfmPlan*, of the graphs */
    GPtrArray *documents; /* json_t*, the same */
    GString *origins;     /* how they came about, each once */
    double plan_spread;   /* of what was searched for, of a plan that was; NaN: unknown */
    json_t *prediction;   /* or NULL */
    json_t *fallbacks;    /* or NULL */
    GPtrArray *simulated; /* IfmTrace* */
    IfmCase *sealed;
    IfmMeasurement *measurement;
    GPtrArray *recorded; /* IfmTrace* of the last repetition, or NULL */
    IfmTraceAnalysis *analysis;
    GError *error; /* where there is no measurement */
} RunJob;

struct IfmRunSet
{
    IfmRunOptions options;
    IfmPlanContext context; /* its costs are NULL where no study was named */
    char *folder;
    IfmStore *store; /* the study's, or one of its own */
    gboolean owns_store;
    IfmStudyLock *lock; /* two that measure at the same time on the same devices measure each other */
    const IfmStagedModel *staged;
    IfmStageSizes sizes; /* features, hidden */
    json_t *given;       /* of the plan's file, or NULL */
    const char *given_name;
    IfmPlanTable *table; /* or NULL */
    const char *kind;    /* of random graphs */
    guint32 graph_seed;
    GPtrArray *texts; /* what graphs' kinds point to */
    GPtrArray *jobs;  /* RunJob* */
    GArray *runs;     /* IfmRunReport, of the jobs */
    /* on its way: */
    gsize n_begun;
    IfmPlanCase plan_case; /* of the run in hand, its plan tried */
    char *trace_path;      /* where its worker writes */
    IfmProgress now;
};

/* --- run-job.c -------------------------------------------------------------------------------------------------------- */

/* run_job_new: @title: (transfer full) */
RunJob *run_job_new(IfmRunSet *set, char *title);
void run_job_free(RunJob *job);
/* run_job_size: of a graph. */
const IfmPlanSize *run_job_size(const RunJob *job, guint graph);
/* run_job_stream: the batches of a graph, as a simulation has them. */
IfmSimulateOptions run_job_stream(const RunJob *job, guint graph);
/* run_set_list_runs: what ifm_run_set_runs() has: the jobs as they are now; borrowed from them. */
void run_set_list_runs(IfmRunSet *set);

/* --- run-graphs.c ----------------------------------------------------------------------------------------------------- */

/* run_set_add_stream: Graphs that share a stream do so by a table; else each has a run of its own. @title: (transfer full)
 */
gboolean run_set_add_stream(IfmRunSet *set, char *title, const char *kind, const IfmPlanSize *size, GError **error);
/* run_set_add_streams: all graphs that are asked for. */
gboolean run_set_add_streams(IfmRunSet *set, GError **error);
/* run_job_question: what is searched for a graph of a stream. */
IfmPlanQuestion run_job_question(const RunJob *job, guint graph);

/* --- run-plans.c ------------------------------------------------------------------------------------------------------ */

/* run_job_add_plan: Runs a graph by a plan, its devices resolved. @plan: (transfer full) (nullable) NULL: @error is set */
gboolean run_job_add_plan(RunJob *job, guint graph, IfmPlan *plan, GError **error);
/* run_job_plan_for: (transfer full) the plan of a graph of a stream, however it comes. */
IfmPlan *run_job_plan_for(RunJob *job, guint graph, GError **error);
/* run_plan_uses: Whether a block has the device, by its index in the plan's list. */
gboolean run_plan_uses(const IfmPlan *plan, int device);
/* run_plan_file_size: the size that an entry of a plan's file was made for, the @index-th; 0, 0: none. */
IfmPlanSize run_plan_file_size(const json_t *entry, gsize index);
/* run_set_entry_for: the entry for a size, of a file that holds several plans; else the one plan it holds. */
const json_t *run_set_entry_for(const IfmRunSet *set, const IfmPlanSize *size, GError **error);
/* run_set_resolve: puts devices behind a plan's aliases, by the options, else as the plan says, else as the study had them.
 * @name: what messages call the plan */
gboolean run_set_resolve(const IfmRunSet *set, IfmPlan *plan, const char *name, GError **error);
/* run_job_name_of_plan: (transfer full) what messages call the plan of a graph: its file, or how it came about. */
char *run_job_name_of_plan(const RunJob *job, guint graph);
/* run_set_check_devices: whether every device of the options is of an alias that some plan has: another is a slip. */
gboolean run_set_check_devices(const IfmRunSet *set, GError **error);
/* run_set_note_substitutes: says which devices run by figures that the study measured of others. */
void run_set_note_substitutes(const IfmRunSet *set);

/* --- run-predict.c, run-pilot.c, run-demo.c --------------------------------------------------------------------------- */

/* run_job_predict: (again) by the costs as they are now; nothing where there are none. */
gboolean run_job_predict(RunJob *job, GError **error);
/* run_job_take_plan: Runs by another plan, predicted anew. @plan: (transfer full) */
gboolean run_job_take_plan(RunJob *job, IfmPlan *plan, GError **error);
/* run_job_replan_missing: Where it is asked for, plans without unavailable devices. The reasons stand in the
 * plan's origin. */
gboolean run_job_replan_missing(RunJob *job, IfmRunner *runner, GError **error);

/* run_pilot_budget_ns: of the pilot of a run; 0: none. */
gint64 run_pilot_budget_ns(const RunJob *job);
/* run_pilot: where a pilot is asked for and the run is of one graph and has costs: runs its plan for a short while, and
 * plans and predicts anew by what that showed. One that fails changes nothing and is reported with the prediction. Returns:
 * FALSE with an error where it was interrupted.
 * @like: the run's case */
gboolean run_pilot(RunJob *job, IfmCampaign *campaign, const IfmPlanCase *like, GError **error);

/* run_demo_plan: a plan of MatMul stages over the devices that are here: three of them, two sharing a block. (transfer
 * full)
 * @size: (out) of its batches */
IfmPlan *run_demo_plan(IfmPlanSize *size);
