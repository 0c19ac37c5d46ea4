#include <base/base.h>
#include <base/fields.h>
#include <string.h>

#include <store/store.h>

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

static const IfmRecordField job_fields[] = {
    { IFM_RECORD(STRING, ClusterJob, id) },
    { IFM_RECORD(STRING, ClusterJob, cluster) },
    { IFM_RECORD(SERIES, ClusterJob, shards) },
    { NULL },
};

static const IfmRecordField record_fields[] = {
    { IFM_RECORD(INT64, ClusterRecord, format_version) },
    { IFM_RECORD(TEXT, ClusterRecord, program) },
    { IFM_RECORD(TEXT, ClusterRecord, name) },
    { IFM_RECORD(TEXT, ClusterRecord, study) },
    { IFM_RECORD(TEXTS, ClusterRecord, arguments) },
    { IFM_RECORD(INT64, ClusterRecord, n_shards) },
    { IFM_RECORD(INT64, ClusterRecord, n_cases) },
    { IFM_RECORD(ROWS, ClusterRecord, jobs), IFM_FIELDS_OF(job_fields, ClusterJob) },
    { NULL },
};

ClusterRecord *cluster_record_new(void)
{
    ClusterRecord *record = g_new0(ClusterRecord, 1);
    ifm_record_init(record, record_fields);
    record->format_version = RECORD_FORMAT;
    ifm_record_set_text(&record->program, IFM_VERSION);
    return record;
}

void cluster_record_free(ClusterRecord *record)
{
    ifm_record_free(record, record_fields);
}

ClusterJob *cluster_record_add_job(ClusterRecord *record, const GArray *shards)
{
    ClusterJob *job = g_new0(ClusterJob, 1);
    job->shards = g_array_copy((GArray *)shards);
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

gboolean cluster_record_write(const ClusterRecord *record, const char *folder, GError **error)
{
    json_auto_t *json = ifm_record_to_json(record, record_fields);
    g_autofree char *text = json_dumps(json, JSON_INDENT(2)), *path = cluster_record_path(folder);
    return ifm_file_save(path, text, strlen(text), error);
}

static gboolean check_record(const ClusterRecord *record, GError **error)
{
    return (record->format_version == RECORD_FORMAT && record->n_shards >= 1 && record->n_shards <= record->n_cases) ||
           ifm_error_refuse(
               error, "format %" G_GINT64_FORMAT " with %" G_GINT64_FORMAT " shards is not one that this program reads",
               record->format_version, record->n_shards);
}

ClusterRecord *cluster_record_read(const char *folder, GError **error)
{
    g_autofree char *path = cluster_record_path(folder);
    json_auto_t *json = ifm_json_load(path, error);
    g_autoptr(ClusterRecord) record = json != NULL ? cluster_record_new() : NULL;
    if (record == NULL)
        return NULL;
    if (ifm_record_from_json(record, record_fields, json, "submission", NULL, error) && check_record(record, error))
        return g_steal_pointer(&record);
    g_prefix_error(error, "%s: ", path);
    return NULL;
}

gboolean ifm_cluster_is_submitted(const char *folder)
{
    g_autofree char *path = cluster_record_path(folder);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}
