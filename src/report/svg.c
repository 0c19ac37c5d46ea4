#include <math.h>
#include <string.h>

#include "report-private.h"

/* Figures as pictures: SVG for papers and READMEs, and what a page shows where no script runs and on paper. */

enum
{
    WIDTH = 760, /* pixels, of all */
    PLANE_HEIGHT = 320,
    ROW = 18,
    LETTER = 7,       /* of a text, about */
    MAX_LABEL = 34,   /* letters of a row's name */
    MAX_ROWS = 300,   /* what follows is counted, not drawn */
    MAX_MARKS = 2000, /* of a series: of more, the range in each column of pixels is drawn */
    N_COLOURS = 8,
};

/* Told apart with any colour vision (after Okabe and Ito), on white and on black. */
static const char *const colours[N_COLOURS] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#b8860b", "#56b4e9", "#7f7f7f", "#8c564b" };
static const char *const tone_colours[] = { [IFM_TONE_PLAIN] = "#0072b2",
                                            [IFM_TONE_GOOD] = "#009e73",
                                            [IFM_TONE_WARN] = "#e69f00",
                                            [IFM_TONE_BAD] = "#d55e00",
                                            [IFM_TONE_DIM] = "#7f7f7f" };

/* Of kinds of events: what works is strong, why it does not is pale. */
static const char *const event_colours[] = { "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#b8860b", "#0072b2", "#9aa5b1",
                                             "#f2cf8f", "#f4b59a", "#d9c7a3", "#e59a94", "#b7c4d6", "#d5dade", "#d5dade" };

/* Scale: an axis, and the pixels of its two ends. */
typedef struct
{
    const IfmAxis *axis;
    double low, high;
    double from, to;
} Scale;

/* Plane: where points are, between two scales. */
typedef struct
{
    GString *out;
    const IfmFigure *figure;
    Scale x, y;
    double height; /* of the picture */
} Plane;

/* --- text ------------------------------------------------------------------------------------------------------------- */

static void append_text(GString *out, double x, double y, const char *anchor, const char *text, const char *attributes)
{
    g_autofree char *clean = ifm_format_clean(text), *escaped = g_markup_escape_text(clean, -1);
    g_string_append_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, anchor, attributes,
                           escaped);
}

static char *shorten(const char *text, glong letters)
{
    g_autofree char *clean = ifm_format_clean(text != NULL ? text : "");
    glong length = g_utf8_strlen(clean, -1);
    if (length <= letters)
        return g_steal_pointer(&clean);
    g_autofree char *head = g_utf8_substring(clean, 0, letters / 2),
                    *tail = g_utf8_substring(clean, length - letters / 2, length);
    return g_strconcat(head, "…", tail, NULL);
}

/* A number at an axis: as few digits as say it. (transfer full) */
static char *tick_text(const IfmAxis *axis, double value)
{
    static const struct
    {
        IfmFieldKind kind;
        double size;
        const char *unit;
    } units[] = {
        { IFM_FIELD_DURATION, 1e9, " s" },       { IFM_FIELD_DURATION, 1e6, " ms" },
        { IFM_FIELD_DURATION, 1e3, " us" },      { IFM_FIELD_DURATION, 1, " ns" },
        { IFM_FIELD_BYTES, 1073741824, " GiB" }, { IFM_FIELD_BYTES, 1048576, " MiB" },
        { IFM_FIELD_BYTES, 1024, " KiB" },       { IFM_FIELD_BYTES, 1, " B" },
        { IFM_FIELD_RATE, 1048576, "" },         { IFM_FIELD_RATIO, 0.01, " %" },
        { IFM_FIELD_REAL, 1e12, " T" },          { IFM_FIELD_REAL, 1e9, " G" },
        { IFM_FIELD_REAL, 1e6, " M" },           { IFM_FIELD_INTEGER, 1e6, " M" },
    };
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    gsize n = G_N_ELEMENTS(units), last = n;
    for (gsize i = 0; i < n; i++)
    {
        if (units[i].kind != axis->kind)
            continue;
        last = i;
        if (fabs(value) >= units[i].size * 0.9999)
            break;
    }
    gboolean plain = axis->kind == IFM_FIELD_REAL || axis->kind == IFM_FIELD_INTEGER; /* small ones need no unit */
    gboolean scaled = last < n && value != 0 && (!plain || fabs(value) >= units[last].size * 0.9999);
    g_ascii_formatd(digits, sizeof digits, "%.4g", scaled ? value / units[last].size : value);
    return g_strconcat(digits, scaled ? units[last].unit : "", NULL);
}

