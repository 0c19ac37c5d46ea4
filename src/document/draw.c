#include <math.h>
#include <string.h>

#include "document-private.h"

/* These functions draw with characters on a terminal: colours, wrapped paragraphs, strips on a common scale, and bars. */

/* --- colours -------------------------------------------------------------------------------------------------------- */

static const char *const tone_codes[] = {
    [IFM_TONE_PLAIN] = "",         [IFM_TONE_GOOD] = "\033[32m", [IFM_TONE_WARN] = "\033[33m",
    [IFM_TONE_BAD] = "\033[1;31m", [IFM_TONE_DIM] = "\033[2m",
};

const char *ifm_tone_begin(const IfmScreen *screen, IfmTone tone)
{
    return screen->colour ? tone_codes[tone] : "";
}

const char *ifm_tone_end(const IfmScreen *screen, IfmTone tone)
{
    return screen->colour && tone != IFM_TONE_PLAIN ? "\033[0m" : "";
}

const char *ifm_bold_begin(const IfmScreen *screen)
{
    return screen->colour ? "\033[1m" : "";
}

const char *ifm_bold_end(const IfmScreen *screen)
{
    return screen->colour ? "\033[0m" : "";
}

void ifm_draw_paragraph(GString *out, const char *text, const IfmScreen *screen)
{
    g_autofree char *spelt = ifm_format_spelt(text, screen->utf8);
    ifm_format_wrap(out, spelt, 0, 0, screen->width);
}

/* --- strips --------------------------------------------------------------------------------------------------------- */

enum
{
    MARK_MIN,
    MARK_LOWER,
    MARK_MIDDLE,
    MARK_UPPER,
    MARK_MAX,
};

gboolean ifm_scale_fit(IfmScale *scale, const double *const *marks, gsize n)
{
    double low = INFINITY, top = -INFINITY, max = -INFINITY;
    for (gsize i = 0; i < n; i++)
    {
        low = MIN(low, marks[i][MARK_MIN]);
        top = MAX(top, isfinite(marks[i][MARK_UPPER]) ? marks[i][MARK_UPPER] : marks[i][MARK_MIDDLE]);
        max = MAX(max, marks[i][MARK_MAX]);
    }
    if (!isfinite(low) || !isfinite(top))
        return FALSE;
    /* One late run would squeeze every interval into a single column: beyond twice the way to the highest interval the
     * strip says "goes on", and the column of maxima says how far. */
    double bound = top > low ? top + (top - low) : max;
    scale->low = low;
    scale->high = MIN(bound, max);
    scale->clipped = max > bound;
    scale->logarithmic = low > 0 && scale->high / low > 20;
    return TRUE;
}

static int cell_of(const IfmScale *scale, double x, int width)
{
    double part = scale->logarithmic ? log(x / scale->low) / log(scale->high / scale->low)
                                     : (x - scale->low) / (scale->high - scale->low);
    if (!(scale->high > scale->low)) /* all the same: in the middle */
        part = 0.5;
    return (int)lround(CLAMP(part, 0, 1) * (width - 1));
}

typedef enum
{
    CELL_EMPTY,
    CELL_WHISKER,
    CELL_LEFT,
    CELL_RIGHT,
    CELL_INTERVAL,
    CELL_MIDDLE,
    CELL_ALONE, /* a median without an interval */
    CELL_BEYOND,
} Cell;

static const struct
{
    const char *utf8, *ascii;
    IfmTone tone;
} cell_glyphs[] = {
    [CELL_EMPTY] = { " ", " ", IFM_TONE_PLAIN },   [CELL_WHISKER] = { "─", "-", IFM_TONE_DIM },
    [CELL_LEFT] = { "├", "|", IFM_TONE_DIM },      [CELL_RIGHT] = { "┤", "|", IFM_TONE_DIM },
    [CELL_INTERVAL] = { "━", "=", IFM_TONE_GOOD }, [CELL_MIDDLE] = { "┃", "#", IFM_TONE_GOOD },
    [CELL_ALONE] = { "│", "|", IFM_TONE_PLAIN },   [CELL_BEYOND] = { "▸", ">", IFM_TONE_DIM },
};

static void paint_cells(GString *out, const guint8 *cells, int width, const IfmScreen *screen)
{
    IfmTone tone = IFM_TONE_PLAIN;
    for (int i = 0; i < width; i++)
    {
        if (cell_glyphs[cells[i]].tone != tone)
        {
            g_string_append(out, ifm_tone_end(screen, tone));
            tone = cell_glyphs[cells[i]].tone;
            g_string_append(out, ifm_tone_begin(screen, tone));
        }
        g_string_append(out, screen->utf8 ? cell_glyphs[cells[i]].utf8 : cell_glyphs[cells[i]].ascii);
    }
    g_string_append(out, ifm_tone_end(screen, tone));
}

void ifm_draw_strip(GString *out, const IfmScale *scale, const double marks[5], int width, const IfmScreen *screen)
{
    g_autofree guint8 *cells = g_new0(guint8, width);
    int left = cell_of(scale, marks[MARK_MIN], width), right = cell_of(scale, marks[MARK_MAX], width);
    for (int i = left; i <= right; i++)
        cells[i] = CELL_WHISKER;
    cells[left] = CELL_LEFT;
    cells[right] = marks[MARK_MAX] > scale->high * (1 + 1e-12) ? CELL_BEYOND : CELL_RIGHT;
    gboolean has_interval = isfinite(marks[MARK_LOWER]) && isfinite(marks[MARK_UPPER]);
    if (has_interval)
        for (int i = cell_of(scale, marks[MARK_LOWER], width); i <= cell_of(scale, marks[MARK_UPPER], width); i++)
            cells[i] = CELL_INTERVAL;
    if (isfinite(marks[MARK_MIDDLE]))
        cells[cell_of(scale, marks[MARK_MIDDLE], width)] = has_interval ? CELL_MIDDLE : CELL_ALONE;
    paint_cells(out, cells, width, screen);
}

void ifm_draw_axis(GString *out, const IfmScale *scale, int width, const IfmScreen *screen)
{
    g_autofree char *low_text = ifm_format_value(scale->kind, scale->low),
                    *high_text = ifm_format_value(scale->kind, scale->high),
                    *low = ifm_format_spelt(low_text, screen->utf8), *high = ifm_format_spelt(high_text, screen->utf8);
    const char *kind = scale->logarithmic ? "log" : "";
    int free_columns = width - ifm_text_width(low) - ifm_text_width(high) - (int)strlen(kind);
    int before = MAX(free_columns / 2, 1), after = MAX(free_columns - before, *kind != '\0' ? 1 : 0);
    g_string_append_printf(out, "%s%s%*s%s%*s%s%s", ifm_tone_begin(screen, IFM_TONE_DIM), low, before, "", kind, after, "",
                           high, ifm_tone_end(screen, IFM_TONE_DIM));
}

/* --- bars ----------------------------------------------------------------------------------------------------------- */

char *ifm_format_bar(double ratio, int width, gboolean utf8)
{
    static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    GString *bar = g_string_new(NULL);
    int filled = (int)lround((isfinite(ratio) ? CLAMP(ratio, 0, 1) : 0) * width * 8);
    for (int i = 0; i < filled / 8; i++)
        g_string_append(bar, utf8 ? "█" : "#");
    int columns = filled / 8;
    if (utf8 && filled % 8 != 0)
    {
        g_string_append(bar, eighths[filled % 8]);
        columns++;
    }
    g_string_append_printf(bar, "%*s", width - columns, "");
    return g_string_free(bar, FALSE);
}
