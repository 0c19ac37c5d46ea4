#pragma once
#include <base/statistics.h>
#include <predict/predict.h>
#include <staged/staged.h>

#include "costs-private.h"

/* --- the cost model (costs.c) ----------------------------------------------------------------------------------------- */

/* Half of a 95 % interval in standard deviations. */
#define COST_DEVIATIONS 1.96

/* CostSamples: the runs of a point in order, relative to their mean. @block: how many in a row are drawn together, so
 * that correlation in time stays. */
typedef struct
{
    double *relative; /* [n]; NULL: all 1 */
    gsize n;
    double block;
} CostSamples;

/* The measurements of one range on one device: alone (@busy 0), or under the load of the devices of @busy. A dynamic
 * device's latency is costs_entry_at(); a static device has latencies only at its points. @points: without samples */
typedef struct
{
    guint32 busy;
    IfmCostPoint *points;
    gsize n;
    IfmLookup *lookup;                           /* of medians */
    CostSamples *samples;                        /* [n] */
    IfmGrid *over_median[IFM_COST_N_STATISTICS]; /* statistic / median; NULL: 1 */
    IfmGrid *spread[IFM_COST_N_STATISTICS];      /* NULL if that of a point is unknown */
    IfmTrend *trend;             /* used beyond the points if it predicts left-out ones better than the lookup; or NULL */
    double miss_in, miss_beyond; /* relative errors of what is used, by leave-one-out; NaN: unknown */
    IfmGrid *ratio[IFM_COST_N_STATISTICS]; /* of an entry under load: slow-down by size; NULL without a latency alone */
} CostEntry;

typedef struct
{
    int first, last;
    CostEntry *alone; /* NULL if it was only measured under load */
    GPtrArray *busy;  /* CostEntry* */
} CostRange;

typedef struct
{
    IfmCostDevice is;
    IfmPlanSize *sizes;
    int n_streams;   /* "openvino:CPU@0,1#2" has two streams, each with cores of its own: they do not slow each other */
    gboolean copies; /* @in and @out are its links */
    IfmCostLink in, out;
    CostRange *ranges[IFM_COST_MAX_STAGES][IFM_COST_MAX_STAGES];
    char *why[IFM_COST_MAX_STAGES];
    double fused_least, fused_most; /* ranges measured as one / the sum of their stages, over all sizes; NaN: none was */
} CostDevice;

/* What a run showed: a factor on the latency of a range while exactly the devices of @busy work. */
typedef struct
{
    int device, first, last;
    guint32 busy;
    double factor, spread_ratio;
} CostCorrection;

struct IfmCosts
{
    char *model;
    IfmCostStatistic statistic; /* of the latency of one batch */
    int n_stages, n_devices;
    CostDevice *devices[IFM_PLAN_MAX_DEVICES];
    guint64 no_split; /* stages, bit 0 the first */
    guint64 no_edges; /* stages without edge_index */
    struct
    {
        double per_node, per_edge;
    } cuts[IFM_COST_MAX_STAGES + 1];
    IfmCostCrossing
        *crossings[2][IFM_COST_MAX_STAGES][IFM_COST_MAX_STAGES]; /* [static][first - 1][last - 1]; NULL: nothing */
    gboolean has_busy;
    gsize n_implausible; /* latencies of the tables that were left out */
    double partition_fixed_ns, partition_ns_per_edge, merge_ns, pad_ns_per_byte;
    GArray *corrections;                         /* CostCorrection */
    double partition_excess_ns, merge_excess_ns; /* time of partition and merge in a run beyond the above */
};

/* costs_point_statistics: The statistics of a point's runs, ns, and the half-width of the 95 % interval of each / itself
 * (NaN: unknown). @values, @spread_ratios: (out) [IFM_COST_N_STATISTICS]. costs_samples_of: its runs, to be freed
 * (costs-samples.c). */
void costs_point_statistics(const IfmCostPoint *point, double *values, double *spread_ratios);
CostSamples costs_samples_of(const IfmCostPoint *point);
/* costs_streams_of: The streams of a device specification. @device: NULL or not a specification: 1 */
int costs_streams_of(const char *device);
/* costs_entry_at: The latency at a size, interpolated or extrapolated, ns; NaN. @origin: (out) (optional) */
double costs_entry_at(const CostEntry *entry, IfmCostStatistic of, double nodes, double edges, IfmGridOrigin *origin);
/* Bytes that cross after a stage (stage 0: that enter). */
double costs_cut_bytes(const IfmCosts *costs, int stage, double nodes, double edges);
/* costs_entry_surrounds: Whether the points of an entry lie all around a size. costs_entry_reports: Whether the entry
 * gives a latency at a size: a single point does at its own size, points of one number of nodes do for that number
 * (costs-hull.c). */