/* --- scales ----------------------------------------------------------------------------------------------------------- */

static void extend(Scale *scale, double value)
{
    if (!isfinite(value) || (scale->axis->logarithmic && !(value > 0)))
        return;
    scale->low = fmin(scale->low, value);
    scale->high = fmax(scale->high, value);
}

/* Room at both ends, so that no mark is on the frame. */
static void close_scale(Scale *scale)
{
    extend(scale, scale->axis->low);
    extend(scale, scale->axis->high);
    if (!isfinite(scale->low))
        scale->low = scale->high = 1;
    if (scale->axis->logarithmic)
    {
        double room = fmax(pow(scale->high / scale->low, 0.04), 1.1);
        scale->low /= room;
        scale->high *= room;
        return;
    }
    double room = scale->high > scale->low ? 0.04 * (scale->high - scale->low) : fmax(fabs(scale->high) / 2, 1e-9);
    scale->low = scale->low >= 0 && scale->low < room ? 0 : scale->low - room;
    scale->high += room;
}

static double place(const Scale *scale, double value)
{
    double share = scale->axis->logarithmic ? log(value / scale->low) / log(scale->high / scale->low)
                                            : (value - scale->low) / (scale->high - scale->low);
    return scale->from + share * (scale->to - scale->from);
}

static gboolean has_place(const Scale *scale, double value)
{
    return isfinite(value) && (!scale->axis->logarithmic || value > 0);
}

/* Round numbers, some six of them: of 1, 2 and 5, or the decades (powers of two of bytes). (transfer full) double */
static GArray *ticks_of(const Scale *scale)
{
    GArray *ticks = g_array_new(FALSE, FALSE, sizeof(double));
    double base = scale->axis->kind == IFM_FIELD_BYTES ? 1024 : 1;
    if (scale->axis->logarithmic)
    {
        double decades = log10(scale->high / scale->low);
        int every = (int)ceil(decades / 8);
        for (double exponent = floor(log10(scale->low)); exponent <= log10(scale->high); exponent += MAX(every, 1))
            for (int digit = 0; digit < 3; digit++)
            {
                double tick = pow(10, exponent) * (const double[]){ 1, 2, 5 }[digit];
                if (tick >= scale->low && tick <= scale->high && (digit == 0 || decades < 2))
                    g_array_append_val(ticks, tick);
            }
        return ticks;
    }
    double least = (scale->high - scale->low) / 7;
    while (base > 1 && base * 1024 <= least * 7)
        base *= 1024;
    double power = pow(10, floor(log10(least / base))) * base, step = power;
    for (int i = 0; i < 3 && step < least; i++)
        step = power * (const double[]){ 2, 5, 10 }[i];
    for (double tick = ceil(scale->low / step) * step; tick <= scale->high + step * 1e-9; tick += step)
    {
        double rounded = fabs(tick) < step * 1e-9 ? 0 : tick;
        g_array_append_val(ticks, rounded);
    }
    return ticks;
}

static char *axis_title(const IfmAxis *axis)
{
    gboolean with_unit = axis->unit != NULL || axis->kind == IFM_FIELD_RATE;
    const char *title = axis->title != NULL ? axis->title : "";
    return with_unit ? g_strdup_printf("%s [%s]", title, axis->unit != NULL ? axis->unit : "MB/s") : g_strdup(title);
}

