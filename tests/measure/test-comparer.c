#include <base/fields.h>
#include <base/statistics.h>
#include <math.h>
#include <string.h>

#include "measure/measure-private.h"

#define S G_GINT64_CONSTANT(1000000000)

static IfmCompareProtocol counted(gsize max_pairs)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.time_budget_ns = 0;
    protocol.max_pairs = max_pairs;
    protocol.min_pairs = MIN(protocol.min_pairs, max_pairs);
    return protocol;
}

/* Pairs of one round each, of those log ratios. Returns: how many it wanted. */
static gsize feed(const IfmCompareProtocol *protocol, const double *logs, gsize n, IfmComparison *comparison)
{
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(protocol);
    gboolean done = FALSE;
    gsize i = 0;
    while (i < n && !done)
    {
        ifm_comparer_add(comparer, 1e6, 1e6 * exp(logs[i++]), FALSE);
        done = ifm_comparer_end_pair(comparer, 0);
    }
    ifm_comparer_finish(comparer, comparison);
    /* the last look is what is stated, whatever its share of the error is */
    const IfmCompareStep *last = &g_array_index(comparison->history, IfmCompareStep, comparison->history->len - 1);
    g_assert_cmpuint(last->n_pairs, ==, i);
    g_assert_cmpfloat(last->ratio, ==, comparison->ratio);
    if (i > 1)
    {
        g_assert_cmpfloat(last->lower, ==, comparison->interval.lower);
        g_assert_cmpfloat(last->upper, ==, comparison->interval.upper);
        g_assert_true(last->lower <= last->ratio && last->ratio <= last->upper);
    }
    return i;
}

static void test_names(void)
{
    g_assert_cmpstr(ifm_verdict_name(IFM_VERDICT_FASTER), ==, "faster");
    g_assert_cmpstr(ifm_verdict_name(IFM_VERDICT_SLOWER), ==, "slower");
    g_assert_cmpstr(ifm_verdict_name(IFM_VERDICT_SAME), ==, "same");
    g_assert_cmpstr(ifm_verdict_name(IFM_VERDICT_UNCERTAIN), ==, "uncertain");
    g_assert_cmpstr(ifm_verdict_name((IfmVerdict)99), ==, "unknown");
}

/* --- the rule's vectors, computed by another program ------------------------------------------------------------------ */

static json_t *read_comparison(const char *name)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "measure", "comparisons", name, NULL);
    json_t *json = json_load_file(path, 0, NULL);
    g_assert_nonnull(json);
    return json;
}

#define DIGITS 1e-12

static void check_number(const json_t *object, const char *key, double value)
{
    g_assert_cmpfloat_with_epsilon(json_number_value(json_object_get(object, key)), value, DIGITS);
}

static void test_cuts(void)
{
    json_auto_t *vectors = read_comparison("vectors.json");
    gsize i;
    json_t *row;
    json_array_foreach(json_object_get(vectors, "cut"), i, row)
    {
        gint64 cut;
        const double error = ifm_signed_rank_cut((gsize)json_integer_value(json_array_get(row, 0)),
                                                 json_number_value(json_array_get(row, 1)), &cut);
        g_assert_cmpint(cut, ==, json_integer_value(json_array_get(row, 2)));
        g_assert_cmpfloat_with_epsilon(error, json_number_value(json_array_get(row, 3)), DIGITS);
    }
    g_assert_cmpuint(i, ==, 9);
    /* against brute force: every set of heads of ten coins */
    gsize at_most[56] = { 0 };
    for (guint heads = 0; heads < 1024; heads++)
    {
        gsize sum = 0;
        for (gsize rank = 1; rank <= 10; rank++)
            sum += heads >> (rank - 1) & 1 ? rank : 0;
        for (gsize w = sum; w < G_N_ELEMENTS(at_most); w++)
            at_most[w]++;
    }
    for (gint64 w = 0; w < 20; w++)
    {
        gint64 cut;
        g_assert_cmpfloat(ifm_signed_rank_cut(10, 2 * (double)at_most[w] / 1024, &cut), ==, 2 * (double)at_most[w] / 1024);
        g_assert_cmpint(cut, >=, w);
    }
}

