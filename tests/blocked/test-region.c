/* The steps of regions against plain loops: over sizes, channels that are no whole blocks, instruction sets and threads.
 * Those that the processor lacks are skipped by name. */
#include "region-net.h"

static const int64_t odd[] = { 3, 20, 33, 64 };

static void test_conv(void)
{
    for (gsize a = 0; a < G_N_ELEMENTS(odd); a++)
        for (gsize b = 0; b < G_N_ELEMENTS(odd); b++)
            for (int kind = 0; kind < 4; kind++)
            {
                g_auto(Net) net;
                net_init(&net, (guint32)(a * 16 + b * 4 + (gsize)kind));
                Conv conv = plain;
                conv.outputs = odd[b];
                conv.has_bias = kind % 2 == 0;
                conv.kernel[0] = kind == 3 ? 1 : 3;
                conv.stride[1] = kind == 2 ? 2 : 1;
                conv.dilation[0] = kind == 1 ? 2 : 1;
                conv.act = acts[(a * 4 + b + (gsize)kind) % G_N_ELEMENTS(acts)];
                conv.algorithm = kind == 0 ? "implicit_gemm 0" : kind == 1 ? "fft 0" : "implicit_precomp_gemm 0";
                net.tolerance = 3e-5;
                const guint in = net_input(&net, 1 + kind % 2, odd[a], 9, 7, kind == 2);
                net_output(&net, net_conv(&net, in, &conv), kind == 1);
                net_check(&net);
            }
}

static void test_winograd(void)
{
    static const char *const algorithms[] = { "winograd 2", "winograd 4", "winograd 6", "winograd_nonfused 0", "any 0" };
    for (gsize i = 0; i < G_N_ELEMENTS(algorithms); i++)
    {
        g_auto(Net) net;
        net_init(&net, (guint32)i);
        Conv conv = plain;
        conv.outputs = 33;
        conv.algorithm = algorithms[i];
        net.tolerance = 4e-4;
        net_output(&net, net_conv(&net, net_input(&net, 1, 20, 12, 13, FALSE), &conv), FALSE);
        net_check(&net);
    }
}

/* Channels, outputs, groups: depthwise, with several outputs a channel, groups of blocks, narrow ones, and some that no
 * block divides. */
static void test_groups(void)
{
    static const int64_t groups[][3] = { { 16, 16, 16 }, { 20, 20, 20 }, { 33, 66, 33 }, { 32, 48, 2 }, { 64, 64, 16 },
                                         { 20, 40, 4 },  { 33, 33, 3 },  { 60, 20, 20 }, { 3, 3, 3 } };
    for (gsize i = 0; i < G_N_ELEMENTS(groups); i++)
    {
        g_auto(Net) net;
        net_init(&net, (guint32)i);
        Conv conv = plain;
        conv.outputs = groups[i][1];
        conv.group = groups[i][2];
        conv.stride[0] = conv.stride[1] = 1 + i % 2;
        conv.act = acts[i];
        net.tolerance = 1e-4; /* any: Winograd's among them */
        net_output(&net, net_conv(&net, net_input(&net, 2, groups[i][0], 10, 11, FALSE), &conv), FALSE);
        net_check(&net);
    }
}

static void test_conv_fused(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(acts); i++)
        for (int channels = 16; channels <= 20; channels += 4)
        {
            g_auto(Net) net;
            net_init(&net, (guint32)i);
            Conv conv = plain;
            conv.outputs = channels;
            conv.act = acts[i];
            conv.algorithm = "implicit_precomp_gemm 0";
            const guint in = net_input(&net, 2, channels, 6, 5, i % 2 == 0);
            conv.sum = i % 3 == 0 ? (int)in : (int)net_act(&net, in, acts[1]);
            net_output(&net, net_conv(&net, net_conv(&net, in, &conv), &plain), FALSE);
            net.tolerance = 1e-4;
            net_check(&net);
        }
}

