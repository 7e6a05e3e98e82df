// Decoding: 16 bytes an instruction. Of the low word bits 0..8 say what it is and 12..15 under
// which predicate it runs (7: always); of the high word bits 9..11 are the width of an access, and
// from bit 41 on stands what the compiler decided about waiting: four bits of cycles, one to yield,
// the barrier that a result releases, the barrier that read operands release, and six bits of
// barriers to wait for. A branch holds its distance in units of four bytes, counted from the next
// instruction; from 9.0 on its low byte lies apart.
#include "profile/sass.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "profile/cubin.h"
#include "profile/sass_stride.h"

enum {
    CODES = 512,
    CODE_MASK = CODES - 1,
    BRANCH_CODE = 0x147,
    NOP_CODE = 0x118,
    BARRIERS = 6,
    NO_REGISTER = 255
};

static const struct {
    const char *name;
    uint8_t kind;
} table[CODES] = {
#define SASS(code, name_, kind_) [code] = {#name_, SASS_##kind_},
#include "profile/sass.def"
};

const char *sass_name(uint16_t code) {
    return code < CODES && table[code].name ? table[code].name : "?";
}

static uint64_t word_at(const unsigned char *at) {
    uint64_t w = 0;
    for (int i = 7; i >= 0; i--)
        w = w << 8 | at[i];
    return w;
}

static uint8_t access_bytes(enum sass_kind kind, uint64_t high) {
    static const uint8_t widths[8] = {1, 1, 2, 2, 4, 8, 16, 16};
    switch (kind) {
    case SASS_GLOBAL_LOAD:
    case SASS_GLOBAL_STORE:
    case SASS_SHARED_LOAD:
    case SASS_SHARED_STORE:
    case SASS_LOCAL_LOAD:
    case SASS_LOCAL_STORE:
        return widths[high >> 9 & 7];
    default:
        return 0;
    }
}

// In instructions from the start; -1: it leads outside.
static int32_t branch_target(uint64_t low, uint64_t high, int at, int n, int capability) {
    uint64_t bits = (high & 0x3ffff) << 30 | low >> 34;
    int64_t distance = (int64_t)(bits << 16) >> 16;  // 48 bits, signed
    if (capability >= 90)
        distance = distance * 256 + (int64_t)(low >> 16 & 0xff);
    if (distance % 4 != 0 || distance / 4 < -at - 1 || distance / 4 >= n - at - 1)
        return -1;
    return (int32_t)(at + 1 + distance / 4);
}

static struct sass_instruction decode(const unsigned char *bytes, int at, int n, int capability) {
    uint64_t low = word_at(bytes), high = word_at(bytes + 8), control = high >> 41;
    struct sass_instruction i = {
        .code = low & CODE_MASK, .target = -1, .stride = SASS_STRIDE_UNKNOWN};
    i.kind = table[i.code].kind;
    i.bytes = access_bytes((enum sass_kind)i.kind, high);
    i.is_guarded = (low >> 12 & 15) != 7;
    i.is_indexed = (low >> 24 & 255) != NO_REGISTER;
    i.cycles = control & 15;
    i.sets = control >> 5 & 7;
    i.frees = control >> 8 & 7;
    i.waits = control >> 11 & 63;
    if (i.code == BRANCH_CODE)
        i.target = branch_target(low, high, at, n, capability);
    return i;
}

// ---- loops

