#pragma once
#include <inferometer/plan.h>
#include <inferometer/predict.h>

/* --- the cost model (costs.c) -------------------------------------------------------------------------------------------
 */

/* What was measured of one range on one device, alone (@busy 0) or beside others. Of a dynamic device costs_entry_at()
 * stands; a static one has its points alone. */
typedef struct
{
    guint32 busy;
    IfmCostPoint *points;
    gsize n;
    IfmLookup *lookup;
    IfmGrid *spread;             /* NULL where a point's is unknown */
    IfmTrend *trend;             /* stands beyond the points where it meets left-out ones better than the lookup; or NULL */
    double miss_in, miss_beyond; /* relative errors of what stands, by leave-one-out; NaN */
    IfmGrid *ratio;              /* of a busy one: slow-down by size; NULL where there is nothing to compare with */
} CostEntry;

typedef struct
{
    int first, last;
    CostEntry *alone; /* NULL where it was only measured beside others */
    GPtrArray *busy;  /* CostEntry* */
} CostRange;

typedef struct
{
    IfmCostDevice is;
    IfmPlanSize *sizes;
    int n_streams; /* "openvino:CPU@0,1#2" has two, each with cores of its own: what runs on one does not slow the other */
    gboolean copies; /* @in and @out are its links */
    IfmCostLink in, out;
    CostRange *ranges[IFM_COST_MAX_STAGES][IFM_COST_MAX_STAGES];
    char *why[IFM_COST_MAX_STAGES];
} CostDevice;

/* What a run showed: latencies of a device while exactly these others work, times a factor. */
typedef struct
{
    int device, first, last;
    guint32 busy;
    double factor, spread_ratio;
} CostCorrection;

struct IfmCosts
{
    char *model;
    int n_stages, n_devices;
    CostDevice *devices[IFM_PLAN_MAX_DEVICES];
    guint64 no_split; /* stages, bit 0 the first */
    guint64 no_edges; /* stages that read no edge_index */
    struct
    {
        double per_node, per_edge;
    } cuts[IFM_COST_MAX_STAGES + 1];
    IfmCostCrossing
        *crossings[2][IFM_COST_MAX_STAGES][IFM_COST_MAX_STAGES]; /* [static][first - 1][last - 1]; NULL: nothing */
    gboolean has_busy;
    double partition_fixed_ns, partition_ns_per_edge, merge_ns, pad_ns_per_byte;
    GArray *corrections;                         /* CostCorrection */
    double partition_excess_ns, merge_excess_ns; /* what a run showed parting and merging to take beyond the above */
};

/* costs_streams_of: @device: a specification; NULL or none that can be read: 1 */
int costs_streams_of(const char *device);
/* costs_entry_at: A latency between and beyond an entry's points; NaN. @origin: (out) (optional) */
double costs_entry_at(const CostEntry *entry, double nodes, double edges, IfmGridOrigin *origin);
/* Bytes that cross after a stage (0: that enter). */
double costs_cut_bytes(const IfmCosts *costs, int stage, double nodes, double edges);
/* Whether an entry has points around a size, on whatever side; and whether it tells anything of a size: one point tells of
 * itself alone, points of one number of nodes of that number alone (costs-hull.c). */
gboolean costs_entry_surrounds(const CostEntry *entry, double nodes, double edges);
gboolean costs_entry_tells(const CostEntry *entry, double nodes, double edges);
/* (transfer full) Why a dynamic device's latency of a range cannot be told at a size; NULL where it can. */
char *costs_why_sparse(const IfmCosts *costs, int device, int first, int last, double nodes, double edges);
void costs_free_crossings(IfmCosts *costs);
CostRange *costs_range(const IfmCosts *costs, int device, int first, int last);

/* --- latencies (costs-latency.c) ----------------------------------------------------------------------------------------
 */

/* How a range that starts at @first is made up: @piece[l]: where the last of the fewest measured ranges that make up
 * first..l begins; 0 where none do. Stages from 1. */
void costs_pieces(const IfmCosts *costs, int device, int first, int *piece);
/* The slow-down of a measured range by a set of devices. @known: cleared where a part of it was not measured. */
double costs_slow_down(const IfmCosts *costs, int device, const CostRange *range, guint32 busy, double nodes, double edges,
                       gboolean *known);
/* A measured range at a size. NaN where nothing tells: a static device's must be one of its points. */
double costs_piece_ns(const IfmCosts *costs, int device, const CostRange *range, double nodes, double edges);
/* That of the very range and mask, else the newest of the range, else the newest of the device. NULL where no run showed
 * anything of it. @busy: without the device itself */
