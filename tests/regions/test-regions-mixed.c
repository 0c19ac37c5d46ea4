/* Models of which regions can hold a part alone: quantised ones, such with branches and loops, whose graphs read tensors of
 * the outer one, and such whose weights callers may replace. No engine is asked. */
#include "made-regions.h"
#include "model-bytes.h"

#define PADS " pads=[1,1,1,1]; "

/* --- a model and a node with graphs ----------------------------------------------------------------------------------- */

enum
{
    MODEL_GRAPH = 7, /* fields of onnx.proto */
    GRAPH_NODE = 1,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_GRAPH = 6,
    ATTRIBUTE_TYPE = 20,
    TYPE_GRAPH = 5,
};

static guint64 read_varint(const guint8 **at)
{
    guint64 value = 0;
    for (int shift = 0;; shift += 7)
    {
        const guint8 byte = *(*at)++;
        value |= (guint64)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
}

/* The graph without its node "Later", which a text has in the place of one that no text can say. (transfer full) */
static GByteArray *without_later(const guint8 *at, gsize size)
{
    GByteArray *graph = g_byte_array_new();
    const guint8 *const end = at + size;
    while (at < end)
    {
        const guint8 *begin = at;
        const guint64 key = read_varint(&at), length = read_varint(&at);
        at += length; /* all fields of a graph that the builder writes are messages or texts */
        if (key >> 3 != GRAPH_NODE || memmem(begin, (gsize)(at - begin), "Later", strlen("Later")) == NULL)
            g_byte_array_append(graph, begin, (guint)(at - begin));
    }
    return graph;
}

/* The model of a text with one more message in its graph. @message: (transfer full) */
static IfmModel *model_with(const char *text, guint field, GByteArray *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) plain = text_model(text, IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(GBytes) bytes = ifm_model_serialize(plain, &error);
    g_assert_no_error(error);
    gsize size;
    const guint8 *at = g_bytes_get_data(bytes, &size), *const end = at + size;
    GByteArray *whole = g_byte_array_new();
    while (at < end)
    {
        const guint8 *begin = at;
        const guint64 key = read_varint(&at), length = read_varint(&at);
        const gboolean has_bytes = (key & 7) == 2;
        if (key >> 3 == MODEL_GRAPH)
        {
            GByteArray *graph = without_later(at, length);
            put_message(graph, field, message);
            put_message(whole, MODEL_GRAPH, graph);
        }
        at += has_bytes ? length : 0;
        if (key >> 3 != MODEL_GRAPH)
            g_byte_array_append(whole, begin, (guint)(at - begin));
    }
    g_autoptr(GBytes) all = g_byte_array_free_to_bytes(whole);
    IfmModel *model = ifm_model_parse(all, "test", &error);
    g_assert_no_error(error);
    return model;
}

static GByteArray *make_node(const char *op_type, const char *const *inputs, const char *output)
{
    GByteArray *out = g_byte_array_new();
    for (; *inputs != NULL; inputs++)
        put_text(out, 1, *inputs);
    put_text(out, 2, output);
    put_text(out, 3, output);
    put_text(out, 4, op_type);
    return out;
}
#define NODE(op_type, output, ...) make_node(op_type, (const char *const[]){ __VA_ARGS__, NULL }, output)

static void put_graph(GByteArray *node, const char *name, GByteArray *graph)
{
    GByteArray *attribute = g_byte_array_new();
    put_text(attribute, 1, name);
    put_number(attribute, ATTRIBUTE_TYPE, TYPE_GRAPH);
    put_message(attribute, ATTRIBUTE_GRAPH, graph);
    put_message(node, NODE_ATTRIBUTE, attribute);
}

/* A branch of one node. @node: (transfer full) */
static GByteArray *branch(GByteArray *node, const char *output)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, GRAPH_NODE, node);
    put_message(graph, GRAPH_OUTPUT, bytes_named(output));
    return graph;
}

/* --- what is checked -------------------------------------------------------------------------------------------------- */

static gsize index_of(const IfmModel *model, const char *op_type)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->op_type, op_type))
            return i;
    g_error("there is no %s", op_type);
}

