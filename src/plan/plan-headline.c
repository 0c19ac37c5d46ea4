#include <math.h>

#include <base/base.h>
#include <document/summary.h>
#include <document/words.h>
#include <store/trust.h>
#include <study/study.h>

#include "plan-page.h"
#include "plan.h"

/* What a plan comes to: whether several devices are worth it, by how much, and how far the forecast may be trusted. */

/* Of the objective: ns, or J; less is better. */
double ifm_plan_value(const IfmPlanChoice *choice, IfmObjective objective)
{
    return objective == IFM_OBJECTIVE_LATENCY      ? choice->cost.latency_ns
           : objective == IFM_OBJECTIVE_THROUGHPUT ? ifm_plan_cycle(choice)
                                                   : choice->cost.energy_j;
}

static double spread_of(const IfmPlanChoice *choice, IfmObjective objective)
{
    if (objective == IFM_OBJECTIVE_LATENCY)
        return choice->cost.latency_spread_ratio;
    return choice->forecast.cycle_ns > 0 ? choice->forecast.spread_ratio : choice->cost.cycle_spread_ratio;
}

/* "51.8 batches/s", "27.9 ms a batch", "1.2 J a batch" (transfer full) */
static char *say_value(double value, IfmObjective objective)
{
    g_autofree char *number = objective == IFM_OBJECTIVE_LATENCY      ? ifm_say_duration(value)
                              : objective == IFM_OBJECTIVE_THROUGHPUT ? ifm_say_number(1e9 / value)
                                                                      : ifm_say_number(value);
    static const char *const units[] = { " a batch", IFM_NO_BREAK "batches/s", IFM_NO_BREAK "J a batch" };
    return g_strconcat(number, units[objective], NULL);
}

/* "2.5 times the throughput", "0.8 times the latency" (transfer full) */
static char *say_gain(double ratio, IfmObjective objective)
{
    static const char *const of[] = { "latency", "throughput", "energy" };
    g_autofree char *times = ifm_say_number(objective == IFM_OBJECTIVE_THROUGHPUT ? ratio : 1 / ratio);
    return g_strdup_printf("%s times the %s", times, of[objective]);
}

/* --- the verdict ------------------------------------------------------------------------------------------------------ */

static void say_verdict(IfmDocument *document, const IfmPlanReport *report)
{
    const IfmPlanAnswer *answer = &report->planned->answer;
    const IfmObjective objective = report->objective;
    const double best = ifm_plan_value(&answer->best, objective);
    g_autofree char *plan = ifm_plan_to_text(answer->plan), *chosen = ifm_plan_to_text(answer->best.plan),
                    *value = say_value(best, objective);
    if (answer->single.plan == NULL)
    {
        ifm_document_verdict(document, "No device can run all stages; the best plan is %s", plan);
        ifm_document_verdict_more(document, "%s, predicted", value);
        return;
    }
    const IfmPlanGain gain = ifm_plan_gain(report);
    const double single = ifm_plan_value(&answer->single, objective);
    g_autofree char *alone = ifm_plan_to_text(answer->single.plan), *alone_value = say_value(single, objective),
                    *times = say_gain(gain.ratio, objective);
    if (gain.kind == IFM_GAIN_UNKNOWN)
    {
        ifm_document_verdict(document, "%s would %s %s, %s alone %s: whether it gains is not known", chosen,
                             objective == IFM_OBJECTIVE_THROUGHPUT ? "make" : "take", value, alone, alone_value);
        ifm_document_verdict_more(document, "Both are predicted, one at least without an interval");
        return;
    }
    if (gain.kind == IFM_GAIN_SAME)
        ifm_document_verdict(document, "No plan is better than one device: %s", alone);
    else if (gain.kind == IFM_GAIN_NOT_APART)
        ifm_document_verdict(document, "One device will do: %s; the best plan, %s, is not told apart from it", alone,
                             chosen);
    else
        ifm_document_verdict(document, "%s promises %s of the best single device", chosen, times);
    ifm_document_verdict_more(document, "%s against %s of %s, predicted", value, alone_value, alone);
}

