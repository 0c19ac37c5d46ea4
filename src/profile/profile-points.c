#include <math.h>

#include <predict/predict.h>

#include "profile-private.h"

/*
 * The points of a row on one device, in rounds: one after the other, what the machine did in between would be called their
 * growth. So those that were measured run once more, in processes made anew, in an order that is drawn in each round; with
 * a mode each point with all its passes, so that forward, backward (the training pass less forward) and the update (the
 * step less the training pass) are of the same rounds, and add up. A profile of a mode without a row is one such point.
 * Those that something disturbed are measured so once more; what then stays disturbed is left out of all conclusions.
 */

#define AGAIN_BLOCKS 2 /* as long in each round, the second time */
#define PASS_BUDGETS 2 /* of passes by themselves: fewer than six rounds give a difference no interval */

static const char *const pass_names[IFM_N_PASSES] = {
    [IFM_PASS_FORWARD] = "forward", [IFM_PASS_TRAINING] = "training pass", [IFM_PASS_STEP] = "training step"
};

static guint n_points(const Step *step)
{
    return step->row != NULL ? step->row->points->len : 1;
}

static const ProfilePlan *point_at(const Step *step, guint i)
{
    return step->row != NULL ? profile_row_plan(step->row, i) : step->asked;
}

/* The plan of a pass of a point, without a mode of the model itself. NULL: it has none. */
static const ProfilePlan *pass_of(const ProfilePlan *point, int kind)
{
    if (point->mode == NULL)
        return kind == IFM_PASS_FORWARD ? point : NULL;
    return kind == (int)point->mode->asked ? point : profile_mode_plan(point, (IfmPassKind)kind);
}

static gboolean is_measured(const ProfilePlan *point, guint at)
{
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *pass = point->refused == NULL ? pass_of(point, kind) : NULL;
        const Target *target = pass != NULL ? pass->targets->pdata[at] : NULL;
        if (target != NULL && (target->measurement == NULL || target->measurement->outcome != IFM_OUTCOME_OK))
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
static double spread_of_point(const ProfilePlan *point, guint at)
{
    double spread = 0;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *pass = point->refused == NULL ? pass_of(point, kind) : NULL;
        const Target *target = pass != NULL ? pass->targets->pdata[at] : NULL;
        if (target != NULL && target->rounds != NULL)
            spread = fmax(spread, spread_of(target->rounds));
    }
    return spread;
}

static void take_point(const Step *step, guint i, ProfileSides *sides)
{
    const ProfilePlan *point = point_at(step, i);
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *pass = pass_of(point, kind);
        const gsize before = sides->n;
        if (pass == NULL)
            continue;
        profile_sides_add(sides, pass, pass->targets->pdata[step->at], step->row != NULL ? point->label : pass_names[kind]);
        if (sides->n > before)
            sides->point[before] = i;
    }
}

static guint count_disturbed(const Step *step)
{
    guint n = 0;
    for (guint i = 0; i < n_points(step); i++)
        n += spread_of_point(point_at(step, i), step->at) > IFM_SCALING_DISTURBED;
    return n;
}

/* Fewer counted runs than rounds make as many rounds. */
static IfmRoundsProtocol protocol_of(const Step *step, gsize n)
{
    const IfmProtocol *given = &step->asked->base.protocol;
    IfmRoundsProtocol protocol = profile_rounds_protocol(given, n);
    protocol.whole = TRUE;
    if (step->asked->mode != NULL)
    {
        protocol.max_rounds = given->runs > 0 ? MIN(protocol.max_rounds, given->runs) : protocol.max_rounds;
        protocol.time_budget_ns *= PASS_BUDGETS;
    }
    if (step->again)
        protocol.block_ns *= AGAIN_BLOCKS;
    return protocol;
}

/* Of those that were measured: all; the second time the disturbed ones, with another beside a single one. */
static void take_points(const Step *step, ProfileSides *sides)
{
    gboolean with_calm = step->again && count_disturbed(step) == 1;
    for (guint i = 0; i < n_points(step); i++)
    {
        const ProfilePlan *point = point_at(step, i);
        const double spread = spread_of_point(point, step->at);
        const gboolean calm = step->again && spread <= IFM_SCALING_DISTURBED;
        if (!is_measured(point, step->at) || (step->again && spread == 0) || (calm && !with_calm))
            continue;
        with_calm = with_calm && !calm;
        take_point(step, i, sides);
    }
    sides->protocol = protocol_of(step, sides->n);
}

/* --- as a step ----------------------------------------------------------------------------------------------------------
 */

/* Of one side there is nothing to tell apart; fewer counted runs than rounds are not spread over them, where nothing has to
 * add up. */
static gboolean wanted(const Step *step)
{
    const gsize runs = step->asked->base.protocol.runs;
    ProfileSides sides;
    if (step->again && count_disturbed(step) == 0)
        return FALSE;
    profile_sides_init(&sides, step);
    return sides.n > 1 && (step->asked->mode != NULL || runs == 0 || runs >= sides.protocol.max_rounds);
}

/* Of two measurements of a point the calmer one counts, with all its passes. */
static void keep(const ProfilePlan *point, guint at, Target **targets, IfmMeasurement **rounds, gsize n)
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
        ifm_measurement_free(targets[i]->rounds);
        targets[i]->rounds = g_steal_pointer(&rounds[i]);
    }
}

static void end_points(const Step *step, IfmCampaignEnd *end)
{
    ProfileSides sides;
    profile_sides_init(&sides, step);
    gboolean good = end->measurements != NULL && end->error == NULL && end->n == sides.n;
    for (gsize i = 0; good && i < sides.n; i++)
        if (end->measurements[i] == NULL) /* of what was found the last alone is there */
            end->measurements[i] = ifm_store_last(step->of->store, end->cases[i]->key, NULL);
    for (gsize i = 0, n = 0; good && i < sides.n; i += n)
    {
        for (n = 1; i + n < sides.n && sides.point[i + n] == sides.point[i];)
            n++;
        keep(point_at(step, sides.point[i]), step->at, &sides.targets[i], &end->measurements[i], n);
    }
    for (gsize i = 0; !good && end->error != NULL && i < sides.n; i++)
    {
        g_free(sides.targets[i]->why_not_rounds);
        sides.targets[i]->why_not_rounds = g_strdup(end->error->message);
    }
    if (!end->found && end->n > 0)
        profile_watch_end(step->of->watch, good ? "ok" : "failed");
}

const StepKind profile_step_points = {
    .own = &profile_rounds_kind, .sides = take_points, .wanted = wanted, .begin = profile_rounds_begin, .end = end_points
};

gboolean profile_wants_pass_rounds(const ProfilePlan *plan)
{
    return plan->mode != NULL && plan->label == NULL && (plan->parts & IFM_PROFILE_RUNTIME) != 0;
}
