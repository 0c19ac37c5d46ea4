#include "cli.h"

/* The store of a verb that measures case by case, and the campaign that keeps what it asks for in it. */

void keep_clear(Keep *keep)
{
    g_clear_pointer(&keep->progress, progress_free);
    g_clear_pointer(&keep->campaign, ifm_campaign_free);
    g_clear_pointer(&keep->store, ifm_store_close);
}

/* The campaign knows what it was asked for alone. */
static void on_progress(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user)
{
    Keep *keep = user;
    IfmCampaignProgress now = *progress;
    now.n_cases = keep->n_cases;
    if (ended != NULL && now.cases_per_s > 0)
    {
        keep->each_ns = (gint64)(1e9 / now.cases_per_s);
        keep->ended_us = g_get_monotonic_time();
    }
    now.left_ns = now.n_cases > now.n_done ? (gint64)(now.n_cases - now.n_done) * keep->each_ns -
                                                 1000 * (g_get_monotonic_time() - keep->ended_us)
                                           : -1;
    progress_study(keep->progress, &now, ended);
}

gboolean keep_open(Keep *keep, GError **error)
{
    const IfmCampaignOptions options = { .limits = IFM_LIMITS_INIT,
                                         .interrupted = cli_interrupt_install(),
                                         .resume_asked = cli_given(keep->arguments, "resume"),
                                         .progress = on_progress,
                                         .user = keep };
    g_autofree char *path = g_build_filename(cli_text(keep->arguments, "output"), "store.db", NULL);
    keep->store = ifm_store_open(path, IFM_STORE_WRITE, error);
    keep->campaign = keep->store != NULL ? ifm_campaign_new(keep->store, &options) : NULL;
    keep->progress = progress_new(keep->arguments);
    return keep->store != NULL;
}

IfmMeasurement *keep_ask(const char *title, const IfmCaseKind *kind, const void *spec, void *user, GError **error)
{
    Keep *keep = user;
    if (keep->campaign == NULL && !keep_open(keep, error))
        return NULL;
    IfmMeasurement *measurement = ifm_campaign_ask(title, kind, spec, keep->campaign, error);
    progress_study_end(keep->progress);
    return measurement;
}
