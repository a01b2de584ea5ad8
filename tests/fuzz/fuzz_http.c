// http/server over a real socket: whatever bytes come, the handler is called at most for those requests that a strict reader of
// RFC 9112 finds whole at the front of them; what is sent back is HTTP; and the next client is served.
//
// The strict reader below is there to disagree: a request that only one of two readers sees is how requests are smuggled past a
// proxy.
#include "base/mem.h"
#include "fuzz.h"
#include "http/server/server.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BODY_MAX = 1000 };

static struct http_server *server;
static atomic_int handled;

// --- the server under test

static void reply(struct http_request *request, int status)
{
    struct buf body = {0};
    buf_puts(&body, "seen");
    http_reply(request, status, "text/plain", &body);
}

static bool see(void *ctx, struct str name, struct str value)
{
    must(strlen(name.p) == name.n && strlen(value.p) == value.n);
    return true;
}

static size_t on_begin(void *ctx, struct http_request *request)
{
    must(http_method(request).n && http_path(request).p);
    http_query_each(request, see, NULL);
    return BODY_MAX;
}

static void on_handle(void *ctx, struct http_request *request)
{
    must(http_body(request).n <= BODY_MAX);
    if (!str_is(http_path(request), "/other"))
        atomic_fetch_add(&handled, 1);
    reply(request, 200);
}

static void on_refuse(void *ctx, struct http_request *request, enum err err, const char *detail)
{
    must(detail && detail[0]);
    reply(request, err_info(err)->status);
}

static void stop(void)
{
    http_server_stop(server);
}

static void start_once(void)
{
    struct http_server_config config = {.listen = "127.0.0.1:0",
                                        .connections_max = 100,
                                        .idle_timeout_s = 60,
                                        .begin = on_begin,
                                        .handle = on_handle,
                                        .refuse = on_refuse};
    char why[ERR_WHY_MAX];
    if (server)
        return;
    must(http_server_start(&server, &config, why) == ERR_OK);
    atexit(stop);
}

// --- the strict reader

static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!isalnum((unsigned char)text.p[i]) && !(text.p[i] && strchr("!#$%&'*+-.^_`|~", text.p[i])))
            return false;
    return text.n > 0;
}

// Takes one line off the front; false when there is none that is whole.
static bool take_line(struct str *rest, struct str *ret_line)
{
    const char *feed = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    if (!feed)
        return false;
    size_t n = (size_t)(feed - rest->p);
    *ret_line = (struct str){rest->p, n};
    *rest = (struct str){feed + 1, rest->n - n - 1};
    if (!n || feed[-1] != '\r')
        return false;
    ret_line->n--;
    return true;
}

static struct str trim(struct str text)
{
    while (text.n && (text.p[0] == ' ' || text.p[0] == '\t'))
        text = (struct str){text.p + 1, text.n - 1};
    while (text.n && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t'))
        text.n--;
    return text;
}

static bool is_request_line(struct str line)
{
    struct str method = fuzz_cut(&line, ' '), target = fuzz_cut(&line, ' '), version = line;
    for (size_t i = 0; i < target.n; i++)
        if ((unsigned char)target.p[i] <= ' ' || target.p[i] == 0x7f)
            return false;
    return is_token(method) && target.n && version.n == 8 && str_starts(version, STR("HTTP/1."));
}

struct framing {
    int lengths, encodings, hosts;
    size_t length;
};

static bool read_length(struct str value, size_t *ret_length)
{
    *ret_length = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (!isdigit((unsigned char)value.p[i]) || *ret_length > 1000000)
            return false;
        *ret_length = *ret_length * 10 + (size_t)(value.p[i] - '0');
    }
    return value.n > 0;
}

static bool read_header(struct str line, struct framing *framing)
{
    struct str name = fuzz_cut(&line, ':'), value = trim(line);
    if (!is_token(name) || name.p + name.n == line.p) // the latter: no colon
        return false;
    for (size_t i = 0; i < value.n; i++)
        if (((unsigned char)value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] == 0x7f)
            return false;
    framing->hosts += str_eq_nocase(name, STR("Host"));
    if (str_eq_nocase(name, STR("Content-Length")))
        return ++framing->lengths == 1 && read_length(value, &framing->length);
    if (str_eq_nocase(name, STR("Transfer-Encoding")))
        return ++framing->encodings == 1 && str_eq_nocase(value, STR("chunked"));
    return true;
}

static bool take_chunks(struct str *rest)
{
    struct str line;
    size_t size;
    do {
        if (!take_line(rest, &line))
            return false;
        char digits[20], *end;
        struct str number = fuzz_cut(&line, ';');
        if (!number.n || number.n >= sizeof digits)
            return false;
        memcpy(digits, number.p, number.n);
        digits[number.n] = 0;
        size = strtoull(digits, &end, 16);
        if (!isxdigit((unsigned char)digits[0]) || *end || size > rest->n)
            return false;
        *rest = (struct str){rest->p + size, rest->n - size};
        if (size && (!take_line(rest, &line) || line.n))
            return false;
    } while (size);
    do // trailers
        if (!take_line(rest, &line))
            return false;
    while (line.n);
    return true;
}

static bool take_request(struct str *rest)
{
    struct framing framing = {0};
    struct str line;
    do
        if (!take_line(rest, &line))
            return false;
    while (!line.n);
    if (!is_request_line(line))
        return false;
    for (;;) {
        if (!take_line(rest, &line))
            return false;
        if (!line.n)
            break;
        if (!read_header(line, &framing))
            return false;
    }
    if (framing.lengths + framing.encodings > 1 || framing.hosts > 1)
        return false;
    if (framing.encodings)
        return take_chunks(rest);
    if (framing.length > rest->n)
        return false;
    *rest = (struct str){rest->p + framing.length, rest->n - framing.length};
    return true;
}

static int count_requests(struct str bytes)
{
    int count = 0;
    while (take_request(&bytes))
        count++;
    return count;
}

// --- the clients

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(server))};
    struct linger at_once = {.l_onoff = 1}; // a reset leaves no port behind that waits for a minute
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(fd >= 0);
    must(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

// Another client is served; so the server, which has one thread, has by then looked at what others sent before. Twice, because it
// may have looked at this one first, and once more for each piece it may take a request in.
static void let_it_work(size_t size)
{
    static int fd = -1;
    static const char request[] = "GET /other HTTP/1.1\r\nHost: x\r\n\r\n";
    char answer[1024];
    if (fd < 0)
        fd = dial();
    for (size_t i = 0; i < 2 + size / 256; i++) {
        must(send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == sizeof request - 1);
        size_t n = 0;
        do { // it may come in pieces
            errno = 0;
            ssize_t more = recv(fd, answer + n, sizeof answer - n, 0);
            must(more > 0 || errno == EINTR); // libFuzzer's alarm
            n += more > 0 ? (size_t)more : 0;
        } while (n < 17 || memcmp(answer + n - 4, "seen", 4) != 0);
        must(memcmp(answer, "HTTP/1.1 200 ", 13) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = fuzz_input(data, size);
    char received[16] = "";
    start_once();
    atomic_store(&handled, 0);
    int fd = dial();
    errno = 0;
    if (size && send(fd, data, size, MSG_NOSIGNAL) < 0)
        must(errno == ECONNRESET || errno == EPIPE || errno == EINTR);
    let_it_work(size);
    must(atomic_load(&handled) <= count_requests(bytes));
    if (recv(fd, received, sizeof received - 1, MSG_DONTWAIT) > 0)
        must(memcmp(received, "HTTP/1.1 ", 9) == 0);
    close(fd);
    let_it_work(0);
    return 0;
}
