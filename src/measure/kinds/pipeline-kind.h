#pragma once

#include "../kind-private.h"

G_BEGIN_DECLS

/* What the files of the pipeline's kind share. pipeline-case.c is the program's part. In the worker pipeline-subject.c
 * makes batches and pipelines, pipeline-worker.c runs them, and pipeline-figures.c has what repetitions come to. */

/** IfmPlanItem: what a batch is made of: a graph, or a part of one. @whole_nodes: of the graph it is a part of
 * @inputs: tensor file with "edge_index" and, of a part, "nodes": what each was in the whole graph
 * @reference: tensor file of the whole graph's outputs; NULL: none */
typedef struct
{
    gint64 graph, nodes, edges, n_own, whole_nodes;
    const char *inputs, *reference;
} IfmPlanItem;

/** IfmPlanMade: what the program made of a case's graphs, which the request has as "made". Batch i is made of item i modulo
 * their number. @true_outputs: whether all devices compute the model */
typedef struct
{
    const IfmPlanItem *items;
    gsize n_items;
    gboolean true_outputs;
} IfmPlanMade;
extern const IfmRecordField ifm_kind_plan_made_fields[];

/** ifm_kind_plan_protocol: when a plan's repetitions end: their number, or the rule. */
IfmProtocol ifm_kind_plan_protocol(const IfmPlanCase *plan_case);
/** ifm_device_time_parse: IFM_ERROR_INVALID for another word than on, off, sampled. */
gboolean ifm_device_time_parse(const char *word, IfmDeviceTime *device_time, GError **error);
/** ifm_kind_plan_whole_model: All stages in one, of any size: what inputs are made for, and what the reference runs. */
IfmModel *ifm_kind_plan_whole_model(const IfmStagedModel *staged, const IfmStageSizes *sizes, guint32 seed, GError **error);
/** ifm_kind_plan_bindings: The sizes that a model's inputs leave free, of those two. @bindings: (out) [2]. Returns: how
 * many. */
gsize ifm_kind_plan_bindings(const IfmModel *model, gint64 nodes, gint64 edges, IfmDimBinding *bindings);

/* --- pipeline-figures.c ----------------------------------------------------------------------------------------------- */

/** WorkerRate: of one pipeline on its own: n departures in so long, after the first. */
typedef struct
{
    gsize n;
    gint64 span_ns;
} WorkerRate;
/** worker_rate: departures a second between the first one up to @until_ns and the last; NaN where there are not two. */
double worker_rate(const WorkerRate *rate);
/** worker_rate_add: those of one run. @until_ns: IFM_CLOCK_NEVER: all */
void worker_rate_add(WorkerRate *rate, const IfmPipelineResult *result, gint64 until_ns);

/** WorkerRepetition: one run of all batches, and what the devices did by themselves around it. */
typedef struct
{
    gsize n_batches, n_replans;
    gint64 makespan_ns;
    WorkerRate rate;
    GArray *latencies, *gaps;                                          /* double, gint64: ns */
    json_t *stages;                                                    /* list */
    char *plan;                                                        /* in words, at its end */
    double solo[IFM_PLAN_MAX_DEVICES], together[IFM_PLAN_MAX_DEVICES]; /* NaN: not measured */
    double slow_down;                                                  /* NaN */
    /* set once it is whole: by worker_repetition_finish() */
    double makespan, throughput_per_s, rate_per_s, latency_p50_ns;
    double gain, attained; /* of the bound: all at once / the best alone, the plan / all at once */
} WorkerRepetition;
void worker_repetition_init(WorkerRepetition *self);
void worker_repetition_finish(WorkerRepetition *self);
void worker_repetition_clear(WorkerRepetition *self);
/** worker_repetition_add: one run of the pipeline more, of @group. @samples: gint64: the gaps between departures are
 * added
 */
void worker_repetition_add(WorkerRepetition *self, gsize group, const IfmPipelineResult *result, GArray *samples);
/** worker_gaps: Adds the times between two batches leaving, in the order they left. @samples: gint64 */
void worker_gaps(const IfmPipelineResult *result, GArray *samples);
/** worker_figures: (transfer full) the result as far as the repetitions give it. @repetitions: WorkerRepetition
 * @aliases: [n_devices] @bound: whether there is one    @why: [n_devices] why a device has no part in it, or NULL */
json_t *worker_figures(const GArray *repetitions, const char *const *aliases, gsize n_devices, gboolean bound,
                       const char *const *why);

/* What asking for device time costs: wall times of inferences that were counted, beside those that were not. */
GPtrArray *worker_counted_new(void);
/** worker_counted_add: The wall times of the first @n_batches of one run of @group; none of one that went on by another
 * plan. */
void worker_counted_add(GPtrArray *lanes, gsize group, const IfmPipelineResult *result, gsize n_batches);
/** worker_counted_to_json: (transfer full) {"ratio", "interval", "n_counted", "n_plain", "why"}: mean wall time of
 * counted inferences / of the others - 1, summed over the devices; where that is not known, why. Equals: interval = ratio
 * +- t(least n - 1) (1 + ratio) sqrt(var(counted) / counted^2 + var(plain) / plain^2), variances of the means, for
 * effective sample sizes
 * @no_plain: (optional) why nothing ran without counters */
json_t *worker_counted_to_json(const GPtrArray *lanes, const char *no_plain);

/* --- pipeline-subject.c ----------------------------------------------------------------------------------------------- */

typedef struct WorkerPlan WorkerPlan;

