#include <string.h>

#include "build-folders.h"
#include "folder.h"
#include "law.h"

static IfmLatencyModel *train(IfmLearnMethod method)
{
    g_autoptr(GError) error = NULL;
    const Law law = { .n_kernels = 60, .n_visits = 2, .spread = 0.05, .loads = TRUE, .seed = 11 };
    g_autoptr(IfmKernelSamples) samples = law_samples(&law);
    IfmLearnOptions options = law_options();
    options.method = method;
    options.data = "law.csv";
    options.machine = "a machine";
    options.runtime = "a runtime 1.2";
    IfmLatencyModel *model = ifm_learn_train(samples, &options, &error);
    g_assert_no_error(error);
    return model;
}

static void assert_same_predictions(const IfmLatencyModel *a, const IfmLatencyModel *b)
{
    const Law law = { .n_kernels = 100, .n_visits = 1, .seed = 12 };
    g_autoptr(IfmKernelSamples) samples = law_samples(&law);
    const double metrics[] = { 0.3 };
    for (gsize i = 0; i < ifm_kernel_samples_n(samples); i++)
    {
        IfmPredictedLatency from_a, from_b;
        const IfmLoadState load = { i % 2 == 0 ? 0.6 : 0, i % 3 == 0 ? 0.4 : 0, (double)NAN, i % 5 == 0 ? NULL : metrics };
        ifm_latency_model_predict(a, ifm_kernel_samples_at(samples, i), i % 7 == 0 ? NULL : &load, &from_a);
        ifm_latency_model_predict(b, ifm_kernel_samples_at(samples, i), i % 7 == 0 ? NULL : &load, &from_b);
        g_assert_cmpfloat(from_a.latency_ns, ==, from_b.latency_ns);
        g_assert_cmpfloat(from_a.low_ns, ==, from_b.low_ns);
        g_assert_cmpfloat(from_a.high_ns, ==, from_b.high_ns);
        g_assert_cmpint(from_a.in_range, ==, from_b.in_range);
    }
}

static void test_round_trip(gconstpointer data)
{
    const IfmLearnMethod method = GPOINTER_TO_INT(data);
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-model-XXXXXX", &error), *path = g_build_filename(folder, "m.json", NULL);
    g_autoptr(IfmLatencyModel) model = train(method);
    g_autoptr(GPtrArray) errors = g_ptr_array_new();
    IfmLearnError one = { "held-out configurations", "linear", "all", 10, 0, 0.25, 0.125, 0.5, 0.75, (double)NAN, 0.0625 };
    IfmLatencyModelInfo info;
    g_ptr_array_add(errors, &one);
    ifm_latency_model_set_errors(model, errors);
    ifm_latency_model_set_overhead(model, 850);
    g_assert_true(ifm_latency_model_write(model, path, &error));
    g_autoptr(IfmLatencyModel) again = ifm_latency_model_read(path, &error);
    g_assert_no_error(error);
    json_auto_t *before = ifm_latency_model_to_json(model), *after = ifm_latency_model_to_json(again);
    g_assert_true(json_equal(before, after));
    assert_same_predictions(model, again);
    ifm_latency_model_info(again, &info);
    g_assert_cmpstr(info.machine, ==, "a machine");
    g_assert_cmpstr(info.data, ==, "law.csv");
    g_assert_cmpfloat(info.node_overhead_ns, ==, 850);
    g_assert_cmpint(info.n_kernels, ==, 60);
    g_assert_cmpint(info.n_loaded, ==, 180);
    if (method == IFM_LEARN_BOOSTED)
        g_assert_cmpint(info.n_trees, ==, 600);
    g_assert_cmpuint(info.choices->len, ==, info.operators->len);
    g_assert_cmpuint(info.operators->len, ==, 5);
    g_assert_cmpstr(info.metrics[0], ==, "metric:before:copy");
    g_assert_null(info.metrics[1]);
    const IfmLearnError *read = info.errors->pdata[0];
    g_assert_cmpstr(read->method, ==, "linear");
    g_assert_cmpfloat(read->median, ==, 0.125);
    g_assert_true(isnan(read->covered));
    remove_tree(folder);
}

