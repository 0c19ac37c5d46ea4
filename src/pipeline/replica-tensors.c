/* How a job's share of a batch gets to its device and back: in place if possible, else padded or copied. */
#include <staged/staged.h>
#include <string.h>

#include "replica-private.h"

static IfmTensor wrap(IfmDtype dtype, int rank, const gint64 *shape, void *data)
{
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, dtype, rank, shape, data, NULL));
    return tensor;
}

/* Rows low to high, without a copy. */
static IfmTensor rows_of(const IfmTensor *tensor, gint64 low, gint64 high)
{
    gint64 shape[IFM_MAX_RANK];
    memcpy(shape, tensor->shape, sizeof shape);
    shape[0] = high - low;
    gsize row_bytes = tensor->shape[0] > 0 ? tensor->size_bytes / (gsize)tensor->shape[0] : 0;
    return wrap(tensor->dtype, tensor->rank, shape, (char *)tensor->data + (gsize)low * row_bytes);
}

static gboolean is_same(const IfmTensor *a, const IfmTensor *b)
{
    return a->dtype == b->dtype && a->data == b->data && a->memory == b->memory && ifm_tensor_same_shape(a, b);
}

/* --- tensors in ------------------------------------------------------------------------------------------------------- */

/* The replica's share of edge_index: the whole if it is the only replica. */
static IfmTensor edges_of(const Job *job)
{
    const InFlight *flight = job->work->flight;
    const Replica *replica = job->replica;
    if (replica->parts == NULL)
        return flight->edge_index;
    gint64 *part = replica->parts[job->work - replica->block->works].data;
    ifm_partition_part(flight->edge_index.data, flight->batch->edges, job->edge_low, job->edge_high, job->low, part);
    return wrap(IFM_DTYPE_I64, 2, (gint64[]){ 2, job->edge_high - job->edge_low }, part);
}

static IfmTensor slice_of(const Job *job, const IfmBoundary *boundary)
{
    IfmTensor whole = ifm_line_tensor(job->replica->block->line, boundary->name, job->work->flight);
    if (boundary->split_axis < 0)
        return whole;
    gboolean by_edges = g_str_equal(boundary->dims[boundary->split_axis], "edges");
    return by_edges ? rows_of(&whole, job->edge_low, job->edge_high) : rows_of(&whole, job->low, job->high);
}

static IfmTensor input_of(const Job *job, const IfmStagedPort *port)
{
    const Line *line = job->replica->block->line;
    if (port->boundary == NULL)
        return rows_of(&line->zeros, 0, job->high - job->low);
    if (port->boundary == line->edge_index)
        return edges_of(job);
    return port->whole ? ifm_line_tensor(line, port->boundary->name, job->work->flight) : slice_of(job, port->boundary);
}

/* The shape that a static model has in place of a share's. */
static void static_shape(const Variant *variant, const IfmBoundary *boundary, gboolean whole, const IfmTensor *share,
                         gint64 *shape)
{
    memcpy(shape, share->shape, sizeof share->shape);
    int axis = boundary != NULL ? MAX(boundary->split_axis, 0) : 0;
    if (boundary != NULL && g_str_equal(boundary->dims[axis], "edges"))
        shape[axis] = variant->edges;
    else if (boundary == NULL || g_str_equal(boundary->dims[axis], "nodes"))
        shape[axis] = whole ? variant->sources : variant->nodes;
}

/* Added edges lead from the last source to the last node; neither is used. */
static void pad_edges(const Variant *variant, const IfmTensor *share, gint64 *padded)
{
    gint64 n = share->shape[1], wanted = variant->edges;
    for (int row = 0; row < 2; row++)
    {
        gint64 *to = padded + row * wanted,
               filler = (row == 0 && variant->sources > 0 ? variant->sources : variant->nodes) - 1;
        memcpy(to, (const gint64 *)share->data + row * n, (gsize)n * sizeof *to);
        for (gint64 i = n; i < wanted; i++)
            to[i] = filler;
    }
}

/* The port's host memory of a static model's size, made once. @tensor: (out) without a release */
static gboolean use_staging(Port *state, IfmDtype dtype, int rank, const gint64 *shape, IfmTensor *tensor, GError **error)
{
    if (state->staging.data == NULL && !ifm_tensor_init(&state->staging, dtype, rank, shape, error))
        return FALSE;
    *tensor = state->staging;
    tensor->release = NULL;
    return TRUE;
}

