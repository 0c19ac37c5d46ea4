#include <math.h>

#include "svg-private.h"

/* Rows of points under their labels: bars, strips, stacks. */

/* Row: @label: of several in a row, of the first alone. */
typedef struct
{
    guint s, i;
    const char *label;
} Row;

/* Those of one label below each other, labels in the order of their first. (transfer full) Row */
static GArray *rows_of(const IfmFigure *figure, GPtrArray *labels)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));
    g_autoptr(GHashTable) by_label = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
    for (guint s = 0; s < figure->series->len; s++)
        for (guint i = 0; i < ifm_svg_series(figure, s)->points->len; i++)
        {
            const IfmPoint *point = ifm_svg_point(ifm_svg_series(figure, s), i);
            const char *name = ifm_svg_series(figure, s)->name, *label = point->label != NULL ? point->label
                                                                         : name != NULL       ? name
                                                                                              : "";
            GArray *same = g_hash_table_lookup(by_label, label);
            if (same == NULL)
            {
                same = g_array_new(FALSE, FALSE, sizeof(Row));
                g_hash_table_insert(by_label, (char *)label, same);
                g_ptr_array_add(labels, (char *)label);
            }
            Row row = { s, i, label };
            g_array_append_val(same, row);
        }
    for (guint k = 0; k < labels->len; k++)
    {
        const GArray *same = g_hash_table_lookup(by_label, labels->pdata[k]);
        g_array_append_vals(rows, same->data, same->len);
    }
    return rows;
}

static gboolean starts(const GArray *rows, guint i)
{
    return i == 0 || g_array_index(rows, Row, i).label != g_array_index(rows, Row, i - 1).label;
}

static void append_value(IfmSvg *svg, const IfmSvgScale *x, const IfmPoint *point, double middle)
{
    g_autofree char *value = point->text != NULL ? ifm_svg_shorten(point->text, svg->width / 3, FALSE)
                                                 : ifm_svg_value(&svg->figure->y, point->y);
    double right = fmax(ifm_svg_place(x, fmax(point->y, x->axis->logarithmic ? x->low : 0)), x->from);
    if (isfinite(point->upper))
        right = fmax(right, ifm_svg_place(x, CLAMP(point->upper, x->low, x->high)));
    ifm_svg_text(svg, right + 6, middle + 4, 's', "mu", value);
}

/* From the least to the greatest; an arrow where it goes on beyond the axis. */
static void append_range(IfmSvg *svg, const IfmSvgScale *x, const IfmPoint *point, double middle, guint colour)
{
    const double ends[] = { point->min, point->max };
    g_string_append_printf(svg->out, "<path class=\"rg %s\" d=\"M%.1f,%.1fH%.1f", ifm_svg_class('l', colour),
                           ifm_svg_place(x, CLAMP(point->min, x->low, x->high)), middle,
                           ifm_svg_place(x, CLAMP(point->max, x->low, x->high)));
    for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
    {
        const double beyond = ends[i] < x->low ? 1 : ends[i] > x->high ? -1 : 0;
        const double at = beyond > 0 ? x->from : x->to, back = at + 5 * beyond;
        if (beyond != 0)
            g_string_append_printf(svg->out, "M%.1f,%.1fL%.1f,%.1fL%.1f,%.1f", back, middle - 4, at, middle, back,
                                   middle + 4);
    }
    g_string_append(svg->out, "\"/>");
}

static void append_row(IfmSvg *svg, const IfmSvgScale *x, const Row *row, double middle, guint colour)
{
    const IfmPoint *point = ifm_svg_point(ifm_svg_series(svg->figure, row->s), row->i);
    if (!ifm_svg_has_place(x, point->y))
        return;
    const double at = ifm_svg_place(x, point->y);
    if (svg->figure->kind == IFM_FIGURE_BARS)
    {
        const double zero = ifm_svg_place(x, x->axis->logarithmic ? x->low : 0);
        ifm_svg_rect(svg, fmin(zero, at), middle - 7, fabs(at - zero), 14, ifm_svg_class('c', colour));
        ifm_svg_mark_attributes(svg, row->s, row->i);
        g_string_append(svg->out, "/>\n");
        ifm_svg_interval(svg, x, point->lower, point->upper, middle, FALSE, "ink");
        append_value(svg, x, point, middle);
        return;
    }
    if (ifm_svg_has_place(x, point->min) && ifm_svg_has_place(x, point->max))
        append_range(svg, x, point, middle, colour);
    ifm_svg_interval(svg, x, point->lower, point->upper, middle, FALSE, ifm_svg_class('l', colour));
    ifm_svg_shape(svg->out, colour, at, middle, ifm_svg_class('c', colour));
    ifm_svg_mark_attributes(svg, row->s, row->i);
    g_string_append(svg->out, "/>\n");
}

