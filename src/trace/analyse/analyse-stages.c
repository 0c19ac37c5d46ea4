#include <math.h>
#include <string.h>

#include <base/statistics.h>

#include "analyse-private.h"

/* Batches and the blocks that they go through: latencies, stage totals, the bottleneck. */

/* A batch in the pipeline: its last BATCH event, or (without one) that it was in a block. */
typedef struct
{
    gint64 batch;
    const IfmPart *part; /* NULL: it never left */
} Batch;

/* A batch in a block. @start: G_MININT64: it did not get there. @partitioned: the end of partition. @run: the inference
 * that ended last. Both are G_MININT64 without such events. */
typedef struct
{
    gint64 start, end, partitioned, merge_ns;
    IfmTimeRange run;
    gint64 total_ns, turn_ns;
} Cell;

typedef struct
{
    IfmAnalysing *analysing;
    GArray *batches; /* Batch, ascending by number */
    Cell *cells;     /* [batches x stages] */
    gsize n_stages;
    gint32 *places; /* [n_places] index of batch - first; -1: none; NULL: use a search */
    gint64 first, n_places;
} Stages;

/* --- which batches ---------------------------------------------------------------------------------------------------- */

static void for_each(Stages *stages, const IfmParts *parts, void (*call)(Stages *stages, const IfmPart *part))
{
    for (gsize i = 0; i < parts->n; i++)
        call(stages, &parts->all[i]);
}

/* Keeps one entry for each number. Of batches that left, those that left in the window are kept. A retried batch leaves
 * once: its last event counts. */
static void keep_batches(Stages *stages)
{
    Batch *all = (Batch *)(void *)stages->batches->data;
    guint kept = 0, n = stages->batches->len;
    for (guint i = 0; i < n;)
    {
        Batch batch = { all[i].batch, NULL };
        for (; i < n && all[i].batch == batch.batch; i++)
            if (all[i].part != NULL && (batch.part == NULL || all[i].part->end >= batch.part->end))
                batch.part = all[i].part;
        if (batch.part == NULL || ifm_window_holds(&stages->analysing->window, batch.part->start, batch.part->end))
            all[kept++] = batch;
    }
    g_array_set_size(stages->batches, kept);
}

/* Makes an index of the batches, unless their numbers are far apart. */
static void make_places(Stages *stages)
{
    guint n = stages->batches->len;
    g_clear_pointer(&stages->places, g_free);
    if (n == 0)
        return;
    const Batch *all = (const Batch *)(const void *)stages->batches->data;
    stages->first = all[0].batch;
    gint64 range = all[n - 1].batch - stages->first + 1;
    if (range > 16 * (gint64)n + 1024)
        return;
    stages->n_places = range;
    stages->places = g_new(gint32, range);
    memset(stages->places, 0xff, (gsize)range * sizeof *stages->places);
    for (guint i = 0; i < n; i++)
        stages->places[all[i].batch - stages->first] = (gint32)i;
}

/* The row of a batch; -1: it is not one of the window's. */
static gint64 find_row(const Stages *stages, gint64 batch)
{
    if (stages->places != NULL)
    {
        gint64 place = batch - stages->first;
        return place >= 0 && place < stages->n_places ? stages->places[place] : -1;
    }
    guint low = 0, high = stages->batches->len;
    while (low < high)
    {
        guint middle = low + (high - low) / 2;
        if (g_array_index(stages->batches, Batch, middle).batch < batch)
            low = middle + 1;
        else
            high = middle;
    }
    return low < stages->batches->len && g_array_index(stages->batches, Batch, low).batch == batch ? (gint64)low : -1;
}

/* Adds batches that never left, but were in a block in the window. Returns: whether there are any. */
static gboolean add_unfinished(Stages *stages)
{
    const IfmParts *stays = &stages->analysing->stays;
    g_autoptr(GArray) more = g_array_new(FALSE, FALSE, sizeof(Batch));
    for (gsize i = 0; i < stays->n; i++)
    {
        const IfmPart *part = &stays->all[i];
        Batch batch = { part->batch, NULL };
        if (find_row(stages, part->batch) < 0 && ifm_window_holds(&stages->analysing->window, part->start, part->end))
            g_array_append_val(more, batch);
    }
    g_array_append_vals(stages->batches, more->data, more->len);
    return more->len > 0;
}

