#include <base/base.h>

static const char *const keys[] = { "latency", "latent", "bandwidth", "onnxruntime", "CPU", "GPU", NULL };

static void test_nearest(void)
{
    static const struct
    {
        const char *word, *nearest;
    } cases[] = {
        { "latancy", "latency" },
        { "lateny", "latency" },
        { "latecny", "latency" },
        { "latents", "latent" },
        { "Bandwith", "bandwidth" },
        { "onnx", "onnxruntime" },
        { "on", NULL },
        { "cpu", "CPU" },
        { "NPU", "CPU" }, /* as near as GPU: the first */
        { "zebra", NULL },
        { "", NULL },
        { "x", NULL },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        g_assert_cmpstr(ifm_nearest(cases[i].word, keys), ==, cases[i].nearest);
    g_assert_null(ifm_nearest("latency", NULL));
    g_autofree char *endless = g_strnfill(10000, 'a');
    g_assert_null(ifm_nearest(endless, (const char *const[]){ endless, "a", NULL }));
}

static void test_hint(void)
{
    g_autofree char *hint = ifm_nearest_hint("latancy", keys), *none = ifm_nearest_hint("zebra", keys);
    g_assert_cmpstr(hint, ==, "; did you mean \"latency\"?");
    g_assert_cmpstr(none, ==, "");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/nearest/word", test_nearest);
    g_test_add_func("/nearest/hint", test_hint);
    return g_test_run();
}
