#pragma once
#include "trace-private.h"

G_BEGIN_DECLS

/*
 * Where each event of a track goes in the file. A viewer draws the slices of one tid as nested boxes and drops, without a
 * word, what partly overlaps another. So:
 * - what may overlap by its nature (queues, batches) is asynchronous: a row of its own for each;
 * - the blocks of a track are asynchronous as soon as one of them does not nest (several batches in one block at a time);
 * - what still does not nest (foreign traces, clocks that ran backwards) goes onto further tids of the same track, and
 *   beyond IFM_LANES_MOST of those it is asynchronous, too.
 */
#define IFM_LANES_MOST 32
#define IFM_LANE_ASYNC 255

typedef struct
{
    guint32 *order; /* [n] events by start, the outer before the inner; NULL: as they were recorded */
    guint8 *lanes;  /* [n] by place in @order: a tid of the track, or IFM_LANE_ASYNC */
    gsize n;
    gsize n_lanes; /* at least 1 */
    gint64 pid;    /* as written */
    gint64 tids[IFM_LANES_MOST];
} IfmTrackLayout;

/** ifm_track_layout_init: @events: [n], none longer than the numbers go: ifm_event_end_within(). */
void ifm_track_layout_init(IfmTrackLayout *layout, const IfmTrackInfo *info, const IfmEvent *events, gsize n);
void ifm_track_layout_clear(IfmTrackLayout *layout);
/** ifm_track_layout_event: Returns: the index of the event at a place of the file's order. */
static inline gsize ifm_track_layout_event(const IfmTrackLayout *layout, gsize place)
{
    return layout->order != NULL ? layout->order[place] : place;
}

/** IfmTraceLayout: of a whole trace in a file that may hold others. */
typedef struct
{
    const IfmTrace *trace;
    gint64 origin_ns;       /* the first event's start */
    IfmTrackLayout *tracks; /* [n_tracks] */
    gsize n_tracks;
    char **texts; /* [n_texts] names as JSON, made when first needed */
    gsize n_texts;
} IfmTraceLayout;

/** ifm_trace_layouts_new: @traces: [n]. Returns: [n], or NULL with IFM_ERROR_INVALID: times that no file can hold. */
IfmTraceLayout *ifm_trace_layouts_new(const IfmTrace *const *traces, gsize n, GError **error);
void ifm_trace_layouts_free(IfmTraceLayout *layouts, gsize n);

/** IfmFlowStep: where the arrow that follows a batch touches a slice. */
typedef struct
{
    gint32 batch;
    guint16 block;
    guint16 rank; /* which kind of slice it is: the least is taken */
    gint64 start_ns, end_ns;
    gint64 pid, tid;
} IfmFlowStep;
/** ifm_trace_flows: Returns: (transfer full) IfmFlowStep, one a batch and block, in order of batches and blocks; only
 * batches of at least two blocks. The step is the inference that ended last, which is what the block waited for; where the
 * devices recorded none, the host's slice. */
GArray *ifm_trace_flows(const IfmTraceLayout *layout);

G_END_DECLS
