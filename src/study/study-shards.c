#include <string.h>

#include <campaign/campaign.h>
#include <store/store.h>

#include "study-cluster-private.h"

/* What the store of a shard says: which shard it is, and what became of the cases that belong to it. */

json_t *study_shard_to_json(gsize number, gsize of)
{
    return json_pack("{s:I,s:I,s:s,s:i}", "number", (json_int_t)number, "of", (json_int_t)of, "program", IFM_VERSION,
                     "schema", IFM_STORE_SCHEMA);
}

gboolean study_shard_read(const StudyManifest *manifest, StudyShard *shard)
{
    const json_t *json = manifest != NULL ? manifest->shard : NULL;
    *shard = (StudyShard){ .number = json_integer_value(json_object_get(json, "number")),
                           .of = json_integer_value(json_object_get(json, "of")),
                           .schema = json_integer_value(json_object_get(json, "schema")),
                           .program = json_string_value(json_object_get(json, "program")) };
    return shard->program != NULL && shard->number >= 1 && shard->number <= shard->of;
}

/* What became of a case. */
typedef enum
{
    CASE_DONE,
    CASE_FAILED,
    CASE_UNAVAILABLE,
    CASE_MISSING,
    CASE_OTHER, /* another shard's */
} CaseState;

static gint64 *count_of(IfmCaseCounts *counts, CaseState state)
{
    return state == CASE_DONE          ? &counts->n_done
           : state == CASE_FAILED      ? &counts->n_failed
           : state == CASE_UNAVAILABLE ? &counts->n_unavailable
                                       : &counts->n_missing;
}

/* Of a case without a result: the device was not there, or the point cannot be tried, which the manifest says. */
static CaseState state_untried(const StudyManifest *manifest, const IfmStudyCase *row)
{
    gboolean skipped = FALSE;
    g_auto(GStrv) aliases = study_case_aliases(row);
    for (char **alias = aliases; *alias != NULL; alias++)
        skipped = skipped || study_device_find(manifest->devices, *alias)->reason != NULL;
    return row->refused != NULL ? CASE_FAILED : skipped ? CASE_UNAVAILABLE : CASE_MISSING;
}

static gboolean read_state(IfmStore *store, const StudyManifest *manifest, const IfmStudyCase *row, guint8 *state,
                           GError **error)
{
    g_autoptr(IfmMeasurement) last = NULL;
    if (!ifm_store_find(store, row->key, FALSE, &last, error))
        return FALSE;
    *state = last == NULL                          ? state_untried(manifest, row)
             : last->outcome == IFM_OUTCOME_OK     ? CASE_DONE
             : last->outcome == IFM_OUTCOME_FAILED ? CASE_FAILED
                                                   : CASE_UNAVAILABLE;
    return TRUE;
}

/* "CPU resnet18, winograd": the alias and the axes that are words, which sizes and batches are not.
 * Returns: (transfer full) NULL of a case without axes */
static char *combination_of(const IfmStudyCase *row)
{
    json_auto_t *words = json_object();
    const char *name;
    json_t *value;
    json_object_foreach(row->axes, name, value)
    {
        if (json_is_string(value))
            json_object_set(words, name, value);
    }
    return json_object_size(words) > 0 ? study_point_title(row->alias, words) : NULL;
}

static IfmCombinationStatus *find_combination(GPtrArray *combinations, const char *name)
{
    for (guint i = combinations->len; name != NULL && i-- > 0;)
        if (g_str_equal(((IfmCombinationStatus *)combinations->pdata[i])->name, name))
            return combinations->pdata[i];
    return NULL;
}

/* All combinations of a study, by the first manifest that is read. */
static void list_combinations(const GPtrArray *cases, GPtrArray *combinations)
{
    for (guint i = 0; i < cases->len; i++)
    {
        g_autofree char *name = combination_of(cases->pdata[i]);
        IfmCombinationStatus *found = find_combination(combinations, name);
        if (found == NULL && name != NULL)
        {
            found = g_new0(IfmCombinationStatus, 1);
            found->name = g_steal_pointer(&name);
            g_ptr_array_add(combinations, found);
        }
        if (found != NULL)
            found->counts.n_missing = ++found->counts.n_cases;
    }
}

/* @states: [cases] CaseState of this shard's */
static gboolean read_states(const char *path, const ClusterRecord *record, gsize shard, guint8 *states,
                            StudyManifest **manifest, GError **error)
{
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_READ, error);
    if (store == NULL || !study_manifest_read(store, manifest, error))
        return FALSE;
    const GPtrArray *cases = *manifest != NULL ? (*manifest)->cases : NULL;
    if (cases != NULL && cases->len != record->n_cases)
        return ifm_error_refuse(error, "%s: has %u cases, and %s was submitted with %" G_GINT64_FORMAT, path, cases->len,
                                record->name, record->n_cases);
    for (guint i = 0; cases != NULL && i < cases->len; i++)
        if (ifm_shard_has(i, shard, (gsize)record->n_shards) &&
            !read_state(store, *manifest, cases->pdata[i], &states[i], error))
            return FALSE;
    return TRUE;
}

void cluster_count_cases(const char *folder, const ClusterRecord *record, IfmShardStatus *status, GPtrArray *combinations)
{
    g_autoptr(StudyManifest) manifest = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *shard = cluster_shard_folder(folder, (gint64)status->number, record->n_shards),
                    *path = g_build_filename(shard, "store.db", NULL);
    g_autofree guint8 *states = g_malloc((gsize)record->n_cases);
    IfmCaseCounts *counts = &status->counts;
    memset(states, CASE_OTHER, (gsize)record->n_cases);
    for (gint64 i = 0; i < record->n_cases; i++)
        counts->n_missing = counts->n_cases += ifm_shard_has((gsize)i, status->number, (gsize)record->n_shards);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return;
    if (!read_states(path, record, status->number, states, &manifest, &error))
        status->why = g_strdup(error->message);
    if (error != NULL || manifest == NULL)
        return;
    if (combinations->len == 0)
        list_combinations(manifest->cases, combinations);
    for (guint i = 0; i < manifest->cases->len; i++)
    {
        if (states[i] >= CASE_MISSING)
            continue;
        g_autofree char *name = combination_of(manifest->cases->pdata[i]);
        IfmCombinationStatus *combination = find_combination(combinations, name);
        counts->n_missing--;
        ++*count_of(counts, states[i]);
        if (combination == NULL)
            continue;
        combination->counts.n_missing--;
        ++*count_of(&combination->counts, states[i]);
    }
}
