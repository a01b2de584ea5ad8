// Words about a call that failed: what the server says, which option is meant, and what to do next.
// Layer: cli. One thread.
#pragma once
#include "cli/server/call.h"

// Tells on stderr why the reply's code is not CLI_OK; says nothing when it is. Returns the code.
int failure_tell(const struct caller *caller, const struct reply *reply);
