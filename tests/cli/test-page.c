#include <math.h>

#include "cli/study-harness.h"

/*
 * Pages in a browser. A probe (page-probe.js) is put into a copy of the page; Chromium loads it from disk, the probe draws
 * every figure, sorts, filters, zooms, saves, and leaves what it saw in the page, which is read back here.
 */

#define CHROMIUM "chromium"

static gboolean has_browser(void)
{
    g_autofree char *path = g_find_program_in_path(CHROMIUM);
    if (path == NULL)
        g_test_skip("no " CHROMIUM " on this machine");
    return path != NULL;
}

static char *load(const Bench *bench, const char *name)
{
    g_autofree char *path = bench_path(bench, name);
    char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

/* What the probe left, from the page as the browser has it. (transfer full) */
static json_t *read_probe(const char *dom)
{
    const char *begin = strstr(dom, "<pre id=\"probe\">"), *end = begin != NULL ? strstr(begin, "</pre>") : NULL;
    if (end == NULL)
        g_error("the probe left nothing: %.600s", dom);
    g_autofree char *text =
        g_strndup(begin + strlen("<pre id=\"probe\">"), (gsize)(end - begin) - strlen("<pre id=\"probe\">"));
    static const char *const letters[][2] = {
        { "&lt;", "<" }, { "&gt;", ">" }, { "&quot;", "\"" }, { "&nbsp;", "\302\240" }, { "&amp;", "&" }
    };
    for (gsize i = 0; i < G_N_ELEMENTS(letters); i++)
    {
        g_auto(GStrv) parts = g_strsplit(text, letters[i][0], -1);
        g_free(text);
        text = g_strjoinv(letters[i][1], parts);
    }
    json_t *json = json_loads(text, 0, NULL);
    g_assert_nonnull(json);
    return json;
}

/* Loads a page with the probe in it in a window of that width. (transfer full) */
static json_t *visit(const Bench *bench, const char *name, int width)
{
    g_autofree char *page = load(bench, name), *probe = NULL;
    g_autofree char *probe_path = g_build_filename(g_getenv("IFM_TEST_DATA"), "cli", "page-probe.js", NULL);
    g_assert_true(g_file_get_contents(probe_path, &probe, NULL, NULL));
    char *end = g_strrstr(page, "</body>");
    g_assert_nonnull(end);
    g_autoptr(GString) probed = g_string_new_len(page, end - page);
    g_string_append_printf(probed, "<script>\n%s</script>%s", probe, end);
    bench_write(bench, "probed.html", probed->str, probed->len);
    g_autofree char *script = g_strdup_printf(
        "HOME=\"$PWD\" timeout 100 " CHROMIUM " --headless --no-sandbox --disable-gpu --disable-background-networking "
        "--no-first-run --user-data-dir=\"$PWD/browser\" --window-size=%d,1400 --virtual-time-budget=600000 "
        "--enable-logging=stderr --dump-dom \"file://$PWD/probed.html\"",
        width);
    g_auto(Ended) ended = { 0 };
    run_shell(bench, "sh", script, &ended);
    assert_status(&ended, 0);
    const char *complaint = strstr(ended.err, "CONSOLE");
    if (complaint != NULL)
        g_error("the browser complains: %.300s", complaint);
    json_t *seen = read_probe(ended.out);
    const char *error = json_string_value(json_object_get(seen, "error"));
    if (error != NULL)
        g_error("in the page: %s", error);
    g_assert_cmpuint(json_array_size(json_object_get(seen, "requests")), ==, 0);
    g_assert_cmpint(json_integer_value(json_object_get(seen, "violations")), ==, 0);
    g_assert_cmpint(json_integer_value(json_object_get(seen, "too_wide")), <=, 0);
    return seen;
}

static gint64 integer(const json_t *json, const char *key)
{
    g_assert_true(json_is_integer(json_object_get(json, key)));
    return json_integer_value(json_object_get(json, key));
}

/* Every figure has as many marks as its data has points, and every table sorts and filters. */
static void check_seen(const json_t *seen, gsize n_figures, gsize n_tables)
{
    gsize i;
    json_t *one;
    g_assert_cmpuint(json_array_size(json_object_get(seen, "figures")), >=, n_figures);
    g_assert_cmpuint(json_array_size(json_object_get(seen, "tables")), >=, n_tables);
    json_array_foreach(json_object_get(seen, "figures"), i, one)
    {
        const char *key = json_string_value(json_object_get(one, "key")),
                   *kind = json_string_value(json_object_get(one, "kind"));
        gint64 points = integer(one, "points"), marks = integer(one, "marks");
        g_test_message("%s (%s): %" G_GINT64_FORMAT " points, %" G_GINT64_FORMAT " marks", key, kind, points, marks);
        g_assert_cmpint(points, >, 0);
        if (g_str_equal(kind, "timeline") || json_is_true(json_object_get(one, "dense")))
            g_assert_cmpint(marks, <=, points);
        else
            g_assert_cmpint(marks, ==, points);
        g_assert_cmpint(marks, >, 0);
        g_assert_cmpint(integer(one, "shapes"), >, 0);
        g_assert_cmpint(integer(one, "height"), >, 60);
    }
    json_array_foreach(json_object_get(seen, "tables"), i, one)
    {
        gint64 filtered = integer(one, "filtered");
        g_assert_true(json_is_true(json_object_get(one, "sorted")));
        g_assert_true(filtered == -1 || (filtered >= 1 && filtered <= integer(one, "rows")));
        g_assert_true(filtered == -1 || json_is_true(json_object_get(one, "filter_right")));
    }
}

/* --- pages ------------------------------------------------------------------------------------------------------------ */

/* The figures of a page are those of the analysis: the table of its CSV is what the exports have. */
static void test_trace(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!has_browser())
        return;
    g_autoptr(GString) trace = g_string_new("{\"traceEvents\": [");
    for (int i = 0; i < 400; i++)
        g_string_append_printf(trace,
                               "%s{\"ph\": \"X\", \"name\": \"</script><script>window.hostile=1</script>\", \"pid\": 1, "
                               "\"tid\": %d, \"ts\": %d, \"dur\": %d}",
                               i > 0 ? ", " : "", i % 3, 10 * i, 5 + i % 4);
    g_string_append(trace, "]}");
    bench_write(bench, "foreign.json", trace->str, trace->len);
    run_line(bench, "trace foreign.json --html page.html --figures pictures", &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.out, "Timeline")); /* which the terminal shows where it was asked for */
    const int widths[] = { 400, 1600 };
    for (gsize i = 0; i < G_N_ELEMENTS(widths); i++)
    {
        json_auto_t *seen = visit(bench, "page.html", widths[i]);
        check_seen(seen, 2, 1);
        g_assert_cmpint(integer(seen, "scripts_run"), ==, 0);
        const json_t *figures = json_object_get(seen, "figures");
        const json_t *timeline = json_array_get(figures, json_array_size(figures) - 1);
        g_assert_cmpstr(json_string_value(json_object_get(timeline, "key")), ==, "timeline");
        g_assert_cmpint(integer(timeline, "points"), ==, 400);
        g_assert_cmpint(integer(timeline, "marks"), ==, 400);
        g_assert_cmpint(integer(timeline, "zoomed"), <, 40);
        g_auto(GStrv) lines = g_strsplit(json_string_value(json_object_get(timeline, "csv")), "\r\n", -1);
        g_assert_cmpuint(g_strv_length(lines), ==, 402); /* a header, and nothing after the last line */
        g_assert_nonnull(strstr(lines[1], ",0,"));
    }
    g_autofree char *picture = load(bench, "pictures/timeline.svg");
    g_assert_true(g_str_has_prefix(picture, "<svg "));
    g_assert_null(strstr(picture, "<script"));
}

