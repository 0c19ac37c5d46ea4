#pragma once
#include <jansson.h>

#include <inferometer/error.h>

G_BEGIN_DECLS

/** Documents nested deeper than this are refused before anything recurses over them. */
#define IFM_JSON_MAX_DEPTH 64

/* --- documents in and out --------------------------------------------------------------------------------------------- */

/**
 * ifm_json_load: Reads a file.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID ("FILE:LINE:COLUMN: what is wrong": syntax, a key given twice, not
 * UTF-8, an integer beyond 64 bits, too deep) or IFM_ERROR_UNAVAILABLE (no such file, no permission).
 */
json_t *ifm_json_load(const char *path, GError **error);
/** ifm_json_parse: the same from memory. @bytes: [n_bytes]  @name: what messages call it. */
json_t *ifm_json_parse(const char *bytes, gsize n_bytes, const char *name, GError **error);
/** ifm_json_save: Writes indented and with a final newline, as ifm_file_save() does and with its errors. */
gboolean ifm_json_save(const char *path, const json_t *json, GError **error);
/** ifm_json_canonical: Returns: (transfer full) compact text with sorted keys: equal documents give equal text. */
char *ifm_json_canonical(const json_t *json);
/** ifm_json_digest: Returns: (transfer full) SHA-256 (hex) of the canonical text. */
char *ifm_json_digest(const json_t *json);

/* --- values that JSON has no word for ------------------------------------------------------------------------------------
 */

/** ifm_json_string: Returns: (transfer full) a string; "" for NULL; bytes that are not UTF-8 become U+FFFD. */
json_t *ifm_json_string(const char *text);
/** ifm_json_real: Returns: (transfer full) a number; null for NaN, "inf" or "-inf" for an infinity. */
json_t *ifm_json_real(double value);
/** ifm_json_int64_array: Returns: (transfer full) an array of integers. @values: gint64, or NULL for an empty one. */
json_t *ifm_json_int64_array(const GArray *values);

/* --- lenient ones --------------------------------------------------------------------------------------------------------
 *
 * Of documents that were checked, or whose members may be missing. @path: "median_interval.lower": a member of a member
 */
/** ifm_member: Returns: (transfer none) NULL where there is none. */
const json_t *ifm_member(const json_t *json, const char *path);
/** ifm_member_number: NaN where there is none, or it is no number. */
double ifm_member_number(const json_t *json, const char *path);
/** ifm_member_text: NULL where there is none, or it is no text. */
const char *ifm_member_text(const json_t *json, const char *path);

/* --- strict getters -----------------------------------------------------------------------------------------------------
 *
 * Each looks up @key in @object and checks its type: FALSE with IFM_ERROR_INVALID "WHERE.KEY: found 12, expected a string".
 * A missing key is an error too: test json_object_get() first where a key may be absent.
 * @where: the path of @object itself, file name included if there is one; the outs are borrowed from @object.
 */
gboolean ifm_json_get_string(const json_t *object, const char *where, const char *key, const char **value, GError **error);
gboolean ifm_json_get_boolean(const json_t *object, const char *where, const char *key, gboolean *value, GError **error);
gboolean ifm_json_get_int64(const json_t *object, const char *where, const char *key, gint64 *value, GError **error);
/** ifm_json_get_double: what ifm_json_real() wrote, or an integer. */
gboolean ifm_json_get_double(const json_t *object, const char *where, const char *key, double *value, GError **error);
gboolean ifm_json_get_object(const json_t *object, const char *where, const char *key, json_t **value, GError **error);
gboolean ifm_json_get_array(const json_t *object, const char *where, const char *key, json_t **value, GError **error);
/** ifm_json_get_int64_array: Replaces @values' content. @values: gint64 */
gboolean ifm_json_get_int64_array(const json_t *object, const char *where, const char *key, GArray *values, GError **error);
/** ifm_json_check_object: whether @json is an object whose keys are all among @keys. @keys: NULL-terminated */
gboolean ifm_json_check_object(const json_t *json, const char *where, const char *const *keys, GError **error);

G_END_DECLS
