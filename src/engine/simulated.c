/*
 * The simulated engine: devices described in YAML (simulated-machine.c) that take as long as their tables, rooflines or
 * constants say, scatter as told, break as told, and compute true outputs through another engine where asked. It goes by a
 * real or a virtual clock and has every capability that its description claims, so whatever measures, plans or runs can be
 * tried on machines that nobody here has.
 */
#include <inferometer/nearest.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* The description of a machine, read once. Called with the mutex held. */
static const MachineDescription *find_machine(SimulatedEngine *engine, const char *name, GError **error)
{
    MachineDescription *machine = g_hash_table_lookup(engine->machines, name);
    if (machine != NULL)
        return machine;
    g_autofree char *path = machine_path(name, error);
    machine = path != NULL ? machine_read(path, error) : NULL;
    if (machine != NULL)
        g_hash_table_insert(engine->machines, g_strdup(name), machine);
    return machine;
}

static const UnitDescription *find_unit(const MachineDescription *machine, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (gsize i = 0; i < machine->units->len; i++)
    {
        const UnitDescription *unit = g_ptr_array_index(machine->units, i);
        g_ptr_array_add(names, unit->record.name);
        if (g_str_equal(unit->record.name, name))
            return unit;
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s has no unit \"%s\"; it has %s", machine->record.file, name,
                all);
    return NULL;
}

static UnitState *find_state(SimulatedEngine *engine, const char *machine, const char *unit)
{
    g_autofree char *key = g_strdup_printf("%s/%s", machine, unit);
    UnitState *state = g_hash_table_lookup(engine->states, key);
    if (state == NULL)
    {
        state = unit_state_new(machine, unit, engine->state_dir);
        g_hash_table_insert(engine->states, g_steal_pointer(&key), state);
    }
    return state;
}

gboolean simulated_unit(SimulatedEngine *engine, const IfmDeviceSpec *spec, const UnitDescription **unit, UnitState **state,
                        GError **error)
{
    const char *slash = strrchr(spec->unit, '/');
    if (slash == NULL || spec->index > 0)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: a simulated device is simulated:MACHINE/UNIT",
                    spec->text);
        return FALSE;
    }
    g_autofree char *name = g_strndup(spec->unit, (gsize)(slash - spec->unit));
    pthread_mutex_lock(&engine->mutex);
    const MachineDescription *machine = find_machine(engine, name, error);
    *unit = machine != NULL ? find_unit(machine, slash + 1, error) : NULL;
    *state = *unit != NULL ? find_state(engine, name, slash + 1) : NULL;
    pthread_mutex_unlock(&engine->mutex);
    return *unit != NULL;
}

/* The unit was found before, so that its machine is there. */
Contention *simulated_contention(SimulatedEngine *engine, const IfmDeviceSpec *spec)
{
    g_autofree char *name = g_strndup(spec->unit, (gsize)(strrchr(spec->unit, '/') - spec->unit));
    Contention *contention = NULL;
    pthread_mutex_lock(&engine->mutex);
    MachineDescription *machine = g_hash_table_lookup(engine->machines, name);
    if (machine->contends)
        contention = g_hash_table_lookup(engine->contended, machine);
    if (machine->contends && contention == NULL)
    {
        contention = contention_new(engine->base.clock);
        g_hash_table_insert(engine->contended, machine, contention);
    }
    pthread_mutex_unlock(&engine->mutex);
    return contention;
}

