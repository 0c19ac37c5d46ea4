/* room: report */
#pragma once
#include <inferometer/profile-estimate.h>
#include <inferometer/report.h>

IFM_BEGIN_DECLS

/* How an estimate (profile-estimate.h) is printed: a table of parts and one of memory. */

char *ifm_estimate_answer_to_screen(const IfmEstimateAnswer *answer, const IfmScreen *screen);
/** ifm_estimate_answer_to_json: its keys: docs/formats.md. (transfer full) */
json_t *ifm_estimate_answer_to_json(const IfmEstimateAnswer *answer);
/** ifm_estimate_answer_to_csv: A row a part. (transfer full) */
char *ifm_estimate_answer_to_csv(const IfmEstimateAnswer *answer);

IFM_END_DECLS
