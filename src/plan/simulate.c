/*
 * The simulation of a plan: discrete events, without clock and thread. At each moment all that needs no time happens,
 * block by block. Then the rates of all inferences follow from the devices that are busy. Then time goes on to the next
 * end of an activity. Times are whole nanoseconds. What is left of an inference is kept as a fraction, so that rounding
 * does not add up. docs/planning.md.
 */
#include <math.h>
#include <string.h>

#include "simulate-private.h"

#define NEVER G_MAXINT64

static SimWork *work_of(const SimBlock *block, gint64 batch)
{
    return &block->works[batch % block->depth];
}

static const SimHost *host_of(const Simulator *sim, const SimBlock *block, gint64 batch)
{
    return &block->host[sim_size_of(sim, batch)];
}

/* --- devices ---------------------------------------------------------------------------------------------------------- */

static void part_done(const SimBlock *block, gint64 batch)
{
    work_of(block, batch)->n_left--;
}

/* Ends the inference if its time is over. */
static gboolean end_run(Simulator *sim, SimBlock *block, SimReplica *replica, int stream)
{
    SimRun *run = &replica->runs[stream];
    if (run->batch < 0 || run->end_ns > sim->now_ns)
        return FALSE;
    sim_record(sim, replica->tracks[stream], IFM_EVENT_INFER, block, run->batch, run->start_ns, sim->now_ns, 0);
    replica->busy_ns += (double)(sim->now_ns - run->start_ns);
    part_done(block, run->batch);
    run->batch = -1;
    return TRUE;
}

/* Begins the next batch whose part is ready; one without a share is skipped. */
static gboolean begin_run(Simulator *sim, SimBlock *block, SimReplica *replica, int stream)
{
    SimRun *run = &replica->runs[stream];
    gint64 batch = replica->next[stream];
    if (run->batch >= 0 || batch >= replica->n_handed)
        return FALSE;
    SimPiece *piece = &replica->pieces[sim_size_of(sim, batch)];
    replica->next[stream] += replica->n_streams;
    if (piece->nodes == 0)
        part_done(block, batch);
    else
        *run = (SimRun){ .batch = batch,
                         .piece = piece,
                         .left_ns = sim_draw(sim, replica, piece),
                         .start_ns = sim->now_ns,
                         .settled_ns = sim->now_ns,
                         .end_ns = NEVER };
    return TRUE;
}

static gboolean step_replicas(Simulator *sim, SimBlock *block)
{
    gboolean moved = FALSE;
    for (int place = 0; place < block->n_replicas; place++)
        for (int stream = 0; stream < block->replicas[place].n_streams; stream++)
        {
            moved |= end_run(sim, block, &block->replicas[place], stream);
            moved |= begin_run(sim, block, &block->replicas[place], stream);
        }
    return moved;
}

/* --- a block's thread ------------------------------------------------------------------------------------------------- */

static void occupy(Simulator *sim, SimBlock *block, SimActivity activity, gint64 ns)
{
    block->activity = activity;
    block->since_ns = sim->now_ns;
    block->until_ns = sim->now_ns + ns;
}

/* Of the replica at @turn. */
static const SimPiece *piece_in_turn(const Simulator *sim, const SimBlock *block, gint64 batch)
{
    return &block->replicas[block->order[block->turn]].pieces[sim_size_of(sim, batch)];
}

/* After partition the parts are handed over one after the other. Each is padded if its device needs that, then copied
 * to the device's own memory. Copies lie within the events of partition and of merge. @after: the last activity for the
 * replica at @turn */
