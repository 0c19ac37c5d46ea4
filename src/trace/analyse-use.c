#include <math.h>
#include <string.h>

#include "analyse-private.h"

/* What each stream of a device, or each thread of a foreign trace, did of the window, and the gaps in it. */

/* --- whose work ------------------------------------------------------------------------------------------------------- */

static gboolean has_kind(const IfmEvent *events, gsize n, IfmEventKind kind)
{
    for (gsize i = 0; i < n; i++)
        if (events[i].kind == kind)
            return TRUE;
    return FALSE;
}

/* The inferences by start: the track's own array where it holds nothing else and is in order, as recorded tracks do. */
static void find_runs(IfmWork *work, const IfmEvent *events, gsize n)
{
    gboolean as_is = TRUE;
    gsize n_runs = 0;
    for (gsize i = 0; i < n; i++)
    {
        n_runs += events[i].kind == IFM_EVENT_INFER;
        as_is = as_is && events[i].kind == IFM_EVENT_INFER && (i == 0 || events[i].start_ns >= events[i - 1].start_ns);
    }
    work->n_runs = n_runs;
    work->runs = events;
    if (as_is)
        return;
    g_autofree IfmKeyed *order = g_new(IfmKeyed, n_runs);
    gsize kept = 0;
    for (gsize i = 0; i < n; i++)
        if (events[i].kind == IFM_EVENT_INFER)
            order[kept++] = (IfmKeyed){ events[i].start_ns, (guint32)i, 0 };
    ifm_keyed_sort(order, n_runs);
    work->runs = work->owned = g_new(IfmEvent, n_runs);
    for (gsize i = 0; i < n_runs; i++)
        work->owned[i] = events[order[i].a];
}

/* Tracks of the same device of the same process. */
static guint group_of(GHashTable *groups, const IfmTrackInfo *info, gsize track)
{
    g_autofree char *key = info->device != NULL ? g_strdup_printf("%" G_GINT64_FORMAT " %s", info->pid, info->device)
                                                : g_strdup_printf("#%" G_GSIZE_FORMAT, track);
    gpointer known = g_hash_table_lookup(groups, key);
    if (known == NULL)
    {
        known = GUINT_TO_POINTER(g_hash_table_size(groups) + 1);
        g_hash_table_insert(groups, g_steal_pointer(&key), known);
    }
    return GPOINTER_TO_UINT(known) - 1;
}

static void add_works(IfmAnalysing *self, IfmTrackKind kind, GHashTable *groups)
{
    for (gsize track = 0; track < ifm_trace_n_tracks(self->trace); track++)
    {
        const IfmTrackInfo *info = ifm_trace_track_info(self->trace, track);
        gsize n;
        const IfmEvent *events = ifm_trace_events(self->trace, track, &n);
        if (info->kind != kind || (kind == IFM_TRACK_FOREIGN && n == 0))
            continue;
        IfmWork *work = &self->works[self->n_works++];
        *work = (IfmWork){ .track = track, .busy = ifm_spans_new(), .group = group_of(groups, info, track) };
        work->infers = kind == IFM_TRACK_DEVICE && (n == 0 || has_kind(events, n, IFM_EVENT_INFER));
        if (work->infers)
            find_runs(work, events, n);
        IfmTrackUse use = { .info = info };
        g_array_append_val(self->analysis->tracks, use);
    }
}

/* Devices first; where there is none, foreign threads are what counts. */
void ifm_analyse_works(IfmAnalysing *self)
{
    g_autoptr(GHashTable) groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->works = g_new0(IfmWork, ifm_trace_n_tracks(self->trace) + 1);
    add_works(self, IFM_TRACK_DEVICE, groups);
    self->n_counted = self->n_works;
    add_works(self, IFM_TRACK_FOREIGN, groups);
    if (self->n_counted == 0)
        self->n_counted = self->n_works;
    self->analysis->n_devices = self->n_counted;
}

void ifm_works_clear(IfmAnalysing *self)
{
    for (gsize i = 0; i < self->n_works; i++)
    {
        g_array_unref(self->works[i].busy);
        g_free(self->works[i].owned);
    }
    g_free(self->works);
}

/* --- inferences ------------------------------------------------------------------------------------------------------- */