static gboolean pad(const Variant *variant, const IfmStagedPort *port, Port *state, IfmTensor *tensor, GError **error)
{
    gint64 shape[IFM_MAX_RANK];
    static_shape(variant, port->boundary, port->whole, tensor, shape);
    if (memcmp(shape, tensor->shape, (gsize)tensor->rank * sizeof shape[0]) == 0)
        return TRUE;
    const IfmTensor share = *tensor;
    if (!use_staging(state, share.dtype, share.rank, shape, tensor, error))
        return FALSE;
    if (port->boundary != NULL && port->boundary == variant->replica->block->line->edge_index)
        pad_edges(variant, &share, tensor->data);
    else
    {
        memcpy(tensor->data, share.data, share.size_bytes);
        memset((char *)tensor->data + share.size_bytes, 0, tensor->size_bytes - share.size_bytes);
    }
    return TRUE;
}

/* The device's own memory for a port, allocated once, for the largest batch. @boundary: NULL: "zeros" */
static gboolean device_tensor(const Replica *replica, const IfmBoundary *boundary, Port *state, const IfmTensor *host,
                              IfmTensor *tensor, GError **error)
{
    IfmStageSizes max = replica->block->line->options->sizes;
    max.nodes = replica->block->line->options->most_nodes;
    max.edges = replica->block->line->options->max_edges;
    gsize bytes = boundary != NULL ? (gsize)ifm_boundary_bytes(boundary, &max) : replica->block->line->zeros.size_bytes;
    if (state->buffer == NULL)
        state->buffer = ifm_engine_buffer_alloc(replica->engine, replica->spec, MAX(bytes, host->size_bytes), error);
    return state->buffer != NULL && ifm_buffer_tensor(state->buffer, host->dtype, host->rank, host->shape, tensor, error);
}

static void record_copy(Job *job, guint32 name, gint64 start_ns, gint64 bytes)
{
    Block *block = job->replica->block;
    gint64 now_ns = ifm_clock_now_ns(block->line->clock);
    job->copied_bytes += bytes;
    IfmEvent event = ifm_block_event(block, IFM_EVENT_COPY, job->work->flight, start_ns, now_ns);
    event.name = name;
    event.bytes = bytes;
    ifm_block_record_event(block, block->host, &event);
}

static gboolean set_input(Job *job, guint index, gint64 *to_copy, GError **error)
{
    Slot *slot = job->slot;
    Variant *variant = slot->variant;
    const Line *line = job->replica->block->line;
    const IfmStagedPort *port = &g_array_index(variant->ports, IfmStagedPort, index);
    Port *state = &slot->inputs[index];
    IfmTensor tensor = input_of(job, port);
    if (variant->nodes > 0)
    {
        gint64 start_ns = ifm_clock_now_ns(line->clock);
        gint64 bytes = (gint64)tensor.size_bytes;
        void *before = tensor.data;
        if (!pad(variant, port, state, &tensor, error))
            return FALSE;
        if (tensor.data != before)
            record_copy(job, line->names.pad, start_ns, bytes);
    }
    if (job->replica->copies && tensor.size_bytes > 0)
    {
        IfmTensor host = tensor;
        if (!device_tensor(job->replica, port->boundary, state, &host, &tensor, error) ||
            !ifm_engine_copy(job->replica->engine, &host, &tensor, error))
            return FALSE;
        *to_copy += (gint64)host.size_bytes;
    }
    if (is_same(&tensor, &state->given))
        return TRUE;
    state->given = tensor;
    return ifm_request_set_input(slot->request, variant->inputs[index], &tensor, error);
}

/* --- tensors out ------------------------------------------------------------------------------------------------------ */

static gboolean sets_output(const Job *job)
{
    return (ifm_compiled_info(job->slot->variant->compiled).capabilities & IFM_CAN_SET_OUTPUT) != 0;
}

static const IfmBoundary *output_boundary(const Job *job, guint index)
{
    return g_ptr_array_index(job->replica->block->outputs, index);
}

/* Whether the output of a static model is larger than the share. @shape: (out) of the model's output */
static gboolean is_padded(const Job *job, guint index, const IfmTensor *share, gint64 *shape)
{
    const Variant *variant = job->slot->variant;
    memcpy(shape, share->shape, sizeof share->shape);
    if (variant->nodes > 0)
        static_shape(variant, output_boundary(job, index), FALSE, share, shape);
    return memcmp(shape, share->shape, (gsize)share->rank * sizeof shape[0]) != 0;
}

