/*
 * How long the analysis of a trace of a million events takes, from events in memory to every figure. The trace is made up,
 * always the same: a pipeline of two blocks, the first on two devices, the second on one, with a bounded queue between them
 * and batches that come at random. bench/trace-analysis.py computes the same figures with pandas, turn about with this one.
 *
 *     trace-analysis          prints the time
 *     trace-analysis serve    reads commands: "run" (analyses, prints ns), "csv FILE", "json FILE" (the events, the
 * figures)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <base/statistics.h>
#include <trace/trace.h>

enum
{
    EVENTS = 1000000,
    PER_BATCH = 13, /* at most */
    RUNS = 25,
};
#define US 1000

typedef struct
{
    IfmTrace *trace;
    GRand *random;
    IfmTrack *cpu, *gpu, *npu, *host[2], *queue;
    guint32 names[IFM_N_EVENT_KINDS];
    gsize n;
} Maker;

static IfmTrack *add_track(Maker *maker, IfmTrackKind kind, const char *thread, const char *device, int block)
{
    IfmTrackInfo info = {
        .kind = kind, .process = (char *)"run", .thread = (char *)thread, .device = (char *)device, .block = block
    };
    return ifm_trace_add_track(maker->trace, &info, EVENTS);
}

static void record(Maker *maker, IfmTrack *track, IfmEventKind kind, int block, int batch, gint64 start, gint64 end,
                   gint64 device_ns)
{
    IfmEvent event = IFM_EVENT_INIT;
    if (end <= start)
        return;
    event.kind = (guint8)kind;
    event.name = maker->names[kind];
    event.block = (guint16)block;
    event.first = block == 1 ? 1 : block == 2 ? 4 : 0;
    event.last = block == 1 ? 3 : block == 2 ? 7 : 0;
    event.batch = batch;
    event.start_ns = start;
    event.duration_ns = end - start;
    event.device_ns = device_ns;
    ifm_track_record(track, &event);
    maker->n++;
}

static gint64 between(Maker *maker, int low_us, int high_us)
{
    return g_rand_int_range(maker->random, low_us * US, high_us * US);
}

/* Returns: when the batch is merged. */
static gint64 run_first(Maker *maker, int batch, gint64 start)
{
    gint64 partitioned = start + between(maker, 5, 20), cpu = partitioned + between(maker, 0, 3),
           gpu = partitioned + between(maker, 0, 3);
    gint64 cpu_end = cpu + between(maker, 200, 400), gpu_end = gpu + between(maker, 180, 420);
    gint64 end = MAX(cpu_end, gpu_end), merged = end + between(maker, 5, 20);
    record(maker, maker->host[0], IFM_EVENT_PARTITION, 1, batch, start, partitioned, -1);
    record(maker, maker->cpu, IFM_EVENT_INFER, 1, batch, cpu, cpu_end, cpu_end - cpu - between(maker, 1, 20));
    record(maker, maker->gpu, IFM_EVENT_INFER, 1, batch, gpu, gpu_end,
           batch % 16 == 0 ? gpu_end - gpu - between(maker, 1, 20) : -1);
    record(maker, maker->host[0], IFM_EVENT_MERGE, 1, batch, end, merged, -1);
    record(maker, maker->host[0], IFM_EVENT_BLOCK, 1, batch, start, merged, -1);
    return merged;
}

static gint64 run_second(Maker *maker, int batch, gint64 start)
{
    gint64 copied = start + between(maker, 3, 10), run = copied + between(maker, 0, 2),
           end = run + between(maker, 150, 500);
    record(maker, maker->host[1], IFM_EVENT_COPY, 2, batch, start, copied, -1);
    record(maker, maker->npu, IFM_EVENT_INFER, 2, batch, run, end, -1);
    record(maker, maker->host[1], IFM_EVENT_BLOCK, 2, batch, start, end, -1);
    return end;
}

