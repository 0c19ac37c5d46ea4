/* room: report */
#pragma once
#include <inferometer/document.h>
#include <inferometer/profile.h>

IFM_BEGIN_DECLS

/* How a profile (profile.h) is printed: page, JSON, CSV. */

/** ifm_profile_document: The model, its time on each device, its work, its memory, the machine's limit; for each device the
 * kernels by share of time, what would gain most, families, time breakdown; reasons and warnings. @report: borrowed until
 * the document is freed    Returns: (transfer full) */
IfmDocument *ifm_profile_document(const IfmProfileReport *report);
/** ifm_profile_to_json: The published keys (of the first device that was measured) and the document of cases,
 * each case with its layers, memory and limit: docs/formats.md. (transfer full) */
json_t *ifm_profile_to_json(const IfmProfileReport *report);
/** ifm_profile_to_csv: A row a device, or with a mode a row a device and pass; where layers alone are asked for, a row a
 * layer of each device; without devices, where the model's work or memory is asked for, a row a node. (transfer full) */
char *ifm_profile_to_csv(const IfmProfileReport *report);

IFM_END_DECLS
