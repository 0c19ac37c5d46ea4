/* The tracks of a trace laid out as threads of a Chrome trace, whose events must nest: what overlaps goes to
 * further rows. */
#include <string.h>

#include "write-private.h"

/* --- one track -------------------------------------------------------------------------------------------------------- */

static int by_start(gconstpointer a, gconstpointer b, gpointer user)
{
    const IfmEvent *events = user;
    guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;
    int order = ifm_event_order(&events[x], &events[y]);
    return order != 0 ? order : (x > y) - (x < y);
}

static guint32 *order_events(const IfmEvent *events, gsize n)
{
    gsize sorted = 1;
    while (sorted < n && ifm_event_order(&events[sorted - 1], &events[sorted]) <= 0)
        sorted++;
    if (sorted >= n)
        return NULL;
    guint32 *order = g_new(guint32, n);
    for (gsize i = 0; i < n; i++)
        order[i] = (guint32)i;
    g_qsort_with_data(order, (gint)n, sizeof *order, by_start, (gpointer)events);
    return order;
}

/* The open slices of one tid, the outermost first. */
typedef struct
{
    GArray *ends; /* gint64 */
} Lane;

/* Returns: whether the slice nests in the open ones, or overlaps none. */
static gboolean lane_take(Lane *lane, const IfmEvent *event)
{
    if (lane->ends == NULL)
        lane->ends = g_array_new(FALSE, FALSE, sizeof(gint64));
    GArray *ends = lane->ends;
    while (ends->len > 0 && g_array_index(ends, gint64, ends->len - 1) <= event->start_ns)
        g_array_set_size(ends, ends->len - 1);
    gint64 end_ns = ifm_event_end_ns(event);
    if (ends->len > 0 && g_array_index(ends, gint64, ends->len - 1) < end_ns)
        return FALSE;
    g_array_append_val(ends, end_ns);
    return TRUE;
}

static guint8 find_lane(Lane *lanes, const IfmEvent *event)
{
    for (guint8 i = 0; i < IFM_LANES_MAX; i++)
        if (lane_take(&lanes[i], event))
            return i;
    return IFM_LANE_ASYNC;
}

static gboolean may_overlap(const IfmTrackInfo *info, const IfmEvent *event)
{
    return info->kind == IFM_TRACK_QUEUE || event->kind == IFM_EVENT_QUEUE || event->kind == IFM_EVENT_BATCH;
}

/* Returns: whether all events that are not asynchronous by nature nest on one tid. */
static gboolean place_events(IfmTrackLayout *self, const IfmTrackInfo *info, const IfmEvent *events, gboolean async_blocks)
{
    Lane lanes[IFM_LANES_MAX] = { { NULL } };
    gboolean nests = TRUE;
    self->n_lanes = 1;
    for (gsize i = 0; i < self->n; i++)
    {
        const IfmEvent *event = &events[ifm_track_layout_event(self, i)];
        gboolean async = may_overlap(info, event) || (async_blocks && event->kind == IFM_EVENT_BLOCK);
        guint8 lane = async ? IFM_LANE_ASYNC : find_lane(lanes, event);
        self->lanes[i] = lane;
        if (async || lane == 0)
            continue;
        nests = FALSE;
        if (lane != IFM_LANE_ASYNC)
            self->n_lanes = MAX(self->n_lanes, (gsize)lane + 1);
    }
    for (gsize i = 0; i < IFM_LANES_MAX; i++)
        g_clear_pointer(&lanes[i].ends, g_array_unref);
    return nests;
}

static void track_layout_init(IfmTrackLayout *self, const IfmTrackInfo *info, const IfmEvent *events, gsize n)
{
    self->n = n;
    self->order = order_events(events, n);
    self->lanes = g_new(guint8, n);
    if (!place_events(self, info, events, FALSE))
        place_events(self, info, events, TRUE);
}

/* --- pids and tids ---------------------------------------------------------------------------------------------------- */

typedef struct
{
    GHashTable *pids;   /* all of the file */
    GHashTable *places; /* IfmTracePlace: all of the file */
    gint64 next_pid, next_tid;
} Numbers;

