#include "loop/print_c.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "loop/loop_build.h"
#include "loop/range.h"

// Names in scope: a let may be called like one in an outer block, and C would then take
// the inner one, so every declaration gets a name that nothing around it has.
struct scoped {
    const struct loop_var *var;
    const char *name;
};

struct printer {
    struct arena *arena;
    const struct loop_program *program;
    struct str out;
    int indent;
    bool in_plan;  // `#pragma hone` has no casts
    struct scoped *scope;
    int n_scope, cap_scope;
};

// How tightly an operator binds.
enum { BIND_ANY, BIND_COMPARE, BIND_ADD, BIND_MUL, BIND_UNARY };

static void expr(struct printer *p, const struct loop_expr *e, int bind);

static bool name_in_use(const struct printer *p, const char *name) {
    for (int i = 0; i < p->n_scope; i++)
        if (strcmp(p->scope[i].name, name) == 0)
            return true;
    return loop_name_is_taken(p->program, name);
}

static void add_to_scope(struct printer *p, const struct loop_var *var, const char *name) {
    if (p->n_scope == p->cap_scope) {
        struct scoped *scope = arena_array(p->arena, struct scoped, p->cap_scope * 2 + 64);
        if (p->n_scope > 0)
            memcpy(scope, p->scope, sizeof *scope * (size_t)p->n_scope);
        p->scope = scope;
        p->cap_scope = p->cap_scope * 2 + 64;
    }
    p->scope[p->n_scope++] = (struct scoped){var, name};
}

static const char *declare(struct printer *p, const struct loop_var *var, const char *stem) {
    stem = loop_identifier(p->arena, stem);
    const char *name = stem;
    // A value beside the array that it is an element of.
    if (loop_name_is_taken(p->program, name))
        name = arena_printf(p->arena, "%s_v", stem);
    for (int i = 2; name_in_use(p, name); i++)
        name = arena_printf(p->arena, "%s_%d", stem, i);
    add_to_scope(p, var, name);
    return name;
}

static const char *name_of(const struct printer *p, const struct loop_var *var) {
    for (int i = p->n_scope - 1; i >= 0; i--)
        if (p->scope[i].var == var)
            return p->scope[i].name;
    assert(!"variable is in scope");
    return "";
}

static const char *type_name(struct printer *p, enum loop_dtype dtype, int lanes) {
    if (dtype == LOOP_INDEX)
        return "long";
    if (lanes == 1)
        return dtype == LOOP_F32 ? "float" : "int";
    return arena_printf(p->arena, "%s32x%d", dtype == LOOP_F32 ? "f" : "i", lanes);
}

static void real(struct printer *p, double v) {
    if (isnan(v)) {
        str_puts(&p->out, "__builtin_nanf(\"\")");
    } else if (isinf(v)) {
        str_puts(&p->out, v < 0 ? "-__builtin_inff()" : "__builtin_inff()");
    } else {
        char text[64];
        snprintf(text, sizeof text, "%.9g", v);
        str_printf(&p->out, "%s%sf", text, strpbrk(text, ".e") ? "" : ".0");
    }
}

static const char *register_name(struct printer *p, const struct loop_buffer *b, int64_t i) {
    return b->count == 1 ? b->name : arena_printf(p->arena, "%s_%lld", b->name, (long long)i);
}

static void element(struct printer *p, const struct loop_buffer *b, const struct loop_expr *index) {
    int64_t i;
    if (b->space == LOOP_REGISTER && range_constant(index, &i)) {
        str_puts(&p->out, register_name(p, b, i));
        return;
    }
    str_printf(&p->out, "%s[", b->name);
    expr(p, index, BIND_ANY);
    str_puts(&p->out, "]");
}

static void load(struct printer *p, const struct loop_expr *e) {
    if (e->buffer->space == LOOP_REGISTER || e->lanes == 1) {
        element(p, e->buffer, e->arg[0]);
        return;
    }
    str_printf(&p->out, "hone_%s%d(&", e->stride == 1 ? "load" : "gather", e->lanes);
    element(p, e->buffer, e->arg[0]);
    if (e->stride != 1)
        str_printf(&p->out, ", %lld", (long long)e->stride);
    str_puts(&p->out, ")");
}

