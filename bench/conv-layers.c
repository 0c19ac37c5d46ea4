/*
 * Convolution algorithms layer by layer: time, GFLOP/s (of the direct algorithm's multiplications, whatever an algorithm
 * saves) and their share of the peak, by algorithm and shape, with the ratio to the peer: oneDNN's direct convolution. On
 * one pinned thread. All algorithms of a shape take turns; each runs once with what the others left in the caches, as in a
 * model, and once more at once. The peak is that of multiply-adds in registers. Bound: the better one of the fused F(m, 3)
 * is at least 1.3 times as fast as direct on each layer of LARGE multiplications, and what the rule of `guess` takes is
 * within 5 % of the fastest on nine of ten layers that the rule was not made from. Fails where a whole 95 % interval lies
 * below the first, or the second is missed.
 *
 *     conv-layers [WORD …]: only layers with one of the words in their names
 */
#include <base/statistics.h>
#include <convolution/convolution.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

enum
{
    ROUNDS = 25,
    MAX_VARIANTS = IFM_N_CONV_FIXED + 7,
};

static gsize n_rounds;
#define LARGE 100000000
#define MIN_RATIO 1.3

typedef struct
{
    const char *name;
    gint64 channels, size, out_channels, kernel, stride;
    gboolean is_held_out; /* the rule of guess was made without it */
    gint64 groups;        /* 0: one */
} BenchLayer;

/* ResNet's and VGG-16's 3x3 layers at 224, and others that only some algorithms can do. */
static const BenchLayer layers[] = {
    { "resnet 56x56x64", 64, 56, 64, 3, 1 },
    { "resnet 28x28x128", 128, 28, 128, 3, 1 },
    { "resnet 14x14x256", 256, 14, 256, 3, 1 },
    { "resnet 7x7x512", 512, 7, 512, 3, 1 },
    { "vgg 224x224x3", 3, 224, 64, 3, 1 },
    { "vgg 224x224x64", 64, 224, 64, 3, 1 },
    { "vgg 112x112x64", 64, 112, 128, 3, 1 },
    { "vgg 112x112x128", 128, 112, 128, 3, 1 },
    { "vgg 56x56x128", 128, 56, 256, 3, 1 },
    { "vgg 56x56x256", 256, 56, 256, 3, 1 },
    { "vgg 28x28x256", 256, 28, 512, 3, 1 },
    { "vgg 28x28x512", 512, 28, 512, 3, 1 },
    { "vgg 14x14x512", 512, 14, 512, 3, 1 },
    { "stem 224x224x3 7x7", 3, 224, 64, 7, 2 },
    { "resnet 56x56x64 1x1", 64, 56, 256, 1, 1 },
    { "resnet 28x28x128 stride 2", 128, 56, 128, 3, 2 },
    { "alexnet 27x27x64 5x5", 64, 27, 192, 5, 1 },
    { "densenet 56x56x128", 128, 56, 32, 3, 1, TRUE },
    { "densenet 28x28x128", 128, 28, 32, 3, 1, TRUE },
    { "densenet 14x14x512 1x1", 512, 14, 128, 1, 1, TRUE },
    { "densenet 56x56x96 1x1", 96, 56, 128, 1, 1, TRUE },
    { "googlenet 28x28x96", 96, 28, 128, 3, 1, TRUE },
    { "googlenet 14x14x144", 144, 14, 288, 3, 1, TRUE },
    { "googlenet 28x28x16 5x5", 16, 28, 32, 5, 1, TRUE },
    { "googlenet 7x7x832 1x1", 832, 7, 256, 1, 1, TRUE },
    { "alexnet 13x13x192", 192, 13, 384, 3, 1, TRUE },
    { "inception 35x35x64 5x5", 64, 35, 96, 5, 1, TRUE },
    { "resnet50 28x28x512 1x1", 512, 28, 128, 1, 1, TRUE },
    { "resnet50 14x14x256 stride 2", 256, 28, 256, 3, 2, TRUE },
    { "resnet50 56x56x256 1x1 stride 2", 256, 56, 512, 1, 2, TRUE },
    { "mobilenet 112x112x32 depthwise", 32, 112, 32, 3, 1, FALSE, 32 },
    { "mobilenet 56x56x144 depthwise stride 2", 144, 56, 144, 3, 2, FALSE, 144 },
    { "mobilenet 14x14x384 depthwise", 384, 14, 384, 3, 1, FALSE, 384 },
    { "efficientnet 14x14x480 5x5 depthwise", 480, 14, 480, 5, 1, FALSE, 480 },
    { "resnext 56x56x128 groups of 4", 128, 56, 128, 3, 1, FALSE, 32 },
    { "resnext 14x14x512 groups of 16", 512, 14, 512, 3, 1, FALSE, 32 },
    { "resnext 7x7x1024 groups of 32", 1024, 7, 1024, 3, 1, FALSE, 32 },
    { "resnext 28x28x512 groups of 16", 512, 28, 512, 3, 1, FALSE, 32 },
    { "regnet 28x28x112 groups of 8", 112, 28, 112, 3, 1, FALSE, 14 },
    { "regnet 56x56x48 groups of 16", 48, 56, 48, 3, 1, FALSE, 3 },
    { "regnet 14x14x384 groups of 48", 384, 14, 384, 3, 1, FALSE, 8 },
    { "resnext 14x14x1024 groups of 32", 1024, 14, 1024, 3, 1, TRUE, 32 },
    { "regnet 7x7x400 groups of 16", 400, 7, 400, 3, 1, TRUE, 25 },
    { "stage 112x112x16", 16, 112, 16, 3, 1, FALSE },
    { "stage 28x28x16", 16, 28, 16, 3, 1, FALSE },
};

