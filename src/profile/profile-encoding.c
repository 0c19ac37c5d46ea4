#include <math.h>
#include <sensor/sensor.h>
#include <store/store.h>

#include "profile-private.h"

/* A graph transformer's positional encoding: computed for what the model is fed, and what computing it costs. */

gboolean profile_check_encodable(const GraphModel *model, GError **error)
{
    const IfmTransformerSizes *sizes = &model->transformer.sizes;
    if (sizes->pe != IFM_ENCODING_LAPLACIAN || ifm_encoding_laplacian_check(model->report.graph, sizes->pe_dim, error))
        return TRUE;
    g_prefix_error(error, "--pe %s: ", model->report.encoding_name);
    return FALSE;
}

/* --- computed, for what the model is fed ------------------------------------------------------------------------------ */

#define REPORT_US (200 * 1000)

/* Wait: a caller that waits for an encoding. @begun: what the progress calls it, once it began; NULL: it has */
typedef struct
{
    const IfmProfileWatch *watch;
    char *begun;
    gint64 end_us, report_us; /* when it is too late (0: never), when to report again */
    gboolean late;
} Wait;

static gboolean go_on(double done_ratio, void *user)
{
    Wait *wait = user;
    gint64 now_us = g_get_monotonic_time();
    wait->late = wait->end_us > 0 && now_us >= wait->end_us;
    if (!wait->late && now_us >= wait->report_us)
    {
        g_autofree char *phase =
            done_ratio > 0 ? g_strdup_printf("encoding, %d %%", (int)(100 * done_ratio)) : g_strdup("encoding");
        if (wait->begun != NULL)
            profile_report(wait->watch, &(IfmProgress){ .title = wait->begun, .target_ci_ratio = NAN });
        g_clear_pointer(&wait->begun, g_free);
        profile_report(wait->watch, &(IfmProgress){ .phase = phase, .median_ns = NAN, .ci_ratio = NAN });
        wait->report_us = now_us + REPORT_US;
    }
    return !wait->late;
}

/* "5.000 s (--case-timeout)" (transfer full) */
static char *case_time_text(gint64 case_time_ns)
{
    g_autofree char *time = ifm_format_duration((double)case_time_ns);
    return g_strdup_printf("%s (--case-timeout)", time);
}

static IfmEncoding *compute(const GraphModel *model, Wait *wait, gint64 case_time_ns, GError **error)
{
    const IfmTransformerSizes *sizes = &model->transformer.sizes;
    IfmEncoding *encoding = sizes->pe == IFM_ENCODING_LAPLACIAN
                                ? ifm_encoding_laplacian(model->report.graph, sizes->pe_dim, go_on, wait, error)
                                : ifm_encoding_random_walk(model->report.graph, sizes->pe_dim, go_on, wait, error);
    if (encoding == NULL && wait->late)
    {
        g_autofree char *time = case_time_text(case_time_ns);
        g_clear_error(error);
        ifm_error_set(error, IFM_ERROR_TIMEOUT, "not computed within %s", time);
    }
    return encoding;
}

gboolean profile_encode(GraphModel *model, gint64 case_time_ns, const IfmProfileWatch *watch, GError **error)
{
    if (model->transformer.sizes.pe == IFM_ENCODING_NONE)
        return TRUE;
    gint64 begin_us = g_get_monotonic_time();
    Wait wait = { .watch = watch,
                  .begun = g_strdup_printf("computing %s of %s", model->report.encoding_name, model->report.graph->name),
                  .end_us = case_time_ns > 0 ? begin_us + case_time_ns / 1000 : 0,
                  .report_us = begin_us + G_USEC_PER_SEC };
    profile_report(watch, &(IfmProgress){ .n_cases = 1 });
    model->encoding_seen[0] = ifm_sensor_snapshot("/");
    begin_us = g_get_monotonic_time();
    model->report.encoding = compute(model, &wait, case_time_ns, error);
    model->encoding_ns = (g_get_monotonic_time() - begin_us) * 1000;
    model->encoding_seen[1] = ifm_sensor_snapshot("/");
    if (wait.begun == NULL)
        profile_report(watch, &(IfmProgress){ .outcome = model->report.encoding != NULL ? "ok" : "failed" });
    g_free(wait.begun);
    if (model->report.encoding == NULL)
        g_prefix_error(error, "--pe %s: ", model->report.encoding_name);
    return model->report.encoding != NULL;
}

/* --- measured, as a step of the profile ------------------------------------------------------------------------------- */

static gboolean report_share(double done_ratio, void *user)
{
    ProfileStep *step = user;
    gint64 now_us = g_get_monotonic_time();
    if (now_us < step->report_us)
        return TRUE;
    g_autofree char *phase = g_strdup_printf("running, %d %%", (int)(100 * done_ratio));
    profile_report_step(step->of->options.watch, phase, ifm_campaign_progress(step->of->campaign));
    step->report_us = now_us + REPORT_US;
    return TRUE;
}

void profile_encoding_case_init(ProfileStep *step)
{
    const GraphModel *model = step->plan->graph;
    const IfmProtocol *protocol = &step->plan->base.protocol;
    step->case_time_said = case_time_text(step->of->limits.case_time_ns);
    step->time_budget_said = ifm_format_duration((double)protocol->time_budget_ns);
    step->spec.encoding = (IfmEncodingCase){ .graph = model->report.graph,
                                             .encoding = model->transformer.sizes.pe,
                                             .dim = model->transformer.sizes.pe_dim,
                                             .protocol = *protocol,
                                             .known = model->report.encoding,
                                             .known_ns = model->encoding_ns,
                                             .known_seen = { model->encoding_seen[0], model->encoding_seen[1] },
                                             .watch = report_share,
                                             .watch_user = step,
                                             .case_time_said = step->case_time_said,
                                             .time_budget_said = step->time_budget_said };
}

static const char *end_encoding(ProfileStep *step, IfmCampaignEnd *end)
{
    GraphModel *model = step->plan->graph;
    const IfmMeasurement *cost = end->measurements != NULL ? end->measurements[0] : NULL;
    const gboolean good = cost != NULL && cost->outcome == IFM_OUTCOME_OK;
    if (end->n > 0)
        model->report.encoding_case = g_steal_pointer(&end->cases[0]);
    if (good)
        model->report.encoding_cost = g_steal_pointer(&end->measurements[0]);
    else
        model->report.no_encoding_cost = g_strdup(cost != NULL ? cost->reason : end->error->message);
    model->encoding_code = good ? 0 : cost != NULL ? IFM_ERROR_FAILED : end->error->code;
    return profile_is_interrupted(step->of->interrupted) ? "interrupted" : good ? "ok" : "failed";
}

const StepKind profile_step_encoding = { .kind = &ifm_kind_encoding, .end = end_encoding };

gboolean profile_measures_encoding(const IfmProfilePlan *plan)
{
    return plan->graph != NULL && plan->graph->report.encoding != NULL && (plan->parts & IFM_PROFILE_PE) != 0;
}
