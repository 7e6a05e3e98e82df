// An operand of a product that is computed on its way to tensor cores: its prologue.
//
// `relu(x) @ w`, `(silu(g) * u) @ w.T`, `x[:, :64] @ w`: what stands before the product by element
// or by index. An emitter that copies operands asynchronously brings the matrices that the prologue
// reads (its *sources*) as they lie in memory, and computes the operand of them in shared memory,
// once for each tile, rounded as the graph says. Whatever else it reads (vectors along rows or
// columns, gathers, numbers of other types) is read where it is computed.
//
// This says what such an operand is made of; gemm_mma_prologue.c and gemm_wgmma_prologue.c do it.
#pragma once

#include "family/gemm_form.h"

enum { SOURCES_MAX = 2 };

struct gemm_source {
    node_id leaf;
    struct axis_map map;
};

struct gemm_operand {
    node_id node;
    const struct axis_map *map;
    bool along_k;   // most of what it reads lies side by side along K, else along what stays
    int64_t lanes;  // side by side, that vectors must divide
    struct gemm_source source[SOURCES_MAX];  // matrices of floats, read along that axis
    int n_sources;
    double ops;           // instructions for one element, roughly
    double direct_bytes;  // of other matrices, for one element
};

// requires: the form is a product of floats that is no convolution.
void gemm_operand_read(const struct form *f, bool is_lhs, struct gemm_operand *o);

// May the operand be multiplied as numbers of type `t` (f16 or bf16)? It is of that type, its
// values are always among those of it (a maximum of two such), or the problem's precision admits
// that they are rounded to it.
bool gemm_operand_admits(const struct form *f, bool is_lhs, enum dtype t);

// The one of f16 and bf16 that both operands admit, where the problem's precision has products of
// it.
bool gemm_operands_narrow(const struct form *f, enum dtype *t);

// Elements that are computed at once where they are stored as `element_bytes` each: 16 bytes, or as
// many as vectors may have.
int gemm_operand_vec(const struct gemm_operand *o, int element_bytes);

// Instructions that one multiprocessor issues for an element, in seconds.
double gemm_operand_seconds(const struct gemm_operand *o, const struct target *t);
