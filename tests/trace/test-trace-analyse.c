#include <math.h>
#include <string.h>

#include "pipeline-trace.h"

static const IfmTrackUse *use_of(const IfmTraceAnalysis *analysis, guint at)
{
    return &g_array_index(analysis->tracks, IfmTrackUse, at);
}

static IfmTraceAnalysis *analyse(const IfmTrace *trace, const IfmTraceQuestion *question)
{
    g_autoptr(GError) error = NULL;
    IfmTraceQuestion with_spans = question != NULL ? *question : IFM_TRACE_QUESTION_INIT;
    with_spans.idle_spans = TRUE;
    IfmTraceAnalysis *analysis = ifm_trace_analyse(trace, &with_spans, &error);
    g_assert_no_error(error);
    return analysis;
}

/* Each span lies in the window, and of a device that worked they add up to its causes; what has no work has no span. */
static void check_spans(const IfmTraceAnalysis *analysis, const IfmTrackUse *use)
{
    gint64 sums[IFM_N_IDLE_CAUSES] = { 0 };
    for (guint i = 0; i < analysis->idle_spans->len; i++)
    {
        const IfmIdleSpan *span = &g_array_index(analysis->idle_spans, IfmIdleSpan, i);
        g_assert_cmpint(span->start_ns, <, span->end_ns);
        g_assert_cmpint(span->start_ns, >=, analysis->start_ns);
        g_assert_cmpint(span->end_ns, <=, analysis->end_ns);
        sums[span->cause] += span->info == use->info ? span->end_ns - span->start_ns : 0;
    }
    for (int k = 0; k < IFM_N_IDLE_CAUSES; k++)
        if (use->n_events > 0 && use->info->kind == IFM_TRACK_DEVICE && k != IFM_IDLE_NO_WORK)
            g_assert_cmpint(sums[k], ==, use->idle_by_cause_ns[k]);
}

/* What holds for any trace. */
static void check_sums(const IfmTraceAnalysis *analysis)
{
    gint64 busy = 0, idle = 0;
    for (guint i = 0; i < analysis->tracks->len; i++)
    {
        const IfmTrackUse *use = use_of(analysis, i);
        gint64 causes = 0;
        gsize bins = 0;
        for (int k = 0; k < IFM_N_IDLE_CAUSES; k++)
        {
            g_assert_cmpint(use->idle_by_cause_ns[k], >=, 0);
            causes += use->idle_by_cause_ns[k];
        }
        for (int k = 0; k < IFM_BUBBLE_BINS; k++)
            bins += use->bubble_bins[k];
        g_assert_cmpint(causes, ==, use->idle_ns);
        check_spans(analysis, use);
        g_assert_cmpint(use->busy_ns + use->idle_ns, ==, analysis->window_ns);
        g_assert_cmpint(use->idle_others_busy_ns + use->idle_alone_ns, ==, use->idle_ns);
        g_assert_cmpint(use->idle_others_busy_ns, >=, 0);
        g_assert_cmpuint(bins, ==, use->n_bubbles);
        g_assert_cmpint(use->bubble_sum_ns, <=, use->idle_ns);
        busy += i < analysis->n_devices ? use->busy_ns : 0;
        idle += i < analysis->n_devices ? use->idle_ns : 0;
    }
    g_assert_cmpint(busy, ==, analysis->busy_ns);
    g_assert_cmpint(idle, ==, analysis->idle_ns);
    g_assert_cmpint(busy + idle, ==, analysis->window_ns * (gint64)analysis->n_devices);
    for (guint i = 0; i < analysis->stages->len; i++)
    {
        const IfmStageUse *stage = &g_array_index(analysis->stages, IfmStageUse, i);
        g_assert_cmpfloat_with_epsilon(stage->partition_ns + stage->device_ns + stage->merge_ns, stage->mean_ns,
                                       1e-9 * (1 + stage->mean_ns));
    }
    g_assert_cmpuint(analysis->batch_stage_ns->len, ==, analysis->n_batches * analysis->stages->len);
}

/* --- the pipeline that is known by hand ------------------------------------------------------------------------------- */

static void check_idle(const IfmTrackUse *use, gint64 upstream, gint64 host, gint64 transfer, gint64 full, gint64 partner,
                       gint64 no_work)
{
    g_assert_cmpint(use->idle_by_cause_ns[IFM_IDLE_UPSTREAM], ==, upstream);
    g_assert_cmpint(use->idle_by_cause_ns[IFM_IDLE_HOST], ==, host);
    g_assert_cmpint(use->idle_by_cause_ns[IFM_IDLE_TRANSFER], ==, transfer);
    g_assert_cmpint(use->idle_by_cause_ns[IFM_IDLE_QUEUE_FULL], ==, full);
    g_assert_cmpint(use->idle_by_cause_ns[IFM_IDLE_PARTNER], ==, partner);
    g_assert_cmpint(use->idle_by_cause_ns[IFM_IDLE_NO_WORK], ==, no_work);
    g_assert_cmpint(use->idle_by_cause_ns[IFM_IDLE_UNKNOWN], ==, 0);
}

static void test_devices(void)
{
    g_autoptr(IfmTrace) trace = pipeline_trace("known");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    check_sums(analysis);
    g_assert_cmpint(analysis->start_ns, ==, 0);
    g_assert_cmpint(analysis->window_ns, ==, 920);
    g_assert_cmpuint(analysis->n_devices, ==, 3);
    g_assert_cmpuint(analysis->warnings->len, ==, 0);
    const IfmTrackUse *cpu = use_of(analysis, 0), *gpu = use_of(analysis, 1), *npu = use_of(analysis, 2);
    g_assert_cmpstr(npu->info->device, ==, "NPU");
    g_assert_cmpint(cpu->busy_ns, ==, 240);
    g_assert_cmpint(gpu->busy_ns, ==, 120);
    g_assert_cmpint(npu->busy_ns, ==, 800);
    check_idle(cpu, 95, 80, 0, 45, 0, 460);
    check_idle(gpu, 95, 80, 0, 45, 120, 460);
    check_idle(npu, 80, 0, 20, 0, 0, 20);
    g_assert_cmpint(cpu->idle_others_busy_ns, ==, 620);
    g_assert_cmpint(cpu->idle_alone_ns, ==, 60);
    g_assert_cmpuint(cpu->n_bubbles, ==, 3);
    g_assert_cmpint(cpu->bubble_sum_ns, ==, 200);
    g_assert_cmpint(cpu->bubble_max_ns, ==, 160);
    g_assert_cmpfloat_with_epsilon(cpu->bubble_mean_ns, 200.0 / 3, 1e-12);
    g_assert_cmpuint(npu->n_bubbles, ==, 3);
    g_assert_cmpint(npu->bubble_sum_ns, ==, 15);
}

