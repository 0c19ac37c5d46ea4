/* Shared between the files that tune a model and those that show a tuned one. */
#pragma once
#include <profile/tune.h>

G_BEGIN_DECLS

/* --- tune-origin.c: where a model was tuned, and how far its figures are to be trusted -------------------------------- */

/* tuned_sides: the two sides of the comparison, by name. */
extern const char *const tuned_sides[2];

/* tuned_keep_origin: "processor_key" and "trust" of IFM_TUNED_METADATA: docs/formats.md, "A tuned model" */
void tuned_keep_origin(json_t *tuned_for, const IfmComparison *comparison);

/* tuned_place: static text: "which is this processor", or that it is not, or that it is not known. */
const char *tuned_place(const json_t *tuned_for);

/* tuned_say_origin: What was kept of it, as checks and provenance. */
void tuned_say_origin(IfmDocument *document, const json_t *tuned_for);

/* --- tune-page.c: what is said of the outcome ------------------------------------------------------------------------- */

/* tuned_why_not: Why a tuned model is of no use: wrong, or not faster. (transfer full) NULL: it is of use */
char *tuned_why_not(const IfmComparison *comparison, gboolean is_right);

G_END_DECLS
