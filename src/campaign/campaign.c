/* The list: items sealed and found in the store. */
#include <math.h>
#include <string.h>

#include <measure/measure.h>
#include <store/store.h>

#include "campaign-private.h"

static void entry_free(CampaignEntry *entry)
{
    for (gsize i = 0; i < IFM_CAMPAIGN_MAX_RECORDS; i++)
        ifm_case_free(entry->cases[i]);
    ifm_measurement_free(entry->found);
    ifm_case_free(entry->held_case);
    ifm_measurement_free(entry->held);
    g_free(entry);
}

void campaign_renew(IfmCampaign *campaign)
{
    const IfmCampaignOptions *options = &campaign->options;
    IfmRunnerOptions runner_options = { .limits = options->limits,
                                        .interrupted = options->interrupted,
                                        .progress = ifm_campaign_hear,
                                        .progress_user = campaign };
    ifm_runner_free(campaign->runner);
    campaign->runner = ifm_runner_new(&runner_options);
    if (campaign->began)
        campaign_past_report_losses(campaign->past, campaign->runner);
}

IfmCampaign *ifm_campaign_new(IfmStore *store, const IfmCampaignOptions *options)
{
    IfmCampaign *campaign = g_new0(IfmCampaign, 1);
    campaign->store = store;
    campaign->options = *options;
    campaign->entries = g_ptr_array_new_with_free_func((GDestroyNotify)entry_free);
    campaign->past = campaign_past_new(options->sessions_unix_ms, options->n_sessions);
    campaign->measured = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    campaign->asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    campaign->any_tried = g_hash_table_new(g_direct_hash, g_direct_equal);
    campaign->paces = g_array_new(FALSE, TRUE, sizeof(Pace));
    campaign->progress = (IfmCampaignProgress){ .cases_per_s = NAN, .left_ns = -1 };
    campaign_renew(campaign);
    return campaign;
}

void ifm_campaign_free(IfmCampaign *campaign)
{
    if (campaign == NULL)
        return;
    ifm_runner_free(campaign->runner);
    g_ptr_array_unref(campaign->entries);
    campaign_past_free(campaign->past);
    g_hash_table_unref(campaign->measured);
    g_hash_table_unref(campaign->asked);
    g_hash_table_unref(campaign->any_tried);
    g_array_unref(campaign->paces);
    g_free(campaign->step);
    g_free(campaign);
}

IfmRunner *ifm_campaign_runner(IfmCampaign *campaign)
{
    return campaign->runner;
}

const IfmCampaignProgress *ifm_campaign_progress(const IfmCampaign *campaign)
{
    return &campaign->progress;
}

void ifm_campaign_add(IfmCampaign *campaign, const IfmCampaignItem *item)
{
    CampaignEntry *entry = g_new0(CampaignEntry, 1);
    entry->item = *item;
    entry->index = campaign->entries->len;
    g_ptr_array_add(campaign->entries, entry);
    if ((guint)item->pace >= campaign->paces->len)
        g_array_set_size(campaign->paces, (guint)item->pace + 1);
}

void ifm_campaign_note(IfmCampaign *campaign, const char *const *devices, const IfmMeasurement *last)
{
    campaign_past_note(campaign->past, devices, last);
}

const IfmCase *ifm_campaign_sealed(const IfmCampaign *campaign, guint index)
{
    const CampaignEntry *entry = campaign->entries->pdata[index];
    return entry->n > 0 ? entry->cases[entry->n - 1] : NULL;
}

void campaign_begin(IfmCampaign *campaign)
{
    if (campaign->began)
        return;
    campaign->began = TRUE;
    campaign->began_us = g_get_monotonic_time();
    campaign_past_report_losses(campaign->past, campaign->runner);
    campaign_progress_count(campaign);
}

static gboolean is_wanted(const IfmCampaign *campaign, const CampaignEntry *entry)
{
    return entry->asked || campaign->options.wanted == NULL ||
           campaign->options.wanted(&entry->item, campaign->options.user);
}

gboolean campaign_is_mine(const IfmCampaign *campaign, const CampaignEntry *entry)
{
    const IfmCampaignOptions *options = &campaign->options;
    return ifm_shard_has(entry->index, options->shard, options->n_shards) && is_wanted(campaign, entry);
}

/* --- sealed -------------------------------------------------------------------------------------------------------------
 */

