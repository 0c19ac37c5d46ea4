/* A lane: a device of a block. Its models, and how its share of a batch gets there and back. */
#include <math.h>
#include <string.h>

#include "pipeline-private.h"

static IfmTensor wrap(IfmDtype dtype, int rank, const gint64 *shape, void *data)
{
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, dtype, rank, shape, data, NULL));
    return tensor;
}

/* Rows low to high: no copy. */
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
    return a->dtype == b->dtype && a->rank == b->rank && a->data == b->data && a->memory == b->memory &&
           memcmp(a->shape, b->shape, (gsize)a->rank * sizeof a->shape[0]) == 0;
}

/* --- models ----------------------------------------------------------------------------------------------------------- */

static void slot_clear(Slot *slot, gsize n_inputs, gsize n_outputs)
{
    ifm_request_free(slot->request);
    for (gsize i = 0; i < n_inputs + n_outputs; i++)
    {
        Port *port = i < n_inputs ? &slot->inputs[i] : &slot->outputs[i - n_inputs];
        ifm_tensor_clear(&port->staging);
        ifm_buffer_free(port->buffer);
    }
    g_free(slot->inputs);
    g_free(slot->outputs);
}

static void node_profile_clear(gpointer data)
{
    NodeProfile *profile = data;
    g_clear_pointer(&profile->profiles, g_ptr_array_unref);
}

static void variant_free(gpointer data)
{
    Variant *variant = data;
    if (variant == NULL)
        return;
    variant_free(variant->twin);
    for (gsize i = 0; i < variant->n_slots; i++)
        slot_clear(&variant->slots[i], variant->ports->len, variant->lane->block->outputs->len);
    g_free(variant->slots);
    ifm_compiled_free(variant->compiled);
    ifm_model_unref(variant->model);
    g_clear_pointer(&variant->ports, g_array_unref);
    g_clear_pointer(&variant->inferences, g_array_unref);
    g_clear_pointer(&variant->nodes_of, g_array_unref);
    g_clear_pointer(&variant->walls, g_array_unref);
    g_free(variant->inputs);
    g_free(variant->outputs);
    g_free(variant);
}

static gboolean find_port(gsize n, const IfmPort *(*port_at)(const IfmCompiled *compiled, gsize index),
                          const IfmCompiled *compiled, const char *name, gsize *found, GError **error)
{
    for (gsize i = 0; i < n; i++)
        if (g_str_equal(port_at(compiled, i)->name, name))
        {
            *found = i;
            return TRUE;
        }
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "the compiled model has no port '%s'", name);
    return FALSE;
}

static gboolean find_ports(Variant *variant, GError **error)
{
    const IfmCompiled *compiled = variant->compiled;
    const GPtrArray *outputs = variant->lane->block->outputs;
    variant->inputs = g_new0(gsize, variant->ports->len);
    variant->outputs = g_new0(gsize, outputs->len);
    for (guint i = 0; i < variant->ports->len; i++)
        if (!find_port(ifm_compiled_n_inputs(compiled), ifm_compiled_input, compiled,
                       g_array_index(variant->ports, IfmStagedPort, i).name, &variant->inputs[i], error))
            return FALSE;
    for (guint i = 0; i < outputs->len; i++)
        if (!find_port(ifm_compiled_n_outputs(compiled), ifm_compiled_output, compiled,
                       ((const IfmBoundary *)g_ptr_array_index(outputs, i))->name, &variant->outputs[i], error))
            return FALSE;
    return TRUE;
}

static gboolean make_slots(Variant *variant, gsize n, GError **error)
{
    variant->slots = g_new0(Slot, n);
    for (gsize i = 0; i < n; i++)
    {
        Slot *slot = &variant->slots[i];
        slot->variant = variant;
        slot->inputs = g_new0(Port, variant->ports->len);
        slot->outputs = g_new0(Port, variant->lane->block->outputs->len);
        variant->n_slots = i + 1;
        slot->request = ifm_compiled_request(variant->compiled, (int)(i % (gsize)variant->n_streams), error);
        if (slot->request == NULL)
            return FALSE;
    }
    return TRUE;
}

