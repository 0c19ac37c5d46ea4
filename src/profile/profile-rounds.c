#include <math.h>
#include <measure/measure.h>
#include <store/store.h>

#include "profile-private.h"

/*
 * Rounds of fresh processes. By themselves cases are measured one after the other, each in one process: what the machine
 * did meanwhile, and what that process happened to get, would be called a difference of them. So those that were measured
 * run once more, in processes made anew, in a drawn order: the devices of a plan, for which of them is the fastest; the
 * points of a row on one device, for their growth. With a mode each point has all its passes there, so that forward,
 * backward (the training pass less forward) and the update (the step less the training pass) are of the same rounds, and
 * add up; a profile of a mode without a row is one such point. Points that something disturbed are measured so once more;
 * what then stays disturbed is left out of all conclusions.
 */

#define N_ROUNDS 6 /* as many as it takes at 95 % */
#define USUAL_BUDGET_NS (20 * G_GINT64_CONSTANT(1000000000))
#define MIN_BUDGET_NS                                                                                                      \
    (5 * G_GINT64_CONSTANT(1000000000)) /* of a device, in all rounds: time to make a process is in it                     \
                                         */
#define BLOCKS 60                       /* parts of a case's time budget: a block takes one */
#define MIN_BLOCK_NS (50 * G_GINT64_CONSTANT(1000000))
#define MAX_BLOCK_NS (1000 * G_GINT64_CONSTANT(1000000))

/* Together they may take as long as the devices by themselves: fixed counts and a budget are split over the rounds. Of
 * short runs a process makes more than its share, so that another's burst is not all of a block. */
static IfmRoundsProtocol usual_protocol(const IfmProtocol *given, gsize n)
{
    IfmRoundsProtocol protocol = IFM_ROUNDS_PROTOCOL_INIT;
    const gint64 budget_ns = given->time_budget_ns > 0 ? given->time_budget_ns : USUAL_BUDGET_NS;
    protocol.level = given->level;
    protocol.max_rounds = N_ROUNDS;
    protocol.runs = (given->runs + N_ROUNDS - 1) / N_ROUNDS;
    protocol.block_ns = given->runs > 0 ? MIN_BLOCK_NS : CLAMP(budget_ns / BLOCKS, MIN_BLOCK_NS, MAX_BLOCK_NS);
    protocol.time_budget_ns = (gint64)n * MAX(budget_ns, MIN_BUDGET_NS);
    return protocol;
}

/* --- sides ------------------------------------------------------------------------------------------------------------ */

/* Sides: what takes turns, with what its cases borrow. @n_wanted: more than @n where they are too many. @point: whose point
 * each is */
struct Sides
{
    gsize n, n_wanted;
    Target *targets[IFM_CAMPAIGN_MAX_RECORDS];
    guint point[IFM_CAMPAIGN_MAX_RECORDS];
    IfmModelCase cases[IFM_CAMPAIGN_MAX_RECORDS];
    IfmCompareSide sides[IFM_CAMPAIGN_MAX_RECORDS];
    const char *names[IFM_CAMPAIGN_MAX_RECORDS];
    IfmRoundsProtocol protocol;
};

/* (transfer none) none yet */
static Sides *new_sides(ProfileStep *step)
{
    g_free(step->sides);
    return step->sides = g_new0(Sides, 1);
}

static void add_side(Sides *sides, const IfmProfilePlan *plan, Target *target, const char *name, guint point)
{
    const gsize at = sides->n;
    if (sides->n_wanted++ >= IFM_CAMPAIGN_MAX_RECORDS)
        return;
    sides->n++;
    sides->targets[at] = target;
    sides->point[at] = point;
    sides->cases[at] = profile_plan_case(plan, target);
    sides->cases[at].profile = FALSE;
    sides->cases[at].energy = NULL;
    sides->sides[at] = (IfmCompareSide){ .kind = &ifm_kind_model, .spec = &sides->cases[at] };
    sides->names[at] = name;
}

static gboolean seal(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    const Sides *sides = ((const ProfileStep *)item->tag)->sides;
    if (sides->n_wanted > sides->n)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%zu would take turns, and %d are the maximum", sides->n_wanted,
                             IFM_CAMPAIGN_MAX_RECORDS);
    for (gsize i = 0; i < sides->n; i++)
        if ((cases[i] = ifm_runner_rounds_case(ifm_campaign_runner(campaign), sides->sides, i, sides->n, &sides->protocol,
                                               error)) == NULL)
            return FALSE;
    return TRUE;
}

