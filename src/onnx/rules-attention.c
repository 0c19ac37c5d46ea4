/* All forms of attention. One function reads the node; shape and cost use the result. */
#include <string.h>

#include "operators.h"

/*
 * Sizes: the sizes of one attention.
 * @keys: keys per query: @old_keys from the past, then the new ones; -1 where it depends on values
 * @each_qk, @each_v: width of one head    @projection_macs: MACs of the projections to queries, keys and values; 0: none
 */
typedef struct
{
    gint64 batch, heads, key_heads, queries, keys, old_keys, each_qk, each_v, projection_macs;
} Sizes;

static gboolean fail_sizes(const IfmOperatorCall *call, gsize input, const char *right, GError **error)
{
    const IfmTensorInfo *fact = &call->inputs[input];
    g_autofree char *shape = ifm_fact_shape(fact);
    return ifm_error_refuse(error, "'%s' is %s, not %s", call->node->inputs[input], shape, right);
}

/* heads_of: The number of heads of the attribute; FALSE where it does not divide @width. */
static gboolean heads_of(const IfmOperatorCall *call, const char *attribute, gint64 fallback, gint64 width, gint64 *heads,
                         GError **error)
{
    *heads = ifm_node_int(call->node, attribute, fallback);
    if (*heads >= 1 && width % *heads == 0)
        return TRUE;
    return ifm_error_refuse(error, "%s is %" G_GINT64_FORMAT ", which does not divide %" G_GINT64_FORMAT, attribute, *heads,
                            width);
}

/* past_keys: The number of keys in the input of the past: its dimension @axis. FALSE for another rank. */
static gboolean past_keys(const IfmOperatorCall *call, gsize input, int rank, gint64 *n, GError **error)
{
    const IfmTensorInfo *past = ifm_call_input(call, input);
    *n = 0;
    if (past == NULL)
        return TRUE;
    if (past->rank < 0)
        *n = -1;
    else if (past->rank != rank)
        return fail_sizes(call, input, rank == 5 ? "[2,batch,heads,past,each]" : "[batch,heads,past,each]", error);
    else
        *n = past->dims[rank - 2];
    return TRUE;
}

/* --- projections in it: com.microsoft Attention, QAttention ------------------------------------------------------- */

/* read_projected: x [batch, length, inputs], weights [inputs, queries + keys + values]. @past: index of the input */
static gboolean read_projected(const IfmOperatorCall *call, gsize past, Sizes *sizes, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0], *w = &call->inputs[1];
    gsize n;
    const gint64 *widths = ifm_node_ints(call->node, "qkv_hidden_sizes", &n);
    if (x->rank != 3)
        return fail_sizes(call, 0, "[batch,length,inputs]", error);
    if (w->rank != 2 || w->dims[0] != x->dims[2])
        return fail_sizes(call, 1, "[inputs,queries + keys + values]", error);
    gint64 wide_qk = n == 3 ? widths[0] : w->dims[1] / 3, wide_v = n == 3 ? widths[2] : w->dims[1] / 3;
    if (wide_qk < 0 || wide_v < 0 || wide_qk > w->dims[1] || wide_v > w->dims[1] || 2 * wide_qk + wide_v != w->dims[1])
        return fail_sizes(call, 1, "[inputs,queries + keys + values]", error);
    if (!heads_of(call, "num_heads", 0, wide_qk, &sizes->heads, error) ||
        !past_keys(call, past, 5, &sizes->old_keys, error))
        return FALSE;
    sizes->batch = x->dims[0];
    sizes->key_heads = sizes->heads;
    sizes->queries = x->dims[1];
    sizes->keys = sizes->old_keys < 0 ? -1 : sizes->old_keys + x->dims[1];
    sizes->each_qk = wide_qk / sizes->heads;
    sizes->each_v = wide_v / sizes->heads;
    if (!ifm_fact_n_elements(x, &sizes->projection_macs) ||
        __builtin_mul_overflow(sizes->projection_macs, w->dims[1], &sizes->projection_macs))
        return ifm_error_refuse(error, "'%s' is larger than any memory", call->node->inputs[1]);
    return TRUE;
}

/* --- heads as they come: MultiHeadAttention, GroupQueryAttention, ONNX's own Attention ---------------------------- */

