/* Measuring: one subject, or many cases as a campaign that is stored and resumed; background load. */
#pragma once
#include <jansson.h>

#include <inferometer/model.h>
#include <inferometer/store.h>

IFM_BEGIN_DECLS

/* --- the stopping rule --------------------------------------------------------------------------------------------- */

/** IfmProtocol: when to stop. Fixed counts where @runs > 0, else the rule. */
typedef struct
{
    gsize warmup;             /* fixed: this many. Rule: at least this many, until the latency is steady */
    gsize runs;               /* fixed: exactly this many; 0: the rule below */
    double ci_ratio;          /* target half-width of the median's interval / median: 0.01 */
    double level;             /* 0.95 */
    gsize min_runs, max_runs; /* a record holds as many as min_runs at least, or it failed or was interrupted */
    /* for warm-up and runs together, of the rule alone: warm-up ends by a quarter of it, and no interval stops before a
     * 50th, so that short runs see slow changes, too; it extends until there are min_runs; 0: none of that */
    gint64 time_budget_ns;
} IfmProtocol;

#define IFM_PROTOCOL_INIT                                                                                                  \
    ((IfmProtocol){ .warmup = 3,                                                                                           \
                    .ci_ratio = 0.01,                                                                                      \
                    .level = 0.95,                                                                                         \
                    .min_runs = 20,                                                                                        \
                    .max_runs = 20000,                                                                                     \
                    .time_budget_ns = 20 * G_GINT64_CONSTANT(1000000000) })

/** IFM_PROTOCOL_MAX_RUNS: more samples than this do not fit a record: a worker's message has 256 MiB for warm-up and runs.
 */
#define IFM_PROTOCOL_MAX_RUNS 5000000

/* --- a subject, measured in this process --------------------------------------------------------------------------- */

/**
 * IfmSubject: anything that can be run again and again. All slots but run may be NULL.
 * A C user measures a function of their own with this, ifm_measure_subject() and nothing else.
 */
typedef struct
{
    const char *name;
    IfmClock *clock; /* NULL: a real clock */
    /* run: once. The time is taken around this call: no allocation, logging or locking in it that is not the subject's. */
    gboolean (*run)(void *self, GError **error);
    /* invoke: runs @function on the thread where the loop should be timed, and waits. NULL: the caller's. */
    void (*invoke)(void *self, void (*function)(void *user), void *user);
    /* verify: outside timed regions: after the first run, about every second, and after the last. FALSE: a failed
     * measurement. */
    gboolean (*verify)(void *self, GError **error);
    void *self;
    /* another device than the processor computes. The thread only waits for it, so its processor time is none of a run's */
    gboolean is_elsewhere;
} IfmSubject;

typedef struct
{
    IfmProtocol protocol;
    /* (atomic) (optional) non-zero: finish now, keep what was measured. A run that heeds it, too, ends with
     * IFM_ERROR_CANCELLED: it is then none, and those before it stay. */
    const gint *interrupted;
    /* progress: (optional) called between runs, at most about 5 times a second. */
    void (*progress)(gsize n, double median_ns, double ci_ratio, void *user);
    void *progress_user;
} IfmMeasureOptions;

/**
 * ifm_measure_subject: Warm-up, then runs until the protocol says stop.
 * @measurement: its warm-up, samples, summary, stop reason, outcome, verification and warnings are filled.
 * Returns: FALSE with the subject's own error (outcome FAILED, reason set, too: the record can be stored).
 */
gboolean ifm_measure_subject(const IfmSubject *subject, const IfmMeasureOptions *options, IfmMeasurement *measurement,
                             GError **error);

/**
 * ifm_measure_callback: The same for programs in other languages: JSON in, JSON out. On the calling thread, by the real
 * clock.
 * @name: what it is called    @run: as of IfmSubject; ifm_error_set() says why it failed. One that ends with
 * IFM_ERROR_CANCELLED asks for the end: it is none, and the runs before it are kept.
 * @protocol: what of IfmProtocol is not the default, {"ci_ratio": 0.01, "time_budget_ns": 1000000000} or {"runs": 100,
 * "warmup": 10}; NULL: all is
 * Returns: (transfer full) {"inferometer", "summary", "case", "measurement"}: docs/formats.md, "A callback"; g_free() it.
 * NULL with the error of @run, with IFM_ERROR_CANCELLED where no run was kept, or with IFM_ERROR_INVALID for no name, no
 * function or a wrong protocol.
 */
