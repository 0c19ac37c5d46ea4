/* Traces of other programs: what is work and what is not, launches and what streams waited for, damage. */
#include <string.h>

#include "trace-fixture.h"

static GPtrArray *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *traces = ifm_trace_parse(text, strlen(text), "input", NULL, &error);
    g_assert_no_error(error);
    g_assert_nonnull(traces);
    return traces;
}

static GPtrArray *read_case(const char *file)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "trace", "data", file, NULL);
    GPtrArray *traces = ifm_trace_read(path, NULL, &error);
    g_assert_no_error(error);
    return traces;
}

static IfmTraceAnalysis *analyse(GPtrArray *traces)
{
    g_autoptr(GError) error = NULL;
    IfmTraceAnalysis *analysis = ifm_trace_analyse(traces->pdata[0], NULL, &error);
    g_assert_no_error(error);
    return analysis;
}

static const IfmTrackUse *use_of(const IfmTraceAnalysis *analysis, guint track)
{
    g_assert_cmpuint(track, <, analysis->tracks->len);
    return &g_array_index(analysis->tracks, IfmTrackUse, track);
}

/* --- PyTorch's profiler ----------------------------------------------------------------------------------------------- */

/* The kernels of the stream cover 9.8 % of the window, whatever annotations lie around them. */
static void test_annotations(void)
{
    g_autoptr(GPtrArray) traces = read_case("torch_annotations.json");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces);
    g_assert_cmpuint(analysis->n_devices, ==, 1);
    g_assert_cmpuint(analysis->tracks->len, ==, 2);
    const IfmTrackUse *stream = use_of(analysis, 0), *host = use_of(analysis, 1);
    g_assert_cmpint(analysis->window_ns, ==, 10200000);
    g_assert_cmpint(stream->busy_ns, ==, 1000000);
    g_assert_cmpfloat_with_epsilon(analysis->wall_utilisation, 1000.0 / 10200, 1e-12);
    g_assert_cmpstr(stream->info->device, ==, "device 0");
    g_assert_cmpint(stream->info->stream, ==, 7);
    g_assert_cmpuint(stream->n_events, ==, 2);
    g_assert_cmpint(host->busy_ns, ==, 100000);
    g_assert_cmpstr(host->info->thread, ==, "tid 1");
}

#define META                                                                                                               \
    "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"args\":{\"labels\":\"GPU 0\"}},"                                \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":9,\"tid\":9,\"ts\":0,\"dur\":200,\"args\":{\"External "      \
    "id\":5}},"
#define LAUNCH(ts, number)                                                                                                 \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,\"ts\":" ts                  \
    ",\"dur\":2,\"args\":{\"correlation\":" number "}}"
#define KERNEL(ts, duration, arguments)                                                                                    \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":" ts ",\"dur\":" duration                  \
    ",\"args\":{" arguments "}}"

/* host wait: launched at 30, after the end at 20; kernel wait: launched in time, 5 us; unknown: in time, 40 us. */
static void check_waits(const char *text)
{
    g_autoptr(GPtrArray) traces = parse(text);
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces);
    const IfmTrackUse *stream = use_of(analysis, 0);
    g_assert_cmpstr(stream->info->device, ==, "GPU 0");
    g_assert_cmpint(stream->idle_by_cause_ns[IFM_IDLE_HOST_WAIT], ==, 15000);
    g_assert_cmpint(stream->idle_by_cause_ns[IFM_IDLE_KERNEL_WAIT], ==, 5000);
    g_assert_cmpint(stream->idle_by_cause_ns[IFM_IDLE_UNKNOWN], ==, 40000);
    g_assert_cmpint(stream->idle_by_cause_ns[IFM_IDLE_NO_WORK], ==, 10000 + 100000);
    g_assert_cmpint(stream->idle_ns, ==, 170000);
    g_assert_cmpfloat(stream->delay_mean_ns, ==, (8000 + 5000 + 18000 + 60000) / 4.0);
    g_assert_cmpuint(use_of(analysis, 1)->n_launches, ==, 4);
    g_assert_cmpint(use_of(analysis, 1)->launch_ns, ==, 6000);
}

#define FLOW(phase, pid, ts, id)                                                                                           \
    "{\"ph\":\"" phase "\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":" pid ",\"tid\":" pid ",\"ts\":" ts ",\"id\":" id "}"
