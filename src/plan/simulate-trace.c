/* The simulated timeline as a trace, with the events of a real run. */
#include "simulate-private.h"

static IfmTrack *add_track(Simulator *sim, IfmTrackKind kind, char *thread, int block, gsize per_batch)
{
    g_autofree char *name = thread;
    IfmTrackInfo info = { .kind = kind, .process = (char *)"simulation", .thread = name, .block = block };
    return ifm_trace_add_track(sim->trace, &info, per_batch * (gsize)sim->n_batches);
}

static void add_replica_tracks(Simulator *sim, const SimBlock *block, SimReplica *replica)
{
    const IfmPlanDevice *described = replica->described;
    for (int stream = 0; stream < replica->n_streams; stream++)
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
        replica->tracks[stream] = ifm_trace_add_track(sim->trace, &info, (gsize)(sim->n_batches / replica->n_streams + 1));
    }
}

/* Events of the host for one batch in a block: partition, merge, two waits; and for each replica a padding and two
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
    ifm_plan_names_init(&sim->names, sim->trace);
    for (int i = 0; i < sim->n_blocks; i++)
    {
        SimBlock *block = &sim->blocks[i];
        block->name = ifm_plan_stages_name(block->plan, sim->trace);
        for (int place = 0; place < block->n_replicas; place++)
            add_replica_tracks(sim, block, &block->replicas[place]);
        block->track = add_track(sim, IFM_TRACK_HOST, g_strdup_printf("block %d host", i + 1), i + 1,
                                 HOST_EVENTS + LANE_EVENTS * (gsize)block->n_replicas);
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
    const IfmPlanBlock whole = { .first = 1, .last = sim->costs->n_stages };
    gboolean optional = kind == IFM_EVENT_COPY || kind == IFM_EVENT_WAIT_INPUT || kind == IFM_EVENT_WAIT_OUTPUT;
    if (end_ns == start_ns && optional)
        return;
    IfmEvent event = ifm_plan_event(&sim->names, block != NULL ? block->name : 0, block != NULL ? block->index + 1 : 0,
                                    block != NULL ? block->plan : &whole, kind, batch, start_ns, end_ns);
    event.bytes = bytes;
    if (block != NULL && kind == IFM_EVENT_COPY)
        event.name = block->activity == SIM_PAD        ? sim->names.pad
                     : block->activity == SIM_COPY_OUT ? sim->names.copy_out
                                                       : event.name;
    ifm_track_record(track, &event);
}