static void test_penalties(void)
{
    g_autoptr(IfmTrace) trace = pipeline_trace("known");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    const IfmTrackUse *cpu = use_of(analysis, 0), *gpu = use_of(analysis, 1), *npu = use_of(analysis, 2);
    g_assert_cmpint(cpu->device_ns, ==, 200);
    g_assert_cmpfloat_with_epsilon(cpu->hw_utilisation, 200.0 / 920, 1e-15);
    g_assert_cmpfloat(cpu->penalty_mean_ns, ==, 10);
    g_assert_cmpfloat_with_epsilon(cpu->penalty_ratio, 1.0 / 6, 1e-15);
    g_assert_cmpint(gpu->device_ns, ==, -1); /* of one inference in four */
    g_assert_cmpuint(gpu->n_device, ==, 1);
    g_assert_cmpfloat_with_epsilon(gpu->hw_utilisation, 100.0 / 920, 1e-15);
    g_assert_cmpfloat(gpu->penalty_mean_ns, ==, 5);
    g_assert_cmpint(npu->device_ns, ==, -1);
    g_assert_true(isnan(npu->hw_utilisation) && isnan(npu->penalty_mean_ns) && isnan(npu->penalty_ratio));
    g_assert_cmpint(npu->node_ns, ==, -1);
}

static void test_batches(void)
{
    g_autoptr(IfmTrace) trace = pipeline_trace("known");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    g_assert_cmpuint(analysis->n_batches, ==, 4);
    g_assert_cmpuint(analysis->n_left, ==, 4);
    g_assert_cmpint(analysis->makespan_ns, ==, 900);
    g_assert_cmpfloat_with_epsilon(analysis->throughput_per_s, 4e9 / 920, 1e-6);
    /* latencies 285, 490, 520, 695 */
    g_assert_cmpfloat(analysis->latency.p50_ns, ==, 505);
    g_assert_cmpfloat_with_epsilon(analysis->latency.p90_ns, 520 + 0.7 * 175, 1e-9);
    g_assert_cmpfloat(analysis->latency.max_ns, ==, 695);
    g_assert_cmpfloat(analysis->latency.mean_ns, ==, 497.5);
    g_assert_cmpfloat(analysis->cycle.p50_ns, ==, 205);
    g_assert_cmpuint(analysis->stages->len, ==, 2);
    const IfmStageUse *first = &g_array_index(analysis->stages, IfmStageUse, 0), *second = first + 1;
    g_assert_cmpint(first->block, ==, 1);
    g_assert_cmpint(first->last, ==, 3);
    g_assert_cmpuint(first->n, ==, 4);
    g_assert_cmpfloat(first->mean_ns, ==, 80);
    g_assert_cmpfloat(first->partition_ns, ==, 10);
    g_assert_cmpfloat(first->device_ns, ==, 60);
    g_assert_cmpfloat(first->merge_ns, ==, 10);
    g_assert_cmpuint(first->n_bottleneck, ==, 0);
    g_assert_cmpfloat(second->mean_ns, ==, 205);
    g_assert_cmpfloat(second->device_ns, ==, 205); /* nothing tells of its partition */
    g_assert_cmpfloat(first->turn_ns, ==, 0);
    g_assert_cmpfloat(second->turn_ns, ==, 0);
    g_assert_cmpuint(second->n_bottleneck, ==, 4);
    g_assert_cmpint(analysis->bottleneck_block, ==, 2);
    for (guint i = 0; i < 4; i++)
    {
        g_assert_cmpint(g_array_index(analysis->batch_ids, gint32, i), ==, (gint)i);
        g_assert_cmpint(g_array_index(analysis->batch_stage_ns, gint64, 2 * i), ==, 80);
        g_assert_cmpint(g_array_index(analysis->batch_stage_ns, gint64, 2 * i + 1), ==, 205);
    }
}

typedef struct
{
    IfmEventKind kind;
    int block;
    gint64 start, end;
} Step;

static void check_path(const IfmTraceAnalysis *analysis, const Step *steps, gsize n)
{
    g_assert_cmpuint(analysis->critical_path->len, ==, n);
    for (gsize i = 0; i < n; i++)
    {
        const IfmPathStep *step = &g_array_index(analysis->critical_path, IfmPathStep, i);
        g_assert_cmpint(step->kind, ==, steps[i].kind);
        g_assert_cmpint(step->block, ==, steps[i].block);
        g_assert_cmpint(step->start_ns, ==, steps[i].start);
        g_assert_cmpint(step->start_ns + step->duration_ns, ==, steps[i].end);
    }
}

static void test_path(void)
{
    static const Step of_1[] = { { IFM_EVENT_QUEUE, 1, 20, 100 },  { IFM_EVENT_PARTITION, 1, 100, 110 },
                                 { IFM_EVENT_INFER, 1, 110, 170 }, { IFM_EVENT_MERGE, 1, 170, 180 },
                                 { IFM_EVENT_QUEUE, 2, 180, 305 }, { IFM_EVENT_COPY, 2, 305, 310 },
                                 { IFM_EVENT_INFER, 2, 310, 510 } };
    static const Step of_2[] = { { IFM_EVENT_QUEUE, 1, 20, 180 },        { IFM_EVENT_PARTITION, 1, 180, 190 },
                                 { IFM_EVENT_INFER, 1, 190, 250 },       { IFM_EVENT_MERGE, 1, 250, 260 },
                                 { IFM_EVENT_WAIT_OUTPUT, 1, 260, 305 }, { IFM_EVENT_QUEUE, 2, 305, 510 },
                                 { IFM_EVENT_COPY, 2, 510, 515 },        { IFM_EVENT_INFER, 2, 515, 715 } };
    g_autoptr(IfmTrace) trace = pipeline_trace("known");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    g_assert_cmpint(analysis->critical_batch, ==, 1);
    check_path(analysis, of_1, G_N_ELEMENTS(of_1));
    g_assert_cmpint(ifm_trace_track_info(trace, g_array_index(analysis->critical_path, IfmPathStep, 2).track)->stream, ==,
                    0);
    g_assert_cmpstr(ifm_trace_track_info(trace, g_array_index(analysis->critical_path, IfmPathStep, 2).track)->device, ==,
                    "CPU"); /* its GPU half was done sooner */
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    question.batch = 2;
    g_autoptr(IfmTraceAnalysis) other = analyse(trace, &question);
    check_path(other, of_2, G_N_ELEMENTS(of_2));
    question.batch = 17;
    g_autoptr(IfmTraceAnalysis) none = analyse(trace, &question);
    g_assert_cmpint(none->critical_batch, ==, -1);
    g_assert_cmpuint(none->critical_path->len, ==, 0);
}

