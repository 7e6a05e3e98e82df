// One walk over the program that checks the rules listed in passes.h; the first that is broken is
// named.
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "loop/loop_build.h"
#include "loop/passes.h"
#include "loop/range.h"

struct checker {
    bool *bound;     // by variable id: in scope here
    bool *unrolled;  // by variable id: of a loop that will be unrolled
    bool threads;    // the kernel has some
    bool is_shared;  // its blocks touch each other's shared memory
    const struct loop_kernel *kernel;
    struct error *err;
};

static bool complain(struct checker *c, const char *name, const char *rule) {
    return error_set(c->err, ERROR_PARSE, "loop program: %s: %s", name, rule);
}

// Will the index be a constant once loops are unrolled?
static bool becomes_constant(const struct checker *c, const struct loop_expr *e) {
    int64_t i;
    if (range_constant(e, &i))
        return true;
    if (e->op == LOOP_VAR)
        return c->unrolled[e->var->id];
    if (e->op == LOOP_TO_INDEX)
        return false;
    for (int k = 0; k < loop_ops[e->op].arity; k++)
        if (!becomes_constant(c, e->arg[k]))
            return false;
    return loop_ops[e->op].arity > 0;
}

static bool is_width(const struct checker *c, int lanes) {
    return lanes == 1 || lanes == 4 || lanes == 8 || lanes == (c->threads ? 2 : 16);
}

// Which storage types several lanes are loaded from and stored to at a time.
static bool has_lanes(enum dtype t) {
    return t == DTYPE_F32 || t == DTYPE_F16 || t == DTYPE_BF16 || t == DTYPE_BOOL;
}

// Pairs of whole numbers are only carried about.
static bool is_pair(const struct checker *c, const struct loop_expr *e) {
    bool carries = e->op == LOOP_LOAD || e->op == LOOP_VAR || e->op == LOOP_BROADCAST;
    return c->threads && e->dtype == LOOP_I32 && e->lanes == 2 && carries;
}

static bool access(struct checker *c, const struct loop_buffer *b, const struct loop_expr *index,
                   const struct loop_expr *value) {
    if (index->dtype != LOOP_INDEX)
        return complain(c, b->name, "addressed by something else than an index");
    if (value->dtype != b->value)
        return complain(c, b->name, "accessed in another type than its own");
    if (b->space == (c->threads ? LOOP_LOCAL : LOOP_SHARED))
        return complain(c, b->name, "shared arrays are for threads, local ones for blocks alone");
    if (b->space == LOOP_REGISTER && value->lanes != b->lanes)
        return complain(c, b->name, "register accessed with other lanes than its own");
    if (b->space == LOOP_REGISTER && !becomes_constant(c, index))
        return complain(c, b->name, "register index is not a constant");
    bool stores_pair = b->dtype == DTYPE_I32 && value->op != LOOP_LOAD && is_pair(c, value);
    if (b->space != LOOP_REGISTER && value->lanes > 1 && !has_lanes(b->dtype) && !stores_pair)
        return complain(c, b->name, "several lanes of a type that has none");
    return true;
}

static bool is_across_threads(const struct loop_expr *e) {
    return e->op >= LOOP_WARP_SUM && e->op <= LOOP_WARP_LAST;
}

// The operands of whatever is no load have a type that the operation takes, the same for all.
static bool operands(struct checker *c, const struct loop_expr *e) {
    int arity = loop_ops[e->op].arity;
    const struct loop_expr *first = e->arg[e->op == LOOP_SELECT ? 1 : 0];
    bool ok = loop_ops[e->op].takes >> first->dtype & 1;
    for (int i = 0; i < arity; i++) {
        enum loop_dtype want = first->dtype;
        if (e->op == LOOP_SELECT && i == 0)
            want = LOOP_MASK;
        if (e->op == LOOP_LANE && i == 1)
            want = LOOP_INDEX;
        ok &= e->arg[i]->dtype == want;
    }
    return ok || complain(c, loop_ops[e->op].text, "operands of a type that it does not take");
}

static bool is_result(const struct loop_expr *e) {
    enum loop_dtype from = e->arg[e->op == LOOP_SELECT ? 1 : 0]->dtype;
    switch (e->op) {
    case LOOP_LT:
    case LOOP_LE:
    case LOOP_EQ:
    case LOOP_NE:
        return e->dtype == LOOP_MASK;
    case LOOP_CAST:
        return e->dtype != LOOP_INDEX;
    case LOOP_TO_INDEX:
        return e->dtype == LOOP_INDEX;
    case LOOP_ROUND_TO:
        if (e->dtype != loop_arithmetic(e->storage) || (e->lanes > 1 && !has_lanes(e->storage)))
            return false;
        return from == e->dtype || (from == LOOP_F64 && e->dtype == LOOP_F32);
    default:
        return e->dtype == from;
    }
}

