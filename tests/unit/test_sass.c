// Machine code of GPUs: real cubins against what the vendor's disassembler says of them, and
// damaged ones.
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "gpu/cupti.h"
#include "profile/counters.h"
#include "profile/line_table.h"
#include "profile/sass.h"
#include "profile/sass_text.h"
#include "profile/source.h"

static struct arena a;

static const char *fixture(const char *name, size_t *len) {
    struct error err = {0};
    const char *path = arena_printf(&a, "tests/fixtures/cubin/%s", name);
    const char *bytes = file_read(&a, path, 1 << 20, len, &err);
    cr_assert(bytes, "%s", err.text);
    return bytes;
}

static struct sass read_fixture(const char *name) {
    size_t len;
    struct sass s;
    struct error err = {0};
    const char *bytes = fixture(name, &len);
    cr_assert(sass_read(&a, bytes, len, &s, &err), "%s", err.text);
    return s;
}

// "IMAD.WIDE.U32" and "IMAD" are one; so are RED and REDG, which a later disassembler calls so.
static bool is_same(const char *ours, const char *theirs) {
    size_t len = strcspn(ours, ".");
    return strncmp(ours, theirs, len) == 0;
}

static void expect_agreement(const char *cubin, const char *listing, int capability) {
    size_t len;
    struct sass s = read_fixture(cubin);
    const struct sass_kernel *k = NULL;
    int n = 0, n_guarded = 0;
    cr_assert_eq(s.capability, capability);
    char *text = arena_strdup(&a, fixture(listing, &len)), *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, ".text.", 6) == 0) {
            line[strlen(line) - 1] = '\0';
            k = sass_find(&s, line + 6);
            cr_assert(k, "%s", line);
            continue;
        }
        int at = (int)strtol(line + 2, NULL, 16) / SASS_BYTES;
        const char *name = strchr(line, ' ') + 1;
        bool is_guarded = *name == '@';
        if (is_guarded)
            name = strchr(name, ' ') + 1;
        if (at >= k->n) {
            cr_expect(is_same("NOP", name) || is_same("BRA", name), "%s: %s", k->name, line);
            continue;
        }
        const struct sass_instruction *i = &k->code[at];
        cr_expect(is_same(sass_name(i->code), name), "%s: %s, not %s", k->name, line,
                  sass_name(i->code));
        cr_expect_eq(i->is_guarded, is_guarded, "%s: %s", k->name, line);
        if (strstr(name, ".128") && i->bytes)
            cr_expect_eq(i->bytes, 16, "%s: %s", k->name, line);
        n++;
        n_guarded += is_guarded;
    }
    cr_expect(n > 1000 && n_guarded > 50, "%d %d", n, n_guarded);
}

Test(sass, names_what_the_disassembler_names) {
    expect_agreement("twins_80.cubin", "twins_80.sass", 80);
    expect_agreement("twins_90a.cubin", "twins_90a.sass", 90);
}

