#include "cli/study-harness.h"

/* What `inferometer study` does with a small study on simulated devices: its files, its options, its steps. */

#define RUN "study run small.yaml -q"
#define STORE "out/small/store.db"

static const char *const tables[] = {
    "lookup_table.json",
    "bandwidth_table.json",
    "raw_measurements.json",
    "checkpoint_cpugpu.json",
    "checkpoint_npu.json",
    "profiling_report.txt",
    "stages.csv",
};

static void bench_init_small(Bench *bench, gconstpointer data)
{
    bench_init(bench, data);
    write_text(bench, "small.yaml", SMALL);
}

static gboolean has_table(const Bench *bench, const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return is_there(bench, path);
}

/* The rows of one device in raw_measurements.json; @measured: those with samples. */
static guint count_rows(const json_t *raw, const char *alias, guint *measured)
{
    guint n = 0;
    const char *key;
    json_t *row;
    *measured = 0;
    json_object_foreach((json_t *)raw, key, row)
    {
        g_auto(GStrv) words = g_strsplit(key, ",", -1);
        if (*key == '_' || g_strcmp0(words[2], alias) != 0)
            continue;
        n++;
        *measured += json_array_size(json_object_get(row, "samples_ms")) > 0;
    }
    return n;
}

/* run.csv is the study's own @table, and run.json has as many rows under @key, beside the format and the summary. */
static void assert_as_written(const Bench *bench, const char *table, const char *key)
{
    g_autofree char *csv = read_text(bench, "run.csv"), *own = read_text(bench, table);
    g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1);
    json_auto_t *json = load_json(bench, "run.json");
    g_assert_cmpstr(csv, ==, own);
    g_assert_cmpuint(json_array_size(json_object_get(json, key)), ==, g_strv_length(lines) - 2);
    g_assert_nonnull(ifm_member_text(json, "inferometer.format"));
    g_assert_nonnull(ifm_member_text(json, "summary.verdict"));
}

/* --- the whole of it -------------------------------------------------------------------------------------------------- */

static void test_run(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 }, again = { 0 };
    run_line(bench, "study run small.yaml --json run.json --csv run.csv", &ended);
    assert_status(&ended, 0);
    assert_as_written(bench, "out/small/stages.csv", "stages");
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        g_assert_true(has_table(bench, "out/small", tables[i]));
    assert_once_each(bench, STORE, SMALL_N_CASES);
    json_auto_t *raw = load_json(bench, "out/small/raw_measurements.json");
    static const char *const aliases[] = { "CPU", "GPU", "NPU" };
    for (gsize i = 0; i < G_N_ELEMENTS(aliases); i++)
    {
        guint n_measured = 0;
        g_assert_cmpuint(count_rows(raw, aliases[i], &n_measured), ==, SMALL_N_SIZES * N_STAGES);
        g_assert_cmpuint(n_measured, ==, SMALL_N_SIZES * N_STAGES);
    }
    /* PLAIN takes 5 ms, always; the study asks for 10 runs. */
    const json_t *row = json_object_get(raw, "5,8,NPU,3"), *samples = json_object_get(row, "samples_ms");
    g_assert_cmpuint(json_array_size(samples), ==, 10);
    for (gsize i = 0; i < 10; i++)
        g_assert_cmpfloat(json_number_value(json_array_get(samples, i)), ==, 5.0);
    json_auto_t *lookup = load_json(bench, "out/small/lookup_table.json");
    g_assert_cmpfloat(json_number_value(json_object_get(json_object_get(lookup, "10,20,NPU,7"), "total_time_ms")), ==, 5.0);
    /* A second time: nothing is measured, and the page is the same. */
    run_line(bench, "study run small.yaml", &again);
    assert_status(&again, 0);
    g_assert_cmpstr(again.out, ==, ended.out);
    g_autofree char *said =
        g_strdup_printf("inferometer: all %d cases were measured before and are in " STORE "\n", SMALL_N_CASES);
    g_assert_true(g_str_has_prefix(again.err, said));
    /* Ten runs that scatter by 10 % are not what one aims at: a line says so, and the report which they are. */
    g_assert_nonnull(strstr(again.err, "inferometer: warning: of 63 latencies "));
    g_assert_true(g_str_has_suffix(again.err, "; profiling_report.txt lists them\n"));
    g_autofree char *report = read_text(bench, "out/small/profiling_report.txt");
    g_assert_nonnull(strstr(report, "\nGPU *: stage 1: "));
    assert_once_each(bench, STORE, SMALL_N_CASES);
    assert_none_left(bench);
}

static char *replace(const char *text, const char *pattern, const char *by)
{
    g_autoptr(GRegex) regex = g_regex_new(pattern, 0, 0, NULL);
    return g_regex_replace_literal(regex, text, -1, 0, by, 0, NULL);
}

/* How long it took differs each time, and with its width where that line breaks; which devices the tests have does not
 * matter here. */