static IfmDeviceInfo *device_info(const char *machine, const UnitDescription *unit)
{
    IfmDeviceInfo *info = g_new0(IfmDeviceInfo, 1);
    info->spec = g_strdup_printf("simulated:%s/%s", machine, unit->record.name);
    info->description = g_strdup(unit->description);
    info->capabilities = unit->capabilities;
    info->available = TRUE;
    info->own_memory = (unit->capabilities & IFM_CAN_BUFFERS) != 0;
    info->transfers_in_latency = unit->link != NULL && unit->link->in_latency;
    info->link_source = unit->link == NULL ? IFM_LINK_UNKNOWN : unit->link->assumed ? IFM_LINK_ASSUMED : IFM_LINK_DESCRIBED;
    const RooflineDescription *roofline = unit->latency->roofline;
    info->flop_per_s = roofline != NULL ? roofline->flop_per_s : 0;
    info->bytes_per_s = roofline != NULL ? roofline->bytes_per_s : 0;
    return info;
}

/* A description that cannot be read hides no other machine: it is listed with its trouble. */
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
        const MachineDescription *machine = find_machine(engine, name, &local);
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

/* --- compiling: options ----------------------------------------------------------------------------------------------- */

static gboolean read_sizes(SimulatedCompiled *compiled, const char *text, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", 0);
    for (char **part = parts; *part != NULL; part++)
    {
        char *equals = strchr(*part, '='), *end = NULL;
        gint64 value = equals != NULL ? g_ascii_strtoll(equals + 1, &end, 10) : 0;
        if (value <= 0 || *end != '\0')
        {
            g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: option SIZES=%s is not of the form NAME=N,NAME=N",
                        compiled->base.spec->text, text);
            return FALSE;
        }
        *equals = '\0';
        simulated_sizes_set(&compiled->known, *part, (double)value);
    }
    return TRUE;
}

static gboolean read_option(SimulatedCompiled *compiled, const char *option, GError **error)
{
    static const char *const keys[] = { "SEED", "NOISE", "SIZES", "OUTPUTS", NULL };
    const char *value = strchr(option, '=') + 1, *who = compiled->base.spec->text;
    g_autofree char *key = g_strndup(option, (gsize)(value - 1 - option));
    guint64 seed;
    if (g_str_equal(key, "SIZES"))
        return read_sizes(compiled, value, error);
    if (g_str_equal(key, "OUTPUTS"))
    {
        compiled->outputs = value;
        return TRUE;
    }
    if (g_str_equal(key, "NOISE") && g_str_equal(value, "none"))
        return compiled->noiseless = TRUE;
    if (g_str_equal(key, "SEED") && g_ascii_string_to_unsigned(value, 10, 0, G_MAXUINT32, &seed, NULL))
    {
        compiled->seed = (guint32)seed;
        return TRUE;
    }
    g_autofree char *hint = ifm_nearest_hint(key, keys);
    if (g_strv_contains(keys, key))
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: option %s: SEED takes a number, NOISE the word none", who,
                    option);
    else
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: no option \"%s\" (there are SEED, NOISE, SIZES, OUTPUTS)%s",
                    who, key, hint);
    return FALSE;
}

