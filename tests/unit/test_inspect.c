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
    double scalar, vector;
    inspect_text(nested, &scalar, &vector);
    cr_expect_eq(scalar, 0);
    cr_expect_eq(vector, 2);
}

Test(inspect, counts_two_loops_in_a_row) {
    double scalar, vector;
    inspect_text(
        "    10:\tmulss  %xmm0,%xmm1\n    14:\tcvtss2sd %xmm0,%xmm0\n"
        "    18:\tjmp    30 <x+0x20>\n    1c:\tjne    10 <x>\n"
        "    20:\tsqrtpd %xmm0,%xmm1\n    24:\tjmp    *%rax\n    28:\tjl     20 <x+0x10>\n",
        &scalar, &vector);
    cr_expect_eq(scalar, 1);
    cr_expect_eq(vector, 1);
}

// What feeds arithmetic is none: a broadcast, a move or an insertion of one element.
Test(inspect, does_not_count_what_fills_vectors) {
    double scalar, vector;
    inspect_text("    10:\tvbroadcastss (%rax),%zmm1\n    16:\tvmovss (%rax),%xmm0\n"
                 "    1a:\tvinsertps $0x10,%xmm1,%xmm0,%xmm0\n    1e:\tvcvtsi2ss %eax,%xmm0,%xmm0\n"
                 "    24:\tvfmadd231ps %zmm1,%zmm2,%zmm3\n"
                 "    2a:\tvfmadd231ps (%rax){1to16},%zmm2,%zmm3\n    30:\tjne    10 <x>\n",
                 &scalar, &vector);
    cr_expect_eq(scalar, 0);
    cr_expect_eq(vector, 2);
}

Test(inspect, survives_any_text) {
    double scalar, vector;
    inspect_text("", &scalar, &vector);
    inspect_text("junk\n:\n  12\n  12:\n  12:\t", &scalar, &vector);
    inspect_text("  12:\tjne 99999999999999999999999\n", &scalar, &vector);
    cr_expect_eq(scalar + vector, 0);
}
