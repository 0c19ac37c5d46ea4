/* Backward passes of the zoo's convolutional networks: each can be made, small ones give the same on every engine, and
 * ResNet-18 gives what PyTorch's autograd gives. */
#include <sys/wait.h>

#include <glib/gstdio.h>

#include <inferometer/file.h>
#include <inferometer/gradient.h>

#include "graph-text.h"
#include "run-model.h"

static IfmModel *backward_of(const char *name, const char *settings, IfmLoss loss)
{
    g_autoptr(GError) error = NULL;
    IfmGradientOptions options = { .loss = loss };
    g_autoptr(IfmModel) model = zoo(name, settings);
    IfmModel *backward = ifm_gradient_backward(model, &options, &error);
    g_assert_no_error(error);
    return backward;
}

/* Every operator that they use has a rule; each gradient has its parameter's shape, for any number of images. */
static void test_shapes(gconstpointer name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = zoo(name, "batch=0 size=64 classes=7");
    g_autoptr(IfmModel) backward = backward_of(name, "batch=0 size=64 classes=7", IFM_LOSS_CROSS_ENTROPY);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(backward, &(IfmDimBinding){ "N", 3 }, 1, &error);
    g_assert_no_error(error);
    gint64 n_parameters = 0;
    for (gsize i = 1; i < ifm_model_n_outputs(backward); i++)
    {
        const char *output = ifm_model_output(backward, i)->name;
        IfmTensor parameter;
        gint64 shape[IFM_MAX_RANK];
        IfmDtype dtype;
        int rank;
        g_assert_true(ifm_model_initializer(model, output + strlen("grad."), &parameter));
        g_assert_true(ifm_analysis_shape(analysis, output, &dtype, &rank, shape));
        g_assert_cmpint(rank, ==, parameter.rank);
        g_assert_cmpmem(shape, (gsize)rank * sizeof shape[0], parameter.shape, (gsize)rank * sizeof shape[0]);
        n_parameters += ifm_tensor_n_elements(&parameter);
    }
    g_assert_cmpint(n_parameters, ==, ifm_model_n_trainable(model));
}

/* --- the same on both engines
 * ---------------------------------------------------------------------------------------------
 */

/* distance: |a - b| / |b|, the Euclidean norms: what a sum in another order changes is small beside all of them. */
static double distance(const IfmTensor *a, const IfmTensor *b)
{
    double difference = 0, size = 0;
    g_assert_cmpint(ifm_tensor_n_elements(a), ==, ifm_tensor_n_elements(b));
    for (gint64 i = 0; i < ifm_tensor_n_elements(a); i++)
    {
        double right = ifm_tensor_get_double(b, i);
        difference += pow(ifm_tensor_get_double(a, i) - right, 2);
        size += right * right;
    }
    return size > 0 ? sqrt(difference / size) : sqrt(difference);
}

static void test_engines(gconstpointer name)
{
    Run onnxruntime, openvino;
    if (!run_open(&onnxruntime, "onnxruntime:CPU"))
        return;
    if (!run_open(&openvino, "openvino:CPU"))
    {
        run_close(&onnxruntime);
        return;
    }
    g_autoptr(IfmModel) backward = backward_of(name, "batch=2 size=33 classes=7", IFM_LOSS_CROSS_ENTROPY);
    run_compile(&onnxruntime, backward, IFM_DTYPE_F32, NULL, 0);
    run_compile(&openvino, backward, IFM_DTYPE_F32, NULL, 0);
    run_once(&onnxruntime);
    run_once(&openvino);
    for (gsize i = 0; i < ifm_model_n_outputs(backward); i++)
    {
        const char *output = ifm_model_output(backward, i)->name;
        IfmTensor a = run_output(&onnxruntime, output), b = run_output(&openvino, output);
        g_assert_cmpint(ifm_tensor_first_not_finite(&a), ==, -1);
        if (!(distance(&b, &a) <= 1e-3))
            g_error("%s: %s differs by %.3g of its size", (const char *)name, output, distance(&b, &a));
    }
    run_close(&openvino);
    run_close(&onnxruntime);
}

/* --- PyTorch
 * --------------------------------------------------------------------------------------------------------------
 */

typedef struct
{
    char *folder;
    GString *index;
    int n;
} Export;