char *ifm_measure_callback(const char *name, gboolean (*run)(void *self, GError **error), void *self, const char *protocol,
                           GError **error);

/* --- cases, measured in workers ------------------------------------------------------------------------------------ */

/** IfmProgress: what there is to report of the cases of a profile, a comparison or a run: how many are to come, then of
 * each that it begins, how far it is, and that it ended. What a message does not say is as the one before had it. */
typedef struct
{
    gsize n_cases;          /* from here on; counted anew in a message without more */
    const char *title;      /* a case begins, where there is neither @phase nor @outcome */
    gboolean again;         /* it belongs to the case before, and counts with it */
    gsize runs;             /* its fixed count; 0 where @target_ci_ratio is aimed at */
    double target_ci_ratio; /* NaN or 0: none */
    gint64 budget_ns;       /* its runs take no longer; 0: none */
    const char *phase;      /* where it is, of a runner with what is behind it, the other members are 0 */
    gsize n;
    double median_ns, ci_ratio;
    gint64 left_ns;      /* of the case; 0: not said */
    gboolean at_most;    /* it may end before that */
    const char *outcome; /* "ok", "failed", "interrupted", a name of an error's code, "not stored", … */
} IfmProgress;

/** IfmLimits: what a case may take before its worker is ended; 0: no limit. */
typedef struct
{
    gint64 case_time_ns; /* the whole case */
    gint64 hang_ns;      /* one step: compile, or one run without progress (where a phase makes several steps without a word
                            in between, as attesting does, that many times this) */
    /* growth of the worker's resident memory over what it has with its runtime open and no model, the same point for every
     * case; what opening the runtime takes does not count */
    gint64 memory_bytes;
} IfmLimits;

#define IFM_LIMITS_INIT ((IfmLimits){ .hang_ns = 60 * G_GINT64_CONSTANT(1000000000) })

/**
 * IfmRunner: runs cases one at a time, each device set in a worker process of its own, replaced when it dies.
 * Used and freed on the thread that made it, which must outlive it: the workers end with the thread that started them.
 * Simulated devices go by a virtual clock there, unless $IFM_SIMULATED_CLOCK is "real".
 */
typedef struct IfmRunner IfmRunner;

typedef struct
{
    IfmLimits limits;
    const gint *interrupted; /* as above */
    void (*progress)(const IfmProgress *now, void *user);
    void *progress_user;
} IfmRunnerOptions;

IfmRunner *ifm_runner_new(const IfmRunnerOptions *options);

/** ifm_runner_free: Ends every worker and waits for it. */
void ifm_runner_free(IfmRunner *runner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmRunner, ifm_runner_free)

/**
 * IfmCaseKind: what can be measured: one static struct a kind; kinds.h says of each which struct describes a case of it. A
 * kind that is measured in this process is this struct and no more; the others are listed in src/measure/kinds.c.
 */
typedef struct
{
    const char *name;             /* IfmCase.subject_kind, as far as seal says nothing else */
    gsize size;                   /* of the struct that describes a case */
    const IfmRecordField *fields; /* of it: the message to a worker; those with a key define a case */
    /* complete: (optional) Puts defaults into a copy of the struct and checks it. */
    gboolean (*complete)(void *spec, GError **error);
    /* seal: Fills what else is in the record: its kind, its options by the fields and the machine are there. @facts: of the
     * engine, where they are known; NULL: to be asked for */
    gboolean (*seal)(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error);
    /* Of a kind that is measured in this process. subject: what is run again and again, by the field "protocol"; done:
     * (optional) frees what that made. measure: (optional) in place of both, where a case is not always measured so. */
    gboolean (*subject)(const void *spec, IfmSubject *subject, GError **error);
    void (*done)(IfmSubject *subject);
    IfmMeasurement *(*measure)(IfmRunner *runner, const void *spec, const IfmCase *sealed, GError **error);
    const struct IfmKindInWorker *in_worker; /* how it is measured in a worker; NULL: in this process */
} IfmCaseKind;

