/* The pipeline of run --demo: matrix products on the devices that are here. */
#include <engine/engine.h>
#include <pipeline/pipeline.h>
#include <staged/staged.h>

#include "run-private.h"

#define DEMO_MODEL "matmul"
#define DEMO_NODES 2048

/* Whether a runtime is here: asked of the library itself. */
static gboolean is_here(const char *engine_name, const char *device)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open(engine_name, clock, NULL);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    g_autoptr(IfmDeviceInfo) info = engine != NULL && spec != NULL ? ifm_engine_find_device(engine, spec, NULL) : NULL;
    return info != NULL;
}

/* The processor that comes @index-th among those this process may use; from the first again where there are fewer. */
static int nth_core(gsize index)
{
    g_autofree char *cores = ifm_affinity_to_string(), *text = g_strdup_printf("onnxruntime:CPU@%s", cores);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(text, NULL);
    return spec != NULL && spec->n_cores > 0 ? spec->cores[index % spec->n_cores] : 0;
}

static void add_device(IfmPlan *plan, const char *alias, const char *engine, const char *fallback, gsize core)
{
    g_autofree char *unit = g_strdup_printf("%s:CPU", engine),
                    *device = is_here(engine, unit) ? g_strdup_printf("%s@%d", unit, nth_core(core)) : g_strdup(fallback);
    ifm_plan_add_device(plan, alias, device, IFM_PLAN_DYNAMIC);
}

IfmPlan *run_demo_plan(IfmPlanSize *size)
{
    const IfmStagedModel *staged = ifm_staged_find(DEMO_MODEL, NULL);
    IfmPlan *plan = ifm_plan_new(DEMO_MODEL);
    int n_stages = staged != NULL ? (int)staged->n_stages : 2;
    add_device(plan, "OV", "openvino", "simulated:ideal/CPU", 0);
    add_device(plan, "ORT", "onnxruntime", "simulated:ideal/CPU", 1);
    add_device(plan, "TAIL", "onnxruntime", "simulated:ideal/CPU", 2);
    IfmPlanBlock head = {
        .first = 1, .last = MAX(1, n_stages / 2), .n_devices = 2, .devices = { 0, 1 }, .ratios = { 0.5, 0.5 }
    };
    IfmPlanBlock tail = {
        .first = MAX(1, n_stages / 2) + 1, .last = n_stages, .n_devices = 1, .devices = { 2 }, .ratios = { 1 }
    };
    ifm_plan_add_block(plan, &head);
    ifm_plan_add_block(plan, &tail);
    *size = (IfmPlanSize){ DEMO_NODES, DEMO_NODES };
    return plan;
}
