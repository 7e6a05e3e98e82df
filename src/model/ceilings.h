// Ceilings: what a device was seen to do at best, in traffic and in arithmetic.
//
// They are measured by eval/calibrate in the state in which candidates are timed; a target carries
// them. A ceiling that was not measured is NAN.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { POINTS_MAX = 9 };

// Seconds for a mix of traffic: fixed + bytes / rate for many bytes, and the points next to this
// line: what single sizes took. Small calls find some of their data in the caches when their turn
// comes again, and of what was written some still lies there when the clock stops. So reach asks
// for no more time than lies between the points where those are below the line, the first of them
// being a launch.
struct ceiling_traffic {
    double read_fraction;  // of all bytes moved: 1 read only, 0.5 copy, 0 write only
    double bytes_per_s;
    double spread;   // relative spread over repeats
    double fixed_s;  // a launch included
    bool streams;    // stores that go round the caches were the better ones
    struct ceiling_point {
        double bytes;    // 0: not measured
        double seconds;  // a launch included; grows with bytes
    } point[POINTS_MAX];
};

// What one level of the caches gives when the data lies there already.
struct ceiling_cache {
    int64_t bytes;  // that were read again and again, on all threads together
    double bytes_per_s;
};

// Multiply-adds in vectors of one width.
struct ceiling_width {
    int vector_bytes;
    double f32_flops_per_s, f64_flops_per_s;
};

enum {
    TRAFFIC_MIXES = 4,  // read, two reads per write, copy, write
    CACHE_LEVELS = 3,
    WIDTHS = 3,  // 16, 32 and 64 bytes
};

struct ceilings {
    bool present;
    double launch_s;                                // fixed cost of one launch through the runner
    struct ceiling_traffic traffic[TRAFFIC_MIXES];  // by falling read_fraction
    // Points hold: a device that nothing else uses has timed them itself. Elsewhere one that is
    // above the line says that the machine was busy.
    bool is_steady;
    double f32_flops_per_s;  // independent FMA chains on all threads
    double f32_spread;
    double f64_flops_per_s;
    double bf16_flops_per_s, tf32_flops_per_s, f8_flops_per_s, i8_flops_per_s;  // matrix units
    double functions_per_s;  // exp of an f32, as often as all threads can
    double fault_s;          // CPU: a page that is touched for the first time
    double fuse_gain;        // CPU: products and sums apart, over multiply-adds, in time
    double line_s;           // CPU: a line that another processor has changed
    struct ceiling_cache cache[CACHE_LEVELS];  // CPU: L1, L2, last level; 0 bytes: not measured
    struct ceiling_width width[WIDTHS];        // CPU; 0 bytes: the machine has none
    double seconds;                            // that measuring took
    const char *measured_at;                   // timestamp
    const char *how;  // "4 sizes x 9 repeats, cold, ordinary and non-temporal stores"
};

// What holds whatever a busy machine made of a measurement: more bytes never take less time, and
// many are moved at the rate of few, since they can be moved as a row of such calls. Points of
// `cold_bytes` and more found nothing in the caches.
void ceilings_settle(struct ceilings *c, double cold_bytes);

// Take from `fresh` whatever is better: of two measurements on a busy machine the faster is nearer
// to what the device can do. Field by field, so that no traffic of any size takes longer than
// before.
void ceilings_raise(struct ceilings *c, const struct ceilings *fresh);

// The largest relative spread over repeats; and whether that says more of the machine's load while
// they were measured than of the machine. What was not measured is sure.
double ceilings_spread(const struct ceilings *c);
bool ceilings_are_unsure(const struct ceilings *c);

// Bytes per second for much traffic of which `read_fraction` is reads: interpolated in time per
// byte between the measured mixes.
double ceilings_bandwidth(const struct ceilings *c, double read_fraction);
// Seconds of a call that moves so many bytes in all, a launch included and never less than one.
double ceilings_seconds(const struct ceilings *c, double read_fraction, double bytes);
