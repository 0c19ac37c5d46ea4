/* The times of a simulated pipeline, taken from the cost model once for each size, before the simulation starts. */
#include <math.h>

#include "simulate-private.h"

static gint64 round_ns(double ns)
{
    return (gint64)llround(ns);
}

/* --- shares ----------------------------------------------------------------------------------------------------------- */

/* The nodes up to a share, cut as in the pipeline. */
static gint64 cut_at(double ratio, gint64 nodes)
{
    return CLAMP((gint64)llround(ratio * (double)nodes), 0, nodes);
}

/* --- pieces ----------------------------------------------------------------------------------------------------------- */

static gboolean look_up(const Simulator *sim, const SimBlock *block, const SimReplica *replica, double nodes, double edges,
                        SimPiece *piece, GError **error)
{
    IfmCostLatency latency;
    if (!ifm_costs_latency(sim->costs, replica->device, block->plan->first, block->plan->last, nodes, edges, 0, &latency,
                           error))
        return FALSE;
    piece->at_nodes = nodes;
    piece->at_edges = edges;
    piece->alone_ns = latency.mean_ns;
    piece->spread_ratio = latency.mean_spread_ratio;
    piece->sampled_ratio = latency.mean_sampled_ratio;
    piece->n_draws = costs_draws(sim->costs, replica->device, block->plan->first, block->plan->last, nodes, edges,
                                 latency.mean_ns, piece->draws);
    return TRUE;
}

/* The mean is off by a lognormal factor of mean 1. */
static double mean_factor(const SimReplica *replica, const SimPiece *piece)
{
    double deviation = piece->sampled_ratio / COST_DEVIATIONS, variance = log1p(deviation * deviation);
    return isfinite(variance) && replica->error != 0 ? exp(sqrt(variance) * replica->error - variance / 2) : 1;
}

double sim_draw(Simulator *sim, const SimReplica *replica, SimPiece *piece)
{
    double ns = 0;
    for (int i = 0; i < piece->n_draws; i++)
    {
        const CostDraw *draw = &piece->draws[i];
        const CostSamples *samples = draw->samples;
        if (samples->relative == NULL)
        {
            ns += draw->mean_ns;
            continue;
        }
        gboolean jumps = g_rand_double(sim->random) * samples->block < 1;
        piece->at[i] = jumps ? (gsize)(g_rand_double(sim->random) * (double)samples->n) : (piece->at[i] + 1) % samples->n;
        ns += draw->mean_ns * samples->relative[piece->at[i]];
    }
    return ns * mean_factor(replica, piece);
}

/* All nodes of a batch, with ghosts. */
static gint64 sources_of(const Simulator *sim, gsize i)
{
    const IfmSimulateOptions *options = sim->options;
    return options->sources != NULL ? MAX(options->sources[i], options->sizes[i].nodes) : options->sizes[i].nodes;
}

/* The times of a static device are those of the size it is padded to; padding is the host's work. @held: the nodes that
 * its model has to hold */
static gboolean look_up_static(const Simulator *sim, const SimBlock *block, const SimReplica *replica, double held,
                               double nodes, double edges, SimPiece *piece, GError **error)
{
    IfmPlanSize size;
    int first = block->plan->first;
    if (!costs_static_size(sim->costs, replica->device, first, block->plan->last, held, edges, &size))
        return look_up(sim, block, replica, held, edges, piece, error); /* the cost model returns the reason */
    if (!look_up(sim, block, replica, (double)size.nodes, (double)size.edges, piece, error))
        return FALSE;
    gboolean exact = (double)size.nodes == nodes && (double)size.edges == edges;
    piece->pad_bytes = exact ? 0 : round_ns(costs_cut_bytes(sim->costs, first - 1, piece->at_nodes, piece->at_edges));
    piece->pad_ns = round_ns(costs_pad_ns(sim->costs, first, &size, nodes, edges));
    return TRUE;
}

