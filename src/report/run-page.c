#include <math.h>
#include <string.h>

#include <inferometer/json.h>

#include "report-private.h"

/* What a person reads of a plan's run: every figure that was predicted beside what was measured. */

/* --- figures ---------------------------------------------------------------------------------------------------------- */

static void figure_free(IfmRunFigure *figure)
{
    g_free(figure->key);
    g_free(figure);
}

/* @key: (transfer full) */
static IfmRunFigure *add_figure(GPtrArray *figures, char *key, const char *unit, double predicted, double measured)
{
    IfmRunFigure *figure = g_new(IfmRunFigure, 1);
    *figure = (IfmRunFigure){ key, unit, predicted, measured, { NAN, NAN, NAN } };
    g_ptr_array_add(figures, figure);
    return figure;
}

static const json_t *repetitions_of(const IfmRunStory *story)
{
    const json_t *surroundings = story->measurement != NULL ? story->measurement->surroundings : NULL;
    return json_object_get(json_object_get(surroundings, "plan"), "repetitions");
}

gboolean ifm_run_has_figures(const IfmRunStory *story)
{
    return json_array_size(repetitions_of(story)) > 0;
}

/* The median over repetitions, and its interval where they are enough for one. @path: of a member in ns. */
static double over_repetitions(const IfmRunStory *story, const char *path, IfmInterval *interval)
{
    const json_t *repetitions = repetitions_of(story);
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (gsize i = 0; i < json_array_size(repetitions); i++)
    {
        double ns = ifm_member_number(json_array_get(repetitions, i), path);
        gint64 sample = (gint64)ns;
        if (isfinite(ns))
            g_array_append_val(samples, sample);
    }
    IfmSummary summary;
    ifm_summary_compute((const gint64 *)(const void *)samples->data, samples->len, 0.95, &summary);
    *interval = summary.median_interval;
    return summary.median;
}

static const json_t *plan_member(const IfmRunStory *story, const char *key)
{
    const json_t *surroundings = story->measurement != NULL ? story->measurement->surroundings : NULL;
    return json_object_get(json_object_get(surroundings, "plan"), key);
}

static const json_t *last_repetition(const IfmRunStory *story)
{
    const json_t *repetitions = repetitions_of(story);
    return json_array_get(repetitions, json_array_size(repetitions) - 1);
}

/* A device failed, perhaps while the run warmed up, and the run went on by another plan: what was predicted is of the one
 * that did not run to its end. */
static gboolean is_replanned(const IfmRunStory *story)
{
    const json_t *plans = plan_member(story, "plans");
    const char *ran = ifm_member_text(last_repetition(story), "plan");
    g_autoptr(GString) planned = g_string_new(NULL);
    for (gsize i = 0; i < json_array_size(plans); i++)
        g_string_append_printf(planned, "%s%s", i > 0 ? "; " : "", json_string_value(json_array_get(plans, i)));
    return json_number_value(plan_member(story, "replans")) > 0 ||
           (planned->len > 0 && ran != NULL && !g_str_equal(ran, planned->str));
}

static const json_t *prediction_of(const IfmRunStory *story)
{
    return is_replanned(story) ? NULL : story->prediction;
}

static void read_interval(const json_t *json, IfmInterval *interval)
{
    double lower = ifm_member_number(json, "lower"), upper = ifm_member_number(json, "upper");
    if (isfinite(lower) && isfinite(upper))
        *interval = (IfmInterval){ lower, upper, ifm_member_number(json, "level") };
}

/* Too few repetitions bound no median; the gaps between batches are many, and all but the first one's way is made of them.
 */
static void interval_by_gaps(const IfmRunStory *story, double makespan_ns, IfmInterval *interval)
{
    const json_t *gap = plan_member(story, "gap_ns");
    IfmInterval mean = { NAN, NAN, NAN };
    read_interval(json_object_get(gap, "mean_interval"), &mean);
    double n = ifm_member_number(gap, "n") / (double)MAX(json_array_size(repetitions_of(story)), 1),
           half = n * (mean.upper - mean.lower) / 2;
    if (!isfinite(interval->lower) && isfinite(half) && half < makespan_ns)
        *interval = (IfmInterval){ makespan_ns - half, makespan_ns + half, mean.level };
}