static const json_t *figure_of(const json_t *seen, const char *key)
{
    gsize i;
    json_t *one;
    json_array_foreach(json_object_get(seen, "figures"), i,
                       one) if (g_strcmp0(ifm_member_text(one, "key"), key) == 0) return one;
    g_error("the page has no figure %s", key);
}

/* The latencies of a surface, as the page saves them, are those of the exported table. */
static void check_surface(Bench *bench, const json_t *seen, const char *alias, int stage)
{
    g_autofree char *key = g_strdup_printf("surface_%s_%d", alias, stage), *text = load(bench, "out/lookup_table.json");
    g_auto(GStrv) lines = g_strsplit(ifm_member_text(figure_of(seen, key), "csv"), "\r\n", -1);
    json_auto_t *table = json_loads(text, 0, NULL);
    gsize n = 0;
    g_assert_nonnull(table);
    g_assert_cmpstr(lines[0], ==, "group,series,label,x,x_end,y,lower,upper,min,max,id");
    for (char **line = lines + 1; *line != NULL && **line != '\0'; line++)
    {
        g_auto(GStrv) cells = g_strsplit(*line, ",", -1);
        g_autofree char *row = g_strdup_printf("%d,%s,%s,%d", atoi(cells[1]), cells[2], alias, stage);
        const json_t *exported = json_object_get(table, row);
        g_assert_cmpint(*cells[5] != '\0', ==, exported != NULL); /* "5 nodes" x 20 edges was never asked for */
        if (exported == NULL)
            continue;
        g_assert_cmpfloat_with_epsilon(g_ascii_strtod(cells[5], NULL), 1e6 * ifm_member_number(exported, "total_time_ms"),
                                       1e-6);
        n++;
    }
    g_assert_cmpuint(n, ==, SMALL_N_SIZES);
}

