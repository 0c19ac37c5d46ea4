/* The zoo's models on real engines: shapes as inferred, node by node; outputs that are numbers, and the same everywhere. */
#include <math.h>

#include <glib/gstdio.h>

#include <inferometer/file.h>

#include "fixture.h"
#include "folder.h"

/* Of every model of the zoo, two of its sizes that are quick to run. */
static const struct
{
    const char *name, *settings[2];
} sizes[] = {
    { "alexnet", { "size=64", "batch=2 height=170 width=301" } },
    { "densenet121", { "size=32", "batch=2 height=33 width=70" } },
    { "googlenet", { "size=32", "batch=2 height=15 width=70" } },
    { "gps",
      { "num_nodes=23 num_edges=40 mpnn=sage attention=sparse head=node pe=rwse pe_dim=3 norm=batch num_layers=1",
        "num_nodes=30 num_graphs=3 hidden_dim=8 num_heads=2 num_layers=1 mpnn=gcn form=training" } },
    { "graph_transformer", { "num_nodes=21 num_layers=2", "num_nodes=9 pe=lap pe_dim=4 num_layers=0" } },
    { "graphsage", { "nodes=20 edges=60 features=6 hidden=5", "nodes=33 edges=40 features=3 hidden=9 scatter=1" } },
    { "matmul", { "m=3 k=5 n=7", "m=8 k=2 n=4 layers=3" } },
    { "resnet152", { "size=32", "batch=2 height=33 width=50" } },
    { "resnet18", { "size=32", "batch=2 height=1 width=65" } },
    { "resnet50", { "size=32", "batch=2 height=33 width=50" } },
    { "small-cnn", { "size=8 channels=3", "batch=2 size=21 channels=5 classes=4" } },
    { "staged-matmul", { "nodes=17 features=9 hidden=6", "nodes=4 features=3 hidden=5" } },
    { "vgg16", { "size=32", "batch=2 height=80 width=300" } },
};

static void test_all_are_here(void)
{
    gsize n = 0;
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++, n++)
    {
        g_assert_cmpuint(n, <, G_N_ELEMENTS(sizes));
        g_assert_cmpstr(sizes[n].name, ==, entry->name);
    }
    g_assert_cmpuint(n, ==, G_N_ELEMENTS(sizes));
}

/* --- a model that gives out all that it makes ----------------------------------------------------------------------------
 */

/* put_message: A field that holds bytes, as protobuf writes it: key, length, bytes. */
static void put_message(GByteArray *to, guint field, const void *bytes, gsize n)
{
    guint8 key = (guint8)(field << 3 | 2);
    g_byte_array_append(to, &key, 1);
    for (gsize rest = n;; rest >>= 7)
    {
        guint8 byte = (guint8)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        g_byte_array_append(to, &byte, 1);
        if (rest <= 0x7f)
            break;
    }
    g_byte_array_append(to, bytes, (guint)n);
}

/* put_output: A GraphProto's output: its name and the type of its elements; no shape. */
static void put_output(GByteArray *graph, const char *name, IfmDtype dtype)
{
    g_autoptr(GByteArray) info = g_byte_array_new(), type = g_byte_array_new();
    guint8 element[] = { 1 << 3, (guint8)dtype };
    put_message(type, 1, element, sizeof element);
    put_message(info, 1, name, strlen(name));
    put_message(info, 2, type->data, type->len);
    put_message(graph, 12, info->data, info->len);
}

static gboolean is_output(const IfmModel *model, const char *tensor)
{
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        if (g_str_equal(ifm_model_output(model, i)->name, tensor))
            return TRUE;
    return FALSE;
}

