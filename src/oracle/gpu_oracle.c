// Walks the plan of oracle_plan.h: nodes without rows once, nodes with rows tile by tile, each as
// one launch of a kernel of runtime/oracle.cu; then outputs with their spread and the honest
// computation's errors.
#include <math.h>

#include "base/arena.h"
#include "base/error.h"
#include "hone_inputs.h"
#include "ir/work.h"
#include "oracle/gpu_computation.h"
#include "oracle/null_kernels.h"
#include "oracle/oracle.h"
#include "oracle/oracle_choice.h"

enum { FAULT_BYTES = 256, BLOCKS_MAX = 4096, FEW_THREADS = 1 << 15 };

// Besides what is expected, computing it takes at most twice as much as the outputs, half as much
// as the inputs, or the least of these; or what is free on a large card. More than the most makes
// nothing faster.
static const int64_t work_least_bytes = (int64_t)64 << 20, work_most_bytes = (int64_t)4 << 30;

bool gpu_oracle_load(struct gpu_oracle *o, struct gpu_bench *b, const char *cubin,
                     struct error *err) {
    const struct cuda *cu = &b->cu;
    cuda_module m;
    *o = (struct gpu_oracle){.bench = b};
    if (!cuda_ok(cu, cu->module_load(&m, cubin), "load the oracle's kernels", err))
        return false;
    const struct {
        const char *name;
        cuda_function *into;
    } rows[] = {{"oracle_fill", &o->fill},
                {"oracle_widen", &o->widen},
                {"oracle_keep", &o->keep},
                {"oracle_rows", &o->rows},
                {"oracle_scale", &o->scale},
                {"oracle_edges", &o->edges},
                {"oracle_map", &o->map},
                {"oracle_runs", &o->runs},
                {"oracle_join", &o->join},
                {"oracle_move", &o->move},
                {"oracle_scan", &o->scan},
                {"oracle_scan_runs", &o->scan_runs},
                {"oracle_scan_carry", &o->scan_carry},
                {"oracle_pool", &o->pool},
                {"oracle_best_runs", &o->best_runs},
                {"oracle_best_join", &o->best_join},
                {"oracle_merge", &o->merge},
                {"oracle_ranks", &o->ranks},
                {"oracle_scatter", &o->scatter},
                {"oracle_matmul_whole", &o->matmul_whole},
                {"oracle_pack", &o->pack},
                {"oracle_bits", &o->bits},
                {"oracle_matmul", &o->matmul},
                {"oracle_put", &o->put},
                {"oracle_mean", &o->mean},
                {"oracle_sum", &o->sum},
                {"oracle_guess", &o->guess}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!cuda_ok(cu, cu->module_function(rows[i].into, m, rows[i].name), rows[i].name, err))
            return false;
    return true;
}

void gpu_oracle_release(struct gpu_oracle *o) {
    if (o->work)
        o->bench->cu.release(o->work);
    o->work = 0;
    o->work_bytes = 0;
}

static bool launch(struct gpu_oracle *o, cuda_function f, int64_t n, int threads, void **arguments,
                   struct error *err) {
    const struct cuda *cu = &o->bench->cu;
    int64_t blocks = (n + threads - 1) / threads;
    if (blocks > BLOCKS_MAX)
        blocks = BLOCKS_MAX;
    return cuda_ok(
        cu,
        cu->launch(f, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0, NULL, arguments, NULL),
        "compute the truth", err);
}

bool gpu_oracle_launch(struct gpu_oracle *o, cuda_function f, int64_t n, void **arguments,
                       struct error *err) {
    return launch(o, f, n, COMPUTE_THREADS, arguments, err);
}

bool gpu_oracle_fill(struct gpu_oracle *o, const struct hone_source *s, enum dtype type, int64_t n,
                     cuda_pointer out, struct error *err) {
    struct hone_source source = *s;
    int stored = (int)type;
    void *arguments[] = {&source, &n, &out, &stored};
    return launch(o, o->fill, (n + 3) / 4, COMPUTE_THREADS, arguments, err);
}

