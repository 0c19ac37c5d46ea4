#include <math.h>

#include "predict-private.h"

/* A trend predicts a latency from nodes and edges: a plane fitted by relative error, times the error of the plane at the
 * measured points nearby. */

#define N_TERMS 3 /* 1, nodes, edges */

struct IfmTrend
{
    double coefficients[N_TERMS];
    gsize n;
    IfmLookupPoint *points; /* [n] */
    double *off;            /* [n] log of measured / plane */
};

/* --- the plane -------------------------------------------------------------------------------------------------------- */

/* The normal equations of relative errors: each term over the latency, against 1. @sums: [3 x 4] */
static void normal_equations(const IfmLookupPoint *points, gsize n, gsize skip, double sums[N_TERMS][N_TERMS + 1])
{
    for (int i = 0; i < N_TERMS; i++)
        for (int j = 0; j <= N_TERMS; j++)
            sums[i][j] = 0;
    for (gsize p = 0; p < n; p++)
    {
        double terms[N_TERMS] = { 1, (double)points[p].nodes, (double)points[p].edges };
        if (p == skip)
            continue;
        for (int i = 0; i < N_TERMS; i++)
        {
            terms[i] /= points[p].latency_ns;
            for (int j = 0; j <= i; j++)
                sums[i][j] += terms[i] * terms[j];
            sums[i][N_TERMS] += terms[i];
        }
    }
    for (int i = 0; i < N_TERMS; i++)
        for (int j = i + 1; j < N_TERMS; j++)
            sums[i][j] = sums[j][i];
}

/* Least squares of the terms in @mask alone, by elimination on a matrix scaled to a diagonal of ones. FALSE if the
 * terms depend on each other (all sizes of one degree: edges are a multiple of nodes). */
static gboolean solve(double sums[N_TERMS][N_TERMS + 1], guint mask, double *solution)
{
    double matrix[N_TERMS][N_TERMS + 1], scale[N_TERMS];
    int terms[N_TERMS], n = 0;
    for (int i = 0; i < N_TERMS; i++)
        if ((mask & 1u << i) != 0)
        {
            scale[n] = sqrt(sums[i][i]);
            terms[n++] = i;
        }
    for (int i = 0; i < n; i++)
    {
        for (int j = 0; j < n; j++)
            matrix[i][j] = sums[terms[i]][terms[j]] / (scale[i] * scale[j]);
        matrix[i][n] = sums[terms[i]][N_TERMS] / scale[i];
    }
    for (int k = 0; k < n; k++)
    {
        if (!(matrix[k][k] > 1e-9))
            return FALSE;
        for (int i = 0; i < n; i++)
            for (int j = n; i != k && j >= k; j--)
                matrix[i][j] -= matrix[k][j] * matrix[i][k] / matrix[k][k];
    }
    for (int i = 0; i < N_TERMS; i++)
        solution[i] = 0;
    for (int i = 0; i < n; i++)
        solution[terms[i]] = matrix[i][n] / matrix[i][i] / scale[i];
    return TRUE;
}

/* The part of the sum of squared relative errors that depends on the solution. */
static double error_of(double sums[N_TERMS][N_TERMS + 1], const double *solution)
{
    double error = 0;
    for (int i = 0; i < N_TERMS; i++)
    {
        error -= 2 * solution[i] * sums[i][N_TERMS];
        for (int j = 0; j < N_TERMS; j++)
            error += solution[i] * solution[j] * sums[i][j];
    }
    return error;
}

/* The best solution with no coefficient below 0: the best of each set of terms is computed, and of those without a
 * negative coefficient the best is taken. Three terms have seven sets; many terms would need an active-set method. */
static void fit_plane(const IfmLookupPoint *points, gsize n, gsize skip, double *coefficients)
{
    double sums[N_TERMS][N_TERMS + 1], solution[N_TERMS], min = INFINITY;
    normal_equations(points, n, skip, sums);
    for (guint mask = 1; mask < 1u << N_TERMS; mask++)
    {
        if (!solve(sums, mask, solution) || solution[0] < 0 || solution[1] < 0 || solution[2] < 0)
            continue;
        double error = error_of(sums, solution);
        if (error >= min)
            continue;
        min = error;
        for (int i = 0; i < N_TERMS; i++)
            coefficients[i] = solution[i];
    }
}

static double plane_at(const double *coefficients, double nodes, double edges)
{
    return coefficients[0] + coefficients[1] * nodes + coefficients[2] * edges;
}

/* --- errors near the points ------------------------------------------------------------------------------------------- */

/* @skip: a point that is left out */
static double value_at(const IfmTrend *trend, gsize skip, double nodes, double edges)
{
    double sum = 0, weights = 0;
    for (gsize i = 0; i < trend->n; i++)
    {
        const IfmLookupPoint *point = &trend->points[i];
        if (i == skip)
            continue;
        double across = log((double)point->nodes / nodes);
        double along = log((double)point->edges / (double)point->nodes * nodes / edges);
        double distance = across * across + along * along;
        if (distance < 1e-24)
            return point->latency_ns;
        sum += trend->off[i] / distance;
        weights += 1 / distance;
    }
    return plane_at(trend->coefficients, nodes, edges) * exp(sum / weights);
}

/* --- in the open ------------------------------------------------------------------------------------------------------ */

static void settle(IfmTrend *trend, gsize skip)
{
    fit_plane(trend->points, trend->n, skip, trend->coefficients);
    for (gsize i = 0; i < trend->n; i++)
    {
        const IfmLookupPoint *point = &trend->points[i];
        double plane_ns = plane_at(trend->coefficients, (double)point->nodes, (double)point->edges);
        trend->off[i] = log(point->latency_ns / plane_ns);
    }
}

IfmTrend *ifm_trend_fit(const IfmLookupPoint *points, gsize n, GError **error)
{
    if (!ifm_lookup_check_points(points, n, error))
        return NULL;
    IfmTrend *trend = g_new0(IfmTrend, 1);
    trend->n = n;
    trend->points = g_memdup2(points, n * sizeof *points);
    trend->off = g_new(double, n);
    settle(trend, n);
    return trend;
}

void ifm_trend_free(IfmTrend *trend)
{
    if (trend == NULL)
        return;
    g_free(trend->points);
    g_free(trend->off);
    g_free(trend);
}

void ifm_trend_coefficients(const IfmTrend *trend, double *coefficients)
{
    for (int i = 0; i < N_TERMS; i++)
        coefficients[i] = trend->coefficients[i];
}

double ifm_trend_at(const IfmTrend *trend, double nodes, double edges)
{
    return value_at(trend, trend->n, nodes, edges);
}

gboolean ifm_trend_leave_one_out(const IfmLookupPoint *points, gsize n, double *errors, GError **error)
{
    if (n < 3)
        return ifm_error_refuse(error, "trend: %zu points; leaving one out takes 3 and more", n);
    g_autoptr(IfmTrend) trend = ifm_trend_fit(points, n, error);
    if (trend == NULL)
        return FALSE;
    for (gsize i = 0; i < n; i++)
    {
        settle(trend, i);
        errors[i] = fabs(value_at(trend, i, (double)points[i].nodes, (double)points[i].edges) / points[i].latency_ns - 1);
    }
    return TRUE;
}