static void hand_parts(Simulator *sim, SimBlock *block, SimActivity after)
{
    for (; block->turn < block->n_replicas; after = SIM_PARTITION)
    {
        const SimPiece *piece = piece_in_turn(sim, block, block->n_begun - 1);
        if (after == SIM_PARTITION && piece->pad_ns > 0)
        {
            occupy(sim, block, SIM_PAD, piece->pad_ns);
            return;
        }
        if (after != SIM_COPY_IN && piece->in_ns > 0)
        {
            occupy(sim, block, SIM_COPY_IN, piece->in_ns);
            return;
        }
        block->replicas[block->order[block->turn++]].n_handed = block->n_begun;
    }
    gint64 batch = block->n_begun - 1;
    sim_record(sim, block->track, IFM_EVENT_PARTITION, block, batch, work_of(block, batch)->start_ns, sim->now_ns, 0);
    block->activity = SIM_IDLE;
    block->free_ns = sim->now_ns;
}

static void end_merge(Simulator *sim, SimBlock *block)
{
    gint64 batch = block->n_merged++;
    SimWork *work = work_of(block, batch);
    sim_record(sim, block->track, IFM_EVENT_MERGE, block, batch, block->merge_ns, sim->now_ns, 0);
    sim_record(sim, block->passing, IFM_EVENT_BLOCK, block, batch, work->start_ns, sim->now_ns, 0);
    block->activity = SIM_IDLE;
    block->free_ns = sim->now_ns;
}

/* Outputs in devices' own memory are copied back one after the other, in the order of the block's devices. */
static void fetch_parts(Simulator *sim, SimBlock *block)
{
    for (; block->turn < block->n_replicas; block->turn++)
    {
        gint64 out_ns = block->replicas[block->turn].pieces[sim_size_of(sim, block->n_merged)].out_ns;
        if (out_ns > 0)
        {
            occupy(sim, block, SIM_COPY_OUT, out_ns);
            return;
        }
    }
    end_merge(sim, block);
}

static gint64 bytes_of(const Simulator *sim, const SimBlock *block, gint64 batch)
{
    switch (block->activity)
    {
    case SIM_COPY_OUT:
        return block->replicas[block->turn].pieces[sim_size_of(sim, batch)].out_bytes;
    case SIM_COPY_IN:
        return piece_in_turn(sim, block, batch)->in_bytes;
    case SIM_PAD:
        return piece_in_turn(sim, block, batch)->pad_bytes;
    default:
        return 0;
    }
}

/* Ends the activity of the thread and begins the one that follows. */
static gboolean end_activity(Simulator *sim, SimBlock *block)
{
    if (block->activity == SIM_IDLE || block->until_ns > sim->now_ns)
        return FALSE;
    gboolean merging = block->activity == SIM_MERGE || block->activity == SIM_COPY_OUT;
    gint64 batch = merging ? block->n_merged : block->n_begun - 1;
    gint64 bytes = bytes_of(sim, block, batch);
    if (block->activity != SIM_PARTITION && block->activity != SIM_MERGE)
        sim_record(sim, block->track, IFM_EVENT_COPY, block, batch, block->since_ns, sim->now_ns, bytes);
    switch (block->activity)
    {
    case SIM_MERGE:
        block->turn = 0;
        fetch_parts(sim, block);
        break;
    case SIM_COPY_OUT:
        block->turn++;
        fetch_parts(sim, block);
        break;
    case SIM_PARTITION:
        block->turn = 0;
        hand_parts(sim, block, block->activity);
        break;
    default:
        hand_parts(sim, block, block->activity);
    }
    return TRUE;
}

/* Whether another batch is there for the block. @ended: (out) whether no batch will come any more */
static gboolean has_input(const Simulator *sim, const SimBlock *block, gboolean *ended)
{
    gint64 ready = block->index > 0 ? block[-1].n_pushed : sim->n_batches;
    *ended = ready == sim->n_batches && block->n_begun == ready;
    return block->n_begun < ready;
}

