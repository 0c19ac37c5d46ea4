#include <math.h>
#include <string.h>

#include "runner-fixture.h"

/* The fastest of several, in rounds of fresh processes: the rule, and the rounds of simulated devices. */

enum
{
    MAX = 8,
};

/* --- the rule --------------------------------------------------------------------------------------------------------- */

#define DIGITS 1e-12

/* Computed by another program. */
static void test_vectors(void)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "measure", "comparisons", "vectors.json", NULL);
    json_auto_t *vectors = json_load_file(path, 0, NULL);
    gsize i;
    json_t *vector;
    json_array_foreach(json_object_get(vectors, "fastest"), i, vector)
    {
        const json_t *rounds = json_object_get(vector, "rounds"), *result = json_object_get(vector, "result");
        const gsize n_rounds = json_array_size(rounds), n = json_array_size(json_array_get(rounds, 0));
        double log_ns[MAX * MAX];
        IfmLead lead;
        IfmRival rivals[MAX];
        for (gsize round = 0; round < n_rounds; round++)
            for (gsize at = 0; at < n; at++)
                log_ns[round * n + at] = json_number_value(json_array_get(json_array_get(rounds, round), at));
        ifm_lead_judge(log_ns, n_rounds, n, 0.95, &lead, rivals);
        g_assert_cmpuint(lead.leader, ==, json_integer_value(json_array_get(result, 0)));
        g_assert_cmpint(lead.told_apart, ==, json_is_true(json_array_get(result, 1)));
        const char *key;
        json_t *expected;
        json_object_foreach(json_array_get(result, 2), key, expected)
        {
            const IfmRival *rival = &rivals[g_ascii_strtoull(key, NULL, 10)];
            g_assert_cmpfloat_with_epsilon(rival->ratio, json_number_value(json_array_get(expected, 0)), DIGITS);
            g_assert_cmpfloat_with_epsilon(rival->least, json_number_value(json_array_get(expected, 1)), DIGITS);
            g_assert_cmpfloat_with_epsilon(rival->most, json_number_value(json_array_get(expected, 2)), DIGITS);
        }
    }
    g_assert_cmpuint(i, ==, 3);
}

/* Of equal devices one is called the fastest in k^(1 - 6) of 6 rounds: every order of who leads, once. */
static void test_chance(void)
{
    for (gsize n = 2; n <= 3; n++)
    {
        gsize n_orders = 1, n_apart = 0;
        for (int round = 0; round < 6; round++)
            n_orders *= n;
        for (gsize order = 0; order < n_orders; order++)
        {
            double log_ns[6 * 3];
            IfmLead lead;
            IfmRival rivals[3];
            gsize left = order;
            for (gsize round = 0; round < 6; round++, left /= n)
                for (gsize at = 0; at < n; at++)
                    log_ns[round * n + at] = at == left % n ? 0 : 0.1 + 0.01 * (double)at;
            ifm_lead_judge(log_ns, 6, n, 0.95, &lead, rivals);
            n_apart += lead.told_apart;
        }
        g_assert_cmpuint(n_apart, ==, n);
        g_assert_cmpfloat((double)n_apart / (double)n_orders, <=, 1 / 32.0);
    }
}

/* The processes of one side are the unit of its interval. */
static void test_of_one(void)
{
    static const double medians[] = { 130, 100, 110, 105, 120, 115 };
    for (gsize n = 0; n <= 6; n++)
    {
        g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
        IfmRoundsOfOne of;
        json_t *rounds = json_array();
        for (gsize i = 0; i < n; i++)
            json_array_append_new(rounds, json_pack("{s:[f,f]}", "median_ns", 7.0, medians[i]));
        ifm_record_set_json(&measurement->result,
                            json_pack("{s:i,s:{s:f,s:o}}", "side", 1, "rounds", "level", 0.95, "rounds", rounds));
        ifm_rounds_of_one(measurement, &of);
        g_assert_cmpuint(of.n, ==, n);
        g_assert_true(isnan(of.median_ns) == (n == 0));
        g_assert_true(isnan(of.interval.lower) == (n < 6)); /* five hold the middle in 94 % */
    }
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    IfmRoundsOfOne of;
    json_t *rounds = json_array();
    for (gsize i = 0; i < 6; i++)
        json_array_append_new(rounds, json_pack("{s:[f,f]}", "median_ns", 7.0, medians[i]));
    ifm_record_set_json(&measurement->result,
                        json_pack("{s:i,s:{s:f,s:o}}", "side", 1, "rounds", "level", 0.95, "rounds", rounds));
    ifm_rounds_of_one(measurement, &of);
    g_assert_cmpfloat(of.median_ns, ==, 112.5);
    g_assert_cmpfloat(of.least_ns, ==, 100);
    g_assert_cmpfloat(of.interval.upper, ==, 130);
}

