/*
 * A polynomial of B whose largest eigenvalues belong to B's largest ones, farther apart than they are in B. ARPACK's work
 * is in keeping its vectors at right angles, which costs far more than a multiplication by a sparse B: so it is given few
 * vectors, each of many multiplications. Source: Zhou and Saad 2007, A Chebyshev-Davidson algorithm for large symmetric
 * eigenproblems
 */
#include "laplacian.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#define MIN_STEPS 60 /* of the Lanczos process that finds where to cut */
#define STEPS_EACH 8 /* a vector that is wanted */
#define RISE 5       /* the polynomial is to be cosh(RISE) at the largest eigenvalue */
#define MAX_DEGREE 300

struct IfmFilter
{
    const IfmComponent *component;
    double top, cut; /* eigenvalues of B: the largest but the root's, about; above which the polynomial rises */
    int degree;
    double *before, *now, *scaled; /* [n] */
};

void ifm_filter_free(IfmFilter *filter)
{
    if (filter == NULL)
        return;
    g_free(filter->before);
    g_free(filter->now);
    g_free(filter->scaled);
    g_free(filter);
}

static void set_cut(IfmFilter *filter, double cut)
{
    filter->cut = MAX(cut, -1 + 1e-3);
    double half = (filter->cut + 1) / 2, over = MAX(filter->top - filter->cut, 1e-9) / half;
    filter->degree = (int)CLAMP(ceil(RISE / acosh(1 + over)), 1, MAX_DEGREE);
}

/* Equals: next = factor (B x - middle x) - before; @next may be @before */
static void advance(IfmFilter *filter, const double *x, double factor, double middle, const double *before, double *next)
{
    const IfmComponent *component = filter->component;
    for (idx_t i = 0; i < component->n; i++)
        filter->scaled[i] = component->scale[i] * x[i];
    for (idx_t i = 0; i < component->n; i++)
    {
        double sum = 0;
        for (idx_t k = component->starts[i]; k < component->starts[i + 1]; k++)
            sum += filter->scaled[component->columns[k]];
        next[i] = factor * (component->scale[i] * sum - middle * x[i]) - (before != NULL ? before[i] : 0);
    }
}

void ifm_filter_apply(IfmFilter *filter, const double *x, double *y)
{
    gsize size = sizeof *y * (gsize)filter->component->n;
    double middle = (filter->cut - 1) / 2, half = (filter->cut + 1) / 2;
    memcpy(filter->before, x, size);
    advance(filter, x, 1 / half, middle, NULL, filter->now);
    for (int degree = 2; degree <= filter->degree; degree++)
    {
        advance(filter, filter->now, 2 / half, middle, filter->before, filter->before);
        double *kept = filter->before;
        filter->before = filter->now;
        filter->now = kept;
    }
    memcpy(y, filter->now, size);
}

gboolean ifm_filter_passes(const IfmFilter *filter, double value)
{
    return filter->cut <= -1 + 1e-3 || 1 - value > filter->cut;
}

void ifm_filter_widen(IfmFilter *filter)
{
    set_cut(filter, filter->cut - MAX(filter->top - filter->cut, 0.01));
}

/* --- where to cut ------------------------------------------------------------------------------------------------- */

/* set_length: Makes the norm of @x 1. Returns: the norm before. */
static double set_length(double *x, gint64 n)
{
    double length = ifm_vector_norm(x, n), factor = length > 0 ? 1 / length : 0;
    for (gint64 i = 0; i < n; i++)
        x[i] *= factor;
    return length;
}

/*
 * survey: The Lanczos process without keeping vectors at right angles: its eigenvalues come from inside the spectrum, the
 * j-th largest from below the j-th largest of B (as long as none has come twice, which ifm_filter_passes() would show).
 * @diagonal, @off_diagonal: [n_steps] (out) ascending eigenvalues, room. Returns: how many there are.
 */
static int survey(IfmFilter *filter, int n_steps, double *diagonal, double *off_diagonal)
{
    gint64 n = filter->component->n;
    g_autoptr(GRand) random = g_rand_new_with_seed(2);
    int step = 0;
    for (gint64 i = 0; i < n; i++)
        filter->now[i] = g_rand_double_range(random, -1, 1);
    memset(filter->before, 0, sizeof *filter->before * (gsize)n);
    ifm_vector_subtract(filter->component->root, filter->now, n);
    set_length(filter->now, n);
    for (double length = 0; step < n_steps; step++)
    {
        for (gint64 i = 0; i < n; i++)
            filter->before[i] *= length;
        advance(filter, filter->now, 1, 0, filter->before, filter->before);
        ifm_vector_subtract(filter->component->root, filter->before, n);
        diagonal[step] = ifm_vector_subtract(filter->now, filter->before, n);
        off_diagonal[step] = length = set_length(filter->before, n);
        double *kept = filter->before;
        filter->before = filter->now;
        filter->now = kept;
        if (length < 1e-6) /* the space is used up */
        {
            step++;
            break;
        }
    }
    return LAPACKE_dsterf(step, diagonal, off_diagonal) == 0 ? step : 0;
}

IfmFilter *ifm_filter_new(const IfmComponent *component, gint64 n_wanted, GError **error)
{
    gint64 n = component->n;
    int n_steps = (int)MIN(MAX(STEPS_EACH * n_wanted, MIN_STEPS), n - 1);
    g_autoptr(IfmFilter) filter = g_new0(IfmFilter, 1);
    g_autofree double *diagonal = g_new(double, n_steps), *off_diagonal = g_new(double, n_steps);
    filter->component = component;
    if ((filter->before = ifm_graph_allocate(n, sizeof(double), error)) == NULL ||
        (filter->now = ifm_graph_allocate(n, sizeof(double), error)) == NULL ||
        (filter->scaled = ifm_graph_allocate(n, sizeof(double), error)) == NULL)
        return NULL;
    int n_found = survey(filter, n_steps, diagonal, off_diagonal);
    filter->top = n_found > 0 ? diagonal[n_found - 1] : 1;
    set_cut(filter, n_found > n_wanted + 2 ? diagonal[n_found - n_wanted - 3] : -1);
    return g_steal_pointer(&filter);
}
