/* What earlier sessions came to: which devices were lost, and which records stand. */
#include <base/fields.h>
#include <measure/kinds.h>
#include <measure/measure.h>
#include <string.h>

#include "campaign-private.h"

/* Health: when a device was last lost, and when it last worked, by what the store has. */
typedef struct
{
    gint64 lost_ms, ok_ms;
    char *why;
} Health;

struct CampaignPast
{
    GHashTable *health;
    gint64 *sessions_ms;
    gsize n_sessions;
};

static void health_free(Health *health)
{
    g_free(health->why);
    g_free(health);
}

CampaignPast *campaign_past_new(const gint64 *sessions_unix_ms, gsize n)
{
    CampaignPast *past = g_new0(CampaignPast, 1);
    past->health = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)health_free);
    past->sessions_ms = g_memdup2(sessions_unix_ms, n * sizeof *sessions_unix_ms);
    past->n_sessions = n;
    return past;
}

void campaign_past_free(CampaignPast *past)
{
    g_hash_table_unref(past->health);
    g_free(past->sessions_ms);
    g_free(past);
}

static Health *health_of(CampaignPast *past, const char *device)
{
    Health *health = g_hash_table_lookup(past->health, device);
    if (health == NULL)
    {
        health = g_new0(Health, 1);
        g_hash_table_insert(past->health, g_strdup(device), health);
    }
    return health;
}

static void note_loss(CampaignPast *past, const char *device, const IfmMeasurement *last)
{
    Health *health = health_of(past, device);
    if (last->started_unix_ms < health->lost_ms)
        return;
    health->lost_ms = last->started_unix_ms;
    g_free(health->why);
    health->why = g_strdup(last->reason);
}

void campaign_past_note(CampaignPast *past, const char *const *devices, const IfmMeasurement *last)
{
    gsize i, n = g_strv_length((char **)devices);
    json_t *device;
    for (gsize d = 0; d < n && last->outcome == IFM_OUTCOME_OK; d++)
        health_of(past, devices[d])->ok_ms = MAX(health_of(past, devices[d])->ok_ms, last->started_unix_ms);
    if (last->outcome != IFM_OUTCOME_FAILED || !g_str_equal(last->error_code, "lost"))
        return;
    if (n == 1)
        note_loss(past, devices[0], last);
    else /* the record says which of several was lost */
        json_array_foreach(json_object_get(last->environment, "lost_devices"), i, device)
        {
            note_loss(past, json_string_value(device), last);
        }
}

void campaign_past_report_losses(const CampaignPast *past, IfmRunner *runner)
{
    GHashTableIter iter;
    gpointer device, value;
    g_hash_table_iter_init(&iter, past->health);
    while (g_hash_table_iter_next(&iter, &device, &value))
    {
        const Health *health = value;
        if (health->why != NULL && health->lost_ms >= health->ok_ms)
            ifm_runner_set_lost(runner, device, health->why);
    }
}

/* The number of the session that something happened in, from 1; 0: before the first. */
static gsize session_of(const CampaignPast *past, gint64 at_ms)
{
    gsize number = past->n_sessions;
    while (number > 0 && past->sessions_ms[number - 1] > at_ms)
        number--;
    return number;
}

/* Whether a record has fewer runs than its case promises, as those of older versions may. An encoding that takes the whole
 * budget is computed once. */
static gboolean lacks_runs(const IfmCase *sealed, const IfmMeasurement *last)
{
    if (g_strcmp0(sealed->subject_kind, ifm_kind_encoding.name) == 0)
        return FALSE;
    return last->samples_ns->len > 0 && last->samples_ns->len < ifm_member_number(sealed->options, "protocol.min_runs");
}

/* What a loss left untried gets one more session in which the device answers. Where that one lost it again, nothing says
 * that the next would not: the same campaign would lose a case more each time, and never come to an end. */
gboolean campaign_past_stands(const CampaignPast *past, const char *const *devices, const IfmCase *sealed,
                              const IfmMeasurement *last, gboolean retry)
{
    if (g_strcmp0(last->stop_reason, "interrupted") == 0)
        return FALSE;
    if (last->outcome == IFM_OUTCOME_OK)
        return !lacks_runs(sealed, last);
    if (retry)
        return FALSE;
    gboolean stands = last->outcome == IFM_OUTCOME_FAILED;
    for (; !stands && devices != NULL && *devices != NULL; devices++)
    {
        const Health *health = g_hash_table_lookup(past->health, *devices);
        stands = health != NULL && health->why != NULL &&
                 session_of(past, health->lost_ms) > session_of(past, last->started_unix_ms);
    }
    return stands;
}
