// What --help shows and what docs/cli.md says, both made from the tables.
// Layer: cli. Pure.
#pragma once
#include "base/buf.h"
#include "cli/verb.h"

void help_put_overview(struct buf *buf);
void help_put_verb(struct buf *buf, const struct verb *verb);
void help_put_markdown(struct buf *buf); // the whole of docs/cli.md
