/* Plans that spread a model over devices: found, predicted, run and judged. */
#pragma once
#include <jansson.h>

#include <inferometer/study.h>
#include <inferometer/trace.h>

IFM_BEGIN_DECLS

/* --- the plan ------------------------------------------------------------------------------------------------------ */

typedef struct
{
    gint64 nodes, edges;
} IfmPlanSize;

/** IfmPlan: blocks in the order of their stages. Every stage is in one block, every device in at most one, under one
 * alias. */
typedef struct
{
    char *model;        /* name of the staged model */
    GPtrArray *devices; /* IfmPlanDevice* */
    GArray *blocks;     /* IfmPlanBlock */
} IfmPlan;

void ifm_plan_free(IfmPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmPlan, ifm_plan_free)

/** ifm_plan_to_text: "CPU+GPU 1-3 (0.50 : 0.50) > NPU 4-7". (transfer full) */
char *ifm_plan_to_text(const IfmPlan *plan);

/* --- the cost model ------------------------------------------------------------------------------------------------ */

/**
 * IfmCosts: a cost model. It knows the latency of any range of stages on any device at any size, alone and under load,
 * and what partition, merge and hand-over take. Built once, then immutable: threads may share it. docs/planning.md.
 *
 * The latency of the range first..last on a device at (nodes, edges), while other devices are busy, is
 *    the lookup of that range, if it was measured fused; else the sum over the fewest measured ranges that make it up
 *    x slow-down(range, device, the other busy devices)
 * A device with static models takes the size of ifm_plan_static_size(). Its part is padded to that size, which is a
 * copy.
 */
typedef struct IfmCosts IfmCosts;

/** IfmCostOrigin: where a latency comes from; of several parts the worst. */
typedef enum
{
    IFM_COST_MEASURED,
    IFM_COST_INTERPOLATED, /* between measured sizes: neighbours on both axes, or points all around */
    IFM_COST_SUMMED,       /* the sum of stages measured one by one: fusing them may save time */
    IFM_COST_EXTRAPOLATED, /* a guess: the measured sizes do not surround this one */
} IfmCostOrigin;

/* --- what a plan costs --------------------------------------------------------------------------------------------- */

/** IfmPlanCost: @latency_ns: of one batch alone: the sum over blocks, each with its own devices busy, in the statistic
 * of the costs. @cycle_ns: 1 / throughput while all of the plan's devices are busy: the longest mean device time of a
 * block, divided by the device's streams, or the longest work of a block's own thread (hand-over, partition, merge).
 * @spread_ratio: of each. @bottleneck_block: from 1 */
typedef struct
{
    double latency_ns, latency_spread_ratio;
    double cycle_ns, cycle_spread_ratio;
    double energy_j; /* of a batch in steady state; NaN if the power of a device is unknown */
    IfmCostOrigin origin;
    gboolean busy_known;
    gboolean summed; /* of ranges measured apart: fusing may change it, and the spreads hold that or are unknown */
    double fused_least_ratio, fused_most_ratio; /* of the devices summed on: ranges measured as one / the sums of their
                                                   stages; NaN: none was measured */
    int bottleneck_block;
    GArray *alone;  /* IfmBlockCost: of one batch alone */
    GArray *steady; /* IfmBlockCost: in steady state */
} IfmPlanCost;
void ifm_plan_cost_clear(IfmPlanCost *cost);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanCost, ifm_plan_cost_clear)

/* --- the best plan ------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_OBJECTIVE_LATENCY,
    IFM_OBJECTIVE_THROUGHPUT,
    IFM_OBJECTIVE_ENERGY,
} IfmObjective;

typedef struct
{
    IfmObjective objective;
    double nodes, edges;
    double sources;     /* of a part of a graph: its nodes with ghosts, as in ifm_plan_cost_with_sources(); 0: nodes */
    const double *grid; /* [n_grid] the shares that a device may have, as in the published search; NULL: any */
    gsize n_grid;
    int max_blocks;      /* 0: no maximum */
    guint32 without;     /* devices not to use */
    guint32 no_split;    /* devices that take no part in data parallelism */
    gint64 most_visited; /* maximum number of nodes of the search; 0: 50 million */
} IfmPlanQuestion;