/* What nothing recorded explains is a step of its own: the path never has holes. */
static void test_path_gaps(void)
{
    static const Step steps[] = { { IFM_EVENT_OTHER, 0, 0, 10 },  { IFM_EVENT_BLOCK, 1, 10, 15 },
                                  { IFM_EVENT_INFER, 1, 15, 40 }, { IFM_EVENT_BLOCK, 1, 40, 42 },
                                  { IFM_EVENT_MERGE, 1, 42, 50 }, { IFM_EVENT_OTHER, 0, 50, 60 } };
    Pipeline p = pipeline_new("gaps");
    g_autoptr(IfmTrace) trace = p.trace;
    record(p.cpu, IFM_EVENT_INFER, 1, 0, 15, 40, -1);
    record(p.gpu, IFM_EVENT_INFER, 1, 0, 12, 39, -1);
    record(p.host[0], IFM_EVENT_MERGE, 1, 0, 42, 50, -1);
    record(p.host[0], IFM_EVENT_BLOCK, 1, 0, 10, 50, -1);
    record(p.queue, IFM_EVENT_BATCH, 0, 0, 0, 60, -1);
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    check_path(analysis, steps, G_N_ELEMENTS(steps));
}

/* A batch that was parted while its device had the one before waits for its turn: that is in the block's time and its own
 * step, but in none of the parts that add up to the block's total, by which the bottleneck goes. */
static void test_turn(void)
{
    static const Step steps[] = { { IFM_EVENT_PARTITION, 1, 10, 20 }, { IFM_EVENT_BLOCK, 1, 20, 90 },
                                  { IFM_EVENT_INFER, 1, 90, 160 },    { IFM_EVENT_BLOCK, 1, 160, 165 },
                                  { IFM_EVENT_MERGE, 1, 165, 170 },   { IFM_EVENT_PARTITION, 2, 170, 172 },
                                  { IFM_EVENT_BLOCK, 2, 172, 175 },   { IFM_EVENT_INFER, 2, 175, 270 } };
    Pipeline p = pipeline_new("turn");
    g_autoptr(IfmTrace) trace = p.trace;
    record(p.host[0], IFM_EVENT_PARTITION, 1, 0, 0, 10, -1);
    record(p.cpu, IFM_EVENT_INFER, 1, 0, 5, 90, -1); /* it begins before partition has ended */
    record(p.gpu, IFM_EVENT_INFER, 1, 0, 8, 60, -1);
    record(p.host[0], IFM_EVENT_MERGE, 1, 0, 90, 95, -1);
    record(p.host[0], IFM_EVENT_BLOCK, 1, 0, 0, 95, -1);
    record(p.queue, IFM_EVENT_BATCH, 0, 0, 0, 95, -1);
    record(p.host[0], IFM_EVENT_PARTITION, 1, 1, 10, 20, -1);
    record(p.cpu, IFM_EVENT_INFER, 1, 1, 90, 160, -1);
    record(p.gpu, IFM_EVENT_INFER, 1, 1, 60, 150, -1); /* longer, but nobody waited for its end */
    record(p.host[0], IFM_EVENT_MERGE, 1, 1, 165, 170, -1);
    record(p.host[0], IFM_EVENT_BLOCK, 1, 1, 10, 170, -1);
    record(p.host[1], IFM_EVENT_PARTITION, 2, 1, 170, 172, -1);
    record(p.npu, IFM_EVENT_INFER, 2, 1, 175, 270, -1); /* which had none before: handed over */
    record(p.host[1], IFM_EVENT_BLOCK, 2, 1, 170, 270, -1);
    record(p.queue, IFM_EVENT_BATCH, 0, 1, 10, 270, -1);
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    question.batch = 1;
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, &question);
    check_sums(analysis);
    check_path(analysis, steps, G_N_ELEMENTS(steps));
    for (guint i = 0; i < G_N_ELEMENTS(steps); i++)
        g_assert_cmpint(g_array_index(analysis->critical_path, IfmPathStep, i).turn, ==, i == 1);
    const IfmPathStep *wait = &g_array_index(analysis->critical_path, IfmPathStep, 1);
    g_assert_cmpstr(ifm_trace_track_info(trace, wait->track)->device, ==, "CPU");
    static const gint64 totals[] = { 95, -1, 10 + 70 + 10, 2 + 95 }, turns[] = { 0, -1, 70, 3 };
    for (guint i = 0; i < G_N_ELEMENTS(totals); i++)
    {
        g_assert_cmpint(g_array_index(analysis->batch_stage_ns, gint64, i), ==, totals[i]);
        g_assert_cmpint(g_array_index(analysis->batch_turn_ns, gint64, i), ==, turns[i]);
    }
    const IfmStageUse *first = &g_array_index(analysis->stages, IfmStageUse, 0);
    g_assert_cmpfloat(first->partition_ns, ==, 10);
    g_assert_cmpfloat(first->turn_ns, ==, 35);
    g_assert_cmpfloat(first->device_ns, ==, (80 + 70) / 2.0);
    g_assert_cmpfloat(first->merge_ns, ==, (5 + 10) / 2.0); /* from the device's end */
    g_assert_cmpuint(first->n_bottleneck, ==, 1);           /* batch 1 was longer in it than in the second, by its turn */
}

/* A block of two devices with several batches at a time: a partner's slice that ended just before an inference held nothing
 * up; what the inference's own device did before, did. */
typedef struct
{
    IfmEventKind kind;
    const char *device; /* NULL: the host */
    gint64 start, end;
    gint32 busy_with; /* of a turn; -1: none */
} DepthStep;