// ---- computing what is expected

int64_t compute_count(const struct computation *l, node_id id) {
    struct shape s = oracle_plan_shape(&l->plan, id, l->rows);
    return shape_count(&s);
}

bool compute_launch(struct computation *l, cuda_function f, int64_t n, int threads,
                    void **arguments, struct error *err) {
    return launch(l->oracle, f, n, threads, arguments, err);
}

static int input_number(const struct computation *l, node_id id) {
    int i = 0;
    while (l->request->problem->inputs[i].node != id)
        i++;
    return i;
}

static cuda_pointer input_at(const struct computation *l, node_id id) {
    const struct node *n = compute_node(l, id);
    int64_t skip = l->plan.carries[id] ? l->first * (shape_count(&n->shape) / l->plan.n_rows) : 0;
    return l->request->inputs[input_number(l, id)] + (cuda_pointer)dtype_size(n->dtype, skip);
}

struct oracle_array compute_readings(cuda_pointer at, int64_t count, enum dtype type) {
    cuda_pointer bytes = sizeof(double) * (cuda_pointer)count;
    return (struct oracle_array){.value = at,
                                 .variance = at + bytes,
                                 .honest = at + 2 * bytes,
                                 .type = (int)type,
                                 .is_wide = dtype_is_wide(type)};
}

// The array that a stored node is written to; for a view or an input of f32 not the one it is read
// from.
struct oracle_array compute_own(const struct computation *l, node_id id) {
    const struct node *n = compute_node(l, id);
    cuda_pointer at = l->work + (cuda_pointer)l->plan.places[id].at;
    struct oracle_array a = compute_readings(at, compute_count(l, id), n->dtype);
    if (oracle_plan_makes_long(n))
        a.fault = l->fault;
    if (n->op != OP_INPUT || n->dtype == DTYPE_F32)
        return a;
    return (struct oracle_array){.honest = at, .type = a.type, .is_wide = a.is_wide};
}

struct oracle_array compute_array(const struct computation *l, node_id id) {
    const struct node *n = compute_node(l, id);
    struct oracle_array a = {.type = (int)n->dtype, .is_wide = dtype_is_wide(n->dtype)};
    if (n->op == OP_CONST)
        a.number = n->value;
    else if (n->op == OP_INPUT && l->given)
        a = l->given[input_number(l, id)];
    else if (n->op == OP_INPUT && n->dtype == DTYPE_F32)
        a.honest = input_at(l, id);
    else
        a = compute_own(l, id);
    return a;
}

struct oracle_operand compute_operand(const struct computation *l, node_id id) {
    uint64_t strides[RANK_MAX];
    struct shape s = oracle_plan_shape(&l->plan, id, l->rows);
    node_id base = oracle_plan_base(&l->plan, id, l->rows, strides);
    return (struct oracle_operand){compute_array(l, base), oracle_plan_axes(&s, strides, ~0U)};
}

static bool do_widen(struct computation *l, node_id id, struct error *err) {
    cuda_pointer from = input_at(l, id), to = compute_own(l, id).honest;
    int type = (int)compute_node(l, id)->dtype;
    int64_t n = compute_count(l, id);
    void *arguments[] = {&from, &type, &n, &to};
    return launch(l->oracle, l->oracle->widen, n, COMPUTE_THREADS, arguments, err);
}

