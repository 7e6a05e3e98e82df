// One function per kind of statement. A statement with a mistake is left, what it would have
// defined counts as known and broken, and the next one is checked.
#include "lang/check.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "ir/simplify.h"
#include "lang/check_private.h"
#include "lang/draws.h"
#include "lang/unparse.h"

enum { BLOCKS_MAX = 1000 };  // per file

// ---- names

struct symbol *check_define(struct checker *c, const char *name, struct spot at) {
    struct names *names = &c->scope.names;
    const struct symbol *old = names_find(names, name);
    if (old && old->kind != SYMBOL_BROKEN && old->kind != SYMBOL_LOCAL)
        mistake_fail(c->mistakes, at, NULL, "'%s' is already %s, at line %d", name,
                     old->kind == SYMBOL_DIM      ? "a dim"
                     : old->kind == SYMBOL_INPUT  ? "an input"
                     : old->kind == SYMBOL_OUTPUT ? "an output"
                                                  : "a value",
                     old->at.at.line);
    const char *why_not = names_why_not(name);
    if (why_not)
        mistake_fail(c->mistakes, at, NULL, "'%s' %s", name, why_not);
    struct symbol *s = names_add(c->arena, names, name);
    s->at = at;
    s->node = -1;
    return s;
}

// After a mistake: what the statement would have defined is known to be broken.
void check_define_broken(struct checker *c, const char *name) {
    if (!name)
        return;
    struct symbol *s = names_find(&c->scope.names, name);
    if (!s)
        s = names_add(c->arena, &c->scope.names, name);
    else if (s->kind != SYMBOL_OPEN && (s->kind != SYMBOL_OUTPUT || s->node >= 0))
        return;
    s->kind = SYMBOL_BROKEN;
}

// ---- statements of a problem

static const struct dim_override *find_override(struct checker *c, const char *name) {
    const struct lang_source *source = c->mistakes->source;
    for (int i = 0; i < source->n_overrides; i++)
        if (strcmp(source->overrides[i].name, name) == 0)
            return &source->overrides[i];
    return NULL;
}

// In emitted code a dim is a macro, and a macro `i` or `x` would hit somebody's variable.
static void check_dim_name(struct checker *c, const struct dim_syntax *d) {
    if (d->name[0] < 'a' || d->name[0] > 'z' || names_why_not(d->name))
        return;
    char *capital = arena_strdup(c->arena, d->name);
    capital[0] = (char)(capital[0] - 'a' + 'A');
    mistake_fail(c->mistakes, d->at, capital, "a dim's name begins with a capital letter");
}

static void check_dims(struct checker *c, const struct statement *st) {
    struct graph *g = &c->problem->graph;
    for (const struct dim_syntax *d = st->dims; d; d = d->next) {
        int64_t size = value_size(&c->scope, d->size);
        const struct dim_override *o = find_override(c, d->name);
        if (o && (o->size < 1 || o->size > (int64_t)1 << 31))
            mistake_fail(c->mistakes, d->at, NULL,
                         "a size is from 1 to 2^31, and '%s' was set to %lld from outside", d->name,
                         (long long)o->size);
        if (g->n_dims == DIMS_MAX)
            mistake_fail(c->mistakes, d->at, NULL, "a problem has at most %d dims", DIMS_MAX);
        check_dim_name(c, d);
        struct symbol *s = check_define(c, d->name, d->at);
        s->kind = SYMBOL_DIM;
        s->index = g->n_dims;
        g->dims[g->n_dims++] = (struct dim){.name = d->name, .size = o ? o->size : size};
    }
}

enum dtype check_type(struct checker *c, const struct type_syntax *t) {
    const char *known[DTYPE_COUNT + 1] = {NULL};
    enum dtype type = DTYPE_F32;
    if (dtype_find(t->name, &type))
        return type;
    if (strcmp(t->name, "tf32") == 0)
        mistake_fail(c->mistakes, t->at, NULL,
                     "tf32 is an arithmetic and stores nothing; write f32 here, and 'precision "
                     "tf32' as a statement");
    for (int i = 0; i < DTYPE_COUNT; i++)
        known[i] = dtype_name((enum dtype)i);
    const char *near = str_nearest(t->name, known);
    struct str all = {0};
    for (int i = 0; !near && known[i]; i++)
        str_printf(&all, "%s%s", i ? ", " : "; types are ", known[i]);
    mistake_fail(c->mistakes, t->at, near, "no type is named '%s'%s", t->name,
                 str_take(c->arena, &all));
}

