/* Plans for lost devices, made before anything runs: a worker has these plans, but not the tables to make them. */
#include "plan-private.h"

/* The devices of the cost model that the plan does not list, and those of its list that are lost. */
static guint32 without_of(const IfmCosts *costs, const IfmPlan *plan, guint32 lost)
{
    guint32 without = 0;
    for (int d = 0; d < costs->n_devices; d++)
    {
        int at = ifm_plan_find_device(plan, costs->devices[d]->is.alias);
        if (at < 0 || (lost & 1u << at) != 0)
            without |= 1u << d;
    }
    return without;
}

/* The found plan, with indices into @plan's own list of devices. */
static IfmPlan *over_list_of(const IfmPlan *plan, const IfmPlan *found)
{
    IfmPlan *same = ifm_plan_copy(plan);
    g_array_set_size(same->blocks, 0);
    for (guint b = 0; b < found->blocks->len; b++)
    {
        IfmPlanBlock block = g_array_index(found->blocks, IfmPlanBlock, b);
        for (gsize i = 0; i < block.n_devices; i++)
        {
            const IfmPlanDevice *device = g_ptr_array_index(found->devices, (guint)block.devices[i]);
            block.devices[i] = ifm_plan_find_device(plan, device->alias);
        }
        ifm_plan_add_block(same, &block);
    }
    return same;
}

/* Adds the best plan without @lost, if there is one. */
static gboolean add_fallback(json_t *fallbacks, const IfmCosts *costs, const IfmPlan *plan, const IfmPlanQuestion *asked,
                             guint32 lost, GError **error)
{
    g_auto(IfmPlanAnswer) answer = { 0 };
    g_autoptr(GError) local = NULL;
    IfmPlanQuestion question = *asked;
    question.without |= without_of(costs, plan, lost);
    if (!ifm_plan_search(costs, &question, &answer, &local))
    {
        if (g_error_matches(local, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
            return TRUE;
        return ifm_error_pass(error, g_steal_pointer(&local));
    }
    g_autoptr(IfmPlan) same = over_list_of(plan, answer.plan);
    g_autofree char *mask = g_strdup_printf("%u", lost);
    json_object_set_new(fallbacks, mask, ifm_plan_to_json(same));
    return TRUE;
}

json_t *ifm_plan_fallbacks(const IfmCosts *costs, const IfmPlan *plan, const IfmPlanQuestion *question, GError **error)
{
    json_auto_t *fallbacks = json_object();
    guint32 all = (1u << plan->devices->len) - 1;
    if (g_strcmp0(plan->model, costs->model) != 0)
    {
        ifm_error_refuse(error, "fallbacks: a plan of %s, a cost model of %s", plan->model, costs->model);
        return NULL;
    }
    for (guint32 lost = 1; lost < all; lost++)
        if (!add_fallback(fallbacks, costs, plan, question, lost, error))
            return NULL;
    return json_incref(fallbacks);
}