static bool types(struct checker *c, const struct loop_expr *e) {
    bool has_vectors = e->dtype == LOOP_F32 || e->dtype == LOOP_MASK || is_pair(c, e);
    if (!is_width(c, e->lanes) || (e->lanes > 1 && !has_vectors))
        return complain(c, loop_ops[e->op].text, "a number of lanes that its type does not have");
    if (loop_ops[e->op].arity == 0)
        return true;
    if (e->op == LOOP_LOAD)
        return access(c, e->buffer, e->arg[0], e);
    if (!operands(c, e))
        return false;
    return is_result(e) || complain(c, loop_ops[e->op].text, "a result of another type");
}

// What an operation asks for besides its types.
static bool particulars(struct checker *c, const struct loop_expr *e) {
    const char *name = loop_ops[e->op].text;
    switch (e->op) {
    case LOOP_VAR:
        return c->bound[e->var->id] || complain(c, e->var->name, "used where it is not bound");
    case LOOP_LANE:
        return becomes_constant(c, e->arg[1]) || complain(c, "lane", "number is not a constant");
    case LOOP_LANES_EVEN:
    case LOOP_LANES_ODD:
        return (e->stride >= 1 && e->lanes % (2 * e->stride) == 0) ||
               complain(c, name, "runs that do not come in pairs");
    case LOOP_LANES_SLID:
        return (e->stride >= 1 && e->stride < e->lanes) ||
               complain(c, name, "by no lane, or by all of them");
    default:
        return true;
    }
}

static bool expr(struct checker *c, const struct loop_expr *e) {
    if (!particulars(c, e))
        return false;
    if (!types(c, e))
        return false;
    bool mixes = e->op == LOOP_LOAD || e->op == LOOP_BROADCAST || e->op == LOOP_LANE ||
                 (e->op >= LOOP_LANES_SUM && e->op <= LOOP_LANES_ALL);
    for (int i = 0; i < loop_ops[e->op].arity; i++) {
        if (is_across_threads(e->arg[i]))
            return complain(c, loop_ops[e->arg[i]->op].text, "inside another expression");
        if (!expr(c, e->arg[i]))
            return false;
        if (!mixes && e->arg[i]->lanes != e->lanes)
            return complain(c, loop_ops[e->op].text, "arguments of other lanes");
    }
    return true;
}

static bool number(struct checker *c, const char *name, const struct operand_info *want,
                   const struct loop_operand *o) {
    if (o->buffer || o->index->dtype != LOOP_INDEX)
        return complain(c, name, "an operand that is not a number");
    struct range r = range_of(o->index);
    if (r.low < want->low || r.high > want->high)
        return complain(c, name, "a number out of its range");
    return !want->is_constant || becomes_constant(c, o->index) ||
           complain(c, name, "a number that is not constant");
}

static bool operand(struct checker *c, const char *name, const struct operand_info *want,
                    const struct loop_operand *o) {
    bool is_map = want->kind == OPERAND_MAP;
    if (!is_map && (!o->index || !expr(c, o->index)))
        return o->index || complain(c, name, "an operand is missing");
    if (want->kind == OPERAND_NUMBER)
        return number(c, name, want, o);
    const struct loop_buffer *b = o->buffer;
    if (want->kind == OPERAND_MAP)
        return (b && b->map) || complain(c, name, "an operand that is not a map");
    if (!b || b->space != want->space || o->index->dtype != LOOP_INDEX)
        return complain(c, name, "an operand of another kind of memory");
    if (want->kind == OPERAND_MEMORY)
        return 8 * want->count % dtype_infos[b->dtype].bits == 0 ||
               complain(c, b->name, "elements that do not fill the operand");
    if (b->value != want->value || b->lanes != want->lanes)
        return complain(c, b->name, "a register array of another type or lanes");
    return becomes_constant(c, o->index) ||
           complain(c, b->name, "register index is not a constant");
}

// Does it touch the shared memory of other blocks?
static bool is_to_others(enum loop_intrinsic i) {
    return i == INTRINSIC_MBARRIER_ARRIVE_AT || i == INTRINSIC_BULK_SHARE2 ||
           i == INTRINSIC_BULK_SHARE3;
}

