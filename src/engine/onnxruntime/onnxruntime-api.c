/* What all files of the driver need of the API: errors, types, and the devices that the runtime finds. */
#include <dlfcn.h>
#include <string.h>

#include "onnxruntime-private.h"

gboolean ifm_ort_check(const OrtApi *api, OrtStatus *status, const char *who, IfmErrorCode refusal, GError **error)
{
    if (status == NULL)
        return TRUE;
    OrtErrorCode ort_code = api->GetErrorCode(status);
    const char *said = api->GetErrorMessage(status);
    g_autofree char *words = ifm_runtime_words(said, NULL);
    if (strstr(said, "terminate flag") != NULL)
        refusal = IFM_ERROR_CANCELLED;
    else if (ort_code == ORT_NO_SUCHFILE)
        refusal = IFM_ERROR_UNAVAILABLE;
    ifm_error_set(error, ifm_runtime_code(said, refusal), "%s: %s", who, words);
    api->ReleaseStatus(status);
    return FALSE;
}

/* Both are ONNX's TensorProto.DataType, of which 14 and 15 are complex numbers. */
G_STATIC_ASSERT((int)ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT == IFM_DTYPE_F32 &&
                (int)ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 == IFM_DTYPE_BF16 &&
                (int)ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 == IFM_DTYPE_I4);

static gboolean is_shared(int type)
{
    return type <= IFM_DTYPE_I4 && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 &&
           type != ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
}

IfmDtype ifm_ort_dtype(ONNXTensorElementDataType type)
{
    return is_shared((int)type) ? (IfmDtype)type : IFM_DTYPE_UNDEFINED;
}

ONNXTensorElementDataType ifm_ort_type(IfmDtype dtype)
{
    return is_shared((int)dtype) ? (ONNXTensorElementDataType)dtype : ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

const OrtProvider ifm_ort_providers[IFM_ORT_N_PROVIDERS + 1] = {
    { "CPU", "CPUExecutionProvider", NULL },
    { "CUDA", "CUDAExecutionProvider", "libonnxruntime_providers_cuda.so" },
    { "TensorRT", "TensorrtExecutionProvider", "libonnxruntime_providers_tensorrt.so" },
    { "MIGraphX", "MIGraphXExecutionProvider", "libonnxruntime_providers_migraphx.so" },
    { "OpenVINO", "OpenVINOExecutionProvider", "libonnxruntime_providers_openvino.so" },
    { NULL, NULL, NULL },
};

/* The libraries that NVIDIA's providers need by name, in the order of their own needs. The loader does not look for them
 * with the provider; once they are open it takes those. They stay open, as the provider does. */
static void open_needed(const char *folder)
{
    static const char *const prefixes[] = { "libcudart.so.", "libnvJitLink.so.", "libcublasLt.so.", "libcublas.so.",
                                            "libcurand.so.", "libcufft.so.",     "libnvrtc.so.",    "libcudnn.so." };
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    GDir *list = g_dir_open(folder, 0, NULL);
    for (const char *name = NULL; list != NULL && (name = g_dir_read_name(list)) != NULL;)
        g_ptr_array_add(names, g_strdup(name));
    g_clear_pointer(&list, g_dir_close);
    for (gsize i = 0; i < G_N_ELEMENTS(prefixes); i++)
        for (guint k = 0; k < names->len; k++)
        {
            g_autofree char *path = g_build_filename(folder, names->pdata[k], NULL);
            if (g_str_has_prefix(names->pdata[k], prefixes[i]) &&
                dlopen(names->pdata[k], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) == NULL)
                dlopen(path, RTLD_NOW | RTLD_LOCAL); /* what is missing the provider says itself */
        }
}

/* One environment serves all engines of a process, so the library may be registered already. */
static void load_provider(OrtEngine *self, gsize index, const char *path)
{
    static const char *const marker = " with error: ";
    g_autoptr(GError) error = NULL;
    if (ifm_ort_check(self->api,
                      self->api->RegisterExecutionProviderLibrary(self->env, ifm_ort_providers[index].provider, path),
                      IFM_ORT_NAME, IFM_ERROR_UNAVAILABLE, &error) ||
        strstr(error->message, "already registered") != NULL)
        return;
    const char *why = strstr(error->message, marker); /* before it is the path again */
    self->unloadable[index] =
        g_strdup_printf("%s does not load: %s", path, why != NULL ? why + strlen(marker) : error->message);
}

void ifm_ort_load_providers(OrtEngine *self, const char *file)
{
    g_autofree char *folder = g_path_get_dirname(file);
    gboolean is_ready = FALSE;
    for (gsize i = 0; i < IFM_ORT_N_PROVIDERS; i++)
    {
        const char *name = ifm_ort_providers[i].library;
        g_autofree char *path = name != NULL ? g_build_filename(folder, name, NULL) : NULL;
        if (path == NULL || !g_file_test(path, G_FILE_TEST_EXISTS) ||
            ifm_ort_find_device(self, ifm_ort_providers[i].unit, 0, NULL) != NULL)
            continue;
        if (!is_ready)
            open_needed(folder);
        is_ready = TRUE;
        load_provider(self, i, path);
    }
}

char *ifm_ort_unit(const char *provider)
{
    for (const OrtProvider *row = ifm_ort_providers; row->unit != NULL; row++)
        if (g_str_equal(provider, row->provider))
            return g_strdup(row->unit);
    const char *end = g_strrstr(provider, "ExecutionProvider");
    return end != NULL && end > provider ? g_strndup(provider, (gsize)(end - provider)) : g_strdup(provider);
}

const OrtEpDevice *ifm_ort_find_device(OrtEngine *self, const char *unit, int nth, GError **error)
{
    const OrtEpDevice *const *devices = NULL;
    size_t n_devices = 0;
    if (!ifm_ort_check(self->api, self->api->GetEpDevices(self->env, &devices, &n_devices), IFM_ORT_NAME,
                       IFM_ERROR_UNAVAILABLE, error))
        return NULL;
    for (size_t i = 0; i < n_devices; i++)
    {
        g_autofree char *found = ifm_ort_unit(self->api->EpDevice_EpName(devices[i]));
        if (g_str_equal(found, unit) && nth-- == 0)
            return devices[i];
    }
    return NULL;
}
