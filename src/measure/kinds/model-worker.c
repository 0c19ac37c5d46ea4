/* A model on a device, in the worker. */
#include <malloc.h>
#include <unistd.h>

#include <base/base.h>
#include <base/fields.h>
#include <onnx/fused-kernel.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "../worker-private.h"

/* --- preparing ------------------------------------------------------------------------------------------------------ */

static void describe_environment(Worker *worker)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    worker->measurement->environment =
        json_pack("{s:o,s:s,s:s,s:i,s:b,s:[]}", "runtime", worker_engine_to_json(worker->engine), "device",
                  model_case->device, "dtype", ifm_dtype_name(model_case->dtype), "threads_asked", model_case->threads,
                  "native_async", model_case->native_async, "warnings");
}

/* What the copies of a kernel hold together, beside what the last-level cache does. */
static void describe_ring(Worker *worker)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    json_auto_t *machine = ifm_sensor_machine(NULL);
    g_autoptr(IfmKernelRecord) record = ifm_kernel_record_from_json(model_case->kernel, "kernel", NULL);
    const gint64 bytes = record != NULL ? ifm_kernel_ring_bytes(record, model_case->n_copies) : 0,
                 cache_bytes = ifm_sensor_last_cache_bytes(machine, NULL);
    json_object_set_new(worker->measurement->environment, "ring",
                        json_pack("{s:I,s:I,s:o,s:o}", "copies", (json_int_t)model_case->n_copies, "bytes",
                                  (json_int_t)bytes, "cache_bytes",
                                  cache_bytes > 0 ? json_integer(cache_bytes) : json_null(), "exceeds_cache",
                                  cache_bytes > 0 ? json_boolean(bytes > cache_bytes) : json_null()));
}

/* From a cache or not: null where no cache was asked for, or the device has none. */
static void describe_compile(Worker *worker)
{
    const IfmCompiled *compiled = worker->subject->compiled;
    gboolean cached =
        worker_model_case(worker)->cache_dir != NULL && (ifm_compiled_info(compiled).capabilities & IFM_CAN_CACHE) != 0;
    json_object_set_new(worker->measurement->environment, "compile",
                        json_pack("{s:I,s:o}", "time_ns", (json_int_t)worker->subject->compile_ns, "from_cache",
                                  cached ? json_boolean(ifm_compiled_info(compiled).from_cache) : json_null()));
}

static gboolean check_same(const char *path, const char *found, const char *then, GError **error)
{
    return then == NULL || g_str_equal(found, then) ||
           ifm_error_refuse(error, "%s: changed since this case was made (SHA-256 now %.12s..., then %.12s...)", path,
                            found, then);
}

/* Whether model and inputs still are those that the case was made of. */
static gboolean check_digests(Worker *worker, const json_t *request, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    if (model_case->kernel != NULL) /* made of the record itself */
        return TRUE;
    const char *model = ifm_model_digest(worker->model, error);
    if (model == NULL ||
        !check_same(model_case->model_path, model, ifm_member_text(request, "sealed.subject_digest"), error))
        return FALSE;
    if (model_case->inputs_path == NULL)
        return TRUE;
    g_autofree char *inputs = ifm_case_inputs_digest(worker->model, model_case, worker->digests, error);
    return inputs != NULL &&
           check_same(model_case->inputs_path, inputs, ifm_member_text(request, "sealed.options.inputs"), error);
}

/* All go by one clock: a virtual one means nothing to a real device. */
static gboolean needs_real_time(const IfmModelCase *model_case)
{
    gsize n_simulated = worker_is_simulated(model_case->device);
    for (gsize i = 0; i < model_case->n_load; i++)
        n_simulated += worker_is_simulated(model_case->load[i].device);
    return n_simulated > 0 && n_simulated < model_case->n_load + 1;
}

#define TUNING_STEPS 30 /* "best" measures while it compiles: so many times the hang limit */

static int compile_steps(const IfmModelCase *model_case)
{
    const char *const *line = model_case->convolutions;
    for (; line != NULL && *line != NULL; line++)
        if (g_str_equal(*line, "best") || g_str_has_suffix(*line, "=best"))
            return TUNING_STEPS;
    return 1;
}

