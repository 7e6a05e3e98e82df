// Stage by stage: its region, buffers for what it reads and for its values, then the family's
// lowering.
#include "family/program.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "family/nest_walk.h"
#include "loop/print_cuda.h"
#include "loop/range.h"

static void shape_sizes(const struct loop_program *program, const struct problem *p,
                        const struct shape *s, struct loop_size *sizes) {
    struct region r = {.problem = p, .graph = &p->graph};
    struct lowering l = {.program = (struct loop_program *)program, .region = &r};
    for (int i = 0; i < s->rank; i++)
        sizes[i] = point_size(&l, s, i);
}

static struct loop_buffer *add_global(struct loop_program *program, const struct problem *p,
                                      node_id n, const char *name, enum loop_role role,
                                      const char *type) {
    const struct shape *s = &p->graph.nodes[n].shape;
    struct loop_size sizes[RANK_MAX];
    shape_sizes(program, p, s, sizes);
    enum dtype t = p->graph.nodes[n].dtype;
    if (role == LOOP_SCRATCH && type)
        dtype_find(type, &t);
    // Two elements to a byte belong to one thread: on the way each has its own.
    if (role == LOOP_SCRATCH && t == DTYPE_I4)
        t = DTYPE_I8;
    return loop_global_of(program, name, role, t, sizes, s->rank);
}

struct loop_program *program_new(struct arena *a, const struct problem *p) {
    struct loop_program *program = loop_program_new(a);
    for (int i = 0; i < p->graph.n_dims; i++)
        loop_add_dim(program, (struct loop_size){p->graph.dims[i].size, p->graph.dims[i].name});
    for (int i = 0; i < p->n_inputs; i++)
        add_global(program, p, p->inputs[i].node, p->graph.nodes[p->inputs[i].node].name,
                   LOOP_INPUT, NULL);
    for (int i = 0; i < p->n_outputs; i++)
        add_global(program, p, p->outputs[i].node, p->outputs[i].name, LOOP_OUTPUT, NULL);
    return program;
}

void program_begin(struct program_state *s, struct arena *a, const struct problem *p) {
    *s = (struct program_state){.arena = a, .problem = p, .program = program_new(a, p)};
    s->is_ready = arena_array(a, bool, p->graph.n_nodes);
    s->buffer = arena_array(a, struct loop_buffer *, p->graph.n_nodes);
    for (int i = 0; i < p->n_inputs; i++)
        s->buffer[p->inputs[i].node] = s->program->buffers[i];
}

struct region *program_region(struct program_state *s, const struct kernel_stage *stage) {
    return region_build(s->arena, s->problem, stage->values, stage->n_values, s->is_ready);
}

static struct loop_buffer *output_buffer(struct program_state *s, const char *name) {
    for (int i = 0; i < s->problem->n_outputs; i++)
        if (strcmp(s->problem->outputs[i].name, name) == 0)
            return s->program->buffers[s->problem->n_inputs + i];
    return NULL;
}

void program_prepare(struct program_state *s, const struct region *r, const char *type,
                     struct lowering *l) {
    *l = (struct lowering){.arena = s->arena, .program = s->program, .region = r};
    l->buffer = s->buffer;
    for (int i = 0; i < r->n_values; i++) {
        l->target[i] = output_buffer(s, r->value_name[i]);
        if (!l->target[i] || l->target[i]->dtype == DTYPE_I4)
            l->target[i] = add_global(s->program, s->problem, r->value[i], r->value_name[i],
                                      LOOP_SCRATCH, type);
    }
}

// One element of a pair, if it is there.
static void pack_element(struct loop_builder *b, const struct loop_buffer *from,
                         const struct loop_buffer *to, const struct loop_expr *at) {
    struct arena *a = b->program->arena;
    struct loop_builder inner;
    loop_open_if(b, at, loop_int(a, to->count), &inner);
    loop_store(&inner, to, at, loop_load(a, from, at, 1, 1), false);
    loop_close(b, &inner);
}

struct packing {
    const struct loop_buffer *from, *to;
};

static void pack_pair(void *ctx, struct loop_builder *b, const struct loop_expr *item) {
    const struct packing *p = ctx;
    struct arena *a = b->program->arena;
    const struct loop_expr *first = loop_binary(a, LOOP_MUL, item, loop_int(a, 2));
    pack_element(b, p->from, p->to, first);
    pack_element(b, p->from, p->to, loop_binary(a, LOOP_ADD, first, loop_int(a, 1)));
}

// An output of i4 was computed with a byte for each element; a thread packs a byte of it.
static void pack(struct program_state *s, struct lowering *l, int value) {
    struct loop_buffer *output = output_buffer(s, l->region->value_name[value]);
    if (!output || output == l->target[value])
        return;
    struct packing p = {l->target[value], output};
    bool is_gpu = s->program->kernels[s->program->n_kernels - 1]->threads > 0;
    struct nest_threads t = {.is_gpu = is_gpu, .per_block = is_gpu ? 256 : 4096};
    nest_kernel(l, arena_printf(s->arena, "%s_pack", l->region->value_name[value]), &t,
                loop_int(s->arena, (output->count + 1) / 2), pack_pair, &p);
}

void program_done(struct program_state *s, const struct region *r, struct lowering *l) {
    for (int i = 0; i < r->n_values; i++) {
        pack(s, l, i);
        s->is_ready[r->value[i]] = true;
        if (!s->buffer[r->value[i]])
            s->buffer[r->value[i]] = l->target[i];
    }
}

// Of blocks of more than 512 threads the assembler wants two on a multiprocessor and gives each
// thread 32 registers, even if it has to spill. Where only one fits, or there are no more than
// multiprocessors, that gains nothing: then a thread may have 64.
static void allow_registers(const struct loop_program *p, const struct target *t) {
    enum { MANY_THREADS = 512, SHARED_RESERVED = 1024 };
    for (int i = 0; i < p->n_kernels; i++) {
        struct loop_kernel *k = p->kernels[i];
        int64_t grid;
        if (k->call || k->min_blocks || k->threads <= MANY_THREADS)
            continue;
        bool is_alone = 2 * (print_cuda_shared(p, k) + SHARED_RESERVED) > t->shared_per_sm;
        if (is_alone || (range_constant(k->grid, &grid) && grid <= t->sms))
            k->min_blocks = 1;
    }
}

struct loop_program *program_lower(struct arena *a, const struct problem *p, const struct target *t,
                                   const struct kernel *k) {
    struct program_state s;
    program_begin(&s, a, p);
    for (int i = 0; i < k->n_stages; i++) {
        const struct region *r = program_region(&s, k->stages[i]);
        struct lowering l;
        program_prepare(&s, r, k->stages[i]->type, &l);
        l.sms = t->sms;
        struct objection why;
        const struct form *f = family_form(family_find(k->stages[i]->family), r, &why);
        assert(f);
        stage_emitter(k->stages[i], t)->lower(&l, f, k->stages[i]);
        program_done(&s, r, &l);
    }
    if (t->is_gpu)
        allow_registers(s.program, t);
    return s.program;
}
