#include <math.h>

#include <inferometer/paths.h>

#include "study-run-private.h"

/* How often the time spent is put down while cases end; what a kill forgets of it is less than this. */
#define NOTE_EVERY_US (5 * G_USEC_PER_SEC)

static void run_clear(Run *run)
{
    ifm_runner_free(run->runner);
    g_free(run->step);
    study_past_free(run->past);
    json_decref(run->before);
    json_decref(run->sessions);
    g_hash_table_unref(run->free_dims);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Run, run_clear)

static gboolean is_here(const StudyCase *one)
{
    gboolean here = one->device->reason == NULL && (one->to == NULL || one->to->reason == NULL);
    for (IfmStudyDevice **other = one->beside; here && other != NULL && *other != NULL; other++)
        here = (*other)->reason == NULL;
    return here;
}

static gboolean is_interrupted(const Run *run)
{
    return run->options->interrupted != NULL && g_atomic_int_get(run->options->interrupted) != 0;
}

/* --- cases ---------------------------------------------------------------------------------------------------------- */

static void forget_seals(IfmStudy *study)
{
    const GPtrArray *cases = ifm_study_cases(study);
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        g_clear_pointer(&one->sealed, ifm_case_free);
        g_clear_pointer(&one->row.key, g_free);
        one->state = STUDY_CASE_TODO;
        one->was_tried = FALSE;
    }
}

/* Whose trouble it is where a case of a phase cannot be sealed: of a link, that of the end which the phase is for. */
static IfmStudyDevice *blamed_for(const StudyCase *one)
{
    return one->to != NULL && one->to->phase == one->row.phase ? one->to : one->device;
}

static void give_up(IfmStudyDevice *device, const char *what, GError *trouble /* (transfer full) */)
{
    g_free(device->reason);
    device->reason = g_strdup_printf("%s: %s", what, trouble->message);
    g_error_free(trouble);
}

/* FALSE where the run must end; a failure costs its device alone. */
static gboolean seal_one(Run *run, StudyCase *one, GError **error)
{
    GError *trouble = NULL;
    if (!is_here(one))
        return TRUE;
    one->sealed = study_run_seal(run, one, &trouble);
    if (one->sealed != NULL)
    {
        ifm_record_set_text(&one->row.key, one->sealed->key);
        return TRUE;
    }
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        g_propagate_error(error, trouble);
        return FALSE;
    }
    give_up(blamed_for(one), one->row.title, trouble);
    return TRUE;
}

/* A device whose own cases cannot be sealed is given up before it is asked to work beside another. */
static gboolean seal_phase(Run *run, int phase, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    for (int beside = 0; beside <= 1; beside++)
        for (guint i = 0; i < cases->len; i++)
        {
            StudyCase *one = cases->pdata[i];
            if (one->row.phase == phase && (one->beside != NULL) == beside && !seal_one(run, one, error))
                return FALSE;
        }
    for (guint i = 0; i < cases->len; i++) /* what was sealed of a device before it was given up */
    {
        StudyCase *one = cases->pdata[i];
        if (one->row.phase == phase && !is_here(one))
            g_clear_pointer(&one->sealed, ifm_case_free);
    }
    return TRUE;
}

static void export_phase(Run *run, int phase)
{
    for (guint i = 0; i < run->study->devices->len; i++)
    {
        IfmStudyDevice *device = run->study->devices->pdata[i];
        GError *trouble = NULL;
        if (device->phase == phase && device->reason == NULL &&
            !study_export_files(run->study, run->options->folder, device, NULL, &trouble))
            give_up(device, "its models cannot be written", trouble);
    }
}

static void count_cases(Run *run)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    run->progress.n_cases = 0;
    for (guint i = 0; i < cases->len; i++)
        run->progress.n_cases += is_here(cases->pdata[i]);
}

/* --- what the store has --------------------------------------------------------------------------------------------- */

static void settle(Run *run, StudyCase *one, const IfmMeasurement *last)
{
    one->was_tried = TRUE;
    if (!study_past_stands(run->past, one, last, run->options->retry))
        return;
    one->state = STUDY_CASE_DONE;
    run->progress.n_resumed++;
    run->progress.n_done++;
    run->progress.n_failed += last->outcome == IFM_OUTCOME_FAILED;
    run->progress.n_skipped += last->outcome == IFM_OUTCOME_SKIPPED;
}

/* Which cases of a phase are done. */
static gboolean look_back(Run *run, int phase, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        GError *trouble = NULL;
        if (one->sealed == NULL || one->row.phase != phase)
            continue;
        g_autoptr(IfmMeasurement) last = ifm_store_last(run->store, one->sealed->key, &trouble);
        if (trouble != NULL)
        {
            g_propagate_error(error, trouble);
            return FALSE;
        }
        if (last != NULL)
            settle(run, one, last);
    }
    return TRUE;
}

