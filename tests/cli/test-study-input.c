#include "build-folders.h"
#include "cli/study-harness.h"

/* What bad input gets from `inferometer study`: one line, the right exit status, nothing changed; and what imports take. */

#define CSV_HEAD "device,stage,nodes,edges,latency_ms,std_ms,compute_ms,transfer_ms,flag\n"

/* Nothing was made but what the test itself put there. */
static void assert_untouched(const Bench *bench)
{
    g_assert_false(is_there(bench, "out"));
}

/* --- studies ---------------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *yaml, *part;
} bad_studies[] = {
    { SMALL_HEAD "sises:\n  - {nodes: 5, edges: [6]}\n" SMALL_DEVICES SMALL_REST,
      "bad.yaml:3: unknown key \"sises\"; did you mean \"sizes\"?" },
    { SMALL_HEAD "sizes:\n  - {nodes: 5, edgse: [6]}\n" SMALL_DEVICES SMALL_REST, "bad.yaml:4: " },
    { SMALL_HEAD "sizes:\n  - {nodes: five, edges: [6]}\n" SMALL_DEVICES SMALL_REST, "bad.yaml:4: " },
    { SMALL_HEAD "sizes:\n  - {nodes: 5, edges: 6}\n" SMALL_DEVICES SMALL_REST, "bad.yaml:4: " },
    { SMALL_HEAD "sizes: []\n" SMALL_DEVICES SMALL_REST, "spans no case" },
    { SMALL_HEAD SMALL_SIZES "devices: {}\n" SMALL_REST, "spans no case" },
    { SMALL_HEAD "sizes:\n  - {nodes: 5, edges: []}\n" SMALL_DEVICES SMALL_REST, "bad.yaml:4: " },
    { SMALL_HEAD "sizes:\n  - {nodes: 5, edges: [6, 6]}\n" SMALL_DEVICES SMALL_REST, "bad.yaml:4: " },
    { SMALL_HEAD "sizes:\n  - {nodes: 5, edges: [21]}\n" SMALL_DEVICES SMALL_REST, "bad.yaml:4: " },
    { SMALL_HEAD SMALL_SIZES "devices:\n  CPU: {device: \"simulated:lab/FIXED@\"}\n" SMALL_REST, "bad.yaml:7: " },
    { SMALL_HEAD SMALL_SIZES "devices:\n  CPU: {device: \"opnvino:CPU\"}\n" SMALL_REST, "openvino" },
    { SMALL_HEAD SMALL_SIZES SMALL_DEVICES "protocol: {warmup: 2, runs: ten}\n", "bad.yaml:10: " },
    { "title: No subject\n" SMALL_SIZES SMALL_DEVICES, "subject" },
    { "subject: {model: graphsaeg}\ntitle: x\n" SMALL_SIZES SMALL_DEVICES, "graphsage" },
    { SMALL_HEAD "graphs:\n  - {path: outside.txt}\n" SMALL_DEVICES SMALL_REST, "outside.txt:3: " },
    { SMALL_HEAD "graphs:\n  - {path: cut.txt}\n" SMALL_DEVICES SMALL_REST, "cut.txt:2: " },
    { SMALL_HEAD "graphs:\n  - {path: cut.mtx}\n" SMALL_DEVICES SMALL_REST, "cut.mtx" },
    { "title: [", "bad.yaml:" },
    { "", "bad.yaml" },
};

static void test_bad_studies(Bench *bench, gconstpointer data)
{
    write_text(bench, "outside.txt", "# Nodes: 3 Edges: 2\n0 1\n1 3\n");
    write_text(bench, "cut.txt", "0 1\n1\n");
    write_text(bench, "cut.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n");
    for (gsize i = 0; i < G_N_ELEMENTS(bad_studies); i++)
    {
        g_auto(Ended) ended = { 0 };
        write_text(bench, "bad.yaml", bad_studies[i].yaml);
        run_line(bench, "study run bad.yaml", &ended);
        assert_complaint(&ended, 3, bad_studies[i].part);
        g_assert_cmpstr(ended.out, ==, "");
        assert_untouched(bench);
    }
}

static void test_bad_lines(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        int status;
        const char *part;
    } known[] = {
        { "study run small.yaml -d CPU", 3, "is not ALIAS=DEVICE" },
        { "study run small.yaml -d =openvino:CPU", 3, "is not ALIAS=DEVICE" },
        { "study run small.yaml -d C/U=openvino:CPU", 3, "is no alias" },
        { "study run small.yaml -d CPU=opnvino:CPU", 3, "openvino" },
        { "study run small.yaml -d CPU=openvino", 3, "openvino" },
        { "study run nowhere.yaml", 4, "inferometer: nowhere.yaml: cannot be read: No such file or directory\n" },
        { "study run small.yaml --output=", 2, "--output: \"\" is no folder" },
        { "study run small.yaml -o link", 4, "link: is a link to what is not there" },
        { "study run small.yaml --ci 1", 2, "such as 0.01" },
        { "zoo export matmul m=8 m=9 -o m.onnx", 3, "'m' is given twice" },
        { "zoo export matmul,m=8 m=9 -o m.onnx", 3, "'m' is given twice" },
        { "study run gnn-stagse", 4, "gnn-stages" },
        { "study run small.yaml -q -d CPU=simulated:lab/FIXD",
          3, /* else a note, that the study names another, is before it */
          "CPU=simulated:lab/FIXD: simulated:lab/FIXD: no such device" },
        { "study run small.yaml -d X=simulated:lab/FIXD", 3, "no such device (there are: " },
        { "study run ./", 3, "./: is a folder; expected a study's name or its YAML file" },
        { "study run ./ --only export", 3, "is a folder" },
        { "study run /dev/null", 3, "/dev/null:1: the file is empty" },
        { "study run conv-algorithms --model resnet55", 2, "--model: zoo: there is no model 'resnet55'; did you mean" },
        { "study run conv-algorithms --model plan.onnx", 2, "/plan.onnx: no such file; did you mean \"plain.onnx\"?" },
        { "study run conv-algorithms --model plain.onnx", 2, "/plain.onnx: has no convolution" },
        { "study run conv-algorithms --model ./plain", 2, "/plain: no such file" },
        { "study run conv-algorithms --model vit", 2, "--model: \"vit\" is no convolutional network of the zoo" },
        { "study run conv-algorithms --algorithm winnograd", 2,
          "--algorithm: \"winnograd\" is not a convolution algorithm; did you mean \"winograd\"?" },
        { "study run conv-algorithms --algorithm best --algorithm best", 2, "--algorithm: \"best\" is listed twice" },
        { "study run conv-algorithms --model alexnet --max-size 50", 2,
          "--max-size: alexnet takes images of 64 or more, not 50" },
        { "study run small.yaml --algorithm best", 2, "unknown key \"algorithms\"" },
        { "study run gnn-stages --model resnet50", 2, "unknown key \"models\"" },
        { "study export small.yaml", 4, "out/small/store.db" },
        { "study status nothing", 4, "nothing" },
        { "study import nowhere.csv -o out/x", 4, "nowhere.csv" },
    };
    g_autofree char *link = bench_path(bench, "link");
    write_text(bench, "small.yaml", SMALL);
    g_auto(Ended) exported = { 0 };
    run_line(bench, "zoo export matmul -q -o plain.onnx", &exported);
    assert_status(&exported, 0);
    g_assert_cmpint(symlink("not-there", link), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        run_line(bench, known[i].line, &ended);
        assert_complaint(&ended, known[i].status, known[i].part);
        g_assert_cmpstr(ended.out, ==, "");
        assert_untouched(bench);
    }
}

