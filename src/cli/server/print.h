// Prints an answer of the server as -o wants it. Text is made by a function of cli/show; JSON keeps the bytes that came.
// Layer: cli. One thread.
#pragma once
#include "cli/server/call.h"
#include "cli/show/show.h"

// The answer as the text that `put` makes, or as JSON. When the call has failed, says why on stderr. Returns an exit code.
int print_reply(const struct caller *caller, const struct reply *reply,
                void (*put)(struct buf *buf, const struct show *show, const struct value *value));

int print_json(const struct cli *cli, struct str json); // a JSON text; returns an exit code

// The objects of a list, which may come in parts: -o json makes one array of them all, -o jsonl a line of each.
void print_put_item(struct buf *out, const struct cli *cli, bool first, struct str json);
int print_items_end(const struct cli *cli, bool empty); // returns an exit code