/* The copies to a device with memory of its own and back, of the size of its model. */
static void add_copies(const Simulator *sim, const SimBlock *block, const SimReplica *replica, gsize index, SimPiece *piece)
{
    CostPart part = { 0 };
    const IfmPlanSize *size = &sim->options->sizes[index];
    int first = block->plan->first, last = block->plan->last;
    gboolean fixed = ifm_costs_device(sim->costs, replica->device)->form == IFM_PLAN_STATIC;
    double whole_nodes = (double)sources_of(sim, index), whole_edges = (double)size->edges;
    if (fixed && block->n_replicas == 1)
        whole_nodes = piece->at_nodes;
    for (gsize i = 0; fixed && block->n_replicas > 1 && i < sim->options->n_sizes; i++)
        whole_nodes = fmax(fmax(whole_nodes, piece->at_nodes), (double)sources_of(sim, i));
    costs_copies_at(sim->costs, replica->device, first, last, piece->at_nodes, piece->at_edges, whole_nodes,
                    fixed ? piece->at_edges : whole_edges, &part);
    const IfmCostCrossing *crossing = sim->costs->crossings[fixed][first - 1][last - 1];
    piece->in_ns = round_ns(part.in_ns);
    piece->out_ns = round_ns(part.out_ns);
    if (!part.copies || crossing == NULL)
        return;
    piece->in_bytes = round_ns(part.in_bytes);
    piece->out_bytes = round_ns(crossing->out_per_node * (double)piece->nodes +
                                crossing->out_per_edge * (double)size->edges * (double)piece->nodes / (double)size->nodes);
}

static gboolean piece_init(const Simulator *sim, const SimBlock *block, const SimReplica *replica, gsize index,
                           SimPiece *piece, GError **error)
{
    const IfmPlanSize *size = &sim->options->sizes[index];
    gint64 end = replica->is_last ? size->nodes : cut_at(replica->ratio_before + replica->ratio, size->nodes);
    piece->nodes = end - cut_at(replica->ratio_before, size->nodes);
    piece->factors = g_array_new(FALSE, FALSE, sizeof(SimFactor));
    if (piece->nodes == 0)
        return TRUE;
    double nodes = (double)piece->nodes, edges = (double)size->edges * nodes / (double)size->nodes;
    gboolean fixed = ifm_costs_device(sim->costs, replica->device)->form == IFM_PLAN_STATIC;
    double held =
        cost_held_nodes(sim->costs, replica->device, block->plan->n_devices, nodes, (double)sources_of(sim, index));
    if (!(fixed ? look_up_static(sim, block, replica, held, nodes, edges, piece, error)
                : look_up(sim, block, replica, nodes, edges, piece, error)))
        return FALSE;
    add_copies(sim, block, replica, index, piece);
    return TRUE;
}

double sim_factor(const Simulator *sim, const SimBlock *block, const SimReplica *replica, SimPiece *piece, guint32 busy)
{
    IfmCostLatency latency;
    busy &= ~(1u << replica->device);
    if (busy == 0)
        return 1;
    for (guint i = 0; i < piece->factors->len; i++)
        if (g_array_index(piece->factors, SimFactor, i).busy == busy)
            return g_array_index(piece->factors, SimFactor, i).factor;
    SimFactor found = { busy, 1 };
    if (ifm_costs_latency(sim->costs, replica->device, block->plan->first, block->plan->last, piece->at_nodes,
                          piece->at_edges, busy, &latency, NULL))
        found.factor = latency.mean_ns / piece->alone_ns;
    g_array_append_val(piece->factors, found);
    return found.factor;
}

/* --- blocks ----------------------------------------------------------------------------------------------------------- */

