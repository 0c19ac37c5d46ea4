/* Shared with other rooms: what a run of plans comes to. */
#pragma once
#include <inferometer/plan.h>

G_BEGIN_DECLS

/* --- what is asked for --------------------------------------------------------------------------------------------- */

/* What stands in where neither the options nor the plan's file say. */
#define IFM_RUN_USUAL_REPETITIONS 3
#define IFM_RUN_USUAL_PILOT_NS (8 * G_GINT64_CONSTANT(1000000000))
#define IFM_RUN_USUAL_MODEL "graphsage"
#define IFM_RUN_USUAL_FEATURES 500
#define IFM_RUN_USUAL_HIDDEN 256

/** IfmRunFailure: what becomes of a run when a device fails. */
typedef enum
{
    IFM_RUN_STOP,
    IFM_RUN_REPLAN, /* the others go on by another plan */
} IfmRunFailure;

/* --- predicted and measured ---------------------------------------------------------------------------------------- */

/** IfmRunFigure: one figure, predicted and measured. @unit: "ns", "1/s", "ratio". @difference_ratio: measured / predicted
 * - 1. @interval: of the measured, over repetitions. NaN: not known. */
typedef struct
{
    char *key;
    const char *unit;
    double predicted, measured, difference_ratio;
    IfmInterval interval;
} IfmRunFigure;

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

/* ifm_run_is_independent: of a figure's key: whether no other figure holds it. Throughput is the makespan's inverse, and a
 * block's time is the sum of its parts, but for the wait.
 * ifm_run_ratios_title: of @n @what, "figures", that were predicted and measured, those with an interval of the measured
 * one; those whose interval is above, below the prediction; the one that is off most and by how much. (transfer full) */
gboolean ifm_run_is_independent(const char *key);
/* ifm_run_prediction_answer: how a figure came out beside its prediction; NULL where one is not known (transfer full) */
char *ifm_run_prediction_answer(const IfmRunFigure *figure);
char *ifm_run_ratios_title(const char *what, gsize n, gsize n_known, gsize n_longer, gsize n_shorter, const char *most,
                           double ratio);

G_END_DECLS