static void check_vector(const json_t *vector, double sign)
{
    const json_t *values = json_object_get(vector, "values"), *range = json_object_get(vector, "range");
    double logs[64];
    const gsize n = json_array_size(values);
    for (gsize i = 0; i < n; i++)
        logs[i] = sign * json_number_value(json_array_get(values, i));
    g_auto(IfmComparison) comparison = { 0 };
    const IfmCompareProtocol protocol = counted(n);
    g_test_message("%s", ifm_member_text(vector, "name"));
    g_assert_cmpuint(feed(&protocol, logs, n, &comparison), ==, json_integer_value(json_object_get(vector, "n")));
    double lower = json_number_value(json_object_get(vector, "lower")),
           upper = json_number_value(json_object_get(vector, "upper"));
    const char *verdict = ifm_member_text(vector, "verdict");
    check_number(vector, "error", comparison.error);
    if (range != NULL)
    {
        lower = json_number_value(json_array_get(range, 0));
        upper = json_number_value(json_array_get(range, 1));
    }
    if (range != NULL && n > 1)
        check_number(vector, "range_level", comparison.interval.level);
    if (sign > 0)
    {
        g_assert_cmpstr(ifm_verdict_name(comparison.verdict), ==, verdict);
        check_number(vector, "ratio", comparison.ratio);
        if (n > 1)
        {
            g_assert_cmpfloat_with_epsilon(comparison.interval.lower, lower, DIGITS);
            g_assert_cmpfloat_with_epsilon(comparison.interval.upper, upper, DIGITS);
        }
        else
            g_assert_true(isnan(comparison.interval.lower)); /* of one pair there is none */
        return;
    }
    /* B and A in each other's place: the same of the inverse ratio */
    g_assert_cmpstr(ifm_verdict_name(comparison.verdict), ==,
                    g_str_equal(verdict, "faster")   ? "slower"
                    : g_str_equal(verdict, "slower") ? "faster"
                                                     : verdict);
    if (n > 1)
    {
        g_assert_cmpfloat_with_epsilon(comparison.interval.lower * upper, 1, DIGITS);
        g_assert_cmpfloat_with_epsilon(comparison.interval.upper * lower, 1, DIGITS);
    }
}

static void test_vectors(void)
{
    json_auto_t *vectors = read_comparison("vectors.json");
    gsize i;
    json_t *vector;
    json_array_foreach(json_object_get(vectors, "compare"), i, vector)
    {
        check_vector(vector, 1);
        check_vector(vector, -1);
    }
    g_assert_cmpuint(i, ==, 18);
}

/* Recorded comparisons, by their rounds. */
static void replay(const char *name, gsize n_pairs, IfmComparison *comparison)
{
    json_auto_t *json = read_comparison(name);
    const IfmCompareProtocol protocol = counted(n_pairs);
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
    json_int_t pair = 0;
    gsize i;
    json_t *round;
    json_array_foreach(json_object_get(json, "rounds"), i, round)
    {
        if (json_integer_value(json_object_get(round, "pair")) != pair)
        {
            g_assert_false(ifm_comparer_end_pair(comparer, 0));
            pair++;
        }
        ifm_comparer_add(comparer, json_number_value(json_object_get(round, "a_ns")),
                         json_number_value(json_object_get(round, "b_ns")),
                         g_str_equal(ifm_member_text(round, "first"), "B"));
    }
    g_assert_true(ifm_comparer_end_pair(comparer, 0));
    ifm_comparer_finish(comparer, comparison);
}

static void test_recorded(void)
{
    g_auto(IfmComparison) seven = { 0 };
    replay("compare-7-of-7-pairs.json", 7, &seven);
    g_assert_cmpint(seven.verdict, ==, IFM_VERDICT_FASTER);
    g_assert_cmpfloat_with_epsilon(seven.ratio, 0.930, 5e-4);
    g_assert_cmpfloat_with_epsilon(seven.interval.lower, 0.882, 5e-4);
    g_assert_cmpfloat_with_epsilon(seven.interval.upper, 0.999, 5e-4);
    g_auto(IfmComparison) five = { 0 };
    replay("compare-aa-5-pairs-neff-2.json", 5, &five);
    g_assert_cmpint(five.verdict, ==, IFM_VERDICT_UNCERTAIN);
    g_assert_cmpfloat_with_epsilon(five.interval.lower, 0.925, 5e-4);
    g_assert_cmpfloat_with_epsilon(five.interval.upper, 1.009, 5e-4);
    g_assert_cmpfloat(five.interval.level, ==, 0.9375);
    g_assert_cmpfloat(five.level, ==, 0.95);
    g_assert_nonnull(strstr(five.why, "5 pairs of processes were measured, and 6 are the minimum for a verdict at 95 %"));
}

/* Another level takes other numbers of pairs: at 99 % the signs of seven show nothing. */
static void test_level(void)
{
    double logs[8] = { 0.3, 0.31, 0.29, 0.3, 0.32, 0.28, 0.3, 0.3 };
    g_auto(IfmComparison) seven = { 0 };
    g_auto(IfmComparison) eight = { 0 };
    IfmCompareProtocol protocol = counted(7);
    protocol.level = 0.99;
    feed(&protocol, logs, 7, &seven);
    g_assert_cmpint(seven.verdict, ==, IFM_VERDICT_UNCERTAIN);
    g_assert_nonnull(strstr(seven.why, "and 8 are the minimum for a verdict at 99 %"));
    protocol.max_pairs = 8;
    feed(&protocol, logs, 8, &eight);
    g_assert_cmpint(eight.verdict, ==, IFM_VERDICT_SLOWER);
    g_assert_cmpfloat(eight.interval.level, ==, 0.99);
}

