#include <math.h>
#include <stdarg.h>
#include <store/store.h>

#include "profile-private.h"

/* What the plans of a profile measure, as the steps of one campaign. */

/* --- progress ---------------------------------------------------------------------------------------------------------
 */

void profile_note(const IfmProfileWatch *watch, const char *format, ...)
{
    va_list values;
    if (watch == NULL || watch->note == NULL)
        return;
    va_start(values, format);
    g_autofree char *message = g_strdup_vprintf(format, values);
    va_end(values);
    watch->note(message, watch->user);
}

void profile_report(const IfmProfileWatch *watch, const IfmProgress *now)
{
    if (watch != NULL && watch->progress != NULL)
        watch->progress(now, watch->user);
}

void profile_report_step(const IfmProfileWatch *watch, const char *phase, const IfmCampaignProgress *progress)
{
    profile_report(watch, &(IfmProgress){ .phase = phase,
                                          .n = progress->n,
                                          .median_ns = progress->median_ns,
                                          .ci_ratio = progress->ci_ratio,
                                          .left_ns = progress->now_left_ns,
                                          .at_most = progress->at_most });
}

void profile_on_progress(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *watch)
{
    if (ended == NULL && progress->now != NULL && progress->step != NULL)
        profile_report_step(watch, progress->step, progress);
}

gboolean profile_is_interrupted(const gint *interrupted)
{
    return interrupted != NULL && g_atomic_int_get(interrupted) != 0;
}

/* --- a model on a device ------------------------------------------------------------------------------------------------
 */

/* Another pass of a mode is measured on a device that ran the one asked for. */
static gboolean wants_model(ProfileStep *step)
{
    const Target *asked = step->plan->targets->pdata[step->at];
    return step->target == asked || profile_is_measured(asked);
}

static const char *end_model(ProfileStep *step, IfmCampaignEnd *end)
{
    IfmResult *result = &step->target->device.result;
    result->resumed = end->found;
    if (end->n > 0)
        result->subject_case = g_steal_pointer(&end->cases[0]);
    if (end->measurements != NULL)
        result->measurement = g_steal_pointer(&end->measurements[0]);
    else
    {
        result->code = ifm_error_code_name((IfmErrorCode)end->error->code);
        result->reason = g_strdup(end->error->message);
    }
    return profile_is_measured(step->target) ? "ok" : ifm_result_ending(result);
}

static const StepKind step_model = { .kind = &ifm_kind_model, .wanted = wants_model, .end = end_model };

/* --- the peak of a device -----------------------------------------------------------------------------------------------
 */

/*
 * The limit of a target's device: from the store where this machine's was measured before, with the same runtime, precision
 * and threads; else measured once and kept there.
 */

#define PEAK_BUDGET_NS (10 * G_GINT64_CONSTANT(1000000000))

static gboolean wants_peak(ProfileStep *step)
{
    return profile_is_measured(step->target);
}

static const char *end_peak(ProfileStep *step, IfmCampaignEnd *end)
{
    IfmProfileDevice *device = &step->target->device;
    const IfmMeasurement *peak = end->measurements != NULL ? end->measurements[0] : NULL;
    device->peak_stored = end->found;
    if (peak == NULL || peak->outcome != IFM_OUTCOME_OK)
    {
        device->no_peak = g_strdup(end->error != NULL ? end->error->message : peak != NULL ? peak->reason : "not measured");
        return "not known";
    }
    device->peak = g_steal_pointer(&end->measurements[0]);
    device->peak_doubt = ifm_peak_doubt(device->peak);
    return end->error == NULL ? "ok" : "not known";
}

static const StepKind step_peak = { .own = &ifm_peak_item, .wanted = wants_peak, .end = end_peak };

/* --- the list -----------------------------------------------------------------------------------------------------------
 */

static void step_free(ProfileStep *step)
{
    g_free(step->title);
    g_free(step->case_time_said);
    g_free(step->time_budget_said);
    g_free(step->sides);
    g_free(step);
}

