// What goes on by itself on the machine of execute.c: barriers in shared memory with their phases
// and bulk copies here, products of a warpgroup in execute_wgmma.c.
//
// A bulk copy lands as late as it may: when nobody can go on. Until then its destination is under
// way. A product is computed when its group is waited for; until then its sums are under way, and
// writing its operands is an error. A box is stored when it is waited for, and so is its.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "loop/execute_async.h"

void async_fail(struct machine *m, const char *what) {
    if (!m->failed)
        m->failed = !error_set(m->err, ERROR_PARSE, "thread %d %s", m->thread, what);
}

void async_begin(struct machine *m) {
    if (!m->async)
        m->async = malloc(sizeof *m->async);
    assert(m->async);
    memset(m->async, 0, sizeof *m->async);
}

void async_end(struct machine *m) {
    if (m->async->n_bulk || m->async->n_stores)
        async_fail(m, "ends while a bulk copy is under way");
}

void async_free(struct machine *m) {
    free(m->async);
}

int64_t async_events(const struct machine *m) {
    return m->async->events;
}

// ---- barriers

int async_block_of(const struct machine *m) {
    return m->thread / m->per_block;
}

// Which one: every block of a block group has its own.
static int64_t barrier_index(struct machine *m, const struct loop_operand *o) {
    return machine_index(m, o->index) + async_block_of(m) * o->buffer->count;
}

static struct mbarrier *barrier_of(struct machine *m, const struct loop_operand *o) {
    int64_t index = barrier_index(m, o);
    for (int i = 0; i < m->async->n_barriers; i++) {
        struct mbarrier *b = &m->async->barriers[i];
        if (b->buffer != o->buffer || b->index != index)
            continue;
        if (b->maker != m->thread && b->epoch == m->epoch)
            machine_fail(m, o->buffer, index, "is used before a barrier after another made it");
        return b;
    }
    return NULL;
}

// That of block `block` of the block group at the same place; what another made is known after a
// meeting.
static struct mbarrier *barrier_at(struct machine *m, const struct loop_operand *o, int64_t block) {
    if (block >= m->n_threads / m->per_block) {
        async_fail(m, "touches a block that its cluster does not have");
        return NULL;
    }
    int64_t index = barrier_index(m, o) + (block - async_block_of(m)) * o->buffer->count;
    struct mbarrier *b = NULL;
    for (int i = 0; i < m->async->n_barriers; i++)
        if (m->async->barriers[i].buffer == o->buffer && m->async->barriers[i].index == index)
            b = &m->async->barriers[i];
    if (b && b->epoch >= m->met && block != async_block_of(m))
        machine_fail(m, o->buffer, index, "is used before the blocks met after another made it");
    return b;
}

static void init(struct machine *m, const struct loop_stmt *s) {
    struct async *y = m->async;
    int64_t n = machine_index(m, s->operand[1].index);
    if (barrier_of(m, &s->operand[0]) || y->n_barriers == BARRIERS_MAX) {
        async_fail(m, "makes a barrier twice, or too many");
        return;
    }
    y->barriers[y->n_barriers++] = (struct mbarrier){
        s->operand[0].buffer, barrier_index(m, &s->operand[0]), n, n, 0, 0, m->thread, m->epoch};
}

static void end_phase(struct mbarrier *b) {
    if (b->pending == 0 && b->bytes == 0) {
        b->phase++;
        b->pending = b->arrivals;
    }
}

static void arrive(struct machine *m, const struct loop_stmt *s) {
    struct mbarrier *b = s->intrinsic == INTRINSIC_MBARRIER_ARRIVE_AT
                             ? barrier_at(m, &s->operand[0], machine_index(m, s->operand[1].index))
                             : barrier_of(m, &s->operand[0]);
    if (!b || b->pending == 0) {
        async_fail(m, b ? "arrives at a barrier that waits for nobody"
                        : "arrives at a barrier that was not made");
        return;
    }
    if (s->intrinsic == INTRINSIC_MBARRIER_EXPECT)
        b->bytes += machine_index(m, s->operand[1].index);
    b->pending--;
    m->async->events++;
    end_phase(b);
}

