#include "profile-private.h"

/* What was measured, as results. */

/* What there is to report of each device that was tried. */
static GArray *devices_of(const ProfilePlan *plan, const GArray *results)
{
    GArray *devices = g_array_new(FALSE, TRUE, sizeof(IfmProfileDevice));
    guint at = 0;
    for (guint i = 0; i < plan->targets->len && at < results->len; i++)
    {
        const Target *target = plan->targets->pdata[i];
        if (!target->tried || (target->measurement == NULL && target->error == NULL))
            continue;
        IfmProfileDevice device = { g_array_index(results, IfmResult, at++),
                                    target->peak,
                                    target->no_peak,
                                    target->peak_stored,
                                    target->peak_doubt,
                                    target->rounds,
                                    target->why_not_rounds };
        g_array_append_val(devices, device);
    }
    return devices;
}

struct Reported
{
    GArray *results, *devices;
    IfmProfileMode mode;
    Reported *others[IFM_N_PASSES];
    IfmProfileReport report;
};

void profile_reported_free(Reported *reported)
{
    if (reported == NULL)
        return;
    g_array_unref(reported->results);
    g_array_unref(reported->devices);
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
        profile_reported_free(reported->others[kind]);
    g_free(reported);
}

/* All but its mode. */
static Reported *reported_alone(const ProfilePlan *plan, gsize n_layers, gboolean group)
{
    Reported *reported = g_new0(Reported, 1);
    reported->results = profile_plan_results(plan);
    reported->devices = devices_of(plan, reported->results);
    reported->report = (IfmProfileReport){
        .graph = plan->graph != NULL ? profile_graph_report(plan->graph) : NULL,
        .parts = plan->parts,
        .source = plan->source,
        .unix_ms = g_get_real_time() / 1000,
        .model = plan->model,
        .analysis = plan->analysis,
        .bindings = plan->base.bindings,
        .n_bindings = plan->base.n_bindings,
        .observed_on = plan->observed_on,
        .why_not_observed = plan->why_not_observed,
        .devices = (const IfmProfileDevice *)(const void *)reported->devices->data,
        .n_devices = reported->devices->len,
        .n_layers = n_layers,
        .group = group,
        .rounds = plan->rounds != NULL ? plan->rounds->measurement : NULL,
        .why_not_rounds = plan->rounds != NULL ? plan->rounds->why_not : NULL,
    };
    return reported;
}

/* The plans of other passes have no mode of their own. */
Reported *profile_reported_new(const ProfilePlan *plan, gsize n_layers, gboolean group)
{
    Reported *reported = reported_alone(plan, n_layers, group);
    if (plan->mode == NULL)
        return reported;
    profile_mode_report(plan, &reported->mode);
    reported->mode.passes[reported->mode.asked] = &reported->report;
    reported->report.mode = &reported->mode;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *other = profile_mode_plan(plan, (IfmPassKind)kind);
        if (other == NULL)
            continue;
        reported->others[kind] = reported_alone(other, n_layers, group);
        reported->mode.passes[kind] = &reported->others[kind]->report;
    }
    return reported;
}

const IfmProfileReport *profile_reported_report(const Reported *reported)
{
    return &reported->report;
}

/* --- rows --------------------------------------------------------------------------------------------------------------
 */

void profile_sweep_reported_clear(SweepReport *reported)
{
    g_clear_pointer(&reported->rows, g_array_unref);
    g_clear_pointer(&reported->blocks, g_ptr_array_unref);
    g_clear_pointer(&reported->reported_list, g_ptr_array_unref);
}

void profile_sweep_report(const Sweep *sweep, gsize n_layers, SweepReport *reported)
{
    reported->rows = g_array_new(FALSE, FALSE, sizeof(IfmScalingRow));
    reported->blocks = g_ptr_array_new_with_free_func(g_free);
    reported->reported_list = g_ptr_array_new_with_free_func((GDestroyNotify)profile_reported_free);
    for (guint i = 0; i < sweep->rows->len; i++)
    {
        const SweepRow *row = sweep->rows->pdata[i];
        IfmProfileReport *reports = g_new0(IfmProfileReport, row->points->len);
        const char **refusals = g_new0(const char *, row->points->len);
        IfmScalingRow as_reported = { .axis = row->axis,
                                      .help = row->help,
                                      .values = (const char *const *)row->values,
                                      .refusals = refusals,
                                      .reports = reports,
                                      .n = row->points->len };
        g_ptr_array_add(reported->blocks, reports);
        g_ptr_array_add(reported->blocks, refusals);
        for (guint at = 0; at < row->points->len; at++)
        {
            const ProfilePlan *plan = profile_row_plan(row, at);
            if (plan->refused != NULL)
            {
                refusals[at] = plan->refused->message;
                continue;
            }
            Reported *point = profile_reported_new(plan, n_layers, FALSE);
            g_ptr_array_add(reported->reported_list, point);
            reports[at] = point->report;
        }
        g_array_append_val(reported->rows, as_reported);
    }
}
