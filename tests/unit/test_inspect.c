#include <criterion/criterion.h>

#include "build/inspect.h"

// Two nested loops: only the inner one is hot. Moves and conversions do not count.
static const char nested[] = "0000000000001000 <rows>:\n"
                             "    1000:\tvaddss %xmm0,%xmm1,%xmm0\n"
                             "    1004:\tvmovups (%rdi),%zmm1\n"
                             "    1008:\tvfmadd231ps %zmm1,%zmm2,%zmm3\n"
                             "    100c:\tvaddps %zmm1,%zmm2,%zmm3\n"
                             "    1010:\tjne    1004 <rows+0x4>\n"
                             "    1014:\tvmulss %xmm0,%xmm1,%xmm0\n"
                             "    1018:\tjb     1000 <rows>\n"
                             "    101c:\tret\n";

Test(inspect, counts_arithmetic_in_innermost_loops) {
    struct inspection i;
    inspect_text(nested, &i);
    cr_expect_eq(i.scalar, 0);
    cr_expect_eq(i.vector, 2);
}

Test(inspect, counts_two_loops_in_a_row) {
    struct inspection i;
    inspect_text(
        "    10:\tmulss  %xmm0,%xmm1\n    14:\tcvtss2sd %xmm0,%xmm0\n"
        "    18:\tjmp    30 <x+0x20>\n    1c:\tjne    10 <x>\n"
        "    20:\tsqrtpd %xmm0,%xmm1\n    24:\tjmp    *%rax\n    28:\tjl     20 <x+0x10>\n",
        &i);
    cr_expect_eq(i.scalar, 1);
    cr_expect_eq(i.vector, 1);
}

// What feeds arithmetic is none: a broadcast, a move or an insertion of one element.
Test(inspect, does_not_count_what_fills_vectors) {
    struct inspection i;
    inspect_text("    10:\tvbroadcastss (%rax),%zmm1\n    16:\tvmovss (%rax),%xmm0\n"
                 "    1a:\tvinsertps $0x10,%xmm1,%xmm0,%xmm0\n    1e:\tvcvtsi2ss %eax,%xmm0,%xmm0\n"
                 "    24:\tvfmadd231ps %zmm1,%zmm2,%zmm3\n"
                 "    2a:\tvfmadd231ps (%rax){1to16},%zmm2,%zmm3\n    30:\tjne    10 <x>\n",
                 &i);
    cr_expect_eq(i.scalar, 0);
    cr_expect_eq(i.vector, 2);
}

Test(inspect, survives_any_text) {
    struct inspection i;
    inspect_text("", &i);
    inspect_text("junk\n:\n  12\n  12:\n  12:\t", &i);
    inspect_text("  12:\tjne 99999999999999999999999\n", &i);
    cr_expect_eq(i.scalar + i.vector, 0);
}

// Two sums over eight and sixteen lanes, a product and an addition apart, one vector from the
// stack, one gather; the same register twice is one sum.
Test(inspect, counts_widths_sums_and_what_goes_to_memory) {
    struct inspection i;
    inspect_text(
        "    10:\tvmovups 0x40(%rsp),%zmm9\n    16:\tvgatherdps (%rax,%zmm1,4),%zmm2{%k1}\n"
        "    1c:\tvfmadd231ps %zmm9,%zmm2,%zmm3\n    22:\tvfmadd231ps %ymm9,%ymm2,%ymm4\n"
        "    28:\tvfmadd231ps %zmm9,%zmm2,%zmm3\n    2e:\tvmulps %zmm1,%zmm2,%zmm5\n"
        "    34:\tvaddps %zmm5,%zmm6,%zmm6\n    3a:\tvmovups (%rdi),%zmm7\n"
        "    40:\tjne    10 <x>\n",
        &i);
    cr_expect_eq(i.vector, 5);
    cr_expect_eq(i.vector_bytes, 4 * 64 + 32);
    cr_expect_eq(i.fused, 3);
    cr_expect(i.products == 1 && i.additions == 1);
    cr_expect_eq(i.stack, 1);
    cr_expect_eq(i.gathers, 1);
    cr_expect_eq(i.sums, 2);
}
