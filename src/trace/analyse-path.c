#include <stdlib.h>

#include "analyse-private.h"

/*
 * The critical path of a batch, backwards from its leaving: what ended last before a moment is what the batch was held by
 * until then, and its start is the next moment. What ran beside it and ended sooner held nothing up. Where nothing ended at
 * the moment, the batch was handed over, or waited for the device that had another batch: a step of kind BLOCK within a
 * block; OTHER outside.
 */

#define HOLDS                                                                                                              \
    (1u << IFM_EVENT_QUEUE | 1u << IFM_EVENT_PARTITION | 1u << IFM_EVENT_COPY | 1u << IFM_EVENT_INFER |                    \
     1u << IFM_EVENT_MERGE | 1u << IFM_EVENT_WAIT_OUTPUT)

/* --- which batch ------------------------------------------------------------------------------------------------------ */

static const IfmPart *find_batch(const IfmAnalysing *self, gint32 batch)
{
    const IfmPart *found = NULL;
    for (gsize i = 0; i < self->batches.n; i++)
    {
        const IfmPart *part = &self->batches.all[i];
        if (part->batch == batch && ifm_window_holds(&self->window, part->start, part->end))
            found = part;
    }
    return found;
}

static gboolean has_left(const IfmAnalysing *self, const IfmPart *part)
{
    return !part->failed && ifm_window_holds(&self->window, part->start, part->end);
}

static int by_batch(const void *a, const void *b)
{
    const IfmPart *x = *(const IfmPart *const *)a, *y = *(const IfmPart *const *)b;
    return (x->batch > y->batch) - (x->batch < y->batch);
}

/* Of those that left: the lower median; of equal latencies in the order of their numbers. */
static const IfmPart *find_median(const IfmAnalysing *self)
{
    g_autofree gint64 *times = g_new(gint64, self->batches.n);
    g_autoptr(GPtrArray) equal = g_ptr_array_new();
    gsize n = 0, before = 0;
    for (gsize i = 0; i < self->batches.n; i++)
        if (has_left(self, &self->batches.all[i]))
            times[n++] = self->batches.all[i].end - self->batches.all[i].start;
    if (n == 0)
        return NULL;
    ifm_times_sort(times, n);
    gint64 median = times[(n - 1) / 2];
    while (times[before] < median)
        before++;
    for (gsize i = 0; i < self->batches.n; i++)
        if (self->batches.all[i].end - self->batches.all[i].start == median && has_left(self, &self->batches.all[i]))
            g_ptr_array_add(equal, &self->batches.all[i]);
    qsort(equal->pdata, equal->len, sizeof *equal->pdata, by_batch);
    return equal->pdata[(n - 1) / 2 - before];
}

/* --- its path --------------------------------------------------------------------------------------------------------- */

typedef struct
{
    GPtrArray *holds;  /* const IfmEvent*, the last to end first */
    GPtrArray *blocks; /* const IfmEvent* */
    GArray *steps;     /* IfmPathStep, the last first */
    const IfmTrace *trace;
    const IfmAnalysing *analysing;
} Path;

/* The last to end first; of those that end together the longest, as the others were waited for by nobody. */
static int last_first(const void *a, const void *b)
{
    const IfmEvent *x = *(const IfmEvent *const *)a, *y = *(const IfmEvent *const *)b;
    gint64 x_end = ifm_event_end_ns(x), y_end = ifm_event_end_ns(y);
    if (x_end != y_end)
        return x_end > y_end ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? 1 : -1;
    return (int)y->kind - (int)x->kind; /* a copy says more than the partition that it fills */
}

static void gather(Path *path, const IfmAnalysing *self, const IfmPart *whole)
{
    for (guint k = 0; k < self->stretches->len; k++)
    {
        const IfmStretch *stretch = &g_array_index(self->stretches, IfmStretch, k);
        gsize n;
        const IfmEvent *events = ifm_trace_events(path->trace, stretch->track, &n);
        if (stretch->span.start >= whole->end || stretch->span.end <= whole->start)
            continue;
        for (gsize i = stretch->first; i < MIN(n, stretch->first + IFM_STRETCH_EVENTS); i++)
        {
            const IfmEvent *event = &events[i];
            if (event->batch != whole->batch || event->duration_ns <= 0)
                continue;
            if ((HOLDS >> (event->kind & 31) & 1) != 0)
                g_ptr_array_add(path->holds, (void *)event);
            else if (event->kind == IFM_EVENT_BLOCK)
                g_ptr_array_add(path->blocks, (void *)event);
        }
    }
    qsort(path->holds->pdata, path->holds->len, sizeof *path->holds->pdata, last_first);
    qsort(path->blocks->pdata, path->blocks->len, sizeof *path->blocks->pdata, last_first);
}

