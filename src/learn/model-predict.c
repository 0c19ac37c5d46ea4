/* The latency of a whole model from its kernels. */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <base/fields.h>
#include <sensor/sensor.h>

#include "learn-private.h"

/* --- sums ---------------------------------------------------------------------------------------------------------------
 */

/* Half the interval of a kernel; both sides of an operator's kernels add up, those of different ones as squares. */
typedef struct
{
    double low, high;
} Half;

struct IfmLatencySum
{
    GHashTable *halves; /* Half by operator */
    double latency_ns;
};

IfmLatencySum *ifm_latency_sum_new(void)
{
    IfmLatencySum *sum = g_new0(IfmLatencySum, 1);
    sum->halves = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return sum;
}

void ifm_latency_sum_free(IfmLatencySum *sum)
{
    g_hash_table_unref(sum->halves);
    g_free(sum);
}

void ifm_latency_sum_add(IfmLatencySum *sum, const char *operator_name, const IfmPredictedLatency *predicted, double times)
{
    Half *half = g_hash_table_lookup(sum->halves, operator_name);
    if (half == NULL)
    {
        half = g_new0(Half, 1);
        g_hash_table_insert(sum->halves, g_strdup(operator_name), half);
    }
    half->low += times * MAX(predicted->latency_ns - predicted->low_ns, 0);
    half->high += times * MAX(predicted->high_ns - predicted->latency_ns, 0);
    sum->latency_ns += times * predicted->latency_ns;
}

double ifm_latency_sum_end(const IfmLatencySum *sum, double *low_ns, double *high_ns)
{
    double low = 0, high = 0;
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, sum->halves);
    while (g_hash_table_iter_next(&iter, NULL, &value))
    {
        const Half *half = value;
        low += half->low * half->low;
        high += half->high * half->high;
    }
    *low_ns = MAX(sum->latency_ns - sqrt(low), 0);
    *high_ns = sum->latency_ns + sqrt(high);
    return sum->latency_ns;
}

/* --- what a node costs --------------------------------------------------------------------------------------------------
 */

#define MAX_OVERHEAD_NS 2000 /* bounds what errors of the kernels can add to it */

/* Lack: of one model a node, and how much it counts. */
typedef struct
{
    double ns, weight;
} Lack;

static int compare_lacks(const void *a, const void *b)
{
    const double x = ((const Lack *)a)->ns, y = ((const Lack *)b)->ns;
    return (x > y) - (x < y);
}

/* The least sum of absolute relative errors is at the weighted median. */
double ifm_node_overhead(const IfmWholeTime *models, gsize n)
{
    g_autofree Lack *lacks = g_new(Lack, n + 1);
    double all = 0, until = 0;
    for (gsize i = 0; i < n; i++)
    {
        const double nodes = (double)MAX(models[i].n_kernels, 1);
        lacks[i] = (Lack){ (models[i].measured_ns - models[i].kernels_ns) / nodes, nodes / models[i].measured_ns };
        all += lacks[i].weight;
    }
    qsort(lacks, n, sizeof *lacks, compare_lacks);
    for (gsize i = 0; i < n; i++)
        if ((until += lacks[i].weight) >= all / 2)
            return CLAMP(lacks[i].ns, 0, MAX_OVERHEAD_NS);
    return 0;
}

/* --- a model ------------------------------------------------------------------------------------------------------------
 */

/* Kernels come after those that they wait for. */
static double critical_path(const IfmModelPrediction *self, double overhead_ns)
{
    double longest = 0;
    g_autofree double *ends = g_new0(double, MAX(self->kernels->len, 1));
    for (guint i = 0; i < self->kernels->len; i++)
    {
        const IfmPredictedKernel *kernel = &g_array_index(self->kernels, IfmPredictedKernel, i);
        double begin = 0;
        for (guint k = 0; k < kernel->record->depends->len; k++)
            begin = MAX(begin, ends[g_array_index(kernel->record->depends, gint64, k)]);
        ends[i] = begin + kernel->predicted.latency_ns + overhead_ns;
        longest = MAX(longest, ends[i]);
    }
    return longest;
}

