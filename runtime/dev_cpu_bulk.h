// Part of dev_cpu.h, what sm_90 adds: barriers in shared memory that count arrivals and bytes,
// copies by the copy engine, and the state of a warpgroup's products (dev_cpu_wgmma.h). All of them
// go on by themselves here too.
//
// A copy lands at any time between its start and the moment when nobody can go on without it, which
// the seed decides; meanwhile its destination is NaN. A product is computed when its group is
// waited for, from what lies in shared memory then, or for every fourth seed at once; meanwhile its
// sums are NaN. So whatever is not waited for, waited for in the wrong phase, or given back too
// early, computes something else for some seeds. A box that is stored is read when it is waited
// for, or at once. A barrier that was not made, one arrival too many, a product without a fence, a
// block that ends while a copy is under way: a fault.
#pragma once

enum {
    HONE_DEV_MBARRIERS_MAX = 128,
    HONE_DEV_BULK_MAX = 256,
    HONE_DEV_PRODUCTS_MAX = 64,
    HONE_DEV_STORES_MAX = 8,
    HONE_DEV_TURNS = 8,
    HONE_DEV_WARPS_MAX = HONE_DEV_FIBRES_MAX / HONE_DEV_WARP,
};

struct hone_tensormap {
    const char *base;
    int rank, element_bytes, swizzle_bytes;
    long dims[5], strides_bytes[5], box[5];
};
#define HONE_MAP(name) const struct hone_tensormap *name

struct hone_dev_mbarrier {
    const long long *at;
    int arrivals, pending;
    long bytes;  // expected and not landed
    long phase;  // how many have ended
};

struct hone_dev_bulk {
    char *to;  // in shared memory; what is stored comes from there
    const struct hone_tensormap *map;
    long coordinate[5];
    struct hone_dev_mbarrier *barrier;
};

// One warp's share of a product: 16 rows.
struct hone_dev_product {
    const char *a, *b;
    int across_a, across_b, adds, columns, type, group;  // type: 0 bf16, 1 f16, 2 i8, 3 tf32,
                                                         // 4 f8e4m3, 5 f8e5m2
    float *sums[HONE_DEV_WARP];                          // of each lane: columns / 2
    const int *words[HONE_DEV_WARP];  // of each lane: A, where it is in registers
};

// Sums that products are under way to, as they will be.
struct hone_dev_held {
    float *at;
    int count;
    float value[128];
};

struct hone_dev_warp {
    struct hone_dev_product products[HONE_DEV_PRODUCTS_MAX];
    int n_products, group, is_fenced;
    struct hone_dev_held held[HONE_DEV_WARP][4];
    struct hone_dev_bulk stores[HONE_DEV_STORES_MAX];  // that shared memory is still read for
    int n_stores;
};

static struct {
    struct hone_dev_mbarrier mbarriers[HONE_DEV_MBARRIERS_MAX];
    int n_mbarriers;
    struct hone_dev_bulk bulk[HONE_DEV_BULK_MAX];
    int n_bulk;
    int lands_late;                                  // copies land when nobody can go on
    struct hone_dev_mbarrier turns[HONE_DEV_TURNS];  // a phase ends when a turn is given
    int takers[HONE_DEV_TURNS];                      // threads that have come to take it
    struct hone_dev_warp *warps;
} hone_dev_async;

static float hone_from_f16(unsigned short h);
static float hone_from_bf16(unsigned short h);
static float hone_dev_from_tf32(int word);

// Barriers.

static struct hone_dev_mbarrier *hone_dev_mbarrier(const long long *at) {
    for (int i = 0; i < hone_dev_async.n_mbarriers; i++)
        if (hone_dev_async.mbarriers[i].at == at)
            return &hone_dev_async.mbarriers[i];
    hone_dev_fault("uses a barrier that was not made");
}

static void hone_dev_mbarrier_end_phase(struct hone_dev_mbarrier *b) {
    if (b->pending == 0 && b->bytes == 0) {
        b->phase++;
        b->pending = b->arrivals;
    }
}

static int hone_dev_has_ended(const struct hone_dev_mbarrier *b, int parity) {
    return b->phase % 2 != parity;
}

HONE_FN void hone_mbarrier_init(long long *at, int arrivals) {
    for (int i = 0; i < hone_dev_async.n_mbarriers; i++)
        if (hone_dev_async.mbarriers[i].at == at)
            hone_dev_fault("makes a barrier twice");
    if (hone_dev_async.n_mbarriers == HONE_DEV_MBARRIERS_MAX)
        hone_dev_fault("has too many barriers in shared memory");
    *at = -2;  // any other use of it has no effect
    hone_dev_async.mbarriers[hone_dev_async.n_mbarriers++] =
        (struct hone_dev_mbarrier){at, arrivals, arrivals, 0, 0};
}

