#include <math.h>

#include "study-pages.h"

/* What devices lose while others work, and what ranges of stages take. */

/* Most lines of a table on a page: the largest losses. The CSV has all. */
#define MAX_LINES 40

/* Loss: a slow-down and what its words need. */
typedef struct
{
    const IfmStudyTables *tables;
    IfmSlowDown slow_down;
} Loss;

static const IfmStudyRow *row_of(const void *record)
{
    return ((const Loss *)record)->slow_down.loaded;
}

/* "GPU + NPU" (transfer full) */
static char *busy_text(const IfmStudyTables *tables, guint32 busy, const char *between)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < tables->devices->len && i < 32; i++)
        if ((busy >> i & 1) != 0)
            g_string_append_printf(text, "%s%s", text->len > 0 ? between : "",
                                   ((const IfmStudyDevice *)tables->devices->pdata[i])->alias);
    return g_string_free(text, FALSE);
}

static void get_device(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_device_marked(row_of(record)->device));
}

static void get_load(const void *record, const void *user, IfmValue *value)
{
    if (row_of(record)->busy != 0)
        ifm_value_take_text(value, busy_text(((const Loss *)record)->tables, row_of(record)->busy, user));
}

/* "3", "3-5" */
static void get_stages(const void *record, const void *user, IfmValue *value)
{
    const IfmStudyRow *row = row_of(record);
    ifm_value_take_text(value, row->last > row->stage ? g_strdup_printf("%d-%d", row->stage, row->last)
                                                      : g_strdup_printf("%d", row->stage));
}

static void get_size(const void *record, const void *user, IfmValue *value)
{
    const IfmStudyRow *row = row_of(record);
    ifm_value_take_text(value, g_strdup_printf("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT, row->nodes, row->edges));
}

static void get_ratio(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, g_strdup_printf("%.2fx", ((const Loss *)record)->slow_down.ratio));
}

static void get_interval(const void *record, const void *user, IfmValue *value)
{
    const IfmSlowDown *slow_down = &((const Loss *)record)->slow_down;
    if (isfinite(slow_down->lower))
        ifm_value_take_text(value, g_strdup_printf("%.2f to %.2f", slow_down->lower, slow_down->upper));
}

#define ROW(row, member) IFM_MEMBER_VIA(Loss, slow_down.row, member)

static const IfmField slow_down_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, get_device, NULL, IFM_FIELD_WHOLE },
    { "stages", "stages", IFM_FIELD_TEXT, get_stages, NULL, IFM_FIELD_WHOLE },
    { "beside", "load", IFM_FIELD_TEXT, get_load, " + ", IFM_FIELD_WHOLE },
    { "size", "nodes/edges", IFM_FIELD_TEXT, get_size, NULL, IFM_FIELD_WHOLE },
    { "alone", "alone", IFM_FIELD_DURATION, ROW(alone, median_ns) },
    { "latency", "under load", IFM_FIELD_DURATION, ROW(loaded, median_ns) },
    { "ratio", "slower", IFM_FIELD_TEXT, get_ratio, NULL, IFM_FIELD_WHOLE },
    { "interval", "interval", IFM_FIELD_TEXT, get_interval, NULL, IFM_FIELD_HIDE_EMPTY | IFM_FIELD_WHOLE },
    { NULL },
};

/* A row for what is slowed down, a column for the load. */
static void add_matrix(IfmDocument *document, const IfmTable *table)
{
    IfmBlock *block = ifm_document_page_figure(document, "contention_matrix", IFM_FIGURE_MATRIX, "Slow-down",
                                               "How many times as long a range takes under each load: 1 is no slow-down.");
    GHashTable *rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    block->figure.y.title = "times as long";
    block->figure.y.kind = IFM_FIELD_REAL;
    for (gsize i = 0; i < table->n_records; i++)
    {
        const Loss *loss = table->records[i];
        IfmValue texts[4] = { 0 };
        IfmPoint point = IFM_POINT_INIT;
        for (gsize k = 0; k < G_N_ELEMENTS(texts); k++)
            ifm_field_get(&slow_down_fields[k], loss, &texts[k]);
        char *name = g_strdup_printf("%s %s, %s", texts[0].text, texts[1].text, texts[3].text);
        IfmSeries *series = g_hash_table_lookup(rows, name);
        if (series == NULL)
            series = ifm_document_series(document, block, name, NULL);
        g_hash_table_insert(rows, name, series);
        point.label = texts[2].text;
        point.y = loss->slow_down.ratio;
        point.lower = loss->slow_down.lower;
        point.upper = loss->slow_down.upper;
        ifm_document_point(document, series, &point);
        for (gsize k = 0; k < G_N_ELEMENTS(texts); k++)
            ifm_value_clear(&texts[k]);
    }
    g_hash_table_unref(rows);
}

