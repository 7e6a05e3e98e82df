// The rule for calls of libraries. Who writes source has none: what a library computes is the
// library's, and no kernel of somebody's; a kernel block says `stage y : library`.
#include <string.h>

#include "base/arena.h"
#include "record/plan_reader.h"

static void numbers(struct plan_reader *r, struct call *c, const char *word) {
    for (const struct call_clause *k = call_clauses(c->kind); k->name; k++) {
        if (strcmp(word, k->name) != 0)
            continue;
        if (reader_list(r, c->number + k->first, k->n) != k->n)
            reader_fail(r, "%s takes %d numbers", k->name, k->n);
        return;
    }
    reader_fail(r, "unexpected '%s' in a call of %s", word, call_kind_name(c->kind));
}

static void math(struct plan_reader *r, struct call *c) {
    reader_expect(r, '(');
    const char *word = reader_word(r);
    if (!call_math_find(word, &c->math))
        reader_fail(r, "unknown arithmetic '%s'", word);
    reader_expect(r, ')');
}

// Operands may be the same buffer, unlike those of a launch.
static void arguments(struct plan_reader *r, struct plan_step *s) {
    reader_expect(r, '(');
    do {
        int index = reader_buffer(r);
        if (!r->failed && s->n_args == CALL_BUFFERS_MAX)
            reader_fail(r, "more than %d arguments", CALL_BUFFERS_MAX);
        if (!r->failed)
            plan_add_arg(r->arena, s, index);
    } while (!r->failed && reader_consume(r, ','));
    reader_expect(r, ')');
}

// Its text reaches to the next parenthesis; ir/library_call.h reads it.
static void epilogue(struct plan_reader *r, struct call *c) {
    reader_expect(r, '(');
    size_t len = r->failed ? 0 : strcspn(r->at, ")\n");
    const char *wrong = r->failed ? NULL : epilogue_parse(r->at, len, &c->epilogue);
    if (wrong)
        reader_fail(r, "%s", wrong);
    if (!r->failed)
        r->at += len;
    reader_expect(r, ')');
}

// call = "call" ("gemm" | "conv" | "cutlass")
//        ("math" "(" name ")" | clause | "epilogue" "(" steps ")" | "args" args)*
void reader_call(struct plan_reader *r) {
    struct call *c = arena_new(r->arena, struct call);
    const char *kind = reader_name(r, "what is called");
    if (!r->context->takes_calls) {
        reader_fail(r, "only a kernel block calls a library (`stage y : library`), no source");
        return;
    }
    if (!r->failed && !call_kind_find(kind, &c->kind))
        reader_fail(r, "no library is called for '%s'", kind);
    struct plan_step *s = reader_add_step(r, STEP_CALL);
    s->call = c;
    s->grid = r->context->is_gpu ? 0 : r->context->n_threads;
    s->function = arena_printf(r->arena, "library %s", kind);
    for (const char *word = reader_word(r); *word && !r->failed; word = reader_word(r)) {
        if (strcmp(word, "math") == 0)
            math(r, c);
        else if (strcmp(word, "args") == 0 && !s->n_args)
            arguments(r, s);
        else if (strcmp(word, "epilogue") == 0 && c->kind == CALL_CUTLASS)
            epilogue(r, c);
        else
            numbers(r, c, word);
    }
    const char *broken = r->failed ? NULL : plan_call_broken(r->plan, s);
    if (broken)
        reader_fail(r, "a call of %s: %s", kind, broken);
}
