/* room: base */
#pragma once
#include <inferometer/visibility.h>

G_BEGIN_DECLS

/**
 * ifm_nearest: The candidate that a word with a typo most likely means.
 * Equals: the first candidate of minimum edit distance. Inserting, deleting, replacing and swapping two adjacent letters
 * cost 1 each; a change of case costs 0. A word of at least 3 letters that begins a candidate has distance 1.
 * @candidates: NULL-terminated, or NULL
 * Returns: (transfer none) an element of @candidates; NULL where every distance is above a third of the longer word's
 * length.
 */
const char *ifm_nearest(const char *word, const char *const *candidates);

/**
 * ifm_nearest_hint: The result of ifm_nearest() as the end of an error message.
 * Returns: (transfer full) "; did you mean \"latency\"?", or "" where no candidate is near.
 */
char *ifm_nearest_hint(const char *word, const char *const *candidates);

G_END_DECLS
