// What verbs share that show a list of the API: page by page, until as many were shown as were wanted.
// Layer: cli. One owner at a time.
#pragma once
#include "cli/server/pages.h"
#include "cli/show/rows.h"

enum { LISTING_DEFAULT = 50 };

// `path` and `none` are given before listing_run(); the rest is its own.
struct listing {
    struct buf path;  // with the filters
    const char *none; // what is said when there is nothing, to a user who watches
    struct caller caller;
    struct show show;
    struct table table;
    struct pages pages;
    int64_t left, shown; // how many more may be shown
    bool noted;          // what the server said about the list was passed on
};

// Shows it, as --limit, --all, --absolute and -o say, and frees it. Returns an enum cli_exit.
int listing_run(struct listing *listing, struct cli *cli, enum rows_kind kind);
