/* A stand-in for libnvidia-ml.so.1 with two GPUs, so that the real probe runs without one.
   FAKE_NVML_LOST=n: the second has fallen off the bus (15), or answers with this error (999: Unknown Error).
   FAKE_NVML_REMAP=1: its memory rows cannot be remapped. FAKE_NVML_PENDING=1: one waits for a reset.
   FAKE_NVML_ECC=n, FAKE_NVML_RETIRED=1, FAKE_NVML_MIG=1, FAKE_NVML_THROTTLE=mask: what else can be the matter with it.
   FAKE_NVML_NVLINK=n: so many of the GPUs have an active NVLink. FAKE_NVML_PROCESSES=n: programs that compute on the first.
   FAKE_NVML_XIDS=0:31,1:79: errors that the driver tells of, one at each wait; then there is nothing but silence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int nvmlReturn_t;
typedef struct { int index; } *nvmlDevice_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, LOST = 15 };

static struct { int index; } devices[2] = {{0}, {1}};

nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { (void)flags; return getenv("FAKE_NVML_NO_DRIVER") ? 9 : OK; }
nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
nvmlReturn_t nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(nvmlReturn_t code) {
    return code == LOST ? "GPU is lost" : code == 999 ? "Unknown Error" : "Some error";
}
nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned int size) { snprintf(text, size, "560.35.03"); return OK; }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12060; return OK; }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return OK; }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    if (index > 1) return INVALID;
    if (index == 1 && getenv("FAKE_NVML_LOST")) return atoi(getenv("FAKE_NVML_LOST")) > 1 ? atoi(getenv("FAKE_NVML_LOST")) : LOST;
    *device = (nvmlDevice_t)&devices[index];
    return OK;
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *text, unsigned int size) {
    snprintf(text, size, "GPU-0000000%d-aaaa-bbbb-cccc-dddddddddddd", device->index);
    return OK;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *text, unsigned int size) {
    snprintf(text, size, device->index ? "Tesla T4" : "NVIDIA GeForce RTX 4090");
    return OK;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    memory->total = (device->index ? 15360ULL : 24564ULL) << 20;
    memory->used = 1000ULL << 20;
    memory->free = memory->total - memory->used;
    return OK;
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *generation) {
    *generation = device->index ? 3 : 4;
    return OK;
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *width) { (void)device; *width = 16; return OK; }
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *a, unsigned int *b, unsigned int *pending, unsigned int *failed) {
    if (device->index == 0) return NOT_SUPPORTED;
    *a = *b = 0;
    *pending = getenv("FAKE_NVML_PENDING") != NULL;
    *failed = getenv("FAKE_NVML_REMAP") != NULL;
    return OK;
}
static unsigned long long told(nvmlDevice_t device, const char *name) {
    return device->index == 1 && getenv(name) ? strtoull(getenv(name), NULL, 0) : 0;
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int kind, int counter, unsigned long long *errors) {
    if (device->index == 0) return NOT_SUPPORTED;
    *errors = kind == 1 && counter == 0 ? told(device, "FAKE_NVML_ECC") : 0;
    return OK;
}
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, int *pending) {
    *pending = (int)told(device, "FAKE_NVML_RETIRED");
    return OK;
}
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *now, unsigned int *next) {
    if (device->index == 0) return NOT_SUPPORTED;
    *now = *next = (unsigned int)told(device, "FAKE_NVML_MIG");
    return OK;
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons) {
    *reasons = told(device, "FAKE_NVML_THROTTLE");
    return OK;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *use) {
    use->gpu = 90 + device->index;
    use->memory = 10;
    return OK;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *degrees) {
    (void)device; (void)sensor;
    *degrees = 71;
    return OK;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts) {
    if (device->index == 1) return NOT_SUPPORTED;
    *milliwatts = 410500;
    return OK;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, unsigned int *active) {
    const char *linked = getenv("FAKE_NVML_NVLINK");
    if (!linked) return NOT_SUPPORTED;
    if (link > 3) return INVALID;
    *active = link == 3 && device->index < atoi(linked);
    return OK;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count, void *processes) {
    unsigned int running = device->index == 0 && getenv("FAKE_NVML_PROCESSES") ? atoi(getenv("FAKE_NVML_PROCESSES")) : 0;
    if (running == 0) { *count = 0; return OK; }
    if (*count < running || !processes) { *count = running; return 7; }
    memset(processes, 0, running * 24);
    *count = running;
    return OK;
}
nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int *cores) {
    if (device->index == 1) return NOT_SUPPORTED;
    *cores = 16384;
    return OK;
}
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, int kind, unsigned int *megahertz) {
    (void)device;
    *megahertz = 2520;
    return kind == 1 ? OK : INVALID;
}
typedef struct { nvmlDevice_t device; unsigned long long type, data; unsigned int gpu, compute; } nvmlEventData_t;
static const char *xids;

nvmlReturn_t nvmlEventSetCreate(void **set) { *set = &xids; xids = getenv("FAKE_NVML_XIDS"); return OK; }
nvmlReturn_t nvmlEventSetFree(void *set) { (void)set; return OK; }
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, void *set) {
    (void)device; (void)set;
    return types == 8 ? OK : INVALID;
}
nvmlReturn_t nvmlEventSetWait_v2(void *set, nvmlEventData_t *event, unsigned int timeout_ms) {
    (void)set; (void)timeout_ms;
    if (!xids || !*xids) return 10;
    memset(event, 0, sizeof *event);
    event->device = (nvmlDevice_t)&devices[atoi(xids)];
    event->type = 8;
    event->data = strtoull(strchr(xids, ':') + 1, NULL, 10);
    xids = strchr(xids, ',') ? strchr(xids, ',') + 1 : "";
    return OK;
}