/* Without any noise it is over at the first look, and the ratio is that of the times. */
static void test_exact(void)
{
    static const struct
    {
        double ratio;
        IfmVerdict verdict;
    } rows[] = { { 1, IFM_VERDICT_SAME },       { 1.009, IFM_VERDICT_SAME },  { 0.991, IFM_VERDICT_SAME },
                 { 1.011, IFM_VERDICT_SLOWER }, { 1.03, IFM_VERDICT_SLOWER }, { 2, IFM_VERDICT_SLOWER },
                 { 0.989, IFM_VERDICT_FASTER }, { 0.5, IFM_VERDICT_FASTER } };
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
    {
        g_auto(IfmComparison) comparison = { 0 };
        IfmCompareProtocol protocol = counted(20);
        double logs[20];
        for (gsize i = 0; i < G_N_ELEMENTS(logs); i++)
            logs[i] = log(rows[row].ratio);
        g_assert_cmpuint(feed(&protocol, logs, 20, &comparison), ==, 8);
        g_assert_cmpint(comparison.verdict, ==, rows[row].verdict);
        g_assert_cmpfloat_with_epsilon(comparison.ratio, rows[row].ratio, 1e-12);
        g_assert_cmpfloat_with_epsilon(comparison.a_ns, 1e6, 1e-6);
        g_assert_cmpfloat_with_epsilon(comparison.b_ns, 1e6 * rows[row].ratio, 1e-6);
        g_assert_null(comparison.why);
        g_assert_cmpuint(comparison.rounds->len, ==, 8);
        g_assert_cmpfloat(comparison.n_effective, ==, 8); /* what never differs shows no likeness of neighbours */
        g_assert_true(isnan(comparison.correlation));
    }
}

/* What is beside the interval, which the vectors hold. With ten pairs at most the looks are after the 8th and the 10th. */
static void test_interval(void)
{
    static const double logs[] = { 0.05, -0.02, 0.04, -0.03, 0.03, -0.01, 0.05, -0.04, 0.02, 0.01 };
    g_auto(IfmComparison) comparison = { 0 };
    IfmCompareProtocol protocol = counted(10);
    g_assert_cmpuint(feed(&protocol, logs, 10, &comparison), ==, 10);
    double mean = 0, squares = 0, products = 0;
    for (int i = 0; i < 10; i++)
        mean += logs[i] / 10;
    for (int i = 0; i < 10; i++)
        squares += pow(logs[i] - mean, 2);
    for (int i = 1; i < 10; i++)
        products += (logs[i] - mean) * (logs[i - 1] - mean);
    double r = products / squares;
    g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_UNCERTAIN);
    g_assert_cmpuint(comparison.n_pairs, ==, 10);
    g_assert_cmpuint(comparison.n_looks, ==, 2);
    g_assert_cmpuint(comparison.history->len, ==, 2);
    g_assert_cmpuint(g_array_index(comparison.history, IfmCompareStep, 0).n_pairs, ==, 8);
    g_assert_cmpfloat_with_epsilon(comparison.correlation, r + (1 + 3 * r) / 10, 1e-9);
    g_assert_cmpfloat(comparison.correlation, <, 0); /* they alternate: nothing to widen by */
    g_assert_cmpfloat(comparison.n_effective, ==, 10);
    g_assert_cmpfloat(comparison.error, <=, 0.05 - 1 / 128.0);
    g_assert_cmpfloat_with_epsilon(comparison.between, sqrt(squares / 9), 1e-12);
    g_assert_cmpfloat(comparison.interval.level, ==, 0.95);
    g_assert_cmpfloat(comparison.interval.lower, >, exp(-0.04)); /* within the pairs */
    g_assert_cmpfloat(comparison.interval.upper, <, exp(0.05));
    g_assert_true(isnan(comparison.within)); /* one round a pair tells nothing of it */
}

/* The same values in an order in which neighbours are alike tell less. */
static void test_correlated(void)
{
    double logs[20], shuffled[20];
    for (int i = 0; i < 20; i++)
        logs[i] = 0.02 * sin(i * G_PI / 10);
    for (int i = 0; i < 20; i++)
        shuffled[i] = logs[(i * 7) % 20];
    g_auto(IfmComparison) slow = { 0 };
    g_auto(IfmComparison) fast = { 0 };
    IfmCompareProtocol protocol = counted(20);
    protocol.min_pairs = 20;
    feed(&protocol, logs, 20, &slow);
    feed(&protocol, shuffled, 20, &fast);
    g_assert_cmpfloat_with_epsilon(slow.ratio, fast.ratio, 1e-9);
    g_assert_cmpfloat(slow.correlation, >, 0.5);
    g_assert_cmpfloat(fast.correlation, <, 0);
    g_assert_cmpfloat(log(slow.interval.upper), >, 1.5 * log(fast.interval.upper));
    g_assert_cmpfloat(slow.interval.upper, <=, exp(0.02)); /* never beyond the pairs */
}

