/* Rules of matrix products. In comments g is the gradient of the output y. */
#include <string.h>

#include "gradient-private.h"

/*
 * apart: A matrix of the forward pass for a product of the backward one, which reads it the other way round. OpenVINO's CPU
 * packs a square constant once for both and then answers nonsense: it is given one for each. Weights that are inputs, as in
 * a training step, are not packed.
 */
static const char *apart(IfmBack *back, const char *matrix)
{
    const IfmBackShape shape = ifm_back_shape(back, matrix);
    gboolean is_square = shape.rank > 1 && shape.dims[shape.rank - 1] == shape.dims[shape.rank - 2];
    return is_square ? ifm_back_own_copy(back, matrix) : matrix;
}

/* gemm: alpha op(a) op(b) */
static const char *gemm(IfmBack *back, const char *a, gboolean turn_a, const char *b, gboolean turn_b, double alpha)
{
    static const char *const forms[2][2] = { { "Gemm", "Gemm transB=1" }, { "Gemm transA=1", "Gemm transA=1 transB=1" } };
    const char *product = ifm_back_op(back, forms[turn_a][turn_b], a, b, NULL);
    if (alpha != 1)
        ifm_back_float(back, "alpha", alpha);
    return product;
}

static void gemm_gradients(IfmBack *back, const char *const matrices[2], const gboolean turned[2], double alpha)
{
    const char *g = back->g;
    if (ifm_back_wants(back, 0))
    {
        const char *b = apart(back, matrices[1]);
        ifm_back_give(back, 0,
                      turned[0] ? gemm(back, b, turned[1], g, TRUE, alpha) : gemm(back, g, FALSE, b, !turned[1], alpha));
    }
    if (ifm_back_wants(back, 1))
    {
        const char *a = apart(back, matrices[0]);
        ifm_back_give(back, 1,
                      turned[1] ? gemm(back, g, TRUE, a, turned[0], alpha) : gemm(back, a, !turned[0], g, FALSE, alpha));
    }
}

static void gemm_rule(IfmBack *back)
{
    const char *const matrices[] = { back->x, ifm_back_input(back, 1) };
    const gboolean turned[] = { ifm_node_int(back->node, "transA", 0) != 0, ifm_node_int(back->node, "transB", 0) != 0 };
    double beta = ifm_node_float(back->node, "beta", 1);
    const char *g = back->g, *y = back->y;
    gemm_gradients(back, matrices, turned, ifm_node_float(back->node, "alpha", 1));
    if (!ifm_back_wants(back, 2))
        return;
    const char *sum = ifm_back_sum_to(back, g, y, ifm_back_input(back, 2));
    ifm_back_give(back, 2, beta == 1 ? sum : ifm_back_mul(back, sum, ifm_back_scalar(back, ifm_back_dtype(back, y), beta)));
}

/* --- MatMul ------------------------------------------------------------------------------------------------------- */

/* before_turning: Returns: the tensor whose last two axes the forward pass exchanged to get @value; NULL where @value is
 * not such a tensor. */
static const char *before_turning(IfmBack *back, const char *value, const int *order, int rank)
{
    gssize producer = ifm_model_producer(back->model, value);
    const IfmNode *node = producer >= 0 ? ifm_model_node(back->model, (gsize)producer) : NULL;
    gsize n;
    if (node == NULL || *node->domain != '\0' || !g_str_equal(node->op_type, "Transpose"))
        return NULL;
    const gint64 *turning = ifm_node_ints(node, "perm", &n);
    for (int i = 0; i < rank; i++)
        if ((turning != NULL ? turning[i] : rank - 1 - i) != order[i])
            return NULL;
    return apart(back, node->inputs[0]);
}

/* turned: the last two axes exchanged. */
static const char *turned(IfmBack *back, const char *value, int rank)
{
    int order[IFM_MAX_RANK];
    for (int i = 0; i < rank; i++)
        order[i] = i;
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    const char *before = before_turning(back, value, order, rank);
    return before != NULL ? before : ifm_back_transpose(back, value, order, rank);
}

/* is_largest: of a product of [@rows, @columns], turned, and a matrix that has @other in place of one of them, whether
 * turning the first moves more numbers than turning the other and the product. A constant is turned before anything runs.
 */
