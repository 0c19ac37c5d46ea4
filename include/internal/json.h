/* room: base */
#pragma once
#include <jansson.h>

#include <inferometer/error.h>

G_BEGIN_DECLS

/** The maximum nesting of a document. A deeper one is refused before any recursion. */
#define IFM_JSON_MAX_DEPTH 64

/* --- documents in and out --------------------------------------------------------------------------------------------- */

/**
 * ifm_json_load: Reads a file.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID, "FILE:LINE:COLUMN: ...": syntax, a duplicate key, bytes that are
 * not UTF-8, an integer beyond 64 bits, or too deep. Or NULL with IFM_ERROR_UNAVAILABLE: no such file, no permission.
 */
json_t *ifm_json_load(const char *path, GError **error);
/** ifm_json_parse: ifm_json_load() of text in memory. @bytes: [n_bytes]    @name: the file name that messages begin with */
json_t *ifm_json_parse(const char *bytes, gsize n_bytes, const char *name, GError **error);
/** ifm_json_canonical: Returns: (transfer full) compact text with sorted keys: equal documents give equal text. */
char *ifm_json_canonical(const json_t *json);
/** ifm_json_digest: Returns: (transfer full) SHA-256 (hex) of the canonical text. */
char *ifm_json_digest(const json_t *json);

/* --- values that JSON cannot express directly ----------------------------------------------------------------------------
 */

/** ifm_json_string: Returns: (transfer full) a string; "" for NULL. Bytes that are not UTF-8 become U+FFFD. */
json_t *ifm_json_string(const char *text);
/** ifm_json_real: Returns: (transfer full) a number; null for NaN, "inf" or "-inf" for an infinity. */
json_t *ifm_json_real(double value);
/** ifm_json_int64_array: Returns: (transfer full) an array of integers. @values: gint64; NULL gives an empty array */
json_t *ifm_json_int64_array(const GArray *values);

/* --- lenient getters -----------------------------------------------------------------------------------------------------
 *
 * For documents that were checked, or whose members may be missing.
 * @path: member names with points between them: "median_interval.lower"
 */
/** ifm_member: Returns: (transfer none) NULL where there is no such member. */
const json_t *ifm_member(const json_t *json, const char *path);
/** ifm_member_number: NaN where the member is missing or not a number. */
double ifm_member_number(const json_t *json, const char *path);
/** ifm_member_text: (transfer none) NULL where the member is missing or not a string. */
const char *ifm_member_text(const json_t *json, const char *path);

/* --- strict getters -----------------------------------------------------------------------------------------------------
 *
 * Each looks up @key in @object and checks its type. Returns: FALSE with IFM_ERROR_INVALID "WHERE.KEY: found 12, expected a
 * string". A missing key is an error too. Test json_object_get() first where a key is optional.
 * @where: the path of @object for messages, with the file name if there is one    @value: (out) borrowed from @object
 */
gboolean ifm_json_get_string(const json_t *object, const char *where, const char *key, const char **value, GError **error);
gboolean ifm_json_get_boolean(const json_t *object, const char *where, const char *key, gboolean *value, GError **error);
gboolean ifm_json_get_int64(const json_t *object, const char *where, const char *key, gint64 *value, GError **error);
/** ifm_json_get_double: Takes the values that ifm_json_real() writes, and integers. */
gboolean ifm_json_get_double(const json_t *object, const char *where, const char *key, double *value, GError **error);
gboolean ifm_json_get_object(const json_t *object, const char *where, const char *key, json_t **value, GError **error);
gboolean ifm_json_get_array(const json_t *object, const char *where, const char *key, json_t **value, GError **error);
/** ifm_json_check_object: Whether @json is an object whose keys are all among @keys. @keys: NULL-terminated.
 * Returns: FALSE with IFM_ERROR_INVALID. */
gboolean ifm_json_check_object(const json_t *json, const char *where, const char *const *keys, GError **error);

G_END_DECLS
