#include <dlfcn.h>
#include <stdlib.h>

#include <onnxruntime_c_api.h>

/* The ONNX Runtime that $IFM_TEST_REAL names, which says that it is another version. */

static const OrtApiBase *real(void)
{
    void *library = dlopen(getenv("IFM_TEST_REAL"), RTLD_NOW | RTLD_LOCAL);
    const OrtApiBase *(*get)(void) = NULL;
    *(void **)&get = dlsym(library, "OrtGetApiBase");
    return get();
}

static const OrtApi *get_api(uint32_t version)
{
    return real()->GetApi(version);
}

static const char *get_version(void)
{
    return "1.999.0";
}

__attribute__((visibility("default"))) const OrtApiBase *OrtGetApiBase(void)
{
    static const OrtApiBase base = { get_api, get_version };
    return &base;
}
