#pragma once
#include "measure-private.h"

G_BEGIN_DECLS

/* What the files of the worker program share: worker.c serves requests, worker-device.c those about engines and devices,
 * worker-compare.c those of comparisons; worker-memory.c notes what memory is taken; kinds/ has what is particular to a
 * kind of case.
 */

typedef struct WorkerLoad WorkerLoad;
typedef struct WorkerStress WorkerStress;

/*
 * The worker: one thread takes messages off the channel, so that "stop" and the channel's end are seen also while a
 * runtime hangs; the main thread does what is asked, one request after the other.
 */
typedef struct
{
    int fd;
    GAsyncQueue *requests; /* json_t* */
    gint interrupted;      /* atomic */
    IfmClock *real_clock, *virtual_clock;
    gboolean keeps_real_time; /* also a simulated engine goes by the real clock here */
    GHashTable *engines;      /* name -> IfmEngine*, open until the process ends */
    GHashTable *digests;      /* of files of inputs: see ifm_case_inputs_digest() */
    GHashTable *call_costs;   /* device and threads -> IfmCallCost* */
    guint n_models;           /* that were compiled in this process until now */
    const char *phase;
    gint64 reported_ns; /* coarse: the last beat while profiling */
    /* the prepared case: */
    const IfmCaseKind *kind; /* NULL: none is */
    IfmSpec spec;
    void *state; /* the kind's own; of a model what follows */
    IfmEngine *engine;
    IfmModel *model;
    IfmModelSubject *subject;
    IfmReference *reference; /* of a comparison, which needs it as long as the subject */
    WorkerLoad *load;        /* NULL: no background load */
    char *kernel_key;        /* of which kernels @kernel_config is; NULL: none was asked yet */
    json_t *kernel_config;
    WorkerStress *stress; /* kept between cases; NULL: no case had one yet */
    IfmMeasurement *measurement;
    guint n_warmup_sent, n_samples_sent;
} Worker;

/* worker_say: @message: (transfer full) */
void worker_say(Worker *worker, json_t *message);
void worker_enter_phase(Worker *worker, const char *phase);
/* worker_enter_long_phase: @n_steps: as worker_go_on() has it */
void worker_enter_long_phase(Worker *worker, const char *phase, int n_steps);
/* worker_enter_wait: a phase in which nothing is said for @wait_ns, which the hang limit does not count */
void worker_enter_wait(Worker *worker, const char *phase, gint64 wait_ns);
/* worker_go_on: A step that takes long may have been interrupted meanwhile: FALSE with IFM_ERROR_CANCELLED.
 * @n_steps: compiles and runs that the phase makes without a word in between; each may take as long as the hang limit */
gboolean worker_go_on(Worker *worker, const char *next_phase, int n_steps, GError **error);
/* worker_beat: what IfmMeasureOptions.progress may be; @user: the worker. */
void worker_beat(gsize n, double median_ns, double ci_ratio, void *user);
/* worker_send_draft: the measurement as far as it is. */
void worker_send_draft(Worker *worker);
/* WORKER_EFFECTIVE_CONFIG_STEPS: of asking what runs: runs that are watched, and profiled runs. */
#define WORKER_EFFECTIVE_CONFIG_STEPS 10
/* worker_say_lost: in a worker of several devices: which one it was. */
void worker_say_lost(Worker *worker, const char *device);
/* worker_report_base: From here on what the process takes counts against the memory limit. */
void worker_report_base(Worker *worker);

/* worker_save_outputs: the last inference's, as a tensor file. */
gboolean worker_save_outputs(IfmCompiled *compiled, IfmRequest *request, const char *path, GError **error);
/* worker_still_there: A lost device may have answered at once, and anything: it must still be there after the last run. */
gboolean worker_still_there(Worker *worker, IfmEngine *engine, const char *device, GError **error);
/* worker_all_there: The same of several devices (char*), by their specs; those that are not are reported as lost.
 * @given_up: (nullable) those that were known to have failed, which is no error    @what: of what they were lost after:
 * "copies" */
gboolean worker_all_there(Worker *worker, const GPtrArray *devices, GPtrArray *given_up, const char *what, GError **error);

