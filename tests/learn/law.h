/* Kernels whose latency follows a known law with seeded noise. */
#pragma once
#include <math.h>

#include "learn/learn-private.h"

#define LAW_FLOP_PER_NS 80.0
#define LAW_BYTES_PER_NS 12.0
#define LAW_LEAST_NS 500.0

typedef struct
{
    const char *name;
    double factor;
    gboolean conv;
} LawOperator;
static const LawOperator law_operators[] = {
    { "Conv_Relu", 1, TRUE },  { "Conv_Add_Relu", 1.15, TRUE }, { "Relu", 1.1, FALSE },
    { "MaxPool", 2.2, FALSE }, { "Softmax", 3, FALSE },
};

/* law_ns: max(FLOP / peak, bytes / bandwidth) and a fixed part, by a factor of the operator; few channels use the units
 * badly, which no line through FLOP and bytes shows. */
static inline double law_ns(const IfmKernelSample *sample, double factor)
{
    const double share = sample->features.channels / (sample->features.channels + 16);
    return factor * (LAW_LEAST_NS + fmax(sample->flop / (LAW_FLOP_PER_NS * share), learn_bytes(sample) / LAW_BYTES_PER_NS));
}

/* law_slow_down: sharing of a core, and copies slow down what reads memory. */
static inline double law_slow_down(double level, gboolean same, gboolean copy)
{
    return (same ? 1 / (1 - fmin(level, 0.5)) : 1) * (copy ? 1 + 0.4 * level : 1);
}

/* law_noise: a factor of median 1. @spread: standard deviation of its logarithm */
static inline double law_noise(GRand *random, double spread)
{
    const double a = g_rand_double_range(random, 1e-12, 1), b = g_rand_double(random);
    return exp(spread * sqrt(-2 * log(a)) * cos(2 * G_PI * b));
}

static inline void law_shape(IfmKernelSample *sample, GRand *random, gboolean conv)
{
    static const double channels[] = { 16, 32, 64, 128, 256 }, sizes[] = { 7, 14, 28, 56, 112 };
    const double c = channels[g_rand_int_range(random, 0, 5)], h = sizes[g_rand_int_range(random, 0, 5)];
    const double o = channels[g_rand_int_range(random, 0, 5)], k = g_rand_boolean(random) ? 3 : 1;
    const double outputs = conv ? o : c;
    sample->features = (IfmKernelFeatures){ .batch = 1, .channels = c, .height = h, .width = h };
    if (conv)
        sample->features = (IfmKernelFeatures){ 1, c, h, h, o, k, 1, 1, 1, h * h, c * k * k, o };
    sample->flop = conv ? 2 * c * o * k * k * h * h : 4 * c * h * h;
    sample->input_bytes = 4 * c * h * h;
    sample->weight_bytes = conv ? 4 * c * o * k * k : 0;
    sample->output_bytes = 4 * outputs * h * h;
}

typedef struct
{
    guint n_kernels, n_visits; /* of each */
    double spread;
    gboolean loads;
    guint32 seed;
} Law;

static inline void law_add_loads(IfmKernelSamples *samples, IfmKernelSample *sample, const Law *law, double ns,
                                 GRand *random)
{
    static const double levels[] = { 0.3, 0.6, 0.9 };
    for (int i = 0; i < 12; i++)
    {
        const gboolean copy = i % 2 == 1, same = i / 2 % 2 == 1;
        const double level = levels[i / 4], idle = ns * law_noise(random, law->spread);
        const double metrics[] = { level, copy ? level : 0 };
        sample->load_kind = copy ? IFM_LOAD_COPY : IFM_LOAD_GEMM;
        sample->load_cores = same ? IFM_LOAD_CORES_SAME : IFM_LOAD_CORES_OTHER;
        sample->load_level = level;
        sample->achieved_load = level;
        sample->idle_ms = idle / 1e6;
        sample->latency_ms = sample->idle_ms * law_slow_down(level, same, copy) * law_noise(random, law->spread);
        sample->metrics = metrics;
        ifm_kernel_samples_add(samples, sample);
    }
}

/* law_samples: (transfer full) Three kernels make a configuration; the first of each is of a model. */
static inline IfmKernelSamples *law_samples(const Law *law)
{
    static const char *const metrics[] = { "metric:before:busy", "metric:before:copy", NULL };
    static const char *const families[] = { "residual", "plain", "dense" };
    g_autoptr(GRand) random = g_rand_new_with_seed(law->seed);
    IfmKernelSamples *samples = ifm_kernel_samples_new(metrics);
    for (guint i = 0; i < law->n_kernels; i++)
    {
        const LawOperator *kind = &law_operators[g_rand_int_range(random, 0, G_N_ELEMENTS(law_operators))];
        g_autofree char *id = g_strdup_printf("k%u", i), *base = g_strdup_printf("k%u", i - i % 3);
        g_autofree char *model = g_strdup_printf("model%u", i / 3 % 6);
        const double idle_metrics[] = { 0, 0 };
        IfmKernelSample sample;
        ifm_kernel_sample_init(&sample);
        law_shape(&sample, random, kind->conv);
        sample.kernel_id = id;
        sample.configuration = base;
        sample.op_type = kind->name;
        sample.input_shape = "1xCxHxW";
        sample.threads = 1;
        sample.metrics = idle_metrics;
        sample.models = i % 3 == 0 ? model : NULL;
        sample.families = i % 3 == 0 ? families[i / 3 % 3] : NULL;
        const double ns = law_ns(&sample, kind->factor);
        for (guint visit = 0; visit < law->n_visits; visit++)
        {
            sample.visit = visit;
            sample.latency_ms = ns * law_noise(random, law->spread) / 1e6;
            ifm_kernel_samples_add(samples, &sample);
        }
        if (law->loads && i % 4 == 0)
            law_add_loads(samples, &sample, law, ns, random);
    }
    return samples;
}

static inline IfmLearnOptions law_options(void)
{
    IfmLearnOptions options = { 0 };
    ifm_options_init(ifm_learn_options, &options);
    return options;
}
