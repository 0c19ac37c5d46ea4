/*
 * Does the 95 % interval of the median hold the median in 95 % of the series where the stopping rule stopped? And what does
 * the rule cost against a fixed 10 + 50? Simulated series of known medians, and recorded ones resampled.
 */
#include <base/statistics.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "measure/measure-private.h"
#include "series.h"

/* What a drift of the level does to a rule is shown, not claimed: such series are to come out flagged. */
static double drift_approach(gsize i)
{
    return 0.24 * exp(-(double)i / 5);
}

static double drift_line(gsize i)
{
    return 0.0005 * i;
}

static double drift_step(gsize i)
{
    return i < 25 ? 0 : 0.07;
}

/* Spreads are such that the rule stops at once, after tens, hundreds or thousands of runs at its target of 1 %. */
static const BenchKind kinds[] = {
    { "independent 1 %", bench_gaussian, 0, 0.01 },
    { "independent 2 %", bench_gaussian, 0, 0.02 },
    { "independent 5 %", bench_gaussian, 0, 0.05 },
    { "AR(1) 0.5, 1 %", bench_gaussian, 0.5, 0.01 },
    { "AR(1) 0.5, 3 %", bench_gaussian, 0.5, 0.03 },
    { "AR(1) 0.7, 2 %", bench_gaussian, 0.7, 0.02 },
    { "AR(1) 0.9, 0.3 %", bench_gaussian, 0.9, 0.003 },
    { "AR(1) 0.9, 1 %", bench_gaussian, 0.9, 0.01 },
    { "AR(1) 0.9, 2 %", bench_gaussian, 0.9, 0.02 },
    { "AR(1) -0.5, 2 %", bench_gaussian, -0.5, 0.02 },
    { "lognormal, outliers 2 %", bench_outliers, 0, 0.02 },
    { "the same, AR(1) 0.5", bench_outliers, 0.5, 0.02 },
    { "lognormal 10 %", bench_lognormal, 0, 0.1 },
    { "Pareto 1.5, 1 %", bench_pareto, 0, 0.01 },
    { "Pareto 1.5, 3 %", bench_pareto, 0, 0.03 },
    { "Pareto 1.5, AR(1) 0.9", bench_pareto, 0.9, 0.01 },
    { "quantised, ticks of 1 %", bench_quantised, 0, 0.01 },
    { "quantised, ticks of 5 %", bench_quantised, 0, 0.05 },
    { "quantised, AR(1) 0.7", bench_quantised, 0.7, 0.02 },
    { "two levels 3 : 2, 5 % apart", bench_two_levels, 0, 0.005 },
    { "recorded: gemm", .recorded = "gemm.txt" },
    { "recorded: copy", .recorded = "copy.txt" },
    { "recorded: onnxruntime", .recorded = "onnxruntime-small-cnn.txt" },
    { "recorded: openvino", .recorded = "openvino-small-cnn.txt", .wild = TRUE },
    { "drift: approach, 24 %", bench_gaussian, 0, 0.01, .drift = drift_approach },
    { "drift: line, 5 % in 100", bench_gaussian, 0, 0.01, .drift = drift_line },
    { "drift: step, 7 % at run 25", bench_gaussian, 0, 0.01, .drift = drift_step },
};

typedef struct
{
    gsize n_stopped, n_covered, n_flagged, n_other; /* n_covered: of those that the interval stopped */
    double warmup, runs;                            /* sums over all series */
} Tally;

/* One series under the rule, as ifm_measure_subject() would run it, each run taking no time. */
static void run_rule(BenchSource *source, const IfmProtocol *protocol, GArray *samples, Tally *tally)
{
    g_autoptr(IfmStopper) stopper = ifm_stopper_new(protocol);
    IfmStopReason reason;
    gint64 elapsed_ns = 0;
    gboolean warm;
    do
    {
        gint64 sample = bench_source_next(source);
        elapsed_ns += sample;
        warm = ifm_stopper_warm(stopper, sample, elapsed_ns);
        tally->warmup++;
    } while (!warm);
    g_array_set_size(samples, 0);
    do
    {
        gint64 sample = bench_source_next(source);
        g_array_append_val(samples, sample);
        elapsed_ns += sample;
        reason = ifm_stopper_add(stopper, sample, elapsed_ns);
    } while (reason == IFM_STOP_GO_ON);
    tally->runs += samples->len;
    IfmSummary summary;
    ifm_summary_compute((const gint64 *)samples->data, samples->len, 0.95, &summary);
    tally->n_flagged += summary.drifting;
    if (reason != IFM_STOP_INTERVAL)
    {
        tally->n_other++;
        return;
    }
    double truth = bench_source_median(source);
    tally->n_stopped++;
    tally->n_covered += summary.median_interval.lower <= truth && truth <= summary.median_interval.upper;
}

