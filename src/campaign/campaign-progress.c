/* How far a campaign is, and what is left. */
#include <math.h>

#include "campaign-private.h"

static Pace *pace_of(const IfmCampaign *campaign, const CampaignEntry *entry)
{
    return &g_array_index(campaign->paces, Pace, (guint)entry->item.pace);
}

static gboolean is_left(const IfmCampaign *campaign, const CampaignEntry *entry)
{
    return entry->state == ENTRY_TODO && campaign_is_mine(campaign, entry);
}

/* What is left at what each pace took so far: a link is over at once, a stage is not. -1 while it is unknown what those
 * that take time take. */
static gint64 time_left(const IfmCampaign *campaign)
{
    Pace all = { 0 };
    double left_us = 0;
    for (guint i = 1; i < campaign->paces->len; i++)
    {
        all.spent_us += g_array_index(campaign->paces, Pace, i).spent_us;
        all.n += g_array_index(campaign->paces, Pace, i).n;
    }
    for (guint i = 0; i < campaign->entries->len; i++)
    {
        const CampaignEntry *entry = campaign->entries->pdata[i];
        if (!is_left(campaign, entry))
            continue;
        const Pace *pace = pace_of(campaign, entry)->n > 0 ? pace_of(campaign, entry) : &all;
        if (pace->n == 0)
            return -1;
        left_us += (double)pace->spent_us / (double)pace->n;
    }
    return (gint64)(left_us * 1000);
}

void campaign_progress_count(IfmCampaign *campaign)
{
    campaign->progress.n_cases = 0;
    for (guint i = 0; i < campaign->entries->len; i++)
    {
        const CampaignEntry *entry = campaign->entries->pdata[i];
        campaign->progress.n_cases += entry->state == ENTRY_DONE || is_left(campaign, entry);
    }
}

void campaign_progress_report(IfmCampaign *campaign, const IfmMeasurement *ended)
{
    IfmCampaignProgress *progress = &campaign->progress;
    double spent_s = (double)(g_get_monotonic_time() - campaign->began_us) / G_USEC_PER_SEC;
    gboolean rated = progress->n_measured > 0 && spent_s > 0;
    progress->cases_per_s = rated ? (double)progress->n_measured / spent_s : (double)NAN;
    progress->left_ns = rated ? campaign->left_ns : -1;
    if (campaign->options.progress != NULL)
        campaign->options.progress(progress, ended, campaign->options.user);
}

static void set_step(IfmCampaign *campaign, const char *step)
{
    g_free(campaign->step);
    campaign->progress.step = campaign->step = g_strdup(step);
}

void ifm_campaign_hear(const IfmProgress *now, void *user)
{
    IfmCampaign *campaign = user;
    IfmCampaignProgress *progress = &campaign->progress;
    if (progress->now == NULL) /* it looks for devices, or seals */
        return;
    set_step(campaign, now->phase);
    progress->n = now->n;
    progress->median_ns = now->median_ns;
    progress->ci_ratio = now->ci_ratio;
    progress->now_left_ns = now->left_ns;
    progress->at_most = now->at_most;
    campaign_progress_report(campaign, NULL);
}

void campaign_progress_begin(IfmCampaign *campaign, const CampaignEntry *entry)
{
    IfmCampaignProgress *progress = &campaign->progress;
    campaign->case_began_us = g_get_monotonic_time();
    progress->now = &entry->item;
    set_step(campaign, NULL);
    progress->n = 0;
    progress->now_left_ns = 0;
    progress->median_ns = progress->ci_ratio = NAN;
    campaign_progress_report(campaign, NULL);
}

static void count(IfmCampaignProgress *progress, const IfmMeasurement *ended, gboolean news)
{
    progress->n_done++;
    *(news ? &progress->n_measured : &progress->n_resumed) += 1;
    progress->n_failed += ended->outcome == IFM_OUTCOME_FAILED;
    progress->n_skipped += ended->outcome == IFM_OUTCOME_SKIPPED;
}

void campaign_progress_end(IfmCampaign *campaign, const CampaignEntry *entry, const IfmMeasurement *ended, gboolean news)
{
    IfmCampaignProgress *progress = &campaign->progress;
    Pace *pace = pace_of(campaign, entry);
    count(progress, ended, news);
    pace->spent_us += g_get_monotonic_time() - campaign->case_began_us;
    pace->n++;
    campaign->left_ns = time_left(campaign);
    campaign_progress_report(campaign, ended);
}

void campaign_progress_found(IfmCampaign *campaign, const IfmMeasurement *found)
{
    count(&campaign->progress, found, FALSE);
}

void ifm_campaign_report(IfmCampaign *campaign)
{
    campaign_progress_report(campaign, NULL);
}
