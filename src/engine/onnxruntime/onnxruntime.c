/* The driver of ONNX Runtime: the engine, its devices, compiling, and what its allocators report. */
#include <dlfcn.h>

#include "onnxruntime-conv.h"
#include "onnxruntime-regions.h"

#define MIN_API 23 /* ONNX Runtime 1.23: device discovery, allocator statistics */

#define CAPABILITIES                                                                                                       \
    (IFM_CAN_CORES | IFM_CAN_STREAMS | IFM_CAN_NATIVE_ASYNC | IFM_CAN_CANCEL | IFM_CAN_PROFILE | IFM_CAN_NODE_STARTS |     \
     IFM_CAN_MEMORY | IFM_CAN_SAVE_OPTIMISED | IFM_CAN_FREE_SHAPES | IFM_CAN_SET_OUTPUT | IFM_CAN_CUSTOM_OPS |             \
     IFM_CAN_TRUE_OUTPUTS)
/* Of a device other than the processor: pinning its host thread has no meaning, and few report their memory. */
#define ACCELERATOR_CAPABILITIES (CAPABILITIES & ~(guint32)(IFM_CAN_CORES | IFM_CAN_MEMORY | IFM_CAN_NATIVE_ASYNC))

/* --- the engine ------------------------------------------------------------------------------------------------------- */

/* The runtime would print to standard error. What matters is also returned as a status. */
static void log_message(void *param, OrtLoggingLevel severity, const char *category, const char *log_id,
                        const char *location, const char *message)
{
    g_debug("%s: %s: %s", IFM_ORT_NAME, location, message);
}

static void engine_close(IfmEngine *engine)
{
    OrtEngine *self = (OrtEngine *)engine;
    if (self->host != NULL)
        self->api->ReleaseMemoryInfo(self->host);
    if (self->env != NULL)
        self->api->ReleaseEnv(self->env);
    for (gsize i = 0; i < IFM_ORT_N_PROVIDERS; i++)
        g_free(self->unloadable[i]);
    ifm_temporary_clear(&self->tuning);
    g_free(self->tuning_trouble);
    g_mutex_clear(&self->tuning_lock);
    g_free(self);
}

static const OrtApi *find_api(char **version, char **file, GError **error)
{
    /* The library reads it when it makes its first environment. Without it a device identity is left under the user's
     * home. */
    g_setenv("ORT_DISABLE_TELEMETRY", "1", FALSE);
    void *library = ifm_runtime_open(IFM_ORT_NAME, file, error);
    if (library == NULL)
        return NULL;
    const OrtApiBase *(*get_base)(void) = ifm_runtime_symbol(library, IFM_ORT_NAME, *file, "OrtGetApiBase", error);
    if (get_base == NULL)
        return NULL;
    *version = g_strdup(get_base()->GetVersionString());
    const OrtApi *api = get_base()->GetApi(MIN_API);
    if (api == NULL)
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s is version %s, which has no API %d: 1.%d or newer is needed",
                      IFM_ORT_NAME, *file, *version, MIN_API, MIN_API);
    return api;
}

static IfmEngine *engine_open(IfmClock *clock, GError **error)
{
    g_autofree char *version = NULL, *file = NULL;
    const OrtApi *api = find_api(&version, &file, error);
    if (api == NULL)
        return NULL;
    OrtEngine *self = g_new0(OrtEngine, 1);
    self->api = api;
    g_mutex_init(&self->tuning_lock);
    if (!ifm_ort_check(
            api, api->CreateEnvWithCustomLogger(log_message, NULL, ORT_LOGGING_LEVEL_WARNING, IFM_ORT_NAME, &self->env),
            IFM_ORT_NAME, IFM_ERROR_UNAVAILABLE, error) ||
        !ifm_ort_check(api, api->DisableTelemetryEvents(self->env), IFM_ORT_NAME, IFM_ERROR_UNAVAILABLE, error) ||
        !ifm_ort_check(api, api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &self->host), IFM_ORT_NAME,
                       IFM_ERROR_UNAVAILABLE, error))
    {
        engine_close(&self->base);
        return NULL;
    }
    self->base.version = g_steal_pointer(&version);
    self->base.library = g_steal_pointer(&file);
    ifm_ort_load_providers(self, self->base.library);
    return &self->base;
}