// What an operation is computed in: its result's type, for a test that of its operands; f32 and
// bool have a faster way, unless an operand is wide. As reading_elementwise() of ir/reading.h.
static int computed_in(const struct computation *l, const struct node *n) {
    bool is_plain = n->op != OP_CAST && (n->dtype == DTYPE_F32 || n->dtype == DTYPE_BOOL);
    enum dtype last = compute_node(l, n->arg[n->n_args - 1])->dtype;
    for (int i = 0; i < n->n_args; i++)
        is_plain = is_plain && !dtype_is_wide(compute_node(l, n->arg[i])->dtype);
    if (is_plain)
        return ORACLE_PLAIN;
    return (int)(n->dtype == DTYPE_BOOL && n->op != OP_WHERE && n->op != OP_CAST
                     ? dtype_promote(compute_node(l, n->arg[0])->dtype, last)
                     : n->dtype);
}

static bool do_map(struct computation *l, node_id id, struct error *err) {
    const struct node *n = compute_node(l, id);
    bool is_copy = op_infos[n->op].class != OP_CLASS_ELEMENTWISE;
    struct oracle_map m = {.op = is_copy ? ORACLE_COPY : (int)n->op,
                           .n_args = is_copy ? 1 : n->n_args,
                           .is_exponent = work_is_exponent(&l->request->problem->graph, id),
                           .type = is_copy ? ORACLE_PLAIN : computed_in(l, n),
                           .out = compute_own(l, id),
                           .to = {.rank = 1, .is_flat = 1},
                           .n = (uint64_t)compute_count(l, id)};
    for (int i = 0; i < m.n_args; i++)
        m.args[i] = compute_operand(l, is_copy ? id : n->arg[i]);
    void *arguments[] = {&m};
    return launch(l->oracle, l->oracle->map, (int64_t)m.n, COMPUTE_THREADS, arguments, err);
}

bool compute_copy(struct computation *l, const struct oracle_operand *from,
                  const struct oracle_array *out, const struct oracle_axes *to, int64_t n,
                  struct error *err) {
    struct oracle_map m = {.op = ORACLE_COPY,
                           .n_args = 1,
                           .type = ORACLE_PLAIN,
                           .args = {*from},
                           .out = *out,
                           .to = *to,
                           .n = (uint64_t)n};
    void *arguments[] = {&m};
    return launch(l->oracle, l->oracle->map, n, COMPUTE_THREADS, arguments, err);
}

bool compute_join(struct computation *l, struct oracle_reduce *r, struct error *err) {
    bool is_choice = oracle_plan_chooses((enum op)r->op);
    cuda_function join = is_choice ? l->oracle->best_join : l->oracle->join;
    for (;;) {
        int groups = (r->n_runs + ORACLE_FOLD - 1) / ORACLE_FOLD;
        void *arguments[] = {r};
        if (!launch(l->oracle, join, (int64_t)r->n * groups, COMPUTE_THREADS, arguments, err))
            return false;
        if (groups == 1)
            return true;
        uint64_t partials = r->partials;
        r->partials = r->joined;
        r->joined = partials;
        r->n_runs = groups;
    }
}

static struct oracle_reduce reduction(const struct computation *l, node_id id) {
    int64_t results, length;
    const struct oracle_place *place = &l->plan.places[id];
    int run = oracle_plan_run(compute_node(l, id)->op);
    oracle_plan_runs(&l->plan, id, l->rows, &results, &length);
    return (struct oracle_reduce){
        .op = (int)compute_node(l, id)->op,
        .is_mean = work_is_mean(&l->request->problem->graph, id),
        .n_runs = (int)((length + run - 1) / run),
        .run = run,
        .out = compute_own(l, id),
        .n = (uint64_t)results,
        .length = (uint64_t)length,
        .partials = l->work + (cuda_pointer)place->partials,
        .joined = l->work + (cuda_pointer)place->joined,
        .to = {.rank = 1, .is_flat = 1},
    };
}

