// What stands around a kernel's statements in emitted text: which headers its operations need, the
// sizes as macros, the plan's lines (scratch, tensor maps, launches, calls of libraries), arguments
// and parameters.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "ir/cutlass.h"
#include "loop/loop_call.h"
#include "loop/print_text.h"
#include "loop/range.h"

struct user {
    const struct loop_kernel *kernel;
    struct text_usage *usage;
};

// Is the operation, or what it loads, one of hone_types.h?
static bool is_of_types(const struct loop_expr *e) {
    switch (e->op) {
    case LOOP_LOAD:
        return e->buffer->space != LOOP_REGISTER && e->buffer->dtype != DTYPE_F32;
    case LOOP_MOD:
    case LOOP_FLOORDIV:
    case LOOP_ROUND_TO:
    case LOOP_TO_INDEX:
        return e->op != LOOP_MOD || e->dtype != LOOP_INDEX;
    default:
        return e->dtype == LOOP_F64 || e->dtype == LOOP_I32 || e->dtype == LOOP_I64;
    }
}

static bool is_of_functions(const struct loop_expr *e) {
    bool across = e->op == LOOP_LANES_ANY || e->op == LOOP_LANES_ALL;
    bool mask = e->lanes > 1 && (e->op == LOOP_CAST || e->op == LOOP_SELECT);
    return (e->op >= LOOP_SIN && e->op <= LOOP_ATAN2) || across ||
           (mask && (e->op == LOOP_CAST || e->dtype == LOOP_MASK));
}

static void use_expr(const struct user *u, const struct loop_expr *e) {
    if (!e)
        return;
    u->usage->types |= is_of_types(e);
    u->usage->functions |= is_of_functions(e);
    if (e->dtype == LOOP_F32)
        u->usage->op[e->op] = true;
    if (e->op == LOOP_LOAD)
        u->usage->read[e->buffer->id] = true;
    if (e->op == LOOP_VAR) {
        u->usage->block |= e->var == u->kernel->block;
        u->usage->thread |= e->var == u->kernel->thread;
    }
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        use_expr(u, e->arg[i]);
}

static void use_operands(const struct user *u, const struct loop_stmt *s) {
    const struct operand_info *want = intrinsic_infos[s->intrinsic].operand;
    for (int i = 0; i < INTRINSIC_OPERANDS_MAX && want[i].kind != OPERAND_NONE; i++) {
        use_expr(u, s->operand[i].index);
        if (s->operand[i].buffer && want[i].use & USE_READ)
            u->usage->read[s->operand[i].buffer->id] = true;
        if (s->operand[i].buffer && want[i].use & USE_WRITE)
            u->usage->written[s->operand[i].buffer->id] = true;
    }
}

static void use_block(const struct user *u, const struct loop_block *b) {
    for (const struct loop_stmt *s = b->first; s; s = s->next) {
        if (s->kind == LOOP_INTRINSIC)
            use_operands(u, s);
        if (s->kind == LOOP_STORE) {
            u->usage->written[s->buffer->id] = true;
            u->usage->types |= s->buffer->space != LOOP_REGISTER && s->buffer->dtype != DTYPE_F32;
        }
        if (s->kind == LOOP_PREFETCH)
            u->usage->read[s->buffer->id] = true;
        if (s->kind == LOOP_GROUP_BARRIER && s->buffer)
            u->usage->written[s->buffer->id] = true;
        const struct loop_expr *all[] = {s->begin, s->end, s->low, s->high, s->index, s->value};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            use_expr(u, all[i]);
        use_block(u, &s->body);
    }
}

struct text_usage text_use(struct arena *a, const struct loop_program *p,
                           const struct loop_kernel *k) {
    struct text_usage usage = {.read = arena_array(a, bool, p->n_buffers)};
    usage.written = arena_array(a, bool, p->n_buffers);
    use_block(&(struct user){k, &usage}, &k->body);
    return usage;
}

bool text_is_renewed(const struct loop_kernel *k, const struct loop_buffer *b,
                     const struct text_usage *u) {
    return k->is_programmatic && b->space == LOOP_GLOBAL && !b->map && b->role != LOOP_INPUT &&
           u->read[b->id] && !u->written[b->id];
}

void text_shape(struct printer *p, const struct loop_buffer *b, const char *between) {
    for (int i = 0; i < b->rank; i++) {
        str_puts(&p->out, i ? between : "");
        text_expr(p, loop_named(p->arena, b->shape[i]), BIND_ANY);
    }
}

void text_count(struct printer *p, const struct loop_buffer *b) {
    bool packed = b->dtype == DTYPE_I4;
    str_puts(&p->out, packed ? "(" : "");
    text_shape(p, b, " * ");
    str_puts(&p->out, packed ? " + 1) / 2" : "");
}