/* Both spreads add up in the ratio, as independent errors do. */
IfmPlanGain ifm_plan_gain(const IfmPlanReport *report)
{
    const IfmPlanAnswer *answer = &report->planned->answer;
    if (answer->single.plan == NULL)
        return (IfmPlanGain){ NAN, NAN, NAN, IFM_GAIN_ALONE };
    const double gain =
                     ifm_plan_value(&answer->single, report->objective) / ifm_plan_value(&answer->best, report->objective),
                 half = hypot(spread_of(&answer->best, report->objective), spread_of(&answer->single, report->objective));
    return (IfmPlanGain){ gain, gain * exp(-half), gain * exp(half),
                          ifm_plan_same_shape(answer->best.plan, answer->single.plan) ? IFM_GAIN_SAME
                          : answer->within_uncertainty                                ? IFM_GAIN_NOT_APART
                          : answer->spread_unknown                                    ? IFM_GAIN_UNKNOWN
                                                                                      : IFM_GAIN_APART };
}

static void say_range(IfmDocument *document, const IfmPlanReport *report)
{
    const IfmPlanGain gain = ifm_plan_gain(report);
    if (gain.kind != IFM_GAIN_ALONE && gain.kind != IFM_GAIN_SAME)
        ifm_document_estimate(document, &(IfmVerdictRange){ gain.ratio, gain.lower, gain.upper, 1, TRUE, IFM_FIELD_REAL,
                                                            "no gain", "one device is better", "several are better" });
}

/* --- trust ------------------------------------------------------------------------------------------------------------ */

#define FAR 10 /* times beyond what was measured: no trend is known to hold so far */

static gboolean is_far(gint64 asked, gint64 least, gint64 most)
{
    return (double)asked > FAR * (double)most || (double)asked * FAR < (double)least;
}

static void check_costs(IfmDocument *document, const IfmPlanReport *report)
{
    IfmPlanSize least, most;
    if (report->costs == NULL)
        return;
    const gsize n = ifm_costs_n_implausible(report->costs);
    ifm_costs_sizes(report->costs, &least, &most);
    if (is_far(report->planned->size.nodes, least.nodes, most.nodes) ||
        is_far(report->planned->size.edges, least.edges, most.edges))
        ifm_document_check(document, IFM_TRUST_BAD,
                           "this size is more than %d times beyond those measured, %" G_GINT64_FORMAT
                           " to %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " edges",
                           FAR, least.nodes, most.nodes, least.edges, most.edges);
    if (n > 0)
        ifm_document_check(
            document, IFM_TRUST_CARE,
            "%zu implausible latenc%s left out: another size contradicts %s (--implausible plans by %s, too)", n,
            n == 1 ? "y is" : "ies are", n == 1 ? "it" : "them", n == 1 ? "it" : "them");
}

static void check_plan(IfmDocument *document, const IfmPlanReport *report)
{
    static const struct
    {
        IfmTrust trust;
        const char *words;
    } origins[] = {
        [IFM_COST_MEASURED] = { IFM_TRUST_GOOD, "latencies were measured at this very size" },
        [IFM_COST_INTERPOLATED] = { IFM_TRUST_GOOD, "latencies are interpolated between measured sizes" },
        [IFM_COST_SUMMED] = { IFM_TRUST_CARE, "latencies are sums of stages measured one by one" },
        [IFM_COST_EXTRAPOLATED] = { IFM_TRUST_CARE, "latencies are extrapolated: no measured sizes surround this one" },
    };
    const IfmPlanAnswer *answer = &report->planned->answer;
    const IfmPlanCost *cost = &answer->cost;
    const gboolean is_single =
        answer->plan->blocks->len == 1 && g_array_index(answer->plan->blocks, IfmPlanBlock, 0).n_devices == 1;
    ifm_document_check(document, origins[cost->origin].trust, "%s", origins[cost->origin].words);
    if (!is_single)
        ifm_document_check(document, cost->busy_known ? IFM_TRUST_GOOD : IFM_TRUST_CARE,
                           "how the devices slow each other was %smeasured", cost->busy_known ? "" : "not ");
    if (answer->spread_unknown)
        ifm_document_check(document, IFM_TRUST_CARE, "the uncertainty of the gain is not known");
    if (cost->summed && isfinite(cost->fused_least_ratio))
        ifm_document_check(document, IFM_TRUST_CARE,
                           "ranges that were measured as one took %.3g to %.3g times the sum of their "
                           "stages, and the intervals hold that",
                           cost->fused_least_ratio, cost->fused_most_ratio);
    else if (cost->summed)
        ifm_document_check(document, IFM_TRUST_CARE,
                           "what running stages as one saves was not measured (a study's key ranges): "
                           "published ranges are 2 to 11 times as fast as such sums");
    ifm_document_check(document, answer->optimal ? IFM_TRUST_GOOD : IFM_TRUST_CARE,
                       answer->optimal ? "optimal under this cost model" : "not proved optimal under this cost model");
    ifm_document_check(document, IFM_TRUST_UNCHECKED, "predicted from the tables; nothing was run");
}