static bool do_reduce(struct computation *l, node_id id, struct error *err) {
    const struct node *n = compute_node(l, id);
    struct oracle_reduce r = reduction(l, id);
    uint64_t strides[RANK_MAX];
    struct shape s = oracle_plan_shape(&l->plan, n->arg[0], l->rows);
    node_id base = oracle_plan_base(&l->plan, n->arg[0], l->rows, strides);
    r.from = compute_array(l, base);
    r.kept = oracle_plan_axes(&s, strides, ~n->axes);
    r.reduced = oracle_plan_axes(&s, strides, n->axes);
    r.runs_are_near =
        r.kept.stride[r.kept.rank - 1] > (uint64_t)r.run * r.reduced.stride[r.reduced.rank - 1];
    int64_t total = (int64_t)r.n * r.n_runs;
    if (l->plan.closes[id]) {  // its part of the runs of all tiles
        r.first = (uint64_t)l->first * (r.length / (uint64_t)l->rows);
        r.partials += r.first / (uint64_t)r.run * r.n * (uint64_t)oracle_plan_partial_bytes(n->op);
    }
    void *arguments[] = {&r};
    cuda_function runs = oracle_plan_chooses(n->op) ? l->oracle->best_runs : l->oracle->runs;
    // Few threads with much to do each are spread over the device.
    return launch(l->oracle, runs, total,
                  total < FEW_THREADS ? COMPUTE_THREADS_FEW : COMPUTE_THREADS, arguments, err) &&
           (l->plan.closes[id] || compute_join(l, &r, err));
}

// All tiles have given their partial results.
static bool close_reduction(struct computation *l, node_id id, struct error *err) {
    l->rows = l->plan.n_rows;
    struct oracle_reduce r = reduction(l, id);
    return compute_join(l, &r, err);
}

// An output itself, as honest arithmetic gives it.
static bool keep_output(struct computation *l, const struct oracle_array *from, int64_t n,
                        int64_t first, struct error *err) {
    struct oracle_array array = *from;
    cuda_pointer to = l->request->made + (cuda_pointer)dtype_size((enum dtype)from->type, first);
    void *arguments[] = {&array, &n, &to};
    return launch(l->oracle, l->oracle->keep, (n + 3) / 4, COMPUTE_THREADS, arguments, err);
}

// Part of an output, or all of it, is there.
static bool put_outputs(struct computation *l, node_id id, struct error *err) {
    const struct problem *p = l->request->problem;
    struct gpu_oracle *o = l->oracle;
    for (int i = 0; i < p->n_outputs; i++) {
        struct judge_expected none = {0};
        const struct judge_expected *e = l->request->made ? &none : &l->request->expected[i];
        struct judge_part sum;
        if (p->outputs[i].node != id)
            continue;
        struct oracle_put put = {.from = compute_own(l, id),
                                 .n = (uint64_t)compute_count(l, id),
                                 .high = e->high,
                                 .low = e->low,
                                 .spread = e->spread,
                                 .allows_overflow = oracle_allows_overflow(l->request->set)};
        put.at = l->plan.carries[id] ? (uint64_t)l->first * (put.n / (uint64_t)l->rows) : 0;
        if (l->request->made) {
            if (!keep_output(l, &put.from, (int64_t)put.n, (int64_t)put.at, err))
                return false;
            continue;
        }
        void *arguments[] = {&put, &o->bench->parts};
        if (!gpu_bench_sum(o->bench, o->put, put.n, arguments, &sum, err))
            return false;
        l->sums[i].sum += sum.sum;
        l->sums[i].max = fmax(l->sums[i].max, sum.max);
    }
    return true;
}

static bool compute_move(struct computation *l, node_id id, struct error *err) {
    return compute_node(l, id)->op == OP_RESHAPE ? do_map(l, id, err)
                                                 : compute_structure(l, id, err);
}

static bool compute_scatters(struct computation *l, node_id id, struct error *err) {
    return compute_node(l, id)->op == OP_SCATTER_ADD ? compute_scatter(l, id, err)
                                                     : compute_structure(l, id, err);
}

static bool compute_window(struct computation *l, node_id id, struct error *err) {
    return oracle_plan_multiplies(compute_node(l, id)->op) ? compute_products(l, id, err)
                                                           : compute_structure(l, id, err);
}

