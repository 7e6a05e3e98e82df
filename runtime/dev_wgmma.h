// Part of dev.h: products by the 128 threads of a warpgroup (sm_90a). Operands lie in shared
// memory, or A in registers; sums are in registers. A function per type and number of columns,
// since the instruction names each register of the sums.
#pragma once

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define hone_wgmma_fence() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define hone_wgmma_commit() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define hone_wgmma_wait(groups) \
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory")
// Turn `i` is barrier 1 + i: 128 threads that give it, and 128 that take it.
#define hone_turn_take(i) asm volatile("bar.sync %0, 256;" ::"r"(1 + (i)) : "memory")
#define hone_turn_give(i) asm volatile("bar.arrive %0, 256;" ::"r"(1 + (i)) : "memory")
#define hone_registers_less(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(n))
#define hone_registers_more(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(n))
// How the hardware is told where an operand lies: rows of 128 bytes, swizzled, eight of them every
// 1024 bytes; where it lies across, boxes of 8192 bytes.
HONE_FN unsigned long long hone_operand(const void *at, int across) {
    return (across ? 0x4000004002000000ull : 0x4000004000010000ull) |
           (unsigned long long)((hone_address(at) & 0x3ffff) >> 4);
}
#define HONE_SUMS_0(is)                                                                            \
    is(c[0].x), is(c[0].y), is(c[1].x), is(c[1].y), is(c[2].x), is(c[2].y), is(c[3].x),            \
        is(c[3].y), is(c[4].x), is(c[4].y), is(c[5].x), is(c[5].y), is(c[6].x), is(c[6].y),        \
        is(c[7].x), is(c[7].y), is(c[8].x), is(c[8].y), is(c[9].x), is(c[9].y), is(c[10].x),       \
        is(c[10].y), is(c[11].x), is(c[11].y), is(c[12].x), is(c[12].y), is(c[13].x), is(c[13].y), \
        is(c[14].x), is(c[14].y), is(c[15].x), is(c[15].y)
#define HONE_NAMES_0                                                         \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define HONE_SUMS_1(is)                                                                            \
    is(c[16].x), is(c[16].y), is(c[17].x), is(c[17].y), is(c[18].x), is(c[18].y), is(c[19].x),     \
        is(c[19].y), is(c[20].x), is(c[20].y), is(c[21].x), is(c[21].y), is(c[22].x), is(c[22].y), \
        is(c[23].x), is(c[23].y), is(c[24].x), is(c[24].y), is(c[25].x), is(c[25].y), is(c[26].x), \
        is(c[26].y), is(c[27].x), is(c[27].y), is(c[28].x), is(c[28].y), is(c[29].x), is(c[29].y), \
        is(c[30].x), is(c[30].y), is(c[31].x), is(c[31].y)
#define HONE_NAMES_1                                                                   \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define HONE_SUMS_2(is)                                                                            \
    is(c[32].x), is(c[32].y), is(c[33].x), is(c[33].y), is(c[34].x), is(c[34].y), is(c[35].x),     \
        is(c[35].y), is(c[36].x), is(c[36].y), is(c[37].x), is(c[37].y), is(c[38].x), is(c[38].y), \
        is(c[39].x), is(c[39].y), is(c[40].x), is(c[40].y), is(c[41].x), is(c[41].y), is(c[42].x), \
        is(c[42].y), is(c[43].x), is(c[43].y), is(c[44].x), is(c[44].y), is(c[45].x), is(c[45].y), \
        is(c[46].x), is(c[46].y), is(c[47].x), is(c[47].y)
#define HONE_NAMES_2                                                                   \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define HONE_SUMS_3(is)                                                                            \
    is(c[48].x), is(c[48].y), is(c[49].x), is(c[49].y), is(c[50].x), is(c[50].y), is(c[51].x),     \
        is(c[51].y), is(c[52].x), is(c[52].y), is(c[53].x), is(c[53].y), is(c[54].x), is(c[54].y), \
        is(c[55].x), is(c[55].y), is(c[56].x), is(c[56].y), is(c[57].x), is(c[57].y), is(c[58].x), \
        is(c[58].y), is(c[59].x), is(c[59].y), is(c[60].x), is(c[60].y), is(c[61].x), is(c[61].y), \
        is(c[62].x), is(c[62].y), is(c[63].x), is(c[63].y)