/* new_keys: [batch, length, width], [batch, heads, length, each] or packed with the values [batch, length, heads, 2, each].
 */
static gint64 new_keys(const IfmTensorInfo *key)
{
    return key->dims[key->rank == 4 ? 2 : 1];
}

static gboolean read_multi_head(const IfmOperatorCall *call, Sizes *sizes, GError **error)
{
    const IfmTensorInfo *q = &call->inputs[0], *k = ifm_call_input(call, 1), *v = ifm_call_input(call, 2);
    gint64 wide = q->rank == 5 ? q->dims[2] * q->dims[4] : q->rank == 3 ? q->dims[2] : 0;
    if (q->rank != 3 && q->rank != 5)
        return fail_sizes(call, 0, "[batch,length,width] or [batch,length,heads,3,each]", error);
    if ((k == NULL) != (q->rank == 5) || (k != NULL && (k->rank < 3 || k->rank > 5)))
        return ifm_error_refuse(error, "queries, keys and values are neither three tensors nor packed into one");
    if (v != NULL && v->rank != 3 && v->rank != 4)
        return fail_sizes(call, 2, "[batch,length,width] or [batch,heads,length,each]", error);
    if (!heads_of(call, "num_heads", 0, wide, &sizes->heads, error) || !past_keys(call, 6, 4, &sizes->old_keys, error))
        return FALSE;
    sizes->batch = q->dims[0];
    sizes->key_heads = sizes->heads;
    sizes->queries = q->dims[1];
    sizes->each_qk = wide / sizes->heads;
    sizes->each_v = v == NULL ? sizes->each_qk : v->rank == 4 ? v->dims[3] : v->dims[2] / sizes->heads;
    gboolean is_crossed = k != NULL && k->rank == 4; /* keys of another sequence are complete: no past */
    gint64 more = k != NULL ? new_keys(k) : q->dims[1];
    sizes->keys = sizes->old_keys < 0 ? -1 : is_crossed ? more : sizes->old_keys + more;
    return TRUE;
}

/* The length of the present is that of the buffer of the past, or the number of keys if that is larger. */
static gboolean read_grouped(const IfmOperatorCall *call, Sizes *sizes, GError **error)
{
    const IfmTensorInfo *q = &call->inputs[0], *k = ifm_call_input(call, 1), *total = ifm_call_input(call, 6);
    gint64 heads = ifm_node_int(call->node, "num_heads", 0), key_heads = ifm_node_int(call->node, "kv_num_heads", 0);
    if (q->rank != 3)
        return fail_sizes(call, 0, "[batch,length,width]", error);
    if (heads < 1 || key_heads < 1 || heads > G_MAXINT16 || key_heads > heads || heads % key_heads != 0)
        return ifm_error_refuse(error, "num_heads is %" G_GINT64_FORMAT ", kv_num_heads %" G_GINT64_FORMAT, heads,
                                key_heads);
    if (!past_keys(call, 3, 4, &sizes->old_keys, error))
        return FALSE;
    sizes->batch = q->dims[0];
    sizes->heads = heads;
    sizes->key_heads = key_heads;
    sizes->queries = q->dims[1];
    sizes->each_qk = sizes->each_v = q->dims[2] / (k != NULL ? heads : heads + 2 * key_heads);
    sizes->keys = total != NULL && ifm_fact_ints(total) != NULL && total->n_values == 1 ? total->ints[0] : -1;
    return TRUE;
}

