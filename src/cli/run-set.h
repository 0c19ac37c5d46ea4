#pragma once
#include <inferometer/dataset.h>

#include "plan-ground.h"

G_BEGIN_DECLS

/* RunJob: one stream of batches: graphs in turn, each by its plan; what was predicted of it and what became of it. */
typedef struct
{
    char *title;
    GArray *graphs;       /* IfmPlanGraph */
    GArray *sizes;        /* IfmPlanSize, of the graphs; of one in parts, its largest part */
    GPtrArray *batches;   /* GArray* of IfmPlanSize: what each graph comes to as batches */
    GPtrArray *sources;   /* GArray* of gint64: of the same, all nodes, ghosts too */
    GPtrArray *plans;     /* IfmPlan*, of the graphs */
    GPtrArray *documents; /* json_t*, the same */
    GString *origins;     /* how they came about, each once */
    json_t *prediction;   /* or NULL */
    json_t *fallbacks;    /* or NULL */
    GPtrArray *simulated; /* IfmTrace* */
    IfmCase *sealed;
    IfmMeasurement *measurement;
    GPtrArray *recorded; /* IfmTrace* of the last repetition, or NULL */
    IfmTraceAnalysis *analysis;
    GError *error; /* where there is no measurement */
} RunJob;

/* RunSet: everything that one command line asks to be run, checked before anything is started. */
typedef struct
{
    PlanGround ground; /* its costs are NULL where no study was named */
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
    gint64 parts;     /* 1: graphs are whole */
    GPtrArray *texts; /* what graphs' kinds point to */
    GPtrArray *jobs;  /* RunJob* */
} RunSet;

/* run_set_init: Returns: an exit status; what is wrong was told. */
int run_set_init(RunSet *set, const Arguments *arguments);
void run_set_clear(RunSet *set);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RunSet, run_set_clear)

/* run_job_new: @title: (transfer full) */
RunJob *run_job_new(char *title);

/* --- run-graphs.c ----------------------------------------------------------------------------------------------------- */

/* run_set_add_stream: Graphs that share a stream do so by a table; else each has a run of its own. @title: (transfer full)
 */
gboolean run_set_add_stream(RunSet *set, char *title, const char *kind, const IfmPlanSize *size, GError **error);
/* run_set_add_streams: all graphs that are asked for. Returns: an exit status */
int run_set_add_streams(RunSet *set, const Arguments *arguments);
/* run_set_question: what is searched for a graph of a stream. */
IfmPlanQuestion run_set_question(const RunSet *set, const RunJob *job, guint graph);

/* --- run-plans.c ------------------------------------------------------------------------------------------------------ */

/* run_set_plan_for: (transfer full) the plan of a graph of a stream, however it comes. */
IfmPlan *run_set_plan_for(RunSet *set, RunJob *job, guint graph, GError **error);
/* run_set_entry_for: the entry for a size, of a file that holds several plans; else the one plan it holds. */
const json_t *run_set_entry_for(const RunSet *set, const IfmPlanSize *size, GError **error);
/* run_set_resolve: puts devices behind a plan's aliases, by the command line, else as the plan says, else as the study had
 * them. @name: what messages call the plan */
gboolean run_set_resolve(const RunSet *set, const Arguments *arguments, IfmPlan *plan, const char *name, GError **error);
/* run_set_name_of_plan: (transfer full) what messages call the plan of a size: its file, or how it came about. */
char *run_set_name_of_plan(const RunSet *set, const Arguments *arguments, const IfmPlanSize *size);
/* run_set_check_devices: whether every --device is of an alias that some plan has: another is a slip of the pen. Returns:
 * an exit status */
int run_set_check_devices(const RunSet *set, const Arguments *arguments);
/* run_set_note_substitutes: says which devices run by figures that the study measured of others. */
void run_set_note_substitutes(const RunSet *set);

/* --- run-predict.c, run-pilot.c, run-demo.c --------------------------------------------------------------------------- */

/* run_set_predict: (again) by the costs as they are now; nothing where there are none. */
gboolean run_set_predict(RunSet *set, const Arguments *arguments, RunJob *job, GError **error);

/* run_pilot: where --pilot asks for one and the run is of one graph and has costs: runs its plan for a short while, and
 * plans and predicts anew by what that showed. One that fails changes nothing and is told with the prediction. Returns:
 * FALSE with an error where it was interrupted.
 * @like: the run's case */
gboolean run_pilot(RunSet *set, const Arguments *arguments, RunJob *job, IfmRunner *runner, const IfmPlanCase *like,
                   GError **error);

/* run_demo_plan: a plan of MatMul stages over the devices that are here: three of them, two sharing a block. (transfer
 * full)
 * @size: (out) of its batches */
IfmPlan *run_demo_plan(IfmPlanSize *size);

G_END_DECLS
