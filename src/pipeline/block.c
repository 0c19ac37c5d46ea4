/* A block: a thread that takes batches, partitions them among its replicas, merges the results, and hands them on. */
#include <pthread.h>
#include <staged/staged.h>
#include <string.h>

#include "pipeline-private.h"

/* --- progress and failure --------------------------------------------------------------------------------------------- */

static void progress(const Block *block)
{
    atomic_store(&block->line->progress_ns, ifm_clock_now_ns(block->line->clock));
}

static gboolean is_devices(const GError *error)
{
    return error->domain == IFM_ERROR && error->code != IFM_ERROR_INVALID && error->code != IFM_ERROR_CANCELLED;
}

/* Notes a failure of the run. @device: -1: of no device */
static void fail(Line *line, gsize index, int block, int device, const GError *error)
{
    ifm_condition_lock(line->ended);
    if (device >= 0 && is_devices(error))
        line->lost |= 1u << device;
    if (line->failure.error == NULL || index < line->failure.index)
    {
        g_clear_error(&line->failure.error);
        line->failure = (Failure){ index, block, device, device >= 0 && is_devices(error), g_error_copy(error) };
        g_prefix_error(&line->failure.error, "block %d: ", block + 1);
    }
    ifm_condition_unlock(line->ended);
}

/* A replica's failure on a batch: it names the device. */
static void fail_replica(const Replica *replica, const InFlight *flight, GError **error)
{
    g_prefix_error(error, "%s: ", replica->described->alias);
    fail(replica->block->line, flight->index, replica->block->index, replica->device, *error);
}

/* --- queues -----------------------------------------------------------------------------------------------------------
 *
 * Bounded queues between blocks. The consumer's inbox guards what lies in its queue. The producer's inbox guards how much
 * room is left. So a block waits on one condition, and holds no lock while it takes another.
 */

static InFlight *queue_take(Block *block)
{
    ifm_condition_lock(block->inbox);
    InFlight *flight = block->queue[block->queue_first];
    block->queue_first = (block->queue_first + 1) % block->line->queue_depth;
    block->queue_n--;
    ifm_condition_unlock(block->inbox);
    return flight;
}

static void queue_put(Block *to, InFlight *flight)
{
    ifm_condition_lock(to->inbox);
    g_assert(to->queue_n < to->line->queue_depth);
    to->queue[(to->queue_first + to->queue_n) % to->line->queue_depth] = flight;
    to->queue_n++;
    ifm_condition_broadcast(to->inbox);
    ifm_condition_unlock(to->inbox);
}

static void queue_give_room(Block *to)
{
    ifm_condition_lock(to->inbox);
    to->room++;
    ifm_condition_broadcast(to->inbox);
    ifm_condition_unlock(to->inbox);
}

static void order(Block *block, gboolean *what)
{
    ifm_condition_lock(block->inbox);
    *what = TRUE;
    ifm_condition_broadcast(block->inbox);
    ifm_condition_unlock(block->inbox);
}

void ifm_block_stop(Block *block)
{
    order(block, &block->stopping);
}

/* --- begin of a batch ------------------------------------------------------------------------------------------------- */

static void init_work(Block *block, Work *work, InFlight *flight, gint64 start_ns)
{
    IfmBlockTimes *times = &block->line->times[flight->index * (gsize)block->line->n_blocks + (gsize)block->index];
    for (gsize i = 0; i < G_N_ELEMENTS(work->jobs); i++)
        g_clear_error(&work->jobs[i].error);
    g_clear_error(&work->error);
    *work = (Work){ .block = block, .flight = flight, .times = times };
    *times = (IfmBlockTimes){ .start_ns = start_ns };
    for (gsize i = 0; i < IFM_PLAN_MAX_DEVICES; i++)
        times->device_time_ns[i] = -1;
}

/* Whether there is nothing to compute: a share without nodes, or without edges in a block whose outputs are all by
 * edges. */
static gboolean is_empty(const Job *job)
{
    const GPtrArray *outputs = job->replica->block->outputs;
    gboolean empty = TRUE;
    for (guint i = 0; i < outputs->len && empty; i++)
    {
        const IfmBoundary *boundary = g_ptr_array_index(outputs, i);
        const char *dim = boundary->split_axis >= 0 ? boundary->dims[boundary->split_axis] : "";
        empty = g_str_equal(dim, "edges") && job->edge_high == job->edge_low;
    }
    return empty || job->high == job->low;
}

