// What the rows of intrinsics.def mean, on the machine of execute.c: asynchronous copies as lists
// of what each thread has under way, operations of a warp on the operands of its 32 threads.
//
// Products of a fragment are summed in double and rounded once: hardware rounds otherwise, so
// nobody may rely on the last bits.
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "loop/execute_machine.h"

// ---- operands

// Elements in so many bytes; of 4 bits two share one.
static int64_t elements_in(const struct loop_buffer *b, int64_t bytes) {
    return 8 * bytes / dtype_infos[b->dtype].bits;
}

// The first element of a memory operand; alignment is asked of its bytes.
static int64_t place(struct machine *m, const struct loop_stmt *s, int i) {
    const struct loop_operand *o = &s->operand[i];
    int64_t at = machine_index(m, o->index);
    if (at % elements_in(o->buffer, intrinsic_infos[s->intrinsic].operand[i].count) != 0)
        machine_fail(m, o->buffer, at, "is not aligned for this operation");
    return at;
}

static uint32_t word(struct machine *m, const struct loop_operand *o, int i) {
    return (uint32_t)machine_read(m, o->buffer, machine_index(m, o->index) + i, 0).whole;
}

static void put_word(struct machine *m, const struct loop_operand *o, int i, uint32_t w) {
    machine_write(m, o->buffer, machine_index(m, o->index) + i, 0,
                  (union cell){.whole = (int32_t)w});
}

static float float_of(uint32_t w) {
    float v;
    memcpy(&v, &w, sizeof v);
    return v;
}

static uint32_t word_of(float v) {
    uint32_t w;
    memcpy(&w, &v, sizeof w);
    return w;
}

// ---- copies

// Whose cell a copy lands in: each block of a block group has its own.
static int64_t *writer_at(struct machine *m, const struct copy *c, int64_t i) {
    struct memory *to = &m->memory[c->to->id];
    return &to->writer[to->per_block * (m->thread / m->per_block) + c->to_index + i];
}

static void copy_start(struct machine *m, const struct loop_stmt *s) {
    struct flight *f = &m->flights[m->thread];
    const struct loop_operand *o = s->operand;
    int64_t bytes = intrinsic_infos[s->intrinsic].operand[0].count;
    struct copy c = {.to = o[0].buffer, .from = o[1].buffer, .group = f->group};
    assert(c.to->dtype == c.from->dtype);
    c.count = elements_in(c.to, bytes);
    c.to_index = place(m, s, 0);
    c.valid = elements_in(c.to, machine_index(m, o[2].index));
    c.from_index = c.valid ? place(m, s, 1) : 0;
    // From now on it may land at any time.
    m->had_flights = true;
    for (int64_t i = 0; i < c.count && !m->failed; i++) {
        machine_write(m, c.to, c.to_index + i, 0, (union cell){0});
        if (!m->failed)
            *writer_at(m, &c, i) = UNDER_WAY;
    }
    if (f->n == f->cap) {
        f->cap = f->cap * 2 + 16;
        f->copies = realloc(f->copies, sizeof *f->copies * (size_t)f->cap);
        assert(f->copies);
    }
    f->copies[f->n++] = c;
}

static void land(struct machine *m, const struct copy *c) {
    for (int64_t i = 0; i < c->count && !m->failed; i++) {
        union cell v = {0};
        if (i < c->valid)
            v = machine_read(m, c->from, c->from_index + i, 0);
        *writer_at(m, c, i) = m->self;
        machine_write(m, c->to, c->to_index + i, 0, v);
    }
}

static void copy_wait(struct machine *m, int64_t groups) {
    struct flight *f = &m->flights[m->thread];
    int kept = 0;
    for (int i = 0; i < f->n; i++) {
        struct copy c = f->copies[i];
        if (c.group < f->group - groups)
            land(m, &c);
        else
            f->copies[kept++] = c;
    }
    f->n = kept;
}

void flights_clear(struct machine *m) {
    for (int t = 0; t < m->n_threads; t++)
        m->flights[t].n = m->flights[t].group = 0;
}

void flights_free(struct machine *m, int n_threads) {
    for (int t = 0; t < n_threads; t++)
        free(m->flights[t].copies);
}

// ---- fragments

