/*
 * The Laplacian L of a component as a product of triangles, for its pseudo-inverse. L is singular: its root, the vector of
 * eigenvalue 0, has no zero entry, so that L without one node's row and column is positive definite; a solution with that
 * node at 0 is one of the whole, up to a share of the root. METIS' nested dissection orders the nodes, the last of them is
 * struck out. L D L' row by row, the entries of a row by the elimination tree. Source: Davis, Direct Methods for Sparse
 * Linear Systems, 2006, chapter 4
 */
#include "laplacian.h"

#include <math.h>
#include <string.h>

/*
 * What fills up more is left to the filter, which is the faster the larger a graph's cuts are. Graphs with small cuts
 * (trees, rings, molecules, plane meshes) get entries as n log n: measured 1.0 to 1.4 a node and doubling of the nodes, up
 * to 20,000 nodes. Random ones have 1.8 at 200 nodes, where both ways take as long, 2.3 at 300 and 6 at 1000, where the
 * filter takes two thirds and a quarter of the time. Source: Lipton, Rose and Tarjan 1979, Generalized nested dissection
 */
#define MAX_ENTRIES 2.0 /* a node and doubling */
#define MAX_FLOP 2e4    /* a node */

struct IfmFactor
{
    idx_t n;                 /* rows: nodes but one */
    idx_t *nodes, *places;   /* [n + 1] the node of each row, the row of each node */
    idx_t *parents, *counts; /* [n] the elimination tree; entries of each column of the lower triangle */
    gint64 *starts;          /* [n + 1] of the columns */
    idx_t *rows;
    double *entries, *diagonal, *work;
};

void ifm_factor_free(IfmFactor *factor)
{
    if (factor == NULL)
        return;
    g_free(factor->nodes);
    g_free(factor->places);
    g_free(factor->parents);
    g_free(factor->counts);
    g_free(factor->starts);
    g_free(factor->rows);
    g_free(factor->entries);
    g_free(factor->diagonal);
    g_free(factor->work);
    g_free(factor);
}

static gboolean order_nodes(const IfmComponent *component, IfmFactor *factor, GError **error)
{
    idx_t n = component->n, options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_NUMBERING] = 0;
    options[METIS_OPTION_SEED] = 1;
    ifm_metis_lock();
    int status = METIS_NodeND(&n, component->starts, component->columns, NULL, options, factor->nodes, factor->places);
    ifm_metis_unlock();
    if (status == METIS_OK)
        return TRUE;
    return ifm_error_set(error, status == METIS_ERROR_MEMORY ? IFM_ERROR_MEMORY : IFM_ERROR_FAILED,
                         "METIS could not order a component of %" G_GINT64_FORMAT " nodes%s", (gint64)n,
                         status == METIS_ERROR_MEMORY ? ": no memory" : "");
}

/* count_entries: The elimination tree and how many entries each column gets. @seen: [n] room. Returns: FALSE where it is
 * too much. */
static gboolean count_entries(const IfmComponent *component, IfmFactor *factor, idx_t *seen)
{
    const double n = factor->n, max_entries = MAX_ENTRIES * n * log2(n + 1);
    double total = 0, flop = 0;
    for (idx_t row = 0; row < factor->n; row++)
    {
        idx_t node = factor->nodes[row];
        factor->parents[row] = -1;
        factor->counts[row] = 0;
        seen[row] = row;
        for (idx_t k = component->starts[node]; k < component->starts[node + 1]; k++)
            for (idx_t at = factor->places[component->columns[k]]; at < row && seen[at] != row; at = factor->parents[at])
            {
                if (factor->parents[at] < 0)
                    factor->parents[at] = row;
                seen[at] = row;
                flop += 2.0 * (double)factor->counts[at]++;
                total++;
            }
        if (total > max_entries || flop > MAX_FLOP * n)
            return FALSE;
    }
    return TRUE;
}

/* find_row: The columns that have an entry in this row, so that each comes after those it depends on: @stack[result .. n].
 * The row's entries of L are put into @values. */