static void add_size_name(GPtrArray *names, const char *name)
{
    if (!g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
        g_ptr_array_add(names, g_strdup(name));
}

/* The sizes that the unit's table and faults ask for. */
static void collect_size_names(const UnitDescription *unit, SimulatedSizes *sizes)
{
    GPtrArray *names = g_ptr_array_new();
    const TableDescription *table = unit->latency->table;
    for (gsize i = 0; table != NULL && i < table->axes->len; i++)
    {
        g_auto(GStrv) parts = g_strsplit(g_ptr_array_index(table->axes, i), "/", 0);
        for (char **part = parts; *part != NULL; part++)
            add_size_name(names, *part);
    }
    for (gsize i = 0; i < unit->faults->len; i++)
    {
        const FaultCondition *when = ((const FaultDescription *)g_ptr_array_index(unit->faults, i))->when;
        for (gsize k = 0; when != NULL && k < when->least->len; k++)
            add_size_name(names, ((const IfmYamlScalar *)g_ptr_array_index(when->least, k))->record.name);
        for (gsize k = 0; when != NULL && k < when->most->len; k++)
            add_size_name(names, ((const IfmYamlScalar *)g_ptr_array_index(when->most, k))->record.name);
    }
    sizes->n = names->len;
    g_ptr_array_add(names, NULL);
    sizes->names = (char **)g_ptr_array_free(names, FALSE);
    sizes->values = g_new(double, sizes->n + 1);
    for (gsize i = 0; i < sizes->n; i++)
        sizes->values[i] = NAN;
}

/* What is known before any input is: the model's metadata, then the sizes that the compile is told of, by its options or
 * the runtime's own (SIZES=), then what it binds. */
static gboolean read_known(SimulatedCompiled *compiled, GError **error)
{
    const IfmCompileOptions *options = &compiled->base.options;
    SimulatedSizes *known = &compiled->known;
    collect_size_names(compiled->unit, known);
    for (gsize i = 0; i < known->n; i++)
    {
        g_autofree char *key = g_strconcat("inferometer.size.", known->names[i], NULL);
        const char *value = ifm_model_metadata(compiled->base.model, key);
        if (value != NULL)
            known->values[i] = (double)g_ascii_strtoll(value, NULL, 10);
    }
    for (gsize i = 0; i < options->n_sizes; i++)
        simulated_sizes_set(known, options->sizes[i].name, (double)options->sizes[i].value);
    compiled->seed = compiled->unit->noise != NULL ? (guint32)compiled->unit->noise->seed : 0;
    for (gsize i = 0; options->vendor != NULL && options->vendor[i] != NULL; i++)
        if (!read_option(compiled, options->vendor[i], error))
            return FALSE;
    for (gsize i = 0; i < options->n_bindings; i++)
        simulated_sizes_set(known, options->bindings[i].name, (double)options->bindings[i].value);
    return TRUE;
}

/* --- compiling -------------------------------------------------------------------------------------------------------- */

static void add_ports(SimulatedCompiled *compiled)
{
    const IfmModel *model = compiled->base.model;
    const IfmCompileOptions *options = &compiled->base.options;
    gsize n_inputs = ifm_model_n_inputs(model), n = n_inputs + ifm_model_n_outputs(model);
    for (gsize i = 0; i < n; i++)
    {
        gboolean input = i < n_inputs;
        IfmPort *port = ifm_port_copy(input ? ifm_model_input(model, i) : ifm_model_output(model, i - n_inputs));
        for (int axis = 0; axis < port->rank; axis++)
            for (gsize k = 0; k < options->n_bindings; k++)
                if (port->dims[axis] < 0 && g_strcmp0(port->dim_names[axis], options->bindings[k].name) == 0)
                {
                    port->dims[axis] = options->bindings[k].value;
                    g_clear_pointer(&port->dim_names[axis], g_free);
                }
        g_ptr_array_add(input ? compiled->base.inputs : compiled->base.outputs, port);
    }
}

static gboolean check_dtype(const SimulatedCompiled *compiled, GError **error)
{
    const GPtrArray *dtypes = compiled->unit->dtypes;
    IfmDtype asked = compiled->base.options.dtype;
    gboolean found = dtypes->len == 0 && asked == IFM_DTYPE_F32;
    for (gsize i = 0; i < dtypes->len; i++)
        found |= ifm_dtype_from_name(g_ptr_array_index(dtypes, i)) == asked;
    if (!found)
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "%s: does not execute in %s", compiled->base.spec->text,
                    ifm_dtype_name(asked));
    return found;
}

static gboolean take_weights(SimulatedCompiled *compiled, GError **error)
{
    gint64 bytes =
        ifm_model_n_parameters(compiled->base.model) * (gint64)ifm_dtype_size_bytes(compiled->base.options.dtype);
    if (unit_state_take(compiled->state, bytes, compiled->unit->memory_bytes))
    {
        compiled->taken_bytes = bytes;
        return TRUE;
    }
    g_set_error(error, IFM_ERROR, IFM_ERROR_MEMORY,
                "%s: the weights of %s take %" G_GINT64_FORMAT " bytes, of %" G_GINT64_FORMAT
                " the device has %" G_GINT64_FORMAT " left",
                compiled->base.spec->text, ifm_model_name(compiled->base.model), bytes, compiled->unit->memory_bytes,
                compiled->unit->memory_bytes - unit_state_taken(compiled->state));
    return FALSE;
}