static void test_pools(void)
{
    static const Pool pools[] = {
        { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1, 1, 1 }, FALSE, FALSE },
        { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 0, 0, 0, 0 }, TRUE, TRUE },
        { { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1, 1, 1 }, TRUE, TRUE },
        { { 2, 2 }, { 2, 2 }, { 1, 1 }, { 0, 0, 0, 0 }, FALSE, FALSE },
        { { 5, 5 }, { 1, 1 }, { 1, 1 }, { 2, 2, 2, 2 }, FALSE, TRUE },
        { { 2, 3 }, { 3, 1 }, { 2, 3 }, { 1, 0, 0, 2 }, TRUE, FALSE },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(pools); i++)
        for (gsize c = 0; c < G_N_ELEMENTS(odd); c++)
        {
            g_auto(Net) net;
            net_init(&net, (guint32)i);
            const guint in = net_input(&net, 1 + (int64_t)(c % 2), odd[c], 14, 13, c == 1);
            Pool pool = pools[i];
            net_output(&net, net_pool(&net, in, TRUE, &pool), FALSE);
            pool.dilation[0] = pool.dilation[1] = 1;
            net_output(&net, net_pool(&net, in, FALSE, &pool), c == 2);
            net_output(&net, net_global_pool(&net, in), FALSE);
            net_check(&net);
        }
}

static void test_activations(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(acts); i++)
    {
        g_auto(Net) net;
        net_init(&net, (guint32)i);
        const guint in = net_input(&net, 1, 20, 8, 9, FALSE);
        for (gsize k = 0; k < 200; k++) /* where exponentials end, and small values */
            value(&net, in)->at[k] = (float)(k < 100 ? g_rand_double_range(net.rand, -100, 100) : 1e-5 * (double)k);
        net.tolerance = 3e-7;
        net_output(&net, net_act(&net, in, acts[i]), i % 2 == 0);
        net_check(&net);
    }
    for (IfmBlockedActivation i = 0; i < IFM_N_BLOCKED_ACTIVATIONS; i++)
        g_assert_nonnull(ifm_blocked_activation_name(i));
}

static void test_binary(void)
{
    static const int64_t sizes[][2][4] = {
        { { 2, 20, 5, 6 }, { 2, 20, 5, 6 } }, { { 2, 20, 5, 6 }, { 2, 20, 1, 1 } }, { { 1, 33, 1, 1 }, { 2, 33, 4, 5 } },
        { { 2, 20, 5, 6 }, { 2, 1, 5, 6 } },  { { 1, 1, 5, 6 }, { 3, 16, 5, 6 } },  { { 2, 20, 5, 6 }, { 1, 1, 1, 1 } },
        { { 1, 20, 1, 6 }, { 2, 1, 5, 1 } },  { { 2, 16, 5, 1 }, { 2, 16, 5, 6 } }, { { 1, 3, 7, 1 }, { 1, 3, 7, 1 } },
        { { 2, 1, 3, 3 }, { 2, 1, 3, 3 } },   { { 1, 64, 1, 1 }, { 1, 64, 1, 9 } }, { { 1, 16, 4, 1 }, { 1, 16, 1, 1 } },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (int is_add = 0; is_add < 2; is_add++)
        {
            g_auto(Net) net;
            net_init(&net, (guint32)i);
            const int64_t *a = sizes[i][0], *b = sizes[i][1];
            const guint left = net_input(&net, a[0], a[1], a[2], a[3], i % 3 == 0);
            const guint right = net_input(&net, b[0], b[1], b[2], b[3], i % 4 == 1);
            const guint out = net_binary(&net, is_add ? "add" : "mul", left, right, acts[i]);
            net_output(&net, out, FALSE);
            /* lanes without a channel: the next convolution reads them */
            net_output(&net, net_conv(&net, out, &plain), FALSE);
            net_output(&net, net_binary(&net, is_add ? "add" : "mul", out, out, acts[is_add]), TRUE);
            net.tolerance = 1e-4;
            net_check(&net);
        }
}

static void test_scale(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(acts); i++)
    {
        g_auto(Net) net;
        net_init(&net, (guint32)i);
        const guint in = net_input(&net, 2, odd[i % 4], 5, 7, i % 2 == 0);
        net_output(&net, net_scale(&net, net_scale(&net, in, acts[i]), none), FALSE);
        net_check(&net);
    }
}

