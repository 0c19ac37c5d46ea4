/* What programs read: help --json is what the command itself goes by; progress is an object a line. */
#include "cli/samples.h"
#include "run-harness.h"

static json_t *table_of(const Bench *bench)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "help --json", &ended);
    assert_status(&ended, 0);
    return parse_output(&ended);
}

static const char *text_in(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A value that its row allows; NULL for a flag. (transfer full) */
static char *value_of(const json_t *option)
{
    static const char *const values[][2] = { { "text", "x" },      { "file", "x" },   { "output", "x" },
                                             { "folder", "x" },    { "choice", "x" }, { "bytes", "1MiB" },
                                             { "duration", "1s" }, { "ratio", "50%" } };
    const char *kind = text_in(option, "kind");
    const json_t *choices = json_object_get(option, "choices");
    if (json_is_array(choices))
        return g_strdup(json_string_value(json_array_get(choices, 0)));
    if (g_str_equal(kind, "count"))
        return g_strdup_printf("%d", (int)json_integer_value(json_object_get(option, "minimum")));
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        if (g_str_equal(kind, values[i][0]))
            return g_strdup(values[i][1]);
    return NULL;
}

/* "--runs=5" (transfer full) */
static char *word_of(const json_t *option)
{
    g_autofree char *value = value_of(option);
    return g_strconcat("--", text_in(option, "name"), value != NULL ? "=" : "", value, NULL);
}

static gboolean lists(const json_t *option, const char *name)
{
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(option, "excludes"), i,
                       other) if (g_str_equal(json_string_value(other), name)) return TRUE;
    return FALSE;
}

/* One line on standard error, status 2. */
static void assert_refused(const Bench *bench, const json_t *verb, const char *words, const char *part)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("%s %s", text_in(verb, "name"), words);
    run_line(bench, line, &ended);
    if (ended.status != 2 || strstr(ended.err, part) == NULL)
        g_test_message("%s: status %d: %s", line, ended.status, ended.err);
    assert_complaint(&ended, 2, part);
}

/* Each verb is one of --help, and each option one of the verb's own help. */
static void test_listed(Bench *bench, gconstpointer data)
{
    g_auto(Ended) overview = { 0 }, help = { 0 };
    json_auto_t *table = table_of(bench);
    size_t v, o;
    json_t *verb, *option;
    run_line(bench, "--help", &overview);
    json_array_foreach(json_object_get(table, "verbs"), v, verb)
    {
        g_autofree char *row = g_strdup_printf("\n  %s ", text_in(verb, "name")),
                        *ask = g_strdup_printf("help %s", text_in(verb, "name"));
        g_assert_nonnull(strstr(overview.out, row));
        run_line(bench, ask, &help);
        json_array_foreach(json_object_get(verb, "options"), o, option)
        {
            const char *argument = text_in(option, "argument");
            g_autofree char *named = g_strdup_printf("--%s%s%s", text_in(option, "name"), argument != NULL ? " " : "",
                                                     argument != NULL ? argument : "");
            if (strstr(help.out, named) == NULL)
                g_error("%s: %s is not in its help", ask, named);
        }
    }
    g_assert_cmpuint(v, >=, 36);
}

/* What no value of an option can be is refused, whatever the verb needs beside it. */
static void test_values(Bench *bench, gconstpointer data)
{
    json_auto_t *table = table_of(bench);
    size_t v, o;
    json_t *verb, *option;
    guint n = 0;
    json_array_foreach(json_object_get(table, "verbs"), v, verb)
        json_array_foreach(json_object_get(verb, "options"), o, option)
    {
        const char *name = text_in(option, "name"), *kind = text_in(option, "kind");
        const gboolean is_list = json_is_true(json_object_get(option, "comma")),
                       is_text = g_str_equal(kind, "text") && !json_is_array(json_object_get(option, "choices")),
                       is_path = g_str_equal(kind, "file") || g_str_equal(kind, "output") || g_str_equal(kind, "folder");
        g_autofree char *wrong = is_list   ? g_strdup_printf("--%s=,", name)
                                 : is_text ? g_strdup_printf("--%s", name)
                                 : is_path ? g_strdup_printf("--%s=", name)
                                           : g_strdup_printf("--%s=nothing", name),
                        *part = g_strdup_printf("--%s", name);
        assert_refused(bench, verb, wrong, part);
        n++;
    }
    g_assert_cmpuint(n, >=, 500);
}

/* Two options of a verb: where they exclude each other both say so, and they are refused in one line. Returns: whether they
 * do */