#define HONE_NAMES_3                                                                               \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "   \
    "%127"
#define HONE_WGMMA(type, columns, names, p, a, b, ta, tb, ...)                                     \
    template <int across_a, int across_b>                                                          \
    HONE_FN void hone_wgmma_##type##_##columns##_of(float2 *c, const void *a_at, const void *b_at, \
                                                    int adds) {                                    \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p ", 0;\n"                                \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type "." #type       \
                     " {" names "}, " a ", " b ", p, 1, 1, " ta ", " tb ";\n}"                     \
                     : __VA_ARGS__                                                                 \
                     : "l"(hone_operand(a_at, across_a)), "l"(hone_operand(b_at, across_b)),       \
                       "r"(adds), "n"(across_a), "n"(across_b));                                   \
    }
#define HONE_WGMMA_64(type) \
    HONE_WGMMA(type, 64, HONE_NAMES_0, "%34", "%32", "%33", "%35", "%36", HONE_SUMS_0("+f"))
#define HONE_WGMMA_128(type)                                                                 \
    HONE_WGMMA(type, 128, HONE_NAMES_0 ", " HONE_NAMES_1, "%66", "%64", "%65", "%67", "%68", \
               HONE_SUMS_0("+f"), HONE_SUMS_1("+f"))
#define HONE_WGMMA_192(type)                                                                     \
    HONE_WGMMA(type, 192, HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2, "%98", "%96", "%97", \
               "%99", "%100", HONE_SUMS_0("+f"), HONE_SUMS_1("+f"), HONE_SUMS_2("+f"))
#define HONE_WGMMA_256(type)                                                                  \
    HONE_WGMMA(type, 256, HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2 ", " HONE_NAMES_3, \
               "%130", "%128", "%129", "%131", "%132", HONE_SUMS_0("+f"), HONE_SUMS_1("+f"),  \
               HONE_SUMS_2("+f"), HONE_SUMS_3("+f"))
HONE_WGMMA_64(f16)
HONE_WGMMA_128(f16)
HONE_WGMMA_192(f16)
HONE_WGMMA_256(f16)
HONE_WGMMA_64(bf16)
HONE_WGMMA_128(bf16)
HONE_WGMMA_192(bf16)
HONE_WGMMA_256(bf16)
// Whole numbers of 8 bits lie along K.
#define HONE_WGMMA_I8(columns, names, p, a, b, ...)                                               \
    HONE_FN void hone_wgmma_i8_##columns(int2 *c, const void *a_at, const void *b_at, int, int,   \
                                         int adds) {                                              \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p ", 0;\n"                               \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k32.s32.s8.s8 {" names "}, " a \
                     ", " b ", p;\n}"                                                             \
                     : __VA_ARGS__                                                                \
                     : "l"(hone_operand(a_at, 0)), "l"(hone_operand(b_at, 0)), "r"(adds));        \
    }
HONE_WGMMA_I8(64, HONE_NAMES_0, "%34", "%32", "%33", HONE_SUMS_0("+r"))
HONE_WGMMA_I8(128, HONE_NAMES_0 ", " HONE_NAMES_1, "%66", "%64", "%65", HONE_SUMS_0("+r"),
              HONE_SUMS_1("+r"))
HONE_WGMMA_I8(192, HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2, "%98", "%96", "%97",
              HONE_SUMS_0("+r"), HONE_SUMS_1("+r"), HONE_SUMS_2("+r"))
HONE_WGMMA_I8(256, HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2 ", " HONE_NAMES_3, "%130",
              "%128", "%129", HONE_SUMS_0("+r"), HONE_SUMS_1("+r"), HONE_SUMS_2("+r"),
              HONE_SUMS_3("+r"))