// How much it computes or moves, an f32 instruction being 1; 0: nothing. A loop without any such
// only waits. A product of matrix units is many multiply-adds of a warp (m16n8k8 32, m64n64k16
// 512), so that the loop around it is the hot one, and not the loop that computes some results anew
// when numbers were too large.
static int work_of(enum sass_kind k) {
    switch (k) {
    case SASS_TENSOR:
        return 32;
    case SASS_TENSOR_GROUP:
        return 512;
    case SASS_F32:
    case SASS_FMA:
    case SASS_F16:
    case SASS_F64:
    case SASS_FUNCTION:
    case SASS_GLOBAL_LOAD:
    case SASS_GLOBAL_STORE:
    case SASS_SHARED_LOAD:
    case SASS_SHARED_STORE:
    case SASS_LOCAL_LOAD:
    case SASS_LOCAL_STORE:
    case SASS_MATRIX_LOAD:
    case SASS_ASYNC_COPY:
    case SASS_BULK_COPY:
    case SASS_TEXTURE:
    case SASS_ATOMIC:
    case SASS_SHARED_ATOMIC:
        return 1;
    default:
        return 0;
    }
}

// Branches back come in the order in which their loops end, so that a loop has another one within
// it exactly when one that ended before began behind its beginning. Several branches to one
// beginning are one loop.
static void find_loops(struct arena *a, struct sass_kernel *k, const int *work) {
    struct sass_loop *loops = arena_array(a, struct sass_loop, k->n + 1);
    int last = -1;  // the loop that began last
    for (int i = 0; i < k->n; i++) {
        int begin = k->code[i].target;
        if (begin < 0 || begin > i || work[i + 1] == work[begin])
            continue;
        if (last >= 0 && loops[last].begin == begin) {
            loops[last].end = i;
            continue;
        }
        bool is_inner = last < 0 || loops[last].begin < begin;
        loops[k->n_loops] = (struct sass_loop){begin, i, is_inner};
        if (is_inner)
            last = k->n_loops;
        k->n_loops++;
    }
    k->loops = loops;
}

static void find_hot(struct sass_kernel *k, const int *work) {
    int most = 0;
    k->hot_begin = 0;
    k->hot_end = k->n - 1;
    for (int i = 0; i < k->n_loops; i++) {
        const struct sass_loop *l = &k->loops[i];
        int here = work[l->end + 1] - work[l->begin];
        if (!l->is_inner || here <= most)
            continue;
        most = here;
        k->has_hot_loop = true;
        k->hot_begin = l->begin;
        k->hot_end = l->end;
    }
}

static bool is_padding(const struct sass_instruction *i, int at) {
    return i->code == NOP_CODE || (i->code == BRANCH_CODE && i->target == at);
}

static void read_kernel(struct arena *a, const struct cubin_kernel *from, int capability,
                        struct sass_kernel *k) {
    int n = (int)(from->text_len / SASS_BYTES);
    struct sass_instruction *code = arena_array(a, struct sass_instruction, n + 1);
    *k = (struct sass_kernel){.name = from->name,
                              .code = code,
                              .registers = from->registers,
                              .frame_bytes = from->frame_bytes};
    for (int i = 0; i < n; i++)
        code[i] = decode(from->text + (size_t)i * SASS_BYTES, i, n, capability);
    while (n > 0 && is_padding(&code[n - 1], n - 1))
        n--;
    k->n = n;
    sass_find_strides(from->text, code, n);
    int *work = arena_array(a, int, n + 1);
    for (int i = 0; i < n; i++) {
        work[i + 1] = work[i] + work_of((enum sass_kind)code[i].kind);
        k->n_unknown += code[i].kind == SASS_UNKNOWN;
    }
    find_loops(a, k, work);
    find_hot(k, work);
}

bool sass_read(struct arena *a, const void *bytes, size_t len, struct sass *out,
               struct error *err) {
    struct cubin_file file;
    *out = (struct sass){0};
    if (!cubin_read(a, bytes, len, &file, err))
        return false;
    if (file.capability < 75)
        return error_set(err, ERROR_UNSUPPORTED, "code for sm_%d; known are sm_75 and later",
                         file.capability);
    out->capability = file.capability;
    out->kernels = arena_array(a, struct sass_kernel, file.n_kernels + 1);
    for (int i = 0; i < file.n_kernels; i++)
        read_kernel(a, &file.kernels[i], file.capability, &out->kernels[out->n_kernels++]);
    return true;
}

