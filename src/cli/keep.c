#include "cli.h"

/* The store of a verb that measures case by case, and the campaign that keeps what it asks for in it. */

void keep_clear(Keep *keep)
{
    g_clear_pointer(&keep->campaign, ifm_campaign_free);
    g_clear_pointer(&keep->store, ifm_store_close);
}

gboolean keep_init(Keep *keep, const Arguments *arguments, GError **error)
{
    const IfmCampaignOptions options = { .limits = IFM_LIMITS_INIT,
                                         .interrupted = cli_interrupt_install(),
                                         .resume_asked = cli_given(arguments, "resume") };
    g_autofree char *path = g_build_filename(cli_text(arguments, "output"), "store.db", NULL);
    keep->store = ifm_store_open(path, IFM_STORE_WRITE, error);
    keep->campaign = keep->store != NULL ? ifm_campaign_new(keep->store, &options) : NULL;
    return keep->store != NULL;
}
