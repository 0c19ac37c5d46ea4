#include <string.h>

#include "study/study-pages.h"

#include "document/check-document.h"
#include "document/golden.h"
#include "document/study-tables.h"
#include "folder.h"

static void test_report(Fixture *fixture, gconstpointer data)
{
    g_autofree char *page = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL),
                                              &(IfmScreen){ .width = 100, .utf8 = TRUE });
    check_golden("study-report.txt", page);
    g_assert_cmpuint(check_document(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL)), >, 0);
}

/* The page names the files that are there: out/gnn-stages has all but ranges.csv. Returns: (transfer full) the folder */
static char *make_files(void)
{
    static const char *const names[] = { "profiling_report.txt",
                                         "lookup_table.json",
                                         "bandwidth_table.json",
                                         "raw_measurements.json",
                                         "checkpoint_cpugpu.json",
                                         "checkpoint_npu.json",
                                         "stages.csv" };
    char *folder = g_dir_make_tmp("ifm-study-page-XXXXXX", NULL);
    g_assert_true(folder != NULL && g_chdir(folder) == 0 && g_mkdir_with_parents("out/gnn-stages", 0777) == 0);
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autofree char *path = g_build_filename("out", "gnn-stages", names[i], NULL);
        g_assert_true(g_file_set_contents(path, "", 0, NULL));
    }
    return folder;
}

static void test_screen(Fixture *fixture, gconstpointer data)
{
    g_autofree char *folder = make_files();
    g_autofree char *page = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, "out/gnn-stages"),
                                              &(IfmScreen){ .width = 100, .utf8 = TRUE });
    check_golden("study-screen.txt", page);
    g_autofree char *colour = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, "out/gnn-stages"),
                                                &(IfmScreen){ .width = 100, .utf8 = TRUE, .colour = TRUE });
    g_assert_nonnull(strchr(colour, '\033'));
    g_assert_cmpint(g_chdir("/"), ==, 0);
    remove_tree(folder);
}

static void test_status(Fixture *fixture, gconstpointer data)
{
    g_autofree char *page =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_STATUS, NULL), &(IfmScreen){ .width = 80 });
    check_golden("study-status-ascii.txt", page);
    fixture->tables->last_unix_ms = G_GINT64_CONSTANT(1000000000000); /* 2001-09-09, a quarter to two */
    g_autofree char *later =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_STATUS, NULL), &(IfmScreen){ .width = 80 });
    g_assert_nonnull(strstr(later, "\nlast case  2001-09-09 01:46:40 UTC\n"));
    g_assert_true(g_str_is_ascii(page));
}

/* No line is wider than the screen, if only just; nothing but ASCII where that is all there is. */
static void test_widths(Fixture *fixture, gconstpointer data)
{
    for (int width = 60; width <= 140; width += 8)
    {
        IfmScreen screen = { .width = width, .utf8 = width % 16 == 0 };
        char *pages[] = { ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen),
                          ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, "out/gnn-stages"),
                                            &screen),
                          ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_STATUS, NULL), &screen) };
        for (gsize i = 0; i < G_N_ELEMENTS(pages); i++)
        {
            g_auto(GStrv) lines = g_strsplit(pages[i], "\n", -1);
            for (char **line = lines; *line != NULL; line++)
                g_assert_cmpint(ifm_text_width(*line), <=, width);
            g_assert_true(screen.utf8 || g_str_is_ascii(pages[i]));
            g_assert_nonnull(strstr(pages[i], "simulated:meteor-lake/NPU"));
            g_free(pages[i]);
        }
    }
}

/* Tables from elsewhere: told to be so, no time spent, nothing of runs that nobody knows. */
static void test_imported(Fixture *fixture, gconstpointer data)
{
    tables_import(fixture->tables);
    g_autofree char *page = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL),
                                              &(IfmScreen){ .width = 100, .utf8 = TRUE });
    check_golden("study-imported.txt", page);
    g_assert_nonnull(strstr(page, "gnn-stages · The stages of GraphSAGE (imported) · 3 of 4 devices"));
    g_assert_null(strstr(page, "medians of"));
    g_assert_null(strstr(page, "3 min 20 s"));
    g_assert_nonnull(strstr(page, "CPU_stage1 411 MB/s, CPU_stage2 infinite"));
}