#define FLOW_END(ts, id)                                                                                                   \
    "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":0,\"tid\":7,\"ts\":" ts ",\"id\":" id ",\"bp\":\"e\"}"

/* By number, before or after the kernels; and by the arrows alone. */
static void test_waits(void)
{
    check_waits(
        "{\"traceEvents\":[" META
            LAUNCH("2", "1") "," LAUNCH("30", "2") "," LAUNCH("32", "3") "," KERNEL("10", "10", "\"correlation\":1") "," KERNEL(
                "35", "10",
                "\"correlation\":2") "," KERNEL("50", "2",
                                                "\"correlation\":3") "," LAUNCH("32",
                                                                                "4") "," KERNEL("92", "8",
                                                                                                "\"correlation\":4") "]}");
    check_waits(
        "{\"traceEvents\":[" META
            KERNEL("10", "10", "") "," KERNEL("35", "10", "") "," KERNEL("50", "2", "") "," KERNEL("92", "8", "") "," LAUNCH("2", "1") "," LAUNCH("30", "2") "," LAUNCH(
                "32",
                "3") "," LAUNCH("32",
                                "4") "," FLOW("s", "9", "2",
                                              "21") "," FLOW("s", "9", "30",
                                                             "22") "," FLOW("s", "9", "32",
                                                                            "23") "," FLOW("s", "9", "32",
                                                                                           "24") "," FLOW_END("10",
                                                                                                              "21") "," FLOW_END("35",
                                                                                                                                 "22") "," FLOW_END("50",
                                                                                                                                                    "23") "," FLOW_END("92",
                                                                                                                                                                       "24") "]}");
}

/* Neither number nor arrow: the operator's. It began at 0, so that nothing was launched late. */
static void test_operator_id(void)
{
    g_autoptr(GPtrArray) traces =
        parse("[" META KERNEL("10", "10", "\"External id\":5") "," KERNEL("35", "10", "\"External id\":5") "]");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces);
    const IfmTrackUse *stream = use_of(analysis, 0);
    g_assert_cmpint(stream->idle_by_cause_ns[IFM_IDLE_KERNEL_WAIT], ==, 15000);
    g_assert_cmpfloat(stream->delay_mean_ns, ==, (10000 + 35000) / 2.0);
}

/* Kernels are grouped by name, the longest first. */
static void test_kernel_names(void)
{
    g_autoptr(GPtrArray) traces = read_case("overflow.json");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces);
    g_assert_cmpuint(analysis->operators->len, ==, 5);
    const IfmOperatorUse *first = &g_array_index(analysis->operators, IfmOperatorUse, 0);
    g_assert_cmpstr(first->name, ==, "k2");
    g_assert_cmpint(first->kind, ==, IFM_EVENT_KERNEL);
    g_assert_cmpint(first->total_ns, ==, 1000000000);
}

/* What is no work at all is said to be so. */
static void test_no_work(void)
{
    g_autoptr(GPtrArray) traces =
        parse("[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"a\",\"ts\":0,\"dur\":5},{\"ph\":\"i\",\"ts\":7}]");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces);
    g_assert_cmpuint(analysis->tracks->len, ==, 0);
    g_assert_cmpuint(analysis->warnings->len, ==, 1);
    g_assert_nonnull(strstr(analysis->warnings->pdata[0], "nothing in it is work"));
}

/* --- Nsight Systems --------------------------------------------------------------------------------------------------- */

