/* room: base */
#pragma once
#include <inferometer/visibility.h>

IFM_BEGIN_DECLS

/** The one error domain. The message names the file, the place in it, what was found and what would be right. */
#define IFM_ERROR (ifm_error_quark())
GQuark ifm_error_quark(void);

/**
 * IfmErrorCode: the kind of error, for callers that act on it.
 * The command exits with ifm_error_exit_status(). Stores and exports hold the names of ifm_error_code_name().
 */
typedef enum
{
    IFM_ERROR_INVALID = 1, /* "invalid": the input is wrong */
    IFM_ERROR_UNSUPPORTED, /* "unsupported": the input is right, but this device or build cannot do it (a model refused) */
    IFM_ERROR_UNAVAILABLE, /* "unavailable": a runtime, device, file system or permission is missing */
    IFM_ERROR_FAILED,      /* "failed": the attempt went wrong (crash, wrong output) */
    IFM_ERROR_TIMEOUT,     /* "timeout": the attempt did not end within its time limit (hang) */
    IFM_ERROR_CORRUPT,     /* "corrupt": stored data differ from what was written */
    IFM_ERROR_LOST,        /* "lost": the device is unavailable until a probe answers correctly */
    IFM_ERROR_MEMORY,      /* "memory": out of memory on host or device, or past the memory limit */
    IFM_ERROR_CANCELLED,   /* "cancelled": the caller or the user asked for a stop */
    IFM_ERROR_USAGE,       /* "usage": an option's value is wrong, or options do not go together */
} IfmErrorCode;

/** ifm_error_code_name: Returns: the stable lower-case name of the code; "failed" for an unknown code. */
const char *ifm_error_code_name(int code);

/** ifm_error_code_from_name: Returns: the code of that name; IFM_ERROR_FAILED for NULL and for an unknown name. */
IfmErrorCode ifm_error_code_from_name(const char *name);

/** ifm_error_exit_status: Returns: 2 for usage, 3 for invalid and corrupt, 4 for unavailable, 1 for every other code and
 * domain. */
int ifm_error_exit_status(const GError *error);

/** ifm_error_refuse: Sets IFM_ERROR_INVALID. Returns: FALSE, so that a check can return the call. */
gboolean ifm_error_refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
/** ifm_error_misuse: As ifm_error_refuse(), with IFM_ERROR_USAGE. The message begins with the option: "--runs and --ci: …".
 */
gboolean ifm_error_misuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** ifm_error_make_one_line: Makes a message that quotes a file one line of valid UTF-8. Control characters become '?'.
 * @error: (nullable) may point to NULL */
void ifm_error_make_one_line(GError **error);

/** ifm_error_blame_sizes: Makes IFM_ERROR_MEMORY an IFM_ERROR_INVALID: there was no memory while an input was prepared,
 * so the sizes that were asked for are too large. @error: (nullable) */
void ifm_error_blame_sizes(GError *error);

IFM_END_DECLS