/* Devices that read host memory begin before the copies to the others. */
static gboolean begin_jobs(Block *block, Work *work, gboolean copies, GError **error)
{
    for (gsize i = 0; i < block->n_replicas; i++)
    {
        Replica *replica = &block->replicas[i];
        Job *job = &work->jobs[i];
        if (replica->copies != copies)
            continue;
        *job = (Job){ .replica = replica, .work = work };
        ifm_flight_share(work->flight, replica, &job->low, &job->high);
        job->edge_low = ifm_flight_edges_below(work->flight, job->low);
        job->edge_high = ifm_flight_edges_below(work->flight, job->high);
        if (is_empty(job))
            continue;
        if (!ifm_replica_prepare(job, error))
        {
            fail_replica(replica, work->flight, error);
            return FALSE;
        }
        ifm_condition_lock(block->inbox);
        work->n_left++;
        ifm_condition_unlock(block->inbox);
        ifm_replica_start(job);
    }
    return TRUE;
}

static gboolean begin_parts(Block *block, Work *work, GError **error)
{
    if (block->index > 0 || ifm_flight_order(work->flight, block->line, FALSE, error))
        return begin_jobs(block, work, FALSE, error) && begin_jobs(block, work, TRUE, error);
    fail(block->line, work->flight->index, block->index, -1, *error);
    return FALSE;
}

static void begin(Block *block, InFlight *flight)
{
    const Line *line = block->line;
    gint64 start_ns = ifm_clock_now_ns(line->clock);
    Work *work = &block->works[block->n_begun % block->depth];
    progress(block);
    init_work(block, work, flight, start_ns);
    if (block->index == 0)
        line->entered_ns[flight->index] = flight->entered_ns = start_ns;
    else
    {
        IfmEvent event = ifm_block_event(block, IFM_EVENT_QUEUE, flight, flight->put_ns, start_ns);
        ifm_block_record_event(block, block->queue_track, &event);
    }
    if (!flight->failed)
        flight->failed = !begin_parts(block, work, &work->error);
    work->partition_end_ns = ifm_clock_now_ns(line->clock);
    work->times->partition_ns = work->partition_end_ns - start_ns;
    block->free_ns = work->partition_end_ns;
    ifm_block_record(block, IFM_EVENT_PARTITION, flight, start_ns, work->partition_end_ns);
    ifm_condition_lock(block->inbox);
    block->n_begun++;
    ifm_condition_unlock(block->inbox);
}

/* --- merge, delivery, hand-over --------------------------------------------------------------------------------------- */

/* The job that the block waited for: of those with a share the one that ended last; of several the longest. */
static const Job *last_job(const Block *block, const Work *work)
{
    const Job *last = NULL;
    for (gsize i = 0; i < block->n_replicas; i++)
    {
        const Job *job = &work->jobs[i];
        if (job->state != IFM_JOB_NONE && (last == NULL || job->completed_ns > last->completed_ns ||
                                           (job->completed_ns == last->completed_ns && job->started_ns < last->started_ns)))
            last = job;
    }
    return last;
}

static gboolean fetch_outputs(Block *block, Work *work)
{
    for (gsize i = 0; i < block->n_replicas; i++)
    {
        Job *job = &work->jobs[i];
        if (job->state == IFM_JOB_NONE)
            continue;
        if (work->error == NULL && !ifm_replica_fetch(job, &work->error))
            fail_replica(job->replica, work->flight, &work->error);
        work->times->copy_bytes += job->copied_bytes;
    }
    return work->error == NULL;
}

/* The times of the parts of a batch: partition, the wait for the device's turn, the device, merge. What a device does
 * during partition counts as partition. */
static void merge(Block *block, Work *work)
{
    const Line *line = block->line;
    InFlight *flight = work->flight;
    IfmBlockTimes *times = work->times;
    const Job *last = last_job(block, work);
    gint64 partitioned_ns = work->partition_end_ns, taken_ns = MAX(block->free_ns, partitioned_ns);
    gint64 completed_ns = last != NULL ? MAX(last->completed_ns, partitioned_ns) : partitioned_ns;
    gint64 started_ns = last != NULL ? CLAMP(last->started_ns, partitioned_ns, completed_ns) : completed_ns;
    flight->failed = !fetch_outputs(block, work) || flight->failed;
    gint64 merged_ns = ifm_clock_now_ns(line->clock);
    times->turn_ns = started_ns - partitioned_ns;
    times->device_ns = completed_ns - started_ns;
    times->merge_ns = merged_ns - completed_ns;
    times->total_ns = times->partition_ns + times->device_ns + times->merge_ns;
    IfmEvent passing = ifm_block_event(block, IFM_EVENT_BLOCK, flight, times->start_ns, merged_ns);
    passing.failed = flight->failed;
    ifm_block_record(block, IFM_EVENT_MERGE, flight, MAX(taken_ns, completed_ns), merged_ns);
    ifm_block_record_event(block, block->passing, &passing);
    block->free_ns = merged_ns;
    progress(block);
    ifm_condition_lock(block->inbox);
    work->merged = TRUE;
    block->n_merged++;
    ifm_condition_unlock(block->inbox);
}

