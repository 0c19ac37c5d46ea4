#include <math.h>

#include "pipeline-trace.h"

static IfmTraceAnalysis *analyse(const IfmTrace *trace)
{
    g_autoptr(GError) error = NULL;
    IfmTraceAnalysis *analysis = ifm_trace_analyse(trace, NULL, &error);
    g_assert_no_error(error);
    return analysis;
}

static const IfmTraceDifference *find(const GPtrArray *rows, const char *key)
{
    const IfmTraceDifference *found = NULL;
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmTraceDifference *row = rows->pdata[i];
        if (g_str_equal(row->key, key))
        {
            g_assert_null(found); /* a key names one row */
            found = row;
        }
    }
    return found;
}

static void check(const GPtrArray *rows, const char *key, const char *unit, double a, double b)
{
    const IfmTraceDifference *row = find(rows, key);
    g_assert_nonnull(row);
    g_assert_cmpstr(row->unit, ==, unit);
    g_assert_true(isnan(a) ? isnan(row->a) : row->a == a);
    g_assert_true(isnan(b) ? isnan(row->b) : row->b == b);
    if (isnan(a) || isnan(b) || a == 0)
        g_assert_true(isnan(row->ratio));
    else
        g_assert_cmpfloat_with_epsilon(row->ratio, b / a, 1e-12);
}

/* Block 2 is on GPU, which the other trace has in block 1, and takes 100; there is no NPU. */
static IfmTrace *other_trace(void)
{
    g_autoptr(IfmTrace) trace = ifm_trace_new("other");
    IfmTrack *gpu = add_track(trace, IFM_TRACK_DEVICE, "GPU stream 0", "GPU", 0, 2, 8);
    IfmTrack *second = add_track(trace, IFM_TRACK_DEVICE, "GPU stream 1", "GPU", 1, 2, 8);
    IfmTrack *host = add_track(trace, IFM_TRACK_HOST, "block 2 host", NULL, 0, 2, 8);
    record(gpu, IFM_EVENT_INFER, 2, 0, 0, 100, 80);
    record(second, IFM_EVENT_INFER, 2, 1, 0, 100, -1);
    record(host, IFM_EVENT_BLOCK, 2, 0, 0, 100, -1);
    record(host, IFM_EVENT_BATCH, 0, 0, 0, 100, -1);
    return g_steal_pointer(&trace);
}

static void test_other(void)
{
    g_autoptr(IfmTrace) trace = pipeline_trace("known"), other = other_trace();
    g_autoptr(IfmTraceAnalysis) a = analyse(trace), b = analyse(other);
    g_autoptr(GPtrArray) rows = ifm_trace_diff(a, b);
    g_assert_cmpstr(((const IfmTraceDifference *)rows->pdata[0])->key, ==, "throughput");
    g_assert_cmpstr(((const IfmTraceDifference *)rows->pdata[1])->key, ==, "makespan");
    check(rows, "makespan", "ns", 900, 100);
    check(rows, "throughput", "1/s", 4e9 / 920, 1e7);
    check(rows, "latency max", "ns", 695, 100);
    check(rows, "cycle median", "ns", 205, 100);
    check(rows, "block 1 total", "ns", 80, NAN);
    check(rows, "block 2 total", "ns", 205, 100);
    check(rows, "block 1 merge", "ns", 10, NAN);
    check(rows, "CPU stream 0 wall utilisation", "ratio", 240.0 / 920, NAN);
    check(rows, "CPU stream 0 idle upstream", "ns", 95, NAN);
    check(rows, "GPU stream 0 busy", "ns", 120, 100);
    check(rows, "GPU stream 0 idle", "ns", 800, 0);
    check(rows, "GPU stream 0 idle partner", "ns", 120, 0);
    check(rows, "GPU stream 1 busy", "ns", NAN, 100);
    check(rows, "GPU stream 0 mean penalty", "ns", 5, 20);
    g_assert_null(find(rows, "NPU stream 0 hardware utilisation")); /* which neither has */
}

static void test_same(void)
{
    g_autoptr(IfmTrace) trace = pipeline_trace("known");
    g_autoptr(IfmTraceAnalysis) a = analyse(trace), b = analyse(trace);
    g_autoptr(GPtrArray) rows = ifm_trace_diff(a, b);
    g_assert_cmpuint(rows->len, >, 30);
    for (guint i = 0; i < rows->len; i++)
    {
        const IfmTraceDifference *row = rows->pdata[i];
        g_assert_cmpfloat(row->a, ==, row->b);
        g_assert_true(row->a == 0 || row->ratio == 1);
        g_assert_true(find(rows, row->key) == row);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/trace/diff/other", test_other);
    g_test_add_func("/trace/diff/same", test_same);
    return g_test_run();
}
