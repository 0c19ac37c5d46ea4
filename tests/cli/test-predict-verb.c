#include "cli/samples.h"
#include "sensor/http-server.h"

/* train, predict, evaluate and stress, as they are called. */

#define MODEL "small-cnn"

static char *answer_html(const char *path, const char *form, void *user)
{
    return g_strdup("<html>");
}

static char *answer_far(const char *path, const char *form, void *user)
{
    return g_strdup("{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{\"cpu\":\"0\"},"
                    "\"values\":[[17000000000,\"1\"],[17000000001,\"1\"]]}]}}");
}

/* What a server answers is an input, no misuse. */
static void assert_answers_refused(const Bench *bench)
{
    static char *(*const answers[])(const char *, const char *, void *) = { answer_html, answer_far };
    for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
    {
        g_auto(Ended) ended = { 0 };
        HttpServer server = { .answer = answers[i] };
        http_start(&server);
        g_autofree char *line =
            g_strdup_printf("predict " MODEL " --with latency.json --load prometheus:http://127.0.0.1:%d", server.port);
        run_line(bench, line, &ended);
        assert_complaint(&ended, 3, "prometheus: ");
        http_stop(&server);
    }
}

static void test_walk(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    write_samples(bench);
    run_line(bench, "train samples.csv -o latency.json --no-evaluation", &ended);
    assert_status(&ended, 0);
    run_line(bench, "predict " MODEL " --with latency.json --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *idle = parse_output(&ended);
    const json_t *model = json_array_get(json_object_get(idle, "models"), 0);
    g_assert_cmpfloat(ifm_member_number(model, "latency_ns"), >, 0);
    g_assert_cmpfloat(ifm_member_number(model, "low_ns"), <=, ifm_member_number(model, "latency_ns"));
    g_assert_cmpfloat(ifm_member_number(model, "critical_ns"), <=, ifm_member_number(model, "latency_ns"));
    run_line(bench, "predict " MODEL " --with latency.json --load 50% --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *loaded = parse_output(&ended);
    g_assert_cmpfloat(ifm_member_number(json_array_get(json_object_get(loaded, "models"), 0), "latency_ns"), >,
                      1.5 * ifm_member_number(model, "latency_ns")); /* half of a core is left */
    run_line(bench, "predict " MODEL " --with latency.json --load live", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "under the load of now"));
    run_line(bench, "predict " MODEL " --with latency.json --load prometheus:http://127.0.0.1:1", &ended);
    assert_complaint(&ended, 4, "prometheus: http://127.0.0.1:1: ");
    run_line(bench, "predict " MODEL " --with latency.json --load prometheus:nowhere", &ended);
    assert_complaint(&ended, 2, "a URL such as http://127.0.0.1:9090 is expected");
    run_line(bench, "predict " MODEL " --with latency.json --load prometheus:user:word@nowhere", &ended);
    assert_complaint(&ended, 2, "--load prometheus:nowhere: a URL");
    assert_answers_refused(bench);
    run_line(bench, "predict " MODEL " --with latency.json --load much", &ended);
    assert_complaint(&ended, 2, "--load: \"much\" is no share of the time");
    run_line(bench, "predict " MODEL " --with latency.json --load live --device bogus", &ended);
    assert_complaint(&ended, 3, "bogus");
    g_assert_null(strstr(ended.err, "--load"));
    static const char *const loads[][2] = { { "gemm:much", "--load: \"much\" is no share of the time" },
                                            { "gemm:0%", "--load: \"gemm:0%\": a share above 0 is expected" },
                                            { "gemm:idle", "--load: \"gemm:idle\": a share above 0 is expected" },
                                            { "gem:60%", "did you mean \"gemm\"?" },
                                            { "60%", "--load: \"60%\": a kind and a share are expected" } };
    for (gsize i = 0; i < G_N_ELEMENTS(loads); i++)
    {
        g_autofree char *line = g_strdup_printf("evaluate " MODEL " --with latency.json --load %s", loads[i][0]);
        run_line(bench, line, &ended);
        assert_complaint(&ended, 2, loads[i][1]);
    }
    /* profile for the machine of the file: the same prediction, said to be one */
    run_line(bench, "train samples.csv -o far.json --no-evaluation --machine Farland --device onnxruntime:CPU@7", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile " MODEL " --predict far.json --csv far-profile.csv", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "nothing was measured"));
    g_assert_nonnull(strstr(ended.out, "machine Farland"));
    g_assert_nonnull(strstr(ended.out, "outside of what was"));
    run_line(bench, "profile " MODEL " --predict far.json --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *far = parse_output(&ended);
    const json_t *there = json_array_get(json_object_get(far, "models"), 0);
    g_assert_cmpfloat(ifm_member_number(there, "latency_ns"), ==, ifm_member_number(model, "latency_ns"));
    g_assert_cmpfloat(ifm_member_number(there, "low_ns"), <, ifm_member_number(there, "latency_ns"));
    g_assert_cmpfloat(ifm_member_number(there, "known_ratio"), ==, ifm_member_number(model, "known_ratio"));
    g_assert_cmpstr(ifm_member_text(there, "for.machine"), ==, "Farland");
    g_assert_cmpstr(ifm_member_text(there, "for.device"), ==, "onnxruntime:CPU@7");
    run_line(bench, "profile " MODEL " --predict far.json --runs 5", &ended);
    assert_complaint(&ended, 2, "--runs and --predict: one of them, not both");
    run_line(bench, "profile " MODEL " --predict samples.csv", &ended);
    assert_complaint(&ended, 3, "samples.csv");
    run_line(bench, "evaluate " MODEL " --with latency.json --json evaluation.json", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "Mean error of 1 model:"));
    g_assert_nonnull(strstr(ended.out, "Conv"));
    /* what was measured is kept: with --resume nothing is measured again, and a model that is new is */
    g_auto(Ended) before = { 0 }, after = { 0 };
    run_line(bench, "store export out/evaluate/store.db --format csv -o -", &before);
    assert_status(&before, 0);
    run_line(bench, "evaluate " MODEL " --with latency.json --resume --json resumed.json", &ended);
    assert_status(&ended, 0);
    run_line(bench, "store export out/evaluate/store.db --format csv -o -", &after);
    g_assert_cmpstr(after.out, ==, before.out);
    g_autofree char *first = NULL, *again = NULL, *first_path = bench_path(bench, "evaluation.json"),
                    *again_path = bench_path(bench, "resumed.json");
    g_assert_true(g_file_get_contents(first_path, &first, NULL, NULL));
    g_assert_true(g_file_get_contents(again_path, &again, NULL, NULL));
    json_auto_t *of_first = ifm_json_parse(first, strlen(first), "first", NULL),
                *of_again = ifm_json_parse(again, strlen(again), "again", NULL);
    json_object_del(of_first, "summary"); /* which has the command */
    json_object_del(of_again, "summary");
    g_assert_true(json_equal(of_first, of_again));
    assert_none_left(bench);
}

/* That the last progress says that all cases are done that were said to come. */
static void assert_all_done(const Ended *ended)
{
    g_auto(GStrv) lines = g_strsplit(ended->err, "\n", -1);
    gint64 n_done = -1, n_all = -2;
    for (char **line = lines; *line != NULL; line++)
    {
        json_auto_t *json = ifm_json_parse(*line, strlen(*line), "line", NULL);
        if (g_strcmp0(ifm_member_text(json, "kind"), "progress") != 0)
            continue;
        n_done = json_integer_value(json_object_get(json, "done"));
        n_all = json_integer_value(json_object_get(json, "of"));
    }
    g_assert_cmpint(n_done, ==, n_all);
}

/* Records and extracted kernels are evaluated by their kernels alone, beside models; what is broken is a row. */
static void test_records(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 }, before = { 0 }, after = { 0 };
    g_autofree char *source = g_strdup(g_getenv("IFM_TEST_DATA"));
    g_autofree char *root = g_path_get_dirname(source);
    g_autofree char *records = g_build_filename(root, "fuzz", "corpus", "kernels", "transformer.json", NULL),
                    *with = g_build_filename(root, "fuzz", "corpus", "latency", "model.json", NULL);
    g_autofree char *folder = bench_path(bench, "many"), *extract = g_strdup_printf("kernels extract %s -o many", records);
    run_line(bench, extract, &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) files = g_strsplit(g_strchomp(ended.out), "\n", -1);
    bench_write(bench, "many/bad.onnx", "no model", 8);
    g_autofree char *deeper = g_strconcat(extract, "/sub.onnx", NULL); /* a folder, whatever it is called */
    run_line(bench, deeper, &ended);
    assert_status(&ended, 0);
    g_autofree char *line = g_strdup_printf("evaluate %s many --with %s -d simulated:ideal/GPU --resume --json out.json "
                                            "--html out.html --all",
                                            records, with);
    run_line(bench, line, &ended);
    assert_status(&ended, 1);
    g_assert_nonnull(strstr(ended.err, "many/bad.onnx"));
    g_autofree char *path = bench_path(bench, "out.json");
    json_auto_t *json = ifm_json_load(path, NULL);
    g_autofree char *text = json_dumps(json, JSON_ENCODE_ANY);
    g_assert_nonnull(strstr(text, "many/bad.onnx"));
    g_assert_null(strstr(text, "sub.onnx"));
    guint n_moves = 0;
    for (char **file = files; *file != NULL; file++)
    {
        if (g_str_has_prefix(*file, "Reshape") || g_str_has_prefix(*file, "Unsqueeze"))
        {
            n_moves++;
            continue;
        }
        g_autofree char *stem = g_strndup(*file, strlen(*file) - strlen(".onnx"));
        g_assert_nonnull(strstr(text, stem));
    }
    /* those that only reshape: of the records and of its own file each is one */
    g_autofree char *dropped = g_strdup_printf("%u kernels are left out, which cannot be measured alone (", n_moves);
    g_assert_nonnull(strstr(text, dropped));
    /* what it measured is kept: nothing is measured again */
    run_line(bench, "store export out/evaluate/store.db --format csv -o -", &before);
    assert_status(&before, 0);
    g_autofree char *again = g_strconcat(line, " --progress json", NULL);
    run_line(bench, again, &ended);
    assert_all_done(&ended);
    run_line(bench, "store export out/evaluate/store.db --format csv -o -", &after);
    g_assert_cmpstr(after.out, ==, before.out);
    guint n_kept = 0;
    for (const char *at = before.out; (at = strstr(at, "SkipLayerNormalization_")) != NULL; at++)
        n_kept++;
    g_assert_cmpuint(n_kept, ==, 1); /* of the records and of its own file */
    g_autofree char *alone = g_strdup_printf("evaluate %s --with %s -d simulated:ideal/GPU --no-kernels", records, with);
    run_line(bench, alone, &ended);
    assert_status(&ended, 1);
    g_autofree char *predict = g_strdup_printf("predict %s many --with %s --json - --html out.html", records, with);
    run_line(bench, predict, &ended);
    assert_status(&ended, 1);
    json_auto_t *predicted = parse_output(&ended);
    const json_t *models = json_object_get(predicted, "models");
    g_assert_cmpuint(json_array_size(models), ==, g_strv_length(files) + 2);
    guint n_failed = 0;
    for (gsize i = 0; i < json_array_size(models); i++)
        n_failed += json_object_get(json_array_get(models, i), "reason") != NULL;
    g_assert_cmpuint(n_failed, ==, 1);
    assert_none_left(bench);
}

/* Two models with the same kernels, one of which holds more: each kernel is measured in the ring of either. */
static void test_rings(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *source = g_strdup(g_getenv("IFM_TEST_DATA"));
    g_autofree char *root = g_path_get_dirname(source);
    g_autofree char *small = g_build_filename(root, "fuzz", "corpus", "kernels", "transformer.json", NULL),
                    *with = g_build_filename(root, "fuzz", "corpus", "latency", "model.json", NULL);
    json_auto_t *large = ifm_json_load(small, NULL);
    json_t *kernels = json_object_get(large, "kernels");
    json_object_set_new(json_array_get(kernels, json_array_size(kernels) - 1), "weight_bytes", json_integer(1 << 20));
    g_autofree char *text = json_dumps(large, 0);
    bench_write(bench, "large.json", text, strlen(text));
    g_autofree char *line =
        g_strdup_printf("evaluate %s large.json %s --with %s -d simulated:ideal/GPU --progress json", small, small, with);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    assert_all_done(&ended);
    run_line(bench, "store export out/evaluate/store.db --format csv -o -", &ended);
    assert_status(&ended, 0);
    guint n_kept = 0;
    for (const char *at = ended.out; (at = strstr(at, "SkipLayerNormalization_")) != NULL; at++)
        n_kept++;
    g_assert_cmpuint(n_kept, ==, 2);
    assert_none_left(bench);
}

/* A table of another collector, of two machines: the latency of "quick" is half of that of "slow". */
static void write_foreign(const Bench *bench)
{
    static const char *const names[] = { "Conv_Relu", "Gemm", "Add", "MaxPool", "Softmax" };
    static const char *const slow = "machine: slow\nflop_per_s: 50e9\nbytes_per_s: 20e9\ncores: 4\n",
                             *const quick = "machine: quick\nflop_per_s: 100e9\nbytes_per_s: 40e9\ncores: 4\n",
                             *const other = "machine: other\nflop_per_s: 70e9\nbytes_per_s: 30e9\ncores: 4\n";
    g_autoptr(GString) csv = g_string_new("name,rows,columns,time,gpu,disturbed\n");
    for (int i = 0; i < 40; i++)
        for (int k = 1; k <= 2; k++)
            g_string_append_printf(csv, "%s,%d,64,%.3f,%s,%d\n", names[i % 5], 400 + 50 * i, (2000.0 + 500 * i) / k,
                                   k == 1 ? "slow" : "quick", i % 10 == 9);
    bench_write(bench, "foreign.csv", csv->str, csv->len);
    bench_write(bench, "slow.yaml", slow, strlen(slow));
    bench_write(bench, "quick.yaml", quick, strlen(quick));
    bench_write(bench, "other.yaml", other, strlen(other));
    bench_write(bench, "half.yaml", "machine: other\n", 15);
}

#define COLUMNS "op=name,shape=rows*columns,latency_us=time,Machine=gpu,FLOP=2000*rows*columns,Input_Bytes=4*rows*columns"
#define FOREIGN "train foreign.csv -o several.json --no-evaluation --columns " COLUMNS

/* (transfer full) The words of a page, one space between them. */
static char *unwrapped(const char *page)
{
    g_autoptr(GRegex) gap = g_regex_new("\\s+", 0, 0, NULL);
    return g_regex_replace_literal(gap, page, -1, 0, " ", 0, NULL);
}

/* None of what is to be said of a prediction hides another, in `predict` as in `evaluate`, and of a machine that was learnt
 * from nothing is said of machines. */
static void assert_warnings(const Bench *bench)
{
    static const char *const far = "machine: far\nflop_per_s: 900e9\nbytes_per_s: 90e9\ncores: 64\n";
    static const char *const texts[] = { "outside of those that were learnt from: ", "the model is of another runtime: 0.1",
                                         "rows that were disturbed while they were measured" };
    static const char *const lines[] = { "predict " MODEL " --with mixed.json --all",
                                         "evaluate " MODEL " --with mixed.json --no-kernels --all" };
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "far.yaml", far, strlen(far));
    run_line(bench,
             "train foreign.csv -o mixed.json --no-evaluation --runtime 0.1 --machines slow.yaml --machines quick.yaml "
             "--columns " COLUMNS ",Disturbed=disturbed",
             &ended);
    assert_status(&ended, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
        for (gsize is_far = 0; is_far < 2; is_far++)
        {
            g_autofree char *line = g_strdup_printf("%s --device %s", lines[i], is_far ? "far.yaml" : "quick");
            run_line(bench, line, &ended);
            assert_status(&ended, 0);
            g_autofree char *all = g_strconcat(ended.out, ended.err, NULL);
            g_autofree char *said = unwrapped(all);
            for (gsize k = 0; k < G_N_ELEMENTS(texts); k++)
                if ((strstr(said, texts[k]) != NULL) != (is_far || k > 0))
                    g_error("%s: \"%s\": %s", line, texts[k], said);
        }
}

/* Learns from several machines, and predicts for one of them and for one that was not measured. */
static void test_machines(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        int status;
        const char *message;
    } rows[] = {
        { FOREIGN, 3, "samples of 2 machines, and \"slow\" is not described (Machine_FLOP_per_s)" },
        { FOREIGN " --machines slow.yaml --machines other.yaml", 3, "other.yaml: no row is of the machine \"other\"" },
        { FOREIGN " --machines half.yaml", 3, "flop_per_s" },
        { FOREIGN " --columns op=name", 2, "--columns: 2 lists for 1 files" },
        { "train foreign.csv -o l.json --columns op=name", 2, "--columns: Input_Shape is not named" },
        { "train foreign.csv -o l.json --columns op=name,shape=rows,latency_us=took", 3, "foreign.csv:1: " },
        { "predict " MODEL " --with several.json", 3, "the model was learnt on 2 machines (slow, quick)" },
        { "evaluate " MODEL " --with several.json", 3, "the model was learnt on 2 machines (slow, quick)" },
        { "predict " MODEL " --with several.json --device half.yaml", 3, "flop_per_s" },
        { "predict " MODEL " --with several.json --device none.yaml", 4, "none.yaml" },
        { "predict " MODEL " --with one.json --device other.yaml", 3, "other: the model was learnt on one machine" },
    };
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    write_foreign(bench);
    run_line(bench, FOREIGN " --machines slow.yaml --machines quick.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "quick"));
    run_line(bench,
             "train foreign.csv -o one.json --no-evaluation --machine both --columns op=name,shape=rows,latency_us=time",
             &ended);
    assert_status(&ended, 0);
    double latencies[3];
    static const char *const devices[] = { "slow", "quick", "other.yaml" };
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        g_autofree char *line = g_strdup_printf("predict " MODEL " --with several.json --json - --device %s", devices[i]);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        json_auto_t *json = parse_output(&ended);
        latencies[i] = ifm_member_number(json_array_get(json_object_get(json, "models"), 0), "latency_ns");
    }
    g_assert_cmpfloat(latencies[0], >, latencies[1]);
    g_assert_cmpfloat(latencies[0], >, latencies[2]);
    run_line(bench, "profile " MODEL " --predict several.json --device other.yaml", &ended);
    assert_status(&ended, 0);
    assert_warnings(bench);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        run_line(bench, rows[i].line, &ended);
        assert_complaint(&ended, rows[i].status, rows[i].message);
    }
}