static void check_page(const char *name, const char *page)
{
    g_autofree char *timeless =
        replace(page, ";\\s+[0-9.]+\\s+[a-z]+(\\s+[0-9]+\\s+s)?\\s+spent\\s+measuring", "; TIME spent measuring");
    g_autofree char *dateless = replace(timeless, "[0-9]+-[0-9]+-[0-9]+ [0-9:]+ UTC", "DATE");
    g_autofree char *short_list = replace(dateless, "\\(there are: [^)]*\\)", "(there are: DEVICES)");
    check_golden(name, short_list);
}

/* The pages people see. */
static void test_pages(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml",
               SMALL_HEAD SMALL_SIZES SMALL_DEVICES "  ABSENT: {device: simulated:lab/NOWHERE}\n" SMALL_REST);
    run_line(bench, RUN " -d BAD=simulated:faulty/REFUSES", &ended);
    assert_status(&ended, 1);
    check_page("study-run.txt", ended.out);
    g_assert_cmpstr(ended.err, ==,
                    "inferometer: 21 of 84 cases have no latency; out/small/profiling_report.txt says why\n");
    run_line(bench, "study status small.yaml", &ended);
    assert_status(&ended, 0);
    check_page("study-status.txt", ended.out);
    run_line(bench, "study list", &ended);
    assert_status(&ended, 0);
    check_golden("study-list.txt", ended.out);
}

/* A study of points: measured, resumed, told; what is of stages is refused in so many words. */
static void test_points(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "points.yaml",
               "title: points\nkind: profile\nmodels: [small-cnn, matmul]\ndevices:\n"
               "  A: {device: simulated:lab/FIXED}\n  B: {device: simulated:lab/NOWHERE}\n"
               "protocol: {warmup: 1, runs: 5}\n");
    run_line(bench, "study status points.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "points: not begun, 4 cases\n");
    run_line(bench, "study run points.yaml --json run.json --csv run.csv", &ended);
    assert_status(&ended, 0);
    assert_as_written(bench, "out/points/points.csv", "points");
    g_assert_nonnull(strstr(ended.out, "2 cases: 2 measured, 0 failed, 0 skipped; 2 more on unavailable devices"));
    g_assert_nonnull(strstr(ended.out, "out/points: points.csv, points.json"));
    run_line(bench, "study run points.yaml --only measure", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "all 2 cases were measured before"));
    run_line(bench, "study status points.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "2 cases: 2 measured"));
    run_line(bench, "study export out/points", &ended);
    assert_status(&ended, 0);
    run_line(bench, "study lookup points.yaml --nodes 3 --edges 4", &ended);
    assert_status(&ended, 3);
    g_assert_nonnull(strstr(ended.err, "is of kind profile: it has points, but no stages"));
    run_line(bench, "plan points.yaml --size 3,4", &ended);
    assert_status(&ended, 3);
    g_assert_nonnull(strstr(ended.err, "is of kind profile"));
}

/* "DIGEST\nDIGEST": the models of a store's cases. (transfer full) */
static char *model_digests(const Bench *bench, const char *store)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    g_autofree char *path = bench_path(bench, store);
    g_assert_cmpint(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), ==, SQLITE_OK);
    static const char sql[] =
        "SELECT group_concat(subject_digest, char(10)) FROM subject_case WHERE subject_kind = 'model'";
    g_assert_cmpint(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
    char *text = g_strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return text;
}

/* What `profile` measures with the same options: the study's cases have the same models and inputs. */
static void test_passes(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "passes.yaml",
               "title: passes\nkind: profile\nmodels: [small-cnn]\nbatch: [2]\nmode: [forward, train]\ndevices:\n"
               "  A: {device: simulated:lab/FIXED}\nprotocol: {warmup: 1, runs: 5}\n");
    write_text(bench, "graph.yaml",
               "title: graph\nkind: profile\nmodels: [\"gps,num_layers=1\"]\ndims: [{name: num_nodes, sizes: [20, 40]}]\n"
               "devices:\n  A: {device: simulated:lab/FIXED}\nprotocol: {warmup: 1, runs: 5}\n");
    run_line(bench, "study run passes.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "2 cases: 2 measured"));
    run_line(bench, "study run graph.yaml", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile small-cnn --batch 2 --mode train -d simulated:lab/FIXED --runs 5 -o p", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile gps,num_layers=1 --dim num_nodes=20,40 -d simulated:lab/FIXED --runs 5 -o g", &ended);
    assert_status(&ended, 0);
    static const char *const stores[][2] = { { "out/passes/store.db", "p/store.db" },
                                             { "out/graph/store.db", "g/store.db" } };
    for (gsize i = 0; i < G_N_ELEMENTS(stores); i++)
    {
        g_autofree char *digests = model_digests(bench, stores[i][0]), *others = model_digests(bench, stores[i][1]);
        g_auto(GStrv) each = g_strsplit(digests, "\n", -1);
        g_assert_cmpuint(g_strv_length(each), ==, 2);
        for (char **digest = each; *digest != NULL; digest++)
            g_assert_nonnull(strstr(others, *digest));
    }
    run_line(bench, "profile small-cnn,batch=4 --batch 2 -d simulated:lab/FIXED -o p", &ended);
    assert_status(&ended, 2);
    g_assert_nonnull(strstr(ended.err, "batch is given twice"));
}

