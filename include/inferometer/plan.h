#pragma once
#include <inferometer/dataset.h>
#include <inferometer/pipeline.h>
#include <inferometer/study.h>

G_BEGIN_DECLS

/* --- what things cost ------------------------------------------------------------------------------------------------- */

#define IFM_COST_MAX_STAGES 64

/**
 * IfmCosts: a cost model: latency of any range of stages on any device at any size, alone and while others are busy, what
 * parting, merging and handing over take. Built once, then immutable: threads may share it. docs/planning.md.
 *
 * Range first..last on a device at (nodes, edges):
 *   where that range was measured fused: its lookup; else the sum over the largest measured ranges that make it up
 *   x slow-down(range, device, the other busy devices)
 * A device with static models takes the size of ifm_plan_static_size(); its part is then padded, which is a copy.
 */
typedef struct IfmCosts IfmCosts;

/** IfmCostDevice: @sizes: [n_sizes] of a static device. @splits: takes part in data parallelism. Watts: NaN: unknown. */
typedef struct
{
    const char *alias, *device;
    IfmPlanForm form;
    const IfmPlanSize *sizes;
    gsize n_sizes;
    gboolean splits;
    double active_w, idle_w;
} IfmCostDevice;

/** IfmCostPoint: @spread_ratio: half-width of the prediction's 95 % interval / latency; NaN: unknown. */
typedef struct
{
    gint64 nodes, edges;
    double latency_ns, spread_ratio;
} IfmCostPoint;

IfmCosts *ifm_costs_new(const char *model, gsize n_stages);
void ifm_costs_free(IfmCosts *costs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCosts, ifm_costs_free)
/** ifm_costs_add_device: Returns: its index; -1 with IFM_ERROR_INVALID beyond IFM_PLAN_MAX_DEVICES or for an alias twice.
 */
int ifm_costs_add_device(IfmCosts *costs, const IfmCostDevice *device, GError **error);
/** ifm_costs_set_points: latencies of stages @first to @last, fused, on a device that has nothing beside it.
 * IFM_ERROR_INVALID as ifm_lookup_new(). */
gboolean ifm_costs_set_points(IfmCosts *costs, int device, int first, int last, const IfmCostPoint *points, gsize n,
                              GError **error);
/** ifm_costs_set_busy_points: the same while the devices of mask @busy work. Slow-down = these / those, interpolated. Of a
 * set that nobody measured: the product of the slow-downs by its members; of a range that nobody measured: the mean of its
 * stages' by latency; with nothing known 1, and the cost says so. */
gboolean ifm_costs_set_busy_points(IfmCosts *costs, int device, int first, int last, guint32 busy,
                                   const IfmCostPoint *points, gsize n, GError **error);
/** ifm_costs_forbid: a stage is not for a device. @why: one line. */
void ifm_costs_forbid(IfmCosts *costs, int device, int stage, const char *why);
/** ifm_costs_forbid_split: a stage that takes no part in data parallelism. */
void ifm_costs_forbid_split(IfmCosts *costs, int stage);
/** ifm_costs_set_power: what a device draws while it works and while it waits; no table of a study has it. */
void ifm_costs_set_power(IfmCosts *costs, int device, double active_w, double idle_w);
/** ifm_costs_set_cut: what crosses between @stage and the next: bytes = per_node x nodes + per_edge x edges. Stage 0: what
 * enters. Without it nothing. It is what a static device's padding copies. */
void ifm_costs_set_cut(IfmCosts *costs, int stage, double per_node, double per_edge);
/** ifm_costs_set_reads_edges: whether a stage has an edge_index, TRUE until said otherwise: ifm_plan_static_size(). */
void ifm_costs_set_reads_edges(IfmCosts *costs, int stage, gboolean reads);
/** IfmCostLink: a copy of one tensor: fixed_ns + bytes x ns_per_byte. */
typedef struct
{
    double fixed_ns, ns_per_byte;
} IfmCostLink;
/** ifm_costs_set_link: A device with memory of its own, to which a pipeline copies its part of each tensor before the
 * inference, and back after it, on the thread of the device's block; its latencies are without these copies. Not called: it
 * takes pointers to host memory, or its latencies hold the way there and back. */
void ifm_costs_set_link(IfmCosts *costs, int device, const IfmCostLink *in, const IfmCostLink *out);
/** IfmCostCrossing: the tensors that are copied: so many each way, and the bytes a node and an edge of all of them
 * together: of those of which each part needs its share (@in, @out), and of those that each needs whole. */
