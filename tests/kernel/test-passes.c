#include <math.h>

#include <inferometer/kernel.h>
#include <inferometer/transformer.h>
#include <internal/json.h>
#include <internal/kernel-figures.h>

/* How long passes take, backward by both ways, and the parts of a graph transformer. */

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
    IfmBackward backward;
    ifm_backward_time(forward, training, NULL, &backward);
    g_assert_cmpfloat(backward.timing.mean_ns, ==, 2010);
    g_assert_cmpfloat(backward.timing.std_ns, ==, 50);
    g_assert_cmpfloat(backward.timing.median_ns, ==, 2000);
    g_assert_cmpfloat_with_epsilon(backward.timing.interval.lower, 2000 - sqrt(30 * 30 + 30 * 30), 1e-9);
    g_assert_cmpfloat_with_epsilon(backward.timing.interval.upper, 2000 + sqrt(40 * 40 + 40 * 40), 1e-9);
    g_assert_cmpfloat(backward.forward_ratio, ==, 2);
    g_assert_false(backward.holds_zero || backward.paired);
    g_assert_cmpint(backward.n_pairs, ==, 0);
}

/* That of paired rounds, where there are any: 4, 6 and 8 more than forward. */
static void test_paired(void)
{
    g_autoptr(IfmMeasurement) forward = measured(1000, 1, 1000, 999, 1001), training = measured(1, 1, 1, 1, 1);
    g_autoptr(IfmMeasurement) interleaved = ifm_measurement_new();
    json_t *rounds = json_pack("[{s:f,s:f},{s:f,s:f},{s:f,s:f}]", "a_ns", 10.0, "b_ns", 14.0, "a_ns", 20.0, "b_ns", 26.0,
                               "a_ns", 30.0, "b_ns", 38.0);
    interleaved->result =
        json_pack("{s:{s:o,s:f,s:f,s:i,s:{s:f,s:f,s:f}}}", "comparison", "rounds", rounds, "ratio", 1.25, "difference_ns",
                  5.0, "n_pairs", 3, "difference_interval", "lower", -1.0, "upper", 11.0, "level", 0.95);
    IfmBackward backward;
    ifm_backward_time(forward, training, interleaved, &backward);
    g_assert_true(backward.paired && backward.holds_zero);
    g_assert_cmpfloat(backward.timing.mean_ns, ==, 6);
    g_assert_cmpfloat(backward.timing.std_ns, ==, 2);
    g_assert_cmpfloat(backward.timing.median_ns, ==, 5);
    g_assert_cmpfloat(backward.timing.interval.lower, ==, -1);
    g_assert_cmpfloat(backward.forward_ratio, ==, 0.25);
    g_assert_cmpint(backward.n_pairs, ==, 3);
    g_assert_cmpint(backward.n_rounds, ==, 3);
    json_object_del(json_object_get(interleaved->result, "comparison"),
                    "difference_interval"); /* too few processes were whole: it does not count */
    ifm_backward_time(forward, training, interleaved, &backward);
    g_assert_false(backward.paired);
    g_assert_cmpfloat(backward.timing.median_ns, ==, -999);
}

static void test_not_measured(void)
{
    g_autoptr(IfmMeasurement) forward = measured(1, 1, 1, 1, 1), failed = measured(1, 1, 1, 1, 1);
    failed->outcome = IFM_OUTCOME_FAILED;
    const IfmMeasurement *const nothing[] = { NULL, failed };
    for (gsize i = 0; i < G_N_ELEMENTS(nothing); i++)
    {
        IfmTiming timing;
        IfmBackward backward;
        ifm_timing_of(nothing[i], &timing);
        g_assert_true(isnan(timing.median_ns) && isnan(timing.interval.lower));
        ifm_backward_time(forward, nothing[i], NULL, &backward);
        g_assert_true(isnan(backward.timing.median_ns) && isnan(backward.timing.interval.lower));
        g_assert_true(isnan(backward.forward_ratio));
        g_assert_false(backward.holds_zero || backward.paired);
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
    g_test_add_func("/passes/paired", test_paired);
    g_test_add_func("/passes/not-measured", test_not_measured);
    g_test_add_func("/passes/is-below", test_is_below);
    g_test_add_func("/passes/parts", test_parts);
    return g_test_run();
}
