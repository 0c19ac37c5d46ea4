#include "cli.h"

/* The store of a verb that measures case by case, and the campaign that keeps what it asks for in it. */

void keep_clear(Keep *keep)
{
    g_clear_pointer(&keep->campaign, ifm_campaign_free);
    g_clear_pointer(&keep->store, ifm_store_close);
}

gboolean keep_open(Keep *keep, GError **error)
{
    const IfmCampaignOptions options = { .limits = IFM_LIMITS_INIT,
                                         .interrupted = cli_interrupt_install(),
                                         .resume_asked = cli_given(keep->arguments, "resume") };
    g_autofree char *path = g_build_filename(cli_text(keep->arguments, "output"), "store.db", NULL);
    keep->store = ifm_store_open(path, IFM_STORE_WRITE, error);
    keep->campaign = keep->store != NULL ? ifm_campaign_new(keep->store, &options) : NULL;
    return keep->store != NULL;
}

IfmMeasurement *keep_ask(const char *title, const IfmCaseKind *kind, const void *spec, void *user, GError **error)
{
    Keep *keep = user;
    return keep->campaign != NULL || keep_open(keep, error) ? ifm_campaign_ask(title, kind, spec, keep->campaign, error)
                                                            : NULL;
}
