// http/client/answer: an answer means the same whole and in pieces; what is taken of its body was in it; and a connection is kept
// only behind an answer that is complete.
#include "fuzz.h"
#include "http/client/answer.h"

enum { BODY_MAX = 4096 };

struct read {
    struct answer answer;
    enum answer_step step;
    char body[BODY_MAX];
    size_t body_n;
};

static bool take(void *ctx, struct str body)
{
    struct read *read = ctx;
    if (body.n > BODY_MAX - read->body_n)
        return false;
    memcpy(read->body + read->body_n, body.p, body.n);
    read->body_n += body.n;
    return true;
}

static void read_all(struct read *read, struct str bytes, size_t piece)
{
    read->answer = (struct answer){0};
    read->step = ANSWER_MORE;
    read->body_n = 0;
    answer_begin(&read->answer, take, read);
    while (bytes.n && read->step == ANSWER_MORE) {
        size_t n = bytes.n < piece ? bytes.n : piece;
        read->step = answer_read(&read->answer, (struct str){bytes.p, n});
        bytes = (struct str){bytes.p + n, bytes.n - n};
    }
    if (read->step == ANSWER_MORE)
        read->step = answer_closed(&read->answer);
    answer_done(&read->answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = fuzz_input(data, size);
    static struct read whole, pieces;
    read_all(&whole, input, input.n + 1);
    read_all(&pieces, input, 1 + input.n % 7);
    must(whole.step != ANSWER_MORE);
    must(whole.step == pieces.step && whole.answer.status == pieces.answer.status && whole.answer.async == pieces.answer.async);
    must(str_eq((struct str){whole.body, whole.body_n}, (struct str){pieces.body, pieces.body_n}));
    must(whole.answer.retry_after_n == pieces.answer.retry_after_n);
    must(!whole.answer.keep || whole.step == ANSWER_DONE);
    must(!whole.answer.keep || pieces.answer.keep);
    must(whole.body_n <= input.n);
    must((whole.step == ANSWER_BAD) == (whole.answer.why != NULL));
    return 0;
}
