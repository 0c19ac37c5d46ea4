#include <math.h>

#include <kernel/kernel.h>

/* How long passes take, and the parts of a graph transformer. */

static IfmMeasurement *measured(double mean, double std, double median, double lower, double upper)
{
    IfmMeasurement *measurement = ifm_measurement_new();
    measurement->has_summary = TRUE;
    measurement->summary =
        (IfmSummary){ .mean = mean, .std = std, .median = median, .median_interval = { lower, upper, 0.95 } };
    return measurement;
}

/* The difference of independent medians; the standard deviations 30 and 40 come to 50. */
static void test_independent(void)
{
    g_autoptr(IfmMeasurement) forward = measured(1010, 30, 1000, 960, 1030);
    g_autoptr(IfmMeasurement) training = measured(3020, 40, 3000, 2970, 3040);
    IfmPassDifference backward;
    ifm_pass_difference(forward, training, &backward);
    g_assert_cmpfloat(backward.timing.mean_ns, ==, 2010);
    g_assert_cmpfloat(backward.timing.std_ns, ==, 50);
    g_assert_cmpfloat(backward.timing.median_ns, ==, 2000);
    g_assert_cmpfloat_with_epsilon(backward.timing.interval.lower, 2000 - sqrt(30 * 30 + 30 * 30), 1e-9);
    g_assert_cmpfloat_with_epsilon(backward.timing.interval.upper, 2000 + sqrt(40 * 40 + 40 * 40), 1e-9);
    g_assert_false(backward.holds_zero);
    g_assert_cmpuint(backward.n_rounds, ==, 0);
}

static void test_not_measured(void)
{
    g_autoptr(IfmMeasurement) forward = measured(1, 1, 1, 1, 1), failed = measured(1, 1, 1, 1, 1);
    failed->outcome = IFM_OUTCOME_FAILED;
    const IfmMeasurement *const nothing[] = { NULL, failed };
    for (gsize i = 0; i < G_N_ELEMENTS(nothing); i++)
    {
        IfmTiming timing;
        IfmPassDifference backward;
        ifm_timing_of(nothing[i], &timing);
        g_assert_true(isnan(timing.median_ns) && isnan(timing.interval.lower));
        ifm_pass_difference(forward, nothing[i], &backward);
        g_assert_true(isnan(backward.timing.median_ns) && isnan(backward.timing.interval.lower));
        g_assert_false(backward.holds_zero);
    }
}

/* A pass that holds another cannot be shorter: as surely as the intervals say, without them by the medians. */
static void test_is_below(void)
{
    const IfmTiming part = { .median_ns = 100, .interval = { 90, 110, 0.95 } };
    const IfmTiming apart = { .median_ns = 80, .interval = { 75, 89, 0.95 } };
    const IfmTiming touching = { .median_ns = 80, .interval = { 70, 90, 0.95 } };
    const IfmTiming bare = { .median_ns = 89, .interval = { NAN, NAN, NAN } };
    g_assert_true(ifm_timing_is_below(&apart, &part));
    g_assert_false(ifm_timing_is_below(&touching, &part));
    g_assert_true(ifm_timing_is_below(&bare, &part));
    g_assert_false(ifm_timing_is_below(&part, &bare));
}

/* Each part of a small transformer has nodes; all together they do the model's work. */
static void test_parts(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build("gps", NULL, 1, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error);
    g_autoptr(GArray) parts = ifm_model_parts(model, analysis, NULL);
    IfmNodeCost total;
    gsize n_covered, n_nodes = 0;
    gint64 flop = 0;
    double ratio = 0;
    ifm_analysis_total(analysis, &total, &n_covered);
    for (guint i = 0; i < parts->len; i++)
    {
        const IfmModelPart *part = &g_array_index(parts, IfmModelPart, i);
        g_assert_cmpint(part->n_nodes > 0, ==, i < IFM_N_MODEL_PARTS);
        g_assert_true(isnan(part->time_ns));
        n_nodes += part->n_nodes;
        flop += part->flop;
        ratio += part->flop_ratio;
    }
    g_assert_cmpuint(n_nodes, ==, ifm_model_n_nodes(model));
    g_assert_cmpint(flop, ==, total.flop);
    g_assert_cmpfloat_with_epsilon(ratio, 1, 1e-12);
    IfmWork work;
    ifm_work_of(analysis, &work);
    g_assert_cmpfloat(work.flop, ==, (double)total.flop);
    g_assert_cmpint(ifm_attention_alive_bytes(model, analysis), >, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/passes/independent", test_independent);
    g_test_add_func("/passes/not-measured", test_not_measured);
    g_test_add_func("/passes/is-below", test_is_below);
    g_test_add_func("/passes/parts", test_parts);
    return g_test_run();
}
