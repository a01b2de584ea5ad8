#include "support/tzif.h"

#include <endian.h>

static void put32(struct buf *buf, int64_t number)
{
    uint32_t big = htobe32((uint32_t)number);
    buf_put(buf, (struct str){(const char *)&big, sizeof big});
}

static void put64(struct buf *buf, int64_t number)
{
    uint64_t big = htobe64((uint64_t)number);
    buf_put(buf, (struct str){(const char *)&big, sizeof big});
}

static void put_header(struct buf *buf, const struct tzif *tzif)
{
    buf_puts(buf, "TZif");
    buf_putc(buf, tzif->version);
    for (int i = 0; i < 15; i++)
        buf_putc(buf, 0);
    for (int i = 0; i < 3; i++) // neither indicators nor leap seconds
        put32(buf, 0);
    put32(buf, (int64_t)tzif->time_count);
    put32(buf, (int64_t)tzif->kind_count);
    put32(buf, (int64_t)tzif->names.n);
}

static void put_block(struct buf *buf, const struct tzif *tzif, void (*put_time)(struct buf *, int64_t))
{
    put_header(buf, tzif);
    for (size_t i = 0; i < tzif->time_count; i++)
        put_time(buf, tzif->times[i]);
    for (size_t i = 0; i < tzif->time_count; i++)
        buf_putc(buf, (char)tzif->kind_at[i]);
    for (size_t i = 0; i < tzif->kind_count; i++) {
        put32(buf, tzif->kinds[i].offset_s);
        buf_putc(buf, (char)tzif->kinds[i].is_dst);
        buf_putc(buf, (char)tzif->kinds[i].name_at);
    }
    buf_put(buf, tzif->names);
}

void tzif_put(struct buf *buf, const struct tzif *tzif)
{
    if (!tzif->version) {
        put_block(buf, tzif, put32);
        return;
    }
    put_header(buf, &(struct tzif){.version = tzif->version}); // a block of 32 bits with nothing in it: all pass over it
    put_block(buf, tzif, put64);
    buf_putc(buf, '\n');
    buf_puts(buf, tzif->footer);
    buf_putc(buf, '\n');
}