static void deliver(Block *block, Work *work)
{
    Line *line = block->line;
    InFlight *flight = work->flight;
    gint64 now_ns = ifm_clock_now_ns(line->clock);
    IfmTensor outputs[IFM_MAX_STAGES];
    gsize n = 0;
    for (guint i = 0; i < block->outputs->len && n < G_N_ELEMENTS(outputs); i++)
        outputs[n++] = ifm_line_tensor(line, ((const IfmBoundary *)g_ptr_array_index(block->outputs, i))->name, flight);
    ifm_condition_lock(block->inbox); /* an abandoned line hands nothing to the caller any more: see abandon() */
    gboolean gone = atomic_load(&line->abandoned) != 0;
    block->delivering = !gone;
    block->since_ns = now_ns;
    ifm_condition_unlock(block->inbox);
    if (gone)
        return;
    line->left_ns[flight->index] = now_ns;
    IfmEvent event = ifm_block_event(block, IFM_EVENT_BATCH, flight, flight->entered_ns, now_ns);
    event.block = 0;
    event.first = 1;
    ifm_block_record_event(block, line->batches, &event);
    if (line->delivered != NULL)
        line->delivered(flight->batch, outputs, NULL, line->user);
    ifm_condition_lock(block->inbox);
    block->delivering = FALSE;
    line->n_delivered++;
    ifm_condition_unlock(block->inbox);
}

/* A failed batch is the last one that a block hands on; batches after it go no further. It goes through all blocks to
 * the end, so that the batches before it are delivered first; then the run reports it. */
static void push(Block *block, Work *work)
{
    Line *line = block->line;
    gboolean failed = work->flight->failed, is_last = block->index + 1 == line->n_blocks;
    if (is_last && !failed)
        deliver(block, work);
    else if (!is_last)
    {
        ifm_condition_lock(block->inbox);
        block->room--;
        ifm_condition_unlock(block->inbox);
        work->flight->put_ns = ifm_clock_now_ns(line->clock);
        queue_put(&line->blocks[block->index + 1], work->flight);
    }
    block->free_ns = MAX(block->free_ns, ifm_clock_now_ns(line->clock));
    progress(block);
    ifm_condition_lock(block->inbox);
    block->n_pushed++;
    block->stopping = block->stopping || failed;
    ifm_condition_unlock(block->inbox);
    if (failed)
        for (int i = 0; i < block->index; i++)
            ifm_block_stop(&line->blocks[i]);
}

/* --- the next action -------------------------------------------------------------------------------------------------- */

typedef enum
{
    DO_WAIT,
    DO_SEE,
    DO_BEGIN,
    DO_MERGE,
    DO_PUSH,
    DO_END,
} Action;

static Job *find_done(Block *block, gint64 *n_running)
{
    *n_running = 0;
    for (gint64 n = block->n_pushed; n < block->n_begun; n++)
        for (gsize i = 0; i < block->n_replicas; i++)
        {
            Job *job = &block->works[n % block->depth].jobs[i];
            if (job->state == IFM_JOB_DONE)
                return job;
            *n_running += job->state == IFM_JOB_RUNNING;
        }
    return NULL;
}

static Work *work_at(Block *block, gint64 n)
{
    return &block->works[n % block->depth];
}

static gboolean has_input(const Block *block)
{
    const Line *line = block->line;
    return block->index > 0 ? block->queue_n > 0 : (gsize)block->n_begun < line->n_input - line->first;
}

/* No batch begins after one that failed. */
static gboolean may_begin(Block *block)
{
    gboolean failed = block->n_begun > block->n_pushed && work_at(block, block->n_begun - 1)->flight->failed;
    return !failed && block->n_begun - block->n_pushed < block->depth && has_input(block);
}

static gboolean may_push(Block *block)
{
    return block->n_merged > block->n_pushed && (block->index + 1 == block->line->n_blocks || block->room > 0);
}

/* The next thing to do; called with the inbox locked. A batch is handed on before another begins. The last block is
 * different: its hand-over calls the caller, which may take long, so that devices get their next work first. */
