#include <base/base.h>
#include <string.h>

#include "engine-private.h"
#include "runtime-private.h"

/* An engine compiles models for a device by the driver of its name and checks what the driver returns. */

const char *const *ifm_engine_names(void)
{
    static const char **names;
    if (g_once_init_enter(&names))
    {
        GPtrArray *found = g_ptr_array_new();
        for (const IfmDriver *const *driver = ifm_driver_table(); *driver != NULL; driver++)
            g_ptr_array_add(found, (char *)(*driver)->name);
        g_ptr_array_add(found, NULL);
        g_once_init_leave(&names, (const char **)g_ptr_array_free(found, FALSE));
    }
    return names;
}

gboolean ifm_engine_name_check(const char *name, GError **error)
{
    const char *const *names = ifm_engine_names();
    if (g_strv_contains(names, name))
        return TRUE;
    g_autofree char *all = g_strjoinv(", ", (char **)names), *hint = ifm_nearest_hint(name, names);
    return ifm_error_refuse(error, "unknown engine \"%s\" (there are %s)%s", name, all, hint);
}

static const IfmDriver *find_driver(const char *name, GError **error)
{
    for (const IfmDriver *const *driver = ifm_driver_table(); *driver != NULL; driver++)
        if (g_str_equal((*driver)->name, name))
            return *driver;
    ifm_engine_name_check(name, error);
    return NULL;
}

IfmEngine *ifm_engine_open(const char *name, IfmClock *clock, GError **error)
{
    const IfmDriver *driver = find_driver(name, error);
    if (driver == NULL)
        return NULL;
    if (ifm_clock_is_virtual(clock) && (driver->capabilities & IFM_IS_SIMULATED) == 0)
    {
        ifm_error_refuse(error, "%s: a real engine cannot go by a virtual clock", name);
        return NULL;
    }
    ifm_threads_remember();
    IfmEngine *engine = driver->open(clock, error);
    if (engine == NULL)
        return NULL;
    engine->driver = driver;
    engine->untested = ifm_runtime_untested(name, engine->version);
    engine->clock = ifm_clock_ref(clock);
    g_atomic_ref_count_init(&engine->references);
    return engine;
}

static IfmEngine *engine_ref(IfmEngine *engine)
{
    g_atomic_ref_count_inc(&engine->references);
    return engine;
}

void ifm_engine_unref(IfmEngine *engine)
{
    if (engine == NULL || !g_atomic_ref_count_dec(&engine->references))
        return;
    IfmClock *clock = engine->clock; /* a driver's close may still read these, and frees the object */
    g_autofree char *version = engine->version;
    g_autofree char *library = engine->library;
    g_autofree char *untested = engine->untested;
    engine->driver->close(engine);
    ifm_clock_unref(clock);
}

IfmEngineInfo ifm_engine_info(const IfmEngine *engine)
{
    return (IfmEngineInfo){
        .name = engine->driver->name,
        .version = engine->version != NULL ? engine->version : "",
        .library = engine->library != NULL ? engine->library : "",
        .untested = engine->untested,
        .clock = engine->clock,
    };
}

void ifm_device_info_free(IfmDeviceInfo *info)
{
    if (info == NULL)
        return;
    g_free(info->spec);
    g_free(info->description);
    g_free(info->reason);
    g_free(info);
}

GPtrArray *ifm_engine_devices(IfmEngine *engine, GError **error)
{
    return engine->driver->devices(engine, error);
}

static gboolean check_engine(const IfmEngine *engine, const IfmDeviceSpec *spec, GError **error)
{
    return g_str_equal(engine->driver->name, spec->engine) ||
           ifm_error_refuse(error, "device '%s': is of another engine than '%s'", spec->text, engine->driver->name);
}

/* Whether a spec names a listed device. No index means 0, on either side. */
static gboolean is_meant(const IfmDeviceSpec *spec, const char *listed)
{
    g_autofree char *device = ifm_device_spec_device(spec);
    g_autofree char *first = g_strdup_printf("%s:%s:0", spec->engine, spec->unit);
    g_autofree char *alone = g_strdup_printf("%s:%s", spec->engine, spec->unit);
    return g_str_equal(device, listed) || (spec->index <= 0 && (g_str_equal(listed, first) || g_str_equal(listed, alone)));
}

