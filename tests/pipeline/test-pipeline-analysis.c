#include <math.h>

#include "fixture.h"
#include <trace/trace.h>

/*
 * A run through the pipeline, its trace, what the analysis makes of it, and what it must come to by hand.
 *
 * Block 1 is A and B, stages 1 to 3, in halves: A takes 6 ms (counters: 4.8), B 9 ms (8.1); a batch leaves it after 9 ms.
 * Block 2 is C, stages 4 to 7: COPY_IN ms, 20 ms (counters: 20), COPY_OUT ms, CYCLE in all. Each has one batch at a time,
 * and the queue between them one. So, in ms, of batches 0 to 9:
 *
 *   block 2 has batch i from 9 + i CYCLE to 9 + (i + 1) CYCLE = leaves(i);
 *   block 1 has batch 0 from 0, 1 from 9, 2 from 18, and batch i from leaves(i - 3), when batch i - 2 leaves the queue;
 *   the run takes 9 + 10 CYCLE.
 *
 * Host work takes no time on a virtual clock, but for copies.
 */
#define N 10
#define COPY_IN (N_COPIES_IN * 0.5)
#define COPY_OUT 0.5
#define CYCLE (COPY_IN + 20 + COPY_OUT)
#define WINDOW (9 + N * CYCLE)
/* what stages 4 to 7 read: the sums, x by destination, edge_index */
#define N_COPIES_IN 3

static void assert_near(const char *what, double ns, double ms)
{
    if (fabs(ns - ms * 1e6) > 0.01 * fabs(ms) * 1e6 + 100) /* nodes are cut to a ns */
        g_error("%s is %.0f ns; %.0f is expected", what, ns, ms * 1e6);
}

typedef struct
{
    const char *alias;
    double busy, device, penalty; /* of all; of all; of one */
    gsize n_bubbles;
    double bubbles, longest; /* the sum; the longest */
    double upstream, transfer, queue_full, partner, no_work;
} Known;

/* A is idle 3 ms of each batch as B still works; both while block 1 holds a batch that the queue has no room for: after
 * batch 2 from 27 to leaves(0), after batches 3 to 8 for CYCLE - 9 each. Batch 9 leaves block 1 at leaves(6) + 9. */
static const Known known[] = {
    { "A", 60, 48, 1.2, 9, 3 + 3 + (CYCLE - 15) + 6 * (CYCLE - 6), CYCLE - 6, 0, 0, (CYCLE - 18) + 6 * (CYCLE - 9), 30,
      3 * CYCLE - 9 },
    { "B", 90, 81, 0.9, 7, (CYCLE - 18) + 6 * (CYCLE - 9), CYCLE - 9, 0, 0, (CYCLE - 18) + 6 * (CYCLE - 9), 0,
      3 * CYCLE - 9 },
    { "C", 200, 200, 0, 9, 9 * (COPY_IN + COPY_OUT), COPY_IN + COPY_OUT, 9, N *(COPY_IN + COPY_OUT), 0, 0, 0 },
};

static void check_track(const IfmTrackUse *use, const Known *right)
{
    g_assert_cmpstr(use->info->device, ==, right->alias);
    g_assert_cmpuint(use->n_events, ==, N);
    assert_near("busy", (double)use->busy_ns, right->busy);
    assert_near("idle", (double)use->idle_ns, WINDOW - right->busy);
    g_assert_cmpfloat_with_epsilon(use->wall_utilisation, right->busy / WINDOW, 0.01 * right->busy / WINDOW);
    assert_near("device time", (double)use->device_ns, right->device);
    g_assert_cmpfloat_with_epsilon(use->hw_utilisation, right->device / WINDOW, 0.01 * right->device / WINDOW);
    assert_near("mean penalty", use->penalty_mean_ns, right->penalty);
    g_assert_cmpfloat_with_epsilon(use->penalty_ratio, (right->busy - right->device) / right->busy, 0.001);
    g_assert_cmpuint(use->n_bubbles, ==, right->n_bubbles);
    assert_near("bubbles", (double)use->bubble_sum_ns, right->bubbles);
    assert_near("mean bubble", use->bubble_mean_ns, right->bubbles / (double)right->n_bubbles);
    assert_near("longest bubble", (double)use->bubble_max_ns, right->longest);
    assert_near("idle: upstream", (double)use->idle_by_cause_ns[IFM_IDLE_UPSTREAM], right->upstream);
    assert_near("idle: transfer", (double)use->idle_by_cause_ns[IFM_IDLE_TRANSFER], right->transfer);
    assert_near("idle: queue full", (double)use->idle_by_cause_ns[IFM_IDLE_QUEUE_FULL], right->queue_full);
    assert_near("idle: partner", (double)use->idle_by_cause_ns[IFM_IDLE_PARTNER], right->partner);
    assert_near("idle: no work", (double)use->idle_by_cause_ns[IFM_IDLE_NO_WORK], right->no_work);
    assert_near("idle: host", (double)use->idle_by_cause_ns[IFM_IDLE_HOST], 0);
    assert_near("idle: unknown", (double)use->idle_by_cause_ns[IFM_IDLE_UNKNOWN], 0);
    /* none works while C's results are copied, nor while the last two batches are copied to it */
    assert_near("idle while others are idle", (double)use->idle_alone_ns, N * COPY_OUT + 2 * COPY_IN);
}

