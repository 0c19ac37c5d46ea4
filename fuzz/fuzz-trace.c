/*
 * The libFuzzer target of the traces' reader, and (compiled into tests/trace/test-fuzz-trace.c) the same entry for the
 * corpus. Whatever the bytes are, the reader must come back, an error must be one line with its place, and a trace must be
 * what its header promises; written and read again it must be the same.
 */
#include <glib/gstdio.h>
#include <trace/trace.h>
#include <unistd.h>

#include "fuzz.h"

static void check_track(const IfmTrace *trace, gsize index)
{
    gsize n;
    const IfmEvent *events = ifm_trace_events(trace, index, &n);
    const IfmTrackInfo *info = ifm_trace_track_info(trace, index);
    must((guint)info->kind <= IFM_TRACK_FOREIGN);
    must(info->process == NULL || g_utf8_validate(info->process, -1, NULL));
    must(info->thread == NULL || g_utf8_validate(info->thread, -1, NULL));
    for (gsize i = 0; i < n; i++)
    {
        gint64 end_ns;
        const char *name = ifm_trace_text(trace, events[i].name);
        must(events[i].kind < IFM_N_EVENT_KINDS && events[i].track == index &&
             (events[i].provider == 0 || events[i].kind == IFM_EVENT_NODE));
        must(!__builtin_add_overflow(events[i].start_ns, events[i].duration_ns, &end_ns));
        must(strlen(name) <= 4096 + 4096 + 1 && g_utf8_validate(name, -1, NULL));
    }
}

static void check_same(const IfmTrace *a, const IfmTrace *b)
{
    must(ifm_trace_n_tracks(a) == ifm_trace_n_tracks(b) && g_str_equal(ifm_trace_name(a), ifm_trace_name(b)));
    must(json_equal((json_t *)ifm_trace_meta(a), (json_t *)ifm_trace_meta(b)));
    for (gsize i = 0; i < ifm_trace_n_tracks(a); i++)
    {
        gsize n, n_b;
        const IfmEvent *x = ifm_trace_events(a, i, &n), *y = ifm_trace_events(b, i, &n_b);
        must(n == n_b);
        for (gsize j = 0; j < n; j++)
        {
            IfmEvent moved = y[j];
            moved.name = x[j].name;
            moved.provider = x[j].provider;
            must(g_str_equal(ifm_trace_text(a, x[j].provider), ifm_trace_text(b, y[j].provider)));
            must(memcmp(&x[j], &moved, sizeof moved) == 0);
            /* a name made of an operator and a node may have become longer than what is read */
            must(strncmp(ifm_trace_text(a, x[j].name), ifm_trace_text(b, y[j].name), 4000) == 0);
        }
    }
}

/* Times may lie so far apart that no file can hold them; all else comes back. */
static void check_again(GPtrArray *traces)
{
    static char *path;
    if (path == NULL)
        path = g_strdup_printf("%s/fuzz-trace-%d.json", g_get_tmp_dir(), (int)getpid());
    if (!ifm_trace_write((const IfmTrace *const *)traces->pdata, traces->len, path, NULL))
        return;
    GPtrArray *again = ifm_trace_read(path, NULL, NULL);
    g_unlink(path);
    must(again != NULL && again->len == traces->len);
    for (guint i = 0; i < again->len; i++)
        check_same(g_ptr_array_index(traces, i), g_ptr_array_index(again, i));
    g_ptr_array_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static guint n_good;
    char *copy =
        g_memdup2(size > 0 ? data : (const uint8_t *)"", MAX(size, 1)); /* of just its size, so that ASan sees its end */
    IfmTraceLimits limits = { .max_events = 10000, .max_names = 1000 };
    GError *error = NULL;
    GPtrArray *traces = ifm_trace_parse(copy, size, "input", &limits, &error);
    must((traces == NULL) == (error != NULL));
    if (error != NULL)
    {
        must(error->code == IFM_ERROR_INVALID || error->code == IFM_ERROR_MEMORY);
        must(g_str_has_prefix(error->message, "input: byte "));
        must_be_line(error);
    }
    else
    {
        must(traces->len > 0);
        for (guint i = 0; i < traces->len; i++)
            for (gsize track = 0; track < ifm_trace_n_tracks(g_ptr_array_index(traces, i)); track++)
                check_track(g_ptr_array_index(traces, i), track);
        if (n_good++ % 8 == 0) /* it is synchronised to disk each time */
            check_again(traces);
        g_ptr_array_unref(traces);
    }
    g_free(copy);
    return 0;
}