/* By the ranges, of which one late run would squeeze all intervals: on either side at most as far again as these reach. */
static void extend_ranges(const IfmFigure *figure, const GArray *rows, IfmSvgScale *x)
{
    const double low = x->low, high = x->high;
    const gboolean is_wide = high > low, logarithmic = x->axis->logarithmic;
    const double least = !is_wide      ? (double)-INFINITY
                         : logarithmic ? low * low / high
                                       : low - (high - low),
                 most = !is_wide      ? (double)INFINITY
                        : logarithmic ? high * high / low
                                      : high + (high - low);
    for (guint i = 0; i < rows->len; i++)
    {
        const Row *row = &g_array_index(rows, Row, i);
        const IfmPoint *point = ifm_svg_point(ifm_svg_series(figure, row->s), row->i);
        if (!ifm_svg_has_place(x, point->y) || !ifm_svg_has_place(x, point->min) || !ifm_svg_has_place(x, point->max))
            continue;
        x->low = fmin(x->low, fmax(point->min, least));
        x->high = fmax(x->high, fmin(point->max, most));
    }
}

static void extend_rows(const IfmFigure *figure, const GArray *rows, IfmSvgScale *x)
{
    for (int bounds = 0; bounds < 2; bounds++)
        for (guint i = 0; i < rows->len; i++)
        {
            const Row *row = &g_array_index(rows, Row, i);
            const IfmPoint *point = ifm_svg_point(ifm_svg_series(figure, row->s), row->i);
            if (bounds == 0)
                ifm_svg_extend(x, point->y);
            else if (ifm_svg_has_place(x, point->y))
            {
                ifm_svg_extend_bound(x, point->lower);
                ifm_svg_extend_bound(x, point->upper);
            }
        }
    if (figure->kind == IFM_FIGURE_STRIPS)
        extend_ranges(figure, rows, x);
}

/* The names' column, the axis, and the room of @n rows. */
static void begin_rows(IfmSvg *svg, IfmSvgScale *x, const GPtrArray *labels, double rows, double right)
{
    x->from = fmax(ifm_svg_names_width(labels, svg->width * 0.36) + 10, 12);
    x->to = svg->width - right;
    svg->top += x->axis->has_reference && x->axis->reference_words != NULL ? IFM_SVG_LINE : 4;
    ifm_svg_begin_plot(svg, x, NULL);
    ifm_svg_axis(svg, x, FALSE, svg->top + rows, svg->top, TRUE);
}

static void end_rows(IfmSvg *svg, const IfmSvgScale *x, guint left_out)
{
    g_autofree char *title = ifm_svg_axis_title(x), *short_title = ifm_svg_shorten(title, svg->width, FALSE);
    g_autofree char *more = g_strdup_printf("%u more rows are in the data", left_out);
    g_string_append(svg->out, "</g>\n");
    ifm_svg_text(svg, svg->width, svg->top + 32, 'e', "at", short_title);
    svg->top += 38;
    if (left_out == 0)
        return;
    ifm_svg_text(svg, 0, svg->top + 10, 's', "mu", more);
    svg->top += IFM_SVG_LINE;
}

