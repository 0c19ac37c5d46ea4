/* The figures of a plan's run, as predicted and as measured, and what they come to. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <base/statistics.h>
#include <inferometer/engine.h>
#include <measure/kinds.h>
#include <pipeline/pipeline.h>
#include <run/run.h>
#include <store/store.h>

static void figure_free(IfmRunFigure *figure)
{
    g_free(figure->key);
    g_free(figure);
}

/* @key: (transfer full) */
static IfmRunFigure *add_figure(GPtrArray *figures, char *key, const char *unit, double predicted, double measured)
{
    IfmRunFigure *figure = g_new(IfmRunFigure, 1);
    *figure = (IfmRunFigure){ key, unit, predicted, measured, measured / predicted - 1, { NAN, NAN, NAN } };
    g_ptr_array_add(figures, figure);
    return figure;
}

static IfmPlanRunResult result_of(const IfmRunReport *report)
{
    IfmPlanRunResult result;
    ifm_plan_run_result(report->measurement, &result);
    return result;
}

gboolean ifm_run_has_figures(const IfmRunReport *report)
{
    return result_of(report).n_repetitions > 0;
}

/* Of each repetition that has it, double. (transfer full) */
static GArray *collect(const IfmPlanRunResult *result, const char *path)
{
    GArray *values = g_array_new(FALSE, FALSE, sizeof(double));
    for (gsize i = 0; i < result->n_repetitions; i++)
    {
        const double value = ifm_member_number(json_array_get(result->repetitions, i), path);
        if (isfinite(value))
            g_array_append_val(values, value);
    }
    return values;
}

/* The median over repetitions, and its interval where they are enough for one. @path: of a member in ns. */
static double median_over_repetitions(const IfmRunReport *report, const char *path, IfmInterval *interval)
{
    const IfmPlanRunResult result = result_of(report);
    g_autoptr(GArray) values = collect(&result, path);
    g_autofree gint64 *samples = g_new(gint64, values->len + 1);
    for (guint i = 0; i < values->len; i++)
        samples[i] = (gint64)g_array_index(values, double, i);
    IfmSummary summary;
    ifm_summary_compute(samples, values->len, 0.95, &summary);
    *interval = summary.median_interval;
    return summary.median;
}

static const json_t *last_repetition(const IfmRunReport *report)
{
    const IfmPlanRunResult result = result_of(report);
    return json_array_get(result.repetitions, result.n_repetitions - 1);
}

gboolean ifm_run_is_replanned(const IfmRunReport *report)
{
    const IfmPlanRunResult result = result_of(report);
    const char *ran = ifm_member_text(last_repetition(report), "plan");
    g_autoptr(GString) planned = g_string_new(NULL);
    for (gsize i = 0; i < json_array_size(result.plans); i++)
        g_string_append_printf(planned, "%s%s", i > 0 ? "; " : "", json_string_value(json_array_get(result.plans, i)));
    return result.n_replans > 0 || (planned->len > 0 && ran != NULL && !g_str_equal(ran, planned->str));
}

static const json_t *prediction_of(const IfmRunReport *report)
{
    return ifm_run_is_replanned(report) ? NULL : report->prediction;
}

static void read_interval(const json_t *json, IfmInterval *interval)
{
    double lower = ifm_member_number(json, "lower"), upper = ifm_member_number(json, "upper");
    if (isfinite(lower) && isfinite(upper))
        *interval = (IfmInterval){ lower, upper, ifm_member_number(json, "level") };
}

/* Too few repetitions bound no median; the gaps between batches are many, and all but the first one's way is made of them.
 */
static void interval_by_gaps(const IfmRunReport *report, double makespan_ns, IfmInterval *interval)
{
    const json_t *gap = ifm_measurement_result(report->measurement, "gap_ns");
    IfmInterval mean = { NAN, NAN, NAN };
    read_interval(json_object_get(gap, "mean_interval"), &mean);
    double n = ifm_member_number(gap, "n") / (double)MAX(result_of(report).n_repetitions, 1),
           half = n * (mean.upper - mean.lower) / 2;
    if (!isfinite(interval->lower) && isfinite(half) && half < makespan_ns)
        *interval = (IfmInterval){ makespan_ns - half, makespan_ns + half, mean.level };
}

