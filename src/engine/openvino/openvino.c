/* The driver of OpenVINO: the engine, its devices, compiling. */
#include <base/base.h>
#include <string.h>

#include "openvino-private.h"

#define NAME "openvino"
#define OLDEST "2025.1"

#define CAPABILITIES                                                                                                       \
    (IFM_CAN_STREAMS | IFM_CAN_NATIVE_ASYNC | IFM_CAN_PROFILE | IFM_PROFILE_MEANS | IFM_CAN_FREE_SHAPES |                  \
     IFM_CAN_SET_OUTPUT | IFM_CAN_TRUE_OUTPUTS)
#define CPU_CAPABILITIES (CAPABILITIES | IFM_CAN_CORES)

/* Units that a machine may have. One that OpenVINO does not find is listed as unavailable, with its plug-in's
 * message. */
static const char *const units[] = { "CPU", "GPU", "NPU" };

/* --- the engine ------------------------------------------------------------------------------------------------------- */

static void engine_close(IfmEngine *engine)
{
    OvEngine *self = (OvEngine *)engine;
    if (self->core != NULL)
        self->api.ov_core_free(self->core);
    g_free(self->pool_cores);
    g_free(self);
}

static gboolean find_symbols(void *library, const char *file, OvApi *api, GError **error)
{
#define OV_LOOK_UP(name)                                                                                                   \
    api->name = ifm_runtime_symbol(library, NAME, file, #name, error);                                                     \
    if (api->name == NULL)                                                                                                 \
        return FALSE;
    OV_SYMBOLS(OV_LOOK_UP)
#undef OV_LOOK_UP
    return TRUE;
}

/* Every symbol was found, but before 2025.1 the element types have other numbers: inputs would be of wrong types. */
static gboolean read_version(OvEngine *self, GError **error)
{
    ov_version_t version = { 0 };
    if (!ifm_ov_check(&self->api, self->api.ov_get_openvino_version(&version), NAME, IFM_ERROR_UNAVAILABLE, error))
        return FALSE;
    self->base.version = g_strdup(version.buildNumber);
    self->api.ov_version_free(&version);
    return ifm_runtime_is_at_least(self->base.version, OLDEST) ||
           ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s is version '%s': %s or newer is needed", NAME,
                         self->base.library, self->base.version, OLDEST);
}

static IfmEngine *engine_open(IfmClock *clock, GError **error)
{
    OvEngine *self = g_new0(OvEngine, 1);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    g_setenv("TBB_ENABLE_SANITIZERS", "1", FALSE); /* or its dlopen(RTLD_DEEPBIND) ends the process */
#endif
    self->pool_cores = ifm_affinity_of_process();
    void *library = ifm_runtime_open(NAME, &self->base.library, error);
    if (library != NULL && find_symbols(library, self->base.library, &self->api, error) && read_version(self, error) &&
        ifm_ov_check(&self->api, self->api.ov_core_create(&self->core), NAME, IFM_ERROR_UNAVAILABLE, error))
        return &self->base;
    g_free(self->base.version);
    g_free(self->base.library);
    engine_close(&self->base);
    return NULL;
}

/* --- devices ---------------------------------------------------------------------------------------------------------- */

/* A device's property as text; NULL with the plug-in's message in @error. */
static char *get_property(OvEngine *self, const char *device, const char *key, GError **error)
{
    char *value = NULL;
    if (!ifm_ov_check(&self->api, self->api.ov_core_get_property(self->core, device, key, &value), device,
                      IFM_ERROR_UNAVAILABLE, error))
        return NULL;
    char *copy = g_strdup(value);
    self->api.ov_free(value);
    return copy;
}

static IfmDeviceInfo *info_new(const char *native, guint32 capabilities)
{
    IfmDeviceInfo *info = g_new0(IfmDeviceInfo, 1);
    g_autofree char *unit = g_strdelimit(g_strdup(native), ".", ':');
    info->spec = g_strconcat(NAME, ":", unit, NULL);
    info->capabilities = capabilities;
    info->own_memory = !g_str_equal(native, "CPU");
    return info;
}