static gsize read_number(const guint8 *bytes, gsize *at)
{
    gsize value = 0;
    for (guint shift = 0;; shift += 7)
    {
        guint8 byte = bytes[(*at)++];
        value |= (gsize)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
}

/* with_more_graph: A ModelProto's bytes with more fields at the end of its graph. */
static GByteArray *with_more_graph(GBytes *model, const GByteArray *more)
{
    gsize size, at = 0;
    const guint8 *bytes = g_bytes_get_data(model, &size);
    GByteArray *result = g_byte_array_new();
    while (at < size)
    {
        gsize start = at, key = read_number(bytes, &at), number = read_number(bytes, &at);
        if ((key & 7) == 2) /* else a number alone */
            at += number;
        if (key != (7 << 3 | 2))
        {
            g_byte_array_append(result, bytes + start, (guint)(at - start));
            continue;
        }
        g_autoptr(GByteArray) graph = g_byte_array_new();
        g_byte_array_append(graph, bytes + at - number, (guint)number);
        g_byte_array_append(graph, more->data, more->len);
        put_message(result, 7, graph->data, graph->len);
    }
    return result;
}

/* open_with_outputs: The model with everything that a node makes as an output. */
static IfmModel *open_with_outputs(IfmModel *model, const IfmAnalysis *analysis, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GByteArray) outputs = g_byte_array_new();
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        for (gsize k = 0; k < node->n_outputs; k++)
        {
            gint64 shape[IFM_MAX_RANK];
            IfmDtype dtype;
            int rank;
            g_assert_true(ifm_analysis_shape(analysis, node->outputs[k], &dtype, &rank, shape));
            if (!is_output(model, node->outputs[k]))
                put_output(outputs, node->outputs[k], dtype);
        }
    }
    ifm_model_save(model, path, &error);
    g_assert_no_error(error);
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);
    g_autoptr(GBytes) bytes = g_mapped_file_get_bytes(file);
    g_autoptr(GByteArray) all = with_more_graph(bytes, outputs);
    g_assert_true(ifm_file_save_temporary(path, all->data, all->len, &error));
    IfmModel *opened = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return opened;
}

/* --- shapes, node by node ------------------------------------------------------------------------------------------------
 */

static IfmTensor output_named(const Fixture *fixture, const char *name)
{
    g_autoptr(GError) error = NULL;
    IfmTensor tensor = IFM_TENSOR_INIT;
    for (gsize i = 0; i < ifm_compiled_n_outputs(fixture->compiled); i++)
        if (g_str_equal(ifm_compiled_output(fixture->compiled, i)->name, name))
        {
            g_assert_true(ifm_request_output(fixture->request, i, &tensor, &error));
            return tensor;
        }
    g_error("no output '%s'", name);
}

static void assert_shape(const IfmAnalysis *analysis, const char *name, const IfmTensor *made)
{
    gint64 shape[IFM_MAX_RANK];
    IfmDtype dtype;
    int rank;
    g_assert_true(ifm_analysis_shape(analysis, name, &dtype, &rank, shape));
    g_autofree char *inferred = ifm_shape_to_string(rank, shape), *real = ifm_shape_to_string(made->rank, made->shape);
    if (!g_str_equal(inferred, real) || dtype != made->dtype)
        g_error("'%s': inferred %s %s, made %s %s", name, ifm_dtype_name(dtype), inferred, ifm_dtype_name(made->dtype),
                real);
}

/* assert_pooled: torchvision's adaptive average, its windows from its own formula, in double precision. */
static void assert_pooled(const IfmTensor *from, const IfmTensor *to, gint64 size)
{
    gint64 height = from->shape[2], width = from->shape[3];
    g_assert_cmpint(ifm_tensor_n_elements(to), ==, from->shape[0] * from->shape[1] * size * size);
    for (gint64 at = 0; at < ifm_tensor_n_elements(to); at++)
    {
        gint64 column = at % size, row = at / size % size, plane = at / (size * size);
        gint64 top = row * height / size, bottom = (gint64)ceil((double)((row + 1) * height) / (double)size);
        gint64 left = column * width / size, right = (gint64)ceil((double)((column + 1) * width) / (double)size);
        double sum = 0;
        for (gint64 y = top; y < bottom; y++)
            for (gint64 x = left; x < right; x++)
                sum += ifm_tensor_get_double(from, (plane * height + y) * width + x);
        double mean = sum / (double)((bottom - top) * (right - left));
        g_assert_cmpfloat(fabs(ifm_tensor_get_double(to, at) - mean), <=, 1e-5 * (1 + fabs(mean)));
    }
}

/* Pooling of AlexNet and VGG-16: from the last of the convolutional layers to what the first dense one reads. */
static void check_pooling(const Fixture *fixture, const char *name)
{
    gboolean is_vgg = g_str_equal(name, "vgg16");
    if (!is_vgg && !g_str_equal(name, "alexnet"))
        return;
    IfmTensor from = output_named(fixture, is_vgg ? "features.30" : "features.12");
    IfmTensor to = output_named(fixture, "flatten");
    assert_pooled(&from, &to, is_vgg ? 7 : 6);
}

static void check_nodes(const Fixture *fixture, const IfmModel *model, const IfmAnalysis *analysis)
{
    gsize n = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        for (gsize k = 0; k < node->n_outputs; k++, n++)
        {
            IfmTensor made = output_named(fixture, node->outputs[k]);
            assert_shape(analysis, node->outputs[k], &made);
            if (made.dtype == IFM_DTYPE_F32)
                g_assert_cmpint(ifm_tensor_first_not_finite(&made), ==, -1);
        }
    }
    g_assert_cmpuint(n, ==, ifm_compiled_n_outputs(fixture->compiled));
}

