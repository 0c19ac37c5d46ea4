/* Models that are right: built, written, read back; ports, inputs, index. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>
#include <onnx/onnx.h>

#include "build-folders.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A graph written out of order on purpose: out = (a + b) * w with free rows; h and an unused w0 beside it. */
static IfmModel *unsorted(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("unsorted", 17);
    const gint64 dims[] = { -1, 4 };
    ifm_model_builder_input(builder, "a", IFM_DTYPE_F32, 2, dims, (const char *[]){ "rows", NULL });
    ifm_model_builder_input(builder, "b", IFM_DTYPE_F32, 2, dims, NULL);
    ifm_model_builder_output(builder, "out", IFM_DTYPE_F32, 2, dims, NULL);
    g_auto(IfmTensor) w = IFM_TENSOR_INIT;
    g_assert_true(ifm_tensor_init(&w, IFM_DTYPE_F32, 1, (gint64[]){ 4 }, NULL));
    for (int i = 0; i < 4; i++)
        ((float *)w.data)[i] = (float)(i + 1);
    ifm_model_builder_weight(builder, "w", &w);
    ifm_model_builder_node(builder, "Mul", "second", NAMES("sum", "w"), NAMES("out"));
    gsize first = ifm_model_builder_node(builder, "Add", "first", NAMES("a", "b"), NAMES("sum"));
    ifm_model_builder_int(builder, first, "an_int", -7);
    ifm_model_builder_float(builder, first, "a_float", 0.5);
    ifm_model_builder_string(builder, first, "a_string", "text");
    ifm_model_builder_string(builder, first, "empty", "");
    ifm_model_builder_ints(builder, first, "ints", (gint64[]){ 1, -2, 1LL << 40 }, 3);
    ifm_model_builder_metadata(builder, "key", "value");
    ifm_model_builder_metadata(builder, "inferometer.range.b", "10 20");
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    return model;
}

static void test_index(void)
{
    g_autoptr(IfmModel) model = unsorted();
    g_assert_cmpstr(ifm_model_name(model), ==, "unsorted");
    g_assert_null(ifm_model_path(model));
    g_assert_cmpint(ifm_model_opset(model), ==, 17);
    g_assert_cmpstr(ifm_model_metadata(model, "key"), ==, "value");
    g_assert_null(ifm_model_metadata(model, "no such key"));
    g_assert_cmpint(ifm_model_n_parameters(model), ==, 4);
    g_assert_cmpuint(ifm_model_n_nodes(model), ==, 2);
    g_assert_cmpstr(ifm_model_node(model, 0)->name, ==, "first");
    g_assert_cmpstr(ifm_model_node(model, 1)->op_type, ==, "Mul");
    g_assert_cmpstr(ifm_model_node(model, 1)->domain, ==, "");
    g_assert_cmpuint(ifm_model_node(model, 1)->n_inputs, ==, 2);
    g_assert_cmpstr(ifm_model_node(model, 1)->inputs[1], ==, "w");
    g_assert_cmpint(ifm_model_producer(model, "sum"), ==, 0);
    g_assert_cmpint(ifm_model_producer(model, "out"), ==, 1);
    g_assert_cmpint(ifm_model_producer(model, "a"), ==, -1);
    g_assert_cmpint(ifm_model_producer(model, "w"), ==, -1);
    g_assert_cmpint(ifm_model_producer(model, "nothing"), ==, -1);
    const GArray *consumers = ifm_model_consumers(model, "w");
    g_assert_cmpuint(consumers->len, ==, 1);
    g_assert_cmpuint(g_array_index(consumers, gsize, 0), ==, 1);
    g_assert_null(ifm_model_consumers(model, "out"));
    IfmTensor w;
    g_assert_true(ifm_model_initializer(model, "w", &w));
    g_assert_cmpint(w.rank, ==, 1);
    float value;
    memcpy(&value, (char *)w.data + 3 * sizeof value, sizeof value);
    g_assert_cmpfloat(value, ==, 4);
    g_assert_false(ifm_model_initializer(model, "a", &w));
}