static __attribute__((unused)) void hone_dev_arrive(long long *at, long bytes) {
    struct hone_dev_mbarrier *b = hone_dev_mbarrier(at);
    if (b->pending == 0)
        hone_dev_fault("arrives at a barrier that waits for nobody");
    b->bytes += bytes;
    b->pending--;
    hone_dev_mbarrier_end_phase(b);
}
HONE_FN void hone_mbarrier_expect(long long *at, int bytes) {
    hone_dev_arrive(at, bytes);
}
HONE_FN void hone_mbarrier_arrive(long long *at) {
    hone_dev_arrive(at, 0);
}

// Memory is one here; that nothing is multiplied unfenced is seen to by the interpreter of loops.
#define hone_fence_writes() ((void)0)

// The same place in the shared memory of another block of the cluster, which must be there.
static __attribute__((unused)) void *hone_dev_peer(const void *at, int rank) {
    long n = hone_dev.launch->together, first = hone_dev.now->block / (n > 0 ? n : 1) * n;
    if (rank < 0 || rank >= n)
        hone_dev_fault("touches block %d of a cluster of %ld", rank, n);
    int there = 0;
    for (int i = 0; i < hone_dev.n_fibres; i++)
        there |=
            hone_dev.fibres[i].block == first + rank && hone_dev.fibres[i].state != HONE_DEV_DONE;
    if (!there)
        hone_dev_fault("touches block %d of its cluster, which has ended", rank);
    const char *name = NULL;
    long offset = 0;
    for (int i = 0; i < hone_dev.n_arrays; i++) {
        const struct hone_dev_array *a = &hone_dev.arrays[i];
        const char *begin = a->data;
        if (a->block == hone_dev.now->block % n && begin <= (const char *)at &&
            (const char *)at < begin + a->bytes) {
            name = a->name;
            offset = (const char *)at - begin;
        }
    }
    for (int i = 0; i < hone_dev.n_arrays; i++)
        if (name && hone_dev.arrays[i].name == name && hone_dev.arrays[i].block == rank)
            return (char *)hone_dev.arrays[i].data + offset;
    hone_dev_fault("touches block %d of its cluster, which has not begun", rank);
}
HONE_FN void hone_mbarrier_arrive_at(long long *at, int rank) {
    hone_dev_arrive(hone_dev_peer(at, rank), 0);
}

static __attribute__((unused)) void hone_dev_wait(const long long *at, int parity, int line) {
    struct hone_dev_fibre *f = hone_dev.now;
    f->waits_for = hone_dev_mbarrier(at);
    f->parity = parity;
    if (!hone_dev_has_ended(f->waits_for, parity))
        hone_dev_stop(HONE_DEV_AT_MBARRIER, line);
}
#define hone_mbarrier_wait(at, parity) hone_dev_wait(at, parity, __LINE__)

// Copies.

// Where hardware puts what would lie at `at`: pieces of 16 bytes change places.
static char *hone_dev_swizzled(const char *at) {
    uintptr_t a = (uintptr_t)at;
    return (char *)(a ^ ((a >> 3) & 0x70));
}

// One row of a box, at `to` in shared memory: brought there, or stored from there.
static void hone_dev_land_row(const struct hone_dev_bulk *c, char *to, const long *at) {
    const struct hone_tensormap *m = c->map;
    size_t bytes = (size_t)m->element_bytes;
    uintptr_t address = (uintptr_t)m->base;  // wraps around: strides may make use of it
    int inside = 1;
    for (int i = 1; i < m->rank; i++) {
        address += (uintptr_t)at[i] * (uintptr_t)m->strides_bytes[i];
        inside &= at[i] >= 0 && at[i] < m->dims[i];
    }
    char *from = (char *)address;
    for (long x = 0; x < m->box[0]; x++) {
        char *p = to + x * m->element_bytes;
        long column = c->coordinate[0] + x;
        p = m->swizzle_bytes ? hone_dev_swizzled(p) : p;
        int is_there = inside && column >= 0 && column < m->dims[0];
        if (is_there && c->barrier)
            memcpy(p, from + column * m->element_bytes, bytes);
        else if (is_there)
            memcpy(from + column * m->element_bytes, p, bytes);
        else if (c->barrier)
            memset(p, 0, bytes);
    }
}

