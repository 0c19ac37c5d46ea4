#include "study-fixture.h"
#include "study/study-cluster-private.h"

#include <base/fields.h>

/* --- the shipped studies -------------------------------------------------------------------------------------------- */

static IfmStudy *open_shipped(const char *name)
{
    g_autoptr(GError) error = NULL;
    IfmStudy *study = ifm_study_open(name, &error);
    g_assert_no_error(error);
    return study;
}

/* The sizes in published tables, in the order of their first row. */
static void assert_sizes_of_table(const IfmStudy *study, const char *file, gsize n)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_getenv("IFM_DATA_DIR"), "data", "meteor-lake", file, NULL);
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, &error);
    g_assert_no_error(error);
    gsize nodes_column, edges_column;
    g_assert_true(ifm_csv_column(csv, "nodes", &nodes_column, NULL) && ifm_csv_column(csv, "edges", &edges_column, NULL));
    const GPtrArray *sizes = ifm_study_info(study).sizes;
    g_assert_cmpuint(sizes->len, ==, n);
    for (gsize i = 0; i < n; i++) /* a table begins with one stage on one device at all sizes */
    {
        const IfmStudySize *size = sizes->pdata[i];
        double nodes, edges;
        g_assert_true(ifm_csv_number(csv, i, nodes_column, &nodes, NULL) &&
                      ifm_csv_number(csv, i, edges_column, &edges, NULL));
        g_assert_cmpint(size->nodes, ==, (gint64)nodes);
        g_assert_cmpint(size->edges, ==, (gint64)edges);
        g_assert_cmpstr(size->graph, ==, "uniform");
    }
}

static gsize count_cases(IfmStudy *study, int phase, gboolean links)
{
    const GPtrArray *cases = ifm_study_cases(study);
    gsize n = 0;
    for (guint i = 0; i < cases->len; i++)
    {
        const IfmStudyCase *one = cases->pdata[i];
        n += one->phase == phase && (one->stage == 0) == links;
    }
    return n;
}

static void test_published(void)
{
    g_autoptr(IfmStudy) study = open_shipped("gnn-stages");
    g_assert_cmpstr(ifm_study_info(study).name, ==, "gnn-stages");
    assert_sizes_of_table(study, "protocol-15-sizes.csv", 15);
    g_assert_cmpuint(count_cases(study, 1, FALSE), ==, 15 * 2 * 7);
    g_assert_cmpuint(count_cases(study, 2, FALSE), ==, 15 * 7);
    /* one pair each way in phase 1; with the NPU come two more pairs each way */
    g_assert_cmpuint(count_cases(study, 1, TRUE), ==, 2 * 12);
    g_assert_cmpuint(count_cases(study, 2, TRUE), ==, 4 * 12);
    const IfmProtocol *protocol = ifm_study_info(study).protocol;
    g_assert_cmpuint(protocol->runs, ==, 0);
    g_assert_cmpfloat(protocol->ci_ratio, ==, 0.01);
    g_assert_cmpint(protocol->time_budget_ns, ==, 2500000000);
    g_assert_cmpint(ifm_study_info(study).limits->hang_ns, ==, G_GINT64_CONSTANT(60000000000));
    IfmStageSizes sizes = ifm_study_stage_sizes(study);
    g_assert_cmpint(sizes.features, ==, 500);
    g_assert_cmpint(sizes.hidden, ==, 256);
    static const struct
    {
        const char *alias, *device;
        IfmStudyForm form;
    } expected[] = { { "CPU", "openvino:CPU", IFM_STUDY_DYNAMIC },
                     { "GPU", "openvino:GPU", IFM_STUDY_DYNAMIC },
                     { "NPU", "openvino:NPU", IFM_STUDY_STATIC } };
    const GPtrArray *devices = ifm_study_info(study).devices;
    g_assert_cmpuint(devices->len, ==, G_N_ELEMENTS(expected));
    for (guint i = 0; i < devices->len; i++)
    {
        const IfmStudyDevice *device = devices->pdata[i];
        g_assert_cmpstr(device->alias, ==, expected[i].alias);
        g_assert_cmpstr(device->device, ==, expected[i].device);
        g_assert_cmpint(device->form, ==, expected[i].form);
        g_assert_cmpint(device->phase, ==, expected[i].form == IFM_STUDY_STATIC ? 2 : 1);
        g_assert_false(device->simulated);
    }
}