/* A line for each round number, its text, and the title. */
static void append_axis(const Plane *plane, const Scale *scale, gboolean upright)
{
    g_autoptr(GArray) ticks = ticks_of(scale);
    g_autofree char *title = axis_title(scale->axis);
    for (guint i = 0; i < ticks->len; i++)
    {
        double value = g_array_index(ticks, double, i), at = place(scale, value);
        g_autofree char *text = tick_text(scale->axis, value);
        const double line[4] = { upright ? plane->x.from : at, upright ? at : plane->y.from, upright ? plane->x.to : at,
                                 upright ? at : plane->y.to };
        g_string_append_printf(plane->out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                               line[0], line[1], line[2], line[3]);
        if (upright)
            append_text(plane->out, plane->x.from - 6, at + 4, "end", text, "");
        else
            append_text(plane->out, at, plane->y.from + 16, "middle", text, "");
    }
    if (upright)
    {
        g_autofree char *turned = g_strdup_printf(" transform=\"rotate(-90 14 %.1f)\"", (plane->y.from + plane->y.to) / 2);
        append_text(plane->out, 14, (plane->y.from + plane->y.to) / 2, "middle", title, turned);
    }
    else
        append_text(plane->out, (plane->x.from + plane->x.to) / 2, plane->y.from + 36, "middle", title, "");
}

/* --- legend ----------------------------------------------------------------------------------------------------------- */

static void append_marker(GString *out, guint shape, double x, double y, const char *colour)
{
    static const char *const paths[] = { "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
                                         "M-3.5,-3.5h7v7h-7z",
                                         "M0,-4.5l4.5,8h-9z",
                                         "M0,-5l5,5l-5,5l-5,-5z",
                                         "M-5,-4h10l-5,9z",
                                         "M-4,-1.5h8v3h-8z" };
    g_string_append_printf(out, "<path class=\"mark\" transform=\"translate(%.1f %.1f)\" d=\"%s\" fill=\"%s\"/>\n", x, y,
                           paths[shape % G_N_ELEMENTS(paths)], colour);
}

/* Legend: where its next entry comes to stand. */
typedef struct
{
    GString *out;
    double x, y;
} Legend;

static void append_entry(Legend *legend, guint shape, const char *colour, const char *text)
{
    g_autofree char *name = shorten(text, MAX_LABEL);
    double width = 24 + LETTER * (double)g_utf8_strlen(name, -1);
    if (legend->x + width > WIDTH && legend->x > 20)
    {
        legend->x = 20;
        legend->y += ROW;
    }
    append_marker(legend->out, shape, legend->x, legend->y - 4, colour);
    append_text(legend->out, legend->x + 10, legend->y, "start", name, "");
    legend->x += width;
}

/* Names of series with their marks, in as many lines as they need. Returns: the pixels below it */
static double append_legend(GString *out, const IfmFigure *figure, double top)
{
    Legend legend = { out, 20, top };
    if (figure->series->len < 2)
        return top;
    for (guint s = 0; s < figure->series->len; s++)
        append_entry(&legend, s, colours[s % N_COLOURS], ((const IfmSeries *)figure->series->pdata[s])->name);
    return legend.y + ROW;
}

static gboolean has_kind(const IfmFigure *figure, int kind)
{
    for (guint s = 0; s < figure->series->len; s++)
    {
        const GArray *points = ((const IfmSeries *)figure->series->pdata[s])->points;
        for (guint i = 0; i < points->len; i++)
            if (g_array_index(points, IfmPoint, i).y == kind)
                return TRUE;
    }
    return FALSE;
}

