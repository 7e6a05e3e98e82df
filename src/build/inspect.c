// Runs objdump, finds innermost loops by backward jumps, and counts scalar and packed arithmetic
// inside them. The answer is kept in the cache next to the object.
#include "build/inspect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/process.h"
#include "build/mca.h"
#include "record/profile.h"

struct instruction {
    uint64_t address;
    uint64_t target;  // of a jump; 0: none
    bool is_scalar, is_vector;
    bool is_fused, is_product, is_addition, is_stack, is_gather;
    uint8_t bytes;  // of the widest register among its operands
    const char *line;
    uint8_t into;   // the vector register that it sums into, and one more; 0: none
    uint8_t fresh;  // the same that it gives another value, whatever was in it
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
    out->is_fused = out->is_vector && *name == 'f';
    out->is_product = out->is_vector && starts_with(name, "mul");
    out->is_addition = out->is_vector && (starts_with(name, "add") || starts_with(name, "sub"));
}

static bool is_gather(const char *name) {
    return starts_with(name, "vgather") || starts_with(name, "vpgather") ||
           starts_with(name, "vscatter") || starts_with(name, "vpscatter");
}

// Vector registers among the operands: the last one, where the result goes, plus one (0: there is
// none), and as bits those before it.
static uint8_t read_registers(const char *at, const char *end, uint64_t *before, uint8_t *bytes) {
    uint8_t last = 0;
    for (; at < end; at++) {
        if (at[0] != '%' || at[2] != 'm' || at[3] != 'm')
            continue;
        uint8_t width = at[1] == 'z' ? 64 : at[1] == 'y' ? 32 : at[1] == 'x' ? 16 : 0;
        *bytes = width > *bytes ? width : *bytes;
        *before |= last ? (uint64_t)1 << ((last - 1) & 63) : 0;
        last = width ? (uint8_t)(strtol(at + 4, NULL, 10) + 1) : last;
    }
    return last;
}

// "0x40(%rsp)", or "-0x70(%rbp)" in a frame that was aligned: a place of its own, as for what does
// not fit registers. With an index it is an element of a local array.
static bool is_on_stack(const char *at, const char *end) {
    for (; at < end; at++)
        if (starts_with(at, "(%rsp)") || (starts_with(at, "-0x") && strcspn(at, "(") < 12 &&
                                          starts_with(at + strcspn(at, "("), "(%rbp)")))
            return true;
    return false;
}

// One element in a vector register: "vmovss", "movsd", "vmovd", "vmovq".
static bool is_single(const char *name, size_t len) {
    const char *end = name + len - 2;
    return len > 4 && (starts_with(end, "ss") || starts_with(end, "sd") || starts_with(end, "vd") ||
                       starts_with(end, "vq"));
}

static void read_operands(const char *name, size_t len, struct instruction *out) {
    const char *at = name + len, *end = at + strcspn(at, "\n#");
    bool is_move = starts_with(name, "vmov") || starts_with(name, "mov");
    uint64_t before = 0;
    uint8_t into = read_registers(at, end, &before, &out->bytes);
    bool goes_on = into && (before >> ((into - 1) & 63) & 1);
    out->is_stack = is_move && out->bytes && !is_single(name, len) && is_on_stack(at, end);
    out->is_gather = is_gather(name);
    if (out->is_fused || (out->is_addition && goes_on))
        out->into = into;
    else if (is_move || starts_with(name, "vbroadcast") || (out->is_vector && !goes_on))
        out->fresh = into;
}