static IfmStudyRow *find_row(IfmStudyTables *tables, const char *alias, int stage, int size)
{
    for (guint i = 0; i < tables->rows->len; i++)
    {
        IfmStudyRow *row = tables->rows->pdata[i];
        if (g_str_equal(row->device->alias, alias) && row->stage == stage && row->nodes == tables_sizes[size][0] &&
            row->edges == tables_sizes[size][1])
            return row;
    }
    g_assert_not_reached();
}

/* Two devices whose intervals overlap are not told apart; of one alone nothing is said. */
static void test_fastest(Fixture *fixture, gconstpointer data)
{
    IfmStudyRow *cpu = find_row(fixture->tables, "CPU", 5, TABLES_SIZES - 1),
                *ort = find_row(fixture->tables, "ORT", 5, TABLES_SIZES - 1);
    ort->median_ns = cpu->median_ns + 1000;
    ort->interval = (IfmInterval){ cpu->interval.upper, cpu->interval.upper + 10, 0.95 };
    g_autofree char *page =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, NULL), &(IfmScreen){ .width = 100 });
    g_assert_nonnull(strstr(page, "5 NORMALIZE     1.01 ms  1.01 ms  CPU or ORT\n"));
    ort->interval.lower = cpu->interval.upper + 1;
    g_autofree char *apart =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, NULL), &(IfmScreen){ .width = 100 });
    g_assert_nonnull(strstr(apart, "5 NORMALIZE     1.01 ms  1.01 ms  CPU, then ORT (x1.00)\n"));
    ort->interval = (IfmInterval){ NAN, NAN, NAN }; /* too few runs: for all that is known, it is the faster one */
    g_autofree char *unknown =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, NULL), &(IfmScreen){ .width = 100 });
    g_assert_nonnull(strstr(unknown, "5 NORMALIZE     1.01 ms  ?1.01 ms  not known\n"));
    g_assert_nonnull(strstr(unknown, "\nsum, no moves   9.71 ms  ?18.4 ms  not known\n"));
    g_assert_nonnull(strstr(unknown, "\n? too few independent runs for an interval\n"));
    ort->reason = g_strdup("gone");
    g_autofree char *alone =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, NULL), &(IfmScreen){ .width = 100 });
    g_assert_nonnull(strstr(alone, "5 NORMALIZE     1.01 ms        -  -\n"));
}

/* A study that has only just begun has pages, too, and what is left is no failure. */
static void test_begun(Fixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < fixture->tables->rows->len; i++)
    {
        IfmStudyRow *row = fixture->tables->rows->pdata[i];
        g_clear_pointer(&row->measurement, ifm_measurement_free);
        if (row->reason == NULL)
            row->reason = g_strdup("not measured yet");
        if (g_strcmp0(row->code, "unavailable") != 0)
            g_clear_pointer(&row->code, g_free);
    }
    for (guint i = 0; i < fixture->tables->fits->len; i++)
    {
        IfmStageFit *fit = fixture->tables->fits->pdata[i];
        fit->fitted = fit->has_lookup = FALSE;
        fit->n_rows = fit->n_split = 0;
    }
    IfmScreen screen = { .width = 100 };
    g_autofree char *page = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_STATUS, NULL), &screen);
    g_assert_nonnull(strstr(page, "92 cases: 8 measured, 0 failed, 0 skipped, 84 pending; 28 more on unavailable devices"));
    g_assert_null(strstr(page, "not measured yet"));
    g_autofree char *report = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen);
    g_assert_null(strstr(report, "Latency at"));
    g_assert_null(strstr(report, "Bandwidth"));
}