typedef struct
{
    int n_in, n_out;
    double whole_per_node, whole_per_edge, in_per_node, in_per_edge, out_per_node, out_per_edge;
} IfmCostCrossing;
/** ifm_costs_set_crossing: of stages @first to @last on a device with models of this form. Without it nothing. */
void ifm_costs_set_crossing(IfmCosts *costs, IfmPlanForm form, int first, int last, const IfmCostCrossing *crossing);
/** ifm_costs_set_host: of a block of several devices: partition: fixed + per_edge x edges, the latter once on entry for all
 * blocks; merge: fixed, whatever their number. @pad_ns_per_byte: copying inputs to a static device's larger size. */
void ifm_costs_set_host(IfmCosts *costs, double partition_fixed_ns, double partition_ns_per_edge, double merge_fixed_ns,
                        double pad_ns_per_byte);

/** ifm_costs_from_tables: What a study measured: latencies of stages and ranges, under load where it was measured, static
 * devices' profiled sizes, stages that failed to compile (forbidden, with the reason) or are declared so in the study; and
 * what crosses between stages. Links of a device to and from whose memory a pipeline copies itself, where the study
 * measured them both ways to a device that works in the host's memory: then its latencies, measured from host tensors, hold
 * those copies, and they are taken out. Of any other device the latencies are as measured. No power.
 * @devices: aliases to use, NULL-terminated, or NULL for all that have latencies. IFM_ERROR_INVALID: "table too sparse":
 * names device and stage without a single latency; an unknown alias. */
IfmCosts *ifm_costs_from_tables(const IfmStudyTables *tables, const char *const *devices, GError **error);
/** ifm_costs_measure_host: Measures partition and merge as the pipeline does them, on graphs of these sizes, on this
 * machine, and sets them. */
gboolean ifm_costs_measure_host(IfmCosts *costs, const IfmPlanSize *sizes, gsize n_sizes, GError **error);

/** ifm_costs_correct: What a run showed beside what the tables say: the latency of stages @first to @last on a device while
 * the devices of mask @busy work, and no others, is multiplied by @factor, and its spread is @spread_ratio. Until they have
 * a factor of their own, so is that range beside other sets, and so are the device's other ranges: whoever is slower than
 * its tables today is so throughout. Replaces an earlier one. Not while others read the costs. */
void ifm_costs_correct(IfmCosts *costs, int device, int first, int last, guint32 busy, double factor, double spread_ratio);
/** ifm_costs_correct_host: what a run showed that parting and merging take more than ifm_costs_set_host() says, a block of
 * several devices each; below 0 counts as 0. */
void ifm_costs_correct_host(IfmCosts *costs, double partition_excess_ns, double merge_excess_ns);
/** ifm_costs_forget_corrections: All of them: the tables stand again. */
void ifm_costs_forget_corrections(IfmCosts *costs);

gsize ifm_costs_n_devices(const IfmCosts *costs);
const IfmCostDevice *ifm_costs_device(const IfmCosts *costs, int device);
/** ifm_costs_find_device: Returns: its index; -1 where there is none of that alias, or @alias is NULL. */
int ifm_costs_find_device(const IfmCosts *costs, const char *alias);
gsize ifm_costs_n_stages(const IfmCosts *costs);
/** ifm_costs_sizes: the smallest and the largest that something was measured at; @most is 0 where nothing was. */
void ifm_costs_sizes(const IfmCosts *costs, IfmPlanSize *least, IfmPlanSize *most);
/** ifm_costs_why_not: Returns: why stages @first to @last cannot run on a device; NULL where they can. Borrowed. */
const char *ifm_costs_why_not(const IfmCosts *costs, int device, int first, int last);

/** ifm_costs_why_sparse: (transfer full) why nothing that was measured of a device tells of a size: one size alone, or all
 * of one number of nodes which is another; NULL where it does. */
char *ifm_costs_why_sparse(const IfmCosts *costs, int device, double nodes, double edges);

/** IfmCostOrigin: how a latency came about; the worst of what it is made of. */
typedef enum
{
    IFM_COST_MEASURED,
    IFM_COST_INTERPOLATED, /* between measured sizes: neighbours on both axes, or points all around */
    IFM_COST_SUMMED,       /* of stages measured one by one: fusing may save some */
    IFM_COST_EXTRAPOLATED, /* from measured sizes that do not surround it: a guess */
} IfmCostOrigin;
/** ifm_cost_origin_word: "measured", "interpolated", "summed", "extrapolated". */
const char *ifm_cost_origin_word(IfmCostOrigin origin);

