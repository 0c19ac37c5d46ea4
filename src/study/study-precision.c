#include <base/base.h>

#include "study-pages.h"

/* How well latencies are known, against what was aimed at. */

IfmMark ifm_precision_mark(IfmPrecision precision)
{
    static const IfmMark marks[] = { [IFM_PRECISION_REACHED] = IFM_MARK_NONE,
                                     [IFM_PRECISION_MISSED] = IFM_MARK_ROUGH,
                                     [IFM_PRECISION_UNKNOWN] = IFM_MARK_UNKNOWN };
    return marks[precision];
}

char *ifm_study_warning(const IfmStudyTables *tables)
{
    IfmPrecisionCount count = ifm_study_precision(tables, NULL, 0);
    if (count.n_missed + count.n_unknown == 0)
        return NULL;
    g_autofree char *target = ifm_format_ratio(ifm_study_target(tables)), *worst = ifm_format_ratio(count.widest);
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "of %zu latencies", count.n);
    if (count.n_missed > 0)
        g_string_append_printf(text, " %zu %s known less well than ±%s, at worst to ±%s", count.n_missed,
                               count.n_missed > 1 ? "are" : "is", target, worst);
    if (count.n_unknown > 0)
        g_string_append_printf(text, "%s %zu ha%s too few independent runs for an interval",
                               count.n_missed > 0 ? ", and" : "", count.n_unknown, count.n_unknown > 1 ? "ve" : "s");
    return g_string_free(text, FALSE);
}

/* "stage 2: 3 of 15 to ±12.0 %" of one stage on a device; nothing where all is well. */
static void append_stage(GString *text, const IfmStudyTables *tables, const IfmStudyDevice *device, int stage)
{
    IfmPrecisionCount count = ifm_study_precision(tables, device, stage);
    if (count.n_missed + count.n_unknown == 0)
        return;
    g_autofree char *worst = ifm_format_ratio(count.widest);
    g_autoptr(GString) said = g_string_new(NULL);
    g_string_append_printf(said, "stage %d:", stage);
    if (count.n_missed > 0)
        g_string_append_printf(said, " %zu of %zu to ±%s", count.n_missed, count.n, worst);
    if (count.n_unknown > 0)
        g_string_append_printf(said, "%s %zu of %zu without an interval", count.n_missed > 0 ? "," : "", count.n_unknown,
                               count.n);
    g_auto(GStrv) words = g_strsplit(said->str, " ", -1);
    g_autofree char *whole = g_strjoinv(IFM_NO_BREAK, words); /* it stays on one line */
    g_string_append_printf(text, "%s%s", text->len > 0 ? "; " : "", whole);
}

void ifm_study_add_precision(IfmDocument *document, const IfmStudyTables *tables)
{
    g_autofree char *summary = ifm_study_warning(tables);
    if (summary == NULL)
        return;
    ifm_document_heading(document, "Latencies known less well than was aimed at");
    ifm_document_text(document, "%s", summary);
    for (guint d = 0; d < tables->devices->len; d++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[d];
        g_autoptr(GString) text = g_string_new(NULL);
        for (gsize s = 0; s < tables->staged->n_stages; s++)
            append_stage(text, tables, device, tables->staged->stages[s].number);
        g_autofree char *marked = ifm_device_marked(device);
        if (text->len > 0)
            ifm_document_note(document, marked, IFM_TONE_PLAIN, "%s", text->str);
    }
}
