#include <campaign/campaign.h>
#include <measure/measure.h>
#include <sensor/sensor.h>
#include <store/store.h>
#include <string.h>

#include "study-private.h"

struct StudyPast
{
    IfmStore *store;
    json_t *manifest; /* NULL: there is none yet */
    GHashTable *rows; /* study_manifest_rows() */
    char *machine;    /* id of this one; NULL: not known */
};

void study_past_free(StudyPast *past)
{
    if (past == NULL)
        return;
    json_decref(past->manifest);
    g_hash_table_unref(past->rows);
    g_free(past->machine);
    g_free(past);
}

static const char *text_in(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

StudyPast *study_past_new(IfmStore *store, json_t *manifest)
{
    StudyPast *past = g_new0(StudyPast, 1);
    json_auto_t *machine = ifm_sensor_machine(NULL);
    past->store = store;
    past->manifest = json_incref(manifest);
    past->machine = g_strdup(text_in(machine, "id"));
    past->rows = study_manifest_rows(manifest);
    return past;
}

/* Beside others all of them inferred; that a copy went well says nothing of a device: host memory moved. */
static gboolean note_case(const StudyPast *past, const json_t *row, IfmCampaign *campaign, GError **error)
{
    GError *trouble = NULL;
    gsize i;
    json_t *alias;
    const char *key = text_in(row, "key"), *device = study_manifest_device(past->manifest, text_in(row, "alias"));
    if (key == NULL || device == NULL)
        return TRUE;
    g_autoptr(IfmMeasurement) last = ifm_store_last(past->store, key, &trouble);
    if (trouble != NULL)
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    g_autoptr(GPtrArray) devices = g_ptr_array_new();
    if (text_in(row, "to") == NULL)
        g_ptr_array_add(devices, (gpointer)device);
    json_array_foreach(json_object_get(row, "busy"), i, alias)
    {
        device = study_manifest_device(past->manifest, json_string_value(alias));
        if (device != NULL)
            g_ptr_array_add(devices, (gpointer)device);
    }
    g_ptr_array_add(devices, NULL);
    if (last != NULL)
        ifm_campaign_note(campaign, (const char *const *)devices->pdata, last);
    return TRUE;
}

gboolean study_past_note(const StudyPast *past, IfmCampaign *campaign, GError **error)
{
    gsize i;
    json_t *row;
    json_array_foreach(json_object_get(past->manifest, "cases"), i, row)
    {
        if (!note_case(past, row, campaign, error))
            return FALSE;
    }
    return TRUE;
}

/* Whether a record answers to what is asked now, as far as that can be told without the device: the engine's version
 * cannot, the protocol and the machine can. */
static gboolean is_the_same(const StudyPast *past, const IfmCase *record, const IfmProtocol *protocol)
{
    json_auto_t *asked = ifm_protocol_to_json(protocol);
    const char *machine = text_in(record->environment, "machine");
    return json_equal(json_object_get(record->options, "protocol"), asked) && g_strcmp0(machine, past->machine) == 0;
}

gboolean study_past_key(const StudyPast *past, const IfmStudy *study, StudyCase *one, char **key, GError **error)
{
    const json_t *row = study_manifest_row(past->rows, one);
    const char *found = text_in(row, "key");
    GError *trouble = NULL;
    *key = NULL;
    study_take_flop(one, row);
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
