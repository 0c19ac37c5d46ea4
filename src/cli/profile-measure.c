#include <string.h>

#include "profile-campaign.h"

/* Profiles on their way through their devices. */

/* What an earlier profile left whole. One that was cut short does not count. */
static IfmMeasurement *find_stored(Campaign *campaign, const IfmCase *sealed, GError **error)
{
    g_autoptr(IfmMeasurement) stored = ifm_store_latest(campaign->store, sealed->key, error);
    return stored != NULL && g_strcmp0(stored->stop_reason, "interrupted") != 0 ? g_steal_pointer(&stored) : NULL;
}

IfmResult profile_target_result(const Target *target)
{
    return (IfmResult){
        .device = target->spec->text,
        .alias = target->alias,
        .subject_case = target->sealed,
        .measurement = target->measurement,
        .code = target->error != NULL ? ifm_error_code_name(target->error->code) : NULL,
        .reason = target->error != NULL ? target->error->message : NULL,
        .resumed = target->resumed,
    };
}

/* The word of the table, where something went wrong. */
static const char *outcome_of(const Target *target)
{
    IfmResult result = profile_target_result(target);
    return ifm_result_code(&result) == NULL ? "ok" : ifm_result_ending(&result);
}

/* Whether there was a device to try. */
static gboolean was_tried(const Target *target)
{
    static const char *const absent[] = { "invalid", "unavailable", NULL };
    const IfmMeasurement *measurement = target->measurement;
    return measurement != NULL && measurement->outcome != IFM_OUTCOME_SKIPPED &&
           !g_strv_contains(absent, measurement->error_code);
}

/* A device that is not here is worth a row beside others that are; where none is, it was the command line that was wrong,
 * and the store need not remember it. So such rows wait until one device was tried. */
static void commit_tried(Campaign *campaign, const ProfilePlan *plan)
{
    const GPtrArray *targets = plan->targets;
    gboolean any = FALSE;
    for (guint i = 0; i < targets->len; i++)
        any |= was_tried(targets->pdata[i]);
    for (guint i = 0; i < targets->len && any && campaign->store_error == NULL; i++)
    {
        Target *target = targets->pdata[i];
        if (target->measurement == NULL || target->stored || target->resumed)
            continue;
        target->stored = ifm_store_commit(campaign->store, target->sealed, target->measurement, &campaign->store_error);
    }
}

/* "N 500: CPU=openvino:CPU@0" (transfer full) */
static char *label_of(const ProfilePlan *plan, const Target *target)
{
    gboolean point = plan->label != NULL, alias = target->alias != NULL;
    return g_strconcat(point ? plan->label : "", point ? ": " : "", alias ? target->alias : "", alias ? "=" : "",
                       target->spec->text, NULL);
}

static void measure_sealed(Campaign *campaign, const ProfilePlan *plan, Target *target, const IfmModelCase *model_case)
{
    const IfmProtocol *protocol = &model_case->protocol;
    g_autofree char *label = label_of(campaign->plan, target);
    progress_begin(campaign->progress, label, protocol->runs, protocol->ci_ratio);
    target->measurement = ifm_runner_measure(campaign->runner, model_case, target->sealed, &target->error);
    commit_tried(campaign, plan);
    progress_end(campaign->progress, campaign->store_error == NULL ? outcome_of(target) : "not stored");
}

static void measure_target(Campaign *campaign, const ProfilePlan *plan, Target *target)
{
    IfmModelCase model_case = profile_plan_case(plan, target);
    target->tried = TRUE;
    target->sealed = ifm_runner_case(campaign->runner, &model_case, &target->error);
    if (target->sealed == NULL)
        return;
    if (campaign->resume || g_hash_table_contains(campaign->measured, target->sealed->key))
        target->measurement = find_stored(campaign, target->sealed, &campaign->store_error);
    if (campaign->store_error != NULL)
        return;
    target->resumed = target->measurement != NULL;
    if (!target->resumed)
    {
        measure_sealed(campaign, plan, target, &model_case);
        return;
    }
    g_autofree char *label = label_of(campaign->plan, target);
    cli_note("%s: measured before, taken from %s", label, ifm_store_path(campaign->store));
}

static void find_limit(Campaign *campaign, Target *target)
{
    LimitPlace place = { campaign->runner, campaign->store, campaign->progress, campaign->new_limit };
    gboolean wanted = (campaign->plan->parts & IFM_PROFILE_LAYERS) != 0 && !campaign->no_limit;
    if (wanted && g_str_equal(outcome_of(target), "ok"))
        profile_find_limit(campaign->plan, target, &place, &campaign->store_error);
}

/* Whether anything more is to be measured. */
static gboolean goes_on(const Campaign *campaign)
{
    return cli_interrupt_signal() == 0 && campaign->store_error == NULL;
}

/* From here on in processes of its own: memory that an earlier model left allocated there would be used again unseen. */
static void renew_runner(Campaign *campaign)
{
    ifm_runner_free(campaign->runner);
    campaign->runner = ifm_runner_new(campaign->options);
}

/* The other passes of a mode, one after the other, on a device that ran the one asked for. */
static void measure_others(Campaign *campaign, guint at)
{
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *other = profile_mode_plan(campaign->plan, (IfmPassKind)kind);
        if (other == NULL || !goes_on(campaign) || !g_str_equal(outcome_of(campaign->plan->targets->pdata[at]), "ok"))
            continue;
        renew_runner(campaign);
        measure_target(campaign, other, other->targets->pdata[at]);
    }
}

static void measure_turns(Campaign *campaign, guint at)
{
    const TurnsPlace place = { campaign->runner, campaign->store, campaign->progress, campaign->resume };
    if (goes_on(campaign))
        profile_measure_turns(campaign->plan, at, &place, &campaign->store_error);
}

static void measure_all(Campaign *campaign)
{
    const EncodingPlace place = { campaign->store,  campaign->progress, campaign->options->interrupted,
                                  campaign->resume, campaign->measured, campaign->options->limits.case_time_ns };
    if (goes_on(campaign))
        profile_measure_encoding(campaign->plan, &place, &campaign->store_error);
    for (guint i = 0; i < campaign->plan->targets->len; i++)
    {
        Target *target = campaign->plan->targets->pdata[i];
        if (goes_on(campaign))
            measure_target(campaign, campaign->plan, target);
        measure_others(campaign, i);
        measure_turns(campaign, i);
        if (goes_on(campaign))
            find_limit(campaign, target);
    }
}

/* A later plan need not measure again what this one did; within a plan a device that is there twice is wanted twice. */
static void remember(Campaign *campaign, const ProfilePlan *plan)
{
    for (guint i = 0; plan != NULL && i < plan->targets->len; i++)
    {
        const Target *target = plan->targets->pdata[i];
        if (target->stored && target->measurement->outcome == IFM_OUTCOME_OK)
            g_hash_table_add(campaign->measured, g_strdup(target->sealed->key));
    }
}

void profile_measure(Campaign *campaign)
{
    campaign->measured = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < campaign->plans->len; i++)
    {
        if (i > 0)
            renew_runner(campaign);
        campaign->plan = campaign->plans->pdata[i];
        measure_all(campaign);
        remember(campaign, campaign->plan);
        for (int kind = 0; kind < IFM_N_PASSES; kind++)
            remember(campaign, profile_mode_plan(campaign->plan, (IfmPassKind)kind));
    }
    g_clear_pointer(&campaign->measured, g_hash_table_unref);
}
