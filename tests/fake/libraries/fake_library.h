// Libraries over the driver that is not there: a call is put into the fake driver's stream, so that
// a capture keeps it and a graph replays it.
#pragma once

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t pointer;

// What a stream or a graph may still run; kept for as long as this library is.
struct kept {
    struct kept *next;
    char bytes[];
};
static struct kept *kept;

__attribute__((destructor)) static void forget(void) {
    for (struct kept *next; kept; kept = next) {
        next = kept->next;
        free(kept);
    }
}

static void *keep(const void *what, size_t bytes) {
    struct kept *k = malloc(sizeof *k + bytes);
    k->next = kept;
    kept = k;
    return memcpy(k->bytes, what, bytes);
}

// The driver lies next to this library.
static int into_stream(void (*run)(const pointer *), const void *what, size_t bytes) {
    char path[1024];
    Dl_info self;
    int (*record)(void (*)(const pointer *), const pointer *);
    pointer arguments[8] = {(pointer)(uintptr_t)keep(what, bytes)};
    dladdr((void *)into_stream, &self);
    snprintf(path, sizeof path, "%.*s/libcuda.so.1",
             (int)(strrchr(self.dli_fname, '/') - self.dli_fname), self.dli_fname);
    void *driver = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    // An object from the cache lies elsewhere.
    snprintf(path, sizeof path, "%s/lib64/libcuda.so.1", getenv("CUDA_HOME"));
    driver = driver ? driver : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    void *symbol = driver ? dlsym(driver, "fake_record") : NULL;
    if (!symbol)
        return 1;
    memcpy(&record, &symbol, sizeof record);
    return record(run, arguments);
}
