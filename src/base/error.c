#include "base-private.h"
#include <base/base.h>

/* These functions set errors with a code and a place, name the codes and give the exit status of each. */

/* as the analyser sees them */
#undef ifm_error_set
#undef ifm_error_prefix
#undef ifm_error_at

GQuark ifm_error_quark(void)
{
    return g_quark_from_static_string("ifm-error-quark");
}

static const char *const code_names[] = {
    [IFM_ERROR_INVALID] = "invalid", [IFM_ERROR_UNSUPPORTED] = "unsupported", [IFM_ERROR_UNAVAILABLE] = "unavailable",
    [IFM_ERROR_FAILED] = "failed",   [IFM_ERROR_TIMEOUT] = "timeout",         [IFM_ERROR_CORRUPT] = "corrupt",
    [IFM_ERROR_LOST] = "lost",       [IFM_ERROR_MEMORY] = "memory",           [IFM_ERROR_CANCELLED] = "cancelled",
    [IFM_ERROR_USAGE] = "usage",
};

const char *ifm_error_code_name(int code)
{
    if (code <= 0 || code >= (int)G_N_ELEMENTS(code_names))
        return "failed";
    return code_names[code];
}

IfmErrorCode ifm_error_code_from_name(const char *name)
{
    for (int code = 1; code < (int)G_N_ELEMENTS(code_names); code++)
        if (g_strcmp0(name, code_names[code]) == 0)
            return (IfmErrorCode)code;
    return IFM_ERROR_FAILED;
}

int ifm_error_exit_status(const GError *error)
{
    if (error == NULL || error->domain != IFM_ERROR)
        return 1;
    switch (error->code)
    {
    case IFM_ERROR_USAGE:
        return 2;
    case IFM_ERROR_INVALID:
    case IFM_ERROR_CORRUPT:
        return 3;
    case IFM_ERROR_UNAVAILABLE:
        return 4;
    default:
        return 1;
    }
}

gboolean ifm_error_set(GError **error, IfmErrorCode code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_autofree char *message = g_strdup_vprintf(format, values);
    va_end(values);
    g_set_error_literal(error, IFM_ERROR, (int)code, message);
    return FALSE;
}

gboolean ifm_error_prefix(GError **error, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_autofree char *prefix = g_strdup_vprintf(format, values);
    va_end(values);
    g_prefix_error(error, "%s", prefix);
    return FALSE;
}

gboolean ifm_error_at(GError **error, const char *file, gsize line, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_autofree char *text = g_strdup_vprintf(format, values);
    va_end(values);
    return line > 0 ? ifm_error_refuse(error, "%s:%zu: %s", file, line, text)
                    : ifm_error_refuse(error, "setting: %s", text);
}

void ifm_error_blame_sizes(GError *error)
{
    if (g_error_matches(error, IFM_ERROR, IFM_ERROR_MEMORY))
        error->code = IFM_ERROR_INVALID;
}

void ifm_error_make_one_line(GError **error)
{
    if (error == NULL || *error == NULL)
        return;
    char *valid = g_utf8_make_valid((*error)->message, -1);
    for (char *c = valid; *c != '\0'; c++)
        if (g_ascii_iscntrl(*c))
            *c = '?';
    g_free((*error)->message);
    (*error)->message = valid;
}
