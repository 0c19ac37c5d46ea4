#include "analyse-private.h"

#include <stdlib.h>
#include <string.h>

/*
 * Why a device did nothing, instant by instant. What its block's host and its partners were about at that instant decides,
 * the first of these that holds:
 *
 *   no work      before the first batch entered the pipeline, or after the block was done with the device's last one
 *   transfer     a copy of the block
 *   host         a partition or merge of the block
 *   queue full   the block held a finished batch that the queue behind it did not take
 *   upstream     the block waited for its next batch
 *   partner      another device of the block was at a batch that this one was done with
 *   host         a batch was in the block and on none of its devices that would explain it: a hand-over
 *   unknown
 *
 * A gap is of the block of the inference that ends it; the last gap of that of the last inference.
 */

enum
{
    COPYING,
    WORKING,
    FULL,
    WAITING,
    INSIDE, /* a batch is in the block */
    N_CLASSES,
};

static const gint8 class_of_kind[IFM_N_EVENT_KINDS] = {
    [IFM_EVENT_INFER] = -1,         [IFM_EVENT_PARTITION] = WORKING, [IFM_EVENT_MERGE] = WORKING,
    [IFM_EVENT_COPY] = COPYING,     [IFM_EVENT_QUEUE] = -1,          [IFM_EVENT_WAIT_INPUT] = WAITING,
    [IFM_EVENT_WAIT_OUTPUT] = FULL, [IFM_EVENT_BLOCK] = INSIDE,      [IFM_EVENT_BATCH] = -1,
    [IFM_EVENT_NODE] = -1,          [IFM_EVENT_OTHER] = -1,
};

/* From @start to the next moment's. @least_batch: of those that the block's devices are at; G_MAXINT32: at none. */
typedef struct
{
    gint64 start;
    gint32 least_batch;
    gint8 cause; /* -1: a partner, if @least_batch is one that the device is done with; else @otherwise */
    gint8 otherwise;
} Moment;

/* A batch's leaving of a block. */
typedef struct
{
    gint64 batch, end;
} Done;

typedef struct
{
    GArray *spans[N_CLASSES]; /* IfmSpan */
    GArray *done;             /* Done */
    GArray *moments;          /* Moment, ascending */
} Block;

struct IfmBlame
{
    const IfmAnalysing *analysing;
    Block *blocks; /* [n_blocks] by number */
    guint n_blocks;
    IfmSpan everything;
    gint64 first_entry_ns; /* G_MAXINT64: none recorded */
};

typedef struct IfmBlame Blame;

/* --- what the blocks were about --------------------------------------------------------------------------------------- */

/* 0: of none. */
static guint block_of(const IfmEvent *event, const IfmTrackInfo *info)
{
    guint number = event->block != 0 ? event->block : (guint)MAX(info->block, 0);
    return number <= G_MAXUINT16 ? number : 0;
}

static Block *get_block(Blame *blame, guint number)
{
    if (number >= blame->n_blocks)
    {
        blame->blocks = g_renew(Block, blame->blocks, number + 1);
        memset(blame->blocks + blame->n_blocks, 0, (number + 1 - blame->n_blocks) * sizeof(Block));
        blame->n_blocks = number + 1;
    }
    Block *block = &blame->blocks[number];
    if (block->done == NULL)
    {
        block->done = g_array_new(FALSE, FALSE, sizeof(Done));
        for (int i = 0; i < N_CLASSES; i++)
            block->spans[i] = ifm_spans_new();
    }
    return block;
}

IfmBlame *ifm_blame_new(void)
{
    IfmBlame *blame = g_new0(IfmBlame, 1);
    blame->everything = (IfmSpan){ G_MININT64, G_MAXINT64 };
    blame->first_entry_ns = G_MAXINT64;
    return blame;
}

