#pragma once
#include <inferometer/clock.h>
#include <inferometer/record-fields.h>
#include <inferometer/statistics.h>
#include <inferometer/store.h>

IFM_BEGIN_DECLS

/* --- the stopping rule ------------------------------------------------------------------------------------------------ */

/** IfmProtocol: when to stop. Fixed counts where @runs > 0, else the rule. */
typedef struct
{
    gsize warmup;    /* fixed: this many. Rule: at least this many, until the latency is steady */
    gsize runs;      /* fixed: exactly this many; 0: the rule below */
    double ci_ratio; /* target half-width of the median's interval / median: 0.01 */
    double level;    /* 0.95 */
    gsize min_runs, max_runs;
    /* for warm-up and runs together, of the rule alone: warm-up ends by a quarter of it, and no interval stops before a
     * 50th, so that short runs see slow changes, too; 0: none of that */
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

typedef enum
{
    IFM_STOP_GO_ON = 0,
    IFM_STOP_FIXED,    /* the counts asked for are reached */
    IFM_STOP_INTERVAL, /* the interval is narrow enough */
    IFM_STOP_MAX_RUNS,
    IFM_STOP_TIME_BUDGET,
    IFM_STOP_INTERRUPTED, /* on request; what was measured is kept */
} IfmStopReason;
const char *ifm_stop_reason_name(IfmStopReason reason);

/* --- a subject, measured in this process --------------------------------------------------------------------------------
 */

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
 * ifm_measure_one_run: The record of one run that was timed elsewhere, for a subject of which a second run would be beyond
 * the protocol's time budget: one sample, no warm-up, stop reason "time-budget", with @why as a warning.
 * @run_ns: what the run took    @why: "computed once: …"
 */
void ifm_measure_one_run(gint64 run_ns, const IfmProtocol *protocol, const char *why, IfmMeasurement *measurement);

/* --- cases, measured in workers -----------------------------------------------------------------------------------------
 */

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
    void (*progress)(const char *phase, gsize n, double median_ns, double ci_ratio, void *user);
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

/**
 * ifm_runner_case: The sealed record of a case: checks what describes it and, of a kind that is measured in workers, asks
 * one for the engine's version.
 * @spec: the struct that @kind takes
 * Errors: IFM_ERROR_INVALID naming what is wrong in @spec, those of its model and device specs; IFM_ERROR_UNAVAILABLE where
 * the runtime is missing.
 */
IfmCase *ifm_runner_case(IfmRunner *runner, const IfmCaseKind *kind, const void *spec, GError **error);

/**
 * ifm_runner_measure: Measures it, in a worker or in this process.
 * Returns: (transfer full) a measurement: OK, FAILED (refused, failed, crashed, hung, lost, out of memory, wrong output) or
 * SKIPPED (the device was lost earlier and still is), with its reason. NULL with IFM_ERROR_CANCELLED where interrupted
 * before there was a sample, or with IFM_ERROR_UNAVAILABLE where no worker can be started at all.
 */
IfmMeasurement *ifm_runner_measure(IfmRunner *runner, const IfmCaseKind *kind, const void *spec, const IfmCase *sealed,
                                   GError **error);

/** IfmMeasureFunction: How a room that keeps no store gets a case measured: its caller hands it ifm_campaign_ask(), or a
 * function like it. @title: what messages call it    @user: the function's own    Returns and errors: as of
 * ifm_campaign_ask() (campaign.h) */
typedef IfmMeasurement *(*IfmMeasureFunction)(const char *title, const IfmCaseKind *kind, const void *spec, void *user,
                                              GError **error);

/** ifm_runner_devices: What one engine has, asked in a worker. Returns: (transfer full) {"engine", "version", "library",
 * "devices": [{"spec", "description", "capabilities": [...], "available", "reason"}]}; NULL with the reason. */
json_t *ifm_runner_devices(IfmRunner *runner, const char *engine, GError **error);

IFM_END_DECLS

#include <inferometer/kinds.h>