void ifm_svg_append_rows(IfmSvg *svg)
{
    const IfmFigure *figure = svg->figure;
    g_autoptr(GPtrArray) names = ifm_svg_series_names(figure), labels = g_ptr_array_new();
    g_autoptr(GArray) rows = rows_of(figure, labels);
    const guint n = MIN(rows->len, IFM_SVG_ROWS);
    const gboolean bars = figure->kind == IFM_FIGURE_BARS, many = names->len > IFM_SVG_COLOURS;
    IfmSvgScale x = ifm_svg_scale(&figure->y);
    if (names->len > 1 && !many && rows->len > labels->len)
        ifm_svg_key(svg, names, NULL, !bars);
    extend_rows(figure, rows, &x);
    ifm_svg_close(&x, bars);
    double height = 0;
    for (guint i = 0; i < n; i++)
        height += starts(rows, i) ? IFM_SVG_ROW : IFM_SVG_ROW - 5;
    begin_rows(svg, &x, labels, height + 4, bars ? 76 : 16);
    g_autoptr(GPtrArray) texts = ifm_svg_names(labels, x.from - 10);
    for (guint i = 0, label = 0; i < n; i++)
    {
        const Row *row = &g_array_index(rows, Row, i);
        const double middle = svg->top + 11;
        if (starts(rows, i))
            ifm_svg_text(svg, x.from - 8, middle + 4, 'e', "tx", texts->pdata[label++]);
        append_row(svg, &x, row, middle, many ? 0 : ifm_svg_colour(svg, names, ifm_svg_series(figure, row->s)->name));
        svg->top += i + 1 < n && !starts(rows, i + 1) ? IFM_SVG_ROW - 5 : IFM_SVG_ROW;
    }
    svg->top += 4;
    end_rows(svg, &x, rows->len - n);
}

/* --- stacks ----------------------------------------------------------------------------------------------------------- */

static double length_of(const IfmFigure *figure, const Row *row)
{
    const double y = ifm_svg_point(ifm_svg_series(figure, row->s), row->i)->y;
    return isfinite(y) && y > 0 ? y : 0;
}

static void append_segment(IfmSvg *svg, const IfmSvgScale *x, const Row *row, double before, guint colour)
{
    const IfmPoint *point = ifm_svg_point(ifm_svg_series(svg->figure, row->s), row->i);
    const double from = ifm_svg_place(x, before), width = ifm_svg_place(x, before + point->y) - from;
    g_autofree char *class = g_strconcat("edge ", ifm_svg_class('c', colour), NULL),
                    *on = g_strconcat(ifm_svg_class('o', colour), NULL),
                    *text = point->text != NULL ? g_strdup(point->text) : ifm_svg_value(&svg->figure->y, point->y);
    ifm_svg_rect(svg, from, svg->top + 2, width, IFM_SVG_ROW - 4, class);
    ifm_svg_mark_attributes(svg, row->s, row->i);
    g_string_append(svg->out, "/>\n");
    if (ifm_svg_text_width(text, FALSE) + 6 <= width)
        ifm_svg_text(svg, from + width / 2, svg->top + 15, 'm', on, text);
}

void ifm_svg_append_stacked(IfmSvg *svg)
{
    const IfmFigure *figure = svg->figure;
    g_autoptr(GPtrArray) names = ifm_svg_series_names(figure), labels = g_ptr_array_new();
    g_autoptr(GArray) rows = rows_of(figure, labels);
    IfmAxis axis = figure->y;
    axis.logarithmic = FALSE;
    IfmSvgScale x = ifm_svg_scale(&axis);
    double sum = 0;
    for (guint i = 0; i < rows->len; i++)
    {
        sum = length_of(figure, &g_array_index(rows, Row, i)) + (starts(rows, i) ? 0 : sum);
        ifm_svg_extend(&x, sum);
    }
    if (names->len > 1)
        ifm_svg_key(svg, names, NULL, FALSE);
    ifm_svg_close(&x, TRUE);
    const guint n = MIN(labels->len, IFM_SVG_ROWS);
    begin_rows(svg, &x, labels, n * IFM_SVG_ROW + 4.0, 16);
    g_autoptr(GPtrArray) texts = ifm_svg_names(labels, x.from - 10);
    svg->top -= n > 0 ? IFM_SVG_ROW : 0;
    for (guint i = 0, label = 0; i < rows->len; i++)
    {
        const Row *row = &g_array_index(rows, Row, i);
        if (starts(rows, i) && label == n)
            break;
        if (starts(rows, i))
        {
            sum = 0;
            svg->top += IFM_SVG_ROW;
            ifm_svg_text(svg, x.from - 8, svg->top + 15, 'e', "tx", texts->pdata[label++]);
        }
        if (length_of(figure, row) > 0)
            append_segment(svg, &x, row, sum, ifm_svg_colour(svg, names, ifm_svg_series(figure, row->s)->name));
        sum += length_of(figure, row);
    }
    svg->top += n > 0 ? IFM_SVG_ROW + 4 : 4;
    end_rows(svg, &x, labels->len - n);
}