static void test_large(void)
{
    g_autoptr(IfmStudy) study = open_shipped("gnn-stages-large");
    assert_sizes_of_table(study, "large-55-sizes.csv", 55);
    g_assert_cmpuint(count_cases(study, 1, FALSE) + count_cases(study, 2, FALSE), ==, 1155);
}

static void test_names(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) names = ifm_study_names();
    g_assert_true(g_strv_contains((const char *const *)names, "gnn-stages"));
    g_assert_true(g_strv_contains((const char *const *)names, "gnn-stages-large"));
    g_assert_null(ifm_study_open("gnn-stage", &error));
    assert_says(&error, IFM_ERROR_UNAVAILABLE,
                "no study \"gnn-stage\"; there are cnn-batch, conv-algorithms, gnn-plan, gnn-stages, gnn-stages-large");
    g_assert_null(ifm_study_open("gnn-stage", &error));
    assert_says(&error, IFM_ERROR_UNAVAILABLE, "did you mean \"gnn-stages\"?");
    g_assert_null(ifm_study_open("./nowhere.yaml", &error));
    assert_says(&error, IFM_ERROR_UNAVAILABLE, "./nowhere.yaml: ");
}

/* --- the span ------------------------------------------------------------------------------------------------------- */

#define SUBJECT "subject: {model: graphsage, features: 8, hidden: 4, stages: [1, 3]}\n"

static void test_order(void)
{
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    fixture_init(&fixture);
    g_autoptr(IfmStudy) study =
        open_text(&fixture,
                  "title: order\n" SUBJECT "sizes:\n  - {nodes: 20, edges: [30, 10]}\n  - {nodes: 10, edges: [10]}\n"
                  "devices:\n"
                  "  N: {device: simulated:meteor-lake/NPU}\n"
                  "  B: {device: simulated:ideal/GPU}\n"
                  "  A: {device: simulated:ideal/CPU}\n"
                  "links: {measure: false}\n",
                  &error);
    g_assert_no_error(error);
    g_autoptr(GString) order = g_string_new(NULL);
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
    {
        const IfmStudyCase *one = cases->pdata[i];
        g_string_append_printf(order, "%d:%s%d:%d/%d ", one->phase, one->alias, one->stage, (int)one->nodes,
                               (int)one->edges);
        g_assert_null(one->key);
    }
    g_assert_cmpstr(order->str, ==,
                    "1:B1:20/30 1:A1:20/30 1:B3:20/30 1:A3:20/30 1:B1:20/10 1:A1:20/10 1:B3:20/10 1:A3:20/10 "
                    "1:B1:10/10 1:A1:10/10 1:B3:10/10 1:A3:10/10 "
                    "2:N1:20/30 2:N3:20/30 2:N1:20/10 2:N3:20/10 2:N1:10/10 2:N3:10/10 ");
    g_assert_cmpstr(((const IfmStudyCase *)cases->pdata[3])->title, ==, "A stage 3 REDUCE_SUM, 20 nodes, 30 edges");
    g_assert_true(((const IfmStudyDevice *)ifm_study_info(study).devices->pdata[0])->simulated);
    fixture_clear(&fixture);
}

