// Head and body go out together if the body is not large, so most requests are one send.
#include "http/client/outgoing.h"

enum { BODY_COPIED = 16 * 1024 }; // of a body: so much goes out together with the head

static bool has_body(const struct http_call_order *order)
{
    return order->body.p || (strcmp(order->method, "GET") != 0 && strcmp(order->method, "DELETE") != 0);
}

static void put_host(struct buf *text, const struct url *url)
{
    buf_puts(text, url->ipv6 ? " HTTP/1.1\r\nHost: [" : " HTTP/1.1\r\nHost: ");
    buf_put(text, url->host);
    if (url->ipv6)
        buf_putc(text, ']');
    if (url->port != (url->tls ? 443 : 80)) {
        buf_putc(text, ':');
        buf_put_int(text, url->port);
    }
    buf_puts(text, "\r\n");
}

void outgoing_write(struct outgoing *outgoing, const struct http_call_order *order)
{
    const struct url *url = order->url;
    struct buf *text = &outgoing->text;
    text->n = outgoing->sent = 0;
    size_t copied = order->body.n < BODY_COPIED ? order->body.n : BODY_COPIED;
    outgoing->rest = (struct str){order->body.p + copied, order->body.n - copied};
    buf_reserve(text, order->headers.n + copied + url->rest.n + url->host.n + 128);
    buf_puts(text, order->method);
    buf_puts(text, !url->rest.n || url->rest.p[0] != '/' ? " /" : " ");
    buf_put(text, url->rest);
    put_host(text, url);
    buf_put(text, order->headers);
    if (has_body(order)) {
        buf_puts(text, "Content-Length: ");
        buf_put_int(text, (int64_t)order->body.n);
        buf_puts(text, "\r\n");
    }
    buf_puts(text, "\r\n");
    buf_put(text, (struct str){order->body.p, copied});
}