#define POINTS "title: Points\nkind: profile\nverify: false\ndevices:\n  A: {device: \"simulated:lab/FIXED\"}\nmodels: "
#define UNDER_LOAD "title: Load\nkind: kernels-under-load\ndevices:\n  A: {device: \"onnxruntime:CPU@0\"}\nmodels: "

/* Models, sizes and inputs that are wrong are input that is wrong, not a device that is missing. */
static void test_bad_models(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *yaml, *part;
    } known[] = {
        { POINTS "[\"resnet18,size=0\"]\n", "zoo: resnet18: size=0 is not a number from 1" },
        { POINTS "[\"resnet18\"]\ndims: [{name: siez, sizes: [3]}]\n", "no input has a free dimension 'siez'" },
        { POINTS "[\"resnet18\"]\ninputs: [nosuch=1]\n", "resnet18 has no input 'nosuch'" },
        { UNDER_LOAD "[\"resnet18,size=0\"]\n", "zoo: resnet18: size=0 is not a number from 1" },
        { UNDER_LOAD "[\"resnet18\"]\ndims: [nosuch=3]\n", "no input has a free dimension 'nosuch'" },
        { UNDER_LOAD "[\"resnet18\"]\ndims: [\"N=x\"]\n", "\"N=x\" is not NAME=SIZE" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        if (g_str_has_prefix(known[i].yaml, UNDER_LOAD) && !bench_has_device(bench, "onnxruntime:CPU@0", ""))
            continue;
        write_text(bench, "bad.yaml", known[i].yaml);
        g_autofree char *line = g_strdup_printf("study run bad.yaml -q -o bad-%zu", i);
        run_line(bench, line, &ended);
        assert_complaint(&ended, 3, known[i].part);
    }
}