static long hone_dev_box_bytes(const struct hone_tensormap *m) {
    long bytes = m->element_bytes;
    for (int i = 0; i < m->rank; i++)
        bytes *= m->box[i];
    return bytes;
}

static void hone_dev_land_box(struct hone_dev_bulk c) {
    const struct hone_tensormap *m = c.map;
    long row = m->box[0] * m->element_bytes, rows = hone_dev_box_bytes(m) / row;
    for (long r = 0; r < rows; r++) {
        long at[5] = {0}, rest = r;
        for (int i = 1; i < m->rank; rest /= m->box[i], i++)
            at[i] = c.coordinate[i] + rest % m->box[i];
        hone_dev_land_row(&c, c.to + r * row, at);
    }
    if (!c.barrier)
        return;
    c.barrier->bytes -= hone_dev_box_bytes(m);
    hone_dev_mbarrier_end_phase(c.barrier);
}

static void hone_dev_land_one(void) {
    int i = (int)hone_dev_random((unsigned)hone_dev_async.n_bulk);
    struct hone_dev_bulk c = hone_dev_async.bulk[i];
    hone_dev_async.bulk[i] = hone_dev_async.bulk[--hone_dev_async.n_bulk];
    hone_dev_land_box(c);
}

static __attribute__((unused)) void hone_dev_bulk_copy(void *to, const struct hone_tensormap *map,
                                                       long long *barrier, int rank,
                                                       const long *coordinate) {
    struct hone_dev_bulk c = {to, map, {0}, hone_dev_mbarrier(barrier)};
    if (rank != map->rank)
        hone_dev_fault("copies from a map of %d axes by %d coordinates", map->rank, rank);
    if (map->swizzle_bytes && (map->swizzle_bytes != 128 || (uintptr_t)to % 1024 != 0))
        hone_dev_fault("copies to a place that does not begin where the swizzle does");
    memcpy(c.coordinate, coordinate, sizeof(long) * (size_t)rank);
    hone_dev_poison(to, (size_t)hone_dev_box_bytes(map));
    if (hone_dev_async.n_bulk == HONE_DEV_BULK_MAX)
        hone_dev_fault("has more than %d bulk copies under way", HONE_DEV_BULK_MAX);
    if (hone_dev.copies_at_once)
        hone_dev_land_box(c);
    else
        hone_dev_async.bulk[hone_dev_async.n_bulk++] = c;
}
// A kernel has its maps by address here and calls by the address of that.
#define hone_bulk_copy2(to, map, barrier, x, y) \
    hone_dev_bulk_copy(to, *(map), barrier, 2, (const long[]){x, y})
#define hone_bulk_copy3(to, map, barrier, x, y, z) \
    hone_dev_bulk_copy(to, *(map), barrier, 3, (const long[]){x, y, z})
#define hone_bulk_copy4(to, map, barrier, x, y, z, u) \
    hone_dev_bulk_copy(to, *(map), barrier, 4, (const long[]){x, y, z, u})
#define hone_bulk_copy5(to, map, barrier, x, y, z, u, v) \
    hone_dev_bulk_copy(to, *(map), barrier, 5, (const long[]){x, y, z, u, v})

static __attribute__((unused)) void hone_dev_bulk_share(void *to, const struct hone_tensormap *map,
                                                        long long *barrier, int rank,
                                                        const long *coordinate) {
    for (int i = 0; i < 16; i++)
        if (coordinate[rank] >> i & 1)
            hone_dev_bulk_copy(hone_dev_peer(to, i), map, hone_dev_peer(barrier, i), rank,
                               coordinate);
}
#define hone_bulk_share2(to, map, barrier, x, y, blocks) \
    hone_dev_bulk_share(to, *(map), barrier, 2, (const long[]){x, y, blocks})
#define hone_bulk_share3(to, map, barrier, x, y, z, blocks) \
    hone_dev_bulk_share(to, *(map), barrier, 3, (const long[]){x, y, z, blocks})

static struct hone_dev_warp *hone_dev_warp_of(const struct hone_dev_fibre *f);

