#pragma once
#include <inferometer/dataset.h>

#include "runner-private.h"

G_BEGIN_DECLS

/* What the files that measure plans share: runner-plan-case.c reads and seals a case, runner-plan.c measures it. */

/** IfmPlanChecked: a plan case, checked and with its defaults in place. */
typedef struct
{
    IfmPlanCase plan_case;
    GPtrArray *plans;   /* IfmPlan*, one a graph */
    GPtrArray *devices; /* IfmDeviceSpec*, of the plans' blocks, in the order they come */
    GPtrArray *aliases; /* char*, of those */
    GPtrArray *others;  /* IfmDeviceSpec*, that only a fallback or a bound may use */
} IfmPlanChecked;

/** ifm_plan_checked_init: IFM_ERROR_INVALID for what ifm_runner_plan_case() refuses. To be cleared also then. */
gboolean ifm_plan_checked_init(IfmPlanChecked *self, const IfmPlanCase *plan_case, GError **error);
void ifm_plan_checked_clear(IfmPlanChecked *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanChecked, ifm_plan_checked_clear)
/** ifm_plan_checked_worker: (transfer full) the key of the worker that has all of its devices. */
char *ifm_plan_checked_worker(const IfmPlanChecked *self);
/** ifm_plan_graph_make: (transfer full) random, or read. IFM_ERROR_INVALID where a file's graph has other sizes. */
IfmGraph *ifm_plan_graph_make(const IfmPlanGraph *graph, GError **error);

G_END_DECLS
