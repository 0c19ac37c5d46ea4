/* Output files that are what the command reads, the store, or each other: refused, and nothing is lost. */
#include "run-harness.h"
#include "samples.h"

#define OWN "zoo export small-cnn -q -o own.onnx"

static char *digest(const Bench *bench, const char *name)
{
    g_autofree char *path = g_build_filename(bench->folder, name, NULL), *bytes = NULL;
    gsize n;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(path, &bytes, &n, &error);
    g_assert_no_error(error);
    return g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, n);
}

static void expect_kept(const Bench *bench, const char *kept, const char *line, const char *said)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *before = digest(bench, kept);
    run_line(bench, line, &ended);
    assert_complaint(&ended, 2, said);
    g_autofree char *after = digest(bench, kept);
    g_assert_cmpstr(before, ==, after);
}

static void prepare(const Bench *bench)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, OWN, &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile -q -o out own.onnx -p runtime -d simulated:ideal/GPU --runs 2 --json r.json", &ended);
    assert_status(&ended, 0);
    g_autofree char *from = g_build_filename(bench->folder, "link.onnx", NULL);
    g_assert_cmpint(symlink("own.onnx", from), ==, 0);
    g_autofree char *hard = g_build_filename(bench->folder, "hard.onnx", NULL);
    g_autofree char *own = g_build_filename(bench->folder, "own.onnx", NULL);
    g_assert_cmpint(link(own, hard), ==, 0);
}

static void test_inputs(Bench *bench, gconstpointer data)
{
    prepare(bench);
    expect_kept(bench, "own.onnx", "profile -o out own.onnx -p flops --json own.onnx", "--json own.onnx: is the same file");
    expect_kept(bench, "own.onnx", "profile -o out own.onnx -p flops --csv ./out/../own.onnx", "is the same file");
    expect_kept(bench, "own.onnx", "profile -o out link.onnx -p flops --json hard.onnx", "is the same file");
    expect_kept(bench, "own.onnx", "compare -o out own.onnx r.json --csv own.onnx", "is the same file");
    expect_kept(bench, "r.json", "trace r.json --csv r.json", "is the same file as the input r.json");
    expect_kept(bench, "r.json", "trace diff own.onnx r.json --json r.json", "is the same file as the input r.json");
    expect_kept(bench, "r.json", "plan --compare r.json --json r.json", "the input of --compare r.json");
}

/* A model's weights beside it are as much its own as its file; so are the models that are kept. */
static void test_models(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "zoo export resnet18 size=64 -o mine.onnx", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile -q -o out resnet18,size=64 -p runtime -d simulated:ideal/GPU --runs 2", &ended);
    assert_status(&ended, 0);
    static const char weights[] = "mine.weights", kept[] = "out/models/resnet18,size=64.onnx";
    expect_kept(bench, weights, "profile -o new mine.onnx -p flops --json mine.weights", "of the model, which it");
    expect_kept(bench, weights, "compare -o new mine.onnx matmul --csv mine.weights", "of the model, which it");
    expect_kept(bench, weights, "compare -o new matmul mine.onnx --json mine.weights", "of the model, which it");
    expect_kept(bench, kept, "profile -o out matmul -p flops --json out/models/resnet18,size=64.onnx",
                "is in the folder where models are kept");
    expect_kept(bench, kept, "profile -o out matmul -p flops --csv out/models/new.csv", "where models are kept");
    run_line(bench, "profile -q -o out mine.onnx -p flops --json out/r.json", &ended);
    assert_status(&ended, 0);
}

static void test_stores(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    prepare(bench);
    expect_kept(bench, "out/store.db", "store export out/store.db -o out/store.db", "is the same file as the input");
    expect_kept(bench, "out/store.db", "store export out/store.db --json out/store.db", "is the same file as the input");
    expect_kept(bench, "out/store.db", "profile -o out own.onnx --csv out/store.db", "is the same file as the store");
    expect_kept(bench, "out/store.db", "profile -o new own.onnx --csv out/store.db", "is a store");
    expect_kept(bench, "own.onnx", "profile -o . own.onnx --csv store.db", "is the same file as the store");
    run_line(bench, "store check -q out/store.db", &ended);
    assert_status(&ended, 0);
}

