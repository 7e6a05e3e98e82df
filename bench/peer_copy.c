// A streaming copy of 64 MiB to 64 MiB: what softmax and other kernels that read and write
// each element once can hope for. Run beside an exported softmax by bench/run.sh.
#include "peer.h"
#include "softmax.h"

enum { COUNT = 4096 * 4096, CHUNK = 1 << 16 };

typedef float lanes __attribute__((vector_size(64)));

static float *x, *y, *y_peer;

static void ours(void) {
    softmax(x, y);
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
#pragma omp parallel for schedule(dynamic)
    for (int chunk = 0; chunk < COUNT / CHUNK; chunk++) {
        const lanes *from = (const lanes *)(x + (size_t)chunk * CHUNK);
        lanes *to = (lanes *)(y_peer + (size_t)chunk * CHUNK);
        for (int i = 0; i < CHUNK / 16; i++)
            stream(to + i, from[i]);
    }
}

int main(void) {
    float **buffers[] = {&x, &y, &y_peer};
    for (int i = 0; i < 3; i++)
        *buffers[i] = aligned_alloc(64, sizeof(float) * COUNT);
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i * 7 % 31) / 8;
    peer_run("copy", ours, peer);
    return 0;
}