/* F = 8, H = 4, 20 nodes, 30 edges: x 640, edge_index 480, x_j 960, m 480, s a y h 320, c 80. */
static void test_links(void)
{
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    fixture_init(&fixture);
    g_autoptr(IfmStudy) study = open_text(&fixture,
                                          "title: links\n" SUBJECT "sizes: [{nodes: 20, edges: [30]}]\n"
                                          "devices:\n"
                                          "  A: {device: simulated:ideal/CPU}\n"
                                          "  Same: {device: simulated:ideal/CPU}\n"
                                          "  N: {device: simulated:meteor-lake/NPU}\n",
                                          &error);
    g_assert_no_error(error);
    static const int bytes[] = { 80, 320, 480, 640, 960 };
    static const char *const pairs[][2] = { { "A", "N" }, { "Same", "N" }, { "N", "A" }, { "N", "Same" } };
    const GPtrArray *cases = ifm_study_cases(study);
    guint first = 2 * 2, n = G_N_ELEMENTS(pairs) * G_N_ELEMENTS(bytes); /* after phase 1, before the NPU's stages */
    g_assert_cmpuint(cases->len, ==, first + n + 2);
    for (guint i = 0; i < n; i++)
    {
        const IfmStudyCase *one = cases->pdata[first + i];
        g_assert_cmpint(one->phase, ==, 2);
        g_assert_cmpint(one->stage, ==, 0);
        g_assert_cmpstr(one->alias, ==, pairs[i / G_N_ELEMENTS(bytes)][0]);
        g_assert_cmpstr(one->to, ==, pairs[i / G_N_ELEMENTS(bytes)][1]);
        g_assert_cmpint(one->bytes, ==, bytes[i % G_N_ELEMENTS(bytes)]);
    }
    g_assert_cmpstr(((const IfmStudyCase *)cases->pdata[first])->title, ==, "A > N, 80 bytes");
    fixture_clear(&fixture);
}

/* Many sizes: 12 of them, the least and the largest among them, ascending, each step about as wide as the others. */
static void test_links_spread(void)
{
    g_autoptr(IfmStudy) study = open_shipped("gnn-stages-large");
    const GPtrArray *cases = ifm_study_cases(study);
    GArray *bytes = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < cases->len; i++)
    {
        const IfmStudyCase *one = cases->pdata[i];
        if (one->stage == 0 && g_str_equal(one->alias, "CPU") && g_str_equal(one->to, "NPU"))
            g_array_append_val(bytes, one->bytes);
    }
    g_assert_cmpuint(bytes->len, ==, 12);
    g_assert_cmpint(g_array_index(bytes, gint64, 0), ==, 1000 * 4);
    g_assert_cmpint(g_array_index(bytes, gint64, 11), ==, 128 << 20);
    for (guint i = 1; i < bytes->len; i++)
    {
        double ratio = (double)g_array_index(bytes, gint64, i) / (double)g_array_index(bytes, gint64, i - 1);
        g_assert_cmpfloat(ratio, >, 1);
        g_assert_cmpfloat(ratio, <, 10); /* evenly: 750,000^(1/11) = 3.4 */
    }
    g_array_unref(bytes);
}

static void test_set_device(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStudy) study = open_shipped("gnn-stages");
    g_assert_true(ifm_study_set_device(study, "CPU=openvino:CPU@0", &error));
    g_assert_true(ifm_study_set_device(study, "ORT=onnxruntime:CPU@1", &error));
    g_assert_true(ifm_study_set_device(study, "NPU=simulated:meteor-lake/GPU", &error));
    g_assert_true(ifm_study_set_device(study, "N2=simulated:meteor-lake/NPU", &error));
    g_assert_no_error(error);
    const GPtrArray *devices = ifm_study_info(study).devices;
    g_assert_cmpuint(devices->len, ==, 5);
    const IfmStudyDevice *cpu = devices->pdata[0], *npu = devices->pdata[2], *ort = devices->pdata[3],
                         *second = devices->pdata[4];
    g_assert_cmpstr(cpu->device, ==, "openvino:CPU@0");
    g_assert_cmpint(npu->form, ==, IFM_STUDY_STATIC); /* as the file says of that alias */
    g_assert_true(npu->simulated);
    g_assert_cmpint(ort->form, ==, IFM_STUDY_DYNAMIC);
    g_assert_cmpint(second->form, ==, IFM_STUDY_STATIC);
    g_assert_cmpuint(count_cases(study, 1, FALSE), ==, 15 * 3 * 7);
    g_assert_cmpuint(count_cases(study, 2, FALSE), ==, 15 * 2 * 7);
    g_assert_false(ifm_study_set_device(study, "openvino:CPU", &error));
    assert_says(&error, IFM_ERROR_INVALID, "is not ALIAS=DEVICE");
    g_assert_false(ifm_study_set_device(study, "A,B=openvino:CPU", &error));
    assert_says(&error, IFM_ERROR_INVALID, "\"A,B\" is no alias");
    g_assert_false(ifm_study_set_device(study, "CPU=openvin:CPU", &error));
    assert_says(&error, IFM_ERROR_INVALID, "did you mean \"openvino\"?");
    g_assert_false(ifm_study_set_device(study, "CPU=openvino", &error));
    assert_says(&error, IFM_ERROR_INVALID, "CPU: ");
}

