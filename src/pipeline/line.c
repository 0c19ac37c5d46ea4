/* A line: a plan made ready to run: engines opened, models compiled, buffers allocated. */
#include <staged/staged.h>
#include <string.h>

#include "pipeline-private.h"

/* --- made and freed --------------------------------------------------------------------------------------------------- */

static gboolean make_buffers(Line *line, GError **error)
{
    for (int i = 0; i < line->n_blocks; i++)
        line->n_flights += (gsize)(line->blocks[i].depth + line->queue_depth);
    line->flights = g_new0(InFlight, line->n_flights);
    if (!ifm_crossings_make(line, error) ||
        !ifm_tensor_init(&line->zeros, IFM_DTYPE_F32, 1, (gint64[]){ line->options->most_nodes }, error))
        return FALSE;
    if (!line->parts_edges)
        return TRUE;
    line->ordered = g_new0(IfmTensor, line->n_flights);
    for (gsize i = 0; i < line->n_flights; i++)
        if (!ifm_tensor_init(&line->ordered[i], IFM_DTYPE_I64, 2, (gint64[]){ 2, line->options->max_edges }, error))
            return FALSE;
    return TRUE;
}

static gboolean init_replicas(Block *block, int *device, GError **error)
{
    for (gsize i = 0; i < block->n_replicas; i++)
        if (!ifm_replica_init(&block->replicas[i], block, (int)i, error))
        {
            *device = block->replicas[i].device;
            return ifm_error_prefix(error, "block %d: %s: ", block->index + 1, block->replicas[i].described->alias);
        }
    return TRUE;
}

static void find_edges(Line *line)
{
    g_autoptr(GPtrArray) entering = ifm_staged_inputs(line->staged, 1, (int)line->staged->n_stages);
    const IfmBoundary *boundary = ifm_staged_boundary(line->staged, "edge_index");
    line->edge_index = boundary != NULL && g_ptr_array_find(entering, boundary, NULL) ? boundary : NULL;
}

Line *ifm_line_new(IfmPipeline *pipeline, const IfmPlan *plan, int *device, GError **error)
{
    g_autoptr(Line) line = g_new0(Line, 1);
    *device = -1;
    line->pipeline = pipeline;
    line->options = &pipeline->options;
    line->plan = ifm_plan_copy(plan);
    line->clock = ifm_clock_ref(line->options->clock);
    line->trace = line->options->trace;
    line->ended = ifm_condition_new(line->clock);
    line->queue_depth = MAX(line->options->queue_depth, 1);
    line->staged = ifm_staged_find(plan->model != NULL ? plan->model : "", error);
    if (line->staged == NULL || !ifm_plan_check(plan, line->staged, "plan", error))
        return NULL;
    find_edges(line);
    line->blocks = g_new0(Block, plan->blocks->len);
    if (line->trace != NULL)
    {
        IfmTrackInfo info = { .kind = IFM_TRACK_QUEUE, .process = "run", .thread = "batches" };
        ifm_plan_names_init(&line->names, line->trace);
        line->batches = ifm_pipeline_track(pipeline, &info, 1, 0);
    }
    for (guint i = 0; i < plan->blocks->len; i++)
    {
        ifm_block_init(&line->blocks[i], line, (int)i);
        line->n_blocks = (int)i + 1;
        line->parts_edges |= line->edge_index != NULL && line->blocks[i].n_replicas > 1;
    }
    for (int i = 0; i < line->n_blocks; i++)
        if (!init_replicas(&line->blocks[i], device, error))
            return NULL;
    ifm_crossings_find(line);
    return make_buffers(line, error) ? g_steal_pointer(&line) : NULL;
}

static void clear_tensors(IfmTensor *tensors, gsize n)
{
    for (gsize i = 0; tensors != NULL && i < n; i++)
        ifm_tensor_clear(&tensors[i]);
    g_free(tensors);
}

void ifm_line_free(Line *line)
{
    if (line == NULL)
        return;
    for (int i = 0; i < line->n_blocks; i++)
        ifm_block_clear(&line->blocks[i]);
    for (gsize i = 0; i < line->n_crossings; i++)
        clear_tensors(line->crossings[i].ring, line->crossings[i].n_ring);
    clear_tensors(line->ordered, line->n_flights);
    ifm_tensor_clear(&line->zeros);
    g_free(line->crossings);
    g_free(line->flights);
    g_free(line->blocks);
    g_free(line->times);
    g_free(line->entered_ns);
    g_free(line->left_ns);
    g_clear_error(&line->failure.error);
    ifm_condition_free(line->ended);
    ifm_plan_free(line->plan);
    ifm_clock_unref(line->clock);
    g_free(line);
}

