/* Programs of regions: what is refused by which line, the sizes, memory and callers that a region has, what its layers run
 * by. */
#include <locale.h>

#include "region-net.h"

/* --- runs ------------------------------------------------------------------------------------------------------------- */

/* Values whose lives do not meet share memory: three planes are enough for any number of residual blocks. */
static void test_memory(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    net_residual(&net, 16, 16);
    net_check(&net);
    IfmRegion *region = net_region(&net, "portable", 1);
    g_assert_true(net_runs(&net, region, NULL, "residual"));
    g_assert_cmpuint(ifm_region_arena_bytes(ifm_region_idle(region)), <=, (16 * 256 + 16 * 64 + 64) * sizeof(float));
    ifm_region_free(region);
}

typedef struct
{
    const Net *nets;
    IfmRegion *region;
    gboolean is_right;
} Caller;

static gpointer call(gpointer data)
{
    Caller *caller = data;
    caller->is_right = TRUE;
    for (int i = 0; i < 20 && caller->is_right; i++)
        caller->is_right = net_runs(&caller->nets[0], caller->region, layer_parallel, "caller");
    return NULL;
}

static void test_callers(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    net_residual(&net, 12, 20);
    IfmRegion *region = net_region(&net, NULL, 2);
    Caller callers[4];
    GThread *threads[4];
    for (int i = 0; i < 4; i++)
    {
        callers[i] = (Caller){ &net, region, FALSE };
        threads[i] = g_thread_new("caller", call, &callers[i]);
    }
    for (int i = 0; i < 4; i++)
    {
        g_thread_join(threads[i]);
        g_assert_true(callers[i].is_right);
    }
    ifm_region_free(region);
}

/* One region of several sizes; those that do not fit are refused, and no images are none. */
static void test_sizes(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    net_residual(&net, 12, 20);
    IfmRegion *region = net_region(&net, NULL, 1);
    IfmBlockedError error;
    int64_t shape[4];
    for (int64_t side = 4; side < 12; side++)
    {
        IfmRegionRun *run = take(region, side % 3, 3, side, side + 1, &error);
        g_assert_nonnull(run);
        ifm_region_output_shape(run, 0, shape);
        g_assert_cmpint(shape[0], ==, side % 3);
        g_assert_cmpint(shape[1], ==, 20);
        g_assert_cmpint(shape[2], ==, (side + 1) / 2);
        float *output = g_new0(float, count(shape) + 1), *input = g_new0(float, 3 * 3 * side * (side + 1));
        ifm_region_run(run, (const float *const[]){ input }, (float *const[]){ output }, NULL, NULL);
        ifm_region_give_back(region, run);
        g_free(output);
        g_free(input);
    }
    g_assert_true(net_runs(&net, region, NULL, "again"));
    static const struct
    {
        int64_t shape[4];
        const char *line;
    } bad[] = { { { 1, 4, 8, 8 }, "line 3: " },         { { 1, 3, 0, 8 }, "line 2: " },
                { { 1, 3, -1, 8 }, "line 2: " },        { { -1, 3, 8, 8 }, "line 2: " },
                { { 1, 3, INT64_MAX, 8 }, "line 2: " }, { { 1 << 20, 3, 1 << 20, 8 }, "line 2: " } };
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
    {
        g_assert_null(take(region, bad[i].shape[0], bad[i].shape[1], bad[i].shape[2], bad[i].shape[3], &error));
        g_assert_cmpint(error.code, ==, IFM_BLOCKED_INVALID);
        g_assert_true(g_str_has_prefix(error.text, bad[i].line));
        g_assert_null(ifm_region_take(region, &bad[i].shape, NULL));
    }
    ifm_region_free(region);
}

#define N_SIZES 8

/* The same two layers of any size: their constants are drawn behind the input. */
static void net_chain(Net *net, int64_t side)
{
    Conv conv = plain;
    net_init(net, (guint32)side);
    const guint in = net_input(net, 1, 20, side, side + 1, FALSE);
    g_rand_set_seed(net->rand, 1);
    conv.outputs = 33;
    conv.algorithm = "winograd 4";
    net->tolerance = 1e-3;
    net_output(net, net_conv(net, net_conv(net, in, &conv), &conv), FALSE);
}

