/* room: study */
#pragma once
#include <inferometer/study.h>

IFM_BEGIN_DECLS

/*
 * A study on a cluster: a job array of Slurm, whose tasks are the study's shards (IfmStudyOptions.shard). All is in the
 * study's folder, which every node must see under the same path:
 *
 *     FOLDER/shard-I-of-N.out                    what task I printed
 *     FOLDER/cluster/submission.json             what was submitted: shards, jobs
 *     FOLDER/cluster/job.sh                      the script of the last job array
 *     FOLDER/cluster/shard-I-of-N/store.db       the store of shard I
 *
 * The stores are the truth: the queue only states where a task runs or why it waits. No accounting database is needed.
 */

/** IfmClusterOptions: what a job array is submitted with. */
typedef struct
{
    gboolean slurm;      /* names the scheduler; needed for a first submission */
    gint64 n_shards;     /* IFM_OPTION_UNSET: those of the first submission */
    gboolean missing;    /* submits the shards that have cases without a result and no task in the queue */
    gboolean dry_run;    /* writes the script and submits nothing */
    const char *cluster; /* YAML file that describes the cluster; see docs/cluster.md */
    const char *gpu;     /* a name under `gpus` of that file: partition, constraint and gres of such nodes */
    const char *partition;
    const char *constraint;
    const char *gres;
    const char *account;
    const char *qos;
    gint64 time_ns;           /* limit of a task; IFM_OPTION_UNSET: the partition's */
    gint64 memory_bytes;      /* of a node; IFM_OPTION_UNSET: the partition's */
    gint64 cpus_per_task;     /* IFM_OPTION_UNSET: 1 */
    gboolean exclusive;       /* no other job on the node */
    const char *const *extra; /* further options of sbatch, "--reservation=bench" */
    const char *program;      /* the command on the nodes; NULL: that of the cluster's file, else this one */
    /* Not rows. @study: what `inferometer study run` calls the study: a shipped name or a file. @arguments: its further
     * words, such as "--runs", "50"; with `missing` they are added to those of the first submission. */
    const char *study;
    const char *const *arguments;
} IfmClusterOptions;
/** ifm_cluster_options: the rows, from `slurm` to `program`. */
extern const IfmOption ifm_cluster_options[];

/** IfmClusterJob: a job array that was submitted. */
typedef struct
{
    char *id;       /* NULL: nothing was submitted */
    char *script;   /* the path of its script */
    gsize n_tasks;  /* 0: there was nothing to submit */
    gsize n_shards; /* of the study */
} IfmClusterJob;
void ifm_cluster_job_clear(IfmClusterJob *job);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmClusterJob, ifm_cluster_job_clear)

/**
 * ifm_cluster_submit: Writes the script of a job array and submits it with `sbatch --parsable`.
 * @study: with its devices set; NULL with `missing` alone    @folder: the study's
 * Returns: FALSE with IFM_ERROR_USAGE (a value that the rows refuse), IFM_ERROR_INVALID (more shards than cases; a
 * partition, constraint or GPU that the cluster's file does not have; a study that was submitted already),
 * IFM_ERROR_UNAVAILABLE (no Slurm; another process submits the study), IFM_ERROR_FAILED with the line of an sbatch that
 * refused. Nothing is recorded then.
 */
gboolean ifm_cluster_submit(IfmStudy *study, const char *folder, const IfmClusterOptions *options, IfmClusterJob *job,
                            GError **error);

/** IfmCaseCounts: cases with a latency, failed, of devices that were not there, and without any result. */
typedef struct
{
    gint64 n_cases, n_done, n_failed, n_unavailable, n_missing;
} IfmCaseCounts;

/** IfmCombinationStatus: the cases of one combination, such as a model with an algorithm, over all sizes and shards. */
typedef struct
{
    char *name; /* "CPU resnet18, winograd" */
    IfmCaseCounts counts;
} IfmCombinationStatus;

/** IfmShardStatus: one shard: its task in the queue, and its store. */
typedef struct
{
    gsize number;
    char *state; /* "running", "queued", …: its task's; without one "done", "failed", "missing", "unavailable" */
    char *where; /* the node it runs on, or why it waits; NULL */
    char *job;   /* "12_3"; NULL where no task is in the queue */
    char *log;   /* path of what its tasks printed */
    char *why;   /* why its store cannot be read; NULL where it can, or is not there yet */
    gboolean queued;
    IfmCaseCounts counts;
} IfmShardStatus;

/** IfmClusterStatus: all shards of a submission. */
typedef struct
{
    char *name;              /* the study's */
    GPtrArray *shards;       /* IfmShardStatus* */
    GPtrArray *combinations; /* IfmCombinationStatus*, in the order of the cases; none before a shard has a store, and in
                              * studies of stages */
    char *queue_unknown;     /* why the queue could not be asked, one line; NULL where it was */
} IfmClusterStatus;

/** ifm_cluster_is_submitted: whether a study's folder holds a submission. */
gboolean ifm_cluster_is_submitted(const char *folder);
/** ifm_cluster_status: (transfer full) NULL with an error where the submission cannot be read. */
IfmClusterStatus *ifm_cluster_status(const char *folder, GError **error);
void ifm_cluster_status_free(IfmClusterStatus *status);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmClusterStatus, ifm_cluster_status_free)

/** IfmStudyMerge: what a merge came to. */
typedef struct
{
    gsize n_shards; /* merged: those with a store */
    gsize n_of;     /* how many the study was divided into */
    gsize n_cases, n_done, n_missing;
} IfmStudyMerge;

/**
 * ifm_study_merge: Puts the stores of a study's shards into FOLDER/store.db, in one transaction. Each case comes from the
 * shard that it belongs to; a case that FOLDER/store.db has already is not added again. Merging twice changes nothing.
 * @study: (nullable) whose shards they must be
 * @shards: (nullable) their folders, NULL-terminated; NULL: those of the submission in @folder
 * Returns: FALSE with IFM_ERROR_INVALID (shards of different studies or divisions, of different versions of the program or
 * of the store's schema; a store that is no shard's; the store of another study in @folder), IFM_ERROR_UNAVAILABLE (no
 * shard has a store), IFM_ERROR_CORRUPT. FOLDER/store.db is then unchanged.
 */
gboolean ifm_study_merge(IfmStudy *study, const char *folder, const char *const *shards, IfmStudyMerge *merge,
                         GError **error);

IFM_END_DECLS
