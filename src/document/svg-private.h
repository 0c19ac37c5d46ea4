#pragma once
#include "document-private.h"

G_BEGIN_DECLS

/* The writer of figures: what its parts share. Lengths are pixels. */

enum
{
    IFM_SVG_COLOURS = IFM_COLOURS,
    IFM_SVG_ROW = 22,       /* of rows and cells */
    IFM_SVG_LINE = 16,      /* of text below text */
    IFM_SVG_ROWS = 300,     /* what follows is counted, not drawn */
    IFM_SVG_CATEGORY = 100, /* + the place of a kind of events: its colour */
    IFM_SVG_MARKS = 150,    /* of a series: of more, all are one path: a mark of its own takes 100 bytes at each width */
};

/* IfmSvg: a drawing. @top: where the next thing goes; at the end its height. @texts: double[4] each: the boxes of all
 * texts, none of which overlaps another. @numbers: places of tips by their texts. @devices: ifm_colour_of_device() */
typedef struct
{
    GString *out;
    const IfmFigure *figure;
    double width, top;
    GPtrArray *tips;
    GHashTable *numbers;
    GArray *texts;
    const GPtrArray *devices;
} IfmSvg;

/* IfmSvgScale: an axis, its range, the pixels of its ends. */
typedef struct
{
    const IfmAxis *axis;
    double low, high, from, to;
    double core_low, core_high; /* of the estimates, without their intervals */
} IfmSvgScale;

/* --- text: svg-canvas.c --------------------------------------------------------------------------------------------- */

/* ifm_svg_text_width: of 11.5 px letters, by the advance widths of a wide sans font. */
double ifm_svg_text_width(const char *text, gboolean strong);
/* ifm_svg_shorten: (transfer full) @text, clean, its middle left out where it is wider. */
char *ifm_svg_shorten(const char *text, double width, gboolean strong);
/* ifm_svg_names: (transfer full) char*: the same of several: what was distinct stays so. */
GPtrArray *ifm_svg_names(const GPtrArray *names, double width);
double ifm_svg_names_width(const GPtrArray *names, double most);
/* ifm_svg_text: FALSE, and nothing drawn, where it would overlap a text or leave the drawing. @anchor: 's', 'm', 'e' */
gboolean ifm_svg_text(IfmSvg *svg, double x, double y, char anchor, const char *class, const char *text);
/* ifm_svg_number: (transfer full) three significant digits. ifm_svg_value: with the unit of one value. */
char *ifm_svg_number(double value);
char *ifm_svg_value(const IfmAxis *axis, double value);

/* --- scales --------------------------------------------------------------------------------------------------------- */

IfmSvgScale ifm_svg_scale(const IfmAxis *axis);
gboolean ifm_svg_has_place(const IfmSvgScale *scale, double value);
/* ifm_svg_extend: to hold an estimate. ifm_svg_extend_bounds: a bound of an interval, as far as that leaves the estimates
 * apart; after all estimates. ifm_svg_close: room at both ends. */
void ifm_svg_extend(IfmSvgScale *scale, double value);
void ifm_svg_extend_bound(IfmSvgScale *scale, double value);
void ifm_svg_close(IfmSvgScale *scale, gboolean from_zero);
double ifm_svg_place(const IfmSvgScale *scale, double value);
/* ifm_svg_axis: grid lines over the length between @a and @b of the other axis, ticks, reference. @words: ticks' texts.
 * ifm_svg_axis_title: (transfer full) with the unit of the ticks. ifm_svg_axis_unit: by which ticks are divided */
void ifm_svg_axis(IfmSvg *svg, const IfmSvgScale *scale, gboolean upright, double a, double b, gboolean words);
double ifm_svg_axis_unit(const IfmSvgScale *scale);
char *ifm_svg_axis_title(const IfmSvgScale *scale);
/* ifm_svg_begin_plot: <g> that says its scales: data-x and data-y are "low high from to log", or nothing for NULL. */
void ifm_svg_begin_plot(IfmSvg *svg, const IfmSvgScale *x, const IfmSvgScale *y);

/* --- marks ---------------------------------------------------------------------------------------------------------- */

/* ifm_svg_mark_attributes: data-s, data-i and, where there are tips, data-t. */
void ifm_svg_mark_attributes(IfmSvg *svg, guint s, guint i);
/* ifm_svg_circle, ifm_svg_shape: Begin an element, which the caller ends with "/>", after attributes of its own. */
void ifm_svg_circle(GString *out, double x, double y, double radius, const char *class);
void ifm_svg_shape(GString *out, guint shape, double x, double y, const char *class);
/* ifm_svg_append_interval: the path of one; FALSE where unknown. ifm_svg_interval: a bracket of @lower to @upper at
 * @across, an arrow where it leaves the axis; nothing where unknown. */
gboolean ifm_svg_append_interval(GString *out, const IfmSvgScale *scale, double lower, double upper, double across,
                                 gboolean upright);
void ifm_svg_interval(IfmSvg *svg, const IfmSvgScale *scale, double lower, double upper, double across, gboolean upright,
                      const char *class);
void ifm_svg_rect(IfmSvg *svg, double x, double y, double width, double height, const char *class);
/* ifm_svg_key: names with their marks, in as many lines as they need, at svg->top. @classes: NULL: colours in order. */
void ifm_svg_key(IfmSvg *svg, const GPtrArray *names, const char *const *classes, gboolean shapes);
/* ifm_svg_series_names: (transfer container) the distinct names of series, "" for none, in order. ifm_svg_colour: that of
 * a device, or the place of @name, NULL: "", among the others of them, behind those of devices where one has such a name.
 */
GPtrArray *ifm_svg_series_names(const IfmFigure *figure);
guint ifm_svg_colour(const IfmSvg *svg, const GPtrArray *names, const char *name);
const char *ifm_svg_class(char kind, guint colour);

static inline const IfmPoint *ifm_svg_point(const IfmSeries *series, guint i)
{
    return &g_array_index(series->points, IfmPoint, i);
}

static inline const IfmSeries *ifm_svg_series(const IfmFigure *figure, guint s)
{
    return figure->series->pdata[s];
}

/* --- kinds of figures ----------------------------------------------------------------------------------------------- */

void ifm_svg_append_plane(IfmSvg *svg);
void ifm_svg_append_rows(IfmSvg *svg);
void ifm_svg_append_stacked(IfmSvg *svg);
void ifm_svg_append_matrix(IfmSvg *svg);
void ifm_svg_append_timeline(IfmSvg *svg);
void ifm_svg_append_icicle(IfmSvg *svg);

G_END_DECLS
