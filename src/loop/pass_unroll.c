// Unrolling by rebuilding: statements and expressions are made anew through the same
// builders that made them, with variables replaced, so that everything which becomes
// constant folds on the way.
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "loop/loop_build.h"
#include "loop/passes.h"
#include "loop/range.h"

// What each variable of the old program has become; indexed by its id.
struct rebuild {
    struct arena *arena;
    const struct loop_expr **replacement;
    const char *suffix;  // behind the names of lets inside unrolled loops: "_1"
};

static const struct loop_expr *expr(struct rebuild *r, const struct loop_expr *e) {
    if (e->op == LOOP_CONST)
        return e;
    if (e->op == LOOP_VAR) {
        const struct loop_expr *now = r->replacement[e->var->id];
        return now ? now : e;
    }
    const struct loop_expr *arg[3] = {NULL};
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        arg[i] = expr(r, e->arg[i]);
    if (e->op == LOOP_TO_INDEX)
        return loop_to_index(r->arena, arg[0], e->low, e->high);
    if (e->op == LOOP_CAST)
        return loop_cast(r->arena, arg[0], e->dtype);
    // Conditions over indices may be decided by now.
    if (loop_ops[e->op].arity == 2 && e->op != LOOP_LANE && e->arg[0]->dtype == LOOP_INDEX)
        return loop_binary(r->arena, e->op, arg[0], arg[1]);

    if (e->op == LOOP_SELECT)
        return loop_ternary(r->arena, e->op, arg[0], arg[1], arg[2]);
    struct loop_expr *copy = arena_copy(r->arena, e, sizeof *e);
    memcpy(copy->arg, arg, sizeof arg);
    return copy;
}

static void block(struct rebuild *r, struct loop_builder *b, const struct loop_block *from);

static const char *suffixed(struct rebuild *r, const char *name) {
    return *r->suffix ? arena_printf(r->arena, "%s%s", name, r->suffix) : name;
}

static void unrolled(struct rebuild *r, struct loop_builder *b, const struct loop_stmt *s) {
    int64_t begin, end;
    bool constant =
        range_constant(expr(r, s->begin), &begin) && range_constant(expr(r, s->end), &end);
    assert(constant);
    const char *outer = r->suffix;
    for (int64_t i = begin; i < end; i += s->step) {
        r->replacement[s->var->id] = loop_int(r->arena, i);
        r->suffix = arena_printf(r->arena, "%s_%lld", outer, (long long)i);
        block(r, b, &s->body);
    }
    r->suffix = outer;
}

static void intrinsic(struct rebuild *r, struct loop_builder *b, const struct loop_stmt *s) {
    struct loop_operand operand[INTRINSIC_OPERANDS_MAX];
    memcpy(operand, s->operand, sizeof operand);
    for (int i = 0; i < INTRINSIC_OPERANDS_MAX; i++)
        if (operand[i].index)
            operand[i].index = expr(r, operand[i].index);
    loop_intrinsic(b, s->intrinsic, operand);
}

static void stmt(struct rebuild *r, struct loop_builder *b, const struct loop_stmt *s) {
    struct loop_builder inner;
    switch (s->kind) {
    case LOOP_FOR: {
        if (s->unroll) {
            unrolled(r, b, s);
            return;
        }
        struct loop_for f = {s->var->name, expr(r, s->begin), expr(r, s->end), s->step, false};
        r->replacement[s->var->id] = loop_open_for(b, &f, &inner);
        inner.stmt->rolled = s->rolled;
        block(r, &inner, &s->body);
        loop_close(b, &inner);
        return;
    }
    case LOOP_IF:
        loop_open_if(b, expr(r, s->low), expr(r, s->high), &inner);
        inner.stmt->is_role = s->is_role;
        block(r, &inner, &s->body);
        loop_close(b, &inner);
        return;
    case LOOP_LET:
        r->replacement[s->var->id] = loop_let(b, suffixed(r, s->var->name), expr(r, s->value));
        return;
    case LOOP_STORE:
        loop_store(b, s->buffer, expr(r, s->index), expr(r, s->value), s->stream);
        return;
    case LOOP_PREFETCH:
        loop_prefetch(b, s->buffer, expr(r, s->index));
        return;
    case LOOP_NOTE:
        loop_note(b, s->text);
        return;
    case LOOP_BARRIER:
        loop_barrier(b);
        return;
    case LOOP_GROUP_BARRIER:  // only where there are threads, and those kernels stay as they are
        assert(!"a block group where there are no threads");
        return;
    case LOOP_INTRINSIC:
        intrinsic(r, b, s);
        return;
    }
}

static void block(struct rebuild *r, struct loop_builder *b, const struct loop_block *from) {
    for (const struct loop_stmt *s = from->first; s; s = s->next)
        stmt(r, b, s);
}

void pass_unroll(struct loop_program *p) {
    // Rebuilding makes new variables; only those of the old program are looked up.
    struct rebuild r = {.arena = p->arena, .suffix = ""};
    r.replacement = arena_array(p->arena, const struct loop_expr *, p->n_vars);
    for (int i = 0; i < p->n_kernels; i++) {
        if (p->kernels[i]->threads)
            continue;
        struct loop_block old = p->kernels[i]->body;
        p->kernels[i]->body = (struct loop_block){0};
        struct loop_builder b = {.program = p, .at = &p->kernels[i]->body};
        block(&r, &b, &old);
    }
}
