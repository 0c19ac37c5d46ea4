/* The record of what ran, and which algorithm each layer gets. */
#include <internal/convolution.h>
#include <jansson.h>

static GPtrArray *layers_of(const char *algorithm, const char *first, const char *second)
{
    const char *const implementations[] = { first, second };
    GPtrArray *layers = ifm_conv_layers_new();
    for (int i = 0; i < 2; i++)
    {
        IfmConvLayer *layer = ifm_conv_layer_new();
        g_free(layer->layer);
        g_free(layer->algorithm);
        g_free(layer->implementation);
        layer->layer = g_strdup_printf("conv%d", i);
        layer->algorithm = g_strdup(algorithm);
        layer->implementation = g_strdup(implementations[i]);
        layer->workspace_bytes = 1024 * (i + 1);
        layer->fell_back = i == 1;
        layer->macs = 7;
        g_ptr_array_add(layers, layer);
    }
    return layers;
}

/* Two labels for one code path are refused, in the layer where they meet. */
static void test_shared(void)
{
    g_autoptr(GPtrArray) gemm = layers_of("gemm", "im2col and sgemm", "one product");
    g_autoptr(GPtrArray) implicit = layers_of("implicit_gemm", "packed panels", "packed panels");
    g_autoptr(GPtrArray) sharing = layers_of("implicit_gemm", "packed panels", "one product");
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_conv_layers_check(gemm, implicit, &error));
    g_assert_true(ifm_conv_layers_check(gemm, gemm, &error));
    g_assert_no_error(error);
    g_assert_false(ifm_conv_layers_check(gemm, sharing, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    g_assert_cmpstr(error->message, ==, "conv1: gemm and implicit_gemm are one implementation (one product)");
}

static float *zeros(gsize n)
{
    return g_new0(float, n);
}

/* The record of one real layer by an algorithm; NULL: it refuses the layer. */
static GPtrArray *record_of(const IfmConvShape *shape, IfmConvAlgorithm algorithm)
{
    g_autoptr(GError) error = NULL;
    g_autofree float *weights = zeros((gsize)(shape->out_channels * shape->channels * shape->kernel[0] * shape->kernel[1]));
    g_autoptr(IfmConv) conv = ifm_conv_new(shape, algorithm, NULL, weights, NULL, &error);
    if (conv == NULL)
        return NULL;
    const IfmConvInfo info = ifm_conv_info(conv);
    return layers_of(ifm_conv_algorithm_name(info.algorithm), info.implementation, info.implementation);
}

/* Fixed labels are one code path each, also where im2col is the identity. What guess takes is one of them. */
static void test_distinct(void)
{
    static const IfmConvShape shapes[] = {
        { 1, 64, 64, 1, { 14, 14 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 },
        { 1, 64, 64, 1, { 14, 14 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16 },
        { 1, 64, 128, 1, { 14, 14 }, { 1, 1 }, { 2, 2 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 },
        { 1, 3, 64, 1, { 28, 28 }, { 7, 7 }, { 2, 2 }, { 1, 1 }, { 3, 3, 3, 3 }, { 0 }, 16, 1 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++)
        for (int a = 0; a < IFM_N_CONV_FIXED; a++)
            for (int b = 0; b < a; b++)
            {
                g_autoptr(GError) error = NULL;
                GPtrArray *left = record_of(&shapes[i], (IfmConvAlgorithm)a);
                GPtrArray *right = record_of(&shapes[i], (IfmConvAlgorithm)b);
                if (left != NULL && right != NULL)
                    ifm_conv_layers_check(left, right, &error);
                g_assert_no_error(error);
                g_clear_pointer(&left, g_ptr_array_unref);
                g_clear_pointer(&right, g_ptr_array_unref);
            }
    g_autoptr(GPtrArray) guessed = record_of(&shapes[0], IFM_CONV_GUESS);
    IfmConvAlgorithm algorithm = IFM_N_CONV_ALGORITHMS;
    g_assert_true(ifm_conv_algorithm_parse(((const IfmConvLayer *)guessed->pdata[0])->algorithm, &algorithm, NULL));
    g_assert_cmpint(algorithm, <, IFM_N_CONV_FIXED);
}

static void test_json(void)
{
    g_autoptr(GPtrArray) layers = layers_of("direct", "a", "b");
    json_auto_t *json = ifm_conv_layers_to_json(layers), *none = json_object();
    g_autoptr(GPtrArray) back = ifm_conv_layers_from_json(json);
    json_auto_t *again = ifm_conv_layers_to_json(back);
    g_assert_true(json_equal(json, again));
    g_assert_cmpuint(back->len, ==, 2);
    g_assert_true(((const IfmConvLayer *)back->pdata[1])->fell_back);
    g_assert_cmpint(((const IfmConvLayer *)back->pdata[1])->workspace_bytes, ==, 2048);
    g_assert_null(ifm_conv_layers_from_json(none));
    g_assert_null(ifm_conv_layers_from_json(NULL));
    json_object_del(json_array_get(json, 0), "algorithm");
    g_assert_null(ifm_conv_layers_from_json(json));
}

/* Lines that mean the same become the same lines. */
static void test_choice(void)
{
    const char *const given[] = { "b=implicit-gemm", "workspace=4096", "Direct", "a=x=gemm", "fallback=guess", NULL };
    g_auto(IfmConvChoice) choice = { 0 };
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_conv_choice_init(&choice, given, &error));
    g_assert_no_error(error);
    g_auto(GStrv) lines = ifm_conv_choice_lines(&choice);
    g_autofree char *text = g_strjoinv(" ", lines);
    g_assert_cmpstr(text, ==, "direct a=x=gemm b=implicit_gemm fallback=guess workspace=4096");
}

static void test_choice_refusals(void)
{
    static const struct
    {
        const char *lines[4], *message;
    } wrong[] = {
        { { "gemm", "direct" }, "convolutions: two algorithms for all layers, gemm and direct" },
        { { "a=gemm", "a=gemm" }, "convolutions: two algorithms for the layer \"a\"" },
        { { "direct", "fallback=best" }, "convolutions: \"best\" is never refused and no fallback" },
        { { "workspace=1k" }, "convolutions: \"1k\" is not a number of bytes" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_auto(IfmConvChoice) choice = { 0 };
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_conv_choice_init(&choice, wrong[i].lines, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, wrong[i].message);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/convolution-layers/shared", test_shared);
    g_test_add_func("/convolution-layers/distinct", test_distinct);
    g_test_add_func("/convolution-layers/json", test_json);
    g_test_add_func("/convolution-layers/choice", test_choice);
    g_test_add_func("/convolution-layers/choice-refusals", test_choice_refusals);
    return g_test_run();
}
