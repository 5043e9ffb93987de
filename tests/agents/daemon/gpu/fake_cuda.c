/* A stand-in for libcuda.so.1 with one GPU of 10 SMs and 4 GiB, so that the real burn program runs without one.
   It checks the calls (a context must be current, the PTX must be PTX, addresses must be its own) and computes as the kernel would.
   FAKE_CUDA_NONE=1: no GPU. FAKE_CUDA_TFLOPS=x: its rate. FAKE_CUDA_WRONG=1: one thread reckons wrong. FAKE_CUDA_HANG=1: never
   done. FAKE_CUDA_MIB=n: so much memory is really there, the rest wraps around. FAKE_CUDA_SMALL=1: allocations fail early.
   FAKE_CUDA_RESIDUE=1: what nobody wrote holds something of before. FAKE_CUDA_STUCK=1: and the end of a piece keeps it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;
enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, NO_CONTEXT = 201, BAD_PTX = 218, NOT_FOUND = 500 };

#define TOTAL (4ULL << 30)
#define START (1ULL << 40)

static int has_context, loaded;
static uint64_t used;
static char *out_content;
static uint64_t out_at, out_size;
/* What was written, by address within the memory that is really there. */
static struct { uint64_t at, content; } cells[4096];
static int cell_count;
static struct { uint64_t at, size; } cleared[64];
static int cleared_count;

static uint64_t real_size(void) { const char *mib = getenv("FAKE_CUDA_MIB"); return mib ? strtoull(mib, 0, 10) << 20 : TOTAL; }

CUresult cuInit(unsigned flags) { (void)flags; return getenv("FAKE_CUDA_NONE") ? NO_DEVICE : OK; }
CUresult cuDeviceGet(int *device, int ordinal) { *device = 7; return ordinal == 0 ? OK : INVALID; }
CUresult cuGetErrorString(CUresult code, const char **text) {
    *text = code == NO_DEVICE ? "no CUDA-capable device is detected" : code == OUT_OF_MEMORY ? "out of memory" : "some error";
    return OK;
}
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = 10;
    return attribute == 16 && device == 7 ? OK : INVALID;
}
CUresult cuDevicePrimaryCtxRetain(void **context, int device) { *context = &has_context; return device == 7 ? OK : INVALID; }
CUresult cuDevicePrimaryCtxRelease_v2(int device) { has_context = 0; return device == 7 ? OK : INVALID; }
CUresult cuCtxSetCurrent(void *context) { has_context = context == &has_context; return has_context ? OK : INVALID; }
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    if (!has_context) return NO_CONTEXT;
    *free_bytes = TOTAL - (128ULL << 20) - used;
    *total = TOTAL;
    return OK;
}
CUresult cuMemAlloc_v2(CUdeviceptr *place, size_t size) {
    if (!has_context) return NO_CONTEXT;
    if (used + size > TOTAL || (getenv("FAKE_CUDA_SMALL") && used + size > (1ULL << 30))) return OUT_OF_MEMORY;
    *place = START + used;
    used += size;
    return OK;
}
CUresult cuMemFree_v2(CUdeviceptr place) {
    if (!has_context || place < START) return INVALID;
    used = 0; /* the program frees all or nothing */
    return OK;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr place, const void *from, size_t size) {
    if (!has_context || place < START || place + size > START + used || size != 8 || cell_count == 4096) return INVALID;
    cells[cell_count].at = (place - START) % real_size();
    memcpy(&cells[cell_count++].content, from, 8);
    return OK;
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr place, size_t size) {
    if (!has_context || place < START || place + size > START + TOTAL) return INVALID;
    if (out_content && place == out_at && size <= out_size) { memcpy(to, out_content, size); return OK; }
    memset(to, getenv("FAKE_CUDA_RESIDUE") ? 0xa5 : 0, size); /* what the last one left there */
    for (int n = 0; n < cleared_count; n++)
        if (place >= cleared[n].at && place + size <= cleared[n].at + cleared[n].size) memset(to, 0, size);
    for (int n = 0; n < cell_count; n++) /* the last writer wins */
        if (cells[n].at == (place - START) % real_size()) memcpy(to, &cells[n].content, 8);
    return OK;
}
CUresult cuMemsetD8_v2(CUdeviceptr place, unsigned char value, size_t size) {
    if (!has_context || value != 0 || place < START || place + size > START + used || cleared_count == 64) return INVALID;
    cleared[cleared_count].at = place;
    cleared[cleared_count++].size = getenv("FAKE_CUDA_STUCK") ? size - 8 : size;
    return OK;
}
CUresult cuModuleLoadData(void **module, const void *image) {
    if (!has_context) return NO_CONTEXT;
    const char *text = image;
    if (strncmp(text, ".version", 8) || !strstr(text, ".entry burn(") || !strstr(text, "fma.rn.f32")) return BAD_PTX;
    loaded = 1;
    *module = &loaded;
    return OK;
}
CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    if (module != &loaded || strcmp(name, "burn")) return NOT_FOUND;
    *function = &loaded;
    return OK;
}
CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **arguments, void **extra) {
    if (function != &loaded || gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || stream || extra) return INVALID;
    uint64_t out = *(uint64_t *)arguments[0];
    uint32_t rounds = *(uint32_t *)arguments[1];
    float factor = *(float *)arguments[2], addend = *(float *)arguments[3], sum = 0;
    if (out < START || rounds == 0) return INVALID;
    for (int chain = 0; chain < 8; chain++) {
        float a = (float)chain;
        for (int step = 0; step < 64; step++) a = a * factor + addend; /* settled long before */
        sum += a;
    }
    uint64_t threads = (uint64_t)gx * bx;
    out_at = out;
    out_size = threads * 4;
    out_content = realloc(out_content, out_size);
    for (uint64_t n = 0; n < threads; n++) ((float *)out_content)[n] = sum;
    if (getenv("FAKE_CUDA_WRONG")) ((float *)out_content)[threads / 2] += 1;
    const char *rate = getenv("FAKE_CUDA_TFLOPS");
    double seconds = (double)threads * rounds * 8 * 16 * 2 / ((rate ? atof(rate) : 5.0) * 1e12);
    struct timespec pause = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&pause, 0);
    return OK;
}
CUresult cuCtxSynchronize(void) {
    while (getenv("FAKE_CUDA_HANG")) pause();
    return OK;
}
