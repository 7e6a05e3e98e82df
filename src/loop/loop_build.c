// Constructors that simplify as they build, names that clash with nothing in C or CUDA, buffers and
// kernels.
#include "loop/loop_build.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "loop/loop_call.h"
#include "loop/range.h"

enum {
    F = 1 << LOOP_F32 | 1 << LOOP_F64,
    W = 1 << LOOP_I32 | 1 << LOOP_I64,
    M = 1 << LOOP_MASK,
    X = 1 << LOOP_INDEX,
    S = 1 << LOOP_F32,
    P = 1 << LOOP_I32
};
const struct loop_op_info loop_ops[LOOP_OP_COUNT] = {
#define LOOP_OP(id, arity, takes, text) [LOOP_##id] = {text, arity, takes},
#include "loop/loop_ops.def"
#undef LOOP_OP
};

#define NOTHING \
    { .kind = OPERAND_NONE }
#define MEMORY(how, where, bytes) \
    { .kind = OPERAND_MEMORY, .use = USE_##how, .space = LOOP_##where, .count = (bytes) }
#define FRAGMENT(how, n, type, wide)                                                      \
    {                                                                                     \
        .kind = OPERAND_REGISTER, .use = USE_##how, .space = LOOP_REGISTER, .count = (n), \
        .value = (type), .lanes = (wide)                                                  \
    }
#define WORDS(how, n) FRAGMENT(how, n, LOOP_I32, 1)
#define SUMS(how, n) FRAGMENT(how, n, LOOP_F32, 2)
#define COUNTS(how, n) FRAGMENT(how, n, LOOP_I32, 2)
#define NUMBERS(how, n) FRAGMENT(how, n, LOOP_F32, 1)
#define BARRIER MEMORY(UPDATE, SHARED, 8)
#define MAP \
    { .kind = OPERAND_MAP, .use = USE_READ, .space = LOOP_MAP }
#define NUMBER(least, most) \
    { .kind = OPERAND_NUMBER, .low = (least), .high = (most) }
#define CONSTANT(least, most) \
    { .kind = OPERAND_NUMBER, .low = (least), .high = (most), .is_constant = true }
const struct intrinsic_info intrinsic_infos[INTRINSIC_COUNT] = {
#define INTRINSIC(id, name, who, what, ...) \
    [INTRINSIC_##id] = {name, SCOPE_##who, EFFECT_##what, {__VA_ARGS__}},
#include "loop/intrinsics.def"
#undef INTRINSIC
};

// Names.

// Words that cannot be identifiers, or that emitted code calls or declares itself.
static const char *const reserved[] = {
    "auto",     "break",   "case",   "char",     "const",    "continue", "default",  "do",
    "double",   "else",    "enum",   "extern",   "float",    "for",      "goto",     "if",
    "inline",   "int",     "long",   "register", "restrict", "return",   "short",    "signed",
    "sizeof",   "static",  "struct", "switch",   "typedef",  "union",    "unsigned", "void",
    "volatile", "while",   "asm",    "typeof",   "fabsf",    "expf",     "logf",     "sqrtf",
    "tanhf",    "erff",    "fmaxf",  "fminf",    "f32x4",    "maxf",     "minf",     "f32x8",
    "f32x16",   "i32x4",   "i32x8",  "i32x16",   "linux",    "unix",     "main",     "isnan",
    "NAN",      "INFINITY"};

// What CUDA reserves beyond C, and what the launch binds.
static const char *const reserved_cuda[] = {
    "and",     "bool",     "catch",  "class",     "constexpr", "decltype", "delete",   "explicit",
    "export",  "false",    "friend", "mutable",   "namespace", "new",      "noexcept", "not",
    "nullptr", "operator", "or",     "private",   "protected", "public",   "template", "this",
    "throw",   "true",     "try",    "typeid",    "typename",  "using",    "virtual",  "wchar_t",
    "xor",     "f32x2",    "i32x2",  "threadIdx", "blockIdx",  "blockDim", "gridDim",  "warpSize",
    "dim3",    "block",    "thread"};

// Functions of the C library that emitted C may call, in float and in double.
static const char *const reserved_library[] = {
    "sinf",  "cosf",   "tanf",   "asinf", "acosf",  "atanf", "sinhf", "coshf",  "exp2f", "expm1f",
    "log2f", "log10f", "log1pf", "erfcf", "floorf", "ceilf", "rintf", "truncf", "powf",  "atan2f",
    "sin",   "cos",    "tan",    "asin",  "acos",   "atan",  "sinh",  "cosh",   "exp2",  "expm1",
    "log2",  "log10",  "log1p",  "erfc",  "floor",  "ceil",  "rint",  "trunc",  "pow",   "atan2",
    "fabs",  "exp",    "log",    "sqrt",  "tanh",   "erf"};

// Where a name is in the table, or where it would go. A network's kernels have thousands, and every
// variable of the text asks.
static const char **find_name(const struct loop_program *p, const char *name) {
    size_t mask = (size_t)p->cap_names - 1, i = hash_bytes(name, strlen(name), 0) & mask;
    while (p->names[i] && strcmp(p->names[i], name) != 0)
        i = (i + 1) & mask;
    return &p->names[i];
}

bool loop_name_is_taken(const struct loop_program *p, const char *name) {
    return *find_name(p, name) != NULL;
}

// Room for one more pointer in an array that doubles; returns the array.
static void *grow(struct arena *a, void *array, int n, int *cap) {
    if (n < *cap)
        return array;
    void **larger = arena_array(a, void *, *cap * 2 + 16);
    if (n > 0)
        memcpy(larger, array, sizeof *larger * (size_t)n);
    *cap = *cap * 2 + 16;
    return larger;
}

static void take_name(struct loop_program *p, const char *name) {
    if (2 * (p->n_names + 1) > p->cap_names) {
        const char **former = p->names;
        int n = p->cap_names;
        p->cap_names = n ? 2 * n : 1024;
        p->names = arena_array(p->arena, const char *, p->cap_names);
        for (int i = 0; i < n; i++)
            if (former[i])
                *find_name(p, former[i]) = former[i];
    }
    const char **slot = find_name(p, name);
    p->n_names += !*slot;
    *slot = name;
}

static void take_names(struct loop_program *p, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        take_name(p, names[i]);
}

struct loop_program *loop_program_new(struct arena *a) {
    struct loop_program *p = arena_new(a, struct loop_program);
    p->arena = a;
    take_names(p, reserved, sizeof reserved / sizeof *reserved);
    take_names(p, reserved_cuda, sizeof reserved_cuda / sizeof *reserved_cuda);
    take_names(p, reserved_library, sizeof reserved_library / sizeof *reserved_library);
    return p;
}

const char *loop_identifier(struct arena *a, const char *name) {
    char *stem = arena_strdup(a, name);
    for (char *c = stem; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    // Names with these beginnings belong to C or to the runtime header.
    bool is_ours = strncmp(stem, "hone_", 5) == 0 || strncmp(stem, "HONE_", 5) == 0;
    if (!stem[0] || stem[0] == '_' || isdigit((unsigned char)stem[0]) || is_ours)
        return arena_printf(a, "v_%s", stem);
    return stem;
}

const char *loop_unique_name(struct loop_program *p, const char *name) {
    const char *stem = loop_identifier(p->arena, name), *unique = stem;
    for (int i = 2; loop_name_is_taken(p, unique); i++)
        unique = arena_printf(p->arena, "%s_%d", stem, i);
    take_name(p, unique);
    return unique;
}

bool loop_add_dim(struct loop_program *p, struct loop_size size) {
    if (loop_name_is_taken(p, size.name) || strncmp(size.name, "hone_", 5) == 0)
        return false;
    assert(p->n_dims < LOOP_DIMS_MAX);
    p->dims[p->n_dims++] = size;
    take_name(p, size.name);
    return true;
}

// Buffers and kernels.

static struct loop_buffer *add_buffer(struct loop_program *p, enum loop_space space,
                                      const char *name) {
    p->buffers = grow(p->arena, p->buffers, p->n_buffers, &p->cap_buffers);
    struct loop_buffer *b = arena_new(p->arena, struct loop_buffer);
    *b = (struct loop_buffer){.name = loop_unique_name(p, name), .space = space, .lanes = 1};
    b->id = p->n_buffers;
    p->buffers[p->n_buffers++] = b;
    return b;
}

static void set_shape(struct loop_buffer *b, enum dtype dtype, const struct loop_size *shape,
                      int rank) {
    assert(rank <= BUFFER_RANK_MAX);
    b->dtype = dtype;
    b->value = loop_arithmetic(dtype);
    b->rank = rank;
    b->count = 1;
    for (int i = 0; i < rank; i++) {
        b->shape[i] = shape[i];
        b->count *= shape[i].value;
    }
}

struct loop_buffer *loop_global_of(struct loop_program *p, const char *plan, enum loop_role role,
                                   enum dtype dtype, const struct loop_size *shape, int rank) {
    struct loop_buffer *b = add_buffer(p, LOOP_GLOBAL, plan);
    // The plan names scratch after the identifier; inputs and outputs are the problem's.
    b->plan = role == LOOP_SCRATCH ? b->name : plan;
    b->role = role;
    set_shape(b, dtype, shape, rank);
    return b;
}

struct loop_buffer *loop_global(struct loop_program *p, const char *plan, enum loop_role role,
                                const struct loop_size *shape, int rank) {
    return loop_global_of(p, plan, role, DTYPE_F32, shape, rank);
}

struct loop_buffer *loop_local_of(struct loop_program *p, const char *name, enum dtype dtype,
                                  const struct loop_size *shape, int rank) {
    struct loop_buffer *b = add_buffer(p, LOOP_LOCAL, name);
    set_shape(b, dtype, shape, rank);
    return b;
}

struct loop_buffer *loop_local(struct loop_program *p, const char *name,
                               const struct loop_size *shape, int rank) {
    return loop_local_of(p, name, DTYPE_F32, shape, rank);
}

static bool has_taken_element(struct loop_program *p, const char *name, int64_t count) {
    if (loop_name_is_taken(p, name))
        return true;
    for (int64_t i = 0; count > 1 && i < count; i++)
        if (loop_name_is_taken(p, arena_printf(p->arena, "%s_%lld", name, (long long)i)))
            return true;
    return false;
}

struct loop_buffer *loop_register_of(struct loop_program *p, const char *name, int64_t count,
                                     int lanes, enum loop_dtype value) {
    assert(value != LOOP_INDEX);
    // Elements are variables of their own, called name_0 and so on.
    while (has_taken_element(p, loop_identifier(p->arena, name), count))
        name = arena_printf(p->arena, "%s_", name);
    struct loop_buffer *b = add_buffer(p, LOOP_REGISTER, name);
    for (int64_t i = 0; count > 1 && i < count; i++)
        take_name(p, arena_printf(p->arena, "%s_%lld", b->name, (long long)i));
    b->count = count;
    b->lanes = lanes;
    b->value = value;
    return b;
}

struct loop_buffer *loop_register(struct loop_program *p, const char *name, int64_t count,
                                  int lanes) {
    return loop_register_of(p, name, count, lanes, LOOP_F32);
}

struct loop_buffer *loop_shared_of(struct loop_program *p, const char *name, enum dtype dtype,
                                   const struct loop_size *shape, int rank) {
    struct loop_buffer *b = add_buffer(p, LOOP_SHARED, name);
    set_shape(b, dtype, shape, rank);
    return b;
}

struct loop_buffer *loop_shared(struct loop_program *p, const char *name,
                                const struct loop_size *shape, int rank) {
    return loop_shared_of(p, name, DTYPE_F32, shape, rank);
}

struct loop_buffer *loop_map_of(struct loop_program *p, const char *name,
                                const struct loop_map *map) {
    struct loop_buffer *b = add_buffer(p, LOOP_MAP, name);
    b->plan = b->name;
    b->dtype = map->of->dtype;
    b->value = map->of->value;
    b->map = arena_copy(p->arena, map, sizeof *map);
    return b;
}

static struct loop_var *new_var(struct loop_program *p, const char *name, enum loop_dtype dtype,
                                int lanes) {
    struct loop_var *v = arena_new(p->arena, struct loop_var);
    *v = (struct loop_var){.name = name, .dtype = dtype, .lanes = lanes, .id = p->n_vars++};
    v->low = INT64_MIN;
    v->high = INT64_MAX;
    return v;
}

struct loop_kernel *loop_kernel_new(struct loop_program *p, const char *name,
                                    const struct loop_expr *grid, struct loop_builder *b) {
    p->kernels = grow(p->arena, p->kernels, p->n_kernels, &p->cap_kernels);
    struct loop_kernel *k = arena_new(p->arena, struct loop_kernel);
    k->name = loop_unique_name(p, name);
    k->grid = grid;
    // The parameter is called `block` in every kernel, so the name is no single kernel's.
    k->block = new_var(p, "block", LOOP_INDEX, 1);
    k->block->low = 0;
    k->block->high = range_of(grid).high - 1;
    p->kernels[p->n_kernels++] = k;
    *b = (struct loop_builder){.program = p, .at = &k->body};
    return k;
}

void loop_call_new(struct loop_program *p, const char *name, const struct loop_call *call) {
    struct loop_builder none;
    struct loop_kernel *k = loop_kernel_new(p, name, loop_int(p->arena, 1), &none);
    k->call = arena_copy(p->arena, call, sizeof *call);
}

const struct loop_expr *loop_kernel_threads(struct loop_program *p, struct loop_kernel *k,
                                            int threads) {
    assert(threads > 0 && threads % 32 == 0);
    k->threads = threads;
    k->thread = new_var(p, "thread", LOOP_INDEX, 1);
    k->thread->low = 0;
    k->thread->high = threads - 1;
    return loop_ref(p->arena, k->thread);
}

// Statements.

static struct loop_stmt *new_stmt(struct arena *a, enum loop_kind kind) {
    struct loop_stmt *s = arena_new(a, struct loop_stmt);
    s->kind = kind;
    return s;
}

static void append(struct loop_block *block, struct loop_stmt *s) {
    if (block->last)
        block->last->next = s;
    else
        block->first = s;
    block->last = s;
}

static void open_body(struct loop_builder *b, struct loop_stmt *s, struct loop_builder *inner) {
    *inner = (struct loop_builder){.program = b->program, .at = &s->body, .stmt = s};
}

const struct loop_expr *loop_open_for(struct loop_builder *b, const struct loop_for *f,
                                      struct loop_builder *inner) {
    struct arena *a = b->program->arena;
    struct loop_stmt *s = new_stmt(a, LOOP_FOR);
    s->begin = f->begin;
    s->end = f->end;
    s->step = f->step ? f->step : 1;
    s->unroll = f->unroll;
    open_body(b, s, inner);

    int64_t length;
    if (range_difference(s->end, s->begin, &length) && length > 0 && length <= s->step)
        return s->begin;  // runs once: s->var stays NULL

    s->var = new_var(b->program, f->name, LOOP_INDEX, 1);
    struct range begin = range_of(s->begin), end = range_of(s->end);
    s->var->low = begin.low;
    s->var->high = end.high - 1;
    if (begin.low == begin.high && end.low == end.high && end.low > begin.low)
        s->var->high = begin.low + (end.low - 1 - begin.low) / s->step * s->step;
    return loop_ref(a, s->var);
}

void loop_keep_rolled(struct loop_builder *inner) {
    inner->stmt->rolled = true;
}

void loop_open_if(struct loop_builder *b, const struct loop_expr *low, const struct loop_expr *high,
                  struct loop_builder *inner) {
    struct loop_stmt *s = new_stmt(b->program->arena, LOOP_IF);
    s->low = low;
    s->high = high;
    open_body(b, s, inner);
}

void loop_open_role(struct loop_builder *b, const struct loop_expr *low,
                    const struct loop_expr *high, struct loop_builder *inner) {
    loop_open_if(b, low, high, inner);
    inner->stmt->is_role = true;
}

// Never runs.
static bool is_dead(const struct loop_stmt *s) {
    return s->kind == LOOP_FOR ? s->var && range_at_most(s->end, s->begin)
                               : range_at_most(s->high, s->low);
}

// low < high for certain: low + 1 <= high.
static bool is_certain(struct arena *a, const struct loop_stmt *s) {
    return range_at_most(loop_binary(a, LOOP_ADD, s->low, loop_int(a, 1)), s->high);
}

void loop_close(struct loop_builder *b, struct loop_builder *inner) {
    struct loop_stmt *s = inner->stmt;
    if (!s->body.first || is_dead(s))
        return;
    bool bare = s->kind == LOOP_FOR ? !s->var : is_certain(b->program->arena, s);
    if (!bare) {
        append(b->at, s);
        return;
    }
    append(b->at, s->body.first);
    b->at->last = s->body.last;
}

const struct loop_expr *loop_let(struct loop_builder *b, const char *name,
                                 const struct loop_expr *value) {
    struct arena *a = b->program->arena;
    // A constant or a name needs no other name.
    if (value->op == LOOP_CONST || value->op == LOOP_VAR)
        return value;
    struct loop_stmt *s = new_stmt(a, LOOP_LET);
    s->var = new_var(b->program, name, value->dtype, value->lanes);
    if (value->dtype == LOOP_INDEX) {
        s->var->low = range_of(value).low;
        s->var->high = range_of(value).high;
    }
    s->value = value;
    append(b->at, s);
    return loop_ref(a, s->var);
}

void loop_store(struct loop_builder *b, const struct loop_buffer *buffer,
                const struct loop_expr *index, const struct loop_expr *value, bool stream) {
    assert(value->dtype == buffer->value && index->dtype == LOOP_INDEX);
    struct arena *a = b->program->arena;
    if (buffer->space == LOOP_REGISTER)
        value = loop_broadcast(a, value, buffer->lanes);
    struct loop_stmt *s = new_stmt(a, LOOP_STORE);
    s->buffer = buffer;
    s->index = index;
    s->value = value;
    s->stream = stream;
    append(b->at, s);
}

void loop_prefetch(struct loop_builder *b, const struct loop_buffer *buffer,
                   const struct loop_expr *index) {
    struct loop_stmt *s = new_stmt(b->program->arena, LOOP_PREFETCH);
    s->buffer = buffer;
    s->index = index;
    append(b->at, s);
}

void loop_note(struct loop_builder *b, const char *text) {
    struct loop_stmt *s = new_stmt(b->program->arena, LOOP_NOTE);
    s->text = text;
    append(b->at, s);
}

void loop_barrier(struct loop_builder *b) {
    append(b->at, new_stmt(b->program->arena, LOOP_BARRIER));
}

void loop_group_barrier(struct loop_builder *b, const struct loop_buffer *counts,
                        const struct loop_expr *group) {
    struct loop_stmt *s = new_stmt(b->program->arena, LOOP_GROUP_BARRIER);
    s->buffer = counts;
    s->index = group;
    append(b->at, s);
}

void loop_intrinsic(struct loop_builder *b, enum loop_intrinsic id,
                    const struct loop_operand *operands) {
    struct loop_stmt *s = new_stmt(b->program->arena, LOOP_INTRINSIC);
    s->intrinsic = id;
    const struct operand_info *want = intrinsic_infos[id].operand;
    for (int i = 0; i < INTRINSIC_OPERANDS_MAX && want[i].kind != OPERAND_NONE; i++)
        s->operand[i] = operands[i];
    append(b->at, s);
}