/* The tensor is made before the node that reads it, by whatever made it then. */
static void assert_made_before(const IfmModel *model, const char *tensor, const char *op_type)
{
    const gssize maker = ifm_model_producer(model, tensor);
    g_assert_cmpint(maker, >=, 0);
    g_assert_cmpuint((gsize)maker, <, index_of(model, op_type));
}

/* Both ways, and as files: a parser refuses a name that is out of a graph's scope. @read: NULL-terminated: what @op_type's
 * graphs read of the outer graph */
static void check_both(IfmModel *model, IfmModel *made, const char *op_type, const char *const *read)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) expanded = ifm_regions_expand(made, &error);
    g_assert_no_error(error);
    IfmModel *const models[] = { made, expanded };
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++)
    {
        g_autoptr(GBytes) bytes = ifm_model_serialize(models[i], &error);
        g_assert_no_error(error);
        g_autoptr(IfmModel) again = ifm_model_parse(bytes, "again", &error);
        g_assert_no_error(error);
        g_assert_true(ifm_node_has_subgraph(ifm_model_node(again, index_of(again, op_type))));
        for (const char *const *name = read; *name != NULL; name++)
            assert_made_before(again, *name, op_type);
    }
    check_expanded(model, made, NULL, 0);
}

/* --- branches and loops ----------------------------------------------------------------------------------------------- */

#define CONVS                                                                                                              \
    "x : [1,4,9,9]; w ! [4,4,3,3]; a = Conv(x, w)" PADS "r = Relu(a); b = Conv(r, w)" PADS                                 \
    "y = Later(a); c = Conv(y, w)" PADS "-> c [1,4,9,9]; "

/* The branches read what the first region makes within: it is an output of it, and what follows them is a region of its
 * own. A branch has the weights of a convolution, too: they stay. */
static void test_branches(void)
{
    GByteArray *either = NODE("If", "y", "high");
    put_graph(either, "then_branch", branch(NODE("Add", "t", "r", "b"), "t"));
    put_graph(either, "else_branch", branch(NODE("Conv", "e", "a", "v"), "e"));
    g_autoptr(IfmModel) model =
        model_with(CONVS "v ! [4,4,1,1]; s : [] ; zero % [] 0; high = Greater(s, zero);", GRAPH_NODE, either);
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = partitioned(model, &report);
    IfmTensor weights;
    check_made(model, made, &report);
    check_both(model, made, "If", (const char *const[]){ "a", "r", "b", NULL });
    g_assert_cmpuint(report.convs->len, ==, 3); /* of the graph itself */
    g_assert_cmpuint(report.n_taken, ==, 3);
    g_assert_cmpuint(report.n_regions, ==, 2);
    g_assert_true(ifm_model_initializer(made, "v", &weights));
}

/* What a branch alone reads is an output of the region, where nobody else reads it. */
static void test_read_by_a_branch_alone(void)
{
    GByteArray *either = NODE("If", "y", "high");
    put_graph(either, "then_branch", branch(NODE("Identity", "t", "q"), "t"));
    put_graph(either, "else_branch", branch(NODE("Identity", "e", "b"), "e"));
    g_autoptr(IfmModel) model =
        model_with(CONVS "q = Relu(b); s : [] ; zero % [] 0; high = Greater(s, zero);", GRAPH_NODE, either);
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = partitioned(model, &report);
    check_made(model, made, &report);
    check_both(model, made, "If", (const char *const[]){ "b", "q", NULL });
}

/* The body of a loop reads outer tensors in each of its turns, and one is handed from turn to turn. */
static void test_loop(void)
{
    GByteArray *body = g_byte_array_new(), *loop = NODE("Loop", "y", "turns", "", "r");
    put_message(body, GRAPH_NODE, NODE("Identity", "go_on", "go"));
    put_message(body, GRAPH_NODE, NODE("Mul", "next", "now", "b"));
    put_message(body, GRAPH_INPUT, bytes_named("turn"));
    put_message(body, GRAPH_INPUT, bytes_named("go"));
    put_message(body, GRAPH_INPUT, bytes_named("now"));
    put_message(body, GRAPH_OUTPUT, bytes_named("go_on"));
    put_message(body, GRAPH_OUTPUT, bytes_named("next"));
    put_graph(loop, "body", body);
    g_autoptr(IfmModel) model = model_with(CONVS "turns # [] 3;", GRAPH_NODE, loop);
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = partitioned(model, &report);
    check_made(model, made, &report);
    check_both(model, made, "Loop", (const char *const[]){ "r", "b", NULL });
    g_assert_cmpuint(report.n_taken, ==, report.n_regions == 2 ? 3 : 2); /* behind the loop shapes may not be known */
}