/* The table of a study of points is taken in as one, with what failed and why. */
static void test_import_points(Bench *bench, gconstpointer data)
{
    static const char head[] = "model,batch,alias,median_ns,lower_ns,upper_ns,level,mean_ns,std_ns,min_ns,max_ns,runs,"
                               "items,items_per_s,flop,flop_per_s,outcome,error_code,reason,phase,device,simulated,key\n";
    static const char row[] = "net,%d,%s,%s,900,1100,0.95,1000,10,800,1200,9,4,,100,,%s,,,1,x:y,%s,k\n";
    g_auto(Ended) ended = { 0 };
    g_autofree char *good = g_strdup_printf(row, 4, "A", "1000", "measured", "true"),
                    *left = g_strdup_printf(row, 8, "A", "", "left", "true"),
                    *other = g_strdup_printf(row, 4, "A", "1010", "measured", "true"),
                    *odd = g_strdup_printf(row, 4, "B", "1000", "well", "false"),
                    *outside = g_strdup_printf(row, 4, "B", "2000", "measured", "false");
    g_autofree char *table =
        g_strconcat(head, good, "net,8,B,,,,,,,,,,,,,,failed,failed,\"no, not this one\",1,x:z,false,k\n", left, NULL);
    const char *const wrong[][3] = {
        { odd, "points.csv:2: outcome: found \"well\"", "3" },
        { outside, "points.csv:2: the interval, 0.0009 to 0.0011 ms, does not hold the median, 0.002 ms", "3" },
        { other, "1 row differs from what is there already", "3" },
    };
    write_text(bench, "points.csv", table);
    run_line(bench, "study import points.csv -o in", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, ": 3 rows read, 2 rows imported, 1 not measured and left out; "));
    g_assert_nonnull(strstr(ended.out, "B net, batch 8: no, not this one"));
    g_assert_nonnull(strstr(ended.out, "2 cases: 1 measured, 1 failed"));
    run_line(bench, "study import points.csv -o in", &ended); /* once more changes nothing */
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, ": 3 rows read, 0 rows imported, 2 there already, 1 not measured and left out; "));
    assert_once_each(bench, "in/store.db", 2);
    run_line(bench, "study export in", &ended);
    assert_status(&ended, 0);
    g_autofree char *path = bench_path(bench, "in/points.csv"), *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "net,4,A,1000,900,1100,0.95,1000,10,800,1200,0,4,4000000,100,100000000,measured,,,1,"
                                  "imported:A,true,"));
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_autofree char *bad = g_strconcat(head, wrong[i][0], NULL);
        write_text(bench, "points.csv", bad);
        run_line(bench, "study import points.csv -o in", &ended);
        assert_status(&ended, 3);
        g_assert_nonnull(strstr(ended.err, wrong[i][1]));
        assert_once_each(bench, "in/store.db", 2);
    }
    run_line(bench, "study import points.csv -o in --replace", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "1.01 µs"));
    g_autofree char *stages = g_build_filename(g_getenv("IFM_DATA_DIR"), "data", "meteor-lake", "large-55-sizes.csv", NULL);
    g_autofree char *line = g_strdup_printf("study import %s -o in", stages);
    run_line(bench, line, &ended);
    assert_status(&ended, 3);
    g_assert_nonnull(strstr(ended.err, "has the axes [\"model\",\"batch\"], the files have []"));
}

/* Ended by its time, the study has tables of what there is, and the same command continues it. */
static void test_total_time(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, RUN " --total-time 1ns", &ended);
    assert_status(&ended, 1);
    g_autofree char *spent =
        g_strdup_printf("the time budget is spent: 0 of %d cases are measured; the same command resumes", SMALL_N_CASES);
    g_assert_nonnull(strstr(ended.err, spent));
    g_assert_null(strstr(ended.err, "measured before"));
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        g_assert_true(has_table(bench, "out/small", tables[i]));
    run_line(bench, RUN " --order interleaved", &ended);
    assert_status(&ended, 0);
    assert_once_each(bench, STORE, SMALL_N_CASES);
}