/** IfmCostLatency: @spread_ratio: as of IfmCostPoint; NaN also where it is extrapolated and no measured size tells how far
 * that is off.
 * @busy_known: the slow-down was measured. */
typedef struct
{
    double latency_ns, spread_ratio;
    IfmCostOrigin origin;
    gboolean busy_known;
} IfmCostLatency;
/** ifm_costs_latency: @busy: mask of the other busy devices. IFM_ERROR_INVALID for a size not above 0;
 * or where the table is too sparse: ifm_costs_why_sparse(); IFM_ERROR_UNSUPPORTED with ifm_costs_why_not(), or where a
 * static device has no size so large. */
gboolean ifm_costs_latency(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, guint32 busy,
                           IfmCostLatency *latency, GError **error);

/* --- what a plan costs ------------------------------------------------------------------------------------------------ */

/** IfmBlockCost: @handover_ns: copies to and from the memory of devices that have their own. @total_ns: partition to merge,
 * of which the copies in pass beside what devices compute that began before. */
typedef struct
{
    double handover_ns, partition_ns, merge_ns, total_ns;
    double device_ns[IFM_PLAN_MAX_DEVICES]; /* in the order of the block's devices */
} IfmBlockCost;

/** IfmPlanCost: @latency_ns: one batch alone: the sum over blocks, each with its own devices busy. @cycle_ns: the longest
 * device time of a block, over the device's streams, while all of the plan's devices are busy, or the longest work of a
 * block's own thread: hand-over, partition, merge. 1 / throughput.
 * @spread_ratio: of each. */
typedef struct
{
    double latency_ns, latency_spread_ratio;
    double cycle_ns, cycle_spread_ratio;
    double energy_j; /* of a batch in steady state; NaN where a device's power is unknown */
    IfmCostOrigin origin;
    gboolean busy_known;
    int bottleneck_block;
    GArray *alone;  /* IfmBlockCost of the latency */
    GArray *steady; /* IfmBlockCost of the cycle */
} IfmPlanCost;
void ifm_plan_cost_clear(IfmPlanCost *cost);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanCost, ifm_plan_cost_clear)
/** ifm_plan_cost_to_json: Its figures, without those of the blocks: docs/formats.md. (transfer full) */
json_t *ifm_plan_cost_to_json(const IfmPlanCost *cost);
/** ifm_plan_cost: IFM_ERROR_INVALID for a plan that is none of this model's; IFM_ERROR_UNSUPPORTED "block 2: NPU: ...". */
gboolean ifm_plan_cost(const IfmCosts *costs, const IfmPlan *plan, double nodes, double edges, IfmPlanCost *cost,
                       GError **error);
/** ifm_plan_cost_with_sources: The same of a part of a graph, whose batch has ghosts: @nodes of its own, and @sources with
 * the ghosts. A static device that has a block to itself takes a size that holds them all. @sources: @nodes where below */
gboolean ifm_plan_cost_with_sources(const IfmCosts *costs, const IfmPlan *plan, double nodes, double edges, double sources,
                                    IfmPlanCost *cost, GError **error);
/** ifm_plan_together: Batches a second that a device of a plan makes by itself, whole ones of these sizes in turn, while
 * all others that the plan lists do so, too: the bound of measure.h, predicted. NaN where it cannot run all stages, or the
 * costs do not know it. @device: of the plan's list */
double ifm_plan_together(const IfmCosts *costs, const IfmPlan *plan, int device, const IfmPlanSize *sizes, gsize n_sizes);

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
    double sources;     /* of a part of a graph: its nodes, ghosts too: ifm_plan_cost_with_sources(); 0: nodes */
    const double *grid; /* [n_grid] shares a device may have, each the multiple choice of the published search; NULL: any */
    gsize n_grid;
    int max_blocks;      /* 0: any number */
    guint32 without;     /* devices not to use */
    guint32 no_split;    /* devices that take no part in data parallelism */
    gint64 most_visited; /* of the search; 0: 50 million */
} IfmPlanQuestion;