/* What the rule is there to avoid: as if samples were independent, looking after every run, stopping at the first narrow
 * interval. Returns: whether it stopped; @covered: and held the median. */
static gboolean run_naive(BenchSource *source, double target, const IfmInterval *ranks, gsize max, gboolean *covered)
{
    g_autofree double *sorted = g_new(double, max);
    double truth = bench_source_median(source);
    for (gsize n = 1; n <= max; n++)
    {
        double value = bench_source_next(source);
        gsize place = n - 1;
        for (; place > 0 && sorted[place - 1] > value; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = value;
        if (n < 20)
            continue;
        double lower = sorted[(gsize)ranks[n].lower], upper = sorted[(gsize)ranks[n].upper];
        *covered = lower <= truth && truth <= upper;
        if ((upper - lower) / 2 <= target * ifm_quantile(sorted, n, 0.5))
            return TRUE;
    }
    return FALSE;
}

/* The rule lets time pass, too. A simulated series has none: its runs are judged by their count alone, which is harder. */
static gint64 time_budget(const BenchKind *kind)
{
    IfmProtocol protocol = IFM_PROTOCOL_INIT;
    return kind->recorded ? protocol.time_budget_ns : 0;
}

static void print_share(gsize k, gsize n)
{
    IfmInterval interval = ifm_binomial_interval(k, n, 0.95);
    if (n == 0)
        printf("        -             ");
    else
        printf("  %5.1f [%5.1f, %5.1f]", 100.0 * k / n, 100 * interval.lower, 100 * interval.upper);
}

enum
{
    NAIVE_MAX = 500,
};

/* Ranks of plain intervals, from 0, for every n. */
static IfmInterval *make_ranks(void)
{
    double places[NAIVE_MAX];
    IfmInterval *ranks = g_new0(IfmInterval, NAIVE_MAX + 1);
    for (gsize n = 0; n < NAIVE_MAX; n++)
        places[n] = n;
    for (gsize n = 6; n <= NAIVE_MAX; n++)
        ifm_quantile_interval(places, n, n, 0.5, 0.95, &ranks[n]);
    return ranks;
}

/* What the rule claims of every kind but those of which nothing is claimed: significantly less is a failure. */
static const double min_coverage = 0.93;

static gboolean print_coverage(gsize n_series, guint64 seed, gboolean *kept)
{
    g_autofree IfmInterval *ranks = make_ranks();
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(gint64));
    IfmProtocol protocol = IFM_PROTOCOL_INIT;
    printf("Coverage of the 95 %% interval of the median where the rule stopped by it (target 1 %%, %" G_GSIZE_FORMAT
           " series a row, fewer where nothing is claimed, seed %" G_GUINT64_FORMAT "),\n"
           "its binomial interval; beside it: looking after each run as if they were independent (to %d runs).\n\n",
           n_series, seed, NAIVE_MAX);
    printf("%-29s %22s %22s %8s %8s %9s %9s\n", "series", "rule: covered %", "naive: covered %", "warm-up", "runs",
           "flagged %", "no stop %");
    for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++)
    {
        g_autoptr(BenchSource) source = bench_source_new(&kinds[k]);
        if (!source)
            return FALSE;
        protocol.time_budget_ns = time_budget(&kinds[k]);
        Tally tally = { 0 };
        gsize n_naive = 0, n_naive_covered = 0;
        gsize n = kinds[k].drift || kinds[k].wild ? MAX(n_series / 25, 10) : n_series;
        for (gsize i = 0; i < n; i++)
        {
            gboolean covered;
            bench_source_restart(source, seed + k, i);
            run_rule(source, &protocol, samples, &tally);
            bench_source_restart(source, seed + k, i);
            if (run_naive(source, protocol.ci_ratio, ranks, NAIVE_MAX, &covered))
                n_naive++, n_naive_covered += covered;
        }
        gboolean claimed = !kinds[k].drift && !kinds[k].wild && tally.n_stopped > 0;
        gboolean broken = claimed && ifm_binomial_interval(tally.n_covered, tally.n_stopped, 0.95).upper < min_coverage;
        *kept &= !broken;
        printf("%-29s", kinds[k].name);
        print_share(tally.n_covered, tally.n_stopped);
        print_share(n_naive_covered, n_naive);
        printf(" %8.1f %8.1f %9.2f %9.2f%s\n", tally.warmup / n, tally.runs / n, 100.0 * tally.n_flagged / n,
               100.0 * tally.n_other / n,
               broken           ? "  BELOW 93 %"
               : kinds[k].drift ? "  (no claim: it drifts)"
               : kinds[k].wild  ? "  (no claim: it changed by a fifth while recorded)"
                                : "");
        fflush(stdout);
    }
    return TRUE;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The fixed protocol: 10 + 50 runs. Returns: half-width / median, infinite where 50 runs cannot tell. */
