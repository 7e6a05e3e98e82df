// What two things cost on this processor that tools have to weigh: a page that is touched for the
// first time, and a line of the caches that another processor has just changed.
#pragma once

// Seconds for each; NAN: it could not be measured (one processor, no memory).
double cpu_fault_s(void);
double cpu_line_s(void);