void ifm_study_add_contention(IfmDocument *document, const IfmStudyTables *tables, gsize max)
{
    static const char *const what[] = { "device", "stages", "beside", "size", NULL }, *const times[] = { "alone", "latency",
                                                                                                         NULL };
    g_autoptr(GArray) all = ifm_study_slow_downs(tables);
    guint n = all->len, n_shown = (guint)MIN(n, MIN(max, MAX_LINES));
    const IfmSlowDown *slow_downs = (const IfmSlowDown *)(const void *)all->data;
    if (n == 0)
        return;
    GArray *losses = g_array_new(FALSE, FALSE, sizeof(Loss));
    for (guint i = 0; i < n_shown; i++)
    {
        Loss loss = { tables, slow_downs[i] };
        g_array_append_val(losses, loss);
    }
    ifm_document_heading(document, "Contention: how much slower while others do the same");
    ifm_document_text(document, "%u slow-downs, median %.2fx, from %.2fx to %.2fx; %s", n,
                      (slow_downs[(n - 1) / 2].ratio + slow_downs[n / 2].ratio) / 2, slow_downs[n - 1].ratio,
                      slow_downs[0].ratio,
                      n > n_shown ? "the largest are here, every one in ranges.csv" : "ranges.csv has them, too");
    const IfmTable *table = &ifm_document_rows(document, "contention", slow_down_fields, losses)->table;
    ifm_document_plot(document, "losses", IFM_FIGURE_BARS, "Latency alone and under load",
                      "What ranges of stages take on a device alone, and while others do the same.", table,
                      &(IfmPlotColumns){ .label = what, .y = times });
    add_matrix(document, table);
}

/* --- ranges.csv ------------------------------------------------------------------------------------------------------- */

static void get_of_row(const void *record, const void *user, IfmValue *value)
{
    ifm_field_get(user, row_of(record), value);
}

/* What ranges have more than the columns of stages.csv, after "stage" and "edges". */
static const IfmField more[] = {
    { "last", NULL, IFM_FIELD_INTEGER, ROW(loaded, last) },
    { "busy", NULL, IFM_FIELD_TEXT, get_load, "+" },
    { "slow_down", NULL, IFM_FIELD_REAL, IFM_MEMBER(Loss, slow_down.ratio) },
    { "slow_down_lower", NULL, IFM_FIELD_REAL, IFM_MEMBER(Loss, slow_down.lower) },
    { "slow_down_upper", NULL, IFM_FIELD_REAL, IFM_MEMBER(Loss, slow_down.upper) },
};

static GArray *range_fields(void)
{
    GArray *fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    for (const IfmField *field = ifm_stage_row_fields; field->key != NULL; field++)
    {
        IfmField one = *field;
        one.get = get_of_row;
        one.user = field;
        g_array_append_val(fields, one);
        if (g_str_equal(field->key, "stage"))
            g_array_append_val(fields, more[0]);
        if (g_str_equal(field->key, "edges"))
            g_array_append_vals(fields, &more[1], G_N_ELEMENTS(more) - 1);
    }
    return fields;
}

char *ifm_study_ranges_csv(const IfmStudyTables *tables)
{
    g_autoptr(GArray) fields = range_fields();
    GString *out = g_string_new(NULL);
    ifm_csv_append_header(out, ifm_fields_in(fields));
    for (guint i = 0; i < tables->ranges->len; i++)
    {
        Loss line = { tables, ifm_stage_row_slow_down(tables, tables->ranges->pdata[i]) };
        if (ifm_stage_row_listed(tables, line.slow_down.loaded))
            ifm_csv_append_record(out, ifm_fields_in(fields), &line);
    }
    return g_string_free(out, FALSE);
}