// Has the phase ended that the thread waits for?
static bool may_go_on(struct machine *m, const struct loop_stmt *s) {
    struct mbarrier *b = barrier_of(m, &s->operand[0]);
    if (!b)
        async_fail(m, "waits at a barrier that was not made");
    return !b || b->phase % 2 != machine_index(m, s->operand[1].index);
}

static void wait_all(struct machine *m, const struct loop_stmt *s, const bool *active) {
    for (int t = 0; t < m->n_threads && !m->failed; t++) {
        machine_yield(m, t);
        if (!active[t] || may_go_on(m, s))
            continue;
        roles_yield(m, true);
        t = -1;  // and ask them all again
    }
}

// ---- copies

static int64_t box_elements(const struct loop_map *map) {
    int64_t n = 1;
    for (int i = 0; i < map->rank; i++)
        n *= map->box[i];
    return n;
}

// Where element `i` lies: pieces of 16 bytes of rows of 128 change places.
int64_t async_swizzled(const struct loop_buffer *b, int64_t i) {
    int64_t each = dtype_size(b->dtype, 1), byte = i * each;
    return (byte ^ ((byte >> 3) & 0x70)) / each;
}

// Where the shared memory of the thread's block begins, among that of its block group.
int64_t async_base_of(const struct machine *m, const struct loop_buffer *b) {
    return m->memory[b->id].per_block * async_block_of(m);
}

// The copy `c` of a block begins: from now on it may land at any time.
static void bulk_start_at(struct machine *m, struct bulk c) {
    struct async *y = m->async;
    c.base = async_base_of(m, c.to);
    c.self = m->self;
    if (!c.barrier || y->n_bulk == BULK_MAX) {
        async_fail(m, "copies towards a barrier that was not made, or too much");
        return;
    }
    if (c.to_index * dtype_size(c.to->dtype, 1) % 1024 != 0)
        machine_fail(m, c.to, c.to_index, "is not where the swizzle begins");
    for (int64_t i = 0; i < box_elements(c.map) && !m->failed; i++) {
        int64_t at = c.to_index + i;
        if (at >= c.to->count)
            machine_fail(m, c.to, at, "is out of bounds");
        else if (m->memory[c.to->id].writer[c.base + at] == UNDER_WAY)
            machine_fail(m, c.to, at, "is copied to while a copy to it is under way");
        else if (async_is_read(m, c.to, at))
            machine_fail(m, c.to, at, "is copied to while a product reads it");
        else
            m->memory[c.to->id].writer[c.base + at] = UNDER_WAY;
    }
    m->had_flights = true;
    y->bulk[y->n_bulk++] = c;
}

static void bulk_start(struct machine *m, const struct loop_stmt *s) {
    struct bulk c = {.to = s->operand[0].buffer, .map = s->operand[1].buffer->map};
    const struct loop_operand *barrier = &s->operand[2];
    int me = m->thread;
    c.to_index = machine_index(m, s->operand[0].index);
    for (int i = 0; i < c.map->rank; i++) {
        assert(s->operand[3 + i].index);
        c.coordinate[i] = machine_index(m, s->operand[3 + i].index);
    }
    machine_check_access(m, c.map->of, 0, REACH_READS);
    if (s->intrinsic != INTRINSIC_BULK_SHARE2 && s->intrinsic != INTRINSIC_BULK_SHARE3) {
        c.barrier = barrier_of(m, barrier);
        bulk_start_at(m, c);
        return;
    }
    int64_t mask = machine_index(m, s->operand[3 + c.map->rank].index);
    for (int block = 0; mask >> block && !m->failed; block++) {
        if (!(mask >> block & 1))
            continue;
        c.barrier = barrier_at(m, barrier, block);
        machine_yield(m, block * m->per_block);
        if (!m->failed)
            bulk_start_at(m, c);
        machine_yield(m, me);
    }
}

