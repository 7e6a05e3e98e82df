// Look-ups in the table, and a bit for each metric that is present.
#include "record/metrics.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct metric_info metric_table[METRIC_COUNT] = {
#define METRIC(ID, name_, unit_, scope_, source_, counter_, meaning_) \
    [METRIC_##ID] = {.name = name_,                                   \
                     .unit = UNIT_##unit_,                            \
                     .scope = SCOPE_##scope_,                         \
                     .source = SOURCE_##source_,                      \
                     .counter = counter_,                             \
                     .meaning = meaning_},
#include "record/metrics.def"
};

bool metrics_has(const struct metrics *m, enum metric_id id) {
    return m->present[id / 64] >> (id % 64) & 1;
}

void metrics_set(struct metrics *m, enum metric_id id, double value) {
    assert(id < METRIC_COUNT);
    if (!isfinite(value))
        return;
    m->present[id / 64] |= UINT64_C(1) << (id % 64);
    m->value[id] = value;
}

void metrics_clear(struct metrics *m, enum metric_id id) {
    m->present[id / 64] &= ~(UINT64_C(1) << (id % 64));
}

double metrics_get(const struct metrics *m, enum metric_id id) {
    return metrics_has(m, id) ? m->value[id] : NAN;
}

int metrics_count(const struct metrics *m) {
    int n = 0;
    for (int i = 0; i < METRIC_COUNT; i++)
        n += metrics_has(m, (enum metric_id)i);
    return n;
}

void metrics_merge(struct metrics *m, const struct metrics *from) {
    for (int i = 0; i < METRIC_COUNT; i++)
        metrics_set(m, (enum metric_id)i, metrics_get(from, (enum metric_id)i));
}

bool metric_is_possible(enum metric_id id, double value) {
    static const double MOST = 2;
    return value >= 0 && (metric_table[id].unit != UNIT_SHARE || value <= MOST);
}

bool metric_find(const char *name, enum metric_id *id) {
    for (int i = 0; i < METRIC_COUNT; i++)
        if (strcmp(metric_table[i].name, name) == 0) {
            *id = (enum metric_id)i;
            return true;
        }
    return false;
}

// The place of `name` in a list with '|' between its items; -1: it is not there.
static int place_in(const char *list, const char *name) {
    size_t len = strlen(name);
    int place = 0;
    for (const char *at = list; at && *at; place++) {
        size_t item = strcspn(at, "|");
        if (item == len && memcmp(at, name, len) == 0)
            return place;
        at += item + (at[item] == '|');
    }
    return -1;
}

bool metric_find_counter(const char *counter, enum metric_id *id, int *rank) {
    for (int i = 0; i < METRIC_COUNT; i++) {
        *rank = place_in(metric_table[i].counter, counter);
        if (*rank >= 0) {
            *id = (enum metric_id)i;
            return true;
        }
    }
    return false;
}

const char *metric_unit_name(enum metric_unit u) {
    static const char *const names[] = {
        [UNIT_SECONDS] = "s",   [UNIT_BYTES] = "byte",  [UNIT_SHARE] = "share",
        [UNIT_COUNT] = "count", [UNIT_RATIO] = "ratio", [UNIT_HERTZ] = "Hz"};
    return names[u];
}

const char *metric_source_name(enum metric_source s) {
    static const char *const names[] = {
        [SOURCE_TIMING] = "timing",    [SOURCE_TIMELINE] = "timeline",
        [SOURCE_MACHINE] = "machine",  [SOURCE_PLAN] = "plan",
        [SOURCE_DRIVER] = "driver",    [SOURCE_ASSEMBLER] = "assembler",
        [SOURCE_CODE] = "code",        [SOURCE_SASS] = "cubin",
        [SOURCE_COUNTER] = "counters",
    };
    return names[s];
}
