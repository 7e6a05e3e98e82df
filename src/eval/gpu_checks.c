// What a call left in device memory: were guard zones, inputs and outputs to come left alone, is
// every element written? Before a call all but the inputs holds the poison.
//
// Each look at memory waits for the card, so there are two in a call, and each answers several
// questions. Before it: digests of inputs that were drawn for it, words in outputs and scratch that
// are not the poison. After it: words in guard zones that are not, digests of inputs, words in
// outputs that still are. Only where an answer is bad are the buffers looked at one by one.
#include <assert.h>

#include "base/error.h"
#include "eval/device_gpu.h"

static struct judge_part end_scan(struct judge *j, struct gpu_scan *s) {
    struct error err = {0};
    struct judge_part sum = {0};
    if (!gpu_scan_end(s, &sum, &err))
        gpu_fail(j, &err);
    return sum;
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

cuda_pointer gpu_input_at(const struct judge *j, int slot, int input) {
    return buffer_at(j, NULL, input, slot);
}

cuda_pointer gpu_output_at(const struct judge *j, const struct subject *s, int slot, int output) {
    return buffer_at(j, s, j->problem->n_inputs + output, slot);
}

// ---- poison

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

// A byte is that of the word which stands at its address modulo 4.
static void fill_bytes(struct judge *j, cuda_pointer at, int64_t bytes, uint32_t word) {
    for (; bytes > 0; at++, bytes--)
        gpu_check(
            j, j->gpu->bench.cu.fill8_async(at, (unsigned char)(word >> (8 * (at % 4))), 1, NULL),
            "poison device memory");
}

static void fill_words(struct judge *j, cuda_pointer at, int64_t bytes, uint32_t word) {
    int64_t head = (int64_t)(-at % 4) < bytes ? (int64_t)(-at % 4) : bytes, rest = bytes - head;
    fill_bytes(j, at, head, word);
    at += (cuda_pointer)head;
    if (rest >= 4)
        gpu_check(j, j->gpu->bench.cu.fill32(at, word, (size_t)rest / 4), "poison device memory");
    fill_bytes(j, at + (cuda_pointer)(rest / 4 * 4), rest % 4, word);
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

// ---- before a call

static void add_input(struct judge *j, int input, cuda_pointer at, struct gpu_scan *scan) {
    gpu_scan_add(scan, &(struct gpu_region){.at = at,
                                            .bits = 8 * j->context.buffers[input].size_bytes,
                                            .seed = j->digest_seed + 1000 + (uint64_t)input,
                                            .asks = JUDGE_DIGEST});
}

bool gpu_is_untouched(struct judge *j, struct subject *s, int slot) {
    struct gpu_scan scan = {.bench = &j->gpu->bench, .regions.poison = j->poison[slot]};
    for (int i = 0; j->slot_set[slot] < 0 && i < j->problem->n_inputs; i++)
        add_input(j, i, buffer_at(j, s, i, slot), &scan);
    for (int b = 0; b < s->plan.n_buffers; b++)
        if (s->plan.buffers[b].role != BUFFER_INPUT)
            gpu_scan_add(&scan, &(struct gpu_region){.at = buffer_at(j, s, b, slot),
                                                     .bits = 8 * s->plan.buffers[b].size_bytes,
                                                     .asks = JUDGE_OTHER});
    struct judge_part seen = end_scan(j, &scan);
    j->gpu->new_digests[slot] = seen.digest;
    return seen.n_other == 0;
}

// ---- after a call

uint64_t gpu_input_digest(struct judge *j, int input, cuda_pointer at) {
    struct gpu_scan scan = {.bench = &j->gpu->bench};
    add_input(j, input, at, &scan);
    return end_scan(j, &scan).digest;
}

static void add_output(struct judge *j, struct subject *s, int slot, int output,
                       struct gpu_scan *scan) {
    int64_t bytes = j->context.buffers[j->problem->n_inputs + output].size_bytes;
    gpu_scan_add(scan, &(struct gpu_region){.at = gpu_output_at(j, s, slot, output),
                                            .bits = 8 * bytes,
                                            .asks = JUDGE_SAME});
}

// The guard zones of a slot: all of them, or (i >= 0) the i-th. The buffer before that one; -1: it
// has fewer.
static int add_guards(struct judge *j, struct subject *s, int slot, int i, struct gpu_scan *scan) {
    struct piece pieces[2];
    int n = find_pieces(j, s, slot, pieces), number = 0, buffer = -1;
    for (int p = 0; p < n; p++) {
        const struct gpu_layout *l = &pieces[p].layout;
        for (int k = 0; k <= l->n; k++, number++) {
            int64_t offset, bytes;
            if (i >= 0 && i != number)
                continue;
            gpu_layout_guard(l, k, &offset, &bytes);
            gpu_scan_add(scan, &(struct gpu_region){.at = pieces[p].at + (cuda_pointer)offset,
                                                    .bits = 8 * bytes,
                                                    .asks = JUDGE_OTHER});
            buffer = l->first + (k ? k - 1 : 0);
        }
    }
    return buffer;
}

// All questions at once. The answers hold until the next call in any slot.
static void look(struct judge *j, struct subject *s, int slot, uint32_t word) {
    struct gpu_scan scan = {.bench = &j->gpu->bench, .regions.poison = word};
    add_guards(j, s, slot, -1, &scan);
    for (int i = 0; i < j->problem->n_inputs; i++)
        add_input(j, i, buffer_at(j, s, i, slot), &scan);
    for (int i = 0; i < j->problem->n_outputs; i++)
        add_output(j, s, slot, i, &scan);
    j->gpu->left = end_scan(j, &scan);
    j->gpu->left_slot = slot;
}

int gpu_find_overrun(struct judge *j, struct subject *s, int slot, uint32_t word) {
    look(j, s, slot, word);
    for (int i = 0, buffer = 0; j->gpu->left.n_other && buffer >= 0; i++) {
        struct gpu_scan one = {.bench = &j->gpu->bench, .regions.poison = word};
        buffer = add_guards(j, s, slot, i, &one);
        if (end_scan(j, &one).n_other)
            return buffer;
    }
    return j->gpu->left.n_other ? 0 : -1;
}

// Which of them it was: a set's digests are known, data of one call are drawn again.
static int name_changed(struct judge *j, int slot) {
    int set = j->slot_set[slot];
    for (int i = 0; i < j->problem->n_inputs; i++) {
        uint64_t seen = gpu_input_digest(j, i, gpu_input_at(j, slot, i));
        if (set < 0)
            gpu_redraw(j, slot, i);
        if (seen != (set < 0 ? gpu_input_digest(j, i, gpu_input_at(j, slot, i))
                             : j->gpu->sets[set].digests[i]))
            return i;
    }
    return 0;
}

int gpu_find_changed_input(struct judge *j, struct subject *s, int slot) {
    int set = j->slot_set[slot];
    uint64_t expected = set < 0 ? j->gpu->new_digests[slot] : 0;
    (void)s;
    assert(j->gpu->left_slot == slot);
    for (int i = 0; set >= 0 && i < j->problem->n_inputs; i++)
        expected += j->gpu->sets[set].digests[i];
    if (j->gpu->left.digest == expected)
        return -1;
    int changed = name_changed(j, slot);
    j->slot_set[slot] = -1;
    return changed;
}

// Of other types than f32 one or other word may hold the poison's bits by right.
int64_t gpu_count_unwritten(struct judge *j, struct subject *s, int slot, uint32_t word) {
    enum { BY_CHANCE = 4 };
    int64_t n = 0;
    assert(j->gpu->left_slot == slot);
    for (int i = 0; j->gpu->left.n_same && i < j->problem->n_outputs; i++) {
        struct gpu_scan one = {.bench = &j->gpu->bench, .regions.poison = word};
        enum dtype type = j->context.buffers[j->problem->n_inputs + i].type;
        add_output(j, s, slot, i, &one);
        int64_t same = (int64_t)end_scan(j, &one).n_same;
        if (type == DTYPE_F32 || same >= BY_CHANCE)
            n += same * 32 / dtype_infos[type].bits;
    }
    return n;
}

// Of an odd number of packed elements half of the last byte holds none.
uint64_t gpu_digest(struct judge *j, struct subject *s, int slot) {
    struct gpu_scan scan = {.bench = &j->gpu->bench};
    for (int i = 0; i < j->problem->n_outputs; i++) {
        const struct node *n = &j->problem->graph.nodes[j->problem->outputs[i].node];
        gpu_scan_add(
            &scan, &(struct gpu_region){.at = gpu_output_at(j, s, slot, i),
                                        .bits = shape_count(&n->shape) * dtype_infos[n->dtype].bits,
                                        .seed = j->digest_seed + (uint64_t)i,
                                        .asks = JUDGE_DIGEST});
    }
    return end_scan(j, &scan).digest;
}
