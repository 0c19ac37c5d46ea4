#include "cli/study-harness.h"

/* A foreign trace whose figures are known: thread 1 works from 0 to 40 us and from 60 to 100 us, thread 2 from 10 to 35. */
#define FOREIGN                                                                                                            \
    "{\"traceEvents\": ["                                                                                                  \
    "{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": 40},"                                    \
    "{\"ph\": \"X\", \"name\": \"b\", \"pid\": 1, \"tid\": 2, \"ts\": 10, \"dur\": 25},"                                   \
    "{\"ph\": \"X\", \"name\": \"c\", \"pid\": 1, \"tid\": 1, \"ts\": 60, \"dur\": 40}]}"

static double number(const json_t *json, const char *key)
{
    const json_t *found = json_object_get(json, key);
    g_assert_true(json_is_number(found));
    return json_number_value(found);
}

static void test_known(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "foreign.json", FOREIGN);
    run_line(bench, "trace foreign.json --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *trace = json_array_get(json_object_get(json, "traces"), 0);
    g_assert_cmpfloat(number(json_object_get(trace, "window"), "duration_ns"), ==, 100000);
    g_assert_cmpfloat(number(trace, "busy_ns"), ==, 105000); /* 80 + 25 */
    g_assert_cmpfloat(number(trace, "idle_ns"), ==, 95000);  /* 2 x 100 - 105 */
    run_line(bench, "trace foreign.json --window 0,50us --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *part = parse_output(&ended);
    g_assert_cmpfloat(number(json_array_get(json_object_get(part, "traces"), 0), "busy_ns"), ==, 65000);
    run_line(bench, "trace foreign.json --html page.html", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
    run_line(bench, "trace foreign.json --csv -", &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) rows = g_strsplit(g_strchomp(ended.out), "\n", -1);
    g_assert_cmpuint(g_strv_length(rows), ==, 4);
}

/* "-" is standard input, plain or packed; messages call it by its name. */
static void test_standard_input(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "foreign.json", FOREIGN);
    run_shell(bench, "sh", "gzip -c foreign.json | \"$INFEROMETER\" trace - --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    g_assert_cmpfloat(number(json_array_get(json_object_get(json, "traces"), 0), "busy_ns"), ==, 105000);
    run_shell(bench, "sh", "\"$INFEROMETER\" trace - < foreign.json", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "standard input"));
    run_shell(bench, "sh", "\"$INFEROMETER\" trace diff - foreign.json < foreign.json", &ended);
    assert_status(&ended, 0);
    run_shell(bench, "sh", "echo '{\"traceEvents\": [' | \"$INFEROMETER\" trace -", &ended);
    assert_complaint(&ended, 3, "standard input: ");
    run_shell(bench, "sh", "\"$INFEROMETER\" trace - --window 5s,6s < foreign.json", &ended);
    assert_complaint(&ended, 3, "inferometer: standard input: --window begins at 5.00 s");
}

static void test_diff(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "a.json", FOREIGN);
    write_text(bench, "b.json", "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 5, \"dur\": 200}]");
    run_line(bench, "trace diff a.json b.json", &ended);
    assert_status(&ended, 0);
    run_line(bench, "trace diff a.json b.json --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *pair = json_array_get(json_object_get(json, "pairs"), 0);
    g_assert_cmpuint(json_array_size(json_object_get(pair, "differences")), >=, 1);
    run_line(bench, "trace diff a.json", &ended);
    assert_complaint(&ended, 2, "a.json holds one trace");
}

static void test_bad(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *text, *part;
    } known[] = {
        { "", "bad.json" },
        { "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"du", "bad.json: byte " },
        { "{\"traceEvents\": [{]}", "bad.json: byte " },
        { "{\"traceEvents\": []}", "bad.json" },
        { "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"dur\": 3}]", "bad.json: byte " },
        { "[{\"ph\": \"E\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 3}]", "bad.json: byte " },
        { "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 1e300, \"dur\": 3}]", "bad.json: byte " },
        { "[{\"ph\": \"B\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 3}]",
          "inferometer: bad.json: nothing in it takes any time: all events begin and end at 3000 ns; a B without its E" },
    };
    g_auto(Ended) ended = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        write_text(bench, "bad.json", known[i].text);
        run_line(bench, "trace bad.json", &ended);
        assert_complaint(&ended, 3, known[i].part);
        g_assert_cmpstr(ended.out, ==, "");
    }
    write_text(bench, "bad.json",
               "[{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 1, \"ts\": 0, \"dur\": 30},"
               "{\"ph\": \"X\", \"name\": \"b\", \"pid\": 1, \"tid\": 1, \"ts\": 20, \"dur\": 30}]");
    run_line(bench, "trace bad.json", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "1 slices begin within another and end after it"));
    g_autoptr(GString) deep = g_string_new("{\"traceEvents\": [{\"ph\": \"X\", \"ts\": 1, \"dur\": 1, \"args\": ");
    for (int i = 0; i < 100000; i++)
        g_string_append_c(deep, '[');
    write_text(bench, "bad.json", deep->str);
    run_line(bench, "trace bad.json", &ended);
    assert_complaint(&ended, 3, "bad.json: byte ");
    run_line(bench, "trace missing.json", &ended);
    assert_complaint(&ended, 4, "missing.json");
    run_line(bench, "trace diff bad.json missing.json", &ended);
    assert_complaint(&ended, 3, "bad.json");
    write_text(bench, "good.json", FOREIGN);
    run_line(bench, "trace good.json --window 200us,300us", &ended);
    assert_complaint(&ended, 3, "--window begins at 200 µs; the last event ends at 100 µs");
    g_assert_cmpstr(ended.out, ==, "");
    run_line(bench, "trace good.json --window 99us,300us", &ended);
    assert_status(&ended, 0);
    run_line(bench, "trace good.json --batch 1", &ended);
    assert_complaint(&ended, 3, "--batch 1: no batch is in it");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/trace/known", Bench, NULL, bench_init, test_known, bench_clear);
    g_test_add("/trace/standard-input", Bench, NULL, bench_init, test_standard_input, bench_clear);
    g_test_add("/trace/diff", Bench, NULL, bench_init, test_diff, bench_clear);
    g_test_add("/trace/bad", Bench, NULL, bench_init, test_bad, bench_clear);
    return g_test_run();
}
