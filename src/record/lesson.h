// A lesson: what one run taught. The kind of its problem, what became of every move that was tried,
// in which class of bottleneck and after which finding, and the champion with its block. Lessons
// are what memory (memory/memory.h) keeps, exports and merges; all that it says is summed up over
// them, so that the same run is never counted twice. hone.lesson/1.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "record/verdict.h"

struct arena;
struct error;

enum { KIND_SIZES_MAX = 26 };

// What makes problems siblings: the same skeleton. The nearer the rest is, the more one says of the
// other.
struct problem_kind {
    const char *form;      // hash of the graph without names, sizes, types and constants
    const char *skeleton;  // "max sum": operations that anchor a region, in order; "map": none
    const char *ops;       // all operations in order, for people: "max sub exp sum div"
    const char *types;     // "f32, f32 -> f32"
    double sizes[KIND_SIZES_MAX];  // log2 of the anchors' extents, in the order of the skeleton
    int n_sizes;
};

// Speed-ups over the parent, in bins with these upper ends; the last bin has none.
enum { GAIN_BINS = 9, GAIN_FIRST_BETTER = 5 };
extern const double gain_bin_ends[GAIN_BINS - 1];

// What came of one move: times tried, how much it brought, verdicts.
struct outcome {
    const char *move;        // without the stage's name: "vec 8 -> 16", "merge"
    const char *bottleneck;  // class of the node that it was tried on: "memory"
    const char *tool;        // whose finding was behind it; NULL: none
    int n_tried;
    int n_timed;                  // judged ok, or timed by a race
    double log_sum, log_sq;       // of ln(speed-up over the parent), over those that were timed
    int gains[GAIN_BINS];         // how many of them were where
    int verdicts[VERDICT_COUNT];  // of those that were judged
};

// A value of the blocks and where it is in the canonical order of the graph, so that the
// blocks can be stated for a problem with other names.
struct lesson_value {
    const char *name;
    int place;
};

// A kernel block that was timed, for models of times by blocks.
struct lesson_block {
    const char *kernel;
    double time_s;
    double prior;  // by the closed form, on that problem: the larger, the faster (family/moves.h)
};

enum { LESSON_BLOCKS_MAX = 32 };

struct lesson {
    const char *run;      // its identity, random: lessons of one run replace each other
    const char *problem;  // its name
    const char *shape;    // sizes for people: "M=512 N=1024"
    struct problem_kind kind;
    const char *target;  // as kernel blocks say: "cpu", "sm_90a"
    const char *device;
    const char *learned_at, *version;
    int n_evals, n_screened;
    const char *block;  // the champion's; NULL: none that is a kernel block
    struct lesson_value *values;
    int n_values;
    double time_s;    // of the champion; NAN without
    double speedup;   // over the default kernel; NAN where that did not work
    double of_reach;  // NAN: reach is not known
    struct outcome *outcomes;
    int n_outcomes;
    struct lesson_block *blocks;  // the fastest first; lessons of before this was kept have none
    int n_blocks;
};

int gain_bin(double gain);
int outcome_n_better(const struct outcome *o);                  // clearly faster than the parent
double outcome_gain(const struct outcome *o);                   // geometric mean; NAN: never timed
void outcome_add(struct outcome *to, const struct outcome *o);  // counts and sums

json_t *outcome_to_json(const struct outcome *o);
json_t *lesson_to_json(const struct lesson *l);
bool lesson_from_json(struct arena *a, const json_t *json, struct lesson *l, struct error *err);
