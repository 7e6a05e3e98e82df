// A cubin: an ELF file with the machine code of kernels and what they need. Every offset is checked
// against the length: the file is somebody else's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct error;

struct cubin_kernel {
    const char *name;
    const unsigned char *text;  // within the bytes that were given
    size_t text_len;
    int registers;    // of a thread; -1: it does not say
    int frame_bytes;  // stack of a thread; -1: it does not say
};

struct cubin_file {
    int capability;  // 90 for 9.0
    struct cubin_kernel *kernels;
    int n_kernels;
};

bool cubin_is(const void *bytes, size_t len);  // does it look like one?
bool cubin_read(struct arena *a, const void *bytes, size_t len, struct cubin_file *out,
                struct error *err);

// A section, within the bytes that were given; false: there is none of that name.
bool cubin_section(const void *bytes, size_t len, const char *name, const unsigned char **at,
                   size_t *size);
// The symbol whose address a relocation puts at `offset` of a section; NULL: none does.
const char *cubin_relocated(struct arena *a, const void *bytes, size_t len, const char *name,
                            uint64_t offset);
