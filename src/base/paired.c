#include <base/statistics.h>
#include <math.h>

/* The centre of paired differences and its interval, by ranks: nothing is assumed of their distribution but symmetry. */

double ifm_signed_rank_cut(gsize n, double error, gint64 *cut)
{
    const gsize length = n * (n + 1) / 2 + 1;
    g_autofree double *p = g_new0(double, length); /* p[w]: that the ranks up to the last one taken sum to w */
    double below = 0, spent = 0;
    p[0] = 1;
    for (gsize rank = 1, top = 0; rank <= n; rank++)
    {
        top += rank;
        for (gsize w = top + 1; w-- > 0;) /* downwards: p[w - rank] is still that without this rank */
            p[w] = p[w] / 2 + (w >= rank ? p[w - rank] / 2 : 0);
    }
    *cut = -1;
    for (gsize w = 0; w < length; w++)
    {
        below += p[w];
        if (2 * below > error * (1 + 1e-12)) /* rounding does not make a probability of 1/128 more than 1/128 */
            break;
        *cut = (gint64)w;
        spent = 2 * below;
    }
    return spent;
}

/* Lag-1 correlation of neighbours without its bias of about (1 + 3 r) / n (Marriott & Pope 1954); NaN where all are equal.
 */
static double neighbours_alike(const double *values, gsize n)
{
    const double mean = ifm_mean(values, n);
    double squares = 0, products = 0;
    for (gsize i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    for (gsize i = 1; i < n; i++)
        products += (values[i] - mean) * (values[i - 1] - mean);
    if (!(squares > 0))
        return NAN;
    const double r = products / squares;
    return r + (1 + 3 * r) / (double)n;
}

/* (transfer full) all means of two of them, each with itself, too; sorted */
static double *walsh_means(const double *values, gsize n, gsize *n_means)
{
    double *means = g_new(double, n *(n + 1) / 2);
    gsize at = 0;
    for (gsize i = 0; i < n; i++)
        for (gsize j = i; j < n; j++)
            means[at++] = (values[i] + values[j]) / 2;
    ifm_sort_doubles(means, at);
    *n_means = at;
    return means;
}

#define MOST_ALIKE 0.8 /* at most 3 times as wide */

void ifm_paired_estimate(const double *values, gsize n, double error, IfmPairedEstimate *estimate)
{
    *estimate = (IfmPairedEstimate){ NAN, NAN, NAN, 0, NAN, 1, NAN, NAN };
    if (n == 0)
        return;
    gsize m;
    gint64 cut;
    g_autofree double *means = walsh_means(values, n, &m);
    estimate->centre = (means[(m - 1) / 2] + means[m / 2]) / 2;
    estimate->least = means[0];
    estimate->greatest = means[m - 1];
    estimate->correlation = neighbours_alike(values, n);
    estimate->error = ifm_signed_rank_cut(n, error, &cut);
    const double r = isnan(estimate->correlation) ? 0 : CLAMP(estimate->correlation, 0, MOST_ALIKE);
    estimate->widening = sqrt((1 + r) / (1 - r));
    if (cut < 0)
        return;
    const double below = estimate->centre - means[cut], above = means[m - 1 - (gsize)cut] - estimate->centre;
    estimate->lower = MAX(estimate->centre - estimate->widening * below, estimate->least);
    estimate->upper = MIN(estimate->centre + estimate->widening * above, estimate->greatest);
}
