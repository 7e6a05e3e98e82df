// The rules of `#pragma hone` lines that only GPUs have: launches with threads, shared memory,
// clusters, and tensor maps. Limits are those of the CUDA programming guide (grid, block) and of
// cuTensorMapEncodeTiled's documentation; what a device has of shared memory and clusters comes
// with the context.
#include <string.h>

#include "record/plan_reader.h"

enum { BLOCK_THREADS_MAX = 1024 };

static const int64_t grid_max[3] = {INT32_MAX, 65535, 65535};
static const int64_t block_max[3] = {1024, 1024, 64};
static const char axes[] = "xyz";

// Up to three sizes, the others 1.
static bool extents(struct plan_reader *r, const char *what, const int64_t max[3], int64_t out[3]) {
    int64_t values[3] = {0};
    int n = reader_list(r, values, 3);
    for (int i = 0; i < n; i++)
        if (values[i] < 1 || values[i] > max[i])
            reader_fail(r, "%s of %lld along %c; it is from 1 to %lld", what, (long long)values[i],
                        axes[i], (long long)max[i]);
    for (int i = 0; i < 3; i++)
        out[i] = i < n ? values[i] : 1;
    return !r->failed;
}

// grid = "grid" "(" expression ["," expression ["," expression]] ")"
void reader_gpu_grid(struct plan_reader *r, struct plan_step *s) {
    if (!extents(r, "a grid", grid_max, s->shape.grid))
        return;
    // Below 2^63, since y and z are below 2^16.
    s->grid = s->shape.grid[0] * s->shape.grid[1] * s->shape.grid[2];
}

static void block(struct plan_reader *r, struct plan_step *s) {
    int64_t *b = s->shape.block;
    if (extents(r, "a block", block_max, b) && b[0] * b[1] * b[2] > BLOCK_THREADS_MAX)
        reader_fail(r, "a block of %lld threads; at most %d", (long long)(b[0] * b[1] * b[2]),
                    BLOCK_THREADS_MAX);
}

static void shared(struct plan_reader *r, struct plan_step *s) {
    int64_t bytes = 0;
    if (reader_list(r, &bytes, 1) == 1 && (bytes < 0 || bytes > r->context->shared_per_block))
        reader_fail(r, "%lld bytes of shared memory; a block has at most %lld here",
                    (long long)bytes, (long long)r->context->shared_per_block);
    s->shape.shared_bytes = bytes;
}

static void cluster(struct plan_reader *r, struct plan_step *s) {
    int max = r->context->cluster_max;
    const int64_t each[3] = {max, max, max};
    int64_t *c = s->shape.cluster;
    if (!max) {
        reader_fail(r, "this device has no clusters");
        return;
    }
    if (extents(r, "a cluster", each, c) && c[0] * c[1] * c[2] > max)
        reader_fail(r, "a cluster of %lld blocks; at most %d", (long long)(c[0] * c[1] * c[2]),
                    max);
}

// gpu_clause = "block" extents | "shared" "(" expression ")" | "cluster" extents | "cooperative"
//            | "programmatic"
bool reader_gpu_clause(struct plan_reader *r, struct plan_step *s, const char *clause) {
    if (strcmp(clause, "block") == 0 && !s->shape.block[0])
        block(r, s);
    else if (strcmp(clause, "shared") == 0 && !s->shape.shared_bytes)
        shared(r, s);
    else if (strcmp(clause, "cluster") == 0 && !s->shape.cluster[0])
        cluster(r, s);
    else if (strcmp(clause, "cooperative") == 0 && !s->shape.is_cooperative)
        s->shape.is_cooperative = true;
    else if (strcmp(clause, "programmatic") == 0 && !s->shape.is_programmatic)
        s->shape.is_programmatic = true;
    else
        return false;
    return true;
}

// What begins early overlaps a launch of this plan, never what came before the call.
static void check_programmatic(struct plan_reader *r, const struct plan_step *s) {
    const struct plan *p = r->plan;
    const struct plan_step *before = p->n_steps > 1 ? &p->steps[p->n_steps - 2] : NULL;
    if (!s->shape.is_programmatic || r->failed)
        return;
    if (!r->context->cluster_max)
        reader_fail(r, "this device has no programmatic launches");
    else if (s->shape.is_cooperative)
        reader_fail(r, "launch '%s' is cooperative, so it cannot be programmatic", s->function);
    else if (!before || before->kind != STEP_LAUNCH)
        reader_fail(r, "launch '%s' is programmatic, but no launch comes right before it",
                    s->function);
}

