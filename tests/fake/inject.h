// The half of profiling that is the driver's: it loads the library that CUDA_INJECTION64_PATH
// names, and the fake CUPTI hears of contexts, modules and launches.
#pragma once

#include <dlfcn.h>

static void *fake_cupti(const char *name) {
    void *lib = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    return lib ? dlsym(lib, name) : NULL;
}

static void load_injection(void) {
    static int is_done;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *lib = path && !is_done ? dlopen(path, RTLD_NOW) : NULL;
    int (*start)(void) = lib ? dlsym(lib, "InitializeInjection") : NULL;
    is_done = 1;
    if (start)
        start();
}

static void tell_context(void) {
    void (*tell)(void *) = fake_cupti("fake_cupti_context");
    static int is_told;
    if (tell && !is_told)
        tell((void *)1);
    is_told = 1;
}

// An ELF file ends with its table of sections.
static void tell_module(const char *image) {
    void (*tell)(const char *, size_t) = fake_cupti("fake_cupti_module");
    if (tell)
        tell(image, *(const uint64_t *)(image + 40) + (size_t) * (const uint16_t *)(image + 58) *
                                                          *(const uint16_t *)(image + 60));
}

static void tell_call(unsigned id, int site) {
    void (*tell)(unsigned, void *, int) = fake_cupti("fake_cupti_call");
    if (tell)
        tell(id, (void *)1, site);
}

static void tell_launch(unsigned id, const char *name, const void *params, int site) {
    void (*tell)(unsigned, const char *, const void *, void *, int) =
        fake_cupti("fake_cupti_launch");
    if (tell)
        tell(id, name, params, (void *)1, site);
}
