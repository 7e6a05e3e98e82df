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

// A register by the letters of its name, up to four of them; 0: none.
typedef uint32_t reg;

// What is between the parentheses of an operand, and what stands before.
struct address {
    int64_t offset;
    reg base, index;
    int scale;
};

struct instruction {
    uint64_t address;
    struct address memory;
    uint8_t memory_bytes;  // of vectors or elements that it loads or stores; 0: none
    reg steps;             // the register that it adds a constant to
    int64_t step;
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

static reg read_reg(const char **at) {
    reg r = 0;
    for (*at += **at == '%'; (**at >= 'a' && **at <= 'z') || (**at >= '0' && **at <= '9'); ++*at)
        r = r << 8 | (reg)(unsigned char)**at;
    return r;
}

static const char *find_in(const char *at, const char *end, char c) {
    return memchr(at, c, (size_t)(end - at));
}

// "0x40(%rdi,%rax,4)"; false: there is none.
static bool read_address(const char *at, const char *end, struct address *out) {
    const char *open = find_in(at, end, '('), *from = open;
    if (!open)
        return false;
    while (from > at && from[-1] != ' ' && from[-1] != ',' && from[-1] != '\t')
        from--;
    *out = (struct address){.offset = from == open ? 0 : (int64_t)strtoll(from, NULL, 16)};
    open++;
    if (*open == '%')
        out->base = read_reg(&open);
    if (*open == ',') {
        open++;
        out->index = read_reg(&open);
        out->scale = *open == ',' ? (int)strtol(open + 1, NULL, 10) : 1;
    }
    return true;
}

// "add $0x40,%rax", "sub $0x40,%rax", "lea 0x40(%rax),%rax".
static void read_step(const char *name, const char *at, const char *end, struct instruction *out) {
    struct address a;
    const char *last = NULL, *value = find_in(at, end, '$');
    for (const char *p = at; p < end; p++)
        last = *p == ',' ? p + 1 : last;
    if (!last || *last != '%')
        return;
    if (starts_with(name, "lea") && read_address(at, end, &a) && !a.index) {
        reg to = read_reg(&last);
        out->steps = to == a.base ? to : 0;
        out->step = a.offset;
    } else if (value && (starts_with(name, "add") || starts_with(name, "sub")) && !out->bytes) {
        int64_t by = (int64_t)strtoull(value + 1, NULL, 16);
        out->steps = read_reg(&last);
        out->step = *name == 's' ? -by : by;
    }
}

// Bytes of memory that an instruction on vector registers touches: an element, or a whole vector.
static uint8_t read_memory_bytes(const char *name, size_t len, const struct instruction *i) {
    const char *end = name + len - 2;
    bool is_one = len > 2 && (starts_with(end, "ss") || starts_with(end, "vd"));
    bool is_two = len > 2 && (starts_with(end, "sd") || starts_with(end, "vq"));
    const char *spread = strstr(name, "{1to");
    if (spread && spread < name + strcspn(name, "\n"))
        is_one = true;
    return is_one || starts_with(name, "vinsertps") ? 4 : is_two ? 8 : i->bytes;
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
    if (out->bytes && !out->is_gather && read_address(at, end, &out->memory))
        out->memory_bytes = read_memory_bytes(name, len, out);
    read_step(name, at, end, out);
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
struct loop_totals {
    double fused, added, arithmetic;
};

// By how many bytes the address of an access goes on in each turn of the loop.
static int64_t stride_of(const struct listing *l, int begin, int end, const struct address *a) {
    int64_t base = 0, index = 0;
    for (int k = begin; k <= end; k++) {
        const struct instruction *i = &l->items[k];
        base += i->steps && i->steps == a->base ? i->step : 0;
        index += i->steps && i->steps == a->index ? i->step : 0;
    }
    return base + a->scale * index;
}

// Bytes of the same line that the loop touches in one turn.
static int used_of_line(const struct listing *l, int begin, int end, const struct address *a) {
    int used = 0;
    for (int k = begin; k <= end; k++) {
        const struct instruction *i = &l->items[k];
        bool is_same = i->memory_bytes && i->memory.base == a->base && i->memory.index == a->index;
        used += is_same && i->memory.offset >> 6 == a->offset >> 6 ? i->memory_bytes : 0;
    }
    return used;
}

// Accesses that go on by far more than a line and use little of each. Nearer ones, as in a local
// tile, find their lines in the first cache again.
static double count_strided(const struct listing *l, int begin, int end) {
    enum { FAR_BYTES = 1024, LITTLE = 16 };
    double n = 0;
    for (int k = begin; k <= end; k++) {
        const struct instruction *i = &l->items[k];
        if (i->memory_bytes && llabs(stride_of(l, begin, end, &i->memory)) >= FAR_BYTES &&
            used_of_line(l, begin, end, &i->memory) <= LITTLE)
            n++;
    }
    return n;
}

static void add_loop(const struct listing *l, int begin, int end, struct inspection *out,
                     struct loop_totals *most) {
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
    out->strided += count_strided(l, begin, end);
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
    struct loop_totals most = {0};
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
    KEPT(sums),     KEPT(cycles),    KEPT(unit_cycles),  KEPT(strided),
#undef KEPT
};
enum { N_KEPT = sizeof kept / sizeof kept[0] };

static double *field_of(struct inspection *i, int k) {
    return (double *)((char *)i + kept[k].offset);
}

static bool read_kept(struct arena *a, const char *path, struct inspection *out) {
    struct error err = {0};
    size_t len;
    const char *text = file_read_plain(a, path, 4096, &len, &err);
    json_t *json = text ? json_parse(text, len, &err) : NULL;
    struct json_reader r = {.where = "inspection"};
    json_read_schema(&r, json, "hone.inspection/5");
    for (int k = 0; k < N_KEPT; k++)
        *field_of(out, k) = json_read_number(&r, json, kept[k].name);
    json_decref(json);
    return !r.failed;
}

static void keep(struct arena *a, const char *path, struct inspection *i) {
    struct error ignored = {0};
    json_t *json = json_pack("{s:s}", "schema", "hone.inspection/5");
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
    profile_set(profile, METRIC_HOT_STRIDED, i.strided);
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
