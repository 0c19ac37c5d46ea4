#include <base/fields.h>
#include <sensor/sensor.h>

#include <math.h>

#include "compare-side.h"

/* Rounds of several sides: one process at a time, so that none idles beside another that is measured. */

enum
{
    MIN_RUNS = 3, /* in a round, where they are not counted */
    MAX_RUNS = 5000,
};

typedef struct
{
    IfmSides sides;
    const IfmRoundsProtocol *protocol;
    gsize *order;                /* [n] of the round at hand */
    GArray *log_ns, *medians_ns; /* double, [n] a round, by side */
    GArray *places;              /* gsize, [n] a round: how many came before that side */
    const char *stopped;
} Rounds;

static void rounds_clear(Rounds *rounds)
{
    ifm_sides_clear(&rounds->sides);
    g_free(rounds->order);
    g_array_unref(rounds->log_ns);
    g_array_unref(rounds->medians_ns);
    g_array_unref(rounds->places);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Rounds, rounds_clear)

/* Fisher and Yates. */
static void draw_order(Rounds *rounds)
{
    for (gsize i = 0; i < rounds->sides.n; i++)
        rounds->order[i] = i;
    for (gsize i = rounds->sides.n - 1; i > 0; i--)
    {
        gsize other = (gsize)g_rand_int_range(rounds->sides.random, 0, (gint32)i + 1), kept = rounds->order[i];
        rounds->order[i] = rounds->order[other];
        rounds->order[other] = kept;
    }
}

/* --- one round -------------------------------------------------------------------------------------------------------- */

static gsize runs_of(const Rounds *rounds, const IfmSide *side)
{
    const double timed = (double)rounds->protocol->block_ns / MAX(side->run_ns, 1);
    const gsize counted = rounds->protocol->runs;
    return MAX(counted, (gsize)CLAMP(timed, counted > 0 ? 0 : MIN_RUNS, MAX_RUNS));
}

static gboolean check_with(IfmSides *sides, IfmSide *side, GError **error)
{
    const gint64 began_ns = ifm_sides_now_ns();
    if (side->check != NULL)
        return TRUE;
    if (!ifm_side_check_with(sides, side, error))
        return FALSE;
    ifm_runner_drop_worker(sides->runner, "reference"); /* nothing idles next to what is measured */
    sides->began_ns += ifm_sides_now_ns() - began_ns;   /* once for all rounds */
    return TRUE;
}

/* A process is profiled where that takes no longer than so many of its blocks. */
#define NODE_BLOCKS 10
#define NODE_RUNS 8 /* at least, with those that warm up */

static gboolean add_node_times(Rounds *rounds, IfmSide *side, GError **error)
{
    const gint64 block_ns = rounds->protocol->block_ns;
    return !rounds->protocol->nodes || NODE_RUNS * side->run_ns > (double)(NODE_BLOCKS * block_ns) ||
           ifm_side_node_times(&rounds->sides, side, block_ns, error);
}

/* @median_ns: (out) of its runs in one process */
static gboolean run_process(Rounds *rounds, IfmSide *side, double *median_ns, GError **error)
{
    IfmSides *sides = &rounds->sides;
    if (!ifm_side_prepare(sides, side, error) || !check_with(sides, side, error))
        return FALSE;
    json_auto_t *warmed = ifm_side_warm_up(sides, side, json_pack("{s:s}", "do", "compare-start"), error);
    if (warmed == NULL)
        return FALSE;
    if (sides->monitor.before == NULL)
        sides->monitor.before = ifm_sensor_snapshot("/"); /* while it is busy */
    return ifm_side_run(sides, side, 0, runs_of(rounds, side), median_ns, error) && add_node_times(rounds, side, error) &&
           ifm_side_end(sides, side, error);
}

