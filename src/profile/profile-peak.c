
#include "profile-private.h"

/*
 * The limit of a target's device: from the store where this machine's was measured before, with the same runtime, precision
 * and threads; else measured once and kept there.
 */

#define PEAK_BUDGET_NS (10 * G_GINT64_CONSTANT(1000000000))

IfmPeakCase profile_peak_case(const ProfilePlan *plan, const Target *target)
{
    return (IfmPeakCase){ .device = target->spec->text,
                          .alias = target->alias,
                          .dtype = plan->base.dtype,
                          .threads = plan->base.threads,
                          .time_budget_ns = PEAK_BUDGET_NS };
}

static gboolean wanted(const Step *step)
{
    return g_str_equal(profile_outcome_of(step->target), "ok");
}

static void begin(const Step *step)
{
    profile_watch_again(step->of->watch, step->title);
    if (!g_str_equal(step->target->spec->engine, "simulated")) /* a described one takes no time */
        profile_note(step->of->watch, "%s: measured once for this machine, which takes up to 10 s; --no-peak leaves it out",
                     step->title);
}

static void end_peak(const Step *step, IfmCampaignEnd *end)
{
    Target *target = step->target;
    const IfmMeasurement *peak = end->measurements != NULL ? end->measurements[0] : NULL;
    const gboolean good = peak != NULL && peak->outcome == IFM_OUTCOME_OK;
    target->peak_stored = end->found;
    if (good)
        target->peak = g_steal_pointer(&end->measurements[0]);
    else
        target->no_peak = g_strdup(end->error != NULL ? end->error->message : peak != NULL ? peak->reason : "not measured");
    if (target->peak != NULL)
        target->peak_doubt = ifm_peak_doubt(target->peak);
    if (!end->found && end->n > 0)
        profile_watch_end(step->of->watch, good && end->error == NULL ? "ok" : "not known");
}

const StepKind profile_step_peak = { .own = &ifm_peak_item, .wanted = wanted, .begin = begin, .end = end_peak };
