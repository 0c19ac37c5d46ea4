#include <math.h>
#include <onnx/estimate.h>
#include <onnx/onnx.h>

/* Sum: an estimate under construction. Sizes come from the user, so a product may overflow. */
typedef struct
{
    IfmEstimate of;
    gboolean too_large;
} Sum;

void ifm_estimate_count(gboolean *too_large, gint64 *total, gint64 a, gint64 b, gint64 c)
{
    gint64 product;
    if (a == 0 || b == 0 || c == 0) /* also where the other two are too large */
        return;
    if (__builtin_mul_overflow(a, b, &product) || __builtin_mul_overflow(product, c, &product) ||
        __builtin_add_overflow(*total, product, total))
        *too_large = TRUE;
}

void ifm_estimate_add(gboolean *too_large, IfmEstimate *total, const IfmEstimate *each, gint64 times)
{
    ifm_estimate_count(too_large, &total->macs, each->macs, times, 1);
    ifm_estimate_count(too_large, &total->flop, each->flop, times, 1);
    ifm_estimate_count(too_large, &total->parameters, each->parameters, times, 1);
    ifm_estimate_count(too_large, &total->bytes, each->bytes, times, 1);
}

static void add_macs(Sum *sum, gint64 a, gint64 b, gint64 c)
{
    ifm_estimate_count(&sum->too_large, &sum->of.macs, a, b, c);
    ifm_estimate_count(&sum->too_large, &sum->of.flop, a, b, c);
    ifm_estimate_count(&sum->too_large, &sum->of.flop, a, b, c);
}

/* add_elementwise: @each FLOP per element of [rows, columns]. */
static void add_elementwise(Sum *sum, gint64 each, gint64 rows, gint64 columns)
{
    ifm_estimate_count(&sum->too_large, &sum->of.flop, each, rows, columns);
}

static void add_parameters(Sum *sum, gint64 rows, gint64 columns)
{
    ifm_estimate_count(&sum->too_large, &sum->of.parameters, rows, columns, 1);
    ifm_estimate_count(&sum->too_large, &sum->of.bytes, 4, rows, columns);
}

static void add_activation(Sum *sum, gint64 rows, gint64 columns)
{
    ifm_estimate_count(&sum->too_large, &sum->of.bytes, 4, rows, columns);
}

static void add_edge_index(Sum *sum, gint64 num_edges)
{
    ifm_estimate_count(&sum->too_large, &sum->of.bytes, 16, num_edges, 1);
}

/* add_linear: A linear part of a layer, without the bytes of its input and output. */
static void add_linear(Sum *sum, gint64 rows, gint64 in, gint64 out, gboolean bias)
{
    add_macs(sum, rows, in, out);
    add_parameters(sum, in, out);
    if (!bias)
        return;
    add_elementwise(sum, 1, rows, out);
    add_parameters(sum, 1, out);
}

/* --- checks of arguments ------------------------------------------------------------------------------------------ */

typedef struct
{
    const char *name;
    gint64 value;
} Size;

/* finish: Writes the sum to the result of the caller. @sizes: the arguments, ended by a NULL name */
static gboolean finish(const Sum *sum, const Size *sizes, IfmEstimate *estimate, GError **error)
{
    if (!sum->too_large)
    {
        *estimate = sum->of;
        return TRUE;
    }
    g_autoptr(GString) text = g_string_new(NULL);
    for (const Size *size = sizes; size->name != NULL; size++)
        g_string_append_printf(text, "%s%s %" G_GINT64_FORMAT, size == sizes ? "" : ", ", size->name, size->value);
    return ifm_error_refuse(error, "%s: the count does not fit 63 bits", text->str);
}

static gboolean check_sizes(const Size *sizes, GError **error)
{
    for (const Size *size = sizes; size->name != NULL; size++)
        if (size->value < 0)
            return ifm_error_refuse(error, "%s %" G_GINT64_FORMAT ": 0 or more", size->name, size->value);
    return TRUE;
}

static gboolean check_heads(gint64 hidden_dim, gint64 num_heads, GError **error)
{
    if (num_heads >= 1 && hidden_dim % num_heads == 0)
        return TRUE;
    if (num_heads < 1)
        return ifm_error_refuse(error, "num_heads %" G_GINT64_FORMAT ": 1 or more", num_heads);
    return ifm_error_refuse(error, "hidden_dim %" G_GINT64_FORMAT ": a multiple of num_heads %" G_GINT64_FORMAT, hidden_dim,
                            num_heads);
}

