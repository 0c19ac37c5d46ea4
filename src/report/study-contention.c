#include <math.h>

#include "report-private.h"

/* What devices lose while others work beside them, and what ranges of stages take. */

/* Most lines of a table on a page: the largest losses. The CSV has all. */
#define MOST_LINES 40

/* SlowDown: a range on a device beside others, against itself alone. */
typedef struct
{
    const IfmStudyTables *tables;
    const IfmStageRow *alone, *beside;
    double ratio; /* of the medians */
    double lower, upper;
} SlowDown;

static const IfmStageRow *find_alone(const GPtrArray *rows, const IfmStageRow *beside)
{
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmStageRow *row = rows->pdata[i];
        if (row->busy == 0 && row->device == beside->device && row->stage == beside->stage && row->last == beside->last &&
            row->nodes == beside->nodes && row->edges == beside->edges && row->reason == NULL)
            return row;
    }
    return NULL;
}

static const IfmStageRow *alone_of(const IfmStudyTables *tables, const IfmStageRow *beside)
{
    return find_alone(beside->last > beside->stage ? tables->ranges : tables->rows, beside);
}

/* The two were measured one after the other and scatter for themselves: their relative half-widths add up as squares. */
static SlowDown slow_down_of(const IfmStudyTables *tables, const IfmStageRow *alone, const IfmStageRow *beside)
{
    SlowDown line = { tables, alone, beside, beside->total_ns / alone->total_ns, NAN, NAN };
    double width = hypot(ifm_stage_row_width(alone), ifm_stage_row_width(beside));
    line.lower = line.ratio * (1 - width);
    line.upper = line.ratio * (1 + width);
    return line;
}

static int compare_lines(gconstpointer a, gconstpointer b)
{
    double left = ((const SlowDown *)a)->ratio, right = ((const SlowDown *)b)->ratio;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* (transfer full) SlowDown, the largest first */
static GArray *slow_downs(const IfmStudyTables *tables)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(SlowDown));
    for (guint i = 0; i < tables->ranges->len; i++)
    {
        const IfmStageRow *beside = tables->ranges->pdata[i];
        const IfmStageRow *alone = beside->busy != 0 && beside->reason == NULL ? alone_of(tables, beside) : NULL;
        if (alone == NULL)
            continue;
        SlowDown line = slow_down_of(tables, alone, beside);
        g_array_append_val(lines, line);
    }
    g_array_sort(lines, compare_lines);
    return lines;
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

/* "3", "3-5" (transfer full) */
static char *stages_text(const IfmStageRow *row)
{
    return row->last > row->stage ? g_strdup_printf("%d-%d", row->stage, row->last) : g_strdup_printf("%d", row->stage);
}

static void get_device(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_device_marked(((const SlowDown *)record)->beside->device));
}

static void get_beside(const void *record, const void *user, IfmValue *value)
{
    const SlowDown *line = record;
    ifm_value_take_text(value, busy_text(line->tables, line->beside->busy, " + "));
}

static void get_stages(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, stages_text(((const SlowDown *)record)->beside));
}

static void get_size(const void *record, const void *user, IfmValue *value)
{
    const IfmStageRow *row = ((const SlowDown *)record)->beside;
    ifm_value_take_text(value, g_strdup_printf("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT, row->nodes, row->edges));
}

static void get_latency(const void *record, const void *user, IfmValue *value)
{
    const SlowDown *line = record;
    ifm_value_set_real(value, user != NULL ? line->beside->total_ns : line->alone->total_ns);
}

static void get_ratio(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, g_strdup_printf("%.2fx", ((const SlowDown *)record)->ratio));
}

static void get_interval(const void *record, const void *user, IfmValue *value)
{
    const SlowDown *line = record;
    if (isfinite(line->lower))
        ifm_value_take_text(value, g_strdup_printf("%.2f to %.2f", line->lower, line->upper));
}

static const IfmField slow_down_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, get_device, NULL, IFM_FIELD_WHOLE },
    { "stages", "stages", IFM_FIELD_TEXT, get_stages, NULL, IFM_FIELD_WHOLE },
    { "beside", "beside", IFM_FIELD_TEXT, get_beside, NULL, IFM_FIELD_WHOLE },
    { "size", "nodes/edges", IFM_FIELD_TEXT, get_size, NULL, IFM_FIELD_WHOLE },
    { "alone", "alone", IFM_FIELD_DURATION, get_latency, NULL },
    { "latency", "beside", IFM_FIELD_DURATION, get_latency, "" },
    { "ratio", "slower", IFM_FIELD_TEXT, get_ratio, NULL, IFM_FIELD_WHOLE },
    { "interval", "interval", IFM_FIELD_TEXT, get_interval, NULL, IFM_FIELD_HIDE_EMPTY | IFM_FIELD_WHOLE },
    { NULL },
};

