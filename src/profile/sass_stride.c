// Each register holds a value that is, for the threads of a warp, `base + lane * i` with the same
// base for all of them, or the same with a distance that only the launch knows, or is not known.
// Thread numbers begin it (threadIdx.x: 1), what is the same for all threads (block numbers,
// constants, uniform registers) has 0, and additions, products with known constants and shifts
// carry it on to the addresses. What is loaded from an address of each thread's own is not known.
//
// The values at every branch target are brought together until nothing changes; a loop that adds
// the same to all threads' addresses leaves their distance as it is. Taken for granted: that
// threadIdx.x runs through a warp (blocks of 32 or more in x), and that what is masked or shifted
// begins at a multiple of the warp, as indices do. Code with matrix instructions of four warps or
// with calls has too many registers changed at once and is left out from there on.
//
// Bits: 16..23 result, 24..31 first operand; 9..11 say where the others are (bits 32..63 and 64..71
// hold a register, a constant's place or a number). As `nvdisasm -hex` prints them for 8.0 to 9.0.
#include "profile/sass_stride.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { WARP = 32, REGISTERS = 256, ZERO = 255, PASSES_MAX = 16, TARGETS_MAX = 2000 };
enum { SECTOR = 32, BANKS = 32, BANK_BYTES = 4 };

// STRIDED: threads are apart by a number that only a launch knows, such as a row's length.
enum value_state { UNREACHED, LINEAR, STRIDED, UNKNOWN };

struct value {
    uint8_t state;  // enum value_state
    bool is_const;  // the same number always
    int64_t lane;   // what a thread has more than the one before it
    int64_t number;
};

static const struct value unknown = {.state = UNKNOWN}, uniform = {.state = LINEAR},
                          strided = {.state = STRIDED};

static struct value constant(int64_t number) {
    return (struct value){.state = LINEAR, .is_const = true, .number = number};
}

static struct value linear(int64_t lane) {
    return (struct value){.state = LINEAR, .lane = lane};
}

static bool is_uniform(struct value v) {
    return v.state == LINEAR && v.lane == 0;
}

static struct value join(struct value x, struct value y) {
    if (x.state == UNREACHED)
        return y;
    if (y.state == UNREACHED)
        return x;
    if (x.state != y.state || x.state == UNKNOWN || x.lane != y.lane)
        return unknown;
    x.is_const &= y.is_const && x.number == y.number;
    return x;
}

// ---- arithmetic

static struct value add(struct value x, struct value y) {
    bool is_strided = x.state == STRIDED || y.state == STRIDED;
    if (is_strided && x.state != y.state && x.state != UNKNOWN && y.state != UNKNOWN)
        return strided;
    if (x.state != LINEAR || y.state != LINEAR)
        return unknown;
    return (struct value){LINEAR, x.is_const && y.is_const, x.lane + y.lane, x.number + y.number};
}

static struct value negate(struct value x, bool is_negated) {
    return is_negated ? (struct value){x.state, x.is_const, -x.lane, -x.number} : x;
}

// By the same number always.
static struct value scale(struct value x, int64_t by) {
    if (x.state == STRIDED)
        return by != 0 ? strided : uniform;
    return (struct value){LINEAR, x.is_const, x.lane * by, x.number * by};
}

static struct value multiply(struct value x, struct value y) {
    if (x.state == UNKNOWN || y.state == UNKNOWN || x.state == UNREACHED || y.state == UNREACHED)
        return unknown;
    if (x.is_const)
        return scale(y, x.number);
    if (y.is_const)
        return scale(x, y.number);
    if (is_uniform(x) && is_uniform(y))
        return uniform;
    return is_uniform(x) || is_uniform(y) ? strided : unknown;
}

static struct value shift_left(struct value x, int64_t by) {
    return by >= 0 && by < WARP ? multiply(x, constant(INT64_C(1) << by)) : unknown;
}

// What a warp has in common when its threads' values fill less than the bits that go.
static struct value shift_right(struct value x, int64_t by) {
    if (x.state != LINEAR || by < 0 || by >= WARP)
        return unknown;
    int64_t unit = INT64_C(1) << by;
    if (llabs(x.lane) * WARP <= unit)
        return uniform;
    return x.lane % unit == 0 ? linear(x.lane / unit) : unknown;
}

static struct value mask(struct value x, int64_t bits) {
    int64_t span = llabs(x.lane) * WARP;  // of a warp
    if (x.state != LINEAR || span > INT32_MAX)
        return unknown;
    if ((bits & (span - 1)) == 0)
        return uniform;
    int64_t needed = span - (llabs(x.lane) & -llabs(x.lane));  // bits that distinguish threads
    return (bits & needed) == needed ? linear(x.lane) : unknown;
}