/* Medians apart, and intervals that are apart stage by stage, may add up to sums that are not. */
static void test_sums(Fixture *fixture, gconstpointer data)
{
    for (int stage = 1; stage <= 7; stage++)
    {
        IfmStudyRow *cpu = find_row(fixture->tables, "CPU", stage, TABLES_SIZES - 1),
                    *ort = find_row(fixture->tables, "ORT", stage, TABLES_SIZES - 1);
        double wide = stage == 2 ? 20 : 1; /* one stage that nobody knows well */
        ort->median_ns = cpu->median_ns + 2000;
        cpu->interval = (IfmInterval){ cpu->median_ns - 900 * wide, cpu->median_ns + 900 * wide, 0.95 };
        ort->interval = (IfmInterval){ ort->median_ns - 900 * wide, ort->median_ns + 900 * wide, 0.95 };
    }
    g_autofree char *page =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, NULL), &(IfmScreen){ .width = 100 });
    g_assert_nonnull(strstr(page, "1 GATHER        1.12 ms  1.12 ms  CPU, then ORT (x1.00)\n"));
    g_assert_nonnull(strstr(page, "2 MESSAGE       2.72 ms  2.72 ms  CPU or ORT\n"));
    g_assert_nonnull(strstr(page, "sum, no moves   9.71 ms  9.72 ms  CPU or ORT\n"));
}

static void set_target(IfmStudyTables *tables, double target)
{
    g_clear_pointer(&tables->definition, json_decref);
    tables->definition = json_pack("{s:{s:f}}", "protocol", "ci_ratio", target);
}

/* What is known less well than was aimed at stands out where it stands, and is counted and listed. */
static void test_precision(Fixture *fixture, gconstpointer data)
{
    IfmScreen screen = { .width = 100, .utf8 = TRUE };
    IfmStudyRow *rough = find_row(fixture->tables, "CPU", 3, TABLES_SIZES - 1),
                *unknown = find_row(fixture->tables, "ORT", 4, TABLES_SIZES - 1);
    set_target(fixture->tables, 0.05);
    g_assert_null(ifm_study_warning(fixture->tables));
    g_autofree char *good = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen);
    g_assert_null(strstr(good, "aimed at\n"));
    g_assert_null(strchr(strstr(good, "Latency at the largest"), '?'));
    rough->interval = (IfmInterval){ rough->median_ns * 0.75, rough->median_ns * 1.25, 0.95 };
    unknown->interval = (IfmInterval){ NAN, NAN, NAN };
    g_autofree char *page = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, NULL), &screen);
    g_assert_nonnull(strstr(page, "3 REDUCE_SUM    ~1.60 ms   3.20 ms  CPU, then ORT (×2.00)\n"));
    g_assert_nonnull(strstr(page, "4 REDUCE_COUNT    932 µs  ?1.86 ms  not known\n"));
    g_assert_nonnull(strstr(page, "\n~ known less well than ±5.00 %; ? too few independent runs for an interval\n"));
    g_autofree char *warning = ifm_study_warning(fixture->tables);
    g_assert_cmpstr(warning, ==,
                    "of 70 latencies 1 is known less well than ±5.00 %, at worst to ±25.0 %, and 1 has too few "
                    "independent runs for an interval");
    g_autofree char *report = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen);
    g_assert_nonnull(strstr(report, "\nCPU: stage 3: 1 of 4 to ±25.0 %\nORT: stage 4: 1 of 4 without an interval\n"));
    g_assert_nonnull(strstr(report, ", 1 without an interval; ended"));
    g_clear_pointer(&fixture->tables->definition, json_decref);
}

/* A study of two stages has two rows, whatever the model has. */
static void test_few_stages(Fixture *fixture, gconstpointer data)
{
    GPtrArray *rows = fixture->tables->rows;
    for (guint i = rows->len; i-- > 0;)
        if (((IfmStudyRow *)rows->pdata[i])->stage > 2)
            tables_free_row(g_ptr_array_remove_index(rows, i));
    g_autofree char *report =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &(IfmScreen){ .width = 100 });
    g_assert_nonnull(strstr(report, "\nmodel      graphsage, stages 1, 2 of 7, 500 features"));
    g_autofree char *page =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, NULL), &(IfmScreen){ .width = 100 });
    g_assert_null(strstr(page, "3 REDUCE_SUM"));
    g_assert_nonnull(strstr(report, "sum, no moves  3.84 ms  7.68 ms  CPU, then ORT (x2.00)\n"));
    for (guint i = rows->len; i-- > 0;)
        if (((IfmStudyRow *)rows->pdata[i])->stage > 1)
            tables_free_row(g_ptr_array_remove_index(rows, i));
    g_autofree char *one =
        ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_SUMMARY, NULL), &(IfmScreen){ .width = 100 });
    g_assert_null(strstr(one, "sum, no moves")); /* of one alone there is none */
}

