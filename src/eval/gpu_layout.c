// Offsets of buffers and guard zones; judge and runner both compute them, so none are sent.
#include "eval/gpu_layout.h"

enum { SHIFTS = 32 };

static int64_t round_up(int64_t value, int64_t to) {
    return (value + to - 1) / to * to;
}

void gpu_layout_make(struct gpu_layout *l, const struct plan_buffer *buffers, int first, int n,
                     int slot, int64_t page_bytes) {
    *l = (struct gpu_layout){.first = first, .n = n};
    int64_t at = 0;
    for (int i = first; i < first + n; i++) {
        at += GPU_GUARD + GPU_ALIGN * ((slot * 7 + i * 3) % SHIFTS);
        l->offset[i] = at;
        l->size[i] = buffers[i].size_bytes;
        at = round_up(at + buffers[i].size_bytes, GPU_ALIGN);
    }
    l->total_bytes = round_up(at + GPU_GUARD, page_bytes);
}

void gpu_layout_guard(const struct gpu_layout *l, int i, int64_t *offset, int64_t *bytes) {
    int before = l->first + i - 1, next = l->first + i;
    int64_t from = i == 0 ? 0 : l->offset[before] + l->size[before];
    int64_t to = i == l->n ? l->total_bytes : l->offset[next];
    *offset = from;
    *bytes = to - from;
}
