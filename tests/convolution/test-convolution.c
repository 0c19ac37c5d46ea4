/* Every algorithm against sums in double, over a grid of shapes, instruction sets, blocks and threads. Each instruction set
 * that the processor has is forced, in oneDNN, too; the others are skipped by name. */
#include <math.h>
#include <string.h>

#include "convolution/reference.h"

/* Isa: an instruction set of the own kernels, and what limits oneDNN to it.
 * @block: for which oneDNN has kernels of it; own kernels have both blocks where @has_both */
typedef struct
{
    const char *name, *onednn, *beyond; /* beyond: part of the names of better kernels of oneDNN */
    int block;
    gboolean has_both;
} Isa;
static const Isa isas[] = {
    { "avx512", "AVX512_CORE", "avx512_core_amx", 16, FALSE },
    { "avx2", "AVX2", "avx512", 8, TRUE },
    { "portable", "SSE41", "avx", 8, TRUE },
};

/* IfmConvOptions.rows of all layers. */
static const struct ConvAlgorithm *const *rows;

/* That no other instruction set than the forced one is in the kernel's name. */
static void check_isa(const char *implementation, const Isa *isa)
{
    if (strstr(implementation, "oneDNN ") != NULL)
        g_assert_null(strstr(implementation, isa->beyond));
    else
        for (gsize i = 0; i < G_N_ELEMENTS(isas); i++)
            g_assert_true((strstr(implementation, isas[i].name) != NULL) == (isa == &isas[i]));
}

/* Runs an algorithm on a layer; checks it against the reference. Returns: FALSE where it refuses the layer.
 * @isa: NULL: the best one */