/* count_scores: s = sparse_ratio n^2, rounded. Exact for a dense one of any size. */
static gboolean count_scores(gint64 num_nodes, double sparse_ratio, gint64 *scores, GError **error)
{
    if (!(sparse_ratio >= 0 && sparse_ratio <= 1))
        return ifm_error_refuse(error, "sparse_ratio %g: 0 to 1", sparse_ratio);
    if (__builtin_mul_overflow(num_nodes, num_nodes, scores))
        return ifm_error_refuse(error, "num_nodes %" G_GINT64_FORMAT ": its square does not fit 63 bits", num_nodes);
    if (sparse_ratio < 1)
        *scores = (gint64)MIN((long double)*scores, roundl((long double)sparse_ratio * (long double)*scores));
    return TRUE;
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

gboolean ifm_estimate_linear(gint64 rows, gint64 in, gint64 out, gboolean bias, IfmEstimate *estimate, GError **error)
{
    const Size sizes[] = { { "rows", rows }, { "in", in }, { "out", out }, { NULL } };
    Sum sum = { 0 };
    if (!check_sizes(sizes, error))
        return FALSE;
    add_linear(&sum, rows, in, out, bias);
    add_activation(&sum, rows, in);
    add_activation(&sum, rows, out);
    return finish(&sum, sizes, estimate, error);
}

gboolean ifm_estimate_attention(gint64 num_nodes, gint64 hidden_dim, gint64 num_heads, double sparse_ratio,
                                IfmEstimate *estimate, GError **error)
{
    const Size sizes[] = { { "num_nodes", num_nodes }, { "hidden_dim", hidden_dim }, { "num_heads", num_heads }, { NULL } };
    gint64 scores = 0;
    Sum sum = { 0 };
    if (!check_sizes(sizes, error) || !check_heads(hidden_dim, num_heads, error) ||
        !count_scores(num_nodes, sparse_ratio, &scores, error))
        return FALSE;
    for (int projection = 0; projection < 4; projection++)
        add_linear(&sum, num_nodes, hidden_dim, hidden_dim, TRUE);
    add_macs(&sum, scores, hidden_dim, 1);           /* q k' */
    add_elementwise(&sum, 1 + 5, scores, num_heads); /* scaling, softmax */
    add_macs(&sum, scores, hidden_dim, 1);           /* times v */
    add_activation(&sum, num_nodes, hidden_dim);
    add_activation(&sum, num_nodes, hidden_dim);
    return finish(&sum, sizes, estimate, error);
}

static void add_gin(Sum *sum, gint64 n, gint64 e, gint64 d)
{
    add_elementwise(sum, 1, e, d); /* the sum */
    add_elementwise(sum, 2, n, d); /* (1 + eps) x, added */
    add_parameters(sum, 1, 1);     /* eps */
    add_linear(sum, n, d, d, TRUE);
    add_elementwise(sum, 1, n, d);
    add_linear(sum, n, d, d, TRUE);
}

static void add_gcn(Sum *sum, gint64 n, gint64 e, gint64 d)
{
    for (int of = 0; of < 2; of++) /* the edges, and one from each node to itself */
    {
        add_elementwise(sum, 2, of == 0 ? e : n, d);
        add_activation(sum, of == 0 ? e : n, 1); /* the coefficients */
    }
    add_edge_index(sum, n);
    add_linear(sum, n, d, d, TRUE);
}

static void add_sage(Sum *sum, gint64 n, gint64 e, gint64 d)
{
    add_elementwise(sum, 1, e, d);
    add_elementwise(sum, 1, n, d); /* divided by the degrees */
    add_activation(sum, n, 1);     /* which are read */
    add_linear(sum, n, d, d, TRUE);
    add_linear(sum, n, d, d, FALSE);
    add_elementwise(sum, 1, n, d); /* the two, added */
}

typedef void (*AddPart)(Sum *sum, gint64 n, gint64 e, gint64 width);

static const AddPart kinds[] = { [IFM_MESSAGE_GIN] = add_gin, [IFM_MESSAGE_GCN] = add_gcn, [IFM_MESSAGE_SAGE] = add_sage };
static const char *const kind_words[] = { "none", "gin", "gcn", "sage", NULL };

const char *const *ifm_message_passing_words(void)
{
    return kind_words;
}

gboolean ifm_estimate_message_passing(IfmMessagePassing kind, gint64 num_nodes, gint64 num_edges, gint64 hidden_dim,
                                      IfmEstimate *estimate, GError **error)
{
    const Size sizes[] = { { "num_nodes", num_nodes }, { "num_edges", num_edges }, { "hidden_dim", hidden_dim }, { NULL } };
    Sum sum = { 0 };
    if (!check_sizes(sizes, error))
        return FALSE;
    g_assert((gsize)kind < G_N_ELEMENTS(kinds));
    if (kinds[kind] != NULL)
    {
        kinds[kind](&sum, num_nodes, num_edges, hidden_dim);
        add_edge_index(&sum, num_edges);
        add_activation(&sum, num_nodes, hidden_dim);
        add_activation(&sum, num_nodes, hidden_dim);
    }
    return finish(&sum, sizes, estimate, error);
}

gboolean ifm_estimate_feed_forward(gint64 num_nodes, gint64 hidden_dim, gint64 ffn_dim, IfmEstimate *estimate,
                                   GError **error)
{
    const Size sizes[] = { { "num_nodes", num_nodes }, { "hidden_dim", hidden_dim }, { "ffn_dim", ffn_dim }, { NULL } };
    Sum sum = { 0 };
    if (!check_sizes(sizes, error))
        return FALSE;
    add_linear(&sum, num_nodes, hidden_dim, ffn_dim, TRUE);
    add_elementwise(&sum, 4, num_nodes, ffn_dim);
    add_linear(&sum, num_nodes, ffn_dim, hidden_dim, TRUE);
    add_activation(&sum, num_nodes, hidden_dim);
    add_activation(&sum, num_nodes, hidden_dim);
    return finish(&sum, sizes, estimate, error);
}

/* --- positional encodings ----------------------------------------------------------------------------------------- */

static void add_lanczos(Sum *sum, gint64 n, gint64 e, gint64 pe_dim)
{
    gint64 k = pe_dim < n ? pe_dim + 1 : n, m = k < n / 2 ? 2 * k + 1 : n; /* min(n, p + 1), min(n, 2 k + 1) */
    add_macs(sum, m, e, 1);
    add_macs(sum, n, m, m);
    add_macs(sum, n, m, 2); /* of m + 1 the 1, and the lengths */
    add_macs(sum, n, m, k);
    add_elementwise(sum, 2, m, n);
}

static void add_walk(Sum *sum, gint64 n, gint64 e, gint64 pe_dim)
{
    add_macs(sum, pe_dim, e, n);
    add_elementwise(sum, 1, e, 1);
}

static const AddPart encodings[] = { [IFM_ENCODING_LAPLACIAN] = add_lanczos, [IFM_ENCODING_RANDOM_WALK] = add_walk };
static const char *const encoding_words[] = { "none", "lap", "rwse", NULL };

const char *const *ifm_positional_encoding_words(void)
{
    return encoding_words;
}

gboolean ifm_estimate_encoding(IfmPositionalEncoding kind, gint64 num_nodes, gint64 num_edges, gint64 pe_dim,
                               IfmEstimate *estimate, GError **error)
{
    const Size sizes[] = { { "num_nodes", num_nodes }, { "num_edges", num_edges }, { "pe_dim", pe_dim }, { NULL } };
    Sum sum = { 0 };
    if (!check_sizes(sizes, error))
        return FALSE;
    g_assert((gsize)kind < G_N_ELEMENTS(encodings));
    if (encodings[kind] != NULL)
    {
        encodings[kind](&sum, num_nodes, num_edges, pe_dim);
        add_edge_index(&sum, num_edges);
        add_activation(&sum, num_nodes, pe_dim);
    }
    return finish(&sum, sizes, estimate, error);
}

/* --- whole graph transformers ------------------------------------------------------------------------------------- */

/* norm_of_layer: The additions and normalisations between the parts of a layer. Each normalisation follows an addition. */
static gboolean norm_of_layer(const IfmTransformerSizes *sizes, IfmEstimate *estimate, GError **error)
{
    const gint64 n = sizes->num_nodes, d = sizes->hidden_dim, joins = sizes->mpnn != IFM_MESSAGE_NONE ? 1 : 0;
    const Size named[] = { { "num_nodes", n }, { "hidden_dim", d }, { NULL } };
    Sum sum = { 0 };
    for (gint64 i = 0; i < 2 + joins; i++)
    {
        add_elementwise(&sum, 1 + 5, n, d);
        add_parameters(&sum, 2, d);
    }
    add_elementwise(&sum, joins, n, d);
    for (gint64 i = 0; i < 3 * (2 + 2 * joins); i++) /* two are read, one is written */
        add_activation(&sum, n, d);
    return finish(&sum, named, estimate, error);
}

static gboolean head_of_graph(const IfmTransformerSizes *sizes, IfmEstimate *estimate, GError **error)
{
    const gint64 n = sizes->num_nodes, d = sizes->hidden_dim;
    const Size named[] = { { "num_nodes", n }, { "hidden_dim", d }, { "num_outputs", sizes->num_outputs }, { NULL } };
    Sum sum = { 0 };
    add_elementwise(&sum, 1, n, d);
    add_linear(&sum, 1, d, sizes->num_outputs, TRUE);
    add_activation(&sum, n, d);
    add_activation(&sum, 1, sizes->num_outputs);
    return finish(&sum, named, estimate, error);
}

/* layer_parts: Of one layer. */
static gboolean layer_parts(const IfmTransformerSizes *s, IfmTransformerEstimate *parts, GError **error)
{
    return ifm_estimate_message_passing(s->mpnn, s->num_nodes, s->num_edges, s->hidden_dim, &parts->mpnn, error) &&
           ifm_estimate_attention(s->num_nodes, s->hidden_dim, s->num_heads, s->sparse_ratio, &parts->attention, error) &&
           ifm_estimate_feed_forward(s->num_nodes, s->hidden_dim, s->ffn_dim, &parts->ffn, error) &&
           norm_of_layer(s, &parts->norm, error);
}

static gboolean total_of(const IfmTransformerSizes *s, IfmTransformerEstimate *parts, GError **error)
{
    const Size named[] = {
        { "num_nodes", s->num_nodes },   { "num_edges", s->num_edges }, { "hidden_dim", s->hidden_dim },
        { "num_layers", s->num_layers }, { "ffn_dim", s->ffn_dim },     { NULL },
    };
    IfmEstimate *const of_layers[] = { &parts->mpnn, &parts->attention, &parts->ffn, &parts->norm };
    Sum total = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(of_layers); i++)
    {
        Sum all = { 0 };
        ifm_estimate_add(&all.too_large, &all.of, of_layers[i], s->num_layers);
        if (!finish(&all, named, of_layers[i], error))
            return FALSE;
        ifm_estimate_add(&total.too_large, &total.of, of_layers[i], 1);
    }
    ifm_estimate_add(&total.too_large, &total.of, &parts->input, 1);
    ifm_estimate_add(&total.too_large, &total.of, &parts->head, 1);
    return finish(&total, named, &parts->total, error);
}

