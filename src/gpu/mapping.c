// The driver's virtual memory calls: reserve, create, map, export as a descriptor, import.
#include "gpu/mapping.h"

#include <stdint.h>
#include <unistd.h>

#include "base/error.h"

// Numbers of the driver's interface (CUmemAllocationType and its neighbours).
enum { TYPE_PINNED = 1, HANDLE_FD = 1, LOCATION_DEVICE = 1, ACCESS_READ_WRITE = 3 };

static struct cuda_memory_properties properties(cuda_device device) {
    return (struct cuda_memory_properties){.type = TYPE_PINNED,
                                           .handle_types = HANDLE_FD,
                                           .location_type = LOCATION_DEVICE,
                                           .location = device};
}

bool cuda_mapping_granularity(const struct cuda *cu, cuda_device device, size_t *bytes,
                              struct error *err) {
    struct cuda_memory_properties p = properties(device);
    return cuda_ok(cu, cu->memory_granularity(bytes, &p, 0), "ask for the size of pages", err);
}

static bool map(const struct cuda *cu, cuda_device device, struct cuda_mapping *m,
                struct error *err) {
    size_t page = 0;
    struct cuda_memory_access access = {LOCATION_DEVICE, device, ACCESS_READ_WRITE};
    if (!cuda_mapping_granularity(cu, device, &page, err))
        return false;
    size_t around = m->bytes + 2 * page;
    if (!cuda_ok(cu, cu->address_reserve(&m->reserved, around, 0, 0, 0), "reserve addresses", err))
        return false;
    m->reserved_bytes = around;
    m->at = m->reserved + page;
    if (!cuda_ok(cu, cu->memory_map(m->at, m->bytes, 0, m->memory, 0), "map memory", err))
        return false;
    m->is_mapped = true;
    return cuda_ok(cu, cu->memory_access(m->at, m->bytes, &access, 1), "open memory", err);
}

bool cuda_mapping_create(const struct cuda *cu, cuda_device device, size_t bytes,
                         struct cuda_mapping *m, int *fd, struct error *err) {
    struct cuda_memory_properties p = properties(device);
    *m = (struct cuda_mapping){.bytes = bytes};
    *fd = -1;
    if (!cuda_ok(cu, cu->memory_create(&m->memory, bytes, &p, 0), "take device memory", err))
        return false;
    m->has_memory = true;
    if (map(cu, device, m, err) &&
        cuda_ok(cu, cu->memory_export(fd, m->memory, HANDLE_FD, 0), "share device memory", err))
        return true;
    cuda_mapping_reset(cu, m);
    return false;
}

bool cuda_mapping_import(const struct cuda *cu, cuda_device device, size_t bytes, int fd,
                         struct cuda_mapping *m, struct error *err) {
    *m = (struct cuda_mapping){.bytes = bytes};
    // The interface takes the descriptor in the place of a pointer.
    void *handle = (void *)(intptr_t)fd;
    if (!cuda_ok(cu, cu->memory_import(&m->memory, handle, HANDLE_FD), "open shared memory", err))
        return false;
    m->has_memory = true;
    if (map(cu, device, m, err))
        return true;
    cuda_mapping_reset(cu, m);
    return false;
}

void cuda_mapping_reset(const struct cuda *cu, struct cuda_mapping *m) {
    if (m->is_mapped)
        cu->memory_unmap(m->at, m->bytes);
    if (m->reserved)
        cu->address_free(m->reserved, m->reserved_bytes);
    if (m->has_memory)
        cu->memory_release(m->memory);
    *m = (struct cuda_mapping){0};
}