struct shape check_shape(struct checker *c, const struct type_syntax *t) {
    struct shape shape = {.rank = t->rank};
    int64_t count = 1;
    for (int i = 0; i < t->rank; i++) {
        const struct expr *e = t->sizes[i];
        shape.size[i] = value_size(&c->scope, e);
        const struct symbol *s = e->kind == EXPR_NAME ? names_find(&c->scope.names, e->text) : NULL;
        shape.dim[i] = s ? s->index : -1;
        if (shape.size[i] > ((int64_t)1 << 40) / count)
            mistake_fail(c->mistakes, e->at, NULL, "a value has at most 2^40 elements");
        count *= shape.size[i];
    }
    return shape;
}

static node_id add_input_node(struct checker *c, const struct statement *st, enum dtype type,
                              struct shape shape) {
    struct label l = {.at = st->name_at, .name = st->name};
    // An input is made like a number and then turned into what it is.
    node_id id = build_node(&c->scope.builder, &l, (struct operand){.is_number = true});
    struct node *n = &c->problem->graph.nodes[id];
    n->op = OP_INPUT;
    n->dtype = type;
    n->shape = shape;
    n->is_named = true;
    return id;
}

void check_value_shape(struct checker *c, const struct statement *st, const struct node *n,
                       enum dtype type, const struct shape *declared) {
    const struct graph *g = &c->problem->graph;
    if (!shape_equal(&n->shape, declared))
        mistake_fail(c->mistakes, st->value->at, NULL, "'%s' is declared %s%s, and this is %s%s",
                     st->name, dtype_name(type), shape_print(c->arena, g, declared),
                     dtype_name(n->dtype), shape_print(c->arena, g, &n->shape));
}

// The value of `st` as the declared type: where it has another, the expression's own node is
// renamed after its type (y.f32) and what carries the name is the cast.
node_id check_store_as(struct checker *c, struct value_scope *scope, const struct statement *st,
                       node_id id, enum dtype to) {
    struct node *n = &scope->builder.graph->nodes[id];
    enum dtype from = n->dtype;
    if (from == to)
        return id;
    if (from == DTYPE_BOOL)
        mistake_fail(c->mistakes, st->value->at, NULL,
                     "'%s' is %s, and a comparison is not a number; turn it into one with "
                     "where(c, 1, 0)",
                     st->name, dtype_name(to));
    if (to == DTYPE_BOOL || (dtype_is_float(from) && dtype_is_integer(to)))
        mistake_fail(c->mistakes, st->value->at, NULL,
                     "'%s' is %s, and this is %s; say how it becomes one: %s", st->name,
                     dtype_name(to), dtype_name(from),
                     to == DTYPE_BOOL ? "x != 0"
                                      : arena_printf(c->arena, "%s(x) cuts, %s(round(x)) rounds",
                                                     dtype_name(to), dtype_name(to)));
    struct label l = {.at = st->name_at, .name = n->name};
    n->name = arena_printf(c->arena, "%s.%s", n->name, dtype_name(from));
    n->is_named = false;
    return build_cast(&scope->builder, &l, (struct operand){.node = id}, to).node;
}

static void check_input(struct checker *c, const struct statement *st);

