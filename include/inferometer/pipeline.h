#pragma once
#include <inferometer/engine.h>
#include <inferometer/trace.h>
#include <inferometer/zoo.h>

G_BEGIN_DECLS

/* --- the plan --------------------------------------------------------------------------------------------------------- */

#define IFM_PLAN_MAX_DEVICES 8

/** IfmPlanForm: of a device's models. Static ones take sizes of a list; what is smaller is padded to the next. */
typedef enum
{
    IFM_PLAN_DYNAMIC,
    IFM_PLAN_STATIC,
} IfmPlanForm;

typedef struct
{
    gint64 nodes, edges;
} IfmPlanSize;

/** IfmPlanDevice: an alias and what is behind it. @sizes: [n_sizes] of a static device: those it has models for. */
typedef struct
{
    char *alias, *device;
    IfmPlanForm form;
    IfmPlanSize *sizes;
    gsize n_sizes;
} IfmPlanDevice;

/** IfmPlanBlock: @devices: [n_devices] indices into the plan's devices; @ratios: [n_devices] shares of the destination
 * nodes, above 0, that add up to 1; edges follow their destination. */
typedef struct
{
    int first, last; /* stages, from 1 */
    gsize n_devices;
    int devices[IFM_PLAN_MAX_DEVICES];
    double ratios[IFM_PLAN_MAX_DEVICES];
} IfmPlanBlock;

/** IfmPlan: blocks in the order of their stages; every stage in one, every device in at most one, by one alias. */
typedef struct
{
    char *model;        /* name of the staged model */
    GPtrArray *devices; /* IfmPlanDevice* */
    GArray *blocks;     /* IfmPlanBlock */
} IfmPlan;

IfmPlan *ifm_plan_new(const char *model);
void ifm_plan_free(IfmPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmPlan, ifm_plan_free)
IfmPlan *ifm_plan_copy(const IfmPlan *plan);
/** ifm_plan_add_device: Returns: its index. */
int ifm_plan_add_device(IfmPlan *plan, const char *alias, const char *device, IfmPlanForm form);
/** ifm_plan_find_device: Returns: -1 where there is none of that alias. */
int ifm_plan_find_device(const IfmPlan *plan, const char *alias);
void ifm_plan_add_block(IfmPlan *plan, const IfmPlanBlock *block);
/** ifm_plan_same_shape: whether two plans differ in their ratios alone. */
gboolean ifm_plan_same_shape(const IfmPlan *a, const IfmPlan *b);

/**
 * ifm_plan_from_json: Either the bare blocks, [[["CPU","GPU"],[1,2,3],[0.5,0.5]],[["NPU"],[4,5,6,7],[1.0]]], or an object
 * {"plan": [...], "devices": {"CPU": {"device": "openvino:CPU@0", "form": "dynamic", "sizes": [[n,e],…]}}, "model":
 * "graphsage", …}; other keys (a prediction) are left alone. Bare blocks have devices without a spec (NULL).
 * @name: what messages call it
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID "NAME: block 2: ..." for a device in two blocks, a stage missing,
 * twice or out of order, ratios that do not add up to 1 (within 0.001; they are then scaled to 1), a wrong number of them,
 * an unknown alias or model, two aliases of one device, "sizes" that are none, a key that looks like a slip of one of ours.
 */
IfmPlan *ifm_plan_from_json(const json_t *json, const char *name, GError **error);
/** ifm_plan_to_json: the object. ifm_plan_blocks_to_json: the bare blocks. (transfer full) */
json_t *ifm_plan_to_json(const IfmPlan *plan);
json_t *ifm_plan_blocks_to_json(const IfmPlan *plan);
/** ifm_plan_to_text: "CPU+GPU 1-3 (0.50 : 0.50) > NPU 4-7". (transfer full) */
char *ifm_plan_to_text(const IfmPlan *plan);
/** ifm_plan_check: against its model: all its stages; blocks of several devices only of stages that can be split (each
 * output has a split axis). IFM_ERROR_INVALID "NAME: block 1: ...". */
gboolean ifm_plan_check(const IfmPlan *plan, const IfmStagedModel *staged, const char *name, GError **error);
/**
 * ifm_plan_static_size: Which of its sizes a static device takes for a share: of those that hold it the least by
 * nodes + edges, of equals the first. A size holds the share's nodes and edges, and where edges have to be added a node
 * more, which they may end in. Planning and running take the same.
 * @nodes: of a block of one device all that the batch has    @reads_edges: the block's stages have an edge_index
 * Returns: (borrowed) one of @sizes; NULL where none holds it.
 */
const IfmPlanSize *ifm_plan_static_size(const IfmPlanSize *sizes, gsize n_sizes, double nodes, double edges,
                                        gboolean reads_edges);

/* --- running it ------------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_DEVICE_TIME_OFF,     /* utilisation by counters is unavailable */
    IFM_DEVICE_TIME_ON,      /* every inference on a profiled compile */
    IFM_DEVICE_TIME_SAMPLED, /* one inference of each @sample_every on a profiled twin */
} IfmDeviceTime;

/** IfmBatch: what enters: one graph. @inputs: tensors for the staged model's own inputs (ifm_staged_inputs(1, last stage)),
 * in that order; borrowed until the batch was delivered. Its first @n_own nodes are destinations, whose rows come out; the
 * others (ghosts) are sources alone. @edge_index's destinations must be below n_own. */
