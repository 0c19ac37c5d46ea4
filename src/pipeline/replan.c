/* When a device fails: the plan without it, made ready. */
#include "pipeline-private.h"

/* A plan for the same devices that leaves out those that are lost. */
static gboolean check_replanned(const IfmPlan *old, const IfmPlan *new, guint32 lost, GError **error)
{
    const char *wrong = NULL;
    if (new->devices->len != old->devices->len)
        wrong = "another number of devices";
    for (guint i = 0; wrong == NULL && i < new->blocks->len; i++)
        for (gsize k = 0; k < ifm_plan_block(new, i)->n_devices; k++)
            if ((lost & 1u << ifm_plan_block(new, i)->devices[k]) != 0)
                wrong = "a device that is lost";
    if (wrong != NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "replan: the plan it gave has %s", wrong);
    return wrong == NULL;
}

/* Devices that fail while their models are compiled are lost, too: then there is another plan to be asked for. */
Line *ifm_line_replan(IfmPipeline *pipeline, const IfmPlan *plan, guint32 *lost, const GError *why, GError **error)
{
    const IfmPipelineOptions *options = ifm_pipeline_options(pipeline);
    g_autoptr(GError) reason = g_error_copy(why);
    for (;;)
    {
        int device;
        GError *local = NULL;
        g_autoptr(IfmPlan) next = options->replan(plan, *lost, reason, options->replan_user);
        if (next == NULL)
        {
            g_propagate_error(error, g_steal_pointer(&reason));
            return NULL;
        }
        if (!check_replanned(plan, next, *lost, error))
            return NULL;
        Line *line = ifm_line_new(pipeline, next, &device, &local);
        if (line != NULL)
            return line;
        if (device < 0)
        {
            g_propagate_error(error, local);
            return NULL;
        }
        *lost |= 1u << device;
        g_clear_error(&reason);
        reason = local;
    }
}
