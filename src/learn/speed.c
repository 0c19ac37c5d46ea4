/* How fast the machine was in each visit. */
#include <math.h>

#include <sensor/sensor.h>

#include "learn-private.h"

enum
{
    LEAST_KERNELS = 10, /* of each half, with several visits */
    N_HALVES = 2,
};
#define LEAST_T 3    /* standard errors that an exponent is below 0, in each half */
#define COUNTED 0.02 /* of the reads at either end count as the ones next to them */

/* Visit: logarithms of what a read got, and of what the kernel took. */
typedef struct
{
    double rate, latency;
} Visit;

/* Kernel: with one number of threads. @number: of those of its name, in the order in which they come first */
typedef struct
{
    GArray *visits; /* Visit */
    guint number;
} Kernel;

static void kernel_free(Kernel *kernel)
{
    g_array_unref(kernel->visits);
    g_free(kernel);
}

/* Half: every other name. @product, @square, @latency: sums over visits, of differences from the kernel's means: of both,
 * of reads squared, of times squared    @n_free: visits less kernels */
typedef struct
{
    GPtrArray *kernels; /* GArray* of Visit; borrowed */
    double product, square, latency, before, after, n_free;
    gsize n_kernels;
} Half;

/* The mean of the windows that have it; NaN: none has. */
static double rate_of(const LearnSpeed *speed, const IfmKernelSample *sample)
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
    static const char *const columns[] = { IFM_SAMPLE_BEFORE_PREFIX IFM_METRIC_READ_RATE,
                                           IFM_SAMPLE_DURING_PREFIX IFM_METRIC_READ_RATE };
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
    double rate = 0, latency = 0;
    for (guint i = 0; i < visits->len; i++)
    {
        rate += g_array_index(visits, Visit, i).rate / visits->len;
        latency += g_array_index(visits, Visit, i).latency / visits->len;
    }
    for (guint i = 0; i < visits->len; i++)
    {
        const Visit *one = &g_array_index(visits, Visit, i);
        half->product += (one->rate - rate) * (one->latency - latency);
        half->square += (one->rate - rate) * (one->rate - rate);
        half->latency += (one->latency - latency) * (one->latency - latency);
    }
    half->n_kernels += visits->len > 1;
    half->n_free += visits->len - 1;
}

/* How far visits of a kernel are apart, and would be with the exponent. */
static void add_differences(Half *half, const GArray *visits, double exponent)
{
    for (guint i = 0; i < visits->len; i++)
        for (guint k = i + 1; k < visits->len; k++)
        {
            const Visit *a = &g_array_index(visits, Visit, i), *b = &g_array_index(visits, Visit, k);
            half->before += fabs(a->latency - b->latency);
            half->after += fabs(a->latency - b->latency - exponent * (a->rate - b->rate));
        }
}

/* How many standard errors its exponent is below 0. */
static double t_of(const Half *half)
{
    const double exponent = half->product / half->square, rest = half->latency - exponent * half->product;
    return -exponent / sqrt(fmax(rest, 0) / fmax(half->n_free - 1, 1) / half->square);
}

/* The exponent of one half must be no chance, and bring the visits of the other together. */
static gboolean helps(Half *halves)
{
    for (int k = 0; k < N_HALVES; k++)
    {
        Half *other = &halves[1 - k];
        const double exponent = halves[k].product / halves[k].square;
        if (halves[k].n_kernels < LEAST_KERNELS || !(t_of(&halves[k]) >= LEAST_T))
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
        const Kernel *kernel = kernels->pdata[i];
        Half *half = &halves[kernel->number % N_HALVES];
        g_ptr_array_add(half->kernels, kernel->visits);
        add_products(half, kernel->visits);
    }
    if (helps(halves))
        speed->exponent = (halves[0].product + halves[1].product) / (halves[0].square + halves[1].square);
    for (int k = 0; k < N_HALVES; k++)
        g_ptr_array_unref(halves[k].kernels);
}

