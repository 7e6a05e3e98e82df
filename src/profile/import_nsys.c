// The SQLite export of nsys: a table of kernel launches, perhaps one of copies, and names by
// number. A table is there only if such a thing happened, and columns grow with versions, so each
// is asked for. Launches are brought together by the database: a file may hold millions. Of kernels
// only those with most of the time are kept, the others as one row, so that memory does not grow
// with the file.
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "profile/import.h"

enum { KERNELS_KEPT = 2000 };

bool import_is_nsys(const char *path) {
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, head, sizeof head) == sizeof head &&
              memcmp(head, magic, sizeof magic) == 0;
    if (fd >= 0)
        close(fd);
    return is;
}

static bool fail(sqlite3 *db, struct error *err) {
    return error_set(err, ERROR_USAGE, "the database cannot be read: %s", sqlite3_errmsg(db));
}

static bool has_column(sqlite3 *db, const char *table, const char *column) {
    sqlite3_stmt *st;
    bool has = false;
    if (sqlite3_prepare_v2(db, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", -1, &st,
                           NULL) != SQLITE_OK)
        return false;
    sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, column, -1, SQLITE_STATIC);
    has = sqlite3_step(st) == SQLITE_ROW;
    sqlite3_finalize(st);
    return has;
}

// A column, or what stands for one that is not there.
static const char *column_or(sqlite3 *db, const char *column, const char *otherwise) {
    return has_column(db, "CUPTI_ACTIVITY_KIND_KERNEL", column) ? column : otherwise;
}

static bool read_kernels(struct arena *a, sqlite3 *db, struct imported *out, struct error *err) {
    const char *query = arena_printf(
        a,
        "SELECT coalesce((SELECT value FROM StringIds WHERE id = g.name), 'kernel ' || g.name), g.*"
        " FROM (SELECT gridX * gridY * gridZ, blockX * blockY * blockZ, %s, %s + %s, %s,"
        " count(*), sum(\"end\" - start) AS time, %s AS name"
        " FROM CUPTI_ACTIVITY_KIND_KERNEL"
        " WHERE \"end\" > start GROUP BY name, 1, 2, 3, 4, 5) g ORDER BY g.time DESC",
        column_or(db, "registersPerThread", "NULL"), column_or(db, "staticSharedMemory", "NULL"),
        column_or(db, "dynamicSharedMemory", "NULL"), column_or(db, "localMemoryPerThread", "NULL"),
        column_or(db, "demangledName", "shortName"));
    static const enum metric_id ids[] = {METRIC_BLOCKS,      METRIC_BLOCK_THREADS,
                                         METRIC_REGISTERS,   METRIC_SHARED_BYTES,
                                         METRIC_LOCAL_BYTES, METRIC_CALLS};
    sqlite3_stmt *st;
    if (sqlite3_prepare_v2(db, query, -1, &st, NULL) != SQLITE_OK)
        return fail(db, err);
    int code;
    double others_s = 0, n_others = 0;
    while ((code = sqlite3_step(st)) == SQLITE_ROW) {
        double calls = sqlite3_column_double(st, 6), total_s = sqlite3_column_double(st, 7) * 1e-9;
        out->n_launches += (int)calls;
        if (out->profile.n_launches == KERNELS_KEPT) {
            others_s += total_s;
            n_others += calls;
            out->n_more++;
            continue;
        }
        const char *name = (const char *)sqlite3_column_text(st, 0);
        struct profile_launch *l =
            profile_add_launch(a, &out->profile, arena_strdup(a, name ? name : "?"));
        for (int i = 0; i < (int)(sizeof ids / sizeof ids[0]); i++)
            if (sqlite3_column_type(st, i + 1) != SQLITE_NULL)
                metrics_set(&l->metrics, ids[i], sqlite3_column_double(st, i + 1));
        metrics_set(&l->metrics, METRIC_TIME, total_s / calls);
    }
    sqlite3_finalize(st);
    if (out->n_more > 0) {
        struct profile_launch *l = profile_add_launch(
            a, &out->profile, arena_printf(a, "(%d other kernels)", out->n_more));
        metrics_set(&l->metrics, METRIC_CALLS, n_others);
        metrics_set(&l->metrics, METRIC_TIME, others_s / n_others);
    }
    return code == SQLITE_DONE || fail(db, err);
}

