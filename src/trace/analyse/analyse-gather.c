#include <string.h>

#include "analyse-private.h"

/*
 * One pass over all events, 64 bytes each. What the other parts need of them is copied, close together. Memory that is
 * written for the first time costs more than the pass itself, so as little as possible is written.
 */

/* --- works of tracks -------------------------------------------------------------------------------------------------- */

/* Tracks of one device in one process have the same group. */
static guint group_of(GHashTable *groups, const IfmTrackInfo *info, gsize track)
{
    g_autofree char *key = info->device != NULL ? g_strdup_printf("%" G_GINT64_FORMAT " %s", info->pid, info->device)
                                                : g_strdup_printf("#%zu", track);
    gpointer known = g_hash_table_lookup(groups, key);
    if (known == NULL)
    {
        known = GUINT_TO_POINTER(g_hash_table_size(groups) + 1);
        g_hash_table_insert(groups, g_steal_pointer(&key), known);
    }
    return GPOINTER_TO_UINT(known) - 1;
}

/* Annotations alone are none of a thread's work. */
static gboolean has_work(const IfmTrace *trace, gsize track)
{
    gsize n;
    const IfmEvent *events = ifm_trace_events(trace, track, &n);
    for (gsize i = 0; i < n; i++)
        if (events[i].kind != IFM_EVENT_SPAN)
            return TRUE;
    return FALSE;
}

static void add_works(IfmAnalysing *self, IfmTrackKind kind, GHashTable *groups, gint32 *work_of)
{
    for (gsize track = 0; track < ifm_trace_n_tracks(self->trace); track++)
    {
        const IfmTrackInfo *info = ifm_trace_track_info(self->trace, track);
        gsize n;
        ifm_trace_events(self->trace, track, &n);
        if (info->kind != kind || (kind == IFM_TRACK_FOREIGN && !has_work(self->trace, track)))
            continue;
        work_of[track] = (gint32)self->n_works;
        self->works[self->n_works++] = (IfmTrackWork){ .track = track,
                                                       .infers = kind == IFM_TRACK_DEVICE && n == 0,
                                                       .lowest = G_MAXUINT,
                                                       .group = group_of(groups, info, track) };
        IfmTrackUse use = { .info = info };
        g_array_append_val(self->analysis->tracks, use);
    }
}

/* Devices come first. Without a device foreign threads are analysed. Returns: [n_tracks] the work of each track; -1:
 * none. */
static gint32 *make_works(IfmAnalysing *self)
{
    g_autoptr(GHashTable) groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gsize n = ifm_trace_n_tracks(self->trace);
    gint32 *work_of = g_new(gint32, n + 1);
    memset(work_of, 0xff, (n + 1) * sizeof *work_of);
    self->works = g_new0(IfmTrackWork, n + 1);
    add_works(self, IFM_TRACK_DEVICE, groups, work_of);
    self->n_counted = self->n_works;
    add_works(self, IFM_TRACK_FOREIGN, groups, work_of);
    if (self->n_counted == 0)
        self->n_counted = self->n_works;
    self->analysis->n_devices = self->n_counted;
    return work_of;
}

/* --- events ----------------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmAnalysing *self;
    IfmTrackWork *work; /* NULL: none */
    IfmTrackUse *use;
    guint block; /* the track's own, 0: none */
    gsize n;     /* events of the track */
} Track;

static void add_run(const Track *track, const IfmEvent *event, gint64 end, guint block)
{
    IfmTrackWork *work = track->work;
    if (work->runs == NULL)
        work->runs = g_new0(IfmRun, track->n); /* room that is not used is never touched */
    work->out_of_order = work->out_of_order || (work->n_runs > 0 && event->start_ns < work->runs[work->n_runs - 1].start);
    work->infers = TRUE;
    work->lowest = MIN(work->lowest, block);
    work->highest = MAX(work->highest, block);
    work->runs[work->n_runs++] = (IfmRun){ event->start_ns, end, event->batch, (guint16)block, event->failed };
    if (!work->out_of_order)
        ifm_use_add_run(&track->self->window, event, work, track->use, track->n);
}

