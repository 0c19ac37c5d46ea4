#pragma once
#include "build-folders.h"
#include "cli/harness.h"

/* What the tests of layers told by the runtime's own graph share: a profile of them, and what it has to say. */

static inline double number_at(const json_t *json, const char *key)
{
    const json_t *found = json_object_get(json, key);
    g_assert_true(json_is_number(found));
    return json_number_value(found);
}

static inline const json_t *first_case(const json_t *json)
{
    return json_array_get(json_object_get(json, "cases"), 0);
}

/* profile_layers: The fewest runs there are: what is told of the layers is no matter of time.
 * @before: shell, such as a limit    Returns: (transfer full) the document of a profile of @model. */
static inline json_t *profile_layers(const Bench *bench, const char *before, const char *model)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *script = g_strdup_printf("%s\"$INFEROMETER\" profile %s --profile layers,flops -q --runs 1 --warmup 0 "
                                              "--no-peak --no-verify -o o --json -",
                                              before, model);
    run_shell(bench, "sh", script, &ended);
    assert_status(&ended, 0);
    return parse_output(&ended);
}

/* That the runtime's own graph told every layer, and as many MACs as the model has. */
static inline void check_reported_by_graph(const json_t *json)
{
    const json_t *layers = json_object_get(first_case(json), "layers"), *row;
    size_t i;
    double macs = 0;
    g_assert_cmpstr(json_string_value(json_object_get(layers, "mapped_by")), ==, "the graph as the runtime optimised it");
    g_assert_true(json_is_null(json_object_get(layers, "why_names")));
    g_assert_cmpfloat(number_at(layers, "n_by_names"), ==, 0);
    json_array_foreach(json_object_get(layers, "rows"), i, row)
    {
        if (!json_is_number(json_object_get(row, "macs")))
            g_test_message("%s: not known", json_string_value(json_object_get(row, "name")));
        macs += number_at(row, "macs");
    }
    g_assert_cmpfloat(number_at(layers, "n_unknown"), ==, 0);
    g_assert_cmpfloat(macs, >=, number_at(json_object_get(json, "flops"), "total_macs"));
}

/* Of the models of the onnx wheel, as exporters wrote them, one: counted whole, and hardly any of its time unknown. */
static inline void check_light(Bench *bench, gconstpointer name)
{
    g_autofree char *file = g_strdup_printf("light_%s.onnx", (const char *)name);
    g_autofree char *folder = g_build_filename(IFM_DEPS_DIR, "onnx", "light", NULL),
                    *path = g_build_filename(folder, file, NULL);
    if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
    {
        g_test_skip("the onnx wheel's light models are unavailable");
        return;
    }
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    json_auto_t *json = profile_layers(bench, "", path);
    const json_t *coverage = json_object_get(json_object_get(json, "flops"), "coverage");
    const json_t *layers = json_object_get(first_case(json), "layers");
    g_test_message("%s: %g of the time unknown", (const char *)name, number_at(layers, "unknown_ratio"));
    g_assert_cmpfloat(number_at(coverage, "nodes_covered"), ==, number_at(coverage, "nodes"));
    g_assert_cmpfloat(number_at(coverage, "mac_nodes_covered"), ==, number_at(coverage, "mac_nodes"));
    g_assert_cmpfloat(number_at(coverage, "mac_nodes"), >, 0);
    g_assert_cmpfloat(number_at(layers, "unknown_ratio"), <, 0.01);
    if (g_str_equal(name, "vgg19")) /* half a gigabyte of weights, of which the saved graph has nothing */
        check_reported_by_graph(json);
}

static inline void add_light(const char *name)
{
    g_autofree char *test = g_strconcat("/profile-graph/light/", name, NULL);
    g_test_add(test, Bench, name, bench_init, check_light, bench_clear);
}
