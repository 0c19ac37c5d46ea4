/* Shared with other rooms: the runner and what it observes. */
#pragma once
#include <jansson.h>

#include <measure/rounds.h>

G_BEGIN_DECLS

/* --- the stopping rule --------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_STOP_GO_ON = 0,
    IFM_STOP_FIXED,    /* the counts asked for are reached */
    IFM_STOP_INTERVAL, /* the interval is narrow enough */
    IFM_STOP_MAX_RUNS,
    IFM_STOP_TIME_BUDGET,
    IFM_STOP_INTERRUPTED, /* on request; what was measured is kept */
} IfmStopReason;
const char *ifm_stop_reason_name(IfmStopReason reason);

/* --- a subject, measured in this process --------------------------------------------------------------------------- */

/**
 * ifm_measure_one_run: The record of one run that was timed elsewhere, for a subject of which a second run would be beyond
 * the protocol's time budget: one sample, no warm-up, stop reason "time-budget", with @why as a warning.
 * @run_ns: what the run took    @why: "computed once: …"
 */
void ifm_measure_one_run(gint64 run_ns, const IfmProtocol *protocol, const char *why, IfmMeasurement *measurement);

/* --- cases, measured in workers ------------------------------------------------------------------------------------ */

/**
 * ifm_runner_case: The sealed record of a case: checks what describes it and, of a kind that is measured in workers, asks
 * one for the engine's version.
 * @spec: the struct that @kind takes
 * Errors: IFM_ERROR_INVALID naming what is wrong in @spec, those of its model and device specs; IFM_ERROR_UNAVAILABLE where
 * the runtime is missing.
 */
IfmCase *ifm_runner_case(IfmRunner *runner, const IfmCaseKind *kind, const void *spec, GError **error);

/**
 * ifm_runner_measure: Measures it, in a worker or in this process.
 * Returns: (transfer full) a measurement: OK, FAILED (refused, failed, crashed, hung, lost, out of memory, wrong output) or
 * SKIPPED (the device was lost earlier and still is), with its reason. NULL with IFM_ERROR_CANCELLED where interrupted
 * before there was a sample, or with IFM_ERROR_UNAVAILABLE where no worker can be started at all.
 */
IfmMeasurement *ifm_runner_measure(IfmRunner *runner, const IfmCaseKind *kind, const void *spec, const IfmCase *sealed,
                                   GError **error);

/* --- measuring ----------------------------------------------------------------------------------------------------- */

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
