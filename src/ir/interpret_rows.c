// Rows on several threads. A node *carries rows* when its axis 0 is the outermost axis of the
// outputs, row for row. Where all outputs do and no row looks at another, a part of the rows is a
// problem of its own: the same graph with axis 0 of the carriers cut short.
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/parallel.h"
#include "ir/interpret.h"
#include "ir/structural.h"

// Elements per piece: its arrays stay in the near caches and in the allocator's hands (larger
// ones would be fresh pages each time, and clearing them costs more than the arithmetic).
// At least PIECES_PER_THREAD pieces, so that nobody waits long for the last one.
// Fewer rows than that are shared out as well where there is something to do.
enum { PIECE_ELEMENTS = 1 << 15, PIECES_PER_THREAD = 8, WORTH_ELEMENTS = 1 << 18 };

struct rows {
    const struct problem *problem;
    const struct interpret_data *data;
    const bool *carries;  // per node
    int64_t n_rows;
    struct interpret_result *result;
    atomic_flag *has_fault;  // the thread that sets it writes result->fault
};

static bool is_row_view(const struct node *n, const bool *carries, int64_t n_rows) {
    return carries[n->arg[0]] ? n->view[0] == 0 : n->view[0] < 0 && n->shape.size[0] == n_rows;
}

// A carrier may be looked at only along its rows: nothing but axis 0 may walk along its axis 0.
static bool view_breaks_rows(const struct node *n, const bool *carries) {
    return carries[n->arg[0]] && (n->shape.rank == 0 || n->view[0] != 0);
}

static bool mixes_rows(const struct node *n, const bool *carries) {
    for (int i = 1; i < n->n_args; i++)
        if (carries[n->arg[i]] != carries[n->arg[0]])
            return true;
    return false;
}

// Of a plain matrix product the left side may carry rows, of a batch both sides must.
static bool product_breaks_rows(const struct node *n, const bool *carries) {
    if (n->shape.rank > 2)
        return mixes_rows(n, carries);
    return carries[n->arg[1]];
}

static bool recurrence_keeps_rows(const struct graph *g, node_id id, int64_t n_rows, bool *carries);

static bool carry_view(const struct graph *g, node_id i, int64_t n_rows, bool *carries) {
    const struct node *n = &g->nodes[i];
    carries[i] = n->shape.rank > 0 && is_row_view(n, carries, n_rows);
    return !view_breaks_rows(n, carries);
}

static bool carry_elementwise(const struct graph *g, node_id i, int64_t n_rows, bool *carries) {
    (void)n_rows;
    const struct node *n = &g->nodes[i];
    carries[i] = carries[n->arg[0]];
    return !mixes_rows(n, carries);
}

static bool carry_reduce(const struct graph *g, node_id i, int64_t n_rows, bool *carries) {
    (void)n_rows;
    const struct node *n = &g->nodes[i];
    carries[i] = carries[n->arg[0]];
    return !carries[i] || !(n->axes & 1);
}

static bool carry_product(const struct graph *g, node_id i, int64_t n_rows, bool *carries) {
    (void)n_rows;
    const struct node *n = &g->nodes[i];
    carries[i] = carries[n->arg[0]];
    return !product_breaks_rows(n, carries);
}

// Decide for a node that is no leaf; false when some row needs another.
static bool carry(const struct graph *g, node_id i, int64_t n_rows, bool *carries) {
    static bool (*const by_class[OP_CLASS_COUNT])(const struct graph *g, node_id i, int64_t n_rows,
                                                  bool *carries) = {
        [OP_CLASS_VIEW] = carry_view,
        [OP_CLASS_ELEMENTWISE] = carry_elementwise,
        [OP_CLASS_REDUCE] = carry_reduce,
        [OP_CLASS_CONTRACT] = carry_product,
        [OP_CLASS_RECUR] = recurrence_keeps_rows,
    };
    const struct node *n = &g->nodes[i];
    enum op_class class = op_infos[n->op].class;
    return by_class[class] ? by_class[class](g, i, n_rows, carries)
                           : structural_keeps_rows(g, n, carries, i);
}

