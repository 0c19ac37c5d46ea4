#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "onnxruntime-private.h"

#define LEAST_API 23 /* ONNX Runtime 1.23: device discovery, allocator statistics */
#define NAME "onnxruntime"

#define CAPABILITIES                                                                                                       \
    (IFM_CAN_CORES | IFM_CAN_STREAMS | IFM_CAN_NATIVE_ASYNC | IFM_CAN_CANCEL | IFM_CAN_PROFILE | IFM_CAN_NODE_STARTS |     \
     IFM_CAN_MEMORY | IFM_CAN_SAVE_OPTIMISED | IFM_CAN_FREE_SHAPES | IFM_CAN_SET_OUTPUT | IFM_CAN_CUSTOM_OPS |             \
     IFM_CAN_TRUE_OUTPUTS)
/* On a device that is not the processor: its host thread is no place to stay on, and few tell of their memory. */
#define ACCELERATOR_CAPABILITIES (CAPABILITIES & ~(guint32)(IFM_CAN_CORES | IFM_CAN_MEMORY | IFM_CAN_NATIVE_ASYNC))

/* providers: the units this driver has words for, and the execution provider behind each. What the runtime finds beside
 * these is named by its provider; what it lacks is listed as not available. */
static const struct
{
    const char *unit, *provider;
} providers[] = {
    { "CPU", "CPUExecutionProvider" },           { "CUDA", "CUDAExecutionProvider" },
    { "TensorRT", "TensorrtExecutionProvider" }, { "MIGraphX", "MIGraphXExecutionProvider" },
    { "OpenVINO", "OpenVINOExecutionProvider" },
};

gboolean ifm_ort_check(const OrtApi *api, OrtStatus *status, const char *who, IfmErrorCode refusal, GError **error)
{
    if (status == NULL)
        return TRUE;
    OrtErrorCode ort_code = api->GetErrorCode(status);
    const char *said = api->GetErrorMessage(status);
    g_autofree char *words = ifm_runtime_words(said, NULL);
    IfmErrorCode code = refusal;
    if (ifm_runtime_is_memory(said))
        code = IFM_ERROR_MEMORY;
    else if (ifm_runtime_is_lost(said))
        code = IFM_ERROR_LOST;
    else if (strstr(said, "terminate flag") != NULL)
        code = IFM_ERROR_CANCELLED;
    else if (ort_code == ORT_NO_SUCHFILE)
        code = IFM_ERROR_UNAVAILABLE;
    g_set_error(error, IFM_ERROR, code, "%s: %s", who, words);
    api->ReleaseStatus(status);
    return FALSE;
}

/* --- the engine --------------------------------------------------------------------------------------------------------
 */

/* The runtime would print to standard error; what matters of it comes back as a status, too. */
static void log_message(void *param, OrtLoggingLevel severity, const char *category, const char *log_id,
                        const char *location, const char *message)
{
    g_debug("%s: %s: %s", NAME, location, message);
}

static void engine_close(IfmEngine *engine)
{
    OrtEngine *self = (OrtEngine *)engine;
    if (self->host != NULL)
        self->api->ReleaseMemoryInfo(self->host);
    if (self->env != NULL)
        self->api->ReleaseEnv(self->env);
    g_free(self);
}

static const OrtApi *find_api(char **version, char **file, GError **error)
{
    /* Read when the library makes its first environment: it would leave a device identity under the user's home. */
    g_setenv("ORT_DISABLE_TELEMETRY", "1", FALSE);
    void *library = ifm_runtime_open(NAME, file, error);
    if (library == NULL)
        return NULL;
    const OrtApiBase *(*get_base)(void) = ifm_runtime_symbol(library, NAME, *file, "OrtGetApiBase", error);
    if (get_base == NULL)
        return NULL;
    *version = g_strdup(get_base()->GetVersionString());
    const OrtApi *api = get_base()->GetApi(LEAST_API);
    if (api == NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE,
                    "%s: %s is version %s, which has no API %d: 1.%d or newer is needed", NAME, *file, *version, LEAST_API,
                    LEAST_API);
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
    if (!ifm_ort_check(api, api->CreateEnvWithCustomLogger(log_message, NULL, ORT_LOGGING_LEVEL_WARNING, NAME, &self->env),
                       NAME, IFM_ERROR_UNAVAILABLE, error) ||
        !ifm_ort_check(api, api->DisableTelemetryEvents(self->env), NAME, IFM_ERROR_UNAVAILABLE, error) ||
        !ifm_ort_check(api, api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &self->host), NAME,
                       IFM_ERROR_UNAVAILABLE, error))
    {
        engine_close(&self->base);
        return NULL;
    }
    self->base.version = g_steal_pointer(&version);
    self->base.library = g_steal_pointer(&file);
    return &self->base;
}