static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    const ProfileStep *step = item->tag;
    const Sides *sides = step->sides;
    g_auto(IfmRounds) rounds = { 0 };
    g_autoptr(GError) failure = NULL;
    if (!ifm_runner_rounds(ifm_campaign_runner(campaign), sides->sides, sides->names, sides->n, &sides->protocol,
                           sides->cases[0].seed, &rounds, &failure))
    {
        if (step->target != NULL && g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST))
            ifm_runner_set_lost(ifm_campaign_runner(campaign), step->target->spec->text, failure->message);
        return ifm_error_pass(error, g_steal_pointer(&failure));
    }
    for (gsize i = 0; i < rounds.n; i++)
    {
        ifm_case_free(cases[i]);
        cases[i] = g_steal_pointer(&rounds.cases[i]);
        measurements[i] = g_steal_pointer(&rounds.measurements[i]);
    }
    return TRUE;
}

static gboolean stands(const IfmCampaignItem *item, IfmCase *const *cases, const IfmMeasurement *found)
{
    return found->outcome == IFM_OUTCOME_OK &&
           ifm_rounds_stored(found, cases, ((const ProfileStep *)item->tag)->sides->n) != NULL;
}

static const IfmItemKind rounds_kind = { .seal = seal, .measure = measure, .stands = stands };

/* --- devices ---------------------------------------------------------------------------------------------------------- */

static gboolean wants_devices(ProfileStep *step)
{
    const IfmProfilePlan *plan = step->plan;
    Sides *sides = new_sides(step);
    for (guint i = 0; i < plan->targets->len; i++)
    {
        Target *target = plan->targets->pdata[i];
        if (profile_is_measured(target))
            add_side(sides, plan, target, ifm_result_name(&target->device.result), 0);
    }
    sides->protocol = usual_protocol(&plan->base.protocol, sides->n);
    sides->protocol.nodes = sides->protocol.whole = plan->base.profile; /* layers are told apart where devices are not */
    return sides->n_wanted > 1;
}

/* Of what was found the last alone is there. */
static void keep_nodes(ProfileStep *step, const IfmCampaignEnd *end)
{
    for (gsize i = 0; i < MIN(end->n, step->sides->n); i++)
    {
        g_autoptr(IfmMeasurement) stored =
            end->measurements[i] == NULL ? ifm_store_last(step->of->store, end->cases[i]->key, NULL) : NULL;
        const IfmMeasurement *side = stored != NULL ? stored : end->measurements[i];
        IfmProfileDevice *device = &step->sides->targets[i]->device;
        json_decref(device->nodes);
        device->nodes = json_incref((json_t *)ifm_measurement_result(side, "nodes"));
    }
}

static const char *end_devices(ProfileStep *step, IfmCampaignEnd *end)
{
    IfmProfilePlan *plan = step->plan;
    if (end->measurements != NULL && end->error == NULL)
        keep_nodes(step, end);
    if (end->measurements != NULL && end->error == NULL)
        plan->rounds = g_steal_pointer(&end->measurements[end->n - 1]);
    else if (end->error != NULL)
        plan->why_not_rounds = g_strdup(end->error->message);
    return plan->rounds != NULL ? "ok" : "failed";
}

const StepKind profile_step_rounds = { .own = &rounds_kind, .wanted = wants_devices, .end = end_devices };

/* --- points of a row -------------------------------------------------------------------------------------------------- */

#define AGAIN_BLOCKS 2 /* as long in each round, the second time */
#define PASS_BUDGETS 2 /* of passes by themselves: fewer than six rounds give a difference no interval */

static const char *const pass_names[IFM_N_PASSES] = {
    [IFM_PASS_FORWARD] = "forward", [IFM_PASS_TRAINING] = "training pass", [IFM_PASS_STEP] = "training step"
};

static guint n_points(const ProfileStep *step)
{
    return step->row != NULL ? step->row->points->len : 1;
}

static const IfmProfilePlan *point_at(const ProfileStep *step, guint i)
{
    return step->row != NULL ? step->row->points->pdata[i] : step->plan;
}

/* The plan of a pass of a point, without a mode of the model itself. NULL: it has none, or there is no such model. */
static const IfmProfilePlan *pass_of(const IfmProfilePlan *point, int kind)
{
    const int asked = point->mode != NULL ? (int)point->mode->report.asked : IFM_PASS_FORWARD;
    if (point->refused != NULL)
        return NULL;
    return kind == asked ? point : profile_mode_plan(point, kind);
}

static gboolean is_measured(const IfmProfilePlan *point, guint at)
{
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const IfmProfilePlan *pass = pass_of(point, kind);
        if (pass != NULL && !profile_is_measured(pass->targets->pdata[at]))
            return FALSE;
    }
    return point->refused == NULL;
}

static double spread_of(const IfmMeasurement *rounds)
{
    IfmRoundsOfOne of;
    ifm_rounds_of_one(rounds, &of);
    return of.most_ns / of.least_ns;
}

