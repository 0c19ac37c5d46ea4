/* Recording: tracks, names, full buffers, threads. */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <trace/trace.h>

static void test_kinds(void)
{
    static const char *const names[] = { "infer", "partition", "merge", "copy",   "queue",  "wait-input", "wait-output",
                                         "block", "batch",     "node",  "kernel", "launch", "annotation", "other" };
    g_assert_cmpint(G_N_ELEMENTS(names), ==, IFM_N_EVENT_KINDS);
    for (int i = 0; i < IFM_N_EVENT_KINDS; i++)
        g_assert_cmpstr(ifm_event_kind_name((IfmEventKind)i), ==, names[i]);
}

static void test_names(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("a run");
    guint32 a = ifm_trace_intern(trace, "a"), b = ifm_trace_intern(trace, "b");
    g_autofree char *other_a = g_strdup("a");
    g_assert_cmpstr(ifm_trace_name(trace), ==, "a run");
    g_assert_cmpuint(a, !=, b);
    g_assert_cmpuint(ifm_trace_intern(trace, other_a), ==, a);
    g_assert_cmpstr(ifm_trace_text(trace, a), ==, "a");
    g_assert_cmpstr(ifm_trace_text(trace, b), ==, "b");
    /* what an event has before it is named */
    g_assert_cmpstr(ifm_trace_text(trace, IFM_EVENT_INIT.name), ==, "");
    for (int i = 0; i < 10000; i++)
    {
        g_autofree char *text = g_strdup_printf("name %d", i);
        g_assert_cmpstr(ifm_trace_text(trace, ifm_trace_intern(trace, text)), ==, text);
    }
    g_assert_cmpstr(ifm_trace_text(trace, a), ==, "a");
}

static void test_meta(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("x");
    g_assert_cmpuint(json_object_size(ifm_trace_meta(trace)), ==, 0);
    ifm_trace_set_meta(trace, json_pack("{s:i}", "batches", 3));
    ifm_trace_set_meta(trace, json_pack("{s:i}", "batches", 4));
    g_assert_cmpint(json_integer_value(json_object_get(ifm_trace_meta(trace), "batches")), ==, 4);
}

static void test_tracks(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("x");
    char process[] = "run", thread[] = "CPU stream 0", device[] = "CPU";
    IfmTrackInfo info = {
        .kind = IFM_TRACK_DEVICE, .process = process, .thread = thread, .device = device, .stream = 2, .block = 1
    };
    IfmTrack *first = ifm_trace_add_track(trace, &info, 3);
    strcpy(process, "sim");
    strcpy(thread, "gone");
    ifm_trace_add_track(trace, &info, 0);
    strcpy(process, "run");
    ifm_trace_add_track(trace, &info, 0);
    info.pid = 77;
    info.tid = 5;
    ifm_trace_add_track(trace, &info, 0);
    const IfmTrackInfo *of_first = ifm_trace_track_info(trace, 0), *of_last = ifm_trace_track_info(trace, 3);
    g_assert_cmpuint(ifm_trace_n_tracks(trace), ==, 4);
    g_assert_cmpstr(of_first->process, ==, "run");
    g_assert_cmpstr(of_first->thread, ==, "CPU stream 0");
    g_assert_cmpstr(of_first->device, ==, "CPU");
    g_assert_null(of_first->spec);
    g_assert_cmpint(of_first->stream, ==, 2);
    g_assert_cmpint(of_first->pid, !=, 0);
    g_assert_cmpint(of_first->pid, ==, ifm_trace_track_info(trace, 2)->pid); /* one process, two threads */
    g_assert_cmpint(of_first->tid, !=, ifm_trace_track_info(trace, 2)->tid);
    g_assert_cmpint(of_first->pid, !=, ifm_trace_track_info(trace, 1)->pid);
    g_assert_cmpint(of_last->pid, ==, 77);
    g_assert_cmpint(of_last->tid, ==, 5);
    g_assert_cmpuint((gsize)first->events % 64, ==, 0);
}