/* --- batches ---------------------------------------------------------------------------------------------------------- */

static gboolean check_sizes(const Line *line, const IfmBatch *batch, GError **error)
{
    const IfmPipelineOptions *options = line->options;
    if (batch->nodes < 1 || batch->nodes > options->most_nodes || batch->edges < 0 || batch->edges > options->max_edges ||
        batch->n_own < 0 || batch->n_own > batch->nodes)
        return ifm_error_refuse(error,
                                "%" G_GINT64_FORMAT " nodes (%" G_GINT64_FORMAT " its own), %" G_GINT64_FORMAT
                                " edges; 1 to %" G_GINT64_FORMAT " and 0 to %" G_GINT64_FORMAT " are expected",
                                batch->nodes, batch->n_own, batch->edges, options->most_nodes, options->max_edges);
    return TRUE;
}

static gboolean check_tensor(const Line *line, const IfmBatch *batch, const Crossing *crossing, GError **error)
{
    const IfmTensor *tensor = &batch->inputs[crossing->input];
    const IfmBoundary *boundary = crossing->boundary;
    gint64 shape[IFM_MAX_RANK];
    ifm_crossing_shape(line, boundary, batch->nodes, batch->edges, shape);
    if (tensor->dtype == boundary->dtype && tensor->rank == boundary->rank && tensor->memory != IFM_MEMORY_DEVICE &&
        memcmp(tensor->shape, shape, (gsize)boundary->rank * sizeof shape[0]) == 0 && ifm_tensor_is_contiguous(tensor) &&
        (tensor->data != NULL || tensor->size_bytes == 0))
        return TRUE;
    g_autofree char *found = ifm_shape_to_string(tensor->rank, tensor->shape);
    g_autofree char *right = ifm_shape_to_string(boundary->rank, shape);
    return ifm_error_refuse(error, "'%s' is %s%s; contiguous %s%s in host memory is expected", boundary->name,
                            ifm_dtype_name(tensor->dtype), found, ifm_dtype_name(boundary->dtype), right);
}

static gboolean check_sources(const IfmBatch *batch, const IfmTensor *edge_index, GError **error)
{
    const gint64 *sources = edge_index->data;
    for (gint64 i = 0; i < batch->edges; i++)
        if (G_UNLIKELY((guint64)sources[i] >= (guint64)batch->nodes))
            return ifm_error_refuse(error,
                                    "edge %" G_GINT64_FORMAT " begins in node %" G_GINT64_FORMAT "; 0 to %" G_GINT64_FORMAT
                                    " are expected",
                                    i, sources[i], batch->nodes - 1);
    return TRUE;
}

static gboolean check_ratios(const Line *line, const IfmBatch *batch, GError **error)
{
    const double *ratio = line->is_given_ratios ? batch->ratios : NULL;
    for (int i = 0; ratio != NULL && i < line->n_blocks; i++)
    {
        double sum = 0;
        gboolean good = TRUE;
        for (gsize k = 0; k < line->blocks[i].n_replicas; k++, ratio++)
        {
            good = good && *ratio >= 0;
            sum += *ratio;
        }
        if (!good || !(sum > 1 - IFM_PLAN_RATIO_TOLERANCE && sum < 1 + IFM_PLAN_RATIO_TOLERANCE))
            return ifm_error_refuse(error, "its ratios of block %d add up to %g; 1 is expected, none below 0", i + 1, sum);
    }
    return TRUE;
}

/* A tensor that a stage needs whole must contain the ghosts: only tensors that enter the line do. */
static gboolean check_ghosts(const Line *line, const IfmBatch *batch, GError **error)
{
    if (batch->n_own == 0 || batch->n_own == batch->nodes)
        return TRUE;
    for (gsize i = 0; i < line->staged->n_stages; i++)
    {
        const char *whole = line->staged->stages[i].whole_input;
        g_autoptr(GPtrArray) entering = ifm_staged_inputs(line->staged, 1, (int)line->staged->n_stages);
        if (whole != NULL && !g_ptr_array_find(entering, ifm_staged_boundary(line->staged, whole), NULL))
            return ifm_error_set(
                error, IFM_ERROR_UNSUPPORTED,
                "it has ghosts, and stage %d of %s needs all of '%s', which is made of its own nodes alone",
                line->staged->stages[i].number, line->staged->name, whole);
    }
    return TRUE;
}