/* --- real graphs ---------------------------------------------------------------------------------------------------- */

static void test_real_graphs(void)
{
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    fixture_init(&fixture);
    g_autofree char *edges = write_file(&fixture, "ring.txt", "# Nodes: 5 Edges: 4\n0 1\n1 2\n2 3\n3 0\n");
    g_autoptr(IfmStudy) study = open_text(&fixture,
                                          "title: real\n" SUBJECT "sizes: [{nodes: 10, edges: [20]}]\n"
                                          "graphs: [{path: ring.txt, padded: true}]\n"
                                          "devices: {A: {device: simulated:ideal/CPU}}\n",
                                          &error);
    g_assert_no_error(error);
    const IfmStudySize *size = ifm_study_info(study).sizes->pdata[1];
    g_assert_cmpint(size->nodes, ==, 5);
    g_assert_cmpint(size->edges, ==, 4);
    g_assert_cmpstr(size->graph, ==, "ring.txt");
    g_unlink(edges);
    g_free(edges);
    edges = write_file(&fixture, "ring.txt", "0 1\n1\n");
    g_assert_null(open_text(&fixture,
                            "title: real\n" SUBJECT "graphs: [{path: ring.txt}]\n"
                            "devices: {A: {device: simulated:ideal/CPU}}\n",
                            &error));
    assert_says(&error, IFM_ERROR_INVALID, "ring.txt:2: ");
    fixture_clear(&fixture);
}

/* --- what is wrong is told with its line ------------------------------------------------------------------------------ */

#define DEVICES "devices: {A: {device: simulated:ideal/CPU}}\n"
#define SIZES "sizes: [{nodes: 20, edges: [30]}]\n"

static const struct
{
    const char *name, *text, *says;
} mistakes[] = {
    { "key", "title: t\n" SUBJECT SIZES DEVICES "protocl: {runs: 5}\n",
      "small.yaml:5: unknown key \"protocl\"; did you mean \"protocol\"?" },
    { "inner-key", "title: t\n" SUBJECT SIZES DEVICES "protocol:\n  warmup: 1\n  run: 5\n",
      "small.yaml:7: unknown key \"run\"; did you mean \"runs\"?" },
    { "type", "title: t\n" SUBJECT "sizes:\n  - nodes: many\n    edges: [3]\n" DEVICES, "small.yaml:4: " },
    { "no-sizes", "title: t\n" SUBJECT DEVICES, "small.yaml:1: spans no case: neither \"sizes\" nor \"graphs\"" },
    { "no-edges", "title: t\n" SUBJECT "sizes:\n  - {nodes: 5, edges: []}\n" DEVICES,
      "small.yaml:4: edges is an empty list; it should have an entry" },
    { "empty-stages", "title: t\nsubject: {model: graphsage, stages: []}\n" SIZES DEVICES,
      "small.yaml:2: stages is an empty list; it should have an entry, or not stand here at all" },
    { "many-edges", "title: t\n" SUBJECT "sizes:\n  - {nodes: 5, edges: [1000000000000]}\n" DEVICES,
      "small.yaml:4: edges is 1000000000000; it should be between 1 and 400000000" },
    { "percent", "title: t\n" SUBJECT SIZES DEVICES "protocol: {ci: 101 %}\n",
      "small.yaml:5: ci is \"101 %\"; it should be a percentage from 0% to 100%, such as 1%, or a fraction below 1" },
    { "no-percent", "title: t\n" SUBJECT SIZES DEVICES "protocol: {runs: 5 %}\n", "it should be a whole number" },
    { "no-devices", "title: t\n" SUBJECT SIZES "devices: {}\n", "spans no case: \"devices\" has no entry" },
    { "no-stages", "title: t\nsubject: {model: graphsage, stages: [8]}\n" SIZES DEVICES,
      "small.yaml:2: stages: there is no stage 8; graphsage has stages 1 to 7" },
    { "stage-twice", "title: t\nsubject: {model: graphsage, stages: [1, 1]}\n" SIZES DEVICES,
      "small.yaml:2: stages: 1 is listed twice" },
    { "model", "title: t\nsubject: {model: graphsag}\n" SIZES DEVICES, "small.yaml:2: " },
    { "twice", "title: t\n" SUBJECT "sizes:\n  - {nodes: 9, edges: [5, 6]}\n  - {nodes: 9, edges: [6]}\n" DEVICES,
      "small.yaml:5: 9 nodes, 6 edges: this size is there already, at line 4" },
    { "edges", "title: t\n" SUBJECT "sizes: [{nodes: 3, edges: [6, 7]}]\n" DEVICES,
      "small.yaml:3: edges: 3 nodes have at most 6 distinct edges, not 7" },
    { "one-node", "title: t\n" SUBJECT "sizes: [{nodes: 1, edges: [1]}]\n" DEVICES, "1 nodes have at most 0" },
    { "device", "title: t\n" SUBJECT SIZES "devices:\n  A: {device: openvino}\n", "small.yaml:5: A: " },
    { "engine", "title: t\n" SUBJECT SIZES "devices:\n  A: {device: simulatd:ideal/CPU}\n",
      "small.yaml:5: A: unknown engine \"simulatd\"" },
    { "alias", "title: t\n" SUBJECT SIZES "devices:\n  \"A,1\": {device: openvino:CPU}\n",
      "small.yaml:5: \"A,1\" is no alias" },
    { "form", "title: t\n" SUBJECT SIZES "devices:\n  A: {device: openvino:CPU, form: statc}\n", "small.yaml:5: " },
    { "ci", "title: t\n" SUBJECT SIZES DEVICES "protocol:\n  ci: 1 x\n", "small.yaml:6: " },
    { "least", "title: t\n" SUBJECT SIZES DEVICES "protocol: {min_runs: 30, max_runs: 20}\n",
      "small.yaml:5: min_runs: 30 is more than max_runs, 20" },
    { "name", "title: t\nname: a b\n" SUBJECT SIZES DEVICES, "small.yaml:2: name: \"a b\" is none" },
    { "graph", "title: t\n" SUBJECT "graphs: [{path: nowhere}]\n" DEVICES, "nowhere" },
};

