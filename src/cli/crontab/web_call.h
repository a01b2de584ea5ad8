// One call of curl or wget, as the HTTP call that it makes.
// Layer: cli. Pure but for the arena.
//
// Options that change nothing about the call are passed over. An option that rota cannot honour refuses the whole: a task that
// does something else than its line did would be worse than none.
#pragma once
#include "cli/crontab/words.h"
#include "core/task/target_http.h"

#include <stdint.h>

enum { WEB_CALL_NOTES_MAX = 8 };

struct web_header {
    struct str name, value;
};

struct web_call {
    struct str url, method;
    struct web_header headers[TARGET_HEADERS_MAX];
    size_t header_count;
    bool has_body;
    struct str body;
    int64_t timeout_ms;                    // 0: not said
    int64_t retry_max;                     // -1: not said
    int64_t retry_delay_ms;                // -1: not said
    const char *notes[WEB_CALL_NOTES_MAX]; // what will be otherwise than it was: constant texts
    size_t note_count;
};

// `input` is what the command gets on stdin; NULL: nothing. False: `why` says which option or word cannot be taken.
err_check bool web_call_read(const struct words *words, const struct str *input, struct arena *arena, struct web_call *ret_call,
                             char why[ERR_WHY_MAX]);
