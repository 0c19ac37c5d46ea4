/* A plan run for a short while before anything is said of it: what its devices really take together, put into the costs. */
#include <math.h>

#include <inferometer/json.h>

#include "plan-private.h"

enum
{
    MOST_ROUNDS = 5,
    ROUNDS_IN_BUDGET = 3, /* as many as it usually takes */
    LEAST_BATCHES = 12,
};
#define SAME_SHARES 0.01
/* What a makespan may be beyond its parts and still be of the same kind. */
#define LEAST_REST 0.5
#define MOST_REST 2.0
#define LEVEL 0.95

typedef struct
{
    IfmCosts *costs;
    const IfmPlanQuestion *question;
    const IfmPilotOptions *options;
    GArray *rounds;         /* IfmPilotRound */
    GPtrArray *repetitions; /* json_t*, what each round's run came to */
    double spread_ratio;    /* of the last one's */
} Pilot;

static void round_clear(gpointer data)
{
    ifm_plan_free(((IfmPilotRound *)data)->plan);
}

/* --- a run ------------------------------------------------------------------------------------------------------------ */

static gboolean simulate(const Pilot *pilot, const IfmPlan *plan, gsize n_batches, double *makespan_ns, GError **error)
{
    const IfmPilotOptions *options = pilot->options;
    IfmSimulateOptions whole = { .n_batches = n_batches,
                                 .sizes = options->sizes,
                                 .n_sizes = options->n_sizes,
                                 .queue_depth = options->like->queue_depth,
                                 .block_depth = options->like->block_depth };
    g_auto(IfmSimulation) simulation = { 0 };
    if (!ifm_plan_simulate(pilot->costs, plan, &whole, &simulation, error))
        return FALSE;
    *makespan_ns = (double)simulation.makespan_ns;
    return TRUE;
}

/* As many batches as fill a round's part of the budget, warm-up included, and no more than the run will have. */
static gsize batches_for(const Pilot *pilot, const IfmPlan *plan)
{
    gsize most = MAX(pilot->options->like->n_batches, 2);
    double one_ns, many_ns;
    if (!simulate(pilot, plan, 2, &one_ns, NULL) || !simulate(pilot, plan, 12, &many_ns, NULL) || many_ns <= one_ns)
        return MIN(LEAST_BATCHES, most);
    double n = (double)pilot->options->budget_ns / ROUNDS_IN_BUDGET / 2 / ((many_ns - one_ns) / 10);
    return n >= (double)most ? most : MIN(MAX((gsize)n, LEAST_BATCHES), most);
}

/* One repetition after one to warm up. (transfer full) */
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
    plan_case.repetitions = 1;
    plan_case.ci_ratio = 0;
    plan_case.device_time = "off";
    plan_case.verify = plan_case.bound = FALSE;
    plan_case.fallbacks = plan_case.prediction = NULL;
    plan_case.trace_path = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_plan_case(options->runner, &plan_case, error);
    g_autoptr(IfmMeasurement) measurement =
        sealed != NULL ? ifm_runner_measure_plan(options->runner, &plan_case, sealed, error) : NULL;
    if (measurement == NULL || measurement->outcome == IFM_OUTCOME_OK)
        return g_steal_pointer(&measurement);
    g_set_error(error, IFM_ERROR, (int)ifm_error_code_from_name(measurement->error_code), "pilot run: %s",
                measurement->reason);
    return NULL;
}

/* --- what it shows ---------------------------------------------------------------------------------------------------- */

static int find_device(const IfmCosts *costs, const char *alias)
{
    for (int d = 0; d < costs->n_devices; d++)
        if (g_str_equal(costs->devices[d]->is.alias, alias))
            return d;
    return -1;
}

static guint32 devices_of(const IfmCosts *costs, const IfmPlan *plan)
{
    guint32 mask = 0;
    for (guint b = 0; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block->n_devices; d++)
            mask |= 1u << find_device(costs, ((const IfmPlanDevice *)plan->devices->pdata[block->devices[d]])->alias);
    }
    return mask;
}

/* The interval of a mean over batches, relative; NaN where they are too few. */
static double spread_of(const IfmMeasurement *measurement)
{
    g_autofree double *series = g_new(double, measurement->samples_ns->len + 1);
    IfmInterval interval;
    for (guint i = 0; i < measurement->samples_ns->len; i++)
        series[i] = (double)g_array_index(measurement->samples_ns, gint64, i);
    double mean = ifm_mean_interval(series, measurement->samples_ns->len, LEVEL, &interval);
    return (interval.upper - interval.lower) / 2 / mean;
}

static double number_at(const json_t *json, const char *key)
{
    const json_t *member = json_object_get(json, key);
    return json_is_number(member) ? json_number_value(member) : (double)NAN;
}