/** IfmMeasureFunction: How a room that keeps no store gets a case measured: its caller hands it ifm_campaign_ask(), or a
 * function like it. @title: what messages call it    @user: the function's own    Returns and errors: as of
 * ifm_campaign_ask() (campaign.h) */
typedef IfmMeasurement *(*IfmMeasureFunction)(const char *title, const IfmCaseKind *kind, const void *spec, void *user,
                                              GError **error);

/** ifm_runner_devices: What one engine has, asked in a worker. Returns: (transfer full) {"engine", "version", "library",
 * "devices": [{"spec", "description", "capabilities": [...], "available", "reason"}]}; NULL with the reason. */
json_t *ifm_runner_devices(IfmRunner *runner, const char *engine, GError **error);

/* --- options of the protocol --------------------------------------------------------------------------------------- */

/**
 * IfmProtocolOptions: what a caller says about when to stop (IfmProtocol) and what a case may take (IfmLimits), put over
 * what holds where nothing is said. IFM_OPTION_UNSET: nothing is said.
 */
typedef struct
{
    double ci_ratio;
    gint64 runs, warmup;
    gint64 time_budget_ns;
    gint64 hang_ns, case_time_ns;
    gint64 memory_bytes;
} IfmProtocolOptions;

/** IFM_PROTOCOL_ROW_…: Their rows in a table of options. @offset: of the IfmProtocolOptions in the table's struct
 * @fallback: what --help calls the default, or NULL */
#define IFM_PROTOCOL_ROW_CI(offset, fallback_)                                                                             \
    {                                                                                                                      \
        "ci", IFM_OPTION_RATIO, "PERCENT", "measure until half the median's 95 % interval is at most this part of it",     \
            fallback_, .minimum = 1, .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, ci_ratio)      \
    }
#define IFM_PROTOCOL_ROW_RUNS(offset)                                                                                      \
    {                                                                                                                      \
        "runs", IFM_OPTION_COUNT, "N", "measure exactly so many runs instead",                                             \
            .minimum = 1, .maximum = IFM_PROTOCOL_MAX_RUNS, .excludes = "ci,time-budget",                                  \
            .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, runs)                                                     \
    }
#define IFM_PROTOCOL_ROW_WARMUP(offset)                                                                                    \
    {                                                                                                                      \
        "warmup", IFM_OPTION_COUNT, "N", "runs before measuring: at least so many, or with --runs exactly (then 10)",      \
            .maximum = IFM_PROTOCOL_MAX_RUNS, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, warmup)                 \
    }
#define IFM_PROTOCOL_ROW_TIME_BUDGET(offset, fallback_)                                                                    \
    {                                                                                                                      \
        "time-budget", IFM_OPTION_DURATION, "TIME", "the maximum time to warm up and measure one case; 0: no limit",       \
            fallback_, .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, time_budget_ns)              \
    }
#define IFM_PROTOCOL_ROW_TIMEOUT(offset, fallback_)                                                                        \
    {                                                                                                                      \
        "timeout", IFM_OPTION_DURATION, "TIME", "a device that shows no progress for so long has hung; 0: no limit",       \
            fallback_, .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, hang_ns)                     \
    }
#define IFM_PROTOCOL_ROW_CASE_TIMEOUT(offset, fallback_)                                                                   \
    {                                                                                                                      \
        "case-timeout", IFM_OPTION_DURATION, "TIME", "the maximum time for one case, in all; 0: no limit", fallback_,      \
            .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, case_time_ns)                           \
    }
#define IFM_PROTOCOL_ROW_MEMORY_LIMIT(offset, fallback_)                                                                   \
    {                                                                                                                      \
        "memory-limit", IFM_OPTION_BYTES, "SIZE",                                                                          \
            "how far a device's process may grow once its runtime is open; 0: no limit", fallback_,                        \
            .deferred = TRUE, .at = (offset) + G_STRUCT_OFFSET(IfmProtocolOptions, memory_bytes)                           \
    }