// An operand beside a vector: C brings a scalar to the vector's lanes by itself.
static void operand(struct printer *p, const struct loop_expr *e, const struct loop_expr *beside,
                    int bind) {
    bool implicit = e->op == LOOP_BROADCAST && beside->op != LOOP_BROADCAST;
    expr(p, implicit ? e->arg[0] : e, bind);
}

static void infix(struct printer *p, const struct loop_expr *e, int own, int bind) {
    const struct loop_expr *x = e->arg[0], *y = e->arg[1];
    bool parens = own < bind;
    if (parens)
        str_puts(&p->out, "(");
    // Sizes are ints in C; a product of them may not be one.
    int64_t v;
    if (!p->in_plan && e->op == LOOP_MUL && e->dtype == LOOP_INDEX && range_constant(e, &v) &&
        v > INT32_MAX)
        str_puts(&p->out, "(long)");
    operand(p, x, y, own);
    str_printf(&p->out, " %s ", loop_ops[e->op].text);
    // Sums of indices need no order; floats keep theirs, and so do - / %.
    bool free_order = e->op == LOOP_ADD && e->dtype == LOOP_INDEX;
    operand(p, y, x, free_order ? own : own + 1);
    if (parens)
        str_puts(&p->out, ")");
}

static void call(struct printer *p, const struct loop_expr *e) {
    if (p->program->libm)
        str_printf(&p->out, "%sf(", e->op == LOOP_ABS ? "fabs" : loop_ops[e->op].text);
    else
        str_printf(&p->out, "hone_%s%s%d(", loop_ops[e->op].text,
                   e->op == LOOP_BROADCAST && e->dtype == LOOP_MASK ? "_mask" : "",
                   e->arg[0]->lanes > e->lanes ? e->arg[0]->lanes : e->lanes);
    for (int i = 0; i < loop_ops[e->op].arity; i++) {
        str_puts(&p->out, i ? ", " : "");
        expr(p, e->arg[i], BIND_ANY);
    }
    str_puts(&p->out, ")");
}

// min, max and select of indices and scalars have no operator but ?:.
static void choose(struct printer *p, const struct loop_expr *e) {
    const struct loop_expr *x = e->arg[0], *y = e->arg[1];
    str_puts(&p->out, "(");
    if (e->op == LOOP_SELECT) {
        expr(p, x, BIND_COMPARE);
        str_puts(&p->out, " ? ");
        expr(p, y, BIND_COMPARE);
        str_puts(&p->out, " : ");
        expr(p, e->arg[2], BIND_COMPARE);
    } else {
        expr(p, x, BIND_ADD);
        str_puts(&p->out, e->op == LOOP_MIN ? " < " : " > ");
        expr(p, y, BIND_ADD);
        str_puts(&p->out, " ? ");
        expr(p, x, BIND_ADD);
        str_puts(&p->out, " : ");
        expr(p, y, BIND_ADD);
    }
    str_puts(&p->out, ")");
}

static void fma_expr(struct printer *p, const struct loop_expr *e, int bind) {
    bool parens = bind > BIND_ADD;
    str_puts(&p->out, parens ? "(" : "");
    operand(p, e->arg[0], e->arg[1], BIND_MUL);
    str_puts(&p->out, " * ");
    operand(p, e->arg[1], e->arg[0], BIND_UNARY);
    str_puts(&p->out, " + ");
    operand(p, e->arg[2], e->arg[0], BIND_MUL);
    str_puts(&p->out, parens ? ")" : "");
}

static void constant(struct printer *p, const struct loop_expr *e) {
    if (e->dtype == LOOP_F32)
        real(p, e->real);
    else if (e->name)
        str_puts(&p->out, e->name);
    else
        str_printf(&p->out, "%lld", (long long)e->integer);
}

