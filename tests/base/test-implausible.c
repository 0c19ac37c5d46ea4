#include <base/statistics.h>
#include <math.h>
#include <string.h>

enum
{
    MAX = 64,
};

/* Along one axis, without intervals. @marks: 'x' where a latency is implausible, '?' where it is doubtful. */
static void check_line(const double *ns, gsize n, const char *marks)
{
    double work[MAX];
    IfmTimedWork cases[MAX];
    IfmContradiction found[MAX];
    for (gsize i = 0; i < n; i++)
    {
        work[i] = 1000.0 * (double)(i + 1);
        cases[i] = (IfmTimedWork){ &work[i], ns[i], NAN, NAN, NAN };
    }
    ifm_find_implausible(cases, n, 1, found);
    char marked[MAX + 1] = { 0 };
    for (gsize i = 0; i < n; i++)
    {
        marked[i] = ".?x"[found[i].kind];
        g_assert_true((found[i].against >= 0) == (found[i].kind != IFM_IS_PLAUSIBLE));
    }
    g_assert_cmpstr(marked, ==, marks);
}

#define CHECK_LINE(marks, ...) check_line((const double[]){ __VA_ARGS__ }, strlen(marks), marks)

static void test_line(void)
{
    CHECK_LINE("....", 1, 2, 3, 4);
    CHECK_LINE("??", 100, 25);             /* a quarter, of two alone */
    CHECK_LINE("..", 100, 26);             /* no less than that */
    CHECK_LINE("...xx", 10, 20, 40, 5, 6); /* a device that was lost answers at once, whatever the size */
    CHECK_LINE("...x....", 10, 20, 40, 5, 50, 60, 70, 80);
    CHECK_LINE("....x", 10, 12, 14, 16, 4); /* once, at the end: the others took as long as the smaller one */
    CHECK_LINE(".x......", 10, 200, 20, 30, 40, 45, 49, 50); /* one that something slowed down: all larger ones say so */
    CHECK_LINE("x...", 1000, 1, 2, 3);                       /* the first, with what it takes once */
    CHECK_LINE("x..", 100, 1, 2);                            /* two are right, and one is not */
    CHECK_LINE("x...", 100, 25, 30, 35);                     /* so are three, of which one is a quarter of it */
    CHECK_LINE("?.?", 100, NAN, 20);                         /* one that is not known has no part */
    CHECK_LINE(".??", 10, 100, 20);                          /* nor has one that contradicts neither */
}

/* Intervals, and two standard deviations of the runs, are to be apart. */
static void test_intervals(void)
{
    static const double work[] = { 1, 2 };
    const IfmTimedWork sure[] = { { &work[0], 90, 85, 95, 5 }, { &work[1], 20, 18, 22, 3 } };
    IfmTimedWork cases[2];
    IfmContradiction found[2];
    ifm_find_implausible(sure, 2, 1, found);
    g_assert_cmpint(found[0].kind, ==, IFM_IS_DOUBTFUL);
    g_assert_cmpint(found[0].against, ==, 1);
    g_assert_cmpint(found[1].kind, ==, IFM_IS_DOUBTFUL);
    memcpy(cases, sure, sizeof sure);
    cases[0].lower_ns = 21; /* so little is known of it */
    ifm_find_implausible(cases, 2, 1, found);
    g_assert_cmpint(found[0].kind, ==, IFM_IS_PLAUSIBLE);
    memcpy(cases, sure, sizeof sure);
    cases[0].std_ns = 40; /* its runs are so far apart */
    ifm_find_implausible(cases, 2, 1, found);
    g_assert_cmpint(found[1].kind, ==, IFM_IS_PLAUSIBLE);
}

/* More work is no less on every axis: more threads, or fewer nodes with more edges, are none. */
static void test_axes(void)
{
    static const double work[][2] = { { 10, 100 }, { 20, 50 }, { 10, 100 }, { 20, 200 } };
    const IfmTimedWork cases[] = { { work[0], 100, NAN, NAN, NAN },
                                   { work[1], 10, NAN, NAN, NAN },
                                   { work[2], 10, NAN, NAN, NAN },
                                   { work[3], 10, NAN, NAN, NAN } };
    IfmContradiction found[4];
    ifm_find_implausible(cases, 4, 2, found);
    g_assert_cmpint(found[1].kind, ==, IFM_IS_PLAUSIBLE);
    g_assert_cmpint(found[2].kind, ==, IFM_IS_PLAUSIBLE);
    g_assert_cmpint(found[3].against, ==, 0);
}

