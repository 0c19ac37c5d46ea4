#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <campaign/campaign.h>
#include <store/store.h>

#include "study-run-private.h"

/* How often the time spent is put down while cases end; what a kill forgets of it is less than this. */
#define NOTE_EVERY_US (5 * G_USEC_PER_SEC)

static const char *const orders[] = {
    [IFM_CAMPAIGN_AS_GIVEN] = "as-listed", [IFM_CAMPAIGN_INTERLEAVED] = "interleaved", NULL
};

#define AT(member) .at = G_STRUCT_OFFSET(IfmStudyOptions, member)

const IfmOption ifm_study_options[] = {
    { "retry", IFM_OPTION_FLAG, NULL, "measure again what failed before", .after = "memory-limit", AT(retry) },
    { "attempts", IFM_OPTION_COUNT, "N", "how often a case that fails is measured in this run", "1", .minimum = 1,
      .maximum = 100, AT(attempts) },
    { "total-time", IFM_OPTION_DURATION, "TIME",
      "the maximum time for the whole study: no case begins after it, and the same command continues; 0: no limit", "0",
      AT(time_budget_ns) },
    { "order", IFM_OPTION_CHOICE, "WORD",
      "as-listed: cases in the study's order; interleaved: the first case of each device, then the second of each, and so "
      "on, so that a drift of the machine affects all devices alike",
      "as-listed", orders, AT(order) },
    { NULL },
};