/* worker_drop_prepared: the case before, if there is one. */
void worker_drop_prepared(Worker *worker);

/* --- worker-memory.c ---------------------------------------------------------------------------------------------- */

/* worker_reset_peak: Starts the kernel's peak figure anew, so that it is that of what follows; memory.process.peak_reset
 * says whether it may. */
void worker_reset_peak(Worker *worker);
/* worker_note_rss: what the process takes now, into the measurement's memory.process. worker_note_peak: the most it took
 * since the peak was reset. */
void worker_note_rss(Worker *worker, const char *key);
void worker_note_peak(Worker *worker, const char *key);
/* worker_note_models: how many models the process compiled before this one: what they left allocated is reused, so that
 * growths compare only with those of as many. */
void worker_note_models(Worker *worker);
/* worker_note_growth: what compile and runs took more than there was before. */
void worker_note_growth(Worker *worker);
/* worker_note_engine_memory: memory.engine and memory.device: what the runtime's allocators say, or why nothing; of a
 * device that is not the processor also environment.hardware: its name and its memory. */
void worker_note_engine_memory(Worker *worker);
/*
 * worker_check_fits: Before anything of the prepared case is compiled or allocated: fills memory.graph, and refuses what
 * cannot fit. Equals: parameters + tensors alive at the worst node (on a device with memory of its own: parameters, inputs
 * and outputs) <= available memory, and <= @limit_bytes (0: none)
 * Returns: FALSE with IFM_ERROR_INVALID. A device that looks at no numbers takes no memory for them.
 */
gboolean worker_check_fits(Worker *worker, const IfmDeviceSpec *spec, gint64 limit_bytes, GError **error);
/* worker_check_load_fits: The same of a model of the background load, against what is available when all before it is
 * there. @model_case: with that model's path and bindings */
gboolean worker_check_load_fits(IfmEngine *engine, const IfmDeviceSpec *spec, IfmModel *model,
                                const IfmModelCase *model_case, GError **error);

/* --- worker-cause.c ----------------------------------------------------------------------------------------------- */

/* worker_explain: Why the outputs of the prepared model are different: the cause and the runtime's setting that cures it,
 * as far as they are known: the model is run again with it. They go into @verification and behind @failure's message. */
void worker_explain(Worker *worker, json_t *verification, GError **failure);

/* --- worker-device.c ---------------------------------------------------------------------------------------------- */

/* worker_open_engine: Returns: (transfer none) the engine, open until the process ends. */
IfmEngine *worker_open_engine(Worker *worker, const char *name, GError **error);
/* worker_open_device: Returns: (transfer none) the engine of a device. @spec: (out) (transfer full) */
IfmEngine *worker_open_device(Worker *worker, const char *device, IfmDeviceSpec **spec, GError **error);
/* worker_is_simulated: A virtual clock means nothing to a real device: where both are in a case, all go by the real one. */
gboolean worker_is_simulated(const char *device);
json_t *worker_engine_to_json(IfmEngine *engine);

/* worker_answer_engine: {"engine"} -> {"engine", "version", "library"} */
json_t *worker_answer_engine(Worker *worker, const json_t *request, GError **error);
/* worker_answer_devices: {"engine"} -> the same, and "devices" */
json_t *worker_answer_devices(Worker *worker, const json_t *request, GError **error);
/* worker_answer_find: {"device"} -> one of "devices", probed; to "probe" {"alive"}: whatever it is */
json_t *worker_answer_find(Worker *worker, const json_t *request, GError **error);

/* --- kinds/model-load-worker.c
 * ------------------------------------------------------------------------------------------------ */

/* worker_load_prepare: Compiles and attests the load of the prepared case, if it has one. @sealed: what of it defined the
 * case. Errors name the device. */
gboolean worker_load_prepare(Worker *worker, const json_t *sealed, GError **error);
/* worker_load_start: Returns once each of them has made an inference, or has failed. */
gboolean worker_load_start(Worker *worker, GError **error);
/* worker_load_stop: Also after a start that failed. Fills environment.background_load. Returns: FALSE where one of them
 * failed, is lost, or answered what is no number. */
gboolean worker_load_stop(Worker *worker, GError **error);
void worker_load_free(WorkerLoad *self);

