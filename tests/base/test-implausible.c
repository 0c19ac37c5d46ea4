#include <internal/implausible.h>
#include <math.h>
#include <string.h>

enum
{
    MAX = 64,
};

/* Along one axis, without intervals. @marks: 'x' where a latency is implausible. */
static void check_line(const double *ns, gsize n, const char *marks)
{
    double work[MAX];
    IfmTimedWork cases[MAX];
    gssize against[MAX];
    for (gsize i = 0; i < n; i++)
    {
        work[i] = 1000.0 * (double)(i + 1);
        cases[i] = (IfmTimedWork){ &work[i], ns[i], NAN, NAN };
    }
    ifm_find_implausible(cases, n, 1, against);
    char found[MAX + 1] = { 0 };
    for (gsize i = 0; i < n; i++)
        found[i] = against[i] >= 0 ? 'x' : '.';
    g_assert_cmpstr(found, ==, marks);
}

#define CHECK_LINE(marks, ...) check_line((const double[]){ __VA_ARGS__ }, strlen(marks), marks)

static void test_line(void)
{
    CHECK_LINE("....", 1, 2, 3, 4);
    CHECK_LINE(".x", 100, 25);             /* a quarter */
    CHECK_LINE("..", 100, 26);             /* and no less than that, of unknown precision */
    CHECK_LINE("...xx", 10, 20, 40, 5, 6); /* a device that was lost answers at once, whatever the size */
    CHECK_LINE("...x....", 10, 20, 40, 5, 50, 60, 70, 80);
    CHECK_LINE(".x......", 10, 200, 20, 30, 40, 45, 49, 50); /* one that something slowed down: all larger ones say so */
    CHECK_LINE("x...", 1000, 1, 2, 3);                       /* the first, with what it takes once */
    CHECK_LINE(".xx", 100, 1, 2);                            /* two do not blame the smaller one */
    CHECK_LINE("..x", 100, NAN, 20);                         /* one that is not known has no part */
}

/* Medians with intervals need a third alone, and intervals that do not overlap. */
static void test_intervals(void)
{
    static const double work[] = { 1, 2 };
    IfmTimedWork cases[] = { { &work[0], 90, 85, 95 }, { &work[1], 29, 27, 31 } };
    gssize against[2];
    ifm_find_implausible(cases, 2, 1, against);
    g_assert_cmpint(against[0], ==, -1);
    g_assert_cmpint(against[1], ==, 0);
    cases[0].lower_ns = 25; /* so little is known of it */
    ifm_find_implausible(cases, 2, 1, against);
    g_assert_cmpint(against[1], ==, -1);
}

/* More work is no less on every axis: more threads, or fewer nodes with more edges, are none. */
static void test_axes(void)
{
    static const double work[][2] = { { 10, 100 }, { 20, 50 }, { 10, 100 }, { 20, 200 } };
    const IfmTimedWork cases[] = {
        { work[0], 100, NAN, NAN }, { work[1], 10, NAN, NAN }, { work[2], 10, NAN, NAN }, { work[3], 10, NAN, NAN }
    };
    gssize against[4];
    ifm_find_implausible(cases, 4, 2, against);
    g_assert_cmpint(against[1], ==, -1);
    g_assert_cmpint(against[2], ==, -1);
    g_assert_cmpint(against[3], ==, 0);
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
            gssize against[MAX];
            const Row *first = &g_array_index(rows, Row, begin);
            for (end = begin; end < rows->len && g_str_equal(g_array_index(rows, Row, end).of, first->of); end++)
                cases[end - begin] = (IfmTimedWork){ first[end - begin].work, first[end - begin].ns, NAN, NAN };
            ifm_find_implausible(cases, end - begin, 2, against);
            for (guint i = 0; i < end - begin; i++)
            {
                n_rows += !first[i].flagged;
                n_lost += first[i].lost && g_str_equal(first->of, "NPU 1");
                n_found += against[i] >= 0 && g_str_equal(first->of, "NPU 1");
                g_assert_true(against[i] < 0 || first[i].flagged);
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
    g_test_add_func("/implausible/published", test_published);
    return g_test_run();
}
