// Data of the judge on a GPU: what it puts into the slots' memory, what it expects of them, and how
// it looks at them after a call.
#include "eval/device_gpu.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

void gpu_fail(struct judge *j, const struct error *err) {
    if (j->broken.kind == ERROR_NONE)
        j->broken = *err;
}

static uint64_t input_seed(const struct judge *j, int input) {
    return j->digest_seed + 1000 + (uint64_t)input;
}

static bool upload_inputs(struct judge *j, enum oracle_set set, struct error *err) {
    struct judge_gpu *g = j->gpu;
    struct gpu_set *s = &g->sets[set];
    for (int i = 0; i < j->problem->n_inputs; i++) {
        int64_t bytes = j->context.buffers[i].size_bytes;
        float *values = malloc((size_t)bytes);
        struct judge_part sum;
        if (!values)
            abort();
        oracle_fill(&j->oracle, set, i, values);
        bool ok = gpu_bench_upload(&g->bench, values, bytes, &s->inputs[i], err);
        struct judge_regions r = {0};
        gpu_regions_add(&r, s->inputs[i], bytes, input_seed(j, i));
        ok = ok && gpu_bench_scan(&g->bench, &r, &sum, err);
        s->digests[i] = sum.digest;
        if (set == SET_DECLARED)
            g->declared[i] = values;
        else
            free(values);
        if (!ok)
            return false;
    }
    s->has_inputs = true;
    return true;
}

static bool upload_expected(struct judge *j, enum oracle_set set, struct error *err) {
    struct judge_gpu *g = j->gpu;
    for (int i = 0; i < j->problem->n_outputs; i++) {
        const struct oracle_output *o = &j->oracle.sets[set].outputs[i];
        struct judge_expected *e = &g->sets[set].expected[i];
        int64_t bytes = o->count * (int64_t)sizeof(float);
        e->limit = o->stats.limit_max;
        if (!gpu_bench_upload(&g->bench, o->high, bytes, &e->high, err) ||
            !gpu_bench_upload(&g->bench, o->low, bytes, &e->low, err) ||
            !gpu_bench_upload(&g->bench, o->spread, bytes, &e->spread, err))
            return false;
    }
    g->sets[set].has_expected = true;
    return true;
}

static bool prepare_inputs(struct judge *j, enum oracle_set set) {
    struct error err = {0};
    if (j->gpu->sets[set].has_inputs || upload_inputs(j, set, &err))
        return true;
    gpu_fail(j, &err);
    return false;
}

bool gpu_check(struct judge *j, cuda_result code, const char *what) {
    struct error err = {0};
    if (cuda_ok(&j->gpu->bench.cu, code, what, &err))
        return true;
    gpu_fail(j, &err);
    return false;
}

// Where a buffer lies, in the judge's addresses. Scratch is the subject's own.
static cuda_pointer buffer_at(const struct judge *j, const struct subject *s, int buffer,
                              int slot) {
    struct gpu_layout l;
    int n = j->gpu->problem.n_buffers;
    bool is_scratch = buffer >= n;
    gpu_layout_make(&l, is_scratch ? s->plan.buffers : j->gpu->problem.buffers, is_scratch ? n : 0,
                    is_scratch ? s->plan.n_buffers - n : n, slot, j->gpu->bench.page_bytes);
    const struct cuda_mapping *m =
        is_scratch ? &s->gpu->runner->scratch[slot] : &j->gpu->memory.slots[slot];
    return m->at + (cuda_pointer)l.offset[buffer];
}

void gpu_load(struct judge *j, int slot, enum oracle_set set) {
    if (j->slot_set[slot] == (int)set || !prepare_inputs(j, set))
        return;
    for (int i = 0; i < j->problem->n_inputs; i++)
        gpu_check(j,
                  j->gpu->bench.cu.copy(buffer_at(j, NULL, i, slot), j->gpu->sets[set].inputs[i],
                                        (size_t)j->context.buffers[i].size_bytes),
                  "copy inputs");
    j->slot_set[slot] = (int)set;
}

const float *gpu_declared(struct judge *j, int input, int slot) {
    (void)slot;
    prepare_inputs(j, SET_DECLARED);
    return j->gpu->declared[input];
}

