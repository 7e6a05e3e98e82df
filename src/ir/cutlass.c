// Static checks of a configuration: what CUTLASS's own static_asserts and can_implement() would say
// after a minute of compiling, in words, with the nearest choice that is legal.
#include "ir/cutlass.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *const cutlass_schedules[] = {"cooperative", "pingpong", "cooperative_fast",
                                         "pingpong_fast", NULL};
const char *const cutlass_stores[] = {"tma", "direct", NULL};
const char *const cutlass_schedulers[] = {"persistent", "stream_k", NULL};
const char *const cutlass_rasters[] = {"auto", "along_m", "along_n", NULL};

// What a block of sm_90 has; barriers and what alignment takes; sums that a thread has registers
// for; blocks in a cluster that every card has room for; a row of the copy engine's.
enum {
    SHARED_MAX = 227 << 10,
    SHARED_BESIDES = 1024,
    BARRIER_BYTES = 16,
    SUMS_MAX = 160,
    CLUSTER_MAX = 8,
    ROW_BYTES = 16,
    DEPTH_LEAST = 64,
    DEPTH_MOST = 256,
    DEPTH_BEST = 128,
    STAGES_LEAST = 2,
};

__attribute__((format(printf, 3, 4))) static bool object(struct cutlass_objection *why,
                                                         const char *knob, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    why->knob = knob;
    vsnprintf(why->text, sizeof why->text, fmt, args);
    va_end(args);
    return false;
}

static bool is_f8(enum dtype t) {
    return t == DTYPE_F8E4M3 || t == DTYPE_F8E5M2;
}

static bool is_fast(const int64_t *z) {
    return z[CUTLASS_SCHEDULE] >= SCHEDULE_COOPERATIVE_FAST;
}

static bool is_cooperative(const int64_t *z) {
    return z[CUTLASS_SCHEDULE] == SCHEDULE_COOPERATIVE ||
           z[CUTLASS_SCHEDULE] == SCHEDULE_COOPERATIVE_FAST;
}

bool cutlass_is_along_k(const struct call *c, int operand) {
    const int64_t *z = c->number;
    return z[operand == CALL_LHS ? GEMM_LHS + 1 : GEMM_RHS] == 1;
}

bool cutlass_rounds_to(enum dtype type) {
    return type == DTYPE_F16 || type == DTYPE_BF16 || type == DTYPE_F32;
}

// ---- types and sizes

static bool check_types(const struct call *c, const enum dtype *types,
                        struct cutlass_objection *why) {
    enum dtype in = types[CALL_LHS], out = types[CALL_OUT];
    bool is_half = in == DTYPE_F16 || in == DTYPE_BF16;
    bool is_tf32 = in == DTYPE_F32 && c->math == CALL_TF32;
    if (in == DTYPE_I8) {
        if (out != DTYPE_I32 || c->epilogue.n_steps > 0 || c->math != CALL_I32)
            return object(why, NULL,
                          "products of i8 are stored as i32, with nothing behind them; materialise "
                          "the sums first");
    } else if (!(is_half || is_f8(in) || is_tf32) || c->math == CALL_I32 ||
               !cutlass_rounds_to(out)) {
        return object(why, NULL,
                      "CUTLASS multiplies f16, bf16, f8 and f32 as tf32, to f16, bf16 or f32, and "
                      "i8 to i32; these are %s to %s%s",
                      dtype_name(in), dtype_name(out),
                      in == DTYPE_F32 && !is_tf32 ? " (not under 'precision tf32')" : "");
    }
    bool along_k = cutlass_is_along_k(c, CALL_LHS) && cutlass_is_along_k(c, CALL_RHS);
    return along_k || is_half ||
           object(why, NULL,
                  "CUTLASS multiplies %s that lies side by side along K on both sides (TN); bring "
                  "it into that order first",
                  is_tf32 ? "tf32" : dtype_name(in));
}

