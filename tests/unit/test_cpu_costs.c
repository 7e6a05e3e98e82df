// What the costs of a processor are taken for.
#include <criterion/criterion.h>
#include <math.h>

#include "calibrate/cpu_costs.h"

Test(cpu_costs, a_line_that_took_a_millisecond_was_not_measured) {
    cr_expect_eq(cpu_line_of(34.5e-9), 34.5e-9);
    cr_expect(isnan(cpu_line_of(1e-3)));
    cr_expect(isnan(cpu_line_of(NAN)));
}
