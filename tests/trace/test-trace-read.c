/* Reading: our own files exactly, ONNX Runtime's profile, anybody's Chrome JSON, and what is no trace. */
#include "trace-fixture.h"

static GPtrArray *parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *traces = ifm_trace_parse(text, strlen(text), "input", NULL, &error);
    g_assert_no_error(error);
    g_assert_nonnull(traces);
    return traces;
}

static const IfmTrace *only(GPtrArray *traces)
{
    g_assert_cmpuint(traces->len, ==, 1);
    return g_ptr_array_index(traces, 0);
}

static const IfmEvent *event_at(const IfmTrace *trace, gsize track, gsize index)
{
    gsize n;
    const IfmEvent *events = ifm_trace_events(trace, track, &n);
    g_assert_cmpuint(index, <, n);
    return &events[index];
}

static void check_event(const IfmTrace *trace, gsize track, gsize index, const char *name, gint64 start_ns,
                        gint64 duration_ns)
{
    const IfmEvent *event = event_at(trace, track, index);
    g_assert_cmpstr(ifm_trace_text(trace, event->name), ==, name);
    g_assert_cmpint(event->start_ns, ==, start_ns);
    g_assert_cmpint(event->duration_ns, ==, duration_ns);
    g_assert_cmpuint(event->track, ==, track);
}

/* --- our own ---------------------------------------------------------------------------------------------------------- */

static void round_trip(const IfmTrace *const *traces, gsize n, const char *name)
{
    g_autofree char *path = fixture_path(name);
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_trace_write(traces, n, path, &error));
    g_autoptr(GPtrArray) read = ifm_trace_read(path, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(read->len, ==, n);
    for (gsize i = 0; i < n; i++)
        fixture_compare(traces[i], g_ptr_array_index(read, i));
    fixture_remove(path);
}

static void test_random(void)
{
    for (guint32 seed = 1; seed <= 90; seed++)
    {
        GRand *rand = g_rand_new_with_seed(seed);
        g_autoptr(IfmTrace) a = fixture_random(rand), b = fixture_random(rand), c = fixture_random(rand);
        fixture_record(fixture_track(a, IFM_TRACK_HOST, "last", 1, 1), IFM_EVENT_COPY, 5, 6, 0, 1); /* never empty */
        const IfmTrace *traces[] = { a, b, c };
        round_trip(traces, 1 + seed % 3, seed % 5 == 0 ? "trace.json.gz" : "trace.json");
        g_rand_free(rand);
    }
}

/* Large enough that it goes through in many pieces, and packed in many. */
static void test_large(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("run");
    const IfmTrace *traces[] = { trace };
    for (int i = 0; i < 3; i++)
    {
        IfmTrack *track = fixture_track(trace, IFM_TRACK_DEVICE, "CPU", i + 1, 20000);
        for (int j = 0; j < 20000; j++)
            fixture_record(track, IFM_EVENT_INFER, j * 1001, j * 1001 + 777, j, i + 1);
    }
    round_trip(traces, 1, "trace.json");
    round_trip(traces, 1, "trace.json.gz");
}

/* A foreign trace, written by us, comes back as it was. */
static void test_foreign_again(void)
{
    g_autoptr(GPtrArray) traces = parse("[{\"ph\":\"X\",\"ts\":1.5,\"dur\":10,\"name\":\"a\",\"pid\":0,\"tid\":0},"
                                        "{\"ph\":\"X\",\"ts\":5,\"dur\":10,\"name\":\"b\",\"pid\":0,\"tid\":0},"
                                        "{\"ph\":\"b\",\"ts\":2,\"id\":1,\"name\":\"c\",\"pid\":0,\"tid\":0},"
                                        "{\"ph\":\"e\",\"ts\":4,\"id\":1,\"name\":\"c\",\"pid\":0,\"tid\":0}]");
    const IfmTrace *trace = only(traces);
    round_trip(&trace, 1, "trace.json");
}

/* --- ONNX Runtime ----------------------------------------------------------------------------------------------------- */