/* --- devices ---------------------------------------------------------------------------------------------------------- */

/* The name of a GPU by NVIDIA's driver, which its provider has loaded; NULL: it has no such. (transfer full) */
static char *cuda_name(int index)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    int (*init)(unsigned) = NULL, (*get)(int *, int) = NULL, (*get_name)(char *, int, int) = NULL, device = 0;
    char name[256] = "";
    if (driver == NULL)
        return NULL;
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&get = dlsym(driver, "cuDeviceGet");
    *(void **)&get_name = dlsym(driver, "cuDeviceGetName");
    const gboolean good = init != NULL && get != NULL && get_name != NULL && init(0) == 0 && get(&device, index) == 0 &&
                          get_name(name, sizeof name - 1, device) == 0;
    dlclose(driver);
    return good && *name != '\0' ? g_utf8_make_valid(name, -1) : NULL;
}

/* @index: of the device among those of its provider */
static char *describe(OrtEngine *self, const OrtEpDevice *device, int index)
{
    const char *provider = self->api->EpDevice_EpName(device);
    g_autofree char *name = g_str_equal(provider, "CUDAExecutionProvider") ? cuda_name(index) : NULL;
    if (name != NULL)
        return g_strdup_printf("%s (%s)", name, provider);
    const OrtHardwareDevice *hardware = self->api->EpDevice_Device(device);
    const char *vendor = self->api->HardwareDevice_Vendor(hardware); /* may be empty */
    const char *reported = self->api->GetKeyValue(self->api->HardwareDevice_Metadata(hardware), "Description");
    static const char *const kinds[] = { "CPU", "GPU", "NPU" };
    OrtHardwareDeviceType type = self->api->HardwareDevice_Type(hardware);
    return g_strdup_printf("%s%s%s (%s)", vendor, *vendor != '\0' ? " " : "",
                           reported != NULL                    ? reported
                           : (gsize)type < G_N_ELEMENTS(kinds) ? kinds[type]
                                                               : "device",
                           provider);
}

static void add_found(OrtEngine *self, const OrtEpDevice *device, GPtrArray *devices)
{
    g_autofree char *unit = ifm_ort_unit(self->api->EpDevice_EpName(device));
    gboolean is_cpu = g_str_equal(unit, "CPU");
    int index = 0;
    g_autofree char *same = g_strdup_printf("%s:%s:", IFM_ORT_NAME, unit);
    for (guint i = 0; i < devices->len; i++)
        index += g_str_has_prefix(((IfmDeviceInfo *)devices->pdata[i])->spec, same);
    IfmDeviceInfo *info = g_new0(IfmDeviceInfo, 1);
    info->spec = is_cpu ? g_strdup_printf("%s:CPU", IFM_ORT_NAME) : g_strdup_printf("%s%d", same, index);
    info->description = describe(self, device, index);
    info->capabilities = is_cpu ? CAPABILITIES : ACCELERATOR_CAPABILITIES;
    const guint32 traits = ifm_device_traits(IFM_ORT_NAME, unit);
    if ((traits & IFM_DEVICE_NVIDIA) != 0)
        info->capabilities |= IFM_CAN_MEMORY;
    if ((traits & IFM_DEVICE_ELSEWHERE) != 0) /* nodes return before their kernels have ended */
        info->capabilities &= ~(guint32)(IFM_CAN_PROFILE | IFM_CAN_NODE_STARTS);
    info->own_memory = !is_cpu;
    info->available = TRUE;
    g_ptr_array_add(devices, info);
}

