#include <sensor/sensor.h>

#include "profile-private.h"

/* What is too large for this machine is refused before any of it is made, drawn or written. */

static gboolean takes_host_memory(const Target *target)
{
    return !g_str_equal(target->spec->engine, "simulated") && g_str_equal(target->spec->unit, "CPU");
}

gboolean profile_runs_on_host(const ProfilePlan *plan)
{
    for (guint i = 0; i < plan->targets->len; i++)
        if (!takes_host_memory(plan->targets->pdata[i]))
            return FALSE;
    return plan->targets->len > 0;
}

gboolean profile_check_host(const char *name, const char *what, double bytes, const char *more, GError **error)
{
    gint64 available = ifm_sensor_free_bytes("/");
    if (available == G_MAXINT64 || bytes <= (double)available)
        return TRUE;
    g_autofree char *needed = ifm_format_bytes(bytes), *there = ifm_format_bytes((double)available);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: %s %s (%s), there are %s available", name, what, needed, more,
                there);
    return FALSE;
}

gboolean profile_check_fits(const ProfilePlan *plan, const char *name, GError **error)
{
    g_auto(IfmMemoryPlan) memory = { 0 };
    if (!profile_runs_on_host(plan))
        return TRUE;
    ifm_analysis_memory(plan->analysis, &memory);
    const char *node =
        memory.peak_node < ifm_model_n_nodes(plan->model) ? ifm_model_node(plan->model, memory.peak_node)->name : "";
    g_autofree char *parameters = ifm_format_bytes((double)memory.parameter_bytes);
    g_autofree char *alive = ifm_format_bytes((double)memory.peak_bytes);
    g_autofree char *more = g_strdup_printf("parameters %s, tensors alive at node '%s': %s", parameters, node, alive);
    return profile_check_host(name, "needs at least", (double)memory.peak_bytes + (double)memory.parameter_bytes, more,
                              error);
}