typedef struct
{
    gint64 id;
    gint64 nodes, edges; /* rows of x; columns of edge_index */
    gint64 n_own;        /* 0: nodes */
    const IfmTensor *inputs;
    const double *ratios; /* of this batch, in the order of the plan's blocks and their devices; NULL: the plan's */
    void *user;
} IfmBatch;

/** IfmDelivered: called for each batch, in the order they entered, on the last block's thread. @outputs: the staged model's
 * outputs, borrowed for the call. @error: NULL where it went well; the batch that a run fails with is handed over by the
 * thread that called ifm_pipeline_run(), after all others. */
typedef void (*IfmDelivered)(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user);

/** IfmReplan: a device failed. Returns: (transfer full) a plan without the devices of @lost (a mask over the plan's
 * devices) over the same list of devices, or NULL where there is none: the run then stops. Called on one thread, between
 * runs of batches. */
typedef IfmPlan *(*IfmReplan)(const IfmPlan *plan, guint32 lost, const GError *why, void *user);

/** IfmCompiling: A device begins to compile stages of a block, or has ended. Called by the thread that makes or runs the
 * pipeline: should the process die meanwhile, somebody knows by which device. */
typedef void (*IfmCompiling)(int block, const char *alias, gboolean ended, void *user);

typedef struct
{
    IfmClock *clock;     /* NULL: a real one */
    IfmTrace *trace;     /* (optional) tracks are added to it; must outlive the pipeline */
    gsize trace_batches; /* how many batches it shall have room for */
    int queue_depth;     /* batches between two blocks, at least 1; 2 */
    /* batches that the devices of one block may be apart: 1: a block begins a batch when the last is merged; 2: a device
     * goes on with the next while its partner still has the last */
    int block_depth;
    gint64 most_nodes, most_edges; /* of any batch: buffers are made for these, once */
    IfmDeviceTime device_time;
    int sample_every;   /* 16 */
    gint64 watchdog_ns; /* no batch progressed for so long: the run ends; 0: 60 s */
    IfmReplan replan;   /* NULL: stop */
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

/** IfmBlockTimes: of one batch in one block. partition + device + merge = total, exactly; from start_ns to the merged
 * output it is total + turn, exactly. */
typedef struct
{
    gint64 start_ns;
    gint64 partition_ns;
    gint64 turn_ns;   /* from the end of partition to the start of the inference that ends last */
    gint64 device_ns; /* that inference's wall, as far as it lies behind partition */
    gint64 merge_ns;  /* from its end to the merged output */
    gint64 total_ns;
    gint64 device_wall_ns[IFM_PLAN_MAX_DEVICES]; /* of the inference alone, in the order of the block's devices */
    gint64
        device_turn_ns[IFM_PLAN_MAX_DEVICES]; /* from its being handed over to its start: the batch before had the device */
    gint64 device_time_ns[IFM_PLAN_MAX_DEVICES]; /* by counters; -1 */
    gint64 copy_bytes;
} IfmBlockTimes;

typedef struct
{
    gsize n_batches, n_delivered, n_failed; /* asked for; left with a result; left with an error */
    gint64 start_ns, end_ns;                /* first batch entered, last one left */
    gint64 *entered_ns, *left_ns;           /* [n_batches] -1 where it never did */
    IfmBlockTimes *times; /* [n_batches x n_blocks], of the plan it ended with; start_ns -1: never there */
    gsize n_blocks;
    gsize n_replans;
    IfmPlan *plan;                /* it ended with */
    guint32 lost;                 /* devices */
    double device_time_slow_down; /* wall of sampled inferences / median of those without counters - 1; NaN: unknown */
    char *stopped;                /* one line why it ended early; NULL where it did not */
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
 * ifm_pipeline_run: All batches through all blocks: a thread a block, bounded queues, each device infers on its own thread.
 * The destination of each edge decides which device has it, so edges are put in order of their destinations' shares once,
 * on entry; from then on every device's share of every boundary is a contiguous slice, which is no copy, and devices write
 * straight into their slices of the merged output.
 * May be called again. @result: (out) filled in every case; with an error, what happened until then. On a virtual clock the
 * caller is registered with it.
 * Returns: FALSE with the first failed batch's error ("block 1: CPU: batch 17: ..."), IFM_ERROR_TIMEOUT from the watchdog
 * (who waited for whom), IFM_ERROR_CANCELLED where interrupted. With @replan a device's failure is no error: batches that
 * it had not finished go through the new plan, none lost, none delivered twice. A device that never answers is left behind,
 * with all memory that it may still touch, inputs included: docs/pipelines.md, "Failure".
 */
gboolean ifm_pipeline_run(IfmPipeline *pipeline, const IfmBatch *batches, gsize n_batches, IfmDelivered delivered,
                          void *user, IfmPipelineResult *result, GError **error);

/**
 * ifm_partition_edges: What partition does: puts the columns of an edge_index in the order of the shares that their
 * destinations are in, keeping their order within a share.
 * @cuts: [n_cuts] ascending destinations where a share ends (the last is the number of destinations)
 * @ordered: [2 x n_edges] (out) destinations as they were    @ends: [n_cuts] (out) columns up to the end of each share
 * Returns: FALSE with IFM_ERROR_INVALID naming the edge whose destination is not below the last cut.
 */
gboolean ifm_partition_edges(const gint64 *edge_index, gint64 n_edges, const gint64 *cuts, gsize n_cuts, gint64 *ordered,
                             gint64 *ends, GError **error);

G_END_DECLS
