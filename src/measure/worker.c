#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <base/fields.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "kind-private.h"
#include "verification.h"

/* A worker process answers the requests of a channel: it prepares and measures cases and reports its phases, samples
 * and errors. */

/* --- saying ------------------------------------------------------------------------------------------------------- */

void worker_say(Worker *worker, json_t *message /* (transfer full) */)
{
    gboolean sent = ifm_message_send(worker->fd, message); /* if the parent is gone, the reader ends the process */
    gboolean too_large = !sent && errno == EMSGSIZE;
    gboolean is_answer = g_strcmp0(ifm_member_text(message, "say"), "answer") == 0;
    json_decref(message);
    if (!too_large || !is_answer) /* a draft that is too large is left out */
        return;
    json_auto_t *error = json_pack("{s:s,s:s,s:s}", "say", "error", "code", ifm_error_code_name(IFM_ERROR_FAILED),
                                   "message", "the record is larger than a message may be: measure fewer runs");
    ifm_message_send(worker->fd, error);
}

/* @n_steps: compiles and runs that this phase makes without a word in between; each may take as long as the hang limit. */
void worker_enter_long_phase(Worker *worker, const char *phase, int n_steps)
{
    worker->phase = phase;
    worker_say(worker, json_pack("{s:s,s:s,s:i}", "say", "phase", "phase", phase, "steps", n_steps));
}

void worker_enter_wait(Worker *worker, const char *phase, gint64 wait_ns)
{
    worker->phase = phase;
    worker_say(worker, json_pack("{s:s,s:s,s:I}", "say", "phase", "phase", phase, "spare_ns", (json_int_t)MAX(wait_ns, 0)));
}

void worker_enter_phase(Worker *worker, const char *phase)
{
    worker_enter_long_phase(worker, phase, 1);
}

void worker_send_draft(Worker *worker)
{
    worker_say(worker, json_pack("{s:s,s:o}", "say", "draft", "measurement", ifm_measurement_to_json(worker->measurement)));
}

/* New samples travel with a beat where they are few: then each took long, and a program that cannot wait for the next to
 * end has them. Where they are many, the worker answers in time by itself. */
#define BEAT_MAX_SAMPLES 64