static gboolean take_place(Numbers *self, gint64 pid, gint64 tid)
{
    IfmTracePlace place = { pid, tid, FALSE };
    return g_hash_table_add(self->places, g_memdup2(&place, sizeof place));
}

/* The trace's own number if no earlier trace has it, else the next free one. */
static gint64 number_process(Numbers *self, GHashTable *renamed, gint64 pid)
{
    gint64 *known = g_hash_table_lookup(renamed, &pid);
    if (known != NULL)
        return *known;
    gint64 written = pid;
    while (!g_hash_table_add(self->pids, g_memdup2(&written, sizeof written)))
        written = self->next_pid++;
    g_hash_table_insert(renamed, g_memdup2(&pid, sizeof pid), g_memdup2(&written, sizeof written));
    return written;
}

static void number_tracks(Numbers *self, IfmTraceLayout *layout)
{
    g_autoptr(GHashTable) renamed = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    for (gsize i = 0; i < layout->n_tracks; i++)
    {
        const IfmTrackInfo *info = ifm_trace_track_info(layout->trace, i);
        IfmTrackLayout *track = &layout->tracks[i];
        track->pid = number_process(self, renamed, info->pid);
        track->tids[0] = info->tid;
        while (!take_place(self, track->pid, track->tids[0]))
            track->tids[0] = self->next_tid++;
    }
    for (gsize i = 0; i < layout->n_tracks; i++) /* once the tracks have theirs */
    {
        IfmTrackLayout *track = &layout->tracks[i];
        for (gsize lane = 1; lane < track->n_lanes; lane++)
            do
                track->tids[lane] = self->next_tid++;
            while (!take_place(self, track->pid, track->tids[lane]));
    }
}

/* --- traces ----------------------------------------------------------------------------------------------------------- */

static gboolean check_event(const IfmTraceLayout *self, const IfmEvent *event, GError **error)
{
    gint64 end_ns, sum;
    return (!__builtin_add_overflow(event->start_ns, event->duration_ns, &end_ns) &&
            !__builtin_sub_overflow(MAX(event->start_ns, end_ns), self->origin_ns, &sum)) ||
           ifm_error_refuse(error,
                            "trace '%s': an event from %" G_GINT64_FORMAT " ns for %" G_GINT64_FORMAT
                            " ns: times have to lie within 2^63 ns of the first event",
                            ifm_trace_name(self->trace), event->start_ns, event->duration_ns);
}

static gboolean trace_layout_init(IfmTraceLayout *self, GError **error)
{
    gboolean any = FALSE;
    for (int pass = 0; pass < 2; pass++)
        for (gsize i = 0; i < self->n_tracks; i++)
        {
            gsize n;
            const IfmEvent *events = ifm_trace_events(self->trace, i, &n);
            for (gsize j = 0; j < n && pass == 0; j++)
            {
                self->origin_ns = any ? MIN(self->origin_ns, events[j].start_ns) : events[j].start_ns;
                any = TRUE;
            }
            for (gsize j = 0; j < n && pass == 1; j++)
                if (!check_event(self, &events[j], error))
                    return FALSE;
        }
    for (gsize i = 0; i < self->n_tracks; i++)
    {
        gsize n;
        const IfmEvent *events = ifm_trace_events(self->trace, i, &n);
        track_layout_init(&self->tracks[i], ifm_trace_track_info(self->trace, i), events, n);
    }
    return TRUE;
}

IfmTraceLayout *ifm_trace_layouts_new(const IfmTrace *const *traces, gsize n, GError **error)
{
    IfmTraceLayout *layouts = g_new0(IfmTraceLayout, n);
    Numbers numbers = {
        .pids = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
        .places = g_hash_table_new_full(ifm_trace_place_hash, ifm_trace_place_equal, g_free, NULL),
        .next_pid = 1,
        .next_tid = 1,
    };
    gboolean good = TRUE;
    for (gsize i = 0; i < n && good; i++)
    {
        IfmTraceLayout *self = &layouts[i];
        self->trace = traces[i];
        self->n_tracks = ifm_trace_n_tracks(traces[i]);
        self->tracks = g_new0(IfmTrackLayout, self->n_tracks);
        self->n_texts = traces[i]->texts->len;
        self->texts = g_new0(char *, self->n_texts);
        good = trace_layout_init(self, error);
        if (good)
            number_tracks(&numbers, self);
    }
    g_hash_table_unref(numbers.pids);
    g_hash_table_unref(numbers.places);
    if (!good)
        ifm_trace_layouts_free(g_steal_pointer(&layouts), n);
    return layouts;
}

