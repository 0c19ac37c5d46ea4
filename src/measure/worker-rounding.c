#include <math.h>
#include <string.h>

#include <inferometer/tensor-file.h>
#include <internal/tensor.h>

#include "kind-private.h"

/*
 * What rounding alone does to outputs that are far smaller than what they were computed from, such as a sigmoid's near 0:
 * there a share of the output's own size says nothing of how far a right answer may be off. The reference is run again with
 * its inputs off by a rounding, and compiled again with the runtime's graph optimisation.
 */
#define SMALL_OUTPUT 1e-3       /* root mean square: others are compared by their size alone */
#define ROUNDING 1.1920929e-07F /* 2^-23: of an f32 */

/* Outputs: copies of the reference's, and by how much each moves. */
typedef struct
{
    gsize n;
    const char **names; /* [2 n] borrowed, and the names of the moves */
    IfmTensor *tensors; /* [2 n] own; the second half are the moves, one f64 each */
} Outputs;

static void outputs_clear(Outputs *outputs)
{
    for (gsize i = 0; i < 2 * outputs->n; i++)
    {
        ifm_tensor_clear(&outputs->tensors[i]);
        if (i >= outputs->n)
            g_free((char *)outputs->names[i]);
    }
    g_free(outputs->names);
    g_free(outputs->tensors);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Outputs, outputs_clear)

static gboolean is_any_small(IfmModelSubject *subject)
{
    for (gsize i = 0; i < ifm_compiled_info(ifm_model_subject_compiled(subject)).n_outputs; i++)
    {
        IfmTensor seen;
        if (ifm_request_output(ifm_model_subject_request(subject), i, &seen, NULL) && seen.dtype == IFM_DTYPE_F32 &&
            seen.size_bytes > 0 && ifm_tensor_root_mean_square(&seen) < SMALL_OUTPUT)
            return TRUE;
    }
    return FALSE;
}

static gboolean copy_outputs(IfmModelSubject *subject, Outputs *outputs, GError **error)
{
    IfmCompiled *compiled = ifm_model_subject_compiled(subject);
    outputs->n = ifm_compiled_info(compiled).n_outputs;
    outputs->names = g_new0(const char *, 2 * outputs->n + 1);
    outputs->tensors = g_new0(IfmTensor, 2 * outputs->n + 1);
    for (gsize i = 0; i < outputs->n; i++)
    {
        IfmTensor seen, *copy = &outputs->tensors[i];
        outputs->names[i] = ifm_compiled_output(compiled, i)->name;
        outputs->names[outputs->n + i] = g_strconcat(outputs->names[i], IFM_REFERENCE_ROUNDING, NULL);
        if (!ifm_request_output(ifm_model_subject_request(subject), i, &seen, error) ||
            !ifm_tensor_init(&outputs->tensors[outputs->n + i], IFM_DTYPE_F64, 0, NULL, error) ||
            !ifm_tensor_init(copy, seen.dtype, seen.rank, seen.shape, error))
            return FALSE;
        if (seen.size_bytes > 0)
            memcpy(copy->data, seen.data, seen.size_bytes);
    }
    return TRUE;
}

/* Notes by how much the outputs of this run differ; what is not finite, or of another shape, says nothing. */
static gboolean note_moves(IfmModelSubject *subject, Outputs *outputs, GError **error)
{
    for (gsize i = 0; i < outputs->n; i++)
    {
        const IfmTensor *right = &outputs->tensors[i];
        double *move = outputs->tensors[outputs->n + i].data;
        IfmTensor seen;
        if (!ifm_request_output(ifm_model_subject_request(subject), i, &seen, error))
            return FALSE;
        if (right->dtype != IFM_DTYPE_F32 || seen.dtype != IFM_DTYPE_F32 || seen.size_bytes != right->size_bytes)
            continue;
        for (gsize k = 0; k < right->size_bytes / sizeof(float); k++)
        {
            const double difference = fabs((double)((const float *)seen.data)[k] - (double)((const float *)right->data)[k]);
            if (isfinite(difference) && difference > *move)
                *move = difference;
        }
    }
    return TRUE;
}

/* Every second element up, the others down, by a rounding. */
static void perturb(const IfmModelSubject *subject, const IfmModel *model)
{
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmTensor *input = ifm_model_subject_input(subject, i);
        float *values = input->data;
        for (gsize k = 0; input->dtype == IFM_DTYPE_F32 && k < input->size_bytes / sizeof(float); k++)
            values[k] *= k % 2 == 0 ? 1 + ROUNDING : 1 - ROUNDING;
    }
}

static gboolean run_once(IfmModelSubject *subject, GError **error)
{
    IfmSubject slots = ifm_model_subject_slots(subject);
    return slots.run(slots.self, error);
}

/* A run that fails where the reference ran says nothing of rounding. */
static void find_rounding(IfmEngine *engine, IfmModel *model, const IfmModelCase *model_case, IfmModelSubject *subject,
                          Outputs *outputs)
{
    g_autoptr(IfmModelSubject) optimised = ifm_model_subject_new(engine, model, model_case, IFM_COMPILE_MEASURED, NULL);
    if (optimised != NULL && run_once(optimised, NULL))
        note_moves(optimised, outputs, NULL);
    perturb(subject, model);
    if (run_once(subject, NULL))
        note_moves(subject, outputs, NULL);
    for (gsize i = 0; i < outputs->n; i++) /* one that is 0 throughout has no size: what is below the rounding of 1 is 0 */
    {
        double *move = outputs->tensors[outputs->n + i].data;
        if (outputs->tensors[i].dtype == IFM_DTYPE_F32 && ifm_tensor_root_mean_square(&outputs->tensors[i]) == 0)
            *move = fmax(*move, ROUNDING);
    }
}

gboolean worker_save_reference(IfmEngine *engine, IfmModel *model, const IfmModelCase *model_case, IfmModelSubject *subject,
                               const char *path, GError **error)
{
    g_auto(Outputs) outputs = { 0 };
    if (!is_any_small(subject))
        return worker_save_outputs(ifm_model_subject_compiled(subject), ifm_model_subject_request(subject), path, error);
    if (!copy_outputs(subject, &outputs, error))
        return FALSE;
    find_rounding(engine, model, model_case, subject, &outputs);
    return ifm_tensor_file_save_temporary(path, outputs.names, outputs.tensors, 2 * outputs.n, error);
}