/* Kernels of one device, precision and number of threads run in the same way: the first is asked. */
static gboolean find_config(Worker *worker, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    g_autofree char *key = g_strdup_printf("%s %d %d", model_case->device, (int)model_case->dtype, model_case->threads);
    g_autoptr(GError) failure = NULL;
    if (model_case->kernel != NULL && g_strcmp0(worker->kernel_key, key) == 0)
    {
        worker->measurement->effective_config = json_deep_copy(worker->kernel_config);
        return TRUE;
    }
    if (!worker_go_on(worker, "checking what runs", WORKER_EFFECTIVE_CONFIG_STEPS, error))
        return FALSE;
    worker->measurement->effective_config =
        ifm_model_subject_effective_config(worker->subject, worker->measurement, &failure);
    if (failure != NULL)
        return ifm_error_pass(error, g_steal_pointer(&failure));
    if (model_case->kernel != NULL)
    {
        g_free(worker->kernel_key);
        json_decref(worker->kernel_config);
        worker->kernel_key = g_steal_pointer(&key);
        worker->kernel_config = json_deep_copy(worker->measurement->effective_config);
    }
    return TRUE;
}

gboolean worker_model_prepare(Worker *worker, const json_t *request, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    g_autoptr(IfmDeviceSpec) spec = NULL;
    worker->keeps_real_time = needs_real_time(model_case);
    worker_enter_phase(worker, "opening the runtime");
    worker->engine = worker_open_device(worker, model_case->device, &spec, error);
    if (worker->engine == NULL)
        return FALSE;
    describe_environment(worker);
    if (model_case->kernel != NULL)
        describe_ring(worker);
    worker_report_base(worker);
    if (!worker_go_on(worker, "reading the model", 1, error))
        return FALSE;
    worker->model = ifm_case_open_model(model_case, error);
    if (worker->model == NULL || !check_digests(worker, request, error) ||
        !worker_check_fits(worker, spec, json_integer_value(json_object_get(request, "memory_bytes")), error))
        return FALSE;
    worker_reset_peak(worker);
    worker_note_models(worker);
    worker_note_rss(worker, "before_compile_bytes");
    if (!worker_go_on(worker, "compiling", compile_steps(model_case), error))
        return FALSE;
    worker->subject = ifm_model_subject_new(worker->engine, worker->model, model_case, IFM_COMPILE_MEASURED, error);
    if (worker->subject == NULL)
        return FALSE;
    describe_compile(worker);
    worker_note_rss(worker, "after_compile_bytes");
    worker_note_peak(worker, "peak_compile_bytes");
    if (json_is_true(json_object_get(request, "config_known"))) /* another process of the same was asked */
        return TRUE;
    return find_config(worker, error) && worker_load_prepare(worker, ifm_member(request, "sealed.load.devices"), error);
}

/* --- running -------------------------------------------------------------------------------------------------------- */

#define BEAT_NS (200 * IFM_NS_PER_MS)

static void profiling_beat(gsize n, void *user)
{
    Worker *worker = user;
    gint64 now_ns = ifm_time_coarse_ns();
    if (now_ns - worker->reported_ns < BEAT_NS)
        return;
    worker->reported_ns = now_ns;
    worker_say(worker, json_pack("{s:s,s:s,s:I}", "say", "beat", "phase", worker->phase, "n", (json_int_t)n));
}

/* The cost of a call, which the breakdown subtracts; measured once for each device, process and amount of data. */
static const IfmCallCost *call_cost(Worker *worker)
{
    gsize io_bytes = ifm_model_subject_io_bytes(worker->subject);
    const IfmModelCase *model_case = worker_model_case(worker);
    g_autofree char *key = g_strdup_printf("%s %d %zu", model_case->device, model_case->threads, io_bytes);
    IfmCallCost *known = g_hash_table_lookup(worker->call_costs, key);
    if (known == NULL)
    {
        known = g_new(IfmCallCost, 1);
        *known = ifm_call_cost_measure(worker->engine, model_case, io_bytes);
        g_hash_table_insert(worker->call_costs, g_steal_pointer(&key), known);
    }
    return known;
}