static void find_batches(Stages *stages)
{
    G_STATIC_ASSERT(sizeof(Batch) == sizeof(IfmKeyed));
    const IfmParts *batches = &stages->analysing->batches;
    g_array_set_size(stages->batches, (guint)batches->n);
    Batch *all = (Batch *)(void *)stages->batches->data;
    for (gsize i = 0; i < batches->n; i++)
        all[i] = (Batch){ batches->all[i].batch, &batches->all[i] };
    ifm_keyed_sort(all, batches->n);
    make_places(stages);
    gboolean more = add_unfinished(stages);
    if (more)
        ifm_keyed_sort(stages->batches->data, stages->batches->len);
    guint before = (guint)batches->n;
    keep_batches(stages);
    if (more || stages->batches->len != before)
        make_places(stages);
}

/* --- stages ----------------------------------------------------------------------------------------------------------- */

static gint64 find_stage(const Stages *stages, const IfmPart *part)
{
    const GArray *all = stages->analysing->analysis->stages;
    for (guint i = 0; i < all->len; i++)
    {
        const IfmStageUse *stage = &g_array_index(all, IfmStageUse, i);
        if (stage->block == part->block && stage->first == part->first && stage->last == part->last)
            return i;
    }
    return -1;
}

/* A block with the same number and other stages is one of another plan: the run was replanned. */
static void add_stage(Stages *stages, const IfmPart *part)
{
    if (find_row(stages, part->batch) < 0 || part->failed || find_stage(stages, part) >= 0)
        return;
    IfmStageUse stage = { .block = part->block, .first = part->first, .last = part->last };
    if (stages->analysing->analysis->stages->len < G_MAXUINT8) /* a plan has at most as many blocks as stages */
        g_array_append_val(stages->analysing->analysis->stages, stage);
}

static int by_block(const void *a, const void *b)
{
    const IfmStageUse *x = a, *y = b;
    return x->block != y->block ? x->block - y->block : x->first != y->first ? x->first - y->first : x->last - y->last;
}

static void add_total(Stages *stages, const IfmPart *part)
{
    gint64 row = find_row(stages, part->batch), stage = find_stage(stages, part);
    if (row < 0 || stage < 0 || part->failed)
        return;
    Cell *cell = &stages->cells[(gsize)row * stages->n_stages + (gsize)stage];
    if (part->start >= cell->start)
        *cell = (Cell){ part->start, part->end, G_MININT64, 0, { G_MININT64, G_MININT64 }, 0, 0 };
}

/* The cell whose time contains a part of a batch, but not a failed attempt. NULL: there is none. */
static Cell *find_cell(const Stages *stages, gint64 batch, guint block, gint64 start, gint64 end)
{
    gint64 row = find_row(stages, batch);
    for (gsize i = 0; i < stages->n_stages && row >= 0; i++)
    {
        const IfmStageUse *stage = &g_array_index(stages->analysing->analysis->stages, IfmStageUse, i);
        Cell *cell = &stages->cells[(gsize)row * stages->n_stages + i];
        if (stage->block == (int)block && cell->start != G_MININT64 && start >= cell->start && end <= cell->end)
            return cell;
    }
    return NULL;
}

static void add_part(Stages *stages, const IfmPart *part)
{
    Cell *cell = find_cell(stages, part->batch, part->block, part->start, part->end);
    if (cell == NULL)
        return;
    if (part->kind == IFM_EVENT_PARTITION)
        cell->partitioned = MAX(cell->partitioned, part->end);
    else
        cell->merge_ns += part->end - part->start;
}

/* Of inferences that end together the longest counts: nothing waited for the others. */
static void add_runs(Stages *stages, const IfmTrackWork *work)
{
    for (gsize i = 0; i < work->n_runs; i++)
    {
        const IfmRun *run = &work->runs[i];
        Cell *cell =
            run->batch >= 0 && !run->failed ? find_cell(stages, run->batch, run->block, run->start, run->end) : NULL;
        if (cell != NULL && (run->end > cell->run.end || (run->end == cell->run.end && run->start < cell->run.start)))
            cell->run = (IfmTimeRange){ run->start, run->end };
    }
}

