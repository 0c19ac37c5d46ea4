/* What all files of the driver need of the API: errors, types, and the devices that the runtime finds. */
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

const OrtProvider ifm_ort_providers[] = {
    { "CPU", "CPUExecutionProvider" },           { "CUDA", "CUDAExecutionProvider" },
    { "TensorRT", "TensorrtExecutionProvider" }, { "MIGraphX", "MIGraphXExecutionProvider" },
    { "OpenVINO", "OpenVINOExecutionProvider" }, { NULL, NULL },
};

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