/* Nothing to do at this moment: notes the reason. */
static void begin_wait(const Simulator *sim, SimBlock *block)
{
    gboolean ended, input = has_input(sim, block, &ended);
    if (block->activity != SIM_IDLE || block->waiting)
        return;
    block->waiting = TRUE;
    block->waits_for = IFM_EVENT_OTHER;
    if (block->n_begun - block->n_pushed < block->depth && !input && !ended)
        block->waits_for = IFM_EVENT_WAIT_INPUT;
    else if (block->n_merged > block->n_pushed)
        block->waits_for = IFM_EVENT_WAIT_OUTPUT;
}

static void end_wait(Simulator *sim, SimBlock *block)
{
    gint64 batch = block->waits_for == IFM_EVENT_WAIT_OUTPUT ? block->n_pushed : -1;
    if (block->waiting && block->waits_for != IFM_EVENT_OTHER)
        sim_record(sim, block->track, block->waits_for, block, batch, block->free_ns, sim->now_ns, 0);
    block->waiting = FALSE;
    block->free_ns = sim->now_ns;
}

/* Takes a batch from the queue before the block, or one that enters. */
static gboolean take(Simulator *sim, SimBlock *block)
{
    gint64 batch = block->n_begun;
    gboolean ended;
    if (block->activity != SIM_IDLE || batch - block->n_pushed >= block->depth || !has_input(sim, block, &ended))
        return FALSE;
    end_wait(sim, block);
    if (block->index > 0)
        sim_record(sim, block->queue, IFM_EVENT_QUEUE, block, batch, sim->put_ns[batch], sim->now_ns, 0);
    else
        sim->entered_ns[batch] = sim->now_ns;
    *work_of(block, batch) = (SimWork){ .start_ns = sim->now_ns, .n_left = block->n_replicas };
    block->n_begun++;
    occupy(sim, block, SIM_PARTITION, host_of(sim, block, batch)->partition_ns);
    return TRUE;
}

/* Merges the next batch if all its parts are done. */
static gboolean merge(Simulator *sim, SimBlock *block)
{
    gint64 batch = block->n_merged;
    if (block->activity != SIM_IDLE || batch >= block->n_begun || work_of(block, batch)->n_left > 0)
        return FALSE;
    end_wait(sim, block);
    block->merge_ns = sim->now_ns;
    occupy(sim, block, SIM_MERGE, host_of(sim, block, batch)->merge_ns);
    return TRUE;
}

/* Hands the merged batch on if the next queue has room; the last block delivers it. */
static gboolean push(Simulator *sim, SimBlock *block)
{
    gint64 batch = block->n_pushed;
    gboolean is_last = block->index + 1 == sim->n_blocks;
    if (block->activity != SIM_IDLE || batch >= block->n_merged ||
        (!is_last && batch - block[1].n_begun >= sim->queue_depth))
        return FALSE;
    end_wait(sim, block);
    block->n_pushed++;
    if (is_last)
    {
        sim->left_ns[batch] = sim->now_ns;
        sim_record(sim, sim->batches, IFM_EVENT_BATCH, NULL, batch, sim->entered_ns[batch], sim->now_ns, 0);
    }
    else
        sim->put_ns[batch] = sim->now_ns;
    return TRUE;
}

/* --- time ------------------------------------------------------------------------------------------------------------- */

/* Does all that can happen at this moment. */
static void settle_moment(Simulator *sim)
{
    for (gboolean moved = TRUE; moved;)
    {
        moved = FALSE;
        for (int i = sim->n_blocks - 1; i >= 0; i--)
        {
            SimBlock *block = &sim->blocks[i];
            moved |= end_activity(sim, block);
            moved |= step_replicas(sim, block);
            /* in the executor's order: devices get their next work before the last is merged */
            gboolean is_last = block->index + 1 == sim->n_blocks;
            moved |= (!is_last && push(sim, block)) || take(sim, block) || push(sim, block) || merge(sim, block);
        }
    }
    for (int i = 0; i < sim->n_blocks; i++)
        begin_wait(sim, &sim->blocks[i]);
}

