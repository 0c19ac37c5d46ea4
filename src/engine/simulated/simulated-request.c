#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "simulated-private.h"

/* On a real clock a waiting thread is woken this much earlier and spins the rest. */
#define SPIN_NS 100000

static SimulatedCompiled *compiled_of(const SimulatedRequest *request)
{
    return (SimulatedCompiled *)request->base.compiled;
}

gboolean simulated_request_init(IfmRequest *base, GError **error)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    SimulatedCompiled *compiled = compiled_of(request);
    const char *stage = compiled->stage != NULL ? compiled->stage : "";
    guint32 seed[] = { compiled->seed, g_str_hash(compiled->base.spec->unit), g_str_hash(stage), (guint32)base->stream,
                       (guint32)g_atomic_int_add(&compiled->n_requests, 1) };
    request->inputs = g_new0(IfmTensor, base->compiled->inputs->len + 1);
    request->outputs = g_new0(IfmTensor, base->compiled->outputs->len + 1);
    request->output_given = g_new0(gboolean, base->compiled->outputs->len + 1);
    request->sizes = compiled->known;
    request->sizes.values = g_memdup2(compiled->known.values, (compiled->known.n + 1) * sizeof(double));
    noise_init(&request->noise, compiled->noiseless ? NULL : compiled->unit->noise, seed, G_N_ELEMENTS(seed));
    request->nonsense = g_rand_new_with_seed_array(seed, G_N_ELEMENTS(seed));
    request->condition =
        compiled->contention != NULL ? compiled->contention->condition : ifm_condition_new(base->compiled->engine->clock);
    request->where = g_strdup_printf("%s, %s", base->compiled->spec->text, ifm_model_name(base->compiled->model));
    request->resized = TRUE;
    if (base->compiled->options.profiling)
    {
        request->shares = g_new0(double, ifm_model_n_nodes(base->compiled->model) + 1);
        request->history = g_new0(gint64, SIMULATED_HISTORY);
    }
    unit_state_refresh(compiled->state);
    if (compiled->inner == NULL)
        return TRUE;
    request->inner = ifm_compiled_request(compiled->inner, 0, error);
    return request->inner != NULL;
}

void simulated_request_clear(IfmRequest *base)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    for (gsize i = 0; i < base->compiled->outputs->len; i++)
        if (!request->output_given[i])
            ifm_tensor_clear(&request->outputs[i]);
    unit_state_take(compiled_of(request)->state, -request->taken_bytes, 0);
    ifm_request_free(request->inner);
    if (compiled_of(request)->contention == NULL)
        ifm_condition_free(request->condition);
    noise_clear(&request->noise);
    g_clear_pointer(&request->nonsense, g_rand_free);
    g_free(request->inputs);
    g_free(request->outputs);
    g_free(request->output_given);
    g_free(request->sizes.values);
    g_free(request->shares);
    g_free(request->history);
    g_free(request->where);
}

static gboolean check_memory(const SimulatedRequest *request, const IfmTensor *tensor, GError **error)
{
    SimulatedEngine *engine = (SimulatedEngine *)request->base.compiled->engine;
    if (simulated_check_memory(engine, tensor, compiled_of(request)->unit, error))
        return TRUE;
    return ifm_error_prefix(error, "%s: ", request->where);
}

gboolean simulated_set_input(IfmRequest *base, gsize port, const IfmTensor *tensor, GError **error)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    if (!check_memory(request, tensor, error))
        return FALSE;
    request->resized |= request->inputs[port].data == NULL || request->inputs[port].memory != tensor->memory ||
                        !ifm_tensor_same_shape(&request->inputs[port], tensor);
    request->inputs[port] = *tensor;
    request->inputs[port].release = NULL; /* borrowed */
    return TRUE;
}

gboolean simulated_set_sizes(IfmRequest *base, const IfmDimBinding *sizes, gsize n, GError **error)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    for (gsize i = 0; i < n; i++)
    {
        double known = simulated_size(&request->sizes, sizes[i].name); /* NaN is not equal to anything */
        if (known == (double)sizes[i].value)
            continue;
        simulated_sizes_set(&request->sizes, sizes[i].name, (double)sizes[i].value);
        request->resized = TRUE;
    }
    return TRUE;
}