/* A twin takes the place of one stream's inference: it needs one request alone, on the same cores. */
static IfmDeviceSpec *spec_of(const Variant *variant, gboolean is_twin)
{
    IfmDeviceSpec *spec = ifm_device_spec_copy(variant->lane->spec);
    if (!is_twin || spec->n_streams <= 1)
        return spec;
    g_autofree char *text = g_strndup(spec->text, (gsize)(strchr(spec->text, '#') - spec->text));
    ifm_device_spec_free(spec);
    return ifm_device_spec_parse(text, NULL);
}

static gboolean variant_compile(Variant *variant, gboolean is_twin, GError **error)
{
    const Lane *lane = variant->lane;
    const Line *line = lane->block->line;
    double share = lane->block->plan->ratios[lane->place];
    const IfmDimBinding sizes[] = {
        { "nodes", variant->nodes > 0 ? variant->nodes : MAX(1, llround(share * (double)line->options->most_nodes)) },
        { "edges", variant->nodes > 0 ? variant->edges : MAX(1, llround(share * (double)line->options->most_edges)) },
    };
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_autoptr(IfmDeviceSpec) spec = spec_of(variant, is_twin);
    options.dtype = line->options->dtype;
    options.profiling = variant->profiled;
    options.sizes = sizes;
    options.n_sizes = G_N_ELEMENTS(sizes);
    options.cache_dir = (lane->info->capabilities & IFM_CAN_CACHE) != 0 ? line->options->cache_dir : NULL;
    variant->n_streams = MAX(spec->n_streams, 1);
    ifm_pipeline_tell(line->pipeline, lane, FALSE);
    variant->compiled = ifm_engine_compile(lane->engine, variant->model, spec, &options, error);
    ifm_pipeline_tell(line->pipeline, lane, TRUE);
    return variant->compiled != NULL && find_ports(variant, error) &&
           make_slots(variant, is_twin ? 1 : (gsize)variant->n_streams * lane->n_per_stream, error);
}

static Variant *variant_new(Lane *lane, gint64 nodes, gint64 edges, gint64 sources, gboolean is_twin, GError **error)
{
    const Block *block = lane->block;
    const Line *line = block->line;
    IfmStageSizes sizes = line->options->sizes;
    Variant *variant = g_new0(Variant, 1);
    *variant = (Variant){ .lane = lane, .nodes = nodes, .edges = edges, .sources = sources };
    variant->profiled = lane->profiles && (is_twin || line->options->device_time == IFM_DEVICE_TIME_ON);
    variant->inferences = g_array_new(FALSE, FALSE, sizeof(Inference));
    variant->nodes_of = g_array_new(FALSE, FALSE, sizeof(NodeProfile));
    g_array_set_clear_func(variant->nodes_of, node_profile_clear);
    if (lane->profiles && line->options->device_time == IFM_DEVICE_TIME_SAMPLED)
        variant->walls = g_array_new(FALSE, FALSE, sizeof(Wall));
    sizes.nodes = nodes;
    sizes.edges = edges;
    variant->model =
        ifm_staged_build_part(line->staged, block->plan->first, block->plan->last, &sizes, sources,
                              ifm_scatter_for(lane->spec->engine), line->options->seed, &variant->ports, error);
    gboolean ok = variant->model != NULL && variant_compile(variant, is_twin, error);
    if (ok && !is_twin && lane->profiles && line->options->device_time == IFM_DEVICE_TIME_SAMPLED)
        ok = (variant->twin = variant_new(lane, nodes, edges, sources, TRUE, error)) != NULL;
    if (ok)
        return variant;
    variant_free(variant);
    return NULL;
}

/* What a share needs of a static model: room for its nodes and edges, and for all nodes that it needs whole. */
typedef struct
{
    gint64 nodes, edges, sources;
} Need;

/* Returns: NULL with an error. */
static const IfmPlanSize *choose_size(const Lane *lane, const Need *need, GError **error)
{
    const IfmPlanDevice *of = lane->described;
    gint64 nodes = lane->block->n_lanes == 1 ? MAX(need->nodes, need->sources) : need->nodes;
    const IfmPlanSize *size =
        ifm_plan_static_size(of->sizes, of->n_sizes, (double)nodes, (double)need->edges, lane->block->reads_edges);
    if (size == NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
                    "none of its %" G_GSIZE_FORMAT " static sizes holds %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT
                    " edges%s",
                    of->n_sizes, nodes, need->edges,
                    lane->block->reads_edges ? ", with a node more where edges have to be added" : "");
    return size;
}