/* @busy: the devices of all inferences in progress    @next_ns: the first end of an activity */
typedef struct
{
    guint32 busy;
    gint64 next_ns;
} Moment;

static void each_run(Simulator *sim,
                     void (*each)(Simulator *sim, SimBlock *block, SimReplica *replica, SimRun *run, Moment *moment),
                     Moment *moment)
{
    for (int i = 0; i < sim->n_blocks; i++)
        for (int place = 0; place < sim->blocks[i].n_replicas; place++)
            for (int stream = 0; stream < sim->blocks[i].replicas[place].n_streams; stream++)
            {
                SimReplica *replica = &sim->blocks[i].replicas[place];
                if (replica->runs[stream].batch >= 0)
                    each(sim, &sim->blocks[i], replica, &replica->runs[stream], moment);
            }
}

static void add_busy(Simulator *sim, SimBlock *block, SimReplica *replica, SimRun *run, Moment *moment)
{
    moment->busy |= 1u << replica->device;
}

/* Changes the rate of what is left of an inference when others began or ended. */
static void set_rate(Simulator *sim, SimBlock *block, SimReplica *replica, SimRun *run, Moment *moment)
{
    double factor = sim_factor(sim, block, replica, run->piece, moment->busy);
    if (run->end_ns == NEVER || factor != run->factor)
    {
        if (run->end_ns != NEVER)
            run->left_ns = fmax(run->left_ns - (double)(sim->now_ns - run->settled_ns) / run->factor, 0);
        run->settled_ns = sim->now_ns;
        run->factor = factor;
        run->end_ns = sim->now_ns + (gint64)llround(run->left_ns * factor);
    }
    moment->next_ns = MIN(moment->next_ns, run->end_ns);
}

/* The moment of the next end; NEVER if nothing is in progress. */
static gint64 next_moment(Simulator *sim)
{
    Moment moment = { 0, NEVER };
    each_run(sim, add_busy, &moment);
    each_run(sim, set_rate, &moment);
    for (int i = 0; i < sim->n_blocks; i++)
        if (sim->blocks[i].activity != SIM_IDLE)
            moment.next_ns = MIN(moment.next_ns, sim->blocks[i].until_ns);
    return moment.next_ns;
}

static void run_all(Simulator *sim)
{
    for (;;)
    {
        settle_moment(sim);
        gint64 next_ns = next_moment(sim);
        if (next_ns == NEVER)
            break;
        sim->now_ns = next_ns;
    }
    g_assert(sim->blocks[sim->n_blocks - 1].n_pushed == sim->n_batches);
}

/* --- outcome ---------------------------------------------------------------------------------------------------------- */

/* The spread of the device that works longest, which sets the pace. All its latencies are off in the same direction if
 * the table is. It is unknown where that is. @drawn: of simulations with other draws, which hold what more runs would
 * narrow; 0: there is one alone */
static double spread_of(const Simulator *sim, double drawn)
{
    const SimReplica *busiest = &sim->blocks[0].replicas[0];
    double half = 0, sum = 0;
    for (int i = 0; i < sim->n_blocks; i++)
        for (int place = 0; place < sim->blocks[i].n_replicas; place++)
            if (sim->blocks[i].replicas[place].busy_ns > busiest->busy_ns)
                busiest = &sim->blocks[i].replicas[place];
    for (gsize i = 0; i < sim->options->n_sizes; i++)
    {
        const SimPiece *piece = &busiest->pieces[i];
        double ratio = piece->spread_ratio;
        if (drawn > 0 && isfinite(piece->sampled_ratio) && isfinite(ratio))
            ratio = sqrt(fmax(ratio * ratio - piece->sampled_ratio * piece->sampled_ratio, 0));
        half += piece->nodes > 0 ? piece->alone_ns * ratio : 0;
        sum += piece->alone_ns;
    }
    return hypot(half / sum, drawn);
}

