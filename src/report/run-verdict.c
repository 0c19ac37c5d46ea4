/* In one line what a plan's run came to. */
#include <math.h>

#include <inferometer/json.h>

#include "report-private.h"

/* Whether the makespan lies in the prediction's own interval, and which that is. */
static void append_own_interval(GString *text, const IfmRunStory *story, const IfmRunFigure *makespan)
{
    double spread = ifm_member_number(ifm_run_prediction_of(story), "makespan_spread_ratio");
    double lower_ns = makespan->predicted * (1 - spread), upper_ns = makespan->predicted * (1 + spread);
    if (!isfinite(spread))
    {
        g_string_append(text, ", whose own interval is not known");
        return;
    }
    g_autofree char *lower = ifm_format_duration(fmax(0, lower_ns)), *upper = ifm_format_duration(upper_ns);
    gboolean within = makespan->measured >= lower_ns && makespan->measured <= upper_ns;
    g_string_append_printf(text, ", %s the predicted %s to %s", within ? "within" : "outside", lower, upper);
}

/* A prediction is good to this; what is left beyond it is not explained. */
#define CLOSE 0.05

/* What the devices made at once over what the prediction has them make; NaN where that is not known of all of them. */
static double bound_moved(const IfmRunStory *story)
{
    const json_t *predicted = json_object_get(ifm_run_prediction_of(story), "together");
    double measured_sum = 0, predicted_sum = 0;
    const char *alias;
    json_t *rate;
    json_object_foreach((json_t *)json_object_get(ifm_run_plan_member(story, "bound"), "together"), alias, rate)
    {
        measured_sum += json_number_value(rate);
        predicted_sum += ifm_member_number(predicted, alias);
    }
    return measured_sum > 0 ? measured_sum / predicted_sum : (double)NAN;
}

/* The bound is measured in turn with the plan: where it is as far off what was predicted of it as the plan is, its devices
 * were slower, or faster, than they were found before, and no other plan would have met its prediction. */
static void append_machine(GString *text, const IfmRunStory *story, double off)
{
    double moved = bound_moved(story), left = log(1 + off) + log(moved);
    if (!isfinite(left) || fabs(off) <= CLOSE || fabs(left) > CLOSE || fabs(left) > fabs(log(1 + off)) / 2)
        return;
    g_autofree char *by = ifm_format_ratio(fabs(moved - 1));
    g_string_append_printf(text,
                           "; the machine, not the plan: the bound moved alike, its devices made %s %s than predicted", by,
                           moved < 1 ? "less" : "more");
}

/* What each device makes alone is measured with the bound: a plan that is slower than one of them is not worth running.
 * Both are rates from the first batch's leaving on: filling the pipeline is in neither. */
static gboolean append_faster_alone(GString *text, const IfmRunStory *story)
{
    const char *alias, *best = NULL;
    double most = ifm_member_number(ifm_run_plan_member(story, "rate_per_s"), "median");
    json_t *rate;
    json_object_foreach((json_t *)json_object_get(ifm_run_plan_member(story, "bound"), "solo"), alias, rate)
    {
        if (!(json_number_value(rate) > most))
            continue;
        most = json_number_value(rate);
        best = alias;
    }
    if (best != NULL)
        g_string_append_printf(text, "; %s alone made %.4g/s: faster than this plan", best, most);
    return best != NULL;
}

/* In one line what it came to. */
void ifm_run_verdict(GString *out, const IfmRunStory *story, const GPtrArray *figures, const IfmScreen *screen)
{
    const IfmRunFigure *makespan = figures->pdata[0];
    g_autoptr(GString) text = g_string_new(NULL);
    IfmTone tone;
    const char *outputs = ifm_run_outputs_word(story, &tone);
    double off = ifm_run_difference(makespan),
           attained = ifm_member_number(ifm_run_plan_member(story, "bound"), "attained");
    g_autofree char *by = ifm_format_ratio(fabs(off));
    if (isfinite(off))
    {
        g_string_append_printf(text, "the makespan was %s %s than predicted", by, off < 0 ? "shorter" : "longer");
        append_own_interval(text, story, makespan);
        append_machine(text, story, off);
    }
    else
        g_string_append(text, ifm_run_is_replanned(story) ? "what was predicted is of another plan than ran"
                                                          : "nothing was predicted");
    if (isfinite(attained))
    {
        g_autofree char *share = ifm_format_ratio(attained);
        g_string_append_printf(text, "; %s of the bound", share);
    }
    gboolean beaten = append_faster_alone(text, story);
    g_string_append_printf(text, "; outputs %s", outputs);
    if (tone != IFM_TONE_BAD && beaten)
        tone = IFM_TONE_WARN;
    if (tone != IFM_TONE_BAD && isfinite(off) && fabs(off) > CLOSE)
        tone = IFM_TONE_WARN;
    ifm_page_told(out, "verdict", tone, text->str, screen);
}
