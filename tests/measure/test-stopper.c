#include <base/statistics.h>
#include <math.h>

#include "measure/measure-private.h"

#define MS G_GINT64_CONSTANT(1000000)

static gint64 noisy(gint64 level, double ratio, guint64 *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
    {
        *state = *state * G_GUINT64_CONSTANT(6364136223846793005) + G_GUINT64_CONSTANT(1442695040888963407);
        sum += (*state >> 11) * 0x1p-53;
    }
    return level * (1 + ratio * sum);
}

static void test_names(void)
{
    g_assert_cmpstr(ifm_stop_reason_name(IFM_STOP_GO_ON), ==, "go-on");
    g_assert_cmpstr(ifm_stop_reason_name(IFM_STOP_FIXED), ==, "fixed");
    g_assert_cmpstr(ifm_stop_reason_name(IFM_STOP_INTERVAL), ==, "interval");
    g_assert_cmpstr(ifm_stop_reason_name(IFM_STOP_MAX_RUNS), ==, "max-runs");
    g_assert_cmpstr(ifm_stop_reason_name(IFM_STOP_TIME_BUDGET), ==, "time-budget");
    g_assert_cmpstr(ifm_stop_reason_name(IFM_STOP_INTERRUPTED), ==, "interrupted");
    g_assert_cmpstr(ifm_stop_reason_name((IfmStopReason)99), ==, "unknown");
}

/* Exactly as many as asked for, whatever the samples and the budget say. */
static void test_fixed(void)
{
    IfmProtocol protocol = IFM_PROTOCOL_INIT;
    protocol.warmup = 10;
    protocol.runs = 50;
    g_autoptr(IfmStopper) stopper = ifm_stopper_new(&protocol);
    for (int i = 1; i <= 10; i++)
        g_assert_cmpint(ifm_stopper_warm(stopper, 1000 * MS, i * 1000 * MS), ==, i == 10);
    g_assert_false(ifm_stopper_steady(stopper)); /* it ended by count */
    for (int i = 1; i <= 50; i++)
        g_assert_cmpint(ifm_stopper_add(stopper, 1000 * MS, (10 + i) * 1000 * MS), ==,
                        i == 50 ? IFM_STOP_FIXED : IFM_STOP_GO_ON);
}

static gsize stop_count(const IfmProtocol *protocol, gint64 level, double ratio, guint64 seed, IfmStopReason *reason)
{
    g_autoptr(IfmStopper) stopper = ifm_stopper_new(protocol);
    gint64 elapsed = 0;
    gsize n = 0;
    do
    {
        gint64 sample = noisy(level, ratio, &seed);
        elapsed += sample;
        n++;
        *reason = ifm_stopper_add(stopper, sample, elapsed);
    } while (*reason == IFM_STOP_GO_ON);
    return n;
}

static void test_quiet(void)
{
    static const gsize leasts[] = { 6, 7, 20, 21, 50, 1000 };
    for (gsize i = 0; i < G_N_ELEMENTS(leasts); i++)
    {
        IfmProtocol protocol = IFM_PROTOCOL_INIT;
        protocol.min_runs = leasts[i];
        protocol.time_budget_ns = 0;
        IfmStopReason reason;
        gsize n = stop_count(&protocol, MS, 0, 1, &reason);
        g_assert_cmpint(reason, ==, IFM_STOP_INTERVAL);
        g_assert_cmpuint(n, >=, leasts[i]);
        if (leasts[i] >= 20) /* fewer cannot show that they are worth 10 twice */
            g_assert_cmpuint(n, ==, leasts[i]);
        g_assert_cmpuint(n, <=, MAX(leasts[i], 10));
    }
}

/* Runs of 1 ms that are all equal: the interval has no width, and 400 ms, a 50th of 20 s, must pass. */
static void test_min_time(void)
{
    IfmProtocol protocol = IFM_PROTOCOL_INIT;
    IfmStopReason reason;
    gsize n = stop_count(&protocol, MS, 0, 1, &reason);
    g_assert_cmpint(reason, ==, IFM_STOP_INTERVAL);
    g_assert_cmpuint(n, >=, 400);
    g_assert_cmpuint(n, <=, 500); /* the next look comes within a quarter */
    g_assert_cmpuint(stop_count(&protocol, 30 * MS, 0, 1, &reason), ==, 20);
    protocol.max_runs = 100; /* as ever, this ends it */
    g_assert_cmpuint(stop_count(&protocol, MS, 0, 1, &reason), ==, 100);
    g_assert_cmpint(reason, ==, IFM_STOP_MAX_RUNS);
}

/* By the rule itself, over the first @n samples of a series. */
static gboolean is_narrow_at(const IfmProtocol *protocol, gsize n, guint64 seed)
{
    g_autofree double *series = g_new(double, n), *sorted = g_new(double, n);
    IfmInterval interval;
    for (gsize i = 0; i < n; i++)
        series[i] = sorted[i] = (double)noisy(MS / 10, 0.05, &seed);
    ifm_sort_doubles(sorted, n);
    double effective = ifm_median_effective_size(series, sorted, n);
    return ifm_quantile_interval(sorted, n, effective, 0.5, protocol->level, &interval) &&
           (interval.upper - interval.lower) / 2 <= protocol->ci_ratio * ifm_quantile(sorted, n, 0.5);
}