const CostCorrection *costs_correction(const IfmCosts *costs, int device, int first, int last, guint32 busy);
gboolean costs_reads_edges(const IfmCosts *costs, int first, int last);
/* The sizes at which a static device has a latency of a range. @sizes: (out) [n_sizes of the device]    Returns: how many
 */
gsize costs_static_sizes(const IfmCosts *costs, int device, int first, int last, IfmPlanSize *sizes);
/* Which of them a share takes. FALSE where none holds it. */
gboolean costs_static_size(const IfmCosts *costs, int device, int first, int last, double nodes, double edges,
                           IfmPlanSize *size);
double costs_pad_ns(const IfmCosts *costs, int first, const IfmPlanSize *size, double nodes, double edges);
void costs_rebuild_ratios(IfmCosts *costs, int device, int first, int last);

/* --- links that a study measured (costs-links.c) ------------------------------------------------------------------------
 */

/* [first - 1][last - 1] What crosses as a study measures a range: the graph's tensors, from host memory and back. */
typedef struct
{
    IfmCostCrossing of[IFM_MAX_STAGES][IFM_MAX_STAGES];
    int n_zeros[IFM_MAX_STAGES][IFM_MAX_STAGES]; /* of its inputs, those that a static model has not */
} CostHeld;

/* Adds what a tensor has for each node, or for each edge. */
void costs_add_bytes(const IfmStudyTables *tables, const IfmBoundary *boundary, double *per_node, double *per_edge);
/* Sets the crossings of the model, and tells those of its study. FALSE where a range cannot be written. */
gboolean costs_set_crossings(IfmCosts *costs, const IfmStudyTables *tables, CostHeld *held, GError **error);
/* Gives a device its links where the study measured them and its latencies hold such copies. FALSE where it has none. */
gboolean costs_take_links(IfmCosts *costs, const IfmStudyTables *tables, const IfmStudyDevice *device, int index,
                          const CostHeld *held);
/* The copies that a measured latency of a device with links holds. */
double costs_held_ns(const IfmCosts *costs, const CostHeld *held, int device, int first, int last, double nodes,
                     double edges);
/* How much of a latency of a range alone is left without them, by what the model has of it by now; 1 where that is not
 * known. */
double costs_unheld_ratio(const IfmCosts *costs, const CostHeld *held, int device, int first, int last, double nodes,
                          double edges);

/* --- curves: device time against share (split.c) ------------------------------------------------------------------------
 */

/* Device time as the search and ifm_plan_cost() have it: never falls with the share, a line between knots, level before the
 * first, nothing after the last. Two knots may have one share (a static device's next size): the first is the share's.
 * @whole_ns: of share 1 as it was looked up; INFINITY where it cannot. */
typedef struct
{
    int n;
    const double *share, *ns;
    double whole_ns;
} PlanCurve;

double curve_at(const PlanCurve *curve, double share);
/* The largest share that is done in time; 0 where none is. */
double curve_share_by(const PlanCurve *curve, double ns);
/* The shares that make all finish together. Returns: when; INFINITY where all together cannot take the whole. */
double curve_split(const PlanCurve *const *curves, int n, double *shares);

/* All curves of one size, each made when it is first asked for. For one thread. @sources: with ghosts; 0: nodes
 * @one_plan: only one plan's blocks are asked for. */
typedef struct CurveTable CurveTable;
CurveTable *curve_table_new(const IfmCosts *costs, double nodes, double edges, double sources, gboolean one_plan);
void curve_table_free(CurveTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CurveTable, curve_table_free)
/* Of stages that the device can run. */
const PlanCurve *curve_table_get(CurveTable *table, int device, int first, int last, guint32 busy);
/* What a batch takes of the device where batches follow each other: its streams have one each at once. */
const PlanCurve *curve_table_pace(CurveTable *table, int device, int first, int last, guint32 busy);

/* What a batch is, to costs: @sources: all of its nodes, ghosts too; 0: @nodes. */
typedef struct
{
    double nodes, edges, sources;
} CostBatch;

/* The nodes that a device's model has to hold in a block of so many devices: a static one that has the block to itself
 * takes the sources in, as the executor has it. */
double cost_held_nodes(const IfmCosts *costs, int device, gsize n_devices, double nodes, double sources);

/* --- cost of a plan (plan-cost.c) ---------------------------------------------------------------------------------------
 */