static void test_each_other(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    prepare(bench);
    expect_kept(bench, "own.onnx", "profile -o out own.onnx -p flops --json x --csv x",
                "--csv x: is the same file as the --json x");
    expect_kept(bench, "own.onnx", "profile -o out own.onnx -p flops --json x --csv out/../x", "is the same file");
    expect_kept(bench, "r.json", "profile -o out own.onnx -p flops --json r.json --csv r.json", "is the same file");
    run_line(bench, "profile -q -o out own.onnx -p flops --json /dev/null --csv /dev/null", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile -q -o out own.onnx -p flops --json r.json --csv r.csv",
             &ended); /* over older results: as ever */
    assert_status(&ended, 0);
}

/* The verbs that --help lists. */
static GPtrArray *verbs_of(const Bench *bench)
{
    g_auto(Ended) ended = { 0 };
    GPtrArray *verbs = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GMatchInfo) match = NULL;
    g_autoptr(GRegex) row = g_regex_new("^  ([a-z]+(?: [a-z]+)?)  +[a-z]", G_REGEX_MULTILINE, 0, NULL);
    run_line(bench, "--help", &ended);
    for (g_regex_match(row, ended.out, 0, &match); g_match_info_matches(match); g_match_info_next(match, NULL))
        g_ptr_array_add(verbs, g_match_info_fetch(match, 1));
    return verbs;
}

/* Every option of every verb that names a file to be written refuses a link to a file, there or not, before anything is
 * done; one to a device is none of those. */
static void test_links(Bench *bench, gconstpointer data)
{
    static const char *const names[] = { "link", "dangling" };
    g_auto(Ended) ended = { 0 };
    guint n_options = 0;
    g_autoptr(GPtrArray) verbs = verbs_of(bench);
    g_autoptr(GRegex) row =
        g_regex_new("--(?|(json|csv|html|trace|candidates|output|log) FILE|([a-z-]+) FILE +write)", 0, 0, NULL);
    bench_write(bench, "precious", "mine", 4);
    g_autofree char *link = bench_path(bench, names[0]), *dangling = bench_path(bench, names[1]),
                    *nowhere = bench_path(bench, "nowhere");
    g_assert_cmpint(symlink("precious", link) + symlink("nowhere", dangling), ==, 0);
    for (guint i = 0; i < verbs->len; i++)
    {
        g_autoptr(GMatchInfo) match = NULL;
        g_auto(Ended) help = { 0 };
        g_autofree char *ask = g_strdup_printf("help %s", (const char *)verbs->pdata[i]);
        run_line(bench, ask, &help);
        for (g_regex_match(row, help.out, 0, &match); g_match_info_matches(match); g_match_info_next(match, NULL))
        {
            g_autofree char *option = g_match_info_fetch(match, 1), *part = g_strdup_printf("--%s: ", option);
            static const char *const words[] = { "", " x", " x y" };
            for (gsize n = 0; n < G_N_ELEMENTS(words) && (n == 0 || ended.status == 2); n++) /* as many as it needs */
            {
                g_autofree char *line =
                    g_strdup_printf("%s%s --%s %s", (const char *)verbs->pdata[i], words[n], option, names[n_options % 2]);
                run_line(bench, line, &ended);
            }
            assert_complaint(&ended, 4, part);
            g_assert_nonnull(strstr(ended.err, "is a symbolic link"));
            n_options++;
        }
    }
    g_assert_cmpuint(n_options, >=, 60);
    g_assert_false(g_file_test(nowhere, G_FILE_TEST_EXISTS));
    g_autofree char *kept = digest(bench, "precious"), *mine = g_compute_checksum_for_string(G_CHECKSUM_SHA256, "mine", 4);
    g_assert_cmpstr(kept, ==, mine);
    run_line(bench, "devices --json /dev/stdout", &ended);
    assert_status(&ended, 0);
}

