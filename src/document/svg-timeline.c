#include <math.h>

#include "svg-private.h"

/* Spans: rows of events over time, and levels of parts below each other. */

#define MOST_KINDS 32     /* of events */
#define LETTERS 4         /* of a name's beginning: less says nothing */
#define SINGLE 2.0        /* pixels: a narrower event is drawn with its neighbours of one kind */
#define MOST_SINGLE 400   /* of a drawing: with more than that, wider ones are drawn so, too */
#define MOST_NARROW 15000 /* pieces of all rows, some 16 bytes each */
#define PIECE 3.0         /* pixels: as wide at most is what neighbours are drawn as */
#define MOST_DATA 1400000 /* bytes: two thirds of what a page of a trace may have */
#define IDLE_STEPS 4096   /* where data are too long: a shorter part of the time is left out as idle */
#define FINEST 16000000.0 /* steps of time in the data: a zoom of 10,000 has a pixel each */

static const char *class_of(const IfmFigure *figure, const IfmSeries *series, const IfmPoint *point, guint colour)
{
    static const char *const tones[] = { "dim", "good", "warn", "bad", "dim" };
    if (figure->kind == IFM_FIGURE_TIMELINE && figure->y.categories != NULL && point != NULL && isfinite(point->y))
        return ifm_svg_class('c', IFM_SVG_CATEGORY + (guint)fmax(point->y, 0));
    return series->tone != IFM_TONE_PLAIN ? tones[series->tone] : ifm_svg_class('c', colour);
}

static const char *on_class(const char *class)
{
    if (class == NULL)
        return NULL;
    return class[0] == 'c' ? ifm_svg_class('o', (guint)(class[1] - '1')) : class[0] == 'p' || class[0] == 'd' ? "tx" : NULL;
}

static void append_span(IfmSvg *svg, const IfmSvgScale *x, guint s, guint i, const char *class, double y)
{
    const IfmPoint *point = ifm_svg_point(ifm_svg_series(svg->figure, s), i);
    const double from = ifm_svg_place(x, point->x), width = ifm_svg_place(x, point->x_end) - from;
    const char *label = point->text != NULL ? point->text : point->label;
    g_autofree char *edge = width > 6 ? g_strconcat("edge ", class, NULL) : g_strdup(class);
    ifm_svg_rect(svg, from, y + 2, width, IFM_SVG_ROW - 4, edge);
    ifm_svg_mark_attributes(svg, s, i);
    g_string_append(svg->out, "/>\n");
    g_autofree char *text = ifm_svg_shorten(label, width - 6, FALSE);
    const char *cut = strstr(text, "…");
    if (label != NULL && on_class(class) != NULL && (cut == NULL || g_utf8_strlen(text, cut - text) >= LETTERS))
        ifm_svg_text(svg, from + width / 2, y + 15, 'm', on_class(class), text);
}

/* Below which width events are drawn with their neighbours. */
static double single_width(const IfmSvg *svg, const IfmSvgScale *x)
{
    double width = SINGLE;
    for (guint n = MOST_SINGLE + 1; n > MOST_SINGLE; width *= n > MOST_SINGLE ? 2 : 1)
    {
        n = 0;
        for (guint s = 0; s < svg->figure->series->len; s++)
            for (guint i = 0; i < ifm_svg_series(svg->figure, s)->points->len; i++)
            {
                const IfmPoint *point = ifm_svg_point(ifm_svg_series(svg->figure, s), i);
                n += ifm_svg_place(x, point->x_end) - ifm_svg_place(x, point->x) >= width;
            }
    }
    return width;
}

/* Piece: neighbours that are too narrow for a mark each: as high as the share of it that they fill. */
typedef struct
{
    const char *class;
    double from, to, busy;
} Piece;

static void append_piece(GString *out, const Piece *piece, const char *before, double y)
{
    const double width = fmax(piece->to - piece->from, 1), whole = IFM_SVG_ROW - 4,
                 height = CLAMP(ceil(whole * piece->busy / width), 4, whole);
    if (g_strcmp0(before, piece->class) != 0)
        g_string_append_printf(out, "%s<path class=\"%s\" d=\"", before != NULL ? "\"/>\n" : "", piece->class);
    g_string_append_printf(out, "M%.1f,%.0fh%.1fv-%.0fh-%.1fz", piece->from, y + 2 + whole, width, height, width);
}

