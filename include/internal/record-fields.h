/* room: base */
#pragma once
#include <inferometer/record-fields.h>

G_BEGIN_DECLS

/* Records by their field tables. */

/** ifm_record_check: Whether each number with a range is within it, and each choice has a word; parts too. Returns: FALSE
 * with IFM_ERROR_INVALID: "WHERE: name of the field: found 1, expected 2 to 5". */
gboolean ifm_record_check(const void *self, const IfmRecordField *fields, const char *where, GError **error);

void ifm_record_clear(void *self, const IfmRecordField *fields);

/**
 * ifm_record_from_json: Reads all fields.
 * @where: the place of @json for messages: "case"
 * @pool: (optional) for a struct that owns nothing. It receives the lists and paths of the struct; free them with g_free.
 * Texts and JSON are borrowed from @json, which must outlive the struct. NULL: the struct owns all members, so it has no
 * const field, and ifm_record_init() was called
 * Returns: FALSE with IFM_ERROR_INVALID and the place, for a missing or unknown key or a wrong type.
 */
gboolean ifm_record_from_json(void *self, const IfmRecordField *fields, const json_t *json, const char *where,
                              GPtrArray *pool, GError **error);

/** ifm_record_init: Allocates the members of a zeroed struct that are never NULL. ifm_record_clear: Frees all that the
 * struct owns. ifm_record_free: and the struct, which may be NULL. */
void ifm_record_init(void *self, const IfmRecordField *fields);
void ifm_record_free(void *self, const IfmRecordField *fields);

/** ifm_record_key_to_json: (transfer full) an object of the fields that define a case, by their keys. Words are sorted. */
json_t *ifm_record_key_to_json(const void *self, const IfmRecordField *fields);

/** ifm_record_number: A number or a flag (1, 0) by its name, or within a part ("median_interval.lower"). NaN for another
 * name, or if it is not a number. */
double ifm_record_number(const void *self, const IfmRecordField *fields, const char *path);

/** ifm_record_to_json: (transfer full) an object of all fields, in the order of the table. */
json_t *ifm_record_to_json(const void *self, const IfmRecordField *fields);

G_END_DECLS