/* @title: (transfer full)    @group: a later plan need not measure again what an earlier one did; within a plan a device
 * that is there twice is wanted twice    @renew: From here on in processes of its own: memory that an earlier model left
 * allocated there would be used again unseen. */
static ProfileStep *add(IfmProfile *self, const StepKind *kind, IfmProfilePlan *plan, guint at, char *title, int group,
                        gboolean renew)
{
    ProfileStep *step = g_new0(ProfileStep, 1);
    const IfmCampaignItem item = { .title = title,
                                   .tag = step,
                                   .group = group,
                                   .kind = kind->kind,
                                   .spec = &step->spec,
                                   .own = kind->own,
                                   .resume = kind == &step_peak ? !self->options.new_peak : self->options.resume,
                                   .renew = renew };
    *step = (ProfileStep){ .kind = kind, .of = self, .plan = plan, .at = at, .title = title };
    step->target = at < plan->targets->len ? plan->targets->pdata[at] : NULL;
    g_ptr_array_add(self->steps, step);
    ifm_campaign_add(self->campaign, &item);
    return step;
}

/* @pass: the plan that was asked for, or another pass of it */
static void add_model(IfmProfile *self, IfmProfilePlan *plan, const IfmProfilePlan *pass, guint at, int group,
                      gboolean renew)
{
    Target *target = pass->targets->pdata[at];
    const char *alias = target->device.result.alias;
    const gboolean point = plan->label != NULL;
    char *title = g_strconcat(point ? plan->label : "", point ? ": " : "", alias != NULL ? alias : "",
                              alias != NULL ? "=" : "", target->spec->text, NULL); /* "N 500: CPU=openvino:CPU@0" */
    ProfileStep *step = add(self, &step_model, plan, at, title, group, renew);
    step->target = target;
    step->spec.model = profile_plan_case(pass, target);
}

static void add_target(IfmProfile *self, IfmProfilePlan *plan, guint at, int group, gboolean renew)
{
    const Target *target = plan->targets->pdata[at];
    const char *device = target->spec->text;
    add_model(self, plan, plan, at, group, renew);
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
        if (profile_mode_plan(plan, kind) != NULL)
            add_model(self, plan, profile_mode_plan(plan, kind), at, group, TRUE);
    if (plan->mode != NULL && plan->label == NULL && (plan->parts & IFM_PROFILE_RUNTIME) != 0) /* so that they add up */
        add(self, &profile_step_points, plan, at, g_strdup_printf("%s: all passes in rounds", device), group, TRUE);
    if ((plan->parts & IFM_PROFILE_LAYERS) == 0 || self->options.no_peak)
        return;
    ProfileStep *step = add(self, &step_peak, plan, at, g_strdup_printf("peak of %s", device), group, FALSE);
    step->spec.peak = (IfmPeakCase){ .device = device,
                                     .alias = target->device.result.alias,
                                     .dtype = plan->base.dtype,
                                     .threads = plan->base.threads,
                                     .time_budget_ns = PEAK_BUDGET_NS };
}

/* An encoding has a group of its own: that it was computed says nothing of whether a device is there. */
static void add_plan(IfmProfile *self, IfmProfilePlan *plan, int index)
{
    gboolean renew = index > 0;
    if (profile_measures_encoding(plan))
    {
        const IfmProfileGraph *of = &plan->graph->report;
        char *title = g_strdup_printf("encoding %s of %s", of->encoding_name, of->graph->name);
        profile_encoding_case_init(add(self, &profile_step_encoding, plan, G_MAXUINT, title, 2 * index, renew));
        renew = FALSE;
    }
    for (guint i = 0; i < plan->targets->len; i++)
        add_target(self, plan, i, 2 * index + 1, renew && i == 0);
    if (plan->targets->len > 1 && plan->label == NULL) /* the devices of points are not compared */
        add(self, &profile_step_rounds, plan, G_MAXUINT, g_strdup_printf("%u devices in rounds", plan->targets->len),
            2 * index + 1, TRUE);
}

