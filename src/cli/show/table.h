// Tables whose lines fit the terminal: the least important columns are shortened, then left out; no line is ever wrapped.
// Layer: cli. Pure. One owner at a time.
#pragma once
#include "cli/show/show.h"

struct table_column {
    const char *label;
    // One line of safe text. `path` is the column's.
    void (*put)(struct buf *buf, const struct show *show, const struct value *row, const char *path);
    const char *path; // of the member that is put; NULL: the function knows
    int rank;         // how important: those with the lowest give way first. 0: the column stays as it is
    size_t least;     // what it may be shortened to; narrower it is left out
    size_t from;      // a narrower terminal does without it
    bool state;       // coloured as a state
    void (*shorten)(struct buf *buf, struct str cell, size_t columns); // how a cell is made to fit; NULL: its end is cut off
};

enum { TABLE_COLUMNS_MAX = 16 };

struct table {
    const struct table_column *columns;
    size_t count;
    const struct show *show;
    // Kept from one call to the next: what comes in pages gets its titles once, and columns that only grow.
    size_t widths[TABLE_COLUMNS_MAX];
    bool titled;
};

void table_put(struct buf *buf, struct table *table, const struct value *rows, size_t first); // the items of an array from there
