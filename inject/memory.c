// How much of the card's memory the program holds: what is free now against what was free before
// its first allocation, without what CUPTI took in between. An upper bound of what a kernel can
// touch: one that reads more bytes than this has read some of them twice.
#include <dlfcn.h>

#include "inject.h"

static size_t at_first, before_ours;
static long long ours;  // bytes that were taken while we were at work
static bool is_known;

static size_t ask_free(void) {
    void *driver = driver_library();
    int (*ask)(size_t *, size_t *) = driver ? dlsym(driver, "cuMemGetInfo_v2") : NULL;
    size_t free_bytes = 0, all = 0;
    return ask && ask(&free_bytes, &all) == 0 ? free_bytes : 0;
}

void memory_before_allocation(void) {
    if (is_known)
        return;
    at_first = ask_free();
    is_known = at_first > 0;
}

void memory_ours_begins(void) {
    before_ours = ask_free();
}

void memory_ours_ends(void) {
    ours += (long long)before_ours - (long long)ask_free();
}

bool memory_held(size_t *bytes) {
    long long held = (long long)at_first - (long long)ask_free() - ours;
    *bytes = held > 0 ? (size_t)held : 0;
    return is_known && held > 0;
}