// A problem of its own for an input that is computed: it sees dims and hidden draws.
static const struct problem *check_maker(struct checker *c, const struct statement *st,
                                         enum dtype type, const struct shape *shape) {
    struct problem *maker = arena_new(c->arena, struct problem);
    struct checker inner = *c;
    inner.problem = maker;
    maker->name = st->name;
    memcpy(maker->graph.dims, c->problem->graph.dims, sizeof maker->graph.dims);
    maker->graph.n_dims = c->problem->graph.n_dims;
    inner.scope = (struct value_scope){
        .builder = {.arena = c->arena, .mistakes = c->mistakes, .graph = &maker->graph}};
    for (int i = 0; i < maker->graph.n_dims; i++) {
        struct symbol *s = names_add(c->arena, &inner.scope.names, maker->graph.dims[i].name);
        s->kind = SYMBOL_DIM;
        s->index = i;
    }
    for (const struct hidden_syntax *h = st->hidden; h; h = h->next) {
        struct statement draw = {.kind = STATEMENT_IN,
                                 .at = h->at,
                                 .name_at = h->at,
                                 .name = h->name,
                                 .type = h->type.name ? h->type : st->type,
                                 .distribution = h->distribution};
        check_input(&inner, &draw);
    }
    struct label l = {.at = st->name_at, .name = arena_printf(c->arena, "%s.made", st->name)};
    node_id id = value_build(&inner.scope, &l, st->value);
    check_value_shape(&inner, st, &maker->graph.nodes[id], type, shape);
    id = check_store_as(&inner, &inner.scope, st, id, type);
    maker->graph.nodes[id].is_named = true;
    maker->outputs[maker->n_outputs++] = (struct problem_output){.name = st->name, .node = id};
    problem_simplify(maker);
    return maker;
}

static void check_input(struct checker *c, const struct statement *st) {
    struct problem *p = c->problem;
    enum dtype type = check_type(c, &st->type);
    struct shape shape = check_shape(c, &st->type);
    struct problem_input in = {.is_param = st->kind == STATEMENT_PARAM};
    in.promise = draws_promise(&c->scope, &st->promise, &shape);
    if (st->value)
        in.maker = check_maker(c, st, type, &shape);
    else
        in.distribution = draws_check(&c->scope, &st->distribution, type, &shape);
    if (p->n_inputs == INPUTS_MAX)
        mistake_fail(c->mistakes, st->at, NULL, "a problem has at most %d inputs", INPUTS_MAX);
    struct symbol *s = check_define(c, st->name, st->name_at);
    s->kind = SYMBOL_INPUT;
    s->index = p->n_inputs;
    s->node = in.node = add_input_node(c, st, type, shape);
    p->inputs[p->n_inputs++] = in;
}

// The type of factors that `first` names for `precision first accumulate f32`; `accumulate f22` is
// what tensor cores do with types of 8 bits.
static bool narrow_type(const char *first, bool short_sums, enum dtype *type) {
    return dtype_find(first, type) && dtype_is_float(*type) && *type != DTYPE_F64 &&
           (!short_sums || dtype_infos[*type].bits == 8);
}

// False when the words are no precision.
static bool read_precision(const char *const *words, struct precision *q) {
    const char *first = words[0] ? words[0] : "", *second = words[1] ? words[1] : "";
    bool accumulates = strcmp(second, "accumulate") == 0 && words[2];
    bool sums = accumulates && strcmp(words[2], "f32") == 0;
    bool is_alone = !*second;
    *q = (struct precision){.type = DTYPE_F32};
    q->short_sums = accumulates && strcmp(words[2], "f22") == 0;
    q->is_exact = strcmp(first, "f32") == 0 && strcmp(second, "exact") == 0 && !words[2];
    if (strcmp(first, "tf32") == 0) {
        q->operand = PRECISION_TF32;
        return is_alone || sums;
    }
    if (strcmp(first, "f64") == 0) {
        q->type = DTYPE_F64;
        return is_alone;
    }
    if (strcmp(first, "f32") == 0)
        return is_alone || sums || q->is_exact;
    q->operand = PRECISION_TYPE;
    return (sums || q->short_sums) && narrow_type(first, q->short_sums, &q->type);
}

static void check_precision(struct checker *c, const struct statement *st) {
    if (c->has_precision)
        mistake_fail(c->mistakes, st->at, NULL, "precision is given twice");
    c->has_precision = true;
    if (!read_precision(st->words, &c->problem->precision))
        mistake_fail(c->mistakes, st->at, NULL,
                     "a precision is f32, f32 exact, tf32, f64, or a narrow type with its sum: f16 "
                     "accumulate f32, f8e4m3 accumulate f22");
}

