// Rounds factors to the declared type for the honest reading, and adds the variance that this
// rounding has.
#include "ir/interpret_precision.h"

static double round_operand(const struct precision *q, double v) {
    return q->operand == PRECISION_TF32 ? dtype_round_digits(11, v) : dtype_round(q->type, v);
}

// Variance that rounding an operand adds.
static double operand_variance(const struct precision *q, double v, double carried) {
    if (q->operand == PRECISION_TYPE)
        return reading_round_to(q->type, v, carried);
    return carried > 0 || dtype_round_digits(11, v) != v ? v * v * 0x1p-22 / 3 : 0;
}

void reading_narrow(const struct precision *q, struct reading *r, int64_t count,
                    struct reading *own) {
    own->honest = reading_alloc(count, sizeof(float));
    own->variance = reading_alloc(count, sizeof(double));
    for (int64_t i = 0; i < count; i++) {
        double carried = r->variance ? r->variance[i] : 0;
        own->honest[i] = (float)round_operand(q, (double)r->honest[i]);
        own->variance[i] = carried + operand_variance(q, r->value[i], carried);
    }
    r->honest = own->honest;
    r->variance = own->variance;
}
