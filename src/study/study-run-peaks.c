/* What the devices of a study can at most: measured once, and from then on found in the study's store. */
#include <campaign/campaign.h>
#include <measure/kinds.h>

#include "study-run-private.h"

#define PEAK_BUDGET_NS (10 * G_GINT64_CONSTANT(1000000000))

static gboolean on_end(const IfmCampaignItem *item, IfmCampaignEnd *end, void *user, GError **error)
{
    IfmStudyDevice *device = item->tag;
    const IfmMeasurement *peak = end->measurements != NULL ? end->measurements[0] : NULL;
    IfmPeakResult result;
    gboolean is_known = ifm_peak_result(peak != NULL && peak->outcome == IFM_OUTCOME_OK ? peak : NULL, &result);
    device->peak_flop_per_s = is_known ? result.flop_per_s : 0;
    device->peak_bytes_per_s = is_known ? result.bytes_per_s : 0;
    return end->error == NULL || end->n == 0;
}

gboolean study_run_find_peaks(Run *run, GError **error)
{
    const GPtrArray *devices = run->study->devices;
    const IfmStudyOptions *options = run->options;
    const IfmCampaignOptions campaign_options = {
        .limits = options->limits, .interrupted = options->interrupted, .after = on_end, .user = run
    };
    g_autofree IfmPeakCase *peaks = g_new0(IfmPeakCase, devices->len);
    g_autoptr(IfmCampaign) campaign = ifm_campaign_new(run->store, &campaign_options);
    for (guint i = 0; i < devices->len; i++)
    {
        IfmStudyDevice *device = devices->pdata[i];
        peaks[i] = (IfmPeakCase){ .device = device->device, .alias = device->alias, .time_budget_ns = PEAK_BUDGET_NS };
        if (device->reason == NULL)
            ifm_campaign_add(
                campaign,
                &(IfmCampaignItem){
                    .title = device->alias, .tag = device, .own = &ifm_peak_item, .spec = &peaks[i], .resume = TRUE });
    }
    return ifm_campaign_run(campaign, error);
}
