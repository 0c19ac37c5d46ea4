#include <math.h>

#include <base/base.h>
#include <document/words.h>

#include "study-answers.h"
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

/* "3", "3-5" (transfer full) */
static char *stages_text(const IfmStudyRow *row)
{
    return row->last > row->stage ? g_strdup_printf("%d-%d", row->stage, row->last) : g_strdup_printf("%d", row->stage);
}

static void get_stages(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, stages_text(row_of(record)));
}

static void get_size(const void *record, const void *user, IfmValue *value)
{
    const IfmStudyRow *row = row_of(record);
    ifm_value_take_text(value, g_strdup_printf("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT, row->nodes, row->edges));
}

static void get_ratio(const void *record, const void *user, IfmValue *value)
{
    g_autofree char *times = ifm_say_number(((const Loss *)record)->slow_down.ratio);
    ifm_value_take_text(value, g_strconcat("×", times, NULL));
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

char *ifm_losses_title(gsize n, gsize n_known, gsize n_sure)
{
    if (n_known == 0)
        return g_strdup_printf("Whether others slow %zu ranges down is not known: no latency has an interval", n);
    if (n_sure == 0)
        return g_strdup_printf("None of %zu ranges surely takes longer while others work", n);
    return g_strdup_printf("%zu of %zu ranges surely take longer while others work", n_sure, n);
}

char *ifm_slow_down_title(gsize n_known, double most, const char *what)
{
    g_autofree char *times = ifm_say_number(most);
    if (n_known == 0)
        return g_strdup("No slow-down has an interval");
    if (!isfinite(most))
        return g_strdup("No slow-down's interval is above 1");
    return g_strdup_printf("The largest slow-down with an interval above 1 is %s: %s", times, what);
}

/* Of the slow-downs of all ranges, the largest first. */
static void name_figures(IfmDocument *document, IfmBlock *losses, IfmBlock *matrix, const IfmStudyTables *tables,
                         const GArray *all)
{
    gsize n_known = 0, n_sure = 0;
    const Loss *most = NULL;
    Loss first = { tables, { 0 } };
    for (guint i = 0; i < all->len; i++)
    {
        const IfmSlowDown *one = &g_array_index(all, IfmSlowDown, i);
        n_known += isfinite(one->lower);
        n_sure += one->lower > 1;
        if (one->lower > 1 && most == NULL)
        {
            first.slow_down = *one;
            most = &first;
        }
    }
    g_autofree char *beside = most != NULL ? busy_text(tables, row_of(most)->busy, " + ") : NULL,
                    *marked = most != NULL ? ifm_device_marked(row_of(most)->device) : NULL,
                    *stages = most != NULL ? stages_text(row_of(most)) : NULL,
                    *what = most != NULL ? g_strdup_printf("stages %s on %s beside %s", stages, marked, beside) : NULL;
    losses->figure.title = ifm_document_take_text(document, ifm_losses_title(all->len, n_known, n_sure));
    matrix->figure.title = ifm_document_take_text(
        document, ifm_slow_down_title(n_known, most != NULL ? most->slow_down.ratio : (double)NAN, what));
}

/* A row for what is slowed down, a column for the load. */
static IfmBlock *add_matrix(IfmDocument *document, const IfmTable *table)
{
    IfmBlock *block = ifm_document_page_figure(document, "contention_matrix", IFM_FIGURE_MATRIX, NULL,
                                               "How many times as long a range takes under each load: 1 is no slow-down.");
    block->figure.y = ifm_axis("times as long", IFM_FIELD_REAL);
    for (gsize i = 0; i < table->n_records; i++)
    {
        const Loss *loss = table->records[i];
        IfmValue texts[4] = { 0 };
        for (gsize k = 0; k < G_N_ELEMENTS(texts); k++)
            ifm_field_get(&slow_down_fields[k], loss, &texts[k]);
        g_autofree char *name = g_strdup_printf("%s %s, %s", texts[0].text, texts[1].text, texts[3].text);
        ifm_document_point_within(document, ifm_document_series_named(document, block, name), texts[2].text, NAN,
                                  loss->slow_down.ratio, loss->slow_down.lower, loss->slow_down.upper);
        for (gsize k = 0; k < G_N_ELEMENTS(texts); k++)
            ifm_value_clear(&texts[k]);
    }
    return block;
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
    g_autofree char *median = ifm_say_number((slow_downs[(n - 1) / 2].ratio + slow_downs[n / 2].ratio) / 2),
                    *range = ifm_say_numbers(slow_downs[n - 1].ratio, slow_downs[0].ratio);
    ifm_document_text(document, "%u slow-down%s, median %s times as long, from %s; %s", n, ifm_plural(n), median, range,
                      n > n_shown ? "the largest are here, every one in ranges.csv" : "ranges.csv has them, too");
    const IfmTable *table = &ifm_document_rows(document, "contention", slow_down_fields, losses)->table;
    IfmBlock *bars = ifm_document_plot(document, "losses", IFM_FIGURE_BARS, NULL,
                                       "What ranges of stages take on a device alone, and while others do the same.", table,
                                       &(IfmPlotColumns){ .label = what, .y = times });
    name_figures(document, bars, add_matrix(document, table), tables, all);
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
