#include <glib/gstdio.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <math.h>

#include <store/store.h>

#include "study-cluster-private.h"

/* A study is submitted to Slurm in shards, and the state of the shards is told from the record, the queue and the
 * stores. */

/*
 * Who submits a study holds the lock of FOLDER/cluster. The record is written before sbatch is asked and again with its
 * answer: a submission that dies in between leaves a job without a number, which the next one speaks of.
 */

void ifm_cluster_job_clear(IfmClusterJob *job)
{
    g_clear_pointer(&job->id, g_free);
    g_clear_pointer(&job->script, g_free);
}

/* --- status ----------------------------------------------------------------------------------------------------------- */

static void shard_free(IfmShardStatus *shard)
{
    g_free(shard->state);
    g_free(shard->where);
    g_free(shard->job);
    g_free(shard->log);
    g_free(shard->why);
    g_free(shard);
}

void ifm_cluster_status_free(IfmClusterStatus *status)
{
    if (status == NULL)
        return;
    g_free(status->name);
    g_free(status->queue_unknown);
    g_ptr_array_unref(status->shards);
    g_ptr_array_unref(status->combinations);
    g_free(status);
}

/* What the queue says, in the words of a study. */
static char *state_of(const char *state)
{
    static const char *const words[][2] = {
        { "PENDING", "queued" }, { "CONFIGURING", "running" }, { "RUNNING", "running" }, { "COMPLETING", "running" }
    };
    for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_str_equal(state, words[i][0]))
            return g_strdup(words[i][1]);
    return g_ascii_strdown(state, -1);
}

static const char *state_of_store(const IfmShardStatus *shard)
{
    if (shard->why != NULL)
        return "unreadable";
    if (shard->counts.n_missing > 0)
        return "missing";
    if (shard->counts.n_failed > 0)
        return "failed";
    return shard->counts.n_unavailable > 0 ? "unavailable" : "done";
}

/* @tasks: NULL: the queue is not known */
static IfmShardStatus *shard_of(const char *folder, const ClusterRecord *record, gint64 number, GHashTable *tasks,
                                ClusterCases *cases)
{
    IfmShardStatus *shard = g_new0(IfmShardStatus, 1);
    const ClusterJob *job = cluster_record_job_of(record, number);
    g_autofree char *id = job != NULL && job->id != NULL ? g_strdup_printf("%s_%" G_GINT64_FORMAT, job->id, number) : NULL;
    char *const *task = id != NULL && tasks != NULL ? g_hash_table_lookup(tasks, id) : NULL;
    shard->number = (gsize)number;
    shard->log = cluster_shard_log(folder, number, record->n_shards);
    cluster_count_cases(folder, record, shard, cases);
    shard->queued = task != NULL;
    shard->job = task != NULL ? g_strdup(task[0]) : NULL;
    shard->state = task != NULL ? state_of(task[1]) : g_strdup(state_of_store(shard));
    shard->where = task != NULL ? g_strdup(task[2]) : NULL;
    return shard;
}

static IfmClusterStatus *status_of(const char *folder, const ClusterRecord *record, GHashTable *tasks)
{
    IfmClusterStatus *status = g_new0(IfmClusterStatus, 1);
    status->name = g_strdup(record->name);
    status->shards = g_ptr_array_new_with_free_func((GDestroyNotify)shard_free);
    g_autoptr(ClusterCases) cases = cluster_cases_new(record);
    for (gint64 number = 1; number <= record->n_shards; number++)
        g_ptr_array_add(status->shards, shard_of(folder, record, number, tasks, cases));
    status->combinations = cluster_combine(cases, status->shards);
    return status;
}

IfmClusterStatus *ifm_cluster_status(const char *folder, GError **error)
{
    g_autoptr(ClusterRecord) record = cluster_record_read(folder, error);
    if (record == NULL)
        return NULL;
    g_autoptr(GError) trouble = NULL;
    g_autoptr(GHashTable) tasks = cluster_queue_ask(record, &trouble);
    IfmClusterStatus *status = status_of(folder, record, tasks);
    status->queue_unknown = trouble != NULL ? g_strdup(trouble->message) : NULL;
    return status;
}

/* --- submission ------------------------------------------------------------------------------------------------------- */

/* One that is on its way. */
typedef struct
{
    const char *folder; /* as the caller has it, for messages */
    char *absolute;     /* for the script */
    char *cluster;      /* its folder of that name */
    const IfmClusterOptions *options;
    ClusterRequest *request;
    ClusterRecord *record;
    GArray *shards; /* gint64: those to submit, ascending */
    IfmStudyLock *lock;
} Submission;