static void test_warning(void)
{
    g_autoptr(IfmLatencyModel) model = train(IFM_LEARN_CHOSEN);
    g_autofree char *other = ifm_latency_model_warning(model, "b", "a runtime 1.2"),
                    *newer = ifm_latency_model_warning(model, "a machine", "a runtime 1.3"),
                    *both = ifm_latency_model_warning(model, "b", "a runtime 1.3");
    g_assert_cmpstr(other, ==, "the model is of another machine: a machine, and this is b");
    g_assert_cmpstr(newer, ==, "the model is of another runtime: a runtime 1.2, and this is a runtime 1.3");
    g_autofree char *joined = g_strjoin("; ", other, newer, NULL);
    g_assert_cmpstr(both, ==, joined);
    g_assert_null(ifm_latency_model_warning(model, "a machine", NULL));
}

/* --- files that are none ------------------------------------------------------------------------------------------------
 */

static void set_at(json_t *json, const char *path, gsize index, json_t *value)
{
    json_t *array = (json_t *)ifm_member(json, path);
    g_assert_cmpint(json_array_set_new(array, index, value), ==, 0);
}

static void assert_refused(const json_t *json, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_latency_model_from_json(json, "m.json", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_true(g_str_has_prefix(error->message, "m.json"));
    if (!strstr(error->message, message))
        g_error("%s: expected %s", error->message, message);
    g_assert_null(strchr(error->message, '\n'));
}

/* Spoils a copy of a good model at one place. @index: of an array; SIZE_MAX: the member itself is replaced */
static void assert_spoilt(const json_t *good, const char *path, gsize index, json_t *value, const char *message)
{
    json_auto_t *copy = json_deep_copy(good);
    const char *point = strrchr(path, '.');
    g_autofree char *parent = point != NULL ? g_strndup(path, (gsize)(point - path)) : NULL;
    if (index != G_MAXSIZE)
        set_at(copy, path, index, value);
    else
        json_object_set_new(parent != NULL ? (json_t *)ifm_member(copy, parent) : copy, point != NULL ? point + 1 : path,
                            value);
    assert_refused(copy, message);
}

static void test_hostile(void)
{
    g_autoptr(IfmLatencyModel) model = train(IFM_LEARN_BOOSTED);
    json_auto_t *good = ifm_latency_model_to_json(model);
    assert_spoilt(good, "latency_model", G_MAXSIZE, json_integer(5),
                  "version 5, this program reads 6: run \"inferometer train\" again");
    assert_spoilt(good, "latency_model", G_MAXSIZE, json_integer(7), "version 7, this program reads 6");
    assert_spoilt(good, "latency_model", G_MAXSIZE, json_string("1"), "expected an integer");
    assert_spoilt(good, "idle_trees.left", 0, json_integer(0), "children 0 and 2 of node 0");
    assert_spoilt(good, "idle_trees.left", 1, json_integer(1), "of node 1, expected both to be above it");
    assert_spoilt(good, "idle_trees.left", 0, json_integer(100000), "expected an integer from 0 to");
    assert_spoilt(good, "idle_trees.right", 0, json_integer(-1), "expected an integer from 0 to");
    assert_spoilt(good, "idle_trees.feature", 0, json_integer(34), "expected an integer from 0 to");
    assert_spoilt(good, "idle_trees.value", 0, json_string("x"), "expected a number");
    assert_spoilt(good, "idle_trees.value", 0, json_real(1e300), "expected a number");
    assert_spoilt(good, "idle_trees.default_left", 0, json_integer(2), "expected an integer from 0 to 1");
    assert_spoilt(good, "idle_trees.sizes", 0, json_integer(0), "a tree without nodes");
    assert_spoilt(good, "idle_trees.sizes", 0, json_integer(G_MAXINT64), "expected an integer from 0 to");
    assert_spoilt(good, "idle_trees.intercept", G_MAXSIZE, json_real(1e6), "expected a logarithm");
    assert_spoilt(good, "idle_trees.left", G_MAXSIZE, json_array(), "as of left");
    assert_spoilt(good, "idle_trees", G_MAXSIZE, json_null(), "idle_trees: found null, expected trees");
    assert_spoilt(good, "load_trees", G_MAXSIZE, json_null(), "load_trees: found null");
    assert_spoilt(good, "choices", G_MAXSIZE, json_array(), "choices: 0, expected one for each of 5 operators");
    assert_spoilt(good, "lines", G_MAXSIZE, json_array(), "lines: none of all operators");
    assert_spoilt(good, "load_trees.feature", 0, json_integer(40), "expected an integer from 0 to");
    assert_spoilt(good, "operators", G_MAXSIZE, json_pack("[ss]", "Relu", "Conv"), "not in the order");
    assert_spoilt(good, "operators", G_MAXSIZE, json_array(), "0 operators");
    assert_spoilt(good, "peaks", G_MAXSIZE, json_array(), "0 peaks");
    assert_spoilt(good, "quantiles.idle_small", G_MAXSIZE, json_null(), "quantiles.idle_small");
    assert_spoilt(good, "quantiles.unknown", G_MAXSIZE, json_real(-1), "quantiles.unknown");
    assert_spoilt(good, "quantiles.far", G_MAXSIZE, json_null(), "quantiles.far");
    assert_spoilt(good, "reach", G_MAXSIZE, json_real(-1), "reach: found -1");
    assert_spoilt(good, "cold", G_MAXSIZE, json_real(0.5), "cold: found 0.5");
    assert_spoilt(good, "scale", G_MAXSIZE, json_real(0), "scale: found 0");
    assert_spoilt(good, "metrics", G_MAXSIZE, json_array(), "load_features[6]: found \"metric:before:copy\"");
    assert_spoilt(good, "unknown_key", G_MAXSIZE, json_true(), "unknown_key");
    json_auto_t *renamed = json_deep_copy(good), *none = json_object(), *list = json_array();
    json_object_set_new(json_array_get(json_object_get(renamed, "features"), 3), "name", json_string("x"));
    assert_refused(renamed, "features[3]: found \"x\", expected \"width\": of another version");
    for (int is_short = 0; is_short < 2; is_short++)
    {
        json_auto_t *metric = json_deep_copy(good);
        const char *name = is_short ? "copy" : "metric:during:copy";
        json_array_set_new(json_object_get(metric, "metrics"), 0, json_string(name));
        json_object_set_new(json_array_get(json_object_get(metric, "load_features"), 6), "name", json_string(name));
        assert_refused(metric, is_short ? "metrics[0]: found \"copy\", expected \"metric:before:…\"" : "metrics[0]: found");
    }
    assert_refused(none, "not a model of latencies");
    assert_refused(list, "not a model of latencies");
}

/* Spoils a member of the first of a list. */
static void assert_first_spoilt(const json_t *good, const char *list, const char *member, json_t *value,
                                const char *message)
{
    json_auto_t *copy = json_deep_copy(good);
    json_object_set_new(json_array_get(json_object_get(copy, list), 0), member, value);
    assert_refused(copy, message);
}

/* Of 20 columns each where they fit. */
static json_t *points(double reach, gsize n_weights, gsize n_numbers, double number)
{
    json_t *weights = json_array(), *x = json_array();
    for (gsize i = 0; i < n_weights; i++)
        json_array_append_new(weights, json_real(1));
    for (gsize i = 0; i < n_numbers; i++)
        json_array_append_new(x, json_real(number));
    return json_pack("{s:f, s:o, s:o}", "reach", reach, "weights", weights, "x", x);
}

/* Choices, lines and smooth functions that cannot be. */
static void test_hostile_choices(void)
{
    g_autoptr(IfmLatencyModel) model = train(IFM_LEARN_CHOSEN);
    g_autoptr(GError) error = NULL;
    json_auto_t *good = ifm_latency_model_to_json(model), *fine = json_deep_copy(good);
    json_object_set_new(json_array_get(json_object_get(fine, "lines"), 0), "points", points(2, 3, 60, 0.5));
    g_autoptr(IfmLatencyModel) read = ifm_latency_model_from_json(fine, "m.json", &error);
    g_assert_no_error(error);
    assert_first_spoilt(good, "choices", "first", json_string("guess"), "choices[0].first");
    assert_first_spoilt(good, "choices", "name", json_string("Zzz"),
                        "choices[0]: found \"Zzz\", expected \"Conv_Add_Relu\"");
    assert_first_spoilt(good, "choices", "far_second", json_string("guess"), "choices[0].far_second");
    assert_first_spoilt(good, "places", "name", json_string("Zzz"), "places[0]: found \"Zzz\", expected \"Conv_Add_Relu\"");
    assert_first_spoilt(good, "places", "x", json_array(),
                        "places[0].x: 0 numbers, expected 21 for each of up to 240 kernels");
    assert_first_spoilt(good, "places", "x", json_pack("[i]", 1), "places[0].x: 1 numbers");
    assert_spoilt(good, "places", G_MAXSIZE, json_pack("[{s:s,s:i,s:[]}]", "name", "Conv", "n", 1, "x"),
                  "places: 1, expected none or one for each of 5 operators");
    assert_first_spoilt(good, "lines", "flop", json_real(-1), "lines[0]: found -1, expected 0 to 1e+12");
    assert_first_spoilt(good, "lines", "bytes", json_null(), "lines[0]: found nan");
    assert_first_spoilt(good, "lines", "points", points(0, 1, 20, 0), "points: 1 weights and 20 numbers");
    assert_first_spoilt(good, "lines", "points", points(2, 0, 0, 0), "points: 0 weights");
    assert_first_spoilt(good, "lines", "points", points(2, 2, 20, 0), "points: 2 weights and 20 numbers");
    assert_first_spoilt(good, "lines", "points", points(2, 1, 20, 1e300), "points.x[0]: expected a number of up to 1e+09");
    assert_first_spoilt(good, "lines", "points", json_true(), "lines[0].points");
    json_auto_t *none = json_deep_copy(good), *forest = json_deep_copy(good);
    json_object_set_new(none, "idle_trees", json_null());
    json_object_set_new(json_array_get(json_object_get(none, "choices"), 0), "first", json_string("boosted"));
    assert_refused(none, "idle_trees: found null, expected trees");
    json_object_set_new(forest, "idle_forest", json_null());
    json_object_set_new(json_array_get(json_object_get(forest, "choices"), 0), "second", json_string("forest"));
    assert_refused(forest, "idle_forest: found null, expected trees");
}

static void test_files(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-model-XXXXXX", &error), *path = g_build_filename(folder, "m.json", NULL);
    g_autofree char *text = NULL;
    gsize length;
    g_autoptr(IfmLatencyModel) model = train(IFM_LEARN_CHOSEN);
    g_assert_null(ifm_latency_model_read(path, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_assert_true(ifm_latency_model_write(model, path, &error));
    g_assert_true(g_file_get_contents(path, &text, &length, &error));
    const gsize cuts[] = { 0, 1, length / 3, length - 3 };
    for (gsize i = 0; i < G_N_ELEMENTS(cuts); i++)
    {
        g_assert_true(g_file_set_contents(path, text, (gssize)cuts[i], NULL));
        g_assert_null(ifm_latency_model_read(path, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_null(strchr(error->message, '\n'));
        g_assert_nonnull(strstr(error->message, "m.json"));
        g_clear_error(&error);
    }
    g_autofree char *deep = g_strnfill(100000, '[');
    g_assert_true(g_file_set_contents(path, deep, -1, NULL));
    g_assert_null(ifm_latency_model_read(path, &error));
    g_assert_nonnull(strstr(error->message, "nested deeper than"));
    g_clear_error(&error);
    g_assert_false(ifm_latency_model_write(model, "/no/such/folder/m.json", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    remove_tree(folder);
}

/* A shipped model of another version would be refused, and its tests would test nothing. */
static void test_shipped(void)
{
    g_autofree char *folder = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "latency", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    gsize n = 0;
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (!g_str_has_suffix(name, ".json"))
            continue;
        g_autoptr(IfmLatencyModel) model = ifm_latency_model_read(path, &error);
        g_assert_no_error(error);
        n++;
    }
    g_assert_cmpuint(n, >=, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (int method = 0; method < IFM_N_LEARN_METHODS; method++)
    {
        g_autofree char *path = g_strdup_printf("/latency-model/round-trip/%s", ifm_learn_method_words()[method]);
        g_test_add_data_func(path, GINT_TO_POINTER(method), test_round_trip);
    }
    g_test_add_func("/latency-model/warning", test_warning);
    g_test_add_func("/latency-model/hostile", test_hostile);
    g_test_add_func("/latency-model/hostile-choices", test_hostile_choices);
    g_test_add_func("/latency-model/files", test_files);
    g_test_add_func("/latency-model/shipped", test_shipped);
    return g_test_run();
}
