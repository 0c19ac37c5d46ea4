#include "series.h"
#include "bench.h"
#include "build-folders.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_NS 1e6

enum
{
    MEAN_BLOCK = 50,
};

struct BenchSource
{
    BenchKind kind;
    guint64 state[4]; /* xoshiro256** (Blackman & Vigna 2018) */
    double z;
    gsize i;
    gint64 *recorded;
    gsize n_recorded, place;
    double median;
};

static guint64 random_bits(BenchSource *source)
{
    guint64 *s = source->state, five = s[1] * 5, result = (five << 7 | five >> 57) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return result;
}

static double random_uniform(BenchSource *source)
{
    return ((random_bits(source) >> 11) + 0.5) * 0x1p-53;
}

/* The polar method. */
static double random_gaussian(BenchSource *source)
{
    double u, v, square;
    do
    {
        u = 2 * random_uniform(source) - 1;
        v = 2 * random_uniform(source) - 1;
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    return u * sqrt(-2 * log(square) / square);
}

double bench_gaussian(double z, double spread)
{
    return 1 + spread * z;
}

double bench_lognormal(double z, double spread)
{
    return exp(spread * z);
}

double bench_outliers(double z, double spread)
{
    double above = erfc(z * M_SQRT1_2) / 2;
    return exp(spread * z) * (above < 0.02 ? 1.5 + 2.5 * above / 0.02 : 1);
}

double bench_pareto(double z, double spread)
{
    return 1 + spread * (pow(erfc(z * M_SQRT1_2) / 2, -1 / 1.5) - 1);
}

double bench_quantised(double z, double spread)
{
    return 1 + spread * nearbyint(z);
}

double bench_two_levels(double z, double spread)
{
    double below = erfc(-z * M_SQRT1_2) / 2;
    return below < 0.6 ? 1 + spread * (below / 0.6) : 1 + 10 * spread + spread * ((below - 0.6) / 0.4);
}

static int compare_int64(const void *a, const void *b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

static gboolean read_recorded(BenchSource *source)
{
    g_autofree char *path = g_build_filename(IFM_SOURCE_DIR, "bench", "data", source->kind.recorded, NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    if (!g_file_get_contents(path, &text, NULL, &error))
    {
        fprintf(stderr, "%s\n", error->message);
        return FALSE;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    source->recorded = g_new(gint64, g_strv_length(lines));
    for (gsize i = 0; lines[i]; i++)
        if (lines[i][0] != '#' && lines[i][0] != '\0')
            source->recorded[source->n_recorded++] = g_ascii_strtoll(lines[i], NULL, 10);
    if (source->n_recorded < 100)
    {
        fprintf(stderr, "%s: holds %" G_GSIZE_FORMAT " latencies, 100 are needed\n", path, source->n_recorded);
        return FALSE;
    }
    g_autofree gint64 *sorted = g_memdup2(source->recorded, source->n_recorded * sizeof *sorted);
    qsort(sorted, source->n_recorded, sizeof *sorted, compare_int64);
    source->median = sorted[source->n_recorded / 2];
    return TRUE;
}

BenchSource *bench_source_new(const BenchKind *kind)
{
    g_autoptr(BenchSource) source = g_new0(BenchSource, 1);
    source->kind = *kind;
    if (kind->recorded && !read_recorded(source))
        return NULL;
    if (!kind->recorded)
        source->median =
            nearbyint(LEVEL_NS * kind->marginal(0, kind->spread)); /* marginals are monotone up to the median */
    return g_steal_pointer(&source);
}

void bench_source_free(BenchSource *source)
{
    if (!source)
        return;
    g_free(source->recorded);
    g_free(source);
}

double bench_source_median(const BenchSource *source)
{
    return source->median;
}

void bench_source_restart(BenchSource *source, guint64 seed, guint64 index)
{
    guint64 mixed = seed * G_GUINT64_CONSTANT(1000003) + index;
    for (int i = 0; i < 4; i++) /* splitmix64 */
    {
        mixed += G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
        guint64 x = mixed;
        x = (x ^ (x >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
        source->state[i] = x ^ (x >> 31);
    }
    source->z = random_gaussian(source);
    source->i = 0;
    source->place = random_bits(source) % MAX(source->n_recorded, 1);
}

gint64 bench_source_next(BenchSource *source)
{
    double drift = 1 + (source->kind.drift ? source->kind.drift(source->i) : 0);
    source->i++;
    if (source->recorded)
    {
        if (random_uniform(source) < 1.0 / MEAN_BLOCK)
            source->place = random_bits(source) % source->n_recorded;
        else
            source->place = (source->place + 1) % source->n_recorded;
        return drift * source->recorded[source->place];
    }
    double phi = source->kind.phi;
    source->z = phi == 0 ? random_gaussian(source) : phi * source->z + sqrt(1 - phi * phi) * random_gaussian(source);
    return nearbyint(LEVEL_NS * drift * source->kind.marginal(source->z, source->kind.spread));
}

gboolean bench_options(int argc, char **argv, gsize *n_series, guint64 *seed)
{
    *n_series = (gsize)bench_rounds((int)*n_series, 50);
    for (int i = 1; i < argc; i += 2)
    {
        char *end = NULL;
        guint64 value = i + 1 < argc ? g_ascii_strtoull(argv[i + 1], &end, 10) : 0;
        gboolean good = end && *end == '\0' && end != argv[i + 1];
        if (good && strcmp(argv[i], "--series") == 0 && value >= 10 && value <= 1000000)
            *n_series = value;
        else if (good && strcmp(argv[i], "--seed") == 0)
            *seed = value;
        else
        {
            fprintf(stderr, "usage: %s [--series N] [--seed S], N from 10 to 1000000\n", argv[0]);
            return FALSE;
        }
    }
    return TRUE;
}
