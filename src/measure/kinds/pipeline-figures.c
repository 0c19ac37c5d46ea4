/* What the repetitions of a plan come to: figures of each, and intervals over them. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <base/statistics.h>
#include <store/store.h>

#include <base/base.h>
#include <base/fields.h>
#include <base/statistics.h>
#include <store/store.h>

#include "pipeline-kind.h"

#define LEVEL 0.95

/* --- rates --------------------------------------------------------------------------------------------------------- */

double worker_rate(const WorkerRate *rate)
{
    return rate->n > 0 && rate->span_ns > 0 ? (double)rate->n * 1e9 / (double)rate->span_ns : (double)NAN;
}

void worker_rate_add(WorkerRate *rate, const IfmPipelineResult *result, gint64 until_ns)
{
    gint64 first_ns = -1, last_ns = -1;
    gsize n = 0;
    for (gsize i = 0; i < result->n_batches; i++)
    {
        gint64 left_ns = result->left_ns[i];
        if (left_ns < 0 || left_ns > until_ns)
            continue;
        first_ns = n == 0 ? left_ns : MIN(first_ns, left_ns);
        last_ns = MAX(last_ns, left_ns);
        n++;
    }
    if (n < 2)
        return;
    rate->n += n - 1;
    rate->span_ns += last_ns - first_ns;
}

/* --- a repetition -------------------------------------------------------------------------------------------------- */

void worker_repetition_init(WorkerRepetition *self)
{
    *self = (WorkerRepetition){ .slow_down = NAN };
    self->latencies = g_array_new(FALSE, FALSE, sizeof(double));
    self->gaps = g_array_new(FALSE, FALSE, sizeof(gint64));
    self->stages = json_array();
    for (gsize d = 0; d < IFM_PLAN_MAX_DEVICES; d++)
        self->solo[d] = self->together[d] = NAN;
}

void worker_repetition_clear(WorkerRepetition *self)
{
    g_clear_pointer(&self->latencies, g_array_unref);
    g_clear_pointer(&self->gaps, g_array_unref);
    json_decref(self->stages);
    self->stages = NULL;
    g_clear_pointer(&self->plan, g_free);
}

/* Sums over the batches of one block. */
typedef struct
{
    gsize n, n_bottleneck, n_counted[IFM_PLAN_MAX_DEVICES];
    double total_ns, max_ns, partition_ns, turn_ns, device_ns, merge_ns, copy_bytes;
    double wall_ns[IFM_PLAN_MAX_DEVICES], turns_ns[IFM_PLAN_MAX_DEVICES], counted_ns[IFM_PLAN_MAX_DEVICES];
} BlockSums;

static void add_times(BlockSums *sums, const IfmBlockTimes *times, gsize n_devices)
{
    sums->n++;
    sums->total_ns += (double)times->total_ns;
    sums->max_ns = MAX(sums->max_ns, (double)times->total_ns);
    sums->partition_ns += (double)times->partition_ns;
    sums->turn_ns += (double)times->turn_ns;
    sums->device_ns += (double)times->device_ns;
    sums->merge_ns += (double)times->merge_ns;
    sums->copy_bytes += (double)times->copy_bytes;
    for (gsize d = 0; d < n_devices; d++)
    {
        sums->wall_ns[d] += (double)times->device_wall_ns[d];
        sums->turns_ns[d] += (double)times->device_turn_ns[d];
        if (times->device_time_ns[d] < 0)
            continue;
        sums->counted_ns[d] += (double)times->device_time_ns[d];
        sums->n_counted[d]++;
    }
}

static gboolean is_bottleneck(const IfmPipelineResult *result, gsize batch, gsize block)
{
    const IfmBlockTimes *row = result->times + batch * result->n_blocks;
    for (gsize b = 0; b < result->n_blocks; b++)
        if (row[b].total_ns > row[block].total_ns || (b < block && row[b].total_ns == row[block].total_ns))
            return FALSE;
    return TRUE;
}

static json_t *mean_of(double sum, gsize n)
{
    return ifm_json_real(n > 0 ? sum / (double)n : (double)NAN);
}

