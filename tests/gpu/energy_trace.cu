// Records what NVML says of a card's energy and power while a known load is switched on and off:
// the traces in tests/fixtures/energy, from which src/eval/energy.c was made and is tested.
//
//   nvcc -arch=sm_90 -o energy_trace tests/gpu/energy_trace.cu -ldl && ./energy_trace >trace.txt
//
// A row is written when the energy counter was seen to move, and every 20 ms:
//   seconds  counter mJ  power mW  average mW  instantaneous mW  calls of the load that are done
// A line "# NAME SECONDS" says when a phase began. The load is a copy of 1 GiB; its calls are done
// when their events say so. In phase "wave" it is on for a quarter of a period that is 4% longer
// than the counter's: a sensor that watches only part of its period sees the load come and go
// slowly, one that watches all of it sees the same power in every step.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                     \
    do {                                                                \
        cudaError_t e_ = (call);                                        \
        if (e_ != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_)); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

enum { N = 64 << 20 };  // float4

__global__ void copy(const float4 *x, float4 *y) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    y[i] = x[i];
}

__global__ void fill(float *x, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = (float)((i * 2654435761u) & 0xffffff) * 1e-7f - 0.8f;
}

// Arithmetic alone, to have a second level of power.
__global__ void multiply(float *y) {
    float a = threadIdx.x * 1e-3f, b = a + 1, c = a + 2, d = a + 3;
    for (int i = 0; i < 20000; i++) {
        a = a * 0.999f + 0.5f;
        b = b * 0.998f + 0.5f;
        c = c * 0.997f + 0.5f;
        d = d * 0.996f + 0.5f;
    }
    if (a + b + c + d == 12345)
        y[threadIdx.x] = a;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static volatile int load_kind, is_over;  // 0 none, 1 copy, 2 multiply
static volatile long n_done;
static float4 *from, *to;

static void *load(void *unused) {
    (void)unused;
    cudaEvent_t done[4];
    for (int i = 0; i < 4; i++)
        CHECK(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming | cudaEventBlockingSync));
    long n = 0;
    while (!is_over) {
        if (!load_kind) {
            CHECK(cudaDeviceSynchronize());
            n_done = n;
            while (!load_kind && !is_over)
                usleep(100);
            continue;
        }
        if (load_kind == 1)
            copy<<<N / 256, 256>>>(from, to);
        else
            multiply<<<132 * 8, 256>>>((float *)to);
        CHECK(cudaEventRecord(done[n++ % 4]));
        if (n >= 4)
            CHECK(cudaEventSynchronize(done[n % 4]));
        n_done = n > 3 ? n - 3 : 0;
    }
    return NULL;
}

struct field {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type, ret;
    union {
        double d;
        unsigned u;
        unsigned long long ull;
    } value;
};

typedef int (*energy_fn)(void *, unsigned long long *);
typedef int (*power_fn)(void *, unsigned *);
typedef int (*fields_fn)(void *, int, struct field *);

static void *device;
static energy_fn energy;
static power_fn power;
static fields_fn fields;
static double started;

static double milliwatts(const struct field *f) {
    return f->ret != 0    ? -1
           : f->type == 0 ? f->value.d
           : f->type == 3 ? (double)f->value.ull
                          : f->value.u;
}

static unsigned long long last_mj;
static double last_row, slowest, all_s;
static long n_calls;

static void watch(double until) {
    while (now() < until) {
        double t = now();
        unsigned long long mj = 0;
        energy(device, &mj);
        double took = now() - t;
        all_s += took, n_calls++;
        slowest = took > slowest ? took : slowest;
        if (mj != last_mj || t - last_row > 0.02) {
            unsigned mw = 0;
            struct field f[2] = {{185, 0}, {186, 0}};
            power(device, &mw);
            if (!fields || fields(device, 2, f) != 0)
                f[0].ret = f[1].ret = 1;
            printf("%.5f %llu %u %.0f %.0f %ld\n", t - started, mj, mw, milliwatts(&f[0]),
                   milliwatts(&f[1]), n_done);
            last_mj = mj, last_row = t;
        }
        usleep(500);
    }
}

static void phase(const char *name, int kind, double seconds) {
    load_kind = kind;
    printf("# %s %.5f\n", name, now() - started);
    watch(now() + seconds);
}

int main(void) {
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!nvml || ((int (*)(void))dlsym(nvml, "nvmlInit_v2"))() != 0)
        return fprintf(stderr, "no NVML\n"), 1;
    energy = (energy_fn)dlsym(nvml, "nvmlDeviceGetTotalEnergyConsumption");
    power = (power_fn)dlsym(nvml, "nvmlDeviceGetPowerUsage");
    fields = (fields_fn)dlsym(nvml, "nvmlDeviceGetFieldValues");
    char bus[32];
    struct cudaDeviceProp p;
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDeviceProperties(&p, 0));
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    if (((int (*)(const char *, void **))dlsym(nvml, "nvmlDeviceGetHandleByPciBusId_v2"))(
            bus, &device) != 0)
        return fprintf(stderr, "NVML does not know the card\n"), 1;
    CHECK(cudaMalloc(&from, N * sizeof *from));
    CHECK(cudaMalloc(&to, N * sizeof *to));
    fill<<<4 * N / 256, 256>>>((float *)from, 4ul * N);
    copy<<<N / 256, 256>>>(from, to);
    CHECK(cudaDeviceSynchronize());
    printf("# %s\n# seconds, counter mJ, power mW, average mW, instantaneous mW, calls done\n",
           p.name);
    started = now();
    pthread_t thread;
    pthread_create(&thread, NULL, load, NULL);
    phase("idle", 0, 1.5);
    phase("copy", 1, 4);
    phase("idle", 0, 2);
    phase("multiply", 2, 2);
    phase("idle", 0, 1);
    printf("# wave %.5f\n", now() - started);
    double start = now();
    for (int i = 0; i < 27; i++) {
        load_kind = 1;
        watch(start + i * 0.104 + 0.026);
        load_kind = 0;
        watch(start + (i + 1) * 0.104);
    }
    phase("idle", 0, 1);
    phase("copy", 1, 1.5);
    is_over = 1;
    pthread_join(thread, NULL);
    printf("# end %.5f, %ld readings, %.0f us each, slowest %.0f us\n", now() - started, n_calls,
           all_s / n_calls * 1e6, slowest * 1e6);
    return 0;
}
