#include <base/fields.h>
#include <sensor/sensor.h>

#include <math.h>

#include <glib/gstdio.h>

#include "compare-side.h"

/* The runner compares two cases: it runs them in turn in pairs of processes, until the comparer has enough, and makes
 * the records. */

/*
 * How much goes into a round and a pair. A round's side is about as long as what the scheduler and the caches need to
 * settle, after a little to warm up again, since the other side's process ran meanwhile. A pair of processes costs the time
 * to make it, and rounds in it cost theirs: with both alike no time is far from its best use (Cochran, Sampling
 * Techniques, 10.6: the best number of rounds goes by the root of the costs' ratio), and the budget must have room for
 * PAIRS_WANTED pairs, since they are what the interval counts; but a pair that was dear to make is not left with so few
 * rounds that a burst of another process in one of them is half of what it says.
 */
#define ROUND_NS (10 * IFM_NS_PER_MS)
#define ROUND_WARM_NS (2 * IFM_NS_PER_MS)
enum
{
    PAIRS_WANTED = 16,
    FIRST_ROUNDS = 8, /* in the first pair, while nothing is known */
    MAX_ROUNDS = 16,
    MAX_ROUND_RUNS = 500,
    MIN_ROUND_RUNS = 3, /* where they are short */
};

typedef struct
{
    IfmSides sides;
    const IfmCompareProtocol *protocol;
    IfmComparer *comparer;
    gsize order[2];     /* in which the processes of the pair at hand are started, warmed up and ended */
    char *outputs_path; /* outputs of the side that warms up first; NULL: they are not to be compared */
    char *differs;
    gsize n_rounds, n_runs, n_warm; /* in a pair, in a round's side */
} Compare;

static void compare_clear(Compare *compare)
{
    ifm_sides_clear(&compare->sides);
    ifm_comparer_free(compare->comparer);
    if (compare->outputs_path != NULL)
        g_unlink(compare->outputs_path);
    g_free(compare->outputs_path);
    g_free(compare->differs);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Compare, compare_clear)

static void draw_order(Compare *compare)
{
    compare->order[0] = g_rand_boolean(compare->sides.random) ? 1 : 0;
    compare->order[1] = 1 - compare->order[0];
}

/* --- rounds --------------------------------------------------------------------------------------------------------- */

static void plan_round(Compare *compare)
{
    double run_ns = MAX(compare->sides.sides[0].run_ns, compare->sides.sides[1].run_ns);
    double runs = ROUND_NS / MAX(run_ns, 1), warm = ROUND_WARM_NS / MAX(run_ns, 1);
    compare->n_runs = runs < 0.5 ? 1 : (gsize)CLAMP(runs, MIN_ROUND_RUNS, MAX_ROUND_RUNS);
    compare->n_warm = (gsize)CLAMP(warm, compare->n_runs > 1 ? 1 : 0, MAX_ROUND_RUNS);
}

/* @made_ns: what making this pair took    @round_ns: what a round took */
static void plan_pair(Compare *compare, gint64 made_ns, gint64 round_ns)
{
    gint64 budget_ns = compare->protocol->time_budget_ns;
    double rounds = (double)made_ns / (double)MAX(round_ns, 1);
    if (compare->protocol->rounds > 0)
        rounds = (double)compare->protocol->rounds;
    else if (compare->sides.n_ended == 0)
        rounds = FIRST_ROUNDS;
    if (budget_ns > 0 && compare->protocol->rounds == 0)
    {
        double room = ((double)budget_ns / PAIRS_WANTED - (double)made_ns) / (double)MAX(round_ns, 1);
        double cheap = (double)made_ns / (2 * (double)MAX(round_ns, 1)); /* half of what the pair has cost already */
        rounds = MIN(rounds, MAX(room, MIN(cheap, FIRST_ROUNDS)));
    }
    gsize n = (gsize)CLAMP(rounds, 2, compare->protocol->rounds > 0 ? 10000 : MAX_ROUNDS);
    compare->n_rounds = compare->protocol->rounds > 0 ? n : n / 2 * 2; /* each order as often */
}

static gboolean run_round(Compare *compare, gboolean b_first, GError **error)
{
    double medians[2];
    for (gsize i = 0; i < 2; i++)
    {
        gsize at = b_first ? 1 - i : i;
        IfmSide *side = &compare->sides.sides[at];
        if (!ifm_side_run(&compare->sides, side, compare->n_warm, compare->n_runs, &medians[at], error))
        {
            g_prefix_error(error, "%s: ", side->name);
            return FALSE;
        }
    }
    ifm_comparer_add(compare->comparer, medians[0], medians[1], b_first);
    return TRUE;
}

