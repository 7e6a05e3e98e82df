#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/target.h"

static char cache[] = "/tmp/hone-test-XXXXXX";

static void use_own_cache(void) {
    cr_assert(mkdtemp(cache) != NULL);
    setenv("XDG_CACHE_HOME", cache, 1);
}

static void remove_cache(void) {
    struct error err = {0};
    cr_assert(file_remove_tree(cache, &err), "%s", err.text);
}

TestSuite(target, .init = use_own_cache, .fini = remove_cache);

static struct target read_target(struct arena *a) {
    struct error err = {0};
    struct target t;
    cr_assert(target_read_cpu(a, 0, "cc", &t, &err), "%s", err.text);
    return t;
}

static void fill(struct target *t) {
    t->ceilings = (struct ceilings){
        .present = true,
        .launch_s = 2e-5,
        .traffic = {{.read_fraction = 1, .bytes_per_s = 4e10, .spread = 0.1},
                    {.read_fraction = 2. / 3, .bytes_per_s = 3e10, .spread = 0.1},
                    {.read_fraction = 0.5,
                     .bytes_per_s = 2e10,
                     .spread = 0.1,
                     .fixed_s = 3e-5,
                     .point = {{65536, 2.5e-5}, {1 << 20, 7e-5}}},
                    {.read_fraction = 0, .bytes_per_s = 1e10, .spread = 0.1, .streams = true}},
        .f32_flops_per_s = 1e11,
        .f64_flops_per_s = 5e10,
        .bf16_flops_per_s = NAN,
        .tf32_flops_per_s = NAN,
        .f8_flops_per_s = NAN,
        .i8_flops_per_s = NAN,
        .functions_per_s = 1e9,
        .cache = {{.bytes = 16384, .bytes_per_s = 3e11},
                  {0},
                  {.bytes = 1 << 23, .bytes_per_s = 9e10}},
        .width = {{16, 2.5e10, 1.2e10}, {32, 5e10, 2.5e10}},
        .seconds = 4,
        .measured_at = "2026-01-01T00:00:00Z",
        .how = "by hand",
    };
}

Test(target, has_facts_for_this_cpu) {
    struct arena a = {0};
    struct target t = read_target(&a);
    cr_assert(ge(int, t.n_threads, 1));
    cr_assert(t.vector_bytes == 16 || t.vector_bytes == 32 || t.vector_bytes == 64);
    cr_assert(t.l1_bytes > 0 && t.l2_bytes > 0 && t.llc_bytes >= t.l2_bytes);
    cr_assert(gt(dbl, t.top_clock_hz, 1e8));
    cr_assert(eq(int, (int)strlen(t.id), 64));
    arena_reset(&a);
}

Test(target, refuses_more_threads_than_cpus) {
    struct arena a = {0};
    struct error err = {0};
    struct target t;
    cr_assert(not(target_read_cpu(&a, 1 << 20, "cc", &t, &err)));
    cr_assert(eq(int, err.kind, ERROR_USAGE));
    arena_reset(&a);
}

Test(target, another_number_of_threads_is_another_device) {
    struct arena a = {0};
    struct error err = {0};
    struct target all = read_target(&a), one;
    cr_assert(target_read_cpu(&a, 1, "cc", &one, &err));
    cr_assert(all.n_threads == 1 || strcmp(all.id, one.id) != 0);
    arena_reset(&a);
}

Test(target, ceilings_come_back_from_the_cache) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = read_target(&a), again = t;
    target_load_ceilings(&a, &again);
    cr_assert(not(again.ceilings.present), "nothing was measured yet");
    fill(&t);
    t.ceilings.is_steady = true;
    cr_assert(target_save_ceilings(&a, &t, &err), "%s", err.text);
    target_load_ceilings(&a, &again);
    cr_assert(again.ceilings.present && again.ceilings.is_steady);
    cr_assert(eq(dbl, again.ceilings.launch_s, 2e-5));
    cr_assert(eq(dbl, again.ceilings.traffic[2].bytes_per_s, 2e10));
    cr_assert(eq(dbl, again.ceilings.f64_flops_per_s, 5e10));
    cr_assert(isnan(again.ceilings.tf32_flops_per_s), "absent is not zero");
    cr_assert(eq(dbl, again.ceilings.traffic[2].fixed_s, 3e-5));
    cr_assert(again.ceilings.traffic[3].streams && !again.ceilings.traffic[2].streams);
    cr_assert(eq(dbl, again.ceilings.traffic[2].point[1].bytes, 1 << 20));
    cr_assert(eq(dbl, again.ceilings.traffic[2].point[1].seconds, 7e-5));
    cr_assert(eq(dbl, again.ceilings.traffic[2].point[2].bytes, 0), "not measured");
    cr_assert(eq(dbl, again.ceilings.cache[2].bytes_per_s, 9e10));
    cr_assert(again.ceilings.cache[1].bytes == 0, "a level that was not measured");
    cr_assert(eq(dbl, again.ceilings.width[1].f32_flops_per_s, 5e10));
    cr_assert(again.ceilings.width[2].vector_bytes == 0);
    cr_assert_str_eq(again.ceilings.how, "by hand");
    arena_reset(&a);
}

