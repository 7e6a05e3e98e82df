// What three things cost on this processor that tools have to weigh: a page that is touched for the
// first time, a line of the caches that another processor has just changed, and a product and a sum
// that are no multiply-add.
#pragma once

// Seconds for each; NAN: it could not be measured (one processor, no memory).
double cpu_fault_s(void);
double cpu_line_s(void);
// What the best of some tries says of the line: NAN beyond what any machine takes, where the other
// thread had no processor meanwhile.
double cpu_line_of(double least_s);
// How many times as long products and sums take by two instructions as by one that does both: 2 on
// processors with the same units for all three, 1 where sums have units of their own.
double cpu_fuse_gain(void);
