// Metrics: numbers with a name, a unit and a source, each present or absent. The table is
// metrics.def; a `struct metrics` of zeros has none of them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum metric_id {
#define METRIC(ID, ...) METRIC_##ID,
#include "record/metrics.def"
    METRIC_COUNT
};

enum metric_unit { UNIT_SECONDS, UNIT_BYTES, UNIT_SHARE, UNIT_COUNT, UNIT_RATIO, UNIT_HERTZ };
enum metric_scope { SCOPE_CALL, SCOPE_LAUNCH, SCOPE_EITHER };

// Who gives a metric.
enum metric_source {
    SOURCE_TIMING,     // the judge's clock
    SOURCE_TIMELINE,   // records of launches and copies
    SOURCE_MACHINE,    // the operating system
    SOURCE_PLAN,       // the candidate's plan of launches
    SOURCE_DRIVER,     // the driver, of a loaded kernel
    SOURCE_ASSEMBLER,  // the assembler's log
    SOURCE_CODE,       // disassembly for a CPU
    SOURCE_SASS,       // machine code of a GPU
    SOURCE_COUNTER,    // hardware counters: imported, or read by CUPTI
    SOURCE_COUNT
};

struct metric_info {
    const char *name;
    enum metric_unit unit;
    enum metric_scope scope;
    enum metric_source source;
    const char *counter;  // the vendor's names, separated by '|'; NULL: it has none
    const char *meaning;
};
extern const struct metric_info metric_table[METRIC_COUNT];

struct metrics {
    uint64_t present[(METRIC_COUNT + 63) / 64];
    double value[METRIC_COUNT];
};

// What is not finite is not taken over: the metric stays as it was.
void metrics_set(struct metrics *m, enum metric_id id, double value);
void metrics_clear(struct metrics *m, enum metric_id id);
double metrics_get(const struct metrics *m, enum metric_id id);  // NAN when absent
bool metrics_has(const struct metrics *m, enum metric_id id);
int metrics_count(const struct metrics *m);
// Take over what `from` has.
void metrics_merge(struct metrics *m, const struct metrics *from);

// Could somebody have measured that? Nothing is negative, and no share far above all of something:
// ncu itself goes to 130% where its passes differ.
bool metric_is_possible(enum metric_id id, double value);

bool metric_find(const char *name, enum metric_id *id);  // by its key; false: unknown
// By the vendor's name; `rank` is its place among the names of the metric, 0 the best.
bool metric_find_counter(const char *counter, enum metric_id *id, int *rank);
const char *metric_unit_name(enum metric_unit u);      // "s", "byte", "share", ...
const char *metric_source_name(enum metric_source s);  // "counters"
