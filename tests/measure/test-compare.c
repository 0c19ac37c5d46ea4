#include <math.h>

#include "runner-fixture.h"

/* Two sides in processes of their own. Simulated devices go by a virtual clock, and there is no time budget: so every
 * figure is known, or at least the same each time. */

static IfmCompareProtocol counted(gsize max_pairs)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.time_budget_ns = 0;
    protocol.max_pairs = max_pairs;
    protocol.rounds = 4;
    return protocol;
}

static void sides_of(IfmModelCase *cases, IfmCompareSide *sides)
{
    for (gsize side = 0; side < 2; side++)
        sides[side] = (IfmCompareSide){ .kind = &ifm_kind_model, .spec = &cases[side] };
}

static void sides_on(const Fixture *fixture, const char *a, const char *b, IfmModelCase *cases, IfmCompareSide *sides)
{
    cases[0] = case_on(fixture, a);
    cases[1] = case_on(fixture, b);
    sides_of(cases, sides);
}

static void compare(Fixture *fixture, const char *a, const char *b, gsize max_pairs, guint32 seed,
                    IfmComparison *comparison)
{
    g_autoptr(GError) error = NULL;
    IfmCompareProtocol protocol = counted(max_pairs);
    IfmModelCase cases[2];
    IfmCompareSide sides[2];
    sides_on(fixture, a, b, cases, sides);
    g_assert_true(ifm_runner_compare(fixture->runner, sides, &protocol, seed, comparison, &error));
    g_assert_no_error(error);
}

/* Without noise the ratio is that of the latencies, and the first look settles it. */
static void test_exact(void)
{
    static const struct
    {
        const char *a, *b;
        double ratio;
        IfmVerdict verdict;
    } rows[] = { { "BASE", "BASE", 1, IFM_VERDICT_SAME },
                 { "BASE", "HARDLY", 1.005, IFM_VERDICT_SAME },
                 { "BASE", "MORE", 1.03, IFM_VERDICT_SLOWER },
                 { "MORE", "BASE", 1 / 1.03, IFM_VERDICT_FASTER } };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
    {
        g_auto(IfmComparison) comparison = { 0 };
        g_autofree char *a = g_strdup_printf("simulated:compare/%s", rows[row].a);
        g_autofree char *b = g_strdup_printf("simulated:compare/%s", rows[row].b);
        compare(&fixture, a, b, 20, 1, &comparison);
        g_assert_cmpint(comparison.verdict, ==, rows[row].verdict);
        g_assert_cmpfloat_with_epsilon(comparison.ratio, rows[row].ratio, 1e-9);
        g_assert_cmpuint(comparison.n_pairs, ==, 8);
        g_assert_cmpuint(comparison.rounds->len, ==, 32);
        gsize n_b_first = 0;
        for (guint i = 0; i < comparison.rounds->len; i++)
        {
            const IfmCompareRound *round = &g_array_index(comparison.rounds, IfmCompareRound, i);
            g_assert_cmpuint(round->pair, ==, i / 4);
            n_b_first += round->b_first;
            if (i % 2 == 1) /* each order as often */
                g_assert_cmpint(round->b_first, ==, !g_array_index(comparison.rounds, IfmCompareRound, i - 1).b_first);
        }
        g_assert_cmpuint(n_b_first, ==, 16);
        g_autoptr(GArray) children = children_of(getpid());
        g_assert_cmpuint(children->len, ==, 0); /* its processes were its own */
    }
    fixture_clear(&fixture);
}

/* What is stored of it: both sides' samples under cases of their own, which name each other. */
static void test_records(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_auto(IfmComparison) comparison = { 0 };
    compare(&fixture, "simulated:compare/BASE", "simulated:compare/BASE", 20, 1, &comparison);
    g_assert_cmpstr(comparison.cases[0]->key, !=, comparison.cases[1]->key);
    for (gsize side = 0; side < 2; side++)
    {
        const IfmMeasurement *measurement = comparison.measurements[side];
        g_assert_cmpstr(measurement->case_key, ==, comparison.cases[side]->key);
        g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
        g_assert_cmpstr(measurement->stop_reason, ==, "interval");
        g_assert_cmpuint(measurement->samples_ns->len, ==, 8 * 4 * 10); /* 10 ms of 1 ms a round */
        for (guint i = 0; i < measurement->samples_ns->len; i++)
            g_assert_cmpint(g_array_index(measurement->samples_ns, gint64, i), ==, MS);
        g_assert_cmpuint(measurement->warmup_ns->len, >=, 8 * 8);
        json_t *compared = measurement->result;
        g_assert_cmpstr(text_in(compared, "side"), ==, side == 0 ? "A" : "B");
        g_assert_cmpstr(text_in(compared, "other"), ==, comparison.measurements[1 - side]->uid);
        g_assert_cmpstr(text_in(json_object_get(compared, "comparison"), "verdict"), ==, "same");
        g_assert_cmpstr(text_in(measurement->environment, "clock_kind"), ==, "virtual");
        g_assert_nonnull(measurement->effective_config);
        json_auto_t *json = ifm_measurement_to_json(measurement);
        g_autoptr(IfmMeasurement) back = ifm_measurement_from_json(json, NULL);
        g_assert_nonnull(back);
        /* by itself it would be another case */
        IfmModelCase alone = case_on(&fixture, "simulated:compare/BASE");
        g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_model, &alone, NULL);
        g_assert_cmpstr(sealed->key, !=, comparison.cases[side]->key);
    }
    fixture_clear(&fixture);
}