static json_t *block_to_json(const IfmPlan *plan, gsize group, gsize index, const BlockSums *sums)
{
    const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, index);
    json_t *wall = json_object(), *turn = json_object(), *counted = json_object();
    for (gsize d = 0; d < block->n_devices; d++)
    {
        const IfmPlanDevice *device = plan->devices->pdata[block->devices[d]];
        json_object_set_new(wall, device->alias, mean_of(sums->wall_ns[d], sums->n));
        json_object_set_new(turn, device->alias, mean_of(sums->turns_ns[d], sums->n));
        json_object_set_new(counted, device->alias, mean_of(sums->counted_ns[d], sums->n_counted[d]));
    }
    return json_pack("{s:I,s:I,s:i,s:i,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:o,s:o,s:o}", "plan", (json_int_t)group,
                     "block", (json_int_t)index + 1, "first", block->first, "last", block->last, "n", (json_int_t)sums->n,
                     "mean_ns", mean_of(sums->total_ns, sums->n), "max_ns",
                     ifm_json_real(sums->n > 0 ? sums->max_ns : (double)NAN), "partition_ns",
                     mean_of(sums->partition_ns, sums->n), "device_ns", mean_of(sums->device_ns, sums->n), "merge_ns",
                     mean_of(sums->merge_ns, sums->n), "turn_ns", mean_of(sums->turn_ns, sums->n), "copy_bytes",
                     mean_of(sums->copy_bytes, sums->n), "n_bottleneck", (json_int_t)sums->n_bottleneck, "device_wall_ns",
                     wall, "device_turn_ns", turn, "device_time_ns", counted);
}

static void add_stages(WorkerRepetition *self, gsize group, const IfmPipelineResult *result)
{
    for (gsize b = 0; result->times != NULL && b < result->n_blocks; b++)
    {
        BlockSums sums = { 0 };
        gsize n_devices = g_array_index(result->plan->blocks, IfmPlanBlock, b).n_devices;
        for (gsize i = 0; i < result->n_batches; i++)
        {
            const IfmBlockTimes *times = result->times + i * result->n_blocks + b;
            if (result->left_ns[i] < 0 || times->start_ns < 0)
                continue;
            add_times(&sums, times, n_devices);
            sums.n_bottleneck += is_bottleneck(result, i, b);
        }
        json_array_append_new(self->stages, block_to_json(result->plan, group, b, &sums));
    }
}

void worker_gaps(const IfmPipelineResult *result, GArray *samples)
{
    g_autoptr(GArray) left = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (gsize i = 0; i < result->n_batches; i++)
        if (result->left_ns[i] >= 0)
            g_array_append_val(left, result->left_ns[i]);
    g_array_sort(left, ifm_compare_int64);
    for (guint i = 1; i < left->len; i++)
    {
        gint64 gap_ns = g_array_index(left, gint64, i) - g_array_index(left, gint64, i - 1);
        g_array_append_val(samples, gap_ns);
    }
}

void worker_repetition_add(WorkerRepetition *self, gsize group, const IfmPipelineResult *result, GArray *samples)
{
    self->n_batches += result->n_delivered;
    self->n_replans += result->n_replans;
    self->makespan_ns += result->end_ns - result->start_ns;
    worker_rate_add(&self->rate, result, IFM_CLOCK_NEVER);
    for (gsize i = 0; i < result->n_batches; i++)
    {
        double latency_ns = (double)(result->left_ns[i] - result->entered_ns[i]);
        if (result->left_ns[i] >= 0 && result->entered_ns[i] >= 0)
            g_array_append_val(self->latencies, latency_ns);
    }
    if (samples != NULL)
        worker_gaps(result, samples);
    worker_gaps(result, self->gaps);
    add_stages(self, group, result);
    if (!isnan(result->device_time_slow_down))
        self->slow_down = result->device_time_slow_down;
    g_autofree char *before = self->plan;
    g_autofree char *text = ifm_plan_to_text(result->plan);
    self->plan = before != NULL ? g_strdup_printf("%s; %s", before, text) : g_strdup(text);
}

