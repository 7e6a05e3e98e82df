// Regions for libraries, and the emitters: OpenBLAS on the CPU, cuBLASLt and cuDNN on a GPU. They
// have no knobs; which of its algorithms a library takes is found out by timing them, when the
// call is opened.
#include "family/library_form.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "family/family.h"
#include "family/gemm_form.h"
#include "ir/detail.h"
#include "loop/loop_call.h"

// What cuBLASLt recommends on the newest cards. Convolutions are brought into another layout and
// back, or unfolded in part; every slot of the judge's has such a buffer, and small problems many.
enum { GEMM_WORK_BYTES = 32 << 20, CONV_WORK_LEAST = 16 << 20, CONV_WORK_MOST = 256 << 20 };

// ---- the form

static bool is_result(const struct region *r, node_id n, node_id anchor) {
    while (n != anchor && r->graph->nodes[n].op == OP_CAST)
        n = r->graph->nodes[n].arg[0];
    return n == anchor;
}

// Distances between neighbours along each axis of the space in a value that is read by `map`.
static bool find_strides(const struct shape *s, const struct axis_map *map, int64_t *strides) {
    int64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        if (map->axis[i] == MAP_INDEX)
            return false;
        if (map->axis[i] >= 0)
            strides[map->axis[i]] += step;
        step *= s->size[i];
    }
    return true;
}

struct operand {
    int64_t stride[RANK_MAX + 1];  // of the product's axes, and k
    node_id leaf;
};

static bool find_operand(const struct region *r, const struct gemm_form *g, bool is_lhs,
                         struct operand *o) {
    struct axis_map map;
    *o = (struct operand){0};
    return gemm_leaf(r, g, is_lhs, &o->leaf, &map) &&
           find_strides(&r->graph->nodes[o->leaf].shape, &map, o->stride);
}

// All axes in front of the last two as one. False: they do not lie evenly.
static bool join_batch(const struct shape *s, const int64_t *stride, int64_t *joined) {
    int inner = -1;  // the last axis of more than one element
    for (int k = s->rank - 3; k >= 0; k--) {
        if (s->size[k] == 1)
            continue;
        if (inner >= 0 && stride[k] != stride[inner] * s->size[inner])
            return false;
        *joined = inner < 0 ? stride[k] : *joined;
        inner = k;
    }
    return true;
}

static bool join_batches(const struct shape *s, struct operand *const *operands, int64_t *strides) {
    for (int i = 0; i < 3; i++)
        if (!join_batch(s, operands[i]->stride, &strides[i]))
            return false;
    return true;
}

// Batches of rows against one right side are more rows.
static void join_rows(int64_t *z) {
    bool is_even = z[GEMM_RHS + 2] == 0 && z[GEMM_LHS + 2] == z[GEMM_M] * z[GEMM_LHS] &&
                   z[GEMM_OUT + 2] == z[GEMM_M] * z[GEMM_OUT];
    if (z[GEMM_BATCH] == 1 || !is_even)
        return;
    z[GEMM_M] *= z[GEMM_BATCH];
    z[GEMM_BATCH] = 1;
    z[GEMM_LHS + 2] = z[GEMM_OUT + 2] = 0;
}

static void set_strides(int64_t *to, const struct operand *o, int row, int column, int64_t batch) {
    to[0] = o->stride[row];
    to[1] = o->stride[column];
    to[2] = batch;
}

static bool find_gemm(const struct region *r, node_id anchor, struct library_form *f,
                      struct objection *why) {
    const struct node *n = &r->graph->nodes[anchor];
    struct gemm_form g = {.anchor = anchor, .lhs = n->arg[0], .rhs = n->arg[1]};
    int rank = n->shape.rank;
    g.lhs_map = g.rhs_map = map_identity(rank);
    g.lhs_map.axis[rank - 1] = g.rhs_map.axis[rank - 2] = rank;
    struct operand lhs, rhs, out = {0};
    struct axis_map map = map_identity(rank);
    int64_t batch[3] = {0};
    for (int i = 0; i < 2; i++)
        if (!find_operand(r, &g, i == 0, i == 0 ? &lhs : &rhs))
            return objection(why, NULL, "%s is computed; a library takes materialised values",
                             r->graph->nodes[i == 0 ? g.lhs : g.rhs].name);
    find_strides(&n->shape, &map, out.stride);
    if (!join_batches(&n->shape, (struct operand *const[]){&lhs, &rhs, &out}, batch))
        return objection(why, NULL, "the batches of %s do not lie evenly", n->name);
    int64_t *z = f->call.number;
    z[GEMM_M] = n->shape.size[rank - 2];
    z[GEMM_N] = n->shape.size[rank - 1];
    z[GEMM_K] = r->graph->nodes[g.lhs].shape.size[rank - 1];
    z[GEMM_BATCH] = shape_count(&n->shape) / (z[GEMM_M] * z[GEMM_N]);
    set_strides(z + GEMM_LHS, &lhs, rank - 2, rank, batch[0]);
    set_strides(z + GEMM_RHS, &rhs, rank, rank - 1, batch[1]);
    set_strides(z + GEMM_OUT, &out, rank - 2, rank - 1, batch[2]);
    join_rows(z);
    f->lhs = lhs.leaf;
    f->rhs = rhs.leaf;
    return true;
}

