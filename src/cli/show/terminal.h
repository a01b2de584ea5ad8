// The terminal: data goes to stdout, talk to stderr; one line is written over while the user waits.
// Layer: cli. One thread.
#pragma once
#include "base/buf.h"
#include "cli/show/show.h"

#include <stdbool.h>

// Makes sure that descriptors 0 to 2 are taken, so that no socket or file ends up as stdout, and that a closed pipe is an error
// and no signal.
void terminal_init(void);

// All of it, or an exit code: CLI_PIPE_CLOSED without a word when nobody reads any more, else CLI_UNWRITTEN with the reason on
// stderr.
int terminal_write(struct str data);

bool terminal_write_all(int fd, struct str data); // to any file; false: errno says why

void terminal_talk(const char *format, ...) __attribute__((format(printf, 1, 2))); // control characters in it are made visible

bool terminal_is_watched(void); // is stderr a terminal

// How to show things on stdout: the time of day, the terminal's width and colours.
struct show terminal_show(void);

// One line on a terminal's stderr, in place of the one before, cut where the terminal ends. An empty one takes it away. Does
// nothing elsewhere.
void terminal_progress(struct str line);