void sass_set_hot(struct sass_kernel *k, const double *issued) {
    static const double MOST = 0.6;
    double all = 0;
    int best = -1;
    for (int i = 0; i < k->n; i++)
        all += issued[i];
    if (!(all > 0))
        return;
    for (int l = 0; l < k->n_loops; l++) {
        const struct sass_loop *loop = &k->loops[l];
        double within = 0;
        for (int i = loop->begin; i <= loop->end; i++)
            within += issued[i];
        int length = loop->end - loop->begin;
        if (within >= MOST * all &&
            (best < 0 || length < k->loops[best].end - k->loops[best].begin))
            best = l;
    }
    k->has_hot_loop = best >= 0;
    k->hot_begin = best >= 0 ? k->loops[best].begin : 0;
    k->hot_end = best >= 0 ? k->loops[best].end : k->n - 1;
}

struct sass_kernel *sass_find(const struct sass *s, const char *name) {
    for (int i = 0; i < s->n_kernels; i++)
        if (strcmp(s->kernels[i].name, name) == 0)
            return &s->kernels[i];
    return NULL;
}

// ---- what it says

void sass_in_flight(const struct sass_kernel *k, int *loads, int *bytes) {
    int pending[BARRIERS] = {0}, pending_bytes[BARRIERS] = {0};
    *loads = *bytes = 0;
    // A loop twice: what one turn loads may be used in the next.
    for (int turn = 0; turn < (k->has_hot_loop ? 2 : 1); turn++)
        for (int i = k->hot_begin; i <= k->hot_end; i++) {
            const struct sass_instruction *at = &k->code[i];
            int n = 0, n_bytes = 0;
            for (int b = 0; b < BARRIERS; b++)
                if (at->waits >> b & 1)
                    pending[b] = pending_bytes[b] = 0;
            if (at->kind == SASS_GLOBAL_LOAD && at->sets < BARRIERS) {
                pending[at->sets]++;
                pending_bytes[at->sets] += at->bytes;
            }
            for (int b = 0; b < BARRIERS; b++) {
                n += pending[b];
                n_bytes += pending_bytes[b];
            }
            *loads = n > *loads ? n : *loads;
            *bytes = n_bytes > *bytes ? n_bytes : *bytes;
        }
}

struct counts {
    int of[SASS_KINDS];
    int bytes[SASS_KINDS];
    int n, n_guarded;
    int cycles;     // that a warp alone takes to issue them, when nothing else is waited for
    int constants;  // LDC with an index of each thread's own: the others are the same for a warp
    int fences;     // MEMBAR: what else belongs to a fence follows it
    int functions, from_integer, to_integer;  // MUFU, I2F, F2I: an integer division has all three
};

static struct counts count(const struct sass_kernel *k, int begin, int end) {
    struct counts c = {0};
    for (int i = begin; i <= end; i++) {
        const struct sass_instruction *at = &k->code[i];
        c.n++;
        c.cycles += at->cycles;
        c.of[at->kind]++;
        c.bytes[at->kind] += at->bytes;
        c.n_guarded += at->is_guarded && at->kind != SASS_BRANCH;
        c.constants += at->code == 0x182 && at->is_indexed && at->stride != 0;
        c.fences += at->code == 0x192;
        c.functions += at->code == 0x108;
        c.from_integer += at->code == 0x106 || at->code == 0x112;
        c.to_integer += at->code == 0x105 || at->code == 0x111;
    }
    return c;
}

static int least(int x, int y) {
    return x < y ? x : y;
}

// Exact divisions of f32 are checked once each; the rest of the reciprocals that come between
// conversions from and to integers are divisions of integers.
static int divisions(const struct counts *c) {
    int exact = c->of[SASS_DIVISION], rest = c->functions > exact ? c->functions - exact : 0;
    return exact + least(rest, least(c->from_integer, c->to_integer));
}

