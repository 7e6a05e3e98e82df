// Statements as canonical text, comments kept: what `hone fmt` writes.
#pragma once

struct arena;
struct statement;

const char *format_statements(struct arena *a, const struct statement *statements);