static void check_order(struct checker *c, const struct statement *st) {
    if (!st->words[0] || strcmp(st->words[0], "any") != 0 || st->words[1])
        mistake_fail(c->mistakes, st->at, NULL, "the only order that can be stated is 'order any'");
    c->problem->order_any = true;
}

static void check_output(struct checker *c, const struct statement *st) {
    struct problem *p = c->problem;
    enum dtype type = check_type(c, &st->type);
    struct shape shape = check_shape(c, &st->type);
    if (p->n_outputs == OUTPUTS_MAX)
        mistake_fail(c->mistakes, st->at, NULL, "a problem has at most %d outputs", OUTPUTS_MAX);
    struct symbol *s = check_define(c, st->name, st->name_at);
    s->kind = SYMBOL_OUTPUT;
    s->index = p->n_outputs;
    c->pending.type[p->n_outputs] = type;
    c->pending.shape[p->n_outputs] = shape;
    p->outputs[p->n_outputs++] = (struct problem_output){.name = st->name, .node = -1};
}

struct symbol *check_target(struct checker *c, const struct statement *st, bool *is_output) {
    struct symbol *s = names_find(&c->scope.names, st->name);
    *is_output = s && s->kind == SYMBOL_OUTPUT && s->node < 0;
    if (s && s->kind == SYMBOL_BROKEN)
        longjmp(*c->mistakes->on_mistake, 1);
    if (s && s->kind == SYMBOL_OUTPUT && !*is_output)
        mistake_fail(c->mistakes, st->at, NULL, "output '%s' is assigned twice", st->name);
    if (!*is_output)
        s = check_define(c, st->name, st->name_at);
    s->kind = SYMBOL_OPEN;
    return s;
}

node_id check_value(struct checker *c, struct value_scope *scope, const struct statement *st,
                    const char *name) {
    struct label l = {.at = st->name_at, .name = name};
    node_id id = value_build(scope, &l, st->value);
    if (st->type.name && st->type.rank && !st->part) {
        struct shape shape = check_shape(c, &st->type);
        check_value_shape(c, st, build_get(&scope->builder, id), check_type(c, &st->type), &shape);
    }
    if (st->type.name)
        id = check_store_as(c, scope, st, id, check_type(c, &st->type));
    scope->builder.graph->nodes[id].is_named = true;
    return id;
}

void check_bind(struct checker *c, const struct statement *st, struct symbol *s, bool is_output,
                node_id id) {
    struct graph *g = &c->problem->graph;
    if (is_output) {
        check_value_shape(c, st, &g->nodes[id], c->pending.type[s->index],
                          &c->pending.shape[s->index]);
        id = check_store_as(c, &c->scope, st, id, c->pending.type[s->index]);
        // The author's names for the axes are the declared ones.
        g->nodes[id].shape = c->pending.shape[s->index];
        c->problem->outputs[s->index].node = id;
    }
    g->nodes[id].is_named = true;
    s->kind = is_output ? SYMBOL_OUTPUT : SYMBOL_VALUE;
    s->node = id;
}

static void check_assignment(struct checker *c, const struct statement *st) {
    bool is_output;
    struct symbol *s = check_target(c, st, &is_output);
    check_bind(c, st, s, is_output, check_value(c, &c->scope, st, st->name));
}

// ---- the end of a problem

static bool is_declaration(const struct statement *s) {
    return s->kind == STATEMENT_IN || s->kind == STATEMENT_PARAM || s->kind == STATEMENT_OUT;
}

