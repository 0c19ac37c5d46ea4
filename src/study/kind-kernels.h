#pragma once
#include <inferometer/kernel-record.h>

#include "study-kind.h"

/* StudyKernel: one to measure. @json: of @record, without what is of one model alone    @id: its stem    @base: the id of
 * the one that its sizes are around; its own where it is of a model    @models: those it is in, with ";" between; "" */
typedef struct
{
    IfmKernelRecord *record;
    json_t *json;
    char *id, *base, *models;
} StudyKernel;

/* study_kernel_to_json: (transfer full) {"id", "base", "models", "record"}, as the manifest has it */
json_t *study_kernel_to_json(const StudyKernel *kernel);
