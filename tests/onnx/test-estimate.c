/* Estimates against graphs of the same layers, counted node by node, and against formulas written out again here. */
#include <math.h>
#include <onnx/estimate.h>
#include <onnx/onnx.h>
#include <string.h>

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define DIMS(...) G_N_ELEMENTS(((gint64[]){ __VA_ARGS__ })), ((gint64[]){ __VA_ARGS__ })

/* --- graphs of layers: each function adds nodes and returns the name of what they make ------------------------------ */

/* Graph: @n_made: so that every tensor has a name of its own. */
typedef struct
{
    IfmModelBuilder *builder;
    GPtrArray *names;
} Graph;

static Graph graph_new(void)
{
    return (Graph){ ifm_model_builder_new("layers", 20), g_ptr_array_new_with_free_func(g_free) };
}

static const char *new_name(Graph *graph)
{
    g_ptr_array_add(graph->names, g_strdup_printf("t%u", graph->names->len));
    return g_ptr_array_index(graph->names, graph->names->len - 1);
}

static const char *op(Graph *graph, const char *op_type, const char *const *inputs, gsize *node)
{
    const char *to = new_name(graph);
    gsize index = ifm_model_builder_node(graph->builder, op_type, to, inputs, NAMES(to));
    if (node != NULL)
        *node = index;
    return to;
}

static const char *input(Graph *graph, IfmDtype dtype, int rank, const gint64 *dims)
{
    const char *name = new_name(graph);
    ifm_model_builder_input(graph->builder, name, dtype, rank, dims, NULL);
    return name;
}

static const char *weight(Graph *graph, int rank, const gint64 *dims)
{
    const char *name = new_name(graph);
    ifm_model_builder_random_weight(graph->builder, name, rank, dims, 1, 1);
    return name;
}

static const char *shape(Graph *graph, gint64 n, const gint64 *dims)
{
    const char *name = new_name(graph);
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_I64, 1, &n, (void *)dims, NULL));
    ifm_model_builder_weight(graph->builder, name, &tensor);
    return name;
}

static const char *linear(Graph *graph, const char *x, gint64 in, gint64 out, gboolean bias)
{
    const char *product = op(graph, "MatMul", NAMES(x, weight(graph, DIMS(in, out))), NULL);
    return bias ? op(graph, "Add", NAMES(product, weight(graph, DIMS(out))), NULL) : product;
}

static const char *transpose(Graph *graph, const char *x, gint64 a, gint64 b, gint64 c)
{
    gsize node;
    const char *to = op(graph, "Transpose", NAMES(x), &node);
    ifm_model_builder_ints(graph->builder, node, "perm", (gint64[]){ a, b, c }, 3);
    return to;
}

/* attention: @scale: a scalar that comes in */
static const char *attention(Graph *graph, const char *x, const char *scale, gint64 n, gint64 d, gint64 h)
{
    const char *parts[3], *heads = shape(graph, 3, (gint64[]){ n, h, d / h }), *flat = shape(graph, 2, (gint64[]){ n, d });
    gsize node;
    for (int i = 0; i < 3; i++)
        parts[i] = op(graph, "Reshape", NAMES(linear(graph, x, d, d, TRUE), heads), NULL);
    const char *q = transpose(graph, parts[0], 1, 0, 2), *k = transpose(graph, parts[1], 1, 2, 0);
    const char *scores = op(graph, "Mul", NAMES(op(graph, "MatMul", NAMES(q, k), NULL), scale), NULL);
    const char *shares = op(graph, "Softmax", NAMES(scores), &node);
    ifm_model_builder_int(graph->builder, node, "axis", -1);
    const char *mixed = op(graph, "MatMul", NAMES(shares, transpose(graph, parts[2], 1, 0, 2)), NULL);
    return linear(graph, op(graph, "Reshape", NAMES(transpose(graph, mixed, 1, 0, 2), flat), NULL), d, d, TRUE);
}

static const char *sum_into(Graph *graph, const char *messages, const char *to_index, gint64 n, gint64 width)
{
    gsize node;
    const char *zeros = op(graph, "ConstantOfShape", NAMES(shape(graph, 2, (gint64[]){ n, width })), NULL);
    const char *sums = op(graph, "ScatterND", NAMES(zeros, to_index, messages), &node);
    ifm_model_builder_string(graph->builder, node, "reduction", "add");
    return sums;
}