// How much of the time from the first kernel to the last some kernel ran: overlapping ones count
// once.
static bool read_gaps(sqlite3 *db, struct imported *out, struct error *err) {
    sqlite3_stmt *st;
    double first = NAN, last = NAN, busy = 0;
    int code;
    if (sqlite3_prepare_v2(db,
                           "SELECT start, \"end\" FROM CUPTI_ACTIVITY_KIND_KERNEL"
                           " WHERE \"end\" > start ORDER BY start",
                           -1, &st, NULL) != SQLITE_OK)
        return fail(db, err);
    while ((code = sqlite3_step(st)) == SQLITE_ROW) {
        double start = sqlite3_column_double(st, 0), end = sqlite3_column_double(st, 1);
        if (isnan(first))
            first = last = start;
        if (end > last) {
            busy += end - (start > last ? start : last);
            last = end;
        }
    }
    sqlite3_finalize(st);
    if (last > first) {
        profile_set(&out->profile, METRIC_SPAN, (last - first) * 1e-9);
        profile_set(&out->profile, METRIC_DEVICE_BUSY, busy / (last - first));
        profile_set(&out->profile, METRIC_LAUNCHES, out->n_launches);
    }
    return code == SQLITE_DONE || fail(db, err);
}

static void read_copies(sqlite3 *db, struct imported *out) {
    sqlite3_stmt *st;
    double span_s = profile_get(&out->profile, METRIC_SPAN);
    if (!has_column(db, "CUPTI_ACTIVITY_KIND_MEMCPY", "start") ||
        sqlite3_prepare_v2(db, "SELECT sum(\"end\" - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY", -1,
                           &st, NULL) != SQLITE_OK)
        return;
    if (sqlite3_step(st) == SQLITE_ROW && span_s > 0)
        profile_set(&out->profile, METRIC_COPY_SHARE,
                    fmin(1, sqlite3_column_double(st, 0) * 1e-9 / span_s));
    sqlite3_finalize(st);
}

static void read_device(struct arena *a, sqlite3 *db, struct imported *out) {
    sqlite3_stmt *st;
    if (!has_column(db, "TARGET_INFO_GPU", "name") ||
        !has_column(db, "TARGET_INFO_GPU", "computeMajor") ||
        sqlite3_prepare_v2(db,
                           "SELECT name, smCount, computeMajor, computeMinor FROM TARGET_INFO_GPU"
                           " LIMIT 1",
                           -1, &st, NULL) != SQLITE_OK)
        return;
    if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0)) {
        out->device = arena_strdup(a, (const char *)sqlite3_column_text(st, 0));
        out->sms = sqlite3_column_int(st, 1);
        out->capability = 10 * sqlite3_column_int(st, 2) + sqlite3_column_int(st, 3);
    }
    sqlite3_finalize(st);
}

bool import_nsys(struct arena *a, const char *path, struct imported *out, struct error *err) {
    sqlite3 *db = NULL;
    *out = (struct imported){.what = "nsys, timeline"};
    bool ok = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK || fail(db, err);
    if (ok && !has_column(db, "CUPTI_ACTIVITY_KIND_KERNEL", "start"))
        ok =
            error_set(err, ERROR_USAGE,
                      "there is no kernel in it: record with nsys profile -t cuda, and export with "
                      "nsys export --type sqlite");
    ok = ok && read_kernels(a, db, out, err) && read_gaps(db, out, err);
    if (ok) {
        read_copies(db, out);
        read_device(a, db, out);
    }
    sqlite3_close(db);
    return ok;
}
