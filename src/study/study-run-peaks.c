/* What the devices of a study can at most: measured once, and from then on found in the study's store. */
#include <internal/campaign.h>
#include <internal/kinds.h>

#include "study-run-private.h"

#define PEAK_BUDGET_NS (10 * G_GINT64_CONSTANT(1000000000))

static IfmPeakCase peak_case_of(const IfmCampaignItem *item)
{
    const IfmStudyDevice *device = item->tag;
    return (IfmPeakCase){ .device = device->device, .alias = device->alias, .time_budget_ns = PEAK_BUDGET_NS };
}

static gboolean seal(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    const IfmPeakCase peak_case = peak_case_of(item);
    cases[0] = ifm_runner_case(ifm_campaign_runner(campaign), &ifm_kind_peak, &peak_case, error);
    return cases[0] != NULL;
}

static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    const IfmPeakCase peak_case = peak_case_of(item);
    measurements[0] = ifm_runner_measure(ifm_campaign_runner(campaign), &ifm_kind_peak, &peak_case, cases[0], error);
    return measurements[0] != NULL;
}

/* Once a store: a study that goes on compares with the same peak. */
static gboolean stands(const IfmCampaignItem *item, IfmCase *const *cases, const IfmMeasurement *found)
{
    return found->outcome == IFM_OUTCOME_OK;
}

static const IfmMeasurement *known(const IfmMeasurement *found)
{
    return found != NULL && found->outcome == IFM_OUTCOME_OK ? found : NULL;
}

static gboolean keep(const IfmCampaignItem *item, const IfmMeasurement *measurement, const IfmMeasurement *found)
{
    return measurement->outcome == IFM_OUTCOME_OK && ifm_peak_is_measured(measurement);
}

static const IfmItemKind peak_item = { .seal = seal, .measure = measure, .stands = stands, .keep = keep };

static gboolean on_end(const IfmCampaignItem *item, IfmCampaignEnd *end, void *user, GError **error)
{
    IfmStudyDevice *device = item->tag;
    const IfmMeasurement *peak = end->measurements != NULL ? known(end->measurements[0]) : NULL;
    IfmPeakResult result;
    gboolean is_known = ifm_peak_result(peak, &result);
    device->peak_flop_per_s = is_known ? result.flop_per_s : 0;
    device->peak_bytes_per_s = is_known ? result.bytes_per_s : 0;
    return end->error == NULL || end->n == 0;
}

gboolean study_run_find_peaks(Run *run, GError **error)
{
    const IfmStudyOptions *options = run->options;
    const IfmCampaignOptions campaign_options = {
        .limits = options->limits, .interrupted = options->interrupted, .after = on_end, .user = run
    };
    g_autoptr(IfmCampaign) campaign = ifm_campaign_new(run->store, &campaign_options);
    for (guint i = 0; i < run->study->devices->len; i++)
    {
        IfmStudyDevice *device = run->study->devices->pdata[i];
        const IfmCampaignItem item = { .title = device->alias, .tag = device, .own = &peak_item, .resume = TRUE };
        if (device->reason == NULL)
            ifm_campaign_add(campaign, &item);
    }
    return ifm_campaign_run(campaign, error);
}