/* Variant: one algorithm on one layer. */
typedef struct
{
    IfmConv *conv;
    char name[32];
    double cold_ms[ROUNDS], hot_ms[ROUNDS], ratios[ROUNDS]; /* ratios: direct's cold time over this one's */
} Variant;

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, IfmInterval *interval)
{
    double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, n_rounds, sizeof *sorted, compare_doubles);
    if (interval != NULL)
        ifm_quantile_interval(sorted, n_rounds, n_rounds, 0.5, 0.95, interval);
    return ifm_quantile(sorted, n_rounds, 0.5);
}

/* --- the peak --------------------------------------------------------------------------------------------------------- */

/* CHAINS independent chains of multiply-adds hide their latency, and fit into the registers. */
#define PEAK(NAME, LANES, CHAINS, TARGET)                                                                                  \
    TARGET static double NAME(gsize n)                                                                                     \
    {                                                                                                                      \
        typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));                                          \
        Vector sums[CHAINS] = { 0 }, x = (Vector){ 0 } + 0.5F, y = (Vector){ 0 } + 0.25F;                                  \
        __asm__ volatile("" : "+x"(x), "+x"(y));                                                                           \
        for (int c = 0; c < CHAINS; c++)                                                                                   \
            __asm__ volatile("" : "+x"(sums[c]));                                                                          \
        for (gsize i = 0; i < n; i++)                                                                                      \
            _Pragma("GCC unroll 24") for (int c = 0; c < CHAINS; c++) sums[c] = sums[c] * x + y;                           \
        for (int c = 0; c < CHAINS; c++)                                                                                   \
            __asm__ volatile("" : : "x"(sums[c]));                                                                         \
        return 2.0 * LANES * CHAINS * (double)n;                                                                           \
    }
#ifdef __x86_64__
PEAK(flop_avx512, 16, 24, __attribute__((target("avx512f"))))
PEAK(flop_avx2, 8, 12, __attribute__((target("avx2,fma"))))
#endif
PEAK(flop_portable, 4, 12, )

static gboolean has_avx512(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f");
#else
    return FALSE;
#endif
}

static double peak_gflops(void)
{
    double (*flop)(gsize n) = flop_portable;
#ifdef __x86_64__
    if (has_avx512())
        flop = flop_avx512;
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        flop = flop_avx2;
#endif
    double best = 0;
    for (int i = 0; i < 20; i++)
    {
        const double start = now_ms(), done = flop(500000);
        best = MAX(best, done / (now_ms() - start) / 1e6);
    }
    return best;
}

