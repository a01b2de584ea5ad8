// A TCP proxy on 127.0.0.1 that can lose what passes through it, for tests of what happens when a connection ends at a bad
// moment; or hold it back, for tests of what happens when two sessions are in each other's way. It reads just enough of
// PostgreSQL's protocol to know the moments; the connection must not be encrypted (sslmode=disable).
#pragma once
#include <stdbool.h>

struct proxy;

struct proxy *proxy_start(int to_port);
int proxy_port(const struct proxy *proxy);
void proxy_stop(struct proxy *proxy); // ends all connections

// The next COMMIT is passed on; when its answer comes, the connection ends instead.
void proxy_cut_after_commit(struct proxy *proxy);
// The nth Sync from now on is not passed on: the connection ends there.
void proxy_cut_at_sync(struct proxy *proxy, int n);

// From now on the clients' statements are passed on one by one, each when it is allowed; BEGIN and what only sets the transaction
// up goes along with the next. The connections must be there already. Off: what was held back passes.
void proxy_hold(struct proxy *proxy, bool on);
void proxy_allow(struct proxy *proxy, int statements);
int proxy_answered(struct proxy *proxy); // how many of those that were allowed since proxy_hold() have been answered
int proxy_errors(struct proxy *proxy);   // how many errors the server has answered with since the start
int proxy_parses(struct proxy *proxy);   // how many statements it was told the text of since the start