/* A convolution in a branch alone is none of the graph's: there is nothing to tune. */
static void test_inner_alone(void)
{
    g_autoptr(GError) error = NULL;
    const IfmRegionsOptions options = { 0 };
    GByteArray *either = NODE("If", "y", "high");
    put_graph(either, "then_branch", branch(NODE("Conv", "t", "x", "w"), "t"));
    put_graph(either, "else_branch", branch(NODE("Identity", "e", "x"), "e"));
    g_autoptr(IfmModel) model = model_with("x : [1,4,9,9]; w ! [4,4,1,1]; s : [] ; zero % [] 0; high = Greater(s, zero); "
                                           "y = Later(x); z = Relu(y); -> z [1,4,9,9]",
                                           GRAPH_NODE, either);
    g_assert_null(ifm_regions_partition(model, &options, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, "test has no convolution");
}

/* --- quantised models ------------------------------------------------------------------------------------------------- */

static void add_constant(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *shape,
                         double value)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    g_assert_true(ifm_tensor_init(&tensor, dtype, rank, shape, &error));
    for (gint64 i = 0; i < ifm_tensor_n_elements(&tensor); i++)
        if (dtype == IFM_DTYPE_F32)
            ((float *)tensor.data)[i] = (float)value;
        else
            ((gint8 *)tensor.data)[i] = (gint8)(rank > 0 ? i % 7 - 3 : 0);
    ifm_model_builder_weight(builder, name, &tensor);
}

static void add_node(IfmModelBuilder *builder, const char *op_type, const char *output, const char *const *inputs)
{
    const gsize node = ifm_model_builder_node(builder, op_type, output, inputs, (const char *const[]){ output, NULL });
    static const gint64 pads[] = { 1, 1, 1, 1 };
    if (g_str_equal(op_type, "Conv"))
        ifm_model_builder_ints(builder, node, "pads", pads, G_N_ELEMENTS(pads));
}
#define ADD(op_type, output, ...) add_node(builder, op_type, output, (const char *const[]){ __VA_ARGS__, NULL })

/* x -> first, in f32 -> quantised and back -> second, whose weights are quantised -> quantised and back -> third, in f32 */
static IfmModel *quantised_model(gboolean has_plain)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("quantised", 17);
    const gint64 image[] = { 1, 4, 9, 9 }, kernel[] = { 4, 4, 3, 3 }, none[] = { 0 };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, image, NULL);
    ifm_model_builder_random_weight(builder, "w", 4, kernel, 1, 1);
    add_constant(builder, "qw", IFM_DTYPE_I8, 4, kernel, 0);
    add_constant(builder, "scale", IFM_DTYPE_F32, 0, none, 0.05);
    add_constant(builder, "zero", IFM_DTYPE_I8, 0, none, 0);
    if (has_plain)
        ADD("Conv", "first", "x", "w");
    ADD("QuantizeLinear", "q1", has_plain ? "first" : "x", "scale", "zero");
    ADD("DequantizeLinear", "d1", "q1", "scale", "zero");
    ADD("DequantizeLinear", "dw", "qw", "scale", "zero");
    ADD("Conv", "second", "d1", "dw");
    ADD("Relu", "positive", "second");
    ADD("QuantizeLinear", "q2", "positive", "scale", "zero");
    ADD("DequantizeLinear", "d2", "q2", "scale", "zero");
    if (has_plain)
        ADD("Conv", "third", "d2", "w");
    ifm_model_builder_output(builder, has_plain ? "third" : "d2", IFM_DTYPE_F32, 4, image, NULL);
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    return model;
}

static guint count(const IfmModel *model, const char *op_type)
{
    guint n = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        n += g_str_equal(ifm_model_node(model, i)->op_type, op_type);
    return n;
}

