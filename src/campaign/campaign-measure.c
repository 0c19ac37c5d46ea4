/* The loop: measured and committed, one item after the other. */
#include <math.h>
#include <measure/measure.h>
#include <store/store.h>
#include <string.h>

#include "campaign-private.h"

/* --- why it ends -------------------------------------------------------------------------------------------------------
 */

static gboolean say_interrupted(const IfmCampaign *campaign, GError **error)
{
    const Slot *last = campaign->slots->len > 0 ? campaign->slots->pdata[campaign->slots->len - 1] : NULL;
    const gboolean resumes = last == NULL || !last->asked || campaign->options.resume_asked;
    g_set_error(error, IFM_ERROR, IFM_ERROR_CANCELLED,
                "interrupted: %zu of %zu cases are measured; the same command%s goes on", campaign->progress.n_done,
                campaign->progress.n_cases, resumes ? "" : " with --resume");
    return FALSE;
}

static gboolean may_begin(const IfmCampaign *campaign, GError **error)
{
    const IfmCampaignOptions *options = &campaign->options;
    if (options->interrupted != NULL && g_atomic_int_get(options->interrupted) != 0)
        return say_interrupted(campaign, error);
    if (options->time_budget_ns == 0 || (g_get_monotonic_time() - campaign->began_us) * 1000 < options->time_budget_ns)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_TIMEOUT,
                "the time budget is spent: %zu of %zu cases are measured; the same command goes on",
                campaign->progress.n_done, campaign->progress.n_cases);
    return FALSE;
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
    for (guint i = 0; i < campaign->slots->len; i++)
    {
        Slot *slot = campaign->slots->pdata[i];
        if (slot->item.group != group || slot->held == NULL)
            continue;
        if (!ifm_store_commit(campaign->store, slot->held_case, slot->held, error))
            return FALSE;
        g_clear_pointer(&slot->held_case, ifm_case_free);
        g_clear_pointer(&slot->held, ifm_measurement_free);
    }
    return TRUE;
}

/* A skipped one is put down once, and never in place of what it came to when it was tried.
 * @committed: (out) */
static gboolean commit(IfmCampaign *campaign, Slot *slot, IfmMeasurement *const *measurements, gboolean *committed,
                       GError **error)
{
    const IfmMeasurement *last = measurements[slot->n - 1];
    const IfmItemKind *own = slot->item.own;
    gpointer group = GINT_TO_POINTER(slot->item.group + 1);
    *committed = FALSE;
    if ((last->outcome == IFM_OUTCOME_SKIPPED && slot->was_tried) ||
        (own != NULL && own->keep != NULL && !own->keep(&slot->item, last, slot->found)))
        return TRUE;
    if (campaign->options.hold_absent && is_absent(last) && !g_hash_table_contains(campaign->any_tried, group))
    {
        ifm_case_free(slot->held_case);
        ifm_measurement_free(slot->held);
        slot->held_case = ifm_case_ref(slot->cases[0]); /* the hook may take the other */
        slot->held = ifm_measurement_ref(last);
        return TRUE;
    }
    if (campaign->options.hold_absent && !is_absent(last))
    {
        g_hash_table_add(campaign->any_tried, group);
        if (!commit_held(campaign, slot->item.group, error))
            return FALSE;
    }
    *committed = ifm_store_commit_all(campaign->store, (const IfmCase *const *)slot->cases,
                                      (const IfmMeasurement *const *)measurements, slot->n, error);
    if (*committed && last->outcome == IFM_OUTCOME_OK)
        g_hash_table_insert(campaign->measured, g_strdup(slot->cases[slot->n - 1]->key), group);
    return *committed;
}

/* --- measured ----------------------------------------------------------------------------------------------------------
 */

static gboolean measure_once(IfmCampaign *campaign, Slot *slot, IfmMeasurement **measurements, GError **error)
{
    const IfmCampaignItem *item = &slot->item;
    if (item->own != NULL)
    {
        gboolean measured = item->own->measure(campaign, item, slot->cases, measurements, error);
        campaign_count_records(slot);
        return measured;
    }
    measurements[0] = ifm_runner_measure(campaign->runner, item->kind, item->spec, slot->cases[0], error);
    return measurements[0] != NULL;
}

static gboolean was_cut_short(const IfmMeasurement *measurement)
{
    return g_strcmp0(measurement->stop_reason, "interrupted") == 0;
}

static gboolean end_without(IfmCampaign *campaign, Slot *slot, const GError *trouble, GError **error)
{
    IfmCampaignEnd end = campaign_end_of(slot, NULL, trouble);
    if (!g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED))
        return campaign_end(campaign, slot, &end, error);
    campaign_report(campaign, slot, &end);
    return say_interrupted(campaign, error);
}

/* A case is whole or not there: one that was cut short is measured again next time. */
static gboolean take(IfmCampaign *campaign, Slot *slot, IfmMeasurement **measurements, gboolean last_attempt,
                     GError **error)
{
    const IfmMeasurement *last = measurements[slot->n - 1];
    GError *trouble = NULL;
    gboolean cut_short = was_cut_short(last), committed = FALSE;
    if (cut_short && !campaign->options.keep_partial)
        return say_interrupted(campaign, error);
    gboolean news = !(last->outcome == IFM_OUTCOME_SKIPPED && slot->was_tried);
    if (!commit(campaign, slot, measurements, &committed, &trouble))
    {
        IfmCampaignEnd end = campaign_end_of(slot, measurements, trouble);
        campaign_report(campaign, slot, &end);
        g_propagate_error(error, trouble);
        return FALSE;
    }
    slot->was_tried |= committed;
    if (!last_attempt)
        return TRUE;
    slot->state = SLOT_DONE;
    campaign_progress_end(campaign, slot, last, news);
    IfmCampaignEnd end = campaign_end_of(slot, measurements, NULL);
    end.committed = committed;
    return campaign_end(campaign, slot, &end, error) && (!cut_short || say_interrupted(campaign, error));
}