/* The median over all batches, and its interval. */
static double latency_of_batches(const IfmRunStory *story, IfmInterval *interval)
{
    const json_t *latency = plan_member(story, "latency_ns");
    double median = ifm_member_number(latency, "median");
    if (!isfinite(median))
        return over_repetitions(story, "latency.p50_ns", interval);
    *interval = (IfmInterval){ NAN, NAN, NAN };
    read_interval(json_object_get(latency, "median_interval"), interval);
    return median;
}

static double n_batches_of(const IfmRunStory *story)
{
    return ifm_member_number(json_array_get(repetitions_of(story), 0), "n_batches");
}

static const json_t *prediction_of_block(const IfmRunStory *story, int number)
{
    const json_t *blocks = json_object_get(prediction_of(story), "blocks");
    for (gsize i = 0; i < json_array_size(blocks); i++)
        if (ifm_member_number(json_array_get(blocks, i), "block") == number)
            return json_array_get(blocks, i);
    return NULL;
}

static const json_t *prediction_of_device(const IfmRunStory *story, const IfmTrackInfo *info)
{
    const json_t *devices = json_object_get(prediction_of(story), "devices");
    for (gsize i = 0; i < json_array_size(devices); i++)
    {
        const json_t *device = json_array_get(devices, i);
        if (g_strcmp0(ifm_member_text(device, "alias"), info->device) == 0 &&
            ifm_member_number(device, "stream") == info->stream)
            return device;
    }
    return NULL;
}

/* "CPU+GPU", as it ran in the last repetition. (transfer full) */
static char *devices_that_ran(const IfmRunStory *story, int number)
{
    GString *out = g_string_new(NULL);
    const json_t *stages = json_object_get(last_repetition(story), "stages");
    const char *alias;
    json_t *value;
    for (gsize i = 0; i < json_array_size(stages) && out->len == 0; i++)
        if (ifm_member_number(json_array_get(stages, i), "block") == number)
            json_object_foreach(json_object_get(json_array_get(stages, i), "device_wall_ns"), alias, value)
                g_string_append_printf(out, "%s%s", out->len > 0 ? "+" : "", alias);
    return g_string_free(out, FALSE);
}

/* "block 1 CPU+GPU 1-3" (transfer full) */
static char *block_title(const IfmRunStory *story, const IfmStageUse *use)
{
    g_autofree char *name = is_replanned(story)   ? devices_that_ran(story, use->block)
                            : story->plan != NULL ? ifm_plan_block_name(story->plan, use->block)
                                                  : g_strdup("");
    g_autofree char *stages =
        use->first == use->last ? g_strdup_printf("%d", use->first) : g_strdup_printf("%d-%d", use->first, use->last);
    return g_strdup_printf("block %d %s%s%s", use->block, name, *name != '\0' ? " " : "", stages);
}

/* What a block has none of is not told. */
static void add_part(GPtrArray *figures, const char *key, double predicted_ns, double measured_ns)
{
    if (measured_ns > 0 || predicted_ns > 0)
        add_figure(figures, g_strdup(key), "ns", predicted_ns, measured_ns);
}

static void add_blocks(GPtrArray *figures, const IfmRunStory *story)
{
    for (guint i = 0; i < story->analysis->stages->len; i++)
    {
        const IfmStageUse *use = &g_array_index(story->analysis->stages, IfmStageUse, i);
        const json_t *predicted = prediction_of_block(story, use->block);
        add_figure(figures, block_title(story, use), "ns", ifm_member_number(predicted, "mean_ns"), use->mean_ns);
        add_part(figures, "  partition", ifm_member_number(predicted, "partition_ns"), use->partition_ns);
        add_part(figures, "  devices", ifm_member_number(predicted, "device_ns"), use->device_ns);
        add_part(figures, "  merge", ifm_member_number(predicted, "merge_ns"), use->merge_ns);
        add_part(figures, "  (wait for its turn)", ifm_member_number(predicted, "turn_ns"), use->turn_ns);
    }
}

