#pragma once
#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

/** ifm_json_get_int64_array: Replaces the content of @values. @values: gint64. Errors: as of the strict getters in json.h
 */
gboolean ifm_json_get_int64_array(const json_t *object, const char *where, const char *key, GArray *values, GError **error);

/**
 * ifm_number_decimals: How many digits after the point show @value with @significant digits, counted after rounding.
 * Returns: 0 to 6. 9.99996 with four significant digits is 10.00, so the result is 2.
 */
int ifm_number_decimals(double value, int significant);

/** ifm_error_at: As ifm_error_refuse(), of a place in a file; of @line 0: of a setting that is in none. */
gboolean ifm_error_at(GError **error, const char *file, gsize line, const char *format, ...) G_GNUC_PRINTF(4, 5);
#ifdef __clang_analyzer__
#define ifm_error_at(...) ((void)(ifm_error_at)(__VA_ARGS__), FALSE)
#endif

/* --- quantity.c: numbers as people write them ------------------------------------------------------------------------- */

/** ifm_number_parse: A decimal number, finite. @end: (out) what follows it. Returns: FALSE for any other text. */
gboolean ifm_number_parse(const char *text, double *value, const char **end);
/** ifm_duration_parse: "1.5 ms" as ns. "m" is a minute, as "min" is. Returns: FALSE where the text is not a duration: it
 * has a sign, has no unit though it is not 0, or is beyond the range of gint64. */
gboolean ifm_duration_parse(const char *text, gint64 *ns);
/** ifm_bytes_parse: "512MiB" as bytes, likewise. */
gboolean ifm_bytes_parse(const char *text, gint64 *bytes);
/** ifm_ratio_parse: "1%" or "0.01" as 0.01; from 0 to 1. Returns: FALSE for a bare 1, too: it may mean either. */
gboolean ifm_ratio_parse(const char *text, double *ratio);
#define IFM_RATIO_WANTED "a percentage from 0% to 100%, such as 1%, or a fraction below 1, such as 0.01"

G_END_DECLS
