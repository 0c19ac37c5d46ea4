#include <base/base.h>
#include <stdatomic.h>

#include "engine-private.h"

/* A request takes tensors, starts an inference of any engine, waits for it or cancels it, and reports its times,
 * profile and memory. */

/*
 * A request is idle, running (from start until the outcome is stored) or done. Only the owner starts it. The thread
 * that inferred stores the outcome. Waiting takes the condition's lock; inferring and finishing do not, unless a thread
 * waits: a loop on the executing thread takes no lock.
 */
enum
{
    IDLE,
    RUNNING,
    DONE
};

struct IfmRequestState
{
    IfmCondition *condition;
    IfmJob job;
    IfmDone done;
    void *user;
    gint64 queued_ns, started_ns; /* of the running inference */
    IfmRequestTimes times;        /* of the last one */
    GError *error;                /* its outcome */
    gboolean *is_set;             /* [n inputs] */
    gsize n_unset;
    _Atomic int phase;
    _Atomic int n_waiters;   /* threads that want to be woken */
    _Atomic int n_callbacks; /* `done` calls that have not returned: the request must outlive them */
    _Atomic int cancel_asked;
};

IfmRequest *ifm_compiled_request(IfmCompiled *compiled, int stream, GError **error)
{
    const IfmDriver *driver = compiled->engine->driver;
    if (stream < 0 || stream >= ifm_device_spec_n_streams(compiled->spec))
    {
        ifm_error_refuse(error, "device '%s': stream %d is not one of its %d", compiled->spec->text, stream,
                         ifm_device_spec_n_streams(compiled->spec));
        return NULL;
    }
    IfmRequest *request = g_malloc0(driver->request_size);
    request->compiled = compiled;
    request->stream = stream;
    request->state = g_new0(IfmRequestState, 1);
    request->state->condition = ifm_condition_new(compiled->engine->clock);
    request->state->n_unset = compiled->inputs->len;
    request->state->is_set = g_new0(gboolean, compiled->inputs->len);
    g_atomic_int_inc(&compiled->n_requests);
    if (!driver->request_init(request, error))
        g_clear_pointer(&request, ifm_request_free);
    return request;
}

/* Waits until @what has the value. */
static gboolean wait_value(IfmRequestState *state, _Atomic int *what, int value, gint64 deadline_ns)
{
    gboolean in_time = TRUE;
    ifm_condition_lock(state->condition);
    atomic_fetch_add(&state->n_waiters, 1); /* before @what is read: see wake() */
    while (in_time && atomic_load(what) != value)
        in_time = ifm_condition_wait_until(state->condition, deadline_ns) || atomic_load(what) == value;
    atomic_fetch_sub(&state->n_waiters, 1);
    ifm_condition_unlock(state->condition);
    return in_time;
}

/* The caller has changed what others wait for, then checks for waiters. A waiter counts itself, then reads the value:
 * one of the two sees the other. */
static void wake(IfmRequestState *state)
{
    if (atomic_load(&state->n_waiters) == 0)
        return;
    ifm_condition_lock(state->condition);
    ifm_condition_broadcast(state->condition);
    ifm_condition_unlock(state->condition);
}

void ifm_request_free(IfmRequest *request)
{
    if (request == NULL)
        return;
    IfmRequestState *state = request->state;
    if (atomic_load(&state->phase) == RUNNING)
        wait_value(state, &state->phase, DONE, IFM_CLOCK_NEVER);
    wait_value(state, &state->n_callbacks, 0, IFM_CLOCK_NEVER);
    request->compiled->engine->driver->request_clear(request);
    g_atomic_int_add(&request->compiled->n_requests, -1);
    ifm_condition_free(state->condition);
    g_clear_error(&state->error);
    g_free(state->is_set);
    g_free(state);
    g_free(request);
}

/* --- arguments -------------------------------------------------------------------------------------------------------- */

static gboolean check_not_running(const IfmRequest *request, GError **error)
{
    return atomic_load(&request->state->phase) != RUNNING ||
           ifm_error_refuse(error, "%s: an inference is running on this request: wait for it first",
                            request->compiled->who);
}

static gboolean fits(const IfmPort *port, const IfmTensor *tensor)
{
    gboolean same = port->dtype == tensor->dtype && (port->rank < 0 || port->rank == tensor->rank);
    for (int axis = 0; same && axis < port->rank; axis++)
        same = port->dims[axis] < 0 || port->dims[axis] == tensor->shape[axis];
    return same;
}