static double run_fixed(BenchSource *source, gboolean *covered)
{
    gint64 samples[50];
    IfmSummary summary;
    for (int i = 0; i < 10; i++)
        bench_source_next(source);
    for (int i = 0; i < 50; i++)
        samples[i] = bench_source_next(source);
    ifm_summary_compute(samples, 50, 0.95, &summary);
    double truth = bench_source_median(source);
    *covered = summary.median_interval.lower <= truth && truth <= summary.median_interval.upper;
    double width = (summary.median_interval.upper - summary.median_interval.lower) / 2 / summary.median;
    return isnan(width) ? INFINITY : width;
}

/* At equal width: the rule is given as target the median width that 50 fixed runs reach. */
static gboolean print_cost(gsize n_series, guint64 seed)
{
    g_autofree double *widths = g_new(double, n_series);
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(gint64));
    printf("\nRuns needed at equal width: target = the median half-width of a fixed 10 + 50 (%" G_GSIZE_FORMAT
           " series a row).\n\n%-29s %9s %9s %22s %22s %11s\n",
           n_series, "series", "width %", "refused %", "fixed: covered %", "rule: covered %", "rule: runs");
    for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++)
    {
        if (kinds[k].drift || kinds[k].wild)
            continue;
        g_autoptr(BenchSource) source = bench_source_new(&kinds[k]);
        if (!source)
            return FALSE;
        gsize n_given = 0, n_covered = 0;
        for (gsize i = 0; i < n_series; i++)
        {
            gboolean covered;
            bench_source_restart(source, seed + 1000 + k, i);
            widths[i] = run_fixed(source, &covered);
            n_given += isfinite(widths[i]);
            n_covered += isfinite(widths[i]) && covered;
        }
        qsort(widths, n_series, sizeof *widths, compare_doubles);
        IfmProtocol protocol = IFM_PROTOCOL_INIT;
        protocol.time_budget_ns = time_budget(&kinds[k]);
        protocol.ci_ratio = widths[n_series / 2];
        printf("%-29s", kinds[k].name);
        if (isfinite(protocol.ci_ratio))
            printf(" %9.3f", 100 * protocol.ci_ratio);
        else
            printf(" %9s", "none");
        printf(" %9.1f", 100.0 * (n_series - n_given) / n_series);
        print_share(n_covered, n_given);
        Tally tally = { 0 };
        for (gsize i = 0; isfinite(protocol.ci_ratio) && i < n_series; i++)
        {
            bench_source_restart(source, seed + 2000 + k, i);
            run_rule(source, &protocol, samples, &tally);
        }
        print_share(tally.n_covered, tally.n_stopped);
        if (isfinite(protocol.ci_ratio))
            printf("   %.1f + %.1f against 10 + 50: x %.2f", tally.warmup / n_series, tally.runs / n_series,
                   (tally.warmup + tally.runs) / n_series / 60);
        putchar('\n');
        fflush(stdout);
    }
    return TRUE;
}

int main(int argc, char **argv)
{
    gsize n_series = 5000;
    guint64 seed = 1;
    if (!bench_options(argc, argv, &n_series, &seed))
        return 2;
    gboolean kept = TRUE;
    return bench_status(print_coverage(n_series, seed, &kept) && print_cost(MAX(n_series / 20, 10), seed) && kept);
}
