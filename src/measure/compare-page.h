/* Shared with other rooms: a comparison in words. */
#pragma once
#include <document/summary.h>
#include <inferometer/compare.h>

G_BEGIN_DECLS

/** ifm_comparison_sentence: "B is 3.1 % slower than A [2.7, 3.6]": shares of A's time, or multiples of it where it is twice
 * or half that. (transfer full) */
char *ifm_comparison_sentence(const IfmComparison *comparison);

/** ifm_comparison_rounds_finding: "B took less than A in 3 of 24 rounds, more in 21". ifm_comparison_looks_finding: whether
 * the ratio's interval excludes 1. Titles of figures; (transfer full) */
char *ifm_comparison_rounds_finding(const IfmComparison *comparison);
char *ifm_comparison_looks_finding(const IfmComparison *comparison);

/** ifm_comparison_side_interval: The 95 % interval of one side's median, by the rule of the ratio's: its processes are the
 * unit, in the logarithm. Both ends NaN where they are too few. @side: 0: A; 1: B */
IfmInterval ifm_comparison_side_interval(const IfmComparison *comparison, gsize side);

/** ifm_comparison_trust: Adds both sides as devices, and what is to be known of them before their ratio is believed.
 * @sides: their names */
void ifm_comparison_trust(IfmDocument *document, const IfmComparison *comparison, const char *const sides[2]);

/* ifm_comparison_failure: (transfer full) why B fails by --fail-if slower:RATIO: by the whole interval, since what is not
 * sure does not fail; and where the result is not to be trusted, which shows nothing. NULL: it does not. */
char *ifm_comparison_failure(const IfmComparison *comparison, double ratio, IfmTrust trust);

G_END_DECLS