#undef HONE_WGMMA_I8
// So do f8e4m3 and f8e5m2.
#define HONE_WGMMA_F8(type, columns, names, p, a, b, ...)                                          \
    HONE_FN void hone_wgmma_##type##_##columns(float2 *c, const void *a_at, const void *b_at, int, \
                                               int, int adds) {                                    \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p ", 0;\n"                                \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k32.f32." #type "." #type       \
                     " {" names "}, " a ", " b ", p, 1, 1;\n}"                                     \
                     : __VA_ARGS__                                                                 \
                     : "l"(hone_operand(a_at, 0)), "l"(hone_operand(b_at, 0)), "r"(adds));         \
    }
#define HONE_WGMMA_F8_ALL(type)                                                                    \
    HONE_WGMMA_F8(type, 64, HONE_NAMES_0, "%34", "%32", "%33", HONE_SUMS_0("+f"))                  \
    HONE_WGMMA_F8(type, 128, HONE_NAMES_0 ", " HONE_NAMES_1, "%66", "%64", "%65",                  \
                  HONE_SUMS_0("+f"), HONE_SUMS_1("+f"))                                            \
    HONE_WGMMA_F8(type, 192, HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2, "%98", "%96",       \
                  "%97", HONE_SUMS_0("+f"), HONE_SUMS_1("+f"), HONE_SUMS_2("+f"))                  \
    HONE_WGMMA_F8(type, 256, HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2 ", " HONE_NAMES_3,   \
                  "%130", "%128", "%129", HONE_SUMS_0("+f"), HONE_SUMS_1("+f"), HONE_SUMS_2("+f"), \
                  HONE_SUMS_3("+f"))
HONE_WGMMA_F8_ALL(e4m3)
HONE_WGMMA_F8_ALL(e5m2)
#undef HONE_WGMMA_F8_ALL
#undef HONE_WGMMA_F8
// So do words of tf32.
#define HONE_WGMMA_TF32(columns, names, p, a, b, ...)                                          \
    HONE_FN void hone_wgmma_tf32_##columns(float2 *c, const void *a_at, const void *b_at, int, \
                                           int, int adds) {                                    \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p ", 0;\n"                            \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k8.f32.tf32.tf32 {" names   \
                     "}, " a ", " b ", p, 1, 1;\n}"                                            \
                     : __VA_ARGS__                                                             \
                     : "l"(hone_operand(a_at, 0)), "l"(hone_operand(b_at, 0)), "r"(adds));     \
    }
HONE_WGMMA_TF32(64, HONE_NAMES_0, "%34", "%32", "%33", HONE_SUMS_0("+f"))
HONE_WGMMA_TF32(128, HONE_NAMES_0 ", " HONE_NAMES_1, "%66", "%64", "%65", HONE_SUMS_0("+f"),
                HONE_SUMS_1("+f"))
HONE_WGMMA_TF32(192, HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2, "%98", "%96", "%97",
                HONE_SUMS_0("+f"), HONE_SUMS_1("+f"), HONE_SUMS_2("+f"))
HONE_WGMMA_TF32(256, HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2 ", " HONE_NAMES_3, "%130",
                "%128", "%129", HONE_SUMS_0("+f"), HONE_SUMS_1("+f"), HONE_SUMS_2("+f"),
                HONE_SUMS_3("+f"))