static void add_found(OvEngine *self, const char *native, GPtrArray *devices)
{
    IfmDeviceInfo *info = info_new(native, g_str_equal(native, "CPU") ? CPU_CAPABILITIES : CAPABILITIES);
    g_autofree char *name = get_property(self, native, "FULL_DEVICE_NAME", NULL);
    g_autofree char *can = get_property(self, native, "OPTIMIZATION_CAPABILITIES", NULL);
    if (can != NULL && strstr(can, "EXPORT_IMPORT") != NULL)
        info->capabilities |= IFM_CAN_CACHE;
    g_autofree char *memory = info->own_memory ? get_property(self, native, "GPU_DEVICE_TOTAL_MEM_SIZE", NULL) : NULL;
    info->memory_bytes = memory != NULL ? g_ascii_strtoll(memory, NULL, 10) : 0; /* other plug-ins do not report it */
    info->description = g_strdup_printf("%s (%s)", name != NULL ? name : native, can != NULL ? can : "");
    info->available = TRUE;
    g_ptr_array_add(devices, info);
}

static void add_missing(OvEngine *self, const char *unit, GPtrArray *devices)
{
    g_autoptr(GError) error = NULL;
    g_free(get_property(self, unit, "AVAILABLE_DEVICES", &error)); /* its error is the reason */
    IfmDeviceInfo *info = info_new(unit, CAPABILITIES);
    info->description = g_strdup(unit);
    if (error != NULL)
        info->reason = g_strdup(error->message + strlen(unit) + strlen(": "));
    else
        info->reason = g_strdup("its plug-in finds no such device on this machine (no driver, or no permission)");
    g_ptr_array_add(devices, info);
}

/* Whether @native is @unit or one of several, "GPU.0". */
static gboolean is_of_unit(const char *native, const char *unit)
{
    return g_str_has_prefix(native, unit) && (native[strlen(unit)] == '\0' || native[strlen(unit)] == '.');
}

static GPtrArray *engine_devices(IfmEngine *engine, GError **error)
{
    OvEngine *self = (OvEngine *)engine;
    ov_available_devices_t found = { 0 };
    if (!ifm_ov_check(&self->api, self->api.ov_core_get_available_devices(self->core, &found), NAME, IFM_ERROR_UNAVAILABLE,
                      error))
        return NULL;
    GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_device_info_free);
    for (size_t i = 0; i < found.size; i++)
        add_found(self, found.devices[i], devices);
    for (gsize unit = 0; unit < G_N_ELEMENTS(units); unit++)
    {
        gboolean is_there = FALSE;
        for (size_t i = 0; i < found.size; i++)
            is_there |= is_of_unit(found.devices[i], units[unit]);
        if (!is_there)
            add_missing(self, units[unit], devices);
    }
    self->api.ov_available_devices_free(&found);
    return devices;
}

/* --- reading the model ------------------------------------------------------------------------------------------------ */

static ov_model_t *read_model(OvEngine *self, IfmModel *model, const char *who, GError **error)
{
    ov_model_t *read = NULL;
    const char *path = ifm_model_path(model);
    if (path != NULL)
    {
        ifm_ov_check(&self->api, self->api.ov_core_read_model(self->core, path, NULL, &read), who, IFM_ERROR_UNSUPPORTED,
                     error);
        return read;
    }
    g_autoptr(GBytes) bytes = ifm_model_serialize(model, error);
    if (bytes != NULL)
        ifm_ov_check(&self->api,
                     self->api.ov_core_read_model_from_memory_buffer(self->core, g_bytes_get_data(bytes, NULL),
                                                                     g_bytes_get_size(bytes), NULL, &read),
                     who, IFM_ERROR_UNSUPPORTED, error);
    return read;
}

/* Sets the bound dimensions of one input; the others stay as they are. */
static gboolean reshape_input(OvEngine *self, const IfmCompiled *compiled, ov_model_t *model, const IfmPort *port,
                              const char *who, GError **error)
{
    ov_dimension_t dims[IFM_MAX_RANK];
    gboolean is_bound = FALSE;
    for (int axis = 0; axis < port->rank; axis++)
    {
        gint64 value = port->dims[axis];
        if (value < 0)
        {
            value = ifm_runtime_bound(&compiled->options, port->dim_names[axis]);
            is_bound |= value >= 0;
        }
        dims[axis] = value >= 0 ? (ov_dimension_t){ value, value } : (ov_dimension_t){ 0, -1 };
    }
    if (!is_bound)
        return TRUE;
    ov_partial_shape_t shape;
    if (!ifm_ov_check(&self->api, self->api.ov_partial_shape_create(port->rank, dims, &shape), who, IFM_ERROR_FAILED,
                      error))
        return FALSE;
    gboolean ok = ifm_ov_check(&self->api, self->api.ov_model_reshape_input_by_name(model, port->name, shape), who,
                               IFM_ERROR_UNSUPPORTED, error);
    self->api.ov_partial_shape_free(&shape);
    return ok;
}

