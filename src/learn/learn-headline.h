#pragma once
#include "learn.h"

G_BEGIN_DECLS

/* The summaries of this room's results. @reports: [n], of which the verdict is of the longest */
void ifm_predict_add_headline(IfmDocument *document, const IfmPredictReport *reports, gsize n);
void ifm_evaluation_add_headline(IfmDocument *document, const IfmEvaluation *evaluation);
void ifm_train_add_headline(IfmDocument *document, const IfmLatencyModelInfo *info);

G_END_DECLS