void text_dims(struct printer *p, const char *assertion) {
    const struct loop_program *program = p->program;
    for (int i = 0; i < program->n_dims; i++)
        str_printf(&p->out, "#ifndef %s\n#define %s %lld\n#endif\n", program->dims[i].name,
                   program->dims[i].name, (long long)program->dims[i].value);
    str_puts(&p->out, program->n_dims ? "\n" : "");
    // Tails and guards were left out where these sizes allow it.
    for (int i = 0; i < program->n_dims; i++)
        str_printf(&p->out, "%s(%s == %lld, \"lowered for %s = %lld\");\n", assertion,
                   program->dims[i].name, (long long)program->dims[i].value, program->dims[i].name,
                   (long long)program->dims[i].value);
    str_puts(&p->out, program->n_dims ? "\n" : "");
}

void text_scratch(struct printer *p) {
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if (b->space != LOOP_GLOBAL || b->role != LOOP_SCRATCH)
            continue;
        str_printf(&p->out, "#pragma hone scratch %s %s[", b->plan, dtype_name(b->dtype));
        text_shape(p, b, ", ");
        str_printf(&p->out, "%s%s\n", b->rank ? "]" : "1]", b->is_zeroed ? " = 0" : "");
    }
}

static void map_list(struct printer *p, const char *name, const int64_t *list, int n,
                     int64_t unit) {
    str_printf(&p->out, " %s(", name);
    for (int i = 0; i < n; i++)
        str_printf(&p->out, "%s%lld", i ? ", " : "", (long long)(list[i] * unit));
    str_puts(&p->out, ")");
}

void text_maps(struct printer *p) {
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_map *m = p->program->buffers[i]->map;
        if (!m)
            continue;
        str_printf(&p->out, "#pragma hone tensormap %s = %s", p->program->buffers[i]->plan,
                   m->of->plan);
        map_list(p, "dims", m->dims, m->rank, 1);
        if (m->rank > 1)
            map_list(p, "strides", m->strides + 1, m->rank - 1, dtype_size(m->of->dtype, 1));
        map_list(p, "box", m->box, m->rank, 1);
        if (m->swizzle_bytes)
            str_printf(&p->out, " swizzle(%d)", m->swizzle_bytes);
        str_puts(&p->out, "\n");
    }
}

// Is it an argument of the kernel?
static bool is_argument(const struct loop_buffer *b, const struct text_usage *u) {
    return (b->space == LOOP_GLOBAL || b->space == LOOP_MAP) &&
           (u->read[b->id] || u->written[b->id]);
}

void text_grid(struct printer *p, const struct loop_kernel *k) {
    str_printf(&p->out, "#pragma hone launch %s grid(", k->name);
    p->in_plan = true;
    text_expr(p, k->grid, BIND_ANY);
    p->in_plan = false;
    str_puts(&p->out, ")");
}

// What nvcc compiles for it, for readers: who compiles it makes the text anew.
static void cutlass_comment(struct printer *p, const struct loop_call *c) {
    enum dtype types[CALL_BUFFERS_MAX];
    for (int i = 0; i < c->n_args; i++)
        types[i] = c->args[i]->dtype;
    for (const char *line = cutlass_text(p->arena, &c->call, types); *line;) {
        size_t len = strcspn(line, "\n");
        str_printf(&p->out, "//%s%.*s\n", len ? " " : "", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

void text_library_call(struct printer *p, const struct loop_kernel *k) {
    str_puts(&p->out, "#pragma hone ");
    call_print(&p->out, &k->call->call);
    str_puts(&p->out, " args(");
    for (int i = 0; i < k->call->n_args; i++)
        str_printf(&p->out, "%s%s", i ? ", " : "", k->call->args[i]->plan);
    str_puts(&p->out, ")\n");
    if (k->call->call.kind == CALL_CUTLASS)
        cutlass_comment(p, k->call);
}

void text_arguments(struct printer *p, const struct loop_kernel *k) {
    struct text_usage u = text_use(p->arena, p->program, k);
    str_puts(&p->out, " args(");
    const char *comma = "";
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if (!is_argument(b, &u))
            continue;
        str_printf(&p->out, "%s%s", comma, b->plan);
        comma = ", ";
    }
    str_puts(&p->out, ")\n");
}

// May the compiler take it that nobody else changes the data while the kernel runs? Not where
// threads read what others write: such loads could be moved across barriers, or go through the
// read-only cache.
static bool is_restricted(const struct printer *p, const struct loop_kernel *k,
                          const struct loop_buffer *b, const struct text_usage *u) {
    bool is_exchanged = u->read[b->id] && u->written[b->id];
    return !p->is_cuda || k->threads == 0 || !(is_exchanged || text_is_renewed(k, b, u));
}

void text_parameters(struct printer *p, const struct loop_kernel *k, const char *restrict_word,
                     const char *comma) {
    struct text_usage u = text_use(p->arena, p->program, k);
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if (!is_argument(b, &u))
            continue;
        if (b->map) {
            str_printf(&p->out, "%sHONE_MAP(%s)", comma, b->name);
            comma = ", ";
            continue;
        }
        bool is_alone = is_restricted(p, k, b, &u);
        str_printf(&p->out, "%s%s%s *%s%s%s", comma, u.written[i] ? "" : "const ",
                   text_storage(b->dtype), is_alone ? restrict_word : "", is_alone ? " " : "",
                   b->name);
        comma = ", ";
    }
}