static void run_clear(Run *run)
{
    ifm_campaign_free(run->campaign);
    study_past_free(run->past);
    g_clear_pointer(&run->sessions, g_ptr_array_unref);
    study_manifest_free(run->before);
    json_decref(run->written);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

/* --- the manifest --------------------------------------------------------------------------------------------------- */

/* A device that is not here today may have been here yesterday: what was measured then stays in the tables. So does what a
 * later phase will find again. */
static gboolean take_keys(Run *run, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        const IfmCase *sealed = ifm_campaign_sealed(run->campaign, i);
        g_clear_pointer(&one->row.key, g_free);
        if (sealed != NULL)
            one->row.key = g_strdup(sealed->key);
        else if (!study_past_key(run->past, run->study, one, &one->row.key, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean write_manifest(Run *run, GError **error)
{
    const IfmStudyOptions *options = run->options;
    json_auto_t *shard = options->n_shards > 0 ? study_shard_to_json(options->shard, options->n_shards) : NULL;
    json_auto_t *now = study_manifest_of(run->study, run->sessions, shard);
    if (run->written != NULL && json_equal(run->written, now))
        return TRUE;
    if (!ifm_store_set_document(run->store, STUDY_DOCUMENT, now, error))
        return FALSE;
    json_decref(run->written);
    run->written = json_incref(now);
    return TRUE;
}

/* Puts down the time spent; nothing where nothing was measured. */
static gboolean note_time(Run *run, gboolean now, GError **error)
{
    gint64 at = g_get_monotonic_time();
    gsize n_measured = ifm_campaign_progress(run->campaign)->n_measured;
    if (n_measured == 0 || (!now && at - run->noted_us < NOTE_EVERY_US))
        return TRUE;
    run->noted_us = at;
    if (run->session == NULL)
    {
        run->session = g_new0(StudySession, 1);
        g_ptr_array_add(run->sessions, run->session);
    }
    *run->session = (StudySession){ run->started_unix_ms, (at - run->began_us) * 1000, (gint64)n_measured };
    return write_manifest(run, error);
}

/* --- what the campaign asks ----------------------------------------------------------------------------------------- */

static gboolean is_here(const IfmCampaignItem *item, void *user)
{
    const StudyCase *one = item->tag;
    gboolean here = one->row.refused == NULL && one->device->reason == NULL && (one->to == NULL || one->to->reason == NULL);
    for (IfmStudyDevice **other = one->background; here && other != NULL && *other != NULL; other++)
        here = (*other)->reason == NULL;
    return here;
}

static gboolean on_fill(IfmCampaignItem *item, void *user, GError **error)
{
    const Run *run = user;
    return run->study->kind->fill(run->study, run->options->folder, item->tag, item, error);
}

static void on_drop(IfmCampaignItem *item, void *user)
{
    ((const Run *)user)->study->kind->drop(item->tag);
}

/* A model, a size or an input is wrong, or a text that options would have: in a file it is all input. */
static gboolean is_of_study(const GError *trouble)
{
    return g_error_matches(trouble, IFM_ERROR, IFM_ERROR_INVALID) || g_error_matches(trouble, IFM_ERROR, IFM_ERROR_USAGE);
}

static void give_up(IfmStudyDevice *device, const char *what, const GError *trouble)
{
    g_free(device->reason);
    device->reason = g_strdup_printf("%s: %s", what, trouble->message);
    device->is_refused = is_of_study(trouble);
}

/* A stage that cannot be sealed costs its device: of a link, the end which the phase is for. A point costs itself alone. */
static gboolean on_end(const IfmCampaignItem *item, IfmCampaignEnd *end, void *user, GError **error)
{
    Run *run = user;
    StudyCase *one = item->tag;
    if (end->error == NULL)
        return end->found || note_time(run, FALSE, error);
    if (end->n > 0 || g_error_matches(end->error, IFM_ERROR, IFM_ERROR_CANCELLED))
        return FALSE;
    if (one->row.axes != NULL)
    {
        one->row.refused = g_strdup(end->error->message);
        run->n_invalid += is_of_study(end->error);
        return TRUE;
    }
    give_up(one->to != NULL && one->to->phase == one->row.phase ? one->to : one->device, one->row.title, end->error);
    return TRUE;
}

static gboolean on_phase_done(int phase, void *user, GError **error)
{
    Run *run = user;
    return note_time(run, TRUE, error) &&
           (run->options->phase_done == NULL ||
            run->options->phase_done(run->study, run->store, phase, run->options->user, error));
}

static void on_progress(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user)
{
    const IfmStudyOptions *options = ((Run *)user)->options;
    if (options->progress != NULL)
        options->progress(progress, ended, options->user);
}

/* (transfer container) */
static const char **specs_of(const StudyCase *one)
{
    GPtrArray *specs = g_ptr_array_new();
    g_ptr_array_add(specs, one->device->device);
    if (one->to != NULL)
        g_ptr_array_add(specs, one->to->device);
    for (IfmStudyDevice **other = one->background; other != NULL && *other != NULL; other++)
        g_ptr_array_add(specs, (*other)->device);
    g_ptr_array_add(specs, NULL);
    return (const char **)g_ptr_array_free(specs, FALSE);
}

/* A device whose own cases cannot be sealed is given up before it becomes a background load. @first: from that one on */
static void add_cases(Run *run, guint first)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    for (guint i = first; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        g_free(one->specs);
        one->specs = specs_of(one);
        g_clear_pointer(&one->row.key, g_free);
        g_clear_pointer(&one->row.refused, g_free);
        IfmCampaignItem item = { .title = one->row.title,
                                 .tag = one,
                                 .group = one->row.phase,
                                 .pace = run->study->kind->pace(one),
                                 .devices = one->specs,
                                 .resume = TRUE,
                                 .seal_last = one->background != NULL };
        ifm_campaign_add(run->campaign, &item);
    }
}

static IfmCampaign *campaign_of(Run *run)
{
    const IfmStudyOptions *options = run->options;
    g_autoptr(GArray) sessions_ms = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < run->sessions->len; i++)
        g_array_append_val(sessions_ms, ((const StudySession *)run->sessions->pdata[i])->started_unix_ms);
    IfmCampaignOptions campaign = { .limits = options->limits,
                                    .interrupted = options->interrupted,
                                    .retry = options->retry,
                                    .attempts = (gsize)options->attempts,
                                    .time_budget_ns = options->time_budget_ns,
                                    .order = options->order,
                                    .shard = options->shard,
                                    .n_shards = options->n_shards,
                                    .sessions_unix_ms = (const gint64 *)(const void *)sessions_ms->data,
                                    .n_sessions = sessions_ms->len,
                                    .wanted = is_here,
                                    .fill = on_fill,
                                    .drop = on_drop,
                                    .after = on_end,
                                    .group_done = on_phase_done,
                                    .progress = on_progress,
                                    .user = run };
    return ifm_campaign_new(run->store, &campaign);
}

/* --- its phases ----------------------------------------------------------------------------------------------------- */

static gboolean prepare(Run *run, GError **error)
{
    if (!ifm_study_check_store(run->study, run->store, error) || !study_manifest_read(run->store, &run->before, error))
        return FALSE;
    run->sessions = run->before != NULL ? g_ptr_array_ref(run->before->sessions) : g_ptr_array_new_with_free_func(g_free);
    run->written = run->before != NULL ? study_manifest_to_json(run->before) : NULL;
    run->campaign = campaign_of(run);
    run->past = study_past_new(run->store, run->before);
    if (!study_run_find_devices(run, error) || !study_past_note(run->past, run->campaign, error))
        return FALSE;
    /* peaks are measurements, too: a store that has them is known as this study's */
    if (run->study->kind->needs_peaks &&
        ((run->before == NULL && !write_manifest(run, error)) || !study_run_find_peaks(run, error)))
        return FALSE;
    ifm_study_cases(run->study);
    if (run->study->kind->recall != NULL && run->before != NULL && !run->study->in_parts)
        run->study->kind->recall(run->study, run->before->definition);
    add_cases(run, 0);
    return TRUE;
}

static void export_phase(Run *run, int phase)
{
    for (guint i = 0; i < run->study->devices->len; i++)
    {
        IfmStudyDevice *device = run->study->devices->pdata[i];
        g_autoptr(GError) trouble = NULL;
        if (device->phase == phase && device->reason == NULL &&
            !run->study->kind->export_files(run->study, run->options->folder, device, NULL, &trouble))
            give_up(device, "its models cannot be written", trouble);
    }
}

/* Each phase by itself: what the models of a later one come to is no matter of an earlier one. */
static gboolean run_phase(Run *run, int phase, GError **error)
{
    export_phase(run, phase);
    if (!ifm_campaign_seal(run->campaign, phase, error) || !study_run_check_devices(run, error) || !take_keys(run, error) ||
        !write_manifest(run, error))
        return FALSE;
    ifm_campaign_report(run->campaign);
    return ifm_campaign_measure(run->campaign, phase, error);
}

/* @more: (out) whether the results led to other cases */
static gboolean refine(Run *run, int phase, gboolean *more, GError **error)
{
    const StudyKind *kind = run->study->kind;
    const guint n = ifm_study_cases(run->study)->len;
    *more = FALSE;
    if (kind->refine == NULL || run->study->in_parts)
        return TRUE;
    g_autoptr(IfmStudyTables) tables = ifm_study_tables(NULL, run->store, error);
    if (tables == NULL || !kind->refine(run->study, phase, tables, error))
        return FALSE;
    *more = ifm_study_cases(run->study)->len > n;
    add_cases(run, n);
    return TRUE;
}

/* Where a model, a size or an input is wrong in every point, so is the study. */
static gboolean check_points(const Run *run, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    if (cases->len == 0 || run->n_invalid < cases->len)
        return TRUE;
    return ifm_error_refuse(error, "study \"%s\": no case can be measured: %s", run->study->name,
                            ((const IfmStudyCase *)cases->pdata[0])->refused);
}

gboolean ifm_study_measure(IfmStudy *study, IfmStore *store, const IfmStudyOptions *options, IfmCampaignProgress *result,
                           GError **error)
{
    if (result != NULL)
        *result = (IfmCampaignProgress){ .cases_per_s = NAN, .left_ns = -1 };
    if (options->folder == NULL)
        return ifm_error_misuse(error, "needs a folder for models, inputs and tables");
    IfmStudyOptions checked = *options;
    checked.attempts = options->attempts == 0 ? 1 : options->attempts;
    if (!ifm_options_check(ifm_study_options, &checked, error))
        return FALSE;
    if (!ifm_shard_check(options->shard, options->n_shards, error))
    {
        g_prefix_error(error, "--shard: ");
        return FALSE;
    }
    g_autofree char *worker = ifm_path_worker(error);
    g_autofree char *folder = g_path_get_dirname(ifm_store_path(store));
    g_autoptr(IfmStudyLock) lock = worker != NULL ? ifm_study_lock_new(folder, error) : NULL;
    if (lock == NULL)
        return FALSE;
    g_auto(Run) run = { .study = study, .store = store, .options = options };
    study->in_parts = options->n_shards > 0;
    study->interrupted = options->interrupted;
    run.started_unix_ms = g_get_real_time() / 1000;
    gboolean good = prepare(&run, error);
    run.began_us = run.noted_us = g_get_monotonic_time();
    for (int phase = 1; good && phase <= 2; phase++)
        for (gboolean more = TRUE; good && more;)
            good = run_phase(&run, phase, error) && refine(&run, phase, &more, error);
    study->interrupted = NULL;
    if (run.campaign == NULL)
        return FALSE;
    good = good && check_points(&run, error);
    if (!good)
        note_time(&run, TRUE, NULL); /* the error at hand is the one to report */
    if (result != NULL)
    {
        *result = *ifm_campaign_progress(run.campaign);
        result->step = NULL;
    }
    return good;
}