/* The median over all batches, and its interval. */
static double latency_of_batches(const IfmRunReport *report, IfmInterval *interval)
{
    const json_t *latency = ifm_measurement_result(report->measurement, "latency_ns");
    double median = ifm_member_number(latency, "median");
    if (!isfinite(median))
        return median_over_repetitions(report, "latency.p50_ns", interval);
    *interval = (IfmInterval){ NAN, NAN, NAN };
    read_interval(json_object_get(latency, "median_interval"), interval);
    return median;
}

static double n_batches_of(const IfmRunReport *report)
{
    return ifm_member_number(json_array_get(result_of(report).repetitions, 0), "n_batches");
}

static const json_t *prediction_of_block(const IfmRunReport *report, int number)
{
    const json_t *blocks = json_object_get(prediction_of(report), "blocks");
    for (gsize i = 0; i < json_array_size(blocks); i++)
        if (ifm_member_number(json_array_get(blocks, i), "block") == number)
            return json_array_get(blocks, i);
    return NULL;
}

/* The mean over a device's streams; NaN where nothing was predicted of it. */
static double predicted_utilisation(const IfmRunReport *report, const char *alias, gsize *n_streams)
{
    const json_t *devices = json_object_get(prediction_of(report), "devices");
    double sum = 0;
    *n_streams = 0;
    for (gsize i = 0; i < json_array_size(devices); i++)
    {
        const json_t *device = json_array_get(devices, i);
        if (g_strcmp0(ifm_member_text(device, "alias"), alias) != 0)
            continue;
        sum += ifm_member_number(device, "wall_utilisation");
        ++*n_streams;
    }
    return *n_streams > 0 ? sum / (double)*n_streams : (double)NAN;
}

static const json_t *last_stages(const IfmRunReport *report)
{
    return json_object_get(last_repetition(report), "stages");
}

/* Of a block, by its index, in every repetition that ran the plan of the last one, double: each figure has the same
 * population as the makespan. @key: a member of the block; @alias: NULL, or whose member of that, as a share of the
 * repetition's makespan (transfer full) */
static GArray *over_repetitions(const IfmRunReport *report, gsize at, const char *key, const char *alias)
{
    GArray *values = g_array_new(FALSE, FALSE, sizeof(double));
    const IfmPlanRunResult result = result_of(report);
    const char *plan = ifm_member_text(last_repetition(report), "plan");
    for (gsize r = 0; r < result.n_repetitions; r++)
    {
        const json_t *repetition = json_array_get(result.repetitions, r);
        const json_t *block = json_array_get(json_object_get(repetition, "stages"), at);
        if (g_strcmp0(ifm_member_text(repetition, "plan"), plan) != 0)
            continue;
        double value = ifm_member_number(alias != NULL ? json_object_get(block, key) : block, alias != NULL ? alias : key);
        if (alias != NULL)
            value *= ifm_member_number(block, "n") / ifm_member_number(repetition, "makespan_ns");
        if (isfinite(value))
            g_array_append_val(values, value);
    }
    return values;
}

/* @key: (transfer full) @values: (transfer full) of repetitions: their mean, with its interval from three on */
static void add_mean(GPtrArray *figures, char *key, const char *unit, double predicted, GArray *values)
{
    IfmInterval interval;
    double mean = ifm_mean_interval((const double *)(const void *)values->data, values->len, 0.95, &interval);
    IfmRunFigure *figure = add_figure(figures, key, unit, predicted, mean);
    if (values->len > 2)
        figure->interval = interval;
    g_array_unref(values);
}

/* What a block has none of is left out. */
static void add_part(GPtrArray *figures, const IfmRunReport *report, gsize at, const char *title, const char *key,
                     const json_t *predicted)
{
    const double predicted_ns = ifm_member_number(predicted, key);
    GArray *values = over_repetitions(report, at, key, NULL);
    gboolean any = predicted_ns > 0;
    for (guint i = 0; i < values->len; i++)
        any |= g_array_index(values, double, i) > 0;
    if (any)
        add_mean(figures, g_strdup(title), "ns", predicted_ns, values);
    else
        g_array_unref(values);
}