/** WorkerGroup: graphs whose plans differ in their ratios alone: one pipeline, each batch with ratios of its own. */
typedef struct
{
    IfmPlan *plan;
    IfmPipeline *pipeline;
    IfmPipeline *plain; /* the same uncounted, where all of the pipeline's inferences are counted; or NULL */
    char *no_plain;     /* why there is none (any more), or NULL */
    gsize n_replanned;  /* runs after which it went by another plan */
    IfmTrace *trace;
    GArray *batches; /* IfmBatch */
    gint64 most_nodes, max_edges;
    WorkerPlan *run;
    char *aliases; /* of the plan's blocks: "CPU, GPU" */
    char *last;    /* devices of the block that hands out, of the plan it now goes by: "CPU, GPU" */
    char *stopped; /* why its last run ended early; NULL: it did not */
} WorkerGroup;

/** WorkerSolo: one device with all stages on it: what it does alone. */
typedef struct
{
    const IfmPlanDevice *device; /* of one of the plans */
    IfmPipeline *pipeline;       /* NULL: see why */
    char *why;
    double rate;     /* alone, as last seen; 0: not yet */
    gboolean failed; /* in the plan's run */
} WorkerSolo;

/** WorkerEntry: the inputs of an item, and what must come out. */
typedef struct
{
    const IfmPlanItem *item;
    IfmTensor *inputs; /* [n_inputs] */
    IfmReference *reference;
    double *ratios; /* of its graph's plan, block by block */
} WorkerEntry;

/** WorkerPlan: a plan case while the worker has it. */
struct WorkerPlan
{
    Worker *worker;
    const IfmPlanCase *plan_case;
    IfmPlanMade made;
    GPtrArray *plans;     /* IfmPlan*, one a graph */
    IfmProtocol protocol; /* of the repetitions */
    IfmDeviceTime device_time;
    IfmClock *clock; /* borrowed */
    const IfmStagedModel *staged;
    GPtrArray *inputs, *outputs; /* const IfmBoundary* */
    WorkerEntry *entries;        /* [made.n_items] */
    IfmTolerance tolerance;
    IfmVerification verdict;
    gboolean compared; /* there is a reference */
    GError *wrong;     /* of the first wrong output; NULL: none was */
    GPtrArray *groups; /* WorkerGroup* */
    WorkerSolo solos[IFM_PLAN_MAX_DEVICES];
    gsize n_devices, n_in_blocks; /* those of blocks come first; the others have a part in the bound alone */
    GArray *repetitions;          /* WorkerRepetition */
    GPtrArray *counted;           /* see worker_counted_add() */
    GPtrArray *replans;           /* char*: a line for each */
    gint stop_solos;              /* atomic */
    gint n_delivered;             /* atomic: batches that came out, of all that ran */
    gsize turn;                   /* which of a repetition's parts comes first */
    double slow_down;
    gboolean stuck;  /* a device never answered: its thread is in there still */
    char *doing;     /* what runs now; NULL: nothing does yet */
    gint reported_s; /* atomic: the coarse second (quarters of it) of the last beat */
    /* Where the repetitions are; set between them. @repetition: 0: warming up; @n_before: batches out before it began */
    gsize repetition, n_before;
    gint64 running_ns, repetition_ns; /* on the coarse clock: since when they run, and this one */
};

/** worker_plan_make: The case in hand, its batches and groups; compiles nothing yet. @request: has "made" */
gboolean worker_plan_make(WorkerPlan *self, const json_t *request, GError **error);
gboolean worker_plan_compile(WorkerPlan *self, GError **error);
/** worker_plan_free: Where a device never answered, nothing: its threads are still at it, and the process has to end. */
void worker_plan_free(WorkerPlan *self);
/** worker_plan_batch: Batch @index of the stream. Its user is the item's number. */
void worker_plan_batch(const WorkerPlan *self, gsize index, IfmBatch *batch);
/** worker_plan_verify: Compares what a batch came out as, every element of it. @timed: quickly; what is compared with
 * nothing is not looked at. On one thread at a time. @devices: of whom it came, for the message. A fault is in self->wrong.
 */
void worker_plan_verify(WorkerPlan *self, const IfmBatch *batch, const IfmTensor *outputs, const char *devices,
                        gboolean timed);
/** worker_plan_has_bound: whether one was asked for and there is one: one device cannot do better than itself. */
gboolean worker_plan_has_bound(const WorkerPlan *self);
/** worker_plan_solo: that of an alias, or NULL. */
WorkerSolo *worker_plan_solo(WorkerPlan *self, const char *alias);
/** worker_solo_has_part: whether it compiled, and did not fail since. */
gboolean worker_solo_has_part(const WorkerSolo *solo);
/** worker_plan_devices: (transfer container) specs, borrowed, of the plans' blocks, and of those that have a part in the
 * bound. */
GPtrArray *worker_plan_devices(const WorkerPlan *self);
/** worker_plan_describe: (transfer full) the result. */
json_t *worker_plan_describe(const WorkerPlan *self);
/** worker_plan_write_trace: that of the last run, whatever became of it. TRUE where none was asked for, or there is
 * nothing in it. */
gboolean worker_plan_write_trace(const WorkerPlan *self, GError **error);
/** worker_plan_report: What kind of step the phase is at, and with which devices ("block 1 for CPU"): who ends this
 * process, or finds it dead, can tell. The pipelines have a watchdog of their own, which knows more and so should report
 * first. */
void worker_plan_report(const WorkerPlan *self, const char *what);

G_END_DECLS
