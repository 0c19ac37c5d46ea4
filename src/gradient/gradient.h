/* Shared with other rooms: backward and training graphs of a model. */
#pragma once
#include <base/tensor.h>
#include <inferometer/model.h>

G_BEGIN_DECLS

/* --- optimisers ---------------------------------------------------------------------------------------------------- */

/*
 * Reverse-mode differentiation from ONNX graph to ONNX graph. The result is a model of standard operators: every engine can
 * run it, and it is profiled and counted like any other model. Each operator has one rule: docs/add-a-gradient.md.
 */

typedef enum
{
    IFM_LOSS_MSE,           /* mean over all elements of (output - target)^2; the target has the shape of the output */
    IFM_LOSS_CROSS_ENTROPY, /* mean over rows of -log softmax(output)[target]; output: [rows, classes], target: i64 [rows]
                             */
} IfmLoss;

#define IFM_GRADIENT_BOUND "inferometer.bound"

typedef struct
{
    IfmLoss loss;
    const char *output; /* the output that the loss reads; NULL: the first */
    /* weights to differentiate by, NULL-terminated; NULL: all that ifm_model_n_trainable() counts */
    const char *const *parameters;
    gboolean input_gradients; /* differentiate also by the floating-point inputs */
    /* [n_bindings] sizes of free dimensions, used where the model is right at no other size: exporters may fix a dimension
       inside of a model whose inputs leave it free. The new model is then for that size alone, and says so in its metadata
       IFM_GRADIENT_BOUND: "batch=1". */
    const IfmDimBinding *bindings;
    gsize n_bindings;
} IfmGradientOptions;

/**
 * ifm_gradient_backward: Makes one model of the forward and the backward pass.
 * Inputs: those of the model, and "target". Parameters stay what they are.
 * Outputs: "loss" (a scalar; f64 where the output is f64, else f32), then "grad.NAME" of each parameter (and input), in the
 * order of the model. A gradient is zero where the loss does not depend on the tensor.
 * Batch normalisation keeps its form. The evaluation form uses its fixed statistics, and the training form (training_mode)
 * those of the batch. Running statistics that the node outputs become outputs "next.NAME".
 * Dropout with ratio 0 or without training is the identity. A mask is a Mul by an input.
 * Free dimensions stay free, but those of IFM_GRADIENT_BOUND. A rule that needs a size (strides of a convolution) names the
 * dimension to bind. Returns: (transfer full) NULL with an error. IFM_ERROR_UNSUPPORTED: an opset below 7, or "node NAME
 * (OP): no gradient rule" for an operator between a parameter and the loss. IFM_ERROR_INVALID: an unknown output or
 * parameter, or a loss that does not fit the shape of the output.
 */
IfmModel *ifm_gradient_backward(IfmModel *model, const IfmGradientOptions *options, GError **error);

/** ifm_gradient_forward: The backward pass as far as the first output of the model that it was made of: in the training
 * form batch normalisation is by the batch's own statistics, which the pass has written out in operators that every engine
 * runs.
 * @pass: of ifm_gradient_backward()    @given: that model    Returns: (transfer full) NULL with an error */
IfmModel *ifm_gradient_forward(IfmModel *pass, IfmModel *given, GError **error);

typedef struct
{
    IfmGradientOptions gradient;
    IfmOptimiser optimiser;
    double learning_rate, momentum, beta1, beta2, epsilon;
} IfmTrainingOptions;
#define IFM_TRAINING_OPTIONS_INIT                                                                                          \
    ((IfmTrainingOptions){ .learning_rate = 0.001, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8 })

/**
 * ifm_gradient_training_step: Makes one model of forward pass, backward pass and update of the parameters.
 * Inputs: those of the model, "target", the parameters ("NAME"), the state of the optimiser ("state.KIND.NAME", for Adam
 * also "state.step" i64 [1]) and running statistics. Outputs: "loss", and the next value of each as "next.NAME", … The
 * state of a parameter in half precision is f32, and its update is computed in f32. Initial values: ifm_gradient_state().
 * Returns: (transfer full) NULL with the errors of ifm_gradient_backward().
 */
IfmModel *ifm_gradient_training_step(IfmModel *model, const IfmTrainingOptions *options, GError **error);

/** IfmTrainingState: an input of a training step, and the output that replaces it for the next step. */
typedef struct
{
    char *input, *output;
    IfmTensor first; /* owned: the initial value of a parameter; zeros for a state */
} IfmTrainingState;

/** ifm_gradient_state: The initial state of a training step. @model: the forward model
 * Returns: (transfer full) IfmTrainingState*, in the order of the inputs of the step. Errors: of ifm_gradient_backward().
 */
GPtrArray *ifm_gradient_state(IfmModel *model, const IfmTrainingOptions *options, GError **error);

/** ifm_loss_words: "mse", "cross-entropy", NULL-terminated. */
const char *const *ifm_loss_words(void);

/** ifm_optimiser_words: "sgd", "momentum", "adam", NULL-terminated. */
const char *const *ifm_optimiser_words(void);

G_END_DECLS
