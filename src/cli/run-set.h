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

/* run_set_resolve: puts devices behind a plan's aliases, by the command line, else as the plan says, else as the study had
 * them. @name: what messages call the plan */
gboolean run_set_resolve(const RunSet *set, const Arguments *arguments, IfmPlan *plan, const char *name, GError **error);
/* run_set_name_of_plans: whose plans they are: a file's, or the study's own. */
const char *run_set_name_of_plans(const RunSet *set, const Arguments *arguments);
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
