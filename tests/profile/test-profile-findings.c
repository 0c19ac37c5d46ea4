#include <math.h>
#include <string.h>

#include <profile/profile-findings.h>

/* What titles of figures say: every way that each rule can fall. Blanks that no line is broken at are as any other here. */

static const char *const names[] = { "A", "B", "C", "D" };

/* @said: (transfer full) */
static void check(char *said, const char *expected)
{
    g_auto(GStrv) parts = g_strsplit(said, "\xc2\xa0", -1);
    g_autofree char *plain = g_strjoinv(" ", parts);
    g_assert_cmpstr(plain, ==, expected);
    g_free(said);
}

static json_t *rounds_of(const char *verdict, int n_rounds, double least)
{
    return json_pack("{s:s,s:i,s:i,s:[{s:s,s:f,s:f,s:f},{s:s,s:f,s:f,s:f},{s:s,s:f,s:f,s:f}]}", "verdict", verdict,
                     "leader", 0, "n_rounds", n_rounds, "sides", "name", "A", "ratio", 1.0, "least_ratio", 1.0,
                     "most_ratio", 1.0, "name", "C", "ratio", 3.0, "least_ratio", 2.5, "most_ratio", 3.5, "name", "B",
                     "ratio", 1.25, "least_ratio", least, "most_ratio", 1.5);
}

static void test_times(void)
{
    json_auto_t *fastest = rounds_of("fastest", 6, 1.125), *alike = rounds_of("not told apart", 6, 0.9),
                *few = rounds_of("led all", 1, 1.25), *one = rounds_of("not told apart", 1, 0.9);
    check(ifm_finding_times(names, 1, NULL, 0.021), "The median is known to ±2 %");
    check(ifm_finding_times(names, 1, NULL, NAN), "Too few runs for an interval of the median");
    check(ifm_finding_times(names, 2, NULL, 0.1), "One process of each does not tell the devices apart");
    check(ifm_finding_times(names, 3, fastest, 0.1), "B takes 1.25 times the time of A, and it led none of 6 rounds");
    check(ifm_finding_times(names, 3, alike, 0.1), "6 rounds do not tell B and A apart: 0.900 to 1.50 times the time");
    check(ifm_finding_times(names, 3, one, 0.1), "1 round does not tell B and A apart: 0.900 to 1.50 times the time");
    check(ifm_finding_times(names, 3, few, 0.1), "A led the only round, too few to call it the fastest");
    json_auto_t *three = rounds_of("led all", 3, 1.25);
    check(ifm_finding_times(names, 3, three, 0.1), "A led all 3 rounds, too few to call it the fastest");
    check(ifm_finding_apart(-2e5, 1e5, NULL), "The medians are 200 µs apart, more than the processes of either scatter");
    check(ifm_finding_apart(2e5, 3e5, alike), "The medians are 200 µs apart, less than the processes scatter");
    check(ifm_finding_apart(2e5, NAN, NULL), "The medians are 200 µs apart, by one process of each");
    check(ifm_finding_apart(2e5, 3e5, fastest), "A took less in all 6 rounds; the medians are 200 µs apart");
}

static void test_steadiness(void)
{
    const double none[] = { 0.01, -0.01 }, drifts[] = { 0.04, -0.11 }, unknown[] = { NAN, 0.01 };
    const gboolean calm[] = { FALSE, FALSE }, both[] = { TRUE, TRUE };
    check(ifm_finding_drift(names, 2, drifts, both), "The times of B drifted by −11 %");
    check(ifm_finding_drift(names, 1, drifts, both), "The times of A drifted by +4 %");
    check(ifm_finding_drift(names, 2, none, calm), "The times of no device drifted");
    check(ifm_finding_drift(names, 1, none, calm), "The times did not drift");
    check(ifm_finding_drift(names, 2, unknown, calm), "Too few runs to say whether the times drifted");
}

static void add_row(GArray *rows, int kind, double a_ns, double b_ns, double lower, double upper)
{
    IfmAlignedRow row = {
        .name = "layer", .time_ns = { a_ns, b_ns }, .ratio = b_ns / a_ns, .lower = lower, .upper = upper
    };
    row.kind = kind;
    g_array_append_val(rows, row);
}

