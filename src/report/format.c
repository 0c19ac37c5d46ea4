#include <math.h>
#include <string.h>

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

/* --- numbers -------------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *name;
    double ns;
} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

/* The digits after the point that give @value @significant digits once it is rounded: 9.99996 needs two for four. */
static int decimals_for(double value, int significant)
{
    if (value == 0 || !isfinite(value))
        return 0;
    int before = (int)floor(log10(fabs(value) * (1 + 0.5 * pow(10, -significant)))) + 1;
    return CLAMP(significant - before, 0, 6);
}

/* Like printf's %.*f, with a point in every locale. */
static char *fixed(double value, int decimals, const char *unit)
{
    char format[8], text[G_ASCII_DTOSTR_BUF_SIZE + 320];
    g_snprintf(format, sizeof format, "%%.%df", decimals);
    g_ascii_formatd(text, sizeof text, format, value);
    return *unit != '\0' ? g_strdup_printf("%s %s", text, unit) : g_strdup(text);
}

/* Index in units[]: the largest in which the value, rounded to four digits, is at least 1. */
static gsize unit_of(double ns)
{
    gsize unit = 0;
    while (unit + 1 < G_N_ELEMENTS(units) && fabs(ns) >= 0.99995 * units[unit + 1].ns)
        unit++;
    return unit;
}

char *ifm_format_duration(double ns)
{
    if (!isfinite(ns))
        return g_strdup("-");
    gsize unit = unit_of(ns);
    double value = ns / units[unit].ns;
    int decimals = unit == 0 ? (value == floor(value) ? 0 : 1) : decimals_for(value, 4);
    return fixed(value, decimals, units[unit].name);
}

char *ifm_format_ratio(double ratio)
{
    if (!isfinite(ratio))
        return g_strdup("-");
    return fixed(100 * ratio, fabs(ratio) >= 0.1 ? 1 : 2, "%");
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
    return fixed(bytes, unit == 0 ? 0 : decimals_for(bytes, 3), names[unit]);
}

static char *format_real(double real)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    return g_strdup(g_ascii_formatd(text, sizeof text, "%.4g", real));
}

static char *format_one(IfmFieldKind kind, double number)
{
    switch (kind)
    {
    case IFM_FIELD_DURATION:
        return ifm_format_duration(number);
    case IFM_FIELD_RATIO:
        return ifm_format_ratio(number);
    case IFM_FIELD_BYTES:
        return ifm_format_bytes(number);
    case IFM_FIELD_INTEGER:
        return fixed(number, 0, "");
    default:
        return format_real(number);
    }
}

/* The least and greatest magnitude of a column; zeros do not count as least. FALSE where there is none. */
static gboolean range_of(const double *numbers, gsize n, double *least, double *most)
{
    *least = INFINITY, *most = 0;
    for (gsize i = 0; i < n; i++)
    {
        if (!isfinite(numbers[i]) || numbers[i] == 0)
            continue;
        *least = MIN(*least, fabs(numbers[i]));
        *most = MAX(*most, fabs(numbers[i]));
    }
    return *most > 0;
}

/* One unit for all where they lie within a factor of 1000; the least value keeps three digits at least. */
static gboolean durations_in_one_unit(const double *numbers, gsize n, char **texts)
{
    double least, most;
    if (!range_of(numbers, n, &least, &most) || most / least >= 1000)
        return FALSE;
    gsize unit = unit_of(least);
    if (most / units[unit].ns >= 10000)
        unit = unit_of(most);
    int decimals = decimals_for(least / units[unit].ns, most / least < 10 ? 4 : 3);
    if (unit == 0)
        decimals = MIN(decimals, least == floor(least) && most == floor(most) ? 0 : 1);
    for (gsize i = 0; i < n; i++)
        if (isfinite(numbers[i]))
            texts[i] = fixed(numbers[i] / units[unit].ns, decimals, units[unit].name);
    return TRUE;
}

void ifm_format_column(IfmFieldKind kind, const double *numbers, gsize n, char **texts)
{
    double least, most;
    memset(texts, 0, n * sizeof *texts);
    if (kind == IFM_FIELD_DURATION && durations_in_one_unit(numbers, n, texts))
        return;
    int decimals = kind == IFM_FIELD_RATIO && range_of(numbers, n, &least, &most) ? (most >= 0.1 ? 1 : 2) : -1;
    for (gsize i = 0; i < n; i++)
        if (isfinite(numbers[i]))
            texts[i] = decimals >= 0 ? fixed(100 * numbers[i], decimals, "%") : format_one(kind, numbers[i]);
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