void ifm_trace_layouts_free(IfmTraceLayout *layouts, gsize n)
{
    for (gsize i = 0; layouts != NULL && i < n; i++)
    {
        for (gsize j = 0; j < layouts[i].n_tracks; j++)
        {
            g_free(layouts[i].tracks[j].order);
            g_free(layouts[i].tracks[j].lanes);
        }
        for (gsize j = 0; j < layouts[i].n_texts; j++)
            g_free(layouts[i].texts[j]);
        g_free(layouts[i].tracks);
        g_free(layouts[i].texts);
    }
    g_free(layouts);
}

/* --- flows ------------------------------------------------------------------------------------------------------------ */

static int rank_of(const IfmEvent *event)
{
    switch (event->kind)
    {
    case IFM_EVENT_INFER:
        return 0;
    case IFM_EVENT_BLOCK:
        return 1;
    case IFM_EVENT_PARTITION:
        return 2;
    case IFM_EVENT_MERGE:
        return 3;
    default:
        return -1;
    }
}

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

static int compare_steps(gconstpointer a, gconstpointer b)
{
    const IfmFlowStep *x = a, *y = b;
    int order = COMPARE(x->batch, y->batch);
    order = order != 0 ? order : COMPARE(x->block, y->block);
    order = order != 0 ? order : COMPARE(x->rank, y->rank);
    order = order != 0 ? order : COMPARE(y->end_ns, x->end_ns);
    order = order != 0 ? order : COMPARE(x->pid, y->pid);
    return order != 0 ? order : COMPARE(x->tid, y->tid);
}

static void collect_steps(const IfmTraceLayout *self, gsize index, GArray *steps)
{
    const IfmTrackLayout *track = &self->tracks[index];
    gsize n;
    const IfmEvent *events = ifm_trace_events(self->trace, index, &n);
    for (gsize i = 0; i < track->n; i++)
    {
        const IfmEvent *event = &events[ifm_track_layout_event(track, i)];
        int rank = rank_of(event);
        guint8 lane = track->lanes[i];
        if (rank < 0 || event->batch < 0 || event->block == 0 || lane == IFM_LANE_ASYNC)
            continue;
        IfmFlowStep step = { event->batch, event->block,     (guint16)rank, event->start_ns, ifm_event_end_ns(event),
                             track->pid,   track->tids[lane] };
        g_array_append_val(steps, step);
    }
}

GArray *ifm_trace_flows(const IfmTraceLayout *self)
{
    GArray *steps = g_array_new(FALSE, FALSE, sizeof(IfmFlowStep));
    for (gsize i = 0; i < self->n_tracks; i++)
        collect_steps(self, i, steps);
    g_array_sort(steps, compare_steps);
    guint kept = 0;
    for (guint i = 0; i < steps->len; i++)
    {
        IfmFlowStep *step = &g_array_index(steps, IfmFlowStep, i);
        IfmFlowStep *last = kept > 0 ? &g_array_index(steps, IfmFlowStep, kept - 1) : NULL;
        if (last != NULL && last->batch == step->batch && last->block == step->block)
            continue;
        /* a batch with only one block has nothing to link */
        if (last != NULL && last->batch != step->batch && (kept == 1 || (last - 1)->batch != last->batch))
            kept--;
        g_array_index(steps, IfmFlowStep, kept++) = *step;
    }
    if (kept == 1 || (kept > 1 && g_array_index(steps, IfmFlowStep, kept - 2).batch !=
                                      g_array_index(steps, IfmFlowStep, kept - 1).batch))
        kept--;
    g_array_set_size(steps, kept);
    return steps;
}
