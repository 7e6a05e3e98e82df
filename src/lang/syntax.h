// The tree of a source text: a list of statements, each with its expression. The
// formatter prints it, the checker makes problems and kernels of it.
#pragma once

#include <stdint.h>

#include "ir/problem.h"
#include "lang/kernel.h"
#include "lang/mistake.h"

enum expr_kind {
    EXPR_NUMBER,
    EXPR_STRING,  // "ij,jk->ik"; `text` is what stands between the quotes
    EXPR_NAME,
    EXPR_NEGATE,
    EXPR_BINARY,
    EXPR_CALL,
    EXPR_TRANSPOSE,
    EXPR_SUBSCRIPT,
    EXPR_TUPLE,  // (2, 3): only as an argument of a call
};

enum { SUBSCRIPTS_MAX = 2 * RANK_MAX, KEYWORDS_MAX = 8, CALL_ARGS_MAX = 16 };

// One item between [ and ]. An index has only a start; bounds that are left out are NULL.
struct subscript {
    struct spot at;
    enum subscript_kind { SUBSCRIPT_NEW, SUBSCRIPT_SLICE, SUBSCRIPT_INDEX } kind;
    struct expr *start, *stop, *step;
};

// One item of `axis=(0, N)` or `keepdims=true`: a name, or a whole number.
struct keyword_item {
    struct spot at;
    const char *name;  // NULL: a number
    int64_t number;
};

struct keyword {
    struct spot at;
    const char *name;
    struct expr *value;
    // The same as a list, where the value is one: whole numbers and names. 0 items: it is not.
    struct keyword_item items[RANK_MAX];
    int n_items;
};

struct expr {
    enum expr_kind kind;
    struct spot at;
    const char *text;  // name, function, operator, or the number as written
    double number;
    struct expr **args;
    struct keyword *keywords;      // EXPR_CALL
    struct subscript *subscripts;  // EXPR_SUBSCRIPT
    int n_args, n_keywords, n_subscripts, height;
};

struct dim_syntax {
    struct spot at;
    const char *name;
    struct expr *size;
    struct dim_syntax *next;
};

struct type_syntax {
    struct spot at;
    const char *name;
    struct expr *sizes[RANK_MAX];
    int rank;
};

struct distribution_syntax {
    struct spot at;
    const char *name;  // NULL: not given
    struct expr *args[2];
    int n_args;
};

// A draw that only an input's expression sees: `where u : f32[N] ~ normal`.
struct hidden_syntax {
    struct spot at;
    const char *name;
    struct type_syntax type;  // type.name NULL: that of the input
    struct distribution_syntax distribution;
    struct hidden_syntax *next;
};

// A state of a loop and what it begins as: `h : f32[B, H] = 0`.
struct state_syntax {
    struct spot at;
    const char *name;
    struct type_syntax type;  // type.name NULL: that of the value
    struct expr *value;
    struct state_syntax *next;
};

// `triangular upper` after a type.
struct promise_syntax {
    struct spot at;
    const char *words[2];
};

enum statement_kind {
    STATEMENT_BLANK,
    STATEMENT_COMMENT,
    STATEMENT_PROBLEM,  // from here to FOR in the order of `keywords` in parse.c
    STATEMENT_DIM,
    STATEMENT_IN,
    STATEMENT_PARAM,
    STATEMENT_OUT,
    STATEMENT_KERNEL,
    STATEMENT_STAGE,
    STATEMENT_PRECISION,
    STATEMENT_ORDER,
    STATEMENT_FOR,
    STATEMENT_ASSIGN,
    STATEMENT_BAD,  // a mistake was reported; `name` may still say what it would have defined
};

// A comment inside a statement that spans lines, or after it.
struct comment {
    const char *text;
    struct comment *next;
};

struct statement {
    enum statement_kind kind;
    struct spot at, name_at;  // of its first word, of `name`
    const char *name;  // problem, input, output, value, what counts steps, or the kernel's problem
    bool in_loop;      // it stands further right than the `for` before it
    struct dim_syntax *dims;
    struct type_syntax type;  // type.name NULL: not given
    struct promise_syntax promise;
    struct distribution_syntax distribution;
    struct expr *value;
    struct hidden_syntax *hidden;  // STATEMENT_IN, STATEMENT_PARAM with a value
    struct state_syntax *states;   // STATEMENT_FOR, whose value is the number of steps
    struct expr *part;             // STATEMENT_ASSIGN of name[:, t], or NULL
    const char *words[3];          // STATEMENT_PRECISION, STATEMENT_ORDER: what follows
    const char *target;            // STATEMENT_KERNEL
    struct spot target_at;         // of `target`
    struct kernel_stage *stage;
    struct comment *inside;  // printed before the statement
    const char *comment;     // after it on the same line, or the comment itself
    struct statement *next;
};

// Read everything; statements with mistakes come back as STATEMENT_BAD.
struct statement *parse_file(struct arena *a, struct mistakes *m);
