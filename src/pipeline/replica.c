/* A replica: a device of a block, and its jobs. Its models: replica-models.c; its tensors: replica-tensors.c. */
#include <math.h>

#include "replica-private.h"

/* --- the replica ---------------------------------------------------------------------------------------------------------
 */

static void replica_add_tracks(Replica *replica)
{
    IfmTrackInfo info = {
        .kind = IFM_TRACK_DEVICE, .process = "run", .device = replica->described->alias, .spec = replica->spec->text
    };
    gsize spare = replica->profiles ? (gsize)2 * IFM_MAX_NODE_PROFILES * IFM_MAX_TRACE_NODES : 0;
    for (int i = 0; i < replica->n_streams; i++)
    {
        g_autofree char *thread = g_strdup_printf("%s (%s) stream %d", replica->described->alias, replica->spec->text, i);
        info.thread = thread;
        info.stream = i;
        replica->streams[i].track = ifm_pipeline_track(replica->block->line->pipeline, &info, 1, spare);
    }
}

/* Device times come from the device's counters. The pipeline copies to the device's own memory only if the runtime does
 * not count the transfers within each inference. */
static void replica_read_capabilities(Replica *replica)
{
    guint32 can = replica->info->capabilities;
    replica->profiles = (can & IFM_CAN_PROFILE) != 0 && replica->block->line->options->device_time != IFM_DEVICE_TIME_OFF;
    replica->copies = replica->info->own_memory && (can & IFM_CAN_BUFFERS) != 0 && !replica->info->transfers_in_latency;
}

/* An engine of the pipeline, opened when the first replica needs it. Returns: (transfer none) */
static IfmEngine *find_engine(IfmPipeline *pipeline, const char *name, GError **error)
{
    IfmEngine *engine = g_hash_table_lookup(pipeline->engines, name);
    if (engine != NULL)
        return engine;
    engine = ifm_engine_open(name, pipeline->options.clock, error);
    if (engine != NULL)
        g_hash_table_insert(pipeline->engines, g_strdup(name), engine);
    return engine;
}

gboolean ifm_replica_init(Replica *replica, Block *block, int place, GError **error)
{
    const Line *line = block->line;
    replica->block = block;
    replica->place = place;
    replica->device = block->plan->devices[place];
    replica->described = ifm_plan_device(line->plan, replica->device);
    replica->is_static = replica->described->form == IFM_PLAN_STATIC;
    replica->variants = g_ptr_array_new_with_free_func(ifm_variant_free);
    if (replica->described->device == NULL)
        return ifm_error_refuse(
            error,
            "the plan does not say which device that is; \"devices\": {\"%s\": {\"device\": \"openvino:CPU\"}} is expected",
            replica->described->alias);
    replica->spec = ifm_device_spec_parse(replica->described->device, error);
    replica->engine = replica->spec != NULL ? find_engine(line->pipeline, replica->spec->engine, error) : NULL;
    replica->info = replica->engine != NULL ? ifm_engine_find_device(replica->engine, replica->spec, error) : NULL;
    if (replica->info == NULL)
        return FALSE;
    replica_read_capabilities(replica);
    replica->n_streams = MAX(replica->spec->n_streams, 1);
    replica->n_per_stream = (gsize)(block->depth + replica->n_streams - 1) / (gsize)replica->n_streams;
    replica->streams = g_new0(Stream, replica->n_streams);
    replica_add_tracks(replica);
    if (block->n_replicas > 1 && block->reads_edges)
    {
        replica->parts = g_new0(IfmTensor, block->depth);
        for (int i = 0; i < block->depth; i++)
            if (!ifm_tensor_init(&replica->parts[i], IFM_DTYPE_I64, 2, (gint64[]){ 2, line->options->max_edges }, error))
                return FALSE;
    }
    Need max = { MAX(1, llround(block->plan->ratios[place] * (double)line->options->most_nodes)),
                 llround(block->plan->ratios[place] * (double)line->options->max_edges), line->options->most_nodes };
    return ifm_replica_variant(replica, &max, TRUE, error) != NULL;
}

void ifm_replica_clear(Replica *replica)
{
    ifm_replica_drop_held(replica);
    g_clear_pointer(&replica->variants, g_ptr_array_unref);
    for (int i = 0; replica->parts != NULL && i < replica->block->depth; i++)
        ifm_tensor_clear(&replica->parts[i]);
    g_free(replica->parts);
    g_free(replica->streams);
    g_clear_pointer(&replica->info, ifm_device_info_free);
    g_clear_pointer(&replica->spec, ifm_device_spec_free);
}

/* --- a job ------------------------------------------------------------------------------------------------------------ */

