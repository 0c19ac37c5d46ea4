#include "cli/harness.h"

/* Files that pages and pictures cannot be written to. What pages look like: tests/page. */

static void test_bad(Bench *bench, gconstpointer data)
{
    static const char foreign[] =
        "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": 4}]}";
    static const struct
    {
        const char *line;
        int status;
        const char *part;
    } cases[] = {
        { "trace a.json --html .", 4, ".: cannot be written: Is a directory" },
        { "trace a.json --html nowhere/page.html", 4, "nowhere/page.html: cannot be written" },
        { "trace a.json --html a.json", 2, "is the same file as the input a.json" },
        { "trace a.json --html - --json -", 2, "cannot both go to standard output" },
        { "trace a.json --figures a.json", 4, "a.json: cannot be made" },
    };
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "a.json", foreign, strlen(foreign));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        run_line(bench, cases[i].line, &ended);
        assert_complaint(&ended, cases[i].status, cases[i].part);
    }
    run_shell(bench, "sh", "\"$INFEROMETER\" trace a.json --html /dev/full", &ended);
    assert_complaint(&ended, 4, "/dev/full");
    run_line(bench, "trace a.json --html -", &ended);
    assert_status(&ended, 0);
    g_assert_true(g_str_has_prefix(ended.out, "<!DOCTYPE html>") && g_str_has_suffix(ended.out, "</html>\n"));
    g_assert_cmpuint(strlen(ended.out), <, 1 << 20);
    g_assert_null(strstr(ended.out, "src=\"http"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/page/bad-input", Bench, NULL, bench_init, test_bad, bench_clear);
    return g_test_run();
}
