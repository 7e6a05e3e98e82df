// A box grows from one element by chance, along the last axis first, while what it takes stays
// within the budget: rows of a softmax, a few elements of a product, everything of what is small.
// Where one box cannot have everything there are several: who leaves out one row of thirty would
// be met by one box in thirty.
#include "oracle/spot_check.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/rng.h"
#include "base/str.h"
#include "oracle/oracle_choice.h"
#include "oracle/oracle_private.h"

enum { OUTPUTS_A_CALL = 4, BOXES_MOST = 8, DEAR_LOOKS = 4 };
enum { SPOTS_LEAST = 1 << 13, SPOTS_MOST = 1 << 20 };

static const double seconds_of_work = 20e-9;  // an element of the interpreter's takes about as long

// Times the work of a single element: a box of so much costs hardly more.
static const double hardly_more = 1.25;

// Times the limit of a single element, as there are thousands of looks.
static const double slack = 8;
// Times what is allowed in the mean, since a mean over few elements varies.
static const double rough = 1.5;
// Times what the candidate's own error is where it is verified, and at least so many spreads. By
// chance at most one mean square in nine is nine times what it is on average.
static const double rougher = 3, own_least = 0.25;
// The same of outputs with too few elements for a mean: one may be right by luck. Results of fewer
// bits than f32 are no better: nearly all are right to the last bit and one in a million is off by
// a whole unit of its own, thousands of spreads, so that the mean is that of a few elements,
// however many there are (0.004 to 2.4 spreads in calls of one honest kernel).
static const double rougher_few = 16, own_least_few = 1;
enum { MANY_ELEMENTS = 64 };

static const struct node *output_node(const struct oracle *o, int output) {
    return &o->problem->graph.nodes[o->problem->outputs[output].node];
}

// Work (cut_work) that a look may take.
static double budget_of(double call_s) {
    return fmin(fmax(call_s / seconds_of_work, SPOTS_LEAST), SPOTS_MOST);
}

static struct box box_by_chance(const struct shape *s, struct rng *rng) {
    struct box b = {0};
    for (int i = 0; i < s->rank; i++) {
        b.first[i] = (int64_t)rng_below(rng, (uint64_t)s->size[i]);
        b.size[i] = 1;
    }
    return b;
}

// As long along an axis as the budget allows, around where it is. False: not all of the axis.
static bool grow(const struct problem *p, int output, const struct shape *s, int axis,
                 double budget, struct box *b) {
    struct box longer = *b;
    int64_t size = s->size[axis];
    longer.first[axis] = 0;
    longer.size[axis] = size;
    double work = cut_work(p, output, &longer);
    if (work <= budget) {
        *b = longer;
        return true;
    }
    for (longer.size[axis] = size / 2; longer.size[axis] > 1; longer.size[axis] /= 2) {
        int64_t last = size - longer.size[axis], half = b->first[axis] - longer.size[axis] / 2;
        longer.first[axis] = half < 0 ? 0 : half > last ? last : half;
        if (cut_work(p, output, &longer) > budget)
            continue;
        *b = longer;
        break;
    }
    return false;
}

// Around an element by chance. What comes with it at hardly any more work is compared, too: the
// steps of a loop, a group that one element of it takes.
static void choose_box(const struct problem *p, int output, double budget, struct rng *rng,
                       struct box *b) {
    const struct shape *s = &p->graph.nodes[p->outputs[output].node].shape;
    *b = box_by_chance(s, rng);
    double least = hardly_more * cut_work(p, output, b);
    bool is_dear = least > budget;
    for (int axis = s->rank - 1; axis >= 0; axis--)
        if (!grow(p, output, s, axis, fmax(budget, least), b) && !is_dear)
            break;
}

// Is a call looked at where one element takes more than the budget?
static bool is_chosen(double budget, double of_one, bool must_look, struct rng *rng) {
    return must_look || (double)rng_below(rng, 1 << 20) < DEAR_LOOKS * budget / of_one * (1 << 20);
}

