#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/summary.h>
#include <document/words.h>
#include <measure/kinds.h>
#include <store/trust.h>

#include "run-page.h"
#include "run.h"

/* What a run comes to: how much it did, whether its prediction was right, and what to trust of both. */

#define WIDE 0.5 /* half an interval over its middle: so wide agrees with anything */

/* "shorter", "longer" */
static const char *direction(double ratio)
{
    return ratio < 0 ? "shorter" : "longer";
}

static void say_prediction(IfmDocument *document, const IfmRunReport *report, const IfmRunVerdict *verdict,
                           const IfmRunFigure *makespan)
{
    g_autofree char *off = ifm_say_per_cent(fabs(verdict->difference_ratio)),
                    *measured = ifm_say_duration(makespan->measured), *predicted = ifm_say_duration(makespan->predicted),
                    *range = ifm_say_durations(fmax(0, verdict->lower_ns), verdict->upper_ns);
    const gboolean has_range = isfinite(verdict->upper_ns);
    const double half = (verdict->upper_ns - verdict->lower_ns) / (verdict->upper_ns + verdict->lower_ns);
    g_autoptr(GString) more = g_string_new(NULL);
    if (!isfinite(verdict->difference_ratio))
    {
        ifm_document_verdict(document, "The run took %s; %s", measured,
                             ifm_run_is_replanned(report) ? "what was predicted is of another plan than ran"
                                                          : "nothing was predicted");
        return;
    }
    if (verdict->close)
        ifm_document_verdict(document, "The prediction was right to %s: the run took %s", off, measured);
    else if (has_range && verdict->within && half > WIDE)
        ifm_document_verdict(document, "The run was %s %s than predicted; the prediction was too wide to be wrong", off,
                             direction(verdict->difference_ratio));
    else if (has_range && verdict->within)
        ifm_document_verdict(document, "The run was %s %s than predicted, within the prediction's interval", off,
                             direction(verdict->difference_ratio));
    else
        ifm_document_verdict(document, "The run was %s %s than predicted%s", off, direction(verdict->difference_ratio),
                             verdict->machine_moved ? ": the machine moved, not the plan" : "");
    g_string_append_printf(more, "%s measured, %s predicted", measured, predicted);
    if (has_range)
        g_string_append_printf(more, ", whose interval is %s", range);
    ifm_document_verdict_more(document, "%s", more->str);
    if (has_range && verdict->lower_ns > 0)
        ifm_document_estimate(document, &(IfmVerdictRange){ makespan->predicted, verdict->lower_ns, verdict->upper_ns,
                                                            makespan->measured, TRUE, IFM_FIELD_DURATION, "measured",
                                                            "predicted shorter", "predicted longer" });
}

static void check_repetitions(IfmDocument *document, const IfmRunReport *report, const IfmRunFigure *throughput)
{
    IfmPlanRunResult result;
    ifm_plan_run_result(report->measurement, &result);
    const double half = (throughput->interval.upper - throughput->interval.lower) / 2 / throughput->measured;
    g_autofree char *width = ifm_say_per_cent(half);
    if (!isfinite(half))
        ifm_document_check(document, IFM_TRUST_CARE, "%zu repetition%s: the throughput has no interval",
                           result.n_repetitions, ifm_plural(result.n_repetitions));
    else
        ifm_document_check(document, half > 0.1 ? IFM_TRUST_CARE : IFM_TRUST_GOOD,
                           "the throughput is known to ±%s, by %zu repetitions", width, result.n_repetitions);
    const char *ran = ifm_member_text(json_array_get(result.repetitions, result.n_repetitions - 1), "plan");
    if (ifm_run_is_replanned(report))
        ifm_document_check(document, IFM_TRUST_BAD, "a device failed, and the others went on without it: in the end ran %s",
                           ran != NULL ? ran : "another plan");
}

static void check_bound(IfmDocument *document, const IfmRunVerdict *verdict)
{
    g_autofree char *share = ifm_say_per_cent(verdict->attained_ratio), *rate = ifm_say_number(verdict->faster_alone_per_s),
                    *least = ifm_say_per_cent(verdict->attained.lower), *most = ifm_say_per_cent(verdict->attained.upper),
                    *moved = ifm_say_per_cent(fabs(verdict->bound_ratio - 1)),
                    *range = g_strdup_printf("%s to %s, of its devices each on batches of its own", least, most);
    ifm_document_tile(document,
                      &(IfmTile){ "share of the bound", share,
                                  isfinite(verdict->attained.upper) ? range : "its devices, each on batches of its own",
                                  fmin(verdict->attained_ratio, 1) });
    if (verdict->machine_moved)
        ifm_document_check(document, IFM_TRUST_CARE, "the machine moved: its devices alone made %s %s than predicted",
                           moved, verdict->bound_ratio < 1 ? "less" : "more");
    if (verdict->attained_ratio > 1)
        ifm_document_check(document, IFM_TRUST_CARE,
                           "the run took less than its bound: the bound was measured next to it, and not at the same time");
    if (verdict->faster_alone != NULL)
        ifm_document_check(document, IFM_TRUST_CARE, "%s alone made %s batches a second, more than this plan",
                           verdict->faster_alone, rate);
}