static gboolean run_round(void *user, GError **error)
{
    Rounds *rounds = user;
    const gsize n = rounds->sides.n;
    g_autofree double *log_ns = g_new(double, n), *medians_ns = g_new(double, n);
    g_autofree gsize *places = g_new(gsize, n);
    for (gsize i = 0; i < n; i++)
    {
        const gsize at = rounds->order[i];
        IfmSide *side = &rounds->sides.sides[at];
        if (!run_process(rounds, side, &medians_ns[at], error))
        {
            g_prefix_error(error, "%s: ", side->name);
            return FALSE;
        }
        log_ns[at] = log(medians_ns[at]);
        places[at] = i;
    }
    g_array_append_vals(rounds->log_ns, log_ns, (guint)n);
    g_array_append_vals(rounds->medians_ns, medians_ns, (guint)n);
    g_array_append_vals(rounds->places, places, (guint)n);
    return TRUE;
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

static const double *times_of(const Rounds *rounds, gsize round)
{
    return (const double *)(const void *)rounds->log_ns->data + round * rounds->sides.n;
}

/* How many take less time than that side in a round. */
static gsize rank_of(const Rounds *rounds, gsize round, gsize at)
{
    const double *times = times_of(rounds, round);
    gsize rank = 0;
    for (gsize i = 0; i < rounds->sides.n; i++)
        rank += times[i] < times[at];
    return rank;
}

/* Who alone takes the least time; n: nobody. */
static gsize leader_of(const Rounds *rounds, gsize round)
{
    gsize at = 0;
    while (at < rounds->sides.n && !ifm_lead_is_of(times_of(rounds, round), rounds->sides.n, at))
        at++;
    return at;
}

/* Returns: why no further round is made; NULL: one is. */
static const char *why_stop(const Rounds *rounds)
{
    const gsize n_rounds = rounds->sides.n_ended, leader = leader_of(rounds, n_rounds - 1);
    const gint64 elapsed_ns = ifm_sides_now_ns() - rounds->sides.began_ns;
    if (n_rounds >= rounds->protocol->max_rounds)
        return "rounds";
    if (!rounds->protocol->whole && (leader == rounds->sides.n || leader != leader_of(rounds, 0)))
        return n_rounds > 1 ? "another led" : NULL; /* the least and the greatest ratio are of two at least */
    if (rounds->protocol->time_budget_ns > 0 &&
        elapsed_ns + elapsed_ns / (gint64)n_rounds > rounds->protocol->time_budget_ns)
        return "time-budget";
    return NULL;
}

static void report(const Rounds *rounds)
{
    const IfmRunnerOptions *options = &rounds->sides.runner->options;
    const gsize n = rounds->sides.n_ended, max = rounds->protocol->max_rounds;
    const gint64 each_ns = (ifm_sides_now_ns() - rounds->sides.began_ns) / (gint64)n;
    g_autofree char *place = g_strdup_printf("%zu of %zu rounds", n, max);
    if (options->progress != NULL)
        options->progress(&(IfmProgress){ .phase = place, .left_ns = (gint64)(max - n) * each_ns, .at_most = TRUE },
                          options->progress_user);
}

static gboolean end_round(void *user)
{
    Rounds *rounds = user;
    rounds->stopped = why_stop(rounds);
    draw_order(rounds);
    report(rounds);
    return rounds->stopped != NULL;
}

/* --- the records ------------------------------------------------------------------------------------------------------ */

static const IfmRecordField rule_fields[] = {
    { IFM_RECORD(DOUBLE, IfmRoundsProtocol, level), .key = "level" },
    { IFM_RECORD(SIZE, IfmRoundsProtocol, max_rounds), .key = "max_rounds" },
    { IFM_RECORD(SIZE, IfmRoundsProtocol, runs), .key = "runs", .unless_zero = TRUE },
    { IFM_RECORD(INT64, IfmRoundsProtocol, block_ns), .key = "block_ns" },
    { IFM_RECORD(INT64, IfmRoundsProtocol, time_budget_ns), .key = "time_budget_ns" },
    { NULL },
};

/* (transfer full) */
static json_t *protocol_of(const IfmRoundsProtocol *protocol, gsize at, gsize n)
{
    json_t *rule = ifm_record_key_to_json(protocol, rule_fields);
    json_object_set_new(rule, "side", json_integer(at));
    json_object_set_new(rule, "of", json_integer(n));
    return json_pack("{s:o}", "rounds", rule);
}

IfmCase *ifm_runner_rounds_case(IfmRunner *runner, const IfmCompareSide *sides, gsize at, gsize n,
                                const IfmRoundsProtocol *protocol, GError **error)
{
    return ifm_side_case(runner, &sides[at], protocol_of(protocol, at, n), error);
}

static json_t *round_to_json(const Rounds *rounds, gsize round)
{
    const gsize n = rounds->sides.n, *places = (const gsize *)(const void *)rounds->places->data + round * n;
    json_t *order = json_array(), *medians = json_array(), *ranks = json_array();
    for (gsize place = 0; place < n; place++)
        for (gsize at = 0; at < n; at++)
            if (places[at] == place)
                json_array_append_new(order, json_integer(at));
    for (gsize at = 0; at < n; at++)
    {
        json_array_append_new(medians, json_real(g_array_index(rounds->medians_ns, double, round *n + at)));
        json_array_append_new(ranks, json_integer(rank_of(rounds, round, at) + 1));
    }
    return json_pack("{s:o,s:o,s:o}", "order", order, "median_ns", medians, "rank", ranks);
}

static json_t *to_json(const Rounds *rounds, const IfmLead *lead, const IfmRival *rivals)
{
    const IfmSides *sides = &rounds->sides;
    const char *verdict = lead->told_apart                ? "fastest"
                          : lead->n_led == lead->n_rounds ? "led all" /* a lead of too few rounds */
                                                          : "not told apart";
    json_t *list = json_array(), *each = json_array(), *notes = json_array();
    g_autoptr(GPtrArray) warnings = ifm_sides_warnings(sides);
    for (gsize i = 0; i < sides->n; i++)
        json_array_append_new(each, json_pack("{s:o,s:s,s:f,s:f,s:f}", "name", ifm_json_string(sides->sides[i].name),
                                              "case", sides->sides[i].sealed->key, "ratio", rivals[i].ratio, "least_ratio",
                                              rivals[i].least, "most_ratio", rivals[i].most));
    for (gsize round = 0; round < sides->n_ended; round++)
        json_array_append_new(list, round_to_json(rounds, round));
    for (guint i = 0; i < warnings->len; i++)
        json_array_append_new(notes, ifm_json_string(warnings->pdata[i]));
    return json_pack("{s:s,s:i,s:i,s:i,s:f,s:s,s:I,s:o,s:o,s:o}", "verdict", verdict, "leader", (int)lead->leader,
                     "n_rounds", (int)lead->n_rounds, "n_led", (int)lead->n_led, "level", rounds->protocol->level,
                     "stopped", rounds->stopped, "elapsed_ns", (json_int_t)(ifm_sides_now_ns() - sides->began_ns), "sides",
                     each, "rounds", list, "notes", notes);
}

static void finish(Rounds *rounds, IfmRounds *result)
{
    IfmSides *sides = &rounds->sides;
    const gsize n = sides->n;
    const char *interrupted = ifm_stop_reason_name(IFM_STOP_INTERRUPTED);
    const char *reason = rounds->stopped == interrupted ? interrupted : ifm_stop_reason_name(IFM_STOP_FIXED);
    g_autofree IfmRival *rivals = g_new(IfmRival, n);
    ifm_lead_judge(times_of(rounds, 0), sides->n_ended, n, rounds->protocol->level, &result->lead, rivals);
    ifm_sides_end(sides);
    result->json = to_json(rounds, &result->lead, rivals);
    result->n = n;
    result->cases = g_new0(IfmCase *, n);
    result->measurements = g_new0(IfmMeasurement *, n);
    for (gsize i = 0; i < n; i++)
    {
        ifm_side_finish(
            &sides->sides[i], reason, rounds->protocol->level,
            json_pack("{s:i,s:O,s:O*}", "side", (int)i, "rounds", result->json, "nodes", sides->sides[i].nodes));
        result->cases[i] = g_steal_pointer(&sides->sides[i].sealed);
        result->measurements[i] = g_steal_pointer(&sides->sides[i].measurement);
    }
}

gboolean ifm_runner_rounds(IfmRunner *runner, const IfmCompareSide *sides, const char *const *names, gsize n,
                           const IfmRoundsProtocol *protocol, guint32 seed, IfmRounds *result, GError **error)
{
    g_return_val_if_fail(n >= 2 && protocol->max_rounds > 0, FALSE);
    g_auto(Rounds) rounds = { .protocol = protocol,
                              .order = g_new(gsize, n),
                              .log_ns = g_array_new(FALSE, FALSE, sizeof(double)),
                              .medians_ns = g_array_new(FALSE, FALSE, sizeof(double)),
                              .places = g_array_new(FALSE, FALSE, sizeof(gsize)) };
    gboolean interrupted = FALSE;
    ifm_sides_init(&rounds.sides, runner, sides, names, n, seed);
    draw_order(&rounds);
    for (gsize i = 0; i < n; i++)
        rounds.sides.sides[i].protocol = protocol_of(protocol, i, n);
    if (!ifm_sides_start(&rounds.sides, rounds.order, error))
        return FALSE;
    ifm_sides_end_processes(&rounds.sides);
    if (!ifm_sides_repeat(&rounds.sides, run_round, end_round, &rounds, "a round was whole", &interrupted, error))
        return FALSE;
    if (interrupted)
        rounds.stopped = ifm_stop_reason_name(IFM_STOP_INTERRUPTED);
    finish(&rounds, result);
    return TRUE;
}
