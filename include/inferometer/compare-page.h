#pragma once
#include <inferometer/compare.h>
#include <inferometer/report.h>

G_BEGIN_DECLS

/* What a comparison shows: one of ifm_runner_compare(), so with cases and measurements. */

/** ifm_comparison_sentence: "B is 3.1 % slower than A [2.7, 3.6]": shares of A's time, or multiples of it where it is twice
 * or half that. (transfer full) */
char *ifm_comparison_sentence(const IfmComparison *comparison);
/** ifm_comparison_to_screen: The verdict, why it is none, both sides, what else to know. (transfer full) */
char *ifm_comparison_to_screen(const IfmComparison *comparison, const IfmScreen *screen);
/** ifm_comparison_to_csv: a row a round. (transfer full) */
char *ifm_comparison_to_csv(const IfmComparison *comparison);
/** ifm_comparison_document: (transfer full) docs/formats.md, "A comparison": the verdict, and both sides' records. */
json_t *ifm_comparison_document(const IfmComparison *comparison);

G_END_DECLS
