// Grows by doubling, so that writing n bytes one by one costs O(n). Aborts when memory is gone, as mem.h says.
#include "base/buf.h"

#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buf_done(struct buf *buf)
{
    mem_free(buf->p);
    *buf = (struct buf){0};
}

void buf_grow(struct buf *buf, size_t more)
{
    if (more > SIZE_MAX / 4 || buf->n > SIZE_MAX / 4)
        abort(); // doubling would wrap around to a buffer that is too small
    size_t cap = buf->cap ? buf->cap : 256;
    while (cap - buf->n < more)
        cap *= 2;
    buf->p = mem_grow(buf->p, cap);
    buf->cap = cap;
}

void buf_put_int(struct buf *buf, int64_t value)
{
    char digits[24];
    int at = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        digits[--at] = '-';
    buf_put(buf, (struct str){digits + at, sizeof digits - (size_t)at});
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(n >= 0); // only a format that is wrong in the source makes it fail
    buf_reserve(buf, (size_t)n + 1);
    vsnprintf(buf->p + buf->n, (size_t)n + 1, format, again);
    va_end(again);
    buf->n += (size_t)n;
}