static gboolean reshape(OvEngine *self, const IfmCompiled *compiled, ov_model_t *model, const char *who, GError **error)
{
    for (gsize i = 0; i < ifm_model_n_inputs(compiled->model); i++)
        if (!reshape_input(self, compiled, model, ifm_model_input(compiled->model, i), who, error))
            return FALSE;
    return TRUE;
}

/* --- compiling -------------------------------------------------------------------------------------------------------- */

#define MAX_PROPERTIES 40

typedef struct
{
    const char *arguments[2 * MAX_PROPERTIES]; /* key, value, key, value … */
    size_t n;
    GPtrArray *kept; /* strings to free */
} Properties;

static void add_property(Properties *properties, const char *key, const char *value)
{
    properties->arguments[properties->n++] = key;
    properties->arguments[properties->n++] = value;
}

static void add_number(Properties *properties, const char *key, int value)
{
    char *text = g_strdup_printf("%d", value);
    g_ptr_array_add(properties->kept, text);
    add_property(properties, key, text);
}

/* OpenVINO's word for an execution precision; NULL if it has none. */
static const char *precision_word(IfmDtype dtype)
{
    return dtype == IFM_DTYPE_F32 || dtype == IFM_DTYPE_F16 || dtype == IFM_DTYPE_BF16 ? ifm_dtype_name(dtype) : NULL;
}

/* OpenVINO accepts any hint and then uses what the device has, so the device's precisions are asked for first. A model in
 * its own precision is computed in f32 where the device has nothing lower: that is stated, too. */
static gboolean choose_precision(OvEngine *self, OvCompiled *of, const char *device, GError **error)
{
    const IfmCompiled *compiled = &of->base;
    static const char *const capability[] = {
        [IFM_DTYPE_F32] = "FP32", [IFM_DTYPE_F16] = "FP16", [IFM_DTYPE_BF16] = "BF16"
    };
    IfmDtype dtype = compiled->options.dtype;
    g_autofree char *can = get_property(self, device, "OPTIMIZATION_CAPABILITIES", error);
    if (can == NULL)
        return FALSE;
    g_auto(GStrv) words = g_strsplit(can, " ", -1);
    of->precision = precision_word(dtype);
    if (of->precision != NULL && g_strv_contains((const char *const *)words, capability[dtype]))
        return TRUE;
    of->precision = precision_word(IFM_DTYPE_F32);
    return (dtype == ifm_model_dtype(compiled->model) &&
            g_strv_contains((const char *const *)words, capability[IFM_DTYPE_F32])) ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: %s was asked for, but the device can do no more than: %s",
                         compiled->spec->text, ifm_dtype_name(dtype), can);
}

static gboolean check_optimise(const IfmCompiled *compiled, GError **error)
{
    if (!compiled->options.optimise)
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: OpenVINO has no way to leave out graph optimisation",
                      compiled->spec->text);
    return compiled->options.optimise;
}

/*
 * The threads that work besides the executing one are TBB's, one pool for the process. They have the mask that the
 * process's first thread had when TBB started, not the mask of the thread that opens the runtime or of the one that
 * infers. So only executing threads can use cores that are not the process's own.
 */
static gboolean check_pool(OvEngine *self, const IfmCompiled *compiled, GError **error)
{
    const IfmDeviceSpec *spec = compiled->spec;
    int n_threads = ifm_runtime_n_threads(compiled);
    if (spec->n_cores == 0 || n_threads <= ifm_device_spec_n_streams(spec))
        return TRUE;
    g_autofree char *cores = ifm_cores_to_string(spec->cores, spec->n_cores);
    return g_str_equal(cores, self->pool_cores) ||
           ifm_error_set(
               error, IFM_ERROR_UNSUPPORTED,
               "%s: %d threads were asked for, but OpenVINO's pool keeps to the cores that this process had when it opened "
               "the runtime, %s: start the process on cores %s (taskset -c), as the runner's workers are",
               spec->text, n_threads, self->pool_cores, cores);
}

/*
 * The precision is always set, never chosen by the runtime. On the processor so are threads and streams. The runtime's
 * own pinning is off, since it would replace the executing thread's mask. All logical processors count, as in the
 * device spec.
 */
