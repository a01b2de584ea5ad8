// The HTTP client: many calls at once on one thread, each to an address that was checked.
//
// Layer: port. Everything belongs to the thread that polls; only the waker may be used by others. A name is looked up here, every
// address it has is judged (http/client/addr), and the call goes to the first that is allowed and answers; redirects are never
// followed and no proxy is asked. A call never outlives its timeout, whatever the target does.
#pragma once
#include "base/err.h"
#include "base/mailbox.h"
#include "base/str.h"
#include "core/job.h"
#include "core/url.h"
#include "http/client/resolve.h"

struct http_client;
struct http_call;

struct http_client_config {
    int connections_max; // kept open for reuse
};

// How a call ended. The slices live until done() returns.
struct http_answer {
    enum job_outcome outcome; // OUTCOME_SUCCESS: an answer came, whatever its status says
    int status;               // 0: none came; there may be one although the rest of the answer failed
    const char *reason;       // what went wrong, for people; NULL with OUTCOME_SUCCESS
    struct str body;          // its first bytes
    bool truncated;           // there was more
    struct str retry_after;   // as it came; empty: none
    bool async;               // Rota-Async: 1
};

// What to call. All that is pointed to must live until done(), but for the headers.
struct http_call_order {
    const struct url *url;
    int64_t lane; // whose look-up it is, if the host is a name that is not known
    const char *method;
    struct str headers; // whole lines, each with its CRLF; but for Host and Content-Length, which are written here. They are
                        // copied when the call is started
    struct str body;    // .p == NULL: none
    int64_t timeout_ms;
    size_t response_max; // bytes of the answer that are kept
    bool private_allowed;
    void (*done)(void *ctx, const struct http_answer *answer); // once, from within http_client_poll()
    void *ctx;
};

err_check enum err http_client_new(struct http_client **ret_client, const struct http_client_config *config,
                                   char why[ERR_WHY_MAX]);
void http_client_free(struct http_client *client); // no call may be under way; accepts NULL

// Is it known where the host is, or that nobody can say? If not it is looked up, and the waiter told, from within
// http_client_poll(), unless it is forgotten before (resolve_forget). So a call need not be begun to wait for a name.
bool http_client_knows(struct http_client *client, const struct url *url, int64_t lane, struct resolve_waiter *waiter);

// The call may be named to cancel() until done() was called. done() may start others.
struct http_call *http_client_start(struct http_client *client, const struct http_call_order *order);
void http_client_cancel(struct http_call *call); // done() comes with OUTCOME_CANCELLED, or with the end it had come to already

// Does what is to be done, waiting at most wait_ns for it (0: not at all).
void http_client_poll(struct http_client *client, int64_t wait_ns);
struct waker *http_client_waker(struct http_client *client); // ends a poll's wait