static void check_depth(const IfmTrace *trace, gint32 batch, const DepthStep *steps, gsize n)
{
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    question.batch = batch;
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, &question);
    check_sums(analysis);
    g_assert_cmpint(analysis->critical_batch, ==, batch);
    g_assert_cmpuint(analysis->critical_path->len, ==, n);
    for (gsize i = 0; i < n; i++)
    {
        const IfmPathStep *step = &g_array_index(analysis->critical_path, IfmPathStep, i);
        g_assert_cmpstr(ifm_event_kind_name(step->kind), ==, ifm_event_kind_name(steps[i].kind));
        g_assert_cmpstr(ifm_trace_track_info(trace, step->track)->device, ==, steps[i].device);
        g_assert_cmpint(step->block, ==, 1);
        g_assert_cmpint(step->start_ns, ==, steps[i].start);
        g_assert_cmpint(step->start_ns + step->duration_ns, ==, steps[i].end);
        g_assert_cmpint(step->turn, ==, steps[i].busy_with >= 0);
        g_assert_cmpint(step->batch, ==, steps[i].busy_with >= 0 ? steps[i].busy_with : batch);
    }
}

/* Partition, CPU, GPU, and merge up to the leaving. */
static void record_depth(const Pipeline *p, int batch, const gint64 times[8])
{
    record(p->host[0], IFM_EVENT_PARTITION, 1, batch, times[0], times[1], -1);
    record(p->cpu, IFM_EVENT_INFER, 1, batch, times[2], times[3], -1);
    record(p->gpu, IFM_EVENT_INFER, 1, batch, times[4], times[5], -1);
    record(p->host[0], IFM_EVENT_MERGE, 1, batch, times[6], times[7], -1);
    record(p->host[0], IFM_EVENT_BLOCK, 1, batch, times[0], times[7], -1);
    record(p->queue, IFM_EVENT_BATCH, 0, batch, times[0], times[7], -1);
}

static void test_depth(void)
{
    static const gint64 times[][8] = {
        { 0, 10, 10, 100, 10, 60, 100, 110 },       /* batch 0 */
        { 10, 20, 103, 200, 60, 96, 200, 210 },     /* GPU ended 7 before CPU began, which had batch 0 until 3 before */
        { 110, 120, 200, 250, 120, 300, 300, 310 }, /* GPU, free, ended last: CPU's wait held nothing up */
        { 240, 260, 255, 400, 300, 330, 400, 410 }, /* CPU began while partition went on */
        { 260, 265, 400, 450, 330, 399, 450, 460 },
        { 270, 280, 450, 500, 399, 449, 500, 505 }, /* three at a time: it waited for two */
    };
    static const DepthStep of_1[] = { { IFM_EVENT_PARTITION, NULL, 10, 20, -1 },
                                      { IFM_EVENT_BLOCK, "CPU", 20, 100, 0 },
                                      { IFM_EVENT_BLOCK, NULL, 100, 103, -1 },
                                      { IFM_EVENT_INFER, "CPU", 103, 200, -1 },
                                      { IFM_EVENT_MERGE, NULL, 200, 210, -1 } };
    static const DepthStep of_2[] = { { IFM_EVENT_PARTITION, NULL, 110, 120, -1 },
                                      { IFM_EVENT_INFER, "GPU", 120, 300, -1 },
                                      { IFM_EVENT_MERGE, NULL, 300, 310, -1 } };
    static const DepthStep of_3[] = { { IFM_EVENT_PARTITION, NULL, 240, 255, -1 },
                                      { IFM_EVENT_INFER, "CPU", 255, 400, -1 },
                                      { IFM_EVENT_MERGE, NULL, 400, 410, -1 } };
    static const DepthStep of_5[] = { { IFM_EVENT_PARTITION, NULL, 270, 280, -1 },
                                      { IFM_EVENT_BLOCK, "CPU", 280, 400, 3 },
                                      { IFM_EVENT_BLOCK, "CPU", 400, 450, 4 },
                                      { IFM_EVENT_INFER, "CPU", 450, 500, -1 },
                                      { IFM_EVENT_MERGE, NULL, 500, 505, -1 } };
    Pipeline p = pipeline_new("depth");
    g_autoptr(IfmTrace) trace = p.trace;
    for (int i = 0; i < (int)G_N_ELEMENTS(times); i++)
        record_depth(&p, i, times[i]);
    check_depth(trace, 1, of_1, G_N_ELEMENTS(of_1));
    check_depth(trace, 2, of_2, G_N_ELEMENTS(of_2));
    check_depth(trace, 3, of_3, G_N_ELEMENTS(of_3));
    check_depth(trace, 5, of_5, G_N_ELEMENTS(of_5));
}

/* A window counts what lies in it: events are cut at its edges, batches belong where they leave. */
static void test_window(void)
{
    g_autoptr(IfmTrace) trace = pipeline_trace("known");
    IfmTraceQuestion question = { .start_ns = 60, .end_ns = 400, .batch = -1 };
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, &question);
    check_sums(analysis);
    const IfmTrackUse *cpu = use_of(analysis, 0), *npu = use_of(analysis, 2);
    g_assert_cmpint(analysis->window_ns, ==, 340);
    g_assert_cmpint(cpu->busy_ns, ==, 30 + 60 + 60);
    g_assert_cmpuint(cpu->n_events, ==, 3);
    g_assert_cmpint(cpu->device_ns, ==, 25 + 50 + 50); /* half of the one that is cut in half */
    g_assert_cmpuint(cpu->n_bubbles, ==, 2);           /* the third ends beyond it */
    g_assert_cmpint(npu->busy_ns, ==, 200 + 90);
    check_idle(cpu, 95, 50, 0, 45, 0, 0);
    g_assert_cmpuint(analysis->n_left, ==, 1);
    g_assert_cmpint(g_array_index(analysis->batch_ids, gint32, 0), ==, 0);
    g_assert_cmpint(g_array_index(analysis->batch_stage_ns, gint64, 0), ==, 80);
    g_assert_cmpfloat(analysis->latency.max_ns, ==, 285);
}

/* --- single cases ----------------------------------------------------------------------------------------------------- */

static void test_overlap(void)
{
    Pipeline p = pipeline_new("overlap");
    g_autoptr(IfmTrace) trace = p.trace;
    record(p.cpu, IFM_EVENT_INFER, 1, 0, 0, 50, -1);
    record(p.cpu, IFM_EVENT_INFER, 1, 1, 40, 80, -1);
    record(p.cpu, IFM_EVENT_INFER, 1, 2, 45, 60, -1);
    record(p.cpu, IFM_EVENT_INFER, 1, 3, 90, 100, -1);
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    const IfmTrackUse *cpu = use_of(analysis, 0);
    check_sums(analysis);
    g_assert_cmpint(cpu->busy_ns, ==, 90);
    g_assert_cmpuint(cpu->n_bubbles, ==, 1);
    g_assert_cmpint(cpu->bubble_max_ns, ==, 10);
    g_assert_cmpuint(analysis->warnings->len, ==, 1);
    g_assert_cmpstr(
        analysis->warnings->pdata[0], ==,
        "CPU stream 0: 2 inferences overlap the one before on the same stream: what overlaps is counted once, and "
        "viewers do not show it");
    /* Devices that were given nothing had no work. */
    g_assert_cmpint(use_of(analysis, 1)->idle_by_cause_ns[IFM_IDLE_NO_WORK], ==, 100);
}

