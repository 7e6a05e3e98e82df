// From what a coder wrote to a candidate. Grounded edits: the planner named lines, the coder
// may replace those; what it changed elsewhere is found and refused.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "family/lower.h"
#include "family/source_plan.h"
#include "lang/lang.h"
#include "mind/spans.h"
#include "mind/team_private.h"
#include "record/plan.h"

enum { TEXT_MAX = 256 << 10 };

static bool begins_with(const char *text, const char *word) {
    return strncmp(text, word, strlen(word)) == 0;
}

// The largest block between ``` lines; NULL: there is none. *is_open: the last has no end.
static const char *largest_fence(struct arena *a, const char *text, bool *is_open) {
    struct span best = {NULL, 0};
    *is_open = false;
    for (const char *at = text; (at = strstr(at, "```"));) {
        const char *from = at + strcspn(at, "\n");
        from += *from == '\n';
        const char *end = strstr(from, "```");
        *is_open = !end;
        if (!end)
            break;
        if (!best.ptr || (size_t)(end - from) > best.len)
            best = (struct span){from, (size_t)(end - from)};
        at = end + 3;
    }
    return best.ptr ? arena_strndup(a, best.ptr, best.len) : NULL;
}

// Models that forget the fence still write the text.
static const char *bare_text(const char *answer) {
    const char *kernel = strstr(answer, "kernel for ");
    if (kernel && (kernel == answer || kernel[-1] == '\n'))
        return kernel;
    return strstr(answer, "#pragma hone launch") ? answer : NULL;
}

static const char *whole_text(struct arena *a, const char *answer, char *why, size_t size) {
    bool is_open;
    const char *text = largest_fence(a, answer, &is_open);
    if (!text && is_open) {
        snprintf(why, size, "its fenced block is not closed: it was cut off");
        return NULL;
    }
    if (!text)
        text = bare_text(answer);
    if (!text)
        snprintf(why, size, "there is no fenced block with the text in it");
    return text;
}

// The candidate's text: spans put into the base, or the whole.
static const char *new_text(struct arena *a, const char *base, const struct hypothesis *h,
                            const char *answer, char *why, size_t size) {
    if (!h || h->n_spans == 0)
        return whole_text(a, answer, why, size);
    if (strstr(answer, "<<<IMPROVE "))
        return spans_apply(a, base, h, answer, why, size);
    const char *text = whole_text(a, answer, why, size);
    return text && spans_outside_kept(a, base, h, text, why, size) ? text : NULL;
}

static bool is_tried(const struct brief *b, const char *hash) {
    for (int i = 0; i < b->n_hashes; i++)
        if (strcmp(b->hashes[i], hash) == 0)
            return true;
    return false;
}

static bool read_kernel(struct arena *a, const struct brief *b, const char *text,
                        struct proposal *out, char *why, size_t size) {
    struct lang_file file = {0};
    const char *diagnostics = "";
    struct error err = {0};
    struct candidate c;
    struct lang_source source = {.file = "answer", .text = text, .len = strlen(text)};
    if (!lang_parse(a, &source, &file, &diagnostics, &err)) {
        snprintf(why, size, "%s", *diagnostics ? diagnostics : err.text);
        return false;
    }
    if (file.n_kernels != 1 || file.n_problems != 0) {
        snprintf(why, size, "expected one kernel block, found %d and %d problems", file.n_kernels,
                 file.n_problems);
        return false;
    }
    struct kernel *k = file.kernels[0];
    if (!lower_check(a, b->problem, b->target, k, &err) ||
        !lower_kernel(a, b->problem, b->target, k, &c, &err)) {
        snprintf(why, size, "%s", err.text);
        return false;
    }
    if (is_tried(b, c.hash)) {
        snprintf(why, size, "this very kernel was tried before; change something else");
        return false;
    }
    out->kernel = k;
    return true;
}

static bool read_source(struct arena *a, const struct brief *b, const char *text,
                        struct proposal *out, char *why, size_t size) {
    struct candidate c = {.tier = b->target->is_gpu ? TIER_D : TIER_C, .source = text};
    if (!strstr(text, "#pragma hone launch")) {
        snprintf(why, size, "the source has no `#pragma hone launch` line, so nothing would run");
        return false;
    }
    struct plan plan;
    struct error err = {0};
    if (!source_plan(a, b->problem, b->target, text, &plan, &err)) {
        snprintf(why, size, "%s", err.text);
        return false;
    }
    candidate_seal(a, &c);
    if (is_tried(b, c.hash)) {
        snprintf(why, size, "this very source was tried before; change something");
        return false;
    }
    out->source = text;
    out->tier = c.tier;
    return true;
}

// One blank line at the end, none at the beginning: what a fence leaves around a text.
static const char *trimmed(struct arena *a, const char *text) {
    text += strspn(text, "\r\n");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r\n", text[len - 1]))
        len--;
    return arena_printf(a, "%.*s\n", (int)len, text);
}

bool answer_read(struct arena *a, const struct brief *b, const struct hypothesis *h,
                 const char *answer, struct proposal *out, char *why, size_t size) {
    if (strlen(answer) > TEXT_MAX) {
        snprintf(why, size, "it is longer than %d KiB", TEXT_MAX >> 10);
        return false;
    }
    bool from_source = h ? h->wants_source : !b->kernel;
    const char *text = new_text(a, window_base(b, from_source), h, answer, why, size);
    if (!text)
        return false;
    text = trimmed(a, text);
    bool is_kernel = begins_with(text, "kernel for ") || begins_with(text, "# ");
    return is_kernel ? read_kernel(a, b, text, out, why, size)
                     : read_source(a, b, text, out, why, size);
}