static double median_ratio(const GArray *lines)
{
    guint n = lines->len;
    double upper = g_array_index(lines, SlowDown, (n - 1) / 2).ratio, lower = g_array_index(lines, SlowDown, n / 2).ratio;
    return (lower + upper) / 2;
}

void ifm_study_contention(GString *out, const IfmStudyTables *tables, gsize most, const IfmScreen *screen)
{
    g_autoptr(GArray) lines = slow_downs(tables);
    g_autoptr(GPtrArray) shown = g_ptr_array_new();
    if (lines->len == 0)
        return;
    for (guint i = 0; i < lines->len && i < MIN(most, MOST_LINES); i++)
        g_ptr_array_add(shown, &g_array_index(lines, SlowDown, i));
    ifm_page_heading(out, "Contention: how much slower while others do the same", screen);
    g_autofree char *text = g_strdup_printf(
        "%u slow-downs, median %.2fx, from %.2fx to %.2fx; %s", lines->len, median_ratio(lines),
        g_array_index(lines, SlowDown, lines->len - 1).ratio, g_array_index(lines, SlowDown, 0).ratio,
        lines->len > shown->len ? "the largest are here, every one in ranges.csv" : "ranges.csv has them, too");
    ifm_page_wrapped(out, text, screen);
    ifm_page_table(out, slow_down_fields, shown, screen);
}

/* --- ranges.csv ------------------------------------------------------------------------------------------------------- */

/* What a row of the file reads. */
typedef struct
{
    const IfmStudyTables *tables;
    const IfmStageRow *row;
    SlowDown slow_down; /* NaN where it is none */
} RangeLine;

static void get_line_busy(const void *record, const void *user, IfmValue *value)
{
    const RangeLine *line = record;
    if (line->row->busy != 0)
        ifm_value_take_text(value, busy_text(line->tables, line->row->busy, "+"));
}

static void get_line_last(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ((const RangeLine *)record)->row->last);
}

static void get_of_row(const void *record, const void *user, IfmValue *value)
{
    ifm_field_get(user, ((const RangeLine *)record)->row, value);
}

#define LINE(member) IFM_FIELD_AT(RangeLine, member)

/* The columns of stages.csv, and after "stage" and "edges" what ranges have more. */
static GArray *range_fields(void)
{
    static const IfmField more[] = {
        { "last", NULL, IFM_FIELD_INTEGER, get_line_last, NULL, IFM_FIELD_NO_SCREEN },
        { "busy", NULL, IFM_FIELD_TEXT, get_line_busy, NULL, IFM_FIELD_NO_SCREEN },
        { "slow_down", NULL, IFM_FIELD_REAL, ifm_field_get_real, LINE(slow_down.ratio), IFM_FIELD_NO_SCREEN },
        { "slow_down_lower", NULL, IFM_FIELD_REAL, ifm_field_get_real, LINE(slow_down.lower), IFM_FIELD_NO_SCREEN },
        { "slow_down_upper", NULL, IFM_FIELD_REAL, ifm_field_get_real, LINE(slow_down.upper), IFM_FIELD_NO_SCREEN },
    };
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
    g_autoptr(GPtrArray) records = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < tables->ranges->len; i++)
    {
        const IfmStageRow *row = tables->ranges->pdata[i];
        const IfmStageRow *alone = row->busy != 0 && row->reason == NULL ? alone_of(tables, row) : NULL;
        if (!ifm_stage_row_listed(tables, row))
            continue;
        RangeLine *line = g_new0(RangeLine, 1);
        *line = (RangeLine){ .tables = tables, .row = row, .slow_down = { .ratio = NAN, .lower = NAN, .upper = NAN } };
        if (alone != NULL)
            line->slow_down = slow_down_of(tables, alone, row);
        g_ptr_array_add(records, line);
    }
    IfmTable table = { (const IfmField *)(const void *)fields->data, (const void *const *)records->pdata, records->len };
    return ifm_table_to_csv(&table);
}
