#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <inferometer/json.h>
#include <inferometer/sensor.h>
#include <inferometer/tensor-file.h>

#include "worker-private.h"

/* --- saying ------------------------------------------------------------------------------------------------------- */

void worker_say(Worker *worker, json_t *message /* (transfer full) */)
{
    gboolean sent = ifm_message_send(worker->fd, message); /* where nobody listens any more, the reader ends the process */
    gboolean too_large = !sent && errno == EMSGSIZE;
    gboolean is_answer = g_strcmp0(json_string_value(json_object_get(message, "say")), "answer") == 0;
    json_decref(message);
    if (!too_large || !is_answer) /* a draft that is too large is one that nobody has to fall back on */
        return;
    json_auto_t *error = json_pack("{s:s,s:s,s:s}", "say", "error", "code", ifm_error_code_name(IFM_ERROR_FAILED),
                                   "message", "the record is larger than a message may be: measure fewer runs");
    ifm_message_send(worker->fd, error);
}

/* @n_steps: compiles and runs that this phase makes without a word in between; each may take as long as the hang limit. */
static void enter_long_phase(Worker *worker, const char *phase, int n_steps)
{
    worker->phase = phase;
    worker_say(worker, json_pack("{s:s,s:s,s:i}", "say", "phase", "phase", phase, "steps", n_steps));
}

void worker_enter_phase(Worker *worker, const char *phase)
{
    enter_long_phase(worker, phase, 1);
}

void worker_send_draft(Worker *worker)
{
    worker_say(worker, json_pack("{s:s,s:o}", "say", "draft", "measurement", ifm_measurement_to_json(worker->measurement)));
}

/* New samples travel with a beat where they are few: then each took long, and a program that cannot wait for the next to
 * end has them. Where they are many, the worker answers in time by itself. */
#define BEAT_MOST_SAMPLES 64

static void add_news(json_t *beat, const char *key, const GArray *series, guint *n_sent)
{
    if (series->len - *n_sent > BEAT_MOST_SAMPLES)
        return;
    json_t *news = json_array();
    for (; *n_sent < series->len; ++*n_sent)
        json_array_append_new(news, json_integer(g_array_index(series, gint64, *n_sent)));
    json_object_set_new(beat, key, news);
}

void worker_beat(gsize n, double median_ns, double ci_ratio, void *user)
{
    Worker *worker = user;
    json_t *message = json_pack("{s:s,s:s,s:I,s:o,s:o}", "say", "beat", "phase", worker->phase, "n", (json_int_t)n,
                                "median_ns", ifm_json_real(median_ns), "ci_ratio", ifm_json_real(ci_ratio));
    add_news(message, "warmup", worker->measurement->warmup_ns, &worker->n_warmup_sent);
    add_news(message, "samples", worker->measurement->samples_ns, &worker->n_samples_sent);
    worker_say(worker, message);
}

#define BEAT_NS (200 * IFM_NS_PER_MS)

static void profiling_beat(gsize n, void *user)
{
    Worker *worker = user;
    gint64 now_ns = ifm_time_coarse_ns();
    if (now_ns - worker->told_ns < BEAT_NS)
        return;
    worker->told_ns = now_ns;
    worker_say(worker, json_pack("{s:s,s:s,s:I}", "say", "beat", "phase", worker->phase, "n", (json_int_t)n));
}

/* --- the reference ------------------------------------------------------------------------------------------------ */

gboolean worker_save_outputs(IfmCompiled *compiled, IfmRequest *request, const char *path, GError **error)
{
    gsize n = ifm_compiled_n_outputs(compiled);
    g_autofree const char **names = g_new0(const char *, n + 1);
    g_autofree IfmTensor *tensors = g_new0(IfmTensor, n + 1);
    for (gsize i = 0; i < n; i++)
    {
        names[i] = ifm_compiled_output(compiled, i)->name;
        if (!ifm_request_output(request, i, &tensors[i], error))
            return FALSE;
    }
    return ifm_tensor_file_save_temporary(path, names, tensors, n, error);
}

