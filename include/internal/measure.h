#pragma once
#include <jansson.h>

#include <inferometer/compare.h>
#include <inferometer/measure.h>

G_BEGIN_DECLS

/* Protocols in records, and devices that were lost. */

/** ifm_protocol_check: for a case that a worker measures. Returns: FALSE with IFM_ERROR_INVALID naming the count. */
gboolean ifm_protocol_check(const IfmProtocol *protocol, GError **error);

/** ifm_protocol_to_json: what of it defines a case: the counts, or the rule with all that may end it. (transfer full) */
json_t *ifm_protocol_to_json(const IfmProtocol *protocol);

/**
 * IfmAccuracyOptions: @n: samples    @samples_path: a tensor file whose tensors have a leading axis of samples; inputs that
 * it does not have are generated, by another seed for each sample. NULL: all are
 * @layers: whether to look where the difference arises    @layer_loss_db: what a layer may lose
 */
typedef struct
{
    gsize n;
    const char *samples_path;
    gboolean layers;
    double layer_loss_db;
} IfmAccuracyOptions;

/**
 * ifm_runner_accuracy: How near the outputs of B come to those of A, two cases of models, on the same samples, each on its
 * own device; and, tensor by tensor, where they come apart: both models as they are written, on onnxruntime:CPU without
 * optimisation.
 * Equals: the loss of a layer = the least SQNR of what it reads - its own, each at most 48 dB, and at least the worst of
 * what reads it
 * Returns: (transfer full) docs/formats.md, "accuracy", with "why" where it could not be had. NULL with
 * IFM_ERROR_CANCELLED, or IFM_ERROR_UNAVAILABLE without a folder for the samples.
 */
json_t *ifm_runner_accuracy(IfmRunner *runner, const IfmCompareSide sides[2], const IfmAccuracyOptions *options,
                            GError **error);

/** ifm_runner_set_lost: Says that a device was lost earlier, before this runner was made: it is tried again only once it
 * answers a probe. No effect where @device is no device spec. */
void ifm_runner_set_lost(IfmRunner *runner, const char *device, const char *why);

/** ifm_runner_find_device: Whether a device is here and answers, whatever cores and streams it is named with.
 * @description: (out) (optional) (transfer full) the hardware's name. Returns: FALSE with IFM_ERROR_UNAVAILABLE (no
 * runtime, no such device), IFM_ERROR_LOST (as if ifm_runner_set_lost() had been called), that of a wrong spec, or that of
 * a worker that ended over it. */
gboolean ifm_runner_find_device(IfmRunner *runner, const char *device, char **description, GError **error);

G_END_DECLS
