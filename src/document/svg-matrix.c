#include <math.h>
#include <string.h>

#include "svg-private.h"

/* A cell a series and label, coloured by its value, by the side of a reference, or by what was chosen. */

typedef struct
{
    IfmSvg *svg;
    double low, high, left, width; /* of a cell */
    guint n_categories;
    gboolean has_unknown;
} Matrix;

/* Nothing is known of it, whatever was the lowest: no colour says anything of it. */
static gboolean is_unknown(const Matrix *matrix, const IfmPoint *point)
{
    return point->mark == IFM_MARK_UNKNOWN || (matrix->n_categories > 0 && point->y >= matrix->n_categories - 1);
}

/* (transfer container) the labels of all columns, in the order of their first */
static GPtrArray *columns_of(const IfmFigure *figure, GHashTable *places)
{
    GPtrArray *labels = g_ptr_array_new();
    for (guint s = 0; s < figure->series->len; s++)
        for (guint i = 0; i < ifm_svg_series(figure, s)->points->len; i++)
        {
            const char *label = ifm_svg_point(ifm_svg_series(figure, s), i)->label;
            if (label == NULL || g_hash_table_contains(places, label))
                continue;
            g_hash_table_insert(places, (char *)label, GUINT_TO_POINTER(labels->len));
            g_ptr_array_add(labels, (char *)label);
        }
    return labels;
}

static int step_of(const Matrix *matrix, double value)
{
    const IfmAxis *axis = &matrix->svg->figure->y;
    double low = matrix->low, high = matrix->high;
    if (axis->has_reference)
    {
        const double far = fmax(fmax(high - axis->reference, axis->reference - low), 1e-300);
        return CLAMP((int)lround(2 + 2 * (value - axis->reference) / far), 0, 4);
    }
    const gboolean decades = low > 0 && high / low > 20 && axis->kind != IFM_FIELD_RATIO; /* shares of a whole are linear */
    const double share = !(high > low) ? 0 : decades ? log(value / low) / log(high / low) : (value - low) / (high - low);
    return CLAMP((int)(share * 5), 0, 4);
}

/* That of the device; of more than there are colours the last one is of all others, which are named. */
static guint colour_of(const Matrix *matrix, guint category)
{
    const guint own = ifm_colour_of_device(matrix->svg->devices, matrix->svg->figure->y.categories[category]);
    return own != G_MAXUINT ? own : MIN(category, IFM_SVG_COLOURS - 1);
}

/* What a narrow cell says: of "CPU ×2.2" what the colour does not; of "CPU or GPU", a tie, "="; of "15 of 15" the first
 * number; NULL: nothing shorter (transfer full) */
static char *brief_of(const char *text, gboolean by_category)
{
    const char *times = by_category ? g_strrstr(text, "×") : NULL, *of = strstr(text, " of ");
    if (times != NULL)
        return g_strdup(times);
    if (by_category && strstr(text, " or ") != NULL)
        return g_strdup("=");
    return of != NULL && g_ascii_isdigit(*text) ? g_strndup(text, (gsize)(of - text)) : NULL;
}

static void append_cell(const Matrix *matrix, guint s, guint i, double x, double y)
{
    static const char *const ramp[] = { "s0", "s1", "s2", "s3", "s4" }, *const on_ramp[] = { "os0", "os1", "os2", "os3",
                                                                                             "os4" };
    static const char *const two[] = { "neg2", "neg1", "zero", "pos1", "pos2" }, *const on_two[] = { "oneg2", "oneg1",
                                                                                                     "ozero", "opos1",
                                                                                                     "opos2" };
    IfmSvg *svg = matrix->svg;
    const IfmAxis *axis = &svg->figure->y;
    const IfmPoint *point = ifm_svg_point(ifm_svg_series(svg->figure, s), i);
    const guint n = matrix->n_categories;
    const int step = n > 0 ? (int)CLAMP(point->y, 0, n - 1) : step_of(matrix, point->y);
    const char *fill = axis->has_reference ? two[step % 5] : ramp[step % 5],
               *on = axis->has_reference ? on_two[step % 5] : on_ramp[step % 5];
    if (is_unknown(matrix, point))
    {
        fill = "hatch";
        on = "mu halo";
    }
    else if (n > 0)
    {
        const gboolean sure = point->mark == IFM_MARK_NONE;
        const guint colour = colour_of(matrix, (guint)step);
        fill = ifm_svg_class(sure ? 'c' : 'p', colour);
        on = sure ? ifm_svg_class('o', colour) : "tx";
    }
    g_autofree char *text = point->text != NULL ? g_strdup(point->text)
                            : n > 0             ? g_strdup(axis->categories[step])
                                                : ifm_svg_value(axis, point->y);
    ifm_svg_rect(svg, x, y, matrix->width - 1, IFM_SVG_ROW - 1, fill);
    ifm_svg_mark_attributes(svg, s, i);
    g_string_append(svg->out, "/>");
    g_autofree char *brief = brief_of(text, n > 0);
    const char *fits = ifm_svg_text_width(text, FALSE) + 4 <= matrix->width ? text : brief;
    if (fits != NULL && ifm_svg_text_width(fits, FALSE) + 4 <= matrix->width)
        ifm_svg_text(svg, x + (matrix->width - 1) / 2, y + 15, 'm', on, fits);
    g_string_append_c(svg->out, '\n');
}