gboolean simulated_set_output(IfmRequest *base, gsize port, const IfmTensor *tensor, GError **error)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    IfmTensor *output = &request->outputs[port];
    if (tensor != NULL && !check_memory(request, tensor, error))
        return FALSE;
    if (!request->output_given[port])
        ifm_tensor_clear(output);
    *output = tensor != NULL ? *tensor : IFM_TENSOR_INIT;
    output->release = NULL;
    request->output_given[port] = tensor != NULL;
    request->resized = TRUE;
    return TRUE;
}

gboolean simulated_output(IfmRequest *base, gsize port, IfmTensor *tensor, GError **error)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    const IfmPort *output = ifm_compiled_output(base->compiled, port);
    *tensor = request->outputs[port];
    tensor->release = NULL;
    return tensor->dtype != IFM_DTYPE_UNDEFINED ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                         "%s: the shape of output '%s' is unknown, and the device computes no outputs", request->where,
                         output->name);
}

/* --- after a change of shapes: sizes, shapes of outputs, latency ------------------------------------------------------ */

/* The free dimensions of the model with the inputs' values. (transfer full) IfmDimBinding with borrowed names. */
static GArray *bindings_of(const SimulatedRequest *request)
{
    const IfmModel *model = request->base.compiled->model;
    GArray *bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int axis = 0; axis < port->rank; axis++)
            if (port->dims[axis] < 0)
                g_array_append_val(bindings, ((IfmDimBinding){ port->dim_names[axis], request->inputs[i].shape[axis] }));
    }
    return bindings;
}

/* One name may be the dimension of several inputs, which must agree. */
static gboolean read_sizes(SimulatedRequest *request, const GArray *bindings, GError **error)
{
    for (gsize i = 0; i < bindings->len; i++)
    {
        const IfmDimBinding *binding = &g_array_index(bindings, IfmDimBinding, i);
        for (gsize k = 0; k < i; k++)
        {
            const IfmDimBinding *other = &g_array_index(bindings, IfmDimBinding, k);
            if (!g_str_equal(other->name, binding->name) || other->value == binding->value)
                continue;
            return ifm_error_refuse(
                error, "%s: dimension %s is %" G_GINT64_FORMAT " in one input and %" G_GINT64_FORMAT " in another",
                request->where, binding->name, other->value, binding->value);
        }
        simulated_sizes_set(&request->sizes, binding->name, (double)binding->value);
    }
    return TRUE;
}

static gboolean predict(SimulatedRequest *request, const IfmAnalysis *analysis, const GError *unanalysed, GError **error)
{
    SimulatedCompiled *compiled = compiled_of(request);
    const LatencyDescription *latency = compiled->unit->latency;
    Prediction *prediction = &request->prediction;
    g_autoptr(GError) local = NULL;
    *prediction = (Prediction){ .sigma = NAN };
    if (latency->source == SOURCE_FIXED)
    {
        prediction->mean_ns = (double)latency->fixed_ns;
        prediction->how = "fixed";
        return TRUE;
    }
    if (compiled->table != NULL && compiled->table->missing == NULL)
    {
        if (range_table_predict(compiled->table, &request->sizes, prediction, &local))
            return TRUE;
        if (!latency->otherwise_roofline)
        {
            g_propagate_prefixed_error(error, g_steal_pointer(&local), "%s: ", request->where);
            return FALSE;
        }
    }
    *prediction = (Prediction){ .sigma = NAN, .how = "roofline" };
    if (analysis == NULL)
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: no roofline: %s", request->where, unanalysed->message);
    return analysis != NULL &&
           roofline_predict(latency->roofline, request->base.compiled->model, analysis, &prediction->mean_ns, error);
}

