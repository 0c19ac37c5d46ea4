/* What models store, by element type, and the precision that they are written in: graphs whose figures are counted by
 * hand. */
#include <onnx/onnx.h>

#include "model-bytes.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

enum
{
    F32 = 1,
    U8 = 2,
    I8 = 3,
    I32 = 6,
    I64 = 7,
    F16 = 10,
    BF16 = 16,
    U4 = 21,
    I4 = 22,
};

/* --- pieces of a file ------------------------------------------------------------------------------------------------- */

/* @name: NULL: the value of a Constant */
static GByteArray *tensor(const char *name, int type, gint64 rows, gint64 columns, gsize n_bytes)
{
    GByteArray *out = g_byte_array_new();
    g_autofree guint8 *bytes = g_malloc0(n_bytes + 1);
    if (rows > 0)
        put_number(out, 1, rows);
    if (columns > 0)
        put_number(out, 1, columns);
    put_number(out, 2, type);
    if (name != NULL)
        put_text(out, 8, name);
    put_bytes(out, 9, bytes, n_bytes);
    return out;
}

static GByteArray *node(const char *op_type, const char *domain, const char *const *inputs, const char *output)
{
    GByteArray *out = g_byte_array_new();
    for (; *inputs != NULL; inputs++)
        put_text(out, 1, *inputs);
    put_text(out, 2, output);
    put_text(out, 4, op_type);
    if (domain != NULL)
        put_text(out, 7, domain);
    return out;
}

static void put_int(GByteArray *of, const char *name, gint64 value)
{
    GByteArray *attribute = bytes_named(name);
    put_number(attribute, 3, value);
    put_number(attribute, 20, 2);
    put_message(of, 5, attribute);
}

/* @field: 5: a tensor, 6: a graph; so is the attribute's type */
static void put_attribute(GByteArray *of, const char *name, guint field, GByteArray *message)
{
    GByteArray *attribute = bytes_named(name);
    put_message(attribute, field, message);
    put_number(attribute, 20, field == 5 ? 4 : 5);
    put_message(of, 5, attribute);
}

static void put_constant(GByteArray *graph, const char *name, GByteArray *value)
{
    GByteArray *constant = node("Constant", NULL, NAMES(NULL), name);
    put_attribute(constant, "value", 5, value);
    put_message(graph, 1, constant);
}

static IfmModel *parse(GByteArray *graph)
{
    g_autoptr(GError) error = NULL;
    put_message(graph, 12, bytes_port("y", 1));
    GByteArray *model = bytes_model(10, 21, graph), *opset = g_byte_array_new();
    put_text(opset, 1, "com.microsoft");
    put_number(opset, 2, 1);
    put_message(model, 8, opset);
    g_autoptr(GBytes) bytes = g_byte_array_free_to_bytes(model);
    IfmModel *parsed = ifm_model_parse(bytes, "stored", &error);
    g_assert_no_error(error);
    return parsed;
}

static IfmStoredType row_of(const IfmModel *model, const char *dtype)
{
    g_autoptr(GArray) rows = ifm_model_stored(model);
    for (guint i = 0; i < rows->len; i++)
        if (g_str_equal(g_array_index(rows, IfmStoredType, i).dtype, dtype))
            return g_array_index(rows, IfmStoredType, i);
    return (IfmStoredType){ .dtype = "none" };
}

#define CHECK(model, type, tensors, elements, size, parameters)                                                            \
    {                                                                                                                      \
        const IfmStoredType row = row_of(model, type);                                                                     \
        g_assert_cmpint(row.n_tensors, ==, tensors);                                                                       \
        g_assert_cmpint(row.n_elements, ==, elements);                                                                     \
        g_assert_cmpint(row.bytes, ==, size);                                                                              \
        g_assert_cmpint(row.n_parameters, ==, parameters);                                                                 \
    }

/* --- counts ----------------------------------------------------------------------------------------------------------- */

/* A convolution and a bias in integers, by DequantizeLinear and by QLinearConv: the weights and biases are the parameters,
 * scales and zero points are not, and neither is a shape. */
