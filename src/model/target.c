// The CPU of this machine from /proc and /sys; names of matrix and vector units.
#include "model/target.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/str.h"

const char *const target_names[] = {"cpu", "cuda", "sm_80", "sm_90a", "sm_100a", NULL};

// No x86 or Arm server part that ships boosts above this; used for the limit, where too
// high is merely a weaker alarm, when a guest hides the real top clock.
static const double TOP_CLOCK_CAUTIOUS_HZ = 6.2e9;

// The first line of a small system file without its newline; NULL when it is not there.
static const char *read_line(struct arena *a, const char *path) {
    char line[256];
    FILE *f = fopen(path, "re");
    if (!f)
        return NULL;
    bool got = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    if (!got)
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return arena_strdup(a, line);
}

// Vector units that a core can keep busy with multiply-adds, and vector loads it can start
// per cycle. Two of each is the most that any x86 or Arm server core has done so far for
// 512 bits; cores with narrower vectors have up to four, which is the same width.
enum { PIPES_OF_64_BYTES = 2 };

// Narrow products go by dot products within lanes, two or four at a time (AVX512-BF16, VNNI), or
// by tiles (AMX: 16 times the multiply-adds of two 512-bit units, and twice that for bytes).
static void set_narrow_peaks(struct target *t) {
    bool has_tiles = false;
    char line[8192];
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !has_tiles && fgets(line, sizeof line, f))
        has_tiles = strstr(line, " amx_tile") != NULL;
    if (f)
        fclose(f);
    t->peak_per_s[PIPE_F16] = t->peak_per_s[PIPE_F32] * (has_tiles ? 16 : 2);
    t->peak_per_s[PIPE_I8] = t->peak_per_s[PIPE_F32] * (has_tiles ? 32 : 4);
}

static const char *read_model_name(struct arena *a) {
    char line[512];
    const char *name = NULL;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !name && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        name = arena_strdup(a, colon + 1 + strspn(colon + 1, " "));
    }
    if (f)
        fclose(f);
    return name ? name : "unknown CPU";
}

// "32K" or "1M" as sysfs writes sizes.
static int64_t parse_size(const char *text) {
    char *end;
    int64_t n = strtoll(text, &end, 10);
    if (*end == 'K')
        return n << 10;
    return *end == 'M' ? n << 20 : n;
}

static void read_caches(struct arena *a, struct target *t) {
    for (int i = 0; i < 8; i++) {
        const char *dir = arena_printf(a, "/sys/devices/system/cpu/cpu0/cache/index%d", i);
        const char *type = read_line(a, arena_printf(a, "%s/type", dir));
        const char *level = read_line(a, arena_printf(a, "%s/level", dir));
        const char *size = read_line(a, arena_printf(a, "%s/size", dir));
        if (!type || !level || !size || strcmp(type, "Instruction") == 0)
            continue;
        int64_t bytes = parse_size(size);
        if (strcmp(level, "1") == 0)
            t->l1_bytes = bytes;
        else if (strcmp(level, "2") == 0)
            t->l2_bytes = bytes;
        if (bytes > t->llc_bytes)
            t->llc_bytes = bytes;
    }
    // Sizes that every core of the last fifteen years has, where a container hides sysfs.
    if (!t->l1_bytes)
        t->l1_bytes = 32 << 10;
    if (!t->l2_bytes)
        t->l2_bytes = 256 << 10;
    if (!t->llc_bytes)
        t->llc_bytes = 32 << 20;
}

static void read_vectors(struct target *t) {
    t->vector_bytes = 16;
    t->isa = "128-bit vectors";
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        t->vector_bytes = 64;
        t->isa = "x86-64 with AVX-512";
    } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        t->vector_bytes = 32;
        t->isa = "x86-64 with AVX2";
    } else {
        t->isa = "x86-64 with SSE2";
    }
#endif
}

static void read_clock(struct arena *a, struct target *t) {
    const char *khz = read_line(a, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    double value;
    t->top_clock_known = khz && str_to_double(khz, &value) && value > 0;
    t->top_clock_hz = t->top_clock_known ? value * 1e3 : TOP_CLOCK_CAUTIOUS_HZ;
}

bool target_read_cpu(struct arena *a, int n_threads, const char *cc, struct target *t,
                     struct error *err) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return error_set(err, ERROR_IO, "cannot ask which CPUs this process may use");
    int available = CPU_COUNT(&set);
    if (n_threads > available)
        return error_set(err, ERROR_USAGE, "%d threads asked for, but only %d CPUs are usable",
                         n_threads, available);

    *t = (struct target){.name = "cpu", .cc = cc};
    t->n_threads = n_threads > 0 ? n_threads : available;
    read_vectors(t);
    read_caches(a, t);
    read_clock(a, t);
    // The bandwidth behind the last-level cache cannot be looked up on an arbitrary machine, and
    // a part of the data may be in it: the cores' own loads are the only hard limit.
    double wide = PIPES_OF_64_BYTES * t->n_threads * t->top_clock_hz;
    t->peak_bytes_per_s = wide * 64;
    t->peak_per_s[PIPE_F32] = wide * 16 * 2;
    t->peak_per_s[PIPE_F64] = wide * 8 * 2;
    set_narrow_peaks(t);
    const char *model = read_model_name(a);
    t->device =
        arena_printf(a, "%s, %d thread%s", model, t->n_threads, t->n_threads == 1 ? "" : "s");
    t->id = hash_text(a, arena_printf(a, "cpu|%s|%s|%d|%lld", model, t->isa, t->n_threads,
                                      (long long)t->llc_bytes));
    return true;
}

const char *pipe_name(enum pipe p) {
    static const char *const names[PIPE_COUNT] = {"f32", "f64", "tf32",    "f16",
                                                  "f8",  "i8",  "function"};
    return names[p];
}

const char *pipe_text(enum pipe p) {
    static const char *const words[PIPE_COUNT] = {
        "f32 multiply-adds", "f64 multiply-adds", "TF32 products", "f16/bf16 products",
        "f8 products",       "i8 products",       "functions"};
    return words[p];
}

double target_on_chip_bytes(const struct target *t) {
    double each = t->is_gpu
                      ? (double)t->sms * ((double)t->shared_per_sm + 4.0 * t->registers_per_sm)
                      : (double)t->n_threads * (double)t->l2_bytes;
    return (double)t->llc_bytes + each;
}