/* One run, of which ifm_run_figures() are there where it did not fail before them. */
static void add_one(IfmDocument *document, const IfmRunReport *report, const GPtrArray *figures)
{
    const char *reason = ifm_run_reason(report);
    g_autofree char *called = ifm_run_called(report);
    ifm_document_subject(document, "%s", called);
    if (reason != NULL)
    {
        ifm_document_verdict(document, "The run failed: %s", reason);
        return;
    }
    if (figures == NULL || figures->len < 2)
        return;
    const IfmRunFigure *makespan = figures->pdata[0], *throughput = figures->pdata[1];
    const IfmRunVerdict verdict = ifm_run_judge(report, makespan);
    g_autofree char *rate = ifm_say_number(throughput->measured),
                    *range = ifm_say_numbers(throughput->interval.lower, throughput->interval.upper),
                    *predicted = ifm_say_number(throughput->predicted),
                    *beside = g_strdup_printf("%s; predicted %s", range, predicted);
    say_prediction(document, report, &verdict, makespan);
    check_repetitions(document, report, throughput);
    ifm_document_tile(document, &(IfmTile){ "batches a second", rate, beside, NAN });
    check_bound(document, &verdict);
    if (verdict.machine_moved)
        ifm_document_next_again(document, "", NULL, "Measure it again: the machine moved meanwhile");
    else
        ifm_document_next_again(document, "--trace run.json.gz && inferometer trace run.json.gz", NULL,
                                "See where the time went in its trace");
}

/* Several runs: how far predictions were off, and how many runs lie in their interval. */
static void say_all(IfmDocument *document, const IfmRunReport *reports, gsize n)
{
    double least = INFINITY, most = 0;
    gsize n_compared = 0, n_within = 0, n_failed = 0;
    for (gsize i = 0; i < n; i++)
    {
        g_autoptr(GPtrArray) figures = ifm_run_has_figures(&reports[i]) ? ifm_run_figures(&reports[i]) : NULL;
        const char *reason = ifm_run_reason(&reports[i]);
        n_failed += reason != NULL;
        if (reason != NULL)
            ifm_document_check(document, IFM_TRUST_CARE, "%s failed: %s", reports[i].title, reason);
        if (reason != NULL || figures == NULL)
            continue;
        const IfmRunVerdict verdict = ifm_run_judge(&reports[i], figures->pdata[0]);
        check_repetitions(document, &reports[i], figures->pdata[1]);
        if (!isfinite(verdict.difference_ratio))
            continue;
        n_compared++;
        n_within += verdict.within;
        least = fmin(least, fabs(verdict.difference_ratio));
        most = fmax(most, fabs(verdict.difference_ratio));
    }
    g_autofree char *low = ifm_say_per_cent(least), *high = ifm_say_per_cent(most);
    ifm_document_subject(document, "%zu runs", n);
    if (n_compared == 0)
        ifm_document_verdict(document, "%zu of %zu runs failed; nothing is compared with a prediction", n_failed, n);
    else
        ifm_document_verdict(document, "%zu of %zu runs %s within their prediction's interval", n_within, n_compared,
                             n_within == 1 ? "lies" : "lie");
    if (n_compared > 0)
        ifm_document_verdict_more(document, "The makespans are %s%s%s off what was predicted", low,
                                  g_str_equal(low, high) ? "" : " to ", g_str_equal(low, high) ? "" : high);
}

void ifm_run_add_headline(IfmDocument *document, const IfmRunReport *reports, gsize n)
{
    g_autoptr(GPtrArray) figures = n == 1 && ifm_run_has_figures(reports) ? ifm_run_figures(reports) : NULL;
    for (gsize i = 0; i < n; i++)
    {
        const IfmResult result = { .device = reports[i].title,
                                   .subject_case = reports[i].subject_case,
                                   .measurement = (IfmMeasurement *)reports[i].measurement };
        ifm_document_trust(document, &result, n > 1 ? reports[i].title : NULL);
    }
    if (n == 1)
        add_one(document, reports, figures);
    else
        say_all(document, reports, n);
}
