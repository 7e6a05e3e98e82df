// Reads the sections and symbols of a 64-bit ELF object. Every offset in it comes from a
// linker run on text that somebody else wrote, so each is checked against the length.
#include <elf.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "build/scan.h"

struct object {
    const char *bytes;
    size_t len;
    const Elf64_Shdr *sections;
    int n_sections;
    const char *names;  // of sections
    size_t names_len;
};

static bool is_within(const struct object *o, uint64_t offset, uint64_t size) {
    return offset <= o->len && size <= o->len - offset;
}

static bool read_sections(struct object *o) {
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->bytes;
    if (o->len < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_shentsize != sizeof(Elf64_Shdr) ||
        h->e_shoff % _Alignof(Elf64_Shdr) ||
        !is_within(o, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)) ||
        h->e_shstrndx >= h->e_shnum)
        return false;
    o->sections = (const Elf64_Shdr *)(o->bytes + h->e_shoff);
    o->n_sections = h->e_shnum;
    const Elf64_Shdr *names = &o->sections[h->e_shstrndx];
    o->names = o->bytes + names->sh_offset;
    o->names_len = names->sh_size;
    return is_within(o, names->sh_offset, names->sh_size);
}

// A text of a table, "" when it runs out of it.
static const char *table_text(const char *table, size_t len, uint64_t at) {
    return at < len && memchr(table + at, 0, len - at) ? table + at : "";
}

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

// Written while loading and read-only afterwards, as the program header says; what a section is
// called says nothing.
static bool is_relocation_only(const struct object *o, const Elf64_Shdr *s) {
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->bytes;
    if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff % _Alignof(Elf64_Phdr) ||
        !is_within(o, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr)))
        return false;
    const Elf64_Phdr *p = (const Elf64_Phdr *)(o->bytes + h->e_phoff);
    for (int i = 0; i < h->e_phnum; i++)
        if (p[i].p_type == PT_GNU_RELRO && !(s->sh_flags & SHF_TLS) && s->sh_addr >= p[i].p_vaddr &&
            s->sh_addr - p[i].p_vaddr <= p[i].p_memsz &&
            s->sh_size <= p[i].p_memsz - (s->sh_addr - p[i].p_vaddr))
            return true;
    return false;
}

// One component of a mangled name, "4cuda"; behind it, or NULL when there is none.
static const char *component(const char *mangled, struct span *out) {
    size_t n = 0;
    while (*mangled >= '0' && *mangled <= '9' && n < 1000)
        n = 10 * n + (size_t)(*mangled++ - '0');
    if (n == 0 || strnlen(mangled, n) < n)
        return NULL;
    *out = (struct span){mangled, n};
    return mangled + n;
}

// CUDA's own headers (CCCL) leave small constants in device memory, all in their namespaces.
// A candidate that writes to one is caught by what it does.
static bool is_toolkit_constant(const char *name, uint64_t size) {
    enum { CONSTANT_MAX = 16 };
    static const char *const spaces[] = {"cuda", "cub", "thrust", "nv", "cooperative_groups", NULL};
    struct span part;
    const char *rest = starts_with(name, "_ZN") ? component(name + 3, &part) : NULL;
    if (rest && part.len > 10 && starts_with(part.ptr, "_INTERNAL_"))
        rest = component(rest, &part);
    for (const char *const *s = spaces; rest && *s && size <= CONSTANT_MAX; s++)
        if (span_is(part, *s))
            return true;
    return false;
}

// Tables of CUDA's mathematical library, which the compiler puts into device memory with sinf(),
// cosf(), tanf() and those of double: digits of 2 / pi for large arguments, and coefficients. A
// source may not name them (scan.c).
static bool is_math_table(const char *name, const Elf64_Sym *s) {
    static const struct {
        const char *name;
        uint64_t bytes;
    } tables[] = {
        {"__cudart_i2opi_f", 24}, {"__cudart_i2opi_d", 144}, {"__cudart_sin_cos_coeffs", 128}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (strcmp(name, tables[i].name) == 0)
            return s->st_size == tables[i].bytes && ELF64_ST_BIND(s->st_info) == STB_LOCAL;
    return false;
}

// Whose variables are passed over.
enum passed { PASS_NONE, PASS_MATH, PASS_TOOLKIT };

// The largest variable in a section, for the message; but what is passed over. *n_passed counts
// those.
static const char *variable_in(const struct object *o, int section, enum passed passed,
                               int *n_passed) {
    const char *name = "";
    uint64_t largest = 0;
    *n_passed = 0;
    for (int i = 0; i < o->n_sections; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= (uint32_t)o->n_sections ||
            s->sh_offset % _Alignof(Elf64_Sym) || !is_within(o, s->sh_offset, s->sh_size))
            continue;
        const Elf64_Shdr *texts = &o->sections[s->sh_link];
        if (!is_within(o, texts->sh_offset, texts->sh_size))
            continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)(o->bytes + s->sh_offset);
        for (uint64_t k = 0; k < s->sh_size / sizeof *symbols; k++) {
            if (symbols[k].st_shndx != section || symbols[k].st_size <= largest)
                continue;
            const char *text =
                table_text(o->bytes + texts->sh_offset, texts->sh_size, symbols[k].st_name);
            if ((passed >= PASS_MATH && is_math_table(text, &symbols[k])) ||
                (passed >= PASS_TOOLKIT && is_toolkit_constant(text, symbols[k].st_size))) {
                ++*n_passed;
                continue;
            }
            largest = symbols[k].st_size;
            name = text;
        }
    }
    return name;
}