bool compute_any(struct computation *l, node_id id, struct error *err) {
    static bool (*const by_class[OP_CLASS_COUNT])(struct computation * l, node_id id,
                                                  struct error * err) = {
        [OP_CLASS_LEAF] = do_map,
        [OP_CLASS_VIEW] = do_map,
        [OP_CLASS_ELEMENTWISE] = do_map,
        [OP_CLASS_REDUCE] = do_reduce,
        [OP_CLASS_CONTRACT] = compute_products,
        [OP_CLASS_IOTA] = compute_structure,
        [OP_CLASS_MOVE] = compute_move,
        [OP_CLASS_GATHER] = compute_structure,
        [OP_CLASS_SCATTER] = compute_scatters,
        [OP_CLASS_SCAN] = compute_structure,
        [OP_CLASS_ORDER] = compute_order,
        [OP_CLASS_WINDOW] = compute_window,
        [OP_CLASS_RAGGED] = compute_products,
        [OP_CLASS_RECUR] = compute_recurrence,
    };
    const struct node *n = compute_node(l, id);
    if (n->op == OP_INPUT && n->dtype != DTYPE_F32)
        return do_widen(l, id, err);
    return by_class[op_infos[n->op].class](l, id, err);
}

// What can be computed once in this phase.
static bool compute_once(struct computation *l, int phase, struct error *err) {
    const struct oracle_plan *plan = &l->plan;
    for (node_id id = 0; id < l->request->problem->graph.n_nodes; id++)
        if (plan->is_stored[id] && !plan->carries[id] && !plan->closes[id] &&
            plan->phase[id] == phase && !(compute_any(l, id, err) && put_outputs(l, id, err)))
            return false;
    return true;
}

// One tile: nodes with rows that this phase needs, and its part of what closes the phase. Outputs
// are put in the first phase that can compute them.
static bool compute_tile(struct computation *l, int phase, struct error *err) {
    const struct oracle_plan *plan = &l->plan;
    for (node_id id = 0; id < l->request->problem->graph.n_nodes; id++) {
        bool is_part = plan->carries[id] && (plan->needed[id] >> phase & 1);
        if (!plan->is_stored[id] ||
            !(is_part || (plan->closes[id] && plan->phase[id] - 1 == phase)))
            continue;
        if (!compute_any(l, id, err) ||
            (is_part && plan->phase[id] == phase && !put_outputs(l, id, err)))
            return false;
    }
    return true;
}

static bool has_tiles(const struct oracle_plan *plan, int phase) {
    for (node_id id = 0; id < plan->problem->graph.n_nodes; id++)
        if (plan->is_stored[id] && plan->carries[id] && (plan->needed[id] >> phase & 1))
            return true;
    return false;
}

static bool compute_phase(struct computation *l, int phase, int64_t n_rows, struct error *err) {
    const struct oracle_plan *plan = &l->plan;
    l->first = 0;
    l->rows = n_rows;
    bool ok = compute_once(l, phase, err), closes = false;
    for (node_id id = 0; id < plan->problem->graph.n_nodes; id++)
        closes =
            closes || (plan->closes[id] && plan->is_stored[id] && plan->phase[id] - 1 == phase);
    for (; ok && (closes || has_tiles(plan, phase)) && l->first < n_rows;
         l->first += plan->tile_rows) {
        int64_t left = n_rows - l->first;
        l->rows = left < plan->tile_rows ? left : plan->tile_rows;
        ok = compute_tile(l, phase, err);
    }
    l->first = 0;
    for (node_id id = 0; ok && closes && id < plan->problem->graph.n_nodes; id++)
        if (plan->closes[id] && plan->is_stored[id] && plan->phase[id] - 1 == phase)
            ok = close_reduction(l, id, err) && put_outputs(l, id, err);
    return ok;
}

