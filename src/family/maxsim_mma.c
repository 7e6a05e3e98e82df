// MaxSim on tensor cores that a warp drives (mma.sync, sm_80 and later), for f16 and bf16:
// documents are read once, straight into registers.
//
// The depth of a product may be walked in any order as long as both operands have the same. So a
// thread reads 16 bytes of a token at once, where an instruction would have its elements from four
// places, and what it has of the queries was read in the same way: nothing passes shared memory,
// and warps go on without each other. Each has a document at a time, all queries in registers as
// rows of the product, and reads the next tokens while it multiplies; rows keep the largest of
// their columns, and at the end the warp adds up its rows.
//
// Tokens beyond the last one are the last one again, which changes no maximum.
#include <math.h>

#include "base/arena.h"
#include "family/gemm_mma.h"
#include "family/gpu.h"
#include "family/maxsim_form.h"

static const int warps_grid[] = {1, 2, 4, 8, -1};
static const int tokens_grid[] = {8, 16, 32, -1};
static const int min_blocks_grid[] = {1, 2, 3, 4, 6, 8, -1};

static const struct knob knobs[] = {
    {.name = "warps", .summary = "warps of a block", .n_parts = 1, .grid = {warps_grid}},
    {.name = "tokens",
     .summary = "tokens that a warp reads at once, and multiplies meanwhile",
     .n_parts = 1,
     .grid = {tokens_grid}},
    {.name = "minblocks",
     .summary = "blocks that a multiprocessor shall hold",
     .n_parts = 1,
     .grid = {min_blocks_grid}},
    {0},
};

// A chunk of the depth: what four threads read of a row at once, two products deep.
enum { CHUNK = 32, DEPTH_MAX = 128, QUERIES_MAX = 64 };

struct sizes {
    int warps, tokens, resident;
    int chunks;              // of the depth
    int rows;                // of 16 queries
    int units;               // of `tokens` in a document; even
    int64_t query_words;     // of a thread
    int64_t token_words;     // of 8 tokens, of a thread
    int64_t blocks, rounds;  // of the grid; documents of a warp
};

static struct sizes read_sizes(const struct maxsim_form *f, const struct kernel_stage *s, int sms) {
    struct sizes z = {.warps = stage_number(s, "warps", 0),
                      .tokens = stage_number(s, "tokens", 0),
                      .resident = stage_number(s, "minblocks", 0),
                      .chunks = (int)(f->depth / CHUNK),
                      .rows = (int)((f->queries + 15) / 16)};
    int64_t pairs = (f->tokens + 2 * z.tokens - 1) / (2 * z.tokens);
    z.units = (int)(2 * pairs);
    z.query_words = (int64_t)z.rows * z.chunks * 8;
    z.token_words = (int64_t)z.chunks * 4;
    int64_t most = (f->documents + z.warps - 1) / z.warps;
    z.blocks = (int64_t)sms * z.resident;
    z.blocks = z.blocks < most ? z.blocks : most;
    z.rounds = (f->documents + z.blocks * z.warps - 1) / (z.blocks * z.warps);
    return z;
}

static bool accepts(const struct form *f, const struct target *t, struct objection *why) {
    (void)t;
    const struct maxsim_form *m = f->maxsim;
    enum mma_kind kind;
    if (!mma_find_kind(f, m->storage, &kind) || (kind != MMA_KIND_F16 && kind != MMA_KIND_BF16))
        return objection(why, NULL, "mma takes documents of f16 or bf16, and those of %s are %s",
                         form_node(f, m->product)->name, dtype_name(m->storage));
    if (m->depth % CHUNK != 0 || m->depth > DEPTH_MAX || m->queries > QUERIES_MAX)
        return objection(why, NULL,
                         "mma keeps up to %d queries in registers, of 32, 64, 96 or 128 elements, "
                         "and %s has %lld of %lld; materialise it first",
                         QUERIES_MAX, form_node(f, m->product)->name, (long long)m->queries,
                         (long long)m->depth);
    return true;
}

// Words and sums of a thread: queries, two sets of tokens, sums, the largest.
static int64_t registers_of(const struct sizes *z) {
    return z->query_words + 2 * z->token_words * z->tokens / 8 + 4 * z->rows * z->tokens / 8 +
           4 * z->rows;
}

