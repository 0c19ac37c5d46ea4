#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <document/summary.h>
#include <document/words.h>

#include "trace-page.h"

/* What a trace comes to: whether devices waited, for what, and what that cost at most. */

#define IDLE 0.05      /* of the window: less than that is not worth a remedy */
#define LOST 0.05      /* of the events: a trace that lacks more shows something else */
#define PERCENTILES 20 /* batches of which a p95 says something */

/* Cause: why a device was idle, and what is to be done about it. */
static const struct
{
    const char *words, *remedy;
} causes[IFM_N_IDLE_CAUSES] = {
    [IFM_IDLE_UPSTREAM] = { "it waited for batches from the block before",
                            "Give the block before it less work, or more devices" },
    [IFM_IDLE_HOST] = { "the host partitioned, merged or handed batches on", "Partition less: blocks of one device" },
    [IFM_IDLE_TRANSFER] = { "copies were in progress", "Share memory, or cut the model where less is copied" },
    [IFM_IDLE_QUEUE_FULL] = { "the block after it was still busy", "Give the block after it less work, or more devices" },
    [IFM_IDLE_PARTNER] = { "it waited for its partner in the block", "Shift work to it from its partner" },
    [IFM_IDLE_NO_WORK] = { "no batch was there for it", "Send more batches at once" },
    [IFM_IDLE_HOST_WAIT] = { "the host launched the next kernel too late",
                             "Launch earlier, or more at once: larger batches, recorded graphs" },
    [IFM_IDLE_KERNEL_WAIT] = { "one kernel had to follow another", "Fuse small kernels" },
    [IFM_IDLE_UNKNOWN] = { NULL, NULL },
};

/* The device's stream that was idle longest; NULL: there is none. */
static const IfmTrackUse *idlest_of(const IfmTraceAnalysis *analysis)
{
    const IfmTrackUse *idlest = NULL;
    for (guint i = 0; i < MIN(analysis->n_devices, analysis->tracks->len); i++)
    {
        const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, i);
        idlest = idlest == NULL || use->idle_ns > idlest->idle_ns ? use : idlest;
    }
    return idlest;
}

/* What the least idle stream was idle: by more no remedy makes the window shorter, since that stream has all its work to
 * do. */
static double spare_ns(const IfmTraceAnalysis *analysis)
{
    double least = (double)analysis->window_ns;
    for (guint i = 0; i < MIN(analysis->n_devices, analysis->tracks->len); i++)
        least = fmin(least, (double)g_array_index(analysis->tracks, IfmTrackUse, i).idle_ns);
    return least;
}

static IfmIdleCause main_cause(const IfmTrackUse *use)
{
    int most = 0;
    for (int cause = 1; cause < IFM_N_IDLE_CAUSES; cause++)
        most = use->idle_by_cause_ns[cause] > use->idle_by_cause_ns[most] ? cause : most;
    return (IfmIdleCause)most;
}

static void say_idle(IfmDocument *document, const IfmTraceAnalysis *analysis, const IfmTrackUse *use)
{
    const IfmIdleCause cause = main_cause(use);
    const double window_ns = (double)analysis->window_ns, caused_ns = (double)use->idle_by_cause_ns[cause],
                 gain_ns = fmin(caused_ns, spare_ns(analysis));
    g_autofree char *of_idle = ifm_say_per_cent(caused_ns / (double)use->idle_ns), *name = ifm_track_name(use->info),
                    *idle = ifm_say_per_cent((double)use->idle_ns / window_ns),
                    *share = ifm_say_per_cent(gain_ns / window_ns), *time = ifm_say_duration(gain_ns),
                    *gain = g_strdup_printf("at most %s, %s of the time", time, share),
                    *window = ifm_say_duration(window_ns);
    if ((double)use->idle_ns < IDLE * window_ns)
    {
        ifm_document_verdict(document, "%s was idle for %s of %s, no device for longer: nothing is to be gained there",
                             name, idle, window);
        return;
    }
    if (causes[cause].words == NULL)
        ifm_document_verdict(document, "%s was idle for %s of %s, and no event shows why", name, idle, window);
    else if (2 * caused_ns >= (double)use->idle_ns)
        ifm_document_verdict(document, "%s was idle for %s of %s, %s of it because %s", name, idle, window, of_idle,
                             causes[cause].words);
    else
        ifm_document_verdict(document, "%s was idle for %s of %s, for several reasons: %s of it because %s", name, idle,
                             window, of_idle, causes[cause].words);
    if (gain_ns < IDLE * window_ns) /* another one has no time to spare: only less work for it helps */
        ifm_document_next(document, NULL, NULL, "Take work from the busiest device: it was idle for %s alone", share);
    else if (causes[cause].remedy != NULL)
        ifm_document_next(document, NULL, gain, "%s", causes[cause].remedy);
    ifm_document_next_again(document, "--html timeline.html", NULL, "See on the timeline where it was idle");
}