static void ldmatrix(struct machine *m, const struct loop_stmt *s, int first, bool transposed) {
    uint16_t row[WARP][8];
    const struct loop_buffer *b = s->operand[1].buffer;
    int64_t n = elements_in(b, 16);
    for (int lane = 0; lane < WARP; lane++) {
        machine_yield(m, first + lane);
        int64_t at = place(m, s, 1);
        for (int64_t i = 0; i < n && !m->failed; i++)
            cell_put(b->dtype, row[lane], i, machine_read(m, b, at + i, 0));
    }
    for (int lane = 0; lane < WARP && !m->failed; lane++) {
        machine_yield(m, first + lane);
        int g = lane / 4, q = lane % 4;
        for (int i = 0; i < 4; i++) {
            const uint16_t(*matrix)[8] = &row[8 * i];
            uint32_t low = transposed ? matrix[2 * q][g] : matrix[g][2 * q];
            uint32_t high = transposed ? matrix[2 * q + 1][g] : matrix[g][2 * q + 1];
            put_word(m, &s->operand[0], i, low | high << 16);
        }
    }
}

static void load_words(struct machine *m, const struct loop_stmt *s, int n_words) {
    const struct loop_buffer *b = s->operand[1].buffer;
    int64_t at = place(m, s, 1), each = elements_in(b, 4);
    for (int i = 0; i < n_words && !m->failed; i++) {
        uint32_t w = 0;
        for (int64_t j = 0; j < each && !m->failed; j++)
            cell_put(b->dtype, &w, j, machine_read(m, b, at + i * each + j, 0));
        put_word(m, &s->operand[0], i, w);
    }
}

// Word `pair` of what a word of 4 bits or 8 becomes: two numbers of type `to`.
static uint32_t widen_pair(enum dtype from, enum dtype to, uint32_t w, int pair) {
    uint32_t out = 0;
    for (int half = 0; half < 2; half++) {
        int i = from == DTYPE_I4 ? pair + 4 * half : 2 * pair + half;
        double v = (double)cell_get(from, &w, i).whole;
        cell_put(to, &out, half, (union cell){.real = v});
    }
    return out;
}

static void widen(struct machine *m, const struct loop_stmt *s, enum dtype from, enum dtype to) {
    int n_pairs = from == DTYPE_I4 ? 4 : 2;
    for (int row = 0; row < 2; row++) {
        uint32_t w = word(m, &s->operand[1 + row], 0);
        for (int i = 0; i < n_pairs; i++)
            put_word(m, &s->operand[0], 2 * i + row, widen_pair(from, to, w, i));
    }
}

static void deal(struct machine *m, const struct loop_stmt *s) {
    uint32_t w[4];
    for (int i = 0; i < 4; i++)
        w[i] = word(m, &s->operand[0], i);
    for (int i = 0; i < 4; i++) {
        int shift = i % 2 * 16;
        put_word(m, &s->operand[0], i,
                 (w[i / 2] >> shift & 0xffffu) | (w[2 + i / 2] >> shift) << 16);
    }
}

// Four words of each of the rows that operands 1 and on name, in turns.
static void load_rows(struct machine *m, const struct loop_stmt *s, int n_rows) {
    for (int r = 0; r < n_rows && !m->failed; r++) {
        const struct loop_buffer *b = s->operand[1 + r].buffer;
        int64_t at = place(m, s, 1 + r), per_word = elements_in(b, 4);
        for (int i = 0; i < 4 && !m->failed; i++) {
            uint32_t w = 0;
            for (int64_t j = 0; j < per_word && !m->failed; j++)
                cell_put(b->dtype, &w, j, machine_read(m, b, at + i * per_word + j, 0));
            put_word(m, &s->operand[0], i * n_rows + r, w);
        }
    }
}

// One factor: element `half` of a word, of which 16-bit types have two and 8-bit types four.
static double factor(enum dtype t, uint32_t w, int half) {
    if (t == DTYPE_F32)
        return (double)float_of(w & ~0x1fffu);
    return cell_get(t, &w, half).real;
}