/* Sums over the inferences that reach into the window; of one that its edge cuts, in proportion. */
typedef struct
{
    gint64 wall_ns, known_wall_ns, device_ns;
    gsize n_overlaps;
    gboolean any;
    gint64 until_ns; /* the latest end so far, of all inferences before */
} Sums;

static gint64 share_of(gint64 whole, gint64 part, gint64 of)
{
    return part == of || of <= 0 ? whole : (gint64)((__int128)whole * part / of);
}

static void add_bubble(IfmTrackUse *use, gint64 gap_ns)
{
    gint64 limit_ns = 1000;
    int bin = 0;
    for (; bin + 1 < IFM_BUBBLE_BINS && gap_ns >= limit_ns; bin++)
        limit_ns *= 4;
    use->n_bubbles++;
    use->bubble_sum_ns += gap_ns;
    use->bubble_max_ns = MAX(use->bubble_max_ns, gap_ns);
    use->bubble_bins[bin]++;
}

static void add_run(const IfmAnalysing *self, const IfmEvent *event, GArray *busy, IfmTrackUse *use, Sums *sums)
{
    gint64 start = event->start_ns, end = ifm_event_end_ns(event);
    const IfmSpan *window = &self->window;
    gboolean inside =
        end > start ? start < window->end && end > window->start : start >= window->start && start <= window->end;
    if (!inside)
        return;
    if (sums->any)
    {
        if (start > sums->until_ns)
            add_bubble(use, start - sums->until_ns);
        sums->n_overlaps += start < sums->until_ns && end > start;
    }
    sums->until_ns = sums->any ? MAX(sums->until_ns, end) : end;
    sums->any = TRUE;
    gint64 part = MIN(end, window->end) - MAX(start, window->start);
    use->n_events++;
    sums->wall_ns += part;
    self->analysis->n_failed += event->failed != 0;
    ifm_spans_add(busy, start, end, window);
    if (event->device_ns < 0)
        return;
    use->n_device++;
    sums->known_wall_ns += part;
    sums->device_ns += share_of(event->device_ns, part, end - start);
}

static void conclude_runs(const IfmAnalysing *self, IfmTrackUse *use, const Sums *sums)
{
    double known = (double)sums->known_wall_ns, window = (double)self->window.end - (double)self->window.start;
    use->device_ns = use->n_events > 0 && use->n_device == use->n_events ? sums->device_ns : -1;
    use->bubble_mean_ns = use->n_bubbles > 0 ? (double)use->bubble_sum_ns / (double)use->n_bubbles : NAN;
    if (use->n_device == 0)
        return;
    use->penalty_mean_ns = (double)(sums->known_wall_ns - sums->device_ns) / (double)use->n_device;
    use->penalty_ratio = known > 0 ? (known - (double)sums->device_ns) / known : NAN;
    use->hw_utilisation = use->n_device == use->n_events ? (double)sums->device_ns / window
                          : known > 0                    ? (double)sums->device_ns / known * (double)sums->wall_ns / window
                                                         : NAN;
}

static void use_runs(const IfmAnalysing *self, IfmWork *work, IfmTrackUse *use)
{
    Sums sums = { 0 };
    g_array_unref(work->busy);
    work->busy = g_array_sized_new(FALSE, FALSE, sizeof(IfmSpan), (guint)MIN(work->n_runs, G_MAXUINT / 2));
    for (gsize i = 0; i < work->n_runs; i++)
        add_run(self, &work->runs[i], work->busy, use, &sums);
    conclude_runs(self, use, &sums);
    if (sums.n_overlaps > 0)
    {
        g_autofree char *title = ifm_track_title(use->info);
        ifm_analysis_warn(self->analysis,
                          "%s: %" G_GSIZE_FORMAT " inferences overlap the one before on the same stream: what overlaps is "
                          "counted once, and viewers do not show it",
                          title, sums.n_overlaps);
    }
}

/* --- any slices ------------------------------------------------------------------------------------------------------- */

static int outer_first(const void *a, const void *b)
{
    const IfmEvent *x = *(const IfmEvent *const *)a, *y = *(const IfmEvent *const *)b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->duration_ns < y->duration_ns) - (x->duration_ns > y->duration_ns);
}

