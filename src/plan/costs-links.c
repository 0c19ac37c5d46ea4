/*
 * The copies to and from devices with memory of their own, by a study. A study measures a stage from tensors in host
 * memory: the latency of such a device contains a copy of each tensor. A pipeline makes these copies itself, of the
 * tensors of its own models, while other batches are inferred. If the study measured the links, the study's copies are
 * subtracted, and the pipeline's copies are added.
 */
#include <string.h>
#include <study/study.h>

#include "plan-private.h"

/* --- what crosses ----------------------------------------------------------------------------------------------------- */

static gboolean measured_in(const IfmBoundary *boundary, const char *word)
{
    for (int i = 0; i < boundary->rank; i++)
        if (g_strcmp0(boundary->dims[i], word) == 0)
            return TRUE;
    return FALSE;
}

void costs_add_bytes(const IfmStudyTables *tables, const IfmBoundary *boundary, double *per_node, double *per_edge)
{
    IfmStageSizes one = tables->sizes;
    one.nodes = one.edges = 1;
    double bytes = (double)ifm_boundary_bytes(boundary, &one);
    *per_node += measured_in(boundary, "nodes") ? bytes : 0;
    *per_edge += measured_in(boundary, "edges") ? bytes : 0;
}

static void add_outputs(const IfmStudyTables *tables, int first, int last, IfmCostCrossing *crossing)
{
    g_autoptr(GPtrArray) outputs = ifm_staged_outputs(tables->staged, first, last);
    crossing->n_out = (int)outputs->len;
    for (guint i = 0; i < outputs->len; i++)
        costs_add_bytes(tables, outputs->pdata[i], &crossing->out_per_node, &crossing->out_per_edge);
}

/* One number per node. It is the only input that shows a model of free sizes how many nodes there are. */
static void add_zeros(IfmCostCrossing *crossing)
{
    crossing->n_in++;
    crossing->in_per_node += sizeof(float);
}

/* The crossing in a pipeline, whose models are those of parts. If such a model cannot be built, no block has these
 * stages. */
static void set_crossing(IfmCosts *costs, const IfmStudyTables *tables, int first, int last)
{
    const IfmStageSizes narrow = { .features = 1, .hidden = 1 }; /* the ports are the same for any width */
    g_autoptr(GArray) ports = NULL;
    g_autoptr(IfmModel) model =
        ifm_staged_build_part(tables->staged, first, last, &narrow, 0, IFM_SCATTER_ND, 1, &ports, NULL);
    IfmCostCrossing crossing = { 0 };
    gboolean zeros = FALSE;
    if (model == NULL)
        return;
    for (guint i = 0; i < ports->len; i++)
    {
        const IfmStagedPort *port = &g_array_index(ports, IfmStagedPort, i);
        zeros = zeros || port->boundary == NULL;
        if (port->boundary == NULL)
            continue;
        crossing.n_in++;
        gboolean whole = port->whole || port->boundary->split_axis < 0;
        costs_add_bytes(tables, port->boundary, whole ? &crossing.whole_per_node : &crossing.in_per_node,
                        whole ? &crossing.whole_per_edge : &crossing.in_per_edge);
    }
    add_outputs(tables, first, last, &crossing);
    ifm_costs_set_crossing(costs, IFM_PLAN_STATIC, first, last, &crossing);
    if (zeros)
        add_zeros(&crossing);
    ifm_costs_set_crossing(costs, IFM_PLAN_DYNAMIC, first, last, &crossing);
}

/* The crossing in a study's measurement: one model takes the whole graph. */
static gboolean find_held(const IfmStudyTables *tables, int first, int last, CostHeld *held, GError **error)
{
    const IfmStageSizes narrow = { .features = 1, .hidden = 1 };
    g_autoptr(IfmModel) model = ifm_staged_build(tables->staged, first, last, &narrow, IFM_SCATTER_ND, 1, error);
    g_autoptr(GPtrArray) inputs = ifm_staged_inputs(tables->staged, first, last);
    IfmCostCrossing *crossing = &held->of[TRUE][first - 1][last - 1], *dynamic = &held->of[FALSE][first - 1][last - 1];
    if (model == NULL)
        return FALSE;
    for (guint i = 0; i < inputs->len; i++)
        costs_add_bytes(tables, inputs->pdata[i], &crossing->in_per_node, &crossing->in_per_edge);
    crossing->n_in = (int)inputs->len;
    add_outputs(tables, first, last, crossing);
    *dynamic = *crossing;
    if (ifm_model_n_inputs(model) > inputs->len)
        add_zeros(dynamic);
    return TRUE;
}

