#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "loop/loop.h"
#include "loop/passes.h"
#include "loop/range.h"

struct checker {
    bool *bound;  // by variable id: in scope here
    struct error *err;
};

static bool complain(struct checker *c, const char *name, const char *rule) {
    return error_set(c->err, ERROR_PARSE, "loop program: %s: %s", name, rule);
}

static bool access(struct checker *c, const struct loop_buffer *b, const struct loop_expr *index,
                   int lanes) {
    int64_t i;
    if (b->space == LOOP_REGISTER && lanes != b->lanes)
        return complain(c, b->name, "register accessed with other lanes than its own");
    if (b->space == LOOP_REGISTER && !range_constant(index, &i))
        return complain(c, b->name, "register index is not a constant");
    return true;
}

static bool expr(struct checker *c, const struct loop_expr *e) {
    if (e->op == LOOP_VAR && !c->bound[e->var->id])
        return complain(c, e->var->name, "used where it is not bound");
    if (e->op == LOOP_LOAD && !access(c, e->buffer, e->arg[0], e->lanes))
        return false;
    bool mixes = e->op == LOOP_LOAD || e->op == LOOP_BROADCAST ||
                 (e->op >= LOOP_LANES_SUM && e->op <= LOOP_LANES_MAX);
    for (int i = 0; i < loop_ops[e->op].arity; i++) {
        if (!expr(c, e->arg[i]))
            return false;
        if (!mixes && e->arg[i]->lanes != e->lanes)
            return complain(c, loop_ops[e->op].text, "arguments of other lanes");
    }
    return true;
}

static bool block(struct checker *c, const struct loop_block *b);

static bool stmt(struct checker *c, const struct loop_stmt *s) {
    switch (s->kind) {
    case LOOP_FOR:
        if (!expr(c, s->begin) || !expr(c, s->end))
            return false;
        if (s->unroll)
            return complain(c, s->var->name, "loop marked for unrolling is still there");
        c->bound[s->var->id] = true;
        if (!block(c, &s->body))
            return false;
        c->bound[s->var->id] = false;
        return true;
    case LOOP_IF:
        return expr(c, s->low) && expr(c, s->high) && block(c, &s->body);
    case LOOP_LET:
        if (!expr(c, s->value))
            return false;
        c->bound[s->var->id] = true;
        return true;
    case LOOP_STORE:
        if (s->stream && s->buffer->space != LOOP_GLOBAL)
            return complain(c, s->buffer->name, "streamed to but not global");
        return expr(c, s->index) && expr(c, s->value) &&
               access(c, s->buffer, s->index, s->value->lanes);
    case LOOP_PREFETCH:
        return expr(c, s->index);
    case LOOP_NOTE:
        return true;
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

bool pass_verify(const struct loop_program *p, struct error *err) {
    struct arena a = {0};
    struct checker c = {.bound = arena_array(&a, bool, p->n_vars), .err = err};
    bool ok = true;
    for (int i = 0; i < p->n_kernels && ok; i++) {
        c.bound[p->kernels[i]->block->id] = true;
        ok = block(&c, &p->kernels[i]->body);
    }
    arena_reset(&a);
    return ok;
}