static void add_step(Path *path, const IfmEvent *event, IfmEventKind kind, gint64 start, gint64 end)
{
    IfmPathStep step = {
        kind, event != NULL ? event->track : 0, event != NULL ? event->block : 0, start, end - start, FALSE
    };
    if (event != NULL && step.block == 0)
        step.block = ifm_trace_track_info(path->trace, event->track)->block;
    if (start < end)
        g_array_append_val(path->steps, step);
}

/* Whether a device had another batch before the inference that a path has got to, but after @since. */
static gboolean had_another(const Path *path, const IfmEvent *run, gint64 since)
{
    const IfmWork *works = path->analysing->works;
    for (gsize i = 0; i < path->analysing->n_works; i++)
        for (gsize k = 0; works[i].track == run->track && k < works[i].n_runs && works[i].runs[k].start < run->start_ns;
             k++)
            if (works[i].runs[k].end > since && works[i].runs[k].batch != run->batch)
                return TRUE;
    return FALSE;
}

/* The wait for the device's turn lies right before its inference, in the same block. @run: NULL: the path is at none. */
static void add_stay(Path *path, const IfmEvent *block, const IfmEvent *run, gint64 start, gint64 end)
{
    guint before = path->steps->len;
    add_step(path, block, IFM_EVENT_BLOCK, start, end);
    if (path->steps->len == before || run == NULL || run->start_ns != end || !had_another(path, run, start))
        return;
    IfmPathStep *step = &g_array_index(path->steps, IfmPathStep, before);
    step->turn = TRUE;
    step->track = run->track;
}

/* What nothing recorded fills: parted at the ends of the blocks that the batch was in. */
static void add_gap(Path *path, const IfmEvent *run, gint64 start, gint64 end)
{
    for (guint i = 0; i < path->blocks->len && end > start; i++)
    {
        const IfmEvent *block = path->blocks->pdata[i];
        if (ifm_event_end_ns(block) <= start)
            break;
        if (block->start_ns >= end)
            continue;
        gint64 block_end = MIN(ifm_event_end_ns(block), end), block_start = MAX(block->start_ns, start);
        add_step(path, NULL, IFM_EVENT_OTHER, block_end, end);
        add_stay(path, block, run, block_start, block_end);
        end = block_start;
    }
    add_step(path, NULL, IFM_EVENT_OTHER, start, end);
}

static void trace_back(Path *path, gint64 start, gint64 end)
{
    const IfmEvent *run = NULL;
    for (guint i = 0; i < path->holds->len && end > start; i++)
    {
        const IfmEvent *event = path->holds->pdata[i];
        gint64 event_end = ifm_event_end_ns(event), event_start = MAX(event->start_ns, start);
        if (event_end > end || event_end <= start)
            continue;
        add_gap(path, run, event_end, end);
        add_step(path, event, event->kind, event_start, event_end);
        run = event->kind == IFM_EVENT_INFER ? event : NULL;
        end = event_start;
    }
    add_gap(path, run, start, end);
}

void ifm_analyse_path(IfmAnalysing *self, gint32 batch)
{
    const IfmPart *whole = batch >= 0 ? find_batch(self, batch) : find_median(self);
    self->analysis->critical_batch = whole != NULL ? whole->batch : -1;
    if (whole == NULL)
        return;
    Path path = { g_ptr_array_new(), g_ptr_array_new(), g_array_new(FALSE, FALSE, sizeof(IfmPathStep)), self->trace, self };
    gather(&path, self, whole);
    trace_back(&path, whole->start, whole->end);
    for (guint i = path.steps->len; i-- > 0;)
        g_array_append_val(self->analysis->critical_path, g_array_index(path.steps, IfmPathStep, i));
    g_ptr_array_unref(path.holds);
    g_ptr_array_unref(path.blocks);
    g_array_unref(path.steps);
}
