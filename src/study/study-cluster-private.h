#pragma once

#include "study-private.h"

/* What the files of a study on a cluster share. */

#define CLUSTER_FOLDER "cluster"

/* --- study-cluster-record.c: FOLDER/cluster/submission.json ------------------------------------------------------------
 */

typedef struct
{
    char *id;       /* NULL: sbatch was asked and its answer was lost */
    char *cluster;  /* where sbatch said so: of several clusters */
    GArray *shards; /* gint64 */
} ClusterJob;

/* ClusterRecord: what was submitted. */
typedef struct
{
    gint64 format_version;
    char *program;        /* the version that wrote it */
    char *name;           /* the study's */
    char *study;          /* as `study run` takes it */
    GPtrArray *arguments; /* char*: its further words */
    gint64 n_shards, n_cases;
    GPtrArray *jobs; /* ClusterJob*, in the order of submission */
} ClusterRecord;

/* cluster_record_read: (transfer full) NULL with an error; IFM_ERROR_UNAVAILABLE where there is none. */
ClusterRecord *cluster_record_read(const char *folder, GError **error);
gboolean cluster_record_write(const ClusterRecord *record, const char *folder, GError **error);
void cluster_record_free(ClusterRecord *record);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterRecord, cluster_record_free)
ClusterRecord *cluster_record_new(void);
/* cluster_record_add_job: (transfer none) of these shards, without an id. @shards: gint64, copied */
ClusterJob *cluster_record_add_job(ClusterRecord *record, const GArray *shards);
/* cluster_record_job_of: the last job with that shard; NULL where there is none. */
const ClusterJob *cluster_record_job_of(const ClusterRecord *record, gint64 shard);
/* (transfer full) */
char *cluster_record_path(const char *folder);
char *cluster_shard_folder(const char *folder, gint64 shard, gint64 n_shards);
char *cluster_shard_log(const char *folder, gint64 shard, gint64 n_shards);

/* --- study-cluster-profile.c: the cluster's file, and what is asked of sbatch ------------------------------------------
 */

/* ClusterRequest: options of sbatch, lines of shell that come before the command, and its further words. */
typedef struct
{
    GPtrArray *options; /* char*: "--partition=main" */
    GPtrArray *setup;   /* char* */
    char *program;      /* the command on the nodes; NULL where the caller has none: "inferometer" */
    char **arguments;   /* of `study run`; set by who submits */
    gint64 time_ns;     /* 0: the partition's */
} ClusterRequest;

/* cluster_request_new: (transfer full) NULL with an error: an option is wrong, or the cluster has no such thing. */
ClusterRequest *cluster_request_new(const IfmClusterOptions *options, GError **error);
void cluster_request_free(ClusterRequest *request);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterRequest, cluster_request_free)

/* ifm_cluster_describe: every key of a cluster's file, as text for the documentation. (transfer full) */
char *ifm_cluster_describe(void);

/* --- study-cluster-script.c --------------------------------------------------------------------------------------------
 */

/* cluster_script: (transfer full) of a job array of these shards. NULL with IFM_ERROR_INVALID: a text that sbatch cannot
 * read from a line. */
char *cluster_script(const ClusterRecord *record, const char *folder, const GArray *shards, const ClusterRequest *request,
                     GError **error);

/* --- study-cluster-queue.c: Slurm's programs ----------------------------------------------------------------------------
 */

/* cluster_queue_submit: @id: (out) (transfer full)    @cluster: (out) (transfer full) (nullable)
 * FALSE with IFM_ERROR_UNAVAILABLE: no sbatch; IFM_ERROR_FAILED: what sbatch said, in one line. */
gboolean cluster_queue_submit(const char *script, char **id, char **cluster, GError **error);
/* cluster_queue_ask: (transfer full) of the record's jobs, what waits or runs: task id, "12_3" -> char **: the id, the
 * state as Slurm says ("PENDING"), the node (of one that waits the reason); NULL with an error. */
GHashTable *cluster_queue_ask(const ClusterRecord *record, GError **error);

/* --- study-shards.c ------------------------------------------------------------------------------------------------------
 */

/* StudyShard: what a manifest says of the shard that it is of. */
typedef struct
{
    gint64 number, of, schema;
    const char *program; /* borrowed from the manifest */
} StudyShard;

/* study_shard_read: FALSE where the manifest is not a shard's. @manifest: NULL: there is none */
gboolean study_shard_read(const StudyManifest *manifest, StudyShard *shard);
/* ClusterCases: what became of all cases. @states: [n] CaseState    @names: [n] the combination of each, NULL of one
 * without axes; NULL until a store was read */
typedef struct
{
    gsize n;
    guint8 *states;
    char **names;
} ClusterCases;
ClusterCases *cluster_cases_new(const ClusterRecord *record);
void cluster_cases_free(ClusterCases *cases);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterCases, cluster_cases_free)
/* cluster_count_cases: into @status, from the shard's store, and into @cases. */
void cluster_count_cases(const char *folder, const ClusterRecord *record, IfmShardStatus *status, ClusterCases *cases);
/* cluster_combine: (transfer full) IfmCombinationStatus*, in the order of the cases. @shards: IfmShardStatus*, all of them
 */
GPtrArray *cluster_combine(const ClusterCases *cases, const GPtrArray *shards);