// C of thread `lane` += A * B, whole numbers of 8 bits.
static void mma_whole(struct machine *m, const struct loop_operand *c, int lane,
                      const uint32_t a[WARP][4], const uint32_t b[WARP][2]) {
    int64_t at = machine_index(m, c->index);
    for (int i = 0; i < 4; i++) {
        int column = lane % 4 * 2 + i % 2;
        int64_t sum = machine_read(m, c->buffer, at + i / 2, i % 2).whole;
        for (int k = 0; k < 32; k++) {
            int q = k % 16 / 4, later = k / 16;
            sum += cell_get(DTYPE_I8, &a[lane / 4 * 4 + q][i / 2 + 2 * later], k % 4).whole *
                   cell_get(DTYPE_I8, &b[column * 4 + q][later], k % 4).whole;
        }
        machine_write(m, c->buffer, at + i / 2, i % 2,
                      (union cell){.whole = (int32_t)(uint32_t)sum});
    }
}

// C += A * B with `deep` elements along the depth, `per` of them to a word.
static void mma(struct machine *m, const struct loop_stmt *s, int first, enum dtype t) {
    int per = 4 / (int)dtype_size(t, 1), deep = 8 * per;
    uint32_t a[WARP][4], b[WARP][2];
    for (int lane = 0; lane < WARP; lane++) {
        machine_yield(m, first + lane);
        for (int i = 0; i < 4; i++)
            a[lane][i] = word(m, &s->operand[1], i);
        for (int i = 0; i < 2; i++)
            b[lane][i] = word(m, &s->operand[2], i);
    }
    for (int lane = 0; lane < WARP && !m->failed; lane++) {
        machine_yield(m, first + lane);
        if (t == DTYPE_I8) {
            mma_whole(m, &s->operand[0], lane, a, b);
            continue;
        }
        const struct loop_buffer *sums = s->operand[0].buffer;
        int64_t at = machine_index(m, s->operand[0].index);
        for (int i = 0; i < 4; i++) {
            int column = lane % 4 * 2 + i % 2;
            double sum = machine_read(m, sums, at + i / 2, i % 2).real;
            for (int k = 0; k < deep; k++) {
                int q = k % (4 * per) / per, half = k % per, later = k / (4 * per);
                sum += factor(t, a[lane / 4 * 4 + q][i / 2 + 2 * later], half) *
                       factor(t, b[column * 4 + q][later], half);
            }
            machine_write(m, sums, at + i / 2, i % 2, (union cell){.real = (double)(float)sum});
        }
    }
}

// To 11 digits, halves away from zero; infinities and NaN as they are.
static uint32_t round_tf32(uint32_t w) {
    return (w & 0x7f800000u) == 0x7f800000u ? w : (w + 0x1000u) & ~0x1fffu;
}

static void split_tf32(struct machine *m, const struct loop_stmt *s) {
    uint32_t w = word(m, &s->operand[2], 0), high = (w + 0x1000u) & ~0x1fffu;
    put_word(m, &s->operand[0], 0, high);
    put_word(m, &s->operand[1], 0, word_of(float_of(w) - float_of(high)));
}

// The same, so that both add up to the word, whatever it is.
static void part_tf32(struct machine *m, const struct loop_stmt *s) {
    uint32_t w = word(m, &s->operand[2], 0), high = (w + 0x1000u) & ~0x1fffu;
    bool is_finite = (w & 0x7f800000u) != 0x7f800000u;
    if ((high & 0x7f800000u) == 0x7f800000u)
        high = w & ~0x1fffu;
    if ((w & 0x7fffffffu) > 0x7f800000u)
        high = 0x7fffe000u;
    put_word(m, &s->operand[0], 0, high);
    put_word(m, &s->operand[1], 0, is_finite ? word_of(float_of(w) - float_of(high)) : 0);
}

static void join_tf32(struct machine *m, const struct loop_stmt *s) {
    float v = float_of(word(m, &s->operand[1], 0)) + float_of(word(m, &s->operand[2], 0));
    machine_write(m, s->operand[0].buffer, machine_index(m, s->operand[0].index), 0,
                  (union cell){.real = (double)v});
}