static const char *check_sections(struct arena *a, const struct object *o) {
    for (int i = 0; i < o->n_sections; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type == SHT_INIT_ARRAY || s->sh_type == SHT_FINI_ARRAY ||
            s->sh_type == SHT_PREINIT_ARRAY)
            return "there is code that runs on loading or unloading (constructors)";
        if (!(s->sh_flags & SHF_WRITE) || s->sh_size == 0 || is_relocation_only(o, s))
            continue;
        int n_passed;
        const char *variable = variable_in(o, i, PASS_NONE, &n_passed);
        return arena_printf(a,
                            "the variable%s%s%s outlives a call; use locals, const tables or "
                            "'#pragma hone scratch'",
                            *variable ? " '" : "", variable, *variable ? "'" : "");
    }
    return NULL;
}

static bool has_ifunc(const struct object *o) {
    for (int i = 0; i < o->n_sections; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_DYNSYM || s->sh_offset % _Alignof(Elf64_Sym) ||
            !is_within(o, s->sh_offset, s->sh_size))
            continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)(o->bytes + s->sh_offset);
        for (uint64_t k = 0; k < s->sh_size / sizeof *symbols; k++)
            if (symbols[k].st_shndx != SHN_UNDEF &&
                ELF64_ST_TYPE(symbols[k].st_info) == STT_GNU_IFUNC)
                return true;
    }
    return false;
}

// The loader runs what DT_INIT names (any function called _init), and asks functions which function
// to take (ifunc, target_clones).
static bool has_loader_code(const struct object *o) {
    enum { AARCH64_IRELATIVE = 1032 };
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)o->bytes;
    uint32_t irelative = h->e_machine == EM_AARCH64 ? AARCH64_IRELATIVE : R_X86_64_IRELATIVE;
    for (int i = 0; i < o->n_sections; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        bool is_table = s->sh_type == SHT_DYNAMIC || s->sh_type == SHT_RELA;
        if (!is_table || s->sh_offset % _Alignof(Elf64_Rela) ||
            !is_within(o, s->sh_offset, s->sh_size))
            continue;
        const Elf64_Dyn *d = (const Elf64_Dyn *)(o->bytes + s->sh_offset);
        for (uint64_t k = 0; s->sh_type == SHT_DYNAMIC && k < s->sh_size / sizeof *d; k++)
            if (d[k].d_tag == DT_INIT || d[k].d_tag == DT_FINI)
                return true;
        const Elf64_Rela *r = (const Elf64_Rela *)(o->bytes + s->sh_offset);
        for (uint64_t k = 0; s->sh_type == SHT_RELA && k < s->sh_size / sizeof *r; k++)
            if (ELF64_R_TYPE(r[k].r_info) == irelative)
                return true;
    }
    return has_ifunc(o);
}

// Functions that a candidate may take from the C library: they compute or copy.
static const char *const functions[] = {
    "memcpy",  "memmove", "memset",    "memcmp",   "abort",     "__stack_chk_fail",
    "abs",     "labs",    "llabs",     "qsort",    "bsearch",   "__assert_fail",
    "acos",    "acosh",   "asin",      "asinh",    "atan",      "atan2",
    "atanh",   "cbrt",    "ceil",      "copysign", "cos",       "cosh",
    "erf",     "erfc",    "exp",       "exp10",    "exp2",      "expm1",
    "fabs",    "fdim",    "floor",     "fma",      "fmax",      "fmin",
    "fmod",    "frexp",   "hypot",     "ilogb",    "ldexp",     "lgamma",
    "llrint",  "llround", "log",       "log10",    "log1p",     "log2",
    "logb",    "lrint",   "lround",    "modf",     "nearbyint", "nextafter",
    "pow",     "remquo",  "remainder", "rint",     "round",     "roundeven",
    "scalbln", "scalbn",  "sin",       "sincos",   "sinh",      "sqrt",
    "tan",     "tanh",    "tgamma",    "trunc",    NULL,
};

