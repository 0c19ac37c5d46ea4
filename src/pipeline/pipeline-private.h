#pragma once
#include <stdatomic.h>

#include <inferometer/pipeline.h>

G_BEGIN_DECLS

/* --- plan.c, plan-json.c --------------------------------------------------------------------------------------------- */

/* How far the ratios of a block may be from adding up to 1. */
#define IFM_PLAN_RATIO_TOLERANCE 0.001

static inline const IfmPlanDevice *ifm_plan_device(const IfmPlan *plan, int index)
{
    return (const IfmPlanDevice *)g_ptr_array_index(plan->devices, (guint)index);
}

static inline const IfmPlanBlock *ifm_plan_block(const IfmPlan *plan, guint index)
{
    return &g_array_index(plan->blocks, IfmPlanBlock, index);
}

/* ifm_plan_check_itself: what can be told without the model: devices, ratios, the order of the stages. */
gboolean ifm_plan_check_itself(const IfmPlan *plan, const char *name, GError **error);

/* --- what a run is made of ---------------------------------------------------------------------------------------------
 *
 * A line is a plan made ready: for each block a thread, its queue and its lanes; a lane is a device of a block, with its
 * compiled models (variants: one, or one a size) and their requests. A batch on its way through the line is a flight; while
 * a block has it, it is a work there, which has a job for each lane.
 *
 * Who may touch what: a block's condition ("mail") guards what others tell the block: its queue, the room in the queue
 * after it, what jobs came to, the order to stop. All else of a block, its lanes, tracks and works belongs to its thread,
 * and to the thread that runs the line before it starts and after it ended. Nobody holds two of these locks.
 */

#define IFM_MAX_CUTS (IFM_PLAN_MAX_DEVICES + 1)

typedef struct Line Line;
typedef struct Block Block;
typedef struct Lane Lane;
typedef struct Variant Variant;
typedef struct Work Work;

/* Flight: @cuts: [n_cuts] destinations where a share of any block ends, ascending; @ends: columns of edge_index up to
 * there. */
typedef struct
{
    const IfmBatch *batch;
    gsize index; /* in the run's batches */
    gint64 seq;  /* since the line began */
    gint64 n_own;
    const double *ratios; /* NULL: the plan's */
    gsize n_cuts;
    gint64 cuts[IFM_MAX_CUTS], ends[IFM_MAX_CUTS];
    IfmTensor edge_index; /* in the order of the shares; the batch's own where there is nothing to order */
    gint64 entered_ns, put_ns;
    gboolean failed;
} Flight;

/* Crossing: a boundary that enters the line or crosses blocks. One made by a block has a ring of buffers, one for each
 * batch that may be between the block's start and the last reader's end. */
typedef struct
{
    const IfmBoundary *boundary;
    int maker;   /* block, from 0; -1: it enters */
    int last;    /* the block that reads it last, or hands it out */
    gsize input; /* which of the batch's inputs it enters as */
    IfmTensor *ring;
    gsize n_ring;
} Crossing;

/* Port: of a request. */
typedef struct
{
    IfmTensor given;   /* what the request has now */
    IfmTensor staging; /* host memory of a static model's size; empty until needed */
    IfmBuffer *buffer; /* the device's own memory; NULL until needed */
} Port;

typedef struct
{
    Variant *variant;
    IfmRequest *request;
    Port *inputs, *outputs;
    gboolean taken; /* of a twin: by a job whose outputs were not fetched yet */
} Slot;

/* Inference: of a profiled variant: where its device time shall be written once it is known. */
typedef struct
{
    const Slot *slot;
    gint64 completed_ns, wall_ns;
    gint64 nodes, edges; /* of the share */
    IfmTrack *track;     /* NULL: not recorded */
    IfmEvent *event;
    gint64 *device_ns;
} Inference;

/* Wall: of an inference of a share of that size. */
typedef struct
{
    gint64 nodes, edges, wall_ns;
    IfmEvent *event; /* of a profiled one: where its overhead shall be written; NULL: nowhere, or it was */
} Wall;

/* NodeProfile: of an inference whose nodes shall be in the trace once nothing is being recorded. */
typedef struct
{
    GPtrArray *profiles; /* a reference */
    guint index;
    IfmTrack *track;
    const IfmEvent *event;
} NodeProfile;