static gboolean make_reference(Worker *worker, IfmModelCase *model_case, const char *path, GError **error)
{
    IfmEngine *engine = worker_open_engine(worker, "onnxruntime", error);
    g_autoptr(IfmModel) model = engine != NULL ? ifm_model_open(model_case->model_path, error) : NULL;
    if (model == NULL)
        return FALSE;
    enter_long_phase(worker, "computing the reference", 2);
    model_case->device = "onnxruntime:CPU";
    model_case->dtype = IFM_DTYPE_F32;
    model_case->vendor = NULL;
    model_case->native_async = FALSE;
    model_case->threads = 1; /* its ScatterND, for one, loses additions where several threads meet in one row */
    g_autoptr(IfmModelSubject) subject = ifm_model_subject_new(engine, model, model_case, IFM_TWIN_REFERENCE, error);
    IfmSubject slots = subject != NULL ? ifm_model_subject_slots(subject) : (IfmSubject){ 0 };
    return subject != NULL && slots.run(slots.self, error) &&
           worker_save_outputs(ifm_model_subject_compiled(subject), ifm_model_subject_request(subject), path, error);
}

static json_t *answer_reference(Worker *worker, const json_t *request, GError **error)
{
    const char *path;
    g_auto(IfmOwnedCase) owned = { 0 };
    worker_enter_phase(worker, "opening the runtime");
    if (!ifm_json_get_string(request, "request", "path", &path, error) ||
        !ifm_owned_case_init(&owned, json_object_get(request, "case"), error) ||
        !make_reference(worker, &owned.model_case, path, error))
        return NULL;
    return json_pack("{s:s}", "path", path);
}

/* --- a case: prepare ---------------------------------------------------------------------------------------------- */

void worker_drop_prepared(Worker *worker)
{
    g_clear_pointer(&worker->load, worker_load_free);
    g_clear_pointer(&worker->subject, ifm_model_subject_free);
    g_clear_pointer(&worker->reference, ifm_reference_free);
    g_clear_pointer(&worker->model, ifm_model_unref);
    g_clear_pointer(&worker->measurement, ifm_measurement_free);
    ifm_owned_case_clear(&worker->owned);
    worker->engine = NULL;
    worker->n_warmup_sent = worker->n_samples_sent = 0;
    malloc_trim(0); /* so that the next case's growth is its own */
}

static void describe_surroundings(Worker *worker)
{
    const IfmModelCase *model_case = &worker->owned.model_case;
    json_t *surroundings = json_object();
    json_object_set_new(surroundings, "runtime", worker_engine_to_json(worker->engine));
    json_object_set_new(surroundings, "device", json_string(model_case->device));
    json_object_set_new(surroundings, "dtype", json_string(ifm_dtype_name(model_case->dtype)));
    json_object_set_new(surroundings, "threads_asked", json_integer(model_case->threads));
    json_object_set_new(surroundings, "native_async", json_boolean(model_case->native_async));
    json_object_set_new(surroundings, "warnings", json_array());
    worker->measurement->surroundings = surroundings;
}

/* From a cache or not: null where no cache was asked for, or the device has none. */
static void describe_compile(Worker *worker)
{
    const IfmCompiled *compiled = ifm_model_subject_compiled(worker->subject);
    gboolean cached =
        worker->owned.model_case.cache_dir != NULL && (ifm_compiled_capabilities(compiled) & IFM_CAN_CACHE) != 0;
    json_object_set_new(worker->measurement->surroundings, "compile",
                        json_pack("{s:I,s:o}", "time_ns", (json_int_t)ifm_model_subject_compile_ns(worker->subject),
                                  "from_cache", cached ? json_boolean(ifm_compiled_from_cache(compiled)) : json_null()));
}

static gboolean check_same(const char *path, const char *found, const char *then, GError **error)
{
    if (then == NULL || g_str_equal(found, then))
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                "%s: changed since this case was made (SHA-256 now %.12s..., then %.12s...)", path, found, then);
    return FALSE;
}

/* Whether model and inputs still are those that the case was made of. */
static gboolean check_digests(Worker *worker, const json_t *request, GError **error)
{
    const IfmModelCase *model_case = &worker->owned.model_case;
    const char *model = ifm_model_digest(worker->model, error);
    if (model == NULL ||
        !check_same(model_case->model_path, model, json_string_value(json_object_get(request, "digest")), error))
        return FALSE;
    if (model_case->inputs_path == NULL)
        return TRUE;
    g_autofree char *inputs = ifm_case_inputs_digest(worker->model, model_case, worker->digests, error);
    return inputs != NULL &&
           check_same(model_case->inputs_path, inputs, json_string_value(json_object_get(request, "inputs")), error);
}

