#include <base/base.h>
#include <base/fields.h>

#include "measure/measure-private.h"
#include "runner-fixture.h"

/* What is measured in this process: callbacks, encodings, and a kind of case that is all in this file. All of it goes by a
 * virtual clock where it can, so that every figure is known. */

static char *sha256_of(const char *text)
{
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

static const IfmProtocol counted = { .warmup = 2, .runs = 20, .level = 0.95 };

/* Seals, measures, stores and finds it again. */
static void assert_whole_way(Fixture *fixture, const IfmCaseKind *kind, const void *spec, const char *subject_kind,
                             IfmMeasurement **found)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture->folder, "store.db", NULL);
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, kind, spec, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(sealed->subject_kind, ==, subject_kind);
    assert_key_holds(sealed);
    g_autoptr(IfmMeasurement) measurement = ifm_runner_measure(fixture->runner, kind, spec, sealed, &error);
    g_assert_no_error(error);
    assert_ok(measurement);
    g_assert_cmpstr(measurement->case_key, ==, sealed->key);
    g_assert_true(json_is_object(json_object_get(measurement->environment, "machine")));
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_SHARD, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_store_commit(store, sealed, measurement, &error));
    g_assert_true(ifm_store_check(store, &error));
    g_autoptr(IfmCase) again = ifm_runner_case(fixture->runner, kind, spec, &error);
    *found = ifm_store_latest(store, again->key, &error);
    g_assert_no_error(error);
    g_assert_cmpstr((*found)->uid, ==, measurement->uid);
    g_clear_pointer(&store, ifm_store_close);
    g_unlink(path);
}

/* --- a callback ------------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmClock *clock;
    gint64 run_ns;
    guint n, fails_at;
} Sleeper;

static gboolean sleep_once(void *self, GError **error)
{
    Sleeper *sleeper = self;
    ifm_clock_sleep_until_ns(sleeper->clock, ifm_clock_now_ns(sleeper->clock) + sleeper->run_ns);
    if (++sleeper->n != sleeper->fails_at)
        return TRUE;
    g_set_error_literal(error, IFM_ERROR, IFM_ERROR_FAILED, "cannot sleep");
    return FALSE;
}

static IfmCallbackCase callback_of(Sleeper *sleeper)
{
    return (IfmCallbackCase){ .subject = { .name = "sleep", .clock = sleeper->clock, .run = sleep_once, .self = sleeper },
                              .protocol = counted };
}

static IfmClock *entered_clock(void)
{
    IfmClock *clock = ifm_clock_new_virtual(0);
    ifm_clock_enter(clock);
    return clock;
}

static void test_callback(void)
{
    static const IfmDimBinding sizes[] = { { "n", 3 } };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    Sleeper sleeper = { .clock = entered_clock(), .run_ns = 5 * MS };
    IfmCallbackCase spec = callback_of(&sleeper);
    g_autoptr(IfmMeasurement) found = NULL;
    assert_whole_way(&fixture, &ifm_kind_callback, &spec, "callback", &found);
    assert_all(found->samples_ns, 5 * MS, 20);
    g_assert_cmpfloat(found->summary.median, ==, 5.0 * MS);
    g_autoptr(IfmCase) plain = ifm_runner_case(fixture.runner, &ifm_kind_callback, &spec, NULL);
    g_assert_cmpstr(plain->subject_name, ==, "sleep");
    g_assert_cmpstr(plain->device, ==, IFM_HOST_DEVICE);
    spec.version = "2";
    spec.sizes = sizes;
    spec.n_sizes = 1;
    g_autoptr(IfmCase) other = ifm_runner_case(fixture.runner, &ifm_kind_callback, &spec, NULL);
    g_assert_cmpstr(other->key, !=, plain->key);
    g_assert_cmpint(json_integer_value(json_object_get(other->sizes, "n")), ==, 3);
    fixture_clear(&fixture);
    ifm_clock_leave(sleeper.clock);
    ifm_clock_unref(sleeper.clock);
}

static void test_callback_fails(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    Sleeper sleeper = { .clock = entered_clock(), .run_ns = MS, .fails_at = 7 };
    IfmCallbackCase spec = callback_of(&sleeper), nameless = spec, nothing = spec;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_callback, &spec, &error);
    g_autoptr(IfmMeasurement) measurement = ifm_runner_measure(fixture.runner, &ifm_kind_callback, &spec, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_nonnull(strstr(measurement->reason, "cannot sleep"));
    g_assert_false(measurement->has_summary);
    nameless.subject.name = NULL;
    g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_callback, &nameless, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    nothing.subject.run = NULL;
    g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_callback, &nothing, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_atomic_int_set(&fixture.interrupted, 1);
    g_assert_null(ifm_runner_measure(fixture.runner, &ifm_kind_callback, &spec, sealed, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    fixture_clear(&fixture);
    ifm_clock_leave(sleeper.clock);
    ifm_clock_unref(sleeper.clock);
}

/* --- two of a kind ---------------------------------------------------------------------------------------------------- */