gboolean costs_entry_surrounds(const CostEntry *entry, double nodes, double edges);
gboolean costs_entry_reports(const CostEntry *entry, double nodes, double edges);
/* costs_why_sparse: Returns: (transfer full) why a dynamic device has no latency of a range at a size; NULL if it
 * has. */
char *costs_why_sparse(const IfmCosts *costs, int device, int first, int last, double nodes, double edges);
CostRange *costs_range(const IfmCosts *costs, int device, int first, int last);
/* costs_pieces: The measured ranges that make up first..last, as few as possible. @piece: (out) [n_stages + 1]
 * @piece[l]: the first stage of the last of them for first..l; 0: first..l cannot be made up. Stages from 1. */
void costs_pieces(const IfmCosts *costs, int device, int first, int *piece);

/* --- latencies (costs-latency.c) -------------------------------------------------------------------------------------- */

/* costs_slow_down: The slow-down of a range by the devices of @busy. @known: set to FALSE if a part of it was not
 * measured */
double costs_slow_down(const IfmCosts *costs, int device, const CostRange *range, IfmCostStatistic of, guint32 busy,
                       double nodes, double edges, gboolean *known);
/* costs_piece_ns: The latency of a measured range at a size. NaN if it is unknown; that of a static device is known at
 * its points alone. */
double costs_piece_ns(const IfmCosts *costs, int device, const CostRange *range, IfmCostStatistic of, double nodes,
                      double edges);
/* CostDraw: one measured range of a run. @samples: borrowed from the costs */
typedef struct
{
    double mean_ns;
    const CostSamples *samples;
} CostDraw;
/* costs_draws: What a run of stages @first to @last alone is drawn from: a draw a measured range, of the nearest measured
 * size. @draws: (out) [IFM_COST_MAX_STAGES], their means add up to @mean_ns. Returns: how many */
int costs_draws(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, double mean_ns,
                CostDraw *draws);
/* costs_correction: The correction of the range under this load, else the newest of the range, else the newest of the
 * device. NULL without a run. @busy: without the device itself */
const CostCorrection *costs_correction(const IfmCosts *costs, int device, int first, int last, guint32 busy);
gboolean costs_reads_edges(const IfmCosts *costs, int first, int last);
/* costs_static_sizes: The sizes at which a static device has a latency of a range. @sizes: (out) [n_sizes of the
 * device]    Returns: how many */
gsize costs_static_sizes(const IfmCosts *costs, int device, int first, int last, IfmPlanSize *sizes);
/* costs_static_size: Which of them a share takes. FALSE if none holds it. */
gboolean costs_static_size(const IfmCosts *costs, int device, int first, int last, double nodes, double edges,
                           IfmPlanSize *size);
double costs_pad_ns(const IfmCosts *costs, int first, const IfmPlanSize *size, double nodes, double edges);

/* --- links that a study measured (costs-links.c) ---------------------------------------------------------------------- */

/* [static][first - 1][last - 1] What crosses where a study measures a range: the graph's tensors, from host memory and
 * back. */
typedef struct
{
    IfmCostCrossing of[2][IFM_MAX_STAGES][IFM_MAX_STAGES];
} CostHeld;

/* costs_add_bytes: Adds the bytes of a tensor per node and per edge. */
void costs_add_bytes(const IfmStudyTables *tables, const IfmBoundary *boundary, double *per_node, double *per_edge);
/* costs_set_crossings: Sets the crossings of the model, and @held: those of the study's measurements. FALSE if the
 * model of a range cannot be built. */
gboolean costs_set_crossings(IfmCosts *costs, const IfmStudyTables *tables, CostHeld *held, GError **error);
/* costs_take_links: Sets the links of a device if the study measured them and if the device's latencies contain such
 * copies. FALSE if not. @rows: IfmStudyRow*: those with a latency */
gboolean costs_take_links(IfmCosts *costs, const IfmStudyTables *tables, const GPtrArray *rows,
                          const IfmStudyDevice *device, int index, const CostHeld *held);