static gboolean output_shape(const SimulatedRequest *request, gsize index, const GArray *bindings,
                             const IfmAnalysis *analysis, int *rank, gint64 *shape)
{
    const IfmPort *port = ifm_model_output(request->base.compiled->model, index);
    IfmDtype dtype;
    gboolean known = port->rank >= 0;
    *rank = port->rank;
    for (int axis = 0; known && axis < port->rank; axis++)
    {
        shape[axis] = port->dims[axis];
        for (gsize i = 0; shape[axis] < 0 && i < bindings->len; i++)
            if (g_strcmp0(port->dim_names[axis], g_array_index(bindings, IfmDimBinding, i).name) == 0)
                shape[axis] = g_array_index(bindings, IfmDimBinding, i).value;
        known = shape[axis] >= 0;
    }
    return known || (analysis != NULL && ifm_analysis_shape(analysis, port->name, &dtype, rank, shape));
}

/* An output of the request's own gets the shape; one of the caller's must have it already. */
static gboolean fit_output(SimulatedRequest *request, gsize index, IfmDtype dtype, int rank, const gint64 *shape,
                           GError **error)
{
    IfmTensor *output = &request->outputs[index];
    gboolean fits =
        output->dtype == dtype && output->rank == rank && memcmp(output->shape, shape, (gsize)rank * sizeof *shape) == 0;
    if (fits)
        return TRUE;
    if (!request->output_given[index])
    {
        ifm_tensor_clear(output);
        return (request->inner != NULL ? ifm_tensor_init : ifm_tensor_reserve)(output, dtype, rank, shape, error);
    }
    g_autofree char *given = ifm_shape_to_string(output->rank, output->shape);
    g_autofree char *right = ifm_shape_to_string(rank, shape);
    return ifm_error_refuse(error, "%s: output '%s' is %s, the tensor set for it is %s", request->where,
                            ifm_compiled_output(request->base.compiled, index)->name, right, given);
}

static gboolean shape_outputs(SimulatedRequest *request, const GArray *bindings, const IfmAnalysis *analysis,
                              GError **error)
{
    for (gsize i = 0; i < request->base.compiled->outputs->len; i++)
    {
        gint64 shape[IFM_MAX_RANK];
        int rank;
        const IfmPort *port = ifm_compiled_output(request->base.compiled, i);
        if (output_shape(request, i, bindings, analysis, &rank, shape) &&
            !fit_output(request, i, port->dtype, rank, shape, error))
            return FALSE;
    }
    return TRUE;
}

static void add_transfers(SimulatedRequest *request)
{
    const UnitDescription *unit = compiled_of(request)->unit;
    gsize n_inputs = request->base.compiled->inputs->len, n = n_inputs + request->base.compiled->outputs->len;
    request->transfer_ns = 0;
    if (unit->link == NULL || unit->link->in_latency)
        return;
    for (gsize i = 0; i < n; i++)
    {
        const IfmTensor *tensor = i < n_inputs ? &request->inputs[i] : &request->outputs[i - n_inputs];
        if (tensor->memory != IFM_MEMORY_DEVICE)
            request->transfer_ns += simulated_transfer_ns(unit, tensor->size_bytes);
    }
}

/* The bytes of a node's tensors without weights, which stay on the device. */
static gint64 node_tensor_bytes(const IfmModel *model, const IfmNode *node, const IfmAnalysis *analysis)
{
    gint64 bytes = 0, shape[IFM_MAX_RANK];
    for (gsize i = 0; i < node->n_inputs + node->n_outputs; i++)
    {
        const char *name = i < node->n_inputs ? node->inputs[i] : node->outputs[i - node->n_inputs];
        IfmTensor weight;
        IfmDtype dtype;
        int rank;
        gsize size = 0;
        if (*name != '\0' && !ifm_model_initializer(model, name, &weight) &&
            ifm_analysis_shape(analysis, name, &dtype, &rank, shape))
            ifm_shape_size_bytes(dtype, rank, shape, &size, NULL);
        bytes += (gint64)size;
    }
    return bytes;
}

