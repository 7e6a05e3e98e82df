// cuda-program CUBIN LAUNCHES END: a CUDA program for tests of `hone profile`: it loads a cubin,
// launches two kernels of it, says so, and ends in one of many ways: a number is its exit status,
// `_exit`, `segv`, `hang`, `fork` (the child launches too), `none` (no launch at all), `static` (it
// does not use the driver).
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*init)(unsigned);
static int (*retain)(void **, int);
static int (*load)(void **, const void *);
static int (*get)(void **, void *, const char *);
static int (*allocate)(uint64_t *, size_t);
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     void *, void **, void **);

static void open_driver(void) {
    char path[1024];
    const char *home = getenv("CUDA_HOME");
    snprintf(path, sizeof path, "%s/lib64/libcuda.so.1", home ? home : ".");
    void *lib = dlopen(path, RTLD_NOW);
    if (!lib) {
        puts(dlerror());
        exit(9);
    }
    *(void **)&init = dlsym(lib, "cuInit");
    *(void **)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
    *(void **)&load = dlsym(lib, "cuModuleLoadData");
    *(void **)&get = dlsym(lib, "cuModuleGetFunction");
    *(void **)&allocate = dlsym(lib, "cuMemAlloc_v2");
    *(void **)&launch = dlsym(lib, "cuLaunchKernel");
}

static char *read_cubin(const char *path) {
    static char bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f || fread(bytes, 1, sizeof bytes, f) == 0)
        exit(9);
    fclose(f);
    return bytes;
}

static void work(const char *cubin, int n) {
    static float x[1000], y[1000];
    void *context, *module, *kernels[2], *px = x, *py = y, *args[] = {&px, &py};
    uint64_t held;
    if (init(0) || retain(&context, 0) || allocate(&held, 3 << 20) ||
        load(&module, read_cubin(cubin)) || get(&kernels[0], module, "flight_sick") ||
        get(&kernels[1], module, "narrow_sick"))
        exit(9);
    // Of many launches each is small: the driver that is not there runs every thread.
    unsigned blocks = n > 1000 ? 1 : 1000, threads = n > 1000 ? 1 : 256;
    for (int i = 0; i < n; i++)
        launch(kernels[i % 4 == 3], blocks, 1, 1, threads, 1, 1, 0, NULL, args, NULL);
}

int main(int argc, char **argv) {
    const char *end = argc > 3 ? argv[3] : "0";
    int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 8;
    if (strcmp(end, "static") == 0)
        return puts("nothing of CUDA") < 0;
    open_driver();
    if (strcmp(end, "fork") == 0 && fork() != 0) {
        int status;
        wait(&status);
    }
    work(argv[1], strcmp(end, "none") == 0 ? 0 : n);
    printf("%d launches\n", n);
    fflush(stdout);
    if (strcmp(end, "_exit") == 0)
        _exit(5);
    if (strcmp(end, "segv") == 0)
        raise(SIGSEGV);
    while (strcmp(end, "hang") == 0)
        pause();
    return (int)strtol(end, NULL, 10);
}
