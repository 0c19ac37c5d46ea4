/* A short run of a plan before its prediction: it corrects the costs by the devices' latencies together. */
#include <math.h>

#include "plan-private.h"

enum
{
    MAX_ROUNDS = 5,
    ROUNDS_IN_BUDGET = 3, /* the usual number of rounds */
    REPETITIONS = 3,
    MIN_BATCHES = 8,
};
#define SAME_SHARES 0.01
/* The prior knowledge of how a machine drifts counts as so many rounds. */
#define LOOKS_BEFORE 4

typedef struct
{
    IfmCosts *costs;
    const IfmPlanQuestion *question;
    const IfmPilotOptions *options;
    GArray *rounds; /* IfmPilotRound */
} Pilot;

static void round_clear(gpointer data)
{
    ifm_plan_free(((IfmPilotRound *)data)->plan);
}

/* --- a run ------------------------------------------------------------------------------------------------------------ */

static PilotRun run_of(const Pilot *pilot, const IfmPlan *plan, gsize n_batches)
{
    PilotRun run = { pilot->costs, plan, pilot->options->stream };
    run.stream.n_batches = n_batches;
    return run;
}

/* As many batches per repetition as fill a round's part of the budget with its warm-up, but no more than the run will
 * have. */
static gsize batches_for(const Pilot *pilot, const IfmPlan *plan)
{
    PilotRun run = run_of(pilot, plan, 0);
    gsize max = MAX(pilot->options->like->n_batches, 2);
    double few_ns, many_ns;
    if (!pilot_simulate(&run, 2, &few_ns, NULL) || !pilot_simulate(&run, 12, &many_ns, NULL) || many_ns <= few_ns)
        return MIN(MIN_BATCHES, max);
    double n = (double)pilot->options->budget_ns / ROUNDS_IN_BUDGET / (REPETITIONS + 1) / ((many_ns - few_ns) / 10);
    return n >= (double)max ? max : MIN(MAX((gsize)n, MIN_BATCHES), max);
}

/* Some repetitions after a warm-up: a disturbed one then shows. (transfer full) */
static IfmMeasurement *run(const Pilot *pilot, const IfmPlan *plan, gsize n_batches, GError **error)
{
    const IfmPilotOptions *options = pilot->options;
    g_autoptr(IfmPlan) resolved = ifm_plan_copy(plan);
    if (options->resolve != NULL && !options->resolve(resolved, options->user, error))
        return NULL;
    json_auto_t *document = ifm_plan_to_json(resolved);
    g_autoptr(GPtrArray) plans = g_ptr_array_new();
    for (gsize i = 0; i < options->like->n_graphs; i++)
        g_ptr_array_add(plans, document);
    IfmPlanCase plan_case = *options->like;
    plan_case.plans = (const json_t *const *)plans->pdata;
    plan_case.n_batches = n_batches;
    plan_case.repetitions = REPETITIONS;
    plan_case.ci_ratio = 0;
    plan_case.device_time = "off";
    plan_case.verify = plan_case.bound = FALSE;
    plan_case.fallbacks = plan_case.prediction = NULL;
    plan_case.trace_path = NULL;
    g_autoptr(IfmMeasurement) measurement =
        options->measure("pilot run", &ifm_kind_pipeline, &plan_case, options->measure_user, error);
    if (measurement == NULL || measurement->outcome == IFM_OUTCOME_OK)
        return g_steal_pointer(&measurement);
    ifm_error_set(error, ifm_error_code_from_name(measurement->error_code), "pilot run: %s", measurement->reason);
    return NULL;
}

static gboolean is_near(const IfmPlan *a, const IfmPlan *b)
{
    if (!ifm_plan_same_shape(a, b))
        return FALSE;
    for (guint i = 0; i < a->blocks->len; i++)
    {
        const IfmPlanBlock *left = ifm_plan_block(a, i), *right = ifm_plan_block(b, i);
        for (gsize d = 0; d < left->n_devices; d++)
            if (fabs(left->ratios[d] - right->ratios[d]) > SAME_SHARES)
                return FALSE;
    }
    return TRUE;
}

