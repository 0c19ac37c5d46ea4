/* room: report */
#pragma once
#include <inferometer/document.h>
#include <inferometer/learn.h>

IFM_BEGIN_DECLS

/** ifm_train_document: (transfer full) borrows @model: what it learnt from, and its errors beside baselines and noise.
 * @features: with a table of what the trees see */
IfmDocument *ifm_train_document(const IfmLatencyModel *model, gboolean features);

IFM_END_DECLS
