#include <math.h>
#include <string.h>

#include "report-private.h"

/* A figure's points in a plane of letters. */

#define HEIGHT 12
#define WIDTH_MAX 78
#define WIDTH_MIN 24

/* How series are distinguished; an earlier one stands before a later one. */
static const struct
{
    const char *utf8, *ascii; /* one column each */
} glyphs[] = { { "●", "*" }, { "○", "o" }, { "▲", "^" }, { "△", "v" },
               { "■", "#" }, { "□", "+" }, { "◆", "x" }, { "◇", "%" } };

static const char *glyph_of(guint series, const IfmScreen *screen)
{
    return screen->utf8 ? glyphs[series % G_N_ELEMENTS(glyphs)].utf8 : glyphs[series % G_N_ELEMENTS(glyphs)].ascii;
}

/* Plane: where a point comes to stand: coordinates are logarithms where their axis is logarithmic. */
typedef struct
{
    const IfmFigure *figure;
    double x_low, x_high, y_low, y_high;
    int width, label; /* columns of the plane, and before it */
} Plane;

static const IfmSeries *series_at(const IfmFigure *figure, guint at)
{
    return figure->series->pdata[at];
}

/* NaN where it has no place. */
static double coordinate(const IfmAxis *axis, double value)
{
    return !axis->logarithmic ? value : value > 0 ? log(value) : (double)NAN;
}

static double value_at(const IfmAxis *axis, double coordinate)
{
    return axis->logarithmic ? exp(coordinate) : coordinate;
}

/* FALSE where nothing can be drawn: no two points. */
static gboolean plane_init(Plane *plane, const IfmFigure *figure)
{
    gsize n = 0;
    *plane = (Plane){ figure, INFINITY, -INFINITY, INFINITY, -INFINITY, 0, 0 };
    for (guint s = 0; s < figure->series->len; s++)
        for (guint i = 0; i < series_at(figure, s)->points->len; i++)
        {
            const IfmPoint *point = &g_array_index(series_at(figure, s)->points, IfmPoint, i);
            double x = coordinate(&figure->x, point->x), y = coordinate(&figure->y, point->y);
            if (!isfinite(x) || !isfinite(y))
                continue;
            plane->x_low = fmin(plane->x_low, x);
            plane->x_high = fmax(plane->x_high, x);
            plane->y_low = fmin(plane->y_low, y);
            plane->y_high = fmax(plane->y_high, y);
            n++;
        }
    return n > 0 && plane->x_high > plane->x_low;
}

static int cell_of(double at, double low, double high, int cells)
{
    return high > low ? (int)lround((at - low) / (high - low) * (cells - 1)) : (cells - 1) / 2;
}

/* One row of the plane, from the left. A series stands before those after it. */
static void paint_row(GString *out, const Plane *plane, int row, const IfmScreen *screen)
{
    const IfmFigure *figure = plane->figure;
    g_autofree guint *cells = g_new0(guint, (gsize)plane->width);
    for (guint s = figure->series->len; s-- > 0;)
        for (guint i = 0; i < series_at(figure, s)->points->len; i++)
        {
            const IfmPoint *point = &g_array_index(series_at(figure, s)->points, IfmPoint, i);
            double x = coordinate(&figure->x, point->x), y = coordinate(&figure->y, point->y);
            if (isfinite(x) && isfinite(y) && cell_of(y, plane->y_low, plane->y_high, HEIGHT) == row)
                cells[cell_of(x, plane->x_low, plane->x_high, plane->width)] = s + 1;
        }
    int blanks = 0;
    for (int i = 0; i < plane->width; i++)
    {
        if (cells[i] == 0)
        {
            blanks++;
            continue;
        }
        IfmTone tone = series_at(figure, cells[i] - 1)->tone;
        g_string_append_printf(out, "%*s%s%s%s", blanks, "", ifm_tone_begin(screen, tone), glyph_of(cells[i] - 1, screen),
                               ifm_tone_end(screen, tone));
        blanks = 0;
    }
    g_string_append_c(out, '\n');
}

static void paint_label(GString *out, const char *label, const Plane *plane, gboolean tick, const IfmScreen *screen)
{
    const char *bar = screen->utf8 ? (tick ? "┤" : "│") : "|";
    g_string_append_printf(out, "%*s%s %s%s%s", plane->label - ifm_text_width(label), "", label,
                           ifm_tone_begin(screen, IFM_TONE_DIM), bar, ifm_tone_end(screen, IFM_TONE_DIM));
}

