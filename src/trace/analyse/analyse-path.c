#include <stdlib.h>

#include "analyse-private.h"

/*
 * The critical path of a batch, traced back from its end. What ended last before a moment held the batch up until then;
 * its start is the next moment. What ran at the same time and ended sooner held nothing up: the other devices'
 * inferences of a block, on which this one's do not wait, and anything that was over before. Before an inference comes
 * what its own device waited for: the partition, and other batches' inferences on that device. If no event shows a
 * cause, the batch was handed over: a step of kind BLOCK within a block, OTHER outside.
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

/* Of the batches that left: the lower median; of equal latencies in the order of their numbers. */
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
    const IfmAnalysing *analysing;
    gint32 batch;
    gint64 start, at;            /* the batch's entry; how far back the steps reach */
    const IfmEvent *run;         /* the last inference on the path so far; NULL: none */
    gint64 stay_start;           /* the start of the block event that contains it */
    gboolean at_run;             /* between it and @at there is only its wait */
    const IfmEvent *partitioned; /* the partition that was in progress when an inference of the batch began; NULL: none */
} Path;

/* Sorts the last to end first. Of events that end together the longest comes first: nothing waited for the others. */
static int last_first(const void *a, const void *b)
{
    const IfmEvent *x = *(const IfmEvent *const *)a, *y = *(const IfmEvent *const *)b;
    gint64 x_end = ifm_event_end_ns(x), y_end = ifm_event_end_ns(y);
    if (x_end != y_end)
        return x_end > y_end ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? 1 : -1;
    return (int)y->kind - (int)x->kind; /* a copy is more specific than the partition that contains it */
}

