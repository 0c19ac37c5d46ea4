/* The loop: measured and committed, one item after the other. */
#include <base/base.h>
#include <math.h>
#include <measure/measure.h>
#include <store/store.h>
#include <string.h>

#include "campaign-private.h"

/* --- why it ends -------------------------------------------------------------------------------------------------------
 */

static gboolean say_interrupted(const IfmCampaign *campaign, GError **error)
{
    const CampaignEntry *last = campaign->entries->len > 0 ? campaign->entries->pdata[campaign->entries->len - 1] : NULL;
    const gboolean resumes = last == NULL || !last->asked || campaign->options.resume_asked;
    return ifm_error_set(error, IFM_ERROR_CANCELLED,
                         "interrupted: %zu of %zu cases are measured; the same command%s resumes",
                         campaign->progress.n_done, campaign->progress.n_cases, resumes ? "" : " with --resume");
}

static gboolean may_begin(const IfmCampaign *campaign, GError **error)
{
    const IfmCampaignOptions *options = &campaign->options;
    if (options->interrupted != NULL && g_atomic_int_get(options->interrupted) != 0)
        return say_interrupted(campaign, error);
    if (options->time_budget_ns == 0 || (g_get_monotonic_time() - campaign->began_us) * 1000 < options->time_budget_ns)
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_TIMEOUT,
                         "the time budget is spent: %zu of %zu cases are measured; the same command resumes",
                         campaign->progress.n_done, campaign->progress.n_cases);
}

/* --- committed ---------------------------------------------------------------------------------------------------------
 */

/* Whether there was a device to try. */
static gboolean is_absent(const IfmMeasurement *measurement)
{
    static const char *const absent[] = { "invalid", "unavailable", NULL };
    return measurement->outcome == IFM_OUTCOME_SKIPPED ||
           (measurement->outcome == IFM_OUTCOME_FAILED && g_strv_contains(absent, measurement->error_code));
}

static gboolean commit_held(IfmCampaign *campaign, int group, GError **error)
{
    for (guint i = 0; i < campaign->entries->len; i++)
    {
        CampaignEntry *entry = campaign->entries->pdata[i];
        if (entry->item.group != group || entry->held == NULL)
            continue;
        if (!ifm_store_commit(campaign->store, entry->held_case, entry->held, error))
            return FALSE;
        g_clear_pointer(&entry->held_case, ifm_case_free);
        g_clear_pointer(&entry->held, ifm_measurement_free);
    }
    return TRUE;
}

/* A skipped one is put down once, and never in place of what it came to when it was tried.
 * @committed: (out) */
static gboolean commit(IfmCampaign *campaign, CampaignEntry *entry, IfmMeasurement *const *measurements,
                       gboolean *committed, GError **error)
{
    const IfmMeasurement *last = measurements[entry->n - 1];
    const IfmItemKind *own = entry->item.own;
    gpointer group = GINT_TO_POINTER(entry->item.group + 1);
    *committed = FALSE;
    if ((last->outcome == IFM_OUTCOME_SKIPPED && entry->was_tried) ||
        (own != NULL && own->keep != NULL && !own->keep(&entry->item, last, entry->found)))
        return TRUE;
    if (campaign->options.hold_absent && is_absent(last) && !g_hash_table_contains(campaign->any_tried, group))
    {
        ifm_case_free(entry->held_case);
        ifm_measurement_free(entry->held);
        entry->held_case = ifm_case_ref(entry->cases[0]); /* the hook may take the other */
        entry->held = ifm_measurement_ref(last);
        return TRUE;
    }
    if (campaign->options.hold_absent && !is_absent(last))
    {
        g_hash_table_add(campaign->any_tried, group);
        if (!commit_held(campaign, entry->item.group, error))
            return FALSE;
    }
    *committed = ifm_store_commit_all(campaign->store, (const IfmCase *const *)entry->cases,
                                      (const IfmMeasurement *const *)measurements, entry->n, error);
    if (*committed && last->outcome == IFM_OUTCOME_OK)
        g_hash_table_insert(campaign->measured, g_strdup(entry->cases[entry->n - 1]->key), group);
    return *committed;
}

/* --- measured ----------------------------------------------------------------------------------------------------------
 */

