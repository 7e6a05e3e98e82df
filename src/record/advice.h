// Advice: what a run took from memory when it began. Expectations of moves, by what they brought on
// siblings of the problem, kernel blocks to begin with, and blocks with the times that they took
// on siblings. It is stored with the run, so that a replay needs no memory; it orders what is tried
// and never touches a verdict. hone.advice/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct arena;
struct error;

// What moves of a kind brought on siblings.
struct advice_prior {
    const char *move;        // its kind (record/move_kind.h): "vec up"
    const char *tool;        // whose findings led to it; NULL: any tool's
    const char *bottleneck;  // class of what limited the parent; NULL: whatever did
    double gain;             // geometric mean of the speed-ups over the parent
    double weight;           // so many trials on this very problem would say as much
    int n_timed, n_better;
    const char *words;  // "1.30x on average on siblings, faster in 8 of 10"
};

// A block of this problem, made of one of a sibling's fastest and legal; or the default kernel,
// where that is expected to be faster.
struct advice_start {
    const char *kernel;
    const char *words;  // whose it was: "softmax M=512 N=1024 (1.44x there)"
    bool is_default;
};

// A block that was timed on a sibling, with the names that values have in this problem; it need not
// be legal here.
struct advice_block {
    const char *kernel;
    double log_s;  // the logarithm of its time there
    double prior;  // by the closed form there: the larger, the faster
    int sibling;   // which one, from 1 on: times of one sibling are compared with each other
};

enum { ADVICE_STARTS_MAX = 3, ADVICE_BLOCKS_MAX = 32 };

struct advice {
    const char *run;  // identity that the run's lesson will have
    int n_lessons;    // of siblings, that this is made of
    struct advice_prior *priors;
    int n_priors;
    struct advice_start starts[ADVICE_STARTS_MAX];
    int n_starts;
    bool is_start_first;  // the first of them is expected to be faster than the default kernel
    // Only the first champion is judged before anything else where the policy can weigh the others
    // with whatever else could be tried. Records of before this was kept say no.
    bool is_weighed;
    struct advice_block *blocks;
    int n_blocks;
};

// A move's words without the stage's name, cut into the single changes that it is made of: "y: rows
// 16 -> 8, unroll 1 -> 8" gives two; a merge is "merge". Returns how many, at least 1 and at most
// `room`.
enum { MOVE_PARTS_MAX = 12 };
int move_parts(struct arena *a, const char *move, const char **parts, int room);

// What is known of a kind of move after a finding of the tool on a kernel of that class: of these
// two if it was timed often enough there (ADVICE_ENOUGH), else of the class, of the tool, of any.
// NULL: nothing.
enum { ADVICE_ENOUGH = 2 };
const struct advice_prior *advice_find(const struct advice *d, const char *kind, const char *tool,
                                       const char *bottleneck);

// Fill in a prior's words.
void advice_describe(struct arena *a, struct advice_prior *p);

json_t *advice_to_json(const struct advice *d);
bool advice_from_json(struct arena *a, const json_t *json, struct advice *d, struct error *err);