/* All of seven pairs are far on one side, which chance does in one of 64 comparisons; that neighbours seem alike, of which
 * seven pairs say little, does not make this uncertain. A pair on the other side does. */
static void test_all_on_one_side(void)
{
    double logs[] = { log(0.555), log(0.57), log(0.62), log(0.70), log(0.74), log(0.80), log(0.837) };
    g_auto(IfmComparison) comparison = { 0 };
    IfmCompareProtocol protocol = counted(G_N_ELEMENTS(logs));
    g_assert_cmpuint(feed(&protocol, logs, G_N_ELEMENTS(logs), &comparison), ==, G_N_ELEMENTS(logs));
    g_assert_cmpfloat(comparison.n_effective, <, 3);
    g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_FASTER);
    g_assert_cmpfloat(comparison.interval.lower, >=, 0.555 - 1e-12);
    g_assert_cmpfloat(comparison.interval.upper, <=, 0.837 + 1e-12);
    logs[6] = log(1.01);
    g_auto(IfmComparison) both_sides = { 0 };
    feed(&protocol, logs, G_N_ELEMENTS(logs), &both_sides);
    g_assert_cmpint(both_sides.verdict, ==, IFM_VERDICT_UNCERTAIN);
}

/* A burst that hits one side in one round of four is not the pair's value; the pair's value is a mean of the others. */
static void test_burst(void)
{
    g_auto(IfmComparison) comparison = { 0 };
    IfmCompareProtocol protocol = counted(20);
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
    gboolean done = FALSE;
    for (int pair = 0; !done; pair++)
    {
        for (int round = 0; round < 4; round++)
            ifm_comparer_add(comparer, 100, round == pair % 4 ? 1000 : 105, round % 2 == 1);
        done = ifm_comparer_end_pair(comparer, 0);
    }
    ifm_comparer_finish(comparer, &comparison);
    g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_SLOWER);
    g_assert_cmpfloat_with_epsilon(comparison.ratio, 1.05, 1e-12);
    g_assert_cmpuint(comparison.rounds->len, ==, 32);
    const IfmCompareRound *last = &g_array_index(comparison.rounds, IfmCompareRound, 31);
    g_assert_cmpuint(last->pair, ==, 7);
    g_assert_true(last->b_first);
    g_assert_cmpfloat(comparison.within, >, 1); /* the rounds did scatter */
}

/* There, and smaller than the margin: it is called the same once the whole interval is within, not before. */
static void test_within_margin(void)
{
    double logs[40];
    for (int i = 0; i < 40; i++)
        logs[i] = log(1.004) + (i % 2 == 0 ? 0.001 : -0.001);
    g_auto(IfmComparison) comparison = { 0 };
    IfmCompareProtocol protocol = counted(40);
    gsize n = feed(&protocol, logs, 40, &comparison);
    g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_SAME);
    g_assert_cmpfloat(comparison.interval.lower, >, 1);
    g_assert_cmpfloat(comparison.interval.upper, <=, 1.01);
    g_assert_cmpuint(n, <, 40);
    protocol.margin = 0.002; /* now it is beyond */
    g_auto(IfmComparison) strict = { 0 };
    feed(&protocol, logs, 40, &strict);
    g_assert_cmpint(strict.verdict, ==, IFM_VERDICT_SLOWER);
    protocol.margin = 0; /* nothing is the same then */
    for (int i = 0; i < 40; i++)
        logs[i] = (i % 2 == 0 ? 0.001 : -0.001) * (1 + i % 7);
    g_auto(IfmComparison) none = { 0 };
    g_assert_cmpuint(feed(&protocol, logs, 40, &none), ==, 40);
    g_assert_cmpint(none.verdict, ==, IFM_VERDICT_UNCERTAIN);
}

/* --- the budget ----------------------------------------------------------------------------------------------------- */

/* Each pair takes 1 s of a budget: the pair after which another would end further from it is the last. */
static void test_budget(void)
{
    static const double budgets_s[] = { 3, 8.4, 8.6 };
    static const gsize expected[] = { 3, 8, 9 };
    for (gsize row = 0; row < G_N_ELEMENTS(budgets_s); row++)
    {
        IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
        protocol.time_budget_ns = (gint64)(budgets_s[row] * S);
        g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
        gsize n = 0;
        gboolean done = FALSE;
        while (!done)
        {
            ifm_comparer_add(comparer, 100, n % 2 == 0 ? 105 : 95, FALSE);
            done = ifm_comparer_end_pair(comparer, (gint64)++n * S);
        }
        g_assert_cmpuint(n, ==, expected[row]);
        g_auto(IfmComparison) comparison = { 0 };
        ifm_comparer_finish(comparer, &comparison);
        g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_UNCERTAIN);
        g_assert_cmpint(comparison.elapsed_ns, ==, (gint64)n * S);
        g_assert_nonnull(strstr(comparison.why, row == 0 ? "3 pairs of processes were measured, and 6 are the minimum"
                                                         : "would settle it"));
    }
}