static gboolean is_built_in(OrtEngine *self, const char *provider)
{
    char **names = NULL;
    int n_names = 0;
    gboolean found = FALSE;
    if (!ifm_ort_check(self->api, self->api->GetAvailableProviders(&names, &n_names), IFM_ORT_NAME, IFM_ERROR_FAILED, NULL))
        return FALSE;
    for (int i = 0; i < n_names; i++)
        found |= g_str_equal(names[i], provider);
    ifm_ort_check(self->api, self->api->ReleaseAvailableProviders(names, n_names), IFM_ORT_NAME, IFM_ERROR_FAILED, NULL);
    return found;
}

static void add_missing(OrtEngine *self, const OrtProvider *row, GPtrArray *devices)
{
    IfmDeviceInfo *info = g_new0(IfmDeviceInfo, 1);
    info->spec = g_strdup_printf("%s:%s", IFM_ORT_NAME, row->unit);
    info->description = g_strdup(row->provider);
    info->own_memory = !g_str_equal(row->unit, "CPU");
    info->capabilities = ACCELERATOR_CAPABILITIES;
    const char *unloadable = self->unloadable[row - ifm_ort_providers];
    info->reason = unloadable != NULL ? g_strdup(unloadable)
                   : is_built_in(self, row->provider)
                       ? g_strdup("the provider is there, but finds no such device on this machine")
                       : g_strdup_printf("this ONNX Runtime (%s) was built without that provider", self->base.version);
    g_ptr_array_add(devices, info);
}

static GPtrArray *engine_devices(IfmEngine *engine, GError **error)
{
    OrtEngine *self = (OrtEngine *)engine;
    const OrtEpDevice *const *found = NULL;
    size_t n_found = 0;
    if (!ifm_ort_check(self->api, self->api->GetEpDevices(self->env, &found, &n_found), IFM_ORT_NAME, IFM_ERROR_UNAVAILABLE,
                       error))
        return NULL;
    GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_device_info_free);
    for (size_t i = 0; i < n_found; i++)
        add_found(self, found[i], devices);
    for (const OrtProvider *row = ifm_ort_providers; row->unit != NULL; row++)
        if (ifm_ort_find_device(self, row->unit, 0, NULL) == NULL)
            add_missing(self, row, devices);
    return devices;
}

/* --- compiling -------------------------------------------------------------------------------------------------------- */

/* ONNX Runtime computes in the types of the model and has no option for another. */
static gboolean check_dtype(const IfmCompiled *compiled, GError **error)
{
    const IfmDtype written = ifm_model_dtype(compiled->model);
    return written == compiled->options.dtype ||
           ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                         "%s: %s was asked for, but ONNX Runtime computes in the types a model is written in: here %s",
                         compiled->who, ifm_dtype_name(compiled->options.dtype), ifm_dtype_name(written));
}

/*
 * ScatterND with a reduction: the CPU provider distributes the updates to its threads, which then add to the same rows
 * at the same time, and additions get lost (of 10,000 rows of 256 numbers added to 1,000, hundreds of sums were wrong
 * with two threads). ScatterElements is right, and slower by more than the threads gain: docs/stages.md.
 */
static gboolean loses_additions(const IfmCompiled *compiled)
{
    for (gsize i = 0; g_str_equal(compiled->spec->unit, "CPU") && i < ifm_model_n_nodes(compiled->model); i++)
    {
        const IfmNode *node = ifm_model_node(compiled->model, i);
        if (g_str_equal(node->op_type, "ScatterND") && !g_str_equal(ifm_node_string(node, "reduction", "none"), "none"))
            return TRUE;
    }
    return FALSE;
}

