/* What the runs behind a latency say beyond their median: other statistics with their intervals, and what a simulation
 * draws from. */
#include <math.h>

#include "plan-private.h"

/* Fewer runs give no interval of a mean. */
#define MIN_SAMPLES 3
#define LEVEL 0.95
/* The last runs, to draw from. */
#define MAX_KEPT 4096

static double mean_of(const double *values, gsize n)
{
    double mean = 0;
    for (gsize i = 0; i < n; i++)
        mean += values[i] / (double)n;
    return mean;
}

/* The half-width of the interval of a mean / mean. Latencies are skewed to the right, and a small sample that lacks its
 * largest values has a small mean and a small deviation at once: Johnson's correction of Student's t moves the interval up
 * by the skewness. Source: Johnson, JASA 73 (1978) 536 */
static double mean_spread(const double *samples, gsize n, double n_effective, double mean)
{
    double square = 0, cube = 0;
    if (n < MIN_SAMPLES || !(n_effective > 2))
        return NAN;
    for (gsize i = 0; i < n; i++)
    {
        double off = samples[i] - mean;
        square += off * off / (double)(n - 1);
        cube += off * off * off / (double)n;
    }
    double half = ifm_student_quantile(0.5 + LEVEL / 2, n_effective - 1) * sqrt(square / n_effective);
    double skew = square > 0 ? fabs(cube) / square : 0;
    return (half + skew / (6 * n_effective) + half * half * skew / (3 * fmax(square, 1e-300))) / mean;
}

void costs_point_statistics(const IfmCostPoint *point, double *values, double *spread_ratios)
{
    gsize n = point->n_samples;
    for (int of = 0; of < IFM_COST_N_STATISTICS; of++)
    {
        values[of] = point->latency_ns;
        spread_ratios[of] = point->spread_ratio;
    }
    if (n == 0)
        return;
    g_autofree double *sorted = g_memdup2(point->samples_ns, n * sizeof *sorted);
    double n_effective = ifm_effective_sample_size(point->samples_ns, n);
    IfmInterval interval;
    ifm_sort_doubles(sorted, n);
    values[IFM_COST_MEAN] = mean_of(point->samples_ns, n);
    spread_ratios[IFM_COST_MEAN] = mean_spread(point->samples_ns, n, n_effective, values[IFM_COST_MEAN]);
    values[IFM_COST_P95] = ifm_quantile(sorted, n, 0.95);
    gboolean known = ifm_quantile_interval(sorted, n, n_effective, 0.95, LEVEL, &interval);
    spread_ratios[IFM_COST_P95] = known ? (interval.upper - interval.lower) / 2 / values[IFM_COST_P95] : (double)NAN;
}

CostSamples costs_samples_of(const IfmCostPoint *point)
{
    CostSamples samples = { NULL, MIN(point->n_samples, MAX_KEPT), 1 };
    if (samples.n < 2)
        return samples;
    const double *last = point->samples_ns + point->n_samples - samples.n;
    double mean = mean_of(last, samples.n);
    samples.relative = g_new(double, samples.n);
    for (gsize i = 0; i < samples.n; i++)
        samples.relative[i] = last[i] / mean;
    samples.block = (double)samples.n / ifm_effective_sample_size(samples.relative, samples.n);
    return samples;
}

int costs_draws(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, double mean_ns,
                CostDraw *draws)
{
    int piece[IFM_COST_MAX_STAGES + 1], n = 0;
    double sum = 0;
    costs_pieces(costs, device, first, piece);
    for (int l = last; l >= first && piece[l] != 0; l = piece[l] - 1)
    {
        const CostRange *range = costs_range(costs, device, piece[l], l);
        gsize nearest = 0;
        double least = INFINITY;
        for (gsize i = 0; i < range->alone->n; i++)
        {
            const IfmCostPoint *point = &range->alone->points[i];
            double far = fabs(log((double)point->nodes / nodes)) + fabs(log((double)point->edges / edges));
            if (far < least)
            {
                least = far;
                nearest = i;
            }
        }
        draws[n] = (CostDraw){ costs_piece_ns(costs, device, range, IFM_COST_MEAN, nodes, edges),
                               &range->alone->samples[nearest] };
        sum += draws[n++].mean_ns;
    }
    for (int i = 0; i < n; i++) /* a run may have corrected the sum */
        draws[i].mean_ns *= mean_ns / sum;
    return n;
}