static bool is_known_function(const char *name) {
    size_t len = strlen(name);
    for (const char *const *f = functions; *f; f++) {
        size_t n = strlen(*f);
        if (strncmp(name, *f, n) != 0)
            continue;
        // Also its float and long double forms, and the loader's names for exact headers.
        if (len == n || (len == n + 1 && (name[n] == 'f' || name[n] == 'l')))
            return true;
    }
    // What the compiler calls by itself: vector mathematics and its own support library.
    return starts_with(name, "_ZGV") || starts_with(name, "__mul") || starts_with(name, "__div") ||
           starts_with(name, "__extend") || starts_with(name, "__trunc");
}

static const char *check_imports(struct arena *a, const struct object *o) {
    for (int i = 0; i < o->n_sections; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_DYNSYM)
            continue;
        if (s->sh_link >= (uint32_t)o->n_sections || s->sh_offset % _Alignof(Elf64_Sym) ||
            !is_within(o, s->sh_offset, s->sh_size))
            return "the object's symbols cannot be read";
        const Elf64_Shdr *texts = &o->sections[s->sh_link];
        if (!is_within(o, texts->sh_offset, texts->sh_size))
            return "the object's symbols cannot be read";
        const Elf64_Sym *symbols = (const Elf64_Sym *)(o->bytes + s->sh_offset);
        for (uint64_t k = 1; k < s->sh_size / sizeof *symbols; k++) {
            const char *name =
                table_text(o->bytes + texts->sh_offset, texts->sh_size, symbols[k].st_name);
            if (symbols[k].st_shndx == SHN_UNDEF && *name && !is_known_function(name))
                return arena_printf(a,
                                    "'%s' is not available to a candidate: it may use "
                                    "mathematics and memcpy; memory is '#pragma hone scratch', "
                                    "threads are the runner's",
                                    name);
        }
    }
    return NULL;
}

const char *scan_object(struct arena *a, const char *bytes, size_t len) {
    struct object o = {.bytes = bytes, .len = len};
    if (!read_sections(&o))
        return "the compiled object cannot be read";
    const char *why = check_sections(a, &o);
    if (!why && has_loader_code(&o))
        why = "there is code that runs on loading (_init, ifunc or target_clones)";
    return why ? why : check_imports(a, &o);
}

// Device memory of a module: `.nv.global` and `.nv.global.init`. Constants have sections of their
// own, shared memory does not outlive a block.
static const char *check_device_memory(struct arena *a, const struct object *o, bool has_toolkit) {
    for (int i = 0; i < o->n_sections; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        const char *name = table_text(o->names, o->names_len, s->sh_name);
        if (s->sh_size == 0 || !starts_with(name, ".nv.global"))
            continue;
        int n_passed;
        const char *variable = variable_in(o, i, has_toolkit ? PASS_TOOLKIT : PASS_MATH, &n_passed);
        if (!*variable && n_passed > 0)
            continue;
        return arena_printf(a,
                            "the variable%s%s%s in device memory outlives a call; use locals, "
                            "__constant__ tables or '#pragma hone scratch'",
                            *variable ? " '" : "", variable, *variable ? "'" : "");
    }
    return NULL;
}

// Functions that the driver would bring: malloc, free, vprintf, __assertfail.
static const char *check_device_imports(struct arena *a, const struct object *o) {
    for (int i = 0; i < o->n_sections; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= (uint32_t)o->n_sections ||
            s->sh_offset % _Alignof(Elf64_Sym) || !is_within(o, s->sh_offset, s->sh_size))
            continue;
        const Elf64_Shdr *texts = &o->sections[s->sh_link];
        if (!is_within(o, texts->sh_offset, texts->sh_size))
            return "the cubin's symbols cannot be read";
        const Elf64_Sym *symbols = (const Elf64_Sym *)(o->bytes + s->sh_offset);
        for (uint64_t k = 1; k < s->sh_size / sizeof *symbols; k++)
            if (symbols[k].st_shndx == SHN_UNDEF && ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC)
                return arena_printf(
                    a, "'%s' is not available to a candidate: it has no heap and prints nothing",
                    table_text(o->bytes + texts->sh_offset, texts->sh_size, symbols[k].st_name));
    }
    return NULL;
}

const char *scan_cubin(struct arena *a, const char *bytes, size_t len, bool has_toolkit) {
    struct object o = {.bytes = bytes, .len = len};
    if (!read_sections(&o))
        return "the cubin cannot be read";
    const char *why = check_device_memory(a, &o, has_toolkit);
    return why ? why : check_device_imports(a, &o);
}