/* The places on the x axis that have a point, each once. (transfer full) IfmPoint, borrowed */
static GPtrArray *places_of(const IfmFigure *figure)
{
    GPtrArray *places = g_ptr_array_new();
    for (guint s = 0; s < figure->series->len; s++)
        for (guint i = 0; i < series_at(figure, s)->points->len; i++)
        {
            IfmPoint *point = &g_array_index(series_at(figure, s)->points, IfmPoint, i);
            gboolean there = FALSE;
            for (guint at = 0; at < places->len && !there; at++)
                there = ((const IfmPoint *)places->pdata[at])->x == point->x;
            if (!there)
                g_ptr_array_add(places, point);
        }
    return places;
}

/* The values of x below their columns, as many as there is room for: first the ends, then those between. */
static void paint_x(GString *out, const Plane *plane, const IfmScreen *screen)
{
    int width = plane->label + 2 + plane->width + 1;
    g_autofree char *line = g_strnfill((gsize)width, ' ');
    g_autoptr(GPtrArray) places = places_of(plane->figure);
    for (guint k = 0; k < places->len; k++)
    {
        const IfmPoint *point = places->pdata[k == 0 ? 0 : k == 1 ? places->len - 1 : k - 1];
        double x = coordinate(&plane->figure->x, point->x);
        if (!(x >= plane->x_low && x <= plane->x_high))
            continue;
        g_autofree char *text = point->label != NULL && !plane->figure->x.own
                                    ? g_strdup(point->label)
                                    : ifm_format_value(plane->figure->x.kind, point->x);
        g_autofree char *label = ifm_format_spelt(text, FALSE); /* a byte a column */
        int length = (int)strlen(label);
        int at = plane->label + 2 + cell_of(x, plane->x_low, plane->x_high, plane->width) - length / 2;
        at = CLAMP(at, 0, MAX(width - length, 0));
        gboolean room = at + length <= width;
        for (int c = MAX(at - 1, 0); room && c < MIN(at + length + 1, width); c++)
            room = line[c] == ' ';
        if (room)
            memcpy(line + at, label, (gsize)length);
    }
    g_strchomp(line);
    g_string_append_printf(out, "%*s%s%s", plane->label + 1, "", ifm_tone_begin(screen, IFM_TONE_DIM),
                           screen->utf8 ? "└" : "+");
    for (int i = 0; i < plane->width; i++)
        g_string_append(out, screen->utf8 ? "─" : "-");
    g_string_append_printf(out, "%s\n%s\n", ifm_tone_end(screen, IFM_TONE_DIM), line);
}

/* "time over m, both logarithmic: ● measured, ○ as the FLOP alone" */
static void paint_title(GString *out, const IfmFigure *figure, const IfmScreen *screen)
{
    const gboolean x = figure->x.logarithmic, y = figure->y.logarithmic;
    g_autoptr(GString) title = g_string_new(figure->title);
    g_string_append(title, x && y ? ", both logarithmic" : x ? ", x logarithmic" : y ? ", y logarithmic" : "");
    for (guint s = 0; s < figure->series->len; s++)
        if (series_at(figure, s)->name != NULL)
            g_string_append_printf(title, "%s %s %s", s == 0 ? ":" : ",", glyph_of(s, screen), series_at(figure, s)->name);
    ifm_draw_paragraph(out, title->str, screen);
}

/* Lines through few points need more than letters: left out. */
void ifm_draw_scatter(GString *out, const IfmFigure *whole, const IfmScreen *screen)
{
    Plane plane;
    g_autoptr(GPtrArray) marks = g_ptr_array_new();
    IfmFigure drawn = *whole;
    const IfmFigure *figure = &drawn;
    for (guint s = 0; s < whole->series->len; s++)
        if (!series_at(whole, s)->joined)
            g_ptr_array_add(marks, whole->series->pdata[s]);
    drawn.series = marks;
    if (!plane_init(&plane, figure))
        return;
    g_autofree char *high = ifm_format_value(figure->y.kind, value_at(&figure->y, plane.y_high)),
                    *low = ifm_format_value(figure->y.kind, value_at(&figure->y, plane.y_low));
    plane.label = MAX(ifm_text_width(high), ifm_text_width(low));
    plane.width = MAX(MIN(screen->width, WIDTH_MAX) - plane.label - 3, WIDTH_MIN);
    paint_title(out, figure, screen);
    for (int row = HEIGHT - 1; row >= 0; row--)
    {
        const char *label = row == HEIGHT - 1 ? high : row == 0 ? low : "";
        paint_label(out, label, &plane, *label != '\0', screen);
        paint_row(out, &plane, row, screen);
    }
    paint_x(out, &plane, screen);
}
