#include <store/store.h>
#include <string.h>

#include "profile-private.h"

/* Profiles on their way through their devices: what each plan measures, as the items of one campaign. */

const char *profile_outcome_of(const Target *target)
{
    IfmResult result = profile_target_result(target);
    return ifm_result_code(&result) == NULL ? "ok" : ifm_result_ending(&result);
}

/* --- a model on a device ------------------------------------------------------------------------------------------------
 */

static gboolean is_ok(const Step *step)
{
    return g_str_equal(profile_outcome_of(step->asked->targets->pdata[step->at]), "ok");
}

static void begin_model(const Step *step)
{
    profile_watch_begin(step->of->watch, step->title, step->model_case.protocol.runs, step->model_case.protocol.ci_ratio);
}

static void end_model(const Step *step, IfmCampaignEnd *end)
{
    Target *target = step->target;
    target->tried = TRUE;
    if (end->n > 0)
        target->sealed = g_steal_pointer(&end->cases[0]);
    if (end->measurements != NULL)
        target->measurement = g_steal_pointer(&end->measurements[0]);
    else
        target->error = g_error_copy(end->error);
    target->resumed = end->found;
    if (end->found)
        profile_note(step->of->watch, "%s: measured before, taken from %s", step->title, ifm_store_path(step->of->store));
    else if (end->n > 0)
        profile_watch_end(step->of->watch,
                          end->error == NULL || target->error != NULL ? profile_outcome_of(target) : "not stored");
}

static const StepKind step_model = { .kind = &ifm_kind_model, .begin = begin_model, .end = end_model };
/* Another pass of a mode, on a device that ran the one asked for. */
static const StepKind step_pass = { .kind = &ifm_kind_model, .wanted = is_ok, .begin = begin_model, .end = end_model };

/* --- the list -----------------------------------------------------------------------------------------------------------
 */

/* "N 500: CPU=openvino:CPU@0" (transfer full) */
static char *label_of(const ProfilePlan *plan, const Target *target)
{
    gboolean point = plan->label != NULL, alias = target->alias != NULL;
    return g_strconcat(point ? plan->label : "", point ? ": " : "", alias ? target->alias : "", alias ? "=" : "",
                       target->spec->text, NULL);
}

static void step_free(Step *step)
{
    g_free(step->title);
    g_free(step->case_time_said);
    g_free(step->time_budget_said);
    g_free(step);
}

static Step *step_new(GPtrArray *steps, const Measuring *measuring, const StepKind *kind, const ProfilePlan *asked,
                      const ProfilePlan *plan, guint at, char *title /* (transfer full) */)
{
    Step *step = g_new0(Step, 1);
    *step = (Step){ .kind = kind, .of = measuring, .asked = asked, .plan = plan, .at = at, .title = title };
    if (at < plan->targets->len)
    {
        step->target = plan->targets->pdata[at];
        step->model_case = profile_plan_case(plan, step->target);
        step->peak_case = profile_peak_case(plan, step->target);
    }
    g_ptr_array_add(steps, step);
    return step;
}

/* @renew: From here on in processes of its own: memory that an earlier model left allocated there would be used again
 * unseen. @group: a later plan need not measure again what an earlier one did; within a plan a device that is there twice
 * is wanted twice. */
static void add(IfmCampaign *campaign, Step *step, int group, gboolean resume, gboolean renew)
{
    IfmCampaignItem item = { .title = step->title,
                             .tag = step,
                             .group = group,
                             .kind = step->kind->kind,
                             .spec = step->kind == &profile_step_peak ? (const void *)&step->peak_case
                                     : step->target != NULL           ? (const void *)&step->model_case
                                                                      : &step->encoding_case,
                             .own = step->kind->own,
                             .resume = resume,
                             .renew = renew };
    ifm_campaign_add(campaign, &item);
}

static void add_target(IfmCampaign *campaign, GPtrArray *steps, const Measuring *measuring, const ProfilePlan *plan,
                       guint at, int group, gboolean renew)
{
    const Target *target = plan->targets->pdata[at];
    gboolean resume = measuring->resume;
    add(campaign, step_new(steps, measuring, &step_model, plan, plan, at, label_of(plan, target)), group, resume, renew);
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *other = profile_mode_plan(plan, (IfmPassKind)kind);
        if (other != NULL)
            add(campaign, step_new(steps, measuring, &step_pass, plan, other, at, label_of(plan, target)), group, resume,
                TRUE);
    }
    if (profile_wants_pass_rounds(plan))
        add(campaign,
            step_new(steps, measuring, &profile_step_points, plan, plan, at,
                     g_strdup_printf("%s: all passes in rounds", target->spec->text)),
            group, resume, TRUE);
    if ((plan->parts & IFM_PROFILE_LAYERS) != 0 && !measuring->no_peak)
        add(campaign,
            step_new(steps, measuring, &profile_step_peak, plan, plan, at,
                     g_strdup_printf("peak of %s", target->spec->text)),
            group, !measuring->new_peak, FALSE);
}

