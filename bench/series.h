#pragma once
#include <glib.h>

G_BEGIN_DECLS

/*
 * Seeded series of latencies for the benches, of kinds whose true median is known: a Gaussian AR(1) process sent
 * through a marginal distribution (so the correlation and the shape are chosen apart), or recorded series resampled.
 */
typedef struct BenchSource BenchSource;

typedef struct
{
    const char *name;
    double (*marginal)(double z, double spread); /* of a standard Gaussian; 1 is about the level */
    double phi;                                  /* of the Gaussian */
    double spread;
    const char *recorded; /* a file of bench/data instead of all that */
    gboolean wild;        /* the recorded series is no steady state: shown, nothing claimed */
    /* a drift on top, as a ratio of the level, at run i; NULL: none */
    double (*drift)(gsize i);
} BenchKind;

/** bench_source_new: NULL with the reason on standard error where the recorded file cannot be read. */
BenchSource *bench_source_new(const BenchKind *kind);
void bench_source_free(BenchSource *source);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BenchSource, bench_source_free)

/** bench_source_median: the median of what the source draws from, in ns, drift apart. */
double bench_source_median(const BenchSource *source);
/** bench_source_restart: Begins series @index of a seed; the same always. */
void bench_source_restart(BenchSource *source, guint64 seed, guint64 index);
/** bench_source_next: the next latency, whole ns. Recorded series are resampled by blocks of geometric length, mean 50
 * (Politis & Romano 1994, The stationary bootstrap). */
gint64 bench_source_next(BenchSource *source);

/* Marginals. */
double bench_gaussian(double z, double spread);
double bench_lognormal(double z, double spread);
/** one in 50 is an outlier of 1.5 to 4 times the level (where in those 2 %: by the far end of z) */
double bench_outliers(double z, double spread);
/** Pareto, shape 1.5: no variance */
double bench_pareto(double z, double spread);
/** a Gaussian read from a clock whose tick is the spread itself: five values hold nearly all */
double bench_quantised(double z, double spread);
/** three fifths at one level, the rest 10 spreads above */
double bench_two_levels(double z, double spread);

/** bench_options: --series N --seed S. FALSE (and a line on standard error) where there is anything else. */
gboolean bench_options(int argc, char **argv, gsize *n_series, guint64 *seed);

G_END_DECLS
