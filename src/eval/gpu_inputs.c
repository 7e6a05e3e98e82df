// Inputs of a set made on the card: drawn, derived by a law from the declared ones, or computed
// from hidden draws.
#include <stdio.h>

#include "base/error.h"
#include "eval/device_gpu.h"
#include "hone_inputs.h"
#include "oracle/gpu_derived.h"
#include "oracle/oracle_plan.h"

static int64_t input_count(const struct judge *j, int i) {
    return shape_count(&j->problem->graph.nodes[j->problem->inputs[i].node].shape);
}

// Drawn on the device; the patches of a patched set one by one.
static bool draw_input(struct judge *j, enum oracle_set set, int i, cuda_pointer to) {
    struct error err = {0};
    struct patch patches[PATCHES];
    struct hone_source source = oracle_source(&j->oracle, set, i);
    if (!gpu_oracle_fill(&j->gpu->oracle, &source, j->context.buffers[i].type, input_count(j, i),
                         to, &err)) {
        gpu_fail(j, &err);
        return false;
    }
    int n = oracle_patches(&j->oracle, set, i, patches);
    for (int k = 0; k < n; k++)
        if (!gpu_put_element(j, i, to, &patches[k], false))
            return false;
    return true;
}

// From the declared data, by the set's law. False, and the host has to: no memory.
static bool derive_input(struct judge *j, enum oracle_set set, int i, cuda_pointer to) {
    struct gpu_oracle *o = &j->gpu->oracle;
    struct error err = {0};
    struct gpu_law law;
    struct gpu_copy c = {.to = to, .bytes = j->context.buffers[i].size_bytes};
    if (!gpu_law_open(&law, o, &j->oracle, set, &err))
        return false;
    bool ok = gpu_oracle_take_work(o, c.bytes, &err);
    c.from = o->work;
    ok = ok && draw_input(j, SET_DECLARED, i, c.from) && gpu_law_input(&law, i, &c, &err);
    gpu_law_close(&law);
    return ok;
}

// An input that is computed from hidden draws, where the kernels know its maker. False, and the
// host has to.
static bool compute_job(struct judge *j, const struct inputs_job *job, cuda_pointer to,
                        bool *is_finite) {
    int i = job->input;
    const struct problem *maker = j->problem->inputs[i].maker;
    struct gpu_oracle *o = &j->gpu->oracle;
    struct error err = {0};
    cuda_pointer hidden[INPUTS_MAX] = {0};
    bool ok = true;
    for (int k = 0; ok && k < maker->n_inputs; k++) {
        const struct node *n = &maker->graph.nodes[maker->inputs[k].node];
        int64_t count = shape_count(&n->shape);
        struct inputs_job draw = inputs_hidden(job, k);
        struct hone_source source = inputs_source(&draw);
        ok = o->bench->cu.allocate(&hidden[k], (size_t)dtype_size(n->dtype, count)) == 0 &&
             gpu_oracle_fill(o, &source, n->dtype, count, hidden[k], &err);
    }
    struct gpu_oracle_request request = {.problem = maker, .inputs = hidden, .made = to};
    ok =
        ok && gpu_oracle_compute(o, &request, &err) &&
        gpu_oracle_is_finite(o, to, j->context.buffers[i].type, input_count(j, i), is_finite, &err);
    for (int k = 0; k < maker->n_inputs; k++)
        if (hidden[k])
            o->bench->cu.release(hidden[k]);
    return ok;
}

static bool compute_input(struct judge *j, enum oracle_set set, int i, cuda_pointer to) {
    struct inputs_job job = oracle_job(&j->oracle, set, i);
    bool is_finite = true, ok = compute_job(j, &job, to, &is_finite);
    char *fault = j->oracle.sets[set].fault;
    if (ok && !is_finite && set != SET_DECLARED && !fault[0])
        snprintf(fault, FAULT_MAX, "%s is not finite", j->context.buffers[i].name);
    return ok;
}

static bool takes_maker(const struct problem *maker) {
    bool ok = oracle_plan_supports(maker);
    for (int i = 0; i < maker->n_inputs; i++)
        ok = ok && !maker->inputs[i].maker;
    return ok;
}

bool gpu_make_input(struct judge *j, enum oracle_set set, int i, cuda_pointer to) {
    const struct problem *maker = j->problem->inputs[i].maker;
    // Laws do not touch inputs that are computed.
    if (maker)
        return takes_maker(maker) && compute_input(j, set < SET_DRAWN ? set : SET_DECLARED, i, to);
    return set < SET_DRAWN ? draw_input(j, set, i, to) : derive_input(j, set, i, to);
}

bool gpu_make_new_input(struct judge *j, uint64_t seed, int i, cuda_pointer to) {
    const struct problem *maker = j->problem->inputs[i].maker;
    struct inputs_job job = {
        .problem = j->problem, .input = i, .set = INPUT_SET_DECLARED, .seed = seed, .n_threads = 1};
    struct error err = {0};
    bool is_finite;
    if (!j->gpu->has_kernels)
        return false;
    if (maker)
        return j->gpu->has_oracle && takes_maker(maker) && compute_job(j, &job, to, &is_finite);
    struct hone_source source = inputs_source(&job);
    if (gpu_oracle_fill(&j->gpu->oracle, &source, j->context.buffers[i].type, input_count(j, i), to,
                        &err))
        return true;
    gpu_fail(j, &err);
    return false;
}