static Action choose(Block *block, Job **done)
{
    gint64 n_running;
    gboolean is_last = block->index + 1 == block->line->n_blocks;
    *done = find_done(block, &n_running);
    if (atomic_load(&block->line->abandoned))
        return DO_END;
    if (*done != NULL)
        return DO_SEE;
    if (block->stopping)
        return n_running > 0 ? DO_WAIT : DO_END;
    if (may_push(block) && !is_last)
        return DO_PUSH;
    if (may_begin(block))
        return DO_BEGIN;
    if (may_push(block))
        return DO_PUSH;
    if (block->n_merged < block->n_begun && work_at(block, block->n_merged)->n_left == 0)
        return DO_MERGE;
    gboolean none_left = block->index > 0 ? block->ended && block->queue_n == 0 : !has_input(block);
    return none_left && block->n_pushed == block->n_begun ? DO_END : DO_WAIT;
}

/* Whether it waits for input and not for its devices. */
static gboolean waits_for_input(const Block *block)
{
    return block->n_begun - block->n_pushed < block->depth && !has_input(block) && !(block->index == 0 || block->ended);
}

static void record_wait(Block *block, gint64 start_ns, gboolean for_input, gboolean for_output, Action action)
{
    const Line *line = block->line;
    gint64 end_ns = ifm_clock_now_ns(line->clock);
    const InFlight *flight = for_output ? work_at(block, block->n_pushed)->flight : NULL;
    if (action == DO_MERGE) /* the merge began when the last device was done */
    {
        const Job *last = last_job(block, work_at(block, block->n_merged));
        gint64 completed_ns = last != NULL ? last->completed_ns : 0;
        end_ns = CLAMP(completed_ns, start_ns, end_ns);
    }
    block->free_ns = MAX(block->free_ns, end_ns);
    if (end_ns == start_ns)
        return;
    if (for_input)
        ifm_block_record(block, IFM_EVENT_WAIT_INPUT, NULL, start_ns, end_ns);
    else if (for_output)
        ifm_block_record(block, IFM_EVENT_WAIT_OUTPUT, flight, start_ns, end_ns);
}

/* Waits until there is something to do. It takes note of devices' answers meanwhile; these do not end a wait for
 * input. */
static Action next_action(Block *block)
{
    Job *done;
    Action action;
    gint64 start_ns = block->free_ns;
    gboolean for_input = FALSE, for_output = FALSE, waited = FALSE;
    ifm_condition_lock(block->inbox);
    while ((action = choose(block, &done)) == DO_WAIT || action == DO_SEE)
    {
        if (action == DO_WAIT)
        {
            if (!waited)
            {
                for_input = waits_for_input(block);
                for_output = block->n_merged > block->n_pushed;
            }
            waited = TRUE;
            ifm_condition_wait_until(block->inbox, IFM_CLOCK_NEVER);
            continue;
        }
        ifm_condition_unlock(block->inbox);
        ifm_replica_see(done);
        g_autoptr(GError) error = g_steal_pointer(&done->error);
        if (error != NULL)
        {
            fail_replica(done->replica, done->work->flight, &error);
            if (done->work->error == NULL)
                done->work->error = g_steal_pointer(&error);
        }
        ifm_condition_lock(block->inbox);
    }
    ifm_condition_unlock(block->inbox);
    if (waited)
        record_wait(block, start_ns, for_input, for_output, action);
    return action;
}

static InFlight *take(Block *block)
{
    Line *line = block->line;
    if (block->index == 0)
    {
        gint64 seq = block->n_begun;
        InFlight *flight = &line->flights[seq % (gint64)line->n_flights];
        ifm_flight_init(flight, line, &line->input[line->first + (gsize)seq]);
        flight->seq = seq;
        flight->index = line->first + (gsize)seq;
        return flight;
    }
    InFlight *flight = queue_take(block);
    queue_give_room(&line->blocks[block->index - 1]);
    return flight;
}

static gboolean act(Block *block, Action action)
{
    if (action == DO_BEGIN)
        begin(block, take(block));
    else if (action == DO_MERGE)
        merge(block, work_at(block, block->n_merged));
    else if (action == DO_PUSH)
        push(block, work_at(block, block->n_pushed));
    return action != DO_END;
}

void ifm_block_record_unanswered(Block *block)
{
    gint64 now_ns = ifm_clock_now_ns(block->line->clock);
    ifm_condition_lock(block->inbox);
    for (gint64 n = block->n_pushed; n < block->n_begun; n++)
        for (gsize i = 0; i < block->n_replicas; i++)
        {
            const Job *job = &work_at(block, n)->jobs[i];
            if (job->state == IFM_JOB_RUNNING)
                ifm_replica_record_unanswered(job, now_ns);
        }
    ifm_condition_unlock(block->inbox);
}