/* What is quantised stays as it is, with its constants; what is not is in regions before and behind it. */
static void test_quantised(void)
{
    static const char *const whys[] = { NULL, "weights that are no constants", NULL };
    g_autoptr(IfmModel) model = quantised_model(TRUE);
    g_auto(IfmRegionsReport) report = { 0 };
    g_autoptr(IfmModel) made = partitioned(model, &report);
    IfmTensor tensor;
    check_made(model, made, &report);
    check_expanded(model, made, NULL, 0);
    g_assert_cmpuint(report.convs->len, ==, G_N_ELEMENTS(whys));
    for (guint i = 0; i < report.convs->len; i++)
        g_assert_cmpstr(g_array_index(report.convs, IfmRegionConv, i).why, ==, whys[i]);
    g_assert_cmpuint(report.n_regions, ==, 2);
    g_assert_cmpuint(count(made, "Conv"), ==, 1);
    g_assert_cmpuint(count(made, "Relu"), ==, 1); /* its convolution is in no region */
    g_assert_cmpuint(count(made, "QuantizeLinear"), ==, 2);
    g_assert_cmpuint(count(made, "DequantizeLinear"), ==, 3);
    g_assert_true(ifm_model_initializer(made, "qw", &tensor));
    g_assert_cmpint(tensor.dtype, ==, IFM_DTYPE_I8);
}

static void test_all_quantised(void)
{
    g_autoptr(GError) error = NULL;
    const IfmRegionsOptions options = { 0 };
    g_autoptr(IfmModel) model = quantised_model(FALSE);
    g_assert_null(ifm_regions_partition(model, &options, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==,
                    "quantised: no convolution can be tuned: the first, \"second\", is weights that are no constants");
}

/* --- weights that callers may replace --------------------------------------------------------------------------------- */

/* An initializer that is an input, too: a caller may give another one, which a region could not follow. */
static void test_overridable(void)
{
    g_autoptr(GError) error = NULL;
    const IfmRegionsOptions options = { 0 };
    static const char *const text = "x : [1,4,9,9]; w ! [4,4,3,3]; y = Conv(x, w); -> y [1,4,7,7]";
    g_autoptr(IfmModel) model = model_with(text, GRAPH_INPUT, bytes_port("w", 4));
    g_assert_cmpuint(ifm_model_n_inputs(model), ==, 1);
    g_assert_null(ifm_regions_partition(model, &options, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(
        error->message, ==,
        "test: \"w\" has a value and is an input, too: a program may give it another, which a tuned model could "
        "not follow: take it out of the inputs, or take its value out");
    g_clear_error(&error);
    g_autoptr(IfmModel) plain = text_model(text, IFM_DTYPE_F32, FALSE, 17);
    g_assert_true(ifm_regions_check(plain, &error));
    g_assert_no_error(error);
}

/* --- other versions --------------------------------------------------------------------------------------------------- */

/* A model of a later version of the domain, whatever its program says. */
static void test_later_version(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("later", 17);
    const gint64 shape[] = { 1, 4, 9, 9 };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, shape, NULL);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 4, shape, NULL);
    const gsize node = ifm_model_builder_node(builder, IFM_REGION_OPERATOR, "r", (const char *const[]){ "x", NULL },
                                              (const char *const[]){ "y", NULL });
    ifm_model_builder_domain(builder, node, IFM_REGION_DOMAIN, IFM_REGION_VERSION + 1);
    ifm_model_builder_string(builder, node, "program", "region 1\ninput nchw\nact v0 relu 0 0\noutput nchw v1\n");
    ifm_model_builder_int(builder, node, "n_values", 1);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_null(ifm_regions_expand(model, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==,
                    "later: its regions are of version 2 of the domain inferometer, inferometer " IFM_VERSION
                    " knows version 1");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/regions-mixed/branches", test_branches);
    g_test_add_func("/regions-mixed/read-by-a-branch-alone", test_read_by_a_branch_alone);
    g_test_add_func("/regions-mixed/loop", test_loop);
    g_test_add_func("/regions-mixed/inner-alone", test_inner_alone);
    g_test_add_func("/regions-mixed/quantised", test_quantised);
    g_test_add_func("/regions-mixed/all-quantised", test_all_quantised);
    g_test_add_func("/regions-mixed/overridable", test_overridable);
    g_test_add_func("/regions-mixed/later-version", test_later_version);
    return g_test_run();
}