/* --- over repetitions ---------------------------------------------------------------------------------------------- */

/* A figure over repetitions. */
typedef struct
{
    gsize n;
    double mean, min, max, median;
    IfmInterval median_interval, mean_interval;
} Figure;

static const IfmRecordField figure_fields[] = {
    { IFM_RECORD(SIZE, Figure, n) },
    { IFM_RECORD(DOUBLE, Figure, mean) },
    { IFM_RECORD(DOUBLE, Figure, min) },
    { IFM_RECORD(DOUBLE, Figure, max) },
    { IFM_RECORD(DOUBLE, Figure, median) },
    { IFM_RECORD(PART, Figure, median_interval), .fields = ifm_interval_fields },
    { NULL },
};

static const IfmRecordField mean_fields[] = {
    { IFM_RECORD(SIZE, Figure, n) },
    { IFM_RECORD(DOUBLE, Figure, mean) },
    { IFM_RECORD(PART, Figure, mean_interval), .fields = ifm_interval_fields },
    { NULL },
};

/* The median and its interval as of any measurement's samples. Values that are not finite do not count. */
static json_t *figure_of(const GArray *values, double *median)
{
    g_autofree double *series = g_new(double, values->len + 1), *sorted = g_new(double, values->len + 1);
    gsize n = 0;
    double mean = 0;
    Figure figure = { 0, NAN, NAN, NAN, NAN, .median_interval = { NAN, NAN, LEVEL } };
    for (guint i = 0; i < values->len; i++)
        if (isfinite(g_array_index(values, double, i)))
            series[n++] = g_array_index(values, double, i);
    for (gsize i = 0; i < n; i++)
        mean += series[i] / (double)n;
    memcpy(sorted, series, n * sizeof *sorted);
    ifm_sort_doubles(sorted, n);
    if (n > 0)
    {
        figure = (Figure){ n, mean, sorted[0], sorted[n - 1], ifm_quantile(sorted, n, 0.5) };
        ifm_quantile_interval(sorted, n, ifm_median_effective_size(series, sorted, n), 0.5, LEVEL, &figure.median_interval);
        figure.median_interval.level = LEVEL;
    }
    *median = figure.median;
    return ifm_record_to_json(&figure, figure_fields);
}

/* Of every batch of all repetitions: few repetitions bound no median, their batches do. */
static json_t *all_latencies(const GArray *repetitions)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));
    double median;
    for (guint i = 0; i < repetitions->len; i++)
    {
        const GArray *latencies = g_array_index(repetitions, WorkerRepetition, i).latencies;
        g_array_append_vals(all, latencies->data, latencies->len);
    }
    return figure_of(all, &median);
}

/* Their mean is what throughput is made of. */
static json_t *all_gaps(const GArray *repetitions)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));
    Figure figure = { .mean_interval = { NAN, NAN, LEVEL } };
    for (guint i = 0; i < repetitions->len; i++)
    {
        const GArray *gaps = g_array_index(repetitions, WorkerRepetition, i).gaps;
        for (guint k = 0; k < gaps->len; k++)
        {
            double gap_ns = (double)g_array_index(gaps, gint64, k);
            g_array_append_val(all, gap_ns);
        }
    }
    figure.n = all->len;
    figure.mean = ifm_mean_interval((const double *)(const void *)all->data, all->len, LEVEL, &figure.mean_interval);
    figure.mean_interval.level = LEVEL;
    return ifm_record_to_json(&figure, mean_fields);
}

#define OFFSET(member) offsetof(WorkerRepetition, member)

/* @offset: of a double in WorkerRepetition */
static json_t *figure_over(const GArray *repetitions, gsize offset, double *median)
{
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < repetitions->len; i++)
        g_array_append_vals(values, (const char *)&g_array_index(repetitions, WorkerRepetition, i) + offset, 1);
    return figure_of(values, median);
}