/* Its own export: an object a line, texts by number, times as texts. Thread 20 of process 10 launches on stream 7. */
static void test_nsight(void)
{
    g_autoptr(GPtrArray) traces = parse(
        "{\"data\": [\"cudaLaunchKernel\", \"gemm<float>\", \"read\"]}\n"
        "{\"Type\":59,\"NvtxEvent\":{\"Timestamp\":\"0\",\"EndTimestamp\":\"90000\",\"Text\":\"step "
        "16\",\"GlobalTid\":\"167772180\"}}\n"
        "{\"Type\":48,\"TraceProcessEvent\":{\"startNs\":\"1000\",\"endNs\":\"2000\",\"correlationId\":5,\"eventClass\":0,"
        "\"name\":\"0\",\"globalTid\":\"167772180\"}}\n"
        "{\"Type\":79,\"CudaEvent\":{\"startNs\":\"5000\",\"endNs\":\"9000\",\"correlationId\":5,\"deviceId\":1,"
        "\"streamId\":\"7\","
        "\"globalPid\":\"167772160\",\"kernel\":{\"shortName\":\"1\"}}}\n"
        "not JSON\n"
        "{\"Type\":48,\"TraceProcessEvent\":{\"startNs\":\"20000\",\"endNs\":\"21000\",\"correlationId\":6,\"eventClass\":"
        "1,"
        "\"name\":\"0\",\"globalTid\":\"167772180\"}}\n"
        "{\"Type\":106,\"CudaEvent\":{\"startNs\":\"0\",\"endNs\":\"99999\",\"correlationId\":9,\"deviceId\":0,"
        "\"streamId\":\"7\","
        "\"sync\":{}}}\n"
        "{\"Type\":80,\"CudaEvent\":{\"startNs\":\"25000\",\"endNs\":\"30000\",\"correlationId\":6,\"deviceId\":1,"
        "\"streamId\":\"7\","
        "\"globalPid\":\"167772160\",\"memcpy\":{\"sizebytes\":\"8\"}}}");
    const IfmTrace *trace = traces->pdata[0];
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces);
    g_assert_cmpuint(ifm_trace_n_damaged(trace), ==, 1);
    g_assert_cmpuint(analysis->n_devices, ==, 1);
    const IfmTrackUse *stream = use_of(analysis, 0), *host = use_of(analysis, 1);
    g_assert_cmpstr(stream->info->device, ==, "GPU 1");
    g_assert_cmpint(stream->info->stream, ==, 7);
    g_assert_cmpint(stream->busy_ns, ==, 9000);
    g_assert_cmpint(stream->idle_by_cause_ns[IFM_IDLE_HOST_WAIT], ==, 16000);
    g_assert_cmpfloat(stream->delay_mean_ns, ==, (4000 + 5000) / 2.0);
    g_assert_cmpint(host->info->pid, ==, 10);
    g_assert_cmpint(host->info->tid, ==, 20);
    g_assert_cmpint(host->busy_ns, ==, 2000);
    g_assert_cmpuint(host->n_launches, ==, 2);
    g_assert_cmpint(analysis->window_ns, ==, 90000);
    g_assert_cmpstr(g_array_index(analysis->operators, IfmOperatorUse, 1).name, ==, "gemm<float>");
}

/* --- ONNX Runtime ----------------------------------------------------------------------------------------------------- */

static void test_operators(void)
{
    g_autoptr(GPtrArray) traces = parse(
        "[{\"cat\":\"Session\",\"ph\":\"X\",\"name\":\"model_run\",\"pid\":1,\"tid\":2,\"ts\":0,\"dur\":100,\"args\":{}},"
        "{\"cat\":\"Node\",\"ph\":\"X\",\"name\":\"a_kernel_time\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":20,\"args\":{\"op_"
        "name\":"
        "\"Conv\",\"provider\":\"CPUExecutionProvider\"}},"
        "{\"cat\":\"Node\",\"ph\":\"X\",\"name\":\"a_fence_after\",\"pid\":1,\"tid\":2,\"ts\":30,\"dur\":1,\"args\":{\"op_"
        "name\":"
        "\"Conv\"}},"
        "{\"cat\":\"Node\",\"ph\":\"X\",\"name\":\"b_kernel_time\",\"pid\":1,\"tid\":2,\"ts\":40,\"dur\":5,\"args\":{\"op_"
        "name\":"
        "\"Conv\",\"provider\":\"CPUExecutionProvider\"}},"
        "{\"cat\":\"Node\",\"ph\":\"X\",\"name\":\"c_kernel_time\",\"pid\":1,\"tid\":2,\"ts\":50,\"dur\":30,\"args\":{\"op_"
        "name\":"
        "\"Relu\",\"provider\":\"CUDAExecutionProvider\"}}]");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces);
    g_assert_cmpint(use_of(analysis, 0)->busy_ns, ==, 55000);
    g_assert_cmpuint(analysis->operators->len, ==, 2);
    const IfmOperatorUse *relu = &g_array_index(analysis->operators, IfmOperatorUse, 0), *conv = relu + 1;
    g_assert_cmpstr(relu->name, ==, "Relu");
    g_assert_cmpstr(relu->provider, ==, "CUDAExecutionProvider");
    g_assert_cmpstr(conv->name, ==, "Conv");
    g_assert_cmpuint(conv->n, ==, 2);
    g_assert_cmpint(conv->total_ns, ==, 25000);
    g_assert_cmpint(conv->max_ns, ==, 20000);
    g_autofree char *path = fixture_path("operators.json"); /* providers come back */
    const IfmTrace *trace = traces->pdata[0];
    g_assert_true(ifm_trace_write(&trace, 1, path, NULL));
    g_autoptr(GPtrArray) again = ifm_trace_read(path, NULL, NULL);
    fixture_remove(path);
    g_autoptr(IfmTraceAnalysis) analysis_again = analyse(again);
    g_assert_cmpuint(analysis_again->operators->len, ==, 2);
    g_assert_cmpstr(g_array_index(analysis_again->operators, IfmOperatorUse, 0).provider, ==, "CUDAExecutionProvider");
}

