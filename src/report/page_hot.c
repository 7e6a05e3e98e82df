// Where a kernel's time goes, by lines of its source.
//
// Where `hone profile RUN.NODE` took samples of the program counter, they say it: a line has its
// part of its launch's samples. Nobody samples a candidate while it is judged, so without them it
// is an estimate and is called one: how often a line runs, by the loops around it, times what
// stands in it. Only how the launches share the time was measured, and a line has its part of its
// launch's share. Loops are read as our emitters write them and most people do, `for (int i = A; i
// < B; i += S)`, with sizes from the text's #define lines; one whose turns are unknown counts as
// UNKNOWN_TURNS.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "record/profile.h"
#include "report/page.h"

enum { UNKNOWN_TURNS = 8, DEPTH_MAX = 64, NAMES_MAX = 64, LAUNCHES_MAX = 32 };

struct span_of {
    const char *ptr;
    size_t len;
};

struct size_name {
    struct span_of name;
    double value;
};

struct hot_page {
    struct size_name sizes[NAMES_MAX];
    int n_sizes;
    double turns[DEPTH_MAX];  // of each open brace: how often what is in it runs
    int depth;
    double next_turns;  // of a loop without braces, for the statement behind it; 0: none
    int launch;         // whose function this is; -1: of none
};

// ---- numbers

struct reader {
    const struct hot_page *hot;
    const char *at, *end;
    bool ok;
};

static double read_sum(struct reader *r);

static void skip_blanks(struct reader *r) {
    while (r->at < r->end && isspace((unsigned char)*r->at))
        r->at++;
}

static bool take(struct reader *r, char c) {
    skip_blanks(r);
    bool is_there = r->at < r->end && *r->at == c;
    r->at += is_there;
    return is_there;
}

static double read_name(struct reader *r) {
    struct span_of name = {r->at, 0};
    while (r->at < r->end && (isalnum((unsigned char)*r->at) || *r->at == '_'))
        r->at++;
    name.len = (size_t)(r->at - name.ptr);
    for (int i = 0; i < r->hot->n_sizes; i++) {
        const struct size_name *s = &r->hot->sizes[i];
        if (s->name.len == name.len && memcmp(s->name.ptr, name.ptr, name.len) == 0)
            return s->value;
    }
    r->ok = false;
    return NAN;
}

static double read_factor(struct reader *r) {
    if (take(r, '(')) {
        double value = read_sum(r);
        r->ok = take(r, ')') && r->ok;
        return value;
    }
    if (r->at >= r->end || !isdigit((unsigned char)*r->at))
        return read_name(r);
    double value = 0;
    for (; r->at < r->end && isdigit((unsigned char)*r->at); r->at++)
        value = 10 * value + (*r->at - '0');
    while (r->at < r->end && strchr("uUlL", *r->at))
        r->at++;
    return value;
}

static double read_product(struct reader *r) {
    double value = read_factor(r);
    while (r->ok) {
        if (take(r, '*'))
            value *= read_factor(r);
        else if (take(r, '/'))
            value = floor(value / read_factor(r));
        else
            break;
    }
    return value;
}

static double read_sum(struct reader *r) {
    double value = read_product(r);
    while (r->ok) {
        if (take(r, '+'))
            value += read_product(r);
        else if (take(r, '-'))
            value -= read_product(r);
        else
            break;
    }
    return value;
}

// A number that the text says; NAN: it says none.
static double number_of(const struct hot_page *h, struct span_of text) {
    struct reader r = {h, text.ptr, text.ptr + text.len, true};
    double value = read_sum(&r);
    skip_blanks(&r);
    return r.ok && r.at == r.end ? value : NAN;
}

// "#define N 1024"
static void note_size(struct hot_page *h, const char *line, size_t len) {
    static const char word[] = "#define ";
    size_t begin = sizeof word - 1;
    if (len <= begin || strncmp(line, word, begin) != 0 || h->n_sizes == NAMES_MAX)
        return;
    const char *name = line + begin, *blank = memchr(name, ' ', len - begin);
    if (!blank)
        return;
    struct span_of text = {blank, (size_t)(line + len - blank)};
    double value = number_of(h, text);
    if (isfinite(value))
        h->sizes[h->n_sizes++] = (struct size_name){{name, (size_t)(blank - name)}, value};
}

// ---- loops

