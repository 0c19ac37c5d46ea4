#include <math.h>
#include <string.h>

#include "html.h"

/* Tables of a page: what is shown, and the exact value of each number beside it. */

#define LONG_TEXT 36  /* bytes: what is longer may be broken into lines */
#define SHORT_NAME 14 /* the same of names at the left, which stay in sight: 11em of a narrow window hold it */

/* Column: what a page shows of one field: its cells, their numbers to sort by. */
typedef struct
{
    const IfmField *field;
    IfmValue *values; /* [n] */
    char **texts;     /* [n] */
    IfmScale scale;   /* of intervals */
    gsize n;
} Column;

static void column_free(Column *column)
{
    for (gsize i = 0; i < column->n; i++)
    {
        ifm_value_clear(&column->values[i]);
        g_free(column->texts[i]);
    }
    g_free(column->values);
    g_free(column->texts);
    g_free(column);
}

static void format_column(Column *column)
{
    const IfmField *field = column->field;
    g_autofree double *numbers = g_new(double, column->n + 1);
    g_autoptr(GPtrArray) marks = g_ptr_array_new();
    for (gsize i = 0; i < column->n; i++)
    {
        numbers[i] = column->values[i].present ? column->values[i].real : NAN;
        if (column->values[i].present)
            g_ptr_array_add(marks, column->values[i].marks);
    }
    column->scale.kind = field->of != 0 ? field->of : IFM_FIELD_DURATION;
    static const double equal[] = { 1, 1, 1, 1, 1 };
    if (field->kind == IFM_FIELD_INTERVAL && field->of == IFM_FIELD_REAL && marks->len > 0) /* ratios */
        g_ptr_array_add(marks, (gpointer)equal);
    if (field->kind == IFM_FIELD_INTERVAL)
        ifm_scale_fit(&column->scale, (const double *const *)marks->pdata, marks->len);
    else if (field->kind != IFM_FIELD_TEXT && field->kind != IFM_FIELD_BOOLEAN && field->kind != IFM_FIELD_BAR)
        ifm_format_column(field->kind, numbers, column->n, column->texts);
}

/* NULL where the field is not to be shown. */
static Column *column_new(const IfmTable *table, const IfmField *field)
{
    gboolean any = FALSE;
    if ((field->flags & IFM_FIELD_NO_SCREEN) != 0)
        return NULL;
    Column *column = g_new0(Column, 1);
    column->field = field;
    column->n = table->n_records;
    column->values = g_new0(IfmValue, column->n + 1);
    column->texts = g_new0(char *, column->n + 1);
    for (gsize i = 0; i < column->n; i++)
    {
        ifm_field_get(field, table->records[i], &column->values[i]);
        any |= column->values[i].present;
    }
    if (!any && (field->flags & IFM_FIELD_HIDE_EMPTY) != 0)
    {
        column_free(column);
        return NULL;
    }
    format_column(column);
    return column;
}

static double place_of(const IfmScale *scale, double mark)
{
    const double share = scale->logarithmic ? log(mark / scale->low) / log(scale->high / scale->low)
                                            : (mark - scale->low) / (scale->high - scale->low);
    return isfinite(share) ? 4 + 112 * CLAMP(share, 0, 1) : (double)NAN; /* a dot at an end is whole */
}

/* The strip of a terminal as a small picture: the range thin, the interval as a bracket, the middle as a dot. */
static void append_strip(GString *out, const Column *column, const double marks[5], guint colour)
{
    const IfmScale *scale = &column->scale;
    double at[5];
    for (int i = 0; i < 5; i++)
        at[i] = place_of(scale, marks[i]);
    g_string_append(out, "<svg aria-hidden=true>");
    if (column->field->of == IFM_FIELD_REAL && isfinite(place_of(scale, 1)))
        g_string_append_printf(out, "<path class=\"ref\" d=\"M%.1f,0V14\"/>", place_of(scale, 1));
    if (at[0] < at[4])
        g_string_append_printf(out, "<path class=\"rg l%u\" d=\"M%.1f,7H%.1f\"/>", colour, at[0], at[4]);
    if (at[1] < at[3])
        g_string_append_printf(out, "<path class=\"iv l%u\" d=\"M%.1f,7H%.1fM%.1f,3v8M%.1f,3v8\"/>", colour, at[1], at[3],
                               at[1], at[3]);
    if (isfinite(at[2]))
        g_string_append_printf(out, "<circle class=\"c%u\" cx=\"%.1f\" cy=\"7\" r=\"3.5\"/>", colour, at[2]);
    g_string_append(out, "</svg>");
}

static gboolean is_text(const IfmField *field)
{
    return field->kind == IFM_FIELD_TEXT || field->kind == IFM_FIELD_BOOLEAN;
}

/* Of "CPU", "CPU=openvino:CPU@0" and "CPU *", which is simulated. */
static guint device_of(const GPtrArray *devices, const char *text)
{
    g_autofree char *name = text != NULL ? g_strndup(text, strcspn(text, "=")) : NULL;
    if (name != NULL && g_str_has_suffix(name, " *"))
        name[strlen(name) - 2] = '\0';
    return ifm_colour_of_device(devices, name);
}

