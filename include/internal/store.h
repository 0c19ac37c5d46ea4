#pragma once
#include <inferometer/record-fields.h>
#include <inferometer/store.h>

G_BEGIN_DECLS

/* What campaigns and studies keep in a store besides measurements. */

/** ifm_interval_fields: of an IfmInterval, in whatever record it is part of. */
extern const IfmRecordField ifm_interval_fields[];

/** ifm_store_commit_all: As ifm_store_commit(), of several records that belong together, such as the two sides of a
 * comparison: all of them or none. @cases, @measurements: [n] */
gboolean ifm_store_commit_all(IfmStore *store, const IfmCase *const *cases, const IfmMeasurement *const *measurements,
                              gsize n, GError **error);

/** ifm_store_document: What a room keeps in the store besides measurements, by name ("study"). Returns: (transfer full)
 * NULL without
 * @error where there is none. */
json_t *ifm_store_document(IfmStore *store, const char *name, GError **error);

/** ifm_store_set_document: Replaces it, on disk when it returns. Merging stores keeps the documents of the one merged into,
 * and adds those that it lacks. IFM_ERROR_INVALID where @json is no object. */
gboolean ifm_store_set_document(IfmStore *store, const char *name, const json_t *json, GError **error);

/** ifm_store_merge_over: As ifm_store_merge(), and @from's documents replace those of @store, in that one transaction. */
gboolean ifm_store_merge_over(IfmStore *store, IfmStore *from, gsize *n_added, GError **error);

/** ifm_store_newest: Returns: (transfer full) the newest measurement of a case, of any outcome; NULL without @error where
 * there is none. */
IfmMeasurement *ifm_store_newest(IfmStore *store, const char *case_key, GError **error);

/** IFM_STORE_SCHEMA: the version of the schema (PRAGMA user_version). Until the first release there is this one. */
#define IFM_STORE_SCHEMA 1

const char *ifm_store_path(const IfmStore *store);

G_END_DECLS