static gboolean is_largest(const IfmBack *back, const char *matrix, gint64 rows, gint64 columns, gint64 other)
{
    return rows > 0 && columns > 0 && other > 0 && !ifm_back_is_constant(back, matrix) &&
           (double)rows * (double)columns > (double)other * ((double)rows + (double)columns);
}

static const char *unsqueezed(IfmBack *back, const char *value, gint64 axis)
{
    return ifm_back_op(back, "Unsqueeze", value, ifm_back_number(back, axis), NULL);
}

/* sum_batch_to: sums [batch of y, m, n] to @to's batch; the matrix itself is @to's already. */
static const char *sum_batch_to(IfmBack *back, const char *value, const IfmBackShape *y, const IfmBackShape *to)
{
    int lead[IFM_MAX_RANK], inner[IFM_MAX_RANK], n_inner = 0, n_lead = y->rank - to->rank;
    for (int i = 0; i < n_lead; i++)
        lead[i] = i;
    for (int i = 0; i < to->rank - 2; i++)
        if (to->dims[i] == 1 && y->dims[n_lead + i] != 1)
            inner[n_inner++] = i;
    return ifm_back_sum(back, ifm_back_sum(back, value, lead, n_lead, FALSE), inner, n_inner, TRUE);
}

/* rows_times_weight: [.., m, k] by [k, n], a layer's weights: its gradient is one product over all rows, not a sum of many.
 */
static void rows_times_weight(IfmBack *back, const IfmBackShape *a, const IfmBackShape *b)
{
    const char *g = back->g;
    if (ifm_back_wants(back, 0))
    {
        const char *weight = apart(back, ifm_back_input(back, 1));
        ifm_back_give(back, 0, ifm_back_op(back, "MatMul", g, turned(back, weight, 2), NULL));
    }
    if (!ifm_back_wants(back, 1))
        return;
    gint64 k = a->dims[a->rank - 1] >= 0 ? a->dims[a->rank - 1] : b->dims[0], n = b->dims[1];
    const char *rows = ifm_back_reshape_dims(back, back->x, (gint64[]){ -1, k }, 2);
    const char *row_gradients = ifm_back_reshape_dims(back, g, (gint64[]){ -1, n }, 2);
    ifm_back_give(back, 1, gemm(back, rows, TRUE, row_gradients, FALSE, 1));
}

/* as_matrix: A vector is a row on the left of a product, a column on the right. */
static const char *as_matrix(IfmBack *back, const char *value, IfmBackShape *shape, gboolean is_left)
{
    if (shape->rank != 1)
        return value;
    gint64 n = shape->dims[0];
    shape->rank = 2;
    shape->dims[0] = is_left ? 1 : n;
    shape->dims[1] = is_left ? n : 1;
    return unsqueezed(back, value, is_left ? 0 : 1);
}

static void batched(IfmBack *back, IfmBackShape a, IfmBackShape b, IfmBackShape y)
{
    const char *g = back->g, *left = apart(back, back->x), *right = apart(back, ifm_back_input(back, 1));
    gboolean is_row = a.rank == 1, is_column = b.rank == 1;
    left = as_matrix(back, left, &a, TRUE);
    right = as_matrix(back, right, &b, FALSE);
    if (is_column)
        g = unsqueezed(back, g, y.rank++);
    if (is_row)
        g = unsqueezed(back, g, y.rank - 1);
    y.rank = MAX(a.rank, b.rank);
    for (int i = 1; i <= y.rank - 2; i++) /* of y's batch, from its end: y.dims had no such axes where a vector was */
        y.dims[y.rank - 2 - i] = i <= a.rank - 2 && a.dims[a.rank - 2 - i] != 1 ? a.dims[a.rank - 2 - i]
                                 : i <= b.rank - 2                              ? b.dims[b.rank - 2 - i]
                                                                                : 1;
    if (ifm_back_wants(back, 0))
    {
        const gint64 k = b.dims[b.rank - 2], n = b.dims[b.rank - 1];
        const char *product;
        if (is_largest(back, right, k, n, a.dims[a.rank - 2]))
            product = turned(back, ifm_back_op(back, "MatMul", right, turned(back, g, y.rank), NULL), y.rank);
        else
            product = ifm_back_op(back, "MatMul", g, turned(back, right, b.rank), NULL);
        product = sum_batch_to(back, product, &y, &a);
        ifm_back_give(back, 0, is_row ? ifm_back_reshape(back, product, back->x) : product);
    }
    if (ifm_back_wants(back, 1))
    {
        const gint64 m = a.dims[a.rank - 2], k = a.dims[a.rank - 1];
        const char *product;
        if (is_largest(back, left, m, k, b.dims[b.rank - 1]))
            product = turned(back, ifm_back_op(back, "MatMul", turned(back, g, y.rank), left, NULL), y.rank);
        else
            product = ifm_back_op(back, "MatMul", turned(back, left, a.rank), g, NULL);
        product = sum_batch_to(back, product, &y, &b);
        ifm_back_give(back, 1, is_column ? ifm_back_reshape(back, product, ifm_back_input(back, 1)) : product);
    }
}