/* --- devices -----------------------------------------------------------------------------------------------------------
 */

static char *unit_of(const char *provider)
{
    for (gsize i = 0; i < G_N_ELEMENTS(providers); i++)
        if (g_str_equal(provider, providers[i].provider))
            return g_strdup(providers[i].unit);
    const char *end = g_strrstr(provider, "ExecutionProvider");
    return end != NULL && end > provider ? g_strndup(provider, (gsize)(end - provider)) : g_strdup(provider);
}

/* The @nth device (from 0) that the runtime finds for a unit; NULL where there are fewer. */
static const OrtEpDevice *find_ep_device(OrtEngine *self, const char *unit, int nth, GError **error)
{
    const OrtEpDevice *const *devices = NULL;
    size_t n_devices = 0;
    if (!ifm_ort_check(self->api, self->api->GetEpDevices(self->env, &devices, &n_devices), NAME, IFM_ERROR_UNAVAILABLE,
                       error))
        return NULL;
    for (size_t i = 0; i < n_devices; i++)
    {
        g_autofree char *found = unit_of(self->api->EpDevice_EpName(devices[i]));
        if (g_str_equal(found, unit) && nth-- == 0)
            return devices[i];
    }
    return NULL;
}

static char *describe(OrtEngine *self, const OrtEpDevice *device)
{
    const OrtHardwareDevice *hardware = self->api->EpDevice_Device(device);
    const char *told = self->api->GetKeyValue(self->api->HardwareDevice_Metadata(hardware), "Description");
    static const char *const kinds[] = { "CPU", "GPU", "NPU" };
    OrtHardwareDeviceType type = self->api->HardwareDevice_Type(hardware);
    return g_strdup_printf("%s %s (%s)", self->api->HardwareDevice_Vendor(hardware),
                           told != NULL                        ? told
                           : (gsize)type < G_N_ELEMENTS(kinds) ? kinds[type]
                                                               : "device",
                           self->api->EpDevice_EpName(device));
}

static gboolean takes_cuda_memory(const char *unit)
{
    return g_str_equal(unit, "CUDA") || g_str_equal(unit, "TensorRT");
}

static void add_found(OrtEngine *self, const OrtEpDevice *device, GPtrArray *devices)
{
    g_autofree char *unit = unit_of(self->api->EpDevice_EpName(device));
    gboolean is_cpu = g_str_equal(unit, "CPU");
    int index = 0;
    g_autofree char *same = g_strdup_printf("%s:%s:", NAME, unit);
    for (guint i = 0; i < devices->len; i++)
        index += g_str_has_prefix(((IfmDeviceInfo *)devices->pdata[i])->spec, same);
    IfmDeviceInfo *info = g_new0(IfmDeviceInfo, 1);
    info->spec = is_cpu ? g_strdup_printf("%s:CPU", NAME) : g_strdup_printf("%s%d", same, index);
    info->description = describe(self, device);
    info->capabilities = is_cpu ? CAPABILITIES : ACCELERATOR_CAPABILITIES;
    if (takes_cuda_memory(unit))
        info->capabilities |= IFM_CAN_MEMORY;
    info->own_memory = !is_cpu;
    info->available = TRUE;
    g_ptr_array_add(devices, info);
}