/* Broken off before the rule said so: what there is, a pair that has not ended left out. */
static void test_broken_off(void)
{
    IfmCompareProtocol protocol = counted(100);
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
    g_auto(IfmComparison) empty = { 0 };
    ifm_comparer_finish(comparer, &empty);
    g_assert_cmpint(empty.verdict, ==, IFM_VERDICT_UNCERTAIN);
    g_assert_true(isnan(empty.ratio) && isnan(empty.interval.lower) && isnan(empty.a_ns));
    g_assert_nonnull(strstr(empty.why, "0 pairs"));
    for (int i = 0; i < 6; i++)
    {
        ifm_comparer_add(comparer, 100, i % 2 == 0 ? 110 : 110.2, FALSE);
        g_assert_false(ifm_comparer_end_pair(comparer, 0));
    }
    ifm_comparer_add(comparer, 100, 1e6, FALSE);
    g_auto(IfmComparison) comparison = { 0 };
    ifm_comparer_finish(comparer, &comparison);
    g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_SLOWER);
    g_assert_cmpuint(comparison.n_pairs, ==, 6);
    g_assert_cmpfloat_with_epsilon(comparison.ratio, sqrt(1.10 * 1.102), 1e-9);
}

static char *why_of(const double (*rounds)[2], gsize n)
{
    IfmCompareProtocol protocol = counted(n);
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
    g_auto(IfmComparison) comparison = { 0 };
    for (gsize i = 0; i < n; i++)
    {
        ifm_comparer_add(comparer, rounds[i][0], rounds[i][1], FALSE);
        ifm_comparer_end_pair(comparer, 0);
    }
    ifm_comparer_finish(comparer, &comparison);
    g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_UNCERTAIN);
    return g_steal_pointer(&comparison.why);
}

static void test_why(void)
{
    double rounds[20][2];
    for (int i = 0; i < 20; i++) /* B scatters, A does not */
        rounds[i][0] = 100 + 0.1 * (i % 3), rounds[i][1] = i * 7 % 20 < 10 ? 95 : 105;
    g_autofree char *side = why_of(rounds, 20);
    g_assert_nonnull(strstr(side, "B differs by 5\u00a0% from process to process (A by 0.08\u00a0%)"));
    for (int i = 0; i < 20; i++) /* both do */
        rounds[i][0] = i * 3 % 20 < 10 ? 95 : 105;
    g_autofree char *both = why_of(rounds, 20);
    g_assert_true(g_str_has_prefix(both, "pairs of processes differ by "));
    for (int i = 0; i < 20; i++) /* B gets slower and slower */
        rounds[i][0] = 100, rounds[i][1] = 98 + i / 2.0 + 0.1 * (i % 2);
    g_autofree char *drift = why_of(rounds, 20);
    g_assert_true(g_str_has_prefix(drift, "the ratio itself drifts"));
}

static void test_check(void)
{
    IfmCompareProtocol bad[8];
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
        bad[i] = IFM_COMPARE_PROTOCOL_INIT;
    g_assert_true(ifm_compare_protocol_check(&bad[0], NULL));
    bad[0].margin = 1;
    bad[1].margin = -0.01;
    bad[2].margin = NAN;
    bad[3].level = 1;
    bad[4].min_pairs = 1;
    bad[5].max_pairs = 4;
    bad[6].time_budget_ns = -1;
    bad[7].max_pairs = 1001;
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_compare_protocol_check(&bad[i], &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    }
}

static void test_json(void)
{
    static const double logs[6] = { 0 };
    g_auto(IfmComparison) comparison = { 0 };
    IfmCompareProtocol protocol = counted(6);
    feed(&protocol, logs, 6, &comparison);
    g_ptr_array_add(comparison.notes, g_strdup("a note"));
    json_auto_t *json = ifm_comparison_to_json(&comparison);
    g_assert_cmpstr(json_string_value(json_object_get(json, "verdict")), ==, "same");
    g_assert_cmpfloat(json_number_value(json_object_get(json, "ratio")), ==, 1);
    g_assert_cmpfloat(json_number_value(json_object_get(json_object_get(json, "interval"), "upper")), ==, 1);
    g_assert_cmpfloat(json_number_value(json_object_get(json, "a_median_ns")), ==, 1e6);
    g_assert_true(json_is_null(json_object_get(json, "why")));
    g_assert_true(json_is_null(json_object_get(json, "within_pairs_std"))); /* NaN is no JSON */
    g_assert_cmpint(json_integer_value(json_object_get(json, "n_pairs")), ==, 6);
    g_assert_cmpfloat(json_number_value(json_object_get(json, "error")), ==, 1 / 32.0);
    json_t *rounds = json_object_get(json, "rounds"), *last = json_array_get(rounds, 5);
    g_assert_cmpuint(json_array_size(rounds), ==, 6);
    g_assert_cmpint(json_integer_value(json_object_get(last, "pair")), ==, 5);
    g_assert_cmpstr(json_string_value(json_object_get(last, "first")), ==, "A");
    g_assert_cmpstr(json_string_value(json_array_get(json_object_get(json, "notes"), 0)), ==, "a note");
}

