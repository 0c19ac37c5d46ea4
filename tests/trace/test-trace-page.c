#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <document/summary.h>
#include <trace/trace-page.h>

#include "document/check-document.h"
#include "document/golden.h"
#include "pipeline-trace.h"

static IfmTraceAnalysis *analyse(const IfmTrace *trace)
{
    g_autoptr(GError) error = NULL;
    IfmTraceAnalysis *analysis = ifm_trace_analyse(trace, NULL, &error);
    g_assert_no_error(error);
    return analysis;
}

/* The pipeline of pipeline-trace.h, slower. */
static IfmTrace *slower_trace(const char *name, gint64 times)
{
    IfmTrace *trace = pipeline_trace(name);
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        gsize n;
        IfmEvent *events = (IfmEvent *)ifm_trace_events(trace, track, &n);
        for (gsize i = 0; i < n; i++)
        {
            events[i].start_ns *= times;
            events[i].duration_ns *= times;
            events[i].device_ns *= events[i].device_ns >= 0 ? times : 1;
        }
    }
    return trace;
}

/* ns are ms. */
static IfmTrace *slow_trace(const char *name)
{
    return slower_trace(name, 1000000);
}

static void test_page(void)
{
    g_autoptr(IfmTrace) trace = slow_trace("run");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace);
    g_autofree char *page =
        ifm_document_show(ifm_trace_document(trace, analysis), &(IfmScreen){ .width = 120, .utf8 = TRUE });
    check_golden("trace.txt", page);
    const IfmTrace *traces[] = { trace };
    g_assert_cmpuint(check_document(ifm_trace_document(trace, analysis)), >, 0);
    g_assert_cmpuint(check_document(ifm_timeline_document(traces, 1, NULL)), >, 0);
    g_ptr_array_add(analysis->warnings, g_strdup("3 events were dropped"));
    g_autofree char *narrow = ifm_document_show(ifm_trace_document(trace, analysis), &(IfmScreen){ .width = 80 });
    check_golden("trace-narrow-ascii.txt", narrow);
}

static void check_text(char *text /* (transfer full) */, const char *expected)
{
    g_autofree char *own = text;
    g_auto(GStrv) parts = g_strsplit(own, "\u00a0", -1);
    g_autofree char *plain = g_strjoinv(" ", parts);
    g_assert_cmpstr(plain, ==, expected);
}

static void check_title(IfmTraceAnalysis *analysis, const char *expected)
{
    check_text(ifm_utilisation_title(analysis), expected);
}

/* Each way the rule can fall. */
static void test_title(void)
{
    const IfmTrackInfo info = { .kind = IFM_TRACK_DEVICE, .device = (char *)"CPU" },
                       other = { .kind = IFM_TRACK_DEVICE, .device = (char *)"GPU", .stream = 1 };
    g_autoptr(GArray) tracks = g_array_new(FALSE, TRUE, sizeof(IfmTrackUse));
    IfmTraceAnalysis analysis = { .tracks = tracks };
    check_title(&analysis, "What each thread does");
    IfmTrackUse use = { .info = &info, .wall_utilisation = 0.999, .idle_ns = 100 };
    g_array_append_val(tracks, use);
    analysis.n_devices = 1;
    check_title(&analysis, "CPU stream 0 is busy all of the time");
    IfmTrackUse *first = &g_array_index(tracks, IfmTrackUse, 0);
    first->wall_utilisation = 0.96;
    check_title(&analysis, "CPU stream 0 is busy all of the time but 4 %");
    use.info = &other;
    g_array_append_val(tracks, use);
    analysis.n_devices = 2;
    first = &g_array_index(tracks, IfmTrackUse, 0);
    check_title(&analysis, "All 2 streams are busy: the least busy, CPU stream 0, is idle 4 % of the time");
    first->wall_utilisation = 0.997;
    check_title(&analysis, "All 2 streams are busy all of the time");
    first->wall_utilisation = 0.75;
    check_title(&analysis, "CPU stream 0 is idle 25 % of the time");
    first->idle_by_cause_ns[IFM_IDLE_PARTNER] = 60;
    check_title(&analysis, "CPU stream 0 is idle 25 % of the time, most of it waiting for its partner's share");
}