static void test_ties(void)
{
    static const double log_ns[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    IfmLead lead;
    IfmRival rivals[2];
    ifm_lead_judge(log_ns, 6, 2, 0.95, &lead, rivals);
    g_assert_cmpuint(lead.leader, ==, 0);
    g_assert_cmpuint(lead.n_led, ==, 0);
    g_assert_false(lead.told_apart);
    g_assert_cmpfloat(rivals[1].most, ==, 1);
}

/* --- measured --------------------------------------------------------------------------------------------------------- */

static gboolean run(Fixture *fixture, const char *const *devices, gsize n, gsize runs, IfmRounds *rounds, GError **error)
{
    IfmRoundsProtocol protocol = IFM_ROUNDS_PROTOCOL_INIT;
    IfmModelCase cases[MAX];
    IfmCompareSide sides[MAX];
    protocol.runs = runs;
    protocol.block_ns = 0;
    for (gsize i = 0; i < n; i++)
    {
        cases[i] = case_on(fixture, devices[i]);
        sides[i] = (IfmCompareSide){ .kind = &ifm_kind_model, .spec = &cases[i] };
    }
    return ifm_runner_rounds(fixture->runner, sides, devices, n, &protocol, 1, rounds, error);
}

static void check_rounds(const json_t *json, gsize n_rounds, gsize n)
{
    const json_t *list = json_object_get(json, "rounds");
    gsize i;
    json_t *round;
    g_assert_cmpuint(json_array_size(list), ==, n_rounds);
    json_array_foreach(list, i, round)
    {
        gsize seen = 0;
        for (gsize place = 0; place < n; place++)
            seen |= (gsize)1 << json_integer_value(json_array_get(json_object_get(round, "order"), place));
        g_assert_cmpuint(seen, ==, ((gsize)1 << n) - 1); /* each device once */
    }
}

static void test_fastest(void)
{
    static const char *const devices[] = { "simulated:compare/MORE", "simulated:compare/BASE", "simulated:compare/HARDLY" };
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    g_auto(IfmRounds) rounds = { 0 };
    fixture_init(&fixture, NULL);
    g_assert_true(run(&fixture, devices, 3, 5, &rounds, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(rounds.lead.leader, ==, 1);
    g_assert_cmpuint(rounds.lead.n_led, ==, 6);
    g_assert_true(rounds.lead.told_apart);
    g_assert_cmpstr(text_in(rounds.json, "verdict"), ==, "fastest");
    g_assert_cmpstr(text_in(rounds.json, "stopped"), ==, "rounds");
    check_rounds(rounds.json, 6, 3);
    const json_t *more = json_array_get(json_object_get(rounds.json, "sides"), 0),
                 *list = json_object_get(rounds.json, "rounds");
    g_assert_cmpfloat_with_epsilon(json_number_value(json_object_get(more, "ratio")), 1.03, 1e-9);
    g_assert_cmpfloat_with_epsilon(json_number_value(json_object_get(more, "least_ratio")), 1.03, 1e-9);
    gboolean other_order = FALSE;
    for (gsize i = 0; i < 6; i++)
    {
        const json_t *round = json_array_get(list, i);
        g_assert_cmpint(json_integer_value(json_array_get(json_object_get(round, "rank"), 0)), ==, 3);
        g_assert_cmpint(json_integer_value(json_array_get(json_object_get(round, "rank"), 1)), ==, 1);
        other_order |= !json_equal(json_object_get(round, "order"), json_object_get(json_array_get(list, 0), "order"));
    }
    g_assert_true(other_order); /* the order was drawn */
    for (gsize i = 0; i < 3; i++)
    {
        g_assert_cmpuint(rounds.measurements[i]->samples_ns->len, ==, 6 * 5);
        g_assert_true(ifm_rounds_stored(rounds.measurements[i], rounds.cases, 3) == rounds.json ||
                      json_equal((json_t *)ifm_rounds_stored(rounds.measurements[i], rounds.cases, 3), rounds.json));
        g_assert_null(ifm_rounds_stored(rounds.measurements[i], rounds.cases, 2));
    }
    g_autoptr(GArray) children = children_of(getpid());
    g_assert_cmpuint(children->len, ==, 0);
    fixture_clear(&fixture);
}

/* One and the same device: no noise, nobody leads, and two rounds suffice to say so. Noise of each process's own: another
 * leads sooner or later. */
static void test_not_told_apart(void)
{
    static const char *const same[] = { "simulated:compare/BASE", "simulated:compare/BASE" }, *const noisy[] = {
        "simulated:compare/NOISY", "simulated:compare/NOISY"
    };
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    g_auto(IfmRounds) equal = { 0 };
    g_auto(IfmRounds) wandering = { 0 };
    fixture_init(&fixture, NULL);
    g_assert_true(run(&fixture, same, 2, 5, &equal, &error));
    g_assert_no_error(error);
    g_assert_false(equal.lead.told_apart);
    g_assert_cmpstr(text_in(equal.json, "verdict"), ==, "not told apart");
    g_assert_cmpstr(text_in(equal.json, "stopped"), ==, "another led");
    check_rounds(equal.json, 2, 2);
    g_assert_cmpstr(equal.cases[0]->key, !=, equal.cases[1]->key); /* by their places */
    g_assert_true(run(&fixture, noisy, 2, 5, &wandering, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(text_in(wandering.json, "verdict"), ==, "not told apart");
    const IfmLead *lead = &wandering.lead;
    g_assert_cmpuint(lead->n_led, <, lead->n_rounds);
    fixture_clear(&fixture);
}

static void test_failure(void)
{
    static const char *const devices[] = { "simulated:compare/BASE", "simulated:compare/LOSES" };
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    g_auto(IfmRounds) rounds = { 0 };
    fixture_init(&fixture, NULL);
    g_assert_false(run(&fixture, devices, 2, 50, &rounds, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_LOST);
    g_assert_true(g_str_has_prefix(error->message, "simulated:compare/LOSES: "));
    g_autoptr(GArray) children = children_of(getpid());
    g_assert_cmpuint(children->len, ==, 0);
    fixture_clear(&fixture);
}

/* The records are those that were to be expected. */
static void test_cases(void)
{
    static const char *const devices[] = { "simulated:compare/BASE", "simulated:compare/MORE" };
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    g_auto(IfmRounds) rounds = { 0 };
    IfmRoundsProtocol protocol = IFM_ROUNDS_PROTOCOL_INIT;
    fixture_init(&fixture, NULL);
    g_assert_true(run(&fixture, devices, 2, 7, &rounds, &error));
    protocol.runs = 7;
    protocol.block_ns = 0;
    const IfmModelCase cases[] = { case_on(&fixture, devices[0]), case_on(&fixture, devices[1]) };
    const IfmCompareSide sides[] = { { .kind = &ifm_kind_model, .spec = &cases[0] },
                                     { .kind = &ifm_kind_model, .spec = &cases[1] } };
    for (gsize i = 0; i < 2; i++)
    {
        g_autoptr(IfmCase) sealed = ifm_runner_rounds_case(fixture.runner, sides, i, 2, &protocol, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(sealed->key, ==, rounds.cases[i]->key);
        g_assert_cmpstr(rounds.measurements[i]->case_key, ==, sealed->key);
    }
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_test_build_filename(G_TEST_DIST, "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_func("/rounds/vectors", test_vectors);
    g_test_add_func("/rounds/chance", test_chance);
    g_test_add_func("/rounds/of-one", test_of_one);
    g_test_add_func("/rounds/ties", test_ties);
    g_test_add_func("/rounds/fastest", test_fastest);
    g_test_add_func("/rounds/not-told-apart", test_not_told_apart);
    g_test_add_func("/rounds/failure", test_failure);
    g_test_add_func("/rounds/cases", test_cases);
    return g_test_run();
}