// "    1139:\tvaddps %zmm0,%zmm1,%zmm2", "    1150:\tjne    1139 <rows+0x9>"
static bool parse_line(const char *line, struct instruction *out) {
    char *end;
    *out = (struct instruction){.address = strtoull(line, &end, 16)};
    if (end == line || end[0] != ':' || end[1] != '\t')
        return false;
    const char *name = end + 2;
    out->line = line;
    size_t len = strcspn(name, " \t\n");
    if (*name == 'j') {
        const char *operand = name + len + strspn(name + len, " \t");
        out->target = strtoull(operand, &end, 16);
        if (end == operand || (*end != ' ' && *end != '\n' && *end))
            out->target = 0;
    } else {
        classify(name, len, out);
        read_operands(name, len, out);
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

// Multiply-adds, or without any additions to a sum, and arithmetic of the loops that have most of
// them.
struct most {
    double fused, added, arithmetic;
};

static void add_loop(const struct listing *l, int begin, int end, struct inspection *out,
                     struct most *most) {
    bool is_used[64] = {0};
    double fused = 0, added = 0, sums[2] = {0}, arithmetic = 0;  // sums: by additions, fused
    // What is loaded in every turn is no sum that goes on from one to the next.
    for (int k = begin; k <= end; k++)
        if (l->items[k].fresh && l->items[k].fresh < 64)
            is_used[l->items[k].fresh] = true;
    for (int k = begin; k <= end; k++) {
        const struct instruction *i = &l->items[k];
        out->scalar += i->is_scalar;
        out->vector += i->is_vector;
        out->vector_bytes += i->is_vector ? i->bytes : 0;
        out->products += i->is_product;
        out->additions += i->is_addition;
        out->stack += i->is_stack;
        out->gathers += i->is_gather;
        fused += i->is_fused;
        added += i->is_addition && i->into;
        arithmetic += i->is_scalar || i->is_vector;
        if (i->into && i->into < 64 && !is_used[i->into]) {
            is_used[i->into] = true;
            sums[i->is_fused]++;
        }
    }
    out->fused += fused;
    if (fused > most->fused || (most->fused <= 0 && added > most->added)) {
        most->fused = fused;
        most->added = added;
        out->sums = sums[fused > 0];
    }
    if (arithmetic > most->arithmetic) {
        most->arithmetic = arithmetic;
        out->loop = l->items[begin].line;
        out->loop_len = (size_t)(l->items[end].line - out->loop);
    }
}

void inspect_text(const char *text, struct inspection *out) {
    struct listing l = {0};
    struct most most = {0};
    read_listing(text, &l);
    *out = (struct inspection){0};
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
            add_loop(&l, begin, i, out, &most);
        last_end = i;
    }
    free(l.items);
}

static const struct {
    const char *name;
    size_t offset;
} kept[] = {
#define KEPT(field) \
    { #field, offsetof(struct inspection, field) }
    KEPT(scalar),   KEPT(vector),    KEPT(vector_bytes), KEPT(fused),
    KEPT(products), KEPT(additions), KEPT(stack),        KEPT(gathers),
    KEPT(sums),     KEPT(cycles),    KEPT(unit_cycles),
#undef KEPT
};
enum { N_KEPT = sizeof kept / sizeof kept[0] };

static double *field_of(struct inspection *i, int k) {
    return (double *)((char *)i + kept[k].offset);
}

static bool read_kept(struct arena *a, const char *path, struct inspection *out) {
    struct error err = {0};
    size_t len;
    const char *text = file_exists(path) ? file_read(a, path, 4096, &len, &err) : NULL;
    json_t *json = text ? json_parse(text, len, &err) : NULL;
    struct json_reader r = {.where = "inspection"};
    json_read_schema(&r, json, "hone.inspection/4");
    for (int k = 0; k < N_KEPT; k++)
        *field_of(out, k) = json_read_number(&r, json, kept[k].name);
    json_decref(json);
    return !r.failed;
}

static void keep(struct arena *a, const char *path, struct inspection *i) {
    struct error ignored = {0};
    json_t *json = json_pack("{s:s}", "schema", "hone.inspection/4");
    for (int k = 0; k < N_KEPT; k++)
        json_object_set_new(json, kept[k].name, json_real(*field_of(i, k)));
    const char *text = json_print_pretty(a, json);
    json_decref(json);
    file_keep(path, text, strlen(text), &ignored);
}

static bool disassemble(struct arena *a, const char *object, struct inspection *out) {
    const char *program = file_find_program(a, "objdump");
    if (!program)
        return false;
    const char *argv[] = {program, "-d", "--no-show-raw-insn", object, NULL};
    struct process_spec spec = {.argv = argv, .timeout_ns = 10000000000, .max_output = 64 << 20};
    struct process_result p;
    struct error err = {0};
    if (!process_run(a, &spec, &p, &err) || p.exit_status != 0)
        return false;
    inspect_text(p.out, out);
    if (out->loop && !mca_examine(a, out->loop, out->loop_len, &out->cycles, &out->unit_cycles))
        out->cycles = out->unit_cycles = 0;
    return true;
}

void inspect(struct arena *a, const char *object, struct profile *profile) {
#if defined(__x86_64__)
    struct inspection i = {0};
    const char *path = arena_printf(a, "%.*s.json", (int)strlen(object) - 3, object);
    if (!read_kept(a, path, &i)) {
        if (!disassemble(a, object, &i))
            return;
        keep(a, path, &i);
    }
    profile_set(profile, METRIC_HOT_SCALAR, i.scalar);
    profile_set(profile, METRIC_HOT_VECTOR, i.vector);
    profile_set(profile, METRIC_HOT_FUSED, i.fused);
    profile_set(profile, METRIC_HOT_UNFUSED, i.products < i.additions ? i.products : i.additions);
    profile_set(profile, METRIC_HOT_STACK, i.stack);
    profile_set(profile, METRIC_HOT_GATHERS, i.gathers);
    if (i.vector > 0)
        profile_set(profile, METRIC_HOT_VECTOR_BYTES, i.vector_bytes / i.vector);
    if (i.sums > 0)
        profile_set(profile, METRIC_HOT_SUMS, i.sums);
    if (i.cycles > 0) {
        profile_set(profile, METRIC_HOT_CYCLES, i.cycles);
        profile_set(profile, METRIC_HOT_UNIT_CYCLES, i.unit_cycles);
    }
#else
    (void)a, (void)object, (void)profile;
#endif
}