/* --- how often it is wrong, and how often it finds something -----------------------------------------------------------
 */

/* What noise there is in a series of comparisons: all of it as shares of the latency. */
typedef struct
{
    const char *name;
    double runs, phi; /* an AR(1) from round to round, of each side's own */
    double heavy;     /* one round in 12 is slower by up to this */
    double process;   /* of the level of a process */
    double drift;     /* of the machine, over the whole comparison */
} Noise;

static double gaussian(GRand *random)
{
    return sqrt(-2 * log(1 - g_rand_double(random))) * cos(2 * G_PI * g_rand_double(random));
}

enum
{
    PAIRS = 20,
    ROUNDS = 6,
};

static IfmVerdict simulate(const Noise *noise, gsize max_pairs, double slow_down, GRand *random)
{
    IfmCompareProtocol protocol = counted(max_pairs);
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
    double state[2] = { gaussian(random), gaussian(random) };
    int step = 0;
    gboolean done = FALSE;
    while (!done)
    {
        double process[2] = { 1 + noise->process * gaussian(random), 1 + noise->process * gaussian(random) };
        for (int round = 0; round < ROUNDS; round++)
        {
            double ns[2];
            for (int i = 0; i < 2; i++)
            {
                int side = (i + round) % 2;
                double level = 1 + noise->drift * step++ / (2.0 * PAIRS * ROUNDS);
                state[side] = noise->phi * state[side] + sqrt(1 - noise->phi * noise->phi) * gaussian(random);
                ns[side] = 1e6 * level * process[side] * exp(noise->runs * state[side]);
                if (g_rand_double(random) < 1.0 / 12)
                    ns[side] *= 1 + noise->heavy * g_rand_double(random);
            }
            ifm_comparer_add(comparer, ns[0], ns[1] * (1 + slow_down), round % 2 == 1);
        }
        done = ifm_comparer_end_pair(comparer, 0);
    }
    g_auto(IfmComparison) comparison = { 0 };
    ifm_comparer_finish(comparer, &comparison);
    return comparison.verdict;
}

static void test_calibration(void)
{
    static const Noise noises[] = {
        { "independent", .runs = 0.01 },
        { "AR(1)", .runs = 0.007, .phi = 0.8 },
        { "heavy tails", .runs = 0.005, .heavy = 5 },
        { "processes", .runs = 0.01, .process = 0.01 },
        { "drift", .runs = 0.01, .drift = 0.5 },
        { "all", .runs = 0.008, .phi = 0.6, .heavy = 1, .process = 0.008, .drift = 0.2 },
    };
    enum
    {
        COUNT = 400
    };
    for (gsize kind = 0; kind < G_N_ELEMENTS(noises); kind++)
    {
        GRand *random = g_rand_new_with_seed(1 + (guint32)kind);
        gsize n_wrong = 0, n_found = 0;
        for (int i = 0; i < COUNT; i++)
        {
            IfmVerdict verdict = simulate(&noises[kind], PAIRS, 0, random);
            n_wrong += verdict == IFM_VERDICT_FASTER || verdict == IFM_VERDICT_SLOWER;
            n_found += simulate(&noises[kind], PAIRS, 0.03, random) == IFM_VERDICT_SLOWER;
        }
        g_rand_free(random);
        IfmInterval wrong = ifm_binomial_interval(n_wrong, COUNT, 0.95),
                    found = ifm_binomial_interval(n_found, COUNT, 0.95);
        g_test_message("%s: itself [%.3f, %.3f], slow-down found [%.3f, %.3f]", noises[kind].name, wrong.lower, wrong.upper,
                       found.lower, found.upper);
        g_assert_cmpfloat(wrong.lower, <=, 0.05);
        g_assert_cmpfloat(found.upper, >=, 0.9);
        g_assert_cmpuint(n_found, >=, COUNT * 9 / 10);
    }
}

