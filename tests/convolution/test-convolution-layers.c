/* The record of what ran, and which algorithm each layer gets. */
#include <convolution/convolution-private.h>
#include <jansson.h>
#include <string.h>

#include "folder.h"

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

/* --- the tuning cache ------------------------------------------------------------------------------------------------- */

static GPtrArray *one_row(gint64 channels, const char *runtime, const char *algorithm, double time_ns)
{
    IfmConvShape shape = { 1, channels, 64, 1, { 14, 14 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16 };
    const IfmConvOptions options = { .n_threads = 2, .activation = IFM_BLOCKED_RELU, .has_sum = TRUE };
    GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_conv_tuned_free);
    IfmConvTuned *row = ifm_conv_tuned_key(&shape, &options, runtime);
    g_free(row->algorithm);
    row->algorithm = g_strdup(algorithm);
    row->time_ns = time_ns;
    row->runtime_ns = 2 * time_ns;
    g_ptr_array_add(rows, row);
    return rows;
}

static void add_row(const char *path, gint64 channels, const char *runtime, const char *algorithm, double time_ns)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) rows = one_row(channels, runtime, algorithm, time_ns);
    g_assert_true(ifm_conv_tuning_add(path, rows, &error));
    g_assert_no_error(error);
}

static void test_tuning(void)
{
    g_autofree char *folder = g_dir_make_tmp("ifm-tuning-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "below", "cache.json", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) none = ifm_conv_tuning_load(path, &error);
    g_assert_cmpuint(none->len, ==, 0);
    add_row(path, 32, "runtime 1", "direct", 100);
    add_row(path, 64, "runtime 1", "gemm", 200);
    add_row(path, 32, "runtime 2", "runtime", 300);
    add_row(path, 32, "runtime 1", "implicit_gemm", 90); /* in place of the first */
    g_autoptr(GPtrArray) rows = ifm_conv_tuning_load(path, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rows->len, ==, 3);
    g_autoptr(GPtrArray) key = one_row(32, "runtime 1", "", 0), absent = one_row(48, "runtime 1", "", 0);
    const IfmConvTuned *found = ifm_conv_tuned_find(rows, key->pdata[0]);
    g_assert_cmpstr(found->algorithm, ==, "implicit_gemm");
    g_assert_cmpfloat(found->time_ns, ==, 90);
    g_assert_cmpstr(found->shape, ==, "1x32x14x14 to 64, 3x3, pads 1 1 1 1, blocks 16 16, sum, relu");
    g_assert_null(ifm_conv_tuned_find(rows, absent->pdata[0]));
    g_assert_true(ifm_conv_tuning_clear(path, &error));
    g_assert_true(ifm_conv_tuning_clear(path, &error)); /* nothing left to remove */
    g_assert_no_error(error);
    g_autoptr(GPtrArray) cleared = ifm_conv_tuning_load(path, &error);
    g_assert_cmpuint(cleared->len, ==, 0);
    remove_tree(folder);
}

/* Whatever changes the work is part of the key: no two of these share what was tuned for one. */
static void test_tuning_keys(void)
{
    const IfmConvShape plain = { 1, 32, 64, 1, { 14, 14 }, { 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1, 1, 1 }, { 0 }, 16, 16 };
    IfmConvShape shapes[10];
    IfmConvOptions options[10];
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++)
    {
        shapes[i] = plain;
        options[i] = (IfmConvOptions){ .n_threads = 2, .activation = IFM_BLOCKED_RELU };
    }
    shapes[1].groups = 32;
    shapes[2].stride[1] = 2;
    shapes[3].dilation[0] = 2;
    shapes[4].pads[3] = 0;
    shapes[5].batch = 2;
    shapes[6].out_channels = 96;
    options[7].has_sum = TRUE;
    options[8].activation = IFM_BLOCKED_IDENTITY;
    options[9].max_workspace_bytes = 4096;
    for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++)
    {
        IfmConvTuned *key = ifm_conv_tuned_key(&shapes[i], &options[i], "runtime");
        g_assert_true(g_hash_table_add(seen, g_strdup(key->shape)));
        ifm_conv_tuned_free(key);
    }
}

