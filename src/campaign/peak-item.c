/* A device's peak, as one item of a campaign: once for a store. */
#include <campaign/campaign.h>
#include <measure/kinds.h>
#include <measure/measure.h>

static gboolean seal(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    cases[0] = ifm_runner_case(ifm_campaign_runner(campaign), &ifm_kind_peak, item->spec, error);
    return cases[0] != NULL;
}

static gboolean is_ok(const IfmMeasurement *measurement)
{
    return measurement->outcome == IFM_OUTCOME_OK;
}

/* What is in doubt is measured again, once; the one that counts stays, marked where it is in doubt, too. */
static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    IfmRunner *runner = ifm_campaign_runner(campaign);
    measurements[0] = ifm_runner_measure(runner, &ifm_kind_peak, item->spec, cases[0], error);
    g_autofree char *doubt = measurements[0] != NULL && is_ok(measurements[0]) ? ifm_peak_doubt(measurements[0]) : NULL;
    if (doubt == NULL)
        return measurements[0] != NULL;
    g_autoptr(IfmMeasurement) again = ifm_runner_measure(runner, &ifm_kind_peak, item->spec, cases[0], NULL);
    if (again == NULL || !is_ok(again) || !ifm_peak_counts(again, measurements[0]))
        return TRUE;
    ifm_measurement_free(measurements[0]);
    measurements[0] = g_steal_pointer(&again);
    return TRUE;
}

static gboolean stands(const IfmCampaignItem *item, IfmCase *const *cases, const IfmMeasurement *found)
{
    return is_ok(found);
}

static gboolean keep(const IfmCampaignItem *item, const IfmMeasurement *measurement, const IfmMeasurement *found)
{
    return is_ok(measurement) && ifm_peak_is_measured(measurement);
}

const IfmItemKind ifm_peak_item = { .seal = seal, .measure = measure, .stands = stands, .keep = keep };
