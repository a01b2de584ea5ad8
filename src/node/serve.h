// rota serve: the server's process.
// Layer: node.
#pragma once

// Runs until it is told to end. argv[0] is "serve". Returns the exit code.
int serve_main(int argc, char **argv);