static void forget_seal(CampaignEntry *entry)
{
    for (gsize i = 0; i < IFM_CAMPAIGN_MAX_RECORDS; i++)
        g_clear_pointer(&entry->cases[i], ifm_case_free);
    entry->n = 0;
}

void campaign_drop(IfmCampaign *campaign, CampaignEntry *entry)
{
    if (campaign->options.drop != NULL)
        campaign->options.drop(&entry->item, campaign->options.user);
}

IfmCampaignEnd campaign_end_of(CampaignEntry *entry, IfmMeasurement **measurements, const GError *error)
{
    return (IfmCampaignEnd){ .cases = entry->cases,
                             .measurements = measurements,
                             .n = entry->n,
                             .previous = g_steal_pointer(&entry->found),
                             .error = error };
}

/* @trouble: (out) what the hook ends the campaign with. Returns: whether it goes on. */
static gboolean ask_after(IfmCampaign *campaign, CampaignEntry *entry, IfmCampaignEnd *end, GError **trouble)
{
    gboolean good = end->error == NULL;
    if (entry->asked && good && end->measurements != NULL)
        entry->answer = g_steal_pointer(&end->measurements[end->n - 1]);
    else if (!entry->asked && campaign->options.after != NULL)
        good = campaign->options.after(&entry->item, end, campaign->options.user, trouble);
    for (gsize i = 0; i < end->n && end->measurements != NULL; i++)
        g_clear_pointer(&end->measurements[i], ifm_measurement_free);
    g_clear_pointer(&end->previous, ifm_measurement_free);
    if (end->error != NULL)
    {
        entry->state = ENTRY_GIVEN_UP;
        campaign_progress_count(campaign);
    }
    return good;
}

void campaign_report(IfmCampaign *campaign, CampaignEntry *entry, IfmCampaignEnd *end)
{
    g_autoptr(GError) ignored = NULL;
    ask_after(campaign, entry, end, &ignored);
}

gboolean campaign_end(IfmCampaign *campaign, CampaignEntry *entry, IfmCampaignEnd *end, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    gboolean good = ask_after(campaign, entry, end, &trouble);
    gboolean cancelled = end->error != NULL && g_error_matches(end->error, IFM_ERROR, IFM_ERROR_CANCELLED);
    if (good && !cancelled)
        return TRUE;
    if (cancelled)
        g_propagate_error(error, g_error_copy(end->error));
    else if (trouble != NULL)
        g_propagate_error(error, g_steal_pointer(&trouble));
    else if (entry->asked)
        g_propagate_error(error, g_error_copy(end->error));
    else
        g_propagate_prefixed_error(error, g_error_copy(end->error), "%s: ", entry->item.title);
    return FALSE;
}

void campaign_count_records(CampaignEntry *entry)
{
    while (entry->n < IFM_CAMPAIGN_MAX_RECORDS && entry->cases[entry->n] != NULL)
        entry->n++;
}

static gboolean seal(IfmCampaign *campaign, CampaignEntry *entry, GError **error)
{
    const IfmCampaignItem *item = &entry->item;
    if (!entry->asked && campaign->options.fill != NULL &&
        !campaign->options.fill(&entry->item, campaign->options.user, error))
        return FALSE;
    if (item->own != NULL && !item->own->seal(campaign, item, entry->cases, error))
        return FALSE;
    if (item->own == NULL)
        entry->cases[0] = ifm_runner_case(campaign->runner, item->kind, item->spec, error);
    campaign_count_records(entry);
    return entry->n > 0;
}

gboolean campaign_seal_entry(IfmCampaign *campaign, CampaignEntry *entry, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    campaign->progress.now = entry->item.seal_runs ? &entry->item : NULL;
    gboolean sealed = seal(campaign, entry, &trouble);
    campaign->progress.now = NULL;
    if (sealed)
        return TRUE;
    forget_seal(entry);
    IfmCampaignEnd end = campaign_end_of(entry, NULL, trouble);
    return campaign_end(campaign, entry, &end, error);
}

/* --- found --------------------------------------------------------------------------------------------------------------
 */

static gboolean may_be_found(IfmCampaign *campaign, const CampaignEntry *entry)
{
    const char *key = entry->cases[entry->n - 1]->key;
    if (entry->asked && !g_hash_table_add(campaign->asked, g_strdup(key)))
        return FALSE; /* asked again: another look at it is what is wanted */
    int group = GPOINTER_TO_INT(g_hash_table_lookup(campaign->measured, key)) - 1;
    return entry->item.resume || (g_hash_table_contains(campaign->measured, key) && group < entry->item.group);
}

