// Behind an inclusion of ops.def whose macros are not used again. No guard: it is included after
// each.
#undef OP
#undef UNARY
#undef BINARY
#undef STEP1
#undef STEP2
#undef PICK
#undef TEST