enum spot_cost spot_cost(const struct oracle *o, const struct spot_call *call, struct rng *rng) {
    const struct problem *p = o->problem;
    double budget = budget_of(call->call_s), most = 0;
    for (int i = 0; i < p->n_outputs; i++) {
        struct box b = box_by_chance(&p->graph.nodes[p->outputs[i].node].shape, rng);
        most = fmax(most, cut_work(p, i, &b));
    }
    if (most <= budget)
        return SPOT_CHEAP;
    return is_chosen(budget, most, call->must_look, rng) ? SPOT_DEAR : SPOT_SKIPPED;
}

// What an output's looks share.
struct spot_plan {
    const struct oracle *oracle;
    const struct spot_source *source;
    double budget, own_rms;
    int n_boxes;
    bool is_dear;  // a single element takes longer than the budget
};

// How many boxes of an output are checked in this call; none: it takes too long.
static int count_boxes(struct spot_plan *l, int output, bool must_look, struct rng *rng) {
    const struct problem *p = l->oracle->problem;
    const struct shape *s = &output_node(l->oracle, output)->shape;
    double budget = l->budget;
    struct box whole = box_whole(s), b = box_by_chance(s, rng);
    if (cut_work(p, output, &whole) <= budget)
        return 1;
    double of_one = cut_work(p, output, &b), of_line = of_one;
    l->is_dear = of_one > budget;
    if (l->is_dear)
        return is_chosen(budget, of_one, must_look, rng);
    if (s->rank > 0) {
        b.first[s->rank - 1] = 0;
        b.size[s->rank - 1] = s->size[s->rank - 1];
        of_line = cut_work(p, output, &b);
    }
    // A line of a softmax takes little more than one of its elements.
    double n = budget / (of_line < 2 * of_one ? of_line : of_one);
    return (int)fmin(fmax(n, 1), BOXES_MOST);
}

static void *fetch_part(struct arena *a, const struct spot_source *s, bool is_output, int number,
                        const struct node *n, const struct box *b) {
    int64_t count = box_count(b, n->shape.rank);
    void *values = arena_alloc(a, (size_t)dtype_size(n->dtype, count) + 1);
    s->fetch(s->ctx, is_output, number, b, values);
    return values;
}

// Of an output that is places the whole line must be there that they were chosen from.
static struct cut *cut_out(struct arena *a, const struct problem *p, int output, struct box *b) {
    const struct shape *s = &p->graph.nodes[p->outputs[output].node].shape;
    struct cut *c = cut_problem(a, p, output, b);
    for (int axis = s->rank - 1;
         axis >= 0 && oracle_choice_is(p, output) && !oracle_choice_is(&c->problem, 0); axis--) {
        b->first[axis] = 0;
        b->size[axis] = s->size[axis];
        c = cut_problem(a, p, output, b);
    }
    return c;
}

// Do enough of its elements err independently to say something about their mean?
static bool has_mean(const struct oracle *o, int output) {
    int64_t count = shape_count(&output_node(o, output)->shape);
    return oracle_independent(o->problem, output, count) >= MANY_ELEMENTS;
}

// Where few elements err independently, each may err as much as their mean may.
void spot_limits(struct error_stats *s, const struct oracle *o, int output, bool is_dear) {
    const struct error_stats *declared = &o->sets[SET_DECLARED].outputs[output].stats;
    double limit = is_dear && !has_mean(o, output) ? fmax(s->limit_rms, declared->limit_rms)
                                                   : fmax(s->limit_max, declared->limit_max);
    s->limit_max = s->limit_rms = is_dear ? limit : slack * limit;
}

bool spot_is_rough(const struct oracle *o, const struct spot_mean *m) {
    const struct oracle_output *declared = &o->sets[SET_DECLARED].outputs[m->output];
    double limit = rough * fmax(m->limit_rms, declared->stats.limit_rms);
    bool is_mean =
        has_mean(o, m->output) && dtype_infos[output_node(o, m->output)->dtype].bits >= 32;
    double own = is_mean ? rougher * fmax(m->own_rms, own_least)
                         : rougher_few * fmax(m->own_rms, own_least_few);
    return m->rms > fmin(limit, own);
}