// ---- instructions

struct operands {
    struct value a, b, c;
    uint64_t low, high;
};

static struct value read(const struct value *regs, unsigned number) {
    return number == ZERO ? constant(0) : regs[number];
}

static struct operands operands_of(const struct value *regs, uint64_t low, uint64_t high) {
    unsigned form = low >> 9 & 7;
    struct value wide = uniform;  // what bits 32..63 hold: a constant's place or a uniform register
    if (form == 1)
        wide = read(regs, low >> 32 & 255);
    else if (form == 2 || form == 4)
        wide = constant((int32_t)(low >> 32));
    struct value other = read(regs, high & 255);
    bool is_second = form == 1 || form >= 4;
    is_second &= form != 7;
    return (struct operands){.a = read(regs, low >> 24 & 255),
                             .b = is_second ? wide : other,
                             .c = is_second ? other : wide,
                             .low = low,
                             .high = high};
}

static bool bit(uint64_t high, int at) {
    return high >> at & 1;
}

static struct value of_special(uint64_t high) {
    enum { LANE_ID = 0x00, THREAD_X = 0x21 };
    unsigned which = high >> 8 & 255;
    return which == LANE_ID || which == THREAD_X ? linear(1) : uniform;
}

static struct value of_add(const struct operands *o) {
    if (bit(o->high, 10))  // the upper half, with a carry
        return unknown;
    bool is_number = (o->low >> 9 & 7) == 4;
    struct value b = negate(o->b, !is_number && bit(o->low, 63));
    return add(add(negate(o->a, bit(o->high, 8)), b), negate(o->c, bit(o->high, 11)));
}

static struct value of_multiply_add(const struct operands *o) {
    if (bit(o->high, 10))
        return unknown;
    return add(multiply(o->a, o->b), negate(o->c, bit(o->high, 11)));
}

static struct value of_lea(const struct operands *o) {
    int64_t by = o->high >> 11 & 31;
    bool is_upper = bit(o->high, 16), is_carried = bit(o->high, 10);
    if (is_carried || bit(o->high, 8))
        return unknown;
    if (!is_upper)
        return add(shift_left(o->a, by), o->b);
    return is_uniform(o->c) ? add(shift_right(o->a, WARP - by), o->b) : unknown;
}

static struct value of_shift(const struct operands *o) {
    enum { LEFT = 0x006, RIGHT_UNSIGNED = 0x116, RIGHT_SIGNED = 0x114 };
    unsigned kind = o->high >> 8 & 0x1ff;
    if (!o->b.is_const)
        return is_uniform(o->a) && is_uniform(o->b) && is_uniform(o->c) ? uniform : unknown;
    if (kind == LEFT)
        return shift_left(o->a, o->b.number);
    if (kind == RIGHT_UNSIGNED || kind == RIGHT_SIGNED)
        return shift_right(o->c, o->b.number);
    return unknown;
}

static struct value of_logic(const struct operands *o) {
    enum { AND = 0xc0, XOR = 0x3c };
    unsigned table = o->high >> 8 & 255;
    if (is_uniform(o->a) && is_uniform(o->b) && is_uniform(o->c))
        return uniform;
    if (table == AND && o->b.is_const)
        return mask(o->a, o->b.number);
    // Neighbours change places: a warp as a whole touches the same.
    if (table == XOR && o->b.is_const && o->a.state == LINEAR && o->b.number >= 0 &&
        o->b.number < llabs(o->a.lane) * WARP && o->b.number % llabs(o->a.lane) == 0)
        return linear(o->a.lane);
    return unknown;
}

enum code {
    MOV = 0x002,
    CS2R = 0x005,
    FSETP = 0x00b,
    ISETP = 0x00c,
    IADD3 = 0x010,
    LEA = 0x011,
    LOP3 = 0x012,
    SHF = 0x019,
    PLOP3 = 0x01c,
    IMAD = 0x024,
    IMAD_WIDE = 0x025,
    DSETP = 0x02a,
    HFMA2 = 0x031,
    HFMA2_MMA = 0x035,
    VIADD = 0x036,
    S2R = 0x119
};