/* A figure that is a link already is not written through either. */
static void test_figure_link(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *folder = bench_path(bench, "figures");
    run_line(bench, "profile -q -o out matmul -d simulated:ideal/GPU --figures figures", &ended);
    assert_status(&ended, 0);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_autofree char *name = g_strdup(g_dir_read_name(dir)), *path = g_build_filename(folder, name, NULL);
    bench_write(bench, "precious", "mine", 4);
    g_assert_cmpint(g_unlink(path) + symlink("../precious", path), ==, 0);
    g_autofree char *before = digest(bench, "precious");
    run_line(bench, "profile -q -o out matmul -d simulated:ideal/GPU --figures figures", &ended);
    assert_complaint(&ended, 4, "is a symbolic link");
    g_autofree char *after = digest(bench, "precious");
    g_assert_cmpstr(before, ==, after);
}

/* --- documents -------------------------------------------------------------------------------------------------------- */

/* The table of that key, wherever it stands; NULL. */
static const json_t *table_of(const json_t *document, const char *key)
{
    const json_t *section, *block;
    gsize s, b;
    json_array_foreach(json_object_get(document, "sections"), s, section)
        json_array_foreach(json_object_get(section, "blocks"), b,
                           block) if (g_strcmp0(json_string_value(json_object_get(block, "key")), key) == 0) return block;
    return NULL;
}

/* Each verb that reports writes what it shows, with the cells under their keys; to standard output in place of the page. */
static void test_documents(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line, *of, *table, *column;
    } rows[] = {
        { "profile own.onnx -d simulated:ideal/GPU --runs 2", "profile", "devices", "median_ns" },
        { "profile matmul --dim m=8,16,32 -d simulated:ideal/GPU --runs 2", "scaling", "points-1", "median_ns" },
        { "profile --estimate linear", "estimate", "parts", "flop" },
        { "compare own.onnx own.onnx --device simulated:ideal/GPU --no-accuracy", "comparison", "sides", "median_ns" },
        { "store show", "measurements", "measurements", "median_ns" },
        { "store export", "measurements", "measurements", "median_ns" },
        { "report out", "stores", "stores", NULL },
        { "devices", "devices", "devices", "spec" },
        { "devices", "devices", "engines", "available" },
        { "zoo list", "models", "models", "help" },
        { "zoo list", "models", "parameters", "model" },
        { "study list", "studies", "studies", "title" },
        { "study status laptop", "study", "devices", NULL },
        { "study export laptop", "study", "devices", NULL },
        { "study lookup laptop --nodes 2500 --edges 4000", "stages", "stages", "latency_ns" },
        { "plan laptop --size 5000,10000 --trace plan.trace", "plan", "blocks", "alone_ns" },
        { "trace plan.trace", "trace", "devices", "wall_utilisation" },
        { "trace diff plan.trace plan.trace", "trace-diff", "differences", NULL },
        { "kernels run own.onnx -d simulated:ideal/GPU --runs 2", "kernels", "kernels", "median_ns" },
        { "tune --cache none.json", "tuned", "tuned", NULL },
    };
    g_auto(Ended) ended = { 0 };
    prepare(bench);
    g_autofree char *import =
        g_strdup_printf("study import %s/data/meteor-lake/large-55-sizes.csv --name laptop -q", IFM_SOURCE_DIR);
    run_line(bench, import, &ended);
    assert_status(&ended, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *line = g_strdup_printf("%s -q --document -", rows[i].line);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        json_auto_t *document = json_loads(ended.out, 0, NULL); /* and nothing else */
        if (document == NULL)
            g_error("%s: no document: %.200s", line, ended.out);
        g_assert_cmpstr(ifm_member_text(document, "inferometer.format"), ==, "document");
        g_assert_cmpstr(ifm_member_text(document, "of"), ==, rows[i].of);
        const json_t *table = table_of(document, rows[i].table);
        if (table == NULL)
            g_error("%s: no table %s: %.2000s", line, rows[i].table, ended.out);
        const json_t *first = json_array_get(json_object_get(table, "rows"), 0);
        g_assert_true(rows[i].column == NULL || !json_is_null(json_object_get(first, rows[i].column)));
        g_assert_true(rows[i].column == NULL || json_object_get(first, rows[i].column) != NULL);
    }
}