// All four threads of a quad get the largest of their eight numbers, or the sum.
static void quad(struct machine *m, const struct loop_stmt *s, int first, bool largest) {
    const struct loop_buffer *b = s->operand[0].buffer;
    for (int lane = 0; lane < WARP && !m->failed; lane += 4) {
        double all = largest ? -INFINITY : 0;
        for (int i = 0; i < 8; i++) {
            machine_yield(m, first + lane + i / 2);
            int64_t at = machine_index(m, s->operand[0].index);
            double v = machine_read(m, b, at, i % 2).real;
            all = !largest ? all + v : isnan(v) || v > all ? v : all;
        }
        for (int i = 0; i < 8; i++) {
            machine_yield(m, first + lane + i / 2);
            int64_t at = machine_index(m, s->operand[0].index);
            machine_write(m, b, at, i % 2, (union cell){.real = (double)(float)all});
        }
    }
}

static void power(struct machine *m, const struct loop_stmt *s) {
    int64_t at = machine_index(m, s->operand[0].index);
    for (int i = 0; i < 2; i++) {
        union cell v = machine_read(m, s->operand[0].buffer, at, i);
        v.real = (double)(float)exp2(v.real);
        v.real = v.real < 0x1p-126 ? 0 : v.real;
        machine_write(m, s->operand[0].buffer, at, i, v);
    }
}

static void make_pair(struct machine *m, const struct loop_stmt *s) {
    int64_t to = machine_index(m, s->operand[0].index),
            from = machine_index(m, s->operand[1].index);
    for (int i = 0; i < 2; i++)
        machine_write(m, s->operand[0].buffer, to, i,
                      machine_read(m, s->operand[1].buffer, from + i, 0));
}

static void pack(struct machine *m, const struct loop_stmt *s, enum dtype t) {
    const struct loop_buffer *b = s->operand[1].buffer;
    int64_t at = machine_index(m, s->operand[1].index);
    uint32_t w = 0;
    for (int i = 0; i < 2; i++) {
        union cell v = machine_read(m, b, at, i);
        cell_put(t, &w, i, v);
        v.real = (double)(float)(v.real - cell_get(t, &w, i).real);
        machine_write(m, b, at, i, v);
    }
    put_word(m, &s->operand[0], 0, w);
}

static double number_of(struct machine *m, const struct loop_operand *o) {
    return machine_read(m, o->buffer, machine_index(m, o->index), 0).real;
}

static void add(struct machine *m, const struct loop_stmt *s) {
    machine_add(m, s->operand[0].buffer, place(m, s, 0), number_of(m, &s->operand[1]));
}

static void add_in_order(struct machine *m, const struct loop_stmt *s, int first) {
    const struct loop_buffer *b = s->operand[0].buffer;
    for (int lane = 0; lane < WARP && !m->failed; lane++) {
        machine_yield(m, first + lane);
        if (machine_index(m, s->operand[2].index) == 0)
            continue;
        int64_t at = place(m, s, 0);
        double sum = machine_read(m, b, at, 0).real + number_of(m, &s->operand[1]);
        m->syncs[first / WARP]++;  // what the threads before it did is done
        machine_write(m, b, at, 0, (union cell){.real = (double)(float)sum});
        m->syncs[first / WARP]++;
    }
}

// ---- by scope

static void by_warp(struct machine *m, const struct loop_stmt *s, int first) {
    switch (s->intrinsic) {
    case INTRINSIC_LDMATRIX:
    case INTRINSIC_LDMATRIX_TRANSPOSED:
        ldmatrix(m, s, first, s->intrinsic == INTRINSIC_LDMATRIX_TRANSPOSED);
        return;
    case INTRINSIC_WARP_SYNC:
        m->syncs[first / WARP]++;
        return;
    case INTRINSIC_ADD_IN_ORDER:
        add_in_order(m, s, first);
        return;
    case INTRINSIC_QUAD_MAX:
    case INTRINSIC_QUAD_SUM:
        quad(m, s, first, s->intrinsic == INTRINSIC_QUAD_MAX);
        return;
    case INTRINSIC_MMA_F16:
        mma(m, s, first, DTYPE_F16);
        return;
    case INTRINSIC_MMA_BF16:
        mma(m, s, first, DTYPE_BF16);
        return;
    case INTRINSIC_MMA_TF32:
        mma(m, s, first, DTYPE_F32);
        return;
    case INTRINSIC_MMA_I8:
        mma(m, s, first, DTYPE_I8);
        return;
    case INTRINSIC_MMA_E4M3:
        mma(m, s, first, DTYPE_F8E4M3);
        return;
    case INTRINSIC_MMA_E5M2:
        mma(m, s, first, DTYPE_F8E5M2);
        return;
    default:
        assert(!"an operation of a warp");
    }
}

