/* A run's plan, tried before it is predicted. */
#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <plan/plan.h>
#include <run/run.h>

#include "run-private.h"

static gboolean resolve(IfmPlan *plan, void *user, GError **error)
{
    const RunJob *job = user;
    g_autofree char *name = run_job_name_of_plan(job, 0);
    return run_set_resolve(job->set, plan, name, error);
}

static const IfmRecordField round_fields[] = {
    { IFM_RECORD(SIZE, IfmPilotRound, n_batches) },
    { IFM_RECORD(DOUBLE, IfmPilotRound, predicted_ns) },
    { IFM_RECORD(DOUBLE, IfmPilotRound, measured_ns) },
    { IFM_RECORD(DOUBLE, IfmPilotRound, pace_ns) },
    { IFM_RECORD(DOUBLE, IfmPilotRound, spread_ratio) },
    { IFM_RECORD(FLAG, IfmPilotRound, again) },
    { NULL },
};

/* {"budget_ns", "drift_ratio", "tables": {what was predicted without it}, "rounds": [{"plan", "n_batches", "predicted_ns",
 * …}]} (transfer full) */
static json_t *pilot_to_json(const RunJob *job, gint64 budget_ns, const GArray *rounds)
{
    json_t *json = json_object(), *list = json_array(), *tables = json_object();
    static const char *const kept[] = { "plan", "makespan_ns", "makespan_spread_ratio", "throughput_per_s", "cycle_ns" };
    for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
        if (json_object_get(job->prediction, kept[i]) != NULL)
            json_object_set(tables, kept[i], json_object_get(job->prediction, kept[i]));
    for (guint i = 0; i < rounds->len; i++)
    {
        const IfmPilotRound *round = &g_array_index(rounds, IfmPilotRound, i);
        g_autofree char *text = ifm_plan_to_text(round->plan);
        json_t *one = json_object();
        json_object_set_new(one, "plan", ifm_json_string(text));
        json_object_update_new(one, ifm_record_to_json(round, round_fields));
        json_array_append_new(list, one);
    }
    json_object_set_new(json, "budget_ns", json_integer(budget_ns));
    json_object_set_new(json, "drift_ratio", ifm_json_real(ifm_pilot_drift_ratio(rounds)));
    json_object_set_new(json, "tables", tables);
    json_object_set_new(json, "rounds", list);
    return json;
}

/* The interval of what was seen holds for the moment it was seen in; the run comes later. */
static void widen(json_t *prediction, double drift_ratio)
{
    const json_t *spread = json_object_get(prediction, "makespan_spread_ratio");
    if (json_is_number(spread))
        json_object_set_new(prediction, "makespan_spread_ratio",
                            ifm_json_real(hypot(json_number_value(spread), drift_ratio)));
}

/* The search's plans have their devices bare; the run's plan stands as it is where it came from a file. */
static IfmPlan *find_plan(RunJob *job, IfmCampaign *campaign, const IfmPlanCase *like, GArray **rounds, GError **error)
{
    const IfmPlanQuestion question = run_job_question(job, 0);
    const IfmPilotOptions options = { .measure = ifm_campaign_ask,
                                      .measure_user = campaign,
                                      .like = like,
                                      .stream = run_job_stream(job, 0),
                                      .budget_ns = run_pilot_budget_ns(job),
                                      .keep_plan = job->set->given != NULL,
                                      .resolve = resolve,
                                      .user = job };
    return ifm_plan_pilot(job->set->context.costs, &question, job->plans->pdata[0], &options, rounds, error);
}

/* A study tells plans apart to this part of what was searched for: as far as a machine changes until the run. */
#define TOLD_APART 0.05

gint64 run_pilot_budget_ns(const RunJob *job)
{
    const IfmRunSet *set = job->set;
    if (set->context.costs == NULL || set->table != NULL || job->graphs->len != 1)
        return 0;
    if (set->options.pilot_ns != IFM_OPTION_UNSET)
        return set->options.pilot_ns;
    return job->searched && !(job->plan_spread <= TOLD_APART) ? IFM_RUN_USUAL_PILOT_NS : 0;
}

gboolean run_pilot(RunJob *job, IfmCampaign *campaign, const IfmPlanCase *like, GError **error)
{
    const gint64 budget_ns = run_pilot_budget_ns(job);
    if (budget_ns <= 0)
        return TRUE;
    g_autoptr(GArray) rounds = NULL;
    g_autoptr(GError) failed = NULL;
    IfmPlan *plan = find_plan(job, campaign, like, &rounds, &failed);
    if (plan == NULL && g_error_matches(failed, IFM_ERROR, IFM_ERROR_CANCELLED))
        return ifm_error_pass(error, g_steal_pointer(&failed));
    if (plan == NULL)
    {
        json_object_set_new(job->prediction, "pilot", json_pack("{s:o}", "failed", ifm_json_string(failed->message)));
        return TRUE;
    }
    json_auto_t *reported = pilot_to_json(job, budget_ns, rounds);
    if (job->set->given == NULL && job->origins->len > 0)
        g_string_append(job->origins, " and tried");
    const gboolean taken = run_job_take_plan(job, plan, error);
    ifm_costs_forget_corrections(job->set->context.costs);
    if (!taken)
        return FALSE;
    json_object_set(job->prediction, "pilot", reported);
    widen(job->prediction, ifm_pilot_drift_ratio(rounds));
    return TRUE;
}