static gboolean measure_once(IfmCampaign *campaign, CampaignEntry *entry, IfmMeasurement **measurements, GError **error)
{
    const IfmCampaignItem *item = &entry->item;
    if (item->own != NULL)
    {
        gboolean measured = item->own->measure(campaign, item, entry->cases, measurements, error);
        campaign_count_records(entry);
        return measured;
    }
    measurements[0] = ifm_runner_measure(campaign->runner, item->kind, item->spec, entry->cases[0], error);
    return measurements[0] != NULL;
}

static gboolean was_cut_short(const IfmMeasurement *measurement)
{
    return g_strcmp0(measurement->stop_reason, "interrupted") == 0;
}

static gboolean end_without(IfmCampaign *campaign, CampaignEntry *entry, const GError *trouble, GError **error)
{
    IfmCampaignEnd end = campaign_end_of(entry, NULL, trouble);
    if (!g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED))
        return campaign_end(campaign, entry, &end, error);
    campaign_report(campaign, entry, &end);
    return say_interrupted(campaign, error);
}

/* A case is whole or not there: one that was cut short is measured again next time. */
static gboolean take(IfmCampaign *campaign, CampaignEntry *entry, IfmMeasurement **measurements, gboolean last_attempt,
                     GError **error)
{
    const IfmMeasurement *last = measurements[entry->n - 1];
    GError *trouble = NULL;
    gboolean cut_short = was_cut_short(last), committed = FALSE;
    if (cut_short && !campaign->options.keep_partial)
        return say_interrupted(campaign, error);
    gboolean news = !(last->outcome == IFM_OUTCOME_SKIPPED && entry->was_tried);
    if (!commit(campaign, entry, measurements, &committed, &trouble))
    {
        IfmCampaignEnd end = campaign_end_of(entry, measurements, trouble);
        campaign_report(campaign, entry, &end);
        return ifm_error_pass(error, trouble);
    }
    entry->was_tried |= committed;
    if (!last_attempt)
        return TRUE;
    entry->state = ENTRY_DONE;
    campaign_progress_end(campaign, entry, last, news);
    IfmCampaignEnd end = campaign_end_of(entry, measurements, NULL);
    end.committed = committed;
    return campaign_end(campaign, entry, &end, error) && (!cut_short || say_interrupted(campaign, error));
}

static gboolean measure(IfmCampaign *campaign, CampaignEntry *entry, GError **error)
{
    gsize attempts = MAX(campaign->options.attempts, 1);
    const IfmCase *sealed = entry->n > 0 ? entry->cases[entry->n - 1] : NULL;
    if (!entry->asked && campaign->options.before != NULL &&
        !campaign->options.before(&entry->item, sealed, campaign->options.user, error))
        return FALSE;
    campaign_progress_begin(campaign, entry);
    gboolean good = TRUE;
    for (gsize attempt = 1; good && entry->state == ENTRY_TODO; attempt++)
    {
        g_autoptr(GError) trouble = NULL;
        IfmMeasurement *measurements[IFM_CAMPAIGN_MAX_RECORDS] = { 0 };
        if (attempt > 1 && !may_begin(campaign, error))
            good = FALSE;
        else if (measure_once(campaign, entry, measurements, &trouble))
        {
            const IfmMeasurement *last = measurements[entry->n - 1];
            g_assert(last != NULL); /* what measures gives every record */
            gboolean failed = last->outcome == IFM_OUTCOME_FAILED;
            good = take(campaign, entry, measurements, !failed || attempt == attempts, error);
        }
        else
            good = end_without(campaign, entry, trouble, error);
        for (gsize i = 0; i < entry->n; i++)
            ifm_measurement_free(measurements[i]);
    }
    campaign->progress.now = NULL;
    return good;
}

static gboolean find_or_measure(IfmCampaign *campaign, CampaignEntry *entry, GError **error)
{
    gboolean sealed_before = entry->n > 0;
    if (entry->item.renew)
        campaign_renew(campaign);
    if (!sealed_before && campaign_can_seal(entry) && !campaign_seal_entry(campaign, entry, error))
        return FALSE;
    if (entry->state == ENTRY_GIVEN_UP)
        return TRUE;
    if (entry->n > 0 && !entry->was_looked_up && !campaign_look_up(campaign, entry, error))
        return FALSE;
    if (entry->state == ENTRY_DONE)
        return TRUE;
    g_autoptr(GError) trouble = NULL;
    if ((sealed_before || entry->n == 0) && !entry->asked && campaign->options.fill != NULL &&
        !campaign->options.fill(&entry->item, campaign->options.user, &trouble))
        return end_without(campaign, entry, trouble, error);
    return measure(campaign, entry, error);
}