/* The same of a timeline's kinds of events, those that are there. */
static double append_kinds(GString *out, const IfmFigure *figure, double top)
{
    Legend legend = { out, 20, top };
    if (figure->y.categories == NULL)
        return top - ROW / 2.0;
    for (int kind = 0; figure->y.categories[kind] != NULL; kind++)
        if (has_kind(figure, kind))
            append_entry(&legend, 1, event_colours[(gsize)kind % G_N_ELEMENTS(event_colours)], figure->y.categories[kind]);
    return legend.y + ROW / 2.0;
}

/* --- points in a plane ------------------------------------------------------------------------------------------------ */

static void append_interval(GString *out, const double at[4], const char *colour, const char *class)
{
    g_string_append_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n",
                           class, at[0], at[1], at[2], at[3], colour);
}

static void append_joined(const Plane *plane, const IfmSeries *series, const char *colour)
{
    gboolean drawing = FALSE;
    g_string_append(plane->out, "<path class=\"line\" d=\"");
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
        gboolean here = has_place(&plane->x, point->x) && has_place(&plane->y, point->y);
        if (here)
            g_string_append_printf(plane->out, "%s%.1f,%.1f", drawing ? "L" : "M", place(&plane->x, point->x),
                                   place(&plane->y, point->y));
        drawing = here;
    }
    g_string_append_printf(plane->out, "\" stroke=\"%s\"/>\n", colour);
}

/* Of many points, the range in each column of pixels. */
static void append_ranges(const Plane *plane, const IfmSeries *series, const char *colour)
{
    const int n = (int)(plane->x.to - plane->x.from) + 1;
    g_autofree double *low = g_new0(double, (gsize)n), *high = g_new0(double, (gsize)n);
    for (int i = 0; i < n; i++)
    {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
        if (!has_place(&plane->x, point->x) || !has_place(&plane->y, point->y))
            continue;
        const int column = CLAMP((int)(place(&plane->x, point->x) - plane->x.from), 0, n - 1);
        const double y = place(&plane->y, point->y);
        low[column] = fmin(low[column], y);
        high[column] = fmax(high[column], y);
    }
    g_string_append(plane->out, "<path class=\"range\" d=\"");
    for (int i = 0; i < n; i++)
        if (low[i] <= high[i])
            g_string_append_printf(plane->out, "M%.1f,%.1fV%.1f", plane->x.from + i + 0.5, low[i] - 0.5, high[i] + 0.5);
    g_string_append_printf(plane->out, "\" stroke=\"%s\"/>\n", colour);
}

static void append_series(const Plane *plane, guint s)
{
    const IfmSeries *series = plane->figure->series->pdata[s];
    const char *colour = colours[s % N_COLOURS];
    if (series->points->len > MAX_MARKS)
    {
        append_ranges(plane, series, colour);
        return;
    }
    if (plane->figure->kind == IFM_FIGURE_LINES || series->joined)
        append_joined(plane, series, colour);
    for (guint i = 0; i < series->points->len && !(series->joined && series->points->len > 60); i++)
    {
        const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
        if (!has_place(&plane->x, point->x) || !has_place(&plane->y, point->y))
            continue;
        double x = place(&plane->x, point->x), y = place(&plane->y, point->y);
        if (has_place(&plane->y, point->lower) && has_place(&plane->y, point->upper) && point->lower < point->upper)
            append_interval(plane->out,
                            (const double[]){ x, place(&plane->y, point->lower), x, place(&plane->y, point->upper) },
                            colour, "interval");
        append_marker(plane->out, s, x, y, colour);
    }
}

static void append_plane(Plane *plane)
{
    const IfmFigure *figure = plane->figure;
    double top = append_legend(plane->out, figure, 44);
    for (guint s = 0; s < figure->series->len; s++)
    {
        const GArray *points = ((const IfmSeries *)figure->series->pdata[s])->points;
        for (guint i = 0; i < points->len; i++)
        {
            const IfmPoint *point = &g_array_index(points, IfmPoint, i);
            extend(&plane->x, point->x);
            extend(&plane->y, point->y);
            extend(&plane->y, point->lower);
            extend(&plane->y, point->upper);
        }
    }
    close_scale(&plane->x);
    close_scale(&plane->y);
    plane->x.from = 90;
    plane->x.to = WIDTH - 20;
    plane->y.to = top;
    plane->y.from = top + PLANE_HEIGHT;
    plane->height = plane->y.from + 48;
    append_axis(plane, &plane->x, FALSE);
    append_axis(plane, &plane->y, TRUE);
    for (guint s = 0; s < figure->series->len; s++)
        append_series(plane, s);
}

