#include <math.h>
#include <unistd.h>

#include <study/study.h>

#include "study-page.h"

/* --- study submit ------------------------------------------------------------------------------------------------------
 */

/* What was given of a table's rows, as words of a command line. */
static void add_given(GStrvBuilder *words, const Arguments *arguments, const IfmOption *table)
{
    for (const IfmOption *row = table; row->name != NULL; row++)
    {
        const char *const *texts = cli_texts(arguments, row->name);
        g_autofree char *option = g_strdup_printf("--%s", row->name);
        if (!cli_given(arguments, row->name))
            continue;
        if (row->kind == IFM_OPTION_FLAG)
            g_strv_builder_add(words, option);
        for (; *texts != NULL; texts++)
        {
            g_autofree char *word = g_str_equal(row->name, "model") ? study_model_word(*texts) : g_strdup(*texts);
            g_strv_builder_add_many(words, option, word, NULL);
        }
    }
}

/* The words of `study run` that all shards have in common. (transfer full) */
static char **shared_words(const Arguments *arguments)
{
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    add_given(words, arguments, study_case_options);
    add_given(words, arguments, ifm_study_options);
    add_given(words, arguments, study_setting_options);
    return g_strv_builder_end(words);
}

static int print_job(const IfmStudyPlace *place, const IfmClusterJob *job)
{
    if (job->n_tasks == 0)
    {
        cli_note("%s: nothing to submit: no shard without a task lacks a result", place->folder);
        return CLI_EXIT_OK;
    }
    g_autofree char *text =
        job->id != NULL
            ? g_strdup_printf("job %s: %zu of %zu shards, by %s\n", job->id, job->n_tasks, job->n_shards, job->script)
            : g_strdup_printf("%s: %zu of %zu shards, not submitted\n", job->script, job->n_tasks, job->n_shards);
    return cli_print(text);
}

static int submit(const IfmStudyPlace *place, const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmClusterJob) job = { 0 };
    g_auto(GStrv) words = shared_words(arguments);
    IfmClusterOptions options = { .study = place->study != NULL ? cli_positional(arguments)[0] : NULL,
                                  .arguments = (const char *const *)words };
    cli_fill(arguments, ifm_cluster_options, &options);
    if (!ifm_cluster_submit(place->study, place->folder, &options, &job, &error))
        return cli_fail(error);
    return print_job(place, &job);
}

static int run_submit(const Arguments *arguments)
{
    g_auto(IfmStudyPlace) place = { 0 };
    gboolean missing = cli_given(arguments, "missing");
    int status = study_open_place(&place, arguments, missing);
    if (status != CLI_EXIT_OK)
        return status;
    if (!missing && (status = study_take_arguments(place.study, arguments)) != CLI_EXIT_OK)
        return status;
    status = submit(&place, arguments);
    ifm_study_place_tidy(&place);
    return status;
}

static const IfmOption output_options[] = {
    { "output", IFM_OPTION_FOLDER, "DIR", "the study's folder, which all nodes see; without it out/ and the study's name",
      .letter = 'o' },
    { NULL },
};

const Verb verb_study_submit = {
    .name = "study submit",
    .summary = "measure a study on a cluster, as a job array of its shards",
    .arguments = "STUDY",
    .positional = POSITIONAL_STUDY,
    .tables = { ifm_cluster_options, study_case_options, ifm_study_options, study_setting_options, output_options },
    .details = WHICH_STUDY
    " Each task of the job array measures one shard of the cases (study run --shard I/N) into a store of its "
    "own, DIR/cluster/shard-I-of-N, and prints to DIR/shard-I-of-N.out. The script is DIR/cluster/job.sh.\n"
    "A task that ends before its cases do, by its time limit, a node that fails or a requeue, continues "
    "where it was. \"study status\" shows what became of each shard, \"study merge\" joins their stores.\n"
    "A study is submitted once. With --missing, the options of the first submission say how it is measured.",
    .examples = { { "inferometer study submit cnn-batch --slurm --shards 6 --constraint gpul40s --time 2h",
                    "submits a job array of six tasks to nodes with that feature" },
                  { "inferometer study submit cnn-batch --missing",
                    "submits again the shards that lack results and have no task in the queue" } },
    .run = run_submit,
};

