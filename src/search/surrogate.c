// One process for each choice of a share, a length and, where there are samples of siblings, a
// correlation with them; their expectations are averaged.
#include "search/surrogate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "lang/kernel.h"

// How much of the closed form is believed, and after how many doublings blocks have half forgotten
// each other.
static const double shares[] = {0, 0.5, 1};
static const double lengths[] = {2, 6};
// How much alike the rests of a sibling's blocks are to those of the same blocks here.
static const double alike[] = {0.5, 0.9};
enum { SHARES = 3, LENGTHS = 2, ALIKE = 2, MODELS = SHARES * LENGTHS * ALIKE, FEATURES_MAX = 512 };

// Of the variance: what measuring twice differs by, and what keeps the matrix well conditioned.
static const double NOISE = 0.003;
// What is known of the standard deviation of the rest before anything was measured: about this, as
// if seen twice.
static const double SPREAD = 0.8, SEEN = 2;
// Of a sibling's mean, which says nothing: so large, in units of the rest's variance.
static const double ANY_MEAN = 100;

// ---- features

static uint64_t key_of(const char *stage, const char *name, const char *word, int part) {
    uint64_t h = hash_bytes(stage, strlen(stage), 1 + (uint64_t)part);
    h = hash_bytes(name, strlen(name), h);
    return word ? hash_bytes(word, strlen(word), h) : h;
}

struct gathering {
    struct feature list[FEATURES_MAX];
    int n;
};

static void add(struct gathering *g, uint64_t key, double value) {
    if (g->n < FEATURES_MAX)
        g->list[g->n++] = (struct feature){key, value};
}

static void add_knob(struct gathering *g, const char *stage, const struct kernel_knob *k) {
    if (k->word)
        add(g, key_of(stage, k->name, k->word, 0), 0.5);
    for (int i = 0; !k->word && i < k->n_parts; i++)
        add(g, key_of(stage, k->name, NULL, i), log2(k->part[i] > 0 ? k->part[i] : 0.5));
}

static void add_stage(struct gathering *g, const struct kernel_stage *s) {
    const char *stage = s->values[0];
    add(g, key_of(stage, "family", s->family, 0), 1);
    if (s->emitter)
        add(g, key_of(stage, "emitter", s->emitter, 0), 0.5);
    if (s->combine)
        add(g, key_of(stage, "combine", combine_name(s->combine), 0), 0.5);
    if (s->type)
        add(g, key_of(stage, "type", s->type, 0), 0.5);
    for (int i = 0; i < s->n_laws; i++)
        add(g, key_of(stage, "law", s->laws[i], 0), 0.5);
    for (int i = 0; i < s->n_layout; i++)
        add(g, key_of(stage, "layout", s->layout[i], i), 0.5);
    for (int i = 0; i < s->n_knobs; i++)
        add_knob(g, stage, &s->knobs[i]);
}

static int by_key(const void *x, const void *y) {
    const struct feature *a = x, *b = y;
    return a->key < b->key ? -1 : a->key > b->key;
}

struct features features_of(struct arena *a, const struct kernel *k) {
    struct gathering g = {.n = 0};
    for (int i = 0; i < k->n_stages; i++)
        add_stage(&g, k->stages[i]);
    qsort(g.list, (size_t)g.n, sizeof *g.list, by_key);
    return (struct features){arena_copy(a, g.list, sizeof *g.list * (size_t)g.n), g.n};
}

double features_distance(const struct features *x, const struct features *y) {
    double d = 0;
    for (int i = 0, j = 0; i < x->n || j < y->n;) {
        bool has_x = i < x->n && (j == y->n || x->list[i].key <= y->list[j].key);
        bool has_y = j < y->n && (i == x->n || y->list[j].key <= x->list[i].key);
        double v = has_x ? x->list[i].value : 0, w = has_y ? y->list[j].value : 0;
        // A word is there or not; a number that one of them has not is about one doubling away.
        d += fmin(fabs(v - w), has_x && has_y ? INFINITY : 1);
        i += has_x;
        j += has_y;
    }
    return d;
}

// ---- the process

struct model {
    double share, length, alike;
    double weight;
    double mean;         // of the rest
    double variance;     // likewise
    double *lower;       // n x n: the factor of the correlations
    double *solved;      // correlations^-1 (rest - mean)
    double *solved_own;  // correlations^-1 own, which is 1 for samples of this problem, else 0
    double own;          // own' correlations^-1 own
};

struct surrogate {
    struct arena *arena;
    const struct sample *samples;
    int n;
    double best;  // the smallest logarithm of a time, of this problem
    int n_models;
    struct model models[MODELS];
};

// Cholesky's factor in place. False: not positive definite.
static bool factor(double *m, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = m[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= m[i * n + k] * m[j * n + k];
            if (i == j && !(sum > 1e-12))
                return false;
            m[i * n + j] = i == j ? sqrt(sum) : sum / m[j * n + j];
        }
    return true;
}

static void forward(const double *lower, int n, double *x) {
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= lower[i * n + k] * x[k];
        x[i] /= lower[i * n + i];
    }
}

static void backward(const double *lower, int n, double *x) {
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            x[i] -= lower[k * n + i] * x[k];
        x[i] /= lower[i * n + i];
    }
}

static void solve(const double *lower, int n, double *x) {
    forward(lower, n, x);
    backward(lower, n, x);
}