static bool find_conv(const struct region *r, node_id anchor, struct library_form *f,
                      struct objection *why) {
    const struct node *n = &r->graph->nodes[anchor];
    const struct node *x = &r->graph->nodes[n->arg[0]];
    const struct window *w = &n->detail->window;
    for (int i = 0; i < 2; i++)
        if (!r->is_leaf[n->arg[i]])
            return objection(why, NULL, "%s is computed; a library takes materialised values",
                             r->graph->nodes[n->arg[i]].name);
    int64_t *z = f->call.number;
    z[CONV_BATCH] = n->shape.size[0];
    z[CONV_GROUPS] = w->groups;
    z[CONV_IN] = x->shape.size[1] / w->groups;
    z[CONV_OUT] = n->shape.size[1] / w->groups;
    z[CONV_TRANSPOSED] = n->op == OP_CONV_T;
    z[CONV_AXES] = w->n_axes;
    for (int i = 0; i < SPATIAL_MAX; i++) {
        bool is_there = i < w->n_axes;
        z[CONV_IMAGE + i] = is_there ? x->shape.size[2 + i] : 1;
        z[CONV_WINDOW + i] = is_there ? w->size[i] : 1;
        z[CONV_STRIDE + i] = is_there ? w->stride[i] : 1;
        z[CONV_PADDING + i] = is_there ? w->before[i] : 0;
        z[CONV_DILATION + i] = is_there ? w->dilation[i] : 1;
        z[CONV_RESULT + i] = is_there ? n->shape.size[2 + i] : 1;
    }
    f->call.kind = CALL_CONV;
    f->lhs = n->arg[0];
    f->rhs = n->arg[1];
    enum dtype types[] = {DTYPE_U8, DTYPE_U8, DTYPE_U8};
    const int64_t sizes[] = {INT64_MAX, INT64_MAX, INT64_MAX};
    return !call_broken(&f->call, types, sizes, 3) ||
           objection(why, NULL, "%s has more padding on one side than on the other", n->name);
}

// What products are made of, by the problem's precision.
static bool find_math(const struct region *r, struct library_form *f, struct objection *why) {
    const struct graph *g = r->graph;
    const struct precision *p = &r->problem->precision;
    enum dtype type = g->nodes[f->lhs].dtype;
    if (type != g->nodes[f->rhs].dtype)
        return objection(why, NULL, "a library takes two operands of one type, not %s and %s",
                         dtype_name(type), dtype_name(g->nodes[f->rhs].dtype));
    bool rounds = p->operand == PRECISION_TYPE && p->type != type;
    if (rounds)
        return objection(why, NULL, "no library rounds %s to %s on the way", dtype_name(type),
                         dtype_name(p->type));
    bool is_tf32 = p->operand == PRECISION_TF32 && type == DTYPE_F32;
    f->call.math = type == DTYPE_F64 ? CALL_F64 : is_tf32 ? CALL_TF32 : CALL_F32;
    if (!dtype_is_float(type))
        f->call.math = CALL_I32;
    return true;
}

bool library_find_product(const struct region *r, node_id anchor, struct library_form *f,
                          struct objection *why) {
    *f = (struct library_form){.call.kind = CALL_GEMM};
    return find_gemm(r, anchor, f, why) && find_math(r, f, why);
}