static void test_onnxruntime(void)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "trace", "data", "onnxruntime-profile.json", NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) traces = ifm_trace_read(path, NULL, &error);
    g_assert_no_error(error);
    const IfmTrace *trace = only(traces);
    json_auto_t *root = json_load_file(path, 0, NULL); /* judged by a reader of its own */
    g_assert_nonnull(root);
    gsize index, n_nodes = 0;
    json_t *event;
    g_assert_cmpuint(ifm_trace_n_tracks(trace), ==, 1);
    g_assert_cmpuint(ifm_trace_n_events(trace), ==, json_array_size(root));
    json_array_foreach(root, index, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        const char *op = json_string_value(json_object_get(json_object_get(event, "args"), "op_name"));
        g_autofree char *expected = g_strdup(name);
        if (op != NULL)
        {
            g_autofree char *node = g_strndup(name, strlen(name) - strlen("_kernel_time"));
            g_free(expected);
            expected = g_strdup_printf("%s %s", op, node);
            n_nodes++;
        }
        check_event(trace, 0, index, expected, json_integer_value(json_object_get(event, "ts")) * 1000,
                    json_integer_value(json_object_get(event, "dur")) * 1000);
        g_assert_cmpint(event_at(trace, 0, index)->kind, ==, op != NULL ? IFM_EVENT_NODE : IFM_EVENT_SPAN);
    }
    g_assert_cmpuint(n_nodes, >, 10);
    g_assert_cmpstr(ifm_trace_text(trace, event_at(trace, 0, 2)->name), ==, "Conv conv1.relu_nchwc");
}

/* --- anybody's -------------------------------------------------------------------------------------------------------- */

static void test_phases(void)
{
    g_autoptr(GPtrArray) traces = parse(
        "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"program\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"worker\"}},"
        "{\"ph\":\"B\",\"ts\":1,\"name\":\"outer\",\"pid\":1,\"tid\":2},"
        "{\"ph\":\"B\",\"ts\":2,\"name\":\"inner\",\"pid\":1,\"tid\":2,\"args\":{\"deep\":[{\"x\":[1,{\"ph\":\"E\"}]}]}},"
        "{\"ph\":\"B\",\"ts\":2,\"name\":\"elsewhere\",\"pid\":1,\"tid\":3},"
        "{\"ph\":\"E\",\"ts\":3,\"pid\":1,\"tid\":2},"
        "{\"ph\":\"E\",\"ts\":4.25,\"pid\":1,\"tid\":2},"
        "{\"ph\":\"E\",\"ts\":9,\"pid\":1,\"tid\":3},"
        "{\"ph\":\"i\",\"ts\":5,\"name\":\"now\",\"pid\":1,\"tid\":2,\"s\":\"g\"},"
        "{\"ph\":\"C\",\"ts\":5,\"name\":\"memory\",\"pid\":1,\"args\":{\"bytes\":5}},"
        "{\"ph\":\"X\",\"ts\":6,\"name\":\"whole\",\"pid\":1,\"tid\":2,\"dur\":0.001},"
        "{\"ph\":\"s\",\"ts\":6,\"id\":1,\"name\":\"flow\",\"pid\":1,\"tid\":2},{}],"
        "\"otherData\":{\"version\":\"x 1.0\",\"list\":[1,2.5,null,true,{}]}}");
    const IfmTrace *trace = only(traces);
    g_assert_cmpuint(ifm_trace_n_tracks(trace), ==, 2);
    g_assert_cmpuint(ifm_trace_n_events(trace), ==, 5);
    check_event(trace, 0, 0, "inner", 2000, 1000);
    check_event(trace, 0, 1, "outer", 1000, 3250);
    check_event(trace, 0, 2, "now", 5000, 0);
    check_event(trace, 0, 3, "whole", 6000, 1);
    check_event(trace, 1, 0, "elsewhere", 2000, 7000);
    const IfmTrackInfo *worker = ifm_trace_track_info(trace, 0), *other = ifm_trace_track_info(trace, 1);
    g_assert_cmpint(worker->kind, ==, IFM_TRACK_FOREIGN);
    g_assert_cmpstr(worker->process, ==, "program");
    g_assert_cmpstr(worker->thread, ==, "worker");
    g_assert_cmpstr(other->process, ==, "program");
    g_assert_cmpstr(other->thread, ==, "tid 3");
    g_assert_cmpint(other->pid, ==, 1);
    g_assert_cmpint(other->tid, ==, 3);
    json_auto_t *meta = json_pack("{s:s,s:[ifnb{}]}", "version", "x 1.0", "list", 1, 2.5, TRUE);
    json_t *list = json_object_get(meta, "list");
    g_assert_nonnull(list);
    g_assert_true(json_equal((json_t *)ifm_trace_meta(trace), meta));
}

