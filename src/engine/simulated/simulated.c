/*
 * The simulated engine: devices described in YAML (simulated-machine.c). Their latencies come from tables, rooflines or
 * constants, with described noise and faults; they compute true outputs through another engine if asked. The clock is
 * real or virtual. A device has every capability that its description claims, so that measuring, planning and running
 * can be tried for machines that are not there.
 */
#include <convolution/convolution.h>
#include <engine/conv-layers.h>

#include "simulated-private.h"

/* --- the engine ------------------------------------------------------------------------------------------------------- */

static IfmEngine *simulated_open(IfmClock *clock, GError **error)
{
    SimulatedEngine *engine = g_new0(SimulatedEngine, 1);
    pthread_mutex_init(&engine->mutex, NULL);
    engine->machines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)machine_free);
    engine->states = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)unit_state_free);
    engine->contended = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)contention_free);
    engine->buffers = g_hash_table_new(NULL, NULL);
    engine->copied = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    engine->state_dir = g_strdup(g_getenv("IFM_SIMULATED_STATE_DIR"));
    engine->base.version = g_strdup(IFM_VERSION);
    engine->base.library = g_strdup("");
    return &engine->base;
}

static void simulated_close(IfmEngine *base)
{
    SimulatedEngine *engine = (SimulatedEngine *)base;
    g_hash_table_unref(engine->contended);
    g_hash_table_unref(engine->machines);
    g_hash_table_unref(engine->states);
    g_hash_table_unref(engine->buffers);
    g_hash_table_unref(engine->copied);
    pthread_mutex_destroy(&engine->mutex);
    g_free(engine->state_dir);
    g_free(engine);
}

static IfmDeviceInfo *device_info(const char *machine, const UnitDescription *unit)
{
    IfmDeviceInfo *info = g_new0(IfmDeviceInfo, 1);
    info->spec = g_strdup_printf("simulated:%s/%s", machine, unit->place.name);
    info->description = g_strdup(unit->description);
    info->capabilities = unit->capabilities;
    info->available = TRUE;
    info->own_memory = (unit->capabilities & IFM_CAN_BUFFERS) != 0;
    info->transfers_in_latency = unit->link != NULL && unit->link->in_latency;
    info->link_source = unit->link == NULL ? IFM_LINK_UNKNOWN : unit->link->assumed ? IFM_LINK_ASSUMED : IFM_LINK_DESCRIBED;
    const RooflineDescription *roofline = unit->latency->roofline;
    info->flop_per_s = roofline != NULL ? roofline->flop_per_s : 0;
    info->bytes_per_s = roofline != NULL ? roofline->bytes_per_s : 0;
    info->memory_bytes = unit->memory_bytes;
    return info;
}

/* A description that cannot be read does not hide other machines: it is listed with its error. */
static GPtrArray *simulated_devices(IfmEngine *base, GError **error)
{
    SimulatedEngine *engine = (SimulatedEngine *)base;
    GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_device_info_free);
    g_autoptr(GPtrArray) names = machine_names();
    pthread_mutex_lock(&engine->mutex);
    for (gsize i = 0; i < names->len; i++)
    {
        const char *name = g_ptr_array_index(names, i);
        g_autoptr(GError) local = NULL;
        const MachineDescription *machine = simulated_machine(engine, name, &local);
        for (gsize k = 0; machine != NULL && k < machine->units->len; k++)
            g_ptr_array_add(devices, device_info(name, g_ptr_array_index(machine->units, k)));
        if (machine != NULL)
            continue;
        IfmDeviceInfo *info = g_new0(IfmDeviceInfo, 1);
        info->spec = g_strdup_printf("simulated:%s/?", name);
        info->description = g_strdup("");
        info->reason = g_strdup(local->message);
        g_ptr_array_add(devices, info);
    }
    pthread_mutex_unlock(&engine->mutex);
    return devices;
}

static gboolean simulated_probe_device(IfmEngine *base, const IfmDeviceSpec *spec, GError **error)
{
    const UnitDescription *unit;
    UnitState *state;
    if (!simulated_unit((SimulatedEngine *)base, spec, &unit, &state, error))
        return FALSE;
    if (unit_state_probe(state))
        return TRUE;
    fault_set_lost(state, spec->text, "device lost: it does not answer the probe", error);
    return FALSE;
}

/* --- profiles, the effective configuration, memory -------------------------------------------------------------------- */