gboolean worker_go_on(Worker *worker, const char *next_phase, int n_steps, GError **error)
{
    if (g_atomic_int_get(&worker->interrupted) != 0)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_CANCELLED, "interrupted while %s", worker->phase);
        return FALSE;
    }
    enter_long_phase(worker, next_phase, n_steps);
    return TRUE;
}

/* From here on what the process takes counts against the memory limit: its runtime is open, whether this case or an earlier
 * question opened it, and it holds no model. */
void worker_tell_base(Worker *worker)
{
    gint64 rss_bytes = ifm_sensor_rss_bytes("/", getpid());
    if (rss_bytes >= 0)
        worker_say(worker, json_pack("{s:s,s:I}", "say", "base", "base_rss_bytes", (json_int_t)rss_bytes));
}

static gboolean is_simulated(const char *device)
{
    return g_str_has_prefix(device, "simulated:");
}

/* All go by one clock: a virtual one means nothing to a real device. */
static gboolean needs_real_time(const IfmModelCase *model_case)
{
    gsize n_simulated = is_simulated(model_case->device);
    for (gsize i = 0; i < model_case->n_load; i++)
        n_simulated += is_simulated(model_case->load[i].device);
    return n_simulated > 0 && n_simulated < model_case->n_load + 1;
}

static gboolean prepare(Worker *worker, const json_t *request, GError **error)
{
    const IfmModelCase *model_case = &worker->owned.model_case;
    g_autoptr(IfmDeviceSpec) spec = NULL;
    worker->keeps_real_time = needs_real_time(model_case);
    worker_enter_phase(worker, "opening the runtime");
    worker->engine = worker_open_device(worker, model_case->device, &spec, error);
    if (worker->engine == NULL)
        return FALSE;
    describe_surroundings(worker);
    worker_tell_base(worker);
    if (!worker_go_on(worker, "reading the model", 1, error))
        return FALSE;
    worker->model = ifm_model_open(model_case->model_path, error);
    if (worker->model == NULL || !check_digests(worker, request, error) ||
        !worker_check_fits(worker, spec, json_integer_value(json_object_get(request, "memory_bytes")), error))
        return FALSE;
    worker_reset_peak(worker);
    worker_note_models(worker);
    worker_note_rss(worker, "before_compile_bytes");
    if (!worker_go_on(worker, "compiling", 1, error))
        return FALSE;
    worker->subject = ifm_model_subject_new(worker->engine, worker->model, model_case, IFM_TWIN_NONE, error);
    if (worker->subject == NULL)
        return FALSE;
    describe_compile(worker);
    worker_note_rss(worker, "after_compile_bytes");
    worker_note_peak(worker, "peak_compile_bytes");
    if (json_is_true(json_object_get(request, "attested"))) /* another process of the same was asked */
        return TRUE;
    if (!worker_go_on(worker, "checking what runs", WORKER_ATTEST_STEPS, error))
        return FALSE;
    g_autoptr(GError) failure = NULL;
    worker->measurement->attest = ifm_model_subject_attest(worker->subject, worker->measurement, &failure);
    if (failure == NULL)
        return worker_load_prepare(worker, json_object_get(json_object_get(request, "load"), "devices"), error);
    g_propagate_error(error, g_steal_pointer(&failure));
    return FALSE;
}

void worker_say_lost(Worker *worker, const char *device)
{
    worker_say(worker, json_pack("{s:s,s:[s]}", "say", "lost", "devices", device));
}

void worker_record_failure(Worker *worker, const GError *failure)
{
    gboolean absent = g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    ifm_measurement_fail(worker->measurement, absent ? IFM_OUTCOME_SKIPPED : IFM_OUTCOME_FAILED, failure);
}

json_t *worker_answer_measurement(Worker *worker, const GError *failure, GError **error)
{
    json_t *answer = NULL;
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        g_propagate_error(error, g_error_copy(failure));
    else
    {
        if (failure != NULL)
            worker_record_failure(worker, failure);
        answer = json_pack("{s:o}", "measurement", ifm_measurement_to_json(worker->measurement));
    }
    worker_drop_prepared(worker);
    return answer;
}