static void add_devices(GPtrArray *figures, const IfmRunStory *story)
{
    for (guint i = 0; i < story->analysis->tracks->len; i++)
    {
        const IfmTrackUse *use = &g_array_index(story->analysis->tracks, IfmTrackUse, i);
        if (use->info->kind != IFM_TRACK_DEVICE)
            continue;
        const json_t *predicted = prediction_of_device(story, use->info);
        g_autofree char *stream = use->info->stream > 0 ? g_strdup_printf(" stream %d", use->info->stream) : g_strdup("");
        add_figure(figures, g_strdup_printf("%s%s wall utilisation", use->info->device, stream), "ratio",
                   ifm_member_number(predicted, "wall_utilisation"), use->wall_utilisation);
    }
}

GPtrArray *ifm_run_figures(const IfmRunStory *story)
{
    GPtrArray *figures = g_ptr_array_new_with_free_func((GDestroyNotify)figure_free);
    IfmInterval makespan, latency;
    double n = n_batches_of(story), makespan_ns = over_repetitions(story, "makespan_ns", &makespan),
           latency_ns = latency_of_batches(story, &latency);
    const json_t *prediction = prediction_of(story);
    IfmRunFigure *figure =
        add_figure(figures, g_strdup("makespan"), "ns", ifm_member_number(prediction, "makespan_ns"), makespan_ns);
    interval_by_gaps(story, makespan_ns, &makespan);
    figure->interval = makespan;
    figure = add_figure(figures, g_strdup("throughput"), "1/s", ifm_member_number(prediction, "throughput_per_s"),
                        n * 1e9 / makespan_ns);
    figure->interval = (IfmInterval){ n * 1e9 / makespan.upper, n * 1e9 / makespan.lower, makespan.level };
    figure = add_figure(figures, g_strdup("batch latency, median"), "ns", ifm_member_number(prediction, "batch_latency_ns"),
                        latency_ns);
    figure->interval = latency;
    if (story->analysis == NULL)
        return figures;
    add_blocks(figures, story);
    add_devices(figures, story);
    return figures;
}

static double difference_of(const IfmRunFigure *figure)
{
    return figure->measured / figure->predicted - 1;
}

/* --- getters ---------------------------------------------------------------------------------------------------------- */

/* (transfer full) NULL for NaN */
static char *figure_text(const IfmRunFigure *figure, double value)
{
    if (!isfinite(value))
        return NULL;
    if (g_str_equal(figure->unit, "ns"))
        return ifm_format_duration(value);
    if (g_str_equal(figure->unit, "ratio"))
        return ifm_format_ratio(value);
    return g_strdup_printf("%.4g /s", value);
}

static void get_key(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const IfmRunFigure *)record)->key);
}

static void get_unit(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const IfmRunFigure *)record)->unit);
}

/* @user: the offset of a double in IfmRunFigure. */
static void get_number(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, G_STRUCT_MEMBER(double, record, GPOINTER_TO_SIZE(user)));
}

static void get_words(const void *record, const void *user, IfmValue *value)
{
    char *text = figure_text(record, G_STRUCT_MEMBER(double, record, GPOINTER_TO_SIZE(user)));
    if (text != NULL)
        ifm_value_take_text(value, text);
}

static void get_interval(const void *record, const void *user, IfmValue *value)
{
    const IfmRunFigure *figure = record;
    double half = (figure->interval.upper - figure->interval.lower) / 2 / figure->measured;
    ifm_value_set_real(value, half);
}

static void get_difference(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, difference_of(record));
}

