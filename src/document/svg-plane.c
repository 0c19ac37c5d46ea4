#include <math.h>
#include <string.h>

#include "svg-private.h"

/* Points in planes: one, or a small one a group of series, on the same scales. */

#define LARGEST_RADIUS 17.0
#define MOST_ON_LINE 60 /* marks: a line through more has none */
#define MOST_MARKS 600  /* of a figure: of more, those of a series are one path */

/* Plane: a part of the figure. @split: of more series than colours: a plane a series. @most: the largest size. */
typedef struct
{
    IfmSvg *svg;
    IfmSvgScale x, y;
    GPtrArray *names;
    gboolean split;
    double most;
    gsize n; /* of points */
} Plane;

static const char *panel_of(const Plane *plane, const IfmSeries *series)
{
    const char *name = plane->split ? series->name : series->group;
    return name != NULL ? name : "";
}

static void extend_all(Plane *plane)
{
    const IfmFigure *figure = plane->svg->figure;
    for (int bounds = 0; bounds < 2; bounds++)
        for (guint s = 0; s < figure->series->len; s++)
            for (guint i = 0; i < ifm_svg_series(figure, s)->points->len; i++)
            {
                const IfmPoint *point = ifm_svg_point(ifm_svg_series(figure, s), i);
                if (!ifm_svg_has_place(&plane->x, point->x) || !ifm_svg_has_place(&plane->y, point->y))
                    continue;
                if (bounds == 0)
                {
                    plane->n++;
                    ifm_svg_extend(&plane->x, point->x);
                    ifm_svg_extend(&plane->y, point->y);
                    plane->most = isfinite(point->size) ? fmax(plane->most, point->size) : plane->most;
                    continue;
                }
                ifm_svg_extend_bound(&plane->y, point->lower);
                ifm_svg_extend_bound(&plane->y, point->upper);
            }
    for (int end = 0; end < 2 && figure->square && plane->n > 0; end++)
    {
        ifm_svg_extend(&plane->x, end == 0 ? plane->y.low : plane->y.high);
        ifm_svg_extend(&plane->y, end == 0 ? plane->x.low : plane->x.high);
    }
    ifm_svg_close(&plane->x, FALSE);
    ifm_svg_close(&plane->y, FALSE);
}

/* Of many points, those on one pixel are one dot. */
static void append_dots(const Plane *plane, const IfmSeries *series, guint colour)
{
    g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
    g_string_append_printf(plane->svg->out, "<path class=\"dots %s\" d=\"", ifm_svg_class('l', colour));
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = ifm_svg_point(series, i);
        if (!ifm_svg_has_place(&plane->x, point->x) || !ifm_svg_has_place(&plane->y, point->y))
            continue;
        const int x = (int)lround(ifm_svg_place(&plane->x, point->x)), y = (int)lround(ifm_svg_place(&plane->y, point->y));
        if (g_hash_table_add(known, GINT_TO_POINTER(x * 4096 + y)))
            g_string_append_printf(plane->svg->out, "M%d,%dh0", x, y);
    }
    g_string_append(plane->svg->out, "\"/>\n");
}

/* Of points within half a pixel the first. */
static void append_line(const Plane *plane, const IfmSeries *series, const char *class)
{
    gboolean drawing = FALSE;
    double x = NAN, y = NAN;
    g_string_append_printf(plane->svg->out, "<path class=\"ln %s\" d=\"", class);
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = ifm_svg_point(series, i);
        const gboolean here = ifm_svg_has_place(&plane->x, point->x) && ifm_svg_has_place(&plane->y, point->y);
        const double x_here = ifm_svg_place(&plane->x, point->x), y_here = ifm_svg_place(&plane->y, point->y);
        if (here && !(drawing && fabs(x_here - x) < 0.5 && fabs(y_here - y) < 0.5))
        {
            g_string_append_printf(plane->svg->out, "%s%.1f,%.1f", drawing ? "L" : "M", x_here, y_here);
            x = x_here;
            y = y_here;
        }
        drawing = here;
    }
    g_string_append(plane->svg->out, "\"/>\n");
}