/* --- perfetto's and Chrome's own files -------------------------------------------------------------------------------- */

/* What one line of a file says, which has an event a line; times in ns by their digits. -1: not there */
static gint64 ns_in(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    char *end;
    if (at == NULL)
        return -1;
    gint64 ns = 1000 * g_ascii_strtoll(at + strlen(key), &end, 10);
    for (gint64 unit = 100; *end == '.' || (g_ascii_isdigit(*end) && unit > 0); end++)
        if (*end != '.')
        {
            ns += unit * (*end - '0');
            unit /= 10;
        }
    return ns;
}

typedef struct
{
    gint64 pid, tid, start_ns, end_ns; /* end_ns: -1: not ended */
    char *key;                         /* of an asynchronous one */
} Slice;

static void slice_clear(gpointer data)
{
    g_free(((Slice *)data)->key);
}

/* The category and the id of an asynchronous event, which may be local to its process. */
static char *async_key(const char *line, gint64 pid)
{
    const char *cat = strstr(line, "\"cat\":\""), *local = strstr(line, "\"local\":\""), *id = strstr(line, "\"id\":\"");
    const char *number = local != NULL ? local + 9 : id + 6;
    return g_strdup_printf("%.*s %.*s %d", (int)strcspn(cat + 7, "\""), cat + 7, (int)strcspn(number, "\""), number,
                           local != NULL ? (int)pid : 0);
}

/* The slices of threads (X, B and E) and the asynchronous ones (b and e) of a file. */
static void read_slices(const char *file, GArray *threads, GArray *async)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "trace", "data", file, NULL), *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
    {
        const char *phase = strstr(*line, "\"ph\":\"");
        if (phase == NULL || strchr("XBEbe", phase[6]) == NULL)
            continue;
        const gint64 ts = ns_in(*line, ",\"ts\":"), dur = ns_in(*line, ",\"dur\":");
        Slice slice = { ns_in(*line, ",\"pid\":") / 1000, ns_in(*line, ",\"tid\":") / 1000, ts,
                        phase[6] == 'X' ? ts + dur : -1, NULL };
        GArray *into = strchr("be", phase[6]) != NULL ? async : threads;
        slice.key = into == async ? async_key(*line, slice.pid) : NULL;
        if (strchr("XBb", phase[6]) != NULL)
        {
            g_array_append_val(into, slice);
            continue;
        }
        guint open = into->len;
        while (open-- > 0) /* the innermost that is open */
        {
            Slice *one = &g_array_index(into, Slice, open);
            if (one->end_ns >= 0 ||
                (into == async ? !g_str_equal(one->key, slice.key) : one->pid != slice.pid || one->tid != slice.tid))
                continue;
            one->end_ns = ts;
            break;
        }
        slice_clear(&slice);
    }
}

static int by_slice_start(gconstpointer a, gconstpointer b)
{
    const gint64 x = ((const Slice *)a)->start_ns, y = ((const Slice *)b)->start_ns;
    return (x > y) - (x < y);
}

/* Time that a thread had at least one slice, and how many it had. Sorted by start. */
static gint64 union_of(const GArray *slices, gint64 pid, gint64 tid, guint *n)
{
    gint64 total = 0, until = G_MININT64;
    *n = 0;
    for (guint i = 0; i < slices->len; i++)
    {
        const Slice *slice = &g_array_index(slices, Slice, i);
        if (slice->pid != pid || slice->tid != tid)
            continue;
        total += MAX(slice->end_ns - MAX(slice->start_ns, until), 0);
        until = MAX(until, slice->end_ns);
        ++*n;
    }
    return total;
}