/* A device's latency of its share, averaged over the sizes that the batches have in turn. NaN where there is none. */
static double predicted_ns(const Pilot *pilot, const IfmPlanBlock *block, int device, double ratio, guint32 busy)
{
    double sum = 0;
    for (gsize i = 0; i < pilot->options->n_sizes; i++)
    {
        IfmCostLatency latency;
        const IfmPlanSize *size = &pilot->options->sizes[i];
        if (!ifm_costs_latency(pilot->costs, device, block->first, block->last, ratio * (double)size->nodes,
                               ratio * (double)size->edges, busy, &latency, NULL))
            return NAN;
        sum += latency.latency_ns;
    }
    return sum / (double)pilot->options->n_sizes;
}

/* @factor: beside what the costs say now */
static void correct_device(const Pilot *pilot, const IfmPlanBlock *block, int device, guint32 busy, double factor)
{
    const CostCorrection *before = costs_correction(pilot->costs, device, block->first, block->last, busy);
    factor *= before != NULL ? before->factor : 1;
    if (isfinite(factor) && factor > 0)
        ifm_costs_correct(pilot->costs, device, block->first, block->last, busy, factor, pilot->spread_ratio);
}

static void learn_devices(const Pilot *pilot, const IfmPlan *plan, const IfmPlanBlock *block, const json_t *stage)
{
    guint32 all = devices_of(pilot->costs, plan);
    const json_t *walls = json_object_get(stage, "device_wall_ns");
    for (gsize d = 0; d < block->n_devices; d++)
    {
        const IfmPlanDevice *described = plan->devices->pdata[block->devices[d]];
        int device = find_device(pilot->costs, described->alias);
        guint32 busy = all & ~(1u << device);
        double factor = number_at(walls, described->alias) / predicted_ns(pilot, block, device, block->ratios[d], busy);
        correct_device(pilot, block, device, busy, factor);
    }
}

static double mean_edges(const Pilot *pilot)
{
    double sum = 0;
    for (gsize i = 0; i < pilot->options->n_sizes; i++)
        sum += (double)pilot->options->sizes[i].edges;
    return sum / (double)pilot->options->n_sizes;
}

/* Copies to and from devices' own memory are in what parting and merging took, and known. */
static void copied_ns(const Pilot *pilot, const IfmPlan *plan, const IfmPlanBlock *block, double *in_ns, double *out_ns)
{
    *in_ns = *out_ns = 0;
    for (gsize i = 0; i < pilot->options->n_sizes; i++)
        for (gsize d = 0; d < block->n_devices; d++)
        {
            CostPart part = { 0 };
            const IfmPlanDevice *described = plan->devices->pdata[block->devices[d]];
            const IfmPlanSize *size = &pilot->options->sizes[i];
            costs_copies(pilot->costs, find_device(pilot->costs, described->alias), block->first, block->last,
                         (int)block->n_devices, block->ratios[d], (double)size->nodes, (double)size->edges, &part);
            *in_ns += part.in_ns / (double)pilot->options->n_sizes;
            *out_ns += part.out_ns / (double)pilot->options->n_sizes;
        }
}

/* The mean over blocks of several devices of what they take beyond what is known without a run. */
static void learn_host(const Pilot *pilot, const IfmPlan *plan, const json_t *stages)
{
    double partition_ns = 0, merge_ns = 0;
    int n = 0;
    IfmCosts *costs = pilot->costs;
    ifm_costs_correct_host(costs, 0, 0);
    for (guint b = 0; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        const json_t *stage = json_array_get(stages, b);
        double parting = number_at(stage, "partition_ns"), merging = number_at(stage, "merge_ns"), in_ns, out_ns;
        if (block->n_devices < 2 || !isfinite(parting) || !isfinite(merging))
            continue;
        copied_ns(pilot, plan, block, &in_ns, &out_ns);
        partition_ns += parting - in_ns - cost_partition_ns(costs, (int)block->n_devices, n == 0, mean_edges(pilot));
        merge_ns += merging - out_ns - cost_merge_ns(costs, (int)block->n_devices);
        n++;
    }
    if (n > 0)
        ifm_costs_correct_host(costs, partition_ns / n, merge_ns / n);
}

/* What is left between the makespan and its parts (threads that hand over to each other, devices that are now and then
 * alone) is put down to the devices: it takes their time. */
static void learn_rest(const Pilot *pilot, const IfmPilotRound *round)
{
    double simulated_ns;
    if (!simulate(pilot, round->plan, round->n_batches, &simulated_ns, NULL))
        return;
    double rest = fmin(MOST_REST, fmax(LEAST_REST, round->measured_ns / simulated_ns));
    guint32 all = devices_of(pilot->costs, round->plan);
    for (guint b = 0; b < round->plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(round->plan->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block->n_devices; d++)
        {
            const IfmPlanDevice *described = round->plan->devices->pdata[block->devices[d]];
            int device = find_device(pilot->costs, described->alias);
            correct_device(pilot, block, device, all & ~(1u << device), rest);
        }
    }
}