Test(target, a_cache_of_another_device_or_version_is_absent) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = read_target(&a), again = t;
    fill(&t);
    const char *dir = file_cache_dir(&a, "ceilings", &err);
    const char *path = arena_printf(&a, "%s/%.16s.json", dir, t.id);
    const char *texts[] = {"", "not json", "{}", "{\"schema\": \"hone.ceilings/1\"}", "[]"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        cr_assert(file_write(path, texts[i], strlen(texts[i]), &err));
        target_load_ceilings(&a, &again);
        cr_assert(not(again.ceilings.present));
    }
    // Nothing writes to this one: opening it would wait for ever.
    cr_assert(unlink(path) == 0 && mkfifo(path, 0600) == 0);
    target_load_ceilings(&a, &again);
    cr_assert(not(again.ceilings.present));
    cr_assert_eq(unlink(path), 0);
    t.id = arena_printf(&a, "%.16s%s", t.id, "0000");
    cr_assert(target_save_ceilings(&a, &t, &err));
    target_load_ceilings(&a, &again);
    cr_assert(not(again.ceilings.present), "the same file name, but another device");
    arena_reset(&a);
}

// In records of the past they are read; of a cache they are measured again.
Test(target, ceilings_without_small_calls_are_of_the_past) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = read_target(&a), again = t;
    fill(&t);
    json_t *json = ceilings_to_json(&t);
    json_object_set_new(json, "schema", json_string("hone.ceilings/2"));
    for (size_t i = 0; i < TRAFFIC_MIXES; i++)
        json_object_del(json_array_get(json_object_get(json, "traffic"), i), "points");
    json_object_del(json, "steady");
    cr_assert(ceilings_from_json(&a, json, &again, &err), "%s", err.text);
    cr_assert(not(again.ceilings.is_steady));
    cr_assert(eq(dbl, again.ceilings.traffic[2].point[0].bytes, 0));
    const char *path =
        arena_printf(&a, "%s/%.16s.json", file_cache_dir(&a, "ceilings", &err), t.id);
    const char *text = json_print_pretty(&a, json);
    cr_assert(file_write(path, text, strlen(text), &err), "%s", err.text);
    target_load_ceilings(&a, &again);
    cr_assert(not(again.ceilings.present));
    json_decref(json);
    arena_reset(&a);
}

Test(target, ceilings_that_make_no_sense_are_refused) {
    struct arena a = {0};
    struct error err = {0};
    struct target t = read_target(&a), again = t;
    fill(&t);
    t.ceilings.traffic[1].bytes_per_s = 0;
    json_t *json = ceilings_to_json(&t);
    cr_assert(not(ceilings_from_json(&a, json, &again, &err)));
    cr_assert(eq(int, err.kind, ERROR_PARSE));
    json_decref(json);
    fill(&t);
    t.ceilings.traffic[1].read_fraction = 2;
    json = ceilings_to_json(&t);
    cr_assert(not(ceilings_from_json(&a, json, &again, &err)));
    json_decref(json);
    fill(&t);
    t.ceilings.traffic[2].point[1].seconds = 1e-5;
    json = ceilings_to_json(&t);
    cr_assert(not(ceilings_from_json(&a, json, &again, &err)));
    cr_assert(strstr(err.text, "points do not grow") != NULL, "%s", err.text);
    t.ceilings.traffic[2].point[1].seconds = 7e-5;
    json_decref(json);
    json = ceilings_to_json(&t);
    json_t *points = json_object_get(json_array_get(json_object_get(json, "traffic"), 2), "points");
    for (int i = 0; i < POINTS_MAX; i++)
        json_array_append_new(points, json_pack("{s:f, s:f}", "bytes", 1e7 + i, "seconds", 1. + i));
    cr_assert(not(ceilings_from_json(&a, json, &again, &err)));
    cr_assert(strstr(err.text, "more than 9") != NULL, "%s", err.text);
    json_decref(json);
    arena_reset(&a);
}

Test(target, cards_have_their_published_figures) {
    struct target t;
    int n = 0;
    for (; card_names[n]; n++) {
        cr_assert(target_of_card(card_names[n], &t), "%s", card_names[n]);
        cr_assert(t.is_gpu && t.source && t.device && t.llc_bytes > 0, "%s", card_names[n]);
        cr_assert(t.peak_bytes_per_s > 1e11 && t.peak_per_s[PIPE_F32] > 1e12, "%s", card_names[n]);
        cr_assert(t.peak_per_s[PIPE_F16] > t.peak_per_s[PIPE_F32], "%s", card_names[n]);
        cr_assert(not(t.ceilings.present));
    }
    cr_assert(ge(int, n, 10));
    cr_assert(not(target_of_card("h2000", &t)));
    cr_assert(target_of_card("h100-sxm", &t));
    cr_assert_str_eq(t.name, "h100");
    cr_assert(target_of_card("a10", &t));
    cr_assert(eq(dbl, t.peak_per_s[PIPE_F64], 0), "its data sheet does not say");
}

// What a card does per clock and what its vendor publishes agree: within the lower clock at which
// vendors state matrix units.
Test(target, cards_and_architectures_agree) {
    struct target card, arch;
    cr_assert(target_of_card("h100", &card) && target_of_arch("sm_90a", &arch));
    for (enum pipe p = 0; p < PIPE_FUNCTION; p++) {
        double ratio = card.peak_per_s[p] / arch.peak_per_s[p];
        cr_assert(ratio > 0.9 && ratio < 1.01, "%s: %g", pipe_name(p), ratio);
    }
}