// As `nvdisasm -hex` names them in code of ours that uses them.
Test(sass, knows_rare_instructions) {
    static const struct {
        uint16_t code;
        const char *name;
    } rows[] = {{0x015, "VABSDIFF4"}, {0x03a, "MOVM"},  {0x0be, "UBREV"}, {0x113, "FRND.64"},
                {0x142, "BREAK"},     {0x143, "CALL"},  {0x160, "TEX"},   {0x19d, "SUST"},
                {0x1b0, "ARRIVES"},   {0x1ba, "UBLKCP"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_str_eq(sass_name(rows[i].code), rows[i].name);
    struct sass s = read_fixture("lines_90a.cubin");
    for (int i = 0; i < s.n_kernels; i++)
        cr_expect_eq(s.kernels[i].n_unknown, 0, "%s", s.kernels[i].name);
}

static struct metrics metrics_of(const struct sass *s, const char *name) {
    struct metrics m = {0};
    const struct sass_kernel *k = sass_find(s, name);
    cr_assert(k, "%s", name);
    sass_metrics(k, &m);
    return m;
}

Test(sass, knows_widths_loops_and_resources) {
    struct sass s = read_fixture("twins_90a.cubin");
    static const struct {
        const char *kernel;
        enum metric_id id;
        double value;
    } rows[] = {
        {"narrow_sick", METRIC_HOT_LOAD_BYTES, 4},
        {"narrow_sick", METRIC_HOT_STORE_BYTES, 4},
        {"narrow_sick", METRIC_CODE_LOOPS, 1},
        {"narrow_sick", METRIC_HOT_INSTRUCTIONS, 8},
        {"narrow_sick", METRIC_REGISTERS, 14},
        {"narrow_well", METRIC_HOT_LOAD_BYTES, 16},
        {"array_sick", METRIC_STACK_BYTES, 64},
        {"array_sick", METRIC_HOT_LOCAL, 12},
        {"array_well", METRIC_STACK_BYTES, 0},
        {"array_well", METRIC_CODE_LOCAL, 0},
        {"flight_sick", METRIC_LOADS_IN_FLIGHT, 1},
        {"flight_sick", METRIC_BYTES_IN_FLIGHT, 4},
        // Eight loads stand in the loop; the compiler waits for the first when five are under way.
        {"flight_well", METRIC_HOT_LOADS, 8},
        {"flight_well", METRIC_LOADS_IN_FLIGHT, 5},
        {"flight_well", METRIC_BYTES_IN_FLIGHT, 80},
        {"divide_sick", METRIC_HOT_DIVISIONS, 2},  // of integers, and of f32
        {"divide_sick", METRIC_HOT_CALLS, 1},
        {"divide_well", METRIC_HOT_DIVISIONS, 0},
        {"atomic_sick", METRIC_HOT_ATOMICS, 1},
        {"atomic_well", METRIC_HOT_ATOMICS, 0},
        {"atomic_well", METRIC_CODE_ATOMICS, 1},
        {"reuse_sick", METRIC_HOT_FMA, 32},
        {"reuse_sick", METRIC_HOT_SHARED_LOADS, 64},
        {"reuse_sick", METRIC_HOT_BARRIERS, 2},
        {"reuse_well", METRIC_HOT_FMA, 512},
        {"reuse_well", METRIC_HOT_SHARED_LOAD_BYTES, 16},
        {"mma_sick", METRIC_CODE_TENSOR, 5},
        {"mma_sick", METRIC_CODE_TENSOR_GROUP, 0},
        {"mma_well", METRIC_CODE_TENSOR, 0},
        {"mma_well", METRIC_HOT_TENSOR_GROUP, 16},
        {"convert_sick", METRIC_HOT_CONVERSIONS, 4},
        {"convert_well", METRIC_HOT_CONVERSIONS, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct metrics m = metrics_of(&s, rows[i].kernel);
        cr_expect_eq(metrics_get(&m, rows[i].id), rows[i].value, "%s: %s is %g, not %g",
                     rows[i].kernel, metric_table[rows[i].id].name, metrics_get(&m, rows[i].id),
                     rows[i].value);
    }
    cr_expect_null(sass_find(&s, "nobody"));
    // What waits for copies past the registers is not seen here: nothing is said of loads.
    struct metrics m = metrics_of(&s, "array_well");
    cr_expect(!metrics_has(&m, METRIC_LOADS_IN_FLIGHT) && !metrics_has(&m, METRIC_HOT_LOAD_BYTES));
}

// Which loop is hot samples say better: here that the time is not in the loop at all.
Test(sass, takes_the_hot_part_from_samples) {
    struct sass s = read_fixture("twins_90a.cubin");
    struct sass_kernel *k = sass_find(&s, "flight_sick");
    double *issued = arena_array(&a, double, k->n + 1);
    int begin = k->hot_begin, end = k->hot_end;
    cr_assert(k->has_hot_loop);
    sass_set_hot(k, issued);
    cr_expect(k->has_hot_loop && k->hot_begin == begin, "nobody sampled");
    issued[0] = 100;
    issued[begin] = 1;
    sass_set_hot(k, issued);
    cr_expect(!k->has_hot_loop && k->hot_begin == 0 && k->hot_end == k->n - 1);
    issued[begin] = 1000;
    sass_set_hot(k, issued);
    cr_expect(k->has_hot_loop && k->hot_begin == begin && k->hot_end == end);
}

Test(sass, reads_an_earlier_architecture_alike) {
    struct sass s = read_fixture("twins_80.cubin");
    struct metrics m = metrics_of(&s, "flight_well");
    cr_expect_gt(metrics_get(&m, METRIC_LOADS_IN_FLIGHT), 3);
    cr_expect_eq(metrics_get(&m, METRIC_CODE_LOOPS), 1);
    m = metrics_of(&s, "divide_sick");
    cr_expect_eq(metrics_get(&m, METRIC_HOT_DIVISIONS), 2);
}

Test(sass, refuses_what_is_no_cubin) {
    struct sass s;
    struct error err = {0};
    static const char text[] =
        "this is a text of more than sixty-four bytes, and not a file in ELF";
    cr_expect(!sass_read(&a, text, sizeof text, &s, &err));
    cr_expect(strstr(err.text, "no cubin"), "%s", err.text);
    cr_expect(!sass_read(&a, "", 0, &s, &err));
    size_t len;
    const char *bytes = fixture("twins_90a.cubin", &len);
    cr_expect(!sass_read(&a, bytes, len / 2, &s, &err));
    cr_expect(strstr(err.text, "damaged"), "%s", err.text);
    char *old = arena_copy(&a, bytes, len);
    old[49] = 70;  // compute capability 7.0
    cr_expect(!sass_read(&a, old, len, &s, &err));
    cr_expect(strstr(err.text, "code for sm_70"), "%s", err.text);
}

// Code of which too much is not known says nothing rather than something wrong.
Test(sass, is_silent_on_instructions_that_it_does_not_know) {
    struct sass s = read_fixture("twins_90a.cubin");
    struct sass_kernel k = *sass_find(&s, "narrow_sick");
    struct metrics m = {0};
    k.n_unknown = 1;
    sass_metrics(&k, &m);
    cr_expect_eq(metrics_count(&m), 0);
    cr_expect_str_eq(sass_name(0x1ff), "?");
}

// Every byte of every header and of some code turned into something else: an answer or an error.
Test(sass, survives_damage) {
    size_t len;
    const char *whole = fixture("twins_80.cubin", &len);
    char *bytes = arena_copy(&a, whole, len);
    for (size_t at = 0; at < len; at += at < 64 || at > len - 4000 ? 1 : 997) {
        char was = bytes[at];
        for (int value = 1; value < 256; value += 127) {
            struct arena scratch = {0};
            struct sass s;
            struct error err = {0};
            bytes[at] = (char)value;
            if (!sass_read(&scratch, bytes, len, &s, &err))
                cr_assert(*err.text);
            for (int i = 0; i < s.n_kernels; i++) {
                struct metrics m = {0};
                sass_metrics(&s.kernels[i], &m);
            }
            arena_reset(&scratch);
        }
        bytes[at] = was;
    }
}

Test(sass, takes_operands_from_a_listing) {
    struct sass s = read_fixture("twins_90a.cubin");
    const struct sass_kernel *k = sass_find(&s, "narrow_sick");
    static const char listing[] =
        "\t.section\t.text.other,\"ax\"\n.text.other:\n"
        "        /*0000*/                   NOP ;\n"
        ".text.narrow_sick:\n"
        "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n"
        "        /*0010*/              @!P0 BRA `(.L_x_0) ;     /* 0x00 */\n"
        "        /*0018*/                   odd ;\n"
        "        /*fff0*/                   beyond ;\n"
        "        /*zz*/ nonsense ;\n/*0020*/";
    const char **texts = sass_text_of(&a, listing, sizeof listing - 1, k, NULL);
    cr_expect_str_eq(texts[0], "LDC R1, c[0x0][0x28]");
    cr_expect_str_eq(texts[1], "@!P0 BRA `(.L_x_0)");
    cr_expect_str_eq(texts[2], "");
    cr_expect_null(texts[3]);
    static const char dump[] = "\t\tFunction : narrow_sick\n"
                               "        /*0000*/   S2R R0, SR_TID.X ;  /* 0x0000000000067919 */\n"
                               "                                       /* 0x000e2e0000002200 */\n";
    texts = sass_text_of(&a, dump, sizeof dump - 1, k, NULL);
    cr_expect_str_eq(texts[0], "S2R R0, SR_TID.X");
    size_t len;
    const char *whole = fixture("twins_90a.sass", &len);
    texts = sass_text_of(&a, whole, len, k, NULL);
    for (int i = 0; i < k->n; i++)
        cr_expect(texts[i], "%d", i);
}

// ---- other sources

// CUPTI opens a library of its own in a way that sanitizers end the process for.
static void open_cupti(struct cupti *c) {
    struct error err = {0};
#if defined(__SANITIZE_ADDRESS__)
    cr_skip_test("CUPTI and sanitizers do not go together");
#endif
    if (!cupti_open(c, &err))
        cr_skip_test("%s", err.text);
}

// Names that ncu makes itself, or that stand in its details page.
static bool is_of_ncu(const char *counter) {
    static const char *const made[] = {"launch__", "sm__maximum_warps", NULL};
    for (const char *const *m = made; *m; m++)
        if (strncmp(counter, *m, strlen(*m)) == 0)
            return true;
    return !strstr(counter, "__");
}

// Every counter of the table is one that the vendor's library knows, on the chip of H100 and H200;
// without a card.
Test(sources, counters_are_known_to_cupti) {
    struct cupti c;
    struct cupti_chip chip;
    struct error err = {0};
    open_cupti(&c);
    cr_assert(cupti_chip_open(&c, "GH100", &chip, &err), "%s", err.text);
    int n = 0;
    for (int i = 0; i < METRIC_COUNT; i++)
        for (const char *at = metric_table[i].counter; at && *at;) {
            size_t len = strcspn(at, "|");
            const char *counter = arena_strndup(&a, at, len);
            at += len + (at[len] == '|');
            if (is_of_ncu(counter))
                continue;
            n++;
            cr_expect(cupti_chip_has(&chip, counter), "%s", counter);
        }
    cr_expect_gt(n, 50);
    cr_expect(!cupti_chip_has(&chip, "dram__bytes_invented.sum"));
    cupti_chip_close(&chip);
    cr_expect(!cupti_chip_open(&c, "XX100", &chip, &err));
    cr_expect(strstr(err.text, "does not know the chip XX100"), "%s", err.text);
    cupti_close(&c);
}

Test(sources, say_what_they_give_and_what_is_missing_without) {
    for (int i = 0; i < n_sources; i++) {
        const char *why = NULL, *found = sources[i].find(&a, &why);
        cr_expect(found || (why && *why && sources[i].without), "%s", sources[i].name);
        cr_expect(*sources[i].gives);
    }
}

Test(sources, counters_are_chosen_for_few_passes) {
    // GH100: H100 and H200. GA100: A100. AD102: L40S. GB202 has no counters of bytes to memory.
    static const struct {
        const char *chip, *set;
        int passes, n_absent;
    } cases[] = {
        {"GH100", "basic", 1, 0},  {"GA100", "basic", 1, 0},  {"AD102", "basic", 1, 0},
        {"GB202", "basic", 1, 2},  {"GH100", "class", 3, 0},  {"GH100", "memory", 5, 0},
        {"GH100", "stalls", 6, 0}, {"GA100", "stalls", 6, 1}, {"GH100", "code", 1, 0},
        {"GH100", "all", 11, 0},
    };
    struct cupti c;
    struct error err = {0};
    open_cupti(&c);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct counter_plan plan;
        const struct counter_set *set = counter_set_find(cases[i].set);
        cr_assert(set && counter_plan(&a, &c, cases[i].chip, set, &plan, &err), "%s", err.text);
        cr_expect_leq(plan.passes, cases[i].passes, "%s on %s: %d passes", cases[i].set,
                      cases[i].chip, plan.passes);
        cr_expect_eq(plan.n_absent, cases[i].n_absent, "%s on %s: %d absent", cases[i].set,
                     cases[i].chip, plan.n_absent);
        cr_expect_eq(plan.n + plan.n_absent, set->n);
    }
    int passes;
    const char *const bad[] = {"dram__bytes_read.sum", "dram__bytes_invented.sum"};
    cr_expect(cupti_passes(&c, "GH100", bad, 1, &passes, &err) && passes == 1);
    cr_expect(!cupti_passes(&c, "GH100", bad, 2, &passes, &err));
    cr_expect(strstr(err.text, "refuses 2 counters"), "%s", err.text);
    cr_expect_null(counter_set_find("none"));
    cupti_close(&c);
}

// The lines that instructions of a kernel come from, each once, in the order of the code.
static const char *lines_of(const struct line_table *t, const char *kernel, const char *file) {
    const char *all = "";
    int before = 0;
    for (uint64_t pc = 0; pc < 12 * SASS_BYTES; pc += SASS_BYTES) {
        int line = line_table_find(t, kernel, pc, file);
        if (line != before)
            all = arena_printf(&a, "%s%s%d", all, *all ? " " : "", line);
        before = line;
    }
    return all;
}

Test(line_table, finds_the_callers_of_what_was_inlined) {
    size_t len;
    struct line_table t;
    const char *bytes = fixture("lines_90a.cubin", &len);
    cr_assert(line_table_read(&a, bytes, len, &t));
    cr_expect_str_eq(lines_of(&t, "second", "lines.cu"), "9 10 12 10 12 11 12 13");
    cr_expect_str_eq(lines_of(&t, "second", "lines.h"), "3 0");
    cr_expect_str_eq(lines_of(&t, "first", "lines.cu"), "4 5 6", "callers are counted by kernel");
    cr_expect_str_eq(lines_of(&t, "third", "lines.cu"), "");
    cr_expect_eq(line_table_find(&t, "first", UINT64_MAX, "lines.cu"), 7);
    bytes = fixture("twins_90a.cubin", &len);
    static const int expected[] = {9, 10, 10, 10, 12, 10, 10, 12, 11, 12, 12, 13};
    enum { N = sizeof expected / sizeof expected[0] };
    int lines[N] = {0};
    cr_expect_str_eq(line_table_lines(&t, "second", SASS_BYTES, lines, N), "lines.cu");
    cr_expect_arr_eq(lines, expected, sizeof lines);
    cr_expect_null(line_table_lines(&t, "third", SASS_BYTES, lines, N));
    cr_expect(!line_table_read(&a, bytes, len, &t), "compiled without lines");
    arena_reset(&a);
}

// Whatever byte is another: nothing is read outside, and reading ends.
Test(line_table, survives_damage) {
    size_t len;
    struct line_table t;
    const char *whole = fixture("lines_90a.cubin", &len);
    for (size_t at = 0; at < len; at++) {
        struct arena scratch = {0};
        size_t cut = at % 3 ? len : at;
        char *bytes = malloc(cut + 1);
        memcpy(bytes, whole, cut);
        bytes[at < cut ? at : 0] ^= (char)(at % 3 == 1 ? 0xff : 0x41);
        if (line_table_read(&scratch, bytes, cut, &t))
            line_table_find(&t, "first", at, "lines.cu");
        free(bytes);
        arena_reset(&scratch);
    }
    arena_reset(&a);
}
