/* Traces for the tests of this room: random ones, and their comparison field by field. */
#pragma once
#include <glib/gstdio.h>
#include <string.h>
#include <trace/trace.h>

static inline IfmTrack *fixture_track(IfmTrace *trace, IfmTrackKind kind, const char *thread, int block, gsize capacity)
{
    IfmTrackInfo info = { .kind = kind, .process = (char *)"run", .thread = (char *)thread, .block = block };
    if (kind == IFM_TRACK_DEVICE)
    {
        info.device = (char *)"CPU";
        info.spec = (char *)"simulated:meteor-lake/CPU";
    }
    return ifm_trace_add_track(trace, &info, capacity);
}

static inline void fixture_record(IfmTrack *track, IfmEventKind kind, gint64 start_ns, gint64 end_ns, gint32 batch,
                                  int block)
{
    IfmEvent event = IFM_EVENT_INIT;
    event.kind = (guint8)kind;
    event.start_ns = start_ns;
    event.duration_ns = end_ns - start_ns;
    event.batch = batch;
    event.block = (guint16)block;
    ifm_track_record(track, &event);
}

static inline gint64 fixture_number(GRand *rand)
{
    switch (g_rand_int_range(rand, 0, 4))
    {
    case 0:
        return g_rand_int_range(rand, -1, 2);
    case 1:
        return g_rand_int(rand);
    case 2:
        return G_MAXINT64;
    default:
        return (gint64)(((guint64)g_rand_int(rand) << 32) | g_rand_int(rand));
    }
}

static inline char *fixture_text(GRand *rand)
{
    static const char *const parts[] = { "a", "Conv 1", "\"", "\\", "\n", "\x01", "ü", "€", "𝄞", "\x7f", "/", "</script>" };
    GString *text = g_string_new(NULL);
    for (int i = g_rand_int_range(rand, 0, 6); i > 0; i--)
        g_string_append(text, parts[g_rand_int_range(rand, 0, G_N_ELEMENTS(parts))]);
    return g_string_free(text, FALSE);
}

static inline void fixture_random_track(IfmTrace *trace, GRand *rand, gint64 origin_ns)
{
    g_autofree char *process = fixture_text(rand), *thread = fixture_text(rand), *device = fixture_text(rand);
    IfmTrackInfo info = {
        .kind = (IfmTrackKind)g_rand_int_range(rand, 0, IFM_TRACK_FOREIGN + 1),
        .process = g_rand_boolean(rand) ? process : (char *)"run",
        .thread = thread,
        .device = g_rand_boolean(rand) ? device : NULL,
        .spec = g_rand_boolean(rand) ? process : NULL,
        .stream = g_rand_int_range(rand, -1, 3),
        .block = g_rand_int_range(rand, 0, 4),
        .pid = g_rand_boolean(rand) ? 0 : g_rand_int_range(rand, -2, 3),
        .tid = g_rand_boolean(rand) ? 0 : g_rand_int_range(rand, -2, 3),
    };
    gsize n = (gsize)g_rand_int_range(rand, 0, 60), lacking = (gsize)g_rand_int_range(rand, 0, 3);
    IfmTrack *track = ifm_trace_add_track(trace, &info, n - MIN(n, lacking));
    for (gsize i = 0; i < n; i++)
    {
        g_autofree char *name = fixture_text(rand);
        IfmEvent event = {
            .start_ns = origin_ns + g_rand_int_range(rand, 0, 1000),
            .duration_ns = g_rand_int_range(rand, g_rand_int_range(rand, 0, 20) == 0 ? -50 : 0, 200),
            .device_ns = fixture_number(rand),
            .overhead_ns = fixture_number(rand),
            .bytes = fixture_number(rand),
            .name = ifm_trace_intern(trace, name),
            .batch = g_rand_int_range(rand, -1, 6),
            .block = (guint16)g_rand_int_range(rand, 0, 4),
            .first = (guint16)g_rand_int_range(rand, 0, 3),
            .last = (guint16)(g_rand_boolean(rand) ? 0 : G_MAXUINT16),
            .kind = (guint8)g_rand_int_range(rand, 0, IFM_N_EVENT_KINDS),
            .failed = (guint8)g_rand_boolean(rand),
        };
        ifm_track_record(track, &event);
    }
}

