#include "analyse-private.h"

#include <base/base.h>
#include <stdlib.h>
#include <string.h>

/*
 * Why a device is idle, instant by instant. The cause is what its block's host and its partners do at that instant, the
 * first of these that holds:
 *
 *    no work      before the first batch entered the pipeline, or after the block was done with the device's last one
 *    transfer     a copy of the block
 *    host         a partition or merge of the block
 *    queue full   the block held a finished batch that the next queue had no room for
 *    upstream     the block waited for its next batch
 *    partner      another device of the block worked on a batch that this one was done with
 *    host         a batch was in the block, but on no device that would explain the gap: a hand-over
 *    unknown
 *
 * A gap belongs to the block of the inference that ends it, the last gap to that of the last inference.
 */

/* --- running batches -------------------------------------------------------------------------------------------------- */

/* A heap of inferences in progress, with the smallest batch on top. Those that ended are removed when they are on
 * top. */
typedef struct
{
    gint64 end;
    gint32 batch;
} Running;

static void heap_push(GArray *heap, const IfmRun *run)
{
    Running one = { run->end, run->batch };
    g_array_append_val(heap, one);
    Running *at = (Running *)(void *)heap->data;
    for (guint i = heap->len - 1; i > 0 && at[(i - 1) / 2].batch > at[i].batch; i = (i - 1) / 2)
    {
        Running swap = at[i];
        at[i] = at[(i - 1) / 2];
        at[(i - 1) / 2] = swap;
    }
}

static void heap_pop(GArray *heap)
{
    Running *at = (Running *)(void *)heap->data;
    guint n = heap->len - 1;
    at[0] = at[n];
    g_array_set_size(heap, n);
    for (guint i = 0, child; (child = 2 * i + 1) < n; i = child)
    {
        child += child + 1 < n && at[child + 1].batch < at[child].batch;
        if (at[i].batch <= at[child].batch)
            break;
        Running swap = at[i];
        at[i] = at[child];
        at[child] = swap;
    }
}

static gint32 min_running(GArray *heap, gint64 now)
{
    while (heap->len > 0 && g_array_index(heap, Running, 0).end <= now)
        heap_pop(heap);
    return heap->len > 0 ? g_array_index(heap, Running, 0).batch : G_MAXINT32;
}

/* --- gaps ------------------------------------------------------------------------------------------------------------- */

/*
 * Gaps: those of a track, one after the other. The first begins when the first batch enters the pipeline. The last ends
 * when the block is done with the device's last batch. Before and after there is no work. Gaps of other blocks are
 * skipped.
 */
typedef struct
{
    const IfmAnalysing *analysing;
    const IfmTrackWork *work;
    IfmTrackUse *use;
    guint block;
    gsize next; /* run that ends the next gap; n_runs: the last gap; n_runs + 1: there is no gap left */
    gint64 until, entry, none_left;
    guint last_block; /* of the run that ended last */
    gint32 done;      /* the largest batch that the device is done with in this gap; -1: none */
    gint32 done_next;
    IfmTimeRange gap; /* within the window; empty at G_MAXINT64: no gap is left */
} Gaps;

static void gaps_next(Gaps *gaps)
{
    const IfmTrackWork *work = gaps->work;
    const IfmTimeRange *window = &gaps->analysing->window;
    for (; gaps->next <= work->n_runs;)
    {
        gsize at = gaps->next++;
        gboolean ends = at == work->n_runs;
        gint64 start = MAX(gaps->until, window->start), end = ends ? gaps->none_left : work->runs[at].start;
        guint block = ends ? gaps->last_block : work->runs[at].block;
        gaps->done = gaps->done_next;
        if (!ends)
        {
            gaps->until = at == 0 ? work->runs[0].end : MAX(gaps->until, work->runs[at].end);
            gaps->done_next = MAX(gaps->done_next, work->runs[at].batch);
        }
        end = MIN(end, window->end);
        if (block != gaps->block || start >= end)
            continue;
        gaps->gap = (IfmTimeRange){ start, end };
        return;
    }
    gaps->gap = (IfmTimeRange){ G_MAXINT64, G_MAXINT64 };
}

/* When the block was done with the device's last batch: from then on the device has no work. */
static gint64 find_done(const IfmAnalysing *self, const IfmRun *last)
{
    gint64 until = last->end;
    if (last->failed)
        return until;
    for (gsize i = 0; i < self->stays.n; i++)
    {
        const IfmPart *stay = &self->stays.all[i];
        if (stay->end > until && stay->number == last->block && stay->batch == last->batch && !stay->failed)
            until = stay->end;
    }
    return until;
}

static void add_no_work(const IfmAnalysing *self, IfmTrackUse *use, gint64 start, gint64 end)
{
    gint64 ns = MIN(end, self->window.end) - MAX(start, self->window.start);
    use->idle_by_cause_ns[IFM_IDLE_NO_WORK] += MAX(ns, 0);
}

