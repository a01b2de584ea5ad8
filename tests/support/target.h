// A target for HTTP calls that behaves as badly as it is told to: a TCP server on loopback with a thread for each connection.
#pragma once
#include <stddef.h>

// What happens after the text of an answer was sent.
enum target_then {
    TARGET_KEEP,    // the connection is kept for the next request
    TARGET_CLOSE,   // it is closed
    TARGET_RESET,   // it is reset
    TARGET_HANG,    // nothing more comes
    TARGET_DRIP,    // `more` comes again and again, slowly
    TARGET_ENDLESS, // `more` comes again and again
};

struct target_script {
    const char *path; // NULL: the end of the table
    const char *text;
    enum target_then then;
    const char *more;
};

struct target;

struct target *target_start(const struct target_script *scripts);
void target_stop(struct target *target); // cuts off who is still connected
int target_port(const struct target *target);
int target_connections(struct target *target); // how many there have been
int target_requests(struct target *target);    // likewise

// The latest request, headers and body; good until the next call.
const char *target_request(struct target *target);