/* Of so many inferences of a variant the trace has the nodes, of so many nodes. */
#define IFM_MOST_NODE_PROFILES 64
#define IFM_MOST_TRACE_NODES 64

/* Variant: a model of the lane's stages, compiled. @nodes, @edges, @sources: of a static one; 0: any. */
struct Variant
{
    Lane *lane;
    gint64 nodes, edges, sources;
    gboolean profiled;
    IfmModel *model;
    IfmCompiled *compiled;
    GArray *ports; /* IfmStagedPort */
    gsize *inputs; /* [ports->len] the compiled model's number of each */
    gsize *outputs;
    int n_streams;
    Slot *slots; /* [n_slots] of stream s: s, s + n_streams, … */
    gsize n_slots;
    Variant *twin;      /* profiled, where device time is sampled */
    GArray *inferences; /* Inference: since device times were last fetched */
    GArray *nodes_of;   /* NodeProfile */
    GArray *walls;      /* Wall: where device time is sampled: of all inferences but the first, which is a cold one */
    gboolean is_warm;   /* the first was */
};

typedef enum
{
    IFM_JOB_NONE,    /* its device has no share of the batch */
    IFM_JOB_HELD,    /* waits until the device has done what may not run beside it */
    IFM_JOB_RUNNING, /* handed to the device */
    IFM_JOB_DONE,    /* the device has answered */
    IFM_JOB_SEEN,    /* the block knows */
} IfmJobState;

/* Job: a device's share of a batch: nodes low to high, edges edge_low to edge_high. */
typedef struct
{
    Lane *lane;
    Work *work;
    gint64 low, high, edge_low, edge_high;
    Slot *slot;
    int stream;
    gint64 ready_ns;
    gint64 copied_bytes, started_ns, completed_ns;
    gboolean refused;  /* it could not be started */
    IfmJobState state; /* mail */
    GError *error;     /* mail */
} Job;

struct Work
{
    Block *block;
    Flight *flight;
    IfmBlockTimes *times; /* a row of the line's */
    Job jobs[IFM_PLAN_MAX_DEVICES];
    gint64 partition_end_ns;
    gint64 merged_ns;
    GError *error;
    gboolean merged;
    int n_left; /* mail: jobs that are neither DONE nor SEEN */
};

/* Stream: of a lane. Jobs wait in @held, in their order, while others run that must not run beside them. */
typedef struct
{
    IfmTrack *track;
    Variant *running; /* whose jobs run */
    int n_running;
    GQueue held; /* Job* */
} Stream;

struct Lane
{
    Block *block;
    int place;  /* in the block */
    int device; /* of the plan */
    const IfmPlanDevice *described;
    IfmDeviceSpec *spec;
    IfmEngine *engine;
    IfmDeviceInfo *info;
    gboolean is_static;
    gboolean copies; /* tensors go into memory of the device by copies of ours */
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
    int depth; /* batches that may be in it */
    gsize n_lanes;
    Lane *lanes;
    GPtrArray *outputs; /* const IfmBoundary* */
    gboolean reads_edges;
    Work *works; /* [depth] of batch n: n modulo depth */
    gint64 n_begun, n_merged, n_pushed;
    gint64 free_ns; /* when the thread was last done with something */
    IfmTrack *host, *passing, *queue_track;
    pthread_t thread;
    gboolean has_thread;
    gboolean has_left; /* ended: the thread touches nothing any more */
    /* mail: */
    IfmCondition *mail;
    Flight **queue; /* [queue_depth] a ring */
    int queue_first, queue_n;
    int room;            /* in the queue after it */
    gboolean ended;      /* nothing comes any more */
    gboolean stopping;   /* begin nothing, hand nothing on, end when the devices are done */
    gboolean delivering; /* the caller has a batch */
    gint64 since_ns;     /* … since */
};

/* Failure: the one of the earliest batch is the run's. */
typedef struct
{
    gsize index;
    int block, device;   /* device -1: none is to blame */
    gboolean is_devices; /* the device's, so that a plan without it may go on */
    GError *error;
} Failure;