static void expr(struct printer *p, const struct loop_expr *e, int bind) {
    switch (e->op) {
    case LOOP_CONST:
        constant(p, e);
        return;
    case LOOP_VAR:
        str_puts(&p->out, name_of(p, e->var));
        return;
    case LOOP_LOAD:
        load(p, e);
        return;
    case LOOP_ADD:
    case LOOP_SUB:
        infix(p, e, BIND_ADD, bind);
        return;
    case LOOP_MUL:
    case LOOP_DIV:
    case LOOP_MOD:
        infix(p, e, BIND_MUL, bind);
        return;
    case LOOP_LT:
    case LOOP_LE:
    case LOOP_EQ:
        infix(p, e, BIND_COMPARE, bind);
        return;
    case LOOP_NEG:
        str_puts(&p->out, "-");
        expr(p, e->arg[0], BIND_UNARY + 1);
        return;
    case LOOP_FMA:
        fma_expr(p, e, bind);
        return;
    case LOOP_RSQRT:
        if (p->program->libm) {
            str_puts(&p->out, "(1.0f / sqrtf(");
            expr(p, e->arg[0], BIND_ANY);
            str_puts(&p->out, "))");
            return;
        }
        break;
    default:
        break;
    }
    if ((e->op == LOOP_SELECT && e->lanes == 1) || e->dtype == LOOP_INDEX)
        choose(p, e);
    else
        call(p, e);
}

static void begin_line(struct printer *p) {
    str_printf(&p->out, "%*s", 4 * p->indent, "");
}

// Is `e` the element that the store writes?
static bool is_target(const struct loop_expr *e, const struct loop_stmt *s) {
    return e->op == LOOP_LOAD && e->buffer == s->buffer && e->lanes == s->value->lanes &&
           range_same(e->arg[0], s->index);
}

// acc += x, where the value is acc + x.
static bool accumulate(struct printer *p, const struct loop_stmt *s) {
    const struct loop_expr *v = s->value;
    if (s->buffer->space != LOOP_REGISTER && v->lanes > 1)
        return false;
    bool adds = v->op == LOOP_ADD && is_target(v->arg[0], s);
    bool fuses = v->op == LOOP_FMA && is_target(v->arg[2], s);
    if (!adds && !fuses)
        return false;
    element(p, s->buffer, s->index);
    str_puts(&p->out, " += ");
    operand(p, adds ? v->arg[1] : v->arg[0], adds ? v->arg[0] : v->arg[1], BIND_MUL);
    if (fuses) {
        str_puts(&p->out, " * ");
        operand(p, v->arg[1], v->arg[0], BIND_UNARY);
    }
    str_puts(&p->out, ";\n");
    return true;
}

static void store(struct printer *p, const struct loop_stmt *s) {
    if (accumulate(p, s))
        return;
    bool vector = s->buffer->space != LOOP_REGISTER && s->value->lanes > 1;
    if (vector)
        str_printf(&p->out, "hone_%s%d(&", s->stream ? "stream" : "store", s->value->lanes);
    element(p, s->buffer, s->index);
    str_puts(&p->out, vector ? ", " : " = ");
    expr(p, s->value, BIND_ANY);
    str_puts(&p->out, vector ? ");\n" : ";\n");
}

static void block(struct printer *p, const struct loop_block *b);

static void body(struct printer *p, const struct loop_block *b, int scope) {
    str_puts(&p->out, ") {\n");
    p->indent++;
    block(p, b);
    p->indent--;
    begin_line(p);
    str_puts(&p->out, "}\n");
    p->n_scope = scope;
}

static void for_stmt(struct printer *p, const struct loop_stmt *s) {
    // The ends are printed before the variable is in scope.
    int scope = p->n_scope;
    struct str out = p->out;
    p->out = (struct str){0};
    expr(p, s->begin, BIND_ANY);
    const char *begin = str_take(p->arena, &p->out);
    expr(p, s->end, BIND_ADD);
    const char *end = str_take(p->arena, &p->out);
    p->out = out;

    const char *name = declare(p, s->var, s->var->name);
    str_printf(&p->out, "for (long %s = %s; %s < %s; ", name, begin, name, end);
    if (s->step == 1)
        str_printf(&p->out, "%s++", name);
    else
        str_printf(&p->out, "%s += %lld", name, (long long)s->step);
    body(p, &s->body, scope);
}

