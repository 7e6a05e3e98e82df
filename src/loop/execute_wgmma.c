// Products of a warpgroup on the machine of execute.c. A product is computed when its group is
// waited for; until then its sums are under way, and writing its operands is an error.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "loop/execute_async.h"

// Elements of a row of 128 bytes, and of one product's depth.
static int64_t per_row(const struct matrix *x) {
    return 128 / dtype_size(x->buffer->dtype, 1);
}

static int64_t deep(const struct matrix *x) {
    return per_row(x) / 4;
}

// Element (i, k) of an operand.
static int64_t element_at(const struct matrix *x, int64_t i, int64_t k) {
    int64_t at =
        x->across ? x->at + i / 64 * BOX_ELEMENTS + k * 64 + i % 64 : x->at + i * per_row(x) + k;
    return async_swizzled(x->buffer, at);
}

static bool reads(const struct matrix *x, const struct loop_buffer *b, int64_t at) {
    if (x->buffer != b)
        return false;
    for (int64_t i = 0; i < x->size; i++)
        for (int64_t k = 0; k < deep(x); k++)
            if (element_at(x, i, k) == at)
                return true;
    return false;
}

// The rows that an operand lies in: cheaper than its elements.
static bool is_near(const struct matrix *x, const struct loop_buffer *b, int64_t at) {
    if (x->buffer != b)
        return false;
    int64_t row = per_row(x);
    int64_t end = x->at + (x->across ? (x->size + 63) / 64 * BOX_ELEMENTS : x->size * row);
    return at >= x->at / row * row && at < end;
}

// Does a product that is under way read this element?
bool async_product_reads(const struct machine *m, const struct loop_buffer *b, int64_t at) {
    for (int g = 0; m->async && g < GROUPS_MAX; g++)
        for (int i = 0; i < m->async->groups[g].n; i++) {
            const struct product *p = &m->async->groups[g].products[i];
            if (p->block != async_block_of(m))
                continue;
            if ((is_near(&p->a, b, at) && reads(&p->a, b, at)) ||
                (is_near(&p->b, b, at) && reads(&p->b, b, at)))
                return true;
        }
    return false;
}

static double factor(struct machine *m, const struct matrix *x, int64_t i, int64_t k) {
    int64_t at = element_at(x, i, k);
    const struct memory *mem = &m->memory[x->buffer->id];
    if (at >= x->buffer->count) {
        machine_fail(m, x->buffer, at, "is out of bounds");
        return 0;
    }
    int64_t place = async_base_of(m, x->buffer) + at;
    if (mem->writer[place] != m->self)
        machine_fail(m, x->buffer, at,
                     mem->writer[place] == UNDER_WAY ? "is read while a copy to it is under way"
                                                     : "is read before it is written");
    const struct touch *t = mem->touch ? &mem->touch[place] : NULL;
    if (t && t->writer > 0 && t->writer != ADDERS && t->write_fence == m->fences[t->writer - 1])
        machine_fail(m, x->buffer, at, "is multiplied before its writer has fenced it");
    union cell v = cell_get(x->buffer->dtype, mem->bytes, place);
    if (x->buffer->dtype != DTYPE_I32)
        return x->buffer->dtype == DTYPE_I8 ? (double)v.whole : v.real;
    uint32_t word = (uint32_t)v.whole & ~0x1fffu;
    float real;
    memcpy(&real, &word, sizeof real);
    return (double)real;
}

// The cell of sum `i` of thread number `t` of the group, and its lane.
static int64_t sum_cell(struct machine *m, const struct product *p, int thread, int i) {
    const struct memory *mem = &m->memory[p->sums->id];
    return mem->per_thread * thread + (p->first + i / 2) * 2 + i % 2;
}

// Element (i, k) of A.
static double left(struct machine *m, int first, const struct product *p, int64_t i, int64_t k) {
    if (!p->words)
        return factor(m, &p->a, i, k);
    machine_yield(m, first + (int)(i / 16 * 32 + i % 8 * 4 + k % 8 / 2));
    int64_t at = p->first_word + i % 16 / 8 + k / 8 * 2;
    uint32_t w = (uint32_t)machine_read(m, p->words, at, 0).whole;
    machine_yield(m, first);
    return cell_get(p->b.buffer->dtype, &w, k % 2).real;
}