/* Kernels of one digest are predicted once. */
static GArray *predict_kernels(const IfmLatencyModel *model, const IfmKernelRecords *records, int threads,
                               const IfmLoadState *load)
{
    const guint n = records->kernels->len;
    GArray *kernels = g_array_sized_new(FALSE, FALSE, sizeof(IfmPredictedKernel), n);
    const double working_set_bytes = (double)ifm_kernel_records_working_set(records);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < n; i++)
    {
        IfmPredictedKernel kernel = { .record = records->kernels->pdata[i] };
        gpointer first;
        kernel.moves = ifm_kernel_record_moves(kernel.record);
        if (kernel.moves)
            kernel.predicted = (IfmPredictedLatency){ .known = TRUE, .in_range = TRUE, .load_learned = TRUE };
        else if (g_hash_table_lookup_extended(seen, kernel.record->digest, NULL, &first))
            kernel.predicted = g_array_index(kernels, IfmPredictedKernel, GPOINTER_TO_UINT(first)).predicted;
        else
        {
            const IfmKernelSample sample = learn_sample_of(kernel.record, threads, working_set_bytes);
            ifm_latency_model_predict(model, &sample, load, &kernel.predicted);
            g_hash_table_insert(seen, kernel.record->digest, GUINT_TO_POINTER(i));
        }
        g_array_append_val(kernels, kernel);
    }
    return kernels;
}

IfmModelPrediction *ifm_model_predict(const IfmLatencyModel *model, const IfmKernelRecords *records, int threads,
                                      const IfmLoadState *load)
{
    IfmModelPrediction *self = g_new0(IfmModelPrediction, 1);
    g_autoptr(IfmLatencySum) sum = ifm_latency_sum_new();
    IfmLatencyModelInfo info;
    double known_ns = 0, unknown_ns = 0; /* at least, at most */
    ifm_latency_model_info(model, &info);
    const double idle_overhead_ns = isnan(info.node_overhead_ns) ? 0 : info.node_overhead_ns;
    const double overhead_ns = idle_overhead_ns * learn_time_sharing(load);
    self->kernels = predict_kernels(model, records, threads, load);
    for (guint i = 0; i < self->kernels->len; i++)
    {
        const IfmPredictedKernel *kernel = &g_array_index(self->kernels, IfmPredictedKernel, i);
        const gboolean known = kernel->predicted.known && kernel->predicted.in_range;
        known_ns += known ? kernel->predicted.low_ns : 0;
        unknown_ns += known ? 0 : kernel->predicted.high_ns;
        self->n_unknown += !known;
        ifm_latency_sum_add(sum, kernel->record->name, &kernel->predicted, 1);
    }
    self->latency_ns = ifm_latency_sum_end(sum, &self->low_ns, &self->high_ns);
    self->known_ratio = self->latency_ns > 0 ? known_ns / (known_ns + unknown_ns) : (double)NAN;
    self->overhead_ns = overhead_ns * (double)records->kernels->len;
    self->latency_ns += self->overhead_ns;
    self->low_ns += self->overhead_ns;
    self->high_ns += self->overhead_ns;
    self->critical_ns = critical_path(self, overhead_ns);
    return self;
}

void ifm_model_prediction_free(IfmModelPrediction *prediction)
{
    if (prediction == NULL)
        return;
    g_array_unref(prediction->kernels);
    g_free(prediction);
}

/* --- loads --------------------------------------------------------------------------------------------------------------
 */

static gboolean parse_share(const char *text, double *share)
{
    char *end = NULL;
    *share = g_ascii_strtod(text, &end);
    if (end == text)
        return FALSE;
    if (g_str_equal(end, "%"))
        *share /= 100;
    else if (*end != '\0')
        return FALSE;
    return *share >= 0 && *share <= 1;
}

gboolean ifm_load_state_parse(const char *text, IfmLoadState *load, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", -1);
    *load = (IfmLoadState){ .idle_ns = (double)NAN };
    if (g_str_equal(text, "idle"))
        return TRUE;
    for (char **part = parts; *part != NULL; part++)
    {
        const gboolean is_other = g_str_has_prefix(*part, "other:"), is_same = g_str_has_prefix(*part, "same:");
        const char *share = is_other || is_same ? strchr(*part, ':') + 1 : *part;
        if (!parse_share(share, is_other ? &load->other : &load->same))
            return ifm_error_refuse(error, "\"%s\" is no share of the time, such as 60%% of the same cores or other:60%%",
                                    *part);
    }
    if (parts[0] == NULL)
        return ifm_error_refuse(error, "needs a share of the time, such as 60%%, or idle");
    return TRUE;
}

/* Busy: of the kernel's cores and of others. */
typedef struct
{
    double sums[2];
    gsize counts[2];
} Busy;

static double mean_busy(const Busy *busy, int which)
{
    return busy->counts[which] > 0 ? CLAMP(busy->sums[which] / (double)busy->counts[which], 0, 1) : 0;
}

/* @own: share of a processor that this process used: it is taken for use of the kernel's cores, as no task is counted by
 * core */