static gboolean replica_init(Simulator *sim, SimBlock *block, int place, GError **error)
{
    SimReplica *replica = &block->replicas[place];
    replica->described = g_ptr_array_index(sim->plan->devices, (guint)block->plan->devices[place]);
    replica->device = ifm_costs_find_device(sim->costs, replica->described->alias);
    for (int i = 0; i < place; i++)
        replica->ratio_before += block->plan->ratios[i];
    replica->ratio = block->plan->ratios[place];
    replica->is_last = place + 1 == block->n_replicas;
    replica->n_streams = cost_n_streams(sim->costs, replica->device, replica->described);
    replica->runs = g_new0(SimRun, replica->n_streams);
    replica->next = g_new0(gint64, replica->n_streams);
    replica->tracks = g_new0(IfmTrack *, replica->n_streams);
    replica->pieces = g_new0(SimPiece, sim->options->n_sizes);
    for (gsize i = 0; i < sim->options->n_sizes; i++)
        if (!piece_init(sim, block, replica, i, &replica->pieces[i], error))
            return ifm_error_prefix(error, "block %d: %s: ", block->index + 1, replica->described->alias);
    return TRUE;
}

/* The edges are ordered by the shares of all blocks once, when a batch enters. */
static double order_ns(const Simulator *sim, double edges)
{
    for (guint i = 0; i < sim->plan->blocks->len; i++)
        if (ifm_plan_block(sim->plan, i)->n_devices > 1)
            return cost_partition_ns(sim->costs, 2, TRUE, edges) - cost_partition_ns(sim->costs, 2, FALSE, edges);
    return 0;
}

static void host_init(const Simulator *sim, const SimBlock *block, gsize i)
{
    double edges = (double)sim->options->sizes[i].edges;
    block->host[i] = (SimHost){
        .partition_ns = round_ns(cost_partition_ns(sim->costs, block->n_replicas, FALSE, edges) +
                                 (block->index == 0 ? order_ns(sim, edges) : 0)),
        .merge_ns = round_ns(cost_merge_ns(sim->costs, block->n_replicas)),
    };
}

static void order_replicas(const Simulator *sim, SimBlock *block)
{
    int n = 0;
    for (int copies = FALSE; copies <= TRUE; copies++)
        for (int place = 0; place < block->n_replicas; place++)
            if ((sim->costs->devices[block->replicas[place].device]->copies != FALSE) == copies)
                block->order[n++] = place;
}

static gboolean block_init(Simulator *sim, int index, int block_depth, GError **error)
{
    SimBlock *block = &sim->blocks[index];
    block->plan = ifm_plan_block(sim->plan, (guint)index);
    block->index = index;
    block->replicas = g_new0(SimReplica, block->plan->n_devices);
    block->host = g_new0(SimHost, sim->options->n_sizes);
    block->n_replicas = (int)block->plan->n_devices;
    for (int place = 0; place < block->n_replicas; place++)
        if (!replica_init(sim, block, place, error))
            return FALSE;
    order_replicas(sim, block);
    int max_streams = 1;
    for (int place = 0; place < block->n_replicas; place++)
        max_streams = MAX(max_streams, block->replicas[place].n_streams);
    block->depth = block_depth - 1 + max_streams; /* one more for each further stream, which would be idle otherwise */
    block->works = g_new0(SimWork, block->depth);
    for (gsize i = 0; i < sim->options->n_sizes; i++)
        host_init(sim, block, i);
    return TRUE;
}

/* --- the whole -------------------------------------------------------------------------------------------------------- */

static gboolean check(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options, GError **error)
{
    if (!cost_check_plan(costs, plan, error))
        return FALSE;
    if (options->n_batches == 0 || options->n_batches > G_MAXINT32 || options->n_sizes == 0)
        ifm_error_refuse(error, "simulate: %zu batches of %zu sizes; at least one of each is expected", options->n_batches,
                         options->n_sizes);
    else if (options->queue_depth < 0 || options->block_depth < 0)
        ifm_error_refuse(error, "simulate: queue depth %d, block depth %d; at least 1 each is expected (0: the default)",
                         options->queue_depth, options->block_depth);
    else
        return TRUE;
    return FALSE;
}

static gboolean any_draws(const Simulator *sim)
{
    for (int i = 0; i < sim->n_blocks; i++)
        for (int place = 0; place < sim->blocks[i].n_replicas; place++)
            for (gsize size = 0; size < sim->options->n_sizes; size++)
            {
                const SimPiece *piece = &sim->blocks[i].replicas[place].pieces[size];
                for (int d = 0; d < piece->n_draws; d++)
                    if (piece->draws[d].samples->relative != NULL)
                        return TRUE;
            }
    return FALSE;
}

