#pragma once
#include <onnx/fused-kernel.h>

#include "study-kind.h"

/* StudyKernel: one to measure. @json: of @record, without what is of one model alone    @id: its stem    @base: the id of
 * the one that its sizes are around; its own where it is of a model    @models: those it is in, with ";" between; ""
 * @families, @shape: of its models and its first input, for samples of it */
typedef struct
{
    IfmKernelRecord *record;
    json_t *json;
    char *id, *base, *models, *families, *shape;
} StudyKernel;
extern const IfmRecordField study_kernel_fields[]; /* as the manifest has it */
void study_kernel_free(StudyKernel *kernel);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyKernel, study_kernel_free)

/* What a case of such a study was: IfmLoadKind, IfmLoadCores; the threads that the runtime used. Of one with a
 * measurement. */
int study_load_kind_of(const IfmStudyRow *point);
int study_load_cores_of(const IfmStudyRow *point);
gint64 study_threads_of(const IfmStudyRow *point);
/* study_find_held_out: its place among the models that are measured whole; -1: it is none of them. */
gssize study_find_held_out(const IfmStudyTables *points, const char *name);