static Variant *find_variant(Lane *lane, const Need *need, gboolean make, GError **error)
{
    const IfmPlanSize *size = lane->is_static ? choose_size(lane, need, error) : NULL;
    if (lane->is_static && size == NULL)
        return NULL;
    gint64 nodes = size != NULL ? size->nodes : 0, edges = size != NULL ? size->edges : 0, sources = 0;
    if (size != NULL)
        sources = lane->block->n_lanes == 1 ? nodes : MAX(lane->block->line->options->most_nodes, nodes);
    for (guint i = 0; i < lane->variants->len; i++)
    {
        Variant *variant = g_ptr_array_index(lane->variants, i);
        if (variant->nodes == nodes && variant->edges == edges)
            return variant;
    }
    g_assert(make);
    Variant *variant = variant_new(lane, nodes, edges, sources, FALSE, error);
    if (variant != NULL)
        g_ptr_array_add(lane->variants, variant);
    return variant;
}

gboolean ifm_lane_ready(Lane *lane, const Flight *flight, GError **error)
{
    gint64 low, high;
    ifm_flight_share(flight, lane, &low, &high);
    Need need = { high - low, ifm_flight_edges_below(flight, high) - ifm_flight_edges_below(flight, low),
                  flight->batch->nodes };
    return high == low || find_variant(lane, &need, TRUE, error) != NULL;
}

/* --- the lane --------------------------------------------------------------------------------------------------------- */

static void lane_add_tracks(Lane *lane)
{
    IfmTrackInfo info = {
        .kind = IFM_TRACK_DEVICE, .process = "run", .device = lane->described->alias, .spec = lane->spec->text
    };
    gsize spare = lane->profiles ? (gsize)2 * IFM_MOST_NODE_PROFILES * IFM_MOST_TRACE_NODES : 0;
    for (int i = 0; i < lane->n_streams; i++)
    {
        g_autofree char *thread = g_strdup_printf("%s (%s) stream %d", lane->described->alias, lane->spec->text, i);
        info.thread = thread;
        info.stream = i;
        lane->streams[i].track = ifm_pipeline_track(lane->block->line->pipeline, &info, 1, spare);
    }
}

/* Device times come from counters that the device has; memory of its own is filled by copies of ours only where the runtime
 * does not count them within each inference anyway. */
static void lane_read_capabilities(Lane *lane)
{
    guint32 can = lane->info->capabilities;
    lane->profiles = (can & IFM_CAN_PROFILE) != 0 && lane->block->line->options->device_time != IFM_DEVICE_TIME_OFF;
    lane->copies = lane->info->own_memory && (can & IFM_CAN_BUFFERS) != 0 && !lane->info->transfers_in_latency;
}

gboolean ifm_lane_init(Lane *lane, Block *block, int place, GError **error)
{
    const Line *line = block->line;
    lane->block = block;
    lane->place = place;
    lane->device = block->plan->devices[place];
    lane->described = ifm_plan_device(line->plan, lane->device);
    lane->is_static = lane->described->form == IFM_PLAN_STATIC;
    lane->variants = g_ptr_array_new_with_free_func(variant_free);
    if (lane->described->device == NULL)
    {
        g_set_error(
            error, IFM_ERROR, IFM_ERROR_INVALID,
            "the plan does not say which device that is; \"devices\": {\"%s\": {\"device\": \"openvino:CPU\"}} is right",
            lane->described->alias);
        return FALSE;
    }
    lane->spec = ifm_device_spec_parse(lane->described->device, error);
    lane->engine = lane->spec != NULL ? ifm_pipeline_engine(line->pipeline, lane->spec->engine, error) : NULL;
    lane->info = lane->engine != NULL ? ifm_engine_find_device(lane->engine, lane->spec, error) : NULL;
    if (lane->info == NULL)
        return FALSE;
    lane_read_capabilities(lane);
    lane->n_streams = MAX(lane->spec->n_streams, 1);
    lane->n_per_stream = (gsize)(block->depth + lane->n_streams - 1) / (gsize)lane->n_streams;
    lane->streams = g_new0(Stream, lane->n_streams);
    lane_add_tracks(lane);
    if (block->n_lanes > 1 && block->reads_edges)
    {
        lane->parts = g_new0(IfmTensor, block->depth);
        for (int i = 0; i < block->depth; i++)
            if (!ifm_tensor_init(&lane->parts[i], IFM_DTYPE_I64, 2, (gint64[]){ 2, line->options->most_edges }, error))
                return FALSE;
    }
    Need most = { MAX(1, llround(block->plan->ratios[place] * (double)line->options->most_nodes)),
                  llround(block->plan->ratios[place] * (double)line->options->most_edges), line->options->most_nodes };
    return find_variant(lane, &most, TRUE, error) != NULL;
}