/* By category and id, a process's own where it says so; nested as B and E are. */
static void test_async(void)
{
    g_autoptr(GPtrArray) traces =
        parse("[{\"ph\":\"b\",\"ts\":1,\"cat\":\"q\",\"id\":\"0x1\",\"name\":\"one\",\"pid\":1,\"tid\":1},"
              "{\"ph\":\"b\",\"ts\":2,\"cat\":\"q\",\"id\":2,\"name\":\"two\",\"pid\":1,\"tid\":1},"
              "{\"ph\":\"b\",\"ts\":3,\"cat\":\"q\",\"id2\":{\"local\":\"0x1\"},\"name\":\"mine\",\"pid\":1,\"tid\":1},"
              "{\"ph\":\"b\",\"ts\":3,\"cat\":\"q\",\"id2\":{\"local\":\"0x1\"},\"name\":\"yours\",\"pid\":2,\"tid\":1},"
              "{\"ph\":\"b\",\"ts\":4,\"cat\":\"q\",\"id\":\"0x1\",\"name\":\"within\",\"pid\":1,\"tid\":1},"
              "{\"ph\":\"n\",\"ts\":4,\"cat\":\"q\",\"id\":\"0x1\",\"name\":\"now\",\"pid\":1,\"tid\":1},"
              "{\"ph\":\"e\",\"ts\":5,\"cat\":\"q\",\"id\":\"0x1\",\"pid\":1,\"tid\":1},"
              "{\"ph\":\"e\",\"ts\":6,\"cat\":\"q\",\"id2\":{\"local\":\"0x1\"},\"pid\":2,\"tid\":1},"
              "{\"ph\":\"e\",\"ts\":7,\"cat\":\"q\",\"id2\":{\"local\":\"0x1\"},\"pid\":1,\"tid\":1},"
              "{\"ph\":\"e\",\"ts\":8,\"cat\":\"q\",\"id\":2,\"pid\":1,\"tid\":99},"
              "{\"ph\":\"e\",\"ts\":9,\"cat\":\"q\",\"id\":\"0x1\",\"pid\":1,\"tid\":1}]");
    const IfmTrace *trace = only(traces);
    g_assert_cmpuint(ifm_trace_n_tracks(trace), ==, 2);
    g_assert_cmpint(ifm_trace_track_info(trace, 0)->kind, ==, IFM_TRACK_QUEUE); /* never taken for a thread's work */
    check_event(trace, 0, 0, "now", 4000, 0);
    check_event(trace, 0, 1, "within", 4000, 1000);
    check_event(trace, 0, 2, "mine", 3000, 4000);
    check_event(trace, 0, 3, "two", 2000, 6000);
    check_event(trace, 0, 4, "one", 1000, 8000);
    check_event(trace, 1, 0, "yours", 3000, 3000);
}

/* What never ended ends with the recording. */
static void test_unended(void)
{
    g_autoptr(GPtrArray) traces = parse("[{\"ph\":\"B\",\"ts\":1,\"name\":\"a\",\"pid\":1,\"tid\":1},"
                                        "{\"ph\":\"B\",\"ts\":2,\"name\":\"b\",\"pid\":1,\"tid\":1},"
                                        "{\"ph\":\"b\",\"ts\":3,\"name\":\"c\",\"id\":1,\"pid\":1,\"tid\":1},"
                                        "{\"ph\":\"X\",\"ts\":4,\"dur\":6,\"name\":\"d\",\"pid\":1,\"tid\":2}");
    const IfmTrace *trace = only(traces);
    check_event(trace, 0, 0, "b", 2000, 8000);
    check_event(trace, 0, 1, "a", 1000, 9000);
    check_event(trace, 1, 0, "c", 3000, 7000);
    const GPtrArray *notes = ifm_trace_notes(trace);
    g_assert_cmpuint(notes->len, ==, 1);
    g_assert_true(g_str_has_prefix(notes->pdata[0], "3 events begin and never end"));
}