/* An encoding has a group of its own: that it was computed says nothing of whether a device is there. */
static void add_plan(IfmCampaign *campaign, GPtrArray *steps, const Measuring *measuring, const ProfilePlan *plan,
                     int index)
{
    gboolean renew = index > 0;
    if (profile_measures_encoding(plan))
    {
        Step *step = step_new(steps, measuring, &profile_step_encoding, plan, plan, G_MAXUINT,
                              g_strdup_printf("encoding %s of %s", plan->graph->encoding_name, plan->graph->graph->name));
        profile_encoding_case_init(step);
        add(campaign, step, 2 * index, measuring->resume, renew);
        renew = FALSE;
    }
    for (guint i = 0; i < plan->targets->len; i++)
        add_target(campaign, steps, measuring, plan, i, 2 * index + 1, renew && i == 0);
    if (profile_wants_rounds(plan))
        add(campaign,
            step_new(steps, measuring, &profile_step_rounds, plan, plan, G_MAXUINT,
                     g_strdup_printf("%u devices in rounds", plan->targets->len)),
            2 * index + 1, measuring->resume, TRUE);
}

/* All points of a row on each device, together; then those that were disturbed. */
static void add_row(IfmCampaign *campaign, GPtrArray *steps, const Measuring *measuring, const SweepRow *row, int group)
{
    const ProfilePlan *plan = NULL;
    for (guint i = 0; i < row->points->len && plan == NULL; i++)
        plan = profile_row_plan(row, i)->refused == NULL ? profile_row_plan(row, i) : NULL;
    for (guint at = 0; plan != NULL && at < plan->targets->len; at++)
        for (int again = 0; again < 2; again++)
        {
            const Target *target = plan->targets->pdata[at];
            Step *step = step_new(steps, measuring, &profile_step_points, plan, plan, at,
                                  g_strdup_printf("%s: %s: all points in rounds%s", row->axis, target->spec->text,
                                                  again ? ", the disturbed ones again" : ""));
            step->row = row;
            step->again = again;
            add(campaign, step, group, measuring->resume, TRUE);
        }
}

/* --- what the campaign asks ---------------------------------------------------------------------------------------------
 */

static gboolean on_wanted(const IfmCampaignItem *item, void *user)
{
    const Step *step = item->tag;
    return step->kind->wanted == NULL || step->kind->wanted(step);
}

static gboolean on_before(const IfmCampaignItem *item, const IfmCase *sealed, void *user, GError **error)
{
    const Step *step = item->tag;
    step->kind->begin(step);
    return TRUE;
}

static gboolean on_after(const IfmCampaignItem *item, IfmCampaignEnd *end, void *user, GError **error)
{
    const Step *step = item->tag;
    step->kind->end(step, end);
    return TRUE;
}

void profile_measure(Measuring *measuring)
{
    const IfmCampaignOptions options = { .limits = measuring->limits,
                                         .interrupted = measuring->interrupted,
                                         .retry = TRUE,
                                         .keep_partial = TRUE,
                                         .hold_absent = TRUE,
                                         .wanted = on_wanted,
                                         .before = on_before,
                                         .after = on_after,
                                         .progress = profile_watch_progress,
                                         .user = (gpointer)measuring->watch };
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) steps = g_ptr_array_new_with_free_func((GDestroyNotify)step_free);
    g_autoptr(IfmCampaign) campaign = measuring->campaign = ifm_campaign_new(measuring->store, &options);
    for (guint i = 0; i < measuring->plans->len; i++)
    {
        ProfilePlan *plan = measuring->plans->pdata[i];
        plan->rounds = profile_wants_rounds(plan) ? g_new0(ProfileRounds, 1) : NULL;
        add_plan(campaign, steps, measuring, plan, (int)i);
    }
    for (guint i = 0; measuring->sweep != NULL && i < measuring->sweep->rows->len; i++)
        add_row(campaign, steps, measuring, measuring->sweep->rows->pdata[i], 2 * (int)(measuring->plans->len + i) + 1);
    if (!ifm_campaign_run(campaign, &error) && !g_error_matches(error, IFM_ERROR, IFM_ERROR_CANCELLED))
        measuring->store_error = g_steal_pointer(&error);
}
