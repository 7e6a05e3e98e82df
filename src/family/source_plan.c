// Buffers and sizes from the problem, limits from the target, then record/plan.h's parser.
#include "family/source_plan.h"

#include "ir/problem.h"
#include "model/target.h"
#include "record/candidate.h"
#include "record/plan.h"

enum { CLUSTER_MAX = 16 };

static struct plan_buffer buffer_of(const struct problem *p, const char *name, int node,
                                    enum buffer_role role) {
    const struct node *n = &p->graph.nodes[node];
    return (struct plan_buffer){.name = name ? name : n->name,
                                .role = role,
                                .size_bytes = dtype_size(n->dtype, shape_count(&n->shape)),
                                .type = n->dtype};
}

static bool read_plan(struct arena *a, const struct problem *p, const struct target *t,
                      const struct candidate *c, struct plan *plan, struct error *err) {
    const char *names[DIMS_MAX];
    int64_t sizes[DIMS_MAX];
    struct plan_buffer buffers[INPUTS_MAX + OUTPUTS_MAX] = {0};
    int n = 0;
    for (int i = 0; i < p->graph.n_dims; i++) {
        names[i] = p->graph.dims[i].name;
        sizes[i] = p->graph.dims[i].size;
    }
    for (int i = 0; i < p->n_inputs; i++)
        buffers[n++] = buffer_of(p, NULL, p->inputs[i].node, BUFFER_INPUT);
    for (int i = 0; i < p->n_outputs; i++)
        buffers[n++] = buffer_of(p, p->outputs[i].name, p->outputs[i].node, BUFFER_OUTPUT);
    struct plan_context context = {.dim_names = names,
                                   .dim_sizes = sizes,
                                   .n_dims = p->graph.n_dims,
                                   .n_threads = t->n_threads,
                                   .buffers = buffers,
                                   .n_buffers = n,
                                   .is_gpu = t->is_gpu,
                                   .takes_calls = c->tier == TIER_K,
                                   .n_sms = t->sms,
                                   .shared_per_block = t->shared_per_block,
                                   .cluster_max = target_has_clusters(t) ? CLUSTER_MAX : 0};
    return plan_parse(a, c->source, &context, plan, err);
}

bool source_plan(struct arena *a, const struct problem *p, const struct target *t,
                 const char *source, struct plan *plan, struct error *err) {
    struct candidate c = {.tier = t->is_gpu ? TIER_D : TIER_C, .source = source};
    return read_plan(a, p, t, &c, plan, err);
}

bool candidate_plan(struct arena *a, const struct problem *p, const struct target *t,
                    const struct candidate *c, struct plan *plan, struct error *err) {
    return read_plan(a, p, t, c, plan, err);
}