static void test_numbers(void)
{
    static const struct
    {
        const char *text;
        gint64 ns;
    } times[] = {
        { "0", 0 },
        { "-0.0", 0 },
        { "0.001", 1 },
        { "1.0004", 1000 },
        { "1.0005", 1001 },
        { "-1.0005", -1001 },
        { "1.00049999999999999999999999999999999999999999999999", 1000 },
        { "9007199254740993.001", G_GINT64_CONSTANT(9007199254740993001) }, /* no double has these digits */
        { "9223372036854775.807", G_MAXINT64 },
        { "-9223372036854775.807", -G_MAXINT64 },
        { "1234567890123.457", G_GINT64_CONSTANT(1234567890123457) },
        { "1.5e3", 1500000 },
        { "15E-1", 1500 },
        { "0.00000000000000000000000000000000000000000000000001e+50", 1000 },
        { "100000000000000000000000000000000000000000000000000e-50", 1000 },
        { "1e-400", 0 },
        { "0e999999999999999999999", 0 },
        { "\"12.5\"", 12500 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(times); i++)
    {
        g_autofree char *text =
            g_strdup_printf("[{\"ph\":\"i\",\"pid\":1,\"tid\":1,\"name\":\"x\",\"ts\":%s}]", times[i].text);
        g_autoptr(GPtrArray) traces = parse(text);
        check_event(only(traces), 0, 0, "x", times[i].ns, 0);
    }
}

static void test_ids_as_texts(void)
{
    g_autoptr(GPtrArray) traces = parse("[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"a\",\"pid\":\"7\",\"tid\":\"main\"},"
                                        "{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"b\",\"pid\":7,\"tid\":\"main\"},"
                                        "{\"ph\":\"X\",\"ts\":3,\"dur\":1,\"name\":\"c\",\"pid\":7,\"tid\":\"helper\"},"
                                        "{\"ph\":\"X\",\"ts\":4,\"dur\":1,\"name\":\"d\",\"pid\":7,"
                                        "\"tid\":18446744073709551615},"
                                        "{\"ph\":\"X\",\"ts\":5,\"dur\":1,\"name\":\"e\"}]");
    const IfmTrace *trace = only(traces);
    g_assert_cmpuint(ifm_trace_n_tracks(trace), ==, 4);
    g_assert_cmpint(ifm_trace_track_info(trace, 0)->pid, ==, 7);
    g_assert_cmpstr(ifm_trace_track_info(trace, 0)->process, ==, "pid 7");
    g_assert_cmpstr(ifm_trace_track_info(trace, 0)->thread, ==, "main");
    g_assert_cmpstr(ifm_trace_track_info(trace, 1)->thread, ==, "helper");
    g_assert_cmpstr(ifm_trace_track_info(trace, 2)->thread, ==, "18446744073709551615");
    g_assert_cmpint(ifm_trace_track_info(trace, 3)->pid, ==, 0);
    check_event(trace, 0, 1, "b", 2000, 1000);
}

static void test_names(void)
{
    GString *text = g_string_new("\xef\xbb\xbf[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"");
    for (int i = 0; i < 5000; i++)
        g_string_append(text, "ü");
    g_string_append(text, "\"},{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"a\\u0000b\"}, ");
    g_autoptr(GPtrArray) traces = parse(text->str);
    const char *name = ifm_trace_text(only(traces), event_at(only(traces), 0, 0)->name);
    g_assert_cmpuint(strlen(name), ==, 4096);
    g_assert_true(g_utf8_validate(name, -1, NULL));
    check_event(only(traces), 0, 1, "a", 2000, 1000);
    g_string_free(text, TRUE);
}

static char *nested(int levels)
{
    GString *text = g_string_new("[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":"); /* two levels */
    for (int i = 2; i < levels; i++)
        g_string_append(text, i % 2 == 0 ? "[" : "{\"a\":");
    for (int i = levels - 1; i >= 2; i--)
        g_string_append(text, i % 2 == 0 ? "]" : (i == levels - 1 ? "0}" : "}"));
    g_string_append(text, "}]");
    return g_string_free(text, FALSE);
}

/* --- what is no trace ------------------------------------------------------------------------------------------------- */

static void refuse_bytes(const char *text, gsize length, int code, const char *message)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *traces = ifm_trace_parse(text, length, "input", NULL, &error);
    g_assert_null(traces);
    g_assert_error(error, IFM_ERROR, code);
    if (message != NULL)
        g_assert_cmpstr(error->message, ==, message);
    g_assert_null(strchr(error->message, '\n'));
    g_assert_true(g_str_has_prefix(error->message, "input: byte "));
}

static void test_wrong(void)
{
    static const struct
    {
        const char *text, *message;
    } wrong[] = {
        { "", "input: byte 0: the file is empty: expected a trace in Chrome's JSON" },
        { "  \n", "input: byte 3: the file is empty: expected a trace in Chrome's JSON" },
        { "12", "input: byte 2: the file: found 12, expected a trace: an object with traceEvents, or an array of events" },
        { "{}", "input: byte 2: no traceEvents: expected {\"traceEvents\": [events]}" },
        { "[]", "input: byte 2: the file ends without an event that takes time: expected X, B and E, or b and e events" },
        { "[", "input: byte 1: the file ends without an event that takes time: expected X, B and E, or b and e events" },
        { "{\"traceEvents\":5}", "input: byte 16: traceEvents: found 5, expected an array of events" },
        { "{\"traceEvents\":{}}", "input: byte 16: traceEvents: found an object, expected an array of events" },
        { "[5]", "input: byte 2: traceEvents: found 5, expected an event: {\"ph\": …}" },
        { "[[]]", "input: byte 2: traceEvents: found an array, expected an event: {\"ph\": …}" },
        { "[{\"ph\":\"X\",\"dur\":1}]", "input: byte 1: an event without ts: expected its time in us" },
        { "[{\"ts\":1}]", "input: byte 1: an event without ph: expected its kind, such as \"ph\": \"X\"" },
        { "[{\"ph\":\"XY\",\"ts\":1}]", "input: byte 11: ph: found \"XY\", expected a letter, such as \"X\"" },
        { "[{\"ph\":\"X\",\"ts\":true}]", "input: byte 20: ts: found true, expected us within 2^63 ns" },
        { "[{\"ph\":\"X\",\"ts\":\"1\\n2\"}]", "input: byte 22: ts: found \"1 2\", expected us within 2^63 ns" },
        { "[{\"ph\":\"X\",\"ts\":9223372036854775.808}]",
          "input: byte 36: ts: found 9223372036854775.808, expected us within 2^63 ns" },
        { "[{\"ph\":\"X\",\"ts\":1e400}]", "input: byte 21: ts: found 1e400, expected us within 2^63 ns" },
        { "[{\"ph\":\"X\",\"ts\":1,\"dur\":-1}]", "input: byte 26: dur: found -1, expected no less than 0" },
        { "[{\"ph\":\"X\",\"ts\":9223372036854775,\"dur\":1}]",
          "input: byte 1: the event's time is out of range: expected a start and an end within 2^63 ns" },
        { "[{\"ph\":\"E\",\"ts\":1,\"pid\":1,\"tid\":1}]",
          "input: byte 1: an E event without its B: expected a B of the same pid and tid before it" },
        { "[{\"ph\":\"B\",\"ts\":2},{\"ph\":\"E\",\"ts\":1}]",
          "input: byte 19: the slice ends 1000 ns before it begins: expected events in order of time" },
        { "[{\"ph\":\"e\",\"ts\":1,\"id\":1}]",
          "input: byte 1: an e event without its b: expected a b of the same cat and id before it" },
        { "[{\"ph\":\"C\",\"ts\":1}]",
          "input: byte 19: the file ends without an event that takes time: expected X, B and E, or b and e events" },
        { "{\"traceEvents\":[{\"ph\":\"i\",\"ts\"",
          "input: byte 30: truncated: the file ends 3 levels deep: expected the rest of it" },
        { "[{\"ph\":\"X\",\"ts\":1}]", "input: byte 1: an X event without dur: expected its length in us" },
        { "[{\"ph\":\"X\",\"ts\":1,\"dur\":Infinity}]",
          "input: byte 26: dur: found no finite number, expected us within 2^63 ns" },
        { "[{\"ph\":\"i\",\"ts\":1},{\"ph\":\"E\",\"ts\":1},{\"ph\":\"E\",\"ts\":2}]",
          "input: byte 19: an E event without its B: expected a B of the same pid and tid before it; byte 37: an E event "
          "without its B: expected a B of the same pid and tid before it (2 of 3 events are damaged, more than 5 %)" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
        refuse_bytes(wrong[i].text, strlen(wrong[i].text), IFM_ERROR_INVALID, wrong[i].message);
}

static void test_malformed(void)
{
    static const char *const wrong[] = {
        "[{\"ph\":\"i\",\"ts\":1} {}]", "[{\"ph\":\"i\",\"ts\":1}]]",
        "[{\"ph\":\"i\",\"ts\":01}]",   "[{\"ph\":\"i\",\"ts\":1}],",
        "[{ph:\"i\",\"ts\":1}]",        "[{\"ph\":\"\xff\"}]",
        "[{\"ph\":\"i\",\"ts\":nan}]",  "<html></html>",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_trace_parse(wrong[i], strlen(wrong[i]), "input", NULL, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_true(g_str_has_prefix(error->message, "input: byte "));
        g_assert_true(g_str_has_suffix(error->message, ": expected JSON"));
        g_assert_null(strchr(error->message, '\n'));
    }
}

static void test_depth(void)
{
    g_autofree char *max = nested(64), *more = nested(65);
    g_autoptr(GPtrArray) traces = parse(max);
    g_assert_cmpuint(ifm_trace_n_events(only(traces)), ==, 1);
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_trace_parse(more, strlen(more), "input", NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "nested deeper than 64 levels"));
    /* far beyond what a stack would bear */
    GString *deep = g_string_new(NULL);
    for (int i = 0; i < 10000000; i++)
        g_string_append_c(deep, '[');
    g_clear_error(&error);
    g_assert_null(ifm_trace_parse(deep->str, deep->len, "input", NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_string_free(deep, TRUE);
}

/* Neither a name without end nor white space without end takes memory. */
static void test_endless(void)
{
    gsize length = 64 << 20;
    g_autofree char *text = g_malloc(length);
    memset(text, 'a', length);
    memcpy(text, "[{\"ph\":\"", 8);
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_trace_parse(text, length, "input", NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "which no trace has"));
    memset(text, ' ', length);
    memcpy(text, "[{\"ph\":\"i\",\"ts\":1}", 18);
    g_autoptr(GPtrArray) traces = ifm_trace_parse(text, length, "input", NULL, NULL);
    g_assert_nonnull(traces);
}

static void test_limits(void)
{
    const char *text =
        "[{\"ph\":\"i\",\"ts\":1,\"name\":\"a\"},{\"ph\":\"B\",\"ts\":1,\"name\":\"b\"},{\"ph\":\"i\",\"ts\":1,"
        "\"name\":\"c\"}]";
    static const struct
    {
        IfmTraceLimits limits;
        gboolean good;
    } cases[] = { { { 3, 3 }, TRUE }, { { 2, 3 }, FALSE }, { { 3, 2 }, FALSE }, { { 0, 0 }, TRUE } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) traces = ifm_trace_parse(text, strlen(text), "input", &cases[i].limits, &error);
        g_assert_cmpint(traces != NULL, ==, cases[i].good);
        if (!cases[i].good)
            g_assert_error(error, IFM_ERROR, IFM_ERROR_MEMORY);
    }
}

static gboolean says_cut_off(const IfmTrace *trace)
{
    const GPtrArray *notes = ifm_trace_notes(trace);
    return notes->len >= 1 && strstr(notes->pdata[0], "cut off here") != NULL;
}

/* A small file of ours, cut off anywhere: an error, or what was whole before it, and a note. */
static void test_truncated(void)
{
    GRand *rand = g_rand_new_with_seed(8);
    g_autoptr(IfmTrace) trace = fixture_random(rand);
    g_rand_free(rand);
    for (int packed = 0; packed < 2; packed++)
    {
        g_autofree char *path = fixture_path(packed ? "t.json.gz" : "t.json"), *bytes = NULL;
        const IfmTrace *traces[] = { trace };
        gsize length, n_read = 0;
        g_assert_true(ifm_trace_write(traces, 1, path, NULL));
        g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
        fixture_remove(path);
        while (!packed && g_ascii_isspace(bytes[length - 1]))
            length--;
        for (gsize i = 0; i < length; i++)
        {
            g_autofree char *cut = g_memdup2(bytes, i > 0 ? i : 1); /* so that reading past it is seen */
            g_autoptr(GError) error = NULL;
            g_autoptr(GPtrArray) part = ifm_trace_parse(cut, i, "input", NULL, &error);
            n_read += part != NULL;
            if (part == NULL)
                g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
            else
                g_assert_true(says_cut_off(g_ptr_array_index(part, 0)));
        }
        g_assert_true(packed || n_read > 1000);
        g_autoptr(GPtrArray) whole = ifm_trace_parse(bytes, length, "input", NULL, NULL);
        g_assert_nonnull(whole);
    }
}

static void test_bare_array_cut_off(void)
{
    static const char text[] =
        "[ {\"ph\":\"i\",\"ts\":1,\"name\":\"},{\"} , {\"ph\":\"X\",\"ts\":2,\"dur\":1.5,\"args\":{}} ]";
    gsize first = (gsize)(strstr(text, "} ,") - text) + 1, second = first + 3;
    for (gsize i = 0; i <= strlen(text); i++)
    {
        g_autofree char *cut = g_memdup2(text, i > 0 ? i : 1);
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) traces = ifm_trace_parse(cut, i, "input", NULL, &error);
        gboolean between = (i >= first && i <= second) || i >= strlen(text) - 2;
        g_assert_cmpint(traces != NULL, ==, i >= first);
        if (traces == NULL)
            g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        else
            g_assert_cmpuint(ifm_trace_n_damaged(only(traces)), ==, between ? 0 : 1);
    }
}

static void test_files(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_trace_read("/no such file", NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_assert_null(ifm_trace_read("/", NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

static void test_gzip(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("run");
    fixture_record(fixture_track(trace, IFM_TRACK_DEVICE, "CPU", 1, 1), IFM_EVENT_INFER, 5, 10, 0, 1);
    const IfmTrace *traces[] = { trace };
    g_autofree char *path = fixture_path("t.gz"), *bytes = NULL;
    gsize length;
    g_assert_true(ifm_trace_write(traces, 1, path, NULL));
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    fixture_remove(path);
    g_autoptr(GByteArray) more = g_byte_array_new();
    g_byte_array_append(more, (guint8 *)bytes, (guint)length);
    g_byte_array_append(more, (const guint8 *)"rest", 4);
    refuse_bytes((char *)more->data, more->len, IFM_ERROR_INVALID, NULL);
    more->data[length / 2] ^= 0x55;
    refuse_bytes((char *)more->data, length, IFM_ERROR_INVALID, NULL);
    /* two packed parts make one text: here one JSON after the other, which is none */
    g_byte_array_set_size(more, 0);
    g_byte_array_append(more, (guint8 *)bytes, (guint)length);
    g_byte_array_append(more, (guint8 *)bytes, (guint)length);
    refuse_bytes((char *)more->data, more->len, IFM_ERROR_INVALID, NULL);
}

/* Our mark in front of what is not ours. */
/* otherData counts in memory, whatever little text it takes; texts that a JSON library would refuse are read. */
static void test_other_data(void)
{
    g_autoptr(GString) text = g_string_new("{\"otherData\":{\"a\":[0");
    for (int i = 0; i < 1000000; i++)
        g_string_append(text, ",1");
    g_string_append(text, "]},\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"x\",\"pid\":1,\"tid\":2}]}");
    refuse_bytes(text->str, text->len, IFM_ERROR_MEMORY, NULL);
    static const char *const lenient[] = { "\"x\\ud800y\":1", "\"a\\u0000b\":1", "\"n\":18446744073709551616" };
    for (gsize i = 0; i < G_N_ELEMENTS(lenient); i++)
    {
        g_autofree char *trace = g_strdup_printf("{\"otherData\":{%s},\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1,"
                                                 "\"name\":\"x\",\"pid\":1,\"tid\":2}]}",
                                                 lenient[i]);
        g_autoptr(GPtrArray) traces = parse(trace);
        g_assert_cmpuint(ifm_trace_n_events(only(traces)), ==, 1);
    }
}

static void test_wrong_header(void)
{
    static const struct
    {
        const char *from, *to, *message;
    } wrong[] = {
        { "\"inferometer\":1", "\"inferometer\":2", "expected layout 1" },
        { "\"kind\":\"device\"", "\"kind\":\"devise\"", "expected \"device\", \"host\", \"queue\" or \"foreign\"" },
        { "\"tids\":[1]", "\"tids\":[1,1]", "tids" },
        { "\"start_ns\":5", "\"start_ns\":\"5\"", "otherData.traces[0].start_ns" },
        { "\"batch\":3", "\"batch\":3000000000", "args.batch: found 3000000000" },
        { "\"batch\":3", "\"batch\":3,\"recorded\":1", "args.recorded of track 0" },
    };
    g_autoptr(IfmTrace) trace = ifm_trace_new("run");
    fixture_record(fixture_track(trace, IFM_TRACK_DEVICE, "CPU", 1, 1), IFM_EVENT_INFER, 5, 10, 3, 1);
    const IfmTrace *traces[] = { trace };
    g_autofree char *path = fixture_path("t.json"), *text = NULL;
    g_assert_true(ifm_trace_write(traces, 1, path, NULL));
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    fixture_remove(path);
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        GString *changed = g_string_new(text);
        g_autoptr(GError) error = NULL;
        g_assert_cmpuint(g_string_replace(changed, wrong[i].from, wrong[i].to, 1), ==, 1);
        g_assert_null(ifm_trace_parse(changed->str, changed->len, "input", NULL, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        if (strstr(error->message, wrong[i].message) == NULL)
            g_error("%s", error->message);
        g_string_free(changed, TRUE);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/read/random", test_random);
    g_test_add_func("/trace/read/large", test_large);
    g_test_add_func("/trace/read/foreign-again", test_foreign_again);
    g_test_add_func("/trace/read/onnxruntime", test_onnxruntime);
    g_test_add_func("/trace/read/phases", test_phases);
    g_test_add_func("/trace/read/other-data", test_other_data);
    g_test_add_func("/trace/read/async", test_async);
    g_test_add_func("/trace/read/unended", test_unended);
    g_test_add_func("/trace/read/numbers", test_numbers);
    g_test_add_func("/trace/read/ids-as-texts", test_ids_as_texts);
    g_test_add_func("/trace/read/names", test_names);
    g_test_add_func("/trace/read/wrong", test_wrong);
    g_test_add_func("/trace/read/malformed", test_malformed);
    g_test_add_func("/trace/read/depth", test_depth);
    g_test_add_func("/trace/read/endless", test_endless);
    g_test_add_func("/trace/read/limits", test_limits);
    g_test_add_func("/trace/read/truncated", test_truncated);
    g_test_add_func("/trace/read/bare-array-cut-off", test_bare_array_cut_off);
    g_test_add_func("/trace/read/files", test_files);
    g_test_add_func("/trace/read/gzip", test_gzip);
    g_test_add_func("/trace/read/wrong-header", test_wrong_header);
    return g_test_run();
}