IfmDeviceInfo *ifm_engine_find_device(IfmEngine *engine, const IfmDeviceSpec *spec, GError **error)
{
    g_autoptr(GPtrArray) devices = ifm_engine_devices(engine, error);
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    if (devices == NULL)
        return NULL;
    for (guint i = 0; i < devices->len; i++)
    {
        IfmDeviceInfo *info = devices->pdata[i];
        if (info->available)
            g_ptr_array_add(names, info->spec);
        if (!is_meant(spec, info->spec))
            continue;
        if (info->available)
            return g_ptr_array_steal_index(devices, i);
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: not available: %s", spec->text, info->reason);
        return NULL;
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: no such device (there are: %s)", spec->text, all);
    return NULL;
}

gboolean ifm_engine_probe_device(IfmEngine *engine, const IfmDeviceSpec *spec, GError **error)
{
    if (!check_engine(engine, spec, error))
        return FALSE;
    if (engine->driver->probe_device != NULL)
        return engine->driver->probe_device(engine, spec, error);
    IfmDeviceInfo *info = ifm_engine_find_device(engine, spec, error);
    gboolean found = info != NULL;
    ifm_device_info_free(info);
    return found;
}

/* --- compiling -------------------------------------------------------------------------------------------------------- */

static gboolean is_free_dimension(IfmModel *model, const char *name, GPtrArray *all)
{
    gboolean found = FALSE;
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int axis = 0; axis < port->rank; axis++)
        {
            if (port->dims[axis] >= 0)
                continue;
            found |= g_str_equal(port->dim_names[axis], name);
            if (!g_ptr_array_find_with_equal_func(all, port->dim_names[axis], g_str_equal, NULL))
                g_ptr_array_add(all, port->dim_names[axis]);
        }
    }
    return found;
}

/* Unlike ifm_model_check_bindings(), this accepts inputs with free dimensions. */
static gboolean check_bindings(IfmModel *model, const IfmCompileOptions *options, GError **error)
{
    for (gsize i = 0; i < options->n_bindings; i++)
    {
        g_autoptr(GPtrArray) all = g_ptr_array_new();
        const IfmDimBinding *binding = &options->bindings[i];
        gboolean found = is_free_dimension(model, binding->name, all);
        if (found && binding->value >= 0)
            continue;
        g_ptr_array_add(all, NULL);
        g_autofree char *names = all->len > 1 ? g_strjoinv(", ", (char **)all->pdata) : g_strdup("none");
        if (found)
            ifm_error_refuse(error, "%s: dimension %s=%" G_GINT64_FORMAT " is negative", ifm_model_name(model),
                             binding->name, binding->value);
        else
            ifm_error_refuse(error, "%s: no input has a free dimension '%s' (free are: %s)", ifm_model_name(model),
                             binding->name, names);
        return FALSE;
    }
    return TRUE;
}

static gboolean make_executors(IfmCompiled *compiled, GError **error)
{
    const IfmDeviceSpec *spec = compiled->spec;
    if (compiled->options.native_async)
        return TRUE;
    for (int stream = 0; stream < ifm_device_spec_n_streams(spec); stream++)
    {
        IfmExecutor *executor = ifm_executor_new(compiled->engine->clock, spec->cores, spec->n_cores, "ifm-stream", error);
        if (executor == NULL)
            return ifm_error_prefix(error, "%s: ", spec->text);
        g_ptr_array_add(compiled->executors, executor);
    }
    return TRUE;
}

IfmExecutor *ifm_compiled_executor(const IfmCompiled *compiled, int stream)
{
    g_assert(stream >= 0 && stream < ifm_device_spec_n_streams(compiled->spec));
    return compiled->executors->len > 0 ? compiled->executors->pdata[stream] : NULL;
}

void ifm_compiled_invoke(IfmCompiled *compiled, int stream, void (*function)(void *user), void *user)
{
    IfmExecutor *executor = ifm_compiled_executor(compiled, stream);
    if (executor == NULL)
        function(user);
    else
        ifm_executor_call(executor, function, user);
}

typedef struct
{
    IfmCompiled *compiled;
    gboolean ok;
    GError *error;
} CompileCall;