static gboolean load_latency(SimulatedCompiled *compiled, GError **error)
{
    const LatencyDescription *latency = compiled->unit->latency;
    if (latency->source != SOURCE_TABLE)
        return TRUE;
    compiled->table = range_table_load(latency->table, compiled->stage, error);
    if (compiled->table == NULL)
        return FALSE;
    if (range_table_is_known(compiled->table) || latency->otherwise_roofline)
        return TRUE;
    const char *model = ifm_model_name(compiled->base.model);
    if (compiled->stage == NULL)
        g_set_error(
            error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
            "%s: %s names no stage (metadata inferometer.stage), and the device knows the latencies of stages alone",
            compiled->base.spec->text, model);
    else if (simulated_range_has(compiled->stage, range_table_missing(compiled->table)) &&
             !g_str_equal(compiled->stage, range_table_missing(compiled->table)))
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
                    "%s: %s: the device's table has no latency of stages \"%s\" as one, nor of stage \"%s\" to add up",
                    compiled->base.spec->text, model, compiled->stage, range_table_missing(compiled->table));
    else
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "%s: %s: the device's table has no latency of stage \"%s\"",
                    compiled->base.spec->text, model, compiled->stage);
    return FALSE;
}

static gboolean compile_inner(SimulatedCompiled *compiled, GError **error)
{
    if (g_str_equal(compiled->outputs, "none"))
    {
        compiled->base.capabilities &= ~(guint32)IFM_CAN_TRUE_OUTPUTS;
        return TRUE;
    }
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(compiled->outputs, error);
    if (spec != NULL && g_str_equal(spec->engine, "simulated"))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: option OUTPUTS=%s: is simulated itself",
                    compiled->base.spec->text, compiled->outputs);
        return FALSE;
    }
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.bindings = compiled->base.options.bindings;
    options.n_bindings = compiled->base.options.n_bindings;
    options.threads = 1;
    compiled->inner_clock = ifm_clock_new_real(); /* computing takes real time, whatever clock the simulation goes by */
    compiled->inner_engine = spec != NULL ? ifm_engine_open(spec->engine, compiled->inner_clock, error) : NULL;
    if (compiled->inner_engine != NULL)
        compiled->inner = ifm_engine_compile(compiled->inner_engine, compiled->base.model, spec, &options, error);
    if (compiled->inner == NULL)
        g_prefix_error(error, "%s, computing true outputs: ", compiled->base.spec->text);
    else
        compiled->base.capabilities |= IFM_CAN_TRUE_OUTPUTS;
    return compiled->inner != NULL;
}

static void hang_compile(void *user, gboolean cancellable)
{
    const SimulatedCompiled *compiled = user;
    IfmCondition *condition = ifm_condition_new(compiled->base.engine->clock);
    ifm_condition_lock(condition);
    for (;;)
        ifm_condition_wait_until(condition, IFM_CLOCK_NEVER);
}

static gboolean strike_compile(SimulatedCompiled *compiled, GError **error)
{
    const FaultDescription *fault = fault_find(compiled->unit, 0, compiled->stage, &compiled->known);
    if (fault == NULL)
        return TRUE;
    g_autofree char *where =
        g_strdup_printf("%s, compiling %s", compiled->base.spec->text, ifm_model_name(compiled->base.model));
    return fault_strike(fault, compiled->state, where, hang_compile, compiled, error) != FAULT_EFFECT_ERROR;
}

