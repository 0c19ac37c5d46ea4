#pragma once
#include <stdatomic.h>

#include <base/base.h>
#include <engine/engine.h>
#include <pipeline/pipeline.h>
#include <pthread.h>
#include <trace/trace.h>

G_BEGIN_DECLS

/* --- what a run is made of ---------------------------------------------------------------------------------------------
 *
 * A line is a plan made ready. For each block it has a thread, its queue and its replicas. A replica is a device of a
 * block, with its compiled models (variants: one, or one for each static size) and their requests. A batch on its way
 * through the line is in flight. Within a block it is a work, which has a job for each replica.
 *
 * Who may access what: a block's condition ("inbox") guards what other threads tell the block: its queue, the room in the
 * queue after it, the state of its jobs, the order to stop. The rest of a block, its replicas, tracks and works belong to
 * its thread, and to the thread that runs the line before it starts and after it ended. No thread holds two of these locks.
 */

#define IFM_MAX_CUTS (IFM_PLAN_MAX_DEVICES + 1)

typedef struct Line Line;
typedef struct Block Block;
typedef struct Replica Replica;
typedef struct Variant Variant;
typedef struct Work Work;

/* InFlight: a batch on its way. @cuts: [n_cuts] destinations where a share of any block ends, ascending. @ends: columns
 * of edge_index up to there. */
typedef struct
{
    const IfmBatch *batch;
    gsize index; /* in the run's batches */
    gint64 seq;  /* since the line began */
    gint64 n_own;
    const double *ratios; /* NULL: the plan's */
    gsize n_cuts;
    gint64 cuts[IFM_MAX_CUTS], ends[IFM_MAX_CUTS];
    IfmTensor edge_index; /* in the order of the shares; the batch's own if nothing has to be ordered */
    gint64 entered_ns, put_ns;
    gboolean failed;
} InFlight;

/* Crossing: a boundary that enters the line or crosses blocks. One that a block makes has a ring of buffers, one for
 * each batch that may be between the block's start and the last reader's end. */
typedef struct
{
    const IfmBoundary *boundary;
    int maker;   /* block, from 0; -1: it enters */
    int last;    /* the block that reads it last, or delivers it */
    gsize input; /* index of the batch's input that it is */
    IfmTensor *ring;
    gsize n_ring;
} Crossing;

/* Port: an input or output of a request. */
typedef struct
{
    IfmTensor given;   /* the tensor that the request has now */
    IfmTensor staging; /* host memory of a static model's size; empty until needed */
    IfmBuffer *buffer; /* the device's own memory; NULL until needed */
} Port;

typedef struct
{
    Variant *variant;
    IfmRequest *request;
    Port *inputs, *outputs;
    gboolean taken; /* of a profiled run: a job's outputs were not fetched yet */
} Slot;

/* Inference: of a profiled variant. It says where its device time is written when it is known. */
typedef struct
{
    const Slot *slot;
    gint64 completed_ns, wall_ns;
    gint64 nodes, edges; /* of the share */
    IfmTrack *track;     /* NULL: not recorded */
    IfmEvent *event;
    gint64 *device_ns;
} Inference;

/* Wall: the wall time of an inference of a share of that size. */
typedef struct
{
    gint64 nodes, edges, wall_ns;
    IfmEvent *event; /* of a profiled one: where its overhead is written; NULL: nowhere, or it was written */
} Wall;

/* NodeProfile: an inference whose nodes are put into the trace after recording. */
typedef struct
{
    GPtrArray *profiles; /* a reference */
    guint index;
    IfmTrack *track;
    const IfmEvent *event;
} NodeProfile;

/* The trace has the nodes of so many inferences of a variant, and of so many nodes at most. */
#define IFM_MAX_NODE_PROFILES 64
#define IFM_MAX_TRACE_NODES 64

/* Variant: a compiled model of the replica's stages. @nodes, @edges, @sources: of a static one; 0: any. */
struct Variant
{
    Replica *replica;
    gint64 nodes, edges, sources;
    gboolean profiled;
    IfmModel *model;
    IfmCompiled *compiled;
    GArray *ports; /* IfmStagedPort */
    gsize *inputs; /* [ports->len] the compiled model's index of each */
    gsize *outputs;
    int n_streams;
    Slot *slots; /* [n_slots] of stream s: s, s + n_streams, … */
    gsize n_slots;
    Variant *sampled;   /* the profiled run's compile, where device time is sampled */
    GArray *inferences; /* Inference: since device times were last fetched */
    GArray *nodes_of;   /* NodeProfile */
    GArray *walls;      /* Wall: where device time is sampled, of all inferences but the first, which is a cold one */
    gboolean is_warm;   /* the first inference is over */
    gboolean is_coarse; /* a device time was left out: the means that it is the difference of are of too many inferences */
};

