#include <math.h>
#include <string.h>

#include <inferometer/number.h>

#include "report-private.h"

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

/* --- numbers -------------------------------------------------------------------------------------------------------- */

char *ifm_format_duration(double ns)
{
    return ifm_number_duration(ns);
}

char *ifm_format_ratio(double ratio)
{
    if (!isfinite(ratio))
        return g_strdup("-");
    return ifm_number_fixed(100 * ratio, fabs(ratio) >= 0.1 ? 1 : 2, "%");
}

char *ifm_format_bytes(double bytes)
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
    if (!isfinite(bytes))
        return g_strdup("-");
    gsize unit = 0;
    while (unit + 1 < G_N_ELEMENTS(names) && fabs(bytes) >= 1023.5)
    {
        bytes /= 1024;
        unit++;
    }
    return ifm_number_fixed(bytes, unit == 0 ? 0 : ifm_number_decimals(bytes, 3), names[unit]);
}

char *ifm_format_rate(double bytes_per_s)
{
    double mb = bytes_per_s / MB;
    return isfinite(mb) ? ifm_number_fixed(mb, ifm_number_decimals(mb, 3), "") : g_strdup("-");
}

static char *format_real(double real)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    gboolean large = fabs(real) >= 9999.5 && fabs(real) < 9999999.5; /* easier to read than an exponent */
    return g_strdup(g_ascii_formatd(text, sizeof text, large ? "%.0f" : "%.4g", real));
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
static void format_ratios(const double *numbers, gsize n, char **texts)
{
    double most = 0;
    for (gsize i = 0; i < n; i++)
        most = MAX(most, isfinite(numbers[i]) ? fabs(numbers[i]) : 0);
    for (gsize i = 0; i < n; i++)
        if (isfinite(numbers[i]))
            texts[i] = ifm_number_fixed(100 * numbers[i], most >= 0.1 || most == 0 ? 1 : 2, "%");
}

/* Values end in a column of their own, and units begin in one. */
static void align_units(char **texts, gsize n)
{
    gsize widest = 0;
    for (gsize i = 0; i < n; i++)
    {
        const char *unit = texts[i] != NULL ? strchr(texts[i], ' ') : NULL;
        widest = MAX(widest, unit != NULL ? strlen(unit + 1) : 0);
    }
    for (gsize i = 0; i < n && widest > 0; i++)
    {
        if (texts[i] == NULL)
            continue;
        g_auto(GStrv) parts = g_strsplit(texts[i], " ", 2);
        g_free(texts[i]);
        texts[i] = g_strdup_printf("%s %-*s", parts[0], (int)widest, parts[1] != NULL ? parts[1] : "");
    }
}

void ifm_format_column(IfmFieldKind kind, const double *numbers, gsize n, char **texts)
{
    memset(texts, 0, n * sizeof *texts);
    if (kind == IFM_FIELD_RATIO)
    {
        format_ratios(numbers, n, texts);
        return;
    }
    for (gsize i = 0; i < n; i++)
        if (isfinite(numbers[i]))
            texts[i] = format_one(kind, numbers[i]);
    align_units(texts, n);
}

/* --- text ----------------------------------------------------------------------------------------------------------- */

char *ifm_format_clean(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *clean = g_string_new(NULL);
    for (const char *at = valid; *at != '\0'; at = g_utf8_next_char(at))
    {
        gunichar c = g_utf8_get_char(at);
        GUnicodeType type = g_unichar_type(c);
        /* Format characters may turn the writing direction of the rest of the line round: as bad as control characters. */
        gboolean harmful = type == G_UNICODE_CONTROL || type == G_UNICODE_FORMAT || type == G_UNICODE_LINE_SEPARATOR ||
                           type == G_UNICODE_PARAGRAPH_SEPARATOR;
        if (!harmful)
            g_string_append_unichar(clean, c);
        else if (c < 0x100)
            g_string_append_printf(clean, "\\x%02x", c);
        else
            g_string_append_printf(clean, "\\u%04x", c);
    }
    return g_string_free(clean, FALSE);
}

char *ifm_format_spelt(const char *text, gboolean utf8)
{
    g_autofree char *clean = ifm_format_clean(text);
    if (utf8)
        return g_steal_pointer(&clean);
    g_auto(GStrv) parts = g_strsplit(clean, "±", -1); /* which GLib would spell "?" */
    g_autofree char *joined = g_strjoinv("+-", parts);
    return g_str_to_ascii(joined, "C");
}

int ifm_text_width(const char *text)
{
    int width = 0;
    for (const char *at = text; *at != '\0'; at = g_utf8_next_char(at))
    {
        gunichar c = g_utf8_get_char(at);
        width += g_unichar_iszerowidth(c) ? 0 : g_unichar_iswide(c) ? 2 : 1;
    }
    return width;
}

/* Columns of text in which there may be colour codes, which end with an m and take none. */
static int visible_width(const char *text)
{
    int width = ifm_text_width(text);
    for (const char *at = strchr(text, '\033'); at != NULL; at = strchr(at, '\033'))
        for (gboolean over = FALSE; *at != '\0' && !over; at++, width--)
            over = *at == 'm';
    return width;
}

void ifm_format_wrap(GString *out, const char *text, int indent, int at, int width)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    gboolean first = TRUE;
    for (char **word = words; *word != NULL; word++)
    {
        int needs = visible_width(*word) + (first ? 0 : 1);
        if (!first && at + needs > width)
        {
            g_string_append_printf(out, "\n%*s", indent, "");
            at = indent;
            first = TRUE;
            needs--;
        }
        g_auto(GStrv) parts = g_strsplit(*word, IFM_NO_BREAK, -1);
        g_autofree char *shown = g_strjoinv(" ", parts);
        g_string_append_printf(out, "%s%s", first ? "" : " ", shown);
        at += needs;
        first = FALSE;
    }
    g_string_append_c(out, '\n');
}