static void call_compile(void *user)
{
    CompileCall *call = user;
    call->ok = call->compiled->engine->driver->compile(call->compiled, &call->error);
}

static void call_clear(void *user)
{
    IfmCompiled *compiled = user;
    compiled->engine->driver->compiled_clear(compiled);
}

/* Checks what only the compiled model shows: this device's capabilities, and free dimensions. @also: capabilities that are
 * not needed */
static gboolean check_compiled(const IfmCompiled *compiled, guint32 also, GError **error)
{
    if (!ifm_compile_options_check(&compiled->options, compiled->spec, compiled->spec->text, compiled->capabilities | also,
                                   error))
        return FALSE;
    for (guint i = 0; (compiled->capabilities & IFM_CAN_FREE_SHAPES) == 0 && i < compiled->inputs->len; i++)
    {
        const IfmPort *port = compiled->inputs->pdata[i];
        for (int axis = 0; axis < port->rank; axis++)
            if (port->dims[axis] < 0)
                return ifm_error_set(
                    error, IFM_ERROR_UNSUPPORTED, "%s: dimension %s of input '%s' of %s must be bound on this device",
                    compiled->spec->text, port->dim_names[axis], port->name, ifm_model_name(compiled->model));
    }
    return TRUE;
}

static IfmCompiled *compiled_new(IfmEngine *engine, IfmModel *model, const IfmDeviceSpec *spec,
                                 const IfmCompileOptions *options)
{
    IfmCompiled *compiled = g_malloc0(engine->driver->compiled_size);
    compiled->engine = engine_ref(engine);
    compiled->model = ifm_model_ref(model);
    compiled->spec = ifm_device_spec_copy(spec);
    compiled->who = g_strdup_printf("%s: %s", spec->text, ifm_model_name(model));
    ifm_compile_options_copy(&compiled->options, options);
    compiled->inputs = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_port_free);
    compiled->outputs = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_port_free);
    compiled->executors = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_executor_free);
    return compiled;
}

static void compiled_release(IfmCompiled *compiled)
{
    g_clear_pointer(&compiled->profiled_ns, g_array_unref);
    g_ptr_array_unref(compiled->executors);
    g_ptr_array_unref(compiled->inputs);
    g_ptr_array_unref(compiled->outputs);
    ifm_compile_options_clear(&compiled->options);
    g_free(compiled->who);
    ifm_device_spec_free(compiled->spec);
    ifm_model_unref(compiled->model);
    ifm_engine_unref(compiled->engine);
    g_free(compiled);
}

static IfmCompiled *compile(IfmEngine *engine, IfmModel *model, const IfmDeviceSpec *spec, const IfmCompileOptions *options,
                            guint32 also, GError **error)
{
    if (!check_engine(engine, spec, error) ||
        !ifm_compile_options_check(options, spec, spec->text, engine->driver->capabilities, error) ||
        !check_bindings(model, options, error))
        return NULL;
    IfmCompiled *compiled = compiled_new(engine, model, spec, options);
    if (!make_executors(compiled, error))
    {
        compiled_release(compiled);
        return NULL;
    }
    CompileCall call = { .compiled = compiled };
    ifm_compiled_invoke(compiled, 0, call_compile, &call);
    if (!call.ok || !check_compiled(compiled, also, &call.error))
    {
        g_propagate_error(error, call.error);
        ifm_compiled_free(compiled);
        return NULL;
    }
    return compiled;
}

IfmCompiled *ifm_engine_compile(IfmEngine *engine, IfmModel *model, const IfmDeviceSpec *spec,
                                const IfmCompileOptions *options, GError **error)
{
    return compile(engine, model, spec, options, 0, error);
}

IfmCompiled *ifm_engine_compile_listing(IfmEngine *engine, IfmModel *model, const IfmDeviceSpec *spec,
                                        const IfmCompileOptions *options, GError **error)
{
    return compile(engine, model, spec, options, IFM_CAN_PROFILE, error);
}

void ifm_compiled_free(IfmCompiled *compiled)
{
    if (compiled == NULL)
        return;
    g_assert(g_atomic_int_get(&compiled->n_requests) == 0); /* requests are freed first */
    ifm_compiled_invoke(compiled, 0, call_clear, compiled);
    compiled_release(compiled);
}

