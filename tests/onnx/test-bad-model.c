/* Models that are wrong: each is refused with one line that names the place, and costs little. */
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <onnx/onnx.h>

#include "model-bytes.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* --- what is expected ----------------------------------------------------------------------------------------------- */

static void assert_one_line(const GError *error)
{
    g_assert_null(strpbrk(error->message, "\n\r"));
    g_assert_true(g_utf8_validate(error->message, -1, NULL));
    g_assert_cmpuint(strlen(error->message), <, 1000);
}

/* assert_refused: @bytes: (transfer full)    @said: a part of the message */
static void assert_refused(GByteArray *bytes, const char *said)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) whole = g_byte_array_free_to_bytes(bytes);
    g_autoptr(IfmModel) opened = ifm_model_parse(whole, "bad.onnx", &error);
    g_assert_null(opened);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    assert_one_line(error);
    if (!g_str_has_prefix(error->message, "bad.onnx: ") || strstr(error->message, said) == NULL)
        g_error("expected '%s' in: %s", said, error->message);
}

static void assert_accepted(GByteArray *bytes)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GBytes) whole = g_byte_array_free_to_bytes(bytes);
    g_autoptr(IfmModel) opened = ifm_model_parse(whole, "good.onnx", &error);
    g_assert_no_error(error);
    g_assert_nonnull(opened);
}

static GByteArray *from_text(const char *text)
{
    GByteArray *out = g_byte_array_new();
    return g_byte_array_append(out, (const guint8 *)text, (guint)strlen(text));
}

/* --- files that are no models --------------------------------------------------------------------------------------- */

static void test_not_a_model(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    assert_refused(g_byte_array_new(), "is empty");
    assert_refused(from_text("This is no model but a page of text.\n"), "");
    assert_refused(from_text("\x89PNG\r\n\x1a\n"), "");
    for (int i = 0; i < 200; i++)
    {
        GByteArray *junk = g_byte_array_new();
        for (int k = 0; k < 300; k++)
        {
            guint8 byte = (guint8)g_rand_int(random);
            g_byte_array_append(junk, &byte, 1);
        }
        assert_refused(junk, "");
    }
    /* All of these are lawful protobuf. */
    assert_refused(from_text("\x28\x01"), "ir_version is missing");
    assert_refused(bytes_model(8, 17, NULL), "no graph");
    assert_refused(bytes_model(0, 17, g_byte_array_new()), "ir_version is missing");
    assert_refused(bytes_model(99, 17, g_byte_array_new()), "ir_version 99 is newer than");
    assert_refused(bytes_model(8, 0, g_byte_array_new()), "opset_import");
    assert_accepted(bytes_model(8, 17, g_byte_array_new()));
}

static void test_truncated(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) whole = ifm_zoo_build("small-cnn", NAMES("size=16", "channels=16"), 1, &error);
    g_assert_no_error(error);
    g_autoptr(GBytes) bytes = ifm_model_serialize(whole, NULL);
    gsize size;
    const guint8 *data = g_bytes_get_data(bytes, &size);
    g_assert_cmpuint(size, >, IFM_MODEL_MAPPED_MIN_BYTES); /* so that a mapped tensor is cut through, too */
    for (gsize part = 0; part < 50; part++)
    {
        GByteArray *cut = g_byte_array_new();
        assert_refused(g_byte_array_append(cut, data, (guint)(size * part / 50)), "");
    }
    GByteArray *last = g_byte_array_new();
    assert_refused(g_byte_array_append(last, data, (guint)size - 1), "");
}

