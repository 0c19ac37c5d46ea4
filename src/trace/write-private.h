#pragma once
#include "trace-private.h"

G_BEGIN_DECLS

/*
 * The place of each event of a track in the file. A viewer draws the slices of one tid as nested boxes, and silently
 * drops those that partly overlap another. So:
 * - events that may overlap by nature (queues, batches) are asynchronous: each has a row of its own;
 * - the blocks of a track are asynchronous as soon as one of them does not nest (several batches in one block at a
 * time);
 * - other events that do not nest (foreign traces, clocks that ran backwards) go onto further tids of the same track,
 * and beyond IFM_LANES_MAX of those they are asynchronous, too.
 */
#define IFM_LANES_MAX 32
#define IFM_LANE_ASYNC 255

typedef struct
{
    guint32 *order; /* [n] events by start, the outer before the inner; NULL: as they were recorded */
    guint8 *lanes;  /* [n] by index in @order: a tid of the track, or IFM_LANE_ASYNC */
    gsize n;
    gsize n_lanes; /* at least 1 */
    gint64 pid;    /* as written */
    gint64 tids[IFM_LANES_MAX];
} IfmTrackLayout;

/** ifm_track_layout_event: Returns: the index of the event at a position of the file's order. */
static inline gsize ifm_track_layout_event(const IfmTrackLayout *layout, gsize place)
{
    return layout->order != NULL ? layout->order[place] : place;
}

/** IfmTraceLayout: of one trace in a file that may hold several. */
typedef struct
{
    const IfmTrace *trace;
    gint64 origin_ns;       /* the first event's start */
    IfmTrackLayout *tracks; /* [n_tracks] */
    gsize n_tracks;
    char **texts; /* [n_texts] names as JSON, made on first use */
    gsize n_texts;
} IfmTraceLayout;

/** ifm_trace_layouts_new: @traces: [n]. Returns: (transfer full) [n]; NULL with IFM_ERROR_INVALID for times that no
 * file can hold. */
IfmTraceLayout *ifm_trace_layouts_new(const IfmTrace *const *traces, gsize n, GError **error);
void ifm_trace_layouts_free(IfmTraceLayout *layouts, gsize n);

/** IfmFlowStep: where the arrow that follows a batch touches a slice. */
typedef struct
{
    gint32 batch;
    guint16 block;
    guint16 rank; /* the kind of slice: the smallest rank is taken */
    gint64 start_ns, end_ns;
    gint64 pid, tid;
} IfmFlowStep;
/** ifm_trace_flows: Returns: (transfer full) IfmFlowStep, one for each batch and block, in order of batches and blocks;
 * only batches with at least two blocks. The step is the inference that ended last, for which the block waited; if the
 * devices recorded none, it is the host's slice. */
GArray *ifm_trace_flows(const IfmTraceLayout *layout);

G_END_DECLS
