/* NVML: the total energy of a GPU in mJ, and its power. The library is opened at run time and never closed. */
#include "energy-private.h"
#include <base/base.h>
#include <dlfcn.h>

#define UJ_PER_MJ 1000
#define FIELD_POWER_INSTANT 186 /* NVML_FI_DEV_POWER_INSTANT, mW */
#define VALUE_UNSIGNED_INT 1    /* NVML_VALUE_TYPE_UNSIGNED_INT */

#define PCI_ID_SIZE 32

#define ERROR_UNKNOWN 999 /* NVML_ERROR_UNKNOWN */

/* nvmlFieldValue_t of nvml.h */
typedef struct FieldValue
{
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, result;
    union
    {
        double real;
        unsigned ui;
        unsigned long long ull;
    } value;
} FieldValue;

typedef struct Nvml
{
    void *library;
    gpointer device;
    gboolean started;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*by_pci)(const char *pci_id, gpointer *device);
    int (*total_energy)(gpointer device, unsigned long long *energy_mj); /* (nullable) */
    int (*field_values)(gpointer device, int n, FieldValue *values);     /* (nullable) */
    int (*power_usage)(gpointer device, unsigned *power_mw);
    gboolean has_instant;
} Nvml;

static void nvml_close(gpointer state)
{
    Nvml *nvml = state;
    if (nvml->started)
        nvml->shutdown();
    g_free(nvml);
}

static gboolean refuse(const Nvml *nvml, const char *call, int result, GError **error)
{
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "NVML: %s: %s (%d)", call, nvml->error_string(result), result);
    ifm_error_make_one_line(error);
    return FALSE;
}

static gboolean load(Nvml *nvml, const char *path, GError **error)
{
    nvml->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "NVML: %s", dlerror());
        ifm_error_make_one_line(error);
        return FALSE;
    }
    const struct
    {
        const char *name;
        gpointer slot;
        gboolean optional;
    } symbols[] = {
        { "nvmlInit_v2", &nvml->init },
        { "nvmlShutdown", &nvml->shutdown },
        { "nvmlErrorString", &nvml->error_string },
        { "nvmlDeviceGetHandleByPciBusId_v2", &nvml->by_pci },
        { "nvmlDeviceGetTotalEnergyConsumption", &nvml->total_energy, .optional = TRUE },
        { "nvmlDeviceGetFieldValues", &nvml->field_values, .optional = TRUE },
        { "nvmlDeviceGetPowerUsage", &nvml->power_usage },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(symbols); i++)
    {
        gpointer symbol = dlsym(nvml->library, symbols[i].name);
        *(gpointer *)symbols[i].slot = symbol;
        if (symbol != NULL || symbols[i].optional)
            continue;
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "NVML: %s has no %s", path, symbols[i].name);
    }
    return TRUE;
}

static gboolean read_instant(const Nvml *nvml, double *power_w)
{
    FieldValue value = { .field = FIELD_POWER_INSTANT };
    if (nvml->field_values == NULL || nvml->field_values(nvml->device, 1, &value) != 0 || value.result != 0 ||
        value.type != VALUE_UNSIGNED_INT)
        return FALSE;
    *power_w = value.value.ui * 1e-3;
    return TRUE;
}

/* What CUDA calls device 0 is the fastest one, or the first that CUDA_VISIBLE_DEVICES names: NVML knows nothing of either.
 * @pci_id: (out) "0000:65:00.0" */
static gboolean find_pci_id(const char *path, int index, char pci_id[PCI_ID_SIZE], GError **error)
{
    void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = NULL, (*get)(int *, int) = NULL, (*get_id)(char *, int, int) = NULL, device = 0;
    if (driver == NULL)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "NVML: which GPU it is: %s", dlerror());
        ifm_error_make_one_line(error);
        return FALSE;
    }
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&get = dlsym(driver, "cuDeviceGet");
    *(void **)&get_id = dlsym(driver, "cuDeviceGetPCIBusId");
    const gboolean good = init != NULL && get != NULL && get_id != NULL && init(0) == 0 && get(&device, index) == 0 &&
                          get_id(pci_id, PCI_ID_SIZE, device) == 0;
    dlclose(driver);
    return good || ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "NVML: CUDA has no GPU %d", index);
}

static gboolean find_device(Nvml *nvml, const IfmEnergyOptions *options, GError **error)
{
    char pci_id[PCI_ID_SIZE] = "";
    int result = nvml->init();
    if (result != 0)
        return refuse(nvml, "nvmlInit_v2", result, error);
    nvml->started = TRUE;
    if (!find_pci_id(options->cuda_library != NULL ? options->cuda_library : "libcuda.so.1", options->cuda_device, pci_id,
                     error))
        return FALSE;
    result = nvml->by_pci(pci_id, &nvml->device);
    return result == 0 || refuse(nvml, pci_id, result, error);
}

static gpointer nvml_open(const IfmEnergyOptions *options, GPtrArray *parts, GError **error)
{
    Nvml *nvml = g_new0(Nvml, 1);
    unsigned long long energy_mj;
    unsigned power_mw;
    double power_w;
    if (!load(nvml, options->nvml_library != NULL ? options->nvml_library : "libnvidia-ml.so.1", error) ||
        !find_device(nvml, options, error))
    {
        nvml_close(nvml);
        return NULL;
    }
    int result = nvml->total_energy != NULL ? nvml->total_energy(nvml->device, &energy_mj) : -1;
    nvml->has_instant = read_instant(nvml, &power_w);
    EnergyPart *part = energy_part_add(parts, g_strdup("gpu"), TRUE);
    part->step_uj = UJ_PER_MJ;
    part->has_counter = result == 0;
    part->has_power = nvml->has_instant || nvml->power_usage(nvml->device, &power_mw) == 0;
    if (!part->has_counter && !part->has_power)
        part->unavailable = g_strdup("NVML: the device shows neither total energy nor power");
    return nvml;
}

/* Where there is no POWER_INSTANT: nvmlDeviceGetPowerUsage, which is a mean over 1 s on most devices. */
static gboolean nvml_read(gpointer state, const EnergyPart *part, gint64 elapsed_ns, EnergySample *sample, GError **error)
{
    const Nvml *nvml = state;
    unsigned long long energy_mj = 0;
    unsigned power_mw = 0;
    int result = part->has_counter ? nvml->total_energy(nvml->device, &energy_mj) : 0;
    if (result != 0)
        return refuse(nvml, "nvmlDeviceGetTotalEnergyConsumption", result, error);
    sample->counter_uj = energy_mj * UJ_PER_MJ;
    if (!part->has_power)
        return TRUE;
    if (nvml->has_instant)
        return read_instant(nvml, &sample->power_w) || refuse(nvml, "POWER_INSTANT", ERROR_UNKNOWN, error);
    result = nvml->power_usage(nvml->device, &power_mw);
    sample->power_w = power_mw * 1e-3;
    return result == 0 || refuse(nvml, "nvmlDeviceGetPowerUsage", result, error);
}

const EnergyKind energy_nvml = { .name = "nvml", .open = nvml_open, .read = nvml_read, .close = nvml_close };