/* sum_of_neighbours: over @e edges; @coefficients: NULL, or [e, 1] */
static const char *sum_of_neighbours(Graph *graph, const char *x, gint64 n, gint64 e, gint64 d, gboolean coefficients)
{
    const char *from = input(graph, IFM_DTYPE_I64, DIMS(e)), *to = input(graph, IFM_DTYPE_I64, DIMS(e, 1));
    const char *messages = op(graph, "Gather", NAMES(x, from), NULL);
    if (coefficients)
        messages = op(graph, "Mul", NAMES(messages, input(graph, IFM_DTYPE_F32, DIMS(e, 1))), NULL);
    return sum_into(graph, messages, to, n, d);
}

static const char *gin(Graph *graph, const char *x, gint64 n, gint64 e, gint64 d)
{
    const char *self = op(graph, "Mul", NAMES(x, weight(graph, DIMS(1))), NULL);
    const char *sum = op(graph, "Add", NAMES(self, sum_of_neighbours(graph, x, n, e, d, FALSE)), NULL);
    const char *hidden = op(graph, "Relu", NAMES(linear(graph, sum, d, d, TRUE)), NULL);
    return linear(graph, hidden, d, d, TRUE);
}

static const char *gcn(Graph *graph, const char *x, gint64 n, gint64 e, gint64 d)
{
    return linear(graph, sum_of_neighbours(graph, x, n, e + n, d, TRUE), d, d, TRUE);
}

static const char *sage(Graph *graph, const char *x, gint64 n, gint64 e, gint64 d)
{
    const char *degrees = input(graph, IFM_DTYPE_F32, DIMS(n, 1));
    const char *mean = op(graph, "Div", NAMES(sum_of_neighbours(graph, x, n, e, d, FALSE), degrees), NULL);
    return op(graph, "Add", NAMES(linear(graph, mean, d, d, TRUE), linear(graph, x, d, d, FALSE)), NULL);
}

static const char *feed_forward(Graph *graph, const char *x, gint64 d, gint64 f)
{
    return linear(graph, op(graph, "Gelu", NAMES(linear(graph, x, d, f, TRUE)), NULL), f, d, TRUE);
}

static const char *normalised_sum(Graph *graph, const char *x, const char *y, gint64 d)
{
    const char *sum = op(graph, "Add", NAMES(x, y), NULL);
    return op(graph, "LayerNormalization", NAMES(sum, weight(graph, DIMS(d)), weight(graph, DIMS(d))), NULL);
}

/* expect: @graph: used up. The graph of @output costs what the estimate says, and no node of it is left out. */
static void expect(Graph *graph, const char *output, int rank, const IfmEstimate *estimate)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = graph->builder;
    g_autoptr(GPtrArray) names = graph->names;
    ifm_model_builder_output(builder, output, IFM_DTYPE_F32, rank, (gint64[]){ -1, -1 }, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error);
    IfmNodeCost total;
    gsize n_covered;
    ifm_analysis_total(analysis, &total, &n_covered);
    g_assert_cmpuint(n_covered, ==, ifm_model_n_nodes(model));
    g_assert_cmpint(total.macs, ==, estimate->macs);
    g_assert_cmpint(total.flop, ==, estimate->flop);
    g_assert_cmpint(ifm_model_n_parameters(model), ==, estimate->parameters);
}

/* --- layers --------------------------------------------------------------------------------------------------------- */

static const struct
{
    gint64 n, e, d, h, f;
} sizes[] = { { 1, 1, 1, 1, 1 }, { 5, 12, 8, 2, 16 }, { 30, 0, 12, 3, 7 }, { 17, 100, 64, 8, 256 } };