void ifm_blame_note(IfmBlame *blame, const IfmEvent *event, const IfmTrackInfo *info)
{
    if (event->kind == IFM_EVENT_BATCH)
        blame->first_entry_ns = MIN(blame->first_entry_ns, event->start_ns);
    int class = event->kind < IFM_N_EVENT_KINDS ? class_of_kind[event->kind] : -1;
    guint number = block_of(event, info);
    if (number == 0 || (class < 0 && event->kind != IFM_EVENT_INFER))
        return;
    Block *block = get_block(blame, number);
    if (class < 0)
        return;
    gint64 end = ifm_event_end_ns(event);
    ifm_spans_add(block->spans[class], event->start_ns, end, &blame->everything);
    if (class == INSIDE && event->batch >= 0 && !event->failed)
    {
        Done done = { event->batch, end };
        g_array_append_val(block->done, done);
    }
}

/* --- batches that the devices are at ---------------------------------------------------------------------------------- */

/* A heap of inferences under way, the one of the least batch on top; those that ended leave it once they are on top. */
typedef struct
{
    gint64 end;
    gint32 batch;
} Running;

static void heap_push(GArray *heap, const IfmEvent *event)
{
    Running one = { ifm_event_end_ns(event), event->batch };
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

static gint32 least_running(GArray *heap, gint64 now)
{
    while (heap->len > 0 && g_array_index(heap, Running, 0).end <= now)
        heap_pop(heap);
    return heap->len > 0 ? g_array_index(heap, Running, 0).batch : G_MAXINT32;
}

/* --- moments ---------------------------------------------------------------------------------------------------------- */

/* Where an inference's start takes a block's sweep. */
typedef struct
{
    const IfmWork *work;
    gint64 *ends;   /* [n] ascending */
    gsize first, n; /* of the work's inferences: those of this block lie between, others perhaps among them */
} BlockRuns;

static int by_time(const void *a, const void *b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

static gint64 *ends_of(const IfmEvent *runs, gsize n)
{
    gint64 *ends = g_new(gint64, n);
    gboolean ascending = TRUE;
    for (gsize i = 0; i < n; i++)
    {
        ends[i] = ifm_event_end_ns(&runs[i]);
        ascending = ascending && (i == 0 || ends[i] >= ends[i - 1]);
    }
    if (!ascending)
        qsort(ends, n, sizeof *ends, by_time);
    return ends;
}

/* The tracks that have inferences of a block, each from its first of them to its last. */
static GArray *runs_of_block(const Blame *blame, guint number)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(BlockRuns));
    for (gsize i = 0; i < blame->analysing->n_works; i++)
    {
        const IfmWork *work = &blame->analysing->works[i];
        const IfmTrackInfo *info = ifm_trace_track_info(blame->analysing->trace, work->track);
        gsize first = 0, end = work->n_runs;
        while (first < end && block_of(&work->runs[first], info) != number)
            first++;
        while (end > first && block_of(&work->runs[end - 1], info) != number)
            end--;
        BlockRuns runs = { work, NULL, first, end - first };
        if (first == end)
            continue;
        runs.ends = ends_of(work->runs + first, end - first);
        g_array_append_val(all, runs);
    }
    return all;
}

/* Edges of the classes, then starts and ends of each track in turn. */
static GArray *edges_of_block(const Block *block, const GArray *runs)
{
    GArray *edges = g_array_new(FALSE, FALSE, sizeof(IfmEdges));
    for (int class = 0; class < N_CLASSES; class ++)
    {
        ifm_spans_unite(block->spans[class]);
        IfmEdges one = ifm_edges_of_spans(block->spans[class]);
        g_array_append_val(edges, one);
    }
    for (guint i = 0; i < runs->len; i++)
    {
        const BlockRuns *track = &g_array_index(runs, BlockRuns, i);
        IfmEdges both[2] = { ifm_edges_of(&track->work->runs[track->first].start_ns, sizeof(IfmEvent), track->n),
                             ifm_edges_of(track->ends, sizeof(gint64), track->n) };
        g_array_append_vals(edges, both, 2);
    }
    return edges;
}

