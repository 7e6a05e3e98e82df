// What emitters share: knobs by name, the nearest legal value, objections in words, estimates of
// plain streaming.
#include "family/emitter.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

bool emitter_runs_on_cpu(const struct target *t) {
    return !t->is_gpu;
}

bool emitter_runs_on_gpu(const struct target *t) {
    return t->is_gpu;
}

const char *change_name(enum change c) {
    static const char *const names[CHANGE_COUNT] = {"knob",    "combine", "law",  "layout",
                                                    "emitter", "merge",   "split"};
    return names[c];
}

const struct knob *emitter_knob(const struct emitter *e, const char *name) {
    for (const struct knob *k = e->knobs; k->name; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

int knob_position(const struct knob *k, int part, int value) {
    for (int i = 0; k->grid[part][i] >= 0; i++)
        if (k->grid[part][i] == value)
            return i;
    return -1;
}

int knob_nearest(const struct knob *k, int part, int value) {
    // By ratio, as sizes are: 96 lies nearer to 128 than to 64.
    int best = k->grid[part][0];
    double least = INFINITY;
    for (int i = 0; k->grid[part][i] >= 0; i++) {
        double distance = fabs(log((k->grid[part][i] + 0.5) / (value + 0.5)));
        if (distance < least) {
            least = distance;
            best = k->grid[part][i];
        }
    }
    return best;
}

int knob_at_most(const struct knob *k, int part, int value) {
    int best = k->grid[part][0];
    for (int i = 0; k->grid[part][i] >= 0; i++)
        if (k->grid[part][i] <= value)
            best = k->grid[part][i];
    return best;
}

int knob_word(const struct knob *k, const char *word) {
    for (int i = 0; k->words[i]; i++)
        if (strcmp(k->words[i], word) == 0)
            return i;
    return -1;
}

static const struct kernel_knob *find_knob(const struct kernel_stage *s, const char *name) {
    for (int i = 0; i < s->n_knobs; i++)
        if (strcmp(s->knobs[i].name, name) == 0)
            return &s->knobs[i];
    return NULL;
}

int stage_number(const struct kernel_stage *s, const char *knob, int part) {
    const struct kernel_knob *k = find_knob(s, knob);
    assert(k && part < k->n_parts);
    return k->part[part];
}

bool stage_has(const struct kernel_stage *s, const char *knob) {
    return find_knob(s, knob) != NULL;
}

bool stage_word_is(const struct kernel_stage *s, const char *knob, const char *word) {
    const struct kernel_knob *k = find_knob(s, knob);
    assert(k && k->word);
    return strcmp(k->word, word) == 0;
}

static struct kernel_knob *own_knob(struct kernel_stage *s, const char *name) {
    struct kernel_knob *k = (struct kernel_knob *)find_knob(s, name);
    assert(k);
    return k;
}

void stage_set(struct kernel_stage *s, const char *knob, int part, int value) {
    own_knob(s, knob)->part[part] = value;
}

void stage_set_word(struct kernel_stage *s, const char *knob, const char *word) {
    own_knob(s, knob)->word = word;
}

// What was left out gives way to what was said: of the legal values of its grid it gets the one
// that should be fastest; where there is none the first, which asks for least.
static void give_way(const struct emitter *e, const struct form *f, const struct target *t,
                     const struct knob *k, struct kernel_stage *s) {
    int choices[3] = {1, 1, 1}, n = 1;
    double least = INFINITY;
    for (int i = 0; i < knob_parts(k); i++)
        n *= choices[i] = knob_choices(k, i);
    for (int i = 0; i < knob_parts(k); i++)
        stage_choose(k, s, i, 0);
    struct kernel_stage try = *s;
    for (int i = 0; i < n; i++) {
        struct objection why;
        for (int part = 0, rest = i; part < knob_parts(k); rest /= choices[part++])
            stage_choose(k, &try, part, rest % choices[part]);
        double seconds = emitter_is_legal(e, f, t, &try, &why) ? e->estimate(f, t, &try) : INFINITY;
        if (seconds < least) {
            least = seconds;
            *s = try;
        }
    }
}

void emitter_complete(const struct emitter *e, const struct form *f, const struct target *t,
                      struct kernel_stage *s) {
    struct kernel_stage full = *s;
    full.n_knobs = 0;
    for (const struct knob *k = e->knobs; k->name; k++) {
        struct kernel_knob *to = &full.knobs[full.n_knobs++];
        *to = (struct kernel_knob){.name = k->name, .n_parts = k->n_parts};
        if (k->words)
            to->word = k->words[0];
        for (int i = 0; i < k->n_parts; i++)
            to->part[i] = k->grid[i][0];
    }
    e->defaults(f, t, &full);
    for (int i = 0; i < full.n_knobs; i++) {
        const struct kernel_knob *given = find_knob(s, full.knobs[i].name);
        if (given)
            full.knobs[i] = *given;
    }
    struct objection why = {0};
    if (s->n_knobs > 0 && !emitter_is_legal(e, f, t, &full, &why) && why.knob &&
        !find_knob(s, why.knob))
        give_way(e, f, t, emitter_knob(e, why.knob), &full);
    *s = full;
}

bool objection(struct objection *why, const char *knob, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why->text, sizeof why->text, fmt, ap);
    va_end(ap);
    why->knob = knob;
    return false;
}

static void list_words(const struct knob *k, char *out, size_t room) {
    out[0] = '\0';
    for (int i = 0; k->words[i]; i++)
        snprintf(out + strlen(out), room - strlen(out), "%s%s",
                 i == 0            ? ""
                 : k->words[i + 1] ? ", "
                                   : " or ",
                 k->words[i]);
}

static bool is_on_grid(const struct knob *k, const struct kernel_knob *given,
                       struct objection *why) {
    char words[128];
    if (k->words) {
        list_words(k, words, sizeof words);
        if (!given->word)
            return objection(why, k->name, "%s takes a word: %s", k->name, words);
        if (knob_word(k, given->word) < 0)
            return objection(why, k->name, "%s cannot be '%s': it is %s", k->name, given->word,
                             words);
        return true;
    }
    if (given->word || given->n_parts != k->n_parts)
        return objection(why, k->name, "%s takes %s, like %s", k->name,
                         k->n_parts == 1   ? "one number"
                         : k->n_parts == 2 ? "two numbers"
                                           : "three numbers",
                         k->n_parts == 1   ? "8"
                         : k->n_parts == 2 ? "4x16"
                                           : "64x64x256");
    for (int i = 0; i < k->n_parts; i++)
        if (knob_position(k, i, given->part[i]) < 0)
            return objection(why, k->name, "%s has no value %d%s: the nearest is %d", k->name,
                             given->part[i],
                             k->n_parts == 1 ? ""
                             : i == 0        ? " in its first part"
                             : i == 1        ? " in its second part"
                                             : " in its third part",
                             knob_nearest(k, i, given->part[i]));
    return true;
}

bool emitter_is_legal(const struct emitter *e, const struct form *f, const struct target *t,
                      const struct kernel_stage *s, struct objection *why) {
    for (int i = 0; i < s->n_knobs; i++)
        if (!is_on_grid(emitter_knob(e, s->knobs[i].name), &s->knobs[i], why))
            return false;
    return e->is_legal(f, t, s, why);
}

bool legal_vector(const struct target *t, const struct kernel_stage *s, struct objection *why) {
    int vec = stage_number(s, "vec", 0), widest = t->vector_bytes / 4;
    if (vec > widest && vec > 4)
        return objection(why, "vec",
                         "vec %d does not fit the %d-byte vectors of this machine: "
                         "the nearest is vec %d",
                         vec, t->vector_bytes, widest > 4 ? widest : 4);
    return true;
}

bool legal_lanes(const struct kernel_stage *s, int64_t lanes, struct objection *why) {
    int vec = stage_number(s, "vec", 0);
    return vec == 1 || lanes != 1 ||
           objection(why, "vec",
                     "vec %d takes neighbours side by side, and here an index, a condition or a "
                     "type rules vectors out: the nearest is vec 1",
                     vec);
}

int default_vec(const struct target *t, int64_t lanes) {
    int widest = t->vector_bytes / 4;
    return lanes <= 1 ? 1 : widest >= 16 ? 16 : widest >= 8 ? 8 : 4;
}

bool is_long_stream(const struct target *t, double bytes_written) {
    double own = (double)t->n_threads * (double)t->l2_bytes, shared = (double)t->llc_bytes / 2;
    return bytes_written > (shared > 0 && shared < own ? shared : own);
}

bool legal_stream(const struct kernel_stage *s, int64_t n_columns, struct objection *why) {
    int vec = stage_number(s, "vec", 0);
    if (vec < 4)
        return objection(why, "store",
                         "store stream needs vectors: the nearest is vec 4, or "
                         "store cached");
    if (n_columns % vec != 0)
        return objection(why, "store",
                         "store stream needs aligned rows, but %lld elements are no "
                         "multiple of vec %d: the nearest is store cached",
                         (long long)n_columns, vec);
    return true;
}

double estimate_stream(const struct region *r, const struct target *t, const struct kernel_stage *s,
                       double work, double serial) {
    struct region_work w;
    region_count(r, &w);
    double threads = t->n_threads > 0 ? t->n_threads : 1;
    double bandwidth = t->ceilings.present ? ceilings_bandwidth(&t->ceilings, 0.5) : 1e10 * threads;
    double rate = t->ceilings.present ? t->ceilings.f32_flops_per_s : 5e10 * threads;
    // Twelve instructions for a function such as exp; narrower vectors do less per turn.
    double flops = (w.flops + 12 * w.slow_flops) * work;
    int vec = stage_number(s, "vec", 0);
    double share = fmin(1.0, 4.0 * vec / t->vector_bytes);
    // An ordinary store reads the line first; only a long stream is worth going round it.
    bool streams = stage_word_is(s, "store", "stream");
    bool large = is_long_stream(t, w.bytes_written);
    double written = w.bytes_written * (streams == large ? 1 : 2);
    double memory = (w.bytes_read + written) / bandwidth;
    double compute = flops / (rate / 2 * share);
    return fmax(memory, compute) + serial * fmin(memory, compute);
}

int knob_parts(const struct knob *k) {
    return k->words ? 1 : k->n_parts;
}

int knob_choices(const struct knob *k, int part) {
    int n = 0;
    if (k->words)
        while (k->words[n])
            n++;
    else
        while (k->grid[part][n] >= 0)
            n++;
    return n;
}

int stage_choice(const struct knob *k, const struct kernel_stage *s, int part) {
    for (int i = 0; i < s->n_knobs; i++)
        if (strcmp(s->knobs[i].name, k->name) == 0)
            return k->words ? knob_word(k, s->knobs[i].word)
                            : knob_position(k, part, s->knobs[i].part[part]);
    return -1;
}

void stage_choose(const struct knob *k, struct kernel_stage *s, int part, int choice) {
    if (k->words)
        stage_set_word(s, k->name, k->words[choice]);
    else
        stage_set(s, k->name, part, k->grid[part][choice]);
}

const char *stage_value_text(struct arena *a, const struct kernel_stage *s, const char *name) {
    for (int i = 0; i < s->n_knobs; i++) {
        const struct kernel_knob *k = &s->knobs[i];
        if (strcmp(k->name, name) != 0)
            continue;
        if (k->word)
            return k->word;
        if (k->n_parts == 1)
            return arena_printf(a, "%d", k->part[0]);
        if (k->n_parts == 2)
            return arena_printf(a, "%dx%d", k->part[0], k->part[1]);
        return arena_printf(a, "%dx%dx%d", k->part[0], k->part[1], k->part[2]);
    }
    return "";
}