// Where element `i` of a box lies in its buffer; false: outside.
static bool find_element(struct machine *m, const struct bulk *c, int64_t i, int64_t *at) {
    const struct loop_map *map = c->map;
    uint64_t sum = 0;  // wraps around as addresses do: strides may make use of it
    for (int d = 0; d < map->rank; i /= map->box[d], d++) {
        int64_t x = c->coordinate[d] + i % map->box[d];
        if (x >= map->dims[d])
            return false;
        sum += (uint64_t)x * (uint64_t)map->strides[d];
    }
    *at = (int64_t)sum;
    if (*at < 0 || *at >= map->of->count)
        machine_fail(m, map->of, *at, "is out of bounds");
    return !m->failed;
}

static void bulk_land(struct machine *m, const struct bulk *c) {
    const struct loop_map *map = c->map;
    const struct memory *from = &m->memory[map->of->id];
    struct memory *to = &m->memory[c->to->id];
    for (int64_t i = 0; i < box_elements(map) && !m->failed; i++) {
        int64_t at = 0;
        bool inside = find_element(m, c, i, &at);
        union cell v = {0};
        if (inside)
            v = cell_get(map->of->dtype, from->bytes, at);
        int64_t place =
            map->swizzle_bytes ? async_swizzled(c->to, c->to_index + i) : c->to_index + i;
        place += c->base;
        if (inside && from->writer[at] != BEFORE)
            machine_fail(m, map->of, at, "is copied but was not there before the launch");
        cell_put(c->to->dtype, to->bytes, place, v);
        to->writer[place] = c->self;
        if (to->touch)
            to->touch[place] = (struct touch){0};
    }
    c->barrier->bytes -= box_elements(map) * dtype_size(c->to->dtype, 1);
    end_phase(c->barrier);
}

static void store_start(struct machine *m, const struct loop_stmt *s, int first) {
    struct async *y = m->async;
    struct bulk c = {.to = s->operand[0].buffer, .map = s->operand[1].buffer->map, .warp = first};
    c.base = async_base_of(m, c.to);
    c.to_index = machine_index(m, s->operand[0].index);
    for (int i = 0; i < c.map->rank; i++)
        c.coordinate[i] = machine_index(m, s->operand[2 + i].index);
    machine_check_access(m, c.map->of, 0, REACH_WRITES);
    if (y->n_stores == BULK_MAX)
        async_fail(m, "stores too many boxes at a time");
    else if (c.to_index + box_elements(c.map) > c.to->count ||
             c.to_index * dtype_size(c.to->dtype, 1) % 1024 != 0)
        machine_fail(m, c.to, c.to_index, "is no place for a box that is stored");
    else
        y->stores[y->n_stores++] = c;
}

static void store_land(struct machine *m, const struct bulk *c) {
    const struct memory *from = &m->memory[c->to->id];
    for (int64_t i = 0; i < box_elements(c->map) && !m->failed; i++) {
        int64_t at = 0, place = c->base + async_swizzled(c->to, c->to_index + i);
        if (!find_element(m, c, i, &at))
            continue;
        if (from->writer[place] != m->self)
            machine_fail(m, c->to, c->to_index + i, "is stored before it is written");
        machine_write(m, c->map->of, at, 0, cell_get(c->to->dtype, from->bytes, place));
    }
}

// The warp's boxes are stored, but for so many.
static void store_wait(struct machine *m, const struct loop_stmt *s, int first) {
    struct async *y = m->async;
    int64_t n = -machine_index(m, s->operand[0].index), kept = 0;
    for (int i = 0; i < y->n_stores; i++)
        n += y->stores[i].warp == first;
    for (int i = 0; i < y->n_stores && !m->failed; i++) {
        if (y->stores[i].warp == first && n-- > 0)
            store_land(m, &y->stores[i]);
        else
            y->stores[kept++] = y->stores[i];
    }
    y->n_stores = (int)kept;
}

bool async_land(struct machine *m) {
    struct async *y = m->async;
    if (y->n_bulk == 0)
        return false;
    for (int i = 0; i < y->n_bulk; i++)
        bulk_land(m, &y->bulk[i]);
    y->n_bulk = 0;
    y->events++;
    return true;
}