/** ifm_protocol_with, ifm_limits_with: @base with what was said put over it. Fixed counts are run whole, after 10 runs of
 * warm-up where nothing else is said, in no time that is set. */
IfmProtocol ifm_protocol_with(const IfmProtocol *base, const IfmProtocolOptions *options);
IfmLimits ifm_limits_with(const IfmLimits *base, const IfmProtocolOptions *options);

/* --- a model ------------------------------------------------------------------------------------------------------- */

/** IfmLoadDevice: a device that works while another is measured: it infers @model_path again and again, with the case's own
 * sizes, inputs and seed, in the same worker. */
typedef struct
{
    const char *alias, *device, *model_path;
    const char *inputs_path; /* where its model is of another form, with inputs of its own; NULL: the case's */
    gboolean free_shapes;
} IfmLoadDevice;

/** IfmModelCase: all a worker needs to measure a model on a device. */
typedef struct
{
    const char *model_path;   /* an ONNX file */
    const char *model_name;   /* what people call it */
    IfmModel *model;          /* the file's model, opened before, so that many cases read its bytes once; or NULL */
    const char *device;       /* device spec; with #N the latency is that of one stream while the N - 1 others infer too */
    const char *alias;        /* or NULL */
    const char *subject_kind; /* "stage"; NULL: "model" */
    const IfmDimBinding *bindings;
    gsize n_bindings;
    const IfmDimBinding *sizes; /* what the case is recorded under; NULL: the bindings */
    gsize n_sizes;
    gboolean free_shapes; /* compile with free dimensions left free: the bindings are the inputs' sizes alone */
    const char
        *inputs_path;      /* a tensor file (tensor-file.h): ports named in it get those, the others are seeded; or NULL */
    const char *cache_dir; /* folder where the device may keep compiled models; not part of the case's key; or NULL */
    IfmDtype dtype;
    int threads;
    const char *const *vendor;       /* "KEY=VALUE", or NULL */
    const char *const *convolutions; /* IfmCompileOptions.convolutions; NULL: the runtime's own kernels */
    guint32 seed;
    IfmProtocol protocol;
    gboolean profile; /* also a profiled run: nodes and time breakdown */
    /* with @profile: only a few profiled runs, for the nodes' shares of the time: the breakdown has no bound */
    gboolean profile_few;
    gboolean verify;   /* compare with the reference (onnxruntime:CPU, optimisation off) */
    double rtol, atol; /* of that comparison; 0, 0: by the spread of disturbed runs of the reference, or by dtype */
    /* disturbed runs that tell what the outputs may be off by; 0: IFM_TOLERANCE_RUNS, fewer where they would take over a
     * minute; -1: none: by dtype */
    int tolerance_runs;
    /* an output of several numbers of which some are off is right, too, where the root mean square of the differences is
     * within 10 rtol of the reference's: gradients jump where a rounding moves a rectifier or a maximum; or within rtol /
     * 1000 of that of the reference's largest output: what is 0 but for roundings */
    gboolean as_wholes;
    gboolean native_async;
    const char *energy; /* also the energy of an inference, from this source: "auto", "rapl", "nvml", "hwmon",
                         * "recorded:FILE", "simulated"; NULL: no */
    /* devices that are busy meanwhile, from before warm-up until after the last run; part of the case's key (load). How
     * many inferences each made, and that none failed, is in environment.background_load; one that failed fails the case.
     */
    const IfmLoadDevice *load;
    gsize n_load;
    /* instead of a file at model_path: a kernel, as ifm_kernel_record_to_json() has it, of which a ring of so many copies
     * is made with weights and inputs from the seed, and run as it is. A run visits all copies: the time of one is its part
     */
    json_t *kernel;
    gsize n_copies;
    gint64 visit;          /* of several of the same case, which are cases of their own; 0: there is one */
    gboolean keep_tensors; /* IfmCompileOptions.keep_tensors; sealed, it is FALSE where the device has no such memory */
    gboolean as_is;        /* the model is what an optimisation made: it is run without another one */
    /* a stressor on those cores or that GPU from before warm-up until after the last run; part of the case's key (load).
     * What it reached is in environment.stress. @stress_kind: NULL: none    @stress_cores, @stress_device: as
     * IfmStressOptions has them */
    const char *stress_kind, *stress_cores, *stress_device;
    double stress_level;
    /* how long the machine is looked at before the first run, load and all: environment.metrics has "before" and "during";
     * 0: not at all */
    gint64 observe_ns;
    /* with @observe_ns, also what a Prometheus server has of these queries: "NAME=PROMQL", NULL-terminated. Both windows
     * then hold several of its scrapes: the first is as long, and the case goes on, untimed, until it was. A query that the
     * server refuses or has nothing of fails the case. NULL: none */
    const char *prometheus;
    const char *const *queries;
    /* the longest that one window may be for it: it then holds fewer scrapes, and with fewer than two the case fails;
     * 0: no bound */
    gint64 prometheus_wait_ns;
} IfmModelCase;

