/* The first lines of a terminal, "summary" in JSON and the first screen of a page say the same, of each verb that reports.
 */
#include "cli/samples.h"
#include "run-harness.h"

static char *file_of(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

/* Blanks at which no line breaks as blanks; of a page its characters as they are read. (transfer full) */
static char *plain_of(const char *text)
{
    static const char *const spelt[][2] = { { "\302\240", " " }, { "&lt;", "<" },  { "&gt;", ">" }, { "&quot;", "\"" },
                                            { "&apos;", "'" },   { "&#39;", "'" }, { "&amp;", "&" } };
    GString *out = g_string_new(text);
    for (gsize i = 0; i < G_N_ELEMENTS(spelt); i++)
        g_string_replace(out, spelt[i][0], spelt[i][1], 0);
    return g_string_free(out, FALSE);
}

static void assert_says(const char *where, const char *line, const char *text, const char *wanted)
{
    g_autofree char *plain = wanted != NULL ? plain_of(wanted) : NULL;
    if (plain != NULL && strstr(text, plain) == NULL)
        g_error("%s: \"%s\" is not in %s:\n%.3000s", line, plain, where, text);
}

/* @script: a command; the three forms of its answer are compared. @json: whether it has --json, too */
static void check_verb(const Bench *bench, const char *script, gboolean json)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("COLUMNS=9999 $INFEROMETER %s --html page.html --document document.json%s",
                                            script, json ? " --json own.json" : "");
    run_shell(bench, "sh", line, &ended);
    assert_status(&ended, 0);
    g_autofree char *text = file_of(bench, "document.json"), *own_text = json ? file_of(bench, "own.json") : NULL,
                    *page = file_of(bench, "page.html"), *read = plain_of(page), *screen = plain_of(ended.out);
    json_auto_t *document = json_loads(text, 0, NULL), *own = json ? json_loads(own_text, 0, NULL) : NULL;
    const json_t *summary = json_object_get(document, "summary"),
                 *next = json_array_get(json_object_get(summary, "next"), 0);
    const char *const wanted[] = { ifm_member_text(summary, "verdict"), ifm_member_text(summary, "trust.words"),
                                   ifm_member_text(summary, "detail"), ifm_member_text(next, "text"),
                                   ifm_member_text(next, "command") };
    if (wanted[0] == NULL)
        g_error("%s: no verdict", script);
    for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++)
    {
        assert_says("the terminal", script, screen, wanted[i]);
        assert_says("the page", script, read, wanted[i]);
    }
    g_assert_nonnull(strstr(ifm_member_text(summary, "provenance.command"), "inferometer "));
    if (json)
        g_assert_true(json_equal(summary, json_object_get(own, "summary")));
    g_autofree char *hero = g_strndup(read, (gsize)(strstr(read, "</h1>") - read));
    assert_says("the page's heading", script, hero, wanted[0]);
}

#define POINTS                                                                                                             \
    "title: points\nkind: profile\nmodels: [matmul]\ndevices: {A: {device: simulated:ideal/CPU}}\n"                        \
    "protocol: {warmup: 1, runs: 5}\n"

static const struct
{
    const char *script;
    gboolean json, is_of_tests; /* whose devices these are */
} verbs[] = {
    { "profile small-cnn -q -d simulated:ideal/CPU --runs 5 --warmup 0 -o one", TRUE },
    { "profile small-cnn -q -d simulated:ideal/CPU --runs 5 --warmup 0 --mode train -o two", TRUE },
    { "profile matmul -q --dim m=8,16,32 -d simulated:ideal/CPU --runs 5 --warmup 0 -o three", TRUE },
    { "profile small-cnn -q --profile flops", TRUE },
    { "compare matmul matmul -q -d simulated:ideal/CPU --max-pairs 6 --rounds 2", TRUE },
    { "plan laptop --size 5000,10000 --trace plan.json", TRUE },
    { "run chain.json -q --batches 8 --repetitions 2 -o four", TRUE, TRUE },
    { "trace plan.json", TRUE },
    { "trace diff plan.json plan.json", TRUE },
    { "study export laptop", TRUE },
    { "study run points.yaml -q", TRUE },
    { "report laptop", TRUE },
    { "report one two", TRUE },
    { "train samples.csv -o latency.json --no-evaluation", TRUE },
};

static void test_verbs(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *devices = g_build_filename(IFM_SOURCE_DIR, "devices", NULL),
                    *import =
                        g_strdup_printf("study import -q %s/data/meteor-lake/large-55-sizes.csv -o laptop", IFM_SOURCE_DIR);
    bench->devices = devices;
    run_line(bench, import, &ended);
    assert_status(&ended, 0);
    bench_write(bench, "chain.json", CHAIN, strlen(CHAIN));
    write_samples(bench);
    bench_write(bench, "points.yaml", POINTS, strlen(POINTS));
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
    {
        bench->devices = verbs[i].is_of_tests ? NULL : devices;
        check_verb(bench, verbs[i].script, verbs[i].json);
    }
}

/* The trace of a run says which CPU recorded it, and when. */
static void test_trace_of_run(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "chain.json", CHAIN, strlen(CHAIN));
    run_line(bench, "run chain.json -q --batches 8 --repetitions 2 -o four --trace run.json.gz --document run.json",
             &ended);
    assert_status(&ended, 0);
    run_line(bench, "trace run.json.gz --document trace.json", &ended);
    assert_status(&ended, 0);
    json_auto_t *run = load_json(bench, "run.json"), *trace = load_json(bench, "trace.json");
    const json_t *of_run = ifm_member(run, "summary.provenance.facts"),
                 *facts = ifm_member(trace, "summary.provenance.facts");
    g_assert_nonnull(ifm_member_text(facts, "when"));
    g_assert_nonnull(ifm_member_text(facts, "CPU"));
    g_assert_cmpstr(ifm_member_text(facts, "when"), ==, ifm_member_text(of_run, "when"));
    g_assert_true(g_str_has_prefix(ifm_member_text(of_run, "CPU"), ifm_member_text(facts, "CPU")));
}

/* A step that is what was typed again has it to copy, without what would spare it the measuring. */
static void test_next(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *devices = g_build_filename(IFM_SOURCE_DIR, "devices", NULL);
    bench->devices = devices;
    run_line(bench, "compare matmul matmul -d simulated:ideal/NOISY --max-pairs 2 --rounds 2 -q --document two.json",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *document = load_json(bench, "two.json");
    const json_t *next = json_array_get(ifm_member(document, "summary.next"), 0);
    g_assert_true(g_str_has_prefix(ifm_member_text(next, "command"),
                                   "inferometer compare matmul matmul -d simulated:ideal/NOISY --rounds 2 -q --document "
                                   "two.json --time-budget "));
    g_assert_true(g_str_has_suffix(ifm_member_text(next, "command"), " --max-pairs 200"));
    run_line(bench, "profile small-cnn -q --profile flops --document flops.json", &ended);
    assert_status(&ended, 0);
    json_auto_t *flops = load_json(bench, "flops.json");
    g_assert_cmpstr(ifm_member_text(json_array_get(ifm_member(flops, "summary.next"), 0), "command"), ==,
                    "inferometer profile zoo:small-cnn -d onnxruntime:CPU");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/summaries/verbs", Bench, NULL, bench_init, test_verbs, bench_clear);
    g_test_add("/summaries/trace-of-run", Bench, NULL, bench_init, test_trace_of_run, bench_clear);
    g_test_add("/summaries/next", Bench, NULL, bench_init, test_next, bench_clear);
    return g_test_run();
}
