#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"

static void put(const char *path, const char *text) {
    struct error err = {0};
    cr_assert(file_write(path, text, strlen(text), &err), "%s", err.text);
}

static int n_entries(struct arena *a, const char *dir) {
    FILE *p = popen(arena_printf(a, "ls -A '%s' | wc -l", dir), "r");
    int n = -1;
    cr_assert_eq(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

Test(file, reads_what_was_written) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/f", dir);
    cr_assert(file_write(path, "a\0b", 3, &err));
    size_t len;
    const char *text = file_read(&a, path, 100, &len, &err);
    cr_assert_eq(len, 3);
    cr_assert_eq(memcmp(text, "a\0b\0", 4), 0);
    put(path, "");
    cr_assert_str_eq(file_read(&a, path, 100, NULL, &err), "");
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, creates_only_what_is_not_there) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/f", dir);
    cr_assert(file_create(path, "one", 3, &err), "%s", err.text);
    cr_assert_not(file_create(path, "two", 3, &err));
    cr_assert_not_null(strstr(err.text, "/f: File exists"), "%s", err.text);
    cr_assert_str_eq(file_read(&a, path, 100, NULL, &err), "one");
    cr_assert_not(file_create(arena_printf(&a, "%s/no/f", dir), "x", 1, &err));
    cr_assert_eq(err.kind, ERROR_IO);
    // A file that does not fit leaves nothing.
    struct rlimit none = {2, 2};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
    cr_assert_not(file_create(arena_printf(&a, "%s/g", dir), "three", 5, &err));
    cr_assert_eq(n_entries(&a, dir), 1);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, read_refuses_what_cannot_be_read) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/f", dir);
    cr_assert_null(file_read(&a, path, 100, NULL, &err));
    cr_assert_eq(err.kind, ERROR_USAGE);
    cr_assert_not_null(strstr(err.text, "/f: No such file"), "%s", err.text);
    cr_assert_null(file_read(&a, dir, 100, NULL, &err));
    cr_assert_eq(err.kind, ERROR_USAGE);
    cr_assert_not_null(strstr(err.text, ": is a directory"), "%s", err.text);
    put(path, "0123456789");
    cr_assert_null(file_read(&a, path, 9, NULL, &err));
    cr_assert_eq(err.kind, ERROR_USAGE);
    cr_assert_not_null(strstr(err.text, "larger than 9 bytes"), "%s", err.text);
    cr_assert_not_null(file_read(&a, path, 10, NULL, &err));
    cr_assert_eq(file_size(path), 10);
    cr_assert_eq(file_size(dir), -1);
    cr_assert_eq(file_size(arena_printf(&a, "%s/none", dir)), -1);
    cr_assert_eq(file_size("/dev/null"), -1);
    // A read that fails after the open: no memory is mapped at address 0.
    cr_assert_null(file_read(&a, "/proc/self/mem", 100, NULL, &err));
    cr_assert_eq(err.kind, ERROR_IO, "%s", err.text);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, write_replaces_and_leaves_nothing_beside) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/f", dir);
    put(path, "old");
    put(path, "new");
    cr_assert_str_eq(file_read(&a, path, 100, NULL, &err), "new");
    cr_assert_eq(n_entries(&a, dir), 1);
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0666 & ~mask);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, write_keeps_a_link) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    const char *path = arena_printf(&a, "%s/f", dir), *link = arena_printf(&a, "%s/link", dir);
    put(path, "old");
    cr_assert_eq(symlink(path, link), 0);
    put(link, "new");
    cr_assert_str_eq(file_read(&a, path, 100, NULL, &err), "new");
    struct stat st;
    cr_assert(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, full_disk_leaves_the_old_file) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a), *path = arena_printf(&a, "%s/f", dir);
    put(path, "old");
    // A limit on file size stands in for the full disk: write() fails part of the way.
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    static char big[5000];
    cr_assert_not(file_write(path, big, sizeof big, &err));
    setrlimit(RLIMIT_FSIZE, &before);
    cr_assert_eq(err.kind, ERROR_IO);
    cr_assert_str_eq(file_read(&a, path, 100, NULL, &err), "old");
    cr_assert_eq(n_entries(&a, dir), 1);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, write_refuses) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    cr_assert_not(file_write(dir, "x", 1, &err));
    cr_assert_not_null(strstr(err.text, "is a directory"), "%s", err.text);
    cr_assert_not(file_write(arena_printf(&a, "%s/none/f", dir), "x", 1, &err));
    cr_assert_eq(err.kind, ERROR_IO);
    cr_assert_not(file_write(arena_printf(&a, "%s/%05000d", dir, 1), "x", 1, &err));
    cr_assert_not(file_write("/dev/full", "x", 1, &err));
    cr_assert_not_null(strstr(err.text, "/dev/full: No space"), "%s", err.text);
    cr_assert(file_write("/dev/null", "x", 1, &err), "%s", err.text);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, makes_directories) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a), *deep = arena_printf(&a, "%s//a/b/c/", dir);
    cr_assert(file_make_dirs(deep, &err), "%s", err.text);
    cr_assert(file_make_dirs(deep, &err), "%s", err.text);
    cr_assert(file_exists(deep));
    const char *path = arena_printf(&a, "%s/f", dir);
    put(path, "");
    cr_assert_not(file_make_dirs(path, &err));
    cr_assert_not_null(strstr(err.text, "Not a directory"), "%s", err.text);
    cr_assert_not(file_make_dirs(arena_printf(&a, "%s/below", path), &err));
    cr_assert_not(file_make_dirs("", &err));
    cr_assert_eq(err.kind, ERROR_IO);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, removes_a_tree_but_follows_no_link) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a), *tree = arena_printf(&a, "%s/tree", dir);
    cr_assert(file_make_dirs(arena_printf(&a, "%s/sub/sub", tree), &err));
    cr_assert(file_make_dirs(arena_printf(&a, "%s/other", dir), &err));
    put(arena_printf(&a, "%s/other/kept", dir), "x");
    put(arena_printf(&a, "%s/sub/f", tree), "x");
    cr_assert_eq(symlink("../other", arena_printf(&a, "%s/link", tree)), 0);
    cr_assert(file_remove_tree(tree, &err), "%s", err.text);
    cr_assert_not(file_exists(tree));
    cr_assert(file_exists(arena_printf(&a, "%s/other/kept", dir)));
    cr_assert(file_remove_tree(tree, &err), "missing is fine: %s", err.text);
    cr_assert_not(file_remove_tree("/proc/self/fdinfo", &err));
    cr_assert_eq(err.kind, ERROR_IO);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, places_follow_xdg_then_home) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    setenv("XDG_CACHE_HOME", arena_printf(&a, "%s/c", dir), 1);
    const char *cache = file_cache_dir(&a, "objects", &err);
    cr_assert_str_eq(cache, arena_printf(&a, "%s/c/hone/objects", dir));
    cr_assert(file_exists(cache));
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", dir, 1);
    cr_assert_str_eq(file_cache_dir(&a, "x", &err), arena_printf(&a, "%s/.cache/hone/x", dir));
    setenv("XDG_CONFIG_HOME", "/etc/xdg", 1);
    cr_assert_str_eq(file_config_path(&a), "/etc/xdg/hone/config");
    unsetenv("XDG_CONFIG_HOME");
    cr_assert_str_eq(file_config_path(&a), arena_printf(&a, "%s/.config/hone/config", dir));
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    cr_assert_null(file_config_path(&a));
    cr_assert_null(file_cache_dir(&a, "x", &err));
    cr_assert_eq(err.kind, ERROR_UNSUPPORTED);
    setenv("XDG_CACHE_HOME", "/dev/null", 1);
    cr_assert_null(file_cache_dir(&a, "x", &err));
    cr_assert_eq(err.kind, ERROR_IO);
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, finds_programs_along_the_path) {
    struct arena a = {0};
    const char *dir = scratch_make(&a), *tool = arena_printf(&a, "%s/tool", dir);
    put(tool, "#!/bin/sh\n");
    setenv("PATH", arena_printf(&a, "/none::%s:/bin", dir), 1);
    cr_assert_null(file_find_program(&a, "tool"), "it is not executable yet");
    chmod(tool, 0755);
    cr_assert_str_eq(file_find_program(&a, "tool"), tool);
    cr_assert_str_eq(file_find_program(&a, tool), tool);
    cr_assert_null(file_find_program(&a, dir));
    cr_assert_null(file_find_program(&a, ""));
    cr_assert_null(file_find_program(&a, "no-such-program"));
    cr_assert_eq(chdir(dir), 0);
    setenv("PATH", ":/none", 1);
    cr_assert_str_eq(file_find_program(&a, "tool"), "./tool");
    unsetenv("PATH");
    cr_assert_null(file_find_program(&a, "tool"));
    scratch_remove(dir);
    arena_reset(&a);
}