static void let_stmt(struct printer *p, const struct loop_stmt *s) {
    struct str out = p->out;
    p->out = (struct str){0};
    expr(p, s->value, BIND_ANY);
    const char *value = str_take(p->arena, &p->out);
    p->out = out;
    const char *name = declare(p, s->var, s->var->name);
    str_printf(&p->out, "%s %s = %s;\n", type_name(p, s->var->dtype, s->var->lanes), name, value);
}

static void stmt(struct printer *p, const struct loop_stmt *s) {
    begin_line(p);
    switch (s->kind) {
    case LOOP_FOR:
        for_stmt(p, s);
        break;
    case LOOP_IF:
        str_puts(&p->out, "if (");
        expr(p, s->low, BIND_ADD);
        str_puts(&p->out, " < ");
        expr(p, s->high, BIND_ADD);
        body(p, &s->body, p->n_scope);
        break;
    case LOOP_LET:
        let_stmt(p, s);
        break;
    case LOOP_STORE:
        store(p, s);
        break;
    case LOOP_PREFETCH:
        str_puts(&p->out, "__builtin_prefetch(&");
        element(p, s->buffer, s->index);
        // Into the second cache: the first is in use by what is computed meanwhile.
        str_puts(&p->out, ", 0, 2);\n");
        break;
    case LOOP_NOTE:
        str_printf(&p->out, "// %s\n", s->text);
        break;
    }
}

static void block(struct printer *p, const struct loop_block *b) {
    for (const struct loop_stmt *s = b->first; s; s = s->next)
        stmt(p, s);
}

// Which buffers a kernel touches, which operations it does on floats.
struct usage {
    bool *read, *written;  // by buffer id
    bool op[LOOP_OP_COUNT];
};

static void use_expr(struct usage *u, const struct loop_expr *e) {
    if (!e)
        return;
    if (e->dtype == LOOP_F32)
        u->op[e->op] = true;
    if (e->op == LOOP_LOAD)
        u->read[e->buffer->id] = true;
    for (int i = 0; i < loop_ops[e->op].arity; i++)
        use_expr(u, e->arg[i]);
}

static void use_block(struct usage *u, const struct loop_block *b) {
    for (const struct loop_stmt *s = b->first; s; s = s->next) {
        if (s->kind == LOOP_STORE)
            u->written[s->buffer->id] = true;
        if (s->kind == LOOP_PREFETCH)
            u->read[s->buffer->id] = true;
        use_expr(u, s->index);
        use_expr(u, s->value);
        use_block(u, &s->body);
    }
}

static struct usage new_usage(struct printer *p) {
    struct usage u = {.read = arena_array(p->arena, bool, p->program->n_buffers)};
    u.written = arena_array(p->arena, bool, p->program->n_buffers);
    return u;
}

static bool program_uses(struct printer *p, enum loop_op op) {
    struct usage u = new_usage(p);
    for (int i = 0; i < p->program->n_kernels; i++)
        use_block(&u, &p->program->kernels[i]->body);
    return u.op[op];
}

static void declarations(struct printer *p, const struct usage *u) {
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if ((!u->read[i] && !u->written[i]) || b->space == LOOP_GLOBAL)
            continue;
        begin_line(p);
        if (b->space == LOOP_LOCAL) {
            str_printf(&p->out, "_Alignas(64) float %s[", b->name);
            for (int j = 0; j < b->rank; j++) {
                str_puts(&p->out, j ? " * " : "");
                expr(p, loop_named(p->arena, b->shape[j]), BIND_ANY);
            }
            str_puts(&p->out, "];\n");
            continue;
        }
        str_printf(&p->out, "%s ", type_name(p, LOOP_F32, b->lanes));
        for (int64_t j = 0; j < b->count; j++)
            str_printf(&p->out, "%s%s", j ? ", " : "", register_name(p, b, j));
        str_puts(&p->out, ";\n");
    }
}

