// A model of a run's times, made of the blocks that were judged: what time is to be expected of one
// that was not, and how uncertain that is.
//
// A Gaussian process over the knobs of a block. The logarithm of a time is what the emitters'
// closed form says, by a share that is not known, and a rest that is alike for blocks that are
// alike: exp(-distance / length), where a number counts by how many times it doubles and a word
// that differs counts one. Share and length are a few fixed values each, weighed by how well they
// explain the times so far (their marginal likelihood), so nothing is fitted to other problems.
//
// Samples may also be of siblings of the problem (record/advice.h). Their rests are alike to those
// of this problem by a correlation that is weighed in the same way; each sibling has a mean of its
// own, so that only how its blocks compare with each other counts.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct kernel;

enum { SURROGATE_MOST = 96 };  // blocks that it is made of; a decision takes their number cubed

// A knob's part with its number as a power of two, or a word.
struct feature {
    uint64_t key;
    double value;
};

struct features {
    const struct feature *list;  // by key
    int n;
};

// The knobs of all stages, their families, emitters and whatever else is written.
struct features features_of(struct arena *a, const struct kernel *k);
double features_distance(const struct features *x, const struct features *y);

struct sample {
    struct features features;
    double prior;  // by the closed form: the larger, the faster (family/moves.h)
    double log_s;  // the logarithm of its time
    int sibling;   // 0: of this problem
};

struct surrogate;

// `samples` must outlive it; at most SURROGATE_MOST of them, at least one of this problem.
struct surrogate *surrogate_new(struct arena *a, const struct sample *samples, int n_samples);
// By how much, on average, a block will be faster than the fastest sample of the problem, as
// a logarithm; what is slower counts 0. `bonus`: by how much it is faster than the model thinks, as
// others say.
double surrogate_gain(const struct surrogate *s, const struct features *f, double prior,
                      double bonus);