gboolean campaign_look_up(IfmCampaign *campaign, CampaignEntry *entry, GError **error)
{
    const IfmCampaignItem *item = &entry->item;
    IfmMeasurement *found = NULL;
    entry->was_looked_up = TRUE;
    if (may_be_found(campaign, entry) &&
        !ifm_store_find(campaign->store, entry->cases[entry->n - 1]->key, FALSE, &found, error))
        return FALSE;
    if (found == NULL)
        return TRUE;
    entry->was_tried = TRUE;
    gboolean stands = item->own != NULL && item->own->stands != NULL
                          ? item->own->stands(item, entry->cases, found)
                          : campaign_past_stands(campaign->past, item->devices, entry->cases[entry->n - 1], found,
                                                 campaign->options.retry);
    if (stands)
    {
        IfmMeasurement *measurements[IFM_CAMPAIGN_MAX_RECORDS] = { 0 };
        IfmCampaignEnd end = campaign_end_of(entry, measurements, NULL);
        end.found = TRUE;
        entry->state = ENTRY_DONE;
        campaign_progress_found(campaign, found);
        measurements[entry->n - 1] = found;
        return campaign_end(campaign, entry, &end, error);
    }
    if (item->own != NULL && item->own->keep != NULL)
        entry->found = found;
    else
        ifm_measurement_free(found);
    return TRUE;
}

gboolean campaign_can_seal(const CampaignEntry *entry)
{
    return entry->item.own == NULL || entry->item.own->seal != NULL;
}

gboolean ifm_campaign_seal(IfmCampaign *campaign, int group, GError **error)
{
    GPtrArray *entries = campaign->entries;
    campaign_begin(campaign);
    for (int last = 0; last <= 1; last++)
        for (guint i = 0; i < entries->len; i++)
        {
            CampaignEntry *entry = entries->pdata[i];
            if (entry->item.group != group || !entry->item.seal_last != !last || entry->n > 0 ||
                entry->state != ENTRY_TODO || !campaign_can_seal(entry) || !is_wanted(campaign, entry))
                continue;
            gboolean good = campaign_seal_entry(campaign, entry, error);
            campaign_drop(campaign, entry);
            if (!good)
                return FALSE;
        }
    for (guint i = 0; i < entries->len; i++) /* what was sealed before its device was given up */
    {
        CampaignEntry *entry = entries->pdata[i];
        if (entry->item.group == group && !is_wanted(campaign, entry))
            forget_seal(entry);
    }
    campaign_progress_count(campaign);
    for (guint i = 0; i < entries->len; i++)
    {
        CampaignEntry *entry = entries->pdata[i];
        if (entry->item.group == group && entry->n > 0 && !entry->was_looked_up && campaign_is_mine(campaign, entry) &&
            !campaign_look_up(campaign, entry, error))
            return FALSE;
    }
    return TRUE;
}

gboolean ifm_shard_has(gsize index, gsize shard, gsize n_shards)
{
    return n_shards == 0 || (index + index / n_shards) % n_shards + 1 == shard;
}

gboolean ifm_shard_check(gsize shard, gsize n_shards, GError **error)
{
    if ((shard == 0 && n_shards == 0) || (shard >= 1 && shard <= n_shards))
        return TRUE;
    return ifm_error_refuse(error, "found \"%zu/%zu\", expected I/N: part I of N, such as 1/4, with I from 1 to N", shard,
                            n_shards);
}

gboolean ifm_shard_parse(const char *text, gsize *shard, gsize *n_shards, GError **error)
{
    char *end = NULL;
    guint64 number = g_ascii_isdigit(*text) ? g_ascii_strtoull(text, &end, 10) : 0;
    guint64 of = end != NULL && *end == '/' && g_ascii_isdigit(end[1]) ? g_ascii_strtoull(end + 1, &end, 10) : 0;
    if (of == 0 || *end != '\0' || number == 0 || number > of || of > G_MAXINT32)
        return ifm_error_refuse(error, "found \"%s\", expected I/N: part I of N, such as 1/4, with I from 1 to N", text);
    *shard = (gsize)number;
    *n_shards = (gsize)of;
    return TRUE;
}