/* A mean that every inference was given is no device time of any; times that are the same, and fit, are. */
static void test_mean_for_all(void)
{
    Pipeline p = pipeline_new("mean");
    g_autoptr(IfmTrace) trace = p.trace;
    ifm_trace_set_meta(trace, json_pack("{s:i}", "device_time_left_out", 5));
    for (int i = 0; i < 3; i++)
    {
        record(p.cpu, IFM_EVENT_INFER, 1, i, 200 * i, 200 * i + 20 + 60 * i, 43);
        record(p.gpu, IFM_EVENT_INFER, 2, i, 200 * i, 200 * i + 50, 43);
    }
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    check_sums(analysis);
    const IfmTrackUse *cpu = use_of(analysis, 0), *gpu = use_of(analysis, 1);
    g_assert_cmpuint(cpu->n_device, ==, 0);
    g_assert_cmpint(cpu->device_ns, ==, -1);
    g_assert_true(isnan(cpu->penalty_mean_ns) && isnan(cpu->hw_utilisation));
    g_assert_cmpuint(gpu->n_device, ==, 3);
    g_assert_cmpfloat(gpu->penalty_mean_ns, ==, 7);
    g_assert_cmpuint(analysis->warnings->len, ==, 2);
    g_assert_cmpstr(analysis->warnings->pdata[0], ==,
                    "CPU stream 0: all 3 device times are 43 ns, some beyond what the inference took: that is their mean, "
                    "not the time of each, and not used");
    g_assert_true(g_str_has_prefix(analysis->warnings->pdata[1], "5 inferences were counted but have no device time"));
}

static void test_dropped(void)
{
    Pipeline p = pipeline_new("dropped");
    g_autoptr(IfmTrace) trace = p.trace;
    for (int i = 0; i < 11; i++)
        record(p.cpu, IFM_EVENT_INFER, 1, i, 10 * i, 10 * i + 5, -1);
    record(p.host[0], IFM_EVENT_MERGE, 1, 0, 30, 20, -1);
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    g_assert_cmpuint(analysis->n_dropped, ==, 3);
    g_assert_cmpuint(analysis->warnings->len, ==, 2);
    g_assert_cmpstr(analysis->warnings->pdata[0], ==,
                    "3 events were dropped, as their tracks were full: all figures lack them");
    g_assert_cmpstr(analysis->warnings->pdata[1], ==,
                    "1 events end before they start: the clock ran backwards; they count as 0 long");
    g_assert_cmpuint(use_of(analysis, 0)->n_events, ==, 8);
}

static void record_failed(IfmTrack *track, IfmEventKind kind, int block, int batch, gint64 start, gint64 end)
{
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = (guint8)kind;
    event.block = (guint16)block;
    event.first = event.last = 1;
    event.batch = batch;
    event.start_ns = start;
    event.duration_ns = end - start;
    event.failed = 1;
    ifm_track_record(track, &event);
}

/* CPU is lost at batch 1; the batch goes through a new plan's block 1, on GPU and over other stages. */
static void test_failed(void)
{
    Pipeline p = pipeline_new("failed");
    g_autoptr(IfmTrace) trace = p.trace;
    record(p.cpu, IFM_EVENT_INFER, 1, 0, 0, 40, -1);
    record(p.host[0], IFM_EVENT_BLOCK, 1, 0, 0, 40, -1);
    record(p.queue, IFM_EVENT_BATCH, 0, 0, 0, 40, -1);
    record_failed(p.cpu, IFM_EVENT_INFER, 1, 1, 40, 60);
    record_failed(p.host[0], IFM_EVENT_BLOCK, 1, 1, 40, 60);
    record(p.gpu, IFM_EVENT_INFER, 1, 1, 70, 130, -1);
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = IFM_EVENT_BLOCK;
    event.block = event.first = 1;
    event.last = 7;
    event.batch = 1;
    event.start_ns = 65;
    event.duration_ns = 70;
    ifm_track_record(p.host[0], &event);
    record(p.queue, IFM_EVENT_BATCH, 0, 1, 20, 135, -1);
    record_failed(p.queue, IFM_EVENT_BATCH, 0, 2, 20, 150);
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    check_sums(analysis);
    g_assert_cmpuint(analysis->n_failed, ==, 1);
    g_assert_cmpuint(analysis->n_batches, ==, 3);
    g_assert_cmpuint(analysis->n_left, ==, 2);
    g_assert_cmpuint(analysis->n_failed_batches, ==, 1);
    g_assert_cmpfloat(analysis->latency.max_ns, ==, 115);
    g_assert_cmpint(use_of(analysis, 0)->busy_ns, ==, 60);
    g_assert_cmpint(use_of(analysis, 0)->idle_by_cause_ns[IFM_IDLE_NO_WORK], ==, 90); /* lost: nothing comes any more */
    g_assert_cmpuint(analysis->stages->len, ==, 2);
    static const gint64 table[] = { 40, -1, -1, 70, -1, -1 };
    for (guint i = 0; i < 6; i++)
        g_assert_cmpint(g_array_index(analysis->batch_stage_ns, gint64, i), ==, table[i]);
}

