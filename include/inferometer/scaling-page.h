/* room: report */
#pragma once
#include <inferometer/profile-page.h>

IFM_BEGIN_DECLS

/* The forms of a scaling (scaling.h): page, JSON, CSV. Its points are ordinary profiles of one model each. */

/** ifm_scaling_document: For each row and device: the points, with a mode what each pass took, of graph transformers their
 * memory, the exponents, what departs from its FLOP, time and memory over the axis; then what failed and why, and warnings.
 * @rows: borrowed until the document is freed    Returns: (transfer full) */
IfmDocument *ifm_scaling_document(const IfmScalingRow *rows, gsize n_rows);
/** ifm_scaling_add_json: Puts "scaling" into a profile's document, and the points' cases behind its "cases"; its keys:
 * docs/formats.md. @profile: of ifm_profile_to_json(), or NULL: there is no profile but the points. (transfer full): the
 * document (@profile itself, where given). */
json_t *ifm_scaling_add_json(json_t *profile, const IfmScalingRow *rows, gsize n_rows);
/** ifm_scaling_to_csv: A row a point and device, with a mode one a pass, point and device. (transfer full) */
char *ifm_scaling_to_csv(const IfmScalingRow *rows, gsize n_rows);

IFM_END_DECLS