/* --- a layer ---------------------------------------------------------------------------------------------------------- */

static float *random_floats(gsize n)
{
    float *values = aligned_alloc(64, (n * sizeof(float) + 63) / 64 * 64);
    for (gsize i = 0; i < n; i++)
        values[i] = (float)g_random_double_range(-1, 1);
    return values;
}

/* Winograd's algorithms in each size and in that of their rule; direct by oneDNN and by the own kernels. */
static gsize make_variants(const IfmConvShape *shape, const float *weights, Variant *variants)
{
    gsize n = 0;
    for (int a = 0; a < IFM_N_CONV_FIXED; a++)
    {
        const gboolean is_winograd = a == IFM_CONV_WINOGRAD || a == IFM_CONV_WINOGRAD_NONFUSED;
        for (int outputs = 0; outputs <= (is_winograd ? 6 : 0); outputs += 2)
        {
            const IfmConvOptions options = { .winograd_outputs = outputs };
            IfmConv *conv = ifm_conv_new(shape, (IfmConvAlgorithm)a, &options, weights, NULL, NULL);
            if (conv == NULL)
                continue;
            variants[n].conv = conv;
            g_snprintf(variants[n].name, sizeof variants->name, outputs != 0 ? "%s F(%d,3)" : "%s",
                       ifm_conv_algorithm_name((IfmConvAlgorithm)a), outputs);
            n++;
        }
        if (a == IFM_CONV_DIRECT)
        {
            const IfmConvOptions own = { .rows = ifm_conv_own_rows };
            variants[n].conv = ifm_conv_new(shape, IFM_CONV_DIRECT, &own, weights, NULL, NULL);
            g_strlcpy(variants[n].name, "direct (own)", sizeof variants->name);
            n += variants[n].conv != NULL;
        }
    }
    return n;
}

static void measure(Variant *variants, gsize n, const float *input, float *output)
{
    for (gsize v = 0; v < n; v++)
        ifm_conv_run(variants[v].conv, input, NULL, output, NULL, NULL);
    for (gsize round = 0; round < n_rounds; round++)
    {
        for (gsize i = 0; i < n; i++)
        {
            Variant *variant = &variants[(i + round) % n];
            const double start = now_ms();
            ifm_conv_run(variant->conv, input, NULL, output, NULL, NULL);
            const double middle = now_ms();
            ifm_conv_run(variant->conv, input, NULL, output, NULL, NULL);
            variant->cold_ms[round] = middle - start;
            variant->hot_ms[round] = now_ms() - middle;
        }
        for (gsize v = 0; v < n; v++)
            variants[v].ratios[round] = variants[0].cold_ms[round] / variants[v].cold_ms[round];
    }
}

/* Guesses: of layers that the rule was not made from. */
typedef struct
{
    guint n, n_near;
} Guesses;
#define NEAR 1.05

/* How far the rule's choice is behind the fastest of the algorithms as they are by default. */
static void judge_guess(const IfmConvShape *shape, const Variant *variants, gsize n, gboolean is_held_out, Guesses *guesses)
{
    const IfmConvAlgorithm guess = ifm_conv_guess(shape, &(IfmConvOptions){ 0 });
    double least_ms = INFINITY, guess_ms = INFINITY;
    const char *fastest = NULL;
    for (gsize v = 0; v < n; v++)
    {
        const double cold = median(variants[v].cold_ms, NULL);
        if (strchr(variants[v].name, '(') != NULL) /* not what the name stands for */
            continue;
        if (cold < least_ms)
            fastest = variants[v].name;
        least_ms = MIN(least_ms, cold);
        if (ifm_conv_info(variants[v].conv).algorithm == guess)
            guess_ms = cold;
    }
    printf("  guess: %s, %.2f times the fastest (%s)%s\n", ifm_conv_algorithm_name(guess), guess_ms / least_ms, fastest,
           is_held_out ? ", held out" : "");
    guesses->n += is_held_out;
    guesses->n_near += is_held_out && guess_ms <= NEAR * least_ms;
}

