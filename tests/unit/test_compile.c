#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/landlock.h"
#include "build/cache.h"
#include "build/compile.h"
#include "build/compile_ahead.h"
#include "scratch.h"

static const char *const names[] = {"N"};
static const int64_t sizes[] = {12};

static struct compile_result compiled(struct arena *a, const char *cache, const char *source) {
    struct error err = {0};
    struct compile_result r;
    struct compile_spec spec = {.source = source,
                                .cc = "cc",
                                .machine = "here",
                                .cache = cache,
                                .dim_names = names,
                                .dim_sizes = sizes,
                                .n_dims = 1};
    cr_assert(compile(a, &spec, &r, &err), "%s", err.text);
    return r;
}

Test(compile, keeps_objects_by_content) {
    struct arena a = {0};
    const char *cache = scratch_make(&a);
    const char *source = "int f(void);\nint f(void) { return N; }\n";
    struct compile_result first = compiled(&a, cache, source);
    cr_assert_eq(first.outcome, COMPILE_OK, "%s", first.message);
    cr_expect(file_exists(first.object));
    cr_expect_gt(first.seconds, 0);
    struct compile_result again = compiled(&a, cache, source);
    cr_expect_str_eq(again.object, first.object);
    cr_expect_eq(again.seconds, 0);
    struct compile_result other =
        compiled(&a, cache, "int f(void);\nint f(void) { return N + 1; }\n");
    cr_expect_str_neq(other.object, first.object);
    // Nothing writes to this one: opening it would wait for ever.
    cr_assert(unlink(first.object) == 0 && mkfifo(first.object, 0600) == 0);
    again = compiled(&a, cache, source);
    cr_expect_eq(again.outcome, COMPILE_OK);
    cr_expect_gt(file_size(again.object), 0);
    scratch_remove(cache);
    arena_reset(&a);
}

Test(compile, gives_the_first_errors) {
    struct arena a = {0};
    const char *cache = scratch_make(&a);
    struct compile_result r = compiled(&a, cache, "int x;\nint f( { return N; }\n");
    cr_expect_eq(r.outcome, COMPILE_FAILED);
    cr_expect(strstr(r.message, "candidate.c:2:"), "%s", r.message);
    r = compiled(&a, cache,
                 "float g(float);\nfloat f(float x);\n"
                 "float f(float x) { return g(x); }\n");
    cr_expect_eq(r.outcome, COMPILE_FAILED);
    cr_expect(strstr(r.message, "undefined reference"), "%s", r.message);
    scratch_remove(cache);
    arena_reset(&a);
}

