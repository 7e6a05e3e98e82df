#include "ops/op_pages.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "ops/op_runs.h"

static bool write_run(const char *store, const char *dir, long long id, struct error *err) {
    struct arena a = {0};
    struct run_view v;
    struct str page = {0};
    int node;
    bool ok = op_show(&a, store, arena_printf(&a, "%lld", id), &v, &node, err);
    if (ok) {
        report_page(&page, &v, op_run_graph(&a, &v.run));
        ok = file_write(arena_printf(&a, "%s/run-%lld.html", dir, id), page.ptr, page.len, err);
    }
    str_reset(&page);
    arena_reset(&a);
    return ok;
}

bool op_pages(struct arena *a, const char *store, const char *dir, int *n, struct error *err) {
    struct run_view *views;
    if (!op_runs(a, store, &views, n, err) || !file_make_dirs(dir, err))
        return false;
    for (int i = 0; i < *n; i++)
        if (!write_run(store, dir, views[i].run.id, err))
            return false;
    struct str index = {0};
    report_index(&index, views, *n);
    bool ok = file_write(arena_printf(a, "%s/index.html", dir), index.ptr, index.len, err);
    str_reset(&index);
    return ok;
}
