// The filters that say what a list shows and a bulk acts on, as names and values of the API.
// Layer: cli.
#pragma once
#include "base/buf.h"
#include "cli/verb.h"

bool filter_given(const struct options *options);

// Both return CLI_OK, or CLI_USAGE after saying what is wrong with an option.
int filter_put_query(struct buf *path, struct cli *cli);  // "?state=…&label.k=…"
int filter_put_json(struct buf *json, struct cli *cli);   // {"state": "…", "label.k": "…"}
int filter_put_words(struct buf *words, struct cli *cli); // "queue=mail, label.a=b", for people
