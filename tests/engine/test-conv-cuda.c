/* The graph that a GPU gets, on libraries of the test in place of NVIDIA's, and what is refused without a GPU. */
#include <dlfcn.h>
#include <unistd.h>

#include "build-folders.h"
#include "engine/onnxruntime/onnxruntime-conv.h"
#include "folder.h"
#include "graph-text.h"
#include "run-model.h"

static const gint64 dims[] = { 1, 4, 8, 8 };

/* x -> first (Conv 3x3) -> second (FusedConv 1x1 of first, without bias, + x, Relu) */
static IfmModel *make_model(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("two", 17);
    const gint64 pads[] = { 1, 1, 1, 1 };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, dims, NULL);
    ifm_model_builder_output(builder, "z", IFM_DTYPE_F32, 4, dims, NULL);
    ifm_model_builder_random_weight(builder, "w", 4, (const gint64[]){ 4, 4, 3, 3 }, 1, 1);
    ifm_model_builder_random_weight(builder, "b", 1, (const gint64[]){ 4 }, 1, 1);
    ifm_model_builder_random_weight(builder, "v", 4, (const gint64[]){ 4, 4, 1, 1 }, 1, 1);
    const gsize first = ifm_model_builder_node(builder, "Conv", "first", (const char *[]){ "x", "w", "b", NULL },
                                               (const char *[]){ "y", NULL });
    ifm_model_builder_ints(builder, first, "pads", pads, G_N_ELEMENTS(pads));
    const gsize second = ifm_model_builder_node(builder, "FusedConv", "second", (const char *[]){ "y", "v", "", "x", NULL },
                                                (const char *[]){ "z", NULL });
    ifm_model_builder_domain(builder, second, "com.microsoft", 1);
    ifm_model_builder_string(builder, second, "activation", "Relu");
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    return model;
}

static IfmModel *rewrite_model(IfmModel *model, IfmConvCuda *cuda, const char *const *lines, GPtrArray *layers,
                               GError **error)
{
    g_auto(IfmConvChoice) choice = { 0 };
    ifm_conv_choice_init(&choice, lines, error);
    const OrtConvWish wish = { .model = model, .runtime = "onnxruntime", .choice = &choice, .n_threads = 1, .cuda = cuda };
    return ifm_ort_conv_rewrite(model, &wish, layers, error);
}

static IfmModel *rewrite(IfmConvCuda *cuda, const char *const *lines, GPtrArray *layers, GError **error)
{
    g_autoptr(IfmModel) model = make_model();
    return rewrite_model(model, cuda, lines, layers, error);
}

static void assert_node(const IfmModel *model, gsize index, const char *domain, const char *inputs)
{
    const IfmNode *node = ifm_model_node(model, index);
    g_autoptr(GString) found = g_string_new(NULL);
    for (gsize i = 0; i < node->n_inputs; i++)
        g_string_append_printf(found, "%s%s", i > 0 ? "," : "", node->inputs[i]);
    g_assert_cmpstr(node->domain, ==, domain);
    g_assert_cmpstr(found->str, ==, inputs);
}

/* The library of the test, whose settings are those of a process, in a process of the test's own. Returns: (transfer full)
 * NULL where that process has been seen to pass */
static IfmConvCuda *open_alone(void)
{
    g_autoptr(GError) error = NULL;
    if (!g_test_subprocess())
    {
        g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
        g_test_trap_assert_passed();
        return NULL;
    }
    g_setenv("IFM_CUDNN_LIBRARY", IFM_BUILD_DIR "/tests/convolution/libcudnn.so.9", TRUE);
    IfmConvCuda *cuda = ifm_conv_cuda_open(0, FALSE, &error);
    g_assert_no_error(error);
    return cuda;
}