/* An inference holds the tensors of its largest node, the minimum for any order of execution. */
static gboolean take_working_set(SimulatedRequest *request, const IfmAnalysis *analysis, GError **error)
{
    const SimulatedCompiled *compiled = compiled_of(request);
    const IfmModel *model = compiled->base.model;
    gint64 bytes = 0;
    for (gsize i = 0; analysis != NULL && i < ifm_model_n_nodes(model); i++)
        bytes = MAX(bytes, node_tensor_bytes(model, ifm_model_node(model, i), analysis));
    unit_state_take(compiled->state, -request->taken_bytes, 0);
    request->taken_bytes = 0;
    if (!unit_state_take(compiled->state, bytes, compiled->unit->memory_bytes))
        return ifm_error_set(error, IFM_ERROR_MEMORY,
                             "%s: an inference needs %" G_GINT64_FORMAT " bytes, of %" G_GINT64_FORMAT
                             " the device has %" G_GINT64_FORMAT " left",
                             request->where, bytes, compiled->unit->memory_bytes,
                             compiled->unit->memory_bytes - atomic_load(&compiled->state->taken_bytes));
    request->taken_bytes = bytes;
    return TRUE;
}

static gboolean prepare(SimulatedRequest *request, GError **error)
{
    IfmModel *model = request->base.compiled->model;
    g_autoptr(GArray) bindings = bindings_of(request);
    g_autoptr(GError) unanalysed = NULL;
    if (!read_sizes(request, bindings, error))
        return FALSE;
    g_autoptr(IfmAnalysis) analysis =
        ifm_model_analyse(model, (const IfmDimBinding *)bindings->data, bindings->len, &unanalysed);
    if (!predict(request, analysis, unanalysed, error) || !take_working_set(request, analysis, error) ||
        !shape_outputs(request, bindings, analysis, error))
        return FALSE;
    if (request->shares != NULL)
        node_shares(compiled_of(request)->unit->latency->roofline, model, analysis, request->shares);
    add_transfers(request);
    request->inner_done = FALSE;
    request->resized = FALSE;
    return TRUE;
}

/* --- outputs ---------------------------------------------------------------------------------------------------------- */

/* A digest of all input bytes: unchanged inputs need not be computed again. Four lanes, to reach memory speed. */
static guint64 digest_inputs(const SimulatedRequest *request)
{
    guint64 lanes[4] = { 1, 2, 3, 4 };
    for (gsize i = 0; i < request->base.compiled->inputs->len; i++)
    {
        IfmTensor view = simulated_host_view(&request->inputs[i]);
        const char *bytes = view.data;
        gsize at = 0;
        for (; at + 32 <= view.size_bytes; at += 32)
            for (int lane = 0; lane < 4; lane++)
            {
                guint64 word;
                memcpy(&word, bytes + at + 8 * lane, 8);
                lanes[lane] = (lanes[lane] ^ word) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
                lanes[lane] ^= lanes[lane] >> 32;
            }
        for (; at < view.size_bytes; at++)
            lanes[0] = (lanes[0] ^ (guint8)bytes[at]) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
        lanes[1] ^= view.size_bytes + i;
    }
    return ((lanes[0] * 31 + lanes[1]) * 31 + lanes[2]) * 31 + lanes[3];
}

static gboolean run_inner(SimulatedRequest *request, GError **error)
{
    guint64 digest = digest_inputs(request);
    if (request->inner_done && digest == request->inner_digest)
        return TRUE;
    request->inner_done = FALSE;
    for (gsize i = 0; i < request->base.compiled->inputs->len; i++)
    {
        IfmTensor view = simulated_host_view(&request->inputs[i]);
        if (!ifm_request_set_input(request->inner, i, &view, error))
            return FALSE;
    }
    if (!ifm_request_start(request->inner, NULL, NULL, error) || !ifm_request_wait(request->inner, IFM_CLOCK_NEVER, error))
        return FALSE;
    request->inner_digest = digest;
    return request->inner_done = TRUE;
}

/* The part of an output that is written. The rest stays untouched, so that tensors of gigabytes cost no time. */
static IfmTensor written_part(const SimulatedRequest *request, gsize index)
{
    IfmTensor view = simulated_host_view(&request->outputs[index]);
    return request->inner != NULL ? view : ifm_tensor_head(&view, IFM_UNTRUE_OUTPUT_BYTES);
}

static void clear_outputs(SimulatedRequest *request)
{
    for (gsize i = 0; i < request->base.compiled->outputs->len; i++)
    {
        IfmTensor part = written_part(request, i);
        if (part.data != NULL)
            memset(part.data, 0, part.size_bytes);
    }
}

