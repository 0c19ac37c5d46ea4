/* The CUDA runtime and cuBLAS, opened at run time. */
#include <dlfcn.h>
#include <string.h>

#include "cuda.h"

#define HOW_TO_GET "\"setup/install cuda\" gets it"

#define X(type, name, parameters) { #name, G_STRUCT_OFFSET(IfmCudart, name) },
static const IfmCudaSymbol cudart_symbols[] = { CUDART_SYMBOLS(X){ NULL, 0 } };
#undef X
#define X(type, name, parameters) { #name, G_STRUCT_OFFSET(IfmCublas, name) },
static const IfmCudaSymbol cublas_symbols[] = { CUBLAS_SYMBOLS(X){ NULL, 0 } };
#undef X

/* ONNX Runtime's provider may have the library open already; else it lies with cuDNN, or where the loader finds it. */
static void *open_library(const char *file)
{
    g_autofree char *cudnn = ifm_path_runtime("cuda"), *folder = g_path_get_dirname(cudnn),
                    *path = g_build_filename(folder, file, NULL);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library == NULL && g_path_is_absolute(path) && !g_path_is_absolute(file))
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library != NULL ? library : dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

gboolean ifm_cuda_fill(void *table, const char *file, const IfmCudaSymbol *symbols, GError **error)
{
    void *library = open_library(file);
    if (library == NULL)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "CUDA: %s is missing: " HOW_TO_GET, file);
    for (; symbols->name != NULL; symbols++)
    {
        void *found = dlsym(library, symbols->name);
        if (found == NULL)
            return ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                                 "CUDA: %s has no %s: another version is needed (" HOW_TO_GET ")", file, symbols->name);
        memcpy((char *)table + symbols->offset, &found, sizeof found);
    }
    return TRUE;
}

static IfmCudart cudart;

static gboolean open_cudart(GError **error)
{
    static const char *const files[] = { "libcudart.so.13", "libcudart.so.12" };
    cudart.file = files[open_library(files[0]) == NULL && open_library(files[1]) != NULL];
    return ifm_cuda_fill(&cudart, cudart.file, cudart_symbols, error) &&
           ifm_cuda_ok(cudart.cudaRuntimeGetVersion(&cudart.version), "cudaRuntimeGetVersion", error);
}

const IfmCudart *ifm_cudart(GError **error)
{
    static GError *trouble;
    static gsize once;
    if (g_once_init_enter(&once))
        g_once_init_leave(&once, open_cudart(&trouble) ? 1 : 2);
    if (once == 1)
        return &cudart;
    g_propagate_error(error, g_error_copy(trouble));
    return NULL;
}

const IfmCublas *ifm_cublas(GError **error)
{
    static IfmCublas cublas;
    if (ifm_cudart(error) == NULL)
        return NULL;
    g_autofree char *file = g_strdup_printf("libcublas.so.%d", cudart.version / 1000);
    return ifm_cuda_fill(&cublas, file, cublas_symbols, error) ? &cublas : NULL;
}

gboolean ifm_cuda_ok(int status, const char *call, GError **error)
{
    if (status == 0)
        return TRUE;
    ifm_error_set(error, status == CUDA_OUT_OF_MEMORY ? IFM_ERROR_MEMORY : IFM_ERROR_FAILED, "CUDA: %s: %s (%d)", call,
                  cudart.cudaGetErrorString(status), status);
    cudart.cudaGetLastError(); /* else the next call would return it, too */
    return FALSE;
}