static void submission_clear(Submission *submission)
{
    gboolean was_locked = submission->lock != NULL;
    g_free(submission->absolute);
    cluster_request_free(submission->request);
    cluster_record_free(submission->record);
    g_clear_pointer(&submission->shards, g_array_unref);
    ifm_study_lock_free(submission->lock);
    if (was_locked)
        g_rmdir(submission->cluster); /* where nothing is in it: it was refused */
    g_free(submission->cluster);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Submission, submission_clear)

static IfmStudyLock *lock_of(const char *folder, const char *cluster, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    if (!ifm_file_make_folder(cluster, error))
        return NULL;
    IfmStudyLock *lock = ifm_study_lock_new(cluster, &trouble);
    gint64 holder = lock == NULL ? ifm_study_holder(cluster) : 0;
    if (holder > 0)
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: process %" G_GINT64_FORMAT " submits this study at this moment",
                      folder, holder);
    else if (lock == NULL)
        g_propagate_error(error, g_steal_pointer(&trouble));
    return lock;
}

static gboolean refuse_submitted(const char *folder, GError **error)
{
    g_autoptr(ClusterRecord) record = cluster_record_read(folder, error);
    if (record == NULL)
        return FALSE;
    const ClusterJob *last = record->jobs->len > 0 ? record->jobs->pdata[record->jobs->len - 1] : NULL;
    return ifm_error_refuse(error,
                            "%s: was submitted already as %" G_GINT64_FORMAT
                            " shards (job %s); \"study status\" shows them, \"study submit --missing\" continues",
                            folder, record->n_shards, last != NULL && last->id != NULL ? last->id : "unknown");
}

static char *path_of_study(const char *study)
{
    gboolean is_file = strchr(study, '/') != NULL || g_str_has_suffix(study, ".yaml");
    return is_file ? g_canonicalize_filename(study, NULL) : g_strdup(study);
}

/* The first submission of a study: all shards. */
static gboolean begin_all(Submission *submission, IfmStudy *study, GError **error)
{
    const IfmClusterOptions *options = submission->options;
    ClusterRecord *record = submission->record = cluster_record_new();
    g_autofree char *path = path_of_study(options->study);
    ifm_record_set_text(&record->name, ifm_study_info(study).name);
    ifm_record_set_text(&record->study, path);
    for (gsize i = 0; options->arguments != NULL && options->arguments[i] != NULL; i++)
        g_ptr_array_add(record->arguments, g_strdup(options->arguments[i]));
    record->n_shards = options->n_shards;
    study->in_parts = TRUE; /* as its shards span it */
    record->n_cases = ifm_study_cases(study)->len;
    if (record->n_shards > record->n_cases)
        return ifm_error_refuse(error, "--shards: %" G_GINT64_FORMAT " is more than the %" G_GINT64_FORMAT " cases of %s",
                                record->n_shards, record->n_cases, record->name);
    for (gint64 number = 1; number <= record->n_shards; number++)
        g_array_append_val(submission->shards, number);
    return TRUE;
}

static gboolean is_given(const char *const *words, const char *word)
{
    return words != NULL && g_strv_contains(words, word);
}

/* The shards that lack results and of which no task waits or runs. */
static gboolean begin_missing(Submission *submission, GError **error)
{
    const IfmClusterOptions *options = submission->options;
    ClusterRecord *record = submission->record = cluster_record_read(submission->folder, error);
    gboolean retry = is_given(options->arguments, "--retry");
    if (record == NULL)
        return FALSE;
    if (options->n_shards != IFM_OPTION_UNSET && options->n_shards != record->n_shards)
        return ifm_error_refuse(error, "--shards: %s was submitted as %" G_GINT64_FORMAT " shards, not %" G_GINT64_FORMAT,
                                record->name, record->n_shards, options->n_shards);
    g_autoptr(GHashTable) tasks = cluster_queue_ask(record, error);
    if (tasks == NULL)
        return FALSE;
    g_autoptr(IfmClusterStatus) status = status_of(submission->folder, record, tasks);
    for (guint i = 0; i < status->shards->len; i++)
    {
        const IfmShardStatus *shard = status->shards->pdata[i];
        gint64 number = (gint64)shard->number;
        if (shard->why != NULL)
            return ifm_error_refuse(error, "%s", shard->why);
        if (!shard->queued &&
            (shard->counts.n_missing > 0 || (retry && shard->counts.n_failed + shard->counts.n_unavailable > 0)))
            g_array_append_val(submission->shards, number);
    }
    return TRUE;
}