typedef struct
{
    gint64 partition_ns, turn_ns, device_ns, merge_ns;
} Parts;

/* The parts of a batch's time in a block, as the pipeline counts them: what a device does before partition ends counts
 * as partition. Without a partition or an inference the wait for the device's turn cannot be told from its work. */
static void add_parts(Parts *sums, Cell *cell)
{
    gboolean has_run = cell->run.end != G_MININT64;
    gint64 partitioned = cell->partitioned != G_MININT64 ? MIN(cell->partitioned, cell->end) : cell->start;
    gint64 completed = MAX(has_run ? cell->run.end : cell->end - cell->merge_ns, partitioned);
    gint64 started =
        has_run && cell->partitioned != G_MININT64 ? CLAMP(cell->run.start, partitioned, completed) : partitioned;
    cell->turn_ns = started - partitioned;
    cell->total_ns = cell->end - cell->start - cell->turn_ns;
    sums->partition_ns += partitioned - cell->start;
    sums->turn_ns += cell->turn_ns;
    sums->device_ns += completed - started;
    sums->merge_ns += cell->end - completed;
}

/* @times: [n] sorted (out)    Returns: (transfer full) the same as doubles, for quantiles. */
static double *sorted_numbers(gint64 *times, gsize n)
{
    double *numbers = g_new(double, n);
    ifm_times_sort(times, n);
    for (gsize i = 0; i < n; i++)
        numbers[i] = (double)times[i];
    return numbers;
}

static void conclude_stage(const Stages *stages, gsize at)
{
    IfmStageUse *stage = &g_array_index(stages->analysing->analysis->stages, IfmStageUse, at);
    g_autofree gint64 *totals = g_new(gint64, stages->batches->len);
    gint64 total_ns = 0;
    Parts sums = { 0, 0, 0, 0 };
    for (guint i = 0; i < stages->batches->len; i++)
    {
        Cell *cell = &stages->cells[i * stages->n_stages + at];
        if (cell->start == G_MININT64)
            continue;
        add_parts(&sums, cell);
        totals[stage->n++] = cell->total_ns;
        total_ns += cell->total_ns;
    }
    double n = (double)stage->n;
    g_autofree double *numbers = sorted_numbers(totals, stage->n);
    stage->mean_ns = (double)total_ns / n;
    stage->partition_ns = (double)sums.partition_ns / n;
    stage->turn_ns = (double)sums.turn_ns / n;
    stage->device_ns = (double)sums.device_ns / n;
    stage->merge_ns = (double)sums.merge_ns / n;
    stage->median_ns = ifm_quantile(numbers, stage->n, 0.5);
    stage->max_ns = numbers[stage->n - 1];
}

static void make_stages(Stages *stages)
{
    GArray *all = stages->analysing->analysis->stages;
    for_each(stages, &stages->analysing->stays, add_stage);
    g_array_sort(all, by_block);
    stages->n_stages = all->len;
    gsize n_cells = stages->batches->len * stages->n_stages;
    stages->cells = g_new(Cell, n_cells);
    for (gsize i = 0; i < n_cells; i++)
        stages->cells[i] = (Cell){ .start = G_MININT64, .total_ns = -1, .turn_ns = -1 };
    for_each(stages, &stages->analysing->stays, add_total);
    for_each(stages, &stages->analysing->host, add_part);
    for (gsize i = 0; i < stages->analysing->n_works; i++)
        add_runs(stages, &stages->analysing->works[i]);
    for (gsize i = 0; i < stages->n_stages; i++)
        conclude_stage(stages, i);
}

/* --- batches ---------------------------------------------------------------------------------------------------------- */

