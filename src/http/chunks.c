// Byte by byte between the data, so nothing has to be kept when a line comes in pieces.
#include "http/chunks.h"

static enum chunks_step bad(struct chunks *chunks, const char *why)
{
    chunks->why = why;
    return CHUNKS_BAD;
}

static enum chunks_step expect_line_feed(struct chunks *chunks, enum chunks_at then)
{
    chunks->at = CHUNKS_LF;
    chunks->then = then;
    return CHUNKS_MORE;
}

static enum chunks_step read_size(struct chunks *chunks, char c)
{
    int digit = str_hex(c);
    if (digit >= 0) {
        if (chunks->left >> 56 || chunks->digits == 16)
            return bad(chunks, "a chunk is too large");
        chunks->left = chunks->left << 4 | (unsigned)digit;
        chunks->digits++;
        return CHUNKS_MORE;
    }
    if (!chunks->digits || (c != ';' && c != '\r' && !(chunks->lenient && (c == ' ' || c == '\t'))))
        return bad(chunks, "the size of a chunk is no number");
    chunks->digits = 0;
    if (c == '\r')
        return expect_line_feed(chunks, chunks->left ? CHUNKS_IN : CHUNKS_TRAILER);
    chunks->at = CHUNKS_REST; // what stands behind the size means nothing here
    return CHUNKS_MORE;
}

// One byte that is not data.
static enum chunks_step read_byte(struct chunks *chunks, char c)
{
    switch (chunks->at) {
    case CHUNKS_SIZE:
        return read_size(chunks, c);
    case CHUNKS_REST:
        if (c == '\n')
            return bad(chunks, "the line of a chunk's size does not end with CRLF");
        return c == '\r' ? expect_line_feed(chunks, chunks->left ? CHUNKS_IN : CHUNKS_TRAILER) : CHUNKS_MORE;
    case CHUNKS_LF:
        if (c != '\n')
            return bad(chunks, "a line between chunks does not end with CRLF");
        chunks->at = chunks->then;
        return chunks->at == CHUNKS_IN && !chunks->left ? CHUNKS_END : CHUNKS_MORE; // in the trailer: the empty line
    case CHUNKS_CR:
        return c == '\r' ? expect_line_feed(chunks, CHUNKS_SIZE) : bad(chunks, "a chunk is longer than it says");
    case CHUNKS_TRAILER:
        if (c == '\r')
            return expect_line_feed(chunks, CHUNKS_IN);
        chunks->at = CHUNKS_TRAILER_REST;
        return c == '\n' ? bad(chunks, "a line behind the chunks does not end with CRLF") : CHUNKS_MORE;
    default:
        if (c == '\n')
            return bad(chunks, "a line behind the chunks does not end with CRLF");
        return c == '\r' ? expect_line_feed(chunks, CHUNKS_TRAILER) : CHUNKS_MORE;
    }
}

enum chunks_step chunks_read(struct chunks *chunks, struct str *bytes, struct str *ret_data)
{
    while (bytes->n) {
        if (chunks->at == CHUNKS_IN) {
            size_t n = chunks->left < bytes->n ? (size_t)chunks->left : bytes->n;
            *ret_data = (struct str){bytes->p, n};
            *bytes = str_skip(*bytes, n);
            chunks->left -= n;
            chunks->at = chunks->left ? CHUNKS_IN : CHUNKS_CR;
            return CHUNKS_DATA;
        }
        bool idle_talk = chunks->at == CHUNKS_REST || chunks->at == CHUNKS_TRAILER || chunks->at == CHUNKS_TRAILER_REST;
        chunks->talk_n += idle_talk;
        if (chunks->talk_n > CHUNKS_TALK_MAX)
            return bad(chunks, "there is too much between the chunks");
        enum chunks_step step = read_byte(chunks, bytes->p[0]);
        *bytes = str_skip(*bytes, 1);
        if (step != CHUNKS_MORE)
            return step;
    }
    return CHUNKS_MORE;
}