static void set_inputs(const Fixture *fixture, IfmTensor *inputs)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_model_make_inputs(fixture->model, NULL, 0, 5, inputs, &error));
    for (gsize i = 0; i < ifm_model_n_inputs(fixture->model); i++)
        g_assert_true(ifm_request_set_input(fixture->request, i, &inputs[i], &error));
}

static void clear_inputs(const Fixture *fixture, IfmTensor *inputs)
{
    for (gsize i = 0; i < ifm_model_n_inputs(fixture->model); i++)
        ifm_tensor_clear(&inputs[i]);
}

static void check_size(Fixture *fixture, const char *name, const char *settings, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = zoo(name, settings);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    IfmTensor inputs[IFM_MAX_STAGES];
    options.optimise = FALSE;
    options.threads = 1;
    fixture_compile(fixture, open_with_outputs(model, analysis, path), &options);
    set_inputs(fixture, inputs);
    run(fixture->request);
    check_nodes(fixture, model, analysis);
    check_pooling(fixture, name);
    clear_inputs(fixture, inputs);
    fixture_drop(fixture);
}

static void test_shapes(gconstpointer data)
{
    gsize n = GPOINTER_TO_SIZE(data);
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autofree char *folder = g_dir_make_tmp("ifm-zoo-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "model.onnx", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes[n].settings); i++)
        check_size(&fixture, sizes[n].name, sizes[n].settings[i], path);
    fixture_close(&fixture);
    remove_tree(folder);
}

/* --- outputs
 * -------------------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *device, *name, *settings;
} answers[] = {
    { "onnxruntime:CPU", "alexnet", "height=63 width=100" }, { "onnxruntime:CPU", "densenet121", "size=32" },
    { "onnxruntime:CPU", "googlenet", "batch=2 size=64" },   { "onnxruntime:CPU", "resnet18", "batch=2 size=64" },
    { "openvino:CPU", "alexnet", "height=63 width=100" },    { "openvino:CPU", "densenet121", "size=32" },
    { "openvino:CPU", "googlenet", "batch=2 size=64" },      { "openvino:CPU", "resnet18", "batch=2 size=64" },
};

/* Optimised or on another engine, a model answers what the reference does: from its file, with the weights beside it. */
static void test_answers(gconstpointer data)
{
    gsize n = GPOINTER_TO_SIZE(data);
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    if (!fixture_open(&fixture, answers[n].device))
        return;
    g_autofree char *folder = g_dir_make_tmp("ifm-zoo-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "model.onnx", NULL);
    g_autoptr(IfmModel) built = zoo(answers[n].name, answers[n].settings);
    g_assert_true(ifm_model_save(built, path, &error));
    IfmModel *opened = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_auto(IfmTensor) input = make_input(opened, NULL, 0, 3);
    fixture_compile(&fixture, opened, NULL);
    run_and_compare(&fixture, &input);
    fixture_close(&fixture);
    remove_tree(folder);
}

/* In one file, from memory, a model answers the same; and of another image it says something else. */
static void test_in_memory(gconstpointer device)
{
    Fixture fixture;
    if (!fixture_open(&fixture, device))
        return;
    fixture_compile(&fixture, zoo("resnet18", "size=64"), NULL);
    g_auto(IfmTensor) input = make_input(fixture.model, NULL, 0, 3), other = make_input(fixture.model, NULL, 0, 4);
    run_and_compare(&fixture, &input);
    g_auto(IfmTensor) first = copy_output(fixture.request);
    set_input(fixture.request, &other);
    run(fixture.request);
    g_auto(IfmTensor) second = copy_output(fixture.request);
    IfmTensorDifference difference;
    g_assert_false(ifm_tensor_compare(&second, &first, 0, 0, &difference));
    double size = ifm_tensor_root_mean_square(&first);
    g_assert_cmpfloat(difference.max_abs_difference, >, 0.01 * size);
    g_assert_cmpfloat(size, >, 0.01);
    g_assert_cmpfloat(size, <, 1000);
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/zoo/engines/all-are-here", test_all_are_here);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    {
        g_autofree char *path = g_strdup_printf("/zoo/engines/shapes/%s", sizes[i].name);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_shapes);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
    {
        g_autofree char *path = g_strdup_printf("/zoo/engines/answers/%s/%s", answers[i].device, answers[i].name);
        g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_answers);
    }
    g_test_add_data_func("/zoo/engines/in-memory/onnxruntime:CPU", "onnxruntime:CPU", test_in_memory);
    g_test_add_data_func("/zoo/engines/in-memory/openvino:CPU", "openvino:CPU", test_in_memory);
    return g_test_run();
}