/* The words of `study run` in this job array: those of the first submission, and those that come with `missing`. */
static char **words_of(const Submission *submission)
{
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    for (guint i = 0; i < submission->record->arguments->len; i++)
        g_strv_builder_add(words, submission->record->arguments->pdata[i]);
    if (submission->options->missing && submission->options->arguments != NULL)
        g_strv_builder_addv(words, (const char **)submission->options->arguments);
    return g_strv_builder_end(words);
}

static gboolean write_script(const Submission *submission, const IfmClusterJob *job, GError **error)
{
    submission->request->arguments = words_of(submission);
    g_autofree char *text =
        cluster_script(submission->record, submission->absolute, submission->shards, submission->request, error);
    return text != NULL && ifm_file_save(job->script, text, strlen(text), error);
}

/* Takes back what a submission that was refused has recorded. */
static void forget(Submission *submission, const char *script)
{
    g_autofree char *path = cluster_record_path(submission->folder);
    g_ptr_array_set_size(submission->record->jobs, (int)submission->record->jobs->len - 1);
    if (submission->record->jobs->len == 0)
    {
        g_unlink(path);
        g_unlink(script);
    }
    else
        cluster_record_write(submission->record, submission->folder, NULL); /* the error at hand is the one to show */
}

static gboolean submit(Submission *submission, IfmClusterJob *job, GError **error)
{
    ClusterJob *entry = cluster_record_add_job(submission->record, submission->shards);
    if (!cluster_record_write(submission->record, submission->folder, error))
        return FALSE;
    if (!cluster_queue_submit(job->script, &entry->id, &entry->cluster, error))
    {
        forget(submission, job->script);
        return FALSE;
    }
    job->id = g_strdup(entry->id);
    if (cluster_record_write(submission->record, submission->folder, error))
        return TRUE;
    g_prefix_error(error, "job %s was submitted, but ", job->id);
    return FALSE;
}

static gboolean check_asked(const IfmStudy *study, const IfmClusterOptions *options, GError **error)
{
    if (options->missing)
        return TRUE;
    if (!options->slurm)
        return ifm_error_misuse(error, "needs --slurm, the scheduler to submit to, or --missing");
    if (options->n_shards == IFM_OPTION_UNSET)
        return ifm_error_misuse(error, "needs --shards N, into how many tasks the study is divided");
    if (study == NULL || options->study == NULL)
        return ifm_error_misuse(error, "needs the study itself, a shipped name or its file; a folder does not tell it");
    return TRUE;
}

gboolean ifm_cluster_submit(IfmStudy *study, const char *folder, const IfmClusterOptions *options, IfmClusterJob *job,
                            GError **error)
{
    *job = (IfmClusterJob){ 0 };
    if (!ifm_options_check(ifm_cluster_options, options, error) || !check_asked(study, options, error))
        return FALSE;
    g_auto(Submission) submission = { .folder = folder,
                                      .absolute = g_canonicalize_filename(folder, NULL),
                                      .cluster = g_build_filename(folder, CLUSTER_FOLDER, NULL),
                                      .options = options,
                                      .shards = g_array_new(FALSE, FALSE, sizeof(gint64)),
                                      .request = cluster_request_new(options, error) };
    if (submission.request == NULL)
        return FALSE;
    if (options->missing && !ifm_cluster_is_submitted(folder))
        return ifm_error_refuse(error, "%s: was not submitted: \"study submit --slurm --shards N\" does that", folder);
    submission.lock = lock_of(folder, submission.cluster, error);
    if (submission.lock == NULL)
        return FALSE;
    if (!options->missing && ifm_cluster_is_submitted(folder))
        return refuse_submitted(folder, error);
    if (!(options->missing ? begin_missing(&submission, error) : begin_all(&submission, study, error)))
        return FALSE;
    job->n_tasks = submission.shards->len;
    job->n_shards = (gsize)submission.record->n_shards;
    job->script = g_build_filename(folder, CLUSTER_FOLDER, "job.sh", NULL);
    if (job->n_tasks == 0)
        return TRUE;
    return write_script(&submission, job, error) && (options->dry_run || submit(&submission, job, error));
}