/* "100 batches in 1.95 s, 51.4 a second; half took at most 65.6 ms; block 1 was the slowest for 90 of 100 batches" */
static void say_batches(IfmDocument *document, const IfmTraceAnalysis *analysis)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree char *makespan = ifm_say_duration((double)analysis->makespan_ns),
                    *rate = ifm_say_number(analysis->throughput_per_s), *half = ifm_say_duration(analysis->latency.p50_ns),
                    *most = ifm_say_duration(analysis->latency.p95_ns),
                    *busy = ifm_say_per_cent(analysis->wall_utilisation),
                    *all = g_strdup_printf("95%s%% took at most %s", IFM_NO_BREAK, most);
    if (isfinite(analysis->throughput_per_s))
        g_string_append_printf(text, "%zu batches in %s, %s a second", analysis->n_left, makespan, rate);
    if (isfinite(analysis->latency.p50_ns))
        g_string_append_printf(text, "; a batch took %s in the median", half);
    for (guint i = 0; i < analysis->stages->len; i++)
    {
        const IfmStageUse *use = &g_array_index(analysis->stages, IfmStageUse, i);
        if (use->block == analysis->bottleneck_block && analysis->stages->len > 1)
            g_string_append_printf(text, "; block %d was the slowest for %zu of %zu batches", use->block, use->n_bottleneck,
                                   use->n);
    }
    if (text->len > 0)
        ifm_document_verdict_more(document, "%s", text->str);
    if (isfinite(analysis->throughput_per_s))
        ifm_document_tile(document, &(IfmTile){ "batches a second", rate, makespan, NAN });
    if (isfinite(analysis->latency.p50_ns))
        ifm_document_tile(document,
                          &(IfmTile){ "latency of a batch", half, analysis->n_left >= PERCENTILES ? all : "median", NAN });
    if (isfinite(analysis->wall_utilisation))
        ifm_document_tile(document, &(IfmTile){ "devices busy", busy, "of the window, all streams together",
                                                analysis->wall_utilisation });
}

static void check_losses(IfmDocument *document, const IfmTrace *trace, const IfmTraceAnalysis *analysis)
{
    const gsize n_lost = analysis->n_dropped + analysis->n_damaged, n_events = ifm_trace_n_events(trace) + n_lost;
    const char *stopped = ifm_member_text(ifm_trace_meta(trace), "stopped");
    if (stopped != NULL)
        ifm_document_check(document, IFM_TRUST_BAD, "it ended early: %s", stopped);
    if (n_lost > 0)
        ifm_document_check(document, (double)n_lost > LOST * (double)n_events ? IFM_TRUST_BAD : IFM_TRUST_CARE,
                           "%zu of %zu events are missing or damaged", n_lost, n_events);
    else
        ifm_document_check(document, IFM_TRUST_GOOD, "all %zu events are there", n_events);
    if (analysis->n_failed > 0)
        ifm_document_check(document, IFM_TRUST_CARE, "%zu inferences failed", analysis->n_failed);
    const gsize n = analysis->n_batches, n_failed = analysis->n_failed_batches;
    ifm_document_check_count(document, IFM_TRUST_CARE, n_failed, n, "batches failed");
    ifm_document_check_count(document, IFM_TRUST_CARE, n - analysis->n_left - n_failed, n, "batches never left");
    for (guint i = 0; i < analysis->warnings->len; i++)
        ifm_document_check(document, IFM_TRUST_CARE, "%s", (const char *)analysis->warnings->pdata[i]);
}

static gboolean has_simulated(const IfmTraceAnalysis *analysis)
{
    for (guint i = 0; i < MIN(analysis->n_devices, analysis->tracks->len); i++)
    {
        const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, i);
        g_assert(use != NULL);
        if (use->info->spec != NULL && g_str_has_prefix(use->info->spec, "simulated:"))
            return TRUE;
    }
    return FALSE;
}

static void check_trace(IfmDocument *document, const IfmTrace *trace, const IfmTraceAnalysis *analysis)
{
    const double slower = ifm_member_number(ifm_trace_meta(trace), "device_time_slow_down_ratio");
    g_autofree char *cost = ifm_say_per_cent(slower);
    check_losses(document, trace, analysis);
    if (ifm_trace_is_simulated(trace))
        ifm_document_check(document, IFM_TRUST_CARE, "simulated: computed from a plan's costs, not recorded");
    else
        ifm_document_check(document, IFM_TRUST_UNCHECKED, "one recording: how much another would differ is not known");
    if (!ifm_trace_is_simulated(trace) && has_simulated(analysis))
        ifm_document_check(document, IFM_TRUST_CARE, "simulated devices are in it: what they take is from a description");
    if (slower > 0)
        ifm_document_check(document, slower > LOST ? IFM_TRUST_CARE : IFM_TRUST_GOOD,
                           "asking for device time slowed it by %s", cost);
}

