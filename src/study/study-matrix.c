#include <math.h>
#include <string.h>

#include <document/words.h>

#include "study-pages.h"

/* Tables of stages by devices. */

/* Column: a device's figure in the line of a stage. */
typedef struct
{
    const IfmStudyTables *tables;
    guint device;
    gboolean largest; /* of the errors */
} Column;

/* A field for each device, and @more of its own after it. @kind: of them all    @get: with a Column as its user */
static GArray *fields_of(IfmDocument *document, const IfmStudyTables *tables, const IfmField *first, IfmFieldKind kind,
                         void (*get)(const void *, const void *, IfmValue *), const char *more)
{
    GArray *fields = ifm_document_keep(document, g_array_new(TRUE, TRUE, sizeof(IfmField)), (GDestroyNotify)g_array_unref);
    g_array_append_vals(fields, first, 1);
    for (guint i = 0; i < tables->devices->len; i++)
        for (int largest = 0; largest < (more != NULL ? 2 : 1); largest++)
        {
            const IfmStudyDevice *device = tables->devices->pdata[i];
            const Column column = { tables, i, largest != 0 };
            g_autofree char *marked = ifm_device_marked(device), *key = g_strconcat(device->alias, "_", more, NULL);
            IfmField field = { ifm_document_keep_text(document, largest ? key : device->alias),
                               ifm_document_keep_text(document, largest ? more : marked),
                               kind,
                               get,
                               ifm_document_keep(document, g_memdup2(&column, sizeof column), g_free),
                               IFM_FIELD_HIDE_EMPTY };
            g_array_append_val(fields, field);
        }
    return fields;
}

/* --- latencies -------------------------------------------------------------------------------------------------------- */

/* Line: a stage, or the sum. */
typedef struct
{
    const IfmStudyTables *tables;
    const IfmStageLatencies *latencies;
} Line;

static void get_line_name(const void *record, const void *user, IfmValue *value)
{
    const Line *line = record;
    ifm_value_take_text(value, line->latencies->stage > 0 ? ifm_stage_title(line->tables, line->latencies->stage)
                                                          : g_strdup("sum, no moves"));
}

static void get_latency(const void *record, const void *user, IfmValue *value)
{
    const IfmStageLatencies *latencies = ((const Line *)record)->latencies;
    guint device = ((const Column *)user)->device;
    ifm_value_set_real(value, latencies->devices[device].ns);
    value->mark = ifm_precision_mark(latencies->devices[device].precision);
    value->tone = latencies->decided && latencies->best == device ? IFM_TONE_GOOD : IFM_TONE_PLAIN;
}

/* Which took the least time, of one process of each, and by how much; where intervals overlap, that any of them may be, and
 * where there is none, that it is unknown. */
static void get_fastest(const void *record, const void *user, IfmValue *value)
{
    const Line *line = record;
    const IfmStageLatencies *latencies = line->latencies;
    const GPtrArray *devices = line->tables->devices;
    if (latencies->next == G_MAXUINT)
        return;
    if (!latencies->known)
    {
        ifm_value_set_text(value, "not known");
        return;
    }
    g_autofree char *next = ifm_device_marked(devices->pdata[latencies->next]);
    g_autofree char *best = ifm_device_marked(devices->pdata[latencies->best]);
    GString *text = g_string_new(best);
    if (latencies->decided)
    {
        g_autofree char *times =
            ifm_say_number(latencies->devices[latencies->next].ns / latencies->devices[latencies->best].ns);
        g_string_append_printf(text, ", then %s (×%s)", next, times);
    }
    for (guint i = 0; i < latencies->n_devices; i++)
        if (i != latencies->best && ifm_latencies_may_be_fastest(latencies, i))
        {
            g_autofree char *rival = ifm_device_marked(devices->pdata[i]);
            g_string_append_printf(text, " or %s", rival);
        }
    ifm_value_take_text(value, g_string_free(text, FALSE));
}

/* What the marks stand for. */
static void add_mark_note(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *all)
{
    gboolean missed = FALSE, unknown = FALSE;
    for (guint i = 0; i < all->len; i++)
        for (guint d = 0; d < tables->devices->len; d++)
        {
            IfmPrecision precision = ((const IfmStageLatencies *)all->pdata[i])->devices[d].precision;
            missed |= precision == IFM_PRECISION_MISSED;
            unknown |= precision == IFM_PRECISION_UNKNOWN;
        }
    g_autofree char *target = ifm_format_ratio(ifm_study_target(tables));
    g_autofree char *rough = missed ? g_strdup_printf("~ known less well than ±%s", target) : g_strdup("");
    if (missed || unknown)
        ifm_document_text(document, "%s%s%s", rough, missed && unknown ? "; " : "",
                          unknown ? "? too few independent runs for an interval" : "");
}