void worker_repetition_finish(WorkerRepetition *self)
{
    double together = 0, best = NAN;
    gsize n = 0;
    for (gsize d = 0; d < IFM_PLAN_MAX_DEVICES; d++)
    {
        if (!isnan(self->solo[d]) && !(self->solo[d] <= best))
            best = self->solo[d];
        together += isnan(self->together[d]) ? 0 : self->together[d];
        n += !isnan(self->together[d]);
    }
    self->makespan = (double)self->makespan_ns;
    self->throughput_per_s = self->makespan_ns > 0 ? (double)self->n_batches * 1e9 / self->makespan : (double)NAN;
    self->rate_per_s = worker_rate(&self->rate);
    self->latency_p50_ns = ifm_quantile_of_array(self->latencies, 0.5);
    self->gain = n > 0 ? together / best : (double)NAN;
    self->attained = n > 0 ? self->rate_per_s / together : (double)NAN;
}

/* --- as JSON ------------------------------------------------------------------------------------------------------- */

static json_t *rates_to_json(const double *rates, const char *const *aliases, gsize n_devices)
{
    json_t *json = json_object();
    for (gsize d = 0; d < n_devices; d++)
        if (!isnan(rates[d]))
            json_object_set_new(json, aliases[d], json_real(rates[d]));
    return json;
}

static json_t *latency_to_json(const GArray *latencies)
{
    static const struct
    {
        const char *key;
        double p;
    } rows[] = { { "p50_ns", 0.5 }, { "p90_ns", 0.9 }, { "p95_ns", 0.95 }, { "p99_ns", 0.99 }, { "max_ns", 1 } };
    json_t *json = json_object();
    double sum = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        json_object_set_new(json, rows[i].key, ifm_json_real(ifm_quantile_of_array(latencies, rows[i].p)));
    for (guint i = 0; i < latencies->len; i++)
        sum += g_array_index(latencies, double, i);
    json_object_set_new(json, "mean_ns", mean_of(sum, latencies->len));
    return json;
}

static json_t *repetition_to_json(const WorkerRepetition *self, const char *const *aliases, gsize n_devices, gboolean bound)
{
    json_t *json =
        json_pack("{s:I,s:I,s:o,s:o,s:o,s:O,s:I,s:s}", "makespan_ns", (json_int_t)self->makespan_ns, "n_batches",
                  (json_int_t)self->n_batches, "throughput_per_s", ifm_json_real(self->throughput_per_s), "rate_per_s",
                  ifm_json_real(self->rate_per_s), "latency", latency_to_json(self->latencies), "stages", self->stages,
                  "replans", (json_int_t)self->n_replans, "plan", self->plan != NULL ? self->plan : "");
    if (bound)
        json_object_set_new(json, "bound",
                            json_pack("{s:o,s:o,s:o,s:o}", "solo", rates_to_json(self->solo, aliases, n_devices),
                                      "together", rates_to_json(self->together, aliases, n_devices), "gain",
                                      ifm_json_real(self->gain), "attained", ifm_json_real(self->attained)));
    return json;
}

static json_t *bound_to_json(const GArray *repetitions, const char *const *aliases, gsize n_devices, const char *const *why)
{
    json_t *solo = json_object(), *together = json_object(), *solo_figures = json_object(),
           *together_figures = json_object(), *left_out = json_object();
    double median, gain, attained;
    for (gsize d = 0; d < n_devices; d++)
    {
        json_object_set_new(solo_figures, aliases[d], figure_over(repetitions, OFFSET(solo[d]), &median));
        if (!isnan(median))
            json_object_set_new(solo, aliases[d], json_real(median));
        json_object_set_new(together_figures, aliases[d], figure_over(repetitions, OFFSET(together[d]), &median));
        if (!isnan(median))
            json_object_set_new(together, aliases[d], json_real(median));
        if (why[d] != NULL)
            json_object_set_new(left_out, aliases[d], ifm_json_string(why[d]));
    }
    json_t *gains = figure_over(repetitions, OFFSET(gain), &gain),
           *shares = figure_over(repetitions, OFFSET(attained), &attained);
    json_t *figures = json_pack("{s:o,s:o,s:o,s:o}", "solo", solo_figures, "together", together_figures, "gain", gains,
                                "attained", shares);
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "solo", solo, "together", together, "gain", ifm_json_real(gain),
                     "attained", ifm_json_real(attained), "figures", figures, "left_out", left_out);
}

