/* The graph that a GPU gets, on libraries of the test in place of NVIDIA's, and what is refused without a GPU. */
#include "build-folders.h"
#include "engine/onnxruntime/onnxruntime-conv.h"
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

static IfmModel *rewrite_tuned(IfmModel *model, IfmConvCuda *cuda, const char *const *lines, const GPtrArray *tuned,
                               GPtrArray *layers, GError **error)
{
    g_auto(IfmConvChoice) choice = { 0 };
    ifm_conv_choice_init(&choice, lines, error);
    const OrtConvWish wish = {
        .model = model, .runtime = "onnxruntime", .choice = &choice, .n_threads = 1, .cuda = cuda, .tuned = tuned
    };
    return ifm_ort_conv_rewrite(model, &wish, layers, error);
}

static IfmModel *rewrite_model(IfmModel *model, IfmConvCuda *cuda, const char *const *lines, GPtrArray *layers,
                               GError **error)
{
    return rewrite_tuned(model, cuda, lines, NULL, layers, error);
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
    g_assert_null(first->cuda);
    g_assert_true(first->record->fell_back);
    g_assert_cmpstr(first->record->algorithm, ==, "runtime");
    const IfmConvShape *shape = ifm_conv_cuda_layer_shape(second->cuda);
    g_assert_cmpstr(second->record->algorithm, ==, "direct");
    g_assert_cmpint(shape->pads[0], ==, 1);
    g_assert_cmpint(shape->pads[1], ==, 1); /* one is needed, and SAME_LOWER puts it before */
    g_assert_cmpint(shape->pads[2], ==, 1);
    g_assert_cmpint(shape->pads[3], ==, 0);
}

static void assert_best(IfmConvCuda *cuda, const GPtrArray *tuned, guint n_new, const char *algorithm, GPtrArray *rows)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = text_model("x : [1,4,8,8]; u ! [4,4,3,3]; v ! [4,4,3,3]; w ! [4,4,3,3]; y = Conv(x,u) "
                                           "pads=[1,1,1,1]; z = Conv(y,v) pads=[1,1,1,1]; a = Conv(z,w) pads=[0,0,1,1]; "
                                           "-> a [1,4,7,7]",
                                           IFM_DTYPE_F32, FALSE, 17);
    g_autoptr(GPtrArray) layers = ifm_ort_conv_layers_new();
    g_autoptr(IfmModel) made = rewrite_tuned(model, cuda, (const char *[]){ "best", NULL }, tuned, layers, &error);
    g_assert_no_error(error);
    guint n_keys = 0;
    for (guint i = 0; i < layers->len; i++)
    {
        OrtConvLayer *layer = layers->pdata[i];
        g_assert_cmpstr(layer->record->algorithm, ==, i < 2 ? algorithm : "runtime"); /* pads differ: none can do it */
        if (layer->key == NULL)
            continue;
        n_keys++;
        g_assert_cmpstr(layer->key->algorithm, ==, algorithm);
        g_assert_cmpfloat(layer->key->time_ns, >, 0);
        g_ptr_array_add(rows, g_steal_pointer(&layer->key));
    }
    g_assert_cmpuint(n_keys, ==, n_new);
}

/* What was the fastest once stays so: a model runs by what it was measured by. */
static void test_best(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmConvCuda) cuda = open_alone();
    if (cuda == NULL)
        return;
    g_autoptr(GPtrArray) known = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_conv_tuned_free);
    assert_best(cuda, known, 1, "gemm", known); /* two layers of one shape: one row */
    g_setenv("IFM_FAKE_BEST", "0", TRUE);
    assert_best(cuda, known, 0, "gemm", known);
    g_ptr_array_set_size(known, 0);
    assert_best(cuda, known, 1, "implicit_gemm", known);
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

/* Nodes return before their kernels have ended: only layers that take their own times have any, and without such a layer
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
            g_assert_cmpuint(nodes->len, ==, i == 0 ? 2 : 1); /* 1x1 is nothing for Winograd */
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
    g_test_add_func("/engine/conv-cuda/no-gpu", test_no_gpu);
    g_test_add_func("/engine/conv-cuda/times", test_times);
    return g_test_run();
}
