/* Shared with other rooms: plans, and pipelines that run them. */
#pragma once
#include <jansson.h>

#include <base/tensor.h>
#include <inferometer/plan.h>
#include <trace/trace.h>

G_BEGIN_DECLS

/* --- the plan ------------------------------------------------------------------------------------------------------ */

#define IFM_PLAN_MAX_DEVICES 8

/** IfmPlanForm: the form of a device's models. Static models have sizes from a list; a smaller share is padded to one
 * of them. */
typedef enum
{
    IFM_PLAN_DYNAMIC,
    IFM_PLAN_STATIC,
} IfmPlanForm;

/** IfmPlanDevice: an alias and the device behind it. @sizes: [n_sizes] of a static device: the sizes of its models. */
typedef struct
{
    char *alias, *device;
    IfmPlanForm form;
    IfmPlanSize *sizes;
    gsize n_sizes;
} IfmPlanDevice;

/** IfmPlanBlock: @devices: [n_devices] indices into the plan's devices. @ratios: [n_devices] shares of the destination
 * nodes, above 0, that add up to 1. Edges follow their destination. */
typedef struct
{
    int first, last; /* stages, from 1 */
    gsize n_devices;
    int devices[IFM_PLAN_MAX_DEVICES];
    double ratios[IFM_PLAN_MAX_DEVICES];
} IfmPlanBlock;

IfmPlan *ifm_plan_new(const char *model);

IfmPlan *ifm_plan_copy(const IfmPlan *plan);

/** ifm_plan_add_device: Returns: its index. */
int ifm_plan_add_device(IfmPlan *plan, const char *alias, const char *device, IfmPlanForm form);

/** ifm_plan_find_device: Returns: its index; -1 if there is no such alias. */
int ifm_plan_find_device(const IfmPlan *plan, const char *alias);
void ifm_plan_add_block(IfmPlan *plan, const IfmPlanBlock *block);

/** ifm_plan_same_shape: Whether two plans differ in their ratios alone. */
gboolean ifm_plan_same_shape(const IfmPlan *a, const IfmPlan *b);

/**
 * ifm_plan_from_json: Reads the bare blocks, [[["CPU","GPU"],[1,2,3],[0.5,0.5]],[["NPU"],[4,5,6,7],[1.0]]], or an
 * object {"plan": [...], "devices": {"CPU": {"device": "openvino:CPU@0", "form": "dynamic", "sizes": [[n,e],…]}},
 * "model": "graphsage", …}. Other keys (a prediction) are ignored. Bare blocks have devices without a spec (NULL).
 * @name: names the plan in messages
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID "NAME: block 2: ..." for a device in two blocks, a stage
 * missing, twice or out of order, ratios that do not add up to 1 (within 0.001; they are then scaled to 1), a wrong
 * number of ratios, an unknown alias or model, two aliases of one device, "sizes" that are not sizes, or a key that
 * looks like a typo of a known one.
 */
IfmPlan *ifm_plan_from_json(const json_t *json, const char *name, GError **error);

/** ifm_plan_to_json: the object. ifm_plan_blocks_to_json: the bare blocks. (transfer full) */
json_t *ifm_plan_to_json(const IfmPlan *plan);

/* How far the ratios of a block may be from adding up to 1. */
#define IFM_PLAN_RATIO_TOLERANCE 0.001

/** ifm_plan_check_itself: Checks what needs no model: devices, ratios, the order of the stages. @runs: it is to be run: no
 * device has two aliases, and a static one has its sizes */
gboolean ifm_plan_check_itself(const IfmPlan *plan, gboolean runs, const char *name, GError **error);

/** ifm_plan_check: Checks a plan against its model: all its stages are there, and blocks of several devices have only
 * stages that can be split (each output has a split axis). IFM_ERROR_INVALID "NAME: block 1: ...". */
gboolean ifm_plan_check(const IfmPlan *plan, const IfmStagedModel *staged, const char *name, GError **error);

/* --- what a trace calls it ------------------------------------------------------------------------------------------ */

/** IfmPlanNames: names of the events of a plan that runs or is simulated. @of: by kind; of copies those to a device; 0 of
 * inferences and blocks, which have the name of their stages. */
typedef struct
{
    guint32 of[IFM_N_EVENT_KINDS], pad, copy_out;
} IfmPlanNames;
void ifm_plan_names_init(IfmPlanNames *names, IfmTrace *trace);

/** ifm_plan_stages_name: "stage 1", "stages 1-3". */
guint32 ifm_plan_stages_name(const IfmPlanBlock *block, IfmTrace *trace);

/** ifm_plan_event: An event of the block with that number, from 1. @stages: of ifm_plan_stages_name()    @batch: -1: none
 */
IfmEvent ifm_plan_event(const IfmPlanNames *names, guint32 stages, int number, const IfmPlanBlock *block, IfmEventKind kind,
                        gint64 batch, gint64 start_ns, gint64 end_ns);

