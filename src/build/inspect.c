// Runs objdump, finds innermost loops by backward jumps, and counts scalar and packed arithmetic
// inside them. The answer is kept in the cache next to the object.
#include "build/inspect.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "record/profile.h"

struct instruction {
    uint64_t address;
    uint64_t target;  // of a jump; 0: none
    bool is_scalar, is_vector;
};

struct listing {
    struct instruction *items;
    int n, cap;
};

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

// Floating point arithmetic by its name: "vfmadd231ps", "mulss". Moves, shuffles and
// conversions are not arithmetic.
static void classify(const char *name, size_t len, struct instruction *out) {
    static const char *const kinds[] = {"fmadd", "fmsub", "fnmadd", "fnmsub", "add",   "sub", "mul",
                                        "div",   "sqrt",  "max",    "min",    "rsqrt", "rcp", NULL};
    if (*name == 'v') {
        name++;
        len--;
    }
    bool known = false;
    for (const char *const *k = kinds; *k && !known; k++)
        known = len > 2 && starts_with(name, *k);
    if (!known)
        return;
    const char *end = name + len - 2;
    out->is_scalar = starts_with(end, "ss") || starts_with(end, "sd");
    out->is_vector = starts_with(end, "ps") || starts_with(end, "pd");
}

// "    1139:\tvaddps %zmm0,%zmm1,%zmm2", "    1150:\tjne    1139 <rows+0x9>"
static bool parse_line(const char *line, struct instruction *out) {
    char *end;
    *out = (struct instruction){.address = strtoull(line, &end, 16)};
    if (end == line || end[0] != ':' || end[1] != '\t')
        return false;
    const char *name = end + 2;
    size_t len = strcspn(name, " \t\n");
    if (*name == 'j') {
        const char *operand = name + len + strspn(name + len, " \t");
        out->target = strtoull(operand, &end, 16);
        if (end == operand || (*end != ' ' && *end != '\n' && *end))
            out->target = 0;
    } else {
        classify(name, len, out);
    }
    return true;
}

static void read_listing(const char *text, struct listing *l) {
    for (const char *line = text; *line;) {
        struct instruction i;
        if (parse_line(line, &i)) {
            if (l->n == l->cap) {
                l->cap = l->cap ? 2 * l->cap : 256;
                l->items = realloc(l->items, sizeof *l->items * (size_t)l->cap);
                if (!l->items)
                    abort();
            }
            l->items[l->n++] = i;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

// Index of the instruction at an address at most `from` back, or -1.
static int find_back(const struct listing *l, int from, uint64_t address) {
    for (int i = from; i >= 0 && l->items[i].address >= address; i--)
        if (l->items[i].address == address)
            return i;
    return -1;
}

void inspect_text(const char *text, double *scalar, double *vector) {
    struct listing l = {0};
    read_listing(text, &l);
    *scalar = *vector = 0;
    // Jumps come in order of their address: a loop is innermost when no other loop has
    // ended since its own beginning.
    int last_end = -1;
    for (int i = 0; i < l.n; i++) {
        if (!l.items[i].target || l.items[i].target > l.items[i].address)
            continue;
        int begin = find_back(&l, i, l.items[i].target);
        if (begin < 0)
            continue;
        if (begin > last_end)
            for (int k = begin; k <= i; k++) {
                *scalar += l.items[k].is_scalar;
                *vector += l.items[k].is_vector;
            }
        last_end = i;
    }
    free(l.items);
}

static bool read_kept(struct arena *a, const char *path, double *scalar, double *vector) {
    struct error err = {0};
    size_t len;
    const char *text = file_exists(path) ? file_read(a, path, 4096, &len, &err) : NULL;
    json_t *json = text ? json_parse(text, len, &err) : NULL;
    struct json_reader r = {.where = "inspection"};
    json_read_schema(&r, json, "hone.inspection/1");
    *scalar = json_read_number(&r, json, "hot_scalar");
    *vector = json_read_number(&r, json, "hot_vector");
    json_decref(json);
    return !r.failed;
}

static bool disassemble(struct arena *a, const char *object, double *scalar, double *vector) {
    const char *program = file_find_program(a, "objdump");
    if (!program)
        return false;
    const char *argv[] = {program, "-d", "--no-show-raw-insn", object, NULL};
    struct process_spec spec = {.argv = argv, .timeout_ns = 10000000000, .max_output = 64 << 20};
    struct process_result p;
    struct error err = {0};
    if (!process_run(a, &spec, &p, &err) || p.exit_status != 0)
        return false;
    inspect_text(p.out, scalar, vector);
    return true;
}

void inspect(struct arena *a, const char *object, struct profile *profile) {
#if defined(__x86_64__)
    double scalar, vector;
    const char *path = arena_printf(a, "%.*s.json", (int)strlen(object) - 3, object);
    if (!read_kept(a, path, &scalar, &vector)) {
        if (!disassemble(a, object, &scalar, &vector))
            return;
        struct error err = {0};
        const char *text = arena_printf(
            a, "{\"schema\":\"hone.inspection/1\",\"hot_scalar\":%.0f,\"hot_vector\":%.0f}\n",
            scalar, vector);
        file_keep(path, text, strlen(text), &err);
    }
    profile_set(profile, METRIC_HOT_SCALAR, scalar);
    profile_set(profile, METRIC_HOT_VECTOR, vector);
#else
    (void)a, (void)object, (void)profile;
#endif
}