/* --- kinds/model-stress-worker.c ---------------------------------------------------------------------------------------
 */

/* worker_stress_start: The stressor of the prepared case, if it has one, and a look at the machine, if it wants one.
 * worker_stress_stop: Puts the stressor to sleep and fills environment.stress and environment.metrics; also after a start
 * that failed. Returns: FALSE where the stressor ended before. */
gboolean worker_stress_start(Worker *worker, GError **error);
gboolean worker_stress_stop(Worker *worker, GError **error);

/* --- worker-compare.c --------------------------------------------------------------------------------------------- */

/* worker_answer_compare_start: of the prepared case: {"reference", "keep", "other", "other_dtype"} (all optional: a file to
 * compare with, one to write the outputs to, one with the other side's outputs and the precision they are of) ->
 * {"warmup_ns": [...], "differs": text or null} */
json_t *worker_answer_compare_start(Worker *worker, const json_t *request, GError **error);
/* worker_answer_compare_round: {"warmup", "runs"} -> {"samples_ns": [...]} */
json_t *worker_answer_compare_round(Worker *worker, const json_t *request, GError **error);
/* worker_answer_compare_nodes: {"time_ns"} -> {"names": [...], "op_types": [...], "node_ns": [...]}, or {"why"} where the
 * device reports no times of nodes */
json_t *worker_answer_compare_nodes(Worker *worker, const json_t *request, GError **error);
/* worker_answer_compare_end: {"verification"} (optional: why nothing was compared) -> {"measurement"}: all but samples */
json_t *worker_answer_compare_end(Worker *worker, const json_t *request, GError **error);

/* --- worker-accuracy.c -------------------------------------------------------------------------------------------- */

/* worker_answer_accuracy: {"n", "samples" (optional), "inputs", "outputs", "makes"} -> {} or {"outputs"}: with "makes" it
 * runs n samples and writes INPUTS-0, OUTPUTS-0, …; without, it runs those inputs, and answers how near its outputs come to
 * those. {"why"}: the device computes none. */
json_t *worker_answer_accuracy(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error);
/* worker_answer_accuracy_layers: {"a", "b", "n", "inputs"} -> {"n_layers", "layers"}: tensor by tensor, in the order of A,
 * of both models as they are written. */
json_t *worker_answer_accuracy_layers(Worker *worker, const json_t *request, GError **error);

/* --- worker-observe.c --------------------------------------------------------------------------------------------- */

/* worker_answer_observe: {} -> {"shapes": [{"tensor", "dtype", "shape"}]} */
json_t *worker_answer_observe(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error);
/* worker_answer_nodes: {} -> {"engine", "version", "library", "nodes"}: the nodes as compiled, a record without samples */
json_t *worker_answer_nodes(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error);
/* worker_answer_tune: {"level", "plain"} -> {"engine", "version", "library", "layers": [IfmTunedLayer]} */
json_t *worker_answer_tune(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error);
/* worker_answer_optimise: {"file", "keep_layout", "keep_operators", "outline"} -> {"engine", "version", "library"}: writes
 * the graph as the runtime optimised it */
json_t *worker_answer_optimise(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error);

/* --- kinds/: the slots of IfmKindInWorker that are called in the worker ------------------------------------------------
 */

/* worker_model_case: what describes the prepared case, of a model. */
static inline const IfmModelCase *worker_model_case(const Worker *worker)
{
    return worker->spec.data;
}
gboolean worker_model_prepare(Worker *worker, const json_t *request, GError **error);
gboolean worker_model_run(Worker *worker, const json_t *request, GError **error);
IfmSubject worker_model_subject(Worker *worker);
gboolean worker_model_still_there(Worker *worker, GError **error);
gboolean worker_model_node_times(Worker *worker, gint64 time_ns, IfmMeasurement *measurement, GError **error);
gboolean worker_pipeline_prepare(Worker *worker, const json_t *request, GError **error);
gboolean worker_pipeline_run(Worker *worker, const json_t *request, GError **error);
void worker_pipeline_drop(Worker *worker);
IfmSubject worker_pipeline_subject(Worker *worker);
gboolean worker_pipeline_still_there(Worker *worker, GError **error);

G_END_DECLS