/* --- rows: bars, strips, spans ---------------------------------------------------------------------------------------- */

/* Row: one line of a figure of rows: its name at the left, and what is drawn in it. */
typedef struct
{
    char *name;
    guint series;
    const IfmPoint *point; /* NULL: of all points of the series, or a heading */
    guint line;            /* where it is, from the top: a series may share that of the one before it */
} Row;

static void row_free(Row *row)
{
    g_free(row->name);
    g_free(row);
}

static void add_row(GPtrArray *rows, char *name, guint series, const IfmPoint *point)
{
    Row *row = g_new(Row, 1);
    *row = (Row){ name, series, point, rows->len == 0 ? 0 : ((const Row *)rows->pdata[rows->len - 1])->line + 1 };
    g_ptr_array_add(rows, row);
}

/* A row a point; the label before the series, so that series of one label are below each other. (transfer full) Row* */
static GPtrArray *rows_of_points(const IfmFigure *figure)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    g_autoptr(GHashTable) by_label =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    g_autoptr(GPtrArray) order = g_ptr_array_new();
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = figure->series->pdata[s];
        for (guint i = 0; i < series->points->len; i++)
        {
            const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
            const char *label = point->label != NULL ? point->label : "";
            GPtrArray *same = g_hash_table_lookup(by_label, label);
            if (same == NULL)
            {
                same = g_ptr_array_new();
                g_hash_table_insert(by_label, (char *)label, same);
                g_ptr_array_add(order, same);
            }
            g_ptr_array_add(same, (gpointer)point);
            g_ptr_array_add(same, GUINT_TO_POINTER(s));
        }
    }
    for (guint i = 0; i < order->len; i++)
    {
        const GPtrArray *same = order->pdata[i];
        for (guint k = 0; k < same->len; k += 2)
        {
            const IfmPoint *point = same->pdata[k];
            guint s = GPOINTER_TO_UINT(same->pdata[k + 1]);
            const IfmSeries *series = figure->series->pdata[s];
            const char *label = point->label != NULL ? point->label : series->name;
            add_row(rows, shorten(k == 0 ? label : "", MAX_LABEL), s, point);
        }
    }
    return rows;
}

/* A row a series, under the names of their groups. (transfer full) Row* */
static GPtrArray *rows_of_series(const IfmFigure *figure)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = figure->series->pdata[s], *before = s > 0 ? figure->series->pdata[s - 1] : NULL;
        gboolean shares = before != NULL && series->name != NULL && g_strcmp0(before->name, series->name) == 0 &&
                          g_strcmp0(before->group, series->group) == 0;
        add_row(rows, shares ? g_strdup("") : shorten(series->name != NULL ? series->name : series->group, MAX_LABEL), s,
                NULL);
        ((Row *)rows->pdata[s])->line -= shares;
    }
    return rows;
}