typedef enum
{
    IFM_JOB_NONE,    /* its device has no share of the batch */
    IFM_JOB_HELD,    /* waits until the device has finished jobs that must not run together with it */
    IFM_JOB_RUNNING, /* handed to the device */
    IFM_JOB_DONE,    /* the device has answered */
    IFM_JOB_SEEN,    /* the block has taken note of it */
} IfmJobState;

/* Job: a device's share of a batch: nodes low to high, edges edge_low to edge_high. */
typedef struct
{
    Replica *replica;
    Work *work;
    gint64 low, high, edge_low, edge_high;
    Slot *slot;
    int stream;
    gint64 ready_ns;
    gint64 copied_bytes, started_ns, completed_ns;
    gboolean refused;  /* it could not be started */
    IfmJobState state; /* inbox */
    GError *error;     /* inbox */
} Job;

struct Work
{
    Block *block;
    InFlight *flight;
    IfmBlockTimes *times; /* a row of the line's */
    Job jobs[IFM_PLAN_MAX_DEVICES];
    gint64 partition_end_ns;
    gint64 merged_ns;
    GError *error;
    gboolean merged;
    int n_left; /* inbox: jobs that are neither DONE nor SEEN */
};

/* Stream: of a replica. Jobs wait in @held, in order, while jobs run that must not run together with them. */
typedef struct
{
    IfmTrack *track;
    Variant *running; /* of the running jobs */
    int n_running;
    GQueue held; /* Job* */
} Stream;

struct Replica
{
    Block *block;
    int place;  /* in the block */
    int device; /* of the plan */
    const IfmPlanDevice *described;
    IfmDeviceSpec *spec;
    IfmEngine *engine;
    IfmDeviceInfo *info;
    gboolean is_static;
    gboolean copies; /* the pipeline copies tensors into the device's own memory */
    gboolean profiles;
    GPtrArray *variants; /* Variant* */
    Stream *streams;     /* [n_streams] */
    int n_streams;
    gsize n_per_stream;
    IfmTensor *parts;   /* [depth] edge_index of its share, destinations counted from its first */
    gboolean fetch_due; /* device times must be fetched before another inference begins */
};

struct Block
{
    Line *line;
    int index; /* from 0 */
    const IfmPlanBlock *plan;
    guint32 infer_name;
    int depth; /* the maximum number of batches in it */
    gsize n_replicas;
    Replica *replicas;
    GPtrArray *outputs; /* const IfmBoundary* */
    gboolean reads_edges;
    Work *works; /* [depth] of batch n: n modulo depth */
    gint64 n_begun, n_merged, n_pushed;
    gint64 free_ns; /* when the thread last finished something */
    IfmTrack *host, *passing, *queue_track;
    pthread_t thread;
    gboolean has_thread;
    gboolean has_left; /* @line->ended: the thread touches nothing any more */
    /* inbox: */
    IfmCondition *inbox;
    InFlight **queue; /* [queue_depth] a ring */
    int queue_first, queue_n;
    int room;            /* in the queue after it */
    gboolean ended;      /* no more input comes */
    gboolean stopping;   /* begin nothing, hand nothing on, end when the devices are done */
    gboolean delivering; /* the caller has a batch */
    gint64 since_ns;     /* … since */
};

/* Failure: the run's is that of the earliest batch. */
typedef struct
{
    gsize index;
    int block, device;   /* device -1: of no device */
    gboolean is_devices; /* the device's fault: a plan without it may go on */
    GError *error;
} Failure;

/* What all lines of a pipeline share, and the line in use. */
struct IfmPipeline
{
    IfmPipelineOptions options;
    GHashTable *engines; /* name -> IfmEngine */
    GHashTable *tracks;  /* thread's name -> IfmTrack, borrowed from the trace */
    Line *line;          /* NULL: it was abandoned */
    IfmPlan *plan;
    guint32 refused; /* devices that failed while it was made: the first run reports the other plan */
};

