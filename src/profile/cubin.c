// Sections `.text.KERNEL` are code. `.nv.info` is a list of attributes: a byte for the format, one
// for the kind, two for the length or a value; those of interest are pairs of a symbol's number and
// a figure.
#include "profile/cubin.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"

enum {
    MACHINE_CUDA = 190,
    ABI_OF_13 = 8,  // from CUDA 13 on the capability stands in the second byte of the flags
    FORMAT_SIZED = 4,
    ATTRIBUTE_FRAME = 0x11,
    ATTRIBUTE_REGISTERS = 0x2f,
};

struct reader {
    const unsigned char *bytes;
    size_t len;
    Elf64_Ehdr header;
    Elf64_Shdr names, symbols;
    int *kernel_of;  // by section; -1: it holds none
};

static bool is_within(const struct reader *r, uint64_t offset, uint64_t size) {
    return offset <= r->len && size <= r->len - offset;
}

static Elf64_Shdr section(const struct reader *r, int i) {
    Elf64_Shdr s;
    memcpy(&s, r->bytes + r->header.e_shoff + (size_t)i * sizeof s, sizeof s);
    return s;
}

// A text of a table of texts; NULL: it runs out of it.
static const char *text_at(const struct reader *r, const Elf64_Shdr *table, uint64_t at) {
    if (table->sh_type != SHT_STRTAB || !is_within(r, table->sh_offset, table->sh_size) ||
        at >= table->sh_size)
        return NULL;
    const char *text = (const char *)r->bytes + table->sh_offset + at;
    return memchr(text, 0, table->sh_size - at) ? text : NULL;
}

bool cubin_is(const void *bytes, size_t len) {
    Elf64_Ehdr h;
    if (len < sizeof h)
        return false;
    memcpy(&h, bytes, sizeof h);
    return memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_ident[EI_CLASS] == ELFCLASS64 &&
           h.e_machine == MACHINE_CUDA;
}

static bool open_file(struct reader *r, struct error *err) {
    if (!cubin_is(r->bytes, r->len))
        return error_set(err, ERROR_USAGE, "this is no cubin");
    memcpy(&r->header, r->bytes, sizeof r->header);
    if (r->header.e_shentsize != sizeof(Elf64_Shdr) ||
        !is_within(r, r->header.e_shoff, (uint64_t)r->header.e_shnum * sizeof(Elf64_Shdr)) ||
        r->header.e_shstrndx >= r->header.e_shnum)
        return error_set(err, ERROR_USAGE, "the cubin is damaged: its sections lie outside");
    r->names = section(r, r->header.e_shstrndx);
    return true;
}

