/* Losses: the scalar, and its gradient by the output that it reads. */
#include "gradient-private.h"

static const char *const words[] = { [IFM_LOSS_MSE] = "mse", [IFM_LOSS_CROSS_ENTROPY] = "cross-entropy", NULL };

const char *const *ifm_loss_words(void)
{
    return words;
}

/* Sums of squares overflow half precision, so a loss is computed in f32 or f64. */
static const char *widened(IfmBack *back, const char *tensor, const IfmBackShape *shape)
{
    return ifm_back_as(back, tensor, shape->dtype, ifm_back_wide(shape->dtype));
}

static void give(IfmBack *back, const char *output, const char *gradient, const IfmBackShape *shape)
{
    gradient = ifm_back_as(back, gradient, ifm_back_wide(shape->dtype), shape->dtype);
    g_hash_table_insert(back->gradients, (gpointer)output, (gpointer)gradient);
}

/* add_target: With the first @rank axes of the output. Its inferred shape may be known better than its port. */
static void add_target(IfmBack *back, const IfmPort *output, const IfmBackShape *shape, IfmDtype dtype, int rank)
{
    gboolean is_named = output->rank == shape->rank;
    ifm_model_builder_input(back->builder, "target", dtype, rank, shape->dims,
                            is_named ? (const char *const *)output->dim_names : NULL);
}

/* Reductions without axes are the same in every version of the operator. */
static void mean_squared_error(IfmBack *back, const IfmPort *output, const IfmBackShape *shape)
{
    int axes[IFM_MAX_RANK];
    IfmDtype dtype = ifm_back_wide(shape->dtype);
    for (int i = 0; i < shape->rank; i++)
        axes[i] = i;
    add_target(back, output, shape, shape->dtype, shape->rank);
    const char *difference = ifm_back_sub(back, widened(back, output->name, shape), widened(back, "target", shape));
    ifm_back_op_to(back, "loss", "ReduceMean keepdims=0", ifm_back_mul(back, difference, difference), NULL);
    const char *count = ifm_back_count(back, dtype, output->name, axes, shape->rank);
    give(back, output->name, ifm_back_formula_in(back, dtype, "d * (2 / n)", "d", difference, "n", count, NULL), shape);
}

/* one_hot: [rows, classes] with 1 at the target of each row. It is a comparison: engines may need a constant depth for
 * OneHot. */
static const char *one_hot(IfmBack *back, const char *column, gint64 n_classes, IfmDtype dtype)
{
    g_autofree gint64 *numbers = g_new(gint64, n_classes + 1);
    for (gint64 i = 0; i < n_classes; i++)
        numbers[i] = i;
    const char *classes = ifm_back_list(back, numbers, (gsize)n_classes);
    return ifm_back_cast(back, ifm_back_op(back, "Equal", column, classes, NULL), dtype);
}

static void cross_entropy(IfmBack *back, const IfmPort *output, const IfmBackShape *shape)
{
    IfmDtype dtype = ifm_back_wide(shape->dtype);
    gint64 n_classes = shape->dims[1];
    g_autofree char *range = g_strdup_printf("0 %" G_GINT64_FORMAT, n_classes);
    add_target(back, output, shape, IFM_DTYPE_I64, 1);
    ifm_model_builder_metadata(back->builder, "inferometer.range.target", range);
    const char *logarithm = ifm_back_op(back, "LogSoftmax axis=1", widened(back, output->name, shape), NULL);
    const char *column = ifm_back_reshape_dims(back, "target", (gint64[]){ -1, 1 }, 2);
    const char *hot = one_hot(back, column, n_classes, dtype);
    const char *rows = ifm_back_count(back, dtype, output->name, (int[]){ 0 }, 1);
    const char *sum = ifm_back_op(back, "ReduceSum keepdims=0", ifm_back_mul(back, logarithm, hot), NULL);
    ifm_back_op_to(back, "loss", "Neg", ifm_back_div(back, sum, rows), NULL);
    const char *formula = "(Exp(l) - hot) / rows";
    give(back, output->name, ifm_back_formula(back, formula, "l", logarithm, "hot", hot, "rows", rows, NULL), shape);
}

void ifm_back_loss(IfmBack *back, IfmLoss loss, const IfmPort *output)
{
    const IfmBackShape shape = ifm_back_shape(back, output->name);
    if (loss == IFM_LOSS_MSE)
        mean_squared_error(back, output, &shape);
    else
        cross_entropy(back, output, &shape);
    ifm_model_builder_output(back->builder, "loss", ifm_back_wide(shape.dtype), 0, NULL, NULL);
}