/* --- running a plan ------------------------------------------------------------------------------------------------ */

typedef enum
{
    IFM_DEVICE_TIME_OFF,     /* utilisation by counters is unavailable */
    IFM_DEVICE_TIME_ON,      /* every inference, by a compile with profiling on */
    IFM_DEVICE_TIME_SAMPLED, /* one inference of each @sample_every, by a second compile with profiling on */
} IfmDeviceTime;

/* Of an inference that was counted by a runtime that reports means alone (IFM_PROFILE_MEANS): its time is left out, since
 * what it may be off by, summed over the nodes, is IFM_DEVICE_TIME_MAX_ERROR_RATIO of its wall time or more. */
#define IFM_DEVICE_TIME_COARSE (-2)
#define IFM_DEVICE_TIME_MAX_ERROR_RATIO 0.05

/** IfmBatch: one graph that enters. @inputs: tensors for the inputs of the staged model, in the order of its boundaries;
 * borrowed until the batch is delivered. The first @n_own nodes are destinations, and the outputs have their rows. The
 * other nodes (ghosts) are sources alone. The destinations of @edge_index must be below n_own. */
typedef struct
{
    gint64 id;
    gint64 nodes, edges; /* rows of x; columns of edge_index */
    gint64 n_own;        /* 0: nodes */
    const IfmTensor *inputs;
    const double *ratios; /* of this batch, in the order of the plan's blocks and their devices; NULL: the plan's */
    void *user;
} IfmBatch;

/** IfmDelivered: Called for each batch, in the order in which batches entered, on the last block's thread. @outputs:
 * the staged model's outputs, borrowed for the call. @error: NULL for success. The batch with which a run fails is
 * delivered last, by the thread that called ifm_pipeline_run(). */
typedef void (*IfmDelivered)(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user);

/** IfmReplan: Called when a device failed. Returns: (transfer full) a plan without the devices of @lost (a mask over
 * the plan's devices), over the same list of devices; NULL: there is none, and the run stops. Called on one thread,
 * between runs of batches. */
typedef IfmPlan *(*IfmReplan)(const IfmPlan *plan, guint32 lost, const GError *why, void *user);

/** IfmCompiling: Reports that a device begins to compile stages of a block, or has ended. Called by the thread that
 * makes or runs the pipeline. If the process dies in between, the last report names the device. */
typedef void (*IfmCompiling)(int block, const char *alias, gboolean ended, void *user);

typedef struct
{
    IfmClock *clock;     /* NULL: a real clock */
    IfmTrace *trace;     /* (optional) tracks are added to it; must outlive the pipeline */
    gsize trace_batches; /* the number of batches that it has room for */
    int queue_depth;     /* batches between two blocks, at least 1; default 2 */
    /* how many batches a block may have at once. 1: it begins a batch when the one before is merged. 2: a device begins
     * the next batch while its partner still has the last. */
    int block_depth;
    gint64 most_nodes, max_edges; /* of any batch: buffers are allocated for these, once */
    IfmDeviceTime device_time;
    int sample_every;   /* default 16 */
    gint64 watchdog_ns; /* the run ends when no batch progressed for so long, ns; 0: 60 s */
    IfmReplan replan;   /* NULL: the run stops */
    void *replan_user;
    IfmCompiling compiling; /* (optional) */
    void *compiling_user;
    IfmDtype dtype;
    const char *cache_dir;
    guint32 seed;            /* of the weights */
    IfmStageSizes sizes;     /* features, hidden */
    const gint *interrupted; /* (atomic) (optional) */
} IfmPipelineOptions;

#define IFM_PIPELINE_OPTIONS_INIT                                                                                          \
    ((IfmPipelineOptions){ .queue_depth = 2,                                                                               \
                           .block_depth = 2,                                                                               \
                           .sample_every = 16,                                                                             \
                           .watchdog_ns = G_GINT64_CONSTANT(60000000000),                                                  \
                           .dtype = IFM_DTYPE_F32,                                                                         \
                           .seed = 1 })

/** IfmBlockTimes: of one batch in one block, ns. partition + device + merge = total, exactly. From start_ns to the
 * merged output it is total + turn, exactly. */
typedef struct
{
    gint64 start_ns;
    gint64 partition_ns;
    gint64 turn_ns;   /* from the end of partition to the start of the inference that ends last */
    gint64 device_ns; /* of that inference: its wall time after the end of partition */
    gint64 merge_ns;  /* from its end to the merged output */
    gint64 total_ns;
    gint64 device_wall_ns[IFM_PLAN_MAX_DEVICES]; /* of each inference, in the order of the block's devices */
    gint64 device_turn_ns[IFM_PLAN_MAX_DEVICES]; /* from its hand-over to its start: the device had an earlier batch */
    gint64 device_time_ns[IFM_PLAN_MAX_DEVICES]; /* by counters; -1: unknown, IFM_DEVICE_TIME_COARSE */
    gint64 copy_bytes;
} IfmBlockTimes;

