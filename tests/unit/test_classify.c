// Classes from counters: the figures are measured ones, of three kernels on an H200 (a copy, chains
// of multiply-adds, shared memory with conflicts).
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "profile/classify.h"

static struct arena a;

struct row {
    enum metric_id id;
    double value;
};

static struct metrics metrics_of(const struct row *rows, int n) {
    struct metrics m = {0};
    for (int i = 0; i < n; i++)
        metrics_set(&m, rows[i].id, rows[i].value);
    return m;
}
#define METRICS(rows) metrics_of(rows, (int)(sizeof(rows) / sizeof(rows)[0]))

// L2 is busier than memory: everything from memory passes through it.
static const struct row copy[] = {
    {METRIC_TIME, 495e-6},
    {METRIC_DRAM_BUSY, 0.891},
    {METRIC_L2_BUSY, 0.9355},
    {METRIC_L1_BUSY, 0.2923},
    {METRIC_ISSUE_BUSY, 0.0968},
    {METRIC_PIPE_FMA_BUSY, 0.016},
    {METRIC_LOAD_SECTORS, 33.5e6},
    {METRIC_STORE_SECTORS, 33.5e6},
    {METRIC_SHARED_WAVEFRONTS, 524288},
};
static const struct row fma_chains[] = {
    {METRIC_TIME, 620e-6},   {METRIC_DRAM_BUSY, 0.0004}, {METRIC_L2_BUSY, 0.001},
    {METRIC_L1_BUSY, 0.001}, {METRIC_ISSUE_BUSY, 0.998}, {METRIC_PIPE_FMA_BUSY, 0.91},
};
static const struct row conflicts[] = {
    {METRIC_TIME, 1079e-6},
    {METRIC_DRAM_BUSY, 0.0002},
    {METRIC_L2_BUSY, 0.001},
    {METRIC_L1_BUSY, 0.98},
    {METRIC_ISSUE_BUSY, 0.056},
    {METRIC_PIPE_FMA_BUSY, 0.021},
    {METRIC_SHARED_LOAD_CONFLICTS, 268174159},
    {METRIC_SHARED_STORE_CONFLICTS, 0},
    {METRIC_SHARED_WAVEFRONTS, 277145963},
};

Test(classify, tells_three_measured_kernels_apart) {
    struct target t = {.is_gpu = true};
    struct metrics m = METRICS(copy);
    struct class_of c = classify_launch(&m, &t);
    cr_expect(c.kind == CLASS_MEMORY && c.part == PART_DRAM, "%s", class_text(&a, &c));
    m = METRICS(fma_chains);
    c = classify_launch(&m, &t);
    cr_expect(c.kind == CLASS_COMPUTE && c.part == PART_ARITHMETIC, "%s", class_text(&a, &c));
    m = METRICS(conflicts);
    c = classify_launch(&m, &t);
    cr_expect(c.kind == CLASS_MEMORY && c.part == PART_SHARED, "%s", class_text(&a, &c));
    cr_expect(strstr(class_text(&a, &c), "memory-bound (shared memory 98% busy;"), "%s",
              class_text(&a, &c));
}

