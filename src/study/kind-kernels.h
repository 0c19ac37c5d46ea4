#pragma once
#include <onnx/fused-kernel.h>

#include "study-kind.h"

/* StudyKernel: one to measure. @json: of @record, without what is of one model alone    @id: its stem    @base: the id of
 * the one that its sizes are around; its own where it is of a model    @models: those it is in, with ";" between; ""
 * @round: in which it was chosen, from 1    @families, @shape: of its models and its first input, for samples of it */
typedef struct
{
    IfmKernelRecord *record;
    json_t *json;
    char *id, *base, *models, *families, *shape;
    gint64 round;
} StudyKernel;
extern const IfmRecordField study_kernel_fields[]; /* as the manifest has it */
void study_kernel_free(StudyKernel *kernel);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyKernel, study_kernel_free)

/* study_kernel_from_json: (transfer full) NULL with IFM_ERROR_INVALID, or IFM_ERROR_CORRUPT: no kernel of a study */
StudyKernel *study_kernel_from_json(const json_t *json, GError **error);

/* StudyNeed: an operator, and the part of the next kernels that are to be of it. @share: of 1 */
typedef struct
{
    char *op_type;
    double share;
} StudyNeed;
/* study_kernel_needs: Where the prediction errs: by how far kernels that were left out are off, times the time of the
 * models' own. (transfer full) StudyNeed, the largest first; none where nothing can be learnt yet. NULL with an error,
 * such as IFM_ERROR_CANCELLED. @interrupted: (nullable) ends it where it is not 0 */
GArray *study_kernel_needs(const IfmKernelSamples *samples, const gint *interrupted, GError **error);

/* What a case of such a study was: IfmLoadKind, IfmLoadCores; the threads that the runtime used. Of one with a
 * measurement. */
int study_load_kind_of(const IfmStudyRow *point);
int study_load_cores_of(const IfmStudyRow *point);
gint64 study_threads_of(const IfmStudyRow *point);
/* study_find_held_out: its place among the models that are measured whole; -1: it is none of them. */
gssize study_find_held_out(const IfmStudyTables *points, const char *name);
