// Products of a loop's body that wait for no state.
//
// A user who writes h = tanh(x[:, t] @ w.T + h @ u.T) asks for a small product in every step,
// although x is known for all of them: x @ w.T before the loop is one large product, which any
// family of products takes. So it is built there, as the author could have written it, and the body
// reads its position of every step. A product that sees neither a state nor the step is built there
// once.
#pragma once

struct steps;

// requires: the body is complete, and its inputs are not in order yet. keeps: what the loop gives.
void steps_before(struct steps *l);