static gboolean check(const Layer *layer, IfmConvAlgorithm algorithm, const Isa *isa, int n_threads)
{
    IfmConvOptions options = layer->options;
    options.max_isa = isa != NULL ? isa->name : NULL;
    options.n_threads = n_threads;
    options.rows = rows;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmConv) conv = ifm_conv_new(&layer->shape, algorithm, &options, layer->weights, layer->bias, &error);
    g_assert_cmpint(ifm_conv_supports(&layer->shape, algorithm, &options, NULL), ==, conv != NULL);
    if (g_error_matches(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
        return FALSE;
    g_assert_no_error(error);
    g_assert_cmpint(ifm_conv_info(conv).algorithm, ==, algorithm);
    g_assert_nonnull(ifm_conv_info(conv).implementation);
    if (isa != NULL)
        check_isa(ifm_conv_info(conv).implementation, isa);
    g_autofree float *output = g_new(float, layer->n_outputs);
    /* A second run gives the same: nothing of the first is left. */
    for (int round = 0; round < 2; round++)
    {
        memset(output, 0xff, layer->n_outputs * sizeof(float));
        ifm_conv_run(conv, layer->input, layer->sum, output, n_threads > 1 ? layer_parallel : NULL, NULL);
        layer_check(layer, output, layer_tolerance(layer, algorithm, &options), ifm_conv_info(conv).implementation);
    }
    return TRUE;
}

static const IfmConvShape grid[] = {
    /* 3x3 with every padding, odd sizes */
    { 1, 32, 48, 1, { 14, 13 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 16, 32, 1, { 9, 7 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0, 1, 2, 0 } },
    { 2, 32, 16, 1, { 8, 8 }, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 0, 0, 1, 1 } },
    { 3, 16, 48, 1, { 3, 4 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0 } },
    { 2, 16, 16, 1, { 33, 30 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 0, 0, 1 } },
    { 1, 48, 64, 1, { 7, 7 }, { 3, 3 }, { 1, 1 }, { 2, 2 }, { 2, 2, 2, 2 } },
    /* 1x1 */
    { 1, 64, 48, 1, { 7, 7 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0 } },
    { 2, 32, 64, 1, { 6, 5 }, { 1, 1 }, { 2, 2 }, { 1, 1 }, { 0 } },
    /* NCHW inputs */
    { 1, 3, 32, 1, { 23, 21 }, { 7, 7 }, { 2, 2 }, { 1, 1 }, { 3, 3, 3, 3 } },
    { 2, 1, 16, 1, { 5, 6 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 3, 32, 1, { 15, 14 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    /* larger and rectangular kernels */
    { 1, 16, 16, 1, { 12, 17 }, { 5, 5 }, { 1, 1 }, { 1, 1 }, { 2, 2, 2, 2 } },
    { 1, 16, 32, 1, { 9, 12 }, { 1, 7 }, { 1, 1 }, { 1, 1 }, { 0, 3, 0, 3 } },
    { 1, 16, 16, 1, { 12, 9 }, { 7, 1 }, { 1, 2 }, { 1, 1 }, { 3, 0, 3, 0 } },
    { 1, 16, 16, 1, { 13, 31 }, { 7, 7 }, { 1, 1 }, { 1, 1 }, { 3, 3, 3, 3 } },
    { 2, 16, 32, 1, { 17, 11 }, { 11, 11 }, { 1, 1 }, { 1, 1 }, { 5, 4, 3, 6 } },
    { 1, 16, 16, 1, { 29, 37 }, { 5, 3 }, { 1, 1 }, { 1, 2 }, { 0, 5, 4, 1 } },
    { 1, 3, 16, 1, { 35, 43 }, { 11, 11 }, { 4, 4 }, { 1, 1 }, { 2, 2, 2, 2 } },
    { 1, 16, 16, 1, { 23, 19 }, { 4, 5 }, { 3, 2 }, { 1, 3 }, { 1, 2, 3, 4 } },
    /* more padding than kernel, a kernel larger than the image, a stride above the kernel */
    { 3, 16, 16, 1, { 6, 19 }, { 3, 4 }, { 1, 1 }, { 1, 1 }, { 4, 5, 4, 6 } },
    { 1, 16, 16, 1, { 5, 2 }, { 7, 9 }, { 1, 1 }, { 1, 1 }, { 3, 4, 3, 4 } },
    { 1, 16, 16, 1, { 11, 13 }, { 2, 3 }, { 3, 2 }, { 1, 1 }, { 0, 1, 1, 0 } },
    { 1, 3, 16, 1, { 47, 30 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    /* groups, depthwise */
    { 1, 64, 96, 2, { 8, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 2, 48, 96, 3, { 8, 7 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0, 1, 1, 2 } },
    { 2, 48, 48, 3, { 5, 5 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0 } },
    { 1, 48, 48, 48, { 9, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 2, 32, 32, 32, { 9, 9 }, { 5, 5 }, { 2, 2 }, { 1, 1 }, { 2, 2, 2, 2 } },
    { 1, 32, 32, 32, { 11, 40 }, { 3, 4 }, { 1, 3 }, { 2, 2 }, { 3, 0, 1, 7 } },
    { 3, 16, 16, 16, { 5, 6 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0 } },
    { 1, 16, 16, 16, { 3, 2 }, { 7, 9 }, { 1, 1 }, { 1, 1 }, { 4, 8, 3, 5 } },
    { 1, 32, 32, 32, { 21, 19 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 2, 16, 16, 16, { 20, 34 }, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 16, 16, 16, { 11, 15 }, { 5, 5 }, { 1, 1 }, { 1, 1 }, { 2, 2, 2, 2 } },
    { 1, 32, 32, 32, { 14, 32 }, { 5, 5 }, { 2, 2 }, { 1, 1 }, { 2, 2, 2, 2 } },
    { 1, 16, 16, 16, { 7, 1 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    /* groups of fewer channels than a block */
    { 2, 32, 32, 16, { 9, 10 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 64, 64, 16, { 13, 17 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 2, 64, 64, 16, { 12, 9 }, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 32, 32, 4, { 8, 7 }, { 5, 3 }, { 1, 2 }, { 2, 1 }, { 3, 1, 4, 2 } },
    { 1, 32, 32, 4, { 7, 7 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 32, 32, 8, { 4, 5 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0 } },
    { 1, 16, 16, 4, { 3, 3 }, { 5, 5 }, { 3, 3 }, { 1, 1 }, { 7, 7, 7, 7 } },
    { 1, 48, 48, 2, { 9, 7 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 48, 48, 8, { 6, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 32, 64, 8, { 7, 9 }, { 3, 3 }, { 2, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 2, 64, 32, 8, { 7, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 0, 1, 2 } },
    { 1, 16, 48, 16, { 6, 5 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 6, 48, 3, { 8, 17 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    /* one vector of outputs: tiles of two rows */
    { 1, 32, 16, 1, { 7, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    { 1, 32, 16, 1, { 6, 31 }, { 5, 3 }, { 3, 1 }, { 2, 1 }, { 9, 2, 8, 1 } },
    /* rows of several tiles, whose taps lie before, in and behind the image; padding alone */
    { 1, 16, 48, 1, { 6, 37 }, { 3, 5 }, { 1, 2 }, { 1, 3 }, { 1, 9, 1, 11 } },
    { 1, 16, 16, 1, { 2, 3 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 5, 6, 6, 7 } },
    { 2, 5, 32, 1, { 9, 31 }, { 4, 6 }, { 2, 1 }, { 2, 1 }, { 3, 7, 2, 1 } },
};

/* A test of one algorithm with one instruction set, for each block. */
typedef struct
{
    const Isa *isa;
    const struct ConvAlgorithm *const *rows;
    IfmConvAlgorithm algorithm;
    void (*test)(const Isa *isa, IfmConvAlgorithm algorithm, int block);
} Forced;

static void test_grid(const Isa *isa, IfmConvAlgorithm algorithm, int block)
{
    guint n_run = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(grid); i++)
    {
        g_auto(Layer) layer = { 0 };
        layer_init(&layer, &grid[i], block, (guint32)i);
        n_run += check(&layer, algorithm, isa, 1 + (int)(i % 3));
    }
    g_assert_cmpuint(n_run, >, 0);
    if (algorithm == IFM_CONV_DIRECT) /* what oneDNN has no kernel for runs by the own one */
        g_assert_cmpuint(n_run, ==, G_N_ELEMENTS(grid));
}

/* What is done to the outputs beside the convolution, by each algorithm. */
static void test_fused(const Isa *isa, IfmConvAlgorithm algorithm, int block)
{
    static const IfmConvShape shapes[] = {
        { 1, 16, 48, 1, { 10, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
        /* direct alone has a way of its own for these */
        { 1, 16, 16, 1, { 5, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
        { 1, 32, 32, 32, { 10, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
        { 1, 32, 32, 8, { 5, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
        { 1, 48, 48, 2, { 5, 9 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } },
    };
    const guint n_shapes = algorithm == IFM_CONV_DIRECT ? G_N_ELEMENTS(shapes) : 1;
    for (guint i = 0; i < n_shapes * IFM_N_BLOCKED_ACTIVATIONS; i++)
        for (int parts = 0; parts < 4; parts++)
        {
            const guint activation = i % IFM_N_BLOCKED_ACTIVATIONS;
            g_auto(Layer) layer = { 0 };
            layer_init(&layer, &shapes[i / IFM_N_BLOCKED_ACTIVATIONS], block, 7);
            layer.options.activation = (IfmConvActivation)activation;
            layer.options.alpha = activation == IFM_BLOCKED_CLIP ? -0.5F : 0.2F;
            layer.options.beta = 0.6F;
            layer.options.has_sum = (parts & 1) != 0;
            layer_set(&layer, (parts & 2) != 0);
            g_assert_true(check(&layer, algorithm, isa, 1));
        }
}

static gboolean has(const Isa *isa)
{
    return g_str_equal(ifm_conv_isa(isa->block, isa->name), isa->name);
}

/* In a process of its own: oneDNN takes its limit from the environment, once. */
static void test_forced(gconstpointer data)
{
    const Forced *forced = data;
    const Isa *isa = forced->isa;
    rows = forced->rows;
    if (!has(isa))
    {
        g_autofree char *why = g_strdup_printf("this processor has no %s", isa->name);
        g_test_skip(why);
        return;
    }
    if (!g_test_subprocess())
    {
        g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
        g_test_trap_assert_passed();
        return;
    }
    g_setenv("ONEDNN_MAX_CPU_ISA", isa->onednn, TRUE);
    g_setenv("DNNL_MAX_CPU_ISA", isa->onednn, TRUE); /* its older name */
    for (int block = 8; block <= 16; block += 8)
        if (isa->has_both || block == isa->block)
            forced->test(isa, forced->algorithm, block);
}

/* Which of the tests above ran: tools/count-tests prints that line. */
static void test_isas(void)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(isas); i++)
        if (has(&isas[i]))
            g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", isas[i].name);
    g_test_message("instruction sets: %s", names->str);
    g_assert_true(g_str_has_suffix(names->str, "portable"));
    g_assert_null(ifm_conv_isa(16, "avx3"));
    g_assert_null(ifm_conv_isa(4, NULL));
}

/* Each of Winograd's tiles, with odd sizes, groups, one thread and several; in the accuracy that its points are chosen for:
 * up to 2e-6 of the largest output for F(2,3), 2e-5 for the others. */
static void test_winograd(void)
{
    guint n_run = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(grid); i++)
    {
        g_auto(Layer) layer = { 0 };
        layer_init(&layer, &grid[i], 16, (guint32)i);
        layer.options.activation = IFM_BLOCKED_RELU;
        layer.options.has_sum = TRUE;
        layer_set(&layer, TRUE);
        for (int outputs = 2; outputs <= 6; outputs += 2)
            for (IfmConvAlgorithm algorithm = IFM_CONV_WINOGRAD; algorithm <= IFM_CONV_WINOGRAD_NONFUSED; algorithm++)
                for (int n_threads = 1; n_threads <= 2; n_threads++)
                {
                    IfmConvOptions options = layer.options;
                    options.winograd_outputs = outputs;
                    options.n_threads = n_threads;
                    g_autoptr(IfmConv) conv =
                        ifm_conv_new(&layer.shape, algorithm, &options, layer.weights, layer.bias, NULL);
                    if (conv == NULL)
                        continue;
                    n_run++;
                    const char *implementation = ifm_conv_info(conv).implementation;
                    g_autofree char *expected =
                        g_strdup_printf("F(%d,3) %s, ", outputs, algorithm == IFM_CONV_WINOGRAD ? "fused" : "nonfused");
                    g_assert_true(g_str_has_prefix(implementation, expected));
                    g_autofree float *output = g_new(float, layer.n_outputs);
                    ifm_conv_run(conv, layer.input, layer.sum, output, n_threads > 1 ? layer_parallel : NULL, NULL);
                    layer_check(&layer, output, outputs == 2 ? 2e-6 : 2e-5, implementation);
                }
    }
    g_assert_cmpuint(n_run, ==, 11 * 3 * 2 * 2);
}

/* Shapes that are none, and names of algorithms. */
static void test_refusals(void)
{
    static const struct
    {
        IfmConvShape shape;
        const char *message;
    } wrong[] = {
        { { 1, 16, 20, 1, { 8, 8 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 },
          "convolution: 16 to 20 channels are no multiples of the block of 16" },
        { { 1, 16, 32, 3, { 8, 8 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 },
          "convolution: 16 to 32 channels cannot be divided into 3 groups" },
        { { 1, 16, 32, 1, { 2, 8 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 },
          "convolution: a kernel that reaches over 3 of 2 padded inputs" },
        { { 1, 16, 32, 1, { 8, 8 }, { 3, 3 }, { 0, 1 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 },
          "convolution: a size of 0: 1 to 16777216 is expected" },
        { { 1, 16, 32, 1, { 8, 8 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { -1 }, { 0 }, 16, 16 },
          "convolution: a padding below 0 or above 16777216" },
        { { 1, 16, 32, 1, { 8, 8 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0 }, { 0 }, 4, 4 },
          "convolution: blocks of 4 and 4 channels: 8 or 16 is expected, and the same or 1 for the input" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_autoptr(GError) error = NULL;
        IfmConvShape shape = wrong[i].shape;
        g_assert_false(ifm_conv_shape_complete(&shape, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, wrong[i].message);
    }
    IfmConvAlgorithm algorithm;
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_conv_algorithm_parse("Implicit precomp-GEMM", &algorithm, NULL));
    g_assert_cmpint(algorithm, ==, IFM_CONV_IMPLICIT_PRECOMP_GEMM);
    g_assert_false(ifm_conv_algorithm_parse("implicit_gem", &algorithm, &error));
    g_assert_cmpstr(error->message, ==, "\"implicit_gem\" is not a convolution algorithm; did you mean \"implicit_gemm\"?");
}

/* Layers that an algorithm cannot do, and why. */
static void test_unsupported(void)
{
    static const struct
    {
        IfmConvAlgorithm algorithm;
        IfmConvShape shape;
        const char *why;
    } layers[] = {
        { IFM_CONV_WINOGRAD, { 1, 16, 16, 1, { 8, 8 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0 } }, "1x1" },
        { IFM_CONV_WINOGRAD, { 1, 3, 16, 1, { 8, 8 }, { 7, 7 }, { 2, 2 }, { 1, 1 }, { 0 } }, "7x7" },
        { IFM_CONV_WINOGRAD_NONFUSED, { 1, 16, 16, 1, { 8, 8 }, { 3, 1 }, { 1, 1 }, { 1, 1 }, { 0 } }, "3x1" },
        { IFM_CONV_WINOGRAD_NONFUSED, { 1, 16, 16, 1, { 8, 8 }, { 3, 3 }, { 1, 2 }, { 1, 1 }, { 0 } }, "stride 2" },
        { IFM_CONV_WINOGRAD, { 1, 16, 16, 1, { 8, 8 }, { 3, 3 }, { 1, 1 }, { 3, 3 }, { 0 } }, "dilation 3" },
        { IFM_CONV_WINOGRAD, { 1, 16, 16, 16, { 8, 8 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0 } }, "depthwise" },
        { IFM_CONV_WINOGRAD,
          { 1, 16, 16, 2, { 8, 8 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0 } },
          "groups of fewer channels than a block" },
        { IFM_CONV_WINOGRAD, { 1, 16, 16, 1, { 8, 8 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0 } }, NULL },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(layers); i++)
    {
        IfmConvShape shape = layers[i].shape;
        shape.block = 16;
        shape.input_block = shape.channels < 16 ? 1 : 16;
        g_assert_true(ifm_conv_shape_complete(&shape, NULL));
        const char *why = NULL;
        g_assert_cmpint(ifm_conv_supports(&shape, layers[i].algorithm, NULL, &why), ==, layers[i].why == NULL);
        g_assert_cmpstr(why, ==, layers[i].why);
    }
}

/* The rule for Winograd's tiles: larger ones for larger images. */
static void test_winograd_rule(void)
{
    static const struct
    {
        gint64 size, channels;
        const char *implementation;
    } layers[] = { { 7, 512, "F(2,3) fused, " }, { 14, 256, "F(4,3) fused, " }, { 56, 64, "F(6,3) fused, " } };
    for (gsize i = 0; i < G_N_ELEMENTS(layers); i++)
    {
        const gint64 size = layers[i].size, channels = layers[i].channels;
        const IfmConvShape shape = {
            1, channels, channels, 1, { size, size }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16
        };
        g_autofree float *weights = g_new0(float, 9 * channels * channels);
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmConv) conv = ifm_conv_new(&shape, IFM_CONV_WINOGRAD, NULL, weights, NULL, &error);
        g_assert_no_error(error);
        g_assert_true(g_str_has_prefix(ifm_conv_info(conv).implementation, layers[i].implementation));
    }
}

/* The bytes that IfmConvInfo names are bounded by the limit that is asked for. */
static void test_workspace(void)
{
    IfmConvShape shape = grid[0];
    shape.block = shape.input_block = 16;
    g_assert_true(ifm_conv_shape_complete(&shape, NULL));
    const char *why = NULL;
    g_assert_false(ifm_conv_supports(&shape, IFM_CONV_GEMM, &(IfmConvOptions){ .max_workspace_bytes = 4096 }, &why));
    g_assert_cmpstr(why, ==, "workspace over the limit");
    g_assert_true(ifm_conv_supports(&shape, IFM_CONV_GEMM, NULL, &why));
    g_assert_null(why);
}

/* What is counted before a layer is made is what it then takes: a limit of one byte less refuses it. Direct takes none on
 * some processors. */
static void test_workspace_is_counted(void)
{
    for (gsize g = 0; g < G_N_ELEMENTS(grid); g++)
        for (IfmConvAlgorithm algorithm = IFM_CONV_DIRECT; algorithm <= IFM_CONV_IMPLICIT_PRECOMP_GEMM; algorithm++)
        {
            g_auto(Layer) layer = { 0 };
            layer_init(&layer, &grid[g], 16, 2);
            const gsize counted = ifm_conv_workspace(&layer.shape, algorithm, &layer.options);
            g_autoptr(IfmConv) conv =
                ifm_conv_new(&layer.shape, algorithm, &layer.options, layer.weights, layer.bias, NULL);
            if (conv == NULL)
                continue;
            g_assert_cmpuint(ifm_conv_info(conv).workspace_bytes, ==, counted);
            layer.options.max_workspace_bytes = counted - 1;
            if (counted > 1)
                g_assert_false(ifm_conv_supports(&layer.shape, algorithm, &layer.options, NULL));
        }
}

/* What has no transform, or none but another algorithm's. */
static void test_fft_refusals(void)
{
    static const struct
    {
        IfmConvShape shape;
        const char *fft, *tiling;
    } layers[] = {
        { { 1, 64, 64, 1, { 56, 56 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16 }, NULL, NULL },
        { { 1, 3, 64, 1, { 224, 224 }, { 11, 11 }, { 4, 4 }, { 1, 1 }, { 2, 2, 2, 2 }, { 0 }, 16, 1 }, NULL, NULL },
        { { 1, 64, 64, 1, { 56, 56 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 }, "1x1", "1x1" },
        { { 1, 64, 64, 1, { 56, 56 }, { 3, 2 }, { 3, 4 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 },
          "stride not below the kernel",
          "stride not below the kernel" },
        { { 1, 64, 64, 64, { 56, 56 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 }, "depthwise", "depthwise" },
        { { 1, 16, 16, 1, { 56, 56 }, { 17, 3 }, { 1, 1 }, { 1, 1 }, { 0 }, { 0 }, 16, 16 },
          NULL,
          "kernel larger than a tile" },
        { { 1, 16, 16, 1, { 6, 6 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16 },
          NULL,
          "one tile holds the image" },
        { { 1, 16, 16, 1, { 9, 6 }, { 1, 3 }, { 1, 1 }, { 1, 1 }, { 0, 1, 0, 1 }, { 0 }, 16, 16 },
          NULL,
          "one tile holds the image" },
        { { 1, 64, 64, 1, { 512, 512 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16 },
          "workspace over the limit",
          NULL },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(layers); i++)
    {
        IfmConvShape shape = layers[i].shape;
        g_assert_true(ifm_conv_shape_complete(&shape, NULL));
        const char *why = NULL;
        g_assert_cmpint(ifm_conv_supports(&shape, IFM_CONV_FFT, NULL, &why), ==, layers[i].fft == NULL);
        g_assert_cmpstr(why, ==, layers[i].fft);
        g_assert_cmpint(ifm_conv_supports(&shape, IFM_CONV_FFT_TILING, NULL, &why), ==, layers[i].tiling == NULL);
        g_assert_cmpstr(why, ==, layers[i].tiling);
    }
}

/* Under a limit there are fewer spectra at a time, down to one; the outputs stay right. */
static void test_fft_limit(void)
{
    static const IfmConvAlgorithm algorithms[] = { IFM_CONV_FFT, IFM_CONV_FFT_TILING };
    g_auto(Layer) layer = { 0 };
    layer_init(&layer, &(IfmConvShape){ 9, 16, 32, 1, { 15, 20 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 } }, 16, 3);
    for (gsize i = 0; i < G_N_ELEMENTS(algorithms); i++)
    {
        gsize used = G_MAXSIZE, n_limits = 0;
        for (layer.options.max_workspace_bytes = 0;; layer.options.max_workspace_bytes = used - 1, n_limits++)
        {
            if (!ifm_conv_supports(&layer.shape, algorithms[i], &layer.options, NULL))
                break;
            g_autoptr(IfmConv) conv =
                ifm_conv_new(&layer.shape, algorithms[i], &layer.options, layer.weights, layer.bias, NULL);
            const IfmConvInfo info = ifm_conv_info(conv);
            g_assert_cmpuint(info.workspace_bytes + info.weights_bytes, <, used);
            used = info.workspace_bytes + info.weights_bytes;
            g_assert_true(check(&layer, algorithms[i], NULL, 1));
        }
        g_assert_cmpuint(n_limits, >, 2);
    }
}

/* LeakSanitizer's tracer now and then dies beside oneDNN's generated code, after all tests have passed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void add_forced(const Isa *isa, const struct ConvAlgorithm *const *with, IfmConvAlgorithm algorithm,
                       const char *whose)
{
    const char *name = ifm_conv_algorithm_name(algorithm);
    g_autofree char *path = g_strdup_printf("/convolution/%s/grid/%s%s", isa->name, whose, name);
    g_autofree char *fused = g_strdup_printf("/convolution/%s/fused/%s%s", isa->name, whose, name);
    const Forced of_grid = { isa, with, algorithm, test_grid }, of_fused = { isa, with, algorithm, test_fused };
    g_test_add_data_func_full(path, g_memdup2(&of_grid, sizeof of_grid), test_forced, g_free);
    g_test_add_data_func_full(fused, g_memdup2(&of_fused, sizeof of_fused), test_forced, g_free);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize k = 0; k < G_N_ELEMENTS(isas); k++)
    {
        for (int i = 0; i < IFM_N_CONV_FIXED; i++)
            add_forced(&isas[k], NULL, (IfmConvAlgorithm)i, "");
        add_forced(&isas[k], ifm_conv_own_rows, IFM_CONV_DIRECT, "own-");
    }
    g_test_add_func("/convolution/isas", test_isas);
    g_test_add_func("/convolution/winograd", test_winograd);
    g_test_add_func("/convolution/winograd-rule", test_winograd_rule);
    g_test_add_func("/convolution/refusals", test_refusals);
    g_test_add_func("/convolution/unsupported", test_unsupported);
    g_test_add_func("/convolution/workspace", test_workspace);
    g_test_add_func("/convolution/workspace-is-counted", test_workspace_is_counted);
    g_test_add_func("/convolution/fft/refusals", test_fft_refusals);
    g_test_add_func("/convolution/fft/limit", test_fft_limit);
    return g_test_run();
}