static double dot(const double *x, const double *y, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static double rest_of(const struct model *m, const struct sample *s) {
    return s->log_s + m->share * s->prior;
}

static double likeness(const struct model *m, int x, int y) {
    return x == y ? 1 : m->alike;
}

// What two samples of one sibling have in common by its mean.
static double any_mean(int x, int y) {
    return x == y && x > 0 ? ANY_MEAN : 0;
}

static void correlate(const struct surrogate *s, const struct model *m, const double *distances,
                      double noise) {
    int n = s->n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            m->lower[i * n + j] = exp(-distances[i * n + j] / m->length) *
                                      likeness(m, s->samples[i].sibling, s->samples[j].sibling) +
                                  any_mean(s->samples[i].sibling, s->samples[j].sibling) +
                                  (i == j ? noise : 0);
}

// The logarithm of its marginal likelihood: a flat prior on the problem's mean, an inverse gamma on
// the variance.
static double rest_less_mean(const struct model *m, const struct sample *s) {
    return rest_of(m, s) - (s->sibling == 0 ? m->mean : 0);
}

static double fit(struct surrogate *s, struct model *m, const double *distances) {
    int n = s->n;
    m->lower = arena_array(s->arena, double, n *n);
    m->solved = arena_array(s->arena, double, n);
    m->solved_own = arena_array(s->arena, double, n);
    double noise = NOISE, log_det = 0;
    for (correlate(s, m, distances, noise); !factor(m->lower, n);)
        correlate(s, m, distances, noise *= 10);
    for (int i = 0; i < n; i++) {
        m->solved_own[i] = s->samples[i].sibling == 0;
        log_det += log(m->lower[i * n + i]);
    }
    solve(m->lower, n, m->solved_own);
    for (int i = 0; i < n; i++) {
        m->own += s->samples[i].sibling == 0 ? m->solved_own[i] : 0;
        m->mean += m->solved_own[i] * rest_of(m, &s->samples[i]);
    }
    m->mean /= m->own;
    double fits = 0;
    for (int i = 0; i < n; i++)
        m->solved[i] = rest_less_mean(m, &s->samples[i]);
    solve(m->lower, n, m->solved);
    for (int i = 0; i < n; i++)
        fits += m->solved[i] * rest_less_mean(m, &s->samples[i]);
    double sum = SEEN * SPREAD * SPREAD + fits, freedom = SEEN + n - 1;
    m->variance = sum / freedom;
    return -log_det - 0.5 * log(m->own) - 0.5 * freedom * log(sum);
}

struct surrogate *surrogate_new(struct arena *a, const struct sample *samples, int n_samples) {
    struct surrogate *s = arena_new(a, struct surrogate);
    assert(n_samples > 0 && n_samples <= SURROGATE_MOST);
    *s = (struct surrogate){.arena = a, .samples = samples, .n = n_samples, .best = INFINITY};
    double *distances = arena_array(a, double, n_samples *n_samples);
    bool has_siblings = false;
    for (int i = 0; i < n_samples; i++) {
        if (samples[i].sibling == 0)
            s->best = fmin(s->best, samples[i].log_s);
        has_siblings |= samples[i].sibling > 0;
        for (int j = 0; j <= i; j++)
            distances[i * n_samples + j] =
                features_distance(&samples[i].features, &samples[j].features);
    }
    double likely[MODELS], most = -INFINITY, sum = 0;
    s->n_models = has_siblings ? MODELS : SHARES * LENGTHS;
    for (int i = 0; i < s->n_models; i++) {
        s->models[i].share = shares[i % SHARES];
        s->models[i].length = lengths[i / SHARES % LENGTHS];
        s->models[i].alike = alike[i / SHARES / LENGTHS];
        likely[i] = fit(s, &s->models[i], distances);
        most = fmax(most, likely[i]);
    }
    for (int i = 0; i < s->n_models; i++)
        sum += s->models[i].weight = exp(likely[i] - most);
    for (int i = 0; i < s->n_models; i++)
        s->models[i].weight /= sum;
    return s;
}

// The mean of what is above 0 of a normal distribution.
static double expected_gain(double mean, double deviation) {
    double z = mean / deviation;
    return mean * 0.5 * erfc(-z * M_SQRT1_2) + deviation * exp(-0.5 * z * z) * 0.3989422804014327;
}

static double gain_by(const struct surrogate *s, const struct model *m, const double *distances,
                      double prior, double bonus, double *scratch) {
    int n = s->n;
    double *correlations = scratch, *half = scratch + n;
    for (int i = 0; i < n; i++)
        half[i] = correlations[i] =
            exp(-distances[i] / m->length) * likeness(m, 0, s->samples[i].sibling);
    double mean = m->mean - m->share * prior + dot(correlations, m->solved, n);
    double left = 1 - dot(correlations, m->solved_own, n);
    forward(m->lower, n, half);
    double variance = 1 + NOISE - dot(half, half, n) + left * left / m->own;
    return expected_gain(s->best - mean + bonus, sqrt(m->variance * fmax(variance, 1e-6)));
}

double surrogate_gain(const struct surrogate *s, const struct features *f, double prior,
                      double bonus) {
    double distances[SURROGATE_MOST], scratch[2 * SURROGATE_MOST], gain = 0;
    for (int i = 0; i < s->n; i++)
        distances[i] = features_distance(f, &s->samples[i].features);
    for (int i = 0; i < s->n_models; i++)
        if (s->models[i].weight > 1e-3)
            gain +=
                s->models[i].weight * gain_by(s, &s->models[i], distances, prior, bonus, scratch);
    return gain;
}
