/* room: report */
#pragma once
#include <inferometer/document.h>

IFM_BEGIN_DECLS

/* What a study of any kind came to, as its files and pages: tables of stages, or points. */

/** IfmStudyResults: one of @tables and @points. @warning: one line, or NULL. @n_refused: how many cases of devices that are
 * here could not even be tried. @n_incapable: how many ended because their algorithm cannot do
 * a layer: they count as done. @reasons: the file that says why a case has no latency: "profiling_report.txt". */
typedef struct
{
    IfmStudyTables *tables;
    IfmStudyTables *points;
    char *warning;
    gsize n_refused, n_incapable;
    const char *reasons;
} IfmStudyResults;

/** ifm_study_results: @study: (optional) over its span as it is now; NULL: over that of the last run.
 * Returns: (transfer full) NULL as ifm_study_tables(). */
IfmStudyResults *ifm_study_results(IfmStudy *study, IfmStore *store, GError **error);
void ifm_study_results_free(IfmStudyResults *results);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStudyResults, ifm_study_results_free)
/** ifm_study_results_write: The files of its kind into a folder: ifm_study_write(), or points.csv and points.json, each
 * whole or as it was. */
gboolean ifm_study_results_write(const IfmStudyResults *results, const char *folder, GError **error);
/** ifm_study_results_document: (transfer full) borrows @results. Points have no report: theirs is the summary. @folder: of
 * a summary: where its files are, or NULL */
IfmDocument *ifm_study_results_document(const IfmStudyResults *results, IfmStudyPage page, const char *folder);

IFM_END_DECLS