void reader_check_gpu_launch(struct plan_reader *r, const struct plan_step *s) {
    const struct plan_shape *h = &s->shape;
    check_programmatic(r, s);
    if (!h->block[0])
        reader_fail(r, "launch '%s' has no block(...)", s->function);
    for (int i = 0; i < 3 && h->cluster[0]; i++)
        if (!r->failed && h->grid[i] % h->cluster[i])
            reader_fail(r, "a grid of %lld blocks along %c is no multiple of its cluster's %lld",
                        (long long)h->grid[i], axes[i], (long long)h->cluster[i]);
}

int reader_find_tensormap(const struct plan *p, const char *name) {
    for (int i = 0; i < p->n_tensormaps; i++)
        if (strcmp(p->tensormaps[i].name, name) == 0)
            return i;
    return -1;
}

static void check_extents(struct plan_reader *r, const struct plan_tensormap *m, int bytes) {
    const int64_t dim_max = (int64_t)1 << 32, stride_max = (int64_t)1 << 40;
    for (int i = 0; i < m->rank; i++) {
        if (m->dims[i] < 1 || m->dims[i] > dim_max)
            reader_fail(r, "dims: %lld is not from 1 to 2^32", (long long)m->dims[i]);
        if (m->box[i] < 1 || m->box[i] > 256)
            reader_fail(r, "box: %lld is not from 1 to 256", (long long)m->box[i]);
    }
    for (int i = 0; i + 1 < m->rank; i++)
        if (m->strides_bytes[i] < 16 || m->strides_bytes[i] >= stride_max ||
            m->strides_bytes[i] % 16)
            reader_fail(r, "strides: %lld is not a multiple of 16 bytes below 2^40",
                        (long long)m->strides_bytes[i]);
    int64_t inner = m->box[0] * bytes;
    if (inner % 16)
        reader_fail(r, "box: the innermost %lld elements take %lld bytes, no multiple of 16",
                    (long long)m->box[0], (long long)inner);
    if (m->swizzle_bytes && inner > m->swizzle_bytes)
        reader_fail(r, "box: the innermost %lld bytes are more than the swizzle's %d",
                    (long long)inner, m->swizzle_bytes);
}

// Rows that end where a copy says so: row r of those before row `end` has the coordinates
// 2^30 - end + r, end, 2^30. The last axis takes them back by 2^30 rows, since 2^30 times its
// stride and that of rows is a multiple of 2^64, where addresses wrap around; so the end, which has
// one coordinate more than there are rows, says how far the buffer is read.
static bool ends_rows(const struct plan_tensormap *m) {
    const int64_t most = (int64_t)1 << 30, wrap = (int64_t)1 << 34;
    return m->rank == 4 && m->dims[1] == most && m->dims[2] <= most && m->dims[3] == most + 1 &&
           m->strides_bytes[1] == m->strides_bytes[0] &&
           (m->strides_bytes[2] + m->strides_bytes[0]) % wrap == 0;
}

// What the map covers lies within its buffer.
static void check_inside(struct plan_reader *r, const struct plan_tensormap *m, int bytes) {
    const struct plan_buffer *b = &r->plan->buffers[m->buffer];
    int64_t last = 0;
    bool overflow = __builtin_mul_overflow(m->dims[0], bytes, &last), ends = ends_rows(m);
    if (ends)
        last += (m->dims[2] - 2) * m->strides_bytes[0];
    for (int i = 1; i < m->rank && !overflow && !ends; i++) {
        int64_t step;
        overflow = __builtin_mul_overflow(m->dims[i] - 1, m->strides_bytes[i - 1], &step) ||
                   __builtin_add_overflow(last, step, &last);
    }
    if (overflow || last > b->size_bytes)
        reader_fail(r, "'%s' reaches beyond the %lld bytes of '%s'", m->name,
                    (long long)b->size_bytes, b->name);
}

// Integers have no nan to be read where there is nothing.
static void check_outside(struct plan_reader *r, const struct plan_tensormap *m, enum dtype type) {
    // Types of eight bits are all bytes to the copy engine.
    if (m->is_nan_outside && (!dtype_is_float(type) || dtype_infos[type].bits == 8))
        reader_fail(r, "oob nan: '%s' holds %s, which has no nan; it is zero there",
                    r->plan->buffers[m->buffer].name, dtype_name(type));
}

const struct plan_map_type *plan_map_type(enum dtype type) {
    static const struct plan_map_type types[DTYPE_COUNT] = {
        [DTYPE_F32] = {"FLOAT32", 7},   [DTYPE_BOOL] = {"UINT8", 0},
        [DTYPE_F64] = {"FLOAT64", 8},   [DTYPE_F16] = {"FLOAT16", 6},
        [DTYPE_BF16] = {"BFLOAT16", 9}, [DTYPE_F8E4M3] = {"UINT8", 0},
        [DTYPE_F8E5M2] = {"UINT8", 0},  [DTYPE_I8] = {"UINT8", 0},
        [DTYPE_U8] = {"UINT8", 0},      [DTYPE_I32] = {"INT32", 3},
        [DTYPE_I64] = {"INT64", 5}};
    return types[type].name ? &types[type] : NULL;
}