static void compute(struct machine *m, int first, const struct product *p) {
    static const int columns_max = 256;
    double(*a)[STEP_MAX] = malloc(sizeof *a * (size_t)(ROWS + columns_max));
    double(*b)[STEP_MAX] = a + ROWS;
    assert(a);
    int64_t depth = deep(&p->b);
    for (int64_t k = 0; k < depth; k++) {
        for (int64_t i = 0; i < ROWS; i++)
            a[i][k] = left(m, first, p, i, k);
        for (int64_t j = 0; j < p->b.size; j++)
            b[j][k] = factor(m, &p->b, j, k);
    }
    struct memory *mem = &m->memory[p->sums->id];
    bool is_whole = p->sums->value == LOOP_I32;
    m->had_flights = true;
    for (int t = 0; t < GROUP; t++)
        for (int i = 0; i < p->b.size / 2; i++) {
            int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8,
                column = i / 4 * 8 + t % 4 * 2 + i % 2;
            union cell *cell = (union cell *)mem->bytes + sum_cell(m, p, first + t, i);
            double sum = !p->adds ? 0 : is_whole ? (double)cell->whole : cell->real;
            for (int64_t k = 0; k < depth; k++)
                sum += a[row][k] * b[column][k];
            if (is_whole)
                cell->whole = (int32_t)(uint32_t)(int64_t)sum;
            else
                cell->real = (double)(float)sum;
        }
    free(a);
}

// Mark the sums as under way, or as the threads' own.
static void mark_sums(struct machine *m, int first, const struct product *p, int64_t writer) {
    struct memory *mem = &m->memory[p->sums->id];
    m->had_flights = true;
    for (int t = 0; t < GROUP; t++)
        for (int i = 0; i < p->b.size / 2; i++) {
            int64_t *w = &mem->writer[sum_cell(m, p, first + t, i)];
            if (writer == UNDER_WAY && p->adds && *w >= NOBODY && *w < m->first)
                async_fail(m, "adds to sums that were not written");
            *w = writer;
        }
}

static struct matrix matrix_of(struct machine *m, const struct loop_stmt *s, int operand,
                               int across, int size) {
    const struct loop_operand *o = &s->operand[operand];
    return (struct matrix){o->buffer, machine_index(m, o->index),
                           machine_index(m, s->operand[across].index) != 0, size};
}

void async_start_product(struct machine *m, const struct loop_stmt *s, int first) {
    struct warpgroup *g = &m->async->groups[first / GROUP];
    struct product p = {.sums = s->operand[0].buffer, .group = g->group};
    p.block = async_block_of(m);
    int columns = 4 * intrinsic_infos[s->intrinsic].operand[0].count;
    p.first = machine_index(m, s->operand[0].index);
    if (s->intrinsic >= INTRINSIC_WGMMA_WORDS_F16_64) {
        p.words = s->operand[1].buffer;
        p.first_word = machine_index(m, s->operand[1].index);
        p.b = matrix_of(m, s, 2, 3, columns);
        p.adds = machine_index(m, s->operand[4].index) != 0;
    } else {
        p.a = matrix_of(m, s, 1, 3, ROWS);
        p.b = matrix_of(m, s, 2, 4, columns);
        p.adds = machine_index(m, s->operand[5].index) != 0;
    }
    if (!g->is_fenced || g->n == PRODUCTS_MAX) {
        async_fail(m,
                   g->is_fenced ? "has too many products under way" : "multiplies without a fence");
        return;
    }
    mark_sums(m, first, &p, UNDER_WAY);
    g->products[g->n++] = p;
}

void async_wait_products(struct machine *m, const struct loop_stmt *s, int first) {
    struct warpgroup *g = &m->async->groups[first / GROUP];
    int64_t groups = machine_index(m, s->operand[0].index);
    int kept = 0, n = g->n;
    for (int i = 0; i < n && !m->failed; i++) {
        struct product p = g->products[i];
        if (p.group < g->group - groups) {
            compute(m, first, &p);
            mark_sums(m, first, &p, m->self);
        } else {
            g->products[kept++] = p;
        }
    }
    g->n = kept;
    for (int i = 0; i < kept; i++)
        mark_sums(m, first, &g->products[i], UNDER_WAY);
    g->is_fenced = false;
}
