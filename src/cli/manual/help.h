// What --help shows and what docs/cli.md says, both made from the tables.
// Layer: cli. Pure.
#pragma once
#include "base/buf.h"
#include "cli/verb.h"

struct help_entry {
    const char *name, *help;
};

extern const struct help_entry help_variables[], help_exits[]; // they end with a row without a name

void help_put_overview(struct buf *buf);
void help_put_verb(struct buf *buf, const struct verb *verb);
void help_put_markdown(struct buf *buf); // the whole of docs/cli.md