// The canonical text: sizes as numbers, dims first, then declarations, then values.
static const char *problem_text(struct checker *c, const struct statement *end) {
    const struct problem *p = c->problem;
    struct str out = {0};
    str_printf(&out, "problem %s\n", p->name);
    for (int i = 0; i < p->graph.n_dims; i++)
        str_printf(&out, "%s%s = %lld", i ? ", " : "dim ", p->graph.dims[i].name,
                   (long long)p->graph.dims[i].size);
    str_puts(&out, p->graph.n_dims ? "\n" : "");

    struct declaration_widths widths = {0};
    for (int pass = 0; pass < 2; pass++) {
        int input = 0;
        for (struct statement *s = c->block; s != end; s = s->next) {
            if (!is_declaration(s))
                continue;
            struct statement copy = *s;
            if (s->kind != STATEMENT_OUT && !s->value)
                draws_canonical(c->arena, &copy.distribution, &p->inputs[input].distribution);
            input += s->kind != STATEMENT_OUT;
            if (pass == 0) {
                print_declaration_measure(&copy, true, &widths);
                continue;
            }
            print_declaration(&out, &copy, true, &widths);
            str_puts(&out, "\n");
        }
    }
    for (const struct statement *s = c->block; s != end; s = s->next)
        if (s->kind == STATEMENT_ASSIGN || s->kind == STATEMENT_PRECISION ||
            s->kind == STATEMENT_ORDER || s->kind == STATEMENT_FOR) {
            print_plain(&out, s, true);
            str_puts(&out, "\n");
        }
    return str_take(c->arena, &out);
}

static void check_uses(struct checker *c) {
    const struct names *names = &c->scope.names;
    for (int i = 0; i < names->n_slots; i++) {
        const struct symbol *s = names->slots[i];
        if (!s)
            continue;
        if (s->kind == SYMBOL_OUTPUT && s->node < 0)
            mistake_add(c->mistakes, s->at, NULL, "output '%s' is never assigned", s->name);
        if ((s->kind == SYMBOL_INPUT || s->kind == SYMBOL_VALUE) && !s->is_used)
            mistake_add(c->mistakes, s->at, NULL, "%s '%s' is never used",
                        s->kind == SYMBOL_INPUT ? "input" : "value", s->name);
    }
    if (c->problem->n_outputs == 0)
        mistake_add(c->mistakes, c->block->at, NULL, "problem '%s' has no output",
                    c->problem->name);
}

static void end_problem(struct checker *c, const struct statement *end) {
    int before = c->mistakes->count;
    check_uses(c);
    check_indices(c);
    if (c->mistakes->count > before)
        return;
    for (struct steps *l = c->loops; l; l = l->next)
        l->body->precision = c->problem->precision;
    problem_simplify(c->problem);
    c->problem->text = problem_text(c, end);
}

// ---- blocks

static void end_block(struct checker *c, const struct statement *end) {
    if (c->problem && !c->has_mistake)
        end_problem(c, end);
    if (c->kernel && !c->has_mistake && c->kernel->n_stages == 0)
        mistake_add(c->mistakes, c->block->at, NULL, "the kernel has no stage");
    c->problem = NULL;
    c->kernel = NULL;
    c->loops = NULL;
}

static void begin_block(struct checker *c, struct statement *st) {
    end_block(c, st);
    c->block = st;
    c->has_mistake = false;
    c->has_precision = false;
    if (c->file->n_problems + c->file->n_kernels == BLOCKS_MAX)
        mistake_fail(c->mistakes, st->at, NULL, "a file has at most %d blocks", BLOCKS_MAX);
    if (st->kind == STATEMENT_KERNEL) {
        struct kernel *k = arena_new(c->arena, struct kernel);
        k->problem = st->name;
        k->target = st->target;
        k->file = c->mistakes->source->file;
        k->at = st->at.at;
        k->target_at = st->target_at.at;
        k->text = c->mistakes->source->text;
        k->text_len = c->mistakes->source->len;
        c->kernel = c->file->kernels[c->file->n_kernels++] = k;
        return;
    }
    struct problem *p = arena_new(c->arena, struct problem);
    p->name = st->name;
    c->problem = c->file->problems[c->file->n_problems++] = p;
    c->scope = (struct value_scope){
        .builder = {.arena = c->arena, .mistakes = c->mistakes, .graph = &p->graph}};
    for (int i = 0; i + 1 < c->file->n_problems; i++)
        if (strcmp(c->file->problems[i]->name, st->name) == 0)
            mistake_fail(c->mistakes, st->name_at, NULL, "problem '%s' is given twice", st->name);
    const char *why_not = names_why_not_problem(st->name);
    if (why_not)
        mistake_fail(c->mistakes, st->name_at, NULL, "'%s' %s", st->name, why_not);
}

