/*
 * The smallest eigenvalues of a large component by ARPACK: the largest of its Laplacian's pseudo-inverse where the
 * Laplacian can be factored cheaply, else those of a Chebyshev polynomial of B (laplacian-filter.c). What is kept out of
 * the search: the root, and vectors that were found.
 *
 * Repeated eigenvalues: the space that ARPACK searches, of one starting vector and its images, has one vector of each
 * eigenvalue. So it is called again without the vectors found, until it finds no smaller eigenvalue.
 * Where the space is used up ARPACK goes on from a vector out of a generator that it keeps from call to call, and the
 * same graph would get other vectors the second time. So the operator is S M S with S = I + 1e-12 R, R diagonal, drawn
 * by a fixed seed: no eigenvalue is repeated exactly and the space has no end. A float shows nothing of that.
 */
#include "laplacian.h"

#include <arpack.h>
#include <base/base.h>
#include <math.h>
#include <string.h>

#define TOLERANCE 1e-11     /* of a vector's residual, against its eigenvalue */
#define ROUGH 1e-2          /* the same, where it is to be seen whether anything is left */
#define OFF 1e-12           /* how far S is off I */
#define MAX_RESTARTS 100000 /* a person loses patience before */

typedef struct
{
    const IfmComponent *component;
    IfmFactor *factor; /* NULL: the filter is used */
    IfmFilter *filter;
    double *kept_out; /* [n_kept_out x n], orthonormal; the root is first */
    gint64 n_kept_out;
    double *off, *work; /* [n] the diagonal of S, room */
    IfmWatch *watch;
} Search;

/* keep_out: Takes the shares of the first @n_first vectors out of @x. */
static void keep_out(const Search *search, gint64 n_first, double *x)
{
    gint64 n = search->component->n;
    for (gint64 k = 0; k < n_first; k++)
        ifm_vector_subtract(search->kept_out + k * n, x, n);
}

static void apply(const Search *search, const double *x, double *y)
{
    gint64 n = search->component->n;
    double *scaled = search->work;
    for (gint64 i = 0; i < n; i++)
        scaled[i] = search->off[i] * x[i];
    if (search->factor != NULL)
    {
        /* the pseudo-inverse: no share of the root in what is solved for, which S put in, nor in what comes out */
        keep_out(search, 1, scaled);
        ifm_factor_solve(search->factor, scaled, y);
        keep_out(search, 1, y);
    }
    else
        ifm_filter_apply(search->filter, scaled, y);
    for (gint64 i = 0; i < n; i++)
        y[i] *= search->off[i];
    keep_out(search, search->n_kept_out, y);
}

/* ARPACK keeps its state in variables of its own from call to call: one search at a time. */
G_LOCK_DEFINE_STATIC(arpack);

typedef struct
{
    double tolerance;
    a_int n, n_wanted, n_basis, n_room;
    double *start, *basis, *work, *room, *found;
    a_int *chosen;
    a_int parameters[11], places[14];
} Run;

static void run_clear(Run *run)
{
    g_free(run->start);
    g_free(run->basis);
    g_free(run->work);
    g_free(run->room);
    g_free(run->found);
    g_free(run->chosen);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

static gboolean run_init(Run *run, const Search *search, gint64 n_wanted, GError **error)
{
    gint64 n = search->component->n, n_basis = MIN(MAX(2 * n_wanted + 1, 20), n - search->n_kept_out);
    run->n = (a_int)n;
    run->n_wanted = (a_int)n_wanted;
    run->n_basis = (a_int)n_basis;
    run->n_room = (a_int)(n_basis * (n_basis + 8));
    if ((run->start = ifm_graph_allocate(n, sizeof(double), error)) == NULL ||
        (run->basis = ifm_graph_allocate(n * n_basis, sizeof(double), error)) == NULL ||
        (run->work = ifm_graph_allocate(3 * n, sizeof(double), error)) == NULL ||
        (run->room = ifm_graph_allocate(run->n_room, sizeof(double), error)) == NULL ||
        (run->found = ifm_graph_allocate(n_wanted, sizeof(double), error)) == NULL ||
        (run->chosen = ifm_graph_allocate(n_basis, sizeof(a_int), error)) == NULL)
        return FALSE;
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)search->n_kept_out);
    for (gint64 i = 0; i < n; i++)
        run->start[i] = g_rand_double_range(random, -1, 1);
    keep_out(search, search->n_kept_out, run->start);
    memset(run->work, 0, sizeof *run->work * (gsize)(3 * n));
    run->parameters[0] = 1; /* ARPACK chooses the shifts */
    run->parameters[2] = MAX_RESTARTS;
    run->parameters[6] = 1; /* a matrix and no second one */
    return TRUE;
}

