// One call of the server's API and what comes of it: an answer to show, or an exit code and words about it.
// Layer: cli. One thread.
#pragma once
#include "base/buf.h"
#include "cli/server/value.h"
#include "cli/verb.h"
#include "http/fetch.h"

enum { CALL_BULK = 'b' }; // how the id of a bulk begins

struct caller {
    const struct cli *cli;
    struct arena *arena; // the command's: for what must outlive a reply
    struct str server;   // without a slash at the end
    const char *key;     // or NULL
    struct fetcher *fetcher;
};

struct reply {
    int code;            // enum cli_exit: CLI_OK, CLI_REFUSED or CLI_UNREACHED
    int status;          // HTTP status, 0 when nothing answered
    bool asked;          // something of the request was sent, so that it may have been done
    struct buf body;     // the bytes that came
    struct value *value; // the object they are; when `code` is CLI_OK, NULL only for 204: it was done, nothing is left to show
    char why[ERR_WHY_MAX];
};

struct str call_server(const struct options *options, struct arena *arena); // the URL of the server that is meant
int call_open(struct caller *ret_caller, struct cli *cli); // CLI_USAGE when the server's URL or the key cannot be used
// The same for a verb whose arguments are ids of a kind in `kinds` ("tj"): says which of them is not.
int call_open_for_ids(struct caller *ret_caller, struct cli *cli, const char *kinds);
void call_close(struct caller *caller); // also after call_open has failed

// All of a verb whose arguments are such ids and are taken one by one: `one` returns an exit code. A refusal of one does not keep
// the others from being tried; a server that is away, or an output that is closed, does.
int call_for_ids(struct cli *cli, const char *kinds, int (*one)(struct caller *caller, const char *id));

// Calls `method` on `path`; `body` is a JSON text, or empty. Says nothing: that is cli/server/failure's part. The reply is to be
// ended with reply_done.
void call(struct caller *caller, const char *method, const char *path, struct str body, struct reply *ret_reply);
// A GET of what an id names; `rest` follows the id. An id that was typed has been checked by call_open_for_ids. Another one is a
// job's, out of an answer: when it cannot be an id, the reply says that no rota server answered.
void call_get(struct caller *caller, const char *id, const char *rest, struct reply *ret_reply);
// The same as call(), if what is there still has this entity tag.
void call_if(struct caller *caller, const char *method, const char *path, struct str body, const char *tag,
             struct reply *ret_reply);
void reply_done(struct reply *reply);

// A GET whose answer is taken as it comes: `type` is what it must be.
struct stream {
    const char *path, *type;
    const char *header, *header_value; // one header more, or NULL
    int idle_s;                        // give up when nothing has come for so long; 0: never
    bool (*take)(void *ctx, struct str bytes);
    void *ctx;
    bool began; // out: an answer of this type came, at least its head
};

// Returns when the answer has ended (CLI_OK), broke off, or was none. The reply's value is that of a refusal.
void call_stream(struct caller *caller, struct stream *stream, struct reply *ret_reply);

// May the same call succeed in a moment: the server is away, stopping or busy.
bool reply_may_retry(const struct reply *reply);
void call_pause(int64_t ms); // before the server is asked again

// The path of a task, job or bulk, told apart by its first letter: "/v1/tasks/t…" and `rest`. False when the id cannot be one.
bool call_path(struct buf *buf, const char *id, const char *rest);

// Adds a parameter to a path: "?name=value", or with & behind one that is there. Both are escaped.
void call_put_query(struct buf *path, struct str name, struct str value);
void call_put_escaped(struct buf *path, struct str text);
