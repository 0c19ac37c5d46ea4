#pragma once
#include <inferometer/report.h>

G_BEGIN_DECLS

/* ifm_format_column: The texts of one column of numbers, set so that values and units each end below each other.
 * @numbers: [n], NaN where there is none (its text is then NULL). @texts: (out) [n] */
void ifm_format_column(IfmFieldKind kind, const double *numbers, gsize n, char **texts);

/* ifm_field_get: one cell; clear it with ifm_value_clear(). */
void ifm_field_get(const IfmField *field, const void *record, IfmValue *value);
void ifm_value_clear(IfmValue *value);

/* IfmScale: the common axis of a column of strips. */
typedef struct
{
    double low, high;
    gboolean logarithmic;
    gboolean clipped; /* some maximum lies beyond high */
} IfmScale;

/* ifm_scale_fit: @marks: [n] pointers to five marks each. FALSE where there is nothing to draw. */
gboolean ifm_scale_fit(IfmScale *scale, const double *const *marks, gsize n);
/* ifm_draw_strip: Appends exactly @width columns (colour codes aside). */
void ifm_draw_strip(GString *out, const IfmScale *scale, const double marks[5], int width, const IfmScreen *screen);
/* ifm_draw_axis: Appends the two ends of the scale, @width columns. */
void ifm_draw_axis(GString *out, const IfmScale *scale, int width, const IfmScreen *screen);

/* ifm_tone_begin / ifm_tone_end: ANSI codes; "" without colour or for IFM_TONE_PLAIN. */
const char *ifm_tone_begin(const IfmScreen *screen, IfmTone tone);
const char *ifm_tone_end(const IfmScreen *screen, IfmTone tone);
const char *ifm_bold_begin(const IfmScreen *screen);
const char *ifm_bold_end(const IfmScreen *screen);

/* ifm_member_number / ifm_member_text: a document's member by path, "median_interval.lower"; NaN, NULL where there is none.
 */
double ifm_member_number(const json_t *json, const char *path);
const char *ifm_member_text(const json_t *json, const char *path);

G_END_DECLS