static json_t *answer_prepare(Worker *worker, const json_t *request, GError **error)
{
    worker_drop_prepared(worker);
    if (!ifm_owned_case_init(&worker->owned, json_object_get(request, "case"), error))
        return NULL;
    worker->measurement = ifm_measurement_new();
    g_autoptr(GError) failure = NULL;
    if (prepare(worker, request, &failure))
    {
        guint32 capabilities = ifm_compiled_capabilities(ifm_model_subject_compiled(worker->subject));
        return json_pack("{s:b,s:b}", "ready", TRUE, "true_outputs", (capabilities & IFM_CAN_TRUE_OUTPUTS) != 0);
    }
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return NULL;
    }
    worker_record_failure(worker, failure);
    json_t *answer = json_pack("{s:b,s:o}", "ready", FALSE, "measurement", ifm_measurement_to_json(worker->measurement));
    worker_drop_prepared(worker);
    return answer;
}

/* --- a case: measure ---------------------------------------------------------------------------------------------- */

/* What the books hold against the residual; asked once a device, process and amount of data. */
static const IfmCallCost *call_cost(Worker *worker)
{
    gsize io_bytes = ifm_model_subject_io_bytes(worker->subject);
    const IfmModelCase *model_case = &worker->owned.model_case;
    g_autofree char *key = g_strdup_printf("%s %d %" G_GSIZE_FORMAT, model_case->device, model_case->threads, io_bytes);
    IfmCallCost *known = g_hash_table_lookup(worker->call_costs, key);
    if (known == NULL)
    {
        known = g_new(IfmCallCost, 1);
        *known = ifm_call_cost_measure(worker->engine, model_case, io_bytes);
        g_hash_table_insert(worker->call_costs, g_steal_pointer(&key), known);
    }
    return known;
}

/* Where the graph is to be saved. (transfer full) The folder is the runner's, closed to others: the runtime writes to
 * whatever lies at a path. */
static char *place_optimised(void)
{
    return g_strdup_printf("%s/optimised-%d.onnx", g_get_tmp_dir(), (int)getpid());
}

/* Where the graph cannot be saved, without: the times of the nodes are worth more. @unsaved: (out) why */
static IfmModelSubject *profiled_twin(Worker *worker, const char *path, GError **unsaved, GError **error)
{
    const IfmModelCase *model_case = &worker->owned.model_case;
    IfmModelSubject *twin = ifm_model_subject_new_saving(worker->engine, worker->model, model_case, IFM_TWIN_PROFILED, path,
                                                         path != NULL ? unsaved : error);
    if (twin == NULL && path != NULL)
        twin = ifm_model_subject_new(worker->engine, worker->model, model_case, IFM_TWIN_PROFILED, error);
    return twin;
}

static gboolean measure_books(Worker *worker, GError **error)
{
    g_autoptr(GError) failure = NULL, unsaved = NULL;
    enter_long_phase(worker, "compiling for profiling", 2); /* once more where the graph cannot be saved */
    guint32 capabilities = ifm_compiled_capabilities(ifm_model_subject_compiled(worker->subject));
    g_autoptr(IfmModelSubject) twin = NULL;
    g_autofree char *path = (capabilities & IFM_CAN_SAVE_OPTIMISED) != 0 ? place_optimised() : NULL;
    if (capabilities & IFM_CAN_PROFILE)
        twin = profiled_twin(worker, path, &unsaved, &failure);
    else
        g_set_error(&failure, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "%s tells no times of nodes",
                    worker->owned.model_case.device);
    if (twin == NULL)
    {
        if (path != NULL)
            unlink(path); /* where it was written at all */
        json_decref(worker->measurement->books);
        worker->measurement->books =
            json_pack("{s:s,s:o}", "status", "unavailable", "why", ifm_json_string(failure->message));
        if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
            return TRUE;
        g_propagate_error(error, g_steal_pointer(&failure));
        return FALSE;
    }
    worker_enter_phase(worker, "profiling");
    const IfmModelCase *model_case = &worker->owned.model_case;
    gboolean good = ifm_books_measure(twin, model_case->profile_few ? NULL : call_cost(worker), &model_case->protocol,
                                      &worker->interrupted, profiling_beat, worker, worker->measurement, error);
    if (good && unsaved != NULL)
        ifm_optimised_unknown(worker->measurement, unsaved->message);
    else if (good && path != NULL)
        ifm_optimised_costs(path, &worker->owned.model_case, worker->measurement);
    if (good)
        ifm_optimised_parts(ifm_model_subject_compiled(twin), worker->measurement);
    if (path != NULL)
        unlink(path); /* where it was written at all */
    return good;
}

