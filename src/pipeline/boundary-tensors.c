/* Boundary tensors that enter the line or cross blocks: which block makes and reads them, and their buffers. */
#include "pipeline-private.h"
#include <staged/staged.h>

static int block_reading_last(const Line *line, const IfmBoundary *boundary)
{
    int last = -1;
    for (int i = 0; i < line->n_blocks; i++)
    {
        const IfmPlanBlock *plan = line->blocks[i].plan;
        g_autoptr(GPtrArray) inputs = ifm_staged_inputs(line->staged, plan->first, plan->last);
        if (g_ptr_array_find(inputs, boundary, NULL))
            last = i;
    }
    return last;
}

static void add_crossing(Line *line, const IfmBoundary *boundary, int maker, gsize input)
{
    Crossing *crossing = &line->crossings[line->n_crossings++];
    int last = block_reading_last(line, boundary);
    *crossing = (Crossing){ boundary, maker, MAX(last, maker), input, NULL, 0 };
    if (maker >= 0 && last < 0)
        crossing->last = line->n_blocks - 1;
}

void ifm_crossings_find(Line *line)
{
    g_autoptr(GPtrArray) entering = ifm_staged_inputs(line->staged, 1, (int)line->staged->n_stages);
    gsize n = line->staged->n_boundaries;
    line->crossings = g_new0(Crossing, n + 1);
    for (guint i = 0; i < entering->len; i++)
        add_crossing(line, g_ptr_array_index(entering, i), -1, i);
    for (int i = 0; i < line->n_blocks; i++)
        for (guint k = 0; k < line->blocks[i].outputs->len; k++)
            add_crossing(line, g_ptr_array_index(line->blocks[i].outputs, k), i, 0);
}

void ifm_crossing_shape(const Line *line, const IfmBoundary *boundary, gint64 nodes, gint64 edges, gint64 *shape)
{
    IfmStageSizes sizes = line->options->sizes;
    g_assert(boundary != NULL);
    sizes.nodes = nodes;
    sizes.edges = edges;
    ifm_boundary_shape(boundary, &sizes, shape);
}

/* Whether the devices of a block write more to its outputs than a few bytes at the start. */
static gboolean writes_outputs(const Block *block)
{
    gboolean writes = FALSE;
    for (gsize i = 0; i < block->n_replicas; i++)
    {
        const Variant *variant = g_ptr_array_index(block->replicas[i].variants, 0);
        writes = writes || (ifm_compiled_info(variant->compiled).capabilities & IFM_CAN_TRUE_OUTPUTS) != 0;
    }
    return writes;
}

/* A buffer for every batch that may be between the start of the block that makes it and the end of the last that reads
 * it. */
static gboolean make_ring(Line *line, Crossing *crossing, GError **error)
{
    gint64 shape[IFM_MAX_RANK];
    if (crossing->maker < 0)
        return TRUE;
    for (int i = crossing->maker; i <= crossing->last; i++)
        crossing->n_ring += (gsize)line->blocks[i].depth + (i > crossing->maker ? (gsize)line->queue_depth : 0);
    crossing->ring = g_new0(IfmTensor, crossing->n_ring);
    ifm_crossing_shape(line, crossing->boundary, line->options->most_nodes, line->options->max_edges, shape);
    gboolean real = writes_outputs(&line->blocks[crossing->maker]);
    for (gsize i = 0; i < crossing->n_ring; i++)
        if (!(real ? ifm_tensor_init : ifm_tensor_reserve)(&crossing->ring[i], crossing->boundary->dtype,
                                                           crossing->boundary->rank, shape, error))
            return FALSE;
    return TRUE;
}

gboolean ifm_crossings_make(Line *line, GError **error)
{
    for (gsize i = 0; i < line->n_crossings; i++)
        if (!make_ring(line, &line->crossings[i], error))
            return FALSE;
    return TRUE;
}

static const Crossing *find_crossing(const Line *line, const char *boundary)
{
    for (gsize i = 0; i < line->n_crossings; i++)
        if (g_str_equal(line->crossings[i].boundary->name, boundary))
            return &line->crossings[i];
    g_assert_not_reached();
}

IfmTensor ifm_line_tensor(const Line *line, const char *boundary, const InFlight *flight)
{
    const Crossing *crossing = find_crossing(line, boundary);
    IfmTensor tensor;
    if (crossing->maker < 0)
    {
        tensor = crossing->boundary == line->edge_index ? flight->edge_index : flight->batch->inputs[crossing->input];
        tensor.release = NULL;
        return tensor;
    }
    gint64 shape[IFM_MAX_RANK];
    ifm_crossing_shape(line, crossing->boundary, flight->n_own, flight->batch->edges, shape);
    void *data = crossing->ring[flight->seq % (gint64)crossing->n_ring].data;
    g_assert_true(ifm_tensor_wrap(&tensor, crossing->boundary->dtype, crossing->boundary->rank, shape, data, NULL));
    return tensor;
}