json_t *worker_figures(const GArray *repetitions, const char *const *aliases, gsize n_devices, gboolean bound,
                       const char *const *why)
{
    json_t *list = json_array();
    double median, slow_down = NAN;
    gsize replans = 0;
    for (guint i = 0; i < repetitions->len; i++)
    {
        const WorkerRepetition *one = &g_array_index(repetitions, WorkerRepetition, i);
        json_array_append_new(list, repetition_to_json(one, aliases, n_devices, bound));
        replans += one->n_replans;
        if (!isnan(one->slow_down))
            slow_down = one->slow_down;
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:o}", "repetitions", list, "makespan_ns",
                     figure_over(repetitions, OFFSET(makespan), &median), "throughput_per_s",
                     figure_over(repetitions, OFFSET(throughput_per_s), &median), "rate_per_s",
                     figure_over(repetitions, OFFSET(rate_per_s), &median), "latency_p50_ns",
                     figure_over(repetitions, OFFSET(latency_p50_ns), &median), "latency_ns", all_latencies(repetitions),
                     "gap_ns", all_gaps(repetitions), "bound",
                     bound ? bound_to_json(repetitions, aliases, n_devices, why) : json_null(), "replans",
                     (json_int_t)replans, "device_time_slow_down", ifm_json_real(slow_down));
}

/* --- what asking for device time costs -----------------------------------------------------------------------------------
 */

/* One device in one block of one plan: double each, ns, in the order they ran. */
typedef struct
{
    gsize group, block, device;
    GArray *counted, *plain;
    guint n_left_out; /* counted, and no time is known: IFM_DEVICE_TIME_COARSE */
} Lane;

static void lane_free(gpointer data)
{
    Lane *lane = data;
    g_array_unref(lane->counted);
    g_array_unref(lane->plain);
    g_free(lane);
}

GPtrArray *worker_counted_new(void)
{
    return g_ptr_array_new_with_free_func(lane_free);
}

static Lane *lane_of(GPtrArray *lanes, gsize group, gsize block, gsize device)
{
    for (guint i = 0; i < lanes->len; i++)
    {
        Lane *lane = lanes->pdata[i];
        if (lane->group == group && lane->block == block && lane->device == device)
            return lane;
    }
    Lane *lane = g_new0(Lane, 1);
    *lane = (Lane){ group, block, device, g_array_new(FALSE, FALSE, sizeof(double)),
                    g_array_new(FALSE, FALSE, sizeof(double)) };
    g_ptr_array_add(lanes, lane);
    return lane;
}

void worker_counted_add(GPtrArray *lanes, gsize group, const IfmPipelineResult *result, gsize n_batches)
{
    for (gsize b = 0; result->times != NULL && result->n_replans == 0 && b < result->n_blocks; b++)
        for (gsize d = 0; d < g_array_index(result->plan->blocks, IfmPlanBlock, b).n_devices; d++)
        {
            Lane *lane = lane_of(lanes, group, b, d);
            for (gsize i = 0; i < MIN(n_batches, result->n_batches); i++)
            {
                const IfmBlockTimes *times = result->times + i * result->n_blocks + b;
                double wall_ns = (double)times->device_wall_ns[d];
                lane->n_left_out += result->left_ns[i] >= 0 && times->device_time_ns[d] == IFM_DEVICE_TIME_COARSE;
                if (result->left_ns[i] >= 0 && wall_ns > 0)
                    g_array_append_val(times->device_time_ns[d] != -1 ? lane->counted : lane->plain, wall_ns);
            }
        }
}

