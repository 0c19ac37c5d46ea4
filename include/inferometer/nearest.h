#pragma once
#include <glib.h>

G_BEGIN_DECLS

/**
 * ifm_nearest: The candidate a mistyped word most likely meant.
 * Equals: the least edit distance (insert, delete, replace, swap two neighbours: 1 each; letter case: 0), the first of
 * equals; a word of at least 3 letters that a candidate begins with counts as 1.
 * @candidates: NULL-terminated, or NULL
 * Returns: (transfer none) an element of @candidates; NULL where none is within a third of the longer word's length.
 */
const char *ifm_nearest(const char *word, const char *const *candidates);

/**
 * ifm_nearest_hint: The same as the end of an error message.
 * Returns: (transfer full) "; did you mean \"latency\"?", or "" where nothing is near.
 */
char *ifm_nearest_hint(const char *word, const char *const *candidates);

G_END_DECLS
