#include "base-private.h"
#include <base/base.h>
#include <glib.h>
#include <math.h>
#include <string.h>

/* Numbers with units as people write them, on the command line and in files alike. */

typedef struct
{
    const char *name;
    double factor;
} Unit;

static const Unit duration_units[] = {
    { "ns", 1 },     { "us", 1e3 }, { "µs", 1e3 },   { "ms", 1e6 }, { "s", 1e9 },
    { "min", 60e9 }, { "m", 60e9 }, { "h", 3600e9 }, { NULL, 0 },
};

static const Unit byte_units[] = {
    { "B", 1 },
    { "KiB", 1024.0 },
    { "MiB", 1024.0 * 1024 },
    { "GiB", 1024.0 * 1024 * 1024 },
    { "TiB", 1024.0 * 1024 * 1024 * 1024 },
    { "kB", 1e3 },
    { "MB", 1e6 },
    { "GB", 1e9 },
    { "TB", 1e12 },
    { NULL, 0 },
};

static const Unit ratio_units[] = { { "%", 0.01 }, { NULL, 0 } };

/* strtod alone would take hexadecimal and infinities too. */
gboolean ifm_number_parse(const char *text, double *value, const char **end)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if ((!g_ascii_isdigit(digits[0]) && digits[0] != '.') || g_ascii_tolower(digits[1]) == 'x')
        return FALSE;
    char *stop;
    *value = g_ascii_strtod(text, &stop);
    *end = stop;
    return stop > digits && isfinite(*value);
}

double ifm_number_of(const char *text)
{
    double value;
    const char *end;
    return ifm_number_parse(text, &value, &end) && *end == '\0' ? value : (double)NAN;
}

/* A number of 0 or more with one of the units. 0 needs no unit. */
static gboolean parse(const char *text, const Unit *units, double maximum, double *value)
{
    const char *end;
    if (*text == '-' || *text == '+' || !ifm_number_parse(text, value, &end))
        return FALSE;
    end += strspn(end, " ");
    if (*end == '\0')
        return *value == 0;
    for (const Unit *unit = units; unit->name != NULL; unit++)
        if (g_str_equal(end, unit->name))
        {
            *value *= unit->factor;
            return *value <= maximum;
        }
    return FALSE;
}

static gboolean parse_whole(const char *text, const Unit *units, gint64 *value)
{
    double number;
    if (!parse(text, units, 9e18, &number))
        return FALSE;
    *value = (gint64)llround(number);
    return TRUE;
}

gboolean ifm_duration_parse(const char *text, gint64 *ns)
{
    return parse_whole(text, duration_units, ns);
}

gboolean ifm_bytes_parse(const char *text, gint64 *bytes)
{
    return parse_whole(text, byte_units, bytes);
}

gboolean ifm_ratio_parse(const char *text, double *ratio)
{
    if (parse(text, ratio_units, 1, ratio))
        return TRUE;
    *ratio = ifm_number_of(text);
    return *ratio > 0 && *ratio < 1;
}