static IfmRegion *chain_region(const Net *net, gsize max_idle_bytes)
{
    const IfmRegionOptions options = { .n_threads = 1, .max_idle_bytes = max_idle_bytes };
    IfmBlockedError error = { 0 };
    IfmRegion *region = ifm_region_new(net->program->str, (const IfmRegionConstant *)(gpointer)net->constants->data,
                                       net->constants->len, &options, &error);
    g_assert_cmpstr(error.text, ==, "");
    return region;
}

/* Sizes that take turns are planned once each, and the weights are transformed once for all of them; whatever the limit is,
 * one run of each stays, and no more once there are more sizes than that. */
static void test_turns(void)
{
    Net nets[N_SIZES + 2];
    for (gsize i = 0; i < G_N_ELEMENTS(nets); i++)
        net_chain(&nets[i], 6 + 3 * (int64_t)i);
    for (gsize limit = 0; limit < 2; limit++)
    {
        IfmRegion *region = chain_region(&nets[0], limit);
        gsize n_bytes = 0;
        for (int turn = 0; turn < 3; turn++)
        {
            for (int i = 0; i < N_SIZES; i++)
                g_assert_true(net_runs(&nets[i], region, NULL, "turns"));
            const IfmRegionCounts counts = ifm_region_counts(region);
            g_assert_cmpuint(counts.n_made, ==, N_SIZES);
            g_assert_cmpuint(counts.n_idle, ==, N_SIZES);
            g_assert_cmpuint(counts.n_transforms, ==, ifm_region_n_layers(region));
            g_assert_cmpuint(counts.idle_bytes, >, 0);
            g_assert_true(turn == 0 || counts.idle_bytes == n_bytes);
            n_bytes = counts.idle_bytes;
        }
        for (gsize i = 0; i < G_N_ELEMENTS(nets); i++)
            g_assert_true(net_runs(&nets[i], region, NULL, "more sizes"));
        const IfmRegionCounts counts = ifm_region_counts(region);
        g_assert_cmpuint(counts.n_made, ==, N_SIZES + 2);
        g_assert_cmpuint(counts.n_transforms, ==, ifm_region_n_layers(region));
        g_assert_cmpuint(counts.n_idle, ==, limit > 0 ? N_SIZES : N_SIZES + 2);
        ifm_region_free(region);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(nets); i++)
        net_clear(&nets[i]);
}

/* Several callers of one size leave one run where there is no room for more, and all of them where there is. */
static void test_limit(void)
{
    g_auto(Net) net;
    net_chain(&net, 12);
    for (gsize limit = 0; limit < 2; limit++)
    {
        IfmRegion *region = chain_region(&net, limit);
        IfmRegionRun *runs[3];
        IfmBlockedError error;
        for (gsize i = 0; i < G_N_ELEMENTS(runs); i++)
            g_assert_nonnull(runs[i] = take(region, 1, 20, 12, 13, &error));
        for (gsize i = 0; i < G_N_ELEMENTS(runs); i++)
            ifm_region_give_back(region, runs[i]);
        const IfmRegionCounts counts = ifm_region_counts(region);
        g_assert_cmpuint(counts.n_made, ==, 3);
        g_assert_cmpuint(counts.n_idle, ==, limit > 0 ? 1 : 3);
        g_assert_cmpuint(counts.n_transforms, ==, ifm_region_n_layers(region));
        g_assert_true(net_runs(&net, region, NULL, "behind them"));
        g_assert_cmpuint(ifm_region_counts(region).n_made, ==, 3);
        ifm_region_set_threads(region, 2); /* those of one thread are of no use any more */
        g_assert_true(net_runs(&net, region, layer_parallel, "threads"));
        g_assert_cmpuint(ifm_region_counts(region).n_idle, ==, 1);
        g_assert_cmpuint(ifm_region_counts(region).n_transforms, ==, ifm_region_n_layers(region));
        ifm_region_free(region);
    }
}

