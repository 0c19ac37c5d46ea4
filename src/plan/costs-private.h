#pragma once
#include <plan/plan.h>

G_BEGIN_DECLS

/* ifm_costs_set_busy_points: The same while the devices of mask @busy work. Slow-down = these / those,
 * interpolated. A set that was not measured has the product of the slow-downs by its members. A range that was not
 * measured has the mean of its stages' slow-downs, weighted by latency. Without any measurement the slow-down is 1,
 * and the cost reports that it is unknown. */
gboolean ifm_costs_set_busy_points(IfmCosts *costs, int device, int first, int last, guint32 busy,
                                   const IfmCostPoint *points, gsize n, GError **error);

/* ifm_costs_forbid_split: A stage takes no part in data parallelism. */
void ifm_costs_forbid_split(IfmCosts *costs, int stage);

/* ifm_costs_set_power: The power of a device while it works and while it waits, W. A study's tables do not have it. */
void ifm_costs_set_power(IfmCosts *costs, int device, double active_w, double idle_w);

/* ifm_costs_set_cut: What crosses between @stage and the next: bytes = per_node x nodes + per_edge x edges. Stage
 * 0: what enters. The default is 0. These are the bytes that a static device's padding copies. */
void ifm_costs_set_cut(IfmCosts *costs, int stage, double per_node, double per_edge);

/* ifm_costs_set_reads_edges: Whether a stage has an edge_index. The default is TRUE. See ifm_plan_static_size(). */
void ifm_costs_set_reads_edges(IfmCosts *costs, int stage, gboolean reads);

/* IfmCostLink: the time of a copy of one tensor: fixed_ns + bytes x ns_per_byte. */
typedef struct
{
    double fixed_ns, ns_per_byte;
} IfmCostLink;

/* ifm_costs_set_link: Declares a device with memory of its own. A pipeline copies its part of each tensor there
 * before the inference, and back after it, on the thread of the device's block. The device's latencies do not
 * contain these copies. A device without links takes pointers to host memory, or its latencies contain the copies. */
void ifm_costs_set_link(IfmCosts *costs, int device, const IfmCostLink *in, const IfmCostLink *out);

/* IfmCostCrossing: the tensors that are copied. @n_in, @n_out: how many each way. The other fields are bytes per
 * node and per edge of all of them together: of tensors of which each device needs its share (@in, @out), and of
 * tensors that each device needs whole. */
typedef struct
{
    int n_in, n_out;
    double whole_per_node, whole_per_edge, in_per_node, in_per_edge, out_per_node, out_per_edge;
} IfmCostCrossing;

/* ifm_costs_set_crossing: What crosses for stages @first to @last on a device with models of this form. The default
 * is nothing. */
void ifm_costs_set_crossing(IfmCosts *costs, IfmPlanForm form, int first, int last, const IfmCostCrossing *crossing);

/* ifm_costs_set_host: The host's work for a block of several devices, ns. Partition: fixed + per_edge x edges; the
 * edges are ordered once for all blocks, on entry. Merge: fixed for any number of devices. @pad_ns_per_byte:
 * of copying inputs to a static device's larger size. */
void ifm_costs_set_host(IfmCosts *costs, double partition_fixed_ns, double partition_ns_per_edge, double merge_fixed_ns,
                        double pad_ns_per_byte);

/* ifm_costs_from_tables: The cost model of a study's measurements: latencies of stages and ranges, under load where
 * measured, and the measured sizes of static devices. Stages that failed to compile, or that the study excludes, are
 * forbidden with the reason. What crosses between stages comes from the model.
 * Links: a device gets them where a pipeline copies to its memory itself, and where the study measured them both
 * ways between it and a device that works in host memory. Its latencies were measured from host tensors and contain
 * those copies, which are then taken out. Latencies of other devices are as measured. There is no power.
 * @devices: aliases to use, NULL-terminated; NULL: all that have latencies
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID: "table too sparse" with the device and stage that has no
 * latency, or an unknown alias. */
IfmCosts *ifm_costs_from_tables(const IfmStudyTables *tables, const char *const *devices, GError **error);

/* ifm_costs_measure_host: Measures partition, merge and padding on this machine as the pipeline does them, on
 * graphs of these sizes, and sets them. @sizes: [n_sizes], at least 1 */
gboolean ifm_costs_measure_host(IfmCosts *costs, const IfmPlanSize *sizes, gsize n_sizes, GError **error);

/* ifm_costs_correct: Adds what a run showed to what the tables hold. The latency of stages @first to @last on a
 * device, while exactly the devices of mask @busy work, is multiplied by @factor, and its spread becomes
 * @spread_ratio. The factor also holds for that range under other loads and for the device's other ranges until they
 * have a factor of their own. Replaces an earlier one. Not while another thread reads the costs. */