static void test_full(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("x");
    IfmTrackInfo info = { .kind = IFM_TRACK_HOST, .process = (char *)"run", .thread = (char *)"host" };
    IfmTrack *none = ifm_trace_add_track(trace, &info, 0);
    IfmTrack *three = ifm_trace_add_track(trace, &info, 3);
    IfmEvent event = IFM_EVENT_INIT;
    for (int i = 0; i < 5; i++)
    {
        event.start_ns = i;
        event.batch = i;
        ifm_track_record(three, &event);
    }
    ifm_track_record(none, &event);
    gsize n;
    const IfmEvent *events = ifm_trace_events(trace, 1, &n);
    g_assert_cmpuint(n, ==, 3);
    for (int i = 0; i < 3; i++)
    {
        g_assert_cmpint(events[i].start_ns, ==, i);
        g_assert_cmpint(events[i].batch, ==, i);
        g_assert_cmpint(events[i].device_ns, ==, -1);
        g_assert_cmpuint(events[i].track, ==, 1);
    }
    g_assert_cmpuint(ifm_trace_n_events(trace), ==, 3);
    g_assert_cmpuint(ifm_trace_n_dropped(trace), ==, 3);
}

/* --- threads ---------------------------------------------------------------------------------------------------------- */

#define N_THREADS 4
#define N_EVENTS 20000
#define ROOM 15000

typedef struct
{
    IfmTrack *track;
    gint64 salt;
} Writer;

static gint64 expected(gint64 salt, gint64 i, int field)
{
    return (salt << 40) + i * 8 + field;
}

static void *write_events(void *user)
{
    const Writer *writer = user;
    for (gint64 i = 0; i < N_EVENTS; i++)
    {
        IfmEvent event = IFM_EVENT_INIT;
        event.start_ns = expected(writer->salt, i, 0);
        event.duration_ns = expected(writer->salt, i, 1);
        event.device_ns = expected(writer->salt, i, 2);
        event.bytes = expected(writer->salt, i, 3);
        ifm_track_record(writer->track, &event);
    }
    return NULL;
}

static void check_events(const IfmTrace *trace, gsize track, gsize *n)
{
    const IfmEvent *events = ifm_trace_events(trace, track, n);
    for (gsize i = 0; i < *n; i++)
    {
        g_assert_cmpint(events[i].start_ns, ==, expected((gint64)track + 1, (gint64)i, 0));
        g_assert_cmpint(events[i].duration_ns, ==, expected((gint64)track + 1, (gint64)i, 1));
        g_assert_cmpint(events[i].device_ns, ==, expected((gint64)track + 1, (gint64)i, 2));
        g_assert_cmpint(events[i].bytes, ==, expected((gint64)track + 1, (gint64)i, 3));
        g_assert_cmpuint(events[i].track, ==, track);
    }
}

/* Each track by its own thread, and all read while they are written: what is counted is whole. */
static void test_threads(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("x");
    pthread_t threads[N_THREADS];
    Writer writers[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
    {
        IfmTrackInfo info = { .kind = IFM_TRACK_DEVICE, .process = (char *)"run", .thread = (char *)"t" };
        writers[i] = (Writer){ ifm_trace_add_track(trace, &info, ROOM), i + 1 };
    }
    for (int i = 0; i < N_THREADS; i++)
        g_assert_cmpint(pthread_create(&threads[i], NULL, write_events, &writers[i]), ==, 0);
    gsize n = 0, last[N_THREADS] = { 0 };
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < N_THREADS; i++)
        {
            check_events(trace, (gsize)i, &n);
            g_assert_cmpuint(n, >=, last[i]);
            last[i] = n;
        }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N_THREADS; i++)
    {
        check_events(trace, (gsize)i, &n);
        g_assert_cmpuint(n, ==, ROOM);
    }
    g_assert_cmpuint(ifm_trace_n_events(trace), ==, N_THREADS * ROOM);
    g_assert_cmpuint(ifm_trace_n_dropped(trace), ==, N_THREADS * (N_EVENTS - ROOM));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/record/kinds", test_kinds);
    g_test_add_func("/trace/record/names", test_names);
    g_test_add_func("/trace/record/meta", test_meta);
    g_test_add_func("/trace/record/tracks", test_tracks);
    g_test_add_func("/trace/record/full", test_full);
    g_test_add_func("/trace/record/threads", test_threads);
    return g_test_run();
}
