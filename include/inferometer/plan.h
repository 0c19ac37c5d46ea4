#pragma once
#include <inferometer/dataset.h>
#include <inferometer/pipeline.h>
#include <inferometer/study.h>

IFM_BEGIN_DECLS

/* --- the cost model --------------------------------------------------------------------------------------------------- */

#define IFM_COST_MAX_STAGES 64

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

/** IfmCostDevice: @sizes: [n_sizes] of a static device. @splits: whether it takes part in data parallelism. Power in
 * W; NaN: unknown. */
typedef struct
{
    const char *alias, *device;
    IfmPlanForm form;
    const IfmPlanSize *sizes;
    gsize n_sizes;
    gboolean splits;
    double active_w, idle_w;
} IfmCostDevice;

/** IfmCostStatistic: one figure of latencies that differ from run to run. Pace and throughput follow the mean. */
typedef enum
{
    IFM_COST_MEDIAN,
    IFM_COST_MEAN,
    IFM_COST_P95,
} IfmCostStatistic;
#define IFM_COST_N_STATISTICS 3
/** ifm_cost_statistic_words: "median", "mean", "p95", NULL. */
const char *const *ifm_cost_statistic_words(void);

/** IfmCostPoint: a measured latency. @latency_ns: its median. @spread_ratio: half-width of the 95 % interval of a
 * prediction / latency; NaN: unknown. @samples_ns: [n_samples] the runs in order, which give the other statistics and
 * what a simulation draws from; copied. NULL: each run takes @latency_ns */
typedef struct
{
    gint64 nodes, edges;
    double latency_ns, spread_ratio;
    const double *samples_ns;
    gsize n_samples;
} IfmCostPoint;

IfmCosts *ifm_costs_new(const char *model, gsize n_stages);
void ifm_costs_free(IfmCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCosts, ifm_costs_free)
/** ifm_costs_add_device: Returns: its index; -1 with IFM_ERROR_INVALID for more than IFM_PLAN_MAX_DEVICES devices,
 * or for an alias that is there already. */
int ifm_costs_add_device(IfmCosts *costs, const IfmCostDevice *device, GError **error);
/** ifm_costs_set_points: Sets the latencies of stages @first to @last, fused, on a device while no other device is
 * busy.
 * @points: [n]    Returns: FALSE with IFM_ERROR_INVALID as ifm_lookup_new(). */
gboolean ifm_costs_set_points(IfmCosts *costs, int device, int first, int last, const IfmCostPoint *points, gsize n,
                              GError **error);
/** ifm_costs_forbid: A stage cannot run on a device. @why: the reason, one line; copied */
void ifm_costs_forbid(IfmCosts *costs, int device, int stage, const char *why);

gsize ifm_costs_n_devices(const IfmCosts *costs);
const IfmCostDevice *ifm_costs_device(const IfmCosts *costs, int device);
/** ifm_costs_find_device: Returns: its index; -1 if there is no such alias or @alias is NULL. */
int ifm_costs_find_device(const IfmCosts *costs, const char *alias);
/** ifm_costs_set_statistic: Which statistic the latency of one batch is (default: the median). Cycles and energy are of
 * means always. Not while another thread reads the costs. */
void ifm_costs_set_statistic(IfmCosts *costs, IfmCostStatistic statistic);
IfmCostStatistic ifm_costs_statistic(const IfmCosts *costs);
gsize ifm_costs_n_stages(const IfmCosts *costs);
/** ifm_costs_sizes: The smallest and the largest measured size, each of nodes and of edges. @max: (out) 0 without a
 * measurement */
void ifm_costs_sizes(const IfmCosts *costs, IfmPlanSize *min, IfmPlanSize *max);

/** IfmCostOrigin: where a latency comes from; of several parts the worst. */
typedef enum
{
    IFM_COST_MEASURED,
    IFM_COST_INTERPOLATED, /* between measured sizes: neighbours on both axes, or points all around */
    IFM_COST_SUMMED,       /* the sum of stages measured one by one: fusing them may save time */
    IFM_COST_EXTRAPOLATED, /* a guess: the measured sizes do not surround this one */
} IfmCostOrigin;
/** ifm_cost_origin_word: "measured", "interpolated", "summed", "extrapolated". */
const char *ifm_cost_origin_word(IfmCostOrigin origin);

/* --- what a plan costs ------------------------------------------------------------------------------------------------ */

/** IfmBlockCost: @handover_ns: copies to and from devices with memory of their own. @total_ns: from the start of
 * partition to the end of merge. Copies to a device overlap with the work of devices that began before. */