static void test_graph(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmConvCuda) cuda = open_alone();
    if (cuda == NULL)
        return;

    g_autoptr(GPtrArray) all = ifm_ort_conv_layers_new();
    g_autoptr(IfmModel) replaced = rewrite(cuda, (const char *[]){ "gemm", NULL }, all, &error);
    g_assert_no_error(error);
    assert_node(replaced, 0, "inferometer", "x,w,b");
    assert_node(replaced, 1, "inferometer", "y,v,,x");
    g_assert_cmpuint(ifm_model_n_initializers(replaced), ==, 3);
    const IfmConvLayer *record = ((const OrtConvLayer *)all->pdata[1])->record;
    g_assert_cmpstr(record->layer, ==, "second");
    g_assert_cmpstr(record->algorithm, ==, "gemm");
    g_assert_cmpstr(record->implementation, ==, "cuDNN 9.12.34 forward algorithm 2, FMA, sm_90");
    g_assert_cmpint(record->workspace_bytes, ==, 2000);

    g_autoptr(GPtrArray) none = ifm_ort_conv_layers_new();
    g_assert_null(rewrite(cuda, (const char *[]){ "winograd", NULL }, none, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_cmpstr(error->message, ==, "winograd cannot do 1 of 2 layers of two (1x1)");
    g_clear_error(&error);

    g_autoptr(GPtrArray) some = ifm_ort_conv_layers_new();
    g_autoptr(IfmModel) fallen = rewrite(cuda, (const char *[]){ "winograd", "fallback=runtime", NULL }, some, &error);
    g_assert_no_error(error);
    assert_node(fallen, 0, "inferometer", "x,w,b");
    assert_node(fallen, 1, "com.microsoft", "y,v,,x");
    g_assert_true(((const OrtConvLayer *)some->pdata[1])->record->fell_back);
    g_assert_cmpstr(((const OrtConvLayer *)some->pdata[1])->record->algorithm, ==, "runtime");

    /* A chain of fallbacks ends there, too. */
    g_autoptr(GPtrArray) chained = ifm_ort_conv_layers_new();
    g_autoptr(IfmModel) last = rewrite(cuda, (const char *[]){ "winograd", "fallback=winograd", NULL }, chained, &error);
    g_assert_no_error(error);
    assert_node(last, 1, "com.microsoft", "y,v,,x");
    g_assert_true(((const OrtConvLayer *)chained->pdata[1])->record->fell_back);
    g_assert_cmpstr(((const OrtConvLayer *)chained->pdata[1])->record->algorithm, ==, "runtime");
}

/* What the algorithms cannot do at all is refused as any layer is; and pads that auto_pad means are those of the layer. */
static void test_forms(void)
{
    static const char *const text =
        "s : [1,4,8]; u ! [4,4,3]; t = Conv(s,u); -> t [1,4,6]; x : [1,4,9,8]; w ! [4,4,3,3]; y = Conv(x,w) "
        "auto_pad=SAME_LOWER strides=[1,2]; -> y [1,4,9,4]";
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmConvCuda) cuda = open_alone();
    if (cuda == NULL)
        return;
    g_autoptr(IfmModel) model = text_model(text, IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(GPtrArray) none = ifm_ort_conv_layers_new(), layers = ifm_ort_conv_layers_new();
    g_assert_null(rewrite_model(model, cuda, (const char *[]){ "direct", NULL }, none, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_cmpstr(error->message, ==, "direct cannot do 1 of 2 layers of test (not of two dimensions)");
    g_clear_error(&error);
    g_autoptr(IfmModel) fallen =
        rewrite_model(model, cuda, (const char *[]){ "direct", "fallback=gemm", NULL }, layers, &error);
    g_assert_no_error(error);
    const OrtConvLayer *first = layers->pdata[0], *second = layers->pdata[1];
    g_assert_null(first->kernel.cuda);
    g_assert_true(first->record->fell_back);
    g_assert_cmpstr(first->record->algorithm, ==, "runtime");
    const IfmConvShape *shape = ifm_conv_cuda_layer_shape(second->kernel.cuda);
    g_assert_cmpstr(second->record->algorithm, ==, "direct");
    g_assert_cmpint(shape->pads[0], ==, 1);
    g_assert_cmpint(shape->pads[1], ==, 1); /* one is needed, and SAME_LOWER puts it before */
    g_assert_cmpint(shape->pads[2], ==, 1);
    g_assert_cmpint(shape->pads[3], ==, 0);
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* The runtime has no blocks for such groups: on the processor its convolutions stay in NCHW, too. */
#define NETWORK                                                                                                            \
    "x : [1,4,8,8]; u ! [4,2,3,3]; v ! [4,2,3,3]; w ! [4,2,3,3]; y = Conv(x,u) pads=[1,1,1,1] group=2; "                   \
    "z = Conv(y,v) pads=[1,1,1,1] group=2; a = Conv(z,w) pads=[0,0,1,1] group=2; -> a [1,4,7,7]"

/* A session on libraries of the test, in a process of the test's own: a provider that passes for NVIDIA's, and the
 * libraries behind it. Returns: FALSE where that process has been seen to pass, or it is skipped */
static gboolean session_alone(Fixture *fixture, gboolean has_memory)
{
    static const char *const names[] = { "libonnxruntime.so", "libonnxruntime_providers_cuda.so", "libcurand.so.10" };
    g_autofree char *runtime = ifm_path_runtime("onnxruntime");
    if (g_test_subprocess())
    {
        g_autofree char *library = g_build_filename(g_getenv("IFM_TEST_FOLDER"), names[0], NULL);
        g_setenv("IFM_ONNXRUNTIME_LIBRARY", library, TRUE);
        g_setenv("IFM_CUDNN_LIBRARY", IFM_BUILD_DIR "/tests/convolution/libcudnn.so.9", TRUE);
        g_assert_true(fixture_open(fixture, "onnxruntime:CUDA:0"));
        return TRUE;
    }
    if (!g_path_is_absolute(runtime))
    {
        g_test_skip("no ONNX Runtime of setup/install");
        return FALSE;
    }
    const char *const files[] = { runtime, g_getenv("IFM_TEST_PROVIDER"), g_getenv("IFM_TEST_NEEDED") };
    g_autofree char *folder = g_dir_make_tmp("ifm-session-XXXXXX", NULL);
    g_autofree char *cache = g_build_filename(folder, "tuning.json", NULL), *old = g_strdup(g_getenv("IFM_TUNING_CACHE"));
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autofree char *link = g_build_filename(folder, names[i], NULL);
        g_assert_cmpint(symlink(files[i], link), ==, 0);
    }
    g_setenv("IFM_TEST_FOLDER", folder, TRUE);
    g_setenv("IFM_TUNING_CACHE", cache, TRUE);
    if (has_memory)
        g_setenv("IFM_TEST_DEVICE_MEMORY", "1", TRUE);
    g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
    g_unsetenv("IFM_TEST_DEVICE_MEMORY");
    g_unsetenv("IFM_TUNING_CACHE");
    if (old != NULL)
        g_setenv("IFM_TUNING_CACHE", old, TRUE);
    remove_tree(folder);
    g_test_trap_assert_passed();
    return FALSE;
}

static void forget_choices(void)
{
    g_autoptr(GError) error = NULL;
    ifm_conv_tuning_clear(g_getenv("IFM_TUNING_CACHE"), &error);
    g_assert_no_error(error);
}

/* Compiles NETWORK with "best", holds its outputs, and what the layers run by: @says is in the implementation of the
 * first two; the third no algorithm can do, whose pads differ. */
static void assert_best(Fixture *fixture, const char *option, const char *algorithm, const char *says)
{
    g_autoptr(GError) error = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.convolutions = (const char *[]){ "best", NULL };
    options.vendor = (const char *[]){ option, NULL };
    fixture_compile(fixture, text_model(NETWORK, IFM_DTYPE_F32, FALSE, 17), &options);
    g_auto(IfmTensor) x = make_input(fixture->model, NULL, 0, 3);
    run_and_compare(fixture, &x);
    g_autoptr(IfmEffectiveConfig) effective = ifm_compiled_effective_config(fixture->compiled, &x, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(effective->convolutions->len, ==, 3);
    for (guint i = 0; i < 3; i++)
    {
        const IfmConvLayer *layer = effective->convolutions->pdata[i];
        g_assert_cmpstr(layer->asked, ==, "best");
        g_assert_cmpstr(layer->algorithm, ==, i < 2 ? algorithm : g_str_equal(algorithm, "direct") ? algorithm : "runtime");
        g_assert_true(i == 2 || strstr(layer->implementation, says) != NULL);
    }
    for (guint i = 0; i < effective->nodes->len; i++)
        g_assert_cmpstr(((const IfmNodeConfig *)effective->nodes->pdata[i])->op_type, !=, "Mark");
    fixture_drop(fixture);
}

/* The fastest of cuDNN's algorithms, ours and the runtime's own kernel, measured within the model by events; what was
 * the fastest once stays so. */
static void test_best(void)
{
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    if (!session_alone(&fixture, FALSE))
        return;
    assert_best(&fixture, NULL, "gemm", "algorithm 2, FMA");
    g_setenv("IFM_FAKE_BEST", "0", TRUE);
    assert_best(&fixture, NULL, "gemm", "algorithm 2, FMA");
    g_autoptr(GPtrArray) rows = ifm_conv_tuning_load(g_getenv("IFM_TUNING_CACHE"), &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, 2); /* two layers of one shape: one row */
    const IfmConvTuned *row = rows->pdata[0];
    g_assert_cmpstr(row->algorithm, ==, "gemm");
    g_assert_cmpfloat(row->time_ns, ==, 4e6);
    g_assert_cmpfloat(row->runtime_ns, ==, 50e6);
    g_assert_cmpstr(((const IfmConvTuned *)rows->pdata[1])->algorithm, ==, "runtime");
    forget_choices();
    assert_best(&fixture, NULL, "implicit_gemm", "algorithm 0, FMA");
    forget_choices();
    g_setenv("IFM_FAKE_RUNTIME", "4", TRUE); /* not told apart: the runtime's own keeps the layer */
    assert_best(&fixture, NULL, "runtime", "ONNX Runtime");
    forget_choices();
    fixture_close(&fixture);
}

/* Where TF32 is allowed each algorithm has two arithmetics among the candidates, and the choice keeps which. */
static void test_best_tf32(void)
{
    static const char option[] = "ep.cudaexecutionprovider.use_tf32=1";
    Fixture fixture;
    if (!session_alone(&fixture, FALSE))
        return;
    g_setenv("IFM_FAKE_TF32", "1", TRUE);
    assert_best(&fixture, option, "gemm", "algorithm 2, TF32");
    forget_choices();
    g_setenv("IFM_FAKE_SLOW_TF32", "1", TRUE);
    for (int i = 0; i < 2; i++) /* measured, and from the cache */
        assert_best(&fixture, option, "gemm", "algorithm 2, FMA");
    fixture_close(&fixture);
}

/* With times of layers the runtime's own kernels have theirs, too. */
static void test_runtime_times(void)
{
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    if (!session_alone(&fixture, FALSE))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.convolutions = (const char *[]){ "gemm", "fallback=runtime", NULL };
    options.profiling = TRUE;
    fixture_compile(&fixture, text_model(NETWORK, IFM_DTYPE_F32, FALSE, 17), &options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 3);
    run_and_compare(&fixture, &x);
    run(fixture.request);
    g_autoptr(GPtrArray) profiles = ifm_compiled_profile(fixture.compiled, fixture.request, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(profiles->len, ==, 2);
    const GPtrArray *nodes = ((const IfmEngineProfile *)profiles->pdata[1])->nodes;
    g_assert_cmpuint(nodes->len, ==, 3);
    for (guint i = 0; i < nodes->len; i++)
        g_assert_cmpint(((const IfmNodeTime *)nodes->pdata[i])->duration_ns, ==, i < 2 ? 4000000 : 50000000);
    fixture_close(&fixture);
}

/* [2] copies to the device and from it. */
static int *count_copies(void)
{
    void *provider = dlopen(g_getenv("IFM_TEST_PROVIDER"), RTLD_NOW | RTLD_NOLOAD);
    g_assert_nonnull(provider);
    int *copies = dlsym(provider, "fake_provider_copies");
    dlclose(provider);
    g_assert_nonnull(copies);
    return copies;
}

/* With algorithms, or where that is asked for, tensors stay in the device's memory: an output comes to the host when it is
 * looked at, once; an input goes there when it is set. */
static void test_device_memory(void)
{
    static const char *const lines[] = { "runtime", NULL };
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    if (!session_alone(&fixture, TRUE))
        return;
    for (int is_asked = 0; is_asked < 2; is_asked++)
    {
        IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
        options.convolutions = is_asked ? NULL : lines;
        options.keep_tensors = is_asked;
        fixture_compile(&fixture, text_model(NETWORK, IFM_DTYPE_F32, FALSE, 17), &options);
        g_assert_false(can(&fixture, IFM_CAN_SET_OUTPUT)); /* nobody's memory but the device's */
        const int *copies = count_copies(), sent = copies[0];
        for (guint32 seed = 1; seed < 3; seed++)
        {
            g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, seed);
            g_auto(IfmTensor) reference = reference_output(fixture.model, &x);
            set_input(fixture.request, &x);
            const int before = copies[1];
            for (int k = 0; k < 3; k++)
                run(fixture.request);
            g_assert_cmpint(copies[1], ==, before);
            for (int k = 0; k < 2; k++)
            {
                g_auto(IfmTensor) output = copy_output(fixture.request);
                assert_equal(&output, &reference);
                g_assert_cmpint(copies[1], ==, before + 1);
            }
        }
        g_assert_cmpint(copies[0], >, sent);
        fixture_drop(&fixture);
    }
    fixture_close(&fixture);
}

/* The runtime that is installed has no such provider, or finds no GPU. */
static void test_no_gpu(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, &error);
    if (engine == NULL)
    {
        g_test_skip(error->message);
        return;
    }
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("onnxruntime:CUDA", &error);
    g_assert_no_error(error);
    IfmDeviceInfo *device = ifm_engine_find_device(engine, spec, NULL);
    if (device != NULL)
    {
        ifm_device_info_free(device);
        g_test_skip("there is a GPU");
        return;
    }
    g_autoptr(IfmModel) model = make_model();
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.convolutions = (const char *[]){ "gemm", NULL };
    g_assert_null(ifm_engine_compile(engine, model, spec, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_true(g_str_has_prefix(error->message, "onnxruntime:CUDA: not available"));
}

/* Nodes return before their kernels have ended: only convolutions have times, by events, and without algorithms of them
 * there is no profile. Which nodes ran is known all the same. */
static void test_times(void)
{
    static const char *const lines[][3] = { { "gemm", NULL }, { "winograd_nonfused", "fallback=runtime", NULL } };
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CUDA:0"))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.profiling = TRUE;
    g_autoptr(IfmModel) model = make_model();
    g_assert_null(ifm_engine_compile(fixture.engine, model, fixture.spec, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_clear_error(&error);
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        options.convolutions = lines[i];
        fixture_compile(&fixture, make_model(), &options);
        g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 3);
        set_input(fixture.request, &x);
        for (int k = 0; k < 3; k++)
            run(fixture.request);
        g_autoptr(GPtrArray) profiles = ifm_compiled_profile(fixture.compiled, fixture.request, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(profiles->len, ==, 3);
        for (guint k = 0; k < profiles->len; k++)
        {
            const GPtrArray *nodes = ((const IfmEngineProfile *)profiles->pdata[k])->nodes;
            g_assert_cmpuint(nodes->len, ==, 2); /* 1x1 is nothing for Winograd: the runtime's own is timed, too */
            g_assert_cmpint(((const IfmNodeTime *)nodes->pdata[0])->duration_ns, >, 0);
            g_assert_cmpint(((const IfmNodeTime *)nodes->pdata[0])->start_ns, ==, -1);
        }
        fixture_drop(&fixture);
    }
    fixture_compile(&fixture, make_model(), NULL);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 3);
    g_autoptr(IfmEffectiveConfig) effective = ifm_compiled_effective_config(fixture.compiled, &x, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(effective->nodes->len, >=, 2);
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/engine/conv-cuda/graph", test_graph);
    g_test_add_func("/engine/conv-cuda/forms", test_forms);
    g_test_add_func("/engine/conv-cuda/best", test_best);
    g_test_add_func("/engine/conv-cuda/best-tf32", test_best_tf32);
    g_test_add_func("/engine/conv-cuda/runtime-times", test_runtime_times);
    g_test_add_func("/engine/conv-cuda/device-memory", test_device_memory);
    g_test_add_func("/engine/conv-cuda/no-gpu", test_no_gpu);
    g_test_add_func("/engine/conv-cuda/times", test_times);
    return g_test_run();
}