// A matrix whose rows or columns lie side by side, in rows that the copy engine takes.
static bool check_matrix(const int64_t *strides, const int64_t *sizes, enum dtype type,
                         const char *name, struct cutlass_objection *why) {
    int inner = strides[1] == 1 ? 1 : 0;
    int64_t lead = strides[!inner], bytes = dtype_size(type, lead);
    if (strides[inner] != 1 || lead < sizes[inner])
        return object(why, NULL,
                      "neither rows nor columns of the %s lie side by side; materialise it first",
                      name);
    int64_t width = dtype_size(type, sizes[inner]);
    if (bytes % ROW_BYTES != 0 || width % ROW_BYTES != 0)
        return object(why, NULL,
                      "rows of the %s have %lld bytes, and the copy engine takes multiples of 16: "
                      "%lld elements more would do; or take mma or simt",
                      name, (long long)width,
                      (long long)((ROW_BYTES - width % ROW_BYTES) * sizes[inner] / width));
    return sizes[2] == 1 || (strides[2] > 0 && dtype_size(type, strides[2]) % ROW_BYTES == 0) ||
           object(why, NULL,
                  "matrices of the batch of the %s lie %lld bytes apart: CUTLASS takes distances "
                  "of a multiple of 16 bytes, not 0",
                  name, (long long)dtype_size(type, strides[2]));
}

static bool check_sizes(const struct call *c, const enum dtype *types,
                        struct cutlass_objection *why) {
    const int64_t *z = c->number;
    const int64_t lhs[] = {z[GEMM_M], z[GEMM_K], z[GEMM_BATCH]};
    const int64_t rhs[] = {z[GEMM_K], z[GEMM_N], z[GEMM_BATCH]};
    const int64_t out[] = {z[GEMM_M], z[GEMM_N], z[GEMM_BATCH]};
    for (int i = GEMM_M; i <= GEMM_BATCH; i++)
        if (z[i] > INT32_MAX)
            return object(why, NULL, "CUTLASS counts a product's sizes in 32 bits, and one is %lld",
                          (long long)z[i]);
    if (z[GEMM_OUT + 1] != 1)
        return object(why, NULL, "results are stored by rows");
    return check_matrix(z + GEMM_LHS, lhs, types[CALL_LHS], "left operand", why) &&
           check_matrix(z + GEMM_RHS, rhs, types[CALL_RHS], "right operand", why) &&
           (z[CUTLASS_STORE] == STORE_DIRECT ||
            check_matrix(z + GEMM_OUT, out, types[CALL_OUT], "result", why));
}

// ---- what steps load

// A matrix like the result; else it is the same in all columns, in all rows, or everywhere.
static bool is_matrix(const struct epilogue_step *s) {
    return s->kind == EPILOGUE_LOAD && s->stride[0] > 0 && s->stride[1] > 0;
}

static bool check_load(const struct call *c, const enum dtype *types, const struct epilogue_step *s,
                       struct cutlass_objection *why) {
    const int64_t out[] = {c->number[GEMM_M], c->number[GEMM_N], c->number[GEMM_BATCH]};
    if (!cutlass_rounds_to(types[s->arg[0]]))
        return object(why, NULL, "an epilogue loads f16, bf16 and f32, not %s",
                      dtype_name(types[s->arg[0]]));
    if (s->stride[0] > 1 && s->stride[1] > 1)
        return object(why, NULL, "an epilogue loads matrices by rows; materialise this one first");
    if (!is_matrix(s))
        return (s->stride[0] <= 1 && s->stride[1] <= 1) ||
               object(why, NULL, "a vector that an epilogue loads lies side by side");
    // A row of one column, or a column of one row, is still a matrix by rows.
    if (s->stride[1] != 1)
        return object(why, NULL, "an epilogue loads matrices by rows; this one lies by columns");
    return check_matrix(s->stride, out, types[s->arg[0]], "matrix in the epilogue", why);
}

static bool check_epilogue(const struct call *c, const enum dtype *types,
                           struct cutlass_objection *why) {
    for (int i = 0; i < c->epilogue.n_steps; i++)
        if (c->epilogue.steps[i].kind == EPILOGUE_LOAD &&
            !check_load(c, types, &c->epilogue.steps[i], why))
            return false;
    return c->epilogue.n_steps == 0 || c->number[CUTLASS_STORE] == STORE_TMA ||
           object(why, "store", "a visitor tree needs the results in shared memory: store tma");
}

// ---- tiles

static int64_t threads(const int64_t *z) {
    return is_cooperative(z) ? 256 : 128;
}

static bool check_rows(const int64_t *z, struct cutlass_objection *why) {
    int64_t rows = z[CUTLASS_TILE], least = is_cooperative(z) ? 128 : 64;
    if (rows < least || rows % least != 0 || rows > 256)
        return object(why, "tile",
                      "%s: a tile has a multiple of %lld rows, up to 256, not %lld; take %lld%s",
                      cutlass_schedules[z[CUTLASS_SCHEDULE]], (long long)least, (long long)rows,
                      (long long)(rows > 256 ? 256 : (rows + least - 1) / least * least),
                      is_cooperative(z) && rows == 64 ? ", or schedule pingpong" : "");
    return true;
}

