/* The figures of two analysed traces beside each other. */
#include <math.h>

#include "trace-private.h"

/* --- rows ------------------------------------------------------------------------------------------------------------- */

static void difference_free(IfmTraceDifference *row)
{
    g_free(row->key);
    g_free(row);
}

/* Adds a row unless both traces lack the figure. */
static void add(GPtrArray *rows, const char *whose, const char *what, const char *unit, double a, double b)
{
    if (!isfinite(a) && !isfinite(b))
        return;
    IfmTraceDifference *row = g_new0(IfmTraceDifference, 1);
    row->key = *whose != '\0' ? g_strdup_printf("%s %s", whose, what) : g_strdup(what);
    row->unit = unit;
    row->a = a;
    row->b = b;
    row->ratio = isfinite(a) && isfinite(b) && a != 0 ? b / a : NAN;
    g_ptr_array_add(rows, row);
}

static double known(gint64 ns)
{
    return ns >= 0 ? (double)ns : NAN;
}

static void add_percentiles(GPtrArray *rows, const char *whose, const IfmPercentiles *a, const IfmPercentiles *b)
{
    add(rows, whose, "median", "ns", a->p50_ns, b->p50_ns);
    add(rows, whose, "p90", "ns", a->p90_ns, b->p90_ns);
    add(rows, whose, "p95", "ns", a->p95_ns, b->p95_ns);
    add(rows, whose, "p99", "ns", a->p99_ns, b->p99_ns);
    add(rows, whose, "max", "ns", a->max_ns, b->max_ns);
    add(rows, whose, "mean", "ns", a->mean_ns, b->mean_ns);
}

/* --- matching tracks and blocks --------------------------------------------------------------------------------------- */

static const IfmTrackUse *find_track(const IfmTraceAnalysis *analysis, const IfmTrackInfo *like)
{
    for (guint i = 0; i < analysis->tracks->len; i++)
    {
        const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, i);
        if (like->device == NULL ? use->info->device == NULL && g_strcmp0(use->info->thread, like->thread) == 0
                                 : g_strcmp0(use->info->device, like->device) == 0 && use->info->stream == like->stream)
            return use;
    }
    return NULL;
}

static const IfmStageUse *find_stage(const IfmTraceAnalysis *analysis, const IfmStageUse *like)
{
    for (guint i = 0; i < analysis->stages->len; i++)
        if (g_array_index(analysis->stages, IfmStageUse, i).block == like->block)
            return &g_array_index(analysis->stages, IfmStageUse, i);
    return NULL;
}

static void add_track(GPtrArray *rows, const IfmTrackUse *a, const IfmTrackUse *b)
{
    static const IfmTrackUse none = { .busy_ns = -1,
                                      .idle_ns = -1,
                                      .device_ns = -1,
                                      .wall_utilisation = NAN,
                                      .hw_utilisation = NAN,
                                      .bubble_mean_ns = NAN,
                                      .penalty_mean_ns = NAN,
                                      .penalty_ratio = NAN,
                                      .bubble_max_ns = -1,
                                      .bubble_sum_ns = -1,
                                      .idle_others_busy_ns = -1,
                                      .idle_alone_ns = -1,
                                      .node_ns = -1,
                                      .marshalling_ns = -1 };
    g_autofree char *whose = ifm_track_title(a != NULL ? a->info : b->info);
    const IfmTrackUse *x = a != NULL ? a : &none, *y = b != NULL ? b : &none;
    add(rows, whose, "wall utilisation", "ratio", x->wall_utilisation, y->wall_utilisation);
    add(rows, whose, "hardware utilisation", "ratio", x->hw_utilisation, y->hw_utilisation);
    add(rows, whose, "busy", "ns", known(x->busy_ns), known(y->busy_ns));
    add(rows, whose, "idle", "ns", known(x->idle_ns), known(y->idle_ns));
    for (int i = 0; i < IFM_N_IDLE_CAUSES; i++)
    {
        g_autofree char *what = g_strdup_printf("idle %s", ifm_idle_cause_name(i));
        if (x->idle_by_cause_ns[i] != 0 || y->idle_by_cause_ns[i] != 0)
            add(rows, whose, what, "ns", a != NULL ? (double)x->idle_by_cause_ns[i] : NAN,
                b != NULL ? (double)y->idle_by_cause_ns[i] : NAN);
    }
    add(rows, whose, "idle while others work", "ns", known(x->idle_others_busy_ns), known(y->idle_others_busy_ns));
    add(rows, whose, "idle while others are idle", "ns", known(x->idle_alone_ns), known(y->idle_alone_ns));
    add(rows, whose, "mean bubble", "ns", x->bubble_mean_ns, y->bubble_mean_ns);
    add(rows, whose, "mean penalty", "ns", x->penalty_mean_ns, y->penalty_mean_ns);
    add(rows, whose, "marshalling", "ns", known(x->marshalling_ns), known(y->marshalling_ns));
}

