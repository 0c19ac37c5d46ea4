#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <document/document.h>
#include <document/words.h>

#include "trace-page.h"

/* What `inferometer trace` shows. */

#define MAX_STEPS 40 /* of a critical path */

/* --- devices ---------------------------------------------------------------------------------------------------------- */

/* A track's figures and the window that idle times are shares of. */
typedef struct
{
    const IfmTrackUse *use;
    double window_ns;
} TrackLine;

static const IfmTrackUse *use_of(const void *record)
{
    return ((const TrackLine *)record)->use;
}

char *ifm_track_name(const IfmTrackInfo *info)
{
    return info->device != NULL ? g_strdup_printf("%s stream %d", info->device, info->stream)
                                : g_strdup(info->thread != NULL ? info->thread : "(no name)");
}

static void get_track_name(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, ifm_track_name(use_of(record)->info));
}

/* A device that was not asked is not one that did nothing. */
static void get_track_hardware(const void *record, const void *user, IfmValue *value)
{
    const IfmTrackUse *use = use_of(record);
    if (isfinite(use->hw_utilisation))
        ifm_value_take_text(value, ifm_format_ratio(use->hw_utilisation));
    else
    {
        ifm_value_set_text(value, "unavailable");
        value->tone = IFM_TONE_DIM;
    }
}

static void set_share(IfmValue *value, const void *record, gint64 ns)
{
    if (ns > 0)
        ifm_value_set_real(value, (double)ns / ((const TrackLine *)record)->window_ns);
}

static void get_track_idle(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, (double)use_of(record)->idle_ns / ((const TrackLine *)record)->window_ns);
}

static void get_track_cause(const void *record, const void *user, IfmValue *value)
{
    set_share(value, record, use_of(record)->idle_by_cause_ns[GPOINTER_TO_INT(user)]);
}

static void get_track_share(const void *record, const void *user, IfmValue *value)
{
    set_share(value, record, G_STRUCT_MEMBER(gint64, use_of(record), GPOINTER_TO_SIZE(user)));
}

static void get_track_process(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, use_of(record)->info->process);
}

#define USE(member, ...) IFM_MEMBER_VIA(TrackLine, use, member, ##__VA_ARGS__)
#define CAUSE(key, title, cause)                                                                                           \
    {                                                                                                                      \
        key, title, IFM_FIELD_RATIO, get_track_cause, GINT_TO_POINTER(cause), IFM_FIELD_HIDE_EMPTY                         \
    }

