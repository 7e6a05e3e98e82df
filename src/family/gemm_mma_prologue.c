// Operands of gemm's `mma` emitter that are computed on their way to shared memory.
//
// The matrices that such an operand is made of (its sources) come by asynchronous copies like any
// operand, as they lie in memory and several slices ahead. Each thread makes its pieces of the tile
// of those that it copied itself: they are there when it has waited for its own copies, and the
// barrier that follows for all operands shows the tile to everybody. A source of the type that is
// multiplied lies where the tile does and becomes it in place; others have slots of their own, and
// then two slots of the tile are enough, for it is made one slice ahead. So a prologue takes no
// registers from the sums, nor time for the latency of memory, but that of what is no source:
// vectors along rows or columns, gathers, other types are read when they are needed.
//
// It is computed in f32 and rounded once, when it is stored. Each block computes what its tile
// needs, so an operand is computed once for every tile across: a few instructions for an element
// that is multiplied by 128 others.
//
// Beyond the end of K the tile is zeros, whatever would be computed there; beyond the last row or
// column the last one is read again where no copy has brought zeros.
//
// Turned down: loads to registers a slice ahead, which need a register for each element under way
// and still show the latency where a slice is short.
#include "base/arena.h"
#include "family/gemm_mma_build.h"

void mma_find_computed(const struct form *f, bool is_lhs, enum dtype storage, struct mma_side *s) {
    *s = (struct mma_side){.is_computed = true, .leaf = -1, .in_place = -1};
    gemm_operand_read(f, is_lhs, &s->operand);
    s->size = is_lhs ? f->gemm->m : f->gemm->n;
    s->along_k = s->operand.along_k;
    int element = (int)dtype_size(storage, 1);
    s->copy_bytes = gemm_operand_vec(&s->operand, element) * element;
}

// A copy moves 4, 8 or 16 bytes; f32 that become 16 bits go by two of 16.
static int copies_of(int64_t bytes) {
    return bytes == 4 || bytes == 8 || bytes == 16 ? 1 : bytes == 32 ? 2 : 0;
}

static enum dtype type_of(const struct form *f, const struct gemm_source *s) {
    return f->region->graph->nodes[s->leaf].dtype;
}

static void set_sources(struct mma_side *s, const struct mma_sizes *z, const struct form *f) {
    for (int i = 0; i < s->operand.n_sources; i++) {
        enum dtype t = type_of(f, &s->operand.source[i]);
        int64_t each = dtype_size(t, 1);
        s->is_copied[i] = copies_of(s->copy_elements * each) > 0;
        if (s->is_copied[i] && s->in_place < 0 && t == z->storage)
            s->in_place = i;
        else if (s->is_copied[i])
            s->source_bytes += (int64_t)s->rows * s->length * each;
    }
    s->slots = s->in_place < 0 ? 2 : z->stages;
}

void mma_set_sources(struct mma_sizes *z, const struct form *f) {
    if (z->lhs.is_computed)
        set_sources(&z->lhs, z, f);
    if (z->rhs.is_computed)
        set_sources(&z->rhs, z, f);
}

static int64_t registers_of(const struct mma_side *s) {
    return s->is_computed ? (int64_t)s->copy_elements * (s->operand.n_sources + 1) : 0;
}

int64_t mma_prologue_registers(const struct mma_sizes *z) {
    int64_t lhs = registers_of(&z->lhs), rhs = registers_of(&z->rhs);
    return lhs > rhs ? lhs : rhs;
}

double mma_brought_bytes(const struct mma_sizes *z, const struct mma_side *s) {
    (void)z;
    if (!s->is_computed)
        return (double)s->tile_bytes;
    return (double)(s->source_bytes + (s->in_place < 0 ? 0 : s->tile_bytes)) +
           s->operand.direct_bytes * s->rows * s->length;
}

