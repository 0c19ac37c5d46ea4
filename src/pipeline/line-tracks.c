/* What a line records: its tracks in the trace, and the events of its blocks. */
#include "pipeline-private.h"

/* Batches that go through another plan are recorded again from where they were. */
#define SPARE_BATCHES 256

IfmTrack *ifm_pipeline_track(IfmPipeline *pipeline, const IfmTrackInfo *info, gsize per_batch, gsize spare)
{
    if (pipeline->options.trace == NULL)
        return NULL;
    IfmTrack *track = g_hash_table_lookup(pipeline->tracks, info->thread);
    if (track == NULL)
    {
        track = ifm_trace_add_track(pipeline->options.trace, info,
                                    (pipeline->options.trace_batches + SPARE_BATCHES) * per_batch + spare);
        g_hash_table_insert(pipeline->tracks, g_strdup(info->thread), track);
    }
    return track;
}

IfmEvent ifm_block_event(const Block *block, IfmEventKind kind, guint32 name, const Flight *flight, gint64 start_ns,
                         gint64 end_ns)
{
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = (guint8)kind;
    event.name = name;
    event.start_ns = start_ns;
    event.duration_ns = end_ns - start_ns;
    event.batch = flight != NULL ? (gint32)flight->batch->id : -1;
    event.block = (guint16)(block->index + 1);
    event.first = (guint16)block->plan->first;
    event.last = (guint16)block->plan->last;
    return event;
}

void ifm_block_record_event(const Block *block, IfmTrack *track, const IfmEvent *event)
{
    if (track != NULL && !atomic_load(&block->line->abandoned))
        ifm_track_record(track, event);
}

void ifm_block_record(Block *block, IfmEventKind kind, guint32 name, const Flight *flight, gint64 start_ns, gint64 end_ns,
                      gint64 bytes)
{
    IfmEvent event = ifm_block_event(block, kind, name, flight, start_ns, end_ns);
    event.bytes = bytes;
    ifm_block_record_event(block, block->host, &event);
}
