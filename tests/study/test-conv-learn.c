/* Layer times learnt from shapes: networks whose layers follow a rule are predicted from each other. */
#include <math.h>

#include <base/base.h>
#include <study/findings.h>

#define N_NETWORKS 6
#define N_SIZES 3
#define REST_NS 5e4
#define WEIGHTS 1e6 /* bytes, of the network of a layer that is predicted */

typedef struct
{
    IfmStudyDevice device;
    IfmStudyRow rows[N_NETWORKS * N_SIZES * 2];
    IfmConvFindings findings;
    char *names[N_NETWORKS];
} Fixture;

static const char *const algorithms[] = { "direct", "winograd" };

/* The rule: a rate that grows with the channels, data at 10 bytes a ns; winograd saves half of the work of 3x3 kernels. */
static double time_of(const IfmConvLayer *layer)
{
    const double rate = 40 * (double)layer->in_channels / ((double)layer->in_channels + 16);
    const double depth = (double)(layer->in_channels * layer->kernel_rows * layer->kernel_columns);
    const double bytes = 4 * (double)layer->macs / depth * 2;
    const gboolean is_half = g_str_equal(layer->algorithm, "winograd");
    return (double)layer->macs / rate * (is_half ? 0.5 : 1) + bytes / 10 + 1000;
}

static IfmConvLayer *add_layer(GPtrArray *layers, gint64 in, gint64 out, gint64 kernel, gint64 size, const char *algorithm)
{
    IfmConvLayer *layer = ifm_conv_layer_new();
    g_free(layer->algorithm);
    layer->algorithm = g_strdup(kernel == 3 ? algorithm : "direct");
    layer->fell_back = kernel != 3 && g_str_equal(algorithm, "winograd");
    layer->in_channels = in;
    layer->out_channels = out;
    layer->kernel_rows = layer->kernel_columns = kernel;
    layer->groups = layer->stride_rows = layer->stride_columns = layer->dilation_rows = layer->dilation_columns = 1;
    layer->macs = in * out * kernel * kernel * size * size;
    g_ptr_array_add(layers, layer);
    return layer;
}

static void set_up(Fixture *fixture, gconstpointer data)
{
    fixture->device = (IfmStudyDevice){ .alias = (char *)"CPU" };
    fixture->findings.points = g_ptr_array_new_with_free_func(g_free);
    for (int n = 0; n < N_NETWORKS; n++)
    {
        fixture->names[n] = g_strdup_printf("network-%d", n);
        for (int i = 0; i < N_SIZES * 2; i++)
        {
            IfmStudyRow *row = &fixture->rows[n * N_SIZES * 2 + i];
            IfmConvPoint *point = g_new0(IfmConvPoint, 1);
            *point = (IfmConvPoint){ .point = row,
                                     .model = fixture->names[n],
                                     .algorithm = algorithms[i % 2],
                                     .input_size = 32 << (i / 2),
                                     .layers = ifm_conv_layers_new(),
                                     .times_ns = g_array_new(FALSE, FALSE, sizeof(double)) };
            for (int k = 0; k < 6; k++)
            {
                const gint64 channels = (16 + 8 * n) << (k / 2);
                const IfmConvLayer *layer = add_layer(point->layers, channels, channels, k % 2 == 0 ? 3 : 1,
                                                      point->input_size >> (k / 2), algorithms[i % 2]);
                const double time_ns = time_of(layer);
                g_array_append_val(point->times_ns, time_ns);
                point->layers_ns += time_ns;
            }
            row->device = &fixture->device;
            row->median_ns = point->layers_ns + REST_NS;
            g_ptr_array_add(fixture->findings.points, point);
        }
    }
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < fixture->findings.points->len; i++)
    {
        IfmConvPoint *point = fixture->findings.points->pdata[i];
        g_ptr_array_unref(point->layers);
        g_array_unref(point->times_ns);
    }
    g_ptr_array_unref(fixture->findings.points);
    for (int n = 0; n < N_NETWORKS; n++)
        g_free(fixture->names[n]);
}

/* A layer of sizes between those that were learnt from; a kind that was not is not known. */
static void test_layers(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    const IfmConvSetting setting = { &fixture->device, 1 };
    g_autoptr(IfmConvLearned) learned = ifm_conv_learn(&fixture->findings, &setting, NULL, &error);
    g_autoptr(GPtrArray) layers = ifm_conv_layers_new();
    g_assert_no_error(error);
    for (gsize i = 0; i < G_N_ELEMENTS(algorithms); i++)
    {
        const IfmConvLayer *layer = add_layer(layers, 72, 72, 3, 40, algorithms[i]);
        g_assert_cmpfloat_with_epsilon(ifm_conv_learned_layer(learned, layer, WEIGHTS, algorithms[i]) / time_of(layer), 1,
                                       0.2);
    }
    IfmConvLayer *other = add_layer(layers, 72, 72, 5, 40, "direct");
    g_assert_true(isnan(ifm_conv_learned_layer(learned, other, WEIGHTS, "direct")));
    other->kernel_rows = other->kernel_columns = 1;
    g_assert_true(isnan(ifm_conv_learned_layer(learned, other, WEIGHTS, "winograd"))); /* which never ran a 1x1 */
    g_assert_false(isnan(ifm_conv_learned_layer(learned, other, WEIGHTS, "direct")));
    other->stride_rows = 2;
    g_assert_true(isnan(ifm_conv_learned_layer(learned, other, WEIGHTS, "direct")));
    other->stride_rows = 1;
    other->groups = other->in_channels;
    g_assert_true(isnan(ifm_conv_learned_layer(learned, other, WEIGHTS, "direct")));
    other->macs = 0; /* its sizes are not known */
    g_assert_true(isnan(ifm_conv_learned_layer(learned, other, WEIGHTS, "direct")));
}