/** ifm_kind_model: IfmModelCase. Its protocol is checked, its model opened and its bindings checked when it is sealed. */
extern const IfmCaseKind ifm_kind_model;

/* --- campaigns ----------------------------------------------------------------------------------------------------- */

/*
 * A campaign: an ordered list of cases, each found in the store or measured and committed before the next. Whoever measures
 * more than a trial does it with one: nothing else writes measurements. Equals:
 *
 *     for item in items of the group, in order:
 *         case  = seal(item)                                   its key says what the store may have of it
 *         found = item.resume ? store.last(case.key) : none
 *         if found stands:  after(item, found); continue
 *         before(item); measurement = measure(item, case)
 *         store.commit(case, measurement); after(item, measurement)
 *
 * A kill at any moment loses the case in hand and nothing else: the same campaign over the same store goes on.
 */

typedef struct IfmCampaign IfmCampaign;
typedef struct IfmCampaignItem IfmCampaignItem;
typedef struct IfmItemKind IfmItemKind;
typedef struct IfmCampaignEnd IfmCampaignEnd;

/* --- what is measured ---------------------------------------------------------------------------------------------- */

/** IfmCampaignItem: one entry of the list. What it points to is borrowed and must outlive the campaign. */
struct IfmCampaignItem
{
    const char *title; /* what messages and progress call it */
    void *tag;         /* the caller's own */
    int group;         /* groups are measured in ascending order; group_done follows each */
    /* items of one pace are expected to take equally long; those of pace 0 are over at once, and are no estimate for others
     */
    int pace;
    /* canonical specs of the devices it takes, NULL-terminated; the first is the one that is interleaved; or NULL */
    const char *const *devices;
    const IfmCaseKind *kind; /* with @spec; NULL: @own says how */
    const void *spec;
    const IfmItemKind *own;
    gboolean resume;    /* what the store has may stand for it; else only what this campaign measured in an earlier group */
    gboolean seal_last; /* sealed after the others of its group: it needs devices that those try by themselves */
    gboolean seal_runs; /* sealing it runs something: progress is reported meanwhile, too */
    gboolean renew;     /* measured in workers of its own: memory that an earlier item left allocated is not used again */
};

/** IfmCampaignProgress: how far it is. */
typedef struct
{
    gsize n_cases;                                    /* wanted, and of this shard */
    gsize n_done;                                     /* ended: @n_resumed + @n_measured */
    gsize n_resumed, n_measured, n_failed, n_skipped; /* failed and skipped are among the others */
    const IfmCampaignItem *now;                       /* in hand; NULL between two */
    const char *step;                                 /* what the runner says of it; NULL before it does */
    gsize n;                                          /* its runs so far */
    double median_ns, ci_ratio;
    double cases_per_s; /* of those measured now; NaN at first */
    gint64 left_ns;     /* by what items of each pace took so far; -1 where it cannot be said */
    gint64 now_left_ns; /* of the one in hand, with the next as of IfmProgress */
    gboolean at_most;
} IfmCampaignProgress;