#undef HONE_WGMMA_TF32
#define hone_wgmma_f16_64(c, a, b, ta, tb, adds) hone_wgmma_f16_64_of<ta, tb>(c, a, b, adds)
#define hone_wgmma_f16_128(c, a, b, ta, tb, adds) hone_wgmma_f16_128_of<ta, tb>(c, a, b, adds)
#define hone_wgmma_f16_192(c, a, b, ta, tb, adds) hone_wgmma_f16_192_of<ta, tb>(c, a, b, adds)
#define hone_wgmma_f16_256(c, a, b, ta, tb, adds) hone_wgmma_f16_256_of<ta, tb>(c, a, b, adds)
#define hone_wgmma_bf16_64(c, a, b, ta, tb, adds) hone_wgmma_bf16_64_of<ta, tb>(c, a, b, adds)
#define hone_wgmma_bf16_128(c, a, b, ta, tb, adds) hone_wgmma_bf16_128_of<ta, tb>(c, a, b, adds)
#define hone_wgmma_bf16_192(c, a, b, ta, tb, adds) hone_wgmma_bf16_192_of<ta, tb>(c, a, b, adds)
#define hone_wgmma_bf16_256(c, a, b, ta, tb, adds) hone_wgmma_bf16_256_of<ta, tb>(c, a, b, adds)
// The same with the left operand in registers.
#define HONE_WGMMA_WORDS(type, columns, names, p, a, b, tb, ...)                             \
    template <int across>                                                                    \
    HONE_FN void hone_wgmma_words_##type##_##columns##_of(float2 *c, const int *w,           \
                                                          const void *b_at, int adds) {      \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p ", 0;\n"                          \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." #type "." #type \
                     " {" names "}, {" a "}, " b ", p, 1, 1, " tb ";\n}"                     \
                     : __VA_ARGS__                                                           \
                     : "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]),                           \
                       "l"(hone_operand(b_at, across)), "r"(adds), "n"(across));             \
    }
#define HONE_WGMMA_WORDS_64(type)                                                       \
    HONE_WGMMA_WORDS(type, 64, HONE_NAMES_0, "%37", "%32, %33, %34, %35", "%36", "%38", \
                     HONE_SUMS_0("+f"))
#define HONE_WGMMA_WORDS_128(type)                                                           \
    HONE_WGMMA_WORDS(type, 128, HONE_NAMES_0 ", " HONE_NAMES_1, "%69", "%64, %65, %66, %67", \
                     "%68", "%70", HONE_SUMS_0("+f"), HONE_SUMS_1("+f"))
#define HONE_WGMMA_WORDS_192(type)                                                               \
    HONE_WGMMA_WORDS(type, 192, HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2, "%101",        \
                     "%96, %97, %98, %99", "%100", "%102", HONE_SUMS_0("+f"), HONE_SUMS_1("+f"), \
                     HONE_SUMS_2("+f"))
#define HONE_WGMMA_WORDS_256(type)                                                               \
    HONE_WGMMA_WORDS(type, 256,                                                                  \
                     HONE_NAMES_0 ", " HONE_NAMES_1 ", " HONE_NAMES_2 ", " HONE_NAMES_3, "%133", \
                     "%128, %129, %130, %131", "%132", "%134", HONE_SUMS_0("+f"),                \
                     HONE_SUMS_1("+f"), HONE_SUMS_2("+f"), HONE_SUMS_3("+f"))
HONE_WGMMA_WORDS_64(f16)
HONE_WGMMA_WORDS_128(f16)
HONE_WGMMA_WORDS_192(f16)
HONE_WGMMA_WORDS_256(f16)
HONE_WGMMA_WORDS_64(bf16)
HONE_WGMMA_WORDS_128(bf16)
HONE_WGMMA_WORDS_192(bf16)
HONE_WGMMA_WORDS_256(bf16)
#define hone_wgmma_words_f16_64(c, a, b, tb, adds) hone_wgmma_words_f16_64_of<tb>(c, a, b, adds)
#define hone_wgmma_words_f16_128(c, a, b, tb, adds) hone_wgmma_words_f16_128_of<tb>(c, a, b, adds)
#define hone_wgmma_words_f16_192(c, a, b, tb, adds) hone_wgmma_words_f16_192_of<tb>(c, a, b, adds)
#define hone_wgmma_words_f16_256(c, a, b, tb, adds) hone_wgmma_words_f16_256_of<tb>(c, a, b, adds)
#define hone_wgmma_words_bf16_64(c, a, b, tb, adds) hone_wgmma_words_bf16_64_of<tb>(c, a, b, adds)
#define hone_wgmma_words_bf16_128(c, a, b, tb, adds) hone_wgmma_words_bf16_128_of<tb>(c, a, b, adds)
#define hone_wgmma_words_bf16_192(c, a, b, tb, adds) hone_wgmma_words_bf16_192_of<tb>(c, a, b, adds)
#define hone_wgmma_words_bf16_256(c, a, b, tb, adds) hone_wgmma_words_bf16_256_of<tb>(c, a, b, adds)
#endif