bool gpu_oracle_take_work(struct gpu_oracle *o, int64_t bytes, struct error *err) {
    if (bytes <= o->work_bytes)
        return true;
    gpu_oracle_release(o);
    if (!cuda_ok(&o->bench->cu, o->bench->cu.allocate(&o->work, (size_t)bytes), "take memory", err))
        return false;
    o->work_bytes = bytes;
    return true;
}

// A position that rounding decides is right where what stands there is as good, which the host
// looks up (oracle_choice.h).
static bool is_decided(struct computation *l, int output, int64_t n, struct error *err) {
    struct judge_part sum;
    cuda_pointer units = l->request->expected[output].spread;
    uint64_t count = (uint64_t)n;
    int type = DTYPE_F64;
    void *arguments[] = {&units, &type, &count, &l->oracle->bench->parts};
    if (!oracle_choice_is(l->request->problem, output))
        return true;
    return gpu_bench_sum(l->oracle->bench, l->oracle->sum, count, arguments, &sum, err) &&
           (sum.sum == 0 || error_set(err, ERROR_UNSUPPORTED, "rounding decides which is best"));
}

static bool compute_all(struct computation *l, struct error *err) {
    const struct problem *p = l->request->problem;
    struct oracle_plan *plan = &l->plan;
    int64_t n_rows = l->request->n_rows ? l->request->n_rows : plan->n_rows;
    const struct cuda *cu = &l->oracle->bench->cu;
    int fault = 0;
    if (!gpu_oracle_take_work(l->oracle, plan->bytes + FAULT_BYTES, err))
        return false;
    l->work = l->oracle->work;
    l->fault = l->work + (cuda_pointer)plan->bytes;
    if (!cuda_ok(cu, cu->fill32(l->fault, 0, 1), "compute the truth", err))
        return false;
    for (int phase = 0; phase < plan->n_phases; phase++)
        if (!compute_phase(l, phase, n_rows, err))
            return false;
    if (!cuda_ok(cu, cu->copy_from(&fault, l->fault, sizeof fault), "compute the truth", err))
        return false;
    if (fault)  // the host says which
        return error_set(err, ERROR_UNSUPPORTED, "a value is out of range");
    for (int i = 0; i < p->n_outputs && !l->request->made; i++) {
        struct shape shape = oracle_plan_shape(plan, p->outputs[i].node, n_rows);
        int64_t count = shape_count(&shape);
        struct error_stats *s = &l->request->stats[i];
        if (!is_decided(l, i, count, err))
            return false;
        *s = (struct error_stats){.honest_rms = count ? sqrt(l->sums[i].sum / (double)count) : 0,
                                  .honest_max = l->sums[i].max};
        oracle_limit(s, p, l->request->set, i, count);
    }
    return true;
}

bool gpu_oracle_compute(struct gpu_oracle *o, const struct gpu_oracle_request *request,
                        struct error *err) {
    struct arena a = {0};
    const struct problem *p = request->problem;
    struct computation l = {.oracle = o, .request = request};
    int64_t budget = 0, inputs = 0;
    for (int i = 0; i < p->n_outputs; i++)
        budget +=
            2 * (int64_t)sizeof(float) * shape_count(&p->graph.nodes[p->outputs[i].node].shape);
    for (int i = 0; i < p->n_inputs; i++)
        inputs += (int64_t)sizeof(float) * shape_count(&p->graph.nodes[p->inputs[i].node].shape);
    size_t free_bytes = 0, total = 0;
    budget = budget > inputs / 2 ? budget : inputs / 2;
    if (budget < work_least_bytes)
        budget = work_least_bytes;
    if (!request->n_rows && o->bench->cu.memory_info(&free_bytes, &total) == 0) {
        int64_t spare = (int64_t)(free_bytes / 8);
        spare = spare < work_most_bytes ? spare : work_most_bytes;
        budget = budget > spare ? budget : spare;
    }
    budget = budget < work_most_bytes ? budget : work_most_bytes;
    if (request->n_rows)
        oracle_plan_make_rows(&a, p, request->n_rows, &l.plan);
    else
        oracle_plan_make(&a, p, o->budget_bytes ? o->budget_bytes : budget, &l.plan);
    bool ok = compute_all(&l, err);
    arena_reset(&a);
    return ok;
}