/* Where the graph cannot be saved, without: the times of the nodes are worth more. @unsaved: (out) why */
static IfmModelSubject *compile_profiled(Worker *worker, const char *path, GError **unsaved, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    IfmModelSubject *profiled = ifm_model_subject_new_saving(worker->engine, worker->model, model_case,
                                                             IFM_COMPILE_PROFILED, path, path != NULL ? unsaved : error);
    if (profiled == NULL && path != NULL)
        profiled = ifm_model_subject_new(worker->engine, worker->model, model_case, IFM_COMPILE_PROFILED, error);
    return profiled;
}

static gboolean measure_breakdown(Worker *worker, GError **error)
{
    g_autoptr(GError) failure = NULL, unsaved = NULL;
    worker_enter_long_phase(worker, "compiling for profiling", 2); /* once more where the graph cannot be saved */
    guint32 capabilities = ifm_compiled_info(worker->subject->compiled).capabilities;
    g_autoptr(IfmModelSubject) profiled = NULL;
    /* The folder is the runner's, closed to others: the runtime writes to whatever lies at a path. */
    g_autofree char *path = (capabilities & IFM_CAN_SAVE_OPTIMISED) != 0
                                ? g_strdup_printf("%s/optimised-%d.onnx", g_get_tmp_dir(), (int)getpid())
                                : NULL;
    if (capabilities & IFM_CAN_PROFILE)
        profiled = compile_profiled(worker, path, &unsaved, &failure);
    else
        ifm_error_set(&failure, IFM_ERROR_UNSUPPORTED, "%s reports no times of nodes", worker_model_case(worker)->device);
    if (profiled == NULL)
    {
        if (path != NULL)
            unlink(path); /* where it was written at all */
        ifm_breakdown_unavailable(worker->measurement, failure->message);
        return g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNSUPPORTED) ||
               ifm_error_pass(error, g_steal_pointer(&failure));
    }
    worker_enter_phase(worker, "profiling");
    const IfmModelCase *model_case = worker_model_case(worker);
    gboolean good =
        ifm_breakdown_measure(profiled, model_case->profile_few ? NULL : call_cost(worker), &model_case->protocol,
                              &worker->interrupted, profiling_beat, worker, worker->measurement, error);
    if (good && unsaved != NULL)
        ifm_optimised_unknown(worker->measurement, unsaved->message);
    else if (good && path != NULL)
        ifm_optimised_costs(path, worker_model_case(worker), worker->model, worker->measurement);
    if (good)
        ifm_optimised_parts(profiled->compiled, worker->measurement);
    if (path != NULL)
        unlink(path); /* where it was written at all */
    return good;
}

static gboolean still_there(Worker *worker, GError **error)
{
    return worker_still_there(worker, worker->engine, worker_model_case(worker)->device, error);
}

static gboolean run_case(Worker *worker, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    IfmMeasurement *measurement = worker->measurement;
    IfmSubject slots = ifm_model_subject_slots(worker->subject);
    IfmMeasureOptions options = { .protocol = model_case->protocol,
                                  .interrupted = &worker->interrupted,
                                  .progress = worker_beat,
                                  .progress_user = worker };
    g_autoptr(GError) failure = NULL;
    malloc_trim(0); /* what attesting left is not the runs' */
    worker_reset_peak(worker);
    worker_note_rss(worker, "before_runs_bytes");
    worker_send_draft(worker);
    worker_enter_phase(worker, "running");
    gboolean measured = ifm_measure_subject(&slots, &options, measurement, &failure);
    measured = measured && ifm_model_subject_verify(worker->subject, &failure);
    g_autoptr(GError) loss = NULL;
    gboolean known =
        g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED) || g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST);
    gboolean there = known || still_there(worker, &loss);
    json_decref(measurement->verification);
    measurement->verification = ifm_model_subject_verification(worker->subject);
    if (there && worker->subject->wrong)
        worker_explain(worker, measurement->verification, &failure);
    if (!there) /* that says more than what it answered then */
        return ifm_error_pass(error, g_steal_pointer(&loss));
    if (!measured)
        return ifm_error_pass(error, g_steal_pointer(&failure));
    worker_note_rss(worker, "after_runs_bytes");
    worker_note_peak(worker, "peak_runs_bytes");
    worker_note_growth(worker);
    worker_note_engine_memory(worker);
    json_t *streams = ifm_model_subject_streams(worker->subject);
    if (streams != NULL)
        json_object_set_new(measurement->environment, "streams", streams);
    return TRUE;
}

