/* Convolutions by named algorithms in ONNX Runtime's own graph, against its own kernels. */
#include <convolution/convolution.h>

#include "folder.h"
#include "run-model.h"

#define DEVICE "onnxruntime:CPU"

static const char *const small[] = { "size=64", NULL };

/* Compiles a model of the zoo, runs it once and returns its first output. NULL: skipped, or refused with @error. */
static float *outputs_of(const char *name, const char *const *convolutions, int threads, gsize *n, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, &local);
    if (engine == NULL)
    {
        g_test_skip(local->message);
        return NULL;
    }
    g_autoptr(IfmModel) model = ifm_zoo_build(name, small, 1, &local);
    g_assert_no_error(local);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(DEVICE, &local);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = threads;
    options.convolutions = convolutions;
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine, model, spec, &options, error);
    if (compiled == NULL)
        return NULL;
    g_autoptr(IfmRequest) request = ifm_compiled_request(compiled, 0, &local);
    g_assert_no_error(local);
    IfmTensor input, output;
    ifm_model_make_inputs(model, NULL, 0, 3, &input, &local);
    g_assert_no_error(local);
    float *copy = NULL;
    for (int i = 0; i < 2; i++)
    {
        ifm_request_set_input(request, 0, &input, &local);
        ifm_request_start(request, NULL, NULL, &local);
        ifm_request_wait(request, IFM_CLOCK_NEVER, &local);
        g_assert_no_error(local);
        ifm_request_output(request, 0, &output, &local);
        g_free(copy);
        copy = g_memdup2(output.data, output.size_bytes);
    }
    *n = output.size_bytes / sizeof(float);
    ifm_tensor_clear(&input);
    return copy;
}

static void check_equal(const char *what, const float *expected, const float *got, gsize n, double tolerance)
{
    double largest = 0, worst = 0;
    for (gsize i = 0; i < n; i++)
    {
        largest = fmax(largest, fabs((double)expected[i]));
        worst = fmax(worst, fabs((double)expected[i] - (double)got[i]));
    }
    g_test_message("%s: off by %.2g of the largest output", what, worst / largest);
    g_assert_cmpfloat(worst, <=, tolerance * largest);
}

/* Every algorithm in whole models: residual sums, branches, concatenations, the first layer in NCHW. */
static void test_models(gconstpointer data)
{
    const char *name = data;
    gsize n = 0, n_other = 0;
    g_autofree float *expected = outputs_of(name, NULL, 1, &n, NULL);
    if (expected == NULL)
        return;
    for (int i = 0; i <= IFM_CONV_GUESS; i++)
        for (int threads = 1; threads <= 2; threads++)
        {
            g_autoptr(GError) error = NULL;
            const char *const lines[] = { ifm_conv_algorithm_name((IfmConvAlgorithm)i), "fallback=direct", NULL };
            g_autofree float *got = outputs_of(name, lines, threads, &n_other, &error);
            g_assert_no_error(error);
            g_assert_cmpuint(n_other, ==, n);
            check_equal(lines[0], expected, got, n, 1e-4);
        }
}

static void test_refusals(void)
{
    static const struct
    {
        const char *lines[3], *message;
    } wrong[] = {
        { { "implicit_gem" }, "\"implicit_gem\" is not a convolution algorithm; did you mean \"implicit_gemm\"?" },
        { { "nowhere=direct" }, "\"nowhere\" is no convolution of the optimised graph" },
        { { "layer1.0.bm2=direct" },
          "\"layer1.0.bm2\" is no convolution of the optimised graph; did you mean \"layer1.0.bn2\"?" },
        { { "direct", "workspace=-1" }, "convolutions: \"-1\" is not a number of bytes" },
        { { "gemm", "workspace=4096" },
          "gemm cannot do 20 of 20 layers of resnet18 (workspace over the limit, a limit of 844 KiB would do)" },
        { { "winograd" }, "winograd cannot do 7 of 20 layers of resnet18 (1x1, 7x7, stride 2)" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_autoptr(GError) error = NULL;
        gsize n = 0;
        g_autofree float *outputs = outputs_of("resnet18", wrong[i].lines, 1, &n, &error);
        if (error == NULL)
            return; /* skipped */
        g_assert_null(outputs);
        g_assert_cmpstr(error->message, ==, wrong[i].message);
    }
}

/* What ran of each layer, as the effective configuration has it: asked for, fallen back to, left to the runtime. */
static void test_record(void)
{
    static const char *const lines[] = { "gemm", "fallback=direct", "layer1.0.bn2=runtime", "workspace=200000", NULL };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, &error);
    if (engine == NULL)
    {
        g_test_skip(error->message);
        return;
    }
    g_autoptr(IfmModel) model = ifm_zoo_build("resnet18", small, 1, &error);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(DEVICE, &error);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    options.convolutions = lines;
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine, model, spec, &options, &error);
    g_assert_no_error(error);
    IfmTensor input;
    ifm_model_make_inputs(model, NULL, 0, 3, &input, &error);
    g_autoptr(IfmEffectiveConfig) effective = ifm_compiled_effective_config(compiled, &input, &error);
    g_assert_no_error(error);
    ifm_tensor_clear(&input);
    guint n_fell_back = 0, n_gemm = 0, n_runtime = 0;
    g_assert_cmpuint(effective->convolutions->len, ==, 20);
    for (guint i = 0; i < effective->convolutions->len; i++)
    {
        const IfmConvLayer *layer = effective->convolutions->pdata[i];
        n_fell_back += layer->fell_back != FALSE;
        n_gemm += g_str_equal(layer->algorithm, "gemm");
        n_runtime += g_str_equal(layer->asked, "runtime");
        g_assert_cmpint(layer->workspace_bytes, <=, 200000);
        if (!layer->fell_back)
            g_assert_cmpstr(layer->algorithm, ==, layer->asked);
        else if (!g_str_equal(layer->algorithm, "runtime")) /* where oneDNN's kernel needs more, too */
            g_assert_cmpstr(layer->algorithm, ==, "direct");
        g_assert_cmpint(layer->macs, >, 0);
        g_assert_cmpint(*layer->implementation, !=, 0);
        for (guint k = 0; k < effective->nodes->len; k++)
        {
            const IfmNodeConfig *node = effective->nodes->pdata[k];
            if (g_str_equal(node->name, layer->layer))
                g_assert_cmpstr(node->implementation, ==, layer->implementation);
        }
    }
    g_assert_cmpuint(n_fell_back, >, 0);
    g_assert_cmpuint(n_gemm, >, 0);
    g_assert_cmpuint(n_runtime, ==, 1);
    const IfmConvLayer *first = effective->convolutions->pdata[0];
    g_assert_cmpint(first->in_channels, ==, 3);
    g_assert_cmpint(first->out_channels, ==, 64);
    g_assert_cmpint(first->kernel_rows, ==, 7);
    g_assert_cmpint(first->macs, ==, 64 * 3 * 49 * 32 * 32);
}

