// Steps of an epilogue as text and back, and what they make of a sum.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "ir/cutlass.h"
#include "ir/library_call.h"

// In the order of enum epilogue_kind; an operation goes by its own name.
static const char *const kind_words[] = {"load", "number", "round"};

enum { WORD_MAX = 24, NUMBERS_PER_STEP = 4 };

bool epilogue_allows(enum op op) {
    return cutlass_spelling(op) != NULL;
}

void epilogue_print(struct str *out, const struct call_epilogue *e) {
    for (int i = 0; i < e->n_steps; i++) {
        const struct epilogue_step *s = &e->steps[i];
        str_printf(out, "%s%s", i ? ", " : "",
                   s->kind == EPILOGUE_OP ? op_infos[s->op].name : kind_words[s->kind]);
        if (s->kind == EPILOGUE_LOAD)
            str_printf(out, " %d %lld %lld %lld", s->arg[0], (long long)s->stride[0],
                       (long long)s->stride[1], (long long)s->stride[2]);
        if (s->kind == EPILOGUE_NUMBER)
            str_printf(out, " %a", (double)s->number);
        if (s->kind == EPILOGUE_ROUND)
            str_printf(out, " %s %d", dtype_name(s->type), s->arg[0]);
        for (int k = 0; s->kind == EPILOGUE_OP && k < op_infos[s->op].arity; k++)
            str_printf(out, " %d", s->arg[k]);
    }
}

// One step as it was read: a word, then numbers or the name of a type.
struct reading {
    const char *at, *end;
    char word[WORD_MAX];
};

static bool next_word(struct reading *r) {
    size_t n = 0;
    while (r->at < r->end && *r->at == ' ')
        r->at++;
    for (; r->at < r->end && *r->at != ' ' && *r->at != ','; r->at++)
        if (n + 1 < WORD_MAX)
            r->word[n++] = *r->at;
    r->word[n] = '\0';
    return n > 0;
}

static bool read_whole(struct reading *r, int64_t most, int64_t *value) {
    long long v = 0;
    if (!next_word(r) || !str_to_int64(r->word, &v) || v < 0 || v > most)
        return false;
    *value = v;
    return true;
}

// A value that an earlier step gave.
static bool read_value(struct reading *r, int n_steps, int *value) {
    int64_t v;
    bool ok = read_whole(r, n_steps, &v);
    *value = ok ? (int)v : 0;
    return ok;
}

static bool find_op(const char *name, enum op *op) {
    for (int i = 0; i < OP_COUNT; i++)
        if (strcmp(op_infos[i].name, name) == 0 && epilogue_allows((enum op)i)) {
            *op = (enum op)i;
            return true;
        }
    return false;
}

static bool read_load(struct reading *r, struct epilogue_step *s) {
    int64_t argument = 0;
    bool ok = read_whole(r, CALL_BUFFERS_MAX - 1, &argument) && argument >= CALL_LOADED;
    for (int i = 0; i < 3 && ok; i++)
        ok = read_whole(r, (int64_t)1 << 40, &s->stride[i]);
    s->arg[0] = (int)argument;
    return ok;
}

static bool read_number(struct reading *r, struct epilogue_step *s) {
    char *end = NULL;
    bool ok = next_word(r);
    s->number = ok ? strtof(r->word, &end) : 0;
    return ok && *end == '\0';
}

static bool read_step(struct reading *r, int n_steps, struct epilogue_step *s) {
    if (!next_word(r))
        return false;
    for (int i = 0; i < EPILOGUE_OP; i++)
        if (strcmp(r->word, kind_words[i]) == 0) {
            s->kind = (enum epilogue_kind)i;
            return i == EPILOGUE_LOAD ? read_load(r, s)
                   : i == EPILOGUE_NUMBER
                       ? read_number(r, s)
                       : next_word(r) && dtype_find(r->word, &s->type) &&
                             cutlass_rounds_to(s->type) && read_value(r, n_steps, &s->arg[0]);
        }
    s->kind = EPILOGUE_OP;
    bool ok = find_op(r->word, &s->op);
    for (int i = 0; ok && i < op_infos[s->op].arity; i++)
        ok = read_value(r, n_steps, &s->arg[i]);
    return ok;
}

const char *epilogue_parse(const char *text, size_t len, struct call_epilogue *e) {
    struct reading r = {.at = text, .end = text + len};
    *e = (struct call_epilogue){0};
    while (r.at < r.end) {
        if (e->n_steps == EPILOGUE_STEPS_MAX)
            return "its epilogue has too many steps";
        if (!read_step(&r, e->n_steps, &e->steps[e->n_steps]) || next_word(&r))
            return "a step of its epilogue makes no sense";
        e->n_steps++;
        if (r.at < r.end)
            r.at++;  // the comma
    }
    return NULL;
}

double epilogue_evaluate(const struct call_epilogue *e, double sum, const double *loaded) {
    double values[EPILOGUE_STEPS_MAX + 1] = {sum};
    for (int i = 0; i < e->n_steps; i++) {
        const struct epilogue_step *s = &e->steps[i];
        double a = values[s->kind == EPILOGUE_LOAD ? 0 : s->arg[0]], b = values[s->arg[1]];
        double *to = &values[i + 1];
        if (s->kind == EPILOGUE_LOAD)
            *to = *loaded++;
        else if (s->kind == EPILOGUE_NUMBER)
            *to = s->number;
        else if (s->kind == EPILOGUE_ROUND)
            *to = dtype_round(s->type, a);
        else if (s->op == OP_WHERE)
            *to = a != 0 ? b : values[s->arg[2]];
        else
            *to = op_evaluate(s->op, a, b);
    }
    return values[e->n_steps];
}