/* --- study merge -------------------------------------------------------------------------------------------------------
 */

static int run_merge(const Arguments *arguments)
{
    g_auto(IfmStudyPlace) place = { 0 };
    g_autoptr(GError) error = NULL;
    IfmStudyMerge merge;
    const char *const *words = cli_positional(arguments);
    const int status = study_open_place(&place, arguments, TRUE);
    if (status != CLI_EXIT_OK)
        return status;
    if (!ifm_study_merge(place.study, place.folder, words[1] != NULL ? words + 1 : NULL, &merge, &error))
    {
        ifm_study_place_tidy(&place);
        return cli_fail(error);
    }
    cli_note("%s: %zu of %zu shards, %zu of %zu"
             " cases measured",
             place.store_path, merge.n_shards, merge.n_of, merge.n_done, merge.n_cases);
    if (merge.n_missing > 0 && words[1] == NULL)
        cli_note("%zu cases are missing: \"inferometer study submit %s --missing\" measures them", merge.n_missing,
                 words[0]);
    g_clear_pointer(&place.study, ifm_study_free); /* the tables are of what was measured, as those of a run are */
    return study_write_and_print(arguments, &place);
}

static const IfmOption merge_options[] = {
    { "output", IFM_OPTION_FOLDER, "DIR", "folder of the merged store and the tables; without it out/ and the study's name",
      .letter = 'o' },
    { NULL },
};

const Verb verb_study_merge = {
    .name = "study merge",
    .summary = "join the stores of a study's shards, and write its tables",
    .arguments = "STUDY [FOLDER…]",
    .positional = POSITIONAL_STUDY,
    .tables = { merge_options, study_setting_options },
    .details = WHICH_STUDY " FOLDER is that of a shard; without any they are those that \"study submit\" made in DIR. Each "
                           "case is merged once, and merging again adds what is new. Shards of different studies, "
                           "divisions or versions are refused, and nothing is changed then.",
    .examples = { { "inferometer study merge cnn-batch",
                    "joins the stores of the shards that were submitted, and writes the tables" },
                  { "inferometer study merge cnn-batch out/cnn-batch-1-of-2 out/cnn-batch-2-of-2",
                    "joins shards that were measured by hand with study run --shard" } },
    .run = run_merge,
};

/* --- study status, of a study on a cluster -----------------------------------------------------------------------------
 */

#define SHARD(member, ...) IFM_MEMBER(IfmShardStatus, member, ##__VA_ARGS__)

static void set_state(IfmValue *value, const char *state)
{
    ifm_value_set_text(value, state);
    value->tone = g_str_equal(state, "done")                                         ? IFM_TONE_GOOD
                  : g_str_equal(state, "failed") || g_str_equal(state, "unreadable") ? IFM_TONE_BAD
                  : g_str_equal(state, "missing")                                    ? IFM_TONE_WARN
                                                                                     : IFM_TONE_PLAIN;
}

static void get_state(const void *record, const void *user, IfmValue *value)
{
    set_state(value, ((const IfmShardStatus *)record)->state);
}

static void get_combination_state(const void *record, const void *user, IfmValue *value)
{
    set_state(value, ifm_combination_state(record));
}

/* Its name: the folder is the study's. */
static void get_log(const void *record, const void *user, IfmValue *value)
{
    ifm_value_take_text(value, g_path_get_basename(((const IfmShardStatus *)record)->log));
}