static void test_linear(void)
{
    IfmEstimate estimate;
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (int bias = 0; bias < 2; bias++)
        {
            gint64 r = sizes[i].n, in = sizes[i].d, out = sizes[i].f;
            Graph graph = graph_new();
            g_assert_true(ifm_estimate_linear(r, in, out, bias, &estimate, NULL));
            const char *x = input(&graph, IFM_DTYPE_F32, DIMS(r, in));
            expect(&graph, linear(&graph, x, in, out, bias), 2, &estimate);
            g_assert_cmpint(estimate.macs, ==, r * in * out);
            g_assert_cmpint(estimate.flop, ==, 2 * r * in * out + bias * r * out);
            g_assert_cmpint(estimate.bytes, ==, 4 * (r * in + r * out + in * out + bias * out));
        }
}

static void test_attention(void)
{
    IfmEstimate estimate;
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    {
        gint64 n = sizes[i].n, d = sizes[i].d, h = sizes[i].h;
        Graph graph = graph_new();
        g_assert_true(ifm_estimate_attention(n, d, h, 1, &estimate, NULL));
        const char *x = input(&graph, IFM_DTYPE_F32, DIMS(n, d)), *scale = input(&graph, IFM_DTYPE_F32, 0, NULL);
        expect(&graph, attention(&graph, x, scale, n, d, h), 2, &estimate);
        g_assert_cmpint(estimate.bytes, ==, 4 * (2 * n * d + 4 * (d * d + d)));
    }
    /* Sparse to 12 of 25 scores: the projections stay, the rest is that of 12. */
    g_assert_true(ifm_estimate_attention(5, 8, 2, 12 / 25.0, &estimate, NULL));
    g_assert_cmpint(estimate.macs, ==, 4 * 5 * 8 * 8 + 2 * 12 * 8);
    g_assert_cmpint(estimate.flop, ==, 2 * estimate.macs + 4 * 5 * 8 + 6 * 12 * 2);
    /* A ratio of counts is the count again, also of large graphs. */
    const gint64 n = 1000003, e = 123456789;
    g_assert_true(ifm_estimate_attention(n, 1, 1, (double)e / ((double)n * (double)n), &estimate, NULL));
    g_assert_cmpint(estimate.macs, ==, 4 * n + 2 * e);
}

static void test_message_passing(void)
{
    const char *(*const build[])(Graph *, const char *, gint64, gint64, gint64) = { NULL, gin, gcn, sage };
    IfmEstimate estimate;
    for (IfmMessagePassing kind = IFM_MESSAGE_GIN; kind <= IFM_MESSAGE_SAGE; kind++)
        for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        {
            gint64 n = sizes[i].n, e = sizes[i].e, d = sizes[i].d;
            Graph graph = graph_new();
            g_assert_true(ifm_estimate_message_passing(kind, n, e, d, &estimate, NULL));
            const char *x = input(&graph, IFM_DTYPE_F32, DIMS(n, d));
            expect(&graph, build[kind](&graph, x, n, e, d), 2, &estimate);
        }
    g_assert_true(ifm_estimate_message_passing(IFM_MESSAGE_NONE, 5, 12, 8, &estimate, NULL));
    g_assert_cmpint(estimate.macs + estimate.flop + estimate.parameters + estimate.bytes, ==, 0);
    g_assert_true(ifm_estimate_message_passing(IFM_MESSAGE_GIN, 5, 12, 8, &estimate, NULL));
    g_assert_cmpint(estimate.bytes, ==, 16 * 12 + 4 * (2 * 5 * 8 + 2 * (64 + 8) + 1));
    g_assert_true(ifm_estimate_message_passing(IFM_MESSAGE_GCN, 5, 12, 8, &estimate, NULL));
    g_assert_cmpint(estimate.bytes, ==, (16 + 4) * (12 + 5) + 4 * (2 * 5 * 8 + 64 + 8));
    g_assert_true(ifm_estimate_message_passing(IFM_MESSAGE_SAGE, 5, 12, 8, &estimate, NULL));
    g_assert_cmpint(estimate.bytes, ==, 16 * 12 + 4 * (2 * 5 * 8 + 5 + 2 * 64 + 8));
}

static void test_feed_forward(void)
{
    IfmEstimate estimate;
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    {
        gint64 n = sizes[i].n, d = sizes[i].d, f = sizes[i].f;
        Graph graph = graph_new();
        g_assert_true(ifm_estimate_feed_forward(n, d, f, &estimate, NULL));
        expect(&graph, feed_forward(&graph, input(&graph, IFM_DTYPE_F32, DIMS(n, d)), d, f), 2, &estimate);
        g_assert_cmpint(estimate.bytes, ==, 4 * (2 * n * d + 2 * d * f + d + f));
    }
}