/* In parts, each in a folder of its own, and merged. */
static void test_shards(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "points.yaml",
               "title: points\nkind: profile\nmodels: [matmul]\ndims: [{name: m, sizes: [4, 8, 16]}]\ndevices:\n"
               "  A: {device: simulated:lab/FIXED}\nprotocol: {warmup: 1, runs: 5}\n");
    run_line(bench, "study run points.yaml --shard 3/2", &ended);
    assert_status(&ended, 2);
    g_assert_nonnull(strstr(ended.err, "--shard: found \"3/2\", expected I/N"));
    run_line(bench, "study run points.yaml --shard 1/2", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "1 measured, 0 failed, 0 skipped, 2 pending"));
    run_line(bench, "study run points.yaml --shard 2/2", &ended);
    assert_status(&ended, 0);
    run_line(bench, "store merge out/points/store.db out/points-1-of-2/store.db out/points-2-of-2/store.db", &ended);
    assert_status(&ended, 0);
    run_line(bench, "study run points.yaml --only analyze", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "3 cases: 3 measured"));
    run_line(bench, "study run points.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "all 3 cases were measured before"));
}

static const json_t *cases_of(const json_t *lookup, const char *alias)
{
    const json_t *devices = json_object_get(json_object_get(lookup, "_metadata"), "devices");
    return json_object_get(json_object_get(devices, alias), "cases");
}