/* costs_held_ns: The copies within a measured latency of a device with links, ns. */
double costs_held_ns(const IfmCosts *costs, const CostHeld *held, int device, int first, int last, double nodes,
                     double edges);
/* costs_unheld_ratio: Of a latency of a range alone, the part without those copies, by the latencies set so far; 1 if
 * they are unknown. */
double costs_unheld_ratio(const IfmCosts *costs, const CostHeld *held, int device, int first, int last, double nodes,
                          double edges);

/* --- copies to and from a device's own memory (costs-copies.c) -------------------------------------------------------- */

/* One device of a block: the time of its part, and of the copies before and after it, which are made on the block's
 * thread. */
typedef struct
{
    double ns, in_ns, out_ns, in_bytes;
    gboolean copies;
} CostPart;

/* costs_cross: The copies over a device's links: their times and the bytes in. @whole_nodes, @whole_edges: size of the
 * tensors that the device needs whole */
void costs_cross(const CostDevice *of, const IfmCostCrossing *crossing, double nodes, double edges, double whole_nodes,
                 double whole_edges, CostPart *part);

/* costs_copies_at: The same of a part of so many nodes and edges; 0 if the device does not copy. */
void costs_copies_at(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, double whole_nodes,
                     double whole_edges, CostPart *part);
/* costs_copies: The copies of a share of a block of @n_devices devices; 0 if the device does not copy, or if none of
 * its sizes holds the share. */
void costs_copies(const IfmCosts *costs, int device, int first, int last, int n_devices, double share, double nodes,
                  double edges, CostPart *part);
/* costs_span_ns: From the end of partition until all parts are done and copied back. Devices without copies begin at
 * once; the others begin one after the other, as their tensors arrive. Outputs are copied back when all are done. */
double costs_span_ns(const CostPart *parts, int n);
double costs_copied_ns(const CostPart *parts, int n);

/* --- curves: device time against share (split.c) ---------------------------------------------------------------------- */

/* Device time by share, for the search and ifm_plan_cost(): it never falls with the share, is a line between knots,
 * constant before the first, and undefined after the last. Two knots may have one share (the next size of a static
 * device): the first is the share's. @whole_ns: of share 1, from the tables; INFINITY if the device cannot take it. */
typedef struct
{
    int n;
    const double *share, *ns;
    double whole_ns;
} PlanCurve;

double curve_at(const PlanCurve *curve, double share);
/* curve_share_by: The largest share that is done in time; 0 if none is. */
double curve_share_by(const PlanCurve *curve, double ns);
/* curve_split: The shares with which all devices finish together. Returns: that time, ns; INFINITY if they cannot take
 * the whole. */
double curve_split(const PlanCurve *const *curves, int n, double *shares);

/* CurveTable: all curves of one size, each made on first use. For one thread. @sources: nodes with ghosts; 0: nodes
 * @one_plan: only the blocks of one plan are asked for */
typedef struct CurveTable CurveTable;
CurveTable *curve_table_new(const IfmCosts *costs, double nodes, double edges, double sources, gboolean one_plan);
void curve_table_free(CurveTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CurveTable, curve_table_free)
/* curve_table_get: first..last must be stages that the device can run. */
const PlanCurve *curve_table_get(CurveTable *table, IfmCostStatistic of, int device, int first, int last, guint32 busy);
/* curve_table_alone: of the costs' statistic, for the latency of one batch. */
const PlanCurve *curve_table_alone(CurveTable *table, int device, int first, int last, guint32 busy);
/* curve_table_pace: The mean time per batch in steady state, when each stream has a batch. */
const PlanCurve *curve_table_pace(CurveTable *table, int device, int first, int last, guint32 busy);

/* The size of a batch. @sources: its nodes with ghosts; 0: @nodes. */
typedef struct
{
    double nodes, edges, sources;
} CostBatch;

/* cost_held_nodes: The nodes that a device's model has to hold in a block of so many devices. A static device that has
 * the block to itself holds the sources, as in the executor. */
double cost_held_nodes(const IfmCosts *costs, int device, gsize n_devices, double nodes, double sources);

/* --- cost of a plan (plan-cost.c) ------------------------------------------------------------------------------------- */