static gboolean is_of_whole(const IfmConvTuned *row)
{
    return g_str_has_prefix(row->shape, "the whole: ");
}

/* Of layers. A row of a whole graph has what best chose, or leaves all to the runtime. */
static guint n_tuned(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = ifm_conv_tuning_load(path, &error);
    guint n = 0;
    g_assert_no_error(error);
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmConvTuned *row = rows->pdata[i];
        IfmConvAlgorithm algorithm = IFM_N_CONV_ALGORITHMS;
        if (is_of_whole(row))
        {
            g_assert_cmpint(g_str_equal(row->algorithm, "best"), ==, !g_str_equal(row->algorithm, "runtime"));
            g_assert_cmpfloat(MIN(row->time_ns, row->runtime_ns), >, 0);
            continue;
        }
        n++;
        g_assert_true(ifm_conv_algorithm_parse(row->algorithm, &algorithm, &error));
        g_assert_true(algorithm < IFM_N_CONV_FIXED || algorithm == IFM_CONV_RUNTIME);
        g_assert_cmpfloat(row->time_ns, >, 0);
        g_assert_cmpfloat(row->time_ns, <=, row->runtime_ns);
        g_assert_true(isfinite(row->runtime_ns));
    }
    return n;
}

/* "best" measures each shape once, in the model, and keeps it. */
static void test_best(void)
{
    static const char *const best[] = { "best", NULL }, *const one[] = { "direct", "layer1.0.bn2=best", NULL };
    g_autofree char *folder = g_dir_make_tmp("ifm-best-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "cache.json", NULL), *before = NULL, *after = NULL;
    gsize n = 0, n_other = 0;
    g_setenv("IFM_TUNING_CACHE", path, TRUE);
    g_autofree float *expected = outputs_of("resnet18", NULL, 1, &n, NULL);
    if (expected == NULL)
        return;
    g_autoptr(GError) error = NULL;
    g_autofree float *of_one = outputs_of("resnet18", one, 1, &n_other, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(n_tuned(path), ==, 1);
    g_autofree float *got = outputs_of("resnet18", best, 1, &n_other, &error);
    g_assert_no_error(error);
    check_equal("best", expected, got, n, 1e-4);
    const guint n_shapes = n_tuned(path);
    g_assert_cmpuint(n_shapes, >, 8);
    g_assert_cmpuint(n_shapes, <, 20); /* layers of one shape are one row */
    g_assert_true(g_file_get_contents(path, &before, NULL, NULL));
    g_autofree float *again = outputs_of("resnet18", best, 1, &n_other, &error);
    g_assert_true(g_file_get_contents(path, &after, NULL, NULL));
    g_assert_cmpstr(after, ==, before); /* nothing is measured twice */
    g_autofree float *threaded = outputs_of("resnet18", one, 2, &n_other, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(n_tuned(path), ==, n_shapes + 1); /* another number of threads is another row */
    g_setenv("IFM_TUNING_CACHE", "/proc/no/cache.json", TRUE);
    g_autofree float *not_kept = outputs_of("resnet18", one, 1, &n_other, &error);
    g_assert_no_error(error); /* it works without a cache */
    check_equal("best without a cache", expected, not_kept, n, 1e-4);
    g_unsetenv("IFM_TUNING_CACHE");
    remove_tree(folder);
}

/* (transfer full) the rows of a cache with this algorithm for each layer, without those of wholes */
static GPtrArray *rows_with(const char *path, const char *algorithm)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *rows = ifm_conv_tuning_load(path, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < rows->len; i++)
    {
        IfmConvTuned *row = rows->pdata[i];
        g_free(row->algorithm);
        row->algorithm = g_strdup(algorithm);
        if (is_of_whole(row))
            g_ptr_array_remove_index(rows, i--);
    }
    return rows;
}

/* Plants what came of the whole: the only such row of the cache. */
static void plant_whole(const char *path, const char *algorithm, double time_ns, double runtime_ns)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = ifm_conv_tuning_load(path, &error);
    guint n = 0;
    g_assert_no_error(error);
    for (guint i = 0; i < rows->len; i++)
    {
        IfmConvTuned *row = rows->pdata[i];
        if (!is_of_whole(row))
            continue;
        g_free(row->algorithm);
        row->algorithm = g_strdup(algorithm);
        row->time_ns = time_ns;
        row->runtime_ns = runtime_ns;
        n++;
    }
    g_assert_cmpuint(n, ==, 1);
    g_assert_true(ifm_conv_tuning_add(path, rows, &error));
    g_assert_no_error(error);
}

/* (transfer full) what ran of resnet18 by "best"; NULL: skipped */
static IfmEffectiveConfig *config_of_best(void)
{
    static const char *const lines[] = { "best", "conv1=direct", NULL };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, &error);
    if (engine == NULL)
    {
        g_test_skip(error->message);
        return NULL;
    }
    g_autoptr(IfmModel) model = ifm_zoo_build("resnet18", small, 1, &error);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(DEVICE, &error);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    options.convolutions = lines;
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine, model, spec, &options, &error);
    g_assert_no_error(error);
    IfmTensor input;
    ifm_model_make_inputs(model, NULL, 0, 3, &input, &error);
    IfmEffectiveConfig *effective = ifm_compiled_effective_config(compiled, &input, &error);
    g_assert_no_error(error);
    ifm_tensor_clear(&input);
    return effective;
}

