#include <string.h>

#include "study-pages.h"

/* What a study of any kind comes to: its files and its page, by the kind's row of one table. */

/* KindPages: of a kind of studies.
 * @files: what "study export" writes    @reasons: the one that says why a case has no latency
 * @has_stages: its results are tables of stages; else points, which have a table of their own and what these two add:
 * @write: more files; NULL: none    @add: what the page has in place of the table of points; NULL: nothing */
typedef struct
{
    const char *kind, *files, *reasons;
    gboolean has_stages;
    gboolean (*write)(const IfmStudyTables *points, const char *folder, GError **error);
    void (*add)(IfmDocument *document, const IfmStudyTables *points, IfmStudyPage page);
} KindPages;

#define POINTS "points.csv, points.json"

static const KindPages kinds[] = {
    { .kind = "stages",
      .files = "lookup_table.json, bandwidth_table.json, raw_measurements.json, checkpoint_cpugpu.json, "
               "checkpoint_npu.json, profiling_report.txt, stages.csv",
      .reasons = "profiling_report.txt",
      .has_stages = TRUE },
    { .kind = "profile", .files = POINTS, .reasons = "points.csv" },
    { .kind = "conv-algorithms",
      .files = POINTS ", results/",
      .reasons = "points.csv",
      .write = ifm_conv_write,
      .add = ifm_conv_add },
    { .kind = "kernels-under-load",
      .files = POINTS ", kernels.csv, latency.json, models.csv",
      .reasons = "points.csv",
      .write = ifm_kernels_write,
      .add = ifm_kernels_add },
};

/* A kind without a row has points, and a page of these alone. */
static const KindPages *pages_of(const char *kind)
{
    static const KindPages points = { .files = POINTS, .reasons = "points.csv" };
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_str_equal(kinds[i].kind, kind))
            return &kinds[i];
    return &points;
}

IfmStudyResults *ifm_study_results(IfmStudy *study, IfmStore *store, GError **error)
{
    g_autofree char *kind = ifm_study_store_kind(store, error);
    IfmStudyResults found = { 0 };
    if (kind == NULL)
        return NULL;
    const KindPages *pages = pages_of(kind);
    found.reasons = pages->reasons;
    if (pages->has_stages)
    {
        found.tables = study != NULL ? ifm_study_tables_of(study, store, error) : ifm_study_tables(store, error);
        found.warning = found.tables != NULL ? ifm_study_warning(found.tables) : NULL;
    }
    else
    {
        found.points = ifm_study_points(study, store, error);
        if (found.points != NULL)
            ifm_points_count(found.points, &found.n_refused, &found.n_incapable);
    }
    return found.tables != NULL || found.points != NULL ? g_memdup2(&found, sizeof found) : NULL;
}

void ifm_study_results_free(IfmStudyResults *results)
{
    if (results == NULL)
        return;
    ifm_study_tables_free(results->tables);
    ifm_study_tables_free(results->points);
    g_free(results->warning);
    g_free(results);
}

gboolean ifm_study_results_write(const IfmStudyResults *results, const char *folder, GError **error)
{
    if (results->tables != NULL)
        return ifm_study_write(results->tables, folder, error);
    const KindPages *pages = pages_of(results->points->kind);
    return ifm_points_write(results->points, folder, error) &&
           (pages->write == NULL || pages->write(results->points, folder, error));
}

IfmDocument *ifm_study_results_document(const IfmStudyResults *results, IfmStudyPage page, const char *folder)
{
    if (results->tables != NULL)
        return ifm_study_document(results->tables, page, folder);
    const KindPages *pages = pages_of(results->points->kind);
    return ifm_points_document(results->points, page, folder, pages->files, pages->add);
}
