/* What needs no trees: lines through FLOP and bytes. */
#include <math.h>

#include "learn-private.h"

#define MAX_TERMS IFM_LINE_MAX_TERMS

/* Gaussian elimination with pivots of a symmetric system of up to MAX_TERMS unknowns. FALSE: singular. */
static gboolean solve(double matrix[MAX_TERMS][MAX_TERMS + 1], gsize n)
{
    for (gsize k = 0; k < n; k++)
    {
        gsize pivot = k;
        for (gsize i = k + 1; i < n; i++)
            if (fabs(matrix[i][k]) > fabs(matrix[pivot][k]))
                pivot = i;
        for (gsize j = 0; j <= n; j++)
        {
            const double swapped = matrix[k][j];
            matrix[k][j] = matrix[pivot][j];
            matrix[pivot][j] = swapped;
        }
        if (fabs(matrix[k][k]) < 1e-12)
            return FALSE;
        for (gsize i = 0; i < n; i++)
        {
            const double factor = i != k ? matrix[i][k] / matrix[k][k] : 0;
            for (gsize j = k; j <= n && factor != 0; j++)
                matrix[i][j] -= factor * matrix[k][j];
        }
    }
    for (gsize k = 0; k < n; k++)
        matrix[k][n] /= matrix[k][k];
    return TRUE;
}

/* Moments: of the terms over y, each scaled to a mean square of 1: they differ by many orders of magnitude. */
typedef struct
{
    double square[MAX_TERMS][MAX_TERMS], with_one[MAX_TERMS], scale[MAX_TERMS];
    gsize n_terms;
} Moments;

static void find_moments(Moments *moments, const double *terms, const double *y, gsize n, gsize n_terms)
{
    *moments = (Moments){ .n_terms = n_terms };
    for (gsize i = 0; i < n; i++)
        for (gsize a = 0; a < n_terms; a++)
        {
            const double value = terms[i * n_terms + a] / y[i];
            moments->with_one[a] += value / (double)n;
            for (gsize b = 0; b < n_terms; b++)
                moments->square[a][b] += value * terms[i * n_terms + b] / y[i] / (double)n;
        }
    for (gsize a = 0; a < n_terms; a++)
        moments->scale[a] = moments->square[a][a] > 0 ? sqrt(moments->square[a][a]) : 1;
    for (gsize a = 0; a < n_terms; a++)
    {
        moments->with_one[a] /= moments->scale[a];
        for (gsize b = 0; b < n_terms; b++)
            moments->square[a][b] /= moments->scale[a] * moments->scale[b];
    }
}

/* The best weights of the terms in the set @chosen (bits); FALSE where one would be below 0. @loss: (out) less a constant
 */
static gboolean fit_chosen(const Moments *moments, guint chosen, double *weights, double *loss)
{
    double matrix[MAX_TERMS][MAX_TERMS + 1];
    gsize places[MAX_TERMS], n = 0;
    for (gsize a = 0; a < moments->n_terms; a++)
        if (chosen & (1u << a))
            places[n++] = a;
    for (gsize i = 0; i < n; i++)
    {
        for (gsize k = 0; k < n; k++)
            matrix[i][k] = moments->square[places[i]][places[k]];
        matrix[i][n] = moments->with_one[places[i]];
    }
    if (!solve(matrix, n))
        return FALSE;
    *loss = 0;
    for (gsize a = 0; a < moments->n_terms; a++)
        weights[a] = 0;
    for (gsize i = 0; i < n; i++)
    {
        if (matrix[i][n] < 0)
            return FALSE;
        weights[places[i]] = matrix[i][n] / moments->scale[places[i]];
        *loss -= matrix[i][n] * moments->with_one[places[i]];
    }
    return TRUE;
}

/* The problem is convex: the best of all sets of terms whose weights come out at 0 or above is the solution. */
void ifm_fit_line(const double *terms, const double *y, gsize n, gsize n_terms, double *weights)
{
    Moments moments;
    double best = (double)INFINITY;
    g_assert(n_terms <= MAX_TERMS);
    find_moments(&moments, terms, y, n, n_terms);
    for (gsize a = 0; a < n_terms; a++)
        weights[a] = 0;
    for (guint chosen = 1; chosen < (1u << n_terms); chosen++)
    {
        double candidate[MAX_TERMS], loss;
        if (!fit_chosen(&moments, chosen, candidate, &loss) || loss >= best)
            continue;
        best = loss;
        for (gsize a = 0; a < n_terms; a++)
            weights[a] = candidate[a];
    }
}
