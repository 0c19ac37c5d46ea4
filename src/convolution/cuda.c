/* The CUDA runtime, cuDNN and NVRTC, opened at run time, and a GPU that is ready to run layers. */
#include <base/base.h>

#include "cuda-private.h"

#define X(type, name, parameters) { #name, G_STRUCT_OFFSET(ConvCudaApi, name) },
static const IfmCudaSymbol cudnn_symbols[] = { CUDNN_SYMBOLS(X){ NULL, 0 } };
static const IfmCudaSymbol nvrtc_symbols[] = { NVRTC_SYMBOLS(X){ NULL, 0 } };
#undef X

/* --- the libraries ---------------------------------------------------------------------------------------------------- */

static gboolean open_all(ConvCudaApi *api, GError **error)
{
    api->cudnn_file = ifm_path_runtime("cuda");
    if (!ifm_cuda_fill(api, api->cudnn_file, cudnn_symbols, error))
        return FALSE;
    api->cudart = ifm_cudart(error);
    if (api->cudart == NULL)
        return FALSE;
    api->nvrtc_file = g_strdup_printf("libnvrtc.so.%d", api->cudart->version / 1000);
    return ifm_cuda_fill(api, api->nvrtc_file, nvrtc_symbols, error);
}

const ConvCudaApi *conv_cuda_api(GError **error)
{
    static ConvCudaApi api;
    static GError *trouble;
    static gsize once;
    if (g_once_init_enter(&once))
        g_once_init_leave(&once, open_all(&api, &trouble) ? 1 : 2);
    if (once == 1)
        return &api;
    g_propagate_error(error, g_error_copy(trouble));
    return NULL;
}

/* --- what they return ---------------------------------------------------------------------------------------------------
 */

gboolean conv_cudnn_ok(const ConvCudaApi *api, int status, const char *call, GError **error)
{
    if (status == 0)
        return TRUE;
    const gboolean is_refusal = status >= CUDNN_NOT_SUPPORTED && status < CUDNN_NOT_SUPPORTED + 1000;
    return ifm_error_set(error,
                         is_refusal                                 ? IFM_ERROR_UNSUPPORTED
                         : status == CUDNN_DEVICE_ALLOCATION_FAILED ? IFM_ERROR_MEMORY
                         : status == CUDNN_NOT_INITIALIZED          ? IFM_ERROR_UNAVAILABLE
                                                                    : IFM_ERROR_FAILED,
                         "cuDNN: %s: %s (%d)", call, api->cudnnGetErrorString(status), status);
}

/* --- a GPU --------------------------------------------------------------------------------------------------------------
 */

gboolean conv_cuda_check_gpu(int cuda_version, int capability, GError **error)
{
    return cuda_version < 13000 || capability >= 75 ||
           ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                         "CUDA: this GPU%s has compute capability %d.%d, which CUDA %d has no kernels for: an "
                         "onnxruntime-gpu of 1.26 or older, with CUDA 12 and cuDNN 9.10, is needed",
                         capability == 70 ? " (V100)" : "", capability / 10, capability % 10, cuda_version / 1000);
}

static gboolean read_capability(IfmConvCuda *self, GError **error)
{
    const ConvCudaApi *api = self->api;
    int major = 0, minor = 0;
    const struct
    {
        int *value, attribute;
    } asked[] = { { &major, CUDA_ATTRIBUTE_MAJOR },
                  { &minor, CUDA_ATTRIBUTE_MINOR },
                  { &self->n_multiprocessors, CUDA_ATTRIBUTE_MULTIPROCESSORS },
                  { &self->l2_bytes, CUDA_ATTRIBUTE_L2_BYTES } };
    for (gsize i = 0; i < G_N_ELEMENTS(asked); i++)
        if (!ifm_cuda_ok(api->cudart->cudaDeviceGetAttribute(asked[i].value, asked[i].attribute, self->device),
                         "cudaDeviceGetAttribute", error))
            return FALSE;
    self->capability = 10 * major + minor;
    return conv_cuda_check_gpu(api->cudart->version, self->capability, error);
}