static double median_latency(const Simulator *sim)
{
    g_autofree double *latencies = g_new(double, sim->n_batches);
    for (gint64 i = 0; i < sim->n_batches; i++)
        latencies[i] = (double)(sim->left_ns[i] - sim->entered_ns[i]);
    return ifm_quantile_of(latencies, (gsize)sim->n_batches, 0.5);
}

void ifm_simulation_clear(IfmSimulation *simulation)
{
    g_clear_pointer(&simulation->trace, ifm_trace_free);
    *simulation = (IfmSimulation){ 0 };
}

/* More of them where each is short: the spread of a long one is small, and few show that. */
#define MIN_REPLICATES 16
#define MAX_REPLICATES 64
#define DRAWN_BATCHES 50000
/* Simulations with the means as they are, of which the one in the middle is shown. */
#define N_SHOWN 5
/* A small sample of skewed latencies shows too little of its tail, and a search takes the plan whose sample shows least:
 * found by bench/plan-intervals.py, which without it has 92 % of makespans within their interval. */
#define WIDENED 1.15

static double makespan_of(const Simulator *sim)
{
    return (double)(sim->left_ns[sim->n_batches - 1] - sim->entered_ns[0]);
}

/* The mean makespan of simulations whose means are off, and how far they spread; each has one with the same draws and the
 * opposite errors. */
static double replicate(Simulator *sim, double *spread_ratio)
{
    double makespans[MAX_REPLICATES], mean = 0, squares = 0;
    guint32 n = (guint32)CLAMP(DRAWN_BATCHES / sim->n_batches, MIN_REPLICATES, MAX_REPLICATES);
    for (guint32 i = 0; i < n; i++)
    {
        sim_rewind(sim, i / 2, i % 2 == 0 ? 1 : -1, FALSE);
        run_all(sim);
        makespans[i] = makespan_of(sim);
        mean += makespans[i] / n;
    }
    for (guint32 i = 0; i < n; i++)
        squares += (makespans[i] - mean) * (makespans[i] - mean);
    *spread_ratio = WIDENED * ifm_student_quantile(0.975, n - 1) * sqrt(squares / (n - 1)) / mean;
    return mean;
}

/* Records the simulation in the middle of those with the means as they are. */
static void show(Simulator *sim, double *latency_ns)
{
    double makespans[N_SHOWN], sorted[N_SHOWN];
    guint32 pick = 0;
    *latency_ns = 0;
    for (guint32 i = 0; i < N_SHOWN; i++)
    {
        sim_rewind(sim, i, 0, FALSE);
        run_all(sim);
        makespans[i] = sorted[i] = makespan_of(sim);
        *latency_ns += median_latency(sim) / N_SHOWN;
    }
    ifm_sort_doubles(sorted, N_SHOWN);
    while (makespans[pick] != sorted[N_SHOWN / 2])
        pick++;
    sim_rewind(sim, pick, 0, TRUE);
    run_all(sim);
}

gboolean ifm_plan_simulate(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options,
                           IfmSimulation *simulation, GError **error)
{
    g_auto(Simulator) sim = { 0 };
    double makespan_ns, drawn = 0;
    *simulation = (IfmSimulation){ 0 };
    if (!sim_init(&sim, costs, plan, options, error))
        return FALSE;
    if (sim.draws)
    {
        makespan_ns = replicate(&sim, &drawn);
        show(&sim, &simulation->latency_median_ns);
    }
    else
    {
        sim_rewind(&sim, 0, 0, TRUE);
        run_all(&sim);
        makespan_ns = makespan_of(&sim);
        simulation->latency_median_ns = median_latency(&sim);
    }
    simulation->makespan_ns = (gint64)llround(makespan_ns);
    simulation->throughput_per_s = 1e9 * (double)sim.n_batches / makespan_ns;
    simulation->makespan_spread_ratio = spread_of(&sim, drawn);
    simulation->trace = g_steal_pointer(&sim.trace);
    return TRUE;
}
