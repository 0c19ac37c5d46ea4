/* The zoo's models on real engines: shapes as inferred, node by node; outputs that are numbers, and the same everywhere. */
#include <math.h>

#include <glib/gstdio.h>

#include "all-outputs.h"
#include "folder.h"

/* Of every model of the zoo, two of its sizes that are quick to run. */
static const struct
{
    const char *name, *settings[2];
} sizes[] = {
    { "alexnet", { "size=64", "batch=2 height=170 width=301" } },
    { "bert", { "length=9 layers=2 hidden=24 vocabulary=50", "batch=3 length=5 layers=1 hidden=16 heads=2 mlp=2" } },
    { "densenet121", { "size=32", "batch=2 height=33 width=70" } },
    { "googlenet", { "size=32", "batch=2 height=15 width=70" } },
    { "gps",
      { "num_nodes=23 num_edges=40 mpnn=sage attention=sparse head=node pe=rwse pe_dim=3 norm=batch num_layers=1",
        "num_nodes=30 num_graphs=3 hidden_dim=8 num_heads=2 num_layers=1 mpnn=gcn form=training" } },
    { "graph_transformer", { "num_nodes=21 num_layers=2", "num_nodes=9 pe=lap pe_dim=4 num_layers=0" } },
    { "graphsage", { "nodes=20 edges=60 features=6 hidden=5", "nodes=33 edges=40 features=3 hidden=9 scatter=1" } },
    { "matmul", { "m=3 k=5 n=7", "m=8 k=2 n=4 layers=3" } },
    { "mobilenet_v2", { "size=32", "batch=2 height=33 width=70" } },
    { "resnet152", { "size=32", "batch=2 height=33 width=50" } },
    { "resnet18", { "size=32", "batch=2 height=1 width=65" } },
    { "resnet50", { "size=32", "batch=2 height=33 width=50" } },
    { "small-cnn", { "size=8 channels=3", "batch=2 size=21 channels=5 classes=4" } },
    { "squeezenet", { "size=32", "batch=2 height=17 width=70" } },
    { "staged-matmul", { "nodes=17 features=9 hidden=6", "nodes=4 features=3 hidden=5" } },
    { "vgg16", { "size=32", "batch=2 height=80 width=300" } },
    { "vit", { "size=32 layers=2 hidden=24", "batch=3 size=24 patch=8 layers=1 hidden=32 heads=4 classes=7" } },
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

/* --- shapes, node by node ------------------------------------------------------------------------------------------------
 */

static IfmTensor output_named(const Fixture *fixture, const char *name)
{
    g_autoptr(GError) error = NULL;
    IfmTensor tensor = IFM_TENSOR_INIT;
    for (gsize i = 0; i < ifm_compiled_info(fixture->compiled).n_outputs; i++)
        if (g_str_equal(ifm_compiled_output(fixture->compiled, i)->name, name))
        {
            g_assert_true(ifm_request_output(fixture->request, i, &tensor, &error));
            return tensor;
        }
    g_error("no output '%s'", name);
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

/* Every tensor that a node makes has a shape, it is the one that the run made, and its numbers are some. */
static void check_nodes(Fixture *fixture, const IfmModel *model, const IfmAnalysis *analysis)
{
    gsize n = 0, n_known = compare_outputs(fixture, analysis, ifm_model_name(model));
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        for (gsize k = 0; k < node->n_outputs; k++, n++)
        {
            IfmTensor made = output_named(fixture, node->outputs[k]);
            if (made.dtype == IFM_DTYPE_F32)
                g_assert_cmpint(ifm_tensor_first_not_finite(&made), ==, -1);
        }
    }
    g_assert_cmpuint(n, ==, ifm_compiled_info(fixture->compiled).n_outputs);
    g_assert_cmpuint(n_known, ==, n);
}

/* By way of a file: large weights lie beside it, and are mapped. */
static void check_size(Fixture *fixture, const char *name, const char *settings, const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(folder, "model.onnx", NULL);
    IfmModel *built = zoo(name, settings);
    g_assert_true(ifm_model_save(built, path, &error));
    ifm_model_unref(built);
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error);
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_coverage(analysis, &coverage);
    g_assert_cmpuint(coverage.n_covered, ==, coverage.n_nodes);
    g_autoptr(IfmModel) whole = with_all_outputs(model, analysis, folder);
    g_assert_true(compile_and_run(fixture, whole, NULL, 0, &error));
    g_assert_no_error(error);
    check_nodes(fixture, model, analysis);
    check_pooling(fixture, name);
    fixture_drop(fixture);
}

static void test_shapes(gconstpointer data)
{
    gsize n = GPOINTER_TO_SIZE(data);
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autofree char *folder = g_dir_make_tmp("ifm-zoo-XXXXXX", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes[n].settings); i++)
        check_size(&fixture, sizes[n].name, sizes[n].settings[i], folder);
    fixture_close(&fixture);
    remove_tree(folder);
}

/* --- outputs
 * -------------------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *device, *name, *settings;
} answers[] = {
    { "onnxruntime:CPU", "alexnet", "height=63 width=100" },
    { "onnxruntime:CPU", "densenet121", "size=32" },
    { "onnxruntime:CPU", "googlenet", "batch=2 size=64" },
    { "onnxruntime:CPU", "resnet18", "batch=2 size=64" },
    { "onnxruntime:CPU", "mobilenet_v2", "batch=2 size=64" },
    { "onnxruntime:CPU", "squeezenet", "size=64" },
    { "onnxruntime:CPU", "vit", "batch=2 size=64 layers=3" },
    { "openvino:CPU", "vit", "batch=2 size=64 layers=3" },
    { "openvino:CPU", "mobilenet_v2", "batch=2 size=64" },
    { "openvino:CPU", "alexnet", "height=63 width=100" },
    { "openvino:CPU", "densenet121", "size=32" },
    { "openvino:CPU", "googlenet", "batch=2 size=64" },
    { "openvino:CPU", "resnet18", "batch=2 size=64" },
};

/* As run_and_compare(), of a deep model: what sums of thousands of products are off by goes with the size of the terms, not
 * with what is left of them, and so with that of all outputs; how much depends on the processor's kernels. */
static void run_and_compare_deep(Fixture *fixture, const IfmTensor *input)
{
    g_auto(IfmTensor) reference = reference_output(fixture->model, input);
    set_input(fixture->request, input);
    run(fixture->request);
    g_auto(IfmTensor) output = copy_output(fixture->request);
    IfmTensorDifference worst;
    double size = ifm_tensor_root_mean_square(&reference);
    g_test_message("root mean square %g", size);
    if (!ifm_tensor_compare(&output, &reference, RTOL, RTOL * size, &worst))
        g_error("%" G_GINT64_FORMAT " elements differ, worst %" G_GINT64_FORMAT ": %g, reference %g (size %g)",
                worst.n_different, worst.worst_index, worst.worst_value, worst.worst_reference, size);
}

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
    run_and_compare_deep(&fixture, &input);
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