static gboolean check_batch(Line *line, const IfmBatch *batch, GError **error)
{
    if (!check_sizes(line, batch, error) || !check_ratios(line, batch, error) || !check_ghosts(line, batch, error))
        return FALSE;
    for (gsize i = 0; i < line->n_crossings; i++)
    {
        const Crossing *crossing = &line->crossings[i];
        if (crossing->maker < 0 && !check_tensor(line, batch, crossing, error))
            return FALSE;
        if (crossing->boundary == line->edge_index && !check_sources(batch, &batch->inputs[crossing->input], error))
            return FALSE;
    }
    return TRUE;
}

static gboolean ready_replicas(Line *line, const InFlight *flight, int *device, GError **error)
{
    for (int i = 0; i < line->n_blocks; i++)
        for (gsize k = 0; k < line->blocks[i].n_replicas; k++)
        {
            Replica *replica = &line->blocks[i].replicas[k];
            if (ifm_replica_ready(replica, flight, error))
                continue;
            *device = replica->device;
            return ifm_error_prefix(error, "block %d: %s: ", i + 1, replica->described->alias);
        }
    return TRUE;
}

/* The ends of the edges are checked before anything runs: a device would read outside its tensors. */
gboolean ifm_line_check(Line *line, const IfmBatch *batches, gsize n_batches, int *device, GError **error)
{
    *device = -1;
    for (gsize i = 0; i < n_batches; i++)
    {
        const IfmBatch *batch = &batches[i], *before = i > 0 ? &batches[i - 1] : NULL;
        InFlight flight;
        if (before != NULL && before->inputs == batch->inputs && before->nodes == batch->nodes &&
            before->edges == batch->edges && before->n_own == batch->n_own && before->ratios == batch->ratios)
            continue; /* the same graph again */
        gboolean ok = check_batch(line, batch, error);
        if (ok)
        {
            ifm_flight_init(&flight, line, batch);
            ok = ifm_flight_order(&flight, line, TRUE, error);
        }
        ok = ok && ready_replicas(line, &flight, device, error);
        if (!ok)
            return ifm_error_prefix(error, "batch %" G_GINT64_FORMAT ": ", batch->id);
    }
    return TRUE;
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

static void block_reset(Block *block)
{
    block->n_begun = block->n_merged = block->n_pushed = 0;
    block->queue_first = block->queue_n = 0;
    block->room = block->line->queue_depth;
    block->ended = block->stopping = block->delivering = FALSE;
    for (int i = 0; i < block->depth; i++)
        for (gsize k = 0; k < G_N_ELEMENTS(block->works[i].jobs); k++)
            block->works[i].jobs[k].state = IFM_JOB_NONE;
}

static void free_slots(Line *line, Variant *variant, gpointer user)
{
    for (gsize k = 0; k < variant->n_slots; k++)
        variant->slots[k].taken = FALSE;
}

gboolean ifm_line_run(Line *line, gsize first, GError **error)
{
    gboolean ok = TRUE;
    line->first = first;
    line->n_ended = 0;
    line->lost = 0;
    g_clear_error(&line->failure.error);
    line->n_delivered = 0;
    ifm_line_begin_nodes(line);
    atomic_store(&line->progress_ns, ifm_clock_now_ns(line->clock));
    for (int i = 0; i < line->n_blocks; i++)
        block_reset(&line->blocks[i]);
    ifm_line_each_variant(line, free_slots, NULL);
    for (int i = 0; i < line->n_blocks && ok; i++)
        ok = ifm_block_start(&line->blocks[i], error);
    for (int i = 0; i < line->n_blocks && !ok; i++)
        if (line->blocks[i].has_thread)
            ifm_block_stop(&line->blocks[i]);
    ok = ifm_line_watch(line, ok ? error : NULL) && ok;
    if (atomic_load(&line->abandoned))
        return ok;
    for (int i = 0; i < line->n_blocks; i++)
        for (gsize k = 0; k < line->blocks[i].n_replicas; k++)
            ifm_replica_fetch_times(&line->blocks[i].replicas[k]);
    ifm_line_record_nodes(line);
    ifm_line_note_overheads(line);
    return ok;
}
