// Tidy a problem's graph after it was built: views of unnamed views become one view, views
// that change nothing go away, and so do unnamed nodes that nobody reads.
#pragma once

struct problem;

// requires: a well-formed graph. keeps: names, meaning, order; changes node ids.
void problem_simplify(struct problem *p);
