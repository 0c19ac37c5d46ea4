#pragma once
#include <inferometer/planning.h>

IFM_BEGIN_DECLS

/*
 * Running as a capability: from a question to what became of it. ifm_run_set_new() plans and predicts, with nothing
 * started; ifm_run_set_measure() tries each plan (pilot), predicts it anew, stores the prediction and runs it. report.h
 * writes it down.
 *
 *     IfmRunOptions options = { .study = "gnn-plan" };
 *     ifm_options_init(ifm_run_options, &options);
 *     IfmRunSet *set = ifm_run_set_new(&options, &error);
 *     ifm_run_set_measure(set, NULL, &error);
 *     const IfmRunReport *runs = ifm_run_set_runs(set, &n);
 *     json_t *json = ifm_run_to_json(runs, n);
 */

/* --- what is asked for ------------------------------------------------------------------------------------------------ */

/* What stands in where neither the options nor the plan's file say. */
#define IFM_RUN_USUAL_REPETITIONS 3
#define IFM_RUN_USUAL_PILOT_NS (8 * G_GINT64_CONSTANT(1000000000))
#define IFM_RUN_USUAL_MODEL "graphsage"
#define IFM_RUN_USUAL_FEATURES 500
#define IFM_RUN_USUAL_HIDDEN 256

/** IfmRunProgress: where it is. The first of a run has neither @phase nor @outcome. */
typedef struct
{
    gsize index, n_runs; /* of the runs */
    const char *title;
    gsize repetitions;      /* a fixed number; 0 where @target_ci_ratio is aimed at */
    double target_ci_ratio; /* 0: none */
    const char *phase;      /* as of IfmRunnerOptions.progress, with the three behind it */
    gsize n;
    double median_ns, ci_ratio;
    const char *outcome; /* how it ended: "ok", a name of an error's code, "not stored"; NULL: not yet */
} IfmRunProgress;

/** IfmRunFailure: what becomes of a run when a device fails. */
typedef enum
{
    IFM_RUN_STOP,
    IFM_RUN_REPLAN, /* the others go on by another plan */
} IfmRunFailure;

/** IfmRunOptions: what to run, and how. */
typedef struct
{
    /* whose measurements to plan and to predict by, as ifm_study_place_find() has it; NULL: IFM_PLAN_STUDY where a plan has
     * to be searched, else none. No option: the command's argument */
    const char *study;
    const char *plan;          /* a file with a plan, "-": standard input; NULL: searched */
    const char *table;         /* a file with plans by size: all graphs are one stream, each by its own plan */
    gboolean demo;             /* a pipeline of matrix products on the devices that are here */
    const char *const *sizes;  /* "NODES,EDGES" */
    const char *const *graphs; /* files; NULL both: the plan's sizes or the study's */
    gint64 parts;              /* of each graph; 1: whole */
    gint64 batches, repetitions;
    double ci_ratio;       /* of the throughput; unset: @repetitions are run, all of them */
    gint64 time_budget_ns; /* with @ci_ratio */
    gint64 queue_depth, block_depth;
    const char *device_time; /* "on", "off", "sampled" */
    gboolean verify, bound;
    gint64 pilot_ns; /* unset: IFM_RUN_USUAL_PILOT_NS where the study does not tell plans apart, else none */
    int on_failure;  /* IfmRunFailure */
    gint64 watchdog_ns;
    IfmPlanSearchOptions search;
    const char *const *devices; /* "ALIAS=DEVICE" */
    const char *model;
    gint64 features, hidden, seed;
    const char *output; /* the folder of the store */
    gboolean resume;    /* runs and pilots that the store holds are not measured again */
    /* Not in the table. note: what is no error and worth a line. */
    void (*note)(const char *line, void *user);
    void (*progress)(const IfmRunProgress *progress, void *user);
    void *user;
} IfmRunOptions;
extern const IfmOption ifm_run_options[];

/** ifm_run_options_check: ifm_options_check(), and what no row by itself can say. FALSE with IFM_ERROR_USAGE. */
gboolean ifm_run_options_check(const IfmRunOptions *options, GError **error);

/* --- what came of it -------------------------------------------------------------------------------------------------- */

/** IfmRunReport: a plan's run and its prediction. All borrowed. @title: "5000 nodes, 10000 edges". @prediction,
 * @trace and @analysis (of the last repetition): or NULL. @code, @reason: where there is no measurement */