static IfmRegion *parse(const char *program, IfmBlockedError *error)
{
    static const float numbers[144];
    static const IfmRegionConstant constants[] = {
        { 4, { 4, 4, 3, 3 }, numbers }, { 1, { 4 }, numbers }, { 1, { 3 }, numbers }, { 4, { 4, 0, 3, 3 }, numbers }
    };
    *error = (IfmBlockedError){ 0 };
    return ifm_region_new(program, constants, G_N_ELEMENTS(constants), NULL, error);
}

#define CONV "kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm any 0 name x"
#define HEAD "region 1\ninput nchw\n"

/* Sizes that do not fit each other, by the line where that is. */
static void test_misfits(void)
{
    static const struct
    {
        const char *program, *text;
    } misfits[] = {
        { HEAD
          "conv v0 w0 - v0 kernel 3 3 stride 1 1 dilation 1 1 pads 0 0 0 0 group 1 act none 0 0 algorithm any 0 name x\n"
          "output nchw v1\n",
          "line 3: a sum of another size than the outputs" },
        { HEAD "max_pool v0 kernel 20 3 stride 1 1 dilation 1 1 pads 1 1 1 1 ceil 0\noutput nchw v1\n",
          "line 3: a window that reaches beyond its padded inputs" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 9 9 pads 0 0 0 0 group 1 act none 0 0 algorithm any 0 name x\n"
          "output nchw v1\n",
          "line 3: a kernel that reaches beyond its padded inputs" },
        { HEAD "scale v0 w2 w2 act none 0 0\noutput nchw v1\n", "line 3: factors of another number of channels" },
        { HEAD "resize v0 2 1\nadd v0 v1 act none 0 0\noutput nchw v2\n",
          "line 4: operands whose sizes are neither equal nor 1" },
        { HEAD "resize v0 2 1\nconcat v0 v1\noutput nchw v2\n", "line 4: parts of other images, rows or columns" },
        { HEAD "resize v0 16777216 1\noutput nchw v1\n", "line 3: a size of 134217728" },
        { "region 1\ninput blocked 5\noutput nchw v0\n", "line 2: an input of 4 channels in blocks of " },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(misfits); i++)
    {
        IfmBlockedError error;
        IfmRegion *region = parse(misfits[i].program, &error);
        g_assert_cmpstr(error.text, ==, "");
        g_assert_nonnull(region);
        g_assert_null(take(region, 1, 4, 8, 8, &error));
        g_assert_true(g_str_has_prefix(error.text, misfits[i].text));
        ifm_region_free(region);
    }
}