static idx_t find_row(const IfmComponent *component, const IfmFactor *factor, idx_t row, idx_t *seen, idx_t *stack,
                      double *values)
{
    idx_t node = factor->nodes[row], top = factor->n;
    seen[row] = row;
    for (idx_t k = component->starts[node]; k < component->starts[node + 1]; k++)
    {
        idx_t column = factor->places[component->columns[k]], length = 0;
        if (column >= row)
            continue;
        values[column] -= component->scale[node] * component->scale[component->columns[k]];
        for (idx_t at = column; seen[at] != row; at = factor->parents[at])
        {
            stack[length++] = at;
            seen[at] = row;
        }
        while (length > 0)
            stack[--top] = stack[--length];
    }
    return top;
}

static void fill_entries(const IfmComponent *component, IfmFactor *factor, idx_t *seen, idx_t *stack)
{
    double *values = factor->work;
    memset(values, 0, sizeof *values * (gsize)factor->n);
    memset(factor->counts, 0, sizeof *factor->counts * (gsize)factor->n);
    for (idx_t row = 0; row < factor->n; row++)
    {
        double diagonal = 1;
        for (idx_t top = find_row(component, factor, row, seen, stack, values); top < factor->n; top++)
        {
            idx_t column = stack[top];
            gint64 end = factor->starts[column] + factor->counts[column]++;
            double value = values[column];
            values[column] = 0;
            for (gint64 k = factor->starts[column]; k < end; k++)
                values[factor->rows[k]] -= factor->entries[k] * value;
            factor->rows[end] = row;
            factor->entries[end] = value / factor->diagonal[column];
            diagonal -= factor->entries[end] * value;
        }
        factor->diagonal[row] = diagonal;
    }
}

static gboolean allocate_entries(IfmFactor *factor, GError **error)
{
    gint64 sum = 0;
    for (idx_t column = 0; column < factor->n; column++)
    {
        factor->starts[column] = sum;
        sum += factor->counts[column];
    }
    factor->starts[factor->n] = sum;
    return (factor->rows = ifm_graph_allocate(sum, sizeof(idx_t), error)) != NULL &&
           (factor->entries = ifm_graph_allocate(sum, sizeof(double), error)) != NULL;
}

IfmFactor *ifm_factor_new(const IfmComponent *component, GError **error)
{
    gint64 n = component->n;
    g_autoptr(IfmFactor) factor = g_new0(IfmFactor, 1);
    g_autofree idx_t *seen = NULL, *stack = NULL;
    factor->n = component->n - 1;
    if ((factor->nodes = ifm_graph_allocate(n, sizeof(idx_t), error)) == NULL ||
        (factor->places = ifm_graph_allocate(n, sizeof(idx_t), error)) == NULL ||
        (factor->parents = ifm_graph_allocate(n, sizeof(idx_t), error)) == NULL ||
        (factor->counts = ifm_graph_allocate(n, sizeof(idx_t), error)) == NULL ||
        (factor->starts = ifm_graph_allocate(n + 1, sizeof(gint64), error)) == NULL ||
        (factor->diagonal = ifm_graph_allocate(n, sizeof(double), error)) == NULL ||
        (factor->work = ifm_graph_allocate(n, sizeof(double), error)) == NULL ||
        (seen = ifm_graph_allocate(n, sizeof(idx_t), error)) == NULL ||
        (stack = ifm_graph_allocate(n, sizeof(idx_t), error)) == NULL || !order_nodes(component, factor, error) ||
        !count_entries(component, factor, seen) || !allocate_entries(factor, error))
        return NULL;
    fill_entries(component, factor, seen, stack);
    return g_steal_pointer(&factor);
}

void ifm_factor_solve(IfmFactor *factor, const double *x, double *y)
{
    double *z = factor->work;
    idx_t n = factor->n;
    for (idx_t row = 0; row < n; row++)
        z[row] = x[factor->nodes[row]];
    for (idx_t column = 0; column < n; column++)
        for (gint64 k = factor->starts[column]; k < factor->starts[column + 1]; k++)
            z[factor->rows[k]] -= factor->entries[k] * z[column];
    for (idx_t column = n - 1; column >= 0; column--)
    {
        z[column] /= factor->diagonal[column];
        for (gint64 k = factor->starts[column]; k < factor->starts[column + 1]; k++)
            z[column] -= factor->entries[k] * z[factor->rows[k]];
    }
    for (idx_t row = 0; row < n; row++)
        y[factor->nodes[row]] = z[row];
    y[factor->nodes[n]] = 0;
}