Test(classify, knows_every_class_and_part) {
    static const struct {
        double dram, l2, l1, issue, fma, tensor;
        enum class_kind kind;
        enum class_part part;
    } cases[] = {
        {0.2, 0.7, 0.3, 0.2, 0.1, 0, CLASS_MEMORY, PART_L2},
        {0.65, 0.9, 0.3, 0.2, 0.1, 0, CLASS_MEMORY, PART_L2},  // clearly busier
        {0.2, 0.3, 0.9, 0.2, 0.1, 0, CLASS_MEMORY, PART_LSU},
        {0.2, 0.3, 0.3, 0.3, 0.1, 0.8, CLASS_COMPUTE, PART_TENSOR},
        {0.2, 0.3, 0.3, 0.9, 0.3, 0, CLASS_COMPUTE, PART_ISSUE},
        {0.8, 0.7, 0.3, 0.8, 0.78, 0, CLASS_MIXED, PART_DRAM},
        {0.8, 0.7, 0.3, 0.61, 0.5, 0, CLASS_MEMORY, PART_DRAM},
        {0.4, 0.3, 0.3, 0.3, 0.2, 0, CLASS_LATENCY, PART_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct row rows[] = {
            {METRIC_DRAM_BUSY, cases[i].dram},    {METRIC_L2_BUSY, cases[i].l2},
            {METRIC_L1_BUSY, cases[i].l1},        {METRIC_ISSUE_BUSY, cases[i].issue},
            {METRIC_PIPE_FMA_BUSY, cases[i].fma}, {METRIC_PIPE_TENSOR_BUSY, cases[i].tensor},
            {METRIC_SHARED_WAVEFRONTS, 0},        {METRIC_SHARED_LOAD_CONFLICTS, 0},
            {METRIC_SHARED_STORE_CONFLICTS, 0},
        };
        struct metrics m = METRICS(rows);
        struct class_of c = classify_launch(&m, NULL);
        cr_expect(c.kind == cases[i].kind && c.part == cases[i].part, "case %zu: %s", i,
                  class_text(&a, &c));
    }
}

Test(classify, takes_the_measured_ceiling_of_memory_where_there_is_one) {
    // 2 GB in 1 ms is 0.42 of the peak's 4.8 TB/s, and most of what this card was seen to do.
    const struct row rows[] = {{METRIC_TIME, 1e-3},
                               {METRIC_DRAM_READ_BYTES, 1e9},
                               {METRIC_DRAM_WRITE_BYTES, 1e9},
                               {METRIC_DRAM_BUSY, 0.42},
                               {METRIC_ISSUE_BUSY, 0.1}};
    struct metrics m = METRICS(rows);
    struct target t = {.is_gpu = true, .ceilings = {.present = true, .launch_s = 3e-6}};
    struct class_of c = classify_launch(&m, NULL);
    cr_expect_eq(c.kind, CLASS_LATENCY);
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        t.ceilings.traffic[i] = (struct ceiling_traffic){
            .read_fraction = 1 - i / (double)(TRAFFIC_MIXES - 1), .bytes_per_s = 2.2e12};
    c = classify_launch(&m, &t);
    cr_expect(c.kind == CLASS_MEMORY && c.busy > 0.85, "%s", class_text(&a, &c));
}

Test(classify, is_silent_without_counters_and_knows_a_launch) {
    struct metrics m = {0};
    struct target t = {.is_gpu = true, .ceilings = {.present = true, .launch_s = 3e-6}};
    struct class_of c = classify_launch(&m, &t);
    cr_expect_eq(c.kind, CLASS_UNKNOWN);
    cr_expect_str_eq(class_text(&a, &c), "class unknown");
    const struct row rows[] = {
        {METRIC_TIME, 4e-6}, {METRIC_L2_BUSY, 0.05}, {METRIC_ISSUE_BUSY, 0.02}};
    m = METRICS(rows);
    c = classify_launch(&m, &t);
    cr_expect(c.kind == CLASS_LATENCY && c.part == PART_LAUNCH);
    cr_expect(strstr(class_text(&a, &c), "mostly launching"), "%s", class_text(&a, &c));
}

Test(classify, weighs_launches_by_their_time) {
    struct profile p = {0};
    struct bound b = {.side = BOUND_MEMORY, .reach_s = 1e-3};
    struct classes out;
    profile_add_launch(&a, &p, "copy")->metrics = METRICS(copy);
    profile_add_launch(&a, &p, "fma")->metrics = METRICS(fma_chains);
    profile_add_launch(&a, &p, "copy")->metrics = METRICS(copy);
    classify(&a, &p, &b, NULL, &out);
    cr_expect_eq(out.measured.kind, CLASS_MEMORY, "two of three, 61%% of the time");
    cr_expect_float_eq(out.measured_share, 990. / 1610, 1e-9);
    cr_expect(!classes_disagree(&out.analytic, &out.measured));
    cr_expect(classes_disagree(&out.analytic, &out.launches[1]));
    metrics_set(&p.launches[1].metrics, METRIC_TIME, 2e-3);
    classify(&a, &p, &b, NULL, &out);
    cr_expect_eq(out.measured.kind, CLASS_COMPUTE);
    cr_expect(classes_disagree(&out.analytic, &out.measured));
    struct profile none = {0};
    classify(&a, &none, NULL, NULL, &out);
    cr_expect(out.analytic.kind == CLASS_UNKNOWN && out.measured.kind == CLASS_UNKNOWN);
    cr_expect(!classes_disagree(&out.analytic, &out.measured));
}

Test(classify, reads_the_problems_side_off_its_bound) {
    static const struct {
        enum bound_side side;
        enum class_kind kind;
        enum class_part part;
    } cases[] = {{BOUND_MEMORY, CLASS_MEMORY, PART_DRAM},
                 {BOUND_COMPUTE, CLASS_COMPUTE, PART_ARITHMETIC},
                 {BOUND_LAUNCH, CLASS_LATENCY, PART_LAUNCH},
                 {BOUND_CHAIN, CLASS_LATENCY, PART_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bound b = {.side = cases[i].side, .reach_s = 1e-3};
        b.reach_pipe_s[PIPE_F32] = 1;
        struct class_of c = classify_bound(&b);
        cr_expect(c.kind == cases[i].kind && c.part == cases[i].part, "case %zu", i);
    }
    struct bound b = {.side = BOUND_COMPUTE, .reach_s = 1e-3};
    b.reach_pipe_s[PIPE_TF32] = 1;
    cr_expect_eq(classify_bound(&b).part, PART_TENSOR);
}