/* --- as JSON ---------------------------------------------------------------------------------------------------------- */

#define IDEAL " -d simulated:ideal/GPU"
#define REAL " -d onnxruntime:CPU"
#define STUDY "devices: {A: {device: simulated:ideal/GPU}}\nprotocol: {warmup: 0, runs: 2}\n"
#define CONVOLUTIONS                                                                                                       \
    "title: two\nkind: conv-algorithms\nmodels: [small-cnn]\nalgorithms: [runtime]\nsizes: [16, 32]\n" STUDY
#define POINTS "title: points\nkind: profile\nmodels: [matmul]\n" STUDY

/* In this order: one reads what another wrote. @format: "" is a list, as it was published; NULL: "format" stands at the
 * top. @real: a runtime is needed */
static const struct
{
    const char *verb, *words, *format;
    gboolean real;
} json_verbs[] = {
    { "profile", "own.onnx --runs 2 -o out" IDEAL, "cases" },
    { "profile", "matmul --dim m=8,16 --runs 2 -o sweep" IDEAL, "cases" },
    { "profile", "--estimate linear", "estimate" },
    { "compare", "own.onnx own.onnx --device simulated:ideal/GPU --no-accuracy", "comparison" },
    { "study run", "points.yaml", "study_points" },
    { "study run", "convolutions.yaml", "study_points" },
    { "study predict", "convolutions --model small-cnn --size 24", "" },
    { "study export", "laptop", "study_stages" },
    { "study lookup", "laptop --nodes 2500 --edges 4000", "" },
    { "plan", "laptop --size 5000,10000 --trace plan.trace", NULL },
    { "run", "chain.json --batches 4 --repetitions 1 -o run", "runs" },
    { "trace", "plan.trace", "trace" },
    { "trace diff", "plan.trace plan.trace", "trace-diff" },
    { "devices", "", "devices" },
    { "zoo list", "", "zoo" },
    { "report", "out/laptop", "document" },
    { "store export", "out/store.db", "cases" },
    { "kernels run", "own.onnx --runs 2" IDEAL, "" },
    { "train", "samples.csv -o latency.json --no-evaluation", "document" },
    { "tune", "--cache none.json", "tune" },
    { "help", "", NULL },
    { "kernels list", "own.onnx" REAL, "document", TRUE },
    { "kernels extract", "own.onnx -o extracted" REAL, "", TRUE },
    { "kernels show", "matmul MatMul" REAL, "document", TRUE },
    { "predict", "matmul --with latency.json" REAL, "prediction", TRUE },
    { "evaluate", "matmul --with latency.json --no-kernels", "document", TRUE },
};

/* Every verb that has --json is in the table. */
static void check_complete(const Bench *bench)
{
    g_auto(Ended) ended = { 0 };
    const json_t *verb, *option;
    gsize i, k;
    run_line(bench, "help --json -", &ended);
    json_auto_t *help = parse_output(&ended);
    json_array_foreach(json_object_get(help, "verbs"), i, verb)
        json_array_foreach(json_object_get(verb, "options"), k, option)
    {
        const char *name = ifm_member_text(verb, "name");
        gboolean has = !g_str_equal(ifm_member_text(option, "name"), "json");
        for (gsize row = 0; row < G_N_ELEMENTS(json_verbs); row++)
            has |= g_str_equal(json_verbs[row].verb, name);
        if (!has)
            g_error("%s: its --json is not tried", name);
    }
}