/* @note: NULL: none is expected */
static void expect_best(const char *algorithm, const char *note)
{
    g_autoptr(IfmEffectiveConfig) effective = config_of_best();
    gboolean is_noted = FALSE;
    for (guint i = 0; i < effective->convolutions->len; i++)
    {
        const IfmConvLayer *layer = effective->convolutions->pdata[i];
        g_assert_cmpstr(layer->algorithm, ==, g_str_equal(layer->asked, "best") ? algorithm : "direct");
    }
    for (guint i = 0; effective->notes != NULL && i < effective->notes->len; i++)
        is_noted |= strstr(effective->notes->pdata[i], note != NULL ? note : "all layers are left") != NULL;
    g_assert_cmpint(is_noted, ==, note != NULL);
}

/* The whole with what best chose is measured once, and left to the runtime where that is no gain; layers that are named
 * stay. */
static void test_whole(void)
{
    g_autofree char *folder = g_dir_make_tmp("ifm-whole-XXXXXX", NULL);
    g_autofree char *first = g_build_filename(folder, "first.json", NULL), *path = g_build_filename(folder, "c.json", NULL);
    g_autoptr(GError) error = NULL;
    g_setenv("IFM_TUNING_CACHE", first, TRUE);
    g_autoptr(IfmEffectiveConfig) effective = config_of_best();
    if (effective == NULL)
        return;
    g_autoptr(GPtrArray) all_runtime = rows_with(first, "runtime"), all_direct = rows_with(first, "direct");
    g_setenv("IFM_TUNING_CACHE", path, TRUE);
    g_assert_true(ifm_conv_tuning_add(path, all_runtime, &error));
    expect_best("runtime", NULL); /* nothing was chosen: there is no whole to measure */
    g_autoptr(GPtrArray) rows = ifm_conv_tuning_load(path, &error);
    g_assert_cmpuint(rows->len, ==, all_runtime->len);
    g_assert_true(ifm_conv_tuning_add(path, all_direct, &error));
    g_autoptr(IfmEffectiveConfig) measured = config_of_best();
    plant_whole(path, "runtime", 3e6, 2e6);
    expect_best("runtime", "takes 1.500 times the runtime's time in the whole model");
    plant_whole(path, "best", 2e6, 3e6);
    expect_best("direct", NULL);
    g_unsetenv("IFM_TUNING_CACHE");
    remove_tree(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/conv-operator/resnet18", "resnet18", test_models);
    g_test_add_data_func("/conv-operator/densenet121", "densenet121", test_models);
    g_test_add_func("/conv-operator/refusals", test_refusals);
    g_test_add_func("/conv-operator/record", test_record);
    g_test_add_func("/conv-operator/best", test_best);
    g_test_add_func("/conv-operator/whole", test_whole);
    return g_test_run();
}