static void gather(Path *path, const IfmAnalysing *self, const IfmPart *whole)
{
    for (guint k = 0; k < self->stretches->len; k++)
    {
        const IfmStretch *stretch = &g_array_index(self->stretches, IfmStretch, k);
        gsize n;
        const IfmEvent *events = ifm_trace_events(self->trace, stretch->track, &n);
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

static guint block_of(const Path *path, const IfmEvent *event)
{
    int block = event->block != 0 ? event->block : ifm_trace_track_info(path->analysing->trace, event->track)->block;
    return (guint)MAX(block, 0);
}

/* From @start to where the path has got to. @event: NULL: of kind OTHER. Returns: the step; NULL if it would be
 * empty. */
static IfmPathStep *add_step(Path *path, const IfmEvent *event, gint64 start)
{
    IfmPathStep step = { .kind = event != NULL ? (IfmEventKind)event->kind : IFM_EVENT_OTHER,
                         .track = event != NULL ? event->track : 0,
                         .block = event != NULL ? (int)block_of(path, event) : 0,
                         .start_ns = start,
                         .duration_ns = path->at - start,
                         .batch = path->batch };
    if (start >= path->at)
        return NULL;
    g_array_append_val(path->steps, step);
    path->at = start;
    return &g_array_index(path->steps, IfmPathStep, path->steps->len - 1);
}

/* --- the wait for a device -------------------------------------------------------------------------------------------- */

static const IfmTrackWork *work_of(const IfmAnalysing *self, guint32 track)
{
    for (gsize i = 0; i < self->n_works; i++)
        if (self->works[i].track == track)
            return &self->works[i];
    return NULL;
}

/* The index of the first inference of a device that begins at @t or later. */
static gsize runs_before(const IfmTrackWork *work, gint64 t)
{
    gsize low = 0, high = work->n_runs;
    while (low < high)
    {
        gsize middle = low + (high - low) / 2;
        if (work->runs[middle].start < t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Back to @start within a block, before an inference on a device. While the device had other batches, the batch waited
 * for its turn: one step for each of them. */
static void add_turns(Path *path, const IfmEvent *block, gint64 start)
{
    gboolean waits = path->at_run && block_of(path, block) == block_of(path, path->run);
    const IfmTrackWork *work = waits ? work_of(path->analysing, path->run->track) : NULL;
    for (gsize i = work != NULL ? runs_before(work, path->at) : 0; i-- > 0 && work->runs[i].end > start;)
    {
        const IfmRun *other = &work->runs[i];
        if (other->batch == path->batch)
            continue;
        add_step(path, block, MIN(other->end, path->at));
        IfmPathStep *step = add_step(path, block, MAX(other->start, start));
        if (step == NULL)
            continue;
        step->turn = TRUE;
        step->track = path->run->track;
        step->batch = other->batch;
    }
    add_step(path, block, start);
}

/* --- tracing back ----------------------------------------------------------------------------------------------------- */

/* Back to @start over time in which nothing ended: a partition in progress, else steps between the ends of the blocks
 * that the batch was in. */
static void add_gap(Path *path, gint64 start)
{
    if (path->partitioned != NULL && path->partitioned->start_ns < path->at &&
        add_step(path, path->partitioned, MAX(path->partitioned->start_ns, start)) != NULL)
        path->at_run = FALSE;
    for (guint i = 0; i < path->blocks->len && path->at > start; i++)
    {
        const IfmEvent *block = path->blocks->pdata[i];
        if (ifm_event_end_ns(block) <= start)
            break;
        if (block->start_ns >= path->at)
            continue;
        add_step(path, NULL, MIN(ifm_event_end_ns(block), path->at));
        add_turns(path, block, MAX(block->start_ns, start));
    }
    add_step(path, NULL, start);
}

/* Whether an inference ran together with the last one on the path: of the same block and the same attempt. */
static gboolean is_partner(const Path *path, const IfmEvent *event)
{
    return event->kind == IFM_EVENT_INFER && path->run != NULL && event->track != path->run->track &&
           block_of(path, event) == block_of(path, path->run) && event->start_ns >= path->stay_start;
}

static void set_run(Path *path, const IfmEvent *run)
{
    path->run = run;
    path->stay_start = G_MININT64;
    for (guint i = 0; i < path->blocks->len; i++)
    {
        const IfmEvent *block = path->blocks->pdata[i];
        if (block_of(path, block) == block_of(path, run) && block->start_ns <= run->start_ns &&
            ifm_event_end_ns(block) >= ifm_event_end_ns(run))
            path->stay_start = MAX(path->stay_start, block->start_ns);
    }
}

static void trace_back(Path *path)
{
    for (guint i = 0; i < path->holds->len && path->at > path->start; i++)
    {
        const IfmEvent *event = path->holds->pdata[i];
        gint64 end = ifm_event_end_ns(event);
        if (end <= path->start)
            break;
        if (end > path->at && event->kind == IFM_EVENT_PARTITION && event->start_ns < path->at)
            path->partitioned = event;
        if (end > path->at || is_partner(path, event))
            continue;
        add_gap(path, end);
        add_step(path, event, MAX(event->start_ns, path->start));
        path->at_run = event->kind == IFM_EVENT_INFER;
        if (path->at_run)
            set_run(path, event);
    }
    add_gap(path, path->start);
}

void ifm_analyse_path(IfmAnalysing *self, gint32 batch)
{
    const IfmPart *whole = batch >= 0 ? find_batch(self, batch) : find_median(self);
    self->analysis->critical_batch = whole != NULL ? whole->batch : -1;
    if (whole == NULL)
        return;
    Path path = { .holds = g_ptr_array_new(),
                  .blocks = g_ptr_array_new(),
                  .steps = g_array_new(FALSE, FALSE, sizeof(IfmPathStep)),
                  .analysing = self,
                  .batch = whole->batch,
                  .start = whole->start,
                  .at = whole->end };
    gather(&path, self, whole);
    trace_back(&path);
    for (guint i = path.steps->len; i-- > 0;)
        g_array_append_val(self->analysis->critical_path, g_array_index(path.steps, IfmPathStep, i));
    g_ptr_array_unref(path.holds);
    g_ptr_array_unref(path.blocks);
    g_array_unref(path.steps);
}
