#include <base/base.h>
#include <base/fields.h>
#include <string.h>

#include "study-cluster-private.h"

/* FOLDER/cluster/submission.json is written whole or not at all, by whoever holds the lock of FOLDER/cluster. */

#define RECORD_FILE "submission.json"
#define RECORD_FORMAT 1

char *cluster_record_path(const char *folder)
{
    return g_build_filename(folder, CLUSTER_FOLDER, RECORD_FILE, NULL);
}

char *cluster_shard_folder(const char *folder, gint64 shard, gint64 n_shards)
{
    g_autofree char *name = g_strdup_printf("shard-%" G_GINT64_FORMAT "-of-%" G_GINT64_FORMAT, shard, n_shards);
    return g_build_filename(folder, CLUSTER_FOLDER, name, NULL);
}

char *cluster_shard_log(const char *folder, gint64 shard, gint64 n_shards)
{
    g_autofree char *name = g_strdup_printf("shard-%" G_GINT64_FORMAT "-of-%" G_GINT64_FORMAT ".out", shard, n_shards);
    return g_build_filename(folder, name, NULL);
}

static void job_free(ClusterJob *job)
{
    g_free(job->id);
    g_free(job->cluster);
    g_array_unref(job->shards);
    g_free(job);
}

ClusterRecord *cluster_record_new(void)
{
    ClusterRecord *record = g_new0(ClusterRecord, 1);
    record->jobs = g_ptr_array_new_with_free_func((GDestroyNotify)job_free);
    return record;
}

void cluster_record_free(ClusterRecord *record)
{
    if (record == NULL)
        return;
    g_free(record->name);
    g_free(record->study);
    g_strfreev(record->arguments);
    g_ptr_array_unref(record->jobs);
    g_free(record);
}

static ClusterJob *job_new(void)
{
    ClusterJob *job = g_new0(ClusterJob, 1);
    job->shards = g_array_new(FALSE, FALSE, sizeof(gint64));
    return job;
}

ClusterJob *cluster_record_add_job(ClusterRecord *record, const GArray *shards)
{
    ClusterJob *job = job_new();
    g_array_append_vals(job->shards, shards->data, shards->len);
    g_ptr_array_add(record->jobs, job);
    return job;
}

const ClusterJob *cluster_record_job_of(const ClusterRecord *record, gint64 shard)
{
    for (guint i = record->jobs->len; i > 0; i--)
    {
        const ClusterJob *job = record->jobs->pdata[i - 1];
        for (guint s = 0; s < job->shards->len; s++)
            if (g_array_index(job->shards, gint64, s) == shard)
                return job;
    }
    return NULL;
}

/* --- out ------------------------------------------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
    return text != NULL ? ifm_json_string(text) : json_null();
}

gboolean cluster_record_write(const ClusterRecord *record, const char *folder, GError **error)
{
    json_t *arguments = json_array(), *jobs = json_array();
    for (char **word = record->arguments; word != NULL && *word != NULL; word++)
        json_array_append_new(arguments, ifm_json_string(*word));
    for (guint i = 0; i < record->jobs->len; i++)
    {
        const ClusterJob *job = record->jobs->pdata[i];
        json_array_append_new(jobs, json_pack("{s:o,s:o,s:o}", "id", text_or_null(job->id), "cluster",
                                              text_or_null(job->cluster), "shards", ifm_json_int64_array(job->shards)));
    }
    json_auto_t *json =
        json_pack("{s:i,s:s,s:o,s:o,s:o,s:I,s:I,s:o}", "format_version", RECORD_FORMAT, "program", IFM_VERSION, "name",
                  ifm_json_string(record->name), "study", ifm_json_string(record->study), "arguments", arguments,
                  "n_shards", (json_int_t)record->n_shards, "n_cases", (json_int_t)record->n_cases, "jobs", jobs);
    g_autofree char *text = json_dumps(json, JSON_INDENT(2)), *path = cluster_record_path(folder);
    return ifm_file_save(path, text, strlen(text), error);
}

/* --- in -------------------------------------------------------------------------------------------------------------- */

static gboolean read_job(ClusterRecord *record, const json_t *json, GError **error)
{
    static const char where[] = "jobs[]";
    gsize i;
    json_t *shards, *shard;
    ClusterJob *job = job_new();
    g_ptr_array_add(record->jobs, job);
    if (!study_text_or_null(json, where, "id", &job->id, error) ||
        !study_text_or_null(json, where, "cluster", &job->cluster, error) ||
        !ifm_json_get_array(json, where, "shards", &shards, error))
        return FALSE;
    json_array_foreach(shards, i, shard)
    {
        gint64 number = json_integer_value(shard);
        g_array_append_val(job->shards, number);
    }
    return TRUE;
}

static gboolean read_all(ClusterRecord *record, const json_t *json, GError **error)
{
    static const char where[] = "submission";
    const char *name, *study;
    gsize i;
    gint64 version;
    json_t *arguments, *jobs, *one;
    if (!ifm_json_get_int64(json, where, "format_version", &version, error) ||
        !ifm_json_get_string(json, where, "name", &name, error) ||
        !ifm_json_get_string(json, where, "study", &study, error) ||
        !ifm_json_get_array(json, where, "arguments", &arguments, error) ||
        !ifm_json_get_int64(json, where, "n_shards", &record->n_shards, error) ||
        !ifm_json_get_int64(json, where, "n_cases", &record->n_cases, error) ||
        !ifm_json_get_array(json, where, "jobs", &jobs, error))
        return FALSE;
    if (version != RECORD_FORMAT || record->n_shards < 1 || record->n_shards > record->n_cases)
        return ifm_error_refuse(
            error, "format %" G_GINT64_FORMAT " with %" G_GINT64_FORMAT " shards is not one that this program reads",
            version, record->n_shards);
    record->name = g_strdup(name);
    record->study = g_strdup(study);
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    json_array_foreach(arguments, i, one)
    {
        if (json_is_string(one))
            g_strv_builder_add(words, json_string_value(one));
    }
    record->arguments = g_strv_builder_end(words);
    json_array_foreach(jobs, i, one)
    {
        if (!read_job(record, one, error))
            return FALSE;
    }
    return TRUE;
}

ClusterRecord *cluster_record_read(const char *folder, GError **error)
{
    g_autofree char *path = cluster_record_path(folder);
    json_auto_t *json = ifm_json_load(path, error);
    g_autoptr(ClusterRecord) record = json != NULL ? cluster_record_new() : NULL;
    if (record == NULL)
        return NULL;
    if (read_all(record, json, error))
        return g_steal_pointer(&record);
    g_prefix_error(error, "%s: ", path);
    return NULL;
}

gboolean ifm_cluster_is_submitted(const char *folder)
{
    g_autofree char *path = cluster_record_path(folder);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}
