#include <sched.h>
#include <string.h>

#include "engine-private.h"

/* This parser reads the text of a device (ENGINE:UNIT[:INDEX][@CORES][#STREAMS]), checks it and writes it in one form. */

#define MAX_INDEX 65535
#define MAX_STREAMS 1024

/* The state of a parse. Errors quote the whole text and the part that is wrong. */
typedef struct
{
    const char *text;
    const char *at;
    GError **error;
} Cursor;

G_GNUC_PRINTF(2, 3)
static gboolean refuse(const Cursor *cursor, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return ifm_error_refuse(cursor->error,
                            "device '%s': %s (expected: ENGINE:UNIT[:INDEX][@CORES][#STREAMS], e.g. openvino:CPU@0-3)",
                            cursor->text, what);
}

/* A word of letters, digits, '-', '_' and '.' that starts with a letter. */
static char *parse_word(Cursor *cursor, const char *what)
{
    const char *start = cursor->at;
    while (g_ascii_isalnum(*cursor->at) || *cursor->at == '-' || *cursor->at == '_' || *cursor->at == '.')
        cursor->at++;
    if (cursor->at == start)
    {
        refuse(cursor, *start == '\0' ? "the %s is missing" : "the %s is missing before '%s'", what, start);
        return NULL;
    }
    if (!g_ascii_isalpha(*start))
    {
        refuse(cursor, "the %s '%.*s' does not start with a letter", what, (int)(cursor->at - start), start);
        return NULL;
    }
    return g_strndup(start, (gsize)(cursor->at - start));
}

static gboolean parse_number(Cursor *cursor, const char *what, int min, int max, int *value)
{
    const char *start = cursor->at;
    gint64 number = 0;
    while (g_ascii_isdigit(*cursor->at))
    {
        number = MIN(number * 10 + (*cursor->at - '0'), G_MAXINT);
        cursor->at++;
    }
    if (cursor->at == start)
        return refuse(cursor, "a number is missing for the %s, found '%s'", what, start);
    if (number < min || number > max)
        return refuse(cursor, "%s %.*s is not within %d to %d", what, (int)(cursor->at - start), start, min, max);
    *value = (int)number;
    return TRUE;
}

/* MACHINE/UNIT is one word for all engines but the simulated one. */
static char *parse_unit(Cursor *cursor)
{
    g_autofree char *first = parse_word(cursor, "unit");
    if (first == NULL || *cursor->at != '/')
        return g_steal_pointer(&first);
    cursor->at++;
    g_autofree char *second = parse_word(cursor, "unit after '/'");
    return second == NULL ? NULL : g_strconcat(first, "/", second, NULL);
}

/* Marks the cores of "0,2-3" in @chosen [CPU_SETSIZE]. */
static gboolean parse_cores(Cursor *cursor, gboolean *chosen)
{
    for (;;)
    {
        int from, to;
        if (!parse_number(cursor, "core", 0, CPU_SETSIZE - 1, &from))
            return FALSE;
        to = from;
        if (*cursor->at == '-')
        {
            cursor->at++;
            if (!parse_number(cursor, "core", 0, CPU_SETSIZE - 1, &to))
                return FALSE;
        }
        if (to < from)
            return refuse(cursor, "the range of cores %d-%d runs backwards", from, to);
        for (int core = from; core <= to; core++)
            chosen[core] = TRUE;
        if (*cursor->at != ',')
            return TRUE;
        cursor->at++;
    }
}

static gboolean parse_parts(Cursor *cursor, IfmDeviceSpec *spec)
{
    spec->engine = parse_word(cursor, "engine");
    if (spec->engine == NULL)
        return FALSE;
    if (*cursor->at != ':')
        return refuse(cursor, "a ':' and a unit are missing after '%s'", spec->engine);
    cursor->at++;
    spec->unit = parse_unit(cursor);
    if (spec->unit == NULL)
        return FALSE;
    if (*cursor->at == ':')
    {
        cursor->at++;
        if (!parse_number(cursor, "index", 0, MAX_INDEX, &spec->index))
            return FALSE;
    }
    if (*cursor->at == '@')
    {
        gboolean chosen[CPU_SETSIZE] = { FALSE };
        cursor->at++;
        if (!parse_cores(cursor, chosen))
            return FALSE;
        spec->cores = g_new(int, CPU_SETSIZE);
        for (int core = 0; core < CPU_SETSIZE; core++)
            if (chosen[core])
                spec->cores[spec->n_cores++] = core;
    }
    if (*cursor->at == '#')
    {
        cursor->at++;
        if (!parse_number(cursor, "number of streams", 1, MAX_STREAMS, &spec->n_streams))
            return FALSE;
    }
    return *cursor->at == '\0' || refuse(cursor, "'%s' is out of place", cursor->at);
}

char *ifm_cores_to_string(const int *cores, gsize n_cores)
{
    GString *text = g_string_new(NULL);
    for (gsize i = 0; i < n_cores;)
    {
        gsize last = i;
        while (last + 1 < n_cores && cores[last + 1] == cores[last] + 1)
            last++;
        g_string_append_printf(text, text->len > 0 ? ",%d" : "%d", cores[i]);
        if (last > i)
            g_string_append_printf(text, "-%d", cores[last]);
        i = last + 1;
    }
    return g_string_free(text, FALSE);
}

char *ifm_device_spec_device(const IfmDeviceSpec *spec)
{
    if (spec->index < 0)
        return g_strconcat(spec->engine, ":", spec->unit, NULL);
    return g_strdup_printf("%s:%s:%d", spec->engine, spec->unit, spec->index);
}

int ifm_device_spec_n_streams(const IfmDeviceSpec *spec)
{
    return MAX(spec->n_streams, 1);
}

static char *canonical_text(const IfmDeviceSpec *spec)
{
    g_autofree char *device = ifm_device_spec_device(spec);
    GString *text = g_string_new(device);
    if (spec->n_cores > 0)
    {
        g_autofree char *cores = ifm_cores_to_string(spec->cores, spec->n_cores);
        g_string_append_printf(text, "@%s", cores);
    }
    if (spec->n_streams > 1)
        g_string_append_printf(text, "#%d", spec->n_streams);
    return g_string_free(text, FALSE);
}

IfmDeviceSpec *ifm_device_spec_parse(const char *text, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = g_new0(IfmDeviceSpec, 1);
    Cursor cursor = { text, text, error };
    spec->index = -1;
    if (!parse_parts(&cursor, spec))
        return NULL;
    spec->text = canonical_text(spec);
    return g_steal_pointer(&spec);
}

gboolean ifm_alias_check(const char *alias, GError **error)
{
    return (g_ascii_isalpha(*alias) && alias[strspn(alias, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_-")] == '\0') ||
           ifm_error_refuse(error, "\"%s\" is no alias: a letter, then letters, digits, - and _", alias);
}

IfmDeviceSpec *ifm_device_spec_copy(const IfmDeviceSpec *spec)
{
    IfmDeviceSpec *copy = g_memdup2(spec, sizeof *spec);
    copy->text = g_strdup(spec->text);
    copy->engine = g_strdup(spec->engine);
    copy->unit = g_strdup(spec->unit);
    copy->cores = g_memdup2(spec->cores, spec->n_cores * sizeof *spec->cores);
    return copy;
}

void ifm_device_spec_free(IfmDeviceSpec *spec)
{
    if (spec == NULL)
        return;
    g_free(spec->text);
    g_free(spec->engine);
    g_free(spec->unit);
    g_free(spec->cores);
    g_free(spec);
}