static __attribute__((unused)) void hone_dev_start_store(struct hone_dev_fibre *f) {
    struct hone_dev_warp *w = hone_dev_warp_of(f);
    hone_dev.now = f;
    for (int lane = 0; lane < HONE_DEV_WARP; lane++)
        if (f[lane].stored->to != f->stored->to)
            hone_dev_fault("stores another box than its neighbours");
    if (hone_dev.copies_at_once)
        hone_dev_land_box(*f->stored);
    else if (w->n_stores == HONE_DEV_STORES_MAX)
        hone_dev_fault("stores more than %d boxes at a time", HONE_DEV_STORES_MAX);
    else
        w->stores[w->n_stores++] = *f->stored;
}
static __attribute__((unused)) void hone_dev_bulk_store(const void *from,
                                                        const struct hone_tensormap *map, int rank,
                                                        const long *coordinate, int line) {
    struct hone_dev_bulk c = {(char *)(uintptr_t)from, map, {0}, NULL};
    if (rank != map->rank || map->swizzle_bytes != 128 || (uintptr_t)from % 1024 != 0)
        hone_dev_fault("stores a box by %d coordinates, or not from where the swizzle begins",
                       rank);
    memcpy(c.coordinate, coordinate, sizeof(long) * (size_t)rank);
    hone_dev.now->stored = &c;
    hone_dev_meet(hone_dev_start_store, line);
}
#define hone_bulk_store2(from, map, x, y) \
    hone_dev_bulk_store(from, *(map), 2, (const long[]){x, y}, __LINE__)
#define hone_bulk_store3(from, map, x, y, z) \
    hone_dev_bulk_store(from, *(map), 3, (const long[]){x, y, z}, __LINE__)
#define hone_bulk_store4(from, map, x, y, z, u) \
    hone_dev_bulk_store(from, *(map), 4, (const long[]){x, y, z, u}, __LINE__)

// All but the newest `source` are stored now.
static __attribute__((unused)) void hone_dev_wait_stores(struct hone_dev_fibre *f) {
    struct hone_dev_warp *w = hone_dev_warp_of(f);
    int first = w->n_stores > f->source ? w->n_stores - f->source : 0;
    for (int i = 0; i < w->n_stores; i++) {
        if (i < first)
            hone_dev_land_box(w->stores[i]);
        else
            w->stores[i - first] = w->stores[i];
    }
    w->n_stores -= first;
}
#define hone_bulk_stored(boxes) \
    (hone_dev.now->source = (boxes), hone_dev_meet(hone_dev_wait_stores, __LINE__))

// For the scheduler.

static void hone_dev_async_prepare(uint64_t seed) {
    hone_dev_async.lands_late = seed % 2 == 0;
}

static void hone_dev_async_begin(void) {
    hone_dev_async.n_mbarriers = 0;
    for (int i = 0; i < HONE_DEV_TURNS; i++) {
        hone_dev_async.turns[i] = (struct hone_dev_mbarrier){NULL, 128, 128, 0, 0};
        hone_dev_async.takers[i] = 0;
    }
    for (int i = 0; i < hone_dev.n_fibres / HONE_DEV_WARP && hone_dev_async.warps; i++) {
        struct hone_dev_warp *w = &hone_dev_async.warps[i];
        w->n_products = w->group = w->is_fenced = w->n_stores = 0;
        memset(w->held, 0, sizeof w->held);
    }
}

static void hone_dev_async_end(void) {
    int n = hone_dev_async.n_bulk;
    for (int i = 0; i < hone_dev.n_fibres / HONE_DEV_WARP && hone_dev_async.warps; i++)
        n += hone_dev_async.warps[i].n_stores;
    if (n)
        hone_dev_fault("ends while a bulk copy is under way");
}

// Threads whose phase has ended go on; now and then a copy lands.
static void hone_dev_async_step(void) {
    if (hone_dev_async.n_bulk && !hone_dev_async.lands_late && hone_dev_random(4) == 0)
        hone_dev_land_one();
    for (int i = 0; i < hone_dev.n_fibres && hone_dev_async.n_mbarriers; i++) {
        struct hone_dev_fibre *f = &hone_dev.fibres[i];
        if (f->state == HONE_DEV_AT_MBARRIER && hone_dev_has_ended(f->waits_for, f->parity))
            f->state = HONE_DEV_READY;
    }
}

// Nobody can go on otherwise. 0: nothing is under way.
static int hone_dev_async_hurry(void) {
    if (!hone_dev_async.n_bulk)
        return 0;
    hone_dev_land_one();
    return 1;
}

// All of it, while the blocks of another launch run.
static void *hone_dev_async_set_aside(void) {
    void *aside = malloc(sizeof hone_dev_async);
    memcpy(aside, &hone_dev_async, sizeof hone_dev_async);
    hone_dev_async.warps = NULL;
    hone_dev_async.n_bulk = hone_dev_async.n_mbarriers = 0;
    return aside;
}
static void hone_dev_async_take_back(void *aside) {
    free(hone_dev_async.warps);
    memcpy(&hone_dev_async, aside, sizeof hone_dev_async);
    free(aside);
}
