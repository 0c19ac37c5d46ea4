#include <math.h>

#include "document-private.h"

/* Figures of the columns of tables. */

static const IfmField *find_field(const IfmTable *table, const char *key)
{
    for (const IfmField *field = table->fields; key != NULL && field->key != NULL; field++)
        if (g_str_equal(field->key, key) && field->kind != IFM_FIELD_BAR)
            return field;
    return NULL;
}

/* The texts of several columns, joined by blanks. NULL where there are none. (transfer full) */
static char *text_of(const IfmTable *table, const void *record, const char *const *keys)
{
    GString *text = g_string_new(NULL);
    for (; keys != NULL && *keys != NULL; keys++)
    {
        const IfmField *field = find_field(table, *keys);
        IfmValue value = { 0 };
        if (field != NULL)
            ifm_field_get(field, record, &value);
        g_autofree char *number =
            value.present && field->kind != IFM_FIELD_TEXT ? ifm_format_value(field->kind, value.real) : NULL;
        if (value.present)
            g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "", number != NULL ? number : value.text);
        ifm_value_clear(&value);
    }
    return g_string_free(text, text->len == 0);
}

static double number_of(const IfmField *field, const void *record)
{
    IfmValue value = { 0 };
    if (field != NULL)
        ifm_field_get(field, record, &value);
    double number = value.present ? value.real : (double)NAN;
    ifm_value_clear(&value);
    return number;
}

/* Sets y and what is known of it. FALSE where there is none. */
static gboolean set_y(IfmPoint *point, const IfmTable *table, const void *record, const IfmField *field,
                      const char *half_width)
{
    IfmValue value;
    ifm_field_get(field, record, &value);
    gboolean present = value.present, marks = field->kind == IFM_FIELD_INTERVAL;
    point->y = marks ? value.marks[2] : value.real;
    point->mark = value.mark;
    double half = fabs(point->y) * number_of(find_field(table, half_width), record);
    point->lower = marks ? value.marks[1] : point->y - half;
    point->upper = marks ? value.marks[3] : point->y + half;
    point->min = marks ? value.marks[0] : (double)NAN;
    point->max = marks ? value.marks[4] : (double)NAN;
    ifm_value_clear(&value);
    return present;
}

static void set_axis(IfmDocument *document, IfmAxis *axis, const IfmField *field)
{
    axis->title = ifm_document_keep_text(document, field->title != NULL ? field->title : field->key);
    axis->kind = field->kind != IFM_FIELD_INTERVAL ? field->kind : field->of != 0 ? field->of : IFM_FIELD_DURATION;
}

IfmBlock *ifm_document_plot(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                            const char *sentence, const IfmTable *table, const IfmPlotColumns *columns)
{
    IfmBlock *figure = ifm_document_page_figure(document, key, kind, title, sentence);
    const IfmField *x = find_field(table, columns->x);
    gboolean several = columns->y[0] != NULL && columns->y[1] != NULL;
    if (x != NULL)
        set_axis(document, &figure->figure.x, x);
    for (const char *const *y = columns->y; *y != NULL; y++)
    {
        const IfmField *field = find_field(table, *y);
        if (field == NULL)
            continue;
        if (y == columns->y)
            set_axis(document, &figure->figure.y, field);
        if (several && figure->figure.y.kind == IFM_FIELD_DURATION)
            figure->figure.y.title = "time"; /* no series has the axis for itself */
        for (gsize row = 0; row < table->n_records; row++)
        {
            IfmPoint point = IFM_POINT_INIT;
            if (!set_y(&point, table, table->records[row], field, columns->half_width))
                continue;
            g_autofree char *name = text_of(table, table->records[row], columns->series),
                            *label = text_of(table, table->records[row], columns->label);
            point.x = number_of(x, table->records[row]);
            point.label = label;
            ifm_document_point(document, ifm_document_series_named(document, figure, several ? field->title : name),
                               &point);
        }
    }
    return figure;
}