/* With its sign: which way the prediction missed. */
static void get_difference_words(const void *record, const void *user, IfmValue *value)
{
    const IfmRunFigure *figure = record;
    double ratio = difference_of(figure);
    if (!isfinite(ratio))
        return;
    g_autofree char *text = ifm_format_ratio(fabs(ratio));
    ifm_value_take_text(value, g_strconcat(ratio < 0 ? "-" : "+", text, NULL));
    value->tone = fabs(ratio) <= 0.05 ? IFM_TONE_GOOD : IFM_TONE_PLAIN;
}

#define FIGURE(member) GSIZE_TO_POINTER(G_STRUCT_OFFSET(IfmRunFigure, member))

const IfmField ifm_run_figure_fields[] = {
    { "figure", "", IFM_FIELD_TEXT, get_key, .flags = IFM_FIELD_WHOLE },
    { "predicted", "predicted", IFM_FIELD_TEXT, get_words, FIGURE(predicted),
      IFM_FIELD_NO_EXPORT | IFM_FIELD_WHOLE | IFM_FIELD_HIDE_EMPTY },
    { "measured", "measured", IFM_FIELD_TEXT, get_words, FIGURE(measured), IFM_FIELD_NO_EXPORT | IFM_FIELD_WHOLE },
    { "interval_ratio", "±", IFM_FIELD_RATIO, get_interval, .flags = IFM_FIELD_HIDE_EMPTY },
    { "difference", "off by", IFM_FIELD_TEXT, get_difference_words, NULL, IFM_FIELD_NO_EXPORT | IFM_FIELD_HIDE_EMPTY },
    { "unit", "unit", IFM_FIELD_TEXT, get_unit, .flags = IFM_FIELD_NO_SCREEN },
    { "predicted", "predicted", IFM_FIELD_REAL, get_number, FIGURE(predicted), IFM_FIELD_NO_SCREEN },
    { "measured", "measured", IFM_FIELD_REAL, get_number, FIGURE(measured), IFM_FIELD_NO_SCREEN },
    { "difference_ratio", "", IFM_FIELD_REAL, get_difference, .flags = IFM_FIELD_NO_SCREEN },
    { NULL },
};

/* --- sentences -------------------------------------------------------------------------------------------------------- */

const char *ifm_run_reason(const IfmRunStory *story)
{
    if (story->measurement == NULL)
        return story->reason;
    return story->measurement->outcome != IFM_OUTCOME_OK ? story->measurement->reason : NULL;
}

static void append_wrapped(GString *out, const char *text, int indent, const IfmScreen *screen)
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
    const json_t *bound = plan_member(story, "bound"), *none = plan_member(story, "no_bound");
    if (json_is_string(none))
    {
        g_autofree char *why = g_strdup_printf("bound     no bound: %s", json_string_value(none));
        append_wrapped(out, why, 10, screen);
    }
    if (!json_is_object(bound))
        return;
    g_autofree char *solo = rates_text(json_object_get(bound, "solo")),
                    *together = rates_text(json_object_get(bound, "together")),
                    *attained = ifm_format_ratio(ifm_member_number(bound, "attained"));
    g_autofree char *text =
        g_strdup_printf("bound     alone %s; all at once %s: at most %.2f times the best alone; the plan attains %s of it",
                        solo, together, ifm_member_number(bound, "gain"), attained);
    append_wrapped(out, text, 10, screen);
    const char *alias;
    json_t *why;
    json_object_foreach(json_object_get(bound, "left_out"), alias, why)
    {
        g_autofree char *line = g_strdup_printf("          without %s: %s", alias, json_string_value(why));
        append_wrapped(out, line, 10, screen);
    }
}

static const char *outputs_word(const IfmRunStory *story, IfmTone *tone)
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
    const json_t *cost = plan_member(story, "device_time_cost"), *interval = json_object_get(cost, "interval");
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
    append_wrapped(out, text, 10, screen);
}