static gboolean is_built_in(OrtEngine *self, const char *provider)
{
    char **names = NULL;
    int n_names = 0;
    gboolean found = FALSE;
    if (!ifm_ort_check(self->api, self->api->GetAvailableProviders(&names, &n_names), NAME, IFM_ERROR_FAILED, NULL))
        return FALSE;
    for (int i = 0; i < n_names; i++)
        found |= g_str_equal(names[i], provider);
    ifm_ort_check(self->api, self->api->ReleaseAvailableProviders(names, n_names), NAME, IFM_ERROR_FAILED, NULL);
    return found;
}

static void add_missing(OrtEngine *self, gsize row, GPtrArray *devices)
{
    IfmDeviceInfo *info = g_new0(IfmDeviceInfo, 1);
    info->spec = g_strdup_printf("%s:%s", NAME, providers[row].unit);
    info->description = g_strdup(providers[row].provider);
    info->own_memory = !g_str_equal(providers[row].unit, "CPU");
    info->capabilities = ACCELERATOR_CAPABILITIES;
    info->reason = is_built_in(self, providers[row].provider)
                       ? g_strdup("the provider is there, but finds no such device on this machine")
                       : g_strdup_printf("this ONNX Runtime (%s) was built without that provider", self->base.version);
    g_ptr_array_add(devices, info);
}

static GPtrArray *engine_devices(IfmEngine *engine, GError **error)
{
    OrtEngine *self = (OrtEngine *)engine;
    const OrtEpDevice *const *found = NULL;
    size_t n_found = 0;
    if (!ifm_ort_check(self->api, self->api->GetEpDevices(self->env, &found, &n_found), NAME, IFM_ERROR_UNAVAILABLE, error))
        return NULL;
    GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_device_info_free);
    for (size_t i = 0; i < n_found; i++)
        add_found(self, found[i], devices);
    for (gsize row = 0; row < G_N_ELEMENTS(providers); row++)
        if (find_ep_device(self, providers[row].unit, 0, NULL) == NULL)
            add_missing(self, row, devices);
    return devices;
}

/* --- compiling ---------------------------------------------------------------------------------------------------------
 */

static const struct
{
    ONNXTensorElementDataType type;
    IfmDtype dtype;
} types[] = {
    { ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, IFM_DTYPE_F32 },     { ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, IFM_DTYPE_U8 },
    { ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, IFM_DTYPE_I8 },       { ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, IFM_DTYPE_U16 },
    { ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, IFM_DTYPE_I16 },     { ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, IFM_DTYPE_I32 },
    { ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, IFM_DTYPE_I64 },     { ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, IFM_DTYPE_BOOL },
    { ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, IFM_DTYPE_F16 },   { ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, IFM_DTYPE_F64 },
    { ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, IFM_DTYPE_U32 },    { ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, IFM_DTYPE_U64 },
    { ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, IFM_DTYPE_BF16 },
};

IfmDtype ifm_ort_dtype(ONNXTensorElementDataType type)
{
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (types[i].type == type)
            return types[i].dtype;
    return IFM_DTYPE_UNDEFINED;
}

ONNXTensorElementDataType ifm_ort_type(IfmDtype dtype)
{
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (types[i].dtype == dtype)
            return types[i].type;
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

/* ONNX Runtime computes in the types the model is written in and has no switch for another. */
static gboolean check_dtype(const IfmCompiled *compiled, GError **error)
{
    IfmDtype written = IFM_DTYPE_UNDEFINED;
    for (gsize i = 0; i < ifm_model_n_inputs(compiled->model); i++)
        written = ifm_dtype_lower(written, ifm_model_input(compiled->model, i)->dtype);
    for (gsize i = 0; i < ifm_model_n_outputs(compiled->model); i++)
        written = ifm_dtype_lower(written, ifm_model_output(compiled->model, i)->dtype);
    if (written == IFM_DTYPE_UNDEFINED || written == compiled->options.dtype)
        return TRUE;
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
                "%s: %s: %s was asked for, but ONNX Runtime computes in the types a model is written in: here %s",
                compiled->spec->text, ifm_model_name(compiled->model), ifm_dtype_name(compiled->options.dtype),
                ifm_dtype_name(written));
    return FALSE;
}

