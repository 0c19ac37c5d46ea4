#include <math.h>
#include <string.h>

#include <document/document.h>
#include <measure/compare-page.h>
#include <study/findings.h>
#include <trace/trace-page.h>

#include "document/summary-line.h"

/* Each way that the rules of verdicts can fall: of traces, comparisons, predictions of convolutions. */

/* --- traces ---------------------------------------------------------------------------------------------------------- */

#define MS 1000000

typedef struct
{
    int idle_percent, caused_percent; /* of the window, of 100 ms */
    IfmIdleCause cause;
    const char *wanted[4];
    int other_percent; /* what a second device was idle; 0: there is none */
} IdleRow;

static char *trace_line(const IdleRow *row, const char *meta, gsize n_dropped)
{
    static const IfmTrackInfo info = { .kind = IFM_TRACK_DEVICE, .device = (char *)"CPU", .stream = 0 };
    g_autoptr(IfmTrace) trace = ifm_trace_new("run");
    IfmTraceAnalysis analysis = { .window_ns = 100 * MS,
                                  .n_devices = row != NULL,
                                  .tracks = g_array_new(FALSE, TRUE, sizeof(IfmTrackUse)),
                                  .wall_utilisation = 0.5,
                                  .makespan_ns = -1,
                                  .throughput_per_s = NAN,
                                  .latency = { .p50_ns = NAN },
                                  .stages = g_array_new(FALSE, TRUE, sizeof(IfmStageUse)),
                                  .n_dropped = n_dropped,
                                  .warnings = g_ptr_array_new() };
    IfmTrackUse use = { .info = &info };
    IfmDocument *document = ifm_document_new("trace", "run");
    if (row != NULL)
    {
        use.idle_ns = (gint64)row->idle_percent * MS;
        use.idle_by_cause_ns[row->cause] = (gint64)row->caused_percent * MS;
        use.idle_by_cause_ns[row->cause == 0 ? 1 : 0] = (gint64)(row->idle_percent - row->caused_percent) * MS / 3;
        g_array_append_val(analysis.tracks, use);
        const IfmTrackUse other = { .info = &info, .idle_ns = (gint64)row->other_percent * MS };
        if (row->other_percent > 0)
            g_array_append_val(analysis.tracks, other);
        analysis.n_devices = analysis.tracks->len;
    }
    if (meta != NULL)
        ifm_trace_set_meta(trace, json_loads(meta, 0, NULL));
    ifm_trace_add_headline(document, trace, &analysis);
    g_array_unref(analysis.tracks);
    g_array_unref(analysis.stages);
    g_ptr_array_unref(analysis.warnings);
    return summary_line(document);
}

static void test_trace(void)
{
    static const IdleRow rows[] = {
        { 3,
          2,
          IFM_IDLE_HOST,
          { "CPU stream 0 was idle for 3 % of 100 ms, no device for longer: nothing is to be gained", "!at most" } },
        { 40, 30, IFM_IDLE_UNKNOWN, { "CPU stream 0 was idle for 40 % of 100 ms, and no event shows why", "!at most" } },
        { 40,
          15,
          IFM_IDLE_PARTNER,
          { "for several reasons: 38 % of it because it waited for its partner", "Shift work to it" } },
        { 40,
          30,
          IFM_IDLE_UPSTREAM,
          { "75 % of it because it waited for batches from the block before", "Give the block before" } },
        { 40, 30, IFM_IDLE_HOST, { "because the host partitioned", "Partition less" } },
        { 40, 30, IFM_IDLE_TRANSFER, { "because copies were in progress", "Share memory" } },
        { 40, 30, IFM_IDLE_QUEUE_FULL, { "because the block after it was still busy", "Give the block after it less" } },
        { 40, 30, IFM_IDLE_PARTNER, { "because it waited for its partner", "(at most 30.0 ms, 30 % of the time)" } },
        { 40, 30, IFM_IDLE_PARTNER, { "because it waited for its partner", "(at most 20.0 ms, 20 % of the time)" }, 20 },
        { 40,
          30,
          IFM_IDLE_NO_WORK,
          { "Take work from the busiest device: it was idle for 2 % alone", "See on the timeline", "!at most" },
          2 },
        { 40, 30, IFM_IDLE_NO_WORK, { "because no batch was there for it", "Send more batches" } },
        { 40, 30, IFM_IDLE_HOST_WAIT, { "because the host launched the next kernel too late", "Launch earlier" } },
        { 40, 30, IFM_IDLE_KERNEL_WAIT, { "because one kernel had to follow another", "Fuse small kernels" } },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *line = trace_line(&rows[i], NULL, 0);
        assert_line(line, rows[i].wanted);
        assert_line(line, (const char *const[]){ "unchecked one recording", "| good:", NULL });
    }
    g_autofree char *none = trace_line(NULL, NULL, 0), *simulated = trace_line(rows, "{\"simulated\": true}", 0),
                    *stopped = trace_line(rows, "{\"stopped\": \"status 7\"}", 0), *lost = trace_line(rows, NULL, 5),
                    *slow = trace_line(rows, "{\"device_time_slow_down_ratio\": 0.2}", 0);
    assert_line(none, (const char *const[]){ "Nothing ran on a device in 100 ms", NULL });
    assert_line(simulated, (const char *const[]){ "care simulated: computed from a plan's costs", "!one recording", NULL });
    assert_line(stopped, (const char *const[]){ "; this is not to be trusted", "bad it ended early: status 7;", NULL });
    assert_line(lost, (const char *const[]){ "bad 5 of 5 events are missing or damaged;", NULL });
    assert_line(slow, (const char *const[]){ "care asking for device time slowed it by 20 %;", NULL });
}