static void append_replans(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    double n = json_number_value(plan_member(story, "replans"));
    if (!is_replanned(story))
        return;
    g_autofree char *when = n > 0 ? g_strdup_printf("%.0f time%s", n, n == 1 ? "" : "s") : g_strdup("while warming up");
    g_autofree char *text = g_strdup_printf("replanned %s: a device failed, and the others went on without it", when);
    append_wrapped(out, text, 10, screen);
    double predicted_ns = ifm_member_number(story->prediction, "makespan_ns");
    if (!isfinite(predicted_ns))
        return;
    g_autofree char *makespan = ifm_format_duration(predicted_ns);
    g_autofree char *apart =
        g_strdup_printf("predicted a makespan of %s, of the plan that did not run to its end: not compared", makespan);
    append_wrapped(out, apart, 10, screen);
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

/* Whether the makespan lies in the prediction's own interval, and which that is. */
static void append_own_interval(GString *text, const IfmRunStory *story, const IfmRunFigure *makespan)
{
    double spread = ifm_member_number(prediction_of(story), "makespan_spread_ratio");
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

/* What each device makes alone is measured with the bound: a plan that is slower than one of them is not worth running. */
static gboolean append_faster_alone(GString *text, const IfmRunStory *story, const IfmRunFigure *throughput)
{
    const char *alias, *best = NULL;
    double most = throughput->measured;
    json_t *rate;
    json_object_foreach((json_t *)json_object_get(plan_member(story, "bound"), "solo"), alias, rate)
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
static void append_verdict(GString *out, const IfmRunStory *story, const GPtrArray *figures, const IfmScreen *screen)
{
    const IfmRunFigure *makespan = figures->pdata[0];
    g_autoptr(GString) text = g_string_new(NULL);
    IfmTone tone;
    const char *outputs = outputs_word(story, &tone);
    double off = difference_of(makespan), attained = ifm_member_number(plan_member(story, "bound"), "attained");
    g_autofree char *by = ifm_format_ratio(fabs(off));
    if (isfinite(off))
    {
        g_string_append_printf(text, "the makespan was %s %s than predicted", by, off < 0 ? "shorter" : "longer");
        append_own_interval(text, story, makespan);
    }
    else
        g_string_append(text,
                        is_replanned(story) ? "what was predicted is of another plan than ran" : "nothing was predicted");
    if (isfinite(attained))
    {
        g_autofree char *share = ifm_format_ratio(attained);
        g_string_append_printf(text, "; %s of the bound", share);
    }
    gboolean beaten = append_faster_alone(text, story, figures->pdata[1]);
    g_string_append_printf(text, "; outputs %s", outputs);
    if (tone != IFM_TONE_BAD && beaten)
        tone = IFM_TONE_WARN;
    if (tone != IFM_TONE_BAD && isfinite(off) && fabs(off) > 0.05)
        tone = IFM_TONE_WARN;
    ifm_page_told(out, "verdict", tone, text->str, screen);
}

/* --- pages ------------------------------------------------------------------------------------------------------------ */

static void append_head(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    g_autofree char *plan = story->plan != NULL ? ifm_plan_to_text(story->plan) : NULL;
    gsize n_repetitions = json_array_size(repetitions_of(story));
    double n = n_batches_of(story);
    g_autoptr(GString) head = g_string_new(NULL);
    if (isfinite(n))
        g_string_append_printf(head, ", %.0f batches, %" G_GSIZE_FORMAT " time%s", n, n_repetitions,
                               n_repetitions == 1 ? "" : "s");
    const char *ran = is_replanned(story) ? ifm_member_text(last_repetition(story), "plan") : NULL;
    if (plan != NULL)
        g_string_append_printf(head, ": %s", plan);
    if (ran != NULL)
        g_string_append_printf(head, "; ran in the end: %s", ran);
    ifm_page_title(out, story->title, head->str, screen);
}

static void append_run(GString *out, const IfmRunStory *story, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) figures = ifm_run_figures(story);
    const char *reason = ifm_run_reason(story);
    append_head(out, story, screen);
    if (reason != NULL)
    {
        ifm_page_told(out, "failed", IFM_TONE_BAD, reason, screen);
    }
    if (json_array_size(repetitions_of(story)) == 0)
        return;
    g_string_append_c(out, '\n');
    ifm_page_table(out, ifm_run_figure_fields, figures, screen);
    g_string_append_c(out, '\n');
    if (story->origin != NULL)
    {
        g_autofree char *origin = g_strconcat("plan      ", story->origin, NULL);
        append_wrapped(out, origin, 10, screen);
    }
    IfmInterval interval;
    g_autofree char *tried = ifm_prediction_pilot_line(
        story->prediction, is_replanned(story) ? (double)NAN : over_repetitions(story, "makespan_ns", &interval));
    if (tried != NULL)
    {
        g_autofree char *pilot = g_strconcat("pilot     ", tried, NULL);
        append_wrapped(out, pilot, 10, screen);
    }
    append_bound(out, story, screen);
    append_device_time(out, story, screen);
    append_replans(out, story, screen);
    append_stop(out, story, screen);
    append_analysis_warnings(out, story, screen);
    if (reason == NULL)
        append_verdict(out, story, figures, screen);
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

/* RunLine: one run in a row. */
typedef struct
{
    const IfmRunStory *story;
    const IfmRunFigure *makespan, *throughput;
} RunLine;

static void get_title(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ((const RunLine *)record)->story->title);
}

static void get_predicted(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const RunLine *)record)->makespan->predicted);
}