static void check_stage(struct checker *c, const struct statement *st) {
    if (!c->kernel)
        mistake_fail(c->mistakes, st->at, NULL,
                     "a stage belongs to a kernel block: kernel for PROBLEM on TARGET");
    if (c->kernel->n_stages == STAGES_MAX)
        mistake_fail(c->mistakes, st->at, NULL, "a kernel has at most %d stages", STAGES_MAX);
    *kernel_add_stage(c->arena, c->kernel, c->kernel->n_stages) = *st->stage;
}

static void check_body(struct checker *c, struct statement *st) {
    if (st->kind == STATEMENT_BAD || (st->in_loop && !c->loop))
        longjmp(*c->mistakes->on_mistake, 1);
    if (st->kind == STATEMENT_PROBLEM || st->kind == STATEMENT_KERNEL) {
        begin_block(c, st);
        return;
    }
    if (st->kind == STATEMENT_STAGE) {
        check_stage(c, st);
        return;
    }
    if (!c->problem)
        mistake_fail(c->mistakes, st->at, NULL, "%s",
                     c->kernel ? "only stages belong to a kernel block; begin another with "
                                 "'problem NAME'"
                               : "a file begins with 'problem NAME' or 'kernel for NAME on "
                                 "TARGET'");
    if (st->kind == STATEMENT_DIM)
        check_dims(c, st);
    else if (st->kind == STATEMENT_PRECISION)
        check_precision(c, st);
    else if (st->kind == STATEMENT_ORDER)
        check_order(c, st);
    else if (st->kind == STATEMENT_OUT)
        check_output(c, st);
    else if (st->kind == STATEMENT_FOR)
        check_for(c, st);
    else if (st->in_loop)
        check_step(c, st);
    else if (st->kind == STATEMENT_ASSIGN)
        check_assignment(c, st);
    else
        check_input(c, st);
}

// What a statement with a mistake would have defined; a state is known only inside its loop.
static void break_names(struct checker *c, const struct statement *st) {
    if (st->kind != STATEMENT_PROBLEM)
        check_define_broken(c, st->name);
    for (const struct dim_syntax *d = st->dims; d; d = d->next)
        check_define_broken(c, d->name);
    for (const struct state_syntax *s = st->states; s; s = s->next)
        check_define_broken(c, s->name);
}

static void check_statement(struct checker *c, struct statement *st,
                            void (*check)(struct checker *c, struct statement *st)) {
    jmp_buf on_mistake;
    c->mistakes->on_mistake = &on_mistake;
    if (setjmp(on_mistake) == 0) {
        check(c, st);
        return;
    }
    assert(c->mistakes->count > 0);
    c->has_mistake = true;
    c->scope.builder.frame = NULL;
    if (c->loop)
        check_break_step(c, st);
    else if (c->problem)
        break_names(c, st);
}

static void end_loop(struct checker *c, struct statement *st) {
    (void)st;
    check_end_for(c);
}

void check_file(struct arena *a, struct mistakes *m, struct statement *statements,
                struct lang_file *file) {
    struct checker c = {.arena = a, .mistakes = m, .file = file};
    file->problems = arena_array(a, struct problem *, BLOCKS_MAX);
    file->kernels = arena_array(a, struct kernel *, BLOCKS_MAX);
    struct statement *loop = NULL;
    bool is_empty = true;
    for (struct statement *s = statements; s && !m->stopped; s = s->next) {
        if (s->kind == STATEMENT_BLANK || s->kind == STATEMENT_COMMENT)
            continue;
        is_empty = false;
        if (c.loop && !s->in_loop)
            check_statement(&c, loop, end_loop);
        loop = s->kind == STATEMENT_FOR ? s : loop;
        check_statement(&c, s, check_body);
    }
    if (c.loop)
        check_statement(&c, loop, end_loop);
    end_block(&c, NULL);
    if (is_empty)
        mistake_add(m, (struct spot){m->source->text, {1, 1}}, NULL,
                    "the file holds no block; begin with 'problem NAME'");
}
