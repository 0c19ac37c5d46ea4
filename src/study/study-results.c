#include "study-pages.h"

/* What a study of any kind comes to: its files and its page, by the kind's row of one table. */

/* KindPages: of a kind of studies.
 * @files: of points: what "study export" writes    @reasons: the one that says why a case has no latency
 * @write_more, @add: of points, which have a table of their own: further files, and what the page has in place of that
 * table; NULL: nothing */
typedef struct
{
    const char *kind, *files, *reasons;
    gboolean (*write_more)(const IfmStudyTables *points, const char *folder, GError **error);
    void (*add)(IfmDocument *document, const IfmStudyTables *points, IfmStudyPage page);
} KindPages;

#define POINTS "points.csv, points.json"

static const KindPages kinds[] = {
    { .kind = "stages", .reasons = "profiling_report.txt" },
    { .kind = "conv-algorithms",
      .files = POINTS ", results/",
      .reasons = "points.csv",
      .write_more = ifm_conv_write,
      .add = ifm_conv_add },
    { .kind = "kernels-under-load",
      .files = POINTS ", kernels.csv, latency.json, models.csv",
      .reasons = "points.csv",
      .write_more = ifm_kernels_write,
      .add = ifm_kernels_add },
};

/* A kind without a row has points, and a page of these alone. */
static const KindPages *pages_of(const IfmStudyTables *tables)
{
    static const KindPages points = { .files = POINTS, .reasons = "points.csv" };
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_str_equal(kinds[i].kind, tables->kind))
            return &kinds[i];
    return &points;
}

IfmStudyResults *ifm_study_results(IfmStudy *study, IfmStore *store, GError **error)
{
    gsize counts[IFM_ROW_STATES], n_absent;
    IfmStudyTables *tables = ifm_study_tables(study, store, error);
    if (tables == NULL)
        return NULL;
    ifm_study_count(tables, 0, counts, &n_absent);
    IfmStudyResults *results = g_new0(IfmStudyResults, 1);
    *results = (IfmStudyResults){ .tables = tables,
                                  .warning = tables->staged != NULL ? ifm_study_warning(tables) : NULL,
                                  .n_incapable = counts[IFM_ROW_REFUSED],
                                  .reasons = pages_of(tables)->reasons };
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        results->n_refused +=
            row->measurement == NULL && row->device->reason == NULL && ifm_study_row_state(tables, row) == IFM_ROW_FAILED;
    }
    return results;
}

void ifm_study_results_free(IfmStudyResults *results)
{
    if (results == NULL)
        return;
    ifm_study_tables_free(results->tables);
    g_free(results->warning);
    g_free(results);
}

gboolean ifm_study_results_write(const IfmStudyResults *results, const char *folder, GError **error)
{
    const KindPages *pages = pages_of(results->tables);
    if (results->tables->staged != NULL)
        return ifm_study_write(results->tables, folder, error);
    return ifm_points_write(results->tables, folder, error) &&
           (pages->write_more == NULL || pages->write_more(results->tables, folder, error));
}

json_t *ifm_study_results_to_json(const IfmStudyResults *results)
{
    return (results->tables->staged != NULL ? ifm_study_stages_to_json : ifm_study_points_to_json)(results->tables);
}

char *ifm_study_results_to_csv(const IfmStudyResults *results)
{
    return (results->tables->staged != NULL ? ifm_study_stages_to_csv : ifm_study_points_to_csv)(results->tables);
}

IfmDocument *ifm_study_results_document(const IfmStudyResults *results, IfmStudyPage page, const char *folder)
{
    const KindPages *pages = pages_of(results->tables);
    if (results->tables->staged != NULL)
        return ifm_study_document(results->tables, page, folder);
    return ifm_points_document(results->tables, page, folder, pages->files, pages->add);
}