void ifm_study_add_latencies(IfmDocument *document, const IfmStudyTables *tables, const GPtrArray *latencies, int sign)
{
    static const IfmField name = { "stage", "stage", IFM_FIELD_TEXT, get_line_name, NULL, IFM_FIELD_WHOLE },
                          fastest = { "fastest",   "lowest", IFM_FIELD_TEXT,
                                      get_fastest, NULL,     IFM_FIELD_WHOLE | IFM_FIELD_HIDE_EMPTY };
    const IfmStudyRow *at = ifm_study_outermost(tables, sign), *max = ifm_study_outermost(tables, 1);
    gsize counts[IFM_ROW_STATES], n_absent;
    if (at == NULL || (sign < 0 && at->nodes == max->nodes && at->edges == max->edges))
        return;
    ifm_study_count(tables, 0, counts, &n_absent);
    g_autofree char *heading = g_strdup_printf(
        "Latency at the %s size%s, %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges",
        sign < 0 ? "smallest" : "largest", counts[IFM_ROW_LEFT] > 0 ? " reached so far" : "", at->nodes, at->edges);
    const IfmSizeLatencies *size = ifm_latencies_at(latencies, at);
    const GPtrArray *all = size->stages;
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(Line)),
           *fields = fields_of(document, tables, &name, IFM_FIELD_DURATION, get_latency, NULL);
    if (size->measured)
        g_array_append_val(fields, fastest);
    for (guint i = 0; i < all->len; i++)
    {
        Line line = { tables, all->pdata[i] };
        g_array_append_val(lines, line);
    }
    ifm_document_heading(document, heading);
    ifm_document_rows(document, sign < 0 ? "smallest" : "largest", ifm_fields_in(fields), lines);
    add_mark_note(document, tables, all);
    if (!size->measured && tables->devices->len > 1)
        ifm_document_text(document, "read in without intervals: which device is the fastest is not known");
}

/* --- lookup errors ---------------------------------------------------------------------------------------------------- */

/* Of a stage, which is the record. */
static void get_stage_name(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_stage_title(user, ((const IfmStage *)record)->number));
}

static void get_error(const void *record, const void *user, IfmValue *value)
{
    const Column *column = user;
    for (guint i = 0; i < column->tables->fits->len; i++)
    {
        const IfmStageFit *fit = column->tables->fits->pdata[i];
        if (fit->has_lookup && fit->stage == ((const IfmStage *)record)->number &&
            fit->device == column->tables->devices->pdata[column->device])
            ifm_value_set_real(value, column->largest ? fit->lookup_error.max_ratio : fit->lookup_error.median_ratio);
    }
}

void ifm_study_add_lookup_errors(IfmDocument *document, const IfmStudyTables *tables)
{
    const IfmField name = { "stage", "stage", IFM_FIELD_TEXT, get_stage_name, tables, IFM_FIELD_WHOLE };
    gsize n_inner = 0, n_outer = 0;
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        n_inner += fit->has_lookup ? fit->lookup_error.n_interpolated : 0;
        n_outer += fit->has_lookup ? fit->lookup_error.n_extrapolated : 0;
    }
    if (n_inner == 0)
        return;
    ifm_document_heading(document, "Latency at sizes never measured");
    ifm_document_text(document,
                      "Each latency was left out once and predicted from the other sizes of its stage and device, by "
                      "interpolation between logarithms of nodes, edges per node and latency. By how much that missed, in "
                      "the median and the maximum, where others lie around it (%zu latencies; %zu lie at the edge, where "
                      "it could only extrapolate: lookup_table.json says how badly):",
                      n_inner, n_outer);
    GPtrArray *stages = g_ptr_array_new();
    const GArray *fields = fields_of(document, tables, &name, IFM_FIELD_RATIO, get_error, "max");
    for (gsize i = 0; i < tables->staged->n_stages; i++)
        if (ifm_study_has_stage(tables, tables->staged->stages[i].number))
            g_ptr_array_add(stages, (gpointer)&tables->staged->stages[i]);
    ifm_document_part(document);
    ifm_document_table(document, "lookup_errors", ifm_fields_in(fields), stages);
}