static gboolean run_rounds(Compare *compare, gint64 made_ns, GError **error)
{
    gboolean b_first = FALSE;
    gint64 began_ns = ifm_sides_now_ns();
    plan_round(compare);
    compare->n_rounds = 2;
    for (gsize round = 0; round < compare->n_rounds; round++)
    {
        b_first = round % 2 == 0 ? g_rand_boolean(compare->sides.random) : !b_first;
        if (!run_round(compare, b_first, error))
            return FALSE;
        if (round == 1) /* by then it is known what they take */
            plan_pair(compare, made_ns, (ifm_sides_now_ns() - began_ns) / 2);
    }
    return TRUE;
}

/* --- pairs of processes --------------------------------------------------------------------------------------------- */

static gboolean both(Compare *compare, IfmSideStep step, GError **error)
{
    return ifm_sides_step(&compare->sides, step, compare->order, error);
}

/* Only what computes the same thing of the same inputs must come to the same. */
static gboolean must_agree(const Compare *compare)
{
    const IfmSide *a = &compare->sides.sides[0], *b = &compare->sides.sides[1];
    return a->true_outputs && b->true_outputs &&
           json_equal(json_object_get(a->sealed->options, "seed"), json_object_get(b->sealed->options, "seed")) &&
           g_strcmp0(a->sealed->subject_digest, b->sealed->subject_digest) == 0 &&
           json_equal(a->sealed->sizes, b->sealed->sizes) &&
           g_strcmp0(ifm_runner_inputs_of(a->sealed), ifm_runner_inputs_of(b->sealed)) == 0;
}

static gboolean prepare_checks(Compare *compare, GError **error)
{
    if (!both(compare, ifm_side_check_with, error))
        return FALSE;
    ifm_runner_drop_worker(compare->sides.runner, "reference"); /* nothing idles next to what is measured */
    if (must_agree(compare))
        compare->outputs_path = g_build_filename(ifm_runner_folder(compare->sides.runner, NULL), "outputs-of-a-side", NULL);
    return TRUE;
}

/* The outputs of the first pair are compared: those of the side that comes first are kept, the other's held against them.
 */
static gboolean warm_up(Compare *compare, IfmSide *side, GError **error)
{
    const IfmSide *first = &compare->sides.sides[compare->order[0]];
    json_t *request = json_pack("{s:s}", "do", "compare-start");
    if (compare->sides.n_ended == 0 && compare->outputs_path != NULL)
    {
        json_object_set_new(request, side == first ? "keep" : "other", json_string(compare->outputs_path));
        json_object_set(request, "other_dtype", json_object_get(first->sealed->options, "dtype"));
    }
    json_auto_t *answer = ifm_side_warm_up(&compare->sides, side, request, error);
    if (answer == NULL)
    {
        g_prefix_error(error, "%s: ", side->name);
        return FALSE;
    }
    const char *differs = ifm_member_text(answer, "differs");
    if (differs != NULL)
        compare->differs =
            g_strdup_printf("the outputs of %s differ from those of %s: %s", side->name, first->name, differs);
    return TRUE;
}

static gboolean run_pair(void *user, GError **error)
{
    Compare *compare = user;
    gint64 began_ns = ifm_sides_now_ns();
    if (!both(compare, ifm_side_prepare, error))
        return FALSE;
    if (compare->sides.n_ended == 0)
    {
        gint64 checks_ns = ifm_sides_now_ns();
        if (!prepare_checks(compare, error))
            return FALSE;
        checks_ns = ifm_sides_now_ns() - checks_ns; /* once for all pairs: none of what another one would cost */
        compare->sides.began_ns += checks_ns;
        began_ns += checks_ns;
    }
    for (gsize i = 0; i < 2; i++)
        if (!warm_up(compare, &compare->sides.sides[compare->order[i]], error))
            return FALSE;
    if (compare->sides.monitor.before == NULL)
        compare->sides.monitor.before = ifm_sensor_snapshot("/"); /* while it is busy */
    return run_rounds(compare, ifm_sides_now_ns() - began_ns, error) && both(compare, ifm_side_end, error);
}

static void report(const Compare *compare, const IfmRunnerOptions *options)
{
    g_auto(IfmComparison) sofar = { 0 };
    if (options->progress == NULL)
        return;
    ifm_comparer_finish(compare->comparer, &sofar);
    const double half = (sofar.interval.upper - sofar.interval.lower) / 2;
    const gint64 budget_ns = compare->protocol->time_budget_ns,
                 left_ns = MAX(budget_ns - (ifm_sides_now_ns() - compare->sides.began_ns), 0);
    g_autofree char *place = g_strdup_printf("comparing, %zu pair%s", sofar.n_pairs, ifm_plural(sofar.n_pairs));
    options->progress(
        &(IfmProgress){ .phase = place, .ci_ratio = half, .left_ns = budget_ns > 0 ? left_ns : 0, .at_most = TRUE },
        options->progress_user);
}

