#pragma once
#include <trace/trace.h>

/*
 * A pipeline whose every figure is known by hand. Block 1 is CPU + GPU, stages 1 to 3; block 2 is NPU, stages 4 to 7. A
 * batch takes 80 ns in block 1 (partition 10, CPU 60, GPU 30, merge 10) and 205 in block 2 (copy 5, NPU 200). The queue
 * between them holds one batch. Batches 0 to 2 enter at 20, batch 3 at 400.
 */

typedef struct
{
    IfmTrace *trace;
    IfmTrack *cpu, *gpu, *npu, *host[2], *queue;
} Pipeline;

static inline IfmTrack *add_track(IfmTrace *trace, IfmTrackKind kind, const char *thread, const char *device, int stream,
                                  int block, gsize room)
{
    IfmTrackInfo info = { .kind = kind,
                          .process = (char *)"run",
                          .thread = (char *)thread,
                          .device = (char *)device,
                          .stream = stream,
                          .block = block };
    return ifm_trace_add_track(trace, &info, room);
}

static inline void record(IfmTrack *track, IfmEventKind kind, int block, int batch, gint64 start, gint64 end,
                          gint64 device_ns)
{
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = (guint8)kind;
    event.block = (guint16)block;
    event.first = block == 1 ? 1 : 4;
    event.last = block == 1 ? 3 : 7;
    event.batch = batch;
    event.start_ns = start;
    event.duration_ns = end - start;
    event.device_ns = device_ns;
    ifm_track_record(track, &event);
}

/* Batch in block 1 from @t on. */
static inline void record_first(const Pipeline *p, int batch, gint64 t)
{
    record(p->host[0], IFM_EVENT_PARTITION, 1, batch, t, t + 10, -1);
    record(p->cpu, IFM_EVENT_INFER, 1, batch, t + 10, t + 70, 50);
    record(p->gpu, IFM_EVENT_INFER, 1, batch, t + 10, t + 40, batch == 2 ? 25 : -1);
    record(p->host[0], IFM_EVENT_MERGE, 1, batch, t + 70, t + 80, -1);
    record(p->host[0], IFM_EVENT_BLOCK, 1, batch, t, t + 80, -1);
}

static inline void record_second(const Pipeline *p, int batch, gint64 t)
{
    record(p->host[1], IFM_EVENT_COPY, 2, batch, t, t + 5, -1);
    record(p->npu, IFM_EVENT_INFER, 2, batch, t + 5, t + 205, -1);
    record(p->host[1], IFM_EVENT_BLOCK, 2, batch, t, t + 205, -1);
}

static inline Pipeline pipeline_new(const char *name)
{
    Pipeline p = { .trace = ifm_trace_new(name) };
    p.queue = add_track(p.trace, IFM_TRACK_QUEUE, "batches", NULL, 0, 0, 32);
    p.cpu = add_track(p.trace, IFM_TRACK_DEVICE, "CPU (openvino:CPU@0) stream 0", "CPU", 0, 1, 8);
    p.gpu = add_track(p.trace, IFM_TRACK_DEVICE, "GPU (openvino:GPU) stream 0", "GPU", 0, 1, 8);
    p.host[0] = add_track(p.trace, IFM_TRACK_HOST, "block 1 host", NULL, 0, 1, 32);
    p.npu = add_track(p.trace, IFM_TRACK_DEVICE, "NPU (openvino:NPU) stream 0", "NPU", 0, 2, 8);
    p.host[1] = add_track(p.trace, IFM_TRACK_HOST, "block 2 host", NULL, 0, 2, 32);
    return p;
}

static inline IfmTrace *pipeline_trace(const char *name)
{
    static const gint64 entered[] = { 20, 20, 20, 400 }, first[] = { 20, 100, 180, 400 }, put[] = { 100, 180, 305, 510 };
    static const gint64 second[] = { 100, 305, 510, 715 };
    Pipeline p = pipeline_new(name);
    record(p.host[0], IFM_EVENT_WAIT_INPUT, 1, -1, 0, 20, -1);
    record(p.host[1], IFM_EVENT_WAIT_INPUT, 2, -1, 0, 100, -1);
    for (int batch = 0; batch < 4; batch++)
    {
        if (first[batch] > entered[batch])
            record(p.queue, IFM_EVENT_QUEUE, 1, batch, entered[batch], first[batch], -1);
        record_first(&p, batch, first[batch]);
        if (put[batch] > first[batch] + 80)
            record(p.host[0], IFM_EVENT_WAIT_OUTPUT, 1, batch, first[batch] + 80, put[batch], -1);
        if (second[batch] > put[batch])
            record(p.queue, IFM_EVENT_QUEUE, 2, batch, put[batch], second[batch], -1);
        record_second(&p, batch, second[batch]);
        record(p.queue, IFM_EVENT_BATCH, 0, batch, entered[batch], second[batch] + 205, -1);
    }
    record(p.host[0], IFM_EVENT_WAIT_INPUT, 1, -1, 305, 400, -1);
    record(p.host[0], IFM_EVENT_WAIT_INPUT, 1, -1, 510, 600, -1);
    return p.trace;
}