typedef struct
{
    guint32 partition, merge, pad, copy_in, copy_out, queue, wait_input, wait_output, batch;
} Names;

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
    gboolean parts_edges;          /* some block of several devices */
    IfmTensor *ordered;            /* [n_flights] edge_index in the order of the shares */
    IfmTensor zeros;               /* f32 [most_nodes] */
    Flight *flights;               /* [n_flights] */
    gsize n_flights;
    IfmTrack *batches;
    Names names;
    gboolean is_given_ratios; /* batches' own ratios are meant for this plan */
    /* of a run */
    const IfmBatch *input;
    gsize n_input, first;
    IfmDelivered delivered;
    void *user;
    IfmBlockTimes *times; /* [n_input x n_blocks] */
    gint64 *entered_ns, *left_ns;
    _Atomic gint64 progress_ns; /* when a batch last got on */
    _Atomic int abandoned;      /* a thread or a device never came back: touch nothing that is the caller's */
    /* ended: */
    IfmCondition *ended;
    int n_ended;       /* block threads */
    gsize n_delivered; /* the last block's mail */
    Failure failure;   /* error NULL: none */
    guint32 lost;
    gboolean is_stuck; /* … and the caller had a batch then: no other line may go on with it */
};

/* --- partition.c ------------------------------------------------------------------------------------------------------ */

/* ifm_flight_init: cuts of all blocks for one batch; nothing is ordered yet. */
void ifm_flight_init(Flight *flight, const Line *line, const IfmBatch *batch);
/* ifm_flight_share: the nodes of a lane. */
void ifm_flight_share(const Flight *flight, const Lane *lane, gint64 *low, gint64 *high);
/* ifm_flight_edges_below: columns of the ordered edge_index whose destination is below a cut. */
gint64 ifm_flight_edges_below(const Flight *flight, gint64 cut);
/* ifm_flight_order: Orders the batch's edges. @count_only: how many belong to each share, without ordering them. */
gboolean ifm_flight_order(Flight *flight, Line *line, gboolean count_only, GError **error);
/* ifm_partition_part: A share's edges as a tensor of its own: columns low to high of @ordered [2 x n_edges], destinations
 * less @first. @part: [2 x (high - low)] */
void ifm_partition_part(const gint64 *ordered, gint64 n_edges, gint64 low, gint64 high, gint64 first, gint64 *part);

/* --- line.c -------------------------------------------------------------------------------------------------------------
 */

/* ifm_line_new: @plan: copied. @device: (out) which of the plan's it failed for; -1 */
Line *ifm_line_new(IfmPipeline *pipeline, const IfmPlan *plan, int *device, GError **error);
void ifm_line_free(Line *line);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Line, ifm_line_free)
/* ifm_line_tensor: a crossing boundary of one batch, whole. */
IfmTensor ifm_line_tensor(const Line *line, const char *boundary, const Flight *flight);
/* ifm_line_run: Batches @first to the last, through a line nothing runs on. FALSE as ifm_line_watch(); failures of batches
 * are in line->failure. */
gboolean ifm_line_run(Line *line, gsize first, GError **error);
/* ifm_line_check: the batches' tensors; compiles what static devices still need for them. @device: as above */
gboolean ifm_line_check(Line *line, const IfmBatch *batches, gsize n_batches, int *device, GError **error);

/* ifm_pipeline_tell: that a device of a block begins or has ended to compile. */
void ifm_pipeline_tell(const IfmPipeline *pipeline, const Lane *lane, gboolean ended);
/* What the line takes of the pipeline that it belongs to, shared by all of its lines. */
const IfmPipelineOptions *ifm_pipeline_options(const IfmPipeline *pipeline);
IfmEngine *ifm_pipeline_engine(IfmPipeline *pipeline, const char *name, GError **error);
/* @spare: events it has room for beside those of the batches */
IfmTrack *ifm_pipeline_track(IfmPipeline *pipeline, const IfmTrackInfo *info, gsize per_batch, gsize spare);

/* --- lane.c, lane-tensors.c -------------------------------------------------------------------------------------------
 */

