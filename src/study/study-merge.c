#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include <base/fields.h>
#include <campaign/campaign.h>
#include <store/store.h>

#include "study-cluster-private.h"

/* The stores of a study's shards are merged into one store with one manifest. */

/*
 * Shards seal the whole list of cases, each on its own machine, and measure what is theirs. The merged manifest takes each
 * case from the shard that it belongs to, or where that has no result of it from another store that has. All of it is
 * gathered in a scratch store first, and then added to the study's store in one transaction.
 */

typedef struct
{
    char *path;
    IfmStore *store;
    StudyManifest *manifest;
    StudyShard shard;
} Part;

static void part_free(Part *part)
{
    g_free(part->path);
    ifm_store_close(part->store);
    study_manifest_free(part->manifest);
    g_free(part);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Part, part_free)

/* --- what is merged --------------------------------------------------------------------------------------------------- */

/* @required: FALSE: no store is fine, and none that its task has only begun */
static gboolean add_part(GPtrArray *parts, const char *folder, gboolean required, GError **error)
{
    g_autoptr(Part) part = g_new0(Part, 1);
    part->path = g_build_filename(folder, "store.db", NULL);
    if (!required && !g_file_test(part->path, G_FILE_TEST_EXISTS))
        return TRUE;
    part->store = ifm_store_open(part->path, IFM_STORE_READ, error);
    if (part->store == NULL || !ifm_store_check(part->store, error) ||
        !study_manifest_read(part->store, &part->manifest, error))
        return FALSE;
    if (part->manifest == NULL && !required)
        return TRUE;
    if (!study_shard_read(part->manifest, &part->shard))
        return ifm_error_refuse(error, "%s: is not the store of a shard", part->path);
    g_ptr_array_add(parts, g_steal_pointer(&part));
    return TRUE;
}

static gboolean open_submitted(GPtrArray *parts, const char *folder, GError **error)
{
    if (!ifm_cluster_is_submitted(folder))
        return ifm_error_refuse(error, "%s: was not submitted to a cluster; expected the folders of its shards", folder);
    g_autoptr(ClusterRecord) record = cluster_record_read(folder, error);
    for (gint64 number = 1; record != NULL && number <= record->n_shards; number++)
    {
        g_autofree char *shard = cluster_shard_folder(folder, number, record->n_shards);
        if (!add_part(parts, shard, FALSE, error))
            return FALSE;
    }
    return record != NULL;
}

static gboolean open_parts(GPtrArray *parts, const char *folder, const char *const *shards, GError **error)
{
    if (shards == NULL && !open_submitted(parts, folder, error))
        return FALSE;
    for (; shards != NULL && *shards != NULL; shards++)
        if (!add_part(parts, *shards, TRUE, error))
            return FALSE;
    if (parts->len > 0)
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: no shard has a store yet", folder);
}

/* --- whether they belong together ------------------------------------------------------------------------------------- */

/* The same cases, of the same devices. */
static gboolean are_cases_equal(const StudyManifest *one, const StudyManifest *other)
{
    gboolean equal = one->cases->len == other->cases->len && one->devices->len == other->devices->len;
    for (guint i = 0; equal && i < one->devices->len; i++)
    {
        const IfmStudyDevice *left = one->devices->pdata[i], *right = other->devices->pdata[i];
        equal = g_str_equal(left->alias, right->alias) && g_str_equal(left->device, right->device);
    }
    for (guint i = 0; equal && i < one->cases->len; i++)
    {
        g_autofree char *left = study_case_place(one->devices, one->cases->pdata[i]),
                        *right = study_case_place(other->devices, other->cases->pdata[i]);
        equal = g_str_equal(left, right);
    }
    return equal;
}

static gboolean check_versions(const Part *first, const Part *part, GError **error)
{
    if (part->shard.schema == first->shard.schema && g_str_equal(part->shard.program, first->shard.program))
        return TRUE;
    return ifm_error_refuse(error,
                            "%s: is of inferometer %s, schema %" G_GINT64_FORMAT ", and %s of %s, schema %" G_GINT64_FORMAT
                            ": measure the shards with one version",
                            part->path, part->shard.program, part->shard.schema, first->path, first->shard.program,
                            first->shard.schema);
}

static gboolean check_pair(const Part *first, const Part *part, GError **error)
{
    const StudyManifest *one = first->manifest, *other = part->manifest;
    if (!g_str_equal(one->name, other->name))
        return ifm_error_refuse(error, "%s: is a shard of study \"%s\", and %s one of \"%s\"", part->path, other->name,
                                first->path, one->name);
    if (!check_versions(first, part, error))
        return FALSE;
    if (part->shard.of != first->shard.of)
        return ifm_error_refuse(error, "%s: is one of %" G_GINT64_FORMAT " shards, and %s one of %" G_GINT64_FORMAT,
                                part->path, part->shard.of, first->path, first->shard.of);
    return (g_str_equal(one->title, other->title) && json_equal(one->definition, other->definition) &&
            are_cases_equal(one, other)) ||
           ifm_error_refuse(error, "%s: is a shard of another \"%s\" than %s: axes, devices or protocol differ", part->path,
                            other->name, first->path);
}

