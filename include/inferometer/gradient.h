#pragma once
#include <inferometer/onnx.h>

G_BEGIN_DECLS

/*
 * Reverse-mode differentiation, ONNX graph to ONNX graph: what comes out is an ordinary model of ordinary operators, which
 * every engine runs, is profiled and counted as any other. One rule an operator: docs/add-a-gradient.md.
 */

typedef enum
{
    IFM_LOSS_MSE,           /* mean over all elements of (output - target)^2; target: as the output */
    IFM_LOSS_CROSS_ENTROPY, /* mean over rows of -log softmax(output)[target]; output: [rows, classes], target: i64 [rows]
                             */
} IfmLoss;
/** ifm_loss_words: "mse", "cross-entropy", NULL-terminated. */
const char *const *ifm_loss_words(void);

typedef enum
{
    IFM_OPTIMISER_SGD,      /* w -= lr g */
    IFM_OPTIMISER_MOMENTUM, /* v = momentum v + g, w -= lr v: as PyTorch has it */
    IFM_OPTIMISER_ADAM,     /* Kingma and Ba 2015, bias-corrected, as PyTorch has it */
} IfmOptimiser;
/** ifm_optimiser_words: "sgd", "momentum", "adam", NULL-terminated. */
const char *const *ifm_optimiser_words(void);

typedef struct
{
    IfmLoss loss;
    const char *output; /* that the loss is of; NULL: the first */
    /* weights to differentiate by; NULL: every floating-point initializer but running statistics of batch normalisation and
       scalars (of rank 0: constants of a formula) */
    const char *const *parameters;
    gboolean input_gradients; /* also by the floating-point inputs */
} IfmGradientOptions;

/**
 * ifm_gradient_backward: Forward and backward in one model. Its inputs: the model's and "target"; its outputs: "loss" (a
 * scalar, f32, or f64 where the output is), then "grad.NAME" of each parameter (and input), in the model's order.
 * Parameters stay initializers. Batch normalisation is differentiated in the form it has (evaluation: by its fixed
 * statistics; training_mode: by the batch's, its running statistics that are outputs of the node then are outputs, too:
 * "next.NAME", and of a training step inputs). Dropout of ratio 0 or without training is the identity; a mask is a Mul by
 * an input. Dimensions that are free stay free; a rule that cannot do without a size (strides of a convolution) says which
 * is to be bound. What the loss does not depend on has zeros. Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED for
 * an opset below 13 and "node NAME (OP): no gradient rule" for an operator that the loss depends on through a parameter;
 * IFM_ERROR_INVALID for an output or parameter that is none, or a loss that does not fit the output's shape.
 */
IfmModel *ifm_gradient_backward(IfmModel *model, const IfmGradientOptions *options, GError **error);

typedef struct
{
    IfmGradientOptions gradient;
    IfmOptimiser optimiser;
    double learning_rate, momentum, beta1, beta2, epsilon;
} IfmTrainingOptions;
#define IFM_TRAINING_OPTIONS_INIT                                                                                          \
    ((IfmTrainingOptions){ .learning_rate = 0.001, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8 })

/**
 * ifm_gradient_training_step: Forward, backward and update in one model: parameters and the optimiser's state are inputs
 * ("NAME", "state.KIND.NAME", and for Adam "state.step" i64 [1]), and come out updated ("next.NAME", …), beside "loss".
 * States of parameters in half precision are f32, and updates computed so. What each holds at first: ifm_gradient_state().
 * Errors as ifm_gradient_backward().
 */
IfmModel *ifm_gradient_training_step(IfmModel *model, const IfmTrainingOptions *options, GError **error);

/** IfmTrainingState: one input of a training step that its output replaces. */
typedef struct
{
    char *input, *output;
    IfmTensor first; /* owned: the parameter's initial value, zeros of a state */
} IfmTrainingState;
/** ifm_gradient_state: (transfer full) IfmTrainingState*, in the order of the step's inputs. @model: the forward one. */
GPtrArray *ifm_gradient_state(IfmModel *model, const IfmTrainingOptions *options, GError **error);

/** ifm_gradient_has_rule: whether an operator can be differentiated through. */
gboolean ifm_gradient_has_rule(const char *op_type);

G_END_DECLS
