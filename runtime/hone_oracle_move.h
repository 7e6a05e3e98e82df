// What only moves data: as in ir/interpret_structure.c and ir/interpret_index.c. An element of the
// result is one of an argument, whose number follows from where it stands, or from an index.
#ifndef HONE_ORACLE_MOVE_H
#define HONE_ORACLE_MOVE_H

#include "hone_oracle_reading.h"

// Element `index` of an argument, counted row-major in its own shape.
ORACLE_RARE struct oracle_point oracle_element(const struct oracle_operand *o, u64 index) {
    return oracle_read(&o->array, oracle_place(&o->axes, index));
}

JUDGE_FN struct oracle_point oracle_number(double v) {
    struct oracle_point p = {v, 0, v};
    return p;
}

JUDGE_FN struct oracle_point oracle_padded(const struct oracle_move *m, u64 i) {
    u64 at = 0, step = 1;
    for (int axis = m->rank - 1; axis >= 0; axis--) {
        u64 c = i % m->to[axis] - m->start[axis];  // beyond every size where it is before the start
        i /= m->to[axis];
        if (c >= m->from[axis])
            return oracle_number(m->value);
        at += c * step;
        step *= m->from[axis];
    }
    return oracle_element(&m->args[0], at);
}

// Each reading follows its own index; where it is not certain, what the honest one finds counts as
// possible too.
JUDGE_FN struct oracle_point oracle_gathered(const struct oracle_move *m, u64 i) {
    int is_along = m->op == OP_TAKE_ALONG;
    u64 outer = i / m->inner / m->length, k = i % m->inner;
    struct oracle_point index =
        oracle_element(&m->args[1], is_along ? i : i / m->inner % m->length);
    if (!(index.value >= 0 && index.value < (double)m->size && index.honest >= 0 &&
          index.honest < (double)m->size)) {
        *(int *)m->fault = 1;
        return oracle_number(0);
    }
    struct oracle_point x =
        oracle_element(&m->args[0], (outer * m->size + (u64)index.value) * m->inner + k);
    if ((u64)index.value == (u64)index.honest && !(index.variance > 0))
        return x;
    struct oracle_point y =
        oracle_element(&m->args[0], (outer * m->size + (u64)index.honest) * m->inner + k);
    double other = y.value - x.value;
    x.honest = y.honest;
    if (index.variance > 0 && other * other > x.variance)
        x.variance = other * other;
    return x;
}

JUDGE_FN struct oracle_point oracle_joined(const struct oracle_move *m, u64 i) {
    u64 outer = i / m->inner / m->length, c = i / m->inner % m->length, k = i % m->inner;
    return c < m->size
               ? oracle_element(&m->args[0], (outer * m->size + c) * m->inner + k)
               : oracle_element(&m->args[1],
                                (outer * (m->length - m->size) + c - m->size) * m->inner + k);
}

JUDGE_KERNEL oracle_move(struct oracle_move m) {
    for (u64 i = first(); i < m.n; i += stride()) {
        struct oracle_point x;
        switch (m.op) {
        case OP_IOTA:
            x = oracle_number((double)(i / m.inner % m.length));
            break;
        case OP_SLICE:
            x = oracle_element(&m.args[0], m.at + oracle_place(&m.walk, i));
            break;
        case OP_PAD:
            x = oracle_padded(&m, i);
            break;
        case OP_CONCAT:
            x = oracle_joined(&m, i);
            break;
        default:
            x = oracle_gathered(&m, i);
        }
        oracle_write(&m.out, i, x);
    }
}

#endif