/* Steps of setting options stop at the first that fails. */
typedef struct
{
    OrtEngine *engine;
    OrtCompiled *compiled;
    OrtSessionOptions *options;
    const char *who;
    GError **error;
} Setup;

static gboolean step(const Setup *setup, OrtStatus *status)
{
    return ifm_ort_check(setup->engine->api, status, setup->who, IFM_ERROR_UNSUPPORTED, setup->error);
}

static gboolean set_entry(const Setup *setup, const char *key, const char *value)
{
    return step(setup, setup->engine->api->AddSessionConfigEntry(setup->options, key, value));
}

/*
 * Threads: the executing threads of the streams work, too, so the pool has the others. Pool threads inherit the executing
 * thread's mask: no session.intra_op_thread_affinities, which would tie each to one core while the executing thread moves
 * freely among the same. They spin for work, as is the runtime's default, but not past the end of an inference: a pool
 * that spins on would slow down whatever is measured next.
 */
static gboolean set_threads(const Setup *setup)
{
    const OrtApi *api = setup->engine->api;
    const IfmCompiled *compiled = &setup->compiled->base;
    int n_pool = ifm_runtime_n_threads(compiled) - ifm_device_spec_n_streams(compiled->spec);
    return step(setup, api->SetIntraOpNumThreads(setup->options, n_pool + 1)) &&
           step(setup, api->SetInterOpNumThreads(setup->options, 1)) &&
           step(setup, api->SetSessionExecutionMode(setup->options, ORT_SEQUENTIAL)) &&
           set_entry(setup, "session.force_spinning_stop", "1");
}

/* Where the weights of an optimised model would go that is saved without them; NULL: it is not. */
static char *weights_beside(const OrtCompiled *compiled)
{
    const IfmCompileOptions *options = &compiled->base.options;
    return options->save_optimised != NULL && options->save_outline ? g_strconcat(options->save_optimised, ".weights", NULL)
                                                                    : NULL;
}

/* Weights that no rule of shapes reads go where they take neither room nor time: half a gigabyte of them is not worth the
 * writing where nobody reads them. */