typedef struct
{
    double handover_ns, partition_ns, merge_ns, total_ns;
    double device_ns[IFM_PLAN_MAX_DEVICES]; /* in the order of the block's devices */
} IfmBlockCost;

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
/** ifm_plan_cost: Returns: FALSE with IFM_ERROR_INVALID if the plan is not one of this model, or with
 * IFM_ERROR_UNSUPPORTED "block 2: NPU: ...". */
gboolean ifm_plan_cost(const IfmCosts *costs, const IfmPlan *plan, double nodes, double edges, IfmPlanCost *cost,
                       GError **error);

/* --- the best plan ---------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_OBJECTIVE_LATENCY,
    IFM_OBJECTIVE_THROUGHPUT,
    IFM_OBJECTIVE_ENERGY,
} IfmObjective;
const char *const *ifm_objective_words(void);

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

typedef struct
{
    IfmPlan *plan; /* the answer: the single device unless the best plan is certainly better */
    IfmPlanCost cost;
    IfmPlan *best; /* the best of the whole space, regardless of the uncertainty */
    IfmPlanCost best_cost;
    IfmPlan *single; /* the best on one device; NULL if no device can run all stages */
    IfmPlanCost single_cost;
    IfmPlanForecast best_forecast, single_forecast; /* of ifm_plan_settle(); else all 0 */
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

/**
 * ifm_plan_search: The best plan, by branch and bound over contiguous ranges x sets of devices. Within a block the
 * shares are those that make its devices finish together, or the best of the grid.
 * Returns: FALSE with IFM_ERROR_UNSUPPORTED if no plan covers all stages (with the stage that no device can run, and
 * why), or with IFM_ERROR_UNAVAILABLE if energy is asked for and the power of a device is unknown.
 */
gboolean ifm_plan_search(const IfmCosts *costs, const IfmPlanQuestion *question, IfmPlanAnswer *answer, GError **error);
/** ifm_plan_pareto: The plans that no other plan beats in latency, cycle and, where known, energy. The ratios of a
 * block make its devices finish together, alone or in steady state. Returns: (transfer full) IfmPlanAnswer*, sorted
 * by latency. */
GPtrArray *ifm_plan_pareto(const IfmCosts *costs, const IfmPlanQuestion *question, GError **error);

/** IfmPlanCandidate: a plan of a question's space. @published: it is in the space of the published search
 * (docs/planning.md), at its shares */
typedef struct
{
    IfmPlan *plan;
    IfmPlanCost cost;
    gboolean published;
} IfmPlanCandidate;
void ifm_plan_candidate_free(IfmPlanCandidate *candidate);
/** ifm_plan_candidates: Every plan of the question's space, best first: each way to cut the stages and to give devices to
 * the blocks, and of a block of several devices the shares that finish together and those of the grid (without one: 0.3,
 * 0.5, 0.7). Returns: (transfer full) IfmPlanCandidate*; NULL with the errors of ifm_plan_search(), or with
 * IFM_ERROR_INVALID where there are more than 100,000. */
GPtrArray *ifm_plan_candidates(const IfmCosts *costs, const IfmPlanQuestion *question, GError **error);

/* --- simulating a plan ------------------------------------------------------------------------------------------------ */

typedef struct
{
    gsize n_batches;
    const IfmPlanSize *sizes; /* [n_sizes] of the batches, cyclically */
    gsize n_sizes;
    int queue_depth, block_depth; /* as in IfmPipelineOptions; 0: the defaults */
    const gint64 *sources;        /* [n_sizes] of parts of graphs: their nodes with ghosts; NULL: nodes */
} IfmSimulateOptions;

/* --- pilot runs before a prediction ----------------------------------------------------------------------------------- */

/**
 * IfmPilotOptions: of a pilot, a short run of a plan before its prediction. The prediction then rests on what these
 * devices do together today, and not only on tables that were measured earlier.
 * @like: graphs, sizes, depths, watchdog and seed of the run; the pilot sets plans, batches and repetitions itself
 * @sizes: [n_sizes] of its batches, cyclically
 * @keep_plan: corrects the costs for the given plan, and searches for no other
 * @resolve: sets the devices behind a plan's aliases, as the run will; returns FALSE with an error
 */
typedef struct
{
    IfmMeasureFunction measure;
    void *measure_user;
    const IfmPlanCase *like;
    const IfmPlanSize *sizes;
    gsize n_sizes;
    const gint64 *sources; /* as in IfmSimulateOptions */
    gint64 budget_ns;      /* for three rounds with warm-up and without compiling; at most twice as many are run */
    gboolean keep_plan;
    gboolean (*resolve)(IfmPlan *plan, void *user, GError **error);
    void *user;
} IfmPilotOptions;