bool interpret_body_carriers(const struct recurrence *r, int64_t n_rows, bool *carries) {
    const struct problem *body = r->body;
    for (node_id i = 0; i < body->graph.n_nodes; i++)
        if (op_infos[body->graph.nodes[i].op].class != OP_CLASS_LEAF &&
            !carry(&body->graph, i, n_rows, carries))
            return false;
    for (int i = 0; i < r->n_states; i++)
        if (carries[body->outputs[i].node] != carries[body->inputs[i].node])
            return false;
    return true;
}

// The same inside the body of a loop, from what its arguments carry.
static bool find_body_carriers(const struct node *loop, int64_t n_rows, const bool *carries,
                               bool *inner) {
    const struct recurrence *r = recurrence_of(loop);
    const struct problem *body = r->body;
    for (int i = 0; i < body->n_inputs; i++) {
        inner[body->inputs[i].node] = carries[loop->arg[i]];
        if (carries[loop->arg[i]] && recurrence_is_slice(r, i) && r->axis[i] == 0)
            return false;
    }
    return interpret_body_carriers(r, n_rows, inner);
}

static bool recurrence_keeps_rows(const struct graph *g, node_id id, int64_t n_rows,
                                  bool *carries) {
    struct arena a = {0};
    const struct node *n = &g->nodes[id];
    const struct recurrence *r = recurrence_of(n);
    bool *inner = arena_array(&a, bool, r->body->graph.n_nodes);
    bool ok = find_body_carriers(n, n_rows, carries, inner);
    carries[id] = inner[r->body->outputs[n->detail->result].node];
    if (carries[id] && n->detail->result >= r->n_states && n->detail->axis == 0)
        ok = false;
    arena_reset(&a);
    return ok;
}

// Decide for each node; false when some row needs another.
static bool find_carriers(const struct problem *p, int64_t n_rows, bool *carries) {
    const struct graph *g = &p->graph;
    int row_dim = g->nodes[p->outputs[0].node].shape.dim[0];
    for (int i = 0; i < g->n_nodes; i++) {
        const struct node *n = &g->nodes[i];
        bool has_rows = n->shape.rank > 0 && n->shape.size[0] == n_rows;
        if (op_infos[n->op].class != OP_CLASS_LEAF) {
            if (!carry(g, i, n_rows, carries))
                return false;
            continue;
        }
        carries[i] = n->op == OP_INPUT && has_rows && row_dim >= 0 && n->shape.dim[0] == row_dim;
        // A row of packed elements need not begin with a byte.
        if (carries[i] && n->dtype == DTYPE_I4)
            return false;
    }
    for (int i = 0; i < p->n_outputs; i++)
        if (!carries[p->outputs[i].node])
            return false;
    return true;
}

static int64_t row_length(const struct node *n) {
    return shape_count(&n->shape) / n->shape.size[0];
}

// The body of a loop with carriers of `n` rows, for node `id` of the piece. Results of one loop
// share theirs.
static void cut_loop(struct arena *a, const struct rows *r, node_id id, int64_t n,
                     struct problem *piece) {
    const struct node *loop = &r->problem->graph.nodes[id];
    node_id first = recurrence_first(&r->problem->graph, id);
    struct node_detail *detail = arena_new(a, struct node_detail);
    *detail = *loop->detail;
    piece->graph.nodes[id].detail = detail;
    if (first < id) {
        detail->recurrence = piece->graph.nodes[first].detail->recurrence;
        return;
    }
    struct recurrence *cut = arena_new(a, struct recurrence);
    struct problem *body = arena_new(a, struct problem);
    *cut = *loop->detail->recurrence;
    *body = *cut->body;
    int n_nodes = body->graph.n_nodes;
    bool *inner = arena_array(a, bool, n_nodes);
    find_body_carriers(loop, r->n_rows, r->carries, inner);
    body->graph.nodes = arena_array(a, struct node, n_nodes);
    memcpy(body->graph.nodes, cut->body->graph.nodes, sizeof(struct node) * (size_t)n_nodes);
    for (int i = 0; i < n_nodes; i++)
        if (inner[i])
            body->graph.nodes[i].shape.size[0] = n;
    cut->body = body;
    detail->recurrence = cut;
}