static gboolean collect_properties(const IfmCompiled *compiled, Properties *properties, GError **error)
{
    add_property(properties, "INFERENCE_PRECISION_HINT", ((const OvCompiled *)compiled)->precision);
    add_property(properties, "PERFORMANCE_HINT", "LATENCY");
    if (compiled->options.profiling)
        add_property(properties, "PERF_COUNT", "YES");
    if (g_str_equal(compiled->spec->unit, "CPU"))
    {
        add_property(properties, "ENABLE_CPU_PINNING", "NO");
        add_property(properties, "ENABLE_HYPER_THREADING", "YES");
        add_number(properties, "INFERENCE_NUM_THREADS", ifm_runtime_n_threads(compiled));
        add_number(properties, "NUM_STREAMS", ifm_device_spec_n_streams(compiled->spec));
    }
    else if (compiled->spec->n_streams > 1)
        add_number(properties, "NUM_STREAMS", compiled->spec->n_streams);
    for (const char *const *option = compiled->options.vendor; option != NULL && *option != NULL; option++)
    {
        if (properties->n + 4 > G_N_ELEMENTS(properties->arguments)) /* two more for CACHE_DIR or the like */
        {
            return ifm_error_refuse(error, "%s: more than %d properties", compiled->spec->text, MAX_PROPERTIES - 1);
        }
        char *key = g_strndup(*option, (gsize)(strchr(*option, '=') - *option));
        g_ptr_array_add(properties->kept, key);
        add_property(properties, key, strchr(*option, '=') + 1);
    }
    return TRUE;
}

/* The C API takes properties as variable arguments, whose number is fixed at compile time: all places are passed, and
 * it reads the first @n of them. */
static ov_status_e compile_model(OvEngine *self, ov_model_t *model, const char *device, const Properties *properties,
                                 ov_compiled_model_t **compiled)
{
    const char *const *a = properties->arguments;
#define FOUR(i) a[i], a[i + 1], a[i + 2], a[i + 3]
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
    G_STATIC_ASSERT(MAX_PROPERTIES == 40);
    return self->api.ov_core_compile_model(self->core, model, device, properties->n, compiled, SIXTEEN(0), SIXTEEN(16),
                                           SIXTEEN(32), SIXTEEN(48), SIXTEEN(64));
#undef SIXTEEN
#undef FOUR
}

/* Describes a port. OpenVINO does not keep the names of free dimensions: they are those of @written. */
static IfmPort *describe_port(OvEngine *self, ov_output_const_port_t *native, const IfmPort *written, const char *who,
                              GError **error)
{
    ov_element_type_e type = DYNAMIC;
    ov_partial_shape_t shape = { 0 };
    if (!ifm_ov_check(&self->api, self->api.ov_port_get_element_type(native, &type), who, IFM_ERROR_FAILED, error) ||
        !ifm_ov_check(&self->api, self->api.ov_port_get_partial_shape(native, &shape), who, IFM_ERROR_FAILED, error))
        return NULL;
    IfmPort *port = g_new0(IfmPort, 1);
    port->name = g_strdup(written->name);
    port->dtype = ifm_ov_dtype(type);
    port->rank = shape.rank.min == shape.rank.max ? (int)shape.rank.min : -1;
    if (port->dtype == IFM_DTYPE_UNDEFINED || port->rank > IFM_MAX_RANK)
    {
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: '%s' is not a tensor of numbers or texts of rank %d or less", who,
                      written->name, IFM_MAX_RANK);
        g_clear_pointer(&port, ifm_port_free);
    }
    for (int axis = 0; port != NULL && axis < port->rank; axis++)
    {
        port->dims[axis] = shape.dims[axis].min == shape.dims[axis].max ? shape.dims[axis].min : -1;
        if (port->dims[axis] >= 0)
            continue;
        gboolean is_named = axis < written->rank && written->dim_names[axis] != NULL;
        port->dim_names[axis] =
            is_named ? g_strdup(written->dim_names[axis]) : g_strdup_printf("%s[%d]", written->name, axis);
    }
    self->api.ov_partial_shape_free(&shape);
    return port;
}

typedef struct
{
    gsize n;
    const IfmPort *(*written)(const IfmModel *model, gsize index);
    __typeof__(ov_compiled_model_input_by_name) *by_name;
    __typeof__(ov_compiled_model_input_by_index) *by_index;
    __typeof__(ov_compiled_model_inputs_size) *size;
    gboolean may_drop;
    GPtrArray *natives, *ports;
} Side;

/* Ports in the order of the model as written, by name, or by position if OpenVINO renamed a tensor. It drops inputs that it
 * does not read: what fed a CastLike's second, say. */
