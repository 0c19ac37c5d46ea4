#include <math.h>
#include <string.h>

#include "report-private.h"

/* What the regression of latency over data size says, for people. */

/* --- bandwidth and compute -------------------------------------------------------------------------------------------- */

/* Of one stage on one device: its fit, and the compute times of the rows that it splits. */
typedef struct
{
    const IfmStageFit *fit;
    char *name;
    gsize n;
    double mean_ns, min_ns, max_ns, share; /* share: of the totals of the same rows */
} SplitLine;

static void split_line_free(SplitLine *line)
{
    g_free(line->name);
    g_free(line);
}

static SplitLine *split_line_new(const IfmStudyTables *tables, const IfmStageFit *fit)
{
    SplitLine *line = g_new0(SplitLine, 1);
    double compute_ns = 0, total_ns = 0;
    *line = (SplitLine){ .fit = fit, .name = ifm_stage_title(tables, fit->stage), .min_ns = INFINITY, .max_ns = -INFINITY };
    for (guint i = 0; i < tables->rows->len; i++)
    {
        const IfmStageRow *row = tables->rows->pdata[i];
        if (row->device != fit->device || row->stage != fit->stage || row->reason != NULL || !isfinite(row->compute_ns))
            continue;
        line->n++;
        compute_ns += row->compute_ns;
        total_ns += row->total_ns;
        line->min_ns = MIN(line->min_ns, row->compute_ns);
        line->max_ns = MAX(line->max_ns, row->compute_ns);
    }
    line->mean_ns = line->n > 0 ? compute_ns / (double)line->n : NAN;
    line->share = compute_ns / total_ns;
    return line;
}

/* Two parameters from so few sizes leave hardly anything to tell a line from chance. */
#define FEW_POINTS 5

static gboolean has_few_points(const IfmStageFit *fit)
{
    return fit->fitted && fit->bandwidth.identifiable && fit->bandwidth.n <= FEW_POINTS;
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

#define SPLIT(member) IFM_FIELD_AT(SplitLine, member)

static const IfmField compute_fields[] = {
    { "compute", "compute", IFM_FIELD_DURATION, ifm_field_get_real, SPLIT(mean_ns), IFM_FIELD_HIDE_EMPTY },
    { "min", "least", IFM_FIELD_DURATION, ifm_field_get_real, SPLIT(min_ns), IFM_FIELD_HIDE_EMPTY },
    { "max", "most", IFM_FIELD_DURATION, ifm_field_get_real, SPLIT(max_ns), IFM_FIELD_HIDE_EMPTY },
    { "share", "share", IFM_FIELD_RATIO, ifm_field_get_real, SPLIT(share), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* Which columns of ifm_stage_fit_fields the report shows beside the compute times. */
static const char *const shown_fit_fields[] = {
    "bytes_per_s", "bytes_per_s_lower", "bytes_per_s_upper", "r_squared", "split", NULL
};

static void append_split(GString *out, const IfmStudyTables *tables, const IfmStudyDevice *device, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func((GDestroyNotify)split_line_free);
    g_autoptr(GArray) fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    IfmField name = { "stage", "stage", IFM_FIELD_TEXT, ifm_field_get_text, SPLIT(name), IFM_FIELD_WHOLE };
    gsize n_rows = 0;
    g_array_append_val(fields, name);
    for (const IfmField *field = ifm_stage_fit_fields; field->key != NULL; field++)
        if (g_strv_contains(shown_fit_fields, field->key))
        {
            IfmField own = *field;
            own.get = get_split_fit;
            own.user = field;
            g_array_append_val(fields, own);
        }
    g_array_append_vals(fields, compute_fields, G_N_ELEMENTS(compute_fields) - 1);
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        if (fit->device != device)
            continue;
        n_rows += fit->n_rows;
        g_ptr_array_add(lines, split_line_new(tables, fit));
    }
    if (n_rows == 0)
        return;
    g_autofree char *marked = ifm_device_marked(device);
    g_string_append_printf(out, "\n%s%s%s = %s\n", ifm_bold_begin(screen), marked, ifm_bold_end(screen), device->device);
    ifm_page_table(out, (const IfmField *)fields->data, lines, screen);
}

/* Reasons, and the stages that share each, in order. */
static void append_reasons(GString *out, const GPtrArray *order, GHashTable *heads, const IfmScreen *screen)
{
    for (guint i = 0; i < order->len; i++)
    {
        const GString *head = g_hash_table_lookup(heads, order->pdata[i]);
        ifm_page_told(out, head->str, IFM_TONE_PLAIN, order->pdata[i], screen);
    }
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
        const IfmStageRow *row = tables->rows->pdata[i];
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

static void append_all_reasons(GString *out, const IfmStudyTables *tables, gboolean identifiable, const IfmScreen *screen)
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
    g_string_append(out, identifiable ? "\nLatencies not split:\n" : "\nNo bandwidth, and no split:\n");
    append_reasons(out, order, heads, screen);
}

/* "CPU_stage1 411 MB/s, ..." */
static void append_imported(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    g_autoptr(GString) line = g_string_new(NULL);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)ifm_study_imported_bandwidth(tables), key, value)
    {
        if (json_is_null(value)) /* the table did not know, either */
            continue;
        g_autofree char *number = json_is_number(value) ? ifm_format_rate(json_number_value(value) * MB) : NULL;
        g_autofree char *rate = number != NULL ? g_strdup_printf("%s MB/s", number) : g_strdup("infinite");
        g_string_append_printf(line, "%s%s %s", line->len > 0 ? ", " : "", key, rate);
    }
    if (line->len == 0)
        return;
    g_string_append_c(out, '\n');
    ifm_page_told(out, "The bandwidth_table.json that was read in says", IFM_TONE_PLAIN, line->str, screen);
    ifm_page_wrapped(
        out,
        "A published table counts inputs and outputs as data, so its bandwidths are not comparable one to one with "
        "those above.",
        screen);
}

void ifm_study_splits(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    gsize n_rows = 0, n_split = 0;
    for (guint i = 0; i < tables->fits->len; i++)
    {
        n_rows += ((const IfmStageFit *)tables->fits->pdata[i])->n_rows;
        n_split += ((const IfmStageFit *)tables->fits->pdata[i])->n_split;
    }
    if (n_rows == 0)
        return;
    ifm_page_heading(out, "Bandwidth and compute", screen);
    g_autofree char *text = g_strdup_printf(
        "An estimate by regression, no measurement of a transfer: bandwidth (MB/s, MB: 2^20 bytes) is 1 / slope of latency "
        "over data size (a stage's inputs, features and index), and compute is what a bandwidth leaves of a latency. But "
        "compute grows with the size, too. "
        "%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " latencies could be split. Compute (mean, least, most) and its share "
        "are over these alone, so they lean to the sizes "
        "where latency lies above the line: read them with the counts under split. Intervals are 95" IFM_NO_BREAK "%%.",
        n_split, n_rows);
    ifm_page_wrapped(out, text, screen);
    for (guint i = 0; i < tables->devices->len; i++)
        append_split(out, tables, tables->devices->pdata[i], screen);
    gboolean few = FALSE;
    for (guint i = 0; i < tables->fits->len; i++)
        few |= has_few_points(tables->fits->pdata[i]);
    if (few)
        ifm_page_wrapped(out, "~ a bandwidth of " G_STRINGIFY(FEW_POINTS) " sizes or fewer", screen);
    append_all_reasons(out, tables, FALSE, screen);
    append_all_reasons(out, tables, TRUE, screen);
    append_imported(out, tables, screen);
}