static gboolean check_parts(const GPtrArray *parts, GError **error)
{
    const Part *first = parts->pdata[0];
    for (guint i = 1; i < parts->len; i++)
    {
        const Part *part = parts->pdata[i];
        if (!check_pair(first, part, error))
            return FALSE;
        for (guint k = 0; k < i; k++)
        {
            const Part *other = parts->pdata[k];
            if (other->shard.number == part->shard.number)
                return ifm_error_refuse(error, "%s and %s are both shard %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT,
                                        other->path, part->path, part->shard.number, part->shard.of);
        }
    }
    return TRUE;
}

/* --- one manifest ----------------------------------------------------------------------------------------------------- */

/* 3: a latency, 2: another outcome, 1: sealed or refused, 0: nothing. */
static gboolean rank_case(IfmStore *store, const IfmStudyCase *row, int *rank, GError **error)
{
    g_autoptr(IfmMeasurement) last = NULL;
    if (!ifm_store_find(store, row->key, FALSE, &last, error))
        return FALSE;
    *rank = last == NULL ? row->key != NULL || row->refused != NULL : last->outcome == IFM_OUTCOME_OK ? 3 : 2;
    return TRUE;
}

/* The best row of a case: its own shard's before the others', those before what the study's store had. */
static IfmStudyCase *choose_case(const GPtrArray *parts, guint index, IfmStudyMerge *merge, GError **error)
{
    IfmStudyCase *best = NULL;
    int best_rank = -1;
    for (guint i = 0; i < parts->len; i++)
    {
        const Part *part = parts->pdata[i];
        IfmStudyCase *row = part->manifest->cases->pdata[index];
        int rank;
        if (!rank_case(part->store, row, &rank, error))
            return NULL;
        gboolean own = part->shard.of > 0 && ifm_shard_has(index, (gsize)part->shard.number, (gsize)part->shard.of);
        if (rank > best_rank || (own && rank == best_rank))
            best = row;
        best_rank = MAX(rank, best_rank);
    }
    merge->n_done += best_rank == 3;
    merge->n_missing += best_rank < 2 && best->refused == NULL;
    return best;
}

/* Whether another shard's device says more: it was there, or its peak is known. */
static gboolean is_better(const IfmStudyDevice *device, const IfmStudyDevice *before)
{
    return device->reason == NULL &&
           (before->reason != NULL || (device->peak_flop_per_s > 0 && before->peak_flop_per_s <= 0));
}

/* A device that was there for one shard was there. */
static void merge_devices(const GPtrArray *parts, GPtrArray *devices)
{
    g_ptr_array_extend(devices, ((const Part *)parts->pdata[0])->manifest->devices, NULL, NULL);
    for (guint i = 1; i < parts->len; i++)
        for (guint d = 0; d < devices->len; d++)
        {
            IfmStudyDevice *device = ((const Part *)parts->pdata[i])->manifest->devices->pdata[d];
            if (is_better(device, devices->pdata[d]))
                devices->pdata[d] = device;
        }
}

static gint compare_sessions(gconstpointer a, gconstpointer b)
{
    const StudySession *x = *(const StudySession *const *)a, *y = *(const StudySession *const *)b;
    return (x->started_unix_ms > y->started_unix_ms) - (x->started_unix_ms < y->started_unix_ms);
}

static gboolean is_same_session(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(StudySession)) == 0;
}

/* In ascending order of their starts, each once. */
static void merge_sessions(const GPtrArray *parts, GPtrArray *sessions)
{
    for (guint i = 0; i < parts->len; i++)
    {
        const GPtrArray *own = ((const Part *)parts->pdata[i])->manifest->sessions;
        for (guint k = 0; k < own->len; k++)
            if (!g_ptr_array_find_with_equal_func(sessions, own->pdata[k], is_same_session, NULL))
                g_ptr_array_add(sessions, own->pdata[k]);
    }
    g_ptr_array_sort(sessions, compare_sessions);
}

