// The ceilings of a target as a table for people; `calibrate` and `devices` share it.
#include <stdio.h>

#include "base/str.h"
#include "cmd/print.h"

static void print_rate(struct str *out, const char *what, double per_s, double unit,
                       const char *name) {
    if (per_s > 0)
        str_printf(out, "  %-20s %7.1f %s\n", what, per_s / unit, name);
}

// Those of large ones are near the line.
enum { SMALL_POINTS = 3 };

static void print_small(struct str *out, const struct ceiling_point *small) {
    if (small[0].bytes <= 0)
        return;
    str_printf(out, "  %-20s ", "a small copy");
    for (int i = 0; i < SMALL_POINTS && small[i].bytes > 0; i++) {
        bool is_kilo = small[i].bytes < 1e6;
        str_printf(out, "%s%.3g %s in %.1f µs", i ? ", " : "",
                   small[i].bytes / (is_kilo ? 1e3 : 1e6), is_kilo ? "kB" : "MB",
                   small[i].seconds * 1e6);
    }
    str_printf(out, "\n");
}

static void print_traffic(struct str *out, const struct ceilings *c) {
    static const char *const mixes[TRAFFIC_MIXES] = {"read", "2 reads : 1 write", "copy", "write"};
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        str_printf(out, "  %-20s %7.1f GB/s     (spread %.1f%%) after %.1f µs%s\n", mixes[i],
                   c->traffic[i].bytes_per_s / 1e9, c->traffic[i].spread * 100,
                   c->traffic[i].fixed_s * 1e6, c->traffic[i].streams ? ", streaming stores" : "");
    print_small(out, c->traffic[2].point);
    for (int i = 0; i < CACHE_LEVELS; i++) {
        char what[32];
        snprintf(what, sizeof what, "read, cache level %d", i + 1);
        print_rate(out, what, c->cache[i].bytes_per_s, 1e9, "GB/s");
    }
}

void print_ceilings(struct str *out, const struct ceilings *c) {
    if (!c->present) {
        str_printf(out, "  ceilings not measured yet: run hone calibrate\n");
        return;
    }
    print_traffic(out, c);
    str_printf(out, "  %-20s %7.1f GFLOP/s  (spread %.1f%%)\n", "f32 multiply-add",
               c->f32_flops_per_s / 1e9, c->f32_spread * 100);
    print_rate(out, "f64 multiply-add", c->f64_flops_per_s, 1e9, "GFLOP/s");
    for (int i = 0; i < WIDTHS && c->width[1].vector_bytes; i++) {
        char what[32];
        snprintf(what, sizeof what, "  %d-bit vectors", c->width[i].vector_bytes * 8);
        if (c->width[i].vector_bytes)
            str_printf(out, "  %-20s %7.1f GFLOP/s in f32, %.1f in f64\n", what,
                       c->width[i].f32_flops_per_s / 1e9, c->width[i].f64_flops_per_s / 1e9);
    }
    print_rate(out, "bf16 tensor", c->bf16_flops_per_s, 1e12, "TFLOP/s");
    print_rate(out, "tf32 tensor", c->tf32_flops_per_s, 1e12, "TFLOP/s");
    print_rate(out, "f8 tensor", c->f8_flops_per_s, 1e12, "TFLOP/s");
    print_rate(out, "i8 tensor", c->i8_flops_per_s, 1e12, "TOP/s");
    print_rate(out, "functions (exp)", c->functions_per_s, 1e9, "G/s");
    str_printf(out, "  %-20s %7.1f µs\n", "launch", c->launch_s * 1e6);
    print_rate(out, "page fault", c->fault_s, 1e-6, "µs");
    print_rate(out, "line of another core", c->line_s, 1e-9, "ns");
    str_printf(out, "  measured %s in %.1f s: %s\n", c->measured_at, c->seconds, c->how);
}