void ifm_costs_correct(IfmCosts *costs, int device, int first, int last, guint32 busy, double factor, double spread_ratio);

/* ifm_costs_correct_host: The time that partition and merge of a block of several devices took in a run beyond
 * ifm_costs_set_host(), ns. A value below 0 counts as 0. */
void ifm_costs_correct_host(IfmCosts *costs, double partition_excess_ns, double merge_excess_ns);

/* ifm_costs_why_not: Returns: (borrowed) why stages @first to @last cannot run on a device; NULL if they can. */
const char *ifm_costs_why_not(const IfmCosts *costs, int device, int first, int last);

/* IfmCostLatency: @latency_ns: in the costs' statistic; of several ranges the sum of theirs. @mean_ns: the mean.
 * @mean_sampled_ratio: the part of @mean_spread_ratio that more runs would narrow: without the error of interpolation.
 * @spread_ratio: as in IfmCostPoint; also NaN for an extrapolated latency whose error is unknown.
 * @busy_known: the slow-down was measured.
 * @summed: of ranges measured apart, and no run corrects it. The spreads then hold how far ranges that were measured as one
 * on the device lie from the sums of their stages, and are NaN where none was. */
typedef struct
{
    double latency_ns, spread_ratio, mean_ns, mean_spread_ratio, mean_sampled_ratio;
    IfmCostOrigin origin;
    gboolean busy_known, summed;
} IfmCostLatency;

/* ifm_costs_latency: The latency of stages @first to @last. @busy: mask of the other busy devices
 * Returns: FALSE with IFM_ERROR_INVALID for a size not above 0, or where the table is too sparse
 * (ifm_costs_why_sparse()); with IFM_ERROR_UNSUPPORTED and the reason of ifm_costs_why_not(), or where no size of a
 * static device is large enough. */
gboolean ifm_costs_latency(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, guint32 busy,
                           IfmCostLatency *latency, GError **error);

/* costs_unknown_alias: "(there are CPU, GPU); did you mean …" of an alias that no device has. (transfer full) */
char *costs_unknown_alias(const IfmCosts *costs, const char *alias);
/* ifm_plan_sizes_add: Adds a size unless it is among them. @sizes: IfmPlanSize    Returns: whether it was added */
gboolean ifm_plan_sizes_add(GArray *sizes, gint64 nodes, gint64 edges);
/* costs_npus: The devices that are NPUs, by their units or, of imported tables, by their aliases. Returns: a mask */
guint32 costs_npus(const IfmCosts *costs);

/* ifm_costs_to_json: All that the cost of a plan at a size is computed from: docs/formats.md. (transfer full) */
json_t *ifm_costs_to_json(const IfmCosts *costs, const IfmPlan *plan, double nodes, double edges);

/* ifm_plan_cost_to_json: The figures of the plan, without those of its blocks: docs/formats.md. (transfer full) */
json_t *ifm_plan_cost_to_json(const IfmPlanCost *cost);

/* ifm_plan_cost_with_sources: The same for a part of a graph whose batch has ghosts. @nodes: its own nodes.
 * @sources: its nodes with the ghosts; at least @nodes. A static device that has a block to itself takes a size that
 * holds all of them. */
gboolean ifm_plan_cost_with_sources(const IfmCosts *costs, const IfmPlan *plan, double nodes, double edges, double sources,
                                    IfmPlanCost *cost, GError **error);

/* ifm_plan_together: The batches per second that one device of a plan makes by itself, while all other devices of
 * the plan do so, too. The batches are whole and have these sizes, cyclically. This predicts the bound of
 * measure.h. NaN if the device cannot run all stages or is not in the cost model. @device: index in the plan's list */
double ifm_plan_together(const IfmCosts *costs, const IfmPlan *plan, int device, const IfmPlanSize *sizes, gsize n_sizes);

/* IfmSimulation: @makespan_ns: from the entry of the first batch to the end of the last: the mean of simulations with
 * other draws. @makespan_spread_ratio: half of its 95 % interval: of the latencies' means, and of the draws. @trace: of a
 * simulation with the means as they are: the tracks and events of a run; its process is "simulation" */
typedef struct
{
    gint64 makespan_ns;
    double throughput_per_s, latency_median_ns, makespan_spread_ratio;
    IfmTrace *trace;
} IfmSimulation;
void ifm_simulation_clear(IfmSimulation *simulation);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmSimulation, ifm_simulation_clear)

/* ifm_plan_simulate: Simulates discrete events: bounded queues with back-pressure. The remaining work of a device
 * goes on at a rate that follows the set of devices that are busy at each moment. Each inference's time is drawn from the
 * runs that were measured; the same costs give the same draws. Needs no clock and no thread. */
gboolean ifm_plan_simulate(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options,
                           IfmSimulation *simulation, GError **error);

G_END_DECLS
