#include <math.h>

#include <base/fields.h>
#include <document/summary.h>
#include <document/words.h>
#include <trace/trace-page.h>

#include "plan-page.h"
#include "plan.h"

/* Figures of plans: some cycles of the steady state, latency against throughput, the gain at each size. */

#define CYCLES 4 /* of the steady state: enough to see that they repeat */

double ifm_plan_cycle(const IfmPlanChoice *choice)
{
    return choice->forecast.cycle_ns > 0 ? choice->forecast.cycle_ns : choice->cost.cycle_ns;
}

/* --- which are drawn -------------------------------------------------------------------------------------------------- */

#define DRAWN 6 /* plans on one page, of some 20 KiB each */

void ifm_plan_choose_figures(IfmPlanReport *reports, gsize n)
{
    gsize n_drawn = 0;
    for (gsize i = 0; i < n; i++)
    {
        reports[i].of_several = n > 1;
        reports[i].no_figures = n_drawn == DRAWN;
        for (gsize k = 0; k < i && !reports[i].no_figures; k++)
            reports[i].no_figures = !reports[k].no_figures &&
                                    ifm_plan_same_shape(reports[i].planned->answer.plan, reports[k].planned->answer.plan);
        n_drawn += !reports[i].no_figures;
    }
}

/* --- the steady state ------------------------------------------------------------------------------------------------- */

void ifm_plan_add_steady_state(IfmDocument *document, const IfmPlanReport *report)
{
    const IfmTrace *trace = report->planned->trace;
    g_autoptr(IfmTraceAnalysis) whole = trace != NULL ? ifm_trace_analyse(trace, NULL, NULL) : NULL;
    const IfmPlanChoice chosen = { .cost = report->planned->answer.cost };
    const double n = (double)ifm_member_number(report->planned->prediction, "n_batches");
    const double cycle = ifm_member_number(report->planned->prediction, "makespan_ns") / n;
    if (whole == NULL || !(n >= 2 * CYCLES) || !(cycle > 0 || chosen.cost.cycle_ns > 0))
        return;
    const gint64 middle = ifm_trace_begin_ns(trace) + (gint64)(cycle * (n - CYCLES) / 2);
    g_autofree char *length = ifm_say_duration(cycle),
                    *sentence = g_strdup_printf("%d cycles in the middle of the simulation, %s each: what each device and "
                                                "each block's host do. Numbers: batches; pale: why a device is idle.",
                                                CYCLES, length);
    ifm_document_add_window(document, "steady_state", sentence, trace, middle, middle + (gint64)(CYCLES * cycle));
}

/* --- latency against throughput --------------------------------------------------------------------------------------- */

char *ifm_front_title(gsize n_front, double chosen_per_s, double single_per_s, gboolean is_single)
{
    g_autofree char *chosen = ifm_say_number(chosen_per_s), *single = ifm_say_number(single_per_s);
    if (is_single)
        return g_strdup_printf("One device is the answer: %s batches/s", chosen);
    if (!isfinite(single_per_s))
        return g_strdup_printf("The chosen plan promises %s batches/s; no device does it alone", chosen);
    if (n_front > 1)
        return g_strdup_printf(
            "The chosen plan promises %s batches/s, one device %s; %zu plans trade throughput for latency", chosen, single,
            n_front);
    return g_strdup_printf("The chosen plan promises %s batches/s, one device %s", chosen, single);
}

static void add_choice(IfmDocument *document, IfmSeries *series, const IfmPlanChoice *choice, const char *text)
{
    g_autofree char *label = choice->plan != NULL ? ifm_plan_to_text(choice->plan) : NULL;
    const double rate = 1e9 / choice->cost.cycle_ns, spread = choice->cost.cycle_spread_ratio;
    IfmPoint point = IFM_POINT_INIT;
    if (label == NULL)
        return;
    point.x = choice->cost.latency_ns;
    point.y = rate;
    point.lower = isfinite(spread) ? rate / (1 + spread) : (double)NAN;
    point.upper = spread < 1 ? rate / (1 - spread) : (double)NAN;
    point.label = label;
    point.text = text;
    ifm_document_point(document, series, &point);
}

