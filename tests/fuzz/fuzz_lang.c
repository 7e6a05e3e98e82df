// Any text at all is either read or rejected with a message. What is read can be formatted,
// formatting twice changes nothing and keeps the graph and every comment, and a problem's own
// text gives the same problem.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "lang/lang.h"
#include "lang/lex.h"
#include "mutate_lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition)
        abort();
}

static bool read_file(struct arena *a, const char *text, size_t len, struct lang_file *file) {
    struct lang_source source = {.file = "f.hone", .text = text, .len = len};
    const char *diagnostics;
    struct error err = {0};
    bool ok = lang_parse(a, &source, file, &diagnostics, &err);
    require(ok ? !diagnostics[0] : err.text[0] && diagnostics[0]);
    return ok;
}

static const char *format(struct arena *a, const char *text, size_t len) {
    struct lang_source source = {.file = "f.hone", .text = text, .len = len};
    const char *formatted, *diagnostics;
    struct error err = {0};
    return lang_format(a, &source, &formatted, &diagnostics, &err) ? formatted : NULL;
}

// All comments of a text, one to a line, without the spaces at their ends.
static const char *comments(struct arena *a, const char *text, size_t len) {
    struct lexer l;
    struct str out = {0};
    lexer_init(&l, text, len);
    for (struct token t = lexer_next(&l); t.kind != TOKEN_END; t = lexer_next(&l)) {
        if (t.kind != TOKEN_COMMENT)
            continue;
        while (t.text.len && strchr(" \t\r", t.text.ptr[t.text.len - 1]))
            t.text.len--;
        str_append(&out, t.text.ptr, t.text.len);
        str_append(&out, "\n", 1);
    }
    return str_take(a, &out);
}

static void same_problem(struct arena *a, const struct problem *p, const struct problem *q) {
    require(strcmp(graph_print(a, &p->graph), graph_print(a, &q->graph)) == 0);
    require(strcmp(p->text, q->text) == 0);
}

static void compare(struct arena *a, const struct lang_file *file, const char *formatted) {
    struct lang_file again;
    require(read_file(a, formatted, strlen(formatted), &again));
    require(again.n_problems == file->n_problems && again.n_kernels == file->n_kernels);
    for (int i = 0; i < file->n_problems; i++) {
        struct lang_file own;
        const struct problem *p = file->problems[i];
        same_problem(a, p, again.problems[i]);
        require(read_file(a, p->text, strlen(p->text), &own));
        same_problem(a, p, own.problems[0]);
    }
    for (int i = 0; i < file->n_kernels; i++)
        require(strcmp(kernel_print(a, file->kernels[i]), kernel_print(a, again.kernels[i])) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    struct lang_file file;
    // A copy without a NUL behind it: reading beyond the end is seen.
    char *text = malloc(size ? size : 1);
    if (size)
        memcpy(text, data, size);
    bool ok = read_file(&a, text, size, &file);
    const char *once = format(&a, text, size);
    require(!ok || once);
    if (once) {
        const char *twice = format(&a, once, strlen(once));
        require(twice && strcmp(once, twice) == 0);
        require(strcmp(comments(&a, text, size), comments(&a, once, strlen(once))) == 0);
    }
    if (ok)
        compare(&a, &file, once);
    free(text);
    arena_reset(&a);
    return 0;
}
