#include <criterion/criterion.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/arena.h"
#include "build/inspect.h"
#include "build/mca.h"
#include "profile/perf.h"

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

// Spills of vectors are moves to places of their own on the stack. A single element that a call
// leaves there is none, nor is a local array that the loop goes through.
Test(inspect, counts_only_vectors_that_did_not_fit) {
    struct inspection i;
    inspect_text("    10:\tvmovss %xmm0,0xc(%rsp)\n    16:\tmovsd 0x8(%rsp),%xmm1\n"
                 "    1c:\tvmovd %xmm0,0x4(%rsp)\n    20:\tvmovups (%rsp,%rax,4),%ymm2\n"
                 "    24:\tvmovaps %ymm2,0x20(%rsp,%rax,1)\n    28:\tcall   30 <expf@plt>\n"
                 "    2a:\tvmovq 0x10(%rsp),%xmm3\n    2c:\tvmovups 0x30(%rbp),%ymm4\n"
                 "    30:\tjne    10 <x>\n",
                 &i);
    cr_expect_eq(i.stack, 0);
    inspect_text("    10:\tvmovaps %ymm0,-0x70(%rbp)\n    16:\tmovups (%rsp),%xmm1\n"
                 "    1c:\tvmovdqa64 0x40(%rsp),%zmm1\n    30:\tjne    10 <x>\n",
                 &i);
    cr_expect_eq(i.stack, 3);
}

