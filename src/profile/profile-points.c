#include <math.h>

#include <inferometer/compare.h>
#include <inferometer/scaling.h>
#include <internal/measure.h>

#include "profile-private.h"

/*
 * The points of a row on one device, in rounds: one after the other, what the machine did in between would be called their
 * growth. So those that were measured run once more, in processes made anew, in an order that is drawn in each round. Those
 * that something disturbed are measured so once more; what then stays disturbed is left out of all conclusions.
 */

#define AGAIN_BLOCKS 2 /* as long in each round, the second time */

/* Points: those that take part, with what their cases borrow. */
typedef struct
{
    gsize n;
    Target *targets[IFM_CAMPAIGN_MAX_RECORDS];
    IfmModelCase cases[IFM_CAMPAIGN_MAX_RECORDS];
    IfmCompareSide sides[IFM_CAMPAIGN_MAX_RECORDS];
    const char *names[IFM_CAMPAIGN_MAX_RECORDS];
    IfmRoundsProtocol protocol;
} Points;

static gboolean is_measured(const Target *target)
{
    return target->measurement != NULL && target->measurement->outcome == IFM_OUTCOME_OK;
}

static double spread_of(const IfmMeasurement *rounds)
{
    IfmRoundsOfOne of;
    ifm_rounds_of_one(rounds, &of);
    return of.most_ns / of.least_ns;
}

static gboolean is_disturbed(const Target *target)
{
    return target->rounds != NULL && spread_of(target->rounds) > IFM_SCALING_DISTURBED;
}

static void take(Points *points, const ProfilePlan *plan, Target *target)
{
    const gsize at = points->n++;
    points->targets[at] = target;
    points->cases[at] = profile_plan_case(plan, target);
    points->cases[at].profile = FALSE;
    points->cases[at].energy = NULL;
    points->sides[at] = (IfmCompareSide){ .kind = &ifm_kind_model, .spec = &points->cases[at] };
    points->names[at] = plan->label;
}

/* Of those that were measured: all; the second time the disturbed ones, with another beside a single one. */
static void points_init(Points *points, const Step *step)
{
    gsize n_disturbed = 0;
    points->n = 0;
    for (guint i = 0; step->again && i < step->row->points->len; i++)
        n_disturbed += profile_row_plan(step->row, i)->refused == NULL &&
                       is_disturbed(profile_row_plan(step->row, i)->targets->pdata[step->at]);
    gboolean with_calm = n_disturbed == 1;
    for (guint i = 0; i < step->row->points->len && points->n < IFM_CAMPAIGN_MAX_RECORDS; i++)
    {
        const ProfilePlan *plan = profile_row_plan(step->row, i);
        Target *target = plan->refused == NULL ? plan->targets->pdata[step->at] : NULL;
        if (target == NULL || !is_measured(target) || (step->again && target->rounds == NULL))
            continue;
        gboolean calm = step->again && !is_disturbed(target);
        if (calm && !with_calm)
            continue;
        with_calm = with_calm && !calm;
        take(points, plan, target);
    }
    points->protocol = profile_rounds_protocol(&step->asked->base.protocol, points->n);
    points->protocol.whole = TRUE;
    if (step->again)
        points->protocol.block_ns *= AGAIN_BLOCKS;
}

/* --- as a step ----------------------------------------------------------------------------------------------------------
 */

static gboolean seal(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    Points points;
    points_init(&points, item->tag);
    for (gsize i = 0; i < points.n; i++)
        if ((cases[i] = ifm_runner_rounds_case(ifm_campaign_runner(campaign), points.sides, i, points.n, &points.protocol,
                                               error)) == NULL)
            return FALSE;
    return TRUE;
}

static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    g_auto(IfmRounds) rounds = { 0 };
    Points points;
    points_init(&points, item->tag);
    if (!ifm_runner_rounds(ifm_campaign_runner(campaign), points.sides, points.names, points.n, &points.protocol,
                           points.cases[0].seed, &rounds, error))
        return FALSE;
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
    Points points;
    points_init(&points, item->tag);
    return found->outcome == IFM_OUTCOME_OK && ifm_rounds_stored(found, cases, points.n) != NULL;
}

static const IfmItemKind points_kind = { .seal = seal, .measure = measure, .stands = stands };

/* Of one point there is nothing to tell apart, and fewer counted runs than rounds are not spread over them. */
static gboolean wanted(const Step *step)
{
    gboolean any = !step->again;
    Points points;
    points_init(&points, step);
    for (gsize i = 0; i < points.n; i++)
        any = any || is_disturbed(points.targets[i]);
    const gsize runs = step->asked->base.protocol.runs;
    return any && points.n > 1 && (runs == 0 || runs >= points.protocol.max_rounds);
}

static void begin(const Step *step)
{
    profile_watch_again(step->of->watch, step->title);
}

/* Of two measurements of a point the calmer one counts. */
static void keep(Target *target, IfmMeasurement **rounds)
{
    if (*rounds == NULL || (target->rounds != NULL && spread_of(target->rounds) <= spread_of(*rounds)))
        return;
    ifm_measurement_free(target->rounds);
    target->rounds = g_steal_pointer(rounds);
}

static void end_points(const Step *step, IfmCampaignEnd *end)
{
    Points points;
    points_init(&points, step);
    gboolean good = end->measurements != NULL && end->error == NULL && end->n == points.n;
    for (gsize i = 0; good && i < points.n; i++)
    {
        if (end->measurements[i] == NULL) /* of what was found the last alone is there */
            end->measurements[i] = ifm_store_last(step->of->store, end->cases[i]->key, NULL);
        keep(points.targets[i], &end->measurements[i]);
    }
    for (gsize i = 0; !good && end->error != NULL && i < points.n; i++)
    {
        g_free(points.targets[i]->why_not_rounds);
        points.targets[i]->why_not_rounds = g_strdup(end->error->message);
    }
    if (!end->found && end->n > 0)
        profile_watch_end(step->of->watch, good ? "ok" : "failed");
}

const StepKind profile_step_points = { .own = &points_kind, .wanted = wanted, .begin = begin, .end = end_points };
