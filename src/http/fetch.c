// The one user of libcurl's easy interface.
//
// The handle is reset before each request, so that nothing of the last one is left but its connection. Executors do not use this:
// they have many calls at once and check every address (exec_http).
#include "http/fetch.h"

#include "base/mem.h"

#include <assert.h>
#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

struct fetcher {
    CURL *curl;
    char words[CURL_ERROR_SIZE];
};

struct fetcher *fetcher_new(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    struct fetcher *fetcher = mem_zero(sizeof *fetcher);
    fetcher->curl = curl_easy_init();
    assert(fetcher->curl);
    return fetcher;
}

void fetcher_free(struct fetcher *fetcher)
{
    if (!fetcher)
        return;
    curl_easy_cleanup(fetcher->curl);
    mem_free(fetcher);
    curl_global_cleanup();
}

// One request under way.
struct transfer {
    CURL *curl;
    const struct fetch_request *request;
    struct fetch_answer *answer;
    bool too_long, ended; // why less was taken than was given
};

static void note_head(struct transfer *transfer)
{
    struct fetch_answer *answer = transfer->answer;
    long status = 0;
    const char *type = NULL;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(transfer->curl, CURLINFO_CONTENT_TYPE, &type);
    answer->status = (int)status;
    size_t n = type ? strcspn(type, "; \t") : 0;
    for (size_t i = 0; i < n && i < sizeof answer->type - 1; i++)
        answer->type[i] = (char)tolower((unsigned char)type[i]);
}

// An answer that is too long ends the transfer, because less is taken than was given.
static size_t take_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct transfer *transfer = ctx;
    struct fetch_answer *answer = transfer->answer;
    struct str data = {bytes, size * count};
    note_head(transfer);
    if (transfer->request->take && answer->status >= 200 && answer->status < 300) {
        transfer->ended = !transfer->request->take(transfer->request->ctx, answer, data);
        return transfer->ended ? 0 : data.n;
    }
    transfer->too_long = data.n > FETCH_ANSWER_MAX - answer->body.n;
    if (transfer->too_long)
        return 0;
    buf_put(&answer->body, data);
    return data.n;
}

// A line break in a value would smuggle in a header of its own.
static bool headers_fit(const struct fetch_request *request)
{
    for (int i = 0; i < FETCH_HEADERS_MAX && request->headers[i].name; i++)
        if (strpbrk(request->headers[i].name, "\r\n:") || strpbrk(request->headers[i].value, "\r\n"))
            return false;
    return true;
}

// The two empty ones take away what libcurl would add by itself: a form's type, and the wait for "100 Continue".
static struct curl_slist *list_headers(const struct fetch_request *request)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    list = curl_slist_append(list, "Content-Type:");
    for (int i = 0; i < FETCH_HEADERS_MAX && request->headers[i].name; i++) {
        buf_auto struct buf line = {0};
        buf_printf(&line, "%s: %s", request->headers[i].name, request->headers[i].value);
        buf_putc(&line, 0);
        list = curl_slist_append(list, line.p);
    }
    assert(list);
    return list;
}

static void set_request(struct fetcher *fetcher, const struct fetch_request *request)
{
    CURL *curl = fetcher->curl;
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    if (strcmp(request->method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.n);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.n ? request->body.p : "");
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    }
}

static void set_rules(struct fetcher *fetcher, const struct fetch_request *request)
{
    CURL *curl = fetcher->curl;
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)FETCH_CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    if (request->idle_s) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)request->idle_s);
    }
    // A stream may be silent for long; a peer that vanished is noticed all the same.
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 30L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 10L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "rota/" ROTA_VERSION);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, fetcher->words);
}

bool fetch(struct fetcher *fetcher, const struct fetch_request *request, struct fetch_answer *ret_answer, char why[ERR_WHY_MAX])
{
    *ret_answer = (struct fetch_answer){0};
    if (!headers_fit(request)) {
        snprintf(why, ERR_WHY_MAX, "a header of the request contains a line break");
        return false;
    }
    curl_easy_reset(fetcher->curl);
    fetcher->words[0] = 0;
    set_rules(fetcher, request);
    set_request(fetcher, request);
    struct curl_slist *headers = list_headers(request);
    curl_easy_setopt(fetcher->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(fetcher->curl, CURLOPT_WRITEFUNCTION, take_body);
    struct transfer transfer = {fetcher->curl, request, ret_answer, false, false};
    curl_easy_setopt(fetcher->curl, CURLOPT_WRITEDATA, &transfer);
    CURLcode code = curl_easy_perform(fetcher->curl);
    curl_slist_free_all(headers);
    note_head(&transfer);
    long sent = 0;
    curl_easy_getinfo(fetcher->curl, CURLINFO_REQUEST_SIZE, &sent);
    ret_answer->asked = sent > 0;
    if (code == CURLE_OK)
        return true;
    if (transfer.too_long)
        snprintf(why, ERR_WHY_MAX, "the answer is longer than %d MiB", FETCH_ANSWER_MAX >> 20);
    else if (transfer.ended)
        snprintf(why, ERR_WHY_MAX, "the answer was not read to its end");
    else
        snprintf(why, ERR_WHY_MAX, "%s", fetcher->words[0] ? fetcher->words : curl_easy_strerror(code));
    buf_done(&ret_answer->body);
    return false;
}