/* The standard operator (version 23): rank 3 with the heads as an attribute, or rank 4 with the heads as an axis. */
static gboolean read_standard(const IfmOperatorCall *call, Sizes *sizes, GError **error)
{
    const IfmTensorInfo *q = &call->inputs[0], *k = &call->inputs[1], *v = &call->inputs[2];
    if (q->rank < 3 || q->rank > 4 || k->rank != q->rank || v->rank != q->rank)
        return fail_sizes(call, 0, "of the rank of keys and values, 3 or 4", error);
    if (!past_keys(call, 4, 4, &sizes->old_keys, error))
        return FALSE;
    sizes->batch = q->dims[0];
    sizes->queries = q->dims[q->rank - 2];
    sizes->keys = sizes->old_keys < 0 ? -1 : sizes->old_keys + k->dims[k->rank - 2];
    sizes->heads = q->dims[1];
    sizes->key_heads = k->dims[1];
    sizes->each_qk = q->dims[q->rank - 1];
    sizes->each_v = v->dims[v->rank - 1];
    if (q->rank == 4)
        return TRUE;
    if (!heads_of(call, "q_num_heads", 0, q->dims[2], &sizes->heads, error) ||
        !heads_of(call, "kv_num_heads", 0, v->dims[2], &sizes->key_heads, error))
        return FALSE;
    sizes->each_qk /= sizes->heads;
    sizes->each_v /= sizes->key_heads;
    return TRUE;
}

static gboolean is_projected(const IfmNode *node)
{
    return *node->domain != '\0' && (g_str_equal(node->op_type, "Attention") || g_str_equal(node->op_type, "QAttention"));
}

static gboolean read_sizes(const IfmOperatorCall *call, Sizes *sizes, GError **error)
{
    const IfmNode *node = call->node;
    memset(sizes, 0, sizeof *sizes);
    if (is_projected(node))
        return read_projected(call, g_str_equal(node->op_type, "QAttention") ? 8 : 4, sizes, error);
    if (g_str_equal(node->op_type, "Attention"))
        return read_standard(call, sizes, error);
    if (g_str_equal(node->op_type, "MultiHeadAttention"))
        return read_multi_head(call, sizes, error);
    return read_grouped(call, sizes, error);
}

/* make_present: The past of the next step. */
static void make_present(const IfmOperatorCall *call, const Sizes *s)
{
    gint64 keys = MAX(s->keys, s->old_keys);
    if (s->keys < 0)
        return;
    if (is_projected(call->node))
    {
        ifm_call_shape(call, 1, 5, (gint64[]){ 2, s->batch, s->heads, keys, s->each_qk });
        return;
    }
    ifm_call_shape(call, 1, 4, (gint64[]){ s->batch, s->key_heads, keys, s->each_qk });
    ifm_call_shape(call, 2, 4, (gint64[]){ s->batch, s->key_heads, keys, s->each_v });
    ifm_call_shape(call, 3, 4, (gint64[]){ s->batch, s->heads, s->queries, keys }); /* the scores, where asked for */
}

gboolean ifm_shape_attention(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    Sizes sizes;
    gsize n_needed = MIN(call->node->n_inputs, 3);
    for (gsize i = 0; i < n_needed; i++)
        if (ifm_call_has(call, i) && call->inputs[i].rank < 0)
            return TRUE;
    if (!read_sizes(call, &sizes, error))
        return FALSE;
    gint64 wide = 0;
    if (__builtin_mul_overflow(sizes.heads, sizes.each_v, &wide))
        return ifm_error_refuse(error, "its heads are larger than any memory");
    if (x->rank == 4)
        ifm_call_shape(call, 0, 4, (gint64[]){ sizes.batch, sizes.heads, sizes.queries, sizes.each_v });
    else
        ifm_call_shape(call, 0, 3, (gint64[]){ sizes.batch, sizes.queries, wide });
    make_present(call, &sizes);
    if (sizes.keys < 0)
        *call->why = "how many keys there are depends on values";
    return TRUE;
}

/* Both products (scores, and their sum of values) for every pair of a query and a key; a softmax over the scores. */
gboolean ifm_cost_attention(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    Sizes s;
    gint64 scores, softmax, each;
    if (!read_sizes(call, &s, NULL) || s.keys < 0)
    {
        *call->why = "how many keys there are depends on values";
        return FALSE;
    }
    scores = s.batch;
    each = s.each_qk;
    if (!ifm_count_times_all(&scores, (gint64[]){ s.heads, s.queries, s.keys }, 3) || !ifm_count_add(&each, s.each_v))
        return FALSE;
    cost->macs = softmax = scores;
    return ifm_count_times(&softmax, 5) && ifm_count_times(&cost->macs, each) &&
           ifm_count_add(&cost->macs, s.projection_macs) && ifm_cost_multiply_add(cost) &&
           ifm_count_add(&cost->flop, softmax);
}
