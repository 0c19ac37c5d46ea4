#include <math.h>

#include "analyse-private.h"

/* The analysis of a trace is written as JSON; a number that is unknown is null. */

/* null for NaN and infinities, which json_real() refuses. */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(gint64 value)
{
    return json_integer(value);
}

/* null for -1, "unavailable". */
static json_t *whole_or_null(gint64 value)
{
    return value >= 0 ? json_integer(value) : json_null();
}

static json_t *text(const char *value)
{
    g_autofree char *valid = value != NULL ? g_utf8_make_valid(value, -1) : NULL;
    return valid != NULL ? json_string(valid) : json_null();
}

static json_t *percentiles(const IfmPercentiles *values)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "p50_ns", real(values->p50_ns), "p90_ns", real(values->p90_ns), "p95_ns",
                     real(values->p95_ns), "p99_ns", real(values->p99_ns), "max_ns", real(values->max_ns), "mean_ns",
                     real(values->mean_ns));
}

/* --- tracks ----------------------------------------------------------------------------------------------------------- */

static json_t *idle(const IfmTrackUse *use)
{
    json_t *causes = json_object();
    for (int i = 0; i < IFM_N_IDLE_CAUSES; i++)
        json_object_set_new(causes, ifm_idle_cause_name(i), whole(use->idle_by_cause_ns[i]));
    return json_pack("{s:o,s:o,s:o,s:o}", "total_ns", whole(use->idle_ns), "by_cause_ns", causes, "others_busy_ns",
                     whole(use->idle_others_busy_ns), "alone_ns", whole(use->idle_alone_ns));
}

static json_t *bubbles(const IfmTrackUse *use)
{
    json_t *bins = json_array();
    gint64 below_ns = 1000;
    for (int i = 0; i < IFM_BUBBLE_BINS; i++, below_ns *= 4)
        json_array_append_new(bins,
                              json_pack("{s:o,s:o}", "below_ns", i + 1 < IFM_BUBBLE_BINS ? whole(below_ns) : json_null(),
                                        "count", whole((gint64)use->bubble_bins[i])));
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "count", whole((gint64)use->n_bubbles), "mean_ns", real(use->bubble_mean_ns),
                     "max_ns", whole(use->bubble_max_ns), "sum_ns", whole(use->bubble_sum_ns), "histogram", bins);
}

static json_t *track(const IfmTrackUse *use)
{
    json_t *json = json_object();
    json_object_set_new(json, "process", text(use->info->process));
    json_object_set_new(json, "thread", text(use->info->thread));
    json_object_set_new(json, "device", text(use->info->device));
    json_object_set_new(json, "spec", text(use->info->spec));
    json_object_set_new(json, "stream", use->info->device != NULL ? whole(use->info->stream) : json_null());
    json_object_set_new(json, "count", whole((gint64)use->n_events));
    json_object_set_new(json, "busy_ns", whole(use->busy_ns));
    json_object_set_new(json, "wall_utilisation", real(use->wall_utilisation));
    json_object_set_new(json, "hw_utilisation", real(use->hw_utilisation));
    json_object_set_new(json, "device_ns", whole_or_null(use->device_ns));
    json_object_set_new(json, "device_time_count", whole((gint64)use->n_device));
    json_object_set_new(json, "idle", idle(use));
    json_object_set_new(json, "bubbles", bubbles(use));
    json_object_set_new(json, "penalty_mean_ns", real(use->penalty_mean_ns));
    json_object_set_new(json, "penalty_ratio", real(use->penalty_ratio));
    json_object_set_new(json, "node_ns", whole_or_null(use->node_ns));
    json_object_set_new(json, "marshalling_ns", whole_or_null(use->marshalling_ns));
    json_object_set_new(json, "launches", whole((gint64)use->n_launches));
    json_object_set_new(json, "launch_ns", whole(use->launch_ns));
    json_object_set_new(json, "launch_delay_mean_ns", real(use->delay_mean_ns));
    return json;
}

/* --- stages and batches ----------------------------------------------------------------------------------------------- */

static json_t *stage(const IfmStageUse *use)
{
    json_t *json = json_object();
    json_object_set_new(json, "block", whole(use->block));
    json_object_set_new(json, "first_stage", whole(use->first));
    json_object_set_new(json, "last_stage", whole(use->last));
    json_object_set_new(json, "count", whole((gint64)use->n));
    json_object_set_new(json, "mean_ns", real(use->mean_ns));
    json_object_set_new(json, "median_ns", real(use->median_ns));
    json_object_set_new(json, "max_ns", real(use->max_ns));
    json_object_set_new(json, "partition_mean_ns", real(use->partition_ns));
    json_object_set_new(json, "device_mean_ns", real(use->device_ns));
    json_object_set_new(json, "merge_mean_ns", real(use->merge_ns));
    json_object_set_new(json, "turn_mean_ns", real(use->turn_ns));
    json_object_set_new(json, "bottleneck_count", whole((gint64)use->n_bottleneck));
    return json;
}

/* The row of a batch in a table of batches by stages. */
static json_t *row_of(const IfmTraceAnalysis *analysis, const GArray *table, guint row)
{
    json_t *times = json_array();
    for (guint i = 0; i < analysis->stages->len; i++)
        json_array_append_new(times, whole_or_null(g_array_index(table, gint64, row * (gsize)analysis->stages->len + i)));
    return times;
}

