/* What samples of kernels come to: by operator without load, and by load. */
#include <math.h>
#include <string.h>

#include <base/statistics.h>
#include <learn/learn.h>
#include <study/study.h>

/* @values: double, sorted. Share 0.5: the median. */
static double quantile_of(const GArray *values, double share)
{
    return values->len > 0 ? ifm_quantile((const double *)(const void *)values->data, values->len, share) : (double)NAN;
}

static void free_array(gpointer array)
{
    g_array_unref(array);
}

/* --- operators ----------------------------------------------------------------------------------------------------------
 */

/* (transfer full) kernel and threads -> GArray of double: latencies of its visits without load, ns */
static GHashTable *list_visits(const IfmKernelSamples *samples, const char *op_type)
{
    GHashTable *visits = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_array);
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        if (sample->load_kind != IFM_LOAD_NONE || !g_str_equal(sample->op_type, op_type))
            continue;
        g_autofree char *key = g_strdup_printf("%s %g", sample->kernel_id, sample->threads);
        GArray *times = g_hash_table_lookup(visits, key);
        if (times == NULL)
        {
            times = g_array_new(FALSE, FALSE, sizeof(double));
            g_hash_table_insert(visits, g_steal_pointer(&key), times);
        }
        const double ns = sample->median_ms * 1e6;
        g_array_append_val(times, ns);
    }
    return visits;
}

static IfmOperatorRow operator_row(const IfmKernelSamples *samples, const char *op_type)
{
    IfmOperatorRow row = { .op_type = op_type, .spread = (double)NAN };
    g_autoptr(GHashTable) visits = list_visits(samples, op_type);
    g_autoptr(GArray) medians = g_array_new(FALSE, FALSE, sizeof(double));
    double sum = 0;
    gsize n_pairs = 0;
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, visits);
    while (g_hash_table_iter_next(&iter, NULL, &value))
    {
        GArray *times = value;
        for (guint i = 0; i < times->len; i++)
            for (guint k = i + 1; k < times->len; k++, n_pairs++)
                sum += fabs(g_array_index(times, double, k) / g_array_index(times, double, i) - 1);
        ifm_sort_doubles((double *)(void *)times->data, times->len);
        const double median = quantile_of(times, 0.5);
        g_array_append_val(medians, median);
        row.n_visits += times->len;
    }
    ifm_sort_doubles((double *)(void *)medians->data, medians->len);
    row.n_kernels = medians->len;
    row.min_ns = quantile_of(medians, 0);
    row.median_ns = quantile_of(medians, 0.5);
    row.max_ns = quantile_of(medians, 1);
    if (n_pairs > 0)
        row.spread = sum / (double)n_pairs;
    return row;
}

static gint compare_operators(gconstpointer a, gconstpointer b)
{
    const IfmOperatorRow *x = a, *y = b;
    return x->n_kernels != y->n_kernels ? (x->n_kernels < y->n_kernels) - (x->n_kernels > y->n_kernels)
                                        : strcmp(x->op_type, y->op_type);
}

GArray *ifm_kernel_operator_rows(const IfmKernelSamples *samples)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(IfmOperatorRow));
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const char *op_type = ifm_kernel_samples_at(samples, i)->op_type;
        if (!g_hash_table_add(seen, (gpointer)op_type))
            continue;
        const IfmOperatorRow row = operator_row(samples, op_type);
        if (row.n_kernels > 0)
            g_array_append_val(rows, row);
    }
    g_array_sort(rows, compare_operators);
    return rows;
}

/* --- loads --------------------------------------------------------------------------------------------------------------
 */

/* @kernels: their ids    @ratios: of each visit of each */
typedef struct
{
    IfmLoadRow row;
    GHashTable *kernels;
    GArray *ratios;
} Load;

static void load_clear(gpointer load)
{
    g_hash_table_unref(((Load *)load)->kernels);
    g_array_unref(((Load *)load)->ratios);
}

static Load *load_of(GArray *loads, const IfmKernelSample *sample)
{
    for (guint i = 0; i < loads->len; i++)
    {
        Load *load = &g_array_index(loads, Load, i);
        if (load->row.kind == sample->load_kind && load->row.cores == sample->load_cores &&
            fabs(load->row.level - sample->load_level) < 1e-9)
            return load;
    }
    const Load load = { { .kind = sample->load_kind, .cores = sample->load_cores, .level = sample->load_level },
                        g_hash_table_new(g_str_hash, g_str_equal),
                        g_array_new(FALSE, FALSE, sizeof(double)) };
    g_array_append_val(loads, load);
    return &g_array_index(loads, Load, loads->len - 1);
}

static gint compare_loads(gconstpointer a, gconstpointer b)
{
    const IfmLoadRow *x = &((const Load *)a)->row, *y = &((const Load *)b)->row;
    if (x->kind != y->kind || x->cores != y->cores)
        return x->kind != y->kind ? x->kind - y->kind : x->cores - y->cores;
    return (x->level > y->level) - (x->level < y->level);
}

GArray *ifm_kernel_load_rows(const IfmKernelSamples *samples)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(IfmLoadRow));
    g_autoptr(GArray) loads = g_array_new(FALSE, FALSE, sizeof(Load));
    g_array_set_clear_func(loads, load_clear);
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        const double ratio = sample->latency_ms / sample->idle_ms;
        if (sample->load_kind == IFM_LOAD_NONE || isnan(ratio))
            continue;
        Load *load = load_of(loads, sample);
        load->row.achieved += sample->achieved_load;
        g_hash_table_add(load->kernels, (gpointer)sample->kernel_id);
        g_array_append_val(load->ratios, ratio);
    }
    g_array_sort(loads, compare_loads);
    for (guint i = 0; i < loads->len; i++)
    {
        Load *load = &g_array_index(loads, Load, i);
        ifm_sort_doubles((double *)(void *)load->ratios->data, load->ratios->len);
        load->row.n = g_hash_table_size(load->kernels);
        load->row.achieved /= (double)load->ratios->len;
        load->row.slow_down = quantile_of(load->ratios, 0.5);
        load->row.slow_down_90 = quantile_of(load->ratios, 0.9);
        g_array_append_val(rows, load->row);
    }
    return rows;
}