typedef struct
{
    IfmPlan *plan; /* the answer: a single device where the best is not surely better */
    IfmPlanCost cost;
    IfmPlan *best; /* of the whole space, whatever the uncertainty */
    IfmPlanCost best_cost;
    IfmPlan *single; /* the best on one device; NULL where none can run all stages */
    IfmPlanCost single_cost;
    gboolean within_uncertainty;   /* best's gain over single is within the uncertainty of both, as far as it is known */
    gboolean spread_unknown;       /* … and it is not known of both: how sure the gain is, cannot be said */
    gboolean optimal;              /* under this cost model; else: */
    double lower_bound, gap_ratio; /* of the objective (ns or J); gap = value / bound - 1 */
    gint64 n_ranges, n_subsets;    /* contiguous ranges; sets of devices */
    gint64 n_ranges_known;         /* ranges that some device can run, made of what was measured */
    double n_structures;           /* plans but for their ratios: the space, counted exactly while below 2^53 */
    gint64 n_visited, n_pruned;    /* nodes of the search */
} IfmPlanAnswer;
void ifm_plan_answer_clear(IfmPlanAnswer *answer);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanAnswer, ifm_plan_answer_clear)

/**
 * ifm_plan_search: The best plan: branch and bound over contiguous ranges x sets of devices; within a block the shares that
 * make its devices finish together (or the best of the grid).
 * Returns: FALSE with IFM_ERROR_UNSUPPORTED where no plan covers all stages (which stage no device can run, why), or
 * IFM_ERROR_UNAVAILABLE where energy is asked for and a device's power is unknown.
 */
gboolean ifm_plan_search(const IfmCosts *costs, const IfmPlanQuestion *question, IfmPlanAnswer *answer, GError **error);
/** ifm_plan_pareto: (transfer full) IfmPlanAnswer* none of which another beats in latency, cycle (and energy where known),
 * sorted by latency; the ratios of a block are those that make its devices finish together, alone or steady. */
GPtrArray *ifm_plan_pareto(const IfmCosts *costs, const IfmPlanQuestion *question, GError **error);

/* --- simulating it ---------------------------------------------------------------------------------------------------- */

typedef struct
{
    gsize n_batches;
    const IfmPlanSize *sizes; /* [n_sizes] of the batches, taken in turn */
    gsize n_sizes;
    int queue_depth, block_depth; /* as of IfmPipelineOptions; 0: their defaults */
    const gint64 *sources;        /* [n_sizes] of parts of graphs: their nodes, ghosts too; NULL: nodes */
} IfmSimulateOptions;

typedef struct
{
    gint64 makespan_ns; /* first batch in to last batch out */
    double throughput_per_s, latency_median_ns, makespan_spread_ratio;
    IfmTrace *trace; /* the same tracks and events as a run's: "simulation" */
} IfmSimulation;
void ifm_simulation_clear(IfmSimulation *simulation);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmSimulation, ifm_simulation_clear)
/** ifm_plan_simulate: Discrete events: bounded queues with back-pressure; a device's remaining work goes on at a rate that
 * follows the set of devices busy at each moment. No clock, no thread. */
gboolean ifm_plan_simulate(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options,
                           IfmSimulation *simulation, GError **error);

/* --- tried before it is told ------------------------------------------------------------------------------------------ */

/**
 * IfmPilotOptions: a plan run for a short while, so that what is then predicted of it is what these devices do together
 * today, and not what tables said of each some time ago.
 * @like: graphs, sizes, depths, watchdog and seed of the run; its plans, batches and repetitions are the pilot's own
 * @sizes: [n_sizes] of its batches in turn
 * @keep_plan: the plan stands: costs are corrected, and nothing is searched
 * @resolve: puts devices behind a plan's aliases, as the run will. FALSE with an error
 */
typedef struct
{
    IfmRunner *runner;
    const IfmPlanCase *like;
    const IfmPlanSize *sizes;
    gsize n_sizes;
    const gint64 *sources; /* as of IfmSimulateOptions */
    gint64 budget_ns;      /* for three rounds, warm-up included, compiling not; twice as many are made at most */
    gboolean keep_plan;
    gboolean (*resolve)(IfmPlan *plan, void *user, GError **error);
    void *user;
} IfmPilotOptions;

/** IfmPilotRound: one plan, tried in a few repetitions of @n_batches. Makespans by simulation and as measured (the median);
 * @pace_ns: what a batch in the stream took; @spread_ratio: half the range of the makespans / their median; @again: a plan
 * of this shape was tried before, so that it was predicted by what was seen then. */
