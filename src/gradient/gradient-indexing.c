/* Rules of operators that read or write by index. In comments g is the gradient of the output. */
#include "gradient-private.h"

static void add_reduction(IfmBack *back)
{
    ifm_model_builder_string(back->builder, back->last, "reduction", "add");
}

/* rotated: @axis moved to the front (@back_again: from the front to there), the others in their order. */
static const char *rotated(IfmBack *back, const char *value, int rank, int axis, int n_moved, gboolean back_again)
{
    int order[IFM_MAX_RANK] = { 0 }, inverse[IFM_MAX_RANK] = { 0 }, n = 0;
    if (axis == 0)
        return value;
    for (int i = 0; i < n_moved; i++)
        order[n++] = axis + i;
    for (int i = 0; i < rank; i++)
        if (i < axis || i >= axis + n_moved)
            order[n++] = i;
    for (int i = 0; i < rank; i++)
        inverse[order[i]] = i;
    return ifm_back_transpose(back, value, back_again ? inverse : order, rank);
}

/* pad_single: where the index is one known number, g is put among zeros: nothing is scattered. */
static gboolean pad_single(IfmBack *back, const IfmBackShape *x, int axis)
{
    gint64 index, pads[2 * IFM_MAX_RANK] = { 0 };
    gsize n;
    const char *indices = ifm_back_input(back, 1), *g = back->g;
    const IfmBackShape shape = ifm_back_shape(back, indices);
    if (x->dims[axis] < 0 || shape.rank > 1 || ifm_back_n_elements(&shape, 0, shape.rank) != 1 ||
        !ifm_back_known_ints(back, indices, &index, &n))
        return FALSE;
    index += index < 0 ? x->dims[axis] : 0;
    pads[axis] = index;
    pads[x->rank + axis] = x->dims[axis] - 1 - index;
    if (shape.rank == 0)
        g = ifm_back_op(back, "Unsqueeze", g, ifm_back_number(back, axis), NULL);
    ifm_back_give(back, 0, ifm_back_op(back, "Pad", g, ifm_back_list(back, pads, 2 * (gsize)x->rank), NULL));
    return TRUE;
}

/* front_zeros: zeros of the input's shape with @axis in front. */
static const char *front_zeros(IfmBack *back, const IfmBackShape *x, int axis)
{
    return rotated(back, ifm_back_zeros(back, back->x), x->rank, axis, 1, FALSE);
}

/* indices_i64: The index of a gather as i64, the only type that the emitted nodes take. */
static const char *indices_i64(IfmBack *back)
{
    const char *indices = ifm_back_input(back, 1);
    return ifm_back_as(back, indices, ifm_back_dtype(back, indices), IFM_DTYPE_I64);
}

/* flat_places: i64 [rows x width]: where each number of the rows that @indices names is, rows one after the other. Made
 * once for all that read by that index, as a graph's layers do. */
static const char *flat_places(IfmBack *back, gint64 width)
{
    g_autofree char *key = g_strdup_printf("places %" G_GINT64_FORMAT " %s", width, ifm_back_input(back, 1));
    const char *places = g_hash_table_lookup(back->constants, key);
    if (places != NULL)
        return places;
    g_autofree gint64 *within = g_new(gint64, width + 1);
    for (gint64 i = 0; i < width; i++)
        within[i] = i;
    const char *first = ifm_back_mul(back, ifm_back_reshape_dims(back, indices_i64(back), (gint64[]){ -1, 1 }, 2),
                                     ifm_back_number(back, width));
    places = ifm_back_add(back, first, ifm_back_list(back, within, (gsize)width));
    places = ifm_back_reshape_dims(back, places, (gint64[]){ -1 }, 1);
    g_hash_table_insert(back->constants, g_steal_pointer(&key), (gpointer)places);
    return places;
}

/* add_numbers: @g added to @zeros, rows of @width numbers, a number at a time: as vectors, which engines scatter faster
 * than rows with an index as wide as they are. */
static const char *add_numbers(IfmBack *back, const char *zeros, const char *g, gint64 width)
{
    const gint64 flat[] = { -1 };
    const char *places =
        width > 1 ? flat_places(back, width) : ifm_back_reshape_dims(back, ifm_back_input(back, 1), flat, 1);
    const char *sum = ifm_back_op(back, "ScatterElements", ifm_back_reshape_dims(back, zeros, flat, 1), places,
                                  ifm_back_reshape_dims(back, g, flat, 1), NULL);
    add_reduction(back);
    return sum;
}