// The value of the result's first register.
static struct value result_of(const struct value *regs, const struct sass_instruction *i,
                              uint64_t low, uint64_t high) {
    struct operands o = operands_of(regs, low, high);
    switch (i->code) {
    case MOV:
        return o.b;
    case CS2R:
        return constant(0);  // mostly zeros; a clock is the same for a warp
    case S2R:
        return of_special(high);
    case IADD3:
        return of_add(&o);
    case VIADD:
        return add(o.a, o.b);
    case IMAD:
    case IMAD_WIDE:
        return of_multiply_add(&o);
    case LEA:
        return of_lea(&o);
    case SHF:
        return of_shift(&o);
    case LOP3:
        return of_logic(&o);
    default:
        break;
    }
    // How the compiler writes a number into a register on the other pipe: 0 * 0 + number.
    bool is_number = (i->code == HFMA2_MMA || i->code == HFMA2) && (low >> 24 & 255) == ZERO &&
                     (high & 255) == ZERO;
    if (is_number)
        return constant((int32_t)(low >> 32));
    bool is_load = i->kind == SASS_GLOBAL_LOAD || i->kind == SASS_SHARED_LOAD;
    if (is_load || i->kind == SASS_CONSTANT)
        return is_uniform(o.a) ? uniform : unknown;
    bool is_plain = i->kind == SASS_INTEGER || i->kind == SASS_MOVE;
    return is_plain && is_uniform(o.a) && is_uniform(o.b) && is_uniform(o.c) ? uniform : unknown;
}

// How many registers it writes from its result on; what is not sure counts as more.
static int n_written(const struct sass_instruction *i, uint64_t high) {
    static const uint8_t widths[8] = {1, 1, 1, 1, 1, 2, 4, 4};
    switch ((enum sass_kind)i->kind) {
    case SASS_GLOBAL_STORE:
    case SASS_SHARED_STORE:
    case SASS_LOCAL_STORE:
    case SASS_UNIFORM:
    case SASS_BARRIER:
    case SASS_FENCE:
    case SASS_WAIT:
    case SASS_BRANCH:
    case SASS_EXIT:
    case SASS_ASYNC_COPY:
    case SASS_BULK_COPY:
        return 0;
    case SASS_GLOBAL_LOAD:
    case SASS_SHARED_LOAD:
    case SASS_LOCAL_LOAD:
    case SASS_CONSTANT:
        return widths[high >> 9 & 7];
    case SASS_F64:
    case SASS_WIDE_INTEGER:
    case SASS_CONVERSION:
        return i->code == DSETP ? 0 : 2;
    case SASS_OTHER:
        return i->code == HFMA2_MMA;
    case SASS_UNKNOWN:
    case SASS_TEXTURE:
    case SASS_TENSOR:
    case SASS_MATRIX_LOAD:
        return 8;
    case SASS_TENSOR_GROUP:
    case SASS_CALL:
        return REGISTERS;
    default:
        return i->code == ISETP || i->code == FSETP || i->code == PLOP3 ? 0
               : i->code == CS2R                                        ? 2
                                                                        : 1;
    }
}

static uint64_t word_at(const unsigned char *at) {
    uint64_t w = 0;
    for (int i = 7; i >= 0; i--)
        w = w << 8 | at[i];
    return w;
}

static void step(struct value *regs, const struct sass_instruction *i, const unsigned char *at) {
    uint64_t low = word_at(at), high = word_at(at + 8);
    unsigned first = low >> 16 & 255;
    int n = n_written(i, high);
    // Results on the uniform path (ULDC, S2UR, R2UR) are in registers of their own.
    bool is_apart = i->code == 0x0b9 || i->code == 0x1ac || i->code == 0x1c3 || i->code == 0x0ca;
    if (n == 0 || is_apart || (first == ZERO && n < REGISTERS))
        return;
    struct value v = result_of(regs, i, low, high);
    if (n == REGISTERS) {
        first = 0;
        v = unknown;
    }
    for (int k = 0; k < n && first + (unsigned)k < ZERO; k++) {
        // The upper halves of what is the same for all are the same, of others nobody asks.
        struct value next = k == 0 || is_uniform(v) ? v : unknown;
        if (k > 0)
            next.is_const = false;
        regs[first + (unsigned)k] = i->is_guarded ? join(regs[first + (unsigned)k], next) : next;
    }
}

// ---- all of the code

struct flow {
    struct value (*at)[REGISTERS];  // by number of the branch target
    int *number;                    // of the target at each instruction; -1: none
    bool has_changed;
};

static void merge(struct flow *f, int target, const struct value *regs) {
    struct value *into = f->at[f->number[target]];
    for (int r = 0; r < REGISTERS; r++) {
        struct value v = join(into[r], regs[r]);
        f->has_changed |= v.state != into[r].state || v.is_const != into[r].is_const;
        into[r] = v;
    }
}