/* All that the two write beside slices (metadata, sort indices, counters, flows, objects, marks, samples, dumps, instants,
 * a text of systrace) leaves times as they are. */
static void test_browsers(gconstpointer file)
{
    g_autoptr(GArray) threads = g_array_new(FALSE, FALSE, sizeof(Slice)), async = g_array_new(FALSE, FALSE, sizeof(Slice));
    g_autoptr(GPtrArray) traces = read_case(file);
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces);
    const IfmTrace *trace = traces->pdata[0];
    guint n_threads = 0, n_async = 0, n;
    gint64 async_ns = 0;
    g_array_set_clear_func(async, slice_clear);
    read_slices(file, threads, async);
    g_array_sort(threads, by_slice_start);
    g_assert_cmpuint(ifm_trace_notes(trace)->len, ==, 0);
    g_assert_cmpuint(analysis->warnings->len, ==, 0);
    for (guint i = 0; i < analysis->tracks->len; i++)
    {
        const IfmTrackUse *use = use_of(analysis, i);
        if (use->info->kind == IFM_TRACK_QUEUE)
            continue;
        g_assert_cmpint(use->busy_ns, ==, union_of(threads, use->info->pid, use->info->tid, &n));
        g_assert_cmpuint(n, >, 0);
        n_threads += n;
    }
    g_assert_cmpuint(n_threads, ==, threads->len);
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        gsize n_events;
        const IfmEvent *events = ifm_trace_events(trace, track, &n_events);
        for (gsize k = 0; ifm_trace_track_info(trace, track)->kind == IFM_TRACK_QUEUE && k < n_events; k++)
            if (events[k].kind != IFM_EVENT_SPAN) /* an n event */
            {
                n_async++;
                async_ns += events[k].duration_ns;
            }
    }
    g_assert_cmpuint(n_async, ==, async->len);
    for (guint i = 0; i < async->len; i++)
        async_ns -= g_array_index(async, Slice, i).end_ns - g_array_index(async, Slice, i).start_ns;
    g_assert_cmpint(async_ns, ==, 0);
}

/* --- damage ----------------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *name, *file, *text, *note;
    gsize n_events, n_skipped;
} damages[] = {
    { "negative", "neg_dur.json", NULL,
      "of 3 events 2 were read and 1 skipped: byte 309: dur: found -3, expected no less than 0", 2, 1 },
    { "end-alone", "unmatched_E.json", NULL,
      "of 3 events 2 were read and 1 skipped: byte 17: an E event without its B: expected a B of the same pid and tid "
      "before "
      "it",
      1, 1 },
    { "cut", "trunc_obj3.json", NULL,
      "of 2 events 2 were read and 0 skipped: byte 214: the file is cut off here, 2 levels deep, between events", 2, 0 },
    { "cut-event", NULL, "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":2},{\"ph\":\"X\",\"ts\":3,\"du",
      "of 2 events 1 were read and 1 skipped: byte 62: the file is cut off here, 3 levels deep, within an event", 1, 1 },
    { "nan", NULL, "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"NaN\"},{\"ph\":\"X\",\"ts\":NaN,\"dur\":2}]",
      "of 2 events 1 were read and 1 skipped: byte 57: ts: found no finite number, expected us within 2^63 ns", 1, 1 },
    { "infinite", NULL, "[{\"ph\":\"X\",\"ts\":1,\"dur\":2},{\"ph\":\"X\",\"ts\":1,\"dur\":-Infinity}]",
      "of 2 events 1 were read and 1 skipped: byte 52: dur: found no finite number, expected us within 2^63 ns", 1, 1 },
    { "no-duration", NULL, "[{\"ph\":\"X\",\"ts\":1,\"dur\":2},{\"ph\":\"X\",\"ts\":3}]",
      "of 2 events 1 were read and 1 skipped: byte 27: an X event without dur: expected its length in us", 1, 1 },
    { "backwards", NULL, "[{\"ph\":\"i\",\"ts\":9},{\"ph\":\"B\",\"ts\":2},{\"ph\":\"E\",\"ts\":1}]",
      "of 3 events 1 were read and 2 skipped: byte 37: the slice ends 1000 ns before it begins: expected events in order "
      "of "
      "time",
      1, 2 },
};

static void test_damage(gconstpointer data)
{
    const gsize i = GPOINTER_TO_SIZE(data);
    g_autoptr(GPtrArray) traces = damages[i].file != NULL ? read_case(damages[i].file) : parse(damages[i].text);
    const IfmTrace *trace = traces->pdata[0];
    g_assert_cmpuint(ifm_trace_n_damaged(trace), ==, damages[i].n_skipped);
    g_assert_cmpuint(ifm_trace_n_events(trace), ==, damages[i].n_events);
    g_assert_cmpuint(ifm_trace_notes(trace)->len, ==, 1);
    g_assert_cmpstr(ifm_trace_notes(trace)->pdata[0], ==, damages[i].note);
}

/* A word that JSON has not, split between two pieces of the file at each place. */
static void test_split_words(void)
{
    static const char event[] = "{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"-Infinity\"},";
    for (gsize shift = 0; shift < 24; shift++)
    {
        g_autoptr(GString) text = g_string_new("[");
        while (text->len < (1 << 16) - 60 + shift)
            g_string_append(text, event);
        while (text->len < (1 << 16) - 40 + shift)
            g_string_append_c(text, ' ');
        g_string_append(text, "{\"ph\":\"X\",\"ts\":1,\"dur\":-Infinity}]");
        g_autoptr(GPtrArray) traces = parse(text->str);
        g_assert_cmpuint(ifm_trace_n_damaged(traces->pdata[0]), ==, 1);
    }
}