/* So many pairs; the difference is exact, and the records hold the comparison. */
static void test_counted(void)
{
    static const gsize rows[] = { 5, 2 };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
    {
        g_autoptr(GError) error = NULL;
        g_auto(IfmComparison) comparison = { 0 };
        IfmCompareProtocol protocol = counted(rows[row]);
        IfmModelCase cases[2];
        IfmCompareSide sides[2];
        protocol.min_pairs = rows[row];
        sides_on(&fixture, "simulated:compare/BASE", "simulated:compare/MORE", cases, sides);
        g_assert_true(ifm_runner_compare(fixture.runner, sides, &protocol, 1, &comparison, &error));
        g_assert_no_error(error);
        g_assert_cmpuint(comparison.n_pairs, ==, rows[row]);
        g_assert_cmpfloat_with_epsilon(comparison.difference_ns, 30000, 1e-6);
        g_assert_cmpfloat_with_epsilon(comparison.difference_interval.lower, 30000, 1e-6);
        json_auto_t *json = ifm_comparison_to_json(&comparison);
        g_assert_true(json_equal(ifm_measurement_result(comparison.measurements[1], "comparison"), json));
    }
    fixture_clear(&fixture);
}

/* Each process has noise of its own; the same seed gives the same comparison, another one another. */
static void test_noise(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_auto(IfmComparison) first = { 0 };
    g_auto(IfmComparison) again = { 0 };
    g_auto(IfmComparison) other = { 0 };
    g_auto(IfmComparison) more = { 0 };
    compare(&fixture, "simulated:compare/NOISY", "simulated:compare/NOISY", 8, 1, &first);
    compare(&fixture, "simulated:compare/NOISY", "simulated:compare/NOISY", 8, 1, &again);
    compare(&fixture, "simulated:compare/NOISY", "simulated:compare/NOISY", 8, 2, &other);
    compare(&fixture, "simulated:compare/NOISY", "simulated:compare/NOISY-MORE", 16, 1, &more);
    g_assert_cmpfloat(first.ratio, !=, 1);
    g_assert_cmpfloat(first.between, >, 0);
    g_assert_cmpfloat(first.ratio, ==, again.ratio);
    g_assert_cmpfloat(first.interval.upper, ==, again.interval.upper);
    g_assert_cmpfloat(first.ratio, !=, other.ratio);
    g_assert_cmpint(first.verdict, !=, IFM_VERDICT_FASTER);
    g_assert_cmpint(first.verdict, !=, IFM_VERDICT_SLOWER);
    g_assert_cmpint(more.verdict, ==, IFM_VERDICT_SLOWER);
    g_assert_cmpfloat(more.interval.lower, <, 1.03);
    g_assert_cmpfloat(more.interval.upper, >, 1.03);
    fixture_clear(&fixture);
}

/* --- what goes wrong ------------------------------------------------------------------------------------------------ */

static void expect(Fixture *fixture, const IfmCompareSide *sides, const IfmCompareProtocol *protocol, int code,
                   const char *begins, const char *holds)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmComparison) comparison = { 0 };
    g_assert_false(ifm_runner_compare(fixture->runner, sides, protocol, 1, &comparison, &error));
    g_assert_error(error, IFM_ERROR, code);
    g_test_message("%s", error->message);
    g_assert_true(g_str_has_prefix(error->message, begins));
    g_assert_nonnull(strstr(error->message, holds));
    g_assert_false(comparison.is_b_wrong); /* nothing was computed */
    g_autoptr(GArray) children = children_of(getpid());
    g_assert_cmpuint(children->len, ==, 0);
}

