#include <math.h>
#include <string.h>

#include <base/base.h>

#include "document-private.h"

/* Fields get values from records, and values become text: a column's numbers have a common precision and aligned units. */

/* --- values --------------------------------------------------------------------------------------------------------- */

void ifm_value_set_text(IfmValue *value, const char *text)
{
    value->present = text != NULL;
    value->text = text;
}

void ifm_value_take_text(IfmValue *value, char *text)
{
    value->owned = text;
    ifm_value_set_text(value, text);
}

void ifm_value_set_integer(IfmValue *value, gint64 integer)
{
    value->present = TRUE;
    value->integer = integer;
    value->real = (double)integer;
}

void ifm_value_set_boolean(IfmValue *value, gboolean yes)
{
    ifm_value_set_integer(value, yes ? 1 : 0);
}

void ifm_value_set_real(IfmValue *value, double real)
{
    value->present = isfinite(real);
    value->real = real;
}

void ifm_value_set_interval(IfmValue *value, double min, double lower, double middle, double upper, double max)
{
    gboolean has_interval = isfinite(lower) && isfinite(upper);
    value->present = has_interval || isfinite(middle);
    const double marks[5] = { isfinite(min)  ? min
                              : has_interval ? lower
                                             : middle,
                              has_interval ? lower : NAN, middle, has_interval ? upper : NAN,
                              isfinite(max)  ? max
                              : has_interval ? upper
                                             : middle };
    memcpy(value->marks, marks, sizeof marks);
}

void ifm_value_clear(IfmValue *value)
{
    g_free(value->owned);
    *value = (IfmValue){ 0 };
}

void ifm_field_get(const IfmField *field, const void *record, IfmValue *value)
{
    *value = (IfmValue){ 0 };
    field->get(record, field->user, value);
}

void ifm_field_get_member(const void *record, const void *user, IfmValue *value)
{
    const IfmMember *member = user;
    const char *at = member->via < 0 ? record : G_STRUCT_MEMBER(const char *, record, member->via);
    if (at == NULL)
        return;
    at += member->at;
    switch (member->type)
    {
    case IFM_MEMBER_TEXT:
        (member->some ? ifm_field_get_some_text : ifm_field_get_text)(at, NULL, value);
        return;
    case IFM_MEMBER_BYTE:
        ifm_value_set_integer(value, G_STRUCT_MEMBER(guint8, at, 0));
        break;
    case IFM_MEMBER_SHORT:
        ifm_value_set_integer(value, G_STRUCT_MEMBER(guint16, at, 0));
        break;
    case IFM_MEMBER_INT:
        ifm_value_set_integer(value, G_STRUCT_MEMBER(int, at, 0));
        break;
    case IFM_MEMBER_UINT:
        ifm_value_set_integer(value, G_STRUCT_MEMBER(guint, at, 0));
        break;
    case IFM_MEMBER_INTEGER:
    case IFM_MEMBER_COUNT: /* sizes do not get so large that the sign counts */
        ifm_value_set_integer(value, G_STRUCT_MEMBER(gint64, at, 0));
        break;
    case IFM_MEMBER_REAL:
        ifm_value_set_real(value, G_STRUCT_MEMBER(double, at, 0));
        value->integer = value->present ? (gint64)value->real : 0;
    }
    value->present = value->present && (!member->some || value->real > member->above);
    if (member->per > 0)
        value->real /= member->per;
}

void ifm_field_get_text(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, G_STRUCT_MEMBER(const char *, record, GPOINTER_TO_SIZE(user)));
}

void ifm_field_get_some_text(const void *record, const void *user, IfmValue *value)
{
    const char *text = G_STRUCT_MEMBER(const char *, record, GPOINTER_TO_SIZE(user));
    ifm_value_set_text(value, text != NULL && *text != '\0' ? text : NULL);
}

void ifm_field_get_integer(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, G_STRUCT_MEMBER(gint64, record, GPOINTER_TO_SIZE(user)));
}

void ifm_field_get_count(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, (gint64)G_STRUCT_MEMBER(gsize, record, GPOINTER_TO_SIZE(user)));
}

void ifm_field_get_real(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, G_STRUCT_MEMBER(double, record, GPOINTER_TO_SIZE(user)));
}

void ifm_field_get_ms(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, G_STRUCT_MEMBER(double, record, GPOINTER_TO_SIZE(user)) / 1e6);
}

/* --- columns ------------------------------------------------------------------------------------------------------- */

static char *format_real(double real)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    gboolean large = fabs(real) >= 999.5 && fabs(real) < 9999999.5; /* easier to read than an exponent */
    g_ascii_formatd(text, sizeof text, large ? "%.0f" : "%.3g", fabs(real));
    return g_strconcat(real < 0 ? "−" : "", text, NULL);
}

static char *format_one(IfmFieldKind kind, double number)
{
    switch (kind)
    {
    case IFM_FIELD_DURATION:
        return ifm_format_duration(number);
    case IFM_FIELD_BYTES:
        return ifm_format_bytes(number);
    case IFM_FIELD_RATE:
        return ifm_format_rate(number);
    case IFM_FIELD_INTEGER:
        return ifm_number_fixed(number, 0, "");
    default:
        return format_real(number);
    }
}

/* One decimal for all of a column where any is 10 % or more: then they are read against each other. */
static void format_ratios(const double *numbers, gsize n, gboolean precisions, char **texts)
{
    double max = 0;
    for (gsize i = 0; i < n; i++)
        if (isfinite(numbers[i]) && (!precisions || ifm_is_precision(numbers[i])))
            max = MAX(max, fabs(numbers[i]));
    for (gsize i = 0; i < n; i++)
        if (isfinite(numbers[i]))
            texts[i] = precisions && !ifm_is_precision(numbers[i])
                           ? g_strdup("no interval")
                           : ifm_number_fixed(100 * numbers[i], max >= 0.1 || max == 0 ? 1 : 2, "%");
}

/* Values end in a column of their own, and units begin in one. */
static void align_units(char **texts, gsize n)
{
    int widest = 0;
    for (gsize i = 0; i < n; i++)
    {
        const char *unit = texts[i] != NULL ? strchr(texts[i], ' ') : NULL;
        widest = MAX(widest, unit != NULL ? ifm_text_width(unit + 1) : 0);
    }
    for (gsize i = 0; i < n && widest > 0; i++)
    {
        if (texts[i] == NULL)
            continue;
        g_auto(GStrv) parts = g_strsplit(texts[i], " ", 2);
        g_free(texts[i]);
        const char *unit = parts[1] != NULL ? parts[1] : "";
        texts[i] = g_strdup_printf("%s %s%*s", parts[0], unit, widest - ifm_text_width(unit), "");
    }
}

void ifm_format_column(IfmFieldKind kind, const double *numbers, gsize n, char **texts)
{
    const gboolean is_ratio = kind == IFM_FIELD_RATIO || kind == IFM_FIELD_PRECISION;
    memset(texts, 0, n * sizeof *texts);
    if (is_ratio)
        format_ratios(numbers, n, kind == IFM_FIELD_PRECISION, texts);
    for (gsize i = 0; i < n && !is_ratio; i++)
        if (isfinite(numbers[i]))
            texts[i] = format_one(kind, numbers[i]);
    if (!is_ratio)
        align_units(texts, n);
}

char *ifm_format_value(IfmFieldKind kind, double number)
{
    char *text = NULL;
    ifm_format_column(kind, &number, 1, &text);
    return text != NULL ? text : g_strdup("-");
}