static void test_layers(void)
{
    const double shares[] = { 0.974, 0.982, 0.5 };
    static const char *const same[] = { "conv", "conv", "conv" }, *const parts[] = { "conv", "conv", "matmul" };
    check(ifm_finding_share(names, 1, same, shares), "The largest part is conv: 97 % of the kernels' time");
    check(ifm_finding_share(names, 3, same, shares), "The largest part is conv: 97 % on A, 98 % on B and 50 % on C");
    check(ifm_finding_share(names, 3, parts, shares),
          "The largest part is conv on A (97 %), conv on B (98 %) and matmul on C (50 %)");
    g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(IfmAlignedRow));
    add_row(rows, IFM_ALIGNED_LAYER, 1000, 1200, NAN, NAN);
    add_row(rows, IFM_ALIGNED_MOVED, 10, 20, 1.5, 2.5); /* no layer, but a difference */
    check(ifm_finding_layers(names, rows), "1 layer beside each other, none with an interval: too few rounds");
    check(ifm_finding_gains(names, rows), "A gains 10.0 ns over B where it is surely faster, and is surely slower nowhere");
    add_row(rows, IFM_ALIGNED_LAYER, 1000, 1100, 0.9, 1.2);
    check(ifm_finding_layers(names, rows), "No layer is told apart of 1");
    add_row(rows, IFM_ALIGNED_LAYER, 1000, 1500, 1.1, 1.9);
    add_row(rows, IFM_ALIGNED_LAYER, 1000, 700, 0.6, 0.8);
    add_row(rows, IFM_ALIGNED_LAYER, 1000, 800, 0.6, 0.9);
    check(ifm_finding_layers(names, rows),
          "Layer by layer: A is faster in 1 (by 500 ns), B in 2 (by 500 ns), not told apart: 1");
    check(ifm_finding_gains(names, rows), "A gains 510 ns where it is surely faster than B, and loses 500 ns where it is "
                                          "surely slower");
    g_array_set_size(rows, 0);
    add_row(rows, IFM_ALIGNED_LAYER, 1000, 1100, 0.9, 1.2);
    check(ifm_finding_gains(names, rows), "In no layer is either surely faster");
    add_row(rows, IFM_ALIGNED_LAYER, 1000, 700, 0.6, 0.8);
    check(ifm_finding_gains(names, rows), "B gains 300 ns over A where it is surely faster, and is surely slower nowhere");
}

static void test_roofs(void)
{
    const double excess[] = { 600, 300, 60, 40 }, none[] = { 0, 0 }, one[] = { 500 }, shares[] = { 0.97, NAN, 0.75 },
                 unknown[] = { NAN };
    check(ifm_finding_bounds(0.61, 0.39, 0), "Arithmetic bounds kernels with 61 % of the time, memory those with 39 %");
    check(ifm_finding_bounds(0.61, 0.39, 2),
          "Arithmetic bounds kernels with 61 % of the time, memory those with 39 %; 2 kernels above its roof");
    check(ifm_finding_bounds(1, 0, 0), "All the time is in kernels that arithmetic bounds");
    check(ifm_finding_bounds(0, 0.999, 1), "All the time is in kernels that memory bounds; 1 kernel above its roof");
    check(ifm_finding_bounds(0, 0, 0), "No kernel has a known place below the roofs");
    check(ifm_finding_excess(excess, 4), "1 of 4 kernels has 60 % of the 1.00 µs above the roofs");
    check(ifm_finding_excess(excess + 1, 2), "1 of 2 kernels has 83 % of the 360 ns above the roofs");
    check(ifm_finding_excess(one, 1), "Kernels take 500 ns more than their roofs allow");
    check(ifm_finding_excess(none, 2), "No kernel takes longer than its roof allows");
    check(ifm_finding_breakdown(names, 3, shares), "Kernels take at least 75 % of a profiled run, least on C");
    check(ifm_finding_breakdown(names, 1, shares), "Kernels take 97 % of a profiled run");
    check(ifm_finding_breakdown(names, 1, unknown), "What a profiled run spends besides its kernels is not known");
    check(ifm_finding_alive(2048, "bn1"), "By the shapes most is alive at bn1: 2.00 KiB");
    check(ifm_finding_alive(2048, NULL), "By the shapes 2.00 KiB is alive at most");
}