/* Beside the mark where there is room, else nowhere. */
static void append_label(const Plane *plane, double x, double y, double radius, const char *class, const char *label)
{
    g_autofree char *text = ifm_svg_shorten(label, fmin(fabs(plane->x.to - plane->x.from) / 2, 180), FALSE);
    if (!ifm_svg_text(plane->svg, x + radius + 4, y + 4, 's', class, text) &&
        !ifm_svg_text(plane->svg, x - radius - 4, y + 4, 'e', class, text) &&
        !ifm_svg_text(plane->svg, x, y - radius - 5, 'm', class, text))
        ifm_svg_text(plane->svg, x, y + radius + 12, 'm', class, text);
}

/* The name of a roof, above its line. */
static void append_roof(const Plane *plane, const IfmSeries *series)
{
    append_line(plane, series, "ax");
    for (guint i = series->points->len; i > 0; i--)
    {
        const IfmPoint *point = ifm_svg_point(series, i - 1);
        if (!ifm_svg_has_place(&plane->x, point->x) || !ifm_svg_has_place(&plane->y, point->y))
            continue;
        g_autofree char *text = ifm_svg_shorten(series->name, fabs(plane->x.to - plane->x.from) / 2, FALSE);
        if (ifm_svg_text(plane->svg, ifm_svg_place(&plane->x, point->x), ifm_svg_place(&plane->y, point->y) - 5,
                         i > 1 ? 'e' : 's', "mu halo", text))
            return;
    }
}

static void append_point(const Plane *plane, guint s, guint i, guint colour)
{
    const IfmPoint *point = ifm_svg_point(ifm_svg_series(plane->svg->figure, s), i);
    if (!ifm_svg_has_place(&plane->x, point->x) || !ifm_svg_has_place(&plane->y, point->y))
        return;
    GString *out = plane->svg->out;
    const double x = ifm_svg_place(&plane->x, point->x), y = ifm_svg_place(&plane->y, point->y);
    double radius = 4;
    if (plane->most > 0 && point->size >= 0)
    {
        radius = fmax(LARGEST_RADIUS * sqrt(point->size / plane->most), 2.5);
        g_autofree char *class = g_strconcat("bub ", ifm_svg_class('c', colour), NULL);
        ifm_svg_circle(out, x, y, radius, class);
    }
    else if (point->mark != IFM_MARK_NONE)
    {
        g_autofree char *class = g_strconcat("open ", ifm_svg_class('l', colour), NULL);
        ifm_svg_shape(out, colour, x, y, class);
    }
    else
        ifm_svg_shape(out, colour, x, y, ifm_svg_class('c', colour));
    ifm_svg_mark_attributes(plane->svg, s, i);
    g_string_append(out, "/>\n");
    if (point->text != NULL)
        append_label(plane, x, y, radius, "tx", point->text);
}

/* Of a series, as one path. */
static void append_intervals(const Plane *plane, const IfmSeries *series, guint colour)
{
    g_autoptr(GString) path = g_string_new(NULL);
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = ifm_svg_point(series, i);
        if (ifm_svg_has_place(&plane->x, point->x) && ifm_svg_has_place(&plane->y, point->y))
            ifm_svg_append_interval(path, &plane->y, point->lower, point->upper, ifm_svg_place(&plane->x, point->x), TRUE);
    }
    if (path->len > 0)
        g_string_append_printf(plane->svg->out, "<path class=\"iv %s\" d=\"%s\"/>\n", ifm_svg_class('l', colour),
                               path->str);
}

static void append_series(const Plane *plane, guint s)
{
    const IfmSeries *series = ifm_svg_series(plane->svg->figure, s);
    const guint colour = plane->split ? 0 : ifm_svg_colour(plane->svg, plane->names, series->name);
    if (plane->most > 0 && series->joined)
    {
        append_roof(plane, series);
        return;
    }
    const gboolean lines = plane->svg->figure->kind == IFM_FIGURE_LINES || series->joined,
                   many = series->points->len > IFM_SVG_MARKS || plane->n > MOST_MARKS ||
                          (lines && series->points->len > MOST_ON_LINE);
    if (plane->svg->figure->square && series->joined)
    {
        append_line(plane, series, "ax");
        return;
    }
    if (lines)
        append_line(plane, series, ifm_svg_class('l', colour));
    else if (many)
        append_dots(plane, series, colour);
    if (!many)
        append_intervals(plane, series, colour);
    for (guint i = 0; !many && i < series->points->len; i++)
        append_point(plane, s, i, colour);
}