static void test_quantised(void)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, 11, bytes_port("x", 1));
    put_message(graph, 5, tensor("w", I8, 4, 3, 12));
    put_message(graph, 5, tensor("scale", F32, 4, 0, 16));
    put_message(graph, 5, tensor("zero", I8, 4, 0, 4));
    put_message(graph, 5, tensor("shape", I64, 2, 0, 16));
    put_message(graph, 5, tensor("v", U8, 5, 2, 10));
    put_message(graph, 5, tensor("b", I32, 5, 0, 20));
    put_message(graph, 5, tensor("one", F32, 0, 0, 4));
    put_message(graph, 5, tensor("none", U8, 0, 0, 1));
    put_message(graph, 1, node("DequantizeLinear", NULL, NAMES("w", "scale", "zero"), "wf"));
    put_message(graph, 1, node("Reshape", NULL, NAMES("wf", "shape"), "wr"));
    put_message(graph, 1,
                node("QLinearConv", NULL, NAMES("x", "one", "none", "v", "one", "none", "one", "none", "b"), "q"));
    put_message(graph, 1, node("Add", NULL, NAMES("q", "wr"), "y"));
    g_autoptr(IfmModel) model = parse(graph);
    CHECK(model, "i8", 2, 16, 16, 12);
    CHECK(model, "u8", 2, 11, 11, 10);
    CHECK(model, "i32", 1, 5, 20, 5);
    CHECK(model, "f32", 2, 5, 20, 0);
    CHECK(model, "i64", 1, 2, 16, 0);
    g_assert_cmpint(ifm_model_n_parameters(model), ==, 12 + 10 + 5);
    g_assert_cmpint(ifm_model_n_trainable(model), ==, 0); /* no gradient goes through a quantiser; its scale is none */
}

/* Four bits: stored as such, or two in a byte, which the operator's sizes tell. */
static void test_four_bits(void)
{
    GByteArray *graph = g_byte_array_new(), *product = node("MatMulNBits", "com.microsoft", NAMES("x", "b", "s"), "p");
    put_int(product, "K", 32);
    put_int(product, "N", 8);
    put_message(graph, 11, bytes_port("x", 1));
    put_message(graph, 5, tensor("b", U8, 8, 16, 128));
    put_message(graph, 5, tensor("s", F32, 8, 0, 32));
    put_message(graph, 5, tensor("w", I4, 3, 5, 8));
    put_message(graph, 5, tensor("ws", F32, 0, 0, 4));
    put_message(graph, 5, tensor("table", U4, 6, 0, 3)); /* that nothing reads */
    put_message(graph, 1, product);
    put_message(graph, 1, node("DequantizeLinear", NULL, NAMES("w", "ws"), "wf"));
    put_message(graph, 1, node("Add", NULL, NAMES("p", "wf"), "y"));
    g_autoptr(IfmModel) model = parse(graph);
    CHECK(model, "u8", 1, 128, 128, 256);
    CHECK(model, "i4", 1, 15, 8, 15);
    CHECK(model, "u4", 1, 6, 3, 0);
    g_assert_cmpint(ifm_model_n_parameters(model), ==, 256 + 15);
}

/* The branches of an If, and a Scan's body within one, have weights of their own, as initializers and as Constant nodes. */
static void test_subgraphs(void)
{
    GByteArray *graph = g_byte_array_new(), *then = g_byte_array_new(), *other = g_byte_array_new();
    GByteArray *body = g_byte_array_new(), *scan = node("Scan", NULL, NAMES("x"), "es"), *either;
    put_constant(then, "tw", tensor(NULL, F16, 2, 3, 12));
    put_constant(then, "half", tensor(NULL, F16, 0, 0, 2)); /* a number of a formula */
    put_message(then, 1, node("Mul", NULL, NAMES("tw", "half"), "ty"));
    put_message(then, 12, bytes_named("ty"));
    put_message(body, 5, tensor("bw", F32, 7, 0, 28));
    put_message(body, 11, bytes_named("bx"));
    put_message(body, 1, node("Add", NULL, NAMES("bx", "bw"), "by"));
    put_message(body, 12, bytes_named("by"));
    put_int(scan, "num_scan_inputs", 1);
    put_attribute(scan, "body", 6, body);
    put_message(other, 5, tensor("ew", I8, 2, 2, 4));
    put_message(other, 5, tensor("es_", F32, 0, 0, 4));
    put_message(other, 1, node("DequantizeLinear", NULL, NAMES("ew", "es_"), "ed"));
    put_message(other, 1, scan);
    put_message(other, 1, node("Add", NULL, NAMES("ed", "es"), "ey"));
    put_message(other, 12, bytes_named("ey"));
    either = node("If", NULL, NAMES("c"), "y");
    put_attribute(either, "then_branch", 6, then);
    put_attribute(either, "else_branch", 6, other);
    put_message(graph, 11, bytes_port("x", 1));
    put_message(graph, 11, bytes_port("c", 1));
    put_message(graph, 1, either);
    g_autoptr(IfmModel) model = parse(graph);
    CHECK(model, "f16", 2, 7, 14, 6);
    CHECK(model, "f32", 2, 8, 32, 7);
    CHECK(model, "i8", 1, 4, 4, 4);
    g_assert_cmpint(ifm_model_n_parameters(model), ==, 6 + 7 + 4);
}

