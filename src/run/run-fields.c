/* The figures of a plan's run as a table. */
#include <math.h>

#include <document/words.h>

#include "run-page.h"
#include "run.h"

/* (transfer full) NULL for NaN */
static char *figure_text(const IfmRunFigure *figure, double value)
{
    if (!isfinite(value))
        return NULL;
    if (g_str_equal(figure->unit, "ns"))
        return ifm_format_duration(value);
    if (g_str_equal(figure->unit, "ratio"))
        return ifm_format_ratio(value);
    g_autofree char *number = ifm_say_number(value);
    return g_strconcat(number, " /s", NULL);
}

static void get_words(const void *record, const void *user, IfmValue *value)
{
    char *text = figure_text(record, G_STRUCT_MEMBER(double, record, GPOINTER_TO_SIZE(user)));
    if (text != NULL)
        ifm_value_take_text(value, text);
}

static void get_interval(const void *record, const void *user, IfmValue *value)
{
    const IfmRunFigure *figure = record;
    double half = (figure->interval.upper - figure->interval.lower) / 2 / figure->measured;
    ifm_value_set_real(value, half);
}

/* With its sign: which way the prediction missed. */
void ifm_run_get_difference(const void *record, const void *user, IfmValue *value)
{
    const IfmRunFigure *figure = record;
    double ratio = figure->difference_ratio;
    if (!isfinite(ratio))
        return;
    g_autofree char *text = ifm_format_ratio(fabs(ratio));
    ifm_value_take_text(value, g_strconcat(ratio < 0 ? "−" : "+", text, NULL));
    value->tone = fabs(ratio) <= 0.05 ? IFM_TONE_GOOD : IFM_TONE_PLAIN;
}

#define FIGURE(member) IFM_MEMBER(IfmRunFigure, member)

const IfmField ifm_run_figure_fields[] = {
    { "figure", "", IFM_FIELD_TEXT, FIGURE(key), IFM_FIELD_WHOLE },
    { "predicted", "predicted", IFM_FIELD_TEXT, get_words, IFM_FIELD_AT(IfmRunFigure, predicted),
      IFM_FIELD_NO_EXPORT | IFM_FIELD_WHOLE | IFM_FIELD_HIDE_EMPTY },
    { "measured", "measured", IFM_FIELD_TEXT, get_words, IFM_FIELD_AT(IfmRunFigure, measured),
      IFM_FIELD_NO_EXPORT | IFM_FIELD_WHOLE },
    { "interval_ratio", "±", IFM_FIELD_PRECISION, get_interval, .flags = IFM_FIELD_HIDE_EMPTY },
    { "difference", "error", IFM_FIELD_TEXT, ifm_run_get_difference, NULL, IFM_FIELD_NO_EXPORT | IFM_FIELD_HIDE_EMPTY },
    { "unit", "unit", IFM_FIELD_TEXT, FIGURE(unit), IFM_FIELD_NO_SCREEN },
    { "predicted", "predicted", IFM_FIELD_REAL, FIGURE(predicted), IFM_FIELD_NO_SCREEN },
    { "measured", "measured", IFM_FIELD_REAL, FIGURE(measured), IFM_FIELD_NO_SCREEN },
    { "difference_ratio", "", IFM_FIELD_REAL, FIGURE(difference_ratio), IFM_FIELD_NO_SCREEN },
    { NULL },
};