static void set_mean(struct metrics *m, enum metric_id id, const struct counts *c,
                     enum sass_kind kind) {
    if (c->of[kind] > 0)
        metrics_set(m, id, (double)c->bytes[kind] / c->of[kind]);
}

struct accesses {
    int n[SASS_KINDS], n_known[SASS_KINDS];
    double least[SASS_KINDS], sectors[SASS_KINDS];
    double passes;
};

static void count_accesses(const struct sass_kernel *k, int begin, int end, struct accesses *c) {
    enum { WARP = 32, SECTOR = 32 };
    for (int i = begin; i <= end; i++) {
        const struct sass_instruction *at = &k->code[i];
        c->n[at->kind]++;
        bool is_shared = at->kind == SASS_SHARED_LOAD || at->kind == SASS_SHARED_STORE;
        // Where only the launch knows a distance, its banks are unknown.
        bool is_known = at->stride != SASS_STRIDE_UNKNOWN &&
                        !(is_shared && at->stride == SASS_STRIDE_OF_LAUNCH);
        if (!is_known || at->bytes == 0)
            continue;
        c->n_known[at->kind]++;
        int touched = sass_sectors(at->stride, at->bytes), need = WARP * at->bytes / SECTOR;
        c->sectors[at->kind] += touched;
        c->least[at->kind] += touched < need ? touched : need;
        if (is_shared)
            c->passes += sass_bank_passes(at->stride, at->bytes);
    }
}

// What the distances between a warp's addresses say, where they are known for more than half of
// the accesses: of all innermost loops, since a transpose reads in one and writes in another.
static void set_accesses(struct metrics *m, const struct sass_kernel *k) {
    static const double MOST = 0.5;
    struct accesses c = {0};
    for (int i = 0; i < k->n_loops; i++)
        if (k->loops[i].is_inner)
            count_accesses(k, k->loops[i].begin, k->loops[i].end, &c);
    if (!k->has_hot_loop)
        count_accesses(k, 0, k->n - 1, &c);
    if (c.n_known[SASS_GLOBAL_LOAD] > MOST * c.n[SASS_GLOBAL_LOAD])
        metrics_set(m, METRIC_CODE_LOAD_USED,
                    c.least[SASS_GLOBAL_LOAD] / c.sectors[SASS_GLOBAL_LOAD]);
    if (c.n_known[SASS_GLOBAL_STORE] > MOST * c.n[SASS_GLOBAL_STORE])
        metrics_set(m, METRIC_CODE_STORE_USED,
                    c.least[SASS_GLOBAL_STORE] / c.sectors[SASS_GLOBAL_STORE]);
    int n_shared = c.n_known[SASS_SHARED_LOAD] + c.n_known[SASS_SHARED_STORE];
    if (n_shared > MOST * (c.n[SASS_SHARED_LOAD] + c.n[SASS_SHARED_STORE]))
        metrics_set(m, METRIC_CODE_SHARED_PASSES, c.passes / n_shared);
}