static gboolean set_outline(const Setup *setup)
{
    g_autofree char *weights = weights_beside(setup->compiled),
                    *name = weights != NULL ? g_path_get_basename(weights) : NULL;
    if (weights == NULL)
        return TRUE;
    unlink(weights);
    if (symlink("/dev/null", weights) != 0)
    {
        g_set_error(setup->error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: %s: %s", setup->who, weights, g_strerror(errno));
        return FALSE;
    }
    return set_entry(setup, "session.optimized_model_external_initializers_file_name", name) &&
           set_entry(setup, "session.optimized_model_external_initializers_min_size_in_bytes", "1024");
}

static gboolean set_graph(const Setup *setup)
{
    const OrtApi *api = setup->engine->api;
    const IfmCompileOptions *options = &setup->compiled->base.options;
    if (!step(setup,
              api->SetSessionGraphOptimizationLevel(setup->options, options->optimise ? ORT_ENABLE_ALL : ORT_DISABLE_ALL)))
        return FALSE;
    for (gsize i = 0; i < options->n_bindings; i++)
        if (!step(setup, api->AddFreeDimensionOverrideByName(setup->options, options->bindings[i].name,
                                                             options->bindings[i].value)))
            return FALSE;
    if (options->save_optimised != NULL &&
        !(step(setup, api->SetOptimizedModelFilePath(setup->options, options->save_optimised)) && set_outline(setup)))
        return FALSE;
    for (const char *const *library = options->custom_op_libraries; library != NULL && *library != NULL; library++)
        if (!step(setup, api->RegisterCustomOpsLibrary_V2(setup->options, *library)))
            return FALSE;
    return TRUE;
}

static gboolean set_profiling(const Setup *setup)
{
    OrtCompiled *self = setup->compiled;
    if (!self->base.options.profiling)
        return TRUE;
    if (self->profile_folder == NULL)
    {
        g_autoptr(GError) local = NULL;
        self->profile_folder = g_dir_make_tmp("inferometer-profile-XXXXXX", &local);
        if (self->profile_folder == NULL)
        {
            g_set_error(setup->error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: no place for its profile: %s", setup->who,
                        local->message);
            return FALSE;
        }
    }
    g_autofree char *prefix = g_build_filename(self->profile_folder, "profile", NULL);
    return step(setup, setup->engine->api->EnableProfiling(setup->options, prefix));
}

static gboolean set_vendor(const Setup *setup)
{
    for (const char *const *option = setup->compiled->base.options.vendor; option != NULL && *option != NULL; option++)
    {
        g_autofree char *key = g_strndup(*option, (gsize)(strchr(*option, '=') - *option));
        if (!set_entry(setup, key, strchr(*option, '=') + 1))
            return FALSE;
    }
    return TRUE;
}

static gboolean set_device(const Setup *setup)
{
    const IfmDeviceSpec *spec = setup->compiled->base.spec;
    if (g_str_equal(spec->unit, "CPU")) /* the default */
        return TRUE;
    const OrtEpDevice *device = find_ep_device(setup->engine, spec->unit, MAX(spec->index, 0), setup->error);
    return device != NULL && step(setup, setup->engine->api->SessionOptionsAppendExecutionProvider_V2(
                                             setup->options, setup->engine->env, &device, 1, NULL, NULL, 0));
}

static gboolean create_session(const Setup *setup)
{
    OrtCompiled *self = setup->compiled;
    const OrtApi *api = setup->engine->api;
    const char *path = ifm_model_path(self->base.model);
    if (path != NULL)
        return step(setup, api->CreateSession(setup->engine->env, path, setup->options, &self->session));
    g_autoptr(GBytes) bytes = ifm_model_serialize(self->base.model, setup->error);
    return bytes != NULL &&
           step(setup, api->CreateSessionFromArray(setup->engine->env, g_bytes_get_data(bytes, NULL),
                                                   g_bytes_get_size(bytes), setup->options, &self->session));
}

gboolean ifm_ort_session_open(OrtCompiled *compiled, GError **error)
{
    OrtEngine *engine = ort_engine(&compiled->base);
    g_autofree char *who = g_strdup_printf("%s: %s", compiled->base.spec->text, ifm_model_name(compiled->base.model));
    Setup setup = { .engine = engine, .compiled = compiled, .who = who, .error = error };
    if (!step(&setup, engine->api->CreateSessionOptions(&setup.options)))
        return FALSE;
    gboolean ok = set_threads(&setup) && set_graph(&setup) && set_profiling(&setup) && set_device(&setup) &&
                  set_vendor(&setup) && create_session(&setup);
    engine->api->ReleaseSessionOptions(setup.options);
    g_autofree char *weights = weights_beside(compiled);
    if (weights != NULL)
        unlink(weights); /* the link */
    return ok;
}

/* The API tells a scalar and a tensor of unknown rank alike, as of no dimensions: what the model does not call a scalar is
 * taken for the latter, and its memory is then the runtime's. */
static gboolean is_scalar(const IfmCompiled *compiled, const char *name)
{
    const IfmModel *model = compiled->model;
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        if (g_str_equal(ifm_model_input(model, i)->name, name))
            return ifm_model_input(model, i)->rank == 0;
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
        if (g_str_equal(ifm_model_output(model, i)->name, name))
            return ifm_model_output(model, i)->rank == 0;
    return FALSE;
}

/* Describes one port; FALSE where it is no tensor of a type that can be fed. */
static gboolean describe_port(OrtCompiled *self, OrtTypeInfo *type, IfmPort *port, GError **error)
{
    const OrtApi *api = ort_engine(&self->base)->api;
    const OrtTensorTypeAndShapeInfo *shape = NULL;
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    size_t rank = 0;
    if (api->CastTypeInfoToTensorInfo(type, &shape) == NULL && shape != NULL &&
        api->GetTensorElementType(shape, &element) == NULL && api->GetDimensionsCount(shape, &rank) == NULL)
        port->dtype = ifm_ort_dtype(element);
    if (port->dtype == IFM_DTYPE_UNDEFINED || rank > IFM_MAX_RANK)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "%s: '%s' is no tensor of numbers of rank %d or less",
                    ifm_model_name(self->base.model), port->name, IFM_MAX_RANK);
        return FALSE;
    }
    const char *names[IFM_MAX_RANK] = { NULL };
    port->rank = rank == 0 && !is_scalar(&self->base, port->name) ? -1 : (int)rank;
    if (rank > 0 &&
        !(ifm_ort_check(api, api->GetDimensions(shape, port->dims, rank), port->name, IFM_ERROR_FAILED, error) &&
          ifm_ort_check(api, api->GetSymbolicDimensions(shape, names, rank), port->name, IFM_ERROR_FAILED, error)))
        return FALSE;
    for (int axis = 0; axis < port->rank; axis++)
    {
        if (port->dims[axis] >= 0)
            continue;
        g_autofree char *name = names[axis] != NULL && *names[axis] != '\0' ? g_strdup(names[axis])
                                                                            : g_strdup_printf("%s[%d]", port->name, axis);
        port->dims[axis] = ifm_runtime_bound(&self->base.options, name); /* a nameless one, which the runtime leaves free */
        port->dim_names[axis] = port->dims[axis] < 0 ? g_steal_pointer(&name) : NULL;
    }
    return TRUE;
}