/** IfmPilotRound: one plan, run in a few repetitions of @n_batches. Makespans are simulated and measured (the
 * median). @pace_ns: per batch in steady state. @spread_ratio: half the range of the makespans / their median.
 * @again: a plan of this shape was run before, and the simulation used what it showed. */
typedef struct
{
    IfmPlan *plan;
    gsize n_batches;
    double predicted_ns, measured_ns, pace_ns, spread_ratio;
    gboolean again;
} IfmPilotRound;

/**
 * ifm_plan_pilot: Runs @plan and corrects @costs: by the latencies of each of its devices (ifm_costs_correct()), by
 * partition and merge, and by the makespan beyond these. Earlier knowledge counts by its precision. Then it searches
 * again and repeats, for at most 5 rounds, until the search returns a plan that was run, with shares within 0.01. That
 * plan is run once more: the difference between two runs of one plan bounds the precision of a prediction
 * (ifm_pilot_drift_ratio()). If the tables leave open whether the best plan beats a single device, both are run before
 * the search decides.
 * @rounds: (out) (transfer full) IfmPilotRound; the first is the plan by the tables, the last is the returned one
 * Returns: (transfer full) the plan to run; after 5 rounds the fastest of those run. @costs stays corrected. NULL with
 * the error of a run or a search; the corrections are then removed.
 */
IfmPlan *ifm_plan_pilot(IfmCosts *costs, const IfmPlanQuestion *question, const IfmPlan *plan,
                        const IfmPilotOptions *options, GArray **rounds, GError **error);
/**
 * ifm_pilot_drift_ratio: How far a run may differ from its pilot because the machine changes in between, in addition to
 * the spread that the pilot showed: half a 95 % interval, as a ratio.
 * Equals: t(0.975; 4 + n) sqrt((4 x 0.05^2 + sum e^2) / (4 + n)), e = ln(measured / predicted) of the n rounds that are
 * @again. The prior is the error of nine runs with a pilot on a shared virtual machine, 5.0 % root mean square, counted
 * as four rounds.
 * @rounds: IfmPilotRound
 */
double ifm_pilot_drift_ratio(const GArray *rounds);

/* --- plans by size ---------------------------------------------------------------------------------------------------- */

/** IfmPlanTable: the best plan for each of many sizes. */
typedef struct IfmPlanTable IfmPlanTable;
typedef enum
{
    IFM_PLAN_EXACT,        /* a row of this size */
    IFM_PLAN_INTERPOLATED, /* the plan of the neighbours, with ratios between theirs */
    IFM_PLAN_CHOSEN,       /* of the neighbours' plans the one that costs least at this size */
    IFM_PLAN_SEARCHED,     /* the size is outside the table: the plan was searched now, and the table keeps it */
} IfmPlanOrigin;
const char *ifm_plan_origin_name(IfmPlanOrigin origin);

/** ifm_plan_table_new: Searches at each size. @question: its nodes and edges are ignored. */
IfmPlanTable *ifm_plan_table_new(const IfmCosts *costs, const IfmPlanQuestion *question, const IfmPlanSize *sizes, gsize n,
                                 GError **error);
void ifm_plan_table_free(IfmPlanTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmPlanTable, ifm_plan_table_free)
gsize ifm_plan_table_n(const IfmPlanTable *table);
/** ifm_plan_table_row: Returns: (borrowed) the plan of a row; NULL after the last. @cost: (out) (optional) borrowed */
const IfmPlan *ifm_plan_table_row(const IfmPlanTable *table, gsize index, IfmPlanSize *size, const IfmPlanCost **cost);
/** ifm_plan_table_find: A plan for a graph of any size. @costs: NULL: only EXACT and INTERPOLATED, else the plan of
 * the nearest row. (transfer full) */
IfmPlan *ifm_plan_table_find(IfmPlanTable *table, const IfmCosts *costs, double nodes, double edges, IfmPlanOrigin *origin,
                             GError **error);
/** ifm_plan_table_to_json: {"format": "plan-table", "format_version": 1, "objective", "model", "devices", "plans":
 * [{"nodes", "edges", "plan", "latency_ns", "cycle_ns", …}]}. (transfer full) */
json_t *ifm_plan_table_to_json(const IfmPlanTable *table);
IfmPlanTable *ifm_plan_table_from_json(const json_t *json, const char *name, GError **error);

/** ifm_plan_fallbacks: The best plan for each set of devices that remains when others are lost: {"1": plan, "3":
 * plan, …} by the mask of the lost ones, over @plan's devices. IfmReplan looks it up in a worker. (transfer full) */
json_t *ifm_plan_fallbacks(const IfmCosts *costs, const IfmPlan *plan, const IfmPlanQuestion *question, GError **error);

IFM_END_DECLS