double mma_prologue_seconds(const struct mma_sizes *z, const struct target *t, double blocks) {
    const double latency = 0.7e-6;
    const struct mma_side *sides[] = {&z->lhs, &z->rhs};
    double all = 0;
    for (int i = 0; i < 2; i++) {
        const struct mma_side *s = sides[i];
        if (!s->is_computed)
            continue;
        // A piece of one element takes as many instructions as one of eight.
        double pieces = 8.0 / s->copy_elements / 4;
        all += (double)s->rows * s->length * gemm_operand_seconds(&s->operand, t) *
               (pieces > 1 ? pieces : 1);
        // What is read when it is needed is waited for, by all blocks but one in turns.
        if (s->operand.direct_bytes > 0)
            all += latency / blocks;
    }
    return all;
}

// ---- the loops

// Where element `column` of row `row` lies in a source that has slots of its own.
static const struct loop_expr *source_at(const struct mma_build *x, const struct mma_tile *t,
                                         const struct loop_expr *slice,
                                         const struct mma_piece *piece) {
    const struct loop_expr *slot = rest(x, slice, x->z.stages);
    const struct loop_expr *row = add(x, times(x, slot, t->s->rows), piece->row);
    return add(x, times(x, row, t->s->length), piece->column);
}

void mma_make_sources(struct mma_build *x, struct mma_tile *t, const char *name) {
    const struct mma_side *s = t->s;
    struct loop_size shape[] = {{(int64_t)x->z.stages * s->rows, NULL}, {s->length, NULL}};
    for (int i = 0; i < s->operand.n_sources; i++) {
        t->source_from[i] = x->l->buffer[s->operand.source[i].leaf];
        if (i == s->in_place)
            t->source[i] = t->tile;
        else if (s->is_copied[i])
            t->source[i] = loop_shared_of(x->l->program, arena_printf(x->a, "%s_source", name),
                                          t->source_from[i]->dtype, shape, 2);
    }
}

// The point of the operand's element that a piece begins with, at (stay, k).
static struct scope scope_at(const struct mma_build *x, const struct mma_tile *t,
                             struct loop_builder *b, const struct loop_expr *stay,
                             const struct loop_expr *k) {
    const struct gemm_form *f = x->ctx;
    struct scope s = scope_inside(x->outer, b);
    int group = t->is_lhs ? f->group_m : f->group_n;
    s.index[group] = stay;
    s.index[f->group_k] = k;
    s.lanes = t->s->copy_elements;
    s.lane_group = t->s->along_k ? f->group_k : group;
    return s;
}

static const struct loop_expr *depth_of(const struct mma_build *x, const struct mma_at *at) {
    return add(x, times(x, at->slice, x->z.depth), at->inside);
}

static void copy_source(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                        const struct loop_expr *slice, const struct mma_piece *piece, int i) {
    static const enum loop_intrinsic by_bytes[] = {
        [4] = INTRINSIC_COPY4, [8] = INTRINSIC_COPY8, [16] = INTRINSIC_COPY16};
    const struct gemm_source *source = &t->s->operand.source[i];
    const struct shape *shape = &x->l->region->graph->nodes[source->leaf].shape;
    struct mma_at at = mma_where(x, t, slice, piece);
    struct scope scope = scope_at(x, t, b, at.stay, depth_of(x, &at));
    int64_t each = dtype_size(t->source[i]->dtype, 1), bytes = each * t->s->copy_elements;
    const struct loop_expr *from = point_index(&scope, shape, &source->map);
    const struct loop_expr *to =
        i == t->s->in_place ? mma_element_at(x, t->s, slice, piece) : source_at(x, t, slice, piece);
    int64_t n = copies_of(bytes);
    // Rows end where pieces do: all bytes of one are there, or none.
    const struct loop_expr *valid = mma_valid_bytes(x, t, &at, each, bytes / n);
    for (int64_t part = 0; part < n; part++) {
        const struct loop_expr *more = num(x, part * bytes / n / each);
        loop_intrinsic(b, by_bytes[bytes / n],
                       (struct loop_operand[]){{t->source[i], add(x, to, more)},
                                               {t->source_from[i], add(x, from, more)},
                                               {NULL, valid}});
    }
}

