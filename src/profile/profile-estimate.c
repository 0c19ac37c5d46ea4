#include "profile-private.h"
#include <base/fields.h>

/* What a layer, or a whole graph transformer, costs before there is a model of it. */

static void add_line(IfmEstimateAnswer *answer, const char *name, const IfmEstimate *estimate)
{
    IfmEstimateLine line = { name, *estimate };
    g_array_append_val(answer->lines, line);
}

static void add_storage(IfmEstimateAnswer *answer, const char *name, gint64 bytes)
{
    IfmEstimateStorage line = { name, bytes };
    g_array_append_val(answer->storage, line);
}

/* --- what can be estimated ------------------------------------------------------------------------------------------- */

static gboolean add_attention_bytes(IfmEstimateAnswer *answer, GError **error)
{
    const IfmTransformerSizes *sizes = &answer->sizes;
    gint64 forward, training;
    if (!ifm_estimate_attention_bytes(sizes->num_nodes, sizes->num_heads, sizes->sparse_ratio, FALSE, &forward, error) ||
        !ifm_estimate_attention_bytes(sizes->num_nodes, sizes->num_heads, sizes->sparse_ratio, TRUE, &training, error))
        return FALSE;
    add_storage(answer, "scores of one layer's attention", forward);
    add_storage(answer, "… with their softmax, as training keeps them", training);
    return TRUE;
}

static gboolean add_encoding_bytes(IfmEstimateAnswer *answer, GError **error)
{
    const IfmTransformerSizes *sizes = &answer->sizes;
    IfmEncodingStorage storage;
    if (!ifm_estimate_encoding_storage(sizes->num_nodes, sizes->num_edges, sizes->pe_dim, &storage, error))
        return FALSE;
    add_storage(answer, "encoding of nodes", storage.node);
    add_storage(answer, "relative encoding, dense", storage.relative_dense);
    add_storage(answer, "relative encoding, of edges alone", storage.relative_sparse);
    return TRUE;
}

static gboolean estimate_transformer(IfmEstimateAnswer *answer, GError **error)
{
    IfmTransformerEstimate found;
    if (!ifm_estimate_transformer(&answer->sizes, &found, error) || !add_attention_bytes(answer, error))
        return FALSE;
    const IfmEstimateLine parts[] = {
        { "input", found.input },      { "message passing", found.mpnn }, { "attention", found.attention },
        { "feed-forward", found.ffn }, { "norms", found.norm },           { "head", found.head },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i].estimate.flop > 0 || parts[i].estimate.parameters > 0)
            add_line(answer, parts[i].name, &parts[i].estimate);
    add_line(answer, "in all", &found.total);
    if (answer->sizes.pe == IFM_ENCODING_NONE)
        return TRUE;
    add_line(answer, "encoding, once, not in that", &found.encoding);
    return add_encoding_bytes(answer, error);
}

/* One layer, or an encoding. */
static gboolean estimate_layer(IfmEstimateAnswer *answer, GError **error)
{
    const IfmTransformerSizes *of = &answer->sizes;
    const char *name = ifm_profile_estimate_words[answer->kind];
    IfmEstimate found;
    gboolean good;
    switch (answer->kind)
    {
    case IFM_PROFILE_ESTIMATE_ATTENTION:
        good = ifm_estimate_attention(of->num_nodes, of->hidden_dim, of->num_heads, of->sparse_ratio, &found, error);
        break;
    case IFM_PROFILE_ESTIMATE_LINEAR:
        good = ifm_estimate_linear(of->num_nodes, of->feature_dim, of->hidden_dim, TRUE, &found, error);
        break;
    case IFM_PROFILE_ESTIMATE_MPNN:
        name = ifm_message_passing_words()[of->mpnn];
        good = ifm_estimate_message_passing(of->mpnn, of->num_nodes, of->num_edges, of->hidden_dim, &found, error);
        break;
    case IFM_PROFILE_ESTIMATE_FFN:
        name = "feed-forward";
        good = ifm_estimate_feed_forward(of->num_nodes, of->hidden_dim, of->ffn_dim, &found, error);
        break;
    default:
        name = ifm_positional_encoding_words()[of->pe];
        good = ifm_estimate_encoding(of->pe, of->num_nodes, of->num_edges, of->pe_dim, &found, error);
    }
    if (!good)
        return FALSE;
    add_line(answer, name, &found);
    return answer->kind == IFM_PROFILE_ESTIMATE_ATTENTION  ? add_attention_bytes(answer, error)
           : answer->kind == IFM_PROFILE_ESTIMATE_ENCODING ? add_encoding_bytes(answer, error)
                                                           : TRUE;
}