/* --- stores ----------------------------------------------------------------------------------------------------------- */

/* A store that is another study's, or no study's at all, is left as it is by whatever is asked. */
static void test_other_store(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    write_text(bench, "other.yaml", SMALL_HEAD SMALL_SIZES SMALL_DEVICES SMALL_REST);
    write_text(bench, "wider.yaml",
               "name: small\ntitle: x\nsubject: {model: graphsage, features: 4, hidden: 5}\n" SMALL_SIZES SMALL_DEVICES);
    run_line(bench, "study run small.yaml -q -o kept", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile zoo:matmul,m=8,k=8,n=8 -q --runs 3 --no-nodes -d simulated:lab/FIXED -o profiled", &ended);
    assert_status(&ended, 0);
    run_shell(bench, "sh", "find kept profiled -type f ! -name '*-shm' ! -name '*-wal' | sort | xargs sha256sum", &ended);
    g_autofree char *before = g_strdup(ended.out);
    static const char *const lines[] = {
        "study run other.yaml -o kept",
        "study run other.yaml -o kept --only export",
        "study run other.yaml -o kept --only measure",
        "study run other.yaml -o kept --only analyze",
        "study status other.yaml -o kept",
        "study run wider.yaml -o kept",
        "study lookup wider.yaml -o kept -n 5 -e 6",
        "study export other.yaml -o kept",
        "study run small.yaml -o profiled",
        "study export small.yaml -o profiled",
        "study status profiled",
        "study import table.csv --name other -o kept",
        "study import table.csv -o profiled",
    };
    write_text(bench, "table.csv", CSV_HEAD "CPU,1,10,20,1.5,,,,\n");
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        run_line(bench, lines[i], &ended);
        assert_complaint(&ended, 3, "store.db");
        g_assert_cmpstr(ended.out, ==, "");
        run_shell(bench, "sh", "find kept profiled -type f ! -name '*-shm' ! -name '*-wal' | sort | xargs sha256sum",
                  &ended);
        g_assert_cmpstr(ended.out, ==, before);
    }
}

/* What differs is said, in words. */
static void test_difference(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run small.yaml -q", &ended);
    assert_status(&ended, 0);
    write_text(bench, "small.yaml",
               "title: x\nsubject: {model: graphsage, features: 4, hidden: 5}\n" SMALL_SIZES SMALL_DEVICES);
    run_line(bench, "study run small.yaml -q", &ended);
    assert_complaint(&ended, 3, "is the store of a study \"small\" whose model has hidden 3, not 5\n");
    write_text(bench, "small.yaml", SMALL "graph: {kind: power-law, seed: 7}\n");
    run_line(bench, "study status small.yaml", &ended);
    assert_complaint(&ended, 3, "whose graphs have kind \"uniform\", not \"power-law\"; seed 1, not 7\n");
    run_line(bench, "study run out/small", &ended);
    assert_complaint(&ended, 3, "is a folder with results of study \"small\"; expected its YAML file");
}

/* --- imports ---------------------------------------------------------------------------------------------------------- */

#define JSON_ROW(total)                                                                                                    \
    "{\"1000,2000,CPU,1\": {\"compute_time_ms\": null, \"transfer_time_ms\": null, " total "\"std_ms\": 1}}"

static const struct
{
    const char *name, *text, *part;
} bad_tables[] = {
    { "t.csv", CSV_HEAD "CPU,1,10,20,0,,,,\n", "t.csv:2: " },
    { "t.csv", CSV_HEAD "CPU,1,10,20,1.5,,,,\nCPU,2,10,20,-1.5,,,,\n", "t.csv:3: " },
    { "t.csv", CSV_HEAD "CPU,1,10,20,,,,,\n", "t.csv:2: " },
    { "t.csv", CSV_HEAD "CPU,1,10,20,nan,,,,\n", "t.csv:2: " },
    { "t.csv", CSV_HEAD "CPU,1,10,x,1.5,,,,\n", "t.csv:2: " },
    { "t.csv", CSV_HEAD "CPU,1,10\n", "t.csv:2" },
    { "t.csv", "device,stage,nodes,edges\nCPU,1,10,20\n", "latency_ms" },
    { "t.csv", CSV_HEAD, "t.csv" },
    { "t.csv", "", "t.csv" },
    { "lookup_table.json", JSON_ROW(""), "1000,2000,CPU,1" },
    { "lookup_table.json", JSON_ROW("\"total_time_ms\": null, "), "1000,2000,CPU,1" },
    { "lookup_table.json", JSON_ROW("\"total_time_ms\": 0, "), "1000,2000,CPU,1" },
    { "lookup_table.json", JSON_ROW("\"total_time_ms\": -3, "), "1000,2000,CPU,1" },
    { "lookup_table.json", JSON_ROW("\"total_time_ms\": \"3\", "), "1000,2000,CPU,1" },
    { "lookup_table.json", "{\"1000,2000,CPU\": {\"total_time_ms\": 3}}", "1000,2000,CPU" },
    { "lookup_table.json", "{\"1000,2000,CPU,1\": ", "lookup_table.json:1:" },
    { "lookup_table.json", "{}", "lookup_table.json" },
    { "bandwidth_table.json", "{\"CPU_stage1\": 5}", "name lookup_table.json" },
    { "t.csv", CSV_HEAD "CPU,99,10,20,1,,,,\n", "from 1 to 7" },
    { "t.csv", CSV_HEAD "CPU,1,10,20,1e300,,,,\n", "which is no latency" },
    { "t.csv", CSV_HEAD "CPU,1,10,20,1,,5,9,\n", "less than compute and transfer together, 14" },
};

