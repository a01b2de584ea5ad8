// What the bench's target and load generator share: HTTP framing, a histogram, sockets, options.
// Layer: outside of rota's. It uses base/ for bytes, memory and clocks, and nothing of what is being measured.
#pragma once
#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

// Values in steps of 10 µs: exact up to 2.56 ms, then with 128 steps for each doubling (an error below 0.8 %).
enum { HIST_STEP_US = 10, HIST_SLOTS = 40 * 128 };

struct hist {
    uint64_t count;
    int64_t max_us;
    uint64_t slots[HIST_SLOTS];
};

void hist_add(struct hist *hist, int64_t us);                // negative counts as 0
int64_t hist_quantile_us(const struct hist *hist, double q); // the upper edge of its slot, never more than the largest value

// Where one message lies in the bytes read so far.
struct http_head {
    size_t size;      // of the head with its empty line; 0: not all there yet
    size_t body_size; // Content-Length, 0 when absent
    int status;       // of an answer; 0 for a request
};

// Reads only the start line and Content-Length. Chunked bodies are not understood: neither rota nor the bench sends them here.
struct http_head http_head_read(struct str in);
struct str http_head_field(struct str head, struct str name); // .p == NULL when absent; any case

// "2026-11-15T20:22:00.123Z" and nothing else; -1 when it is not that. Apart from base/text/when, so that a mistake there shows.
int64_t time_read_ms(struct str text);
enum { TIME_TEXT_SIZE = 25 };
void time_write(char ret_text[TIME_TEXT_SIZE], int64_t ms);

int tcp_listen(int port, int *ret_port); // on 127.0.0.1, not blocking; exits with a message when it cannot
int tcp_connect(int port);               // to 127.0.0.1, not blocking afterwards; -1 with errno
void epoll_set(int epoll, int op, int fd, uint32_t events, void *ptr);
int signals_open(void); // a signalfd of SIGTERM and SIGINT

// A long option and where its value goes: exactly one of the three is set.
struct option_row {
    const char *name; // without the dashes
    int64_t *number;
    const char **text;
    bool *flag;
    const char *help;
};
void options_read(int argc, char **argv, const struct option_row *rows, size_t count); // exits with the list when wrong
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
