// What gemm's `wgmma` emitter takes: which operands the copy engine can bring as they lie, which
// are split first (gemm_wgmma_split.c), and which are computed on their way
// (gemm_wgmma_prologue.c).
#include "family/gemm_wgmma.h"

// How the matrix lies that is read for an operand at the side's map.
static bool find_matrix(const struct form *f, bool is_lhs, struct wgmma_side *s,
                        struct objection *why) {
    const struct gemm_form *g = f->gemm;
    const char *name = is_lhs ? "left" : "right", *anchor = form_node(f, g->anchor)->name;
    const struct shape *shape = &form_node(f, s->leaf)->shape;
    int stays = is_lhs ? g->axis_m : g->axis_n, axes[2];
    gemm_last_axes(f->region, g, s->leaf, &s->map, axes);
    bool along_k = axes[0] == g->axis_k && axes[1] == stays;
    bool is_across = axes[0] == stays && axes[1] == g->axis_k;
    if (!map_is_plain(&s->map, shape->rank) || !(along_k || is_across))
        return objection(why, NULL,
                         "wgmma copies boxes of matrices, and the last two axes of the %s operand "
                         "of %s are none; take mma or simt",
                         name, anchor);
    s->along_k = along_k;
    s->size = is_lhs ? g->m : g->n;
    s->pitch = along_k ? g->k : s->size;
    s->is_batch = shape_count(shape) > g->k * s->size;
    return true;
}

static bool find_side(const struct form *f, bool is_lhs, struct wgmma_side *s,
                      struct objection *why) {
    return gemm_leaf(f->region, f->gemm, is_lhs, &s->leaf, &s->map)
               ? find_matrix(f, is_lhs, s, why)
               : objection(why, NULL,
                           "wgmma copies operands as they are, and the %s one of %s is computed on "
                           "the way; materialise it first, or take mma",
                           is_lhs ? "left" : "right", form_node(f, f->gemm->anchor)->name);
}

// An operand that is computed on its way: the copy engine brings its sources, which are of the type
// that is multiplied, lie alike, and are all that is read of matrices.
static bool find_computed_side(const struct form *f, bool is_lhs, enum dtype t,
                               struct wgmma_side *s, struct objection *why) {
    const char *name = is_lhs ? "left" : "right";
    const char *anchor = form_node(f, f->gemm->anchor)->name;
    struct gemm_operand o;
    gemm_operand_read(f, is_lhs, &o);
    *s = (struct wgmma_side){0};
    if (o.n_sources == 0 || o.direct_bytes > 0 || o.lanes % 8 != 0)
        return objection(why, NULL,
                         "wgmma computes operands of one or two matrices in rows of a multiple of "
                         "16 bytes, and vectors, and the %s one of %s is not of these; take mma",
                         name, anchor);
    for (int i = o.n_sources - 1; i >= 0; i--) {
        s->leaf = o.source[i].leaf;
        s->map = o.source[i].map;
        if (form_node(f, s->leaf)->dtype != t)
            return objection(why, NULL,
                             "wgmma computes operands of matrices of the type that is multiplied, "
                             "and the %s one of %s is made of %s, %s; take mma",
                             name, anchor, form_node(f, s->leaf)->name,
                             dtype_name(form_node(f, s->leaf)->dtype));
        if (!find_matrix(f, is_lhs, s, why))
            return false;
        if (s->along_k != o.along_k ||
            !shape_equal(&form_node(f, s->leaf)->shape, &form_node(f, o.source[0].leaf)->shape) ||
            !map_same(&s->map, &o.source[0].map))
            return objection(why, NULL,
                             "wgmma computes operands of matrices that lie alike, and those of the "
                             "%s one of %s do not; take mma",
                             name, anchor);
    }
    s->is_computed = true;
    s->operand = o;
    return true;
}

static bool is_f8(enum dtype t) {
    return t == DTYPE_F8E4M3 || t == DTYPE_F8E5M2;
}

// Are operands of f8 multiplied as they are?
static bool multiplies_f8(const struct form *f) {
    struct objection why;
    struct wgmma_side side[2];
    if (!f->region->problem->precision.short_sums || f->gemm->k % 16 != 0)
        return false;
    for (int i = 0; i < 2; i++)
        if (!find_side(f, i == 0, &side[i], &why) || !side[i].along_k)
            return false;
    return form_node(f, side[0].leaf)->dtype == form_node(f, side[1].leaf)->dtype;
}

// Into how many parts of f16 operands of f32 are split, whatever they are read or computed from. 0:
// they are not f32, or products must be f32's own. One part has the digits of tf32, and all of f8.
static int parts_of(const struct form *f) {
    const struct precision *p = &f->region->problem->precision;
    if (f->gemm->is_f8)
        return multiplies_f8(f) ? 0 : 1;
    bool narrower = p->operand == PRECISION_TYPE && p->type != DTYPE_F32;
    if (form_node(f, f->gemm->lhs)->dtype != DTYPE_F32 ||
        form_node(f, f->gemm->rhs)->dtype != DTYPE_F32 || narrower || p->is_exact)
        return 0;
    return p->operand == PRECISION_TF32 ? 1 : 2;
}