static gboolean simulated_compile(IfmCompiled *base, GError **error)
{
    SimulatedCompiled *compiled = (SimulatedCompiled *)base;
    if (!simulated_unit((SimulatedEngine *)base->engine, base->spec, &compiled->unit, &compiled->state, error))
        return FALSE;
    base->capabilities = compiled->unit->capabilities;
    compiled->contention = simulated_contention((SimulatedEngine *)base->engine, base->spec);
    compiled->outputs = compiled->unit->outputs;
    compiled->stage = ifm_model_metadata(base->model, "inferometer.stage");
    add_ports(compiled);
    if (unit_state_refresh(compiled->state) == UNIT_LOST_REPORTED)
    {
        fault_set_lost(compiled->state, base->spec->text, NULL, error);
        return FALSE;
    }
    return check_dtype(compiled, error) && read_known(compiled, error) && strike_compile(compiled, error) &&
           load_latency(compiled, error) && take_weights(compiled, error) && compile_inner(compiled, error);
}

static void simulated_compiled_clear(IfmCompiled *base)
{
    SimulatedCompiled *compiled = (SimulatedCompiled *)base;
    ifm_compiled_free(compiled->inner);
    ifm_engine_unref(compiled->inner_engine);
    ifm_clock_unref(compiled->inner_clock);
    range_table_free(compiled->table);
    g_strfreev(compiled->known.names);
    g_free(compiled->known.values);
    if (compiled->state != NULL)
        unit_state_take(compiled->state, -compiled->taken_bytes, 0);
}

/* --- looking inside --------------------------------------------------------------------------------------------------- */

static gboolean simulated_attest(IfmCompiled *base, const IfmTensor *inputs, IfmAttest *attest, GError **error)
{
    IfmRequest *request = NULL;
    if ((base->capabilities & IFM_CAN_PROFILE) == 0) /* such a device tells nothing of its nodes */
        return TRUE;
    g_autoptr(IfmCompiled) twin = ifm_compiled_twin(base, inputs, &request, error);
    if (twin == NULL)
        return FALSE;
    attest->dtype = base->options.dtype;
    for (gsize i = 0; i < ifm_model_n_nodes(base->model); i++)
    {
        const IfmNode *node = ifm_model_node(base->model, i);
        ifm_attest_add_node(attest, node->name, node->op_type, base->spec->unit, simulated_how(request),
                            base->options.dtype);
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
        memory->device_in_use_bytes = unit_state_taken(compiled->state);
        memory->device_peak_bytes = unit_state_peak(compiled->state);
        memory->device_reserved_bytes = reserved;
        return TRUE;
    }
    memory->in_use_bytes = unit_state_taken(compiled->state);
    memory->peak_bytes = unit_state_peak(compiled->state);
    memory->reserved_bytes = reserved;
    return TRUE;
}

/* --- memory of a device ----------------------------------------------------------------------------------------------- */

static IfmBuffer *simulated_buffer_alloc(IfmEngine *base, const IfmDeviceSpec *spec, gsize size_bytes, GError **error)
{
    const UnitDescription *unit;
    UnitState *state;
    if (!simulated_unit((SimulatedEngine *)base, spec, &unit, &state, error))
        return NULL;
    if ((unit->capabilities & IFM_CAN_BUFFERS) == 0)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "%s: has no memory of its own", spec->text);
        return NULL;
    }
    if (unit_state_refresh(state) == UNIT_LOST_REPORTED)
    {
        fault_set_lost(state, spec->text, NULL, error);
        return NULL;
    }
    gboolean fits = size_bytes < G_MAXINT64 / 2 && unit_state_take(state, (gint64)size_bytes, unit->memory_bytes);
    void *bytes = fits ? aligned_alloc(64, (MAX(size_bytes, 1) + 63) / 64 * 64) : NULL;
    if (bytes == NULL)
    {
        if (fits)
            unit_state_take(state, -(gint64)size_bytes, 0);
        g_set_error(error, IFM_ERROR, IFM_ERROR_MEMORY, "%s: no %" G_GSIZE_FORMAT " bytes left in the device's memory",
                    spec->text, size_bytes);
        return NULL;
    }
    SimulatedBuffer *buffer = g_new0(SimulatedBuffer, 1);
    buffer->state = state;
    buffer->unit = unit;
    buffer->bytes = bytes;
    buffer->size_bytes = size_bytes;
    SimulatedEngine *engine = (SimulatedEngine *)base;
    pthread_mutex_lock(&engine->mutex);
    g_hash_table_add(engine->buffers, buffer);
    pthread_mutex_unlock(&engine->mutex);
    return &buffer->base;
}

