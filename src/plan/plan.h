/* Shared with other rooms: costs, search, prediction and pilots. */
#pragma once
#include <jansson.h>

#include <measure/kinds.h>
#include <pipeline/pipeline.h>

G_BEGIN_DECLS

/* --- the cost model ------------------------------------------------------------------------------------------------ */

#define IFM_COST_MAX_STAGES 64

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
gsize ifm_costs_n_stages(const IfmCosts *costs);

/** ifm_costs_sizes: The smallest and the largest measured size, each of nodes and of edges. @max: (out) 0 without a
 * measurement */
void ifm_costs_sizes(const IfmCosts *costs, IfmPlanSize *min, IfmPlanSize *max);

/** ifm_cost_origin_word: "measured", "interpolated", "summed", "extrapolated". */
const char *ifm_cost_origin_word(IfmCostOrigin origin);

/* --- what a plan costs --------------------------------------------------------------------------------------------- */

/** IfmBlockCost: @handover_ns: copies to and from devices with memory of their own. @total_ns: from the start of
 * partition to the end of merge. Copies to a device overlap with the work of devices that began before. */
typedef struct
{
    double handover_ns, partition_ns, merge_ns, total_ns;
    double device_ns[IFM_PLAN_MAX_DEVICES]; /* in the order of the block's devices */
} IfmBlockCost;

/** ifm_plan_cost: Returns: FALSE with IFM_ERROR_INVALID if the plan is not one of this model, or with
 * IFM_ERROR_UNSUPPORTED "block 2: NPU: ...". */
gboolean ifm_plan_cost(const IfmCosts *costs, const IfmPlan *plan, double nodes, double edges, IfmPlanCost *cost,
                       GError **error);

/* --- the best plan ------------------------------------------------------------------------------------------------- */

const char *const *ifm_objective_words(void);

/**
 * ifm_plan_search: The best plan, by branch and bound over contiguous ranges x sets of devices. Within a block the
 * shares are those that make its devices finish together, or the best of the grid.
 * Returns: FALSE with IFM_ERROR_UNSUPPORTED if no plan covers all stages (with the stage that no device can run, and
 * why), or with IFM_ERROR_UNAVAILABLE if energy is asked for and the power of a device is unknown.
 */
gboolean ifm_plan_search(const IfmCosts *costs, const IfmPlanQuestion *question, IfmPlanAnswer *answer, GError **error);

/** ifm_plan_pareto: The plans that no other plan beats in latency, cycle and, where known, energy. The ratios of a
 * block make its devices finish together, alone or in steady state. Returns: (transfer full) IfmPlanChoice*, sorted
 * by latency; NULL with the errors of ifm_plan_search(). @complete: (out) (optional) whether all were looked at */
GPtrArray *ifm_plan_pareto(const IfmCosts *costs, const IfmPlanQuestion *question, gboolean *complete, GError **error);

/** ifm_plan_candidates: Every plan of the question's space, best first: each way to cut the stages and to give devices to
 * the blocks, and of a block of several devices the shares that finish together and those of the grid (without one: 0.3,
 * 0.5, 0.7). Returns: (transfer full) IfmPlanChoice*; NULL with the errors of ifm_plan_search(), or with
 * IFM_ERROR_INVALID where there are more than 100,000. */
GPtrArray *ifm_plan_candidates(const IfmCosts *costs, const IfmPlanQuestion *question, GError **error);

/* --- simulating a plan --------------------------------------------------------------------------------------------- */

typedef struct
{
    gsize n_batches;
    const IfmPlanSize *sizes; /* [n_sizes] of the batches, cyclically */
    gsize n_sizes;
    int queue_depth, block_depth; /* as in IfmPipelineOptions; 0: the defaults */
    const gint64 *sources;        /* [n_sizes] of parts of graphs: their nodes with ghosts; NULL: nodes */
} IfmSimulateOptions;

/* --- pilot runs before a prediction -------------------------------------------------------------------------------- */

/**
 * IfmPilotOptions: of a pilot, a short run of a plan before its prediction. The prediction then rests on what these
 * devices do together today, and not only on tables that were measured earlier.
 * @like: graphs, sizes, depths, watchdog and seed of the run; the pilot sets plans, batches and repetitions itself
 * @stream: its batches, as a simulation has them, but for their number
 * @keep_plan: corrects the costs for the given plan, and searches for no other
 * @resolve: sets the devices behind a plan's aliases, as the run will; returns FALSE with an error
 */
typedef struct
{
    IfmMeasureFunction measure;
    void *measure_user;
    const IfmPlanCase *like;
    IfmSimulateOptions stream;
    gint64 budget_ns; /* for three rounds with warm-up and without compiling; at most twice as many are run */
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

/* --- plans by size ------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_PLAN_EXACT,        /* a row of this size */
    IFM_PLAN_INTERPOLATED, /* the plan of the neighbours, with ratios between theirs */
    IFM_PLAN_CHOSEN,       /* of the neighbours' plans the one that costs least at this size */
    IFM_PLAN_SEARCHED,     /* the size is outside the table: the plan was searched now, and the table keeps it */
} IfmPlanOrigin;
const char *ifm_plan_origin_name(IfmPlanOrigin origin);

