#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "scratch.h"

// An empty home and an empty project in it; the working directory is project/sub.
static const char *set_up(struct arena *a) {
    const char *dir = scratch_make(a);
    struct error err = {0};
    unsetenv("HONE_BUILD_CC");
    unsetenv("HONE_RUN_THREADS");
    unsetenv("HONE_TARGET");
    unsetenv("HONE_STORE_PATH");
    setenv("XDG_CONFIG_HOME", arena_printf(a, "%s/xdg", dir), 1);
    cr_assert(file_make_dirs(arena_printf(a, "%s/xdg/hone", dir), &err));
    cr_assert(file_make_dirs(arena_printf(a, "%s/project/.hone", dir), &err));
    cr_assert(file_make_dirs(arena_printf(a, "%s/project/sub", dir), &err));
    cr_assert_eq(chdir(arena_printf(a, "%s/project/sub", dir)), 0);
    return dir;
}

static void put(const char *path, const char *text, size_t len) {
    struct error err = {0};
    cr_assert(file_write(path, text, len, &err), "%s", err.text);
}

static const char *origin(const struct config *c, const char *key) {
    for (int i = 0; i < c->n_values; i++)
        if (strcmp(c->values[i].key, key) == 0)
            return c->values[i].origin;
    return NULL;
}

Test(config, nearest_place_wins) {
    struct arena a = {0};
    struct error err = {0};
    struct config c;
    const char *dir = set_up(&a);
    cr_assert(config_load(&a, &c, &err), "%s", err.text);
    cr_assert_str_eq(config_get(&c, "build.cc"), "cc");
    cr_assert_str_eq(config_get(&c, "run.threads"), "0");
    cr_assert_str_eq(config_get(&c, "store.path"), "");
    cr_assert_str_eq(origin(&c, "build.cc"), "default");

    const char *user = arena_printf(&a, "%s/xdg/hone/config", dir);
    const char *text = "# mine\n[build]\ncc = gcc-12\n[run]\nthreads = 3 ; half\n";
    put(user, text, strlen(text));
    cr_assert(config_load(&a, &c, &err), "%s", err.text);
    cr_assert_str_eq(config_get(&c, "build.cc"), "gcc-12");
    cr_assert_str_eq(config_get(&c, "run.threads"), "3");
    cr_assert_str_eq(origin(&c, "build.cc"), user);

    put(arena_printf(&a, "%s/project/.hone/config", dir), "[build]\ncc=clang\n", 17);
    cr_assert(config_load(&a, &c, &err), "%s", err.text);
    cr_assert_str_eq(config_get(&c, "build.cc"), "clang");
    cr_assert_str_eq(config_get(&c, "run.threads"), "3");
    cr_assert_not_null(strstr(origin(&c, "build.cc"), "/project/.hone/config"));

    setenv("HONE_BUILD_CC", "tcc", 1);
    setenv("HONE_RUN_THREADS", "", 1);  // empty is as good as not set
    cr_assert(config_load(&a, &c, &err), "%s", err.text);
    cr_assert_str_eq(config_get(&c, "build.cc"), "tcc");
    cr_assert_str_eq(config_get(&c, "run.threads"), "3");
    cr_assert_str_eq(origin(&c, "build.cc"), "HONE_BUILD_CC");
    cr_assert_eq(chdir("/"), 0);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(config, mistakes_name_file_and_line) {
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[build]\ncx = gcc\n", "config:2: unknown key 'build.cx'; did you mean 'build.cc'?"},
        {"[build]\n\ncolour = red\n", "config:3: unknown key 'build.colour'"},
        {"cc = gcc\n", "config:1: unknown key 'cc'"},
        {"[build]\ncc\n", "config:2: expected 'name = value' or '[section]'"},
        {"[build\ncc = gcc\n", "config:1: expected 'name = value' or '[section]'"},
        {"[build]\nx = 1\ncc\n", "config:2: unknown key 'build.x'; did you mean 'build.cc'?"},
        {"[build]\ncc = a\0b\n", "config: holds a NUL byte"},
    };
    struct arena a = {0};
    struct error err = {0};
    struct config c;
    const char *dir = set_up(&a), *path = arena_printf(&a, "%s/xdg/hone/config", dir);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool nul = strstr(rows[i].message, "NUL");
        put(path, rows[i].text, nul ? 17 : strlen(rows[i].text));
        cr_assert_not(config_load(&a, &c, &err));
        cr_assert_eq(err.kind, ERROR_USAGE);
        cr_assert_str_eq(strstr(err.text, "/hone/config") + 6, rows[i].message);
    }
    cr_assert_eq(chdir("/"), 0);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(config, lines_are_whole_or_refused) {
    struct arena a = {0};
    struct error err = {0};
    struct config c;
    const char *dir = set_up(&a), *path = arena_printf(&a, "%s/xdg/hone/config", dir);
    const char *text = arena_printf(&a, "[store]\npath = /%0500d\n", 7);
    put(path, text, strlen(text));
    cr_assert_not(config_load(&a, &c, &err));
    cr_assert_not_null(strstr(err.text, "config:2: line longer than 198 bytes"), "%s", err.text);
    text = arena_printf(&a, "[store]\npath = /%0180d", 7);
    put(path, text, strlen(text));
    cr_assert(config_load(&a, &c, &err), "%s", err.text);
    cr_assert_eq(strlen(config_get(&c, "store.path")), 181);
    cr_assert_eq(chdir("/"), 0);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(config, unreadable_file_is_a_mistake) {
    struct arena a = {0};
    struct error err = {0};
    struct config c;
    const char *dir = set_up(&a);
    cr_assert(file_make_dirs(arena_printf(&a, "%s/xdg/hone/config", dir), &err));
    cr_assert_not(config_load(&a, &c, &err));
    cr_assert_not_null(strstr(err.text, "is a directory"), "%s", err.text);
    cr_assert_eq(chdir("/"), 0);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(config, works_without_home_and_working_directory) {
    struct arena a = {0};
    struct error err = {0};
    struct config c;
    const char *dir = set_up(&a);
    unsetenv("HOME");
    unsetenv("XDG_CONFIG_HOME");
    scratch_remove(dir);
    cr_assert(config_load(&a, &c, &err), "%s", err.text);
    cr_assert_str_eq(config_get(&c, "build.cc"), "cc");
    arena_reset(&a);
}
