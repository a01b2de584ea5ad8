// A head is read line by line, straight from what came if the line is complete there, which it nearly always is. Of all headers
// only those are looked at that say where the answer ends, whether the connection stays, and the two rota knows.
#include "http/client/answer.h"

#include "core/header.h"

void answer_begin(struct answer *answer, bool (*take)(void *ctx, struct str body), void *ctx)
{
    struct buf line = answer->line;
    *answer = (struct answer){.take = take, .ctx = ctx, .line = line, .length = -1, .chunks.lenient = true};
    answer->line.n = 0;
}

void answer_done(struct answer *answer)
{
    buf_done(&answer->line);
}

static enum answer_step bad(struct answer *answer, const char *why)
{
    answer->keep = false;
    answer->why = why;
    return ANSWER_BAD;
}

// ---- one line

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

// HTTP/1.1 200 OK
static enum answer_step read_status(struct answer *answer, struct str line)
{
    static const struct str start = {"HTTP/1.", 7};
    if (line.n < 12 || !str_starts(line, start) || !str_is_digit(line.p[7]) || line.p[8] != ' ' ||
        (line.n > 12 && line.p[12] != ' '))
        return bad(answer, "what came is not HTTP/1.x");
    if (line.p[9] < '1' || line.p[9] > '9' || !str_is_digit(line.p[10]) || !str_is_digit(line.p[11]))
        return bad(answer, "the status is no number of three digits");
    answer->begun = true;
    answer->status = (line.p[9] - '0') * 100 + (line.p[10] - '0') * 10 + (line.p[11] - '0');
    answer->keep = line.p[7] != '0';
    answer->closes = false;
    answer->length = -1;
    answer->chunked = answer->coded = answer->async = false;
    answer->retry_after_n = 0;
    return ANSWER_MORE;
}

static bool read_length(struct answer *answer, struct str value)
{
    int64_t length = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (!str_is_digit(value.p[i]) || length > (INT64_MAX - 9) / 10)
            return false;
        length = length * 10 + (value.p[i] - '0');
    }
    bool same = value.n && (answer->length < 0 || answer->length == length);
    answer->length = length;
    return same;
}

static enum answer_step read_header(struct answer *answer, struct str line)
{
    const char *colon = memchr(line.p, ':', line.n);
    if (!colon || is_blank(line.p[0])) // a line that goes on, as was allowed once: nothing that is looked at does
        return ANSWER_MORE;
    struct str name = {line.p, (size_t)(colon - line.p)}, value = str_trim((struct str){colon + 1, line.n - name.n - 1});
    if (name.n && is_blank(name.p[name.n - 1])) // some readers would take it for the header, and some would not
        return bad(answer, "there is a space before the colon of a header");
    switch (line.p[0] | 0x20) {
    case 'c':
        if (str_eq_nocase(name, STR("Content-Length")) && !read_length(answer, value))
            return bad(answer, "the length of the answer is no number, or there are two");
        if (str_eq_nocase(name, STR("Connection"))) {
            answer->closes |= header_has_word(value, STR("close"));
            answer->keep |= header_has_word(value, STR("keep-alive"));
        }
        break;
    case 't':
        if (str_eq_nocase(name, STR("Transfer-Encoding"))) {
            answer->coded |= answer->chunked || !str_eq_nocase(value, STR("chunked"));
            answer->chunked = true;
        }
        break;
    case 'r':
        if (str_eq_nocase(name, STR("Retry-After"))) {
            answer->retry_after_n = value.n < ANSWER_RETRY_MAX ? value.n : 0;
            memcpy(answer->retry_after, value.p, answer->retry_after_n);
        } else if (str_eq_nocase(name, STR("Rota-Async"))) {
            answer->async = str_is(value, "1");
        }
        break;
    default:
        break;
    }
    return ANSWER_MORE;
}

