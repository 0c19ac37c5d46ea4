#include <string.h>

#include <internal/campaign.h>
#include <internal/store.h>

#include "study-cluster-private.h"

/* What the store of a shard says: which shard it is, and what became of the cases that belong to it. */

json_t *study_shard_to_json(gsize number, gsize of)
{
    return json_pack("{s:I,s:I,s:s,s:i}", "number", (json_int_t)number, "of", (json_int_t)of, "program", IFM_VERSION,
                     "schema", ifm_store_schema_version());
}

gboolean study_shard_read(const json_t *manifest, StudyShard *shard)
{
    const json_t *json = json_object_get(manifest, "shard");
    *shard = (StudyShard){ .number = json_integer_value(json_object_get(json, "number")),
                           .of = json_integer_value(json_object_get(json, "of")),
                           .schema = json_integer_value(json_object_get(json, "schema")),
                           .program = json_string_value(json_object_get(json, "program")) };
    return shard->program != NULL && shard->number >= 1 && shard->number <= shard->of;
}

/* Whether a case takes the device of that alias. */
static gboolean is_of(const json_t *row, const char *alias)
{
    gsize i;
    json_t *busy;
    gboolean found = g_strcmp0(alias, json_string_value(json_object_get(row, "alias"))) == 0 ||
                     (alias != NULL && g_strcmp0(alias, json_string_value(json_object_get(row, "to"))) == 0);
    json_array_foreach(json_object_get(row, "busy"), i, busy)
    {
        found = found || g_strcmp0(alias, json_string_value(busy)) == 0;
    }
    return found;
}

/* A case that has neither: the device was not there, or the point cannot be tried, which the manifest says. */
static void count_untried(const json_t *manifest, const json_t *row, IfmShardStatus *status)
{
    gsize i;
    json_t *device;
    gboolean skipped = FALSE;
    json_array_foreach(json_object_get(manifest, "devices"), i, device)
    {
        if (is_of(row, json_string_value(json_object_get(device, "alias"))))
            skipped = skipped || json_is_string(json_object_get(device, "skipped"));
    }
    if (json_is_string(json_object_get(row, "refused")))
        status->n_failed++;
    else if (skipped)
        status->n_unavailable++;
    else
        status->n_missing++;
}

static gboolean count_case(IfmStore *store, const json_t *manifest, const json_t *row, IfmShardStatus *status,
                           GError **error)
{
    GError *trouble = NULL;
    const char *key = json_string_value(json_object_get(row, "key"));
    g_autoptr(IfmMeasurement) last = key != NULL ? ifm_store_last(store, key, &trouble) : NULL;
    if (trouble != NULL)
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    if (last == NULL)
        count_untried(manifest, row, status);
    else if (last->outcome == IFM_OUTCOME_OK)
        status->n_done++;
    else if (last->outcome == IFM_OUTCOME_FAILED)
        status->n_failed++;
    else
        status->n_unavailable++;
    return TRUE;
}

static gboolean count_in_store(const char *path, const ClusterRecord *record, IfmShardStatus *status, GError **error)
{
    gsize i;
    json_t *row, *cases;
    json_auto_t *manifest = NULL;
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_READ, error);
    if (store == NULL || !study_manifest_read(store, &manifest, error))
        return FALSE;
    cases = json_object_get(manifest, "cases");
    if (manifest != NULL && json_array_size(cases) != (gsize)record->n_cases)
        return ifm_error_refuse(error, "%s: has %zu cases, and %s was submitted with %" G_GINT64_FORMAT, path,
                                json_array_size(cases), record->name, record->n_cases);
    json_array_foreach(cases, i, row)
    {
        if (ifm_shard_has(i, status->number, (gsize)record->n_shards) && !count_case(store, manifest, row, status, error))
            return FALSE;
    }
    return TRUE;
}

void cluster_count_cases(const char *folder, const ClusterRecord *record, IfmShardStatus *status)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *shard = cluster_shard_folder(folder, (gint64)status->number, record->n_shards),
                    *path = g_build_filename(shard, "store.db", NULL);
    for (gsize i = 0; i < (gsize)record->n_cases; i++)
        status->n_cases += ifm_shard_has(i, status->number, (gsize)record->n_shards);
    if (g_file_test(path, G_FILE_TEST_EXISTS) && !count_in_store(path, record, status, &error))
    {
        status->n_done = status->n_failed = status->n_unavailable = 0;
        status->why = g_strdup(error->message);
    }
    status->n_missing = status->n_cases - status->n_done - status->n_failed - status->n_unavailable;
}