/* A lost device may have answered at once, and anything: it must still be there after the last run. */
gboolean worker_still_there(Worker *worker, GError **error)
{
    g_autoptr(GError) failure = NULL;
    worker_enter_phase(worker, "probing the device");
    if (worker_probe(worker->engine, worker->owned.model_case.device, &failure))
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_LOST, "the device is lost after the runs: %s", failure->message);
    return FALSE;
}

static gboolean run_case(Worker *worker, GError **error)
{
    const IfmModelCase *model_case = &worker->owned.model_case;
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
    gboolean there = known || worker_still_there(worker, &loss);
    json_decref(measurement->verification);
    measurement->verification = ifm_model_subject_verification(worker->subject);
    if (!there) /* that says more than what it answered then */
    {
        g_propagate_error(error, g_steal_pointer(&loss));
        return FALSE;
    }
    if (!measured)
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return FALSE;
    }
    worker_note_rss(worker, "after_runs_bytes");
    worker_note_peak(worker, "peak_runs_bytes");
    worker_note_growth(worker);
    worker_note_engine_memory(worker);
    json_t *streams = ifm_model_subject_streams(worker->subject);
    if (streams != NULL)
        json_object_set_new(measurement->surroundings, "streams", streams);
    return TRUE;
}

static gboolean run_and_profile(Worker *worker, const json_t *verification, GError **error)
{
    if (!run_case(worker, error))
        return FALSE;
    if (verification != NULL) /* why there is no reference */
        json_object_update(worker->measurement->verification, (json_t *)verification);
    if (!worker->owned.model_case.profile || g_atomic_int_get(&worker->interrupted) != 0)
        return TRUE;
    worker_send_draft(worker);
    if (!measure_books(worker, error))
        return FALSE;
    return worker_still_there(worker, error);
}

/* What was measured beside a load that failed is of no use; but a loss of the device itself says more. */
static gboolean measure_case(Worker *worker, const json_t *verification, GError **error)
{
    g_autoptr(GError) failure = NULL;
    g_autoptr(GError) load_failure = NULL;
    gboolean measured = worker_load_start(worker, &failure) && run_and_profile(worker, verification, &failure);
    gboolean lost = g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST);
    if (!worker_load_stop(worker, &load_failure) && !lost)
    {
        g_propagate_error(error, g_steal_pointer(&load_failure));
        return FALSE;
    }
    if (lost && worker->load != NULL)
        worker_say_lost(worker, worker->owned.model_case.device);
    if (!measured)
        g_propagate_error(error, g_steal_pointer(&failure));
    return measured;
}

