#pragma once

#include "../kind-private.h"

G_BEGIN_DECLS

/* What the files of the pipeline's kind share: pipeline-case.c reads what a case says and fills its record,
 * pipeline-run.c makes its inputs and has it run, pipeline-worker.c runs it. */

/** IfmPlanChecked: what a plan case says, read. */
typedef struct
{
    const IfmPlanCase *plan_case; /* completed */
    GPtrArray *plans;             /* IfmPlan*, one a graph */
    GPtrArray *devices;           /* IfmDeviceSpec*, of the plans' blocks, in the order they come */
    GPtrArray *aliases;           /* char*, of those */
    GPtrArray *others;            /* IfmDeviceSpec*, that only a fallback or a bound may use */
} IfmPlanChecked;

/** ifm_plan_checked_init: IFM_ERROR_INVALID for what a plan's case is refused for. To be cleared also then. */
gboolean ifm_plan_checked_init(IfmPlanChecked *self, const IfmPlanCase *plan_case, GError **error);
void ifm_plan_checked_clear(IfmPlanChecked *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmPlanChecked, ifm_plan_checked_clear)
/** ifm_plan_checked_worker: (transfer full) the key of the worker that has all of its devices. */
char *ifm_plan_checked_worker(const IfmPlanChecked *self);
/** ifm_plan_graph_make: (transfer full) random, or read. IFM_ERROR_INVALID where a file's graph has other sizes. */
IfmGraph *ifm_plan_graph_make(const IfmPlanGraph *graph, GError **error);

extern const IfmRecordField ifm_plan_fields[];
/** ifm_plan_complete, ifm_plan_seal: slots of ifm_kind_pipeline. */
gboolean ifm_plan_complete(void *spec, GError **error);
gboolean ifm_plan_seal(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error);

G_END_DECLS
