/* The figures of a plan's run: each that was predicted beside what was measured. */
#include <math.h>

#include <inferometer/json.h>

#include "report-private.h"

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

const json_t *ifm_run_repetitions(const IfmRunStory *story)
{
    const json_t *surroundings = story->measurement != NULL ? story->measurement->surroundings : NULL;
    return json_object_get(json_object_get(surroundings, "plan"), "repetitions");
}

gboolean ifm_run_has_figures(const IfmRunStory *story)
{
    return json_array_size(ifm_run_repetitions(story)) > 0;
}

/* The median over repetitions, and its interval where they are enough for one. @path: of a member in ns. */
double ifm_run_over_repetitions(const IfmRunStory *story, const char *path, IfmInterval *interval)
{
    const json_t *repetitions = ifm_run_repetitions(story);
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

const json_t *ifm_run_plan_member(const IfmRunStory *story, const char *key)
{
    const json_t *surroundings = story->measurement != NULL ? story->measurement->surroundings : NULL;
    return json_object_get(json_object_get(surroundings, "plan"), key);
}

const json_t *ifm_run_last_repetition(const IfmRunStory *story)
{
    const json_t *repetitions = ifm_run_repetitions(story);
    return json_array_get(repetitions, json_array_size(repetitions) - 1);
}

/* A device failed, perhaps while the run warmed up, and the run went on by another plan: what was predicted is of the one
 * that did not run to its end. */
gboolean ifm_run_is_replanned(const IfmRunStory *story)
{
    const json_t *plans = ifm_run_plan_member(story, "plans");
    const char *ran = ifm_member_text(ifm_run_last_repetition(story), "plan");
    g_autoptr(GString) planned = g_string_new(NULL);
    for (gsize i = 0; i < json_array_size(plans); i++)
        g_string_append_printf(planned, "%s%s", i > 0 ? "; " : "", json_string_value(json_array_get(plans, i)));
    return json_number_value(ifm_run_plan_member(story, "replans")) > 0 ||
           (planned->len > 0 && ran != NULL && !g_str_equal(ran, planned->str));
}

const json_t *ifm_run_prediction_of(const IfmRunStory *story)
{
    return ifm_run_is_replanned(story) ? NULL : story->prediction;
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
    const json_t *gap = ifm_run_plan_member(story, "gap_ns");
    IfmInterval mean = { NAN, NAN, NAN };
    read_interval(json_object_get(gap, "mean_interval"), &mean);
    double n = ifm_member_number(gap, "n") / (double)MAX(json_array_size(ifm_run_repetitions(story)), 1),
           half = n * (mean.upper - mean.lower) / 2;
    if (!isfinite(interval->lower) && isfinite(half) && half < makespan_ns)
        *interval = (IfmInterval){ makespan_ns - half, makespan_ns + half, mean.level };
}

/* The median over all batches, and its interval. */
static double latency_of_batches(const IfmRunStory *story, IfmInterval *interval)
{
    const json_t *latency = ifm_run_plan_member(story, "latency_ns");
    double median = ifm_member_number(latency, "median");
    if (!isfinite(median))
        return ifm_run_over_repetitions(story, "latency.p50_ns", interval);
    *interval = (IfmInterval){ NAN, NAN, NAN };
    read_interval(json_object_get(latency, "median_interval"), interval);
    return median;
}

double ifm_run_n_batches(const IfmRunStory *story)
{
    return ifm_member_number(json_array_get(ifm_run_repetitions(story), 0), "n_batches");
}

static const json_t *prediction_of_block(const IfmRunStory *story, int number)
{
    const json_t *blocks = json_object_get(ifm_run_prediction_of(story), "blocks");
    for (gsize i = 0; i < json_array_size(blocks); i++)
        if (ifm_member_number(json_array_get(blocks, i), "block") == number)
            return json_array_get(blocks, i);
    return NULL;
}

static const json_t *prediction_of_device(const IfmRunStory *story, const IfmTrackInfo *info)
{
    const json_t *devices = json_object_get(ifm_run_prediction_of(story), "devices");
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
    const json_t *stages = json_object_get(ifm_run_last_repetition(story), "stages");
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
    g_autofree char *name = ifm_run_is_replanned(story) ? devices_that_ran(story, use->block)
                            : story->plan != NULL       ? ifm_plan_block_name(story->plan, use->block)
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
    double n = ifm_run_n_batches(story), makespan_ns = ifm_run_over_repetitions(story, "makespan_ns", &makespan),
           latency_ns = latency_of_batches(story, &latency);
    const json_t *prediction = ifm_run_prediction_of(story);
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

double ifm_run_difference(const IfmRunFigure *figure)
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
    ifm_value_set_real(value, ifm_run_difference(record));
}

/* With its sign: which way the prediction missed. */
void ifm_run_get_difference(const void *record, const void *user, IfmValue *value)
{
    const IfmRunFigure *figure = record;
    double ratio = ifm_run_difference(figure);
    if (!isfinite(ratio))
        return;
    g_autofree char *text = ifm_format_ratio(fabs(ratio));
    ifm_value_take_text(value, g_strconcat(ratio < 0 ? "-" : "+", text, NULL));
    value->tone = fabs(ratio) <= 0.05 ? IFM_TONE_GOOD : IFM_TONE_PLAIN;
}

#define FIGURE(member) IFM_FIELD_AT(IfmRunFigure, member)

const IfmField ifm_run_figure_fields[] = {
    { "figure", "", IFM_FIELD_TEXT, ifm_field_get_text, FIGURE(key), IFM_FIELD_WHOLE },
    { "predicted", "predicted", IFM_FIELD_TEXT, get_words, FIGURE(predicted),
      IFM_FIELD_NO_EXPORT | IFM_FIELD_WHOLE | IFM_FIELD_HIDE_EMPTY },
    { "measured", "measured", IFM_FIELD_TEXT, get_words, FIGURE(measured), IFM_FIELD_NO_EXPORT | IFM_FIELD_WHOLE },
    { "interval_ratio", "±", IFM_FIELD_RATIO, get_interval, .flags = IFM_FIELD_HIDE_EMPTY },
    { "difference", "off by", IFM_FIELD_TEXT, ifm_run_get_difference, NULL, IFM_FIELD_NO_EXPORT | IFM_FIELD_HIDE_EMPTY },
    { "unit", "unit", IFM_FIELD_TEXT, ifm_field_get_text, FIGURE(unit), IFM_FIELD_NO_SCREEN },
    { "predicted", "predicted", IFM_FIELD_REAL, ifm_field_get_real, FIGURE(predicted), IFM_FIELD_NO_SCREEN },
    { "measured", "measured", IFM_FIELD_REAL, ifm_field_get_real, FIGURE(measured), IFM_FIELD_NO_SCREEN },
    { "difference_ratio", "", IFM_FIELD_REAL, get_difference, .flags = IFM_FIELD_NO_SCREEN },
    { NULL },
};
