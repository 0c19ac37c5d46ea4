#include <measure/measure.h>

#include "profile-private.h"

/*
 * Several devices in rounds: which of them is the fastest. By themselves they are measured one after the other, each in one
 * process: what the machine did meanwhile, and what that process happened to get, would be called a difference of the
 * devices. So those that were measured run once more, in processes made anew, in a drawn order.
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
IfmRoundsProtocol profile_rounds_protocol(const IfmProtocol *given, gsize n)
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

static gboolean takes_part(const Target *target)
{
    return target->measurement != NULL && target->measurement->outcome == IFM_OUTCOME_OK;
}

static gsize count_devices(const ProfilePlan *plan)
{
    gsize n = 0;
    for (guint i = 0; i < plan->targets->len; i++)
        n += takes_part(plan->targets->pdata[i]);
    return n;
}

/* --- sides, as a step -------------------------------------------------------------------------------------------------
 */

void profile_sides_add(ProfileSides *sides, const ProfilePlan *plan, Target *target, const char *name)
{
    const gsize at = sides->n;
    if (sides->n_wanted++ >= IFM_CAMPAIGN_MAX_RECORDS)
        return;
    sides->n++;
    sides->targets[at] = target;
    sides->cases[at] = profile_plan_case(plan, target);
    sides->cases[at].profile = FALSE;
    sides->cases[at].energy = NULL;
    sides->sides[at] = (IfmCompareSide){ .kind = &ifm_kind_model, .spec = &sides->cases[at] };
    sides->names[at] = name;
}

void profile_sides_init(ProfileSides *sides, const Step *step)
{
    sides->n = sides->n_wanted = 0;
    step->kind->sides(step, sides);
}

static gboolean seal(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    ProfileSides sides;
    profile_sides_init(&sides, item->tag);
    if (sides.n_wanted > sides.n)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "%" G_GSIZE_FORMAT " would take turns, and %d are the maximum",
                    sides.n_wanted, IFM_CAMPAIGN_MAX_RECORDS);
        return FALSE;
    }
    for (gsize i = 0; i < sides.n; i++)
        if ((cases[i] = ifm_runner_rounds_case(ifm_campaign_runner(campaign), sides.sides, i, sides.n, &sides.protocol,
                                               error)) == NULL)
            return FALSE;
    return TRUE;
}

static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    const Step *step = item->tag;
    g_auto(IfmRounds) rounds = { 0 };
    g_autoptr(GError) failure = NULL;
    ProfileSides sides;
    profile_sides_init(&sides, step);
    if (!ifm_runner_rounds(ifm_campaign_runner(campaign), sides.sides, sides.names, sides.n, &sides.protocol,
                           sides.cases[0].seed, &rounds, &failure))
    {
        if (step->target != NULL && g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST))
            ifm_runner_set_lost(ifm_campaign_runner(campaign), step->target->spec->text, failure->message);
        g_propagate_error(error, g_steal_pointer(&failure));
        return FALSE;
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
    ProfileSides sides;
    profile_sides_init(&sides, item->tag);
    return found->outcome == IFM_OUTCOME_OK && ifm_rounds_stored(found, cases, sides.n) != NULL;
}

const IfmItemKind profile_rounds_kind = { .seal = seal, .measure = measure, .stands = stands };

void profile_rounds_begin(const Step *step)
{
    profile_watch_again(step->of->watch, step->title);
}

/* --- devices ------------------------------------------------------------------------------------------------------------
 */

static void take_devices(const Step *step, ProfileSides *sides)
{
    const ProfilePlan *plan = step->asked;
    for (guint i = 0; i < plan->targets->len; i++)
    {
        Target *target = plan->targets->pdata[i];
        if (takes_part(target))
            profile_sides_add(sides, plan, target, target->alias != NULL ? target->alias : target->spec->text);
    }
    sides->protocol = profile_rounds_protocol(&plan->base.protocol, sides->n);
}

static gboolean wanted(const Step *step)
{
    return count_devices(step->asked) > 1;
}

static void end_rounds(const Step *step, IfmCampaignEnd *end)
{
    ProfileRounds *rounds = step->asked->rounds;
    if (end->measurements != NULL && end->error == NULL)
        rounds->measurement = g_steal_pointer(&end->measurements[end->n - 1]);
    else if (end->error != NULL)
        rounds->why_not = g_strdup(end->error->message);
    if (!end->found && end->n > 0)
        profile_watch_end(step->of->watch, rounds->measurement != NULL ? "ok" : "failed");
}

const StepKind profile_step_rounds = {
    .own = &profile_rounds_kind, .sides = take_devices, .wanted = wanted, .begin = profile_rounds_begin, .end = end_rounds
};

gboolean profile_wants_rounds(const ProfilePlan *plan)
{
    return plan->targets->len > 1 && plan->label == NULL;
}

void profile_rounds_free(ProfileRounds *rounds)
{
    if (rounds == NULL)
        return;
    ifm_measurement_free(rounds->measurement);
    g_free(rounds->why_not);
    g_free(rounds);
}
