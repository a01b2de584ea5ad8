// A thin cover of OpenSSL. Sessions are not resumed: connections are kept instead.
//
// OpenSSL reads through `wire`, a BIO of our own, which gives it so much in one call and then says that there is no more for now:
// else a peer that sends records without meaning as fast as they are read would never let a call return. For the same reason it
// does not read on by itself behind such a record, and does not renegotiate.
#include "http/client/tls.h"

#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/socket.h>

enum { CALL_BYTES = 64 * 1024 }; // read for one call

struct tls_client {
    SSL_CTX *context;
    BIO_METHOD *wire;
};

struct tls {
    SSL *ssl;
    int fd;
    size_t left; // of CALL_BYTES
};

// ---- the wire

static int wire_read(BIO *bio, char *bytes, int n)
{
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    errno = EAGAIN;
    ssize_t got = tls->left ? recv(tls->fd, bytes, (size_t)n < tls->left ? (size_t)n : tls->left, 0) : -1;
    if (got > 0)
        tls->left -= (size_t)got;
    else if (got < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_read(bio);
    return (int)got;
}

static int wire_write(BIO *bio, const char *bytes, int n)
{
    const struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t sent = send(tls->fd, bytes, (size_t)n, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)sent;
}

static long wire_control(BIO *bio, int what, long number, void *pointer)
{
    return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *new_wire(void)
{
    BIO_METHOD *wire = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "wire");
    if (wire) {
        BIO_meth_set_read(wire, wire_read);
        BIO_meth_set_write(wire, wire_write);
        BIO_meth_set_ctrl(wire, wire_control);
    }
    return wire;
}

// ---- what connections share

enum err tls_client_new(struct tls_client **ret_client, char why[ERR_WHY_MAX])
{
    struct tls_client *client = mem_zero(sizeof *client);
    SSL_CTX *context = client->context = SSL_CTX_new(TLS_client_method());
    client->wire = new_wire();
    if (!context || !client->wire || SSL_CTX_set_default_verify_paths(context) != 1 ||
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        snprintf(why, ERR_WHY_MAX, "TLS cannot be started: %s", ERR_reason_error_string(ERR_get_error()));
        tls_client_free(client);
        return ERR_INTERNAL;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    *ret_client = client;
    return ERR_OK;
}

void tls_client_free(struct tls_client *client)
{
    if (!client)
        return;
    SSL_CTX_free(client->context);
    BIO_meth_free(client->wire);
    mem_free(client);
}

// ---- a connection

static bool expect_peer(SSL *ssl, const char *host, bool is_address)
{
    char name[256];
    size_t n = (size_t)snprintf(name, sizeof name, "%s", host);
    if (n > 1 && n < sizeof name && name[n - 1] == '.') // of a name that is complete; in certificates there is none
        name[n - 1] = 0;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

struct tls *tls_new(struct tls_client *client, int fd, const char *host, bool is_address)
{
    static const unsigned char http1[] = "\x08http/1.1";
    struct tls *tls = mem_zero(sizeof *tls);
    BIO *wire = BIO_new(client->wire);
    tls->fd = fd;
    tls->ssl = SSL_new(client->context);
    if (!tls->ssl || !wire || SSL_set_alpn_protos(tls->ssl, http1, sizeof http1 - 1) != 0 ||
        !expect_peer(tls->ssl, host, is_address)) {
        ERR_clear_error();
        BIO_free(wire);
        tls_free(tls);
        return NULL;
    }
    BIO_set_data(wire, tls);
    BIO_set_init(wire, 1);
    SSL_set_bio(tls->ssl, wire, wire); // which is its own from now on
    SSL_set_connect_state(tls->ssl);
    return tls;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    mem_free(tls);
}

// Why a call did not go through; OpenSSL keeps a list of errors for each thread, which must be empty before the next call.
static int verdict(struct tls *tls, int result)
{
    int system = errno, error = SSL_get_error(tls->ssl, result);
    ERR_clear_error();
    errno = error == SSL_ERROR_SYSCALL ? system : 0;
    return error == SSL_ERROR_WANT_READ     ? TLS_WANT_READ
           : error == SSL_ERROR_WANT_WRITE  ? TLS_WANT_WRITE
           : error == SSL_ERROR_ZERO_RETURN ? 0
                                            : TLS_FAILED;
}

static void explain(struct tls *tls, char why[ERR_WHY_MAX])
{
    long verified = SSL_get_verify_result(tls->ssl);
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    if (verified != X509_V_OK)
        snprintf(why, ERR_WHY_MAX, "the certificate is not trusted: %s", X509_verify_cert_error_string(verified));
    else
        snprintf(why, ERR_WHY_MAX, "TLS: %s", reason ? reason : "the connection was closed within the handshake");
}

static void begin_call(struct tls *tls)
{
    tls->left = CALL_BYTES;
    errno = 0;
}

int tls_shake(struct tls *tls, char why[ERR_WHY_MAX])
{
    begin_call(tls);
    int result = SSL_do_handshake(tls->ssl);
    if (result == 1) {
        ERR_clear_error();
        return 0;
    }
    explain(tls, why);
    int what = verdict(tls, result);
    return what ? what : TLS_FAILED;
}

ssize_t tls_send(struct tls *tls, struct str bytes)
{
    begin_call(tls);
    int result = SSL_write(tls->ssl, bytes.p, bytes.n > INT_MAX ? INT_MAX : (int)bytes.n);
    return result > 0 ? result : verdict(tls, result);
}

ssize_t tls_recv(struct tls *tls, char *bytes, size_t n)
{
    begin_call(tls);
    int result = SSL_read(tls->ssl, bytes, n > INT_MAX ? INT_MAX : (int)n);
    return result > 0 ? result : verdict(tls, result);
}