// A split operand lies as the value that it comes from does; what is the same for the whole batch
// is split once. Its rows are padded as the copy engine needs it.
static void find_split_side(const struct form *f, bool is_lhs, struct wgmma_side *s) {
    const struct gemm_form *g = f->gemm;
    s->size = is_lhs ? g->m : g->n;
    s->along_k = is_lhs ? g->lhs_is_along_k : !g->rhs_is_contiguous;
    s->pitch = ((s->along_k ? g->k : s->size) + 7) / 8 * 8;
    bool is_same = gemm_leaf(f->region, g, is_lhs, &s->leaf, &s->map) &&
                   shape_count(&form_node(f, s->leaf)->shape) <= g->k * s->size;
    s->is_batch = g->batch > 1 && !is_same;
}

// Can the copy engine bring both operands, and wgmma read them?
static bool accepts_rows(const struct form *f, const struct wgmma_side side[2], enum dtype type,
                         struct objection *why) {
    const struct gemm_form *g = f->gemm;
    const char *anchor = form_node(f, g->anchor)->name;
    for (int i = 0; i < 2; i++) {
        int64_t row = (side[i].along_k ? g->k : side[i].size) * dtype_size(type, 1);
        if (type == DTYPE_I8 && !side[i].along_k)
            return objection(why, NULL,
                             "wgmma multiplies i8 that lie side by side along K, and the %s "
                             "operand of %s does not; take nest",
                             i == 0 ? "left" : "right", anchor);
        if (row % 16 != 0)
            return objection(why, NULL,
                             "the copy engine needs rows of a multiple of 16 bytes, and those of "
                             "the %s operand of %s have %lld; take mma or simt",
                             i == 0 ? "left" : "right", anchor, (long long)row);
    }
    return true;
}

// Two operands of which one at least is computed on its way.
static bool find_computed(const struct form *f, struct wgmma_side side[2], enum dtype *t,
                          struct objection *why) {
    const struct gemm_form *g = f->gemm;
    struct objection stored;
    if (g->is_conv || g->is_whole || g->is_f8 || !gemm_operands_narrow(f, t))
        return objection(why, NULL,
                         "wgmma computes operands on their way as f16 or bf16, and those of %s are "
                         "not; materialise them first, or take mma",
                         form_node(f, g->anchor)->name);
    for (int i = 0; i < 2; i++) {
        bool is_stored =
            find_side(f, i == 0, &side[i], &stored) && form_node(f, side[i].leaf)->dtype == *t;
        if (!is_stored && !find_computed_side(f, i == 0, *t, &side[i], why))
            return false;
    }
    return accepts_rows(f, side, *t, why);
}

bool wgmma_computes(const struct form *f) {
    return !parts_of(f) && (!f->gemm->lhs_is_plain || !f->gemm->rhs_is_plain);
}

bool wgmma_accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct gemm_form *g = f->gemm;
    const char *anchor = form_node(f, g->anchor)->name;
    const struct precision *p = &f->region->problem->precision;
    struct wgmma_side side[2];
    if (!gemm_moves_vectors(f, why))
        return false;
    enum dtype storage;
    if (parts_of(f))
        return true;
    if (wgmma_computes(f))
        return find_computed(f, side, &storage, why);
    if (!find_side(f, true, &side[0], why) || !find_side(f, false, &side[1], why))
        return false;
    enum dtype a = form_node(f, side[0].leaf)->dtype, b = form_node(f, side[1].leaf)->dtype;
    bool narrower = p->operand == PRECISION_TYPE && p->type != a && p->type != DTYPE_F32;
    bool is_i8 = a == DTYPE_I8 && g->is_whole, is_half = a == DTYPE_F16 || a == DTYPE_BF16;
    if (a != b || !(is_i8 || is_f8(a) || (is_half && !narrower)))
        return objection(why, NULL,
                         "wgmma multiplies two operands of f16, bf16, f8, i8 or f32 (not "
                         "exactly), and those of %s are %s and %s%s; take mma or simt",
                         anchor, dtype_name(a), dtype_name(b),
                         p->is_exact ? " under 'f32 exact'" : "");
    return accepts_rows(f, side, a, why);
}

void wgmma_find_sides(const struct form *f, struct wgmma_sizes *z) {
    const struct gemm_form *g = f->gemm;
    struct objection why;
    z->parts = parts_of(f);
    if (z->parts) {
        find_split_side(f, true, &z->lhs);
        find_split_side(f, false, &z->rhs);
    } else {
        struct wgmma_side side[2] = {{0}};
        z->computes = wgmma_computes(f) && find_computed(f, side, &z->storage, &why);
        if (!z->computes) {
            find_side(f, true, &side[0], &why);
            find_side(f, false, &side[1], &why);
        }
        z->lhs = side[0];
        z->rhs = side[1];
    }
    z->is_widened = z->parts && g->is_f8;
    z->storage = z->parts ? DTYPE_F16 : form_node(f, z->lhs.leaf)->dtype;
}
