// One call of the server's API and what comes of it: an answer to show, or an exit code and words about it.
// Layer: cli. One thread.
#pragma once
#include "base/buf.h"
#include "cli/value.h"
#include "cli/verb.h"
#include "http/fetch.h"

struct caller {
    const struct cli *cli;
    struct str server; // without a slash at the end
    const char *key;   // or NULL
    struct fetcher *fetcher;
};

struct reply {
    int code;            // enum cli_exit: CLI_OK, CLI_REFUSED or CLI_UNREACHED
    int status;          // HTTP status, 0 when nothing answered
    struct buf body;     // the bytes that came
    struct value *value; // the object they are; NULL when they are none, never when `code` is CLI_OK
    char why[ERR_WHY_MAX];
};

int call_open(struct caller *ret_caller, const struct cli *cli); // CLI_USAGE when the server's URL or the key cannot be used
void call_close(struct caller *caller);

// Calls `method` on `path`; `body` is a JSON text, or empty. Says nothing: that is call_explain's part. The reply is to be ended
// with reply_done.
void call(struct caller *caller, const char *method, const char *path, struct str body, struct reply *ret_reply);
void reply_done(struct reply *reply);

// Tells on stderr why the code is not CLI_OK. Returns the code.
int call_explain(const struct caller *caller, const struct reply *reply);

// May the same call succeed in a moment: the server is away, stopping or busy.
bool reply_may_retry(const struct reply *reply);

// The path of a task or job, told apart by its first letter: "/v1/tasks/t…" and `rest`. False when the id cannot be one.
bool call_path(struct buf *buf, const char *id, const char *rest);
