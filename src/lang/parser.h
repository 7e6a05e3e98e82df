// What the two halves of the parser (statements, expressions) share.
//
// Recursive descent in the manner of chibicc: one function per grammar rule, named after
// the rule. Inside parentheses and brackets `depth` is above zero and newlines are skipped.
#pragma once

#include <stdnoreturn.h>

#include "lang/lex.h"
#include "lang/syntax.h"

enum {
    NESTING_MAX = 200,       // of parentheses, brackets and signs: each costs stack
    HEIGHT_MAX = 1000,       // of an expression's tree: a + b + c + ... is a chain
    STATEMENT_WORDS = 4096,  // per statement
    FILE_WORDS = 1 << 20,    // per file
};

struct parser {
    struct arena *arena;
    struct mistakes *mistakes;
    struct lexer lexer;
    struct token token;  // the next one, not yet taken
    struct token last;   // the one taken last
    int depth, nesting;
    int n_words, n_file_words;
    int loop_column;                           // of the open `for`; 0: none
    struct comment *comments, **comments_end;  // seen since the statement began
    int comment_line, comment_column;          // of the last of them
};

noreturn void parser_fail(struct parser *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void parser_advance(struct parser *p);
bool parser_at(const struct parser *p, const char *punct);
bool parser_take(struct parser *p, const char *punct);
void parser_expect(struct parser *p, const char *punct);
const char *parser_name(struct parser *p, const char *what);
void parser_open(struct parser *p, const char *punct);   // and newlines stop counting
void parser_close(struct parser *p, const char *punct);  // and count again
const char *parser_text(struct parser *p);               // of the token taken last

// expr = sum [("<" | "<=" | "==" | "!=" | ">" | ">=") sum]
struct expr *parser_expr(struct parser *p);
// Fill in the items of a keyword from its value.
void parser_list_items(struct keyword *k);
// subscript = "[" item ("," item)* "]"
struct expr *parser_subscript(struct parser *p, struct expr *base);
struct expr *parser_name_expr(struct parser *p, struct spot at, const char *name);
// sum = product (("+" | "-") product)*
struct expr *parser_sum(struct parser *p);

// stage = "stage" value ("," value)* [as] [layout] ":" name ["as" name] option*
struct kernel_stage *parser_stage(struct parser *p, struct spot at);