static void test_queues_title(void)
{
    const IfmQueueUse full = { "queue 1", 2, 4 }, same = { "queue 2", 2, 3 }, less = { "queue 3", 1, 9 },
                      none = { "queue 4", 0, 0 };
    check_text(ifm_queues_title(NULL, 0), "No queue was recorded");
    check_text(ifm_queues_title((IfmQueueUse[]){ none, none }, 2), "No batch waits in a queue");
    check_text(ifm_queues_title(&full, 1), "queue 1 holds 2.00 batches on average, 4 at most");
    check_text(ifm_queues_title((IfmQueueUse[]){ less, full, none }, 3),
               "queue 1 holds 2.00 batches on average, 4 at most: no queue is fuller");
    check_text(ifm_queues_title((IfmQueueUse[]){ full, same, less }, 3),
               "The 2 fullest of 3 queues hold 2.00 batches on average each");
}

static void test_blocks_title(void)
{
    g_autoptr(GArray) stages = g_array_new(FALSE, TRUE, sizeof(IfmStageUse));
    check_text(ifm_blocks_title(stages), "What a batch takes in each block is not known");
    IfmStageUse use = { .block = 1, .mean_ns = 2e6, .device_ns = 1e6, .partition_ns = 5e5, .merge_ns = 5e5 };
    g_array_append_val(stages, use);
    check_text(ifm_blocks_title(stages), "Block 1 takes 2.00 ms of a batch");
    use = (IfmStageUse){ .block = 2, .mean_ns = 6e6, .device_ns = 5e6, .partition_ns = 5e5, .merge_ns = 5e5 };
    g_array_append_val(stages, use);
    check_text(ifm_blocks_title(stages), "Block 2 takes 75 % of a batch's time in blocks, most of it on its devices");
    IfmStageUse *longest = &g_array_index(stages, IfmStageUse, 1);
    longest->device_ns = 5e5;
    longest->partition_ns = 5e6;
    check_text(ifm_blocks_title(stages), "Block 2 takes 75 % of a batch's time in blocks, most of it to partition");
    longest->partition_ns = 5e5;
    longest->merge_ns = 5e6;
    check_text(ifm_blocks_title(stages), "Block 2 takes 75 % of a batch's time in blocks, most of it to merge");
}

static void test_path_title(void)
{
    const IfmTrackInfo info = { .kind = IFM_TRACK_DEVICE, .device = (char *)"CPU" };
    g_autoptr(GArray) tracks = g_array_new(FALSE, TRUE, sizeof(IfmTrackUse));
    g_autoptr(GArray) path = g_array_new(FALSE, TRUE, sizeof(IfmPathStep));
    IfmTraceAnalysis analysis = { .tracks = tracks, .critical_path = path, .n_devices = 1 };
    const IfmTrackUse use = { .info = &info, .wall_utilisation = 0.999 };
    IfmPathStep step = { .kind = IFM_EVENT_INFER, .duration_ns = 3000000 };
    g_array_append_val(tracks, use);
    check_text(ifm_path_title(&analysis), "CPU stream 0 is busy all of the time");
    g_array_append_val(path, step);
    step.kind = IFM_EVENT_COPY;
    step.duration_ns = 2000000;
    g_array_append_val(path, step);
    check_text(ifm_path_title(&analysis), "The batch of median latency takes 5.00 ms: most of it is inference (60 %)");
    step.kind = IFM_EVENT_BLOCK;
    step.turn = TRUE;
    step.duration_ns = 5000000;
    g_array_append_val(path, step);
    check_text(ifm_path_title(&analysis),
               "The batch of median latency takes 10.0 ms for several reasons: 50 % of it is waiting");
}

/* (transfer full) what the page's script draws of a timeline */
static json_t *timeline_data(const IfmDocument *document)
{
    g_autofree char *page = ifm_documents_to_html(&document, 1, "timeline");
    const char *begin = strstr(page, "<script type=\"application/json\">"), *end = NULL;
    g_assert_nonnull(begin);
    begin = strchr(begin, '>') + 1;
    end = strstr(begin, "</script>");
    json_t *data = json_loadb(begin, (gsize)(end - begin), 0, NULL);
    g_assert_nonnull(data);
    return data;
}

