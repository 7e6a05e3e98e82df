// An emitter: one way to turn the regions of a family into loops for some targets, with knobs.
//
// It prints nothing. A family (family.h) has a row for each of its emitters: gemm has `cpu`, and on
// GPUs `simt`, `dot`, `mma`, `wgmma` and `cutlass`. A stage names one by `as` (`stage y : gemm as
// dot`); otherwise it is the first that runs on the target, takes the region and has the knobs that
// the stage gives. Going from one to another is a move of the search.
//
// To add one: write family/<family>_<emitter>.c with a `const struct emitter`, declare it below,
// put it into its family's row in family.c, describe its knobs in docs/families.md, and give
// tests/lang/emit a golden file. Nothing else knows how many there are.
#pragma once

#include "family/form.h"
#include "family/point.h"
#include "model/target.h"

// What a move of the search changes (family/moves.h); a knob that is about more than sizes and
// places says so.
enum change {
    CHANGE_KNOB,     // sizes, places, order
    CHANGE_COMBINE,  // over whom a reduction is split, and how its parts meet
    CHANGE_LAW,      // another way to the same result, rounded otherwise
    CHANGE_LAYOUT,   // something is copied into another order before it is used
    CHANGE_EMITTER,  // another emitter, of the same family or of another one
    CHANGE_MERGE,    // two stages become one
    CHANGE_SPLIT,    // one becomes two
    CHANGE_COUNT
};
const char *change_name(enum change c);  // "knob", "combine", ...

// A knob takes a word, or one to three numbers (`tile 64x64x256`), each from its own grid.
struct knob {
    const char *name;  // NULL ends a table
    const char *summary;
    enum change change;        // by turning it
    const char *const *words;  // NULL-terminated; NULL: the knob takes numbers
    int n_parts;
    const int *grid[3];  // rising legal values, ended by 0 - 1 = -1
};

// Why a region is not taken, or a stage's knobs are not legal.
struct objection {
    const char *knob;  // the offending knob, or NULL
    char text[512];    // the reason, and the nearest legal value
};

struct emitter {
    const char *name;  // unique among those of its family on one target
    const char *summary;
    const struct knob *knobs;
    bool (*runs_on)(const struct target *t);
    // Called to learn whether it computes a region that its family takes. NULL: all of them.
    bool (*accepts)(const struct form *f, const struct target *t, struct objection *why);
    // Called with every knob still at the first value of its grid; sets those that should
    // be something else to begin with. The result must be legal.
    void (*defaults)(const struct form *f, const struct target *t, struct kernel_stage *s);
    // Called when each knob is on its grid: rules between knobs, sizes and the target.
    bool (*is_legal)(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why);
    // Called to add the stage's kernels to the program.
    void (*lower)(struct lowering *l, const struct form *f, const struct kernel_stage *s);
    // Called to rank legal stages without running them: seconds, roughly.
    double (*estimate)(const struct form *f, const struct target *t, const struct kernel_stage *s);
    // A block that names it has it; neither the default nor a move of the search does. For what
    // takes a minute to compile.
    bool is_named_only;
};

extern const struct emitter map_cpu, map_tiles_cpu, rowwise_cpu, rowwise_columns_cpu, reduce_cpu,
    gemm_cpu, conv_cpu, scan_cpu, pool_cpu, nest_cpu;
extern const struct emitter map_simt, map_tiles, map_gathered, rowwise_simt, rowwise_blocks,
    rowwise_columns, reduce_simt, gemm_simt, gemm_dot, gemm_mma, gemm_wgmma, gemm_cutlass,
    ragged_mma, ragged_wgmma, conv_mma, conv_wgmma, conv_direct, attention_mma, attention_wgmma,
    maxsim_mma, rowgemm_wgmma, qgemm_mma, qgemm_stream, scan_simt, scatter_simt, scatter_lists,
    pool_simt, pool_vectors, nest_simt, nest_persistent;

extern const struct emitter library_blas, library_cublaslt, library_cudnn;

// For `runs_on`.
bool emitter_runs_on_cpu(const struct target *t);
bool emitter_runs_on_gpu(const struct target *t);

// Knob tables.
const struct knob *emitter_knob(const struct emitter *e, const char *name);  // NULL: unknown
// Position of a value in the grid, or -1; the nearest value.
int knob_position(const struct knob *k, int part, int value);
int knob_nearest(const struct knob *k, int part, int value);
int knob_at_most(const struct knob *k, int part, int value);  // the first when all are above
// Steps from `word` in the list, -1 when it is not there.
int knob_word(const struct knob *k, const char *word);

// Parts that are turned by themselves, and how many values one of them can take: positions on its
// grid, or words.
int knob_parts(const struct knob *k);
int knob_choices(const struct knob *k, int part);
// Which of them a stage has (-1: none), by position; and to give it another.
int stage_choice(const struct knob *k, const struct kernel_stage *s, int part);
void stage_choose(const struct knob *k, struct kernel_stage *s, int part, int choice);
// "64x64" of a knob; "" when the stage has none of that name.
const char *stage_value_text(struct arena *a, const struct kernel_stage *s, const char *name);

// Values of a complete stage; asking for a knob that it has not is a bug.
int stage_number(const struct kernel_stage *s, const char *knob, int part);
bool stage_has(const struct kernel_stage *s, const char *knob);
bool stage_word_is(const struct kernel_stage *s, const char *knob, const char *word);
void stage_set(struct kernel_stage *s, const char *knob, int part, int value);
void stage_set_word(struct kernel_stage *s, const char *knob, const char *word);

// Fill in the knobs that the author left out, in the table's order.
void emitter_complete(const struct emitter *e, const struct form *f, const struct target *t,
                      struct kernel_stage *s);

// Every knob on its grid and the emitter's own rules.
bool emitter_is_legal(const struct emitter *e, const struct form *f, const struct target *t,
                      const struct kernel_stage *s, struct objection *why);

bool objection(struct objection *why, const char *knob, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));  // always false

// Shared rules and figures.
enum { LOCAL_BYTES_MAX = 1 << 20 };  // arrays of one block live on a thread's stack
// What to begin with where `lanes` allow vectors: as wide as the processor's, or 1.
int default_vec(const struct target *t, int64_t lanes);
// Are so many bytes of results more than the cores' own caches hold? Ordinary stores of those read
// every line first, from memory.
bool is_long_stream(const struct target *t, double bytes_written);
// Streaming stores go in whole aligned vectors: rows of `n_columns` (0: one long row) must
// not break them.
bool legal_stream(const struct kernel_stage *s, int64_t n_columns, struct objection *why);
// Vectors need a group whose accesses allow some (space_lanes).
bool legal_lanes(const struct kernel_stage *s, int64_t lanes, struct objection *why);
bool legal_vector(const struct target *t, const struct kernel_stage *s, struct objection *why);
// Seconds of sweeps over memory. `work` multiplies the arithmetic (what is computed again),
// `serial` is the share of the shorter of traffic and arithmetic that the longer cannot hide.
double estimate_stream(const struct region *r, const struct target *t, const struct kernel_stage *s,
                       double work, double serial);