void ifm_lane_clear(Lane *lane)
{
    ifm_lane_drop_held(lane);
    g_clear_pointer(&lane->variants, g_ptr_array_unref);
    for (int i = 0; lane->parts != NULL && i < lane->block->depth; i++)
        ifm_tensor_clear(&lane->parts[i]);
    g_free(lane->parts);
    g_free(lane->streams);
    g_clear_pointer(&lane->info, ifm_device_info_free);
    g_clear_pointer(&lane->spec, ifm_device_spec_free);
}

/* --- tensors in ------------------------------------------------------------------------------------------------------- */

static gboolean is_by_edges(const IfmBoundary *boundary)
{
    return boundary->split_axis >= 0 && g_str_equal(boundary->dims[boundary->split_axis], "edges");
}

/* The lane's share of edge_index: the whole where it is the only lane. */
static IfmTensor edges_of(const Job *job)
{
    const Flight *flight = job->work->flight;
    const Lane *lane = job->lane;
    if (lane->parts == NULL)
        return flight->edge_index;
    gint64 *part = lane->parts[job->work - lane->block->works].data;
    ifm_partition_part(flight->edge_index.data, flight->batch->edges, job->edge_low, job->edge_high, job->low, part);
    return wrap(IFM_DTYPE_I64, 2, (gint64[]){ 2, job->edge_high - job->edge_low }, part);
}

static IfmTensor slice_of(const Job *job, const IfmBoundary *boundary)
{
    IfmTensor whole = ifm_line_tensor(job->lane->block->line, boundary->name, job->work->flight);
    if (boundary->split_axis < 0)
        return whole;
    return is_by_edges(boundary) ? rows_of(&whole, job->edge_low, job->edge_high) : rows_of(&whole, job->low, job->high);
}

static IfmTensor input_of(const Job *job, const IfmStagedPort *port)
{
    const Line *line = job->lane->block->line;
    if (port->boundary == NULL)
        return rows_of(&line->zeros, 0, job->high - job->low);
    if (port->boundary == line->edge_index)
        return edges_of(job);
    return port->whole ? ifm_line_tensor(line, port->boundary->name, job->work->flight) : slice_of(job, port->boundary);
}

/* The shape a static model wants in the place of a share's. */
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

/* Added edges lead from the last source to the last node, neither of which anybody looks at. */
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

static gboolean pad(const Variant *variant, const IfmStagedPort *port, Port *state, IfmTensor *tensor, GError **error)
{
    gint64 shape[IFM_MAX_RANK];
    static_shape(variant, port->boundary, port->whole, tensor, shape);
    if (memcmp(shape, tensor->shape, (gsize)tensor->rank * sizeof shape[0]) == 0)
        return TRUE;
    if (state->staging.data == NULL && !ifm_tensor_init(&state->staging, tensor->dtype, tensor->rank, shape, error))
        return FALSE;
    if (port->boundary != NULL && port->boundary == variant->lane->block->line->edge_index)
        pad_edges(variant, tensor, state->staging.data);
    else
    {
        memcpy(state->staging.data, tensor->data, tensor->size_bytes);
        memset((char *)state->staging.data + tensor->size_bytes, 0, state->staging.size_bytes - tensor->size_bytes);
    }
    *tensor = state->staging;
    tensor->release = NULL;
    return TRUE;
}

/* Memory of the device, made once, as large as the largest of its kind. @boundary: NULL: "zeros" */
static gboolean device_tensor(const Lane *lane, const IfmBoundary *boundary, Port *state, const IfmTensor *host,
                              IfmTensor *tensor, GError **error)
{
    IfmStageSizes most = lane->block->line->options->sizes;
    most.nodes = lane->block->line->options->most_nodes;
    most.edges = lane->block->line->options->most_edges;
    gsize bytes = boundary != NULL ? (gsize)ifm_boundary_bytes(boundary, &most) : lane->block->line->zeros.size_bytes;
    if (state->buffer == NULL)
        state->buffer = ifm_engine_buffer_alloc(lane->engine, lane->spec, MAX(bytes, host->size_bytes), error);
    return state->buffer != NULL && ifm_buffer_tensor(state->buffer, host->dtype, host->rank, host->shape, tensor, error);
}