static uint32_t word_at(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

// The section that a symbol lies in; -1: there is no such symbol.
static int symbol_section(const struct reader *r, uint32_t number) {
    Elf64_Sym symbol;
    if (number >= r->symbols.sh_size / sizeof symbol)
        return -1;
    memcpy(&symbol, r->bytes + r->symbols.sh_offset + number * sizeof symbol, sizeof symbol);
    return symbol.st_shndx < r->header.e_shnum ? symbol.st_shndx : -1;
}

static void note(const struct reader *r, struct cubin_file *out, const unsigned char *pair,
                 int attribute) {
    int in = symbol_section(r, word_at(pair));
    uint32_t value = word_at(pair + 4);
    if (in < 0 || r->kernel_of[in] < 0 || value > INT32_MAX)
        return;
    struct cubin_kernel *k = &out->kernels[r->kernel_of[in]];
    // A function that a kernel calls lies in its section too: the larger is the kernel's.
    int *field = attribute == ATTRIBUTE_REGISTERS ? &k->registers : &k->frame_bytes;
    *field = (int)value > *field ? (int)value : *field;
}

static void read_info(const struct reader *r, const Elf64_Shdr *s, struct cubin_file *out) {
    enum { HEAD = 4, PAIR = 8 };
    const unsigned char *at = r->bytes + s->sh_offset, *end = at + s->sh_size;
    while (end - at >= HEAD) {
        int format = at[0], attribute = at[1];
        size_t size = format == FORMAT_SIZED ? (size_t)(at[2] | at[3] << 8) : 0;
        at += HEAD;
        if (size > (size_t)(end - at))
            return;
        if (size == PAIR && (attribute == ATTRIBUTE_REGISTERS || attribute == ATTRIBUTE_FRAME))
            note(r, out, at, attribute);
        at += size;
    }
}

static bool read_text(struct arena *a, const struct reader *r, const Elf64_Shdr *s,
                      const char *name, struct cubin_file *out, struct error *err) {
    size_t before = 0;
    for (int i = 0; i < out->n_kernels; i++)
        before += out->kernels[i].text_len;
    // Kernels do not share code: all of it together is no more than the file.
    if (!is_within(r, s->sh_offset, s->sh_size) || s->sh_size > r->len - before)
        return error_set(err, ERROR_USAGE, "the cubin is damaged: the code of %.60s lies outside",
                         name);
    out->kernels[out->n_kernels++] = (struct cubin_kernel){.name = arena_strdup(a, name),
                                                           .text = r->bytes + s->sh_offset,
                                                           .text_len = s->sh_size,
                                                           .registers = -1,
                                                           .frame_bytes = -1};
    return true;
}

static bool read_code(struct arena *a, struct reader *r, struct cubin_file *out,
                      struct error *err) {
    static const char prefix[] = ".text.";
    for (int i = 0; i < r->header.e_shnum; i++) {
        Elf64_Shdr s = section(r, i);
        const char *name = text_at(r, &r->names, s.sh_name);
        bool is_code = name && s.sh_type == SHT_PROGBITS && (s.sh_flags & SHF_EXECINSTR) &&
                       strncmp(name, prefix, strlen(prefix)) == 0;
        r->kernel_of[i] = is_code ? out->n_kernels : -1;
        if (is_code && !read_text(a, r, &s, name + strlen(prefix), out, err))
            return false;
        if (s.sh_type == SHT_SYMTAB && is_within(r, s.sh_offset, s.sh_size))
            r->symbols = s;
    }
    return true;
}

bool cubin_read(struct arena *a, const void *bytes, size_t len, struct cubin_file *out,
                struct error *err) {
    struct reader r = {.bytes = bytes, .len = len};
    *out = (struct cubin_file){0};
    if (!open_file(&r, err))
        return false;
    uint32_t flags = r.header.e_flags;
    out->capability =
        (int)(r.header.e_ident[EI_ABIVERSION] >= ABI_OF_13 ? flags >> 8 & 0xff : flags & 0xff);
    out->kernels = arena_array(a, struct cubin_kernel, r.header.e_shnum + 1);
    r.kernel_of = arena_array(a, int, r.header.e_shnum + 1);
    if (!read_code(a, &r, out, err))
        return false;
    for (int i = 0; i < r.header.e_shnum; i++) {
        Elf64_Shdr s = section(&r, i);
        const char *name = text_at(&r, &r.names, s.sh_name);
        if (name && strcmp(name, ".nv.info") == 0 && is_within(&r, s.sh_offset, s.sh_size))
            read_info(&r, &s, out);
    }
    return true;
}

// ---- other sections

static bool find_section(const struct reader *r, const char *wanted, Elf64_Shdr *out) {
    for (int i = 0; i < r->header.e_shnum; i++) {
        *out = section(r, i);
        const char *name = text_at(r, &r->names, out->sh_name);
        if (name && strcmp(name, wanted) == 0 && out->sh_type != SHT_NOBITS &&
            is_within(r, out->sh_offset, out->sh_size))
            return true;
    }
    return false;
}

bool cubin_section(const void *bytes, size_t len, const char *name, const unsigned char **at,
                   size_t *size) {
    struct reader r = {.bytes = bytes, .len = len};
    struct error ignored = {0};
    Elf64_Shdr s;
    if (!open_file(&r, &ignored) || !find_section(&r, name, &s))
        return false;
    *at = r.bytes + s.sh_offset;
    *size = s.sh_size;
    return true;
}

static const char *symbol_name(const struct reader *r, uint64_t number) {
    Elf64_Shdr symbols;
    Elf64_Sym symbol;
    if (!find_section(r, ".symtab", &symbols) || number >= symbols.sh_size / sizeof symbol ||
        symbols.sh_link >= r->header.e_shnum)
        return NULL;
    memcpy(&symbol, r->bytes + symbols.sh_offset + number * sizeof symbol, sizeof symbol);
    Elf64_Shdr names = section(r, (int)symbols.sh_link);
    return text_at(r, &names, symbol.st_name);
}

const char *cubin_relocated(struct arena *a, const void *bytes, size_t len, const char *name,
                            uint64_t offset) {
    struct reader r = {.bytes = bytes, .len = len};
    struct error ignored = {0};
    Elf64_Shdr s;
    Elf64_Rela entry;
    if (!open_file(&r, &ignored) || !find_section(&r, arena_printf(a, ".rela%s", name), &s))
        return NULL;
    for (uint64_t i = 0; i < s.sh_size / sizeof entry; i++) {
        memcpy(&entry, r.bytes + s.sh_offset + i * sizeof entry, sizeof entry);
        if (entry.r_offset == offset)
            return symbol_name(&r, ELF64_R_SYM(entry.r_info));
    }
    return NULL;
}
