// A byte buffer that grows: where answers, documents and messages are written.
// Layer: base. One owner at a time.
#pragma once
#include "base/str.h"

#include <stdint.h>

struct buf {
    char *p;
    size_t n, cap;
};

void buf_done(struct buf *buf);
#define buf_auto __attribute__((cleanup(buf_done)))

void buf_reserve(struct buf *buf, size_t more); // so that `more` bytes fit
void buf_put(struct buf *buf, struct str text); // not a slice of `buf` itself: growing moves the bytes
void buf_puts(struct buf *buf, const char *text);
void buf_putc(struct buf *buf, char c);
void buf_put_int(struct buf *buf, int64_t value);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(2)));

static inline struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->p, buf->n};
}
