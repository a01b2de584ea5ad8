// Plain and small, because every microsecond spent here is taken from the cores that rota is measured on.
#include "common.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static size_t slot_of(uint64_t steps)
{
    if (steps < 256)
        return steps;
    unsigned shift = 63 - (unsigned)__builtin_clzll(steps) - 7;
    size_t slot = shift * 128 + (steps >> shift);
    return slot < HIST_SLOTS ? slot : HIST_SLOTS - 1;
}

static int64_t slot_end_us(size_t slot)
{
    unsigned shift = slot < 256 ? 0 : (unsigned)(slot / 128 - 1);
    uint64_t base = slot - (uint64_t)shift * 128;
    return (int64_t)((base + 1) << shift) * HIST_STEP_US;
}

void hist_add(struct hist *hist, int64_t us)
{
    if (us < 0)
        us = 0;
    hist->count++;
    if (us > hist->max_us)
        hist->max_us = us;
    hist->slots[slot_of((uint64_t)us / HIST_STEP_US)]++;
}

int64_t hist_quantile_us(const struct hist *hist, double q)
{
    uint64_t rank = (uint64_t)(q * (double)hist->count), seen = 0;
    for (size_t slot = 0; slot < HIST_SLOTS; slot++) {
        seen += hist->slots[slot];
        if (seen > rank)
            return slot_end_us(slot) < hist->max_us ? slot_end_us(slot) : hist->max_us;
    }
    return hist->max_us;
}

static size_t number_read(struct str text)
{
    size_t value = 0;
    for (size_t i = 0; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        value = value * 10 + (size_t)(text.p[i] - '0');
    return value;
}

struct str http_head_field(struct str head, struct str name)
{
    const char *end = head.p + head.n;
    for (const char *at = memchr(head.p, '\n', head.n); at && ++at < end; at = memchr(at, '\n', (size_t)(end - at))) {
        // The first letter decides for nearly all lines; comparing more of each would cost a good part of a call.
        if ((size_t)(end - at) <= name.n || (at[0] | 32) != (name.p[0] | 32) || at[name.n] != ':')
            continue;
        if (!str_eq_nocase((struct str){at, name.n}, name))
            continue;
        const char *from = at + name.n + 1, *line_end = memchr(from, '\r', (size_t)(end - from));
        while (*from == ' ')
            from++;
        return (struct str){from, line_end > from ? (size_t)(line_end - from) : 0};
    }
    return (struct str){0};
}

struct http_head http_head_read(struct str in)
{
    const char *end = in.n ? memmem(in.p, in.n, "\r\n\r\n", 4) : NULL;
    if (!end)
        return (struct http_head){0};
    struct http_head head = {.size = (size_t)(end - in.p) + 4};
    head.body_size = number_read(http_head_field((struct str){in.p, head.size}, STR("Content-Length")));
    if (str_starts(in, STR("HTTP/1.1 ")))
        head.status = (int)number_read((struct str){in.p + 9, 3});
    return head;
}

static int digits_read(const char *p, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        value = value * 10 + (p[i] - '0');
    }
    return value;
}

int64_t time_read_ms(struct str text)
{
    static const char form[] = "0000-00-00T00:00:00.000Z";
    if (text.n != sizeof form - 1)
        return -1;
    for (size_t i = 0; i < text.n; i++)
        if (form[i] == '0' ? text.p[i] < '0' || text.p[i] > '9' : text.p[i] != form[i])
            return -1;
    struct tm day = {.tm_year = digits_read(text.p, 4) - 1900,
                     .tm_mon = digits_read(text.p + 5, 2) - 1,
                     .tm_mday = digits_read(text.p + 8, 2),
                     .tm_hour = digits_read(text.p + 11, 2),
                     .tm_min = digits_read(text.p + 14, 2),
                     .tm_sec = digits_read(text.p + 17, 2)};
    return (int64_t)timegm(&day) * 1000 + digits_read(text.p + 20, 3);
}

void time_write(char ret_text[TIME_TEXT_SIZE], int64_t ms)
{
    time_t second = ms / 1000;
    struct tm day;
    gmtime_r(&second, &day);
    size_t n = strftime(ret_text, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &day);
    snprintf(ret_text + n, TIME_TEXT_SIZE - n, ".%03uZ", (unsigned)(ms % 1000));
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int tcp_listen(int port, int *ret_port)
{
    struct sockaddr_in address = loopback(port);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) || bind(fd, (struct sockaddr *)&address, size) ||
        listen(fd, 4096) || getsockname(fd, (struct sockaddr *)&address, &size))
        die("cannot listen on 127.0.0.1:%d: %s", port, strerror(errno));
    *ret_port = ntohs(address.sin_port);
    return fd;
}

int tcp_connect(int port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, yes = 1;
    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
        ioctl(fd, FIONBIO, &yes)) {
        close(fd);
        return -1;
    }
    return fd;
}

void epoll_set(int epoll, int op, int fd, uint32_t events, void *ptr)
{
    struct epoll_event event = {.events = events, .data.ptr = ptr};
    if (epoll_ctl(epoll, op, fd, &event))
        die("epoll_ctl: %s", strerror(errno));
}

int signals_open(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        die("signalfd: %s", strerror(errno));
    return fd;
}

static void options_list(const char *program, const struct option_row *rows, size_t count)
{
    fprintf(stderr, "usage: %s [options]\n", program);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "  --%-14s %s\n", rows[i].name, rows[i].help);
    exit(2);
}

static bool option_take(const struct option_row *row, const char *value)
{
    if (row->text) {
        *row->text = value;
        return true;
    }
    char *end = NULL;
    errno = 0;
    *row->number = strtoll(value, &end, 10);
    return !errno && end != value && !*end;
}

void options_read(int argc, char **argv, const struct option_row *rows, size_t count)
{
    for (int i = 1; i < argc; i++) {
        const struct option_row *row = NULL;
        for (size_t k = 0; k < count; k++)
            if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, rows[k].name) == 0)
                row = &rows[k];
        if (!row)
            options_list(argv[0], rows, count);
        else if (row->flag)
            *row->flag = true;
        else if (++i >= argc || !option_take(row, argv[i]))
            options_list(argv[0], rows, count);
    }
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}