struct Line
{
    IfmPipeline *pipeline;
    const IfmPipelineOptions *options;
    IfmPlan *plan;
    const IfmStagedModel *staged;
    IfmClock *clock;
    IfmTrace *trace;
    Block *blocks;
    int n_blocks;
    int queue_depth;
    Crossing *crossings;
    gsize n_crossings;
    const IfmBoundary *edge_index; /* NULL: a model without edges */
    gboolean parts_edges;          /* some block has several devices */
    IfmTensor *ordered;            /* [n_flights] edge_index in the order of the shares */
    IfmTensor zeros;               /* f32 [most_nodes] */
    InFlight *flights;             /* [n_flights] */
    gsize n_flights;
    IfmTrack *batches;
    IfmPlanNames names;
    gboolean is_given_ratios; /* the ratios of batches are meant for this plan */
    /* of a run */
    const IfmBatch *input;
    gsize n_input, first;
    IfmDelivered delivered;
    void *user;
    IfmBlockTimes *times; /* [n_input x n_blocks] */
    gint64 *entered_ns, *left_ns;
    _Atomic gint64 progress_ns; /* when a batch last progressed */
    _Atomic int abandoned;      /* a thread or a device did not come back: touch nothing of the caller's */
    /* ended: */
    IfmCondition *ended;
    int n_ended;       /* block threads */
    gsize n_delivered; /* the last block's inbox */
    Failure failure;   /* error NULL: none */
    guint32 lost;
    gboolean is_stuck; /* … and the caller had a batch then: no other line may continue with it */
};

/* --- partition.c ------------------------------------------------------------------------------------------------------ */

/* ifm_flight_init: Sets the cuts of all blocks for one batch; orders nothing yet. */
void ifm_flight_init(InFlight *flight, const Line *line, const IfmBatch *batch);
/* ifm_flight_share: The nodes of a replica. */
void ifm_flight_share(const InFlight *flight, const Replica *replica, gint64 *low, gint64 *high);
/* ifm_flight_edges_below: The columns of the ordered edge_index whose destination is below a cut. */
gint64 ifm_flight_edges_below(const InFlight *flight, gint64 cut);
/* ifm_flight_order: Orders the batch's edges. @count_only: only counts those of each share */
gboolean ifm_flight_order(InFlight *flight, Line *line, gboolean count_only, GError **error);
/* ifm_partition_part: The edges of a share as a tensor of its own: columns low to high of @ordered [2 x n_edges], with
 * @first subtracted from the destinations. @part: (out) [2 x (high - low)] */
void ifm_partition_part(const gint64 *ordered, gint64 n_edges, gint64 low, gint64 high, gint64 first, gint64 *part);

/* --- boundary-tensors.c ----------------------------------------------------------------------------------------------- */

/* ifm_crossings_find: Lists what enters the line and what its blocks make. */
void ifm_crossings_find(Line *line);
/* ifm_crossings_make: Allocates their buffers. After all replicas are made. */
gboolean ifm_crossings_make(Line *line, GError **error);
/* ifm_crossing_shape: @shape: (out) [boundary->rank] */
void ifm_crossing_shape(const Line *line, const IfmBoundary *boundary, gint64 nodes, gint64 edges, gint64 *shape);
/* ifm_line_tensor: A crossing boundary of one batch, whole. Borrowed. */
IfmTensor ifm_line_tensor(const Line *line, const char *boundary, const InFlight *flight);

/* --- line-tracks.c -------------------------------------------------------------------------------------------------- */

/* ifm_pipeline_track: The track named by the thread of @info, made when it is first asked for. @per_batch: events a batch
 * @spare: events beyond those of the batches    Returns: (transfer none) NULL without a trace */
IfmTrack *ifm_pipeline_track(IfmPipeline *pipeline, const IfmTrackInfo *info, gsize per_batch, gsize spare);
/* ifm_block_event: @flight: NULL: an event of no batch */
IfmEvent ifm_block_event(const Block *block, IfmEventKind kind, const InFlight *flight, gint64 start_ns, gint64 end_ns);
/* ifm_block_record_event: Not in an abandoned line, and not without a track (NULL). */
void ifm_block_record_event(const Block *block, IfmTrack *track, const IfmEvent *event);
/* ifm_block_record: An event of the block's host thread. */
void ifm_block_record(Block *block, IfmEventKind kind, const InFlight *flight, gint64 start_ns, gint64 end_ns);

/* --- line.c ----------------------------------------------------------------------------------------------------------- */

/* ifm_line_new: Makes a plan ready. @plan: copied    @device: (out) index of the plan's device that failed; -1: none
 * did */
Line *ifm_line_new(IfmPipeline *pipeline, const IfmPlan *plan, int *device, GError **error);
void ifm_line_free(Line *line);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Line, ifm_line_free)
/* ifm_line_run: Runs the batches from @first on, through a line on which nothing runs. FALSE as ifm_line_watch().
 * Failures of batches are in line->failure. */