static void test_no_file(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_model_open("/nonexistent/model.onnx", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_cmpstr(error->message, ==, "/nonexistent/model.onnx: No such file or directory");
    g_clear_error(&error);
    g_assert_null(ifm_model_open("/tmp", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_null(ifm_model_open("/dev/null", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* --- nesting -------------------------------------------------------------------------------------------------------- */

static void test_deep(void)
{
    assert_refused(bytes_nested(1 << 20), "nested deeper than 64 messages");
    assert_refused(bytes_nested(66 * 6 + 2), "nested deeper than 64 messages");
    /* Types nest, too: a sequence of sequences. */
    GByteArray *type = g_byte_array_new();
    for (int i = 0; i < 2000; i++)
    {
        GByteArray *sequence = g_byte_array_new(), *outer = g_byte_array_new();
        put_message(sequence, 1, type);
        put_message(outer, 4, sequence);
        type = outer;
    }
    GByteArray *input = bytes_named("x"), *graph = g_byte_array_new();
    put_message(input, 2, type);
    put_message(graph, 11, input);
    assert_refused(bytes_model(8, 17, graph), "graph.input[0].type.sequence_type.elem_type");
}

/* subgraphs: an If in an If …, @depth of them, all lawful. */
static GByteArray *subgraphs(int depth)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, 1, bytes_node("Identity", "x", "y"));
    for (int i = 0; i < depth; i++)
    {
        GByteArray *attribute = bytes_named("then_branch"), *outer = g_byte_array_new(),
                   *conditional = bytes_node("If", "x", "y");
        put_message(attribute, 6, graph);
        put_message(conditional, 5, attribute);
        put_message(outer, 1, conditional);
        graph = outer;
    }
    put_message(graph, 11, bytes_named("x"));
    return bytes_model(8, 17, graph);
}

static void test_subgraph_depth(void)
{
    assert_accepted(subgraphs(1));
    assert_accepted(subgraphs(20));
    assert_refused(subgraphs(22), "nested deeper");
}

/* --- wire format ---------------------------------------------------------------------------------------------------- */

static GByteArray *with_graph_bytes(const char *bytes, gsize length)
{
    GByteArray *graph = g_byte_array_new();
    g_byte_array_append(graph, (const guint8 *)bytes, (guint)length);
    return bytes_model(8, 17, graph);
}

static void test_wire(void)
{
    assert_refused(with_graph_bytes("\x0a\x7f", 2), "graph, byte 5: field 1 says 127 bytes, but its message has 0 left");
    assert_refused(with_graph_bytes("\x0b", 1), "wire type 3"); /* a group */
    assert_refused(with_graph_bytes("\x08\x01", 2), "node has wire type 0, not 2");
    assert_refused(with_graph_bytes("\x00\x01", 2), "no field has the number 0");
    assert_refused(with_graph_bytes("\x12\x80", 2), "cut off");
    assert_refused(with_graph_bytes("\x12\x80\x80\x80\x80\x80\x01", 7), "longer than its type allows");
    assert_refused(with_graph_bytes("\xf8\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 12), "longer than its type allows");
    assert_refused(with_graph_bytes("\x12\x03"
                                    "a\0b",
                                    5),
                   "name holds a zero byte");
    assert_refused(with_graph_bytes("\x2a\x04\x22\x02\x00\x00", 6), "graph.initializer[0]"); /* float_data of 2 bytes */
    assert_refused(with_graph_bytes("\x2a\x03\x3a\x01\x80", 5), "a packed number does not end");
    assert_accepted(with_graph_bytes("\xf8\x01\x05", 3)); /* a field of a version to come */
    /* Our own mark for a tensor that was taken out, in a file: an unknown field like any other. */
    GByteArray *graph = g_byte_array_new(), *weight = bytes_tensor((gint64[]){ 2 }, 1, 8);
    g_byte_array_append(weight, (const guint8 *)"\xc5\x3e\x07\x00\x00\x00", 6);
    put_message(graph, 5, weight);
    assert_accepted(bytes_model(8, 17, graph));
    GByteArray *twice = bytes_model(8, 17, g_byte_array_new());
    put_message(twice, 7, g_byte_array_new());
    assert_refused(twice, "graph is given twice");
}

/* --- tensors -------------------------------------------------------------------------------------------------------- */

static GByteArray *with_tensor(const gint64 *dims, gsize n_dims, gsize n_bytes)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, 5, bytes_tensor(dims, n_dims, n_bytes));
    return bytes_model(8, 17, graph);
}

static void test_tensors(void)
{
    const gint64 sixteen[17] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    assert_accepted(with_tensor((gint64[]){ 2, 3 }, 2, 24));
    assert_accepted(with_tensor(NULL, 0, 4));
    assert_accepted(with_tensor((gint64[]){ 0, 3 }, 2, 0));
    assert_accepted(with_tensor((gint64[]){ 64, 64 }, 2, 1 << 14)); /* mapped */
    assert_refused(with_tensor((gint64[]){ 2, 3 }, 2, 23),
                   "graph.initializer[0]: tensor 'w': shape [2,3] needs 24 bytes, but there are 23 in raw_data");
    assert_refused(with_tensor((gint64[]){ 64, 65 }, 2, 1 << 14), "needs 16640 bytes, but there are 16384");
    assert_refused(with_tensor((gint64[]){ 1 << 30, 1 << 20 }, 2, 4), "shape [1073741824,1048576] needs");
    assert_refused(with_tensor((gint64[]){ 1LL << 40, 1LL << 40 }, 2, 4), "larger than any memory");
    assert_refused(with_tensor((gint64[]){ 1LL << 32, 1LL << 32 }, 2, 0), "larger than any memory"); /* 0 modulo 2^64 */
    assert_refused(with_tensor((gint64[]){ 2, -3 }, 2, 24), "dimension 1 is -3, below 0");
    assert_refused(with_tensor(sixteen, 17, 4), "has 17 dimensions, more than 16");
    /* A tensor that says it is larger than its file. */
    GByteArray *graph = g_byte_array_new();
    g_byte_array_append(graph, (const guint8 *)"\x2a\x0b\x08\x01\x10\x01\x4a\xff\xff\xff\xff\x07", 12);
    assert_refused(bytes_model(8, 17, graph), "");
    /* Values of one type in another's field. */
    GByteArray *wrong = g_byte_array_new(), *weight = g_byte_array_new();
    put_number(weight, 1, 1);
    put_number(weight, 2, 1);
    put_bytes(weight, 7, "\x05", 1);
    put_text(weight, 8, "w");
    put_message(wrong, 5, weight);
    assert_refused(bytes_model(8, 17, wrong), "int64_data");
}

/* --- graphs --------------------------------------------------------------------------------------------------------- */

static GByteArray *with_nodes(GByteArray *first, GByteArray *second)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, 1, first);
    if (second != NULL)
        put_message(graph, 1, second);
    put_message(graph, 11, bytes_named("x"));
    return bytes_model(8, 17, graph);
}

static void test_graphs(void)
{
    assert_accepted(with_nodes(bytes_node("Relu", "y", "z"), bytes_node("Relu", "x", "y"))); /* order is ours to make */
    assert_refused(with_nodes(bytes_node("Relu", "nobody", "y"), NULL),
                   "node 0 (Relu): 'nobody' is read, but nothing makes it");
    assert_refused(with_nodes(bytes_node("Relu", "a", "b"), bytes_node("Neg", "b", "a")), "cycle");
    assert_refused(with_nodes(bytes_node("Relu", "a", "a"), NULL), "cycle");
    assert_refused(with_nodes(bytes_node("Relu", "x", "y"), bytes_node("Neg", "x", "y")),
                   "node 1 (Neg): output 0: 'y' is defined twice");
    assert_refused(with_nodes(bytes_node("Relu", "x", "x"), NULL), "'x' is defined twice");
    assert_refused(with_nodes(bytes_node("", "x", "y"), NULL), "no operator is named");
    assert_refused(with_nodes(bytes_node("Re\nlu\xff", "q", "y"), NULL),
                   "'q' is read"); /* a name that is no line of text */
    GByteArray *output = g_byte_array_new();
    put_message(output, 12, bytes_named("nobody"));
    assert_refused(bytes_model(8, 17, output), "graph output 0: 'nobody'");
    GByteArray *inputs = g_byte_array_new();
    put_message(inputs, 11, bytes_named("x"));
    put_message(inputs, 11, bytes_named("x"));
    assert_refused(bytes_model(8, 17, inputs), "graph input 1: 'x' is defined twice");
    GByteArray *weights = g_byte_array_new();
    put_message(weights, 5, bytes_tensor(NULL, 0, 4));
    put_message(weights, 5, bytes_tensor(NULL, 0, 4));
    assert_refused(bytes_model(8, 17, weights), "initializer 1: 'w' is defined twice");
}

/* conditional: an If on "x" that makes "y", whose branch holds @inner. */
static GByteArray *conditional(GByteArray *inner)
{
    GByteArray *branch = g_byte_array_new(), *attribute = bytes_named("then_branch"), *result = bytes_node("If", "x", "y");
    put_message(branch, 1, inner);
    put_message(attribute, 6, branch);
    put_message(result, 5, attribute);
    return result;
}

static void test_scopes(void)
{
    assert_accepted(with_nodes(conditional(bytes_node("Relu", "x", "in")), NULL));
    assert_accepted(with_nodes(conditional(bytes_node("Relu", "later", "in")), bytes_node("Relu", "x", "later")));
    assert_refused(with_nodes(conditional(bytes_node("Relu", "nobody", "in")), NULL),
                   "node 0 (If): attribute 'then_branch': node 0 (Relu): 'nobody' is read, but nothing makes it");
    /* What is inside a branch is not seen outside; what a branch reads, its If needs. */
    assert_refused(with_nodes(conditional(bytes_node("Relu", "x", "in")), bytes_node("Relu", "in", "z")), "'in' is read");
    assert_refused(with_nodes(conditional(bytes_node("Relu", "y", "in")), NULL), "cycle");
    assert_refused(with_nodes(conditional(bytes_node("Relu", "z", "in")), bytes_node("Relu", "y", "z")), "cycle");
}

static void test_captures(void)
{
    GByteArray *bytes = with_nodes(conditional(bytes_node("Relu", "later", "in")), bytes_node("Relu", "x", "later"));
    g_autoptr(GBytes) whole = g_byte_array_free_to_bytes(bytes);
    g_autoptr(IfmModel) opened = ifm_model_parse(whole, "captures", NULL);
    g_assert_cmpstr(ifm_model_node(opened, 0)->op_type, ==, "Relu");
    g_assert_cmpstr(ifm_model_node(opened, 1)->op_type, ==, "If");
    const GArray *consumers = ifm_model_consumers(opened, "later");
    g_assert_cmpuint(consumers->len, ==, 1);
    g_assert_cmpuint(g_array_index(consumers, gsize, 0), ==, 1);
}

/* --- external data -------------------------------------------------------------------------------------------------- */

/* open_external: a model in @folder whose weight [4] lies in another file. Returns: (transfer full) */
static IfmModel *open_external(const char *folder, const char *location, const char *offset, const char *length,
                               GError **error)
{
    const char *const given[][2] = { { "location", location }, { "offset", offset }, { "length", length } };
    const char *pairs[2 * G_N_ELEMENTS(given) + 1] = { NULL };
    GByteArray *graph = g_byte_array_new();
    for (gsize i = 0, n = 0; i < G_N_ELEMENTS(given); i++)
        if (given[i][1] != NULL)
        {
            pairs[n++] = given[i][0];
            pairs[n++] = given[i][1];
        }
    put_message(graph, 5, bytes_external(4, pairs));
    g_autoptr(GByteArray) bytes = bytes_model(8, 17, graph);
    g_autofree char *path = g_build_filename(folder, "model.onnx", NULL);
    g_assert_true(g_file_set_contents(path, (const char *)bytes->data, bytes->len, NULL));
    return ifm_model_open(path, error);
}

static void assert_external_refused(const char *folder, const char *location, const char *offset, const char *length,
                                    const char *said)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) opened = open_external(folder, location, offset, length, &error);
    g_assert_null(opened);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    assert_one_line(error);
    if (strstr(error->message, said) == NULL)
        g_error("expected '%s' in: %s", said, error->message);
}