static bool is_legal(const struct form *f, const struct target *t, const struct kernel_stage *s,
                     struct objection *why) {
    struct sizes z = read_sizes(f->maxsim, s, t->sms);
    int threads = GPU_WARP * z.warps;
    struct gpu_demand demand = {"tokens", threads, registers_of(&z), "fewer tokens"};
    if (!gpu_legal_registers(t, &demand, why))
        return false;
    if (z.resident > 1 && (z.resident * threads > t->threads_per_sm ||
                           (registers_of(&z) + 40) * threads * z.resident > t->registers_per_sm))
        return objection(why, "minblocks",
                         "a multiprocessor has no room for %d such blocks: the nearest is "
                         "minblocks 1",
                         z.resident);
    return true;
}

static double estimate(const struct form *f, const struct target *t, const struct kernel_stage *s) {
    const struct maxsim_form *m = f->maxsim;
    struct sizes z = read_sizes(m, s, t->sms);
    struct region_work w;
    region_count(f->region, &w);
    double warps = (double)z.blocks * z.warps;
    // What is under way, for some 1.2 us under load.
    double under_way = warps * z.tokens * (double)m->depth * 2 / 1.2e-6;
    double memory = (w.bytes_read + w.bytes_written) / fmin(gpu_bytes_per_s(t), under_way);
    double peak =
        t->peak_per_s[PIPE_F16] > 0 ? t->peak_per_s[PIPE_F16] : 1024.0 * t->sms * t->top_clock_hz;
    double products = 2.0 * (double)m->documents * z.units * z.tokens * z.rows * 16 *
                      (double)m->depth / (0.4 * peak);
    return fmax(memory, products) + 0.1 * fmin(memory, products) + 6e-6;
}

static void defaults(const struct form *f, const struct target *t, struct kernel_stage *s) {
    static const int tries[][3] = {{4, 16, 3}, {4, 16, 2}, {4, 8, 3}, {4, 8, 2},
                                   {4, 16, 1}, {4, 8, 1},  {2, 8, 1}};
    struct objection why;
    double least = INFINITY;
    int best = 6;
    for (int i = 0; i < 7; i++) {
        stage_set(s, "warps", 0, tries[i][0]);
        stage_set(s, "tokens", 0, tries[i][1]);
        stage_set(s, "minblocks", 0, tries[i][2]);
        if (!is_legal(f, t, s, &why))
            continue;
        double seconds = estimate(f, t, s);
        if (seconds < least)
            least = seconds, best = i;
    }
    stage_set(s, "warps", 0, tries[best][0]);
    stage_set(s, "tokens", 0, tries[best][1]);
    stage_set(s, "minblocks", 0, tries[best][2]);
}

// ---- the kernel

struct build {
    struct lowering *l;
    struct arena *a;
    const struct maxsim_form *f;
    struct sizes z;
    const struct loop_expr *warp, *lane;                     // of the grid; of the warp
    struct loop_buffer *query, *words, *sum, *best, *score;  // registers
};

#define BUILD struct build
#include "family/index_arithmetic.h"

static const struct loop_expr *at_most(const struct build *x, const struct loop_expr *p,
                                       int64_t q) {
    return loop_binary(x->a, LOOP_MIN, p, num(x, q));
}

// 16 bytes of chunk `c` of a row that begins at element `row`.
static const struct loop_expr *piece(const struct build *x, const struct loop_expr *row,
                                     const struct loop_expr *c) {
    const struct loop_expr *own = times(x, rest(x, x->lane, 4), 8);
    return add(x, row, add(x, times(x, c, CHUNK), own));
}

// Rows g and g + 8 of every 16 queries; those beyond the last are the last.
static void read_queries(const struct build *x, struct loop_builder *b) {
    struct loop_builder by_row, by_chunk;
    const struct loop_expr *row[2];
    const struct loop_expr *r = open_unrolled(x, b, "r", x->z.rows, &by_row);
    for (int i = 0; i < 2; i++) {
        row[i] = add(x, times(x, r, 16), add(x, quotient(x, x->lane, 4), num(x, 8 * i)));
        row[i] = times(x, at_most(x, row[i], x->f->queries - 1), x->f->depth);
        row[i] = loop_let(&by_row, i ? "second" : "first", row[i]);
    }
    const struct loop_expr *c = open_unrolled(x, &by_row, "c", x->z.chunks, &by_chunk);
    const struct loop_expr *to = times(x, add(x, times(x, r, x->z.chunks), c), 8);
    struct loop_buffer *from = x->l->buffer[x->f->query];
    loop_intrinsic(&by_chunk, INTRINSIC_LOAD_ROWS,
                   (struct loop_operand[]){
                       {x->query, to}, {from, piece(x, row[0], c)}, {from, piece(x, row[1], c)}});
    loop_close(&by_row, &by_chunk);
    loop_close(b, &by_row);
}

