/* A provider of ONNX Runtime's that passes for NVIDIA's: it lists the processor as its device, once libcurand is open. */
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

static const OrtApi *api;

static const char *ORT_API_CALL get_name(const OrtEpFactory *self) NO_EXCEPTION
{
    return "CUDAExecutionProvider";
}

static const char *ORT_API_CALL get_vendor(const OrtEpFactory *self) NO_EXCEPTION
{
    return "";
}

static uint32_t ORT_API_CALL get_vendor_id(const OrtEpFactory *self) NO_EXCEPTION
{
    return 0;
}

static const char *ORT_API_CALL get_version(const OrtEpFactory *self) NO_EXCEPTION
{
    return "0.1.0";
}

static OrtStatus *ORT_API_CALL get_devices(OrtEpFactory *self, const OrtHardwareDevice *const *devices, size_t n_devices,
                                           OrtEpDevice **found, size_t n_max, size_t *n_found) NO_EXCEPTION
{
    *n_found = 0;
    OrtStatus *status = NULL;
    if (n_devices > 0 && n_max > 0)
        status = api->GetEpApi()->CreateEpDevice(self, devices[0], NULL, NULL, &found[0]);
    *n_found = n_devices > 0 && n_max > 0 && status == NULL ? 1 : 0;
    return status;
}

static OrtStatus *ORT_API_CALL create_data_transfer(OrtEpFactory *self, OrtDataTransferImpl **made) NO_EXCEPTION
{
    *made = NULL;
    return NULL;
}

static OrtEpFactory factory = { .ort_version_supported = ORT_API_VERSION,
                                .GetName = get_name,
                                .GetVendor = get_vendor,
                                .GetVendorId = get_vendor_id,
                                .GetVersion = get_version,
                                .GetSupportedDevices = get_devices,
                                .CreateDataTransfer = create_data_transfer };

OrtStatus *CreateEpFactories(const char *, const OrtApiBase *, const OrtLogger *, OrtEpFactory **, size_t, size_t *);
OrtStatus *ReleaseEpFactory(OrtEpFactory *);

__attribute__((visibility("default"))) OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base,
                                                                    const OrtLogger *logger, OrtEpFactory **factories,
                                                                    size_t n_max, size_t *n_made)
{
    api = base->GetApi(ORT_API_VERSION);
    *n_made = 0;
    if (dlopen("libcurand.so.10", RTLD_NOW | RTLD_NOLOAD) == NULL)
        return api->CreateStatus(ORT_FAIL, "libcurand.so.10 is not open");
    factories[0] = &factory;
    *n_made = 1;
    return NULL;
}

__attribute__((visibility("default"))) OrtStatus *ReleaseEpFactory(OrtEpFactory *self)
{
    return NULL;
}