/* The outline of a model whose weights are missing: their shapes are there, their values are not. */
static void assert_outline(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) outline = ifm_model_open_outline(path, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(outline, NULL, 0, &error);
    g_assert_no_error(error);
    IfmTensor w;
    IfmDtype dtype;
    gint64 shape[IFM_MAX_RANK];
    int rank;
    g_assert_false(ifm_model_initializer(outline, "w", &w));
    g_assert_true(ifm_analysis_shape(analysis, "w", &dtype, &rank, shape));
    g_assert_cmpint(dtype, ==, IFM_DTYPE_F32);
    g_assert_cmpint(rank, ==, 1);
    g_assert_cmpint(shape[0], ==, 4);
    g_assert_cmpint(ifm_model_n_parameters(outline), ==, 4);
}

static void test_external(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-external-XXXXXX", NULL);
    g_autofree char *inside = g_build_filename(folder, "model", NULL);
    g_autofree char *weights = g_build_filename(inside, "weights.bin", NULL);
    /* Beside it, a folder with a name as long, and one whose name begins the same. */
    g_autofree char *other = g_build_filename(folder, "other", NULL);
    g_autofree char *longer = g_build_filename(folder, "model2", NULL);
    g_autofree char *secret = g_build_filename(other, "secret.bin", NULL);
    g_autofree char *secret2 = g_build_filename(longer, "secret.bin", NULL);
    g_autofree char *bridge2 = g_build_filename(inside, "bridge2.bin", NULL);
    g_autofree char *bridge = g_build_filename(inside, "bridge.bin", NULL);
    g_autofree char *alias = g_build_filename(inside, "alias.bin", NULL);
    g_autofree char *path = g_build_filename(inside, "model.onnx", NULL);
    float values[] = { 9, 9, 1, 2, 3, 4 };
    g_assert_cmpint(g_mkdir(inside, 0700) + g_mkdir(other, 0700) + g_mkdir(longer, 0700), ==, 0);
    g_assert_true(g_file_set_contents(weights, (const char *)values, sizeof values, NULL));
    g_assert_true(g_file_set_contents(secret, (const char *)values, sizeof values, NULL));
    g_assert_true(g_file_set_contents(secret2, (const char *)values, sizeof values, NULL));
    g_assert_cmpint(symlink("../other/secret.bin", bridge) + symlink("../model2/secret.bin", bridge2), ==, 0);
    g_assert_cmpint(symlink("weights.bin", alias), ==, 0);

    g_autoptr(IfmModel) opened = open_external(inside, "weights.bin", "8", "16", &error);
    g_assert_no_error(error);
    IfmTensor w;
    g_assert_true(ifm_model_initializer(opened, "w", &w));
    g_assert_cmpmem(w.data, w.size_bytes, values + 2, 16);
    /* The digest is of the weights as well: the model's own bytes are the same here. */
    g_autofree char *digest = g_strdup(ifm_model_digest(opened, NULL));
    values[5] = 5;
    g_assert_true(g_file_set_contents(weights, (const char *)values, sizeof values, NULL));
    g_autoptr(IfmModel) changed = open_external(inside, "weights.bin", "8", "16", &error);
    g_assert_no_error(error);
    g_assert_cmpstr(ifm_model_digest(changed, NULL), !=, digest);
    g_autoptr(IfmModel) linked = open_external(inside, "./alias.bin", NULL, NULL, &error); /* stays in the folder */
    g_assert_no_error(error);

    assert_external_refused(inside, "weights.bin", "12", "16", "has 24 bytes; the tensor needs 16 from byte 12");
    assert_external_refused(inside, "weights.bin", "9223372036854775807", "16", "has 24 bytes");
    assert_external_refused(inside, "weights.bin", "0", "12", "shape [4] needs 16 bytes");
    assert_external_refused(inside, "weights.bin", "-8", NULL, "offset '-8' is not a number");
    assert_external_refused(inside, "missing.bin", NULL, NULL, "'missing.bin': No such file");
    assert_outline(path);
    assert_external_refused(inside, NULL, NULL, NULL, "without a location");
    assert_external_refused(inside, "../other/secret.bin", NULL, NULL, "not a path within the model's folder");
    assert_external_refused(inside, secret, NULL, NULL, "not a path within the model's folder");
    assert_external_refused(inside, "bridge.bin", NULL, NULL, "leads outside the model's folder");
    assert_external_refused(inside, "bridge2.bin", NULL, NULL, "leads outside the model's folder");
    assert_external_refused(inside, ".", NULL, NULL, "not a regular file");

    /* In memory there is no folder to look in. */
    g_autofree char *bytes = NULL;
    gsize size;
    g_autoptr(IfmModel) written = open_external(inside, "weights.bin", NULL, NULL, NULL);
    g_assert_nonnull(written);
    g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
    GByteArray *copy = g_byte_array_new();
    assert_refused(g_byte_array_append(copy, (const guint8 *)bytes, (guint)size), "a model in memory has no folder");
    const char *const files[] = { path, weights, bridge, bridge2, alias, secret, secret2 };
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
        g_assert_cmpint(g_unlink(files[i]), ==, 0);
    g_assert_cmpint(g_rmdir(inside) + g_rmdir(other) + g_rmdir(longer) + g_rmdir(folder), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/onnx/bad/not-a-model", test_not_a_model);
    g_test_add_func("/onnx/bad/truncated", test_truncated);
    g_test_add_func("/onnx/bad/no-file", test_no_file);
    g_test_add_func("/onnx/bad/deep", test_deep);
    g_test_add_func("/onnx/bad/subgraph-depth", test_subgraph_depth);
    g_test_add_func("/onnx/bad/wire", test_wire);
    g_test_add_func("/onnx/bad/tensors", test_tensors);
    g_test_add_func("/onnx/bad/graphs", test_graphs);
    g_test_add_func("/onnx/bad/scopes", test_scopes);
    g_test_add_func("/onnx/bad/captures", test_captures);
    g_test_add_func("/onnx/bad/external", test_external);
    return g_test_run();
}