/** IfmPlanForecast: what a stream comes to by simulation: @cycle_ns: makespan / batches, 1 / throughput. @spread_ratio: of
 * it. NaN: not known */
typedef struct
{
    double cycle_ns, spread_ratio;
} IfmPlanForecast;

/** IfmPlanChoice: a plan that was found or given, and what it is expected to do. @published: of the candidates: it is in
 * the space of the published search (docs/planning.md), at its shares */
typedef struct
{
    IfmPlan *plan;
    IfmPlanCost cost;
    IfmPlanForecast forecast; /* of ifm_plan_settle(); else all 0 */
    gboolean published;
} IfmPlanChoice;
void ifm_plan_choice_clear(IfmPlanChoice *choice);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanChoice, ifm_plan_choice_clear)

typedef struct
{
    IfmPlan *plan; /* the answer: the single device unless the best plan is certainly better */
    IfmPlanCost cost;
    IfmPlanChoice best;          /* of the whole space, regardless of the uncertainty */
    IfmPlanChoice single;        /* the best on one device; its plan is NULL if no device can run all stages */
    gboolean within_uncertainty; /* the gain of best over single is within the uncertainty of both, as far as it is known */
    gboolean spread_unknown;     /* the uncertainty of one of them is unknown, and so is how certain the gain is */
    gboolean optimal;            /* best is optimal under this cost model; else: */
    double lower_bound, gap_ratio; /* of the objective (ns or J); gap = value / bound - 1 */
    gint64 n_ranges, n_subsets;    /* contiguous ranges; sets of devices */
    gint64 n_ranges_known;         /* ranges that some device can run, made of what was measured */
    double n_structures;           /* plans, ratios apart: the size of the space; exact below 2^53 */
    gint64 n_visited, n_pruned;    /* nodes of the search */
} IfmPlanAnswer;
void ifm_plan_answer_clear(IfmPlanAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanAnswer, ifm_plan_answer_clear)

/* --- plans by size ------------------------------------------------------------------------------------------------- */

/** IfmPlanTable: the best plan for each of many sizes. */
typedef struct IfmPlanTable IfmPlanTable;

/** ifm_plan_table_new: Searches at each size. @question: its nodes and edges are ignored. */
IfmPlanTable *ifm_plan_table_new(const IfmCosts *costs, const IfmPlanQuestion *question, const IfmPlanSize *sizes, gsize n,
                                 GError **error);
void ifm_plan_table_free(IfmPlanTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmPlanTable, ifm_plan_table_free)

/** ifm_plan_table_to_json: {"format": "plan-table", "format_version": 1, "objective", "model", "devices", "plans":
 * [{"nodes", "edges", "plan", "latency_ns", "cycle_ns", …}]}. (transfer full) */
json_t *ifm_plan_table_to_json(const IfmPlanTable *table);

/* --- planning ------------------------------------------------------------------------------------------------------ */

/* Planning as a capability: a question in, plans with their predictions out. plan.h has what it is made of. */

/** IFM_PLAN_STUDY: the study whose results are planned by where none is named. */
#define IFM_PLAN_STUDY "gnn-plan"

/* --- what is asked for --------------------------------------------------------------------------------------------- */

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

/* --- what plans are searched over ---------------------------------------------------------------------------------- */

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