/* The narrow ones: what follows within @apart pixels is one piece, of the kind of the first. Why a device was idle so
 * shortly is left out. */
static void append_narrow(IfmSvg *svg, const IfmSvgScale *x, const IfmSeries *series, double single, double apart, double y)
{
    const char *before = NULL;
    Piece piece = { NULL, NAN, NAN, 0 };
    for (guint i = 0; i <= series->points->len && !series->no_screen; i++)
    {
        const IfmPoint *point = i < series->points->len ? ifm_svg_point(series, i) : NULL;
        const double begin = point != NULL ? ifm_svg_place(x, point->x) : (double)NAN,
                     end = point != NULL ? ifm_svg_place(x, point->x_end) : (double)NAN;
        if (point != NULL && !(end - begin < single && end >= begin))
            continue;
        const char *class = point != NULL ? class_of(svg->figure, series, point, 0) : NULL;
        const gboolean is_same = class == piece.class || piece.to - piece.from < apart;
        if (class != NULL && is_same && begin >= piece.from && begin <= piece.to + apart &&
            fmax(end, piece.to) - piece.from < PIECE * fmax(apart, 1))
        {
            piece.to = fmax(piece.to, end);
            piece.busy += end - begin;
            continue;
        }
        if (piece.class != NULL)
        {
            append_piece(svg->out, &piece, before, y);
            before = piece.class;
        }
        piece = (Piece){ class, begin, end, end - begin };
    }
    g_string_append(svg->out, before != NULL ? "\"/>\n" : "");
}

static void append_spans(IfmSvg *svg, const IfmSvgScale *x, guint s, double single, double y)
{
    const IfmSeries *series = ifm_svg_series(svg->figure, s);
    append_narrow(svg, x, series, single, fmax(0.5, svg->figure->series->len * svg->width / MOST_NARROW), y);
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = ifm_svg_point(series, i);
        if (ifm_svg_place(x, point->x_end) - ifm_svg_place(x, point->x) >= single)
            append_span(svg, x, s, i, class_of(svg->figure, series, point, 0), y);
    }
}

static IfmSvgScale scale_of(const IfmFigure *figure)
{
    IfmSvgScale x = ifm_svg_scale(&figure->x);
    for (guint s = 0; s < figure->series->len; s++)
        for (guint i = 0; i < ifm_svg_series(figure, s)->points->len; i++)
        {
            ifm_svg_extend(&x, ifm_svg_point(ifm_svg_series(figure, s), i)->x);
            ifm_svg_extend(&x, ifm_svg_point(ifm_svg_series(figure, s), i)->x_end);
        }
    const double low = x.low, high = x.high;
    ifm_svg_close(&x, FALSE);
    if (low < high) /* spans need no room at the ends */
    {
        x.low = low;
        x.high = high;
    }
    return x;
}

static void append_kinds(IfmSvg *svg)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new(), used = g_ptr_array_new();
    gboolean there[MOST_KINDS] = { FALSE };
    for (guint s = 0; s < svg->figure->series->len; s++)
        for (guint i = 0; i < ifm_svg_series(svg->figure, s)->points->len; i++)
        {
            const double y = ifm_svg_point(ifm_svg_series(svg->figure, s), i)->y;
            if (y >= 0 && y < MOST_KINDS)
                there[(gsize)y] = TRUE;
        }
    for (guint i = 0; i < MOST_KINDS && svg->figure->y.categories[i] != NULL; i++)
        if (there[i])
        {
            g_ptr_array_add(used, (char *)ifm_svg_class('c', IFM_SVG_CATEGORY + i));
            g_ptr_array_add(names, (char *)svg->figure->y.categories[i]);
        }
    ifm_svg_key(svg, names, (const char *const *)used->pdata, FALSE);
}

