/* The simulated timeline as a trace, with the events of a real run. */
#include "simulate-private.h"

static IfmTrack *add_track(Simulator *sim, IfmTrackKind kind, char *thread, int block, gsize per_batch)
{
    g_autofree char *name = thread;
    IfmTrackInfo info = { .kind = kind, .process = (char *)"simulation", .thread = name, .block = block };
    return ifm_trace_add_track(sim->trace, &info, per_batch * (gsize)sim->n_batches);
}

static void add_lane_tracks(Simulator *sim, const SimBlock *block, SimLane *lane)
{
    const IfmPlanDevice *described = lane->described;
    for (int stream = 0; stream < lane->n_streams; stream++)
    {
        g_autofree char *of = described->device != NULL ? g_strdup_printf(" (%s)", described->device) : g_strdup("");
        g_autofree char *thread = g_strdup_printf("%s%s stream %d", described->alias, of, stream);
        IfmTrackInfo info = { .kind = IFM_TRACK_DEVICE,
                              .process = (char *)"simulation",
                              .thread = thread,
                              .device = described->alias,
                              .spec = described->device,
                              .stream = stream,
                              .block = block->index + 1 };
        lane->tracks[stream] = ifm_trace_add_track(sim->trace, &info, (gsize)(sim->n_batches / lane->n_streams + 1));
    }
}

/* Names as in the pipeline; inferences and blocks are named by their stages. */
static const char *const names[IFM_N_EVENT_KINDS] = { [IFM_EVENT_PARTITION] = "partition",
                                                      [IFM_EVENT_MERGE] = "merge",
                                                      [IFM_EVENT_COPY] = "copy in",
                                                      [IFM_EVENT_QUEUE] = "in queue",
                                                      [IFM_EVENT_WAIT_INPUT] = "wait for input",
                                                      [IFM_EVENT_WAIT_OUTPUT] = "wait for room",
                                                      [IFM_EVENT_BATCH] = "batch" };

/* Events of the host for one batch in a block: partition, merge, two waits; and for each lane a padding and two
 * copies. */
#define HOST_EVENTS 4
#define LANE_EVENTS 3

void sim_trace_init(Simulator *sim)
{
    json_t *meta = json_object();
    sim->trace = ifm_trace_new("simulation");
    json_object_set_new(meta, "plan", ifm_plan_to_json(sim->plan));
    json_object_set_new(meta, "simulated", json_true());
    ifm_trace_set_meta(sim->trace, meta);
    for (int kind = 0; kind < IFM_N_EVENT_KINDS; kind++)
        if (names[kind] != NULL)
            sim->names[kind] = ifm_trace_intern(sim->trace, names[kind]);
    sim->pad_name = ifm_trace_intern(sim->trace, "pad");
    sim->out_name = ifm_trace_intern(sim->trace, "copy out");
    for (int i = 0; i < sim->n_blocks; i++)
    {
        SimBlock *block = &sim->blocks[i];
        int first = block->plan->first, last = block->plan->last;
        g_autofree char *stages =
            first == last ? g_strdup_printf("stage %d", first) : g_strdup_printf("stages %d-%d", first, last);
        block->name = ifm_trace_intern(sim->trace, stages);
        for (int place = 0; place < block->n_lanes; place++)
            add_lane_tracks(sim, block, &block->lanes[place]);
        block->track = add_track(sim, IFM_TRACK_HOST, g_strdup_printf("block %d host", i + 1), i + 1,
                                 HOST_EVENTS + LANE_EVENTS * (gsize)block->n_lanes);
        block->passing = add_track(sim, IFM_TRACK_QUEUE, g_strdup_printf("block %d", i + 1), i + 1, 1);
        block->queue =
            i > 0 ? add_track(sim, IFM_TRACK_QUEUE, g_strdup_printf("queue to block %d", i + 1), i + 1, 1) : NULL;
    }
    sim->batches = add_track(sim, IFM_TRACK_QUEUE, g_strdup("batches"), 0, 1);
}

void sim_record(Simulator *sim, IfmTrack *track, IfmEventKind kind, const SimBlock *block, gint64 batch, gint64 start_ns,
                gint64 end_ns, gint64 bytes)
{
    if (sim->trace == NULL)
        return;
    IfmEvent event = IFM_EVENT_INIT;
    gboolean optional = kind == IFM_EVENT_COPY || kind == IFM_EVENT_WAIT_INPUT || kind == IFM_EVENT_WAIT_OUTPUT;
    if (end_ns == start_ns && optional)
        return;
    event.start_ns = start_ns;
    event.duration_ns = end_ns - start_ns;
    event.bytes = bytes;
    event.batch = (gint32)batch;
    event.kind = (guint8)kind;
    event.name = sim->names[kind];
    event.first = 1;
    event.last = (guint16)sim->costs->n_stages;
    if (block != NULL)
    {
        if (kind == IFM_EVENT_INFER || kind == IFM_EVENT_BLOCK)
            event.name = block->name;
        else if (kind == IFM_EVENT_COPY && block->activity == SIM_PAD)
            event.name = sim->pad_name;
        else if (kind == IFM_EVENT_COPY && block->activity == SIM_COPY_OUT)
            event.name = sim->out_name;
        event.block = (guint16)(block->index + 1);
        event.first = (guint16)block->plan->first;
        event.last = (guint16)block->plan->last;
    }
    ifm_track_record(track, &event);
}