/* @runs > 0. Adds the time without work to @use. */
static Gaps gaps_of(const IfmAnalysing *self, const IfmTrackWork *work, IfmTrackUse *use)
{
    const IfmRun *runs = work->runs, *last = &runs[0];
    gint64 until = runs[0].start;
    for (gsize i = 0; i < work->n_runs; i++)
    {
        last = runs[i].end >= until ? &runs[i] : last;
        until = MAX(until, runs[i].end);
    }
    Gaps gaps = { .analysing = self, .work = work, .use = use, .done_next = -1 };
    gaps.entry = MIN(self->first_entry_ns, runs[0].start);
    gaps.none_left = find_done(self, last);
    gaps.last_block = last->block;
    add_no_work(self, use, G_MININT64, gaps.entry);
    add_no_work(self, use, gaps.none_left, G_MAXINT64);
    return gaps;
}

static void gaps_begin(Gaps *gaps, guint block)
{
    gaps->block = block;
    gaps->next = 0;
    gaps->until = gaps->entry;
    gaps->done_next = -1;
    gaps_next(gaps);
}

/* --- a block's sweep -------------------------------------------------------------------------------------------------- */

/* The inferences of one track in a sweep. */
typedef struct
{
    const IfmRun *runs; /* [n] from the first of this block to its last; runs of other blocks may be among them */
    gint64 *ends;       /* [n] ascending; NULL: the runs' own ends ascend */
    gsize n;
} BlockRuns;

/* Returns: NULL if the ends of the inferences ascend. */
static gint64 *sorted_ends(const IfmRun *runs, gsize n)
{
    gsize ascending = 1;
    while (ascending < n && runs[ascending].end >= runs[ascending - 1].end)
        ascending++;
    if (ascending >= n)
        return NULL;
    gint64 *ends = g_new(gint64, n);
    for (gsize i = 0; i < n; i++)
        ends[i] = runs[i].end;
    qsort(ends, n, sizeof *ends, ifm_compare_int64);
    return ends;
}

typedef struct
{
    GArray *runs;  /* BlockRuns */
    GArray *gaps;  /* Gaps */
    GArray *edges; /* IfmEdges: of the classes, then for each track its starts and its ends */
    GArray *heap;  /* Running */
    guint block;
} Sweep;

static void add_track(Sweep *sweep, const IfmTrackWork *work, const Gaps *gaps)
{
    gsize first = 0, end = work->n_runs;
    if (sweep->block < work->lowest || sweep->block > work->highest)
        return;
    g_array_append_val(sweep->gaps, *gaps);
    gaps_begin(&g_array_index(sweep->gaps, Gaps, sweep->gaps->len - 1), sweep->block);
    while (first < end && work->runs[first].block != sweep->block)
        first++;
    while (end > first && work->runs[end - 1].block != sweep->block)
        end--;
    if (first == end || sweep->block == 0)
        return;
    BlockRuns runs = { work->runs + first, sorted_ends(work->runs + first, end - first), end - first };
    g_array_append_val(sweep->runs, runs);
}

static void add_edges(Sweep *sweep, IfmHostBlock *block)
{
    for (int class = 0; class < IFM_N_HOST_CLASSES; class ++)
    {
        ifm_spans_unite(&block->spans[class]);
        IfmEdges one = ifm_edges_of_spans(&block->spans[class]);
        g_array_append_val(sweep->edges, one);
    }
    for (guint i = 0; i < sweep->runs->len && sweep->runs->len > 1; i++) /* a single track has no partner */
    {
        const BlockRuns *track = &g_array_index(sweep->runs, BlockRuns, i);
        IfmEdges both[2] = { ifm_edges_of(&track->runs->start, sizeof(IfmRun), track->n),
                             track->ends != NULL ? ifm_edges_of(track->ends, sizeof(gint64), track->n)
                                                 : ifm_edges_of(&track->runs->end, sizeof(IfmRun), track->n) };
        g_array_append_vals(sweep->edges, both, 2);
    }
}

/* Moment: what goes on until the next edge. @cause: -1: a partner, if the device is done with @min_batch; else
 * @otherwise. */
typedef struct
{
    gint8 cause, otherwise;
    gint32 min_batch; /* the smallest batch on the block's devices; G_MAXINT32: none */
} Moment;

/* @on: one bit for each class */
static Moment moment_of(guint on)
{
    Moment moment = { -1, (on >> IFM_INSIDE & 1) != 0 ? IFM_IDLE_HOST : IFM_IDLE_UNKNOWN, G_MAXINT32 };
    if ((on >> IFM_COPYING & 1) != 0)
        moment.cause = IFM_IDLE_TRANSFER;
    else if ((on >> IFM_WORKING & 1) != 0)
        moment.cause = IFM_IDLE_HOST;
    else if ((on >> IFM_FULL & 1) != 0)
        moment.cause = IFM_IDLE_QUEUE_FULL;
    else if ((on >> IFM_WAITING & 1) != 0)
        moment.cause = IFM_IDLE_UPSTREAM;
    return moment;
}

