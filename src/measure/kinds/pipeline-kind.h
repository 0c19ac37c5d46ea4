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
extern const IfmRecordField ifm_plan_made_fields[];

/** ifm_plan_protocol: when a plan's repetitions end: their number, or the rule. */
IfmProtocol ifm_plan_protocol(const IfmPlanCase *plan_case);
/** ifm_device_time_parse: IFM_ERROR_INVALID for another word than on, off, sampled. */
gboolean ifm_device_time_parse(const char *word, IfmDeviceTime *device_time, GError **error);
/** ifm_plan_whole_model: All stages in one, of any size: what inputs are made for, and what the reference runs. */
IfmModel *ifm_plan_whole_model(const IfmStagedModel *staged, const IfmStageSizes *sizes, guint32 seed, GError **error);
/** ifm_plan_bindings: The sizes that a model's inputs leave free, of those two. @bindings: (out) [2]. Returns: how many. */
gsize ifm_plan_bindings(const IfmModel *model, gint64 nodes, gint64 edges, IfmDimBinding *bindings);

/* --- pipeline-figures.c ----------------------------------------------------------------------------------------------- */

/** IfmPlanRate: of one pipeline on its own: n departures in so long, after the first. */
typedef struct
{
    gsize n;
    gint64 span_ns;
} IfmPlanRate;
/** ifm_plan_rate: departures a second between the first one up to @until_ns and the last; NaN where there are not two. */
double ifm_plan_rate(const IfmPlanRate *rate);
/** ifm_plan_rate_add: those of one run. @until_ns: IFM_CLOCK_NEVER: all */
void ifm_plan_rate_add(IfmPlanRate *rate, const IfmPipelineResult *result, gint64 until_ns);

/** IfmPlanRepetition: one run of all batches, and what the devices did by themselves around it. */
typedef struct
{
    gsize n_batches, n_replans;
    gint64 makespan_ns;
    IfmPlanRate rate;
    GArray *latencies, *gaps;                                          /* double, gint64: ns */
    json_t *stages;                                                    /* list */
    char *plan;                                                        /* in words, at its end */
    double solo[IFM_PLAN_MAX_DEVICES], together[IFM_PLAN_MAX_DEVICES]; /* NaN: not measured */
    double slow_down;                                                  /* NaN */
    /* set once it is whole: by ifm_plan_repetition_finish() */
    double makespan, throughput_per_s, rate_per_s, latency_p50_ns;
    double gain, attained; /* of the bound: all at once / the best alone, the plan / all at once */
} IfmPlanRepetition;
void ifm_plan_repetition_init(IfmPlanRepetition *self);
void ifm_plan_repetition_finish(IfmPlanRepetition *self);
void ifm_plan_repetition_clear(IfmPlanRepetition *self);
/** ifm_plan_repetition_add: one run of the pipeline more, of @group. @samples: gint64: the gaps between departures are
 * added
 */
void ifm_plan_repetition_add(IfmPlanRepetition *self, gsize group, const IfmPipelineResult *result, GArray *samples);
/** ifm_plan_gaps: Adds the times between two batches leaving, in the order they left. @samples: gint64 */
void ifm_plan_gaps(const IfmPipelineResult *result, GArray *samples);
/** ifm_plan_figures: (transfer full) the result as far as the repetitions give it. @repetitions: IfmPlanRepetition
 * @aliases: [n_devices] @bound: whether there is one    @why: [n_devices] why a device has no part in it, or NULL */
json_t *ifm_plan_figures(const GArray *repetitions, const char *const *aliases, gsize n_devices, gboolean bound,
                         const char *const *why);

/* What asking for device time costs: wall times of inferences that were counted, beside those that were not. */
GPtrArray *ifm_plan_counted_new(void);
/** ifm_plan_counted_add: The wall times of the first @n_batches of one run of @group; none of one that went on by another
 * plan. */
void ifm_plan_counted_add(GPtrArray *lanes, gsize group, const IfmPipelineResult *result, gsize n_batches);
/** ifm_plan_counted_to_json: (transfer full) {"ratio", "interval", "n_counted", "n_plain", "why"}: mean wall time of
 * counted inferences / of the others - 1, summed over the devices; where that is not known, why. Equals: interval = ratio
 * +- t(least n - 1) (1 + ratio) sqrt(var(counted) / counted^2 + var(plain) / plain^2), variances of the means, for
 * effective sample sizes
 * @no_plain: (optional) why nothing ran without counters */