static const IfmField shard_fields[] = {
    { "shard", "shard", IFM_FIELD_INTEGER, SHARD(number), IFM_FIELD_KEY },
    { "state", "state", IFM_FIELD_TEXT, get_state, .flags = IFM_FIELD_WHOLE },
    { "job", "job", IFM_FIELD_TEXT, SHARD(job), IFM_FIELD_WHOLE | IFM_FIELD_HIDE_EMPTY },
    { "where", "where or why", IFM_FIELD_TEXT, SHARD(where), IFM_FIELD_HIDE_EMPTY },
    { "cases", "cases", IFM_FIELD_INTEGER, SHARD(counts.n_cases) },
    { "done", "done", IFM_FIELD_INTEGER, SHARD(counts.n_done) },
    { "unsupported", "unsupported", IFM_FIELD_INTEGER, SHARD(counts.n_unsupported, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { "failed", "failed", IFM_FIELD_INTEGER, SHARD(counts.n_failed) },
    { "unavailable", "unavailable", IFM_FIELD_INTEGER, SHARD(counts.n_unavailable) },
    { "missing", "missing", IFM_FIELD_INTEGER, SHARD(counts.n_missing) },
    { "log", "log", IFM_FIELD_TEXT, get_log, .flags = IFM_FIELD_WHOLE },
    { NULL },
};

#define COMBINATION(member, ...) IFM_MEMBER(IfmCombinationStatus, member, ##__VA_ARGS__)

static const IfmField combination_fields[] = {
    { "combination", "combination", IFM_FIELD_TEXT, COMBINATION(name), IFM_FIELD_KEY },
    { "state", "status", IFM_FIELD_TEXT, get_combination_state, NULL, IFM_FIELD_WHOLE },
    { "cases", "cases", IFM_FIELD_INTEGER, COMBINATION(counts.n_cases) },
    { "done", "done", IFM_FIELD_INTEGER, COMBINATION(counts.n_done) },
    { "unsupported", "unsupported", IFM_FIELD_INTEGER, COMBINATION(counts.n_unsupported, .some = TRUE),
      IFM_FIELD_HIDE_EMPTY },
    { "failed", "failed", IFM_FIELD_INTEGER, COMBINATION(counts.n_failed) },
    { "unavailable", "unavailable", IFM_FIELD_INTEGER, COMBINATION(counts.n_unavailable) },
    { "missing", "missing", IFM_FIELD_INTEGER, COMBINATION(counts.n_missing) },
    { NULL },
};

static void append_counts(GString *out, const IfmClusterStatus *status)
{
    gint64 n_cases = 0, n_done = 0, n_unsupported = 0, n_failed = 0, n_unavailable = 0, n_missing = 0;
    for (guint i = 0; i < status->shards->len; i++)
    {
        const IfmShardStatus *shard = status->shards->pdata[i];
        n_cases += shard->counts.n_cases;
        n_done += shard->counts.n_done;
        n_unsupported += shard->counts.n_unsupported;
        n_failed += shard->counts.n_failed;
        n_unavailable += shard->counts.n_unavailable;
        n_missing += shard->counts.n_missing;
    }
    g_autofree char *unsupported =
        n_unsupported > 0 ? g_strdup_printf(", %" G_GINT64_FORMAT " unsupported", n_unsupported) : g_strdup("");
    g_string_append_printf(out,
                           "%s: %u shards, %" G_GINT64_FORMAT " cases: %" G_GINT64_FORMAT " done%s, %" G_GINT64_FORMAT
                           " failed, %" G_GINT64_FORMAT " unavailable, %" G_GINT64_FORMAT " missing\n",
                           status->name, status->shards->len, n_cases, n_done, unsupported, n_failed, n_unavailable,
                           n_missing);
}

int study_print_shards(const char *folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(IfmClusterStatus) status = ifm_cluster_status(folder, &error);
    if (status == NULL)
        return cli_fail(error);
    IfmScreen screen = cli_screen();
    IfmTable table = { shard_fields, (const void *const *)status->shards->pdata, status->shards->len };
    g_autofree char *rows = ifm_table_to_screen(&table, &screen);
    append_counts(out, status);
    g_string_append(out, rows);
    for (guint i = 0; i < status->shards->len; i++)
    {
        const IfmShardStatus *shard = status->shards->pdata[i];
        if (shard->why != NULL)
            g_string_append_printf(out, "shard %zu: %s\n", shard->number, shard->why);
    }
    const GPtrArray *combinations = status->combinations;
    const IfmTable of_combinations = { combination_fields, (const void *const *)combinations->pdata, combinations->len };
    g_autofree char *more = ifm_table_to_screen(&of_combinations, &screen);
    if (combinations->len > 1)
        g_string_append_printf(out, "\n%s", more);
    if (status->queue_unknown != NULL)
        cli_note("the queue is unknown: %s", status->queue_unknown);
    return cli_print(out->str);
}