static void learn(const Pilot *pilot, guint index)
{
    const IfmPilotRound *round = &g_array_index(pilot->rounds, IfmPilotRound, index);
    const json_t *stages = json_object_get(pilot->repetitions->pdata[index], "stages");
    for (guint b = 0; b < round->plan->blocks->len; b++)
        learn_devices(pilot, round->plan, &g_array_index(round->plan->blocks, IfmPlanBlock, b), json_array_get(stages, b));
    learn_host(pilot, round->plan, stages);
    learn_rest(pilot, round);
}

static gboolean try_plan(Pilot *pilot, const IfmPlan *plan, GError **error)
{
    IfmPilotRound round = { .n_batches = batches_for(pilot, plan) };
    if (!simulate(pilot, plan, round.n_batches, &round.predicted_ns, error))
        return FALSE;
    g_autoptr(IfmMeasurement) measurement = run(pilot, plan, round.n_batches, error);
    if (measurement == NULL)
        return FALSE;
    const json_t *repetition =
        json_array_get(json_object_get(json_object_get(measurement->surroundings, "plan"), "repetitions"), 0);
    round.measured_ns = number_at(repetition, "makespan_ns");
    if (!isfinite(round.measured_ns))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "pilot run: it has no makespan");
        return FALSE;
    }
    round.plan = ifm_plan_copy(plan);
    g_array_append_val(pilot->rounds, round);
    g_ptr_array_add(pilot->repetitions, json_incref((json_t *)repetition));
    pilot->spread_ratio = spread_of(measurement);
    learn(pilot, pilot->rounds->len - 1);
    return TRUE;
}

/* --- round after round ------------------------------------------------------------------------------------------------ */

static gboolean is_near(const IfmPlan *a, const IfmPlan *b)
{
    if (!ifm_plan_same_shape(a, b))
        return FALSE;
    for (guint i = 0; i < a->blocks->len; i++)
    {
        const IfmPlanBlock *left = &g_array_index(a->blocks, IfmPlanBlock, i),
                           *right = &g_array_index(b->blocks, IfmPlanBlock, i);
        for (gsize d = 0; d < left->n_devices; d++)
            if (fabs(left->ratios[d] - right->ratios[d]) > SAME_SHARES)
                return FALSE;
    }
    return TRUE;
}

/* The newest round that tried it; -1. */
static int round_of(const Pilot *pilot, const IfmPlan *plan)
{
    for (guint i = pilot->rounds->len; i-- > 0;)
        if (is_near(g_array_index(pilot->rounds, IfmPilotRound, i).plan, plan))
            return (int)i;
    return -1;
}

static gboolean was_tried(const Pilot *pilot, const IfmPlan *plan)
{
    return round_of(pilot, plan) >= 0;
}

static const IfmPilotRound *fastest(const Pilot *pilot)
{
    const IfmPilotRound *best = NULL;
    for (guint i = 0; i < pilot->rounds->len; i++)
    {
        const IfmPilotRound *round = &g_array_index(pilot->rounds, IfmPilotRound, i);
        if (best == NULL || round->measured_ns / (double)round->n_batches < best->measured_ns / (double)best->n_batches)
            best = round;
    }
    return best;
}

/* What was in doubt by the tables, runs have decided: of the plans that were tried the fastest, with the shares that the
 * search gives it now. Batches in a stream tell nothing of one alone: there the search's word stands. */
static IfmPlan *choose(const Pilot *pilot, IfmPlanAnswer *answer)
{
    const IfmPlan *fast = fastest(pilot)->plan;
    gboolean by_pace = pilot->question->objective == IFM_OBJECTIVE_THROUGHPUT;
    if (!by_pace && was_tried(pilot, answer->plan))
        return g_steal_pointer(&answer->plan);
    if (is_near(fast, answer->best))
        return g_steal_pointer(&answer->best);
    return ifm_plan_copy(fast);
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
        IfmPlan **next = !was_tried(pilot, answer.best)   ? &answer.best
                         : !was_tried(pilot, answer.plan) ? &answer.plan
                                                          : NULL;
        if (next == NULL || pilot->rounds->len == MOST_ROUNDS)
        {
            IfmPlan *chosen = choose(pilot, &answer);
            learn(pilot, (guint)MAX(round_of(pilot, chosen), 0)); /* what it showed, not what those after it did */
            return chosen;
        }
        ifm_plan_free(plan);
        plan = g_steal_pointer(next);
    }
}

IfmPlan *ifm_plan_pilot(IfmCosts *costs, const IfmPlanQuestion *question, const IfmPlan *plan,
                        const IfmPilotOptions *options, GArray **rounds, GError **error)
{
    g_autoptr(GPtrArray) repetitions = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    Pilot pilot = { costs, question, options, g_array_new(FALSE, FALSE, sizeof(IfmPilotRound)), repetitions, NAN };
    g_array_set_clear_func(pilot.rounds, round_clear);
    ifm_costs_forget_corrections(costs);
    IfmPlan *found = go_round(&pilot, plan, error);
    if (found == NULL)
    {
        g_array_unref(pilot.rounds);
        ifm_costs_forget_corrections(costs);
        return NULL;
    }
    *rounds = pilot.rounds;
    return found;
}