/* All points of a row on each device, together; then those that were disturbed. */
static void add_row(IfmProfile *self, const SweepRow *row, int group)
{
    IfmProfilePlan *plan = NULL;
    for (guint i = 0; i < row->points->len && (plan == NULL || plan->refused != NULL); i++)
        plan = row->points->pdata[i];
    for (guint at = 0; plan != NULL && plan->refused == NULL && at < plan->targets->len; at++)
        for (int again = 0; again < 2; again++)
        {
            const Target *target = plan->targets->pdata[at];
            char *title = g_strdup_printf("%s: %s: all points in rounds%s", row->axis, target->spec->text,
                                          again ? ", the disturbed ones again" : "");
            ProfileStep *step = add(self, &profile_step_points, plan, at, title, group, TRUE);
            step->row = row;
            step->again = again;
        }
}

/* --- what the campaign asks ---------------------------------------------------------------------------------------------
 */

static gboolean on_wanted(const IfmCampaignItem *item, void *user)
{
    ProfileStep *step = item->tag;
    return step->kind->wanted == NULL || step->kind->wanted(step);
}

static gboolean on_before(const IfmCampaignItem *item, const IfmCase *sealed, void *user, GError **error)
{
    const ProfileStep *step = item->tag;
    const IfmProfileWatch *watch = step->of->options.watch;
    const IfmProtocol *protocol = &step->plan->base.protocol;
    const gboolean has_no_case = item->own != NULL;
    profile_report(watch, &(IfmProgress){ .title = step->title,
                                          .again = has_no_case,
                                          .runs = has_no_case ? 0 : protocol->runs,
                                          .target_ci_ratio = has_no_case ? (double)NAN : protocol->ci_ratio,
                                          .budget_ns = has_no_case ? 0 : protocol->time_budget_ns });
    if (step->kind == &step_peak &&
        !g_str_equal(step->target->spec->engine, "simulated")) /* a described one takes no time */
        profile_note(watch, "%s: measured once for this machine, which takes up to 10 s; --no-peak leaves it out",
                     step->title);
    return TRUE;
}

static gboolean on_after(const IfmCampaignItem *item, IfmCampaignEnd *end, void *user, GError **error)
{
    ProfileStep *step = item->tag;
    const IfmProfileWatch *watch = step->of->options.watch;
    const gboolean has_no_case = item->own != NULL;
    IfmProgress now = { .outcome = step->kind->end(step, end) };
    if (!has_no_case && end->measurements != NULL && end->error != NULL)
        now.outcome = "not stored";
    if (end->found && !has_no_case)
        profile_note(watch, "%s: measured before, taken from %s", step->title, ifm_store_path(step->of->store));
    else if (!end->found && end->n > 0)
        profile_report(watch, &now);
    return TRUE;
}

void profile_measure(IfmProfile *self)
{
    const IfmCampaignOptions options = { .limits = self->limits,
                                         .interrupted = self->interrupted,
                                         .retry = TRUE,
                                         .keep_partial = TRUE,
                                         .hold_absent = TRUE,
                                         .wanted = on_wanted,
                                         .before = on_before,
                                         .after = on_after,
                                         .progress = profile_on_progress,
                                         .user = (gpointer)self->options.watch };
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) steps = self->steps = g_ptr_array_new_with_free_func((GDestroyNotify)step_free);
    g_autoptr(IfmCampaign) campaign = self->campaign = ifm_campaign_new(self->store, &options);
    for (guint i = 0; i < self->plans->len; i++)
        add_plan(self, self->plans->pdata[i], (int)i);
    for (guint i = 0; i < self->rows->len; i++)
        add_row(self, self->rows->pdata[i], 2 * (int)(self->plans->len + i) + 1);
    if (!ifm_campaign_run(campaign, &error) && !g_error_matches(error, IFM_ERROR, IFM_ERROR_CANCELLED))
        self->store_error = g_steal_pointer(&error);
}