static IfmCompareProtocol compare_protocol(void)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.time_budget_ns = 0;
    protocol.max_pairs = 20;
    protocol.rounds = 4;
    return protocol;
}

static void assert_slower(Fixture *fixture, const IfmCaseKind *kind, const void *a, const void *b, double ratio)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmComparison) comparison = { 0 };
    const IfmCompareProtocol protocol = compare_protocol();
    const IfmCompareSide sides[] = { { .kind = kind, .spec = a }, { .kind = kind, .spec = b } };
    g_assert_true(ifm_runner_compare(fixture->runner, sides, &protocol, 1, &comparison, &error));
    g_assert_no_error(error);
    g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_SLOWER);
    g_assert_cmpfloat_with_epsilon(comparison.ratio, ratio, 1e-9);
    g_assert_cmpuint(comparison.n_pairs, ==, 8);
    for (gsize side = 0; side < 2; side++)
    {
        g_assert_cmpstr(comparison.measurements[side]->case_key, ==, comparison.cases[side]->key);
        g_assert_cmpuint(comparison.measurements[side]->samples_ns->len, >, 20);
    }
    g_assert_nonnull(ifm_measurement_result(comparison.measurements[1], "comparison"));
}

static void test_compare_callbacks(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmClock *clock = entered_clock();
    Sleeper quick = { .clock = clock, .run_ns = 2 * MS }, slow = { .clock = clock, .run_ns = 3 * MS };
    const IfmCallbackCase a = callback_of(&quick), b = callback_of(&slow);
    assert_slower(&fixture, &ifm_kind_callback, &a, &b, 1.5);
    fixture_clear(&fixture);
    ifm_clock_leave(clock);
    ifm_clock_unref(clock);
}

/* 4 GB/s and 10 us a copy: 250 us and 500 us more. */
static void test_compare_links(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLinkCase a = { .from = "simulated:links/HOST",
                      .to = "simulated:links/GPU",
                      .size_bytes = 1000000,
                      .protocol = IFM_PROTOCOL_INIT },
                b = a;
    b.size_bytes = 2000000;
    assert_slower(&fixture, &ifm_kind_link, &a, &b, 510.0 / 260);
    fixture_clear(&fixture);
}