static void test_refusals(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmTrace) empty = ifm_trace_new("nothing.json");
    g_assert_null(ifm_trace_analyse(empty, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, "nothing.json: the trace has no events: there is nothing to analyse");
    g_clear_error(&error);
    g_autoptr(IfmTrace) trace = pipeline_trace("known.json");
    IfmTraceQuestion question = { .start_ns = 100, .end_ns = 100, .batch = -1 };
    g_assert_null(ifm_trace_analyse(trace, &question, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==,
                    "known.json: the window from 100 to 100 ns is empty: its end must come after its start");
    g_clear_error(&error);
    question = (IfmTraceQuestion){ .start_ns = G_MININT64, .end_ns = G_MAXINT64, .batch = -1 };
    g_assert_null(ifm_trace_analyse(trace, &question, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* Two streams of one device: a device that works on another stream is not another device. */
static void test_streams(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("streams");
    IfmTrack *first = add_track(trace, IFM_TRACK_DEVICE, "a", "CPU", 0, 1, 8);
    IfmTrack *second = add_track(trace, IFM_TRACK_DEVICE, "b", "CPU", 1, 1, 8);
    IfmTrack *other = add_track(trace, IFM_TRACK_DEVICE, "c", "GPU", 0, 2, 8);
    record(first, IFM_EVENT_INFER, 1, 0, 0, 40, -1);
    record(second, IFM_EVENT_INFER, 1, 1, 30, 70, -1);
    record(other, IFM_EVENT_INFER, 2, 0, 60, 100, -1);
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    check_sums(analysis);
    g_assert_cmpint(use_of(analysis, 0)->idle_others_busy_ns, ==, 40);
    g_assert_cmpint(use_of(analysis, 1)->idle_others_busy_ns, ==, 30);
    g_assert_cmpint(use_of(analysis, 2)->idle_others_busy_ns, ==, 60);
}

static void record_node(IfmTrace *trace, IfmTrack *track, const char *name, IfmEventKind kind, gint64 start, gint64 end)
{
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = (guint8)kind;
    event.name = ifm_trace_intern(trace, name);
    event.start_ns = start;
    event.duration_ns = end - start;
    ifm_track_record(track, &event);
}

/* A trace of someone else's: threads, slices within slices, nodes. */
static void test_foreign(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("foreign");
    IfmTrack *thread = add_track(trace, IFM_TRACK_FOREIGN, "main", NULL, 0, 0, 16);
    add_track(trace, IFM_TRACK_FOREIGN, "never did a thing", NULL, 0, 0, 16);
    IfmTrack *worker = add_track(trace, IFM_TRACK_FOREIGN, "worker", NULL, 0, 0, 16);
    record_node(trace, thread, "Reorder conv1/reorder", IFM_EVENT_NODE, 12, 20);
    record_node(trace, thread, "If", IFM_EVENT_NODE, 20, 60);
    record_node(trace, thread, "Convert", IFM_EVENT_NODE, 30, 35);
    record_node(trace, thread, "Conv", IFM_EVENT_NODE, 35, 60);
    record_node(trace, thread, "model_run", IFM_EVENT_OTHER, 10, 70);
    record_node(trace, thread, "model_run", IFM_EVENT_OTHER, 90, 100);
    record_node(trace, worker, "job", IFM_EVENT_OTHER, 0, 30);
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    check_sums(analysis);
    g_assert_cmpuint(analysis->n_devices, ==, 2);
    const IfmTrackUse *main_use = use_of(analysis, 0);
    g_assert_cmpuint(main_use->n_events, ==, 2);
    g_assert_cmpint(main_use->busy_ns, ==, 70);
    g_assert_cmpint(main_use->node_ns, ==, 48);
    g_assert_cmpint(main_use->marshalling_ns, ==, 13);
    g_assert_cmpint(main_use->idle_by_cause_ns[IFM_IDLE_UNKNOWN], ==, 30);
    g_assert_cmpint(main_use->bubble_max_ns, ==, 20);
    g_assert_cmpint(main_use->idle_others_busy_ns, ==, 10);
    g_assert_cmpint(use_of(analysis, 1)->marshalling_ns, ==, -1);
    g_assert_cmpuint(analysis->n_batches, ==, 0);
    g_assert_true(isnan(analysis->throughput_per_s) && isnan(analysis->latency.p50_ns));
    g_assert_cmpint(analysis->critical_batch, ==, -1);
    g_assert_true(ifm_node_is_marshalling("MemcpyToHost") && ifm_node_is_marshalling("Cast InsertedPrecisionFreeCast_x"));
    g_assert_false(ifm_node_is_marshalling("Cast a") || ifm_node_is_marshalling("ConvertNot Convert") ||
                   ifm_node_is_marshalling("MatMul"));
}

/* ONNX Runtime's profile of a real model: what its own JSON says, read by another reader. */
static void test_onnxruntime_nodes(void)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "trace", "data", "onnxruntime-profile.json", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) traces = ifm_trace_read(path, NULL, &error);
    g_assert_no_error(error);
    json_auto_t *root = json_load_file(path, 0, NULL);
    json_int_t all_us = 0, reorders_us = 0;
    gsize index, n_reorders = 0;
    json_t *event;
    json_array_foreach(root, index, event)
    {
        const char *op = json_string_value(json_object_get(json_object_get(event, "args"), "op_name"));
        json_int_t us = json_integer_value(json_object_get(event, "dur"));
        if (op == NULL)
            continue;
        all_us += us;
        if (g_str_equal(op, "ReorderOutput"))
        {
            reorders_us += us;
            n_reorders++;
        }
    }
    g_assert_cmpuint(n_reorders, ==, 3);
    g_assert_cmpint(reorders_us, >, 0);
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces->pdata[0], NULL);
    const IfmTrackUse *use = use_of(analysis, 0);
    g_assert_cmpint(use->marshalling_ns, ==, reorders_us * 1000);
    g_assert_cmpint(use->node_ns, ==, all_us * 1000);
    g_assert_cmpint(use->busy_ns, ==, all_us * 1000); /* what lies around the nodes is no work of its own */
}

/* --- random traces against counting every nanosecond ------------------------------------------------------------------ */

#define MAX_NS 300
#define N_DEVICES 4
#define N_TRACKS 7

typedef struct
{
    IfmTrace *trace;
    IfmEvent events[N_TRACKS][64];
    gsize n[N_TRACKS];
} Random;

static void add_random(Random *r, GRand *rand, IfmTrack **tracks, int track, IfmEventKind kind)
{
    IfmEvent *event = &r->events[track][r->n[track]++];
    *event = IFM_EVENT_INIT;
    event->kind = (guint8)kind;
    event->block = (guint16)g_rand_int_range(rand, 1, 3);
    event->batch = g_rand_int_range(rand, g_rand_int_range(rand, 0, 8) == 0 ? -1 : 0, 6);
    event->start_ns = g_rand_int_range(rand, 0, MAX_NS - 60);
    event->duration_ns = g_rand_int_range(rand, kind == IFM_EVENT_INFER ? 1 : 0, 60);
    event->failed = g_rand_int_range(rand, 0, 12) == 0;
    event->track = (guint32)track;
    ifm_track_record(tracks[track], event);
}

static void random_new(Random *r, GRand *rand)
{
    static const IfmEventKind others[] = { IFM_EVENT_PARTITION,  IFM_EVENT_MERGE,       IFM_EVENT_COPY,  IFM_EVENT_QUEUE,
                                           IFM_EVENT_WAIT_INPUT, IFM_EVENT_WAIT_OUTPUT, IFM_EVENT_BLOCK, IFM_EVENT_BATCH };
    static const char *const devices[N_DEVICES] = { "CPU", "GPU", "CPU", "NPU" };
    IfmTrack *tracks[N_TRACKS];
    r->trace = ifm_trace_new("random");
    memset(r->n, 0, sizeof r->n);
    for (int i = 0; i < N_TRACKS; i++)
        tracks[i] = add_track(r->trace,
                              i < N_DEVICES ? IFM_TRACK_DEVICE
                              : i < 6       ? IFM_TRACK_HOST
                                            : IFM_TRACK_QUEUE,
                              "x", i < N_DEVICES ? devices[i] : NULL, i / 2, 0, 64);
    int n_runs = g_rand_int_range(rand, 1, 30), n_others = g_rand_int_range(rand, 0, 20);
    for (int i = 0; i < n_runs; i++)
        add_random(r, rand, tracks, g_rand_int_range(rand, 0, N_DEVICES), IFM_EVENT_INFER);
    for (int i = 0; i < n_others; i++)
        add_random(r, rand, tracks, g_rand_int_range(rand, N_DEVICES, N_TRACKS),
                   others[g_rand_int_range(rand, 0, G_N_ELEMENTS(others))]);
}

static gboolean is_at(const IfmEvent *event, gint64 t)
{
    return event->start_ns <= t && t < event->start_ns + event->duration_ns;
}

static gboolean is_busy(const Random *r, int track, gint64 t)
{
    for (gsize i = 0; i < r->n[track]; i++)
        if (is_at(&r->events[track][i], t))
            return TRUE;
    return FALSE;
}

/* Whether an event of a kind, of the block, is under way. */
static gboolean is_any(const Random *r, IfmEventKind kind, int block, gint64 t)
{
    for (int track = 0; track < N_TRACKS; track++)
        for (gsize i = 0; i < r->n[track]; i++)
            if (r->events[track][i].kind == kind && r->events[track][i].block == block && is_at(&r->events[track][i], t))
                return TRUE;
    return FALSE;
}

static gboolean is_partner(const Random *r, int block, gint32 done, gint64 t)
{
    for (int track = 0; track < N_DEVICES; track++)
        for (gsize i = 0; i < r->n[track]; i++)
        {
            const IfmEvent *event = &r->events[track][i];
            if (event->block == block && event->batch >= 0 && event->batch <= done && is_at(event, t))
                return TRUE;
        }
    return FALSE;
}

static IfmIdleCause cause_of(const Random *r, int block, gint32 done, gint64 t)
{
    if (is_any(r, IFM_EVENT_COPY, block, t))
        return IFM_IDLE_TRANSFER;
    if (is_any(r, IFM_EVENT_PARTITION, block, t) || is_any(r, IFM_EVENT_MERGE, block, t))
        return IFM_IDLE_HOST;
    if (is_any(r, IFM_EVENT_WAIT_OUTPUT, block, t))
        return IFM_IDLE_QUEUE_FULL;
    if (is_any(r, IFM_EVENT_WAIT_INPUT, block, t))
        return IFM_IDLE_UPSTREAM;
    if (is_partner(r, block, done, t))
        return IFM_IDLE_PARTNER;
    return is_any(r, IFM_EVENT_BLOCK, block, t) ? IFM_IDLE_HOST : IFM_IDLE_UNKNOWN;
}

/* When the block was done with the batch of the device's last inference. */
static gint64 end_of_last(const Random *r, const IfmEvent *last)
{
    gint64 end = last->start_ns + last->duration_ns;
    for (int track = N_DEVICES; track < N_TRACKS && !last->failed; track++)
        for (gsize i = 0; i < r->n[track]; i++)
        {
            const IfmEvent *event = &r->events[track][i];
            if (event->kind == IFM_EVENT_BLOCK && event->block == last->block && event->batch == last->batch &&
                event->batch >= 0 && !event->failed)
                end = MAX(end, event->start_ns + event->duration_ns);
        }
    return end;
}

static IfmIdleCause idle_cause(const Random *r, int track, gint64 t)
{
    gint64 entry = G_MAXINT64;
    gint32 done = -1;
    const IfmEvent *next = NULL, *last = NULL;
    for (gsize i = 0; i < r->n[track]; i++)
    {
        const IfmEvent *event = &r->events[track][i];
        if (event->start_ns > t && (next == NULL || event->start_ns < next->start_ns))
            next = event;
        if (event->start_ns <= t)
            done = MAX(done, event->batch);
    }
    if (next == NULL && r->n[track] == 0)
        return IFM_IDLE_NO_WORK;
    for (int k = N_DEVICES; k < N_TRACKS; k++)
        for (gsize i = 0; i < r->n[k]; i++)
            if (r->events[k][i].kind == IFM_EVENT_BATCH)
                entry = MIN(entry, r->events[k][i].start_ns);
    gboolean before_all = TRUE;
    for (gsize i = 0; i < r->n[track]; i++)
        before_all = before_all && r->events[track][i].start_ns > t;
    if (before_all && (entry == G_MAXINT64 || t < entry))
        return IFM_IDLE_NO_WORK;
    if (next != NULL)
        return cause_of(r, next->block, done, t);
    for (gsize i = 0; i < r->n[track]; i++) /* the one that ended last; of several, the one that started last */
    {
        const IfmEvent *event = &r->events[track][i];
        gint64 end = event->start_ns + event->duration_ns, last_end = last != NULL ? last->start_ns + last->duration_ns : 0;
        if (last == NULL || end > last_end || (end == last_end && event->start_ns >= last->start_ns))
            last = event;
    }
    return t >= end_of_last(r, last) ? IFM_IDLE_NO_WORK : cause_of(r, last->block, done, t);
}

/* Gaps that have work on both sides of them, within the window. */
static void count_bubbles(const Random *r, int track, gint64 start, gint64 end, gsize *n, gint64 *max)
{
    gint64 idle = -1; /* none before the first work */
    *n = 0;
    *max = 0;
    for (gint64 t = start; t < end; t++)
        if (!is_busy(r, track, t))
            idle += idle >= 0;
        else
        {
            *n += idle > 0;
            *max = MAX(*max, idle);
            idle = 0;
        }
}

/* Whatever the trace: steps meet end to start, from a batch's entry to its leaving. */
static void check_steps(const Random *r, const IfmTraceAnalysis *analysis)
{
    const GArray *path = analysis->critical_path;
    gboolean found = path->len == 0;
    for (guint i = 1; i < path->len; i++)
    {
        const IfmPathStep *step = &g_array_index(path, IfmPathStep, i);
        g_assert_cmpint(step->duration_ns, >, 0);
        g_assert_cmpint(step[-1].start_ns + step[-1].duration_ns, ==, step->start_ns);
    }
    for (int track = 0; track < N_TRACKS; track++)
        for (gsize i = 0; i < r->n[track] && !found; i++)
        {
            const IfmEvent *event = &r->events[track][i];
            const IfmPathStep *first = &g_array_index(path, IfmPathStep, 0),
                              *last = &g_array_index(path, IfmPathStep, path->len - 1);
            found = event->kind == IFM_EVENT_BATCH && event->batch == analysis->critical_batch &&
                    event->start_ns == first->start_ns &&
                    event->start_ns + event->duration_ns == last->start_ns + last->duration_ns;
        }
    g_assert_true(found);
}

static void check_random(const Random *r, const IfmTraceQuestion *question)
{
    static const int device_of[N_DEVICES] = { 0, 1, 0, 2 };
    g_autoptr(IfmTraceAnalysis) analysis = analyse(r->trace, question);
    check_sums(analysis);
    check_steps(r, analysis);
    for (int track = 0; track < N_DEVICES; track++)
    {
        const IfmTrackUse *use = use_of(analysis, (guint)track);
        gint64 busy = 0, others = 0, causes[IFM_N_IDLE_CAUSES] = { 0 }, max;
        gsize n;
        for (gint64 t = analysis->start_ns; t < analysis->end_ns; t++)
        {
            gboolean other = FALSE;
            if (is_busy(r, track, t))
            {
                busy++;
                continue;
            }
            for (int k = 0; k < N_DEVICES; k++)
                other |= device_of[k] != device_of[track] && is_busy(r, k, t);
            others += other;
            causes[idle_cause(r, track, t)]++;
        }
        count_bubbles(r, track, analysis->start_ns, analysis->end_ns, &n, &max);
        g_assert_cmpint(use->busy_ns, ==, busy);
        g_assert_cmpint(use->idle_others_busy_ns, ==, others);
        for (int k = 0; k < IFM_N_IDLE_CAUSES; k++)
            g_assert_cmpint(use->idle_by_cause_ns[k], ==, causes[k]);
        g_assert_cmpuint(use->n_bubbles, ==, n);
        g_assert_cmpint(use->bubble_max_ns, ==, max);
    }
}

static void test_random(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    for (int i = 0; i < 600; i++)
    {
        Random r;
        random_new(&r, rand);
        IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
        check_random(&r, &question);
        question.start_ns = g_rand_int_range(rand, -10, MAX_NS / 2);
        question.end_ns = g_rand_int_range(rand, MAX_NS / 2 + 1, MAX_NS + 10);
        check_random(&r, &question);
        ifm_trace_free(r.trace);
    }
}

/* --- JSON ------------------------------------------------------------------------------------------------------------- */

static const json_t *member(const json_t *json, const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, ".", -1);
    for (char **part = parts; *part != NULL; part++)
        json = g_ascii_isdigit(**part) ? json_array_get(json, (gsize)g_ascii_strtoull(*part, NULL, 10))
                                       : json_object_get(json, *part);
    return json;
}

