// Marks go into a copy of the text; an answer is cut at its marks and put back. What stands around
// the blocks of an answer must be the text itself, blanks aside.
#include "mind/spans.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "mind/team_private.h"

// The span that begins or ends with that line, or NULL.
static const struct plan_span *span_at(const struct hypothesis *h, int line, bool first) {
    for (int i = 0; i < h->n_spans; i++)
        if ((first ? h->spans[i].first : h->spans[i].last) == line)
            return &h->spans[i];
    return NULL;
}

static size_t line_length(const char *at) {
    size_t len = strcspn(at, "\n");
    return len + (at[len] == '\n');
}

const char *spans_mark(struct arena *a, const char *text, const struct hypothesis *h) {
    struct str out = {0};
    int line = 1;
    for (const char *at = text; *at; line++) {
        size_t len = line_length(at);
        const struct plan_span *s = span_at(h, line, true);
        if (s)
            str_printf(&out, "<<<IMPROVE %s>>>\n", s->name);
        str_append(&out, at, len);
        if (at[len - 1] != '\n')
            str_puts(&out, "\n");
        s = span_at(h, line, false);
        if (s)
            str_printf(&out, "<<<END %s>>>\n", s->name);
        at += len;
    }
    return str_take(a, &out);
}

// What the answer has for each span.
struct replacements {
    struct span text[SPANS_MAX];
    bool is_given[SPANS_MAX];
};

static int find_span(const struct hypothesis *h, struct span name) {
    for (int i = 0; i < h->n_spans; i++)
        if (span_is(name, h->spans[i].name))
            return i;
    return -1;
}

static void name_spans(const struct hypothesis *h, struct span found, char *why, size_t size) {
    int n =
        snprintf(why, size, "there is no span '%.*s'; the spans are", (int)found.len, found.ptr);
    for (int i = 0; i < h->n_spans && n > 0 && (size_t)n < size; i++)
        n += snprintf(why + n, size - (size_t)n, "%s %s", i ? "," : "", h->spans[i].name);
}

// One block from *at, which stands on its opening mark; moves *at behind its closing one.
static bool take_block(struct arena *a, const struct hypothesis *h, const char **at,
                       struct replacements *r, char *why, size_t size) {
    const char *name = *at + strlen("<<<IMPROVE ");
    struct span found = {name, strcspn(name, ">\n")};
    int i = find_span(h, found);
    if (i < 0) {
        name_spans(h, found, why, size);
        return false;
    }
    if (r->is_given[i]) {
        snprintf(why, size, "span %s is there twice", h->spans[i].name);
        return false;
    }
    const char *from = name + strcspn(name, "\n");
    from += *from == '\n';
    const char *end = strstr(from, arena_printf(a, "<<<END %s>>>", h->spans[i].name));
    if (!end) {
        snprintf(why, size, "span %s has no <<<END %s>>>: it was cut off", h->spans[i].name,
                 h->spans[i].name);
        return false;
    }
    r->text[i] = (struct span){from, (size_t)(end - from)};
    r->is_given[i] = true;
    *at = end + strcspn(end, "\n");
    return true;
}

static const char *replace(struct arena *a, const char *text, const struct hypothesis *h,
                           const struct replacements *r) {
    struct str out = {0};
    int line = 1;
    for (const char *at = text; *at; line++) {
        size_t len = line_length(at);
        const struct plan_span *s = span_at(h, line, true);
        int i = s ? (int)(s - h->spans) : -1;
        if (i >= 0 && r->is_given[i]) {
            str_append(&out, r->text[i].ptr, r->text[i].len);
            if (r->text[i].len > 0 && r->text[i].ptr[r->text[i].len - 1] != '\n')
                str_puts(&out, "\n");
            for (; line < s->last && *at; line++)
                at += line_length(at);
            at += *at ? line_length(at) : 0;
            continue;
        }
        str_append(&out, at, len);
        at += len;
    }
    return str_take(a, &out);
}