static gboolean check_tensor(const IfmRequest *request, const char *side, const IfmPort *port, const IfmTensor *tensor,
                             GError **error)
{
    const IfmCompiled *compiled = request->compiled;
    const char *trouble = NULL;
    if (!fits(port, tensor))
    {
        g_autofree char *right = ifm_shape_to_string(port->rank, port->dims);
        g_autofree char *found = ifm_shape_to_string(tensor->rank, tensor->shape);
        return ifm_error_refuse(error, "%s, %s '%s': %s%s given, %s%s is expected", ifm_model_name(compiled->model), side,
                                port->name, ifm_dtype_name(tensor->dtype), found, ifm_dtype_name(port->dtype),
                                port->rank < 0 ? "[...]" : right);
    }
    if (!ifm_tensor_is_contiguous(tensor))
        trouble = "its bytes are not contiguous";
    else if (tensor->data == NULL && tensor->size_bytes > 0)
        trouble = "it has no bytes";
    else if (tensor->memory == IFM_MEMORY_DEVICE && (compiled->capabilities & IFM_CAN_BUFFERS) == 0)
        trouble = "it is in device memory, and this device has none of its own";
    if (trouble != NULL)
        ifm_error_refuse(error, "%s, %s '%s': %s", ifm_model_name(compiled->model), side, port->name, trouble);
    return trouble == NULL;
}

static const IfmPort *find_port(const IfmRequest *request, const GPtrArray *ports, const char *side, gsize index,
                                GError **error)
{
    if (index < ports->len)
        return ports->pdata[index];
    ifm_error_refuse(error, "%s: no %s %zu, it has %u", ifm_model_name(request->compiled->model), side, index, ports->len);
    return NULL;
}

static gboolean check_capability(const IfmRequest *request, guint32 bit, GError **error)
{
    return (request->compiled->capabilities & bit) != 0 ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: \"%s\" is not among the things it can do",
                         request->compiled->spec->text, ifm_capability_name(bit));
}

gboolean ifm_request_set_input(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error)
{
    const IfmPort *input = find_port(request, request->compiled->inputs, "input", port, error);
    if (input == NULL || !check_not_running(request, error) || !check_tensor(request, "input", input, tensor, error) ||
        !request->compiled->engine->driver->set_input(request, port, tensor, error))
        return FALSE;
    request->state->n_unset -= !request->state->is_set[port];
    request->state->is_set[port] = TRUE;
    return TRUE;
}

gboolean ifm_request_set_sizes(IfmRequest *request, const IfmDimBinding *sizes, gsize n, GError **error)
{
    const IfmDriver *driver = request->compiled->engine->driver;
    return driver->set_sizes == NULL || (check_not_running(request, error) && driver->set_sizes(request, sizes, n, error));
}

gboolean ifm_request_set_output(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error)
{
    const IfmPort *output = find_port(request, request->compiled->outputs, "output", port, error);
    return output != NULL && check_not_running(request, error) && check_capability(request, IFM_CAN_SET_OUTPUT, error) &&
           (tensor == NULL || check_tensor(request, "output", output, tensor, error)) &&
           request->compiled->engine->driver->set_output(request, port, tensor, error);
}

gboolean ifm_request_output(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error)
{
    IfmRequestState *state = request->state;
    if (find_port(request, request->compiled->outputs, "output", port, error) == NULL || !check_not_running(request, error))
        return FALSE;
    if (atomic_load(&state->phase) == IDLE || state->error != NULL)
        return ifm_error_refuse(error, "%s: no inference has ended well on this request", request->compiled->who);
    return request->compiled->engine->driver->output(request, port, tensor, error);
}

/* --- inferring -------------------------------------------------------------------------------------------------------- */

/*
 * Stores the outcome and reports it. Once the phase is DONE and the lock is free, the owner may start the request
 * again, or free it unless a callback is counted: nothing of it is accessed after that. @inside_start:
 * ifm_request_start() has not returned yet, so the request cannot be freed, and the lock is needed only if a thread
 * waits.
 */
static void complete(IfmRequest *request, gint64 completed_ns, GError *error, gboolean inside_start)
{
    IfmRequestState *state = request->state;
    IfmDone done = state->done;
    void *user = state->user;
    GError *reported = done != NULL && error != NULL ? g_error_copy(error) : NULL; /* the next start drops state->error */
    state->times = (IfmRequestTimes){ state->queued_ns, state->started_ns, completed_ns };
    state->error = error;
    if (done == NULL && inside_start)
    {
        atomic_store(&state->phase, DONE);
        wake(state);
        return;
    }
    if (done != NULL)
        atomic_fetch_add(&state->n_callbacks, 1);
    ifm_condition_lock(state->condition);
    atomic_store(&state->phase, DONE);
    ifm_condition_broadcast(state->condition);
    ifm_condition_unlock(state->condition);
    if (done == NULL)
        return;
    done(request, reported, user);
    g_clear_error(&reported);
    ifm_condition_lock(state->condition);
    atomic_fetch_sub(&state->n_callbacks, 1);
    ifm_condition_broadcast(state->condition);
    ifm_condition_unlock(state->condition);
}