static void *block_main(void *data)
{
    Block *block = data;
    Line *line = block->line;
    g_autofree char *name = g_strdup_printf("ifm block %d", block->index + 1);
    pthread_setname_np(pthread_self(), name);
    block->free_ns = ifm_clock_now_ns(line->clock);
    while (act(block, next_action(block)))
        continue;
    for (gsize i = 0; i < block->n_replicas; i++)
        ifm_replica_drop_held(&block->replicas[i]);
    if (block->index + 1 < line->n_blocks)
        order(&line->blocks[block->index + 1], &line->blocks[block->index + 1].ended);
    ifm_condition_lock(line->ended);
    block->has_left = TRUE;
    line->n_ended++;
    ifm_condition_broadcast(line->ended);
    ifm_condition_unlock(line->ended);
    ifm_clock_leave(line->clock);
    return NULL;
}

gboolean ifm_block_start(Block *block, GError **error)
{
    ifm_clock_enter(block->line->clock); /* on behalf of the thread, before it runs */
    int failure = pthread_create(&block->thread, NULL, block_main, block);
    if (failure == 0)
        return block->has_thread = TRUE;
    ifm_clock_leave(block->line->clock);
    return ifm_error_set(error, IFM_ERROR_MEMORY, "block %d: its thread: %s", block->index + 1, g_strerror(failure));
}

/* --- made and freed --------------------------------------------------------------------------------------------------- */

static void add_tracks(Block *block)
{
    IfmPipeline *pipeline = block->line->pipeline;
    int number = block->index + 1;
    g_autofree char *host = g_strdup_printf("block %d host", number);
    g_autofree char *passing = g_strdup_printf("block %d", number);
    g_autofree char *queue = g_strdup_printf("queue to block %d", number);
    IfmTrackInfo info = { .kind = IFM_TRACK_HOST, .process = "run", .thread = host, .block = number };
    /* per batch: partition, merge, two waits around each, and two copies for each port of each device */
    block->host = ifm_pipeline_track(pipeline, &info, 6 + 16 * block->n_replicas, 0);
    info.kind = IFM_TRACK_QUEUE;
    info.thread = passing;
    block->passing = ifm_pipeline_track(pipeline, &info, 1, 0);
    info.thread = queue;
    block->queue_track = block->index > 0 ? ifm_pipeline_track(pipeline, &info, 1, 0) : NULL;
}

/* The depth of the options, and one more for each stream beyond the first. */
static int depth_of(const Block *block)
{
    int n_streams = 1;
    for (gsize i = 0; i < block->plan->n_devices; i++)
    {
        const char *device = ifm_plan_device(block->line->plan, block->plan->devices[i])->device;
        g_autoptr(IfmDeviceSpec) spec = device != NULL ? ifm_device_spec_parse(device, NULL) : NULL;
        n_streams = spec != NULL ? MAX(n_streams, spec->n_streams) : n_streams;
    }
    return MAX(block->line->options->block_depth, 1) - 1 + n_streams;
}

void ifm_block_init(Block *block, Line *line, int index)
{
    block->line = line;
    block->index = index;
    block->plan = ifm_plan_block(line->plan, (guint)index);
    block->outputs = ifm_staged_outputs(line->staged, block->plan->first, block->plan->last);
    g_autoptr(GPtrArray) inputs = ifm_staged_inputs(line->staged, block->plan->first, block->plan->last);
    block->reads_edges = line->edge_index != NULL && g_ptr_array_find(inputs, line->edge_index, NULL);
    block->depth = depth_of(block);
    block->works = g_new0(Work, block->depth);
    block->queue = g_new0(InFlight *, line->queue_depth);
    block->inbox = ifm_condition_new(line->clock);
    block->n_replicas = block->plan->n_devices;
    block->replicas = g_new0(Replica, block->n_replicas);
    if (line->trace != NULL)
    {
        block->infer_name = ifm_plan_stages_name(block->plan, line->trace);
        add_tracks(block);
    }
}

void ifm_block_clear(Block *block)
{
    for (gsize i = 0; block->replicas != NULL && i < block->n_replicas; i++)
        if (block->replicas[i].block != NULL)
            ifm_replica_clear(&block->replicas[i]);
    for (int i = 0; block->works != NULL && i < block->depth; i++)
    {
        g_clear_error(&block->works[i].error);
        for (gsize k = 0; k < G_N_ELEMENTS(block->works[i].jobs); k++)
            g_clear_error(&block->works[i].jobs[k].error);
    }
    g_free(block->replicas);
    g_free(block->works);
    g_free(block->queue);
    ifm_condition_free(block->inbox);
    g_clear_pointer(&block->outputs, g_ptr_array_unref);
}