static json_t *answer_measure(Worker *worker, const json_t *request, GError **error)
{
    g_autoptr(IfmReference) reference = NULL;
    g_autoptr(GError) failure = NULL;
    const char *path = json_string_value(json_object_get(request, "reference"));
    if (worker->subject == NULL || (path != NULL && (reference = ifm_reference_open(path, error)) == NULL))
    {
        if (worker->subject == NULL)
            g_set_error_literal(error, IFM_ERROR, IFM_ERROR_FAILED, "nothing was prepared");
        return NULL;
    }
    ifm_model_subject_set_reference(worker->subject, reference);
    gboolean measured = measure_case(worker, json_object_get(request, "verification"), &failure);
    json_t *answer = NULL;
    if (!measured && g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        g_propagate_error(error, g_steal_pointer(&failure));
    else
    {
        if (!measured)
            ifm_measurement_fail(worker->measurement, IFM_OUTCOME_FAILED, failure);
        answer = json_pack("{s:o}", "measurement", ifm_measurement_to_json(worker->measurement));
    }
    worker_drop_prepared(worker);
    return answer;
}

/* --- the channel -------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *name;
    json_t *(*answer)(Worker *worker, const json_t *request, GError **error);
} verbs[] = {
    { "engine", worker_answer_engine },
    { "devices", worker_answer_devices },
    { "probe", worker_answer_probe },
    { "find", worker_answer_find },
    { "reference", answer_reference },
    { "prepare", answer_prepare },
    { "observe", worker_answer_observe },
    { "measure", answer_measure },
    { "link", worker_answer_link },
    { "plan", worker_answer_plan },
    { "compare-start", worker_answer_compare_start },
    { "compare-round", worker_answer_compare_round },
    { "compare-end", worker_answer_compare_end },
    { "limit", worker_answer_limit },
};

static void serve(Worker *worker, const json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "do"));
    g_autoptr(GError) error = NULL;
    json_t *answer = NULL;
    gsize row = 0;
    while (row < G_N_ELEMENTS(verbs) && g_strcmp0(name, verbs[row].name) != 0)
        row++;
    ifm_clock_enter(worker->virtual_clock); /* this thread is known to it but while it waits for requests */
    if (row < G_N_ELEMENTS(verbs))
        answer = verbs[row].answer(worker, request, &error);
    else
        g_set_error(&error, IFM_ERROR, IFM_ERROR_INVALID, "the worker knows no request '%s'", name != NULL ? name : "");
    ifm_clock_leave(worker->virtual_clock);
    if (answer != NULL)
        worker_say(worker, json_pack("{s:s,s:o}", "say", "answer", "answer", answer));
    else
        worker_say(worker, json_pack("{s:s,s:s,s:o}", "say", "error", "code",
                                     ifm_error_code_name(error->domain == IFM_ERROR ? error->code : IFM_ERROR_FAILED),
                                     "message", ifm_json_string(error->message)));
}

/* Ends the process with the channel, whatever the other threads are in: the program that wanted answers is gone. */
static void *reader_main(void *data)
{
    Worker *worker = data;
    IfmMessageReader reader;
    json_t *message = NULL;
    ifm_message_reader_init(&reader, worker->fd);
    while (ifm_message_read(&reader, &message) == IFM_MESSAGE_ONE)
    {
        if (g_strcmp0(json_string_value(json_object_get(message, "do")), "stop") == 0)
        {
            g_atomic_int_set(&worker->interrupted, 1);
            json_decref(message);
        }
        else
        {
            g_atomic_int_set(&worker->interrupted, 0); /* a "stop" before this one was not meant for it */
            g_async_queue_push(worker->requests, message);
        }
    }
    _exit(0);
}

/*
 * A runtime may start threads from another thread than the one that infers, and with a mask of its own choice: TBB, which
 * OpenVINO's CPU device stands on, gives its pool the mask that the process's first thread had when TBB was first used. So
 * that one is on the device's cores before any runtime is loaded. Cores that this process may not use are left to
 * compiling, which refuses them with the reason.
 */
static void keep_to_cores(const char *device)
{
    g_autoptr(IfmDeviceSpec) spec = device != NULL ? ifm_device_spec_parse(device, NULL) : NULL;
    cpu_set_t before, wanted, got;
    if (spec == NULL || spec->n_cores == 0 || sched_getaffinity(0, sizeof before, &before) != 0)
        return;
    CPU_ZERO(&wanted);
    for (gsize i = 0; i < spec->n_cores; i++)
        CPU_SET((gsize)spec->cores[i], &wanted);
    gboolean kept = sched_setaffinity(0, sizeof wanted, &wanted) == 0 && sched_getaffinity(0, sizeof got, &got) == 0 &&
                    CPU_EQUAL(&wanted, &got); /* the kernel drops cores that it does not have without a word */
    if (!kept && sched_setaffinity(0, sizeof before, &before) != 0)
        g_debug("the mask of the worker cannot be restored");
}

int ifm_worker_main(int fd, const char *device)
{
    Worker worker = { .fd = fd, .phase = "waiting" };
    pthread_t reader;
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }); /* a crash is an answer here */
    signal(SIGPIPE, SIG_IGN);
    keep_to_cores(device);
    worker.real_clock = ifm_clock_new_real();
    worker.virtual_clock = ifm_clock_new_virtual(0);
    worker.requests = g_async_queue_new();
    worker.engines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    worker.digests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    worker.call_costs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    if (pthread_create(&reader, NULL, reader_main, &worker) != 0)
        return 1;
    for (;;) /* until the reader ends the process */
    {
        json_t *request = g_async_queue_pop(worker.requests);
        serve(&worker, request);
        json_decref(request);
    }
}