gboolean ifm_estimate_transformer(const IfmTransformerSizes *sizes, IfmTransformerEstimate *estimate, GError **error)
{
    const gint64 pe_dim = sizes->pe != IFM_ENCODING_NONE ? sizes->pe_dim : 0;
    const Size named[] = {
        { "num_nodes", sizes->num_nodes },
        { "num_edges", sizes->num_edges },
        { "feature_dim", sizes->feature_dim },
        { "hidden_dim", sizes->hidden_dim },
        { "num_layers", sizes->num_layers },
        { "ffn_dim", sizes->ffn_dim },
        { "num_outputs", sizes->num_outputs },
        { "pe_dim", pe_dim },
        { NULL },
    };
    IfmTransformerEstimate parts = { 0 };
    gint64 width;
    if (!check_sizes(named, error))
        return FALSE;
    if (__builtin_add_overflow(sizes->feature_dim, pe_dim, &width))
        return finish(&(Sum){ .too_large = TRUE }, named, &parts.input, error);
    if (!ifm_estimate_linear(sizes->num_nodes, width, sizes->hidden_dim, TRUE, &parts.input, error) ||
        !layer_parts(sizes, &parts, error) || !head_of_graph(sizes, &parts.head, error) ||
        !total_of(sizes, &parts, error) ||
        !ifm_estimate_encoding(sizes->pe, sizes->num_nodes, sizes->num_edges, pe_dim, &parts.encoding, error))
        return FALSE;
    *estimate = parts;
    return TRUE;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

gboolean ifm_estimate_attention_bytes(gint64 num_nodes, gint64 num_heads, double sparse_ratio, gboolean with_softmax,
                                      gint64 *bytes, GError **error)
{
    const Size sizes[] = { { "num_nodes", num_nodes }, { "num_heads", num_heads }, { NULL } };
    gint64 scores = 0;
    Sum sum = { 0 };
    if (!check_sizes(sizes, error) || !count_scores(num_nodes, sparse_ratio, &scores, error))
        return FALSE;
    for (int i = 0; i < (with_softmax ? 2 : 1); i++)
        add_activation(&sum, num_heads, scores);
    if (!finish(&sum, sizes, &sum.of, error))
        return FALSE;
    *bytes = sum.of.bytes;
    return TRUE;
}

gboolean ifm_estimate_encoding_storage(gint64 num_nodes, gint64 num_edges, gint64 dim, IfmEncodingStorage *storage,
                                       GError **error)
{
    const Size sizes[] = { { "num_nodes", num_nodes }, { "num_edges", num_edges }, { "dim", dim }, { NULL } };
    Sum sum = { 0 };
    IfmEncodingStorage found = { 0 };
    gint64 squared = 0;
    if (!check_sizes(sizes, error) || !count_scores(num_nodes, 1, &squared, error))
        return FALSE;
    ifm_estimate_count(&sum.too_large, &found.node, 4, num_nodes, dim);
    ifm_estimate_count(&sum.too_large, &found.relative_dense, 4, squared, dim);
    ifm_estimate_count(&sum.too_large, &found.relative_sparse, 4, num_edges, dim);
    ifm_estimate_count(&sum.too_large, &found.relative_sparse, 16, num_edges, 1);
    if (!finish(&sum, sizes, &sum.of, error))
        return FALSE;
    *storage = found;
    return TRUE;
}