/* Seven pairs, as ten seconds have room for while others use a core: each round is slowed down by up to a half. */
static void test_few_pairs(void)
{
    static const Noise noise = { "others", .runs = 0.02, .heavy = 0.5, .process = 0.06 };
    enum
    {
        COUNT = 400
    };
    GRand *random = g_rand_new_with_seed(1);
    gsize n_wrong = 0, n_found = 0;
    for (int i = 0; i < COUNT; i++)
    {
        IfmVerdict verdict = simulate(&noise, 7, 0, random);
        n_wrong += verdict == IFM_VERDICT_FASTER || verdict == IFM_VERDICT_SLOWER;
        n_found += simulate(&noise, 7, 0.3, random) == IFM_VERDICT_SLOWER;
    }
    g_rand_free(random);
    g_test_message("%" G_GSIZE_FORMAT " wrong, %" G_GSIZE_FORMAT " found of %d", n_wrong, n_found, COUNT);
    g_assert_cmpfloat(ifm_binomial_interval(n_wrong, COUNT, 0.9).lower, <=, 0.05); /* one-sided: 95 % */
    g_assert_cmpuint(n_found, >=, COUNT * 38 / 40);
}

/* --- the difference --------------------------------------------------------------------------------------------------- */

/* In ns, at A's mean time, which the machine's speed is in; the interval is that of the ratio at the one look that 10 pairs
 * of at least 10 have. */
static void test_difference(void)
{
    static const double logs[] = { 0.21, 0.19, 0.205, 0.195, 0.2, 0.208, 0.192, 0.201, 0.199, 0.2 };
    IfmCompareProtocol protocol = counted(10);
    protocol.min_pairs = 10;
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
    for (int i = 0; i < 10; i++)
    {
        double a_ns = 1000 + 100 * i; /* both get slower and slower: 1450 on average */
        ifm_comparer_add(comparer, a_ns, a_ns * exp(logs[i]), FALSE);
        g_assert_cmpint(ifm_comparer_end_pair(comparer, 0), ==, i == 9);
    }
    g_auto(IfmComparison) comparison = { 0 };
    ifm_comparer_finish(comparer, &comparison);
    double ns = 1450 * (comparison.ratio - 1), lower = 1450 * (comparison.interval.lower - 1),
           upper = 1450 * (comparison.interval.upper - 1);
    g_assert_cmpfloat_with_epsilon(comparison.ratio, exp(0.2), 1e-3);
    g_assert_cmpfloat(lower, <, ns);
    g_assert_cmpfloat(ns, <, upper);
    g_assert_cmpfloat_with_epsilon(comparison.difference_ns, ns, 1e-6);
    g_assert_cmpfloat_with_epsilon(comparison.difference_interval.lower, lower, 1e-6);
    g_assert_cmpfloat_with_epsilon(comparison.difference_interval.upper, upper, 1e-6);
    g_assert_cmpfloat(comparison.difference_interval.level, ==, 0.95);
    g_autoptr(IfmComparer) mirror = ifm_comparer_new(&protocol); /* A and B in each other's place: the same, less than 0 */
    for (int i = 0; i < 10; i++)
    {
        ifm_comparer_add(mirror, (1000 + 100 * i) * exp(logs[i]), 1000 + 100 * i, FALSE);
        ifm_comparer_end_pair(mirror, 0);
    }
    g_auto(IfmComparison) mirrored = { 0 };
    ifm_comparer_finish(mirror, &mirrored);
    g_assert_cmpfloat_with_epsilon(mirrored.difference_ns, -ns, 1e-6);
    g_assert_cmpfloat_with_epsilon(mirrored.difference_interval.lower, -upper, 1e-6);
    g_assert_cmpfloat_with_epsilon(mirrored.difference_interval.upper, -lower, 1e-6);
    json_auto_t *json = ifm_comparison_to_json(&comparison);
    g_assert_cmpfloat_with_epsilon(json_number_value(json_object_get(json, "difference_ns")), ns, 1e-6);
    g_assert_cmpfloat_with_epsilon(
        json_number_value(json_object_get(json_object_get(json, "difference_interval"), "upper")), upper, 1e-6);
}

/* --- a machine whose speed changes: the difference in turns, and one after the other ------------------------------------
 */

enum
{
    STEPS = 2 * PAIRS * ROUNDS, /* a round's side each */
    SEEDS = 300,
};
#define FORWARD_NS 1e6
#define WHOLE_NS 3e6

typedef enum
{
    STILL,
    DRIFTS, /* by a fifth, up or down */
    STEPS_ONCE,
    SWINGS,
    WANDERS, /* AR(1), over a tenth of the time */
    N_SPEEDS,
} Speed;

/* @level: (out) [STEPS] what times are multiplied with */
static void make_levels(Speed speed, GRand *random, double *level)
{
    double sign = g_rand_boolean(random) ? 1 : -1, when = g_rand_double_range(random, 0.3, 0.7), state = gaussian(random);
    double phi = exp(-10.0 / STEPS);
    for (int i = 0; i < STEPS; i++)
    {
        double u = (double)i / STEPS;
        state = phi * state + sqrt(1 - phi * phi) * gaussian(random);
        level[i] = 1 + (speed == DRIFTS       ? sign * 0.2 * (u - 0.5)
                        : speed == STEPS_ONCE ? (u < when ? -sign : sign) * 0.1
                        : speed == SWINGS     ? 0.1 * sin(2 * G_PI * (1.5 * u + when))
                        : speed == WANDERS    ? 0.07 * state
                                              : 0);
    }
}