bool library_find_strides(const struct region *r, node_id anchor, const struct call *c,
                          node_id leaf, const struct axis_map *map, int64_t strides[3]) {
    const struct shape *s = &r->graph->nodes[anchor].shape;
    int64_t all[RANK_MAX + 1] = {0}, rows = s->size[s->rank - 2];
    strides[2] = 0;
    if (!find_strides(&r->graph->nodes[leaf].shape, map, all) || !join_batch(s, all, &strides[2]))
        return false;
    strides[0] = all[s->rank - 2];
    strides[1] = all[s->rank - 1];
    // Batches became rows of the call: here they must go on like rows.
    bool is_joined = c->number[GEMM_M] != rows;
    if (is_joined && strides[2] != rows * strides[0])
        return false;
    if (is_joined)
        strides[2] = 0;
    return true;
}

bool library_find(struct form *form, struct objection *why) {
    const struct region *r = form->region;
    const struct node *n = &r->graph->nodes[form->anchor];
    if (n->op != OP_MATMUL && n->op != OP_CONV && n->op != OP_CONV_T)
        return objection(why, NULL, "a library computes products and convolutions, not %s",
                         op_infos[n->op].name);
    if (r->n_anchors != 1 || r->n_values != 1 || !is_result(r, r->value[0], form->anchor))
        return objection(why, NULL,
                         "a library computes %s alone; what is around it is a stage of its own",
                         n->name);
    struct library_form *f = arena_new(r->arena, struct library_form);
    form->library = f;
    bool ok = n->op == OP_MATMUL ? find_gemm(r, form->anchor, f, why)
                                 : find_conv(r, form->anchor, f, why);
    return ok && find_math(r, f, why);
}

// ---- emitters

static const struct knob knobs[] = {{0}};

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    (void)f, (void)t, (void)s;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    (void)f, (void)t, (void)s, (void)why;
    return true;
}

// Roughly, since nobody chooses it by this.
static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    struct region_work w;
    (void)s;
    region_count(f->region, &w);
    double bandwidth = t->ceilings.present ? ceilings_bandwidth(&t->ceilings, 0.5) : 1e10;
    double rate = t->ceilings.present ? t->ceilings.f32_flops_per_s : 1e11;
    return fmax((w.bytes_read + w.bytes_written) / bandwidth, w.flops / rate);
}

static bool refuse_types(const struct form *f, const char *library, const char *takes,
                         struct objection *why) {
    const struct graph *g = f->region->graph;
    return objection(why, NULL, "%s multiplies %s; %s is %s and its result %s", library, takes,
                     g->nodes[f->library->lhs].name, dtype_name(g->nodes[f->library->lhs].dtype),
                     dtype_name(g->nodes[f->region->value[0]].dtype));
}

static bool blas_accepts(const struct form *f, const struct target *t, struct objection *why) {
    const struct graph *g = f->region->graph;
    enum dtype in = g->nodes[f->library->lhs].dtype, out = g->nodes[f->region->value[0]].dtype;
    (void)t;
    if (f->library->call.kind != CALL_GEMM)
        return objection(why, NULL, "OpenBLAS has no convolutions");
    const int64_t *z = f->library->call.number;
    for (int i = 0; i < 3; i++) {
        const int64_t *stride = z + GEMM_LHS + 3 * i;
        if (stride[0] > 1 && stride[1] > 1)
            return objection(why, NULL,
                             "OpenBLAS takes matrices whose rows or columns lie side by "
                             "side; materialise %s first",
                             g->nodes[i == 0 ? f->library->lhs : f->library->rhs].name);
    }
    return (in == out && (in == DTYPE_F32 || in == DTYPE_F64)) ||
           refuse_types(f, "OpenBLAS", "f32 to f32 and f64 to f64", why);
}

static bool gpu_types(const struct form *f, enum dtype *in, enum dtype *out) {
    const struct graph *g = f->region->graph;
    *in = g->nodes[f->library->lhs].dtype;
    *out = g->nodes[f->region->value[0]].dtype;
    bool is_half = *in == DTYPE_F16 || *in == DTYPE_BF16;
    return (*in == DTYPE_F32 && *out == DTYPE_F32) ||
           (is_half && (*out == *in || *out == DTYPE_F32));
}

// It multiplies f8e4m3 along K, and its sums are as short as tensor cores make them.
static bool accepts_f8(const struct form *f, enum dtype out, struct objection *why) {
    const int64_t *z = f->library->call.number;
    bool along_k = z[GEMM_LHS + 1] == 1 && z[GEMM_RHS] == 1;
    bool is_known = out == DTYPE_BF16 || out == DTYPE_F16 || out == DTYPE_F32;
    if (along_k && is_known && f->region->problem->precision.short_sums)
        return true;
    return objection(why, NULL,
                     "cuBLASLt multiplies f8e4m3 that lies side by side along K, to bf16, f16 or "
                     "f32, under 'accumulate f22'");
}