/* Constants in other words than a tensor are stored, too. */
static void test_constant_words(void)
{
    GByteArray *graph = g_byte_array_new(), *one = node("Constant", NULL, NAMES(NULL), "y"),
               *values = bytes_named("value_ints");
    for (int i = 0; i < 3; i++)
        put_number(values, 8, i);
    put_number(values, 20, 7);
    put_message(one, 5, values);
    put_message(graph, 1, one);
    g_autoptr(IfmModel) model = parse(graph);
    CHECK(model, "i64", 1, 3, 24, 0);
    g_assert_cmpint(ifm_model_n_parameters(model), ==, 0);
}

/* --- the precision ---------------------------------------------------------------------------------------------------- */

static GByteArray *cast(const char *from, const char *to, int type)
{
    GByteArray *out = node("Cast", NULL, NAMES(from), to);
    put_int(out, "to", type);
    return out;
}

/* x (f32) by weights of @stored, which a Cast makes @computed first, where that is not 0. */
static IfmDtype dtype_of(int stored, int computed)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, 11, bytes_port("x", 1));
    put_message(graph, 5, tensor("w", stored, 1, 0, stored == F32 ? 4 : stored == I8 ? 1 : 2));
    if (computed != 0)
        put_message(graph, 1, cast("w", "wc", computed));
    put_message(graph, 1, node("Mul", NULL, NAMES("x", computed != 0 ? "wc" : "w"), "y"));
    g_autoptr(IfmModel) model = parse(graph);
    return ifm_model_dtype(model);
}

static void test_precision(void)
{
    g_assert_cmpint(dtype_of(F32, 0), ==, IFM_DTYPE_F32);
    g_assert_cmpint(dtype_of(I8, F32), ==, IFM_DTYPE_F32);
    g_assert_cmpint(dtype_of(F16, 0), ==, IFM_DTYPE_F16);
    g_assert_cmpint(dtype_of(F16, F32), ==, IFM_DTYPE_F32); /* only kept in half */
    g_assert_cmpint(dtype_of(F32, BF16), ==, IFM_DTYPE_BF16);
}

/* A type counts that a node is told to make, where only a Cast reads it. */
static void test_made(void)
{
    GByteArray *graph = g_byte_array_new(), *eye = node("EyeLike", NULL, NAMES("x"), "e");
    put_int(eye, "dtype", F16);
    put_message(graph, 11, bytes_port("x", 1));
    put_message(graph, 1, eye);
    put_message(graph, 1, cast("e", "y", F32));
    g_autoptr(IfmModel) model = parse(graph);
    g_assert_cmpint(ifm_model_dtype(model), ==, IFM_DTYPE_F16);
}

/* The ends of casts are the model's own types; that of a weight which is only kept in half is not. */
static void test_named(void)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, 11, bytes_port("x", 1));
    put_message(graph, 5, tensor("w", BF16, 1, 0, 2));
    put_message(graph, 1, cast("w", "wc", F32));
    put_message(graph, 1, node("Mul", NULL, NAMES("x", "wc"), "m"));
    put_message(graph, 1, cast("m", "narrow", F16));
    put_message(graph, 1, cast("narrow", "y", F32));
    g_autoptr(IfmModel) model = parse(graph);
    g_assert_cmpint(ifm_model_dtype(model), ==, IFM_DTYPE_F32);
    g_assert_true(ifm_model_names_dtype(model, IFM_DTYPE_F32));
    g_assert_true(ifm_model_names_dtype(model, IFM_DTYPE_F16));
    g_assert_false(ifm_model_names_dtype(model, IFM_DTYPE_BF16));
    g_assert_false(ifm_model_names_dtype(model, IFM_DTYPE_UNDEFINED));
}

/* What lies between two casts counts, not what goes in and out. */
static void test_casts(void)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, 11, bytes_port("x", 1));
    put_message(graph, 1, cast("x", "narrow", BF16));
    put_message(graph, 1, node("Exp", NULL, NAMES("narrow"), "e"));
    put_message(graph, 1, cast("e", "y", F32));
    g_autoptr(IfmModel) narrow = parse(graph);
    g_assert_cmpint(ifm_model_dtype(narrow), ==, IFM_DTYPE_BF16);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stored/quantised", test_quantised);
    g_test_add_func("/stored/four-bits", test_four_bits);
    g_test_add_func("/stored/subgraphs", test_subgraphs);
    g_test_add_func("/stored/constant-words", test_constant_words);
    g_test_add_func("/stored/precision", test_precision);
    g_test_add_func("/stored/casts", test_casts);
    g_test_add_func("/stored/made", test_made);
    g_test_add_func("/stored/named", test_named);
    return g_test_run();
}