typedef struct
{
    OrtStatus *(*count)(const OrtSession *session, size_t *out);
    OrtStatus *(*name)(const OrtSession *session, size_t index, OrtAllocator *allocator, char **value);
    OrtStatus *(*type)(const OrtSession *session, size_t index, OrtTypeInfo **type);
} Side;

static gboolean add_ports(OrtCompiled *self, const Side *side, GPtrArray *ports, char ***names, GError **error)
{
    const OrtApi *api = ort_engine(&self->base)->api;
    const char *who = ifm_model_name(self->base.model);
    OrtAllocator *allocator;
    size_t n = 0;
    if (!ifm_ort_check(api, api->GetAllocatorWithDefaultOptions(&allocator), who, IFM_ERROR_FAILED, error) ||
        !ifm_ort_check(api, side->count(self->session, &n), who, IFM_ERROR_FAILED, error))
        return FALSE;
    *names = g_new0(char *, n + 1);
    for (size_t i = 0; i < n; i++)
    {
        IfmPort *port = g_new0(IfmPort, 1);
        char *name = NULL;
        OrtTypeInfo *type = NULL;
        g_ptr_array_add(ports, port);
        if (!ifm_ort_check(api, side->name(self->session, i, allocator, &name), who, IFM_ERROR_FAILED, error))
            return FALSE;
        port->name = g_strdup(name);
        (*names)[i] = port->name;
        ifm_ort_check(api, api->AllocatorFree(allocator, name), who, IFM_ERROR_FAILED, NULL);
        gboolean ok = ifm_ort_check(api, side->type(self->session, i, &type), who, IFM_ERROR_FAILED, error) &&
                      describe_port(self, type, port, error);
        api->ReleaseTypeInfo(type);
        if (!ok)
            return FALSE;
    }
    return TRUE;
}

