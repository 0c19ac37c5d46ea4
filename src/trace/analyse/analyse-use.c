#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse-private.h"

/* What each stream of a device, or each thread of a foreign trace, did of the window, and the gaps in it. */

/* --- inferences ------------------------------------------------------------------------------------------------------- */

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

void ifm_use_add_run(const IfmTimeRange *window, const IfmEvent *event, IfmTrackWork *work, IfmTrackUse *use,
                     gsize expected)
{
    gint64 start = event->start_ns, end = ifm_event_end_ns(event);
    IfmSums *sums = &work->sums;
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
    sums->n_failed += event->failed != 0;
    ifm_spans_add(&work->busy, start, end, window, expected);
    if (event->device_ns < 0)
        return;
    if (use->n_device == 0 || sums->same_device_ns != event->device_ns)
        sums->same_device_ns = use->n_device == 0 ? event->device_ns : -1;
    sums->beyond_wall = sums->beyond_wall || event->device_ns > end - start;
    use->n_device++;
    sums->known_wall_ns += part;
    const gboolean whole = part == end - start || end <= start;
    sums->device_ns += whole ? event->device_ns : (gint64)((__int128)event->device_ns * part / (end - start));
}

/* A mean that was given to every inference is nobody's time: it is the same to the ns, and beyond what the shorter ones
 * took. @use: then it has no device times. */
static void drop_mean(const IfmAnalysing *self, IfmTrackUse *use, const IfmSums *sums)
{
    if (use->n_device < 3 || sums->same_device_ns < 0 || !sums->beyond_wall)
        return;
    g_autofree char *title = ifm_track_title(use->info);
    g_autofree char *time = ifm_format_duration((double)sums->same_device_ns);
    g_ptr_array_add(self->analysis->warnings,
                    g_strdup_printf("%s: all %zu device times are %s, some beyond what the inference took: that is their "
                                    "mean, not the time of each, and not used",
                                    title, use->n_device, time));
    use->n_device = 0;
}

static void warn_of_left_out(const IfmAnalysing *self)
{
    const json_t *meta = ifm_trace_meta(self->trace);
    gint64 n = json_integer_value(json_object_get(meta, "device_time_left_out"));
    if (n > 0)
        g_ptr_array_add(self->analysis->warnings,
                        g_strdup_printf("%" G_GINT64_FORMAT
                                        " inferences were counted but have no device time: the runtime reports means in "
                                        "whole microseconds, too coarse for them",
                                        n));
}

