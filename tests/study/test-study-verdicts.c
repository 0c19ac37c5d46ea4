#include <math.h>
#include <string.h>

#include <document/document.h>
#include <study/study-pages.h>

#include "document/study-tables.h"
#include "document/summary-line.h"

/* Each way that the verdict of a study of stages can fall. */

static char *line_of(IfmStudyTables *tables)
{
    return summary_line(ifm_study_document(tables, IFM_STUDY_SUMMARY, "results/of it"));
}

/* All that was measured gets @cpu or @other, known to ±@half; by stages @even gives the even ones the other way round. */
static void set_times(IfmStudyTables *tables, double cpu, double other, double half, gboolean even)
{
    for (guint i = 0; i < tables->rows->len; i++)
    {
        IfmStudyRow *row = tables->rows->pdata[i];
        const gboolean is_first = row->device == tables->devices->pdata[TABLES_CPU];
        if (row->reason != NULL)
            continue;
        row->median_ns = row->mean_ns = is_first != (even && row->stage % 2 == 0) ? cpu : other;
        row->interval = (IfmInterval){ row->median_ns * (1 - half), row->median_ns * (1 + half), 0.95 };
    }
}

static void test_stages(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        double cpu, other, half;
        gboolean even;
        const char *verdict;
    } rows[] = {
        { 1e6, 2e6, 0.01, FALSE, "CPU takes the least time of all " },
        { 1e6, 2e6, 0.01, TRUE, "CPU takes the least time most often: in " },
        { 1e6, 1.01e6, 0.2, FALSE, "No device is told apart at any of " },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        set_times(fixture->tables, rows[i].cpu, rows[i].other, rows[i].half, rows[i].even);
        g_autofree char *line = line_of(fixture->tables);
        assert_line(line, (const char *const[]){ rows[i].verdict, "cases failed;", "simulated: the figures of NPU",
                                                 "inferometer plan 'results/of it'", NULL });
    }
}

/* Equally often is no victory; one device has no rival; nothing at all is said to be nothing. */
static void test_neutral(Fixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < fixture->tables->rows->len; i++)
    {
        IfmStudyRow *row = fixture->tables->rows->pdata[i];
        if (row->stage > 2 || row->device == fixture->tables->devices->pdata[TABLES_NPU])
            row->reason = row->reason != NULL ? row->reason : g_strdup("left out");
    }
    set_times(fixture->tables, 1e6, 2e6, 0.01, TRUE);
    g_autofree char *equal = line_of(fixture->tables);
    assert_line(equal, (const char *const[]){ "CPU and ORT take the least time equally often: in ", NULL });
    for (guint i = 0; i < fixture->tables->rows->len; i++)
    {
        IfmStudyRow *row = fixture->tables->rows->pdata[i];
        if (row->device != fixture->tables->devices->pdata[TABLES_CPU])
            row->reason = row->reason != NULL ? row->reason : g_strdup("left out");
    }
    g_autofree char *alone = line_of(fixture->tables);
    assert_line(alone, (const char *const[]){ "Latencies from 1.00 ms to 2.00 ms | stage ", NULL });
}

/* What was read in has no intervals: that is said once, and the lowest of each is named without being the fastest. */
static void test_imported(Fixture *fixture, gconstpointer data)
{
    set_times(fixture->tables, 1e6, 2e6, NAN, FALSE);
    fixture->tables->imported = TRUE;
    IfmDocument *document = ifm_study_document(fixture->tables, IFM_STUDY_REPORT, NULL);
    const IfmFigure *figure = &ifm_document_find(document, "fastest")->figure;
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = figure->series->pdata[s];
        for (guint i = 0; i < series->points->len; i++)
        {
            const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
            g_assert_true(isnan(point->y) ||
                          (point->y == fixture->tables->devices->len && g_str_equal(point->text, "CPU")));
        }
    }
    g_autofree char *page = ifm_documents_to_html((const IfmDocument *const *)&document, 1, "page");
    g_assert_nonnull(strstr(page, "Which device is faster is not known at any of "));
    g_autofree char *line = summary_line(document);
    assert_line(line, (const char *const[]){ "No device is told apart at any of ",
                                             " | The latencies were read in without intervals | ", "!lowest", NULL });
    for (guint i = 0; i < fixture->tables->rows->len; i++)
    {
        IfmStudyRow *row = fixture->tables->rows->pdata[i];
        row->reason = row->reason != NULL ? row->reason : g_strdup("left out");
    }
    g_autofree char *nothing = line_of(fixture->tables);
    assert_line(nothing, (const char *const[]){ "No latency was measured", NULL });
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study-verdicts/stages", Fixture, NULL, set_up, test_stages, tear_down);
    g_test_add("/study-verdicts/neutral", Fixture, NULL, set_up, test_neutral, tear_down);
    g_test_add("/study-verdicts/imported", Fixture, NULL, set_up, test_imported, tear_down);
    return g_test_run();
}
