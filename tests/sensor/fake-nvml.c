/* A libnvidia-ml.so.1 with one GPU, which the test sets by fake_nvml, and a libcuda.so.1 with two: CUDA's second is that
 * one.
 */
#include <stdio.h>
#include <string.h>

struct FakeNvml
{
    unsigned long long energy_mj;
    unsigned power_mw, instant_mw;
    int counter_result, instant_result, power_result, init_result;
} fake_nvml;

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int index);
int cuDeviceGetPCIBusId(char *id, int size, int device);
int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlDeviceGetHandleByPciBusId_v2(const char *pci_id, void **device);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy_mj);
int nvmlDeviceGetPowerUsage(void *device, unsigned *power_mw);
struct Field
{
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, result;
    unsigned long long value;
};
int nvmlDeviceGetFieldValues(void *device, int n, struct Field *fields);

int cuInit(unsigned flags)
{
    return flags == 0 ? 0 : 1;
}

int cuDeviceGet(int *device, int index)
{
    *device = 70 + index;
    return index < 2 ? 0 : 101;
}

int cuDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "%s", device == 71 ? "0000:65:00.0" : "0000:66:00.0");
    return 0;
}

int nvmlInit_v2(void)
{
    return fake_nvml.init_result;
}

int nvmlShutdown(void)
{
    return 0;
}

const char *nvmlErrorString(int result)
{
    return result == 15 ? "GPU is lost" : "Not Supported";
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci_id, void **device)
{
    *device = &fake_nvml;
    return strcmp(pci_id, "0000:65:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy_mj)
{
    *energy_mj = ((struct FakeNvml *)device)->energy_mj;
    return fake_nvml.counter_result;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *power_mw)
{
    *power_mw = ((struct FakeNvml *)device)->power_mw;
    return fake_nvml.power_result;
}

int nvmlDeviceGetFieldValues(void *device, int n, struct Field *fields)
{
    for (int i = 0; i < n; i++)
    {
        fields[i].result = fields[i].field == 186 ? ((struct FakeNvml *)device)->instant_result : 3;
        fields[i].type = 1;
        fields[i].value = fake_nvml.instant_mw;
    }
    return 0;
}