typedef struct
{
    IfmPlan *plan;
    gsize n_batches;
    double predicted_ns, measured_ns, pace_ns, spread_ratio;
    gboolean again;
} IfmPilotRound;

/**
 * ifm_plan_pilot: Runs @plan, corrects @costs by what each of its devices took (ifm_costs_correct()), by what parting and
 * merging took, and by what the makespan shows beyond these, each weighed with what was known; searches again, and so on
 * until the search gives a plan that was run, its shares within a hundredth; 5 rounds at most. That plan is run once more:
 * how far two looks at one thing are apart is what a prediction can be worth (ifm_pilot_drift_ratio()). Where the tables
 * leave it in doubt whether the best plan is better than a single device, both are run, and the search decides by what they
 * showed.
 * @rounds: (out) (transfer full) IfmPilotRound, the first the plan by the tables, the last the one that is returned
 * Returns: (transfer full) the plan to run; after 5 rounds the fastest of those run. @costs stays corrected. NULL with the
 * error of a run or a search; the costs are then as the tables say.
 */
IfmPlan *ifm_plan_pilot(IfmCosts *costs, const IfmPlanQuestion *question, const IfmPlan *plan,
                        const IfmPilotOptions *options, GArray **rounds, GError **error);
/**
 * ifm_pilot_drift_ratio: How far a run may be off what a pilot showed because the machine moves meanwhile: half a 95 %
 * interval, beside the spread of what was seen.
 * Equals: t(0.975; 4 + n) sqrt((4 x 0.05^2 + sum e^2) / (4 + n)), e = ln(measured / predicted) of the n rounds that are
 * @again. Before any is seen: how nine runs with a pilot missed on a shared virtual machine, 5.0 % root mean square,
 * counted as four looks.
 * @rounds: IfmPilotRound
 */
double ifm_pilot_drift_ratio(const GArray *rounds);

/* --- plans by size ---------------------------------------------------------------------------------------------------- */

/** IfmPlanTable: the best plan at each of many sizes. */
typedef struct IfmPlanTable IfmPlanTable;
typedef enum
{
    IFM_PLAN_EXACT,        /* of this very size */
    IFM_PLAN_INTERPOLATED, /* the neighbours' plan, its ratios between theirs */
    IFM_PLAN_CHOSEN,       /* the neighbour's that costs least at this size */
    IFM_PLAN_SEARCHED,     /* outside the table: searched now, and kept */
} IfmPlanOrigin;
const char *ifm_plan_origin_name(IfmPlanOrigin origin);

/** ifm_plan_table_new: Searches at each size. @question: its nodes and edges are not looked at. */
IfmPlanTable *ifm_plan_table_new(const IfmCosts *costs, const IfmPlanQuestion *question, const IfmPlanSize *sizes, gsize n,
                                 GError **error);
void ifm_plan_table_free(IfmPlanTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmPlanTable, ifm_plan_table_free)
gsize ifm_plan_table_n(const IfmPlanTable *table);
/** ifm_plan_table_row: (borrowed) NULL past the end. @cost: (out) (optional) borrowed */
const IfmPlan *ifm_plan_table_row(const IfmPlanTable *table, gsize index, IfmPlanSize *size, const IfmPlanCost **cost);
/** ifm_plan_table_find: A plan for a graph of any size. @costs: NULL: EXACT and INTERPOLATED alone, else the nearest row's.
 * (transfer full) */
IfmPlan *ifm_plan_table_find(IfmPlanTable *table, const IfmCosts *costs, double nodes, double edges, IfmPlanOrigin *origin,
                             GError **error);
/** {"format": "plan-table", "format_version": 1, "objective", "model", "devices", "plans": [{"nodes", "edges", "plan",
 * "latency_ns", "cycle_ns", …}]}. (transfer full) */
json_t *ifm_plan_table_to_json(const IfmPlanTable *table);
IfmPlanTable *ifm_plan_table_from_json(const json_t *json, const char *name, GError **error);

/** ifm_plan_fallbacks: The best plan for each set of devices that is left when others are lost: {"1": plan, "3": plan, …}
 * by mask of the lost, over @plan's devices. What IfmReplan looks up in a worker. (transfer full) */
json_t *ifm_plan_fallbacks(const IfmCosts *costs, const IfmPlan *plan, const IfmPlanQuestion *question, GError **error);

G_END_DECLS
