// The rows of bulks in the store of a play, for the tests of the tenders that carry them out.
#pragma once
#include "support/play.h"

#include "store/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static inline void pass(struct play *play, int64_t ms)
{
    for (; ms > 0; ms -= 100) {
        play_pass(play, 100);
        play_live(play);
        play_turn(play);
    }
}

static inline enum err write_row(struct play *play, struct store_bulk_row row)
{
    struct store_bulk write = {.row = row};
    store_op_init(&write.op, STORE_BULK, NULL);
    store_call(play->store.memory, &write.op);
    enum err err = write.op.err;
    store_op_done(&write.op);
    return err;
}

static inline void put_row(struct play *play, struct store_bulk_row row)
{
    assert_int_equal(write_row(play, row), ERR_OK);
}

// Its document is not given back.
static inline struct store_bulk_row row_of(struct play *play, int64_t id)
{
    struct store_bulks read = {.tenant = PLAY_TENANT, .id = id};
    store_op_init(&read.op, STORE_BULKS, NULL);
    store_call(play->store.memory, &read.op);
    assert_int_equal(read.op.err, ERR_OK);
    struct store_bulk_row row = read.rows[0];
    row.doc = (struct str){0};
    store_op_done(&read.op);
    return row;
}