static void make_batches(Maker *maker)
{
    gint64 entered = 20 * US, free_first = 0, taken_second = 0, free_second = 0;
    for (int batch = 0; maker->n + PER_BATCH <= EVENTS; batch++)
    {
        gint64 first = MAX(entered, free_first);
        record(maker, maker->host[0], IFM_EVENT_WAIT_INPUT, 1, -1, free_first, first, -1);
        record(maker, maker->queue, IFM_EVENT_QUEUE, 1, batch, entered, first, -1);
        gint64 merged = run_first(maker, batch, first), put = MAX(merged, taken_second);
        record(maker, maker->host[0], IFM_EVENT_WAIT_OUTPUT, 1, batch, merged, put, -1);
        gint64 second = MAX(put, free_second);
        record(maker, maker->host[1], IFM_EVENT_WAIT_INPUT, 2, -1, free_second, second, -1);
        record(maker, maker->queue, IFM_EVENT_QUEUE, 2, batch, put, second, -1);
        gint64 end = run_second(maker, batch, second);
        record(maker, maker->queue, IFM_EVENT_BATCH, 0, batch, entered, end, -1);
        free_first = put;
        taken_second = second;
        free_second = end;
        entered += between(maker, 50, 700);
    }
}

static IfmTrace *make_trace(void)
{
    Maker maker = { .trace = ifm_trace_new("made up"), .random = g_rand_new_with_seed(1) };
    for (int i = 0; i < IFM_N_EVENT_KINDS; i++)
        maker.names[i] = ifm_trace_intern(maker.trace, ifm_event_kind_name(i));
    maker.cpu = add_track(&maker, IFM_TRACK_DEVICE, "CPU stream 0", "CPU", 1);
    maker.gpu = add_track(&maker, IFM_TRACK_DEVICE, "GPU stream 0", "GPU", 1);
    maker.npu = add_track(&maker, IFM_TRACK_DEVICE, "NPU stream 0", "NPU", 2);
    maker.host[0] = add_track(&maker, IFM_TRACK_HOST, "block 1 host", NULL, 1);
    maker.host[1] = add_track(&maker, IFM_TRACK_HOST, "block 2 host", NULL, 2);
    maker.queue = add_track(&maker, IFM_TRACK_QUEUE, "batches", NULL, 0);
    make_batches(&maker);
    g_rand_free(maker.random);
    return maker.trace;
}

/* Processor time: the analysis is one thread, and what else the machine does is none of it. */
static gint64 processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * G_GINT64_CONSTANT(1000000000) + now.tv_nsec;
}

static IfmTraceAnalysis *analyse(const IfmTrace *trace, gint64 *took_ns)
{
    g_autoptr(GError) error = NULL;
    gint64 before_ns = processor_ns();
    IfmTraceAnalysis *analysis = ifm_trace_analyse(trace, NULL, &error);
    *took_ns = processor_ns() - before_ns;
    if (analysis == NULL)
    {
        fprintf(stderr, "trace-analysis: %s\n", error->message);
        exit(1);
    }
    return analysis;
}

static gboolean write_events(const IfmTrace *trace, const char *path, GError **error)
{
    g_autofree char *text = ifm_trace_events_to_csv(&trace, 1);
    return ifm_output_write(path, text, strlen(text), error);
}

static gboolean write_figures(const IfmTrace *trace, const char *path, GError **error)
{
    gint64 took_ns;
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace, &took_ns);
    json_t *json = ifm_trace_analysis_to_json(analysis, trace);
    gboolean ok = ifm_output_write_json(path, json, error);
    json_decref(json);
    return ok;
}

static int serve(const IfmTrace *trace)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin) != NULL)
    {
        g_autoptr(GError) error = NULL;
        gint64 took_ns = 0;
        gboolean ok = TRUE;
        g_strchomp(line);
        if (g_str_has_prefix(line, "csv "))
            ok = write_events(trace, line + 4, &error);
        else if (g_str_has_prefix(line, "json "))
            ok = write_figures(trace, line + 5, &error);
        else
            ifm_trace_analysis_free(analyse(trace, &took_ns));
        if (!ok)
        {
            fprintf(stderr, "trace-analysis: %s\n", error->message);
            return 1;
        }
        printf("%" G_GINT64_FORMAT "\n", took_ns);
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    g_autoptr(IfmTrace) trace = make_trace();
    if (argc > 1 && g_str_equal(argv[1], "serve"))
        return serve(trace);
    gint64 times_ns[RUNS];
    IfmSummary summary;
    for (int i = 0; i < RUNS; i++)
        ifm_trace_analysis_free(analyse(trace, &times_ns[i]));
    ifm_summary_compute(times_ns, RUNS, 0.95, &summary);
    printf("%" G_GSIZE_FORMAT " events analysed in %.1f ms of processor time [%.1f, %.1f]: %.1f ns an event\n",
           ifm_trace_n_events(trace), summary.median / 1e6, summary.median_interval.lower / 1e6,
           summary.median_interval.upper / 1e6, summary.median / (double)ifm_trace_n_events(trace));
    return 0;
}