/* Every span is there, to a step of time, with the name that it has, which ends no element. */
static void test_data(void)
{
    static const char hostile[] = "</script><b>";
    g_autoptr(IfmTrace) trace = ifm_trace_new("data");
    IfmTrack *track = add_track(trace, IFM_TRACK_DEVICE, "x", "CPU", 0, 1, 1000);
    const IfmTrace *traces[] = { trace };
    for (int i = 0; i < 1000; i++)
    {
        IfmEvent event = IFM_EVENT_INIT;
        event.kind = IFM_EVENT_KERNEL;
        event.start_ns = 1000 * (gint64)i;
        event.duration_ns = 300 + i % 600;
        event.name = ifm_trace_intern(trace, hostile);
        ifm_track_record(track, &event);
    }
    g_autoptr(IfmDocument) document = ifm_timeline_document(traces, 1, NULL);
    json_auto_t *data = timeline_data(document);
    const double step = ifm_member_number(data, "step"), low = ifm_member_number(data, "low");
    const json_t *rows = json_object_get(data, "rows"), *keys = json_object_get(data, "keys"),
                 *row = json_array_get(rows, 1);
    gint64 at = 0, n = 0;
    g_assert_cmpuint(json_array_size(json_array_get(rows, 0)), ==, 0); /* the name of the trace */
    for (gsize i = 0; i < json_array_size(row); n++)
    {
        const gint64 from = at + json_integer_value(json_array_get(row, i)),
                     key = json_integer_value(json_array_get(row, i + 2));
        at = from + json_integer_value(json_array_get(row, i + 1));
        i += (key & 1) != 0 ? 4 : 3;
        const char *name = json_string_value(json_array_get(json_array_get(keys, (gsize)key / 2), 3));
        if (g_strcmp0(name, hostile) != 0) /* why it was idle */
            break;
        g_assert_cmpfloat_with_epsilon(low + (double)from * step, 1000.0 * (double)n, step);
        g_assert_cmpfloat_with_epsilon(low + (double)at * step, 1000.0 * (double)n + 300 + (double)(n % 600), step);
    }
    g_assert_cmpint(n, >=, 1000);
}

/* 100,000 events are less than 2 MiB. */
static void test_large(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("large");
    const IfmTrace *traces[] = { trace };
    for (int t = 0; t < 10; t++)
    {
        g_autofree char *name = g_strdup_printf("GPU%d", t);
        IfmTrack *track = add_track(trace, IFM_TRACK_DEVICE, name, name, t, 1, 10000);
        for (int i = 0; i < 10000; i++)
        {
            const gint64 start = 100003 * (gint64)i + 37 * t;
            record(track, IFM_EVENT_KERNEL, 1, -1, start, start + 1000 + (i * 7919) % 90000, -1);
        }
    }
    g_autoptr(IfmDocument) document = ifm_timeline_document(traces, 1, NULL);
    const IfmDocument *one = document;
    g_autofree char *page = ifm_documents_to_html(&one, 1, "large");
    g_assert_cmpuint(strlen(page), <, 2 << 20);
}

static void test_fits(void)
{
    g_autoptr(IfmTrace) trace = slow_trace("run");
    g_autoptr(IfmTraceAnalysis) analysis = analyse(trace);
    const IfmTrace *both[] = { trace, trace };
    for (int width = 60; width < 200; width += 7)
    {
        IfmScreen screen = { .width = width, .utf8 = width % 2 };
        g_autofree char *page = ifm_document_show(ifm_trace_document(trace, analysis), &screen);
        g_autofree char *timeline = ifm_document_show(ifm_timeline_document(both, 2, NULL), &screen);
        g_autofree char *all = g_strconcat(page, timeline, NULL);
        g_auto(GStrv) lines = g_strsplit(all, "\n", -1);
        for (char **line = lines; *line != NULL; line++)
            g_assert_cmpint(ifm_text_width(*line), <=, width);
    }
}