/* One of each @sample_every batches, at a place that moves by the golden section. So each of several sizes that
 * alternate is sampled sometimes, and two batches that follow each other are rarely both sampled. */
static gboolean is_sampled(const Replica *replica, gint64 n)
{
    const IfmPipelineOptions *options = replica->block->line->options;
    gint64 every = MAX(options->sample_every, 1);
    guint32 fraction = (guint32)(n / every) * 2654435769u + 0x80000000u; /* of 2^32 */
    return replica->profiles && options->device_time == IFM_DEVICE_TIME_SAMPLED &&
           n % every == (gint64)((guint64)fraction * (guint64)every >> 32);
}

static Slot *choose_slot(const Job *job, Variant *variant, gint64 n)
{
    const Replica *replica = job->replica;
    if (variant->sampled != NULL && is_sampled(replica, n) && !variant->sampled->slots[0].taken)
        return &variant->sampled->slots[0];
    return &variant->slots[(gsize)n % variant->n_slots];
}

/* A range without a tensor by nodes, or by edges, has no input that shows the size of its part. A static model was
 * compiled for one size and does not need it. */
static gboolean set_tensors(Job *job, const Variant *variant, const Need *need, GError **error)
{
    gint64 start_ns = ifm_clock_now_ns(job->replica->block->line->clock);
    const IfmDimBinding sizes[] = { { "nodes", MAX(need->nodes, 1) }, { "edges", MAX(need->edges, 1) } };
    if (variant->nodes == 0 && !ifm_request_set_sizes(job->slot->request, sizes, G_N_ELEMENTS(sizes), error))
        return FALSE;
    return ifm_replica_set_tensors(job, start_ns, error);
}

gboolean ifm_replica_prepare(Job *job, GError **error)
{
    Replica *replica = job->replica;
    gint64 n = replica->block->n_begun;
    const InFlight *flight = job->work->flight;
    Need need = { job->high - job->low, job->edge_high - job->edge_low, flight->batch->nodes };
    Variant *variant = ifm_replica_variant(replica, &need, FALSE, error);
    if (variant == NULL)
        return FALSE;
    job->slot = choose_slot(job, variant, n);
    job->slot->taken = TRUE;
    job->stream = (int)(n % replica->n_streams);
    return set_tensors(job, variant, &need, error);
}

/* One inference of the batch's share, whose time is not used: the first one of a compiled model is a cold one. */
static gboolean warm(Variant *variant, const Need *need, const InFlight *flight, GError **error)
{
    Block *block = variant->replica->block;
    InFlight copy = *flight;
    Job job = { .replica = variant->replica, .work = &block->works[0], .slot = &variant->slots[0] };
    if (need->edges == 0 && block->reads_edges) /* such a share may never run */
        return TRUE;
    ifm_flight_share(flight, job.replica, &job.low, &job.high);
    job.edge_low = ifm_flight_edges_below(flight, job.low);
    job.edge_high = ifm_flight_edges_below(flight, job.high);
    job.work->flight = &copy;
    IfmTrack *host = g_steal_pointer(&block->host); /* the trace is the run's */
    gboolean ok = set_tensors(&job, variant, need, error) && ifm_request_start(job.slot->request, NULL, NULL, error) &&
                  ifm_request_wait(job.slot->request, IFM_CLOCK_NEVER, error);
    block->host = host;
    job.work->flight = NULL;
    g_autoptr(GPtrArray) unused = ok ? ifm_compiled_profile(variant->compiled, job.slot->request, NULL) : NULL;
    return ok;
}

/* Means that have become too coarse begin anew with the compiled model: a fresh request would not renew them. */
static gboolean renew(Variant *variant, const Need *need, const InFlight *flight, GError **error)
{
    for (; variant != NULL; variant = variant->sampled)
        if (variant->is_coarse && (!ifm_variant_recompile(variant, error) || !warm(variant, need, flight, error)))
            return FALSE;
    return TRUE;
}

gboolean ifm_replica_ready(Replica *replica, const InFlight *flight, GError **error)
{
    gint64 low, high;
    ifm_flight_share(flight, replica, &low, &high);
    Need need = { high - low, ifm_flight_edges_below(flight, high) - ifm_flight_edges_below(flight, low),
                  flight->batch->nodes };
    Variant *variant = high > low ? ifm_replica_variant(replica, &need, TRUE, error) : NULL;
    return high == low || (variant != NULL && renew(variant, &need, flight, error));
}

static void job_done(IfmRequest *request, const GError *error, void *user)
{
    Job *job = user;
    Block *block = job->replica->block;
    atomic_store(&block->line->progress_ns, ifm_clock_now_ns(block->line->clock));
    ifm_condition_lock(block->inbox);
    job->error = error != NULL ? g_error_copy(error) : NULL;
    job->state = IFM_JOB_DONE;
    job->work->n_left--;
    ifm_condition_broadcast(block->inbox);
    ifm_condition_unlock(block->inbox);
}