void ifm_plan_add_front(IfmDocument *document, const IfmPlanReport *report)
{
    const IfmPlanned *planned = report->planned;
    const IfmPlanAnswer *answer = &planned->answer;
    const gboolean is_single = answer->single.plan != NULL && ifm_plan_same_shape(answer->plan, answer->single.plan);
    const gsize n_front = planned->front != NULL ? planned->front->len : 0;
    g_autofree char *title =
        ifm_front_title(n_front, 1e9 / ifm_plan_cycle(is_single ? &answer->single : &answer->best),
                        answer->single.plan != NULL ? 1e9 / ifm_plan_cycle(&answer->single) : (double)NAN, is_single);
    IfmBlock *block =
        ifm_document_page_figure(document, "front", IFM_FIGURE_SCATTER, title,
                                 n_front > 0 ? "Points: by the cost model, which has every device busy throughout; the "
                                               "title's figures are simulated, with start and end. Line: plans that no "
                                               "other beats. A bar: a 95 % interval, where it is known."
                                             : "Points: by the cost model, which has every device busy throughout; the "
                                               "title's figures are simulated, with start and end. A bar: a 95 % interval, "
                                               "where it is known. --pareto adds all plans that no other beats.");
    block->figure.half = block->figure.x.own = TRUE;
    block->figure.x.title = "latency of one batch alone";
    block->figure.y = ifm_axis("throughput", IFM_FIELD_REAL);
    block->figure.y.unit = "batches/s";
    add_choice(document, ifm_document_series(document, block, is_single ? "best of all" : "chosen", NULL), &answer->best,
               is_single ? "best of all" : "chosen");
    add_choice(document, ifm_document_series(document, block, is_single ? "chosen: one device" : "one device", NULL),
               &answer->single, is_single ? "chosen" : "one device");
    if (planned->other.plan != NULL)
        add_choice(document, ifm_document_series(document, block, "given", NULL), &planned->other, "given");
    IfmSeries *front = n_front > 0 ? ifm_document_series(document, block, "not beaten", NULL) : NULL;
    for (gsize i = 0; i < n_front; i++)
    {
        front->joined = TRUE;
        add_choice(document, front, planned->front->pdata[i], i == 0 && n_front > 1 ? "least latency" : NULL);
    }
}

/* --- many sizes ------------------------------------------------------------------------------------------------------- */

char *ifm_gains_title(gsize n, gsize n_known, gsize n_sure, gsize n_single)
{
    if (n_single == n)
        return g_strdup_printf("One device is the answer at all %zu sizes", n);
    if (n_known == 0)
        return g_strdup_printf("How certain the gain is, is known at none of %zu sizes", n);
    if (n_sure == 0)
        return g_strdup_printf("At none of %zu sizes is the gain's interval above 1", n);
    if (n_sure == n)
        return g_strdup_printf("The gain's interval is above 1 at all %zu sizes", n);
    return g_strdup_printf("The gain's interval is above 1 at %zu of %zu sizes", n_sure, n);
}

/* SizeRow: a size, for the table. */
typedef struct
{
    const IfmPlanReport *report;
    IfmPlanGain gain;
} SizeRow;

static void get_size(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_plan_size_title(&((const SizeRow *)record)->report->planned->size));
}

static void get_plan(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_plan_to_text(((const SizeRow *)record)->report->planned->answer.plan));
}

static void get_known(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_plan_gain_word(((const SizeRow *)record)->gain.kind));
}