static void check_stages(const IfmTraceAnalysis *analysis)
{
    const IfmStageUse *first = &g_array_index(analysis->stages, IfmStageUse, 0), *second = first + 1;
    g_assert_cmpuint(analysis->stages->len, ==, 2);
    assert_near("block 1", first->mean_ns, 9);
    assert_near("block 1, devices", first->device_ns, 9);
    assert_near("block 1, partition", first->partition_ns, 0);
    assert_near("block 1, merge", first->merge_ns, 0);
    assert_near("block 2", second->mean_ns, CYCLE);
    assert_near("block 2, partition", second->partition_ns, COPY_IN);
    assert_near("block 2, devices", second->device_ns, 20);
    assert_near("block 2, merge", second->merge_ns, COPY_OUT);
    assert_near("turns", first->turn_ns + second->turn_ns, 0); /* a batch at a time */
    g_assert_cmpuint(first->n_bottleneck, ==, 0);
    g_assert_cmpuint(second->n_bottleneck, ==, N);
    g_assert_cmpint(analysis->bottleneck_block, ==, 2);
    assert_near("cycle", analysis->cycle.p50_ns, CYCLE);
    assert_near("longest cycle", analysis->cycle.max_ns, CYCLE);
}

/* Batches 3 to 9 are on their way for 3 cycles each: B, room, the queue, C between its copies. */
static void check_path(const IfmTraceAnalysis *analysis, const IfmTrace *trace)
{
    static const struct
    {
        IfmEventKind kind;
        int block;
        double ms;
    } right[] = { { IFM_EVENT_INFER, 1, 9 },     { IFM_EVENT_WAIT_OUTPUT, 1, CYCLE - 9 },
                  { IFM_EVENT_QUEUE, 2, CYCLE }, { IFM_EVENT_COPY, 2, COPY_IN },
                  { IFM_EVENT_INFER, 2, 20 },    { IFM_EVENT_COPY, 2, COPY_OUT } };
    assert_near("median latency", analysis->latency.p50_ns, 3 * CYCLE);
    g_assert_cmpuint(analysis->critical_path->len, ==, G_N_ELEMENTS(right));
    for (guint i = 0; i < G_N_ELEMENTS(right); i++)
    {
        const IfmPathStep *step = &g_array_index(analysis->critical_path, IfmPathStep, i);
        g_assert_cmpstr(ifm_event_kind_name(step->kind), ==, ifm_event_kind_name(right[i].kind));
        g_assert_cmpint(step->block, ==, right[i].block);
        g_assert_false(step->turn);
        assert_near("step", (double)step->duration_ns, right[i].ms);
    }
    g_assert_cmpstr(ifm_trace_track_info(trace, g_array_index(analysis->critical_path, IfmPathStep, 0).track)->device, ==,
                    "B");
}

/* What the trace says of a batch in a block is what the pipeline says. */
static void check_times(const IfmTraceAnalysis *analysis, const IfmPipelineResult *result)
{
    g_assert_cmpuint(analysis->n_batches, ==, result->n_batches);
    g_assert_cmpuint(analysis->stages->len, ==, result->n_blocks);
    for (gsize i = 0; i < result->n_batches * result->n_blocks; i++)
    {
        g_assert_cmpint(g_array_index(analysis->batch_stage_ns, gint64, i), ==, result->times[i].total_ns);
        g_assert_cmpint(g_array_index(analysis->batch_turn_ns, gint64, i), ==, result->times[i].turn_ns);
    }
    for (gsize b = 0; b < result->n_blocks; b++)
    {
        const IfmStageUse *stage = &g_array_index(analysis->stages, IfmStageUse, b);
        double partition = 0, device = 0, merge = 0, n = (double)result->n_batches;
        for (gsize i = b; i < result->n_batches * result->n_blocks; i += result->n_blocks)
        {
            partition += (double)result->times[i].partition_ns / n;
            device += (double)result->times[i].device_ns / n;
            merge += (double)result->times[i].merge_ns / n;
        }
        g_assert_cmpfloat_with_epsilon(stage->partition_ns, partition, 1e-3);
        g_assert_cmpfloat_with_epsilon(stage->device_ns, device, 1e-3);
        g_assert_cmpfloat_with_epsilon(stage->merge_ns, merge, 1e-3);
    }
}