static void simulated_buffer_free(IfmBuffer *base)
{
    SimulatedBuffer *buffer = (SimulatedBuffer *)base;
    SimulatedEngine *engine = (SimulatedEngine *)base->engine;
    pthread_mutex_lock(&engine->mutex);
    g_hash_table_remove(engine->buffers, buffer);
    pthread_mutex_unlock(&engine->mutex);
    unit_state_take(buffer->state, -(gint64)buffer->size_bytes, 0);
    free(buffer->bytes);
    g_free(buffer);
}

/* The handle is the buffer itself: whoever reads through it as if it were host memory reads nonsense, as on a real device.
 */
static gboolean simulated_buffer_tensor(IfmBuffer *buffer, IfmTensor *tensor, GError **error)
{
    tensor->memory = IFM_MEMORY_DEVICE;
    tensor->data = buffer;
    return TRUE;
}

gboolean simulated_check_memory(SimulatedEngine *engine, const IfmTensor *tensor, const UnitDescription *unit,
                                GError **error)
{
    if (tensor->memory != IFM_MEMORY_DEVICE)
        return TRUE;
    pthread_mutex_lock(&engine->mutex);
    const SimulatedBuffer *buffer =
        g_hash_table_contains(engine->buffers, tensor->data) ? (const SimulatedBuffer *)tensor->data : NULL;
    gboolean good = buffer != NULL && (unit == NULL || buffer->unit == unit) && tensor->size_bytes <= buffer->size_bytes;
    pthread_mutex_unlock(&engine->mutex);
    if (!good)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "a tensor is said to be in device memory, but its handle is no buffer of this device that holds "
                    "%" G_GSIZE_FORMAT " bytes",
                    tensor->size_bytes);
    return good;
}

IfmTensor simulated_host_view(const IfmTensor *tensor)
{
    IfmTensor view = *tensor;
    view.release = NULL;
    if (view.memory != IFM_MEMORY_DEVICE)
        return view;
    view.memory = IFM_MEMORY_HOST;
    view.data = ((const SimulatedBuffer *)tensor->data)->bytes;
    return view;
}

gint64 simulated_transfer_ns(const UnitDescription *unit, gsize bytes)
{
    const LinkDescription *link = unit->link;
    return link != NULL ? link->fixed_ns + (gint64)llround(1e9 * (double)bytes / link->bytes_per_s) : 0;
}

static gint64 copy_ns(const IfmTensor *side)
{
    return side->memory == IFM_MEMORY_DEVICE
               ? simulated_transfer_ns(((const SimulatedBuffer *)side->data)->unit, side->size_bytes)
               : 0;
}

/* A lost device says so, or (@dead) does as if it had copied. */
static gboolean check_health(const UnitState *state, const char *where, gboolean *dead, GError **error)
{
    UnitHealth health = unit_state_health(state);
    *dead |= health == UNIT_LOST_SILENT;
    if (health == UNIT_LOST_REPORTED)
        fault_set_lost(state, where, NULL, error);
    return health != UNIT_LOST_REPORTED;
}

static gboolean check_side(const IfmTensor *side, gboolean *dead, GError **error)
{
    const SimulatedBuffer *buffer = side->memory == IFM_MEMORY_DEVICE ? (const SimulatedBuffer *)side->data : NULL;
    return buffer == NULL || check_health(buffer->state, buffer->unit->record.name, dead, error);
}