static void check_output(struct arena *a, const struct spot_plan *l, int output, struct box *b,
                         struct spot_result *r) {
    const struct oracle *o = l->oracle;
    const struct problem *p = o->problem;
    struct cut *c = cut_out(a, p, output, b);
    struct interpret_data data = {0};
    struct interpret_result result;
    for (int i = 0; i < c->problem.n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[c->input[i]].node];
        data.inputs[i] = fetch_part(a, l->source, false, c->input[i], n, &c->boxes[i]);
    }
    interpret(&c->problem, &data, &result);
    // Where an index is outside its axis, nothing can be expected of anybody.
    if (!result.fault[0]) {
        const struct node *n = &p->graph.nodes[p->outputs[output].node];
        const void *values = fetch_part(a, l->source, true, output, n, &c->box);
        const uint32_t no_poison = 0x7f800001;  // not a number, so wrong in any case
        struct oracle_output e;
        struct comparison comparison;
        oracle_store_expected(&e,
                              &(struct oracle_source_data){.problem = &c->problem,
                                                           .data = &data,
                                                           .result = &result,
                                                           .set = SET_DECLARED,
                                                           .row = -1,
                                                           .n_threads = 1},
                              0);
        double limit_rms = e.stats.limit_rms;
        spot_limits(&e.stats, o, output, l->is_dear);
        r->n_checked += e.count;
        bool is_ok = oracle_compare(&e, values, no_poison, &comparison);
        r->squares += comparison.stats.rms * comparison.stats.rms * (double)e.count;
        r->limit_rms = fmax(r->limit_rms, limit_rms);
        if (!is_ok) {
            struct str words = {0};
            oracle_list(&words, o,
                        &(struct oracle_listing){.expected = &e,
                                                 .values = values,
                                                 .output = output,
                                                 .above = e.stats.limit_max,
                                                 .box = &c->box});
            r->output = output;
            r->comparison = comparison;
            r->elements = str_take(a, &words);
        }
        oracle_output_reset(&e);
    }
    interpret_reset(&result);
}

static void check_boxes(struct arena *a, const struct spot_plan *l, int output, struct rng *rng,
                        struct spot_result *r) {
    int64_t n_before = r->n_checked;
    r->squares = r->limit_rms = 0;
    for (int i = 0; i < l->n_boxes && r->output < 0; i++) {
        struct arena own = {0};
        struct box b;
        choose_box(l->oracle->problem, output, l->budget / l->n_boxes, rng, &b);
        check_output(&own, l, output, &b, r);
        r->elements = arena_strdup(a, r->elements);
        arena_reset(&own);
    }
    double n = (double)(r->n_checked - n_before);
    struct spot_mean m = {output, sqrt(r->squares / n), r->limit_rms, l->own_rms};
    r->is_rough |= n > 0 && spot_is_rough(l->oracle, &m);
}

void spot_check(struct arena *a, const struct oracle *o, const struct spot_source *s,
                const struct spot_call *call, struct rng *rng, struct spot_result *r) {
    const struct problem *p = o->problem;
    int n = p->n_outputs < OUTPUTS_A_CALL ? p->n_outputs : OUTPUTS_A_CALL;
    int first = n < p->n_outputs ? (int)rng_below(rng, (uint64_t)p->n_outputs) : 0;
    *r = (struct spot_result){.output = -1, .elements = ""};
    for (int i = 0; i < n && r->output < 0; i++) {
        int output = (first + i) % p->n_outputs;
        struct spot_plan l = {o, s, budget_of(call->call_s / n), call->own_rms[output], 0, false};
        l.n_boxes = count_boxes(&l, output, call->must_look, rng);
        check_boxes(a, &l, output, rng, r);
    }
}