/* --- encodings ------------------------------------------------------------------------------------------------------ */

/* The walk, as a graph: p times, each edge takes a row of the [n, n] matrix, times its share, to its end. */
static void test_random_walk(void)
{
    for (gint64 p = 0; p < 4; p++)
    {
        const gint64 n = 9, e = 20;
        IfmEstimate estimate;
        Graph graph = graph_new();
        g_assert_true(ifm_estimate_encoding(IFM_ENCODING_RANDOM_WALK, n, e, p, &estimate, NULL));
        g_assert_cmpint(estimate.macs, ==, p * e * n);
        g_assert_cmpint(estimate.bytes, ==, 16 * e + 4 * n * p);
        const char *ones = input(&graph, IFM_DTYPE_F32, DIMS(e, 1)), *degrees = input(&graph, IFM_DTYPE_F32, DIMS(e, 1));
        const char *share = op(&graph, "Div", NAMES(ones, degrees), NULL), *walk = input(&graph, IFM_DTYPE_F32, DIMS(n, n));
        const char *from = input(&graph, IFM_DTYPE_I64, DIMS(e)), *to = input(&graph, IFM_DTYPE_I64, DIMS(e, 1));
        for (gint64 step = 0; step < p; step++)
        {
            const char *rows = op(&graph, "Gather", NAMES(walk, from), NULL);
            walk = sum_into(&graph, op(&graph, "Mul", NAMES(rows, share), NULL), to, n, n);
        }
        estimate.macs = 0; /* by the table what is scattered is no multiply-add; its FLOP are as many */
        expect(&graph, p > 0 ? walk : share, 2, &estimate);
    }
}

/* Lanczos, gone through as the loop would. */
static void test_laplacian(void)
{
    for (gint64 n = 0; n < 12; n++)
        for (gint64 p = 0; p < 8; p++)
        {
            const gint64 e = 3 * n, k = MIN(n, p + 1), m = MIN(n, 2 * k + 1);
            gint64 macs = 0, flop = 0;
            IfmEstimate estimate;
            g_assert_true(ifm_estimate_encoding(IFM_ENCODING_LAPLACIAN, n, e, p, &estimate, NULL));
            for (gint64 i = 1; i <= m; i++)
            {
                macs += e; /* A v */
                flop += n; /* v - A v */
                for (gint64 against = 1; against <= i; against++)
                    macs += 2 * n; /* a projection, taken away */
                macs += n;         /* the length */
                flop += n;
            }
            macs += n * m * k;
            g_assert_cmpint(estimate.macs, ==, macs);
            g_assert_cmpint(estimate.flop, ==, 2 * macs + flop);
            g_assert_cmpint(estimate.parameters, ==, 0);
            g_assert_cmpint(estimate.bytes, ==, 16 * e + 4 * n * p);
        }
    IfmEstimate estimate;
    g_assert_true(ifm_estimate_encoding(IFM_ENCODING_NONE, 5, 12, 8, &estimate, NULL));
    g_assert_cmpint(estimate.flop + estimate.macs + estimate.bytes, ==, 0);
}

/* --- the whole ------------------------------------------------------------------------------------------------------ */

static const char *transformer(Graph *graph, const IfmTransformerSizes *s)
{
    const gint64 n = s->num_nodes, e = s->num_edges, d = s->hidden_dim;
    const gint64 width = s->feature_dim + (s->pe != IFM_ENCODING_NONE ? s->pe_dim : 0);
    const char *(*const build[])(Graph *, const char *, gint64, gint64, gint64) = { NULL, gin, gcn, sage };
    const char *scale = input(graph, IFM_DTYPE_F32, 0, NULL);
    const char *x = linear(graph, input(graph, IFM_DTYPE_F32, DIMS(n, width)), width, d, TRUE);
    for (gint64 layer = 0; layer < s->num_layers; layer++)
    {
        const char *a = normalised_sum(graph, x, attention(graph, x, scale, n, d, s->num_heads), d);
        if (s->mpnn != IFM_MESSAGE_NONE)
            a = op(graph, "Add", NAMES(a, normalised_sum(graph, x, build[s->mpnn](graph, x, n, e, d), d)), NULL);
        x = normalised_sum(graph, a, feed_forward(graph, a, d, s->ffn_dim), d);
    }
    gsize node;
    const char *mean = op(graph, "ReduceMean", NAMES(x, shape(graph, 1, (gint64[]){ 0 })), &node);
    ifm_model_builder_int(graph->builder, node, "keepdims", 1);
    return linear(graph, mean, d, s->num_outputs, TRUE);
}

