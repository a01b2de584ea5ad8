// `rota serve`: a node, from its options to its last breath.
// Layer: node.
#pragma once

struct serve_config {
    const char *listen; // "127.0.0.1:7070"
    const char *store;  // "sqlite:DIR", "postgres://…", "memory:"
    const char *roles;  // "api,puller,executor,completer"
};

// Runs until SIGTERM or SIGINT. Returns the exit code: 0 after a graceful stop, 1 when it could not start, 2 when an option is
// wrong.
int serve(const struct serve_config *config);
