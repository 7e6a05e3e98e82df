// Device memory that two processes share: one makes it and hands out a descriptor, the other
// opens that. On both sides of it a piece of address space stays unmapped, so that a wild access
// faults instead of landing in something else.
#pragma once

#include "gpu/cuda.h"

struct cuda_mapping {
    cuda_pointer at;  // 0: none
    size_t bytes;
    cuda_pointer reserved;
    size_t reserved_bytes;
    cuda_memory memory;
    bool has_memory, is_mapped;
};

// Sizes are rounded up to a multiple of this; 2 MiB on every device so far.
bool cuda_mapping_granularity(const struct cuda *cu, cuda_device device, size_t *bytes,
                              struct error *err);

// `fd` is for the other process; the caller closes it.
bool cuda_mapping_create(const struct cuda *cu, cuda_device device, size_t bytes,
                         struct cuda_mapping *m, int *fd, struct error *err);
bool cuda_mapping_import(const struct cuda *cu, cuda_device device, size_t bytes, int fd,
                         struct cuda_mapping *m, struct error *err);

// The memory itself lives until the last process has let go of it. Safe to call twice.
void cuda_mapping_reset(const struct cuda *cu, struct cuda_mapping *m);
