#include <math.h>
#include <string.h>

#include "svg-private.h"

/* Figures as pictures: what a page shows, and files for papers and READMEs. Drawn anew at each width: text is not scaled.
 */

const int *ifm_svg_widths(gboolean half)
{
    static const int widths[] = { 1112, 640, 344, 0 }, of_half[] = { 528, 344, 0 };
    return half ? of_half : widths;
}

void ifm_svg_append_patterns(GString *out)
{
    g_string_append(out, "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
                         "patternTransform=\"rotate(45)\"><path class=\"rule\" d=\"M0,0V6\"/></pattern>\n");
}

static void append_kind(IfmSvg *svg)
{
    static void (*const kinds[IFM_N_FIGURE_KINDS])(IfmSvg *) = {
        [IFM_FIGURE_BARS] = ifm_svg_append_rows,         [IFM_FIGURE_STRIPS] = ifm_svg_append_rows,
        [IFM_FIGURE_SCATTER] = ifm_svg_append_plane,     [IFM_FIGURE_LINES] = ifm_svg_append_plane,
        [IFM_FIGURE_TIMELINE] = ifm_svg_append_timeline, [IFM_FIGURE_MATRIX] = ifm_svg_append_matrix,
        [IFM_FIGURE_STACKED] = ifm_svg_append_stacked,   [IFM_FIGURE_ICICLE] = ifm_svg_append_icicle,
    };
    kinds[svg->figure->kind](svg);
}

/* (transfer full) what is drawn, and its height */
static char *drawing(const IfmFigure *figure, double width, GPtrArray *tips, const GPtrArray *devices, double *height)
{
    g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GArray) texts = g_array_new(FALSE, FALSE, 4 * sizeof(double));
    IfmSvg svg = { g_string_new(NULL), figure, width, 0, tips, numbers, texts, devices };
    for (guint i = 0; tips != NULL && i < tips->len; i++)
        g_hash_table_insert(numbers, tips->pdata[i], GUINT_TO_POINTER(i));
    append_kind(&svg);
    *height = ceil(svg.top);
    return g_string_free(svg.out, FALSE);
}

/* @alone: a file of its own: within a page it needs no name of its language */
static void begin(GString *out, const IfmFigure *figure, double width, double height, gboolean alone)
{
    g_autofree char *clean = ifm_format_clean(figure->title != NULL ? figure->title : ""),
                    *title = g_markup_escape_text(clean, -1);
    g_string_append_printf(out,
                           "<svg%s class=\"fig\" width=\"%.0f\" height=\"%.0f\" "
                           "viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
                           alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height, width, height, title);
}

void ifm_svg_append(GString *out, const IfmFigure *figure, double width, GPtrArray *tips, const GPtrArray *devices)
{
    double height;
    g_autofree char *marks = drawing(figure, width, tips, devices, &height);
    begin(out, figure, width, height, FALSE);
    g_string_append(out, marks);
    g_string_append(out, "</svg>\n");
}

/* Text in lines. @size: of its letters against those of figures. Returns: the height below */
static double append_lines(GString *out, const char *text, const char *class, double top, double width, double size)
{
    g_autofree char *clean = ifm_format_clean(text != NULL ? text : "");
    g_auto(GStrv) words = g_strsplit(clean, " ", -1);
    g_autoptr(GString) line = g_string_new(NULL);
    for (char **word = words; *word != NULL; word++)
    {
        g_autofree char *next = ifm_svg_shorten(*word, width / size, TRUE),
                        *longer = g_strconcat(line->str, line->len > 0 ? " " : "", next, NULL);
        const gboolean fits = ifm_svg_text_width(longer, TRUE) * size <= width, last = word[1] == NULL;
        if (fits)
            g_string_assign(line, longer);
        for (int i = fits ? 1 : 0; line->len > 0 && i < (last ? 2 : 1); i++)
        {
            g_autofree char *escaped = g_markup_escape_text(line->str, -1);
            top += 15 * size;
            g_string_append_printf(out, "<text class=\"%s\" x=\"16\" y=\"%.1f\">%s</text>\n", class, top, escaped);
            g_string_assign(line, fits || i > 0 ? "" : next);
        }
    }
    return top;
}

void ifm_svg_append_alone(GString *out, const IfmFigure *figure, const char *source, const GPtrArray *devices)
{
    const double width = ifm_svg_widths(figure->half)[0];
    double height;
    g_autofree char *marks = drawing(figure, width, NULL, devices, &height);
    g_autoptr(GString) head = g_string_new(NULL), foot = g_string_new(NULL);
    const double top = append_lines(head, figure->sentence, "mu su",
                                    append_lines(head, figure->title, "tx ti", 8, width, 1.4) + 4, width, 1.13) +
                       16;
    const double below = append_lines(foot, figure->caption, "mu su", top + height + 4, width, 1.13),
                 end = append_lines(foot, source, "mu", below + 4, width, 1) + 16;
    begin(out, figure, width + 32, end, TRUE);
    g_string_append(out, "<style>\n");
    ifm_colours_append_css(out, TRUE);
    g_string_append(out, "</style>\n");
    ifm_svg_append_patterns(out);
    g_string_append_printf(out,
                           "<rect class=\"ground\" width=\"%.0f\" height=\"%.0f\"/>\n%s"
                           "<g transform=\"translate(16 %.1f)\">\n%s</g>\n%s</svg>\n",
                           width + 32, end, head->str, top, marks, foot->str);
}
