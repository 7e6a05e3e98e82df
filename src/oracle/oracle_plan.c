// Decides for each node: no array (a view, an input), one for all rows, or one for a tile; then
// lays the arrays out and sizes the tile to the memory that may be used.
#include "oracle/oracle_plan.h"

#include <string.h>

#include "base/arena.h"
#include "ir/detail.h"
#include "ir/interpret.h"
#include "ir/recurrence.h"
#include "oracle/oracle_products.h"

enum { ALIGNMENT = 256 };

static const struct node *node_at(const struct oracle_plan *plan, node_id id) {
    return &plan->problem->graph.nodes[id];
}

// An input that is not f32 becomes an array that kernels can read.
static bool is_computed(const struct oracle_plan *plan, const struct node *n) {
    if (n->op == OP_INPUT)
        return n->dtype != DTYPE_F32 && !plan->is_body;
    return n->op != OP_CONST && n->op != OP_VIEW && n->op != OP_RESHAPE;
}

static int64_t element_bytes(const struct node *n) {
    int64_t honest = dtype_is_wide(n->dtype) ? sizeof(double) : sizeof(float);
    return n->op == OP_INPUT && n->dtype != DTYPE_F32 ? honest
                                                      : 2 * (int64_t)sizeof(double) + honest;
}

struct shape oracle_plan_shape(const struct oracle_plan *plan, node_id id, int64_t rows) {
    struct shape s = node_at(plan, id)->shape;
    if (plan->carries[id])
        s.size[0] = rows;
    return s;
}

static void row_major(const struct shape *s, uint64_t strides[RANK_MAX]) {
    uint64_t step = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        strides[i] = step;
        step *= (uint64_t)s->size[i];
    }
}

node_id oracle_plan_base(const struct oracle_plan *plan, node_id id, int64_t rows,
                         uint64_t strides[RANK_MAX]) {
    int map[RANK_MAX];
    int rank = node_at(plan, id)->shape.rank;
    for (int i = 0; i < rank; i++)
        map[i] = i;
    while (node_at(plan, id)->op == OP_VIEW) {
        const struct node *view = node_at(plan, id);
        for (int i = 0; i < rank; i++)
            map[i] = map[i] < 0 ? -1 : view->view[map[i]];
        id = view->arg[0];
    }
    struct shape s = oracle_plan_shape(plan, id, rows);
    uint64_t inner[RANK_MAX];
    row_major(&s, inner);
    while (node_at(plan, id)->op == OP_RESHAPE)
        id = node_at(plan, id)->arg[0];
    bool is_constant = node_at(plan, id)->op == OP_CONST;
    for (int i = 0; i < rank; i++)
        strides[i] = map[i] < 0 || is_constant ? 0 : inner[map[i]];
    return id;
}

struct oracle_axes oracle_plan_axes(const struct shape *shape, const uint64_t strides[RANK_MAX],
                                    unsigned mask) {
    struct oracle_axes a = {0};
    for (int i = 0; i < shape->rank; i++) {
        uint64_t size = (uint64_t)shape->size[i];
        if (!(mask >> i & 1) || size == 1)
            continue;
        // An axis that goes on where the one before it ends is part of it.
        if (a.rank && a.stride[a.rank - 1] == strides[i] * size) {
            a.size[a.rank - 1] *= size;
            a.stride[a.rank - 1] = strides[i];
        } else {
            a.size[a.rank] = size;
            a.stride[a.rank++] = strides[i];
        }
    }
    if (a.rank == 0) {
        a.size[0] = 1;
        a.rank = 1;
    }
    a.is_flat = a.rank == 1 && (a.stride[0] == 1 || a.size[0] == 1);
    return a;
}

void oracle_plan_runs(const struct oracle_plan *plan, node_id id, int64_t rows, int64_t *results,
                      int64_t *length) {
    const struct node *n = node_at(plan, id);
    struct shape out = oracle_plan_shape(plan, id, rows);
    struct shape in = oracle_plan_shape(plan, n->arg[0], rows);
    *results = shape_count(&out);
    *length = shape_count(&in) / *results;
}