void ifm_request_completed(IfmRequest *request, gint64 completed_ns, GError *error)
{
    complete(request, completed_ns, error, FALSE);
}

static void infer(IfmRequest *request, gboolean inside_start)
{
    IfmRequestState *state = request->state;
    const IfmDriver *driver = request->compiled->engine->driver;
    IfmClock *clock = request->compiled->engine->clock;
    GError *error = NULL;
    gboolean ready = driver->prepare == NULL || driver->prepare(request, &error);
    state->started_ns = ifm_clock_now_ns(clock);
    if (inside_start)
        state->queued_ns = state->started_ns;
    if (ready && atomic_load_explicit(&state->cancel_asked, memory_order_acquire))
        ifm_error_set(&error, IFM_ERROR_CANCELLED, "%s: cancelled before it began", request->compiled->who);
    else if (ready)
        driver->infer(request, &error);
    complete(request, ifm_clock_now_ns(clock), error, inside_start);
}

static void infer_posted(void *user)
{
    infer(user, FALSE);
}

static gboolean check_inputs(const IfmRequest *request, GError **error)
{
    if (request->state->n_unset == 0)
        return TRUE;
    gsize port = 0;
    while (request->state->is_set[port])
        port++;
    const IfmPort *input = request->compiled->inputs->pdata[port];
    return ifm_error_refuse(error, "%s: input '%s' was not set", ifm_model_name(request->compiled->model), input->name);
}

static gboolean start_native(IfmRequest *request, GError **error)
{
    IfmRequestState *state = request->state;
    state->started_ns = state->queued_ns;
    if (request->compiled->engine->driver->infer_async(request, error))
        return TRUE;
    atomic_store(&state->phase, IDLE);
    return FALSE;
}

gboolean ifm_request_start(IfmRequest *request, IfmDone done, void *user, GError **error)
{
    IfmRequestState *state = request->state;
    if (!check_not_running(request, error) || !check_inputs(request, error))
        return FALSE;
    g_clear_error(&state->error);
    if (atomic_exchange(&state->cancel_asked, 0) && request->compiled->engine->driver->cancel_clear != NULL)
        request->compiled->engine->driver->cancel_clear(request);
    state->done = done;
    state->user = user;
    atomic_store(&state->phase, RUNNING);
    IfmExecutor *executor = ifm_compiled_executor(request->compiled, request->stream);
    if (executor != NULL && ifm_executor_is_current(executor))
    {
        infer(request, TRUE);
        return TRUE;
    }
    state->queued_ns = ifm_clock_now_ns(request->compiled->engine->clock);
    if (executor == NULL)
        return start_native(request, error);
    state->job = (IfmJob){ .function = infer_posted, .user = request };
    ifm_executor_post(executor, &state->job);
    return TRUE;
}

gboolean ifm_request_wait(IfmRequest *request, gint64 timeout_ns, GError **error)
{
    IfmRequestState *state = request->state;
    int phase = atomic_load(&state->phase);
    if (phase == IDLE)
        return ifm_error_refuse(error, "%s: no inference was started on this request", request->compiled->who);
    if (phase == RUNNING)
    {
        gint64 now_ns = ifm_clock_now_ns(request->compiled->engine->clock);
        gint64 deadline_ns = timeout_ns > IFM_CLOCK_NEVER - now_ns ? IFM_CLOCK_NEVER : now_ns + timeout_ns;
        if (!wait_value(state, &state->phase, DONE, deadline_ns))
            return ifm_error_set(error, IFM_ERROR_TIMEOUT, "%s: not done after %.3f s", request->compiled->who,
                                 timeout_ns / 1e9);
    }
    if (state->error == NULL)
        return TRUE;
    return ifm_error_pass(error, g_error_copy(state->error));
}

gboolean ifm_request_cancel(IfmRequest *request, GError **error)
{
    if (!check_capability(request, IFM_CAN_CANCEL, error))
        return FALSE;
    if (atomic_load(&request->state->phase) != RUNNING)
        return TRUE;
    atomic_store_explicit(&request->state->cancel_asked, 1, memory_order_release);
    request->compiled->engine->driver->cancel(request);
    return TRUE;
}