/** IfmPlanned: what was found at one size. */
typedef struct
{
    IfmPlanSize size;
    IfmPlanAnswer answer;
    json_t *prediction;    /* of the answer's plan, or NULL */
    IfmTrace *trace;       /* of the simulation */
    GPtrArray *pareto;     /* IfmPlanChoice*, or NULL */
    GPtrArray *front;      /* the same, whether asked for or not; NULL: too many structures to look at unasked */
    GPtrArray *candidates; /* IfmPlanChoice*, or NULL */
    IfmPlanChoice other;   /* the one to compare with; its plan is NULL where there is none */
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

/** IfmPlanReport: what was found at one size. All borrowed. @folder: of the study's results, @tables:
 * theirs; NULL: not known. @no_figures: they are those of another size; @of_several: the page is of several sizes:
 * ifm_plan_choose_figures() */
typedef struct
{
    const char *model;
    IfmObjective objective;
    const IfmCosts *costs;
    const IfmPlanned *planned;
    const char *folder;
    const IfmStudyTables *tables;
    gboolean no_figures, of_several;
} IfmPlanReport;

/** ifm_plan_report: of one of a result's sizes. */
IfmPlanReport ifm_plan_report(const IfmPlanResult *result, const IfmPlanned *planned);

/** ifm_plan_choose_figures: Of several sizes on one page each plan is drawn once, and so many plans at most that the page
 * stays small. @reports: [n], whose no_figures and of_several it sets */
void ifm_plan_choose_figures(IfmPlanReport *reports, gsize n);

/** ifm_plan_candidates_to_csv: a row a candidate of each size. (transfer full) */
char *ifm_plan_candidates_to_csv(const IfmPlanResult *result);

/** ifm_plan_result_to_json: The plan with "features", "hidden" and, where it was asked for, "pareto" next to what
 * ifm_plan_answer_to_json() has; several as {"format": "plans", "plans": [...]}. (transfer full) */
json_t *ifm_plan_result_to_json(const IfmPlanResult *result);

/** IfmRunOptions: what to run, and how. */
typedef struct
{
    /* whose measurements to plan and to predict by, as ifm_study_place_find() has it; NULL: IFM_PLAN_STUDY where a plan has
     * to be searched, else none. No option: the command's argument */
    const char *study;
    const char *plan;          /* a file with a plan, "-": standard input; NULL: searched */
    const char *table;         /* a file with plans by size: all graphs are one stream, each by its own plan */
    gboolean demo;             /* a pipeline of matrix products on the devices that are here */
    const char *const *sizes;  /* "NODES,EDGES" */
    const char *const *graphs; /* files; NULL both: the plan's sizes or the study's */
    gint64 parts;              /* of each graph; 1: whole */
    gint64 batches, repetitions;
    double ci_ratio;       /* of the throughput; unset: @repetitions are run, all of them */
    gint64 time_budget_ns; /* with @ci_ratio */
    gint64 queue_depth, block_depth;
    const char *device_time; /* "on", "off", "sampled" */
    gboolean verify, bound;
    gint64 pilot_ns; /* unset: IFM_RUN_USUAL_PILOT_NS where the study does not tell plans apart, else none */
    int on_failure;  /* IfmRunFailure */
    gint64 watchdog_ns;
    IfmPlanSearchOptions search;
    const char *const *devices; /* "ALIAS=DEVICE" */
    const char *model;
    gint64 features, hidden, seed;
    const char *output; /* the folder of the store */
    gboolean resume;    /* runs and pilots that the store holds are not measured again */
    /* Not in the table. note: what is no error and worth a line. */
    void (*note)(const char *line, void *user);
    void (*progress)(const IfmProgress *progress, void *user);
    void *user;
} IfmRunOptions;
extern const IfmOption ifm_run_options[];

/** ifm_run_options_check: ifm_options_check(), and what no row by itself can say. FALSE with IFM_ERROR_USAGE. */
gboolean ifm_run_options_check(const IfmRunOptions *options, GError **error);

/* --- what came of it ----------------------------------------------------------------------------------------------- */

/** IfmRunReport: a plan's run and its prediction. All borrowed. @title: "5000 nodes, 10000 edges". @prediction,
 * @trace and @analysis (of the last repetition): or NULL. @code, @reason: where there is no measurement */
typedef struct
{
    const char *title;
    const char *origin; /* how the plan came about, or NULL */
    const IfmPlan *plan;
    const json_t *prediction;
    const IfmCase *subject_case;
    const IfmMeasurement *measurement;
    const IfmTrace *trace;
    const IfmTraceAnalysis *analysis;
    const char *code, *reason;
    const GPtrArray *simulated; /* IfmTrace* of its simulation, one a plan; or NULL */
    const GPtrArray *recorded;  /* IfmTrace* of the run, as far as it came; or NULL */
} IfmRunReport;

/** IfmRunSet: streams of batches, each with its plan, its prediction and what became of it. */
typedef struct IfmRunSet IfmRunSet;

/**
 * ifm_run_set_new: Everything but the run itself: reads what is named, opens the store, searches plans, puts devices behind
 * their aliases, predicts. @options is not needed afterwards, what it points to is.
 * Returns: (transfer full) NULL with IFM_ERROR_USAGE (options that are wrong or do not go together), IFM_ERROR_INVALID (a
 * plan, a graph, a study, a device's spec; no plan covers all stages), IFM_ERROR_UNAVAILABLE (nothing was measured, a file
 * is not there, another process measures in that folder).
 */
IfmRunSet *ifm_run_set_new(const IfmRunOptions *options, GError **error);
void ifm_run_set_free(IfmRunSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmRunSet, ifm_run_set_free)

/**
 * ifm_run_set_measure: Runs one after the other and commits each. A failure is reported with its run; the others go on.
 * @interrupted: (nullable) set to 1 by a signal handler or another thread: no further run begins
 * Returns: FALSE with an error where the store takes no more; what was run until then stands.
 */
gboolean ifm_run_set_measure(IfmRunSet *set, const gint *interrupted, GError **error);

/** ifm_run_set_runs: (transfer none) [*@n] (@n: optional) before and after measuring, in order. A run that was not tried
 * has neither measurement nor code. */
const IfmRunReport *ifm_run_set_runs(const IfmRunSet *set, gsize *n);

/** ifm_run_set_store_path: the store that has predictions and measurements. */
const char *ifm_run_set_store_path(const IfmRunSet *set);

/* --- predicted and measured ---------------------------------------------------------------------------------------- */

/** ifm_run_has_figures: whether a repetition came to its end: else there is only the reason. */
gboolean ifm_run_has_figures(const IfmRunReport *run);

/* --- plans and runs ------------------------------------------------------------------------------------------------ */

/** ifm_run_to_json: {"inferometer": {…, "format": "runs"}, "runs": [{"title", "plan", "prediction", "figures", "case",
 * "measurement", "trace"}]} (transfer full) */
json_t *ifm_run_to_json(const IfmRunReport *reports, gsize n);

/** ifm_run_batches_to_csv: A row a run and batch: the time in each block, the cycle, its bottleneck. (transfer full) */
char *ifm_run_batches_to_csv(const IfmRunReport *reports, gsize n);

/* --- the documents of results -------------------------------------------------------------------------------------- */

/** ifm_plan_document: (transfer full) borrows all of @report. The plan, block by block; the best single device next to it;
 * what was searched and how sure it is; the plans that no other beats, where @report has them. */
IfmDocument *ifm_plan_document(const IfmPlanReport *report);

/** ifm_plans_document: (transfer full) of plans at several sizes: the gain at each. @reports: [n] n > 0 */
IfmDocument *ifm_plans_document(const IfmPlanReport *reports, gsize n);

/** ifm_run_document: (transfer full) borrows all of @reports. Each run, and where there are several all of them in one
 * table at the end. @reports: [n] */
IfmDocument *ifm_run_document(const IfmRunReport *reports, gsize n);

IFM_END_DECLS
