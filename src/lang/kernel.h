// A kernel block as written: stages with knobs, names not yet resolved.
//
//     kernel for softmax on cpu
//     stage y : rowwise  vec 16  rows 4  store stream
//
// In full: stage VALUE[, VALUE...] [as TYPE] [layout AXES] : FAMILY [as EMITTER]  knob value ...
// [combine HOW] [laws LAW, ...].
//
// What the words mean is decided in family/, which resolves values against the
// problem, finds each stage's region and checks the knobs.
#pragma once

#include <stddef.h>

#include "ir/graph.h"

struct arena;

// Far beyond what a network has: it keeps a runaway text from eating the memory.
enum { STAGES_MAX = 1024, KNOBS_MAX = 12, STAGE_VALUES_MAX = 4, STAGE_LAWS_MAX = 4 };

// How the tiles of a stage meet when a reduction goes beyond one of them.
enum combine {
    COMBINE_NONE,
    COMBINE_ATOMIC,     // every tile adds to the result in memory
    COMBINE_TWOPASS,    // partial results, then a second kernel
    COMBINE_LASTBLOCK,  // partial results; the block that ends last adds them up
    COMBINE_CLUSTER,    // blocks of one cluster through each other's shared memory
    COMBINE_COUNT
};
extern const char *const combine_names[];  // NULL-terminated, from COMBINE_ATOMIC on
const char *combine_name(enum combine c);  // "none" for COMBINE_NONE

// `tile 128x256x64` has three parts, `vec 16` one, `store stream` a word.
struct kernel_knob {
    const char *name;
    const char *word;  // NULL when the value is numbers
    int n_parts;
    int part[3];
    struct place at;
};

struct kernel_stage {
    const char *values[STAGE_VALUES_MAX];
    struct place value_at[STAGE_VALUES_MAX];
    int n_values;
    const char *type;              // `as`; NULL: the value's own
    const char *layout[RANK_MAX];  // axes from slowest to fastest, by dim or number
    int n_layout;                  // 0: as declared
    const char *family;
    const char *emitter;  // `as` behind the family; NULL: not named
    struct kernel_knob knobs[KNOBS_MAX];
    int n_knobs;
    enum combine combine;
    const char *laws[STAGE_LAWS_MAX];
    struct place law_at[STAGE_LAWS_MAX];
    int n_laws;
    struct place at, type_at, layout_at, family_at, emitter_at, combine_at;
};

struct kernel {
    const char *problem;
    const char *target;
    struct kernel_stage **stages;  // kernels share them: change one by kernel_own_stage()
    int n_stages, room;            // room: of the list
    const char *file;              // for messages; may be NULL
    const char *text;              // of that file, which the places are in; NULL: made by us
    size_t text_len;
    struct place at, target_at;
};

// Canonical text: the same kernel always prints the same, so that text can be compared.
const char *kernel_print(struct arena *a, const struct kernel *k);

// A kernel that can be changed: with its own list of the same stages.
struct kernel kernel_copy(struct arena *a, const struct kernel *k);
// The same with stages of its own, which may then outlive the other's arena.
struct kernel kernel_copy_whole(struct arena *a, const struct kernel *k);
// Stage `i`, from now on this kernel's own; its list must be too.
struct kernel_stage *kernel_own_stage(struct arena *a, struct kernel *k, int i);
// A new empty stage before stage `i`, or behind the last; and one taken out.
struct kernel_stage *kernel_add_stage(struct arena *a, struct kernel *k, int i);
void kernel_remove_stage(struct kernel *k, int i);

struct kernel_knob *kernel_find_knob(struct kernel_stage *s, const char *name);  // NULL: not given
