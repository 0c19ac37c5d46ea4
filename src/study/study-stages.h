#pragma once
#include "study-kind.h"

/* What the files of kind "stages" share: kind-stages.c, expand.c, study-export.c, study-run-case.c. */

void study_stages_span(IfmStudy *study, int phase);
gboolean study_stages_export(IfmStudy *study, const char *folder, const IfmStudyDevice *device, gsize *n_models,
                             GError **error);
gboolean study_stages_fill(IfmStudy *study, const char *folder, StudyCase *one, IfmCampaignItem *item, GError **error);
void study_stages_drop(StudyCase *one);
