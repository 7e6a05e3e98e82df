// Any text at all is either a table of ncu or one message: no crash, no overflow, no hang.
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/error.h"
#include "profile/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    struct error err = {0};
    struct imported out;
    if (!import_ncu(&a, (const char *)data, size, &out, &err) && !err.text[0])
        abort();
    arena_reset(&a);
    return 0;
}