static bool cublaslt_accepts(const struct form *f, const struct target *t, struct objection *why) {
    enum dtype in, out;
    (void)t;
    if (f->library->call.kind != CALL_GEMM)
        return objection(why, NULL, "cuBLASLt has no convolutions");
    bool ok = gpu_types(f, &in, &out) || (in == DTYPE_F64 && out == DTYPE_F64) ||
              (in == DTYPE_I8 && out == DTYPE_I32);
    const int64_t *z = f->library->call.number;
    if (in == DTYPE_F8E4M3)
        return accepts_f8(f, out, why);
    for (int i = 0; i < 2; i++)
        if (z[GEMM_LHS + 3 * i] > 1 && z[GEMM_LHS + 3 * i + 1] > 1)
            return objection(why, NULL,
                             "cuBLASLt takes matrices whose rows or columns lie side by "
                             "side; materialise %s first",
                             f->region->graph->nodes[i ? f->library->rhs : f->library->lhs].name);
    return ok || refuse_types(f, "cuBLASLt",
                              "f32, f64, f16, bf16 (to themselves or f32), i8 to i32 and "
                              "f8e4m3",
                              why);
}

static bool cudnn_accepts(const struct form *f, const struct target *t, struct objection *why) {
    enum dtype in, out;
    (void)t;
    if (f->library->call.kind != CALL_CONV)
        return objection(why, NULL, "cuDNN is asked for convolutions alone");
    return (gpu_types(f, &in, &out) && in == out) ||
           refuse_types(f, "cuDNN", "f32, f16 and bf16 to themselves", why);
}

// They come one after the other.
const struct loop_buffer *library_work_buffer(struct loop_program *p, int64_t bytes) {
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i]->role == LOOP_SCRATCH && p->buffers[i]->plan &&
            strcmp(p->buffers[i]->plan, "library_work") == 0) {
            struct loop_buffer *b = p->buffers[i];
            if (b->count < bytes)
                b->count = b->shape[0].value = bytes;
            return b;
        }
    struct loop_size size = {bytes, NULL};
    return loop_global_of(p, "library_work", LOOP_SCRATCH, DTYPE_U8, &size, 1);
}

static void lower(struct lowering *l, const struct library_form *f,
                  const struct loop_buffer *work) {
    struct loop_call c = {f->call, {l->buffer[f->lhs], l->buffer[f->rhs], l->target[0], work}, 3};
    c.n_args += work != NULL;
    loop_call_new(l->program, arena_printf(l->arena, "%s_library", l->region->value_name[0]), &c);
}

static void lower_cpu(struct lowering *l, const struct form *f, const struct kernel_stage *s) {
    (void)s;
    lower(l, f->library, NULL);
}

static void lower_gpu(struct lowering *l, const struct form *f, const struct kernel_stage *s) {
    const struct loop_buffer *all[] = {l->buffer[f->library->lhs], l->buffer[f->library->rhs],
                                       l->target[0]};
    int64_t bytes = CONV_WORK_LEAST;
    (void)s;
    for (int i = 0; i < 3; i++)
        bytes += 2 * dtype_size(all[i]->dtype, all[i]->count);
    bytes = bytes < CONV_WORK_MOST ? (bytes + 255) / 256 * 256 : CONV_WORK_MOST;
    if (f->library->call.kind == CALL_GEMM)
        bytes = GEMM_WORK_BYTES;
    lower(l, f->library, library_work_buffer(l->program, bytes));
}

#define LIBRARY(its_name, its_summary, target, does_accept, does_lower)                          \
    {                                                                                            \
        .name = its_name, .summary = its_summary, .knobs = knobs, .runs_on = target,             \
        .accepts = does_accept, .defaults = defaults, .is_legal = is_legal, .lower = does_lower, \
        .estimate = estimate                                                                     \
    }

const struct emitter library_blas =
    LIBRARY("blas", "OpenBLAS, called by hone's threads on parts of the result",
            emitter_runs_on_cpu, blas_accepts, lower_cpu);
const struct emitter library_cublaslt =
    LIBRARY("cublaslt", "cuBLASLt, the fastest of the algorithms that it proposes",
            emitter_runs_on_gpu, cublaslt_accepts, lower_gpu);
const struct emitter library_cudnn = LIBRARY("cudnn", "cuDNN, the fastest of its algorithms",
                                             emitter_runs_on_gpu, cudnn_accepts, lower_gpu);