/*
 * ScatterND with a reduction: the CPU provider shares the updates out among its threads, which then add to the same rows at
 * once, and additions get lost (of 10,000 rows of 256 numbers added to 1,000, hundreds of sums were wrong with two
 * threads). ScatterElements is right, and slower by more than the threads are worth: docs/stages.md.
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

static void keep_to_one_thread(OrtCompiled *self)
{
    IfmCompiled *compiled = &self->base;
    int n_streams = ifm_device_spec_n_streams(compiled->spec);
    self->one_thread = ifm_runtime_n_threads(compiled) > n_streams && loses_additions(compiled);
    if (self->one_thread)
        compiled->options.threads = n_streams;
}

static gboolean compile(IfmCompiled *compiled, GError **error)
{
    OrtCompiled *self = (OrtCompiled *)compiled;
    const OrtApi *api = ort_engine(compiled)->api;
    IfmDeviceInfo *device = ifm_engine_find_device(compiled->engine, compiled->spec, error);
    if (device == NULL)
        return FALSE;
    compiled->capabilities = device->capabilities;
    ifm_device_info_free(device);
    keep_to_one_thread(self);
    if (compiled->options.native_async && ifm_runtime_n_threads(compiled) - ifm_device_spec_n_streams(compiled->spec) < 1)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
                    "%s: ONNX Runtime runs its own asynchrony in its thread pool, which is empty with one thread a stream",
                    compiled->spec->text);
        return FALSE;
    }
    const Side inputs = { api->SessionGetInputCount, api->SessionGetInputName, api->SessionGetInputTypeInfo };
    const Side outputs = { api->SessionGetOutputCount, api->SessionGetOutputName, api->SessionGetOutputTypeInfo };
    self->pending = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_engine_profile_free);
    return check_dtype(compiled, error) && ifm_ort_session_open(self, error) &&
           add_ports(self, &inputs, compiled->inputs, &self->input_names, error) &&
           add_ports(self, &outputs, compiled->outputs, &self->output_names, error);
}

static void compiled_clear(IfmCompiled *compiled)
{
    OrtCompiled *self = (OrtCompiled *)compiled;
    if (self->session != NULL)
        ort_engine(compiled)->api->ReleaseSession(self->session);
    g_free(self->input_names); /* the names are the ports' */
    g_free(self->output_names);
    g_clear_pointer(&self->pending, g_ptr_array_unref);
    ifm_ort_profile_clear(self);
}

/* --- memory ------------------------------------------------------------------------------------------------------------
 */

static gint64 statistic(const OrtApi *api, const OrtKeyValuePairs *statistics, const char *key)
{
    const char *value = api->GetKeyValue(statistics, key);
    return value != NULL ? g_ascii_strtoll(value, NULL, 10) : -1;
}

/* Statistics of the session's own allocator for that memory. @figures: (out) [3] in use, peak, reserved */
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
    gboolean told = FALSE;
    for (gsize i = 0; ok && i < G_N_ELEMENTS(keys); i++)
    {
        figures[i] = statistic(api, statistics, keys[i]);
        told |= figures[i] >= 0;
    }
    if (ok && !told)
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
                    "%s: the allocator keeps no statistics (is its arena switched off?)", who);
    api->ReleaseKeyValuePairs(statistics);
    api->ReleaseAllocator(allocator);
    return ok && told;
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

/* Of the accelerator's own memory: as its plug-in describes it, else by the name that the built-in provider gives it. */
static gboolean device_memory(OrtCompiled *self, IfmEngineMemory *memory, GError **error)
{
    OrtEngine *engine = ort_engine(&self->base);
    const OrtApi *api = engine->api;
    const IfmDeviceSpec *spec = self->base.spec;
    const OrtEpDevice *device = find_ep_device(engine, spec->unit, MAX(spec->index, 0), error);
    if (device == NULL)
        return FALSE;
    const OrtMemoryInfo *info = api->EpDevice_MemoryInfo(device, OrtDeviceMemoryType_DEFAULT);
    OrtMemoryInfo *own = NULL;
    gint64 figures[3];
    gboolean ok =
        info != NULL ||
        ifm_ort_check(api, api->CreateMemoryInfo("Cuda", OrtArenaAllocator, MAX(spec->index, 0), OrtMemTypeDefault, &own),
                      spec->text, IFM_ERROR_UNSUPPORTED, error);
    ok = ok && ask_allocator(self, info != NULL ? info : own, figures, error);
    api->ReleaseMemoryInfo(own);
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
    if (self->session == NULL) /* between two profiles */
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "%s: its allocators ended with its profile",
                    compiled->spec->text);
        return FALSE;
    }
    return host_memory(self, memory, error) &&
           (!takes_cuda_memory(compiled->spec->unit) || device_memory(self, memory, error));
}

const IfmDriver ifm_driver_onnxruntime = {
    .name = NAME,
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
    .prepare = ifm_ort_profile_prepare,
    .infer = ifm_ort_infer,
    .infer_async = ifm_ort_infer_async,
    .cancel = ifm_ort_cancel,
    .cancel_clear = ifm_ort_cancel_clear,
    .attest = ifm_ort_attest,
    .profile = ifm_ort_profile,
    .memory = memory,
};