static void test_json(void)
{
    static const struct
    {
        const char *path;
        gint64 value;
    } whole[] = { { "window.duration_ns", 920 },
                  { "devices", 3 },
                  { "busy_ns", 1160 },
                  { "bottleneck_block", 2 },
                  { "tracks.0.idle.by_cause_ns.host", 80 },
                  { "tracks.1.idle.by_cause_ns.partner", 120 },
                  { "tracks.0.bubbles.histogram.0.count", 3 },
                  { "tracks.0.bubbles.histogram.1.below_ns", 4000 },
                  { "tracks.0.device_ns", 200 },
                  { "stages.1.bottleneck_count", 4 },
                  { "batches.left", 4 },
                  { "batches.rows.3.stage_total_ns.1", 205 },
                  { "critical_path.steps.2.start_ns", 110 },
                  { "dropped_events", 0 } };
    g_autoptr(IfmTrace) trace = pipeline_trace("known");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, NULL);
    json_t *json = ifm_trace_analysis_to_json(analysis, trace);
    for (gsize i = 0; i < G_N_ELEMENTS(whole); i++)
    {
        g_assert_true(json_is_integer(member(json, whole[i].path)));
        g_assert_cmpint(json_integer_value(member(json, whole[i].path)), ==, whole[i].value);
    }
    g_assert_true(json_is_null(member(json, "tracks.2.hw_utilisation"))); /* unavailable is null, never 0 */
    g_assert_true(json_is_null(member(json, "tracks.1.device_ns")));
    g_assert_true(json_is_null(member(json, "tracks.0.bubbles.histogram.11.below_ns")));
    g_assert_cmpfloat(json_real_value(member(json, "batches.cycle.p99_ns")), ==, 205);
    g_assert_cmpstr(json_string_value(member(json, "tracks.0.device")), ==, "CPU");
    g_assert_cmpstr(json_string_value(member(json, "critical_path.steps.2.kind")), ==, "infer");
    json_decref(json);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/analyse/devices", test_devices);
    g_test_add_func("/trace/analyse/penalties", test_penalties);
    g_test_add_func("/trace/analyse/batches", test_batches);
    g_test_add_func("/trace/analyse/path", test_path);
    g_test_add_func("/trace/analyse/path-gaps", test_path_gaps);
    g_test_add_func("/trace/analyse/turn", test_turn);
    g_test_add_func("/trace/analyse/depth", test_depth);
    g_test_add_func("/trace/analyse/window", test_window);
    g_test_add_func("/trace/analyse/overlap", test_overlap);
    g_test_add_func("/trace/analyse/dropped", test_dropped);
    g_test_add_func("/trace/analyse/mean-for-all", test_mean_for_all);
    g_test_add_func("/trace/analyse/failed", test_failed);
    g_test_add_func("/trace/analyse/refusals", test_refusals);
    g_test_add_func("/trace/analyse/streams", test_streams);
    g_test_add_func("/trace/analyse/foreign", test_foreign);
    g_test_add_func("/trace/analyse/onnxruntime-nodes", test_onnxruntime_nodes);
    g_test_add_func("/trace/analyse/random", test_random);
    g_test_add_func("/trace/analyse/json", test_json);
    return g_test_run();
}