/* --- the manifest --------------------------------------------------------------------------------------------------- */

/* A device that is not here today may have been here yesterday: what was measured then stays in the tables. So does what a
 * later phase will find again. */
static gboolean keep_old_keys(Run *run, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        if (one->sealed != NULL)
            continue;
        g_clear_pointer(&one->row.key, g_free);
        if (!study_past_key(run->past, run->study, one, &one->row.key, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean write_manifest(Run *run, GError **error)
{
    json_auto_t *now = study_manifest(run->study, run->sessions);
    if (run->before != NULL && json_equal(run->before, now))
        return TRUE;
    if (!ifm_store_set_document(run->store, STUDY_DOCUMENT, now, error))
        return FALSE;
    json_decref(run->before);
    run->before = json_deep_copy(now); /* the sessions in it change */
    return TRUE;
}

/* Puts down the time spent; nothing where nothing was measured. */
static gboolean note_time(Run *run, gboolean now, GError **error)
{
    gint64 at = g_get_monotonic_time();
    if (run->progress.n_measured == 0 || (!now && at - run->noted_us < NOTE_EVERY_US))
        return TRUE;
    run->noted_us = at;
    if (run->session == NULL)
    {
        run->session = json_object();
        json_array_append_new(run->sessions, run->session);
    }
    json_object_set_new(run->session, "started_unix_ms", json_integer(run->started_unix_ms));
    json_object_set_new(run->session, "spent_ns", json_integer((at - run->began_us) * 1000));
    json_object_set_new(run->session, "n_measured", json_integer((json_int_t)run->progress.n_measured));
    return write_manifest(run, error);
}

/* --- measuring ------------------------------------------------------------------------------------------------------ */

static int kind_of(const StudyCase *one)
{
    const IfmStudyCase *row = &one->row;
    int length = row->last - row->stage;
    if (row->busy != NULL)
        return 1 + 2 * IFM_MAX_STAGES + length;
    return length > 0 ? 1 + IFM_MAX_STAGES + length : row->stage;
}

/* What is left at what each kind took so far: a link is over at once, a stage is not. -1 while nobody knows what stages
 * take. */
static gint64 time_left(Run *run)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    gint64 stages_us = 0;
    gsize n_stages = 0;
    double left_us = 0;
    for (int kind = 1; kind < MOST_KINDS; kind++)
    {
        stages_us += run->kinds[kind].spent_us;
        n_stages += run->kinds[kind].n;
    }
    for (guint i = 0; i < cases->len; i++)
    {
        const StudyCase *one = cases->pdata[i];
        int kind = kind_of(one);
        gboolean known = run->kinds[kind].n > 0;
        if (!is_here(one) || one->state == STUDY_CASE_DONE)
            continue;
        if (!known && n_stages == 0)
            return -1;
        left_us +=
            known ? (double)run->kinds[kind].spent_us / (double)run->kinds[kind].n : (double)stages_us / (double)n_stages;
    }
    return (gint64)(left_us * 1000);
}

static void report(Run *run, const IfmMeasurement *ended)
{
    IfmStudyProgress *progress = &run->progress;
    double spent_s = (double)(g_get_monotonic_time() - run->began_us) / G_USEC_PER_SEC;
    gboolean rated = progress->n_measured > 0 && spent_s > 0;
    progress->cases_per_s = rated ? (double)progress->n_measured / spent_s : (double)NAN;
    progress->left_ns = rated ? run->left_ns : -1;
    if (run->options->progress != NULL)
        run->options->progress(progress, ended, run->options->user);
}

static void set_step(Run *run, const char *step)
{
    g_free(run->step);
    run->progress.step = run->step = g_strdup(step);
}

static void hear(const char *phase, gsize n, double median_ns, double ci_ratio, void *user)
{
    Run *run = user;
    if (run->progress.now == NULL) /* it looks for devices, or seals */
        return;
    set_step(run, phase);
    run->progress.n = n;
    run->progress.median_ns = median_ns;
    run->progress.ci_ratio = ci_ratio;
    report(run, NULL);
}

static gboolean say_interrupted(const Run *run, GError **error)
{
    g_set_error(error, IFM_ERROR, IFM_ERROR_CANCELLED,
                "interrupted: %zu of %zu cases are measured; the same command goes on", run->progress.n_done,
                run->progress.n_cases);
    return FALSE;
}

/* A case is whole or not there: one that was cut short is measured again next time. A skipped one is put down once, and
 * never in place of what it came to when it was tried. */
static gboolean take(Run *run, StudyCase *one, const IfmMeasurement *measurement, GError **error)
{
    IfmStudyProgress *progress = &run->progress;
    gboolean skipped = measurement->outcome == IFM_OUTCOME_SKIPPED;
    if (g_str_equal(measurement->stop_reason, "interrupted"))
        return say_interrupted(run, error);
    if (!(skipped && one->was_tried) && !ifm_store_commit(run->store, one->sealed, measurement, error))
        return FALSE;
    one->state = STUDY_CASE_DONE;
    progress->n_done++;
    if (skipped && one->was_tried)
        progress->n_resumed++;
    else
        progress->n_measured++;
    progress->n_failed += measurement->outcome == IFM_OUTCOME_FAILED;
    progress->n_skipped += skipped;
    run->kinds[kind_of(one)].spent_us += g_get_monotonic_time() - run->case_began_us;
    run->kinds[kind_of(one)].n++;
    run->left_ns = time_left(run);
    report(run, measurement);
    return note_time(run, FALSE, error);
}

static gboolean measure_case(Run *run, StudyCase *one, GError **error)
{
    IfmStudyProgress *progress = &run->progress;
    GError *trouble = NULL;
    run->case_began_us = g_get_monotonic_time();
    progress->now = &one->row;
    set_step(run, NULL);
    progress->n = 0;
    progress->median_ns = progress->ci_ratio = NAN;
    report(run, NULL);
    g_autoptr(IfmMeasurement) measurement = study_run_measure(run, one, &trouble);
    gboolean good = measurement != NULL && take(run, one, measurement, error);
    progress->now = NULL;
    if (measurement != NULL)
        return good;
    if (g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        g_error_free(trouble);
        return say_interrupted(run, error);
    }
    g_propagate_prefixed_error(error, trouble, "%s: ", one->row.title);
    return FALSE;
}

static gboolean measure_phase(Run *run, int phase, GError **error)
{
    const GPtrArray *cases = ifm_study_cases(run->study);
    gboolean any = FALSE;
    for (guint i = 0; i < cases->len; i++)
    {
        StudyCase *one = cases->pdata[i];
        if (one->row.phase != phase || one->sealed == NULL)
            continue;
        any = TRUE;
        if (one->state == STUDY_CASE_DONE)
            continue;
        if (is_interrupted(run))
            return say_interrupted(run, error);
        if (!measure_case(run, one, error))
            return FALSE;
    }
    if (!note_time(run, TRUE, error))
        return FALSE;
    return !any || run->options->phase_done == NULL ||
           run->options->phase_done(run->study, run->store, phase, run->options->user, error);
}

static gboolean prepare(Run *run, GError **error)
{
    if (!ifm_study_check_store(run->study, run->store, error) || !study_manifest_read(run->store, &run->before, error) ||
        !study_run_find_devices(run, error))
        return FALSE;
    run->past = study_past_new(run->store, run->before, error);
    if (run->past == NULL)
        return FALSE;
    json_t *sessions = json_object_get(run->before, "sessions");
    run->sessions = sessions != NULL ? json_deep_copy(sessions) : json_array();
    study_past_tell_losses(run->past, run->runner);
    forget_seals(run->study);
    return TRUE;
}

/* Each phase by itself: what the models of a later one come to is no matter of an earlier one. */
static gboolean prepare_phase(Run *run, int phase, GError **error)
{
    export_phase(run, phase);
    if (!seal_phase(run, phase, error) || !study_run_check_devices(run, error) || !keep_old_keys(run, error))
        return FALSE;
    count_cases(run);
    return look_back(run, phase, error) && write_manifest(run, error);
}

gboolean ifm_study_measure(IfmStudy *study, IfmStore *store, const IfmStudyOptions *options, IfmStudyProgress *result,
                           GError **error)
{
    IfmRunnerOptions runner_options = { .limits = options->limits, .interrupted = options->interrupted, .progress = hear };
    g_autofree char *worker = ifm_path_worker(error);
    g_autofree char *folder = g_path_get_dirname(ifm_store_path(store));
    if (result != NULL)
        *result = (IfmStudyProgress){ .cases_per_s = NAN, .left_ns = -1 };
    g_autoptr(IfmStudyLock) lock = worker != NULL ? ifm_study_lock_new(folder, error) : NULL;
    if (lock == NULL)
        return FALSE;
    g_auto(Run) run = { .study = study, .store = store, .options = options };
    runner_options.progress_user = &run;
    run.runner = ifm_runner_new(&runner_options);
    run.free_dims = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    run.started_unix_ms = g_get_real_time() / 1000;
    run.began_us = run.noted_us = g_get_monotonic_time();
    gboolean good = prepare(&run, error);
    run.began_us = run.noted_us = g_get_monotonic_time();
    for (int phase = 1; good && phase <= 2; phase++)
    {
        good = prepare_phase(&run, phase, error);
        if (good)
            report(&run, NULL);
        good = good && measure_phase(&run, phase, error);
    }
    if (!good)
        note_time(&run, TRUE, NULL); /* the error at hand is the one to tell */
    set_step(&run, NULL);
    if (result != NULL)
        *result = run.progress;
    return good;
}