/* "block 1 CPU+GPU 1-3" (transfer full) */
static char *block_title(const json_t *block)
{
    GString *out = g_string_new(NULL);
    int first = (int)ifm_member_number(block, "first"), last = (int)ifm_member_number(block, "last");
    const char *alias;
    json_t *value;
    g_string_append_printf(out, "block %d ", (int)ifm_member_number(block, "block"));
    gsize before = out->len;
    json_object_foreach(json_object_get(block, "device_wall_ns"), alias, value)
        g_string_append_printf(out, "%s%s", out->len > before ? "+" : "", alias);
    g_string_append_printf(out, " %d", first);
    if (last != first)
        g_string_append_printf(out, "-%d", last);
    return g_string_free(out, FALSE);
}

static void add_blocks(GPtrArray *figures, const IfmRunReport *report)
{
    static const char *const parts[][2] = { { "  partition", "partition_ns" },
                                            { "  devices", "device_ns" },
                                            { "  merge", "merge_ns" },
                                            { "  (wait for its turn)", "turn_ns" } };
    const json_t *stages = last_stages(report);
    for (gsize i = 0; i < json_array_size(stages); i++)
    {
        const json_t *block = json_array_get(stages, i),
                     *predicted = prediction_of_block(report, (int)ifm_member_number(block, "block"));
        add_mean(figures, block_title(block), "ns", ifm_member_number(predicted, "mean_ns"),
                 over_repetitions(report, i, "mean_ns", NULL));
        for (gsize part = 0; part < G_N_ELEMENTS(parts); part++)
            add_part(figures, report, i, parts[part][0], parts[part][1], predicted);
    }
}

/* The streams of a device of the run, by the plan; where there is none, of an alias, one. */
static gsize streams_of(const IfmRunReport *report, const char *alias)
{
    for (guint i = 0; report->plan != NULL && i < report->plan->devices->len; i++)
    {
        const IfmPlanDevice *device = report->plan->devices->pdata[i];
        g_autoptr(IfmDeviceSpec) spec = device->device != NULL && g_str_equal(device->alias, alias)
                                            ? ifm_device_spec_parse(device->device, NULL)
                                            : NULL;
        if (spec != NULL)
            return (gsize)MAX(spec->n_streams, 1);
    }
    return 1;
}

static void add_devices(GPtrArray *figures, const IfmRunReport *report)
{
    const json_t *stages = last_stages(report);
    for (gsize i = 0; i < json_array_size(stages); i++)
    {
        const char *alias;
        json_t *value;
        json_object_foreach(json_object_get(json_array_get(stages, i), "device_wall_ns"), alias, value)
        {
            gsize n_predicted, n_streams = streams_of(report, alias);
            double predicted = predicted_utilisation(report, alias, &n_predicted);
            GArray *busy = over_repetitions(report, i, "device_wall_ns", alias);
            for (guint r = 0; r < busy->len; r++)
                g_array_index(busy, double, r) /= (double)(n_predicted > 0 ? n_predicted : n_streams);
            add_mean(figures, g_strdup_printf("%s wall utilisation", alias), "ratio", predicted, busy);
        }
    }
}

GPtrArray *ifm_run_figures(const IfmRunReport *report)
{
    GPtrArray *figures = g_ptr_array_new_with_free_func((GDestroyNotify)figure_free);
    IfmInterval makespan, latency;
    double n = n_batches_of(report), makespan_ns = median_over_repetitions(report, "makespan_ns", &makespan),
           latency_ns = latency_of_batches(report, &latency);
    const json_t *prediction = prediction_of(report);
    IfmRunFigure *figure =
        add_figure(figures, g_strdup("makespan"), "ns", ifm_member_number(prediction, "makespan_ns"), makespan_ns);
    interval_by_gaps(report, makespan_ns, &makespan);
    figure->interval = makespan;
    figure = add_figure(figures, g_strdup("throughput"), "1/s", ifm_member_number(prediction, "throughput_per_s"),
                        n * 1e9 / makespan_ns);
    figure->interval = (IfmInterval){ n * 1e9 / makespan.upper, n * 1e9 / makespan.lower, makespan.level };
    figure = add_figure(figures, g_strdup("batch latency, median"), "ns", ifm_member_number(prediction, "batch_latency_ns"),
                        latency_ns);
    figure->interval = latency;
    add_blocks(figures, report);
    add_devices(figures, report);
    return figures;
}