static json_t *batch(const IfmTraceAnalysis *analysis, guint row)
{
    return json_pack("{s:o,s:o,s:o}", "batch", whole(g_array_index(analysis->batch_ids, gint32, row)), "stage_total_ns",
                     row_of(analysis, analysis->batch_stage_ns, row), "turn_ns",
                     row_of(analysis, analysis->batch_turn_ns, row));
}

static json_t *step(const IfmPathStep *step, const IfmTrace *trace)
{
    gboolean on_track = step->kind != IFM_EVENT_OTHER;
    return json_pack("{s:s,s:o,s:o,s:o,s:o,s:o}", "kind", step->turn ? "turn" : ifm_event_kind_name(step->kind), "thread",
                     on_track ? text(ifm_trace_track_info(trace, step->track)->thread) : json_null(), "block",
                     step->block > 0 ? whole(step->block) : json_null(), "batch", whole_or_null(step->batch), "start_ns",
                     whole(step->start_ns), "duration_ns", whole(step->duration_ns));
}

static json_t *batches(const IfmTraceAnalysis *analysis)
{
    json_t *json = json_object(), *rows = json_array();
    for (guint i = 0; i < analysis->batch_ids->len; i++)
        json_array_append_new(rows, batch(analysis, i));
    json_object_set_new(json, "count", whole((gint64)analysis->n_batches));
    json_object_set_new(json, "left", whole((gint64)analysis->n_left));
    json_object_set_new(json, "failed", whole((gint64)analysis->n_failed_batches));
    json_object_set_new(json, "makespan_ns", whole_or_null(analysis->makespan_ns));
    json_object_set_new(json, "throughput_per_s", real(analysis->throughput_per_s));
    json_object_set_new(json, "latency", percentiles(&analysis->latency));
    json_object_set_new(json, "cycle", percentiles(&analysis->cycle));
    json_object_set_new(json, "rows", rows);
    return json;
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static json_t *window(const IfmTraceAnalysis *analysis)
{
    return json_pack("{s:o,s:o,s:o}", "start_ns", whole(analysis->start_ns), "end_ns", whole(analysis->end_ns),
                     "duration_ns", whole(analysis->window_ns));
}

static json_t *critical_path(const IfmTraceAnalysis *analysis, const IfmTrace *trace)
{
    json_t *steps = json_array();
    for (guint i = 0; i < analysis->critical_path->len; i++)
        json_array_append_new(steps, step(&g_array_index(analysis->critical_path, IfmPathStep, i), trace));
    return json_pack("{s:o,s:o}", "batch", whole_or_null(analysis->critical_batch), "steps", steps);
}

static json_t *operators(const IfmTraceAnalysis *analysis)
{
    json_t *json = json_array();
    for (guint i = 0; analysis->operators != NULL && i < analysis->operators->len; i++)
    {
        const IfmOperatorUse *use = &g_array_index(analysis->operators, IfmOperatorUse, i);
        json_array_append_new(
            json, json_pack("{s:s,s:o,s:o,s:o,s:o,s:o}", "kind", ifm_event_kind_name(use->kind), "name", text(use->name),
                            "provider", *use->provider != '\0' ? text(use->provider) : json_null(), "count",
                            whole((gint64)use->n), "total_ns", whole(use->total_ns), "max_ns", whole(use->max_ns)));
    }
    return json;
}

json_t *ifm_trace_analysis_to_json(const IfmTraceAnalysis *analysis, const IfmTrace *trace)
{
    json_t *json = json_object(), *tracks = json_array(), *stages = json_array(), *warnings = json_array();
    for (guint i = 0; i < analysis->tracks->len; i++)
        json_array_append_new(tracks, track(&g_array_index(analysis->tracks, IfmTrackUse, i)));
    for (guint i = 0; i < analysis->stages->len; i++)
        json_array_append_new(stages, stage(&g_array_index(analysis->stages, IfmStageUse, i)));
    for (guint i = 0; i < analysis->warnings->len; i++)
        json_array_append_new(warnings, text(analysis->warnings->pdata[i]));
    json_object_set_new(json, "name", text(ifm_trace_name(trace)));
    json_object_set_new(json, "window", window(analysis));
    json_object_set_new(json, "devices", whole((gint64)analysis->n_devices));
    json_object_set_new(json, "busy_ns", whole(analysis->busy_ns));
    json_object_set_new(json, "idle_ns", whole(analysis->idle_ns));
    json_object_set_new(json, "wall_utilisation", real(analysis->wall_utilisation));
    json_object_set_new(json, "tracks", tracks);
    json_object_set_new(json, "stages", stages);
    json_object_set_new(json, "bottleneck_block",
                        analysis->bottleneck_block > 0 ? whole(analysis->bottleneck_block) : json_null());
    json_object_set_new(json, "batches", batches(analysis));
    json_object_set_new(json, "critical_path", critical_path(analysis, trace));
    json_object_set_new(json, "operators", operators(analysis));
    json_object_set_new(json, "damaged_events", whole((gint64)analysis->n_damaged));
    json_object_set_new(json, "dropped_events", whole((gint64)analysis->n_dropped));
    json_object_set_new(json, "failed_inferences", whole((gint64)analysis->n_failed));
    json_object_set_new(json, "warnings", warnings);
    return json;
}