static void test_mistake(gconstpointer data)
{
    const gsize i = GPOINTER_TO_SIZE(data);
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    fixture_init(&fixture);
    g_assert_null(open_text(&fixture, mistakes[i].text, &error));
    assert_says(&error, g_str_equal(mistakes[i].name, "graph") ? IFM_ERROR_UNAVAILABLE : IFM_ERROR_INVALID,
                mistakes[i].says);
    fixture_clear(&fixture);
}

/* The documentation's tables of keys are those that studies and clusters' files are read by. */
static void test_documented(void)
{
    static const char *const pages[] = { "studies.md", "cluster.md" };
    char *(*const describe[])(void) = { ifm_study_describe, ifm_cluster_describe };
    for (gsize i = 0; i < G_N_ELEMENTS(pages); i++)
    {
        g_autofree char *path = g_build_filename(g_getenv("IFM_DATA_DIR"), "docs", pages[i], NULL);
        g_autofree char *page = NULL, *keys = describe[i](), *block = g_strdup_printf("```text\n%s```\n", keys);
        g_assert_true(g_file_get_contents(path, &page, NULL, NULL));
        if (strstr(page, block) == NULL)
            g_error("docs/%s should hold:\n%s", pages[i], block);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/study/shipped/published", test_published);
    g_test_add_func("/study/shipped/large", test_large);
    g_test_add_func("/study/shipped/names", test_names);
    g_test_add_func("/study/span/order", test_order);
    g_test_add_func("/study/span/links", test_links);
    g_test_add_func("/study/span/links-spread", test_links_spread);
    g_test_add_func("/study/set-device", test_set_device);
    g_test_add_func("/study/real-graphs", test_real_graphs);
    for (gsize i = 0; i < G_N_ELEMENTS(mistakes); i++)
    {
        g_autofree char *name = g_strdup_printf("/study/mistake/%s", mistakes[i].name);
        g_test_add_data_func(name, GSIZE_TO_POINTER(i), test_mistake);
    }
    g_test_add_func("/study/documented", test_documented);
    return g_test_run();
}
