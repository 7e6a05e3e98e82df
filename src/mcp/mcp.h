// `hone mcp`: a server of the Model Context Protocol on standard input and output, so that coding
// agents can use hone as tools.
//
// Both eras of the protocol are served by one process: clients that begin with `initialize` (up to
// revision 2025-11-25) and those whose every request says its revision (2026-07-28). A tool is a
// row in mcp_tools.c over a command of ours: the arguments that it takes and what they mean come
// from the command's own table of options, and a call runs `hone COMMAND` as a child. A child
// costs 2 ms; in return a call can be cancelled, cannot take the server along, and leaves nothing.
//
// The server reads and writes nothing but messages, takes no lock and touches no device before a
// tool is called, since clients start one only to ask what it is. Files that a call names must lie
// under the roots (mcp_roots.h). No call costs money: children get no key of any model.
#pragma once

#include <stdbool.h>

#include "base/options.h"

struct error;

extern const struct command_options mcp_options;

// Serve until standard input ends or the client is gone. `tables` are the options of all commands,
// NULL-terminated.
bool mcp_run(const struct command_options *const *tables, int argc, char **argv, struct error *err);