/* --- in order ----------------------------------------------------------------------------------------------------------
 */

static gint compare_turns(gconstpointer a, gconstpointer b)
{
    const CampaignEntry *left = *(CampaignEntry *const *)a, *right = *(CampaignEntry *const *)b;
    return left->round != right->round ? (left->round > right->round) - (left->round < right->round)
                                       : (left->index > right->index) - (left->index < right->index);
}

/* CampaignEntry, of a group, in the order of their turns (transfer container) */
static GPtrArray *turns_of(const IfmCampaign *campaign, int group)
{
    GPtrArray *turns = g_ptr_array_new();
    g_autoptr(GHashTable) n_of = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < campaign->entries->len; i++)
    {
        CampaignEntry *entry = campaign->entries->pdata[i];
        const char *const *devices = entry->item.devices;
        if (entry->item.group != group)
            continue;
        if (campaign->options.order == IFM_CAMPAIGN_INTERLEAVED && devices != NULL && devices[0] != NULL)
        {
            entry->round = GPOINTER_TO_UINT(g_hash_table_lookup(n_of, devices[0]));
            g_hash_table_insert(n_of, (gpointer)devices[0], GUINT_TO_POINTER(entry->round + 1));
        }
        g_ptr_array_add(turns, entry);
    }
    g_ptr_array_sort(turns, compare_turns);
    return turns;
}

gboolean ifm_campaign_measure(IfmCampaign *campaign, int group, GError **error)
{
    gboolean any = FALSE;
    g_autoptr(GPtrArray) turns = turns_of(campaign, group);
    campaign_begin(campaign);
    for (guint i = 0; i < turns->len; i++)
    {
        CampaignEntry *entry = turns->pdata[i];
        if (entry->state == ENTRY_TODO && campaign_is_mine(campaign, entry))
        {
            if (!may_begin(campaign, error))
                return FALSE;
            gboolean good = find_or_measure(campaign, entry, error);
            campaign_drop(campaign, entry);
            if (!good)
                return FALSE;
        }
        any |= entry->n > 0;
    }
    return !any || campaign->options.group_done == NULL ||
           campaign->options.group_done(group, campaign->options.user, error);
}

/* Behind every other; one below the largest, as tables hold a group plus one. */
#define ASKED_GROUP (G_MAXINT - 1)

IfmMeasurement *ifm_campaign_ask(const char *title, const IfmCaseKind *kind, const void *spec, void *user, GError **error)
{
    IfmCampaign *campaign = user;
    const IfmCampaignItem *outer = campaign->progress.now;
    const IfmCampaignItem item = {
        .title = title, .kind = kind, .spec = spec, .group = ASKED_GROUP, .resume = campaign->options.resume_asked
    };
    campaign_begin(campaign);
    if (!may_begin(campaign, error))
        return NULL;
    ifm_campaign_add(campaign, &item);
    CampaignEntry *entry = campaign->entries->pdata[campaign->entries->len - 1];
    entry->asked = TRUE;
    campaign_progress_count(campaign);
    if (!find_or_measure(campaign, entry, error))
        entry->state = ENTRY_GIVEN_UP; /* what it points to is gone after this call */
    campaign->progress.now = outer;
    return g_steal_pointer(&entry->answer);
}

gboolean ifm_campaign_run(IfmCampaign *campaign, GError **error)
{
    for (gint64 group = G_MININT64;;)
    {
        gint64 next = G_MAXINT64;
        for (guint i = 0; i < campaign->entries->len; i++)
        {
            const CampaignEntry *entry = campaign->entries->pdata[i];
            if (entry->item.group > group)
                next = MIN(next, entry->item.group);
        }
        if (next == G_MAXINT64)
            return TRUE;
        if (!ifm_campaign_measure(campaign, (int)next, error))
            return FALSE;
        group = next;
    }
}