static void add_to(IfmEstimate *sum, const IfmEstimate *part)
{
    sum->macs += part->macs;
    sum->flop += part->flop;
    sum->parameters += part->parameters;
    sum->bytes += part->bytes;
}

static void test_transformer(void)
{
    for (IfmMessagePassing kind = IFM_MESSAGE_NONE; kind <= IFM_MESSAGE_SAGE; kind++)
        for (gint64 layers = 0; layers < 3; layers++)
        {
            const IfmTransformerSizes s = {
                11, 30, 7, 12, layers, 3, 24, 5, 4, 1, kind, layers > 0 ? IFM_ENCODING_RANDOM_WALK : IFM_ENCODING_NONE
            };
            IfmTransformerEstimate estimate;
            IfmEstimate sum = { 0 }, encoding;
            Graph graph = graph_new();
            g_assert_true(ifm_estimate_transformer(&s, &estimate, NULL));
            expect(&graph, transformer(&graph, &s), 2, &estimate.total);
            const IfmEstimate *const parts[] = { &estimate.input, &estimate.mpnn, &estimate.attention,
                                                 &estimate.ffn,   &estimate.norm, &estimate.head };
            for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
                add_to(&sum, parts[i]);
            g_assert_cmpmem(&sum, sizeof sum, &estimate.total, sizeof sum);
            g_assert_true(ifm_estimate_encoding(s.pe, 11, 30, s.pe != IFM_ENCODING_NONE ? 5 : 0, &encoding, NULL));
            g_assert_cmpmem(&encoding, sizeof encoding, &estimate.encoding, sizeof encoding);
            gint64 units = kind != IFM_MESSAGE_NONE ? 3 : 2, adds = kind != IFM_MESSAGE_NONE ? 4 : 2;
            g_assert_cmpint(estimate.norm.flop, ==, layers * (5 * units + adds) * 11 * 12);
            g_assert_cmpint(estimate.norm.bytes, ==, layers * 4 * ((units + adds - units) * 3 * 11 * 12 + units * 24));
        }
}

/* --- memory --------------------------------------------------------------------------------------------------------- */

static void test_memory(void)
{
    gint64 bytes;
    IfmEncodingStorage storage;
    g_assert_true(ifm_estimate_attention_bytes(100, 8, 1, FALSE, &bytes, NULL));
    g_assert_cmpint(bytes, ==, 4 * 8 * 100 * 100);
    g_assert_true(ifm_estimate_attention_bytes(100, 8, 0.03, TRUE, &bytes, NULL));
    g_assert_cmpint(bytes, ==, 2 * 4 * 8 * 300);
    g_assert_true(ifm_estimate_encoding_storage(100, 700, 16, &storage, NULL));
    g_assert_cmpint(storage.node, ==, 6400);
    g_assert_cmpint(storage.relative_dense, ==, 640000);
    g_assert_cmpint(storage.relative_sparse, ==, 700 * (64 + 16));
}

/* --- what is refused ------------------------------------------------------------------------------------------------ */

