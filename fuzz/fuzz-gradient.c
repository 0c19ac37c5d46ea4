/*
 * The libFuzzer target of gradients, and (compiled into tests/gradient/test-fuzz-gradient.c) the same entry for the corpus.
 * Whatever model the bytes are, its backward pass and its training step must come back: as a model that can be read and
 * counted, or as an error of one line.
 */
#include <gradient/gradient.h>
#include <onnx/onnx.h>

#include "fuzz.h"

/* check_made: takes what came out. Its first output is the loss, and its bytes are a model again. */
static void check_made(IfmModel *taken, GError *error)
{
    g_autoptr(IfmModel) made = taken;
    g_autoptr(GError) trouble = NULL;
    must((made == NULL) == (error != NULL));
    if (made == NULL)
    {
        must_be_line(error);
        return;
    }
    must(ifm_model_n_outputs(made) > 0 && g_str_equal(ifm_model_output(made, 0)->name, "loss"));
    g_autoptr(GBytes) bytes = ifm_model_serialize(made, &trouble);
    g_autoptr(IfmModel) again = bytes != NULL ? ifm_model_parse(bytes, "made", &trouble) : NULL;
    must(again != NULL && ifm_model_n_nodes(again) == ifm_model_n_nodes(made));
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(again, NULL, 0, NULL); /* free dimensions refuse it */
}

static void check_training(IfmModel *model, const IfmGradientOptions *gradient, IfmOptimiser optimiser)
{
    IfmTrainingOptions options = IFM_TRAINING_OPTIONS_INIT;
    GError *error = NULL;
    options.gradient = *gradient;
    options.optimiser = optimiser;
    IfmModel *made = ifm_gradient_training_step(model, &options, &error);
    check_made(made, error);
    error = NULL;
    g_autoptr(GPtrArray) states = ifm_gradient_state(model, &options, &error);
    if (states == NULL)
        must_be_line(error);
    for (guint i = 0; states != NULL && i < states->len; i++)
    {
        const IfmTrainingState *state = g_ptr_array_index(states, i);
        must(*state->input != '\0' && g_str_has_prefix(state->output, "next."));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GBytes) bytes = g_bytes_new(data, size); /* a copy of just that size, so that ASan sees its end */
    g_autoptr(IfmModel) model = ifm_model_parse(bytes, "input", NULL);
    guint drawn = g_bytes_hash(bytes); /* the options: by the bytes, so that each input is always the same case */
    if (model == NULL)
        return 0;
    for (int loss = IFM_LOSS_MSE; loss <= IFM_LOSS_CROSS_ENTROPY; loss++)
    {
        IfmGradientOptions options = { .loss = (IfmLoss)loss, .input_gradients = (drawn & 1) != 0 };
        GError *error = NULL;
        IfmModel *made = ifm_gradient_backward(model, &options, &error);
        check_made(made, error);
        if ((drawn >> 1 & 1) == (guint)loss)
            check_training(model, &options, (IfmOptimiser)((drawn >> 2) % (IFM_OPTIMISER_ADAM + 1)));
    }
    return 0;
}