static double mean_of(const GArray *errors)
{
    double sum = 0;
    for (guint i = 0; i < errors->len; i++)
        sum += g_array_index(errors, double, i);
    return sum / errors->len;
}

/* Each network by the others. What they take beside their layers goes with these, where nothing else is known. */
static void test_errors(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    const IfmStudyDevice absent = { .alias = (char *)"GPU" };
    const IfmConvSetting setting = { &fixture->device, 1 }, nowhere = { &absent, 1 };
    g_autoptr(GArray) errors = ifm_conv_learned_errors(&fixture->findings, &setting),
                      none = ifm_conv_learned_errors(&fixture->findings, &nowhere);
    g_assert_cmpuint(errors->len, ==, N_NETWORKS * N_SIZES * 2);
    g_assert_cmpfloat(mean_of(errors), <, 0.1);
    g_assert_cmpuint(none->len, ==, 0);
    g_assert_null(ifm_conv_learn(&fixture->findings, &nowhere, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, "GPU: no convolution of its was measured: there is nothing to learn from");
    fixture->findings.points->len = 2 * N_SIZES * 2; /* two networks: what each is predicted with says nothing */
    g_autoptr(GArray) few = ifm_conv_learned_errors(&fixture->findings, &setting);
    fixture->findings.points->len = N_NETWORKS * N_SIZES * 2;
    g_assert_cmpuint(few->len, ==, 0);
}

/* What was measured with other threads is learnt by itself. */
static void test_threads(Fixture *fixture, gconstpointer data)
{
    json_auto_t *axes = json_pack("{s:i}", "threads", 4);
    const IfmConvSetting one = { &fixture->device, 1 }, four = { &fixture->device, 4 };
    for (guint i = 0; i < fixture->findings.points->len; i += 2) /* the points by "direct" */
    {
        IfmConvPoint *point = fixture->findings.points->pdata[i];
        fixture->rows[i].axes = axes;
        for (guint k = 0; k < point->times_ns->len; k++)
            g_array_index(point->times_ns, double, k) /= 3;
    }
    g_autoptr(GArray) settings = ifm_conv_settings(&fixture->findings);
    g_assert_cmpuint(settings->len, ==, 2);
    g_assert_cmpint(g_array_index(settings, IfmConvSetting, 0).threads, ==, 4);
    g_assert_cmpint(g_array_index(settings, IfmConvSetting, 1).threads, ==, 1);
    g_autoptr(IfmConvLearned) by_one = ifm_conv_learn(&fixture->findings, &one, NULL, NULL),
                              by_four = ifm_conv_learn(&fixture->findings, &four, NULL, NULL);
    g_autoptr(GPtrArray) layers = ifm_conv_layers_new();
    const IfmConvLayer *layer = add_layer(layers, 72, 72, 1, 40, "direct");
    g_assert_cmpfloat_with_epsilon(ifm_conv_learned_layer(by_four, layer, WEIGHTS, "direct") / time_of(layer), 1.0 / 3,
                                   0.07);
    g_assert_cmpfloat_with_epsilon(ifm_conv_learned_layer(by_one, layer, WEIGHTS, "direct") / time_of(layer), 1, 0.2);
    g_assert_true(isnan(ifm_conv_learned_layer(by_four, layer, WEIGHTS, "winograd")));
    for (guint i = 0; i < fixture->findings.points->len; i++)
        fixture->rows[i].axes = NULL;
}

/* One label, two programs: where the library does a layer, its times are taken. */
static void test_library(Fixture *fixture, gconstpointer data)
{
    const IfmConvSetting setting = { &fixture->device, 1 };
    for (guint i = 0; i < fixture->findings.points->len; i++)
    {
        IfmConvPoint *point = fixture->findings.points->pdata[i];
        for (guint k = 0; k < point->layers->len; k++)
        {
            IfmConvLayer *layer = point->layers->pdata[k];
            if (!g_str_equal(layer->algorithm, "direct") || layer->kernel_rows != 3)
                continue;
            g_free(layer->implementation);
            layer->implementation = g_strdup("oneDNN 2.6.3 jit:avx2");
            g_array_index(point->times_ns, double, k) *= 5;
        }
    }
    g_autoptr(IfmConvLearned) learned = ifm_conv_learn(&fixture->findings, &setting, NULL, NULL);
    g_autoptr(GPtrArray) layers = ifm_conv_layers_new();
    const IfmConvLayer *wide = add_layer(layers, 72, 72, 3, 40, "direct"), *narrow = add_layer(layers, 72, 72, 1, 40, "");
    g_assert_cmpfloat_with_epsilon(ifm_conv_learned_layer(learned, wide, WEIGHTS, "direct") / time_of(wide), 5, 1);
    g_assert_cmpfloat_with_epsilon(ifm_conv_learned_layer(learned, narrow, WEIGHTS, "direct") / time_of(narrow), 1, 0.2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/conv-learn/layers", Fixture, NULL, set_up, test_layers, tear_down);
    g_test_add("/conv-learn/errors", Fixture, NULL, set_up, test_errors, tear_down);
    g_test_add("/conv-learn/threads", Fixture, NULL, set_up, test_threads, tear_down);
    g_test_add("/conv-learn/library", Fixture, NULL, set_up, test_library, tear_down);
    return g_test_run();
}
