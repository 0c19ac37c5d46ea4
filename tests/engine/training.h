#pragma once
#include <gradient/gradient.h>

#include "run-model.h"

/* A model that is trained: a training step whose outputs go in again. */
typedef struct
{
    Run run;
    GPtrArray *states;
} Training;

/* training_dtype: what a model is compiled for: ONNX Runtime computes in the types that it is written in, OpenVINO in f32.
 */
static inline IfmDtype training_dtype(const Run *run, const IfmModel *model)
{
    gboolean is_as_written = g_str_equal(run->fixture.spec->engine, "onnxruntime");
    return is_as_written ? ifm_model_input(model, 0)->dtype : IFM_DTYPE_F32;
}

static inline gboolean training_open(Training *training, const char *device, IfmModel *model,
                                     const IfmTrainingOptions *options)
{
    g_autoptr(GError) error = NULL;
    if (!run_open(&training->run, device))
        return FALSE;
    g_autoptr(IfmModel) step = ifm_gradient_training_step(model, options, &error);
    g_assert_no_error(error);
    training->states = ifm_gradient_state(model, options, &error);
    g_assert_no_error(error);
    run_compile(&training->run, step, training_dtype(&training->run, model), NULL, 0);
    for (guint i = 0; i < training->states->len; i++)
    {
        const IfmTrainingState *state = g_ptr_array_index(training->states, i);
        IfmTensor *input = run_input(&training->run, state->input);
        g_assert_cmpuint(input->size_bytes, ==, state->first.size_bytes);
        memcpy(input->data, state->first.data, state->first.size_bytes);
    }
    return TRUE;
}

/* training_step: Returns: the loss, before the step. */
static inline double training_step(Training *training)
{
    run_once(&training->run);
    IfmTensor loss = run_output(&training->run, "loss");
    double value = ifm_tensor_get_double(&loss, 0);
    for (guint i = 0; i < training->states->len; i++)
    {
        const IfmTrainingState *state = g_ptr_array_index(training->states, i);
        IfmTensor next = run_output(&training->run, state->output);
        memcpy(run_input(&training->run, state->input)->data, next.data, next.size_bytes);
    }
    return value;
}

static inline void training_close(Training *training)
{
    g_ptr_array_unref(training->states);
    run_close(&training->run);
}