// Down a column, one element of each line, by whatever way the address goes on; not along a row,
// nor by whole vectors, nor within a small tile.
Test(inspect, counts_accesses_that_run_across_rows) {
    static const struct {
        const char *text;
        double strided;
    } cases[] = {
        {"  10:\tvmovss (%rax),%xmm0\n  14:\tvaddss %xmm0,%xmm1,%xmm1\n"
         "  18:\tadd    $0x1040,%rax\n  1c:\tjne    10 <x>\n",
         1},
        {"  10:\tvaddss (%rdi,%rax,4),%xmm1,%xmm1\n  18:\tadd    $0x410,%rax\n"
         "  1c:\tjne    10 <x>\n",
         1},
        {"  10:\tvmulss 0x8(%rdx),%xmm3,%xmm0\n  14:\tvmovss %xmm0,(%rcx)\n"
         "  18:\tlea    0x2000(%rdx),%rdx\n  1c:\tsub    $0xffffffffffffe000,%rcx\n"
         "  20:\tjne    10 <x>\n",
         2},
        {"  10:\tvmovss (%rax),%xmm0\n  18:\tadd    $0x4,%rax\n  1c:\tjne    10 <x>\n", 0},
        {"  10:\tvmulps (%rax),%zmm0,%zmm1\n  18:\tadd    $0x1040,%rax\n  1c:\tjne    10 <x>\n", 0},
        {"  10:\tvmovss %xmm0,(%rax)\n  18:\tadd    $0x80,%rax\n  1c:\tjne    10 <x>\n", 0},
        {"  10:\tvmovss (%rax),%xmm0\n  14:\tvmovss 0x4(%rax),%xmm1\n  15:\tvmovss "
         "0x8(%rax),%xmm2\n"
         "  16:\tvmovss 0xc(%rax),%xmm3\n  17:\tvmovss 0x10(%rax),%xmm3\n"
         "  18:\tadd    $0x1040,%rax\n  1c:\tjne    10 <x>\n",
         0},
        {"  10:\tvgatherdps (%rax,%ymm1,4),%ymm2{%k1}\n  18:\tadd    $0x1040,%rax\n"
         "  1c:\tjne    10 <x>\n",
         0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct inspection i;
        inspect_text(cases[k].text, &i);
        cr_expect_eq(i.strided, cases[k].strided, "case %zu: %g", k, i.strided);
    }
}

// A row of sums in memory: the register is loaded anew in every turn, and nothing waits for it.
Test(inspect, does_not_take_what_is_loaded_for_a_sum) {
    struct inspection i;
    inspect_text("    10:\tvmovups (%rax),%ymm1\n    14:\tvfmadd213ps (%rdx),%ymm2,%ymm1\n"
                 "    18:\tvmovups %ymm1,(%rdx)\n    1c:\tvfmadd231ps %ymm2,%ymm3,%ymm4\n"
                 "    20:\tjne    10 <x>\n",
                 &i);
    cr_expect_eq(i.fused, 2);
    cr_expect_eq(i.sums, 1);
}

// Compilers that keep away from chains of multiply-adds: an addition that goes on from turn to turn
// is a sum, one into the product of this turn is none.
Test(inspect, counts_sums_by_additions_where_nothing_is_fused) {
    struct inspection i;
    inspect_text("    10:\tvmulps (%rax),%zmm1,%zmm2\n    16:\tvaddps %zmm2,%zmm0,%zmm0\n"
                 "    1c:\tvmulps %zmm1,%zmm3,%zmm4\n    22:\tvaddps %zmm4,%zmm5,%zmm4\n"
                 "    28:\tvmovups %zmm4,(%rdx)\n    2e:\tjne    10 <x>\n",
                 &i);
    cr_expect_eq(i.fused, 0);
    cr_expect(i.products == 2 && i.additions == 2);
    cr_expect_eq(i.sums, 1);
}

// ---- llvm-mca

Test(inspect, asks_llvm_mca_about_the_hot_loop) {
    struct arena a = {0};
    struct inspection i;
    inspect_text(nested, &i);
    cr_assert(i.loop);
    cr_expect_str_eq(mca_question(&a, i.loop, i.loop_len),
                     "vmovups (%rdi),%zmm1\nvfmadd231ps %zmm1,%zmm2,%zmm3\n"
                     "vaddps %zmm1,%zmm2,%zmm3\n");
    static const char remarks[] = "    10:\tvmovups 0x20(%rip),%ymm1        # 40 <x+0x30>\n"
                                  "    18:\tnopw   0x0(%rax)\n    20:\tjne    10 <x>\n";
    cr_expect_str_eq(mca_question(&a, remarks, strlen(remarks)),
                     "vmovups 0x20(%rip),%ymm1        \n");
    static const char calls[] = "    10:\tcall   400 <expf@plt>\n    18:\tjne    10 <x>\n";
    cr_expect_null(mca_question(&a, calls, strlen(calls)));
    arena_reset(&a);
}

Test(inspect, reads_what_llvm_mca_says) {
    double cycles, units;
    cr_assert(mca_answer("Iterations:        100\nInstructions:      400\nTotal Cycles:      411\n"
                         "IPC:               0.97\nBlock RThroughput: 1.0\n",
                         &cycles, &units));
    cr_expect_float_eq(cycles, 4.11, 1e-9);
    cr_expect_float_eq(units, 1, 1e-9);
    cr_expect(!mca_answer("error: no such processor\n", &cycles, &units));
}

// ---- counters of the processor; in software, which every kernel counts

Test(perf, counts_what_a_thread_does) {
    static const struct perf_event events[] = {
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, METRIC_CPU_CYCLES},
        {PERF_TYPE_SOFTWARE, 9999, METRIC_CPU_INSTRUCTIONS},  // which no kernel knows
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, METRIC_CPU_CACHE_MISSES}};
    struct perf_thread t;
    double values[PERF_EVENTS_MAX] = {-1, -1, -1, -1};
    if (!perf_open(0, events, 3, &t)) {
        cr_expect(errno == EACCES || errno == EPERM || errno == ENOSYS, "%s", strerror(errno));
        return;  // not allowed here
    }
    cr_expect_eq(t.n, 2);
    for (volatile int i = 0; i < 100000; i++) {
    }
    cr_assert(perf_read(&t, values));
    cr_expect(values[0] > 0 && values[1] == -1 && values[2] >= 0);
    perf_close(&t);
    cr_expect(!perf_read(&t, values));
    cr_expect(!perf_open(0, events + 1, 1, &t) && t.n == 0);
}

Test(perf, says_why_not) {
    struct arena a = {0};
    cr_expect(strstr(perf_error_text(&a, ENOENT), "shows no counters"));
    cr_expect(strstr(perf_error_text(&a, EACCES), "perf_event_paranoid is"));
    cr_expect(strstr(perf_error_text(&a, ENOSYS), "without perf events"));
    cr_expect(strstr(perf_error_text(&a, EMFILE), "perf_event_open: "));
    arena_reset(&a);
}
