// Conversions of the runtime headers against ir/types.h, to the bit: all patterns of the small
// floats and floats all over, with every tie and every edge, in each width; with the machine's own
// instructions, without them, and as the fibre runtime has them.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "ir/types.h"
#include "scratch.h"

static const char source[] =
    "#ifdef HONE_DEV_CPU\n"
    "#include \"dev.h\"\n"
    "#define WIDTHS(F, t) F(t, 2) F(t, 4) F(t, 8)\n"
    "#else\n"
    "#include \"hone_math.h\"\n"
    "#include \"hone_types.h\"\n"
    "#define WIDTHS(F, t) F(t, 4) F(t, 8) F(t, 16)\n"
    "#endif\n"
    "#define SCALAR(t, type)\\\n"
    "    void from_##t##_1(const type *x, float *y, long n) {\\\n"
    "        for (long i = 0; i < n; i++) y[i] = hone_from_##t(x[i]); }\\\n"
    "    void to_##t##_1(const float *x, type *y, long n) {\\\n"
    "        for (long i = 0; i < n; i++) y[i] = hone_to_##t(x[i]); }\\\n"
    "    void wide_##t(const double *x, float *y, long n) {\\\n"
    "        for (long i = 0; i < n; i++) y[i] = hone_round64_##t(x[i]); }\n"
    "SCALAR(f16, unsigned short) SCALAR(bf16, unsigned short)\n"
    "SCALAR(f8e4m3, unsigned char) SCALAR(f8e5m2, unsigned char)\n"
    "#define VECTOR(t, w)\\\n"
    "    void from_##t##_##w(const unsigned short *x, float *y, long n) {\\\n"
    "        for (long i = 0; i < n; i += w) hone_store##w(y + i, hone_load##w##_##t(x + i)); }\\\n"
    "    void to_##t##_##w(const float *x, unsigned short *y, long n) {\\\n"
    "        for (long i = 0; i < n; i += w) hone_store##w##_##t(y + i, hone_load##w(x + i)); }\\\n"
    "    void round_##t##_##w(const float *x, float *y, long n) {\\\n"
    "        for (long i = 0; i < n; i += w)\\\n"
    "            hone_store##w(y + i, hone_round##w##_##t(hone_load##w(x + i))); }\n"
    "WIDTHS(VECTOR, f16) WIDTHS(VECTOR, bf16)\n"
    // Two vectors at once, at the beginning of a line and in its middle.
    "#ifndef HONE_DEV_CPU\n"
    "#define PAIR(t)\\\n"
    "    void to_##t##_32(const float *x, unsigned short *y, long n) {\\\n"
    "        _Alignas(64) unsigned short h[64];\\\n"
    "        for (long i = 0; i < n; i += 32) {\\\n"
    "            unsigned short *at = h + i / 32 % 2 * 16;\\\n"
    "            hone_stream_pair16_##t(at, hone_load16(x + i), hone_load16(x + i + 16));\\\n"
    "            __builtin_memcpy(y + i, at, 64); } }\n"
    "PAIR(f16) PAIR(bf16)\n"
    "#endif\n";

static const enum dtype small[] = {DTYPE_F16, DTYPE_BF16, DTYPE_F8E4M3, DTYPE_F8E5M2};
typedef void (*convert_fn)(const void *x, void *y, long n);

static void *build(struct arena *a, const char *dir, const char *cc, const char *flag) {
    struct error err = {0};
    const char *path = arena_printf(a, "%s/conversions.c", dir);
    const char *object = arena_printf(a, "%s/%s%s.so", dir, cc, flag);
    cr_assert(file_write(path, source, strlen(source), &err), "%s", err.text);
    const char *const argv[] = {file_find_program(a, cc),
                                "-std=gnu17",
                                "-O2",
                                flag,
                                "-w",
                                "-fno-math-errno",
                                "-fPIC",
                                "-shared",
                                "-Iruntime",
                                "-o",
                                object,
                                path,
                                "-lm",
                                NULL};
    struct process_spec spec = {.argv = argv, .keep_environment = true};
    struct process_result r;
    cr_assert(process_run(a, &spec, &r, &err), "%s", err.text);
    cr_assert(r.exit_status == 0, "%s", r.err);
    void *handle = dlopen(object, RTLD_NOW);
    cr_assert_not_null(handle, "%s", dlerror());
    return handle;
}

static float bits_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t float_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

// A value of the type, the middle between it and the next, and their neighbours; then floats all
// over.
static long fill_floats(enum dtype t, float *x) {
    long n = 0;
    int patterns = 1 << dtype_infos[t].bits;
    for (int i = 0; i < patterns; i++) {
        unsigned pair[2] = {(unsigned)i, (unsigned)(i + 1) % (unsigned)patterns};
        uint16_t halves[2] = {(uint16_t)pair[0], (uint16_t)pair[1]};
        uint8_t bytes[2] = {(uint8_t)pair[0], (uint8_t)pair[1]};
        const void *data = dtype_infos[t].bits == 16 ? (const void *)halves : bytes;
        double v = dtype_get(t, data, 0), next = dtype_get(t, data, 1);
        uint32_t middle = float_bits((float)((v + next) / 2));
        x[n++] = (float)v;
        for (uint32_t d = 0; d < 3; d++)
            x[n++] = bits_float(middle + d - 1);
    }
    for (uint64_t bits = 0; bits < 0x100000000; bits += 39989)
        x[n++] = bits_float((uint32_t)bits);
    static const float special[] = {0.0f,       -0.0f,     INFINITY, -INFINITY, 464.0f,
                                    464.00003f, 65519.99f, 65520,    57344,     61440,
                                    0x1p-149f,  0x1p-126f, 3.4e38f};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        x[n++] = special[i];
    x[n++] = bits_float(0x7f800001);  // NaN whose bits are not those that are stored
    x[n++] = bits_float(0xffffffff);
    while (n % 32)
        x[n++] = 0.5f;
    return n;
}