/* The number of the colour that a row's strips and bars have: that of the first device it names. */
static guint colour_of(const GPtrArray *columns, gsize row, const GPtrArray *devices)
{
    for (guint i = 0; i < columns->len; i++)
    {
        const Column *column = columns->pdata[i];
        const char *text = column->field->kind == IFM_FIELD_TEXT ? column->values[row].text : NULL;
        const guint own = device_of(devices, text);
        if (own != G_MAXUINT)
            return 1 + own;
    }
    return 1;
}

static void append_content(GString *out, const Column *column, gsize row, guint colour)
{
    static const char *const marks[] = { [IFM_MARK_NONE] = "", [IFM_MARK_ROUGH] = "~", [IFM_MARK_UNKNOWN] = "?" };
    const IfmValue *value = &column->values[row];
    const IfmFieldKind kind = column->field->kind;
    if (!value->present)
        g_string_append(out, "–");
    else if (kind == IFM_FIELD_INTERVAL)
        append_strip(out, column, value->marks, colour);
    else if (kind == IFM_FIELD_BAR)
        g_string_append_printf(out,
                               "<svg aria-hidden=true><rect class=\"c%u\" height=\"12\" "
                               "width=\"%.1f\"/></svg>",
                               colour, 120 * CLAMP(value->real, 0, 1));
    else if (is_text(column->field))
        ifm_html_append(out, kind == IFM_FIELD_TEXT ? value->text : value->integer != 0 ? "yes" : "no");
    else
    {
        g_string_append(out, marks[value->mark]);
        g_string_append(out, (column->field->flags & IFM_FIELD_SIGNED) != 0 && value->real > 0 ? "+" : "");
        ifm_html_append(out, g_strstrip(column->texts[row]));
    }
}

/* @is_head: the first of its row, which names it */
static void append_cell(GString *out, const Column *column, gsize row, gboolean is_head, guint colour)
{
    const IfmField *field = column->field;
    const IfmValue *value = &column->values[row];
    const IfmTone tone = value->present ? value->tone : IFM_TONE_DIM;
    const gboolean is_long = field->kind == IFM_FIELD_TEXT && value->present && strlen(value->text) > LONG_TEXT;
    g_string_append(out, is_head ? "<th scope=row" : "<td");
    if (is_text(field) && (is_long || tone != IFM_TONE_PLAIN))
        g_string_append_printf(out, " class=\"%s%s%s\"", is_long && !is_head ? "long " : "",
                               tone != IFM_TONE_PLAIN ? "tone-" : "", tone != IFM_TONE_PLAIN ? ifm_tone_name(tone) : "");
    else if (!is_text(field))
        g_string_append_printf(out, tone != IFM_TONE_PLAIN ? " class=\"n tone-%s\"" : " class=n", ifm_tone_name(tone));
    if (value->present && !is_text(field) && field->kind != IFM_FIELD_BAR) /* which draws the number beside it */
    {
        g_string_append(out, " data-v=");
        ifm_real_append(out, field->kind == IFM_FIELD_INTERVAL ? value->marks[2] : value->real);
    }
    const gboolean may_break =
        is_head && value->present && field->kind == IFM_FIELD_TEXT && strlen(value->text) > SHORT_NAME;
    g_string_append(out, may_break ? "><span>" : ">");
    append_content(out, column, row, colour);
    g_string_append(out, may_break ? "</span>" : "");
}

static void append_head(GString *out, const GPtrArray *columns)
{
    g_string_append(out, "<thead><tr>");
    for (guint i = 0; i < columns->len; i++)
    {
        const IfmField *field = ((const Column *)columns->pdata[i])->field;
        g_string_append_printf(out, "<th scope=\"col\"%s><button type=\"button\">", is_text(field) ? "" : " class=\"n\"");
        ifm_html_append(out, field->title != NULL ? field->title : field->key);
        g_string_append(out, "</button></th>");
    }
    g_string_append(out, "</tr></thead>\n");
}

void ifm_html_append_table(GString *out, const IfmTable *table, const char *name, const char *label,
                           const GPtrArray *devices)
{
    g_autoptr(GPtrArray) columns = g_ptr_array_new_with_free_func((GDestroyNotify)column_free);
    for (const IfmField *field = table->fields; field->key != NULL; field++)
    {
        Column *column = column_new(table, field);
        if (column != NULL)
            g_ptr_array_add(columns, column);
    }
    g_string_append(out, "<div class=\"table\"><div class=\"tw\" tabindex=\"0\" role=\"region\" aria-label=\"");
    ifm_html_append(out, label);
    g_string_append(out, "\"><table data-name=\"");
    ifm_html_append(out, name);
    g_string_append(out, "\">");
    append_head(out, columns);
    g_string_append(out, "<tbody>\n");
    for (gsize row = 0; row < table->n_records; row++)
    {
        const guint colour = colour_of(columns, row, devices);
        g_string_append(out, "<tr>");
        for (guint i = 0; i < columns->len; i++)
            append_cell(out, columns->pdata[i], row, i == 0, colour);
        g_string_append(out, "</tr>\n"); /* what ends a cell may be left out */
    }
    g_string_append(out, "</tbody></table></div></div>\n");
}
