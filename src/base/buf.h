// A byte buffer that grows: where answers, documents and messages are written.
// Layer: base. One owner at a time.
#pragma once
#include "base/str.h"

#include <assert.h>
#include <stdint.h>

struct buf {
    char *p;
    size_t n, cap;
};

void buf_done(struct buf *buf);
#define buf_auto __attribute__((cleanup(buf_done)))

void buf_grow(struct buf *buf, size_t more);

// So that `more` bytes fit.
static inline void buf_reserve(struct buf *buf, size_t more)
{
    if (buf->cap - buf->n < more)
        buf_grow(buf, more);
}

// Not a slice of `buf` itself: growing moves the bytes. These are inline because every answer and document is made of them.
static inline void buf_put(struct buf *buf, struct str text)
{
    if (!text.n)
        return;
    buf_reserve(buf, text.n);
    assert(buf->p);
    memcpy(buf->p + buf->n, text.p, text.n);
    buf->n += text.n;
}

static inline void buf_puts(struct buf *buf, const char *text)
{
    buf_put(buf, str_of(text));
}

static inline void buf_putc(struct buf *buf, char c)
{
    buf_reserve(buf, 1);
    buf->p[buf->n++] = c;
}

void buf_put_int(struct buf *buf, int64_t value);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(2)));

static inline struct str buf_str(const struct buf *buf)
{
    return (struct str){buf->p, buf->n};
}