static void test_diff(void)
{
    g_autoptr(IfmTrace) trace = slow_trace("a"), other = slower_trace("b", 1100000);
    g_autoptr(IfmTraceAnalysis) a = analyse(trace), b = analyse(other);
    g_array_set_size(b->stages, 1); /* there is no block 2 */
    g_autoptr(GPtrArray) differences = ifm_trace_diff(a, b);
    g_autofree char *page = ifm_document_show(ifm_trace_diff_document(differences, "simulation", "run"),
                                              &(IfmScreen){ .width = 100, .utf8 = TRUE });
    check_golden("trace-diff.txt", page);
}

static void test_csv(void)
{
    g_autoptr(IfmTrace) trace = pipeline_trace("known, \"quoted\"");
    const IfmTrace *traces[] = { trace, trace };
    g_autofree char *text = ifm_trace_events_to_csv(traces, 2);
    g_auto(GStrv) lines = g_strsplit(text, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 2 * ifm_trace_n_events(trace) + 2);
    g_assert_cmpstr(lines[0], ==,
                    "trace,trace_name,process,thread,device,stream,kind,name,start_ns,duration_ns,device_ns,overhead_ns,"
                    "bytes,batch,block,first_stage,last_stage,failed");
    g_assert_cmpstr(lines[1], ==, "0,\"known, \"\"quoted\"\"\",run,batches,,,batch,,20,285,,,0,0,,4,7,false");
    gsize n_cpu = 0;
    for (char **line = lines; *line != NULL; line++)
        n_cpu += strstr(*line, ",run,CPU (openvino:CPU@0) stream 0,CPU,0,infer,,") != NULL &&
                 strstr(*line, ",60,50,,0,") != NULL;
    g_assert_cmpuint(n_cpu, ==, 8);
}

/* When and where it was recorded, as its file says; what it does not say is said, too. */
static void test_machine(void)
{
    static const struct
    {
        const char *meta, *name, *text;
    } cases[] = {
        { "{}", "machine", "not recorded" },
        { "{\"machine\": {\"cpu\": \"\"}}", "machine", "not recorded" },
        { "{\"simulated\": true}", "machine", "none: it was simulated" },
        { "{\"machine\": {\"cpu\": \"A CPU\"}, \"started_unix_ms\": 1700000000000}", "CPU", "A CPU" },
        { "{\"machine\": {\"cpu\": \"A CPU\"}, \"started_unix_ms\": 1700000000000}", "when", "2023-11-14 22:13 UTC" },
        { "{\"cpu-brand\": \"A CPU\", \"hostname\": \"here\"}", "CPU", "A CPU" },
        { "{\"hostname\": \"here\"}", "machine", "here" },
        { "{\"machine\": \"there\"}", "machine", "there" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(IfmTrace) trace = slow_trace("run");
        ifm_trace_set_meta(trace, json_loads(cases[i].meta, 0, NULL));
        g_autoptr(IfmTraceAnalysis) analysis = analyse(trace);
        g_autoptr(IfmDocument) document = ifm_trace_document(trace, analysis);
        json_auto_t *summary = ifm_document_summary_to_json(document);
        const json_t *facts = ifm_member(summary, "provenance.facts");
        g_assert_cmpstr(ifm_member_text(facts, cases[i].name), ==, cases[i].text);
        g_assert_true((json_object_get(facts, "CPU") != NULL) != (json_object_get(facts, "machine") != NULL));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/trace/page", test_page);
    g_test_add_func("/report/trace/title", test_title);
    g_test_add_func("/report/trace/queues-title", test_queues_title);
    g_test_add_func("/report/trace/blocks-title", test_blocks_title);
    g_test_add_func("/report/trace/path-title", test_path_title);
    g_test_add_func("/report/trace/machine", test_machine);
    g_test_add_func("/report/trace/data", test_data);
    g_test_add_func("/report/trace/large", test_large);
    g_test_add_func("/report/trace/fits", test_fits);
    g_test_add_func("/report/trace/diff", test_diff);
    g_test_add_func("/report/trace/csv", test_csv);
    return g_test_run();
}
