/* The runs themselves, one after the other. */
#include <unistd.h>

#include <glib/gstdio.h>

#include <campaign/campaign.h>
#include <measure/measure.h>
#include <plan/plan.h>
#include <run/run.h>
#include <store/store.h>

#include "run-private.h"

/* The most repetitions where an interval is aimed at, and no number was given. */
#define MAX_REPETITIONS 100

static IfmPlanCase case_of(const RunJob *job)
{
    const IfmRunOptions *options = &job->set->options;
    gboolean aims = options->ci_ratio > 0;
    return (IfmPlanCase){
        .plans = (const json_t *const *)job->documents->pdata,
        .graphs = (const IfmPlanGraph *)(const void *)job->graphs->data,
        .n_graphs = job->graphs->len,
        .sizes = job->set->sizes,
        .n_batches = (gsize)options->batches,
        .queue_depth = (int)options->queue_depth,
        .block_depth = (int)options->block_depth,
        .device_time = options->device_time,
        .watchdog_ns = options->watchdog_ns,
        .verify = options->verify || options->demo,
        .fallbacks = job->fallbacks,
        .prediction = job->prediction,
        .seed = (guint32)options->seed,
        .repetitions = options->repetitions != IFM_OPTION_UNSET ? (gsize)options->repetitions
                       : aims                                   ? MAX_REPETITIONS
                                                                : IFM_RUN_USUAL_REPETITIONS,
        .ci_ratio = aims ? options->ci_ratio : 0,
        .time_budget_ns = MAX(options->time_budget_ns, 0),
        .bound = options->bound,
    };
}

static void report(const IfmRunSet *set)
{
    if (set->options.progress != NULL)
        set->options.progress(&set->now, set->options.user);
}

/* What the trace so far shows, also of a run that failed; with the machine and the time of the measurement, where there is
 * one. */
static void read_trace(RunJob *job, const char *path)
{
    const json_t *machine = job->measurement != NULL ? json_object_get(job->measurement->environment, "machine") : NULL;
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    job->recorded = g_file_test(path, G_FILE_TEST_EXISTS) ? ifm_trace_read(path, NULL, NULL) : NULL;
    for (guint i = 0; job->recorded != NULL && i < job->recorded->len; i++)
    {
        ifm_plan_name_stream(job->recorded->pdata[i], job->title);
        ifm_trace_add_meta(job->recorded->pdata[i], "machine", machine != NULL ? json_deep_copy(machine) : NULL);
        if (job->measurement != NULL)
            ifm_trace_add_meta(job->recorded->pdata[i], "started_unix_ms", json_integer(job->measurement->started_unix_ms));
    }
    if (job->recorded != NULL)
        job->analysis = ifm_trace_analyse(job->recorded->pdata[0], &question, NULL);
    g_unlink(path);
}

/* --- a run as an item of a campaign -------------------------------------------------------------------------------------
 */

static void begin(const RunJob *job)
{
    IfmRunSet *set = job->set;
    const IfmPlanCase plan_case = case_of(job);
    const gsize index = set->n_begun++;
    g_free(set->trace_path);
    set->trace_path = g_strdup_printf("%s/.trace-%d-%zu.json", set->folder, (int)getpid(), index);
    set->now = (IfmProgress){ .n_cases = set->jobs->len,
                              .title = job->title,
                              .runs = plan_case.ci_ratio > 0 ? 0 : plan_case.repetitions,
                              .target_ci_ratio = plan_case.ci_ratio,
                              .budget_ns = plan_case.time_budget_ns };
    report(set);
}

static void end(IfmRunSet *set, const char *outcome)
{
    set->now.outcome = outcome;
    report(set);
}

/* The pilot decides which plan it is, so it comes before the case. */
static gboolean seal(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, GError **error)
{
    RunJob *job = item->tag;
    IfmRunSet *set = job->set;
    IfmRunner *runner = ifm_campaign_runner(campaign);
    begin(job);
    if (!run_job_replan_missing(job, runner, error))
        return FALSE;
    const IfmPlanCase like = case_of(job);
    if (!run_pilot(job, campaign, &like, error))
        return FALSE;
    set->plan_case = case_of(job);
    set->plan_case.trace_path = set->trace_path;
    cases[0] = ifm_runner_case(runner, &ifm_kind_pipeline, &set->plan_case, error);
    return cases[0] != NULL;
}