static gboolean compile(IfmCompiled *compiled, GError **error)
{
    OrtCompiled *self = (OrtCompiled *)compiled;
    IfmDeviceInfo *device = ifm_engine_find_device(compiled->engine, compiled->spec, error);
    if (device == NULL)
        return FALSE;
    compiled->capabilities = device->capabilities;
    ifm_device_info_free(device);
    int n_streams = ifm_device_spec_n_streams(compiled->spec);
    self->one_thread = ifm_runtime_n_threads(compiled) > n_streams && loses_additions(compiled);
    if (self->one_thread)
        compiled->options.threads = n_streams;
    if (compiled->options.native_async && ifm_runtime_n_threads(compiled) - n_streams < 1)
        return ifm_error_set(
            error, IFM_ERROR_UNSUPPORTED,
            "%s: ONNX Runtime runs its own asynchrony in its thread pool, which is empty with one thread a stream",
            compiled->spec->text);
    self->pending = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_engine_profile_free);
    if (!check_dtype(compiled, error) || !ifm_ort_session_open(self, error))
        return FALSE;
    if (self->conv_cuda != NULL) /* its layers take their own times */
        compiled->capabilities |= IFM_CAN_PROFILE;
    if (ifm_ort_keeps_tensors(compiled)) /* which are nobody's memory but the device's */
        compiled->capabilities &= ~(guint32)IFM_CAN_SET_OUTPUT;
    return ifm_ort_session_ports(self, error);
}

static void compiled_clear(IfmCompiled *compiled)
{
    OrtCompiled *self = (OrtCompiled *)compiled;
    if (self->session != NULL)
        ort_engine(compiled)->api->ReleaseSession(self->session);
    ifm_ort_regions_clear(self);
    ifm_ort_conv_domain_free(self->conv_domain);
    g_clear_pointer(&self->conv_layers, g_ptr_array_unref);
    g_clear_pointer(&self->conv_note, g_free);
    ifm_conv_cuda_free(self->conv_cuda);
    g_clear_pointer(&self->conv_model, ifm_model_unref);
    g_free(self->input_names); /* the names belong to the ports */
    g_free(self->output_names);
    g_clear_pointer(&self->pending, g_ptr_array_unref);
    ifm_ort_profile_clear(self);
}

/* --- memory ----------------------------------------------------------------------------------------------------------- */

/* Statistics of the session's own allocator for a kind of memory. @figures: (out) [3] in use, peak, reserved */
static gboolean ask_allocator(OrtCompiled *self, const OrtMemoryInfo *info, gint64 *figures, GError **error)
{
    const OrtApi *api = ort_engine(&self->base)->api;
    const char *who = self->base.spec->text;
    OrtAllocator *allocator = NULL;
    OrtKeyValuePairs *statistics = NULL;
    gboolean ok =
        ifm_ort_check(api, api->CreateAllocator(self->session, info, &allocator), who, IFM_ERROR_UNSUPPORTED, error) &&
        ifm_ort_check(api, api->AllocatorGetStats(allocator, &statistics), who, IFM_ERROR_UNSUPPORTED, error);
    static const char *const keys[] = { "InUse", "MaxInUse", "TotalAllocated" };
    gboolean reported = FALSE;
    for (gsize i = 0; ok && i < G_N_ELEMENTS(keys); i++)
    {
        const char *value = api->GetKeyValue(statistics, keys[i]);
        figures[i] = value != NULL ? g_ascii_strtoll(value, NULL, 10) : -1;
        reported |= figures[i] >= 0;
    }
    if (ok && !reported)
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: the allocator keeps no statistics (is its arena switched off?)",
                      who);
    api->ReleaseKeyValuePairs(statistics);
    api->ReleaseAllocator(allocator);
    return ok && reported;
}

static gboolean host_memory(OrtCompiled *self, IfmEngineMemory *memory, GError **error)
{
    const OrtApi *api = ort_engine(&self->base)->api;
    OrtMemoryInfo *info = NULL;
    gint64 figures[3];
    gboolean ok = ifm_ort_check(api, api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &info),
                                self->base.spec->text, IFM_ERROR_FAILED, error) &&
                  ask_allocator(self, info, figures, error);
    api->ReleaseMemoryInfo(info);
    if (!ok)
        return FALSE;
    memory->in_use_bytes = figures[0];
    memory->peak_bytes = figures[1];
    memory->reserved_bytes = figures[2];
    return TRUE;
}

