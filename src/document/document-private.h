#pragma once
#include "document.h"

G_BEGIN_DECLS

/* IfmScale: the common axis of a column of strips. */
typedef struct
{
    double low, high;
    gboolean logarithmic;
    gboolean clipped;  /* some maximum lies beyond high */
    IfmFieldKind kind; /* of its values */
} IfmScale;

/* ifm_table_show: as ifm_table_to_screen(). @is_brief: columns that are details make no further block; @left_out: (inout)
 * nullable: set where some are left out. (transfer full) */
char *ifm_table_show(const IfmTable *table, const IfmScreen *screen, gboolean is_brief, gboolean *left_out);

/* ifm_scale_fit: @marks: [n] pointers to five marks each. FALSE where there is nothing to draw. */
gboolean ifm_scale_fit(IfmScale *scale, const double *const *marks, gsize n);
/* ifm_draw_strip: Appends exactly @width columns (colour codes aside). */
void ifm_draw_strip(GString *out, const IfmScale *scale, const double marks[5], int width, const IfmScreen *screen);
/* ifm_draw_axis: Appends the two ends of the scale, @width columns. */
void ifm_draw_axis(GString *out, const IfmScale *scale, int width, const IfmScreen *screen);

/* ifm_draw_paragraph: Appends text in letters that the screen has, in lines of its width. */
void ifm_draw_paragraph(GString *out, const char *text, const IfmScreen *screen);

/* ifm_common_prefix: how many bytes all texts begin with, up to and with one of @separators; 0 where they have too little
 * in common, or do not differ. @texts: [n] or NULL */
gsize ifm_common_prefix(const char *const *texts, gsize n, const char *separators);

/* ifm_count_lines: of what ends with one. */
int ifm_count_lines(const GString *text);
/* ifm_document_summary_show: Appends a summary as the first lines of a terminal: all checks and steps, or, where the screen
 * has a number of lines, at most ten. ifm_document_summary_free: NULL is allowed. */
struct IfmDocumentSummary;
void ifm_document_summary_show(GString *out, const struct IfmDocumentSummary *summary, const IfmScreen *screen);
void ifm_document_summary_free(struct IfmDocumentSummary *summary);
/* ifm_document_has_subject: whether its summary says what it is of. */
gboolean ifm_document_has_subject(const IfmDocument *document);

/* IfmColour: a token of pages and figures: the variable --NAME, in light and dark. ifm_colours: up to a NULL name. */
typedef struct
{
    const char *name, *light, *dark;
} IfmColour;
const IfmColour *ifm_colours(void);
/* ifm_colour_of_device: The colour that a device, or a side of a comparison, has all over a page: 0 for c1. G_MAXUINT: it
 * has none: it is no device, or there are more of them than colours, and each figure colours those it has. @devices: names
 * in order, or NULL */
enum
{
    IFM_COLOURS = 6,
};
guint ifm_colour_of_device(const GPtrArray *devices, const char *name);
/* ifm_colours_append_css: The variables, and the classes by which figures use them. @alone: of a picture's own file: dark
 * where its reader prefers that; else also as the page's data-theme has it, and light on paper. */
void ifm_colours_append_css(GString *out, gboolean alone);

/* ifm_svg_append: One drawing of a figure, @width pixels wide, coloured by the classes of ifm_colours_append_css(). @tips:
 * the texts of its marks, each once, to which it adds those that are new; a mark's data-t is the place of its text; NULL:
 * marks have none. data-s and data-i are the series and the point that a mark stands for.
 * @devices: ifm_colour_of_device()
 * ifm_svg_append_patterns: What those classes refer to; once in a file.
 * ifm_svg_widths: the widths that a page draws it at, widest first, ended by 0. @half: beside another
 * ifm_svg_append_timeline_data: JSON by which a page's script draws a part of a timeline anew.
 * ifm_svg_append_alone: A file of its own: the widest drawing with title, sentence, caption and colours. @source: what was
 * measured on what, its last line; or NULL */
void ifm_svg_append(GString *out, const IfmFigure *figure, double width, GPtrArray *tips, const GPtrArray *devices);
void ifm_svg_append_patterns(GString *out);
const int *ifm_svg_widths(gboolean half);
void ifm_svg_append_timeline_data(GString *out, const IfmFigure *figure);
void ifm_svg_append_alone(GString *out, const IfmFigure *figure, const char *source, const GPtrArray *devices);

/* ifm_tone_name: "plain", "good", … ifm_mark_name: "rough", "unknown"; NULL for none. */
const char *ifm_tone_name(IfmTone tone);
const char *ifm_mark_name(IfmMark mark);
/* ifm_point_fields: of a point of a figure: first group and series, which its series has in JSON. */
extern const IfmField ifm_point_fields[];
enum
{
    POINT_KEYS = 2, /* where a point's own fields begin */
};
/* ifm_block_to_csv: (transfer full) a table or figure, as ifm_document_to_csv() has it. */
char *ifm_block_to_csv(const IfmBlock *block);

/* ifm_tone_begin / ifm_tone_end: ANSI codes; "" without colour or for IFM_TONE_PLAIN. */
const char *ifm_tone_begin(const IfmScreen *screen, IfmTone tone);
const char *ifm_tone_end(const IfmScreen *screen, IfmTone tone);
const char *ifm_bold_begin(const IfmScreen *screen);
const char *ifm_bold_end(const IfmScreen *screen);

G_END_DECLS