/* Whether the rule has enough. */
static gboolean end_pair(void *user)
{
    Compare *compare = user;
    draw_order(compare);
    const gboolean done = ifm_comparer_end_pair(compare->comparer, ifm_sides_now_ns() - compare->sides.began_ns);
    report(compare, &compare->sides.runner->options);
    return done;
}

/* --- the records ---------------------------------------------------------------------------------------------------- */

static const IfmRecordField rule_fields[] = {
    { IFM_RECORD(DOUBLE, IfmCompareProtocol, margin), .key = "margin" },
    { IFM_RECORD(DOUBLE, IfmCompareProtocol, level), .key = "level" },
    { IFM_RECORD(INT64, IfmCompareProtocol, time_budget_ns), .key = "time_budget_ns" },
    { IFM_RECORD(SIZE, IfmCompareProtocol, min_pairs), .key = "min_pairs" },
    { IFM_RECORD(SIZE, IfmCompareProtocol, max_pairs), .key = "max_pairs" },
    { IFM_RECORD(SIZE, IfmCompareProtocol, rounds), .key = "rounds" },
    { NULL },
};

/* (transfer full) */
static json_t *protocol_of(const IfmCompareProtocol *protocol, gboolean b)
{
    json_t *rule = ifm_record_key_to_json(protocol, rule_fields);
    json_object_set_new(rule, "side", json_string(b ? "B" : "A"));
    return json_pack("{s:o}", "compare", rule);
}

static void add_notes(Compare *compare, IfmComparison *comparison)
{
    g_autoptr(GPtrArray) warnings = ifm_sides_warnings(&compare->sides);
    comparison->outputs_differ = compare->differs != NULL;
    if (comparison->outputs_differ)
        g_ptr_array_add(comparison->notes, g_steal_pointer(&compare->differs));
    g_ptr_array_extend_and_steal(comparison->notes, g_steal_pointer(&warnings));
}

static IfmStopReason why_stopped(const Compare *compare, gboolean interrupted, const IfmComparison *comparison)
{
    if (interrupted)
        return IFM_STOP_INTERRUPTED;
    if (comparison->verdict != IFM_VERDICT_UNCERTAIN)
        return IFM_STOP_INTERVAL;
    return comparison->n_pairs >= compare->protocol->max_pairs ? IFM_STOP_MAX_RUNS : IFM_STOP_TIME_BUDGET;
}

static void finish(Compare *compare, gboolean interrupted, IfmComparison *comparison)
{
    IfmSide *sides = compare->sides.sides;
    ifm_comparer_finish(compare->comparer, comparison);
    ifm_sides_end(&compare->sides);
    add_notes(compare, comparison);
    json_auto_t *json = ifm_comparison_to_json(comparison);
    const char *reason = ifm_stop_reason_name(why_stopped(compare, interrupted, comparison));
    for (gsize i = 0; i < 2; i++)
        ifm_side_finish(&sides[i], reason, compare->protocol->level,
                        json_pack("{s:s,s:s,s:s,s:O}", "side", sides[i].name, "other", sides[1 - i].measurement->uid,
                                  "other_case", sides[1 - i].sealed->key, "comparison", json));
    for (gsize i = 0; i < 2; i++)
    {
        comparison->cases[i] = g_steal_pointer(&sides[i].sealed);
        comparison->measurements[i] = g_steal_pointer(&sides[i].measurement);
    }
}

gboolean ifm_runner_compare(IfmRunner *runner, const IfmCompareSide sides[2], const IfmCompareProtocol *protocol,
                            guint32 seed, IfmComparison *comparison, GError **error)
{
    if (!ifm_compare_protocol_check(protocol, error))
        return FALSE;
    if (sides[0].kind != sides[1].kind)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "A is a case of kind %s, B of kind %s: one kind is expected",
                             sides[0].kind->name, sides[1].kind->name);
    static const char *const names[] = { "A", "B" };
    g_auto(Compare) compare = { .protocol = protocol };
    gboolean interrupted = FALSE;
    ifm_sides_init(&compare.sides, runner, sides, names, 2, seed);
    compare.comparer = ifm_comparer_new(protocol);
    draw_order(&compare); /* sealing a side starts its first process */
    for (gsize i = 0; i < 2; i++)
        compare.sides.sides[i].protocol = protocol_of(protocol, i > 0);
    if (!ifm_sides_start(&compare.sides, compare.order, error) ||
        !ifm_sides_repeat(&compare.sides, run_pair, end_pair, &compare, "anything was compared", &interrupted, error))
    {
        comparison->is_b_wrong = compare.sides.sides[1].is_wrong;
        return FALSE;
    }
    finish(&compare, interrupted, comparison);
    return TRUE;
}