// The thread's pieces of a slice; many small ones in a loop.
static const struct loop_expr *open_pieces(const struct mma_build *x, const struct mma_side *s,
                                           struct loop_builder *b, struct loop_builder *inner) {
    enum { FEW = 8 };
    struct loop_for f = {"item", num(x, 0), num(x, s->items), 1, s->items <= FEW};
    return loop_open_for(b, &f, inner);
}

void mma_copy_sources(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slice) {
    struct loop_builder inner, some;
    for (int i = 0; i < t->s->operand.n_sources; i++) {
        if (!t->s->is_copied[i])
            continue;
        struct mma_piece piece = mma_piece_of(x, t->s, open_pieces(x, t->s, b, &inner));
        loop_open_if(&inner, piece.row, num(x, t->s->rows), &some);
        copy_source(x, t, &some, slice, &piece, i);
        loop_close(&inner, &some);
        loop_close(b, &inner);
    }
}

// The last row or column there is, beyond it.
static const struct loop_expr *near(const struct mma_build *x, const struct mma_tile *t,
                                    const struct loop_expr *stay) {
    const struct mma_side *s = t->s;
    if (s->size % s->width == 0)
        return stay;
    int64_t last = s->along_k ? 1 : s->copy_elements;
    return smaller(x, stay, loop_binary(x->a, LOOP_SUB, t->extent, num(x, last)));
}

static void compute_piece(const struct mma_build *x, const struct mma_tile *t,
                          struct loop_builder *b, const struct loop_expr *slice,
                          const struct mma_piece *piece, const struct mma_at *at) {
    const struct gemm_operand *o = &t->s->operand;
    struct scope s = scope_at(x, t, b, near(x, t, at->stay), depth_of(x, at));
    const struct loop_expr *to = mma_element_at(x, t->s, slice, piece);
    for (int i = 0; i < o->n_sources; i++) {
        if (!t->source[i])
            continue;
        const struct loop_expr *from = i == t->s->in_place ? to : source_at(x, t, slice, piece);
        const struct loop_expr *v = loop_load(x->a, t->source[i], from, s.lanes, 1);
        point_define(&s, o->source[i].leaf, &o->source[i].map,
                     loop_let(b, t->source_from[i]->name, v));
    }
    // The store rounds by itself.
    const struct node *node = &x->l->region->graph->nodes[o->node];
    bool rounds =
        x->l->region->is_member[o->node] && node->op == OP_CAST && node->dtype == x->z.storage;
    const struct loop_expr *v = point_value(&s, rounds ? node->arg[0] : o->node, o->map);
    if (v->dtype != LOOP_F32)
        v = loop_cast(x->a, v, LOOP_F32);
    loop_store(b, t->tile, to, loop_broadcast(x->a, v, s.lanes), false);
}

void mma_compute_tile(const struct mma_build *x, const struct mma_tile *t, struct loop_builder *b,
                      const struct loop_expr *slice) {
    const struct mma_side *s = t->s;
    struct loop_builder inner, some, inside;
    struct mma_piece piece = mma_piece_of(x, s, open_pieces(x, s, b, &inner));
    loop_open_if(&inner, piece.row, num(x, s->rows), &some);
    struct mma_at at = mma_where(x, t, slice, &piece);
    bool ends = x->z.k % x->z.depth != 0;
    const struct loop_expr *k = depth_of(x, &at);
    // In place there are zeros already.
    if (ends && s->in_place < 0)
        loop_store(&some, t->tile, mma_element_at(x, s, slice, &piece),
                   loop_broadcast(x->a, loop_real(x->a, 0), s->copy_elements), false);
    loop_open_if(&some, ends ? k : num(x, 0), ends ? x->extent_k : num(x, 1), &inside);
    compute_piece(x, t, &inside, slice, &piece, &at);
    loop_close(&some, &inside);
    loop_close(&inner, &some);
    loop_close(b, &inner);
}