typedef struct
{
    const char *title;
    const char *origin; /* how the plan came about, or NULL */
    const IfmPlan *plan;
    const json_t *prediction;
    const IfmCase *subject_case;
    const IfmMeasurement *measurement;
    const IfmTrace *trace;
    const IfmTraceAnalysis *analysis;
    const char *code, *reason;
    const GPtrArray *simulated; /* IfmTrace* of its simulation, one a plan; or NULL */
    const GPtrArray *recorded;  /* IfmTrace* of the run, as far as it came; or NULL */
} IfmRunReport;

/** IfmRunSet: streams of batches, each with its plan, its prediction and what became of it. */
typedef struct IfmRunSet IfmRunSet;

/**
 * ifm_run_set_new: Everything but the run itself: reads what is named, opens the store, searches plans, puts devices behind
 * their aliases, predicts. @options is not needed afterwards, what it points to is.
 * Returns: (transfer full) NULL with IFM_ERROR_USAGE (options that are wrong or do not go together), IFM_ERROR_INVALID (a
 * plan, a graph, a study, a device's spec; no plan covers all stages), IFM_ERROR_UNAVAILABLE (nothing was measured, a file
 * is not there, another process measures in that folder).
 */
IfmRunSet *ifm_run_set_new(const IfmRunOptions *options, GError **error);
void ifm_run_set_free(IfmRunSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmRunSet, ifm_run_set_free)

/**
 * ifm_run_set_measure: Runs one after the other and commits each. A failure is reported with its run; the others go on.
 * @interrupted: (nullable) set to 1 by a signal handler or another thread: no further run begins
 * Returns: FALSE with an error where the store takes no more; what was run until then stands.
 */
gboolean ifm_run_set_measure(IfmRunSet *set, const gint *interrupted, GError **error);

/** ifm_run_set_runs: (transfer none) [*@n] (@n: optional) before and after measuring, in order. A run that was not tried
 * has neither measurement nor code. */
const IfmRunReport *ifm_run_set_runs(const IfmRunSet *set, gsize *n);
/** ifm_run_set_store_path: the store that has predictions and measurements. */
const char *ifm_run_set_store_path(const IfmRunSet *set);

/* --- predicted and measured ------------------------------------------------------------------------------------------- */

/** IfmRunFigure: one figure, predicted and measured. @unit: "ns", "1/s", "ratio". @difference_ratio: measured / predicted
 * - 1. @interval: of the measured, over repetitions. NaN: not known. */
typedef struct
{
    char *key;
    const char *unit;
    double predicted, measured, difference_ratio;
    IfmInterval interval;
} IfmRunFigure;

/** ifm_run_has_figures: whether a repetition came to its end: else there is only the reason. */
gboolean ifm_run_has_figures(const IfmRunReport *run);
/** ifm_run_figures: (transfer full) IfmRunFigure*: makespan, throughput, batch latency, each block, each device. */
GPtrArray *ifm_run_figures(const IfmRunReport *run);

/** IFM_RUN_CLOSE_RATIO: a prediction is good to this; what is left beyond it is not explained. */
#define IFM_RUN_CLOSE_RATIO 0.05

/** IfmRunVerdict: a run compared with its prediction. NaN: not known, or not measured. */
typedef struct
{
    double difference_ratio;   /* of the makespan; NaN where nothing, or another plan, was predicted */
    gboolean close;            /* it is within IFM_RUN_CLOSE_RATIO */
    double lower_ns, upper_ns; /* the prediction's own interval */
    gboolean within;           /* the makespan lies in it */
    double bound_ratio;        /* what the devices made at once over what was predicted of them */
    /* The bound is measured interleaved with the plan: where it is as far off as the plan is, the devices were slower, or
     * faster, than they were found before, and no other plan would have met its prediction. */
    gboolean machine_moved;
    double attained_ratio;     /* the plan's throughput over the bound */
    IfmInterval attained;      /* of it, over repetitions, from three on: where 1 is within, the two are not told apart */
    const char *faster_alone;  /* the fastest device that by itself makes more than the plan, borrowed; NULL: none */
    double faster_alone_per_s; /* 0: none */
} IfmRunVerdict;
/** ifm_run_judge: @makespan: the first of ifm_run_figures() */
IfmRunVerdict ifm_run_judge(const IfmRunReport *run, const IfmRunFigure *makespan);

/** ifm_run_is_replanned: A device failed, perhaps while the run warmed up, and the run went on by another plan: what was
 * predicted is of the one that did not run to its end. */
gboolean ifm_run_is_replanned(const IfmRunReport *run);

IFM_END_DECLS