static void add_part(IfmParts *parts, const Track *track, const IfmEvent *event, gint64 end, guint block)
{
    if (event->batch < 0)
        return;
    if (G_UNLIKELY(parts->n == parts->room))
    {
        parts->room = parts->room > 0 ? 2 * parts->room : CLAMP(track->n, 16, 1 << 18);
        parts->all = g_renew(IfmPart, parts->all, parts->room);
    }
    parts->all[parts->n++] = (IfmPart){ event->start_ns, end,         event->batch, event->block, event->first, event->last,
                                        (guint16)block,  event->kind, event->failed };
}

static void know_block(IfmAnalysing *self, guint block)
{
    self->blocks = g_renew(IfmHostBlock, self->blocks, block + 1);
    memset(self->blocks + self->n_blocks, 0, (block + 1 - self->n_blocks) * sizeof(IfmHostBlock));
    self->n_blocks = block + 1;
}

static const IfmTimeRange everything = { G_MININT64, G_MAXINT64 };

static void add_host(const Track *track, int class, const IfmEvent *event, gint64 end, guint block)
{
    if (block != 0)
        ifm_spans_add(&track->self->blocks[block].spans[class], event->start_ns, end, &everything, track->n);
}

static inline void add_event(const Track *track, const IfmEvent *event, gint64 end)
{
    IfmAnalysing *self = track->self;
    guint block = event->block != 0 ? event->block : track->block;
    if (G_UNLIKELY(block >= self->n_blocks))
        know_block(self, block);
    switch (event->kind)
    {
    case IFM_EVENT_INFER:
        if (track->work != NULL && track->use->info->kind == IFM_TRACK_DEVICE)
            add_run(track, event, end, block);
        break;
    case IFM_EVENT_NODE:
        if (track->work != NULL)
            track->work->has_nodes = TRUE;
        break;
    case IFM_EVENT_KERNEL:
        if (track->work != NULL && track->use->info->kind == IFM_TRACK_DEVICE)
            track->work->has_kernels = track->work->infers = TRUE;
        break;
    case IFM_EVENT_BATCH:
        self->first_entry_ns = MIN(self->first_entry_ns, event->start_ns);
        add_part(&self->batches, track, event, end, block);
        break;
    case IFM_EVENT_BLOCK:
        add_part(&self->stays, track, event, end, block);
        add_host(track, IFM_INSIDE, event, end, block);
        break;
    case IFM_EVENT_PARTITION:
    case IFM_EVENT_MERGE:
        add_part(&self->host, track, event, end, block);
        add_host(track, IFM_WORKING, event, end, block);
        break;
    case IFM_EVENT_COPY:
        add_host(track, IFM_COPYING, event, end, block);
        break;
    case IFM_EVENT_WAIT_INPUT:
        add_host(track, IFM_WAITING, event, end, block);
        break;
    case IFM_EVENT_WAIT_OUTPUT:
        add_host(track, IFM_FULL, event, end, block);
        break;
    default:
        break;
    }
}

/* Returns: the number of events that end before they start. */
static gsize gather_track(const Track *track, const IfmEvent *events, gsize index)
{
    gsize n_backwards = 0;
    for (gsize first = 0; first < track->n; first += IFM_STRETCH_EVENTS)
    {
        IfmStretch stretch = { index, first, { G_MAXINT64, G_MININT64 } };
        for (gsize i = first; i < MIN(track->n, first + IFM_STRETCH_EVENTS); i++)
        {
            gint64 end = ifm_event_end_ns(&events[i]);
            stretch.span.start = MIN(stretch.span.start, events[i].start_ns);
            stretch.span.end = MAX(stretch.span.end, end);
            n_backwards += events[i].duration_ns < 0;
            add_event(track, &events[i], end);
        }
        g_array_append_val(track->self->stretches, stretch);
    }
    return n_backwards;
}