// The problem of `n` rows, and the data of those that begin at `first`.
static void cut(struct arena *a, const struct rows *r, int64_t first, int64_t n,
                struct problem *piece, struct interpret_data *data) {
    const struct graph *g = &r->problem->graph;
    *data = *r->data;
    for (int i = 0; i < r->problem->n_inputs; i++) {
        node_id id = r->problem->inputs[i].node;
        int64_t at = first * row_length(&g->nodes[id]);
        if (r->carries[id])
            data->inputs[i] = (const char *)data->inputs[i] + dtype_size(g->nodes[id].dtype, at);
    }
    piece->graph.nodes = arena_array(a, struct node, g->n_nodes);
    memcpy(piece->graph.nodes, g->nodes, sizeof *g->nodes * (size_t)g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++) {
        if (r->carries[i])
            piece->graph.nodes[i].shape.size[0] = n;
        if (g->nodes[i].op == OP_RECUR)
            cut_loop(a, r, i, n, piece);
    }
}

bool interpret_rows_piece(struct arena *a, const struct problem *p, int64_t n, bool *carries,
                          struct problem *piece) {
    const struct shape *s = &p->graph.nodes[p->outputs[0].node].shape;
    struct interpret_data none = {0}, ignored;
    if (s->rank == 0 || !find_carriers(p, s->size[0], carries))
        return false;
    struct rows r = {.problem = p, .data = &none, .carries = carries, .n_rows = s->size[0]};
    *piece = *p;
    cut(a, &r, 0, n, piece, &ignored);
    return true;
}

static void put(const struct rows *r, int64_t first, struct interpret_result *piece) {
    for (int i = 0; i < piece->n_outputs; i++) {
        const struct node *n = &r->problem->graph.nodes[r->problem->outputs[i].node];
        size_t at = (size_t)(first * row_length(n)), count = (size_t)piece->count[i];
        memcpy(r->result->value[i] + at, piece->value[i], count * sizeof(double));
        memcpy(r->result->spread[i] + at, piece->spread[i], count * sizeof(double));
        if (piece->honest[i])
            memcpy(r->result->honest[i] + at, piece->honest[i], count * sizeof(float));
        else
            memcpy(r->result->wide[i] + at, piece->wide[i], count * sizeof(double));
    }
    if (piece->fault[0] && !atomic_flag_test_and_set(r->has_fault))
        memcpy(r->result->fault, piece->fault, sizeof piece->fault);
    interpret_reset(piece);
}

static void interpret_piece(void *ctx, int64_t begin, int64_t end) {
    const struct rows *r = ctx;
    struct problem piece = *r->problem;
    struct interpret_data data;
    struct interpret_result result;
    struct arena a = {0};
    cut(&a, r, begin, end - begin, &piece, &data);
    interpret(&piece, &data, &result);
    put(r, begin, &result);
    arena_reset(&a);
}

static void allocate(const struct problem *p, struct interpret_result *result) {
    *result = (struct interpret_result){.n_outputs = p->n_outputs};
    for (int i = 0; i < p->n_outputs; i++) {
        int64_t count = shape_count(&p->graph.nodes[p->outputs[i].node].shape);
        result->count[i] = count;
        result->value[i] = reading_alloc(count, sizeof(double));
        result->spread[i] = reading_alloc(count, sizeof(double));
        if (dtype_is_wide(p->graph.nodes[p->outputs[i].node].dtype))
            result->wide[i] = reading_alloc(count, sizeof(double));
        else
            result->honest[i] = reading_alloc(count, sizeof(float));
    }
}

bool interpret_carriers(const struct problem *p, bool *carries) {
    const struct shape *s = &p->graph.nodes[p->outputs[0].node].shape;
    return s->rank > 0 && find_carriers(p, s->size[0], carries);
}

bool interpret_rows_independent(const struct problem *p) {
    struct arena a = {0};
    bool *carries = arena_array(&a, bool, p->graph.n_nodes);
    bool independent = interpret_carriers(p, carries);
    arena_reset(&a);
    return independent;
}