static void test_compare_refused(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_auto(IfmComparison) comparison = { 0 };
    const IfmCompareProtocol protocol = compare_protocol();
    const IfmPeakCase peak = { .device = "simulated:limits/ROOF" };
    const IfmLinkCase link_case = { .from = "simulated:links/HOST", .to = "simulated:links/GPU", .size_bytes = 1 };
    IfmCompareSide sides[] = { { .kind = &ifm_kind_peak, .spec = &peak }, { .kind = &ifm_kind_peak, .spec = &peak } };
    g_assert_false(ifm_runner_compare(fixture.runner, sides, &protocol, 1, &comparison, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_cmpstr(error->message, ==, "A: a case of kind peak has no runs to repeat, so none to compare");
    g_clear_error(&error);
    sides[1] = (IfmCompareSide){ .kind = &ifm_kind_link, .spec = &link_case };
    g_assert_false(ifm_runner_compare(fixture.runner, sides, &protocol, 1, &comparison, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_cmpstr(error->message, ==, "A is a case of kind peak, B of kind link: one kind is expected");
    fixture_clear(&fixture);
}

/* --- an encoding ------------------------------------------------------------------------------------------------------ */

static gboolean never_go_on(double done_ratio, void *user)
{
    return FALSE;
}

static void test_encoding(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmGraph) graph = ifm_graph_random(IFM_GRAPH_UNIFORM, 60, 240, 3, &error);
    g_assert_no_error(error);
    IfmEncodingCase spec = { .graph = graph, .encoding = IFM_ENCODING_RANDOM_WALK, .dim = 4, .protocol = counted };
    g_autoptr(IfmMeasurement) found = NULL;
    assert_whole_way(&fixture, &ifm_kind_encoding, &spec, "encoding", &found);
    g_assert_cmpuint(found->samples_ns->len, ==, 20);
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_encoding, &spec, &error);
    ifm_record_set_json(&sealed->environment, json_pack("{s:s}", "machine", "m"));
    ifm_case_seal(sealed);
    g_autofree char *digest = ifm_graph_digest(graph);
    g_autofree char *text = g_strdup_printf(
        "{\"device\":\"host:CPU\",\"environment\":{\"machine\":\"m\"},\"options\":{\"encoding\":\"rwse:4\",\"graph\":\"%"
        "s\",\"protocol\":{\"runs\":20,"
        "\"warmup\":2}"
        "},\"sizes\":{\"edges\":%d,\"graphs\":1,\"nodes\":60},\"subject_kind\":\"encoding\",\"subject_name\":\"encoding "
        "rwse:4 of %s\"}",
        digest, (int)graph->n_edges, graph->name);
    g_autofree char *key = sha256_of(text);
    g_assert_cmpstr(sealed->key, ==, key);
    g_autoptr(IfmGraph) large =
        ifm_graph_random(IFM_GRAPH_UNIFORM, 5000, 50000, 3, &error); /* so that it is asked at all */
    g_assert_no_error(error);
    spec.graph = large;
    spec.dim = 20;
    spec.watch = never_go_on;
    g_assert_null(ifm_runner_measure(fixture.runner, &ifm_kind_encoding, &spec, sealed, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_clear_error(&error);
    spec.encoding = IFM_ENCODING_NONE;
    g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_encoding, &spec, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    fixture_clear(&fixture);
}

/* What somebody needed anyway and took longer than all runs may is the one run; other numbers than those are a failure. */
static void test_encoding_known(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmGraph) graph = ifm_graph_random(IFM_GRAPH_UNIFORM, 60, 240, 3, &error);
    g_autoptr(IfmEncoding) known = ifm_encoding_laplacian(graph, 2, NULL, NULL, &error);
    g_assert_no_error(error);
    IfmEncodingCase spec = { .graph = graph,
                             .encoding = IFM_ENCODING_LAPLACIAN,
                             .dim = 2,
                             .protocol = IFM_PROTOCOL_INIT,
                             .known = known,
                             .known_ns = 20000 * MS,
                             .time_budget_said = "20 s" };
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_encoding, &spec, &error);
    g_autoptr(IfmMeasurement) once = ifm_runner_measure(fixture.runner, &ifm_kind_encoding, &spec, sealed, &error);
    g_assert_no_error(error);
    assert_all(once->samples_ns, 20000 * MS, 1);
    g_autofree char *warnings = ifm_json_canonical(json_object_get(once->environment, "warnings"));
    g_assert_nonnull(strstr(warnings, "\"computed once, without warm-up: that took longer than the time budget of 20 s\""));
    known->values[0] += 1;
    spec.protocol = counted;
    g_autoptr(IfmMeasurement) wrong = ifm_runner_measure(fixture.runner, &ifm_kind_encoding, &spec, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpint(wrong->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_nonnull(strstr(wrong->reason, "lap:2: other numbers than the first time"));
    fixture_clear(&fixture);
}

/* --- a kind of one's own ---------------------------------------------------------------------------------------------- */

/* SumCase: adding up numbers, on a clock that takes a microsecond for each. */
typedef struct
{
    const char *label;
    gint64 n;
    IfmClock *clock;
    IfmProtocol protocol;
    gint64 sum;
} SumCase;

static const IfmRecordField sum_fields[] = {
    { IFM_RECORD(NAME, SumCase, label) },
    { IFM_RECORD(INT64, SumCase, n), .key = "n", .called = "numbers", .min = 1, .max = 1000 },
    { IFM_RECORD(PART, SumCase, protocol), .fields = ifm_protocol_fields, .key = "protocol" },
    { NULL },
};

static gboolean complete_sum(void *spec, GError **error)
{
    return ifm_record_check(spec, sum_fields, "sum", error);
}

static gboolean seal_sum(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error)
{
    ifm_record_set_text(&record->subject_name, ((const SumCase *)spec)->label);
    ifm_record_set_text(&record->device, IFM_HOST_DEVICE);
    return TRUE;
}

static gboolean sum_up(void *self, GError **error)
{
    SumCase *sum = self;
    sum->sum = 0;
    for (gint64 i = 1; i <= sum->n; i++)
        sum->sum += i;
    ifm_clock_sleep_until_ns(sum->clock, ifm_clock_now_ns(sum->clock) + sum->n * 1000);
    return TRUE;
}

static gboolean check_sum(void *self, GError **error)
{
    const SumCase *sum = self;
    return sum->sum == sum->n * (sum->n + 1) / 2;
}

static gboolean sum_subject(const void *spec, IfmSubject *subject, GError **error)
{
    const SumCase *sum = spec;
    *subject = (IfmSubject){ .name = sum->label,
                             .clock = sum->clock,
                             .run = sum_up,
                             .verify = check_sum,
                             .self = g_memdup2(spec, sizeof(SumCase)) };
    return TRUE;
}

static void sum_done(IfmSubject *subject)
{
    g_free(subject->self);
}

static const IfmCaseKind kind_sum = { .name = "sum",
                                      .size = sizeof(SumCase),
                                      .fields = sum_fields,
                                      .complete = complete_sum,
                                      .seal = seal_sum,
                                      .subject = sum_subject,
                                      .done = sum_done };

static void test_own_kind(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    IfmClock *clock = entered_clock();
    SumCase sum = { .label = "small sum", .n = 10, .clock = clock, .protocol = counted }, larger = sum;
    g_autoptr(IfmMeasurement) found = NULL;
    assert_whole_way(&fixture, &kind_sum, &sum, "sum", &found);
    assert_all(found->samples_ns, 10000, 20);
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &kind_sum, &sum, &error);
    g_autofree char *options = ifm_json_canonical(sealed->options);
    g_assert_cmpstr(options, ==, "{\"n\":10,\"protocol\":{\"runs\":20,\"warmup\":2}}");
    larger.n = 20;
    assert_slower(&fixture, &kind_sum, &sum, &larger, 2);
    larger.n = 0;
    g_assert_null(ifm_runner_case(fixture.runner, &kind_sum, &larger, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, "sum: numbers: found 0, expected 1 to 1000");
    fixture_clear(&fixture);
    ifm_clock_leave(clock);
    ifm_clock_unref(clock);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_test_build_filename(G_TEST_DIST, "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_func("/kind/callback", test_callback);
    g_test_add_func("/kind/callback-fails", test_callback_fails);
    g_test_add_func("/kind/compare-callbacks", test_compare_callbacks);
    g_test_add_func("/kind/compare-links", test_compare_links);
    g_test_add_func("/kind/compare-refused", test_compare_refused);
    g_test_add_func("/kind/encoding", test_encoding);
    g_test_add_func("/kind/encoding-known", test_encoding_known);
    g_test_add_func("/kind/own", test_own_kind);
    return g_test_run();
}