static struct span_of trim(const char *begin, const char *end) {
    while (begin < end && isspace((unsigned char)*begin))
        begin++;
    while (end > begin && isspace((unsigned char)end[-1]))
        end--;
    return (struct span_of){begin, (size_t)(end - begin)};
}

// From `at`: how far it goes between its two numbers, "block * 8" and "block * 8 + 8" too.
static double distance(const struct hot_page *h, struct span_of from, struct span_of to) {
    double first = number_of(h, from), last = number_of(h, to);
    if (isfinite(first) && isfinite(last))
        return last - first;
    if (to.len > from.len && memcmp(to.ptr, from.ptr, from.len) == 0) {
        struct span_of rest = trim(to.ptr + from.len, to.ptr + to.len);
        if (rest.len > 1 && rest.ptr[0] == '+')
            return number_of(h, (struct span_of){rest.ptr + 1, rest.len - 1});
    }
    return NAN;
}

// Turns of the loop whose head stands between the parentheses.
static double turns_of(const struct hot_page *h, const char *begin, const char *end) {
    const char *first = memchr(begin, ';', (size_t)(end - begin));
    const char *second = first ? memchr(first + 1, ';', (size_t)(end - first - 1)) : NULL;
    const char *is = first ? memchr(begin, '=', (size_t)(first - begin)) : NULL;
    const char *less = second ? memchr(first, '<', (size_t)(second - first)) : NULL;
    if (!is || !less)
        return UNKNOWN_TURNS;
    bool has_equal = less[1] == '=';
    double all = distance(h, trim(is + 1, first), trim(less + 1 + has_equal, second)) + has_equal;
    const char *step = memmem(second, (size_t)(end - second), "+=", 2);
    double each = step ? number_of(h, trim(step + 2, end)) : 1;
    double turns = ceil(all / each);
    return turns >= 0 && isfinite(turns) ? turns : UNKNOWN_TURNS;
}

// The ')' that closes the '(' at `open`, or the end.
static const char *closing(const char *open, const char *end) {
    int depth = 0;
    for (const char *p = open; p < end; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p;
    }
    return end;
}