/* fixture_random: any tracks, overlapping slices, odd names, negative durations; times of the clock of a machine that has
 * been up for years. */
static inline IfmTrace *fixture_random(GRand *rand)
{
    g_autofree char *name = fixture_text(rand), *key = fixture_text(rand);
    IfmTrace *trace = ifm_trace_new(name);
    gint64 origin_ns = g_rand_boolean(rand) ? 0 : G_GINT64_CONSTANT(123456789012345678) + g_rand_int_range(rand, 0, 5000);
    json_t *meta = json_object();
    json_object_set_new(meta, key, json_real(g_rand_double(rand) * 1e-7));
    json_object_set_new(meta, "plan", json_pack("[[[ss],[iii]],n,b,{}]", "CPU", "GPU", 1, 2, 3, TRUE));
    json_object_set_new(meta, "large", json_integer(G_MAXINT64));
    ifm_trace_set_meta(trace, meta);
    for (int i = g_rand_int_range(rand, 0, 6); i >= 0; i--)
        fixture_random_track(trace, rand, origin_ns);
    return trace;
}

static inline void fixture_compare_info(const IfmTrackInfo *a, const IfmTrackInfo *b)
{
    g_assert_cmpint(a->kind, ==, b->kind);
    g_assert_cmpstr(a->process, ==, b->process);
    g_assert_cmpstr(a->thread, ==, b->thread);
    g_assert_cmpstr(a->device, ==, b->device);
    g_assert_cmpstr(a->spec, ==, b->spec);
    g_assert_cmpint(a->stream, ==, b->stream);
    g_assert_cmpint(a->block, ==, b->block);
    g_assert_cmpint(a->pid, ==, b->pid);
    g_assert_cmpint(a->tid, ==, b->tid);
}

static inline void fixture_compare(const IfmTrace *a, const IfmTrace *b)
{
    g_assert_cmpstr(ifm_trace_name(a), ==, ifm_trace_name(b));
    g_assert_true(json_equal((json_t *)ifm_trace_meta(a), (json_t *)ifm_trace_meta(b)));
    g_assert_cmpuint(ifm_trace_n_tracks(a), ==, ifm_trace_n_tracks(b));
    g_assert_cmpuint(ifm_trace_n_dropped(a), ==, ifm_trace_n_dropped(b));
    for (gsize i = 0; i < ifm_trace_n_tracks(a); i++)
    {
        gsize n, n_b;
        const IfmEvent *x = ifm_trace_events(a, i, &n), *y = ifm_trace_events(b, i, &n_b);
        fixture_compare_info(ifm_trace_track_info(a, i), ifm_trace_track_info(b, i));
        g_assert_cmpuint(n, ==, n_b);
        for (gsize j = 0; j < n; j++)
        {
            IfmEvent moved = y[j];
            g_assert_cmpstr(ifm_trace_text(a, x[j].name), ==, ifm_trace_text(b, y[j].name));
            moved.name = x[j].name;
            g_assert_cmpmem(&x[j], sizeof x[j], &moved, sizeof moved);
        }
    }
}

/* fixture_path: a file of this test in a folder of its own. */
static inline char *fixture_path(const char *name)
{
    static char *folder;
    if (folder == NULL)
        folder = g_dir_make_tmp("inferometer-trace-XXXXXX", NULL);
    g_assert_nonnull(folder);
    g_mkdir(folder, 0700); /* fixture_remove() may have taken it away */
    return g_build_filename(folder, name, NULL);
}

static inline void fixture_remove(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_unlink(path);
    g_rmdir(folder); /* once it is empty */
}