/* Each figure has its points, and they are what is exported. */
static void test_study(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!has_browser())
        return;
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run small.yaml -o out -q --html page.html", &ended);
    assert_status(&ended, 0);
    json_auto_t *seen = visit(bench, "page.html", 1200);
    check_seen(seen, 1, 2);
    for (int stage = 1; stage <= N_STAGES; stage++)
    {
        check_surface(bench, seen, "CPU", stage);
        check_surface(bench, seen, "NPU", stage);
    }
}

/* --- bad input -------------------------------------------------------------------------------------------------------- */

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
    g_assert_cmpuint(strlen(ended.out), <, 6 << 20);
    g_assert_null(strstr(ended.out, "src=\"http"));
}

/* Names that look like tags, such as those of C++ templates, are text as it is in every figure. */
static void test_names(Bench *bench, gconstpointer data)
{
    static const char *const names[] = { "gemm<float>", "kernel<4, half>", "a < b", "vec<b>x</b>" };
    g_auto(Ended) ended = { 0 };
    gsize i, n_named = 0;
    json_t *figure;
    if (!has_browser())
        return;
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "trace", "data", "template-names.json", NULL),
                    *text = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(path, &text, &length, NULL));
    bench_write(bench, "names.json", text, length);
    run_line(bench, "trace names.json --html names.html", &ended);
    assert_status(&ended, 0);
    json_auto_t *seen = visit(bench, "names.html", 1200);
    json_array_foreach(json_object_get(seen, "figures"), i, figure)
    {
        const json_t *words = json_object_get(figure, "words");
        for (gsize name = 0; name < G_N_ELEMENTS(names); name++)
            for (gsize k = 0; k < json_array_size(words); k++)
                n_named += g_strcmp0(json_string_value(json_array_get(words, k)), names[name]) == 0;
        g_assert_cmpuint(n_named, ==, (i + 1) * G_N_ELEMENTS(names));
    }
    g_assert_cmpuint(n_named, >=, 2 * G_N_ELEMENTS(names));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/page/trace", Bench, NULL, bench_init, test_trace, bench_clear);
    g_test_add("/page/study", Bench, NULL, bench_init, test_study, bench_clear);
    g_test_add("/page/names", Bench, NULL, bench_init, test_names, bench_clear);
    g_test_add("/page/bad-input", Bench, NULL, bench_init, test_bad, bench_clear);
    return g_test_run();
}