static gboolean compute_outputs(SimulatedRequest *request, GError **error)
{
    if (request->inner == NULL)
    {
        clear_outputs(request);
        return TRUE;
    }
    if (!run_inner(request, error))
        return ifm_error_prefix(error, "%s, computing true outputs: ", request->where);
    for (gsize i = 0; i < request->base.compiled->outputs->len; i++)
    {
        IfmTensor truth;
        if (!ifm_request_output(request->inner, i, &truth, error) ||
            !fit_output(request, i, truth.dtype, truth.rank, truth.shape, error))
            return FALSE;
        IfmTensor view = simulated_host_view(&request->outputs[i]);
        memcpy(view.data, truth.data, truth.size_bytes);
    }
    return TRUE;
}

static void fill_nonsense(SimulatedRequest *request)
{
    for (gsize i = 0; i < request->base.compiled->outputs->len; i++)
    {
        IfmTensor part = written_part(request, i);
        if (part.data != NULL)
            ifm_tensor_fill_random(&part, request->nonsense, -1, 1, NULL);
    }
}

/* Writes a wrong number to the first element, or a NaN if its type has one. */
static void spoil_element(const IfmTensor *view, gboolean nan)
{
    guint16 half = view->size_bytes >= sizeof half ? *(guint16 *)view->data : 0;
    if (view->dtype == IFM_DTYPE_F32)
        *(float *)view->data = nan ? NAN : *(float *)view->data * 1.5f + 1;
    else if (view->dtype == IFM_DTYPE_F64)
        *(double *)view->data = nan ? NAN : *(double *)view->data * 1.5 + 1;
    else if (view->dtype == IFM_DTYPE_F16) /* NaN, else 2 in place of 1, else 1 */
        *(guint16 *)view->data = nan ? 0x7e00 : half == 0x3c00 ? 0x4000 : 0x3c00;
    else if (view->dtype == IFM_DTYPE_BF16)
        *(guint16 *)view->data = nan ? 0x7fc0 : half == 0x3f80 ? 0x4000 : 0x3f80;
    else if (!nan)
        *(guint8 *)view->data ^= 1;
}

/* Spoils the first element of every output: the smallest fault there is to detect. */
static void spoil_outputs(SimulatedRequest *request, FaultEffect effect)
{
    for (gsize i = 0; i < request->base.compiled->outputs->len; i++)
    {
        IfmTensor view = simulated_host_view(&request->outputs[i]);
        if (view.data != NULL && view.size_bytes > 0)
            spoil_element(&view, effect == FAULT_EFFECT_NAN);
    }
}

/* --- inferring -------------------------------------------------------------------------------------------------------- */

/* Lets time pass. Returns: FALSE if the inference was cancelled. */
static gboolean pass_until(SimulatedRequest *request, gint64 deadline_ns)
{
    IfmClock *clock = request->base.compiled->engine->clock;
    gint64 coarse_ns = ifm_clock_is_virtual(clock) ? deadline_ns : deadline_ns - SPIN_NS;
    gboolean cancelled = FALSE;
    if ((request->base.compiled->capabilities & IFM_CAN_CANCEL) != 0)
    {
        ifm_condition_lock(request->condition);
        while (!request->cancelled && ifm_clock_now_ns(clock) < coarse_ns)
            ifm_condition_wait_until(request->condition, coarse_ns);
        cancelled = request->cancelled;
        ifm_condition_unlock(request->condition);
    }
    if (!cancelled)
        ifm_clock_sleep_until_ns(clock, deadline_ns);
    return !cancelled;
}

void simulated_cancel(IfmRequest *base)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    ifm_condition_lock(request->condition);
    request->cancelled = TRUE;
    ifm_condition_broadcast(request->condition);
    ifm_condition_unlock(request->condition);
}

void simulated_cancel_clear(IfmRequest *base)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    ifm_condition_lock(request->condition);
    request->cancelled = FALSE;
    ifm_condition_unlock(request->condition);
}