static void set_hot(struct metrics *m, const struct counts *c) {
    static const struct {
        enum metric_id id;
        enum sass_kind kind;
    } rows[] = {
        {METRIC_HOT_LOADS, SASS_GLOBAL_LOAD},
        {METRIC_HOT_STORES, SASS_GLOBAL_STORE},
        {METRIC_HOT_SHARED_LOADS, SASS_SHARED_LOAD},
        {METRIC_HOT_SHARED_STORES, SASS_SHARED_STORE},
        {METRIC_HOT_MATRIX_LOADS, SASS_MATRIX_LOAD},
        {METRIC_HOT_FMA, SASS_FMA},
        {METRIC_HOT_F16, SASS_F16},
        {METRIC_HOT_F64, SASS_F64},
        {METRIC_HOT_TENSOR, SASS_TENSOR},
        {METRIC_HOT_TENSOR_GROUP, SASS_TENSOR_GROUP},
        {METRIC_HOT_INTEGER, SASS_INTEGER},
        {METRIC_HOT_WIDE_INTEGER, SASS_WIDE_INTEGER},
        {METRIC_HOT_FUNCTIONS, SASS_FUNCTION},
        {METRIC_HOT_CONVERSIONS, SASS_CONVERSION},
        {METRIC_HOT_BARRIERS, SASS_BARRIER},
        {METRIC_HOT_ATOMICS, SASS_ATOMIC},
        {METRIC_HOT_SHARED_ATOMICS, SASS_SHARED_ATOMIC},
        {METRIC_HOT_CALLS, SASS_CALL},
        {METRIC_HOT_ASYNC_COPIES, SASS_ASYNC_COPY},
        {METRIC_HOT_BULK_COPIES, SASS_BULK_COPY},
        {METRIC_HOT_BRANCHES, SASS_BRANCH},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        metrics_set(m, rows[i].id, c->of[rows[i].kind]);
    metrics_set(m, METRIC_HOT_INSTRUCTIONS, c->n);
    metrics_set(m, METRIC_HOT_ADD_MUL, c->of[SASS_F32]);
    metrics_set(m, METRIC_HOT_LOCAL, c->of[SASS_LOCAL_LOAD] + c->of[SASS_LOCAL_STORE]);
    metrics_set(m, METRIC_HOT_DIVISIONS, divisions(c));
    metrics_set(m, METRIC_HOT_GUARDED, c->n_guarded);
    metrics_set(m, METRIC_HOT_CONSTANTS, c->constants);
    metrics_set(m, METRIC_HOT_FENCES, c->fences);
    metrics_set(m, METRIC_HOT_ISSUE_CYCLES, c->cycles);
    set_mean(m, METRIC_HOT_LOAD_BYTES, c, SASS_GLOBAL_LOAD);
    set_mean(m, METRIC_HOT_STORE_BYTES, c, SASS_GLOBAL_STORE);
    set_mean(m, METRIC_HOT_SHARED_LOAD_BYTES, c, SASS_SHARED_LOAD);
}

void sass_metrics(const struct sass_kernel *k, struct metrics *m) {
    static const double KNOWN = 0.98;
    if (k->n == 0 || k->n - k->n_unknown < KNOWN * k->n)
        return;
    struct counts all = count(k, 0, k->n - 1), hot = count(k, k->hot_begin, k->hot_end);
    metrics_set(m, METRIC_CODE_INSTRUCTIONS, all.n);
    metrics_set(m, METRIC_CODE_LOOPS, k->n_loops);
    metrics_set(m, METRIC_CODE_LOCAL, all.of[SASS_LOCAL_LOAD] + all.of[SASS_LOCAL_STORE]);
    metrics_set(m, METRIC_CODE_TENSOR, all.of[SASS_TENSOR]);
    metrics_set(m, METRIC_CODE_TENSOR_GROUP, all.of[SASS_TENSOR_GROUP]);
    metrics_set(m, METRIC_CODE_ATOMICS, all.of[SASS_ATOMIC]);
    set_hot(m, &hot);
    set_accesses(m, k);
    int loads, bytes;
    sass_in_flight(k, &loads, &bytes);
    if (hot.of[SASS_GLOBAL_LOAD] > 0 && hot.of[SASS_ASYNC_COPY] + hot.of[SASS_BULK_COPY] == 0) {
        metrics_set(m, METRIC_LOADS_IN_FLIGHT, loads);
        metrics_set(m, METRIC_BYTES_IN_FLIGHT, bytes);
    }
    if (k->registers >= 0 && !metrics_has(m, METRIC_REGISTERS))
        metrics_set(m, METRIC_REGISTERS, k->registers);
    if (k->frame_bytes >= 0 && !metrics_has(m, METRIC_STACK_BYTES))
        metrics_set(m, METRIC_STACK_BYTES, k->frame_bytes);
}
