/* Shared with other rooms: plans on pages. */
#pragma once
#include <document/document.h>
#include <inferometer/plan.h>

G_BEGIN_DECLS

/* IfmPlanLine: a plan, for comparing. @gain_ratio: of the objective, over the single device; NaN */
typedef struct
{
    const char *which;
    const IfmPlanChoice *choice;
    double gain_ratio;
} IfmPlanLine;
extern const IfmField ifm_plan_line_fields[]; /* IfmPlanLine */

/* IfmPlanGainKind: what is known of a gain. ALONE: there is no single device to gain over. SAME: the best plan is one */
typedef enum
{
    IFM_GAIN_ALONE,
    IFM_GAIN_SAME,
    IFM_GAIN_NOT_APART,
    IFM_GAIN_UNKNOWN,
    IFM_GAIN_APART,
} IfmPlanGainKind;

/* IfmPlanGain: what the best plan gains over the best single device by the objective, above 1 where it is better. NaN: not
 * known */
typedef struct
{
    double ratio, lower, upper;
    IfmPlanGainKind kind;
} IfmPlanGain;
IfmPlanGain ifm_plan_gain(const IfmPlanReport *report);
const char *ifm_plan_gain_word(IfmPlanGainKind kind);

/** ifm_plan_value: of the objective, ns or J: less is better. */
double ifm_plan_value(const IfmPlanChoice *choice, IfmObjective objective);

/** ifm_plan_add_headline: the summary of a plan. ifm_plans_add_headline: one of the plans of several sizes. */
void ifm_plan_add_headline(IfmDocument *document, const IfmPlanReport *report);
void ifm_plans_add_headline(IfmDocument *document, const IfmPlanReport *reports, gsize n);

/* Figures, on pages alone (plan-figures.c). ifm_plan_cycle: of a stream, 1 / throughput: by the simulation where there is
 * one, and not by the longest block with every device busy throughout, which the prediction of the same plan would
 * contradict. Titles: (transfer full): @chosen_per_s, @single_per_s: throughputs; NaN: no device does it alone. @n_sure:
 * sizes at which the gain's interval is above 1; @n_single: at which one device is the answer */
double ifm_plan_cycle(const IfmPlanChoice *choice);
void ifm_plan_add_steady_state(IfmDocument *document, const IfmPlanReport *report);
void ifm_plan_add_front(IfmDocument *document, const IfmPlanReport *report);
char *ifm_front_title(gsize n_front, double chosen_per_s, double single_per_s, gboolean is_single);
char *ifm_gains_title(gsize n, gsize n_known, gsize n_sure, gsize n_single);

G_END_DECLS
