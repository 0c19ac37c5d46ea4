#pragma once
#include "neighbours.h"

G_BEGIN_DECLS

/**
 * IfmComponent: one connected component of a graph, two nodes or more, for its normalised Laplacian L = I - B with
 * B[i][j] = scale[i] scale[j] for neighbours.
 * @nodes: [n] what its nodes are in the whole graph, ascending; borrowed
 * @root: [n] sqrt(degree) over its norm: the eigenvector of 0, which a component has once
 */
typedef struct
{
    idx_t n;
    const gint64 *nodes;
    idx_t *starts, *columns; /* [n + 1], [starts[n]]: the neighbours of each */
    double *scale, *root;    /* [n] 1 / sqrt(degree) */
} IfmComponent;

void ifm_component_clear(IfmComponent *component);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmComponent, ifm_component_clear)
/** ifm_component_init: @places: [nodes of the whole graph] room; @nodes: [n] */
gboolean ifm_component_init(IfmComponent *component, const IfmNeighbours *whole, const gint64 *nodes, gint64 n,
                            idx_t *places, GError **error);
/** ifm_component_multiply: Equals: y = B x    @x, @y: [n] */
void ifm_component_multiply(const IfmComponent *component, const double *x, double *y);
/** ifm_component_quotient: Equals: x' L x / x' x, without cancellation: small eigenvalues keep their digits. */
double ifm_component_quotient(const IfmComponent *component, const double *x);

/** ifm_vector_subtract: Takes the share of @other (of norm 1) out of @x. Returns: the share. @other, @x: [n] */
double ifm_vector_subtract(const double *other, double *x, gint64 n);
double ifm_vector_norm(const double *x, gint64 n);

/** ifm_eigenvalue_is_equal: whether two eigenvalues of L differ by no more than they are computed to. */
gboolean ifm_eigenvalue_is_equal(double a, double b);

/** How a component's vectors were found. */
typedef enum
{
    IFM_SOLVER_DENSE,    /* LAPACK */
    IFM_SOLVER_FACTOR,   /* ARPACK on L's pseudo-inverse, L factored */
    IFM_SOLVER_MULTIPLY, /* ARPACK on a polynomial of B */
} IfmSolver;

/**
 * ifm_component_solve: The @n_wanted eigenpairs of L with the smallest eigenvalues above the zero, ascending.
 * @n_wanted: 1 to n - 1    @values: [n_wanted]    @vectors: [n_wanted x n] each of norm 1 (out)
 * Returns: FALSE with IFM_ERROR_FAILED, IFM_ERROR_MEMORY, IFM_ERROR_CANCELLED.
 */
gboolean ifm_component_solve(const IfmComponent *component, gint64 n_wanted, double *values, double *vectors,
                             IfmSolver *solver, IfmWatch *watch, GError **error);
gboolean ifm_component_solve_dense(const IfmComponent *component, gint64 n_wanted, double *values, double *vectors,
                                   GError **error);
gboolean ifm_component_solve_sparse(const IfmComponent *component, gint64 n_wanted, double *values, double *vectors,
                                    IfmSolver *solver, IfmWatch *watch, GError **error);

/** IfmFactor: L of a component, one node struck out, as a product of triangles: with it L's pseudo-inverse is applied. */
typedef struct IfmFactor IfmFactor;
/** ifm_factor_new: Returns: NULL without an error where the triangles would be too full to be worth it; NULL with
 * IFM_ERROR_MEMORY or IFM_ERROR_FAILED. */
IfmFactor *ifm_factor_new(const IfmComponent *component, GError **error);
void ifm_factor_free(IfmFactor *factor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmFactor, ifm_factor_free)
/** ifm_factor_solve: @y with L y = x, for an @x without a share of the component's root; @y may have one. */
void ifm_factor_solve(IfmFactor *factor, const double *x, double *y);

/**
 * IfmFilter: a Chebyshev polynomial of B that is above 1, and steeply rising, where the wanted eigenvalues are, and within
 * 1 of 0 where the others are.
 */
typedef struct IfmFilter IfmFilter;
/** ifm_filter_new: Made for the @n_wanted smallest eigenvalues of L above the zero. */
IfmFilter *ifm_filter_new(const IfmComponent *component, gint64 n_wanted, GError **error);
void ifm_filter_free(IfmFilter *filter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmFilter, ifm_filter_free)
/** ifm_filter_apply: Equals: y = p(B) x, for an @x without a share of the component's root. */
void ifm_filter_apply(IfmFilter *filter, const double *x, double *y);
/** ifm_filter_passes: whether an eigenvalue of L is where the polynomial rises. */
gboolean ifm_filter_passes(const IfmFilter *filter, double value);
/** ifm_filter_widen: Lets more through; in the end everything. */
void ifm_filter_widen(IfmFilter *filter);

G_END_DECLS