static void record_copy(Job *job, guint32 name, gint64 start_ns, gint64 bytes)
{
    Block *block = job->lane->block;
    gint64 now_ns = ifm_clock_now_ns(block->line->clock);
    job->copied_bytes += bytes;
    ifm_block_record(block, IFM_EVENT_COPY, name, job->work->flight, start_ns, now_ns, bytes);
}

static gboolean set_input(Job *job, guint index, gint64 *to_copy, GError **error)
{
    Slot *slot = job->slot;
    Variant *variant = slot->variant;
    const Line *line = job->lane->block->line;
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
    if (job->lane->copies && tensor.size_bytes > 0)
    {
        IfmTensor host = tensor;
        if (!device_tensor(job->lane, port->boundary, state, &host, &tensor, error) ||
            !ifm_engine_copy(job->lane->engine, &host, &tensor, error))
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
    return (ifm_compiled_capabilities(job->slot->variant->compiled) & IFM_CAN_SET_OUTPUT) != 0;
}

static const IfmBoundary *output_boundary(const Job *job, guint index)
{
    return g_ptr_array_index(job->lane->block->outputs, index);
}

/* Whether a static model's output is larger than the share. */
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
    if (is_padded(job, index, &tensor, shape))
    {
        if (state->staging.data == NULL && !ifm_tensor_init(&state->staging, tensor.dtype, tensor.rank, shape, error))
            return FALSE;
        tensor = state->staging;
        tensor.release = NULL;
    }
    if (job->lane->copies && tensor.size_bytes > 0)
    {
        IfmTensor host = tensor;
        if (!device_tensor(job->lane, output_boundary(job, index), state, &host, &tensor, error))
            return FALSE;
    }
    if (is_same(&tensor, &state->given))
        return TRUE;
    state->given = tensor;
    return ifm_request_set_output(slot->request, slot->variant->outputs[index], &tensor, error);
}

static gboolean check_output(const IfmTensor *tensor, const gint64 *shape, const IfmTensor *share, const char *name,
                             GError **error)
{
    if (tensor->dtype == share->dtype && tensor->rank == share->rank &&
        memcmp(tensor->shape, shape, (gsize)share->rank * sizeof *shape) == 0)
        return TRUE;
    g_autofree char *found = ifm_shape_to_string(tensor->rank, tensor->shape);
    g_autofree char *right = ifm_shape_to_string(share->rank, shape);
    g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "output '%s' is %s%s, %s%s is right", name,
                ifm_dtype_name(tensor->dtype), found, ifm_dtype_name(share->dtype), right);
    return FALSE;
}

/* From the device's memory: straight into the share, or, where there is more than that, through staging. */
static gboolean fetch_from_device(Job *job, Port *state, const IfmTensor *from, IfmTensor *share, gboolean padded,
                                  GError **error)
{
    IfmTensor to = *share;
    if (padded)
    {
        if (state->staging.data == NULL && !ifm_tensor_init(&state->staging, from->dtype, from->rank, from->shape, error))
            return FALSE;
        to = state->staging;
        to.release = NULL;
    }
    if (!ifm_engine_copy(job->lane->engine, from, &to, error) || !ifm_engine_sync(job->lane->engine, error))
        return FALSE;
    if (padded)
        memcpy(share->data, to.data, share->size_bytes);
    return TRUE;
}

