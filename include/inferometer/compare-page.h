/* room: report */
#pragma once
#include <inferometer/compare.h>
#include <inferometer/document.h>

IFM_BEGIN_DECLS

/* What a comparison shows: one of ifm_runner_compare(), so with cases and measurements. */

/** ifm_comparison_document: The verdict, why it is none, both sides, what else to know. (transfer full) borrows @comparison
 */
IfmDocument *ifm_comparison_document(const IfmComparison *comparison);
/** ifm_comparison_to_csv: a row a round. (transfer full) */
char *ifm_comparison_to_csv(const IfmComparison *comparison);
/** ifm_comparison_records_json: (transfer full) docs/formats.md, "A comparison": the verdict, and both sides' records. */
json_t *ifm_comparison_records_json(const IfmComparison *comparison);

IFM_END_DECLS
