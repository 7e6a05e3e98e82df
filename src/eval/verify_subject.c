// Which sets verify a candidate, and the order of the calls. What each step is for:
//   the same buffers with other data    results kept by address
//   other buffers with the same data    results that depend on where data lie
//   a few elements changed, twice       results kept by a sample of the data
//   the same again, in another order    chance, state carried from call to call
//
// Screening takes the declared data, patched ones and one hard set (of problems with long sums that
// of many digits); a ranking all hard sets, two
// adversarial ones and those that follow by laws of the graph; confirmation and `--verify` all
// that there are. Which ones is drawn for each job; so is, beyond screening, the order of the calls
// after the first three.
// Equal and alternating data are only for problems without long sums: there rounding errors are
// no longer like chance, and an honest kernel may err far more than ours, or far less.
#include <math.h>

#include "base/clock.h"
#include "eval/judge.h"
#include "ir/relations.h"
#include "oracle/derived.h"

enum { CALLS_MAX = 2 * SET_COUNT, RANKING_EXTRA = 2, LONG_SUM = 64, DROWNING_SUM = 1024 };

// Sets are kept in memory: of problems larger than this a confirmation takes as few as a ranking,
// and rankings take the same ones until everything is drawn anew.
static const int64_t all_sets_bytes = (int64_t)24 << 20;

struct check {
    enum oracle_set set;
    int slot;
};

struct order {
    struct check calls[CALLS_MAX];
    int n;
};

static int count_sets(const struct subject *s) {
    int n = 0;
    for (int i = 0; i < SET_COUNT; i++)
        n += s->sets[i].is_known;
    return n;
}

static unsigned from_to(int from, int to) {
    return (1U << to) - (1U << from);
}

static unsigned adversarial(const struct problem *p) {
    unsigned sets = from_to(SET_EQUAL, SET_DRAWN);
    if (relations_longest_sum(p) > LONG_SUM)
        sets &= ~(1U << SET_EQUAL | 1U << SET_ALTERNATING);
    return sets;
}

static bool is_small(const struct judge *j) {
    int64_t bytes = 0;
    for (int i = 0; i < j->context.n_buffers; i++)
        bytes += j->context.buffers[i].size_bytes;
    return bytes <= all_sets_bytes;
}

void verify_draw(struct judge *j) {
    // In the rounding of longer sums lower precision drowns but on this one.
    j->screening_set =
        relations_longest_sum(j->problem) > DROWNING_SUM
            ? SET_DIGITS
            : (enum oracle_set)(SET_INTEGERS + rng_below(&j->shown, SET_EQUAL - SET_INTEGERS));
    if (j->ranking_sets && !is_small(j))
        return;
    j->ranking_sets = 0;
    while (__builtin_popcount(j->ranking_sets) < RANKING_EXTRA)
        j->ranking_sets |= 1U << (SET_EQUAL + rng_below(&j->shown, SET_DRAWN - SET_EQUAL)) &
                           adversarial(j->problem);
}

unsigned verify_sets(const struct judge *j, enum eval_depth depth) {
    unsigned sets = from_to(SET_DECLARED, SET_INTEGERS);
    if (depth == EVAL_SCREEN)
        return sets | 1U << j->screening_set;
    bool takes_all = depth != EVAL_RANK && depth != EVAL_ENERGY && is_small(j);
    sets |= from_to(SET_INTEGERS, SET_EQUAL);
    sets |= takes_all ? adversarial(j->problem) : j->ranking_sets;
    for (int s = SET_DRAWN; s < (int)j->device->end_derived; s++)
        sets |= (unsigned)derived_exists(&j->oracle, (enum oracle_set)s) << s;
    return sets;
}

static void add(struct order *o, enum oracle_set set, int slot) {
    o->calls[o->n++] = (struct check){set, slot};
}

static void shuffle(struct judge *j, struct check *calls, int n) {
    for (int i = n - 1; i > 0; i--) {
        int other = (int)rng_below(&j->shown, (uint64_t)i + 1);
        struct check c = calls[i];
        calls[i] = calls[other];
        calls[other] = c;
    }
}

static void choose_order(struct judge *j, enum eval_depth depth, struct order *o) {
    static const enum oracle_set again[] = {SET_DECLARED, SET_INTEGERS, SET_PATCHED, SET_WIDE};
    unsigned sets = verify_sets(j, depth);
    int slot_of[SET_COUNT] = {0};
    *o = (struct order){0};
    sets &= ~oracle_faulty(&j->oracle);
    add(o, SET_DECLARED, 0);
    for (int s = SET_PATCHED; s <= SET_PATCHED_AGAIN; s++)
        if (sets >> s & 1)
            add(o, (enum oracle_set)s, 0);
    int n_first = o->n;
    for (int s = SET_INTEGERS; s < SET_COUNT; s++)
        if (sets >> s & 1) {
            slot_of[s] = (int)rng_below(&j->shown, 2);
            add(o, (enum oracle_set)s, slot_of[s]);
        }
    if (depth == EVAL_SCREEN) {
        add(o, SET_DECLARED, 1);
        return;
    }
    shuffle(j, o->calls + n_first, o->n - n_first);
    int n_once = o->n;
    for (size_t i = 0; i < sizeof again / sizeof again[0]; i++)
        if (sets >> again[i] & 1)
            add(o, again[i], 1 - slot_of[again[i]]);
    shuffle(j, o->calls + n_once, o->n - n_once);
}

static bool check_all(struct judge *j, struct arena *a, struct subject *s, enum eval_depth depth,
                      struct verdict *v) {
    struct order order;
    choose_order(j, depth, &order);
    for (int i = 0; i < order.n; i++) {
        struct check c = order.calls[i];
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
    struct stretch computing = judge_begin(j);
    j->device->compute_expected(j, verify_sets(j, depth));
    judge_end(j, PHASE_TRUTH, computing);
    j->truth_s = fmax(j->truth_s, (double)(clock_now_ns() - computing.start_ns) * 1e-9);
    if (!judge_is_fit(j)) {
        v->kind = VERDICT_INFRA;
        v->evidence = arena_strdup(a, j->unfit.text);
        return false;
    }
    struct stretch checking = judge_begin(j);
    bool ok = check_all(j, a, s, depth, v);
    judge_end(j, PHASE_VERIFY, checking);
    return ok;
}