static enum answer_step end_head(struct answer *answer)
{
    if (answer->status == 101)
        return bad(answer, "the target wants to speak another protocol");
    if (answer->status < 200) { // something in between; the answer is still to come
        answer->begun = false;
        answer->status = 0;
        return ANSWER_MORE;
    }
    answer->keep &= !answer->closes;
    if (answer->status == 204 || answer->status == 304) {
        answer->keep &= !answer->chunked && answer->length <= 0; // some send a body all the same
        return ANSWER_DONE;
    }
    if (answer->coded)
        return bad(answer, "the answer is encoded in a way that was not asked for");
    if (answer->chunked) {
        answer->keep &= answer->length < 0; // both are given: somebody on the way may have believed the other
        answer->at = AT_CHUNKS;
        return ANSWER_MORE;
    }
    if (answer->length < 0) {
        answer->keep = false;
        answer->at = AT_CLOSE;
        return ANSWER_MORE;
    }
    answer->left = (uint64_t)answer->length;
    answer->at = AT_LENGTH;
    return answer->left ? ANSWER_MORE : ANSWER_DONE;
}

static enum answer_step read_line(struct answer *answer, struct str line)
{
    return !answer->begun ? read_status(answer, line) : line.n ? read_header(answer, line) : end_head(answer);
}

// ---- as it comes

static enum answer_step take_line(struct answer *answer, struct str *bytes)
{
    const char *end = memchr(bytes->p, '\n', bytes->n);
    size_t n = end ? (size_t)(end - bytes->p) + 1 : bytes->n;
    answer->head_n += n;
    if (answer->head_n > ANSWER_HEAD_MAX)
        return bad(answer, end && answer->line.n + n <= ANSWER_HEAD_MAX ? "the answer has too many headers"
                                                                        : "a header of the answer is too long");
    struct str line = {bytes->p, n};
    bool whole = end && !answer->line.n;
    if (!whole) {
        buf_put(&answer->line, line);
        line = buf_str(&answer->line);
    }
    *bytes = str_skip(*bytes, n);
    if (!end)
        return ANSWER_MORE;
    answer->line.n = 0;
    line.n--;
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    return read_line(answer, line);
}

static enum answer_step give(struct answer *answer, struct str body)
{
    if (answer->take(answer->ctx, body))
        return ANSWER_MORE;
    answer->keep = false;
    return ANSWER_CUT;
}

static enum answer_step take_length(struct answer *answer, struct str *bytes)
{
    size_t n = answer->left < bytes->n ? (size_t)answer->left : bytes->n;
    struct str body = {bytes->p, n};
    *bytes = str_skip(*bytes, n);
    answer->left -= n;
    enum answer_step step = give(answer, body);
    return step == ANSWER_MORE && !answer->left ? ANSWER_DONE : step;
}

static enum answer_step take_chunks(struct answer *answer, struct str *bytes)
{
    struct str data;
    switch (chunks_read(&answer->chunks, bytes, &data)) {
    case CHUNKS_DATA:
        return give(answer, data);
    case CHUNKS_END:
        return ANSWER_DONE;
    case CHUNKS_BAD:
        return bad(answer, answer->chunks.why);
    default:
        return ANSWER_MORE;
    }
}

static enum answer_step take_rest(struct answer *answer, struct str *bytes)
{
    struct str body = *bytes;
    *bytes = str_skip(*bytes, bytes->n);
    return give(answer, body);
}

enum answer_step answer_read(struct answer *answer, struct str bytes)
{
    static enum answer_step (*const takes[])(struct answer *, struct str *) = {
        [AT_HEAD] = take_line, [AT_LENGTH] = take_length, [AT_CHUNKS] = take_chunks, [AT_CLOSE] = take_rest};
    enum answer_step step = ANSWER_MORE;
    while (step == ANSWER_MORE && bytes.n)
        step = takes[answer->at](answer, &bytes);
    if (step == ANSWER_DONE && bytes.n) // more than was asked for: whose answer would that be?
        answer->keep = false;
    return step;
}

enum answer_step answer_closed(struct answer *answer)
{
    if (answer->at == AT_CLOSE)
        return ANSWER_DONE;
    bool nothing = !answer->head_n;
    return bad(answer,
               nothing ? "the connection was closed before an answer came" : "the connection was closed within the answer");
}