// ---- which nodes have arrays, and until when

// Several phases do not go by the order of nodes: what is computed once stays.
static bool is_for_all(const struct oracle_plan *plan, node_id id) {
    return plan->n_phases > 1 && !plan->carries[id];
}

static void use(struct oracle_plan *plan, node_id id, node_id user) {
    while (node_at(plan, id)->op == OP_VIEW)
        id = node_at(plan, id)->arg[0];
    bool is_reshaped = node_at(plan, id)->op == OP_RESHAPE;
    while (node_at(plan, id)->op == OP_RESHAPE)
        id = node_at(plan, id)->arg[0];
    if (!is_computed(plan, node_at(plan, id)) && !(is_reshaped && node_at(plan, id)->op == OP_VIEW))
        return;
    // What is computed once is there for all tiles.
    bool is_kept = is_for_all(plan, id) || (plan->carries[user] && !plan->carries[id]);
    int until = is_kept ? plan->problem->graph.n_nodes : user;
    plan->is_stored[id] = true;
    if (plan->last_use[id] < until)
        plan->last_use[id] = until;
}

// An output has an array even where it is a view or an input; those who read a view look through
// it all the same.
static void choose_stored(struct oracle_plan *plan) {
    const struct problem *p = plan->problem;
    for (int i = 0; i < p->n_outputs; i++) {
        node_id id = p->outputs[i].node;
        plan->is_stored[id] = true;
        plan->last_use[id] = is_for_all(plan, id) ? p->graph.n_nodes : id;
    }
    for (node_id id = p->graph.n_nodes - 1; id >= 0; id--) {
        const struct node *n = node_at(plan, id);
        // An output that is reshaped: what it looks at must lie in one piece, as for its readers.
        for (int k = 0; plan->is_stored[id] && k < n->n_args; k++)
            use(plan, n->op == OP_RESHAPE ? id : n->arg[k], id);
    }
}

// ---- where they lie

enum { PIECES = 8 };  // of one node, at most

struct piece {
    int64_t at, bytes;
    int until;
};

// Pieces of memory that are in use, by where they lie.
struct placed_pieces {
    struct piece *pieces;
    int n;
    int64_t bytes;  // the most that was ever used
};

static int64_t put(struct placed_pieces *s, int64_t bytes, int now, int until) {
    int64_t at = 0;
    int i = 0, kept = 0;
    for (int k = 0; k < s->n; k++)
        if (s->pieces[k].until >= now)
            s->pieces[kept++] = s->pieces[k];
    s->n = kept;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (; i < s->n && s->pieces[i].at < at + bytes; i++)
        at = s->pieces[i].at + s->pieces[i].bytes;
    memmove(s->pieces + i + 1, s->pieces + i, sizeof *s->pieces * (size_t)(s->n - i));
    s->pieces[i] = (struct piece){at, bytes, until};
    s->n++;
    if (s->bytes < at + bytes)
        s->bytes = at + bytes;
    return at;
}

// The largest of a part's pieces of memory so far, in bytes.
static void grow(int64_t *most, int64_t bytes) {
    *most = bytes > *most ? bytes : *most;
}