/* The axis, below @height pixels of rows. */
static void begin_spans(IfmSvg *svg, const IfmSvgScale *x, double height)
{
    const double bottom = svg->top + height + 4;
    ifm_svg_begin_plot(svg, x, NULL);
    g_string_append_printf(svg->out, "<g class=\"axis\" data-y=\"%.0f %.0f\">", svg->top, bottom);
    ifm_svg_axis(svg, x, FALSE, bottom, svg->top, TRUE);
    g_string_append(svg->out, "</g>\n");
}

static void end_spans(IfmSvg *svg, const IfmSvgScale *x)
{
    g_autofree char *title = ifm_svg_axis_title(x), *fits = ifm_svg_shorten(title, svg->width, FALSE);
    svg->top += 4;
    g_string_append(svg->out, "</g>\n");
    ifm_svg_text(svg, svg->width, svg->top + 32, 'e', "at", fits);
    svg->top += 38;
}

/* Whether a series has a row of its own: else it goes on in that of the series before it. */
static gboolean begins_row(const IfmFigure *figure, guint s)
{
    const IfmSeries *series = ifm_svg_series(figure, s), *before = s > 0 ? ifm_svg_series(figure, s - 1) : NULL;
    return before == NULL || series->name == NULL || g_strcmp0(before->name, series->name) != 0 ||
           g_strcmp0(before->group, series->group) != 0;
}

void ifm_svg_append_timeline(IfmSvg *svg)
{
    const IfmFigure *figure = svg->figure;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    IfmSvgScale x = scale_of(figure);
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = ifm_svg_series(figure, s);
        g_ptr_array_add(names, (char *)(series->name != NULL ? series->name : series->group));
    }
    if (figure->y.categories != NULL)
        append_kinds(svg);
    x.from = ifm_svg_names_width(names, svg->width * 0.3) + 10;
    x.to = svg->width - 8;
    g_autoptr(GPtrArray) texts = ifm_svg_names(names, x.from - 10);
    const double single = single_width(svg, &x);
    guint n_rows = 0;
    for (guint s = 0; s < MIN(figure->series->len, IFM_SVG_ROWS); s++)
        n_rows += begins_row(figure, s);
    begin_spans(svg, &x, n_rows * IFM_SVG_ROW);
    for (guint s = 0; s < MIN(figure->series->len, IFM_SVG_ROWS); s++)
    {
        const gboolean is_head = ifm_svg_series(figure, s)->name == NULL;
        if (begins_row(figure, s))
        {
            g_string_append(svg->out, s > 0 ? "</g>\n" : "");
            ifm_svg_text(svg, is_head ? 0 : x.from - 8, svg->top + 15, is_head ? 's' : 'e', is_head ? "tx b" : "tx",
                         is_head ? names->pdata[s] : texts->pdata[s]);
            g_string_append_printf(svg->out, "<g class=\"row\" data-y=\"%.0f\">", svg->top);
            svg->top += IFM_SVG_ROW;
        }
        append_spans(svg, &x, s, single, svg->top - IFM_SVG_ROW);
    }
    g_string_append(svg->out, figure->series->len > 0 ? "</g>\n" : "");
    end_spans(svg, &x);
}

/* --- data for the page's script: finer than a pixel --------------------------------------------------------------------
 */

/* Data: spans as integers: steps of time from the end of the one before it, steps it takes, and twice the place of its kind
 * and name among @keys, with 1 added where a fourth follows: its id + 1 (0: none) less that of the one before.
 * @least_idle: shorter ones are left out. */
typedef struct
{
    const IfmFigure *figure;
    GString *out;
    GHashTable *places;
    json_t *keys;
    double low, step, least_idle;
    gint64 end, id;
} Data;

