#pragma once
#include <internal/csv.h>
#include <internal/json.h>

G_BEGIN_DECLS

/** ifm_json_get_int64_array: Replaces the content of @values. @values: gint64. Errors: as of the strict getters in json.h
 */
gboolean ifm_json_get_int64_array(const json_t *object, const char *where, const char *key, GArray *values, GError **error);

/**
 * ifm_number_decimals: How many digits after the point show @value with @significant digits, counted after rounding.
 * Returns: 0 to 6. 9.99996 with four significant digits is 10.00, so the result is 2.
 */
int ifm_number_decimals(double value, int significant);

G_END_DECLS