static void add_news(json_t *beat, const char *key, const GArray *series, guint *n_sent)
{
    if (series->len - *n_sent > BEAT_MAX_SAMPLES)
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

/* --- outputs ------------------------------------------------------------------------------------------------------ */

gboolean worker_save_outputs(IfmCompiled *compiled, IfmRequest *request, const char *path, GError **error)
{
    gsize n = ifm_compiled_info(compiled).n_outputs;
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

/* --- the reference ------------------------------------------------------------------------------------------------ */

static void enter_of_reference(const char *phase, int n_steps, void *user)
{
    worker_enter_long_phase(user, phase, n_steps);
}

static json_t *answer_reference(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error)
{
    const char *path;
    const IfmReferenceProgress progress = { enter_of_reference, worker };
    if (!ifm_json_get_string(request, "request", "path", &path, error))
        return NULL;
    IfmEngine *engine = worker_open_engine(worker, "onnxruntime", error);
    return engine != NULL && ifm_reference_make(engine, model_case, &progress, path, error)
               ? json_pack("{s:s}", "path", path)
               : NULL;
}

/* --- a case ---------------------------------------------------------------------------------------------- */

void worker_drop_prepared(Worker *worker)
{
    if (worker->kind != NULL && worker->kind->in_worker->drop != NULL)
        worker->kind->in_worker->drop(worker);
    worker->kind = NULL;
    g_clear_pointer(&worker->load, worker_load_free);
    g_clear_pointer(&worker->subject, ifm_model_subject_free);
    g_clear_pointer(&worker->reference, ifm_reference_free);
    g_clear_pointer(&worker->model, ifm_model_unref);
    g_clear_pointer(&worker->measurement, ifm_measurement_free);
    ifm_spec_clear(&worker->spec);
    worker->engine = NULL;
    worker->n_warmup_sent = worker->n_samples_sent = 0;
    malloc_trim(0); /* so that the next case's growth is its own */
}

gboolean worker_go_on(Worker *worker, const char *next_phase, int n_steps, GError **error)
{
    if (g_atomic_int_get(&worker->interrupted) != 0)
        return ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted while %s", worker->phase);
    worker_enter_long_phase(worker, next_phase, n_steps);
    return TRUE;
}

/* From here on what the process takes counts against the memory limit: its runtime is open, whether this case or an earlier
 * question opened it, and it holds no model. */
void worker_report_base(Worker *worker)
{
    gint64 rss_bytes = ifm_sensor_rss_bytes("/", getpid());
    if (rss_bytes >= 0)
        worker_say(worker, json_pack("{s:s,s:I}", "say", "base", "base_rss_bytes", (json_int_t)rss_bytes));
}

void worker_say_lost(Worker *worker, const char *device)
{
    worker_say(worker, json_pack("{s:s,s:[s]}", "say", "lost", "devices", device));
}

/* Ends a case. A device that is not here was not tried; all else is a failure of the case. @failure: NULL: none
 * Returns: (transfer full) NULL where it was cancelled. */
static json_t *answer_measurement(Worker *worker, const GError *failure, GError **error)
{
    json_t *answer = NULL;
    if (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        g_propagate_error(error, g_error_copy(failure));
    else
    {
        gboolean absent = g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
        if (failure != NULL)
            ifm_measurement_fail(worker->measurement, absent ? IFM_OUTCOME_SKIPPED : IFM_OUTCOME_FAILED, failure);
        answer = json_pack("{s:o}", "measurement", ifm_measurement_to_json(worker->measurement));
    }
    worker_drop_prepared(worker);
    return answer;
}

/* {"kind", "case", "sealed", "memory_bytes"} -> {"measurement"}; or, of a kind that needs a reference and of one that is to
 * be run in rounds ("rounds"), first {"ready", "true_outputs"}. */
static json_t *prepare_case(Worker *worker, const json_t *request, gboolean *ready, GError **error)
{
    g_autoptr(GError) failure = NULL;
    worker_drop_prepared(worker);
    const IfmCaseKind *kind = ifm_kind_find(ifm_member_text(request, "kind"), error);
    if (kind == NULL || !ifm_spec_init(&worker->spec, kind, json_object_get(request, "case"), error))
        return NULL;
    worker->kind = kind;
    worker->measurement = ifm_measurement_new();
    *ready = kind->in_worker->prepare(worker, request, &failure);
    if (!*ready)
        return answer_measurement(worker, failure, error);
    if (!kind->in_worker->needs_reference && !json_is_true(json_object_get(request, "rounds")))
        return NULL;
    const IfmCompiled *compiled = worker->subject != NULL ? worker->subject->compiled : NULL;
    guint32 capabilities = compiled != NULL ? ifm_compiled_info(compiled).capabilities : 0;
    return json_pack("{s:b,s:b}", "ready", TRUE, "true_outputs", (capabilities & IFM_CAN_TRUE_OUTPUTS) != 0);
}

static json_t *answer_measure(Worker *worker, const json_t *request, GError **error)
{
    g_autoptr(GError) failure = NULL;
    gboolean goes_on = json_object_get(request, "kind") == NULL, ready = goes_on && worker->kind != NULL;
    json_t *answer = NULL;
    if (!goes_on)
        answer = prepare_case(worker, request, &ready, error);
    else if (!ready)
        ifm_error_set(error, IFM_ERROR_FAILED, "nothing was prepared");
    if (answer != NULL || !ready)
        return answer;
    worker->kind->in_worker->run(worker, request, &failure);
    return answer_measurement(worker, failure, error);
}

/* --- the channel -------------------------------------------------------------------------------------------------- */

/* @of_model: of a model that the request has as "case", when no case is prepared */
static const struct
{
    const char *name;
    json_t *(*answer)(Worker *worker, const json_t *request, GError **error);
    json_t *(*of_model)(Worker *worker, const IfmModelCase *model_case, const json_t *request, GError **error);
} verbs[] = {
    { "engine", worker_answer_engine },
    { "devices", worker_answer_devices },
    { "probe", worker_answer_find },
    { "find", worker_answer_find },
    { "reference", NULL, answer_reference },
    { "observe", NULL, worker_answer_observe },
    { "optimise", NULL, worker_answer_optimise },
    { "nodes", NULL, worker_answer_nodes },
    { "tune", NULL, worker_answer_tune },
    { "measure", answer_measure },
    { "accuracy", NULL, worker_answer_accuracy },
    { "accuracy-layers", worker_answer_accuracy_layers },
    { "compare-start", worker_answer_compare_start },
    { "compare-round", worker_answer_compare_round },
    { "compare-nodes", worker_answer_compare_nodes },
    { "compare-end", worker_answer_compare_end },
};

static json_t *answer_verb(Worker *worker, gsize verb, const json_t *request, GError **error)
{
    g_auto(IfmSpec) spec = { 0 };
    if (verbs[verb].answer != NULL)
        return verbs[verb].answer(worker, request, error);
    worker_drop_prepared(worker);
    worker_enter_phase(worker, "opening the runtime");
    return ifm_spec_init(&spec, &ifm_kind_model, json_object_get(request, "case"), error)
               ? verbs[verb].of_model(worker, spec.data, request, error)
               : NULL;
}

static void serve(Worker *worker, const json_t *request)
{
    const char *name = ifm_member_text(request, "do");
    g_autoptr(GError) error = NULL;
    json_t *answer = NULL;
    gsize row = 0;
    while (row < G_N_ELEMENTS(verbs) && g_strcmp0(name, verbs[row].name) != 0)
        row++;
    ifm_clock_enter(worker->virtual_clock); /* this thread is known to it but while it waits for requests */
    if (row < G_N_ELEMENTS(verbs))
        answer = answer_verb(worker, row, request, &error);
    else
        ifm_error_refuse(&error, "the worker knows no request '%s'", name != NULL ? name : "");
    ifm_clock_leave(worker->virtual_clock);
    if (answer != NULL)
        worker_say(worker, json_pack("{s:s,s:o}", "say", "answer", "answer", answer));
    else
        worker_say(worker,
                   json_pack("{s:s,s:s,s:o,s:b}", "say", "error", "code",
                             ifm_error_code_name(error->domain == IFM_ERROR ? error->code : IFM_ERROR_FAILED), "message",
                             ifm_json_string(error->message), "wrong", worker->subject != NULL && worker->subject->wrong));
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
        if (g_strcmp0(ifm_member_text(message, "do"), "stop") == 0)
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