void ifm_request_times(const IfmRequest *request, IfmRequestTimes *times)
{
    *times = request->state->times;
}

/* --- profiles and memory ---------------------------------------------------------------------------------------------- */

void ifm_engine_profile_free(IfmEngineProfile *profile)
{
    if (profile == NULL)
        return;
    g_clear_pointer(&profile->nodes, g_ptr_array_unref);
    g_free(profile);
}

void ifm_node_time_free(IfmNodeTime *node)
{
    g_clear_pointer(&node->outputs, g_array_unref);
    g_free(node->name);
    g_free(node->op_type);
    g_free(node->provider);
    g_free(node->implementation);
    g_free(node);
}

IfmEngineProfile *ifm_engine_profile_new(void)
{
    IfmEngineProfile *profile = g_new0(IfmEngineProfile, 1);
    profile->nodes = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_node_time_free);
    profile->inside_ns = -1;
    profile->n_inferences = 1;
    return profile;
}

/*
 * Makes means since the compile into the mean since the last reading. Mean x count is the sum so far, short of it by less
 * than count x resolution; the difference of two sums, divided by the inferences in between, is their mean. A sum never
 * falls, so that the differences add up. Returns: whether there was an inference in between.
 */
static gboolean difference_means(IfmCompiled *compiled, IfmEngineProfile *profile)
{
    gint64 n = profile->n_inferences, n_new = n - compiled->n_profiled;
    if (n_new <= 0)
        return FALSE;
    if (compiled->profiled_ns == NULL)
        compiled->profiled_ns = g_array_new(FALSE, TRUE, sizeof(gint64));
    if (compiled->profiled_ns->len < profile->nodes->len)
        g_array_set_size(compiled->profiled_ns, profile->nodes->len);
    for (guint i = 0; i < profile->nodes->len; i++)
    {
        IfmNodeTime *node = profile->nodes->pdata[i];
        gint64 *known_ns = &g_array_index(compiled->profiled_ns, gint64, i);
        gint64 sum_ns = MAX(node->duration_ns * n, *known_ns);
        node->duration_ns = node->duration_ns < 0 ? -1 : (sum_ns - *known_ns) / n_new;
        *known_ns = sum_ns;
    }
    for (guint i = profile->nodes->len; i > 0; i--)
        if (((const IfmNodeTime *)profile->nodes->pdata[i - 1])->duration_ns < 0)
            g_ptr_array_remove_index(profile->nodes, i - 1);
    profile->resolution_ns = profile->resolution_ns * (n + compiled->n_profiled) / n_new;
    profile->n_inferences = n_new;
    compiled->n_profiled = n;
    return TRUE;
}

GPtrArray *ifm_compiled_profile(IfmCompiled *compiled, IfmRequest *request, GError **error)
{
    if (!check_not_running(request, error) || !check_capability(request, IFM_CAN_PROFILE, error))
        return NULL;
    if (!compiled->options.profiling)
    {
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: was compiled without profiling", compiled->who);
        return NULL;
    }
    g_autoptr(GPtrArray) profiles = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_engine_profile_free);
    if (!compiled->engine->driver->profile(compiled, request, profiles, error))
        return NULL;
    if ((compiled->capabilities & IFM_PROFILE_MEANS) != 0 && profiles->len > 0 &&
        !difference_means(compiled, profiles->pdata[0]))
        g_ptr_array_set_size(profiles, 0);
    return g_steal_pointer(&profiles);
}

typedef struct
{
    IfmCompiled *compiled;
    GHashTable *parts;
} AskedParts;

static void ask_parts(void *user)
{
    AskedParts *asked = user;
    asked->parts = asked->compiled->engine->driver->parts(asked->compiled);
}

GHashTable *ifm_compiled_parts(IfmCompiled *compiled)
{
    AskedParts asked = { compiled, NULL };
    if (compiled->engine->driver->parts != NULL && compiled->options.profiling)
        ifm_compiled_invoke(compiled, 0, ask_parts, &asked);
    return asked.parts;
}

gboolean ifm_compiled_memory(IfmCompiled *compiled, IfmEngineMemory *memory, GError **error)
{
    *memory = IFM_ENGINE_MEMORY_INIT;
    if ((compiled->capabilities & IFM_CAN_MEMORY) != 0)
        return compiled->engine->driver->memory(compiled, memory, error);
    return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: this runtime reports nothing about its memory (\"%s\")",
                         compiled->spec->text, ifm_capability_name(IFM_CAN_MEMORY));
}