/* Of the published table's 30000 nodes: 60000 edges took 257 ms in one run of its noise, and all with more edges less. */
static void test_slow_small(void)
{
    static const double work[][2] = {
        { 30000, 60000 }, { 30000, 90000 }, { 30000, 150000 }, { 30000, 210000 }, { 30000, 300000 }
    };
    const IfmTimedWork cases[] = { { work[0], 257, 240, 270, 20 },
                                   { work[1], 211, 200, 220, 15 },
                                   { work[2], 75.3, 70, 80, 4 },
                                   { work[3], 68, 63, 70, 2 },
                                   { work[4], 60.2, 59, 62, 2 } };
    IfmContradiction found[5];
    ifm_find_implausible(cases, 5, 2, found);
    g_assert_cmpint(found[0].kind, ==, IFM_IS_IMPLAUSIBLE);
    for (gsize i = 1; i < G_N_ELEMENTS(found); i++)
        g_assert_cmpint(found[i].kind, ==, IFM_IS_PLAUSIBLE);
}

/* --- a published machine ---------------------------------------------------------------------------------------------- */

typedef struct
{
    char *of; /* device and stage */
    double work[2];
    double ns;
    gboolean lost, flagged;
} Row;

static void row_clear(gpointer row)
{
    g_free(((Row *)row)->of);
}

static GArray *read_rows(const char *name)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_DATA_DIR"), "data", "meteor-lake", name, NULL);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));
    g_array_set_clear_func(rows, row_clear);
    for (char **line = lines + 1; *line != NULL; line++)
    {
        g_auto(GStrv) cells = g_strsplit(g_strchomp(*line), ",", -1);
        if (g_strv_length(cells) < 9)
            continue;
        Row row = { g_strconcat(cells[0], " ", cells[1], NULL),
                    { g_ascii_strtod(cells[2], NULL), g_ascii_strtod(cells[3], NULL) },
                    *cells[4] != '\0' ? g_ascii_strtod(cells[4], NULL) * 1e6 : (double)NAN,
                    g_str_equal(cells[8], "device_lost"),
                    *cells[8] != '\0' };
        g_array_append_val(rows, row);
    }
    return rows;
}

/* What a lost device answered is found by sizes alone, and nothing else of what was measured, however noisy it is. */
static void test_published(void)
{
    static const char *const files[] = { "large-55-sizes.csv", "protocol-15-sizes.csv" };
    gsize n_lost = 0, n_found = 0, n_rows = 0;
    for (gsize file = 0; file < G_N_ELEMENTS(files); file++)
    {
        g_autoptr(GArray) rows = read_rows(files[file]);
        for (guint begin = 0, end; begin < rows->len; begin = end)
        {
            IfmTimedWork cases[MAX];
            IfmContradiction found[MAX];
            const Row *first = &g_array_index(rows, Row, begin);
            for (end = begin; end < rows->len && g_str_equal(g_array_index(rows, Row, end).of, first->of); end++)
                cases[end - begin] = (IfmTimedWork){ first[end - begin].work, first[end - begin].ns, NAN, NAN, NAN };
            ifm_find_implausible(cases, end - begin, 2, found);
            for (guint i = 0; i < end - begin; i++)
            {
                n_rows += !first[i].flagged;
                n_lost += first[i].lost && g_str_equal(first->of, "NPU 1");
                n_found += found[i].kind == IFM_IS_IMPLAUSIBLE && g_str_equal(first->of, "NPU 1");
                g_assert_true(found[i].kind == IFM_IS_PLAUSIBLE || first[i].flagged);
            }
        }
    }
    g_test_message("%" G_GSIZE_FORMAT " latencies, none implausible; %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT
                   " of a lost device",
                   n_rows, n_found, n_lost);
    g_assert_cmpuint(n_lost, ==, 36);
    g_assert_cmpuint(n_found, ==, 36);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/implausible/line", test_line);
    g_test_add_func("/implausible/intervals", test_intervals);
    g_test_add_func("/implausible/axes", test_axes);
    g_test_add_func("/implausible/slow-small", test_slow_small);
    g_test_add_func("/implausible/published", test_published);
    return g_test_run();
}
