/* A provider of ONNX Runtime's that passes for NVIDIA's: it lists the processor as its device, once libcurand is open.
 * It takes the nodes of the domain inferometer, which then run on the processor. With IFM_TEST_DEVICE_MEMORY it has
 * memory of its own, which no processor would see on a GPU: each copy there and back is counted in
 * fake_provider_copies. */
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdlib.h>
#include <string.h>

static const OrtApi *api;
static OrtMemoryInfo *memory; /* NULL: the processor's */

__attribute__((visibility("default"))) int fake_provider_copies[2]; /* to the device, from it */

/* --- its memory --------------------------------------------------------------------------------------------------- */

static void *ORT_API_CALL allocate(OrtAllocator *self, size_t size)
{
    return malloc(size > 0 ? size : 1);
}

static void ORT_API_CALL release(OrtAllocator *self, void *at)
{
    free(at);
}

static const OrtMemoryInfo *ORT_API_CALL info_of(const OrtAllocator *self)
{
    return memory;
}

static OrtAllocator allocator = {
    .version = ORT_API_VERSION, .Alloc = allocate, .Free = release, .Info = info_of, .Reserve = allocate
};

static OrtStatus *ORT_API_CALL create_allocator(OrtEpFactory *self, const OrtMemoryInfo *info,
                                                const OrtKeyValuePairs *options, OrtAllocator **made) NO_EXCEPTION
{
    *made = &allocator;
    return NULL;
}

static void ORT_API_CALL release_allocator(OrtEpFactory *self, OrtAllocator *made) NO_EXCEPTION
{
}

static bool is_device(const OrtMemoryDevice *device)
{
    return api->GetEpApi()->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_GPU;
}

static bool ORT_API_CALL can_copy(const OrtDataTransferImpl *self, const OrtMemoryDevice *from,
                                  const OrtMemoryDevice *to) NO_EXCEPTION
{
    return is_device(from) || is_device(to);
}

static OrtStatus *ORT_API_CALL copy_tensors(OrtDataTransferImpl *self, const OrtValue **from, OrtValue **to,
                                            OrtSyncStream **streams, size_t n) NO_EXCEPTION
{
    OrtStatus *status = NULL;
    for (size_t i = 0; i < n && status == NULL; i++)
    {
        const void *source = NULL;
        void *target = NULL;
        size_t bytes = 0;
        fake_provider_copies[is_device(api->GetEpApi()->Value_GetMemoryDevice(to[i])) ? 0 : 1]++;
        status = api->GetTensorData(from[i], &source);
        if (status == NULL)
            status = api->GetTensorMutableData(to[i], &target);
        if (status == NULL)
            status = api->GetTensorSizeInBytes(from[i], &bytes);
        if (status == NULL)
            memcpy(target, source, bytes);
    }
    return status;
}

static void ORT_API_CALL release_transfer(OrtDataTransferImpl *self) NO_EXCEPTION
{
}

static OrtDataTransferImpl transfer = {
    .ort_version_supported = ORT_API_VERSION, .Release = release_transfer, .CanCopy = can_copy, .CopyTensors = copy_tensors
};

static OrtStatus *ORT_API_CALL create_data_transfer(OrtEpFactory *self, OrtDataTransferImpl **made) NO_EXCEPTION
{
    *made = memory != NULL ? &transfer : NULL;
    return NULL;
}

/* --- a session's provider ----------------------------------------------------------------------------------------- */

static const char *ORT_API_CALL ep_name(const OrtEp *self) NO_EXCEPTION
{
    return "CUDAExecutionProvider";
}

static OrtStatus *ORT_API_CALL get_capability(OrtEp *self, const OrtGraph *graph, OrtEpGraphSupportInfo *info) NO_EXCEPTION
{
    size_t n = 0;
    OrtStatus *status = api->Graph_GetNumNodes(graph, &n);
    const OrtNode **nodes = calloc(n + 1, sizeof(*nodes));
    if (status == NULL)
        status = api->Graph_GetNodes(graph, nodes, n);
    for (size_t i = 0; i < n && status == NULL; i++)
    {
        const char *domain = NULL;
        status = api->Node_GetDomain(nodes[i], &domain);
        if (status == NULL && domain != NULL && strcmp(domain, "inferometer") == 0)
            status = api->GetEpApi()->EpGraphSupportInfo_AddSingleNode(info, nodes[i]);
    }
    free(nodes);
    return status;
}

static OrtStatus *ORT_API_CALL compile(OrtEp *self, const OrtGraph **graphs, const OrtNode **nodes, size_t n,
                                       OrtNodeComputeInfo **made, OrtNode **contexts) NO_EXCEPTION
{
    return api->CreateStatus(ORT_FAIL, "nothing was to be compiled");
}

static void ORT_API_CALL release_infos(OrtEp *self, OrtNodeComputeInfo **made, size_t n) NO_EXCEPTION
{
}

static OrtEp provider = { .ort_version_supported = ORT_API_VERSION,
                          .GetName = ep_name,
                          .GetCapability = get_capability,
                          .Compile = compile,
                          .ReleaseNodeComputeInfos = release_infos };

static OrtStatus *ORT_API_CALL create_ep(OrtEpFactory *self, const OrtHardwareDevice *const *devices,
                                         const OrtKeyValuePairs *const *metadata, size_t n,
                                         const OrtSessionOptions *options, const OrtLogger *logger,
                                         OrtEp **made) NO_EXCEPTION
{
    *made = &provider;
    return NULL;
}

static void ORT_API_CALL release_ep(OrtEpFactory *self, OrtEp *made) NO_EXCEPTION
{
}

/* --- its factory -------------------------------------------------------------------------------------------------- */

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
    if (status == NULL && memory != NULL)
        status = api->GetEpApi()->EpDevice_AddAllocatorInfo(found[0], memory);
    *n_found = n_devices > 0 && n_max > 0 && status == NULL ? 1 : 0;
    return status;
}

static bool ORT_API_CALL is_stream_aware(const OrtEpFactory *self) NO_EXCEPTION
{
    return false;
}

static OrtEpFactory factory = { .ort_version_supported = ORT_API_VERSION,
                                .GetName = get_name,
                                .GetVendor = get_vendor,
                                .GetVendorId = get_vendor_id,
                                .GetVersion = get_version,
                                .GetSupportedDevices = get_devices,
                                .CreateEp = create_ep,
                                .ReleaseEp = release_ep,
                                .CreateAllocator = create_allocator,
                                .ReleaseAllocator = release_allocator,
                                .CreateDataTransfer = create_data_transfer,
                                .IsStreamAware = is_stream_aware };

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
    OrtStatus *status = NULL;
    if (getenv("IFM_TEST_DEVICE_MEMORY") != NULL)
        status = api->CreateMemoryInfo_V2("Cuda", OrtMemoryInfoDeviceType_GPU, 0x10de, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                          OrtDeviceAllocator, &memory);
    factories[0] = &factory;
    *n_made = status == NULL ? 1 : 0;
    return status;
}

__attribute__((visibility("default"))) OrtStatus *ReleaseEpFactory(OrtEpFactory *self)
{
    return NULL;
}