/* Returns: the status of ARPACK, 0 for success. Sets an error where the caller cancelled. */
static a_int run_search(Run *run, const Search *search, double *vectors, GError **error)
{
    a_int wish = 0, info = 1; /* 1: from our starting vector */
    for (;;)
    {
        dsaupd_c(&wish, "I", run->n, "LA", run->n_wanted, run->tolerance, run->start, run->n_basis, run->basis, run->n,
                 run->parameters, run->places, run->work, run->room, run->n_room, &info);
        if (wish != 1 && wish != -1)
            break;
        if (!ifm_watch_goes_on(search->watch, (gint64)run->n * run->n_basis, error))
            return 0;
        apply(search, run->work + run->places[0] - 1, run->work + run->places[1] - 1);
    }
    if (info == 0)
        dseupd_c(1, "A", run->chosen, run->found, vectors, run->n, 0, "I", run->n, "LA", run->n_wanted, run->tolerance,
                 run->start, run->n_basis, run->basis, run->n, run->parameters, run->places, run->work, run->room,
                 run->n_room, &info);
    return info;
}

/* find: The @n_wanted vectors of the smallest eigenvalues without those kept out, in no order. @tolerance: of a vector's
 * residual, against its eigenvalue (of what ARPACK is given)    @vectors: [n_wanted x n] */
static gboolean find(const Search *search, gint64 n_wanted, double tolerance, double *vectors, GError **error)
{
    g_auto(Run) run = { .tolerance = tolerance };
    if (!run_init(&run, search, n_wanted, error))
        return FALSE;
    GError *given_up = NULL;
    G_LOCK(arpack);
    a_int info = run_search(&run, search, vectors, &given_up);
    G_UNLOCK(arpack);
    if (given_up != NULL)
        return ifm_error_pass(error, given_up);
    if (info == 0)
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_FAILED,
                         "ARPACK found %d of %" G_GINT64_FORMAT " eigenvectors of a component of %" G_GINT64_FORMAT
                         " nodes in %d restarts (its word: %d)",
                         (int)run.parameters[4], n_wanted, (gint64)run.n, (int)run.parameters[2], (int)info);
}

/* --- in order ----------------------------------------------------------------------------------------------------- */