static void add_stage(GPtrArray *rows, const IfmStageUse *a, const IfmStageUse *b)
{
    static const IfmStageUse none = {
        .mean_ns = NAN, .partition_ns = NAN, .device_ns = NAN, .merge_ns = NAN, .turn_ns = NAN
    };
    g_autofree char *whose = g_strdup_printf("block %d", a != NULL ? a->block : b->block);
    const IfmStageUse *x = a != NULL ? a : &none, *y = b != NULL ? b : &none;
    add(rows, whose, "total", "ns", x->mean_ns, y->mean_ns);
    add(rows, whose, "partition", "ns", x->partition_ns, y->partition_ns);
    add(rows, whose, "devices", "ns", x->device_ns, y->device_ns);
    add(rows, whose, "merge", "ns", x->merge_ns, y->merge_ns);
    if (x->turn_ns > 0 || y->turn_ns > 0)
        add(rows, whose, "wait for the device", "ns", x->turn_ns, y->turn_ns);
}

static void add_tracks(GPtrArray *rows, const IfmTraceAnalysis *a, const IfmTraceAnalysis *b)
{
    for (guint i = 0; i < a->tracks->len; i++)
    {
        const IfmTrackUse *use = &g_array_index(a->tracks, IfmTrackUse, i);
        add_track(rows, use, find_track(b, use->info));
    }
    for (guint i = 0; i < b->tracks->len; i++)
    {
        const IfmTrackUse *use = &g_array_index(b->tracks, IfmTrackUse, i);
        if (find_track(a, use->info) == NULL)
            add_track(rows, NULL, use);
    }
}

static void add_stages(GPtrArray *rows, const IfmTraceAnalysis *a, const IfmTraceAnalysis *b)
{
    for (guint i = 0; i < a->stages->len; i++)
    {
        const IfmStageUse *use = &g_array_index(a->stages, IfmStageUse, i);
        add_stage(rows, use, find_stage(b, use));
    }
    for (guint i = 0; i < b->stages->len; i++)
    {
        const IfmStageUse *use = &g_array_index(b->stages, IfmStageUse, i);
        if (find_stage(a, use) == NULL)
            add_stage(rows, NULL, use);
    }
}

GPtrArray *ifm_trace_diff(const IfmTraceAnalysis *a, const IfmTraceAnalysis *b)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func((GDestroyNotify)difference_free);
    add(rows, "", "throughput", "1/s", a->throughput_per_s, b->throughput_per_s);
    add(rows, "", "makespan", "ns", known(a->makespan_ns), known(b->makespan_ns));
    add(rows, "", "window", "ns", (double)a->window_ns, (double)b->window_ns);
    add_percentiles(rows, "latency", &a->latency, &b->latency);
    add_percentiles(rows, "cycle", &a->cycle, &b->cycle);
    add_stages(rows, a, b);
    add_tracks(rows, a, b);
    return rows;
}
