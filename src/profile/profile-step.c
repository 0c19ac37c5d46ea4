#include <inferometer/compare.h>
#include <internal/profile-figures.h>

#include "profile-private.h"

/*
 * The passes of a training step in rounds: forward, training pass and step, in processes made anew, in an order that is
 * drawn in each round. Backward is what the pass takes beyond forward, the update what the step takes beyond the pass: all
 * of the same rounds, so that they add up.
 */

enum
{
    N = IFM_STEP_SIDES,
};

/* Passes: the sides, and the cases that they borrow. */
typedef struct
{
    const Target *targets[N];
    IfmModelCase cases[N];
    IfmCompareSide sides[N];
    IfmRoundsProtocol protocol;
} Passes;

static const char *const names[N] = { IFM_STEP_FORWARD, "training pass", "training step" };

static void passes_init(Passes *passes, const Step *step)
{
    const ProfilePlan *plans[N] = { profile_mode_plan(step->asked, IFM_PASS_FORWARD),
                                    profile_mode_plan(step->asked, IFM_PASS_TRAINING), step->asked };
    for (gsize i = 0; i < N; i++)
    {
        passes->targets[i] = plans[i]->targets->pdata[step->at];
        passes->cases[i] = profile_plan_case(plans[i], passes->targets[i]);
        passes->cases[i].profile = FALSE;
        passes->cases[i].energy = NULL;
        passes->sides[i] = (IfmCompareSide){ .kind = &ifm_kind_model, .spec = &passes->cases[i] };
    }
    passes->protocol = profile_rounds_protocol(&step->asked->base.protocol, N);
    passes->protocol.whole = TRUE;
}

/* --- as a step ----------------------------------------------------------------------------------------------------------
 */

static gboolean seal(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    Passes passes;
    passes_init(&passes, item->tag);
    for (gsize i = 0; i < N; i++)
        if ((cases[i] = ifm_runner_rounds_case(ifm_campaign_runner(campaign), passes.sides, i, N, &passes.protocol,
                                               error)) == NULL)
            return FALSE;
    return TRUE;
}

static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    g_auto(IfmRounds) rounds = { 0 };
    Passes passes;
    passes_init(&passes, item->tag);
    if (!ifm_runner_rounds(ifm_campaign_runner(campaign), passes.sides, names, N, &passes.protocol, passes.cases[0].seed,
                           &rounds, error))
        return FALSE;
    for (gsize i = 0; i < N; i++)
    {
        ifm_case_free(cases[i]);
        cases[i] = g_steal_pointer(&rounds.cases[i]);
        measurements[i] = g_steal_pointer(&rounds.measurements[i]);
    }
    return TRUE;
}

static gboolean stands(const IfmCampaignItem *item, IfmCase *const *cases, const IfmMeasurement *found)
{
    return found->outcome == IFM_OUTCOME_OK && ifm_rounds_stored(found, cases, N) != NULL;
}

static const IfmItemKind step_kind = { .seal = seal, .measure = measure, .stands = stands };

static gboolean wanted(const Step *step)
{
    gboolean all = TRUE;
    Passes passes;
    passes_init(&passes, step);
    for (gsize i = 0; i < N; i++)
        all = all && passes.targets[i]->measurement != NULL && passes.targets[i]->measurement->outcome == IFM_OUTCOME_OK;
    return all;
}

static void begin(const Step *step)
{
    profile_watch_again(step->of->watch, step->title);
}

static void end_step(const Step *step, IfmCampaignEnd *end)
{
    Target *target = step->target;
    if (end->measurements != NULL && end->error == NULL)
        target->rounds = g_steal_pointer(&end->measurements[end->n - 1]);
    else if (end->error != NULL)
        target->why_not_interleaved = g_strdup(end->error->message);
    if (!end->found && end->n > 0)
        profile_watch_end(step->of->watch, target->rounds != NULL ? "ok" : "failed");
}

const StepKind profile_step_train = { .own = &step_kind, .wanted = wanted, .begin = begin, .end = end_step };

gboolean profile_wants_step_rounds(const ProfilePlan *plan)
{
    const gsize runs = plan->base.protocol.runs;
    return plan->mode != NULL && plan->label == NULL && (plan->parts & IFM_PROFILE_RUNTIME) != 0 &&
           profile_mode_plan(plan, IFM_PASS_TRAINING) != NULL && profile_mode_plan(plan, IFM_PASS_FORWARD) != NULL &&
           (runs == 0 || runs >= profile_rounds_protocol(&plan->base.protocol, N).max_rounds);
}
