/* Shared with other rooms: what a measurement says for and against itself. */
#pragma once
#include <inferometer/document.h>

G_BEGIN_DECLS

/** ifm_document_trust: Adds the checks of a measurement to a document's summary: simulated, a runtime of an untested
 * version, disturbance, steal, quota, drift, interval, outputs, sensors that are missing; and how it was measured, to its
 * provenance. @name: of the device, where there are several, or NULL    @result: borrowed for the call */
void ifm_document_trust(IfmDocument *document, const IfmResult *result, const char *name);

/** ifm_document_trust_all: the same of many together: how many of them. @results: IfmResult*, borrowed for the call; those
 * that were not measured are left out    @what: "case", "point", in which others used so much */
void ifm_document_trust_all(IfmDocument *document, const GPtrArray *results, const char *what);

/** ifm_document_disturbances: what others used while many were measured. @shares: double, of the processors, which it
 * sorts    @n_disturbed: of those, how many were (ifm_measurement_is_disturbed())    @what: one of them: "case" */
void ifm_document_disturbances(IfmDocument *document, GArray *shares, gsize n_disturbed, const char *what);

/** ifm_document_provenance_of: when and on what machine it was measured, alone. */
void ifm_document_provenance_of(IfmDocument *document, const IfmMeasurement *measurement);

G_END_DECLS
