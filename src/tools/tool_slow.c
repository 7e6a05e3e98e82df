// Slow arithmetic in the hot loop: divisions, functions, 64-bit products for addresses.
#include <math.h>

#include "base/arena.h"
#include "tools/tool.h"
#include "tools/tool_private.h"

// A division is a sequence: a reciprocal, corrections, a check. Functions go through a pipe of a
// quarter of a warp's width per scheduler, and so cost eight cycles where an addition costs one.
enum { DIVISION_INSTRUCTIONS = 10, FUNCTION_CYCLES = 8 };
static const double MUCH = 0.25, WIDE = 0.15;
// What tells an exact function: conversions to reduce its argument, ways for the rare ones.
enum { LIBRARY_CONVERSIONS = 4, LIBRARY_BRANCHES = 6 };
static const double LIBRARY_SHARE = 0.6;

static const struct action no_division[] = {
    WORD("divide", "reciprocal", "multiply by a reciprocal instead of dividing"),
    WORDS("multiply by a reciprocal that is computed once before the loop; integers by shifts and "
          "masks where the divisor is a power of two, or carry quotient and remainder along"),
    WORDS("where the precision allows it, __fdividef or the approximate reciprocal"),
};
static const struct action fewer_functions[] = {
    WORDS("fewer functions: exp2 with a factor in place of exp, one reciprocal for several "
          "divisions, part of them as polynomials"),
};
static const struct action fast_functions[] = {
    WORDS("the fast ones where the precision allows it: __sinf, __expf, __powf, or -use_fast_math "
          "for "
          "the file"),
    WORDS(
        "arguments in a small range (sinpif, a reduction of your own): the exact ones have a path "
        "for large ones"),
};
static const struct action narrow_index[] = {
    WORDS("32-bit indices, and addresses that are added to rather than computed anew in each turn"),
};

enum slow_kind { SLOW_NONE, SLOW_DIVIDE, SLOW_CALL, SLOW_LIBRARY, SLOW_WIDE };

static const struct {
    const char *cause;
    const struct action *actions;
    int n_actions;
} kinds[] = {
    [SLOW_DIVIDE] = {"the hot loop divides", no_division, ARRAY_LEN(no_division)},
    [SLOW_CALL] = {"functions fill the hot loop", fewer_functions, ARRAY_LEN(fewer_functions)},
    [SLOW_LIBRARY] = {"exact functions of the library fill the hot loop", fast_functions,
                      ARRAY_LEN(fast_functions)},
    [SLOW_WIDE] = {"the hot loop computes 64-bit indices", narrow_index, ARRAY_LEN(narrow_index)},
};

// Exact functions of the library are long sequences with conversions and ways for rare arguments.
static bool is_library(const struct tool_subject *s) {
    return subject_get(s, METRIC_HOT_FUNCTIONS) > 0 &&
           subject_get(s, METRIC_HOT_CONVERSIONS) >= LIBRARY_CONVERSIONS &&
           subject_get(s, METRIC_HOT_BRANCHES) >= LIBRARY_BRANCHES &&
           s->measured.kind == CLASS_COMPUTE;
}

// What is slow, and its share of the hot loop's work.
static enum slow_kind kind_of(const struct tool_subject *s, double *share) {
    double all = subject_get(s, METRIC_HOT_INSTRUCTIONS);
    double divisions = subject_get(s, METRIC_HOT_DIVISIONS);
    double functions = subject_get(s, METRIC_HOT_FUNCTIONS);
    double wide = subject_get(s, METRIC_HOT_WIDE_INTEGER) - subject_get(s, METRIC_HOT_LOADS) -
                  subject_get(s, METRIC_HOT_STORES);
    double divide = fmin(0.9, divisions * DIVISION_INSTRUCTIONS / all);
    double call = fmin(0.9, functions * FUNCTION_CYCLES / (all + functions * FUNCTION_CYCLES));
    double index = fmax(0, wide) / all;
    enum slow_kind kind = divisions > 0 && divide > MUCH ? SLOW_DIVIDE
                          : call > 0.5                   ? SLOW_CALL
                          : index > WIDE                 ? SLOW_WIDE
                          : is_library(s)                ? SLOW_LIBRARY
                                                         : SLOW_NONE;
    *share = kind == SLOW_DIVIDE    ? divide
             : kind == SLOW_CALL    ? call
             : kind == SLOW_LIBRARY ? LIBRARY_SHARE
                                    : fmin(0.9, 2.5 * index);
    return kind;
}

// f64 on f32 data is tool_precision's.
static bool is_precision(const struct tool_subject *s) {
    double wide = subject_get(s, METRIC_HOT_F64);
    return wide > subject_get(s, METRIC_HOT_INSTRUCTIONS) / 10 &&
           subject_get(s, METRIC_HOT_CONVERSIONS) > wide / 10;
}

static bool examine(struct arena *a, const struct tool_subject *s, struct finding *f) {
    double share, all = subject_get(s, METRIC_HOT_INSTRUCTIONS);
    enum slow_kind kind = kind_of(s, &share);
    bool is_compute = s->measured.kind == CLASS_COMPUTE;
    // What is hidden behind memory costs nothing.
    if (kind == SLOW_NONE || s->measured.kind == CLASS_MEMORY || is_precision(s))
        return false;
    f->severity = share > 0.5 && is_compute ? SEVERITY_HIGH : SEVERITY_MEDIUM;
    f->cause = kinds[kind].cause;
    f->evidence = arena_printf(
        a, "of %.0f instructions there: %.0f divisions, %.0f functions, %.0f 64-bit products", all,
        subject_get(s, METRIC_HOT_DIVISIONS), subject_get(s, METRIC_HOT_FUNCTIONS),
        subject_get(s, METRIC_HOT_WIDE_INTEGER));
    f->expected_gain = is_compute ? 1 / (1 - share * s->measured.compute_busy) : NAN;
    tool_add_number(f, METRIC_HOT_DIVISIONS, subject_get(s, METRIC_HOT_DIVISIONS), NAN);
    tool_add_number(f, METRIC_HOT_FUNCTIONS, subject_get(s, METRIC_HOT_FUNCTIONS), NAN);
    tool_add_number(f, METRIC_HOT_INSTRUCTIONS, all, NAN);
    tool_add_actions(f, s, kinds[kind].actions, kinds[kind].n_actions);
    return true;
}

const struct tool tool_slow = {
    .name = "slow",
    .summary = "divisions, functions and 64-bit indices in the hot loop",
    .devices = ON_GPU,
    .of_launches = true,
    .n_needs = 6,
    .needs = {METRIC_HOT_INSTRUCTIONS, METRIC_HOT_DIVISIONS, METRIC_HOT_FUNCTIONS,
              METRIC_HOT_WIDE_INTEGER, METRIC_HOT_LOADS, METRIC_HOT_STORES},
    .examine = examine,
};