enum { FLOATS_MAX = 4 * 65536 + 0x100000000 / 39989 + 64 };

static void check_to(struct arena *a, void *handle, enum dtype t, int width, const char *where) {
    const char *name = arena_printf(a, "to_%s_%d", dtype_name(t), width);
    convert_fn to = (convert_fn)dlsym(handle, name);
    if (!to)
        return;
    float *x = arena_array(a, float, FLOATS_MAX), *y = arena_array(a, float, FLOATS_MAX);
    long n = fill_floats(t, x);
    char *got = arena_array(a, char, dtype_size(t, n)),
         *want = arena_array(a, char, dtype_size(t, n));
    to(x, got, n);
    for (long i = 0; i < n; i++)
        dtype_put(t, want, i, x[i]);
    int64_t size = dtype_size(t, 1);
    for (long i = 0; i < n; i++)
        cr_assert(memcmp(got + i * size, want + i * size, (size_t)size) == 0, "%s %s(%a) is %g",
                  where, name, x[i], dtype_get(t, got, i));
    convert_fn round =
        (convert_fn)dlsym(handle, arena_printf(a, "round_%s_%d", dtype_name(t), width));
    for (long i = 0; round && i < n; i++) {
        if (i == 0)
            round(x, y, n);
        double kept = dtype_get(t, want, i);
        cr_assert(y[i] == kept || (y[i] != y[i] && kept != kept), "%s round %s(%a)", where, name,
                  x[i]);
    }
}

static void check_from(struct arena *a, void *handle, enum dtype t, int width, const char *where) {
    const char *name = arena_printf(a, "from_%s_%d", dtype_name(t), width);
    convert_fn from = (convert_fn)dlsym(handle, name);
    if (!from)
        return;
    long n = 1L << dtype_infos[t].bits;
    char *x = arena_array(a, char, dtype_size(t, n));
    float *y = arena_array(a, float, n);
    for (long i = 0; i < n; i++)
        memcpy(x + dtype_size(t, i), &i, (size_t)dtype_size(t, 1));
    from(x, y, n);
    for (long i = 0; i < n; i++) {
        double want = dtype_get(t, x, i);
        bool same = want != want ? y[i] != y[i] : float_bits((float)want) == float_bits(y[i]);
        cr_assert(same, "%s %s(%#lx) is %a, not %a", where, name, (unsigned long)i, y[i], want);
    }
}

// Between two neighbours of the type lie doubles that a float on the way would tip over.
static void check_wide(struct arena *a, void *handle, enum dtype t, const char *where) {
    convert_fn round = (convert_fn)dlsym(handle, arena_printf(a, "wide_%s", dtype_name(t)));
    float *x = arena_array(a, float, FLOATS_MAX), *y = arena_array(a, float, 3 * FLOATS_MAX);
    double *wide = arena_array(a, double, 3 * FLOATS_MAX);
    long n = fill_floats(t, x), n_wide = 0;
    for (long i = 0; i < n; i++) {
        wide[n_wide++] = x[i];
        wide[n_wide++] = nextafter(x[i], INFINITY);
        wide[n_wide++] = nextafter(x[i], -INFINITY);
    }
    round(wide, y, n_wide);
    for (long i = 0; i < n_wide; i++) {
        double want = dtype_round(t, wide[i]);
        cr_assert(y[i] == want || (y[i] != y[i] && want != want), "%s %s of %a is %a, not %a",
                  where, dtype_name(t), wide[i], y[i], want);
    }
}

static void check(const char *cc, const char *flag) {
    static const int widths[] = {1, 2, 4, 8, 16, 32};
    struct arena a = {0};
    const char *dir = scratch_make(&a);
    void *handle = build(&a, dir, cc, flag);
    const char *where = arena_printf(&a, "%s %s", cc, flag);
    int n = 0;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        struct arena scratch = {0};
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            const char *name = arena_printf(&a, "to_%s_%d", dtype_name(small[i]), widths[w]);
            n += dlsym(handle, name) != NULL;
            check_from(&scratch, handle, small[i], widths[w], where);
            check_to(&scratch, handle, small[i], widths[w], where);
        }
        check_wide(&scratch, handle, small[i], where);
        arena_reset(&scratch);
    }
    // Fibres have no vectors of sixteen, so none in pairs.
    cr_assert_eq(n, strcmp(flag, "-DHONE_DEV_CPU") == 0 ? 10 : 12);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(conversions, are_right_with_the_machines_instructions) {
    check("gcc", "-march=native");
}

Test(conversions, are_right_without_instructions_for_them) {
    check("gcc", "-march=x86-64");
}

Test(conversions, are_right_for_clang) {
    check("clang", "-march=native");
    check("clang", "-march=x86-64");
}

Test(conversions, are_right_on_fibres) {
    check("gcc", "-DHONE_DEV_CPU");
}