static void launch(struct printer *p, const struct loop_kernel *k) {
    struct usage u = new_usage(p);
    use_block(&u, &k->body);
    str_printf(&p->out, "#pragma hone launch %s grid(", k->name);
    p->in_plan = true;
    expr(p, k->grid, BIND_ANY);
    p->in_plan = false;
    str_puts(&p->out, ") args(");
    const char *comma = "";
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if (b->space != LOOP_GLOBAL || (!u.read[i] && !u.written[i]))
            continue;
        str_printf(&p->out, "%s%s", comma, b->plan);
        comma = ", ";
    }
    str_puts(&p->out, ")\n");
}

static void kernel(struct printer *p, const struct loop_kernel *k) {
    struct usage u = new_usage(p);
    use_block(&u, &k->body);
    if (k->text)
        str_printf(&p->out, "// %s\n", k->text);
    str_printf(&p->out, "void %s(long block", k->name);
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if (b->space == LOOP_GLOBAL && (u.read[i] || u.written[i]))
            str_printf(&p->out, ", %sfloat *restrict %s", u.written[i] ? "" : "const ", b->name);
    }
    str_puts(&p->out, ") {\n");
    p->indent = 1;
    p->n_scope = 0;
    add_to_scope(p, k->block, "block");
    declarations(p, &u);
    block(p, &k->body);
    p->indent = 0;
    str_puts(&p->out, "}\n");
}

static void plan(struct printer *p) {
    for (int i = 0; i < p->program->n_buffers; i++) {
        const struct loop_buffer *b = p->program->buffers[i];
        if (b->space != LOOP_GLOBAL || b->role != LOOP_SCRATCH)
            continue;
        str_printf(&p->out, "#pragma hone scratch %s f32[", b->plan);
        for (int j = 0; j < b->rank; j++) {
            str_puts(&p->out, j ? ", " : "");
            expr(p, loop_named(p->arena, b->shape[j]), BIND_ANY);
        }
        str_puts(&p->out, b->rank ? "]\n" : "1]\n");
    }
    for (int i = 0; i < p->program->n_kernels; i++)
        launch(p, p->program->kernels[i]);
}

static void head(struct printer *p) {
    const struct loop_program *program = p->program;
    if (program->about)
        str_puts(&p->out, program->about);
    str_puts(&p->out, program->libm ? "#include <math.h>\n\n" : "#include \"hone_math.h\"\n\n");
    for (int i = 0; i < program->n_dims; i++)
        str_printf(&p->out, "#ifndef %s\n#define %s %lld\n#endif\n", program->dims[i].name,
                   program->dims[i].name, (long long)program->dims[i].value);
    str_puts(&p->out, program->n_dims ? "\n" : "");
    // Tails and guards were left out where these sizes allow it.
    for (int i = 0; i < program->n_dims; i++)
        str_printf(&p->out, "_Static_assert(%s == %lld, \"lowered for %s = %lld\");\n",
                   program->dims[i].name, (long long)program->dims[i].value, program->dims[i].name,
                   (long long)program->dims[i].value);
    str_puts(&p->out, program->n_dims ? "\n" : "");
    for (int smaller = 0; program->libm && smaller < 2; smaller++)
        if (program_uses(p, smaller ? LOOP_MIN : LOOP_MAX))
            str_printf(&p->out,
                       "// The %s of two, NaN when either is.\n"
                       "static inline float %sf(float a, float b) {\n"
                       "    return a != a || a %s b ? a : b;\n}\n\n",
                       smaller ? "smaller" : "larger", smaller ? "min" : "max",
                       smaller ? "<" : ">");
}

const char *print_c(struct arena *a, const struct loop_program *program) {
    struct arena scratch = {0};
    struct printer p = {.arena = &scratch, .program = program};
    head(&p);
    plan(&p);
    for (int i = 0; i < program->n_kernels; i++) {
        str_puts(&p.out, "\n");
        kernel(&p, program->kernels[i]);
    }
    const char *text = str_take(a, &p.out);
    arena_reset(&scratch);
    return text;
}