// What products take besides their results: both sides packed, and their bits. A side without rows
// is packed once for all tiles of one with rows: its places are taken before any others.
static void place_factors(struct oracle_plan *plan, struct placed_pieces *s, node_id id,
                          int64_t rows, int64_t base, bool is_kept) {
    struct oracle_place *place = &plan->places[id];
    int until = is_kept ? plan->problem->graph.n_nodes : id, n_parts = oracle_parts(plan, id);
    bool is_ragged = op_infos[node_at(plan, id)->op].class == OP_CLASS_RAGGED;
    int64_t packed[2] = {0}, bits[2] = {0}, partials = 0, joined = 0;
    bool takes[2] = {false, false};
    for (int i = 0; i < n_parts && !(is_ragged && i); i++) {
        struct oracle_part p = oracle_part(plan, id, rows, i);
        int64_t runs = (p.k + ORACLE_RUN - 1) / ORACLE_RUN, results = p.batch * p.m * p.n;
        for (int side = 0; side < 2; side++) {
            const struct oracle_side *f = &p.sides[side];
            int64_t padded = oracle_padded(f->rows);
            takes[side] = f->is_kept == is_kept;
            grow(&bits[side], runs * p.batch * padded * (int64_t)sizeof(struct oracle_bits));
            grow(&packed[side], f->batches * f->k * padded * oracle_packed_bytes(&p));
        }
        grow(&partials, results * runs * ORACLE_PARTIAL_BYTES);
        grow(&joined, results * ((runs + ORACLE_FOLD - 1) / ORACLE_FOLD) * ORACLE_PARTIAL_BYTES);
    }
    for (int side = 0; side < 2; side++)
        if (takes[side]) {
            place->bits[side] = base + put(s, bits[side], id, until);
            place->packed[side] = base + put(s, packed[side], id, until);
        }
    if (is_kept || node_at(plan, id)->dtype != DTYPE_F32)
        return;
    place->partials = base + put(s, partials, id, id);
    place->joined = base + put(s, joined, id, id);
}

