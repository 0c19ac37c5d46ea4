/* How fast the machine was in each visit. */
#include <math.h>

#include "learn-private.h"

#define COPY_RATE "copy_bytes_per_s"

enum
{
    LEAST_KERNELS = 10, /* of each half, with several visits */
    N_HALVES = 2,
};

/* Visit: logarithms of what a copy got, and of what the kernel took. */
typedef struct
{
    double copy, latency;
} Visit;

/* Half: every other kernel. @product, @square: sums over visits, of differences from the kernel's means */
typedef struct
{
    GPtrArray *kernels; /* GArray* of Visit; borrowed */
    double product, square, before, after;
    gsize n_kernels;
} Half;

/* The mean of the windows that have it; NaN: none has. */
static double copy_of(const LearnSpeed *speed, const IfmKernelSample *sample)
{
    double sum = 0, n = 0;
    for (gsize k = 0; k < G_N_ELEMENTS(speed->places); k++)
        if (speed->places[k] >= 0 && sample->metrics != NULL && sample->metrics[speed->places[k]] > 0)
        {
            sum += log(sample->metrics[speed->places[k]]);
            n++;
        }
    return n > 0 ? sum / n : (double)NAN;
}

static void find_places(LearnSpeed *speed, const char *const *names)
{
    static const char *const columns[] = { IFM_SAMPLE_BEFORE_PREFIX COPY_RATE, "metric:during:" COPY_RATE };
    for (gsize k = 0; k < G_N_ELEMENTS(speed->places); k++)
    {
        speed->places[k] = -1;
        for (gssize i = 0; names[i] != NULL; i++)
            if (g_str_equal(names[i], columns[k]))
                speed->places[k] = i;
    }
}

static void add_products(Half *half, const GArray *visits)
{
    double copy = 0, latency = 0;
    for (guint i = 0; i < visits->len; i++)
    {
        copy += g_array_index(visits, Visit, i).copy / visits->len;
        latency += g_array_index(visits, Visit, i).latency / visits->len;
    }
    for (guint i = 0; i < visits->len; i++)
    {
        const Visit *one = &g_array_index(visits, Visit, i);
        half->product += (one->copy - copy) * (one->latency - latency);
        half->square += (one->copy - copy) * (one->copy - copy);
    }
    half->n_kernels += visits->len > 1;
}

/* How far visits of a kernel are apart, and would be with the exponent. */
static void add_differences(Half *half, const GArray *visits, double exponent)
{
    for (guint i = 0; i < visits->len; i++)
        for (guint k = i + 1; k < visits->len; k++)
        {
            const Visit *a = &g_array_index(visits, Visit, i), *b = &g_array_index(visits, Visit, k);
            half->before += fabs(a->latency - b->latency);
            half->after += fabs(a->latency - b->latency - exponent * (a->copy - b->copy));
        }
}

/* The exponent of one half must bring the visits of the other together. */
static gboolean helps(Half *halves)
{
    for (int k = 0; k < N_HALVES; k++)
    {
        Half *other = &halves[1 - k];
        const double exponent = halves[k].product / halves[k].square;
        if (halves[k].n_kernels < LEAST_KERNELS || !(exponent < 0))
            return FALSE;
        for (guint i = 0; i < other->kernels->len; i++)
            add_differences(other, other->kernels->pdata[i], exponent);
        if (other->after >= other->before)
            return FALSE;
    }
    return TRUE;
}

static void fit(LearnSpeed *speed, const GPtrArray *kernels)
{
    Half halves[N_HALVES] = { 0 };
    for (int k = 0; k < N_HALVES; k++)
        halves[k].kernels = g_ptr_array_new();
    for (guint i = 0; i < kernels->len; i++)
    {
        Half *half = &halves[i % N_HALVES];
        g_ptr_array_add(half->kernels, kernels->pdata[i]);
        add_products(half, kernels->pdata[i]);
    }
    if (helps(halves))
        speed->exponent = (halves[0].product + halves[1].product) / (halves[0].square + halves[1].square);
    for (int k = 0; k < N_HALVES; k++)
        g_ptr_array_unref(halves[k].kernels);
}

void learn_speed_find(LearnSpeed *speed, const IfmKernelSamples *samples, LearnSpeedVisit visit_of, gpointer user)
{
    g_autoptr(GHashTable) by_kernel = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) kernels = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    g_autoptr(GArray) copies = g_array_new(FALSE, FALSE, sizeof(double));
    *speed = (LearnSpeed){ .copy_bytes_per_s = (double)NAN };
    find_places(speed, ifm_kernel_samples_metrics(samples));
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        Visit visit = { .copy = copy_of(speed, sample) };
        g_autofree char *key = isfinite(visit.copy) ? visit_of(sample, &visit.latency, user) : NULL;
        if (key == NULL)
            continue;
        GArray *visits = g_hash_table_lookup(by_kernel, key);
        if (visits == NULL)
        {
            g_ptr_array_add(kernels, visits = g_array_new(FALSE, FALSE, sizeof(Visit)));
            g_hash_table_insert(by_kernel, g_steal_pointer(&key), visits);
        }
        visit.latency = log(visit.latency);
        g_array_append_val(visits, visit);
        g_array_append_val(copies, visit.copy);
    }
    fit(speed, kernels);
    if (speed->exponent < 0)
        speed->copy_bytes_per_s = exp(learn_quantile((double *)(void *)copies->data, copies->len, 0.5));
}

double learn_speed_factor(const LearnSpeed *speed, const IfmKernelSample *sample)
{
    const double copy = speed->exponent < 0 ? copy_of(speed, sample) : (double)NAN;
    return isfinite(copy) ? exp(speed->exponent * (log(speed->copy_bytes_per_s) - copy)) : 1;
}
