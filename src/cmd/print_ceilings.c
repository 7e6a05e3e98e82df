#include <math.h>
#include <stdio.h>

#include "cmd/print.h"

static void print_rate(const char *what, double per_s, double unit, const char *name) {
    if (!isnan(per_s))
        printf("  %-18s %7.1f %s\n", what, per_s / unit, name);
}

void print_ceilings(const struct ceilings *c) {
    if (!c->present) {
        printf("  ceilings not measured yet: run hone calibrate\n");
        return;
    }
    static const char *const mixes[TRAFFIC_MIXES] = {"read", "2 reads : 1 write", "copy", "write"};
    for (int i = 0; i < TRAFFIC_MIXES; i++)
        printf("  %-18s %7.1f GB/s     (spread %.1f%%)\n", mixes[i],
               c->traffic[i].bytes_per_s / 1e9, c->traffic[i].spread * 100);
    printf("  %-18s %7.1f GFLOP/s  (spread %.1f%%)\n", "f32 multiply-add", c->f32_flops_per_s / 1e9,
           c->f32_spread * 100);
    print_rate("f64 multiply-add", c->f64_flops_per_s, 1e9, "GFLOP/s");
    print_rate("bf16 tensor", c->bf16_flops_per_s, 1e12, "TFLOP/s");
    print_rate("tf32 tensor", c->tf32_flops_per_s, 1e12, "TFLOP/s");
    printf("  %-18s %7.1f µs\n", "launch", c->launch_s * 1e6);
    printf("  measured %s: %s\n", c->measured_at, c->how);
}