int64_t oracle_plan_given_bytes(int64_t count) {
    int64_t bytes = count * (2 * (int64_t)sizeof(double) + (int64_t)sizeof(float));
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// Room for the body; and all results of the loop are there from its first one on.
static void place_loop(struct arena *a, struct oracle_plan *plan, struct placed_pieces *s,
                       node_id id, int64_t base) {
    const struct graph *g = &plan->problem->graph;
    const struct recurrence *r = recurrence_of(node_at(plan, id));
    struct oracle_plan body;
    for (node_id i = 0; i < id; i++)
        if (recurrence_of(&g->nodes[i]) == r && plan->is_stored[i])
            return;
    oracle_plan_make_body(a, r->body, &body);
    int64_t bytes = body.bytes;
    for (int i = 0; i < r->body->n_inputs; i++)
        bytes += oracle_plan_given_bytes(
            shape_count(&r->body->graph.nodes[r->body->inputs[i].node].shape));
    plan->places[id].body = base + put(s, bytes, id, id);
    for (node_id i = id; i < g->n_nodes; i++)
        if (recurrence_of(&g->nodes[i]) == r && plan->is_stored[i])
            plan->places[i].at =
                base + put(s, shape_count(&g->nodes[i].shape) * element_bytes(&g->nodes[i]), id,
                           plan->last_use[i]);
}

unsigned oracle_plan_index_axes(const struct oracle_plan *plan, node_id id, int64_t rows) {
    const struct node *n = node_at(plan, id);
    uint64_t strides[RANK_MAX];
    oracle_plan_base(plan, n->arg[1], rows, strides);
    for (int i = n->detail->axis + 1; i < n->shape.rank; i++)
        if (strides[i] != 0 && node_at(plan, n->arg[1])->shape.size[i] > 1)
            return ~0U;
    return (2U << n->detail->axis) - 1;
}

// Places of all elements that are put in order, twice: merging takes them from one to the other.
static void place_order(struct oracle_plan *plan, struct placed_pieces *s, node_id id, int64_t rows,
                        int64_t base) {
    const struct node *n = node_at(plan, id);
    bool scatters = n->op == OP_SCATTER_ADD;
    struct shape shape = oracle_plan_shape(plan, n->arg[scatters], rows);
    unsigned axes = scatters ? oracle_plan_index_axes(plan, id, rows) : ~0U;
    int64_t bytes = sizeof(unsigned);
    for (int i = 0; i < shape.rank; i++)
        bytes *= axes >> i & 1 ? shape.size[i] : 1;
    plan->places[id].partials = base + put(s, bytes, id, id);
    plan->places[id].joined = base + put(s, bytes, id, id);
}

static void place_node(struct arena *a, struct oracle_plan *plan, struct placed_pieces *s,
                       node_id id, int64_t rows, int64_t base) {
    const struct node *n = node_at(plan, id);
    struct shape shape = oracle_plan_shape(plan, id, rows);
    struct oracle_place *place = &plan->places[id];
    if (n->op != OP_RECUR)
        place->at = base + put(s, shape_count(&shape) * element_bytes(n), id, plan->last_use[id]);
    if (n->op == OP_RECUR)
        place_loop(a, plan, s, id, base);
    if (oracle_plan_multiplies(n->op))
        place_factors(plan, s, id, rows, base, false);
    if (op_infos[n->op].class == OP_CLASS_ORDER || n->op == OP_SCATTER_ADD)
        place_order(plan, s, id, rows, base);
    if (op_infos[n->op].class == OP_CLASS_SCAN && n->op != OP_RECUR) {
        int64_t line = shape.size[n->detail->axis], runs = (line + ORACLE_RUN - 1) / ORACLE_RUN;
        place->partials =
            base + put(s, shape_count(&shape) / line * runs * ORACLE_PARTIAL_BYTES, id, id);
    }
    if (op_infos[n->op].class != OP_CLASS_REDUCE)
        return;
    int64_t results, length, each = oracle_plan_partial_bytes(n->op);
    // Of all tiles together, and until they are joined.
    oracle_plan_runs(plan, id, plan->closes[id] ? plan->n_rows : rows, &results, &length);
    int until = is_for_all(plan, id) ? plan->problem->graph.n_nodes : id;
    int64_t run = oracle_plan_run(n->op), runs = (length + run - 1) / run;
    int64_t groups = (runs + ORACLE_FOLD - 1) / ORACLE_FOLD;
    place->partials = base + put(s, results * runs * each, id, until);
    place->joined = base + put(s, results * groups * each, id, until);
}

// Lay out everything for tiles of that many rows.
static void place_all(struct arena *a, struct oracle_plan *plan, int64_t rows) {
    int n = plan->problem->graph.n_nodes;
    struct placed_pieces once = {.pieces = arena_array(a, struct piece, PIECES * n + 1)};
    struct placed_pieces tile = {.pieces = arena_array(a, struct piece, PIECES * n + 1)};
    for (node_id id = 0; id < n; id++)
        if (plan->is_stored[id] && oracle_plan_multiplies(node_at(plan, id)->op))
            place_factors(plan, &once, id, rows, 0, true);
    for (node_id id = 0; id < n; id++)
        if (plan->is_stored[id] && !plan->carries[id])
            place_node(a, plan, &once, id, rows, 0);
    for (node_id id = 0; id < n; id++)
        if (plan->is_stored[id] && plan->carries[id])
            place_node(a, plan, &tile, id, rows, once.bytes);
    plan->tile_rows = rows;
    plan->bytes = once.bytes + tile.bytes;
}

// ---- rows and phases

// The rows that are looked for.
struct row_axis {
    int64_t n;
    int dim;
};

// Which arguments of a node carry rows.
struct carried {
    bool first, all, any;
    bool has_rows;  // it has as many rows as are looked for
};

static bool trace_leaf(struct oracle_plan *plan, const struct row_axis *rows, node_id i,
                       const struct carried *c) {
    const struct node *n = node_at(plan, i);
    plan->carries[i] = n->op == OP_INPUT && c->has_rows && n->shape.dim[0] == rows->dim;
    return !plan->carries[i] || n->dtype != DTYPE_I4;  // a row of these need not begin with a byte
}

static bool trace_view(struct oracle_plan *plan, const struct row_axis *rows, node_id i,
                       const struct carried *c) {
    (void)rows;
    const struct node *n = node_at(plan, i);
    plan->carries[i] = c->has_rows && (c->first || n->view[0] < 0);
    return !c->first || (n->shape.rank > 0 && n->view[0] == 0);
}

static bool trace_move(struct oracle_plan *plan, const struct row_axis *rows, node_id i,
                       const struct carried *c) {
    (void)rows;
    return node_at(plan, i)->op == OP_RESHAPE ? !c->first || c->has_rows : !c->any;
}

static bool trace_reduction(struct oracle_plan *plan, const struct row_axis *rows, node_id i,
                            const struct carried *c) {
    (void)rows;
    plan->closes[i] = c->first && (node_at(plan, i)->axes & 1);
    plan->carries[i] = c->first && !plan->closes[i];
    return true;
}

static bool trace_product(struct oracle_plan *plan, const struct row_axis *rows, node_id i,
                          const struct carried *c) {
    (void)rows;
    const struct node *n = node_at(plan, i);
    return n->shape.rank > 2 ? c->any == c->all : !plan->carries[n->arg[1]];
}

static bool trace_elementwise(struct oracle_plan *plan, const struct row_axis *rows, node_id i,
                              const struct carried *c) {
    (void)plan, (void)rows, (void)i;
    return c->any == c->all;
}

// Does node i carry rows, or close a pass over them? False when a row looks at another in any other
// way.
static bool trace_node(struct oracle_plan *plan, const struct row_axis *rows, node_id i) {
    static bool (*const by_class[OP_CLASS_COUNT])(struct oracle_plan * plan,
                                                  const struct row_axis *rows, node_id i,
                                                  const struct carried *c) = {
        [OP_CLASS_LEAF] = trace_leaf,        [OP_CLASS_VIEW] = trace_view,
        [OP_CLASS_MOVE] = trace_move,        [OP_CLASS_REDUCE] = trace_reduction,
        [OP_CLASS_CONTRACT] = trace_product, [OP_CLASS_ELEMENTWISE] = trace_elementwise,
    };
    const struct node *n = node_at(plan, i);
    bool first = n->n_args && plan->carries[n->arg[0]];
    struct carried c = {first, first, first, n->shape.rank > 0 && n->shape.size[0] == rows->n};
    for (int k = 1; k < n->n_args; k++) {
        c.all = c.all && plan->carries[n->arg[k]];
        c.any = c.any || plan->carries[n->arg[k]];
    }
    enum op_class class = op_infos[n->op].class;
    plan->carries[i] = c.any;
    plan->closes[i] = false;
    return by_class[class] ? by_class[class](plan, rows, i, &c) : !c.any;
}

static bool trace_rows(struct oracle_plan *plan, const struct shape *s) {
    struct row_axis rows = {s->size[0], s->dim[0]};
    bool ok = true;
    for (node_id i = 0; ok && i < plan->problem->graph.n_nodes; i++)
        ok = trace_node(plan, &rows, i);
    return ok;
}

// Inputs whose rows are taken one tile after the other, in elements.
static int64_t carried_inputs(const struct oracle_plan *plan) {
    int64_t count = 0;
    for (int i = 0; i < plan->problem->n_inputs; i++) {
        node_id id = plan->problem->inputs[i].node;
        count += plan->carries[id] ? shape_count(&node_at(plan, id)->shape) : 0;
    }
    return count;
}

static const struct shape *largest_input(const struct problem *p) {
    const struct shape *largest = NULL;
    for (int i = 0; i < p->n_inputs; i++) {
        const struct shape *s = &p->graph.nodes[p->inputs[i].node].shape;
        if (s->rank > 0 && (!largest || shape_count(s) > shape_count(largest)))
            largest = s;
    }
    return largest;
}

// Rows: independent ones of the outputs; else those of the outputs or of the largest input,
// whichever more of the inputs have.
static void find_rows(struct oracle_plan *plan) {
    const struct problem *p = plan->problem;
    const struct shape *shapes[] = {&p->graph.nodes[p->outputs[0].node].shape, largest_input(p)};
    int64_t most = 0;
    int best = -1;
    plan->n_rows = 1;
    if (plan->is_body || !oracle_plan_has_rows(p))
        return;
    if (interpret_carriers(p, plan->carries)) {
        plan->n_rows = shapes[0]->size[0];
        return;
    }
    for (int i = 0; i < 2; i++)
        if (shapes[i] && shapes[i]->rank > 0 && shapes[i]->dim[0] >= 0 &&
            trace_rows(plan, shapes[i]) && carried_inputs(plan) > most) {
            most = carried_inputs(plan);
            best = i;
        }
    size_t n = (size_t)p->graph.n_nodes;
    memset(plan->carries, 0, sizeof *plan->carries * n);
    memset(plan->closes, 0, sizeof *plan->closes * n);
    if (best >= 0) {
        plan->n_rows = shapes[best]->size[0];
        trace_rows(plan, shapes[best]);
    }
}

bool oracle_plan_has_rows(const struct problem *p) {
    for (int i = 0; i < p->graph.n_nodes; i++)
        if (p->graph.nodes[i].op == OP_RECUR)
            return false;
    return true;
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void find_phases(struct oracle_plan *plan) {
    const struct graph *g = &plan->problem->graph;
    plan->n_phases = 1;
    plan->tile_step = 1;
    for (node_id i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        for (int k = 0; k < n->n_args; k++)
            if (plan->phase[n->arg[k]] > plan->phase[i])
                plan->phase[i] = plan->phase[n->arg[k]];
        plan->phase[i] += plan->closes[i];
        if (plan->phase[i] >= plan->n_phases)
            plan->n_phases = plan->phase[i] + 1;
        if (!plan->closes[i])
            continue;
        plan->needed[n->arg[0]] |= 1U << (plan->phase[i] - 1);
        int64_t each =
            shape_count(&g->nodes[n->arg[0]].shape) / plan->n_rows / shape_count(&n->shape);
        int64_t step = ORACLE_RUN / greatest_divisor(each > 0 ? each : 1, ORACLE_RUN);
        plan->tile_step = step > plan->tile_step ? step : plan->tile_step;  // powers of two
    }
    for (int i = 0; i < plan->problem->n_outputs; i++) {
        node_id id = plan->problem->outputs[i].node;
        plan->needed[id] |= 1U << plan->phase[id];
    }
    for (node_id i = g->n_nodes - 1; i >= 0; i--)
        for (int k = 0; plan->carries[i] && k < g->nodes[i].n_args; k++)
            plan->needed[g->nodes[i].arg[k]] |= plan->needed[i];
}

static void start_plan(struct arena *a, const struct problem *p, bool is_body,
                       struct oracle_plan *plan) {
    int n = p->graph.n_nodes;
    *plan = (struct oracle_plan){.problem = p,
                                 .is_body = is_body,
                                 .carries = arena_array(a, bool, n),
                                 .is_stored = arena_array(a, bool, n),
                                 .closes = arena_array(a, bool, n),
                                 .phase = arena_array(a, int, n),
                                 .needed = arena_array(a, unsigned, n),
                                 .last_use = arena_array(a, int, n),
                                 .places = arena_array(a, struct oracle_place, n)};
    find_rows(plan);
    find_phases(plan);
    choose_stored(plan);
}

void oracle_plan_make_body(struct arena *a, const struct problem *body, struct oracle_plan *plan) {
    start_plan(a, body, true, plan);
    for (int i = 0; i < body->n_outputs; i++)
        plan->last_use[body->outputs[i].node] = body->graph.n_nodes;
    place_all(a, plan, 1);
}

void oracle_plan_make_rows(struct arena *a, const struct problem *p, int64_t rows,
                           struct oracle_plan *plan) {
    start_plan(a, p, false, plan);
    place_all(a, plan, rows);
}

void oracle_plan_make(struct arena *a, const struct problem *p, int64_t budget_bytes,
                      struct oracle_plan *plan) {
    start_plan(a, p, false, plan);
    int64_t fits = 1, above = plan->n_rows + 1, step = plan->tile_step;
    while (fits + 1 < above) {
        int64_t rows = fits + (above - fits) / 2;
        place_all(a, plan, rows);
        if (plan->bytes <= budget_bytes)
            fits = rows;
        else
            above = rows;
    }
    // Tiles of equal size, rather than a small one at the end.
    int64_t n_tiles = (plan->n_rows + fits - 1) / fits;
    int64_t rows = ((plan->n_rows + n_tiles - 1) / n_tiles + step - 1) / step * step;
    place_all(a, plan, rows < plan->n_rows ? rows : plan->n_rows);
}
