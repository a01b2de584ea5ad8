// The command line: `rota VERB …`.
// Layer: cli, the outermost. One thread.
#pragma once

// The exit codes that a shell sees. Scripts rely on them, so they stay as they are.
enum cli_exit {
    CLI_OK = 0,
    CLI_JOB_FAILED = 1,   // wait, submit --wait: a job failed
    CLI_USAGE = 2,        // the command line is wrong
    CLI_REFUSED = 3,      // the server says no, or what was waited for was cancelled
    CLI_UNREACHED = 4,    // no answer of a rota server
    CLI_UNWRITTEN = 5,    // the output could not be written
    CLI_PIPE_CLOSED = 141 // the reader of the output went away: what a shell shows for SIGPIPE
};

int cli_main(int argc, char **argv);