static void test_tuning_refusals(void)
{
    static const char *const texts[] = { "nothing", "{}", "{\"convolution_tuning\": 2, \"rows\": []}",
                                         "{\"convolution_tuning\": 1, \"rows\": [{}]}" };
    g_autofree char *folder = g_dir_make_tmp("ifm-tuning-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "cache.json", NULL);
    g_autofree char *within = g_build_filename(path, "more", NULL);
    g_autoptr(GPtrArray) rows = one_row(32, "runtime 1", "direct", 100);
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    {
        g_autoptr(GError) error = NULL, trouble = NULL;
        g_autofree char *after = NULL;
        g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
        g_assert_null(ifm_conv_tuning_load(path, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, path));
        /* What is no cache is not written over. */
        g_assert_false(ifm_conv_tuning_add(path, rows, &trouble));
        g_assert_true(g_file_get_contents(path, &after, NULL, NULL));
        g_assert_cmpstr(after, ==, texts[i]);
    }
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_conv_tuning_add(within, rows, &error)); /* its folder is a file */
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    remove_tree(folder);
}

static void test_tuning_path(void)
{
    g_setenv("IFM_TUNING_CACHE", "/elsewhere/cache.json", TRUE);
    g_autofree char *named = ifm_conv_tuning_path();
    g_assert_cmpstr(named, ==, "/elsewhere/cache.json");
    g_unsetenv("IFM_TUNING_CACHE");
    g_autofree char *usual = ifm_conv_tuning_path(), *expected = NULL;
    expected = g_build_filename(g_get_user_cache_dir(), "inferometer", "convolutions.json", NULL);
    g_assert_cmpstr(usual, ==, expected);
}

/* Each kind of processor has a text of its own: one letter of what tells them apart makes another. */
static void test_processor(void)
{
    static const char x86[] =
        "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n"
        "stepping\t: 1\nmicrocode\t: 0x1000065\nflags\t\t: fpu hypervisor avx2\n\nprocessor\t: 1\n"
        "model\t\t: 18\n";
    static const struct
    {
        const char *from, *to;
    } changes[] = { { "family\t: 25", "family\t: 26" }, { ": 17", ": 2" },     { "stepping\t: 1", "stepping\t: 2" },
                    { "1000065", "1000066" },           { "hypervisor ", "" }, { "AMD EPYC", "AMD EPYC 9" } };
    const gint64 caches[] = { 48 << 10, 1 << 20, 32 << 20 }, others[] = { 32 << 10, 1 << 20, 32 << 20 },
                 none[] = { -1, 0, 0 };
    g_autofree char *text = conv_processor_text(x86, caches, 3), *small = conv_processor_text(x86, others, 3),
                    *arm = conv_processor_text("CPU implementer\t: 0x41\nCPU part\t: 0xd08\nCPU revision\t: 3\n", none, 3),
                    *nothing = conv_processor_text("", none, 3);
    g_assert_cmpstr(
        text, ==,
        "AuthenticAMD, family 25, model 17, stepping 1, microcode 0x1000065, AMD EPYC, under a hypervisor, caches "
        "48 KiB 1024 KiB 32768 KiB");
    g_assert_cmpstr(small, !=, text);
    g_assert_cmpstr(arm, ==, "implementer 0x41, part 0xd08, revision 3");
    g_assert_cmpstr(nothing, ==, "unknown");
    for (gsize i = 0; i < G_N_ELEMENTS(changes); i++)
    {
        g_autoptr(GString) other = g_string_new(x86);
        g_assert_cmpuint(g_string_replace(other, changes[i].from, changes[i].to, 1), ==, 1);
        g_autofree char *changed = conv_processor_text(other->str, caches, 3);
        g_assert_cmpstr(changed, !=, text);
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
    g_test_add_func("/convolution-layers/tuning", test_tuning);
    g_test_add_func("/convolution-layers/tuning/keys", test_tuning_keys);
    g_test_add_func("/convolution-layers/tuning-refusals", test_tuning_refusals);
    g_test_add_func("/convolution-layers/tuning-path", test_tuning_path);
    g_test_add_func("/convolution-layers/processor", test_processor);
    return g_test_run();
}
