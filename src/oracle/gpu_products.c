// Products of matrices on the card, part by part (oracle_products.h): both sides are packed, in the
// declared precision, and multiplied run by run.
#include <math.h>

#include "base/error.h"
#include "oracle/gpu_computation.h"
#include "oracle/oracle_products.h"

static int64_t runs_of(int64_t k) {
    return (k + ORACLE_RUN - 1) / ORACLE_RUN;
}

static bool pack(struct computation *l, node_id id, const struct oracle_part *part, int side,
                 struct oracle_factor *factor, struct error *err) {
    const struct precision *q = &l->request->problem->precision;
    const struct oracle_place *place = &l->plan.places[id];
    const struct oracle_side *s = &part->sides[side];
    struct oracle_pack p = s->pack;
    p.from.array = compute_array(l, s->base);
    p.fault = l->fault;
    p.rows = (uint64_t)s->rows;
    p.k = (uint64_t)s->k;
    p.precision = !s->narrows                    ? ORACLE_AS_STORED
                  : q->operand == PRECISION_TF32 ? ORACLE_TF32
                                                 : (int)q->type;
    cuda_pointer at = l->work + (cuda_pointer)place->packed[side];
    int64_t padded = oracle_padded(s->rows), count = s->batches * s->k * padded;
    struct oracle_array a = compute_readings(at, count, DTYPE_F32);
    p.to = (struct oracle_factor){.honest = at,
                                  .rows = (uint64_t)padded,
                                  .batches = (uint64_t)s->batches,
                                  .bits = l->work + (cuda_pointer)place->bits[side]};
    if (!part->is_exact) {
        p.to.value = a.value;
        p.to.variance = a.variance;
        p.to.honest = a.honest;
    }
    *factor = p.to;
    if (s->is_kept && l->first > 0)
        return true;
    uint64_t batch = (uint64_t)part->batch;
    int64_t n_bits = part->batch * padded * runs_of(s->k);
    void *packing[] = {&p}, *counting[] = {factor, &batch, &p.k};
    return compute_launch(l, l->oracle->pack, count, COMPUTE_THREADS, packing, err) &&
           compute_launch(l, l->oracle->bits, n_bits, COMPUTE_THREADS_FEW, counting, err);
}

static bool multiply(struct computation *l, node_id id, const struct oracle_part *part,
                     struct error *err) {
    const struct oracle_place *place = &l->plan.places[id];
    struct oracle_product p = {.batch = (uint64_t)part->batch,
                               .m = (uint64_t)part->m,
                               .n = (uint64_t)part->n,
                               .k = (uint64_t)part->k,
                               .partials = l->work + (cuda_pointer)place->partials,
                               .is_exact = part->is_exact,
                               .by_parts = precision_by_parts(&l->request->problem->precision)};
    if (!pack(l, id, part, 0, &p.left, err) || !pack(l, id, part, 1, &p.right, err))
        return false;
    int digits = 0;
    for (int i = 0; i < 2; i++)
        digits += dtype_infos[compute_node(l, part->sides[i].base)->dtype].digits;
    p.is_short = part->is_exact && digits <= 24;
    struct oracle_array out = compute_own(l, id);
    int64_t pieces = (int64_t)(p.batch * p.left.rows * p.right.rows) / 16;
    void *whole[] = {&p, &out}, *arguments[] = {&p};
    if (out.type != DTYPE_F32)
        return compute_launch(l, l->oracle->matmul_whole, pieces, COMPUTE_THREADS, whole, err);
    struct oracle_reduce r = {.op = OP_RSUM,
                              .n_runs = (int)runs_of(part->k),
                              .lack =
                                  l->request->problem->precision.short_sums ? SHORT_SUMS_LACK : 0,
                              .out = out,
                              .n = p.batch * p.m * p.n,
                              .length = p.k,
                              .partials = p.partials,
                              .joined = l->work + (cuda_pointer)place->joined,
                              .to = part->to,
                              .to_at = part->to_at};
    return compute_launch(l, l->oracle->matmul, pieces * r.n_runs, ORACLE_GROUP, arguments, err) &&
           compute_join(l, &r, err);
}

static bool clear(struct computation *l, node_id id, struct error *err) {
    struct oracle_operand zero = {.axes = {.rank = 1, .is_flat = 1}};
    struct oracle_axes to = {.rank = 1, .is_flat = 1};
    struct oracle_array out = compute_own(l, id);
    return compute_copy(l, &zero, &out, &to, compute_count(l, id), err);
}

// Limits of the groups of a ragged product, and whether they are any.
enum { GROUPS_MAX = 4096 };
static bool take_limits(struct computation *l, const struct node *n, int n_groups,
                        double limits[GROUPS_MAX + 1], struct error *err) {
    struct oracle_operand o = compute_operand(l, n->arg[2]);
    const struct cuda *cu = &l->oracle->bench->cu;
    cuda_pointer from = o.array.value ? o.array.value : o.array.honest;
    bool is_double = o.array.value || o.array.is_wide;
    int64_t n_rows = compute_node(l, n->arg[0])->shape.size[0];
    if (!o.axes.is_flat || !is_double || n_groups > GROUPS_MAX)
        return error_set(err, ERROR_UNSUPPORTED, "groups of rows that lie apart");
    if (!cuda_ok(cu, cu->copy_from(limits, from, sizeof *limits * (size_t)(n_groups + 1)),
                 "read offsets", err))
        return false;
    for (int i = 0; i <= n_groups; i++)
        if (!(limits[i] >= 0 && limits[i] <= (double)n_rows))
            return error_set(err, ERROR_UNSUPPORTED, "offsets that are out of range");
    return true;
}

static bool compute_groups(struct computation *l, node_id id, struct error *err) {
    const struct node *n = compute_node(l, id);
    int n_groups = oracle_parts(&l->plan, id);
    double limits[GROUPS_MAX + 1];
    bool ok = clear(l, id, err) && take_limits(l, n, n_groups, limits, err);
    for (int i = 0; ok && i < n_groups; i++) {
        int64_t begin = (int64_t)limits[i], end = (int64_t)limits[i + 1];
        struct oracle_part p = oracle_part(&l->plan, id, l->rows, i);
        oracle_part_group(&p, n, i, begin, end);
        ok = end <= begin || multiply(l, id, &p, err);
    }
    return ok;
}

bool compute_products(struct computation *l, node_id id, struct error *err) {
    const struct node *n = compute_node(l, id);
    int n_parts = oracle_parts(&l->plan, id);
    if (op_infos[n->op].class == OP_CLASS_RAGGED)
        return compute_groups(l, id, err);
    // Where no tap falls on an element, nothing is ever added.
    bool ok = n->op != OP_CONV_T || clear(l, id, err);
    for (int i = 0; ok && i < n_parts; i++) {
        struct oracle_part p = oracle_part(&l->plan, id, l->rows, i);
        ok = p.k == 0 || multiply(l, id, &p, err);
    }
    return ok;
}