static void test_misuse(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        int status;
        const char *message;
    } rows[] = {
        { "predict " MODEL, 2, "needs --with FILE" },
        { "predict", 2, "needs MODEL" },
        { "predict " MODEL " --with none.json", 4, "none.json" },
        { "predict " MODEL " --with broken.json", 3, "broken.json" },
        { "evaluate " MODEL, 2, "needs --with FILE" },
        { "evaluate empty --with broken.json", 3, "broken.json" },
        { "train samples.csv", 2, "-o" },
        { "train none.csv -o l.json", 4, "none.csv" },
        { "train text.csv -o l.json", 3, "text.csv:2" },
        { "train far.csv -o l.json", 3, "far.csv:2: FLOP: found 1e+300, expected 0 to 1e+18" },
        { "stress --intensity 2", 2, "--intensity: \"2\" is no share from 0 to 1" },
        { "stress --intensity much", 2, "\"much\" is no share" },
        { "stress --kind gem", 2, "did you mean \"gemm\"?" },
        { "stress --cores 1000", 2, "there is no core 1000" },
        { "stress --device CUDA:x", 2, "device: \"CUDA:x\" is no GPU" },
        { "stress --device CUDA:0 --kind random", 2, "gemm or copy is expected on a GPU" },
        { "stress --device CUDA:0 --cores 0", 2, "cores or a device, not both" },
    };
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "broken.json", "{\"a\": ", 6);
    bench_write(bench, "samples.csv", "Kernel_ID\n", 10);
    static const char text[] = "Kernel_ID,OpType,Input_Shape,Latency_ms\nk,Conv,1x1,soon\n";
    bench_write(bench, "text.csv", text, strlen(text));
    static const char far[] = "Kernel_ID,OpType,Input_Shape,Latency_ms,FLOP\nk,Conv,1x1,1,1e300\n";
    bench_write(bench, "far.csv", far, strlen(far));
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        run_line(bench, rows[i].line, &ended);
        assert_complaint(&ended, rows[i].status, rows[i].message);
    }
}

