#pragma once
#include <onnx/fused-kernel.h>

#include "study-kind.h"

/* StudyKernel: one to measure. @json: of @record, without what is of one model alone    @id: its stem    @base: the id of
 * the one that its sizes are around; its own where it is of a model    @models: those it is in, with ";" between; ""
 * @working_set_bytes: of the largest of its models, ifm_kernel_records_working_set(); of one that is around another the
 * same with it in the other's place; -1: of no model that is known. 0: of a manifest that does not say it
 * @round: in which it was chosen, from 1    @families, @shape: of its models and its first input, for samples of it */
typedef struct
{
    IfmKernelRecord *record;
    json_t *json;
    char *id, *base, *models, *families, *shape;
    gint64 round, working_set_bytes;
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

/* StudyKernelSet: the kernels of a study. @kernels: StudyKernel*, round by round    @known: digest -> one of these
 * @n_own: of @kernels: those of models, which come first    @round: the last that was chosen; what is added is of it */
typedef struct
{
    GPtrArray *kernels;
    GHashTable *known;
    guint n_own;
    gint64 round;
} StudyKernelSet;

void study_kernel_set_init(StudyKernelSet *set);
void study_kernel_set_clear(StudyKernelSet *set);
/* study_kernel_set_add: What of a model can be measured; a kernel of several has all their names. */
void study_kernel_set_add(StudyKernelSet *set, const char *model, const IfmKernelRecords *records);
/* study_kernel_set_seal: These are those of models; the last are dropped where they are more than @most. */
void study_kernel_set_seal(StudyKernelSet *set, guint most);
/* study_kernel_set_vary: Adds kernels of sizes around the models' own until there are so many, or no more are found.
 * @needs: (nullable) StudyNeed. Sizes around a kernel are few: what is left of a need goes to all alike. */
void study_kernel_set_vary(StudyKernelSet *set, guint until, const GArray *needs, guint32 seed);
/* study_kernel_set_round: (transfer container) StudyKernel* of that round */
GPtrArray *study_kernel_set_round(const StudyKernelSet *set, gint64 round);
/* study_kernel_set_recall: Adds one that was chosen before, where it is around one of the models' own, is not known, and
 * there are fewer than @most. */
void study_kernel_set_recall(StudyKernelSet *set, const StudyKernel *kernel, guint most, gint64 n_rounds);

/* What a case of such a study was: IfmLoadKind, IfmLoadCores; the threads that the runtime used. Of one with a
 * measurement. */
int study_load_kind_of(const IfmStudyRow *point);
int study_load_cores_of(const IfmStudyRow *point);
gint64 study_threads_of(const IfmStudyRow *point);
/* study_find_held_out: its place among the models that are measured whole; -1: it is none of them. */
gssize study_find_held_out(const IfmStudyTables *points, const char *name);
