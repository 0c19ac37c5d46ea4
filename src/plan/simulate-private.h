#pragma once
#include "plan-private.h"
#include <trace/trace.h>

/*
 * A simulated pipeline: what each thing costs (simulate-costs.c), what happens when (simulate.c), and its events
 * (simulate-trace.c). A block's thread has the priorities of the pipeline's executor. First it hands a merged batch on
 * while the next queue has room. Then it takes another batch while it holds fewer than its depth, and partitions it.
 * Then it merges the batch that is next. The last block takes a batch before it hands one on.
 */

/* Piece: a share of a batch of one size on one replica. @factors: slow-downs by the set of busy devices, made on first
 * use. */
typedef struct
{
    gint64 nodes;              /* 0: no share */
    double at_nodes, at_edges; /* the size it runs at: its own, or the static size that it is padded to */
    double alone_ns, spread_ratio, sampled_ratio; /* of the mean */
    CostDraw draws[IFM_COST_MAX_STAGES];
    gsize at[IFM_COST_MAX_STAGES]; /* the run of each that was drawn last */
    int n_draws;
    gint64 pad_ns, pad_bytes, in_ns, in_bytes, out_ns, out_bytes;
    GArray *factors; /* SimFactor */
} SimPiece;

typedef struct
{
    guint32 busy;
    double factor;
} SimFactor;

/* The host's time for a batch of one size in a block. */
typedef struct
{
    gint64 partition_ns, merge_ns;
} SimHost;

/* Run: an inference on a stream. @left_ns: of its time alone, left at @settled_ns. @end_ns: if the load stays the
 * same. */
typedef struct
{
    gint64 batch; /* -1: none */
    SimPiece *piece;
    double left_ns, factor;
    gint64 start_ns, settled_ns, end_ns;
} SimRun;

/* Replica: a device of a block. The parts of batches begin in order, batch n on stream n modulo n_streams. */
typedef struct
{
    const IfmPlanDevice *described;
    int device;                 /* of the cost model */
    double ratio_before, ratio; /* of the replicas before it; its own */
    gboolean is_last;
    int n_streams;
    SimRun *runs;      /* [n_streams] */
    gint64 *next;      /* [n_streams] the batch that the stream takes next */
    gint64 n_handed;   /* batches whose parts are ready */
    IfmTrack **tracks; /* [n_streams] */
    double busy_ns;
    double error;     /* of its means, in standard deviations: the same for all sizes */
    SimPiece *pieces; /* [n_sizes] */
} SimReplica;

/* Work: a batch within a block. */
typedef struct
{
    gint64 start_ns;
    int n_left;
} SimWork;

typedef enum
{
    SIM_IDLE,
    SIM_PARTITION,
    SIM_PAD,
    SIM_COPY_IN,
    SIM_MERGE,
    SIM_COPY_OUT,
} SimActivity;

typedef struct
{
    const IfmPlanBlock *plan;
    int index; /* from 0 */
    int n_replicas;
    SimReplica *replicas;
    int order[IFM_PLAN_MAX_DEVICES]; /* replicas whose parts are not copied come first */
    int depth;
    SimWork *works;                     /* [depth] of batch n: n modulo depth */
    gint64 n_begun, n_merged, n_pushed; /* batches begin, are merged and handed on in order */
    SimActivity activity;
    int turn;                  /* index of the replica, in @order, whose part is handed over or copied back */
    gint64 since_ns, until_ns; /* of the activity */
    gint64 merge_ns;           /* when the merge began */
    gint64 free_ns;            /* when the last one ended */
    gboolean waiting;          /* it has nothing to do, … */
    IfmEventKind waits_for;    /* … because of this; IFM_EVENT_OTHER: its devices work */
    guint32 name;
    SimHost *host; /* [n_sizes] */
    IfmTrack *track, *passing, *queue;
} SimBlock;

typedef struct
{
    const IfmCosts *costs;
    const IfmPlan *plan;
    const IfmSimulateOptions *options;
    gint64 n_batches;
    int queue_depth, n_blocks;
    SimBlock *blocks;
    gint64 now_ns;
    gint64 *entered_ns, *put_ns, *left_ns; /* [n_batches] */
    GRand *random;                         /* of the times that are drawn */
    gboolean draws;                        /* a time differs from batch to batch of one size */
    IfmTrace *trace;                       /* NULL: not recorded */
    IfmTrack *batches;
    IfmPlanNames names;
} Simulator;

/* --- simulate-costs.c ------------------------------------------------------------------------------------------------- */

gboolean sim_init(Simulator *sim, const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options,
                  GError **error);
void sim_clear(Simulator *sim);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Simulator, sim_clear)
/* sim_rewind: The state before the first batch. @seed: of the times that are drawn. @sign: not 0: each replica's means are
 * off by what their intervals allow, or as much to the other side: a plan's search makes devices equally fast by their
 * tables, and the slower of two that are off sets the pace. @recorded: with a trace */
void sim_rewind(Simulator *sim, guint32 seed, int sign, gboolean recorded);
/* sim_draw: The time of an inference alone, ns: runs that were measured, by the stationary bootstrap (Politis and Romano,
 * JASA 89 (1994) 1303), which keeps their distribution and their correlation in time. */
double sim_draw(Simulator *sim, const SimReplica *replica, SimPiece *piece);
/* sim_factor: The slow-down of a piece while the devices of @busy work; its own device may be among them. */
double sim_factor(const Simulator *sim, const SimBlock *block, const SimReplica *replica, SimPiece *piece, guint32 busy);
static inline gsize sim_size_of(const Simulator *sim, gint64 batch)
{
    return (gsize)batch % sim->options->n_sizes;
}

/* --- simulate-trace.c ------------------------------------------------------------------------------------------------- */

void sim_trace_init(Simulator *sim);
/* sim_record: Records an event of a batch in a block; not a copy or a wait of duration 0. */
void sim_record(Simulator *sim, IfmTrack *track, IfmEventKind kind, const SimBlock *block, gint64 batch, gint64 start_ns,
                gint64 end_ns, gint64 bytes);
