// The operation behind `hone suite`: policies (or proposers, or with and without memory) compared
// on the same tables, from the same blocks, over many seeds.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;
struct str;

enum { SUITE_VALUES_MAX = 16, SUITE_POINTS = 3 };
// Evaluations after which the best found so far is looked at.
extern const int suite_points[SUITE_POINTS];

struct suite_request {
    const char *const *tables;
    int n_tables;
    const char *vary;      // "policy=mcts,greedy", "proposer=expert,blind", "memory=on,off"
    const char *proposer;  // where it is not varied; NULL: the expert
    const char *policy;    // likewise; NULL: the default
    const char *memory;    // a file that runs are advised by; NULL: none
    int64_t seeds;
    double within;      // 0.05: within 5% of the table's best
    bool from_default;  // begin with the table's first block; else with one that the seed draws
    int race;           // so many blocks are raced at once; 0: each is judged
    int n_threads;      // 0: one per CPU
    bool (*is_stopped)(void);  // asked between runs; may be NULL
    // Called after each run, by any thread, one at a time; may be NULL.
    void (*on_run)(int64_t n_done, int64_t n_all, void *ctx);
    void *ctx;
};

// A mean over runs with its 95% interval.
struct suite_mean {
    double mean, low, high;
};

// One value on one table.
struct suite_cell {
    struct suite_mean evals;  // to within so much of the best
    double evals_median;
    double screened;  // mean of those that lost a race before that, and so were not judged
    double missed;    // share of runs that never came there
    struct suite_mean found[SUITE_POINTS];  // the table's best time over the best found so far
};

// One value on all tables: each table counts the same.
struct suite_total {
    double evals;             // geometric mean over tables of the mean evaluations
    struct suite_mean ratio;  // of evaluations to those of the last value, paired by table and seed
    double p;                 // that the ratio is 1, two-sided; NAN for the last value
    double found[SUITE_POINTS];
};

struct suite_table {
    const char *path, *problem, *device;
    int n_blocks, n_ok, n_within;  // n_within: as good as a run has to find
    double best_s, first_s;
};

struct suite_outcome {
    const char *key;  // "policy"
    const char *values[SUITE_VALUES_MAX];
    int n_values;
    struct suite_table *tables;
    int n_tables;
    int64_t seeds;
    double within;
    bool from_default;
    int race;
    struct suite_cell *cells;  // of table t and value v: [t * n_values + v]
    struct suite_total totals[SUITE_VALUES_MAX];
    int64_t n_runs, n_evals;
    double elapsed_s;
};

bool op_suite(struct arena *a, const struct suite_request *q, struct suite_outcome *out,
              struct error *err);

// hone.suite/1
json_t *suite_to_json(const struct suite_outcome *o);