static void swap_rows(double *a, double *b, gint64 n)
{
    for (gint64 i = 0; i < n; i++)
    {
        double kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Ascending, by insertion: they are few, and nearly in order, or in the reverse one. */
static void sort_pairs(double *values, double *vectors, gint64 n_pairs, gint64 n)
{
    for (gint64 i = 1; i < n_pairs; i++)
        for (gint64 k = i; k > 0 && values[k] < values[k - 1]; k--)
        {
            swap_rows(&values[k], &values[k - 1], 1);
            swap_rows(vectors + k * n, vectors + (k - 1) * n, n);
        }
}

/* rough_is_enough: Whether a vector of low accuracy shows that the remaining eigenvalues are larger than @last. The
 * distance from the vector's Rayleigh quotient to the nearest eigenvalue is at most the length of the residual. */
static gboolean rough_is_enough(const Search *search, const double *vector, double last)
{
    gint64 n = search->component->n;
    double value = ifm_component_quotient(search->component, vector), sum = 0;
    ifm_component_multiply(search->component, vector, search->work);
    for (gint64 i = 0; i < n; i++)
    {
        double off = vector[i] - search->work[i] - value * vector[i];
        sum += off * off;
    }
    return value - sqrt(sum) > last;
}

/* complete: Searches for eigenvalues that are smaller than the largest found, and replaces that one. */
static gboolean complete(Search *search, gint64 n_wanted, double *values, GError **error)
{
    gint64 n = search->component->n;
    double *vectors = search->kept_out + n;
    g_autofree double *another = ifm_graph_allocate(n, sizeof *another, error);
    if (another == NULL)
        return FALSE;
    search->n_kept_out = n_wanted + 1;
    for (;;)
    {
        double *last = &values[n_wanted - 1];
        if (!find(search, 1, ROUGH, another, error))
            return FALSE;
        if (rough_is_enough(search, another, *last))
            return TRUE;
        if (!find(search, 1, TOLERANCE, another, error))
            return FALSE;
        double value = ifm_component_quotient(search->component, another);
        if (value >= *last || ifm_eigenvalue_is_equal(value, *last))
            return TRUE;
        *last = value;
        memcpy(vectors + (n_wanted - 1) * n, another, sizeof *another * (gsize)n);
        sort_pairs(values, vectors, n_wanted, n);
    }
}

static gboolean search_init(Search *search, gint64 n_wanted, GError **error)
{
    gint64 n = search->component->n;
    if ((search->kept_out = ifm_graph_allocate((n_wanted + 1) * n, sizeof(double), error)) == NULL ||
        (search->off = ifm_graph_allocate(n, sizeof(double), error)) == NULL ||
        (search->work = ifm_graph_allocate(n, sizeof(double), error)) == NULL)
        return FALSE;
    memcpy(search->kept_out, search->component->root, sizeof(double) * (gsize)n);
    search->n_kept_out = 1;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (gint64 i = 0; i < n; i++)
        search->off[i] = 1 + OFF * g_rand_double(random);
    return TRUE;
}

static void search_clear(Search *search)
{
    g_free(search->kept_out);
    g_free(search->off);
    g_free(search->work);
    ifm_factor_free(search->factor);
    ifm_filter_free(search->filter);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Search, search_clear)

/* find_all: @values: ascending    Returns: FALSE without an error where the filter lets less through than is wanted. */
static gboolean find_all(Search *search, gint64 n_wanted, double *values, GError **error)
{
    gint64 n = search->component->n;
    search->n_kept_out = 1;
    if (!find(search, n_wanted, TOLERANCE, search->kept_out + n, error))
        return FALSE;
    for (gint64 k = 0; k < n_wanted; k++)
        values[k] = ifm_component_quotient(search->component, search->kept_out + (k + 1) * n);
    sort_pairs(values, search->kept_out + n, n_wanted, n);
    return search->filter == NULL || ifm_filter_passes(search->filter, values[n_wanted - 1]);
}

gboolean ifm_component_solve_sparse(const IfmComponent *component, gint64 n_wanted, double *values, double *vectors,
                                    IfmSolver *solver, IfmWatch *watch, GError **error)
{
    g_auto(Search) search = { .component = component, .watch = watch };
    g_autoptr(GError) local = NULL;
    gint64 n = component->n;
    if (!search_init(&search, n_wanted, error))
        return FALSE;
    search.factor = ifm_factor_new(component, &local);
    if (search.factor == NULL && local == NULL)
        search.filter = ifm_filter_new(component, n_wanted, &local);
    *solver = search.factor != NULL ? IFM_SOLVER_FACTOR : IFM_SOLVER_MULTIPLY;
    while (local == NULL && !find_all(&search, n_wanted, values, &local))
        if (local == NULL)
            ifm_filter_widen(search.filter);
    if (local != NULL)
        return ifm_error_pass(error, g_steal_pointer(&local));
    if (!complete(&search, n_wanted, values, error))
        return FALSE;
    memcpy(vectors, search.kept_out + n, sizeof *vectors * (gsize)(n_wanted * n));
    return TRUE;
}
