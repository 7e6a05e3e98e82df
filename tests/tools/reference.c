// reference FILE DIR [SEED]: for every problem of the file draw the inputs, interpret it, and write
// all inputs and outputs as float64 into DIR, one file each. Standard output lists them:
//     problem NAME | in NAME TYPE FILE SIZES... | out NAME TYPE FILE SIZES...
// bridge/reference/compare.py and bridge/import_cases.py read this. `reference --names` lists the
// words that cannot be names. An output comes three times: its value in FILE, the honest reading in
// FILE.honest, the spread in FILE.spread.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "ir/inputs.h"
#include "ir/interpret.h"
#include "lang/lang.h"
#include "lang/names.h"

static void write_doubles(const char *path, const double *values, int64_t n) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(values, sizeof *values, (size_t)n, f) != (size_t)n || fclose(f) != 0) {
        fprintf(stderr, "reference: cannot write %s\n", path);
        exit(4);
    }
}

static const char *announce(struct arena *a, const char *dir, const struct problem *p,
                            const char *kind, node_id id, const char *name) {
    const struct node *n = &p->graph.nodes[id];
    const char *path = arena_printf(a, "%s/%s.%s", dir, p->name, name);
    printf("%s %s %s %s", kind, name, dtype_name(n->dtype), path);
    for (int i = 0; i < n->shape.rank; i++)
        printf(" %lld", (long long)n->shape.size[i]);
    printf("\n");
    return path;
}

static void write_output(struct arena *a, const char *path, const struct interpret_result *r,
                         int i) {
    double *honest = r->wide[i];
    if (!honest) {
        honest = arena_array(a, double, r->count[i] + 1);
        for (int64_t j = 0; j < r->count[i]; j++)
            honest[j] = r->honest[i][j];
    }
    write_doubles(path, r->value[i], r->count[i]);
    write_doubles(arena_printf(a, "%s.honest", path), honest, r->count[i]);
    write_doubles(arena_printf(a, "%s.spread", path), r->spread[i], r->count[i]);
}

static void interpret_problem(struct arena *a, const char *dir, const struct problem *p,
                              uint64_t seed) {
    struct interpret_data data = {0};
    struct interpret_result r;
    printf("problem %s\n", p->name);
    for (int i = 0; i < p->n_inputs; i++) {
        const struct node *n = &p->graph.nodes[p->inputs[i].node];
        int64_t count = shape_count(&n->shape);
        void *stored = arena_array(a, char, dtype_size(n->dtype, count) + 1);
        double *values = arena_array(a, double, count + 1);
        inputs_fill(p, i, seed, stored);
        dtype_get_run(n->dtype, stored, 0, count, values);
        data.inputs[i] = stored;
        write_doubles(announce(a, dir, p, "in", p->inputs[i].node, n->name), values, count);
    }
    interpret(p, &data, &r);
    if (r.fault[0])
        printf("fault %s\n", r.fault);
    for (int i = 0; i < r.n_outputs; i++) {
        const char *name = p->outputs[i].name;
        write_output(a, announce(a, dir, p, "out", p->outputs[i].node, name), &r, i);
    }
    interpret_reset(&r);
}

int main(int argc, char **argv) {
    struct arena a = {0};
    struct error err = {0};
    struct lang_file file;
    const char *diagnostics = "";
    if (argc == 2 && strcmp(argv[1], "--names") == 0) {
        for (int i = 0; names_taken(i); i++)
            for (const char *const *name = names_taken(i); *name; name++)
                puts(*name);
        return 0;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: reference FILE DIR [SEED]\n");
        return 2;
    }
    struct lang_source source = {.file = argv[1]};
    source.text = file_read(&a, argv[1], 1 << 24, &source.len, &err);
    if (!source.text || !lang_parse(&a, &source, &file, &diagnostics, &err)) {
        fprintf(stderr, "reference: %s\n%s", err.text, diagnostics);
        return 1;
    }
    for (int i = 0; i < file.n_problems; i++) {
        struct arena one = {0};
        uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
        interpret_problem(&one, argv[2], file.problems[i], seed + (uint64_t)i);
        arena_reset(&one);
    }
    arena_reset(&a);
    return 0;
}