static void append_panel(Plane *plane, const char *name, gboolean left, gboolean words)
{
    IfmSvg *svg = plane->svg;
    g_autofree char *title = ifm_svg_shorten(name, plane->x.to - plane->x.from, TRUE);
    ifm_svg_text(svg, plane->x.from, plane->y.to - 7, 's', "tx b", title);
    ifm_svg_begin_plot(svg, &plane->x, &plane->y);
    ifm_svg_axis(svg, &plane->y, TRUE, plane->x.from, plane->x.to, left);
    ifm_svg_axis(svg, &plane->x, FALSE, plane->y.from, plane->y.to, words);
    for (guint s = 0; s < svg->figure->series->len; s++)
        if (g_str_equal(panel_of(plane, ifm_svg_series(svg->figure, s)), name))
            append_series(plane, s);
    g_string_append(svg->out, "</g>\n");
}

static void append_panels(Plane *plane, const GPtrArray *panels)
{
    IfmSvg *svg = plane->svg;
    const guint n = MAX(panels->len, 1);
    const guint across = MIN(n, svg->width >= 1000 ? 4 : svg->width >= 500 ? 2 : n > 1 && svg->width < 340 ? 1 : 2);
    const double left = 52, gap = 18, each = (svg->width - left - gap * (across - 1) - 6) / across;
    const double height = n == 1 ? fmin(320, fmax(200, svg->width * 0.45)) : 120;
    const double across_each = svg->figure->square ? fmin(each, height) : each;
    for (guint i = 0; i < n; i++)
    {
        if (i % across == 0)
            svg->top += i > 0 ? height + 46 : n > 1 ? 20 : 12;
        plane->x.from = left + (i % across) * (each + gap);
        plane->x.to = plane->x.from + across_each;
        plane->y.to = svg->top;
        plane->y.from = svg->top + height;
        append_panel(plane, panels->len > 0 ? panels->pdata[i] : "", i % across == 0, TRUE);
    }
    svg->top += height + 34;
}

void ifm_svg_append_plane(IfmSvg *svg)
{
    const IfmFigure *figure = svg->figure;
    g_autoptr(GPtrArray) names = ifm_svg_series_names(figure), panels = g_ptr_array_new(), keys = g_ptr_array_new();
    Plane plane = { svg, ifm_svg_scale(&figure->x), ifm_svg_scale(&figure->y), names, names->len > IFM_SVG_COLOURS, 0, 0 };
    extend_all(&plane);
    plane.split = plane.split && !(plane.most > 0);
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = ifm_svg_series(figure, s);
        const char *panel = panel_of(&plane, series);
        if (!g_ptr_array_find_with_equal_func(panels, panel, g_str_equal, NULL))
            g_ptr_array_add(panels, (char *)panel);
        if (!(plane.most > 0 && series->joined))
            g_ptr_array_add(keys, (char *)(series->name != NULL ? series->name : ""));
    }
    if (names->len > 1 && !plane.split)
    {
        g_ptr_array_set_size(keys, (int)MIN(keys->len, names->len));
        ifm_svg_key(svg, plane.most > 0 ? keys : names, NULL, TRUE);
    }
    plane.y.from = 1; /* ticks are chosen by it */
    g_autofree char *y = ifm_svg_axis_title(&plane.y), *x = ifm_svg_axis_title(&plane.x);
    g_autofree char *above = ifm_svg_shorten(y, svg->width, FALSE), *below = ifm_svg_shorten(x, svg->width, FALSE);
    if (ifm_svg_text(svg, 0, svg->top + 10, 's', "at", above))
        svg->top += IFM_SVG_LINE;
    append_panels(&plane, panels);
    ifm_svg_text(svg, svg->width, svg->top, 'e', "at", below);
    svg->top += 6;
}