Test(file, knows_its_own_binary) {
    struct arena a = {0};
    struct error err = {0};
    const char *self = file_self(&a, &err);
    cr_assert_eq(self[0], '/');
    cr_assert(file_exists(self));
    arena_reset(&a);
}

Test(file, finds_upward) {
    struct arena a = {0};
    struct error err = {0};
    const char *dir = scratch_make(&a);
    cr_assert(file_make_dirs(arena_printf(&a, "%s/a/b", dir), &err));
    put(arena_printf(&a, "%s/marker.x", dir), "");
    cr_assert_eq(chdir(arena_printf(&a, "%s/a/b", dir)), 0);
    const char *found = file_find_upward(&a, "marker.x");
    cr_assert_not_null(found);
    cr_assert_eq(found[0], '/');
    cr_assert_not_null(strstr(found, "/marker.x"));
    cr_assert_null(strstr(found, "/a/"));
    put("marker.x", "");
    cr_assert_not_null(strstr(file_find_upward(&a, "marker.x"), "/a/b/marker.x"));
    cr_assert_null(file_find_upward(&a, "no-such-marker"));
    cr_assert_eq(chdir("/"), 0);
    cr_assert_not_null(file_find_upward(&a, "bin"));
    scratch_remove(dir);
    arena_reset(&a);
}
