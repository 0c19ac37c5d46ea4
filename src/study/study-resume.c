#include <base/base.h>
#include <base/fields.h>
#include <campaign/campaign.h>
#include <measure/measure.h>
#include <sensor/sensor.h>
#include <store/store.h>
#include <string.h>

#include "study-kind.h"

/* A study that goes on takes from its store what is known of devices and which cases are measured as asked. */

struct StudyPast
{
    IfmStore *store;
    const StudyManifest *manifest; /* NULL: there is none yet */
    GHashTable *rows;              /* study_manifest_rows() */
    char *machine;                 /* id of this one; NULL: not known */
};

void study_past_free(StudyPast *past)
{
    if (past == NULL)
        return;
    g_hash_table_unref(past->rows);
    g_free(past->machine);
    g_free(past);
}

StudyPast *study_past_new(IfmStore *store, const StudyManifest *manifest)
{
    json_auto_t *machine = ifm_sensor_machine(NULL);
    StudyPast *past = g_new0(StudyPast, 1);
    *past = (StudyPast){ store, manifest, study_manifest_rows(manifest), g_strdup(ifm_member_text(machine, "id")) };
    return past;
}

/* Beside others all of them inferred; that a copy went well says nothing of a device: host memory moved. */
static gboolean note_case(const StudyPast *past, const IfmStudyCase *row, IfmCampaign *campaign, GError **error)
{
    g_autoptr(IfmMeasurement) last = NULL;
    if (!ifm_store_find(past->store, row->key, FALSE, &last, error))
        return FALSE;
    if (last == NULL)
        return TRUE;
    g_autoptr(GPtrArray) devices = g_ptr_array_new();
    g_auto(GStrv) aliases = study_case_aliases(row);
    for (char **alias = aliases; row->to == NULL && *alias != NULL; alias++)
        g_ptr_array_add(devices, study_device_find(past->manifest->devices, *alias)->device);
    g_ptr_array_add(devices, NULL);
    ifm_campaign_note(campaign, (const char *const *)devices->pdata, last);
    return TRUE;
}

gboolean study_past_note(const StudyPast *past, IfmCampaign *campaign, GError **error)
{
    for (guint i = 0; past->manifest != NULL && i < past->manifest->cases->len; i++)
        if (!note_case(past, past->manifest->cases->pdata[i], campaign, error))
            return FALSE;
    return TRUE;
}

/* Whether a record answers to what is asked now, as far as that can be told without the device: the engine's version
 * cannot, the protocol and the machine can. */
static gboolean is_the_same(const StudyPast *past, const IfmCase *record, const IfmProtocol *protocol)
{
    json_auto_t *asked = ifm_protocol_to_json(protocol);
    return json_equal(json_object_get(record->options, "protocol"), asked) &&
           g_strcmp0(ifm_member_text(record->environment, "machine"), past->machine) == 0;
}

gboolean study_past_key(const StudyPast *past, const IfmStudy *study, StudyCase *one, char **key, GError **error)
{
    const IfmStudyCase *row = study_manifest_row(past->rows, study, one);
    GError *trouble = NULL;
    *key = NULL;
    study_take_flop(one, row);
    if (row == NULL || row->key == NULL)
        return TRUE;
    g_autoptr(IfmCase) record = ifm_store_case(past->store, row->key, &trouble);
    if (trouble != NULL)
        return ifm_error_pass(error, trouble);
    if (record != NULL && is_the_same(past, record, study_case_protocol(study, one)) &&
        (study->kind->answers == NULL || study->kind->answers(study, one, record)))
        *key = g_strdup(row->key);
    return TRUE;
}