gboolean ifm_lane_init(Lane *lane, Block *block, int place, GError **error);
void ifm_lane_clear(Lane *lane);
/* ifm_lane_ready: Compiles the variant for a share of a batch, if it is not there. */
gboolean ifm_lane_ready(Lane *lane, const Flight *flight, GError **error);
/* ifm_lane_prepare: Chooses the request of a job and sets its tensors. */
gboolean ifm_lane_prepare(Job *job, GError **error);
/* ifm_lane_start: Starts a job, or holds it. One that the device does not take is done at once, with its error. */
void ifm_lane_start(Job *job);
/* ifm_lane_see: Takes note of a job that is DONE: its times and event. Starts jobs that waited for it. */
void ifm_lane_see(Job *job);
/* ifm_lane_record_unanswered: A job that will never be DONE, up to now. */
void ifm_lane_record_unanswered(const Job *job, gint64 now_ns);
/* ifm_lane_fetch: The outputs of a job that ended well, where the device did not write them into place. */
gboolean ifm_lane_fetch(Job *job, GError **error);
/* ifm_lane_drop_held: Forgets jobs that were not started. */
void ifm_lane_drop_held(Lane *lane);
/* ifm_lane_cancel: Asks whatever runs to end. */
void ifm_lane_cancel(Lane *lane);

/* --- counters.c ---------------------------------------------------------------------------------------------------------
 */

/* ifm_variant_note: An inference of a variant ended well. */
void ifm_variant_note(Variant *variant, const Inference *inference);
/* ifm_variant_fetch_due: whether the runtime would lose device times if another were added. */
gboolean ifm_variant_fetch_due(const Variant *variant);
/* ifm_lane_fetch_times: Asks the runtime for the device times of what was noted; nothing of the lane may be running. */
void ifm_lane_fetch_times(Lane *lane);
/* ifm_line_begin_nodes: Before a run: where the trace holds nothing, or what it held was forgotten, it has room for nodes
 * again. */
void ifm_line_begin_nodes(Line *line);
/* ifm_line_record_nodes: Nodes of profiled inferences, into the trace. After the run. */
void ifm_line_record_nodes(Line *line);
/* ifm_line_note_overheads: What counting added to each sampled inference, into the trace. After the run. */
void ifm_line_note_overheads(Line *line);
/* ifm_line_slow_down: wall time of sampled inferences over what is usual without counting, less 1; NaN. */
double ifm_line_slow_down(const Line *line);

/* --- block.c, queue.c ---------------------------------------------------------------------------------------------------
 */

void ifm_block_init(Block *block, Line *line, int index);
void ifm_block_clear(Block *block);
/* ifm_block_start: its thread. */
gboolean ifm_block_start(Block *block, GError **error);
/* ifm_block_record_unanswered: Of a block of an abandoned line whose thread has left: of each stream the inference that it
 * never answered, up to now; what was handed over behind it did not begin. */
void ifm_block_record_unanswered(Block *block);
void ifm_block_record(Block *block, IfmEventKind kind, guint32 name, const Flight *flight, gint64 start_ns, gint64 end_ns,
                      gint64 bytes);
/* ifm_line_fail: Notes a failure of the run. @device: -1: nobody's */
void ifm_line_fail(Line *line, gsize index, int block, int device, const GError *error);

/* queue.c: with the mail locked by the caller. */
Flight *ifm_queue_take(Block *block);
/* queue.c: lock what they need themselves. */
void ifm_queue_put(Block *to, Flight *flight);
void ifm_queue_give_room(Block *to);
void ifm_block_end_input(Block *block);
void ifm_block_stop(Block *block);

/* --- replan.c -----------------------------------------------------------------------------------------------------------
 */

/* ifm_line_replan: (transfer full) a line without the lost devices; more may be lost in making it. NULL: there is none. */
Line *ifm_line_replan(IfmPipeline *pipeline, const IfmPlan *plan, guint32 *lost, const GError *why, GError **error);

/* --- watchdog.c ---------------------------------------------------------------------------------------------------------
 */

/* ifm_line_watch: Waits until all threads of the line ended. FALSE with IFM_ERROR_TIMEOUT or _CANCELLED where it had to
 * stop them; the line is abandoned where one did not come back. */
gboolean ifm_line_watch(Line *line, GError **error);

G_END_DECLS
