/* Shared with other rooms: what pages show of stored results. */
#pragma once
#include <document/document.h>
#include <inferometer/store.h>

G_BEGIN_DECLS

#define MB 1048576.0 /* of the published formats */

/** IfmSampleRow: @index counts within its kind from 0. @kind: "warmup", "run", "profiled". */
typedef struct
{
    const char *device;
    const IfmCase *subject_case;
    const IfmMeasurement *measurement;
    const char *kind;
    gsize index;
    gint64 time_ns;
} IfmSampleRow;

/** ifm_json_add_record: "case" and "measurement" of an object: each null for NULL. */
void ifm_json_add_record(json_t *json, const IfmCase *subject_case, const IfmMeasurement *measurement);
/** ifm_result_to_json: (transfer full) an entry of the document of cases. */
json_t *ifm_result_to_json(const IfmResult *result);

/** ifm_document_reasons: a section of why there are results without a latency. */
void ifm_document_reasons(IfmDocument *document, const IfmResult *results, gsize n);
/* Messages, each shown once with all that have it; alike are those that differ in their numbers alone. ifm_said_new:
 * (transfer full) an empty list. ifm_said_add: @who: identifies whose it is */
GPtrArray *ifm_said_new(void);
void ifm_said_add(GPtrArray *all, const char *text, const char *whose, const void *who);
/** ifm_said_add_warnings: those of a measurement, but for what its trust says (trust.h). @measurement: borrowed, or NULL
 * @whose: what it is called    @who: identifies it */
void ifm_said_add_warnings(GPtrArray *all, const IfmMeasurement *measurement, const char *whose, const void *who);
/** ifm_outputs_words: Returns: (transfer full) what comparing the outputs came to, and by how much, where "equal" does not
 * say all; NULL where it does, or nothing was compared. @verification: nullable */
char *ifm_outputs_words(const json_t *verification);

/** ifm_document_warnings: a section of them. @n_all: a warning of so many is shown without their names */
void ifm_document_warnings(IfmDocument *document, const GPtrArray *all, guint n_all);
/** ifm_document_said: a note of each, under the names of those that have it. */
void ifm_document_said(IfmDocument *document, const GPtrArray *all, IfmTone tone);

extern const IfmField ifm_result_fields[]; /* IfmResult: what one profile shows */
extern const IfmField ifm_record_fields[]; /* IfmResult: what a store holds */
extern const IfmField ifm_sample_fields[]; /* IfmSampleRow */

G_END_DECLS