/* The greatest of its passes; 0: it is in no rounds. */
static double spread_of_point(const IfmProfilePlan *point, guint at)
{
    double spread = 0;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const IfmProfilePlan *pass = pass_of(point, kind);
        const Target *target = pass != NULL ? pass->targets->pdata[at] : NULL;
        if (target != NULL && target->device.rounds != NULL)
            spread = fmax(spread, spread_of(target->device.rounds));
    }
    return spread;
}

static guint count_disturbed(const ProfileStep *step)
{
    guint n = 0;
    for (guint i = 0; i < n_points(step); i++)
        n += spread_of_point(point_at(step, i), step->at) > IFM_SCALING_DISTURBED;
    return n;
}

/* Fewer counted runs than rounds make as many rounds. */
static IfmRoundsProtocol protocol_of(const ProfileStep *step, gsize n)
{
    const IfmProtocol *given = &step->plan->base.protocol;
    IfmRoundsProtocol protocol = usual_protocol(given, n);
    protocol.whole = TRUE;
    if (step->plan->mode != NULL)
    {
        protocol.max_rounds = given->runs > 0 ? MIN(protocol.max_rounds, given->runs) : protocol.max_rounds;
        protocol.time_budget_ns *= PASS_BUDGETS;
    }
    if (step->again)
        protocol.block_ns *= AGAIN_BLOCKS;
    return protocol;
}

/* Of those that were measured: all; the second time the disturbed ones, with another beside a single one. */
static void take_points(ProfileStep *step, guint n_disturbed)
{
    gboolean with_calm = step->again && n_disturbed == 1;
    Sides *sides = new_sides(step);
    for (guint i = 0; i < n_points(step); i++)
    {
        const IfmProfilePlan *point = point_at(step, i);
        const double spread = spread_of_point(point, step->at);
        const gboolean calm = step->again && spread <= IFM_SCALING_DISTURBED;
        if (!is_measured(point, step->at) || (step->again && spread == 0) || (calm && !with_calm))
            continue;
        with_calm = with_calm && !calm;
        for (int kind = 0; kind < IFM_N_PASSES; kind++)
        {
            const IfmProfilePlan *pass = pass_of(point, kind);
            if (pass != NULL)
                add_side(sides, pass, pass->targets->pdata[step->at], step->row != NULL ? point->label : pass_names[kind],
                         i);
        }
    }
    sides->protocol = protocol_of(step, sides->n);
}

/* Of one side there is nothing to tell apart; fewer counted runs than rounds are not spread over them, where nothing has to
 * add up. */
static gboolean wants_points(ProfileStep *step)
{
    const gsize runs = step->plan->base.protocol.runs;
    const guint n_disturbed = step->again ? count_disturbed(step) : 0;
    if (step->again && n_disturbed == 0)
        return FALSE;
    take_points(step, n_disturbed);
    return step->sides->n > 1 && (step->plan->mode != NULL || runs == 0 || runs >= step->sides->protocol.max_rounds);
}

/* Of two measurements of a point the calmer one counts, with all its passes. */
static void keep(const IfmProfilePlan *point, guint at, Target **targets, IfmMeasurement **rounds, gsize n)
{
    double spread = 0;
    for (gsize i = 0; i < n; i++)
    {
        if (rounds[i] == NULL)
            return;
        spread = fmax(spread, spread_of(rounds[i]));
    }
    const double before = spread_of_point(point, at);
    if (before > 0 && before <= spread)
        return;
    for (gsize i = 0; i < n; i++)
    {
        ifm_measurement_free(targets[i]->device.rounds);
        targets[i]->device.rounds = g_steal_pointer(&rounds[i]);
    }
}

static const char *end_points(ProfileStep *step, IfmCampaignEnd *end)
{
    Sides *sides = step->sides;
    gboolean good = end->measurements != NULL && end->error == NULL && end->n == sides->n;
    for (gsize i = 0; good && i < sides->n; i++)
        if (end->measurements[i] == NULL) /* of what was found the last alone is there */
            end->measurements[i] = ifm_store_last(step->of->store, end->cases[i]->key, NULL);
    for (gsize i = 0, n = 0; good && i < sides->n; i += n)
    {
        for (n = 1; i + n < sides->n && sides->point[i + n] == sides->point[i];)
            n++;
        keep(point_at(step, sides->point[i]), step->at, &sides->targets[i], &end->measurements[i], n);
    }
    for (gsize i = 0; !good && end->error != NULL && i < sides->n; i++)
    {
        IfmProfileDevice *device = &sides->targets[i]->device;
        g_free(device->why_not_rounds);
        device->why_not_rounds = g_strdup(end->error->message);
    }
    return good ? "ok" : "failed";
}

const StepKind profile_step_points = { .own = &rounds_kind, .wanted = wants_points, .end = end_points };