/* Whether a plan like it was run. @shares: of near shares, too */
static gboolean was_tried(const Pilot *pilot, const IfmPlan *plan, gboolean shares)
{
    for (guint i = 0; i < pilot->rounds->len; i++)
        if ((shares ? is_near : ifm_plan_same_shape)(g_array_index(pilot->rounds, IfmPilotRound, i).plan, plan))
            return TRUE;
    return FALSE;
}

static gboolean try_plan(Pilot *pilot, const IfmPlan *plan, GError **error)
{
    IfmPilotRound round = { .n_batches = batches_for(pilot, plan), .again = was_tried(pilot, plan, FALSE) };
    PilotRun tried = run_of(pilot, plan, round.n_batches);
    IfmPlanRunResult result;
    if (!pilot_simulate(&tried, round.n_batches, &round.predicted_ns, error))
        return FALSE;
    g_autoptr(IfmMeasurement) measurement = run(pilot, plan, round.n_batches, error);
    if (measurement == NULL)
        return FALSE;
    if (!ifm_plan_run_result(measurement, &result) || !pilot_learn(&tried, result.repetitions, &round))
        return ifm_error_set(error, IFM_ERROR_FAILED, "pilot run: it has no makespan");
    round.plan = ifm_plan_copy(plan);
    g_array_append_val(pilot->rounds, round);
    return TRUE;
}

/* --- rounds ----------------------------------------------------------------------------------------------------------- */

static const IfmPlan *fastest(const Pilot *pilot)
{
    const IfmPilotRound *best = &g_array_index(pilot->rounds, IfmPilotRound, 0);
    for (guint i = 1; i < pilot->rounds->len; i++)
        if (g_array_index(pilot->rounds, IfmPilotRound, i).pace_ns < best->pace_ns)
            best = &g_array_index(pilot->rounds, IfmPilotRound, i);
    return best->plan;
}

/* (transfer full) NULL with an error */
static IfmPlan *go_round(Pilot *pilot, const IfmPlan *first, GError **error)
{
    g_autoptr(IfmPlan) plan = ifm_plan_copy(first);
    for (;;)
    {
        if (!try_plan(pilot, plan, error))
            return NULL;
        if (pilot->options->keep_plan)
            return g_steal_pointer(&plan);
        g_auto(IfmPlanAnswer) answer = { 0 };
        if (!ifm_plan_search(pilot->costs, pilot->question, &answer, error))
            return NULL;
        IfmPlan **next = !was_tried(pilot, answer.best.plan, TRUE) ? &answer.best.plan
                         : !was_tried(pilot, answer.plan, TRUE)    ? &answer.plan
                                                                   : NULL;
        if (next ==
            NULL) /* the costs now contain both runs: the search decides as always, and a doubtful gain does not count */
            return g_steal_pointer(&answer.plan);
        if (pilot->rounds->len == MAX_ROUNDS)
            return ifm_plan_copy(fastest(pilot));
        ifm_plan_free(plan);
        plan = g_steal_pointer(next);
    }
}

IfmPlan *ifm_plan_pilot(IfmCosts *costs, const IfmPlanQuestion *question, const IfmPlan *plan,
                        const IfmPilotOptions *options, GArray **rounds, GError **error)
{
    Pilot pilot = { costs, question, options, g_array_new(FALSE, FALSE, sizeof(IfmPilotRound)) };
    g_array_set_clear_func(pilot.rounds, round_clear);
    ifm_costs_forget_corrections(costs);
    IfmPlan *found = go_round(&pilot, plan, error);
    if (found == NULL || !try_plan(&pilot, found, error))
    {
        g_clear_pointer(&found, ifm_plan_free);
        g_array_unref(pilot.rounds);
        ifm_costs_forget_corrections(costs);
        return NULL;
    }
    *rounds = pilot.rounds;
    return found;
}

double ifm_pilot_drift_ratio(const GArray *rounds)
{
    double squares = LOOKS_BEFORE * PILOT_DRIFT * PILOT_DRIFT, n = LOOKS_BEFORE;
    for (guint i = 0; i < rounds->len; i++)
    {
        const IfmPilotRound *round = &g_array_index(rounds, IfmPilotRound, i);
        double miss = log(round->measured_ns / round->predicted_ns);
        if (!round->again || !isfinite(miss))
            continue;
        squares += miss * miss;
        n++;
    }
    return ifm_student_quantile(0.975, n) * sqrt(squares / n);
}
