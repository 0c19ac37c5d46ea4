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

void ifm_plan_names_init(IfmPlanNames *names, IfmTrace *trace)
{
    static const char *const texts[IFM_N_EVENT_KINDS] = {
        [IFM_EVENT_PARTITION] = "partition",
        [IFM_EVENT_MERGE] = "merge",
        [IFM_EVENT_COPY] = "copy in",
        [IFM_EVENT_QUEUE] = "in queue",
        [IFM_EVENT_BATCH] = "batch",
        [IFM_EVENT_WAIT_INPUT] = "wait for input",
        [IFM_EVENT_WAIT_OUTPUT] = "wait for room",
    };
    for (int kind = 0; kind < IFM_N_EVENT_KINDS; kind++)
        names->of[kind] = texts[kind] != NULL ? ifm_trace_intern(trace, texts[kind]) : 0;
    names->pad = ifm_trace_intern(trace, "pad");
    names->copy_out = ifm_trace_intern(trace, "copy out");
}

guint32 ifm_plan_stages_name(const IfmPlanBlock *block, IfmTrace *trace)
{
    g_autofree char *text = block->first == block->last ? g_strdup_printf("stage %d", block->first)
                                                        : g_strdup_printf("stages %d-%d", block->first, block->last);
    return ifm_trace_intern(trace, text);
}

IfmEvent ifm_plan_event(const IfmPlanNames *names, guint32 stages, int number, const IfmPlanBlock *block, IfmEventKind kind,
                        gint64 batch, gint64 start_ns, gint64 end_ns)
{
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = (guint8)kind;
    event.name = kind == IFM_EVENT_INFER || kind == IFM_EVENT_BLOCK ? stages : names->of[kind];
    event.start_ns = start_ns;
    event.duration_ns = end_ns - start_ns;
    event.batch = (gint32)batch;
    event.block = (guint16)number;
    event.first = (guint16)block->first;
    event.last = (guint16)block->last;
    return event;
}

IfmEvent ifm_block_event(const Block *block, IfmEventKind kind, const InFlight *flight, gint64 start_ns, gint64 end_ns)
{
    return ifm_plan_event(&block->line->names, block->infer_name, block->index + 1, block->plan, kind,
                          flight != NULL ? flight->batch->id : -1, start_ns, end_ns);
}

void ifm_block_record_event(const Block *block, IfmTrack *track, const IfmEvent *event)
{
    if (track != NULL && !atomic_load(&block->line->abandoned))
        ifm_track_record(track, event);
}

void ifm_block_record(Block *block, IfmEventKind kind, const InFlight *flight, gint64 start_ns, gint64 end_ns)
{
    IfmEvent event = ifm_block_event(block, kind, flight, start_ns, end_ns);
    ifm_block_record_event(block, block->host, &event);
}