static gboolean add_ports(OvCompiled *self, const Side *side, const char *who, GError **error)
{
    OvEngine *engine = ov_engine(&self->base);
    size_t n = 0;
    if (!ifm_ov_check(&engine->api, side->size(self->model, &n), who, IFM_ERROR_FAILED, error))
        return FALSE;
    for (gsize i = 0; i < side->n; i++)
    {
        const IfmPort *written = side->written(self->base.model, i);
        ov_output_const_port_t *native = NULL;
        const gboolean is_named = side->by_name(self->model, written->name, &native) == OK;
        if (!is_named && n < side->n && side->may_drop)
            continue;
        if (!is_named && !ifm_ov_check(&engine->api, side->by_index(self->model, i, &native), who, IFM_ERROR_FAILED, error))
            return FALSE;
        g_ptr_array_add(side->natives, native);
        IfmPort *port = describe_port(engine, native, written, who, error);
        if (port == NULL)
            return FALSE;
        g_ptr_array_add(side->ports, port);
    }
    return side->ports->len == n ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: OpenVINO sees %zu inputs or outputs where the model has %zu",
                         who, n, side->n);
}

static gboolean add_all_ports(OvCompiled *self, const char *who, GError **error)
{
    const OvApi *api = &ov_engine(&self->base)->api;
    const IfmCompiled *base = &self->base;
    const Side inputs = { ifm_model_n_inputs(base->model),
                          ifm_model_input,
                          api->ov_compiled_model_input_by_name,
                          api->ov_compiled_model_input_by_index,
                          api->ov_compiled_model_inputs_size,
                          TRUE,
                          self->input_ports,
                          base->inputs };
    const Side outputs = { ifm_model_n_outputs(base->model),
                           ifm_model_output,
                           api->ov_compiled_model_output_by_name,
                           api->ov_compiled_model_output_by_index,
                           api->ov_compiled_model_outputs_size,
                           FALSE,
                           self->output_ports,
                           base->outputs };
    return add_ports(self, &inputs, who, error) && add_ports(self, &outputs, who, error);
}

static gboolean was_read(const OvEngine *engine, const ov_compiled_model_t *model)
{
    char *value = NULL;
    if (engine->api.ov_compiled_model_get_property(model, "LOADED_FROM_CACHE", &value) != OK)
        return FALSE;
    gboolean read = g_str_equal(value, "YES");
    engine->api.ov_free(value);
    return read;
}

/* FALSE if no cache was asked for or if it cannot be used: nothing was compiled. */
static gboolean compile_with_cache(OvCompiled *self, ov_model_t *model, const char *device, Properties *properties)
{
    OvEngine *engine = ov_engine(&self->base);
    const char *parent = self->base.options.cache_dir;
    OvCache cache;
    if (parent == NULL || (self->base.capabilities & IFM_CAN_CACHE) == 0)
        return FALSE;
    g_autofree char *hardware = get_property(engine, device, "FULL_DEVICE_NAME", NULL);
    g_autofree char *name = ifm_ov_cache_name(&self->base, device, hardware, properties->arguments, properties->n);
    if (name == NULL || !ifm_ov_cache_enter(&cache, parent, name))
        return FALSE;
    add_property(properties, "CACHE_DIR", cache.folder);
    gboolean ok = compile_model(engine, model, device, properties, &self->model) == OK;
    properties->n -= 2;
    self->base.from_cache = ok && was_read(engine, self->model);
    ifm_ov_cache_leave(&cache, !ok ? OV_CACHE_FAILED : self->base.from_cache ? OV_CACHE_READ : OV_CACHE_WRITTEN);
    return ok;
}

/* Compiles so that the graph can be exported as text; an older runtime refuses that property. */
static gboolean compile_reporting(OvCompiled *self, ov_model_t *model, const char *device, Properties *properties)
{
    if (!self->base.options.profiling || !g_str_equal(self->base.spec->unit, "CPU"))
        return FALSE;
    add_property(properties, "CACHE_ENCRYPTION_CALLBACKS", (const char *)&ifm_ov_open_callbacks);
    self->reports_parts = compile_model(ov_engine(&self->base), model, device, properties, &self->model) == OK;
    properties->n -= 2;
    return self->reports_parts;
}