/* What is told of a study is told of it as its file is now, with the devices that its last run was asked for. */
static void test_changed(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *begun =
        g_strdup_printf("small: not begun, %d cases: %d of stages, 0 of links\n", SMALL_N_CASES, SMALL_N_CASES);
    run_line(bench, "study status small.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, begun);
    run_line(bench, RUN " --only export", &ended);
    assert_status(&ended, 0);
    run_line(bench, "study status small.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, begun);
    run_line(bench, RUN " -d GPU=simulated:lab/FIXED -d MORE=simulated:lab/FIXED --warmup 1 --runs 4", &ended);
    assert_status(&ended, 0);
    /* one size goes, two come */
    write_text(bench, "small.yaml",
               SMALL_HEAD
               "sizes:\n  - {nodes: 5, edges: [6, 7]}\n  - {nodes: 10, edges: [20, 30]}\n" SMALL_DEVICES SMALL_REST);
    run_line(bench, "study status small.yaml", &ended);
    assert_status(&ended, 0);
    run_line(bench, "study export small.yaml", &ended);
    assert_status(&ended, 0);
    static const char *const aliases[] = { "CPU", "GPU", "NPU", "MORE" };
    json_auto_t *lookup = load_json(bench, "out/small/lookup_table.json");
    for (gsize i = 0; i < G_N_ELEMENTS(aliases); i++)
    {
        const json_t *cases = cases_of(lookup, aliases[i]);
        g_assert_cmpint(json_integer_value(json_object_get(cases, "measured")), ==, 2 * N_STAGES);
        g_assert_cmpint(json_integer_value(json_object_get(cases, "left")), ==, 2 * N_STAGES);
    }
    const json_t *about = json_object_get(lookup, "_metadata");
    const json_t *gpu = json_object_get(json_object_get(about, "devices"), "GPU");
    g_assert_cmpstr(text_of(gpu, "device"), ==, "simulated:lab/FIXED");
    g_assert_cmpint(
        json_integer_value(json_object_get(json_object_get(json_object_get(about, "study"), "protocol"), "runs")), ==, 4);
    g_assert_nonnull(json_object_get(lookup, "5,6,CPU,1"));
    g_assert_null(json_object_get(lookup, "5,8,CPU,1")); /* which the file has no more */
    /* a folder alone is as its last run left it */
    run_line(bench, "study export out/small", &ended);
    assert_status(&ended, 0);
    json_auto_t *old = load_json(bench, "out/small/lookup_table.json");
    g_assert_nonnull(json_object_get(old, "5,8,CPU,1"));
    g_assert_cmpint(json_integer_value(json_object_get(cases_of(old, "CPU"), "left")), ==, 0);
    g_assert_cmpint(count_measured(bench, STORE), ==, 4 * SMALL_N_SIZES * N_STAGES);
}

/* An alias never hides what ran. */
static void test_metadata(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, RUN " -d GPU=simulated:lab/FIXED -d ABSENT=onnxruntime:MIGraphX", &ended);
    assert_status(&ended, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
    {
        g_autofree char *path = g_build_filename("out/small", tables[i], NULL), *text = read_text(bench, path);
        g_assert_nonnull(strstr(text, "simulated:lab/FIXED"));
        g_assert_null(strstr(text, "simulated:lab/GAUSSIAN")); /* which the study would have had */
        if (!g_str_has_suffix(path, ".json"))
            continue;
        json_auto_t *json = load_json(bench, path);
        const json_t *devices = json_object_get(json_object_get(json, "_metadata"), "devices");
        const json_t *gpu = json_object_get(devices, "GPU"), *absent = json_object_get(devices, "ABSENT");
        g_assert_cmpstr(text_of(gpu, "device"), ==, "simulated:lab/FIXED");
        g_assert_true(json_is_true(json_object_get(gpu, "simulated")));
        g_assert_cmpstr(text_of(absent, "device"), ==, "onnxruntime:MIGraphX");
        g_assert_cmpstr(text_of(absent, "skipped"), !=, "");
    }
    g_assert_cmpint(query(bench, STORE,
                          "SELECT COUNT(*) FROM subject_case WHERE alias = 'GPU' AND device = "
                          "'simulated:lab/FIXED'"),
                    ==, SMALL_N_SIZES * N_STAGES);
    g_assert_nonnull(strstr(ended.out, "GPU"));
    g_assert_nonnull(strstr(ended.out, "simulated:lab/FIXED"));
    g_assert_nonnull(strstr(ended.out, "onnxruntime:MIGraphX"));
}

/* --- step by step ----------------------------------------------------------------------------------------------------- */

static guint count_files(const Bench *bench, const char *folder)
{
    g_autofree char *path = bench_path(bench, folder);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    guint n = 0;
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
        n += g_str_has_suffix(name, ".onnx");
    return n;
}

static void test_only(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, RUN " --only analyze", &ended);
    assert_complaint(&ended, 4, STORE);
    g_assert_false(is_there(bench, "out"));
    run_line(bench, RUN " --only export -d ABSENT=simulated:lab/NOWHERE", &ended);
    assert_status(&ended, 0);
    g_assert_false(is_there(bench, STORE));
    g_assert_cmpuint(count_files(bench, "out/small/models/CPU"), ==, N_STAGES); /* any size */
    g_assert_cmpuint(count_files(bench, "out/small/models/ABSENT"), ==, N_STAGES);
    g_assert_cmpuint(count_files(bench, "out/small/models/NPU"), ==, SMALL_N_SIZES * N_STAGES); /* one each */
    g_autofree char *said = g_strdup_printf("%d models in out/small/models\n", (3 + SMALL_N_SIZES) * N_STAGES);
    g_assert_cmpstr(ended.out, ==, said);
    run_line(bench, RUN " --only measure", &ended);
    assert_status(&ended, 0);
    assert_once_each(bench, STORE, SMALL_N_CASES);
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        g_assert_false(has_table(bench, "out/small", tables[i]));
    run_line(bench, RUN " --only analyze", &ended);
    assert_status(&ended, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        g_assert_true(has_table(bench, "out/small", tables[i]));
    assert_once_each(bench, STORE, SMALL_N_CASES);
}

/* The tables are written again from the store, and are the same. */
static void test_export(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    static const char *const ways[] = { "small.yaml", "small", "out/small", "small.yaml -o out/small" };
    run_line(bench, RUN, &ended);
    assert_status(&ended, 0);
    g_autofree char *page = g_strdup(ended.out);
    for (gsize way = 0; way < G_N_ELEMENTS(ways); way++)
    {
        g_autoptr(GPtrArray) before = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *line = g_strdup_printf("study export %s", ways[way]);
        for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        {
            g_autofree char *name = g_build_filename("out/small", tables[i], NULL), *path = bench_path(bench, name);
            g_ptr_array_add(before, read_text(bench, name));
            g_assert_cmpint(g_unlink(path), ==, 0);
        }
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        g_assert_cmpstr(ended.out, ==, page);
        for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
        {
            g_autofree char *name = g_build_filename("out/small", tables[i], NULL), *after = read_text(bench, name);
            g_assert_cmpstr(after, ==, before->pdata[i]);
        }
    }
}

/* --- options ---------------------------------------------------------------------------------------------------------- */

static gsize n_samples(const Bench *bench, const char *folder, const char *key)
{
    g_autofree char *name = g_build_filename(folder, "raw_measurements.json", NULL);
    json_auto_t *raw = load_json(bench, name);
    return json_array_size(json_object_get(json_object_get(raw, key), "samples_ms"));
}

static void test_protocol(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, RUN " -o fixed --warmup 4 --runs 6", &ended);
    assert_status(&ended, 0);
    g_assert_cmpuint(n_samples(bench, "fixed", "5,6,CPU,1"), ==, 6);
    g_assert_cmpint(query(bench, "fixed/store.db", "SELECT COUNT(*) FROM measurement WHERE length(warmup_ns) = 32"), ==,
                    SMALL_N_CASES);
    /* Until the interval is narrow: 1 ms that scatters by 10 % takes more runs for 1 % than for 5 %. */
    run_line(bench, RUN " -o wide --ci 5% --time-budget 2s", &ended);
    assert_status(&ended, 0);
    run_line(bench, RUN " -o narrow --ci 1% --time-budget 2s", &ended);
    assert_status(&ended, 0);
    g_assert_cmpuint(n_samples(bench, "wide", "5,6,GPU,1"), >=, 20);
    g_assert_cmpuint(n_samples(bench, "narrow", "5,6,GPU,1"), >, 2 * n_samples(bench, "wide", "5,6,GPU,1"));
    json_auto_t *raw = load_json(bench, "narrow/raw_measurements.json");
    g_assert_cmpstr(text_of(json_object_get(raw, "5,6,GPU,1"), "stop_reason"), ==, "interval");
    run_line(bench, RUN " -o brief --ci 0.01% --time-budget 100ms", &ended);
    assert_status(&ended, 0);
    json_auto_t *brief = load_json(bench, "brief/raw_measurements.json");
    g_assert_cmpstr(text_of(json_object_get(brief, "5,6,GPU,1"), "stop_reason"), ==, "time-budget");
    /* Other options are other cases, beside the old ones. */
    run_line(bench, RUN " -o fixed --runs 7", &ended);
    assert_status(&ended, 0);
    assert_once_each(bench, "fixed/store.db", 2 * SMALL_N_CASES);
    g_assert_cmpuint(n_samples(bench, "fixed", "5,6,CPU,1"), ==, 7);
}

/* A study of two stages: what breaks costs its limit each time. */
static void write_short(const Bench *bench)
{
    write_text(bench, "short.yaml",
               "title: Two stages\n"
               "subject: {model: graphsage, features: 4, hidden: 3, stages: [1, 7]}\n"
               "sizes: [{nodes: 5, edges: [6]}]\n"
               "devices: {CPU: {device: simulated:lab/FIXED}}\n" SMALL_REST);
}

static void test_limits(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options, *code;
    } known[] = {
        { "-o a -d BAD=simulated:faulty/HANGS --timeout 500ms", "timeout" },
        { "-o b -d BAD=simulated:faulty/HANGS --timeout 0 --case-timeout 500ms", "timeout" },
        { "-o c -d BAD=simulated:faulty/MEMORY-ALLOCATES --memory-limit 64MiB", "memory" },
    };
    write_short(bench);
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf("study run short.yaml -q %s", known[i].options);
        g_autofree char *store = g_strdup_printf("%c/store.db", 'a' + (int)i);
        g_autofree char *sql = g_strdup_printf(
            "SELECT COUNT(*) FROM measurement WHERE outcome = 'failed' AND error_code = '%s'", known[i].code);
        run_line(bench, line, &ended);
        assert_status(&ended, 1);
        g_assert_cmpint(query(bench, store, sql), ==, 2);
        g_assert_cmpint(query(bench, store, "SELECT COUNT(*) FROM measurement WHERE outcome = 'ok'"), ==, 2);
        assert_none_left(bench);
    }
}