/* With the engine's lock. */
static gint64 *copied_ns_of(SimulatedEngine *engine, gpointer whose)
{
    gint64 *ns = g_hash_table_lookup(engine->copied, whose);
    if (ns == NULL)
        g_hash_table_insert(engine->copied, whose, ns = g_new0(gint64, 1));
    return ns;
}

static gpointer this_thread(void)
{
    return (gpointer)pthread_self();
}

static UnitState *state_of(const IfmTensor *side)
{
    return side->memory == IFM_MEMORY_DEVICE ? ((const SimulatedBuffer *)side->data)->state : NULL;
}

/* Each unit has one copy engine, where copies queue up one behind the other; the bytes move at once, which nobody may rely
 * on. */
static void queue_copy(SimulatedEngine *engine, const IfmTensor *from, const IfmTensor *to)
{
    gpointer queues[] = { this_thread(), state_of(from), state_of(to) };
    pthread_mutex_lock(&engine->mutex);
    gint64 begin_ns = ifm_clock_now_ns(engine->base.clock);
    for (gsize i = 0; i < G_N_ELEMENTS(queues); i++)
        if (queues[i] != NULL)
            begin_ns = MAX(begin_ns, *copied_ns_of(engine, queues[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(queues); i++)
        if (queues[i] != NULL)
            *copied_ns_of(engine, queues[i]) = begin_ns + copy_ns(from) + copy_ns(to);
    pthread_mutex_unlock(&engine->mutex);
}

static gboolean simulated_copy(IfmEngine *base, const IfmTensor *from, const IfmTensor *to, GError **error)
{
    SimulatedEngine *engine = (SimulatedEngine *)base;
    if (!simulated_check_memory(engine, from, NULL, error) || !simulated_check_memory(engine, to, NULL, error))
        return FALSE;
    gboolean dead = FALSE;
    if (!check_side(from, &dead, error) || !check_side(to, &dead, error))
        return FALSE;
    if (dead)
        return TRUE;
    IfmTensor source = simulated_host_view(from), target = simulated_host_view(to);
    memmove(target.data, source.data, source.size_bytes);
    queue_copy(engine, from, to);
    return TRUE;
}

static gboolean simulated_sync(IfmEngine *base, GError **error)
{
    SimulatedEngine *engine = (SimulatedEngine *)base;
    pthread_mutex_lock(&engine->mutex);
    gint64 copied_ns = *copied_ns_of(engine, this_thread());
    pthread_mutex_unlock(&engine->mutex);
    ifm_clock_sleep_until_ns(base->clock, copied_ns);
    return TRUE;
}

static gboolean simulated_copy_host(IfmEngine *base, const IfmDeviceSpec *spec, const IfmTensor *from, const IfmTensor *to,
                                    GError **error)
{
    const UnitDescription *unit;
    UnitState *state;
    gboolean dead = FALSE;
    gint64 begin_ns = ifm_clock_now_ns(base->clock);
    if (!simulated_unit((SimulatedEngine *)base, spec, &unit, &state, error) ||
        !check_health(state, spec->text, &dead, error))
        return FALSE;
    if (unit->link == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
                    "%s: what a copy takes is not known: its description has no key \"link\"", spec->text);
        return FALSE;
    }
    if (dead)
        return TRUE;
    memmove(to->data, from->data, from->size_bytes);
    ifm_clock_sleep_until_ns(base->clock, begin_ns + simulated_transfer_ns(unit, from->size_bytes));
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
    .attest = simulated_attest,
    .profile = simulated_profile,
    .memory = simulated_memory,
    .buffer_alloc = simulated_buffer_alloc,
    .buffer_free = simulated_buffer_free,
    .buffer_tensor = simulated_buffer_tensor,
    .copy = simulated_copy,
    .sync = simulated_sync,
    .copy_host = simulated_copy_host,
};
