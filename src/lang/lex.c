// One function per kind of token, the rule above it.
#include "lang/lex.h"

#include <string.h>

void lexer_init(struct lexer *l, const char *text, size_t len) {
    *l = (struct lexer){.at = text, .end = text + len, .line_start = text, .line = 1};
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        l->at = l->line_start = text + 3;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c) {
    return is_name_start(c) || is_digit(c);
}

// The character `offset` further on, NUL at the end.
static char peek(const struct lexer *l, int offset) {
    return l->end - l->at > offset ? l->at[offset] : '\0';
}

static void skip_digits(struct lexer *l) {
    while (is_digit(peek(l, 0)))
        l->at++;
}

// number = digits ["." digits] [("e" | "E") ["+" | "-"] digits]
// tile = digits ("x" digits)+
static void number(struct lexer *l, struct token *t) {
    t->kind = TOKEN_NUMBER;
    skip_digits(l);
    while (peek(l, 0) == 'x' && is_digit(peek(l, 1))) {
        t->kind = TOKEN_TILE;
        l->at++;
        skip_digits(l);
    }
    if (t->kind == TOKEN_NUMBER && peek(l, 0) == '.' && is_digit(peek(l, 1))) {
        l->at++;
        skip_digits(l);
    }
    char exponent = peek(l, 0);
    int sign = peek(l, 1) == '+' || peek(l, 1) == '-';
    if (t->kind == TOKEN_NUMBER && (exponent == 'e' || exponent == 'E') &&
        is_digit(peek(l, 1 + sign))) {
        l->at += 1 + sign;
        skip_digits(l);
    }
    if (is_name(peek(l, 0))) {
        t->kind = TOKEN_BAD;
        t->problem = "letters follow a number; put an operator or a space between them";
    }
    if (l->at - t->text.ptr > WORD_MAX_BYTES) {
        t->kind = TOKEN_BAD;
        t->problem = "this number is too long (64 characters at most)";
    }
}

// name = (letter | "_") (letter | digit | "_")*
static void name(struct lexer *l, struct token *t) {
    t->kind = TOKEN_NAME;
    while (is_name(peek(l, 0)))
        l->at++;
    if (l->at - t->text.ptr > WORD_MAX_BYTES) {
        t->kind = TOKEN_BAD;
        t->problem = "this name is too long (64 characters at most)";
    }
}

// string = '"' any character of ASCII but '"' and newline '"'
static void string(struct lexer *l, struct token *t) {
    t->kind = TOKEN_STRING;
    l->at++;
    while (peek(l, 0) >= ' ' && peek(l, 0) <= '~' && peek(l, 0) != '"')
        l->at++;
    if (peek(l, 0) != '"') {
        t->kind = TOKEN_BAD;
        t->problem = "this string has no end; it closes with '\"' on the same line";
    } else {
        l->at++;
    }
    if (l->at - t->text.ptr > WORD_MAX_BYTES) {
        t->kind = TOKEN_BAD;
        t->problem = "this string is too long (64 characters at most)";
    }
}

static bool is_utf8(const char *p, const char *end) {
    while (p < end) {
        int len = utf8_length(p, end);
        if (!len)
            return false;
        p += len;
    }
    return true;
}

// comment = "#" any characters up to the end of the line
static void comment(struct lexer *l, struct token *t) {
    t->kind = TOKEN_COMMENT;
    const char *newline = memchr(l->at, '\n', (size_t)(l->end - l->at));
    l->at = newline ? newline : l->end;
    if (memchr(t->text.ptr, '\0', (size_t)(l->at - t->text.ptr))) {
        t->kind = TOKEN_BAD;
        t->problem = "NUL byte: this is not a text file";
    } else if (l->at - t->text.ptr > COMMENT_MAX_BYTES) {
        t->kind = TOKEN_BAD;
        t->problem = "this comment is too long (65536 bytes at most)";
    } else if (!is_utf8(t->text.ptr, l->at)) {
        // It would come out again in places that take nothing else, such as JSON.
        t->kind = TOKEN_BAD;
        t->problem = "invalid UTF-8 in this comment";
    }
}

// In t.1 the dot belongs to a name, in x = .5 it does not.
static bool touches_name(const struct lexer *l) {
    return l->at > l->line_start && is_name(l->at[-1]);
}

// punct = "+" | "-" | "*" | "/" | "%" | "@" | "(" | ")" | "[" | "]" | "," | ":" | "=" | "~" | "<" |
//         ">" | "." | "<=" | ">=" | "==" | "!=" | "**" | "//" | "->"
static void other(struct lexer *l, struct token *t) {
    static const char *const twos[] = {"<=", ">=", "==", "!=", "**", "//", "->"};
    for (size_t i = 0; i < sizeof twos / sizeof *twos; i++)
        if (peek(l, 0) == twos[i][0] && peek(l, 1) == twos[i][1]) {
            t->kind = TOKEN_PUNCT;
            l->at += 2;
            return;
        }
    t->kind = TOKEN_BAD;
    if (*l->at == '\0')
        t->problem = "NUL byte: this is not a text file";
    else if (*l->at == '.' && is_digit(peek(l, 1)) && !touches_name(l))
        t->problem = "a number begins with a digit: write 0.5, not .5";
    else if (strchr("+-*/%@()[],:=~<>.", *l->at))
        t->kind = TOKEN_PUNCT;
    else if (*l->at == '^')
        t->problem = "a power is written x ** y, and bitxor(a, b) is a function";
    else if (*l->at == '&' || *l->at == '|')
        t->problem = "logical_and, logical_or, bitand and bitor are functions: logical_and(a, b)";
    else if ((unsigned char)*l->at < 0x80)
        t->problem = "this character means nothing here";
    else if (utf8_length(l->at, l->end))
        t->problem = "only comments may hold characters beyond ASCII";
    else
        t->problem = "invalid UTF-8";
    int len = utf8_length(l->at, l->end);
    l->at += len ? len : 1;
}

static void scan(struct lexer *l, struct token *t) {
    char c = peek(l, 0);
    if (l->at == l->end) {
        t->kind = TOKEN_END;
    } else if (c == '\n') {
        t->kind = TOKEN_NEWLINE;
        l->at++;
        l->line++;
        l->line_start = l->at;
    } else if (c == '#') {
        comment(l, t);
    } else if (c == '"') {
        string(l, t);
    } else if (is_digit(c)) {
        number(l, t);
    } else if (is_name_start(c)) {
        name(l, t);
    } else {
        other(l, t);
    }
}

struct token lexer_next(struct lexer *l) {
    while (peek(l, 0) == ' ' || peek(l, 0) == '\t' || peek(l, 0) == '\r')
        l->at++;
    struct token t = {.text.ptr = l->at, .at.ptr = l->at};
    ptrdiff_t column = l->at - l->line_start;
    t.at.at = (struct place){l->line, (int)column + 1};
    if (column > LINE_MAX_BYTES && l->at < l->end && *l->at != '\n') {
        const char *newline = memchr(l->at, '\n', (size_t)(l->end - l->at));
        l->at = newline ? newline : l->end;
        t.at.at.column = 1;
        t.at.ptr = l->line_start;
        t.kind = TOKEN_BAD;
        t.problem = "this line is too long (524288 bytes at most)";
        return t;
    }
    scan(l, &t);
    t.text.len = (size_t)(l->at - t.text.ptr);
    return t;
}