/* Kernels: of which visits are known so far. */
typedef struct
{
    GPtrArray *kernels;           /* Kernel* */
    GHashTable *by_key, *by_name; /* key -> Kernel*; name -> its number, from 1 */
    GArray *rates;                /* double: of all visits */
} Kernels;

static void kernels_init(Kernels *self)
{
    self->kernels = g_ptr_array_new_with_free_func((GDestroyNotify)kernel_free);
    self->by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    self->rates = g_array_new(FALSE, FALSE, sizeof(double));
}

static void kernels_clear(Kernels *self)
{
    g_ptr_array_unref(self->kernels);
    g_hash_table_unref(self->by_key);
    g_hash_table_unref(self->by_name);
    g_array_unref(self->rates);
}

/* @key: (transfer full) */
static void add_visit(Kernels *self, char *key, const char *name, const Visit *visit)
{
    Kernel *kernel = g_hash_table_lookup(self->by_key, key);
    if (kernel == NULL)
    {
        guint number = GPOINTER_TO_UINT(g_hash_table_lookup(self->by_name, name));
        if (number == 0)
            g_hash_table_insert(self->by_name, (gpointer)name,
                                GUINT_TO_POINTER(number = g_hash_table_size(self->by_name) + 1));
        kernel = g_new0(Kernel, 1);
        *kernel = (Kernel){ g_array_new(FALSE, FALSE, sizeof(Visit)), number };
        g_ptr_array_add(self->kernels, kernel);
        g_hash_table_insert(self->by_key, g_strdup(key), kernel);
    }
    g_array_append_val(kernel->visits, *visit);
    g_array_append_val(self->rates, visit->rate);
    g_free(key);
}

static void bound_rates(LearnSpeed *speed, Kernels *self)
{
    double *rates = (double *)(void *)self->rates->data;
    const gsize n = self->rates->len;
    speed->least = learn_quantile(rates, n, COUNTED);
    speed->most = learn_quantile(rates, n, 1 - COUNTED);
    speed->read_bytes_per_s = exp(learn_quantile(rates, n, 0.5));
    for (guint i = 0; i < self->kernels->len; i++)
    {
        GArray *visits = ((Kernel *)self->kernels->pdata[i])->visits;
        for (guint k = 0; k < visits->len; k++)
        {
            Visit *visit = &g_array_index(visits, Visit, k);
            visit->rate = CLAMP(visit->rate, speed->least, speed->most);
        }
    }
}

void learn_speed_find(LearnSpeed *speed, const IfmKernelSamples *samples, LearnSpeedVisit visit_of, gpointer user)
{
    Kernels all;
    *speed = (LearnSpeed){ .read_bytes_per_s = (double)NAN };
    find_places(speed, ifm_kernel_samples_metrics(samples));
    if (learn_machines_are_several(samples))
        return;
    kernels_init(&all);
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        const IfmKernelSample *sample = ifm_kernel_samples_at(samples, i);
        Visit visit = { .rate = rate_of(speed, sample) };
        char *key = isfinite(visit.rate) ? visit_of(sample, &visit.latency, user) : NULL;
        visit.latency = log(visit.latency);
        if (key != NULL)
            add_visit(&all, key, sample->kernel_id, &visit);
    }
    if (all.rates->len > 0)
        bound_rates(speed, &all);
    fit(speed, all.kernels);
    if (speed->exponent == 0)
        speed->read_bytes_per_s = (double)NAN;
    kernels_clear(&all);
}

double learn_speed_factor(const LearnSpeed *speed, const IfmKernelSample *sample)
{
    const double rate = speed->exponent < 0 ? rate_of(speed, sample) : (double)NAN;
    return isfinite(rate) ? exp(speed->exponent * (log(speed->read_bytes_per_s) - CLAMP(rate, speed->least, speed->most)))
                          : 1;
}