static void percentiles(gint64 *times, gsize n, IfmPercentiles *out)
{
    *out = (IfmPercentiles){ NAN, NAN, NAN, NAN, NAN, NAN };
    if (n == 0)
        return;
    double sum = 0; /* whole ns: exact below 2^53 */
    g_autofree double *values = sorted_numbers(times, n);
    for (gsize i = 0; i < n; i++)
        sum += values[i];
    *out = (IfmPercentiles){ .p50_ns = ifm_quantile(values, n, 0.5),
                             .p90_ns = ifm_quantile(values, n, 0.9),
                             .p95_ns = ifm_quantile(values, n, 0.95),
                             .p99_ns = ifm_quantile(values, n, 0.99),
                             .max_ns = values[n - 1],
                             .mean_ns = sum / (double)n };
}

/* Writes the stages' times of one batch into the table. Returns: the longest; -1 if it got to no stage. */
static gint64 add_row(const Stages *stages, guint row)
{
    IfmTraceAnalysis *analysis = stages->analysing->analysis;
    const Cell *cells = &stages->cells[row * stages->n_stages];
    gint64 longest = -1, *table = &g_array_index(analysis->batch_stage_ns, gint64, row * stages->n_stages);
    gint64 *turns = &g_array_index(analysis->batch_turn_ns, gint64, row * stages->n_stages);
    gsize at = 0;
    for (gsize i = 0; i < stages->n_stages; i++)
    {
        table[i] = cells[i].total_ns;
        turns[i] = cells[i].turn_ns;
        if (cells[i].total_ns > longest)
        {
            longest = cells[i].total_ns;
            at = i;
        }
    }
    if (longest >= 0)
        g_array_index(analysis->stages, IfmStageUse, at).n_bottleneck++;
    return longest;
}

static void conclude_batches(Stages *stages)
{
    IfmTraceAnalysis *analysis = stages->analysing->analysis;
    guint n = stages->batches->len;
    g_autofree gint64 *latencies = g_new(gint64, n), *cycles = g_new(gint64, n);
    gsize n_left = 0, n_cycles = 0;
    g_array_set_size(analysis->batch_ids, n);
    g_array_set_size(analysis->batch_stage_ns, n * (guint)stages->n_stages);
    g_array_set_size(analysis->batch_turn_ns, n * (guint)stages->n_stages);
    gint64 first_ns = G_MAXINT64, last_ns = G_MININT64;
    for (guint i = 0; i < n; i++)
    {
        const Batch *batch = &g_array_index(stages->batches, Batch, i);
        g_array_index(analysis->batch_ids, gint32, i) = (gint32)batch->batch;
        gint64 longest = add_row(stages, i);
        if (longest >= 0)
            cycles[n_cycles++] = longest;
        if (batch->part == NULL)
            continue;
        first_ns = MIN(first_ns, batch->part->start);
        last_ns = MAX(last_ns, batch->part->end);
        if (batch->part->failed)
            analysis->n_failed_batches++;
        else
            latencies[n_left++] = batch->part->end - batch->part->start;
    }
    analysis->n_batches = n;
    analysis->n_left = n_left;
    analysis->makespan_ns = first_ns < last_ns ? last_ns - first_ns : -1;
    analysis->throughput_per_s = n_left > 0 ? (double)n_left * 1e9 / (double)analysis->window_ns : NAN;
    percentiles(latencies, n_left, &analysis->latency);
    percentiles(cycles, n_cycles, &analysis->cycle);
}

/* The stage that is the longest for most batches; of two with equal counts the longer one on average. */
static void find_bottleneck(IfmTraceAnalysis *analysis)
{
    const IfmStageUse *found = NULL;
    for (guint i = 0; i < analysis->stages->len; i++)
    {
        const IfmStageUse *stage = &g_array_index(analysis->stages, IfmStageUse, i);
        if (found == NULL || stage->n_bottleneck > found->n_bottleneck ||
            (stage->n_bottleneck == found->n_bottleneck && stage->mean_ns > found->mean_ns))
            found = stage;
    }
    analysis->bottleneck_block = found != NULL ? found->block : 0;
}

void ifm_analyse_stages(IfmAnalysing *self)
{
    Stages stages = { .analysing = self, .batches = g_array_new(FALSE, FALSE, sizeof(Batch)) };
    find_batches(&stages);
    make_stages(&stages);
    conclude_batches(&stages);
    find_bottleneck(self->analysis);
    g_array_unref(stages.batches);
    g_free(stages.cells);
    g_free(stages.places);
}
