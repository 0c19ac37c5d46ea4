#include <math.h>
#include <string.h>

#include "report-private.h"

/* How well latencies are known, against what was aimed at. */

double ifm_study_target(const IfmStudyTables *tables)
{
    const json_t *protocol = json_object_get(json_object_get(tables->manifest, "definition"), "protocol");
    double target = ifm_member_number(protocol, "ci_ratio");
    return isfinite(target) && target > 0 ? target : IFM_PROTOCOL_INIT.ci_ratio; /* fixed counts aim at nothing */
}

double ifm_stage_row_width(const IfmStageRow *row)
{
    return (row->interval.upper - row->interval.lower) / 2 / row->total_ns;
}

/* Of tables from elsewhere nobody knows, and all of them say so once. */
IfmMark ifm_stage_row_mark(const IfmStudyTables *tables, const IfmStageRow *row)
{
    double width = ifm_stage_row_width(row);
    if (row->reason != NULL || row->n == 0)
        return IFM_MARK_NONE;
    if (!isfinite(width))
        return IFM_MARK_UNKNOWN;
    return width > ifm_study_target(tables) * (1 + 1e-9) ? IFM_MARK_ROUGH : IFM_MARK_NONE;
}

void ifm_study_precision_count(const IfmStudyTables *tables, gsize *n_rough, gsize *n_unknown, double *widest)
{
    *n_rough = *n_unknown = 0;
    *widest = 0;
    for (guint i = 0; i < tables->rows->len + tables->ranges->len; i++)
    {
        const IfmStageRow *row =
            i < tables->rows->len ? tables->rows->pdata[i] : tables->ranges->pdata[i - tables->rows->len];
        IfmMark mark = ifm_stage_row_mark(tables, row);
        *n_rough += mark == IFM_MARK_ROUGH;
        *n_unknown += mark == IFM_MARK_UNKNOWN;
        *widest = mark == IFM_MARK_ROUGH ? MAX(*widest, ifm_stage_row_width(row)) : *widest;
    }
}

/* "of 70 latencies 12 are known less well than ±1.00 %, at worst to ±61.0 %, and 3 have too few independent runs for an
 * interval"; NULL where all are known well enough. */
static char *summary_of(const IfmStudyTables *tables)
{
    gsize counts[IFM_ROW_STATES], n_rough, n_unknown;
    double widest;
    ifm_stage_row_count(tables, NULL, 0, counts);
    ifm_study_precision_count(tables, &n_rough, &n_unknown, &widest);
    if (n_rough + n_unknown == 0)
        return NULL;
    g_autofree char *target = ifm_format_ratio(ifm_study_target(tables)), *worst = ifm_format_ratio(widest);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "of %" G_GSIZE_FORMAT " latencies", counts[IFM_ROW_MEASURED]);
    if (n_rough > 0)
        g_string_append_printf(text, " %" G_GSIZE_FORMAT " %s known less well than ±%s, at worst to ±%s", n_rough,
                               n_rough > 1 ? "are" : "is", target, worst);
    if (n_unknown > 0)
        g_string_append_printf(text, "%s %" G_GSIZE_FORMAT " ha%s too few independent runs for an interval",
                               n_rough > 0 ? ", and" : "", n_unknown, n_unknown > 1 ? "ve" : "s");
    return g_strdup(text->str);
}

char *ifm_study_warning(const IfmStudyTables *tables)
{
    return summary_of(tables);
}

void ifm_study_mark_note(GString *out, const IfmStudyTables *tables, const gboolean marks[3], const IfmScreen *screen)
{
    g_autofree char *target = ifm_format_ratio(ifm_study_target(tables));
    g_autofree char *rough = g_strdup_printf("~ known less well than ±%s", target);
    g_autofree char *text = g_strjoin(
        "; ", marks[IFM_MARK_ROUGH] ? rough : "? too few independent runs for an interval",
        marks[IFM_MARK_ROUGH] && marks[IFM_MARK_UNKNOWN] ? "? too few independent runs for an interval" : NULL, NULL);
    if (marks[IFM_MARK_ROUGH] || marks[IFM_MARK_UNKNOWN])
        ifm_page_wrapped(out, text, screen);
}

/* --- the list --------------------------------------------------------------------------------------------------------- */

/* "stage 2: 3 of 15 to ±12.0 %" of one stage on a device; nothing where all is well. */
static void append_stage(GString *text, const IfmStudyTables *tables, const IfmStudyDevice *device, const IfmStage *stage)
{
    gsize n = 0, n_rough = 0, n_unknown = 0;
    double widest = 0;
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStageRow *row = tables->rows->pdata[i];
        if (row->device != device || row->stage != stage->number || row->reason != NULL)
            continue;
        IfmMark mark = ifm_stage_row_mark(tables, row);
        n++;
        n_rough += mark == IFM_MARK_ROUGH;
        n_unknown += mark == IFM_MARK_UNKNOWN;
        widest = mark == IFM_MARK_ROUGH ? MAX(widest, ifm_stage_row_width(row)) : widest;
    }
    if (n_rough + n_unknown == 0)
        return;
    g_autofree char *worst = ifm_format_ratio(widest);
    g_autoptr(GString) told = g_string_new(NULL);
    g_string_append_printf(told, "stage %d:", stage->number);
    if (n_rough > 0)
        g_string_append_printf(told, " %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " to ±%s", n_rough, n, worst);
    if (n_unknown > 0)
        g_string_append_printf(told, "%s %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " without an interval",
                               n_rough > 0 ? "," : "", n_unknown, n);
    g_auto(GStrv) words = g_strsplit(told->str, " ", -1);
    g_autofree char *whole = g_strjoinv(IFM_NO_BREAK, words); /* it stays on one line */
    g_string_append_printf(text, "%s%s", text->len > 0 ? "; " : "", whole);
}

void ifm_study_precision(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    g_autofree char *summary = summary_of(tables);
    if (summary == NULL)
        return;
    ifm_page_heading(out, "Latencies known less well than was aimed at", screen);
    ifm_page_wrapped(out, summary, screen);
    for (guint d = 0; d < tables->devices->len; d++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[d];
        g_autoptr(GString) text = g_string_new(NULL);
        for (gsize s = 0; s < tables->staged->n_stages; s++)
            append_stage(text, tables, device, &tables->staged->stages[s]);
        g_autofree char *marked = ifm_device_marked(device);
        if (text->len > 0)
            ifm_page_told(out, marked, IFM_TONE_PLAIN, text->str, screen);
    }
}