/* --- how ----------------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_CAMPAIGN_AS_GIVEN,
    /* within a group the first items of all devices, then their second ones, and so on: what drifts meanwhile reaches each
     * device alike. The items of one device stay in the order given. */
    IFM_CAMPAIGN_INTERLEAVED,
} IfmCampaignOrder;

typedef struct
{
    IfmLimits limits;        /* of each case */
    const gint *interrupted; /* (atomic) (optional) non-zero: end now */
    gboolean retry;          /* also measure again what failed, and what a loss left untried twice */
    gsize attempts;          /* at a case that fails, each committed; 0: one */
    gint64 time_budget_ns;   /* of the whole campaign: no case begins after it; 0: none */
    IfmCampaignOrder order;
    /* this process's share of the list: of each n_shards items in a row, as they were added, wanted or not, each shard has
     * one, and from row to row the next: neighbours that differ in their device alone do not all go the same way. Item i
     * (from 0) belongs to shard (i + i / @n_shards) mod @n_shards + 1. It is the position that counts and not the key:
     * machines of a cluster have other keys for the same list. All shards seal the whole list; their stores merge by key. 0
     * of 0: everything */
    gsize shard, n_shards;
    gboolean resume_asked; /* ifm_campaign_ask(): what the store has may stand for it */
    gboolean keep_partial; /* a case that was cut short is committed, too (it never stands); else it is not */
    /* records of devices that are not there wait until an item of their group was tried; where none was they are not
     * committed: it was the question that was wrong */
    gboolean hold_absent;
    const gint64
        *sessions_unix_ms; /* [n_sessions] when earlier sessions began, ascending; read when the campaign is made */
    gsize n_sessions;

    /* All hooks are optional, and get @user. A hook that returns FALSE with an error ends the campaign with it. */
    /* wanted: asked before an item is sealed and again before it is measured: what came before may decide. */
    gboolean (*wanted)(const IfmCampaignItem *item, void *user);
    /* fill: completes the item's kind and spec, before it is sealed, and again before it is measured where other items
     * were sealed in between. drop: frees what fill made. */
    gboolean (*fill)(IfmCampaignItem *item, void *user, GError **error);
    void (*drop)(IfmCampaignItem *item, void *user);
    /* before: it is sealed (@sealed: NULL where its kind seals nothing), the store has nothing that stands, and it is
     * measured next. */
    gboolean (*before)(const IfmCampaignItem *item, const IfmCase *sealed, void *user, GError **error);
    /* after: it has ended, or could not be sealed or measured (@end->error). FALSE without @error set: that one ends the
     * campaign, as it does without this hook. An interruption ends it in any case. */
    gboolean (*after)(const IfmCampaignItem *item, IfmCampaignEnd *end, void *user, GError **error);
    /* group_done: all items of a group have ended; not called where none of them was sealed. */
    gboolean (*group_done)(int group, void *user, GError **error);
    /* progress: at most about 5 times a second, and at the end of each case (@ended: what it came to, else NULL). */
    void (*progress)(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user);
    void *user;
} IfmCampaignOptions;

/** ifm_campaign_new: @options: copied; what it points to must outlive the campaign. It is used and freed on the thread that
 * made it, as its runner is. */
IfmCampaign *ifm_campaign_new(IfmStore *store, const IfmCampaignOptions *options);
void ifm_campaign_free(IfmCampaign *campaign);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCampaign, ifm_campaign_free)

/**
 * ifm_campaign_ask: One case more, now, for whoever decides by what came before what to measure next: found in the store
 * (IfmCampaignOptions.resume_asked), or measured and committed; a case that is asked for again is measured again. Of the
 * hooks it calls progress alone. An item's own functions may ask, too. It is an IfmMeasureFunction.
 * @title: what progress calls it    @campaign: an IfmCampaign *
 * Returns: (transfer full) what it came to, which may be a failure; NULL where it could not be sealed or tried, with
 * IFM_ERROR_CANCELLED or IFM_ERROR_TIMEOUT as of ifm_campaign_run(), or where the store does not take it.
 */
