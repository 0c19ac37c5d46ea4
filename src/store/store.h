/* Shared with other rooms: records, documents and results of a store. */
#pragma once
#include <jansson.h>

#include <inferometer/store.h>

G_BEGIN_DECLS

/* --- records ------------------------------------------------------------------------------------------------------- */

IfmCase *ifm_case_new(void);

/** ifm_case_seal: Computes @key from the other fields. */
void ifm_case_seal(IfmCase *self);
json_t *ifm_case_to_json(const IfmCase *self);

/** ifm_case_from_json: Returns: (transfer full) NULL with IFM_ERROR_INVALID for a missing or unknown key or one of another
 * type, or IFM_ERROR_CORRUPT where the case's key is not that of the other fields. */
IfmCase *ifm_case_from_json(const json_t *json, GError **error);

/** IfmNodeRow: one node of the profiled runs. */
typedef struct
{
    char *name, *op_type, *provider, *implementation, *dtype;
    double median_ns; /* over the profiled runs */
    double start_ns;  /* median start since the inference began; NaN where the runtime does not report it */
} IfmNodeRow;

/** ifm_measurement_set_summary: @summary: NULL: none */
void ifm_measurement_set_summary(IfmMeasurement *self, const IfmSummary *summary);

/** ifm_measurement_is_disturbed: whether something else used the machine while it was measured without load: its figures
 * are none of an idle machine. FALSE where that is not known. */
gboolean ifm_measurement_is_disturbed(const IfmMeasurement *self);

/** ifm_measurement_result: (transfer none) a member of its result, or of a member of it ("bound.gain"); @path: NULL: all of
 * it. NULL where there is none; @self may be NULL, too. */
const json_t *ifm_measurement_result(const IfmMeasurement *self, const char *path);

/** ifm_summary_figure: by its name in JSON, "p90" or "median_interval.lower"; a flag is 0 or 1. NaN where it is not known,
 * as all that comes of single samples is where n is 0. */
double ifm_summary_figure(const IfmSummary *summary, const char *name);

/** Whole and exact both ways: workers send measurements so, and `--json` prints them so. (What can be no JSON is not: text
 * that is not UTF-8 gets replacement characters, minus zero becomes zero.) A missing or unknown key, or one of another
 * type, is IFM_ERROR_INVALID with its place. */
json_t *ifm_measurement_to_json(const IfmMeasurement *self);
IfmMeasurement *ifm_measurement_from_json(const json_t *json, GError **error);

/** ifm_record_set_text: Replaces a text of a record by a copy. @text: (optional) NULL becomes "" */
void ifm_record_set_text(char **field, const char *text);

/** ifm_record_set_json: Replaces an object of a record. @json: (transfer full) (optional) NULL is none */
void ifm_record_set_json(json_t **field, json_t *json);

/* --- the store ----------------------------------------------------------------------------------------------------- */

/** ifm_store_commit: Adds the case (if new) and the measurement, whole or not at all, on disk when it returns (but of a
 * scratch store). Adding the same uid twice changes nothing. Errors: IFM_ERROR_UNAVAILABLE (disk full, read-only, locked);
 * the store is as before. */
gboolean ifm_store_commit(IfmStore *store, const IfmCase *subject_case, const IfmMeasurement *measurement, GError **error);

/** ifm_store_case: Returns: (transfer full) the case of a key; NULL without @error where nothing of it was committed. */
IfmCase *ifm_store_case(IfmStore *store, const char *case_key, GError **error);

/* --- store --------------------------------------------------------------------------------------------------------- */

/* What campaigns and studies keep in a store besides measurements. */

/** ifm_interval_fields: of an IfmInterval, in whatever record it is part of. */
extern const IfmRecordField ifm_interval_fields[];

/** ifm_case_ref, ifm_measurement_ref: (transfer full) the same record, held once more; it is freed with the last who holds
 * it. Of what is kept for longer than it was lent. */
IfmCase *ifm_case_ref(const IfmCase *self);
IfmMeasurement *ifm_measurement_ref(const IfmMeasurement *self);

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

/** ifm_store_find: As ifm_store_last(), or (@newest) the newest measurement of any outcome. @case_key: (nullable)
 * @found: (out) (transfer full) NULL where it was never tried    Returns: FALSE with an error of reading it. */
gboolean ifm_store_find(IfmStore *store, const char *case_key, gboolean newest, IfmMeasurement **found, GError **error);

/** IFM_STORE_SCHEMA: the version of the schema (PRAGMA user_version). Until the first release there is this one. */
#define IFM_STORE_SCHEMA 1

const char *ifm_store_path(const IfmStore *store);

/* --- results ------------------------------------------------------------------------------------------------------- */

/** ifm_result_reason: Returns: one line why there is no latency; NULL where there is one. */
const char *ifm_result_reason(const IfmResult *result);

/** ifm_result_measured: Returns: (transfer none) the measurement where there is a latency, else NULL. */
const IfmMeasurement *ifm_result_measured(const IfmResult *result);

/* A result in words. */

/** ifm_result_code: Returns: the error code's name; NULL where there is a latency. */
const char *ifm_result_code(const IfmResult *result);

/** ifm_result_ending: Returns: in a word what the tables show: why measuring ended, or what went wrong instead. */
const char *ifm_result_ending(const IfmResult *result);

/** ifm_result_line: "DEVICE: why not"; only where there is no latency. (transfer full) */
char *ifm_result_line(const IfmResult *result);

/** ifm_result_short_reason: Returns: the reason without the device that most of them begin with; only where there is no
 * latency. */
const char *ifm_result_short_reason(const IfmResult *result);

/** ifm_result_name: Returns: its alias, where it has one; else the device. */
const char *ifm_result_name(const IfmResult *result);

/** ifm_store_last: Returns: (transfer full) what a case came to: its newest OK measurement, or where it has none the newest
 * of any outcome; NULL without @error where it was never tried. */
IfmMeasurement *ifm_store_last(IfmStore *store, const char *case_key, GError **error);

G_END_DECLS
