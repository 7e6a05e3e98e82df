// The order of the calls that verify a candidate. What each step is for:
//   the same buffers with other data    results kept by address
//   other buffers with the same data    results that hang on where data lie
//   a few elements changed              results kept by a sample of the data
//   the same again, in another order    chance, state carried from call to call
#include "eval/judge.h"

struct check {
    enum oracle_set set;
    int slot;
};

static const struct check screening[] = {
    {SET_DECLARED, 0}, {SET_PATCHED, 0}, {SET_COUNT, 1}, {SET_DECLARED, 1}};
static const struct check full[] = {
    {SET_DECLARED, 0}, {SET_PATCHED, 0},  {SET_INTEGERS, 1}, {SET_WIDE, 0}, {SET_SHIFTED, 1},
    {SET_DECLARED, 1}, {SET_INTEGERS, 0}, {SET_PATCHED, 1},  {SET_WIDE, 1},
};

static int count_sets(const struct subject *s) {
    int n = 0;
    for (int i = 0; i < SET_COUNT; i++)
        n += s->sets[i].is_known;
    return n;
}

static const struct check *checks_of(enum eval_depth depth, int *n) {
    bool is_screening = depth == EVAL_SCREEN;
    *n = is_screening ? sizeof screening / sizeof screening[0] : sizeof full / sizeof full[0];
    return is_screening ? screening : full;
}

unsigned verify_sets(const struct judge *j, enum eval_depth depth) {
    int n;
    const struct check *checks = checks_of(depth, &n);
    unsigned sets = 0;
    for (int i = 0; i < n; i++)
        sets |= 1U << (checks[i].set == SET_COUNT ? j->screening_set : checks[i].set);
    return sets;
}

static bool check_all(struct judge *j, struct arena *a, struct subject *s, enum eval_depth depth,
                      struct verdict *v) {
    int n;
    const struct check *checks = checks_of(depth, &n);
    for (int i = 0; i < n; i++) {
        struct check c = checks[i];
        if (c.set == SET_COUNT)
            c.set = j->screening_set;
        j->device->load(j, c.slot, c.set);
        subject_poison(j, s, c.slot);
        struct call_result call;
        bool ok = subject_check(j, a, s, c.slot, &call, v);
        v->error = s->worst;
        v->n_calls = s->n_calls;
        v->n_sets = count_sets(s);
        if (!ok)
            return false;
    }
    return true;
}

bool verify(struct judge *j, struct arena *a, struct subject *s, enum eval_depth depth,
            struct verdict *v) {
    struct stretch learning = judge_begin(j);
    j->device->learn(j, verify_sets(j, depth));
    judge_end(j, PHASE_TRUTH, learning);
    struct stretch checking = judge_begin(j);
    bool ok = check_all(j, a, s, depth, v);
    judge_end(j, PHASE_VERIFY, checking);
    return ok;
}