/* Up to 5 % is let pass, and the first three are named. */
static void test_limit(void)
{
    for (int n_bad = 5; n_bad <= 6; n_bad++)
    {
        g_autoptr(GString) text = g_string_new("[");
        g_autoptr(GError) error = NULL;
        for (int i = 0; i < 100; i++)
            g_string_append_printf(text, "%s{\"ph\":\"X\",\"ts\":%d,\"dur\":%d}", i > 0 ? "," : "", i, i < n_bad ? -1 : 1);
        g_string_append_c(text, ']');
        g_autoptr(GPtrArray) traces = ifm_trace_parse(text->str, text->len, "input", NULL, &error);
        g_assert_true((traces != NULL) == (n_bad == 5));
        if (traces == NULL)
            g_assert_nonnull(strstr(error->message, "(6 of 100 events are damaged, more than 5 %)"));
        else
            g_assert_true(g_str_has_suffix(ifm_trace_notes(traces->pdata[0])->pdata[0], "; …"));
    }
}

static void assert_warns(GPtrArray *traces, const char *what)
{
    g_autoptr(IfmTraceAnalysis) analysis = analyse(traces);
    gboolean found = FALSE;
    for (guint i = 0; i < analysis->warnings->len; i++)
        found = found || strstr(analysis->warnings->pdata[i], what) != NULL;
    g_assert_true(found);
}

static void test_warnings(void)
{
    g_autoptr(GPtrArray) overflow = read_case("overflow.json");
    assert_warns(overflow, "3 kernels begin before the end of another; 3 of them in \"k2\" of 1.00 s");
    g_autoptr(GPtrArray) years = parse("[{\"ph\":\"X\",\"name\":\"zero\",\"ts\":0,\"dur\":1},"
                                       "{\"ph\":\"X\",\"name\":\"now\",\"ts\":3124224000000000,\"dur\":1}]");
    assert_warns(years, "the window is 99.0 years long, from the start of \"zero\" to the end of \"now\"");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/producers/annotations", test_annotations);
    g_test_add_data_func("/trace/producers/chrome", "chrome-tracing.json", test_browsers);
    g_test_add_data_func("/trace/producers/perfetto", "perfetto-export.json", test_browsers);
    g_test_add_func("/trace/producers/waits", test_waits);
    g_test_add_func("/trace/producers/operator-id", test_operator_id);
    g_test_add_func("/trace/producers/kernel-names", test_kernel_names);
    g_test_add_func("/trace/producers/no-work", test_no_work);
    g_test_add_func("/trace/producers/nsight", test_nsight);
    g_test_add_func("/trace/producers/operators", test_operators);
    for (gsize i = 0; i < G_N_ELEMENTS(damages); i++)
    {
        g_autofree char *name = g_strdup_printf("/trace/damage/%s", damages[i].name);
        g_test_add_data_func(name, GSIZE_TO_POINTER(i), test_damage);
    }
    g_test_add_func("/trace/damage/split-words", test_split_words);
    g_test_add_func("/trace/damage/limit", test_limit);
    g_test_add_func("/trace/damage/warnings", test_warnings);
    return g_test_run();
}
