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

/* What became of a case. CASE_MISSING is 0: of a case that no store has. */
typedef enum
{
    CASE_MISSING,
    CASE_DONE,
    CASE_UNSUPPORTED,
    CASE_FAILED,
    CASE_UNAVAILABLE,
} CaseState;

static gint64 *count_of(IfmCaseCounts *counts, CaseState state)
{
    return state == CASE_DONE          ? &counts->n_done
           : state == CASE_UNSUPPORTED ? &counts->n_unsupported
           : state == CASE_FAILED      ? &counts->n_failed
           : state == CASE_UNAVAILABLE ? &counts->n_unavailable
                                       : &counts->n_missing;
}

static void count_case(IfmCaseCounts *counts, CaseState state)
{
    counts->n_cases++;
    ++*count_of(counts, state);
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

/* An algorithm that does not support a model is an answer, as in the study's own tables. */
static gboolean is_unsupported(const IfmMeasurement *last, const IfmStudyCase *row)
{
    return json_object_get(row->axes, "algorithm") != NULL &&
           g_strcmp0(last->error_code, ifm_error_code_name(IFM_ERROR_UNSUPPORTED)) == 0;
}

static gboolean read_state(IfmStore *store, const StudyManifest *manifest, const IfmStudyCase *row, guint8 *state,
                           GError **error)
{
    g_autoptr(IfmMeasurement) last = NULL;
    if (!ifm_store_find(store, row->key, FALSE, &last, error))
        return FALSE;
    *state = last == NULL                          ? state_untried(manifest, row)
             : last->outcome == IFM_OUTCOME_OK     ? CASE_DONE
             : last->outcome != IFM_OUTCOME_FAILED ? CASE_UNAVAILABLE
             : is_unsupported(last, row)           ? CASE_UNSUPPORTED
                                                   : CASE_FAILED;
    return TRUE;
}

/* "CPU resnet18, winograd": the alias and the axes that are words, which sizes and batches are not.
 * Returns: (transfer full) NULL of a case without axes */
static char *combination_of(const IfmStudyCase *row)
{
    json_auto_t *words = json_object();
    const char *name;
    json_t *value, *model = json_object_get(row->axes, "model");
    if (json_is_string(model)) /* a manifest has its keys by the alphabet */
        json_object_set(words, "model", model);
    json_object_foreach(row->axes, name, value)
    {
        if (json_is_string(value))
            json_object_set(words, name, value);
    }
    return json_object_size(words) > 0 ? study_point_title(row->alias, words) : NULL;
}

/* @states: [cases] CaseState: of this shard's cases, whatever became of others */
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

ClusterCases *cluster_cases_new(const ClusterRecord *record)
{
    ClusterCases *cases = g_new0(ClusterCases, 1);
    cases->n = (gsize)record->n_cases;
    cases->states = g_new0(guint8, cases->n);
    return cases;
}

void cluster_cases_free(ClusterCases *cases)
{
    for (gsize i = 0; cases->names != NULL && i < cases->n; i++)
        g_free(cases->names[i]);
    g_free(cases->names);
    g_free(cases->states);
    g_free(cases);
}

void cluster_count_cases(const char *folder, const ClusterRecord *record, IfmShardStatus *status, ClusterCases *cases)
{
    g_autoptr(StudyManifest) manifest = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *shard = cluster_shard_folder(folder, (gint64)status->number, record->n_shards),
                    *path = g_build_filename(shard, "store.db", NULL);
    g_autofree guint8 *states = g_new0(guint8, cases->n);
    if (g_file_test(path, G_FILE_TEST_EXISTS) && !read_states(path, record, status->number, states, &manifest, &error))
        status->why = g_strdup(error->message);
    for (gsize i = 0; i < cases->n; i++)
        if (ifm_shard_has(i, status->number, (gsize)record->n_shards))
            count_case(&status->counts, cases->states[i] = error == NULL ? states[i] : CASE_MISSING);
    if (error != NULL || manifest == NULL || cases->names != NULL)
        return;
    cases->names = g_new0(char *, cases->n);
    for (gsize i = 0; i < cases->n; i++)
        cases->names[i] = combination_of(manifest->cases->pdata[i]);
}

/* --- combinations ----------------------------------------------------------------------------------------------------- */

static void combination_free(IfmCombinationStatus *combination)
{
    g_free(combination->name);
    g_free(combination);
}

static IfmCombinationStatus *combination_named(GPtrArray *combinations, const char *name)
{
    for (guint i = combinations->len; i-- > 0;)
        if (g_str_equal(((IfmCombinationStatus *)combinations->pdata[i])->name, name))
            return combinations->pdata[i];
    IfmCombinationStatus *one = g_new0(IfmCombinationStatus, 1);
    one->name = g_strdup(name);
    g_ptr_array_add(combinations, one);
    return one;
}

GPtrArray *cluster_combine(const ClusterCases *cases, const GPtrArray *shards)
{
    GPtrArray *combinations = g_ptr_array_new_with_free_func((GDestroyNotify)combination_free);
    for (gsize i = 0; cases->names != NULL && i < cases->n; i++)
    {
        IfmCombinationStatus *one = cases->names[i] != NULL ? combination_named(combinations, cases->names[i]) : NULL;
        for (guint k = 0; one != NULL && k < shards->len; k++)
        {
            const IfmShardStatus *shard = shards->pdata[k];
            if (cases->states[i] != CASE_MISSING || !shard->queued || !ifm_shard_has(i, shard->number, shards->len))
                continue;
            const gboolean runs = g_str_equal(shard->state, "running");
            one->n_running += runs;
            one->n_queued += !runs;
        }
        if (one != NULL)
            count_case(&one->counts, cases->states[i]);
    }
    return combinations;
}

const char *ifm_combination_state(const IfmCombinationStatus *status)
{
    const IfmCaseCounts *counts = &status->counts;
    if (counts->n_missing > 0)
        return status->n_running > 0 ? "running" : status->n_queued > 0 ? "queued" : "missing";
    if (counts->n_failed > 0)
        return "failed";
    if (counts->n_unavailable > 0)
        return "unavailable";
    return counts->n_done == 0 && counts->n_unsupported > 0 ? "unsupported" : "done";
}