static gboolean fetch_output(Job *job, guint index, GError **error)
{
    Slot *slot = job->slot;
    Port *state = &slot->outputs[index];
    const Line *line = job->lane->block->line;
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

gboolean ifm_lane_fetch(Job *job, GError **error)
{
    for (guint i = 0; i < job->lane->block->outputs->len; i++)
        if (!fetch_output(job, i, error))
            return FALSE;
    job->slot->taken = FALSE;
    return TRUE;
}

/* --- a job ------------------------------------------------------------------------------------------------------------ */

/* One of each @sample_every batches, at a place that moves by the golden section: sizes that come in turn are then each
 * sampled and each not, and two that follow each other are hardly ever both sampled. */
static gboolean is_sampled(const Lane *lane, gint64 n)
{
    const IfmPipelineOptions *options = lane->block->line->options;
    gint64 every = MAX(options->sample_every, 1);
    guint32 fraction = (guint32)(n / every) * 2654435769u + 0x80000000u; /* of 2^32 */
    return lane->profiles && options->device_time == IFM_DEVICE_TIME_SAMPLED &&
           n % every == (gint64)((guint64)fraction * (guint64)every >> 32);
}

static Slot *choose_slot(const Job *job, Variant *variant, gint64 n)
{
    const Lane *lane = job->lane;
    if (variant->twin != NULL && is_sampled(lane, n) && !variant->twin->slots[0].taken)
        return &variant->twin->slots[0];
    return &variant->slots[(gsize)n % variant->n_slots];
}

/* Ranges without a tensor by nodes, or by edges, do not see in their inputs how large this part of this batch is. A static
 * model knows: it was made for one size. */
static gboolean set_sizes(const Job *job, const Need *need, GError **error)
{
    const IfmDimBinding sizes[] = { { "nodes", MAX(need->nodes, 1) }, { "edges", MAX(need->edges, 1) } };
    return job->slot->variant->nodes > 0 || ifm_request_set_sizes(job->slot->request, sizes, G_N_ELEMENTS(sizes), error);
}

gboolean ifm_lane_prepare(Job *job, GError **error)
{
    Lane *lane = job->lane;
    gint64 n = lane->block->n_begun, to_copy = 0;
    const Flight *flight = job->work->flight;
    Need need = { job->high - job->low, job->edge_high - job->edge_low, flight->batch->nodes };
    Variant *variant = find_variant(lane, &need, FALSE, error);
    if (variant == NULL)
        return FALSE;
    job->slot = choose_slot(job, variant, n);
    job->slot->taken = TRUE;
    job->stream = (int)(n % lane->n_streams);
    gint64 start_ns = ifm_clock_now_ns(lane->block->line->clock);
    if (!set_sizes(job, &need, error))
        return FALSE;
    for (guint i = 0; i < job->slot->variant->ports->len; i++)
        if (!set_input(job, i, &to_copy, error))
            return FALSE;
    for (guint i = 0; i < lane->block->outputs->len; i++)
        if (!set_output(job, i, error))
            return FALSE;
    if (to_copy == 0)
        return TRUE;
    if (!ifm_engine_sync(lane->engine, error))
        return FALSE;
    record_copy(job, lane->block->line->names.copy_in, start_ns, to_copy);
    return TRUE;
}

static void job_done(IfmRequest *request, const GError *error, void *user)
{
    Job *job = user;
    Block *block = job->lane->block;
    atomic_store(&block->line->progress_ns, ifm_clock_now_ns(block->line->clock));
    ifm_condition_lock(block->mail);
    job->error = error != NULL ? g_error_copy(error) : NULL;
    job->state = IFM_JOB_DONE;
    job->work->n_left--;
    ifm_condition_broadcast(block->mail);
    ifm_condition_unlock(block->mail);
}

static void set_state(Job *job, IfmJobState state)
{
    ifm_condition_lock(job->lane->block->mail);
    job->state = state;
    ifm_condition_unlock(job->lane->block->mail);
}

static void start_now(Job *job)
{
    Stream *stream = &job->lane->streams[job->stream];
    g_autoptr(GError) error = NULL;
    stream->running = job->slot->variant;
    stream->n_running++;
    set_state(job, IFM_JOB_RUNNING);
    if (ifm_request_start(job->slot->request, job_done, job, &error))
        return;
    job->refused = TRUE;
    job_done(job->slot->request, error, job);
}

/* Inferences of different models (sizes, the profiled twin) on one stream run one after the other, as everything on a
 * stream does; and none begins while device times have to be fetched. */
static gboolean may_start(const Job *job)
{
    const Stream *stream = &job->lane->streams[job->stream];
    return !job->lane->fetch_due && (stream->n_running == 0 || stream->running == job->slot->variant);
}

void ifm_lane_start(Job *job)
{
    Stream *stream = &job->lane->streams[job->stream];
    job->ready_ns = ifm_clock_now_ns(job->lane->block->line->clock);
    if (g_queue_is_empty(&stream->held) && may_start(job))
    {
        start_now(job);
        return;
    }
    set_state(job, IFM_JOB_HELD);
    g_queue_push_tail(&stream->held, job);
}

static void start_held(Lane *lane)
{
    for (int i = 0; i < lane->n_streams; i++)
        while (!g_queue_is_empty(&lane->streams[i].held) && may_start(g_queue_peek_head(&lane->streams[i].held)))
            start_now(g_queue_pop_head(&lane->streams[i].held));
}

void ifm_lane_drop_held(Lane *lane)
{
    for (int i = 0; lane->streams != NULL && i < lane->n_streams; i++)
        g_queue_clear(&lane->streams[i].held);
}

static IfmEvent make_event(const Job *job, gint64 started_ns, gint64 completed_ns)
{
    const IfmPlanBlock *plan = job->lane->block->plan;
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = IFM_EVENT_INFER;
    event.name = job->lane->block->infer_name;
    event.start_ns = started_ns;
    event.duration_ns = completed_ns - started_ns;
    event.batch = (gint32)job->work->flight->batch->id;
    event.block = (guint16)(job->lane->block->index + 1);
    event.first = (guint16)plan->first;
    event.last = (guint16)plan->last;
    event.failed = job->error != NULL;
    return event;
}

/* Returns: where it was recorded; NULL where it was not. */
static IfmEvent *record_inference(const Job *job, const IfmRequestTimes *times)
{
    IfmTrack *track = job->lane->streams[job->stream].track;
    if (track == NULL || atomic_load(&job->lane->block->line->abandoned))
        return NULL;
    gsize at = atomic_load_explicit(&track->n, memory_order_relaxed);
    IfmEvent event = make_event(job, times->started_ns, times->completed_ns);
    ifm_track_record(track, &event);
    return at < track->capacity ? &track->events[at] : NULL;
}

/* It began when it was handed over, or when the stream had done what was before it. */
void ifm_lane_record_unanswered(const Job *job, gint64 now_ns)
{
    IfmTrack *track = job->lane->streams[job->stream].track;
    gsize n = track != NULL ? atomic_load(&track->n) : 0;
    gint64 start_ns = job->ready_ns;
    for (gsize i = 0; i < n; i++)
        if (track->events[i].kind == IFM_EVENT_INFER)
            start_ns = MAX(start_ns, track->events[i].start_ns + track->events[i].duration_ns);
    if (track == NULL || start_ns >= now_ns) /* behind another one that was never answered */
        return;
    IfmEvent event = make_event(job, start_ns, now_ns);
    event.failed = 1;
    ifm_track_record(track, &event);
}

void ifm_lane_see(Job *job)
{
    Lane *lane = job->lane;
    Stream *stream = &lane->streams[job->stream];
    IfmRequestTimes times;
    IfmBlockTimes *row = job->work->times;
    ifm_request_times(job->slot->request, &times);
    if (job->refused)
        times = (IfmRequestTimes){ job->ready_ns, job->ready_ns, job->ready_ns };
    set_state(job, IFM_JOB_SEEN);
    stream->n_running--;
    job->started_ns = times.started_ns;
    job->completed_ns = times.completed_ns;
    IfmEvent *event = record_inference(job, &times);
    row->device_wall_ns[lane->place] = times.completed_ns - times.started_ns;
    row->device_turn_ns[lane->place] = MAX(times.started_ns - job->ready_ns, 0);
    if (job->error == NULL)
    {
        Variant *variant = job->slot->variant;
        Inference inference = { job->slot,
                                times.completed_ns,
                                times.completed_ns - times.started_ns,
                                job->high - job->low,
                                job->edge_high - job->edge_low,
                                stream->track,
                                event,
                                &row->device_time_ns[lane->place] };
        ifm_variant_note(variant, &inference);
        lane->fetch_due = lane->fetch_due || ifm_variant_fetch_due(variant);
    }
    int n_running = 0;
    for (int i = 0; i < lane->n_streams; i++)
        n_running += lane->streams[i].n_running;
    if (lane->fetch_due && n_running == 0)
        ifm_lane_fetch_times(lane);
    start_held(lane);
}

void ifm_lane_cancel(Lane *lane)
{
    for (guint i = 0; i < lane->variants->len; i++)
        for (Variant *variant = g_ptr_array_index(lane->variants, i); variant != NULL; variant = variant->twin)
            for (gsize k = 0; k < variant->n_slots; k++)
                ifm_request_cancel(variant->slots[k].request, NULL);
}