IfmMeasurement *ifm_campaign_ask(const char *title, const IfmCaseKind *kind, const void *spec, void *campaign,
                                 GError **error);

/** ifm_shard_parse: "I/N": 1 <= I <= N. FALSE with IFM_ERROR_INVALID. */
gboolean ifm_shard_parse(const char *text, gsize *shard, gsize *n_shards, GError **error);

/* --- background load ----------------------------------------------------------------------------------------------- */

/*
 * A stressor: a process of its own that keeps cores or a GPU busy for a given share of the time, as a background load whose
 * strength is known. It ends with the process that started it, however that ends.
 */

/** IfmStressKind: what it does while it is busy. */
typedef enum
{
    /* the arithmetic units: products of matrices that stay in the first-level cache; on a GPU f32 products of cuBLAS's
     * that fill it */
    IFM_STRESS_GEMM,
    IFM_STRESS_COPY,   /* copies between buffers that no cache holds: the memory's bandwidth */
    IFM_STRESS_RANDOM, /* reads and writes at random places of such a buffer: the memory's latency; not on a GPU */
    IFM_N_STRESS_KINDS,
} IfmStressKind;

/** ifm_stress_words: "gemm", "copy", "random", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_stress_words(void);

/** ifm_stress_parse: FALSE with IFM_ERROR_INVALID and the nearest word. */
gboolean ifm_stress_parse(const char *text, IfmStressKind *kind, GError **error);

/** IfmStressOptions: @intensity: share of the time that each core, or the GPU, is busy, 0 to 1    @cores: "0,2-3", one
 * thread a core; NULL: all cores that this process may use    @device: a GPU instead of cores: "CUDA:0"; NULL: cores. It
 * takes some 200 MB of a GPU's memory for gemm, at least 512 MB for copy */
typedef struct
{
    IfmStressKind kind;
    double intensity;
    const char *cores, *device;
} IfmStressOptions;

/** IfmStressReading: what was done since the last reading, or since the intensity was last set.
 * @asked: the intensity    @achieved: processor time over time, mean of the cores; less than @asked where others keep a
 * core busy; of a GPU the time from the first to the last of its work by CUDA's events, over time: work of others that
 * the GPU does in between counts, and makes @work_per_s less    @work_per_s: of all cores, or the GPU: FLOP of gemm, else
 * bytes read and written    @n_cores: 0: a GPU    @ended: why the process is gone, one
 * line; NULL where it runs; borrowed */
typedef struct
{
    double asked, achieved, work_per_s;
    gint64 window_ns;
    gsize n_cores;
    const char *ended;
} IfmStressReading;

typedef struct IfmStressor IfmStressor;

/**
 * ifm_stressor_start: Returns once each thread runs.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID (an intensity outside 0 to 1, cores that are none or that this
 * process may not use, a device that is no GPU of this machine, random on a GPU), IFM_ERROR_UNAVAILABLE (the process cannot
 * be started, there is no GPU, CUDA's libraries are missing), and of a GPU IFM_ERROR_MEMORY and IFM_ERROR_FAILED.
 */
IfmStressor *ifm_stressor_start(const IfmStressOptions *options, GError **error);

void ifm_stressor_read(IfmStressor *stressor, IfmStressReading *reading);

/** ifm_stressor_free: Ends it and waits for it. @stressor: (nullable) */
void ifm_stressor_free(IfmStressor *stressor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStressor, ifm_stressor_free)

/* --- load, as Prometheus knows it ---------------------------------------------------------------------------------- */

/** ifm_prometheus_busy: How busy processors were over the last @window_ns, or where scrapes are farther apart between the
 * last two, by node exporter's counters: means of the cores in @cores, and of all others (0 where there are none).
 * @cores: NULL or empty: all count as @same    Errors: as above */
gboolean ifm_prometheus_busy(const char *url, const int *cores, gsize n_cores, gint64 window_ns, double *same,
                             double *other, GError **error);

IFM_END_DECLS