static void test_concat(void)
{
    static const int64_t channels[][3] = { { 16, 32, 16 }, { 20, 3, 33 }, { 16, 16, 5 }, { 3, 3, 3 }, { 8, 16, 24 } };
    for (gsize i = 0; i < G_N_ELEMENTS(channels); i++)
        for (int64_t batch = 1; batch <= 2; batch++)
        {
            g_auto(Net) net;
            net_init(&net, (guint32)i);
            guint parts[5];
            for (guint k = 0; k < 3; k++)
                parts[k] = net_act(&net, net_input(&net, batch, channels[i][k], 4, 5, k == 1), acts[k + 1]);
            parts[3] = 0;        /* an input */
            parts[4] = parts[1]; /* twice */
            const guint whole = net_concat(&net, parts, 5), inner = net_concat(&net, parts + 1, 2);
            const guint nested = net_concat(&net, (guint[]){ whole, inner, parts[0] }, 3);
            net_output(&net, nested, i % 2 == 0);
            net_output(&net, whole, TRUE);
            net_output(&net, net_act(&net, parts[1], acts[6]), FALSE);
            net_output(&net, net_act(&net, whole, acts[6]), FALSE);
            /* in the place of a part that nobody reads any more */
            const guint last = net_act(&net, net_act(&net, parts[0], acts[7]), acts[8]);
            net_output(&net, last, i % 2 == 1);
            net_output(&net, net_act(&net, nested, acts[9]), FALSE);
            net_check(&net);
        }
}

/* Sums over places that lie in one another: a concatenation with its part, and two that have a part in common. */
static void test_overlaps(void)
{
    for (int turn = 0; turn < 2; turn++)
    {
        g_auto(Net) net;
        net_init(&net, 1);
        guint parts[4];
        for (guint k = 0; k < 4; k++)
            parts[k] = net_act(&net, net_input(&net, 1, k == 3 ? 1 : 16, 40, 40, FALSE), acts[k + 1]);
        const guint wide = net_concat(&net, (guint[]){ parts[0], parts[3] }, 2);
        net_output(&net, net_binary(&net, "add", turn == 0 ? wide : parts[3], turn == 0 ? parts[3] : wide, none), FALSE);
        for (guint k = 0; k < 3; k++)
            parts[k] = net_act(&net, net_input(&net, 1, 16, 40, 40, FALSE), acts[k + 1]);
        const guint left = net_concat(&net, parts, 2), right = net_concat(&net, parts + 1, 2);
        const guint all = net_global_pool(&net, net_concat(&net, parts, 3));
        net_output(&net, all, FALSE);
        net_output(&net, net_binary(&net, "mul", turn == 0 ? left : right, turn == 0 ? right : left, none), FALSE);
        net_check(&net);
    }
}

/* Each layer reads all before it. Returns: the region's memory of one image */
static gsize dense_bytes(int64_t growth)
{
    g_auto(Net) net;
    net_init(&net, 3);
    guint parts[5] = { net_act(&net, net_input(&net, 1, 32, 6, 6, FALSE), acts[1]) };
    Conv conv = plain;
    conv.outputs = growth;
    conv.algorithm = "implicit_precomp_gemm 0";
    for (guint k = 1; k < 5; k++)
        parts[k] = net_conv(&net, k == 1 ? parts[0] : net_concat(&net, parts, k), &conv);
    net_output(&net, net_concat(&net, parts, 5), FALSE);
    net.tolerance = 1e-4;
    net_check(&net);
    IfmRegion *region = net_region(&net, "portable", 1);
    g_assert_true(net_runs(&net, region, NULL, "dense"));
    const gsize n_bytes = ifm_region_arena_bytes(ifm_region_idle(region));
    ifm_region_free(region);
    return n_bytes;
}

