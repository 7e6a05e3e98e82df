// Stage by stage: its region, buffers for what it reads and for its values, then the family's
// lowering.
#include "family/program.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"

static void shape_sizes(const struct loop_program *program, const struct problem *p,
                        const struct shape *s, struct loop_size *sizes) {
    struct region r = {.problem = p, .graph = &p->graph};
    struct lowering l = {.program = (struct loop_program *)program, .region = &r};
    for (int i = 0; i < s->rank; i++)
        sizes[i] = point_size(&l, s, i);
}

static struct loop_buffer *add_global(struct loop_program *program, const struct problem *p,
                                      node_id n, const char *name, enum loop_role role) {
    const struct shape *s = &p->graph.nodes[n].shape;
    struct loop_size sizes[RANK_MAX];
    shape_sizes(program, p, s, sizes);
    return loop_global(program, name, role, sizes, s->rank);
}

struct loop_program *program_new(struct arena *a, const struct problem *p) {
    struct loop_program *program = loop_program_new(a);
    for (int i = 0; i < p->graph.n_dims; i++)
        loop_add_dim(program, (struct loop_size){p->graph.dims[i].size, p->graph.dims[i].name});
    for (int i = 0; i < p->n_inputs; i++)
        add_global(program, p, p->inputs[i].node, p->graph.nodes[p->inputs[i].node].name,
                   LOOP_INPUT);
    for (int i = 0; i < p->n_outputs; i++)
        add_global(program, p, p->outputs[i].node, p->outputs[i].name, LOOP_OUTPUT);
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

void program_prepare(struct program_state *s, const struct region *r, struct lowering *l) {
    *l = (struct lowering){.arena = s->arena, .program = s->program, .region = r};
    l->buffer = s->buffer;
    for (int i = 0; i < r->n_values; i++) {
        l->target[i] = output_buffer(s, r->value_name[i]);
        if (!l->target[i])
            l->target[i] =
                add_global(s->program, s->problem, r->value[i], r->value_name[i], LOOP_SCRATCH);
    }
}

void program_done(struct program_state *s, const struct region *r, const struct lowering *l) {
    for (int i = 0; i < r->n_values; i++) {
        s->is_ready[r->value[i]] = true;
        if (!s->buffer[r->value[i]])
            s->buffer[r->value[i]] = l->target[i];
    }
}

struct loop_program *program_lower(struct arena *a, const struct problem *p, const struct target *t,
                                   const struct kernel *k) {
    struct program_state s;
    program_begin(&s, a, p);
    for (int i = 0; i < k->n_stages; i++) {
        const struct region *r = program_region(&s, &k->stages[i]);
        struct lowering l;
        program_prepare(&s, r, &l);
        const struct family *f = family_on(family_find(k->stages[i].family), t);
        assert(f);
        f->lower(&l, &k->stages[i]);
        program_done(&s, r, &l);
    }
    return s.program;
}