static void conclude_runs(const IfmAnalysing *self, IfmTrackUse *use, const IfmSums *sums)
{
    double known = (double)sums->known_wall_ns, window = (double)self->window.end - (double)self->window.start;
    self->analysis->n_failed += sums->n_failed;
    drop_mean(self, use, sums);
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

static void warn_of_overlaps(const IfmAnalysing *self, const IfmTrackWork *work, const IfmTrackUse *use)
{
    if (!work->infers || work->has_kernels || work->sums.n_overlaps == 0)
        return;
    g_autofree char *title = ifm_track_title(use->info);
    g_ptr_array_add(self->analysis->warnings,
                    g_strdup_printf("%s: %zu inferences overlap the one before on the same stream: what overlaps is "
                                    "counted once, and viewers do not show it",
                                    title, work->sums.n_overlaps));
}

/* --- slices of foreign threads ---------------------------------------------------------------------------------------- */

static int outer_first(gconstpointer a, gconstpointer b)
{
    return ifm_event_order(*(const IfmEvent *const *)a, *(const IfmEvent *const *)b);
}

GPtrArray *ifm_events_sorted(const IfmTrace *trace, gsize track, guint kinds, GCompareFunc compare)
{
    GPtrArray *sorted = g_ptr_array_new();
    gboolean in_order = TRUE;
    gsize n;
    const IfmEvent *events = ifm_trace_events(trace, track, &n);
    for (gsize i = 0; i < n; i++)
    {
        if ((kinds >> events[i].kind & 1) == 0)
            continue;
        g_ptr_array_add(sorted, (gpointer)&events[i]);
        gpointer *last = &sorted->pdata[sorted->len - 1];
        in_order = in_order && (sorted->len < 2 || compare(last - 1, last) <= 0);
    }
    if (!in_order)
        g_ptr_array_sort(sorted, compare);
    return sorted;
}

/* Slices whose times were rounded to us may overlap by this much. */
#define ROUNDING_NS 1000

static void warn_of_crossings(const IfmAnalysing *self, const IfmTrackUse *use, gsize n_crossings)
{
    g_autofree char *title = ifm_track_title(use->info);
    if (n_crossings > 0 && !g_str_has_suffix(title, " (asynchronous)"))
        g_ptr_array_add(self->analysis->warnings,
                        g_strdup_printf("%s: %zu slices begin within another and end after it: slices of one thread nest; "
                                        "what overlaps is counted once",
                                        title, n_crossings));
}

/* Slices that contain others include their time. The cause of a gap between slices is unknown: all gaps count as
 * bubbles. */
static void use_slices(const IfmAnalysing *self, IfmTrackWork *work, IfmTrackUse *use)
{
    g_autoptr(GPtrArray) slices = ifm_events_sorted(self->trace, work->track, ~(1u << IFM_EVENT_SPAN), outer_first);
    gint64 until_ns = G_MININT64;
    gsize n_crossings = 0;
    for (guint i = 0; i < slices->len; i++)
    {
        const IfmEvent *slice = slices->pdata[i];
        gint64 end = ifm_event_end_ns(slice);
        if (i > 0 && end <= until_ns && slice->start_ns < until_ns)
        {
            self->analysis->n_failed += slice->failed != 0 && ifm_window_holds(&self->window, slice->start_ns, end);
            continue;
        }
        n_crossings += i > 0 && until_ns > slice->start_ns && until_ns - slice->start_ns > ROUNDING_NS;
        until_ns = MAX(until_ns, end);
        ifm_use_add_run(&self->window, slice, work, use, slices->len);
    }
    warn_of_crossings(self, use, n_crossings);
}

/* Calls of a device's runtime: they lie within the operators that make them. */
static void use_launches(const IfmAnalysing *self, const IfmTrackWork *work, IfmTrackUse *use)
{
    IfmSpans all = { 0 };
    gsize n;
    const IfmEvent *events = ifm_trace_events(self->trace, work->track, &n);
    for (gsize i = 0; i < n; i++)
    {
        if (events[i].kind != IFM_EVENT_LAUNCH)
            continue;
        use->n_launches += ifm_window_holds(&self->window, events[i].start_ns, ifm_event_end_ns(&events[i]));
        ifm_spans_add(&all, events[i].start_ns, ifm_event_end_ns(&events[i]), &self->window, n);
    }
    ifm_spans_unite(&all);
    use->launch_ns = ifm_spans_total(&all);
    ifm_spans_clear(&all);
}

/* --- nodes ------------------------------------------------------------------------------------------------------------ */

/* The types are those of the nodes that OpenVINO and ONNX Runtime insert to move or convert data. A Cast of the model
 * itself is computing. A Cast that ONNX Runtime inserts has a name that begins with the prefix below. */
gboolean ifm_node_is_marshalling(const char *name)
{
    static const char *const types[] = {
        "Reorder",     "ReorderInput", "ReorderOutput", "MemcpyFromHost", "MemcpyToHost", "Memcpy", "Convert",
        "ConvertLike", "Input",        "Output",        "Parameter",      "Result",       "Copy",   "Transfer",
    };
    gsize length = strcspn(name, " ");
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (strlen(types[i]) == length && memcmp(name, types[i], length) == 0)
            return TRUE;
    return g_str_has_prefix(name, "Cast InsertedPrecisionFreeCast_");
}

/* Nodes of a subgraph lie within their node: spans are united, so that nothing counts twice. */
static void use_nodes(const IfmAnalysing *self, const IfmTrackWork *work, IfmTrackUse *use)
{
    IfmSpans all = { 0 }, marshalling = { 0 };
    g_autoptr(GHashTable) known = g_hash_table_new(g_direct_hash, g_direct_equal);
    gsize n;
    const IfmEvent *events = ifm_trace_events(self->trace, work->track, &n);
    for (gsize i = 0; i < n; i++)
    {
        const IfmEvent *event = &events[i];
        if (event->kind != IFM_EVENT_NODE)
            continue;
        gpointer key = GUINT_TO_POINTER(event->name), answer;
        if (!g_hash_table_lookup_extended(known, key, NULL, &answer))
        {
            answer = GINT_TO_POINTER(ifm_node_is_marshalling(ifm_trace_text(self->trace, event->name)));
            g_hash_table_insert(known, key, answer);
        }
        ifm_spans_add(&all, event->start_ns, ifm_event_end_ns(event), &self->window, n);
        if (GPOINTER_TO_INT(answer))
            ifm_spans_add(&marshalling, event->start_ns, ifm_event_end_ns(event), &self->window, 16);
    }
    ifm_spans_unite(&all);
    ifm_spans_unite(&marshalling);
    use->node_ns = ifm_spans_total(&all);
    use->marshalling_ns = ifm_spans_total(&marshalling);
    ifm_spans_clear(&all);
    ifm_spans_clear(&marshalling);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

void ifm_analyse_use(IfmAnalysing *self)
{
    gint64 window_ns = self->analysis->window_ns;
    for (gsize i = 0; i < self->n_works; i++)
    {
        IfmTrackWork *work = &self->works[i];
        IfmTrackUse *use = &g_array_index(self->analysis->tracks, IfmTrackUse, i);
        use->device_ns = use->node_ns = use->marshalling_ns = -1;
        use->hw_utilisation = use->penalty_mean_ns = use->penalty_ratio = use->delay_mean_ns = NAN;
        if (work->has_kernels)
            ifm_use_kernels(self, work, use);
        else if (!work->infers)
        {
            use_slices(self, work, use);
            use_launches(self, work, use);
        }
        conclude_runs(self, use, &work->sums);
        warn_of_overlaps(self, work, use);
        ifm_spans_unite(&work->busy);
        if (work->has_nodes)
            use_nodes(self, work, use);
        use->busy_ns = ifm_spans_total(&work->busy);
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
    warn_of_left_out(self);
}