static void test_failures(void)
{
    static const struct
    {
        const char *a, *b;
        int code;
        const char *begins, *holds;
    } rows[] = {
        { "BASE", "REFUSES", IFM_ERROR_UNSUPPORTED, "B: ", "operator MatMul is not known here" },
        { "REFUSES", "BASE", IFM_ERROR_UNSUPPORTED, "A: ", "operator MatMul is not known here" },
        { "CRASHES", "BASE", IFM_ERROR_FAILED, "A: ", "while running" },
        { "BASE", "LOSES", IFM_ERROR_LOST, "B: ", "lost" },
        { "BASE", "NOBODY", IFM_ERROR_UNAVAILABLE, "B: ", "NOBODY" },
    };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmCompareProtocol protocol = counted(20);
    protocol.rounds = 8;
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
    {
        g_autofree char *a = g_strdup_printf("simulated:compare/%s", rows[row].a);
        g_autofree char *b = g_strdup_printf("simulated:compare/%s", rows[row].b);
        IfmModelCase cases[2];
        IfmCompareSide sides[2];
        sides_on(&fixture, a, b, cases, sides);
        expect(&fixture, sides, &protocol, rows[row].code, rows[row].begins, rows[row].holds);
    }
    fixture_clear(&fixture);
}

static void test_bad_input(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmCompareProtocol protocol = counted(20), bad = protocol;
    IfmModelCase good[2], cases[2];
    IfmCompareSide sides[2];
    sides_on(&fixture, "simulated:compare/BASE", "simulated:compare/BASE", good, sides);
    bad.margin = -1;
    expect(&fixture, sides, &bad, IFM_ERROR_INVALID, "margin", "-1");
    memcpy(cases, good, sizeof cases);
    sides_of(cases, sides);
    cases[1].model_path = "no/such/file.onnx";
    expect(&fixture, sides, &protocol, IFM_ERROR_UNAVAILABLE, "B: ", "no/such/file.onnx");
    memcpy(cases, good, sizeof cases);
    sides_of(cases, sides);
    sides[0].runtime = "/some/library.so";
    expect(&fixture, sides, &protocol, IFM_ERROR_INVALID, "A: ", "no runtime's library");
    memcpy(cases, good, sizeof cases);
    sides_of(cases, sides);
    cases[1].device = "onnxruntime:CPU";
    sides[1].runtime = "/no/such/library.so";
    expect(&fixture, sides, &protocol, IFM_ERROR_UNAVAILABLE, "B: ", "/no/such/library.so");
    memcpy(cases, good, sizeof cases);
    sides_of(cases, sides);
    cases[1].load = &(IfmLoadDevice){ .device = "simulated:compare/MORE" };
    cases[1].n_load = 1;
    expect(&fixture, sides, &protocol, IFM_ERROR_UNSUPPORTED, "B: ", "load");
    fixture_clear(&fixture);
}

/* --- interrupted ---------------------------------------------------------------------------------------------------- */

static void interrupt_after_6(const IfmProgress *now, void *user)
{
    if (g_str_equal(now->phase, "comparing, 6 pairs"))
        g_atomic_int_set((gint *)user, 1);
}

/* What was whole by then is told; it is not settled. */
static void test_interrupted(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmRunnerOptions options = { .interrupted = &fixture.interrupted,
                                 .progress = interrupt_after_6,
                                 .progress_user = &fixture.interrupted };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    g_autoptr(GError) error = NULL;
    g_auto(IfmComparison) comparison = { 0 };
    g_auto(IfmComparison) none = { 0 };
    IfmCompareProtocol protocol = counted(200);
    IfmModelCase cases[2];
    IfmCompareSide sides[2];
    sides_on(&fixture, "simulated:compare/NOISY", "simulated:compare/NOISY", cases, sides);
    g_assert_true(ifm_runner_compare(runner, sides, &protocol, 1, &comparison, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(comparison.n_pairs, ==, 6);
    g_assert_cmpstr(comparison.measurements[0]->stop_reason, ==, "interrupted");
    g_assert_false(ifm_runner_compare(runner, sides, &protocol, 1, &none, &error)); /* the flag still stands */
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_clear_pointer(&runner, ifm_runner_free);
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_test_build_filename(G_TEST_DIST, "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_func("/compare/exact", test_exact);
    g_test_add_func("/compare/records", test_records);
    g_test_add_func("/compare/counted", test_counted);
    g_test_add_func("/compare/noise", test_noise);
    g_test_add_func("/compare/failures", test_failures);
    g_test_add_func("/compare/bad-input", test_bad_input);
    g_test_add_func("/compare/interrupted", test_interrupted);
    return g_test_run();
}