static gboolean compile_read(OvCompiled *self, ov_model_t *model, const char *device, const char *who, GError **error)
{
    OvEngine *engine = ov_engine(&self->base);
    Properties properties = { .kept = g_ptr_array_new_with_free_func(g_free) };
    gboolean ok =
        collect_properties(&self->base, &properties, error) && reshape(engine, &self->base, model, who, error) &&
        (compile_with_cache(self, model, device, &properties) || compile_reporting(self, model, device, &properties) ||
         ifm_ov_check(&engine->api, compile_model(engine, model, device, &properties, &self->model), who,
                      IFM_ERROR_UNSUPPORTED, error));
    g_ptr_array_unref(properties.kept);
    return ok;
}

/* Sets the capabilities that depend on this compile's options. */
static gboolean set_capabilities(OvCompiled *self, guint32 capabilities, GError **error)
{
    const IfmCompiled *base = &self->base;
    self->base.capabilities = capabilities;
    if (ifm_device_spec_n_streams(base->spec) > 1)
        self->base.capabilities &= ~(guint32)IFM_CAN_PROFILE;
    if (base->options.native_async)
        self->base.capabilities |= IFM_CAN_CANCEL; /* its synchronous inference ignores it */
    return !base->options.profiling || (self->base.capabilities & IFM_CAN_PROFILE) != 0 ||
           ifm_error_set(
               error, IFM_ERROR_UNSUPPORTED,
               "%s: of several streams OpenVINO takes any for an inference, and keeps each one's times: profile one stream",
               base->spec->text);
}

static gboolean compile(IfmCompiled *compiled, GError **error)
{
    OvCompiled *self = (OvCompiled *)compiled;
    OvEngine *engine = ov_engine(compiled);
    const OvApi *api = &engine->api;
    const IfmDeviceSpec *spec = compiled->spec; /* GPU:1 is "GPU.1" to OpenVINO */
    g_autofree char *device = spec->index < 0 ? g_strdup(spec->unit) : g_strdup_printf("%s.%d", spec->unit, spec->index);
    const char *who = compiled->who;
    self->input_ports = g_ptr_array_new_with_free_func((GDestroyNotify)api->ov_output_const_port_free);
    self->output_ports = g_ptr_array_new_with_free_func((GDestroyNotify)api->ov_output_const_port_free);
    IfmDeviceInfo *info = ifm_engine_find_device(compiled->engine, compiled->spec, error);
    if (info == NULL)
        return FALSE;
    guint32 capabilities = info->capabilities;
    ifm_device_info_free(info);
    if (!set_capabilities(self, capabilities, error) || !check_optimise(compiled, error) ||
        !check_pool(engine, compiled, error) || !choose_precision(engine, self, device, error))
        return FALSE;
    if (compiled->options.native_async)
    {
        self->collector = ifm_executor_new(compiled->engine->clock, NULL, 0, "ifm-collector", error);
        if (self->collector == NULL)
            return FALSE;
    }
    ov_model_t *model = read_model(engine, compiled->model, who, error);
    if (model == NULL)
        return FALSE;
    gboolean ok = compile_read(self, model, device, who, error) && add_all_ports(self, who, error);
    api->ov_model_free(model);
    return ok;
}

static void compiled_clear(IfmCompiled *compiled)
{
    OvCompiled *self = (OvCompiled *)compiled;
    ifm_executor_free(self->collector);
    g_clear_pointer(&self->input_ports, g_ptr_array_unref);
    g_clear_pointer(&self->output_ports, g_ptr_array_unref);
    if (self->model != NULL)
        ov_engine(compiled)->api.ov_compiled_model_free(self->model);
}

const IfmDriver ifm_driver_openvino = {
    .name = NAME,
    .summary = "OpenVINO: Intel's runtime for processors, graphics and neural processing units",
    .capabilities = CPU_CAPABILITIES | IFM_CAN_CANCEL | IFM_CAN_CACHE,
    .open = engine_open,
    .close = engine_close,
    .devices = engine_devices,
    .compiled_size = sizeof(OvCompiled),
    .compile = compile,
    .compiled_clear = compiled_clear,
    .request_size = sizeof(OvRequest),
    .request_init = ifm_ov_request_init,
    .request_clear = ifm_ov_request_clear,
    .set_input = ifm_ov_set_input,
    .set_output = ifm_ov_set_output,
    .output = ifm_ov_output,
    .infer = ifm_ov_infer,
    .infer_async = ifm_ov_infer_async,
    .cancel = ifm_ov_cancel,
    .effective_config = ifm_ov_effective_config,
    .profile = ifm_ov_profile,
    .parts = ifm_ov_parts,
};