// The tokens of one unit, counted through all documents of the warp, into one set of words.
static void read_tokens(const struct build *x, struct loop_builder *b, const struct loop_expr *unit,
                        int set) {
    struct loop_builder by_tile, by_chunk;
    int64_t total = x->z.blocks * x->z.warps;
    const struct loop_expr *doc = times(x, quotient(x, unit, x->z.units), total);
    doc = loop_let(b, "next", at_most(x, add(x, doc, x->warp), x->f->documents - 1));
    const struct loop_expr *first = times(x, rest(x, unit, x->z.units), x->z.tokens);
    first = loop_let(b, "token", add(x, first, quotient(x, x->lane, 4)));
    const struct loop_expr *t = open_unrolled(x, b, "t", x->z.tokens / 8, &by_tile);
    const struct loop_expr *token = at_most(x, add(x, first, times(x, t, 8)), x->f->tokens - 1);
    const struct loop_expr *row = add(x, times(x, doc, x->f->tokens), token);
    row = loop_let(&by_tile, "row", times(x, row, x->f->depth));
    const struct loop_expr *c = open_unrolled(x, &by_tile, "c", x->z.chunks, &by_chunk);
    const struct loop_expr *to = add(x, times(x, t, x->z.chunks), c);
    to = add(x, times(x, to, 4), num(x, set * x->z.token_words * (x->z.tokens / 8)));
    loop_intrinsic(
        &by_chunk, INTRINSIC_LOAD_ROW,
        (struct loop_operand[]){{x->words, to}, {x->l->buffer[x->f->docs], piece(x, row, c)}});
    loop_close(&by_tile, &by_chunk);
    loop_close(b, &by_tile);
}

// Products of all queries with the tokens of a set, and the largest of each row so far.
static void multiply(const struct build *x, struct loop_builder *b, int set) {
    struct loop_builder by_tile, by_row, by_step, by_half;
    enum loop_intrinsic product =
        x->f->storage == DTYPE_F16 ? INTRINSIC_MMA_F16 : INTRINSIC_MMA_BF16;
    const struct loop_expr *t = open_unrolled(x, b, "t", x->z.tokens / 8, &by_tile);
    const struct loop_expr *r = open_unrolled(x, &by_tile, "r", x->z.rows, &by_row);
    const struct loop_expr *sum = times(x, add(x, times(x, t, x->z.rows), r), 2);
    for (int i = 0; i < 2; i++)
        loop_store(&by_row, x->sum, add(x, sum, num(x, i)), loop_real(x->a, 0), false);
    const struct loop_expr *s = open_unrolled(x, &by_row, "s", 2 * x->z.chunks, &by_step);
    const struct loop_expr *left = times(x, add(x, times(x, r, 2 * x->z.chunks), s), 4);
    const struct loop_expr *right = add(x, times(x, t, 2 * x->z.chunks), s);
    right = add(x, times(x, right, 2), num(x, set * x->z.token_words * (x->z.tokens / 8)));
    loop_intrinsic(&by_step, product,
                   (struct loop_operand[]){{x->sum, sum}, {x->query, left}, {x->words, right}});
    loop_close(&by_row, &by_step);
    const struct loop_expr *h = open_unrolled(x, &by_row, "h", 2, &by_half);
    const struct loop_expr *at = add(x, times(x, r, 2), h);
    loop_store(&by_half, x->best, at,
               loop_binary(x->a, LOOP_MAX, loop_load(x->a, x->best, at, 2, 1),
                           loop_load(x->a, x->sum, add(x, sum, h), 2, 1)),
               false);
    loop_close(&by_row, &by_half);
    loop_close(&by_tile, &by_row);
    loop_close(b, &by_tile);
}

static void clear_best(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner;
    const struct loop_expr *i = open_unrolled(x, b, "i", 2 * x->z.rows, &inner);
    loop_store(&inner, x->best, i, loop_real(x->a, -INFINITY), false);
    loop_close(b, &inner);
}

// The largest over all columns, added up over the rows that are queries. Four threads have the same
// row, so each counts a quarter.
static const struct loop_expr *add_rows(const struct build *x, struct loop_builder *b) {
    struct loop_builder inner, some;
    const struct loop_expr *zero = num(x, 0);
    loop_store(b, x->score, zero, loop_real(x->a, 0), false);
    const struct loop_expr *i = open_unrolled(x, b, "i", 2 * x->z.rows, &inner);
    loop_intrinsic(&inner, INTRINSIC_QUAD_MAX, (struct loop_operand[]){{x->best, i}});
    const struct loop_expr *row = add(x, times(x, i, 8), quotient(x, x->lane, 4));
    loop_open_if(&inner, row, num(x, x->f->queries), &some);
    const struct loop_expr *v = loop_lane(x->a, loop_load(x->a, x->best, i, 2, 1), zero);
    loop_store(&some, x->score, zero,
               loop_binary(x->a, LOOP_ADD, loop_load(x->a, x->score, zero, 1, 1), v), false);
    loop_close(&inner, &some);
    loop_close(b, &inner);
    const struct loop_expr *own = loop_let(b, "own", loop_load(x->a, x->score, zero, 1, 1));
    const struct loop_expr *all = loop_let(b, "rows", loop_unary(x->a, LOOP_WARP_SUM, own));
    return loop_binary(x->a, LOOP_MUL, all, loop_real(x->a, 0.25));
}

