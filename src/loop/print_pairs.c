// Neighbouring statements that C says as one: two vectors of 16 bits that go past the caches are a
// whole line together, which takes one conversion and one store (gelu of bf16 on an EPYC: 9.7
// cycles for 16 elements, 8.6 so). And of a line one prefetch is enough.
#include "ir/types.h"
#include "loop/print_text.h"
#include "loop/range.h"

enum { LINE_BYTES = 64, PAIR_LANES = 16 };

static bool reads(const struct loop_expr *e, const struct loop_buffer *b) {
    if (!e)
        return false;
    bool any = e->op == LOOP_LOAD && e->buffer == b;
    for (int i = 0; i < loop_ops[e->op].arity && !any; i++)
        any = reads(e->arg[i], b);
    return any;
}

// The value is a name: nothing that happens meanwhile changes it.
static bool is_half_line(const struct loop_stmt *s) {
    return s->kind == LOOP_STORE && s->stream && s->value->lanes == PAIR_LANES &&
           s->value->op == LOOP_VAR &&
           (s->buffer->dtype == DTYPE_F16 || s->buffer->dtype == DTYPE_BF16);
}

const struct loop_stmt *text_paired_store(const struct loop_stmt *s) {
    int64_t apart;
    if (!is_half_line(s))
        return NULL;
    for (const struct loop_stmt *t = s->next; t; t = t->next) {
        if (t->kind == LOOP_STORE && t->buffer == s->buffer)
            return is_half_line(t) && range_difference(t->index, s->index, &apart) &&
                           apart == PAIR_LANES
                       ? t
                       : NULL;
        bool is_simple = t->kind == LOOP_LET || t->kind == LOOP_STORE || t->kind == LOOP_PREFETCH ||
                         t->kind == LOOP_NOTE;
        if (!is_simple || (t->value && reads(t->value, s->buffer)))
            return NULL;
    }
    return NULL;
}

bool text_is_asked(const struct loop_block *b, const struct loop_stmt *s) {
    int64_t apart;
    for (const struct loop_stmt *t = b->first; t != s; t = t->next)
        if (t->kind == LOOP_PREFETCH && t->buffer == s->buffer &&
            range_difference(s->index, t->index, &apart) && apart >= 0 &&
            dtype_size(s->buffer->dtype, apart + 1) <= LINE_BYTES && !text_is_asked(b, t))
            return true;
    return false;
}