/* is_column: whether @column is @indices, a vector, as [n, 1]. */
static gboolean is_column(const IfmBack *back, const char *column, const char *indices)
{
    gint64 axis;
    gsize n;
    gssize producer = ifm_model_producer(back->model, column);
    const IfmNode *node = producer >= 0 ? ifm_model_node(back->model, (gsize)producer) : NULL;
    return node != NULL && g_str_equal(node->op_type, "Unsqueeze") && node->n_inputs == 2 &&
           g_str_equal(node->inputs[0], indices) && ifm_back_known_ints(back, node->inputs[1], &axis, &n) && n == 1 &&
           (axis == 1 || axis == -1);
}

/*
 * reads_once: Whether no row of @x is read twice by @indices, a vector. It is known where the model writes rows by the same
 * indices, as a column, with a ScatterND that does not reduce, whose indices ONNX wants to be different from each other;
 * into as many rows, so that what is counted from the end is the same row, too.
 */
static gboolean reads_once(IfmBack *back, const IfmBackShape *x, const char *indices)
{
    for (gsize i = 0; i < ifm_model_n_nodes(back->model); i++)
    {
        const IfmNode *node = ifm_model_node(back->model, i);
        IfmBackShape data;
        if (g_str_equal(node->op_type, "ScatterND") && *node->domain == '\0' &&
            g_str_equal(ifm_node_string(node, "reduction", "none"), "none") && is_column(back, node->inputs[1], indices) &&
            ifm_back_facts_shape(back->facts, node->inputs[0], &data) && data.rank > 0 && x->dims[0] >= 0 &&
            data.dims[0] == x->dims[0])
            return TRUE;
    }
    return FALSE;
}

static const char *put_rows(IfmBack *back, const char *zeros, const char *g, gboolean adds)
{
    const char *column = ifm_back_op(back, "Unsqueeze", indices_i64(back), ifm_back_number(back, -1), NULL);
    const char *rows = ifm_back_op(back, "ScatterND", zeros, column, g, NULL);
    if (adds)
        add_reduction(back);
    return rows;
}

/*
 * g added to the rows that were read, another axis than the first brought to the front. As ScatterND where no row was read
 * twice, where the model has one that adds, too, or where the rows' width is free; else a number at a time:
 * docs/add-a-gradient.md has the figures.
 */
static void gather_rule(IfmBack *back)
{
    const char *indices = ifm_back_input(back, 1);
    const IfmBackShape x = ifm_back_shape(back, back->x), y = ifm_back_shape(back, back->y),
                       of_indices = ifm_back_shape(back, indices);
    int axis = ifm_back_axis(back, 0, x.rank);
    if (back->error != NULL || pad_single(back, &x, axis))
        return;
    const char *g = rotated(back, back->g, y.rank, axis, of_indices.rank, FALSE);
    const char *zeros = front_zeros(back, &x, axis), *sum;
    gint64 before = ifm_back_n_elements(&x, 0, axis), behind = ifm_back_n_elements(&x, axis + 1, x.rank);
    if (axis == 0 && of_indices.rank == 1 && reads_once(back, &x, indices))
        sum = put_rows(back, zeros, g, FALSE);
    else if (x.rank == 1)
        sum = add_numbers(back, zeros, g, 1);
    else if (back->adds_rows || before < 1 || behind < 1)
        sum = put_rows(back, zeros, g, TRUE);
    else
        sum = ifm_back_op(back, "Reshape", add_numbers(back, zeros, g, before * behind),
                          ifm_back_op(back, "Shape", zeros, NULL), NULL);
    ifm_back_give(back, 0, rotated(back, sum, x.rank, axis, 1, TRUE));
}

static void gather_elements_rule(IfmBack *back)
{
    const char *zeros = ifm_back_zeros(back, back->x);
    const char *sum = ifm_back_op(back, "ScatterElements", zeros, ifm_back_input(back, 1), back->g, NULL);
    ifm_back_int(back, "axis", ifm_node_int(back->node, "axis", 0));
    add_reduction(back);
    ifm_back_give(back, 0, sum);
}

static void gather_nd_rule(IfmBack *back)
{
    if (ifm_node_int(back->node, "batch_dims", 0) != 0)
    {
        ifm_back_fail(back, "batch_dims: no gradient rule");
        return;
    }
    const char *zeros = ifm_back_zeros(back, back->x);
    const char *sum = ifm_back_op(back, "ScatterND", zeros, ifm_back_input(back, 1), back->g, NULL);
    add_reduction(back);
    ifm_back_give(back, 0, sum);
}

/* rows_of: the rows that an index [.., 1] names: Gather, which engines do faster than GatherND. */
static const char *rows_of(IfmBack *back, const char *values, const char *indices)
{
    const IfmBackShape shape = ifm_back_shape(back, indices);
    if (shape.rank > 0 && shape.dims[shape.rank - 1] == 1)
    {
        const char *list = ifm_back_op(back, "Squeeze", indices, ifm_back_number(back, -1), NULL);
        return ifm_back_op(back, "Gather", values, list, NULL);
    }
    return ifm_back_op(back, "GatherND", values, indices, NULL);
}

