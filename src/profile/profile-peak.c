#include <internal/kinds.h>

#include "profile-private.h"

/*
 * The limit of a target's device: from the store where this machine's was measured before, with the same runtime, precision
 * and threads; else measured once and kept there.
 */

#define PEAK_BUDGET_NS (10 * G_GINT64_CONSTANT(1000000000))

static IfmPeakCase peak_case_of(const Step *step)
{
    const ProfilePlan *plan = step->plan;
    const Target *target = step->target;
    return (IfmPeakCase){ .device = target->spec->text,
                          .alias = target->alias,
                          .dtype = plan->base.dtype,
                          .threads = plan->base.threads,
                          .time_budget_ns = PEAK_BUDGET_NS };
}

static gboolean seal(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    const IfmPeakCase peak_case = peak_case_of(item->tag);
    cases[0] = ifm_runner_case(ifm_campaign_runner(campaign), &ifm_kind_peak, &peak_case, error);
    return cases[0] != NULL;
}

static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    const Step *step = item->tag;
    const IfmPeakCase peak_case = peak_case_of(step);
    if (!g_str_equal(step->target->spec->engine, "simulated")) /* a described one takes no time */
        profile_note(step->of->watch, "%s: measured once for this machine, which takes up to 10 s; --no-peak leaves it out",
                     step->title);
    measurements[0] = ifm_runner_measure(ifm_campaign_runner(campaign), &ifm_kind_peak, &peak_case, cases[0], error);
    return measurements[0] != NULL;
}

/* What is in doubt is measured again; so is one that is asked for anew. */
static gboolean stands(const IfmCampaignItem *item, IfmCase *const *cases, const IfmMeasurement *found)
{
    const Step *step = item->tag;
    gboolean good = found->outcome == IFM_OUTCOME_OK, anew = step->of->new_peak;
    g_autofree char *doubt = good ? ifm_peak_doubt(found) : NULL;
    if (good && (doubt != NULL || anew))
        profile_note(step->of->watch, "%s: measured again: %s", step->title, anew ? "a new one was asked for" : doubt);
    return good && doubt == NULL && !anew;
}

static const IfmMeasurement *known(const IfmMeasurement *found)
{
    return found != NULL && found->outcome == IFM_OUTCOME_OK ? found : NULL;
}

static gboolean keep(const IfmCampaignItem *item, const IfmMeasurement *measurement, const IfmMeasurement *found)
{
    return measurement->outcome == IFM_OUTCOME_OK && ifm_peak_is_measured(measurement) &&
           ifm_peak_counts(measurement, known(found));
}

static const IfmItemKind peak_kind = { .seal = seal, .measure = measure, .stands = stands, .keep = keep };

static gboolean wanted(const Step *step)
{
    return g_str_equal(profile_outcome_of(step->target), "ok");
}

static void begin(const Step *step)
{
    profile_watch_again(step->of->watch, step->title);
}

/* What counts from then on is the target's: the one that there was already, or the new one. */
static void end_peak(const Step *step, IfmCampaignEnd *end)
{
    Target *target = step->target;
    IfmMeasurement *peak = end->measurements != NULL ? end->measurements[0] : NULL;
    gboolean good = peak != NULL && peak->outcome == IFM_OUTCOME_OK && end->error == NULL;
    target->peak_stored = end->found || !good || !ifm_peak_counts(peak, known(end->previous));
    if (peak != NULL && (!target->peak_stored || end->found))
        target->peak = g_steal_pointer(&end->measurements[0]);
    else if (known(end->previous) != NULL)
        target->peak = g_steal_pointer(&end->previous);
    else
        target->no_peak = g_strdup(end->error != NULL ? end->error->message : peak != NULL ? peak->reason : "not measured");
    if (target->peak != NULL)
        target->peak_doubt = ifm_peak_doubt(target->peak);
    if (!end->found && end->n > 0)
        profile_watch_end(step->of->watch, good ? "ok" : "not known");
}

const StepKind profile_step_peak = { .own = &peak_kind, .wanted = wanted, .begin = begin, .end = end_peak };