/* A copy stays: what was measured is reported even where the store cannot take it. */
static gboolean measure(IfmCampaign *campaign, const IfmCampaignItem *item, IfmCase **cases, IfmMeasurement **measurements,
                        GError **error)
{
    RunJob *job = item->tag;
    measurements[0] =
        ifm_runner_measure(ifm_campaign_runner(campaign), &ifm_kind_pipeline, &job->set->plan_case, cases[0], error);
    json_auto_t *copy = measurements[0] != NULL ? ifm_measurement_to_json(measurements[0]) : NULL;
    job->measurement = copy != NULL ? ifm_measurement_from_json(copy, NULL) : NULL;
    read_trace(job, job->set->trace_path);
    return measurements[0] != NULL;
}

static const IfmItemKind run_kind = { .seal = seal, .measure = measure };

/* On disk before the run begins: it cannot have been made afterwards. */
static gboolean before(const IfmCampaignItem *item, const IfmCase *sealed, void *user, GError **error)
{
    RunJob *job = item->tag;
    json_auto_t *copy = ifm_case_to_json(sealed);
    job->sealed = ifm_case_from_json(copy, NULL);
    if (job->prediction == NULL)
        return TRUE;
    g_autofree char *name = g_strconcat("prediction ", sealed->key, NULL);
    json_auto_t *document = json_object();
    json_object_set_new(document, "case_key", json_string(sealed->key));
    json_object_set_new(document, "predicted_unix_ms", json_integer(g_get_real_time() / 1000));
    json_object_set(document, "prediction", job->prediction);
    return ifm_store_set_document(job->set->store, name, document, error);
}

/* What fails costs its own run. */
static gboolean after(const IfmCampaignItem *item, IfmCampaignEnd *ended, void *user, GError **error)
{
    RunJob *job = item->tag;
    if (ended->found)
    {
        job->sealed = g_steal_pointer(&ended->cases[0]);
        job->measurement = g_steal_pointer(&ended->measurements[0]);
    }
    job->error = ended->error != NULL && ended->measurements == NULL ? g_error_copy(ended->error) : NULL;
    end(job->set, ended->error != NULL                          ? "not stored"
                  : job->measurement->outcome == IFM_OUTCOME_OK ? "ok"
                                                                : job->measurement->error_code);
    return TRUE;
}

static void on_progress(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user)
{
    IfmRunSet *set = user;
    if (progress->step == NULL || ended != NULL)
        return;
    set->now.phase = progress->step;
    set->now.n = progress->n;
    set->now.median_ns = progress->median_ns;
    set->now.ci_ratio = progress->ci_ratio;
    set->now.left_ns = progress->now_left_ns;
    set->now.at_most = progress->at_most;
    report(set);
}

gboolean ifm_run_set_measure(IfmRunSet *set, const gint *interrupted, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    IfmCampaignOptions options = { .limits = IFM_LIMITS_INIT,
                                   .interrupted = interrupted,
                                   .resume_asked = set->options.resume,
                                   .keep_partial = TRUE,
                                   .before = before,
                                   .after = after,
                                   .progress = on_progress,
                                   .user = set };
    options.limits.hang_ns = MAX(options.limits.hang_ns, set->options.watchdog_ns); /* of a compile, for one */
    g_autoptr(IfmCampaign) campaign = ifm_campaign_new(set->store, &options);
    for (guint i = 0; i < set->jobs->len; i++)
    {
        RunJob *job = set->jobs->pdata[i];
        IfmCampaignItem item = {
            .title = job->title, .tag = job, .own = &run_kind, .resume = set->options.resume, .seal_runs = TRUE
        };
        ifm_campaign_add(campaign, &item);
    }
    gboolean good = ifm_campaign_run(campaign, &trouble) || g_error_matches(trouble, IFM_ERROR, IFM_ERROR_CANCELLED);
    if (!good && set->n_begun > 0 && set->now.outcome == NULL)
        end(set, "not stored");
    if (!good)
        g_propagate_error(error, g_steal_pointer(&trouble));
    run_set_list_runs(set);
    return good;
}