/* @sign: of its error */
static void rewind_replica(const Simulator *sim, SimReplica *replica, int sign)
{
    replica->n_handed = 0;
    replica->busy_ns = 0;
    replica->error = sim->draws ? sign * ifm_normal_deviate(sim->random) : 0;
    for (int stream = 0; stream < replica->n_streams; stream++)
    {
        replica->runs[stream] = (SimRun){ .batch = -1 };
        replica->next[stream] = stream;
    }
    for (gsize i = 0; i < sim->options->n_sizes; i++)
        for (int d = 0; d < replica->pieces[i].n_draws; d++)
            if (replica->pieces[i].draws[d].samples->relative != NULL)
                replica->pieces[i].at[d] = g_rand_int(sim->random) % replica->pieces[i].draws[d].samples->n;
}

void sim_rewind(Simulator *sim, guint32 seed, int sign, gboolean recorded)
{
    g_rand_set_seed(sim->random, seed);
    sim->now_ns = 0;
    for (int i = 0; i < sim->n_blocks; i++)
    {
        SimBlock *block = &sim->blocks[i];
        block->n_begun = block->n_merged = block->n_pushed = 0;
        block->activity = SIM_IDLE;
        block->turn = 0;
        block->since_ns = block->until_ns = block->merge_ns = block->free_ns = 0;
        block->waiting = FALSE;
        for (int place = 0; place < block->n_replicas; place++)
            rewind_replica(sim, &block->replicas[place], sign);
    }
    if (recorded)
        sim_trace_init(sim);
}

gboolean sim_init(Simulator *sim, const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options,
                  GError **error)
{
    const IfmPipelineOptions defaults = IFM_PIPELINE_OPTIONS_INIT;
    if (!check(costs, plan, options, error))
        return FALSE;
    *sim = (Simulator){ .costs = costs,
                        .plan = plan,
                        .options = options,
                        .n_batches = (gint64)options->n_batches,
                        .queue_depth = options->queue_depth > 0 ? options->queue_depth : defaults.queue_depth,
                        .n_blocks = (int)plan->blocks->len };
    sim->blocks = g_new0(SimBlock, sim->n_blocks);
    sim->entered_ns = g_new0(gint64, options->n_batches);
    sim->put_ns = g_new0(gint64, options->n_batches);
    sim->left_ns = g_new0(gint64, options->n_batches);
    sim->random = g_rand_new_with_seed(0);
    int depth = options->block_depth > 0 ? options->block_depth : defaults.block_depth;
    for (int i = 0; i < sim->n_blocks; i++)
        if (!block_init(sim, i, depth, error))
            return FALSE;
    sim->draws = any_draws(sim);
    return TRUE;
}

static void replica_clear(const Simulator *sim, SimReplica *replica)
{
    for (gsize i = 0; i < sim->options->n_sizes && replica->pieces != NULL; i++)
        if (replica->pieces[i].factors != NULL)
            g_array_unref(replica->pieces[i].factors);
    g_free(replica->pieces);
    g_free(replica->runs);
    g_free(replica->next);
    g_free(replica->tracks);
}

void sim_clear(Simulator *sim)
{
    for (int i = 0; i < sim->n_blocks && sim->blocks != NULL; i++)
    {
        for (int place = 0; place < sim->blocks[i].n_replicas; place++)
            replica_clear(sim, &sim->blocks[i].replicas[place]);
        g_free(sim->blocks[i].replicas);
        g_free(sim->blocks[i].works);
        g_free(sim->blocks[i].host);
    }
    g_free(sim->blocks);
    g_free(sim->entered_ns);
    g_free(sim->put_ns);
    g_free(sim->left_ns);
    g_clear_pointer(&sim->random, g_rand_free);
    g_clear_pointer(&sim->trace, ifm_trace_free);
}