static void store_score(const struct build *x, struct loop_builder *b, struct scope *top,
                        const struct loop_expr *round) {
    struct loop_builder one, some;
    const struct region *r = x->l->region;
    const struct loop_expr *score = add_rows(x, b);
    const struct loop_expr *doc = add(x, times(x, round, x->z.blocks * x->z.warps), x->warp);
    doc = loop_let(b, "document", doc);
    loop_open_if(b, x->lane, num(x, 1), &one);
    loop_open_if(&one, doc, num(x, x->f->documents), &some);
    struct scope s = scope_inside(top, &some);
    s.index[0] = doc;
    struct axis_map map = map_identity(1);
    const char *name = r->graph->nodes[x->f->total].name;
    point_define(&s, x->f->total, &map, loop_let(&some, name, score));
    for (int v = 0; v < r->n_values; v++)
        point_store(&s, v, &map, false);
    loop_close(&one, &some);
    loop_close(b, &one);
}

static void walk(const struct build *x, struct loop_builder *b, struct scope *top) {
    struct loop_builder by_doc, by_pair;
    read_queries(x, b);
    read_tokens(x, b, num(x, 0), 0);
    struct loop_for docs = {"round", num(x, 0), num(x, x->z.rounds), 1, false};
    const struct loop_expr *round = loop_open_for(b, &docs, &by_doc);
    clear_best(x, &by_doc);
    struct loop_for pairs = {"pair", num(x, 0), num(x, x->z.units / 2), 1, false};
    const struct loop_expr *pair = loop_open_for(&by_doc, &pairs, &by_pair);
    const struct loop_expr *unit = add(x, times(x, round, x->z.units), times(x, pair, 2));
    unit = loop_let(&by_pair, "unit", unit);
    read_tokens(x, &by_pair, add(x, unit, num(x, 1)), 1);
    multiply(x, &by_pair, 0);
    read_tokens(x, &by_pair, add(x, unit, num(x, 2)), 0);
    multiply(x, &by_pair, 1);
    loop_close(&by_doc, &by_pair);
    store_score(x, &by_doc, top, round);
    loop_close(b, &by_doc);
}

static void lower(struct lowering *l, const struct form *form, const struct kernel_stage *s) {
    struct build x = {.l = l, .a = l->arena, .f = form->maxsim};
    x.z = read_sizes(x.f, s, l->sms);
    maxsim_build_space(l, x.f);
    struct loop_builder b;
    struct gpu_kernel k = gpu_open_kernel(l, arena_printf(x.a, "%s_maxsim", s->values[0]),
                                          num(&x, x.z.blocks), GPU_WARP * x.z.warps, &b);
    k.kernel->min_blocks = x.z.resident;
    struct loop_program *p = l->program;
    x.query = loop_register_of(p, "query_words", x.z.query_words, 1, LOOP_I32);
    x.words = loop_register_of(p, "words", 2 * x.z.token_words * (x.z.tokens / 8), 1, LOOP_I32);
    x.sum = loop_register(p, "sum", (int64_t)2 * x.z.rows * (x.z.tokens / 8), 2);
    x.best = loop_register(p, "best", (int64_t)2 * x.z.rows, 2);
    x.score = loop_register(p, "score", 1, 1);
    x.lane = loop_let(&b, "lane", rest(&x, k.thread, GPU_WARP));
    x.warp = add(&x, times(&x, k.block, x.z.warps), quotient(&x, k.thread, GPU_WARP));
    x.warp = loop_let(&b, "warp", x.warp);
    struct scope top = {.lowering = l, .builder = &b, .lane_group = -1, .lanes = 1};
    walk(&x, &b, &top);
}

const struct emitter maxsim_mma = {
    .name = "mma",
    .summary = "the sum of the largest of each row of a product, on tensor cores",
    .knobs = knobs,
    .runs_on = mma_runs_on,
    .accepts = accepts,
    .defaults = defaults,
    .is_legal = is_legal,
    .lower = lower,
    .estimate = estimate,
};
