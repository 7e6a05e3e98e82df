// Offsets within the three files, and how many slots it takes to keep caches cold. Of two
// neighbouring slots one has its buffers at the beginning of their pages and one at the end, so
// that an access beyond either side meets an unmapped page.
#include "eval/layout.h"

#include "base/arena.h"

static int64_t round_up(int64_t value, int64_t to) {
    return (value + to - 1) / to * to;
}

static enum layout_file file_of(enum buffer_role role) {
    return role == BUFFER_INPUT ? FILE_INPUTS : role == BUFFER_OUTPUT ? FILE_OUTPUTS : FILE_SCRATCH;
}

void layout_make(struct arena *a, struct layout *l, const struct plan *plan, int n_slots) {
    *l = (struct layout){.n_slots = n_slots, .n_buffers = plan->n_buffers};
    l->buffers = arena_array(a, struct layout_buffer, plan->n_buffers + 1);
    for (int i = 0; i < plan->n_buffers; i++) {
        struct layout_buffer *b = &l->buffers[i];
        b->file = file_of(plan->buffers[i].role);
        b->size_bytes = plan->buffers[i].size_bytes;
        b->span_bytes = round_up(b->size_bytes, LAYOUT_PAGE);
        b->offset = l->file_bytes[b->file];
        l->file_bytes[b->file] += b->span_bytes * n_slots;
    }
}

int64_t layout_offset(const struct layout *l, int buffer, int slot) {
    return l->buffers[buffer].offset + slot * l->buffers[buffer].span_bytes;
}

int64_t layout_lead(const struct layout *l, int buffer, int slot) {
    const struct layout_buffer *b = &l->buffers[buffer];
    return slot % 2 ? 0 : b->span_bytes - round_up(b->size_bytes, LAYOUT_ALIGN);
}

uint32_t layout_poison(const struct layout *l, int buffer, int64_t at, uint32_t word) {
    const uint32_t payload = 0x3fffff;
    if (l->buffers[buffer].file != FILE_SCRATCH)
        return word;
    uint32_t h = word + (uint32_t)(at / 4) * 0x9E3779B1u + (uint32_t)buffer * 0x85EBCA6Bu;
    h = (h ^ h >> 15) * 0x2C1B3C6Du;
    h = (h ^ h >> 12) * 0x297A2D39u;
    return (word & ~payload) | ((h ^ h >> 15) & payload);
}

int layout_slots(int64_t bytes, int n_buffers, int64_t llc_bytes, int64_t max_bytes) {
    int64_t wanted = 2 * llc_bytes / bytes + 1;
    int64_t room = max_bytes / bytes, bases = LAYOUT_BASES_MAX / 4 / (n_buffers + 1);
    if (wanted > room)
        wanted = room;
    if (wanted > bases)
        wanted = bases;
    return wanted < SLOTS_MIN ? SLOTS_MIN : wanted > SLOTS_MAX ? SLOTS_MAX : (int)wanted;
}
