#include <math.h>
#include <string.h>

#include "pipeline-trace.h"
#include "report/check-document.h"
#include "report/golden.h"

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

/* 46 cells of 20 ms: what is drawn can be counted. The run is twice as fast. */
static void test_timeline(void)
{
    g_autoptr(IfmTrace) trace = slow_trace("simulation"), other = slower_trace("run", 500000),
                        empty = ifm_trace_new("empty");
    const IfmTrace *traces[] = { trace, other, empty };
    g_autofree char *text =
        ifm_document_show(ifm_timeline_document(traces, 3, NULL), &(IfmScreen){ .width = 60, .utf8 = TRUE });
    check_golden("trace-timeline.txt", text);
    g_autofree char *ascii = ifm_document_show(ifm_timeline_document(traces, 1, NULL), &(IfmScreen){ .width = 106 });
    check_golden("trace-timeline-ascii.txt", ascii);
    IfmTraceQuestion question = { .start_ns = 300000000, .end_ns = 500000000, .batch = -1 };
    g_autofree char *part =
        ifm_document_show(ifm_timeline_document(traces, 1, &question), &(IfmScreen){ .width = 60, .utf8 = TRUE });
    check_golden("trace-timeline-part.txt", part);
}

/* A cell of 10 ns is filled as far as the device was busy in it; the least is to be seen. */
static void test_timeline_cells(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("cells");
    IfmTrack *track = add_track(trace, IFM_TRACK_DEVICE, "x", "CPU", 0, 1, 8);
    record(track, IFM_EVENT_INFER, 1, -1, 0, 100, -1);
    record(track, IFM_EVENT_INFER, 1, -1, 150, 175, -1);
    record(track, IFM_EVENT_INFER, 1, -1, 399, 400, -1);
    const IfmTrace *traces[] = { trace };
    g_autofree char *text =
        ifm_document_show(ifm_timeline_document(traces, 1, NULL), &(IfmScreen){ .width = 14 + 40, .utf8 = TRUE });
    g_assert_nonnull(strstr(text, "\nCPU stream 0  ██████████     ██▄                     ▁\n"));
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/report/trace/page", test_page);
    g_test_add_func("/report/trace/fits", test_fits);
    g_test_add_func("/report/trace/diff", test_diff);
    g_test_add_func("/report/trace/timeline", test_timeline);
    g_test_add_func("/report/trace/timeline-cells", test_timeline_cells);
    g_test_add_func("/report/trace/csv", test_csv);
    return g_test_run();
}
