#include <math.h>
#include <string.h>

#include <base/base.h>

#include "study-pages.h"

/* What the regression of latency over data size says, for people. */

/* --- bandwidth and compute -------------------------------------------------------------------------------------------- */

/* SplitLine: one stage on one device. */
typedef struct
{
    const IfmStudyTables *tables;
    const IfmStageFit *fit;
    IfmComputeTimes compute;
} SplitLine;

/* Two parameters from so few sizes hardly distinguish a line from chance. */
#define FEW_POINTS 5

static gboolean has_few_points(const IfmStageFit *fit)
{
    return fit->fitted && fit->bandwidth.identifiable && fit->bandwidth.n <= FEW_POINTS;
}

static void get_stage(const void *record, const void *user, IfmValue *value)
{
    const SplitLine *line = record;
    ifm_value_take_text(value, ifm_stage_title(line->tables, line->fit->stage));
}

/* A column of the fit's own table. */
static void get_split_fit(const void *record, const void *user, IfmValue *value)
{
    const IfmField *field = user;
    const IfmStageFit *fit = ((const SplitLine *)record)->fit;
    field->get(fit, field->user, value);
    if (field->kind == IFM_FIELD_RATE && has_few_points(fit))
        value->mark = IFM_MARK_ROUGH;
}

#define COMPUTE(member) IFM_MEMBER(SplitLine, compute.member)

static const IfmField compute_fields[] = {
    { "compute", "compute", IFM_FIELD_DURATION, COMPUTE(mean_ns), IFM_FIELD_HIDE_EMPTY },
    { "min", "min", IFM_FIELD_DURATION, COMPUTE(min_ns), IFM_FIELD_HIDE_EMPTY },
    { "max", "max", IFM_FIELD_DURATION, COMPUTE(max_ns), IFM_FIELD_HIDE_EMPTY },
    { "share", "share", IFM_FIELD_RATIO, COMPUTE(share_ratio), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* Which columns of ifm_stage_fit_fields the report shows with the compute times. */
static const char *const shown_fit_fields[] = {
    "bytes_per_s", "bytes_per_s_lower", "bytes_per_s_upper", "r_squared", "split", NULL
};

static GArray *split_fields(void)
{
    static const IfmField stage = { "stage", "stage", IFM_FIELD_TEXT, get_stage, NULL, IFM_FIELD_WHOLE };
    GArray *fields = g_array_new(FALSE, FALSE, sizeof(IfmField));
    g_array_append_val(fields, stage);
    for (const IfmField *field = ifm_stage_fit_fields; field->key != NULL; field++)
        if (g_strv_contains(shown_fit_fields, field->key))
        {
            IfmField own = *field;
            own.get = get_split_fit;
            own.user = field;
            g_array_append_val(fields, own);
        }
    return g_array_append_vals(fields, compute_fields, G_N_ELEMENTS(compute_fields));
}

static void add_split(IfmDocument *document, const IfmStudyTables *tables, const IfmStudyDevice *device,
                      const GArray *fields)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(SplitLine));
    gsize n_rows = 0;
    for (guint i = 0; i < tables->fits->len; i++)
    {
        SplitLine line = { tables, tables->fits->pdata[i], { 0 } };
        if (line.fit->device != device)
            continue;
        line.compute = ifm_stage_fit_compute(tables, line.fit);
        n_rows += line.fit->n_rows;
        g_array_append_val(lines, line);
    }
    g_autofree char *marked = ifm_device_marked(device), *is = g_strconcat(" = ", device->device, NULL);
    g_autofree char *key = g_strconcat("bandwidth_", device->alias, NULL);
    if (n_rows == 0)
    {
        g_array_unref(lines);
        return;
    }
    IfmSection *section = ifm_document_heading(document, marked);
    section->level = 2;
    section->rest = ifm_document_keep_text(document, is);
    ifm_document_rows(document, key, ifm_fields_in(fields), lines);
}

static void string_free(gpointer string)
{
    g_string_free(string, TRUE);
}

/* Notes a stage under a reason: "CPU stage 1, 3; GPU stage 2". */
static void note_stage(GPtrArray *order, GHashTable *heads, const char *why, const IfmStageFit *fit)
{
    GString *head = g_hash_table_lookup(heads, why);
    g_autofree char *device = g_strdup_printf("%s stage ", fit->device->alias);
    if (head == NULL)
    {
        head = g_string_new(device);
        g_hash_table_insert(heads, (char *)why, head);
        g_ptr_array_add(order, (char *)why);
    }
    else
    {
        const char *last = strrchr(head->str, ';');
        gboolean same = g_str_has_prefix(last != NULL ? last + 2 : head->str, device);
        g_string_append(head, same ? ", " : "; ");
        g_string_append(head, same ? "" : device);
    }
    g_string_append_printf(head, "%d", fit->stage);
}

