/* report: pages of what stores hold, and of what changed between them. */
#include "harness.h"

static void describe(const Bench *bench, const char *latency)
{
    g_autofree char *text = g_strdup_printf("description: one unit\nprovenance: made up\nunits:\n  ONE:\n"
                                            "    description: fixed\n    latency: {source: fixed, fixed: %s}\n",
                                            latency);
    bench_write(bench, "turn.yaml", text, strlen(text));
}

static void profile(Bench *bench, const char *folder)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line =
        g_strdup_printf("profile small-cnn -q -d simulated:turn/ONE --runs 40 --warmup 2 --no-nodes -o %s", folder);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
}

static char *text_of(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

/* How far medians are apart is said, and not who is faster: each is of one process at its own time. */
static void test_change(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    bench->devices = bench->folder;
    describe(bench, "2 ms");
    profile(bench, "monday");
    describe(bench, "2.4 ms");
    profile(bench, "tuesday");
    run_line(bench, "report monday tuesday -o change.html --figures pictures", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "1 case is in A and B: too few to say what changed"));
    g_assert_nonnull(strstr(ended.out, "small-cnn"));
    g_assert_nonnull(strstr(ended.out, "20."));
    g_assert_null(strstr(ended.out, "different machines"));
    g_autofree char *page = text_of(bench, "change.html"), *picture = text_of(bench, "pictures/changes_ratio.svg");
    g_assert_nonnull(strstr(page, "A: monday"));
    g_assert_nonnull(strstr(page, "B: tuesday"));
    g_assert_null(strstr(page, "higher"));
    g_assert_null(strstr(page, "not told apart"));
    g_assert_true(g_str_has_prefix(picture, "<svg"));
    run_line(bench, "report tuesday monday", &ended);
    g_assert_nonnull(strstr(ended.out, "−16."));
    run_line(bench, "report monday monday/store.db", &ended); /* with itself */
    assert_complaint(&ended, 2, "monday/store.db is the same store as monday: name each once");
    run_line(bench, "report monday", &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.out, "What changed"));
}

static void test_bad(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        int status;
        const char *part;
    } cases[] = {
        { "report", 2, "STORE" },
        { "report nowhere", 4, "nowhere: no such file or folder" },
        { "report .", 3, ".: has no results: no store.db in it" },
        { "report text", 3, "text" },
        { "report kept -o kept/store.db", 2, "is a store, which it would replace" },
        { "report kept -o kept", 4, "kept: cannot be written: Is a directory" },
        { "report kept nowhere -o page.html", 4, "nowhere" },
    };
    g_auto(Ended) ended = { 0 };
    g_autofree char *page = bench_path(bench, "page.html");
    bench->devices = bench->folder;
    describe(bench, "1 ms");
    profile(bench, "kept");
    bench_write(bench, "text", "no store", 8);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        run_line(bench, cases[i].line, &ended);
        assert_complaint(&ended, cases[i].status, cases[i].part);
    }
    g_assert_false(g_file_test(page, G_FILE_TEST_EXISTS));
    run_shell(bench, "sh", "\"$INFEROMETER\" report kept -o /dev/full", &ended);
    assert_complaint(&ended, 4, "/dev/full");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/report/change", Bench, NULL, bench_init, test_change, bench_clear);
    g_test_add("/report/bad-input", Bench, NULL, bench_init, test_bad, bench_clear);
    return g_test_run();
}