gboolean ifm_line_run(Line *line, gsize first, GError **error);
/* ifm_line_check: Checks the batches' tensors, and compiles the models that static devices still need for them.
 * @device: as above */
gboolean ifm_line_check(Line *line, const IfmBatch *batches, gsize n_batches, int *device, GError **error);

/* --- replica.c, replica-tensors.c ------------------------------------------------------------------------------------- */

gboolean ifm_replica_init(Replica *replica, Block *block, int place, GError **error);
void ifm_replica_clear(Replica *replica);
/* ifm_replica_ready: Compiles the variant for a share of a batch unless it exists. */
gboolean ifm_replica_ready(Replica *replica, const InFlight *flight, GError **error);
/* ifm_replica_prepare: Chooses the request of a job and sets its tensors. */
gboolean ifm_replica_prepare(Job *job, GError **error);
/* ifm_replica_start: Starts a job, or holds it. A job that the device refuses is done at once, with its error. */
void ifm_replica_start(Job *job);
/* ifm_replica_see: Takes note of a job that is DONE: its times and event. Starts jobs that waited for it. */
void ifm_replica_see(Job *job);
/* ifm_replica_record_unanswered: Records a job that will never be DONE, up to now. */
void ifm_replica_record_unanswered(const Job *job, gint64 now_ns);
/* ifm_replica_fetch: Fetches the outputs of a job that succeeded, unless the device wrote them into place. */
gboolean ifm_replica_fetch(Job *job, GError **error);
/* ifm_replica_drop_held: Drops the jobs that were not started. */
void ifm_replica_drop_held(Replica *replica);

/* --- counters.c ------------------------------------------------------------------------------------------------------- */

/* ifm_variant_note: Takes note of an inference of a variant that succeeded. */
void ifm_variant_note(Variant *variant, const Inference *inference);
/* ifm_variant_reads_each: Whether the runtime reports means alone: times are read after each inference, before the next
 * one of the variant begins. */
gboolean ifm_variant_reads_each(const Variant *variant);
/* ifm_variant_fetch_times: As ifm_replica_fetch_times(), of one variant, of which nothing may be running. */
void ifm_variant_fetch_times(Variant *variant);
/* ifm_variant_fetch_due: Whether the runtime would lose device times if another inference began. */
gboolean ifm_variant_fetch_due(const Variant *variant);
/* ifm_replica_fetch_times: Asks the runtime for the device times of the noted inferences; nothing of the replica may be
 * running. */
void ifm_replica_fetch_times(Replica *replica);
/* ifm_line_each_variant: Calls @call with all variants of a line, those of the profiled run after their plain ones. */
void ifm_line_each_variant(Line *line, void (*call)(Line *line, Variant *variant, gpointer user), gpointer user);
/* ifm_line_begin_nodes: Before a run: if the trace is empty, it has room for nodes again. */
void ifm_line_begin_nodes(Line *line);
/* ifm_line_record_nodes: After the run: puts the nodes of profiled inferences into the trace. */
void ifm_line_record_nodes(Line *line);
/* ifm_line_note_overheads: After the run: writes what counting added to each sampled inference into the trace. */
void ifm_line_note_overheads(Line *line);
/* ifm_line_slow_down: Wall time of sampled inferences / the usual one without counting, less 1; NaN: unknown. */
double ifm_line_slow_down(Line *line);

/* --- block.c ---------------------------------------------------------------------------------------------------------- */

void ifm_block_init(Block *block, Line *line, int index);
void ifm_block_clear(Block *block);
/* ifm_block_start: Starts the thread of the block. */
gboolean ifm_block_start(Block *block, GError **error);
/* ifm_block_record_unanswered: For a block of an abandoned line whose thread has ended: records for each stream the
 * inference that it never answered, up to now. What was handed over after it did not begin. */
void ifm_block_record_unanswered(Block *block);
/* ifm_block_stop: Orders the block to begin nothing more and to end when its devices are done. Locks the inbox. */
void ifm_block_stop(Block *block);

/* --- watchdog.c ------------------------------------------------------------------------------------------------------- */

/* ifm_line_watch: Waits until all threads of the line ended. FALSE with IFM_ERROR_TIMEOUT or _CANCELLED if it had to
 * stop them. The line is abandoned if a thread did not come back. */
gboolean ifm_line_watch(Line *line, GError **error);

G_END_DECLS