/* Each line that is none. */
static void test_refused(void)
{
    static const struct
    {
        const char *program, *text;
    } refused[] = {
        { "", "line 1: region is expected, not \"\"" },
        { "region", "line 1: version 1 of regions" },
        { "region 2\n", "line 1: version 1 of regions (a newer file needs a newer library) is expected, not \"2\"" },
        { "region 1 \n", "line 1: version 1" },
        { "region 1\n", "line 2: a program without an output" },
        { HEAD, "line 3: a program without an output" },
        { "region 1\n\n", "line 2: a step is expected, not \"\"" },
        { "region 1\ninput  nchw\n", "line 2: nchw or blocked" },
        { "region 1\ninput nhwc\n", "line 2: nchw or blocked is expected, not \"nhwc\"" },
        { "region 1\ninput blocked\n", "line 2: a number from 1 to 16777216 is expected, not \"\"" },
        { "region 1\ninput blocked 0\n", "line 2: a number from 1" },
        { "region 1\ninput blocked 16777217\n", "line 2: a number from 1" },
        { "region 1\ninput blocked 99999999999999999999\n", "line 2: a number from 1" },
        { "region 1\ninput nchw 3\n", "line 2: the end of the line is expected, not \"3\"" },
        { "region 1\ninput nchw \n", "line 2: the end of the line" },
        { HEAD "softmax v0\n", "line 3: a step is expected, not \"softmax\"" },
        { HEAD "act v1 relu 0 0\n", "line 3: a value made before, such as v0, is expected, not \"v1\"" },
        { HEAD "act v-0 relu 0 0\n", "line 3: a value" },
        { HEAD "act v relu 0 0\n", "line 3: a value" },
        { HEAD "act v0 elu 0 0\n", "line 3: an activation is expected, not \"elu\"" },
        { HEAD "act v0 relu 0\n", "line 3: a number is expected, not \"\"" },
        { HEAD "act v0 relu 0 nan\n", "line 3: a number is expected, not \"nan\"" },
        { HEAD "act v0 relu 0 1x\n", "line 3: a number" },
        { HEAD "conv v0 w9 w1 - " CONV "\n", "line 3: a constant of the node, such as w0, is expected, not \"w9\"" },
        { HEAD "conv v0 - w1 - " CONV "\n", "line 3: a constant" },
        { HEAD "conv v0 w0 v0 - " CONV "\n", "line 3: a constant" },
        { HEAD "conv v0 w0 w1 v1 " CONV "\n", "line 3: a value" },
        { HEAD "conv v0 w0 w2 - " CONV "\n", "line 3: the bias is not one number for each output channel" },
        { HEAD "conv v0 w1 w1 - " CONV "\n", "line 3: the weights are not of rank 4, or not of this kernel" },
        { HEAD "conv v0 w3 w1 - " CONV "\n", "line 3: the weights have a size of 0" },
        { HEAD
          "conv v0 w0 - - kernel 3 5 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm any 0 name x\n",
          "line 3: the weights are not of rank 4" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 0 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm any 0 name x\n",
          "line 3: a number from 1" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads -1 1 1 1 group 1 act none 0 0 algorithm any 0 name x\n",
          "line 3: a number from 0" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 3 act none 0 0 algorithm any 0 name x\n",
          "line 3: the outputs cannot be divided into these groups" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm fast 0 name x\n",
          "line 3: an algorithm is expected, not \"fast\"" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm winograd 3 name x",
          "line 3: 0, 2, 4 or 6 outputs of a tile is expected, not \"3\"" },
        { HEAD
          "conv v0 w0 - - kernel 3 3 stride 1 1 dilation 1 1 pads 1 1 1 1 group 1 act none 0 0 algorithm any 0 named x\n",
          "line 3: name is expected, not \"named\"" },
        { HEAD "conv v0 w0 - - " CONV "\ty\n", "line 3: a name with control characters" },
        { HEAD "max_pool v0 kernel 2 2 stride 2 2 dilation 1 1 pads 2 0 0 0 ceil 0\n",
          "line 3: more padding than the window of a pool has" },
        { HEAD "max_pool v0 kernel 2 2 stride 2 2 dilation 1 1 pads 0 0 0 0 ceil 2\n", "line 3: a number from 0 to 1" },
        { HEAD "average_pool v0 kernel 2 2 stride 2 2 dilation 1 1 pads 0 0 0 0 ceil 0 include_pad 0\n",
          "line 3: pads is expected, not \"dilation\"" },
        { HEAD "scale v0 w0 w0 act none 0 0\n", "line 3: factors and terms are not one number for each channel" },
        { HEAD "scale v0 w1 w2 act none 0 0\n", "line 3: factors and terms" },
        { HEAD "concat\n", "line 3: a value" },
        { HEAD "concat v0 \n", "line 3: the end of the line" },
        { HEAD "resize v0 0 1\n", "line 3: a number from 1" },
        { HEAD "output v0\n", "line 3: nchw or blocked" },
        { HEAD "output nchw v1\n", "line 3: a value" },
        { HEAD "\x01\xff\n", "line 3: a step is expected, not \"?\?\"" },
        { HEAD "a_word_that_is_longer_than_any_word_of_this_language_and_then_longer_still_for_good_measure\n",
          "line 3: a step is expected, not \"a_word_that_is_longer_than_any_word_of_t\"" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        IfmBlockedError error;
        g_assert_null(parse(refused[i].program, &error));
        if (!g_str_has_prefix(error.text, refused[i].text))
            g_error("program %zu: \"%s\" instead of \"%s\"", i, error.text, refused[i].text);
        g_assert_cmpint(error.code, ==, IFM_BLOCKED_INVALID);
        g_assert_null(ifm_region_new(refused[i].program, NULL, 0, NULL, NULL));
    }
    IfmBlockedError error = { 0 };
    g_assert_null(ifm_region_new(HEAD "output nchw v0\n", NULL, 0, &(IfmRegionOptions){ .max_isa = "neon" }, &error));
    g_assert_cmpstr(error.text, ==, "no instruction set \"neon\": avx512, avx2 or portable is expected");
    g_autoptr(GString) many = g_string_new(HEAD);
    for (int i = 0; i < 10000; i++)
        g_string_append_printf(many, "act v%d relu 0 0\n", i);
    g_assert_null(parse(many->str, &error));
    g_assert_cmpstr(error.text, ==, "line 10002: too many steps");
}

/* Numbers have a point, whatever the caller's language is. */
static void test_locale(void)
{
    static const char *const names[] = { "de_DE.UTF-8", "C" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (setlocale(LC_ALL, names[i]) != NULL)
        {
            IfmBlockedError error;
            ifm_region_free(parse(HEAD "act v0 clip -0.5 0x1.8p1\noutput nchw v1", &error));
            g_assert_cmpstr(error.text, ==, "");
            g_assert_null(parse(HEAD "act v0 clip 0 0,5\noutput nchw v1", &error));
        }
        else
            g_test_message("no locale %s", names[i]);
}

/* What a layer runs by, and another algorithm for it. */
static void test_layers(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    Conv conv = plain;
    conv.stride[0] = conv.stride[1] = 2;
    conv.algorithm = "winograd 4";
    net.tolerance = 1e-4;
    net_output(&net, net_conv(&net, net_conv(&net, net_input(&net, 1, 20, 9, 9, FALSE), &conv), &plain), FALSE);
    net_conv(&net, 0, &plain); /* nobody reads it */
    IfmRegion *region = net_region(&net, "portable", 1);
    g_assert_null(ifm_region_idle(region));
    g_assert_true(net_runs(&net, region, NULL, "layers"));
    IfmRegionRun *run = ifm_region_idle(region);
    IfmBlockedError error = { 0 };
    g_assert_cmpuint(ifm_region_n_layers(region), ==, 3);
    IfmRegionLayerRun layer = ifm_region_layer(run, 0);
    g_assert_cmpstr(layer.name, ==, "/layer 1");
    g_assert_cmpstr(layer.asked, ==, "winograd");
    g_assert_cmpstr(layer.algorithm, !=, "winograd");
    g_assert_true(layer.is_replaced);
    g_assert_cmpint(layer.shape.channels, ==, 20);
    layer = ifm_region_layer(run, 1);
    g_assert_cmpstr(layer.asked, ==, "any");
    g_assert_false(layer.is_replaced);
    g_assert_cmpstr(ifm_region_layer(run, 2).algorithm, ==, "none");
    g_assert_false(ifm_region_set(run, 2, IFM_BLOCKED_FFT, 0, &error));
    g_assert_false(ifm_region_set(run, 0, IFM_BLOCKED_WINOGRAD, 4, &error));
    g_assert_cmpint(error.code, ==, IFM_BLOCKED_UNSUPPORTED);
    for (IfmBlockedAlgorithm i = 0; i < IFM_N_BLOCKED_ALGORITHMS; i++)
        if (ifm_region_set(run, 1, i, 0, NULL))
        {
            g_assert_cmpstr(ifm_region_layer(run, 1).algorithm, ==, ifm_blocked_algorithm_name(i));
            g_assert_true(net_runs(&net, region, NULL, ifm_blocked_algorithm_name(i)));
            g_assert_true(ifm_region_idle(region) == run);
        }
    ifm_region_set_threads(region, 2);
    g_assert_true(net_runs(&net, region, layer_parallel, "threads"));
    g_assert_true(ifm_region_idle(region) != run);
    ifm_region_free(region);
    ifm_region_free(NULL);
}
int main(int argc, char **argv)
{
    static const struct
    {
        const char *name;
        void (*test)(void);
    } tests[] = {
        { "/region-programs/memory", test_memory },   { "/region-programs/callers", test_callers },
        { "/region-programs/sizes", test_sizes },     { "/region-programs/misfits", test_misfits },
        { "/region-programs/refused", test_refused }, { "/region-programs/locale", test_locale },
        { "/region-programs/layers", test_layers },   { "/region-programs/turns", test_turns },
        { "/region-programs/limit", test_limit },
    };
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].test);
    return g_test_run();
}