/* With the one before where that has the same cause. */
static void note_span(const Gaps *gaps, gint64 start, gint64 end, IfmIdleCause cause)
{
    GArray *spans = gaps->analysing->analysis->idle_spans;
    const IfmIdleSpan span = { gaps->use->info, cause, start, end };
    IfmIdleSpan *last = spans->len > 0 ? &g_array_index(spans, IfmIdleSpan, spans->len - 1) : NULL;
    if (last != NULL && last->info == span.info && last->cause == cause && last->end_ns == start)
        last->end_ns = end;
    else
        g_array_append_val(spans, span);
}

/* Adds the parts of the track's gaps between @start and @end to their cause. */
static inline void blame_until(Gaps *gaps, gint64 start, gint64 end, Moment moment)
{
    while (gaps->gap.start < end)
    {
        gint64 from = MAX(gaps->gap.start, start), to = MIN(gaps->gap.end, end);
        int partner = moment.min_batch <= gaps->done ? IFM_IDLE_PARTNER : moment.otherwise,
            cause = moment.cause >= 0 ? moment.cause : partner;
        gaps->use->idle_by_cause_ns[cause] += to - from;
        if (gaps->analysing->wants_idle_spans && to > from)
            note_span(gaps, from, to, (IfmIdleCause)cause);
        if (gaps->gap.end > end)
            return;
        gaps_next(gaps);
    }
}

/* Inferences between an edge and the next are on the heap: all that began. */
static void begin_run(Sweep *sweep, gsize track, gsize at)
{
    const IfmRun *run = &g_array_index(sweep->runs, BlockRuns, track).runs[at];
    if (run->batch >= 0 && run->block == sweep->block)
        heap_push(sweep->heap, run);
}

static void run_sweep(Sweep *sweep)
{
    IfmEdges *edges = (IfmEdges *)(void *)sweep->edges->data;
    Gaps *gaps = (Gaps *)(void *)sweep->gaps->data;
    gsize n = sweep->edges->len;
    Moment moments[1 << IFM_N_HOST_CLASSES], moment = { -1, IFM_IDLE_UNKNOWN, G_MAXINT32 };
    gint64 at = G_MININT64;
    guint on = 0;
    for (guint i = 0; i < G_N_ELEMENTS(moments); i++)
        moments[i] = moment_of(i);
    for (;;)
    {
        gsize i = ifm_edges_min(edges, n);
        gint64 now = edges[i].next;
        if (now > at)
        {
            for (guint k = 0; k < sweep->gaps->len; k++)
                blame_until(&gaps[k], at, now, moment);
            at = now;
        }
        if (now == G_MAXINT64)
            return;
        if (i < IFM_N_HOST_CLASSES)
            on ^= 1u << i;
        else if ((i - IFM_N_HOST_CLASSES) % 2 == 0)
            begin_run(sweep, (i - IFM_N_HOST_CLASSES) / 2, edges[i].at);
        edges[i].at++;
        ifm_edges_load(&edges[i]);
        moment = moments[on];
        moment.min_batch = min_running(sweep->heap, now);
    }
}

static void sweep_block(IfmAnalysing *self, guint number, const Gaps *all)
{
    Sweep sweep = { .runs = g_array_new(FALSE, FALSE, sizeof(BlockRuns)),
                    .gaps = g_array_new(FALSE, FALSE, sizeof(Gaps)),
                    .edges = g_array_new(FALSE, FALSE, sizeof(IfmEdges)),
                    .heap = g_array_new(FALSE, FALSE, sizeof(Running)),
                    .block = number };
    for (gsize i = 0; i < self->n_works; i++)
        if (self->works[i].n_runs > 0)
            add_track(&sweep, &self->works[i], &all[i]);
    if (sweep.gaps->len > 0)
    {
        add_edges(&sweep, &self->blocks[number]);
        run_sweep(&sweep);
    }
    for (guint i = 0; i < sweep.runs->len; i++)
        g_free(g_array_index(sweep.runs, BlockRuns, i).ends);
    g_array_unref(sweep.runs);
    g_array_unref(sweep.gaps);
    g_array_unref(sweep.edges);
    g_array_unref(sweep.heap);
}

void ifm_analyse_blame(IfmAnalysing *self)
{
    g_autofree Gaps *all = g_new0(Gaps, self->n_works);
    for (gsize i = 0; i < self->n_works; i++)
    {
        const IfmTrackWork *work = &self->works[i];
        IfmTrackUse *use = &g_array_index(self->analysis->tracks, IfmTrackUse, i);
        if (work->n_runs > 0)
            all[i] = gaps_of(self, work, use);
        else if (!work->has_kernels) /* a device without any work, or a thread that recorded no cause */
            use->idle_by_cause_ns[work->infers ? IFM_IDLE_NO_WORK : IFM_IDLE_UNKNOWN] = use->idle_ns;
    }
    for (guint block = 0; block < self->n_blocks; block++)
        sweep_block(self, block, all);
}