static void set_state(Job *job, IfmJobState state)
{
    ifm_condition_lock(job->replica->block->inbox);
    job->state = state;
    ifm_condition_unlock(job->replica->block->inbox);
}

static void start_now(Job *job)
{
    Stream *stream = &job->replica->streams[job->stream];
    g_autoptr(GError) error = NULL;
    stream->running = job->slot->variant;
    stream->n_running++;
    set_state(job, IFM_JOB_RUNNING);
    if (ifm_request_start(job->slot->request, job_done, job, &error))
        return;
    job->refused = TRUE;
    job_done(job->slot->request, error, job);
}

/* Inferences of different models (sizes, the profiled run) on one stream run one after the other, and those whose times
 * are read after each. None begins while device times have to be fetched. */
static gboolean may_start(const Job *job)
{
    const Stream *stream = &job->replica->streams[job->stream];
    const Variant *variant = job->slot->variant;
    return !job->replica->fetch_due &&
           (stream->n_running == 0 || (stream->running == variant && !ifm_variant_reads_each(variant)));
}

void ifm_replica_start(Job *job)
{
    Stream *stream = &job->replica->streams[job->stream];
    job->ready_ns = ifm_clock_now_ns(job->replica->block->line->clock);
    if (g_queue_is_empty(&stream->held) && may_start(job))
    {
        start_now(job);
        return;
    }
    set_state(job, IFM_JOB_HELD);
    g_queue_push_tail(&stream->held, job);
}

static void start_held(Replica *replica)
{
    for (int i = 0; i < replica->n_streams; i++)
        while (!g_queue_is_empty(&replica->streams[i].held) && may_start(g_queue_peek_head(&replica->streams[i].held)))
            start_now(g_queue_pop_head(&replica->streams[i].held));
}

void ifm_replica_drop_held(Replica *replica)
{
    for (int i = 0; replica->streams != NULL && i < replica->n_streams; i++)
        g_queue_clear(&replica->streams[i].held);
}

static IfmEvent make_event(const Job *job, gint64 started_ns, gint64 completed_ns)
{
    const Block *block = job->replica->block;
    IfmEvent event = ifm_block_event(block, IFM_EVENT_INFER, job->work->flight, started_ns, completed_ns);
    event.failed = job->error != NULL;
    return event;
}

/* Returns: the recorded event; NULL: not recorded. */
static IfmEvent *record_inference(const Job *job, const IfmRequestTimes *times)
{
    IfmTrack *track = job->replica->streams[job->stream].track;
    if (track == NULL || atomic_load(&job->replica->block->line->abandoned))
        return NULL;
    gsize at = atomic_load_explicit(&track->n, memory_order_relaxed);
    IfmEvent event = make_event(job, times->started_ns, times->completed_ns);
    ifm_track_record(track, &event);
    return at < track->capacity ? &track->events[at] : NULL;
}

/* It began when it was handed over, or when the stream had finished what was before it. */
void ifm_replica_record_unanswered(const Job *job, gint64 now_ns)
{
    IfmTrack *track = job->replica->streams[job->stream].track;
    gsize n = track != NULL ? atomic_load(&track->n) : 0;
    gint64 start_ns = job->ready_ns;
    for (gsize i = 0; i < n; i++)
        if (track->events[i].kind == IFM_EVENT_INFER)
            start_ns = MAX(start_ns, track->events[i].start_ns + track->events[i].duration_ns);
    if (track == NULL || start_ns >= now_ns) /* it is behind another one that was never answered */
        return;
    IfmEvent event = make_event(job, start_ns, now_ns);
    event.failed = 1;
    ifm_track_record(track, &event);
}

void ifm_replica_see(Job *job)
{
    Replica *replica = job->replica;
    Stream *stream = &replica->streams[job->stream];
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
    row->device_wall_ns[replica->place] = times.completed_ns - times.started_ns;
    row->device_turn_ns[replica->place] = MAX(times.started_ns - job->ready_ns, 0);
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
                                &row->device_time_ns[replica->place] };
        ifm_variant_note(variant, &inference);
        if (ifm_variant_reads_each(variant))
            ifm_variant_fetch_times(variant);
        replica->fetch_due = replica->fetch_due || ifm_variant_fetch_due(variant);
    }
    int n_running = 0;
    for (int i = 0; i < replica->n_streams; i++)
        n_running += replica->streams[i].n_running;
    if (replica->fetch_due && n_running == 0)
        ifm_replica_fetch_times(replica);
    start_held(replica);
}
