#include <string.h>

#include "build-folders.h"
#include "cli/run-harness.h"
#include "cli/samples.h"

/* What the screens of all verbs that report have in common: the answer in the first ten lines, forty lines of eighty
 * columns, three digits, rows that are told apart, and the rest with --all. */

#define LINES 40
#define COLUMNS 80
#define HEAD 10
#define TABLE IFM_SOURCE_DIR "/data/meteor-lake/large-55-sizes.csv"

static const struct
{
    const char *line;
    gboolean is_answer; /* it has a verdict */
} screens[] = {
    { "profile resnet18,size=64 -q --resume --runs 5 -d simulated:ideal/CPU -d simulated:ideal/GPU", TRUE },
    { "profile resnet18,size=64 -q -p flops", TRUE },
    { "profile matmul -q --resume --dim m=8,16,32 --runs 3 -d simulated:ideal/CPU -d simulated:ideal/GPU", FALSE },
    { "compare matmul matmul -q -d simulated:ideal/CPU --b-device simulated:ideal/GPU --max-pairs 6 --rounds 2", TRUE },
    { "plan laptop -q --size 5000,10000", TRUE },
    { "plan laptop -q --size 5000,10000 --size 1000,2000 --size 3000,30000", TRUE },
    { "run plan.json -q -o out --batches 10 --repetitions 2 --trace run.json", TRUE },
    { "trace run.json", TRUE },
    { "trace run.json --batch 3", TRUE },
    { "train samples.csv -q -o latency.json", TRUE },
    { "predict matmul --with latency.json", TRUE },
    { "evaluate matmul -q --with latency.json --resume", TRUE },
    { "kernels list matmul", TRUE },
};

/* Returns: the number of lines, none of which is wider than the screen. */
static guint check_lines(const char *page)
{
    g_auto(GStrv) lines = g_strsplit(page, "\n", -1);
    const guint n = g_strv_length(lines);
    for (char **line = lines; *line != NULL; line++)
        g_assert_cmpint(g_utf8_strlen(*line, -1), <=, COLUMNS);
    return n - 1; /* what follows the last line's end */
}

/* The first lines say how far it may be trusted. */
static void check_head(const char *page)
{
    g_auto(GStrv) lines = g_strsplit(page, "\n", -1);
    gboolean is_there = FALSE;
    for (guint i = 0; i < HEAD && lines[i] != NULL; i++)
        is_there |= g_str_has_prefix(lines[i], "trust     ");
    g_assert_true(is_there);
}

/* Three digits and the unit's own letter; "< 20 us" is the published name of some rows. */
static void check_digits(const char *page)
{
    g_assert_false(g_regex_match_simple("[0-9]\\.[0-9]{3} (ns|µs|ms|s)\\b", page, 0, 0));
    g_assert_false(g_regex_match_simple("[0-9]{3}\\.[0-9]+ (ns|µs|ms|s)\\b", page, 0, 0));
    g_assert_false(g_regex_match_simple("[0-9](?<!>= 20)(?<!< 20) us\\b", page, 0, 0));
    g_assert_null(strstr(page, "±1000"));
}

static void show(Bench *bench, const char *line, const char *more, Ended *ended)
{
    g_autofree char *script = g_strdup_printf("LC_ALL=C.UTF-8 COLUMNS=%d \"$INFEROMETER\" %s%s", COLUMNS, line, more);
    run_shell(bench, "sh", script, ended);
    g_test_message("%s%s\n%s%s", line, more, ended->out, ended->err);
    assert_status(ended, 0);
}

/* Devices whose names begin alike, in every table: no two rows that are next to each other are the same. */
static void test_distinct(Bench *bench, gconstpointer data)
{
#define LONG "a-device-of-a-name-that-is-much-longer-than-a-column-of-any-table"
    g_auto(Ended) ended = { 0 };
    show(bench, "profile matmul -q --runs 3 -d " LONG "-1=simulated:ideal/CPU -d " LONG "-2=simulated:ideal/GPU", " --all",
         &ended);
    g_auto(GStrv) lines = g_strsplit(ended.out, "\n", -1);
    guint n[3] = { 0 };
    for (char **line = lines; *line != NULL; line++)
        if (g_str_has_prefix(*line, "a-device-of-a-name") && strstr(*line, "…") != NULL)
            n[strstr(*line, "table-1") != NULL ? 1 : strstr(*line, "table-2") != NULL ? 2 : 0]++;
    g_assert_cmpuint(n[0], ==, 0);
    g_assert_cmpuint(n[1], >, 3);
    g_assert_cmpuint(n[1], ==, n[2]);
}

static void test_all(Bench *bench, gconstpointer data)
{
    g_auto(Ended) imported = { 0 };
    show(bench, "study import " TABLE " --name laptop -o laptop -q", "", &imported);
    check_head(imported.out);
    write_text(bench, "plan.json", CHAIN);
    write_samples(bench);
    for (gsize i = 0; i < G_N_ELEMENTS(screens); i++)
    {
        g_auto(Ended) brief = { 0 }, whole = { 0 };
        show(bench, screens[i].line, "", &brief);
        const guint n = check_lines(brief.out);
        g_assert_cmpuint(n, <=, LINES);
        if (screens[i].is_answer)
            check_head(brief.out);
        check_digits(brief.out);
        show(bench, screens[i].line, " --all", &whole);
        check_lines(whole.out);
        check_digits(whole.out);
        g_assert_null(strstr(whole.out, "with --all"));
        g_assert_true(check_lines(whole.out) <= n || strstr(brief.out, "with --all") != NULL);
    }
    g_auto(Ended) reported = { 0 }; /* all that it has is short */
    show(bench, "report out/profile", "", &reported);
    g_assert_cmpuint(check_lines(reported.out), <=, LINES);
    check_head(reported.out);
    check_digits(reported.out);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/screens/all", Bench, NULL, bench_init, test_all, bench_clear);
    g_test_add("/screens/distinct", Bench, NULL, bench_init, test_distinct, bench_clear);
    return g_test_run();
}
