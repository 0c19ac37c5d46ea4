#include <string.h>

#include <inferometer/sensor.h>

#include "study-private.h"

/* Health: when a device was last lost, and when it last worked, by what the store has. */
typedef struct
{
    gint64 lost_ms, ok_ms;
    char *why;
} Health;

struct StudyPast
{
    IfmStore *store;
    json_t *manifest; /* NULL: there is none yet */
    GHashTable *health;
    GHashTable *keys; /* study_manifest_keys() */
    char *machine;    /* id of this one; NULL: not known */
};

static void health_free(Health *health)
{
    g_free(health->why);
    g_free(health);
}

void study_past_free(StudyPast *past)
{
    if (past == NULL)
        return;
    json_decref(past->manifest);
    g_hash_table_unref(past->health);
    g_hash_table_unref(past->keys);
    g_free(past->machine);
    g_free(past);
}

static const char *text_in(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* --- health ----------------------------------------------------------------------------------------------------------- */

static Health *health_of(StudyPast *past, const char *device)
{
    Health *health = g_hash_table_lookup(past->health, device);
    if (health == NULL)
    {
        health = g_new0(Health, 1);
        g_hash_table_insert(past->health, g_strdup(device), health);
    }
    return health;
}

static gboolean was_lost(const IfmMeasurement *last)
{
    return last->outcome == IFM_OUTCOME_FAILED && g_str_equal(last->error_code, "lost");
}

static void note_loss(StudyPast *past, const char *device, const IfmMeasurement *last)
{
    Health *health = health_of(past, device);
    if (last->started_unix_ms < health->lost_ms)
        return;
    health->lost_ms = last->started_unix_ms;
    g_free(health->why);
    health->why = g_strdup(last->reason);
}

/* Which of several devices was lost, the record tells. */
static void note_lost_devices(StudyPast *past, const IfmMeasurement *last)
{
    gsize i;
    json_t *device;
    if (was_lost(last))
        json_array_foreach(json_object_get(last->surroundings, "lost_devices"), i, device)
        {
            note_loss(past, json_string_value(device), last);
        }
}

static void note_ok(StudyPast *past, const char *device, const IfmMeasurement *last)
{
    Health *health = device != NULL ? health_of(past, device) : NULL;
    if (health != NULL)
        health->ok_ms = MAX(health->ok_ms, last->started_unix_ms);
}

static void note_stage(StudyPast *past, const char *device, const IfmMeasurement *last)
{
    if (last->outcome == IFM_OUTCOME_OK)
        note_ok(past, device, last);
    else if (was_lost(last))
        note_loss(past, device, last);
}

/* Beside others all of them inferred. */
static void note_beside(StudyPast *past, const char *device, const json_t *busy, const IfmMeasurement *last)
{
    gsize i;
    json_t *alias;
    if (last->outcome != IFM_OUTCOME_OK)
    {
        note_lost_devices(past, last);
        return;
    }
    note_ok(past, device, last);
    json_array_foreach(busy, i, alias) note_ok(past, study_manifest_device(past->manifest, json_string_value(alias)), last);
}

static gboolean note_case(StudyPast *past, const json_t *row, GError **error)
{
    GError *trouble = NULL;
    const char *key = text_in(row, "key"), *to = text_in(row, "to");
    const char *device = study_manifest_device(past->manifest, text_in(row, "alias"));
    if (key == NULL || device == NULL)
        return TRUE;
    g_autoptr(IfmMeasurement) last = ifm_store_last(past->store, key, &trouble);
    if (trouble != NULL)
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    const json_t *busy = json_object_get(row, "busy");
    if (last != NULL && to != NULL) /* that a copy went well says nothing of a device: host memory moved */
        note_lost_devices(past, last);
    else if (last != NULL && busy != NULL)
        note_beside(past, device, busy, last);
    else if (last != NULL)
        note_stage(past, device, last);
    return TRUE;
}

StudyPast *study_past_new(IfmStore *store, json_t *manifest, GError **error)
{
    StudyPast *past = g_new0(StudyPast, 1);
    gsize i;
    json_t *row;
    json_auto_t *machine = ifm_sensor_machine("/");
    past->store = store;
    past->manifest = json_incref(manifest);
    past->machine = g_strdup(text_in(machine, "id"));
    past->health = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)health_free);
    past->keys = study_manifest_keys(manifest);
    json_array_foreach(json_object_get(manifest, "cases"), i, row)
    {
        if (!note_case(past, row, error))
        {
            study_past_free(past);
            return NULL;
        }
    }
    return past;
}

void study_past_tell_losses(const StudyPast *past, IfmRunner *runner)
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

/* --- what stands ------------------------------------------------------------------------------------------------------ */

/* The number of the session that something happened in, from 1; 0: before the first. */
static gsize session_of(const StudyPast *past, gint64 at_ms)
{
    gsize i, number = 0;
    json_t *session;
    json_array_foreach(json_object_get(past->manifest, "sessions"), i, session)
    {
        if (json_integer_value(json_object_get(session, "started_unix_ms")) <= at_ms)
            number = i + 1;
    }
    return number;
}

static gboolean was_lost_later(const StudyPast *past, const IfmStudyDevice *device, gint64 than_ms)
{
    const Health *health = device != NULL ? g_hash_table_lookup(past->health, device->device) : NULL;
    return health != NULL && health->why != NULL && session_of(past, health->lost_ms) > session_of(past, than_ms);
}

/* What a loss left untried gets one more session in which the device answers. Where that one lost it again, nothing says
 * that the next would not: the same study would lose a case more each time, and never come to an end. */
gboolean study_past_stands(const StudyPast *past, const StudyCase *one, const IfmMeasurement *last, gboolean retry)
{
    if (g_str_equal(last->stop_reason, "interrupted"))
        return FALSE;
    if (last->outcome == IFM_OUTCOME_OK)
        return TRUE;
    if (retry)
        return FALSE;
    gboolean stands = last->outcome == IFM_OUTCOME_FAILED || was_lost_later(past, one->device, last->started_unix_ms) ||
                      was_lost_later(past, one->to, last->started_unix_ms);
    for (IfmStudyDevice **other = one->beside; !stands && other != NULL && *other != NULL; other++)
        stands = was_lost_later(past, *other, last->started_unix_ms);
    return stands;
}

/* Whether a record answers to what is asked now, as far as that can be told without the device: the engine's version
 * cannot, the protocol and the machine can. */
static gboolean is_the_same(const StudyPast *past, const IfmCase *record, const IfmProtocol *protocol)
{
    json_auto_t *asked = study_protocol_to_json(protocol);
    const char *machine = text_in(record->surroundings, "machine");
    return json_equal(json_object_get(record->options, "protocol"), asked) && g_strcmp0(machine, past->machine) == 0;
}

gboolean study_past_key(const StudyPast *past, const IfmStudy *study, const StudyCase *one, char **key, GError **error)
{
    const char *found = study_manifest_key(past->keys, one);
    GError *trouble = NULL;
    *key = NULL;
    if (found == NULL)
        return TRUE;
    g_autoptr(IfmCase) record = ifm_store_case(past->store, found, &trouble);
    if (trouble != NULL)
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    if (record != NULL && is_the_same(past, record, study_case_protocol(study, one)))
        *key = g_strdup(found);
    return TRUE;
}