static void note_access(struct sass_instruction *i, const struct value *regs,
                        const unsigned char *at) {
    static const int scales[] = {0, 2, 3, 4};  // of an index in shared memory, up to 8.x: [R2.X4]
    struct value v = read(regs, word_at(at) >> 24 & 255);
    if (i->kind == SASS_SHARED_LOAD || i->kind == SASS_SHARED_STORE)
        v = shift_left(v, scales[word_at(at + 8) >> 14 & 3]);
    bool is_known = v.state == LINEAR && llabs(v.lane) < SASS_STRIDE_OF_LAUNCH;
    i->stride = is_known             ? (int32_t)v.lane
                : v.state == STRIDED ? SASS_STRIDE_OF_LAUNCH
                                     : SASS_STRIDE_UNKNOWN;
}

static bool is_access(const struct sass_instruction *i) {
    return i->kind == SASS_GLOBAL_LOAD || i->kind == SASS_GLOBAL_STORE ||
           i->kind == SASS_SHARED_LOAD || i->kind == SASS_SHARED_STORE || i->kind == SASS_CONSTANT;
}

static void pass(struct flow *f, const unsigned char *text, struct sass_instruction *code, int n) {
    struct value regs[REGISTERS];
    for (int r = 0; r < REGISTERS; r++)
        regs[r] = uniform;
    bool is_reached = true;
    f->has_changed = false;
    for (int i = 0; i < n; i++) {
        const unsigned char *at = text + (size_t)i * SASS_BYTES;
        if (f->number[i] >= 0) {
            if (is_reached)
                merge(f, i, regs);
            memcpy(regs, f->at[f->number[i]], sizeof regs);
            is_reached = true;
        }
        if (!is_reached)
            continue;
        if (is_access(&code[i]))
            note_access(&code[i], regs, at);
        step(regs, &code[i], at);
        if (code[i].target >= 0)
            merge(f, code[i].target, regs);
        // A branch of the second form goes by a predicate of the whole warp (BRA.U UP0).
        bool is_last = code[i].kind == SASS_BRANCH || code[i].kind == SASS_EXIT;
        is_reached = !is_last || code[i].is_guarded || (word_at(at) >> 9 & 7) == 2;
    }
}

void sass_find_strides(const unsigned char *text, struct sass_instruction *code, int n) {
    struct arena scratch = {0};
    struct flow f = {.number = arena_array(&scratch, int, n + 1), .has_changed = true};
    int n_targets = 0;
    for (int i = 0; i < n; i++) {
        f.number[i] = -1;
        code[i].stride = SASS_STRIDE_UNKNOWN;
    }
    for (int i = 0; i < n; i++)
        if (code[i].target >= 0 && code[i].target < n && f.number[code[i].target] < 0)
            f.number[code[i].target] = n_targets++;
    if (n_targets <= TARGETS_MAX) {
        f.at = arena_alloc(&scratch, sizeof *f.at * (size_t)(n_targets + 1));
        for (int turn = 0; turn < PASSES_MAX && f.has_changed; turn++)
            pass(&f, text, code, n);
    }
    for (int i = 0; f.has_changed && i < n; i++)
        code[i].stride = SASS_STRIDE_UNKNOWN;
    arena_reset(&scratch);
}

// ---- what that costs

int sass_sectors(int64_t stride, int bytes) {
    int64_t touched[WARP * 2];
    int n = 0;
    for (int t = 0; t < WARP; t++)
        for (int64_t s = llabs(stride) * t / SECTOR; s <= (llabs(stride) * t + bytes - 1) / SECTOR;
             s++) {
            bool is_new = n == 0 || touched[n - 1] < s;  // they come in order
            if (is_new && n < (int)(sizeof touched / sizeof *touched))
                touched[n++] = s;
        }
    return n;
}

// Wider accesses go through in parts of 128 bytes. In a part each bank gives one word at a time,
// and threads that want the same word share it.
double sass_bank_passes(int64_t stride, int bytes) {
    int words = bytes < BANK_BYTES ? 1 : bytes / BANK_BYTES, threads = WARP / words, passes = 0;
    for (int from = 0; from < WARP; from += threads) {
        int64_t wanted[WARP], n_of_bank[BANKS] = {0}, most = 0;
        int n = 0;
        for (int t = from; t < from + threads; t++)
            for (int w = 0; w < words; w++) {
                int64_t word = llabs(stride) * t / BANK_BYTES + w;
                bool is_new = true;
                for (int k = 0; k < n; k++)
                    is_new &= wanted[k] != word;
                if (!is_new)
                    continue;
                wanted[n++] = word;
                int64_t here = ++n_of_bank[word % BANKS];
                most = here > most ? here : most;
            }
        passes += (int)most;
    }
    return (double)passes / words;
}