/* What ran of each convolution, where an algorithm was asked for. */
static void list_convolutions(const SimulatedCompiled *compiled, IfmEffectiveConfig *effective_config)
{
    const IfmCompiled *base = &compiled->base;
    const IfmCompileOptions *options = &base->options;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(base->model, options->bindings, options->n_bindings, NULL);
    effective_config->convolutions = ifm_conv_layers_new();
    for (gsize i = 0; i < ifm_model_n_nodes(base->model); i++)
    {
        const IfmNode *node = ifm_model_node(base->model, i);
        if (!g_str_equal(node->op_type, "Conv"))
            continue;
        IfmConvLayer *layer = analysis != NULL ? ifm_conv_layer_read(base->model, analysis, i) : NULL;
        if (layer == NULL)
            layer = ifm_conv_layer_new();
        g_free(layer->layer);
        g_free(layer->asked);
        g_free(layer->algorithm);
        g_free(layer->implementation);
        layer->layer = g_strdup(node->name);
        layer->asked = g_strdup(*options->convolutions);
        layer->algorithm = g_strdup(compiled->convolution);
        layer->implementation = g_strdup_printf("%s, described", compiled->convolution);
        layer->fell_back = compiled->convolution_fell_back;
        g_ptr_array_add(effective_config->convolutions, layer);
    }
}

static gboolean simulated_effective_config(IfmCompiled *base, const IfmTensor *inputs, IfmEffectiveConfig *effective_config,
                                           GError **error)
{
    IfmRequest *request = NULL;
    const IfmDtype dtype = simulated_dtype((const SimulatedCompiled *)base);
    if (dtype != base->options.dtype)
        effective_config->dtype = dtype;
    if ((base->capabilities & IFM_CAN_PROFILE) == 0) /* such a device does not report its nodes */
        return TRUE;
    g_autoptr(IfmCompiled) profiled = ifm_compiled_again(base, inputs, NULL, &request, error);
    if (profiled == NULL)
        return FALSE;
    effective_config->dtype = dtype;
    if (((const SimulatedCompiled *)base)->convolution != NULL)
        list_convolutions((const SimulatedCompiled *)base, effective_config);
    for (gsize i = 0; i < ifm_model_n_nodes(base->model); i++)
    {
        const IfmNode *node = ifm_model_node(base->model, i);
        ifm_effective_config_add_node(effective_config, node->name, node->op_type, base->spec->unit, simulated_how(request),
                                      dtype);
    }
    ifm_request_free(request);
    return TRUE;
}

static gboolean simulated_memory(IfmCompiled *base, IfmEngineMemory *memory, GError **error)
{
    const SimulatedCompiled *compiled = (const SimulatedCompiled *)base;
    gint64 capacity = compiled->unit->memory_bytes, reserved = capacity > 0 ? capacity : -1;
    if ((compiled->unit->capabilities & IFM_CAN_BUFFERS) != 0)
    {
        memory->device_in_use_bytes = atomic_load(&compiled->state->taken_bytes);
        memory->device_peak_bytes = atomic_load(&compiled->state->peak_bytes);
        memory->device_reserved_bytes = reserved;
        return TRUE;
    }
    memory->in_use_bytes = atomic_load(&compiled->state->taken_bytes);
    memory->peak_bytes = atomic_load(&compiled->state->peak_bytes);
    memory->reserved_bytes = reserved;
    return TRUE;
}

const IfmDriver ifm_driver_simulated = {
    .name = "simulated",
    .summary = "devices described in YAML: tables, rooflines, noise, faults",
    .capabilities = IFM_CAN_CORES | IFM_CAN_STREAMS | IFM_CAN_CANCEL | IFM_CAN_PROFILE | IFM_CAN_NODE_STARTS |
                    IFM_CAN_MEMORY | IFM_CAN_FREE_SHAPES | IFM_CAN_SET_OUTPUT | IFM_CAN_BUFFERS | IFM_CAN_TRUE_OUTPUTS |
                    IFM_IS_SIMULATED,
    .open = simulated_open,
    .close = simulated_close,
    .devices = simulated_devices,
    .probe_device = simulated_probe_device,
    .compiled_size = sizeof(SimulatedCompiled),
    .compile = simulated_compile,
    .compiled_clear = simulated_compiled_clear,
    .request_size = sizeof(SimulatedRequest),
    .request_init = simulated_request_init,
    .request_clear = simulated_request_clear,
    .set_input = simulated_set_input,
    .set_sizes = simulated_set_sizes,
    .set_output = simulated_set_output,
    .output = simulated_output,
    .infer = simulated_infer,
    .cancel = simulated_cancel,
    .cancel_clear = simulated_cancel_clear,
    .effective_config = simulated_effective_config,
    .profile = simulated_profile,
    .memory = simulated_memory,
    .buffer_alloc = simulated_buffer_alloc,
    .buffer_free = simulated_buffer_free,
    .buffer_tensor = simulated_buffer_tensor,
    .copy = simulated_copy,
    .sync = simulated_sync,
    .copy_host = simulated_copy_host,
};