void gpu_patch(struct judge *j, struct subject *s, int slot, const struct novelty *n,
               bool is_back) {
    (void)s;
    for (int i = 0; i < j->problem->n_inputs; i++)
        for (int k = 0; k < n->n[i]; k++) {
            const struct patch *p = &n->patches[i][k];
            cuda_pointer at = buffer_at(j, NULL, i, slot) + 4 * (cuda_pointer)p->index;
            gpu_check(j, j->gpu->bench.cu.copy_to(at, is_back ? &p->before : &p->after, 4),
                      "change inputs");
        }
}

// One piece of a slot's memory: the problem's buffers, or scratch.
struct piece {
    struct gpu_layout layout;
    cuda_pointer at;
};

static int find_pieces(struct judge *j, struct subject *s, int slot, struct piece pieces[2]) {
    int n = j->gpu->problem.n_buffers;
    int64_t page = j->gpu->bench.page_bytes;
    gpu_layout_make(&pieces[0].layout, s->plan.buffers, 0, n, slot, page);
    pieces[0].at = j->gpu->memory.slots[slot].at;
    if (s->plan.n_buffers == n)
        return 1;
    gpu_layout_make(&pieces[1].layout, s->plan.buffers, n, s->plan.n_buffers - n, slot, page);
    pieces[1].at = s->gpu->runner->scratch[slot].at;
    return 2;
}

static void fill_words(struct judge *j, cuda_pointer at, int64_t bytes, uint32_t word) {
    if (bytes >= 4)
        gpu_check(j, j->gpu->bench.cu.fill32(at, word, (size_t)bytes / 4), "poison device memory");
}

// All of a piece but inputs.
static void poison_piece(struct judge *j, const struct subject *s, const struct piece *p,
                         uint32_t word) {
    const struct gpu_layout *l = &p->layout;
    for (int i = 0; i <= l->n; i++) {
        int64_t offset, bytes;
        gpu_layout_guard(l, i, &offset, &bytes);
        fill_words(j, p->at + (cuda_pointer)offset, bytes, word);
    }
    for (int b = l->first; b < l->first + l->n; b++)
        if (s->plan.buffers[b].role != BUFFER_INPUT)
            fill_words(j, p->at + (cuda_pointer)l->offset[b], l->size[b], word);
}

void gpu_poison(struct judge *j, struct subject *s, int slot) {
    struct piece pieces[2];
    uint32_t word = j->poison[slot];
    int n = find_pieces(j, s, slot, pieces);
    if (j->outputs_poison[slot] != word)
        poison_piece(j, s, &pieces[0], word);
    if (s->own_poison[slot] != word && n == 2)
        poison_piece(j, s, &pieces[1], word);
    j->outputs_poison[slot] = s->own_poison[slot] = word;
}

static struct judge_part scan(struct judge *j, const struct judge_regions *r) {
    struct error err = {0};
    struct judge_part sum = {0};
    if (!gpu_bench_scan(&j->gpu->bench, r, &sum, &err))
        gpu_fail(j, &err);
    return sum;
}

bool gpu_is_untouched(struct judge *j, struct subject *s, int slot) {
    struct judge_regions r = {.poison = j->poison[slot]};
    for (int b = 0; b < s->plan.n_buffers; b++)
        if (s->plan.buffers[b].role != BUFFER_INPUT)
            gpu_regions_add(&r, buffer_at(j, s, b, slot), s->plan.buffers[b].size_bytes, 0);
    return scan(j, &r).n_other == 0;
}

// The guard zones of a slot: all of them, or (i >= 0) the i-th, and the buffer before it.
static int guard_regions(struct judge *j, struct subject *s, int slot, int i,
                         struct judge_regions *r) {
    struct piece pieces[2];
    int n = find_pieces(j, s, slot, pieces), number = 0, buffer = -1;
    for (int p = 0; p < n; p++) {
        const struct gpu_layout *l = &pieces[p].layout;
        for (int k = 0; k <= l->n; k++, number++) {
            int64_t offset, bytes;
            if (i >= 0 && i != number)
                continue;
            gpu_layout_guard(l, k, &offset, &bytes);
            gpu_regions_add(r, pieces[p].at + (cuda_pointer)offset, bytes, 0);
            buffer = l->first + (k ? k - 1 : 0);
        }
    }
    return buffer;
}

