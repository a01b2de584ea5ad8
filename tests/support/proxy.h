// A TCP proxy on 127.0.0.1 that can lose what passes through it, for tests of what happens when a connection ends at a bad
// moment. It reads just enough of PostgreSQL's protocol to know the moments; the connection must not be encrypted
// (sslmode=disable).
#pragma once

struct proxy;

struct proxy *proxy_start(int to_port);
int proxy_port(const struct proxy *proxy);
void proxy_stop(struct proxy *proxy); // ends all connections

// The next COMMIT is passed on; when its answer comes, the connection ends instead.
void proxy_cut_after_commit(struct proxy *proxy);
// The nth Sync from now on is not passed on: the connection ends there.
void proxy_cut_at_sync(struct proxy *proxy, int n);
