// The tree of a source text: a list of statements, each with its expression. The
// formatter prints it, the checker makes problems and kernels of it.
#pragma once

#include <stdint.h>

#include "ir/problem.h"
#include "lang/kernel.h"
#include "lang/mistake.h"

enum expr_kind {
    EXPR_NUMBER,
    EXPR_NAME,
    EXPR_NEGATE,
    EXPR_BINARY,
    EXPR_CALL,
    EXPR_TRANSPOSE,
    EXPR_SUBSCRIPT,
};

enum { SUBSCRIPTS_MAX = 2 * RANK_MAX, KEYWORDS_MAX = 4 };

// One item of `axis=(0, N)` or `keepdims=true`: a name, or a whole number.
struct keyword_item {
    struct spot at;
    const char *name;  // NULL: a number
    int64_t number;
};

struct keyword {
    struct spot at;
    const char *name;
    struct keyword_item items[RANK_MAX];
    int n_items;
    bool is_list;  // printed in parentheses
};

struct expr {
    enum expr_kind kind;
    struct spot at;
    const char *text;  // name, function, operator, or the number as written
    double number;
    struct expr *args[ARGS_MAX];
    int n_args;
    struct keyword *keywords;  // EXPR_CALL
    int n_keywords;
    bool is_new[SUBSCRIPTS_MAX];  // EXPR_SUBSCRIPT: None (true) or ':' (false)
    int n_subscripts;
    int height;
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
    const char *name;     // NULL: not given
    const char *args[2];  // as written, with the sign
    double values[2];
    int n_args;
};

enum statement_kind {
    STATEMENT_BLANK,
    STATEMENT_COMMENT,
    STATEMENT_PROBLEM,  // from here to STAGE in the order of `keywords` in parse.c
    STATEMENT_DIM,
    STATEMENT_IN,
    STATEMENT_PARAM,
    STATEMENT_OUT,
    STATEMENT_KERNEL,
    STATEMENT_STAGE,
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
    struct spot at;       // its first word
    struct spot name_at;  // of `name`
    const char *name;     // problem, input, output, value, or the kernel's problem
    struct dim_syntax *dims;
    struct type_syntax type;  // type.name NULL: not given
    struct distribution_syntax distribution;
    struct expr *value;
    const char *target;     // STATEMENT_KERNEL
    struct spot target_at;  // of `target`
    struct kernel_stage *stage;
    struct comment *inside;  // printed before the statement
    const char *comment;     // after it on the same line, or the comment itself
    struct statement *next;
};

// Read everything; statements with mistakes come back as STATEMENT_BAD.
struct statement *parse_file(struct arena *a, struct mistakes *m);