static bool check_tile(const struct call *c, const enum dtype *types,
                       struct cutlass_objection *why) {
    const int64_t *z = c->number;
    int64_t columns = z[CUTLASS_TILE + 1], depth = z[CUTLASS_TILE + 2];
    int64_t element = dtype_size(types[CALL_LHS], 1), bytes = depth * element;
    if (!check_rows(z, why))
        return false;
    if (columns % 32 != 0 || columns > 256)
        return object(why, "tile", "a tile has a multiple of 32 columns, up to 256, not %lld",
                      (long long)columns);
    if (bytes != DEPTH_LEAST && bytes != DEPTH_BEST && bytes != DEPTH_MOST)
        return object(
            why, "tile",
            "a slice of a tile is 64, 128 or 256 bytes deep: of %s %lld is nearest to %lld",
            dtype_name(types[CALL_LHS]),
            (long long)(bytes < DEPTH_LEAST ? DEPTH_LEAST : DEPTH_MOST) / element,
            (long long)depth);
    // Sums of f8 that are not fast are added to others, in registers.
    int64_t sums = z[CUTLASS_TILE] * columns / threads(z);
    int64_t all = sums * (is_f8(types[CALL_LHS]) && !is_fast(z) ? 2 : 1);
    int64_t nearest = SUMS_MAX * columns / all / 32 * 32;
    return all <= SUMS_MAX ||
           object(why, "tile",
                  "%lldx%lld by %s are %lld sums in a thread's registers, which have room for %d: "
                  "take %lld columns",
                  (long long)z[CUTLASS_TILE], (long long)columns,
                  cutlass_schedules[z[CUTLASS_SCHEDULE]], (long long)all, SUMS_MAX,
                  (long long)nearest);
}

static bool check_choices(const struct call *c, const enum dtype *types,
                          struct cutlass_objection *why) {
    const int64_t *z = c->number;
    int64_t cluster = z[CUTLASS_CLUSTER] * z[CUTLASS_CLUSTER + 1];
    for (int i = 0; i < 2; i++)
        if (z[CUTLASS_CLUSTER + i] & (z[CUTLASS_CLUSTER + i] - 1))
            return object(why, "cluster", "clusters have 1, 2, 4 or 8 blocks along a side");
    if (cluster > CLUSTER_MAX)
        return object(why, "cluster", "%lldx%lld are more than %d blocks; take %dx%lld",
                      (long long)z[CUTLASS_CLUSTER], (long long)z[CUTLASS_CLUSTER + 1], CLUSTER_MAX,
                      CLUSTER_MAX / (int)(z[CUTLASS_CLUSTER + 1] > 8 ? 8 : z[CUTLASS_CLUSTER + 1]),
                      (long long)(z[CUTLASS_CLUSTER + 1] > 8 ? 8 : z[CUTLASS_CLUSTER + 1]));
    if (z[CUTLASS_SCHEDULER] == SCHEDULER_STREAM_K && !is_cooperative(z))
        return object(why, "scheduler", "stream_k goes with schedule cooperative, not %s",
                      cutlass_schedules[z[CUTLASS_SCHEDULE]]);
    if (is_fast(z) && !is_f8(types[CALL_LHS]))
        return object(why, "schedule", "%s is for products of f8; take %s",
                      cutlass_schedules[z[CUTLASS_SCHEDULE]],
                      cutlass_schedules[z[CUTLASS_SCHEDULE] - SCHEDULE_COOPERATIVE_FAST]);
    return true;
}

// ---- shared memory

static int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

// Results go to memory by way of a few parts of a tile, and so does the first matrix that an
// epilogue loads; where both have one size they share the place.
static int64_t store_bytes(const struct call *c, const enum dtype *types) {
    const int64_t *z = c->number;
    int64_t columns = z[CUTLASS_TILE + 1], bytes = 0, source = 0;
    if (z[CUTLASS_STORE] == STORE_DIRECT)
        return 0;
    for (int i = c->epilogue.n_steps - 1; i >= 0; i--) {
        const struct epilogue_step *s = &c->epilogue.steps[i];
        if (is_matrix(s))
            source = dtype_size(types[s->arg[0]], 1);
        else if (s->kind == EPILOGUE_LOAD && s->stride[1] > 0)
            bytes += columns * dtype_size(types[s->arg[0]], 1) + 128;
    }
    int64_t part = (is_cooperative(z) ? 128 : 64) * 32, result = dtype_size(types[CALL_OUT], 1);
    int64_t parts = z[CUTLASS_TILE] * columns / part;
    int64_t stages = min64(parts, 2), source_stages = min64(parts, 4);
    if (source == result && source_stages < stages + 1)
        source_stages = stages + 1;
    if (source == result)
        return bytes + source_stages * part * result;
    return bytes + stages * part * result + source_stages * part * source;
}

