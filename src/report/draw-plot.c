#include <math.h>
#include <string.h>

#include "report-private.h"

/* Points in a plane of two logarithms, in letters. */

#define HEIGHT 12
#define WIDTH_MOST 78
#define WIDTH_LEAST 24

/* Plane: where a point comes to stand. */
typedef struct
{
    double x_low, x_high, y_low, y_high; /* logarithms */
    int width, label;                    /* columns of the plane, and before it */
} Plane;

static void widen(double value, double *low, double *high)
{
    *low = fmin(*low, log(value));
    *high = fmax(*high, log(value));
}

/* FALSE where nothing can be drawn: no two points. */
static gboolean plane_init(Plane *plane, const IfmPlot *plot)
{
    gsize n = 0;
    *plane = (Plane){ INFINITY, -INFINITY, INFINITY, -INFINITY, 0, 0 };
    for (gsize s = 0; s < plot->n_series; s++)
        for (gsize i = 0; i < plot->n; i++)
            if (plot->x[i] > 0 && plot->series[s].y[i] > 0)
            {
                widen(plot->x[i], &plane->x_low, &plane->x_high);
                widen(plot->series[s].y[i], &plane->y_low, &plane->y_high);
                n++;
            }
    return n > 0 && plane->x_high > plane->x_low;
}

static int cell_of(double value, double low, double high, int cells)
{
    return high > low ? (int)lround((log(value) - low) / (high - low) * (cells - 1)) : (cells - 1) / 2;
}

/* One row of the plane, from the left. A series stands before those after it. */
static void paint_row(GString *out, const IfmPlot *plot, const Plane *plane, int row, const IfmScreen *screen)
{
    g_autofree guint8 *cells = g_new0(guint8, (gsize)plane->width);
    for (gsize s = plot->n_series; s-- > 0;)
        for (gsize i = 0; i < plot->n; i++)
            if (plot->x[i] > 0 && plot->series[s].y[i] > 0 &&
                cell_of(plot->series[s].y[i], plane->y_low, plane->y_high, HEIGHT) == row)
                cells[cell_of(plot->x[i], plane->x_low, plane->x_high, plane->width)] = (guint8)(s + 1);
    int blanks = 0;
    for (int i = 0; i < plane->width; i++)
    {
        if (cells[i] == 0)
        {
            blanks++;
            continue;
        }
        const IfmPlotSeries *series = &plot->series[cells[i] - 1];
        g_string_append_printf(out, "%*s%s%s%s", blanks, "", ifm_tone_begin(screen, series->tone),
                               screen->utf8 ? series->utf8 : series->ascii, ifm_tone_end(screen, series->tone));
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

/* The values of x below their columns, as many as there is room for: first the ends, then those between. */
static void paint_x(GString *out, const IfmPlot *plot, const Plane *plane, const IfmScreen *screen)
{
    int width = plane->label + 2 + plane->width + 1;
    g_autofree char *line = g_strnfill((gsize)width, ' ');
    for (gsize k = 0; k < plot->n; k++)
    {
        gsize i = k == 0 ? 0 : k == 1 ? plot->n - 1 : k - 1;
        if (!(plot->x[i] > 0) || log(plot->x[i]) < plane->x_low || log(plot->x[i]) > plane->x_high)
            continue;
        int length = (int)strlen(plot->names[i]);
        int at = plane->label + 2 + cell_of(plot->x[i], plane->x_low, plane->x_high, plane->width) - length / 2;
        at = CLAMP(at, 0, MAX(width - length, 0));
        gboolean room = at + length <= width;
        for (int c = MAX(at - 1, 0); room && c < MIN(at + length + 1, width); c++)
            room = line[c] == ' ';
        if (room)
            memcpy(line + at, plot->names[i], (gsize)length);
    }
    g_strchomp(line);
    g_string_append_printf(out, "%*s%s%s", plane->label + 1, "", ifm_tone_begin(screen, IFM_TONE_DIM),
                           screen->utf8 ? "└" : "+");
    for (int i = 0; i < plane->width; i++)
        g_string_append(out, screen->utf8 ? "─" : "-");
    g_string_append_printf(out, "%s\n%s\n", ifm_tone_end(screen, IFM_TONE_DIM), line);
}

gboolean ifm_draw_plot(GString *out, const IfmPlot *plot, const IfmScreen *screen)
{
    Plane plane;
    if (!plane_init(&plane, plot))
        return FALSE;
    g_autofree char *high = ifm_format_duration(exp(plane.y_high)), *low = ifm_format_duration(exp(plane.y_low));
    plane.label = MAX(ifm_text_width(high), ifm_text_width(low));
    plane.width = MAX(MIN(screen->width, WIDTH_MOST) - plane.label - 3, WIDTH_LEAST);
    for (int row = HEIGHT - 1; row >= 0; row--)
    {
        const char *label = row == HEIGHT - 1 ? high : row == 0 ? low : "";
        paint_label(out, label, &plane, *label != '\0', screen);
        paint_row(out, plot, &plane, row, screen);
    }
    paint_x(out, plot, &plane, screen);
    return TRUE;
}
