#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report-private.h"

/* A figure's rows over time, for a terminal. */

enum
{
    WIDTH_UNBOUNDED = 120, /* of all, where the screen has no width */
    MIN_CELLS = 20,
    MAX_LABEL = 28,
    TICK_COLUMNS = 14,
};

typedef struct
{
    const IfmScreen *screen;
    int label, cells;
    double cell_ns;
} Canvas;

typedef struct
{
    double start, end;
} Span;

static char *label_of(const IfmSeries *series, gboolean utf8)
{
    char *spelt = ifm_format_spelt(series->name, utf8);
    if (g_utf8_strlen(spelt, -1) > MAX_LABEL)
        *g_utf8_offset_to_pointer(spelt, MAX_LABEL) = '\0';
    return spelt;
}

/* --- one row ---------------------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const Span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Joined where they overlap: what lies in another is not drawn twice. */
static GArray *spans_of(const IfmSeries *series)
{
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(Span));
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
        Span span = { point->x, point->x_end };
        if (span.start < span.end)
            g_array_append_val(spans, span);
    }
    g_array_sort(spans, by_start);
    guint kept = 0;
    Span *all = (Span *)(void *)spans->data;
    for (guint i = 0; i < spans->len; i++)
        if (kept > 0 && all[i].start <= all[kept - 1].end)
            all[kept - 1].end = MAX(all[kept - 1].end, all[i].end);
        else
            all[kept++] = all[i];
    g_array_set_size(spans, kept);
    return spans;
}

/* Adds to each cell the share of it that the span covers. */
static void fill(double *shares, const Canvas *canvas, double from_ns, double to_ns)
{
    double from = from_ns / canvas->cell_ns, to = MIN(to_ns / canvas->cell_ns, canvas->cells);
    for (int cell = (int)from; cell < canvas->cells && cell < to; cell++)
        shares[cell] += MIN(to, cell + 1) - MAX(from, cell);
}

/* Labels, in what has a cell before and after them. @letters: [cells] 0: none */
static void place_labels(char *letters, const IfmSeries *series, const Canvas *canvas)
{
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
        if (point->label == NULL)
            continue;
        g_autofree char *label = ifm_format_spelt(point->label, FALSE); /* a byte a column */
        int length = (int)strlen(label);
        int first = (int)ceil(point->x / canvas->cell_ns - 1e-9), end = (int)floor(point->x_end / canvas->cell_ns + 1e-9);
        if (end - first >= length + 2 && first >= 0 && end <= canvas->cells)
            memcpy(letters + first + 1, label, (gsize)length);
    }
}

static const char *shade(double share, gboolean utf8)
{
    static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const letters[] = { " ", ".", ".", ":", ":", "-", "=", "+", "#" };
    int eighths = (int)lround(CLAMP(share, 0, 1) * 8);
    if (eighths == 0 && share > 1e-9) /* little is not nothing */
        eighths = 1;
    return utf8 ? blocks[eighths] : letters[eighths];
}

static void draw_row(GString *out, const IfmSeries *series, const Canvas *canvas)
{
    const IfmScreen *screen = canvas->screen;
    g_autofree char *label = label_of(series, screen->utf8);
    g_autofree double *shares = g_new0(double, canvas->cells);
    g_autofree char *letters = g_malloc0((gsize)canvas->cells);
    g_autoptr(GArray) spans = spans_of(series);
    for (guint i = 0; i < spans->len; i++)
        fill(shares, canvas, g_array_index(spans, Span, i).start, g_array_index(spans, Span, i).end);
    place_labels(letters, series, canvas);
    gsize begin = out->len;
    g_string_append_printf(out, "%s%*s  %s", label, MAX(canvas->label - ifm_text_width(label), 0), "",
                           ifm_tone_begin(screen, series->tone));
    for (int cell = 0; cell < canvas->cells; cell++)
        if (letters[cell] != 0)
            g_string_append_c(out, letters[cell]);
        else
            g_string_append(out, shade(shares[cell], screen->utf8));
    g_string_append(out, ifm_tone_end(screen, series->tone));
    while (out->len > begin && out->str[out->len - 1] == ' ')
        g_string_truncate(out, out->len - 1);
    g_string_append_c(out, '\n');
}

/* --- the axis --------------------------------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, not below what a tick needs. */
static double step_of(const Canvas *canvas)
{
    double min = canvas->cell_ns * TICK_COLUMNS, power = pow(10, floor(log10(min)));
    for (int i = 0; i < 3; i++)
    {
        static const double times[] = { 1, 2, 5 };
        if (power * times[i] >= min * (1 - 1e-12))
            return power * times[i];
    }
    return power * 10;
}

static void draw_axis(GString *out, const Canvas *canvas)
{
    double step = step_of(canvas), max = canvas->cell_ns * canvas->cells;
    g_autoptr(GString) line = g_string_new(NULL);
    for (double at = 0; at < max; at += step)
    {
        int column = (int)lround(at / canvas->cell_ns);
        g_autofree char *text = at == 0 ? g_strdup("0") : ifm_format_duration(at);
        int used = ifm_text_width(line->str);
        if (column + 1 + ifm_text_width(text) > canvas->cells || column < used)
            break;
        g_string_append_printf(line, "%*s%s%s", column - used, "", canvas->screen->utf8 ? "└" : "|", text);
    }
    g_string_append_printf(out, "%*s  %s%s%s\n", canvas->label, "", ifm_tone_begin(canvas->screen, IFM_TONE_DIM), line->str,
                           ifm_tone_end(canvas->screen, IFM_TONE_DIM));
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static Canvas canvas_for(const IfmFigure *figure, const IfmScreen *screen)
{
    Canvas canvas = { .screen = screen };
    double longest_ns = isfinite(figure->x.high) ? figure->x.high : 0;
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = figure->series->pdata[s];
        if (series->no_screen)
            continue;
        g_autofree char *label = series->name != NULL ? label_of(series, screen->utf8) : g_strdup("");
        canvas.label = MAX(canvas.label, ifm_text_width(label));
        for (guint i = 0; i < series->points->len; i++)
            longest_ns = fmax(longest_ns, g_array_index(series->points, IfmPoint, i).x_end);
    }
    int width = screen->width >= IFM_SCREEN_UNBOUNDED ? WIDTH_UNBOUNDED : screen->width;
    canvas.cells = MAX(width - canvas.label - 2, MIN_CELLS);
    canvas.cell_ns = MAX(longest_ns, 1) / canvas.cells;
    return canvas;
}

void ifm_draw_timeline(GString *out, const IfmFigure *figure, const IfmScreen *screen)
{
    const char *group = NULL;
    Canvas canvas = canvas_for(figure, screen);
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = figure->series->pdata[s];
        if (series->no_screen)
            continue;
        if (series->group != NULL && (series->name == NULL || series->group != group))
        {
            g_autofree char *spelt = ifm_format_spelt(series->group, screen->utf8);
            g_string_append_printf(out, "%s%s%s%s\n", s > 0 ? "\n" : "", ifm_bold_begin(screen), spelt,
                                   ifm_bold_end(screen));
            group = series->group;
        }
        if (series->name != NULL)
            draw_row(out, series, &canvas);
    }
    draw_axis(out, &canvas);
}