// One of a few numbers in parentheses.
static int choice(struct plan_reader *r, const char *what, const int *choices, int n) {
    int64_t value = 0;
    if (reader_list(r, &value, 1) != 1)
        return 0;
    for (int i = 0; i < n; i++)
        if (choices[i] == value)
            return (int)value;
    reader_fail(r, "%s(%lld); it is %d, %d, %d or %d", what, (long long)value, choices[0],
                choices[1], choices[2], choices[3]);
    return 0;
}

// What is outside of the buffer reads as: "oob" ("zero" | "nan")
static void outside(struct plan_reader *r, struct plan_tensormap *m) {
    const char *what = reader_name(r, "zero or nan");
    m->is_nan_outside = strcmp(what, "nan") == 0;
    if (!m->is_nan_outside && strcmp(what, "zero") != 0)
        reader_fail(r, "oob %s; it is zero or nan", what);
}

struct map_counts {
    int dims, strides, box;
};

static void map_clause(struct plan_reader *r, struct plan_tensormap *m, struct map_counts *n,
                       const char *clause) {
    static const int swizzles[] = {0, 32, 64, 128}, promotions[] = {0, 64, 128, 256};
    if (strcmp(clause, "dims") == 0 && !n->dims)
        n->dims = reader_list(r, m->dims, TENSORMAP_RANK_MAX);
    else if (strcmp(clause, "strides") == 0 && !n->strides)
        n->strides = reader_list(r, m->strides_bytes, TENSORMAP_RANK_MAX - 1);
    else if (strcmp(clause, "box") == 0 && !n->box)
        n->box = reader_list(r, m->box, TENSORMAP_RANK_MAX);
    else if (strcmp(clause, "swizzle") == 0)
        m->swizzle_bytes = choice(r, "swizzle", swizzles, 4);
    else if (strcmp(clause, "promote") == 0)
        m->promote_bytes = choice(r, "promote", promotions, 4);
    else if (strcmp(clause, "oob") == 0)
        outside(r, m);
    else
        reader_fail(r,
                    "unexpected '%s'; a tensor map has dims(...), strides(...), box(...) and may "
                    "have swizzle(...), promote(...), oob zero|nan",
                    clause);
}

static void name_map(struct plan_reader *r, struct plan_tensormap *m) {
    m->name = reader_name(r, "the tensor map's name");
    bool is_taken = reader_find_tensormap(r->plan, m->name) >= 0;
    for (int i = 0; i < r->plan->n_buffers; i++)
        is_taken = is_taken || strcmp(r->plan->buffers[i].name, m->name) == 0;
    if (!r->failed && is_taken)
        reader_fail(r, "there is a '%s' already", m->name);
    reader_expect(r, '=');
    m->buffer = reader_buffer(r);
}

// tensormap = "tensormap" name "=" buffer (dims | strides | box | swizzle | promote | oob)*
void reader_tensormap(struct plan_reader *r) {
    struct plan_tensormap m = {0};
    struct map_counts n = {0};
    if (!r->context->is_gpu || !r->context->cluster_max)
        reader_fail(r, "this device has no tensor maps");
    name_map(r, &m);
    for (const char *clause = reader_word(r); *clause && !r->failed; clause = reader_word(r))
        map_clause(r, &m, &n, clause);
    m.rank = n.dims;
    if (!r->failed && (!n.dims || n.box != n.dims || n.strides != n.dims - 1))
        reader_fail(r,
                    "tensor map '%s' has %d dims, %d strides, %d in its box; of n dims n - 1 "
                    "strides (in bytes, the innermost is not told) and n",
                    m.name, n.dims, n.strides, n.box);
    if (!r->failed && r->plan->n_tensormaps == PLAN_TENSORMAPS_MAX)
        reader_fail(r, "more than %d tensor maps", PLAN_TENSORMAPS_MAX);
    if (r->failed)
        return;
    enum dtype type = r->plan->buffers[m.buffer].type;
    int bytes = dtype_infos[type].bits / 8;
    if (!plan_map_type(type)) {
        reader_fail(r, "'%s' holds %s, of which there are no tensor maps",
                    r->plan->buffers[m.buffer].name, dtype_name(type));
        return;
    }
    check_outside(r, &m, type);
    check_extents(r, &m, bytes);
    if (!r->failed)
        check_inside(r, &m, bytes);
    *plan_add_tensormap(r->arena, r->plan) = m;
}