static void test_attributes(void)
{
    g_autoptr(IfmModel) model = unsorted();
    const IfmNode *node = ifm_model_node(model, 0);
    gsize n = 99;
    g_assert_cmpint(ifm_node_int(node, "an_int", 1), ==, -7);
    g_assert_cmpint(ifm_node_int(node, "none", 1), ==, 1);
    g_assert_cmpint(ifm_node_int(node, "a_float", 1), ==, 1); /* of another type: the default */
    g_assert_cmpfloat(ifm_node_float(node, "a_float", 2), ==, 0.5);
    g_assert_cmpfloat(ifm_node_float(node, "none", 2), ==, 2);
    g_assert_cmpstr(ifm_node_string(node, "a_string", "no"), ==, "text");
    g_assert_cmpstr(ifm_node_string(node, "empty", "no"), ==, "");
    g_assert_cmpstr(ifm_node_string(node, "none", "no"), ==, "no");
    const gint64 *ints = ifm_node_ints(node, "ints", &n);
    g_assert_cmpuint(n, ==, 3);
    g_assert_cmpint(ints[2], ==, 1LL << 40);
    g_assert_null(ifm_node_ints(node, "none", &n));
    g_assert_cmpuint(n, ==, 0);
}

static void test_ports(void)
{
    g_autoptr(IfmModel) model = unsorted();
    g_autoptr(GError) error = NULL;
    g_assert_cmpuint(ifm_model_n_inputs(model), ==, 2);
    g_assert_cmpuint(ifm_model_n_outputs(model), ==, 1);
    const IfmPort *a = ifm_model_input(model, 0), *b = ifm_model_input(model, 1);
    g_assert_cmpstr(a->name, ==, "a");
    g_assert_cmpint(a->dtype, ==, IFM_DTYPE_F32);
    g_assert_cmpint(a->dims[0], ==, -1);
    g_assert_cmpstr(a->dim_names[0], ==, "rows");
    g_assert_cmpint(a->dims[1], ==, 4);
    g_assert_null(a->dim_names[1]);
    g_assert_cmpstr(b->dim_names[0], ==, "b[0]");
    IfmPort *copy = ifm_port_copy(a);
    g_assert_cmpstr(copy->dim_names[0], ==, "rows");
    g_assert_true(copy->name != a->name);
    ifm_port_free(copy);

    gint64 shape[IFM_MAX_RANK];
    const IfmDimBinding rows = { "rows", 3 }, negative = { "rows", -1 };
    g_assert_true(ifm_port_bind(a, &rows, 1, shape, &error));
    g_assert_cmpint(shape[0], ==, 3);
    g_assert_cmpint(shape[1], ==, 4);
    g_assert_false(ifm_port_bind(a, &negative, 1, shape, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(ifm_port_bind(b, &rows, 1, shape, &error));
    g_assert_nonnull(strstr(error->message, "'b[0]'"));
}

static void test_bindings(void)
{
    g_autoptr(IfmModel) model = unsorted();
    const IfmDimBinding both[] = { { "rows", 3 }, { "b[0]", 3 } };
    const IfmDimBinding unknown[] = { { "rows", 3 }, { "b[0]", 3 }, { "columns", 1 } };
    const IfmDimBinding twice[] = { { "rows", 3 }, { "rows", 3 }, { "b[0]", 3 } };
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_model_check_bindings(model, both, 2, &error));
    g_assert_no_error(error);
    g_assert_false(ifm_model_check_bindings(model, both, 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "b[0]"));
    g_clear_error(&error);
    g_assert_false(ifm_model_check_bindings(model, unknown, 3, &error));
    g_assert_cmpstr(error->message, ==, "unsorted: no input has a free dimension 'columns' (free: rows, b[0])");
    g_clear_error(&error);
    g_assert_false(ifm_model_check_bindings(model, twice, 3, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

static void test_inputs(void)
{
    g_autoptr(IfmModel) model = unsorted();
    g_autoptr(GError) error = NULL;
    IfmTensor first[2], again[2], longer[2], other[2];
    const IfmDimBinding three[] = { { "rows", 3 }, { "b[0]", 3 } }, five[] = { { "rows", 5 }, { "b[0]", 3 } };
    g_assert_true(ifm_model_make_inputs(model, three, 2, 1, first, &error));
    g_assert_true(ifm_model_make_inputs(model, three, 2, 1, again, &error));
    g_assert_true(ifm_model_make_inputs(model, five, 2, 1, longer, &error));
    g_assert_true(ifm_model_make_inputs(model, three, 2, 2, other, &error));
    for (int i = 0; i < 2; i++)
        g_assert_cmpmem(first[i].data, first[i].size_bytes, again[i].data, again[i].size_bytes);
    g_assert_cmpint(memcmp(first[0].data, other[0].data, first[0].size_bytes), !=, 0);
    g_assert_cmpint(memcmp(first[0].data, first[1].data, first[0].size_bytes), !=, 0);
    /* One port's shape does not change another's values. */
    g_assert_cmpint(longer[0].shape[0], ==, 5);
    g_assert_cmpmem(first[1].data, first[1].size_bytes, longer[1].data, longer[1].size_bytes);
    for (int i = 0; i < 12; i++)
    {
        double a = ifm_tensor_get_double(&first[0], i), b = ifm_tensor_get_double(&first[1], i);
        g_assert_true(a >= -1 && a < 1);
        g_assert_true(b >= 10 && b < 20); /* the range in the model's metadata */
    }
    for (int i = 0; i < 2; i++)
    {
        ifm_tensor_clear(&first[i]);
        ifm_tensor_clear(&again[i]);
        ifm_tensor_clear(&longer[i]);
        ifm_tensor_clear(&other[i]);
    }
    g_assert_false(ifm_model_make_inputs(model, three, 1, 1, first, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_null(first[0].data);
    g_clear_error(&error);
    const IfmDimBinding huge[] = { { "rows", 1LL << 50 }, { "b[0]", 1 } };
    g_assert_false(ifm_model_make_inputs(model, huge, 2, 1, first, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_MEMORY);
}

static void test_integer_inputs(void)
{
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("integers", 17);
    ifm_model_builder_input(builder, "i", IFM_DTYPE_I64, 1, (gint64[]){ 100 }, NULL);
    ifm_model_builder_output(builder, "o", IFM_DTYPE_I64, 1, (gint64[]){ 100 }, NULL);
    ifm_model_builder_node(builder, "Identity", NULL, NAMES("i"), NAMES("o"));
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, NULL);
    g_auto(IfmTensor) input = IFM_TENSOR_INIT;
    g_assert_true(ifm_model_make_inputs(model, NULL, 0, 1, &input, NULL));
    double sum = 0;
    for (int i = 0; i < 100; i++)
    {
        double value = ifm_tensor_get_double(&input, i);
        g_assert_true(value == 0 || value == 1);
        sum += value;
    }
    g_assert_cmpfloat(sum, >, 0);
    g_assert_cmpfloat(sum, <, 100);
}

static IfmModel *with_range(const char *range, IfmDtype dtype, gint64 n)
{
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("distinct", 17);
    ifm_model_builder_input(builder, "i", dtype, 1, &n, NULL);
    ifm_model_builder_output(builder, "o", dtype, 1, &n, NULL);
    ifm_model_builder_node(builder, "Identity", NULL, NAMES("i"), NAMES("o"));
    ifm_model_builder_metadata(builder, "inferometer.range.i", range);
    return ifm_model_builder_finish(builder, NULL);
}

static void test_distinct_inputs(void)
{
    static const struct
    {
        const char *range;
        gint64 n, low, high;
    } cases[] = { { "5 9 distinct", 4, 5, 9 },
                  { "-3 40 distinct", 40, -3, 40 },
                  { "0 1000 distinct", 30, 0, 1000 },
                  { "0 4e18 distinct", 3, 0, 4000000000000000000 },
                  { "0 0 distinct", 0, 0, 0 } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(IfmModel) model = with_range(cases[i].range, IFM_DTYPE_I64, cases[i].n);
        g_auto(IfmTensor) input = IFM_TENSOR_INIT;
        g_assert_true(ifm_model_make_inputs(model, NULL, 0, 1, &input, NULL));
        const gint64 *values = input.data;
        for (gint64 k = 0; k < cases[i].n; k++)
        {
            g_assert_cmpint(values[k], >=, k > 0 ? values[k - 1] + 1 : cases[i].low);
            g_assert_cmpint(values[k], <, cases[i].high);
        }
    }
    static const struct
    {
        const char *range, *said;
        IfmDtype dtype;
    } refused[] = {
        { "5 9 distinct", "distinct: input 'i': its range has 4 numbers, too few for 5 distinct ones", IFM_DTYPE_I64 },
        { "0 9 distinct",
          "distinct: metadata inferometer.range.i: '0 9 distinct' is not a range (LOW HIGH, LOW not above HIGH)",
          IFM_DTYPE_F32 },
        { "0 9 other",
          "distinct: metadata inferometer.range.i: '0 9 other' is not a range (LOW HIGH, LOW not above HIGH, or LOW HIGH "
          "distinct)",
          IFM_DTYPE_I64 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModel) model = with_range(refused[i].range, refused[i].dtype, 5);
        IfmTensor input;
        g_assert_false(ifm_model_make_inputs(model, NULL, 0, 1, &input, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, refused[i].said);
    }
}

static void test_round_trip(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-onnx-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "a-name.onnx", NULL);
    /* A weight of 64 KiB stays mapped, the others are copied: both have to come back. */
    g_autoptr(IfmModel) built = ifm_zoo_build("matmul", NAMES("m=2", "k=128", "n=128"), 5, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(built, path, &error));
    g_autoptr(IfmModel) opened = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_autofree char *inputs = ifm_model_input_names(path, &error), *none = ifm_model_input_names("/nowhere", NULL);
    g_assert_cmpstr(inputs, ==, "[\"x\"]");
    g_assert_null(none);
    g_assert_cmpstr(ifm_model_name(opened), ==, "a-name");
    g_assert_cmpstr(ifm_model_path(opened), ==, path);
    g_assert_cmpstr(ifm_model_digest(opened, NULL), ==, ifm_model_digest(built, NULL));
    g_assert_cmpuint(strlen(ifm_model_digest(opened, NULL)), ==, 64);
    g_autoptr(GBytes) a = ifm_model_serialize(built, NULL);
    g_autoptr(GBytes) b = ifm_model_serialize(opened, NULL);
    g_assert_true(g_bytes_equal(a, b));
    IfmTensor wa, wb;
    g_assert_true(ifm_model_initializer(built, "w1", &wa));
    g_assert_true(ifm_model_initializer(opened, "w1", &wb));
    g_assert_cmpuint(wa.size_bytes, ==, 128 * 128 * 4);
    g_assert_cmpmem(wa.data, wa.size_bytes, wb.data, wb.size_bytes);
    g_assert_cmpint(ifm_model_n_parameters(opened), ==, 128 * 128);
    /* A weight that is mapped lies inside the file's bytes; that is what "not copied" means. */
    gsize size;
    const char *bytes = g_bytes_get_data(b, &size);
    g_assert_true((const char *)wb.data > bytes && (const char *)wb.data + wb.size_bytes <= bytes + size);
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

static void test_save_refused(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = unsorted();
    g_assert_false(ifm_model_save(model, "/nonexistent/folder/x.onnx", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

/* memory_kb: what this process has of its own, the mapped files not counted. */
static gint64 memory_kb(void)
{
    g_autofree char *status = NULL;
    g_assert_true(g_file_get_contents("/proc/self/status", &status, NULL, NULL));
    const char *line = strstr(status, "RssAnon:");
    g_assert_nonnull(line);
    return g_ascii_strtoll(line + strlen("RssAnon:"), NULL, 10);
}

/* A model of 550 MB (a hole in a sparse file, but for the shapes) opens in little memory, and its last weight is there. */
static void test_large_file(void)
{
    const guint64 n = 550u * 1000 * 1000 / 4, n_bytes = n * 4;
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-large-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "large.onnx", NULL);
    guint8 head[64];
    gsize used = 0;
    guint64 tensor = 0;
    /* TensorProto: dims = [n], data_type = 1, name = "w", raw_data; the lengths are written on 5 bytes each. */
    for (int pass = 0; pass < 2; pass++)
    {
        used = 0;
        const guint64 lengths[] = { tensor + 6, tensor, n, n_bytes };
        const guint8 *const between[] = { (const guint8 *)"\x08\x08\x42\x02\x10\x11\x3a", (const guint8 *)"\x2a",
                                          (const guint8 *)"\x08", (const guint8 *)"\x10\x01\x42\x01w\x4a" };
        const gsize n_between[] = { 7, 1, 1, 6 };
        for (int part = 0; part < 4; part++)
        {
            memcpy(head + used, between[part], n_between[part]);
            used += n_between[part];
            for (int i = 0; i < 5; i++)
                head[used++] = (guint8)((lengths[part] >> (7 * i) & 0x7f) | (i < 4 ? 0x80 : 0));
        }
        tensor = n_bytes + 1 + 5 + 6 + 5;
    }
    int file = g_open(path, O_CREAT | O_RDWR, 0600);
    g_assert_cmpint(file, >=, 0);
    g_assert_cmpint(write(file, head, used), ==, (gssize)used);
    if (ftruncate(file, (off_t)(used + n_bytes)) != 0 || pwrite(file, "\0\0\x80\x3f", 4, (off_t)(used + n_bytes - 4)) != 4)
    {
        g_test_skip("this file system has no room for a sparse file of 550 MB");
        return;
    }
    close(file);
    gint64 before = memory_kb();
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    IfmTensor w;
    float last;
    g_assert_true(ifm_model_initializer(model, "w", &w));
    g_assert_cmpuint(w.size_bytes, ==, n_bytes);
    memcpy(&last, (char *)w.data + n_bytes - 4, sizeof last);
    g_assert_cmpfloat(last, ==, 1);
    g_assert_cmpint(ifm_model_n_parameters(model), ==, (gint64)n);
    g_assert_cmpint(memory_kb() - before, <, 4 * 1024);
    g_assert_cmpint(g_unlink(path) + g_rmdir(folder), ==, 0);
}

/* The errors of a builder stick: the first is the one that is told. */
static void test_builder_errors(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("wrong", 17);
    ifm_model_builder_random_weight(builder, "bad", 2, (gint64[]){ 3, -1 }, 1, 0);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 99, NULL, NULL);
    ifm_model_builder_int(builder, 7, "axis", 1);
    g_assert_null(ifm_model_builder_finish(builder, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "wrong: weight 'bad'"));
    g_clear_error(&error);

    /* More than one file can hold: refused before any of it is drawn, in no memory to speak of. */
    gint64 before = memory_kb();
    g_autoptr(IfmModelBuilder) large = ifm_model_builder_new("large", 17);
    for (int i = 0; i < 40; i++)
    {
        g_autofree char *name = g_strdup_printf("w%d", i);
        ifm_model_builder_random_weight(large, name, 2, (gint64[]){ 4096, 4096 }, 1, 0); /* 64 MiB each */
    }
    g_assert_null(ifm_model_builder_finish(large, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "large: weight 'w31': with its 67108864 bytes")); /* 2^31 is one too many */
    g_assert_cmpint(memory_kb() - before, <, 16 * 1024);
    g_clear_error(&error);

    g_autoptr(IfmModelBuilder) dangling = ifm_model_builder_new("dangling", 17);
    ifm_model_builder_output(dangling, "y", IFM_DTYPE_F32, 0, NULL, NULL);
    ifm_model_builder_node(dangling, "Relu", "r", NAMES("nobody"), NAMES("y"));
    g_assert_null(ifm_model_builder_finish(dangling, &error));
    g_assert_cmpstr(error->message, ==, "dangling: node 0 (Relu 'r'): 'nobody' is read, but nothing makes it");
    g_clear_error(&error);

    g_autoptr(IfmModelBuilder) rank = ifm_model_builder_new("rank", 17);
    ifm_model_builder_input(rank, "x", IFM_DTYPE_F32, IFM_MAX_RANK + 1, NULL, NULL);
    g_assert_null(ifm_model_builder_finish(rank, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);

    g_autoptr(IfmModelBuilder) node = ifm_model_builder_new("node", 17);
    ifm_model_builder_ints(node, 0, "axes", NULL, 0);
    g_assert_null(ifm_model_builder_finish(node, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* Every model of the onnx wheel opens, has one input of images, and can be fed. */
static void test_light(void)
{
    g_autofree char *folder = g_build_filename(IFM_DEPS_DIR, "onnx", "light", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    if (dir == NULL)
    {
        g_test_skip("the onnx wheel's light models are unavailable");
        return;
    }
    guint n_models = 0;
    for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir))
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (!g_str_has_suffix(name, ".onnx"))
            continue;
        n_models++;
        g_autoptr(IfmModel) model = ifm_model_open(path, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(ifm_model_n_inputs(model), ==, 1);
        g_assert_cmpuint(ifm_model_n_outputs(model), ==, 1);
        const IfmPort *port = ifm_model_input(model, 0);
        g_assert_true(g_str_has_prefix(port->name, "data_0") || g_str_has_prefix(port->name, "gpu_0/data_0"));
        g_assert_cmpint(port->rank, ==, 4);
        g_assert_cmpint(port->dims[1], ==, 3);
        g_assert_cmpint(port->dims[2], ==, 224);
        g_auto(IfmTensor) input = IFM_TENSOR_INIT;
        g_assert_true(ifm_model_make_inputs(model, NULL, 0, 0, &input, &error));
        g_assert_cmpuint(input.size_bytes, ==, 3 * 224 * 224 * 4);
        for (gsize i = 0; i < ifm_model_n_nodes(model); i++) /* made before read */
            for (gsize k = 0; k < ifm_model_node(model, i)->n_inputs; k++)
                g_assert_cmpint(ifm_model_producer(model, ifm_model_node(model, i)->inputs[k]), <, (gssize)i);
    }
    g_assert_cmpuint(n_models, >=, 9);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/onnx/index", test_index);
    g_test_add_func("/onnx/attributes", test_attributes);
    g_test_add_func("/onnx/ports", test_ports);
    g_test_add_func("/onnx/bindings", test_bindings);
    g_test_add_func("/onnx/inputs", test_inputs);
    g_test_add_func("/onnx/integer-inputs", test_integer_inputs);
    g_test_add_func("/onnx/distinct-inputs", test_distinct_inputs);
    g_test_add_func("/onnx/round-trip", test_round_trip);
    g_test_add_func("/onnx/large-file", test_large_file);
    g_test_add_func("/onnx/save-refused", test_save_refused);
    g_test_add_func("/onnx/builder-errors", test_builder_errors);
    g_test_add_func("/onnx/light", test_light);
    return g_test_run();
}
