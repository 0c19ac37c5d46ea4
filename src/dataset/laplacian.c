/* The normalised Laplacian of one connected component, and LAPACK's answer where it is small. */
#include "laplacian.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

#define DENSE_NODES 64 /* up to here the dense way is as fast as the sparse ones, and it has fewer ways to go wrong */
#define DENSE_SHARE 5  /* nor is there anything sparse to gain where more than a fifth of all vectors is wanted */

void ifm_component_clear(IfmComponent *component)
{
    g_clear_pointer(&component->starts, g_free);
    g_clear_pointer(&component->columns, g_free);
    g_clear_pointer(&component->scale, g_free);
    g_clear_pointer(&component->root, g_free);
}

gboolean ifm_component_init(IfmComponent *component, const IfmNeighbours *whole, const gint64 *nodes, gint64 n,
                            idx_t *places, GError **error)
{
    gint64 n_entries = 0;
    for (gint64 i = 0; i < n; i++)
    {
        places[nodes[i]] = (idx_t)i;
        n_entries += whole->starts[nodes[i] + 1] - whole->starts[nodes[i]];
    }
    component->n = (idx_t)n;
    component->nodes = nodes;
    if ((component->starts = ifm_graph_allocate(n + 1, sizeof(idx_t), error)) == NULL ||
        (component->columns = ifm_graph_allocate(n_entries, sizeof(idx_t), error)) == NULL ||
        (component->scale = ifm_graph_allocate(n, sizeof(double), error)) == NULL ||
        (component->root = ifm_graph_allocate(n, sizeof(double), error)) == NULL)
        return FALSE;
    idx_t at = 0;
    for (gint64 i = 0; i < n; i++)
    {
        component->starts[i] = at;
        for (idx_t k = whole->starts[nodes[i]]; k < whole->starts[nodes[i] + 1]; k++)
            component->columns[at++] = places[whole->neighbours[k]];
        double degree = (double)(at - component->starts[i]);
        component->scale[i] = 1 / sqrt(degree);
        component->root[i] = sqrt(degree / (double)n_entries);
    }
    component->starts[n] = at;
    return TRUE;
}

void ifm_component_multiply(const IfmComponent *component, const double *x, double *y)
{
    for (idx_t i = 0; i < component->n; i++)
    {
        double sum = 0;
        for (idx_t k = component->starts[i]; k < component->starts[i + 1]; k++)
            sum += component->scale[component->columns[k]] * x[component->columns[k]];
        y[i] = component->scale[i] * sum;
    }
}

double ifm_component_quotient(const IfmComponent *component, const double *x)
{
    double sum = 0, norm = 0;
    for (idx_t i = 0; i < component->n; i++)
    {
        double here = component->scale[i] * x[i];
        for (idx_t k = component->starts[i]; k < component->starts[i + 1]; k++)
        {
            double off = here - component->scale[component->columns[k]] * x[component->columns[k]];
            sum += off * off / 2; /* each edge is met from both ends */
        }
        norm += x[i] * x[i];
    }
    return sum / norm;
}

double ifm_vector_subtract(const double *other, double *x, gint64 n)
{
    double share = 0;
    for (gint64 i = 0; i < n; i++)
        share += other[i] * x[i];
    for (gint64 i = 0; i < n; i++)
        x[i] -= share * other[i];
    return share;
}

double ifm_vector_norm(const double *x, gint64 n)
{
    double sum = 0;
    for (gint64 i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

gboolean ifm_eigenvalue_is_equal(double a, double b)
{
    return fabs(a - b) <= 1e-8 * MAX(fabs(a), fabs(b)) + 1e-12;
}

static gboolean solve_dense(const IfmComponent *component, gint64 n_wanted, double *values, double *vectors, GError **error)
{
    gint64 n = component->n;
    g_autofree double *matrix = ifm_graph_allocate(n * n, sizeof *matrix, error);
    g_autofree double *all = matrix != NULL ? ifm_graph_allocate(n, sizeof *all, error) : NULL;
    g_autofree lapack_int *support = g_new(lapack_int, 2 * n);
    lapack_int n_found = 0;
    if (all == NULL)
        return FALSE;
    memset(matrix, 0, sizeof *matrix * (gsize)(n * n));
    for (gint64 i = 0; i < n; i++)
    {
        matrix[i * n + i] = 1;
        for (idx_t k = component->starts[i]; k < component->starts[i + 1]; k++)
            matrix[i * n + component->columns[k]] -= component->scale[i] * component->scale[component->columns[k]];
    }
    /* the first is the zero of the component */
    int info = LAPACKE_dsyevr(LAPACK_COL_MAJOR, 'V', 'I', 'U', (lapack_int)n, matrix, (lapack_int)n, 0, 0, 2,
                              (lapack_int)n_wanted + 1, 0, &n_found, all, vectors, (lapack_int)n, support);
    if (info == 0 && n_found == n_wanted)
    {
        for (gint64 k = 0; k < n_wanted; k++)
            values[k] = ifm_component_quotient(component, vectors + k * n);
        return TRUE;
    }
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return ifm_graph_memory_error(n, sizeof *matrix, error) != NULL;
    return ifm_error_set(error, IFM_ERROR_FAILED,
                         "LAPACK found %d of %" G_GINT64_FORMAT " eigenvectors of a component of %" G_GINT64_FORMAT
                         " nodes (dsyevr: %d)",
                         (int)n_found, n_wanted, n, info);
}

gboolean ifm_component_solve(const IfmComponent *component, gint64 n_wanted, double *values, double *vectors,
                             IfmSolver *solver, IfmWatch *watch, GError **error)
{
    *solver = IFM_SOLVER_DENSE;
    if (component->n <= DENSE_NODES || n_wanted > component->n / DENSE_SHARE)
        return solve_dense(component, n_wanted, values, vectors, error) &&
               ifm_watch_goes_on(watch, (gint64)component->n * component->n * component->n, error);
    return ifm_component_solve_sparse(component, n_wanted, values, vectors, solver, watch, error);
}
