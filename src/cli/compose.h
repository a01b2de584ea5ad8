// A task's document, or a change of one, from the options of the command line.
// Layer: cli. Reads the files and the stdin that options name.
#pragma once
#include "base/buf.h"
#include "cli/server/value.h"
#include "cli/verb.h"

// The document that is to be made, and what is said about it.
struct compose {
    const struct options *options;
    const char *url; // NULL: none
    bool patch;      // a merge patch: what is not in it stays as it is
    int64_t now_ms;
    struct buf json;  // out
    struct buf notes; // out: lines for stderr about what was understood otherwise than one might think
};

// False: `why` says which option cannot be used, and how it can. What a field may hold is the server's to say; here only what
// cannot be put into JSON is refused, and what is certainly a slip.
err_check bool compose_task(struct compose *compose, char why[ERR_WHY_MAX]);
void compose_done(struct compose *compose);

// Says on stderr that the time given by --at had passed when the task was planned; nothing when it had not. `task` is what the
// server answered.
void compose_talk_passed(const struct options *options, const struct value *task);

// The option for a field that the API names by its pointer: "--retry-delay" for /retry/delay. NULL: there is none.
const char *compose_option(struct str pointer);