// What stands between the blocks of an answer that repeats the text: NULL when it is only words.
static const char *around_blocks(struct arena *a, const char *answer) {
    struct str out = {0};
    bool inside = false;
    for (const char *at = answer; *at;) {
        size_t len = line_length(at);
        if (strncmp(at, "<<<IMPROVE ", 11) == 0)
            inside = true;
        if (!inside)
            str_append(&out, at, len);
        if (strncmp(at, "<<<END ", 7) == 0)
            inside = false;
        at += len;
    }
    return str_take(a, &out);
}

// Without blanks, so that a different indentation is no edit.
static const char *squeezed(struct arena *a, const char *text, size_t len) {
    char *out = arena_strndup(a, text, len), *to = out;
    for (const char *c = out; *c; c++)
        if (!strchr(" \t\r\n", *c))
            *to++ = *c;
    *to = '\0';
    return out;
}

bool spans_outside_kept(struct arena *a, const char *text, const struct hypothesis *h,
                        const char *changed, char *why, size_t size) {
    const char *at = squeezed(a, changed, strlen(changed));
    int line = 1, first = 1;
    for (const char *c = text, *from = text;; line++) {
        bool is_end = !*c;
        const struct plan_span *s = is_end ? NULL : span_at(h, line, true);
        if (!s && !is_end) {
            c += line_length(c);
            continue;
        }
        const char *part = squeezed(a, from, (size_t)(c - from));
        const char *found = strstr(at, part);
        bool is_kept = found && (from != text || found == at);
        if (is_kept && is_end && *part)
            is_kept =
                strlen(at) >= strlen(part) && strcmp(at + strlen(at) - strlen(part), part) == 0;
        if (!is_kept) {
            snprintf(why, size,
                     "lines %d to %d are outside of the spans and were changed; replace only what "
                     "stands between the marks",
                     first, line - 1);
            return false;
        }
        if (is_end)
            return true;
        at = found + strlen(part);
        for (; line < s->last && *c; line++)
            c += line_length(c);
        c += *c ? line_length(c) : 0;
        from = c;
        first = line + 1;
    }
}

static const char *squeezed_outside(struct arena *a, const char *text, const struct hypothesis *h) {
    struct str out = {0};
    int line = 1;
    for (const char *at = text; *at; line++) {
        size_t len = line_length(at);
        bool inside = false;
        for (int i = 0; i < h->n_spans; i++)
            inside = inside || (line >= h->spans[i].first && line <= h->spans[i].last);
        if (!inside)
            str_append(&out, at, len);
        at += len;
    }
    const char *squeeze = squeezed(a, str_text(&out), out.len);
    str_reset(&out);
    return squeeze;
}

// An answer may repeat the text around its blocks; then that must be the text.
static bool check_around(struct arena *a, const char *text, const struct hypothesis *h,
                         const char *answer, char *why, size_t size) {
    const char *around = around_blocks(a, answer);
    bool repeats = strstr(around, "#pragma hone") || strstr(around, "kernel for ");
    if (!repeats)
        return true;
    const char *fence = strstr(around, "```");
    const char *from = fence ? fence + strcspn(fence, "\n") : around;
    const char *end = fence ? strstr(from, "```") : NULL;
    size_t len = end ? (size_t)(end - from) : strlen(from);
    if (strcmp(squeezed(a, from, len), squeezed_outside(a, text, h)) == 0)
        return true;
    snprintf(why, size,
             "the text around the spans was changed; give the spans alone, between their marks");
    return false;
}

const char *spans_apply(struct arena *a, const char *text, const struct hypothesis *h,
                        const char *answer, char *why, size_t size) {
    struct replacements r = {0};
    for (const char *at = answer; (at = strstr(at, "<<<IMPROVE "));)
        if (!take_block(a, h, &at, &r, why, size))
            return NULL;
    if (!check_around(a, text, h, answer, why, size))
        return NULL;
    return replace(a, text, h, &r);
}