static gboolean measure(IfmCampaign *campaign, Slot *slot, GError **error)
{
    gsize attempts = MAX(campaign->options.attempts, 1);
    const IfmCase *sealed = slot->n > 0 ? slot->cases[slot->n - 1] : NULL;
    if (!slot->asked && campaign->options.before != NULL &&
        !campaign->options.before(&slot->item, sealed, campaign->options.user, error))
        return FALSE;
    campaign_progress_begin(campaign, slot);
    gboolean good = TRUE;
    for (gsize attempt = 1; good && slot->state == SLOT_TODO; attempt++)
    {
        g_autoptr(GError) trouble = NULL;
        IfmMeasurement *measurements[IFM_CAMPAIGN_MAX_RECORDS] = { 0 };
        if (attempt > 1 && !may_begin(campaign, error))
            good = FALSE;
        else if (measure_once(campaign, slot, measurements, &trouble))
        {
            const IfmMeasurement *last = measurements[slot->n - 1];
            g_assert(last != NULL); /* what measures gives every record */
            gboolean failed = last->outcome == IFM_OUTCOME_FAILED;
            good = take(campaign, slot, measurements, !failed || attempt == attempts, error);
        }
        else
            good = end_without(campaign, slot, trouble, error);
        for (gsize i = 0; i < slot->n; i++)
            ifm_measurement_free(measurements[i]);
    }
    campaign->progress.now = NULL;
    return good;
}

static gboolean find_or_measure(IfmCampaign *campaign, Slot *slot, GError **error)
{
    gboolean sealed_before = slot->n > 0;
    if (slot->item.renew)
        campaign_renew(campaign);
    if (!sealed_before && campaign_can_seal(slot) && !campaign_seal_slot(campaign, slot, error))
        return FALSE;
    if (slot->state == SLOT_GIVEN_UP)
        return TRUE;
    if (slot->n > 0 && !slot->was_looked_up && !campaign_look_up(campaign, slot, error))
        return FALSE;
    if (slot->state == SLOT_DONE)
        return TRUE;
    g_autoptr(GError) trouble = NULL;
    if ((sealed_before || slot->n == 0) && !slot->asked && campaign->options.fill != NULL &&
        !campaign->options.fill(&slot->item, campaign->options.user, &trouble))
        return end_without(campaign, slot, trouble, error);
    return measure(campaign, slot, error);
}

/* --- in order ----------------------------------------------------------------------------------------------------------
 */

static gint compare_turns(gconstpointer a, gconstpointer b)
{
    const Slot *left = *(Slot *const *)a, *right = *(Slot *const *)b;
    return left->round != right->round ? (left->round > right->round) - (left->round < right->round)
                                       : (left->index > right->index) - (left->index < right->index);
}

/* Slot, of a group, in the order of their turns (transfer container) */
static GPtrArray *turns_of(const IfmCampaign *campaign, int group)
{
    GPtrArray *turns = g_ptr_array_new();
    g_autoptr(GHashTable) n_of = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < campaign->slots->len; i++)
    {
        Slot *slot = campaign->slots->pdata[i];
        const char *const *devices = slot->item.devices;
        if (slot->item.group != group)
            continue;
        if (campaign->options.order == IFM_CAMPAIGN_INTERLEAVED && devices != NULL && devices[0] != NULL)
        {
            slot->round = GPOINTER_TO_UINT(g_hash_table_lookup(n_of, devices[0]));
            g_hash_table_insert(n_of, (gpointer)devices[0], GUINT_TO_POINTER(slot->round + 1));
        }
        g_ptr_array_add(turns, slot);
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
        Slot *slot = turns->pdata[i];
        if (slot->state == SLOT_TODO && campaign_is_mine(campaign, slot))
        {
            if (!may_begin(campaign, error))
                return FALSE;
            gboolean good = find_or_measure(campaign, slot, error);
            campaign_drop(campaign, slot);
            if (!good)
                return FALSE;
        }
        any |= slot->n > 0;
    }
    return !any || campaign->options.group_done == NULL ||
           campaign->options.group_done(group, campaign->options.user, error);
}

IfmMeasurement *ifm_campaign_ask(const char *title, const IfmCaseKind *kind, const void *spec, void *user, GError **error)
{
    IfmCampaign *campaign = user;
    const IfmCampaignItem *outer = campaign->progress.now;
    const IfmCampaignItem item = {
        .title = title, .kind = kind, .spec = spec, .group = G_MAXINT, .resume = campaign->options.resume_asked
    };
    campaign_begin(campaign);
    if (!may_begin(campaign, error))
        return NULL;
    ifm_campaign_add(campaign, &item);
    Slot *slot = campaign->slots->pdata[campaign->slots->len - 1];
    slot->asked = TRUE;
    campaign_progress_count(campaign);
    if (!find_or_measure(campaign, slot, error))
        slot->state = SLOT_GIVEN_UP; /* what it points to is gone after this call */
    campaign->progress.now = outer;
    return g_steal_pointer(&slot->answer);
}

gboolean ifm_campaign_run(IfmCampaign *campaign, GError **error)
{
    for (gint64 group = G_MININT64;;)
    {
        gint64 next = G_MAXINT64;
        for (guint i = 0; i < campaign->slots->len; i++)
        {
            const Slot *slot = campaign->slots->pdata[i];
            if (slot->item.group > group)
                next = MIN(next, slot->item.group);
        }
        if (next == G_MAXINT64)
            return TRUE;
        if (!ifm_campaign_measure(campaign, (int)next, error))
            return FALSE;
        group = next;
    }
}