static gboolean measure_energy(Worker *worker, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    if (model_case->energy == NULL || g_atomic_int_get(&worker->interrupted) != 0)
        return TRUE;
    const IfmSubject slots = ifm_model_subject_slots(worker->subject);
    worker_enter_phase(worker, "measuring energy");
    return ifm_energy_of_subject(&slots, model_case->energy, model_case->device, model_case->seed, &worker->interrupted,
                                 worker->measurement, error);
}

static gboolean run_and_profile(Worker *worker, const json_t *verification, GError **error)
{
    if (!run_case(worker, error))
        return FALSE;
    if (verification != NULL) /* why there is no reference */
        json_object_update(worker->measurement->verification, (json_t *)verification);
    if (!measure_energy(worker, error))
        return FALSE;
    if (!worker_model_case(worker)->profile || g_atomic_int_get(&worker->interrupted) != 0)
        return TRUE;
    worker_send_draft(worker);
    return measure_breakdown(worker, error) && still_there(worker, error);
}

/* What was measured under a load that failed is of no use; but a loss of the device itself says more. */
static gboolean measure_case(Worker *worker, const json_t *verification, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(GError) load_failure = NULL;
    gboolean measured = worker_load_start(worker, &failure) && worker_stress_start(worker, &failure) &&
                        run_and_profile(worker, verification, &failure);
    gboolean lost = g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST);
    gboolean stressed = worker_stress_stop(worker, &load_failure);
    if ((!worker_load_stop(worker, stressed ? &load_failure : NULL) || !stressed) && !lost)
        return ifm_error_pass(error, g_steal_pointer(&load_failure));
    if (lost && worker->load != NULL)
        worker_say_lost(worker, worker_model_case(worker)->device);
    if (!measured)
        g_propagate_error(error, g_steal_pointer(&failure));
    return measured;
}

/* @request: {"reference"} or {"verification"}: why there is none */
gboolean worker_model_run(Worker *worker, const json_t *request, GError **error)
{
    const char *path = ifm_member_text(request, "reference");
    if (path != NULL && (worker->reference = ifm_reference_open(path, error)) == NULL)
        return FALSE;
    worker->subject->reference = worker->reference;
    return measure_case(worker, json_object_get(request, "verification"), error);
}

IfmSubject worker_model_subject(Worker *worker)
{
    return ifm_model_subject_slots(worker->subject);
}

gboolean worker_model_still_there(Worker *worker, GError **error)
{
    if (!ifm_model_subject_verify(worker->subject, error) || !still_there(worker, error))
        return FALSE;
    ifm_record_set_json(&worker->measurement->verification, ifm_model_subject_verification(worker->subject));
    return TRUE;
}

gboolean worker_model_node_times(Worker *worker, gint64 time_ns, IfmMeasurement *measurement, GError **error)
{
    const IfmModelCase *model_case = worker_model_case(worker);
    if ((ifm_compiled_info(worker->subject->compiled).capabilities & IFM_CAN_PROFILE) == 0)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s reports no times of nodes", model_case->device);
    worker_enter_long_phase(worker, "compiling for profiling", 1);
    g_autoptr(IfmModelSubject) profiled =
        ifm_model_subject_new(worker->engine, worker->model, model_case, IFM_COMPILE_PROFILED, error);
    worker_enter_phase(worker, "profiling");
    return profiled != NULL && ifm_node_times_measure(profiled, time_ns, &worker->interrupted, measurement, error);
}