gboolean costs_set_crossings(IfmCosts *costs, const IfmStudyTables *tables, CostHeld *held, GError **error)
{
    for (int first = 1; first <= costs->n_stages; first++)
        for (int last = first; last <= costs->n_stages; last++)
        {
            if (!find_held(tables, first, last, held, error))
                return FALSE;
            set_crossing(costs, tables, first, last);
        }
    return TRUE;
}

/* --- links ------------------------------------------------------------------------------------------------------------ */

double costs_held_ns(const IfmCosts *costs, const CostHeld *held, int device, int first, int last, double nodes,
                     double edges)
{
    const CostDevice *of = costs->devices[device];
    CostPart part = { 0 };
    costs_cross(of, &held->of[of->is.form == IFM_PLAN_STATIC][first - 1][last - 1], nodes, edges, nodes, edges, &part);
    return part.in_ns + part.out_ns;
}

double costs_unheld_ratio(const IfmCosts *costs, const CostHeld *held, int device, int first, int last, double nodes,
                          double edges)
{
    int piece[IFM_COST_MAX_STAGES + 1];
    double left_ns = 0, held_ns = 0;
    costs_pieces(costs, device, first, piece);
    for (int l = last; l >= first; l = piece[l] - 1)
    {
        if (piece[l] == 0)
            return 1;
        left_ns += costs_entry_at(costs_range(costs, device, piece[l], l)->alone, IFM_COST_MEDIAN, nodes, edges, NULL);
        held_ns += costs_held_ns(costs, held, device, piece[l], l, nodes, edges);
    }
    return left_ns / (left_ns + held_ns);
}

/* The first measured link between the device and one that takes tensors in host memory, by one copy. */
static const IfmLinkFit *find_link(const IfmStudyTables *tables, const IfmStudyDevice *device, gboolean in)
{
    for (guint i = 0; i < tables->links->len; i++)
    {
        const IfmLinkFit *link = tables->links->pdata[i];
        gboolean mine = in ? link->to == device && link->to_around && !link->from_around
                           : link->from == device && link->from_around && !link->to_around;
        if (mine && link->fitted && link->n_copies == 1)
            return link;
    }
    return NULL;
}

static IfmCostLink line_of(const IfmLinkFit *link)
{
    return (IfmCostLink){ MAX(0, link->bandwidth.intercept_ns), MAX(0, link->bandwidth.slope_ns_per_byte) };
}

/* Whether all latencies of the device alone exceed its copies. If not, the latencies or the copies are not what they
 * are taken for. */
static gboolean all_hold(const IfmCosts *costs, const GPtrArray *rows, const IfmStudyDevice *device, int index,
                         const CostHeld *held)
{
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmStudyRow *row = rows->pdata[i];
        int last = row->last != 0 ? row->last : row->stage;
        if (row->device == device && row->busy == 0 &&
            !(row->median_ns > costs_held_ns(costs, held, index, row->stage, last, (double)row->nodes, (double)row->edges)))
            return FALSE;
    }
    return TRUE;
}

gboolean costs_take_links(IfmCosts *costs, const IfmStudyTables *tables, const GPtrArray *rows,
                          const IfmStudyDevice *device, int index, const CostHeld *held)
{
    const IfmLinkFit *in = find_link(tables, device, TRUE), *out = find_link(tables, device, FALSE);
    if (in == NULL || out == NULL)
        return FALSE;
    const IfmCostLink in_line = line_of(in), out_line = line_of(out);
    ifm_costs_set_link(costs, index, &in_line, &out_line);
    if (!all_hold(costs, rows, device, index, held))
        costs->devices[index]->copies = FALSE;
    return costs->devices[index]->copies;
}