static gboolean check_pair(const Bench *bench, const json_t *verb, const json_t *a, const json_t *b)
{
    const char *name_a = text_in(a, "name"), *name_b = text_in(b, "name");
    g_autofree char *first = word_of(a), *second = word_of(b), *words = g_strconcat(second, " ", first, NULL),
                    *part = g_strdup_printf("--%s and --%s: one of them, not both", name_a, name_b);
    g_assert_true(lists(a, name_b) == lists(b, name_a));
    if (lists(a, name_b))
        assert_refused(bench, verb, words, part);
    return lists(a, name_b);
}

static void test_exclusions(Bench *bench, gconstpointer data)
{
    json_auto_t *table = table_of(bench);
    size_t v;
    json_t *verb;
    guint n = 0;
    json_array_foreach(json_object_get(table, "verbs"), v, verb)
    {
        const json_t *options = json_object_get(verb, "options");
        for (size_t a = 0; a < json_array_size(options); a++)
        {
            g_assert_false(lists(json_array_get(options, a), text_in(json_array_get(options, a), "name")));
            for (size_t b = a + 1; b < json_array_size(options); b++)
                n += check_pair(bench, verb, json_array_get(options, a), json_array_get(options, b));
        }
    }
    g_assert_cmpuint(n, >=, 100);
}

/* Each line of standard error is an object: how far it is, until all is done; a note; an error. */
static void assert_progress(const char *line, const Ended *ended)
{
    static const char *const keys[] = { "what",      "phase",    "outcome", "done",    "of",   "runs",
                                        "median_ns", "ci_ratio", "left_s",  "at_most", "until" };
    g_auto(GStrv) rows = g_strsplit(ended->err, "\n", -1);
    json_int_t done = 0, of = 0;
    guint n = 0;
    for (char **row = rows; **row != '\0'; row++)
    {
        json_auto_t *json = json_loads(*row, 0, NULL);
        if (json == NULL)
            g_error("%s: no JSON: %s", line, *row);
        const char *kind = text_in(json, "kind");
        g_assert_true(g_str_equal(kind, "progress") || text_in(json, "text") != NULL);
        if (!g_str_equal(kind, "progress"))
            continue;
        for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
            g_assert_nonnull(json_object_get(json, keys[i]));
        g_assert_true(json_is_null(json_object_get(json, "phase")) != json_is_null(json_object_get(json, "outcome")));
        g_assert_cmpint(json_integer_value(json_object_get(json, "done")), >=, done);
        done = json_integer_value(json_object_get(json, "done"));
        of = json_integer_value(json_object_get(json, "of"));
        n++;
    }
    if (n < 2 || done != of)
        g_error("%s: %u lines, %d of %d: %s", line, n, (int)done, (int)of, ended->err);
}

static void test_progress(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        gboolean is_of_tests; /* whose devices these are */
    } verbs[] = {
        { "profile small-cnn -d simulated:ideal/CPU -d B=simulated:ideal/GPU --runs 5 --warmup 0 -o one" },
        { "compare matmul matmul -d simulated:ideal/CPU --max-pairs 6 --rounds 2 -o two" },
        { "study run points.yaml" },
        { "run chain.json --batches 8 --repetitions 2 -o four", TRUE },
        { "train samples.csv -o latency.json" },
        { "kernels run matmul -d simulated:ideal/CPU -o five" },
    };
    static const char points[] = "title: points\nkind: profile\nmodels: [matmul, small-cnn]\n"
                                 "devices: {A: {device: simulated:ideal/CPU}}\nprotocol: {warmup: 1, runs: 5}\n";
    g_auto(Ended) ended = { 0 };
    g_autofree char *devices = g_build_filename(IFM_SOURCE_DIR, "devices", NULL);
    bench_write(bench, "points.yaml", points, strlen(points));
    bench_write(bench, "chain.json", CHAIN, strlen(CHAIN));
    write_samples(bench);
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
    {
        g_autofree char *line = g_strconcat(verbs[i].line, " --progress json", NULL);
        bench->devices = verbs[i].is_of_tests ? NULL : devices;
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        assert_progress(line, &ended);
    }
    run_line(bench, "profile nowhere.onnx --progress json", &ended);
    assert_status(&ended, 4);
    g_assert_cmpstr(ended.err, ==, "{\"kind\":\"error\",\"text\":\"nowhere.onnx: No such file or directory\"}\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/verbs-table/listed", Bench, NULL, bench_init, test_listed, bench_clear);
    g_test_add("/verbs-table/values", Bench, NULL, bench_init, test_values, bench_clear);
    g_test_add("/verbs-table/exclusions", Bench, NULL, bench_init, test_exclusions, bench_clear);
    g_test_add("/verbs-table/progress", Bench, NULL, bench_init, test_progress, bench_clear);
    return g_test_run();
}