static guint key_of(Data *data, const IfmSeries *series, const IfmPoint *point, gboolean several)
{
    const char *class = class_of(data->figure, series, point, 0), *on = on_class(class);
    const char *const *kinds = data->figure->y.categories;
    const char *kind = kinds != NULL && point->y >= 0 ? kinds[(gsize)point->y] : "",
               *name = several                ? "several, too short to be told apart"
                       : point->text != NULL  ? point->text
                       : point->label != NULL ? point->label
                                              : "";
    char *key = g_strconcat(class, "\n", kind, "\n", name, NULL);
    gpointer place;
    if (g_hash_table_lookup_extended(data->places, key, NULL, &place))
    {
        g_free(key);
        return GPOINTER_TO_UINT(place);
    }
    g_hash_table_insert(data->places, key, GUINT_TO_POINTER(json_array_size(data->keys)));
    g_autofree char *clean = name != NULL ? ifm_format_clean(name) : NULL;
    json_array_append_new(data->keys,
                          json_pack("[s,s,o,o]", class, on != NULL ? on : "tx", ifm_json_text(kind), ifm_json_text(clean)));
    return (guint)json_array_size(data->keys) - 1;
}

/* Those of one kind that take less than two steps and touch are one. */
static void append_data(Data *data, const IfmSeries *series)
{
    for (guint i = 0, next; i < series->points->len; i = next)
    {
        const IfmPoint *first = ifm_svg_point(series, i);
        const gint64 from = (gint64)((first->x - data->low) / data->step);
        gint64 to = MAX((gint64)((first->x_end - data->low) / data->step), from);
        next = i + 1;
        if (series->no_screen && first->x_end - first->x < data->least_idle)
            continue;
        for (; next < series->points->len && to - from < 2; next++)
        {
            const IfmPoint *point = ifm_svg_point(series, next);
            const gint64 begin = (gint64)((point->x - data->low) / data->step),
                         end = (gint64)((point->x_end - data->low) / data->step);
            if (begin < from || begin > to || end - begin > 1 || (point->y != first->y && end - from > 1))
                break;
            to = MAX(to, end);
        }
        const gint64 id = next == i + 1 && isfinite(first->id) ? (gint64)first->id + 1 : 0;
        const guint key = key_of(data, series, first, next > i + 1);
        g_string_append_printf(data->out, "%s%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%u",
                               data->out->str[data->out->len - 1] == '[' ? "" : ",", from - data->end, to - from,
                               2 * key + (id != data->id));
        if (id != data->id)
            g_string_append_printf(data->out, ",%" G_GINT64_FORMAT, id - data->id);
        data->end = to;
        data->id = id;
    }
}

static void append_data_rows(Data *data)
{
    g_string_assign(data->out, "\"rows\":[");
    for (guint s = 0; s < MIN(data->figure->series->len, IFM_SVG_ROWS); s++)
    {
        if (begins_row(data->figure, s))
        {
            g_string_append(data->out, s > 0 ? "],[" : "[");
            data->end = data->id = 0;
        }
        append_data(data, ifm_svg_series(data->figure, s));
    }
    g_string_append(data->out, data->figure->series->len > 0 ? "]]" : "]");
}

void ifm_svg_append_timeline_data(GString *out, const IfmFigure *figure)
{
    const IfmSvgScale x = scale_of(figure);
    g_autoptr(GHashTable) places = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GString) rows = g_string_new(NULL);
    json_auto_t *keys = json_array();
    Data data = { figure, rows, places, keys, x.low, fmax((x.high - x.low) / FINEST, 1), 0, 0, 0 };
    for (append_data_rows(&data); rows->len > MOST_DATA && data.step < x.high - x.low; append_data_rows(&data))
    {
        data.step *= data.least_idle > 0 ? 2 : 1;
        data.least_idle = (x.high - x.low) / IDLE_STEPS;
    }
    g_autofree char *names = json_dumps(keys, JSON_COMPACT);
    g_auto(GStrv) parts = g_strsplit(names, "<", -1); /* which might end the element that it stands in */
    g_autofree char *inert = g_strjoinv("\\u003c", parts);
    g_string_append_printf(out, "{\"low\":%.0f,\"step\":%.17g,\"end\":%.0f,\"axis\":%.0f,\"keys\":%s,%s}", x.low, data.step,
                           (x.high - x.low) / data.step, ifm_svg_axis_unit(&x), inert, rows->str);
}

