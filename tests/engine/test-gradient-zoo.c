/* Backward passes of the zoo's convolutional networks: each can be made, small ones give the same on every engine, and
 * ResNet-18 gives what PyTorch's autograd gives. */
#include <gradient/gradient.h>

#include "torch.h"

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

/* Both forms: normalised by fixed statistics, and by the batch's. */
static void test_torch(gconstpointer device)
{
    static const struct
    {
        const char *sizes, *settings;
    } forms[] = { { "batch=4 size=64 classes=7", "model=resnet18 training=0" },
                  { "batch=4 size=64 classes=7 form=training", "model=resnet18 training=1 statistics=1" } };
    GPtrArray *folders = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < G_N_ELEMENTS(forms); i++)
    {
        Run run;
        if (!run_open(&run, device))
        {
            g_ptr_array_unref(folders);
            return;
        }
        g_autoptr(IfmModel) backward = backward_of("resnet18", forms[i].sizes, IFM_LOSS_CROSS_ENTROPY);
        run_compile(&run, backward, IFM_DTYPE_F32, NULL, 0);
        run_once(&run);
        torch_add(folders, &run, forms[i].settings);
        run_close(&run);
    }
    torch_check(folders);
}

int main(int argc, char **argv)
{
    static const char *const networks[] = { "alexnet",  "densenet121", "googlenet",  "mobilenet_v2", "resnet152",
                                            "resnet18", "resnet50",    "squeezenet", "vgg16",        "vit" };
    static const char *const small[] = { "densenet121", "googlenet", "mobilenet_v2", "resnet18" };
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