static void record(SimulatedRequest *request, gint64 device_ns)
{
    SimulatedCompiled *compiled = compiled_of(request);
    double gap = compiled->unit->profile != NULL ? compiled->unit->profile->gap : 0;
    if (request->history != NULL)
        request->history[request->n_history++ % SIMULATED_HISTORY] = device_ns;
    if (compiled->node_sums_ns == NULL)
        return;
    for (gsize i = 0; i < ifm_model_n_nodes(compiled->base.model); i++)
        compiled->node_sums_ns[i] += request->shares[i] * (double)device_ns * (1 - gap);
    compiled->n_summed++;
}

/* Fails with the row that the table marks as a failure at these sizes. */
static gboolean fail_flagged(SimulatedRequest *request, GError **error)
{
    const FlaggedRow *row = request->prediction.flagged;
    UnitState *state = compiled_of(request)->state;
    g_autofree char *reason = g_strdup_printf("these sizes are marked \"%s\" in %s:%zu", row->flag, row->file, row->line);
    if (row->loses)
    {
        unit_state_lose(state, UNIT_LOST_SILENT, 0);
        fault_set_lost(state, request->where, reason, error);
    }
    else
        ifm_error_set(error, IFM_ERROR_FAILED, "%s: %s: a failure, not a latency", request->where, reason);
    return FALSE;
}

static gboolean say_cancelled(const SimulatedRequest *request, GError **error)
{
    return ifm_error_set(error, IFM_ERROR_CANCELLED, "%s: cancelled", request->where);
}

static gboolean answer(SimulatedRequest *request, FaultEffect effect, gboolean spoil, GError **error)
{
    if (!compute_outputs(request, error))
        return FALSE;
    if (spoil)
        spoil_outputs(request, effect);
    return TRUE;
}

/* The same on a machine whose units slow each other; transfers are slowed as well. */
static gboolean run_contended(SimulatedRequest *request, gint64 started_ns, gint64 device_ns, FaultEffect effect,
                              gboolean spoil, GError **error)
{
    const SimulatedCompiled *compiled = compiled_of(request);
    double alone_ns = (double)device_ns + (double)request->transfer_ns;
    ContendedWork work = { .unit = compiled->unit, .stage = compiled->stage };
    contention_begin(compiled->contention, &work, started_ns, alone_ns);
    if (!answer(request, effect, spoil, error))
    {
        contention_end(compiled->contention, &work);
        return FALSE;
    }
    gint64 ended_ns = contention_pass(compiled->contention, &work, &request->cancelled);
    if (ended_ns < 0)
        return say_cancelled(request, error);
    record(request, (gint64)((double)(ended_ns - started_ns) * ((double)device_ns / alone_ns)));
    return TRUE;
}

/* An inference without fault: computes the outputs, then sleeps the rest of the time. */
static gboolean run_well(SimulatedRequest *request, gint64 started_ns, FaultEffect effect, gboolean spoil, GError **error)
{
    const UnitDescription *unit = compiled_of(request)->unit;
    if (request->prediction.flagged != NULL)
        return fail_flagged(request, error);
    double mean_ns = request->prediction.mean_ns * compiled_of(request)->convolution_ratio;
    if (request->history != NULL && unit->profile != NULL)
        mean_ns *= 1 + unit->profile->slow_down;
    noise_at(&request->noise, &request->sizes);
    gint64 device_ns = noise_draw(&request->noise, mean_ns, request->prediction.sigma);
    if (compiled_of(request)->contention != NULL)
        return run_contended(request, started_ns, device_ns, effect, spoil, error);
    if (!answer(request, effect, spoil, error))
        return FALSE;
    if (!pass_until(request, started_ns + MIN(device_ns, G_MAXINT64 / 4) + request->transfer_ns))
        return say_cancelled(request, error);
    record(request, device_ns);
    return TRUE;
}

static gboolean answer_nonsense(SimulatedRequest *request)
{
    fill_nonsense(request);
    record(request, 1);
    return TRUE;
}