/* The parts of a series at their depths; narrow ones with their neighbours. Returns: the levels they take */
static double append_parts(IfmSvg *svg, const IfmSvgScale *x, guint s, const char *class)
{
    const IfmSeries *series = ifm_svg_series(svg->figure, s);
    double levels = 0, piece_y = NAN;
    Piece piece = { NULL, NAN, NAN, 0 };
    for (guint i = 0; i <= series->points->len; i++)
    {
        const IfmPoint *point = i < series->points->len ? ifm_svg_point(series, i) : NULL;
        const double depth = point != NULL && isfinite(point->y) ? CLAMP(floor(point->y), 0, 31) : 0;
        const double y = svg->top + depth * IFM_SVG_ROW;
        if (point != NULL && (!ifm_svg_has_place(x, point->x) || !(point->x_end > point->x)))
            continue;
        levels = point != NULL ? fmax(levels, depth + 1) : levels;
        const double from = point != NULL ? ifm_svg_place(x, point->x) : (double)NAN,
                     to = point != NULL ? ifm_svg_place(x, point->x_end) : (double)NAN;
        if (to - from < SINGLE && y == piece_y && from <= piece.to + 0.5)
        {
            piece.busy += to - piece.to;
            piece.to = to;
            continue;
        }
        if (piece.class != NULL)
        {
            append_piece(svg->out, &piece, NULL, piece_y);
            g_string_append(svg->out, "\"/>\n");
        }
        piece = (Piece){ to - from < SINGLE ? class : NULL, from, to, to - from };
        piece_y = to - from < SINGLE ? y : (double)NAN;
        if (point != NULL && piece.class == NULL)
            append_span(svg, x, s, i, class, y);
    }
    return levels;
}

/* Of more series than colours the last colour is that of all others. */
static guint colour_of_part(const IfmSvg *svg, const GPtrArray *names, const char *name)
{
    const guint colour = ifm_svg_colour(svg, names, name);
    return names->len > IFM_SVG_COLOURS ? MIN(colour, IFM_SVG_COLOURS - 1) : colour;
}

static void append_parts_key(IfmSvg *svg, const GPtrArray *names)
{
    g_autoptr(GPtrArray) keys = g_ptr_array_new(), classes = g_ptr_array_new();
    const guint n = MIN(names->len, IFM_SVG_COLOURS);
    for (guint i = 0; i < n && names->len > 1; i++)
    {
        const gboolean is_rest = i + 1 == n && names->len > n;
        g_ptr_array_add(keys, is_rest ? "other" : names->pdata[i]);
        g_ptr_array_add(classes, (char *)ifm_svg_class('c', colour_of_part(svg, names, names->pdata[i])));
    }
    ifm_svg_key(svg, keys, (const char *const *)classes->pdata, FALSE);
}

/* A plane a group, levels by y; series that have names in several groups have one colour in all. */
void ifm_svg_append_icicle(IfmSvg *svg)
{
    const IfmFigure *figure = svg->figure;
    g_autoptr(GPtrArray) names = ifm_svg_series_names(figure);
    IfmSvgScale x = scale_of(figure);
    x.from = 0;
    x.to = svg->width - 1;
    append_parts_key(svg, names);
    double levels = 0;
    ifm_svg_begin_plot(svg, &x, NULL);
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = ifm_svg_series(figure, s);
        if (s == 0 || g_strcmp0(series->group, ifm_svg_series(figure, s - 1)->group) != 0)
        {
            g_autofree char *name = ifm_svg_shorten(series->group, svg->width, TRUE);
            svg->top += levels * IFM_SVG_ROW + (s > 0 ? 8 : 0);
            levels = 0;
            svg->top += ifm_svg_text(svg, 0, svg->top + 12, 's', "tx b", name) ? IFM_SVG_LINE + 2 : 0;
        }
        levels = fmax(levels,
                      append_parts(svg, &x, s, class_of(figure, series, NULL, colour_of_part(svg, names, series->name))));
    }
    svg->top += levels * IFM_SVG_ROW;
    ifm_svg_axis(svg, &x, FALSE, svg->top + 4, svg->top + 4, TRUE); /* no lines across what has no gaps */
    end_spans(svg, &x);
}