typedef struct
{
    gsize n_batches, n_delivered, n_failed; /* asked for; delivered with a result; delivered with an error */
    gint64 start_ns, end_ns;                /* entry of the first batch, end of the last */
    gint64 *entered_ns, *left_ns;           /* [n_batches] -1: it did not enter, or did not leave */
    IfmBlockTimes *times; /* [n_batches x n_blocks], of the last plan; start_ns -1: the batch did not get there */
    gsize n_blocks;
    gsize n_replans;
    IfmPlan *plan;                /* the last one of the run */
    guint32 lost;                 /* mask of lost devices */
    double device_time_slow_down; /* wall time of sampled inferences / median of those without counters - 1; NaN: unknown */
    char *stopped;                /* why it ended early, one line; NULL if it did not */
} IfmPipelineResult;
void ifm_pipeline_result_clear(IfmPipelineResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPipelineResult, ifm_pipeline_result_clear)

typedef struct IfmPipeline IfmPipeline;

/**
 * ifm_pipeline_new: Opens engines, compiles each block's range for each of its devices, makes buffers.
 * Returns: (transfer full) NULL with the errors of ifm_plan_check() and ifm_engine_compile(), prefixed with block and
 * device.
 */
IfmPipeline *ifm_pipeline_new(const IfmPlan *plan, const IfmPipelineOptions *options, GError **error);
void ifm_pipeline_free(IfmPipeline *pipeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmPipeline, ifm_pipeline_free)

/**
 * ifm_pipeline_run: Runs all batches through all blocks, with a thread for each block, bounded queues, and each device
 * inferring on its own thread. An edge belongs to the device that has its destination. Edges are therefore ordered by
 * the shares of their destinations once, on entry. After that every device's share of every boundary is a contiguous
 * slice, which needs no copy, and devices write into their slices of the merged output.
 * May be called again. On a virtual clock the caller is registered with it.
 * @result: (out) filled in every case; with an error, what happened until then
 * Returns: FALSE with the error of the first failed batch ("block 1: CPU: batch 17: ..."), IFM_ERROR_TIMEOUT from the
 * watchdog (with what each block waited for), or IFM_ERROR_CANCELLED if interrupted. With @replan a failed device is
 * not an error: the batches that it had not finished go through the new plan; none is lost, none is delivered twice. A
 * device that never answers is abandoned with all memory that it may still touch, inputs included: docs/pipelines.md,
 * "Failure".
 */
gboolean ifm_pipeline_run(IfmPipeline *pipeline, const IfmBatch *batches, gsize n_batches, IfmDelivered delivered,
                          void *user, IfmPipelineResult *result, GError **error);

/* --- pipeline ------------------------------------------------------------------------------------------------------ */

/* Parts of plans that searching and predicting need. */

/**
 * ifm_partition_edges: Orders the columns of an edge_index by the shares that their destinations are in, and keeps
 * their order within a share.
 * @cuts: [n_cuts] ascending destinations where a share ends (the last is the number of destinations); at most
 * IFM_PLAN_MAX_DEVICES + 1
 * @ordered: [2 x n_edges] (out) destinations unchanged    @ends: [n_cuts] (out) columns up to the end of each share
 * Returns: FALSE with IFM_ERROR_INVALID and the edge whose destination is not below the last cut.
 */
gboolean ifm_partition_edges(const gint64 *edge_index, gint64 n_edges, const gint64 *cuts, gsize n_cuts, gint64 *ordered,
                             gint64 *ends, GError **error);

/** ifm_plan_block_name: "CPU+GPU" of block @number, from 1; "" for one that it has not. (transfer full) */
char *ifm_plan_block_name(const IfmPlan *plan, int number);

json_t *ifm_plan_blocks_to_json(const IfmPlan *plan);

/**
 * ifm_plan_static_size: The size that a static device takes for a share: of those that hold the share the one with the
 * fewest nodes + edges, of equal ones the first. A size holds the share's nodes and edges; where edges have to be
 * added, it also needs one more node, in which they end. Planning and running take the same size.
 * @nodes: of a block of one device: all nodes of the batch    @reads_edges: the block's stages have an edge_index
 * Returns: (borrowed) one of @sizes; NULL if none holds the share.
 */
const IfmPlanSize *ifm_plan_static_size(const IfmPlanSize *sizes, gsize n_sizes, double nodes, double edges,
                                        gboolean reads_edges);

static inline const IfmPlanDevice *ifm_plan_device(const IfmPlan *plan, int index)
{
    return (const IfmPlanDevice *)g_ptr_array_index(plan->devices, (guint)index);
}

static inline const IfmPlanBlock *ifm_plan_block(const IfmPlan *plan, guint index)
{
    return &g_array_index(plan->blocks, IfmPlanBlock, index);
}

G_END_DECLS