static void export(Export *to, const char *name, const IfmTensor *tensor)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *number = g_strdup_printf("%d", to->n++), *path = g_build_filename(to->folder, number, NULL);
    g_string_append_printf(to->index, "%s %s", name, ifm_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++)
        g_string_append_printf(to->index, " %" G_GINT64_FORMAT, tensor->shape[i]);
    g_string_append_c(to->index, '\n');
    g_assert_true(ifm_file_save_temporary(path, tensor->data, tensor->size_bytes, &error));
}

static void export_all(Export *to, Run *run)
{
    g_autoptr(GError) error = NULL;
    IfmModel *backward = run->fixture.model;
    for (gsize i = 0; i < run->n; i++)
        export(to, ifm_model_input(backward, i)->name, &run->inputs[i]);
    for (gsize i = 0; i < ifm_model_n_outputs(backward); i++)
    {
        IfmTensor output = run_output(run, ifm_model_output(backward, i)->name);
        export(to, ifm_model_output(backward, i)->name, &output);
    }
    for (gsize i = 0; i < ifm_model_n_initializers(backward); i++)
    {
        const char *name = ifm_model_initializer_name(backward, i);
        IfmTensor weight;
        g_assert_true(ifm_model_initializer(backward, name, &weight));
        if (weight.dtype == IFM_DTYPE_F32 && !g_str_has_prefix(name, "backward.") && !g_str_has_prefix(name, "loss."))
            export(to, name, &weight);
    }
    g_autofree char *path = g_build_filename(to->folder, "index", NULL);
    g_assert_true(ifm_file_save_temporary(path, to->index->str, to->index->len, &error));
}

static void remove_all(const Export *from)
{
    for (int i = -1; i < from->n; i++)
    {
        g_autofree char *name = i < 0 ? g_strdup("index") : g_strdup_printf("%d", i);
        g_autofree char *path = g_build_filename(from->folder, name, NULL);
        g_remove(path);
    }
    g_rmdir(from->folder);
}

/* python: IFM_TEST_PYTHON, else python3. Returns: the exit status, -1 where there is none; @output: (out) */
static int run_python(const char *folder, char **output)
{
    const char *python = g_getenv("IFM_TEST_PYTHON") != NULL ? g_getenv("IFM_TEST_PYTHON") : "python3";
    g_autofree char *script = g_build_filename(g_getenv("IFM_TEST_DATA"), "engine", "torch-resnet18.py", NULL);
    const char *const command[] = { python, script, folder, NULL };
    int status = -1;
    *output = NULL;
    if (!g_spawn_sync(NULL, (char **)command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, output, NULL, &status, NULL))
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void test_torch(gconstpointer device)
{
    g_autoptr(GError) error = NULL;
    Run run;
    Export to = { 0 };
    g_autofree char *output = NULL;
    if (!run_open(&run, device))
        return;
    g_autoptr(IfmModel) backward = backward_of("resnet18", "batch=2 size=64 classes=7", IFM_LOSS_CROSS_ENTROPY);
    run_compile(&run, backward, IFM_DTYPE_F32, NULL, 0);
    run_once(&run);
    to.folder = g_dir_make_tmp("inferometer-torch-XXXXXX", &error);
    g_assert_no_error(error);
    to.index = g_string_new(NULL);
    export_all(&to, &run);
    int status = run_python(to.folder, &output);
    remove_all(&to);
    run_close(&run);
    g_string_free(to.index, TRUE);
    g_free(to.folder);
    if (output != NULL)
        g_test_message("%s", g_strchomp(output));
    if (status == 77 || status == -1)
        g_test_skip("no python3 with torch (IFM_TEST_PYTHON names another one)");
    else
        g_assert_cmpint(status, ==, 0);
}

int main(int argc, char **argv)
{
    static const char *const networks[] = { "alexnet",  "densenet121", "googlenet", "resnet152",
                                            "resnet18", "resnet50",    "vgg16" };
    static const char *const small[] = { "densenet121", "googlenet", "resnet18" };
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(networks); i++)
    {
        g_autofree char *path = g_strdup_printf("/gradient/zoo/shapes/%s", networks[i]);
        g_test_add_data_func(path, networks[i], test_shapes);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(small); i++)
    {
        g_autofree char *path = g_strdup_printf("/gradient/zoo/engines/%s", small[i]);
        g_test_add_data_func(path, small[i], test_engines);
    }
    g_test_add_data_func("/gradient/zoo/torch/onnxruntime", "onnxruntime:CPU", test_torch);
    g_test_add_data_func("/gradient/zoo/torch/openvino", "openvino:CPU", test_torch);
    return g_test_run();
}