/* An interval that is narrow at two looks, with one between them that finds it wide, ends nothing. */
static void test_in_a_row(void)
{
    IfmProtocol protocol = IFM_PROTOCOL_INIT;
    protocol.time_budget_ns = 0;
    for (guint64 seed = 1; seed <= 200; seed++)
    {
        IfmStopReason reason;
        gsize n = stop_count(&protocol, MS / 10, 0.05, seed, &reason), before = 16, next = 20;
        g_assert_cmpint(reason, ==, IFM_STOP_INTERVAL);
        for (; next < n; next = MAX(next + 1, (gsize)ceil((double)next * 1.25)))
            before = next;
        g_assert_cmpuint(next, ==, n);
        g_assert_true(is_narrow_at(&protocol, n, seed));
        g_assert_true(is_narrow_at(&protocol, before, seed));
    }
}

static void test_noise(void)
{
    IfmProtocol protocol = IFM_PROTOCOL_INIT;
    protocol.max_runs = 500;
    IfmStopReason reason;
    g_assert_cmpuint(stop_count(&protocol, MS / 10, 0.3, 2, &reason), ==, 500);
    g_assert_cmpint(reason, ==, IFM_STOP_MAX_RUNS);
    protocol.max_runs = 0; /* no such limit: 20 s are 200 runs of 100 ms */
    gsize n = stop_count(&protocol, 100 * MS, 0.3, 3, &reason);
    g_assert_cmpint(reason, ==, IFM_STOP_TIME_BUDGET);
    g_assert_cmpuint(n, >, 150);
    g_assert_cmpuint(n, <, 250);
    protocol.max_runs = 20000;
    protocol.time_budget_ns = 0;
    n = stop_count(&protocol, MS / 10, 0.05, 4, &reason);
    g_assert_cmpint(reason, ==, IFM_STOP_INTERVAL);
    /* (1.96 * 1.2533 * 5 % / 1 %)^2 = 151 would do if all were known; to know it costs up to two quarters and the caution.
     */
    g_assert_cmpuint(n, >=, 120);
    g_assert_cmpuint(n, <=, 600);
    protocol.ci_ratio = 0.02;
    g_assert_cmpuint(stop_count(&protocol, MS / 10, 0.05, 4, &reason), <, n);
}

/* The least count is a promise: neither the budget nor a count at most below it ends the runs before. */
static void test_promise(void)
{
    static const gsize leasts[] = { 1, 3, 20 };
    for (gsize i = 0; i < G_N_ELEMENTS(leasts); i++)
    {
        IfmProtocol protocol = IFM_PROTOCOL_INIT;
        IfmStopReason reason;
        protocol.min_runs = leasts[i];
        protocol.time_budget_ns = 50 * MS;
        g_assert_cmpuint(stop_count(&protocol, 400 * MS, 0.3, 5, &reason), ==, leasts[i]);
        g_assert_cmpint(reason, ==, IFM_STOP_TIME_BUDGET);
        protocol.max_runs = 2;
        g_assert_cmpuint(stop_count(&protocol, 400 * MS, 0.3, 5, &reason), ==, MAX(leasts[i], 1));
        g_assert_cmpint(ifm_protocol_check(&protocol, NULL), ==, leasts[i] <= 2);
    }
}

/* When it stops by the interval, the summary of the same samples holds that interval. */
static void test_agrees_with_summary(void)
{
    for (guint64 seed = 10; seed < 30; seed++)
    {
        IfmProtocol protocol = IFM_PROTOCOL_INIT;
        protocol.time_budget_ns = 0;
        g_autoptr(IfmStopper) stopper = ifm_stopper_new(&protocol);
        g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(gint64));
        guint64 state = seed;
        IfmStopReason reason;
        gint64 last = MS;
        do
        {
            last = (last + noisy(MS, 0.03, &state)) / 2; /* correlated */
            g_array_append_val(samples, last);
            reason = ifm_stopper_add(stopper, last, 0);
        } while (reason == IFM_STOP_GO_ON);
        g_assert_cmpint(reason, ==, IFM_STOP_INTERVAL);
        IfmSummary summary;
        ifm_summary_compute((const gint64 *)samples->data, samples->len, 0.95, &summary);
        g_assert_cmpfloat(summary.median_interval.upper - summary.median_interval.lower, <=, 0.02 * summary.median);
        g_assert_cmpfloat(summary.n_effective, >=, 10);
        g_assert_cmpfloat(summary.n_effective, <, samples->len / 1.2);
    }
}

