#pragma once
#include <document/document.h>
#include <inferometer/plan.h>

G_BEGIN_DECLS

/* ifm_run_get_difference: a field's getter of ifm_run_difference(), of an IfmRunFigure. */
void ifm_run_get_difference(const void *record, const void *user, IfmValue *value);

/* ifm_run_reason: borrowed: why it failed; NULL where it did not. */
const char *ifm_run_reason(const IfmRunReport *report);

extern const IfmField ifm_run_figure_fields[]; /* IfmRunFigure */

/* ifm_run_called: (transfer full) "5000 nodes, 10000 edges · 100 batches, 3 times · PLAN"
 * ifm_run_add_headline: the summary of a run, or of several. @reports: [n] */
char *ifm_run_called(const IfmRunReport *report);
void ifm_run_add_headline(IfmDocument *document, const IfmRunReport *reports, gsize n);

G_END_DECLS