/* g b^T and a^T g, summed over what was broadcast */
static void matmul_rule(IfmBack *back)
{
    const char *const matrices[] = { back->x, ifm_back_input(back, 1) };
    const IfmBackShape a = ifm_back_shape(back, matrices[0]), b = ifm_back_shape(back, matrices[1]);
    const IfmBackShape y = ifm_back_shape(back, back->y);
    if (back->error != NULL)
        return;
    if (a.rank == 2 && b.rank == 2)
        gemm_gradients(back, matrices, (gboolean[]){ FALSE, FALSE }, 1);
    else if (a.rank > 2 && b.rank == 2 && b.dims[0] > 0 && b.dims[1] > 0)
        rows_times_weight(back, &a, &b);
    else
        batched(back, a, b, y);
}

/* --- Einsum ------------------------------------------------------------------------------------------------------- */

/* has_all: whether each letter of @term is once in it, and in one of the others. */
static gboolean has_all(const char *term, const char *other, const char *result)
{
    for (const char *letter = term; *letter != '\0'; letter++)
        if (!g_ascii_isalpha(*letter) || strchr(letter + 1, *letter) != NULL ||
            (strchr(other, *letter) == NULL && strchr(result, *letter) == NULL))
            return FALSE;
    return TRUE;
}

/* is_stretched: whether a letter's size of 1 is broadcast to another, or may be. */
static gboolean is_stretched(IfmBack *back, char *const *terms)
{
    const IfmBackShape shapes[] = { ifm_back_shape(back, back->x), ifm_back_shape(back, ifm_back_input(back, 1)) };
    for (const char *letter = terms[0]; *letter != '\0' && back->error == NULL; letter++)
    {
        const char *other = strchr(terms[1], *letter);
        if (other != NULL && shapes[0].dims[letter - terms[0]] != shapes[1].dims[other - terms[1]])
            return TRUE;
    }
    return FALSE;
}

/* "ab,bc->ac" of g and b: "ac,bc->ab" */
static void einsum_rule(IfmBack *back)
{
    g_autofree char *equation = g_strdup(ifm_node_string(back->node, "equation", ""));
    char *to = equation;
    for (const char *from = equation; *from != '\0'; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
    g_auto(GStrv) sides = g_strsplit(equation, "->", 2);
    g_auto(GStrv) terms = g_strsplit(g_strv_length(sides) == 2 ? sides[0] : "", ",", -1);
    if (g_strv_length(terms) != 2 || !has_all(terms[0], terms[1], sides[1]) || !has_all(terms[1], terms[0], sides[1]))
    {
        ifm_back_fail(back,
                      "equation '%s': no gradient rule; there is one for two terms and a result that is written out, "
                      "without '...' and without a letter that is in one term alone",
                      equation);
        return;
    }
    if (is_stretched(back, terms))
    {
        ifm_back_fail(back, "equation '%s': a letter of two sizes: no gradient rule", equation);
        return;
    }
    for (gsize i = 0; i < 2; i++)
        if (ifm_back_wants(back, i))
        {
            g_autofree char *turned_equation = g_strdup_printf("%s,%s->%s", sides[1], terms[1 - i], terms[i]);
            const char *other = apart(back, ifm_back_input(back, 1 - i));
            ifm_back_give(back, i, ifm_back_op(back, "Einsum", back->g, other, NULL));
            ifm_model_builder_string(back->builder, back->last, "equation", turned_equation);
        }
}

const IfmGradientRule ifm_gradients_products[] = {
    { "Einsum", einsum_rule },
    { "Gemm", gemm_rule },
    { "MatMul", matmul_rule },
    { NULL },
};