static void test_passes(void)
{
    const IfmTiming forward = { .median_ns = 1000 }, unknown = { .median_ns = NAN };
    const IfmPassDifference backward = { { .median_ns = 2500, .interval = { 2400, 2600, 0.95 } }, FALSE, 6 },
                            zero = { { .median_ns = 100, .interval = { -10, 200, 0.95 } }, TRUE, 6 },
                            bare = { { .median_ns = 2500, .interval = { NAN, NAN, 0.95 } }, FALSE, 2 },
                            update = { { .median_ns = 500, .interval = { 400, 600, 0.95 } }, FALSE, 6 },
                            none = { { .median_ns = NAN, .interval = { NAN, NAN, 0.95 } }, FALSE, 0 };
    check(ifm_finding_passes("A", &forward, &backward, NULL), "Backward takes 2.50 times the time of forward (A)");
    check(ifm_finding_passes("A", &forward, &backward, &update),
          "Backward takes 2.50 times the time of forward, the update 12 % of the step (A)");
    check(ifm_finding_passes("A", &forward, &backward, &zero),
          "Backward takes 2.50 times the time of forward, and the update is not told from nothing (A)");
    const IfmPassDifference less = { { .median_ns = -500, .interval = { -600, -400, 0.95 } }, FALSE, 6 };
    check(ifm_finding_passes("A", &forward, &backward, &less),
          "The training step takes 500 ns less than the training pass alone, so the passes do not add up (A)");
    const IfmPassDifference by_chance = { { .median_ns = -500, .interval = { NAN, NAN, 0.95 } }, FALSE, 2 },
                            below = { { .median_ns = -300, .interval = { -400, -200, 0.95 } }, FALSE, 6 };
    check(ifm_finding_passes("A", &forward, &backward, &by_chance),
          "Backward takes 2.50 times the time of forward, and the step takes less than the training pass (A)");
    check(ifm_finding_passes("A", &forward, &below, NULL),
          "The training pass takes 300 ns less than the forward alone, so the passes do not add up (A)");
    check(ifm_finding_passes("A", &forward, &zero, NULL), "These runs do not tell backward from nothing (A)");
    check(ifm_finding_passes("A", &forward, &bare, &none), "Too few rounds for an interval of backward (A)");
    check(ifm_finding_passes("A", &unknown, &backward, NULL), "What the passes take on A is not known");
    check(ifm_finding_passes("A", &forward, &none, NULL), "What the passes take on A is not known");
}

static void test_growth(void)
{
    IfmScaling scaling = { .has_time = TRUE, .has_flop = TRUE };
    scaling.time.exponent = 1.24;
    scaling.time.interval = (IfmInterval){ 1.2, 1.3, 0.95 };
    scaling.flop.exponent = 1;
    check(ifm_finding_growth("N", &scaling, "500", 0, 4), "Time grows as N^1.24, FLOP as N^1.00; at N=500 it is over "
                                                          "what the FLOP take");
    check(ifm_finding_growth("N", &scaling, NULL, 0, 4),
          "Time grows as N^1.24, FLOP as N^1.00; no size is over what the FLOP take");
    check(ifm_finding_growth("N", &scaling, NULL, 2, 4),
          "Time grows as N^1.24, FLOP as N^1.00; where that is known no size is over what the FLOP take");
    scaling.has_flop = FALSE;
    check(ifm_finding_growth("N", &scaling, NULL, 4, 4), "Time grows as N^1.24; whether it follows the FLOP is not known");
    scaling.time.interval = (IfmInterval){ NAN, NAN, 0.95 }; /* too few points for one */
    g_assert_true(ifm_growth_is_known(&scaling.time));
    scaling.time.interval = (IfmInterval){ -1.3, -1.2, 0.95 };
    g_assert_true(ifm_growth_is_known(&scaling.time));
    scaling.time.interval = (IfmInterval){ -0.1, 0.2, 0.95 };
    g_assert_false(ifm_growth_is_known(&scaling.time));
    scaling.time.interval = (IfmInterval){ 0.5, 2.1, 0.95 };
    check(ifm_finding_growth("N", &scaling, NULL, 4, 4),
          "How the time grows with N is not known; whether it follows the FLOP is not known");
    scaling.has_time = FALSE;
    check(ifm_finding_growth("N", &scaling, NULL, 4, 4),
          "How the time grows with N is not known; whether it follows the FLOP is not known");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/profile-findings/times", test_times);
    g_test_add_func("/profile-findings/steadiness", test_steadiness);
    g_test_add_func("/profile-findings/layers", test_layers);
    g_test_add_func("/profile-findings/roofs", test_roofs);
    g_test_add_func("/profile-findings/passes", test_passes);
    g_test_add_func("/profile-findings/growth", test_growth);
    return g_test_run();
}