/* @first_split: the first block of several devices: it pays for the order of the edges. */
double cost_partition_ns(const IfmCosts *costs, int n_devices, gboolean first_split, double edges);
double cost_merge_ns(const IfmCosts *costs, int n_devices);
/* Streams of a plan's device: as the plan has it, or, where it names none, as the model. */
int cost_n_streams(const IfmCosts *costs, int device, const IfmPlanDevice *described);
/* The plan's devices as the cost model's indices; its devices must be the model's by alias. */
gboolean plan_cost_on(const IfmCosts *costs, CurveTable *curves, const IfmPlan *plan, const CostBatch *batch,
                      IfmPlanCost *cost, GError **error);

/* --- search (search.c, pareto.c) ----------------------------------------------------------------------------------------
 */

/* The space of a question: what may be in a block. Devices are the cost model's indices. */
typedef struct
{
    const IfmCosts *costs;
    const IfmPlanQuestion *question;
    CurveTable *curves;
    guint32 devices;                                              /* that may be used */
    guint64 runs[1 << IFM_PLAN_MAX_DEVICES][IFM_COST_MAX_STAGES]; /* [set][first - 1]: bit last - 1 */
    int most_blocks;
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
/* Calls @each with every choice of the grid for so many devices: shares that add up to 1. */
typedef void (*SpaceShares)(const double *shares, gpointer user);
void space_each_share(const double *grid, gsize n_grid, int n_devices, SpaceShares each, gpointer user);
/* All devices that may be used are the plan's, in the model's order, whether they are or not; what was left out by the
 * question is no part of it: nobody compiles or runs anything there. */
IfmPlan *space_plan(const PlanSpace *space, const SpaceBlock *blocks, int n_blocks);
int space_members(guint32 set, int *devices);

/* --- copies to and from a device's own memory (costs-copies.c)
 * ------------------------------------------------------------
 */

/* One device of a block: what its part takes it, and the copies around that, which are the block's thread's. */
typedef struct
{
    double ns, in_ns, out_ns;
    gboolean copies;
} CostPart;

/* Of a part of so many nodes and edges, as the model has them, on a device that copies. @whole_nodes, @whole_edges: of what
 * is needed whole. */
void costs_copies_at(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, double whole_nodes,
                     double whole_edges, CostPart *part);
/* The same of a share of a block of so many devices; nothing where the device does not copy, or no size of its holds it. */
void costs_copies(const IfmCosts *costs, int device, int first, int last, int n_devices, double share, double nodes,
                  double edges, CostPart *part);
/* From the end of partition until all parts are done and back. Devices that copy nothing begin at once, the others one
 * after the other, as their tensors are there; then everything is copied back. */
double costs_span_ns(const CostPart *parts, int n);
double costs_copied_ns(const CostPart *parts, int n);
/* Shares worth trying, beside those that make all devices finish together, of a block of which some devices copy: those
 * that finish together with their copies in; those where the host's copies and @host_ns together take as long as the
 * longest of @paces; and all tenths. @alone, @paces: of the devices; either may be NULL. */
void costs_each_copying_split(const IfmCosts *costs, const int *devices, int n, int first, int last, double nodes,
                              double edges, const PlanCurve *const *alone, const PlanCurve *const *paces,
                              const double *host_ns, int n_host, SpaceShares each, gpointer user);

/* --- pilots (pilot-learn.c) ---------------------------------------------------------------------------------------------
 */

/* How far a shared machine moves between a study, a pilot and a run, which an interval taken in a minute cannot hold: a
 * standard deviation, that of nine runs from what their pilots had made them expect (docs/pipelines.md). */
#define PILOT_DRIFT 0.05

/* PilotRun: a short run of a plan: @n_batches a repetition, of these sizes in turn; depths as of IfmSimulateOptions. */
typedef struct
{
    IfmCosts *costs;
    const IfmPlan *plan;
    const IfmPlanSize *sizes;
    gsize n_sizes, n_batches;
    int queue_depth, block_depth;
    const gint64 *sources; /* as of IfmSimulateOptions */
} PilotRun;

/* Over its repetitions: median makespan and pace (a batch in the stream), half the range of makespans / median. */
typedef struct
{
    double measured_ns, pace_ns, spread_ratio;
} PilotFigures;

gboolean pilot_simulate(const PilotRun *run, gsize n_batches, double *makespan_ns, GError **error);
/* pilot_learn: Corrects the run's costs. What was known (a range's tables, or what an earlier run showed of it) and what is
 * seen now count by how well each is known. @repetitions: as in surroundings.plan. FALSE where they have no makespan. */
gboolean pilot_learn(const PilotRun *run, const json_t *repetitions, PilotFigures *figures);