// ---- kernels that compute nothing

// Does one guess pass for output number i?
static bool try_guess(struct gpu_oracle *o, const struct gpu_oracle_request *request, int i,
                      struct oracle_guess *g, bool *passes, struct error *err) {
    const struct judge_expected *e = &request->expected[i];
    const struct error_stats *s = &request->stats[i];
    struct judge_part sum;
    g->high = e->high;
    g->low = e->low;
    g->spread = e->spread;
    void *arguments[] = {g, &o->bench->parts};
    if (!gpu_bench_sum(o->bench, o->guess, g->n, arguments, &sum, err))
        return false;
    *passes = sqrt(sum.sum / (double)g->n) <= s->limit_rms && sum.max <= s->limit_max;
    return true;
}

// The constant that is written: the mean of what is expected.
static bool find_constant(struct gpu_oracle *o, const struct judge_expected *e, enum dtype type,
                          uint64_t n, double *constant, struct error *err) {
    struct judge_part sum;
    struct judge_expected expected = *e;
    int stored = (int)type;
    void *arguments[] = {&stored, &expected.high, &expected.low, &n, &o->bench->parts};
    if (!gpu_bench_sum(o->bench, o->mean, n, arguments, &sum, err))
        return false;
    *constant = n ? dtype_round(type, sum.sum / (double)n) : 0;
    return true;
}

bool gpu_oracle_is_finite(struct gpu_oracle *o, cuda_pointer values, enum dtype type, int64_t n,
                          bool *is_finite, struct error *err) {
    struct judge_part sum;
    uint64_t count = (uint64_t)n;
    int stored = (int)type;
    void *arguments[] = {&values, &stored, &count, &o->bench->parts};
    if (!gpu_bench_sum(o->bench, o->sum, count, arguments, &sum, err))
        return false;
    *is_finite = isfinite(sum.sum);
    return true;
}

static bool guess_output(struct gpu_oracle *o, const struct gpu_oracle_request *request, int i,
                         struct null_kernels *t, struct error *err) {
    const struct problem *p = request->problem;
    const struct node *out = &p->graph.nodes[p->outputs[i].node];
    uint64_t n = (uint64_t)shape_count(&out->shape);
    bool zeros, constant, copy = false;
    if (!t->has_constants &&
        !find_constant(o, &request->expected[i], out->dtype, n, &t->constants[i], err))
        return false;
    struct oracle_guess nothing = {.n = n, .type = (int)out->dtype}, one = nothing;
    one.constant = t->constants[i];
    if (!try_guess(o, request, i, &nothing, &zeros, err) ||
        !try_guess(o, request, i, &one, &constant, err))
        return false;
    for (int in = 0; in < p->n_inputs && !copy; in++) {
        const struct node *from = &p->graph.nodes[p->inputs[in].node];
        struct oracle_guess data = nothing;
        data.data = request->inputs[in];
        data.data_type = (int)from->dtype;
        data.count = (uint64_t)shape_count(&from->shape);
        if (!try_guess(o, request, i, &data, &copy, err))
            return false;
    }
    t->passing &= (unsigned)zeros << NULL_ZEROS | (unsigned)copy << NULL_COPY |
                  (unsigned)constant << NULL_CONSTANT;
    return true;
}

bool gpu_oracle_null(struct gpu_oracle *o, const struct gpu_oracle_request *request,
                     struct null_kernels *t, struct error *err) {
    for (int i = 0; i < request->problem->n_outputs; i++)
        if (!guess_output(o, request, i, t, err))
            return false;
    t->has_constants = true;
    return true;
}
