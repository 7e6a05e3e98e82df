// The interpreter (all three readings, one thread) against a plain loop nest in float64, compiled
// with the same flags, in one process. A line per problem, as peer.h prints it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "lang/lang.h"
#include "peer.h"

enum { SIZE = 384, BATCH = 4, CHANNELS = 32, HEIGHT = 28, WINDOW = 3 };

static double *a, *b, *c;

static void matmul(void) {
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            double sum = 0;
            for (int k = 0; k < SIZE; k++)
                sum += a[i * SIZE + k] * b[k * SIZE + j];
            c[i * SIZE + j] = sum;
        }
}

static double tap(int n, int o, int y, int x) {
    double sum = 0;
    for (int i = 0; i < CHANNELS; i++)
        for (int v = 0; v < WINDOW; v++)
            for (int u = 0; u < WINDOW; u++) {
                int row = y + v - 1, column = x + u - 1;
                if (row < 0 || row >= HEIGHT || column < 0 || column >= HEIGHT)
                    continue;
                sum += a[((n * CHANNELS + i) * HEIGHT + row) * HEIGHT + column] *
                       b[((o * CHANNELS + i) * WINDOW + v) * WINDOW + u];
            }
    return sum;
}

static void conv(void) {
    for (int n = 0; n < BATCH; n++)
        for (int o = 0; o < CHANNELS; o++)
            for (int y = 0; y < HEIGHT; y++)
                for (int x = 0; x < HEIGHT; x++)
                    c[((n * CHANNELS + o) * HEIGHT + y) * HEIGHT + x] = tap(n, o, y, x);
}

static const struct problem *problem;
static struct interpret_data data;

static void ours(void) {
    struct interpret_result r;
    interpret(problem, &data, &r);
    interpret_reset(&r);
}

static void compare(struct arena *arena, const char *text, void (*peer)(void)) {
    struct lang_source source = {.file = "bench", .text = text, .len = strlen(text)};
    struct lang_file file;
    struct error err;
    const char *diagnostics;
    if (!lang_parse(arena, &source, &file, &diagnostics, &err)) {
        fprintf(stderr, "%s", diagnostics);
        exit(1);
    }
    problem = file.problems[0];
    double **arrays[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        int64_t count = shape_count(&problem->graph.nodes[problem->inputs[i].node].shape);
        float *stored = arena_array(arena, float, count);
        *arrays[i] = arena_array(arena, double, count);
        inputs_fill(problem, i, 1, stored);
        for (int64_t k = 0; k < count; k++)
            (*arrays[i])[k] = stored[k];
        data.inputs[i] = stored;
    }
    c = arena_array(arena, double,
                    shape_count(&problem->graph.nodes[problem->outputs[0].node].shape));
    peer_run(problem->name, ours, peer, 0);
}

int main(void) {
    struct arena arena = {0};
    compare(&arena,
            "problem matmul\nin a : f32[384, 384]\nin b : f32[384, 384]\nout c : f32[384, 384]\n"
            "c = a @ b\n",
            matmul);
    compare(&arena,
            "problem conv\nin a : f32[4, 32, 28, 28]\nin b : f32[32, 32, 3, 3]\n"
            "out c : f32[4, 32, 28, 28]\nc = conv2d(a, b, padding=1)\n",
            conv);
    arena_reset(&arena);
    return 0;
}