int64_t cutlass_shared_bytes(const struct call *c, const enum dtype *types, int stages) {
    const int64_t *z = c->number;
    int64_t slice = (z[CUTLASS_TILE] + z[CUTLASS_TILE + 1]) * z[CUTLASS_TILE + 2] *
                    dtype_size(types[CALL_LHS], 1);
    return stages * (slice + BARRIER_BYTES) + store_bytes(c, types) + SHARED_BESIDES;
}

static bool check_shared(const struct call *c, const enum dtype *types,
                         struct cutlass_objection *why) {
    int64_t stages = c->number[CUTLASS_STAGES];
    int fit = 0;
    while (fit < 64 && cutlass_shared_bytes(c, types, fit + 1) <= SHARED_MAX)
        fit++;
    if (fit < STAGES_LEAST)
        return object(
            why, "tile",
            "two stages of this tile take %lld KiB of shared memory, and a block has 227: "
            "take half its depth or its columns",
            (long long)cutlass_shared_bytes(c, types, STAGES_LEAST) >> 10);
    if (stages == 1)
        return object(why, "stages", "copies run ahead of products by at least 2 stages");
    return stages <= fit ||
           object(why, "stages",
                  "%lld stages take %lld KiB of shared memory, and a block has 227: take %d, or 0 "
                  "for as many as fit",
                  (long long)stages, (long long)cutlass_shared_bytes(c, types, (int)stages) >> 10,
                  fit);
}

int64_t cutlass_work_bytes(const struct call *c, int sms) {
    const int64_t *z = c->number;
    int64_t least = 1 << 16;
    if (z[CUTLASS_SCHEDULER] == SCHEDULER_PERSISTENT)
        return least;
    // Sums of tiles that several blocks share, and a counter for each tile.
    int64_t tiles = ((z[GEMM_M] + z[CUTLASS_TILE] - 1) / z[CUTLASS_TILE]) *
                    ((z[GEMM_N] + z[CUTLASS_TILE + 1] - 1) / z[CUTLASS_TILE + 1]) * z[GEMM_BATCH];
    int64_t shared = 2 * (int64_t)sms;
    return least + 2 * shared * z[CUTLASS_TILE] * z[CUTLASS_TILE + 1] * (int64_t)sizeof(float) +
           16 * tiles;
}

void cutlass_sizes(const struct call *c, int64_t numbers[CUTLASS_SIZES]) {
    memset(numbers, 0, CUTLASS_SIZES * sizeof *numbers);
    memcpy(numbers, c->number, CUTLASS_NUMBERS * sizeof *numbers);
    int64_t *next = numbers + CUTLASS_NUMBERS;
    for (int i = 0; i < c->epilogue.n_steps; i++)
        for (int k = 0; k < 3 && c->epilogue.steps[i].kind == EPILOGUE_LOAD; k++)
            *next++ = c->epilogue.steps[i].stride[k];
}

static bool is_word(const char *const *words, int64_t i) {
    int64_t n = 0;
    while (words[n])
        n++;
    return i < n;
}

bool cutlass_check(const struct call *c, const enum dtype *types, struct cutlass_objection *why) {
    const int64_t *z = c->number;
    bool has_words = is_word(cutlass_schedules, z[CUTLASS_SCHEDULE]) &&
                     is_word(cutlass_stores, z[CUTLASS_STORE]) &&
                     is_word(cutlass_schedulers, z[CUTLASS_SCHEDULER]) &&
                     is_word(cutlass_rasters, z[CUTLASS_RASTER]) && z[CUTLASS_SWIZZLE] <= 8 &&
                     z[CUTLASS_STAGES] <= 64 && z[CUTLASS_CLUSTER] <= 16 &&
                     z[CUTLASS_CLUSTER + 1] <= 16;
    if (!has_words)
        return object(why, NULL, "a number of its configuration stands for nothing");
    return check_types(c, types, why) && check_sizes(c, types, why) &&
           check_epilogue(c, types, why) && check_choices(c, types, why) &&
           check_tile(c, types, why) && check_shared(c, types, why);
}