/* Links are cases as stages are, and what is still to come makes all the rest provisional. */
static void test_counts(Fixture *fixture, gconstpointer data)
{
    IfmScreen screen = { .width = 100 };
    IfmLinkFit *link = fixture->tables->links->pdata[2];
    g_autofree char *whole = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen);
    g_assert_null(strstr(whole, "PARTIAL"));
    link->n_failed = 1;
    link->n_left = 3;
    g_autofree char *status = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_STATUS, NULL), &screen);
    g_assert_nonnull(
        strstr(status, "\nlinks  3 between them             -                   8       1        0        3\n"));
    g_assert_nonnull(
        strstr(status, "\n96 cases: 78 measured, 8 failed, 7 skipped, 3 pending; 28 more on unavailable devices"));
    g_autofree char *report = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen);
    g_assert_nonnull(strstr(report, "\nPARTIAL: 3 of 96 cases are still to be measured\n"));
    g_assert_nonnull(strstr(report, "Latency at the largest size reached so far, 2000 nodes"));
}

/* What was asked for, as the manifest has it. */
static void test_protocol(Fixture *fixture, gconstpointer data)
{
    IfmScreen screen = { .width = IFM_SCREEN_UNBOUNDED, .utf8 = TRUE };
    json_auto_t *counts = json_pack("{s:{s:i,s:i}}", "protocol", "warmup", 10, "runs", 50);
    json_auto_t *rule = json_pack("{s:{s:f,s:f,s:i,s:i,s:i,s:I}}", "protocol", "ci_ratio", 0.01, "level", 0.95, "warmup", 5,
                                  "min_runs", 20, "max_runs", 5000, "time_budget_ns", (json_int_t)10000000000);
    fixture->tables->definition = counts;
    g_autofree char *fixed = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen);
    g_assert_nonnull(strstr(fixed, "\nmeasured   50 runs after 10 to warm up\n"));
    fixture->tables->definition = rule;
    g_autofree char *stopped = ifm_document_show(ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL), &screen);
    g_assert_nonnull(strstr(stopped,
                            "\nmeasured   until the 95 % interval of the median is within ±1.00 %; 20 to 5000 runs, "
                            "up to 10.0 s a case\n"));
    fixture->tables->definition = NULL;
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study-page/report", Fixture, NULL, set_up, test_report, tear_down);
    g_test_add("/study-page/screen", Fixture, NULL, set_up, test_screen, tear_down);
    g_test_add("/study-page/status", Fixture, NULL, set_up, test_status, tear_down);
    g_test_add("/study-page/widths", Fixture, NULL, set_up, test_widths, tear_down);
    g_test_add("/study-page/imported", Fixture, NULL, set_up, test_imported, tear_down);
    g_test_add("/study-page/fastest", Fixture, NULL, set_up, test_fastest, tear_down);
    g_test_add("/study-page/sums", Fixture, NULL, set_up, test_sums, tear_down);
    g_test_add("/study-page/precision", Fixture, NULL, set_up, test_precision, tear_down);
    g_test_add("/study-page/few-stages", Fixture, NULL, set_up, test_few_stages, tear_down);
    g_test_add("/study-page/counts", Fixture, NULL, set_up, test_counts, tear_down);
    g_test_add("/study-page/begun", Fixture, NULL, set_up, test_begun, tear_down);
    g_test_add("/study-page/protocol", Fixture, NULL, set_up, test_protocol, tear_down);
    return g_test_run();
}
