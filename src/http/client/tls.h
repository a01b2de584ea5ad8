// TLS over a socket that never blocks, for the client.
//
// Layer: port (http), part of the client. One thread. Of this folder only tls.c knows OpenSSL. A peer must show a certificate for
// the name (or address) that was asked for, signed by somebody this machine trusts; TLS 1.2 and newer.
#pragma once
#include "base/err.h"
#include "base/str.h"

#include <sys/types.h>

struct tls_client; // what all connections share
struct tls;        // one connection

enum { TLS_WANT_READ = -1, TLS_WANT_WRITE = -2, TLS_FAILED = -3 };

err_check enum err tls_client_new(struct tls_client **ret_client, char why[ERR_WHY_MAX]);
void tls_client_free(struct tls_client *client); // accepts NULL

struct tls *tls_new(struct tls_client *client, int fd, const char *host, bool is_address); // does not own the descriptor
void tls_free(struct tls *tls);                                                            // accepts NULL

// These give what was done, 0 for the end of the stream (tls_shake: that it is done), or one of the above.
int tls_shake(struct tls *tls, char why[ERR_WHY_MAX]);
ssize_t tls_send(struct tls *tls, struct str bytes);
ssize_t tls_recv(struct tls *tls, char *bytes, size_t n);