int gpu_find_overrun(struct judge *j, struct subject *s, int slot, uint32_t word) {
    struct judge_regions all = {.poison = word};
    guard_regions(j, s, slot, -1, &all);
    if (scan(j, &all).n_other == 0)
        return -1;
    for (int i = 0; i < all.count; i++) {
        struct judge_regions one = {.poison = word};
        int buffer = guard_regions(j, s, slot, i, &one);
        if (scan(j, &one).n_other)
            return buffer;
    }
    return 0;
}

int gpu_find_changed_input(struct judge *j, struct subject *s, int slot) {
    const struct gpu_set *set = &j->gpu->sets[j->slot_set[slot]];
    struct judge_regions all = {0};
    uint64_t expected = 0;
    for (int i = 0; i < j->problem->n_inputs; i++) {
        gpu_regions_add(&all, buffer_at(j, s, i, slot), j->context.buffers[i].size_bytes,
                        input_seed(j, i));
        expected += set->digests[i];
    }
    if (scan(j, &all).digest == expected)
        return -1;
    j->slot_set[slot] = -1;
    for (int i = 0; i < all.count; i++) {
        struct judge_regions one = {.count = 1};
        one.at[0] = all.at[i];
        one.n[0] = all.n[i];
        one.seed[0] = all.seed[i];
        if (scan(j, &one).digest != set->digests[i])
            return i;
    }
    return 0;
}

static cuda_pointer output_at(const struct judge *j, const struct subject *s, int slot,
                              int output) {
    return buffer_at(j, s, j->problem->n_inputs + output, slot);
}

static int64_t output_bytes(const struct judge *j, int output) {
    return j->context.buffers[j->problem->n_inputs + output].size_bytes;
}

uint64_t gpu_digest(struct judge *j, struct subject *s, int slot) {
    struct judge_regions r = {0};
    for (int i = 0; i < j->problem->n_outputs; i++)
        gpu_regions_add(&r, output_at(j, s, slot, i), output_bytes(j, i),
                        j->digest_seed + (uint64_t)i);
    return scan(j, &r).digest;
}

bool gpu_compare(struct judge *j, struct subject *s, int slot, int output, uint32_t word,
                 struct comparison *c) {
    struct error err = {0};
    enum oracle_set set = (enum oracle_set)j->slot_set[slot];
    const struct oracle_output *o = &j->oracle.sets[set].outputs[output];
    struct judge_part sum = {0};
    struct gpu_results r = {.at = output_at(j, s, slot, output), .n = o->count, .poison = word};
    *c = (struct comparison){.stats = o->stats};
    if ((!j->gpu->sets[set].has_expected && !upload_expected(j, set, &err)) ||
        !gpu_bench_compare(&j->gpu->bench, &r, &j->gpu->sets[set].expected[output], &sum, &err)) {
        gpu_fail(j, &err);
        return false;
    }
    c->n_wrong = (int64_t)sum.n_wrong;
    c->n_unwritten = (int64_t)sum.n_same;
    c->stats.rms = o->count ? sqrt(sum.sum / (double)o->count) : 0;
    c->stats.max = sum.max;
    c->is_ok =
        c->stats.rms <= o->stats.limit_rms && c->stats.max <= o->stats.limit_max && !c->n_unwritten;
    return c->is_ok;
}

const float *gpu_values(struct judge *j, struct subject *s, int slot, int output) {
    int64_t bytes = output_bytes(j, output);
    free(j->gpu->values);
    j->gpu->values = calloc(1, (size_t)bytes);
    if (!j->gpu->values)
        abort();
    gpu_check(
        j, j->gpu->bench.cu.copy_from(j->gpu->values, output_at(j, s, slot, output), (size_t)bytes),
        "copy results");
    return j->gpu->values;
}

void gpu_forget_sets(struct judge *j) {
    struct judge_gpu *g = j->gpu;
    for (int s = 0; s < SET_COUNT; s++) {
        struct gpu_set *set = &g->sets[s];
        for (int i = 0; i < INPUTS_MAX; i++)
            if (set->inputs[i])
                g->bench.cu.release(set->inputs[i]);
        for (int i = 0; i < OUTPUTS_MAX; i++) {
            const cuda_pointer parts[] = {set->expected[i].high, set->expected[i].low,
                                          set->expected[i].spread};
            for (int k = 0; k < 3; k++)
                if (parts[k])
                    g->bench.cu.release(parts[k]);
        }
        *set = (struct gpu_set){0};
    }
    for (int i = 0; i < INPUTS_MAX; i++) {
        free(g->declared[i]);
        g->declared[i] = NULL;
    }
}