static Moment moment_at(gint64 at, const gboolean on[N_CLASSES], gint32 least_batch)
{
    Moment moment = { at, least_batch, -1, on[INSIDE] ? IFM_IDLE_HOST : IFM_IDLE_UNKNOWN };
    if (on[COPYING])
        moment.cause = IFM_IDLE_TRANSFER;
    else if (on[WORKING])
        moment.cause = IFM_IDLE_HOST;
    else if (on[FULL])
        moment.cause = IFM_IDLE_QUEUE_FULL;
    else if (on[WAITING])
        moment.cause = IFM_IDLE_UPSTREAM;
    return moment;
}

/* An inference of the block begins; those of other blocks among them are none of its devices' work. */
static void push_run(const Blame *blame, GArray *heap, const BlockRuns *track, gsize at, guint number)
{
    const IfmEvent *run = &track->work->runs[track->first + at];
    if (run->batch >= 0 && block_of(run, ifm_trace_track_info(blame->analysing->trace, track->work->track)) == number)
        heap_push(heap, run);
}

static void make_moments(const Blame *blame, Block *block, guint number)
{
    g_autoptr(GArray) heap = g_array_new(FALSE, FALSE, sizeof(Running)), runs = runs_of_block(blame, number);
    g_autoptr(GArray) all = edges_of_block(block, runs);
    IfmEdges *edges = (IfmEdges *)(void *)all->data;
    gboolean on[N_CLASSES] = { FALSE };
    gsize most = 0;
    for (guint i = 0; i < all->len; i++)
        most += edges[i].n;
    block->moments = g_array_sized_new(FALSE, FALSE, sizeof(Moment), (guint)MIN(most, G_MAXUINT / 2));
    for (gsize i = ifm_edges_least(edges, all->len); edges[i].next != G_MAXINT64;)
    {
        gint64 now = edges[i].next;
        if (i < N_CLASSES)
            on[i] = edges[i].at % 2 == 0;
        else if ((i - N_CLASSES) % 2 == 0)
            push_run(blame, heap, &g_array_index(runs, BlockRuns, (i - N_CLASSES) / 2), edges[i].at, number);
        edges[i].at++;
        ifm_edges_load(&edges[i]);
        i = ifm_edges_least(edges, all->len);
        if (edges[i].next == now)
            continue;
        Moment moment = moment_at(now, on, least_running(heap, now));
        g_array_append_val(block->moments, moment);
    }
    for (guint i = 0; i < runs->len; i++)
        g_free(g_array_index(runs, BlockRuns, i).ends);
}

static void make_blocks(Blame *blame)
{
    for (guint i = 0; i < blame->n_blocks; i++)
        if (blame->blocks[i].done != NULL)
            make_moments(blame, &blame->blocks[i], i);
}

/* --- gaps ------------------------------------------------------------------------------------------------------------- */

/* Cursor: where in a block's moments a track's gaps have got to: gaps come in order, so all are walked once. */
typedef struct
{
    guint block, at;
} Cursor;