static void get_measured(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const RunLine *)record)->makespan->measured);
}

static void get_off(const void *record, const void *user, IfmValue *value)
{
    get_difference_words(((const RunLine *)record)->makespan, NULL, value);
}

static void get_rate(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ((const RunLine *)record)->throughput->measured);
}

static void get_attained(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, ifm_member_number(plan_member(((const RunLine *)record)->story, "bound"), "attained"));
}

static void get_outputs(const void *record, const void *user, IfmValue *value)
{
    static const char *const words[][2] = { { "passed", "equal" },
                                            { "failed", "differ" },
                                            { "not-applicable", "simulated" } };
    const RunLine *line = record;
    const char *status =
        line->story->measurement != NULL ? ifm_member_text(line->story->measurement->verification, "status") : NULL;
    outputs_word(line->story, &value->tone);
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_strcmp0(status, words[i][0]) == 0)
            ifm_value_set_text(value, words[i][1]);
}

static const IfmField line_fields[] = {
    { "run", "run", IFM_FIELD_TEXT, get_title, .flags = IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "predicted_ns", "predicted", IFM_FIELD_DURATION, get_predicted },
    { "measured_ns", "measured", IFM_FIELD_DURATION, get_measured },
    { "off", "off by", IFM_FIELD_TEXT, get_off },
    { "throughput_per_s", "batches/s", IFM_FIELD_REAL, get_rate },
    { "attained", "of bound", IFM_FIELD_RATIO, get_attained, .flags = IFM_FIELD_HIDE_EMPTY },
    { "outputs", "outputs", IFM_FIELD_TEXT, get_outputs, .flags = IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

static void append_all(GString *out, const IfmRunStory *stories, gsize n, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free), kept = g_ptr_array_new();
    for (gsize i = 0; i < n; i++)
    {
        GPtrArray *figures = ifm_run_figures(&stories[i]);
        RunLine line = { &stories[i], figures->pdata[0], figures->pdata[1] };
        g_ptr_array_add(lines, g_memdup2(&line, sizeof line));
        g_ptr_array_add(kept, figures);
    }
    ifm_page_heading(out, "Predicted and measured", screen);
    ifm_page_table(out, line_fields, lines, screen);
    g_ptr_array_foreach(kept, (GFunc)(void (*)(void))g_ptr_array_unref, NULL);
}

char *ifm_run_to_screen(const IfmRunStory *stories, gsize n, const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    for (gsize i = 0; i < n; i++)
    {
        if (i > 0)
            g_string_append_c(out, '\n');
        append_run(out, &stories[i], screen);
    }
    if (n > 1)
        append_all(out, stories, n, screen);
    return g_string_free(out, FALSE);
}