bool async_is_read(const struct machine *m, const struct loop_buffer *b, int64_t at) {
    for (int i = 0; m->async && i < m->async->n_stores; i++) {
        const struct bulk *c = &m->async->stores[i];
        if (c->to == b && c->base == async_base_of(m, b) && at >= c->to_index &&
            at < c->to_index + box_elements(c->map))
            return true;
    }
    return async_product_reads(m, b, at);
}

// ---- by scope

static void by_group(struct machine *m, const struct loop_stmt *s, int first) {
    machine_yield(m, first);
    switch (s->intrinsic) {
    case INTRINSIC_WGMMA_FENCE:
        m->async->groups[first / GROUP].is_fenced = true;
        return;
    case INTRINSIC_WGMMA_COMMIT:
        m->async->groups[first / GROUP].group++;
        return;
    case INTRINSIC_WGMMA_WAIT:
        async_wait_products(m, s, first);
        return;
    case INTRINSIC_TURN_TAKE:  // here warpgroups of a role go step by step together
    case INTRINSIC_TURN_GIVE:
    case INTRINSIC_REGISTERS_LESS:
    case INTRINSIC_REGISTERS_MORE:
        return;
    default:
        async_start_product(m, s, first);
    }
}

static void by_thread(struct machine *m, const struct loop_stmt *s) {
    switch (s->intrinsic) {
    case INTRINSIC_MBARRIER_INIT:
        init(m, s);
        return;
    case INTRINSIC_MBARRIER_EXPECT:
    case INTRINSIC_MBARRIER_ARRIVE:
    case INTRINSIC_MBARRIER_ARRIVE_AT:
        arrive(m, s);
        return;
    case INTRINSIC_FENCE_WRITES:
        m->fences[m->thread]++;
        return;
    default:
        bulk_start(m, s);
    }
}

// Both of them bring a warp's threads together.
static void by_warp(struct machine *m, const struct loop_stmt *s, int first) {
    machine_yield(m, first);
    if (s->intrinsic == INTRINSIC_BULK_STORED)
        store_wait(m, s, first);
    else
        store_start(m, s, first);
    m->syncs[first / WARP]++;
}

static bool is_whole_group(struct machine *m, const struct loop_stmt *s, int first, int threads,
                           const bool *active) {
    int n = 0;
    for (int t = first; t < first + threads && t < m->n_threads; t++)
        n += active[t];
    if (n != 0 && n != threads && !m->failed)
        m->failed = !error_set(m->err, ERROR_PARSE, "%s: only %d threads of a %s take part",
                               intrinsic_infos[s->intrinsic].text, n,
                               threads == WARP ? "warp" : "warpgroup");
    return n == threads;
}

void async_intrinsic(struct machine *m, const struct loop_stmt *s, const bool *active) {
    if (s->intrinsic == INTRINSIC_MBARRIER_WAIT) {
        wait_all(m, s, active);
        return;
    }
    if (intrinsic_infos[s->intrinsic].scope == SCOPE_WARPGROUP) {
        for (int first = 0; first < m->n_threads && !m->failed; first += GROUP)
            if (is_whole_group(m, s, first, GROUP, active))
                by_group(m, s, first);
        return;
    }
    if (intrinsic_infos[s->intrinsic].scope == SCOPE_WARP) {
        for (int first = 0; first < m->n_threads && !m->failed; first += WARP)
            if (is_whole_group(m, s, first, WARP, active))
                by_warp(m, s, first);
        return;
    }
    for (int t = 0; t < m->n_threads && !m->failed; t++) {
        machine_yield(m, t);
        if (active[t])
            by_thread(m, s);
    }
    // Threads that waited for this go on before anything else happens here.
    bool is_arrival =
        s->intrinsic == INTRINSIC_MBARRIER_ARRIVE || s->intrinsic == INTRINSIC_MBARRIER_ARRIVE_AT;
    if (is_arrival && m->roles)
        roles_yield(m, false);
}