/* --- inferences that were not recorded by start ----------------------------------------------------------------------- */

static void sort_runs(IfmAnalysing *self, IfmTrackWork *work, IfmTrackUse *use)
{
    gsize n, kept = 0;
    const IfmEvent *events = ifm_trace_events(self->trace, work->track, &n);
    g_autofree IfmKeyed *order = g_new(IfmKeyed, work->n_runs);
    g_autofree IfmRun *unsorted = work->runs;
    for (gsize i = 0; i < n && kept < work->n_runs; i++)
        if (events[i].kind == IFM_EVENT_INFER)
        {
            order[kept] = (IfmKeyed){ events[i].start_ns, (guint32)i, (gint32)kept };
            kept++;
        }
    ifm_keyed_sort(order, kept);
    work->runs = g_new(IfmRun, kept);
    work->sums = (IfmSums){ 0 };
    work->busy.n = 0;
    *use = (IfmTrackUse){ .info = use->info };
    for (gsize i = 0; i < kept; i++)
    {
        work->runs[i] = unsorted[order[i].b];
        ifm_use_add_run(&self->window, &events[order[i].a], work, use, kept);
    }
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static void warn_of(IfmTraceAnalysis *analysis, gsize n_backwards)
{
    if (analysis->n_dropped > 0)
        g_ptr_array_add(analysis->warnings,
                        g_strdup_printf("%zu events were dropped, as their tracks were full: all figures lack them",
                                        analysis->n_dropped));
    if (n_backwards > 0)
        g_ptr_array_add(analysis->warnings,
                        g_strdup_printf("%zu events end before they start: the clock ran backwards; they count as 0 long",
                                        n_backwards));
}

gboolean ifm_analyse_gather(IfmAnalysing *self, IfmTimeRange *all)
{
    g_autofree gint32 *work_of = make_works(self);
    gsize n_backwards = 0;
    self->first_entry_ns = G_MAXINT64;
    self->stretches = g_array_new(FALSE, FALSE, sizeof(IfmStretch));
    *all = (IfmTimeRange){ G_MAXINT64, G_MININT64 };
    for (gsize index = 0; index < ifm_trace_n_tracks(self->trace); index++)
    {
        int block = ifm_trace_track_info(self->trace, index)->block;
        Track track = { .self = self, .block = block > 0 && block <= G_MAXUINT16 ? (guint)block : 0 };
        if (work_of[index] >= 0)
        {
            track.work = &self->works[work_of[index]];
            track.use = &g_array_index(self->analysis->tracks, IfmTrackUse, work_of[index]);
        }
        const IfmEvent *events = ifm_trace_events(self->trace, index, &track.n);
        n_backwards += gather_track(&track, events, index);
    }
    for (gsize i = 0; i < self->n_works; i++)
        if (self->works[i].out_of_order)
            sort_runs(self, &self->works[i], &g_array_index(self->analysis->tracks, IfmTrackUse, i));
    for (guint i = 0; i < self->stretches->len; i++)
    {
        const IfmTimeRange *span = &g_array_index(self->stretches, IfmStretch, i).span;
        *all = (IfmTimeRange){ MIN(all->start, span->start), MAX(all->end, span->end) };
    }
    self->analysis->n_dropped = ifm_trace_n_dropped(self->trace);
    warn_of(self->analysis, n_backwards);
    return all->start <= all->end;
}

void ifm_gathered_clear(IfmAnalysing *self)
{
    for (gsize i = 0; i < self->n_works; i++)
    {
        ifm_spans_clear(&self->works[i].busy);
        g_free(self->works[i].runs);
    }
    for (guint i = 0; i < self->n_blocks; i++)
        for (int k = 0; k < IFM_N_HOST_CLASSES; k++)
            ifm_spans_clear(&self->blocks[i].spans[k]);
    g_free(self->works);
    g_free(self->blocks);
    g_free(self->batches.all);
    g_free(self->stays.all);
    g_free(self->host.all);
    g_clear_pointer(&self->stretches, g_array_unref);
}