/* Of whose measurements the costs are made, and how they were measured, by the first of them. */
static void check_origin(IfmDocument *document, const IfmPlanReport *report)
{
    for (gsize d = 0; report->costs != NULL && d < ifm_costs_n_devices(report->costs); d++)
    {
        const IfmCostDevice *device = ifm_costs_device(report->costs, (int)d);
        ifm_document_provenance_device(document, device->alias, device->device != NULL ? device->device : "imported");
        if (device->device != NULL && g_str_has_prefix(device->device, "simulated:"))
            ifm_document_check_of(document, IFM_TRUST_CARE, device->alias, "simulated: the figures",
                                  "come from a description, not from a device");
    }
    ifm_document_provenance(document, "study", "%s%s%s", report->model, report->folder != NULL ? " in " : "",
                            report->folder != NULL ? report->folder : "");
    for (guint i = 0; report->tables != NULL && i < report->tables->rows->len; i++)
    {
        const IfmStudyRow *row = report->tables->rows->pdata[i];
        if (row->reason != NULL || row->measurement == NULL)
            continue;
        ifm_document_provenance_of(document, row->measurement);
        break;
    }
}

/* A run of this size, bound and verified; NULL where the plan is of no folder. (transfer full) */
static char *run_command(const IfmPlanReport *report)
{
    g_autofree char *size =
        g_strdup_printf("%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT, report->planned->size.nodes, report->planned->size.edges);
    return report->folder != NULL ? ifm_say_command("run", report->folder, "--size", size, "--bound", "--verify", NULL)
                                  : NULL;
}

void ifm_plan_add_headline(IfmDocument *document, const IfmPlanReport *report)
{
    g_autofree char *latency = ifm_say_duration(report->planned->answer.cost.latency_ns),
                    *rate = ifm_say_number(1e9 / ifm_plan_cycle(&report->planned->answer.best)),
                    *command = run_command(report);
    ifm_document_subject(document, "%s · %" G_GINT64_FORMAT " nodes · %" G_GINT64_FORMAT " edges · best %s", report->model,
                         report->planned->size.nodes, report->planned->size.edges,
                         ifm_objective_words()[report->objective]);
    say_verdict(document, report);
    say_range(document, report);
    check_origin(document, report);
    check_costs(document, report);
    check_plan(document, report);
    ifm_document_next(document, command, NULL, "Run it beside its prediction");
    ifm_document_tile(document, &(IfmTile){ "throughput", rate, "batches a second, predicted", NAN });
    ifm_document_tile(document, &(IfmTile){ "latency of a batch", latency, "one batch alone", NAN });
}

/* --- several sizes ---------------------------------------------------------------------------------------------------- */

static const char *const gain_words[] = { [IFM_GAIN_ALONE] = "no device does it alone",
                                          [IFM_GAIN_SAME] = "one device is the plan",
                                          [IFM_GAIN_NOT_APART] = "not told apart",
                                          [IFM_GAIN_UNKNOWN] = "without an interval",
                                          [IFM_GAIN_APART] = "told apart" };

const char *ifm_plan_gain_word(IfmPlanGainKind kind)
{
    return gain_words[kind];
}

static void say_verdict_of_sizes(IfmDocument *document, const IfmPlanReport *reports, gsize n, const IfmPlanReport *least,
                                 const IfmPlanReport *most)
{
    gsize n_of[IFM_GAIN_APART + 1] = { 0 };
    for (gsize i = 0; i < n; i++)
        n_of[ifm_plan_gain(&reports[i]).kind]++;
    g_autofree char *title = ifm_gains_title(n, n - n_of[IFM_GAIN_UNKNOWN] - n_of[IFM_GAIN_ALONE], n_of[IFM_GAIN_APART],
                                             n_of[IFM_GAIN_SAME] + n_of[IFM_GAIN_NOT_APART]);
    if (least == NULL)
        ifm_document_verdict(document, "No device can run all stages at any of %zu sizes", n);
    else if (n_of[IFM_GAIN_SAME] + n_of[IFM_GAIN_NOT_APART] == n)
        ifm_document_verdict(document, "One device will do at all %zu sizes", n);
    else
    {
        const IfmPlanGain from = ifm_plan_gain(least), to = ifm_plan_gain(most);
        const gboolean inverse = reports->objective != IFM_OBJECTIVE_THROUGHPUT;
        g_autofree char *times = say_gain(from.ratio, reports->objective),
                        *times_most = ifm_say_number(inverse ? 1 / to.ratio : to.ratio),
                        *at = ifm_plan_size_title(&least->planned->size),
                        *at_most = ifm_plan_size_title(&most->planned->size);
        ifm_document_verdict(document, "The best plan %s %s of one device at %s (%s) to %s times at %s (%s)",
                             n_of[IFM_GAIN_APART] > 0 ? "promises" : "would have", times, at, gain_words[from.kind],
                             times_most, at_most, gain_words[to.kind]);
    }
    ifm_document_verdict_more(document, "%s", title);
}

static void add_gain_tile(IfmDocument *document, const char *label, const IfmPlanReport *report)
{
    const IfmPlanGain gain = ifm_plan_gain(report);
    g_autofree char *value = say_gain(gain.ratio, report->objective), *size = ifm_plan_size_title(&report->planned->size),
                    *range = g_strdup_printf("%s; %s", size, gain_words[gain.kind]);
    ifm_document_tile(document, &(IfmTile){ label, value, range, NAN });
}

static void add_subject_of_sizes(IfmDocument *document, const IfmPlanReport *reports, gsize n)
{
    IfmPlanSize least = reports[0].planned->size, most = least;
    for (gsize i = 1; i < n; i++)
    {
        const IfmPlanSize *size = &reports[i].planned->size;
        least = (IfmPlanSize){ MIN(least.nodes, size->nodes), MIN(least.edges, size->edges) };
        most = (IfmPlanSize){ MAX(most.nodes, size->nodes), MAX(most.edges, size->edges) };
    }
    ifm_document_subject(document,
                         "%s · %zu sizes · %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " nodes · %" G_GINT64_FORMAT
                         " to %" G_GINT64_FORMAT " edges · best %s",
                         reports->model, n, least.nodes, most.nodes, least.edges, most.edges,
                         ifm_objective_words()[reports->objective]);
}

void ifm_plans_add_headline(IfmDocument *document, const IfmPlanReport *reports, gsize n)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_document_free);
    const IfmPlanReport *least = NULL, *most = NULL;
    for (gsize i = 0; i < n; i++)
    {
        IfmDocument *part = ifm_document_new("plan", reports[i].model);
        const double gain = ifm_plan_gain(&reports[i]).ratio;
        check_costs(part, &reports[i]);
        check_plan(part, &reports[i]);
        g_ptr_array_add(parts, part);
        if (!isfinite(gain))
            continue;
        least = least == NULL || gain < ifm_plan_gain(least).ratio ? &reports[i] : least;
        most = most == NULL || gain > ifm_plan_gain(most).ratio ? &reports[i] : most;
    }
    add_subject_of_sizes(document, reports, n);
    say_verdict_of_sizes(document, reports, n, least, most);
    check_origin(document, reports);
    ifm_document_checks_of_parts(document, (const IfmDocument *const *)parts->pdata, n, "sizes");
    g_autofree char *command = run_command(most != NULL ? most : reports);
    ifm_document_next(document, command, NULL, "Run %s beside its prediction",
                      most != NULL ? "the size that gains most" : "the first size");
    if (most == NULL)
        return;
    add_gain_tile(document, "least gain", least);
    add_gain_tile(document, "greatest gain", most);
}