const OrtMemoryInfo *ifm_ort_device_memory(OrtCompiled *self, OrtMemoryInfo **own, GError **error)
{
    OrtEngine *engine = ort_engine(&self->base);
    const OrtApi *api = engine->api;
    const IfmDeviceSpec *spec = self->base.spec;
    const OrtEpDevice *device = ifm_ort_find_device(engine, spec->unit, MAX(spec->index, 0), error);
    const OrtMemoryInfo *info = device != NULL ? api->EpDevice_MemoryInfo(device, OrtDeviceMemoryType_DEFAULT) : NULL;
    if (device == NULL || info != NULL)
        return info;
    OrtStatus *status = api->CreateMemoryInfo("Cuda", OrtArenaAllocator, MAX(spec->index, 0), OrtMemTypeDefault, own);
    return ifm_ort_check(api, status, spec->text, IFM_ERROR_UNSUPPORTED, error) ? *own : NULL;
}

gboolean ifm_ort_keeps_tensors(const IfmCompiled *compiled)
{
    return ((const OrtCompiled *)compiled)->conv_cuda != NULL ||
           (compiled->options.keep_tensors &&
            (ifm_device_traits(IFM_ORT_NAME, compiled->spec->unit) & IFM_DEVICE_NVIDIA) != 0);
}

static gboolean device_memory(OrtCompiled *self, IfmEngineMemory *memory, GError **error)
{
    OrtMemoryInfo *own = NULL;
    gint64 figures[3];
    const OrtMemoryInfo *info = ifm_ort_device_memory(self, &own, error);
    const gboolean ok = info != NULL && ask_allocator(self, info, figures, error);
    ort_engine(&self->base)->api->ReleaseMemoryInfo(own);
    if (!ok)
        return FALSE;
    memory->device_in_use_bytes = figures[0];
    memory->device_peak_bytes = figures[1];
    memory->device_reserved_bytes = figures[2];
    return TRUE;
}

static gboolean memory(IfmCompiled *compiled, IfmEngineMemory *memory, GError **error)
{
    OrtCompiled *self = (OrtCompiled *)compiled;
    if (self->session == NULL) /* between two profiles there is no session */
    {
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: its allocators ended with its profile",
                             compiled->spec->text);
    }
    return host_memory(self, memory, error) &&
           ((ifm_device_traits(IFM_ORT_NAME, compiled->spec->unit) & IFM_DEVICE_NVIDIA) == 0 ||
            device_memory(self, memory, error));
}

const IfmDriver ifm_driver_onnxruntime = {
    .name = IFM_ORT_NAME,
    .summary = "ONNX Runtime: its processor provider, and accelerators where its build has them",
    .capabilities = CAPABILITIES,
    .open = engine_open,
    .close = engine_close,
    .devices = engine_devices,
    .compiled_size = sizeof(OrtCompiled),
    .compile = compile,
    .compiled_clear = compiled_clear,
    .request_size = sizeof(OrtRequest),
    .request_init = ifm_ort_request_init,
    .request_clear = ifm_ort_request_clear,
    .set_input = ifm_ort_set_input,
    .set_output = ifm_ort_set_output,
    .output = ifm_ort_output,
    .prepare = ifm_ort_request_prepare,
    .infer = ifm_ort_infer,
    .infer_async = ifm_ort_infer_async,
    .cancel = ifm_ort_cancel,
    .cancel_clear = ifm_ort_cancel_clear,
    .effective_config = ifm_ort_effective_config,
    .profile = ifm_ort_profile,
    .tune = ifm_ort_tune,
    .memory = memory,
};