static void test_trace_diff(void)
{
    static const struct
    {
        IfmTraceDifference row;
        const char *wanted;
    } rows[] = {
        { { (char *)"throughput", "1/s", 4, 5, 1.25 },
          "The throughput of B is 1.25 times that of A, in one recording of each" },
        { { (char *)"makespan", "ns", 4e6, 4e6, 1 }, "The makespan of B is that of A | 4.00 ms and 4.00 ms" },
        { { (char *)"idle", "ratio", 0.1, 0.2, 2 }, "A and B have no figure in common" },
        { { (char *)"makespan", "ns", 4e6, NAN, NAN }, "A and B have no figure in common" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GPtrArray) differences = g_ptr_array_new();
        g_ptr_array_add(differences, (gpointer)&rows[i].row);
        g_autofree char *line = summary_line(ifm_trace_diff_document(differences, "A", "B"));
        assert_line(line, (const char *const[]){ rows[i].wanted, "unchecked one recording of each", NULL });
    }
}

/* --- comparisons ----------------------------------------------------------------------------------------------------- */

/* By the whole interval, at the level that was asked for; what is not to be trusted fails whatever it says. */
static void test_failure(void)
{
    static const struct
    {
        double lower, level, ratio;
        IfmTrust trust;
        const char *why;
    } rows[] = {
        { 1.1, 0.95, 1, IFM_TRUST_GOOD, "B is slower: at least 1.1 times A's time" },
        { 1.1, 0.95, 1.05, IFM_TRUST_CARE, "B is slower: at least 1.1 times A's time" },
        { 1.1, 0.95, 1.2, IFM_TRUST_GOOD, NULL },
        { 0.9, 0.95, 1, IFM_TRUST_GOOD, NULL },
        { 1.1, 0.5, 1, IFM_TRUST_GOOD, NULL },
        { NAN, 0.95, 1, IFM_TRUST_UNCHECKED, NULL },
        { 0.9, 0.95, 1, IFM_TRUST_BAD, "the result is not to be trusted, and shows nothing: measure again" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        const IfmComparison comparison = { .level = 0.95, .interval = { rows[i].lower, 1.3, rows[i].level } };
        g_autofree char *why = ifm_comparison_failure(&comparison, rows[i].ratio, rows[i].trust);
        g_assert_cmpstr(why, ==, rows[i].why);
    }
}

/* --- convolutions
 * --------------------------------------------------------------------------------------------------------- */

static void test_conv_prediction(void)
{
    static const IfmStudyDevice device = { .alias = (char *)"CPU", .device = (char *)"onnxruntime:CPU" };
    static const struct
    {
        gsize n;
        double upper, other_lower;
        IfmGridOrigin origin;
        const char *wanted[2];
    } rows[] = {
        { 1, 11e6, 0, IFM_GRID_EXACT, { "direct is predicted to take 10.0 ms at size 300 on CPU; no other was measured" } },
        { 2,
          11e6,
          12e6,
          IFM_GRID_INTERPOLATED,
          { "direct is predicted to take the least time at size 300 on CPU: 10.0 ms", "| good:" } },
        { 2, 11e6, 10.5e6, IFM_GRID_INTERPOLATED, { "to take 10.0 ms at size 300 on CPU, not told apart from winograd" } },
        { 2,
          NAN,
          NAN,
          IFM_GRID_INTERPOLATED,
          { "not told apart from winograd", "care the prediction of CPU has no interval" } },
        { 2,
          11e6,
          12e6,
          IFM_GRID_OUTSIDE,
          { "; this is not to be trusted", "bad the prediction of CPU is extrapolated beyond the measured sizes" } },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GArray) all = g_array_new(FALSE, TRUE, sizeof(IfmConvPrediction));
        const IfmConvPrediction two[] = {
            { .device = &device,
              .algorithm = "direct",
              .time_ns = 10e6,
              .lower_ns = 9e6,
              .upper_ns = rows[i].upper,
              .energy_j = NAN,
              .mean_ratio = NAN,
              .noise_ratio = NAN,
              .origin = rows[i].origin },
            { .device = &device,
              .algorithm = "winograd",
              .time_ns = 13e6,
              .lower_ns = rows[i].other_lower,
              .upper_ns = 14e6,
              .energy_j = NAN,
              .mean_ratio = NAN,
              .noise_ratio = NAN,
              .origin = rows[i].origin },
        };
        g_array_append_vals(all, two, (guint)rows[i].n);
        g_autofree char *line = summary_line(ifm_conv_prediction_document(all, "m", 300));
        assert_line(line, (const char *const[]){ rows[i].wanted[0], rows[i].wanted[1], NULL });
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/verdicts/trace", test_trace);
    g_test_add_func("/verdicts/trace-diff", test_trace_diff);
    g_test_add_func("/verdicts/failure", test_failure);
    g_test_add_func("/verdicts/conv-prediction", test_conv_prediction);
    return g_test_run();
}