json_t *ifm_plan_counted_to_json(const GPtrArray *lanes, const char *no_plain);

/* --- pipeline-subject.c ----------------------------------------------------------------------------------------------- */

typedef struct IfmPlanRun IfmPlanRun;

/** IfmPlanGroup: graphs whose plans differ in their ratios alone: one pipeline, each batch with ratios of its own. */
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
    IfmPlanRun *run;
    char *aliases; /* of the plan's blocks: "CPU, GPU" */
    char *last;    /* devices of the block that hands out, of the plan it now goes by: "CPU, GPU" */
    char *stopped; /* why its last run ended early; NULL: it did not */
} IfmPlanGroup;

/** IfmPlanSolo: one device with all stages on it: what it does alone. */
typedef struct
{
    const IfmPlanDevice *device; /* of one of the plans */
    IfmPipeline *pipeline;       /* NULL: see why */
    char *why;
    double rate;     /* alone, as last seen; 0: not yet */
    gboolean failed; /* in the plan's run */
} IfmPlanSolo;

/** IfmPlanEntry: the inputs of an item, and what must come out. */
typedef struct
{
    const IfmPlanItem *item;
    IfmTensor *inputs; /* [n_inputs] */
    IfmReference *reference;
    double *ratios; /* of its graph's plan, block by block */
} IfmPlanEntry;

/** IfmPlanRun: a plan case while the worker has it. */
struct IfmPlanRun
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
    IfmPlanEntry *entries;       /* [made.n_items] */
    IfmTolerance tolerance;
    IfmVerification verdict;
    gboolean compared; /* there is a reference */
    GError *wrong;     /* of the first wrong output; NULL: none was */
    GPtrArray *groups; /* IfmPlanGroup* */
    IfmPlanSolo solos[IFM_PLAN_MAX_DEVICES];
    gsize n_devices, n_in_blocks; /* those of blocks come first; the others have a part in the bound alone */
    GArray *repetitions;          /* IfmPlanRepetition */
    GPtrArray *counted;           /* see ifm_plan_counted_add() */
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

/** ifm_plan_run_make: The case in hand, its batches and groups; compiles nothing yet. @request: has "made" */
gboolean ifm_plan_run_make(IfmPlanRun *self, const json_t *request, GError **error);
gboolean ifm_plan_run_compile(IfmPlanRun *self, GError **error);
/** ifm_plan_run_free: Where a device never answered, nothing: its threads are still at it, and the process has to end. */
void ifm_plan_run_free(IfmPlanRun *self);
/** ifm_plan_run_batch: Batch @index of the stream. Its user is the item's number. */
void ifm_plan_run_batch(const IfmPlanRun *self, gsize index, IfmBatch *batch);
/** ifm_plan_run_verify: Compares what a batch came out as, every element of it. @timed: quickly; what is compared with
 * nothing is not looked at. On one thread at a time. @devices: of whom it came, for the message. A fault is in self->wrong.
 */
void ifm_plan_run_verify(IfmPlanRun *self, const IfmBatch *batch, const IfmTensor *outputs, const char *devices,
                         gboolean timed);
/** ifm_plan_run_has_bound: whether one was asked for and there is one: one device cannot do better than itself. */
gboolean ifm_plan_run_has_bound(const IfmPlanRun *self);
/** ifm_plan_run_solo: that of an alias, or NULL. */
IfmPlanSolo *ifm_plan_run_solo(IfmPlanRun *self, const char *alias);
/** ifm_plan_solo_has_part: whether it compiled, and did not fail since. */
gboolean ifm_plan_solo_has_part(const IfmPlanSolo *solo);
/** ifm_plan_run_devices: (transfer container) specs, borrowed, of the plans' blocks, and of those that have a part in the
 * bound. */
GPtrArray *ifm_plan_run_devices(const IfmPlanRun *self);
/** ifm_plan_run_describe: (transfer full) the result. */
json_t *ifm_plan_run_describe(const IfmPlanRun *self);
/** ifm_plan_run_write_trace: that of the last run, whatever became of it. TRUE where none was asked for, or there is
 * nothing in it. */
gboolean ifm_plan_run_write_trace(const IfmPlanRun *self, GError **error);
/** ifm_plan_run_report: What kind of step the phase is at, and with which devices ("block 1 for CPU"): who ends this
 * process, or finds it dead, can tell. The pipelines have a watchdog of their own, which knows more and so should report
 * first. */
void ifm_plan_run_report(const IfmPlanRun *self, const char *what);

G_END_DECLS
