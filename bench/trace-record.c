/*
 * What recording one event costs: a loop that makes events and records them against the same loop that makes them and does
 * not. Interleaved, on one pinned thread; the buffer is larger than the caches, as that of a long run is. Beside it, with
 * two looks at the clock for each event, as an event that is measured has. Bound: at most 30 ns an event. Fails where the
 * whole 95 % interval lies above that.
 */
#include <base/base.h>
#include <base/statistics.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <trace/trace.h>

#include "bench.h"

enum
{
    ROUNDS = 41,
    EVENTS = 1 << 19, /* 32 MiB */
};
#define MAX_NS 30.0

typedef struct
{
    IfmClock *clock;
    IfmTrack *track;
    gboolean looks_at_clock;
} Loop;

static inline void make_event(const Loop *loop, gint64 i, IfmEvent *event)
{
    *event = IFM_EVENT_INIT;
    event->kind = IFM_EVENT_INFER;
    event->batch = (gint32)i;
    event->block = 1;
    event->start_ns = loop->looks_at_clock ? ifm_clock_now_ns(loop->clock) : i;
    event->duration_ns = loop->looks_at_clock ? ifm_clock_now_ns(loop->clock) - event->start_ns : i;
    __asm__ volatile("" : : "r"(event) : "memory"); /* it is made, whether recorded or not */
}

static double __attribute__((noinline)) bare_ns(const Loop *loop)
{
    gint64 start_ns = ifm_clock_now_ns(loop->clock);
    for (gint64 i = 0; i < EVENTS; i++)
    {
        IfmEvent event;
        make_event(loop, i, &event);
    }
    return (double)(ifm_clock_now_ns(loop->clock) - start_ns) / EVENTS;
}

static double __attribute__((noinline)) recorded_ns(const Loop *loop)
{
    atomic_store(&loop->track->n, 0);
    gint64 start_ns = ifm_clock_now_ns(loop->clock);
    for (gint64 i = 0; i < EVENTS; i++)
    {
        IfmEvent event;
        make_event(loop, i, &event);
        ifm_track_record(loop->track, &event);
    }
    double ns = (double)(ifm_clock_now_ns(loop->clock) - start_ns) / EVENTS;
    if (atomic_load(&loop->track->n) != EVENTS)
        abort();
    return ns;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static IfmInterval sorted_interval(double *values, double *median)
{
    IfmInterval interval;
    qsort(values, ROUNDS, sizeof *values, compare_doubles);
    *median = ifm_quantile(values, ROUNDS, 0.5);
    ifm_quantile_interval(values, ROUNDS, ROUNDS, 0.5, 0.95, &interval);
    return interval;
}

static gboolean compare(const Loop *loop, const char *what, double max_ns)
{
    double bare[ROUNDS], costs[ROUNDS], ratios[ROUNDS], bare_median, cost, ratio;
    bare_ns(loop);
    recorded_ns(loop);
    for (int i = 0; i < ROUNDS; i++)
    {
        double first = i % 2 == 0 ? bare_ns(loop) : recorded_ns(loop);
        double second = i % 2 == 0 ? recorded_ns(loop) : bare_ns(loop);
        double recorded = i % 2 == 0 ? second : first;
        bare[i] = i % 2 == 0 ? first : second;
        costs[i] = recorded - bare[i];
        ratios[i] = recorded / bare[i];
    }
    sorted_interval(bare, &bare_median);
    IfmInterval cost_interval = sorted_interval(costs, &cost), ratio_interval = sorted_interval(ratios, &ratio);
    gboolean good = cost_interval.lower <= max_ns;
    printf("%-22s without %6.2f ns   recording adds %6.2f ns [%6.2f, %6.2f]   ratio %6.2f [%6.2f, %6.2f]   "
           "bound %.0f ns: %s\n",
           what, bare_median, cost, cost_interval.lower, cost_interval.upper, ratio, ratio_interval.lower,
           ratio_interval.upper, max_ns, good ? cost <= max_ns ? "kept" : "not told apart" : "BROKEN");
    return good;
}

int main(void)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(g_get_num_processors() - 1, &cores);
    sched_setaffinity(0, sizeof cores, &cores);
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmTrace) trace = ifm_trace_new("bench");
    IfmTrackInfo info = { .kind = IFM_TRACK_DEVICE, .process = (char *)"bench", .thread = (char *)"one" };
    Loop loop = { .clock = clock, .track = ifm_trace_add_track(trace, &info, EVENTS) };
    gboolean good = compare(&loop, "an event", MAX_NS);
    loop.looks_at_clock = TRUE;
    return bench_status(compare(&loop, "with two clock readings", MAX_NS) && good);
}