/* As the file itself says it: ours names the processor, others what their tool knows. */
static void add_machine(IfmDocument *document, const IfmTrace *trace)
{
    static const char *const keys[][2] = { { "machine.cpu", "CPU" }, { "cpu-brand", "CPU" },    { "cpu", "CPU" },
                                           { "machine", "machine" }, { "hostname", "machine" }, { "host", "machine" } };
    const json_t *meta = ifm_trace_meta(trace);
    const double unix_ms = ifm_member_number(meta, "started_unix_ms");
    g_autoptr(GDateTime) time = unix_ms > 0 ? g_date_time_new_from_unix_utc((gint64)(unix_ms / 1000)) : NULL;
    g_autofree char *when = time != NULL ? g_date_time_format(time, "%Y-%m-%d %H:%M UTC") : NULL;
    gboolean is_known = FALSE;
    ifm_document_provenance(document, "when", "%s", when != NULL ? when : "");
    for (gsize i = 0; i < G_N_ELEMENTS(keys) && !is_known; i++)
    {
        const char *text = ifm_member_text(meta, keys[i][0]);
        is_known = text != NULL && *text != '\0';
        ifm_document_provenance(document, keys[i][1], "%s", is_known ? text : "");
    }
    if (!is_known)
        ifm_document_provenance(document, "machine", "%s",
                                ifm_trace_is_simulated(trace) ? "none: it was simulated" : "not recorded");
}

/* The devices with what ran on them, and the plan. */
static void add_provenance(IfmDocument *document, const IfmTrace *trace, const IfmTraceAnalysis *analysis)
{
    for (guint i = 0; i < MIN(analysis->n_devices, analysis->tracks->len); i++)
    {
        const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, i);
        g_assert(use != NULL);
        if (use->info->device != NULL && use->info->spec != NULL)
            ifm_document_provenance_device(document, use->info->device, use->info->spec);
    }
    add_machine(document, trace);
    ifm_document_provenance(document, "stream", "%s", ifm_trace_stream(trace));
    ifm_document_provenance(document, "events", "%zu", ifm_trace_n_events(trace));
}

void ifm_trace_add_headline(IfmDocument *document, const IfmTrace *trace, const IfmTraceAnalysis *analysis)
{
    const IfmTrackUse *idlest = idlest_of(analysis);
    g_autofree char *window = ifm_say_duration((double)analysis->window_ns);
    const char *stream = ifm_trace_stream(trace);
    ifm_document_subject(document, "%s%s%s · %zu stream%s of devices · window %s", ifm_trace_name(trace),
                         *stream != '\0' ? " · " : "", stream, analysis->n_devices, ifm_plural(analysis->n_devices),
                         window);
    if (idlest == NULL)
        ifm_document_verdict(document, "Nothing ran on a device in %s", window);
    else
        say_idle(document, analysis, idlest);
    say_batches(document, analysis);
    check_trace(document, trace, analysis);
    add_provenance(document, trace, analysis);
}

/* --- two traces ------------------------------------------------------------------------------------------------------- */

void ifm_trace_diff_add_headline(IfmDocument *document, const GPtrArray *differences, const char *a, const char *b)
{
    const IfmTraceDifference *shown = NULL;
    for (guint i = 0; i < differences->len; i++)
    {
        const IfmTraceDifference *row = differences->pdata[i];
        if (shown == NULL && isfinite(row->ratio) && (g_str_equal(row->unit, "1/s") || g_str_equal(row->unit, "ns")))
            shown = row;
    }
    ifm_document_subject(document, "%s · %s", a, b);
    ifm_document_check(document, IFM_TRUST_UNCHECKED, "one recording of each: what differs may be chance");
    if (shown == NULL)
    {
        ifm_document_verdict(document, "%s and %s have no figure in common", a, b);
        return;
    }
    const gboolean is_time = g_str_equal(shown->unit, "ns");
    g_autofree char *of_a = is_time ? ifm_say_duration(shown->a) : ifm_say_number(shown->a),
                    *of_b = is_time ? ifm_say_duration(shown->b) : ifm_say_number(shown->b),
                    *ratio = ifm_say_number(shown->ratio);
    if (shown->ratio == 1)
        ifm_document_verdict(document, "The %s of %s is that of %s", shown->key, b, a);
    else
        ifm_document_verdict(document, "The %s of %s is %s times that of %s, in one recording of each", shown->key, b,
                             ratio, a);
    ifm_document_verdict_more(document, "%s and %s%s; %u figures are compared", of_a, of_b, is_time ? "" : " a second",
                              differences->len);
    ifm_document_next(document, NULL, NULL, "Record each several times before acting on it");
    ifm_document_next_again(document, "--html differences.html", NULL, "See all figures on a page");
}
