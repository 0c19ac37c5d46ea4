#include <inferometer/number.h>
#include <math.h>

static const struct
{
    const char *name;
    double ns;
} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

int ifm_number_decimals(double value, int significant)
{
    if (value == 0 || !isfinite(value))
        return 0;
    int before = (int)floor(log10(fabs(value) * (1 + 0.5 * pow(10, -significant)))) + 1;
    return CLAMP(significant - before, 0, 6);
}

char *ifm_number_fixed(double value, int decimals, const char *unit)
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

char *ifm_number_duration(double ns)
{
    if (!isfinite(ns))
        return g_strdup("-");
    if (ns == 0)
        return g_strdup("0");
    gsize unit = unit_of(ns);
    double value = ns / units[unit].ns;
    int decimals = unit == 0 ? (value == floor(value) ? 0 : 1) : ifm_number_decimals(value, 4);
    return ifm_number_fixed(value, decimals, units[unit].name);
}
