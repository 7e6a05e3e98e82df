// A family: one form of region, and the emitters that compute it.
//
// A family says which regions it takes; each of its emitters (emitter.h) has targets, knobs and
// rules of its own and turns region and knobs into loops.
//
// To add one: a row in family.c with the kinds of anchors that it takes and a function that says
// what else a region must be; its emitters; its part of docs/families.md.
#pragma once

#include "family/emitter.h"
#include "family/form.h"

enum family_id {
    FAMILY_MAP,
    FAMILY_ROWWISE,
    FAMILY_REDUCE,
    FAMILY_GEMM,
    FAMILY_QGEMM,
    FAMILY_RAGGED,
    FAMILY_CONV,
    FAMILY_POOL,
    FAMILY_SCAN,
    FAMILY_SCATTER,
    FAMILY_ATTENTION,
    FAMILY_MAXSIM,
    FAMILY_ROWGEMM,
    FAMILY_LIBRARY,
    FAMILY_NEST,
    FAMILY_COUNT
};

// Operations that a family folds, and in which arithmetic.
struct family_fold {
    enum op_class class;
    unsigned types;  // a bit per loop_dtype; 0 ends a table
};

enum family_trait {
    FAMILY_NAMED_ONLY = 1,   // taken where a block names it, by no default and no move
    FAMILY_MATRIX_ONLY = 2,  // all its emitters on GPUs are for matrix units, but for conv's direct
    FAMILY_BY_LINES = 4,     // a thread for each line or window would do, and is simpler
};

struct family {
    const char *name;
    unsigned kinds;     // of anchors, a bit per anchor_kind; FORM_ANY: every one
    const char *takes;  // "a matrix product"
    // Called with a region's form as the language has it; says whether the emitters compute it and
    // adds what they need to know. NULL where there is no emitter: then the language admits the
    // region, and only lowering refuses it.
    bool (*find)(struct form *f, struct objection *why);
    const struct emitter *const *emitters;  // NULL-terminated, in the order they are tried
    unsigned traits;                        // of family_trait
    const struct family_fold *folds;        // NULL: `find` says which
};

// Ended by a name of NULL, in the order in which they are tried: of those that accept a region
// the first computes it best.
extern const struct family families[];

const struct family *family_find(const char *name);  // NULL: unknown
bool family_has(const struct family *f, enum family_trait trait);

// The form of a region as the family computes it: found out once, kept with the region and as long
// as it. NULL: the family does not take the region, and why.
const struct form *family_form(const struct family *f, const struct region *r,
                               struct objection *why);
// The same by the first family that takes the region and has an emitter for it on the target; NULL:
// none does.
const struct form *family_first_form(const struct region *r, const struct target *t);

// "map, rowwise and gemm": the families that have an emitter of ours.
const char *family_list(struct arena *a);

// How many of a family's emitters run on a target.
int family_count_emitters(const struct family *f, const struct target *t);

// The emitter for a stage of the family: the one that it names, or else the first that runs on the
// target, takes the region and has every knob that the stage gives; where none has, the first that
// takes the region. With no form: of any region. NULL: none, and why.
const struct emitter *family_emitter(const struct family *f, const struct form *form,
                                     const struct target *t, const struct kernel_stage *s,
                                     struct objection *why);

// Fill in what the author of a stage left out: knobs, and the emitter where it is not the family's
// first (so a block means, and is written, as it did before there were others).
void family_complete(const struct emitter *e, const struct form *f, const struct target *t,
                     struct kernel_stage *s);

// Complete a stage, of which nothing but values and family is said, by the emitter that should be
// fastest of those that take the region; or by the first of them.
void family_choose(const struct form *f, const struct target *t, bool first,
                   struct kernel_stage *s);

// The emitter of a complete stage.
const struct emitter *stage_emitter(const struct kernel_stage *s, const struct target *t);
