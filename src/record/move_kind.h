// The kind of a move, from the words that a node keeps of it: what moves of one problem have in
// common with those of another, whatever their stages and sizes are called.
//
//     y: vec 8 -> 16                            vec up
//     y: store plain -> stream, rows 4          store stream
//     y: gemm as simt -> gemm as dot            emitter gemm as dot
//     y: as mma, tile 128x64x32, ...            emitter mma
//     y: rows 64 -> 16, keep reread -> local    several
//     merge t into y                            merge
//     split y at t                              split
//     lay out v.1 for y                         layout
//     cross with 7: y: vec 8 -> 16              cross
//
// What else a mind wrote has no kind.
#pragma once

struct arena;

const char *move_kind(struct arena *a, const char *words);  // NULL: none