int64_t interpret_row_of(const struct problem *p, int input, int64_t index) {
    struct arena a = {0};
    const struct shape *s = &p->graph.nodes[p->outputs[0].node].shape;
    bool *carries = arena_array(&a, bool, p->graph.n_nodes);
    node_id id = p->inputs[input].node;
    int64_t row = -1;
    if (s->rank > 0 && find_carriers(p, s->size[0], carries) && carries[id])
        row = index / row_length(&p->graph.nodes[id]);
    arena_reset(&a);
    return row;
}

void interpret_row(const struct problem *p, const struct interpret_data *data, int64_t row,
                   struct interpret_result *result) {
    struct arena a = {0};
    const struct shape *s = &p->graph.nodes[p->outputs[0].node].shape;
    bool *carries = arena_array(&a, bool, p->graph.n_nodes);
    bool independent = find_carriers(p, s->size[0], carries);
    assert(independent && row >= 0 && row < s->size[0]);
    struct rows r = {.problem = p, .data = data, .carries = carries, .n_rows = s->size[0]};
    struct problem piece = *p;
    struct interpret_data cut_data;
    cut(&a, &r, row, 1, &piece, &cut_data);
    interpret(&piece, &cut_data, result);
    arena_reset(&a);
}

// Rows of a piece; 0: it is not worth sharing out, or cannot be.
static int64_t piece_rows(const struct problem *p, int n_threads) {
    const struct shape *s = &p->graph.nodes[p->outputs[0].node].shape;
    int64_t n_pieces = (int64_t)n_threads * PIECES_PER_THREAD, count = 0;
    for (int i = 0; i < p->graph.n_nodes; i++)
        count += shape_count(&p->graph.nodes[i].shape);
    if (n_threads < 2 || s->rank == 0 || s->size[0] < 2 ||
        (s->size[0] < n_pieces && count < WORTH_ELEMENTS) || !interpret_rows_independent(p))
        return 0;
    int64_t n_small = shape_count(s) / PIECE_ELEMENTS;
    n_pieces = n_small > n_pieces ? n_small : n_pieces;
    return (s->size[0] + n_pieces - 1) / n_pieces;
}

void interpret_parallel(const struct problem *p, const struct interpret_data *data, int n_threads,
                        struct interpret_result *result) {
    const struct shape *s = &p->graph.nodes[p->outputs[0].node].shape;
    int64_t rows = piece_rows(p, n_threads);
    if (!rows) {
        interpret(p, data, result);
        return;
    }
    struct arena a = {0};
    bool *carries = arena_array(&a, bool, p->graph.n_nodes);
    find_carriers(p, s->size[0], carries);
    atomic_flag has_fault = ATOMIC_FLAG_INIT;
    struct rows r = {.problem = p,
                     .data = data,
                     .carries = carries,
                     .n_rows = s->size[0],
                     .result = result,
                     .has_fault = &has_fault};
    allocate(p, result);
    parallel_for(n_threads, r.n_rows, rows, interpret_piece, &r);
    arena_reset(&a);
}

int64_t interpret_bytes(const struct problem *p, int n_threads) {
    int64_t rows = piece_rows(p, n_threads), bytes = 0;
    if (!rows)
        return interpret_whole_bytes(p);
    struct arena a = {0};
    const struct graph *g = &p->graph;
    struct problem piece = *p;
    bool *carries = arena_array(&a, bool, g->n_nodes);
    interpret_carriers(p, carries);
    piece.graph.nodes = arena_array(&a, struct node, g->n_nodes);
    memcpy(piece.graph.nodes, g->nodes, sizeof *g->nodes * (size_t)g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++)
        if (carries[i])
            piece.graph.nodes[i].shape.size[0] = rows;
    bytes = n_threads * interpret_whole_bytes(&piece);
    for (int i = 0; i < p->n_outputs; i++) {
        const struct node *n = &g->nodes[p->outputs[i].node];
        bytes += shape_count(&n->shape) * (dtype_is_wide(n->dtype) ? 24 : 20);
    }
    arena_reset(&a);
    return bytes;
}
