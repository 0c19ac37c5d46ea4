#pragma once
#include <glib.h>

G_BEGIN_DECLS

/** The one error domain. The message names the file, the place in it, what was found and what would be right. */
#define IFM_ERROR (ifm_error_quark())
GQuark ifm_error_quark(void);

/**
 * IfmErrorCode: what kind of trouble it was, for callers that act on it.
 * The command exits with ifm_error_exit_status(). The names (ifm_error_code_name()) are what stores and exports hold.
 */
typedef enum
{
    IFM_ERROR_INVALID = 1, /* "invalid": the input is wrong */
    IFM_ERROR_UNSUPPORTED, /* "unsupported": right, but this device or build cannot do it (a model refused) */
    IFM_ERROR_UNAVAILABLE, /* "unavailable": a runtime, device, file system or permission is missing */
    IFM_ERROR_FAILED,      /* "failed": it was tried and went wrong (crash, wrong output) */
    IFM_ERROR_TIMEOUT,     /* "timeout": it did not end within its limit (hang) */
    IFM_ERROR_CORRUPT,     /* "corrupt": stored data that is not what was written */
    IFM_ERROR_LOST,        /* "lost": the device is gone until a probe answers correctly */
    IFM_ERROR_MEMORY,      /* "memory": out of memory on host or device, or past the memory limit */
    IFM_ERROR_CANCELLED,   /* "cancelled": somebody asked for it to stop */
} IfmErrorCode;

/** ifm_error_code_name: Returns: the code's stable lower-case name; "failed" for a code it does not know. */
const char *ifm_error_code_name(int code);

/** ifm_error_code_from_name: Returns: the code of that name, IFM_ERROR_FAILED for any other (or NULL). */
IfmErrorCode ifm_error_code_from_name(const char *name);

/** ifm_error_exit_status: Returns: 3 for invalid and corrupt, 4 for unavailable, 1 for all else (also other domains). */
int ifm_error_exit_status(const GError *error);

/** ifm_error_refuse: Sets IFM_ERROR_INVALID. Returns: FALSE, for a check to return. */
gboolean ifm_error_refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** ifm_error_make_one_line: A message with texts of a file in it becomes one line of valid UTF-8: control characters become
 * '?'. @error: (nullable) may hold none. */
void ifm_error_make_one_line(GError **error);

G_END_DECLS