static void test_bad_imports(Bench *bench, gconstpointer data)
{
    for (gsize i = 0; i < G_N_ELEMENTS(bad_tables); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf("study import %s --name bad", bad_tables[i].name);
        write_text(bench, bad_tables[i].name, bad_tables[i].text);
        run_line(bench, line, &ended);
        assert_complaint(&ended, 3, bad_tables[i].part);
        g_assert_cmpstr(ended.out, ==, "");
        assert_untouched(bench);
    }
}

/* The laptop's published table: what is flagged in it (the NPU once it was lost, and a stage that never ran) is a failure.
 */
static void test_laptop(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *table = g_build_filename(IFM_SOURCE_DIR, "data", "meteor-lake", "large-55-sizes.csv", NULL);
    g_autofree char *line = g_strdup_printf("study import %s --name laptop", table), *text = NULL;
    guint n_rows = 0, n_flagged = 0;
    g_assert_true(g_file_get_contents(table, &text, NULL, NULL));
    g_auto(GStrv) rows = g_strsplit(g_strchomp(text), "\n", -1);
    for (char **row = rows + 1; *row != NULL; row++)
    {
        g_strchomp(*row); /* a carriage return, where there is one */
        n_rows++;
        n_flagged += !g_str_has_suffix(*row, ",");
    }
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    g_autofree char *head = g_strdup_printf("laptop · %u rows\nThe tables have %u latencies and %u failures\n", n_rows,
                                            n_rows - n_flagged, n_flagged);
    g_assert_true(g_str_has_prefix(ended.out, head));
    check_golden("study-import.txt", ended.out);
    g_assert_cmpint(query(bench, "out/laptop/store.db", "SELECT COUNT(*) FROM measurement WHERE outcome = 'ok'"), ==,
                    n_rows - n_flagged);
    run_line(bench, "study status laptop", &ended);
    assert_status(&ended, 0);
    /* Its exports can be taken in again, and give the same latencies. */
    run_line(bench, "study export laptop", &ended);
    assert_status(&ended, 0);
    run_line(bench, "study import -q out/laptop/lookup_table.json -o again", &ended);
    assert_status(&ended, 0);
    run_line(bench, "study export again", &ended);
    assert_status(&ended, 0);
    json_auto_t *first = load_json(bench, "out/laptop/lookup_table.json");
    json_auto_t *second = load_json(bench, "again/lookup_table.json");
    json_t *row;
    const char *key;
    guint n_same = 0;
    json_object_foreach(first, key, row)
    {
        if (*key == '_')
            continue;
        n_same += json_number_value(json_object_get(row, "total_time_ms")) ==
                  json_number_value(json_object_get(json_object_get(second, key), "total_time_ms"));
    }
    g_assert_cmpuint(n_same, ==, n_rows - n_flagged);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study-input/studies", Bench, NULL, bench_init, test_bad_studies, bench_clear);
    g_test_add("/study-input/lines", Bench, NULL, bench_init, test_bad_lines, bench_clear);
    g_test_add("/study-input/models", Bench, NULL, bench_init, test_bad_models, bench_clear);
    g_test_add("/study-input/other-store", Bench, NULL, bench_init, test_other_store, bench_clear);
    g_test_add("/study-input/difference", Bench, NULL, bench_init, test_difference, bench_clear);
    g_test_add("/study-input/tables", Bench, NULL, bench_init, test_bad_imports, bench_clear);
    g_test_add("/study-input/laptop", Bench, NULL, bench_init, test_laptop, bench_clear);
    return g_test_run();
}
