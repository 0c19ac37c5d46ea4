#pragma once
#include <inferometer/pipeline.h>

G_BEGIN_DECLS

/* --- plan.c, plan-json.c --------------------------------------------------------------------------------------------- */

/* How far the ratios of a block may be from adding up to 1. */
#define IFM_PLAN_RATIO_TOLERANCE 0.001

static inline const IfmPlanDevice *ifm_plan_device(const IfmPlan *plan, int index)
{
    return (const IfmPlanDevice *)g_ptr_array_index(plan->devices, (guint)index);
}

static inline const IfmPlanBlock *ifm_plan_block(const IfmPlan *plan, guint index)
{
    return &g_array_index(plan->blocks, IfmPlanBlock, index);
}

/* ifm_plan_check_itself: what can be told without the model: devices, ratios, the order of the stages. */
gboolean ifm_plan_check_itself(const IfmPlan *plan, const char *name, GError **error);

G_END_DECLS