/* What is chosen by colour, or the ends of the ramp; what a hatch means. */
static void append_key(const Matrix *matrix)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new(), classes = g_ptr_array_new();
    for (guint i = 0; i + 1 < matrix->n_categories && i < IFM_SVG_COLOURS; i++)
    {
        g_ptr_array_add(names, i + 1 == IFM_SVG_COLOURS && matrix->n_categories > IFM_SVG_COLOURS + 1
                                   ? "others"
                                   : (char *)matrix->svg->figure->y.categories[i]);
        g_ptr_array_add(classes, (char *)ifm_svg_class('c', colour_of(matrix, i)));
    }
    if (names->len == 0 && isfinite(matrix->low))
    {
        const IfmAxis *axis = &matrix->svg->figure->y;
        g_autofree char *low = ifm_svg_value(axis, matrix->low), *high = ifm_svg_value(axis, matrix->high),
                        *text = g_strdup_printf("%s%s%s to %s, stronger is more", axis->title != NULL ? axis->title : "",
                                                axis->title != NULL ? ": " : "", low, high),
                        *fits = ifm_svg_shorten(text, matrix->svg->width, FALSE);
        g_autofree char *plain = axis->has_reference ? ifm_svg_shorten(axis->title, matrix->svg->width, FALSE) : NULL;
        ifm_svg_text(matrix->svg, 0, matrix->svg->top + 12, 's', "mu", plain != NULL ? plain : fits);
        matrix->svg->top += IFM_SVG_LINE + 2;
    }
    if (matrix->has_unknown)
    {
        g_ptr_array_add(names, "not known");
        g_ptr_array_add(classes, "hatch");
    }
    ifm_svg_key(matrix->svg, names, (const char *const *)classes->pdata, FALSE);
}

/* Names of columns: of those that begin with a number the number, where not all have room. (transfer full) */
static GPtrArray *heads_of(const GPtrArray *labels, double width)
{
    g_autoptr(GPtrArray) numbers = g_ptr_array_new_with_free_func(g_free);
    gboolean fits = TRUE, numbered = TRUE;
    for (guint i = 0; i < labels->len; i++)
    {
        const char *label = labels->pdata[i], *blank = strchr(label, ' ');
        fits = fits && ifm_svg_text_width(label, FALSE) <= width;
        numbered = numbered && (blank == NULL || g_ascii_isdigit(*label));
        g_ptr_array_add(numbers, blank != NULL ? g_strndup(label, (gsize)(blank - label)) : g_strdup(label));
    }
    return ifm_svg_names(fits || !numbered ? labels : numbers, width);
}

void ifm_svg_append_matrix(IfmSvg *svg)
{
    const IfmFigure *figure = svg->figure;
    g_autoptr(GHashTable) places = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) labels = columns_of(figure, places), rows = g_ptr_array_new();
    Matrix matrix = { svg, INFINITY, -INFINITY, 0, 0, 0, FALSE };
    while (figure->y.categories != NULL && figure->y.categories[matrix.n_categories] != NULL)
        matrix.n_categories++;
    for (guint s = 0; s < figure->series->len; s++)
    {
        g_ptr_array_add(rows, (char *)ifm_svg_series(figure, s)->name);
        for (guint i = 0; i < ifm_svg_series(figure, s)->points->len; i++)
        {
            const IfmPoint *point = ifm_svg_point(ifm_svg_series(figure, s), i);
            const double y = point->y;
            matrix.has_unknown |= isfinite(y) && is_unknown(&matrix, point);
            matrix.low = isfinite(y) ? fmin(matrix.low, y) : matrix.low;
            matrix.high = isfinite(y) ? fmax(matrix.high, y) : matrix.high;
        }
    }
    append_key(&matrix);
    matrix.left = ifm_svg_names_width(rows, svg->width * 0.28) + 10;
    matrix.width = fmin((svg->width - matrix.left) / MAX(labels->len, 1), 180);
    g_autoptr(GPtrArray) names = ifm_svg_names(rows, matrix.left - 10),
                         heads = heads_of(labels, fmax(matrix.width - 4, 24));
    for (guint i = 0; i < heads->len; i++)
        ifm_svg_text(svg, matrix.left + matrix.width * (i + 0.5), svg->top + 12, 'm', "tk", heads->pdata[i]);
    svg->top += IFM_SVG_LINE + 2;
    for (guint s = 0; s < MIN(rows->len, IFM_SVG_ROWS); s++, svg->top += IFM_SVG_ROW)
    {
        const IfmSeries *series = ifm_svg_series(figure, s);
        ifm_svg_text(svg, matrix.left - 8, svg->top + 15, 'e', "tx", names->pdata[s]);
        for (guint i = 0; i < series->points->len; i++)
        {
            const IfmPoint *point = ifm_svg_point(series, i);
            if (point->label == NULL)
                continue;
            const double x = matrix.left + matrix.width * GPOINTER_TO_UINT(g_hash_table_lookup(places, point->label));
            if (isfinite(point->y))
                append_cell(&matrix, s, i, x, svg->top);
            else
                ifm_svg_text(svg, x + (matrix.width - 1) / 2, svg->top + 15, 'm', "mu", "–");
        }
    }
    svg->top += 4;
}