static void check_json(const Bench *bench, const char *verb, const char *words, const char *format)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line =
        g_strdup_printf("$INFEROMETER %s %s %s --json -", verb, words, g_str_equal(verb, "help") ? "" : "-q");
    run_shell(bench, "sh", line, &ended);
    json_auto_t *json = json_loads(ended.out, 0, NULL); /* and nothing else */
    if (ended.status != 0 || json == NULL)
        g_error("%s: status %d: %.200s%.200s", line, ended.status, ended.out, ended.err);
    if (format == NULL)
        g_assert_nonnull(json_object_get(json, "format"));
    else if (*format == '\0')
        g_assert_cmpuint(json_array_size(json), >, 0);
    else
    {
        g_assert_cmpstr(ifm_member_text(json, "inferometer.format"), ==, format);
        g_assert_cmpstr(ifm_member_text(json, "inferometer.version"), ==, IFM_VERSION);
        g_assert_true(json_is_integer(ifm_member(json, "inferometer.format_version")));
    }
}

static void test_json(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    prepare(bench);
    check_complete(bench);
    write_samples(bench);
    bench_write(bench, "points.yaml", POINTS, strlen(POINTS));
    bench_write(bench, "chain.json", CHAIN, strlen(CHAIN));
    bench_write(bench, "convolutions.yaml", CONVOLUTIONS, strlen(CONVOLUTIONS));
    g_autofree char *import =
        g_strdup_printf("study import %s/data/meteor-lake/large-55-sizes.csv --name laptop -q", IFM_SOURCE_DIR);
    run_line(bench, import, &ended);
    assert_status(&ended, 0);
    gboolean real = bench_has_device(bench, "onnxruntime:CPU", "");
    for (gsize i = 0; i < G_N_ELEMENTS(json_verbs); i++)
        if (real || !json_verbs[i].real)
            check_json(bench, json_verbs[i].verb, json_verbs[i].words, json_verbs[i].format);
}

/* What goes to standard output takes the place of the page alone: the other files are written all the same. */
static void test_beside_stdout(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    prepare(bench);
    run_line(bench, "profile -q own.onnx -d simulated:ideal/GPU --runs 2 --json - --html page.html --figures pictures",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *json = json_loads(ended.out, 0, NULL);
    g_assert_nonnull(json);
    g_autofree char *page = bench_path(bench, "page.html"), *picture = bench_path(bench, "pictures/times.svg");
    g_assert_true(g_file_test(page, G_FILE_TEST_EXISTS) && g_file_test(picture, G_FILE_TEST_EXISTS));
    /* a file of its own that a verb could not write is the answer: no page follows */
    g_autofree char *import =
        g_strdup_printf("study import %s/data/meteor-lake/large-55-sizes.csv --name laptop -q", IFM_SOURCE_DIR);
    run_line(bench, import, &ended);
    run_line(bench, "plan laptop --size 5000,10000 --candidates /dev/full --html late.html", &ended);
    assert_complaint(&ended, 4, "/dev/full");
    g_assert_cmpstr(ended.out, ==, "");
    expect_kept(bench, "own.onnx", "profile own.onnx -p flops --html own.onnx", "is the same file as the input");
    expect_kept(bench, "own.onnx", "profile own.onnx -p flops --document own.onnx", "is the same file as the input");
    expect_kept(bench, "own.onnx", "profile own.onnx -p flops --json a.json --log a.json",
                "is the same file as the --log a.json");
    /* where --output is a folder, the other outputs are checked all the same */
    expect_kept(bench, "own.onnx", "zoo export --config own.onnx -o out --log own.onnx", "is the same file as the");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/outputs/inputs", Bench, NULL, bench_init, test_inputs, bench_clear);
    g_test_add("/outputs/models", Bench, NULL, bench_init, test_models, bench_clear);
    g_test_add("/outputs/stores", Bench, NULL, bench_init, test_stores, bench_clear);
    g_test_add("/outputs/each-other", Bench, NULL, bench_init, test_each_other, bench_clear);
    g_test_add("/outputs/links", Bench, NULL, bench_init, test_links, bench_clear);
    g_test_add("/outputs/figure-link", Bench, NULL, bench_init, test_figure_link, bench_clear);
    g_test_add("/outputs/documents", Bench, NULL, bench_init, test_documents, bench_clear);
    g_test_add("/outputs/json", Bench, NULL, bench_init, test_json, bench_clear);
    g_test_add("/outputs/beside-stdout", Bench, NULL, bench_init, test_beside_stdout, bench_clear);
    return g_test_run();
}