static gboolean set_output(Job *job, guint index, GError **error)
{
    Slot *slot = job->slot;
    Port *state = &slot->outputs[index];
    IfmTensor tensor = slice_of(job, output_boundary(job, index));
    gint64 shape[IFM_MAX_RANK];
    if (!sets_output(job))
        return TRUE;
    if (is_padded(job, index, &tensor, shape) && !use_staging(state, tensor.dtype, tensor.rank, shape, &tensor, error))
        return FALSE;
    if (job->replica->copies && tensor.size_bytes > 0)
    {
        IfmTensor host = tensor;
        if (!device_tensor(job->replica, output_boundary(job, index), state, &host, &tensor, error))
            return FALSE;
    }
    if (is_same(&tensor, &state->given))
        return TRUE;
    state->given = tensor;
    return ifm_request_set_output(slot->request, slot->variant->outputs[index], &tensor, error);
}

gboolean ifm_replica_set_tensors(Job *job, gint64 start_ns, GError **error)
{
    const Replica *replica = job->replica;
    gint64 to_copy = 0;
    for (guint i = 0; i < job->slot->variant->ports->len; i++)
        if (!set_input(job, i, &to_copy, error))
            return FALSE;
    for (guint i = 0; i < replica->block->outputs->len; i++)
        if (!set_output(job, i, error))
            return FALSE;
    if (to_copy == 0)
        return TRUE;
    if (!ifm_engine_sync(replica->engine, error))
        return FALSE;
    record_copy(job, replica->block->line->names.of[IFM_EVENT_COPY], start_ns, to_copy);
    return TRUE;
}

static gboolean check_output(const IfmTensor *tensor, const gint64 *shape, const IfmTensor *share, const char *name,
                             GError **error)
{
    if (tensor->dtype == share->dtype && tensor->rank == share->rank &&
        memcmp(tensor->shape, shape, (gsize)share->rank * sizeof *shape) == 0)
        return TRUE;
    g_autofree char *found = ifm_shape_to_string(tensor->rank, tensor->shape);
    g_autofree char *right = ifm_shape_to_string(share->rank, shape);
    return ifm_error_set(error, IFM_ERROR_FAILED, "output '%s' is %s%s, %s%s is expected", name,
                         ifm_dtype_name(tensor->dtype), found, ifm_dtype_name(share->dtype), right);
}

/* Copies an output from the device's memory: directly into the share, or through staging if it is larger. */
static gboolean fetch_from_device(Job *job, Port *state, const IfmTensor *from, IfmTensor *share, gboolean padded,
                                  GError **error)
{
    IfmTensor to = *share;
    if (padded && !use_staging(state, from->dtype, from->rank, from->shape, &to, error))
        return FALSE;
    if (!ifm_engine_copy(job->replica->engine, from, &to, error) || !ifm_engine_sync(job->replica->engine, error))
        return FALSE;
    if (padded)
        memcpy(share->data, to.data, share->size_bytes);
    return TRUE;
}

static gboolean fetch_output(Job *job, guint index, GError **error)
{
    Slot *slot = job->slot;
    Port *state = &slot->outputs[index];
    const Line *line = job->replica->block->line;
    const IfmBoundary *boundary = output_boundary(job, index);
    IfmTensor share = slice_of(job, boundary), from = state->given;
    gint64 shape[IFM_MAX_RANK], start_ns = ifm_clock_now_ns(line->clock);
    gboolean padded = is_padded(job, index, &share, shape);
    if (share.size_bytes == 0)
        return TRUE;
    if (!sets_output(job) && (!ifm_request_output(slot->request, slot->variant->outputs[index], &from, error) ||
                              !check_output(&from, shape, &share, boundary->name, error)))
        return FALSE;
    if (from.data == share.data && from.memory != IFM_MEMORY_DEVICE)
        return TRUE; /* written into place */
    if (from.memory == IFM_MEMORY_DEVICE)
    {
        if (!fetch_from_device(job, state, &from, &share, padded, error))
            return FALSE;
    }
    else
        memcpy(share.data, from.data, share.size_bytes);
    record_copy(job, line->names.copy_out, start_ns, (gint64)share.size_bytes);
    return TRUE;
}

gboolean ifm_replica_fetch(Job *job, GError **error)
{
    for (guint i = 0; i < job->replica->block->outputs->len; i++)
        if (!fetch_output(job, i, error))
            return FALSE;
    job->slot->taken = FALSE;
    return TRUE;
}