/* What failed stays as it is unless it is asked for; what has a latency stays in any case. */
static void test_retry(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_short(bench);
    for (int i = 0; i < 2; i++)
    {
        run_line(bench, "study run short.yaml -q -d BAD=simulated:faulty/FAILS", &ended);
        assert_complaint(&ended, 1, "2 of 4 cases have no latency");
        g_assert_cmpint(count_measured(bench, "out/short/store.db"), ==, 4);
    }
    run_line(bench, "study run short.yaml -q -d BAD=simulated:faulty/FAILS --retry", &ended);
    assert_complaint(&ended, 1, "2 of 4 cases have no latency");
    g_assert_cmpint(count_measured(bench, "out/short/store.db"), ==, 6);
    g_assert_cmpint(query(bench, "out/short/store.db", "SELECT COUNT(*) FROM measurement WHERE outcome = 'ok'"), ==, 2);
}

/* What was skipped since its device was lost was not measured before, and is not said to be. */
static void test_skipped_before(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "lost.yaml",
               "title: lost\nkind: profile\nmodels: [matmul]\ndims: [{name: m, sizes: [4, 8, 16]}]\n"
               "devices: {A: {device: simulated:faulty/LOSES-REPORTED}}\nprotocol: {warmup: 1, runs: 5}\n");
    for (int i = 0; i < 6; i++) /* until each was tried and lost it, and one session more */
        run_line(bench, "study run lost.yaml", &ended);
    assert_status(&ended, 1);
    g_assert_nonnull(strstr(ended.err, "3 of 3 cases have no latency"));
    g_assert_null(strstr(ended.err, "all 3 cases were measured before"));
}

/* What points and sizes fail of in the same way stands once on their page, with whose it is. */
static void test_same_reason(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "points.yaml",
               "title: points\nkind: profile\nmodels: [matmul]\ndims: [{name: m, sizes: [4, 8, 16, 32]}]\n"
               "devices: {A: {device: simulated:faulty/FAILS}}\nprotocol: {warmup: 1, runs: 5}\n");
    run_line(bench, "study run points.yaml -q", &ended);
    assert_status(&ended, 1);
    const char *first = strstr(ended.out, "A matmul, m 4 and 3 more: simulated:faulty/FAILS, matmul,m=4: ");
    g_assert_nonnull(first);
    g_assert_null(strstr(strchr(first, '\n'), "matmul,m="));
    run_line(bench, "profile matmul --dim m=4,8,16,32 --runs 5 -q --no-peak -d simulated:faulty/FAILS", &ended);
    assert_status(&ended, 1);
    g_assert_true(g_str_has_prefix(ended.err, "inferometer: simulated:faulty/FAILS: matmul,m=4: "));
    g_assert_true(g_str_has_suffix(ended.err, " (and 3 more alike)\n"));
    g_assert_null(strstr(ended.err + 1, "inferometer: "));
}