static guint find_moment(const GArray *moments, gint64 at)
{
    guint low = 0, high = moments->len;
    while (low < high) /* the first that begins after it */
    {
        guint middle = low + (high - low) / 2;
        if (g_array_index(moments, Moment, middle).start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : 0;
}

/* @done: the greatest batch that the device is done with; -1: none. */
static void blame_gap(const Blame *blame, IfmTrackUse *use, IfmSpan gap, guint number, gint32 done, Cursor *cursor)
{
    const IfmSpan *window = &blame->analysing->window;
    gap = (IfmSpan){ MAX(gap.start, window->start), MIN(gap.end, window->end) };
    if (gap.start >= gap.end)
        return;
    const GArray *moments = number < blame->n_blocks ? blame->blocks[number].moments : NULL;
    if (moments == NULL || moments->len == 0)
    {
        use->idle_by_cause_ns[IFM_IDLE_UNKNOWN] += gap.end - gap.start;
        return;
    }
    const Moment *all = (const Moment *)(const void *)moments->data;
    if (cursor->block != number)
        *cursor = (Cursor){ number, find_moment(moments, gap.start) };
    while (cursor->at + 1 < moments->len && all[cursor->at + 1].start <= gap.start)
        cursor->at++;
    if (gap.start < all[0].start)
        use->idle_by_cause_ns[IFM_IDLE_UNKNOWN] += MIN(gap.end, all[0].start) - gap.start;
    for (guint i = cursor->at; i < moments->len && all[i].start < gap.end; i++)
    {
        gint64 start = MAX(all[i].start, gap.start), end = i + 1 < moments->len ? all[i + 1].start : G_MAXINT64;
        int cause = all[i].cause >= 0 ? all[i].cause : all[i].least_batch <= done ? IFM_IDLE_PARTNER : all[i].otherwise;
        use->idle_by_cause_ns[cause] += MIN(end, gap.end) - start;
    }
}

static void blame_no_work(const Blame *blame, IfmTrackUse *use, gint64 start, gint64 end)
{
    const IfmSpan *window = &blame->analysing->window;
    gint64 ns = MIN(end, window->end) - MAX(start, window->start);
    use->idle_by_cause_ns[IFM_IDLE_NO_WORK] += MAX(ns, 0);
}

/* When the block was done with a device's last batch: nothing was left for the device from then on. */
static gint64 find_done(const Blame *blame, guint number, const IfmEvent *last)
{
    gint64 until = ifm_event_end_ns(last);
    const GArray *done = number < blame->n_blocks ? blame->blocks[number].done : NULL;
    if (last->failed || done == NULL)
        return until;
    for (guint i = done->len; i-- > 0;)
        if (g_array_index(done, Done, i).batch == last->batch)
            until = MAX(until, g_array_index(done, Done, i).end);
    return until;
}

static void blame_runs(const Blame *blame, const IfmWork *work, IfmTrackUse *use)
{
    Cursor cursor = { G_MAXUINT, 0 };
    gint64 until = work->runs[0].start_ns;
    gint32 done = -1;
    guint number = block_of(&work->runs[0], use->info);
    gint64 entry = MIN(blame->first_entry_ns == G_MAXINT64 ? until : blame->first_entry_ns, until);
    blame_no_work(blame, use, G_MININT64, entry);
    blame_gap(blame, use, (IfmSpan){ entry, until }, number, done, &cursor);
    const IfmEvent *last = &work->runs[0];
    for (gsize i = 0; i < work->n_runs; i++)
    {
        const IfmEvent *run = &work->runs[i];
        number = block_of(run, use->info);
        blame_gap(blame, use, (IfmSpan){ until, run->start_ns }, number, done, &cursor);
        if (ifm_event_end_ns(run) >= until)
            last = run;
        until = MAX(until, ifm_event_end_ns(run));
        done = MAX(done, run->batch);
    }
    number = block_of(last, use->info);
    gint64 none_left = find_done(blame, number, last);
    blame_gap(blame, use, (IfmSpan){ until, none_left }, number, done, &cursor);
    blame_no_work(blame, use, none_left, G_MAXINT64);
}

void ifm_analyse_blame(IfmAnalysing *self)
{
    Blame *blame = self->blame;
    blame->analysing = self;
    make_blocks(blame);
    for (gsize i = 0; i < self->n_works; i++)
    {
        const IfmWork *work = &self->works[i];
        IfmTrackUse *use = &g_array_index(self->analysis->tracks, IfmTrackUse, i);
        if (work->n_runs > 0)
            blame_runs(blame, work, use);
        else /* a device that was never given anything, or a thread of which nobody tells */
            use->idle_by_cause_ns[work->infers ? IFM_IDLE_NO_WORK : IFM_IDLE_UNKNOWN] = use->idle_ns;
    }
}

void ifm_blame_free(IfmBlame *blame)
{
    for (guint i = 0; i < blame->n_blocks; i++)
    {
        g_clear_pointer(&blame->blocks[i].done, g_array_unref);
        g_clear_pointer(&blame->blocks[i].moments, g_array_unref);
        for (int k = 0; k < N_CLASSES; k++)
            g_clear_pointer(&blame->blocks[i].spans[k], g_array_unref);
    }
    g_free(blame->blocks);
    g_free(blame);
}