/* It ends after its time, and at an interruption, and says what it reached. */
static void test_stress(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "stress --kind gemm --intensity 0.2 --cores 0 --for 300ms", &ended);
    assert_status(&ended, 0);
    g_assert_true(g_str_has_prefix(ended.out, "gemm on 1 core: asked 20.0 %, achieved "));
    g_autoptr(GSubprocess) process = start_line(bench, "stress --kind gemm --intensity 0.2 --cores 0");
    while (count_marked(bench) < 2) /* itself and its stressor */
        g_usleep(10000);
    g_subprocess_send_signal(process, SIGINT);
    g_subprocess_wait(process, NULL, NULL);
    g_assert_cmpint(status_of(process), ==, 128 + SIGINT);
    assert_none_left(bench);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/cli/predict/walk", Bench, NULL, bench_init, test_walk, bench_clear);
    g_test_add("/cli/predict/records", Bench, NULL, bench_init, test_records, bench_clear);
    g_test_add("/cli/predict/rings", Bench, NULL, bench_init, test_rings, bench_clear);
    g_test_add("/cli/predict/machines", Bench, NULL, bench_init, test_machines, bench_clear);
    g_test_add("/cli/predict/misuse", Bench, NULL, bench_init, test_misuse, bench_clear);
    g_test_add("/cli/predict/stress", Bench, NULL, bench_init, test_stress, bench_clear);
    return g_test_run();
}
