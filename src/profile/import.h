// Profiles that other programs measured: what ncu printed as CSV (raw or details page, any units
// and number format, also as a spreadsheet saves it), what nsys exported to SQLite. Launches of one
// kernel with one shape are brought together.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "record/profile.h"

struct arena;
struct error;

struct imported {
    const char *what;    // "ncu, raw page"
    const char *device;  // "NVIDIA H200"; NULL: it does not say
    int capability;      // 90 for 9.0; 0: it does not say
    int sms;             // 0: it does not say
    int n_launches;      // before they were brought together
    int n_more;   // kernels that are one row together, the last: those with least of the time
    int n_cut;    // rows that end before their table does, and are left out
    int n_wrong;  // values that cannot be (negative, or far above 100%), and are left out
    const char *wrong[3];  // the first of them, "gpu__time_duration.sum = -5"; NULL behind them
    struct profile profile;
};

bool import_is_ncu(const char *text, size_t len);  // does it look like one?
bool import_ncu(struct arena *a, const char *text, size_t len, struct imported *out,
                struct error *err);

// The SQLite export of nsys: a timeline, launches already brought together.
bool import_is_nsys(const char *path);
bool import_nsys(struct arena *a, const char *path, struct imported *out, struct error *err);

// What hone printed itself: hone.program/1 or hone.diagnosis/1.
bool import_is_hone(const char *text, size_t len);
bool import_hone(struct arena *a, const char *text, size_t len, struct imported *out,
                 struct error *err);

// Launches of the same name and shape become one: with the number of them, and the metrics of the
// one whose time is the median.
void import_group(struct arena *a, struct profile *p);