static Busy find_busy(const json_t *values, const int *cores, gsize n_cores, double own)
{
    Busy busy = { .sums = { -own } };
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)values, name, value)
    {
        if (!g_str_has_prefix(name, "cpu") || !g_str_has_suffix(name, "_busy"))
            continue;
        const int core = (int)g_ascii_strtoll(name + 3, NULL, 10), is_other = !ifm_core_is_among(cores, n_cores, core);
        busy.sums[is_other] += json_number_value(value);
        busy.counts[is_other]++;
    }
    return busy;
}

/* So much waiting is none: looks at a load that is busy for a part of the time find it running more or less often. */
#define LEAST_PRESSURE 0.05

double learn_competitors(double running, double busy, double pressure, double groups)
{
    const double waiting = pressure < LEAST_PRESSURE ? 0 : MAX(running - busy, isnan(pressure) ? 0 : pressure);
    const double tasks = busy > 0 && waiting > 0 ? 1 + waiting / busy : 1;
    return isnan(groups) || !(busy > 0) ? tasks : MIN(tasks, MAX(groups, 1) / busy);
}

/* NULL: one of them is not among the values. (transfer full) */
static double *pick_metrics(const IfmLatencyModel *model, const json_t *values)
{
    IfmLatencyModelInfo info;
    ifm_latency_model_info(model, &info);
    const gsize n = g_strv_length((GStrv)info.metrics);
    g_autofree double *metrics = n > 0 ? g_new(double, n) : NULL;
    for (gsize i = 0; i < n; i++)
    {
        metrics[i] = ifm_member_number(values, info.metrics[i] + strlen(IFM_SAMPLE_BEFORE_PREFIX));
        if (isnan(metrics[i]))
            return NULL;
    }
    return g_steal_pointer(&metrics);
}

/* Of this thread, while it looks from the cores of a device. Returns: FALSE where it may not be there. */
static gboolean move_to(const int *cores, gsize n_cores)
{
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (gsize i = 0; i < n_cores; i++)
        CPU_SET((gsize)cores[i], &mask);
    return n_cores == 0 || sched_setaffinity(0, sizeof mask, &mask) == 0;
}

double *ifm_load_state_live(const IfmLatencyModel *model, const int *cores, gsize n_cores, gint64 window_ns,
                            IfmLoadState *load)
{
    cpu_set_t before;
    const gboolean known = sched_getaffinity(0, sizeof before, &before) == 0, moved = move_to(cores, n_cores);
    json_auto_t *groups = ifm_metrics_groups(NULL), *look = ifm_metrics_look(NULL, window_ns),
                *groups_after = ifm_metrics_groups(NULL);
    const json_t *values = json_object_get(look, "values");
    const Busy busy = find_busy(values, cores, n_cores, ifm_member_number(values, "own"));
    double *metrics = moved ? pick_metrics(model, values) : NULL;
    if (known && moved && n_cores > 0)
        sched_setaffinity(0, sizeof before, &before);
    *load =
        (IfmLoadState){ .same = mean_busy(&busy, 0),
                        .other = mean_busy(&busy, 1),
                        .idle_ns = (double)NAN,
                        .metrics = metrics,
                        .competitors = learn_competitors(ifm_member_number(values, "running"), busy.sums[0] + busy.sums[1],
                                                         ifm_member_number(values, "pressure_cpu"),
                                                         ifm_metrics_n_groups(groups, groups_after, window_ns)) };
    return metrics;
}

/* Tasks wait for @pressure of the time, and then no more than were ever counted. A count is of one moment, and the next may
 * be a minute away. */
static double bounded_running(const IfmPrometheusLoad *now)
{
    return isnan(now->pressure) ? now->running : fmin(now->running, now->busy + now->pressure * now->most_running);
}

gboolean ifm_load_state_await(const char *url, const int *cores, gsize n_cores, gint64 window_ns,
                              const IfmPrometheusWait *wait, IfmLoadState *load, GError **error)
{
    IfmPrometheusLoad now;
    *load = (IfmLoadState){ .idle_ns = (double)NAN };
    if (!ifm_prometheus_await_load(url, cores, n_cores, window_ns, wait, &now, error))
        return FALSE;
    load->same = now.same;
    load->other = now.other;
    load->competitors = learn_competitors(bounded_running(&now), now.busy, now.pressure, (double)NAN);
    return TRUE;
}

gboolean ifm_load_state_prometheus(const char *url, const int *cores, gsize n_cores, gint64 window_ns, IfmLoadState *load,
                                   GError **error)
{
    return ifm_load_state_await(url, cores, n_cores, window_ns, NULL, load, error);
}
