/* What a page says of a plan's run below its figures, a line each. */
#include <math.h>

#include <inferometer/json.h>

#include "report-private.h"

const char *ifm_run_reason(const IfmRunStory *story)
{
    if (story->measurement == NULL)
        return story->reason;
    return story->measurement->outcome != IFM_OUTCOME_OK ? story->measurement->reason : NULL;
}

void ifm_run_line(GString *out, const char *text, int indent, const IfmScreen *screen)
{
    g_autofree char *spelt = ifm_format_spelt(text, screen->utf8);
    ifm_format_wrap(out, spelt, indent, 0, screen->width);
}

/* "CPU 23.1/s, ORT 20.2/s" (transfer full) */
static char *rates_text(const json_t *rates)
{
    GString *out = g_string_new(NULL);
    const char *alias;
    json_t *rate;
    json_object_foreach((json_t *)rates, alias, rate)
        g_string_append_printf(out, "%s%s %.4g/s", out->len > 0 ? ", " : "", alias, json_number_value(rate));
    return g_string_free(out, FALSE);
}

static void append_bound(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    const json_t *bound = ifm_run_plan_member(story, "bound"), *none = ifm_run_plan_member(story, "no_bound");
    if (json_is_string(none))
    {
        g_autofree char *why = g_strdup_printf("bound     no bound: %s", json_string_value(none));
        ifm_run_line(out, why, 10, screen);
    }
    if (!json_is_object(bound))
        return;
    g_autofree char *solo = rates_text(json_object_get(bound, "solo")),
                    *together = rates_text(json_object_get(bound, "together")),
                    *predicted = rates_text(json_object_get(ifm_run_prediction_of(story), "together")),
                    *attained = ifm_format_ratio(ifm_member_number(bound, "attained"));
    g_autofree char *beside = *predicted != '\0' ? g_strdup_printf(" (predicted %s)", predicted) : g_strdup("");
    g_autofree char *text = g_strdup_printf(
        "bound     alone %s; all at once, each its own batches, %s%s: %.2f times the best alone; the plan attains %s of it",
        solo, together, beside, ifm_member_number(bound, "gain"), attained);
    ifm_run_line(out, text, 10, screen);
    const char *alias;
    json_t *why;
    json_object_foreach(json_object_get(bound, "left_out"), alias, why)
    {
        g_autofree char *line = g_strdup_printf("          without %s: %s", alias, json_string_value(why));
        ifm_run_line(out, line, 10, screen);
    }
}

const char *ifm_run_outputs_word(const IfmRunStory *story, IfmTone *tone)
{
    const char *status = story->measurement != NULL ? ifm_member_text(story->measurement->verification, "status") : NULL;
    *tone = g_strcmp0(status, "passed") == 0   ? IFM_TONE_GOOD
            : g_strcmp0(status, "failed") == 0 ? IFM_TONE_BAD
                                               : IFM_TONE_WARN;
    return g_strcmp0(status, "passed") == 0           ? "equal the reference's"
           : g_strcmp0(status, "failed") == 0         ? "differ from the reference's"
           : g_strcmp0(status, "not-applicable") == 0 ? "not compared: simulated devices compute nothing"
                                                      : "not compared";
}

/* An interval was aimed at and not reached. */
static void append_stop(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    const char *stop = story->measurement != NULL ? story->measurement->stop_reason : NULL;
    gboolean most = g_strcmp0(stop, ifm_stop_reason_name(IFM_STOP_MOST_RUNS)) == 0;
    if (most || g_strcmp0(stop, ifm_stop_reason_name(IFM_STOP_TIME_BUDGET)) == 0)
        ifm_page_told(out, "interval", IFM_TONE_WARN,
                      most ? "wider than was asked for after the most repetitions"
                           : "wider than was asked for when the time was spent",
                      screen);
}

/* "0.12 %", "-3.4 %" (transfer full) */
static char *signed_ratio(double ratio)
{
    g_autofree char *size = ifm_format_ratio(fabs(ratio));
    return g_strconcat(ratio < 0 ? "-" : "", size, NULL);
}

static void append_device_time(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    const json_t *cost = ifm_run_plan_member(story, "device_time_cost"), *interval = json_object_get(cost, "interval");
    const char *why = ifm_member_text(cost, "why");
    double lower = ifm_member_number(interval, "lower"), upper = ifm_member_number(interval, "upper");
    g_autofree char *text = NULL;
    if (!json_is_object(cost))
        return;
    g_autofree char *ratio = signed_ratio(ifm_member_number(cost, "ratio")), *least = signed_ratio(lower),
                    *most = signed_ratio(upper);
    if (why != NULL)
        text = g_strdup_printf("counters  how much asking for device time slowed it down is not known: %s", why);
    else
        text =
            g_strdup_printf("counters  asking for device time %s %s (%s to %s at 95 %%), by %.0f inferences with counters "
                            "and %.0f without",
                            lower <= 0 && upper >= 0 ? "did not surely slow it down:" : "slowed it down by", ratio, least,
                            most, ifm_member_number(cost, "n_counted"), ifm_member_number(cost, "n_plain"));
    ifm_run_line(out, text, 10, screen);
}

static void append_replans(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    double n = json_number_value(ifm_run_plan_member(story, "replans"));
    if (!ifm_run_is_replanned(story))
        return;
    g_autofree char *when = n > 0 ? g_strdup_printf("%.0f time%s", n, n == 1 ? "" : "s") : g_strdup("while warming up");
    g_autofree char *text = g_strdup_printf("replanned %s: a device failed, and the others went on without it", when);
    ifm_run_line(out, text, 10, screen);
    double predicted_ns = ifm_member_number(story->prediction, "makespan_ns");
    if (!isfinite(predicted_ns))
        return;
    g_autofree char *makespan = ifm_format_duration(predicted_ns);
    g_autofree char *apart =
        g_strdup_printf("predicted a makespan of %s, of the plan that did not run to its end: not compared", makespan);
    ifm_run_line(out, apart, 10, screen);
}

static void append_analysis_warnings(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    for (guint i = 0; story->analysis != NULL && i < story->analysis->warnings->len; i++)
        ifm_page_told(out, "trace", IFM_TONE_WARN, story->analysis->warnings->pdata[i], screen);
    const json_t *warnings =
        story->measurement != NULL ? json_object_get(story->measurement->surroundings, "warnings") : NULL;
    for (gsize i = 0; i < json_array_size(warnings); i++)
        if (json_is_string(json_array_get(warnings, i)))
            ifm_page_told(out, "warning", IFM_TONE_WARN, json_string_value(json_array_get(warnings, i)), screen);
}
void ifm_run_lines(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    append_bound(out, story, screen);
    append_device_time(out, story, screen);
    append_replans(out, story, screen);
    append_stop(out, story, screen);
    append_analysis_warnings(out, story, screen);
}