/* Without a GPU both libraries say so, in one line. */
static gboolean open_gpu(IfmConvCuda *self, GError **error)
{
    const ConvCudaApi *api = self->api;
    g_autoptr(GError) local = NULL;
    const gboolean is_set = ifm_cuda_ok(api->cudart->cudaSetDevice(self->device), "cudaSetDevice", &local);
    if (is_set && !read_capability(self, error))
        return FALSE;
    if (!conv_cudnn_ok(api, api->cudnnCreate(&self->handle), "cudnnCreate", error))
    {
        self->handle = NULL;
        if (!is_set)
            g_prefix_error(error, "%s; ", local->message);
        return FALSE;
    }
    if (is_set)
        return conv_cuda_kernels_load(self, error);
    return ifm_error_pass(error, g_steal_pointer(&local));
}

IfmConvCuda *ifm_conv_cuda_open(int device, gboolean allows_tf32, GError **error)
{
    const ConvCudaApi *api = conv_cuda_api(error);
    if (api == NULL)
        return NULL;
    g_autoptr(IfmConvCuda) self = g_new0(IfmConvCuda, 1);
    self->api = api;
    self->device = device;
    if (!open_gpu(self, error))
        return NULL;
    self->allows_tf32 = allows_tf32 && self->capability >= CUDA_TF32_CAPABILITY;
    return g_steal_pointer(&self);
}

gboolean ifm_conv_cuda_allows_tf32(const IfmConvCuda *self)
{
    return self->allows_tf32;
}

IfmConvTuned *ifm_conv_cuda_tuned_key(const IfmConvCuda *self, const IfmConvShape *shape, const IfmConvOptions *options,
                                      const char *runtime)
{
    const gsize version = self->api->cudnnGetVersion();
    return conv_tuned_key(
        g_strdup_printf("GPU sm_%d, %d multiprocessors, %d KiB of L2%s", self->capability, self->n_multiprocessors,
                        self->l2_bytes / 1024, self->allows_tf32 ? ", TF32" : ""),
        g_strdup_printf("%s, cuDNN %" G_GSIZE_FORMAT ".%" G_GSIZE_FORMAT ".%" G_GSIZE_FORMAT ", inferometer %s", runtime,
                        version / 10000, version / 100 % 100, version % 100, IFM_VERSION),
        shape, options);
}

void ifm_conv_cuda_free(IfmConvCuda *self)
{
    if (self == NULL)
        return;
    if (self->handle != NULL)
        self->api->cudnnDestroy(self->handle);
    if (self->library != NULL)
        self->api->cudart->cudaLibraryUnload(self->library);
    if (self->workspace != NULL)
        self->api->cudart->cudaFree(self->workspace);
    g_free(self);
}

/* --- what is there
 * -------------------------------------------------------------------------------------------------------- */

char *ifm_conv_cuda_report(gboolean *is_complete)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    const ConvCudaApi *api = conv_cuda_api(&error);
    *is_complete = FALSE;
    if (api == NULL)
        return g_strdup_printf("missing  %s\n", error->message);
    int n_devices = 0, major = 0, minor = 0;
    const gsize version = api->cudnnGetVersion();
    api->nvrtcVersion(&major, &minor);
    g_string_append_printf(text, "found    CUDA runtime %d.%d (%s)\n", api->cudart->version / 1000,
                           api->cudart->version % 1000 / 10, api->cudart->file);
    g_string_append_printf(text,
                           "found    cuDNN %zu.%zu.%zu (%s)\n"
                           "found    NVRTC %d.%d (%s)\n",
                           version / 10000, version / 100 % 100, version % 100, api->cudnn_file, major, minor,
                           api->nvrtc_file);
    *is_complete = api->cudart->cudaGetDeviceCount(&n_devices) == 0 && n_devices > 0;
    for (int i = 0; i < MAX(n_devices, 1); i++)
    {
        g_clear_error(&error);
        g_autoptr(IfmConvCuda) cuda = ifm_conv_cuda_open(i, FALSE, &error);
        if (cuda != NULL)
            g_string_append_printf(text, "found    GPU %d, compute capability %d.%d\n", i, cuda->capability / 10,
                                   cuda->capability % 10);
        else
            g_string_append_printf(text, "missing  GPU %d: %s\n", i, error->message);
        *is_complete &= cuda != NULL;
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}