/* Single stages, a fused range, and one under load: the rows on the screen are those of the file. */
static void test_import_counts(Bench *bench, gconstpointer data)
{
    static const char table[] = "device,stage,last,busy,nodes,edges,latency_ms,std_ms,compute_ms,transfer_ms,flag\n"
                                "CPU,1,1,,1000,5000,1,0.1,,,\nCPU,2,2,,1000,5000,2,0.1,,,\nCPU,3,3,,1000,5000,,,,,lost\n"
                                "GPU,1,1,,1000,5000,3,0.1,,,\nCPU,1,7,,1000,5000,9,0.1,,,\nCPU,1,3,,1000,5000,4,0.1,,,\n"
                                "CPU,1,1,GPU,1000,5000,1.5,0.1,,,\n";
    g_auto(Ended) ended = { 0 };
    write_text(bench, "stages.csv", table);
    run_line(bench, "study import stages.csv -o in", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, ": 7 rows imported; "));
    g_assert_true(strstr(ended.out, "\nThe tables have 6 latencies and 1 failure\n") != NULL);
}

/* Ended while its store was made, a study begins anew. */
static void test_unborn(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_short(bench);
    g_autofree char *folder = bench_path(bench, "out/short");
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    write_text(bench, "out/short/store.db", "");
    run_line(bench, "study run short.yaml -q", &ended);
    assert_status(&ended, 0);
    g_assert_cmpint(count_measured(bench, "out/short/store.db"), ==, 2);
}

/* One line a kind of trouble, however many cases it costs; and none of it with -q. */
static void test_log(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "study run small.yaml -d NPU=simulated:faulty/REFUSES", &ended);
    assert_status(&ended, 1);
    g_auto(GStrv) lines = g_strsplit(g_strchomp(ended.err), "\n", -1);
    guint n_reported = 0;
    for (char **line = lines; *line != NULL; line++)
        n_reported += strstr(*line, "operator Gemm is not known here") != NULL;
    g_assert_cmpuint(n_reported, ==, 1);
    g_assert_cmpuint(g_strv_length(lines), <, 10); /* of 63 cases */
    g_assert_nonnull(strstr(ended.err, "/63] CPU "));
}

/* Without any of its devices there is nothing to measure. */
static void test_absent(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml",
               SMALL_HEAD SMALL_SIZES "devices:\n  CPU: {device: simulated:lab/A}\n  NPU: {device: simulated:lab/C}\n");
    run_line(bench, RUN, &ended);
    assert_complaint(&ended, 4, "NPU: ");
    g_assert_false(is_there(bench, "out"));
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, RUN " -o other -d CPU=onnxruntime:MIGraphX", &ended);
    assert_status(&ended, 0); /* the others are */
    assert_once_each(bench, "other/store.db", 2 * SMALL_N_SIZES * N_STAGES);
}

/* A size that nobody measured: the NPU, at which every stage takes 5 ms, takes 5 ms there, too. */
static void test_lookup(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, RUN " -d BAD=simulated:faulty/REFUSES", &ended);
    run_line(bench, "study lookup small.yaml --nodes 5 --edges 7 --json answers.json --csv -", &ended);
    assert_status(&ended, 0);
    g_assert_true(g_str_has_prefix(ended.out, "stage,name,alias,latency_ns,usual_error_ratio,origin,device,simulated"));
    json_auto_t *answers = load_json(bench, "answers.json");
    g_assert_cmpuint(json_array_size(answers), ==, 4 * N_STAGES);
    gsize i;
    json_t *answer;
    json_array_foreach(answers, i, answer)
    {
        const json_t *latency = json_object_get(answer, "latency_ns");
        gboolean bad = g_str_equal(text_of(answer, "alias"), "BAD");
        g_assert_cmpint(json_is_null(latency), ==, bad);
        g_assert_cmpstr(text_of(answer, "origin"), ==, bad ? "has no latency at any size" : "interpolated");
        if (g_str_equal(text_of(answer, "alias"), "NPU"))
            g_assert_cmpfloat_with_epsilon(json_number_value(latency), 5e6, 1e-6);
    }
    run_line(bench, "study lookup out/small --nodes 10 --edges 20", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "5.00 ms"));
    g_assert_nonnull(strstr(ended.out, "measured"));
    g_assert_null(strstr(ended.out, "interpolated"));
    run_line(bench, "study lookup out/small --nodes 50 --edges 100", &ended);
    g_assert_nonnull(strstr(ended.out, "extrapolated"));
    g_assert_nonnull(strstr(ended.out, "decades beyond"));
    g_assert_nonnull(strstr(ended.out, " 0.699"));
    run_line(bench, "study lookup out/small --nodes 1000 --edges 20", &ended);
    g_assert_nonnull(strstr(ended.out, "decades beyond the measured sizes"));
    g_assert_null(strstr(ended.out, " ms"));
    run_line(bench, "study lookup out/small --nodes 1000", &ended);
    assert_status(&ended, 2);
    run_line(bench, "study lookup out/small --nodes 0 --edges 4", &ended);
    assert_status(&ended, 2);
    run_line(bench, "study lookup nowhere --nodes 1 --edges 4", &ended);
    g_assert_cmpint(ended.status, !=, 0);
    g_assert_true(g_str_has_prefix(ended.err, "inferometer: "));
}