static IfmTraceAnalysis *run_and_analyse(Run *run, const char *devices, const char *blocks, gsize n)
{
    run->trace = run->options.trace = ifm_trace_new("known");
    run->options.trace_batches = n;
    run_plan(run, make_plan(devices, blocks), n);
    g_assert_no_error(run->error);
    assert_delivered(run, n);
    IfmTraceAnalysis *analysis = ifm_trace_analyse(run->trace, NULL, &run->error);
    g_assert_no_error(run->error);
    g_assert_cmpuint(analysis->warnings->len, ==, 0);
    check_times(analysis, &run->result);
    return analysis;
}

static void test_known(void)
{
    Run run;
    run_init(&run);
    run.options.block_depth = run.options.queue_depth = 1;
    run.options.device_time = IFM_DEVICE_TIME_ON;
    g_autoptr(IfmTraceAnalysis) analysis =
        run_and_analyse(&run, "A=simulated:known/A,B=simulated:known/B,C=simulated:known/C",
                        "[[[\"A\",\"B\"],[1,2,3],[0.5,0.5]],[[\"C\"],[4,5,6,7],[1]]]", N);
    assert_near("window", (double)analysis->window_ns, WINDOW);
    assert_near("makespan", (double)analysis->makespan_ns, WINDOW);
    g_assert_cmpfloat_with_epsilon(analysis->throughput_per_s, N * 1e3 / WINDOW, 0.01 * N * 1e3 / WINDOW);
    g_assert_cmpuint(analysis->n_devices, ==, G_N_ELEMENTS(known));
    for (guint i = 0; i < G_N_ELEMENTS(known); i++)
        check_track(&g_array_index(analysis->tracks, IfmTrackUse, i), &known[i]);
    check_stages(analysis);
    check_path(analysis, run.trace);
    run_clear(&run);
}

/* With room for two, each batch but the first waits for its turn as long as the device takes: 9 ms. */
static void test_turns(void)
{
    Run run;
    run_init(&run);
    g_autoptr(IfmTraceAnalysis) analysis =
        run_and_analyse(&run, "B=simulated:known/B", "[[[\"B\"],[1,2,3,4,5,6,7],[1]]]", N);
    const IfmStageUse *stage = &g_array_index(analysis->stages, IfmStageUse, 0);
    assert_near("total", stage->mean_ns, 9);
    assert_near("devices", stage->device_ns, 9);
    assert_near("turn", stage->turn_ns, 9.0 * (N - 1) / N);
    assert_near("cycle", analysis->cycle.p50_ns, 9);
    assert_near("latency", analysis->latency.p50_ns, 18);
    g_assert_cmpuint(analysis->critical_path->len, ==, 2);
    const IfmPathStep *wait = &g_array_index(analysis->critical_path, IfmPathStep, 0), *infer = wait + 1;
    g_assert_true(wait->turn);
    g_assert_cmpstr(ifm_trace_track_info(run.trace, wait->track)->device, ==, "B");
    assert_near("wait", (double)wait->duration_ns, 9);
    g_assert_cmpint(infer->kind, ==, IFM_EVENT_INFER);
    run_clear(&run);
}

/* Two streams, parts of random latency, two batches in a block: the books are those of the pipeline all the same. */
static void test_noisy(void)
{
    Run run;
    run_init(&run);
    g_autoptr(IfmTraceAnalysis) analysis =
        run_and_analyse(&run, "A=simulated:line/NOISY-A,B=simulated:line/NOISY-B,C=simulated:line/NOISY-C#2",
                        "[[[\"A\",\"B\"],[1,2,3],[0.5,0.5]],[[\"C\"],[4,5,6,7],[1]]]", 500);
    g_assert_cmpfloat(g_array_index(analysis->stages, IfmStageUse, 0).turn_ns, >, 0);
    run_clear(&run);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    use_devices();
    g_test_add_func("/pipeline/analysis/known", test_known);
    g_test_add_func("/pipeline/analysis/turns", test_turns);
    g_test_add_func("/pipeline/analysis/noisy", test_noisy);
    return g_test_run();
}