static void by_thread(struct machine *m, const struct loop_stmt *s) {
    switch (s->intrinsic) {
    case INTRINSIC_COPY4:
    case INTRINSIC_COPY8:
    case INTRINSIC_COPY16:
        copy_start(m, s);
        return;
    case INTRINSIC_COMMIT:
        m->flights[m->thread].group++;
        return;
    case INTRINSIC_WAIT:
        copy_wait(m, machine_index(m, s->operand[0].index));
        return;
    case INTRINSIC_LAUNCH_WAIT:
        m->has_waited[m->thread] = true;
        return;
    case INTRINSIC_LAUNCH_NEXT:
        return;
    case INTRINSIC_WORD:
    case INTRINSIC_WORDS4:
        load_words(m, s, s->intrinsic == INTRINSIC_WORD ? 1 : 4);
        return;
    case INTRINSIC_TAKE:
        put_word(m, &s->operand[0], 0,
                 (uint32_t)machine_take(m, s->operand[1].buffer, place(m, s, 1),
                                        (int32_t)word(m, &s->operand[2], 0)));
        return;
    case INTRINSIC_WIDEN_I4_F16:
        widen(m, s, DTYPE_I4, DTYPE_F16);
        return;
    case INTRINSIC_WIDEN_I4_BF16:
        widen(m, s, DTYPE_I4, DTYPE_BF16);
        return;
    case INTRINSIC_WIDEN_I8_F16:
        widen(m, s, DTYPE_I8, DTYPE_F16);
        return;
    case INTRINSIC_WIDEN_I8_BF16:
        widen(m, s, DTYPE_I8, DTYPE_BF16);
        return;
    case INTRINSIC_DEAL:
        deal(m, s);
        return;
    case INTRINSIC_LOAD_ROW:
    case INTRINSIC_LOAD_ROWS:
        load_rows(m, s, s->intrinsic == INTRINSIC_LOAD_ROW ? 1 : 2);
        return;
    case INTRINSIC_ROUND_TF32:
        put_word(m, &s->operand[0], 0, round_tf32(word(m, &s->operand[0], 0)));
        return;
    case INTRINSIC_SPLIT_TF32:
        split_tf32(m, s);
        return;
    case INTRINSIC_PART_TF32:
        part_tf32(m, s);
        return;
    case INTRINSIC_JOIN_TF32:
        join_tf32(m, s);
        return;
    case INTRINSIC_ADD:
        add(m, s);
        return;
    case INTRINSIC_POWER:
        power(m, s);
        return;
    case INTRINSIC_PAIR:
        make_pair(m, s);
        return;
    case INTRINSIC_PACK_F16:
    case INTRINSIC_PACK_BF16:
        pack(m, s, s->intrinsic == INTRINSIC_PACK_F16 ? DTYPE_F16 : DTYPE_BF16);
        return;
    default:
        assert(!"an operation of a thread");
    }
}

static bool is_whole_warp(struct machine *m, const struct loop_stmt *s, int first,
                          const bool *active) {
    int n = 0;
    for (int i = 0; i < WARP; i++)
        n += active[first + i];
    if (n != 0 && n != WARP && !m->failed)
        m->failed = !error_set(m->err, ERROR_PARSE, "%s: only %d threads of a warp take part",
                               intrinsic_infos[s->intrinsic].text, n);
    return n == WARP;
}

void execute_intrinsic(struct machine *m, const struct loop_stmt *s, const bool *active) {
    if (s->intrinsic >= INTRINSIC_MBARRIER_INIT) {
        async_intrinsic(m, s, active);
        return;
    }
    if (intrinsic_infos[s->intrinsic].scope == SCOPE_WARP) {
        for (int first = 0; first < m->n_threads && !m->failed; first += WARP)
            if (is_whole_warp(m, s, first, active))
                by_warp(m, s, first);
        return;
    }
    for (int t = 0; t < m->n_threads && !m->failed; t++) {
        machine_yield(m, t);
        if (active[t])
            by_thread(m, s);
    }
}