/* picked: @values, of the output's shape, where the updates of the scatter in hand went. */
static const char *picked(IfmBack *back, const char *values)
{
    const char *indices = ifm_back_input(back, 1);
    if (g_str_equal(back->node->op_type, "ScatterND"))
        return rows_of(back, values, indices);
    const char *elements = ifm_back_op(back, "GatherElements", values, indices, NULL);
    ifm_back_int(back, "axis", ifm_node_int(back->node, "axis", 0));
    return elements;
}

/* scattered: The scatter in hand of other data and updates. */
static const char *scattered(IfmBack *back, const char *data, const char *updates, gboolean adds)
{
    const char *result = ifm_back_op(back, back->node->op_type, data, ifm_back_input(back, 1), updates, NULL);
    if (g_str_equal(back->node->op_type, "ScatterElements"))
        ifm_back_int(back, "axis", ifm_node_int(back->node, "axis", 0));
    if (adds)
        add_reduction(back);
    return result;
}

/* Of the data g, of the updates g where they went. */
static void scatter_add(IfmBack *back)
{
    const char *g = back->g;
    ifm_back_give(back, 0, g);
    if (ifm_back_wants(back, 2))
        ifm_back_give(back, 2, picked(back, g));
}

/* Of the data: g, with 0 where it was overwritten. Of the updates: g at their indices (of a repeated index, the last). */
static void scatter_over(IfmBack *back)
{
    const char *g = back->g;
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0, scattered(back, g, ifm_back_zeros(back, ifm_back_input(back, 2)), FALSE));
    if (ifm_back_wants(back, 2))
        ifm_back_give(back, 2, picked(back, g));
}

/* Largest, or smallest, of the data and of the updates that went there: g to all that are it, in equal shares. */
static void scatter_extreme(IfmBack *back)
{
    const char *y = back->y;
    IfmDtype dtype = ifm_back_dtype(back, y);
    const char *is_data = ifm_back_op(back, "Equal", back->x, y, NULL);
    const char *is_update = ifm_back_op(back, "Equal", ifm_back_input(back, 2), picked(back, y), NULL);
    const char *data_hits = ifm_back_cast(back, is_data, dtype), *update_hits = ifm_back_cast(back, is_update, dtype);
    const char *share = ifm_back_div(back, back->g, scattered(back, data_hits, update_hits, TRUE));
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0, ifm_back_mul(back, data_hits, share));
    if (ifm_back_wants(back, 2))
        ifm_back_give(back, 2, ifm_back_mul(back, update_hits, picked(back, share)));
}

/* ScatterElements, ScatterND */
static void scatter_rule(IfmBack *back)
{
    const char *reduction = ifm_node_string(back->node, "reduction", "none");
    if (g_str_equal(reduction, "none"))
        scatter_over(back);
    else if (g_str_equal(reduction, "add"))
        scatter_add(back);
    else if (g_str_equal(reduction, "max") || g_str_equal(reduction, "min"))
        scatter_extreme(back);
    else
        ifm_back_fail(back, "reduction %s: no gradient rule", reduction);
}

/* OneHot: by its two values: the sums of g where it has the one and where it has the other. */
static void one_hot_rule(IfmBack *back)
{
    const IfmBackShape y = ifm_back_shape(back, back->y);
    const char *g = back->g;
    int axes[IFM_MAX_RANK];
    for (int i = 0; i < y.rank; i++)
        axes[i] = i;
    const char *values = ifm_back_values(back, y.dtype, 1, (gint64[]){ 2 }, (double[]){ 0, 1 });
    const char *hot = ifm_back_op(back, "OneHot", back->x, ifm_back_input(back, 1), values, NULL);
    ifm_back_int(back, "axis", ifm_node_int(back->node, "axis", -1));
    const char *on = ifm_back_sum(back, ifm_back_mul(back, g, hot), axes, y.rank, FALSE);
    const char *off = ifm_back_sub(back, ifm_back_sum(back, g, axes, y.rank, FALSE), on);
    const char *both = ifm_back_op(back, "Concat axis=0", ifm_back_reshape_dims(back, off, (gint64[]){ 1 }, 1),
                                   ifm_back_reshape_dims(back, on, (gint64[]){ 1 }, 1), NULL);
    ifm_back_give(back, 2, both);
}

const IfmGradientRule ifm_gradients_indexing[] = {
    { "Gather", gather_rule },
    { "GatherElements", gather_elements_rule },
    { "GatherND", gather_nd_rule },
    { "OneHot", one_hot_rule },
    { "ScatterElements", scatter_rule },
    { "ScatterND", scatter_rule },
    { NULL },
};