/* --- two at once ------------------------------------------------------------------------------------------------------
 */

#define N_RACES 8

/* Both are begun in one folder that is not there yet. Returns: whether they met: one of them measured, the other was told
 * by whom. */
static gboolean race(const Bench *bench)
{
    g_autoptr(GSubprocess) one = start_line(bench, "study run small.yaml -q -o race");
    g_autoptr(GSubprocess) other = start_line(bench, "study run small.yaml -q -o race");
    GSubprocess *const runs[2] = { one, other };
    g_autofree char *first = g_strdup(g_subprocess_get_identifier(runs[0])),
                    *second = g_strdup(g_subprocess_get_identifier(runs[1]));
    const char *const pids[2] = { first, second };
    Ended ended[2] = { { 0 }, { 0 } };
    for (int i = 0; i < 2; i++)
    {
        g_autoptr(GError) error = NULL;
        g_subprocess_communicate_utf8(runs[i], NULL, NULL, &ended[i].out, &ended[i].err, &error);
        g_assert_no_error(error);
        ended[i].status = status_of(runs[i]);
    }
    g_autofree char *folder = bench_path(bench, "race");
    remove_tree(folder);
    const gboolean met = ended[0].status != 0 || ended[1].status != 0;
    if (met)
    {
        const int loser = ended[0].status == 0 ? 1 : 0;
        g_autofree char *says = g_strdup_printf("race: is in use by process %s, which measures there", pids[1 - loser]);
        assert_status(&ended[1 - loser], 0);
        assert_complaint(&ended[loser], 4, says);
    }
    ended_clear(&ended[0]);
    ended_clear(&ended[1]);
    return met;
}

static void test_race(Bench *bench, gconstpointer data)
{
    int n_met = 0;
    write_text(bench, "small.yaml", SMALL);
    for (int i = 0; i < N_RACES; i++)
        n_met += race(bench);
    g_assert_cmpint(n_met, >, 0);
    assert_none_left(bench);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study/run", Bench, NULL, bench_init_small, test_run, bench_clear);
    g_test_add("/study/pages", Bench, NULL, bench_init_small, test_pages, bench_clear);
    g_test_add("/study/metadata", Bench, NULL, bench_init_small, test_metadata, bench_clear);
    g_test_add("/study/only", Bench, NULL, bench_init_small, test_only, bench_clear);
    g_test_add("/study/export", Bench, NULL, bench_init_small, test_export, bench_clear);
    g_test_add("/study/lookup", Bench, NULL, bench_init_small, test_lookup, bench_clear);
    g_test_add("/study/protocol", Bench, NULL, bench_init_small, test_protocol, bench_clear);
    g_test_add("/study/limits", Bench, NULL, bench_init_small, test_limits, bench_clear);
    g_test_add("/study/retry", Bench, NULL, bench_init_small, test_retry, bench_clear);
    g_test_add("/study/same-reason", Bench, NULL, bench_init_small, test_same_reason, bench_clear);
    g_test_add("/study/skipped-before", Bench, NULL, bench_init_small, test_skipped_before, bench_clear);
    g_test_add("/study/unborn", Bench, NULL, bench_init_small, test_unborn, bench_clear);
    g_test_add("/study/log", Bench, NULL, bench_init_small, test_log, bench_clear);
    g_test_add("/study/absent", Bench, NULL, bench_init_small, test_absent, bench_clear);
    g_test_add("/study/points", Bench, NULL, bench_init_small, test_points, bench_clear);
    g_test_add("/study/passes", Bench, NULL, bench_init_small, test_passes, bench_clear);
    g_test_add("/study/import-points", Bench, NULL, bench_init_small, test_import_points, bench_clear);
    g_test_add("/study/import-counts", Bench, NULL, bench_init, test_import_counts, bench_clear);
    g_test_add("/study/total-time", Bench, NULL, bench_init_small, test_total_time, bench_clear);
    g_test_add("/study/shards", Bench, NULL, bench_init_small, test_shards, bench_clear);
    g_test_add("/study/changed", Bench, NULL, bench_init_small, test_changed, bench_clear);
    g_test_add("/study/race", Bench, NULL, bench_init, test_race, bench_clear);
    return g_test_run();
}