/* Slices that contain others hold their time; nobody said why there is nothing between them, so those are bubbles alike. */
static void use_slices(const IfmAnalysing *self, IfmWork *work, IfmTrackUse *use)
{
    gsize n;
    const IfmEvent *events = ifm_trace_events(self->trace, work->track, &n);
    g_autofree const IfmEvent **sorted = g_new(const IfmEvent *, n);
    Sums sums = { 0 };
    gboolean in_order = TRUE;
    for (gsize i = 0; i < n; i++)
    {
        sorted[i] = &events[i];
        in_order = in_order && (i == 0 || outer_first(&sorted[i - 1], &sorted[i]) <= 0);
    }
    if (!in_order)
        qsort(sorted, n, sizeof *sorted, outer_first);
    gint64 until_ns = G_MININT64;
    for (gsize i = 0; i < n; i++)
    {
        gint64 end = ifm_event_end_ns(sorted[i]);
        if (i > 0 && end <= until_ns && sorted[i]->start_ns < until_ns)
        {
            self->analysis->n_failed += sorted[i]->failed != 0 && ifm_window_holds(&self->window, sorted[i]->start_ns, end);
            continue;
        }
        until_ns = MAX(until_ns, end);
        add_run(self, sorted[i], work->busy, use, &sums);
    }
    conclude_runs(self, use, &sums);
}

/* --- nodes ------------------------------------------------------------------------------------------------------------ */

/* Nodes of a subgraph lie within their node: unions, so that nothing counts twice. */
static void use_nodes(const IfmAnalysing *self, const IfmWork *work, IfmTrackUse *use)
{
    g_autoptr(GArray) all = ifm_spans_new();
    g_autoptr(GArray) marshalling = ifm_spans_new();
    g_autoptr(GHashTable) known = g_hash_table_new(g_direct_hash, g_direct_equal);
    gsize n;
    const IfmEvent *events = ifm_trace_events(self->trace, work->track, &n);
    gboolean any = FALSE;
    for (gsize i = 0; i < n; i++)
    {
        const IfmEvent *event = &events[i];
        if (event->kind != IFM_EVENT_NODE)
            continue;
        any = TRUE;
        gpointer key = GUINT_TO_POINTER(event->name), answer;
        if (!g_hash_table_lookup_extended(known, key, NULL, &answer))
        {
            answer = GINT_TO_POINTER(ifm_node_is_marshalling(ifm_trace_text(self->trace, event->name)));
            g_hash_table_insert(known, key, answer);
        }
        ifm_spans_add(all, event->start_ns, ifm_event_end_ns(event), &self->window);
        if (GPOINTER_TO_INT(answer))
            ifm_spans_add(marshalling, event->start_ns, ifm_event_end_ns(event), &self->window);
    }
    ifm_spans_unite(all);
    ifm_spans_unite(marshalling);
    use->node_ns = any ? ifm_spans_total(all) : -1;
    use->marshalling_ns = any ? ifm_spans_total(marshalling) : -1;
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

void ifm_analyse_use(IfmAnalysing *self)
{
    gint64 window_ns = self->analysis->window_ns;
    for (gsize i = 0; i < self->n_works; i++)
    {
        IfmWork *work = &self->works[i];
        IfmTrackUse *use = &g_array_index(self->analysis->tracks, IfmTrackUse, i);
        use->device_ns = use->node_ns = use->marshalling_ns = -1;
        use->hw_utilisation = use->penalty_mean_ns = use->penalty_ratio = NAN;
        if (work->infers)
            use_runs(self, work, use);
        else
            use_slices(self, work, use);
        ifm_spans_unite(work->busy);
        use_nodes(self, work, use);
        use->busy_ns = ifm_spans_total(work->busy);
        use->idle_ns = window_ns - use->busy_ns;
        use->wall_utilisation = (double)use->busy_ns / (double)window_ns;
        if (i < self->n_counted)
        {
            self->analysis->busy_ns += use->busy_ns;
            self->analysis->idle_ns += use->idle_ns;
        }
    }
    double all_ns = (double)self->analysis->busy_ns + (double)self->analysis->idle_ns;
    self->analysis->wall_utilisation = all_ns > 0 ? (double)self->analysis->busy_ns / all_ns : NAN;
}