static bool is_letter(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static double loop_turns(const struct hot_page *h, const char *line, const char *end) {
    while (line < end && isspace((unsigned char)*line))
        line++;
    size_t len = (size_t)(end - line);
    bool is_for = len > 4 && strncmp(line, "for", 3) == 0 && !is_letter(line[3]);
    bool is_while = len > 6 && strncmp(line, "while", 5) == 0 && !is_letter(line[5]);
    const char *open = is_for || is_while ? memchr(line, '(', len) : NULL;
    if (!open)
        return 0;
    return is_for ? turns_of(h, open + 1, closing(open, end)) : UNKNOWN_TURNS;
}

// ---- lines

// Functions that take many instructions; what they are called with stands behind a prefix of ours.
static bool is_slow(const char *name, size_t len) {
    static const char *const words[] = {"exp", "log", "erf", "tanh", "sqrt", "pow", "sin", "cos"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (len >= strlen(words[i]) && memmem(name, len, words[i], strlen(words[i])))
            return true;
    return false;
}

// Instructions, roughly: operations, accesses and calls.
static double cost_of(const char *p, const char *end) {
    double cost = 0;
    while (p < end) {
        const char *word = p;
        while (p < end && is_letter(*p))
            p++;
        if (p > word) {
            bool is_call = p < end && *p == '(';
            cost += !is_call ? 0 : is_slow(word, (size_t)(p - word)) ? 16 : 2;
            continue;
        }
        cost += *p == '[' ? 2 : *p == '/' ? 8 : strchr("+-*%?<>&|^", *p) ? 1 : 0;
        p++;
    }
    return cost;
}

// Whose function begins here: a launch's name before a parenthesis.
static int launch_of(const struct profile *p, const char *line, const char *end) {
    for (int i = 0; p && i < p->n_launches && i < LAUNCHES_MAX; i++) {
        size_t len = strlen(p->launches[i].name);
        const char *at = len ? memmem(line, (size_t)(end - line), p->launches[i].name, len) : NULL;
        if (at && at + len < end && at[len] == '(' && (at == line || !is_letter(at[-1])))
            return i;
    }
    return -1;
}

static double turns_here(const struct hot_page *h) {
    double turns = h->depth > 0 && h->depth <= DEPTH_MAX ? h->turns[h->depth - 1] : 1;
    return h->next_turns > 0 ? turns * h->next_turns : turns;
}

static void count_braces(struct hot_page *h, const char *p, const char *end, double turns) {
    for (; p < end; p++) {
        if (*p == '{' && h->depth++ < DEPTH_MAX)
            h->turns[h->depth - 1] = turns;
        else if (*p == '}' && h->depth > 0)
            h->depth--;
    }
}

// One line without its comments: what it weighs.
static double weigh(struct hot_page *h, const struct profile *p, const char *line,
                    const char *end) {
    const char *comment = memmem(line, (size_t)(end - line), "//", 2);
    end = comment ? comment : end;
    if (h->depth == 0) {
        note_size(h, line, (size_t)(end - line));
        int launch = launch_of(p, line, end);
        h->launch = memchr(line, '{', (size_t)(end - line)) || launch >= 0 ? launch : h->launch;
        count_braces(h, line, end, 1);
        return 0;
    }
    double around = turns_here(h), turns = loop_turns(h, line, end);
    bool has_brace = memchr(line, '{', (size_t)(end - line)), is_blank = trim(line, end).len == 0;
    bool is_directive = trim(line, end).len > 0 && *trim(line, end).ptr == '#';
    if (is_blank || is_directive)
        return 0;
    h->next_turns = turns > 0 && !has_brace ? (h->next_turns > 0 ? h->next_turns : 1) * turns : 0;
    count_braces(h, line, end, turns > 0 ? around * turns : around);
    return around * (turns > 0 ? turns : cost_of(line, end));
}

// Samples of all lines of a launch.
static double samples_of(const struct profile *p, const char *launch) {
    double sum = 0;
    for (int i = 0; i < p->n_lines; i++)
        if (strcmp(p->lines[i].launch, launch) == 0)
            sum += p->lines[i].samples;
    return sum;
}

// The share of all launches of that name in the time; where they were not timed, in the samples.
static double sampled_share(const struct profile *p, const char *launch) {
    double share = 0, all = 0;
    for (int i = 0; i < p->n_launches; i++)
        if (strcmp(p->launches[i].name, launch) == 0)
            share += profile_share(p, i);
    for (int i = 0; i < p->n_lines; i++)
        all += p->lines[i].samples;
    return share > 0 ? share : samples_of(p, launch) / all;
}

static void share_samples(const struct profile *p, double *share, int n_lines) {
    for (int i = 0; i < p->n_lines; i++) {
        const struct profile_line *l = &p->lines[i];
        double all = samples_of(p, l->launch);
        if (l->line >= 1 && l->line <= n_lines && all > 0)
            share[l->line - 1] += sampled_share(p, l->launch) * l->samples / all;
    }
}

static void estimate(const char *source, const struct profile *p, double *share, int n_lines) {
    struct hot_page h = {.launch = -1};
    double all[LAUNCHES_MAX + 1] = {0};
    int *launch = calloc((size_t)n_lines + 1, sizeof *launch);
    if (!launch)
        abort();
    for (int i = 0; i < n_lines; i++) {
        size_t len = strcspn(source, "\n");
        share[i] = weigh(&h, p, source, source + len);
        // What no launch is, is called by one, or there is but one whose name nobody told.
        launch[i] = p && p->n_launches ? h.launch : LAUNCHES_MAX;
        if (launch[i] >= 0)
            all[launch[i]] += share[i];
        source += len + (source[len] == '\n');
    }
    for (int i = 0; i < n_lines; i++) {
        bool is_one = launch[i] == LAUNCHES_MAX || (p && p->n_launches == 1);
        double part = launch[i] < 0 ? 0 : is_one ? 1 : profile_share(p, launch[i]);
        bool is_known = isfinite(part) && launch[i] >= 0 && all[launch[i]] > 0;
        share[i] = is_known ? part * share[i] / all[launch[i]] : 0;
    }
    free(launch);
}

double *page_hot_lines(const char *source, const struct profile *p, int *n_lines) {
    *n_lines = 0;
    for (const char *s = source; s && *s; s++)
        *n_lines += *s == '\n' || !s[1];
    double *share = calloc((size_t)*n_lines + 1, sizeof *share);
    if (!share)
        abort();
    if (p && p->n_lines > 0)
        share_samples(p, share, *n_lines);
    else
        estimate(source, p, share, *n_lines);
    return share;
}