static double step_ns(int step, gboolean whole, const double *level, GRand *random)
{
    return (whole ? WHOLE_NS : FORWARD_NS) * level[step] * exp(0.02 * gaussian(random));
}

static IfmInterval in_turns(const double *level, GRand *random)
{
    IfmCompareProtocol protocol = counted(PAIRS);
    protocol.min_pairs = PAIRS;
    g_autoptr(IfmComparer) comparer = ifm_comparer_new(&protocol);
    int step = 0;
    for (int pair = 0; pair < PAIRS; pair++)
    {
        gboolean whole_first = FALSE;
        for (int round = 0; round < ROUNDS; round++)
        {
            double ns[2];
            whole_first = round % 2 == 0 ? g_rand_boolean(random) : !whole_first;
            ns[whole_first] = step_ns(step++, whole_first, level, random);
            ns[!whole_first] = step_ns(step++, !whole_first, level, random);
            ifm_comparer_add(comparer, ns[0], ns[1], whole_first);
        }
        ifm_comparer_end_pair(comparer, 0);
    }
    g_auto(IfmComparison) comparison = { 0 };
    ifm_comparer_finish(comparer, &comparison);
    return comparison.difference_interval;
}

/* In the same time: the one in its first half, the other in the second. */
static IfmInterval one_after_the_other(const double *level, GRand *random)
{
    gint64 samples[2][STEPS / 2];
    IfmSummary summaries[2];
    for (int whole = 0; whole < 2; whole++)
    {
        for (int i = 0; i < STEPS / 2; i++)
            samples[whole][i] = (gint64)step_ns(whole * STEPS / 2 + i, whole, level, random);
        ifm_summary_compute(samples[whole], STEPS / 2, 0.95, &summaries[whole]);
    }
    return ifm_difference_interval(summaries[1].median, &summaries[1].median_interval, summaries[0].median,
                                   &summaries[0].median_interval);
}

static gboolean holds(const IfmInterval *interval, double value)
{
    return interval->lower <= value && value <= interval->upper;
}

/* What is to be held: the difference at the mean speed of the time in which it was measured. */
static void test_changing_machine(void)
{
    static const char *const names[] = { "still", "drifts", "steps", "swings", "wanders" };
    for (Speed speed = STILL; speed < N_SPEEDS; speed++)
    {
        gsize n_turns = 0, n_apart = 0;
        double width = 0;
        for (guint32 seed = 0; seed < SEEDS; seed++)
        {
            GRand *random = g_rand_new_with_seed(1000 * speed + seed);
            double level[STEPS], mean = 0;
            make_levels(speed, random, level);
            for (int i = 0; i < STEPS; i++)
                mean += level[i] / STEPS;
            IfmInterval turns = in_turns(level, random), apart = one_after_the_other(level, random);
            n_turns += holds(&turns, (WHOLE_NS - FORWARD_NS) * mean);
            n_apart += holds(&apart, (WHOLE_NS - FORWARD_NS) * mean);
            width += (turns.upper - turns.lower) / 2 / (WHOLE_NS - FORWARD_NS) / SEEDS;
            g_rand_free(random);
        }
        g_test_message("%s: interleaved %.3f (half %.3f), one after the other %.3f", names[speed], (double)n_turns / SEEDS,
                       width, (double)n_apart / SEEDS);
        g_assert_cmpuint(n_turns, >=, SEEDS * 93 / 100);
        g_assert_cmpfloat(width, <, 0.03); /* it holds that not by being wide */
        if (speed != STILL)
            g_assert_cmpuint(n_apart, <, SEEDS * 6 / 10);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/comparer/names", test_names);
    g_test_add_func("/comparer/cuts", test_cuts);
    g_test_add_func("/comparer/vectors", test_vectors);
    g_test_add_func("/comparer/recorded", test_recorded);
    g_test_add_func("/comparer/level", test_level);
    g_test_add_func("/comparer/exact", test_exact);
    g_test_add_func("/comparer/interval", test_interval);
    g_test_add_func("/comparer/correlated", test_correlated);
    g_test_add_func("/comparer/burst", test_burst);
    g_test_add_func("/comparer/within-margin", test_within_margin);
    g_test_add_func("/comparer/budget", test_budget);
    g_test_add_func("/comparer/broken-off", test_broken_off);
    g_test_add_func("/comparer/all-on-one-side", test_all_on_one_side);
    g_test_add_func("/comparer/few-pairs", test_few_pairs);
    g_test_add_func("/comparer/why", test_why);
    g_test_add_func("/comparer/check", test_check);
    g_test_add_func("/comparer/json", test_json);
    g_test_add_func("/comparer/calibration", test_calibration);
    g_test_add_func("/comparer/difference", test_difference);
    g_test_add_func("/comparer/changing-machine", test_changing_machine);
    return g_test_run();
}
