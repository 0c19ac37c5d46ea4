/* room: plan */
#pragma once
#include <inferometer/options.h>
#include <inferometer/plan.h>
#include <inferometer/study-place.h>

IFM_BEGIN_DECLS

/* Planning as a capability: a question in, plans with their predictions out. plan.h has what it is made of. */

/** IFM_PLAN_STUDY: the study whose results are planned by where none is named. */
#define IFM_PLAN_STUDY "gnn-plan"

/* --- what is asked for ------------------------------------------------------------------------------------------------ */

/** IfmPlanSearchOptions: which plans are looked for. */
typedef struct
{
    int objective;     /* IfmObjective; unset: throughput */
    int by;            /* IfmCostStatistic of the latency of one batch; unset: the median */
    const char *grid;  /* "0.3,0.5,0.7" */
    gint64 max_blocks; /* unset: any number */
    gboolean no_npu_split;
    gboolean implausible;       /* plan also by latencies that those of other sizes contradict */
    const char *const *use;     /* aliases; NULL: all that have latencies */
    const char *const *without; /* aliases */
    const char *const *power;   /* "ALIAS=WATTS" or "ALIAS=WATTS,IDLE" */
} IfmPlanSearchOptions;
extern const IfmOption ifm_plan_search_options[];

/** IfmPlanOptions: plans at some sizes, by what a study measured. */
typedef struct
{
    const char *study;  /* as ifm_study_place_find() has it; NULL: IFM_PLAN_STUDY. No option: the command's argument */
    const char *output; /* the folder of its results; NULL: where they usually are */
    const char *const *sizes; /* "NODES,EDGES"; NULL: every size of the study */
    IfmPlanSearchOptions search;
    gboolean pareto;     /* also every plan that no other beats */
    gboolean candidates; /* also every plan of the space. No option: asked for by the file that takes them */
    gint64 batches;      /* to simulate */
    const char *compare; /* a file with a plan to compare with the best */
} IfmPlanOptions;
extern const IfmOption ifm_plan_options[];

/* --- what plans are searched over ---------------------------------------------------------------------------------------
 */

/** IfmPlanContext: a study's tables as costs, and the question. */
typedef struct
{
    IfmStudyPlace place;
    IfmStore *store;
    IfmStudyTables *tables;
    IfmCosts *costs;
    GArray *sizes; /* IfmPlanSize: those asked for, or all of the study */
    GArray *grid;  /* double */
    IfmPlanQuestion question;
} IfmPlanContext;

/** ifm_plan_size_title: "5000 nodes, 10000 edges" (transfer full) */
char *ifm_plan_size_title(const IfmPlanSize *size);

/* --- what a plan is expected to do --------------------------------------------------------------------------------------
 */

/** ifm_plan_predict: Costs a plan at the first size and simulates it: docs/formats.md, with "together", the rates of its
 * devices on whole batches of their own while all work. @trace: (out) (optional) (transfer full) of the simulation.
 * Returns: (transfer full) NULL with an error */
json_t *ifm_plan_predict(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options, IfmTrace **trace,
                         GError **error);

/** ifm_plan_foresee: Simulates a stream of a plan, as ifm_plan_predict() does. */
gboolean ifm_plan_foresee(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options,
                          IfmPlanForecast *forecast, GError **error);

/** ifm_plan_settle: Foresees the best plan and the best single device of a search, and, for throughput, chooses between
 * them by that: so the answer, its gain and what is predicted of it follow from one simulation. */
gboolean ifm_plan_settle(const IfmCosts *costs, IfmObjective objective, const IfmSimulateOptions *options,
                         IfmPlanAnswer *answer, GError **error);

/* --- planning -----------------------------------------------------------------------------------------------------------
 */

/** IfmPlanned: what was found at one size. */
typedef struct
{
    IfmPlanSize size;
    IfmPlanAnswer answer;
    json_t *prediction;
    IfmTrace *trace;       /* of the simulation */
    GPtrArray *pareto;     /* IfmPlanAnswer*, or NULL */
    GPtrArray *candidates; /* IfmPlanCandidate*, or NULL */
    IfmPlan *other;        /* the one to compare with, or NULL */
    IfmPlanCost other_cost;
    IfmPlanForecast other_forecast;
} IfmPlanned;

typedef struct
{
    IfmPlanContext context;
    GPtrArray *planned; /* IfmPlanned*, by size */
} IfmPlanResult;
void ifm_plan_result_clear(IfmPlanResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanResult, ifm_plan_result_clear)

/**
 * ifm_plan_study: Searches a plan at each size and predicts it.
 * @result: (out) zeroed before; wants clearing whatever is returned
 * Returns: FALSE with the errors of ifm_options_check() and ifm_plan_context_init(), or IFM_ERROR_INVALID "STORE: SIZE:
 * why" where no plan covers all stages.
 */
gboolean ifm_plan_study(const IfmPlanOptions *options, IfmPlanResult *result, GError **error);

/** IfmPlanReport: what was found at one size. All borrowed. @prediction: of answer->plan, or NULL. @other: a plan that was
 * given to be compared, with its cost; or NULL. @pareto: IfmPlanAnswer*, of ifm_plan_pareto(); or NULL */
typedef struct
{
    const char *model;
    gint64 nodes, edges;
    IfmObjective objective;
    const IfmCosts *costs;
    const IfmPlanAnswer *answer;
    const json_t *prediction;
    const IfmPlan *other;
    const IfmPlanCost *other_cost;
    const IfmPlanForecast *other_forecast;
    const GPtrArray *pareto;
} IfmPlanReport;

/** ifm_plan_answer_to_json: ifm_plan_to_json() of the plan with "sizes", "objective", "cost", "certificate", "best",
 * "single", "prediction" next to it; ifm_plan_from_json() reads it. (transfer full) */
json_t *ifm_plan_answer_to_json(const IfmPlanReport *report);
/** ifm_plan_report: of one of a result's sizes. */
IfmPlanReport ifm_plan_report(const IfmPlanResult *result, const IfmPlanned *planned);
/** ifm_plan_candidates_to_csv: a row a candidate of each size. (transfer full) */
char *ifm_plan_candidates_to_csv(const IfmPlanResult *result);
/** ifm_plan_result_to_json: The plan with "features", "hidden" and, where it was asked for, "pareto" next to what
 * ifm_plan_answer_to_json() has; several as {"format": "plans", "plans": [...]}. (transfer full) */
json_t *ifm_plan_result_to_json(const IfmPlanResult *result);

IFM_END_DECLS