static void assert_refused(gboolean ok, GError **error, const char *said)
{
    g_assert_false(ok);
    g_assert_error(*error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr((*error)->message, ==, said);
    g_clear_error(error);
}

static void test_refused(void)
{
    g_autoptr(GError) error = NULL;
    IfmEstimate e;
    gint64 bytes;
    assert_refused(ifm_estimate_linear(-1, 2, 3, TRUE, &e, &error), &error, "rows -1: 0 or more");
    assert_refused(ifm_estimate_linear(G_MAXINT64, 2, 3, TRUE, &e, &error), &error,
                   "rows 9223372036854775807, in 2, out 3: the count does not fit 63 bits");
    assert_refused(ifm_estimate_attention(4, 6, 0, 1, &e, &error), &error, "num_heads 0: 1 or more");
    assert_refused(ifm_estimate_attention(4, 6, 4, 1, &e, &error), &error, "hidden_dim 6: a multiple of num_heads 4");
    assert_refused(ifm_estimate_attention(4, 6, 3, 1.5, &e, &error), &error, "sparse_ratio 1.5: 0 to 1");
    assert_refused(ifm_estimate_attention(4, 6, 3, NAN, &e, &error), &error, "sparse_ratio nan: 0 to 1");
    assert_refused(ifm_estimate_attention(1LL << 32, 6, 3, 1, &e, &error), &error,
                   "num_nodes 4294967296: its square does not fit 63 bits");
    assert_refused(ifm_estimate_message_passing(IFM_MESSAGE_GIN, 4, -7, 3, &e, &error), &error, "num_edges -7: 0 or more");
    assert_refused(ifm_estimate_feed_forward(4, 5, -6, &e, &error), &error, "ffn_dim -6: 0 or more");
    assert_refused(ifm_estimate_encoding(IFM_ENCODING_LAPLACIAN, 4, 5, -6, &e, &error), &error, "pe_dim -6: 0 or more");
    assert_refused(ifm_estimate_attention_bytes(-4, 5, 1, FALSE, &bytes, &error), &error, "num_nodes -4: 0 or more");
    /* As many vectors as there are nodes are the most; a wish for more is no overflow. */
    g_assert_true(ifm_estimate_encoding(IFM_ENCODING_LAPLACIAN, 0, 0, G_MAXINT64, &e, NULL));
    /* Nothing is nothing, however large the rest. */
    g_assert_true(ifm_estimate_linear(0, G_MAXINT32, G_MAXINT32 / 4, FALSE, &e, NULL));
    g_assert_cmpint(e.macs, ==, 0);
    IfmTransformerSizes sizes_of = { 4, 4, 4, 4, 1LL << 60, 2, 4, 4, 4, 1, IFM_MESSAGE_NONE, IFM_ENCODING_NONE };
    IfmTransformerEstimate whole;
    assert_refused(ifm_estimate_transformer(&sizes_of, &whole, &error), &error,
                   "num_nodes 4, num_edges 4, hidden_dim 4, num_layers 1152921504606846976, ffn_dim 4: the count does not "
                   "fit 63 bits");
    sizes_of.num_layers = -1;
    assert_refused(ifm_estimate_transformer(&sizes_of, &whole, &error), &error, "num_layers -1: 0 or more");
}

static void test_words(void)
{
    g_assert_cmpstr(ifm_message_passing_words()[IFM_MESSAGE_NONE], ==, "none");
    g_assert_cmpstr(ifm_message_passing_words()[IFM_MESSAGE_GCN], ==, "gcn");
    g_assert_cmpstr(ifm_message_passing_words()[IFM_MESSAGE_SAGE], ==, "sage");
    g_assert_null(ifm_message_passing_words()[IFM_MESSAGE_SAGE + 1]);
    g_assert_cmpstr(ifm_positional_encoding_words()[IFM_ENCODING_LAPLACIAN], ==, "lap");
    g_assert_cmpstr(ifm_positional_encoding_words()[IFM_ENCODING_RANDOM_WALK], ==, "rwse");
    g_assert_null(ifm_positional_encoding_words()[IFM_ENCODING_RANDOM_WALK + 1]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/onnx/estimate/linear", test_linear);
    g_test_add_func("/onnx/estimate/attention", test_attention);
    g_test_add_func("/onnx/estimate/message-passing", test_message_passing);
    g_test_add_func("/onnx/estimate/feed-forward", test_feed_forward);
    g_test_add_func("/onnx/estimate/random-walk", test_random_walk);
    g_test_add_func("/onnx/estimate/laplacian", test_laplacian);
    g_test_add_func("/onnx/estimate/transformer", test_transformer);
    g_test_add_func("/onnx/estimate/memory", test_memory);
    g_test_add_func("/onnx/estimate/refused", test_refused);
    g_test_add_func("/onnx/estimate/words", test_words);
    return g_test_run();
}