Test(compile, refuses_what_the_scans_find) {
    static const struct {
        const char *source, *want;
    } cases[] = {
        {"#include <unistd.h>\n", "#include of 'unistd.h'"},
        {"int counter = 1;\n", "'counter' outlives a call"},
        {"static int n;\nint f(void);\nint f(void) { return n++; }\n", "'n' outlives a call"},
        {"_Thread_local int n;\nint f(void);\nint f(void) { return n++; }\n", "outlives a call"},
        {"__attribute__((section(\".got_mine\"))) int n = 1;\n", "'n' outlives a call"},
        {"__attribute__((section(\".data.rel.ro_mine\"))) int n = 1;\n", "'n' outlives a call"},
        {"void g(void);\n__attribute__((constructor)) void g(void) {}\n", "runs on loading"},
        {"void _init(void);\nvoid _init(void) {}\n", "runs on loading"},
        {"static int g(void) { return 1; }\nstatic int (*pick(void))(void) { return g; }\n"
         "int f(void) __attribute__((ifunc(\"pick\")));\n",
         "runs on loading"},
        {"static int g(void) { return 1; }\nstatic int (*pick(void))(void) { return g; }\n"
         "static int h(void) __attribute__((ifunc(\"pick\")));\nint f(void);\n"
         "int f(void) { return h(); }\n",
         "runs on loading"},
        {"#include <stdlib.h>\nvoid *f(void);\nvoid *f(void) { return malloc(N); }\n",
         "'malloc' is not available"},
        {"#include <stdio.h>\nvoid f(void);\nvoid f(void) { puts(\"x\"); }\n", "is not available"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        const char *cache = scratch_make(&a);
        struct compile_result r = compiled(&a, cache, cases[i].source);
        cr_expect_eq(r.outcome, COMPILE_ILLEGAL, "%s", cases[i].source);
        cr_expect(r.message && strstr(r.message, cases[i].want), "%s", r.message);
        scratch_remove(cache);
        arena_reset(&a);
    }
}

Test(compile, allows_tables_and_mathematics) {
    struct arena a = {0};
    const char *cache = scratch_make(&a);
    struct compile_result r =
        compiled(&a, cache,
                 "#include <math.h>\n#include <string.h>\n"
                 "static const float table[3] = {1, 2, 3};\n"
                 "static const char *const words[2] = {\"a\", \"b\"};\n"
                 "void f(long b, float *y);\n"
                 "void f(long b, float *y) {\n"
                 "    long double l = sqrtl(expl(y[1]) + fmal(y[0], y[1], y[2]));\n"
                 "    y[b] = expf(table[b]) + words[b][0] + tanhf(y[0]) + (float)l;\n"
                 "    memcpy(y + 4, y, 400 * sizeof *y);\n}\n");
    cr_expect_eq(r.outcome, COMPILE_OK, "%s", r.message);
    scratch_remove(cache);
    arena_reset(&a);
}

Test(compile, says_when_there_is_no_compiler) {
    struct arena a = {0};
    const char *cache = scratch_make(&a);
    struct error err = {0};
    struct compile_result r;
    struct compile_spec spec = {
        .source = "", .cc = "no-such-compiler", .machine = "", .cache = cache};
    cr_expect(!compile(&a, &spec, &r, &err));
    cr_expect_eq(err.kind, ERROR_UNSUPPORTED);
    cr_expect(strstr(err.text, "no-such-compiler"), "%s", err.text);
    scratch_remove(cache);
    arena_reset(&a);
}

Test(compile, removes_the_least_recently_used) {
    struct arena a = {0};
    const char *cache = scratch_make(&a);
    const char *old = arena_printf(&a, "%s/old.so", cache);
    const char *recent = arena_printf(&a, "%s/recent.so", cache);
    for (int i = 0; i < 2; i++) {  // sparse: no disk is filled
        const char *path = i ? recent : old;
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        cr_assert(fd >= 0 && ftruncate(fd, (off_t)300 << 20) == 0);
        struct timespec times[2] = {{.tv_sec = i ? 2000 : 1000}, {.tv_sec = i ? 2000 : 1000}};
        cr_assert_eq(futimens(fd, times), 0);
        close(fd);
    }
    compiled(&a, cache, "int f(void);\nint f(void) { return 1; }\n");
    cr_expect(!file_exists(old));
    cr_expect(file_exists(recent));
    scratch_remove(cache);
    arena_reset(&a);
}

static const char *file_of(struct arena *a, const char *cache, const char *name, long size,
                           long age) {
    const char *path = arena_printf(a, "%s/%s", cache, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && ftruncate(fd, size) == 0);
    struct timespec times[2] = {{.tv_sec = 9000 - age}, {.tv_sec = 9000 - age}};
    cr_assert_eq(futimens(fd, times), 0);
    close(fd);
    return path;
}

Test(compile, trims_the_cache_only_beyond_its_limit) {
    struct arena a = {0};
    const char *cache = scratch_make(&a);
    const char *oldest = file_of(&a, cache, "b.so", 400, 3);
    const char *middle = file_of(&a, cache, "c.so", 400, 2);
    const char *newest = file_of(&a, cache, "a.so", 190, 1);
    cache_trim(cache, 1000);  // 990: more than three quarters, but within the limit
    cr_expect(file_exists(oldest) && file_exists(middle) && file_exists(newest));
    cache_trim(cache, 900);
    cr_expect(!file_exists(oldest));
    cr_expect(file_exists(middle) && file_exists(newest));
    cache_trim(cache, 100);
    cr_expect(!file_exists(middle) && !file_exists(newest));
    scratch_remove(cache);
    arena_reset(&a);
}

Test(compile, shows_the_compiler_no_files_of_the_user) {
    struct arena a = {0};
    const char *cache = scratch_make(&a), *secret = scratch_make(&a);
    int rules = landlock_rules((struct landlock_path[]){{NULL, false}});
    if (rules < 0)
        cr_skip_test("no Landlock here");
    close(rules);
    const char *path = file_of(&a, secret, "secret.h", 4, 0);
    struct error err = {0};
    struct compile_result r;
    struct compile_spec spec = {.source = arena_printf(&a, "#include \"%s\"\n", path),
                                .cc = "cc",
                                .machine = "",
                                .cache = cache,
                                .skip_scans = true};
    cr_assert(compile(&a, &spec, &r, &err), "%s", err.text);
    cr_expect_eq(r.outcome, COMPILE_FAILED);
    cr_expect(strstr(r.message, "Permission denied"), "%s", r.message);
    scratch_remove(cache);
    scratch_remove(secret);
    arena_reset(&a);
}

// A compiler that a user has put somewhere: a script that calls the system's.
static const char *place_compiler(struct arena *a, const char *dir, const char *name) {
    struct error err = {0};
    const char *path = arena_printf(a, "%s/%s", dir, name);
    static const char script[] = "#!/bin/sh\nexec cc \"$@\"\n";
    cr_assert(file_make_dirs(dir, &err), "%s", err.text);
    cr_assert(file_write(path, script, strlen(script), &err), "%s", err.text);
    cr_assert_eq(chmod(path, 0700), 0);
    return path;
}

// Can this compiler read a file of that name in `home`?
static bool is_shown(struct arena *a, const char *home, const char *cc, const char *name) {
    struct error err = {0};
    struct compile_result r;
    const char *cache = scratch_make(a), *path = arena_printf(a, "%s/%s", home, name);
    char *dir = arena_strdup(a, path);
    *strrchr(dir, '/') = '\0';
    cr_assert(file_make_dirs(dir, &err), "%s", err.text);
    cr_assert(file_write(path, "\n", 1, &err), "%s", err.text);
    struct compile_spec spec = {
        .source =
            arena_printf(a, "#include \"%s\"\nint f(void);\nint f(void) { return 1; }\n", path),
        .cc = cc,
        .machine = "",
        .cache = cache,
        .skip_scans = true};
    cr_assert(compile(a, &spec, &r, &err), "%s", err.text);
    cr_expect(r.outcome == COMPILE_OK || strstr(r.message, "Permission denied"), "%s: %s", name,
              r.message);
    scratch_remove(cache);
    return r.outcome == COMPILE_OK;
}

Test(compile, shows_a_compiler_its_own_parts_and_not_all_beside_it) {
    struct arena a = {0};
    const char *home = scratch_make(&a), *bin = arena_printf(&a, "%s/bin", home);
    int rules = landlock_rules((struct landlock_path[]){{NULL, false}});
    if (rules < 0)
        cr_skip_test("no Landlock here");
    close(rules);
    const char *cc = place_compiler(&a, bin, "gcc");
    static const char *const own[] = {"bin/part.h",     "include/part.h",
                                      "lib64/part.h",   "lib/gcc/some-linux/12/part.h",
                                      "libexec/part.h", "some-linux/include/part.h"};
    static const char *const others[] = {"key.h", ".ssh/key.h", "other-linux/key.h",
                                         "library/key.h"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        cr_expect(is_shown(&a, home, cc, own[i]), "%s", own[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        cr_expect(!is_shown(&a, home, cc, others[i]), "%s", others[i]);
    // A link is where it leads.
    const char *link = arena_printf(&a, "%s/linked-cc", bin);
    cr_assert_eq(symlink(file_find_program(&a, "cc"), link), 0);
    cr_expect(!is_shown(&a, home, link, "bin/key.h"));
    // A compiler in the midst of all that somebody has.
    setenv("HOME", home, 1);
    cc = place_compiler(&a, home, "mycc");
    cr_expect(!is_shown(&a, home, cc, "key.h"));
    scratch_remove(home);
    arena_reset(&a);
}

Test(compile, ends_a_compiler_that_takes_too_long) {
    struct arena a = {0};
    const char *cache = scratch_make(&a);
    const char *cc = arena_printf(&a, "%s/slow-cc", cache);
    FILE *f = fopen(cc, "w");
    fputs("#!/bin/sh\nwhile :; do :; done\n", f);
    fclose(f);
    chmod(cc, 0700);
    setenv("HONE_COMPILE_SECONDS", "1", 1);
    struct error err = {0};
    struct compile_result r;
    struct compile_spec spec = {.source = "", .cc = cc, .machine = "", .cache = cache};
    cr_assert(compile(&a, &spec, &r, &err), "%s", err.text);
    cr_expect_eq(r.outcome, COMPILE_FAILED);
    cr_expect(strstr(r.message, "took more than 1 s"), "%s", r.message);
    scratch_remove(cache);
    arena_reset(&a);
}

// Who ends the compiler decides whose fault it is.
Test(compile, tells_a_compiler_that_was_killed_from_one_that_failed) {
    static const char said[] = "cc: fatal error: Killed signal terminated program cc1";
    static const struct {
        const char *script;
        enum compile_outcome outcome;
        enum verdict_kind verdict;
    } cases[] = {
        {"kill -9 $$", COMPILE_KILLED, VERDICT_INFRA},
        {"kill -15 $$", COMPILE_KILLED, VERDICT_INFRA},
        {"kill -11 $$", COMPILE_FAILED, VERDICT_NO_COMPILE},
        {"exit 1", COMPILE_FAILED, VERDICT_NO_COMPILE},
        // A part of it was killed; it is tried again, and a text that makes it say so gains
        // nothing.
        {"[ -e seen ] && exec cc \"$@\"; : >seen; echo \"$said\" >&2; exit 1", COMPILE_OK,
         VERDICT_OK},
        {"echo \"$said\" >&2; exit 1", COMPILE_LIMITS, VERDICT_LIMITS},
        {"[ -e seen ] && kill -9 $$; : >seen; echo \"$said\" >&2; exit 1", COMPILE_KILLED,
         VERDICT_INFRA},
        {"[ -e seen ] && exit 1; : >seen; echo \"$said\" >&2; exit 1", COMPILE_FAILED,
         VERDICT_NO_COMPILE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena a = {0};
        const char *cache = scratch_make(&a);
        const char *cc = arena_printf(&a, "%s/cc", cache);
        FILE *f = fopen(cc, "w");
        fprintf(f, "#!/bin/sh\nsaid='%s'\n%s\n", said, cases[i].script);
        fclose(f);
        chmod(cc, 0700);
        struct error err = {0};
        struct compile_result r;
        struct compile_spec spec = {.source = "int f(void);\nint f(void) { return 1; }\n",
                                    .cc = cc,
                                    .machine = "",
                                    .cache = cache};
        cr_assert(compile(&a, &spec, &r, &err), "%s", err.text);
        cr_expect_eq(r.outcome, cases[i].outcome, "%s: %d, %s", cases[i].script, (int)r.outcome,
                     r.message);
        cr_expect_eq(compile_verdict(r.outcome), cases[i].verdict);
        scratch_remove(cache);
        arena_reset(&a);
    }
}

Test(compile_ahead, has_all_in_the_cache_and_knows_them_by_their_code) {
    enum { N_SOURCES = 5 };
    static const char *const sources[N_SOURCES] = {
        "// one\nint f(void);\nint f(void) { return N; }\n",
        "// two\nint f(void);\nint f(void) { return N; }\n",
        "int f(void);\nint f(void) { return N + 1; }\n",
        "int f(void) { return }\n",
        "int f(void);\nint f(void) { return N + 2; }\n",
    };
    struct arena a = {0};
    const char *cache = scratch_make(&a);
    struct ahead_settings settings = {.n_threads = 3,
                                      .cache = cache,
                                      .cc = "cc",
                                      .machine = "here",
                                      .dim_names = names,
                                      .dim_sizes = sizes,
                                      .n_dims = 1};
    struct compile_ahead *c = compile_ahead_open(&settings);
    for (int round = 0; round < 2; round++) {
        struct ahead_result r, all[N_SOURCES] = {0};
        int n = 0;
        compile_ahead_begin(c, sources, N_SOURCES);
        for (; compile_ahead_next(c, 600, &r); n++) {
            cr_assert_eq(r.err.kind, ERROR_NONE, "%s", r.err.text);
            all[r.number] = r;
            cr_expect_eq(r.outcome, r.number == 3 ? COMPILE_FAILED : COMPILE_OK);
            cr_expect(r.number != 3 || strstr(r.message, "candidate.c:1:"), "%s", r.message);
            cr_expect_eq(r.seconds == 0, round > 0 && r.number != 3, "%d", r.number);
        }
        cr_expect_eq(n, N_SOURCES);
        cr_expect_eq(all[0].code, all[1].code, "they differ in a comment alone");
        cr_expect_neq(all[0].code, all[2].code);
        cr_expect_neq(all[2].code, all[4].code);
    }
    // What nobody has begun is left, and the rest is told.
    struct ahead_result last;
    int n_cut = 0;
    compile_ahead_begin(c, sources, N_SOURCES);
    compile_ahead_cut(c);
    while (compile_ahead_next(c, 600, &last))
        n_cut++;
    cr_expect_leq(n_cut, N_SOURCES);
    // What is not waited for does no harm.
    compile_ahead_begin(c, sources, N_SOURCES);
    compile_ahead_close(c);
    cr_expect_eq(compiled(&a, cache, sources[4]).seconds, 0);
    scratch_remove(cache);
    arena_reset(&a);
}