/* @first_split: the first block of several devices, on whose entry the edges are ordered */
double cost_partition_ns(const IfmCosts *costs, int n_devices, gboolean first_split, double edges);
double cost_merge_ns(const IfmCosts *costs, int n_devices);
/* cost_n_streams: The streams of a plan's device: the plan's specification, else the model's. */
int cost_n_streams(const IfmCosts *costs, int device, const IfmPlanDevice *described);
/* cost_check_plan: Whether the plan is one of the model's stages and devices, each of which runs what it is given. */
gboolean cost_check_plan(const IfmCosts *costs, const IfmPlan *plan, GError **error);
/* plan_cost_on: The cost of a plan that was checked, or made by the model, with curves of the batch's size. The plan's
 * devices are those of the model by alias. */
gboolean plan_cost_on(const IfmCosts *costs, CurveTable *curves, const IfmPlan *plan, const CostBatch *batch,
                      IfmPlanCost *cost, GError **error);

/* --- the space of plans (space.c) ------------------------------------------------------------------------------------- */

/* The space of a question: which devices may run which stages. Devices are the cost model's indices. */
typedef struct
{
    const IfmCosts *costs;
    const IfmPlanQuestion *question;
    CurveTable *curves;
    guint32 devices;                                              /* that may be used */
    guint64 runs[1 << IFM_PLAN_MAX_DEVICES][IFM_COST_MAX_STAGES]; /* [set][first - 1]: bit last - 1 */
    int max_blocks;
} PlanSpace;

typedef struct
{
    int first, last;
    guint32 set;
    double shares[IFM_PLAN_MAX_DEVICES]; /* in the order of the devices */
} SpaceBlock;

/* Returns: FALSE with the error of ifm_plan_search(). */
gboolean space_init(PlanSpace *space, const IfmCosts *costs, const IfmPlanQuestion *question, GError **error);
void space_clear(PlanSpace *space);
double space_n_structures(const PlanSpace *space);
gint64 space_n_ranges(const PlanSpace *space); /* that some device can run */
/* SpaceStep: a block that may come next: all stages to @last on the devices @set. It begins as { 0 }. */
typedef struct
{
    guint64 runs;
    guint32 set;
    int last;
} SpaceStep;
/* space_next: The next of the blocks that may follow a plan's first @n_blocks, which end with stage @done. @open: the
 * devices that are left    @all: the plan uses all of them    Returns: FALSE after the last. */
gboolean space_next(const PlanSpace *space, int done, int n_blocks, guint32 open, gboolean all, SpaceStep *step);
/* space_each_share: Calls @each with every choice of the grid for so many devices: shares that add up to 1. */
typedef void (*SpaceShares)(const double *shares, gpointer user);
void space_each_share(const double *grid, gsize n_grid, int n_devices, SpaceShares each, gpointer user);
/* space_choose: Makes a plan and its cost. The plan lists all devices of the space, in the model's order, used or not.
 * Devices that the question excludes are not listed: nothing is compiled or run there.
 * @choice: (out) zeroed before    Returns: FALSE if it cannot be costed: no size of a static device holds its share. */
gboolean space_choose(const PlanSpace *space, const SpaceBlock *blocks, int n_blocks, IfmPlanChoice *choice,
                      GError **error);
int space_members(guint32 set, int *devices);

/* The value that a search minimises: ns, ns or J. */
double search_objective_of(const IfmPlanCost *cost, IfmObjective objective);

/* --- pilots (pilot-learn.c) ------------------------------------------------------------------------------------------- */

/* How far a shared machine drifts between a study, a pilot and a run, which an interval measured within a minute does
 * not contain: a standard deviation, of nine runs from the predictions after their pilots (docs/pipelines.md). */
#define PILOT_DRIFT 0.05

/* PilotRun: a short run of a plan. @stream: of its n_batches a repetition. */
typedef struct
{
    IfmCosts *costs;
    const IfmPlan *plan;
    IfmSimulateOptions stream;
} PilotRun;

gboolean pilot_simulate(const PilotRun *run, gsize n_batches, double *makespan_ns, GError **error);
/* pilot_learn: Corrects the run's costs. Earlier knowledge (a range's tables, or an earlier run) and the new
 * measurement are weighted by their precision. @repetitions: as in the result of a run    @round: (out) its measured
 * figures. FALSE if the repetitions have no makespan. */
gboolean pilot_learn(const PilotRun *run, const json_t *repetitions, IfmPilotRound *round);