/* --- the verdict ------------------------------------------------------------------------------------------------------ */

/* What the devices made at once over what the prediction has them make; NaN where that is not known of all of them. */
static double bound_moved(const IfmRunReport *report)
{
    const json_t *predicted = json_object_get(prediction_of(report), "together");
    double measured_sum = 0, predicted_sum = 0;
    const char *alias;
    json_t *rate;
    json_object_foreach((json_t *)json_object_get(result_of(report).bound, "together"), alias, rate)
    {
        measured_sum += json_number_value(rate);
        predicted_sum += ifm_member_number(predicted, alias);
    }
    return measured_sum > 0 ? measured_sum / predicted_sum : (double)NAN;
}

/* "GPU 1-7": a plan on one device is no slower than that device alone, whatever two measurements of it say. */
static gboolean is_alone(const char *plan, const char *alias)
{
    gsize length = strlen(alias);
    return plan != NULL && strncmp(plan, alias, length) == 0 && plan[length] == ' ' && strchr(plan, '>') == NULL;
}

/* What each device makes alone is measured with the bound: a plan that is slower than one of them is not worth running.
 * Both are rates from the first batch's leaving on: filling the pipeline is in neither. */
static void find_faster_alone(const IfmPlanRunResult *result, IfmRunVerdict *verdict)
{
    const char *alias;
    double max = result->rate_per_s;
    json_t *rate;
    const char *plan = ifm_member_text(json_array_get(result->repetitions, result->n_repetitions - 1), "plan");
    json_object_foreach((json_t *)json_object_get(result->bound, "solo"), alias, rate)
    {
        if (!(json_number_value(rate) > max) || is_alone(plan, alias))
            continue;
        verdict->faster_alone_per_s = max = json_number_value(rate);
        verdict->faster_alone = alias;
    }
}

/* Each repetition has a bound of its own, measured next to it. */
static IfmInterval attained_interval(const IfmPlanRunResult *result)
{
    IfmInterval interval = { NAN, NAN, NAN };
    g_autoptr(GArray) values = collect(result, "bound.attained");
    if (values->len > 2)
        ifm_mean_interval((const double *)(const void *)values->data, values->len, 0.95, &interval);
    return interval;
}

IfmRunVerdict ifm_run_judge(const IfmRunReport *run, const IfmRunFigure *makespan)
{
    const IfmPlanRunResult result = result_of(run);
    double spread = ifm_member_number(prediction_of(run), "makespan_spread_ratio");
    IfmRunVerdict verdict = {
        .difference_ratio = makespan->difference_ratio,
        .lower_ns = makespan->predicted * (1 - spread),
        .upper_ns = makespan->predicted * (1 + spread),
        .bound_ratio = bound_moved(run),
        .attained_ratio = result.attained,
        .attained = attained_interval(&result),
    };
    double off = log(1 + verdict.difference_ratio), left = off + log(verdict.bound_ratio);
    verdict.close = fabs(verdict.difference_ratio) <= IFM_RUN_CLOSE_RATIO;
    verdict.within = makespan->measured >= verdict.lower_ns && makespan->measured <= verdict.upper_ns;
    verdict.machine_moved = isfinite(left) && isfinite(verdict.difference_ratio) && !verdict.close &&
                            fabs(left) <= IFM_RUN_CLOSE_RATIO && fabs(left) <= fabs(off) / 2;
    find_faster_alone(&result, &verdict);
    return verdict;
}