static bool intrinsic(struct checker *c, const struct loop_stmt *s) {
    const struct intrinsic_info *info = &intrinsic_infos[s->intrinsic];
    if (!c->threads)
        return complain(c, info->text, "where there are no threads");
    if (s->intrinsic == INTRINSIC_LAUNCH_WAIT && !c->kernel->is_programmatic)
        return complain(c, info->text, "where the launch before has ended");
    if (is_to_others(s->intrinsic) && (c->kernel->blocks_per_group < 2 || !c->kernel->is_cluster))
        return complain(c, info->text, "where blocks are no cluster");
    c->is_shared |= is_to_others(s->intrinsic);
    for (int i = 0; i < INTRINSIC_OPERANDS_MAX && info->operand[i].kind != OPERAND_NONE; i++)
        if (!operand(c, info->text, &info->operand[i], &s->operand[i]))
            return false;
    return info->effect != EFFECT_STARTS ||
           s->operand[0].buffer->dtype == s->operand[1].buffer->dtype ||
           complain(c, info->text, "a copy from one storage type to another");
}

static bool block(struct checker *c, const struct loop_block *b);

static bool check_group_barrier(struct checker *c, const struct loop_stmt *s) {
    if (c->kernel->blocks_per_group < 2 || c->kernel->is_cluster != !s->buffer)
        return complain(c, "group barrier", "where there are no block groups, or of another kind");
    if (!s->buffer)
        return true;
    if (!s->buffer->is_zeroed || s->buffer->dtype != DTYPE_I32)
        return complain(c, s->buffer->name, "counts a block group but is no zeroed i32");
    return expr(c, s->index);
}

static bool stmt(struct checker *c, const struct loop_stmt *s) {
    switch (s->kind) {
    case LOOP_FOR:
        if (!expr(c, s->begin) || !expr(c, s->end))
            return false;
        if (s->unroll && !c->threads)
            return complain(c, s->var->name, "loop marked for unrolling is still there");
        c->unrolled[s->var->id] = s->unroll;
        c->bound[s->var->id] = true;
        if (!block(c, &s->body))
            return false;
        c->bound[s->var->id] = false;
        return true;
    case LOOP_IF:
        return expr(c, s->low) && expr(c, s->high) && block(c, &s->body);
    case LOOP_LET:
        if (is_across_threads(s->value) && (!c->threads || s->value->lanes != 1))
            return complain(c, s->var->name, "an operation of a warp where there is none");
        if (!expr(c, s->value))
            return false;
        c->bound[s->var->id] = true;
        return true;
    case LOOP_STORE:
        if (s->stream && s->buffer->space != LOOP_GLOBAL)
            return complain(c, s->buffer->name, "streamed to but not global");
        if (is_across_threads(s->value))
            return complain(c, s->buffer->name, "an operation of a warp in a store");
        return expr(c, s->index) && expr(c, s->value) && access(c, s->buffer, s->index, s->value);
    case LOOP_PREFETCH:
        return expr(c, s->index);
    case LOOP_NOTE:
        return true;
    case LOOP_BARRIER:
        return c->threads || complain(c, "barrier", "where there are no threads");
    case LOOP_GROUP_BARRIER:
        return check_group_barrier(c, s);
    case LOOP_INTRINSIC:
        return intrinsic(c, s);
    }
    return true;
}

static bool block(struct checker *c, const struct loop_block *b) {
    for (const struct loop_stmt *s = b->first; s; s = s->next)
        if (!stmt(c, s))
            return false;
    // Lets end with their block.
    for (const struct loop_stmt *s = b->first; s; s = s->next)
        if (s->kind == LOOP_LET)
            c->bound[s->var->id] = false;
    return true;
}

// A block whose shared memory others touch must not end before them.
static bool ends_together(struct checker *c) {
    const struct loop_stmt *last = c->kernel->body.last;
    return !c->is_shared || (last && last->kind == LOOP_GROUP_BARRIER) ||
           complain(c, c->kernel->name, "blocks touch each other's memory, and end apart");
}

// What begins early does so after a kernel of this program.
static bool follows_kernel(struct checker *c, const struct loop_program *p, int i) {
    const struct loop_kernel *k = p->kernels[i];
    bool may = c->threads && i > 0 && !p->kernels[i - 1]->call &&
               (k->blocks_per_group < 2 || k->is_cluster);
    return !k->is_programmatic || may ||
           complain(c, k->name, "begins early, and there is no launch that it could overlap");
}

bool pass_verify(const struct loop_program *p, struct error *err) {
    struct arena a = {0};
    struct checker c = {.bound = arena_array(&a, bool, p->n_vars), .err = err};
    bool ok = true;
    c.unrolled = arena_array(&a, bool, p->n_vars);
    for (int i = 0; i < p->n_kernels && ok; i++) {
        c.kernel = p->kernels[i];
        c.threads = p->kernels[i]->threads > 0;
        c.bound[p->kernels[i]->block->id] = true;
        if (c.threads)
            c.bound[p->kernels[i]->thread->id] = true;
        c.is_shared = false;
        ok = block(&c, &p->kernels[i]->body) && ends_together(&c) && follows_kernel(&c, p, i);
    }
    arena_reset(&a);
    return ok;
}