gboolean simulated_infer(IfmRequest *base, GError **error)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    SimulatedCompiled *compiled = compiled_of(request);
    gint64 started_ns = ifm_clock_now_ns(base->compiled->engine->clock);
    gint64 run = atomic_fetch_add(&compiled->n_runs, 1) + 1;
    UnitHealth health = unit_state_health(compiled->state);
    if (health == UNIT_LOST_REPORTED)
    {
        fault_set_lost(compiled->state, request->where, NULL, error);
        return FALSE;
    }
    if (request->resized && !prepare(request, error))
        return FALSE;
    if (health == UNIT_LOST_SILENT)
        return answer_nonsense(request);
    const FaultDescription *fault = fault_find(compiled->unit, run, compiled->stage, &request->sizes);
    if (fault == NULL)
        return run_well(request, started_ns, FAULT_EFFECT_ERROR, FALSE, error);
    FaultEffect effect =
        fault_strike(fault, compiled->state, request->where, request->condition, &request->cancelled, error);
    if (effect == FAULT_EFFECT_ERROR)
        return FALSE;
    if (effect == FAULT_EFFECT_NONSENSE)
        return answer_nonsense(request);
    return run_well(request, started_ns, effect, TRUE, error);
}

/* --- profiles --------------------------------------------------------------------------------------------------------- */

static gint64 cut(double ns, gint64 resolution_ns)
{
    return (gint64)llround(ns) / resolution_ns * resolution_ns;
}

/* The device time, distributed over the nodes by their shares, with the described gap after each. */
static IfmEngineProfile *make_profile(const SimulatedRequest *request, gint64 device_ns)
{
    const UnitDescription *unit = compiled_of(request)->unit;
    const IfmCompiled *base = request->base.compiled;
    gboolean starts = (base->capabilities & IFM_CAN_NODE_STARTS) != 0;
    gint64 resolution_ns = unit->profile != NULL ? unit->profile->resolution_ns : 1;
    double gap = unit->profile != NULL ? unit->profile->gap : 0, begin = 0;
    IfmEngineProfile *profile = ifm_engine_profile_new();
    profile->resolution_ns = resolution_ns;
    profile->inside_ns = device_ns;
    for (gsize i = 0; i < ifm_model_n_nodes(base->model); i++)
    {
        const IfmNode *node = ifm_model_node(base->model, i);
        double end = begin + request->shares[i] * (double)device_ns;
        IfmNodeTime *time = g_new0(IfmNodeTime, 1);
        time->name = g_strdup(node->name);
        time->op_type = g_strdup(node->op_type);
        time->provider = g_strdup(base->spec->unit);
        time->implementation = g_strdup(request->prediction.how);
        time->start_ns = starts ? cut(begin, resolution_ns) : -1;
        time->duration_ns = cut(begin + (end - begin) * (1 - gap), resolution_ns) - cut(begin, resolution_ns);
        g_ptr_array_add(profile->nodes, time);
        begin = end;
    }
    return profile;
}

/* Of all inferences since the compile. */
static IfmEngineProfile *make_means(const SimulatedRequest *request)
{
    const SimulatedCompiled *compiled = compiled_of(request);
    IfmEngineProfile *means = make_profile(request, 0);
    means->n_inferences = compiled->n_summed;
    means->inside_ns = -1;
    for (guint i = 0; i < means->nodes->len; i++)
        ((IfmNodeTime *)means->nodes->pdata[i])->duration_ns =
            cut(compiled->node_sums_ns[i] / (double)MAX(compiled->n_summed, 1), means->resolution_ns);
    return means;
}

gboolean simulated_profile(IfmCompiled *compiled, IfmRequest *base, GPtrArray *profiles, GError **error)
{
    SimulatedRequest *request = (SimulatedRequest *)base;
    if (compiled_of(request)->node_sums_ns != NULL)
    {
        g_ptr_array_add(profiles, make_means(request));
        return TRUE;
    }
    for (gint64 i = MAX(0, request->n_history - SIMULATED_HISTORY); i < request->n_history; i++)
        g_ptr_array_add(profiles, make_profile(request, request->history[i % SIMULATED_HISTORY]));
    request->n_history = 0;
    return TRUE;
}

const char *simulated_how(const IfmRequest *base)
{
    return ((const SimulatedRequest *)base)->prediction.how;
}