static const IfmField size_fields[] = {
    { "size", "size", IFM_FIELD_TEXT, get_size, .flags = IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "gain", "gain", IFM_FIELD_REAL, IFM_MEMBER(SizeRow, gain.ratio) },
    { "known", "over one device", IFM_FIELD_TEXT, get_known, .flags = IFM_FIELD_WHOLE },
    { "plan", "plan", IFM_FIELD_TEXT, get_plan },
    { NULL },
};

static void add_sizes(IfmDocument *document, const IfmPlanReport *reports, gsize n)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(SizeRow));
    for (gsize i = 0; i < n; i++)
    {
        const SizeRow row = { &reports[i], ifm_plan_gain(&reports[i]) };
        g_array_append_val(rows, row);
    }
    ifm_document_rows(document, "sizes", size_fields, rows);
}

/* Which plan most sizes have. */
static void answer_of_sizes(IfmDocument *document, const IfmPlanReport *reports, gsize n)
{
    const IfmPlan *commonest = NULL;
    gsize n_plans = 0, most = 0;
    for (gsize i = 0; i < n; i++)
    {
        const IfmPlan *plan = reports[i].planned->answer.plan;
        gsize n_same = 0, n_before = 0;
        for (gsize k = 0; k < n; k++)
        {
            const gboolean same = ifm_plan_same_shape(plan, reports[k].planned->answer.plan);
            n_same += same;
            n_before += same && k < i;
        }
        n_plans += n_before == 0;
        commonest = n_same > most ? plan : commonest;
        most = MAX(most, n_same);
    }
    g_autofree char *text = ifm_plan_to_text(commonest);
    if (n_plans == 1)
        ifm_document_question(document, "Which plan?", "%s at all %zu sizes.", text, n);
    else if (most == 1)
        ifm_document_question(document, "Which plan?", "Another one at each of %zu sizes.", n);
    else
        ifm_document_question(document, "Which plan?", "%zu of %zu sizes have %s; there are %zu plans.", most, n, text,
                              n_plans);
}

IfmDocument *ifm_plans_document(const IfmPlanReport *reports, gsize n)
{
    IfmDocument *document = ifm_document_new("plan", reports[0].model);
    gsize n_known = 0, n_sure = 0, n_single = 0;
    ifm_plans_add_headline(document, reports, n);
    answer_of_sizes(document, reports, n);
    IfmBlock *block = ifm_document_page_figure(document, "gains", IFM_FIGURE_STRIPS, "", NULL);
    g_autofree char *axis = g_strdup_printf("gain in %s", ifm_objective_words()[reports->objective]);
    block->figure.y = ifm_axis_of_ratio(ifm_document_keep_text(document, axis), TRUE, "no gain");
    IfmSeries *series = ifm_document_series(document, block, NULL, NULL);
    for (gsize i = 0; i < n; i++)
    {
        const IfmPlanGain gain = ifm_plan_gain(&reports[i]);
        g_autofree char *label = ifm_plan_size_title(&reports[i].planned->size);
        IfmPoint point = IFM_POINT_INIT;
        point.label = label;
        point.y = gain.ratio;
        point.lower = gain.lower;
        point.upper = gain.upper;
        point.mark = gain.kind == IFM_GAIN_APART ? IFM_MARK_NONE : IFM_MARK_ROUGH;
        n_known += gain.kind != IFM_GAIN_ALONE && gain.kind != IFM_GAIN_UNKNOWN;
        n_sure += gain.kind == IFM_GAIN_APART;
        n_single += gain.kind == IFM_GAIN_SAME || gain.kind == IFM_GAIN_NOT_APART;
        ifm_document_point(document, series, &point);
    }
    block->figure.sentence = n_known > 0
                                 ? "The best plan over the best single device, predicted, above 1 where it is better; "
                                   "bars: 95 % intervals, from those of both."
                                 : "The best plan over the best single device, predicted, above 1 where it is "
                                   "better. None has an interval.";
    block->figure.title = ifm_document_take_text(document, ifm_gains_title(n, n_known, n_sure, n_single));
    add_sizes(document, reports, n);
    return document;
}
