// Counts the readers of every variable and buffer, removes what has none, and starts again while
// something was removed.
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "loop/loop.h"
#include "loop/passes.h"

struct readers {
    int *var;     // by id: how often it is read
    int *buffer;  // by id: how often it is loaded
};

static void read_expr(struct readers *r, const struct loop_expr *e) {
    if (!e)
        return;
    if (e->op == LOOP_VAR)
        r->var[e->var->id]++;
    if (e->op == LOOP_LOAD)
        r->buffer[e->buffer->id]++;
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        read_expr(r, e->arg[i]);
}

static void read_block(struct readers *r, const struct loop_block *b) {
    for (const struct loop_stmt *s = b->first; s; s = s->next) {
        const struct loop_expr *all[] = {s->begin, s->end, s->low, s->high, s->value, s->index};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            read_expr(r, all[i]);
        for (int i = 0; i < INTRINSIC_OPERANDS_MAX && s->kind == LOOP_INTRINSIC; i++) {
            read_expr(r, s->operand[i].index);
            if (s->operand[i].buffer)
                r->buffer[s->operand[i].buffer->id]++;
        }
        read_block(r, &s->body);
    }
}

static bool is_unread(const struct readers *r, const struct loop_stmt *s) {
    switch (s->kind) {
    case LOOP_LET:
        return r->var[s->var->id] == 0;
    case LOOP_STORE:
        return s->buffer->space != LOOP_GLOBAL && r->buffer[s->buffer->id] == 0;
    case LOOP_FOR:
    case LOOP_IF:
        return !s->body.first;
    default:
        return false;
    }
}

static bool prune_block(const struct readers *r, struct loop_block *b) {
    bool changed = false;
    struct loop_block kept = {0};
    for (struct loop_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        s->next = NULL;
        changed |= prune_block(r, &s->body);
        if (is_unread(r, s)) {
            changed = true;
            continue;
        }
        if (kept.last)
            kept.last->next = s;
        else
            kept.first = s;
        kept.last = s;
    }
    *b = kept;
    return changed;
}

void pass_prune(struct loop_program *p) {
    for (bool changed = true; changed;) {
        struct arena a = {0};
        struct readers r = {arena_array(&a, int, p->n_vars), arena_array(&a, int, p->n_buffers)};
        changed = false;
        for (int i = 0; i < p->n_kernels; i++)
            read_block(&r, &p->kernels[i]->body);
        for (int i = 0; i < p->n_kernels; i++)
            changed |= prune_block(&r, &p->kernels[i]->body);
        arena_reset(&a);
    }
}
