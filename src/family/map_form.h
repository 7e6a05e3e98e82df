// The form of an elementwise region: any number of values of one shape.
#pragma once

#include "family/emitter.h"

bool map_find(struct form *f, struct objection *why);

// The space: the values' own axes, grouped where no access distinguishes them.
void map_build_space(struct lowering *l);

// What is read across: its last axis is another one than the values'. Those of one region that lie
// along the same axis can share tiles.
enum { MAP_CROSSED_MAX = 4 };
struct map_crossing {
    int axis, last_axis;                // of the values: neighbours there, and in the results
    int64_t n_across, n_last, n_outer;  // elements of the groups that they are in, and of all else
    int64_t lanes;                      // that every access allows along both, as space_lanes()
    bool has_lanes;                     // some along each, beginning anywhere
    int n_reads;
    struct {
        node_id node;
        struct axis_map map;
    } read[MAP_CROSSED_MAX];
    bool is_mixed;  // found while looking: too many, or along several axes
};
// False: there is none.
bool map_find_crossing(const struct region *r, struct map_crossing *c);
// For the emitters that do so by tiles: does the form have one (emitter.h); and blocks of tiles of
// so many elements along the last axis and across it.
bool map_accepts_crossing(const struct form *f, const struct target *t, struct objection *why);
int64_t map_count_tiles(const struct map_crossing *c, int along, int across);

// Values of one table's rows that indices ask for, and what is computed of them by element.
struct map_rows {
    node_id take, table, index;
    int64_t n_sources, n_rows, width;  // places that ask, rows of the table, elements of a row
    int64_t lanes;                     // neighbours that every access allows in a row
};
// False: they are not.
bool map_find_rows(const struct region *r, struct map_rows *m);
// The space with groups of its own for the axes of the index; returns how many.
int map_build_rows_space(struct lowering *l, const struct map_rows *m);
