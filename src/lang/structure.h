// Calls of the functions in structure.def: those whose arguments are also sizes, axes, lists and
// words, not only values. Like Python's, they take arguments by position or by name.
#pragma once

#include "ir/detail.h"
#include "lang/value.h"

enum { STRUCTURE_PARAMS_MAX = 12 };

// One call while it is built.
struct structure_call {
    struct value_scope *scope;
    struct builder *builder;
    struct label label;  // of the result; it has a name
    const struct expr *expr;
    const struct structure *row;
    const struct expr *given[STRUCTURE_PARAMS_MAX];  // per parameter; NULL: left out
    node_id values[CALL_ARGS_MAX];  // of the parameters that are values; -1: left out
    int n_values;
};

bool structure_is(const char *name);

struct operand structure_build(struct value_scope *s, const struct label *l, const struct expr *e);

// ---- for the files that build them

typedef struct operand (*structure_fn)(struct structure_call *c);
#define STRUCTURE(name, required, values, build, params) \
    struct operand build(struct structure_call *c);
#include "lang/structure.def"
#undef STRUCTURE

noreturn void structure_fail(const struct structure_call *c, const struct expr *at, const char *fmt,
                             ...) __attribute__((format(printf, 3, 4)));

// Where a parameter was given, or NULL.
const struct expr *structure_given(const struct structure_call *c, const char *param);

// Parameters by name, with what they are when left out.
int64_t structure_whole(const struct structure_call *c, const char *param, int64_t otherwise);
double structure_number(const struct structure_call *c, const char *param, double otherwise);
bool structure_bool(const struct structure_call *c, const char *param, bool otherwise);
// A whole number for all, or a list of n.
void structure_list(const struct structure_call *c, const char *param, int n, int64_t otherwise,
                    int64_t *out);
// An axis of a value of that shape, by number or dim.
int structure_axis(const struct structure_call *c, const char *param, const struct shape *s,
                   int otherwise);
// Axes as a set; `otherwise` when left out.
unsigned structure_axes(const struct structure_call *c, const char *param, const struct shape *s,
                        unsigned otherwise);
// Sizes as a shape, with the dims' names; at most one size may be -1, and stays so.
struct shape structure_shape(const struct structure_call *c, const char *param);

// The shape of value `i`.
struct shape structure_shape_of(const struct structure_call *c, int i);
// Its type for messages: "f32[M, 128]".
const char *structure_type(const struct structure_call *c, int i);
// Complain unless value `i` is a number (not a truth value), or whole numbers to index with.
void structure_need_number(const struct structure_call *c, int i);
void structure_need_index(const struct structure_call *c, int i);

// What values `i` and `j` are computed in together.
enum dtype structure_promote(const struct structure_call *c, int i, int j);

// An inner part of the result, or with a NULL suffix the result; "" leaves the name to the builder.
struct label structure_label(const struct structure_call *c, const char *suffix);
struct operand structure_add(const struct structure_call *c, const char *suffix,
                             const struct node *n);
// The same elements in another shape.
struct operand structure_reshape(const struct structure_call *c, const char *suffix, node_id id,
                                 const struct shape *shape);