/* Returns: FALSE where the bound is broken. */
static gboolean bench_layer(const BenchLayer *layer, double peak, Guesses *guesses)
{
    const int block = has_avx512() ? 16 : 8;
    const gint64 pad = layer->kernel / 2;
    IfmConvShape shape = { 1,
                           layer->channels,
                           layer->out_channels,
                           MAX(layer->groups, 1),
                           { layer->size, layer->size },
                           { layer->kernel, layer->kernel },
                           { layer->stride, layer->stride },
                           { 1, 1 },
                           { pad, pad, pad, pad },
                           { 0 },
                           block,
                           layer->channels < block ? 1 : block };
    if (!ifm_conv_shape_complete(&shape, NULL))
        abort();
    float *input = random_floats((gsize)(layer->channels * layer->size * layer->size));
    float *weights = random_floats((gsize)(layer->channels * layer->out_channels * layer->kernel * layer->kernel));
    float *output = random_floats((gsize)(layer->out_channels * shape.out[0] * shape.out[1]));
    Variant variants[MAX_VARIANTS] = { 0 };
    const gsize n = make_variants(&shape, weights, variants);
    if (n == 0 || ifm_conv_info(variants[0].conv).algorithm != IFM_CONV_DIRECT)
    {
        fprintf(stderr, "conv-layers: no direct convolution (is oneDNN there?)\n");
        exit(1);
    }
    measure(variants, n, input, output);
    const double macs = (double)ifm_conv_shape_macs(&shape);
    double best = 0;
    printf("\n%s: %.0f million multiplications\n", layer->name, macs * 1e-6);
    for (gsize v = 0; v < n; v++)
    {
        IfmInterval interval;
        const IfmConvInfo info = ifm_conv_info(variants[v].conv);
        const double cold = median(variants[v].cold_ms, NULL), gflops = 2e-6 * macs / cold;
        const double ratio = median(variants[v].ratios, &interval);
        printf("  %-26s %8.3f ms (again %8.3f)  %6.1f GFLOP/s %4.0f %%  ratio %5.2f [%5.2f, %5.2f]  %6.1f MiB  %s\n",
               variants[v].name, cold, median(variants[v].hot_ms, NULL), gflops, 100 * gflops / peak, ratio, interval.lower,
               interval.upper, (double)(info.workspace_bytes + info.weights_bytes) / (1 << 20), info.implementation);
        if (info.algorithm == IFM_CONV_WINOGRAD)
            best = MAX(best, interval.upper);
    }
    judge_guess(&shape, variants, n, layer->is_held_out, guesses);
    for (gsize v = 0; v < n; v++)
        ifm_conv_free(variants[v].conv);
    free(input);
    free(weights);
    free(output);
    const gboolean is_broken = best > 0 && macs >= LARGE && best < MIN_RATIO;
    if (is_broken)
        printf("  BROKEN: winograd is not %.1f times as fast as direct\n", MIN_RATIO);
    return !is_broken;
}

static gboolean is_asked(const char *name, char **words)
{
    gboolean is_found = *words == NULL;
    for (; *words != NULL; words++)
        is_found |= strstr(name, *words) != NULL;
    return is_found;
}

int main(int argc, char **argv)
{
    n_rounds = (gsize)bench_rounds(ROUNDS, 3);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(g_get_num_processors() - 1, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
    const double peak = peak_gflops();
    printf("peak of one thread: %.1f GFLOP/s\n", peak);
    gboolean is_good = TRUE;
    Guesses guesses = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(layers); i++)
        if (argc > 1 ? is_asked(layers[i].name, argv + 1) : i < 2 || !bench_is_quick())
            is_good &= bench_layer(&layers[i], peak, &guesses);
    if (guesses.n > 0)
        printf("\nguess is within 5 %% of the fastest on %u of %u layers that its rule was not made from%s\n",
               guesses.n_near, guesses.n, 10 * guesses.n_near < 9 * guesses.n ? ": MISSED, 9 of 10 are asked for" : "");
    return bench_status(is_good && 10 * guesses.n_near >= 9 * guesses.n);
}