/* Why a row of an identifiable bandwidth has no split all the same; NULL where all have. */
static const char *unsplit_reason(const IfmStudyTables *tables, const IfmStageFit *fit)
{
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStudyRow *row = tables->rows->pdata[i];
        if (row->device == fit->device && row->stage == fit->stage && row->reason == NULL && row->split_why != NULL)
            return row->split_why;
    }
    return NULL;
}

/* Why there is no bandwidth, without the numbers that bandwidth_table.json has: many stages share a reason. */
static const char *missing_reason(const IfmStageFit *fit)
{
    if (!fit->fitted)
        return fit->why;
    return fit->bandwidth.slope_ns_per_byte > 0 ? "the slope's interval holds 0" : "latency does not grow with the data";
}

/* Reasons, and the stages that share each, in order. */
static void add_reasons(IfmDocument *document, const IfmStudyTables *tables, gboolean identifiable)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    g_autoptr(GHashTable) heads = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, string_free);
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        if (fit->n_rows == 0 || (fit->fitted && fit->bandwidth.identifiable) != identifiable)
            continue;
        const char *why = identifiable ? unsplit_reason(tables, fit) : missing_reason(fit);
        if (why != NULL && *why != '\0')
            note_stage(order, heads, why, fit);
    }
    if (order->len == 0)
        return;
    ifm_document_part(document);
    ifm_document_text(document, identifiable ? "Latencies not split:" : "No bandwidth, and no split:");
    for (guint i = 0; i < order->len; i++)
        ifm_document_note(document, ((const GString *)g_hash_table_lookup(heads, order->pdata[i]))->str, IFM_TONE_PLAIN,
                          "%s", (const char *)order->pdata[i]);
}

/* "CPU_stage1 411 MB/s, ..." */
static void add_imported(IfmDocument *document, const IfmStudyTables *tables)
{
    g_autoptr(GString) line = g_string_new(NULL);
    const char *key;
    json_t *value;
    json_object_foreach(tables->bandwidth, key, value)
    {
        if (json_is_null(value)) /* the table did not know, either */
            continue;
        g_autofree char *number = json_is_number(value) ? ifm_format_rate(json_number_value(value) * MB) : NULL;
        g_string_append_printf(line, "%s%s %s%s", line->len > 0 ? ", " : "", key, number != NULL ? number : "infinite",
                               number != NULL ? " MB/s" : "");
    }
    if (line->len == 0)
        return;
    ifm_document_part(document);
    ifm_document_note(document, "The bandwidth_table.json that was read in says", IFM_TONE_PLAIN, "%s", line->str);
    ifm_document_text(document, "A published table counts inputs and outputs as data, so its bandwidths are not comparable "
                                "one to one with those above.");
}

void ifm_study_add_splits(IfmDocument *document, const IfmStudyTables *tables)
{
    gsize n_rows = 0, n_split = 0;
    gboolean few = FALSE;
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        n_rows += fit->n_rows;
        n_split += fit->n_split;
        few |= has_few_points(fit);
    }
    if (n_rows == 0)
        return;
    ifm_document_heading(document, "Bandwidth and compute");
    ifm_document_text(document,
                      "An estimate by regression, no measurement of a transfer: bandwidth (MB/s, MB: 2^20 bytes) is 1 / "
                      "slope of latency over data size (a stage's inputs, features and index), and compute is what a "
                      "bandwidth leaves of a latency. But compute grows with the size, too. %zu of %zu latencies could be "
                      "split. Compute (mean, min, max) and its share are over these alone, so they lean to the sizes where "
                      "latency lies above the line: read them with the counts under split. Intervals are 95" IFM_NO_BREAK
                      "%%.",
                      n_split, n_rows);
    const GArray *fields = ifm_document_keep(document, split_fields(), (GDestroyNotify)g_array_unref);
    for (guint i = 0; i < tables->devices->len; i++)
        add_split(document, tables, tables->devices->pdata[i], fields);
    ifm_study_add_split_figures(document, tables);
    if (few)
        ifm_document_text(document, "~ a bandwidth of " G_STRINGIFY(FEW_POINTS) " sizes or fewer");
    add_reasons(document, tables, FALSE);
    add_reasons(document, tables, TRUE);
    add_imported(document, tables);
}
