/* Rules of reductions. In comments g is the gradient of the output y. */
#include "gradient-private.h"

/* Reduction: @axes: [n]    @keeps: whether the output has them, as 1 */
typedef struct
{
    IfmBackShape shape;
    int axes[IFM_MAX_RANK], n;
    gboolean keeps;
} Reduction;

static gboolean read_reduction(IfmBack *back, Reduction *of)
{
    gboolean is_given;
    *of = (Reduction){ .shape = ifm_back_shape(back, back->x), .keeps = ifm_node_int(back->node, "keepdims", 1) != 0 };
    if (!ifm_back_axes(back, "axes", 1, of->shape.rank, of->axes, &of->n, &is_given))
        return FALSE;
    if (of->n == 0 && ifm_node_int(back->node, "noop_with_empty_axes", 0) == 0)
        for (; of->n < of->shape.rank; of->n++)
            of->axes[of->n] = of->n;
    return TRUE;
}

/* kept: with the reduced axes as 1. */
static const char *kept(IfmBack *back, const Reduction *of, const char *value)
{
    gint64 axes[IFM_MAX_RANK];
    if (of->keeps || of->n == 0)
        return value;
    for (int i = 0; i < of->n; i++)
        axes[i] = of->axes[i];
    return ifm_back_op(back, "Unsqueeze", value, ifm_back_list(back, axes, (gsize)of->n), NULL);
}

static void reduce_sum_rule(IfmBack *back)
{
    Reduction of;
    if (read_reduction(back, &of))
        ifm_back_give(back, 0, ifm_back_expand(back, kept(back, &of, back->g), back->x));
}

static void reduce_mean_rule(IfmBack *back)
{
    Reduction of;
    if (!read_reduction(back, &of))
        return;
    const char *share = ifm_back_share(back, kept(back, &of, back->g), back->x, of.axes, of.n);
    ifm_back_give(back, 0, ifm_back_expand(back, share, back->x));
}

/* 2 g x */
static void reduce_sum_square_rule(IfmBack *back)
{
    Reduction of;
    if (!read_reduction(back, &of))
        return;
    const char *g = kept(back, &of, back->g);
    ifm_back_give(back, 0, ifm_back_formula_in(back, of.shape.dtype, "x * (g * 2)", "g", g, NULL));
}

/* give_to_extremes: to the elements that are the extreme, in equal shares */
static void give_to_extremes(IfmBack *back, const Reduction *of)
{
    const char *hits = ifm_back_formula_in(back, of->shape.dtype, "x = y", "y", kept(back, of, back->y), NULL);
    const char *n_hits = ifm_back_sum(back, hits, of->axes, of->n, TRUE), *g = kept(back, of, back->g);
    ifm_back_give(back, 0, ifm_back_formula(back, "hits * (g / n)", "hits", hits, "g", g, "n", n_hits, NULL));
}

/* ReduceMax, ReduceMin */
static void reduce_extreme_rule(IfmBack *back)
{
    Reduction of;
    if (read_reduction(back, &of))
        give_to_extremes(back, &of);
}

/* A ReduceMax over space. */
static void global_max_pool_rule(IfmBack *back)
{
    Reduction of = { .shape = ifm_back_shape(back, back->x), .keeps = TRUE };
    for (int axis = 2; axis < of.shape.rank; axis++)
        of.axes[of.n++] = axis;
    give_to_extremes(back, &of);
}

const IfmGradientRule ifm_gradients_reduction[] = {
    { "GlobalMaxPool", global_max_pool_rule },
    { "ReduceMax", reduce_extreme_rule },
    { "ReduceMean", reduce_mean_rule },
    { "ReduceMin", reduce_extreme_rule },
    { "ReduceSum", reduce_sum_rule },
    { "ReduceSumSquare", reduce_sum_square_rule },
    { NULL },
};
