// What the rules that read `#pragma hone` lines share: a place in the source, words, sizes. After
// the first mistake nothing more is read (`failed`), so rules need not check each other. Private
// to plan_parse.c, plan_call.c and plan_gpu.c.
#pragma once

#include "record/plan.h"

struct plan_reader {
    struct arena *arena;
    const struct plan_context *context;
    struct plan *plan;
    struct error *err;
    int line;        // of the source, from 1
    const char *at;  // next unread character of the line
    int depth;       // of parentheses
    bool failed;
};

void reader_fail(struct plan_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void reader_skip_space(struct plan_reader *r);
bool reader_consume(struct plan_reader *r, char c);
void reader_expect(struct plan_reader *r, char c);
const char *reader_here(struct plan_reader *r);  // what stands there, for messages

const char *reader_word(struct plan_reader *r);  // "" when there is none
const char *reader_name(struct plan_reader *r, const char *what);

int64_t reader_expression(struct plan_reader *r);
// "(" expression ("," expression)* ")", at most `max` of them; how many.
int reader_list(struct plan_reader *r, int64_t *values, int max);

// Index of the buffer that is named next, or 0 after a mistake.
int reader_buffer(struct plan_reader *r);

// One more step; after a mistake the first.
struct plan_step *reader_add_step(struct plan_reader *r, enum step_kind kind);

// plan_call.c: calls of libraries.
void reader_call(struct plan_reader *r);

// plan_gpu.c: the rules of tier D.
void reader_tensormap(struct plan_reader *r);
// One clause of a launch that only GPUs have; false when it is none of these, or comes twice.
bool reader_gpu_clause(struct plan_reader *r, struct plan_step *s, const char *clause);
void reader_gpu_grid(struct plan_reader *r, struct plan_step *s);
void reader_check_gpu_launch(struct plan_reader *r, const struct plan_step *s);
// Index of a tensor map by name, or -1.
int reader_find_tensormap(const struct plan *p, const char *name);
