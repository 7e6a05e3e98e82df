// Characters to tokens, one at a time: a lexer is a small value that can be copied to
// look ahead.
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "lang/mistake.h"

enum token_kind {
    TOKEN_END,
    TOKEN_NEWLINE,
    TOKEN_COMMENT,  // from '#' to the end of the line, without it
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_TILE,    // 128x256x64
    TOKEN_STRING,  // between quotes, which belong to the text
    TOKEN_PUNCT,
    TOKEN_BAD,  // `problem` says what is wrong
};

struct token {
    enum token_kind kind;
    struct span text;
    struct spot at;
    const char *problem;  // TOKEN_BAD
};

struct lexer {
    const char *at, *end;
    const char *line_start;
    int line;
};

// Longest name, number, comment, and line without its comment. With the limit on words
// per statement they keep a formatted statement, which is one line, below LINE_MAX_BYTES.
enum { WORD_MAX_BYTES = 64, COMMENT_MAX_BYTES = 65536, LINE_MAX_BYTES = 524288 };

void lexer_init(struct lexer *l, const char *text, size_t len);
struct token lexer_next(struct lexer *l);