/* @parts: the shards, and behind them the study's store where it has the same cases. (transfer full) */
static json_t *merge_manifests(const GPtrArray *parts, IfmStudyMerge *merge, GError **error)
{
    g_autoptr(GPtrArray) devices = g_ptr_array_new(), cases = g_ptr_array_new(), sessions = g_ptr_array_new();
    StudyManifest merged = *((const Part *)parts->pdata[0])->manifest;
    merge->n_cases = merged.cases->len;
    for (guint i = 0; i < merged.cases->len; i++)
    {
        IfmStudyCase *row = choose_case(parts, i, merge, error);
        if (row == NULL)
            return NULL;
        g_ptr_array_add(cases, row);
    }
    merge_devices(parts, devices);
    merge_sessions(parts, sessions);
    merged.devices = devices;
    merged.cases = cases;
    merged.sessions = sessions;
    merged.shard = NULL;
    return study_manifest_to_json(&merged);
}

/* --- one store -------------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmStore *scratch, *into;
    GError *error;
} Gather;

/* What is measured already is not taken a second time; failures before it are. */
static gboolean gather_one(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    Gather *gather = user;
    IfmStore *stores[] = { gather->scratch, gather->into };
    for (gsize i = 0; i < G_N_ELEMENTS(stores) && measurement->outcome == IFM_OUTCOME_OK; i++)
    {
        g_autoptr(IfmMeasurement) known = ifm_store_latest(stores[i], subject_case->key, &gather->error);
        if (gather->error != NULL)
            return FALSE;
        if (known != NULL)
            return TRUE;
    }
    return ifm_store_commit(gather->scratch, subject_case, measurement, &gather->error);
}

static gboolean gather_all(const GPtrArray *parts, IfmStore *scratch, IfmStore *into, const json_t *manifest,
                           GError **error)
{
    for (guint i = 0; i < parts->len; i++)
    {
        Gather gather = { scratch, into, NULL };
        gboolean good = ifm_store_each(((const Part *)parts->pdata[i])->store, gather_one, &gather, error);
        if (gather.error != NULL)
            g_propagate_error(error, gather.error);
        if (!good || gather.error != NULL)
            return FALSE;
    }
    return ifm_store_set_document(scratch, STUDY_DOCUMENT, manifest, error) &&
           ifm_store_merge_over(into, scratch, NULL, error);
}

/* What the study's store has so far; it must be the same study's. @old: (out) NULL where it is empty or has other cases,
 * which the shards replace */
static gboolean read_target(IfmStore *into, const Part *first, Part **old, GError **error)
{
    g_autoptr(StudyManifest) manifest = NULL;
    *old = NULL;
    if (!study_manifest_read(into, &manifest, error))
        return FALSE;
    if (manifest == NULL)
        return study_check_empty(into, error);
    if (!study_check_identity(into, manifest, first->manifest->name, ifm_member(first->manifest->definition, "model"),
                              FALSE, error))
        return FALSE;
    if (!are_cases_equal(first->manifest, manifest))
        return TRUE;
    *old = g_new0(Part, 1);
    (*old)->path = g_strdup(ifm_store_path(into));
    (*old)->manifest = g_steal_pointer(&manifest);
    (*old)->store = ifm_store_open((*old)->path, IFM_STORE_READ, error);
    return (*old)->store != NULL;
}

static gboolean merge_into(GPtrArray *parts, IfmStore *into, const char *scratch_path, IfmStudyMerge *merge, GError **error)
{
    Part *old = NULL;
    gboolean good = read_target(into, parts->pdata[0], &old, error);
    guint n = parts->len;
    if (old != NULL)
        g_ptr_array_add(parts, old);
    json_auto_t *manifest = good ? merge_manifests(parts, merge, error) : NULL;
    g_ptr_array_set_size(parts, (int)n);
    g_autoptr(IfmStore) scratch = manifest != NULL ? ifm_store_open(scratch_path, IFM_STORE_SCRATCH, error) : NULL;
    return scratch != NULL && gather_all(parts, scratch, into, manifest, error);
}

gboolean ifm_study_merge(IfmStudy *study, const char *folder, const char *const *shards, IfmStudyMerge *merge,
                         GError **error)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func((GDestroyNotify)part_free);
    *merge = (IfmStudyMerge){ 0 };
    if (!open_parts(parts, folder, shards, error) || !check_parts(parts, error) ||
        (study != NULL && !ifm_study_check_store(study, ((const Part *)parts->pdata[0])->store, error)))
        return FALSE;
    merge->n_shards = parts->len;
    merge->n_of = (gsize)((const Part *)parts->pdata[0])->shard.of;
    g_autofree char *path = g_build_filename(folder, "store.db", NULL),
                    *scratch_path = g_strdup_printf("%s/merge-%d.db", folder, (int)getpid());
    g_autoptr(IfmStore) into = ifm_store_open(path, IFM_STORE_WRITE, error);
    if (into == NULL)
        return FALSE;
    g_autofree char *parent = g_path_get_dirname(path);
    g_autoptr(IfmStudyLock) lock = ifm_study_lock_new(parent, error);
    return lock != NULL && merge_into(parts, into, scratch_path, merge, error);
}