/* The mean, and the variance of that mean: of as many samples as those that depend on each other are worth. */
static double mean_wall(const GArray *walls, double *variance)
{
    const double *series = (const double *)(const void *)walls->data;
    double mean = 0, squares = 0;
    for (guint i = 0; i < walls->len; i++)
        mean += series[i] / walls->len;
    for (guint i = 0; i < walls->len; i++)
        squares += (series[i] - mean) * (series[i] - mean);
    *variance = squares / (walls->len - 1) / ifm_effective_sample_size(series, walls->len);
    return mean;
}

/* Sums of the lanes' means; a lane with one kind only gives no equation. */
typedef struct
{
    double counted_ns, plain_ns, counted_variance, plain_variance;
    guint n_counted, n_plain, n_left_out, min;
} Sums;

static Sums sum_up(const GPtrArray *lanes)
{
    Sums sums = { .min = G_MAXUINT };
    for (guint i = 0; i < lanes->len; i++)
    {
        const Lane *lane = lanes->pdata[i];
        double variance;
        sums.n_counted += lane->counted->len;
        sums.n_plain += lane->plain->len;
        sums.n_left_out += lane->n_left_out;
        if (lane->counted->len < 2 || lane->plain->len < 2)
            continue;
        sums.counted_ns += mean_wall(lane->counted, &variance);
        sums.counted_variance += variance;
        sums.plain_ns += mean_wall(lane->plain, &variance);
        sums.plain_variance += variance;
        sums.min = MIN(sums.min, MIN(lane->counted->len, lane->plain->len));
    }
    return sums;
}

json_t *worker_counted_to_json(const GPtrArray *lanes, const char *no_plain)
{
    Sums sums = sum_up(lanes);
    double ratio = sums.plain_ns > 0 ? sums.counted_ns / sums.plain_ns - 1 : (double)NAN, half = NAN;
    if (sums.plain_ns > 0)
        half = ifm_student_quantile(0.5 + LEVEL / 2, (double)sums.min - 1) * (1 + ratio) *
               sqrt(sums.counted_variance / (sums.counted_ns * sums.counted_ns) +
                    sums.plain_variance / (sums.plain_ns * sums.plain_ns));
    const char *why = sums.plain_ns > 0                       ? NULL
                      : sums.n_counted == 0                   ? "no device of the plan can count"
                      : sums.n_plain == 0 && no_plain != NULL ? no_plain
                      : sums.n_plain == 0                     ? "every inference was counted"
                                          : "too few inferences were counted; more batches would show it";
    return json_pack("{s:o,s:{s:o,s:o,s:f},s:I,s:I,s:I,s:o}", "ratio", ifm_json_real(ratio), "interval", "lower",
                     ifm_json_real(ratio - half), "upper", ifm_json_real(ratio + half), "level", LEVEL, "n_counted",
                     (json_int_t)sums.n_counted, "n_plain", (json_int_t)sums.n_plain, "n_left_out",
                     (json_int_t)sums.n_left_out, "why", why != NULL ? ifm_json_string(why) : json_null());
}

/* --- as it is read again ------------------------------------------------------------------------------------------- */

gboolean ifm_plan_run_result(const IfmMeasurement *measurement, IfmPlanRunResult *result)
{
    const json_t *reported = ifm_measurement_result(measurement, NULL);
    *result = (IfmPlanRunResult){ .n_repetitions = json_array_size(json_object_get(reported, "repetitions")),
                                  .n_replans = (gsize)json_integer_value(json_object_get(reported, "replans")),
                                  .makespan_ns = ifm_member_number(reported, "makespan_ns.median"),
                                  .throughput_per_s = ifm_member_number(reported, "throughput_per_s.median"),
                                  .rate_per_s = ifm_member_number(reported, "rate_per_s.median"),
                                  .device_time_slow_down = ifm_member_number(reported, "device_time_slow_down"),
                                  .gain = ifm_member_number(reported, "bound.gain"),
                                  .attained = ifm_member_number(reported, "bound.attained"),
                                  .repetitions = json_object_get(reported, "repetitions"),
                                  .bound = json_object_get(reported, "bound"),
                                  .prediction = json_object_get(reported, "prediction"),
                                  .plans = json_object_get(reported, "plans") };
    return result->n_repetitions > 0;
}
