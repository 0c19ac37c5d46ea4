/* The cost of a graph transformer: the closed forms of estimate.h with the changes of the other configurations. */
#include "transformer-private.h"

/* add_scores: The attention of all layers without its projections. */
static void add_scores(gboolean *too_large, const IfmTransformer *of, IfmEstimate *attention)
{
    const IfmTransformerSizes *sizes = &of->sizes;
    const gint64 layers = sizes->num_layers, d = sizes->hidden_dim, h = sizes->num_heads;
    const gint64 graphs = of->num_graphs, max = graphs > 1 ? of->most_nodes : sizes->num_nodes;
    const gboolean padded = ifm_transformer_is_padded(of);
    gint64 scores = sizes->num_edges, of_layers = 0;
    if (of->attention == IFM_ATTENTION_DENSE)
    {
        scores = 0;
        ifm_estimate_count(too_large, &scores, graphs, max, max);
    }
    ifm_estimate_count(too_large, &of_layers, layers, scores, 1);
    ifm_estimate_count(too_large, &attention->macs, 2, of_layers, d);
    ifm_estimate_count(too_large, &attention->flop, 4, of_layers, d);
    ifm_estimate_count(too_large, &attention->flop, padded ? 7 : 6, of_layers, h); /* scaled, (biased,) softmax */
    if (padded)
    {
        ifm_estimate_count(too_large, &attention->bytes, 4 * layers, graphs, max);
        ifm_estimate_count(too_large, &attention->bytes, 8, layers, sizes->num_nodes);
    }
    if (of->attention == IFM_ATTENTION_SPARSE)
        ifm_estimate_count(too_large, &attention->bytes, 16, layers, sizes->num_edges);
}

/* change_norm: Two FLOP per number instead of five, and running statistics as further parameters. */
static void change_norm(gboolean *too_large, const IfmTransformer *of, IfmEstimate *norm)
{
    const gint64 d = of->sizes.hidden_dim;
    const gint64 units = of->sizes.num_layers * (of->sizes.mpnn != IFM_MESSAGE_NONE ? 3 : 2);
    if (of->norm != IFM_NORM_BATCH)
        return;
    ifm_estimate_count(too_large, &norm->flop, -3 * units, of->sizes.num_nodes, d);
    ifm_estimate_count(too_large, &norm->bytes, 8, units, d);
}

static gboolean change_head(gboolean *too_large, const IfmTransformer *of, IfmEstimate *head, GError **error)
{
    const IfmTransformerSizes *sizes = &of->sizes;
    const gint64 n = sizes->num_nodes, graphs = of->num_graphs, d = sizes->hidden_dim;
    if (of->head == IFM_HEAD_NODE)
        return ifm_estimate_linear(n, d, sizes->num_outputs, TRUE, head, error);
    if (!ifm_transformer_pools(of))
        return TRUE;
    if (!ifm_estimate_linear(graphs, d, sizes->num_outputs, TRUE, head, error))
        return FALSE;
    ifm_estimate_count(too_large, &head->flop, 1, n, d);
    ifm_estimate_count(too_large, &head->flop, 1, graphs, d);
    ifm_estimate_count(too_large, &head->bytes, 4, n, d); /* read instead of the means */
    ifm_estimate_count(too_large, &head->bytes, -4, graphs, d);
    ifm_estimate_count(too_large, &head->bytes, 8, n, 1);
    ifm_estimate_count(too_large, &head->bytes, 4, graphs, 1);
    return TRUE;
}

/* change_encoding: For a batch, all graphs count with their average size. */
static gboolean change_encoding(gboolean *too_large, const IfmTransformer *of, IfmEstimate *encoding, GError **error)
{
    const IfmTransformerSizes *sizes = &of->sizes;
    const gint64 graphs = of->num_graphs;
    IfmEstimate one;
    if (graphs <= 1 || sizes->pe == IFM_ENCODING_NONE)
        return TRUE;
    if (!ifm_estimate_encoding(sizes->pe, sizes->num_nodes / graphs, sizes->num_edges / graphs, sizes->pe_dim, &one, error))
        return FALSE;
    *encoding = (IfmEstimate){ 0 };
    ifm_estimate_add(too_large, encoding, &one, graphs);
    return TRUE;
}

static void sum_parts(gboolean *too_large, IfmTransformerEstimate *parts)
{
    const IfmEstimate *const all[] = { &parts->input, &parts->mpnn, &parts->attention,
                                       &parts->ffn,   &parts->norm, &parts->head };
    parts->total = (IfmEstimate){ 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        ifm_estimate_add(too_large, &parts->total, all[i], 1);
}

gboolean ifm_transformer_estimate(const IfmTransformer *transformer, IfmTransformerEstimate *estimate, GError **error)
{
    IfmTransformerSizes sizes = transformer->sizes;
    IfmTransformerEstimate parts;
    gboolean too_large = FALSE;
    sizes.sparse_ratio = 0; /* the projections only: the scores are counted here, as integers */
    if (!ifm_transformer_check(transformer, error) || !ifm_estimate_transformer(&sizes, &parts, error) ||
        !change_head(&too_large, transformer, &parts.head, error) ||
        !change_encoding(&too_large, transformer, &parts.encoding, error))
        return FALSE;
    add_scores(&too_large, transformer, &parts.attention);
    change_norm(&too_large, transformer, &parts.norm);
    sum_parts(&too_large, &parts);
    if (too_large)
        return ifm_error_refuse(
            error,
            "num_nodes %" G_GINT64_FORMAT ", num_edges %" G_GINT64_FORMAT ", num_graphs %" G_GINT64_FORMAT
            ", hidden_dim %" G_GINT64_FORMAT ", num_layers %" G_GINT64_FORMAT ": the count does not fit 63 bits",
            sizes.num_nodes, sizes.num_edges, transformer->num_graphs, sizes.hidden_dim, sizes.num_layers);
    *estimate = parts;
    return TRUE;
}

gboolean ifm_transformer_attention_bytes(const IfmTransformer *transformer, gboolean with_softmax, gint64 *bytes,
                                         GError **error)
{
    const IfmTransformerSizes *sizes = &transformer->sizes;
    gboolean dense = transformer->attention == IFM_ATTENTION_DENSE;
    double pairs = (double)sizes->num_nodes * (double)sizes->num_nodes;
    double ratio = dense ? 1 : CLAMP((double)sizes->num_edges / MAX(pairs, 1), 0, 1);
    if (!ifm_estimate_attention_bytes(dense ? transformer->most_nodes : sizes->num_nodes, sizes->num_heads, ratio,
                                      with_softmax, bytes, error))
        return FALSE;
    return !dense || !__builtin_mul_overflow(*bytes, MAX(transformer->num_graphs, 1), bytes) ||
           ifm_error_refuse(error, "%s", "num_graphs: the bytes of attention do not fit 63 bits");
}