static const IfmField track_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, get_track_name, NULL, IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "count", "runs", IFM_FIELD_INTEGER, USE(n_events) },
    { "wall_utilisation", "wall", IFM_FIELD_RATIO, USE(wall_utilisation) },
    { "hw_utilisation", "hardware", IFM_FIELD_TEXT, get_track_hardware, NULL, IFM_FIELD_WHOLE },
    { "penalty", "penalty", IFM_FIELD_DURATION, USE(penalty_mean_ns), IFM_FIELD_HIDE_EMPTY },
    { "bubbles", "bubbles", IFM_FIELD_INTEGER, USE(n_bubbles) },
    { "bubble_mean", "mean", IFM_FIELD_DURATION, USE(bubble_mean_ns, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "bubble_max", "longest", IFM_FIELD_DURATION, USE(bubble_max_ns, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "marshalling", "marshalling", IFM_FIELD_RATIO, get_track_share, IFM_FIELD_AT(IfmTrackUse, marshalling_ns),
      IFM_FIELD_HIDE_EMPTY },
    { "delay", "from launch", IFM_FIELD_DURATION, USE(delay_mean_ns, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "idle", "idle", IFM_FIELD_RATIO, get_track_idle, NULL, IFM_FIELD_BREAK },
    CAUSE("upstream", "upstream", IFM_IDLE_UPSTREAM),
    CAUSE("host", "host", IFM_IDLE_HOST),
    CAUSE("transfer", "transfer", IFM_IDLE_TRANSFER),
    CAUSE("queue_full", "queue full", IFM_IDLE_QUEUE_FULL),
    CAUSE("partner", "partner", IFM_IDLE_PARTNER),
    CAUSE("no_work", "no work", IFM_IDLE_NO_WORK),
    CAUSE("host_wait", "host wait", IFM_IDLE_HOST_WAIT),
    CAUSE("kernel_wait", "kernel wait", IFM_IDLE_KERNEL_WAIT),
    CAUSE("unknown", "unknown", IFM_IDLE_UNKNOWN),
    { "others", "others work", IFM_FIELD_RATIO, get_track_share, IFM_FIELD_AT(IfmTrackUse, idle_others_busy_ns),
      IFM_FIELD_HIDE_EMPTY },
    { "alone", "others idle", IFM_FIELD_RATIO, get_track_share, IFM_FIELD_AT(IfmTrackUse, idle_alone_ns),
      IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* The threads beside devices: what their own time went into. */
static const IfmField host_fields[] = {
    { "process", "process", IFM_FIELD_TEXT, get_track_process, NULL, IFM_FIELD_FOLD },
    { "thread", "thread", IFM_FIELD_TEXT, get_track_name, NULL, IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "count", "outermost calls", IFM_FIELD_INTEGER, USE(n_events) },
    { "wall_utilisation", "busy", IFM_FIELD_RATIO, USE(wall_utilisation) },
    { "launches", "launches", IFM_FIELD_INTEGER, USE(n_launches, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "launch", "in launches", IFM_FIELD_RATIO, get_track_share, IFM_FIELD_AT(IfmTrackUse, launch_ns),
      IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

static GArray *lines_of(const IfmTraceAnalysis *analysis, guint from, guint to)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(TrackLine));
    for (guint i = from; i < to; i++)
    {
        TrackLine line = { &g_array_index(analysis->tracks, IfmTrackUse, i), (double)analysis->window_ns };
        g_array_append_val(lines, line);
    }
    return lines;
}

static void add_hosts(IfmDocument *document, const IfmTraceAnalysis *analysis)
{
    const guint n_devices = (guint)analysis->n_devices;
    if (n_devices >= analysis->tracks->len)
        return;
    ifm_document_heading(document, "Host threads: shares of the window");
    ifm_document_rows(document, "hosts", host_fields, lines_of(analysis, n_devices, analysis->tracks->len));
}

/* --- operators, kernels ----------------------------------------------------------------------------------------------- */

#define MAX_OPERATORS 20

typedef struct
{
    const IfmOperatorUse *use;
    double share; /* of all of its kind */
} OperatorLine;

static const IfmOperatorUse *operator_of(const void *record)
{
    return ((const OperatorLine *)record)->use;
}

static void get_operator_mean(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_real(value, (double)operator_of(record)->total_ns / (double)operator_of(record)->n);
}

#define OPERATOR(member, ...) IFM_MEMBER_VIA(OperatorLine, use, member, ##__VA_ARGS__)

static const IfmField operator_fields[] = {
    { "name", "name", IFM_FIELD_TEXT, OPERATOR(name, .some = TRUE), IFM_FIELD_KEY },
    { "provider", "provider", IFM_FIELD_TEXT, OPERATOR(provider, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "count", "runs", IFM_FIELD_INTEGER, OPERATOR(n) },
    { "total", "total", IFM_FIELD_DURATION, OPERATOR(total_ns) },
    { "mean", "mean", IFM_FIELD_DURATION, get_operator_mean },
    { "max", "longest", IFM_FIELD_DURATION, OPERATOR(max_ns) },
    { "share", "share", IFM_FIELD_RATIO, IFM_MEMBER(OperatorLine, share) },
    { NULL },
};

static void add_operators(IfmDocument *document, const IfmTraceAnalysis *analysis, IfmEventKind kind, const char *title,
                          const char *key)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(OperatorLine));
    double total_ns = 0;
    guint n = 0;
    for (guint i = 0; i < analysis->operators->len; i++)
    {
        OperatorLine line = { &g_array_index(analysis->operators, IfmOperatorUse, i), 0 };
        if (line.use->kind != kind)
            continue;
        total_ns += (double)line.use->total_ns;
        if (n++ < MAX_OPERATORS)
            g_array_append_val(lines, line);
    }
    for (guint i = 0; i < lines->len; i++)
    {
        OperatorLine *line = &g_array_index(lines, OperatorLine, i);
        line->share = total_ns > 0 ? (double)line->use->total_ns / total_ns : NAN;
    }
    if (n == 0)
    {
        g_array_unref(lines);
        return;
    }
    ifm_document_heading(document, title);
    static const char *const names[] = { "name", NULL }, *const shares[] = { "share", NULL };
    const OperatorLine *top = &g_array_index(lines, OperatorLine, 0);
    g_autofree char *share = ifm_say_per_cent(top->share), *figure_key = g_strconcat(key, "_shares", NULL),
                    *finding = g_strdup_printf("%s takes %s of the time of all %s", top->use->name, share, key);
    const IfmTable *table = &ifm_document_rows(document, key, operator_fields, lines)->table;
    ifm_document_plot(document, figure_key, IFM_FIGURE_BARS, finding, "Shares of the total time of all, the largest first.",
                      table, &(IfmPlotColumns){ .label = names, .y = shares });
    if (n > MAX_OPERATORS)
        ifm_document_text(document, "and %u more, in --json", n - MAX_OPERATORS);
}

static void add_devices(IfmDocument *document, const IfmTraceAnalysis *analysis)
{
    GArray *lines = lines_of(analysis, 0, (guint)MIN(analysis->n_devices, analysis->tracks->len));
    ifm_document_heading(document, "Devices: shares of the window; why they were idle");
    ifm_document_rows(document, "devices", track_fields, lines);
}

/* --- stages ----------------------------------------------------------------------------------------------------------- */

typedef struct
{
    const IfmStageUse *use;
    const IfmTraceAnalysis *analysis;
} StageLine;

static const IfmStageUse *stage_of(const void *record)
{
    return ((const StageLine *)record)->use;
}

static void get_stage_block(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, g_strdup_printf("%d", stage_of(record)->block));
}

static void get_stage_range(const void *record, const void *user, IfmValue *value)
{
    const IfmStageUse *use = stage_of(record);
    if (use->first > 0)
        ifm_value_take_text(value, use->first == use->last ? g_strdup_printf("%d", use->first)
                                                           : g_strdup_printf("%d-%d", use->first, use->last));
}

/* Which devices the plan put in the block; those that were in several are of none. */
static void get_stage_devices(const void *record, const void *user, IfmValue *value)
{
    const StageLine *line = record;
    g_autoptr(GString) names = g_string_new(NULL);
    const char *last = NULL;
    for (guint i = 0; i < line->analysis->tracks->len; i++)
    {
        const IfmTrackInfo *info = g_array_index(line->analysis->tracks, IfmTrackUse, i).info;
        if (info->block != line->use->block || info->device == NULL || g_strcmp0(info->device, last) == 0)
            continue;
        g_string_append_printf(names, "%s%s", names->len > 0 ? "+" : "", info->device);
        last = info->device;
    }
    if (names->len > 0)
        ifm_value_take_text(value, g_strdup(names->str));
}

static void get_stage_mark(const void *record, const void *user, IfmValue *value)
{
    const StageLine *line = record;
    ifm_value_set_text(value, line->use->block == line->analysis->bottleneck_block ? "bottleneck" : "");
    value->tone = IFM_TONE_WARN;
}

#define STAGE(member, ...) IFM_MEMBER_VIA(StageLine, use, member, ##__VA_ARGS__)

static const IfmField stage_fields[] = {
    { "block", "block", IFM_FIELD_TEXT, get_stage_block, NULL, IFM_FIELD_KEY },
    { "devices", "devices", IFM_FIELD_TEXT, get_stage_devices, NULL, IFM_FIELD_HIDE_EMPTY },
    { "stages", "stages", IFM_FIELD_TEXT, get_stage_range, NULL, IFM_FIELD_HIDE_EMPTY },
    { "count", "batches", IFM_FIELD_INTEGER, STAGE(n) },
    { "mean", "mean", IFM_FIELD_DURATION, STAGE(mean_ns) },
    { "partition", "partition", IFM_FIELD_DURATION, STAGE(partition_ns) },
    { "device", "+ devices", IFM_FIELD_DURATION, STAGE(device_ns) },
    { "merge", "+ merge", IFM_FIELD_DURATION, STAGE(merge_ns) },
    { "turn", "waits for turn", IFM_FIELD_DURATION, STAGE(turn_ns, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "median", "median", IFM_FIELD_DURATION, STAGE(median_ns) },
    { "max", "longest", IFM_FIELD_DURATION, STAGE(max_ns) },
    { "bottleneck_count", "slowest of", IFM_FIELD_INTEGER, STAGE(n_bottleneck) },
    { "mark", "", IFM_FIELD_TEXT, get_stage_mark, NULL, IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

#define MOST_OF_IT 0.5 /* of a block's time: a part of more is named */

char *ifm_blocks_title(const GArray *stages)
{
    const IfmStageUse *first = NULL;
    double sum = 0;
    const char *part = NULL;
    for (guint i = 0; i < stages->len; i++)
    {
        const IfmStageUse *use = &g_array_index(stages, IfmStageUse, i);
        sum += use->mean_ns;
        first = first == NULL || use->mean_ns > first->mean_ns ? use : first;
    }
    if (first == NULL || !(sum > 0))
        return g_strdup("What a batch takes in each block is not known");
    if (first->device_ns > MOST_OF_IT * first->mean_ns)
        part = "on its devices";
    else if (first->partition_ns > MOST_OF_IT * first->mean_ns)
        part = "to partition";
    else if (first->merge_ns > MOST_OF_IT * first->mean_ns)
        part = "to merge";
    g_autofree char *time = ifm_say_duration(first->mean_ns), *share = ifm_say_per_cent(first->mean_ns / sum),
                    *whole = stages->len > 1 ? g_strdup_printf("%s of a batch's time in blocks", share)
                                             : g_strdup_printf("%s of a batch", time);
    return g_strdup_printf("Block %d takes %s%s%s", first->block, whole, part != NULL ? ", most of it " : "",
                           part != NULL ? part : "");
}

static void add_stages(IfmDocument *document, const IfmTraceAnalysis *analysis)
{
    static const char *const block[] = { "block", "devices", "stages", NULL }, *const times[] = { "partition", "device",
                                                                                                  "merge", NULL };
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(StageLine));
    for (guint i = 0; i < analysis->stages->len; i++)
    {
        StageLine line = { &g_array_index(analysis->stages, IfmStageUse, i), analysis };
        g_array_append_val(lines, line);
    }
    g_autofree char *title = ifm_blocks_title(analysis->stages);
    ifm_document_heading(document, "Blocks: time of a batch");
    const IfmTable *table = &ifm_document_rows(document, "blocks", stage_fields, lines)->table;
    IfmBlock *figure = ifm_document_plot(document, "block_times", IFM_FIGURE_STACKED, title,
                                         "Where a batch's time goes in each block: partition, devices, merge.", table,
                                         &(IfmPlotColumns){ .label = block, .y = times });
    figure->figure.y.title = "time of a batch";
}

/* --- batches ---------------------------------------------------------------------------------------------------------- */

typedef struct
{
    const char *name;
    IfmPercentiles values;
} LatencyLine;

#define LATENCY(member) IFM_MEMBER(LatencyLine, values.member)

static const IfmField latency_fields[] = {
    { "name", "batches", IFM_FIELD_TEXT, IFM_MEMBER(LatencyLine, name), IFM_FIELD_WHOLE },
    { "p50", "median", IFM_FIELD_DURATION, LATENCY(p50_ns) },
    { "p90", "p90", IFM_FIELD_DURATION, LATENCY(p90_ns) },
    { "p95", "p95", IFM_FIELD_DURATION, LATENCY(p95_ns) },
    { "p99", "p99", IFM_FIELD_DURATION, LATENCY(p99_ns) },
    { "max", "longest", IFM_FIELD_DURATION, LATENCY(max_ns) },
    { "mean", "mean", IFM_FIELD_DURATION, LATENCY(mean_ns) },
    { NULL },
};

static void add_latencies(IfmDocument *document, const IfmTraceAnalysis *analysis)
{
    const LatencyLine all[] = { { "latency", analysis->latency }, { "cycle", analysis->cycle } };
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(LatencyLine));
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        if (isfinite(all[i].values.p50_ns))
            g_array_append_val(lines, all[i]);
    ifm_document_heading(document, "Batches: from entry to leaving, and in the slowest block");
    ifm_document_rows(document, "batches", latency_fields, lines);
}

/* StepLine: a step of the critical path. */
typedef struct
{
    const IfmTrace *trace;
    const IfmPathStep *step;
    double at_ns, duration_ns, share;
} StepLine;

static void get_step(const void *record, const void *user, IfmValue *value)
{
    const IfmPathStep *step = ((const StepLine *)record)->step;
    ifm_value_set_text(value, step->turn                      ? "wait for the device"
                              : step->kind == IFM_EVENT_BLOCK ? "handed over"
                              : step->kind == IFM_EVENT_OTHER ? "not recorded"
                              : step->kind == IFM_EVENT_QUEUE ? "in the queue"
                                                              : ifm_event_kind_name(step->kind));
}

static void get_step_block(const void *record, const void *user, IfmValue *value)
{
    const IfmPathStep *step = ((const StepLine *)record)->step;
    if (step->block > 0)
        ifm_value_take_text(value, g_strdup_printf("%d", step->block));
}

static void get_step_place(const void *record, const void *user, IfmValue *value)
{
    const IfmPathStep *step = ((const StepLine *)record)->step;
    const char *thread = ifm_trace_track_info(((const StepLine *)record)->trace, step->track)->thread;
    if (step->kind == IFM_EVENT_OTHER || thread == NULL)
        return;
    ifm_value_take_text(value, step->turn && step->batch >= 0
                                   ? g_strdup_printf("%s, busy with batch %d", thread, step->batch)
                                   : g_strdup(thread));
}

static const IfmField step_fields[] = {
    { "kind", "step", IFM_FIELD_TEXT, get_step, NULL, IFM_FIELD_WHOLE },
    { "block", "block", IFM_FIELD_TEXT, get_step_block, NULL, IFM_FIELD_HIDE_EMPTY },
    { "where", "where", IFM_FIELD_TEXT, get_step_place, NULL, IFM_FIELD_HIDE_EMPTY },
    { "at", "after", IFM_FIELD_DURATION, IFM_MEMBER(StepLine, at_ns) },
    { "duration", "time", IFM_FIELD_DURATION, IFM_MEMBER(StepLine, duration_ns) },
    { "share", "share", IFM_FIELD_RATIO, IFM_MEMBER(StepLine, share) },
    { "bar", "", IFM_FIELD_BAR, IFM_MEMBER(StepLine, share), IFM_FIELD_NO_EXPORT },
    { NULL },
};

static void add_path(IfmDocument *document, const IfmTrace *trace, const IfmTraceAnalysis *analysis)
{
    const GArray *path = analysis->critical_path;
    if (path->len == 0)
        return;
    const IfmPathStep *first = &g_array_index(path, IfmPathStep, 0),
                      *last = &g_array_index(path, IfmPathStep, path->len - 1);
    double whole_ns = (double)(last->start_ns + last->duration_ns - first->start_ns);
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(StepLine));
    for (guint i = 0; i < MIN(path->len, MAX_STEPS); i++)
    {
        const IfmPathStep *step = &g_array_index(path, IfmPathStep, i);
        StepLine line = { trace, step, (double)(step->start_ns - first->start_ns), (double)step->duration_ns,
                          (double)step->duration_ns / whole_ns };
        g_array_append_val(lines, line);
    }
    g_autofree char *whole = ifm_format_duration(whole_ns);
    g_autofree char *head = g_strdup_printf("Critical path of batch %" G_GINT64_FORMAT ": %s from entry to leaving",
                                            analysis->critical_batch, whole);
    ifm_document_heading(document, head);
    ifm_document_rows(document, "critical_path", step_fields, lines);
    if (path->len > MAX_STEPS)
        ifm_document_text(document, "(%u steps more)", path->len - MAX_STEPS);
}

/* --- the page --------------------------------------------------------------------------------------------------------- */

IfmDocument *ifm_trace_document(const IfmTrace *trace, const IfmTraceAnalysis *analysis)
{
    IfmDocument *document = ifm_document_new("trace", ifm_trace_name(trace));
    ifm_trace_add_headline(document, trace, analysis);
    g_autofree char *busy = ifm_say_per_cent(analysis->wall_utilisation);
    ifm_document_question(document, "Where does the time go?",
                          analysis->n_devices > 0 ? "Devices work %s of the time, over all of their streams." : NULL, busy);
    ifm_document_add_utilisation(document, analysis);
    if (analysis->operators != NULL)
    {
        add_operators(document, analysis, IFM_EVENT_NODE, "Operators: where the time of nodes went", "operators");
        add_operators(document, analysis, IFM_EVENT_KERNEL, "Kernels: where the devices' time went", "kernels");
    }
    if (analysis->stages->len > 0)
        add_stages(document, analysis);
    if (isfinite(analysis->latency.p50_ns) || isfinite(analysis->cycle.p50_ns))
        add_latencies(document, analysis);
    const guint from = document->sections->len;
    if (analysis->tracks->len > 0)
        add_devices(document, analysis);
    add_hosts(document, analysis);
    add_path(document, trace, analysis);
    ifm_document_close_from(document, from);
    return document;
}

/* --- two traces ------------------------------------------------------------------------------------------------------- */

static void set_figure(IfmValue *value, const IfmTraceDifference *row, double figure)
{
    g_autofree char *number = ifm_say_number(figure);
    if (!isfinite(figure))
        return;
    ifm_value_take_text(value, g_str_equal(row->unit, "ns")      ? ifm_format_duration(figure)
                               : g_str_equal(row->unit, "ratio") ? ifm_format_ratio(figure)
                                                                 : g_strdup_printf("%s %s", number, row->unit));
}

static void get_difference_a(const void *record, const void *user, IfmValue *value)
{
    set_figure(value, record, ((const IfmTraceDifference *)record)->a);
}

static void get_difference_b(const void *record, const void *user, IfmValue *value)
{
    set_figure(value, record, ((const IfmTraceDifference *)record)->b);
}

static void get_difference_change(const void *record, const void *user, IfmValue *value)
{
    const IfmTraceDifference *row = record;
    if (isfinite(row->ratio))
        ifm_value_set_real(value, row->ratio - 1);
}

IfmDocument *ifm_trace_diff_document(const GPtrArray *differences, const char *a, const char *b)
{
    const IfmField fields[] = {
        { "figure", "figure", IFM_FIELD_TEXT, ifm_field_get_text, IFM_FIELD_AT(IfmTraceDifference, key), IFM_FIELD_WHOLE },
        { "a", a, IFM_FIELD_TEXT, get_difference_a },
        { "b", b, IFM_FIELD_TEXT, get_difference_b },
        { "change", "change", IFM_FIELD_RATIO, get_difference_change },
        { NULL },
    };
    IfmDocument *document = ifm_document_new("trace-diff", "Two traces");
    IfmField *own = ifm_document_keep(document, g_memdup2(fields, sizeof fields), g_free);
    own[1].title = ifm_document_keep_text(document, a);
    own[2].title = ifm_document_keep_text(document, b);
    ifm_trace_diff_add_headline(document, differences, a, b);
    ifm_document_table(document, "differences", own, g_ptr_array_ref((GPtrArray *)differences));
    return document;
}

json_t *ifm_trace_differences_to_json(const GPtrArray *differences)
{
    static const IfmRecordField fields[] = {
        { IFM_RECORD(NAME, IfmTraceDifference, key) },     { IFM_RECORD(NAME, IfmTraceDifference, unit) },
        { IFM_RECORD(DOUBLE, IfmTraceDifference, a) },     { IFM_RECORD(DOUBLE, IfmTraceDifference, b) },
        { IFM_RECORD(DOUBLE, IfmTraceDifference, ratio) }, { NULL },
    };
    json_t *rows = json_array();
    for (guint i = 0; i < differences->len; i++)
        json_array_append_new(rows, ifm_record_to_json(differences->pdata[i], fields));
    return rows;
}