static void append_bar(const Plane *plane, const Row *row, double top)
{
    const IfmPoint *point = row->point;
    const char *colour = colours[row->series % N_COLOURS];
    double zero = place(&plane->x, plane->figure->y.logarithmic ? plane->x.low : 0), end = place(&plane->x, point->y);
    g_autofree char *value = ifm_format_value(plane->figure->y.kind, point->y);
    g_string_append_printf(plane->out,
                           "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                           fmin(zero, end), top + 3, fabs(end - zero), ROW - 6, colour);
    if (isfinite(point->lower) && isfinite(point->upper) && point->lower < point->upper)
        append_interval(plane->out,
                        (const double[]){ place(&plane->x, fmax(point->lower, plane->x.low)), top + ROW / 2.0,
                                          place(&plane->x, point->upper), top + ROW / 2.0 },
                        "currentColor", "interval");
    append_text(plane->out,
                fmax(zero, place(&plane->x, fmax(point->y, isfinite(point->upper) ? point->upper : point->y))) + 5,
                top + 13, "start", g_strstrip(value), " class=\"value\"");
}

static void append_strip(const Plane *plane, const Row *row, double top)
{
    const IfmPoint *point = row->point;
    const char *colour = colours[row->series % N_COLOURS];
    double middle = top + ROW / 2.0;
    if (has_place(&plane->x, point->min) && has_place(&plane->x, point->max))
        append_interval(plane->out,
                        (const double[]){ place(&plane->x, point->min), middle, place(&plane->x, point->max), middle },
                        colour, "range");
    if (has_place(&plane->x, point->lower) && has_place(&plane->x, point->upper))
        append_interval(plane->out,
                        (const double[]){ place(&plane->x, point->lower), middle, place(&plane->x, point->upper), middle },
                        colour, "thick");
    append_marker(plane->out, row->series, place(&plane->x, point->y), middle, colour);
}

static const char *span_colour(const IfmFigure *figure, const IfmSeries *series, double kind)
{
    return figure->y.categories == NULL || !isfinite(kind) ? tone_colours[series->tone]
                                                           : event_colours[(gsize)kind % G_N_ELEMENTS(event_colours)];
}

/* What follows within half a pixel and is of one kind is drawn with what is before it. */
static void append_spans(const Plane *plane, const Row *row, double top)
{
    const IfmSeries *series = plane->figure->series->pdata[row->series];
    double from = NAN, to = NAN, kind = NAN;
    for (guint i = 0; i <= series->points->len; i++)
    {
        const IfmPoint *point = i < series->points->len ? &g_array_index(series->points, IfmPoint, i) : NULL;
        double begin = point != NULL ? place(&plane->x, point->x) : INFINITY;
        double end = point != NULL ? place(&plane->x, point->x_end) : INFINITY;
        if (point != NULL && isfinite(from) && begin <= to + 0.5 && begin >= from && (point->y == kind || !isfinite(kind)))
        {
            to = fmax(to, end);
            continue;
        }
        if (isfinite(from))
            g_string_append_printf(
                plane->out, "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", from,
                top + 2, fmax(to - from, 0.5), ROW - 4, span_colour(plane->figure, series, kind));
        kind = point != NULL ? point->y : (double)NAN;
        from = begin;
        to = end;
    }
}

static void extend_rows(Plane *plane, const GPtrArray *rows)
{
    for (guint i = 0; i < rows->len; i++)
    {
        const Row *row = rows->pdata[i];
        const IfmSeries *series = plane->figure->series->pdata[row->series];
        for (guint k = 0; k < series->points->len && row->point == NULL; k++)
        {
            extend(&plane->x, g_array_index(series->points, IfmPoint, k).x);
            extend(&plane->x, g_array_index(series->points, IfmPoint, k).x_end);
        }
        if (row->point == NULL)
            continue;
        const double all[] = { row->point->y, row->point->lower, row->point->upper,
                               plane->figure->kind == IFM_FIGURE_STRIPS ? row->point->min : NAN,
                               plane->figure->kind == IFM_FIGURE_STRIPS ? row->point->max : NAN };
        for (gsize k = 0; k < G_N_ELEMENTS(all); k++)
            extend(&plane->x, all[k]);
    }
}

static void append_rows(Plane *plane)
{
    const IfmFigure *figure = plane->figure;
    gboolean bars = figure->kind == IFM_FIGURE_BARS, spans = figure->kind == IFM_FIGURE_TIMELINE;
    double top = spans ? append_kinds(plane->out, figure, 44) : append_legend(plane->out, figure, 44) - 8;
    g_autoptr(GPtrArray) rows = spans ? rows_of_series(figure) : rows_of_points(figure);
    guint n = MIN(rows->len, MAX_ROWS), n_lines = n > 0 ? ((const Row *)rows->pdata[n - 1])->line + 1 : 0;
    plane->x.axis = spans ? &figure->x : &figure->y;
    if (bars)
        extend(&plane->x, 0);
    extend_rows(plane, rows);
    close_scale(&plane->x);
    glong letters = 4;
    for (guint i = 0; i < n; i++)
        letters = MAX(letters, g_utf8_strlen(((const Row *)rows->pdata[i])->name, -1));
    plane->x.from = 14 + LETTER * (double)letters;
    plane->x.to = WIDTH - (bars ? 90 : 30);
    plane->y.to = top;
    plane->y.from = top + ROW * n_lines + 4;
    plane->height = plane->y.from + 48;
    append_axis(plane, &plane->x, FALSE);
    for (guint i = 0; i < n; i++)
    {
        const Row *row = rows->pdata[i];
        double at = top + ROW * row->line;
        append_text(plane->out, plane->x.from - 6, at + 13, "end", row->name, "");
        if (spans)
            append_spans(plane, row, at);
        else if (has_place(&plane->x, row->point->y))
            (bars ? append_bar : append_strip)(plane, row, at);
    }
    g_autofree char *more = g_strdup_printf("%u more rows are in the data", rows->len - n);
    if (rows->len > n)
        append_text(plane->out, plane->x.from, plane->y.from + 46, "start", more, " class=\"value\"");
}

/* --- matrix ----------------------------------------------------------------------------------------------------------- */

/* From light to dark, at @share of the way. */
static void colour_at(double share, guint colour[3])
{
    static const double stops[][3] = {
        { 237, 248, 233 }, { 186, 228, 179 }, { 116, 196, 118 }, { 49, 130, 128 }, { 20, 60, 110 }
    };
    const guint last = G_N_ELEMENTS(stops) - 1;
    double at = CLAMP(share, 0, 1) * last;
    guint i = MIN((guint)at, last - 1);
    for (int k = 0; k < 3; k++)
        colour[k] = (guint)lround(stops[i][k] + (at - i) * (stops[i + 1][k] - stops[i][k]));
}

/* The last category is that nothing is chosen: grey. */
static const char *category_colour(const char *const *categories, int category)
{
    return categories[category + 1] == NULL ? tone_colours[IFM_TONE_DIM] : colours[category % N_COLOURS];
}

static void append_cell(const Plane *plane, const IfmPoint *point, const double at[4])
{
    guint colour[3];
    double low = plane->y.low, high = plane->y.high;
    gboolean decades = low > 0 && high / low > 20;
    double share = decades ? log(point->y / low) / log(high / low) : (point->y - low) / (high - low);
    const char *const *categories = plane->figure->y.categories;
    g_autofree char *text =
        categories != NULL ? g_strdup(categories[(int)point->y]) : ifm_format_value(plane->figure->y.kind, point->y);
    colour_at(high > low ? share : 0, colour);
    g_autofree char *fill = categories != NULL ? g_strdup(category_colour(categories, (int)point->y))
                                               : g_strdup_printf("#%02x%02x%02x", colour[0], colour[1], colour[2]);
    g_string_append_printf(plane->out,
                           "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                           at[0], at[1], at[2] - 1, at[3] - 1, fill);
    if (at[2] > LETTER * (double)strlen(text))
        append_text(plane->out, at[0] + at[2] / 2, at[1] + at[3] / 2 + 4, "middle", g_strstrip(text),
                    share > 0.5 || categories != NULL ? " fill=\"#fff\"" : " fill=\"#111\"");
}

/* (transfer container) the labels of all columns, in the order of their first appearance */
static GPtrArray *labels_of(const IfmFigure *figure)
{
    GPtrArray *labels = g_ptr_array_new();
    for (guint s = 0; s < figure->series->len; s++)
    {
        const GArray *points = ((const IfmSeries *)figure->series->pdata[s])->points;
        for (guint i = 0; i < points->len; i++)
        {
            const char *label = g_array_index(points, IfmPoint, i).label;
            if (label != NULL && !g_ptr_array_find_with_equal_func(labels, label, g_str_equal, NULL))
                g_ptr_array_add(labels, (char *)label);
        }
    }
    return labels;
}

static void append_matrix(Plane *plane)
{
    const IfmFigure *figure = plane->figure;
    g_autoptr(GPtrArray) labels = labels_of(figure);
    guint n = MIN(figure->series->len, MAX_ROWS);
    double left = 14 + LETTER * 20.0, width = (WIDTH - 20 - left) / MAX(labels->len, 1);
    glong letters = MAX((glong)(width / (LETTER + 2)), 1); /* capitals are wider */
    plane->y.axis = &figure->y;
    for (guint s = 0; s < figure->series->len; s++)
    {
        const GArray *points = ((const IfmSeries *)figure->series->pdata[s])->points;
        for (guint i = 0; i < points->len; i++)
            extend(&plane->y, g_array_index(points, IfmPoint, i).y);
    }
    for (guint i = 0; i < labels->len; i++)
    {
        g_autofree char *label = shorten(labels->pdata[i], letters);
        append_text(plane->out, left + width * (i + 0.5), 48, "middle", label, "");
    }
    for (guint s = 0; s < n; s++)
    {
        const IfmSeries *series = figure->series->pdata[s];
        g_autofree char *name = shorten(series->name, 20);
        append_text(plane->out, left - 6, 54 + 24 * s + 16, "end", name, "");
        for (guint i = 0; i < series->points->len; i++)
        {
            const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
            guint column = 0;
            if (point->label == NULL || !isfinite(point->y) ||
                !g_ptr_array_find_with_equal_func(labels, point->label, g_str_equal, &column))
                continue;
            append_cell(plane, point, (const double[]){ left + width * column, 54 + 24.0 * s, width, 24 });
        }
    }
    plane->height = 54 + 24.0 * n + 16;
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

void ifm_svg_append(GString *out, const IfmFigure *figure, gboolean alone)
{
    g_autoptr(GString) body = g_string_new(NULL);
    Plane plane = { body, figure, { &figure->x, INFINITY, -INFINITY }, { &figure->y, INFINITY, -INFINITY } };
    g_autofree char *clean = ifm_format_clean(figure->title), *title = g_markup_escape_text(clean, -1);
    append_text(body, 12, 20, "start", figure->title, " class=\"title\"");
    if (figure->kind == IFM_FIGURE_MATRIX)
        append_matrix(&plane);
    else if (figure->kind == IFM_FIGURE_SCATTER || figure->kind == IFM_FIGURE_LINES)
        append_plane(&plane);
    else
        append_rows(&plane);
    g_string_append_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"static\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
        "aria-label=\"%s\" font-family=\"sans-serif\" font-size=\"12\" fill=\"%s\">\n",
        WIDTH, plane.height, title, alone ? "#222" : "currentColor");
    if (alone)
        g_string_append_printf(out, "<title>%s</title>\n<rect width=\"%d\" height=\"%.0f\" fill=\"#fff\"/>\n", title, WIDTH,
                               plane.height);
    g_string_append(out, "<style>.grid{stroke:#8885;stroke-width:.6}.line{fill:none;stroke-width:1.8}"
                         ".interval{stroke-width:1.4}.range{stroke-width:1.2}.thick{stroke-width:6;opacity:.55}"
                         ".title{font-size:14px;font-weight:600}.value{font-size:10.5px;opacity:.8}</style>\n");
    g_string_append_len(out, body->str, (gssize)body->len);
    g_string_append(out, "</svg>\n");
}
