// What kernels that stream their data can hope for: an exported softmax against a copy of the same
// bytes, or with -DGELU an exported GELU chain against a kernel that reads three arrays and writes
// one. Streaming stores, all threads, the same process and arrays of the same size. Run by
// bench/run.sh.
#include "peer.h"
#ifdef GELU
#include "gelu.h"
#else
#include "softmax.h"
#endif

enum { ROWS = 2048, COLUMNS = 4096, COUNT = ROWS * COLUMNS, CHUNK = 1 << 16, SLOTS = 2 };

typedef float lanes __attribute__((vector_size(64)));

// Two sets of arrays, used in turns, so that caches are as cold as for a first call.
static float *x[SLOTS], *gate[SLOTS], *skip[SLOTS], *y[SLOTS], *y_peer[SLOTS], bias[COLUMNS];
static int slot;

static void ours(void) {
    slot = (slot + 1) % SLOTS;
#ifdef GELU
    gelu(x[slot], bias, gate[slot], skip[slot], y[slot]);
#else
    softmax(x[slot], y[slot]);
#endif
}

static void stream(lanes *to, lanes value) {
#if defined(__clang__)
    __builtin_nontemporal_store(value, to);
#elif defined(__AVX512F__)
    __builtin_ia32_movntps512((float *)to, value);
#else
    *to = value;
#endif
}

static void peer(void) {
    slot = (slot + 1) % SLOTS;
#pragma omp parallel for schedule(dynamic)
    for (int chunk = 0; chunk < COUNT / CHUNK; chunk++) {
        size_t at = (size_t)chunk * CHUNK;
        const lanes *from = (const lanes *)(x[slot] + at);
        lanes *to = (lanes *)(y_peer[slot] + at);
#ifdef GELU
        const lanes *second = (const lanes *)(gate[slot] + at);
        const lanes *third = (const lanes *)(skip[slot] + at);
        for (int i = 0; i < CHUNK / 16; i++)
            stream(to + i, from[i] + second[i] + third[i]);
#else
        for (int i = 0; i < CHUNK / 16; i++)
            stream(to + i, from[i]);
#endif
    }
}

int main(void) {
    float **arrays[] = {x, gate, skip, y, y_peer};
    for (int s = 0; s < SLOTS; s++)
        for (int k = 0; k < 5; k++) {
            arrays[k][s] = aligned_alloc(64, sizeof(float) * COUNT);
            for (int i = 0; i < COUNT; i++)
                arrays[k][s][i] = (float)(i * 7 % 31) / 8 - 2;
        }
    peer_run("stream", ours, peer, 0);
    return 0;
}