/* An alternation of two levels 10 % apart never has a narrow interval, however long it is looked at. */
static void test_two_levels(void)
{
    IfmProtocol protocol = IFM_PROTOCOL_INIT;
    protocol.max_runs = 3000;
    g_autoptr(IfmStopper) stopper = ifm_stopper_new(&protocol);
    IfmStopReason reason = IFM_STOP_GO_ON;
    int n = 0;
    while (reason == IFM_STOP_GO_ON)
        reason = ifm_stopper_add(stopper, n++ % 2 ? MS : MS + MS / 10, 0);
    g_assert_cmpint(reason, ==, IFM_STOP_MAX_RUNS);
    g_assert_cmpint(n, ==, 3000);
}

/* Warm-up of runs that approach 430 ms from 430 + @extra. Returns: how many it took. */
static gsize warmup_count(const IfmProtocol *protocol, double extra, double noise, guint64 seed, gboolean *steady)
{
    g_autoptr(IfmStopper) stopper = ifm_stopper_new(protocol);
    gint64 elapsed = 0;
    gsize n = 0;
    gboolean over;
    do
    {
        gint64 sample = noisy((430 + extra * exp(-(double)n / 5)) * MS, noise, &seed);
        elapsed += sample;
        n++;
        over = ifm_stopper_warm(stopper, sample, elapsed);
    } while (!over);
    *steady = ifm_stopper_steady(stopper);
    return n;
}

static void test_warmup(void)
{
    IfmProtocol protocol = IFM_PROTOCOL_INIT;
    protocol.time_budget_ns = 0;
    gboolean steady;
    g_assert_cmpuint(warmup_count(&protocol, 0, 0, 1, &steady), ==, 10);
    g_assert_true(steady);
    protocol.warmup = 17;
    g_assert_cmpuint(warmup_count(&protocol, 0, 0, 1, &steady), ==, 17);
    g_assert_true(steady);
    protocol.warmup = 3;
    for (guint64 seed = 1; seed <= 20; seed++)
    {
        gsize level = warmup_count(&protocol, 0, 0.005, seed, &steady);
        g_assert_true(steady);
        gsize drifting = warmup_count(&protocol, 104, 0.005, seed, &steady);
        g_assert_true(steady);
        g_assert_cmpuint(level, <=, 40);
        g_assert_cmpuint(drifting, >=, 14); /* 104 * exp(-14 / 5) is 1.5 % of 430 */
        g_assert_cmpuint(drifting, <=, 100);
    }
}

static void test_warmup_limits(void)
{
    IfmProtocol protocol = IFM_PROTOCOL_INIT; /* a quarter of 20 s: 5 s, the first runs are of 534 ms and less */
    gboolean steady;
    gsize n = warmup_count(&protocol, 104, 0, 1, &steady);
    g_assert_cmpuint(n, ==, 11);
    g_assert_false(steady);
    protocol.time_budget_ns = 2000 * MS; /* not even the least warm-up fits */
    g_assert_cmpuint(warmup_count(&protocol, 104, 0, 1, &steady), ==, 1);
    g_assert_false(steady);
    protocol.time_budget_ns = 0;
    protocol.max_runs = 400;
    g_autoptr(IfmStopper) stopper = ifm_stopper_new(&protocol); /* never steady: each run is 1 % slower */
    double level = MS;
    for (n = 1; !ifm_stopper_warm(stopper, level, 0); n++)
        level *= 1.01;
    g_assert_cmpuint(n, ==, 100); /* a quarter of the most runs */
    g_assert_false(ifm_stopper_steady(stopper));
}

/* What no record could hold is said before anything runs. */
static void test_counts(void)
{
    IfmProtocol cases[] = { IFM_PROTOCOL_INIT, IFM_PROTOCOL_INIT, IFM_PROTOCOL_INIT, IFM_PROTOCOL_INIT };
    cases[0].runs = IFM_PROTOCOL_MAX_RUNS + 1;
    cases[1].warmup = G_MAXSIZE;
    cases[2].max_runs = IFM_PROTOCOL_MAX_RUNS + 1;
    cases[3].max_runs = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_protocol_check(&cases[i], &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, "a record holds 5000000"));
    }
    IfmProtocol max = IFM_PROTOCOL_INIT;
    max.runs = max.warmup = IFM_PROTOCOL_MAX_RUNS;
    max.max_runs = 0; /* not looked at */
    g_assert_true(ifm_protocol_check(&max, NULL));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stopper/names", test_names);
    g_test_add_func("/stopper/fixed", test_fixed);
    g_test_add_func("/stopper/quiet", test_quiet);
    g_test_add_func("/stopper/least-time", test_min_time);
    g_test_add_func("/stopper/in-a-row", test_in_a_row);
    g_test_add_func("/stopper/noise", test_noise);
    g_test_add_func("/stopper/promise", test_promise);
    g_test_add_func("/stopper/summary", test_agrees_with_summary);
    g_test_add_func("/stopper/two-levels", test_two_levels);
    g_test_add_func("/stopper/warmup", test_warmup);
    g_test_add_func("/stopper/warmup/limits", test_warmup_limits);
    g_test_add_func("/stopper/counts", test_counts);
    return g_test_run();
}
