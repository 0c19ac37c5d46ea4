/*
 * Reading a trace of about 100 MB: how fast, and how much memory at most, beside a reader that makes a document of it
 * (jansson). Each in a process of its own, whose peak the system tells. Bound: the peak is at most the events' own 64 bytes
 * and half as much again (what a growing buffer may have over) and 32 MiB for the process. Fails above that.
 */
#include <base/base.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <trace/trace.h>
#include <unistd.h>

#include "bench.h"

enum
{
    TRACKS = 4,
    EVENTS = 90000, /* of a track: about 100 MB of JSON */
};
#define MIB (1024.0 * 1024.0)

static int write_trace(const char *path)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("bench");
    for (int t = 0; t < TRACKS; t++)
    {
        IfmTrackInfo info = { .kind = IFM_TRACK_DEVICE, .process = (char *)"run", .thread = (char *)"CPU", .stream = t };
        IfmTrack *track = ifm_trace_add_track(trace, &info, EVENTS);
        for (int i = 0; i < EVENTS; i++)
        {
            IfmEvent event = IFM_EVENT_INIT;
            event.kind = IFM_EVENT_INFER;
            event.name = ifm_trace_intern(trace, "graphsage stages 1 to 3");
            event.start_ns = (gint64)i * 1234567;
            event.duration_ns = 1200000 + i % 1000;
            event.device_ns = 1100000 + i % 999;
            event.overhead_ns = i % 7777;
            event.batch = i;
            event.block = (guint16)(t + 1);
            event.first = 1;
            event.last = 3;
            ifm_track_record(track, &event);
        }
    }
    const IfmTrace *traces[] = { trace };
    return ifm_trace_write(traces, 1, path, NULL) ? 0 : 1;
}

static int read_trace(const char *path)
{
    g_autoptr(GPtrArray) traces = ifm_trace_read(path, NULL, NULL);
    return traces != NULL && ifm_trace_n_events(g_ptr_array_index(traces, 0)) == TRACKS * EVENTS ? 0 : 1;
}

static int read_document(const char *path)
{
    json_auto_t *root = json_load_file(path, 0, NULL);
    return json_array_size(json_object_get(root, "traceEvents")) >= TRACKS * EVENTS ? 0 : 1;
}

typedef struct
{
    double seconds, peak_bytes;
} Cost;

static Cost run(int (*job)(const char *path), const char *path, const char *what)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    struct rusage usage;
    int status;
    gint64 start_ns = ifm_clock_now_ns(clock);
    pid_t child = fork();
    if (child == 0)
        _exit(job(path));
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    {
        fprintf(stderr, "trace-read: %s failed\n", what);
        exit(1);
    }
    return (Cost){ (double)(ifm_clock_now_ns(clock) - start_ns) * 1e-9, (double)usage.ru_maxrss * 1024 };
}

static void report(const char *what, Cost cost, double bytes, Cost peer)
{
    const double events = TRACKS * EVENTS;
    printf(
        "%-34s %6.2f s  %6.1f MB/s of JSON  %5.2f million events/s  peak %7.1f MiB = %5.1f bytes an event   peer / this: "
        "time %.2f, memory %.2f\n",
        what, cost.seconds, bytes / 1e6 / cost.seconds, events / 1e6 / cost.seconds, cost.peak_bytes / MIB,
        cost.peak_bytes / events, peer.seconds / cost.seconds, peer.peak_bytes / cost.peak_bytes);
}

int main(void)
{
    g_autofree char *folder = g_dir_make_tmp("inferometer-bench-XXXXXX", NULL);
    g_autofree char *plain = g_build_filename(folder, "trace.json", NULL);
    g_autofree char *packed = g_build_filename(folder, "trace.json.gz", NULL);
    double max = 1.5 * 64.0 * TRACKS * EVENTS + 32 * MIB, peak = 0;
    GStatBuf plain_stat, packed_stat;
    setvbuf(stdout, NULL, _IOLBF, 0); /* each line as soon as it is known, into a file, too */
    run(write_trace, plain, "writing");
    Cost packing = run(write_trace, packed, "writing gzip");
    if (g_stat(plain, &plain_stat) != 0 || g_stat(packed, &packed_stat) != 0)
        return 1;
    double bytes = (double)plain_stat.st_size;
    printf("%.1f MB of JSON (%.1f MB gzip, written in %.2f s), %d events of 64 bytes: %.1f MiB\n", bytes / 1e6,
           (double)packed_stat.st_size / 1e6, packing.seconds, TRACKS * EVENTS, 64.0 * TRACKS * EVENTS / MIB);
    for (int round = 0; round < bench_rounds(3, 1); round++)
    {
        Cost ours = run(read_trace, plain, "reading"), document = run(read_document, plain, "jansson");
        Cost unpacking = run(read_trace, packed, "reading gzip");
        report("ifm_trace_read()", ours, bytes, document);
        report("ifm_trace_read(), gzip", unpacking, bytes, document);
        report("peer: a document by jansson", document, bytes, document);
        peak = MAX(peak, MAX(ours.peak_bytes, unpacking.peak_bytes));
    }
    g_unlink(plain);
    g_unlink(packed);
    g_rmdir(folder);
    printf("peak %.1f MiB   bound %.1f MiB: %s\n", peak / MIB, max / MIB, peak <= max ? "kept" : "BROKEN");
    return bench_status(peak <= max);
}