/* All concatenations are one where channels are whole blocks. */
static void test_dense(void)
{
    g_assert_cmpuint(dense_bytes(16), ==, (32 + 32 + 4 * 16) * 36 * sizeof(float));
    g_assert_cmpuint(dense_bytes(12), >, (32 + 32 + 4 * 16) * 36 * sizeof(float));
}

static void test_resize(void)
{
    g_auto(Net) net;
    net_init(&net, 1);
    const guint in = net_input(&net, 2, 20, 3, 5, FALSE);
    net_output(&net, net_resize(&net, in, 2, 2), FALSE);
    net_output(&net, net_resize(&net, in, 1, 3), TRUE);
    net_check(&net);
}

/* A value as it came, in both forms, more than once. */
static void test_borders(void)
{
    for (int is_blocked = 0; is_blocked < 2; is_blocked++)
    {
        g_auto(Net) net;
        net_init(&net, 1);
        const guint in = net_input(&net, 2, 20, 7, 9, is_blocked);
        const guint out = net_act(&net, in, acts[1]);
        net_input(&net, 1, 5, 1, 1, !is_blocked); /* nobody reads it */
        net_act(&net, out, acts[1]);
        for (int k = 0; k < 4; k++)
            net_output(&net, k % 2 == 0 ? in : out, k / 2 == 0);
        net_output(&net, out, TRUE);
        net.tolerance = 0;
        net_check(&net);
    }
}

/* Infinity and NaN in one place stay with what reads that place. */
static void test_not_finite(void)
{
    static const float strange[] = { INFINITY, -INFINITY, NAN };
    g_auto(Net) net;
    net_init(&net, 5);
    Conv conv = plain;
    conv.kernel[0] = conv.kernel[1] = 1;
    memset(conv.pads, 0, sizeof(conv.pads));
    conv.outputs = 20;
    conv.act = (Act){ "clip", -1, 1 };
    conv.algorithm = "implicit_precomp_gemm 0";
    net_output(&net, net_conv(&net, net_conv(&net, net_input(&net, 1, 20, 3, 3, FALSE), &conv), &conv), FALSE);
    for (gsize i = 0; i < G_N_ELEMENTS(isas); i++)
        for (gsize k = 0; has_isa(isas[i]) && k < G_N_ELEMENTS(strange); k++)
        {
            IfmRegion *region = net_region(&net, isas[i], 1);
            IfmBlockedError error;
            IfmRegionRun *run = take(region, 1, 20, 3, 3, &error);
            int64_t shape[4];
            g_autofree float *input = outside(value(&net, 0), 1, shape), *output = g_new(float, 20 * 9);
            input[4] = strange[k];
            ifm_region_run(run, (const float *const[]){ input }, (float *const[]){ output }, NULL, NULL);
            for (int p = 0; p < 20 * 9; p++)
                g_assert_true(isfinite(output[p]) || (isnan(strange[k]) && p % 9 == 4));
            ifm_region_give_back(region, run);
            ifm_region_free(region);
        }
}
int main(int argc, char **argv)
{
    static const struct
    {
        const char *name;
        void (*test)(void);
    } tests[] = {
        { "/region/conv", test_conv },       { "/region/winograd", test_winograd },
        { "/region/groups", test_groups },   { "/region/conv-fused", test_conv_fused },
        { "/region/pools", test_pools },     { "/region/activations", test_activations },
        { "/region/binary", test_binary },   { "/region/scale", test_scale },
        { "/region/concat", test_concat },   { "/region/overlaps", test_overlaps },
        { "/region/dense", test_dense },     { "/region/resize", test_resize },
        { "/region/borders", test_borders }, { "/region/not-finite", test_not_finite },
    };
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add_func(tests[i].name, tests[i].test);
    return g_test_run();
}