gsize ifm_plan_table_n(const IfmPlanTable *table);

/** ifm_plan_table_row: Returns: (borrowed) the plan of a row; NULL after the last. @cost: (out) (optional) borrowed */
const IfmPlan *ifm_plan_table_row(const IfmPlanTable *table, gsize index, IfmPlanSize *size, const IfmPlanCost **cost);

/** ifm_plan_table_find: A plan for a graph of any size. @costs: NULL: only EXACT and INTERPOLATED, else the plan of
 * the nearest row. (transfer full) */
IfmPlan *ifm_plan_table_find(IfmPlanTable *table, const IfmCosts *costs, double nodes, double edges, IfmPlanOrigin *origin,
                             GError **error);

IfmPlanTable *ifm_plan_table_from_json(const json_t *json, const char *name, GError **error);

/** ifm_plan_fallbacks: The best plan for each set of devices that remains when others are lost: {"1": plan, "3":
 * plan, …} by the mask of the lost ones, over @plan's devices. IfmReplan looks it up in a worker. (transfer full) */
json_t *ifm_plan_fallbacks(const IfmCosts *costs, const IfmPlan *plan, const IfmPlanQuestion *question, GError **error);

/* --- costs --------------------------------------------------------------------------------------------------------- */

/** ifm_costs_forget_corrections: Removes all corrections: the tables hold again. */
void ifm_costs_forget_corrections(IfmCosts *costs);

/** ifm_costs_why_sparse: Why the measurements of a device give no latency at a size: there is one size alone, or all
 * have one number of nodes, and the size has another. Returns: (transfer full) one line; NULL if they do give one. */
char *ifm_costs_why_sparse(const IfmCosts *costs, int device, double nodes, double edges);

/** ifm_costs_n_implausible: how many latencies of the tables are left out, since those of other sizes contradict them. */
gsize ifm_costs_n_implausible(const IfmCosts *costs);

/** ifm_costs_why_never: why a stage is not for a device, whatever range it is in; NULL where some range with it is. */
const char *ifm_costs_why_never(const IfmCosts *costs, int device, int stage);

/* --- the planning context ------------------------------------------------------------------------------------------ */

/**
 * ifm_plan_context_init: Reads the options, then the results.
 * @study, @folder, @sizes: as of IfmPlanOptions
 * Returns: FALSE with IFM_ERROR_USAGE, IFM_ERROR_INVALID (a device that nothing was measured of) or IFM_ERROR_UNAVAILABLE
 * (nothing was measured); whatever it returns, the context wants clearing.
 */
gboolean ifm_plan_context_init(IfmPlanContext *context, const char *study, const char *folder, const char *const *sizes,
                               const IfmPlanSearchOptions *search, IfmStoreMode mode, GError **error);
void ifm_plan_context_clear(IfmPlanContext *context);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanContext, ifm_plan_context_clear)

/** ifm_plan_context_measure_host: What partition and merge cost on this machine, at the context's sizes; nothing where all
 * devices are simulated, whose clock does not run meanwhile. */
gboolean ifm_plan_context_measure_host(IfmPlanContext *context, GError **error);

/** ifm_plan_context_question: the question at a size. */
IfmPlanQuestion ifm_plan_context_question(const IfmPlanContext *context, gint64 nodes, gint64 edges);

/** ifm_plan_parse_sizes: "NODES,EDGES" of --size. @texts: NULL-terminated, or NULL. @sizes: (out) IfmPlanSize, appended.
 * Returns: FALSE with IFM_ERROR_USAGE. */
gboolean ifm_plan_parse_sizes(const char *const *texts, GArray *sizes, GError **error);

/** ifm_plan_blame_input: Where no plan covers all stages (IFM_ERROR_UNSUPPORTED), it is the input that is wrong. */
void ifm_plan_blame_input(GError **error);

/* --- predictions and runs ------------------------------------------------------------------------------------------ */

/** ifm_prediction_add: One stream, run plan after plan: its makespan is the sum of theirs. @total: an object, empty at
 * first    @part: (transfer full) of ifm_plan_predict() */
void ifm_prediction_add(json_t *total, json_t *part);

/** ifm_plan_name_stream: A trace of a run or simulation says which stream of batches it is of, so that ifm_trace_diff()
 * finds its like. */
void ifm_plan_name_stream(IfmTrace *trace, const char *stream);

/* --- what is asked for --------------------------------------------------------------------------------------------- */

extern const IfmOption ifm_plan_search_options[];

/* --- what a plan is expected to do --------------------------------------------------------------------------------- */

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

/* --- planning ------------------------------------------------------------------------------------------------------ */

/** ifm_plan_answer_to_json: ifm_plan_to_json() of the plan with "sizes", "objective", "cost", "certificate", "best",
 * "single", "prediction" next to it; ifm_plan_from_json() reads it. (transfer full) */
json_t *ifm_plan_answer_to_json(const IfmPlanReport *report);

G_END_DECLS
