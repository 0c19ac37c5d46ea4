#pragma once
#include "neighbours.h"

G_BEGIN_DECLS

/**
 * IfmComponent: one connected component of a graph with at least two nodes. Its normalised Laplacian is L = I - B with
 * B[i][j] = scale[i] scale[j] for neighbours.
 * @nodes: [n] the numbers of its nodes in the whole graph, ascending; borrowed
 * @root: [n] sqrt(degree), normalised: the only eigenvector of eigenvalue 0
 */
typedef struct
{
    idx_t n;
    const gint64 *nodes;
    idx_t *starts, *columns; /* [n + 1], [starts[n]]: the neighbours of each node */
    double *scale, *root;    /* [n] 1 / sqrt(degree) */
} IfmComponent;

void ifm_component_clear(IfmComponent *component);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmComponent, ifm_component_clear)
/** ifm_component_init: @nodes: [n]    @places: [nodes of the whole graph] scratch */
gboolean ifm_component_init(IfmComponent *component, const IfmNeighbours *whole, const gint64 *nodes, gint64 n,
                            idx_t *places, GError **error);
/** ifm_component_multiply: Equals: y = B x    @x, @y: [n] */
void ifm_component_multiply(const IfmComponent *component, const double *x, double *y);
/** ifm_component_quotient: Equals: x' L x / x' x, computed without cancellation, so small eigenvalues are accurate */
double ifm_component_quotient(const IfmComponent *component, const double *x);

/** ifm_vector_subtract: Subtracts the projection on @other (of norm 1) from @x. @other, @x: [n]. Returns: its coefficient.
 */
double ifm_vector_subtract(const double *other, double *x, gint64 n);
double ifm_vector_norm(const double *x, gint64 n);

/** ifm_eigenvalue_is_equal: Whether two eigenvalues of L are equal within the accuracy of the computation. */
gboolean ifm_eigenvalue_is_equal(double a, double b);

/** The solver of a component. */
typedef enum
{
    IFM_SOLVER_DENSE,    /* LAPACK */
    IFM_SOLVER_FACTOR,   /* ARPACK on the pseudo-inverse of L, by a factorisation */
    IFM_SOLVER_MULTIPLY, /* ARPACK on a polynomial of B */
} IfmSolver;

/**
 * ifm_component_solve: The @n_wanted eigenpairs of L with the smallest eigenvalues above 0, ascending.
 * @n_wanted: 1 to n - 1    @values: (out) [n_wanted]    @vectors: (out) [n_wanted x n] each of norm 1    @solver: (out)
 * Returns: FALSE with IFM_ERROR_FAILED, IFM_ERROR_MEMORY or IFM_ERROR_CANCELLED.
 */
gboolean ifm_component_solve(const IfmComponent *component, gint64 n_wanted, double *values, double *vectors,
                             IfmSolver *solver, IfmWatch *watch, GError **error);
gboolean ifm_component_solve_sparse(const IfmComponent *component, gint64 n_wanted, double *values, double *vectors,
                                    IfmSolver *solver, IfmWatch *watch, GError **error);

/** IfmFactor: a triangular factorisation of L without one node. It applies the pseudo-inverse of L. */
typedef struct IfmFactor IfmFactor;
/** ifm_factor_new: Returns: (transfer full) NULL without an error where the factors would be too dense to pay; NULL with
 * IFM_ERROR_MEMORY or IFM_ERROR_FAILED. */
IfmFactor *ifm_factor_new(const IfmComponent *component, GError **error);
void ifm_factor_free(IfmFactor *factor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmFactor, ifm_factor_free)
/** ifm_factor_solve: Solves L y = x for an @x orthogonal to the root. @y need not be orthogonal to it. @x, @y: [n] */
void ifm_factor_solve(IfmFactor *factor, const double *x, double *y);

/**
 * IfmFilter: a Chebyshev polynomial of B. It is above 1 and rises steeply at the wanted eigenvalues, and is within [-1, 1]
 * at the others.
 */
typedef struct IfmFilter IfmFilter;
/** ifm_filter_new: A filter for the @n_wanted smallest eigenvalues of L above 0. (transfer full) */
IfmFilter *ifm_filter_new(const IfmComponent *component, gint64 n_wanted, GError **error);
void ifm_filter_free(IfmFilter *filter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmFilter, ifm_filter_free)
/** ifm_filter_apply: Equals: y = p(B) x, for an @x orthogonal to the root. @x, @y: [n] */
void ifm_filter_apply(IfmFilter *filter, const double *x, double *y);
/** ifm_filter_passes: Whether an eigenvalue of L is in the range where the polynomial rises. */
gboolean ifm_filter_passes(const IfmFilter *filter, double value);
/** ifm_filter_widen: Widens that range, finally to all eigenvalues. */
void ifm_filter_widen(IfmFilter *filter);

G_END_DECLS