const char *const ifm_profile_estimate_words[] = {
    [IFM_PROFILE_ESTIMATE_TRANSFORMER] = "transformer",
    [IFM_PROFILE_ESTIMATE_ATTENTION] = "attention",
    [IFM_PROFILE_ESTIMATE_LINEAR] = "linear",
    [IFM_PROFILE_ESTIMATE_MPNN] = "mpnn",
    [IFM_PROFILE_ESTIMATE_FFN] = "ffn",
    [IFM_PROFILE_ESTIMATE_ENCODING] = "encoding",
    [IFM_PROFILE_N_ESTIMATES] = NULL,
};

void ifm_estimate_answer_clear(IfmEstimateAnswer *answer)
{
    g_clear_pointer(&answer->lines, g_array_unref);
    g_clear_pointer(&answer->storage, g_array_unref);
}

#define WEIGHT_BYTES 4 /* f32 */

/* Counts saturate in estimates, too: what does not fit is refused as there. */
static gboolean times(gint64 *count, gint64 batch, GError **error)
{
    return !__builtin_mul_overflow(*count, batch, count) ||
           ifm_error_refuse(error, "--batch %" G_GINT64_FORMAT ": more work than 64 bits count", batch);
}

/* All but the weights is there once a graph. */
static gboolean multiply(IfmEstimateAnswer *answer, GError **error)
{
    for (guint i = 0; i < answer->lines->len; i++)
    {
        IfmEstimate *of = &g_array_index(answer->lines, IfmEstimateLine, i).estimate;
        gint64 weights = MIN(WEIGHT_BYTES * of->parameters, of->bytes), moved = of->bytes - weights;
        if (!times(&of->macs, answer->batch, error) || !times(&of->flop, answer->batch, error) ||
            !times(&moved, answer->batch, error))
            return FALSE;
        of->bytes = moved + weights;
    }
    for (guint i = 0; i < answer->storage->len; i++)
        if (!times(&g_array_index(answer->storage, IfmEstimateStorage, i).bytes, answer->batch, error))
            return FALSE;
    return TRUE;
}

gboolean ifm_profile_estimate(IfmProfileEstimate kind, const IfmGraphOptions *said, gint64 batch, IfmEstimateAnswer *answer,
                              GError **error)
{
    ProfileSizes from;
    *answer = (IfmEstimateAnswer){ .kind = kind,
                                   .batch = MAX(batch, 1),
                                   .lines = g_array_new(FALSE, FALSE, sizeof(IfmEstimateLine)),
                                   .storage = g_array_new(FALSE, FALSE, sizeof(IfmEstimateStorage)) };
    if (!ifm_options_check(ifm_graph_options, said, error) || !profile_check_sizes(said, PROFILE_OF_ESTIMATE, kind, error))
        return FALSE;
    profile_sizes_init(&from, said);
    if (!profile_read_sizes(&from, &answer->sizes, error))
        return FALSE;
    IfmTransformerSizes *sizes = &answer->sizes;
    sizes->num_edges =
        said->num_edges != IFM_OPTION_UNSET ? said->num_edges : ifm_transformer_usual_edges(sizes->num_nodes);
    sizes->sparse_ratio = from.full.sparse_ratio;
    if (said->mpnn == IFM_OPTION_UNSET && kind == IFM_PROFILE_ESTIMATE_MPNN)
        sizes->mpnn = IFM_MESSAGE_GIN;
    if (said->pe == NULL && kind == IFM_PROFILE_ESTIMATE_ENCODING)
        sizes->pe = IFM_ENCODING_LAPLACIAN;
    return profile_check_encoding(&from, sizes, error) &&
           (kind == IFM_PROFILE_ESTIMATE_TRANSFORMER ? estimate_transformer : estimate_layer)(answer, error) &&
           multiply(answer, error);
}