IfmCompiledInfo ifm_compiled_info(const IfmCompiled *compiled)
{
    return (IfmCompiledInfo){
        .capabilities = compiled->capabilities,
        .from_cache = compiled->from_cache,
        .n_inputs = compiled->inputs->len,
        .n_outputs = compiled->outputs->len,
    };
}

const IfmPort *ifm_compiled_input(const IfmCompiled *compiled, gsize index)
{
    g_return_val_if_fail(index < compiled->inputs->len, NULL);
    return compiled->inputs->pdata[index];
}

const IfmPort *ifm_compiled_output(const IfmCompiled *compiled, gsize index)
{
    g_return_val_if_fail(index < compiled->outputs->len, NULL);
    return compiled->outputs->pdata[index];
}

/* --- memory of a device ----------------------------------------------------------------------------------------------- */

static gboolean check_buffers(const IfmEngine *engine, GError **error)
{
    return (engine->driver->capabilities & IFM_CAN_BUFFERS) != 0 ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: its devices have no memory of their own (\"%s\")",
                         engine->driver->name, ifm_capability_name(IFM_CAN_BUFFERS));
}

IfmBuffer *ifm_engine_buffer_alloc(IfmEngine *engine, const IfmDeviceSpec *spec, gsize size_bytes, GError **error)
{
    if (!check_engine(engine, spec, error) || !check_buffers(engine, error))
        return NULL;
    IfmBuffer *buffer = engine->driver->buffer_alloc(engine, spec, size_bytes, error);
    if (buffer == NULL)
        return NULL;
    buffer->engine = engine_ref(engine);
    buffer->size_bytes = size_bytes;
    return buffer;
}

void ifm_buffer_free(IfmBuffer *buffer)
{
    if (buffer == NULL)
        return;
    IfmEngine *engine = buffer->engine;
    engine->driver->buffer_free(buffer);
    ifm_engine_unref(engine);
}

gboolean ifm_buffer_tensor(IfmBuffer *buffer, IfmDtype dtype, int rank, const gint64 *shape, IfmTensor *tensor,
                           GError **error)
{
    if (!ifm_tensor_wrap(tensor, dtype, rank, shape, NULL, error))
        return FALSE;
    if (tensor->size_bytes > buffer->size_bytes)
    {
        g_autofree char *text = ifm_shape_to_string(rank, shape);
        return ifm_error_refuse(error, "buffer of %zu bytes: %s%s needs %zu", buffer->size_bytes, ifm_dtype_name(dtype),
                                text, tensor->size_bytes);
    }
    return buffer->engine->driver->buffer_tensor(buffer, tensor, error);
}

gboolean ifm_engine_copy(IfmEngine *engine, const IfmTensor *from, const IfmTensor *to, GError **error)
{
    if (!check_buffers(engine, error))
        return FALSE;
    if (from->size_bytes != to->size_bytes || (from->memory == IFM_MEMORY_HOST && to->memory == IFM_MEMORY_HOST))
        return ifm_error_refuse(error, "%s: a copy of %zu to %zu bytes: sizes must be equal, and one side the device's",
                                engine->driver->name, from->size_bytes, to->size_bytes);
    return engine->driver->copy(engine, from, to, error);
}

gboolean ifm_engine_sync(IfmEngine *engine, GError **error)
{
    return check_buffers(engine, error) && engine->driver->sync(engine, error);
}

gboolean ifm_engine_copy_host(IfmEngine *engine, const IfmDeviceSpec *spec, const IfmTensor *from, const IfmTensor *to,
                              GError **error)
{
    if (!check_engine(engine, spec, error))
        return FALSE;
    if (from->size_bytes != to->size_bytes || from->memory != IFM_MEMORY_HOST || to->memory != IFM_MEMORY_HOST)
        return ifm_error_refuse(error, "%s: a copy of %zu to %zu bytes: sizes must be equal, and both sides the host's",
                                spec->text, from->size_bytes, to->size_bytes);
    if (engine->driver->copy_host != NULL)
        return engine->driver->copy_host(engine, spec, from, to, error);
    memcpy(to->data, from->data, from->size_bytes);
    return TRUE;
}
